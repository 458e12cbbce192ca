#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns TREC topics or documents in SGML into a table of queries or documents (id, text).

    python3 tools/data/trec_texts.py topics topics.301-450 --output queries.tsv
    python3 tools/data/trec_texts.py documents ft/ft* --output corpus.tsv
    simile evaluate --model bm25 --task ranking --queries queries.tsv --corpus corpus.tsv --qrels qrels.trec

    topics     <top> <num> Number: 301 <title> International Organized Crime <desc> ... </top>
               the text is the title; "Number:" and "Topic:" are taken off
    documents  <DOC> <DOCNO> FT911-3 </DOCNO> <HEADLINE> ... </HEADLINE> <TEXT> ... </TEXT> </DOC>
               the text is the first TITLE, HEADLINE or HEAD, and what TEXT elements hold

Tags may be in any case. A tag within a text counts as a space and a run of white space is one space; &amp; &lt;
&gt; &quot; and &apos; are decoded. Files are plain or .gz. simile reads TREC qrels and runs as they are.
"""
from __future__ import annotations

import argparse
import re
import string
import sys
from typing import Iterator

from tables import InputError, open_text, run, write_table

SPACE = " \t\r\n\v\f"
TO_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)  # keeps every position
TAG = re.compile("<[/A-Za-z]")
MARKUP = re.compile("<[/A-Za-z][^>]*(?:>|$)|&(?:amp|lt|gt|quot|apos);")
ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}


def plain(text: str) -> str:
    """The text without tags, entities and runs of white space."""
    text = MARKUP.sub(lambda found: ENTITIES.get(found[0], " "), text)
    return re.sub(f"[{SPACE}]+", " ", text).strip(" ")


class Block:
    """One topic or document."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lower = text.translate(TO_LOWER)
        self.may_be_closed = True  # false once no </name> follows an element that may hold tags

    def elements(self, name: str, may_hold_tags: bool = False) -> Iterator[str]:
        """What follows each <name>: up to </name> where it may hold tags and is closed, or to the next tag."""
        at = 0
        while (at := self.lower.find(f"<{name}>", at)) >= 0:
            begin = at + len(name) + 2
            end = -1
            if may_hold_tags and self.may_be_closed:
                end = self.lower.find(f"</{name}>", begin)
                self.may_be_closed = end >= 0
            if end < 0:
                tag = TAG.search(self.text, begin)
                end = tag.start() if tag else len(self.text)
            yield plain(self.text[begin:end])
            at = end

    def first(self, name: str) -> str:
        return next(self.elements(name), "")


def take_off(text: str, prefix: str) -> str:
    return plain(text[len(prefix):]) if text[:len(prefix)].translate(TO_LOWER) == prefix else text


def read_topic(block: Block) -> tuple[str, str]:
    return take_off(block.first("num"), "number:"), take_off(block.first("title"), "topic:")


def read_document(block: Block) -> tuple[str, str]:
    title = next(filter(None, map(block.first, ("title", "headline", "head"))), "")
    return block.first("docno"), " ".join(filter(None, (title, *block.elements("text", may_hold_tags=True))))


def read_blocks(path: str, name: str) -> Iterator[tuple[str, int]]:
    """The text of each <name> ... </name>, and the line where it begins."""
    with open_text(path) as file:
        lines: list[str] = []
        begin = 0
        for number, line in enumerate(file, 1):
            lower = line.translate(TO_LOWER)
            if not lines:
                if not line.strip(SPACE):
                    continue
                begin = number
                if not lower.lstrip(SPACE).startswith(f"<{name}>"):
                    raise InputError(f"{path}:{number}: expected <{name}>, found '{line.strip(SPACE)[:40]}'")
            lines.append(line)
            end = lower.find(f"</{name}>")
            if end < 0:
                continue
            if line[end + len(name) + 3:].strip(SPACE):
                raise InputError(f"{path}:{number}: expected nothing more in the line of </{name}>")
            yield "".join(lines), begin
            lines = []
        if lines:
            raise InputError(f"{path}:{begin}: this <{name}> is never closed; the file is cut")


def read_texts(kind: str, paths: list[str]) -> dict[str, str]:
    are_topics = kind == "topics"
    texts: dict[str, str] = {}
    for path in paths:
        for text, line in read_blocks(path, "top" if are_topics else "doc"):
            id, text = (read_topic if are_topics else read_document)(Block(text))
            where = f"{path}:{line}"
            if not id or " " in id:
                raise InputError(f"{where}: expected an id in <{'num' if are_topics else 'DOCNO'}>, found '{id[:40]}'")
            if are_topics and not text:
                raise InputError(f"{where}: the topic has no <title>")
            if id in texts:
                raise InputError(f"{where}: the id '{id}' already stands before")
            texts[id] = text
    if not any(texts.values()):
        raise InputError(f"{', '.join(paths)}: none of the {len(texts)} {kind} has a text")
    return texts


def convert(kind: str, paths: list[str], output: str) -> None:
    texts = read_texts(kind, paths)
    write_table(output, ("id", "text"), texts.items())
    empty = sum(not text for text in texts.values())
    if empty:
        print(f"{empty} of {len(texts)} {kind} have no text", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("topics", "documents"))
    parser.add_argument("files", nargs="+", help="files of the collection")
    parser.add_argument("--output", required=True, help="the table, a name that ends in .tsv")
    arguments = parser.parse_args()
    convert(arguments.kind, arguments.files, arguments.output)


if __name__ == "__main__":
    run(main)
