"""Outputs that backward makes again instead of keeping them (FLAGS_recompute_cheap_outputs): batch normalization."""

import numpy as np
import pytest

import proa
import proa.nn.functional as F
from proa import nn


@pytest.fixture(autouse=True)
def _restore():
    yield
    proa.set_flags({"FLAGS_recompute_cheap_outputs": True})


class _Block(nn.Layer):
    """The end of a residual block: everything that has outputs to be made again; by ops for all, or one by one."""

    def __init__(self, channels, apart=False):
        super().__init__()
        self.apart = apart
        self.conv1, self.conv2 = nn.Conv2D(channels, channels, 3, padding=1), nn.Conv2D(channels, channels, 1)
        self.norm1, self.norm2 = nn.BatchNorm2D(channels), nn.BatchNorm2D(channels)

    def forward(self, x):
        if self.apart:
            y = F.relu(self.norm1(self.conv1(x)))
            return F.relu(self.norm2(self.conv2(y)) + x)
        y = self.norm1(self.conv1(x), relu=True)
        return self.norm2(self.conv2(y), x, relu=True)


def _net(blocks=3, channels=6, apart=False):
    proa.seed(1)
    return nn.Sequential(
        nn.Conv2D(3, channels, 3), nn.BatchNorm2D(channels), *[_Block(channels, apart) for _ in range(blocks)]
    )


def _images(n=2, size=9):
    return proa.to_tensor(np.random.default_rng(0).standard_normal((n, 3, size, size)).astype("float32"))


def _gradients(on, blocks=3, retain=False, apart=False):
    proa.set_flags({"FLAGS_recompute_cheap_outputs": on})
    net, x = _net(blocks, apart=apart), _images()
    x.stop_gradient = False
    loss = (net(x) ** 2).sum()
    loss.backward(retain_graph=retain)
    if retain:
        loss.backward()
    return [p.grad.numpy() for p in net.parameters() if p.trainable] + [x.grad.numpy()]


def _saved(outputs):
    """Bytes of activations that the graph of outputs keeps."""
    rows, _ = proa._C.saved_summary(outputs)
    return sum(bytes_ for group, *_, bytes_ in rows if group == "activation")


@pytest.mark.parametrize("blocks", [1, 3, 12])  # the last is longer than a chain of them may be
@pytest.mark.parametrize("retain", [False, True])
@pytest.mark.parametrize("apart", [False, True])
def test_the_same_bits(blocks, retain, apart):
    for a, b in zip(_gradients(False, blocks, retain, apart), _gradients(True, blocks, retain, apart), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("apart", [False, True])
def test_second_order(apart):
    def second(on):
        proa.set_flags({"FLAGS_recompute_cheap_outputs": on})
        net, x = _net(2, apart=apart), _images()
        x.stop_gradient = False
        (g,) = proa.grad((net(x) ** 2).sum(), [x], create_graph=True)
        (g**2).sum().backward()
        return [p.grad.numpy() for p in net.parameters() if p.grad is not None]

    for a, b in zip(second(False), second(True), strict=True):
        np.testing.assert_array_equal(a, b)


def test_it_keeps_less():
    kept = {}
    for on in (False, True):
        proa.set_flags({"FLAGS_recompute_cheap_outputs": on})
        kept[on] = _saved([_net()(_images())])
    image = 2 * 6 * 7 * 7 * 4
    # Of each block the two results of its norms; of the beginning, that of its norm. The last result nobody else has.
    assert kept[False] - kept[True] >= 6 * image


def test_layers_one_by_one_keep_what_ops_for_all_keep():
    def kept(apart):
        return _saved([_net(apart=apart)(_images())])

    assert kept(apart=True) == kept(apart=False)
    with_them = kept(apart=True)
    proa.set_flags({"FLAGS_recompute_cheap_outputs": False})
    assert kept(apart=True) > with_them


def test_results_that_were_changed_in_place_count_as_they_are():
    norm, w = nn.BatchNorm2D(3), proa.to_tensor(np.ones((1, 3, 1, 1), "float32"), stop_gradient=False)
    x = _images()
    y = F.relu(norm(x))
    with proa.no_grad():
        y.scale_(2.0)
    (y * w).sum().backward()
    np.testing.assert_allclose(w.grad.numpy().ravel(), y.numpy().sum((0, 2, 3)), rtol=1e-4)


def test_a_change_before_it_is_saved_counts():
    """What another op saves is what the tensor has then, not what was once computed."""
    proa.set_flags({"FLAGS_recompute_cheap_outputs": True})
    norm = nn.BatchNorm2D(3)
    norm.weight.set_value(np.full(3, 2.0, "float32"))
    y = norm(_images())
    with proa.no_grad():
        y.scale_(3.0)
    w = proa.ones([1])
    w.stop_gradient = False
    (y * w).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), y.numpy().sum(dtype="float64"), rtol=1e-3, atol=1e-3)


def test_a_change_after_it_is_saved_does_no_harm():
    net, x = _net(1), _images()
    w = proa.to_tensor(np.random.default_rng(1).standard_normal((2, 6, 7, 7)).astype("float32"))
    w.stop_gradient = False
    y = net(x)
    before = y.numpy().copy()
    loss = (y * w).sum()
    with proa.no_grad():
        y.zero_()
    loss.backward()
    np.testing.assert_array_equal(w.grad.numpy(), before)


def test_a_change_of_what_it_is_made_from_is_an_error():
    conv, norm = nn.Conv2D(3, 4, 1), nn.BatchNorm2D(4)
    x = conv(_images())
    loss = F.conv2d(norm(x), proa.ones([2, 4, 1, 1])).sum() + (norm(x) * conv.weight.sum()).sum()
    with proa.no_grad():
        x.zero_()
    with pytest.raises(RuntimeError, match="batch_norm.*changed in place by"):
        loss.backward()


def test_released_by_another_backward():
    norm, w = nn.BatchNorm2D(3), proa.ones([1])
    w.stop_gradient = False
    y = norm(_images())
    first, second = y.sum(), (y * w).sum()
    first.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        proa.grad(second, [w])


def test_saved_tensors_hooks_see_the_tensor():
    seen = []

    def pack(t):
        seen.append(list(t.shape))
        return t

    norm, w = nn.BatchNorm2D(3), proa.ones([1])
    w.stop_gradient = False
    y = norm(_images())
    with proa.autograd.saved_tensors_hooks(pack, lambda t: t):
        z = y * w
    assert [2, 3, 9, 9] in seen
    z.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), y.numpy().sum(dtype="float64"), atol=1e-2)


def test_bfloat16_and_autocast():
    def gradients(on):
        proa.set_flags({"FLAGS_recompute_cheap_outputs": on})
        net = _net(2)
        with proa.amp.auto_cast(dtype="bfloat16"):
            loss = (net(_images()) ** 2).sum()
        loss.backward()
        return [p.grad.numpy() for p in net.parameters() if p.trainable]

    for a, b in zip(gradients(False), gradients(True), strict=True):
        np.testing.assert_array_equal(a, b)
