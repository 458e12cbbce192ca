# SPDX-License-Identifier: Apache-2.0
"""Compares the answers that bench/static.sh recorded, then prints medians and ratios.

usage: static_summary.py RAW.jsonl OUTPUT_FOLDER     (THREADS from the environment)

Losses of the first steps agree with the peer's within 0.001 of them (bf16: 0.01), first numbers of
vectors within 1e-5; otherwise it stops. Writes static.json (every run) and static.md (the table).
Rates are per second of wall time and per second of processor time, which other programs disturb less.
"""
import json
import os
import platform
import statistics
import sys

COMPARED_STEPS = 5
AIMS = {"train": 25000, "encode": 150000}  # a processor second, at 256 numbers


def check_losses(found, expected, name):
    tolerance = 1e-2 if "bf16" in name else 1e-3
    for step, (a, b) in enumerate(zip(found[:COMPARED_STEPS], expected), 1):
        if abs(a - b) > tolerance * b:
            sys.exit(f"static_summary.py: {name}: the loss of step {step} is {a}, the peer's {b}")


def check_numbers(found, expected):
    for a, b in zip(found, expected):
        if abs(a - b) > 1e-5:
            sys.exit(f"static_summary.py: a number of a vector is {a}, the peer's {b}")


def rates(results):
    unit = "pairs" if results[0]["mode"] == "train" else "texts"
    return {key: statistics.median(r[f"{unit}_per_{key}"] for r in results)
            for key in ("second", "processor_second")}


def summarise(runs):
    rows = []
    for width in dict.fromkeys(run["width"] for run in runs):
        def of(who):
            return [run["result"] for run in runs if (run["who"], run["width"]) == (who, width)]
        names = dict.fromkeys(run["who"] for run in runs if run["width"] == width)
        for name in (n for n in names if n.startswith("simile")):
            peer = "torch, " + name.split(", ")[1]
            results, peers = of(name), of(peer)
            mode = results[0]["mode"]
            if mode == "train":
                check_losses(results[0]["losses"], peers[0]["losses"], name)
            else:
                check_numbers(results[0]["first_numbers"], peers[0]["first_numbers"])
            rows.append({"width": width, "mode": mode, "name": name, "simile": rates(results),
                         "peer": rates(peers), "aim": AIMS[mode] if width == 256 else None})
    return rows


def make_page(rows, machine):
    lines = ["# A static encoder beside torch's EmbeddingBag", "",
             "Written by `bench/static.sh`; [bench/README.md](../../bench/README.md) says what is measured. "
             "Medians; the losses of the first five steps and the first vectors agree with the peer's.",
             "", "| numbers | work | Simile, a second | of processor time | the peer, a second | of "
             "processor time | ratio of processor times | aim a thread |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        ours, peers = row["simile"], row["peer"]
        unit = "pairs" if row["mode"] == "train" else "texts"
        aim = "–"
        if row["aim"]:
            met = ours["processor_second"] >= row["aim"]
            aim = f"≥ {row['aim']:,} {'met' if met else '**not met**'}"
        lines.append(f"| {row['width']} | {row['name'].split(', ', 1)[1]} | {ours['second']:,.0f} {unit} | "
                     f"{ours['processor_second']:,.0f} | {peers['second']:,.0f} | "
                     f"{peers['processor_second']:,.0f} | "
                     f"{ours['processor_second'] / peers['processor_second']:.1f} × | {aim} |")
    lines += ["", "Machine: {processor}, {processors} processors, {threads} thread(s), {system}; kernels for "
              "{instructions}, products of bfloat16 by {bfloat}. Peer: PyTorch {torch}. Load average meanwhile: "
              "{low} to {high}.".format(**machine), ""]
    return "\n".join(lines)


def describe_machine(runs):
    import torch  # only for its version: the peer's
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":", 1)[1].strip() for line in lines
                      if line.startswith("model name")), platform.machine())
    ours = next(run["result"] for run in runs if run["who"].startswith("simile"))
    loads = [run["load"] for run in runs]
    return {"processor": model, "processors": os.cpu_count(), "threads": os.environ.get("THREADS", ""),
            "system": platform.platform(), "instructions": ours["instructions"],
            "bfloat": ours["bfloat_instructions"], "torch": torch.__version__, "low": min(loads), "high": max(loads)}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as lines:
        runs = [json.loads(line) for line in lines]
    rows = summarise(runs)
    machine = describe_machine(runs)
    page = make_page(rows, machine)
    with open(os.path.join(sys.argv[2], "static.json"), "w", encoding="utf-8") as file:
        json.dump({"machine": machine, "speed": rows, "runs": runs}, file, indent=1)
        file.write("\n")
    with open(os.path.join(sys.argv[2], "static.md"), "w", encoding="utf-8") as file:
        file.write(page)
    print(page)


main()
