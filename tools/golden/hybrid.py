#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/hybrid.json: scores of words and of vectors as one, by their definitions.

    python3 tools/golden/hybrid.py > tests/golden/hybrid.json

Nothing here shares code or method with simile/index/score_fusion.cpp, simile/eval/hybrid_scorer.cpp or the BM25
behind it: means and variances are exact fractions, ranks are counted, BM25 is summed document by document. The model's
spread is 9/22, as the tests give it.
"""
import json
import math
import random
from fractions import Fraction


def standardised(scores):
    exact = [Fraction(s) for s in scores]
    mean = sum(exact) / len(exact)
    variance = sum((s - mean) ** 2 for s in exact) / len(exact)
    if variance == 0:
        return [0.0] * len(scores)
    return [float(s - mean) / math.sqrt(float(variance)) for s in exact]


def reciprocal_rank(score, scores):
    return 1 / (61 + sum(other > score for other in scores))


def scaled_words(rule, scores):
    if rule == "zsum":
        return standardised(scores)
    if rule == "rrf":
        return [reciprocal_rank(s, scores) if s > 0 else 0.0 for s in scores]
    return [s / max(scores) if max(scores) > 0 else 0.0 for s in scores]


def scaled_vectors(rule, scores):
    if rule == "zsum":
        return standardised(scores)
    if rule == "rrf":
        return [reciprocal_rank(s, scores) for s in scores]
    if rule == "cosine":
        return [s * 22 / 9 for s in scores]
    return [(s + 1) / (max(scores) + 1) if max(scores) > -1 else 0.0 for s in scores]


def fuse(rule, weight, vectors, words):
    return [weight * v + (1 - weight) * w
            for v, w in zip(scaled_vectors(rule, vectors), scaled_words(rule, words))]


def fusion_cases(rng):
    lists = []
    for n, digits in ((1, 2), (2, 3), (7, 1), (40, 4)):
        vectors = [round(rng.uniform(-1, 1), digits) for _ in range(n)]
        words = [round(max(0, rng.uniform(-4, 9)), digits) for _ in range(n)]
        lists.append((vectors, words))
    lists += [([0.1] * 3, [0.3] * 3), ([0.5, 0.25, 0.5], [0.0] * 3), ([-1.0, -1.0], [2.0, 0.0])]
    return [{"rule": rule, "weight": weight, "vectors": vectors, "words": words,
             "fused": fuse(rule, weight, vectors, words)}
            for vectors, words in lists for rule in ("zsum", "rrf", "max", "cosine") for weight in (0, 0.4, 0.5, 1)]


def bm25(query, document, corpus, k1=1.2, b=0.75):
    words = [text.split() for text in corpus]
    mean_length = sum(map(len, words)) / len(words)
    score = 0.0
    for word in query.split():
        frequency = sum(word in text for text in words)
        idf = math.log(1 + (len(corpus) - frequency + 0.5) / (frequency + 0.5))
        count = document.split().count(word)
        if count:
            score += idf * count / (count + k1 * (1 - b + b * len(document.split()) / mean_length))
    return score


def cosine(a, b):
    length = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b)) / length if length else 0.0


def rankings(rng):
    vocabulary = "red blue fish bird song river stone old new cloud".split()
    corpus = sorted({" ".join(rng.choices(vocabulary, k=rng.randint(1, 6))) for _ in range(30)})
    queries = [" ".join(rng.choices(vocabulary, k=rng.randint(1, 4))) for _ in range(6)] + ["unseen words"]
    table = {text: [round(rng.gauss(0, 1), 3) for _ in range(5)] for text in corpus + queries}
    candidates = [sorted(rng.sample(range(len(corpus)), 5)) for _ in queries]
    of_rule = {}
    for rule in ("zsum", "rrf", "max", "cosine"):
        whole, some = [], []
        for query, chosen in zip(queries, candidates):
            words = [bm25(query, text, corpus) for text in corpus]
            vectors = [cosine(table[query], table[text]) for text in corpus]
            whole.append(fuse(rule, 0.4, vectors, words))
            some.append(fuse(rule, 0.4, [vectors[d] for d in chosen], [words[d] for d in chosen]))
        of_rule[rule] = {"whole": whole, "some": some}
    left, right = corpus[:8], corpus[8:16]
    texts = sorted(set(left + right))
    words = [(bm25(a, b, texts) + bm25(b, a, texts)) / 2 for a, b in zip(left, right)]
    pairs = fuse("zsum", 0.4, [cosine(table[a], table[b]) for a, b in zip(left, right)], words)
    return {"corpus": corpus, "queries": queries, "candidates": candidates, "vectors": table, "weight": 0.4,
            "rules": of_rule, "left": left, "right": right, "pairs": pairs}


def main():
    rng = random.Random(14)
    print(json.dumps({"fusion": fusion_cases(rng), "rankings": rankings(rng)}, indent=None, separators=(",", ":")))


main()
