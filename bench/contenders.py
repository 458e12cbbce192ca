# SPDX-License-Identifier: Apache-2.0
"""How each contender of bench/run.sh is started, and its answer: a dict with the figures of one run.

`rate` is in sentences or pairs a second, `peak_bytes` the most that was resident in a process of its own.
"""
import array
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

PYTHON = "/usr/bin/python3"
ONNX_TOLERANCE = {"fp32": 1e-4, "int8": 5e-2}  # of vectors of length 1
PEER = re.compile(r"RES \w+ \S+ \w+ \w+ b\d+ t\d+: ([\d.]+) (?:pairs|sent)/s  ([\d.]+) GFLOP/s"
                  r"(?:  fwd ([\d.]+) bwd ([\d.]+) opt ([\d.]+) ms/step)?")
PROFILE_LINE = re.compile(r"\s*([\d.]+)%\s+\[[.k]\]\s+(.*\S)")
TEMPLATE = re.compile(r"[<(\[].*$")
PROFILE_DELAY = 4000  # ms
PROFILED = {("train", "short"): (80, 1), ("train", "long"): (15, 1), ("infer", "short"): (64, 20),
            ("infer", "long"): (64, 5)}  # batches and rounds, enough for seconds
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


def peer_environment():
    """The peer's BLAS as fast as it gets here: Debian's OpenBLAS does not know newer processors by itself."""
    environment = {}
    openmp_blas = f"/usr/lib/{platform.machine()}-linux-gnu/openblas-openmp"
    if os.path.isdir(openmp_blas):
        environment["LD_LIBRARY_PATH"] = openmp_blas
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        if " avx512f" in lines.read():
            environment["OPENBLAS_CORETYPE"] = "SkylakeX"
    return environment


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

    def measure(self, mode, *arguments):
        answer = run([self.bench, mode, *arguments])
        result = json.loads(answer.output)
        result["process_peak_bytes"] = answer.peak_bytes
        return result

    def infer(self, model, distribution, batches, precision, threads=None):
        result = self.measure("infer", self.model(model), self.work, distribution, batches, 1,
                              threads or self.threads, precision)
        return {"rate": result["sentences_per_second"], **result}

    def train(self, model, distribution, batches, precision, threads=None):
        result = self.measure("train", self.model(model), self.work, distribution, batches, 1,
                              threads or self.threads, 0.1, precision)
        return {"rate": result["pairs_per_second"], **result}

    def memory(self, model, distribution, pairs, precision):
        result = self.measure("memory", self.model(model), self.work, distribution, 1, pairs, self.threads, precision)
        return {**result, "peak_bytes": result["process_peak_bytes"], "finished": True}

    def latency(self, model, distribution, calls, precision):
        return self.measure("latency", self.model(model), self.work, distribution, calls, 1, precision)

    def profile(self, work, model, distribution, precision):
        """Shares of the processor's time by function, from perf; the first seconds, of checks, are left out."""
        samples = os.path.join(self.work, "perf.data")
        batches, rounds = PROFILED[work, distribution]
        dropout = [0.1] if work == "train" else []
        run(["perf", "record", "-q", "-o", samples, "-F", "499", "-D", PROFILE_DELAY, "--", self.bench, work,
             self.model(model), self.work, distribution, batches, rounds, self.threads, *dropout, precision])
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


class Eager:
    """PyTorch as sentence-transformers runs it."""

    def __init__(self, work, threads):
        self.work, self.threads = work, threads
        self.environment = peer_environment()

    def command(self, mode, variant, model, distribution, batch, batches, precision="fp32"):
        return [PYTHON, os.path.abspath("bench/eager_peer.py"), precision, mode, variant, model, distribution, batch,
                self.threads, batches]

    def measure(self, *arguments, **options):
        answer = run(self.command(*arguments, **options), self.work, self.environment)
        return read_peer(answer.output)

    def infer(self, model, distribution, batches):
        return self.measure("infer", "paddedsorted", model, distribution, 32, batches)

    def train(self, model, distribution, batches, precision):
        return self.measure("train", "padded", model, distribution, 32, batches, precision=precision)

    def memory(self, model, distribution, pairs, limit):
        """Of a process that may have `limit` bytes: where that is too little, what it had when it failed."""
        command = self.command("train", "padded", model, distribution, pairs, 1)
        answer = run(["prlimit", f"--data={limit}", *command], self.work, self.environment, may_fail=True)
        if answer.code != 0 and not NO_MEMORY.search(answer.errors):
            fail(f"{command} ended with {answer.code}:\n{answer.errors[-2000:]}")
        return {"pairs": pairs, "peak_bytes": answer.peak_bytes, "finished": answer.code == 0, "limit_bytes": limit}

    def version(self):
        return run([PYTHON, "-c", "import torch; print(torch.__version__)"]).output.strip()


class Onnx:
    """ONNX Runtime for node, in `folder`."""

    def __init__(self, folder, work, threads):
        self.work, self.threads = work, threads
        self.package = os.path.join(os.path.abspath(folder), "node_modules", "onnxruntime-node", "package.json")
        modules = os.path.join(work, "node_modules")
        if not os.path.lexists(modules):
            os.symlink(os.path.join(os.path.abspath(folder), "node_modules"), modules)

    def model(self, model, precision):
        names = {"fp32": f"{model}.onnx", "int8": f"{model}_int8.onnx"}
        if not os.path.exists(os.path.join(self.work, names["int8"])):
            run([PYTHON, "export_onnx.py", model], self.work, peer_environment())
        return names[precision]

    def infer(self, model, distribution, batches, precision):
        answer = run(["node", "onnxruntime.mjs", self.model(model, precision), "paddedsorted", model, distribution,
                      32, self.threads, batches], self.work)
        difference = float(re.search(r"max\|diff\| vs torch (\S+)", answer.errors).group(1))
        if not difference <= ONNX_TOLERANCE[precision]:
            fail(f"ONNX Runtime's vectors of {model} in {precision} differ from torch's by {difference}")
        return {"difference_from_torch": difference, **read_peer(answer.output)}

    def latency(self, model, distribution, calls, precision):
        script = os.path.join(self.work, "onnx_latency.mjs")
        answer = run(["node", script, self.model(model, precision), f"{model}_ref.json", distribution, calls, 1,
                      ONNX_TOLERANCE[precision]], self.work)
        return json.loads(answer.output)

    def version(self):
        with open(self.package, encoding="utf-8") as file:
            return json.load(file)["version"] + ", node " + run(["node", "--version"]).output.strip()


def read_peer(output):
    match = PEER.search(output)
    if not match:
        fail(f"the peer printed another line than expected: {output}")
    rate, gflops, forward, backward, optimizer = match.groups()
    result = {"rate": float(rate), "gflops": float(gflops)}
    if forward and float(backward) > 0:
        result["milliseconds_per_step"] = {"forward_and_loss": float(forward), "backward": float(backward),
                                           "optimizer": float(optimizer)}
    return result
