#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/trec_runs.json: random TREC runs, judgements, and what trec_eval says of each query.

    python3 tools/golden/trec_runs.py > tests/golden/trec_runs.json
    python3 tools/golden/trec_runs.py --runs 1000 > /tmp/runs.json        # for SIMILE_TREC_RUNS=/tmp/runs.json
    python3 tools/golden/trec_runs.py --runs 1000 --trec-eval PATH        # compares with the program instead

Nothing here shares code with Simile. Measures are their definitions in plain Python; the order of a ranking is
trec_eval's: by score from the highest, then by id from the highest, byte for byte. Many scores are equal, lines stand
in random order with ranks that say nothing, some judged documents are not retrieved and some retrieved ones are not
judged, some are judged below 0, and some queries have no result, no judgement or no relevant document.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile

CUTS = (1, 3, 10)
# Simile's names, and trec_eval's.
NAMES = {"map": "map", "mrr": "recip_rank", "ndcg": "ndcg"}
for cut in CUTS:
    NAMES.update({"p@%d" % cut: "P_%d" % cut, "recall@%d" % cut: "recall_%d" % cut,
                  "has_positive@%d" % cut: "success_%d" % cut, "ndcg@%d" % cut: "ndcg_cut_%d" % cut,
                  "map@%d" % cut: "map_cut_%d" % cut})


def random_id(rng, number):
    return rng.choice(("d%d", "D%d", "doc-%02d", "%d", "d%d.x", "\u00e9%d")) % number


def random_score(rng, kind):
    if kind == "ties":
        return rng.choice(("0", "1", "1.0", "1e0", "-1", "0.5", "5e-1"))
    if kind == "close":  # equal as 32-bit floats, not as 64-bit ones
        return repr(0.7 + rng.randint(0, 3) * 1e-10)
    if kind == "large":
        return repr(rng.choice((-1, 1)) * 10.0 ** rng.randint(-300, 300))
    return repr(round(rng.gauss(0, 1), rng.choice((0, 1, 2, 17))))


def random_case(rng):
    run, qrels = [], []
    for q in range(rng.randint(1, 4)):
        ids = sorted({random_id(rng, n) for n in range(rng.randint(1, 14))})
        kind = rng.choice(("ties", "close", "large", "any"))
        retrieved = rng.sample(ids, rng.choice((0, len(ids), rng.randint(0, len(ids)))))
        judged = rng.sample(ids, rng.choice((0, len(ids), rng.randint(0, len(ids)))))
        levels = rng.choice(((0, 1), (0, 0, 1, 2, 3), (-1, 0, 0, 1, 2), (1,), (0,)))
        run += [("q%d" % q, d, random_score(rng, kind)) for d in retrieved]
        qrels += [("q%d" % q, d, rng.choice(levels)) for d in judged]
    rng.shuffle(run)
    rng.shuffle(qrels)
    if not run or not any(r >= 1 for _, _, r in qrels):
        return random_case(rng)
    return {"run": ["%s Q0 %s %d %s t" % (q, d, rng.randint(0, 9), s) for q, d, s in run],
            "qrels": ["%s 0 %s %d" % line for line in qrels]}


def rank(lines, query):
    """The documents of a query from rank 1 on."""
    fields = [line.split() for line in lines]
    scored = [(float(f[4]), f[2].encode()) for f in fields if f[0] == query]
    return [d.decode() for _, d in sorted(scored, reverse=True)]


def measure(ranking, judged):
    relevance = [max(judged.get(d, 0), 0) for d in ranking]
    total = sum(r >= 1 for r in judged.values())
    hits = [i + 1 for i, r in enumerate(relevance) if r >= 1]
    ideal = sorted((r for r in judged.values() if r > 0), reverse=True)

    def average_precision(cut):
        return sum((n + 1) / rank for n, rank in enumerate(hits) if rank <= cut) / total

    def ndcg(cut):
        def dcg(gains):
            return math.fsum(g / math.log2(i + 2) for i, g in enumerate(gains[:cut]))
        return dcg(relevance) / dcg(ideal)

    everything = len(ranking) + len(judged)
    values = {"map": average_precision(everything), "mrr": 1 / hits[0] if hits else 0, "ndcg": ndcg(everything)}
    for cut in CUTS:
        found = sum(rank <= cut for rank in hits)
        values.update({"p@%d" % cut: found / cut, "recall@%d" % cut: found / total,
                       "has_positive@%d" % cut: float(found > 0), "ndcg@%d" % cut: ndcg(cut),
                       "map@%d" % cut: average_precision(cut)})
    return values


def measure_case(case):
    """Of every query with a relevant document, in the order in which queries are first judged."""
    judgements = {}
    for line in case["qrels"]:
        query, _, document, relevance = line.split()
        judgements.setdefault(query, {})[document] = int(relevance)
    return {query: measure(rank(case["run"], query), judged) for query, judged in judgements.items()
            if any(r >= 1 for r in judged.values())}


def ask_trec_eval(program, case, queries):
    """{query: {name: value}} of those of the queries that have results; the program may refuse files with others."""
    queries = queries & {line.split()[0] for line in case["run"]}
    lines = {name: [line for line in case[name] if line.split()[0] in queries] for name in ("qrels", "run")}
    if not lines["run"]:
        return {}
    cuts = ",".join(map(str, CUTS))
    measures = ["map", "recip_rank", "ndcg"] + [m + "." + cuts for m in
                                                ("P", "recall", "success", "ndcg_cut", "map_cut")]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("qrels", "run"):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write("\n".join(lines[name]) + "\n")
        command = [program, "-q", "-n"] + [part for m in measures for part in ("-m", m)]
        out = subprocess.run(command + [os.path.join(folder, n) for n in ("qrels", "run")], check=True,
                             capture_output=True, text=True).stdout
    found = {}
    ours = {theirs: name for name, theirs in NAMES.items()}
    for line in out.splitlines():
        name, query, value = line.split()
        found.setdefault(query, {})[ours[name]] = float(value)
    return found


def compare(program, cases):
    queries, worst = 0, 0.0
    for case in cases:
        measured = measure_case(case)
        asked = ask_trec_eval(program, case, set(measured))
        for query, values in measured.items():
            if query not in asked:
                continue  # without results
            queries += 1
            worst = max([worst] + [abs(values[name] - asked[query][name]) for name in NAMES])
    print("%d runs, %d queries, %d measures: largest difference %.3g" % (len(cases), queries, len(NAMES), worst))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--trec-eval", help="the program, which prints 4 decimals unless built to print more")
    arguments = parser.parse_args()
    rng = random.Random(20240311)
    cases = [random_case(rng) for _ in range(arguments.runs)]
    if arguments.trec_eval:
        compare(arguments.trec_eval, cases)
        return
    for case in cases:
        measured = measure_case(case)
        case["values"] = {query: [round(values[name], 12) for name in NAMES] for query, values in measured.items()}
    print('{"metrics": %s, "cases": [' % json.dumps(list(NAMES)))
    print(",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases))
    print("]}")


if __name__ == "__main__":
    main()
