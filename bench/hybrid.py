# SPDX-License-Identifier: Apache-2.0
"""Searches of an index by words, vectors and both, beside hnswlib over the same vectors.

    hybrid.py BUILD VECTORS.npy TEXTS.txt QUERIES.npy QUERIES.txt --model MODEL [--queries N] [--work FOLDER]

Prints Markdown tables: what an index costs to make, extend and open, and searches. All on one thread, in processor time;
Simile encodes the documents that are added and the question that it is opened for, a query's vector is given.
"""
import argparse
import itertools
import json
import os
import resource
import subprocess
import tempfile
import time

import hnswlib
import numpy as np

from search_peers import size_of

FILTERS = {"1 %": "percent < 1", "10 %": "percent < 10", "50 %": "percent < 50"}
TOP_K = 10


def write_documents(texts, path):
    random = np.random.default_rng(5)
    with open(texts, encoding="utf-8") as lines, open(path, "w", encoding="utf-8") as out:
        for number, line in enumerate(lines):
            document = {"id": str(number), "text": line.rstrip("\n"), "metadata": {"percent": int(random.integers(100))}}
            out.write(json.dumps(document, ensure_ascii=False) + "\n")


def run(*command):
    """Seconds of the processor and the peak of memory in MB of a command."""
    process = subprocess.Popen([*command, "--quiet"], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def make_index(arguments, folder):
    """The folder of an index of the vectors; one that is there is taken, else a row of the table is printed."""
    program = os.path.join(arguments.build, "cli/simile")
    index, documents = os.path.join(folder, "index"), os.path.join(folder, "corpus.jsonl")
    if os.path.exists(index):
        return index
    vectors = os.path.join(folder, "corpus.npy")
    os.symlink(os.path.abspath(arguments.vectors), vectors)
    write_documents(arguments.texts, documents)
    seconds, memory = run(program, "index", "import", "--threads", "1", "--index", index, "--from", vectors,
                          "--model", arguments.model)
    size = size_of(index)
    more = os.path.join(folder, "more.jsonl")
    with open(documents, encoding="utf-8") as lines, open(more, "w", encoding="utf-8") as out:
        for document in map(json.loads, itertools.islice(lines, 1000)):
            row = {"id": "new " + document["id"], "text": document["text"], **document["metadata"]}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
    added, _ = run(program, "index", "add", "--threads", "1", "--index", index, "--corpus", more)
    opened, _ = run(program, "search", "--threads", "1", "--index", index, "--query", "gold mines")
    print(f"| simile, words, vectors and graph | {seconds:.0f} | {memory:.0f} | {size:.0f} | {added:.1f} | {opened:.2f} |")
    run(program, "index", "delete", "--index", index, *(f"new {i}" for i in range(1000)))
    return index


def search_index(arguments, index, queries, filter_text=""):
    command = [os.path.join(arguments.build, "bench/simile_hybrid_bench"), index, queries, arguments.query_vectors, str(TOP_K)]
    return json.loads(subprocess.run(command + ([filter_text] if filter_text else []), check=True, stdout=subprocess.PIPE).stdout)


def resident():
    """MB of this process."""
    with open("/proc/self/statm", encoding="ascii") as pages:
        return int(pages.read().split()[1]) * resource.getpagesize() / 1e6


def build_peer(vectors, folder):
    before = resident()
    graph = hnswlib.Index(space="ip", dim=vectors.shape[1])
    graph.init_index(max_elements=len(vectors) + 1000, M=16, ef_construction=200)
    graph.set_num_threads(1)
    begin = time.process_time()
    graph.add_items(vectors)
    seconds, memory = time.process_time() - begin, resident() - before
    path = os.path.join(folder, "graph.hnswlib")
    graph.save_index(path)
    begin = time.process_time()
    loaded = hnswlib.Index(space="ip", dim=vectors.shape[1])
    loaded.load_index(path, max_elements=len(vectors) + 1000)
    loaded.knn_query(vectors[:1], k=TOP_K, num_threads=1)
    opened = time.process_time() - begin
    begin = time.process_time()
    loaded.add_items(vectors[:1000], np.arange(len(vectors), len(vectors) + 1000), num_threads=1)
    added = time.process_time() - begin
    print(f"| hnswlib, vectors and graph | {seconds:.0f} | {memory:.0f} | {size_of(path):.0f} | {added:.1f} | {opened:.2f} |")
    return graph


def search_peer(graph, queries, exact, wanted):
    """The narrowest search that finds the share `wanted`: its width, share and milliseconds."""
    for width in (16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512):
        graph.set_ef(width)
        good, times = 0, []
        for query, best in zip(queries, exact):
            begin = time.thread_time()
            labels, _ = graph.knn_query(query, k=TOP_K)
            times.append(1e3 * (time.thread_time() - begin))
            good += len(set(labels[0].tolist()) & set(best.tolist()))
        share = good / exact.size
        if share >= wanted:
            break
    return width, share, np.mean(times), np.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("build", "vectors", "texts", "query_vectors", "query_texts"):
        parser.add_argument(name)
    parser.add_argument("--model", required=True)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--work", help="folder for the index, kept; by default a temporary one")
    arguments = parser.parse_args()
    vectors, queries = np.load(arguments.vectors).astype(np.float32), np.load(arguments.query_vectors).astype(np.float32)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.work or temporary
        os.makedirs(folder, exist_ok=True)
        texts = os.path.join(folder, "queries.txt")
        with open(arguments.query_texts, encoding="utf-8") as lines, open(texts, "w", encoding="utf-8") as out:
            out.writelines(list(lines)[:arguments.queries])
        queries = queries[:arguments.queries]
        print(f"{len(vectors)} documents, {len(queries)} queries\n")
        print("| index | made, s | MB of memory | MB on disk | 1,000 documents more, s | opened and asked, s |")
        print("| --- | --- | --- | --- | --- | --- |")
        index = make_index(arguments, folder)
        graph = build_peer(vectors, folder)
        ours = search_index(arguments, index, texts)
        exact = np.array([np.argpartition(-(vectors @ query), TOP_K)[:TOP_K] for query in queries])
        width, share, mean, median = search_peer(graph, queries, exact, ours["vector"]["found"])
        print("\n| search | found | mean, ms | median, ms |\n| --- | --- | --- | --- |")
        print(f"| hnswlib, ef {width} | {share:.4f} | {mean:.3f} | {median:.3f} |")
        both = ours["vector"]["mean"] + ours["lexical"]["mean"]
        for name, filter_text in {"all": "", **FILTERS}.items():
            result = ours if not filter_text else search_index(arguments, index, texts, filter_text)
            for kind in ("lexical", "vector", "hybrid", "vector exact", "hybrid exact"):
                row = result[kind]
                print(f"| {kind}, {name} | {row.get('found', 1):.4f} | {row['mean']:.3f} | {row['p50']:.3f} |")
        print(f"\nhybrid / (vector + lexical) = {ours['hybrid']['mean'] / both:.2f}")


if __name__ == "__main__":
    main()
