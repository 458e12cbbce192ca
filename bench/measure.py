# SPDX-License-Identifier: Apache-2.0
"""Runs what bench/run.sh measures: the contenders of each case in turns, a process each, round by round.

usage: measure.py [BUILD_FOLDER [OUTPUT_FOLDER]]     (settings from the environment: bench/run.sh)

Each run becomes a line of WORK/runs.jsonl; lines that are there already are not measured again.
"""
import functools
import importlib.metadata
import importlib.util
import itertools
import json
import os
import platform
import shutil
import sys
import tempfile
from typing import NamedTuple

import performance_page
import summarize
from contenders import PYTHON, Simile, compare, fail, loss_of, peer, peer_memory, run

SHARED = "../shared"
TOKENIZER = f"{SHARED}/tokenizers/bert-base-uncased-MiniLM-L6"
SENTENCES = f"{SHARED}/data/wiki_sents_2015/dev.txt"
MODES = "train infer latency threads program long memory profile load"
MODELS = {"minilm": "all-MiniLM-L6-v2", "mpnet": "all-mpnet-base-v2"}
PACKAGES = ("torch", "transformers", "onnx", "onnxruntime", "openvino", "nncf")
THREADS_COMPARED = (1, 2)
PAIRS = 32  # of a training step
LONGEST = 8192  # tokens of a text

ALL = ("fp32", "bf16", "int8")
CONTENDERS = {"train": {"simile": ALL[:2], "torch": ALL[:2]},
              "infer": {"simile": ALL, "torch": ALL[:2], "onnx": ("fp32", "int8"), "openvino": ALL},
              "latency": {"simile": ALL, "onnx": ("fp32", "int8"), "openvino": ALL}}

# Batches of 32 a round: enough for seconds, and few enough that the peers end. They take a second pass, or two steps
# more, to warm up. For latency: calls.
BATCHES = {("train", "minilm"): {"short": 10, "mixed": 3, "even": 2},
           ("train", "mpnet"): {"short": 2, "mixed": 1, "even": 1},
           ("infer", "minilm"): {"short": 64, "mixed": 20, "even": 8},
           ("infer", "mpnet"): {"short": 20, "mixed": 10, "even": 3},
           ("latency", "minilm"): {"short": 500}, ("latency", "mpnet"): {"short": 200}}
# Rounds at most, where they take long or, of memory, are all alike.
ROUNDS = {"train mpnet short": 3, "train mpnet mixed": 1, "train mpnet even": 1, "infer mpnet": 2, "latency mpnet": 3,
          "memory": 1, "program": 3, "long": 2, "profile": 1, "threads": 3}


class Case(NamedTuple):
    mode: str
    model: str
    distribution: str  # or ""
    settings: dict  # that runs depend on; runs with others are measured again
    contenders: dict  # name -> a function without arguments that gives a dict


class Bench:
    def __init__(self, build, work):
        setting = os.environ.get
        self.work = work
        self.threads = int(setting("THREADS") or len(os.sched_getaffinity(0)))
        self.rounds = int(setting("ROUNDS") or 5)
        self.machine = setting("MACHINE") or machine_name()
        self.modes = (setting("MODES") or MODES).split()
        self.models = (setting("MODELS") or "minilm").split()
        self.distributions = (setting("DISTRIBUTIONS") or "short mixed even").split()
        known = [name for name in ALL if name != "bf16" or self.machine in ("amx", "avx512-bf16")]
        self.precisions = (setting("PRECISIONS") or " ".join(known)).split()
        self.training_precisions = [name for name in self.precisions if name != "int8"]
        self.build, self.serving = build, setting("SERVING") or "build/serving"
        self.simile = Simile(build, work, self.threads)

    def batches(self, mode, model, distribution):
        return int(os.environ.get(f"{mode.upper()}_BATCHES") or BATCHES[mode, model][distribution])

    @functools.lru_cache
    def model(self, name):
        """A published model, with its files for the peers, or random weights for long texts."""
        folder = self.simile.model(name)
        if name in MODELS and not os.path.exists(folder):
            os.symlink(run(["scripts/get-published.sh", MODELS[name]]).output.strip(), folder)
            run([PYTHON, "bench/peer.py", "workloads", f"{folder}_ids", f"{folder}/tokenizer.json", SENTENCES])
        if name in MODELS and not os.path.exists(f"{folder}_int8.onnx"):
            run([PYTHON, "bench/peer.py", "export", folder, f"{folder}_ids"])
        if not os.path.exists(folder):
            run([self.simile.bench, "model", folder, "minilm", TOKENIZER, LONGEST])
        return name

    @functools.lru_cache
    def expected(self, model, distribution):
        """The vectors and the loss that torch computes in fp32."""
        vectors = peer("infer", "torch", "fp32", *self.simile.inputs(model, distribution), 2, self.threads)["vectors"]
        return {"vectors": vectors, "loss": loss_of(vectors)}

    def work_on(self, who, mode, model, distribution, count, precision, threads):
        if who == "simile":
            result = self.simile.measure_work(mode, model, distribution, count, precision, threads)
        else:
            result = peer(mode, who, precision, *self.simile.inputs(model, distribution), count, threads,
                          *([PAIRS] if mode == "train" else []))
        return compare(result, self.expected(model, distribution), f"{who} {precision}")


def machine_name():
    """The best instructions for matrices, unless SIMILE_ISA forbids them."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        flags = lines.read()
    known = [name for flag, name in (("amx_bf16", "amx"), ("avx512_bf16", "avx512-bf16"), ("avx512f", "avx512"),
                                     ("avx2", "avx2")) if flag in flags]
    return os.environ.get("SIMILE_ISA") or next(iter(known), "baseline")


def work_cases(bench, mode):
    """Training, inference or single texts, every precision, beside the peers."""
    distributions, threads = (["short"], 1) if mode == "latency" else (bench.distributions, bench.threads)
    for model, distribution in itertools.product(bench.models, distributions):
        count = bench.batches(mode, model, distribution)
        contenders = {f"{who} {name}": functools.partial(bench.work_on, who, mode, bench.model(model), distribution,
                                                         count, name, threads)
                      for who, names in CONTENDERS[mode].items() for name in names if name in bench.precisions}
        yield Case(mode, model, distribution, {"batches": count, "threads": threads}, contenders)


def thread_cases(bench):
    for mode, distribution in itertools.product(("train", "infer"), bench.distributions):
        count = bench.batches(mode, "minilm", distribution)
        contenders = {str(threads): functools.partial(bench.work_on, "simile", mode, bench.model("minilm"),
                                                      distribution, count, "fp32", threads)
                      for threads in THREADS_COMPARED}
        yield Case(f"threads {mode}", "minilm", distribution, {"batches": count}, contenders)


def program_cases(bench):
    count = int(os.environ.get("TEXTS") or 6000)
    with open(SENTENCES, encoding="utf-8") as lines:
        texts = list(itertools.islice(lines, count))
    paths = [os.path.join(bench.work, name) for name in ("texts.txt", "text.txt")]
    for path, part in zip(paths, (texts, texts[:1])):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(part)
    model, contenders = bench.model("minilm"), {}
    for name in bench.precisions:
        contenders[f"program {name}"] = functools.partial(bench.simile.encode, model, paths[0], name)
        contenders[f"encoder {name}"] = functools.partial(bench.simile.texts, model, paths[0], name)
        contenders[f"start {name}"] = functools.partial(bench.simile.encode, model, paths[1], name)
    yield Case("program", "minilm", "", {"texts": count, "threads": bench.threads}, contenders)


def long_cases(bench):
    lengths = (os.environ.get("LONG_TOKENS") or "512 1024 2048 4096 8192").split()
    model = bench.model("long")
    contenders = {f"{work} {tokens}": functools.partial(bench.simile.long, model, work, tokens)
                  for work, tokens in itertools.product(("infer", "train"), lengths)}
    yield Case("long", "minilm", "", {"threads": bench.threads}, contenders)


def free_memory():
    with open("/proc/meminfo", encoding="utf-8") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def memory_cases(bench):
    pairs = int(os.environ.get("MEMORY_BATCH") or 64)
    limit = os.environ.get("MEMORY_LIMIT_GB")
    limit = int(1e9 * float(limit)) if limit else free_memory() // 10 * 9
    distributions = [name for name in bench.distributions if name != "even"]
    for model, distribution in itertools.product(bench.models, distributions):
        contenders = {}
        for name in bench.training_precisions:
            inputs = bench.simile.inputs(bench.model(model), distribution)
            contenders[f"simile {name}"] = functools.partial(bench.simile.memory, model, distribution, pairs, name)
            contenders[f"torch {name}"] = functools.partial(peer_memory, name, inputs, bench.threads, pairs, limit)
        yield Case("memory", model, distribution, {"pairs": pairs, "threads": bench.threads}, contenders)


def profile_cases(bench):
    if not shutil.which("perf") or run(["perf", "stat", "true"], may_fail=True).code != 0:
        print("without perf, or not allowed to use it: no shares by function", file=sys.stderr)
        return
    for distribution in bench.distributions:
        model = bench.model("minilm")
        contenders = {f"{work} {name}": functools.partial(bench.simile.profile, work, model, distribution, name)
                      for work, names in (("train", bench.training_precisions), ("infer", bench.precisions))
                      for name in names}
        yield Case("profile", "minilm", distribution, {"threads": bench.threads}, contenders)


CASES = {"train": lambda bench: work_cases(bench, "train"), "infer": lambda bench: work_cases(bench, "infer"),
         "latency": lambda bench: work_cases(bench, "latency"), "threads": thread_cases, "program": program_cases,
         "long": long_cases, "memory": memory_cases, "profile": profile_cases}


class Log:
    """`runs` are those of the cases asked for; the file may hold others of earlier measurements."""

    def __init__(self, path):
        self.path, self.runs, self.kept = path, [], {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                for line in lines:
                    entry = json.loads(line)
                    self.kept[json.dumps(list(entry.values())[:6])] = entry

    def take(self, case, who, number):
        """Whether that run was there already."""
        entry = self.kept.get(json.dumps([case.mode, case.model, case.distribution, case.settings, who, number]))
        if entry:
            self.runs.append(entry)
        return entry is not None

    def add(self, case, who, number, result):
        entry = {"mode": case.mode, "model": case.model, "distribution": case.distribution,
                 "settings": case.settings, "who": who, "round": number, "load": os.getloadavg()[0],
                 "result": result}
        self.runs.append(entry)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def headline(result):
    names = ("rate", "milliseconds_median", "seconds", "peak_bytes", "share_of_sgemm")
    return "  ".join(f"{name} {result[name]:.5g}" for name in names
                     if isinstance(result.get(name), (int, float)))


def measure(case, rounds, log):
    for number in range(1, rounds + 1):
        names = list(case.contenders)
        first = (number - 1) % len(names)
        for who in names[first:] + names[:first]:
            if log.take(case, who, number):
                continue
            result = case.contenders[who]()
            log.add(case, who, number, result)
            print(f"{case.mode} {case.model} {case.distribution}, round {number} of {rounds}: {who:12} "
                  f"{headline(result)}", file=sys.stderr)


def measure_loading(bench, log):
    programs = {"release": f"{bench.build}/cli/simile", "serving": f"{bench.serving}/cli/simile"}
    programs = [f"{name}={path}" for name, path in programs.items() if os.access(path, os.X_OK)]
    case = Case("load", "minilm", "", {"rounds": bench.rounds}, {})
    if all([log.take(case, program.split("=")[0], 1) for program in programs]):
        return
    answer = run([PYTHON, "bench/load_bench.py", bench.simile.model(bench.model("minilm")), bench.rounds, *programs])
    for line in answer.output.splitlines():
        result = json.loads(line)
        log.add(case, result["program"], 1, result)
        print(f"load minilm: {result['program']} {result['milliseconds_median']:.0f} ms", file=sys.stderr)


def prepare(bench):
    program = f"{bench.build} -G Ninja -DCMAKE_BUILD_TYPE=Release -DSIMILE_BENCH=ON -DSIMILE_TESTS=OFF"
    for path in (bench.simile.bench, bench.simile.program):
        if not os.access(path, os.X_OK):
            fail(f"{path} is missing; make it with\n  cmake -S . -B {program} && "
                 f"cmake --build {bench.build} --target simile_bench simile")
    missing = [name for name in PACKAGES if not importlib.util.find_spec(name)]
    if missing:
        fail(f"{PYTHON} lacks {', '.join(missing)}; PYTHON=$(bench/peers.sh) has all that is needed")


def describe_machine(bench, runs):
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        processor = next((line.split(":", 1)[1].strip() for line in lines
                          if line.startswith("model name")), platform.machine())
    version = next((entry["result"] for entry in runs if "onednn" in entry["result"]), {})
    loads = [entry["load"] for entry in runs if entry["mode"] != "memory"]  # which other work does not change
    return {"processor": processor, "processors": os.cpu_count(), "threads": bench.threads,
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "instructions": version.get("instructions"), "onednn": version.get("onednn"),
            "libtorch": version.get("torch"), "system": platform.platform(),
            "peers": {name: importlib.metadata.version(name) for name in PACKAGES},
            "load_average": [min(loads), max(loads)] if loads else None}


def main(build="build/release", output="docs"):
    work = os.path.abspath(os.environ.get("WORK") or tempfile.mkdtemp())
    os.makedirs(work, exist_ok=True)
    try:
        bench = Bench(build, work)
        prepare(bench)
        log = Log(os.path.join(work, "runs.jsonl"))
        for mode in bench.modes:
            if mode == "load":
                measure_loading(bench, log)
                continue
            if mode not in CASES:
                fail(f"MODES has '{mode}'; expected some of: {MODES}")
            for case in CASES[mode](bench):
                name = f"{case.mode} {case.model} {case.distribution}"
                limits = [rounds for start, rounds in ROUNDS.items() if name.startswith(start)]
                measure(case, min([bench.rounds, *limits]), log)
        results = os.path.join(output, "results", "bench")
        os.makedirs(results, exist_ok=True)
        summarize.write(describe_machine(bench, log.runs), log.runs, os.path.join(results, f"{bench.machine}.json"))
        performance_page.write(os.path.join(output, "performance.md"))
    finally:
        if not os.environ.get("WORK"):
            shutil.rmtree(work)


if __name__ == "__main__":
    if len(sys.argv) > 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
