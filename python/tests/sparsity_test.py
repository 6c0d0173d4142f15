"""Weights with n zeros in each m: masks against a search in plain loops, training that keeps the zeros, eager and in programs."""

import itertools

import numpy as np
import pytest

import proa as paddle
from proa import nn, static
from proa.incubate import asp

_RNG = np.random.RandomState(3)


@pytest.mark.parametrize("shape", [(4, 8), (5, 7), (1, 4), (6, 12), (3, 3), (0, 4)])
@pytest.mark.parametrize("n, m", [(2, 4), (1, 2), (1, 4), (3, 4)])
def test_rows(shape, n, m):
    x = _RNG.randn(*shape).astype("float32")
    mask = asp.create_mask(x, "mask_1d", n, m)
    assert mask.shape == x.shape and asp.check_sparsity(x * mask, "check_1d", n, m) or not x.size
    for row, kept in zip(x, mask, strict=True):
        for begin in range(0, shape[1] - m + 1, m):
            part = np.abs(row[begin : begin + m])
            assert set(np.argsort(part)[n:]) == set(np.nonzero(kept[begin : begin + m])[0])


@pytest.mark.parametrize("shape", [(4, 4), (8, 4), (5, 6)])
def test_squares(shape):
    x = _RNG.randn(*shape).astype("float32")
    kept = {}
    for name in ("mask_2d_greedy", "mask_2d_best"):
        mask = asp.create_mask(x, name)
        assert asp.check_sparsity(x * mask, "check_2d")
        kept[name] = np.abs(x * mask).sum()
    assert kept["mask_2d_best"] >= kept["mask_2d_greedy"] - 1e-6
    if shape == (4, 4):
        rows = [np.array(r) for r in itertools.product((0, 1), repeat=4) if sum(r) == 2]
        best = max(
            np.abs(x * np.array(p)).sum() for p in itertools.product(rows, repeat=4) if (np.sum(p, 0) == 2).all()
        )
        np.testing.assert_allclose(kept["mask_2d_best"], best, rtol=1e-6)


def test_density_and_bad_arguments():
    assert asp.calculate_density(np.array([[0, 1], [0, 0]])) == 0.25
    assert asp.calculate_density(paddle.ones([2])) == 1.0 and asp.calculate_density(np.zeros([0])) == 1.0
    with pytest.raises(ValueError, match="one of mask_1d"):
        asp.create_mask(np.ones([2, 4]), "mask_3d")
    with pytest.raises(ValueError, match="n must be 0 to m; they are 5 and 4"):
        asp.create_mask(np.ones([2, 4]), n=5)
    with pytest.raises(ValueError, match="mask_algo must be one of"):
        asp.prune_model(nn.Linear(4, 4), mask_algo="best")
    with pytest.raises(TypeError, match="list of names"):
        asp.set_excluded_layers("linear_0")


class _Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv, self.linear, self.out = nn.Conv2D(8, 4, 3), nn.Linear(16, 8), nn.Linear(8, 1)
        self.embedding, self.small = nn.Embedding(8, 8), nn.Linear(2, 8)

    def forward(self, x):
        x = paddle.tanh(self.conv(x)).flatten(1)
        return self.out(paddle.tanh(self.linear(x)))


@pytest.mark.parametrize("algorithm", ["mask_1d", "mask_2d_greedy", "mask_2d_best"])
def test_eager_training_keeps_zeros(algorithm):
    net = _Net()
    asp.set_excluded_layers([net.out.weight.name])
    try:
        optimizer = asp.decorate(paddle.optimizer.Adam(0.01, parameters=net.parameters()))
        masks = asp.prune_model(net, mask_algo=algorithm)
    finally:
        asp.reset_excluded_layers()
    assert set(masks) == {net.conv.weight.name, net.linear.weight.name}
    for _ in range(3):
        loss = net(paddle.to_tensor(_RNG.randn(2, 8, 4, 4).astype("float32"))).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    for weight in (net.conv.weight, net.linear.weight):
        value, mask = weight.numpy(), masks[weight.name]
        assert not value[mask == 0].any() and value[mask == 1].all()
        summed = value.transpose(0, 2, 3, 1) if value.ndim == 4 else value.T
        assert asp.check_sparsity(summed)
    assert asp.calculate_density(net.embedding.weight) == 1.0


@pytest.mark.parametrize("scoped", [False, True])
def test_programs_keep_zeros(scoped):
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        scope = static.Scope() if scoped else static.global_scope()
        with static.scope_guard(scope), static.program_guard(main, startup):
            x, y = static.data("x", [None, 8]), static.data("y", [None, 1])
            hidden = static.nn.fc(x, 8, activation="tanh")
            kept = static.nn.fc(hidden, 8, weight_attr=paddle.ParamAttr(name="untouched.w_0"), activation="tanh")
            loss = ((static.nn.fc(kept, 1) - y) ** 2).mean()
            static.sparsity.decorate(paddle.optimizer.SGD(0.1)).minimize(loss)
            executor = static.Executor()
            executor.run(startup)
            masks = static.sparsity.prune_model(main)
            assert len(masks) == 2 and "untouched.w_0" not in masks
            feed = {"x": _RNG.randn(16, 8).astype("float32"), "y": _RNG.randn(16, 1).astype("float32")}
            losses = [executor.run(main, feed=feed, fetch_list=[loss])[0].item() for _ in range(5)]
            assert losses[-1] < losses[0]
            for name, mask in masks.items():
                value = np.array(static.global_scope().find_var(name).get_tensor())
                assert not value[mask == 0].any() and value[mask == 1].all()
    finally:
        paddle.disable_static()


def test_a_pruning_of_ones_own():
    asp.add_supported_layer("embedding", lambda value, m, n, algorithm, name: (value * 0, value * 0))
    try:
        net = nn.Embedding(8, 4)
        asp.prune_model(net)
        assert asp.calculate_density(net.weight) == 0.0
    finally:
        del asp._supported["embedding"]
