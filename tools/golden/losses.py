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
    y, t, duplicates = case['target'], o.get('threshold', 0.5), o.get('duplicates', 'mask')
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
    alpha, mask = o.get('hard_negative_weight', 1.0), o.get('duplicates', 'mask') == 'mask'
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


def pair_scores(tensors):
    """A head's number for each pair, or the cosine."""
    if 'logits' in tensors:
        return [row[0] for row in scalars(tensors['logits'])]
    return [cosine(u, v) for u, v in zip(scalars(tensors['left']), scalars(tensors['right']))]


def mean_square(case, tensors):
    terms = [(c - y) ** 2 for c, y in zip(pair_scores(tensors), case['target'])]
    return sum(terms) / len(terms)


def pearson(case, tensors):
    scores, targets = pair_scores(tensors), case['target']
    m = len(scores)
    score_mean, target_mean = sum(scores) / m, sum(targets) / m
    covariance = sum((c - score_mean) * (y - target_mean) for c, y in zip(scores, targets)) / m
    score_variance = sum((c - score_mean) ** 2 for c in scores) / m
    target_variance = sum((y - target_mean) ** 2 for y in targets) / m
    return 1 - covariance / (score_variance * target_variance).sqrt()


def distance(a, b, name):
    if name == 'cosine':
        return 1 - cosine(a, b)
    if name == 'manhattan':
        return sum((x - y).abs() for x, y in zip(a, b))
    return length([x - y for x, y in zip(a, b)])


def above_zero(value):
    return value if value > 0 else value * 0


def pair_distances(tensors, o):
    name = o.get('distance', 'cosine')
    left, right = scalars(tensors['left']), scalars(tensors['right'])
    return [distance(u, v, name) for u, v in zip(left, right)]


def contrastive(case, tensors, o):
    total = 0.0
    for d, y in zip(pair_distances(tensors, o), case['target']):
        term = d if y > o.get('threshold', 0.5) else above_zero(o.get('margin', 0.5) - d)
        total = total + term ** 2 / 2
    return total / len(case['target'])


def online_contrastive(case, tensors, o):
    near, far = [], []
    for d, y in zip(pair_distances(tensors, o), case['target']):
        (near if y > o.get('threshold', 0.5) else far).append(d)
    total = tensors['left'].sum() * 0
    for d in near:
        if d > (min(far) if far else sum(near) / len(near)):
            total = total + d ** 2
    for d in far:
        if d < (max(near) if near else sum(far) / len(far)):
            total = total + above_zero(o.get('margin', 0.5) - d) ** 2
    return total


def ordered_pairs(scores, targets, s):
    total = 1.0
    for low, y_low in zip(scores, targets):
        for high, y_high in zip(scores, targets):
            if y_low < y_high:
                total = total + (s * (low - high)).exp()
    return total.log()


def angle_score(u, v):
    """The quotient of two vectors of complex numbers, its real and imaginary parts added up."""
    if len(u) % 2:
        u, v = u + [0.0], v + [0.0]
    half = len(u) // 2
    total = 0.0
    for k in range(half):
        a, b, c, d = u[k], u[half + k], v[k], v[half + k]
        total = total + (a * c + b * d) + (b * c - a * d)
    return total.abs() / (length(u) * length(v))


def angle(case, tensors, o):
    left, right = scalars(tensors['left']), scalars(tensors['right'])
    scores = [angle_score(u, v) for u, v in zip(left, right)]
    return ordered_pairs(scores, case['target'], o.get('scale', 20.0))


def probabilities(u, columns, s):
    weights = [(s * cosine(u, column)).exp() for column in columns]
    return [weight / sum(weights) for weight in weights]


def rcl_columns(tensors):
    columns = scalars(tensors['right'])
    for negative in tensors['negatives']:
        columns = columns + scalars(negative)
    return columns


def rcl_entropy(case, tensors, o):
    columns, total = rcl_columns(tensors), 0.0
    for i, u in enumerate(scalars(tensors['left'])):
        if not case['target'][i] > o.get('threshold', 0.5):
            continue
        p = probabilities(u, columns, o.get('scale', 1.0))
        entropy = -sum(p[j] * p[j].log() for j in range(len(p)) if j != i)
        total = total - p[i].log() + o.get('phi', 0.01) * entropy
    return total / len(case['target'])


def rcl(case, tensors, o):
    s, total = o.get('scale', 1.0), 0.0
    left, right, columns = scalars(tensors['left']), scalars(tensors['right']), rcl_columns(tensors)
    for i, y in enumerate(case['target']):
        if y > o.get('threshold', 0.5):
            total = total - probabilities(left[i], columns, s)[i].log()
        for teacher in tensors['left_teachers']:
            total = total - probabilities(left[i], scalars(teacher), s)[i].log()
        for teacher in tensors['right_teachers']:
            total = total - probabilities(right[i], scalars(teacher), s)[i].log()
    return total / len(left)


def softmax_classification(case, tensors, o):
    share, total = o.get('label_smoothing', 0.0), 0.0
    for row, wanted in zip(scalars(tensors['logits']), case['classes']):
        z = sum(value.exp() for value in row)
        for c, value in enumerate(row):
            weight = share / len(row) + (1 - share if c == wanted else 0.0)
            total = total - weight * (value.exp() / z).log()
    return total / len(case['classes'])


def bce(case, tensors, o):
    total = 0.0
    for row, y in zip(scalars(tensors['logits']), case['target']):
        p = 1 / (1 + (-row[0]).exp())
        total = total - o.get('positive_weight', 1.0) * y * p.log() - (1 - y) * (1 - p).log()
    return total / len(case['target'])


def distill(tensors, o):
    sides = []
    for side in ('left', 'right'):
        if not tensors[side + '_teachers']:
            continue
        total = 0.0
        for x, a in zip(scalars(tensors[side]), scalars(tensors[side + '_teachers'][0])):
            if 'projection' in tensors:
                x = [dot(row, x) for row in scalars(tensors['projection'])]
            if o.get('distance') == 'cosine':
                total = total + 1 - cosine(x, a)
            else:
                total = total + sum((p - q) ** 2 for p, q in zip(x, a)) / len(a)
        sides.append(total / len(tensors[side]))
    return sum(sides) / len(sides)


def global_orthogonal(tensors):
    left, right = scalars(tensors['left']), scalars(tensors['right'])
    cells = [cosine(u, v) for i, u in enumerate(left) for j, v in enumerate(right) if i != j]
    mean, second = sum(cells) / len(cells), sum(c * c for c in cells) / len(cells)
    return mean ** 2 + above_zero(second - 1 / len(left[0]))


def batch_triplet(case, tensors, o):
    x, classes, mining = scalars(tensors['left']), case['classes'], o['mining']
    name, margin = o.get('distance', 'euclidean'), o.get('margin', 0.5)
    terms = []
    for a, anchor in enumerate(x):
        near = [distance(anchor, x[i], name) for i in range(len(x))
                if i != a and classes[i] == classes[a]]
        far = [distance(anchor, x[i], name) for i in range(len(x)) if classes[i] != classes[a]]
        if mining == 'batch_hard' and far:  # an anchor alone of its class counts with distance 0
            terms.append((max(near) if near else 0) - min(far) + margin)
        if not near or not far:
            continue
        for d in near:
            if mining == 'batch_semi_hard':
                beyond = [n for n in far if n > d]
                terms.append(d - (min(beyond) if beyond else max(far)) + margin)
            if mining == 'batch_all':
                terms += [d - n + margin for n in far if d - n + margin > 0]
    return sum(above_zero(t) for t in terms) / len(terms)


def head_ranking(case, tensors, o):
    """mnrl over the numbers a head gives all pairs."""
    s, table = o.get('scale', 1.0), scalars(tensors['cross_logits'])
    m, t = len(table), o.get('threshold', 0.5)
    return one_side(lambda i, j: s * table[i][j], m, len(table[0]),
                    lambda i, j: known_positive(case, i, j, t), case['target'], t,
                    o.get('duplicates', 'mask')) / m


def weighted_terms(case, tensors, parameter):
    return sum(term.get('weight', 1) * evaluate(dict(case, recipe=term), tensors, parameter)
               for term in case['recipe']['of'])


def prefixes(tensors, size):
    """The first numbers of every embedding, as vectors of length 1."""
    def cut(x):
        rows = [[row[d] for d in range(size)] for row in scalars(x)]
        return torch.stack([torch.stack([v / length(row) for v in row]) for row in rows])
    return {key: [cut(x) for x in value] if isinstance(value, list) else cut(value)
            for key, value in tensors.items()}


def evaluate(case, tensors, parameter):
    o = case['recipe']
    name = o['name']
    temperature = o.get('temperature', 0.05 if name == 'simcse' else 0.1)
    if isinstance(temperature, dict):
        s = parameter if temperature.get('parametrization') == 'scale' else parameter.exp()
    else:
        s = 1.0 / temperature
    if name == 'sum':
        return weighted_terms(case, tensors, parameter)
    if name == 'matryoshka':
        weights = o.get('weights', [1] * len(o['dimensions']))
        return sum(w * weighted_terms(case, prefixes(tensors, d), parameter)
                   for w, d in zip(weights, o['dimensions']))
    if name == 'bsc':
        return bsc(case, tensors, o, s)
    if name == 'mse':
        return mean_square(case, tensors) if 'logits' in tensors else mse(case, tensors)
    if name == 'combo':
        mu = o.get('mu', 0.1)
        return mu * bsc(case, tensors, o, s) + (1 - mu) * mse(case, tensors)
    if name == 'mnrl':
        if o.get('similarity') == 'head':
            return head_ranking(case, tensors, o)
        use_dot = o.get('similarity') == 'dot'
        inner = dict(o, normalize='none' if use_dot else 'l2', directions='left')
        return bsc(case, tensors, inner, o.get('scale', 1.0 if use_dot else 20.0))
    if name == 'simcse':
        return simcse(case, tensors, o, s)
    if name == 'triplet':
        return batch_triplet(case, tensors, o) if 'mining' in o else triplet(tensors, o)
    if name == 'pearson':
        return pearson(case, tensors)
    if name == 'cosent':
        return ordered_pairs(pair_scores(tensors), case['target'], o.get('scale', 20.0))
    if name == 'distill':
        return distill(tensors, o)
    if name == 'global_orthogonal':
        return global_orthogonal(tensors)
    others = {'angle': angle, 'bce': bce, 'contrastive': contrastive, 'rcl': rcl,
              'online_contrastive': online_contrastive, 'rcl_entropy': rcl_entropy,
              'softmax_classification': softmax_classification}
    return others[name](case, tensors, o)


def run(name, recipe, rng, m=4, size=3, negatives=0, target=None, groups=None, **more):
    """One case. `more`: single (no right side), classes (list), logits (outputs of the head), cross
    (True: a head's numbers for all pairs), teachers (how many), teacher_size, projection (True)."""
    case = {'name': name, 'recipe': recipe, 'target': target or [1.0] * m}
    case['left_group'], case['right_group'] = groups or (list(range(m)), list(range(m)))
    sides = ['left'] if more.get('single') else ['left', 'right']
    tensors = {side: matrix(rng, m, size) for side in sides}
    tensors['negatives'] = [matrix(rng, m, size) for _ in range(negatives)]
    with torch.no_grad():  # equal texts have equal embeddings
        for side in sides:
            group = case[side + '_group']
            for i in range(m):
                tensors[side][i] = tensors[side][group.index(group[i])]
    add_more(case, tensors, rng, m, size, negatives, more)
    parameter = None
    if isinstance(recipe.get('temperature'), dict):
        tau = recipe['temperature']['value']
        by_scale = recipe['temperature'].get('parametrization') == 'scale'
        parameter = torch.tensor(1 / tau if by_scale else -math.log(tau), dtype=torch.float64,
                                 requires_grad=True)
    value = evaluate(case, tensors, parameter)
    value.backward()
    for part in sides + [p for p in ('logits', 'cross_logits', 'projection') if p in tensors]:
        case[part] = tensors[part].tolist()
        case[part + '_gradient'] = gradient(tensors[part])
    case['negatives'] = [t.tolist() for t in tensors['negatives']]
    case['negative_gradients'] = [gradient(t) for t in tensors['negatives']]
    for part in ('left_teachers', 'right_teachers'):
        if tensors[part]:
            case[part] = [t.tolist() for t in tensors[part]]
    case['loss'] = value.item()
    if parameter is not None:
        case['temperature_gradient'] = parameter.grad.item()
    return case


def add_more(case, tensors, rng, m, size, negatives, more):
    if 'classes' in more:
        case['classes'] = more['classes']
    if 'logits' in more:
        tensors['logits'] = matrix(rng, m, more['logits'])
    if more.get('cross'):
        tensors['cross_logits'] = matrix(rng, m, m + negatives * m)
    teacher_size = more.get('teacher_size', size)
    for side in ('left', 'right'):
        count = more.get('teachers', 0) if side in tensors else 0
        tensors[side + '_teachers'] = [matrix(rng, m, teacher_size) for _ in range(count)]
    if more.get('projection'):
        tensors['projection'] = matrix(rng, teacher_size, size)


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
    cases += pair_cases(rng, graded) + ranking_cases(rng, labels, repeated)
    cases += class_cases(rng, graded) + composite_cases(rng, graded)
    print('[\n' + ',\n'.join(json.dumps(case) for case in cases) + '\n]')


def pair_cases(rng, graded):
    """Losses of one score or distance a pair."""
    cases = [run('pearson', {'name': 'pearson'}, rng, target=graded),
             run('pearson stars', {'name': 'pearson'}, rng, m=5, target=[5.0, 0.0, 3.2, 3.2, 1.0]),
             run('pearson head', {'name': 'pearson'}, rng, target=graded, logits=1),
             run('mse head', {'name': 'mse'}, rng, target=graded, logits=1),
             run('cosent', {'name': 'cosent'}, rng, m=5, target=[5.0, 0.0, 3.2, 3.2, 1.0]),
             run('cosent head', {'name': 'cosent', 'scale': 3.0}, rng, target=graded, logits=1),
             run('angle', {'name': 'angle'}, rng, target=graded, size=4),
             run('angle odd', {'name': 'angle', 'scale': 7.0}, rng, target=graded)]
    labels = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    margins = {'cosine': 1.2, 'euclidean': 2.5, 'manhattan': 4.0}
    for name in ('contrastive', 'online_contrastive'):
        cases.append(run(name, {'name': name}, rng, m=7, target=labels))
        for distance_name, margin in margins.items():
            recipe = {'name': name, 'distance': distance_name, 'margin': margin}
            cases.append(run(name + ' ' + distance_name, recipe, rng, m=7, target=labels))
    for kind, target in (('positives', [1.0] * 4), ('negatives', [0.2] * 4),
                         ('one positive', [1.0, 0.0, 0.0, 0.0])):
        recipe = {'name': 'online_contrastive', 'margin': 2.0}
        cases.append(run('online_contrastive ' + kind, recipe, rng, target=target))
    cases.append(run('global_orthogonal', {'name': 'global_orthogonal'}, rng))
    cases.append(run('global_orthogonal wide', {'name': 'global_orthogonal'}, rng, m=3, size=8))
    return cases


def ranking_cases(rng, labels, repeated):
    """Losses over the batch's columns, and those with teachers."""
    recipe = {'name': 'rcl_entropy', 'scale': 6.0, 'phi': -0.3}
    cases = [run('rcl_entropy', {'name': 'rcl_entropy'}, rng),
             run('rcl_entropy labels', recipe, rng, m=5, negatives=2, target=labels),
             run('rcl', {'name': 'rcl'}, rng, teachers=1),
             run('rcl labels', {'name': 'rcl', 'scale': 4.0}, rng, m=5, negatives=1, target=labels,
                 teachers=3)]
    for duplicates in ('negatives', 'mask', 'positives'):
        recipe = {'name': 'mnrl', 'similarity': 'head', 'duplicates': duplicates}
        cases.append(run('mnrl head ' + duplicates, recipe, rng, m=5, negatives=1, target=labels,
                         groups=repeated, cross=True))
    cases.append(run('mnrl head scale', {'name': 'mnrl', 'similarity': 'head', 'scale': 2.5}, rng,
                     cross=True))
    for distance_name in ('mse', 'cosine'):
        recipe = {'name': 'distill', 'distance': distance_name}
        cases.append(run('distill ' + distance_name, recipe, rng, teachers=1))
        cases.append(run('distill texts ' + distance_name, recipe, rng, teachers=1, single=True))
        cases.append(run('distill projection ' + distance_name, recipe, rng, teachers=1,
                         teacher_size=5, projection=True))
    return cases


def composite_cases(rng, graded):
    """Losses made of others."""
    terms = [{'name': 'bsc', 'temperature': 0.3, 'weight': 0.25}, {'name': 'pearson'},
             {'name': 'mse', 'weight': 2.0}]
    return [run('sum', {'name': 'sum', 'of': terms}, rng, target=graded, negatives=1),
            run('matryoshka', {'name': 'matryoshka', 'dimensions': [3, 1, 2],
                               'of': [{'name': 'bsc', 'temperature': 0.5}]}, rng, negatives=1),
            run('matryoshka of several', {'name': 'matryoshka', 'dimensions': [2, 3],
                                          'weights': [0.5, 1.5], 'of': terms}, rng,
                target=graded)]


def class_cases(rng, graded):
    """Losses of a head's numbers, and of texts with classes."""
    cases = [run('bce', {'name': 'bce'}, rng, target=[1.0, 0.0, 0.0, 1.0], logits=1),
             run('bce texts', {'name': 'bce', 'positive_weight': 2.5}, rng, target=graded, logits=1,
                 single=True)]
    for share in (0.0, 0.2):
        recipe = {'name': 'softmax_classification', 'label_smoothing': share}
        cases.append(run('softmax_classification %g' % share, recipe, rng, classes=[2, 0, 1, 2],
                         logits=3))
        cases.append(run('softmax_classification texts %g' % share, recipe, rng, logits=5,
                         classes=[4, 0, 3, 3], single=True))
    for mining in ('batch_hard', 'batch_semi_hard', 'batch_all'):
        for distance_name in ('euclidean', 'cosine'):
            recipe = {'name': 'triplet', 'mining': mining, 'distance': distance_name}
            cases.append(run('triplet %s %s' % (mining, distance_name), recipe, rng, m=8,
                             classes=[0, 1, 0, 2, 1, 0, 1, 1], single=True))
    return cases


main()
