#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small files of torch.save, as models come in pytorch_model.bin, and what they hold.

    /usr/bin/python3 tools/golden/torch_files.py     # writes tests/golden/torch_files

Needs torch; simile/model/torch_file_test.cpp reads the files. legacy.bin differs each time,
since torch names storages by their addresses there.
"""
import collections
import json
import pathlib
import zipfile

import torch

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/torch_files"


def numbers(*shape, start=0.0):
    count = 1
    for side in shape:
        count *= side
    return (torch.arange(count, dtype=torch.float32) * 0.25 + start).reshape(shape)


def kinds():
    shared = numbers(3, 4, start=-1.0)
    state = collections.OrderedDict()
    state["f32"] = numbers(2, 3)
    state["f16"] = numbers(2, 2, start=0.1).half()
    state["bf16"] = numbers(5, start=0.1).bfloat16()
    state["i64"] = torch.tensor([1, -2, 3 << 40])
    state["tied"] = shared
    state["tied_again"] = shared
    state["row_of_shared"] = shared[1]
    state["transposed"] = shared.t()
    state["every_other_column"] = shared[:, ::2]
    state["half_transposed"] = numbers(2, 3).half().t()
    state["scalar"] = torch.tensor(2.5)
    state["empty"] = torch.zeros(0, 4)
    state["parameter"] = torch.nn.Parameter(numbers(2, start=7.0))
    return state


def module():
    """A module's own state_dict(), which carries the attribute _metadata."""
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(numbers(2, 3))
        layer.bias.copy_(numbers(2, start=5.0))
    return layer.state_dict()


def repack(source, target):
    """The same entries as Python's zipfile writes them: without zip64 and data descriptors."""
    with zipfile.ZipFile(source) as entries, zipfile.ZipFile(target, "w") as out:
        for name in entries.namelist():
            out.writestr(zipfile.ZipInfo(name), entries.read(name))


def tiny_model():
    """tests/golden/tiny-bert as a model with a head has it: prefixed, one matrix stored by columns,
    and the head's matrix the word embedding itself."""
    raw = (OUT.parent / "tiny-bert/model.safetensors").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    state = collections.OrderedDict()
    for name, info in json.loads(raw[8:8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + place for place in info["data_offsets"])
        values = torch.frombuffer(bytearray(raw[begin:end]), dtype=torch.float32)
        state["bert." + name] = values.reshape(info["shape"])
    name = "bert.encoder.layer.1.intermediate.dense.weight"
    state[name] = state[name].t().contiguous().t()
    state["cls.predictions.decoder.weight"] = state["bert.embeddings.word_embeddings.weight"]
    state["cls.predictions.bias"] = torch.zeros(3)
    return state


def main():
    torch.manual_seed(6)
    OUT.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name, state in (("kinds", kinds()), ("module", module())):
        torch.save(state, OUT / f"{name}.bin")
        expected[name] = {
            key: {"shape": list(value.shape), "dtype": str(value.dtype).replace("torch.", ""),
                  "values": value.detach().double().flatten().tolist()}
            for key, value in state.items()}
    torch.save(dict(module()), OUT / "protocol4.bin", pickle_protocol=4)
    expected["protocol4"] = expected["module"]
    repack(OUT / "module.bin", OUT / "repacked.bin")
    expected["repacked"] = expected["module"]
    torch.save(module(), OUT / "legacy.bin", _use_new_zipfile_serialization=False)
    torch.save(tiny_model(), OUT / "tiny_bert.bin")
    torch.save({"epoch": 3, "state_dict": module()}, OUT / "checkpoint.bin")
    torch.save(torch.nn.Linear(1, 1), OUT / "whole_module.bin")
    (OUT / "expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
