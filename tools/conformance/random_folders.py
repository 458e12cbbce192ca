#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares tokens of random model folders with those of transformers' AutoTokenizer.

    python3 random_folders.py --simile ../../build/dev/cli/simile [--folders 300] [--seed 1] [--keep FOLDER]

Each folder has a random vocab.txt (or a tokenizer.json made from it, or both) and random files of older and newer
versions beside it: added_tokens.json, special_tokens_map.json, tokenizer_config.json with random keys, config.json.
Ids of random texts and pairs, whole and cut at six tokens, must be equal, or Simile must refuse the folder: the reasons
are counted. Exits 0 when all agree, 1 when one differs, 2 when it could not run, and 77, with the reason, where
transformers is missing. Needs no network. --keep keeps the folders that differ.
"""
import argparse
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
LETTERS = "abcdefghijklmnop"
WORDS = ["cat", "##ing", "##ed", "dog", "the", "The", "CAT", "über", "uber", "naive", "naïve", "##é", "東", "京", "##京",
         "<", ">", "/", "brand", "##and", "new", "york", "[", "]", "_", "1", "##2", "#", "İ", "ß", "ss"]
NAMES = ["<brand>", "<Shop>", "new york", "[NEW]", "cat dog", "##x", "<e1>", "</e1>", "Über", "@user", "東京", "[unused1]", "cat"]
FLAGS = ["lstrip", "rstrip", "single_word", "normalized"]
FAMILIES = {"bert": "BertTokenizer", "distilbert": "DistilBertTokenizer", "electra": "ElectraTokenizer", "mpnet": "MPNetTokenizer"}
SPECIAL = {"bert": {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"},
           "mpnet": {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "[UNK]", "mask_token": "<mask>"}}


class Folder:
    """A folder to be written, drawn from `random`."""

    def __init__(self, rng, path):
        self.rng, self.path = rng, path
        self.family = rng.choice(list(FAMILIES))
        self.special = dict(SPECIAL["mpnet" if self.family == "mpnet" else "bert"])
        self.config = {}
        self.lines = self.draw_vocabulary()
        self.draw_config()
        self.draw_tokens()

    def often(self, share):
        return self.rng.random() < share

    def draw_vocabulary(self):
        rng = self.rng
        lines = list(self.special.values()) + list(LETTERS) + ["##" + c for c in LETTERS]
        lines += [word for word in rng.sample(WORDS, rng.randint(5, len(WORDS))) if word not in lines]
        if self.often(0.3):
            rng.shuffle(lines)
        if self.often(0.15):
            lines.remove(self.special["mask_token"])
        if self.often(0.15):  # the later of two counts
            lines.insert(rng.randrange(len(lines)), rng.choice(lines[5:]))
        if self.often(0.15):
            lines.insert(rng.randrange(len(lines)), rng.choice(["", " ", "\u3000", "x ", "y\t", "z\u00a0"]))
        if self.often(0.1):
            lines += [""] * rng.randint(1, 2)
        return lines

    def draw_config(self):
        rng, config = self.rng, self.config
        classes = {None: 6, FAMILIES[self.family]: 4, FAMILIES[self.family] + "Fast": 3, "PreTrainedTokenizerFast": 2,
                   "BertJapaneseTokenizer": 0.3, "OwnTokenizer": 0.3}
        name = rng.choices(list(classes), list(classes.values()))[0]
        if name is not None:
            config["tokenizer_class"] = name
        for key, values in {"do_lower_case": [True, False], "strip_accents": [None, True, False],
                            "tokenize_chinese_chars": [True, False], "truncation_side": ["left", "right"],
                            "padding_side": ["left", "right"], "model_max_length": [512, 1e30], "max_len": [512],
                            "never_split": [["cat"]], "do_basic_tokenize": [True, False], "clean_up_tokenization_spaces": [True],
                            "model_input_names": [["input_ids", "attention_mask"]], "add_bos_token": [True]}.items():
            if self.often(0.3 if key != "add_bos_token" else 0.05):
                config[key] = rng.choice(values)
        if self.often(0.04):
            config["split_special_tokens"] = True

    def draw_flags(self, special):
        flags = {flag: self.often(0.3) for flag in FLAGS}
        if self.often(0.3):
            flags = {flag: False for flag in FLAGS}
        return {**flags, "special": special}

    def draw_tokens(self):
        """Which file names which tokens: older folders have three files, newer ones list all in one."""
        rng, files = self.rng, {}
        known = len(self.lines)
        names = rng.sample(NAMES, rng.randint(0, 4))
        new = [name for name in names if name not in self.lines]
        if self.often(0.25):
            decoder = {}
            for token in self.special.values():
                if token in self.lines and self.often(0.8):
                    decoder[str(self.lines.index(token))] = {"content": token, **dict.fromkeys(FLAGS, False), "special": True}
            for i, name in enumerate(new):
                decoder[str(known + i)] = {"content": name, **self.draw_flags(self.often(0.5))}
            self.config["added_tokens_decoder"] = decoder
        else:
            if new and self.often(0.7):
                files["added_tokens.json"] = {name: known + i + (100 if self.often(0.05) else 0) for i, name in enumerate(new)}
            if self.often(0.6):
                files["special_tokens_map.json"] = {
                    key: token if self.often(0.7) else {"content": token, **{f: False for f in FLAGS}}
                    for key, token in self.special.items() if self.often(0.9)}
                if names and self.often(0.4):
                    files["special_tokens_map.json"]["additional_special_tokens"] = rng.sample(names, 1)
        if self.often(0.3):
            key = rng.choice(["additional_special_tokens", "extra_special_tokens"])
            self.config[key] = rng.sample(NAMES, rng.randint(0, 2))
        if self.often(0.1):
            self.config[rng.choice(["bos_token", "image_token"])] = rng.choice(NAMES)
        self.files, self.new = files, new

    def write(self, make_document):
        """make_document(folder) gives the tokenizer.json of the current folder."""
        os.makedirs(self.path)
        end = self.rng.choice(["\n", "\n", "\r\n"])
        with open(os.path.join(self.path, "vocab.txt"), "w", encoding="utf-8", newline="") as out:
            out.write(end.join(self.lines) + (end if self.often(0.8) else ""))
        write_json(self.path, "config.json", {"model_type": self.family})
        kind = self.rng.choice(["vocab", "vocab", "both", "json"])
        if kind != "vocab":
            document = json.loads(make_document(self.path))
            if document["normalizer"]["type"] == "BertNormalizer":
                for key, values in {"lowercase": [True, False], "strip_accents": [None, True, False],
                                    "handle_chinese_chars": [True, False]}.items():
                    if self.often(0.3):
                        document["normalizer"][key] = self.rng.choice(values)
            if self.often(0.3):
                document["truncation"] = {"direction": self.rng.choice(["Left", "Right"]), "max_length": 128,
                                          "strategy": "LongestFirst", "stride": 0}
            if self.often(0.2) and "added_tokens_decoder" not in self.config:
                tokens = document["added_tokens"]
                taken = max([len(document["model"]["vocab"])] + [token["id"] + 1 for token in tokens])
                tokens.append({"id": taken, "content": "<json>", **self.draw_flags(self.often(0.5))})
            write_json(self.path, "tokenizer.json", document)
        if kind == "json":
            os.remove(os.path.join(self.path, "vocab.txt"))
        for name, content in self.files.items():
            write_json(self.path, name, content)
        if self.config or self.often(0.5):
            write_json(self.path, "tokenizer_config.json", self.config)

    def texts(self):
        rng = self.rng
        pieces = WORDS + NAMES + list(LETTERS) + list(self.special.values()) + self.lines + [
            "<json>", "Ünïted", "CAFÉ", "e\u0301", "\u00a0", "\u200b", "東京都", "!", "cat,dog", "ABC", "x" * 101, "\t"]
        return [rng.choice(["", " "]).join(rng.choice(pieces) + rng.choice(["", "", " "]) for _ in range(rng.randint(0, 12)))
                for _ in range(12)]


def write_json(folder, name, content):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
        json.dump(content, out, ensure_ascii=False)


def run_simile(simile, folder, items, more):
    path = os.path.join(folder, "texts.jsonl")
    with open(path, "w", encoding="utf-8") as out:
        for first, second in items:
            out.write(json.dumps({"text": first} if second is None else {"text": first, "pair": second}) + "\n")
    done = subprocess.run([simile, "tokenize", "--model", folder, "--input", path, *more], capture_output=True, text=True)
    os.remove(path)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return [json.loads(line)["ids"] for line in done.stdout.splitlines()], done.stderr


def reason_of(message, folder):
    message = re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "...", message.replace(folder, "FOLDER"))
    return message.splitlines()[-1][:110]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simile", required=True)
    parser.add_argument("--folders", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="folder for the folders that differ")
    arguments = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    try:
        import transformers
    except ImportError as error:
        print(f"skipped: {error}")
        return SKIPPED
    counts, refused, different = collections.Counter(), collections.Counter(), []
    top = tempfile.mkdtemp()
    for number in range(arguments.folders):
        rng = random.Random(f"{arguments.seed} {number}")
        folder = Folder(rng, os.path.join(top, f"folder-{number}"))

        def make_document(path):
            plain = {"mpnet": transformers.MPNetTokenizer}.get(folder.family, transformers.BertTokenizer)
            return plain.from_pretrained(path).backend_tokenizer.to_str()

        folder.write(make_document)
        texts = folder.texts()
        items = [(text, None) for text in texts] + [(a, b) for a, b in zip(texts[::2], texts[1::2]) if b]
        try:
            reference = transformers.AutoTokenizer.from_pretrained(folder.path)
            whole = [reference(*([first] if second is None else [first, second]))["input_ids"] for first, second in items]
            cut = [reference(first, truncation=True, max_length=6)["input_ids"] for first, _ in items]
        except Exception as error:  # pylint: disable=broad-except
            counts["transformers does not read the folder"] += 1
            del error
            continue
        found, told = run_simile(arguments.simile, folder.path, items, [])
        if found is None:
            counts["refused"] += 1
            refused[reason_of(told, folder.path)] += 1
            continue
        short, _ = run_simile(arguments.simile, folder.path, [(first, None) for first, _ in items], ["--max-length", "6"])
        if (found, short) == (whole, cut):
            counts["equal"] += 1
            continue
        counts["different"] += 1
        different.append(folder.path)
        for item, theirs, ours in list(zip(items, whole, found)) + list(zip(items, cut, short)):
            if theirs != ours:
                print(f"folder-{number}: {item}\n  transformers {theirs}\n  simile       {ours}\n  {told.strip()}")
                break
        if arguments.keep:
            shutil.copytree(folder.path, os.path.join(arguments.keep, f"folder-{number}"), dirs_exist_ok=True)
    shutil.rmtree(top)
    print(f"{arguments.folders} folders, transformers {transformers.__version__}: "
          + ", ".join(f"{count} {name}" for name, count in counts.most_common()))
    for reason, count in refused.most_common():
        print(f"  refused {count}: {reason}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
