# SPDX-License-Identifier: Apache-2.0
"""Medians, spread and ratios of what bench/run.sh recorded.

usage: summarize.py RAW.jsonl OUTPUT_FOLDER     (THREADS and TUNING from the environment)

Writes bench.json (every run and the summary) and bench.md (the table). Ratios are medians over
medians, and best over best, which load from others disturbs less; the spread is (largest - smallest)
/ median. The sgemm peak is the highest that any run saw.
"""
import json
import os
import platform
import re
import statistics
import sys

PEER = re.compile(r"RES (\w+) py\w+ (\w+) (\w+) b32 t\d+: ([\d.]+) (?:pairs|sent)/s  ([\d.]+) GFLOP/s"
                  r"  fwd ([\d.]+) bwd ([\d.]+) opt ([\d.]+) ms/step")
AIMS = {("train", "short"): 3.0, ("train", "long"): 5.0, ("infer", "short"): 1.4,
        ("infer", "long"): 1.4}
LOAD_AIM_MS, MEMORY_AIM = 300.0, 1.5
UNITS = {"train": "pairs/s", "infer": "sentences/s"}


def read_peer(line):
    match = PEER.match(line)
    if not match:
        sys.exit(f"summarize.py: the peer printed another line than expected: {line}")
    mode, _, distribution = match.group(1, 2, 3)
    rate, gflops, forward, backward, optimizer = map(float, match.group(4, 5, 6, 7, 8))
    result = {"mode": mode, "distribution": distribution, "rate": rate, "gflops": gflops}
    if mode == "train":
        result["milliseconds_per_step"] = {"forward_and_loss": forward, "backward": backward,
                                           "optimizer": optimizer}
    return result


def read_runs(path):
    runs = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            run = json.loads(line)
            if run["who"] == "peer":
                run["result"] = read_peer(run["result"])
            elif run["result"]["mode"] in UNITS:
                result = run["result"]
                result["rate"] = result.get("pairs_per_second") or result["sentences_per_second"]
            runs.append(run)
    return runs


def middle(values):
    median = statistics.median(values)
    return {"median": median, "best": max(values), "spread": (max(values) - min(values)) / median,
            "values": values}


def middle_phases(results):
    phases = [result["milliseconds_per_step"] for result in results]
    return {name: statistics.median(phase[name] for phase in phases) for name in phases[0]}


def summarise(runs):
    rows = []
    keys = dict.fromkeys((run["model"], run["result"]["mode"], run["result"]["distribution"],
                          run["result"].get("precision", "fp32"))
                         for run in runs if run["result"]["mode"] in UNITS)
    for model, mode, distribution, precision in keys:
        def results(who):  # the peer computes in fp32 alone
            return [run["result"] for run in runs if run["who"] == who and run["model"] == model
                    and (run["result"]["mode"], run["result"].get("distribution"))
                    == (mode, distribution)
                    and (who == "peer" or run["result"].get("precision", "fp32") == precision)]
        simile, peer = results("simile"), results("peer")
        if not simile:
            continue
        row = {"model": model, "mode": mode, "distribution": distribution,
               "precision": precision, "unit": UNITS[mode],
               "simile": middle([r["rate"] for r in simile]),
               "peer": middle([r["rate"] for r in peer]),
               "gflops": statistics.median(r["gflops"] for r in simile),
               "sgemm_gflops": max(run["result"].get("sgemm_gflops", 0) for run in runs)}
        row["ratio"] = row["simile"]["median"] / row["peer"]["median"]
        row["ratio_of_best"] = row["simile"]["best"] / row["peer"]["best"]
        row["share_of_sgemm"] = row["gflops"] / row["sgemm_gflops"]
        row["aim"] = (AIMS[mode, distribution] if model == "minilm" and precision == "fp32"
                      else None)
        if mode == "train":
            row["simile_milliseconds_per_step"] = middle_phases(simile)
            row["peer_milliseconds_per_step"] = middle_phases(peer)
        rows.append(row)
    return rows


def describe_machine(runs):
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":", 1)[1].strip() for line in lines
                      if line.startswith("model name")), platform.machine())
    version = next((run["result"] for run in runs if "onednn" in run["result"]), {})
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import torch  # only for its version: the peer's
    return {"processor": model, "processors": os.cpu_count(),
            "threads": int(os.environ.get("THREADS", "0")),
            "instructions": version.get("instructions"), "onednn": version.get("onednn"),
            "libtorch": version.get("torch"), "peer_torch": torch.__version__,
            "peer_environment": os.environ.get("TUNING", ""), "system": platform.platform(),
            "load_average": [min(run["load"] for run in runs), max(run["load"] for run in runs)]}


def verdict(met):
    return "met" if met else "**not met**"


def speed_table(rows):
    lines = ["| model | work | precision | lengths | Simile | peer | ratio | of the best rounds | aim | | "
             "share of sgemm |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        aim = row["aim"]
        lines.append(
            "| {} | {} | {} | {} | {:.1f} {} (±{:.0f} %) | {:.1f} (±{:.0f} %) | {:.2f} | {:.2f} | {} | {} | "
            "{:.0f} % of {:.0f} GFLOP/s |".format(
                row["model"], row["mode"], row["precision"], row["distribution"],
                row["simile"]["median"],
                row["unit"], 50 * row["simile"]["spread"], row["peer"]["median"],
                50 * row["peer"]["spread"], row["ratio"], row["ratio_of_best"],
                f"≥ {aim}" if aim else "–",
                verdict(row["ratio"] >= aim) if aim else "", 100 * row["share_of_sgemm"],
                row["sgemm_gflops"]))
    return lines


def phase_table(rows):
    rows = [row for row in rows if row["mode"] == "train"]
    if not rows:
        return []
    names = list(rows[0]["simile_milliseconds_per_step"])
    lines = ["", "A training step of 32 pairs in ms, medians:", "",
             "| model | lengths | " + " | ".join(name.replace("_", " ") for name in names) +
             " | peer forward, backward, optimizer |",
             "| --- | --- |" + " --- |" * (len(names) + 1)]
    for row in rows:
        lines.append("| {} | {} | {} | {} |".format(
            row["model"], row["distribution"],
            " | ".join(f"{row['simile_milliseconds_per_step'][name]:.1f}" for name in names),
            ", ".join(f"{t:.0f}" for t in row["peer_milliseconds_per_step"].values())))
    return lines


def load_table(loads):
    if not loads:
        return []
    lines = ["", "Loading a model of {:.0f} MB and embedding one text, from start to exit of "
             "`simile encode` (aim: under {:.0f} ms, at most {} times the model in memory):".format(
                 loads[0]["model_bytes"] / 1e6, LOAD_AIM_MS, MEMORY_AIM), "",
             "| program | median ms | best ms | | peak memory MB | times the model | |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    names = {"release": "with libtorch (trains and serves)", "serving": "without (serving)"}
    for load in loads:
        lines.append("| {} | {:.0f} | {:.0f} | {} | {:.0f} | {:.2f} | {} |".format(
            names.get(load["program"], load["program"]), load["milliseconds_median"],
            load["milliseconds_best"], verdict(load["milliseconds_median"] < LOAD_AIM_MS),
            load["peak_bytes"] / 1e6, load["memory_ratio"],
            verdict(load["memory_ratio"] <= MEMORY_AIM)))
    return lines


def make_page(machine, rows, loads):
    low, high = machine["load_average"]
    lines = ["# Speed beside eager PyTorch", "",
             "Written by `bench/run.sh`; [bench/README.md](../../bench/README.md) says what is "
             "measured. Simile and the peer take turns on the same sequences; medians, with half the "
             "range from smallest to largest behind ±.", ""]
    if high > machine["processors"] + 1:
        lines += [f"**Other work ran meanwhile (load average up to {high} on "
                  f"{machine['processors']} processors), which slows the peer more than Simile: "
                  "the verdicts below do not count. Measure again on a quiet machine.**", ""]
    if rows:
        lines += speed_table(rows)
    lines += phase_table(rows) + load_table(loads)
    lines += ["", "Machine: {processor}, {processors} processors, {threads} threads, {system}. "
              "Simile: kernels for {instructions}, oneDNN {onednn}, libtorch {libtorch}. "
              "Peer: PyTorch {peer_torch}, environment `{peer_environment}`.".format(**machine),
              f"Load average while it ran, the measured programs included: {low} to {high}.", "",
              "Commands of a round: `eager.py train padded MODEL LENGTHS 32 THREADS BATCHES`, "
              "`eager.py infer paddedsorted ...`; `simile_bench train|infer MODEL_FOLDER "
              "WORKLOAD_FOLDER LENGTHS BATCHES 1 THREADS`; `simile encode --model MODEL_FOLDER "
              "--input TEXT --output OUT.jsonl --quiet`.", ""]
    return "\n".join(lines)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    runs = read_runs(sys.argv[1])
    rows = summarise(runs)
    loads = [run["result"] for run in runs if run["result"]["mode"] == "load"]
    machine = describe_machine(runs)
    page = make_page(machine, rows, loads)
    document = {"machine": machine, "speed": rows, "load": loads, "runs": runs}
    with open(os.path.join(sys.argv[2], "bench.json"), "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    with open(os.path.join(sys.argv[2], "bench.md"), "w", encoding="utf-8") as file:
        file.write(page)
    print(page)


if __name__ == "__main__":
    main()
