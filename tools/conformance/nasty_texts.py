# SPDX-License-Identifier: Apache-2.0
"""Texts that tokenizers find hard, one a line: python3 nasty_texts.py [--lines 20000] [--step 24].

Random mixes of scripts, marks, white space, control characters, emoji and names of added tokens; then
every code point of Unicode, `step` a line, in several contexts; then very long words. The same arguments
give the same file. Line feeds and carriage returns, which end lines, are left out.
"""
import argparse
import random
import sys

MARKS = [chr(c) for c in list(range(0x300, 0x370)) + [
    0x5B0, 0x5B4, 0x5BC, 0x64B, 0x651, 0x93C, 0x94D, 0xE31, 0xE38, 0x1DC0, 0x20D0, 0x302A, 0x302E, 0x3099,
    0x309A, 0xFE20, 0x1D165, 0x1D16D, 0x16FF0]]
SPACES = [chr(c) for c in (
    0x9, 0xB, 0xC, 0x1C, 0x1F, 0x20, 0x20, 0x20, 0x85, 0xA0, 0x1680, 0x180E, 0x2000, 0x2003, 0x2009, 0x200A,
    0x200B, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF)]
CONTROLS = [chr(c) for c in list(range(0, 9)) + list(range(14, 32)) + [
    0x7F, 0x80, 0x8F, 0x9F, 0xAD, 0x600, 0x200C, 0x200D, 0x200E, 0x202A, 0x2060, 0xFFF9, 0xFFFD, 0xFFFE,
    0xE000, 0xE0001, 0xF0000]]
EMOJI = ["👨‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪🇫🇷", "1️⃣", "❤️", "😀", "🧑🏿‍🚀"]
TOKENS = ["[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "<mask>", "<s>", "</s>", "<pad>", "<unk>",
          "<|endoftext|>", "[mask]", "<MASK>", "[NEW]", "<tok>", "xyzzy", " <lead>", "ab"]
WORDS = ["hello", "World", "café", "naïve", "Straße", "İstanbul", "ΣΊΣΥΦΟΣ", "don't", "I'LL", "we've", "'s", "'S",
         "'ſ", "'t're", "x1y22", "3.14", "2015", "e\u0301", "가나다", "각", "한국어", "日本語テスト", "ひらがなー",
         "漢字", "ไทย", "हिन्दी", "עִבְרִית", "العربية", "ﬁne", "Ⅷ", "½", "１２３", "²³", "_under_", "C++", "--", "...",
         "!?", "``", "''", "▁", "Ġ", "Ċ", "##ing", "a\u0316\u0301", "\u0301lead", "\u1100\u1161\u11a8", "𝒳", "ǅ",
         "ŉ", "ß", "ẞ", "﷽", "㌀", "\u212b", "Å", "\u0958", "\u0dda", "\u0344", "\u1e9b\u0323"]
LONG = ["a" * 3000, "ab" * 20000, "é" * 500, "😀" * 300, " " * 1000, "\t " * 100, "x" + " " * 500 + "y",
        "a\u0301" * 200, "\u0301" * 100, "e" + "\u0316\u0301" * 40, "1" * 200, "[MASK]" * 50,
        "a[MASK]b [MASK] c", "." * 300, "", ""]


def usable(code):
    return not 0xD800 <= code < 0xE000 and code not in (10, 13)


def random_character():
    low, high = random.choices(
        [(0x20, 0x7F), (0x80, 0x600), (0x600, 0x3000), (0x3000, 0x10000), (0x10000, 0x20000),
         (0x10000, 0x110000)], weights=[25, 20, 15, 20, 14, 6])[0]
    code = random.randrange(low, high)
    return chr(code) if usable(code) else random_character()


def random_piece():
    kind = random.choices(
        ["word", "character", "spaces", "space", "marks", "control", "emoji", "token", "upper", "run"],
        weights=[25, 15, 8, 18, 6, 5, 5, 10, 3, 5])[0]
    if kind == "word":
        return random.choice(WORDS)
    if kind == "character":
        return random_character()
    if kind == "spaces":
        return random.choice(SPACES) * random.choice([1, 1, 2, 5])
    if kind == "space":
        return " "
    if kind == "marks":
        return random.choice(MARKS) * random.choice([1, 1, 2])
    if kind == "control":
        return random.choice(CONTROLS) * random.choice([1, 1, 2])
    if kind == "emoji":
        return random.choice(EMOJI)
    if kind == "token":
        return random.choice(TOKENS)
    if kind == "upper":
        return random.choice(WORDS).upper()
    return "".join(random_character() for _ in range(random.randrange(1, 8)))


def every_code_point(step):
    characters = [chr(code) for code in range(0x110000) if usable(code)]
    for number, begin in enumerate(range(0, len(characters), step)):
        some = characters[begin:begin + step]
        yield ["a".join(some), "a" + " ".join(some), "1.".join(some),
               "".join(random.sample(some, len(some)))][number % 4]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=20000)
    parser.add_argument("--step", type=int, default=24)
    arguments = parser.parse_args()
    random.seed(7)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    print()
    for _ in range(arguments.lines):
        pieces = [random_piece() for _ in range(random.choice([1, 2, 3, 5, 8, 15, 30]))]
        print("".join(pieces).replace("\r", ""))
    for line in every_code_point(arguments.step):
        print(line)
    for line in LONG:
        print(line)


if __name__ == "__main__":
    main()
