# SPDX-License-Identifier: Apache-2.0
"""A peer of bench/run.sh: PyTorch, ONNX Runtime or OpenVINO on the sequences of token ids that Simile gets.

usage: peer.py workloads FOLDER TOKENIZER.json TEXT
       peer.py export MODEL_FOLDER WORKLOAD_FOLDER       writes MODEL_FOLDER.onnx and the like
       peer.py infer|latency torch|onnx|openvino fp32|bf16|int8 MODEL_FOLDER WORKLOAD_FOLDER NAME BATCHES|CALLS THREADS
       peer.py train torch fp32|bf16 MODEL_FOLDER WORKLOAD_FOLDER NAME STEPS THREADS PAIRS

The last two print one JSON object: their figures, and `vectors` or `loss_first` of the first 64 sequences for
measure.py to compare.
"""
import json
import os
import statistics
import sys
import time
import traceback

import numpy as np

BATCH = 32
WARM_UP_STEPS, WARM_UP_CALLS = 2, 50
WORKLOADS = {"short": (14, 7, 3, 90), "mixed": (60, 50, 3, 256), "even": (200, 15, 130, 256)}


def write_workloads(folder, tokenizer, text):
    """8192 sequences of each kind: a text cut into lengths of a gamma distribution.

    Take a real text: with random ids published weights compute vectors and gradients that no precision agrees on.
    """
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(tokenizer)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    first, last = tokenizer.encode("").ids
    with open(text, encoding="utf-8") as file:
        tokens = np.array(tokenizer.encode(file.read(), add_special_tokens=False).ids, np.int32)
    os.makedirs(folder, exist_ok=True)
    for name, (mean, deviation, shortest, longest) in WORKLOADS.items():
        random = np.random.default_rng(1)
        lengths = random.gamma((mean / deviation) ** 2, deviation ** 2 / mean, 8192)
        lengths = np.clip(np.rint(lengths), shortest, longest).astype(int)
        ids, ends = np.resize(tokens, lengths.sum()), np.cumsum(lengths)
        ids[ends - lengths], ids[ends - 1] = first, last
        np.savetxt(os.path.join(folder, f"len_{name}.txt"), lengths, "%d")
        ids.tofile(os.path.join(folder, f"ids_{name}.bin"))


def read_workload(folder, name):
    lengths = np.loadtxt(os.path.join(folder, f"len_{name}.txt"), dtype=int)
    ids = np.fromfile(os.path.join(folder, f"ids_{name}.bin"), np.int32).astype(np.int64)
    return np.split(ids, np.cumsum(lengths)[:-1])


class Model:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            self.config = json.load(file)

    def pad(self, sequences):
        ids = np.full((len(sequences), max(map(len, sequences))), self.config["pad_token_id"])
        mask = np.zeros_like(ids)
        for row, sequence in enumerate(sequences):
            ids[row, :len(sequence)], mask[row, :len(sequence)] = sequence, 1
        return ids, mask

    def batches(self, sequences):
        return [self.pad(sequences[at:at + BATCH]) for at in range(0, len(sequences), BATCH)]

    def operations(self, sequences):
        """Useful ones of a forward pass, as simile_bench counts them."""
        layers, wide, inner = (self.config[name] for name in ("num_hidden_layers", "hidden_size", "intermediate_size"))
        lengths = np.array([len(sequence) for sequence in sequences], dtype=float)
        return layers * (2 * lengths * (4 * wide * wide + 2 * wide * inner) + 4 * lengths ** 2 * wide).sum()

    def file(self, ending):
        return self.folder.rstrip("/") + ending


def torch_module(model):
    import torch
    from transformers import AutoModel

    class Encoder(torch.nn.Module):
        """As sentence-transformers has it: mean of the tokens, normalised."""

        def __init__(self):
            super().__init__()
            self.model = AutoModel.from_pretrained(model.folder, dtype=torch.float32)

        def forward(self, ids, mask):
            hidden = self.model(input_ids=ids, attention_mask=mask)[0]
            weights = mask.unsqueeze(-1).to(hidden.dtype)
            return torch.nn.functional.normalize((hidden * weights).sum(1) / weights.sum(1), dim=1)

    return Encoder().eval()


def torch_encoder(model, precision, threads):
    import torch
    torch.set_num_threads(threads)
    module = torch_module(model)
    if precision == "bf16":
        module = module.bfloat16()

    def encode(ids, mask):
        with torch.inference_mode():
            return module(torch.from_numpy(ids), torch.from_numpy(mask)).float().numpy()
    return encode


def onnx_encoder(model, precision, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    path = model.file(".onnx" if precision == "fp32" else "_int8.onnx")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda ids, mask: session.run(None, {"ids": ids, "mask": mask})[0]


def openvino_encoder(model, precision, threads):
    import openvino
    settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    if precision != "int8":  # which takes the fastest for what is not quantised
        settings["INFERENCE_PRECISION_HINT"] = {"fp32": "f32", "bf16": "bf16"}[precision]
    path = model.file("_int8.xml" if precision == "int8" else ".onnx")
    request = openvino.Core().compile_model(path, "CPU", settings).create_infer_request()
    return lambda ids, mask: request.infer({"ids": ids, "mask": mask})[0]


ENCODERS = {"torch": torch_encoder, "onnx": onnx_encoder, "openvino": openvino_encoder}


def export(model, workload):
    """The model for ONNX Runtime and OpenVINO, and in int8: dynamic for the one, calibrated for the other."""
    import nncf
    import openvino
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    sequences = read_workload(workload, "mixed")[:5 * BATCH]
    batches = [dict(zip(("ids", "mask"), batch)) for batch in model.batches(sequences)]
    axes = {name: {0: "batch", 1: "tokens"} for name in ("ids", "mask")}
    # Avoid the newer exporter (dynamo=True): with it vectors of padded texts differ by up to 0.3.
    torch.onnx.export(torch_module(model), tuple(map(torch.from_numpy, batches[0].values())), model.file(".onnx"),
                      input_names=list(axes), output_names=["vectors"], dynamic_axes=axes, dynamo=False)
    calibrated = nncf.quantize(openvino.Core().read_model(model.file(".onnx")), nncf.Dataset(batches),
                               model_type=nncf.ModelType.TRANSFORMER)
    openvino.save_model(calibrated, model.file("_int8.xml"))
    quantize_dynamic(model.file(".onnx"), model.file("_int8.onnx"), op_types_to_quantize=["MatMul"], per_channel=True,
                     weight_type=QuantType.QInt8)


def infer(model, engine, precision, sequences, count, threads):
    """The first sequences sorted by length, 32 at a time, after a pass to warm up."""
    encode = ENCODERS[engine](model, precision, threads)
    vectors = encode(*model.pad(sequences[:2 * BATCH])).ravel().tolist()
    sequences = sorted(sequences[:BATCH * count], key=len, reverse=True)
    batches = model.batches(sequences)
    for _ in range(2):
        start = time.perf_counter()
        for batch in batches:
            encode(*batch)
        seconds = time.perf_counter() - start
    return {"vectors": vectors, "rate": len(sequences) / seconds,
            "gflops": 1e-9 * model.operations(sequences) / seconds}


def latency(model, engine, precision, sequences, calls, threads):
    encode = ENCODERS[engine](model, precision, threads)
    vectors = encode(*model.pad(sequences[:2 * BATCH])).ravel().tolist()
    milliseconds = []
    for sequence in sequences[:WARM_UP_CALLS] + sequences[:calls]:
        start = time.perf_counter()
        encode(*model.pad([sequence]))
        milliseconds.append(1e3 * (time.perf_counter() - start))
    milliseconds = sorted(milliseconds[WARM_UP_CALLS:])
    return {"vectors": vectors, "calls": calls, "milliseconds_median": statistics.median(milliseconds),
            "milliseconds_p99": milliseconds[99 * (calls - 1) // 100]}


def train(model, precision, sequences, steps, threads, pairs):
    """Steps as sentence-transformers makes them, with the fused AdamW. Phases in ms a step."""
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    module = torch_module(model)
    decays = {0.01: [], 0.0: []}
    for name, parameter in module.named_parameters():
        decays[0.0 if "bias" in name or "LayerNorm.weight" in name else 0.01].append(parameter)
    groups = [{"params": parameters, "weight_decay": decay} for decay, parameters in decays.items()]
    optimizer = torch.optim.AdamW(groups, lr=2e-5, fused=True)

    def loss_of(batch):
        with torch.autocast("cpu", torch.bfloat16, precision == "bf16"):
            left, right = (module(*map(torch.from_numpy, model.pad(part))) for part in (batch[:pairs], batch[pairs:]))
        return torch.nn.functional.cross_entropy(20 * left.float() @ right.float().T, torch.arange(pairs))

    def step(batch):
        times = [time.perf_counter()]
        optimizer.zero_grad()
        loss = loss_of(batch)
        loss.item()
        times.append(time.perf_counter())
        loss.backward()
        times.append(time.perf_counter())
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        times.append(time.perf_counter())
        return np.diff(times)

    with torch.no_grad():
        first = loss_of(sequences[:2 * pairs]).item()
    module.train()
    batches = [sequences[2 * pairs * i:2 * pairs * (i + 1)] for i in range(steps + WARM_UP_STEPS)]
    for batch in batches[steps:]:
        step(batch)
    phases = sum(step(batch) for batch in batches[:steps])
    operations = 3 * model.operations(sum(batches[:steps], []))
    return {"loss_first": first, "rate": pairs * steps / phases.sum(), "gflops": 1e-9 * operations / phases.sum(),
            "milliseconds_per_step": dict(zip(("forward_and_loss", "backward", "optimizer"), 1e3 * phases / steps))}


def end_at_once(*error):
    """Without memory PyTorch's own end of the process may wait for ever."""
    traceback.print_exception(*error)
    sys.stderr.flush()
    os._exit(1)


def main(mode, *words):
    sys.excepthook = end_at_once
    if mode == "workloads":
        return write_workloads(*words)
    if mode == "export":
        return export(Model(words[0]), words[1])
    engine, precision, folder, workload, name, *counts = words
    model, sequences, counts = Model(folder), read_workload(workload, name), list(map(int, counts))
    if mode == "train":
        result = train(model, precision, sequences, *counts)
    else:
        result = {"infer": infer, "latency": latency}[mode](model, engine, precision, sequences, *counts)
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
