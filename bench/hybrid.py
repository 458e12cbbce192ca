# SPDX-License-Identifier: Apache-2.0
"""Searches of an index by words, vectors and both, beside hnswlib over the same vectors.

    hybrid.py BUILD VECTORS.npy TEXTS.txt QUERIES.npy QUERIES.txt --model MODEL [--queries N] [--work FOLDER]

Prints a Markdown table. All on one thread; times are milliseconds of processor time for one query, the vector given.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time

import hnswlib
import numpy as np

FILTERS = {"1 %": "percent < 1", "10 %": "percent < 10", "50 %": "percent < 50"}
TOP_K = 10


def write_documents(texts, path):
    random = np.random.default_rng(5)
    with open(texts, encoding="utf-8") as lines, open(path, "w", encoding="utf-8") as out:
        for number, line in enumerate(lines):
            document = {"id": str(number), "text": line.rstrip("\n"), "metadata": {"percent": int(random.integers(100))}}
            out.write(json.dumps(document, ensure_ascii=False) + "\n")


def import_index(arguments, folder):
    """An index, and the processor seconds that it took."""
    vectors = os.path.join(folder, "corpus.npy")
    os.symlink(os.path.abspath(arguments.vectors), vectors)
    write_documents(arguments.texts, os.path.join(folder, "corpus.jsonl"))
    index = os.path.join(folder, "index")
    before = os.times()
    subprocess.run(
        [os.path.join(arguments.build, "cli/simile"), "index", "import", "--threads", "1", "--index", index, "--from", vectors,
         "--model", arguments.model], check=True)
    after = os.times()
    return index, after.children_user + after.children_system - before.children_user - before.children_system


def search_index(arguments, index, queries, filter_text=""):
    command = [os.path.join(arguments.build, "bench/simile_hybrid_bench"), index, queries, arguments.query_vectors, str(TOP_K)]
    return json.loads(subprocess.run(command + ([filter_text] if filter_text else []), check=True, stdout=subprocess.PIPE).stdout)


def build_peer(vectors):
    graph = hnswlib.Index(space="ip", dim=vectors.shape[1])
    graph.init_index(max_elements=len(vectors), M=16, ef_construction=200)
    graph.set_num_threads(1)
    begin = time.process_time()
    graph.add_items(vectors)
    return graph, time.process_time() - begin


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
        index = os.path.join(folder, "index")
        seconds = 0
        if not os.path.exists(index):
            index, seconds = import_index(arguments, folder)
        ours = search_index(arguments, index, texts)
        exact = np.argsort(-(queries @ vectors.T), axis=1)[:, :TOP_K]
        graph, peer_seconds = build_peer(vectors)
        width, share, mean, median = search_peer(graph, queries, exact, ours["vector"]["found"])
        print(f"{len(vectors)} documents, {len(queries)} queries; import with words and graph {seconds:.0f} s, "
              f"hnswlib's graph {peer_seconds:.0f} s\n")
        print("| search | found | mean, ms | median, ms |\n| --- | --- | --- | --- |")
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
