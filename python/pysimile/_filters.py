"""Conditions on metadata, from what other libraries have."""

from typing import Any


def condition(filter: Any) -> str | None:
    """A dict of metadata that must be equal, as a condition of Simile; a text stays as it is."""
    if filter is None or isinstance(filter, str):
        return filter
    return " and ".join(f"{quoted(name)} = {literal(value)}" for name, value in filter.items()) or None


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literal(value: Any) -> str:
    """A value as a condition writes it: numbers and truth values as they are, texts in quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (int, float)) else quoted(str(value))
