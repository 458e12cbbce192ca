#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns XML files of SemEval-2016 and 2017 Task 3, community question answering (Nakov et al., 2016, 2017), into
a ranking set: queries.tsv, corpus.tsv and qrels.tsv.

    python3 tools/data/semeval.py B SemEval2016-Task3-CQA-QL-dev.xml --output data/cqa_b_dev
    simile evaluate --model simile-mini-3 --task ranking --queries data/cqa_b_dev/queries.tsv \\
        --corpus data/cqa_b_dev/corpus.tsv --qrels data/cqa_b_dev/qrels.tsv

    subtask A  queries are the related questions, documents their comments; relevance
               (RELC_RELEVANCE2RELQ) Good 1, PotentiallyUseful 0, Bad 0
    subtask B  queries are the original questions, documents the related ones; relevance
               (RELQ_RELEVANCE2ORGQ) PerfectMatch 2, Relevant 1, Irrelevant 0

The task's scorer counts a relevance of at least 1 as right. Ids are those of the file. The text of a question is
its subject, a space and its body; a run of white space is one space. In subtask A, threads marked
SubtaskA_Skip_Because_Same_As_RelQuestion_ID are skipped, as the task's README asks. Candidates without a label,
as in a test's input, are in the corpus without a judgement. Several files become one set; .xml or .xml.gz.
"""
from __future__ import annotations

import argparse
import os
import re
import sys
import xml.parsers.expat
from dataclasses import dataclass

from tables import InputError, open_bytes, run, write_table

LABELS = {
    "A": {"Good": 1, "PotentiallyUseful": 0, "Bad": 0},
    "B": {"PerfectMatch": 2, "Relevant": 1, "Irrelevant": 0},
}
SKIPPED = "SubtaskA_Skip_Because_Same_As_RelQuestion_ID"


@dataclass
class Item:
    """A question or a comment."""
    id: str = ""
    label: str = ""
    where: str = ""
    subject: str = ""
    body: str = ""

    def text(self) -> str:
        return " ".join(part for part in (self.subject, self.body) if part)


class RankingSet:
    """What the files hold, one after the other."""

    def __init__(self, subtask: str) -> None:
        self.subtask = subtask
        self.queries: dict[str, str] = {}
        self.documents: dict[str, str] = {}
        self.judged: dict[tuple[str, str], int] = {}  # of query and document
        self.unlabelled = self.skipped_threads = 0
        self.original = self.related = self.comment = Item()
        self.is_skipped = False

    def read(self, path: str) -> None:
        parser = xml.parsers.expat.ParserCreate()
        texts: list[list[str]] = []  # of the elements that are open

        def where() -> str:
            return f"{path}:{parser.CurrentLineNumber}"

        def begin(name: str, attributes: dict[str, str]) -> None:
            texts.append([])
            self.begin(name, attributes, where())

        def add_text(text: str) -> None:
            if texts:
                texts[-1].append(text)

        def end(name: str) -> None:
            self.end(name, re.sub("[ \t\n\r]+", " ", "".join(texts.pop())).strip(" "))

        def refuse_entity(name: str, *_: object) -> None:
            raise InputError(f"{where()}: the document defines the entity '{name}', which could grow without bound")

        parser.StartElementHandler = begin
        parser.CharacterDataHandler = add_text
        parser.EndElementHandler = end
        parser.EntityDeclHandler = refuse_entity
        try:
            with open_bytes(path) as file:
                parser.ParseFile(file)
        except xml.parsers.expat.ExpatError as error:
            raise InputError(f"{path}:{error.lineno}: this is not well-formed XML: "
                             f"{xml.parsers.expat.ErrorString(error.code)}") from None

    def begin(self, name: str, attributes: dict[str, str], where: str) -> None:
        def item(id_name: str, label_name: str = "") -> Item:
            if not attributes.get(id_name):
                raise InputError(f"{where}: expected an element with {id_name}")
            return Item(attributes[id_name], attributes.get(label_name, ""), where)

        if name == "OrgQuestion":
            self.original = item("ORGQ_ID")
        elif name == "Thread":
            self.is_skipped = self.subtask == "A" and SKIPPED in attributes
            self.skipped_threads += self.is_skipped
        elif name == "RelQuestion":
            self.related = item("RELQ_ID", "RELQ_RELEVANCE2ORGQ")
        elif name == "RelComment":
            self.comment = item("RELC_ID", "RELC_RELEVANCE2RELQ")

    def end(self, name: str, text: str) -> None:
        if name == "OrgQSubject":
            self.original.subject = text
        elif name == "OrgQBody":
            self.original.body = text
        elif name == "RelQSubject":
            self.related.subject = text
        elif name == "RelQBody":
            self.related.body = text
        elif name == "RelCText":
            self.comment.body = text
        elif name == "RelQuestion" and self.subtask == "B":
            self.judge(self.original, "an OrgQuestion", self.related)
        elif name == "RelComment" and self.subtask == "A" and not self.is_skipped:
            self.judge(self.related, "a RelQuestion", self.comment)
        elif name == "OrgQuestion":
            self.original = self.related = Item()
        elif name == "Thread":
            self.related = Item()

    def judge(self, query: Item, what: str, document: Item) -> None:
        if not query.id:
            raise InputError(f"{document.where}: '{document.id}' does not stand in {what}")
        for texts, item in ((self.queries, query), (self.documents, document)):
            if texts.setdefault(item.id, item.text()) != item.text():
                raise InputError(f"{item.where}: '{item.id}' stands there a second time with another text")
        if document.label in ("", "?"):
            self.unlabelled += 1
            return
        labels = LABELS[self.subtask]
        if document.label not in labels:
            raise InputError(f"{document.where}: expected one of the labels {', '.join(labels)}, "
                             f"found '{document.label}'")
        relevance = labels[document.label]
        if self.judged.setdefault((query.id, document.id), relevance) != relevance:
            raise InputError(f"{document.where}: '{document.id}' is judged a second time for '{query.id}' "
                             "with another label")


def convert(subtask: str, paths: list[str], folder: str) -> None:
    data = RankingSet(subtask)
    for path in paths:
        data.read(path)
    if not data.judged:
        raise InputError(f"{', '.join(paths)}: no {'RelComment' if subtask == 'A' else 'RelQuestion'} with a label "
                         f"was found ({data.unlabelled} without); expected the labels of subtask {subtask}")
    write_table(os.path.join(folder, "queries.tsv"), ("id", "text"), data.queries.items())
    write_table(os.path.join(folder, "corpus.tsv"), ("id", "text"), data.documents.items())
    write_table(os.path.join(folder, "qrels.tsv"), ("query_id", "doc_id", "relevance"),
                [(*ids, relevance) for ids, relevance in data.judged.items()])
    if data.unlabelled:
        print(f"{data.unlabelled} candidates have no label and no judgement", file=sys.stderr)
    if data.skipped_threads:
        print(f"{data.skipped_threads} threads repeat a related question and were skipped", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subtask", choices=LABELS)
    parser.add_argument("files", nargs="+", help="XML files of the task")
    parser.add_argument("--output", required=True, help="folder for the three tables")
    arguments = parser.parse_args()
    convert(arguments.subtask, arguments.files, arguments.output)


if __name__ == "__main__":
    run(main)
