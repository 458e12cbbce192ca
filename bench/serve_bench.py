# SPDX-License-Identifier: Apache-2.0
"""`simile serve` beside other servers of the same model, on the same processors, one after the other.

usage: serve_bench.py BUILD_FOLDER MODEL_FOLDER PEER_PYTHON [INFINITY_PYTHON]

Prints Markdown tables: texts a second and times of /embed with 1, 8, 64 and 512 clients, each sending one text after
the other; the same beside 2,000 idle connections and 300 that send a byte a second; twice the load that the server
bears. PEER_PYTHON has sentence-transformers, fastapi and uvicorn; INFINITY_PYTHON has infinity-emb[server,torch].
The clients (simile_serve_load) share the processors with the server, and check answers: of Simile to the bit, of others
to 1e-4. A figure is the median of the rounds.

From the environment: THREADS (all), ROUNDS (3), SECONDS (10) a figure, OVERLOAD (600) seconds; 0 leaves it out.
"""
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
QUERIES = os.path.join(HERE, "../examples/faq/queries.tsv")
CLIENTS = (1, 8, 64, 512)
IDLE, SLOW = 2000, 300


def setting(name, fallback):
    return int(os.environ.get(name) or fallback)


THREADS = setting("THREADS", os.cpu_count())
SECONDS = setting("SECONDS", 10)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def is_up(url):
    try:
        return urllib.request.urlopen(url, timeout=1).status < 500
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


@contextlib.contextmanager
def server(command, port, path="/health"):
    """A server, once it answers; ended, however the block ends."""
    running = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={**os.environ, "OMP_NUM_THREADS": str(THREADS)})
    try:
        while not is_up(f"http://127.0.0.1:{port}{path}"):
            if running.poll() is not None:
                sys.exit(f"serve_bench.py: {command[0]} ended with {running.returncode}")
            time.sleep(0.2)
        yield running
    finally:
        running.terminate()
        running.wait()


def load(build, model, texts, port, clients, peer, seconds=SECONDS, per_request=1, rate=0, pid=0, hostile=0):
    done = subprocess.run([f"{build}/bench/simile_serve_load", model, texts, *map(str, (
        port, clients, seconds, per_request, rate, pid, hostile)), *([peer] if peer else [])],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"serve_bench.py: {done.stderr}")
    told = json.loads(done.stdout)
    if told["wrong"] > 0:
        sys.exit(f"serve_bench.py: wrong answers: {done.stdout}")
    return told


def resident_mb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) // 1024


class Crowd:
    """Connections that send nothing, and others that send a request's head byte by byte."""

    def __init__(self, port):
        self.ending = threading.Event()
        self.slowest_health = 0.0
        self.sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(IDLE + SLOW)]
        self.threads = [threading.Thread(target=run, args=(port,)) for run in (self.dribble, self.ask_health)]
        for thread in self.threads:
            thread.start()

    def dribble(self, port):
        head, at = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 10000, [0] * SLOW
        while not self.ending.wait(1):
            for n in range(SLOW):
                try:
                    self.sockets[n].send(head[at[n]:at[n] + 1])
                    at[n] += 1
                except OSError:  # closed by the time limit of headers
                    self.sockets[n] = socket.create_connection(("127.0.0.1", port))
                    at[n] = 0

    def ask_health(self, port):
        while not self.ending.wait(0.2):
            start = time.perf_counter()
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=30).read()
            self.slowest_health = max(self.slowest_health, time.perf_counter() - start)

    def end(self):
        self.ending.set()
        for thread in self.threads:
            thread.join()
        for one in self.sockets:
            one.close()


def main():
    build, model, peer_python = sys.argv[1:4]
    texts = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"serve_bench-{os.getpid()}.txt")
    with open(QUERIES, encoding="utf-8") as table, open(texts, "w", encoding="utf-8") as lines:
        lines.writelines(line.split("\t")[1] + "\n" for line in table.read().splitlines()[1:])

    def simile(port):
        return [f"{build}/cli/simile", "serve", "--model", model, "--port", port, "--threads", THREADS, "--quiet"]

    contenders = [("simile serve", simile, "/health", None),
                  ("sentence-transformers, FastAPI", lambda port: [
                      peer_python, f"{HERE}/serve/st_server.py", model, port, THREADS], "/docs", "/embed")]
    if len(sys.argv) > 4:
        contenders.append(("infinity-emb", lambda port: [
            f"{os.path.dirname(sys.argv[4])}/infinity_emb", "v2", "--model-id", model, "--served-model-name", "default",
            "--port", port, "--engine", "torch", "--device", "cpu", "--no-bettertransformer",
            "--log-level", "error"], "/health", "/embeddings"))
    figures = {}
    for _ in range(setting("ROUNDS", 3)):
        for name, command, path, peer in contenders:
            port = free_port()
            with server(command(port), port, path) as running:
                load(build, model, texts, port, 8, peer, seconds=2)  # warms up
                for clients in CLIENTS:
                    told = load(build, model, texts, port, clients, peer)
                    refused = told["broken"] + sum(count for status, count in (told["statuses"] or {}).items()
                                                   if status != "200")
                    figures.setdefault((name, clients), []).append(
                        (told["texts_per_second"], told["p50_ms"], told["p99_ms"], refused))
                figures.setdefault((name, "memory"), []).append(resident_mb(running.pid))
    print("| server | clients | texts/s | p50, ms | p99, ms | refused or broken | memory, MB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, *_ in contenders:
        for clients in CLIENTS:
            rate, half, most, refused = (statistics.median(column) for column in zip(*figures[name, clients]))
            print(f"| {name} | {clients} | {rate:,.0f} | {half:.1f} | {most:.1f} | {refused:,.0f} | "
                  f"{statistics.median(figures[name, 'memory']):.0f} |", flush=True)

    name, command, path, peer = contenders[0]
    port = free_port()
    with server(command(port), port, path) as running:
        load(build, model, texts, port, 8, peer, seconds=2)
        alone = load(build, model, texts, port, 8, peer)
        crowd = Crowd(port)
        beside = load(build, model, texts, port, 8, peer)
        memory = resident_mb(running.pid)
        crowd.end()
        print(f"\n8 clients alone: p99 {alone['p99_ms']} ms, {alone['texts_per_second']:,.0f} texts/s; beside {IDLE:,} idle "
              f"connections and {SLOW} slow ones: {beside['p99_ms']} ms, {beside['texts_per_second']:,.0f} texts/s, "
              f"/health in {crowd.slowest_health * 1000:.0f} ms at most, {memory} MB", flush=True)
        seconds = setting("OVERLOAD", 600)
        if seconds > 0:
            borne = load(build, model, texts, port, 60, peer, per_request=16)["texts_per_second"]
            told = load(build, model, texts, port, 250, peer, seconds, 16, 2 * borne / 16, running.pid, hostile=8)
            print(f"\nTwice what it bears ({borne:,.0f} texts/s to 60 clients with 16 texts a request) for {seconds} s, "
                  f"eight hostile clients beside it:\n{json.dumps(told)}")
    os.remove(texts)


if __name__ == "__main__":
    main()
