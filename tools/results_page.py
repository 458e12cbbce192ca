#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts every table of docs/results/tables into docs/results/README.md, below the line that says so.

A table is what `simile reproduce TABLE ... --format markdown` prints, in a file of its name; what it
was made from may stand behind the name (bsc-table4-static.md).   tools/results_page.py [--check]
"""
import pathlib
import re
import sys

MARK = "<!-- below: made by tools/results_page.py from tables/ -->\n"
PAPERS = ["bsc", "rcl", "siar", "polar", "claims", "rates"]

results = pathlib.Path(__file__).resolve().parent.parent / "docs" / "results"
page = results / "README.md"


def place(path):
    paper = next((i for i, name in enumerate(PAPERS) if path.stem.startswith(name)), len(PAPERS))
    return ("search" in path.stem, paper, path.stem)


def section(path):
    text = path.read_text()
    title, rest = text.split("\n", 1)
    return "### " + re.sub(r"^#+ [^:]*:", path.stem + ":", title) + "\n" + re.sub(r"(?m)^#", "####", rest).rstrip() + "\n"


tables = sorted((results / "tables").glob("*.md"), key=place)
if MARK not in page.read_text():
    sys.exit(f"{page}: expected a line {MARK.strip()}")
above = page.read_text().split(MARK)[0]
text = above + MARK + "\n## Every table\n\n" + "\n".join(section(path) for path in tables)
if "--check" in sys.argv[1:]:
    sys.exit(0 if page.read_text() == text else "docs/results/README.md: run tools/results_page.py")
page.write_text(text)
