#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What torch's EmbeddingBag makes of token ids, with gradients, as sentence-transformers' StaticEmbedding
uses it; the same with weights by occurrence and place (simile/kernel/pooling.h), naively; and the rows
of a table that Model2Vec composed of a smaller one.

    /usr/bin/python3 tools/golden/static.py > tests/golden/static.json

Needs torch; numbers are computed in double precision from floats that a float holds exactly.
"""
import json
import sys

import torch

V, H = 11, 19
SEQUENCES = [[3], [0, 1, 2, 3, 3, 9], [], [10, 10], [5, 7, 1, 4, 4, 4, 4, 8, 0]]


def numbers(*shape):
    return (torch.randn(*shape, dtype=torch.float64) * 256).round() / 256


def flat(tensor):
    return tensor.reshape(-1).tolist()


SATURATION, HALF_POSITION = 0.5, 3.0


def token_shares(sequence):
    weights = []
    for place, token in enumerate(sequence):
        times = sequence[:place + 1].count(token)
        gain = times ** SATURATION - (times - 1) ** SATURATION
        weights.append(gain / (1 + place / HALF_POSITION))
    return [w / sum(weights) for w in weights]


def weighted(table, upstream):
    weight = table.clone().requires_grad_(True)
    means = torch.stack([
        sum((share * weight[token] for token, share in zip(s, token_shares(s))), torch.zeros(H, dtype=torch.float64))
        for s in SEQUENCES])
    (means * upstream).sum().backward()
    return {"saturation": SATURATION, "half_position": HALF_POSITION,
            "shares": [share for s in SEQUENCES for share in token_shares(s)],
            "means": flat(means), "gradient": flat(weight.grad)}


def main():
    torch.manual_seed(4)
    table = numbers(V, H)
    ids = torch.tensor([i for sequence in SEQUENCES for i in sequence])
    starts = torch.tensor([sum(map(len, SEQUENCES[:i])) for i in range(len(SEQUENCES))])
    weight = table.clone().requires_grad_(True)
    means = torch.nn.functional.embedding_bag(ids, weight, starts, mode="mean")
    upstream = numbers(len(SEQUENCES), H)
    (means * upstream).sum().backward()
    unit = means / means.norm(dim=1, keepdim=True).clamp_min(1e-12)

    mapping = torch.tensor([2, 0, 0, 1, 3])
    factors = numbers(5).abs()
    small = numbers(4, 3)
    json.dump({"V": V, "H": H, "sequences": SEQUENCES, "table": flat(table), "means": flat(means),
               "unit": flat(unit), "upstream": flat(upstream), "gradient": flat(weight.grad),
               "weighted": weighted(table, upstream),
               "composed": {"embeddings": flat(small), "mapping": mapping.tolist(),
                            "weights": flat(factors),
                            "rows": flat(small[mapping] * factors[:, None])}},
              sys.stdout, indent=None)
    sys.stdout.write("\n")


main()
