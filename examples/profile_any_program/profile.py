"""Profiles a program that has nothing to do with tensors: `proa.profiler` alone.

    python profile.py --out profile

Threads sort lists that a producer makes. The profiler records ranges, a counter and moments of all of
them; afterwards there are tables on the terminal, and in the folder a trace for chrome://tracing, one for
ui.perfetto.dev, stacks for flame graphs and a page to look at in any browser.
"""

import argparse
import os
import queue
import random
import sys
import threading

from proa import profiler


@profiler.RecordEvent("sort")
def sort(numbers):
    """Quicksort, so that there is something to see."""
    if len(numbers) < 64:
        with profiler.RecordEvent("sort the rest"):
            return sorted(numbers)
    pivot = numbers[len(numbers) // 2]
    left = sort([n for n in numbers if n < pivot])
    right = sort([n for n in numbers if n > pivot])
    return left + [n for n in numbers if n == pivot] + right


def work(lists):
    """Sorts what comes, until None comes."""
    while (numbers := lists.get()) is not None:
        with profiler.RecordEvent(f"list of {len(numbers)}"):
            assert sort(numbers) == sorted(numbers)
    profiler.instant("no more lists")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="profile", help="folder of the results")
    parser.add_argument("--quick", action="store_true", help="only a moment")
    args = parser.parse_args(arguments)
    os.makedirs(args.out, exist_ok=True)

    source = random.Random(0)
    lists: queue.Queue[list[float] | None] = queue.Queue()
    threads = [threading.Thread(target=work, args=(lists,), name=f"sorter {i}") for i in range(2)]
    with profiler.Profiler(on_trace_ready=lambda prof: None) as prof:
        for thread in threads:
            thread.start()
        for size in [200, 1000] if args.quick else [1000, 5000, 20000, 50000]:
            with profiler.RecordEvent("make a list"):
                lists.put([source.random() for _ in range(size)])
            profiler.counter("lists that wait", lists.qsize())
            prof.step(num_samples=size)
        for _ in threads:
            lists.put(None)
        for thread in threads:
            thread.join()
    result = prof.profiler_result
    print(result.summary())
    for name, format in (
        ("trace.json.gz", "json"),
        ("trace.perfetto-trace", "perfetto"),
        ("stacks.txt", "folded"),
        ("report.html", "html"),
        ("profile.pb", "pb"),
    ):
        result.save(os.path.join(args.out, name), format)
    again = profiler.load_profiler_result(os.path.join(args.out, "profile.pb"))
    print(f"{len(again)} events of {len(again.threads())} threads are in {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
