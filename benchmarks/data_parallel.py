"""Data parallel training on this machine: two ranks of one thread beside one process of two, and beside PyTorch's
DistributedDataParallel with Gloo, where PyTorch is installed.

    python benchmarks/data_parallel.py [--work resnet50,bert] [--rounds 3] [--steps 6] [--ranks 2]

Every way trains on the same samples a step: a rank has its share of them. The ways take turns; a number is the median
of the rounds, and a ratio the median of the ratios of the rounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

# Network, its arguments, samples a step, how a sample looks.
_WORK = {
    "resnet50": ("resnet50", {}, 16, ("image", 96)),
    "bert": ("bert", {"layers": 4, "width": 512, "heads": 8, "words": 8000}, 16, ("words", 128)),
    "bert-base": ("bert", {"words": 8000}, 8, ("words", 128)),
}


def train(work, framework, steps):
    """Samples a second of a rank of this process's job, all ranks together; in the environment of a rank."""
    import numpy as np
    from networks import api

    name, options, samples, (kind, size) = _WORK[work]
    ranks, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    a = api(framework)
    if framework == "torch":
        a.lib.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        if ranks > 1:
            a.lib.distributed.init_process_group("gloo")
    elif ranks > 1:
        importlib.import_module(framework + ".distributed").init_parallel_env()
    import networks

    net = getattr(networks, name)(a, **options)
    random = np.random.default_rng(rank)
    count = samples // ranks
    shape = (count, 3, size, size) if kind == "image" else (count, size)
    made = random.standard_normal(shape, "float32") if kind == "image" else random.integers(0, 8000, shape)
    x, label = a.tensor(made), a.tensor(random.integers(0, 2, (count,)))
    optimizer = a.momentum(net)
    if ranks > 1:
        net = a.nn.parallel.DistributedDataParallel(net) if framework == "torch" else a.lib.DataParallel(net)

    def step():
        a.F.cross_entropy(net(x), label).backward()
        optimizer.step()
        a.clear_grad(optimizer)

    times = []
    for k in range(steps + 2):
        began = time.perf_counter()
        step()
        if k >= 2:
            times.append(time.perf_counter() - began)
    return samples / statistics.median(times)


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _once(work, framework, ranks, threads, steps):
    common = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "WORLD_SIZE": str(ranks),
        "OMP_NUM_THREADS": str(threads),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, __file__, "--work", work, "--steps", str(steps), "--train", framework]
    processes = [
        subprocess.Popen(command, env=common | {"RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
        for rank in range(ranks)
    ]
    outputs = [p.communicate(timeout=400)[0] for p in processes]
    return float(outputs[0].split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", default="resnet50,bert", help=", ".join(_WORK))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--train", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.train:
        print(train(args.work, args.train, args.steps))
        return
    ways = {
        "proa, one process": ("proa", 1, args.ranks),
        "proa": ("proa", args.ranks, 1),
    }
    if importlib.util.find_spec("torch") is not None:
        ways["torch, one process"] = ("torch", 1, args.ranks)
        ways["torch, Gloo"] = ("torch", args.ranks, 1)
    print(
        f"{args.ranks} ranks of one thread; samples a second, medians of {args.rounds} rounds, load {os.getloadavg()[0]:.1f}"
    )
    for work in args.work.split(","):
        rounds = [
            {
                way: _once(work, framework, ranks, threads, args.steps)
                for way, (framework, ranks, threads) in ways.items()
            }
            for _ in range(args.rounds)
        ]
        for way in ways:
            ratio = statistics.median(r["proa"] / r[way] for r in rounds)
            print(
                f"{work:12}{way:22}{statistics.median(r[way] for r in rounds):10.2f}   proa on ranks is {ratio:.2f} of it"
            )


if __name__ == "__main__":
    main()
