"""What Model.fit adds to a loop written by hand: the same steps of the same network on the same batches.

    python benchmarks/model_fit.py [--rounds 30] [--networks "lenet;mlp;resnet18"]

Rounds of both take turns on one thread; compared is the time of the processor, which does not see what else the machine
does, by the medians of the rounds. The loop by hand does what a careful person would: loss, backward, step, clear_grad,
and the loss as a number, of each batch.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before the package's pool of threads is made

import proa
from proa import nn
from proa.vision import models


def _mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))


# Name: the network, the sizes of a batch, batches in a round.
_NETWORKS = {
    "mlp": (_mlp, [64, 1, 28, 28], 60),
    "lenet": (models.LeNet, [64, 1, 28, 28], 15),
    "resnet18": (lambda: models.resnet18(num_classes=10), [8, 3, 64, 64], 4),
}


def _parts(name):
    network, sizes, count = _NETWORKS[name]
    proa.seed(1)
    batches = [(proa.randn(sizes), proa.randint(0, 10, [sizes[0], 1])) for _ in range(count)]
    net = network()
    return net, proa.optimizer.Adam(1e-4, parameters=net.parameters()), nn.CrossEntropyLoss(), batches


def _by_hand(net, optimizer, loss, batches):
    def run():
        net.train()
        values = []
        for x, y in batches:
            value = loss(net(x), y)
            value.backward()
            optimizer.step()
            optimizer.clear_grad()
            values.append(float(value))

    return run


def _by_fit(net, optimizer, loss, batches):
    model = proa.Model(net)
    model.prepare(optimizer, loss)
    return lambda: model.fit(batches, verbose=0)


def _measured(run):
    start = time.process_time()
    run()
    return time.process_time() - start


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--networks", default=";".join(_NETWORKS))
    options = parser.parse_args(argv)
    for name in options.networks.split(";"):
        runs = {"hand": _by_hand(*_parts(name)), "fit": _by_fit(*_parts(name))}
        for run in runs.values():
            run()
        times: dict = {kind: [] for kind in runs}
        for i in range(options.rounds):
            for kind in sorted(runs, reverse=bool(i % 2)):
                times[kind].append(_measured(runs[kind]) / _NETWORKS[name][2])
        hand, fit = (statistics.median(times[kind]) for kind in ("hand", "fit"))
        added = statistics.median(f - h for f, h in zip(times["fit"], times["hand"], strict=True))
        print(f"{name:>10}: {hand * 1e6:9.1f} us a step by hand, {fit * 1e6:9.1f} by fit; "
              f"added {added * 1e6:6.1f} us, {added / hand:.2%}", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
