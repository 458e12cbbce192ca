#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""published.py SIMILE: works with all-MiniLM-L6-v2 as its authors published it, in every command that takes a model.

Vectors, a ranking and the losses of twenty steps are held to those of sentence-transformers
(tests/golden/published.json, made by tools/golden/published.py). Needs no package beside Python itself. Exits 77
where scripts/get-published.sh does not find the model.
"""
import json
import os
import subprocess
import sys
import tempfile
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
FAQ = os.path.join(HERE, "../examples/faq")
NAME = "all-MiniLM-L6-v2"


def find_model():
    found = subprocess.run([os.path.join(HERE, "../scripts/get-published.sh"), "--find", NAME],
                           capture_output=True, text=True)
    if found.returncode != 0:
        print(found.stderr.strip())
        sys.exit(found.returncode)
    return found.stdout.strip()


def simile(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"published.py: simile {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def check(what, good, figure=""):
    print(f"{'good' if good else 'WRONG'}  {what} {figure}".rstrip(), flush=True)
    if not good:
        sys.exit(1)


def largest_difference(some, others):
    return max(abs(a - b) for one, other in zip(some, others) for a, b in zip(one, other))


def write_lines(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)
    return path


def check_vectors(model, golden, work):
    texts = write_lines(f"{work}/texts.jsonl", (json.dumps({"text": text}) for text in golden["texts"]))
    simile("encode", "--model", model, "--input", texts, "--output", f"{work}/vectors.jsonl")
    with open(f"{work}/vectors.jsonl", encoding="utf-8") as file:
        vectors = [json.loads(line)["embedding"] for line in file]
    difference = largest_difference(vectors, golden["vectors"])
    check(f"{len(vectors)} vectors", len(vectors) == len(golden["vectors"]) and difference <= 1e-6,
          f"differ by {difference:.1e}")
    return vectors


def check_ranking(model, golden, work):
    report = json.loads(simile("evaluate", "--json", "--model", model, "--task", "ranking", "--queries",
                               f"{FAQ}/queries.tsv", "--corpus", f"{FAQ}/corpus.tsv", "--qrels",
                               f"{FAQ}/qrels.test.unseen.tsv", "--depth", 0))
    difference = abs(report["metrics"]["map"] - golden["map"])
    check("MAP of examples/faq", difference <= 1e-5, f"{100 * report['metrics']['map']:.2f}")


def check_training(model, golden, work):
    write_lines(f"{work}/train.tsv", ("\t".join(row) for row in [["left", "right"], *golden["pairs"]]))
    recipe = {
        "name": "tiny", "model": model, "hidden_dropout": 0, "attention_dropout": 0, "data_checks": "warn",
        "baselines": [],
        "stages": [{
            "objectives": [{"data": {"path": f"{work}/train.tsv", "left": "left", "right": "right", "score": ""},
                            "loss": {"name": "mnrl", "scale": 20, "duplicates": "negatives"},
                            "order": "sequential", "batch_size": golden["batch"]}],
            "epochs": golden["epochs"], "learning_rate": golden["rate"],
            "optimizer": {"name": "adamw", "epsilon": 1e-8, "weight_decay": 0.0, "clip_norm": 1.0},
            "schedule": {"name": "constant", "warmup_fraction": 0}}]}
    write_lines(f"{work}/tiny.json", [json.dumps(recipe)])
    simile("train", f"{work}/tiny.json", "--output", f"{work}/run")
    with open(f"{work}/run/metrics.jsonl", encoding="utf-8") as file:
        losses = [line["loss"] for line in map(json.loads, file) if "loss" in line]
    apart = max(abs(a - b) / max(b, 0.01) for a, b in zip(losses, golden["losses"]))
    check(f"{len(losses)} losses", len(losses) == len(golden["losses"]) and apart <= 1e-5, f"differ by {apart:.1e}")
    steps = len(losses) // golden["epochs"]
    first, last = sum(losses[:steps]) / steps, sum(losses[-steps:]) / steps
    check("training lowers the loss", last < 0.8 * first, f"{first:.3f} to {last:.3f}")
    return f"{work}/run/model"


def check_search(model, work):
    simile("index", "build", "--model", model, "--index", f"{work}/index", "--corpus", f"{FAQ}/corpus.tsv")
    for mode in ("vector", "hybrid"):
        reply = json.loads(simile("search", "--index", f"{work}/index", "--json", "--mode", mode, "--query",
                                  "forgot my password, how do I get back in"))
        check(f"search by {mode}", "password-forgotten" in [hit["id"] for hit in reply["hits"][:3]])


def check_server(work, text, vector):
    server = subprocess.Popen([PROGRAM, "serve", "--index", f"{work}/index", "--port", "0"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
        request = urllib.request.Request(address.rstrip("/") + "/embed", json.dumps({"inputs": [text]}).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            difference = largest_difference(json.load(reply), [vector])
        check("the server's vector", difference == 0, f"differs by {difference:.1e}")
    finally:
        server.terminate()
        server.wait()


def main():
    with open(os.path.join(HERE, "golden/published.json"), encoding="utf-8") as file:
        golden = json.load(file)
    model = find_model()
    with tempfile.TemporaryDirectory() as work:
        vectors = check_vectors(model, golden, work)
        check_ranking(model, golden, work)
        tuned = check_training(model, golden["training"], work)
        simile("check", "--model", tuned)
        check_search(model, work)
        check_server(work, golden["texts"][0], vectors[0])


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    main()
