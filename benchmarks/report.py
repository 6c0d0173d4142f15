"""Writes docs/performance.md and its pictures from measured figures.

    python benchmarks/report.py RESULTS... [--write docs/performance.md]

RESULTS are files that call_overhead.py, models.py, account.py and op_families.py wrote with --json, and
outputs of bandwidth_benchmark. The page says on what machine and beside what load they were
made; nothing in it depends on where. Pictures go into plots/ beside the page, and are the
same bytes for the same figures.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys
from typing import NamedTuple

import account_section
import disturbance
import families_section
import page_text
import plots
import predictions_section
import side_by_side

_BOUND = f"{100 * disturbance.BOUND:.0f} %"
_INTRODUCTION = f"""# Performance

What Proa costs beside its peers and beside the machine. This page is written by `benchmarks/report.py`;
`./dev bench --peers` measures and writes it anew.

Frameworks run in processes of their own, by turns, for some rounds. Each figure is the median of the rounds. Beside it
stand the load average when the runs began and, where it was recorded, what other processes took of a CPU during them,
the most of all runs (`benchmarks/disturbance.py`). A run during which they took more than {_BOUND} is repeated,
{disturbance.REPEATS} times at most, and the least disturbed one counts: a figure beside more than that was never measured
alone, and times on several threads are then of little use, since threads wait for one another. Times of one thread are of
the CPU's clock, but even those are longer than on an idle machine: caches are shared.
"""


class Section(NamedTuple):
    text: str
    pictures: dict[str, str] = {}  # SVG by the name of the file


def _picture(name: str, alternative: str) -> str:
    return f"![{alternative}](plots/{name})\n"


def _conditions(result: dict) -> str:
    low, high = result["load"]
    return (
        f"{result['machine']}; {_count(result['threads'], 'thread')}; {_count(result['rounds'], 'round')}; "
        f"load average {low:.1f} to {high:.1f}{_disturbed(result)}.\n"
    )


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _others(by_name: dict) -> float | None:
    return side_by_side.most(figure.get("others") for figure in by_name.values())


def _disturbed(result: dict) -> str:
    others = side_by_side.most(_others(by_name) for by_name in result["figures"].values())
    return "" if others is None else f"; others took at most {page_text.others(others)} of a CPU"


def _calls(result: dict) -> Section:
    names = list(result["versions"])
    header = [""] + [f"{side_by_side.FRAMEWORKS[n]} {result['versions'][n]}" for n in names]
    rows = []
    for line, by_name in result["figures"].items():
        rows.append([line] + [page_text.number(by_name[n]["median"]) if n in by_name else "-" for n in names])
    text = (
        "## What a call costs\n\nNanoseconds of CPU for a call from Python on four floats, net of the loop around it: the "
        "best of several runs of a process (`benchmarks/call_overhead.py`).\n\n"
    )
    return Section(f"{text}{_conditions(result)}\n{page_text.table(header, rows)}")


def _bandwidth(text: str) -> Section:
    rows = []
    for line in text.splitlines():
        m = re.fullmatch(r"(.{34})\s*([\d.]+)\s+([\d.]+)\s+(\d+)\s+(\d+)", line)
        if m:
            rows.append([m.group(1).strip(), m.group(2), m.group(4)])
    bounds = re.findall(r"^(\S+) from the L1 cache\s+([\d.]+) ns", text, re.MULTILINE)
    loads = [float(v) for v in re.findall(r"^load average ([\d.]+)", text, re.MULTILINE)]
    threads = (re.findall(r"^(\d+) threads?, (\w+) time", text, re.MULTILINE) or [("?", "?")])[0]
    others = [float(v) for v in re.findall(r"^others took ([\d.]+) of a CPU", text, re.MULTILINE)]
    disturbed = f"; others took {page_text.others(others[-1])} of a CPU" if others else ""
    share = {name: [float(percent)] for name, _, percent in rows}
    picture = plots.bars("Memory bound ops: % of memcpy", ["Proa"], share, log=False, mark=100.0, form="{:.0f}")
    page = (
        "## Memory bound ops\n\nGB/s of the bytes that an op must read and write, and per cent of memcpy on the same "
        "threads, medians of runs each beside one of memcpy (`ops/bandwidth_benchmark.cc`); float32, 64 MiB an operand. "
        f"Threads: {threads[0]}; {threads[1]} time, load average {min(loads):.1f} to {max(loads):.1f}{disturbed}.\n\n"
        + _picture("bandwidth.svg", "Memory bound ops, per cent of memcpy")
        + "\n"
        + page_text.table(["", "GB/s", "% of memcpy"], rows)
        + _arithmetic(bounds)
    )
    return Section(page, {"bandwidth.svg": picture})


def _arithmetic(bounds: list[tuple[str, str]]) -> str:
    if not bounds:
        return ""
    rows = [[name, ns, f"{4 / float(ns):.1f}"] for name, ns in bounds]
    return (
        "\nOps of long formulas are bound by arithmetic, not by memory: nanoseconds an element on one thread with "
        "operands in the L1 cache, and the GB/s of float32 that could be read at this rate.\n\n"
        + page_text.table(["", "ns", "GB/s read"], rows)
    )


_MODELS = """## Models

Milliseconds for a step of training (momentum) or a prediction, float32 unless said: the median of the runs of a process
(`benchmarks/models.py`; the networks are `benchmarks/networks.py`, one definition for all). The limit is the sum of a
network's convolutions and matrix products alone, timed in oneDNN at the layout that is fastest for each with warm memory
(`benchmarks/limits.py`): a bound, not a promise. "Times the limit" is Proa's time by it, and in per cent the share of
Proa's time that the limit is; beside it that of the fastest peer. GFLOP/s are Proa's, of those products. PyTorch "tuned"
keeps images channels-last and the memory that it frees, and predicts with a frozen graph; Proa predicts with a program
(`to_static`), and trains by calls of plain layers.
"""
# In the order of the bars.
_SERIES = ["proa", "torch_tuned", "torch", "paddle"]


def _load(result: dict, line: str) -> str:
    low, high = result.get("loads", {}).get(line, result["load"])
    by_name = result["figures"][line]
    others = _others(by_name)
    if line in result.get("limit_others", {}):
        others = side_by_side.most([others, result["limit_others"][line]])
    return f"{low:.1f} to {high:.1f}" + ("" if others is None else f" ({page_text.others(others)})")


def _times(result: dict, line: str, median: dict[str, float]) -> list[str]:
    """The cells of a row of the table of models; `median` has the milliseconds by framework."""
    limit, flops, ours = result.get("limits", {}).get(line), result.get("flops", {}).get(line), median.get("proa")
    peers = [ms for name, ms in median.items() if name != "proa"]
    return [
        line,
        page_text.number(limit) if limit else "-",
        *(page_text.number(median[n]) if n in median else "-" for n in result["versions"]),
        page_text.number(flops / ours / 1e6) if flops and ours else "-",
        f"{ours / limit:.2f} ({100 * limit / ours:.0f} %)" if limit and ours else "-",
        f"{min(peers) / limit:.2f}" if limit and peers else "-",
        _load(result, line),
    ]


def _models(result: dict) -> Section:
    names, figures, limits = list(result["versions"]), result["figures"], result.get("limits", {})
    titles = [f"{side_by_side.FRAMEWORKS[n]} {result['versions'][n]}" for n in names]
    work = [line for line in figures if not line.endswith(", peak MiB")]
    ms = {line: {n: figure["median"] for n, figure in figures[line].items()} for line in work}
    peak = {line: {n: figure["median"] for n, figure in figures[line + ", peak MiB"].items()} for line in work}
    memory = [[line, *(page_text.number(peak[line][n]) if n in peak[line] else "-" for n in names)] for line in work]
    shown = [n for n in _SERIES if n in names]
    series = [side_by_side.FRAMEWORKS[n] for n in shown]
    multiples = {w: [ms[w][n] / limits[w] if n in ms[w] else None for n in shown] for w in work if limits.get(w)}
    pictures = {"memory.svg": plots.bars(
        "Peak memory of the process, MiB", series, {w: [peak[w].get(n) for n in shown] for w in work},
        log=False, form="{:,.0f}",
    )}  # fmt: skip
    if multiples:
        title = "Time of a step, as a multiple of the limit (1: the convolutions and products alone)"
        pictures["models.svg"] = plots.bars(title, series, multiples, log=True, mark=1.0)
    header = ["ms", "limit", *titles, "GFLOP/s", "times the limit", "fastest peer", "load (others)"]
    page = (
        f"{_MODELS}\n{_conditions(result)}\n"
        + (_picture("models.svg", "Times as multiples of the limit") + "\n" if multiples else "")
        + page_text.table(header, [_times(result, line, ms[line]) for line in work])
        + "\nPeak memory of the process, MiB:\n\n"
        + _picture("memory.svg", "Peak memory")
        + "\n"
        + page_text.table(["", *titles], memory)
    )
    return Section(page, pictures)


def _section(path: str) -> Section:
    text = pathlib.Path(path).read_text(encoding="utf-8")
    if not text.startswith("{"):
        return _bandwidth(text)
    result = json.loads(text)
    if "accounts" in result:
        return Section(account_section.section(result))
    if "predictions" in result:
        return Section(predictions_section.section(result["predictions"]))
    if "families" in result:
        return Section(families_section.section(result, _conditions(result)))
    return _calls(result) if "x + y" in result["figures"] else _models(result)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+")
    parser.add_argument("--write", type=pathlib.Path, help="this file, and pictures beside it, not the standard output")
    args = parser.parse_args(argv)
    sections = [_section(path) for path in args.results]
    page = "\n".join([_INTRODUCTION, *(section.text for section in sections)])
    if not args.write:
        print(page)
        return 0
    args.write.write_text(page, encoding="utf-8")
    for name, picture in (item for section in sections for item in section.pictures.items()):
        file = args.write.parent / "plots" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
