#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the texts that a small English encoder is distilled on: pairs of related texts.

    python3 tools/data/distillation_texts.py DATA OUTPUT

DATA holds free_pairs, wiki_articles_2015, wiki_sents_2015, snli_devtest and medquad. OUTPUT is a table
with the columns left, right and source, in random order, so that its first rows are a sample of all. Most
texts are cut to at most 48 words; about one pair in eight keeps up to 130. The two sides of a pair are
related: a question and its answer, neighbouring sentences, a sentence and a phrase of it, two captions of
one picture, a caption and the same with a word exchanged. A teacher says how much. The source is the name
of the file, such as faq, or changed where a word was exchanged. Equal arguments give equal files. Needs
zstdcat.
"""
import collections
import gzip
import random
import re
import subprocess
import sys

# Sources left out: repositories without a licence of their own, and texts whose licence was not seen.
UNCLEAR = set("""ArleneDcosta/StackExchangePatternandPrediction bigheiniu/machine-comprehension
GonzaloHirsch/TP-XML szyyn95/SE_duplicate_loader jrfoster/spark-intro AaronNie/QApairs-on-Stack-Overflow
Igodlab/stackexchangeparser abuchireddygari/Spark_ML mattly/ssdug-graphql Jean-Low/StackERedes
yu51a5/BigQueryApachePipeline kevswanberg/beer_tentrr Yoav-Shafir/Elasticsearch-Coffee-Search-Engine-JS
krh66/TopicModelingApplication-semanticWeb bigdata-vandy/stack-ex iraK21/mapreduce-project pan4/big-data
Calebagoha123/group4_fsstds 1123/StackExchangeImporter A-Bag/xml-to-postgres pubmedqa/pubmedqa
staeiou/arxiv_archive""".split())

draw = random.Random()


def lines_of(path):
    if path.endswith(".gz"):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            yield from (line.rstrip("\n") for line in file)
    elif path.endswith(".zst"):
        with subprocess.Popen(["zstdcat", "--long=27", path], stdout=subprocess.PIPE) as run:
            yield from (line.decode("utf-8").rstrip("\n") for line in run.stdout)
    else:
        with open(path, encoding="utf-8") as file:
            yield from (line.rstrip("\n") for line in file)


def table(path):
    rows = (line.split("\t") for line in lines_of(path))
    names = next(rows)
    for row in rows:
        yield dict(zip(names, row))


def cut(text, words):
    return " ".join(text.split()[:words])


def body_length(long_share):
    """Words that are kept of a long text."""
    return 130 if draw.random() < long_share else draw.randint(16, 48)


def sentences(paragraph):
    found = re.split(r"(?<=[.!?])\s+(?=[A-Z\"'(])", paragraph)
    return [s for s in found if 5 <= len(s.split()) <= 48]


def phrase(text):
    """Some words of a text in a row, as a short query or title would be."""
    words = text.split()
    size = min(len(words), draw.randint(2, 12))
    begin = draw.randint(0, len(words) - size)
    return " ".join(words[begin:begin + size]).strip(" ,.;:()\"'")


class Exchanges:
    """Puts another word between two words that stand around it elsewhere: texts that nearly mean the same."""

    def __init__(self, texts):
        self.between = collections.defaultdict(collections.Counter)
        for text in texts:
            words = ["<"] + text.lower().rstrip(".").split() + [">"]
            for before, word, after in zip(words, words[1:], words[2:]):
                self.between[before, after][word] += 1

    def change(self, text):
        words = text.rstrip(".").split()
        kind = draw.random()
        verbs = [i for i, word in enumerate(words) if word.lower() in ("is", "are", "was", "were")]
        if kind < 0.1 and verbs:
            words.insert(verbs[0] + 1, "not")
            return " ".join(words)
        if kind < 0.25 and len(words) > 8:
            return " ".join(words[:draw.randint(5, len(words) - 2)])
        for _ in range(draw.choice((1, 1, 2))):
            for _ in range(6):
                i = draw.randrange(len(words))
                before = words[i - 1].lower() if i else "<"
                after = words[i + 1].lower() if i + 1 < len(words) else ">"
                others = [w for w in self.between.get((before, after), ()) if w != words[i].lower()]
                if others:
                    words[i] = draw.choice(others)
                    break
        return " ".join(words)


def free_pairs(folder, name):
    for row in table(f"{folder}/{name}.tsv.zst"):
        if row["source"] not in UNCLEAR and row["query"] and row["document"]:
            yield row["query"], row["document"], row["source"]


def read_pairs(data):
    folder = f"{data}/free_pairs"
    captions = []
    for name, long_share in (("sections", 0.1), ("faq", 0.3), ("titles_bodies", 0.3), ("abstracts", 0.3),
                             ("glossary", 0), ("squad_sentences", 0), ("dialogue", 0), ("paraphrases", 0)):
        for query, document, source in free_pairs(folder, name):
            if "COCO" in source:
                captions += [query, document]
            yield cut(query, 32), cut(document, body_length(long_share)), name
    for row in table(f"{data}/medquad/qa_pairs.tsv"):
        yield cut(row["question"], 32), cut(row["answer"], body_length(0.2)), "medquad"
    for part in ("dev", "test"):
        for row in table(f"{data}/snli_devtest/{part}.tsv"):
            captions += [row["sentence1"], row["sentence2"]]
            yield row["sentence1"], row["sentence2"], "snli"
    captions = list(dict.fromkeys(captions))
    exchanges = Exchanges(captions)
    for caption in captions:
        yield caption, exchanges.change(caption), "changed"
        if draw.random() < 0.5:
            yield exchanges.change(caption), exchanges.change(caption), "changed"
    for left, right in articles(f"{data}/wiki_articles_2015/articles.txt.zst"):
        yield left, right, "articles"
    short = []
    for i, sentence in enumerate(lines_of(f"{data}/wiki_sents_2015/train.txt.gz")):
        if i % 3 == 0:
            yield cut(sentence, 40), phrase(sentence), "phrases"
        elif len(sentence.split()) <= 16:
            short.append(sentence)
    exchanges = Exchanges(short)
    for sentence in short[:60000]:
        yield sentence, exchanges.change(sentence), "changed"


def articles(path):
    title, rest = "", []
    for line in lines_of(path):
        if line:
            rest.append(line)
            continue
        if len(rest) > 1:
            yield from article_pairs(rest[0], rest[1:])
        rest = []
    if len(rest) > 1:
        yield from article_pairs(rest[0], rest[1:])


def article_pairs(title, paragraphs):
    yield title, cut(paragraphs[0], body_length(0.2))
    for paragraph in paragraphs:
        found = sentences(paragraph)
        if len(found) >= 2:
            i = draw.randrange(len(found) - 1)
            yield found[i], found[i + 1]
        if len(found) >= 3 and draw.random() < 0.12:
            yield draw.choice(found), cut(paragraph, 130)


def main(data, output):
    draw.seed(3)
    rows = []
    seen = set()
    for left, right, source in read_pairs(data):
        pair = left.strip(), right.strip()
        if not all(pair) or pair[0] == pair[1] or pair in seen:
            continue
        seen.add(pair)
        rows.append((*pair, source))
    draw.shuffle(rows)
    texts = set()
    words = 0
    with open(output, "w", encoding="utf-8") as file:
        file.write("left\tright\tsource\n")
        for row in rows:
            file.write("\t".join(text.replace("\t", " ") for text in row) + "\n")
            for text in row[:2]:
                if text not in texts:
                    texts.add(text)
                    words += len(text.split())
    print(f"{len(rows)} pairs, {len(texts)} texts, {words} words")


if __name__ == "__main__":
    main(*sys.argv[1:])
