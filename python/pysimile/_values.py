"""Values of Python, NumPy and tables as the library reads them."""

import datetime
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

PLAIN = (str, int, bool)  # types that plain() leaves as they are


def is_missing(value: Any) -> bool:
    """Whether it is None, NaN, NaT or pandas.NA."""
    if isinstance(value, (float, np.floating, np.datetime64, datetime.date)):
        return bool(value != value)
    return value is None or type(value).__name__ == "NAType"


def plain(value: Any, where: str = "") -> Any:
    """A value of metadata as JSON has it: numbers of NumPy as Python's, dates as ISO 8601, arrays as lists. A missing
    value becomes None, and is left out of a list.

    Raises:
        TypeError: it is no text, number, truth value, date or list of these, or infinite. `where` begins the message.
    """
    if is_missing(value):
        return None
    if isinstance(value, (list, tuple, np.ndarray)):
        return [read for one in value if (read := plain(one, where)) is not None]
    if isinstance(value, np.datetime64):  # its item() is a number where it counts nanoseconds
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (str, int)) or isinstance(value, float) and math.isfinite(value):
        return value
    raise TypeError(f"{where}expected a text, a finite number, a truth value, a date or a list of these, found "
                    f"{describe(value)}")


def texts_of(inputs: Any, what: str) -> tuple[list[str], bool]:
    """The texts as a list, and whether it is a single one."""
    if isinstance(inputs, str):
        return [inputs], True
    if isinstance(inputs, (bytes, Mapping)) or not isinstance(inputs, Iterable):
        raise TypeError(f"{what}: expected a text or an iterable of texts, found {type(inputs).__name__}")
    return inputs if isinstance(inputs, list) else list(inputs), False


def describe(value: Any) -> str:
    """A value for an error: what it is, and a part of it."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:60] + '...'}"


def to_json(value: Any) -> str:
    """JSON for the native module. A lone surrogate, which UTF-8 does not have, becomes U+FFFD, as in texts to encode."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=plain)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
