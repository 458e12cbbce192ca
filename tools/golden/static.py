#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What torch's EmbeddingBag makes of token ids, with gradients, as sentence-transformers' StaticEmbedding
uses it; and the rows of a table that Model2Vec composed of a smaller one.

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
               "composed": {"embeddings": flat(small), "mapping": mapping.tolist(),
                            "weights": flat(factors),
                            "rows": flat(small[mapping] * factors[:, None])}},
              sys.stdout, indent=None)
    sys.stdout.write("\n")


main()
