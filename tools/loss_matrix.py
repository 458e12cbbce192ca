#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the matrix "loss against loss by data set" of docs/results/README.md, and its drawing
losses.svg, from the tables of BSC that start from all-MiniLM-L6-v2. The page TABLE-minilm*.md with
the most seeds of BSC and MSE on a set fills its row; what it lacks comes from the next of them.
  tools/loss_matrix.py [--check]
"""
import itertools
import pathlib
import re
import sys

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "docs" / "results"
BEGIN, END = "<!-- made by tools/loss_matrix.py -->", "<!-- end of what tools/loss_matrix.py makes -->"
ROWS = {"start": "The start model as it is", "MSE": "MSE", "BSC": "BSC", "combo": "Combo BSC + MSE"}
PAIRS = [("BSC", "MSE"), ("combo", "MSE"), ("combo", "BSC")]
DIFFERENCE = re.compile(r"([-+][\d.]+), (\d+) seeds?")
INTERVAL = re.compile(r"interval over examples ([-+][\d.]+) to ([-+][\d.]+)")
CORRECTED = re.compile(r"corrected (\S+) \(Benjamini-Hochberg\)")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


class Table:
    """What `simile reproduce --format markdown` says of a table: means and claims by column."""

    def __init__(self, path):
        lines = path.read_text().splitlines()
        head = next(line for line in lines if line.startswith("|  |"))
        self.columns = {label.removesuffix(", ours"): place for place, label in enumerate(cells(head))
                        if place > 0 and not label.endswith(", paper")}
        grid = itertools.takewhile(lambda line: line.startswith("|"), lines[lines.index(head) + 2:])
        self.means = {row[0]: row for row in map(cells, grid)}
        self.claims = {row[0].lower(): row[1:] for row in map(cells, lines) if len(row) == 3}

    def mean(self, row, column):
        """As a number of 0 to 100, or None where the row was not run or the page has no such column."""
        if column not in self.columns:
            return None
        cell = self.means.get(ROWS[row], [""] * 99)[self.columns[column]]
        found = re.match(r"[\d.]+", cell)
        return None if found is None else float(found[0]) * self.scale(column)

    def seeds(self, column):
        compared = self.compare(*PAIRS[0], column) if column in self.columns else None
        return compared[4] if compared else 0

    def scale(self, column):
        return 100 if any(row[self.columns[column]].startswith("0.") for row in self.means.values()) else 1

    def compare(self, above, below, column):
        """(difference, low, high, corrected p, seeds, decided?), or None; the table may claim the opposite."""
        for first, second, sign in [(above, below, 1), (below, above, -1)]:
            claim = self.claims.get(f"{first} beats {second} ({column})".lower())
            found = DIFFERENCE.search(claim[1]) if claim else None
            if found is None:
                continue
            scale = sign * self.scale(column)
            interval, corrected = INTERVAL.search(claim[1]), CORRECTED.search(claim[1])
            ends = sorted(scale * float(end) for end in interval.groups()) if interval else [None, None]
            return scale * float(found[1]), *ends, corrected and corrected[1], int(found[2]), claim[0] != "undecided"
        return None


def first_known(values):
    return next((value for value in values if value is not None), None)


def words(compared):
    if compared is None:
        return "not run"
    difference, low, high, p, _, is_decided = compared
    text = f"{difference:+.1f}" + ("" if low is None else f" ({low:+.1f} to {high:+.1f})")
    if p is None:
        return text + ", one seed"
    return f"**{text}**, p {p}" if is_decided else f"{text}, undecided"


def drawing(compared):
    """A line for each comparison: the difference with its interval over the test examples."""
    left, width, step = 300, 780, 4  # of the axis, in points
    first = min(min(found[:3]) for _, found in compared) // step * step
    last = -(-max(max(found[:3]) for _, found in compared) // step) * step
    scale = (width - left - 20) / (last - first)
    zero = left - first * scale
    svg = []
    for place, (label, found) in enumerate(compared):
        y = 46 + 18 * place
        svg.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{label}</text>')
        difference, low, high = found[:3]
        svg.append(f'<line x1="{zero + low * scale:.1f}" x2="{zero + high * scale:.1f}" y1="{y}" y2="{y}" '
                   f'stroke="#36c" stroke-width="3"/><circle cx="{zero + difference * scale:.1f}" cy="{y}" r="5" '
                   f'fill="#36c"/>')
    bottom = 46 + 18 * len(compared)
    axis = "".join(f'<line x1="{zero + tick * scale:.1f}" x2="{zero + tick * scale:.1f}" y1="34" y2="{bottom}" '
                   f'stroke="#bbb"/><text x="{zero + tick * scale:.1f}" y="{bottom + 14}" '
                   f'text-anchor="middle">{tick:+d}</text>' for tick in range(int(first), int(last) + 1, step))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + 24}" font-family="sans-serif" '
            f'font-size="12"><rect width="100%" height="100%" fill="white"/><text x="8" y="18">Difference in points of the '
            f'metric x 100, with its 95 % interval over the test examples</text>{axis}{"".join(svg)}</svg>\n')


def main():
    head = ["set and metric", *ROWS, *(f"{above} - {below}" for above, below in PAIRS), "seeds"]
    lines, compared = [head, ["---"] * len(head)], []
    paths = sorted((RESULTS / "tables").glob("bsc-table*-minilm*.md"), key=lambda path: path.stem)
    for name in sorted({path.stem.split("-minilm")[0] for path in paths}):
        tables = [Table(path) for path in paths if path.stem.startswith(name)]
        for column in dict.fromkeys(column for table in tables for column in table.columns):
            sources = sorted(tables, key=lambda table: -table.seeds(column))
            column_name = {"Spearman x 100": "STSb Spearman"}.get(column, column)
            column_name = column_name if not column.startswith("HP") else "PFCC-S " + column
            means = [first_known(source.mean(row, column) for source in sources) for row in ROWS]
            pairs = [first_known(source.compare(*pair, column) for source in sources) for pair in PAIRS]
            seeds = "/".join(str(pair[4]) if pair else "-" for pair in pairs)
            lines.append([column_name, *("not run" if mean is None else f"{mean:.1f}" for mean in means),
                          *map(words, pairs), seeds])
            compared += [(f"{column_name}: {above} - {below}", pair)
                         for (above, below), pair in zip(PAIRS, pairs) if pair and pair[1] is not None]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    page = RESULTS / "README.md"
    text = page.read_text()
    before, rest = text.split(BEGIN, 1)
    wanted = {page: f"{before}{BEGIN}\n\n{table}\n\n![Differences between the losses, with intervals](losses.svg)\n\n{END}{rest.split(END, 1)[1]}",
              RESULTS / "losses.svg": drawing(compared)}
    for file, content in wanted.items():
        if "--check" not in sys.argv[1:]:
            file.write_text(content)
        elif not file.exists() or file.read_text() != content:
            sys.exit(f"{file}: run tools/loss_matrix.py")


main()
