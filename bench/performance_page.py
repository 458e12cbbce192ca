# SPDX-License-Identifier: Apache-2.0
"""docs/performance.md and the rows of README from what bench/run.sh measured.

usage: performance_page.py PAGE.md [--check]   (of results/bench/*.json beside the page, one for each machine)

README beside the page's folder, where there is one, gets the figures of the first machine. --check writes nothing, and
exits with 1 where a page says something else.
"""
import glob
import json
import os
import re
import sys

from summarize import LOAD_MEMORY, LOAD_MILLISECONDS

NAMES = {"torch": "PyTorch", "onnx": "ONNX Runtime", "openvino": "OpenVINO", "simile": "Simile",
         "sgemm": "oneDNN's sgemm peak, useful FLOP/s"}
MODES = {"train": "training", "infer": "inference", "latency": "one text", "threads train": "training",
         "threads infer": "inference"}

PRODUCTS = ("multiply_tile", "multiply_transposed_block", "matmul")
NARROW = ("bf16", "int8")
LEAST_SHARE = 0.01  # of the functions that are listed

HEAD = """# Speed and memory

Written by `bench/run.sh`; [bench/README.md](../bench/README.md) says what is measured and how. Each machine has a
section. All of a section comes from one build, and the contenders of a row took turns. The peer of a row is the
fastest in that precision. A ratio is median over median; in brackets are the smallest and the largest within a round.
No program can reach a target that takes more than 100 % of a peak.
[GPU support](gpu.md#speed) has figures of its own.
"""

PEAK = """The sgemm peak is what one call of oneDNN's `dnnl_sgemm` reaches on matrices of 2048 x 2048
in fp32, with as many threads and inside the measured processes, before and after their work: {peak} here,
the highest of the run. The peaks of bf16 and int8 are those of oneDNN's matmul of two such matrices, the
second in the order that oneDNN likes best, with sums in fp32 and int32. Useful operations are those of the tokens there
are, padding excluded: per layer 2 L (4 H² + 2 H I) + 4 L² H for a text of L tokens, three times that in
training. Softmax, GELU, LayerNorm, dropout, loss and optimiser count as none, so a share of 100 % is out
of reach.
"""

CEILING = """Shape `minilm`. Here the peak is the median of those that the measured processes themselves saw, before and
after their work: the clock of the moment, not the highest of the run. "Time in products" is that of the functions that
multiply matrices, and the last column what would be reached if they were as fast as the peak and all else stayed.
"""


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def quantity(row, value):
    return f"{100 * value:.0f} %" if row["unit"] == "share" else f"{value:.2f} ×"


def verdict(row):
    if row["target"] is None:
        return ""
    if row["measured"] is None:
        return "–"
    if row["met"] or row["met"] is None:
        return "met" if row["met"] else "not known"
    missed = row["measured"] / row["target"] - 1
    if (missed <= 0) == row["at_most"]:
        return "**missed by the cosine**"
    needed = row.get("share_of_peak_at_target")
    peak = next((f"{name}'s peak" for name in NARROW if name in row["what"]), "sgemm's peak")
    return (f"**missed by {100 * abs(missed):.0f} %**"
            + (f": it takes {100 * needed:.0f} % of {peak}" if needed else ""))


def target_rows(rows):
    for row in rows:
        goal = "–"
        if row["target"] is not None:
            sign = "≤" if row["at_most"] else "≥"
            goal = f"{sign} {100 * row['target']:.0f} %" if row["unit"] == "share" else f"{sign} {row['target']:g} ×"
        measured = "not measured"
        if row["measured"] is not None:
            measured = quantity(row, row["measured"])
            if row["rounds"] > 1:
                measured += f" ({quantity(row, row['low'])} to {quantity(row, row['high'])})"
            if row["note"]:
                measured += f", {row['note']}"
        yield row["row"], row["what"], named(row["against"]), goal, measured, verdict(row)


def named(who):
    first, *rest = who.split(" ")
    return " ".join([NAMES.get(first, first), *rest])


def share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else ""


def contender_rows(contenders, sgemm):
    for entry in contenders:
        work = MODES[entry["mode"]]
        who = entry["who"]
        if entry["mode"].startswith("threads"):
            who = f"simile fp32 {who} thread" + ("s" if who != "1" else "")
        if "rate" in entry:
            middle, unit = entry["rate"], "pairs/s" if work == "training" else "sentences/s"
        else:
            middle, unit = entry["milliseconds_median"], f"ms, 99 % in {entry['milliseconds_p99']:.2f} ms"
        spread = f" ({number(middle['low'])} to {number(middle['high'])})" if len(middle["values"]) > 1 else ""
        full_threads = not entry["mode"].startswith("threads")
        yield (work, entry["model"], entry["distribution"], named(who), f"{number(middle['median'])} {unit}{spread}",
               number(entry["gflops"]) if "gflops" in entry else "",
               share(entry["gflops"], sgemm) if "gflops" in entry and full_threads else "",
               "".join(share(entry["gflops"], entry[f"{name}_gemm_gflops"]) + f" of {entry[f'{name}_gemm_gflops']:.0f}"
                       for name in NARROW if f"{name}_gemm_gflops" in entry),
               f"{entry['cosine']:.4f}" if "cosine" in entry else "")


def phase_tables(contenders):
    steps = [entry for entry in contenders if entry["mode"] == "train" and "milliseconds_per_step" in entry]
    lines = []
    for who, title in (("simile", "Simile"), ("torch", "PyTorch")):
        entries = [entry for entry in steps if entry["who"].startswith(who)]
        if not entries:
            continue
        names = [name for name in entries[0]["milliseconds_per_step"] if name != "total"]
        rows = []
        for entry in entries:
            phases = entry["milliseconds_per_step"]
            whole = sum(phases[name] for name in names)
            rows.append((entry["model"], entry["distribution"], entry["who"].split()[1], f"{whole:.0f} ms",
                         *(share(phases[name], whole) for name in names)))
        lines += [f"{title}:", ""]
        lines += table(["model", "lengths", "precision", "step", *(name.replace("_", " ") for name in names)], rows)
    return ["## Where a training step of 32 pairs goes", "", *lines] if lines else []


def profile_table(profiles):
    if not profiles:
        return []
    rows = []
    for entry in profiles:
        work, precision = entry["who"].split()
        largest = [f"{name} {100 * part:.1f} %" for name, part in entry["shares"].items() if part >= LEAST_SHARE]
        rows.append((MODES[work], entry["distribution"], precision, ", ".join(largest)))
    return ["## Where the time goes, by function", "", "Shares of all samples that `perf` took, including threads that "
            f"wait for others; functions of at least {100 * LEAST_SHARE:.0f} %, shape `minilm`.", "",
            *table(["work", "lengths", "precision", "share of the processor's time"], rows)]


def ceiling_table(document):
    """How far products alone would carry a share of sgemm's peak, and what they are kept from by the rest."""
    rows = []
    for entry in document.get("profile", []):
        mode, precision = entry["who"].split()
        who = next((other for other in document["contenders"] if "sgemm_gflops" in other and
                    (other["mode"], other["model"], other["who"], other["distribution"]) ==
                    (mode, "minilm", f"simile {precision}", entry["distribution"])), None)
        if precision != "fp32" or who is None:
            continue
        reached = who["gflops"] / who["sgemm_gflops"]
        products = sum(part for name, part in entry["shares"].items() if name in PRODUCTS)
        rows.append((MODES[mode], entry["distribution"], f"{who['sgemm_gflops']:.0f} GFLOP/s",
                     *(share(part, 1) for part in (reached, products, reached / products,
                                                   reached / (reached + 1 - products)))))
    if not rows:
        return []
    return ["## What stands in the way in fp32", "", *CEILING.split("\n"),
            *table(["work", "lengths", "sgemm beside it", "reached of that", "time in products", "rate in products",
                    "all, were products as fast as sgemm"], rows)]


def memory_table(memory):
    if not memory:
        return []
    rows = [(entry["model"], entry["distribution"], named(entry["who"]), entry["pairs"],
             f"{entry['peak_bytes'] / 1e9:.2f} GB" if entry["finished"] else
             f"more than {entry['peak_bytes'] / 1e9:.2f} GB: none left of {entry['limit_bytes'] / 1e9:.1f}")
            for entry in memory]
    return ["## Peak memory of training", "",
            *table(["model", "lengths", "who", "pairs a step", "most that was resident"], rows)]


def long_table(entries):
    if not entries:
        return []
    rows = [("inference" if entry["work"] == "infer" else "training", entry["tokens"],
             f"{entry['seconds']['median']:.2f}", f"{entry['peak_bytes']['median'] / 1e6:.0f}",
             f"{entry['added_bytes']['median'] / 1e6:.0f}",
             f"{entry['added_bytes']['median'] / entry['tokens'] / 1e3:.1f}") for entry in entries]
    return ["## Long texts", "", "One text encoded, or a training step on a pair of such texts beside a pair of 16 "
            "tokens; random weights of the shape of `minilm`, 8192 positions, fp32. Attention never holds the scores "
            "of a whole text: memory grows with the length, time with its square. In training the bits of attention's "
            "dropout, one for each layer, head and pair of tokens, grow with the square too.", "",
            *table(["work", "tokens", "seconds", "peak MB", "MB above what was there before", "kB a token"], rows)]


def load_table(loads):
    if not loads:
        return []
    rows = [(load["program"], f"{load['milliseconds_median']:.0f}", f"{load['milliseconds_best']:.0f}",
             f"{load['peak_bytes'] / 1e6:.0f}", f"{load['memory_ratio']:.2f}",
             "met" if load["milliseconds_median"] < LOAD_MILLISECONDS and load["memory_ratio"] <= LOAD_MEMORY
             else "**missed**") for load in loads]
    return ["## Loading", "", f"A model of {loads[0]['model_bytes'] / 1e6:.0f} MB and one text, from start to exit of "
            f"`simile encode`; under {LOAD_MILLISECONDS:.0f} ms, at most {LOAD_MEMORY} times the model in memory. "
            "`serving` is the build without torch.", "",
            *table(["build", "median ms", "best ms", "peak MB", "times the model", ""], rows)]


def machine_lines(machine):
    memory = machine.get("memory_bytes")
    lines = ["## The machine", "", "{processor}, {processors} processors, {threads} threads, ".format(**machine)
             + (f"{memory / 1e9:.0f} GB of memory, " if memory else "") + machine["system"] + ".",
             "Simile: kernels for {instructions}, oneDNN {onednn}, libtorch {libtorch}.".format(**machine),
             "Peers: " + ", ".join(f"{name} {version}" for name, version in machine["peers"].items()) + "."]
    load = machine["load_average"]  # none: only memory was measured
    if load:
        lines.append("Load average while times were taken, the measured programs included: {:.2f} to {:.2f}."
                     .format(*load))
    lines.append("")
    if load and load[1] > machine["processors"] + 1:
        lines += ["**Other work ran meanwhile, which slows some contenders more than others: the verdicts do not "
                  "count. Measure again on a quiet machine.**", ""]
    return lines


def make_section(document):
    machine = document["machine"]
    peak = machine["sgemm_gflops"]
    lines = table(["", "what", "against", "target", "measured", ""], target_rows(document["targets"]))
    lines += PEAK.format(peak=f"{peak:.0f} GFLOP/s").split("\n")
    lines += ["## Every contender", ""]
    lines += table(["work", "model", "lengths", "who", "median (slowest to fastest round)", "useful GFLOP/s",
                    "of the sgemm peak", "of its own peak", "cosine to fp32"],
                   contender_rows(document["contenders"], peak))
    lines += phase_tables(document["contenders"]) + profile_table(document.get("profile", []))
    lines += ceiling_table(document) + memory_table(document["memory"])
    lines += long_table(document["long"]) + load_table(document["load"]) + machine_lines(machine)
    return [line.replace("## ", "### ", 1) if line.startswith("## ") else line for line in lines]


def fastest(document, mode, precision):
    """Simile's median on MiniLM's short texts and that of the fastest peer, with its name; None: not measured."""
    found = {entry["who"].split()[0]: entry.get("rate", entry.get("milliseconds_median"))["median"]
             for entry in document["contenders"]
             if (entry["mode"], entry["model"], entry["distribution"]) == (mode, "minilm", "short")
             and entry["who"].endswith(" " + precision)}
    mine = found.pop("simile", None)
    best = (min if mode == "latency" else max)(found, key=found.get, default=None)
    return None if mine is None or best is None else (mine, NAMES[best], found[best])


def readme_rows(document):
    """Rows of README's table by their first cell, of what was measured."""
    rows = {}
    for first, mode, precisions, unit in (
            ("train MiniLM, short pairs, fp32 / bf16", "train", ("fp32", "bf16"), "pairs/s"),
            ("encode short texts, MiniLM, fp32 / int8", "infer", ("fp32", "int8"), "texts/s"),
            ("one short text, one thread, fp32 / int8", "latency", ("fp32", "int8"), "ms")):
        found = [fastest(document, mode, precision) for precision in precisions]
        if None not in found:
            (mine, peer, theirs), (mine_then, peer_then, theirs_then) = found
            between = " / " if peer == peer_then else f" / {peer_then} "
            rows[first] = (f"{number(mine)} / {number(mine_then)} {unit}",
                           f"{peer} {number(theirs)}{between}{number(theirs_then)}")
    for row in document["targets"]:
        if row["what"].startswith("peak memory of training fp32, minilm, mixed"):
            rows["memory to train MiniLM, 64 mixed pairs, fp32"] = (f"{row['measured']:.2f} ×", "that of PyTorch")
    sources = ["[performance](docs/performance.md), `bench/run.sh`"] + ["performance"] * len(rows)
    return {first: f"| {first} | {ours} | {theirs} | {source} |"
            for (first, (ours, theirs)), source in zip(rows.items(), sources)}


def with_rows(text, rows):
    for first, line in rows.items():
        text, count = re.subn(rf"^\| {re.escape(first)} \|.*$", lambda _, line=line: line, text, flags=re.M)
        if count != 1:
            sys.exit(f"README: expected one row '{first}', found {count}")
    return text


def pages(target):
    """What each page should say, by its path."""
    lines, documents = HEAD.split("\n"), []
    for source in sorted(glob.glob(os.path.join(os.path.dirname(target), "results", "bench", "*.json"))):
        with open(source, encoding="utf-8") as file:
            documents.append(json.load(file))
        name = os.path.basename(source)
        lines += [f"## {name.removesuffix('.json')}", "", f"All runs: [{name}](results/bench/{name}).", "",
                  *make_section(documents[-1])]
    made = {target: "\n".join(lines)}
    readme = os.path.join(os.path.dirname(target), "..", "README.md")
    if os.path.exists(readme):
        with open(readme, encoding="utf-8") as file:
            made[readme] = with_rows(file.read(), readme_rows(documents[0]))
    return made


def write(target):
    for path, text in pages(target).items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def check(target):
    for path, text in pages(target).items():
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit(f"{path} is not what results/bench says: run bench/performance_page.py {target}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    (check if sys.argv[2:] else write)(sys.argv[1])
