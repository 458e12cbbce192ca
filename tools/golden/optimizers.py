#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of the optimisers on random gradients, in double precision; and of a table of which
each step updates the rows it uses alone.

    python3 tools/golden/optimizers.py > tests/golden/optimizers.json

Gradients are clipped to a global norm; the first half of the weights decays. The steps are those of
torch.optim; AdamW and Adam without bias correction, which torch does not have, are written out here.
For the table, Adam without decay is torch's SparseAdam; for the others a dense step of torch is
undone, with its moments, in the rows that it did not use.
Needs torch and no part of Simile.
"""
import json

import torch

SIZE, STEPS, KEPT, CLIP = 10, 40, (1, 2, 10, 40), 2.0


class Uncorrected:
    """Adam and AdamW whose moments are taken as they are."""

    def __init__(self, groups, lr, betas, eps, coupled):
        self.groups, self.lr, self.betas, self.eps, self.coupled = groups, lr, betas, eps, coupled
        self.moments = [(torch.zeros_like(g['params'][0]), torch.zeros_like(g['params'][0]))
                        for g in groups]

    def step(self):
        beta1, beta2 = self.betas
        for group, (m, v) in zip(self.groups, self.moments):
            w, decay = group['params'][0], group['weight_decay']
            gradient = w.grad + decay * w.detach() if self.coupled else w.grad
            m.copy_(beta1 * m + (1 - beta1) * gradient)
            v.copy_(beta2 * v + (1 - beta2) * gradient ** 2)
            with torch.no_grad():
                if not self.coupled:
                    w.mul_(1 - self.lr * decay)
                w.sub_(self.lr * m / (v.sqrt() + self.eps))


def make_optimizer(options, groups):
    name, rate = options['name'], options['learning_rate']
    if name == 'sgd':
        return torch.optim.SGD(groups, lr=rate, momentum=options['momentum'])
    settings = {'lr': rate, 'betas': (0.9, 0.999), 'eps': options['epsilon']}
    if not options['bias_correction']:
        return Uncorrected(groups, coupled=name == 'adam', **settings)
    kinds = {'adamw': torch.optim.AdamW, 'adam': torch.optim.Adam, 'adamax': torch.optim.Adamax}
    return kinds[name](groups, **settings)


def trajectory(options, start, gradients):
    half = SIZE // 2
    parts = [torch.nn.Parameter(start[:half].clone()), torch.nn.Parameter(start[half:].clone())]
    optimizer = make_optimizer(options, [
        {'params': [parts[0]], 'weight_decay': options['weight_decay']},
        {'params': [parts[1]], 'weight_decay': 0.0}])
    weights = []
    for step, gradient in enumerate(gradients, 1):
        parts[0].grad, parts[1].grad = gradient[:half].clone(), gradient[half:].clone()
        torch.nn.utils.clip_grad_norm_(parts, CLIP)
        optimizer.step()
        if step in KEPT:
            weights.append(torch.cat(parts).tolist())
    return {**options, 'weights': weights}


ROWS, COLUMNS, ROW_STEPS, ROWS_KEPT = 6, 3, 25, (1, 2, 10, 25)


def step_sparsely(optimizer, table, gradient, used):
    table.grad = torch.sparse_coo_tensor(torch.tensor([used]), gradient[used], table.shape)
    optimizer.step()


def step_and_take_back(optimizer, table, gradient, used):
    def tensors():
        state = optimizer.state.get(table, {})
        return {'weights': table.detach(), **{name: value for name, value in state.items()
                                              if torch.is_tensor(value) and value.shape == table.shape}}
    before = {name: value.clone() for name, value in tensors().items()}
    table.grad = gradient.clone()
    optimizer.step()
    unused = [row for row in range(ROWS) if row not in used]
    for name, value in tensors().items():
        value[unused] = before[name][unused] if name in before else 0.0


def row_trajectory(options, start, gradients, used):
    table = torch.nn.Parameter(start.clone())
    if options['name'] == 'adam' and options['weight_decay'] == 0:
        step = step_sparsely
        optimizer = torch.optim.SparseAdam([table], lr=options['learning_rate'],
                                           betas=(0.9, 0.999), eps=options['epsilon'])
    else:
        step = step_and_take_back
        optimizer = make_optimizer(
            options, [{'params': [table], 'weight_decay': options['weight_decay']}])
    weights = []
    for number, (gradient, rows) in enumerate(zip(gradients, used), 1):
        scale = min(1.0, CLIP / (gradient.norm().item() + 1e-6))
        step(optimizer, table, gradient * scale, rows)
        if number in ROWS_KEPT:
            weights.append(table.flatten().tolist())
    return {**options, 'weights': weights}


def used_rows(generator, base):
    """Row 4 is used once, the last one never."""
    start = torch.randn(ROWS, COLUMNS, generator=generator, dtype=torch.float64)
    gradients = torch.zeros(ROW_STEPS, ROWS, COLUMNS, dtype=torch.float64)
    used = []
    for step in range(ROW_STEPS):
        rows = sorted({int(r) for r in torch.randint(0, ROWS - 2, (2,), generator=generator)}
                      | ({ROWS - 2} if step == 3 else set()))
        gradients[step, rows] = torch.randn(len(rows), COLUMNS, generator=generator,
                                            dtype=torch.float64)
        used.append(rows)
    start, gradients = (start * 1000).round() / 1000, (gradients * 1000).round() / 1000
    runs = [{**base, 'name': name, 'learning_rate': rate, **changes} for name, rate, changes in [
        ('adamw', 0.01, {}), ('adam', 0.01, {'weight_decay': 0.0}), ('adam', 0.01, {}),
        ('adamax', 0.01, {}), ('sgd', 0.05, {'momentum': 0.9})]]
    return {'rows': ROWS, 'columns': COLUMNS, 'start': start.flatten().tolist(), 'used': used,
            'gradients': gradients.flatten(1).tolist(), 'clip_norm': CLIP, 'steps': ROWS_KEPT,
            'norms': gradients.flatten(1).norm(dim=1).tolist(),
            'runs': [row_trajectory(run, start, gradients, used) for run in runs]}


def main():
    generator = torch.Generator().manual_seed(7)
    start = torch.randn(SIZE, generator=generator, dtype=torch.float64)
    gradients = torch.randn(STEPS, SIZE, generator=generator, dtype=torch.float64)
    gradients *= torch.logspace(0.5, -1, STEPS, dtype=torch.float64)[:, None]  # clipped, then not
    start, gradients = (start * 1000).round() / 1000, (gradients * 1000).round() / 1000
    base = {'bias_correction': True, 'epsilon': 1e-6, 'momentum': 0.0, 'weight_decay': 0.1}
    runs = [{**base, 'name': name, 'learning_rate': rate, **changes} for name, rate, changes in [
        ('adamw', 0.01, {}), ('adamw', 0.01, {'bias_correction': False}),
        ('adam', 0.01, {}), ('adam', 0.01, {'bias_correction': False}),
        ('adam', 0.01, {'weight_decay': 0.0}), ('adamax', 0.01, {}),
        ('sgd', 0.05, {}), ('sgd', 0.05, {'momentum': 0.9})]]
    print(json.dumps({
        'start': start.tolist(), 'gradients': gradients.tolist(), 'decaying': SIZE // 2,
        'clip_norm': CLIP, 'steps': KEPT,
        'norms': gradients.norm(dim=1).tolist(),
        'runs': [trajectory(run, start, gradients) for run in runs],
        'used_rows': used_rows(generator, base)}))


main()
