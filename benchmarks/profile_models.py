"""Where the time of training steps goes: writes the profiles of ResNet-50 and BERT into docs/profiling.md.

    python benchmarks/profile_models.py [--work "resnet;bert"] [--steps 3] [--rounds 6] [--write]

Needs the package (a wheel, or PYTHONPATH), and Chromium for the pictures. Each network trains without a profiler
and with one by turns, by the clock of the machine: the text has the medians, then what one more recording shows, and
how much of the step it accounts for. Without --write the text goes to the standard output, and nothing is changed.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import models
import networks

import proa

_DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
_BEGIN, _END = "<!-- profiles: written by benchmarks/profile_models.py -->", "<!-- end of profiles -->"
_WORK = {"resnet50": "ResNet-50, batch 8, training", "bert": "BERT-base, batch 2 of 128, training"}
_KINDS = {
    "op": "ops",
    "step": "the step itself (Python of the loop)",
    "layer": "layers (Python of `forward`)",
    "backward": "gradient formulas between their ops",
    "pass": "the backward pass itself",
    "optimizer": "optimizer (Python)",
}


def _by_turns(step, rounds):
    """Milliseconds of a step without a profiler and with one, medians. The first step of a recording, which sets it up,
    and of what follows one are not counted."""
    off, on = [], []

    def time_some(times):
        step()
        for _ in range(4):
            start = time.perf_counter()
            step()
            times.append(1e3 * (time.perf_counter() - start))

    for _ in range(rounds):
        time_some(off)
        with proa.profiler.Profiler(on_trace_ready=lambda prof: None):
            time_some(on)
    return statistics.median(off), statistics.median(on)


def _profile(step, count):
    options = dict(record_shapes=True, with_flops=True, profile_memory=True)
    wall = 0.0
    with proa.profiler.Profiler(on_trace_ready=lambda prof: None, **options) as prof:
        for _ in range(count):
            start = time.perf_counter()
            step()
            wall += time.perf_counter() - start
            prof.step()
    result = prof.profiler_result
    result.roof = proa.profiler.measure_roof()
    return result, 1e3 * wall / count


def _table(header, rows):
    yield "| " + " | ".join(header) + " |"
    yield "|---|" + "---:|" * (len(header) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _of_roof(row):
    return f"{100 * row['of_roof']:.0f} %" if row["of_roof"] else ""


def _ops(result, total, count, least=0.005):
    rows = [r for r in result.table("op") if r["self_ns"] >= least * total]
    rows.sort(key=lambda r: -r["self_ns"])
    for r in rows:
        yield [
            f"`{r['name']}`",
            str(r["calls"] // count),
            f"{r['self_ns'] / count / 1e6:.1f}",
            f"{100 * r['self_ns'] / total:.1f} %",
            f"{r['gflops_per_s']:.0f}" if r["flops"] else "",
            f"{r['gbytes_per_s']:.1f}" if r["bytes"] else "",
            _of_roof(r),
        ]
    rest = [r for r in result.table("op") if r["self_ns"] < least * total]
    if rest:
        ns = sum(r["self_ns"] for r in rest)
        calls = sum(r["calls"] for r in rest) // count
        yield [f"{len(rest)} others", str(calls), f"{ns / count / 1e6:.1f}", f"{100 * ns / total:.1f} %", "", "", ""]


def _kinds(result, total, count):
    kinds = {r["name"]: r["self_ns"] for r in result.table("category")}
    for name, text in _KINDS.items():
        if name in kinds:
            yield [text, f"{kinds[name] / count / 1e6:.1f}", f"{100 * kinds[name] / total:.2f} %"]


def _layers(result, total, count, most=12):
    rows = [r for r in result.table("layer") if r["name"].count(".") <= 1][:most]
    for r in rows:
        yield [
            f"`{r['name']}`",
            f"{r['total_ns'] / count / 1e6:.1f}",
            f"{(r['total_ns'] - r['backward_ns']) / count / 1e6:.1f}",
            f"{r['backward_ns'] / count / 1e6:.1f}",
            f"{100 * r['total_ns'] / total:.1f} %",
        ]


def _picture(result, path):
    """The upper part of the HTML report: timeline, flame graph, memory."""
    browser = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)
    if browser is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "report.html")
        result.save(page, "html")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += [f"--user-data-dir={folder}/browser", "--window-size=1100,720", "--hide-scrollbars"]
        subprocess.run([*command, f"--screenshot={path}", f"file://{page}"], check=True, capture_output=True)
    return True


def describe(network, steps, rounds, pictures):
    """The text on one network."""
    work = _WORK[network]
    step = models.runner(networks.api("proa"), work)
    step()
    step()
    off, on = _by_turns(step, rounds)
    result, wall = _profile(step, steps)
    # Without the last step, which has nothing in it.
    inside = [e for e in result.events() if e["category"] == "step"][:steps]
    total = sum(e["end_ns"] - e["start_ns"] for e in inside)
    shown = sum(r["self_ns"] for r in result.table("category") if r["name"] in _KINDS)
    ops = sum(r["self_ns"] for r in result.table("op"))
    roof = result.roof
    peak = max((m["peak_bytes"] for m in result.memory_peaks()), default=0)
    yield f"### {work}"
    yield ""
    yield (
        f"A step takes {off:.0f} ms without the profiler and {100 * (on / off - 1):+.1f} % with it (medians of {4 * rounds}, "
        f"by turns). With shapes, FLOPs and memory recorded it takes {wall:.0f} ms (mean of {steps}). "
        f"The first table accounts for "
        f"{100 * shown / (1e6 * wall * steps):.1f} % of the latter: ops for {100 * ops / total:.1f} %, the Python around "
        f"them for the rest. A step has "
        f"{len(result) // steps} events. Peak memory {peak / 2**20:.0f} MiB. "
        f"The roof, by `proa.profiler.measure_roof()`: {roof[0]:.0f} GFLOP/s, {roof[1]:.1f} GB/s."
    )
    yield ""
    yield from _table(("where", "ms a step", "share"), _kinds(result, total, steps))
    yield ""
    yield from _table(
        ("op", "calls", "self, ms a step", "share", "GFLOP/s", "GB/s", "of the roof"), _ops(result, total, steps)
    )
    yield ""
    yield from _table(("layer", "ms a step", "forward", "backward", "share"), _layers(result, total, steps))
    yield ""
    if pictures is not None and _picture(result, pictures / f"{network}.png"):
        yield f"![Timeline, flame graph and memory of {work}](profiles/{network}.png)"
        yield ""


def text(wanted, steps, rounds, pictures):
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            cpu = next(line.partition(":")[2].strip() for line in stream if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    lines = [
        f"Measured on {cpu} with {proa._C.get_num_threads()} threads; load average "
        f"{os.getloadavg()[0]:.1f} at the beginning.",
        "",
    ]
    for network in _WORK:
        if any(network.startswith(part.strip()) for part in wanted.split(";")):
            lines += list(describe(network, steps, rounds, pictures))
    return "\n".join(lines)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", default="resnet;bert")
    parser.add_argument("--steps", type=int, default=3, help="of the recording that is shown")
    parser.add_argument("--rounds", type=int, default=6, help="of four steps without and four with a profiler")
    parser.add_argument("--write", action="store_true", help="into docs/profiling.md and docs/profiles/")
    args = parser.parse_args(argv)
    pictures = _DOCS / "profiles" if args.write else None
    if pictures:
        pictures.mkdir(exist_ok=True)
    found = text(args.work, args.steps, args.rounds, pictures)
    if not args.write:
        print(found)
        return 0
    page = _DOCS / "profiling.md"
    old = page.read_text()
    head, _, rest = old.partition(_BEGIN)
    tail = rest.partition(_END)[2]
    page.write_text(f"{head}{_BEGIN}\n\n{found}\n{_END}{tail}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
