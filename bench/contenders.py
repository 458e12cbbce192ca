# SPDX-License-Identifier: Apache-2.0
"""How each contender of bench/run.sh is started, and its answer: a dict with the figures of one run.

`rate` is in sentences or pairs a second, `peak_bytes` the most that was resident in a process of its own.
"""
import array
import json
import math
import operator
import os
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

PYTHON = sys.executable
SEQUENCES = 64  # whose vectors are compared
TOLERANCE = {"fp32": 1e-4, "bf16": 5e-2, "int8": math.inf}  # of vectors of length 1 and of losses
PROFILE_LINE = re.compile(r"\s*([\d.]+)%\s+\[[.k]\]\s+(.*\S)")
TEMPLATE = re.compile(r"[<(\[].*$")
PROFILE_DELAY = 4000  # ms
# Batches and rounds, enough for seconds.
PROFILED = {("train", "short"): (80, 1), ("train", "mixed"): (15, 1), ("train", "even"): (5, 1),
            ("infer", "short"): (64, 20), ("infer", "mixed"): (64, 5), ("infer", "even"): (64, 2)}
NO_MEMORY = re.compile(r"can't allocate memory|MemoryError|bad_alloc")


class Answer(NamedTuple):
    output: str
    errors: str
    code: int
    seconds: float
    peak_bytes: int


def fail(text):
    sys.exit(f"bench/run.sh: {text}")


def run(command, folder=None, environment=None, may_fail=False):
    command = [str(word) for word in command]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=errors, cwd=folder,
                                   env={**os.environ, **(environment or {})})
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        answer = Answer(output.read(), errors.read(), process.returncode, seconds, usage.ru_maxrss * 1024)
    if answer.code != 0 and not may_fail:
        fail(f"{' '.join(command)} ended with {answer.code}:\n{answer.errors[-2000:]}")
    return answer


def read_profile(output):
    """{function: share}, the largest first; instances of a template are one function."""
    shares = {}
    for line in output.splitlines():
        match = PROFILE_LINE.match(line)
        if match:
            symbol = match.group(2).replace("(anonymous namespace)::", "").replace("simile::", "")
            symbol = TEMPLATE.sub("", symbol).strip()
            shares[symbol] = shares.get(symbol, 0) + float(match.group(1)) / 100
    return dict(sorted(shares.items(), key=lambda entry: -entry[1]))


class Simile:
    def __init__(self, build, work, threads):
        self.bench = os.path.join(build, "bench", "simile_bench")
        self.program = os.path.join(build, "cli", "simile")
        self.work, self.threads = work, threads

    def model(self, name):
        return os.path.join(self.work, name)

    def inputs(self, model, distribution):
        """The folders of model and workload, and the workload's name."""
        return self.model(model), f"{self.model(model)}_ids", distribution

    def measure(self, mode, *arguments):
        answer = run([self.bench, mode, *arguments])
        result = json.loads(answer.output)
        result["process_peak_bytes"] = answer.peak_bytes
        return result

    def measure_work(self, mode, model, distribution, count, precision, threads):
        rounds, dropout = [] if mode == "latency" else [1], [0.1] if mode == "train" else []
        result = self.measure(mode, *self.inputs(model, distribution), count, *rounds, threads, *dropout, precision)
        rates = [result[name] for name in ("sentences_per_second", "pairs_per_second") if name in result]
        return {"rate": rates[0], **result} if rates else result

    def memory(self, model, distribution, pairs, precision):
        result = self.measure("memory", *self.inputs(model, distribution), 1, pairs, self.threads, precision)
        return {**result, "peak_bytes": result["process_peak_bytes"], "finished": True}

    def profile(self, work, model, distribution, precision):
        """Shares of the processor's time by function, from perf; the first seconds, of checks, are left out."""
        samples = os.path.join(self.work, "perf.data")
        batches, rounds = PROFILED[work, distribution]
        dropout = [0.1] if work == "train" else []
        run(["perf", "record", "-q", "-o", samples, "-F", "499", "-D", PROFILE_DELAY, "--", self.bench, work,
             *self.inputs(model, distribution), batches, rounds, self.threads, *dropout, precision])
        answer = run(["perf", "report", "-q", "-i", samples, "--no-children", "-g", "none", "-F", "overhead,symbol",
                      "--stdio", "--percentage", "relative", "--dsos",
                      "simile_bench,[kernel.kallsyms],libc.so.6,libgomp.so.1"])  # not oneDNN, which measures the peak
        os.remove(samples)
        return {"shares": read_profile(answer.output)}

    def texts(self, model, path, precision):
        return self.measure("texts", self.model(model), path, self.threads, precision)

    def long(self, model, work, tokens):
        return self.measure("long", self.model(model), work, tokens, self.threads)

    def encode(self, model, path, precision):
        """The whole program, from start to exit; that its vectors are there and have length 1 is checked."""
        output = os.path.join(self.work, "vectors.npy")
        answer = run([self.program, "encode", "--quiet", "--model", self.model(model), "--input", path, "--output",
                      output, "--threads", self.threads, "--precision", precision])
        with open(path, encoding="utf-8") as lines:
            rows = sum(1 for _ in lines)
        with open(output, "rb") as file:
            header = file.read(10)
            fields = file.read(int.from_bytes(header[8:10], "little")).decode()
            vectors = array.array("f", file.read())
        size = len(vectors) // rows
        lengths = [math.hypot(*vectors[i * size:(i + 1) * size]) for i in (0, rows - 1)]
        if f"({rows}, {size})" not in fields or any(abs(length - 1) > 1e-4 for length in lengths):
            fail(f"simile encode wrote other vectors than expected: {fields}, lengths {lengths}")
        return {"texts": rows, "seconds": answer.seconds, "peak_bytes": answer.peak_bytes}


def peer(mode, engine, precision, *arguments):
    return json.loads(run([PYTHON, "-W", "ignore", "bench/peer.py", mode, engine, precision, *arguments]).output)


def peer_memory(precision, inputs, threads, pairs, limit):
    """Of a process that may have `limit` bytes: where that is too little, what it had when it failed."""
    command = [PYTHON, "bench/peer.py", "train", "torch", precision, *inputs, 1, threads, pairs]
    answer = run(["prlimit", f"--data={limit}", *command], may_fail=True)
    if answer.code != 0 and not NO_MEMORY.search(answer.errors):
        fail(f"{command} ended with {answer.code}:\n{answer.errors[-2000:]}")
    return {"pairs": pairs, "peak_bytes": answer.peak_bytes, "finished": answer.code == 0, "limit_bytes": limit}


def loss_of(vectors):
    """Cross entropy of 20 times the cosines of the first half's vectors with the second half's."""
    width = len(vectors) // SEQUENCES
    rows = [vectors[at:at + width] for at in range(0, len(vectors), width)]
    half, loss = SEQUENCES // 2, 0
    for i, left in enumerate(rows[:half]):
        scores = [20 * sum(map(operator.mul, left, right)) for right in rows[half:]]
        loss += math.log(sum(map(math.exp, scores))) - scores[i]
    return loss / half


def compare(result, expected, who):
    """Ends the program where vectors, or the loss of a first step, are not those of torch in fp32.

    In int8 the page tells how near they are.
    """
    tolerance = TOLERANCE[who.split()[1]]
    vectors = result.pop("vectors", None)
    if vectors:
        result["difference"] = max(abs(a - b) for a, b in zip(vectors, expected["vectors"], strict=True))
        result["cosine"] = sum(map(operator.mul, vectors, expected["vectors"])) / SEQUENCES
    elif "loss_first" in result:
        result["difference"] = abs(result["loss_first"] - expected["loss"])
    if result.get("difference", 0) > tolerance:
        fail(f"answers of {who} differ from torch's in fp32 by {result['difference']}, expected at most {tolerance}")
    return result
