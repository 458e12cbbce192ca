# SPDX-License-Identifier: Apache-2.0
"""Writes tiny sentencepiece models: seeds of the fuzz target and inputs of the unit tests; and their
character table in base64, tests/golden/tokenizers/character_table.txt.

    /usr/bin/python3 tools/golden/sentencepiece_models.py

The wire format and the trie of the character table are written here from their descriptions
(protobuf.dev, and the unit layout that simile/text/normalizer.h names), not by a library.
"""
import base64
import os
import struct

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOLDER = os.path.join(ROOT, "fuzz", "corpus", "sentencepiece")

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE, WORD = 1, 2, 3


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def integer(field, value):
    return varint(field << 3) + varint(value)


def bytes_field(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def piece(text, score, kind=NORMAL):
    body = bytes_field(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score)
    if kind != NORMAL:
        body += integer(3, kind)
    return bytes_field(1, body)


def character_table(entries):
    """A trie in which the child of place p by byte b is at p ^ offset ^ b, and a text for each entry."""
    texts, values = b"", {}
    for source, target in entries.items():
        values[source.encode()] = len(texts)
        texts += target.encode() + b"\0"
    units, used, bases = {0: 0}, {0}, set()

    def build(keys, depth, place):
        labels = sorted({key[depth] if len(key) > depth else 0 for key in keys})
        base = next(b for b in range(1, 1 << 16)
                    if b not in bases and all(b ^ label not in used for label in labels))
        bases.add(base)
        used.update(base ^ label for label in labels)
        offset = base ^ place
        assert offset < 1 << 21
        units[place] = units.get(place, 0) | offset << 10 | (1 << 8 if labels[0] == 0 else 0)
        for label in labels:
            inside = [key for key in keys if (key[depth] if len(key) > depth else 0) == label]
            if label == 0:
                units[base] = values[inside[0]] | 1 << 31
            else:
                units[base ^ label] = label
                build(inside, depth + 1, base ^ label)

    build(sorted(values), 0, 0)
    size = (max(units) | 255) + 1
    trie = b"".join(struct.pack("<I", units.get(i, 0)) for i in range(size))
    return struct.pack("<I", len(trie)) + trie + texts


TABLE = {"\t": " ", "\u3000": " ", "\uff21": "A", "\uff41": "a", "\ufb01": "fi", "\u200b": "",
         "e\u0301": "\u00e9", "\u2126": "\u03a9"}


def trainer(model_type, unk_id=0, byte_fallback=False, suffix=False):
    body = integer(3, model_type)
    if suffix:
        body += integer(24, 1)
    if byte_fallback:
        body += integer(35, 1)
    return bytes_field(2, body + integer(40, unk_id))


def normalizer(table=b"", prefix=True, trim=True, escape=True):
    body = bytes_field(1, b"tiny") + (bytes_field(2, table) if table else b"")
    for field, flag in ((3, prefix), (4, trim), (5, escape)):
        if not flag:
            body += integer(field, 0)
    return bytes_field(3, body)


HEAD = [("<unk>", 0, UNKNOWN), ("<s>", 0, CONTROL), ("</s>", 0, CONTROL)]
WORDS = [("\u2581", -2.0), ("a", -3.0), ("b", -3.5), ("ab", -4.0), ("\u2581a", -3.25),
         ("\u2581ab", -5.0), ("fi", -4.5), ("\u00e9", -4.75), ("9", -5.0), (",", -5.0), ("9,", -5.5),
         ("\u03a9", -6.0), ("A", -6.25)]


def pieces(rows):
    return b"".join(piece(*row) for row in rows)


def models():
    unigram = pieces(HEAD + WORDS)
    table = normalizer(character_table(TABLE))
    yield "unigram", unigram + trainer(UNIGRAM) + table
    all_bytes = [("<0x%02X>" % i, 0, BYTE) for i in range(256)]
    yield "unigram_bytes", pieces(HEAD + all_bytes + WORDS) + trainer(UNIGRAM, 0, True) + normalizer()
    yield "unigram_bare", unigram + trainer(UNIGRAM) + normalizer(b"", False, False, True)
    merges = ["\u2581a", "ab", "\u2581ab", "bab"]
    rows = [(text, -i) for i, text in enumerate(merges + ["\u2581", "a", "b"])]
    yield "bpe", pieces(HEAD + rows) + trainer(BPE) + normalizer()
    xlnet = HEAD + [(t, 0, CONTROL) for t in ("<cls>", "<sep>", "<pad>", "<mask>", "<eod>")]
    xlnet += [("<eop>", 0, USER), (".", 0, USER), ("(", 0, USER)]
    yield "xlnet", pieces(xlnet + WORDS) + trainer(UNIGRAM) + table
    albert = [("<pad>", 0, CONTROL), ("<unk>", 0, UNKNOWN)]
    albert += [(t, 0, CONTROL) for t in ("[CLS]", "[SEP]", "[MASK]")]
    yield "albert", pieces(albert + WORDS) + trainer(UNIGRAM, 1) + table
    yield "word", unigram + trainer(WORD)
    yield "suffix", unigram + trainer(UNIGRAM, 0, False, True)
    yield "no_such_unknown", unigram + trainer(UNIGRAM, 99)
    yield "cut", (unigram + trainer(UNIGRAM) + table)[:-7]


def main():
    os.makedirs(FOLDER, exist_ok=True)
    for name, content in models():
        with open(os.path.join(FOLDER, name + ".model"), "wb") as out:
            out.write(content)
    with open(os.path.join(ROOT, "tests", "golden", "tokenizers", "character_table.txt"), "w") as out:
        out.write(base64.b64encode(character_table(TABLE)).decode() + "\n")


if __name__ == "__main__":
    main()
