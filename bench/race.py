# SPDX-License-Identifier: Apache-2.0
"""Judges what bench/race.sh recorded.

usage: race.py RAW.jsonl

Prints, for each case, the median over the rounds of B's time divided by A's, and its 90 % interval
by bootstrap over the rounds. B has lost a case if the whole interval lies above 1.05; then the exit
code is 1. An interval wider than 10 % means that the machine was not quiet enough to judge.
"""
import json
import random
import statistics
import sys

LIMIT, TOO_WIDE = 1.05, 0.10
SAMPLES = 10000


def rate(result):
    return next(result[key] for key in ("pairs_per_second", "sentences_per_second") if key in result)


def interval(ratios):
    generator = random.Random(1)
    medians = sorted(statistics.median(generator.choices(ratios, k=len(ratios))) for _ in range(SAMPLES))
    return medians[SAMPLES // 20], medians[-SAMPLES // 20]


def judge(low, high):
    if low > LIMIT:
        return "slower"
    if high - low > TOO_WIDE:
        return "not quiet enough to judge"
    return "faster" if high < 1 / LIMIT else "level"


def main(path):
    cases = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            cases.setdefault(entry["case"], {}).setdefault(entry["who"], []).append(rate(entry["result"]))
    lost = False
    print("| case | A, a second | B, a second | time of B over A | 90 % interval | |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case, rates in cases.items():
        ratios = [a / b for a, b in zip(rates["A"], rates["B"])]
        low, high = interval(ratios)
        verdict = judge(low, high)
        lost = lost or verdict == "slower"
        print(f"| {case} | {statistics.median(rates['A']):.1f} | {statistics.median(rates['B']):.1f} | "
              f"{statistics.median(ratios):.3f} | {low:.3f} to {high:.3f} | {verdict} |")
    return 1 if lost else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
