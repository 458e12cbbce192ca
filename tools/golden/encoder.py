#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/tiny-bert: a small BERT with random weights and what it computes.

BERT is written out here from its definition in double precision (Devlin et al. 2019), one sequence at
a time, so that nothing is shared with the code under test. Needs only PyTorch; run from the repository root:
    python3 tools/golden/encoder.py
"""
import json
import math
import os
import struct

import torch

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "tests", "golden", "tiny-bert")
WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the a cat dog sat ran on under mat sun " \
        "##s ##ing ##ed he she it was is red , . ! ? 1 2".split()
CONFIG = {
    "architectures": ["BertModel"], "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "hidden_size": 32, "intermediate_size": 64,
    "layer_norm_eps": 1e-12, "max_position_embeddings": 24, "model_type": "bert",
    "num_attention_heads": 4, "num_hidden_layers": 2, "pad_token_id": 0, "type_vocab_size": 2,
    "vocab_size": len(WORDS),
}
# Token ids of some texts, [CLS] and [SEP] included; the texts give these ids under vocab.txt.
TEXTS = {
    "the cat sat on the mat.": [2, 5, 7, 9, 11, 5, 13, 25, 3],
    "A dog ran": [2, 6, 8, 10, 3],
    "": [2, 3],
    "cats sated xyz !": [2, 7, 15, 9, 17, 1, 26, 3],
    "the red cat was on the red mat , under the sun . he ran , she sat ! is it 1 ?":
        [2, 5, 23, 7, 21, 11, 5, 23, 13, 24, 12, 5, 14, 25, 18, 10, 24, 19, 9, 26, 22, 20, 28, 3],
}


def make_weights():
    generator = torch.Generator().manual_seed(20240501)
    weights = {}

    def draw(name, *shape, mean=0.0, deviation=0.25):
        weights[name] = mean + deviation * torch.randn(*shape, generator=generator)

    def linear(name, out, inputs):
        draw(name + ".weight", out, inputs, deviation=1.5 / math.sqrt(inputs))
        draw(name + ".bias", out)

    def norm(name, size):
        draw(name + ".weight", size, mean=1.0)
        draw(name + ".bias", size)

    h, i = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    draw("embeddings.word_embeddings.weight", CONFIG["vocab_size"], h)
    draw("embeddings.position_embeddings.weight", CONFIG["max_position_embeddings"], h)
    draw("embeddings.token_type_embeddings.weight", CONFIG["type_vocab_size"], h)
    norm("embeddings.LayerNorm", h)
    for layer in range(CONFIG["num_hidden_layers"]):
        base = f"encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            linear(base + "attention.self." + part, h, h)
        linear(base + "attention.output.dense", h, h)
        norm(base + "attention.output.LayerNorm", h)
        linear(base + "intermediate.dense", i, h)
        linear(base + "output.dense", h, i)
        norm(base + "output.LayerNorm", h)
    return weights


def layer_norm(weights, name, x):
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred * centred).mean(-1, keepdim=True)
    scaled = centred / torch.sqrt(variance + CONFIG["layer_norm_eps"])
    return scaled * weights[name + ".weight"] + weights[name + ".bias"]


def linear(weights, name, x):
    return x @ weights[name + ".weight"].T + weights[name + ".bias"]


def gelu(x):
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


def attend(weights, base, x):
    size = CONFIG["hidden_size"] // CONFIG["num_attention_heads"]
    query, key, value = (linear(weights, base + "attention.self." + part, x)
                         for part in ("query", "key", "value"))
    heads = []
    for head in range(CONFIG["num_attention_heads"]):
        part = slice(head * size, (head + 1) * size)
        scores = query[:, part] @ key[:, part].T / math.sqrt(size)
        heads.append(torch.softmax(scores, -1) @ value[:, part])
    return linear(weights, base + "attention.output.dense", torch.cat(heads, -1))


def forward(weights, ids, types):
    x = (weights["embeddings.word_embeddings.weight"][ids]
         + weights["embeddings.position_embeddings.weight"][:len(ids)]
         + weights["embeddings.token_type_embeddings.weight"][types])
    x = layer_norm(weights, "embeddings.LayerNorm", x)
    for layer in range(CONFIG["num_hidden_layers"]):
        base = f"encoder.layer.{layer}."
        x = layer_norm(weights, base + "attention.output.LayerNorm", x + attend(weights, base, x))
        inner = gelu(linear(weights, base + "intermediate.dense", x))
        x = layer_norm(weights, base + "output.LayerNorm",
                       x + linear(weights, base + "output.dense", inner))
    return x


def write_safetensors(path, weights):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name in sorted(weights):
        values = weights[name].flatten().tolist()
        raw = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": list(weights[name].shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def rounded(tensor):
    return [[round(value, 8) for value in row] for row in tensor.tolist()]


def main():
    os.makedirs(FOLDER, exist_ok=True)
    weights = make_weights()
    write_safetensors(os.path.join(FOLDER, "model.safetensors"), weights)
    with open(os.path.join(FOLDER, "config.json"), "w") as file:
        file.write(json.dumps(CONFIG, indent=2) + "\n")
    with open(os.path.join(FOLDER, "vocab.txt"), "w") as file:
        file.write("\n".join(WORDS) + "\n")
    exact = {name: value.double() for name, value in weights.items()}
    rows = []
    for text, ids in TEXTS.items():
        hidden = forward(exact, ids, [0] * len(ids))
        middle = len(ids) // 2
        types = [0] * middle + [1] * (len(ids) - middle)
        rows.append({"text": text, "ids": ids, "hidden": rounded(hidden),
                     "cls": rounded(hidden[:1])[0], "mean": rounded(hidden.mean(0, True))[0],
                     "max": rounded(hidden.max(0, keepdim=True).values)[0], "types": types,
                     "hidden_with_types": rounded(forward(exact, ids, types))})
    with open(os.path.join(FOLDER, "expected.json"), "w") as file:
        file.write("[" + ",\n".join(json.dumps(row) for row in rows) + "]\n")


if __name__ == "__main__":
    main()
