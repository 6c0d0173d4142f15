"""What runs of programs take beside what they are given, and what their values need that are alive at one time.

    python benchmarks/planned_memory.py [--kind predict|train] [NETWORK ...]

For each network of `proa.vision.models` and those below: the most bytes that the allocator has given out during a run of the compiled
program, the bound - the largest sum of the bytes of values that operations have made and later ones use - and the first as a multiple of
the second. What ops need inside, beside their results, is in the first alone.
"""

import argparse
import gc
import math
import re

import networks
import numpy as np

import proa
from proa import _C, nn
from proa.static.replay import parse
from proa.vision import models

_BYTES = {"float32": 4, "int64": 8, "int32": 4, "bool": 1, "uint8": 1}
_TYPE = re.compile(r"\[([^\]]*)\] (\w+)")
_VIEWS = {op["name"] for op in _C.op_registry() if op["fuse"] in ("view", "broadcast")}


def _made(call):
    return [n for part in call.results for n in (part if isinstance(part, list) else [part])]


def _bytes_made(call):
    """Bytes of what it makes, by value, as its line says them: passes make values that the program does not have."""
    types = _TYPE.findall(call.line.rpartition(" : ")[2])
    made = _made(call)
    if len(types) != len(made):  # of an operation with regions, whose line goes on behind them
        return {}
    sizes = [math.prod(int(n) for n in dims.split(",") if n) * _BYTES[dtype] for dims, dtype in types]
    return dict(zip(made, sizes))


def bound(program, outputs):
    """The largest sum of the bytes of values that operations made and later ones use, or the program gives."""
    calls = parse(program.plan(outputs))[1]
    owner = {}  # of a view: whose memory it shows
    for call in calls:
        if call.op in _VIEWS:
            source = call.values()[0]
            owner.update((n, owner.get(source, source)) for n in _made(call))
    own = lambda n: owner.get(n, n)
    last = {own(n): k for k, call in enumerate(calls) for n in call.values()}
    last.update((own(program.value_number(t)), len(calls)) for t in outputs)
    known = {n: size for call in calls for n, size in _bytes_made(call).items()}
    size = lambda n: (
        known[n] if n in known else int(np.prod(program.value(n).shape)) * _BYTES[program.value(n).dtype.name]
    )
    alive, most = {}, 0
    for k, call in enumerate(calls):
        alive.update((n, size(n)) for n in _made(call) if n not in owner)
        most = max(most, sum(alive.values()))
        alive = {n: s for n, s in alive.items() if last.get(n, -1) > k}
    return most


def taken(run):
    """The most bytes that calling `run` takes at one time."""
    for _ in range(3):  # weights are packed
        run()
    found = []
    for _ in range(2):  # what was held before may go in one of them
        gc.collect()
        _C.memory_reset_peak()
        before = _C.memory_figures()["allocated"]
        run()
        found.append(_C.memory_figures()["peak_allocated"] - before)
    return max(found)


class _UNet(nn.Layer):
    def __init__(self):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2D(i, o, 3, padding=1), nn.BatchNorm2D(o), nn.ReLU())
        self.down = nn.LayerList([block(3, 16), block(16, 32), block(32, 64)])
        self.up = nn.LayerList([nn.Conv2DTranspose(64, 32, 2, 2), nn.Conv2DTranspose(32, 16, 2, 2)])
        self.join = nn.LayerList([block(64, 32), block(32, 16)])
        self.pool, self.last = nn.MaxPool2D(2), nn.Conv2D(16, 2, 1)

    def forward(self, x):
        first = self.down[0](x)
        second = self.down[1](self.pool(first))
        x = self.down[2](self.pool(second))
        for up, beside, join in zip(self.up, (second, first), self.join):
            x = join(proa.concat([up(x), beside], 1))
        return self.last(x)


class _Words(nn.Layer):
    """Words, and layers over them; a mask that hides what comes later, or none."""

    def __init__(self, layer, causal=False):
        super().__init__()
        self.words, self.layer, self.last, self.causal = nn.Embedding(500, 128), layer, nn.Linear(128, 500), causal

    def forward(self, x):
        x = self.words(x)
        if self.causal:
            return self.last(self.layer(x, proa.tril(proa.ones([64, 64])).log()))
        x = self.layer(x)
        return self.last(x[0] if isinstance(x, tuple) else x)


def _encoder(causal=False):
    return _Words(nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 512), 2), causal)


def _mlp():
    return nn.Sequential(nn.Linear(256, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.Tanh(), nn.Linear(4096, 10))


# name: (builder, shape of the input)
NETWORKS = {
    **{name: (getattr(models, name), [1, 3, 96, 96]) for name in models.__all__ if name[0].islower()},
    "alexnet": (models.alexnet, [1, 3, 224, 224]),
    "googlenet": (models.googlenet, [1, 3, 224, 224]),
    "inception_v3": (models.inception_v3, [1, 3, 128, 128]),
    "lenet": (models.LeNet, [4, 1, 28, 28]),
    "unet": (_UNet, [1, 3, 64, 64]),
    "mlp": (_mlp, [512, 256]),
    "encoder": (_encoder, [4, 64]),
    "decoder": (lambda: _encoder(causal=True), [4, 64]),
    "lstm": (lambda: _Words(nn.LSTM(128, 128, 2)), [4, 64]),
    "gru": (lambda: _Words(nn.GRU(128, 128)), [4, 64]),
    "bert": (lambda: networks.bert(networks.api("proa")), [1, 64]),
}


def _input(shape):
    if len(shape) == 2 and shape[1] == 64:
        return proa.to_tensor(np.random.RandomState(0).randint(0, 500, shape))
    return proa.to_tensor(np.random.RandomState(0).rand(*shape).astype("float32"))


def _first(out):
    return out[0] if isinstance(out, (list, tuple)) else out


def predict(name):
    """(bytes taken, bound) of a forward pass."""
    build, shape = NETWORKS[name]
    net, x = proa.jit.to_static(build()), _input(shape)
    net.eval()
    with proa.no_grad():
        most = taken(lambda: net(x))
    trace = net.forward.last_trace()
    return most, bound(trace.program, trace.results)


def train(name):
    """(bytes taken, bound) of a program of a whole step: forward, backward, and Momentum."""
    build, shape = NETWORKS[name]
    x = _input([max(2, shape[0]), *shape[1:]])
    proa.enable_static()
    try:
        program, start = proa.static.Program(), proa.static.Program()
        with proa.static.program_guard(program, start):
            net = build()
            loss = _first(net(proa.static.data("x", x.shape, x.dtype))).square().mean()
            proa.optimizer.Momentum(1e-4, parameters=net.parameters()).minimize(loss)
        executor = proa.static.Executor()
        executor.run(start)
        most = taken(lambda: executor.run(program, feed={"x": x}, fetch_list=[loss]))
        return most, bound(program._program, [loss])
    finally:
        proa.disable_static()


KINDS = {"predict": predict, "train": train}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    options = parser.parse_args()
    print("| network | kind | bytes taken | bound | ratio |\n|---|---|---|---|---|")
    for kind in [options.kind] if options.kind else KINDS:
        for name in options.networks or NETWORKS:
            most, least = KINDS[kind](name)
            print(f"| {name} | {kind} | {most:,} | {least:,} | {most / least:.3f} |", flush=True)


if __name__ == "__main__":
    main()
