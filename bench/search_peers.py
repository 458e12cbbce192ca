# SPDX-License-Identifier: Apache-2.0
"""What bench/search.sh compares Simile's search by words with.

    search_peers.py prepare CORPUS QUERIES ROWS WORK   texts of plain words: WORK/corpus.txt and words-{2,8,30}.txt
    search_peers.py check WORK                         Simile's answers against BM25 computed here
    search_peers.py measure WORK                       one line of JSON for each peer, list and number of hits
    search_peers.py table WORK                         WORK/*.jsonl as a table

Times are the mean of a query on one thread, in time of a processor, the best of five rounds over the list.
"""
import json
import math
import os
import re
import sqlite3
import sys
import tempfile
import time
from collections import Counter, defaultdict

LISTS = (2, 8, 30)
QUERIES = 300
# Letters and digits, without scripts whose words every program splits in its own way, and without the sharp s, which
# Simile takes for ss.
WORDS = re.compile(r"[a-z0-9\u00e0-\u00f6\u00f8-\u00ff]+")


def lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")[:-1]


def write_lines(path, texts):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(text + "\n" for text in texts)


def words_of(text):
    return WORDS.findall(text.lower())


def prepare(corpus, queries, rows, work):
    texts = [" ".join(words_of(text)) for text in lines(corpus)[: int(rows)]]
    write_lines(f"{work}/corpus.txt", texts)
    split = [words_of(text) for text in lines(queries)]
    for n in LISTS:
        chosen = [" ".join(words[:n]) for words in split if len(words) >= n]
        write_lines(f"{work}/words-{n}.txt", chosen[:QUERIES])


def check(work):
    """Exits with 1 unless each list of ten best has the scores of the formula, and the documents but for ties."""
    import numpy as np

    wanted = {word for n in LISTS for query in lines(f"{work}/words-{n}.txt") for word in query.split()}
    postings, lengths = defaultdict(lambda: ([], [])), []
    for i, text in enumerate(lines(f"{work}/corpus.txt")):
        words = text.split()
        lengths.append(len(words))
        for word, count in Counter(words).items():
            if word in wanted:
                postings[word][0].append(i)
                postings[word][1].append(count)
    lengths = np.array(lengths, dtype=np.float64)
    N, norm = len(lengths), 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    weights = {}
    for word, (rows, counts) in postings.items():
        rows, counts = np.array(rows), np.array(counts, dtype=np.float64)
        idf = math.log(1 + (N - len(rows) + 0.5) / (len(rows) + 0.5))
        weights[word] = rows, idf * counts / (counts + norm[rows])
    found = defaultdict(list)
    for line in lines(f"{work}/answers.txt"):
        name, query, _, document, score = line.split(" ")
        found[os.path.basename(name), int(query)].append((int(document), float(score)))
    wrong = compared = 0
    for n in LISTS:
        for q, query in enumerate(lines(f"{work}/words-{n}.txt")):
            scores = np.zeros(N)
            for word, count in Counter(query.split()).items():
                if word in weights:
                    scores[weights[word][0]] += count * weights[word][1]
            best = np.sort(scores)[::-1][:10]
            best = best[best > 0]
            hits = found[f"words-{n}.txt", q]
            compared += 1
            ok = len(hits) == len(best) and len({document for document, _ in hits}) == len(hits)
            for (document, score), expected in zip(hits, best):
                ok = ok and abs(score - expected) < 1e-5 and abs(scores[document] - expected) < 1e-5
            wrong += not ok
    print(json.dumps({"way": "check", "compared": compared, "wrong": wrong}), flush=True)
    return 1 if wrong else 0


def report(way, n, k, queries, search):
    best = math.inf
    for _ in range(5):
        begin = time.process_time()
        for query in queries:
            search(query)
        took = time.process_time() - begin
        best = min(best, took)
        if took > 3:
            break
    ms = round(best / len(queries) * 1e3, 4)
    print(json.dumps({"way": way, "queries": f"words-{n}.txt", "k": k, "ids": ms}), flush=True)


def report_build(way, begin, megabytes):
    seconds = round(time.process_time() - begin, 1)
    print(json.dumps({"way": way + ", build", "s": seconds, "files_mb": round(megabytes, 1)}), flush=True)


def size_of(path):
    """In MB, of a file or of all files of a folder."""
    files = [path] if os.path.isfile(path) else [os.path.join(top, name) for top, _, names in os.walk(path) for name in names]
    return sum(map(os.path.getsize, files)) / 1e6


def measure_tantivy(corpus, lists):
    import tantivy

    folder = tempfile.TemporaryDirectory()
    begin = time.process_time()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=True)
    index = tantivy.Index(builder.build(), path=folder.name)
    writer = index.writer(500_000_000, 1)
    for text in corpus:
        writer.add_document(tantivy.Document(text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    report_build("tantivy", begin, size_of(folder.name))
    searcher = index.searcher()
    for n, queries in lists.items():
        parsed = [index.parse_query(query, ["text"]) for query in queries]
        for k in (10, 100):
            report("tantivy", n, k, parsed, lambda query: searcher.search(query, k, count=False))

            def with_documents(query):
                return [searcher.doc(place) for _, place in searcher.search(query, k, count=False).hits]

            report("tantivy, documents read", n, k, parsed, with_documents)


def measure_fts5(corpus, lists):
    begin = time.process_time()
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table t using fts5(text, tokenize='unicode61 remove_diacritics 0')")
    database.executemany("insert into t(text) values (?)", ((text,) for text in corpus))
    pages, page = (database.execute(f"pragma {name}").fetchone()[0] for name in ("page_count", "page_size"))
    report_build("SQLite FTS5", begin, pages * page / 1e6)
    ask = "select rowid from t where t match ? order by rank limit ?"
    for n, queries in lists.items():
        matches = [" OR ".join(f'"{word}"' for word in query.split()) for query in queries[:20]]
        for k in (10, 100):
            report("SQLite FTS5", n, k, matches, lambda match: database.execute(ask, (match, k)).fetchall())


def measure_bm25s(corpus, lists):
    import bm25s

    begin = time.process_time()
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index([text.split() for text in corpus], show_progress=False)
    with tempfile.TemporaryDirectory() as folder:
        index.save(folder)
        report_build("bm25s", begin, size_of(folder))
    for n, queries in lists.items():
        split = [[query.split()] for query in queries]
        for k in (10, 100):
            report("bm25s", n, k, split, lambda query: index.retrieve(query, k=k, show_progress=False, n_threads=0))


def measure(work):
    corpus = lines(f"{work}/corpus.txt")
    lists = {n: lines(f"{work}/words-{n}.txt") for n in LISTS}
    for name, peer in (("tantivy", measure_tantivy), ("fts5", measure_fts5), ("bm25s", measure_bm25s)):
        try:
            peer(corpus, lists)
        except ImportError as error:
            print(f"{name}: left out ({error})", file=sys.stderr)


def table(work):
    rows = defaultdict(dict)
    for name in ("simile.jsonl", "peers.jsonl"):
        for line in lines(f"{work}/{name}"):
            entry = json.loads(line)
            if "k" not in entry:
                print(f"{entry.pop('way')}: " + ", ".join(f"{key} {value}" for key, value in entry.items()))
                continue
            column = entry["queries"].split("-")[1].split(".")[0], entry["k"]
            rows[entry["way"]][column] = entry["ids"]
            if "search" in entry:
                rows[entry["way"] + ", documents read"][column] = entry["search"]
    columns = [(str(n), k) for n in LISTS for k in (10, 100)]
    print("\n| ms a query | " + " | ".join(f"{n} words, k={k}" for n, k in columns) + " |")
    print("| --- " * (len(columns) + 1) + "|")
    for way, times in rows.items():
        print(f"| {way} | " + " | ".join(f"{times.get(column, math.nan):.3f}" for column in columns) + " |")


if __name__ == "__main__":
    sys.exit({"prepare": prepare, "check": check, "measure": measure, "table": table}[sys.argv[1]](*sys.argv[2:]))
