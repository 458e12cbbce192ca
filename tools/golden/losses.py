#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Values and gradients of every loss, computed cell by cell from the formulas in double precision.

    python3 tools/golden/losses.py > tests/golden/losses.json

Needs torch (for automatic differentiation of scalars only) and no part of Simile.
"""
import json
import math
import random

import torch


def matrix(rng, rows, columns):
    return torch.tensor([[round(rng.gauss(0, 1), 4) for _ in range(columns)] for _ in range(rows)],
                        dtype=torch.float64, requires_grad=True)


def length(vector):
    return sum(v * v for v in vector).sqrt()


def normalised(rows, how):
    """Lists of scalars in, lists of scalars out."""
    count, size = len(rows), len(rows[0])
    if how == 'none':
        return rows
    if how == 'l2':
        return [[x / length(row) for x in row] for row in rows]
    out = [[None] * size for _ in range(count)]
    for d in range(size):
        column = [rows[i][d] for i in range(count)]
        low, high = min(column), max(column)
        for i in range(count):
            if how == 'coordinate_l2':
                out[i][d] = column[i] / length(column)
            elif how == 'coordinate_range':
                out[i][d] = column[i] / (high - low)
            else:
                out[i][d] = (column[i] - low) / (high - low)
    return out


def scalars(tensor):
    return [[tensor[i, d] for d in range(tensor.shape[1])] for i in range(tensor.shape[0])]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def cosine(a, b):
    return dot(a, b) / (length(a) * length(b))


def log_sum_exp(values):
    top = max(float(v) for v in values)
    return top + sum((v - top).exp() for v in values).log()


def known_positive(case, i, j, t):
    y = case['target']
    same_left = case['left_group'][i] == case['left_group'][j]
    same_right = case['right_group'][i] == case['right_group'][j]
    return (same_left and y[j] > t) or (same_right and y[i] > t)


def one_side(score, m, columns, positive, y, t, duplicates):
    """-sum over i of the log-softmax of row i at its positives; score(i, j) for j < columns."""
    total = 0.0
    for i in range(m):
        if not y[i] > t:
            continue
        everything = list(range(columns))
        if duplicates == 'mask':
            everything = [j for j in everything if j == i or j >= m or not positive(i, j)]
        log_z = log_sum_exp([score(i, j) for j in everything])
        chosen = [i]
        if duplicates == 'positives':
            chosen = [j for j in range(m) if positive(i, j)]
        total = total - sum(score(i, j) - log_z for j in chosen) / len(chosen)
    return total


def bsc(case, tensors, o, s):
    y, t, duplicates = case['target'], o.get('threshold', 0.5), o.get('duplicates', 'negatives')
    how = o.get('normalize', 'l2')
    left = normalised(scalars(tensors['left']), how)
    stacked = scalars(tensors['right'])
    for negative in tensors['negatives']:
        stacked = stacked + scalars(negative)
    right = normalised(stacked, how)
    m = len(left)
    table = [[s * dot(a, b) for b in right] for a in left]
    rows = one_side(lambda i, j: table[i][j], m, len(right),
                    lambda i, j: known_positive(case, i, j, t), y, t, duplicates)
    columns = one_side(lambda i, j: table[j][i], m, m,
                       lambda i, j: known_positive(case, j, i, t), y, t, duplicates)
    divisor = m
    if o.get('divisor', 'batch') == 'positives':
        divisor = max(1, sum(1 for v in y if v > t))
    directions = o.get('directions', 'both')
    if directions == 'left':
        return rows / divisor
    if directions == 'right':
        return columns / divisor
    return (rows + columns) / (2 * divisor)


def mse(case, tensors):
    left, right = scalars(tensors['left']), scalars(tensors['right'])
    terms = [(cosine(a, b) - y) ** 2 for a, b, y in zip(left, right, case['target'])]
    return sum(terms) / len(terms)


def simcse(case, tensors, o, s):
    """Gao et al. 2021, eq. 1 and 5: the logarithm of one cell over the sum of its row."""
    alpha, mask = o.get('hard_negative_weight', 1.0), o.get('duplicates') == 'mask'
    left, right = scalars(tensors['left']), scalars(tensors['right'])
    total = 0.0
    for i, u in enumerate(left):
        denominator = 0.0
        for j, v in enumerate(right):
            if not (mask and j != i and known_positive(case, i, j, 0.5)):
                denominator = denominator + (s * cosine(u, v)).exp()
        for negative in tensors['negatives']:
            for j, n in enumerate(scalars(negative)):
                denominator = denominator + (alpha if j == i else 1.0) * (s * cosine(u, n)).exp()
        total = total - ((s * cosine(u, right[i])).exp() / denominator).log()
    return total / len(left)


def triplet(tensors, o):
    def distance(a, b):
        if o.get('distance', 'euclidean') == 'cosine':
            return 1 - cosine(a, b)
        return length([x - y for x, y in zip(a, b)])

    left, right = scalars(tensors['left']), scalars(tensors['right'])
    terms = []
    for negative in tensors['negatives']:
        for u, v, n in zip(left, right, scalars(negative)):
            value = distance(u, v) - distance(u, n) + o.get('margin', 0.5)
            terms.append(value if value > 0 else value * 0)
    return sum(terms) / len(terms)


def evaluate(case, tensors, parameter):
    o = case['recipe']
    name = o['name']
    temperature = o.get('temperature', 0.05 if name == 'simcse' else 0.1)
    if isinstance(temperature, dict):
        s = parameter if temperature.get('parametrization') == 'scale' else parameter.exp()
    else:
        s = 1.0 / temperature
    if name == 'bsc':
        return bsc(case, tensors, o, s)
    if name == 'mse':
        return mse(case, tensors)
    if name == 'combo':
        mu = o.get('mu', 0.1)
        return mu * bsc(case, tensors, o, s) + (1 - mu) * mse(case, tensors)
    if name == 'mnrl':
        use_dot = o.get('similarity') == 'dot'
        inner = dict(o, normalize='none' if use_dot else 'l2', directions='left')
        return bsc(case, tensors, inner, o.get('scale', 1.0 if use_dot else 20.0))
    if name == 'simcse':
        return simcse(case, tensors, o, s)
    return triplet(tensors, o)


def run(name, recipe, rng, m=4, size=3, negatives=0, target=None, groups=None):
    case = {'name': name, 'recipe': recipe, 'target': target or [1.0] * m}
    case['left_group'], case['right_group'] = groups or (list(range(m)), list(range(m)))
    tensors = {'left': matrix(rng, m, size), 'right': matrix(rng, m, size),
               'negatives': [matrix(rng, m, size) for _ in range(negatives)]}
    with torch.no_grad():  # equal texts have equal embeddings
        for side in ('left', 'right'):
            group = case[side + '_group']
            for i in range(m):
                tensors[side][i] = tensors[side][group.index(group[i])]
    parameter = None
    if isinstance(recipe.get('temperature'), dict):
        tau = recipe['temperature']['value']
        by_scale = recipe['temperature'].get('parametrization') == 'scale'
        parameter = torch.tensor(1 / tau if by_scale else -math.log(tau), dtype=torch.float64,
                                 requires_grad=True)
    value = evaluate(case, tensors, parameter)
    value.backward()
    for side in ('left', 'right'):
        case[side] = tensors[side].tolist()
        case[side + '_gradient'] = gradient(tensors[side])
    case['negatives'] = [t.tolist() for t in tensors['negatives']]
    case['negative_gradients'] = [gradient(t) for t in tensors['negatives']]
    case['loss'] = value.item()
    if parameter is not None:
        case['temperature_gradient'] = parameter.grad.item()
    return case


def gradient(tensor):
    return (torch.zeros_like(tensor) if tensor.grad is None else tensor.grad).tolist()


def main():
    rng = random.Random(20)
    graded = [0.9, 0.2, 0.7, 0.5]
    repeated = ([0, 0, 1, 2, 3], [0, 1, 2, 2, 3])
    labels = [1.0, 0.0, 1.0, 1.0, 1.0]
    cases = []
    for how in ('none', 'l2', 'coordinate_l2', 'coordinate_range', 'coordinate_minmax'):
        tau = 0.1 if how == 'l2' else 1.2
        cases.append(run('bsc ' + how, {'name': 'bsc', 'temperature': tau, 'normalize': how}, rng))
        cases.append(run('bsc negatives ' + how,
                         {'name': 'bsc', 'temperature': tau, 'normalize': how}, rng, negatives=2))
    for directions in ('both', 'left', 'right'):
        for duplicates in ('positives', 'mask', 'negatives'):
            recipe = {'name': 'bsc', 'temperature': 0.5, 'directions': directions,
                      'duplicates': duplicates}
            cases.append(run('bsc %s %s' % (directions, duplicates), recipe, rng, m=5,
                             target=labels, groups=repeated))
    for divisor in ('batch', 'positives'):
        recipe = {'name': 'bsc', 'temperature': 0.3, 'divisor': divisor, 'threshold': 0.6}
        cases.append(run('bsc divisor ' + divisor, recipe, rng, target=graded))
    for kind in ('log', 'scale'):
        trained = {'value': 0.25, 'trainable': True, 'parametrization': kind}
        cases.append(run('bsc trained ' + kind, {'name': 'bsc', 'temperature': trained}, rng))
    cases.append(run('mse', {'name': 'mse'}, rng, target=graded))
    for mu in (0.0, 0.1, 1.0):
        cases.append(run('combo %g' % mu, {'name': 'combo', 'mu': mu, 'temperature': 0.2}, rng,
                         target=graded))
    cases.append(run('mnrl', {'name': 'mnrl'}, rng))
    cases.append(run('mnrl dot', {'name': 'mnrl', 'similarity': 'dot'}, rng, negatives=1))
    cases.append(run('mnrl labels', {'name': 'mnrl', 'scale': 5.0, 'duplicates': 'mask'}, rng, m=5,
                     negatives=1, target=labels, groups=repeated))
    for distance in ('euclidean', 'cosine'):
        cases.append(run('triplet ' + distance, {'name': 'triplet', 'distance': distance}, rng,
                         negatives=2))
    cases.append(run('simcse', {'name': 'simcse'}, rng, m=5))
    cases.append(run('simcse repeated texts', {'name': 'simcse', 'duplicates': 'mask'}, rng, m=5,
                     groups=([0, 1, 0, 2, 1], [0, 1, 0, 2, 1])))
    cases.append(run('simcse hard negatives', {'name': 'simcse', 'hard_negative_weight': 2.5}, rng,
                     negatives=2))
    trained = {'value': 0.3, 'trainable': True}
    cases.append(run('simcse trained', {'name': 'simcse', 'temperature': trained}, rng,
                     negatives=1))
    print('[\n' + ',\n'.join(json.dumps(case) for case in cases) + '\n]')


main()
