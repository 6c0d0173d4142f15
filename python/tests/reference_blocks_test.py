"""Ops of PaddlePaddle's files that are blocks of networks, or that few models have: against NumPy."""

import math

import numpy as np
import pytest

from python.tests.reference_program import run

_R = np.random.RandomState(9)


def _randn(*shape):
    return _R.randn(*shape).astype("float32")


def _norm(x, scale=None, bias=None, epsilon=1e-5):
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)
    y = y if scale is None else y * scale
    return y if bias is None else y + bias


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


_gelu = np.vectorize(lambda v: v * 0.5 * (1 + math.erf(v / math.sqrt(2))))


def _one(kind, inputs, outputs=("Out",), attributes=None, **options):
    return run(kind, inputs, outputs, level=0, attributes=attributes, levels=options.pop("levels", {}), **options)[0]


# Blocks of transformers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pre", [True, False])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("bias", [True, False])
def test_fused_feedforward(pre, activation, bias):
    x, w1, w2 = _randn(2, 5, 8), _randn(8, 12), _randn(12, 8)
    inputs = {"X": x, "Linear1Weight": w1, "Linear2Weight": w2}
    b1, b2 = (_randn(12), _randn(8)) if bias else (0, 0)
    scale, shift = _randn(8), _randn(8)
    inputs.update({"Linear1Bias": b1, "Linear2Bias": b2} if bias else {})
    inputs.update({"Ln1Scale": scale, "Ln1Bias": shift} if pre else {"Ln2Scale": scale, "Ln2Bias": shift})
    attributes = {"pre_layer_norm": pre, "ln1_epsilon": 1e-5, "ln2_epsilon": 1e-5, "act_method": activation,
                  "dropout1_rate": 0.5, "dropout2_rate": 0.25, "is_test": True, "dropout1_implementation": "upscale_in_train",
                  "dropout2_implementation": "downgrade_in_infer"}  # fmt: skip
    (found,) = _one("fused_feedforward", inputs, attributes=attributes, weights=[k for k in inputs if k != "X"])
    act = _gelu if activation == "gelu" else lambda v: np.maximum(v, 0)
    inner = act((_norm(x, scale, shift) if pre else x) @ w1 + b1)
    y = x + (inner @ w2 + b2) * 0.75
    np.testing.assert_allclose(found, y if pre else _norm(y, scale, shift), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("pre", [True, False])
@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize("mask", [True, False])
def test_fused_attention(pre, turned, mask):
    b, s, width, heads, each = 2, 5, 8, 2, 4
    x, out, weight = _randn(b, s, width), _randn(width, width), _randn(3, heads, each, width)
    of_qkv, of_out, scale, shift = _randn(3, heads, each), _randn(width), _randn(width), _randn(width)
    inputs = {"X": x, "QKVW": weight, "QKVBias": of_qkv, "OutLinearW": out, "OutLinearBias": of_out}
    if turned:
        inputs.update(QKVW=weight.reshape(-1, width).T.copy(), QKVBias=of_qkv.reshape(-1))
    inputs.update({"LnScale": scale, "LnBias": shift} if pre else {"Ln2Scale": scale, "Ln2Bias": shift})
    attributes = {
        "pre_layer_norm": pre,
        "is_test": True,
        "transpose_qkv_wb": turned,
        "num_heads": heads if turned else -1,
    }
    scores = 0.0
    if mask:
        inputs["SrcMask"] = scores = np.where(_R.rand(b, 1, s, s) < 0.3, -1e9, 0).astype("float32")
    weights = [k for k in inputs if k not in ("X", "SrcMask")]
    (found,) = _one("fused_attention", inputs, ("Y",), attributes=attributes, weights=weights)
    given = _norm(x, scale, shift) if pre else x
    q, k, v = (np.einsum("bsd,hed->bhse", given, weight[i]) + of_qkv[i][None, :, None] for i in range(3))
    rows = _softmax(np.einsum("bhse,bhte->bhst", q, k) / 2 + scores) @ v
    y = x + rows.transpose(0, 2, 1, 3).reshape(b, s, width) @ out + of_out
    np.testing.assert_allclose(found, y if pre else _norm(y, scale, shift), rtol=1e-4, atol=1e-4)


def test_fused_bias_dropout_residual_layer_norm():
    x, residual, bias, scale, shift = _randn(2, 3, 6), _randn(2, 3, 6), _randn(6), _randn(6), _randn(6)
    inputs = {"X": x, "Residual": residual, "Bias": bias, "LnScale": scale, "LnBias": shift}
    attributes = {
        "is_test": True,
        "dropout_rate": 0.5,
        "dropout_implementation": "upscale_in_train",
        "ln_epsilon": 1e-3,
    }
    (found,) = _one(
        "fused_bias_dropout_residual_layer_norm",
        inputs,
        ("Y",),
        attributes=attributes,
        weights=["Bias", "LnScale", "LnBias"],
    )
    np.testing.assert_allclose(found, _norm(residual + x + bias, scale, shift, 1e-3), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="it must be a test"):
        _one("fused_bias_dropout_residual_layer_norm", inputs, ("Y",), attributes={"is_test": False})


def test_fused_linear_layers():
    x, ws, bs = _randn(3, 4), [_randn(4, 5), _randn(5, 6)], [_randn(5), _randn(6)]
    (found,) = _one("fusion_repeated_fc_relu", {"X": x, "W": ws, "Bias": bs})
    want = x
    for w, b in zip(ws, bs, strict=True):
        want = np.maximum(want @ w + b, 0)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
    rows, lengths, beside, w, b = _randn(5, 2), np.array([3, 2]), _randn(2, 3), _randn(5, 4), _randn(1, 4)
    inputs = {"X": [rows, beside], "FCWeight": w, "FCBias": b}
    found, of = run("fusion_seqexpand_concat_fc", inputs, attributes={"fc_activation": "relu"}, lengths=(lengths, np.array([1, 1])),
                    levels={"X": 1}, weights=("FCWeight", "FCBias"))  # fmt: skip
    want = np.maximum(np.concatenate([rows, np.repeat(beside, lengths, 0)], 1) @ w + b, 0)
    np.testing.assert_allclose(found[0], want, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(of, lengths)


# Images ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("size", [(8, 8), (7, 9)])
def test_spp(kind, size):
    x = _randn(2, 3, *size)
    (found,) = _one("spp", {"X": x}, attributes={"pyramid_height": 3, "pooling_type": kind})
    want = []
    for bins in (1, 2, 4):
        cells = np.zeros([2, 3, bins, bins])
        k = [-(-n // bins) for n in size]
        p = [(k[i] * bins - size[i] + 1) // 2 for i in (0, 1)]
        for i, j in np.ndindex(bins, bins):
            part = x[
                :, :, max(i * k[0] - p[0], 0) : i * k[0] - p[0] + k[0], max(j * k[1] - p[1], 0) : j * k[1] - p[1] + k[1]
            ]
            cells[:, :, i, j] = part.max((2, 3)) if kind == "max" else part.mean((2, 3))
        want.append(cells.reshape(2, -1))
    np.testing.assert_allclose(found, np.concatenate(want, 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("pad", "kernel", "far", "stride", "step"), [(2, 1, 2, 1, 1), (4, 1, 4, 1, 2), (3, 3, 2, 2, 1), (4, 1, 2, 2, 2)]
)
def test_correlation(pad, kernel, far, stride, step):
    a, b = _randn(2, 3, 7, 8), _randn(2, 3, 7, 8)
    attributes = {"pad_size": pad, "kernel_size": kernel, "max_displacement": far, "stride1": stride, "stride2": step}
    (found,) = _one("correlation", {"Input1": a, "Input2": b}, ("Output",), attributes=attributes)
    a, b = (np.pad(v, ((0, 0), (0, 0), (pad, pad), (pad, pad))) for v in (a, b))
    edge, half = far + (kernel - 1) // 2, (kernel - 1) // 2
    h, w = (-(-(n + 2 * pad - 2 * edge) // stride) for n in (7, 8))
    moves = [k * step for k in range(-(far // step), far // step + 1)]
    want = np.zeros([2, len(moves) ** 2, h, w])
    for c, (dy, dx) in enumerate((dy, dx) for dy in moves for dx in moves):
        for i, j in np.ndindex(h, w):
            y, x = i * stride + edge, j * stride + edge
            part = lambda v, y, x: v[:, :, y - half : y + half + 1, x - half : x + half + 1]
            want[:, c, i, j] = (part(a, y, x) * part(b, y + dy, x + dx)).mean((1, 2, 3))
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize("full", [True, False])
def test_fused_multi_transformer(before, turned, full):
    """Two layers, with and without biases and a mask."""
    b, s, heads, each, hidden = 2, 4, 2, 3, 10
    width = heads * each
    x, layers = _randn(b, s, width), []
    inputs = {"X": x, **({"SrcMask": _randn(b, 1, s, s)} if full else {})}
    for _ in range(2):
        qkv = _randn(3, heads, each, width) if turned else _randn(width, 3, heads, each)
        layer = {"LnScale": _randn(width), "LnBias": _randn(width), "QKVW": qkv, "OutLinearW": _randn(width, width),
                 "FFNLnScale": _randn(width), "FFNLnBias": _randn(width), "FFN1Weight": _randn(width, hidden),
                 "FFN2Weight": _randn(hidden, width)}  # fmt: skip
        if full:
            layer |= {"QKVBias": _randn(3, heads, each), "OutLinearBias": _randn(width), "FFN1Bias": _randn(hidden),
                      "FFN2Bias": _randn(width)}  # fmt: skip
        layers.append(layer)
    inputs |= {slot: [layer[slot] for layer in layers] for slot in layers[0]}
    attributes = {"pre_layer_norm": before, "epsilon": 1e-5, "dropout_rate": 0.25, "is_test": True,
                  "dropout_implementation": "downgrade_in_infer", "act_method": "gelu", "trans_qkvw": turned}  # fmt: skip
    (found,) = _one("fused_multi_transformer", inputs, attributes=attributes)
    for layer in layers:
        norm = lambda v, part, layer=layer: _norm(v, layer[f"{part}Scale"], layer[f"{part}Bias"])
        bias = lambda slot, layer=layer: layer.get(slot, np.float32(0))
        weight = layer["QKVW"].reshape(-1, width).T if turned else layer["QKVW"].reshape(width, -1)
        rows = (norm(x, "Ln") if before else x) @ weight + bias("QKVBias").ravel()
        q, k, v = rows.reshape(b, s, 3, heads, each).transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(each) + inputs.get("SrcMask", 0)
        joined = (_softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(b, s, width)
        x = x + (joined @ layer["OutLinearW"] + bias("OutLinearBias")) * 0.75
        x = x if before else norm(x, "Ln")
        inner = _gelu((norm(x, "FFNLn") if before else x) @ layer["FFN1Weight"] + bias("FFN1Bias"))
        x = x + (inner @ layer["FFN2Weight"] + bias("FFN2Bias")) * 0.75
        x = x if before else norm(x, "FFNLn")
    np.testing.assert_allclose(found, x, rtol=2e-4, atol=2e-4)


def test_fused_multi_transformer_of_a_cache_is_refused():
    layer = {"LnScale": _randn(4), "LnBias": _randn(4), "QKVW": _randn(3, 2, 2, 4), "OutLinearW": _randn(4, 4),
             "FFNLnScale": _randn(4), "FFNLnBias": _randn(4), "FFN1Weight": _randn(4, 8), "FFN2Weight": _randn(8, 4)}  # fmt: skip
    inputs = {"X": _randn(1, 3, 4), "CacheKV": _randn(2, 1, 2, 8, 2), **layer}
    with pytest.raises(Exception, match="a cache of keys and values"):
        _one("fused_multi_transformer", inputs, attributes={"is_test": True})


@pytest.mark.parametrize("axis", [1, 2, 3])
@pytest.mark.parametrize("indexes", [[0], [2, 1]])
def test_similarity_focus(axis, indexes):
    x = _randn(2, 3, 4, 5)
    (found,) = _one("similarity_focus", {"X": x}, attributes={"axis": axis, "indexes": indexes})
    want = np.zeros_like(x)
    for n in range(2):
        for index in indexes:
            channel = np.take(x[n], index, axis - 1)
            rows, columns = set(), set()
            for at in np.argsort(-channel, axis=None):
                i, j = np.unravel_index(at, channel.shape)
                if i not in rows and j not in columns:
                    rows.add(i)
                    columns.add(j)
                    place = [i, j]
                    place.insert(axis - 1, slice(None))
                    want[(n, *place)] = 1
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("offset", [True, False])
def test_bilateral_slice(offset):
    x, guide = _randn(2, 3, 6, 7), _R.rand(2, 6, 7).astype("float32")
    each = 4 if offset else 3
    grid = _randn(2, 2 * each, 5, 3, 4)
    (found,) = _one("bilateral_slice", {"X": x, "Grid": grid, "Guide": guide}, attributes={"has_offset": offset})
    depth, high, wide = grid.shape[2:]
    want = np.zeros([2, 2, 6, 7])
    for n, o, i, j in np.ndindex(want.shape):
        gx, gy, gz = (j + 0.5) * wide / 7, (i + 0.5) * high / 6, guide[n, i, j] * depth
        for c in range(each):
            factor = 0.0
            for dx, dy, dz in np.ndindex(2, 2, 2):
                u, v, t = math.floor(gx - 0.5) + dx, math.floor(gy - 0.5) + dy, math.floor(gz - 0.5) + dz
                near = max(1 - abs(u + 0.5 - gx), 0) * max(1 - abs(v + 0.5 - gy), 0)
                near *= max(1 - math.sqrt((t + 0.5 - gz) ** 2 + 1e-8), 0)
                u, v, t = (min(max(p, 0), m - 1) for p, m in ((u, wide), (v, high), (t, depth)))
                factor += grid[n, o * each + c, t, v, u] * near
            want[n, o, i, j] += factor * (x[n, c, i, j] if c < 3 else 1)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("longest", [0, 1, 3])
def test_warprnnt(longest):
    """Of samples of all lengths, with probabilities of 0; labels beyond the lengths are not read."""
    n, steps, classes, blank = 5, 4, 6, 2
    x = _randn(n, steps, longest + 1, classes)
    x = x - np.log(np.exp(x).sum(-1, keepdims=True))
    x[0, 1, 0, 0] = -np.inf
    labels = _R.choice([0, 1, 3, 4, 5], (n, max(longest, 1))).astype("int32")[:, : max(longest, 1)]
    lengths, counts = _R.randint(1, steps + 1, n).astype("int32"), _R.randint(0, longest + 1, n).astype("int32")
    labels[np.arange(labels.shape[1]) >= counts[:, None]] = -1
    inputs = {"input": x, "label": labels, "input_lengths": lengths, "label_lengths": counts}
    (found,) = _one("warprnnt", inputs, ("loss",), attributes={"blank": blank, "fastemit_lambda": 0.0})
    for i in range(n):
        alpha = np.full([lengths[i], counts[i] + 1], -np.inf)
        for t, u in np.ndindex(alpha.shape):
            before = [0.0] if t == u == 0 else []
            before += [alpha[t - 1, u] + x[i, t - 1, u, blank]] if t else []
            before += [alpha[t, u - 1] + x[i, t, u - 1, labels[i, u - 1]]] if u else []
            alpha[t, u] = np.logaddexp.reduce(before)
        want = -(alpha[-1, -1] + x[i, lengths[i] - 1, counts[i], blank])
        np.testing.assert_allclose(found[i], want, rtol=1e-4, atol=1e-4)


def test_random_crop():
    """Each image is cut at a place of its own, and all places come up."""
    x = np.arange(60 * 2 * 4 * 5, dtype="float32").reshape(60, 2, 4, 5)
    (found,) = _one("random_crop", {"X": x}, attributes={"shape": [2, 3, 2], "startup_seed": 0})
    assert found.shape == (60, 2, 3, 2)
    places = set()
    for image, part in zip(x, found):
        top, left = np.unravel_index(int(part[0, 0, 0] - image[0, 0, 0]), (4, 5))
        np.testing.assert_array_equal(part, image[:, top : top + 3, left : left + 2])
        places.add((top, left))
    assert places == {(i, j) for i in range(2) for j in range(4)}


def test_unpool3d():
    x = _randn(1, 2, 2, 2, 2)
    places = np.stack([_R.permutation(64)[:8] for _ in range(2)]).reshape(1, 2, 2, 2, 2).astype("int32")
    (found,) = _one(
        "unpool3d", {"X": x, "Indices": places}, attributes={"ksize": [2] * 3, "strides": [2] * 3, "paddings": [0] * 3}
    )
    want = np.zeros([1, 2, 64], "float32")
    for c in range(2):
        want[0, c, places[0, c].ravel()] = x[0, c].ravel()
    np.testing.assert_array_equal(found, want.reshape(1, 2, 4, 4, 4))


@pytest.mark.parametrize("activation", ["", "leaky_relu", "elu"])
def test_inplace_abn(activation):
    x, scale, bias, mean, variance = _randn(2, 3, 4, 4), _randn(3), _randn(3), _randn(3), abs(_randn(3)) + 0.5
    inputs = {"X": x, "Scale": scale, "Bias": bias, "Mean": mean, "Variance": variance}
    (found,) = _one("inplace_abn", inputs, ("Y",), attributes={"is_test": True, "activation": activation, "alpha": 0.2},
                    weights=[k for k in inputs if k != "X"])  # fmt: skip
    form = lambda v: v[:, None, None]
    y = (x - form(mean)) / np.sqrt(form(variance) + 1e-5) * form(scale) + form(bias)
    low = {"": y, "leaky_relu": 0.2 * y, "elu": 0.2 * (np.exp(np.minimum(y, 0)) - 1)}[activation]
    np.testing.assert_allclose(found, np.where(y > 0, y, low), rtol=1e-4, atol=1e-5)


# Others ------------------------------------------------------------------------------------------------------------------------


def test_conv_shift():
    x, y = _randn(3, 7), _randn(3, 3)
    (found,) = _one("conv_shift", {"X": x, "Y": y}, weights=["Y"])
    want = [[sum(x[b, (i + j - 1) % 7] * y[b, j] for j in range(3)) for i in range(7)] for b in range(3)]
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("moves", [True, False])
def test_center_loss(moves):
    x, label, centers, rate = _randn(5, 4), np.array([[1], [0], [1], [1], [2]]), _randn(3, 4), np.float32([0.5])
    inputs = {"X": x, "Label": label, "Centers": centers, "CenterUpdateRate": rate}
    new, away, loss = _one("center_loss", inputs, ("CentersOut", "SampleCenterDiff", "Loss"),
                           attributes={"cluster_num": 3, "need_update": moves})  # fmt: skip
    want = x - centers[label[:, 0]]
    np.testing.assert_allclose(away, want, rtol=1e-6)
    np.testing.assert_allclose(loss, 0.5 * (want**2).sum(1, keepdims=True), rtol=1e-5)
    for c in range(3):
        mine = want[label[:, 0] == c]
        to = centers[c] + moves * 0.5 * mine.sum(0) / (1 + len(mine))
        np.testing.assert_allclose(new[c], to, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["ADD", "MUL"])
@pytest.mark.parametrize("reduce", ["SUM", "MEAN", "MAX", "MIN"])
def test_messages(kind, reduce):
    x, y, of, to = _randn(4, 3), _randn(6, 3), np.array([0, 1, 2, 3, 0, 1]), np.array([1, 1, 0, 2, 1, 0])
    combine = np.add if kind == "ADD" else np.multiply
    inputs = {"X": x, "Y": y, "Src_index": of, "Dst_index": to}
    (found,) = _one("graph_send_ue_recv", inputs, attributes={"message_op": kind, "reduce_op": reduce})
    sent = combine(x[of], y)
    each = {"SUM": np.sum, "MEAN": np.mean, "MAX": np.max, "MIN": np.min}[reduce]
    want = [each(sent[to == n], axis=0) if (to == n).any() else np.zeros(3) for n in range(4)]
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)
    (found,) = _one(
        "graph_send_uv",
        {"x": x, "y": x * 2, "src_index": of, "dst_index": to},
        ("out",),
        attributes={"message_op": kind},
    )
    np.testing.assert_allclose(found, combine(x[of], 2 * x[to]), rtol=1e-5)


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.1), (0.5, 0.1)])
def test_proximal_steps(l1, l2):
    p, g, m, lr = _randn(6), _randn(6), abs(_randn(6)), np.float32([0.3])
    drawn = lambda v: (np.sign(v) * np.maximum(abs(v) - 0.3 * l1, 0) if l1 else v) / (1 + 0.3 * l2)
    attributes = {"l1": l1, "l2": l2}
    (found,) = _one("proximal_gd", {"Param": p, "Grad": g, "LearningRate": lr}, ("ParamOut",), attributes=attributes)
    np.testing.assert_allclose(found, drawn(p - 0.3 * g), rtol=1e-5, atol=1e-6)
    inputs = {"Param": p, "Moment": m, "Grad": g, "LearningRate": lr}
    found, moment = _one("proximal_adagrad", inputs, ("ParamOut", "MomentOut"), attributes=attributes)
    np.testing.assert_allclose(moment, m + g * g, rtol=1e-6)
    np.testing.assert_allclose(found, drawn(p - 0.3 * g / np.sqrt(m + g * g)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("ends", [(0, 0), (-1, 2)])
def test_histogram(ends):
    x = _randn(50)
    (found,) = _one("histogram", {"X": x}, {"Out": "int64"}, attributes={"bins": 7, "min": ends[0], "max": ends[1]})
    np.testing.assert_array_equal(found, np.histogram(x, 7, None if ends == (0, 0) else ends)[0])
    (found,) = _one("histogram", {"X": x * 0 + 3}, {"Out": "int64"}, attributes={"bins": 5})
    np.testing.assert_array_equal(found, np.histogram(np.full(50, 3.0), 5, (2, 4))[0])


def test_rows_of_sequences():
    table, ids, lengths = _randn(6, 3), _R.randint(0, 6, [5, 2]), np.array([2, 0, 3])
    found, _ = run("fused_embedding_seq_pool", {"W": table, "Ids": ids}, level=0, attributes={"combiner": "sum", "padding_idx": -1},
                   lengths=(lengths,), levels={"Ids": 1}, weights=("W",))  # fmt: skip
    rows = np.split(table[ids].reshape(5, 6), np.cumsum(lengths)[:-1])
    np.testing.assert_allclose(found[0], [r.sum(0) for r in rows], rtol=1e-5, atol=1e-6)


def test_random_parts_of_one():
    alpha = abs(_randn(4, 3)) + 0.5
    (found,) = _one("dirichlet", {"Alpha": alpha})
    assert (found > 0).all()
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-5)


def test_fill():
    (found,) = _one("fill", {}, attributes={"value": [1.0, 2.5, -3.0, 4.0], "shape": [2, 2], "dtype": 5})
    np.testing.assert_array_equal(found, np.array([[1, 2.5], [-3, 4]], "float32"))
