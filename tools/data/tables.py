# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder share: they turn sets as published into the tables that simile reads.

A table is UTF-8 with a header line, separated by tabs, without quoting; no field holds a tab or a line end.
"""
from __future__ import annotations

import gzip
import io
import os
import sys
from typing import Callable, Iterable, Sequence


class InputError(Exception):
    """What is wrong with a file; the message begins with file and line."""


def open_bytes(path: str) -> io.BufferedIOBase:
    return gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")


def open_text(path: str) -> io.TextIOWrapper:
    """Lines end in LF and keep it; bytes that are not UTF-8 become U+FFFD."""
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", errors="replace", newline="\n")


def write_table(path: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Writes all of the table or nothing."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    temporary = path + ".part"
    with open(temporary, "w", encoding="utf-8", newline="\n") as file:
        for row in (header, *rows):
            file.write("\t".join(map(str, row)) + "\n")
    os.replace(temporary, path)
    print(path)


def run(main: Callable[[], None]) -> None:
    try:
        main()
    except (InputError, OSError, EOFError) as error:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {error}")
