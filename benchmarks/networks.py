"""The networks that are measured, written once for every framework.

A framework is an `Api`: PyTorch's and Paddle's layers differ in little but their names. So
that the same work is measured, nothing here uses a fused layer that only one of them has.
"""

from __future__ import annotations

import importlib
import math


class Api:
    """Layers by their PaddlePaddle names, for `proa` and `paddle`."""

    def __init__(self, name: str):
        self.name = name
        self.lib = importlib.import_module(name)
        self.nn = self.lib.nn
        self.F = importlib.import_module(name + ".nn.functional")

    def tensor(self, array):
        return self.lib.to_tensor(array)

    def conv(self, i, o, kernel, stride=1, groups=1, bias=False):
        return self.nn.Conv2D(i, o, kernel, stride, kernel // 2, groups=groups, bias_attr=None if bias else False)

    def batch_norm(self, channels):
        return self.nn.BatchNorm2D(channels)

    def max_pool(self, kernel, stride, padding=0):
        return self.nn.MaxPool2D(kernel, stride, padding)

    def global_pool(self):
        return self.nn.AdaptiveAvgPool2D(1)

    def transpose(self, x, a, b):
        perm = list(range(len(x.shape)))
        perm[a], perm[b] = b, a
        return self.lib.transpose(x, perm)

    def softmax(self, x):
        return self.F.softmax(x, -1)

    def momentum(self, net):
        return self.lib.optimizer.Momentum(0.01, 0.9, parameters=net.parameters())

    def no_grad(self):
        return self.lib.no_grad()

    def clear_grad(self, optimizer):
        optimizer.clear_grad()


class TorchApi(Api):
    def tensor(self, array):
        return self.lib.from_numpy(array)

    def conv(self, i, o, kernel, stride=1, groups=1, bias=False):
        return self.nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=bias)

    def batch_norm(self, channels):
        return self.nn.BatchNorm2d(channels)

    def max_pool(self, kernel, stride, padding=0):
        return self.nn.MaxPool2d(kernel, stride, padding)

    def global_pool(self):
        return self.nn.AdaptiveAvgPool2d(1)

    def transpose(self, x, a, b):
        return x.transpose(a, b)

    def momentum(self, net):
        return self.lib.optim.SGD(net.parameters(), 0.01, momentum=0.9)

    def clear_grad(self, optimizer):
        optimizer.zero_grad()


def api(name: str) -> Api:
    return TorchApi(name) if name == "torch" else Api(name)


def lenet(a: Api):
    nn = a.nn
    return nn.Sequential(
        a.conv(1, 6, 5, bias=True), nn.ReLU(), a.max_pool(2, 2),
        a.conv(6, 16, 5, bias=True), nn.ReLU(), a.max_pool(2, 2),
        nn.Flatten(), nn.Linear(16 * 49, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


def mobilenet(a: Api):
    """MobileNet v1 at width 1."""

    def block(i, o, kernel, stride=1, groups=1):
        return [a.conv(i, o, kernel, stride, groups), a.batch_norm(o), a.nn.ReLU()]

    layers = block(3, 32, 3, 2)
    plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    i = 32
    for o, stride in plan:
        layers += block(i, i, 3, stride, groups=i) + block(i, o, 1)
        i = o
    return a.nn.Sequential(*layers, a.global_pool(), a.nn.Flatten(), a.nn.Linear(1024, 1000))


def resnet50(a: Api):
    layer = a.nn.Module if a.name == "torch" else a.nn.Layer

    class Bottleneck(layer):
        def __init__(self, i, width, stride):
            super().__init__()
            o = 4 * width
            self.body = a.nn.Sequential(
                a.conv(i, width, 1), a.batch_norm(width), a.nn.ReLU(),
                a.conv(width, width, 3, stride), a.batch_norm(width), a.nn.ReLU(),
                a.conv(width, o, 1), a.batch_norm(o),
            )  # fmt: skip
            self.short = a.nn.Sequential(a.conv(i, o, 1, stride), a.batch_norm(o)) if stride > 1 or i != o else None
            self.relu = a.nn.ReLU()

        def forward(self, x):
            return self.relu(self.body(x) + (x if self.short is None else self.short(x)))

    layers = [a.conv(3, 64, 7, 2), a.batch_norm(64), a.nn.ReLU(), a.max_pool(3, 2, 1)]
    i = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for k in range(count):
            layers.append(Bottleneck(i, width, stride if k == 0 else 1))
            i = 4 * width
    return a.nn.Sequential(*layers, a.global_pool(), a.nn.Flatten(), a.nn.Linear(2048, 1000))


def bert(a: Api, layers: int = 12, width: int = 768, heads: int = 12, words: int = 30522):
    """The encoder of BERT-base with a classifier of two on the first word."""
    layer = a.nn.Module if a.name == "torch" else a.nn.Layer

    class Block(layer):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value, self.out = (a.nn.Linear(width, width) for _ in range(4))
            self.norm1, self.norm2 = a.nn.LayerNorm(width), a.nn.LayerNorm(width)
            self.wide, self.narrow = a.nn.Linear(width, 4 * width), a.nn.Linear(4 * width, width)
            self.gelu = a.nn.GELU()

        def forward(self, x):
            n, length = x.shape[0], x.shape[1]

            def split(t):
                return a.transpose(t.reshape([n, length, heads, width // heads]), 1, 2)

            q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
            weights = a.softmax(a.lib.matmul(q, a.transpose(k, 2, 3)) * (1 / math.sqrt(width // heads)))
            mixed = a.transpose(a.lib.matmul(weights, v), 1, 2).reshape([n, length, width])
            x = self.norm1(x + self.out(mixed))
            return self.norm2(x + self.narrow(self.gelu(self.wide(x))))

    class Bert(layer):
        def __init__(self):
            super().__init__()
            self.words = a.nn.Embedding(words, width)
            self.places = a.nn.Embedding(512, width)
            self.norm = a.nn.LayerNorm(width)
            self.blocks = a.nn.Sequential(*[Block() for _ in range(layers)])
            self.head = a.nn.Linear(width, 2)

        def forward(self, ids):
            places = a.lib.arange(ids.shape[1])
            return self.head(self.blocks(self.norm(self.words(ids) + self.places(places)))[:, 0])

    return Bert()
