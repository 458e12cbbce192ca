#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sentence-transformers' modules compute after the encoder, from padded tensors in torch.

    /usr/bin/python3 tools/golden/modules.py > tests/golden/modules.json

Needs torch; numbers are computed in double precision. Poolings run on hidden states padded with
garbage, which a mask must hide; `left_out` first tokens of each sequence are masked too, as those
of a prompt are with include_prompt false. Weights are laid out one tensor behind the other:
linear.weight, linear.bias, residual.weight, or norm.weight, norm.bias.
"""
import json
import sys

import torch

H = 4
LENGTHS = [5, 1, 3, 7]
MODES = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]


def numbers(*shape):
    """Random numbers that a float holds exactly."""
    return (torch.randn(*shape, dtype=torch.float64) * 256).round() / 256


def pool_one(mode, hidden, mask):
    """hidden [B, L, H], mask [B, L] of 0 and 1 -> [B, H]; no row is masked as a whole."""
    m = mask.unsqueeze(-1).double()
    places = torch.arange(1, hidden.shape[1] + 1, dtype=torch.float64)[None, :, None]
    rows = torch.arange(hidden.shape[0])
    if mode == "cls":
        return hidden[rows, mask.argmax(1)]
    if mode == "lasttoken":
        return hidden[rows, hidden.shape[1] - 1 - mask.flip(1).argmax(1)]
    if mode == "max":
        return hidden.masked_fill(m == 0, float("-inf")).max(1).values
    if mode == "mean":
        return (hidden * m).sum(1) / m.sum(1)
    if mode == "mean_sqrt_len_tokens":
        return (hidden * m).sum(1) / m.sum(1).sqrt()
    return (hidden * m * places).sum(1) / (m * places).sum(1)


def pooling_cases(sequences):
    longest = max(LENGTHS)
    padded = torch.full((len(LENGTHS), longest, H), 1e6, dtype=torch.float64)
    mask = torch.zeros(len(LENGTHS), longest, dtype=torch.int64)
    for i, sequence in enumerate(sequences):
        padded[i, : len(sequence)] = sequence
        mask[i, : len(sequence)] = 1
    lists = [[mode] for mode in MODES] + [
        ["cls", "mean"], ["cls", "max", "mean"], MODES, ["lasttoken", "mean", "cls"]]
    cases = []
    for modes in lists:
        for left_out in (0, 2):
            keep = mask.clone()
            keep[:, :left_out] = 0
            some = keep.sum(1) > 0
            rows = torch.zeros(len(LENGTHS), H * len(modes), dtype=torch.float64)
            rows[some] = torch.cat([pool_one(m, padded[some], keep[some]) for m in modes], 1)
            cases.append({"modes": modes, "left_out": left_out, "expected": rows.tolist()})
    return cases


def dense(activation, inputs, outputs, bias=True, residual=False):
    torch_name = ("torch.nn.modules.linear." if activation == "Identity"
                  else "torch.nn.modules.activation.") + activation
    weights = {"linear.weight": numbers(outputs, inputs)}
    if bias:
        weights["linear.bias"] = numbers(outputs)
    if residual and inputs != outputs:
        weights["residual.weight"] = numbers(outputs, inputs)
    return {"kind": "Dense", "inputs": inputs, "outputs": outputs, "bias": bias,
            "residual": residual, "activation": activation, "torch_name": torch_name,
            "weights": weights}


def layer_norm(size):
    return {"kind": "LayerNorm", "inputs": size, "outputs": size,
            "weights": {"norm.weight": numbers(size), "norm.bias": numbers(size)}}


def normalize(size):
    return {"kind": "Normalize", "inputs": size, "outputs": size, "weights": {}}


def apply(module, x):
    w = module["weights"]
    if module["kind"] == "Normalize":
        return torch.nn.functional.normalize(x, p=2, dim=1)
    if module["kind"] == "LayerNorm":
        return torch.nn.functional.layer_norm(x, (module["inputs"],), w["norm.weight"],
                                              w["norm.bias"])
    activation = getattr(torch.nn, module["activation"])()
    y = activation(torch.nn.functional.linear(x, w["linear.weight"], w.get("linear.bias")))
    if module["residual"]:
        y = y + (x @ w["residual.weight"].t() if "residual.weight" in w else x)
    return y


def chain_case(modules):
    x = numbers(5, modules[0]["inputs"])
    x[3] = 0  # a text without tokens
    y = x
    for module in modules:
        y = apply(module, y)
    listed = []
    for module in modules:
        flat = [w.flatten() for w in module["weights"].values()]
        listed.append({**module, "weights": torch.cat(flat).tolist() if flat else []})
    return {"modules": listed, "x": x.tolist(), "expected": y.tolist()}


def main():
    torch.manual_seed(6)
    sequences = [numbers(n, H) for n in LENGTHS]
    chains = [chain_case([dense(name, 6, 4)]) for name in
              ("Identity", "Tanh", "ReLU", "LeakyReLU", "ELU", "GELU", "SiLU", "Sigmoid")]
    chains += [chain_case([dense("Tanh", 6, 6, residual=True)]),
               chain_case([dense("GELU", 6, 3, bias=False, residual=True)]),
               chain_case([dense("Identity", 6, 5, bias=False)]),
               chain_case([layer_norm(7)]),
               chain_case([dense("Tanh", 6, 8), layer_norm(8), dense("ReLU", 8, 3, False),
                           normalize(3)]),
               chain_case([normalize(6), dense("Identity", 6, 4), normalize(4)])]
    json.dump({"H": H, "lengths": LENGTHS, "hidden": torch.cat(sequences).tolist(),
               "poolings": pooling_cases(sequences), "chains": chains}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
