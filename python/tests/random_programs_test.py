"""Random static programs with branches and loops in each other: the values and gradients of the same calls run at once."""

import numpy as np
import pytest

import proa
from proa import static

_F = proa.nn.functional
_UNARY = [proa.tanh, _F.sigmoid, _F.relu, _F.gelu, _F.softplus, lambda v: v * 0.5, lambda v: _F.softmax(v, -1)]
_BINARY = [proa.add, proa.subtract, proa.multiply, proa.maximum, lambda a, b: proa.where(a > b, a, b * 2)]


class _Calls:
    """Calls drawn by a seed, the same ones for arrays and for values of a program. All values are [?, 4]."""

    def __init__(self, seed, layers, values, depth=0):
        self.draw, self.layers, self.values, self.depth = np.random.default_rng(seed), layers, values, depth

    def step(self):
        kinds = [self.unary, self.binary, self.product, self.layer, self.cut_off, self.views]
        kinds += [self.branch, self.case, self.loop] if self.depth < 2 else []
        kind = kinds[self.draw.integers(len(kinds))]
        self.values.append(kind(self.value(), self.value()))

    def value(self):
        return self.values[self.draw.integers(len(self.values))]

    def inner(self, x, seed):
        """A function of what calls give that are drawn by `seed`, from `x` and values from outside."""

        def function(factor, x=x):
            calls = _Calls(seed, self.layers, [x * factor, *self.values[-3:]], self.depth + 1)
            for _ in range(3):
                calls.step()
            return proa.tanh(calls.values[-1] + x)

        return function

    def unary(self, x, _):
        return _UNARY[self.draw.integers(len(_UNARY))](x)

    def binary(self, x, y):
        return _BINARY[self.draw.integers(len(_BINARY))](x, y)

    def product(self, x, y):
        return proa.matmul(_F.softmax(proa.matmul(x, y, transpose_y=True), -1), y)

    def layer(self, x, _):
        return self.layers[self.draw.integers(len(self.layers))](x)

    def cut_off(self, x, y):
        return x.detach() * y

    def views(self, x, y):
        return proa.concat([proa.reshape(proa.reshape(x, [-1, 2, 2]), [-1, 4])[:, 1:3], y[:, :2]], 1)

    def branch(self, x, y):
        way = self.inner(x, self.draw.integers(1 << 30))
        return static.nn.cond(y.mean() > 0.1, lambda: way(1.0), lambda: way(-0.5))

    def case(self, x, y):
        way, mean = self.inner(x, self.draw.integers(1 << 30)), y.mean()
        return static.nn.case([(mean < -0.1, lambda: way(1.0)), (mean < 0.2, lambda: way(2.0))], lambda: way(-1.0))

    def loop(self, x, _):
        turn, turns = self.inner(x, self.draw.integers(1 << 30)), int(self.draw.integers(1, 4))
        body = lambda i, v: (i + 1, turn(0.5, v))
        return static.nn.while_loop(lambda i, v: i < turns, body, [proa.full([1], 0, "int64"), x])[1]


def _loss(seed, layers, x, z):
    calls = _Calls(seed, layers, [x, z])
    for _ in range(6):
        calls.step()
    return sum(proa.tanh(v).mean() for v in calls.values[2:])


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_as_eager(first):
    for seed in range(first, first + 20):
        draw = np.random.default_rng(seed)
        arrays = [draw.standard_normal((3, 4)).astype("float32") for _ in range(2)]
        layers = [proa.nn.Linear(4, 4), proa.nn.LayerNorm(4)]
        for layer in layers:
            layer.weight.set_value(draw.standard_normal(layer.weight.shape).astype("float32"))
        x, z = (proa.to_tensor(a, stop_gradient=False) for a in arrays)
        loss = _loss(seed, layers, x, z)
        loss.backward()
        want = [loss.numpy()]
        for t in (x, z, layers[0].weight, layers[1].weight):
            want.append(np.zeros(t.shape, "float32") if t.grad is None else t.grad.numpy())
            t.clear_gradient()
        proa.enable_static()
        try:
            with static.program_guard(static.Program()):
                inputs = [static.data(name, [None, 4]) for name in "xz"]
                for t in inputs:
                    t.stop_gradient = False
                loss = _loss(seed, layers, *inputs)
                sources = [*inputs, layers[0].weight, layers[1].weight]
                grads = static.gradients([loss], sources)
                fetched = [loss] + [g for g in grads if g is not None]
                got = iter(static.Executor().run(feed=dict(zip("xz", arrays, strict=True)), fetch_list=fetched))
        finally:
            proa.disable_static()
        found = [next(got)] + [
            np.zeros_like(w) if g is None else next(got) for g, w in zip(grads, want[1:], strict=True)
        ]
        for a, b in zip(found, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=f"seed {seed}")
