#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Logits and probabilities of every kind of task head, number by number from the formulas.

    python3 tools/golden/heads.py > tests/golden/heads.json

Needs nothing but Python. Weights are laid out as `weights`: the tensors one behind the other.
"""
import json
import math
import random

SIZE = 5  # of an embedding
PAIRS = 4


def matrix(rng, rows, columns):
    return [[round(rng.gauss(0, 1), 4) for _ in range(columns)] for _ in range(rows)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def cosine(u, v):
    lengths = math.sqrt(dot(u, u)) * math.sqrt(dot(v, v))
    return dot(u, v) / lengths if lengths > 0 else 0.0


def features(kind, pair, u, v):
    if not pair:
        return u
    if kind == 'l1':
        return [-sum(abs(x - y) for x, y in zip(u, v)) / len(u)]
    if kind == 'cosine':
        return [cosine(u, v)]
    return u + v + [abs(x - y) for x, y in zip(u, v)]


def run_layers(x, layers):
    for i, (weight, bias) in enumerate(layers):
        x = [dot(row, x) + b for row, b in zip(weight, bias)]
        if i + 1 < len(layers):
            x = [max(0.0, value) for value in x]
    return x


def probabilities(output, logits):
    if output == 'score':
        return logits
    if output == 'probability':
        return [1 / (1 + math.exp(-logits[0]))]
    powers = [math.exp(value) for value in logits]
    return [power / sum(powers) for power in powers]


def head(rng, kind, source, output, classes=(), layers=2, width=0):
    settings = {'name': kind, 'kind': kind, 'input': source, 'output': output,
                'class_names': list(classes), 'layers': layers, 'width': width}
    pair = source == 'pair'
    first = 1 if kind in ('l1', 'cosine') else 3 * SIZE if pair else SIZE
    inner = [width or SIZE] * (layers - 1) if kind == 'mlp' else []
    sizes = [first] + inner + [max(1, len(classes))]
    tensors = [(matrix(rng, n_out, n_in), matrix(rng, 1, n_out)[0])
               for n_in, n_out in zip(sizes, sizes[1:])]
    u, v = matrix(rng, PAIRS, SIZE), matrix(rng, PAIRS, SIZE)
    u[1] = list(v[1])  # equal texts
    u[2] = [0.0] * SIZE  # a text without tokens
    logits = [run_layers(features(kind, pair, u[i], v[i]), tensors) for i in range(PAIRS)]
    flat = [x for weight, bias in tensors for row in weight + [bias] for x in row]
    return {'settings': settings, 'weights': flat, 'u': u, 'v': v if pair else [],
            'logits': logits, 'probabilities': [probabilities(output, row) for row in logits]}


def main():
    rng = random.Random(20240607)
    sentiments = ('negative', 'neutral', 'positive')
    heads = [
        head(rng, 'l1', 'pair', 'score'),
        head(rng, 'cosine', 'pair', 'probability'),
        head(rng, 'concat', 'pair', 'probability'),
        head(rng, 'concat', 'pair', 'classes', sentiments),
        head(rng, 'mlp', 'pair', 'score', layers=3, width=7),
        head(rng, 'linear', 'single', 'classes', sentiments),
        head(rng, 'mlp', 'single', 'classes', sentiments, layers=2),
        head(rng, 'linear', 'joint', 'score'),
        head(rng, 'mlp', 'joint', 'probability', layers=1),
    ]
    print(json.dumps({'size': SIZE, 'heads': heads}, indent=None, separators=(',', ':')))


if __name__ == '__main__':
    main()
