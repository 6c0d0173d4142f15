"""Memory of predictors: planned for the shapes of the inputs, and flat."""

import numpy as np

import proa
from proa import nn
from python.tests.saved_predictors import predictor_of, random


class _Pictures(nn.Layer):
    """Blocks of megabytes that a heap, which sees one at a time, leaves holes between."""

    def __init__(self):
        super().__init__()
        self.wide, self.narrow, self.last = nn.Conv2D(3, 24, 3, padding=1), nn.Conv2D(24, 6, 1), nn.Conv2D(6, 24, 1)

    def forward(self, x):
        y = nn.functional.max_pool2d(self.wide(x), 2)
        wide = self.last(nn.functional.interpolate(self.narrow(y), scale_factor=2))
        return (nn.functional.max_pool2d(wide, 2) + y).mean([2, 3])


def test_memory_of_runs_is_planned(tmp_path):
    net = _Pictures()
    predictor = predictor_of(net, [proa.static.InputSpec([None, 3, None, None], "float32", "x")], tmp_path)
    shapes = [[4, 3, 128, 128], [2, 3, 256, 192], [8, 3, 96, 96]]
    inputs = [random(shape, i) for i, shape in enumerate(shapes)]
    want = [net(proa.to_tensor(x)).numpy() for x in inputs]
    kept = []
    for _ in range(4):
        for x, y in zip(inputs, want):
            (got,) = predictor.run([x])
            kept.append((got, y))
    for got, y in kept:  # results are their owners', whatever later runs do
        np.testing.assert_allclose(got.numpy(), y, rtol=1e-4, atol=1e-5)


def test_a_run_holds_what_is_in_use_at_once(tmp_path):
    predictor = predictor_of(_Pictures(), [proa.static.InputSpec([None, 3, 256, 256], "float32", "x")], tmp_path)
    x = random([8, 3, 256, 256])
    proa._C.memory_release()
    before = proa._C.memory_figures()["reserved"]
    for _ in range(3):
        predictor.run([x])
    wide = 8 * 24 * 256 * 256 * 4
    # The second wide result beside two of a quarter. One block at a time, it finds no place where the first was.
    assert proa._C.memory_figures()["reserved"] - before < 1.9 * wide


def test_soak_of_random_shapes(tmp_path):
    def resident():
        return int(open("/proc/self/statm", encoding="utf-8").read().split()[1]) * 4096

    predictor = predictor_of(_Pictures(), [proa.static.InputSpec([None, 3, None, None], "float32", "x")], tmp_path)
    rng = np.random.RandomState(0)
    # The largest first.
    shapes = [[4, 3, 192, 192]] + [
        [rng.randint(1, 5), 3, 2 * rng.randint(8, 97), 2 * rng.randint(8, 97)] for _ in range(150)
    ]
    before = None
    for turn in range(2):
        for shape in shapes:
            predictor.run([np.ones(shape, "float32")])
        if turn == 0:
            before = resident()
    assert resident() - before < 16 << 20
