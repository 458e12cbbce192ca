"""Sentence encoders without torch: vectors, search, evaluation, training.

    from pysimile import Encoder, Index

    encoder = Encoder("sentence-transformers/all-MiniLM-L6-v2")
    vectors = encoder.encode(["a text", "another text"])        # float32 [2, 384]

    with Index.create("kb", model=encoder.model) as index:
        index.add([{"id": "1", "text": "How do I reset my password?"}])
    hits = Index.open("kb").search("forgot my password")

Vectors and hits are those of the program `simile`, which the package brings, to the bit.
"""

import os
from pathlib import Path

# Models called by name lie beside the program.
os.environ.setdefault("SIMILE_MODELS", str(Path(__file__).parent / "share" / "simile" / "models"))

from . import _native  # noqa: E402
from ._errors import Error, InputError, SystemError, UsageError  # noqa: E402
from .encoder import Encoder  # noqa: E402
from .index import Hit, Index  # noqa: E402
from .program import compare, evaluate, program, train  # noqa: E402

os.register_at_fork(before=_native.rest)

__version__ = "0.1.0"
__all__ = ["Encoder", "Error", "Hit", "Index", "InputError", "SystemError", "UsageError", "compare", "evaluate",
           "program", "set_threads", "train"]


def set_threads(threads: int) -> None:
    """Sets how many processors a call of this thread uses (all of them at first). The result is the same, to the bit."""
    if threads < 1:
        raise UsageError(f"set_threads: expected at least 1, found {threads}")
    _native.set_threads(threads)
