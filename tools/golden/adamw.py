#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of AdamW on a quadratic, in double precision.

    python3 tools/golden/adamw.py > tests/golden/adamw.json

The gradient of weight i is slope[i] * (weight[i] - goal[i]), clipped to a global norm; the first
half of the weights decays. Needs numpy and no part of Simile.
"""
import json

import numpy as np

SIZE, STEPS, KEPT = 12, 100, (1, 2, 10, 100)


def trajectory(bias_correction, start, slope, goal, decays):
    rate, beta1, beta2, epsilon, decay, clip = 0.01, 0.9, 0.999, 1e-6, 0.1, 1.0
    w, m, v = start.copy(), np.zeros(SIZE), np.zeros(SIZE)
    kept, norms = {}, []
    for t in range(1, STEPS + 1):
        g = slope * (w - goal)
        norm = np.sqrt(np.sum(g ** 2))
        norms.append(norm)
        if norm + 1e-6 > clip:
            g = g * (clip / (norm + 1e-6))
        m += (1 - beta1) * (g - m)
        v += (1 - beta2) * (g ** 2 - v)
        mean, square = m, v
        if bias_correction:
            mean, square = m / (1 - beta1 ** t), v / (1 - beta2 ** t)
        w = w - rate * decay * decays * w - rate * mean / (np.sqrt(square) + epsilon)
        if t in KEPT:
            kept[t] = w.tolist()
    return {'bias_correction': bias_correction, 'learning_rate': rate, 'epsilon': epsilon,
            'weight_decay': decay, 'clip_norm': clip, 'first_norm': norms[0],
            'last_norm': norms[-1], 'steps': sorted(kept), 'weights': [kept[t] for t in sorted(kept)]}


def main():
    rng = np.random.default_rng(7)
    start, goal = rng.normal(size=SIZE).round(3), rng.normal(size=SIZE).round(3)
    slope = rng.uniform(0.1, 2.0, size=SIZE).round(3)
    decays = (np.arange(SIZE) < SIZE // 2).astype(float)
    runs = [trajectory(b, start, slope, goal, decays) for b in (True, False)]
    print(json.dumps({'start': start.tolist(), 'goal': goal.tolist(), 'slope': slope.tolist(),
                      'decaying': SIZE // 2, 'runs': runs}, indent=1))


main()
