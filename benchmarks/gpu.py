"""What ops and training steps cost on a GPU, beside PyTorch.

    python benchmarks/gpu.py --framework proa  --json proa.json     # one framework a process, as each brings its own Python
    python benchmarks/gpu.py --framework torch --json torch.json
    python benchmarks/gpu.py --compare proa.json torch.json         # a table

Each figure is the median of several runs of the time between two synchronisations, divided by the calls between them.
`host` cases are bound by what a call costs the host, `device` ones by the GPU. TF32 is off for both but where it is named.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import time


class Proa:
    """Proa on gpu:0."""

    def __init__(self):
        self.lib = importlib.import_module("proa")
        self.lib.set_device("gpu:0")
        self.nn = self.lib.nn
        self.relu = self.lib.nn.functional.relu
        self.gelu = self.lib.nn.functional.gelu
        self.softmax = self.lib.nn.functional.softmax
        self.cross_entropy = self.lib.nn.functional.cross_entropy

    def sync(self):
        self.lib.device.synchronize()

    def randn(self, *shape, dtype="float32"):
        return self.lib.randn(list(shape)).astype(dtype)

    def labels(self, n, classes):
        return self.lib.randint(0, classes, [n])

    def layer_norm(self, x):
        return self.lib.nn.functional.layer_norm(x, x.shape[-1:])

    def linear(self, a, b):
        return self.nn.Linear(a, b)

    def adam(self, model):
        return self.lib.optimizer.AdamW(learning_rate=1e-4, parameters=model.parameters())

    def momentum(self, model):
        return self.lib.optimizer.Momentum(learning_rate=0.01, momentum=0.9, parameters=model.parameters())

    def clear(self, optimizer):
        optimizer.clear_grad()

    def autocast(self, dtype):
        return self.lib.amp.auto_cast(enable=dtype != "float32", dtype="bfloat16" if dtype == "float32" else dtype)

    def resnet50(self):
        return self.lib.vision.models.resnet50()

    def encoder(self, width, heads, layers):
        layer = self.nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu")
        return self.nn.TransformerEncoder(layer, layers)

    def sequential(self, *layers):
        return self.nn.Sequential(*layers)

    def conv2d(self, x, w, padding):
        return self.lib.nn.functional.conv2d(x, w, padding=padding)


class Torch:
    """PyTorch on cuda:0."""

    def __init__(self):
        self.lib = importlib.import_module("torch")
        self.lib.set_default_device("cuda")
        self.lib.backends.cudnn.allow_tf32 = False
        self.lib.backends.cuda.matmul.allow_tf32 = False
        self.nn = self.lib.nn
        self.relu = self.lib.nn.functional.relu
        self.gelu = self.lib.nn.functional.gelu
        self.cross_entropy = self.lib.nn.functional.cross_entropy

    def softmax(self, x):
        return self.lib.softmax(x, -1)

    def sync(self):
        self.lib.cuda.synchronize()

    def randn(self, *shape, dtype="float32"):
        return self.lib.randn(*shape).to(getattr(self.lib, dtype))

    def labels(self, n, classes):
        return self.lib.randint(0, classes, (n,))

    def layer_norm(self, x):
        return self.lib.nn.functional.layer_norm(x, x.shape[-1:])

    def linear(self, a, b):
        return self.nn.Linear(a, b)

    def adam(self, model):
        return self.lib.optim.AdamW(model.parameters(), lr=1e-4)

    def momentum(self, model):
        return self.lib.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def clear(self, optimizer):
        optimizer.zero_grad()

    def autocast(self, dtype):
        return self.lib.autocast("cuda", dtype=self.lib.bfloat16, enabled=dtype != "float32")

    def resnet50(self):
        return importlib.import_module("torchvision").models.resnet50()

    def encoder(self, width, heads, layers):
        layer = self.nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True
        )
        return self.nn.TransformerEncoder(layer, layers)

    def sequential(self, *layers):
        return self.nn.Sequential(*layers)

    def conv2d(self, x, w, padding):
        return self.lib.nn.functional.conv2d(x, w, padding=padding)


def seconds(f, sync, budget):
    """Median time of a call."""
    for _ in range(3):
        f()
    sync()
    begin = time.perf_counter()
    f()
    sync()
    once = time.perf_counter() - begin
    calls = max(1, min(2000, int(budget / 5 / max(once, 1e-6))))
    times = []
    for _ in range(5):
        sync()
        begin = time.perf_counter()
        for _ in range(calls):
            f()
        sync()
        times.append((time.perf_counter() - begin) / calls)
    return statistics.median(times)


def cases(lib):
    """(name, what a call amounts to, its unit, a function that makes the call)."""
    small = lib.randn(16, 16)

    def step(model, optimizer, loss_of, dtype="float32"):
        def run():
            with lib.autocast(dtype):
                loss = loss_of(model)
            loss.backward()
            optimizer.step()
            lib.clear(optimizer)

        return run

    yield "host: x + y, 256 elements", 1, "us", lambda: lambda: small + small
    yield "host: x * 2 + 1, 256 elements", 1, "us", lambda: lambda: small * 2.0 + 1.0

    def of(shape, dtype, f, passes):
        def make():
            x = lib.randn(*shape, dtype=dtype)
            return lambda: f(x)

        size = 4 if dtype == "float32" else 2
        amount = passes * size
        for n in shape:
            amount *= n
        return amount / 1e9, "GB/s", make

    for dtype in ("float32", "bfloat16"):
        yield (f"device: x + y, 2^26 {dtype}", *of((1 << 26,), dtype, lambda x: x + x, 2))
        yield (f"device: gelu, 2^26 {dtype}", *of((1 << 26,), dtype, lib.gelu, 2))
        yield (f"device: softmax 16384 x 4096 {dtype}", *of((16384, 4096), dtype, lib.softmax, 2))
        yield (f"device: layer_norm 16384 x 4096 {dtype}", *of((16384, 4096), dtype, lib.layer_norm, 2))
        yield (f"device: sum of 2^26 {dtype}", *of((1 << 26,), dtype, lambda x: x.sum(), 1))
        yield (f"device: sum over rows, 16384 x 4096 {dtype}", *of((16384, 4096), dtype, lambda x: x.sum(0), 1))

    def matmul(n, dtype):
        def make():
            a, b = lib.randn(n, n, dtype=dtype), lib.randn(n, n, dtype=dtype)
            return lambda: a @ b

        return 2 * n**3 / 1e12, "TFLOP/s", make

    yield ("device: matmul 8192 bfloat16", *matmul(8192, "bfloat16"))
    yield ("device: matmul 4096 float32", *matmul(4096, "float32"))

    def conv(dtype):
        def make():
            x, w = lib.randn(64, 128, 56, 56, dtype=dtype), lib.randn(128, 128, 3, 3, dtype=dtype)
            return lambda: lib.conv2d(x, w, 1)

        return 2 * 64 * 128 * 56 * 56 * 128 * 9 / 1e12, "TFLOP/s", make

    for dtype in ("float32", "bfloat16"):
        yield (f"device: conv2d 128 -> 128, 3 x 3, 64 of 56 x 56 {dtype}", *conv(dtype))

    def mlp():
        layers = [lib.linear(256, 256), lib.nn.ReLU(), lib.linear(256, 256), lib.nn.ReLU(), lib.linear(256, 10)]
        model = lib.sequential(*layers)
        x, y = lib.randn(64, 256), lib.labels(64, 10)
        return step(model, lib.adam(model), lambda m: lib.cross_entropy(m(x), y))

    yield "host: step of a small MLP, AdamW", 1, "us", mlp

    def encoder(dtype):
        def make():
            model = lib.encoder(768, 12, 6)
            x = lib.randn(16, 512, 768)
            return step(model, lib.adam(model), lambda m: (m(x) ** 2).mean(), dtype)

        return make

    def resnet(dtype):
        def make():
            model = lib.resnet50()
            x, y = lib.randn(64, 3, 224, 224), lib.labels(64, 1000)
            return step(model, lib.momentum(model), lambda m: lib.cross_entropy(m(x), y), dtype)

        return make

    for dtype in ("float32", "bfloat16"):
        yield f"step: encoder 6 x 768, 16 x 512, {dtype}", 1, "us", encoder(dtype)
        yield f"step: ResNet-50, 64 images, {dtype}", 1, "us", resnet(dtype)


def measure(framework, budget, only):
    """{case: (figure, unit)}; a case that fails has its error instead."""
    lib = {"proa": Proa, "torch": Torch}[framework]()
    out = {}
    for name, amount, unit, make in cases(lib):
        if only and only not in name:
            continue
        try:
            t = seconds(make(), lib.sync, budget)
            out[name] = [1e6 * t if unit == "us" else amount / t, unit]
        except Exception as e:  # pylint: disable=broad-except
            out[name] = [None, f"{type(e).__name__}: {' '.join(str(e).split())[:200]}"]
        print(f"{framework}: {name}: {out[name]}", flush=True)
    return out


def compare(paths):
    """Prints a table of two files of figures; the ratio is above 1 where the first is faster."""
    ours, theirs = (json.load(open(p, encoding="utf-8")) for p in paths)
    for name, (a, unit) in ours.items():
        b, _ = theirs.get(name, (None, ""))
        if a is None or b is None:
            print(f"{name:60} {unit}")
            continue
        ratio = b / a if unit == "us" else a / b
        print(f"{name:60} {a:12.1f} {b:12.1f} {unit:8} {ratio:6.2f}")


def main():
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", choices=("proa", "torch"))
    parser.add_argument("--json", help="file that figures are written to")
    parser.add_argument("--compare", nargs=2, metavar="FILE")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for a case")
    parser.add_argument("--only", default="", help="cases whose names hold this")
    args = parser.parse_args()
    if args.compare:
        compare(args.compare)
        return
    figures = measure(args.framework, args.budget, args.only)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(figures, f)


if __name__ == "__main__":
    main()
