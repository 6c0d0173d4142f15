"""nn.functional against NumPy."""

import math

import numpy as np
import pytest
from scipy import signal, special

import proa
from proa.nn import functional as F
from python.tests.checked_values import array, close, tensor

# Convolutions ----------------------------------------------------------------------


def conv2d_reference(x, w, b, stride, pads, dilation, groups):
    (top, bottom), (left, right) = pads
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    n, c, h, width = x.shape
    o, cg, kh, kw = w.shape
    out_h = (h - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    out_w = (width - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    out = np.zeros((n, o, out_h, out_w), "float64")
    for g in range(groups):
        xs, ws = x[:, g * cg : (g + 1) * cg], w[g * o // groups : (g + 1) * o // groups]
        for i in range(kh):
            for j in range(kw):
                y0, x0 = i * dilation[0], j * dilation[1]
                part = xs[
                    :,
                    :,
                    y0 : y0 + (out_h - 1) * stride[0] + 1 : stride[0],
                    x0 : x0 + (out_w - 1) * stride[1] + 1 : stride[1],
                ]
                out[:, g * o // groups : (g + 1) * o // groups] += np.einsum("nchw,oc->nohw", part, ws[:, :, i, j])
    return out if b is None else out + b[:, None, None]


@pytest.mark.parametrize(
    "padding, pads",
    [
        (1, ((1, 1), (1, 1))),
        ([1, 2], ((1, 1), (2, 2))),
        ([1, 0, 2, 1], ((1, 0), (2, 1))),
        ([[0, 0], [0, 0], [1, 0], [2, 1]], ((1, 0), (2, 1))),
        ("VALID", ((0, 0), (0, 0))),
        ("same", ((0, 1), (1, 1))),
    ],
)
def test_conv2d_padding(padding, pads):
    x, w, b = array(2, 4, 6, 7), array(6, 2, 3, 3), array(6)
    out = F.conv2d(tensor(x), tensor(w), tensor(b), stride=2, padding=padding, groups=2)
    expected = conv2d_reference(x, w, b, (2, 2), pads, (1, 1), 2)
    close(out, expected, 1e-4)
    moved = tensor(np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
    if isinstance(padding, list) and isinstance(padding[0], list):
        padding = [padding[0], *padding[2:], padding[1]]
    out = F.conv2d(moved, tensor(w), tensor(b), 2, padding, 1, 2, "NHWC")
    close(out, expected.transpose(0, 2, 3, 1), 1e-4)


@pytest.mark.parametrize("padding", [1.5, [1, 2, 3], "FULL", [[1, 1], [0, 0], [0, 0], [0, 0]], None])
def test_conv2d_bad_padding(padding):
    with pytest.raises((ValueError, TypeError), match="conv2d"):
        F.conv2d(tensor(array(1, 2, 4, 4)), tensor(array(2, 2, 3, 3)), padding=padding)


def test_conv1d():
    x, w, b = array(2, 3, 9), array(4, 3, 3), array(4)
    expected = conv2d_reference(x[:, :, None], w[:, :, None], b, (1, 2), ((0, 0), (2, 1)), (1, 2), 1)[:, :, 0]
    close(F.conv1d(tensor(x), tensor(w), tensor(b), 2, [2, 1], 2), expected, 1e-4)
    out = F.conv1d(
        tensor(np.ascontiguousarray(x.swapaxes(1, 2))), tensor(w), tensor(b), 2, [2, 1], 2, data_format="NLC"
    )
    close(out, expected.swapaxes(1, 2), 1e-4)


def conv3d_reference(x, w, stride, dilation):
    out = None
    for k in range(w.shape[2]):
        depth = (x.shape[2] - dilation * (w.shape[2] - 1) - 1) // stride + 1
        frames = [
            conv2d_reference(
                x[:, :, k * dilation + d * stride], w[:, :, k], None, (stride,) * 2, ((0, 0),) * 2, (dilation,) * 2, 1
            )
            for d in range(depth)
        ]
        part = np.stack(frames, 2)
        out = part if out is None else out + part
    return out


def test_conv3d():
    x, w, b = array(2, 3, 6, 5, 5), array(4, 3, 2, 3, 2), array(4)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1), (1, 1)))
    expected = conv3d_reference(padded, w, 2, 1) + b[:, None, None, None]
    close(F.conv3d(tensor(x), tensor(w), tensor(b), 2, 1), expected, 1e-4)
    last = tensor(np.ascontiguousarray(x.transpose(0, 2, 3, 4, 1)))
    close(F.conv3d(last, tensor(w), tensor(b), 2, 1, data_format="NDHWC"), expected.transpose(0, 2, 3, 4, 1), 1e-4)


@pytest.mark.parametrize(
    "n, conv, transpose",
    [(1, "conv1d", "conv1d_transpose"), (2, "conv2d", "conv2d_transpose"), (3, "conv3d", "conv3d_transpose")],
)
def test_transposes_are_gradients(n, conv, transpose):
    size, kernel = (5, 4, 4)[:n], (3, 2, 2)[:n]
    x, w = tensor(array(2, 3, *size), True), tensor(array(4, 3, *kernel))
    out = getattr(F, conv)(x, w, stride=2, padding=1)
    g = array(*out.shape)
    (out * tensor(g)).sum().backward()
    extra = [s - ((o - 1) * 2 - 2 + k) for s, o, k in zip(size, out.shape[2:], kernel)]
    back = getattr(F, transpose)(tensor(g), w, stride=2, padding=1, output_padding=extra)
    close(back, x.grad.numpy(), 1e-4)
    back = getattr(F, transpose)(tensor(g), w, stride=2, padding=1, output_size=list(size))
    close(back, x.grad.numpy(), 1e-4)
    with pytest.raises(ValueError):
        getattr(F, transpose)(tensor(g), w, stride=2, padding=1, output_size=[s + 9 for s in size])


# Pools -----------------------------------------------------------------------------


def windows(x, kernel, stride):
    view = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=tuple(range(2, x.ndim)))
    return view[(slice(None), slice(None), *(slice(None, None, s) for s in stride))]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_pools(n):
    x = array(2, 3, *(8, 6, 7)[:n])
    view = windows(x, (3, 2, 2)[:n], (2, 2, 1)[:n])
    axes = tuple(range(-n, 0))
    arguments = dict(kernel_size=[3, 2, 2][:n], stride=[2, 2, 1][:n])
    close(getattr(F, f"max_pool{n}d")(tensor(x), **arguments), view.max(axes))
    close(getattr(F, f"avg_pool{n}d")(tensor(x), **arguments), view.mean(axes))
    layer = getattr(proa.nn, f"MaxPool{n}D")(**arguments)
    close(layer(tensor(x)), view.max(axes))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_average_pool_counts_padding_or_not(n):
    x = np.ones((1, 1, *(4,) * n), "float32")
    out = getattr(F, f"avg_pool{n}d")(tensor(x), 2, 2, 1)
    close(out, np.ones_like(out.numpy()))
    out = getattr(F, f"avg_pool{n}d")(tensor(x), 2, 2, 1, exclusive=False).numpy()
    assert out.flat[0] == pytest.approx(0.5**n)


def test_divisor_override():
    x = np.ones((1, 1, 4, 4), "float32")
    close(F.avg_pool2d(tensor(x), 2, divisor_override=8), np.full((1, 1, 2, 2), 0.5))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_adaptive_pools(n):
    size, parts = (7, 5, 6)[:n], (3, 2, 4)[:n]
    x = array(2, 2, *size)
    mean, highest = np.zeros((2, 2, *parts)), np.zeros((2, 2, *parts))
    for place in np.ndindex(*parts):
        block = x[
            (
                slice(None),
                slice(None),
                *(slice(i * s // p, -(-(i + 1) * s // p)) for i, s, p in zip(place, size, parts)),
            )
        ]
        mean[(..., *place)] = block.reshape(2, 2, -1).mean(-1)
        highest[(..., *place)] = block.reshape(2, 2, -1).max(-1)
    output = parts[0] if n == 1 else list(parts)
    close(getattr(F, f"adaptive_avg_pool{n}d")(tensor(x), output), mean)
    close(getattr(F, f"adaptive_max_pool{n}d")(tensor(x), output), highest)


def test_adaptive_pool_keeps_a_size():
    assert F.adaptive_avg_pool2d(tensor(array(1, 2, 5, 6)), [None, 2]).shape == [1, 2, 5, 2]


@pytest.mark.parametrize("n", [1, 2])
def test_unpool(n):
    x = array(2, 3, *(6, 8)[:n])
    out, places = getattr(F, f"max_pool{n}d")(tensor(x), 2, return_mask=True)
    back = getattr(F, f"max_unpool{n}d")(out, places, 2).numpy()
    assert np.array_equal(np.sort(back[back != 0]), np.sort(out.numpy().ravel()))
    assert np.array_equal(back[back != 0], x[back != 0])


# Normalizations ----------------------------------------------------------------------


@pytest.mark.parametrize("last", [False, True])
def test_batch_norm(last):
    x, w, b = array(4, 3, 5, 2), array(3), array(3)
    mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
    expected = (x - mean[:, None, None]) / np.sqrt(var + 1e-5)[:, None, None] * w[:, None, None] + b[:, None, None]
    running_mean, running_var = tensor(np.zeros(3, "float32")), tensor(np.ones(3, "float32"))
    given = tensor(np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if last else x)
    out = F.batch_norm(
        given, running_mean, running_var, tensor(w), tensor(b), True, 0.8, data_format="NHWC" if last else "NCHW"
    ).numpy()
    close(out.transpose(0, 3, 1, 2) if last else out, expected, 1e-4)
    close(running_mean, 0.2 * mean)
    close(running_var, 0.8 + 0.2 * var)
    out = F.batch_norm(tensor(x), running_mean, running_var, tensor(w), tensor(b))
    m, v = running_mean.numpy()[:, None, None], running_var.numpy()[:, None, None]
    close(out, (x - m) / np.sqrt(v + 1e-5) * w[:, None, None] + b[:, None, None], 1e-4)


def test_batch_norm_layers():
    layer = proa.nn.BatchNorm1D(3)
    x = array(6, 3)
    out = layer(tensor(x)).numpy()
    close(out.mean(0), np.zeros(3)), close(out.std(0), np.ones(3), 1e-3)
    layer.eval()
    close(layer(tensor(x)), (x - 0.1 * x.mean(0)) / np.sqrt(0.9 + 0.1 * x.var(0) + 1e-5), 1e-4)
    with pytest.raises(ValueError, match="BatchNorm2D: x must have 4 dims"):
        proa.nn.BatchNorm2D(3)(tensor(x))


def test_layer_norm():
    x, w, b = array(2, 3, 4), array(12), array(12)
    flat = x.reshape(2, 12)
    expected = (flat - flat.mean(1, keepdims=True)) / np.sqrt(flat.var(1, keepdims=True) + 1e-5) * w + b
    layer = proa.nn.LayerNorm([3, 4])
    layer.weight.set_value(w), layer.bias.set_value(b)
    close(layer(tensor(x)), expected.reshape(2, 3, 4), 1e-4)
    with pytest.raises(ValueError, match="normalized_shape"):
        F.layer_norm(tensor(x), 5)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm(groups):
    x, w, b = array(2, 6, 3, 2), array(6), array(6)
    rows = x.reshape(2, groups, -1)
    rows = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + 1e-5)
    expected = rows.reshape(x.shape) * w[:, None, None] + b[:, None, None]
    close(F.group_norm(tensor(x), groups, 1e-5, tensor(w), tensor(b)), expected, 1e-4)
    if groups == 6:
        close(F.instance_norm(tensor(x), weight=tensor(w), bias=tensor(b)), expected, 1e-4)
    moved = F.group_norm(
        tensor(np.ascontiguousarray(x.transpose(0, 2, 3, 1))), groups, 1e-5, tensor(w), tensor(b), "NHWC"
    )
    close(moved, expected.transpose(0, 2, 3, 1), 1e-4)


def test_local_response_norm():
    x = array(2, 5, 3, 2)
    mean = np.zeros_like(x)
    for c in range(5):
        mean[:, c] = (x[:, max(c - 1, 0) : c + 2] ** 2).sum(1) / 3
    close(F.local_response_norm(tensor(x), 3, 0.5, 0.75, 2.0), x / (2.0 + 0.5 * mean) ** 0.75, 1e-4)


def test_spectral_norm_layer():
    w = array(5, 3)
    layer = proa.nn.SpectralNorm([5, 3], power_iters=50)
    close(layer(tensor(w)), w / np.linalg.svd(w, compute_uv=False)[0], 1e-3)


def test_epsilon_of_spectral_norm_is_added_to_lengths():
    w = array(5, 3)
    layer = proa.nn.SpectralNorm([5, 3], power_iters=3, eps=0.5)
    u, v = layer.weight_u.numpy(), layer.weight_v.numpy()
    for _ in range(3):
        v = w.T @ u / (np.linalg.norm(w.T @ u) + 0.5)
        u = w @ v / (np.linalg.norm(w @ v) + 0.5)
    close(layer(tensor(w)), w / (u @ w @ v))


# The rest ----------------------------------------------------------------------------


def test_dropout_statistics():
    proa.seed(1)
    x = proa.ones([200, 200])
    out = F.dropout(x, 0.3).numpy()
    assert (out == 0).mean() == pytest.approx(0.3, abs=0.01)
    assert np.unique(out).tolist() == pytest.approx([0.0, 1 / 0.7])
    close(F.dropout(x, 0.3, training=False), x.numpy())
    close(F.dropout(x, 0.3, training=False, mode="downscale_in_infer"), 0.7 * x.numpy())
    assert set(np.unique(F.dropout(x, 0.3, mode="downscale_in_infer").numpy())) == {0.0, 1.0}
    assert F.dropout(x, 1.0).abs().sum().item() == 0.0
    rows = F.dropout(x, 0.5, axis=0).numpy()
    assert all(len(set(row)) == 1 for row in rows)
    maps = F.dropout2d(proa.ones([10, 10, 3, 3]), 0.5).numpy().reshape(100, 9)
    assert all(len(set(m)) == 1 for m in maps) and len(np.unique(maps)) == 2
    for bad in (-0.1, 1.1):
        with pytest.raises(ValueError, match="p must be in"):
            F.dropout(x, bad)
    with pytest.raises(TypeError):
        F.dropout(x, "half")


def test_alpha_dropout_keeps_moments():
    proa.seed(1)
    out = F.alpha_dropout(proa.randn([300, 300]), 0.3).numpy()
    assert abs(out.mean()) < 0.02 and abs(out.std() - 1) < 0.02


def test_linear_and_bilinear():
    x, w, b = array(2, 3, 4), array(4, 5), array(5)
    close(F.linear(tensor(x), tensor(w), tensor(b)), x @ w + b)
    x1, x2, w = array(3, 4), array(3, 5), array(6, 4, 5)
    layer = proa.nn.Bilinear(4, 5, 6)
    layer.weight.set_value(w)
    close(layer(tensor(x1), tensor(x2)), np.einsum("ni,oij,nj->no", x1, w, x2), 1e-4)


def test_embedding():
    w = array(6, 3)
    table = tensor(w, True)
    out = F.embedding(tensor(np.array([[1, 5], [0, 1]])), table, padding_idx=-1)
    expected = w[[[1, 5], [0, 1]]]
    expected[0, 1] = 0
    close(out, expected)
    out.sum().backward()
    assert table.grad.numpy().sum(1).tolist() == [3.0, 6.0, 0.0, 0.0, 0.0, 0.0]
    assert proa.nn.Embedding(4, 2, padding_idx=1).weight[1].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="padding_idx"):
        proa.nn.Embedding(4, 2, padding_idx=4)


@pytest.mark.parametrize(
    "mode, numpy_mode", [("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
def test_pad(mode, numpy_mode):
    x = array(2, 3, 4, 5)
    close(F.pad(tensor(x), [1, 2, 2, 1], mode), np.pad(x, ((0, 0), (0, 0), (2, 1), (1, 2)), numpy_mode))
    out = F.pad(tensor(x), [1, 1], mode, data_format="NHWC")
    close(out, np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)), numpy_mode))
    close(proa.nn.Pad1D(1, mode)(tensor(x[0])), np.pad(x[0], ((0, 0), (0, 0), (1, 1)), numpy_mode))


def test_pad_all_dims():
    x = array(2, 3)
    close(F.pad(tensor(x), [1, 0, 2, 1], value=3.0), np.pad(x, ((1, 0), (2, 1)), constant_values=3.0))
    with pytest.raises(ValueError, match="do not fit"):
        F.pad(tensor(x), [1, 0, 2])


def test_similarity_and_normalize():
    a, b = array(3, 4), array(3, 4)
    cosine = (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))
    close(F.cosine_similarity(tensor(a), tensor(b)), cosine)
    for axis, small in ((1, a[:, :1]), (0, a[:1]), (-1, a[0])):  # repeated: the norm of what is repeated counts
        whole = np.broadcast_to(small, b.shape)
        expected = (whole * b).sum(axis) / (np.linalg.norm(whole, axis=axis) * np.linalg.norm(b, axis=axis))
        close(F.cosine_similarity(tensor(small), tensor(b), axis=axis), expected)
        program = proa.jit.to_static(
            lambda x, y: F.cosine_similarity(x, y, axis=axis),
            input_spec=[proa.static.InputSpec([None] * n.ndim, "float32") for n in (small, b)],
        )
        close(program(tensor(small), tensor(b)), expected)
    close(F.cosine_similarity(tensor(a[:1]), tensor(b)), F.cosine_similarity(tensor(a[[0, 0, 0]]), tensor(b)).numpy())
    close(F.normalize(tensor(a)), a / np.linalg.norm(a, axis=1, keepdims=True))
    close(F.normalize(tensor(a), p=1, axis=0), a / np.abs(a).sum(0))
    close(proa.nn.PairwiseDistance()(tensor(a), tensor(b)), np.linalg.norm(a - b + 1e-6, axis=1))


@pytest.mark.parametrize("sizes", [[-1, 3, -1, -1], [-1, 3, 5, -1], [2, -1, 5, 6], [2, 3, 5, 6]])
def test_unfold_of_open_sizes(sizes):
    """Sizes of images that a program does not know: it said that they must be given."""
    x = array(2, 3, 5, 6)
    arguments = dict(kernel_sizes=[2, 3], strides=[1, 2], paddings=[1, 0], dilations=[2, 1])
    expected = F.unfold(tensor(x), **arguments).numpy()
    proa.enable_static()
    try:
        main = proa.static.Program()
        with proa.static.program_guard(main, proa.static.Program()):
            image = proa.static.data("image", sizes)
            image.stop_gradient = False
            columns = F.unfold(image, **arguments)
            gradient = proa.static.gradients((columns * columns).sum(), image)[0]
        found, slope = proa.static.Executor().run(main, feed={"image": x}, fetch_list=[columns, gradient])
    finally:
        proa.disable_static()
    assert np.array_equal(found, expected)
    close(slope, 2 * F.fold(tensor(expected), [5, 6], **arguments).numpy())


def test_unfold_and_fold():
    x = array(2, 3, 5, 6)
    arguments = dict(kernel_sizes=[3, 2], strides=2, paddings=[1, 0, 1, 2])
    columns = F.unfold(tensor(x), **arguments)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 2)))
    view = windows(padded, (3, 2), (2, 2))
    n, c, h, w = view.shape[:4]
    expected = view.transpose(0, 1, 4, 5, 2, 3).reshape(n, c * 6, h * w)
    close(columns, expected)
    g = array(*columns.shape)
    image = tensor(x, True)
    (F.unfold(image, **arguments) * tensor(g)).sum().backward()
    close(F.fold(tensor(g), [5, 6], **arguments), image.grad.numpy(), 1e-4)


def test_pixel_unshuffle_is_the_way_back():
    x = array(2, 3, 4, 6)
    small = F.pixel_unshuffle(tensor(x), 2)
    assert small.shape == [2, 12, 2, 3]
    close(small[:, 5], x[:, 1, 0::2, 1::2])
    close(F.pixel_shuffle(small, 2), x)
    last = F.pixel_unshuffle(tensor(np.ascontiguousarray(x.transpose(0, 2, 3, 1))), 2, "NHWC")
    close(last.transpose([0, 3, 1, 2]), small.numpy())
    with pytest.raises(ValueError, match="the image is not divisible by downscale_factor, 4"):
        F.pixel_unshuffle(tensor(x), 4)
    with pytest.raises(ValueError, match="downscale_factor must be a positive int"):
        F.pixel_unshuffle(tensor(x), 0)


def test_channel_shuffle():
    x = array(2, 6, 2, 3)
    close(F.channel_shuffle(tensor(x), 3), x[:, [0, 2, 4, 1, 3, 5]])
    close(F.channel_shuffle(tensor(x), 3, "NHWC"), x[..., [0, 1, 2]])
    close(F.channel_shuffle(F.channel_shuffle(tensor(x), 3), 2), x)
    with pytest.raises(ValueError, match="the channels are not divisible by groups, 4"):
        F.channel_shuffle(tensor(x), 4)


def test_pixel_shuffle():
    x = array(2, 8, 3, 2)
    expected = x.reshape(2, 2, 2, 2, 3, 2).transpose(0, 1, 4, 2, 5, 3).reshape(2, 2, 6, 4)
    close(F.pixel_shuffle(tensor(x), 2), expected)
    moved = F.pixel_shuffle(tensor(np.ascontiguousarray(x.transpose(0, 2, 3, 1))), 2, "NHWC")
    close(moved, expected.transpose(0, 2, 3, 1))
    with pytest.raises(ValueError, match="divisible"):
        F.pixel_shuffle(tensor(x), 3)


def test_interpolate():
    x = array(1, 2, 4, 5)
    close(F.interpolate(tensor(x), scale_factor=2), x.repeat(2, 2).repeat(2, 3))
    rows, columns = np.linspace(0, 3, 7), np.linspace(0, 4, 9)
    from scipy.interpolate import RegularGridInterpolator

    grid = np.stack(np.meshgrid(rows, columns, indexing="ij"), -1)
    expected = np.stack([RegularGridInterpolator((range(4), range(5)), plane)(grid) for plane in x[0]])[None]
    close(F.interpolate(tensor(x), [7, 9], mode="bilinear", align_corners=True), expected, 1e-4)
    even = F.interpolate(tensor(np.arange(4, dtype="float32").reshape(1, 1, 4)), [8], mode="linear", data_format="NCW")
    close(even, [[[0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3]]])
    close(F.interpolate(tensor(np.ones_like(x)), scale_factor=1.7, mode="bicubic"), np.ones((1, 2, 6, 8)))
    row = array(8)
    cubic = F.interpolate(tensor(row[None, None, None].repeat(2, 2)), [2, 16], mode="bicubic").numpy()[0, 0, 0, 9]
    near, far = lambda d: 1.25 * d**3 - 2.25 * d**2 + 1, lambda d: -0.75 * (d**3 - 5 * d**2 + 8 * d - 4)
    close(cubic, far(1.25) * row[3] + near(0.25) * row[4] + near(0.75) * row[5] + far(1.75) * row[6], 1e-4)
    close(F.interpolate(tensor(x), [2, 5], mode="area"), x.reshape(1, 2, 2, 2, 5).mean(3))
    line = x.reshape(1, 4, 10)
    close(F.interpolate(tensor(line), [5], mode="area", data_format="NCL"), line.reshape(1, 4, 5, 2).mean(3))
    with pytest.raises(ValueError, match="data_format must be NCW or NWC"):
        F.interpolate(tensor(line), [5], mode="linear", data_format="NCL")
    assert proa.nn.Upsample(scale_factor=3)(tensor(x)).shape == [1, 2, 12, 15]
    with pytest.raises(ValueError, match="either size or scale_factor"):
        F.interpolate(tensor(x))
    with pytest.raises(ValueError, match="mode"):
        F.interpolate(tensor(x), [3, 3], mode="lanczos")


def test_activations():
    x = array(3, 4)
    close(F.glu(tensor(x)), x[:, :2] * special.expit(x[:, 2:]))
    close(F.maxout(tensor(x), 2), x.reshape(3, 2, 2).max(2))
    w = np.array([0.1, 0.2, 0.3, 0.4], "float32")
    close(F.prelu(tensor(x), tensor(w)), np.where(x > 0, x, x * w))
    close(F.log_sigmoid(tensor(x)), np.log(special.expit(x)))
    hard = F.gumbel_softmax(tensor(x), hard=True).numpy()
    assert np.allclose(np.sort(hard, 1), [[0, 0, 0, 1]] * 3, atol=1e-6)
    close(F.gumbel_softmax(tensor(x)).numpy().sum(1), np.ones(3))
    close(F.softmax(tensor(x), dtype="float64"), special.softmax(x.astype("float64"), -1))
    for name in ("ReLU", "GELU", "Sigmoid", "Softplus", "Hardswish", "LeakyReLU", "ELU", "SELU", "Mish", "Softmax"):
        layer = getattr(proa.nn, name)()
        assert layer(tensor(x)).shape == [3, 4], name


def test_sequence_mask_and_smoothing():
    assert F.sequence_mask(tensor(np.array([1, 3]))).tolist() == [[1, 0, 0], [1, 1, 1]]
    assert F.sequence_mask(tensor(np.array([1.0, 3.0], "float32"))).tolist() == [[1, 0, 0], [1, 1, 1]]
    assert F.sequence_mask(tensor(np.array([1])), 2, "float32").tolist() == [[1.0, 0.0]]
    assert F.sequence_mask(tensor(np.array([0, 2])), -1).tolist() == [[0, 0], [1, 1]]
    close(F.label_smooth(tensor(np.eye(4, dtype="float32"))), np.eye(4) * 0.9 + 0.025)


@pytest.mark.parametrize(
    "loss",
    [
        F.smooth_l1_loss,
        F.log_loss,
        F.binary_cross_entropy,
        F.binary_cross_entropy_with_logits,
        F.sigmoid_focal_loss,
        F.kl_div,
    ],
)
@pytest.mark.parametrize("label", [[4], [1, 1], [4, 3], [1, 4, 1]])
def test_labels_are_not_repeated(loss, label):
    """[4] beside [4, 1] would be a loss of 16 numbers."""
    with pytest.raises(ValueError, match=rf"{loss.__name__}: label must have the shape of .*\[4, 1\]; it is "):
        loss(proa.full([4, 1], 0.5), proa.full(label, 0.5))


def test_temporal_shift():
    x = array(4, 4, 1, 1)
    out = F.temporal_shift(tensor(x), 2, 0.25).numpy().reshape(2, 2, 4)
    v = x.reshape(2, 2, 4)
    assert np.array_equal(out[:, 1, 0], v[:, 0, 0]) and not out[:, 0, 0].any()
    assert np.array_equal(out[:, 0, 1], v[:, 1, 1]) and not out[:, 1, 1].any()
    assert np.array_equal(out[:, :, 2:], v[:, :, 2:])
    for shape in ([4, 8, 0, 0], [0, 8, 2, 2], [4, 0, 2, 2]):
        assert F.temporal_shift(proa.ones(shape), 2).shape == shape
    with pytest.raises(ValueError, match="do not divide"):
        F.temporal_shift(proa.ones([3, 8, 1, 1]), 2)


def test_against_scipy_correlation():
    x, w = array(7, 8), array(3, 3)
    out = F.conv2d(tensor(x[None, None]), tensor(w[None, None]))
    close(out[0, 0], signal.correlate2d(x, w, "valid"), 1e-4)
    assert math.prod(out.shape) == 30
