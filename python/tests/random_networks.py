"""Networks drawn at random from layers and from pieces that exporters write, in every way that they can run: converted,
in the predictor, through the reference's files and through ONNX they are what they are at once.

`python -m python.tests.random_networks 200 --first 0` runs as many of them, and says which differ.
"""

import argparse
import math
import pathlib
import sys
import tempfile
import warnings

import numpy as np

import proa
from proa import inference, nn
from proa.static import InputSpec

_F = nn.functional
_ACTIVATIONS = [
    _F.relu, _F.relu6, _F.sigmoid, proa.tanh, _F.silu, _F.swish, _F.hardswish, _F.hardsigmoid, _F.gelu, _F.elu, _F.softplus, _F.mish,
    lambda x: _F.gelu(x, approximate=True), lambda x: _F.leaky_relu(x, 0.2), lambda x: x * _F.sigmoid(x), lambda x: x * _F.relu6(x + 3) / 6,
    lambda x: x * 0.5 * (1 + proa.erf(x / math.sqrt(2))), lambda x: 0.5 * x * (1 + proa.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    lambda x: proa.clip(x, -0.5, 0.8), lambda x: x * proa.tanh(_F.softplus(x)),
]  # fmt: skip
_BINARY = [
    proa.add,
    proa.subtract,
    proa.multiply,
    proa.maximum,
    lambda a, b: a + 0.5 * b,
    lambda a, b: proa.minimum(a, b),
]


class _Named:
    """A layer by its name, which another may have taken the place of."""

    def __init__(self, owner, name):
        self._owner, self._name = owner, name

    def __call__(self, *args):
        return self._owner._sub_layers[self._name](*args)

    def __getattr__(self, name):
        return getattr(self._owner._sub_layers[self._name], name)


class _Steps(nn.Layer):
    """A list of steps; each is a function of the values before it, the last of which is the current one."""

    def __init__(self, draw):
        super().__init__()
        self._draw = draw
        self._steps = []
        self._texts = []
        self._more = []  # which values are results too

    def _pick(self, options):
        return options[self._draw.randint(len(options))]

    def _own(self, layer):
        name = f"layer{len(self._sub_layers)}"
        self.add_sublayer(name, layer)
        return _Named(self, name)

    def _add(self, text, step):
        self._steps.append(step)
        self._texts.append(text)

    def forward(self, x):
        values = [x]
        for step in self._steps:
            values.append(step(values))
        return values[-1], *(values[i] for i in self._more)

    def _close(self):
        count = len(self._steps)
        self._more = [int(i) for i in self._draw.randint(1, count, self._draw.randint(3))] if count > 1 else []

    def __repr__(self):
        return "; ".join(self._texts) + (f"; results {self._more}" if self._more else "")


class Images(_Steps):
    """Of [N, 3, H, W]: convolutions with what stands around them."""

    def __init__(self, seed):
        super().__init__(np.random.RandomState(seed))
        self.channels, self._shapes = 3, [(3, 0)]  # channels, and how often the size was changed
        self._size = 0
        kinds = [
            self._conv,
            self._conv,
            self._conv,
            self._norm,
            self._activation,
            self._activation,
            self._combine,
            self._combine,
            self._pool,
        ]
        kinds += [self._gate, self._concat, self._split, self._resize, self._view, self._shuffle, self._mean]
        for _ in range(self._draw.randint(4, 10)):
            self._pick(kinds)()
        if self._draw.rand() < 0.6:
            head = self._own(nn.Linear(self.channels, 5))
            self._add("head", lambda v: head(_F.adaptive_avg_pool2d(v[-1], 1).flatten(1)))
        self._close()

    def _push(self, text, step, channels=None, size=None):
        self.channels = channels or self.channels
        self._size = self._size if size is None else size
        self._shapes.append((self.channels, self._size))
        self._add(text, step)

    def _new_size(self):
        return 1 + max(s for _, s in self._shapes)

    def _conv(self):
        kernel, out = self._pick([1, 1, 3, 3, 5]), self._pick([4, 6, 8, self.channels])
        groups = self._pick([1, 1, 1, self.channels, 2])
        if self.channels % groups or out % groups:
            groups = 1
        stride, dilation = self._pick([1, 1, 1, 2]), self._pick([1, 1, 2])
        padding = "SAME" if self._draw.rand() < 0.15 and dilation == 1 else dilation * (kernel // 2)
        bias = None if self._draw.rand() < 0.5 else False
        if self._draw.rand() < 0.15:
            layer = self._own(nn.Conv2DTranspose(self.channels, out, 2, stride=2, groups=groups, bias_attr=bias))
            return self._push("transposed", lambda v: layer(v[-1]), out, self._new_size())
        layer = self._own(nn.Conv2D(self.channels, out, kernel, stride, padding, dilation, groups, bias_attr=bias))
        text = f"conv {out}, {kernel}, stride {stride}, {padding}, dilation {dilation}, groups {groups}, bias {bias is None}"
        self._push(text, lambda v: layer(v[-1]), out, self._size if stride == 1 else self._new_size())
        if self._draw.rand() < 0.5:
            self._norm()
        if self._draw.rand() < 0.5:
            self._combine()
        if self._draw.rand() < 0.5:
            self._activation()

    def _norm(self):
        c = self.channels
        kind = self._pick(["batch", "batch", "batch", "group", "instance", "affine"])
        if kind == "affine":
            scale, shift = (self.create_parameter([1, c, 1, 1]) for _ in range(2))
            setattr(self, f"scale{len(self._steps)}", scale)
            setattr(self, f"shift{len(self._steps)}", shift)
            return self._push(kind, lambda v: v[-1] * scale + shift)
        layer = {"batch": lambda: nn.BatchNorm2D(c), "group": lambda: nn.GroupNorm(1 if c % 2 else 2, c), "instance": lambda: nn.InstanceNorm2D(c)}[kind]()  # fmt: skip
        layer = self._own(layer)
        self._push(kind, lambda v: layer(v[-1]))

    def _activation(self):
        if self._draw.rand() < 0.1:
            layer = self._own(nn.PReLU(self._pick([1, self.channels])))
            return self._push("prelu", lambda v: layer(v[-1]))
        i = self._draw.randint(len(_ACTIVATIONS))
        self._push(f"activation {i}", lambda v: _ACTIVATIONS[i](v[-1]))

    def _combine(self):
        same = [i for i, s in enumerate(self._shapes) if s == (self.channels, self._size)]
        i, k = self._pick(same), self._draw.randint(len(_BINARY))
        first = self._draw.rand() < 0.5
        self._push(f"binary {k} with {i}", lambda v: _BINARY[k](v[-1], v[i]) if first else _BINARY[k](v[i], v[-1]))

    def _pool(self):
        pool = self._pick([_F.max_pool2d, _F.avg_pool2d])
        if self._draw.rand() < 0.5:
            return self._push("pool 3", lambda v: pool(v[-1], 3, 1, 1))
        ceil = bool(self._draw.rand() < 0.5)
        self._push(f"pool 2, {ceil}", lambda v: pool(v[-1], 2, 2, 0, ceil_mode=ceil), None, self._new_size())

    def _gate(self):
        down, up = self._own(nn.Conv2D(self.channels, 2, 1)), self._own(nn.Conv2D(2, self.channels, 1))
        gate = self._pick([_F.sigmoid, _F.hardsigmoid])
        self._push("gate", lambda v: v[-1] * gate(up(_F.relu(down(_F.adaptive_avg_pool2d(v[-1], 1))))))

    def _concat(self):
        same = [i for i, s in enumerate(self._shapes) if s[1] == self._size and s[0] + self.channels <= 16]
        if same:
            i = self._pick(same)
            self._push(f"concat {i}", lambda v: proa.concat([v[-1], v[i]], 1), self.channels + self._shapes[i][0])

    def _split(self):
        if self.channels % 2 == 0:
            i = self._draw.randint(2)
            self._push("split", lambda v: proa.split(v[-1], 2, 1)[i], self.channels // 2)

    def _resize(self):
        mode = self._pick(["nearest", "bilinear"])
        self._push(mode, lambda v: _F.interpolate(v[-1], scale_factor=2, mode=mode), None, self._new_size())

    def _view(self):
        kind = self._pick(["back and forth", "flip", "cut", "pad"])
        if kind == "back and forth":
            return self._push(kind, lambda v: v[-1].transpose([0, 2, 3, 1]).transpose([0, 3, 1, 2]))
        if kind == "flip":
            return self._push(kind, lambda v: proa.flip(v[-1], [3]))
        if kind == "cut":
            return self._push(kind, lambda v: v[-1][:, :, :-1, 1:], None, self._new_size())
        self._push(kind, lambda v: _F.pad(v[-1], [1, 0, 0, 1]), None, self._new_size())

    def _shuffle(self):
        if self.channels % 4 == 0:
            if self._draw.rand() < 0.5:
                return self._push("pixels", lambda v: _F.pixel_shuffle(v[-1], 2), self.channels // 4, self._new_size())
            c = self.channels
            self._push("channels", lambda v: _shuffled(v[-1], c))

    def _mean(self):
        axis = self._pick([1, [2, 3]])
        self._push(f"minus mean {axis}", lambda v: v[-1] - v[-1].mean(axis, keepdim=True))


def _shuffled(x, channels):
    n, h, w = proa.shape(x)[0], proa.shape(x)[2], proa.shape(x)[3]
    return x.reshape([n, 2, channels // 2, h, w]).transpose([0, 2, 1, 3, 4]).reshape([n, channels, h, w])


class Sequences(_Steps):
    """Of [N, T, 8]: attention, linear layers, normalization and recurrence, whole or in pieces."""

    width = 8

    def __init__(self, seed):
        super().__init__(np.random.RandomState(seed))
        kinds = [
            self._linear,
            self._linear,
            self._norm,
            self._attention,
            self._attention,
            self._combine,
            self._activation,
            self._rnn,
            self._view,
        ]
        kinds += [self._softmax, self._conv]
        for _ in range(self._draw.randint(3, 8)):
            self._pick(kinds)()
        if self._draw.rand() < 0.5:
            head = self._own(nn.Linear(self.width, 3))
            pick = self._pick([lambda x: x[:, 0], lambda x: x.mean(1), lambda x: x.max(1)])
            self._add("head", lambda v: head(pick(v[-1])))
        self._close()

    def _linear(self):
        wide = self._pick([8, 16])
        first, second = (
            self._own(nn.Linear(8, wide)),
            self._own(nn.Linear(wide, 8, bias_attr=None if self._draw.rand() < 0.5 else False)),
        )
        i = self._draw.randint(len(_ACTIVATIONS))
        self._add(f"linear {wide}, activation {i}", lambda v: second(_ACTIVATIONS[i](first(v[-1]))))

    def _norm(self):
        if self._draw.rand() < 0.6:
            layer = self._own(nn.LayerNorm(8))
            return self._add("layer norm", lambda v: layer(v[-1]))
        scale, shift = (self.create_parameter([8]) for _ in range(2))
        setattr(self, f"scale{len(self._steps)}", scale)
        setattr(self, f"shift{len(self._steps)}", shift)
        root = self._pick(
            [lambda m: proa.sqrt(m + 1e-5), lambda m: (m + 1e-5) ** 0.5, lambda m: 1 / proa.rsqrt(m + 1e-5)]
        )

        def pieces(v):
            centered = v[-1] - v[-1].mean(-1, keepdim=True)
            return centered / root((centered * centered).mean(-1, keepdim=True)) * scale + shift

        self._add("layer norm in pieces", pieces)

    def _attention(self):
        if self._draw.rand() < 0.3:
            layer = self._own(nn.MultiHeadAttention(8, self._pick([1, 2, 4])))
            return self._add("attention layer", lambda v: layer(v[-1]))
        q, k, w, o = (self._own(nn.Linear(8, 8)) for _ in range(4))
        heads = self._pick([1, 2, 4])
        scale, before, masked = (8 // heads) ** -0.5, self._draw.rand() < 0.5, self._draw.rand() < 0.4

        def attend(v):
            x = v[-1]
            n, t = proa.shape(x)[0], proa.shape(x)[1]
            queries, keys, values = (l(x).reshape([n, t, heads, 8 // heads]).transpose([0, 2, 1, 3]) for l in (q, k, w))
            if before:
                scores = proa.matmul(queries * scale, keys, transpose_y=True)
            else:
                scores = proa.matmul(queries, keys.transpose([0, 1, 3, 2])) * scale
            if masked:
                scores = scores + (x.sum(-1) > 1e3).astype("float32").unsqueeze([1, 2]) * -1e4
            mixed = proa.matmul(_F.softmax(scores, -1), values).transpose([0, 2, 1, 3]).reshape([n, t, 8])
            return o(mixed)

        self._add(f"attention of {heads}, {before}, {masked}", attend)

    def _combine(self):
        i, k = self._draw.randint(len(self._steps) + 1), self._draw.randint(len(_BINARY))
        self._add(f"binary {k} with {i}", lambda v: _BINARY[k](v[-1], v[i]))

    def _activation(self):
        i = self._draw.randint(len(_ACTIVATIONS))
        self._add(f"activation {i}", lambda v: _ACTIVATIONS[i](v[-1]))

    def _rnn(self):
        kind, both = self._pick([nn.LSTM, nn.GRU, nn.SimpleRNN]), self._draw.rand() < 0.5
        layer = self._own(kind(8, 4 if both else 8, direction="bidirect" if both else "forward"))
        self._add(f"{kind.__name__}, {both}", lambda v: layer(v[-1])[0])

    def _view(self):
        kind = self._pick(["turn", "flip", "shift"])
        if kind == "turn":
            layer = self._own(nn.Linear(8, 8))
            return self._add(kind, lambda v: layer(v[-1].transpose([1, 0, 2])).transpose([1, 0, 2]))
        if kind == "flip":
            return self._add(kind, lambda v: v[-1][:, ::-1])
        self._add(kind, lambda v: proa.concat([v[-1][:, 1:], v[-1][:, :1]], 1))

    def _softmax(self):
        axis = self._pick([-1, 1])
        self._add(f"softmax {axis}", lambda v: _F.softmax(v[-1], axis) * 4)

    def _conv(self):
        layer = self._own(nn.Conv1D(8, 8, 3, padding=1))
        self._add("conv1d", lambda v: layer(v[-1].transpose([0, 2, 1])).transpose([0, 2, 1]))


def make(seed):
    """The network of this number, in evaluation, with parameters that its layers would not begin with."""
    net = (Images if seed % 3 else Sequences)(seed)
    random = np.random.RandomState(seed)
    for name, value in net.state_dict().items():
        low, high = (0.5, 1.5) if name.endswith("variance") else (-0.6, 0.6)
        value.set_value(random.uniform(low, high, value.shape).astype("float32"))
    net.eval()
    return net


def inputs(seed, net):
    """Arrays of two sizes that the network takes."""
    random = np.random.RandomState(seed + 1)
    shapes = [(2, 3, 24, 20), (1, 3, 20, 28)] if isinstance(net, Images) else [(2, 6, 8), (3, 4, 8)]
    return [random.randn(*shape).astype("float32") for shape in shapes]


def _spec(net, open_sizes):
    if isinstance(net, Images):
        return [InputSpec([None, 3, None, None] if open_sizes else [None, 3, 24, 20], "float32", "x")]
    return [InputSpec([None, None, 8] if open_sizes else [None, 6, 8], "float32", "x")]


def _arrays(results):
    return [np.asarray(r) for r in (results if isinstance(results, (list, tuple)) else [results])]


def _converted(net, arrays, folder, open_sizes):
    function = proa.jit.to_static(net.forward, _spec(net, open_sizes))
    with proa.no_grad():
        return [_arrays(function(proa.to_tensor(a))) for a in arrays]


def _predicted(net, arrays, folder, open_sizes, change=None, **options):
    path = str(folder / "net")
    proa.jit.save(net, path, _spec(net, open_sizes), **options)
    config = inference.Config(path + ".pdmodel", path + ".pdiparams") if options else inference.Config(path)
    if change is not None:
        change(config)
    predictor = inference.create_predictor(config)
    return [_arrays(predictor.run([a])) for a in arrays]


def _low(net, arrays, folder, open_sizes):
    return _predicted(net, arrays, folder, open_sizes, lambda config: config.enable_mkldnn_bfloat16())


def _reference(net, arrays, folder, open_sizes):
    return _predicted(net, arrays, folder, open_sizes, format="paddle")


def _through_onnx(net, arrays, folder, open_sizes):
    proa.onnx.export(net, str(folder / "net"), _spec(net, open_sizes), opset_version=17)
    program = proa.onnx.load(str(folder / "net.onnx"))
    return [_arrays(program(proa.to_tensor(a))) for a in arrays]


def _executed(net, arrays, folder, open_sizes):
    """Recorded in a static program with gradients by its input, and run there."""
    proa.enable_static()
    try:
        program, start = proa.static.Program(), proa.static.Program()
        with proa.static.program_guard(program, start):
            spec = _spec(net, open_sizes)[0]
            x = proa.static.data("x", spec.shape, "float32")
            x.stop_gradient = False
            results = net(x)
            grads = proa.static.gradients([sum((r * r).mean() for r in results)], [x])
        executor = proa.static.Executor()
        executor.run(start)
        found = [executor.run(program, {"x": a}, [*results, *grads]) for a in arrays]
    finally:
        proa.disable_static()
    for a, all_found in zip(arrays, found):
        given = proa.to_tensor(a, stop_gradient=False)
        sum((r * r).mean() for r in net(given)).backward()
        far = distance(all_found[-1], given.grad.numpy())
        if far > 1e-5:
            raise AssertionError(f"gradients in a static program: {far:.2g}")
    return [_arrays(all_found[:-1]) for all_found in found]


# The way, and how far it may be from calling the network: of the largest number.
WAYS = {"converted": (_converted, 1e-6), "predictor": (_predicted, 1e-5), "bfloat16": (_low, 0.1), "reference": (_reference, 1e-5), "onnx": (_through_onnx, 1e-5), "executor": (_executed, 1e-5)}  # fmt: skip


def trained(seed, level="O0"):
    """(gradients called, gradients converted), lists of arrays, of a network in training, in bfloat16 at O1 and O2."""
    results = []
    for convert in (False, True):
        net = make(seed)
        net.train()
        if level == "O2":
            net = proa.amp.decorate(net, level="O2", dtype="bfloat16")
        x = proa.to_tensor(inputs(seed, net)[0], stop_gradient=False)
        run = proa.jit.to_static(net.forward) if convert else net.forward
        with proa.amp.auto_cast(level != "O0", level="O1" if level == "O0" else level, dtype="bfloat16"):
            out = [o.astype("float32") for o in run(x)]
        sum((o * o).mean() for o in out).backward()
        results.append(
            [
                *_arrays(out),
                x.grad.numpy(),
                *(p.grad.astype("float32").numpy() for p in net.parameters() if p.grad is not None),
            ]
        )
    return results


def _half_batches(seed, net):
    """Two batches of one size."""
    a = inputs(seed, net)[0]
    return a, np.flip(a, -1) * 0.9 + 0.05


def _learned(net, results, x, scale=1.0):
    """Gradients of the mean of squares, by name, and what is counted beside."""
    sum((r * r).mean() for r in results).backward()
    found = {name: p.grad.numpy() for name, p in net.named_parameters() if p.grad is not None}
    found |= {name: b.numpy() for name, b in net.named_buffers()}
    return found | {"x": x.grad.numpy() * scale}


def on_ranks(seed, count=2):
    """What differs between a network trained by `count` ranks, each with a part of the batch, and by one process: texts."""
    import proa.distributed as dist
    from proa.distributed.groups import run_threads

    before = proa.get_default_dtype()
    proa.set_default_dtype("float64")
    try:
        nets = [make(seed).astype("float64") for _ in range(count + 1)]
        for net in nets:
            net.train()
        parts = [np.concatenate([a] * (at + 1))[: len(a)] * (1 + 0.1 * (at // 2)) for at, a in
                 enumerate(_half_batches(seed, nets[0])[at % 2] for at in range(count))]  # fmt: skip
        x = proa.to_tensor(np.concatenate(parts).astype("float64"), stop_gradient=False)
        wanted = _learned(nets[0], nets[0](x), x)
        size = len(parts[0])

        def body():
            rank = dist.get_rank()
            net = nn.SyncBatchNorm.convert_sync_batchnorm(nets[rank + 1])
            model = proa.DataParallel(net, find_unused_parameters=True)
            own = proa.to_tensor(parts[rank].astype("float64"), stop_gradient=False)
            return _learned(net, model(own), own, 1.0 / count)

        texts = []
        for rank, found in enumerate(run_threads(body, count)):
            whole = {**wanted, "x": wanted["x"][rank * size : (rank + 1) * size]}
            if set(found) != set(whole):
                texts.append(f"rank {rank} of {count}: {sorted(set(found) ^ set(whole))} on one side only")
                continue
            far, name = max((distance(found[name], value), name) for name, value in whole.items())
            if far > 1e-7:
                texts.append(f"rank {rank} of {count}: {name} by {far:.2g}")
        return texts
    finally:
        proa.set_default_dtype(before)


def distance(found, wanted):
    """The largest difference, of the largest number of `wanted`; infinite if shapes or NaNs differ."""
    if found.shape != wanted.shape or (np.isnan(found) != np.isnan(wanted)).any():
        return math.inf
    if wanted.size == 0 or np.isnan(wanted).all():
        return 0.0
    return float(np.nanmax(np.abs(found - wanted)) / max(float(np.nanmax(np.abs(wanted))), 1e-6))


def differences(seed, ways=tuple(WAYS)):
    """What differs of the network of this number: texts, none if nothing does."""
    net = make(seed)
    arrays = inputs(seed, net)
    with proa.no_grad():
        wanted = [_arrays(net(proa.to_tensor(a))) for a in arrays]
    found = []
    for way in ways:
        run, bound = WAYS[way]
        for open_sizes in (True, False):
            count = 2 if open_sizes else 1
            with tempfile.TemporaryDirectory() as folder:
                results = run(make(seed), arrays[:count], pathlib.Path(folder), open_sizes)
            for a, b in zip(results, wanted):
                far = max(map(distance, a, b)) if len(a) == len(b) else math.inf
                if far > bound:
                    found.append(f"{way}, {'open' if open_sizes else 'known'} sizes: {far:.2g}")
    for level in ("O0", "O1", "O2"):
        called, converted = trained(seed, level)
        far = max(map(distance, converted, called)) if len(called) == len(converted) else math.inf
        # In 16 bits the order in which gradients are rounded and added may differ.
        if far > (1e-5 if level == "O0" else 0.05):
            found.append(f"training at {level}: {far:.2g}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument(
        "--ranks", type=int, default=0, help="trained on so many, beside one process, in place of the ways"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wrong = 0
    for seed in range(options.first, options.first + options.count):
        try:
            found = (
                on_ranks(seed, options.ranks)
                if options.ranks
                else differences(seed, [w for w in options.ways.split(",") if w])
            )
        except Exception as e:  # what a way refuses is a finding too
            found = [f"{type(e).__name__}: {str(e)[:300]}"]
        if found:
            wrong += 1
            print(f"{seed}: {'; '.join(found)}\n    {make(seed)!r}", flush=True)
    print(f"{options.count} networks, {wrong} differ")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
