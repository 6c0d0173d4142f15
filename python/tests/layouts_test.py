"""Images lie channels-last from convolution to convolution (docs/notes/layouts.md)."""

import numpy as np
import pytest

import proa as paddle
from proa import nn


def _random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _channels_last(t):
    n, c, h, w = t.shape
    return t.strides == [c * h * w, 1, c * w, c]


def _convolve(x, weight, stride, pad, dilation, groups):
    """conv2d by its definition, in float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    out_channels, per_group, kh, kw = weight.shape
    h = (x.shape[2] - dilation * (kh - 1) - 1) // stride + 1
    w = (x.shape[3] - dilation * (kw - 1) - 1) // stride + 1
    out = np.zeros((x.shape[0], out_channels, h, w))
    for o in range(out_channels):
        first = o // (out_channels // groups) * per_group
        for p in range(kh):
            for q in range(kw):
                rows = slice(p * dilation, p * dilation + stride * (h - 1) + 1, stride)
                columns = slice(q * dilation, q * dilation + stride * (w - 1) + 1, stride)
                part = x[:, first : first + per_group, rows, columns]
                out[:, o] += np.einsum("nchw,c->nhw", part, weight[o, :, p, q].astype(np.float64))
    return out


# channels in, channels out, kernel, stride, padding, dilation, groups
_GEOMETRIES = [
    (3, 8, 3, 1, 1, 1, 1),
    (5, 7, 3, 1, 1, 1, 1),
    (16, 32, 1, 1, 0, 1, 1),
    (17, 19, 1, 1, 0, 1, 1),
    (16, 32, 1, 2, 0, 1, 1),
    (16, 16, 3, 2, 1, 1, 1),
    (16, 16, 3, 1, 0, 1, 1),
    (6, 4, 3, 1, 3, 1, 1),  # padded beyond the kernel
    (8, 8, 3, 1, 2, 2, 1),
    (12, 12, 3, 1, 1, 1, 12),
    (12, 24, 3, 2, 1, 1, 12),
    (12, 8, 3, 1, 1, 1, 4),
    (1, 1, 5, 1, 2, 1, 1),
]


@pytest.mark.parametrize("geometry", _GEOMETRIES)
@pytest.mark.parametrize("order", ["plain", "channels-last", "strided"])
def test_convolution_and_its_gradients_by_definition(geometry, order):
    i, o, k, stride, pad, dilation, groups = geometry
    x, weight = _random(2, i, 9, 11), _random(o, i // groups, k, k, seed=1)
    t = paddle.to_tensor(x)
    if order == "channels-last":
        t = paddle.to_tensor(np.ascontiguousarray(x.transpose(0, 2, 3, 1))).transpose([0, 3, 1, 2])
    elif order == "strided":
        t = paddle.to_tensor(np.repeat(x, 2, axis=3))[:, :, :, ::2]
    t.stop_gradient = False
    w = paddle.to_tensor(weight, stop_gradient=False)
    y = nn.functional.conv2d(t, w, None, stride, pad, dilation, groups)
    want = _convolve(x, weight, stride, pad, dilation, groups)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-4, atol=1e-4)
    assert o == 1 or y.shape[2:] == [1, 1] or _channels_last(y)
    # The convolution is linear in both: <g, conv(dx, w)> = <x_grad, dx>.
    g = _random(*y.shape, seed=2)
    y.backward(paddle.to_tensor(g))
    dx, dw = _random(*x.shape, seed=3), _random(*weight.shape, seed=4)
    by_x = (g * _convolve(dx, weight, stride, pad, dilation, groups)).sum()
    by_w = (g * _convolve(x, dw, stride, pad, dilation, groups)).sum()
    np.testing.assert_allclose((t.grad.numpy().astype(np.float64) * dx).sum(), by_x, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose((w.grad.numpy().astype(np.float64) * dw).sum(), by_w, rtol=1e-3, atol=1e-2)
    assert w.grad.is_contiguous()


def test_an_empty_batch_flows_through():
    x = paddle.zeros([0, 3, 8, 8])
    x.stop_gradient = False
    net = nn.Sequential(nn.Conv2D(3, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2))
    y = net(x)
    assert y.shape == [0, 4, 4, 4]
    y.sum().backward()
    assert x.grad.shape == [0, 3, 8, 8] and not net[0].weight.grad.numpy().any()


def test_reshape_of_an_image_copies():
    y = nn.functional.conv2d(paddle.to_tensor(_random(2, 3, 6, 6)), paddle.to_tensor(_random(4, 3, 3, 3)))
    assert _channels_last(y) and not y.is_contiguous()
    assert y.numpy().tobytes() == np.ascontiguousarray(y.numpy()).tobytes()
    flat = paddle.reshape(y, [2, -1])
    np.testing.assert_array_equal(flat.numpy(), y.numpy().reshape(2, -1))
    before = y.numpy()
    flat.zero_()
    np.testing.assert_array_equal(y.numpy(), before)
    # A view of the image reaches it.
    y[:, 1].zero_()
    assert not y.numpy()[:, 1].any() and y.numpy()[:, 0].any()


class _Block(nn.Layer):
    """A residual block, with a projection where the shapes differ."""

    def __init__(self, i, width, stride):
        super().__init__()
        o = 4 * width
        self.body = nn.Sequential(
            nn.Conv2D(i, width, 1, bias_attr=False), nn.BatchNorm2D(width), nn.ReLU(),
            nn.Conv2D(width, width, 3, stride, 1, bias_attr=False), nn.BatchNorm2D(width), nn.ReLU(),
            nn.Conv2D(width, o, 1, bias_attr=False), nn.BatchNorm2D(o),
        )  # fmt: skip
        self.short = None
        if i != o:
            self.short = nn.Sequential(nn.Conv2D(i, o, 1, stride, bias_attr=False), nn.BatchNorm2D(o))

    def forward(self, x):
        return nn.functional.relu(self.body(x) + (x if self.short is None else self.short(x)))


def _stem(x):
    return nn.functional.max_pool2d(x, 3, 2, 1)


def test_a_residual_network_reorders_no_image():
    net = nn.Sequential(nn.Conv2D(16, 32, 3, padding=1), _Block(32, 8, 1), _Block(32, 16, 2), _Block(64, 16, 1))
    pool, head = nn.AdaptiveAvgPool2D(1), nn.Linear(64, 10)
    optimizer = paddle.optimizer.SGD(0.01, parameters=net.parameters())
    x = nn.functional.conv2d(paddle.to_tensor(_random(2, 3, 16, 16)), paddle.to_tensor(_random(16, 3, 3, 3)))

    def step():
        y = _stem(net(x))
        assert _channels_last(y)
        loss = head(paddle.flatten(pool(y), 1)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()

    step()
    before = paddle._C.reorder_counts()
    step()
    after = paddle._C.reorder_counts()
    assert after["data"] == before["data"]
    # For each of the 9 convolutions: its weight, turned for the input gradient, and the weight's gradient.
    assert after["weights"] - before["weights"] <= 3 * 9


def _images_under_amp(level, dtype, data_format, tuned):
    """(losses of three steps, orders of images on the way, data reordered by the last two steps)."""
    paddle.incubate.autotune.set_config({"layout": {"enable": tuned}})
    paddle.seed(0)
    own = {"data_format": data_format}
    net = nn.Sequential(
        nn.Conv2D(16, 16, 3, padding=1, **own), nn.BatchNorm2D(16, **own), nn.ReLU(), nn.MaxPool2D(2, **own),
        nn.Conv2D(16, 32, 1, **own), nn.BatchNorm2D(32, **own), nn.ReLU(), nn.AdaptiveAvgPool2D(1, **own),
    )  # fmt: skip
    orders = []
    for layer in net:
        layer.register_forward_post_hook(
            lambda _, __, y: orders.append(_channels_last(y)) if y.size > y.shape[0] * 32 else None
        )
    sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    if level == "O2":
        net, sgd = paddle.amp.decorate(net, sgd, level=level, dtype=dtype)
    x = paddle.to_tensor(
        _random(2, 16, 8, 8).transpose([0, 2, 3, 1]) if data_format == "NHWC" else _random(2, 16, 8, 8)
    )
    losses = []
    for _ in range(3):
        if len(losses) == 1:
            before = paddle._C.reorder_counts()["data"]
        with paddle.amp.auto_cast(level=level, dtype=dtype):
            loss = paddle.flatten(net(x), 1).square().mean()
        loss.backward()
        sgd.step()
        sgd.clear_grad()
        losses.append(loss.item())
    return losses, orders, paddle._C.reorder_counts()["data"] - before


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("level", ["O0", "O1", "O2"])
def test_in_mixed_precision_images_flow_channels_last_without_a_word(level, dtype):
    """A network of [N, C, H, W] computes what one of [N, H, W, C] does, in the same order in memory; it is tuned by its ops."""
    try:
        plain, orders, reordered = _images_under_amp(level, dtype, "NCHW", tuned=False)
        assert all(orders) and len(orders) == 3 * 7
        assert reordered <= 2 * 2  # what comes in row-major, and its counterpart backward
        assert _images_under_amp(level, dtype, "NCHW", tuned=True) == (plain, orders, reordered)
        np.testing.assert_allclose(_images_under_amp(level, dtype, "NHWC", tuned=True)[0], plain, rtol=1e-3)
    finally:
        paddle.incubate.autotune.set_config({"layout": {"enable": False}})


def test_prediction_reorders_nothing_once_warm():
    net = nn.Sequential(nn.Conv2D(16, 32, 3, padding=1), _Block(32, 8, 1))
    net.eval()
    x = nn.functional.conv2d(paddle.to_tensor(_random(2, 3, 16, 16)), paddle.to_tensor(_random(16, 3, 3, 3)))
    with paddle.no_grad():
        first = [net(x).numpy() for _ in range(2)]
        before = paddle._C.reorder_counts()
        again = net(x).numpy()
        assert paddle._C.reorder_counts() == before
    np.testing.assert_array_equal(first[0], again)
    np.testing.assert_array_equal(first[1], again)


def test_a_changed_weight_is_packed_anew():
    x, conv = paddle.to_tensor(_random(1, 8, 6, 6)), nn.Conv2D(8, 8, 3, bias_attr=False)
    weight = conv.weight.numpy()
    with paddle.no_grad():
        for factor in (1.0, 2.0, 3.0):
            conv.weight.set_value(weight * factor)
            for _ in range(3):
                np.testing.assert_allclose(
                    conv(x).numpy(), _convolve(x.numpy(), weight * factor, 1, 0, 1, 1), rtol=1e-4, atol=1e-4
                )
        conv.weight.zero_()
        assert not conv(x).numpy().any()


def test_a_weight_that_others_can_write_is_never_kept():
    x, weight = paddle.to_tensor(_random(1, 8, 6, 6)), paddle.to_tensor(_random(8, 8, 3, 3))
    for _ in range(3):
        nn.functional.conv2d(x, weight)
    outside = np.from_dlpack(weight)
    try:
        outside.flags.writeable = True
    except ValueError:
        pytest.skip("this NumPy gives no writable view of DLPack memory")
    for factor in (2.0, 3.0):
        outside[...] = factor
        for _ in range(3):
            got = nn.functional.conv2d(x, weight).numpy()
            want = _convolve(x.numpy(), np.full((8, 8, 3, 3), factor), 1, 0, 1, 1)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_gradients_are_those_of_plain_images():
    """A small network in channels-last against the same one in float64 by finite differences."""
    paddle.seed(1)
    net = nn.Sequential(
        nn.Conv2D(3, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2), nn.Conv2D(4, 5, 3, padding=1),
        nn.AvgPool2D(2), nn.AdaptiveAvgPool2D(1), nn.Flatten(),
    )  # fmt: skip
    for p in net.parameters():
        p.set_value(p.numpy())
    net.to(dtype="float64")
    x = _random(2, 3, 8, 8).astype(np.float64)

    def loss(v):
        return net(v).sin().sum()

    t = paddle.to_tensor(x, stop_gradient=False)
    loss(t).backward()
    rng = np.random.default_rng(5)
    for _ in range(6):
        i = tuple(rng.integers(0, n) for n in x.shape)
        up, down = x.copy(), x.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        slope = (float(loss(paddle.to_tensor(up))) - float(loss(paddle.to_tensor(down)))) / 2e-6
        np.testing.assert_allclose(t.grad.numpy()[i], slope, rtol=1e-4, atol=1e-6)


def _both(shape, seed=0):
    """An image row-major, and one of the same elements channels-last."""
    x = _random(*shape, seed=seed)
    axes = [0, *range(2, len(shape)), 1]
    back = [0, len(shape) - 1, *range(1, len(shape) - 1)]
    return paddle.to_tensor(x), paddle.to_tensor(np.ascontiguousarray(x.transpose(axes))).transpose(back)


def _lies_last(t):
    return t.strides == _both(t.shape)[1].strides


@pytest.mark.parametrize("shape", [[2, 3, 5], [2, 3, 5, 4], [2, 3, 2, 5, 4]], ids=str)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_joined_images_lie_as_most_of_them_do(shape, axis):
    wide = list(shape)
    wide[axis] += 3
    (a, a_last), (b, b_last) = _both(shape), _both(wide, 1)
    want = np.concatenate([a.numpy(), b.numpy()], axis)
    for parts, is_last in (([a, b], False), ([a_last, b_last], True), ([a, b_last], True), ([a_last, b], False)):
        joined = paddle.concat(parts, axis)
        np.testing.assert_array_equal(joined.numpy(), want)
        assert _lies_last(joined) == is_last and joined.is_contiguous() != is_last
    # A view of some channels counts as it lies; one pixel, one channel and other numbers of dims do not count.
    some = a_last[:, :2]
    joined = paddle.concat([some, some], 1)
    assert _lies_last(joined)
    np.testing.assert_array_equal(joined.numpy(), np.concatenate([a.numpy()[:, :2]] * 2, 1))
    assert paddle.concat([paddle.ones([2, 3, 1, 1]), paddle.ones([2, 3, 1, 1])], 1).is_contiguous()
    assert paddle.concat([paddle.ones([2, 0, 4, 4]), paddle.ones([2, 1, 4, 4])], 1).is_contiguous()
    assert paddle.concat([paddle.ones([3, 2]).T, paddle.ones([3, 2]).T], 0).is_contiguous()


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padded_images_lie_as_they_did(mode):
    plain, last = _both([2, 3, 5, 4])
    paddings = [0, 0, 0, 0, 1, 2, 2, 1]
    padded = []
    for x in (plain, last):
        x.stop_gradient = False
        y = paddle._C.ops.pad(x, paddings, mode)
        (g,) = paddle.grad((y * y).sum(), [x])
        assert _lies_last(y) == _lies_last(g) == (x is last)
        padded.append((y.numpy(), g.numpy()))
    for ours, theirs in zip(*padded, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    kinds = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    np.testing.assert_array_equal(padded[0][0], np.pad(plain.numpy(), ((0, 0), (0, 0), (1, 2), (2, 1)), kinds[mode]))


def test_a_dense_network_reorders_no_image():
    class Dense(nn.Layer):
        def __init__(self, channels):
            super().__init__()
            self.norm, self.conv = nn.BatchNorm2D(channels), nn.Conv2D(channels, 16, 3, padding=1, bias_attr=False)

        def forward(self, x):
            return paddle.concat([x, self.conv(nn.functional.relu(self.norm(x)))], 1)

    net = nn.Sequential(*(Dense(16 * k) for k in range(1, 5)))
    x = nn.functional.conv2d(paddle.to_tensor(_random(2, 3, 16, 16)), paddle.to_tensor(_random(16, 3, 3, 3)))
    net.eval()
    with paddle.no_grad():
        net(x)
        before = paddle._C.reorder_counts()["data"]
        assert _channels_last(net(x))
        assert paddle._C.reorder_counts()["data"] == before


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -3])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16"])
def test_what_is_gathered_of_an_image_lies_as_it_did(axis, dtype):
    x = (_random(2, 3, 5, 4) * 100).astype("float32" if dtype == "bfloat16" else dtype)
    rows = paddle.to_tensor(x).astype(dtype)
    image = paddle.to_tensor(x.transpose(0, 2, 3, 1).copy()).astype(dtype).transpose([0, 3, 1, 2])
    assert _channels_last(image)
    for index in ([1, 0, -1, 1, 1], [0], []):
        index = paddle.to_tensor(np.array(index, "int64"))
        found, want = (paddle.index_select(t, index, axis) for t in (image, rows))
        np.testing.assert_array_equal(found.astype("float64").numpy(), want.astype("float64").numpy())
        assert found.numel() == 0 or _channels_last(found) or found.shape[1] == 1
    table = paddle.to_tensor(np.array([[1, 0], [0, 1]]))
    found, want = (paddle._C.ops.gather(t, table, axis) for t in (image, rows))  # no image any more
    np.testing.assert_array_equal(found.astype("float64").numpy(), want.astype("float64").numpy())
    one, same = (paddle._C.ops.gather(t, paddle.to_tensor(1), axis) for t in (image, rows))
    np.testing.assert_array_equal(one.astype("float64").numpy(), same.astype("float64").numpy())


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area"])
def test_resized_images_lie_channels_last(mode):
    x, grads = _random(2, 6, 5, 7), []
    for channels_last in (False, True):
        t = paddle.to_tensor(x)
        if channels_last:
            t = paddle.to_tensor(x.transpose(0, 2, 3, 1).copy()).transpose([0, 3, 1, 2])
        t.stop_gradient = False
        y = nn.functional.interpolate(t, size=[9, 4], mode=mode)
        assert not channels_last or _channels_last(y)
        weight = paddle.to_tensor(_random(*y.shape, seed=1))
        (y * weight).sum().backward()
        grads.append((y.numpy(), t.grad.numpy()))
    for rows, image in zip(*grads):
        np.testing.assert_allclose(rows, image, rtol=1e-6, atol=1e-6)


def test_copies_and_fillings_lie_as_their_image_does_and_contiguous_is_row_major():
    plain, last = _both([2, 3, 5, 4])
    for copy in (last.clone(), paddle.assign(last), paddle.zeros_like(last), paddle.ones_like(last)):
        assert _lies_last(copy)
    np.testing.assert_array_equal(last.clone().numpy(), plain.numpy())
    assert (paddle.full_like(last, 3, "int64").numpy() == 3).all() and plain.clone().is_contiguous()
    last.stop_gradient = False
    rows = last.contiguous()
    assert rows.is_contiguous() and not last.is_contiguous()
    np.testing.assert_array_equal(rows.numpy(), plain.numpy())
    (rows * plain).sum().backward()
    np.testing.assert_array_equal(last.grad.numpy(), plain.numpy())
    with paddle.no_grad():
        rows.zero_()
    np.testing.assert_array_equal(last.numpy(), plain.numpy())


def test_parts_of_images_are_computed_with_channels_last():
    plain, last = _both([4, 6, 5, 4])
    parts = [
        last[:, :4],
        last[:, 1:],
        last[::2],
        last[1:3, :, 1:, :],
        paddle._C.ops.split(last, [3, 3], 1)[1],
        paddle._C.ops.split(last, [2, 4], 1)[0],
    ]
    wanted = [plain[:, :4], plain[:, 1:], plain[::2], plain[1:3, :, 1:, :], plain[:, 3:], plain[:, :2]]
    for part, want in zip(parts, wanted, strict=True):
        for y, z in ((part * 2 + part, want * 2 + want), (paddle.tanh(part), paddle.tanh(want))):
            np.testing.assert_array_equal(y.numpy(), z.numpy())
            assert _lies_last(y) and z.is_contiguous()
    gated = nn.functional.glu(last, 1)
    assert _lies_last(gated)
    np.testing.assert_array_equal(gated.numpy(), nn.functional.glu(plain, 1).numpy())
    # Of what is joined, gradients come in parts.
    a, b = (nn.functional.relu(t) for t in (last, last))
    a.stop_gradient = b.stop_gradient = False
    ga, gb = paddle.grad((paddle.concat([a * 2, b], 1) ** 2).sum(), [a, b])
    assert _lies_last(ga) and _lies_last(gb + 0)
    np.testing.assert_allclose(ga.numpy(), 8 * a.numpy(), rtol=1e-6)
    # Rows of columns, and one channel of planes, are no images.
    assert (plain[:, :, ::2] * 2).is_contiguous() and (plain[:, :1, :, ::2] * 2).is_contiguous()
    assert (paddle.ones([3, 8]).T[:, None, ::2] * 2).is_contiguous()


@pytest.mark.parametrize("channels,size,r", [(12, (3, 5), 2), (18, (4, 2), 3), (4, (3, 3), 2), (64, (8, 6), 4)])
def test_shuffled_pixels_lie_as_their_image_does(channels, size, r):
    shape = [2, channels, *size]
    (plain, last), f = _both(shape), nn.functional
    found = []
    for x in (plain, last):
        x.stop_gradient = False
        wide = f.pixel_shuffle(x, r)
        deep = f.pixel_unshuffle(wide, r)
        weight = paddle.to_tensor(_random(*wide.shape, seed=1))
        (g,) = paddle.grad((wide * weight).sum(), [x])
        found.append([t.numpy() for t in (wide, deep, g)])
        if channels > r * r:  # else one channel is left, which has no order
            assert _lies_last(wide) == _lies_last(deep) == (x is last)
    for ours, theirs in zip(*found):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(found[1][1], plain.numpy())
    n, (h, w), c = 2, size, channels // r**2
    want = plain.numpy().reshape(n, c, r, r, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c, h * r, w * r)
    np.testing.assert_array_equal(found[1][0], want)


@pytest.mark.parametrize(
    "shape", [[2, 3, 5, 4], [1, 33, 7, 9], [3, 70, 13, 10], [2, 5, 1, 257], [2, 2, 300], [2, 3, 2, 5, 4]], ids=str
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_dropout_drops_the_same_of_an_image_however_it_lies(shape, dtype):
    found = []
    for x in _both(shape):
        x = x.astype(dtype)
        x.stop_gradient = False
        for p in (0.3, 1.0):
            paddle.seed(5)
            y, mask = paddle._C.ops.dropout(x, p)
            (g,) = paddle.grad([y], [x], [paddle.ones(shape, dtype)])
            # What is drawn next does not depend on it either.
            found.append([t.astype("float64").numpy() for t in (y, mask, g, paddle.rand([3]))])
            if not x.is_contiguous():
                assert _lies_last(y) and _lies_last(mask) and _lies_last(g)
    for plain, last in zip(found[:2], found[2:]):
        for ours, theirs in zip(plain, last):
            np.testing.assert_array_equal(ours, theirs)
    y, mask, g, _ = found[0]
    assert 0.4 < mask.mean() < 0.95 and not y[mask == 0].any()
    np.testing.assert_allclose(y, mask * _both(shape)[0].astype(dtype).astype("float64").numpy() / 0.7, rtol=1e-2)
    np.testing.assert_allclose(g, mask / 0.7, rtol=1e-2)
    # Without training.
    for mode, factor in (("upscale_in_train", 1.0), ("downscale_in_infer", 0.7)):
        y, mask = paddle._C.ops.dropout(_both(shape)[1], 0.3, False, mode)
        np.testing.assert_allclose(y.numpy(), _both(shape)[0].numpy() * np.float32(factor), rtol=1e-6)
        assert mask.numpy().all() and _lies_last(y)


@pytest.mark.parametrize("shape", [[2, 3, 5], [2, 3, 5, 4], [2, 19, 5, 4], [2, 3, 2, 5, 4]], ids=str)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_images_lies_as_they_do(shape, axis, name):
    plain, last = _both(shape)
    weight = paddle.to_tensor(_random(*shape, seed=1))
    found = []
    for x in (plain, last):
        x.stop_gradient = False
        y = getattr(nn.functional, name)(x, axis)
        (g,) = paddle.grad((y * weight).sum(), [x])
        assert _lies_last(y) == (x is last)
        found.append((y.numpy(), g.numpy()))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-4, atol=1e-6)
    powers = np.exp(plain.numpy().astype("float64"))
    want = powers / powers.sum(axis, keepdims=True)
    np.testing.assert_allclose(found[1][0], want if name == "softmax" else np.log(want), rtol=1e-5, atol=1e-6)
    inplace = _both(shape)[1]
    if name == "softmax":
        paddle._C.ops.softmax_(inplace, axis)
        np.testing.assert_allclose(inplace.numpy(), want, rtol=1e-5, atol=1e-6)
