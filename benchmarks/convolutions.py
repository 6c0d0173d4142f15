"""Single convolutions and pools, forward and backward, beside PyTorch.

    python benchmarks/convolutions.py [--work "conv3d"] [--threads 2] [--rounds 5] [--json FILE]

PyTorch is tuned: its images and weights lie channels-last, the layout that each of the two computes in, and it keeps
memory that was freed. With one thread the processor time is measured, which others on the machine hardly change.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time

import numpy as np
import side_by_side

# Image, weight (or kernel), stride, padding, groups.
CONVOLUTIONS = {
    "conv3d 3x3x3, 32 of 16x56x56": ([2, 32, 16, 56, 56], [32, 32, 3, 3, 3], 1, 1, 1),
    "conv3d 3x3x3, 64 of 8x28x28, stride 2": ([4, 64, 8, 28, 28], [128, 64, 3, 3, 3], 2, 1, 1),
    "conv3d 3x3x3, 256 of 4x14x14": ([4, 256, 4, 14, 14], [256, 256, 3, 3, 3], 1, 1, 1),
    "conv3d 3x7x7, 3 of 16x112x112, stride 1x2x2": ([2, 3, 16, 112, 112], [64, 3, 3, 7, 7], [1, 2, 2], [1, 3, 3], 1),
    "conv3d 1x1x1, 128 of 8x28x28": ([4, 128, 8, 28, 28], [256, 128, 1, 1, 1], 1, 0, 1),
    "conv1d 5, 64 of 4000": ([8, 64, 4000], [128, 64, 5], 1, 2, 1),
    "conv1d 3, 256 of 500, dilation 1": ([16, 256, 500], [256, 256, 3], 1, 1, 1),
    "conv2d 1x1, 512 of 14x14": ([32, 512, 14, 14], [512, 512, 1, 1], 1, 0, 1),
}
POOLS = {
    "max_pool3d 3, stride 2, 64 of 8x56x56": ([2, 64, 8, 56, 56], 3, 2, 1),
    "avg_pool3d 2, 64 of 8x56x56": ([2, 64, 8, 56, 56], 2, 2, 0),
}
WORK = CONVOLUTIONS | POOLS


def _proa(name: str):
    import proa
    import proa.nn.functional as F

    function = getattr(F, name.split()[0])
    if name in POOLS:
        shape, *rest = POOLS[name]
        weight = None
    else:
        shape, weight_shape, stride, padding, groups = CONVOLUTIONS[name]
        weight = proa.randn(weight_shape)
        weight.stop_gradient = False
    # As the result of another convolution lies.
    x = proa.randn([shape[0], *shape[2:], shape[1]]).transpose([0, len(shape) - 1, *range(1, len(shape) - 1)])
    x.stop_gradient = False

    def step():
        y = function(x, *rest) if weight is None else function(x, weight, None, stride, padding, 1, groups)
        proa.grad([y], [x] if weight is None else [x, weight], [proa.ones_like(y)])

    return step


def _torch(name: str):
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    function = getattr(torch.nn.functional, name.split()[0])
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}

    def tensor(shape):
        t = torch.randn(shape)
        t = t.to(memory_format=formats[len(shape)]) if len(shape) in formats else t
        return t.requires_grad_()

    if name in POOLS:
        shape, *rest = POOLS[name]
        weight = None
    else:
        shape, weight_shape, stride, padding, groups = CONVOLUTIONS[name]
        weight = tensor(weight_shape)
    x = tensor(shape)

    def step():
        y = function(x, *rest) if weight is None else function(x, weight, None, stride, padding, 1, groups)
        torch.autograd.grad([y], [x] if weight is None else [x, weight], [torch.ones_like(y)])

    return step


def measure(framework: str, name: str, seconds: float) -> float:
    """Milliseconds of a step."""
    step = _proa(name) if framework == "proa" else _torch(name)
    now = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter
    step()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = now()
        step()
        times.append(now() - start)
    return 1e3 * (min(times) if now is time.process_time else statistics.median(times))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", help="measure this one, in this process")
    parser.add_argument("--work", default="", help="beginning of names")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1, help="to measure each framework for, in a row and round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", help="write the figures there; - is the standard output")
    args = parser.parse_args(argv)
    names = [name for name in WORK if name.startswith(args.work)]
    if args.framework:
        np.random.seed(0)
        print(json.dumps({name: measure(args.framework, name, args.seconds) for name in names}))
        return 0
    arguments = ["--work", args.work, "--seconds", str(args.seconds)]
    frameworks = [n for n in side_by_side.installed() if n in ("proa", "torch_tuned")]
    result = side_by_side.run(__file__, arguments, frameworks, args.rounds, args.threads)
    side_by_side.print_table(result, "ms")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
