# SPDX-License-Identifier: Apache-2.0
"""torch's EmbeddingBag as sentence-transformers' StaticEmbedding uses it: the peer of bench/static.sh.

usage: static_peer.py ids MODEL_FOLDER TEXTS TOKENS OUTPUT
       static_peer.py train MODEL_FOLDER LEFT.jsonl RIGHT.jsonl STEPS BATCH TAU sparse|dense THREADS
       static_peer.py encode MODEL_FOLDER IDS TOKENS THREADS ROUNDS

`ids` writes random token ids by Zipf's law. `train` takes the token ids that `simile tokenize` printed,
BATCH pairs a step in their order: mean of the rows, normalised, products of all pairs, cross entropy in
both directions, backward, SparseAdam or Adam. Each prints one JSON object; times are medians.
"""
import json
import statistics
import struct
import sys
import time

import numpy as np
import torch
from torch.nn.functional import cross_entropy, normalize

WARM_UP = 4
LEARNING_RATE = 1e-2


def read_table(folder):
    with open(f"{folder}/0_StaticEmbedding/model.safetensors", "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        (name, entry), = [(n, e) for n, e in header.items() if n != "__metadata__"]
        assert entry["dtype"] == "F32", f"{name}: expected F32, found {entry['dtype']}"
        begin, end = entry["data_offsets"]
        file.seek(8 + size + begin)
        return torch.from_numpy(np.frombuffer(file.read(end - begin), dtype=np.float32)
                                .reshape(entry["shape"]).copy())


def make_bag(folder, sparse=False):
    return torch.nn.EmbeddingBag.from_pretrained(read_table(folder), freeze=False, mode="mean",
                                                 sparse=sparse)


def read_batches(path, batch, steps):
    """Flat ids and offsets of each batch."""
    batches, ids, offsets = [], [], []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            offsets.append(len(ids))
            ids += json.loads(line)["ids"]
            if len(offsets) == batch:
                batches.append((torch.tensor(ids), torch.tensor(offsets)))
                ids, offsets = [], []
                if len(batches) == steps:
                    return batches
    sys.exit(f"static_peer.py: {path} has fewer texts than {steps} batches of {batch}")


def middle(seconds, count):
    wall, processor = (statistics.median(values) for values in zip(*seconds))
    return count / wall, count / processor


def train(folder, left, right, steps, batch, tau, kind, threads):
    torch.set_num_threads(int(threads))
    steps, batch, tau = int(steps), int(batch), float(tau)
    bag = make_bag(folder, sparse=kind == "sparse")
    optimizer = (torch.optim.SparseAdam if kind == "sparse" else torch.optim.Adam)(
        list(bag.parameters()), lr=LEARNING_RATE)
    target = torch.arange(batch)
    losses, seconds = [], []
    for (left_ids, right_ids) in zip(read_batches(left, batch, steps), read_batches(right, batch, steps)):
        start = time.perf_counter(), time.process_time()
        u, v = (normalize(bag(*ids)) for ids in (left_ids, right_ids))
        scores = u @ v.T / tau
        loss = (cross_entropy(scores, target) + cross_entropy(scores.T, target)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seconds.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    wall, processor = middle(seconds[WARM_UP + 1:], batch)
    return {"mode": "train", "kind": kind, "pairs_per_second": wall,
            "pairs_per_processor_second": processor, "losses": losses}


def encode(folder, ids, tokens, threads, rounds):
    torch.set_num_threads(int(threads))
    bag, tokens = make_bag(folder), int(tokens)
    flat = torch.from_numpy(np.fromfile(ids, dtype=np.int32).astype(np.int64))
    offsets = torch.arange(0, len(flat), tokens)
    seconds = []
    with torch.no_grad():
        for _ in range(int(rounds)):
            start = time.perf_counter(), time.process_time()
            vectors = normalize(bag(flat, offsets))
            seconds.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    wall, processor = middle(seconds, len(offsets))
    return {"mode": "encode", "texts_per_second": wall, "texts_per_processor_second": processor,
            "first_numbers": vectors[:4, :4].flatten().tolist()}


def ids(folder, texts, tokens, output):
    vocabulary = len(read_table(folder))
    uniform = np.random.default_rng(1).random((int(texts), int(tokens)))
    (vocabulary ** uniform - 1).astype(np.int32).tofile(output)
    return {"mode": "ids", "vocabulary": vocabulary}


def main():
    modes = {"ids": (ids, 4), "train": (train, 8), "encode": (encode, 5)}
    function, count = modes.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, -1))
    if len(sys.argv) - 2 != count:
        sys.exit(__doc__)
    print(json.dumps(function(*sys.argv[2:])))


main()
