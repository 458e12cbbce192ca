#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a page for each paper, docs/results/PAPER-tables.md, with all its tables of docs/results/tables,
and counts the items of docs/results/items.md by state in the table at its top.

A table is what `simile reproduce TABLE ... --format markdown` prints, in a file of its name; what it
was made from may stand behind the name (bsc-table4-minilm.md).   tools/results_page.py [--check]
"""
import pathlib
import re
import sys

PAPERS = {
    "bsc": ("BSC", ["bsc-", "claims-negatives", "claims-normalisation", "claims-temperature", "rates",
                    "losses"]),
    "rcl": ("RCL", ["rcl-", "claims-regulators", "claims-geometry", "claims-overfitting"]),
    "siar": ("S-BERT with smoothness", ["siar-", "claims-smoothness"]),
    "polar": ("PolarBERT", ["polar-"]),
}
STATES = ["done", "differs", "absent", "missing"]
HEAD = """# Tables of {paper}

This page has every table of {paper} that was run, beside the paper's figures. The [results
page](README.md) has the conclusions. Tables named `minilm` start from all-MiniLM-L6-v2. They ran on an
Intel Xeon with AMX, but `polar-results-minilm` on an AMD EPYC; `minilm-amx` has its rows from the Xeon,
and `minilm-gpu` one seed from an H100. `words` starts from the word vectors of simile-mini-3-static;
`static` and the others start from older models of this project.

<!-- made by tools/results_page.py from tables/ -->

"""

results = pathlib.Path(__file__).resolve().parent.parent / "docs" / "results"


def section(path):
    title, rest = path.read_text().split("\n", 1)
    return "## " + re.sub(r"^#+ [^:]*:", path.stem + ":", title) + "\n" + re.sub(r"(?m)^#", "###", rest).rstrip() + "\n"


def counted(text):
    """The page of items with the counts of its first table made again from its rows."""
    total = [0] * len(STATES)
    for paper, rows in re.findall(r"(?ms)^## (\w+)\n(.*?)(?=^## |\Z)", text):
        counts = [len(re.findall(rf"(?m)^\| \w+ \|.*\*\*{state}\*\*[^|]*\|$", rows)) for state in STATES]
        total = [sum(pair) for pair in zip(total, counts)]
        text = re.sub(rf"(?m)^\| \[{paper}\]\(.*$", row(f"[{paper}](#{paper.lower()})", counts), text)
    return re.sub(r"(?m)^\| all \|.*$", row("all", total), text)


def row(label, counts):
    return "| " + " | ".join(map(str, [label, sum(counts), *counts])) + " |"


tables = sorted((results / "tables").glob("*.md"), key=lambda path: ("minilm" not in path.stem, path.stem))
items = results / "items.md"
wanted = {items: counted(items.read_text())}
for name, (paper, starts) in PAPERS.items():
    own = [path for path in tables if path.stem.startswith(tuple(starts))]
    tables = [path for path in tables if path not in own]
    wanted[results / f"{name}-tables.md"] = HEAD.format(paper=paper) + "\n".join(map(section, own)) + "\n[All results](../README.md#results)\n"
if tables:
    sys.exit(f"no page has the tables {[path.stem for path in tables]}")
for page, text in wanted.items():
    if "--check" not in sys.argv[1:]:
        page.write_text(text)
    elif not page.exists() or page.read_text() != text:
        sys.exit(f"{page}: run tools/results_page.py")
