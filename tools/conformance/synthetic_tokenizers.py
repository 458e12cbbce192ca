# SPDX-License-Identifier: Apache-2.0
"""Small tokenizer.json files that together use every component Simile reads but those of sentencepiece:
python3 synthetic_tokenizers.py --texts texts.txt --output FOLDER [--merges 300].

Merges are learned from the texts, so that they apply to text like it.
"""
import argparse
import collections
import json
import pathlib
import re

CHARACTERS = [chr(c) for c in range(33, 127)] + list("éñüßаябяعبไद日本語😀▁ Ġ")
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]


def byte_alphabet():
    shown = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b]
    hidden = [b for b in range(256) if b not in shown]
    return [chr(b) if b in shown else chr(256 + hidden.index(b)) for b in range(256)]


ALPHABET = byte_alphabet()


def in_bytes(text):
    return "".join(ALPHABET[byte] for byte in text.encode())


def learn_merges(words, count, prefix="", suffix=""):
    counts = collections.Counter(words)
    symbols = {}
    for word in counts:
        symbols[word] = [(prefix if i else "") + c + (suffix if i == len(word) - 1 else "")
                         for i, c in enumerate(word)]
    merges = []
    for _ in range(count):
        pairs = collections.Counter()
        for word, parts in symbols.items():
            for pair in zip(parts, parts[1:]):
                pairs[pair] += counts[word]
        if not pairs:
            break
        left, right = max(pairs.items(), key=lambda item: (item[1], item[0]))[0]
        merges.append((left, right))
        for word, parts in symbols.items():
            joined, i = [], 0
            while i < len(parts):
                if parts[i:i + 2] == [left, right]:
                    joined.append(left + right[len(prefix):])
                    i += 2
                else:
                    joined.append(parts[i])
                    i += 1
            symbols[word] = joined
    return merges


def number(tokens):
    ids = {}
    for token in tokens:
        ids.setdefault(token, len(ids))
    return ids


def bpe(characters, merges, first=("<unk>",), pairs_as_lists=False, **options):
    prefix = options.get("continuing_subword_prefix") or ""
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
    model.update(options)
    joined = [left + right[len(prefix):] for left, right in merges]
    parts = [token for merge in merges for token in merge]
    model["vocab"] = number([*first, *characters, *joined, *parts])
    model["merges"] = [list(m) if pairs_as_lists else " ".join(m) for m in merges]
    return model


def part(kind, **options):
    return {"type": kind, **options}


def normalizers(*steps):
    return part("Sequence", normalizers=list(steps))


def pre_tokenizers(*steps):
    return part("Sequence", pretokenizers=list(steps))


def split(pattern, behavior, invert=False, kind="Regex"):
    return part("Split", pattern={kind: pattern}, behavior=behavior, invert=invert)


def replace(pattern, content, kind="Regex"):
    return part("Replace", pattern={kind: pattern}, content=content)


def byte_level(prefix_space, use_regex=True, trim_offsets=True):
    return part("ByteLevel", add_prefix_space=prefix_space, trim_offsets=trim_offsets, use_regex=use_regex)


def bert_normalizer(clean, strip, lower):
    return part("BertNormalizer", clean_text=clean, handle_chinese_chars=True, strip_accents=strip,
                lowercase=lower)


ADDED = [("<mask>", {"lstrip": True}), ("[MASK]", {"rstrip": True}),
         ("xyzzy", {"special": False, "normalized": True, "single_word": True}),
         ("<tok>", {"special": False, "normalized": True, "lstrip": True, "rstrip": True}),
         ("ab", {"single_word": True}), (" <lead>", {}), ("[NEW]", {"special": False, "normalized": True}),
         ("hello", {"special": False, "normalized": True}), ("<s>", {}), ("</s>", {})]


def added_tokens(model):
    tokens, size = [], len(model["vocab"])
    for content, flags in ADDED:
        known = content in model["vocab"]
        token = {"id": model["vocab"][content] if known else size, "content": content, "single_word": False,
                 "lstrip": False, "rstrip": False, "normalized": False, "special": True, **flags}
        size += not known
        tokens.append(token)
    return sorted(tokens, key=lambda token: token["id"])


def templates(ids):
    special = lambda name, kind: {"SpecialToken": {"id": name, "type_id": kind}}
    text = lambda name, kind: {"Sequence": {"id": name, "type_id": kind}}
    return part("TemplateProcessing", single=[special("<s>", 0), text("A", 0)],
                pair=[special("<s>", 0), text("A", 2), special("</s>", 1), text("B", 3)],
                special_tokens={name: {"id": name, "ids": [ids[name]], "tokens": [name]}
                                for name in ("<s>", "</s>")})


def roberta(trim, prefix_space):
    return lambda ids: part("RobertaProcessing", sep=["</s>", ids["</s>"]], cls=["<s>", ids["<s>"]],
                            trim_offsets=trim, add_prefix_space=prefix_space)


def bert(ids):
    return part("BertProcessing", sep=["</s>", ids["</s>"]], cls=["<s>", ids["<s>"]])


def trimmed(trim, prefix_space, then=None):
    step = part("ByteLevel", add_prefix_space=prefix_space, trim_offsets=trim, use_regex=True)
    return lambda ids: part("Sequence", processors=[step] + ([then(ids)] if then else []))


def tokenizer(model, normalizer=None, pre_tokenizer=None, post_processor=templates):
    added = added_tokens(model)
    ids = {token["content"]: token["id"] for token in added}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": normalizer, "pre_tokenizer": pre_tokenizer,
            "post_processor": post_processor(ids), "decoder": None, "model": model}


def normalizer_tokenizers(spell):
    """`spell` has a token for each character or byte, so that all of a normaliser's work shows."""
    strip = lambda left, right: part("Strip", strip_left=left, strip_right=right)
    for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"):
        yield name, tokenizer(spell, part(name))
    yield "strip", tokenizer(spell, strip(True, True))
    yield "strip-right", tokenizer(spell, strip(False, True))
    yield "forms", tokenizer(spell, normalizers(
        part("NFD"), part("StripAccents"), part("Lowercase"), part("NFKC"), strip(True, False)))
    yield "prepend", tokenizer(spell, normalizers(
        part("NFKD"), part("Lowercase"), part("NFC"), part("Prepend", prepend="xé")))
    yield "replace", tokenizer(spell, normalizers(
        replace(r"\s{2,}|[\n\r\t]", " "), replace(" {2,}", "▁"), replace("''", '"', "String"),
        replace(r"\p{M}+", ""), replace("[éñ]+", "ee"), replace("(a|b)c?", "Q")))
    yield "bert-clean", tokenizer(spell, bert_normalizer(True, None, True))
    yield "bert-accents", tokenizer(spell, bert_normalizer(False, True, False))


def split_tokenizers(words):
    for behavior in BEHAVIORS:
        yield f"punctuation-{behavior}", tokenizer(words, None, part("Punctuation", behavior=behavior))
        yield f"space-{behavior}", tokenizer(words, None, split(" ", behavior, kind="String"))
        for invert in (False, True):
            yield f"vowels-{behavior}-{invert}", tokenizer(words, None, pre_tokenizers(
                part("WhitespaceSplit"), split("[aeiou]+", behavior, invert)))
    for individual in (False, True):
        yield f"digits-{individual}", tokenizer(words, None, part("Digits", individual_digits=individual))
    yield "delimiter", tokenizer(words, None, part("CharDelimiterSplit", delimiter="é"))
    yield "scripts", tokenizer(words, None, part("UnicodeScripts"))
    yield "fixed-length", tokenizer(words, None, pre_tokenizers(
        part("FixedLength", length=3), part("Whitespace")))


def byte_tokenizers(model, ignoring, some):
    for prefix in (False, True):
        for trim in (False, True):
            yield f"roberta-{prefix}-{trim}", tokenizer(
                model, None, byte_level(prefix), roberta(trim, prefix))
            yield f"gpt2-{prefix}-{trim}", tokenizer(
                model, part("NFC"), byte_level(prefix, True, trim), trimmed(trim, not prefix))
    yield "no-regex", tokenizer(model, None, byte_level(True, False), trimmed(True, True, templates))
    yield "llama3", tokenizer(ignoring, None, pre_tokenizers(
        split(LLAMA3, "Isolated"), byte_level(False, False)), trimmed(False, True, templates))
    yield "qwen2", tokenizer(model, part("NFC"), pre_tokenizers(
        split(QWEN2, "Isolated"), byte_level(False, False)))
    yield "llama3-icu", tokenizer(model, None, pre_tokenizers(
        split(LLAMA3 + r"|\uFFFF{9}", "Isolated"), byte_level(False, False)))
    yield "words-then-bytes", tokenizer(model, None, pre_tokenizers(
        part("Digits", individual_digits=True), part("WhitespaceSplit"), byte_level(True)))
    yield "bytes-then-digits", tokenizer(model, None, pre_tokenizers(
        byte_level(False), part("Digits", individual_digits=True)))
    yield "some-bytes", tokenizer(some, None, byte_level(True))
    yield "bytes-first", tokenizer(model, part("ByteLevel"), split(r"\w+|[^\w\s]+|\s+", "Isolated"))


def all_tokenizers(text, count):
    words = re.findall(r"\S+", text)
    plain = learn_merges(words, count)
    in_byte_form = learn_merges([in_bytes(" " + word) for word in words], count)
    metaspace = learn_merges(["▁" + word for word in words], count)
    with_bytes = ["<unk>"] + BYTE_TOKENS
    common = collections.Counter(re.findall(r"\w+|[^\w\s]+", text)).most_common(10 * count)
    word_level = part("WordLevel", vocab=number(["<unk>"] + [word for word, _ in common]),
                      unk_token="<unk>")
    fused = bpe(CHARACTERS, plain, pairs_as_lists=True, unk_token="<unk>", fuse_unk=True)
    third = count // 3
    ignoring = bpe(ALPHABET, in_byte_form[:third] + in_byte_form[2 * third:], pairs_as_lists=True,
                   first=["<unk>"] + ["".join(m) for m in in_byte_form[third:2 * third]], ignore_merges=True)
    known = set(ALPHABET[:200])
    some = bpe(ALPHABET[:200], [m for m in in_byte_form if known.issuperset(m[0] + m[1])], unk_token="<unk>")
    yield "llama2", tokenizer(
        bpe(CHARACTERS, metaspace, with_bytes, unk_token="<unk>", byte_fallback=True, fuse_unk=True),
        normalizers(part("Prepend", prepend="▁"), replace(" ", "▁", "String")))
    yield "whitespace", tokenizer(bpe(CHARACTERS, plain, unk_token="<unk>"), None, part("Whitespace"))
    yield "whitespace-split", tokenizer(fused, None, part("WhitespaceSplit"))
    yield "no-unknown", tokenizer(bpe(CHARACTERS, plain), part("Lowercase"), part("BertPreTokenizer"))
    yield "prefix", tokenizer(
        bpe(CHARACTERS, learn_merges(words, count, prefix="##"), unk_token="<unk>",
            continuing_subword_prefix="##"), None, part("WhitespaceSplit"))
    yield "suffix", tokenizer(
        bpe(CHARACTERS, learn_merges(words, count, suffix="</w>"), unk_token="<unk>", fuse_unk=True,
            end_of_word_suffix="</w>"), part("Lowercase"), part("WhitespaceSplit"))
    yield "word-level", tokenizer(word_level, part("NFKC"), part("Whitespace"))
    yield "word-level-scripts", tokenizer(
        word_level, normalizers(part("StripAccents"), part("Nmt")),
        pre_tokenizers(part("UnicodeScripts"), part("Whitespace"), part("Digits", individual_digits=True)),
        bert)
    spell = bpe(CHARACTERS, [], with_bytes, unk_token="<unk>", byte_fallback=True)
    yield from normalizer_tokenizers(spell)
    yield from split_tokenizers(fused)
    yield from byte_tokenizers(bpe(ALPHABET, in_byte_form), ignoring, some)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--merges", type=int, default=300)
    arguments = parser.parse_args()
    with open(arguments.texts, encoding="utf-8") as file:
        text = file.read(60000)
    folder = pathlib.Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in all_tokenizers(text, arguments.merges):
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")


if __name__ == "__main__":
    main()
