#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/families/NAME: small encoders of each family with random weights, and what they compute.

Each family is written out here from its paper and the published layout of its checkpoints, one sequence at a
time in double precision; gradients are autograd's. Nothing is shared with the code under test. Needs only
PyTorch; run from the repository root:
    python3 tools/golden/families.py

model.safetensors has the family's own tensor names. expected.safetensors has
    ids, types, offsets     the batch (I32)
    hidden                  [tokens, H], and hidden.L that of the same model cut to its first L layers
    coefficients            [tokens, H]; the loss is sum(coefficients * hidden)
    gradient.NAME           of the loss by each tensor of the model, and gradient.embedding by what enters
                            the first layer
"""
import json
import math
import os
import struct

import torch

ROOT = os.path.join(os.path.dirname(__file__), "..", "..", "tests", "golden", "families")
WORDS = 40


class Model:
    """Weights by name, drawn on first use."""

    def __init__(self, config, seed, prefix=""):
        self.config, self.prefix, self.weights = config, prefix, {}
        self.generator = torch.Generator().manual_seed(seed)

    def get(self, name, *shape, mean=0.0, deviation=0.3):
        name = self.prefix + name
        if name not in self.weights:
            drawn = mean + deviation * torch.randn(*shape, generator=self.generator)
            self.weights[name] = drawn.float().double().requires_grad_()
        return self.weights[name]

    def linear(self, name, x, out, bias=True):
        weight = self.get(name + ".weight", out, x.shape[-1], deviation=1.2 / math.sqrt(x.shape[-1]))
        y = x @ weight.T
        return y + self.get(name + ".bias", out) if bias else y

    def norm(self, name, x, eps, bias=True):
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + eps)
        scaled = scaled * self.get(name + ".weight", x.shape[-1], mean=1.0)
        return scaled + self.get(name + ".bias", x.shape[-1]) if bias else scaled

    def rows(self, name, count, width, which):
        return self.get(name + ".weight", count, width)[which]


def gelu(x):
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


def gelu_tanh(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x ** 3)))


def silu(x):
    return x / (1.0 + torch.exp(-x))


def relu(x):
    return torch.clamp(x, min=0.0)


def attention(query, key, value, heads, shift=None, allowed=None):
    """softmax(q k^T / sqrt(d) + shift) v, head by head; allowed [L, L] says which keys a query sees."""
    size = query.shape[-1] // heads
    parts = []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        scores = query[:, part] @ key[:, part].T / math.sqrt(size)
        if shift is not None:
            scores = scores + shift[:, :, head]
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -math.inf)
        parts.append(torch.softmax(scores, -1) @ value[:, part])
    return torch.cat(parts, -1)


def rotate(x, heads, base):
    """Rotary positions on the halves of each head, angles in single precision as the models have them."""
    length, size = x.shape[0], x.shape[-1] // heads
    frequency = 1.0 / (base ** (torch.arange(0, size, 2).float() / size))
    angle = torch.arange(length).float()[:, None] * frequency[None, :]
    cosine, sine = angle.cos().double(), angle.sin().double()
    turned = []
    for head in range(heads):
        first, second = x[:, head * size:(head + 1) * size].chunk(2, -1)
        turned += [first * cosine - second * sine, second * cosine + first * sine]
    return torch.cat(turned, -1)


def bert_layer(model, base, x, heads, inner, eps, act, names=None, shift=None):
    """Post-norm layer; names: how the family calls its twelve tensors."""
    n = names or {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
                  "o": "attention.output.dense", "norm1": "attention.output.LayerNorm",
                  "up": "intermediate.dense", "down": "output.dense", "norm2": "output.LayerNorm"}
    width = x.shape[-1]
    query, key, value = (model.linear(base + n[part], x, width) for part in "qkv")
    context = attention(query, key, value, heads, shift)
    x = model.norm(base + n["norm1"], x + model.linear(base + n["o"], context, width), eps)
    up = act(model.linear(base + n["up"], x, inner))
    return model.norm(base + n["norm2"], x + model.linear(base + n["down"], up, width), eps)


def position_ids(ids, first):
    """From `first` on; with padding before the first row, a padding token has its own and is not counted."""
    places, counted = [], 0
    for token in ids:
        is_padding = first > 0 and token == first - 1
        places.append(token if is_padding else first + counted)
        counted += 0 if is_padding else 1
    return places


def embed(model, ids, types, width, eps, positions=0, first=0, type_count=0):
    x = model.rows("embeddings.word_embeddings", WORDS, width, ids)
    if positions:
        x = x + model.rows("embeddings.position_embeddings", positions, width,
                           position_ids(ids, first))
    if type_count:
        x = x + model.rows("embeddings.token_type_embeddings", type_count, width, types)
    return model.norm("embeddings.LayerNorm", x, eps)


def bert(model, ids, types, layers, keep, first=0):
    c = model.config
    act = {"gelu": gelu, "silu": silu}[c["hidden_act"]]
    x = embed(model, ids, types, c["hidden_size"], c["layer_norm_eps"],
              c["max_position_embeddings"], first, c["type_vocab_size"])
    x = keep(x)
    for i in range(layers):
        x = bert_layer(model, f"encoder.layer.{i}.", x, c["num_attention_heads"], c["intermediate_size"],
                       c["layer_norm_eps"], act)
    return x


def distilbert(model, ids, types, layers, keep):
    c = model.config
    names = {"q": "attention.q_lin", "k": "attention.k_lin", "v": "attention.v_lin", "o": "attention.out_lin",
             "norm1": "sa_layer_norm", "up": "ffn.lin1", "down": "ffn.lin2", "norm2": "output_layer_norm"}
    x = keep(embed(model, ids, types, c["dim"], 1e-12, c["max_position_embeddings"]))
    for i in range(layers):
        x = bert_layer(model, f"transformer.layer.{i}.", x, c["n_heads"], c["hidden_dim"], 1e-12, relu, names)
    return x


def mpnet_bucket(distance):
    """32 buckets: 16 for keys before the query (and at it), 16 behind it; of each, 8 exact ones."""
    first, n = (16 if distance > 0 else 0), abs(distance)
    if n < 8:
        return first + n
    return first + min(15, 8 + int(math.log(n / 8) / math.log(128 / 8) * 8 + 1e-9))


def mpnet(model, ids, types, layers, keep):
    c = model.config
    names = {"q": "attention.attn.q", "k": "attention.attn.k", "v": "attention.attn.v",
             "o": "attention.attn.o", "norm1": "attention.LayerNorm", "up": "intermediate.dense",
             "down": "output.dense", "norm2": "output.LayerNorm"}
    x = keep(embed(model, ids, types, c["hidden_size"], c["layer_norm_eps"],
                   c["max_position_embeddings"], 2))
    length = len(ids)
    buckets = torch.tensor([[mpnet_bucket(k - q) for k in range(length)] for q in range(length)])
    shift = model.get("encoder.relative_attention_bias.weight", 32, c["num_attention_heads"],
                      deviation=1.0)[buckets]
    for i in range(layers):
        x = bert_layer(model, f"encoder.layer.{i}.", x, c["num_attention_heads"], c["intermediate_size"],
                       c["layer_norm_eps"], gelu, names, shift)
    return x


def roberta(model, ids, types, layers, keep):
    return bert(model, ids, [0] * len(ids), layers, keep, model.config["pad_token_id"] + 1)


def electra(model, ids, types, layers, keep):
    c = model.config
    x = embed(model, ids, types, c["embedding_size"], c["layer_norm_eps"], c["max_position_embeddings"], 0,
              c["type_vocab_size"])
    x = keep(model.linear("embeddings_project", x, c["hidden_size"]))
    for i in range(layers):
        x = bert_layer(model, f"encoder.layer.{i}.", x, c["num_attention_heads"], c["intermediate_size"],
                       c["layer_norm_eps"], gelu)
    return x


def albert(model, ids, types, layers, keep):
    c = model.config
    names = {"q": "attention.query", "k": "attention.key", "v": "attention.value", "o": "attention.dense",
             "norm1": "attention.LayerNorm", "up": "ffn", "down": "ffn_output",
             "norm2": "full_layer_layer_norm"}
    x = embed(model, ids, types, c["embedding_size"], c["layer_norm_eps"], c["max_position_embeddings"], 0,
              c["type_vocab_size"])
    x = keep(model.linear("encoder.embedding_hidden_mapping_in", x, c["hidden_size"]))
    for _ in range(layers):
        x = bert_layer(model, "encoder.albert_layer_groups.0.albert_layers.0.", x, c["num_attention_heads"],
                       c["intermediate_size"], c["layer_norm_eps"], gelu_tanh, names)
    return x


def modernbert(model, ids, types, layers, keep):
    c = model.config
    heads, width, eps, bias = c["num_attention_heads"], c["hidden_size"], c["norm_eps"], c["norm_bias"]
    length = len(ids)
    place = torch.arange(length)
    near = (place[:, None] - place[None, :]).abs() <= c["local_attention"] // 2
    x = model.rows("embeddings.tok_embeddings", WORDS, width, ids)
    x = keep(model.norm("embeddings.norm", x, eps, bias))
    for i in range(layers):
        base = f"layers.{i}."
        everywhere = i % 3 == 0
        theta = 160000.0 if everywhere else 10000.0
        normed = x if i == 0 else model.norm(base + "attn_norm", x, eps, bias)
        query, key, value = model.linear(base + "attn.Wqkv", normed, 3 * width,
                                         c["attention_bias"]).chunk(3, -1)
        context = attention(rotate(query, heads, theta), rotate(key, heads, theta), value, heads,
                            allowed=None if everywhere else near)
        x = x + model.linear(base + "attn.Wo", context, width, c["attention_bias"])
        normed = model.norm(base + "mlp_norm", x, eps, bias)
        gate, up = model.linear(base + "mlp.Wi", normed, 2 * c["intermediate_size"],
                                c["mlp_bias"]).chunk(2, -1)
        x = x + model.linear(base + "mlp.Wo", gelu(gate) * up, width, c["mlp_bias"])
    return model.norm("final_norm", x, eps, bias)


def nomic(model, ids, types, layers, keep):
    c = model.config
    heads, width, inner, eps = c["n_head"], c["n_embd"], c["n_inner"], c["layer_norm_epsilon"]
    x = model.rows("embeddings.word_embeddings", 48, width, ids)  # 40 padded to a multiple of 16
    x = x + model.rows("embeddings.token_type_embeddings", c["type_vocab_size"], width, types)
    x = keep(model.norm("emb_ln", x, eps))
    for i in range(layers):
        base = f"encoder.layers.{i}."
        query, key, value = model.linear(base + "attn.Wqkv", x, 3 * width, c["qkv_proj_bias"]).chunk(3, -1)
        context = attention(rotate(query, heads, c["rotary_emb_base"]),
                            rotate(key, heads, c["rotary_emb_base"]), value, heads)
        x = model.norm(base + "norm1", x + model.linear(base + "attn.out_proj", context, width,
                                                        c["qkv_proj_bias"]), eps)
        if c["activation_function"] == "swiglu":
            up = model.linear(base + "mlp.fc11", x, inner, c["mlp_fc1_bias"])
            up = up * silu(model.linear(base + "mlp.fc12", x, inner, c["mlp_fc1_bias"]))
        else:
            up = gelu(model.linear(base + "mlp.fc1", x, inner, c["mlp_fc1_bias"]))
        x = model.norm(base + "norm2", x + model.linear(base + "mlp.fc2", up, width, c["mlp_fc2_bias"]), eps)
    return x


BERT_KEYS = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu",
             "hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 40, "num_hidden_layers": 2,
             "max_position_embeddings": 64, "type_vocab_size": 2, "layer_norm_eps": 1e-5, "pad_token_id": 0,
             "vocab_size": WORDS}
MODERN_KEYS = {"architectures": ["ModernBertForMaskedLM"], "model_type": "modernbert", "hidden_size": 32,
               "num_attention_heads": 2, "intermediate_size": 20, "num_hidden_layers": 4,
               "hidden_activation": "gelu", "max_position_embeddings": 128, "local_attention": 8,
               "norm_eps": 1e-5, "norm_bias": False, "attention_bias": False, "mlp_bias": False,
               "embedding_dropout": 0.0, "attention_dropout": 0.0, "mlp_dropout": 0.0, "pad_token_id": 3,
               "vocab_size": WORDS, "classifier_pooling": "mean"}
NOMIC_KEYS = {"architectures": ["NomicBertModel"], "model_type": "nomic_bert", "n_embd": 16, "n_head": 2,
              "n_inner": 256, "n_layer": 2, "n_positions": 128, "layer_norm_epsilon": 1e-12,
              "activation_function": "swiglu", "qkv_proj_bias": False, "mlp_fc1_bias": False,
              "mlp_fc2_bias": False, "prenorm": False, "causal": False, "parallel_block": False,
              "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False,
              "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "use_rms_norm": False,
              "resid_pdrop": 0.0, "attn_pdrop": 0.0, "embd_pdrop": 0.0, "type_vocab_size": 2,
              "pad_vocab_size_multiple": 16, "vocab_size": WORDS}
NEW_ROPE = {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 160000.0},
                                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}},
            "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]}
OLD_ROPE = {"global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "global_attn_every_n_layers": 3}

# name: (reference, config, layers' key, lengths, prefix of the checkpoint's names)
FAMILIES = {
    "roberta": (roberta, {**BERT_KEYS, "architectures": ["RobertaForMaskedLM"], "model_type": "roberta",
                          "type_vocab_size": 1, "pad_token_id": 1}, "num_hidden_layers", [7, 1, 33],
                "roberta."),
    "distilbert": (distilbert, {"architectures": ["DistilBertModel"], "model_type": "distilbert", "dim": 24,
                                "n_heads": 3, "hidden_dim": 40, "n_layers": 2, "dropout": 0.1,
                                "attention_dropout": 0.1, "activation": "relu",
                                "sinusoidal_pos_embds": False, "max_position_embeddings": 48,
                                "pad_token_id": 0, "vocab_size": WORDS}, "n_layers", [7, 1, 33], ""),
    "mpnet": (mpnet, {**BERT_KEYS, "architectures": ["MPNetForMaskedLM"], "model_type": "mpnet",
                      "pad_token_id": 1, "relative_attention_num_buckets": 32,
                      "max_position_embeddings": 154}, "num_hidden_layers", [7, 1, 151], "mpnet."),
    "electra": (electra, {**BERT_KEYS, "architectures": ["ElectraModel"], "model_type": "electra",
                          "embedding_size": 12}, "num_hidden_layers", [7, 1, 33], "electra."),
    "albert": (albert, {**BERT_KEYS, "architectures": ["AlbertModel"], "model_type": "albert",
                        "embedding_size": 10, "num_hidden_layers": 3, "hidden_act": "gelu_new",
                        "hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0,
                        "num_hidden_groups": 1, "inner_group_num": 1}, "num_hidden_layers", [7, 1, 33], ""),
    "modernbert": (modernbert, {**MODERN_KEYS, **OLD_ROPE}, "num_hidden_layers", [7, 1, 33, 70], "model."),
    "modernbert-biases": (modernbert, {**MODERN_KEYS, **NEW_ROPE, "norm_bias": True, "attention_bias": True,
                                       "mlp_bias": True}, "num_hidden_layers", [7, 1, 61], ""),
    "nomic": (nomic, NOMIC_KEYS, "n_layer", [7, 1, 33], ""),
    "nomic-plain": (nomic, {**NOMIC_KEYS, "activation_function": "gelu", "n_inner": 40,
                            "qkv_proj_bias": True, "mlp_fc1_bias": True, "mlp_fc2_bias": True},
                    "n_layer", [7, 1, 33], "bert."),
    "bert": (bert, {**BERT_KEYS, "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "silu"},
             "num_hidden_layers", [7, 1, 33], "bert."),
}


def write_safetensors(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name in sorted(tensors):
        values = tensors[name]
        whole = not values.is_floating_point()
        raw = struct.pack(f"<{values.numel()}{'i' if whole else 'f'}", *values.detach().flatten().tolist())
        header[name] = {"dtype": "I32" if whole else "F32", "shape": list(values.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def run(reference, model, batch, layers):
    """Hidden states of all sequences, and what entered the first layer."""
    entered = []

    def keep(x):
        x.retain_grad()
        entered.append(x)
        return x

    hidden = [reference(model, ids, types, layers, keep) for ids, types in batch]
    return torch.cat(hidden), entered


def main():
    for number, (name, (reference, config, layers_key, lengths, prefix)) in enumerate(FAMILIES.items()):
        folder = os.path.join(ROOT, name)
        os.makedirs(folder, exist_ok=True)
        model = Model(config, 1000 + number, prefix)
        draw = torch.Generator().manual_seed(77 + number)
        batch = []
        for length in lengths:
            ids = torch.randint(WORDS, (length,), generator=draw).tolist()
            batch.append((ids, [0] * (length // 2) + [1] * (length - length // 2)))
        layers = config[layers_key]
        hidden, entered = run(reference, model, batch, layers)
        coefficients = (0.2 * torch.randn(*hidden.shape, generator=draw)).float().double()
        (coefficients * hidden).sum().backward()
        expected = {"hidden": hidden, "coefficients": coefficients,
                    "gradient.embedding": torch.cat([x.grad for x in entered])}
        for weight, value in model.weights.items():
            gradient = value.grad if value.grad is not None else torch.zeros_like(value)
            expected["gradient." + weight] = gradient
        for fewer in range(1, layers):
            expected[f"hidden.{fewer}"] = run(reference, model, batch, fewer)[0]
        offsets = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
        for key, values in (("ids", sum((ids for ids, _ in batch), [])),
                            ("types", sum((types for _, types in batch), [])), ("offsets", offsets)):
            expected[key] = torch.tensor(values, dtype=torch.int32)
        write_safetensors(os.path.join(folder, "model.safetensors"), model.weights)
        write_safetensors(os.path.join(folder, "expected.safetensors"), expected)
        with open(os.path.join(folder, "config.json"), "w") as file:
            file.write(json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    main()
