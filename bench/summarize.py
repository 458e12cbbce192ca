# SPDX-License-Identifier: Apache-2.0
"""Medians, spread and ratios of the records of bench/run.sh, as one JSON file.

A ratio is median over median; `low` and `high` are the smallest and largest ratio within a round. The
sgemm peak is the highest that any run with as many threads saw.
"""
import itertools
import json
import statistics

LENGTHS = ("short", "mixed", "even")
# At least so many times the rate of the fastest peer, by model and in the order of LENGTHS.
GOALS = {("train", "fp32"): {"minilm": (5, 7, 4), "mpnet": (3.5, 3.8, 3)},
         ("train", "bf16"): {"minilm": (5, 8, 4.5), "mpnet": (3.8, 4.2, 3.5)},
         ("infer", "fp32"): {"minilm": (1.7, 1.8, 1.6), "mpnet": (1.4, 1.5, 1.4)},
         ("infer", "bf16"): {"minilm": (1.8, 1.8, 1.6), "mpnet": (1.5, 1.5, 1.4)},
         ("infer", "int8"): {"minilm": (2.2, 2.2, 2.2), "mpnet": (1.8, 1.8, 1.8)}}
MODELS = ("minilm", "mpnet")
SGEMM, COSINE = 0.75, 0.999  # share of sgemm's peak in training; of vectors in int8 with those in fp32
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


def best_peer(runs, mode, model, distribution, precision, field, best):
    """The name and the numbers by round of the peer whose median is best."""
    names = [f"{engine} {precision}" for engine in ("torch", "onnx", "openvino")]
    peers = [(who, runs.numbers(mode, model, distribution, who, field)) for who in names]
    return best((peer for peer in peers if peer[1]), key=lambda peer: statistics.median(peer[1].values()),
                default=("the best peer", {}))


def speed_rows(runs):
    work = {"train": "training", "infer": "inference"}
    for number, ((mode, name), goals) in enumerate(GOALS.items(), 1):
        for model, goal in goals.items():
            for distribution, target in zip(LENGTHS, goal):
                mine = runs.find(mode, model, distribution, f"simile {name}")
                if not mine:
                    continue
                peer, numbers = best_peer(runs, mode, model, distribution, name, "rate", max)
                found = ratio(runs.numbers(mode, model, distribution, f"simile {name}", "rate"), numbers)
                what = f"{work[mode]} {name}, {model}, {distribution}"
                result = row(number, what, peer, target, "times", found)
                share = ratio({i: one["gflops"] for i, one in mine.items()},
                              {i: runs.peak(one["threads"]) for i, one in mine.items()})
                if name == "int8" and found:
                    cosine, other = (min(runs.numbers(mode, model, distribution, who, "cosine").values())
                                     for who in ("simile int8", peer))
                    result["note"] = f"mean cosine to fp32 {cosine:.4f}, the peer's {other:.4f}"
                    result["met"] = result["met"] and cosine >= COSINE
                own_peak = f"{name}_gemm_gflops"
                if found and (name == "fp32" or all(own_peak in one for one in mine.values())):
                    peak = share if name == "fp32" else ratio(*(
                        {i: one[field] for i, one in mine.items()} for field in ("gflops", own_peak)))
                    result["share_of_peak_at_target"] = peak["measured"] * target / found["measured"]
                yield result
                if (mode, name) == ("train", "fp32"):
                    yield row(number, what, "sgemm", SGEMM, "share", share)


def latency_rows(runs):
    for model in MODELS:
        for name in ("fp32", "bf16", "int8"):
            peer, numbers = best_peer(runs, "latency", model, "short", name, "milliseconds_median", min)
            found = ratio(numbers, runs.numbers("latency", model, "short", f"simile {name}", "milliseconds_median"))
            if found:
                yield row(6, f"one short text, one thread, {name}, {model}", f"{peer}, one at a time", LATENCY, "times",
                          found)


def memory_rows(runs):
    for model, distribution, name in itertools.product(MODELS, LENGTHS, ("fp32", "bf16")):
        peer = runs.find("memory", model, distribution, f"torch {name}")
        found = ratio(*(runs.numbers("memory", model, distribution, f"{who} {name}", "peak_bytes")
                        for who in ("simile", "torch")))
        if found:
            pairs = next(result["pairs"] for result in peer.values())
            bound = any(not result["finished"] for result in peer.values())
            result = row(7, f"peak memory of training {name}, {model}, {distribution}, {pairs} pairs", f"torch {name}",
                         MEMORY, "times", found, True, "at most: the peer ended for want of memory" if bound else "")
            if bound and not result["met"]:
                result["met"] = None  # the peer may need more still
            yield result


def thread_rows(runs):
    for mode, name in (("train", "training"), ("infer", "inference")):
        for distribution in LENGTHS:
            found = ratio(*(runs.numbers(f"threads {mode}", "minilm", distribution, who, "rate")
                            for who in ("2", "1")))
            if found:
                yield row(8, f"{name} fp32, minilm, {distribution}, 2 threads", "1 thread", THREADS, "times", found)


def program_rows(runs):
    for name in ("fp32", "bf16", "int8"):
        program, encoder, start = (runs.numbers("program", "minilm", "", f"{who} {name}", "seconds")
                                   for who in ("program", "encoder", "start"))
        target = PROGRAM if name == "fp32" else None
        loaded = {i: program[i] - start[i] for i in program.keys() & start.keys()}
        for what, seconds in (("from start to exit", program), ("less start, loading and one text", loaded)):
            found = ratio(encoder, seconds)
            if found:
                yield row(9, f"speed of `simile encode` {name}, minilm, {what}", "its encoder alone", target, "share",
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
        longest = max(added, default=0)
        if longest // 2 in added:
            growth = added[longest] / added[longest // 2]
            found = {"measured": growth, "low": growth, "high": growth, "rounds": 1}
            yield row(10, f"memory that {name} adds to the model's for a text of {longest} tokens",
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
        for field in ("gflops", "sgemm_gflops", "bf16_gemm_gflops", "int8_gemm_gflops", "milliseconds_p99", "cosine"):
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
            "memory": [{**{name: run[name] for name in ("model", "distribution", "who")}, **run["result"]}
                       for run in run_list if run["mode"] == "memory"],
            "profile": [{"who": run["who"], "distribution": run["distribution"], **run["result"]} for run in run_list
                        if run["mode"] == "profile"],
            "load": [run["result"] for run in run_list if run["mode"] == "load"], "runs": run_list}


def write(machine, runs, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(summarise(machine, runs), file, indent=1)
        file.write("\n")
