# SPDX-License-Identifier: Apache-2.0
"""What a user of sentence-transformers gets from Simile with the same model: see bench/published.sh, which calls this.

usage: published.py PROGRAM PYTHON MODEL_FOLDER
       published.py peer WORK MODEL_FOLDER encode|compare|one|train|size [ARGUMENT]   (run by PYTHON, which has sentence-transformers)

Prints a Markdown table. Both programs use THREADS threads (default: all) and take turns, ROUNDS (3) times; a figure is
the median of its rounds. TEXTS (all), STEPS (12) and FINE_TUNE (1; 0 leaves it out) make it shorter.
"""
import csv
import json
import os
import statistics
import sys
import tempfile
import time

from contenders import run
from step_rate import step_times

HERE = os.path.dirname(os.path.abspath(__file__))
FAQ = os.path.join(HERE, "../examples/faq")
BATCH = 64
WARM_UP = 2  # steps


def setting(name, fallback):
    return int(os.environ.get(name) or fallback)


# ---- run by the peer's Python

def peer_load(folder):
    import torch
    torch.set_num_threads(setting("THREADS", 1))
    from sentence_transformers import SentenceTransformer
    return torch, SentenceTransformer(folder, device="cpu")


def peer_encode(work, folder, precision):
    """Sentences a second, after a warm-up, without the start."""
    torch, model = peer_load(folder)
    if precision == "bf16":
        model = model.bfloat16()
    texts = json.load(open(f"{work}/texts.json", encoding="utf-8"))
    model.encode(texts[:64], show_progress_bar=False)
    start = time.perf_counter()
    vectors = model.encode(texts, show_progress_bar=False, convert_to_tensor=True)
    print(json.dumps({"rate": len(texts) / (time.perf_counter() - start)}))
    torch.save(vectors.float(), f"{work}/peer.pt")


def peer_compare(work, folder, _):
    """Simile's vectors with those of the last peer_encode()."""
    import numpy
    import torch
    ours, theirs = numpy.load(f"{work}/vectors.npy"), torch.load(f"{work}/peer.pt").numpy()
    print(json.dumps({"difference": float(numpy.abs(ours - theirs).max()),
                      "cosine": float((ours * theirs).sum(1).mean())}))


def peer_one(work, folder, text):
    _, model = peer_load(folder)
    model.encode([text])


def peer_train(work, folder, steps):
    """A plain loop of the same loss, with fused AdamW; pairs a second after the warm-up."""
    torch, model = peer_load(folder)
    from sentence_transformers.losses import MultipleNegativesRankingLoss
    pairs = json.load(open(f"{work}/pairs.json", encoding="utf-8"))
    loss_function = MultipleNegativesRankingLoss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, fused=True)
    tokenize = model.preprocess if hasattr(model, "preprocess") else model.tokenize
    model.train()
    for step in range(int(steps) + WARM_UP):
        if step == WARM_UP:
            start = time.perf_counter()
        batch = pairs[step * BATCH:(step + 1) * BATCH]
        loss = loss_function([dict(tokenize([pair[i] for pair in batch])) for i in (0, 1)], None)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(json.dumps({"rate": int(steps) * BATCH / (time.perf_counter() - start)}))


def peer_size(work, folder, _):
    """Bytes of sentence-transformers and all that it needs."""
    import importlib.metadata as metadata
    import re
    wanted, seen, size = ["sentence-transformers"], set(), 0
    while wanted:
        name = re.sub(r"[-_.]+", "-", wanted.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another system
        size += sum(os.path.getsize(path) for file in found.files or [] if os.path.isfile(path := found.locate_file(file)))
        wanted += [re.match(r"[\w.-]+", need)[0] for need in found.requires or [] if "extra ==" not in need]
    import sentence_transformers
    import torch
    print(json.dumps({"bytes": size, "version": f"sentence-transformers {sentence_transformers.__version__}, "
                                                f"torch {torch.__version__.split('+')[0]}"}))


PEER = {"encode": peer_encode, "compare": peer_compare, "one": peer_one, "train": peer_train, "size": peer_size}


# ---- run by any Python

class Bench:
    def __init__(self, program, python, model, work):
        self.run, self.program, self.python, self.model, self.work = run, program, python, model, work
        self.threads = setting("THREADS", len(os.sched_getaffinity(0)))
        self.rounds = setting("ROUNDS", 3)
        self.environment = {"THREADS": str(self.threads), "OMP_NUM_THREADS": str(self.threads),
                            "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true"}
        self.rows = []

    def simile(self, *words):
        return self.run([self.program, *words, "--threads", self.threads, "--quiet"])

    def peer(self, what, argument=""):
        answer = self.run([self.python, os.path.abspath(__file__), "peer", self.work, self.model, what, argument],
                          environment=self.environment)
        lines = [line for line in answer.output.splitlines() if line.startswith("{")]
        return answer, json.loads(lines[-1]) if lines else {}

    def row(self, what, ours, theirs, note=""):
        self.rows.append(f"| {what} | {ours} | {theirs} | {note} |")
        print(self.rows[-1], file=sys.stderr, flush=True)

    def in_turns(self, ours, theirs):
        """Medians of the figures of both, which take turns."""
        both = [(ours(), theirs()) for _ in range(self.rounds)]
        return [[statistics.median(values) for values in zip(*side)] for side in zip(*both)]

    def write_inputs(self):
        def column(name, *columns):
            with open(f"{FAQ}/{name}", encoding="utf-8", newline="") as file:
                return [[row[i] for i in columns] for row in list(csv.reader(file, delimiter="\t"))[1:]]
        texts = [row[0] for row in column("queries.tsv", 1) + column("corpus.tsv", 1)][-setting("TEXTS", 0):]
        pairs = column("train.pairs.tsv", 0, 1)
        while len(pairs) < BATCH * (setting("STEPS", 12) + WARM_UP):
            pairs += pairs
        json.dump(texts, open(f"{self.work}/texts.json", "w"))
        json.dump(pairs, open(f"{self.work}/pairs.json", "w"))
        with open(f"{self.work}/texts.jsonl", "w") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        self.texts = len(texts)

    def encode(self, precision="fp32"):
        answer = self.simile("encode", "--model", self.model, "--input", f"{self.work}/texts.jsonl", "--output",
                             f"{self.work}/vectors.npy", "--precision", precision)
        return [self.texts / answer.seconds]

    def start(self):
        text = "how do I reset my password"
        with open(f"{self.work}/one.txt", "w") as file:
            file.write(text + "\n")
        figures = lambda answer: (answer.seconds, answer.peak_bytes / 1e6)
        ours, theirs = self.in_turns(
            lambda: figures(self.simile("encode", "--model", self.model, "--input", f"{self.work}/one.txt", "--output",
                                        f"{self.work}/one.npy")),
            lambda: figures(self.peer("one", text)[0]))
        self.row("one text, from start to exit", f"{ours[0]:.2f} s", f"{theirs[0]:.1f} s", f"{theirs[0] / ours[0]:.0f} x")
        self.row("memory for that", f"{ours[1]:.0f} MB", f"{theirs[1]:.0f} MB", f"{theirs[1] / ours[1]:.1f} x")

    def size(self):
        """The program and the libraries that it loads, without symbols for a debugger."""
        def stripped(path):
            copy = f"{self.work}/stripped"
            self.run(["strip", "-o", copy, path])
            return os.path.getsize(copy)
        def needed(path):
            lines = self.run(["ldd", path]).output.splitlines()
            return {os.path.realpath(line.split()[2]) for line in lines if "=> /" in line}
        small = stripped(self.program) + sum(map(os.path.getsize, needed(self.program)))
        trainer = os.path.join(os.path.dirname(self.program), "simile-training")
        libraries = needed(self.program) | needed(trainer)
        whole = stripped(self.program) + stripped(trainer) + sum(map(os.path.getsize, libraries))
        answer = self.peer("size")[1]
        self.row("installed, to encode, search and serve / to train as well",
                 f"{small / 1e6:.0f} / {whole / 1e6:.0f} MB", f"{answer['bytes'] / 1e6:,.0f} MB",
                 f"{answer['bytes'] / small:.0f} / {answer['bytes'] / whole:.1f} x")
        return answer["version"]

    def speed(self):
        rates = {}
        for precision in ("fp32", "bf16"):
            ours, theirs = self.in_turns(lambda: self.encode(precision),
                                         lambda: [self.peer("encode", precision)[1]["rate"]])
            rates[precision] = theirs[0]
            if precision == "fp32":
                same = self.peer("compare")[1]
                self.rows.insert(0, f"| vectors of {self.texts:,} texts, largest difference | "
                                    f"{same['difference']:.1e} | | equal |")
            self.row(f"encode, {precision}, start included", f"{ours[0]:.0f} texts/s",
                     f"{theirs[0]:.0f} texts/s (start not included)", f"{ours[0] / theirs[0]:.1f} x")
        self.peer("encode", "fp32")
        rate = statistics.median(self.encode("int8")[0] for _ in range(self.rounds))
        cosine = self.peer("compare")[1]["cosine"]
        self.row("encode, int8, start included", f"{rate:.0f} texts/s", "-",
                 f"{rate / rates['fp32']:.1f} x its fp32; mean cosine to it {cosine:.4f}")

    def train(self):
        steps = setting("STEPS", 12)

        recipe = {"name": "speed", "model": self.model, "baselines": [], "data_checks": "warn", "stages": [{
            "objectives": [{"data": {"path": os.path.realpath(f"{FAQ}/train.pairs.tsv"), "left": "question",
                                     "right": "answer", "score": ""}, "loss": "mnrl", "batch_size": BATCH}],
            "steps": WARM_UP + steps, "learning_rate": 2e-5}]}
        json.dump(recipe, open(f"{self.work}/recipe.json", "w"))

        def ours():
            answer = self.simile("train", f"{self.work}/recipe.json", "--output", f"{self.work}/run", "--overwrite")
            times = step_times(f"{self.work}/run")
            return BATCH * steps / (times[WARM_UP + steps] - times[WARM_UP]), answer.peak_bytes / 1e9

        def theirs():
            answer, figures = self.peer("train", str(steps))
            return figures["rate"], answer.peak_bytes / 1e9

        ours, theirs = self.in_turns(ours, theirs)
        self.row(f"train, batch softmax of {BATCH} pairs", f"{ours[0]:.0f} pairs/s", f"{theirs[0]:.0f} pairs/s",
                 f"{ours[0] / theirs[0]:.1f} x")
        self.row("memory for that", f"{ours[1]:.1f} GB", f"{theirs[1]:.1f} GB", f"{theirs[1] / ours[1]:.1f} x")

    def fine_tune(self):
        answer = self.simile("train", f"{HERE}/../recipes/faq.yaml", f"model={self.model}",
                             "stages.0.epochs=10", "stages.0.learning_rate=2e-5", "--output", f"{self.work}/faq", "--json")
        with open(f"{self.work}/faq/results.json", encoding="utf-8") as file:
            scores = {entry["model"]: 100 * entry["metrics"]["map"] for entry in json.load(file)["reports"]
                      if entry["name"] == "test"}
        self.row(f"fine-tuned on examples/faq in {answer.seconds:.0f} s: test MAP",
                 f"{scores['zero-shot']:.1f} -> **{scores['faq']:.1f}**", "-", "")


def main(program, python, model):
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(os.path.realpath(program), python, os.path.realpath(model), work)
        bench.write_inputs()
        version = bench.size()
        bench.start()
        bench.speed()
        bench.train()
        if setting("FINE_TUNE", 1):
            bench.fine_tune()
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        processor = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    print(f"| {os.path.basename(bench.model)}, {bench.threads} threads | Simile | sentence-transformers | |")
    print("| --- | --- | --- | --- |")
    print("\n".join(bench.rows))
    print(f"\n{processor}; {version}; load average at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    if sys.argv[1] == "peer":
        PEER[sys.argv[4]](sys.argv[2], sys.argv[3], sys.argv[5] if len(sys.argv) > 5 else "")
    else:
        main(*sys.argv[1:])
