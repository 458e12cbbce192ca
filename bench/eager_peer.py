# SPDX-License-Identifier: Apache-2.0
"""The eager peer as it is, or with torch.autocast in bfloat16 around forward and loss.

usage, in a folder with eager.py and the workloads: eager_peer.py fp32|bf16 [arguments of eager.py]

Vectors in bfloat16 are first compared with those in fp32. The backward pass is outside of autocast, as
PyTorch asks for. Without memory the process ends at once: PyTorch's own end of it may wait for ever.
"""
import os
import runpy
import sys
import traceback

import torch

LARGEST_DIFFERENCE = 5e-2
backward = torch.Tensor.backward


def autocast(enabled=True):
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled)


def backward_without_autocast(*arguments, **options):
    with autocast(enabled=False):
        backward(*arguments, **options)
    torch.clear_autocast_cache()  # as at the end of a context around one step: the weights change now


def end_at_once(*error):
    traceback.print_exception(*error)
    sys.stderr.flush()
    os._exit(1)


def check_vectors():
    from eager import Enc
    net = Enc().eval()
    ids = torch.randint(1000, 20000, (3, 17))
    with torch.no_grad():
        expected = net(ids, torch.ones_like(ids))
        with autocast():
            found = net(ids, torch.ones_like(ids))
    difference = (found.float() - expected).abs().max().item()
    if not 0 < difference < LARGEST_DIFFERENCE:
        sys.exit(f"eager_peer.py: vectors in bfloat16 differ by {difference} from those in fp32")


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    sys.excepthook = end_at_once
    bfloat = sys.argv.pop(1) == "bf16"
    if bfloat:
        check_vectors()
        torch.Tensor.backward = backward_without_autocast
    with autocast(bfloat):
        runpy.run_path("eager.py", run_name="__main__")
