#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whitening fitted to a small sample by the formulas of simile/derive/whiten.h.

    /usr/bin/python3 tools/golden/whitening.py > tests/golden/whitening.json

Needs numpy; double precision, by the singular value decomposition of the sample itself.
"""
import json
import sys

import numpy as np

N, D = 40, 6


def fit(x, power, dimensions, center, epsilon):
    mean = x.mean(0) if center else np.zeros(D)
    _, s, vt = np.linalg.svd((x - mean) / np.sqrt(len(x)), full_matrices=False)
    for row in vt:
        if row[np.abs(row).argmax()] < 0:
            row *= -1
    k = dimensions or D
    scales = (s ** 2 + epsilon * (s ** 2).mean())[:k] ** (-power / 2)
    scales *= np.sqrt((s ** 2).sum() / (s[:k] ** 2 * scales ** 2).sum())
    return mean, s, vt[:k].T * scales


def main():
    random = np.random.default_rng(15)
    x = random.standard_normal((N, D)) * [3, 2, 1, 0.5, 0.2, 0.05] @ random.standard_normal((D, D))
    x = ((x + [2, -1, 0, 1, 0, 0]) * 1024).round() / 1024  # numbers that a float holds exactly
    cases = []
    for power, dimensions, center, epsilon in [(0.5, 0, False, 0), (0.5, 0, True, 1e-3),
                                               (1, 4, True, 0), (0, 3, False, 0.1), (1, 0, False, 0)]:
        mean, s, w = fit(x, power, dimensions, center, epsilon)
        cases.append({"options": {"power": power, "dimensions": dimensions, "center": center,
                                  "epsilon": epsilon},
                      "mean": mean.tolist(), "deviations": s.tolist(), "map": w.tolist(),
                      "expected": ((x - mean) @ w).tolist()})
    json.dump({"sample": x.tolist(), "cases": cases}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
