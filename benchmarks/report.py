"""Writes docs/performance.md from measured figures.

    python benchmarks/report.py RESULTS... [--write docs/performance.md]

RESULTS are files that call_overhead.py and models.py wrote with --json, and outputs of
bandwidth_benchmark. The page says on what machine and beside what load they were made;
nothing in it depends on where.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys

import side_by_side

_INTRODUCTION = """# Performance

What Proa costs beside its peers and beside the machine. This page is written by `benchmarks/report.py`;
`./dev bench --peers` measures and writes it anew.

Frameworks run in processes of their own, by turns. Each figure is the least of the rounds: what else the machine
does can only add to it. A load above the number of cores means that it was not alone, and times on several threads
are then of little use: threads wait for one another. Times of one thread are of the CPU's clock, but even those are
longer than on an idle machine, since caches are shared.
"""


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _conditions(result: dict) -> str:
    low, high = result["load"]
    return (
        f"{result['machine']}; {result['threads']} thread{'s' if result['threads'] > 1 else ''}; "
        f"{result['rounds']} rounds; load average {low:.1f} to {high:.1f}.\n"
    )


def _side_by_side(title: str, text: str, result: dict) -> str:
    names = list(result["versions"])
    header = [""] + [f"{side_by_side.FRAMEWORKS[n]} {result['versions'][n]}" for n in names]
    rows = []
    for line, by_name in result["figures"].items():
        rows.append([line] + [_number(by_name[n]["least"]) if n in by_name else "-" for n in names])
    return f"## {title}\n\n{text}\n\n{_conditions(result)}\n{_table(header, rows)}"


def _bandwidth(text: str) -> str:
    rows = []
    for line in text.splitlines():
        m = re.fullmatch(r"(.{34})\s*([\d.]+)\s+([\d.]+)\s+(\d+)\s+(\d+)", line)
        if m:
            rows.append([m.group(1).strip(), m.group(2), m.group(4)])
    bounds = re.findall(r"^(\S+) from the L1 cache\s+([\d.]+) ns", text, re.MULTILINE)
    loads = [float(v) for v in re.findall(r"^load average ([\d.]+)", text, re.MULTILINE)]
    threads = (re.findall(r"^(\d+) threads?, (\w+) time", text, re.MULTILINE) or [("?", "?")])[0]
    return (
        "## Memory bound ops\n\nGB/s of the bytes that an op must read and write, and per cent of memcpy on the same "
        "threads, each run beside one of memcpy (`ops/bandwidth_benchmark.cc`); float32, 64 MiB an operand. "
        f"Threads: {threads[0]}; {threads[1]} time, load average {min(loads):.1f} to {max(loads):.1f}.\n\n"
        + _table(["", "GB/s", "% of memcpy"], rows)
        + _arithmetic(bounds)
    )


def _arithmetic(bounds: list[tuple[str, str]]) -> str:
    if not bounds:
        return ""
    rows = [[name, ns, f"{4 / float(ns):.1f}"] for name, ns in bounds]
    return (
        "\nOps of long formulas are bound by arithmetic, not by memory: nanoseconds an element on one thread with "
        "operands in the L1 cache, and the GB/s of float32 that could be read at this rate.\n\n"
        + _table(["", "ns", "GB/s read"], rows)
    )


_MODELS = """## Models

Milliseconds for a step of training (momentum) or a prediction, float32 unless said (`benchmarks/models.py`; the
networks are `benchmarks/networks.py`, one definition for all). The limit is the sum of a network's convolutions and
matrix products alone, timed in oneDNN at the layout that is fastest for each with warm memory (`benchmarks/limits.py`):
a bound, not a promise. "Of the limit" is Proa's time by it. PyTorch "tuned" keeps images channels-last and the memory
that it frees, and predicts with a frozen graph. The load is that of the machine when the row was measured.
"""


def _models(result: dict) -> str:
    names = list(result["versions"])
    titles = [f"{side_by_side.FRAMEWORKS[n]} {result['versions'][n]}" for n in names]
    figures, limits = result["figures"], result.get("limits", {})
    work = [line for line in figures if not line.endswith(", peak MiB")]

    def cells(line):
        return [_number(figures[line][n]["least"]) if n in figures[line] else "-" for n in names]

    times = []
    for line in work:
        limit, ours = limits.get(line), figures[line].get("proa")
        share = f"{ours['least'] / limit:.2f}" if limit and ours else "-"
        low, high = result.get("loads", {}).get(line, result["load"])
        times.append([line, _number(limit) if limit else "-", share, *cells(line), f"{low:.1f} to {high:.1f}"])
    memory = [[line, *cells(line + ", peak MiB")] for line in work]
    return (
        f"{_MODELS}\n{_conditions(result)}\n"
        + _table(["ms", "limit", "of the limit", *titles, "load"], times)
        + "\nPeak memory of the process, MiB:\n\n"
        + _table(["", *titles], memory)
    )


def _section(path: str) -> str:
    text = pathlib.Path(path).read_text(encoding="utf-8")
    if not text.startswith("{"):
        return _bandwidth(text)
    result = json.loads(text)
    if "x + y" in result["figures"]:
        return _side_by_side(
            "What a call costs",
            "Nanoseconds of CPU for a call from Python on four floats, net of the loop around it "
            "(`benchmarks/call_overhead.py`).",
            result,
        )
    return _models(result)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+")
    parser.add_argument("--write", help="this file instead of the standard output")
    args = parser.parse_args(argv)
    page = "\n".join([_INTRODUCTION, *(_section(path) for path in args.results)])
    if args.write:
        pathlib.Path(args.write).write_text(page, encoding="utf-8")
    else:
        print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
