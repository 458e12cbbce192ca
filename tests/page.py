#!/usr/bin/env python3
"""Runs every command block of a page as a reader copies it, and compares what the page shows.

  tests/page.py PROGRAM PAGE

A block marked ```sh holds commands. All of them run in one shell, in an empty folder with links to
what the repository holds. A block whose first line is `# needs ...` (the network, root, ...) is
skipped, and its name is printed; one that needs all-MiniLM-L6-v2 runs if scripts/get-published.sh has
fetched it. A block marked ```text shows output: the commands must print each of
its lines, with any numbers; `...` stands for anything. The output of a skipped block is not compared.
In README and tutorial no other block may begin with a command. A server takes a free port in place of
8080. Exits 77, "skipped: ...", without a curl that has --json, if the page needs one.
"""
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
LINKED = ("examples", "recipes", "scripts", "tools")
# Pages all of whose commands run; others have examples for data that the repository lacks too.
EVERY_BLOCK = ("README.md", "docs/tutorial.md")
# What pages do not show, but commands must print.
EXPECTED = {
    "README.md": [r'"id":"password-forgotten"', r'"object":"embedding"', r'"hits":\[\{"id":"tea"'],
    "docs/server.md": [r"^\[\[-?0\.\d", r'"object":"embedding"', r'"openapi":"3', r'"index":1,"score"'],
    "docs/tutorial.md": [r"^checksums +right", r"^verdict: helped", r"billing-cancel-renewal"],
}
START = """set -m
curl() { command curl -sS --fail-with-body "$@" && echo; }
await() { command curl -s --retry 50 --retry-delay 1 --retry-connrefused "localhost:$1/ready"; }
"""


def blocks(text):
    """(line number, mark, lines) of each fenced block."""
    found, begin = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("```"):
            if begin is not None:
                found[-1][2].append(line)
        elif begin is None:
            begin = number
            found.append((number, line.strip()[3:], []))
        else:
            begin = None
    return found


def pattern(line):
    """The line with any numbers (a page may write digits as ?) and any spaces; ... is anything."""
    out = ""
    for part in re.split(r"(\.\.\.|\d[\d?]*(?:[.,][\d?]+)*(?:e-?\d+)?|\s+)", line.strip()):
        if part == "...":
            out += ".*"
        elif part.isspace():
            out += r"\s+"
        elif re.match(r"\d", part):
            out += r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
        else:
            out += re.escape(part)
    return out


def published():
    """A hub's cache with all-MiniLM-L6-v2, in a new folder; None if scripts/get-published.sh has not fetched it."""
    found = subprocess.run([SOURCE / "scripts/get-published.sh", "--find", "all-MiniLM-L6-v2"], capture_output=True, text=True)
    if found.returncode != 0:
        return None
    cache = pathlib.Path(tempfile.mkdtemp())
    model = cache / "models--sentence-transformers--all-MiniLM-L6-v2"
    for name in ("refs", "snapshots"):
        (model / name).mkdir(parents=True)
    (model / "refs/main").write_text("0" * 40)
    (model / "snapshots" / ("0" * 40)).symlink_to(found.stdout.strip())
    return cache


def main():
    program, page = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    commands, shown, count, ran, hub = START, [], 0, False, published()
    port = random.randint(20000, 32000)
    text = (SOURCE / page).read_text()
    for number, mark, lines in blocks(text):
        needs = re.match(r"# needs (.*?)(:.*)?$", lines[0]) if lines else None
        if needs and hub and "all-MiniLM-L6-v2" in needs[1]:
            needs = None
        if mark == "sh":
            ran = needs is None
        if mark == "sh" and needs:
            print(f"skipped: {page}:{number} needs {needs[1]}: {lines[-1]}")
        elif mark == "sh":
            count += 1
            for line in lines:
                line = line.replace("8080", str(port))
                if line.startswith("kill %1"):
                    line += "\nwait %1"
                if re.match(r"simile serve.*&$", line):
                    line += f"\nawait {port}"
                commands += line + "\n"
        elif mark == "text":
            shown += [(number, line) for line in lines if ran and line.strip(" .")]
        elif page in EVERY_BLOCK and any(re.match(r"(\$ )?(simile|scripts/\S+) ", line) for line in lines):
            sys.exit(f"{page}:{number}: commands in a block that is not marked sh")
    if count == 0:
        sys.exit(f"{page}: no block to run")
    if "--json '" in commands and (not shutil.which("curl") or "--json" not in subprocess.run(
            ["curl", "--help", "all"], capture_output=True, text=True, check=True).stdout):
        print("skipped: no curl with --json")
        sys.exit(77)

    with tempfile.TemporaryDirectory() as folder:
        own, bin_folder = pathlib.Path(folder, "own"), pathlib.Path(folder, "bin")
        own.mkdir()
        bin_folder.mkdir()
        (bin_folder / "simile").symlink_to(program)
        for name in LINKED:
            (own / name).symlink_to(SOURCE / name)
        environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}")
        if hub:
            environment.update(HF_HUB_CACHE=str(hub), HF_HUB_OFFLINE="1")
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=own, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if hub:
        shutil.rmtree(hub)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        sys.exit(f"{said[-4000:]}\n{page}: the commands above ended with {done.returncode}")
    wrong = [f"{page}:{number}: not printed: {line}" for number, line in shown
             if not re.search(pattern(line), said)]
    wrong += [f"{page}: expected {wanted}" for wanted in EXPECTED.get(page, [])
              if not re.search(wanted, said, re.MULTILINE)]
    if wrong:
        sys.exit("\n".join([said[-4000:]] + wrong))
    print(f"{page}: ran {count} blocks, compared {len(shown)} lines")


if __name__ == "__main__":
    main()
