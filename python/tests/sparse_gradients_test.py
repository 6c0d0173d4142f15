"""Deep gradient compression: programs of two workers beside the rule in NumPy."""

import json

import numpy as np
import pytest

from python.tests import ranks

_SIZE = 128  # squared, the fewest elements that are compressed

_TRAIN = """
import json
import proa.distributed.fleet as fleet
proa.enable_static()
strategy = fleet.DistributedStrategy()
strategy.dgc = True
strategy.dgc_configs = {configs}
{more}
fleet.init(is_collective=True, strategy=strategy)
rank = fleet.worker_index()
main, startup = proa.static.Program(), proa.static.Program()
zeros = proa.nn.initializer.Constant(0.0)
with proa.static.program_guard(main, startup):
    x, y = proa.static.data("x", [None, 128]), proa.static.data("y", [None, 128])
    w, b = proa.ParamAttr(name="w", initializer=zeros), proa.ParamAttr(name="b", initializer=zeros)
    loss = ((proa.static.nn.fc(x, 128, weight_attr=w, bias_attr=b) - y) ** 2).sum()
    fleet.distributed_optimizer(proa.optimizer.{optimizer}).minimize(loss)
executor = proa.static.Executor()
executor.run(startup)
for step in range({steps}):
    rng = np.random.default_rng(100 * step + rank)
    feed = {{name: rng.normal(size=(4, 128)).astype("float32") for name in ("x", "y")}}
    executor.run(main, feed=feed, fetch_list=[loss])
state = main.state_dict()
print(json.dumps([np.asarray(state[name]).ravel().tolist() for name in ("w", "b")]))
"""


def _trained(steps, configs, optimizer, more="", count=2):
    source = _TRAIN.format(configs=configs, optimizer=optimizer, steps=steps, more=more)
    return [[np.array(a) for a in json.loads(out)] for out in ranks.run(source, count)]


class _Rule:
    """What is done with w (compressed) and b."""

    def __init__(self, configs, rate=0.002, m=0.9, nesterov=False, l2=0.0, clip=None):
        self.begin, self.ramp = configs["rampup_begin_step"], configs["rampup_step"]
        self.levels = configs["sparsity"]
        self.rate, self.m, self.nesterov, self.l2, self.clip = rate, m, nesterov, l2, clip
        self.w, self.b = np.zeros((_SIZE, _SIZE)), np.zeros(_SIZE)
        self.velocity = {"w": 0.0, "b": 0.0}
        self.u, self.v = np.zeros((2, _SIZE * _SIZE)), np.zeros((2, _SIZE * _SIZE))

    def run(self, steps):
        for step in range(steps):
            grads = [self._grads(step, rank) for rank in range(2)]
            db = self._momentum("b", self._clipped((grads[0][1] + grads[1][1]) / 2, 1.0) + self.l2 * self.b)
            if step < self.begin:
                dw = self._momentum("w", (grads[0][0] + grads[1][0]) / 2 + self.l2 * self.w)
            else:
                level = min((step - self.begin) * len(self.levels) // self.ramp, len(self.levels) - 1)
                dw = self._sent([g for g, _ in grads], self.levels[level]).reshape(_SIZE, _SIZE)
            self.w, self.b = self.w - self.rate * dw, self.b - self.rate * db
        return self.w.ravel(), self.b

    def _grads(self, step, rank):
        rng = np.random.default_rng(100 * step + rank)
        x, y = (rng.normal(size=(4, _SIZE)).astype("float32") for _ in range(2))
        away = 2 * (x @ self.w + self.b - y)
        return x.T @ away, away.sum(0)

    def _clipped(self, grad, factor):
        return grad if self.clip is None else grad * min(1.0, self.clip * factor / np.linalg.norm(grad))

    def _momentum(self, name, grad):
        v = self.velocity[name] = self.m * self.velocity[name] + grad
        return grad + self.m * v if self.nesterov else v

    def _sent(self, grads, sparsity):
        total, k = np.zeros(_SIZE * _SIZE), max(1, round(_SIZE * _SIZE * (1 - sparsity)))
        for rank, grad in enumerate(grads):
            g = self._clipped(grad.ravel() + self.l2 * self.w.ravel(), 2**-0.5)
            u, v = self.u[rank], self.v[rank]
            u[:] = self.m * (u + g) if self.nesterov else self.m * u + g
            v += u + g if self.nesterov else u
            largest = np.argsort(-abs(v), kind="stable")[:k]
            total[largest] += v[largest] / 2
            u[largest] = v[largest] = 0.0
        return total


@pytest.mark.parametrize(
    "steps, begin, ramp, sparsity, optimizer, settings",
    [
        (5, 0, 1, [0.9], "Momentum(0.002, 0.9)", {}),
        (8, 2, 4, [0.5, 0.75, 0.99], "Momentum(0.002, 0.9)", {}),
        (4, 0, 1, [0.0], "Momentum(0.002, 0.9)", {}),
        (5, 1, 1, [0.9], "Momentum(0.002, 0.9, use_nesterov=True, weight_decay=0.01)", {"nesterov": True, "l2": 0.01}),
        (4, 0, 1, [0.9], "Momentum(0.002, 0.9, grad_clip=proa.nn.ClipGradByNorm(30.0))", {"clip": 30.0}),
    ],
)
def test_is_the_rule(steps, begin, ramp, sparsity, optimizer, settings):
    configs = {"rampup_begin_step": begin, "rampup_step": ramp, "sparsity": sparsity}
    workers = _trained(steps, configs, optimizer)
    for found in workers:
        for a, b, first in zip(found, _Rule(configs, **settings).run(steps), workers[0], strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6, rtol=0)
            np.testing.assert_array_equal(a, first)
    assert abs(workers[0][0]).max() > 1e-3


def test_one_worker_has_nothing_to_send():
    configs = {"sparsity": [0.99]}
    plain = _trained(3, configs, "Momentum(0.002, 0.9)", "strategy.dgc = False", 1)
    for a, b in zip(_trained(3, configs, "Momentum(0.002, 0.9)", count=1)[0], plain[0], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "configs, optimizer, more, says",
    [
        ({}, "Adam(0.1)", "", "strategy.dgc with Adam; it compresses the gradients of paddle.optimizer.Momentum"),
        ({}, "Momentum(0.1, grad_clip=proa.nn.ClipGradByGlobalNorm(1.0))", "", "use ClipGradByNorm"),
        ({"sparsity": [1.0]}, "Momentum(0.1)", "", "sparsity from 0 to below 1"),
        ({}, "Momentum(0.1)", "strategy.amp = True", "strategy.amp beside dgc"),
    ],
)
def test_what_is_refused(configs, optimizer, more, says):
    with pytest.raises(AssertionError, match=says):
        _trained(0, configs, optimizer, more)
