"""What a training step or a prediction costs, for whole networks, beside peers.

    python benchmarks/models.py [--work "lenet;resnet"] [--rounds 3] [--threads 2] [--json FILE]

Each framework that can be imported runs in its own process, by turns (side_by_side.py).
Times are milliseconds, the median of the runs of a process after warming up. On one thread
they are of the CPU, which does not see what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time

import networks
import numpy as np
import side_by_side

# name: (network, shape of a batch, classes, trains, runs)
WORK = {
    "LeNet, batch 64, training": ("lenet", (64, 1, 28, 28), 10, True, 50),
    "MobileNet v1, batch 1, inference": ("mobilenet", (1, 3, 224, 224), 1000, False, 10),
    "MobileNet v1, batch 8, training": ("mobilenet", (8, 3, 224, 224), 1000, True, 3),
    "ResNet-50, batch 1, inference": ("resnet50", (1, 3, 224, 224), 1000, False, 7),
    "ResNet-50, batch 8, training": ("resnet50", (8, 3, 224, 224), 1000, True, 3),
    "BERT-base, batch 1 of 128, inference": ("bert", (1, 128), 2, False, 5),
    "BERT-base, batch 2 of 128, training": ("bert", (2, 128), 2, True, 3),
    # Full size: named, but run only when asked for.
    "MobileNet v1, batch 32, training": ("mobilenet", (32, 3, 224, 224), 1000, True, 3),
    "MobileNet v1, batch 32, inference": ("mobilenet", (32, 3, 224, 224), 1000, False, 3),
    "ResNet-50, batch 32, training": ("resnet50", (32, 3, 224, 224), 1000, True, 3),
    "ResNet-50, batch 32, inference": ("resnet50", (32, 3, 224, 224), 1000, False, 3),
    "BERT-base, batch 8 of 128, training": ("bert", (8, 128), 2, True, 3),
    "BERT-base, batch 8 of 128, inference": ("bert", (8, 128), 2, False, 3),
}
SMALL = list(WORK)[:7]


def _batch(network: str, shape, classes: int):
    rng = np.random.default_rng(0)
    if network == "bert":
        x = rng.integers(0, 30000, shape)
    else:
        x = rng.standard_normal(shape).astype(np.float32)
    return x, rng.integers(0, classes, shape[0])


def _runner(a: networks.Api, work: str):
    """A function that does one step of the work and waits for it."""
    network, shape, classes, trains, _ = WORK[work]
    net = getattr(networks, network)(a)
    x, label = (a.tensor(v) for v in _batch(network, shape, classes))
    if not trains:
        net.eval()

        def predict():
            with a.no_grad():
                net(x).numpy()

        return predict
    net.train()
    optimizer = a.momentum(net)

    def step():
        loss = a.F.cross_entropy(net(x), label)
        loss.backward()
        optimizer.step()
        a.clear_grad(optimizer)
        return float(loss)

    return step


def measure(name: str, work: str) -> dict[str, float]:
    run, times = _runner(networks.api(name), work), []
    alone = os.environ.get("OMP_NUM_THREADS") == "1"
    now = time.process_time if alone else time.perf_counter
    for i in range(2 + WORK[work][4]):
        start = now()
        run()
        if i >= 2:
            times.append(now() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {work: 1e3 * statistics.median(times), work + ", peak MiB": peak}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", help="measure this one, in this process")
    parser.add_argument("--work", default="", help="beginnings of names, with semicolons; small batches if empty")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", help="write the figures there; - is the standard output")
    args = parser.parse_args(argv)
    wanted = [w for w in WORK if any(w.lower().startswith(part.strip().lower()) for part in args.work.split(";"))]
    wanted = wanted if args.work else SMALL
    if args.framework:
        figures = {}
        for work in wanted:
            figures |= measure(args.framework, work)
        print(json.dumps(figures))
        return 0
    names = [n for n in side_by_side.installed() if n != "jax"]
    results = []
    for work in wanted:  # a process for each, so that memory is its own
        results.append(side_by_side.run(__file__, ["--work", work], names, args.rounds, args.threads))
        side_by_side.print_table(results[-1], "ms")
    result = results[0] | {"figures": {k: v for r in results for k, v in r["figures"].items()}}
    result["load"] = [min(r["load"][0] for r in results), max(r["load"][1] for r in results)]
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(result, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
