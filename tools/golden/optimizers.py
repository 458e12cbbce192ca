#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of the optimisers on random gradients, in double precision.

    python3 tools/golden/optimizers.py > tests/golden/optimizers.json

Gradients are clipped to a global norm; the first half of the weights decays. The steps are those of
torch.optim; AdamW and Adam without bias correction, which torch does not have, are written out here.
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
        'runs': [trajectory(run, start, gradients) for run in runs]}))


main()
