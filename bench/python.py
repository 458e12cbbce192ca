# SPDX-License-Identifier: Apache-2.0
"""Compares pysimile with sentence-transformers and fastembed (ONNX Runtime), all with all-MiniLM-L6-v2.

usage: PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu python3 bench/python.py WHEEL MODEL_FOLDER [WORK]

WHEEL is what scripts/build-wheel.sh makes, MODEL_FOLDER what scripts/get-published.sh fetches. Each package gets a virtual
environment in WORK (build/bench-python), which a second call finds there. Prints how far the vectors differ, then a
Markdown table. The packages take turns, ROUNDS (2) times, each time in a new process with THREADS (2) threads; a figure is
the median. TEXTS (10,000) makes it shorter.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
THREADS = int(os.environ.get("THREADS") or 2)
NAME = "sentence-transformers/all-MiniLM-L6-v2"
TORCH = "torch==2.13.0+cpu"  # without the libraries of CUDA


# ---- run in the environment of each package: returns the function that encodes a list of texts

def load_pysimile(folder):
    from pysimile import Encoder, set_threads
    set_threads(THREADS)
    return Encoder(folder).encode


def load_sentence_transformers(folder):
    import torch
    from sentence_transformers import SentenceTransformer
    torch.set_num_threads(THREADS)
    return SentenceTransformer(folder, device="cpu").encode


def load_fastembed(folder):
    import numpy
    from fastembed import TextEmbedding
    model = TextEmbedding(NAME, specific_model_path=folder, threads=THREADS)
    return lambda texts: numpy.array(list(model.embed(texts)))


CONTENDERS = {"pysimile": load_pysimile, "sentence-transformers": load_sentence_transformers,
              "fastembed": load_fastembed}


def peak_memory():
    """The most memory that this process has used, in MB."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def child(name, folder, texts, vectors):
    """Prints a line after the first vector, and one after all texts."""
    encode = CONTENDERS[name](folder)
    encode(["How do I reset my password?"])
    print(json.dumps({"first memory": peak_memory()}), flush=True)
    with open(texts, encoding="utf-8") as file:
        texts = json.load(file)
    encode(texts[:64])  # to warm up
    start = time.perf_counter()
    rows = encode(texts)
    print(json.dumps({"texts": time.perf_counter() - start, "memory": peak_memory()}), flush=True)
    import numpy
    numpy.save(vectors, rows)


def export(folder, path):
    """Writes the model for ONNX Runtime, as fastembed reads it."""
    import torch
    from transformers import AutoModel

    class HiddenStates(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = AutoModel.from_pretrained(folder)

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(input_ids=input_ids, attention_mask=attention_mask,
                              token_type_ids=token_type_ids).last_hidden_state

    ids = torch.ones(2, 8, dtype=torch.long)
    names, output = ["input_ids", "attention_mask", "token_type_ids"], "last_hidden_state"
    # With the newer exporter of torch 2.13 (dynamo=True) the vectors of padded texts differ by up to 0.3.
    torch.onnx.export(HiddenStates().eval(), (ids, ids, ids), path, input_names=names, output_names=[output],
                      dynamic_axes={name: {0: "batch", 1: "tokens"} for name in [*names, output]}, dynamo=False)


def compare(*paths):
    """Prints the largest difference of any number of the vectors from those of the first file."""
    import numpy
    first, *others = (numpy.load(path) for path in paths)
    print(json.dumps([float(numpy.abs(other - first).max()) for other in others]))


# ---- run by any Python

def python_of(work, name):
    return f"{work}/{name}/bin/python"


def call(work, name, *arguments, environment=None):
    command = [python_of(work, name), "-W", "ignore", os.path.abspath(__file__), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **(environment or {})}).stdout


def size(folder):
    return sum(os.path.getsize(os.path.join(place, file)) for place, _, files in os.walk(folder) for file in files
               if not os.path.islink(os.path.join(place, file)))


def install(work, name, packages):
    """Makes the environment unless it is there. Returns the megabytes and the version of what was installed."""
    folder = f"{work}/{name}"
    record = f"{folder}/installed.json"
    if not os.path.exists(record):
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        empty = size(folder)
        subprocess.run([f"{folder}/bin/pip", "install", "-q", *packages], check=True)
        code = f"import importlib.metadata as m; print(m.version({name!r}))"
        version = subprocess.run([python_of(work, name), "-c", code], check=True, stdout=subprocess.PIPE, text=True)
        with open(record, "w", encoding="utf-8") as file:
            json.dump([(size(folder) - empty) / 1e6, version.stdout.strip()], file)
    with open(record, encoding="utf-8") as file:
        return json.load(file)


def make_texts(count):
    """Questions of examples/faq; a number makes each one different."""
    with open(f"{HERE}/../examples/faq/queries.tsv", encoding="utf-8") as file:
        questions = [line.rstrip("\n").split("\t")[1] for line in file][1:]
    return [f"{questions[i % len(questions)]} {i // len(questions) + 1}" for i in range(count)]


def make_onnx(work, model):
    """The folder that fastembed reads: the model's tokenizer, and its layers in ONNX."""
    folder = f"{work}/onnx"
    if not os.path.exists(f"{folder}/model.onnx"):
        os.makedirs(folder, exist_ok=True)
        for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
            shutil.copy(f"{model}/{file}", folder)
        # Beside the environment, whose size is measured.
        subprocess.run([f"{work}/sentence-transformers/bin/pip", "install", "-q", "--no-deps", "--target", f"{work}/export",
                        "onnx", "onnxscript", "onnx-ir", "ml_dtypes", "protobuf"], check=True)
        call(work, "sentence-transformers", "export", model, f"{folder}/made.onnx",
             environment={"PYTHONPATH": f"{work}/export"})
        os.replace(f"{folder}/made.onnx", f"{folder}/model.onnx")
    return folder


def measure(work, name, folder):
    """One process: seconds from its start to the first vector and for all texts, and its memory."""
    command = [python_of(work, name), os.path.abspath(__file__), "child", name, folder, f"{work}/texts.json",
               f"{work}/{name}.npy"]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": str(THREADS)}) as process:
        line = process.stdout.readline()
        figures = {"first": time.perf_counter() - start}
        rest, errors = process.communicate()
    if process.returncode != 0:
        sys.exit(f"{name}: {errors}")
    for part in (line, rest):
        figures.update(json.loads(part))
    return figures


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))


def main(wheel, model, work="build/bench-python"):
    work, model = os.path.abspath(work), os.path.abspath(model)
    os.makedirs(work, exist_ok=True)
    installed = {"pysimile": install(work, "pysimile", [wheel]),
                 "sentence-transformers": install(work, "sentence-transformers", [TORCH, "sentence-transformers"]),
                 "fastembed": install(work, "fastembed", ["fastembed"])}
    folders = {name: model for name in CONTENDERS}
    folders["fastembed"] = make_onnx(work, model)
    texts = make_texts(int(os.environ.get("TEXTS") or 10000))
    with open(f"{work}/texts.json", "w", encoding="utf-8") as file:
        json.dump(texts, file)

    runs = {name: [] for name in CONTENDERS}
    for _ in range(int(os.environ.get("ROUNDS") or 2)):
        for name, folder in folders.items():
            runs[name].append(measure(work, name, folder))
    differences = json.loads(call(work, "pysimile", "compare", *(f"{work}/{name}.npy" for name in CONTENDERS)))

    def row(what, figure, digits):
        medians = [statistics.median(run[figure] for run in runs[name]) for name in CONTENDERS]
        print(f"| {what} | " + " | ".join(f"{value:,.{digits}f}" for value in medians) + " |")

    print(f"{processor()}, {THREADS} threads, {len(texts):,} texts, load {os.getloadavg()[0]:.1f}\n")
    print("| | " + " | ".join(f"{name} {installed[name][1]}" for name in CONTENDERS) + " |")
    print("| --- |" + " --- |" * len(CONTENDERS))
    print("| largest difference from pysimile's vectors | – | " + " | ".join(f"{value:.1e}" for value in differences) + " |")
    row("start of Python to the first vector, s", "first", 2)
    row("memory with the first vector, MB", "first memory", 0)
    row(f"{len(texts):,} short texts, s", "texts", 1)
    row("peak memory, MB", "memory", 0)
    print("| installed size, MB | " + " | ".join(f"{installed[name][0]:,.0f}" for name in CONTENDERS) + " |")


if __name__ == "__main__":
    commands = {"child": child, "export": export, "compare": compare}
    if len(sys.argv) > 1 and sys.argv[1] in commands:
        commands[sys.argv[1]](*sys.argv[2:])
    elif 3 <= len(sys.argv) <= 4:
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)
