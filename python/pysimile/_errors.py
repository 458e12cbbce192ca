"""What pysimile raises: the text is that of the program."""


class Error(Exception):
    """Work that failed, and the base of the other errors."""


class UsageError(Error, ValueError):
    """Arguments, options or a recipe that cannot be used (exit code 2 of the program)."""


class InputError(Error, ValueError):
    """A file, a model or an index that cannot be used (exit code 3 of the program)."""


class SystemError(Error, OSError):
    """The system refused: a full disk, no permission."""
