"""all_reduce between processes of this machine: Proa beside torch.distributed with Gloo, where PyTorch is installed.

    python benchmarks/all_reduce.py [--ranks 2] [--rounds 5]

The frameworks take turns; a time is the median of the rounds, and the ratio is the median of the ratios of the rounds.
Beside them stand Proa over sockets (PROA_SHARED_MEMORY=0), which is where Gloo carries its bytes, and Proa's backend of
that name, which is Debian's Gloo under the same calls.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import socket
import statistics
import subprocess
import sys

_SIZES = {"4 bytes": (1, 2000), "64 KiB": (16384, 500), "1 MiB": (1 << 18, 100), "64 MiB": (1 << 24, 5)}

_PROA = """
import os, sys, time, statistics
import proa, proa.distributed as dist
dist.init_parallel_env()
barrier, reduce = dist.barrier, dist.all_reduce
make = lambda n: proa.zeros([n])
"""
_TORCH = """
import os, sys, time, statistics
import torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo")
barrier, reduce = dist.barrier, dist.all_reduce
make = lambda n: torch.zeros(n)
"""
_MEASURE = """
for name, (n, times) in {sizes!r}.items():
    x = make(n)
    for _ in range(max(2, times // 10)):
        reduce(x)
    barrier()
    began = time.perf_counter()
    for _ in range(times):
        reduce(x)
    took = (time.perf_counter() - began) / times
    if os.environ["RANK"] == "0":
        print(name, took, sep=":", flush=True)
"""


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _once(source, ranks, **environment):
    """Seconds of a call by size, as rank 0 saw them."""
    common = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "WORLD_SIZE": str(ranks),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
        **environment,
    }
    program = source + _MEASURE.format(sizes=_SIZES)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program], env=common | {"RANK": str(rank)}, stdout=subprocess.PIPE, text=True
        )
        for rank in range(ranks)
    ]
    lines = [p.communicate(timeout=300)[0] for p in processes][0].splitlines()
    return {name: float(seconds) for name, seconds in (line.split(":") for line in lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    ways = {
        "proa": (_PROA, {}),
        "proa, sockets": (_PROA, {"PROA_SHARED_MEMORY": "0"}),
        "proa, gloo": (_PROA, {"PADDLE_DISTRI_BACKEND": "gloo"}),
    }
    if importlib.util.find_spec("torch") is not None:
        ways["torch, gloo"] = (_TORCH, {})
    rounds = [
        {way: _once(source, args.ranks, **environment) for way, (source, environment) in ways.items()}
        for _ in range(args.rounds)
    ]
    print(
        f"{args.ranks} ranks, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; microseconds, medians of "
        f"{args.rounds}, and how many times the first it is"
    )
    print(f"{'size':10}" + "".join(f"{way:>22}" for way in ways))
    for name in _SIZES:
        line = f"{name:10}"
        for way in ways:
            time = statistics.median(r[way][name] for r in rounds) * 1e6
            ratio = statistics.median(r[way][name] / r["proa"][name] for r in rounds)
            line += f"{time:14.1f} ({ratio:5.2f})"
        print(line)


if __name__ == "__main__":
    main()
