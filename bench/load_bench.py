# SPDX-License-Identifier: Apache-2.0
"""Wall time and peak memory of loading a model and embedding one text: from process start to the first
byte of the vector on stdout, and to exit.

usage: load_bench.py MODEL_FOLDER ROUNDS NAME=SIMILE_PROGRAM [NAME=SIMILE_PROGRAM ...]

Starts `simile encode` of each program in turn, the text on stdin, ROUNDS times after one unmeasured start
that brings program and model into the page cache. Every vector is checked first: length 1, and the same numbers from all
programs. One JSON object a line on stdout. Imports no numpy: a child's
peak memory counts what its parent held when it was started.
"""
import json
import math
import os
import statistics
import sys
import tempfile
import time
from typing import NamedTuple

TEXT = "The quick brown fox jumps over the lazy dog.\n"
LARGEST_DIFFERENCE = 1e-6


class Run(NamedTuple):
    seconds: float  # from start to exit
    first_vector_seconds: float  # from start to the first byte of output
    cpu_seconds: float  # of all threads, user and system
    peak_bytes: int
    page_faults_to_disk: int
    output: bytes


def start(program, model, text_path):
    """Runs one `simile encode` of the text in a file."""
    command = [program, "encode", "--model", model, "--quiet"]
    reading, writing = os.pipe()
    files = [(os.POSIX_SPAWN_OPEN, 0, text_path, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, writing, 1),
             (os.POSIX_SPAWN_CLOSE, writing), (os.POSIX_SPAWN_CLOSE, reading)]
    begin = time.perf_counter()
    pid = os.posix_spawn(program, command, os.environ, file_actions=files)
    os.close(writing)
    output = os.read(reading, 1)
    first = time.perf_counter() - begin
    while more := os.read(reading, 1 << 16):
        output += more
    os.close(reading)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - begin
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"load_bench.py: {' '.join(command)} failed")
    return Run(seconds, first, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, usage.ru_majflt,
               output)


def check_vector(name, vector, reference):
    length = math.sqrt(sum(x * x for x in vector))
    if abs(length - 1) > 1e-4:
        sys.exit(f"load_bench.py: {name} gave {len(vector)} numbers of length {length}, expected length 1")
    if len(vector) != len(reference) or max(abs(a - b) for a, b in zip(vector, reference)) > LARGEST_DIFFERENCE:
        sys.exit(f"load_bench.py: {name} gave another vector than the first program")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    model, rounds = sys.argv[1], int(sys.argv[2])
    programs = dict(argument.split("=", 1) for argument in sys.argv[3:])
    model_bytes = sum(os.path.getsize(os.path.join(folder, name))
                      for folder, _, names in os.walk(model) for name in names if name.endswith(".safetensors"))
    measured = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as folder:
        text_path = os.path.join(folder, "text.txt")
        with open(text_path, "w", encoding="utf-8") as text:
            text.write(TEXT)
        reference = None
        for name, program in programs.items():
            vector = json.loads(start(program, model, text_path).output)["embedding"]
            reference = reference or vector
            check_vector(name, vector, reference)
        for _ in range(rounds):
            for name, program in programs.items():
                measured[name].append(start(program, model, text_path))
    for name, runs in measured.items():
        peak = max(run.peak_bytes for run in runs)
        first = [run.first_vector_seconds for run in runs]
        print(json.dumps({
            "mode": "load", "program": name, "seconds": [run.seconds for run in runs],
            "milliseconds_median": 1e3 * statistics.median(run.seconds for run in runs),
            "milliseconds_best": 1e3 * min(run.seconds for run in runs),
            "first_vector_milliseconds_median": 1e3 * statistics.median(first),
            "first_vector_milliseconds_best": 1e3 * min(first),
            "cpu_milliseconds_median": 1e3 * statistics.median(run.cpu_seconds for run in runs),
            "peak_bytes": peak, "model_bytes": model_bytes, "memory_ratio": peak / model_bytes,
            "page_faults_to_disk": max(run.page_faults_to_disk for run in runs)}))


if __name__ == "__main__":
    main()
