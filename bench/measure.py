# SPDX-License-Identifier: Apache-2.0
"""Runs what bench/run.sh measures: the contenders of each case in turns, a process each, round by round.

usage: measure.py [BUILD_FOLDER [OUTPUT_FOLDER]]     (settings from the environment: bench/run.sh)

Each run becomes a line of WORK/runs.jsonl; lines that are there already are not measured again.
"""
import functools
import glob
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
from contenders import PYTHON, Eager, Onnx, Simile, fail, peer_environment, run

SHARED = "../shared"
TOKENIZER = f"{SHARED}/tokenizers/bert-base-uncased-MiniLM-L6"
SENTENCES = f"{SHARED}/data/wiki_sents_2015/dev.txt"
MODES = "train infer latency threads program long memory profile load"
LATENCY_CALLS = 500
THREADS_COMPARED = (1, 2)
LONGEST = 8192  # tokens of a text

# Batches of 32 a round: enough for seconds, and few enough that the peer ends; ONNX Runtime wants 640
# sentences to sort. The peer takes two steps more to warm up.
BATCHES = {("train", "minilm", "short"): 10, ("train", "minilm", "long"): 2, ("train", "bert", "short"): 2,
           ("train", "bert", "long"): 1, ("infer", "minilm", "short"): 64, ("infer", "minilm", "long"): 20,
           ("infer", "bert", "short"): 20, ("infer", "bert", "long"): 20}
# Rounds at most, where they take long or, of memory, are all alike.
ROUNDS = {("train", "bert", "short"): 3, ("train", "bert", "long"): 1, ("infer", "bert", "short"): 3,
          ("infer", "bert", "long"): 1, ("latency", "bert", "short"): 3, ("memory", "bert", "long"): 1,
          ("memory", "minilm", "long"): 1, ("program", "minilm", ""): 3, ("long", "minilm", ""): 2,
          ("profile", "minilm", "short"): 1, ("profile", "minilm", "long"): 1,
          **{(f"threads {mode}", "minilm", lengths): 3 for mode in ("train", "infer") for lengths in ("short", "long")}}


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
        self.modes = (setting("MODES") or MODES).split()
        self.models = (setting("MODELS") or "minilm").split()
        self.distributions = (setting("DISTRIBUTIONS") or "short long").split()
        self.precisions = (setting("PRECISIONS") or known_precisions()).split()
        self.build, self.serving = build, setting("SERVING") or "build/serving"
        self.simile = Simile(build, work, self.threads)
        self.eager = Eager(work, self.threads)
        self.onnx = open_onnx(setting("ONNXRUNTIME"), work, self.threads)

    def batches(self, mode, model, distribution):
        return int(os.environ.get(f"{mode.upper()}_BATCHES") or BATCHES[mode, model, distribution])

    def model(self, name, positions=512):
        folder = self.simile.model(name)
        if not os.path.exists(folder):
            run([self.simile.bench, "model", folder, name.split("-")[0], TOKENIZER, positions])
        return name

    def training_precisions(self):
        return [precision for precision in self.precisions if precision != "int8"]


def known_precisions():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        flags = lines.read()
    return "fp32 bf16 int8" if "amx_bf16" in flags or "avx512_bf16" in flags else "fp32 int8"


def open_onnx(folder, work, threads):
    if folder and os.path.isdir(os.path.join(folder, "node_modules", "onnxruntime-node")):
        if run([PYTHON, "-c", "import onnx"], may_fail=True).code != 0:
            fail(f"{PYTHON} lacks onnx: apt-get install python3-onnx")
        return Onnx(folder, work, threads)
    if folder:
        fail(f"{folder} has no node_modules/onnxruntime-node")
    print("without ONNX Runtime, whose rows are left out; to have them:\n"
          "  mkdir -p FOLDER && cd FOLDER && ONNXRUNTIME_NODE_INSTALL_CUDA=skip npm install onnxruntime-node\n"
          "  and ONNXRUNTIME=FOLDER bench/run.sh ...", file=sys.stderr)
    return None


def work_cases(bench, mode):
    """Training or inference, every precision, beside the peers."""
    for model, distribution in itertools.product(bench.models, bench.distributions):
        count = bench.batches(mode, model, distribution)
        names, contenders = bench.precisions, {}
        peers = [(bench.eager, "eager", ["fp32"])]
        if mode == "train":
            names = bench.training_precisions()
            peers = [(bench.eager, "eager", names)]
        elif bench.onnx:
            peers.append((bench.onnx, "onnx", [name for name in names if name != "bf16"]))
        for name in names:
            contenders[f"simile {name}"] = functools.partial(getattr(bench.simile, mode), bench.model(model),
                                                             distribution, count, name)
        for peer, title, peer_names in peers:
            for name in peer_names:
                precision = [] if mode == "infer" and title == "eager" else [name]
                contenders[f"{title} {name}"] = functools.partial(getattr(peer, mode), model, distribution, count,
                                                                  *precision)
        yield Case(mode, model, distribution, {"batches": count, "threads": bench.threads}, contenders)


def latency_cases(bench):
    for model in bench.models:
        contenders = {}
        for name in ("fp32", "int8"):
            if name in bench.precisions:
                contenders[f"simile {name}"] = functools.partial(bench.simile.latency, bench.model(model), "short",
                                                                 LATENCY_CALLS, name)
                if bench.onnx:
                    contenders[f"onnx {name}"] = functools.partial(bench.onnx.latency, model, "short",
                                                                   LATENCY_CALLS, name)
        yield Case("latency", model, "short", {"calls": LATENCY_CALLS}, contenders)


def thread_cases(bench):
    for mode, distribution in itertools.product(("train", "infer"), bench.distributions):
        count = bench.batches(mode, "minilm", distribution)
        contenders = {str(threads): functools.partial(getattr(bench.simile, mode), bench.model("minilm"),
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
    model = bench.model(f"minilm-{LONGEST}", LONGEST)
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
    for model in bench.models:
        contenders = {f"simile {name}": functools.partial(bench.simile.memory, bench.model(model), "long", pairs, name)
                      for name in bench.training_precisions()}
        contenders["eager fp32"] = functools.partial(bench.eager.memory, model, "long", pairs, limit)
        yield Case("memory", model, "long", {"pairs": pairs, "threads": bench.threads}, contenders)


def profile_cases(bench):
    if not shutil.which("perf") or run(["perf", "stat", "true"], may_fail=True).code != 0:
        print("without perf, or not allowed to use it: no shares by function", file=sys.stderr)
        return
    for distribution in bench.distributions:
        model = bench.model("minilm")
        contenders = {f"{work} {name}": functools.partial(bench.simile.profile, work, model, distribution, name)
                      for work, names in (("train", bench.training_precisions()), ("infer", bench.precisions))
                      for name in names}
        yield Case("profile", "minilm", distribution, {"threads": bench.threads}, contenders)


CASES = {"train": lambda bench: work_cases(bench, "train"), "infer": lambda bench: work_cases(bench, "infer"),
         "latency": latency_cases, "threads": thread_cases, "program": program_cases, "long": long_cases,
         "memory": memory_cases, "profile": profile_cases}


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
    if not os.path.isdir(f"{SHARED}/peers"):
        fail(f"{SHARED}/peers is missing: it holds the workloads and the peers")
    if run([PYTHON, "-c", "import numpy, torch"], may_fail=True).code != 0:
        fail(f"{PYTHON} lacks torch or numpy: apt-get install python3-torch python3-numpy libopenblas0-openmp")
    scripts = [path for ending in ("py", "mjs") for path in glob.glob(f"{SHARED}/peers/*.{ending}")]
    for path in scripts + ["bench/onnx_latency.mjs"]:
        target = os.path.join(bench.work, os.path.basename(path))
        if not os.path.exists(target):
            shutil.copyfile(path, target)
    if not os.path.exists(os.path.join(bench.work, "ids_long.bin")):
        run([PYTHON, "lengths.py"], bench.work)


def describe_machine(bench, runs):
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        processor = next((line.split(":", 1)[1].strip() for line in lines
                          if line.startswith("model name")), platform.machine())
    version = next((entry["result"] for entry in runs if "onednn" in entry["result"]), {})
    loads = [entry["load"] for entry in runs if entry["mode"] != "memory"]  # which other work does not change
    return {"processor": processor, "processors": os.cpu_count(), "threads": bench.threads,
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "instructions": version.get("instructions"), "onednn": version.get("onednn"),
            "libtorch": version.get("torch"), "peer_torch": bench.eager.version(),
            "peer_environment": " ".join(f"{name}={value}" for name, value in peer_environment().items()),
            "onnxruntime": bench.onnx.version() if bench.onnx else None, "system": platform.platform(),
            "load_average": [min(loads), max(loads)]}


def main(build="build/release", output="docs"):
    work = os.environ.get("WORK") or tempfile.mkdtemp()
    work = os.path.abspath(work)
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
                limit = ROUNDS.get((case.mode, case.model, case.distribution), bench.rounds)
                measure(case, min(bench.rounds, limit), log)
        os.makedirs(os.path.join(output, "results"), exist_ok=True)
        result = os.path.join(output, "results", "bench.json")
        summarize.write(describe_machine(bench, log.runs), log.runs, result)
        performance_page.write(result, os.path.join(output, "performance.md"))
    finally:
        if not os.environ.get("WORK"):
            shutil.rmtree(work)


if __name__ == "__main__":
    if len(sys.argv) > 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
