#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns previously fact-checked claims (Shaar et al., ACL 2020) into the tables that recipes read.

    simile data get pfcc_s
    python3 tools/data/fact_checks.py data/pfcc_s

FOLDER holds tweet-veclaim-pairs.tsv (claim, fact: a post and the verified claim it repeats) and
verified-claims.tsv (title, fact), both quoted as a .csv is. Written to the same folder:

    corpus.tsv                       id, text: each verified claim, numbered from 0
    queries.tsv                      id, text: the post of each pair, t0, t1, ...
    qrels.train.tsv, qrels.test.tsv  query_id, doc_id, relevance: the first 800 pairs (Chernyavskiy et al.,
                                     2022) and the others; claims of the same text are all relevant
    train.pairs.tsv, test.pairs.tsv  sentence1, sentence2, score: the pairs themselves

A run of white space becomes one space.
"""
from __future__ import annotations

import argparse
import csv
import os
import re
from typing import NamedTuple

from tables import InputError, open_text, run, write_table

PAIRS = "tweet-veclaim-pairs.tsv"
CLAIMS = "verified-claims.tsv"
WHITE_SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")


class Pair(NamedTuple):
    first: str
    second: str
    where: str


def with_single_spaces(text: str) -> str:
    return WHITE_SPACE.sub(" ", text).strip(" ")


def read_pairs(path: str) -> list[Pair]:
    csv.field_size_limit(1 << 26)
    pairs = []
    with open_text(path) as file:
        rows = csv.reader(file, delimiter="\t", strict=True)
        line = 1
        try:
            for row in rows:
                where = f"{path}:{line}"
                if len(row) != 2:
                    raise InputError(f"{where}: expected 2 fields, found {len(row)}")
                pairs.append(Pair(*map(with_single_spaces, row), where))
                line = rows.line_num + 1
        except csv.Error as error:
            raise InputError(f"{path}:{line}: {error}") from None
    return pairs[1:]  # the first row is the header


def convert(folder: str, trained: int) -> None:
    claims = [claim.second for claim in read_pairs(os.path.join(folder, CLAIMS))]
    numbers: dict[str, list[int]] = {}
    for number, claim in enumerate(claims):
        numbers.setdefault(claim, []).append(number)
    pairs = read_pairs(os.path.join(folder, PAIRS))
    for pair in pairs:
        if pair.second not in numbers:
            raise InputError(f"{pair.where}: its claim is not in {CLAIMS}: '{pair.second[:60]}'")

    def write(name: str, header: str, rows: list[tuple]) -> None:
        write_table(os.path.join(folder, name), header.split(), rows)

    write("corpus.tsv", "id text", list(enumerate(claims)))
    write("queries.tsv", "id text", [(f"t{i}", pair.first) for i, pair in enumerate(pairs)])
    parts = {"train": range(min(trained, len(pairs))), "test": range(trained, len(pairs))}
    for part, places in parts.items():
        write(f"qrels.{part}.tsv", "query_id doc_id relevance",
              [(f"t{i}", number, 1) for i in places for number in numbers[pairs[i].second]])
        write(f"{part}.pairs.tsv", "sentence1 sentence2 score",
              [(pairs[i].first, pairs[i].second, 1) for i in places])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="folder of the published files")
    parser.add_argument("--trained", type=int, default=800, help="pairs of the training part (default: 800)")
    arguments = parser.parse_args()
    convert(arguments.folder, arguments.trained)


if __name__ == "__main__":
    run(main)
