"""Passes of predictors: recurrences side by side, norms behind layers that are not convolutions, elementwise chains of open
sizes."""

import numpy as np
import pytest

import proa
from proa import nn
from python.tests.saved_predictors import predictor_of, random, randomize


def _threads(number):
    return lambda config: config.set_cpu_math_library_num_threads(number)


class _Recurrent(nn.Layer):
    def __init__(self, cell, size=6):
        super().__init__()
        self.cell, self.out = cell(4, size, 2, direction="bidirect"), nn.Linear(2 * size, 3)

    def forward(self, x):
        y, states = self.cell(x)
        return self.out(y), states[0] if isinstance(states, tuple) else states


@pytest.mark.parametrize("cell", [nn.LSTM, nn.GRU, nn.SimpleRNN])
def test_recurrences_keep_nothing(cell, tmp_path):
    """Of batches whose steps are computed a few at a time, too."""
    net = _Recurrent(cell)
    specs = [proa.static.InputSpec([None, None, 4], "float32", "x")]
    predictor = predictor_of(net, specs, tmp_path, _threads(1))
    plan = predictor._engine.plan
    assert plan.count("keep_reserve=false") == plan.count("rnn(") == 4 and "[?, ?, 0] uint8" in plan, plan
    for shape in ([50, 20, 4], [400, 3, 4], [319, 2, 4], [1, 700, 4]):
        x = random(shape)
        for got, want in zip(predictor.run([x]), net(proa.to_tensor(x)), strict=True):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)
    # Gradients of a program that asks for none are not kept; eager ones are.
    x = proa.to_tensor(random([3, 5, 4]))
    x.stop_gradient = False
    net(x)[0].sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("cell", [nn.LSTM, nn.GRU, nn.SimpleRNN])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_directions_run_side_by_side(cell, threads, tmp_path):
    net = _Recurrent(cell)
    specs = [proa.static.InputSpec([None, None, 4], "float32", "x")]
    predictor = predictor_of(net, specs, tmp_path, _threads(threads))
    plan = predictor._engine.plan
    assert plan.count("side_by_side(") == 2 and plan.count("rnn(") == 4, plan
    plain = predictor_of(
        net, specs, tmp_path, lambda c: (_threads(threads)(c), c.pass_builder().delete_pass("side_by_side"))
    )
    assert "side_by_side" not in plain._engine.plan
    for shape in ([2, 7, 4], [1, 1, 4], [5, 30, 4], [0, 3, 4]):
        x = random(shape)
        want = net(proa.to_tensor(x))
        for got in (predictor.run([x]), plain.run([x])):
            for one, other in zip(got, want):
                np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


def test_hooks_see_each_direction(tmp_path):
    predictor = predictor_of(
        _Recurrent(nn.GRU), [proa.static.InputSpec([None, None, 4], "float32", "x")], tmp_path, _threads(2)
    )
    x = random([2, 3, 4])
    want = predictor.run([x])[0].numpy()
    made = []
    predictor.register_output_hook(lambda op, name, tensor: made.append(op))
    np.testing.assert_allclose(predictor.run([x])[0].numpy(), want, rtol=1e-5, atol=1e-6)
    assert made.count("rnn") > 0 and made.count("side_by_side") > 0, made


def test_a_recurrence_of_the_other_runs_behind_it(tmp_path):
    class Stacked(nn.Layer):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.GRU(4, 4), nn.GRU(4, 4)

        def forward(self, x):
            return self.second(self.first(x)[0])[0]

    net = Stacked()
    predictor = predictor_of(net, [proa.static.InputSpec([None, None, 4], "float32", "x")], tmp_path, _threads(2))
    assert "side_by_side" not in predictor._engine.plan
    x = random([2, 5, 4])
    np.testing.assert_allclose(predictor.run([x])[0].numpy(), net(proa.to_tensor(x)).numpy(), rtol=1e-5, atol=1e-6)


def test_an_error_of_one_direction_is_the_error(tmp_path):
    class Lengths(nn.Layer):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRU(4, 4, direction="bidirect")

        def forward(self, x, n):
            return self.cell(x, None, n)[0]

    specs = [proa.static.InputSpec([None, None, 4], "float32", "x"), proa.static.InputSpec([None], "int64", "n")]
    predictor = predictor_of(Lengths(), specs, tmp_path, _threads(2))
    assert "side_by_side" in predictor._engine.plan
    with pytest.raises(ValueError, match="length 9 of sample 0"):
        predictor.run([random([1, 3, 4]), np.array([9])])
    assert predictor.run([random([1, 3, 4]), np.array([2])])[0].shape == [1, 3, 8]


@pytest.mark.parametrize(
    "settings", [{}, {"stride": 2, "groups": 3}, {"bias_attr": False}, {"output_padding": 1, "stride": 2}]
)
def test_norms_behind_transposed_convolutions(settings, tmp_path):
    net = nn.Sequential(nn.Conv2DTranspose(3, 6, 3, **settings), nn.BatchNorm2D(6), nn.ReLU())
    randomize(net)
    x = random([2, 3, 5, 4])
    predictor = predictor_of(net, [proa.static.InputSpec([None, 3, 5, 4], "float32", "x")], tmp_path)
    assert "batch_norm" not in predictor._engine.plan, predictor._engine.plan
    np.testing.assert_allclose(predictor.run([x])[0].numpy(), net(proa.to_tensor(x)).numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("shape, folds", [([None, 5], True), ([None, 7, 5], False)])
def test_norms_behind_products(shape, folds, tmp_path):
    net = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1D(7))
    randomize(net)
    x = random([3, *shape[1:]])
    predictor = predictor_of(net, [proa.static.InputSpec(shape, "float32", "x")], tmp_path)
    assert ("batch_norm" not in predictor._engine.plan) == folds, predictor._engine.plan
    np.testing.assert_allclose(predictor.run([x])[0].numpy(), net(proa.to_tensor(x)).numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("bias", [None, False])
def test_affine_channels_behind_convolutions(bias, tmp_path):
    class Affine(nn.Layer):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2D(3, 6, 3, bias_attr=bias)
            self.scale, self.shift = self.create_parameter([6]), self.create_parameter([6], is_bias=True)

        def forward(self, x):
            return nn.functional.relu(proa.fluid.layers.affine_channel(self.conv(x), self.scale, self.shift))

    net = Affine()
    randomize(net)
    x = random([2, 3, 6, 5])
    predictor = predictor_of(net, [proa.static.InputSpec([None, 3, 6, 5], "float32", "x")], tmp_path)
    plan = predictor._engine.plan
    assert "multiply" not in plan and 'activation="relu"' in plan, plan
    np.testing.assert_allclose(predictor.run([x])[0].numpy(), net(proa.to_tensor(x)).numpy(), rtol=2e-5, atol=2e-5)


class _Chain(nn.Layer):
    def forward(self, x, y):
        z = proa.tanh(x + y)
        return z * z + 1.0, z


@pytest.mark.parametrize("threads", [1, 2])
def test_chains_of_open_sizes_are_one_operation(threads, tmp_path):
    """What is tiled is decided by the sizes of a run, of which either input may be repeated."""
    net = _Chain()
    specs = [proa.static.InputSpec([None, 130], "float32", n) for n in "xy"]
    predictor = predictor_of(net, specs, tmp_path, _threads(threads))
    plan = predictor._engine.plan
    assert plan.count("pointwise(") == 1 and "return %" in plan, plan
    for rows, others in ((0, 0), (1, 1), (3, 3), (1, 3), (3000, 3000), (3000, 1), (1, 3000), (2017, 2017)):
        x, y = random([rows, 130], 1), random([others, 130], 2)
        for got, want in zip(predictor.run([x, y]), net(proa.to_tensor(x), proa.to_tensor(y)), strict=True):
            np.testing.assert_array_equal(got.numpy(), want.numpy())
    with pytest.raises(ValueError, match="add"):
        predictor.run([random([3, 130]), random([4, 130])])
