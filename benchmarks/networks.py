"""The networks that are measured, written once for every framework.

A framework is an `Api`: PyTorch's and Paddle's layers differ in little but their names. Each
computes the same function with the layers that its users call: attention by its own op, the
end of a block as normalization, addition, relu. Predictions are made as fast as the framework
can make them without other words (`frozen`): by a program, or a graph.
"""

from __future__ import annotations

import importlib

# Of training steps. So small that what is measured last is what is measured first: batches that are learned by heart have
# gradients of 0, and on the way denormal numbers, which products take fifty times as long for.
_RATE = 1e-4


class Api:
    """Layers by their PaddlePaddle names, for `proa` and `paddle`."""

    def __init__(self, name: str):
        self.name = name
        self.lib = importlib.import_module(name)
        self.nn = self.lib.nn
        self.F = importlib.import_module(name + ".nn.functional")

    def tensor(self, array):
        return self.lib.to_tensor(array)

    def prepare(self, net):
        return net

    def conv(self, i, o, kernel, stride=1, groups=1, bias=False):
        return self.nn.Conv2D(i, o, kernel, stride, kernel // 2, groups=groups, bias_attr=None if bias else False)

    def batch_norm(self, channels):
        return self.nn.BatchNorm2D(channels)

    def norm_relu(self, channels):
        """A layer: relu(batch_norm(x)), or relu(batch_norm(x) + residual) if it is given two."""
        return _NormRelu.of(self, self.batch_norm(channels))

    def block(self, i, o, kernel, stride=1, groups=1):
        """A layer: relu(batch_norm(conv(x))), or that of the sum with a residual if it is given two."""
        return _Block.of(self, self.conv(i, o, kernel, stride, groups), self.norm_relu(o))

    def max_pool(self, kernel, stride, padding=0):
        return self.nn.MaxPool2D(kernel, stride, padding)

    def global_pool(self):
        return self.nn.AdaptiveAvgPool2D(1)

    def upsample(self, x, scale):
        """[N, C, H, W] as [N, C, scale * H, scale * W], by the nearest pixel."""
        return self.F.interpolate(x, scale_factor=scale, mode="nearest")

    def lstm(self, inputs, width, layers):
        """A layer: the outputs of an LSTM in both directions, [N, length, 2 * width]."""
        return _Outputs.of(self, self.nn.LSTM(inputs, width, layers, direction="bidirect"))

    def concat(self, parts, axis):
        return self.lib.concat(parts, axis)

    def attention(self, q, k, v):
        """softmax(q k^T / sqrt(size)) v of [N, length, heads, size]."""
        return self.F.scaled_dot_product_attention(q, k, v)

    def cast(self, net, dtype):
        """The network or tensor in another dtype."""
        return net.to(dtype=dtype) if isinstance(net, self.nn.Layer) else net.astype(dtype)

    def frozen(self, net, x):
        """The network for predictions only, as fast as the framework can make it without other words."""
        net.eval()
        return net

    def compiled(self, function):
        """A function for training, compiled as the framework does it."""
        raise NotImplementedError(f"{self.name}: compiled training is not measured")

    def momentum(self, net):
        return self.lib.optimizer.Momentum(_RATE, 0.9, parameters=net.parameters())

    def no_grad(self):
        return self.lib.no_grad()

    def clear_grad(self, optimizer):
        optimizer.clear_grad()


class ProaApi(Api):
    def compiled(self, function):
        return self.lib.jit.to_static(function)

    def frozen(self, net, x):
        """A program: what is fused in it stands in docs/programs.md."""
        return self.lib.jit.to_static(super().frozen(net, x))


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

    def lstm(self, inputs, width, layers):
        return _Outputs.of(self, self.nn.LSTM(inputs, width, layers, batch_first=True, bidirectional=True))

    def attention(self, q, k, v):
        return self.F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v))).transpose(1, 2)

    def cast(self, net, dtype):
        return net.to(getattr(self.lib, dtype))

    def compiled(self, function):
        return self.lib.compile(function)

    def momentum(self, net):
        return self.lib.optim.SGD(net.parameters(), _RATE, momentum=0.9)

    def clear_grad(self, optimizer):
        optimizer.zero_grad()


class TunedTorchApi(TorchApi):
    """PyTorch as its guides tune it for CPUs: channels last, frozen graphs for predictions; side_by_side.py keeps
    the memory that is freed."""

    def __init__(self, name: str):
        super().__init__("torch")

    def tensor(self, array):
        t = super().tensor(array)
        return t.contiguous(memory_format=self.lib.channels_last) if t.dim() == 4 else t

    def prepare(self, net):
        return net.to(memory_format=self.lib.channels_last)

    def frozen(self, net, x):
        with self.lib.no_grad():
            return self.lib.jit.optimize_for_inference(self.lib.jit.freeze(self.lib.jit.trace(net.eval(), x)))


class _NormRelu:
    """Normalization, addition and relu by separate layers, for frameworks without one for all."""

    @staticmethod
    def of(a: Api, norm):
        layer = a.nn.Module if isinstance(a, TorchApi) else a.nn.Layer

        class NormRelu(layer):
            def __init__(self):
                super().__init__()
                self.norm, self.relu = norm, a.nn.ReLU()

            def forward(self, x, residual=None):
                x = self.norm(x)
                return self.relu(x if residual is None else x + residual)

        return NormRelu()


class _Block:
    """A convolution and what follows it by separate layers."""

    @staticmethod
    def of(a: Api, conv, norm):
        layer = a.nn.Module if isinstance(a, TorchApi) else a.nn.Layer

        class Block(layer):
            def __init__(self):
                super().__init__()
                self.conv, self.norm = conv, norm

            def forward(self, x, residual=None):
                return self.norm(self.conv(x), residual)

        return Block()


class _Outputs:
    """What a layer that gives (outputs, states) gives first."""

    @staticmethod
    def of(a: Api, inner):
        layer = a.nn.Module if isinstance(a, TorchApi) else a.nn.Layer

        class Outputs(layer):
            def __init__(self):
                super().__init__()
                self.inner = inner

            def forward(self, x):
                return self.inner(x)[0]

        return Outputs()


def api(name: str) -> Api:
    return {"proa": ProaApi, "torch": TorchApi, "torch_tuned": TunedTorchApi}.get(name, Api)(name)


def lenet(a: Api):
    nn = a.nn
    return nn.Sequential(
        a.conv(1, 6, 5, bias=True), nn.ReLU(), a.max_pool(2, 2),
        a.conv(6, 16, 5, bias=True), nn.ReLU(), a.max_pool(2, 2),
        nn.Flatten(), nn.Linear(16 * 49, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


def ten_linear(a: Api):
    """Ten times Linear(4, 4) with relu: nothing but overhead."""
    layers = [m for _ in range(10) for m in (a.nn.Linear(4, 4), a.nn.ReLU())]
    return a.nn.Sequential(*layers)


def mobilenet(a: Api):
    """MobileNet v1 at width 1."""

    layers = [a.block(3, 32, 3, 2)]
    plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    i = 32
    for o, stride in plan:
        layers += [a.block(i, i, 3, stride, groups=i), a.block(i, o, 1)]
        i = o
    return a.nn.Sequential(*layers, a.global_pool(), a.nn.Flatten(), a.nn.Linear(1024, 1000))


def resnet50(a: Api):
    layer = a.nn.Module if isinstance(a, TorchApi) else a.nn.Layer

    class Bottleneck(layer):
        def __init__(self, i, width, stride):
            super().__init__()
            o = 4 * width
            self.body = a.nn.Sequential(a.block(i, width, 1), a.block(width, width, 3, stride))
            self.short = a.nn.Sequential(a.conv(i, o, 1, stride), a.batch_norm(o)) if stride > 1 or i != o else None
            self.end = a.block(width, o, 1)

        def forward(self, x):
            return self.end(self.body(x), x if self.short is None else self.short(x))

    layers = [a.block(3, 64, 7, 2), a.max_pool(3, 2, 1)]
    i = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for k in range(count):
            layers.append(Bottleneck(i, width, stride if k == 0 else 1))
            i = 4 * width
    return a.nn.Sequential(*layers, a.global_pool(), a.nn.Flatten(), a.nn.Linear(2048, 1000))


def bert(a: Api, layers: int = 12, width: int = 768, heads: int = 12, words: int = 30522):
    """The encoder of BERT-base with a classifier of two on the first word."""
    layer = a.nn.Module if isinstance(a, TorchApi) else a.nn.Layer

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
                return t.reshape([n, length, heads, width // heads])

            mixed = a.attention(split(self.query(x)), split(self.key(x)), split(self.value(x)))
            x = self.norm1(x + self.out(mixed.reshape([n, length, width])))
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
