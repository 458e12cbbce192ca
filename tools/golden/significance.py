#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/significance.json: tests of significance by their definitions, in plain Python.

    python3 tools/golden/significance.py > tests/golden/significance.json

Nothing here shares code or method with simile/metric/significance.cpp: tails of Student's distribution come
from its closed form (a finite sum of powers of cosines, Abramowitz & Stegun 26.7.3 and 26.7.4), the
incomplete beta function from numerical integration, sums of signs from exact fractions over all choices.
"""
import itertools
import json
import math
import random
from fractions import Fraction


def student_two_sided(t, degrees):
    theta = math.atan(abs(t) / math.sqrt(degrees))
    term, total = 1.0, 0.0
    if degrees % 2 == 1:
        if degrees > 1:
            term = math.cos(theta)
            total = term
            for k in range(2, degrees - 1, 2):
                term *= math.cos(theta) ** 2 * k / (k + 1)
                total += term
        inside = 2 / math.pi * (theta + math.sin(theta) * total)
    else:
        total = term
        for k in range(1, degrees - 2, 2):
            term *= math.cos(theta) ** 2 * k / (k + 1)
            total += term
        inside = math.sin(theta) * total
    return 1 - inside


def incomplete_beta(a, b, x, cuts=20000):
    # Simpson's rule; a, b >= 1, so the integrand is finite at both ends.
    def area(end):
        h = end / cuts
        f = lambda v: v ** (a - 1) * (1 - v) ** (b - 1)
        odd = math.fsum(f((i + 0.5) * h) for i in range(cuts))
        even = math.fsum(f(i * h) for i in range(1, cuts))
        return h / 6 * (f(0.0) + f(end) + 4 * odd + 2 * even)
    return area(x) / area(1.0)


def permutation_p(a, b):
    differences = [Fraction(str(y)) - Fraction(str(x)) for x, y in zip(a, b)]
    observed = abs(sum(differences))
    hits = sum(abs(sum(s * d for s, d in zip(signs, differences))) >= observed
               for signs in itertools.product((1, -1), repeat=len(differences)))
    return hits / 2 ** len(differences)


def paired(rng):
    cases = []
    for n, shift in ((2, 0.5), (3, 0.0), (5, 1.0), (5, 0.2), (10, 0.4), (13, 0.0)):
        a = [round(rng.uniform(70, 80), 1) for _ in range(n)]
        b = [round(x + rng.gauss(shift, 1), 1) for x in a]
        d = [Fraction(str(y)) - Fraction(str(x)) for x, y in zip(a, b)]
        mean = sum(d) / n
        variance = sum((v - mean) ** 2 for v in d) / (n - 1)
        t = float(mean) / math.sqrt(float(variance / n))
        cases.append({"a": a, "b": b, "deviation": math.sqrt(float(variance)), "t": t,
                      "t_p": student_two_sided(t, n - 1), "permutation_p": permutation_p(a, b)})
    return cases


def main():
    rng = random.Random(20221122)
    tails = [{"t": t, "degrees": n, "p": student_two_sided(t, n)}
             for n in (1, 2, 3, 4, 9, 30, 101) for t in (0.0, 0.1, 1.0, 2.5, 4.0)]
    betas = [{"a": a, "b": b, "x": x, "value": incomplete_beta(a, b, x)}
             for a, b in ((1, 1), (2, 3), (4.5, 1), (20, 7), (6, 60)) for x in (0.05, 0.3, 0.5, 0.9)]
    golden = {"paired": paired(rng), "student": tails, "beta": betas}
    print("{")
    print(",\n".join("%s: %s" % (json.dumps(k), json.dumps(v)) for k, v in golden.items()))
    print("}")


if __name__ == "__main__":
    main()
