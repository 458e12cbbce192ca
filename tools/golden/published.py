#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sentence-transformers makes of all-MiniLM-L6-v2: vectors, a ranking and the losses of a short training.

    python3 tools/golden/published.py $(scripts/get-published.sh all-MiniLM-L6-v2) > tests/golden/published.json

Needs sentence-transformers 6 and no part of Simile. The file was made with version 6.2.0, transformers 5.24.0 and
torch 2.13.0.
"""
import csv
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../conformance"))
from compare_sentence_transformers import load_theirs, trained_there  # noqa: E402

FAQ = os.path.join(HERE, "../../examples/faq")
TEXTS = ["forgot my password, how do I get back in", "", "CAPITALS, Ünïcödé and naïve café", "中文字 and emoji 👩‍🚀",
         "The quick brown fox jumps over the lazy dog. " * 40, "a", "line\nbreak\tand tab", "x" * 250]
BATCH, EPOCHS, RATE = 8, 4, 1e-5


def rows(name):
    with open(os.path.join(FAQ, name), encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t"))[1:]


def ranking(model):
    from sentence_transformers.evaluation import InformationRetrievalEvaluator
    relevant = {}
    for query, document, _ in rows("qrels.test.unseen.tsv"):
        relevant.setdefault(query, set()).add(document)
    queries = {row[0]: row[1] for row in rows("queries.tsv") if row[0] in relevant}
    corpus = {row[0]: row[1] for row in rows("corpus.tsv")}
    size = len(corpus)
    evaluator = InformationRetrievalEvaluator(queries, corpus, relevant, map_at_k=[size], mrr_at_k=[10],
                                              ndcg_at_k=[10], accuracy_at_k=[1], precision_recall_at_k=[1],
                                              show_progress_bar=False, write_csv=False)
    return next(value for key, value in evaluator(model).items() if key.endswith(f"cosine_map@{size}"))


def main():
    from sentence_transformers.losses import MultipleNegativesRankingLoss
    folder = sys.argv[1]
    model = load_theirs(folder)
    pairs = [row[:2] for row in rows("train.pairs.tsv")[:200:5]]
    columns = [[pair[i] for pair in pairs] * EPOCHS for i in (0, 1)]
    losses, _ = trained_there(folder, MultipleNegativesRankingLoss, {"scale": 20}, "pairs",
                              EPOCHS * len(pairs) // BATCH, BATCH, RATE, (None, columns, None))
    vectors = model.encode(TEXTS, show_progress_bar=False)
    golden = {"texts": TEXTS, "vectors": [[round(float(x), 8) for x in vector] for vector in vectors],
              "map": ranking(model),
              "training": {"pairs": pairs, "batch": BATCH, "epochs": EPOCHS, "rate": RATE, "losses": losses}}
    json.dump(golden, sys.stdout, ensure_ascii=False, indent=0, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
