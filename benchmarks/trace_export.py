"""What a recording of many events takes: time and memory of recording and of each export.

    python benchmarks/trace_export.py [--events 10000000]

Each export runs in a child of fork of its own, whose memory begins with the recording; what is printed is the most
that it had besides.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time

import proa


def _resident():
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * resource.getpagesize()


def _record(events):
    """Nested ranges of a few names, as steps of a training have them."""
    begin, end = [], []
    for name in ("step", "forward", "op a", "op b"):
        r = proa._C.profiler.Range(name)
        begin.append(r.begin)
        end.append(r.end)
    proa._C.profiler.start(events + 1000, 64 << 30, 0)
    start = time.perf_counter()
    for _ in range(events // 40):
        begin[0]()
        begin[1]()
        for _ in range(19):
            begin[2]()
            end[2]()
            begin[3]()
            end[3]()
        end[1]()
        end[0]()
    seconds = time.perf_counter() - start
    return proa.profiler.ProfilerResult(proa._C.profiler.take()), seconds


def _export(result, folder, form):
    path = os.path.join(folder, "trace." + form)
    reader, writer = os.pipe()
    if os.fork() == 0:
        before = _resident()
        start = time.perf_counter()
        result.save(path, "json" if form == "json.gz" else form)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        os.write(writer, f"{seconds} {max(peak - before, 0)}".encode())
        os._exit(0)
    os.close(writer)
    os.wait()
    seconds, memory = map(float, os.read(reader, 1000).split())
    os.close(reader)
    size = os.path.getsize(path)
    os.remove(path)
    return seconds, memory, size


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000)
    args = parser.parse_args(argv)
    result, seconds = _record(args.events)
    mib = 1 << 20
    print(f"{len(result)} events, {result.dropped} dropped; recorded in {seconds:.1f} s by a Python loop;")
    print(f"the recording takes {_resident() / mib:.0f} MiB with the interpreter")
    print(f"{'format':>10} {'seconds':>8} {'MiB besides':>12} {'file MiB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for form in ("json", "json.gz", "perfetto", "folded", "html", "pb"):
            took, memory, size = _export(result, folder, form)
            print(f"{form:>10} {took:8.1f} {memory / mib:12.0f} {size / mib:9.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
