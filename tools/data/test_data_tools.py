#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the scripts in this folder: python3 tools/data/test_data_tools.py"""
from __future__ import annotations

import contextlib
import gzip
import io
import os
import shutil
import subprocess
import tempfile
import unittest

import distillation_texts
import select_vocabulary
import fact_checks
import semeval
import trec_texts
from tables import InputError

TOPICS = ("<top>\n\n<num> Number: 301\n<title> International Organized\nCrime\n\n"
          "<desc> Description:\nIdentify <b>groups</b>.\n</top>\n\n"
          "<top>\n<num>302</num>\n<title>Topic: R&amp;D in \"Europe\"</title>\n</top>\n")
DOCUMENTS = ("<DOC>\n<DOCNO> FT911-3 </DOCNO>\n<HEADLINE>\nA head\n</HEADLINE>\n"
             "<TEXT>\n<P>One a &lt; b</P>\ntwo.\n</TEXT>\n<TEXT>three</TEXT>\n</DOC>\n"
             "<doc><docno>B-2</docno><text>bare</text></doc>\n")
QUESTIONS = """<?xml version="1.0" encoding="UTF-8"?>
<xml>
<OrgQuestion ORGQ_ID="Q1">
  <OrgQSubject>Massage oil</OrgQSubject>
  <OrgQBody>Where can I buy
    good   oil &amp; more?</OrgQBody>
  <Thread THREAD_SEQUENCE="Q1_R1">
    <RelQuestion RELQ_ID="Q1_R1" RELQ_RANKING_ORDER="1" RELQ_RELEVANCE2ORGQ="PerfectMatch">
      <RelQSubject>Best oil</RelQSubject>
      <RelQBody><![CDATA[Tell <me>.]]></RelQBody>
    </RelQuestion>
    <RelComment RELC_ID="Q1_R1_C1" RELC_RELEVANCE2ORGQ="Good" RELC_RELEVANCE2RELQ="Good">
      <RelCText>Try the souk.</RelCText>
    </RelComment>
    <RelComment RELC_ID="Q1_R1_C2" RELC_RELEVANCE2ORGQ="Bad" RELC_RELEVANCE2RELQ="PotentiallyUseful">
      <RelCText>Hm.\u00a0</RelCText>
    </RelComment>
  </Thread>
</OrgQuestion>
<!-- the original question stands once for each thread -->
<OrgQuestion ORGQ_ID="Q1">
  <OrgQSubject>Massage oil</OrgQSubject>
  <OrgQBody>Where can I buy good oil &amp; more?</OrgQBody>
  <Thread THREAD_SEQUENCE="Q1_R2" SubtaskA_Skip_Because_Same_As_RelQuestion_ID="Q9_R1">
    <RelQuestion RELQ_ID="Q1_R2" RELQ_RELEVANCE2ORGQ="Irrelevant">
      <RelQSubject>Cars</RelQSubject>
      <RelQBody/>
    </RelQuestion>
    <RelComment RELC_ID="Q1_R2_C1" RELC_RELEVANCE2RELQ="Bad"><RelCText>No.</RelCText></RelComment>
  </Thread>
</OrgQuestion>
<OrgQuestion ORGQ_ID="Q2">
  <OrgQSubject>Visa</OrgQSubject>
  <OrgQBody></OrgQBody>
  <Thread THREAD_SEQUENCE="Q2_R1">
    <RelQuestion RELQ_ID="Q2_R1" RELQ_RELEVANCE2ORGQ="?">
      <RelQSubject>Family visa</RelQSubject>
      <RelQBody>How?</RelQBody>
    </RelQuestion>
    <RelComment RELC_ID="Q2_R1_C1" RELC_RELEVANCE2RELQ="Bad"><RelCText>Ask.</RelCText></RelComment>
  </Thread>
</OrgQuestion>
</xml>
"""


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, text: str) -> str:
        with (gzip.open if name.endswith(".gz") else open)(self.path(name), "wb") as file:
            file.write(text.encode())
        return self.path(name)

    def read(self, name: str) -> str:
        with open(self.path(name), encoding="utf-8", newline="") as file:
            return file.read()

    def quietly(self, function, *arguments) -> str:
        """Its messages on stderr."""
        told = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told):
            function(*arguments)
        return told.getvalue()

    def assert_error(self, message: str, function, *arguments) -> None:
        with self.assertRaises(InputError) as caught:
            self.quietly(function, *arguments)
        self.assertIn(message, str(caught.exception))


class FactChecks(Folder):
    def write_published(self, pairs: str, claims: str) -> None:
        self.write(fact_checks.PAIRS, "claim\tfact\n" + pairs)
        self.write(fact_checks.CLAIMS, "title\tfact\n" + claims)

    def test_published_tables_become_a_ranking_and_pairs(self) -> None:
        self.write_published(
            "\"One  post,\nof two lines\"\tThe moon is cheese.\n"
            "Say \"so\"\tIt\u00a0rains. \n"
            "One post, of two lines\tIt rains.\n",
            "Moon\tThe moon is cheese.\nA\t\"It\trains.\"\nB\tIt rains.\n")
        self.quietly(fact_checks.convert, self.folder, 2)
        self.assertEqual(self.read("corpus.tsv"),
                         "id\ttext\n0\tThe moon is cheese.\n1\tIt rains.\n2\tIt rains.\n")
        self.assertEqual(self.read("queries.tsv"),
                         "id\ttext\nt0\tOne post, of two lines\nt1\tSay \"so\"\nt2\tOne post, of two lines\n")
        self.assertEqual(self.read("qrels.train.tsv"),
                         "query_id\tdoc_id\trelevance\nt0\t0\t1\nt1\t1\t1\nt1\t2\t1\n")
        self.assertEqual(self.read("qrels.test.tsv"), "query_id\tdoc_id\trelevance\nt2\t1\t1\nt2\t2\t1\n")
        self.assertEqual(self.read("train.pairs.tsv"),
                         "sentence1\tsentence2\tscore\nOne post, of two lines\tThe moon is cheese.\t1\n"
                         "Say \"so\"\tIt rains.\t1\n")
        self.assertEqual(self.read("test.pairs.tsv"),
                         "sentence1\tsentence2\tscore\nOne post, of two lines\tIt rains.\t1\n")

    def test_errors_name_file_and_line(self) -> None:
        cases = {
            "A post\tNobody said so.\n": "tweet-veclaim-pairs.tsv:2: its claim is not in verified-claims.tsv: 'Nobody",
            "A post\n": "tweet-veclaim-pairs.tsv:2: expected 2 fields, found 1",
            "a\tThe moon is cheese.\n\"b\n": "tweet-veclaim-pairs.tsv:3: ",
        }
        for pairs, message in cases.items():
            self.write_published(pairs, "Moon\tThe moon is cheese.\n")
            self.assert_error(message, fact_checks.convert, self.folder, 800)
        self.assertFalse(os.path.exists(self.path("corpus.tsv")))


class Semeval(Folder):
    def test_subtask_b_ranks_related_questions(self) -> None:
        path = self.write("dev.xml.gz", QUESTIONS)
        told = self.quietly(semeval.convert, "B", [path], self.path("b"))
        self.assertEqual(told, "1 candidates have no label and no judgement\n")
        self.assertEqual(self.read("b/queries.tsv"),
                         "id\ttext\nQ1\tMassage oil Where can I buy good oil & more?\nQ2\tVisa\n")
        self.assertEqual(self.read("b/corpus.tsv"),
                         "id\ttext\nQ1_R1\tBest oil Tell <me>.\nQ1_R2\tCars\nQ2_R1\tFamily visa How?\n")
        self.assertEqual(self.read("b/qrels.tsv"), "query_id\tdoc_id\trelevance\nQ1\tQ1_R1\t2\nQ1\tQ1_R2\t0\n")

    def test_subtask_a_ranks_comments(self) -> None:
        path = self.write("dev.xml", QUESTIONS)
        told = self.quietly(semeval.convert, "A", [path], self.path("a"))
        self.assertEqual(told, "1 threads repeat a related question and were skipped\n")
        self.assertEqual(self.read("a/queries.tsv"), "id\ttext\nQ1_R1\tBest oil Tell <me>.\nQ2_R1\tFamily visa How?\n")
        self.assertEqual(self.read("a/corpus.tsv"),
                         "id\ttext\nQ1_R1_C1\tTry the souk.\nQ1_R1_C2\tHm.\u00a0\nQ2_R1_C1\tAsk.\n")
        self.assertEqual(self.read("a/qrels.tsv"),
                         "query_id\tdoc_id\trelevance\nQ1_R1\tQ1_R1_C1\t1\nQ1_R1\tQ1_R1_C2\t0\nQ2_R1\tQ2_R1_C1\t0\n")

    def test_threads_without_an_original_question_serve_subtask_a(self) -> None:
        path = self.write("a.xml", "<xml><Thread><RelQuestion RELQ_ID='Q1_R1'><RelQSubject>s</RelQSubject>"
                          "</RelQuestion><RelComment RELC_ID='c' RELC_RELEVANCE2RELQ='Good'><RelCText>t</RelCText>"
                          "</RelComment></Thread></xml>")
        self.quietly(semeval.convert, "A", [path], self.path("a"))
        self.assertEqual(self.read("a/queries.tsv"), "id\ttext\nQ1_R1\ts\n")
        self.assert_error("a.xml:1: 'Q1_R1' does not stand in an OrgQuestion", semeval.convert, "B", [path],
                          self.path("b"))

    def test_errors_name_file_and_line(self) -> None:
        question = "<xml>\n<OrgQuestion ORGQ_ID='Q'>\n"
        related = "<RelQuestion RELQ_ID='R' RELQ_RELEVANCE2ORGQ='{}'>{}</RelQuestion>"
        end = "</OrgQuestion></xml>"
        cases = {
            "": "b.xml:1: this is not well-formed XML: no element found",
            "text": "b.xml:1: this is not well-formed XML: syntax error",
            question + "</xml>": "b.xml:3: this is not well-formed XML: mismatched tag",
            "<xml>\n<OrgQuestion/></xml>": "b.xml:2: expected an element with ORGQ_ID",
            question + related.format("Good", "") + end:
                "b.xml:3: expected one of the labels PerfectMatch, Relevant, Irrelevant, found 'Good'",
            question + related.format("?", "") + end: "no RelQuestion with a label was found (1 without)",
            question + related.format("Relevant", "") + "\n" + related.format("Irrelevant", "") + end:
                "b.xml:4: 'R' is judged a second time for 'Q' with another label",
            question + related.format("Relevant", "") + "\n"
            + related.format("Relevant", "<RelQBody>x</RelQBody>") + end:
                "b.xml:4: 'R' stands there a second time with another text",
            "<!DOCTYPE x [<!ENTITY a 'b'>]>\n<xml>&a;</xml>": "b.xml:1: the document defines the entity 'a'",
        }
        for text, message in cases.items():
            self.assert_error(message, semeval.convert, "B", [self.write("b.xml", text)], self.path("b"))

    def test_a_file_cut_at_any_byte_is_an_error(self) -> None:
        for size in range(0, len(QUESTIONS) - 1, 7):
            path = self.write("cut.xml", QUESTIONS[:size])
            for subtask in "AB":
                self.assert_error("cut.xml", semeval.convert, subtask, [path], self.path("c"))


class TrecTexts(Folder):
    def test_topics_and_documents_become_tables(self) -> None:
        self.quietly(trec_texts.convert, "topics", [self.write("topics.gz", TOPICS)], self.path("queries.tsv"))
        self.assertEqual(self.read("queries.tsv"),
                         "id\ttext\n301\tInternational Organized Crime\n302\tR&D in \"Europe\"\n")
        paths = [self.write("ft-1", DOCUMENTS), self.write("ft-2", "<DOC>\r\n<DOCNO>C</DOCNO>\r\n</DOC>\r\n")]
        told = self.quietly(trec_texts.convert, "documents", paths, self.path("corpus.tsv"))
        self.assertEqual(told, "1 of 3 documents have no text\n")
        self.assertEqual(self.read("corpus.tsv"),
                         "id\ttext\nFT911-3\tA head One a < b two. three\nB-2\tbare\nC\t\n")
        self.assert_error("none of the 1 documents has a text", trec_texts.convert, "documents", paths[1:],
                          self.path("empty.tsv"))

    def test_many_unclosed_texts_are_read_in_one_pass(self) -> None:
        path = self.write("docs", "<DOC><DOCNO>A</DOCNO>\n" + "<TEXT>a\n" * 50000 + "</DOC>\n")
        self.assertEqual(trec_texts.read_texts("documents", [path]), {"A": " ".join("a" * 50000)})

    def test_errors_name_file_and_line(self) -> None:
        cases = {
            "\nid,text\n": "t:2: expected <top>, found 'id,text'",
            "<top>\n<num>1\n<title>x\n": "t:1: this <top> is never closed",
            "<top>\n<title>x\n</top>\n": "t:1: expected an id in <num>, found ''",
            "<top>\n<num>1\n</top>\n": "t:1: the topic has no <title>",
            "<top><num>1<title>x</top> y\n": "t:1: expected nothing more in the line of </top>",
            "<top><num>1<title>x</top>\n<top><num>1<title>x</top>\n": "t:2: the id '1' already stands",
            "": "t: none of the 0 topics has a text",
        }
        for text, message in cases.items():
            self.assert_error(message, trec_texts.read_texts, "topics", [self.write("t", text)])
        docs = self.write("docs", "<DOC>\n<DOCNO>a b</DOCNO>\n</DOC>\n")
        self.assert_error("docs:1: expected an id in <DOCNO>, found 'a b'", trec_texts.read_texts, "documents", [docs])


@unittest.skipUnless(shutil.which("zstd"), "zstd is not installed")
class DistillationTexts(unittest.TestCase):
    def write(self, name, text):
        path = os.path.join(self.data, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if name.endswith(".gz"):
            with gzip.open(path, "wt", encoding="utf-8") as file:
                file.write(text)
        elif name.endswith(".zst"):
            with open(path, "wb") as file:
                subprocess.run(["zstd", "-q", "-c"], input=text.encode(), stdout=file, check=True)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def rows(self, output):
        with contextlib.redirect_stdout(io.StringIO()) as told:
            distillation_texts.main(self.data, output)
        with open(output, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], "left\tright\tsource")
        self.assertIn(f"{len(lines) - 1} pairs", told.getvalue())
        return [tuple(line.split("\t")) for line in lines[1:]]

    def test_pairs_are_related_short_and_free(self):
        with tempfile.TemporaryDirectory() as self.data:
            header = "query\tdocument\tsource\n"
            for name in ("sections", "faq", "titles_bodies", "abstracts", "glossary", "squad_sentences",
                         "dialogue"):
                self.write(f"free_pairs/{name}.tsv.zst", header + f"{name} q\t{'long ' * 200}\tfree/one\n"
                           + f"hidden {name}\tunclear\tpubmedqa/pubmedqa\n")
            self.write("free_pairs/paraphrases.tsv.zst", header
                       + "A dog is on grass\tA cat is on sand\tCOCO val2017\n" * 2)
            self.write("medquad/qa_pairs.tsv", "id\tquestion\tanswer\tqtype\n1\tWhat is it?\tIt is so.\tx\n")
            for part in ("dev", "test"):
                self.write(f"snli_devtest/{part}.tsv",
                           "sentence1\tsentence2\tlabel\nA man is on sand.\tA man sits\tneutral\n")
            self.write("wiki_articles_2015/articles.txt.zst",
                       "Title\nThe lead of it. It goes on and on here. And the third sentence is this.\n\n")
            self.write("wiki_sents_2015/train.txt.gz",
                       "The first sentence has nine words, as one counts.\nThe second one is short too.\n")
            rows = self.rows(os.path.join(self.data, "one.tsv"))
            self.assertEqual(len(set(rows)), len(rows))
            self.assertIn(("What is it?", "It is so.", "medquad"), rows)
            self.assertIn(("A dog is on grass", "A cat is on sand", "paraphrases"), rows)
            texts = [text for row in rows for text in row[:2]]
            self.assertTrue(all(len(row) == 3 and all(row) and row[0] != row[1] for row in rows))
            self.assertFalse([text for text in texts if "unclear" in text or "hidden" in text])
            self.assertLessEqual(max(len(text.split()) for text in texts), 130)
            lead = [right for left, right, _ in rows if left == "Title"]
            self.assertTrue(lead and lead[0].startswith("The lead of it."))
            self.assertEqual(self.rows(os.path.join(self.data, "two.tsv")), rows)

    def test_exchanged_words_stood_there_elsewhere(self):
        distillation_texts.draw.seed(1)
        exchanges = distillation_texts.Exchanges(["a dog runs home", "a cat runs home", "a cow runs away"])
        changed = {exchanges.change("a dog runs home") for _ in range(50)}
        self.assertEqual(changed - {"a dog runs home"},
                         {f"a {who} runs {where}" for who in ("dog", "cat", "cow")
                          for where in ("home", "away")} - {"a dog runs home"})

    def test_a_vocabulary_keeps_letters_and_what_the_texts_have_most(self):
        simile = os.environ.get("SIMILE", "")
        if not simile:
            self.skipTest("SIMILE does not name the program")
        with tempfile.TemporaryDirectory() as self.data:
            tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "dog", "cat", "cow", "猫"]
            self.write("from/vocab.txt", "".join(token + "\n" for token in tokens))
            self.write("pairs.tsv", "left\tright\na dog\ta cow\ncow\tdog dog\n")
            out = os.path.join(self.data, "out")
            with contextlib.redirect_stdout(io.StringIO()) as told:
                select_vocabulary.main(simile, os.path.join(self.data, "from"),
                                       os.path.join(self.data, "pairs.tsv"), "9", out)
            with open(os.path.join(out, "vocab.txt"), encoding="utf-8") as file:
                self.assertEqual(file.read().split(), tokens[:8] + ["cow"])
            self.assertIn("9 of 11 tokens; 0 of 15", told.getvalue())


if __name__ == "__main__":
    unittest.main()
