"""Runs one benchmark script for several frameworks, each in a process of its own, by turns.

A script measures one framework when it is called with `--framework NAME --json -`, and
prints one JSON object of figures. `run` calls it so for each framework that can be
imported, round after round, so that what else the machine does strikes all of them, and
gives of each figure the least and the median over the rounds. Runs that other processes
disturbed are repeated (disturbance.py), and what remains is written beside the figures.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import disturbance

FRAMEWORKS = {
    "proa": "Proa",
    "torch": "PyTorch",
    "torch_tuned": "PyTorch, tuned",
    "paddle": "PaddlePaddle",
    "jax": "JAX",
}
# What a framework is tuned with: memory that was freed is kept by the process.
_ENVIRONMENT = {
    "torch_tuned": {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_TOP_PAD_": str(2**28)}
}


def _module(name: str) -> str:
    return name.partition("_")[0]


def installed(tuned: bool = True) -> list[str]:
    """The frameworks that can be imported; with their tuned forms, or without."""
    names = [name for name in FRAMEWORKS if importlib.util.find_spec(_module(name)) is not None]
    return names if tuned else [name for name in names if name == _module(name)]


def versions(names: list[str]) -> dict[str, str]:
    """The version of each, asked in a process of its own: two OpenMP runtimes in one disagree."""
    code = "import sys, importlib; print(importlib.import_module(sys.argv[1]).__version__)"
    out = {}
    for name in names:
        p = subprocess.run([sys.executable, "-c", code, _module(name)], capture_output=True, text=True)
        out[name] = p.stdout.split("\n")[-2] if p.returncode == 0 else "does not import"
    return out


def machine() -> str:
    """The machine in words: processor, threads, memory, vector instructions."""
    info = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = next((line.split(":", 1)[1].strip() for line in info.splitlines() if "model name" in line), "")
    flags = next((set(line.split()) for line in info.splitlines() if line.startswith("flags")), set())
    vectors = [
        w for flag, w in (("avx2", "AVX2"), ("avx512f", "AVX-512"), ("avx512_bf16", "AVX-512 bf16")) if flag in flags
    ]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{model or platform.machine()}, {len(os.sched_getaffinity(0))} core(s), {memory:.0f} GiB memory, "
        f"{', '.join(vectors) or 'no vector extensions known'}"
    )


def least(function, seconds: float, clock=time.perf_counter) -> float:
    """Microseconds, by a clock, of the fastest of the runs that fit into the time, at least two."""
    function()
    best, end, runs = float("inf"), time.perf_counter() + seconds, 0
    while time.perf_counter() < end or runs < 2:
        begin = clock()
        function()
        best, runs = min(best, clock() - begin), runs + 1
    return best * 1e6


def measure(script: str, name: str, arguments: list[str], threads: int) -> dict | None:
    """What the script prints for this framework; None, and a message, if it fails."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    environment |= _ENVIRONMENT.get(name, {})
    command = [sys.executable, script, "--framework", name, "--json", "-", *arguments]
    p = subprocess.run(command, capture_output=True, text=True, env=environment)
    if p.returncode != 0:
        print(f"{name}: {p.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return json.loads(p.stdout.splitlines()[-1])


def run(script: str, arguments: list[str], names: list[str], rounds: int, threads: int, calm=disturbance.calm) -> dict:
    """Figures as {line: {framework: {"least", "median", "load", "others"}}}, with versions, machine and load.

    "load" is the load average before the runs, and "others" the CPUs that other processes took during them (None if
    that is not known): of several rounds the most.
    """
    found: dict[str, list[disturbance.Measured]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            found[name].append(calm(lambda: measure(script, name, arguments, threads)))
    figures: dict[str, dict[str, dict]] = {}
    for name, runs in found.items():
        conditions = {"load": max(r.load for r in runs), "others": most(r.others for r in runs)}
        values = [r.value for r in runs if r.value]
        for line in values[0] if values else ():
            v = [value[line] for value in values]
            figures.setdefault(line, {})[name] = {"least": min(v), "median": statistics.median(v)} | conditions
    loads = [r.load for runs in found.values() for r in runs]
    return {
        "machine": machine(),
        "threads": threads,
        "rounds": rounds,
        "load": [min(loads), max(loads)],
        "versions": versions(names),
        "figures": figures,
    }


def most(values) -> float | None:
    """The largest; None if one is not known, or there is none."""
    values = list(values)
    return None if not values or None in values else max(values)


def print_table(result: dict, unit: str, titles: dict[str, str] = FRAMEWORKS) -> None:
    names = list(result["versions"])
    low, high = result["load"]
    others = most(figure["others"] for by_name in result["figures"].values() for figure in by_name.values())
    disturbed = "" if others is None else f"; others took at most {others:.2f} of a CPU"
    print(f"median {unit} of {result['rounds']} rounds; load average {low:.1f} to {high:.1f}{disturbed}")
    width = max(map(len, result["figures"]), default=0)
    print(" " * width + "".join(f"{titles[n]:>16}" for n in names))
    for line, by_name in result["figures"].items():
        cells = (f"{by_name[n]['median']:16,.4g}" if n in by_name else f"{'-':>16}" for n in names)
        print(f"{line:{width}}" + "".join(cells))
