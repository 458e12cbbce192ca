#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/gaussian_process.json: a Gaussian process by its definition, in plain Python.

    python3 tools/golden/gaussian_process.py > tests/golden/gaussian_process.json

Nothing here shares code or method with simile/experiment/gaussian_process.cpp: the covariance is the Matern formula written
with r, systems are solved in exact fractions of the rounded covariances, so that inverse and determinant have no
error, and the gradient of the likelihood comes from central differences.
"""
import json
import math
import random
from fractions import Fraction


def covariance(a, b, groups, settings):
    r = math.sqrt(sum(((u - v) / settings["length_scales"][g]) ** 2 for u, v, g in zip(a, b, groups)))
    return settings["signal"] * (1 + math.sqrt(5) * r + 5 * r ** 2 / 3) * math.exp(-math.sqrt(5) * r)


def eliminate(matrix, right):
    """The determinant, and the solutions of matrix * solution = each column of `right`, exactly."""
    rows = [[Fraction(v) for v in row] + [Fraction(v) for v in extra] for row, extra in zip(matrix, right)]
    size, determinant = len(rows), Fraction(1)
    for i in range(size):
        determinant *= rows[i][i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for j in range(size):
            if j != i and rows[j][i] != 0:
                factor = rows[j][i]
                rows[j] = [v - factor * w for v, w in zip(rows[j], rows[i])]
    return determinant, [row[size:] for row in rows]


def matrix_of(x, groups, settings):
    noise = settings["noise"] + 1e-8
    return [[covariance(a, b, groups, settings) + (noise if i == j else 0) for j, b in enumerate(x)]
            for i, a in enumerate(x)]


def likelihood(x, y, groups, settings):
    determinant, solution = eliminate(matrix_of(x, groups, settings), [[v] for v in y])
    fit = float(sum(Fraction(v) * s[0] for v, s in zip(y, solution)))
    return -0.5 * (fit + math.log(determinant) + len(y) * math.log(2 * math.pi))


def gradient(x, y, groups, settings, step=1e-4):
    def at(shift, which):
        moved = {"length_scales": list(settings["length_scales"]), "signal": settings["signal"], "noise": settings["noise"]}
        if which < len(moved["length_scales"]):
            moved["length_scales"][which] *= math.exp(shift)
        else:
            moved["signal" if which == len(moved["length_scales"]) else "noise"] *= math.exp(shift)
        return likelihood(x, y, groups, moved)
    count = len(settings["length_scales"]) + 2
    return [(at(step, i) - at(-step, i)) / (2 * step) for i in range(count)]


def predict(x, y, groups, settings, points):
    between = [[covariance(a, b, groups, settings) for b in x] for a in points]
    right = [[value] + [row[i] for row in between] for i, value in enumerate(y)]
    _, solution = eliminate(matrix_of(x, groups, settings), right)
    predictions = []
    for p, row in enumerate(between):
        mean = sum(Fraction(k) * s[0] for k, s in zip(row, solution))
        explained = sum(Fraction(k) * s[1 + p] for k, s in zip(row, solution))
        predictions.append({"mean": float(mean), "variance": float(Fraction(settings["signal"]) - explained)})
    return predictions


def main():
    rng = random.Random(20261123)
    cases = []
    for points, groups, noise in ((1, [0], 1e-3), (6, [0, 1], 1e-2), (10, [0, 1, 1, 1, 2], 0.05), (14, [0, 1, 2, 3], 0.2)):
        draw = lambda count: [[round(rng.random(), 4) for _ in groups] for _ in range(count)]
        x = draw(points)
        y = [round(math.sin(5 * row[0]) + 0.3 * rng.gauss(0, 1), 4) for row in x]
        settings = {"length_scales": [round(rng.uniform(0.2, 1.5), 3) for _ in range(max(groups) + 1)],
                    "signal": round(rng.uniform(0.5, 2), 3), "noise": noise}
        at = draw(4)
        cases.append({"x": x, "y": y, "groups": groups, **settings,
                      "log_likelihood": likelihood(x, y, groups, settings),
                      "gradient": gradient(x, y, groups, settings),
                      "at": at, "predictions": predict(x, y, groups, settings, at)})
    print("[")
    print(",\n".join(json.dumps(case) for case in cases))
    print("]")


if __name__ == "__main__":
    main()
