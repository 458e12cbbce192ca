#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perturbations, penalties and gradients of smoothness-inducing regularisation on a toy model.

    python3 tools/golden/siar.py > tests/golden/siar.json

The model: texts of a few tokens, tokens t with vectors x_t; the embedding of a text is the mean of
tanh(x_t W) over its tokens; its logits are `head` columns of that, its score the first of them.
Everything is computed number by number from the formulas, in double precision, from noise that is
written out; the nearest point of an L1 ball is found by bisection. Needs torch (for automatic
differentiation of scalars only) and no part of Simile.
"""
import json
import random

import torch

OFFSETS = [0, 2, 5, 7]
SIZE, CLASSES = 4, 3


def numbers(rng, rows, columns, spread):
    return [[round(rng.gauss(0, spread), 4) for _ in range(columns)] for _ in range(rows)]


def scalar(value):
    return torch.tensor(value, dtype=torch.float64)


def model(x, delta, weight, head, kind):
    """A list of rows of logits, or of scores."""
    outputs = []
    for first, last in zip(OFFSETS, OFFSETS[1:]):
        embedding = [scalar(0.0)] * SIZE
        for t in range(first, last):
            for h in range(SIZE):
                z = sum((x[t][d] + delta[t][d]) * weight[d][h] for d in range(SIZE))
                embedding[h] = embedding[h] + torch.tanh(z) / (last - first)
        row = [sum(embedding[h] * head[h][c] for h in range(SIZE)) for c in range(CLASSES)]
        outputs.append({'logits': row, 'bernoulli': row[:1], 'scores': row[0]}[kind])
    return outputs


def constant(outputs):
    return [[v.detach() for v in row] if isinstance(row, list) else row.detach()
            for row in outputs]


def log_probabilities(row):
    if len(row) == 1:  # a Bernoulli distribution: of z and of -z
        return [-torch.log1p(torch.exp(-row[0])), -torch.log1p(torch.exp(row[0]))]
    total = torch.log(sum(torch.exp(v) for v in row))
    return [v - total for v in row]


def divergence(p_row, q_row):
    p, q = log_probabilities(p_row), log_probabilities(q_row)
    return sum(torch.exp(a) * (a - b) for a, b in zip(p, q))


def symmetric(p_row, q_row):
    p, q = log_probabilities(p_row), log_probabilities(q_row)
    return sum((torch.exp(a) - torch.exp(b)) * (a - b) for a, b in zip(p, q))


def searched(mode, kind, perturbed, clean):
    m = len(clean)
    if kind == 'scores':
        total = sum((a - b) ** 2 for a, b in zip(perturbed, clean))
        return total if mode == 'peer' else total / m
    pair = divergence if mode == 'peer' else symmetric
    return sum(pair(c, p) for c, p in zip(clean, perturbed)) / m


def penalised(mode, kind, perturbed, clean):
    m = len(clean)
    if kind == 'scores':
        return sum((a - b) ** 2 for a, b in zip(perturbed, clean)) / m
    if mode == 'ball':
        return sum(symmetric(p, c) for p, c in zip(perturbed, clean)) / m
    return (sum(divergence(c, p) for c, p in zip(constant(clean), perturbed)) +
            sum(divergence(p, c) for p, c in zip(constant(perturbed), clean)))


def norm(vector, p):
    if p == 'inf':
        return max(abs(v) for v in vector)
    if p == '2':
        return sum(v * v for v in vector) ** 0.5
    return sum(abs(v) for v in vector)


def projected(vector, p, radius):
    if norm(vector, p) <= radius:
        return vector
    if p == 'inf':
        return [min(radius, max(-radius, v)) for v in vector]
    if p == '2':
        return [v * radius / norm(vector, p) for v in vector]
    low, high = 0.0, norm(vector, 'inf')
    for _ in range(200):
        middle = (low + high) / 2
        if sum(max(0.0, abs(v) - middle) for v in vector) > radius:
            low = middle
        else:
            high = middle
    return [(1 if v > 0 else -1) * max(0.0, abs(v) - high) for v in vector]


def moved(o, delta, gradient):
    out = []
    for d, g in zip(delta, gradient):
        if o['mode'] == 'peer':
            step = [a + o['step_size'] * b for a, b in zip(d, g)]
            out.append([v / (norm(step, o['norm']) + 1e-6) for v in step])
        else:
            length = norm(g, o['norm'])
            step = [a + o['step_size'] * b / length for a, b in zip(d, g)]
            out.append(projected(step, o['norm'], o['radius']))
    return out


def leaves(rows):
    return [[scalar(v).requires_grad_(True) for v in row] for row in rows]


def gradients(rows):
    return [[0.0 if v.grad is None else v.grad.item() for v in row] for row in rows]


def run(toy, options, kind):
    weight, head = leaves(toy['weight']), leaves(toy['head'])
    delta = [[options['noise'] * v for v in row] for row in toy['noise']]
    clean = model(toy['x'], [[0.0] * SIZE] * OFFSETS[-1], weight, head, kind)
    for _ in range(options['steps']):
        leaf = leaves(delta)
        fixed_weight = [[v.detach() for v in row] for row in weight]
        fixed_head = [[v.detach() for v in row] for row in head]
        perturbed = model(toy['x'], leaf, fixed_weight, fixed_head, kind)
        searched(options['mode'], kind, perturbed, constant(clean)).backward()
        delta = moved(options, delta, gradients(leaf))
    perturbed = model(toy['x'], delta, weight, head, kind)
    penalty = options['weight'] * penalised(options['mode'], kind, perturbed, clean)
    penalty.backward()
    return {'output': kind, 'options': options, 'perturbation': delta, 'penalty': penalty.item(),
            'weight_gradient': gradients(weight), 'head_gradient': gradients(head)}


def main():
    rng = random.Random(11)
    tokens = OFFSETS[-1]
    toy = {'offsets': OFFSETS, 'x': numbers(rng, tokens, SIZE, 1.0),
           'weight': numbers(rng, SIZE, SIZE, 0.6), 'head': numbers(rng, SIZE, CLASSES, 1.5),
           'noise': numbers(rng, tokens, SIZE, 1.0)}
    cases = []
    for mode in ('ball', 'peer'):
        for p in ('inf', '2', '1'):
            for steps in (1, 2):
                for kind in ('logits', 'scores'):
                    options = {'weight': 3.0, 'steps': steps, 'noise': 0.1, 'step_size': 0.3,
                               'radius': 0.2, 'norm': p, 'mode': mode}
                    cases.append(run(toy, options, kind))
        options = dict(cases[-1]['options'], norm='inf', steps=1)
        cases.append(run(toy, options, 'bernoulli'))
    for kind in ('logits', 'scores'):  # the size of the papers' perturbations
        options = {'weight': 3.0, 'steps': 1, 'noise': 1e-5, 'step_size': 1e-3, 'radius': 1e-5,
                   'norm': 'inf', 'mode': 'ball'}
        cases.append(run(toy, options, kind))
    print('{"toy": ' + json.dumps(toy) + ',\n"cases": [\n' +
          ',\n'.join(json.dumps(case) for case in cases) + '\n]}')


main()
