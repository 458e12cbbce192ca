#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/metrics.json: metrics by their definitions, in plain Python.

    python3 tools/golden/metrics.py > tests/golden/metrics.json

Nothing here shares code with simile/metric. Each function is the textbook formula in its slowest form;
the C++ must agree to 1e-12.
"""
import json
import math
import random
from fractions import Fraction


def pearson(x, y):
    n = len(x)
    x, y = [Fraction(v) for v in x], [Fraction(v) for v in y]
    mx, my = sum(x) / n, sum(y) / n
    xy = sum((a - mx) * (b - my) for a, b in zip(x, y))
    xx = sum((a - mx) ** 2 for a in x)
    yy = sum((b - my) ** 2 for b in y)
    return 0.0 if xx == 0 or yy == 0 else float(xy) / math.sqrt(float(xx * yy))


def ranks(x):
    # rank = 1 + how many are smaller + half of how many others are equal
    return [1 + sum(b < a for b in x) + (sum(b == a for b in x) - 1) / 2 for a in x]


def correlations(rng):
    cases = []
    for n, digits in ((2, 3), (5, 0), (30, 1), (60, 6)):
        x = [round(rng.uniform(-3, 5), digits) for _ in range(n)]
        y = [round(0.5 * a + rng.gauss(0, 1), digits) for a in x]
        cases.append({"left": x, "right": y, "pearson": pearson(x, y), "left_ranks": ranks(x),
                      "spearman": pearson(ranks(x), ranks(y))})
    return cases


def average_precision_of_list(relevances, judged):
    total = sum(r >= 1 for r in judged)
    terms = [sum(r >= 1 for r in relevances[:i + 1]) / (i + 1)
             for i in range(len(relevances)) if relevances[i] >= 1]
    return sum(terms) / total


def dcg(gains):
    return sum(g / math.log2(i + 2) for i, g in enumerate(gains))


def ndcg(relevances, judged, k, gain):
    gains = [gain(max(r, 0)) for r in relevances][:k]
    ideal = sorted((gain(max(r, 0)) for r in judged), reverse=True)[:k]
    return dcg(gains) / dcg(ideal)


def ranking_metrics(relevances, judged):
    out = {"map": average_precision_of_list(relevances, judged)}
    hits = [i for i, r in enumerate(relevances) if r >= 1]
    out["mrr"] = 1 / (hits[0] + 1) if hits else 0
    total = sum(r >= 1 for r in judged)
    for k in (1, 3, 10, 100):
        found = sum(r >= 1 for r in relevances[:k])
        out["p@%d" % k] = found / k
        out["recall@%d" % k] = found / total
        out["has_positive@%d" % k] = 1 if found else 0
        out["ndcg@%d" % k] = ndcg(relevances, judged, k, lambda g: g)
        out["map@%d" % k] = average_precision_of_list(relevances[:k], judged)
        out["mrr@%d" % k] = out["mrr"] if hits and hits[0] < k else 0
    return out


def rankings(rng):
    queries = []
    for q in range(12):
        judged = [rng.choice((-1, 0, 0, 1, 1, 2, 3)) for _ in range(rng.randint(2, 12))] + [1]
        retrieved = judged[:] + [0] * rng.randint(0, 30)
        rng.shuffle(retrieved)
        retrieved = retrieved[:rng.randint(0, len(retrieved))]
        queries.append({"query": "q%d" % q, "retrieved": retrieved, "judged": judged,
                        "metrics": ranking_metrics(retrieved, judged),
                        "ndcg_exponential@10": ndcg(retrieved, judged, 10, lambda g: 2 ** g - 1)})
    means = {name: sum(q["metrics"][name] for q in queries) / len(queries)
             for name in queries[0]["metrics"]}
    return {"queries": queries, "means": means}


def decide(scores, labels, threshold):
    tp = sum(s >= threshold and l == 1 for s, l in zip(scores, labels))
    fp = sum(s >= threshold and l == 0 for s, l in zip(scores, labels))
    fn = sum(s < threshold and l == 1 for s, l in zip(scores, labels))
    tn = sum(s < threshold and l == 0 for s, l in zip(scores, labels))
    root = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return {"accuracy": (tp + tn) / len(scores), "f1": 2 * tp / (2 * tp + fp + fn) if tp else 0,
            "mcc": (tp * tn - fp * fn) / root if root else 0}


def best(scores, labels, metric):
    distinct = sorted(set(scores), reverse=True)
    cuts = [math.nextafter(distinct[0], math.inf)]
    cuts += [(a + b) / 2 for a, b in zip(distinct, distinct[1:])] + [distinct[-1]]
    values = [decide(scores, labels, cut)[metric] for cut in cuts]
    at = values.index(max(values))
    return {"threshold": cuts[at], "value": values[at]}


def average_precision_of_scores(scores, labels):
    total, area, before = sum(labels), 0, 0
    for cut in sorted(set(scores), reverse=True):
        taken = [l for s, l in zip(scores, labels) if s >= cut]
        recall = sum(taken) / total
        area += (recall - before) * sum(taken) / len(taken)
        before = recall
    return area


def thresholds(rng):
    cases = []
    for n, digits, shift in ((6, 2, 1), (40, 1, 1), (80, 4, 0.5), (25, 0, 0)):
        labels = [rng.randint(0, 1) for _ in range(n - 2)] + [0, 1]
        scores = [round(rng.gauss(shift * l, 1), digits) for l in labels]
        cases.append({"scores": scores, "labels": labels, "accuracy": best(scores, labels, "accuracy"),
                      "f1": best(scores, labels, "f1"), "at_half": decide(scores, labels, 0.5),
                      "ap": average_precision_of_scores(scores, labels)})
    return cases


def classes(rng):
    cases = []
    for n, count in ((20, 3), (50, 5)):
        gold = [rng.randrange(count) for _ in range(n)]
        predicted = [g if rng.random() < 0.6 else rng.randrange(count) for g in gold]
        f1 = []
        for c in range(count):
            tp = sum(g == c and p == c for g, p in zip(gold, predicted))
            wrong = sum((g == c) != (p == c) for g, p in zip(gold, predicted))
            f1.append(2 * tp / (2 * tp + wrong) if tp + wrong else None)
        kept = [f for f in f1 if f is not None]
        cases.append({"classes": count, "gold": gold, "predicted": predicted,
                      "accuracy": sum(g == p for g, p in zip(gold, predicted)) / n,
                      "macro_f1": sum(kept) / len(kept)})
    return cases


def main():
    rng = random.Random(20240229)
    golden = {"correlation": correlations(rng), "ranking": rankings(rng),
              "threshold": thresholds(rng), "classification": classes(rng)}
    print("{")
    print(",\n".join("%s: %s" % (json.dumps(k), json.dumps(v)) for k, v in golden.items()))
    print("}")


if __name__ == "__main__":
    main()
