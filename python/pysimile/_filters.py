"""Conditions on metadata, from what other libraries have."""

from typing import Any

import numpy as np

from ._errors import UsageError
from ._values import describe, plain

OPERATORS = {"$eq": "=", "$ne": "!=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=", "$in": "in", "$nin": "not in"}


def condition(filter: Any) -> str | None:
    """A dict of metadata as a condition of Simile; a text stays as it is. A value must be equal to the document's, or one
    of a list; None matches documents without a value; a dict tests by OPERATORS."""
    if filter is None or isinstance(filter, str):
        return filter
    if not isinstance(filter, dict):
        raise TypeError(f"filter: expected a dict or a text, found {describe(filter)}")
    tests = []
    for name, value in filter.items():
        if not isinstance(value, dict):
            value = {"$in" if isinstance(value, (list, tuple, np.ndarray)) else "$eq": value}
        unknown = [name] if name.startswith("$") else [one for one in value if one not in OPERATORS]
        if unknown:
            raise UsageError(f"filter: {unknown[0]!r} is not supported, only columns with {', '.join(OPERATORS)}; write "
                             "other conditions as a text, such as \"year >= 2020 or not lang = en\"")
        tests += [test(name, OPERATORS[operator], one) for operator, one in value.items()]
    return " and ".join(tests) or None


def test(column: str, operator: str, value: Any) -> str:
    """A test of a column by an operator of Simile."""
    where = f"filter: '{column}' {operator}: "
    value = plain(value, where)
    if operator in ("in", "not in"):
        if not isinstance(value, list) or not value:
            raise UsageError(f"{where}expected a list of values, found {describe(value)}")
        return f"{quoted(column)} {operator} ({', '.join(literal(one, where) for one in value)})"
    if value is None and operator in ("=", "!="):
        return f"{'not ' if operator == '=' else ''}exists {quoted(column)}"
    return f"{quoted(column)} {operator} {literal(value, where)}"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literal(value: Any, where: str) -> str:
    """A value of plain() as a condition writes it: numbers and truth values as they are, texts and dates in quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (int, float)):
        return repr(value)
    raise UsageError(f"{where}expected a text, a number, a truth value or a date, found {describe(value)}")
