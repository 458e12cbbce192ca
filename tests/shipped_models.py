#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shipped_models.py SIMILE: the models that come with Simile are plain folders, and other programs read the same.

Each folder lists modules of sentence-transformers alone, is no larger than promised and passes its self test.
sentence-transformers loads it and gives the vectors that `simile encode` writes. Exits 77, and says "skipped", where
it is not installed.
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../models")
# Module types, the largest weights in bytes, and by how much coordinates of vectors of length 1 may differ:
# sentence-transformers computes the means of a table in the type that it is stored in, halves.
PROMISED = {
    "simile-mini-3": (["Transformer", "Pooling", "Normalize"], 36e6, 2e-6),
    "simile-mini-3-static": (["StaticEmbedding", "Normalize"], 10e6, 1e-3),
}
TEXTS = ["How do I reset my password?", "", "A", "Prices rose by 3.5% in 2021; wages did not.",
         "Crème brûlée, naïve façade, Straße.", "東京は日本の首都です。", "emoji 🙂 € → #tag https://example.org/a?b=c",
         "  two  spaces and a tab\t", "word " * 300,
         "A longer sentence goes on for a while, with clauses that follow one another, before it ends."]


def simile(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"shipped_models.py: simile {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def check(what, good):
    print(f"{'good' if good else 'WRONG'}  {what}", flush=True)
    if not good:
        sys.exit(1)


def check_folder(name):
    folder = os.path.join(MODELS, name)
    with open(os.path.join(folder, "modules.json"), encoding="utf-8") as file:
        modules = json.load(file)
    types, largest, _ = PROMISED[name]
    check(f"{name}: its modules are {', '.join(types)}",
          [module["type"] for module in modules] == [f"sentence_transformers.models.{kind}" for kind in types])
    weights = os.path.join(folder, modules[0]["path"], "model.safetensors")
    check(f"{name}: {os.path.getsize(weights) / 1e6:.1f} MB of weights", os.path.getsize(weights) <= largest)
    told = json.loads(simile("check", "--model", name, "--json"))
    check(f"{name}: its self test differs by {told['self_test_difference']}", told["self_test_difference"] < 1e-5)


def compare(name, work):
    from sentence_transformers import SentenceTransformer
    texts = os.path.join(work, "texts.jsonl")
    with open(texts, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in TEXTS)
    simile("encode", "--quiet", "--model", name, "--input", texts, "--output", texts + ".vectors.jsonl")
    with open(texts + ".vectors.jsonl", encoding="utf-8") as file:
        ours = [json.loads(line)["embedding"] for line in file]
    theirs = SentenceTransformer(os.path.join(MODELS, name), device="cpu").encode(TEXTS)
    same_shape = (len(ours), len(ours[0])) == theirs.shape
    difference = max(abs(a - float(b)) for one, other in zip(ours, theirs) for a, b in zip(one, other))
    check(f"{name}: {len(ours)} vectors of {len(ours[0])} differ by {difference:.1e} from those of sentence-transformers",
          same_shape and difference <= PROMISED[name][2])


if len(sys.argv) != 2:
    sys.exit(__doc__)
PROGRAM = os.path.abspath(sys.argv[1])
for model in PROMISED:
    check_folder(model)
if importlib.util.find_spec("sentence_transformers") is None:
    print("skipped: sentence-transformers is not installed for this Python; its vectors were not compared")
    sys.exit(77)
with tempfile.TemporaryDirectory() as scratch:
    for model in PROMISED:
        compare(model, scratch)
