# SPDX-License-Identifier: Apache-2.0
"""Medians, spread and ratios of what bench/run.sh recorded, as one JSON file.

A ratio is median over median; `low` and `high` are the smallest and largest ratio within a round. The
sgemm peak is the highest that any run with as many threads saw.
"""
import json
import statistics

BOTH = ("short", "long")
# number, mode, who, beside whom, {(model, lengths): at least so many times the rate}
SPEED = [
    (1, "train", "simile fp32", "eager fp32", {("minilm", "short"): 4.8, ("minilm", "long"): 9, ("bert", "short"): 4}),
    (2, "train", "simile fp32", "sgemm", {("minilm", "short"): 0.8, ("minilm", "long"): 0.8}),
    (3, "infer", "simile fp32", "onnx fp32", {("minilm", "short"): 1.7, ("minilm", "long"): 1.9}),
    (4, "train", "simile bf16", "simile fp32", {("minilm", "short"): 2.5, ("minilm", "long"): 2.5}),
    (4, "train", "simile bf16", "eager bf16", {("minilm", "short"): 5, ("minilm", "long"): 9}),
    (5, "infer", "simile bf16", "simile fp32", {("minilm", "short"): 2.5, ("minilm", "long"): 2.5}),
    (6, "infer", "simile int8", "onnx int8", {("minilm", "short"): 1.8, ("minilm", "long"): 2.2}),
]
LATENCY, MEMORY, THREADS, PROGRAM, LINEAR = 1.5, 0.5, 1.85, 0.95, 2.1
LOAD_MILLISECONDS, LOAD_MEMORY = 300.0, 1.5


class Runs:
    def __init__(self, runs):
        self.runs = runs

    def find(self, mode, model, distribution, who):
        return {run["round"]: run["result"] for run in self.runs
                if (run["mode"], run["model"], run["distribution"], run["who"]) == (mode, model, distribution, who)}

    def numbers(self, mode, model, distribution, who, field):
        return {number: result[field] for number, result in self.find(mode, model, distribution, who).items()}

    def peak(self, threads):
        return max((run["result"].get("sgemm_gflops", 0) for run in self.runs
                    if run["result"].get("threads") == threads), default=0)


def middle(values):
    median = statistics.median(values)
    return {"median": median, "low": min(values), "high": max(values), "values": list(values)}


def ratio(upper, lower):
    """Of numbers by round; nothing where one of them was not measured."""
    rounds = sorted(upper.keys() & lower.keys())
    if not rounds:
        return None
    ratios = [upper[i] / lower[i] for i in rounds]
    medians = [statistics.median(numbers[i] for i in rounds) for numbers in (upper, lower)]
    return {"measured": medians[0] / medians[1], "low": min(ratios), "high": max(ratios), "rounds": len(rounds)}


def row(number, what, against, target, unit, found, at_most=False, note=""):
    result = {"row": number, "what": what, "against": against, "target": target, "at_most": at_most, "unit": unit,
              "note": note, "measured": None, **(found or {})}
    if target is not None and found:
        measured = result["measured"]
        result["met"] = measured <= target if at_most else measured >= target
    return result


def speed_rows(runs):
    names = {"train": "training", "infer": "inference"}
    for number, mode, who, other, targets in SPEED:
        for model in ("minilm", "bert"):
            for distribution in BOTH:
                target = targets.get((model, distribution))
                mine = runs.find(mode, model, distribution, who)
                if other == "sgemm":
                    found = ratio({i: result["gflops"] for i, result in mine.items()},
                                  {i: runs.peak(result["threads"]) for i, result in mine.items()})
                else:
                    found = ratio(*(runs.numbers(mode, model, distribution, name, "rate") for name in (who, other)))
                if target is not None or found:
                    what = f"{names[mode]} {who.split()[1]}, {model}, {distribution}"
                    result = row(number, what, other, target, "share" if other == "sgemm" else "times", found)
                    if target and found and who == "simile fp32" and other != "sgemm":
                        share = statistics.median(one["gflops"] / runs.peak(one["threads"]) for one in mine.values())
                        result["share_of_sgemm_at_target"] = share * target / found["measured"]
                    yield result


def latency_rows(runs):
    for model in ("minilm", "bert"):
        for name in ("fp32", "int8"):
            found = ratio(*(runs.numbers("latency", model, "short", f"{who} {name}", "milliseconds_median")
                            for who in ("onnx", "simile")))
            target = LATENCY if model == "minilm" else None
            if target or found:
                yield row(7, f"one short text, one thread, {name}, {model}", f"ONNX Runtime {name}, one at a time",
                          target, "times", found)


def memory_rows(runs):
    for model in ("bert", "minilm"):
        peer = runs.find("memory", model, "long", "eager fp32")
        pairs = next((result["pairs"] for result in peer.values()), 64)
        bound = any(not result["finished"] for result in peer.values())
        for name in ("fp32", "bf16"):
            found = ratio(*(runs.numbers("memory", model, "long", who, "peak_bytes")
                            for who in (f"simile {name}", "eager fp32")))
            target = MEMORY if (model, name) == ("bert", "fp32") else None
            note = "at most: the peer ended for want of memory" if bound and found else ""
            if target or found:
                result = row(8, f"peak memory of training {name}, {model}, long, {pairs} pairs", "eager fp32", target,
                             "times", found, True, note)
                if bound and not result.get("met"):
                    result["met"] = None  # the peer may need more still
                yield result


def thread_rows(runs):
    for mode, name in (("train", "training"), ("infer", "inference")):
        for distribution in BOTH:
            found = ratio(*(runs.numbers(f"threads {mode}", "minilm", distribution, who, "rate")
                            for who in ("2", "1")))
            yield row(9, f"{name} fp32, minilm, {distribution}, 2 threads", "1 thread", THREADS, "times", found)


def program_rows(runs):
    for name in ("fp32", "bf16", "int8"):
        program, encoder, start = (runs.numbers("program", "minilm", "", f"{who} {name}", "seconds")
                                   for who in ("program", "encoder", "start"))
        target = PROGRAM if name == "fp32" else None
        loaded = {i: program[i] - start[i] for i in program.keys() & start.keys()}
        for what, seconds in (("from start to exit", program), ("less start, loading and one text", loaded)):
            found = ratio(encoder, seconds)
            if target or found:
                yield row(10, f"speed of `simile encode` {name}, minilm, {what}", "its encoder alone", target, "share",
                          found)


def long_texts(runs):
    table = []
    for run in runs.runs:
        if run["mode"] == "long" and run["round"] == 1:
            work, tokens = run["who"].split()
            found = runs.find("long", run["model"], "", run["who"]).values()
            added = [result["peak_bytes"] - result["bytes_before"] for result in found]
            table.append({"work": work, "tokens": int(tokens), "added_bytes": middle(added),
                          "peak_bytes": middle([result["peak_bytes"] for result in found]),
                          "seconds": middle([result["seconds"] for result in found])})
    return sorted(table, key=lambda entry: (entry["work"], entry["tokens"]))


def long_rows(table):
    for work, name in (("infer", "inference"), ("train", "training")):
        added = {entry["tokens"]: entry["added_bytes"]["median"] for entry in table if entry["work"] == work}
        longest = max(added, default=8192)
        found = None
        if longest // 2 in added:
            growth = added[longest] / added[longest // 2]
            found = {"measured": growth, "low": growth, "high": growth, "rounds": 1}
        yield row(11, f"memory that {name} adds to the model's for a text of {longest} tokens",
                  f"{longest // 2} tokens", LINEAR, "times", found, True, "linear: 2; quadratic: 4")


def contenders(runs):
    """Every contender's rate or latency, and shares of a step."""
    table = []
    for key in dict.fromkeys((run["mode"], run["model"], run["distribution"], run["who"]) for run in runs.runs
                             if run["mode"] != "load"):
        results = list(runs.find(*key).values())
        fields = [field for field in ("rate", "milliseconds_median") if field in results[0]]
        if not fields:
            continue
        entry = dict(zip(("mode", "model", "distribution", "who"), key))
        entry[fields[0]] = middle([result[fields[0]] for result in results])
        for field in ("gflops", "sgemm_gflops", "bf16_gemm_gflops", "milliseconds_p99"):
            if field in results[0]:
                entry[field] = statistics.median(result[field] for result in results)
        if "milliseconds_per_step" in results[0]:
            entry["milliseconds_per_step"] = {
                phase: statistics.median(result["milliseconds_per_step"][phase] for result in results)
                for phase in results[0]["milliseconds_per_step"]}
        table.append(entry)
    return table


def summarise(machine, run_list):
    runs = Runs(run_list)
    table = long_texts(runs)
    rows = [*speed_rows(runs), *latency_rows(runs), *memory_rows(runs), *thread_rows(runs), *program_rows(runs),
            *long_rows(table)]
    return {"machine": {**machine, "sgemm_gflops": runs.peak(machine["threads"])}, "targets": rows,
            "contenders": contenders(runs), "long": table,
            "memory": [{"model": run["model"], "who": run["who"], **run["result"]} for run in run_list
                       if run["mode"] == "memory"],
            "profile": [{"who": run["who"], "distribution": run["distribution"], **run["result"]} for run in run_list
                        if run["mode"] == "profile"],
            "load": [run["result"] for run in run_list if run["mode"] == "load"], "runs": run_list}


def write(machine, runs, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(summarise(machine, runs), file, indent=1)
        file.write("\n")
