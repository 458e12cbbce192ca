#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a BERT tokenizer with the most frequent tokens of another one.

    python3 tools/data/select_vocabulary.py simile TOKENIZER PAIRS SIZE OUTPUT

simile is the program, TOKENIZER a folder with vocab.txt, PAIRS a table with the columns left and right.
Special tokens, letters, digits and punctuation stay; all others are ranked by their number in PAIRS. A
word whose token is left out is cut into shorter ones. A student with such a tokenizer can learn from its
teacher token by token.
"""
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter


def count_tokens(simile, tokenizer, pairs):
    with open(pairs, encoding="utf-8") as file:
        next(file)
        texts = "".join("\n".join(line.rstrip("\n").split("\t")[:2]) + "\n" for line in file)
    counts = Counter()
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(texts)
        file.flush()
        command = [simile, "tokenize", "--quiet", "--model", tokenizer, "--input", file.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            for line in run.stdout:
                counts.update(json.loads(line)["ids"])
    if run.returncode != 0:
        sys.exit(run.returncode)
    return counts


def main(simile, tokenizer, pairs, size, output):
    with open(f"{tokenizer}/vocab.txt", encoding="utf-8") as file:
        tokens = file.read().split("\n")[:-1]
    counts = count_tokens(simile, tokenizer, pairs)

    def rank(i):
        token = tokens[i].removeprefix("##")
        is_kept = tokens[i] in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") or (len(token) == 1 and ord(token) < 128)
        return not is_kept, -counts[i], i

    kept = sorted(sorted(range(len(tokens)), key=rank)[:int(size)])
    os.makedirs(output)
    with open(f"{output}/vocab.txt", "w", encoding="utf-8") as file:
        file.write("".join(tokens[i] + "\n" for i in kept))
    with open(f"{output}/tokenizer_config.json", "w", encoding="utf-8") as file:
        json.dump({"tokenizer_class": "BertTokenizer", "do_lower_case": True}, file)
    left_out = sum(counts.values()) - sum(counts[i] for i in kept)
    print(f"{len(kept)} of {len(tokens)} tokens; {left_out} of {sum(counts.values())} in the texts are others")


if __name__ == "__main__":
    main(*sys.argv[1:])
