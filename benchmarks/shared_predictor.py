"""What threads lose that share one predictor: its runs in a second beside those of a clone for each thread.

    python benchmarks/shared_predictor.py [--work "crnn;bert"] [--callers 16] [--rounds 5] [--seconds 2] [--threads 1]

Networks are those of predictions.py. Each of the callers, threads of Python, runs as fast as it can, by turns on one
predictor and on clones of its own, which a round has in either order; a run computes on --threads. Asked for is that one
predictor loses nothing: the ratio, the median of the rounds, is 1 but for what differs between two rounds of the same, which
the last column has.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time

import networks
import predictions


def _predictors(row, folder, callers, threads):
    """One predictor for every caller, and one for each."""
    import proa

    net = predictions.network(networks.api("proa"), row)
    proa.jit.save(net, folder + "/net", predictions.specs(networks.api("proa"), row))
    config = proa.inference.Config(folder + "/net.pdmodel", folder + "/net.pdiparams")
    config.set_cpu_math_library_num_threads(threads)
    one = proa.inference.create_predictor(config)
    return [one] * callers, [one.clone() for _ in range(callers)]


def _rate(predictors, given, seconds):
    """Runs in a second of all callers together."""
    counts = [0] * len(predictors)
    ready = threading.Barrier(len(predictors) + 1)
    end = threading.Event()

    def call(i):
        ready.wait()
        while not end.is_set():
            predictors[i].run(given)
            counts[i] += 1

    callers = [threading.Thread(target=call, args=(i,)) for i in range(len(predictors))]
    for caller in callers:
        caller.start()
    ready.wait()
    start = time.perf_counter()
    time.sleep(seconds)
    end.set()
    for caller in callers:
        caller.join()
    return sum(counts) / (time.perf_counter() - start)


def measure(work, callers, rounds, seconds, threads):
    """(runs in a second on one predictor, on clones, their ratio, how far two rounds of clones are apart)."""
    row = predictions.WORK[work]
    given = predictions.inputs(row)
    with tempfile.TemporaryDirectory() as folder:
        shared, own = _predictors(row, folder, callers, threads)
        for predictors in (shared, own):
            _rate(predictors, given, seconds / 4)
        one, many = [], []
        for number in range(rounds):
            for kind in ("one", "many") if number % 2 == 0 else ("many", "one"):
                (one if kind == "one" else many).append(_rate(shared if kind == "one" else own, given, seconds))
    ratio = statistics.median(a / b for a, b in zip(one, many, strict=True))
    return statistics.median(one), statistics.median(many), ratio, max(many) / min(many)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--work", default="mobilenet v3, batch 1;lstm tagger, batch 1 ", help="beginnings of names, with semicolons"
    )
    parser.add_argument("--callers", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of one run")
    args = parser.parse_args(argv)
    parts = [part.lstrip().lower() for part in args.work.split(";")]
    print(f"{args.callers} threads, runs in a second\n")
    print("| work | one predictor | clones | ratio | between rounds |\n|---|---|---|---|---|")
    for work in predictions.WORK:
        if any(work.lower().startswith(part) for part in parts):
            one, many, ratio, apart = measure(work, args.callers, args.rounds, args.seconds, args.threads)
            print(f"| {work} | {one:.1f} | {many:.1f} | {ratio:.3f} | {apart:.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
