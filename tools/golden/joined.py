#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A table of token vectors beside the small BERT of encoder.py: unit vectors times weights, one behind the
other, with gradients. BERT sees eight tokens of a text, the last of them in any case.

    /usr/bin/python3 tools/golden/joined.py > tests/golden/joined.json

Needs torch; numbers are computed in double precision from floats that a float holds exactly.
"""
import json
import sys

import torch

import encoder

H, LONGEST, WEIGHTS = 10, 8, [1.0, 0.4]
SPECIAL = [2, 3]
WORD = "embeddings.word_embeddings.weight"


def flat(tensor):
    return tensor.reshape(-1).tolist()


def unit(vector):
    length = vector.norm()
    return vector / length if length > 0 else vector


def main():
    torch.manual_seed(6)
    table = (torch.randn(len(encoder.WORDS), H, dtype=torch.float64) * 256).round() / 256
    table[SPECIAL] = 0
    table.requires_grad_(True)
    bert = {name: value.double() for name, value in encoder.make_weights().items()}
    bert[WORD].requires_grad_(True)
    states = []
    for ids in encoder.TEXTS.values():
        seen = ids if len(ids) <= LONGEST else ids[:LONGEST - 1] + ids[-1:]
        hidden = encoder.forward(bert, seen, [0] * len(seen))
        states.append(torch.cat([WEIGHTS[0] * unit(table[ids].mean(0)),
                                 WEIGHTS[1] * unit(hidden.mean(0))]))
    states = torch.stack(states)
    upstream = (torch.randn(states.shape, dtype=torch.float64) * 256).round() / 256
    (states * upstream).sum().backward()
    table.grad[SPECIAL] = 0  # rows of zeros are not trained
    json.dump({"H": H, "longest": LONGEST, "weights": WEIGHTS, "special": SPECIAL,
               "sequences": list(encoder.TEXTS.values()), "table": flat(table.detach()),
               "states": flat(states.detach()), "upstream": flat(upstream),
               "table_gradient": flat(table.grad), "word_gradient": flat(bert[WORD].grad)},
              sys.stdout)
    sys.stdout.write("\n")


main()
