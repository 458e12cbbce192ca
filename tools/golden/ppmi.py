#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Positive pointwise mutual information of a tiny corpus, its singular values, and the start of a
static table made from them, by the formulas of simile/derive/ppmi_start.h.

    /usr/bin/python3 tools/golden/ppmi.py > tests/golden/ppmi.json

Needs numpy; dense matrices in double precision, pairs counted one by one.
"""
import json
import sys

import numpy as np

V = 40
UNCOUNTED = [0, 7, 31]
D = 6


def corpus(random):
    """Sequences whose tokens come from a few topics, so that some stand together more than chance
    has it; some sequences are empty, and token 39 never occurs."""
    sequences = [[], [3]]
    for _ in range(70):
        topic = random.integers(0, 4)
        length = random.integers(0, 14)
        own = topic * 9 + (9 * random.random(length) ** 2).astype(int)
        any_token = (39 * random.random(length) ** 2).astype(int)
        sequences.append(np.where(random.random(length) < 0.7, own, any_token).tolist())
    return sequences


def count(sequences, window, weighting):
    counts = np.zeros((V, V))
    for sequence in sequences:
        kept = [t for t in sequence if t not in UNCOUNTED]
        for i, a in enumerate(kept):
            for j, b in enumerate(kept):
                distance = abs(i - j)
                if 0 < distance <= window:
                    counts[a, b] += 1 if weighting == "flat" else window + 1 - distance
    return counts


def ppmi(counts, smoothing, shift, minimum_count):
    """M over the tokens that occur, and where an entry may stand."""
    totals = counts.sum(1)
    with np.errstate(divide="ignore"):
        context = np.log(totals ** smoothing / (totals ** smoothing).sum())
        m = np.log(counts) - np.log(totals)[:, None] - context[None, :] - shift
    m[counts < max(minimum_count, 1e-9)] = 0
    np.fill_diagonal(m, 0)
    return np.maximum(m, 0)


def start(m, occurring, power, idf):
    u, s, _ = np.linalg.svd(m)
    rows = u[:, :D] * s[:D] ** power
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    table = np.zeros((V, D))
    table[occurring] = rows
    table *= np.maximum(idf / idf.mean(), 0.02)[:, None]
    table[UNCOUNTED] = 0
    return s, table


def main():
    sequences = corpus(np.random.default_rng(14))
    df = np.array([sum(t in s for s in sequences) for t in range(V)])
    idf = np.log((len(sequences) + 1) / (df + 1))
    kept = [t for s in sequences for t in s if t not in UNCOUNTED]
    frequency = np.bincount(kept, minlength=V)
    occurring = [t for t in np.argsort(-frequency, kind="stable") if frequency[t] > 0]
    cases = []
    for window, weighting, smoothing, shift, minimum_count, power in [
            (2, "flat", 1, 0, 0, 0.5), (3, "linear", 0.75, 0, 0, 0.5), (5, "linear", 0.5, 0.7, 4, 1),
            (100, "flat", 0.75, 0.4, 2, 0)]:
        counts = count(sequences, window, weighting)
        with np.errstate(invalid="ignore"):
            m = ppmi(counts, smoothing, shift, minimum_count)
        m = m[np.ix_(occurring, occurring)]
        values, table = start(m, occurring, power, idf)
        cases.append({"options": {"window": window, "weighting": weighting, "smoothing": smoothing,
                                  "shift": shift, "minimum_count": minimum_count,
                                  "power": power},
                      "matrix": m.round(8).tolist(), "values": values[:D].tolist(),
                      "inner_products": (table @ table.T).round(8).tolist()})
    json.dump({"vocabulary": V, "uncounted": UNCOUNTED, "dimensions": D, "sequences": sequences,
               "document_frequencies": df.tolist(), "idf": idf.tolist(),
               "tokens": [int(t) for t in occurring], "cases": cases}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
