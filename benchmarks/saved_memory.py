"""What training holds between forward and backward, beside what the gradient formulas name.

    python benchmarks/saved_memory.py [--json FILE] [NETWORK ...]

For each network of networks.py: the bytes that the allocator has given out since before forward, and the
sum that `proa.autograd.saved_tensors_summary` finds in the graph of the loss. Fails if they are more than 2 %
apart: then something holds memory that no formula asked for, or a formula names what is not held.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys

import networks
import numpy as np

import proa
from proa import _C

_TOLERANCE = 0.02

_rng = np.random.default_rng(0)


def _images(batch, channels, side):
    return lambda: proa.to_tensor(_rng.standard_normal((batch, channels, side, side)).astype("float32"))


# name: (builder, batch of inputs, classes)
_NETWORKS = {
    "lenet": (networks.lenet, _images(64, 1, 28), 10),
    "mobilenet": (networks.mobilenet, _images(8, 3, 224), 1000),
    "resnet50": (networks.resnet50, _images(8, 3, 224), 1000),
    "bert": (networks.bert, lambda: proa.to_tensor(_rng.integers(0, 30522, (8, 128))), 2),
}


def measure(name: str) -> dict:
    """Bytes held by a forward pass: by the allocator, and by the summary of the graph."""
    build, batch, classes = _NETWORKS[name]
    net, x = build(networks.api("proa")), batch()
    labels = proa.to_tensor(_rng.integers(0, classes, x.shape[0]))

    def forward():
        return proa.nn.functional.cross_entropy(net(x), labels)

    for _ in range(2):  # what is made once, and for weights that do not change
        forward().backward()
    net.clear_gradients()
    gc.collect()
    before = _C.memory_figures()["allocated"]
    loss = forward()
    held = _C.memory_figures()["allocated"] - before
    summary = proa.autograd.saved_tensors_summary(loss)
    # The inputs were there before.
    given = sum(t.size * t.element_size() for t in (x, labels))
    named = summary.activation_bytes + max(0, summary.constant_bytes - given)
    print(summary, end="\n\n", file=sys.stderr)
    return {"network": name, "batch": x.shape[0], "held": held, "named": named, "difference": held / named - 1}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=f"of {', '.join(_NETWORKS)}; all by default")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    if unknown := set(options.networks) - set(_NETWORKS):
        parser.error(f"there is no network {', '.join(sorted(unknown))}")
    rows = [measure(name) for name in options.networks or _NETWORKS]
    print(f"{'network':<12}{'batch':>6}{'held (allocator)':>20}{'named (formulas)':>20}{'difference':>12}")
    for r in rows:
        print(f"{r['network']:<12}{r['batch']:>6}{r['held']:>20,}{r['named']:>20,}{r['difference']:>+12.2%}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    return int(any(abs(r["difference"]) > _TOLERANCE for r in rows))


if __name__ == "__main__":
    sys.exit(main())
