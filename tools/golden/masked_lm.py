#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The masked-language-model head and its loss, from the formulas in double precision by torch.

    python3 tools/golden/masked_lm.py > tests/golden/masked_lm.json

Inputs are sines of a running number, so that only results need to be stored. Needs no part of
Simile.
"""
import json

import torch

H = 16
EPS = 1e-12


def sines(rows, columns, phase, scale):
    numbers = torch.arange(rows * columns, dtype=torch.float64).reshape(rows, columns)
    # Through float, as the program sees them.
    return (scale * torch.sin(0.37 * numbers + phase)).float().double().requires_grad_()


def case(vocabulary, tokens, positions, words):
    hidden = sines(tokens, H, 0.1, 1.0)
    weight = sines(H, H, 0.2, 0.5)
    bias = sines(1, H, 0.3, 0.1)
    norm_weight = sines(1, H, 0.4, 1.0)
    norm_bias = sines(1, H, 0.5, 0.2)
    decoder_bias = sines(1, vocabulary, 0.6, 0.3)
    embedding = sines(vocabulary, H, 0.7, 0.8)
    rows = hidden[positions]
    x = torch.nn.functional.gelu(rows @ weight.T + bias)
    mean = x.mean(1, keepdim=True)
    deviation = ((x - mean) ** 2).mean(1, keepdim=True).add(EPS).sqrt()
    state = (x - mean) / deviation * norm_weight + norm_bias
    logits = state @ embedding.T + decoder_bias
    targets = torch.tensor(words)
    losses = torch.logsumexp(logits, 1) - logits[torch.arange(len(words)), targets]
    (losses.sum() / len(words)).backward()
    head = torch.cat([t.grad.reshape(-1) for t in
                      (weight, bias, norm_weight, norm_bias, decoder_bias)])
    probes = [0, 1, vocabulary // 2, vocabulary - 1] + words
    return {
        'vocabulary': vocabulary, 'tokens': tokens, 'positions': positions, 'words': words,
        'sum': losses.sum().item(),
        'correct': int((logits.argmax(1) == targets).sum()),
        'hidden_gradient': hidden.grad.reshape(-1).tolist(),
        'head_gradient': head[:H * H + 3 * H].tolist(),
        'decoder_gradient_norm': decoder_bias.grad.norm().item(),
        'embedding_gradient_norm': embedding.grad.norm().item(),
        'embedding_rows': probes,
        'embedding_gradient': [embedding.grad[i].tolist() for i in probes],
    }


def main():
    cases = [
        case(7, 3, [1], [4]),                                        # less than a chunk
        case(1100, 9, [0, 2, 3, 8], [3, 1099, 512, 3]),              # several chunks, groups empty
        case(5000, 40, list(range(1, 39)), [(i * 131) % 5000 for i in range(38)]),
    ]
    print(json.dumps({'hidden': H, 'cases': cases}))


if __name__ == '__main__':
    main()
