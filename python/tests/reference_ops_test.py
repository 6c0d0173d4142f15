"""Ops of PaddlePaddle 1.x and 2.x that 3.x has no more, or not for this device: programs written here, results by NumPy."""

import os
import struct

import numpy as np
import pytest

import proa as paddle

CODES = {"bool": 0, "int32": 2, "int64": 3, "float32": 5}
R = np.random.default_rng(3)


def _varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def _field(number, value):
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, (bool, int)):
        return _varint(number << 3) + _varint(int(value))
    value = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _attribute(name, value):
    kinds = {bool: (6, 10), int: (0, 3), float: (1, 4), str: (2, 5)}
    lists = {int: (3, 6), float: (4, 7), str: (5, 8)}
    many = isinstance(value, list)
    kind, field = lists[type(value[0]) if value else int] if many else kinds[type(value)]
    return _field(1, name) + _field(2, kind) + b"".join(_field(field, v) for v in (value if many else [value]))


def _op(type, inputs, outputs, attributes):
    slots = lambda number, given: b"".join(
        _field(number, _field(1, slot) + b"".join(_field(2, name) for name in names)) for slot, names in given.items()
    )
    body = slots(1, inputs) + slots(2, outputs) + _field(3, type)
    return _field(4, body + b"".join(_field(4, _attribute(*item)) for item in attributes.items()))


def _var(name, array):
    tensor = _field(1, CODES[str(array.dtype)]) + b"".join(_field(2, d) for d in array.shape)
    return _field(3, _field(1, name) + _field(2, _field(1, 7) + _field(3, _field(1, tensor))))


def run(folder, type, inputs, attributes, outputs):
    """What a program of one op gives; `outputs` are slots."""
    names, feeds, declared, feed_ops = {}, [], b"", b""
    for slot, given in inputs.items():
        for array in given if isinstance(given, list) else [given]:
            name = f"in{len(feeds)}"
            names.setdefault(slot, []).append(name)
            declared += _var(name, array)
            feed_ops += _op("feed", {"X": ["feed"]}, {"Out": [name]}, {"col": len(feeds)})
            feeds.append(array)
    ops = _op(type, names, {slot: [f"out_{slot}"] for slot in outputs}, attributes)
    for i, slot in enumerate(outputs):
        ops += _op("fetch", {"X": [f"out_{slot}"]}, {"Out": ["fetch"]}, {"col": i})
    block = _field(1, 0) + _field(2, -1) + declared + feed_ops + ops
    with open(os.path.join(folder, "__model__"), "wb") as file:
        file.write(_field(1, block) + _field(4, _field(1, 1008000)))
    found = paddle.jit.load(str(folder))(*map(paddle.to_tensor, feeds))
    return [v.numpy() for v in (found if isinstance(found, (list, tuple)) else [found])]


def f(*shape):
    return R.uniform(-1, 1, shape).astype("float32")


def _normed(x, scale, bias, axis=-1):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5) * scale + bias


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _attention(x, w, b, mask):
    n, s, width = x.shape
    q, k, v = (
        (np.einsum("nsi,iko->knso", x, w) + b[:, None, None]).reshape(3, n, s, 2, width // 2).transpose(0, 1, 3, 2, 4)
    )
    return (_softmax(q @ k.transpose(0, 1, 3, 2) * 0.5 + mask) @ v).transpose(0, 2, 1, 3).reshape(n, s, width)


def _lstm_unit(x, c):
    i, f_, o, g = np.split(x, 4, 1)
    s = lambda v: 1 / (1 + np.exp(-v))
    new = c * s(f_ + 1.0) + s(i) * np.tanh(g)
    return new, s(o) * np.tanh(new)


def _iou(a, b):
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(-1)
    area = lambda v: (v[:, 2:] - v[:, :2]).prod(-1)
    return shared / (area(a)[:, None] + area(b)[None] - shared)


def _quantized(x, scale, back=False):
    steps = np.clip(x, -scale, scale) / scale * 127
    steps = np.sign(steps) * np.floor(np.abs(steps) + 0.5)
    return steps * scale / 127 if back else steps


def _moved(x, total, state, rate):
    total, state = rate * total + np.abs(x).max(), rate * state + 1
    return total / state, state, total


def _bpr(x, label):
    rows = [
        [np.log1p(np.exp(x[i, j] - x[i, k])) for j in range(x.shape[1]) if j != k] for i, k in enumerate(label[:, 0])
    ]
    return np.array(rows).mean(1, keepdims=True)


def _taught(x, label):
    log = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    return np.select(
        [label < -1, label < 0, label < 1], [log, log - x, log + log - x * label], log - x + log - x * (label - 1)
    )


def _focal(x, label, count, gamma, alpha):
    out = np.zeros_like(x)
    for i, j in np.ndindex(*x.shape):
        p = 1 / (1 + np.exp(-x[i, j]))
        if label[i, 0] == j + 1:
            out[i, j] = -alpha * (1 - p) ** gamma * np.log(p) / max(count, 1)
        elif label[i, 0] != -1:
            out[i, j] = -(1 - alpha) * p**gamma * np.log(1 - p) / max(count, 1)
    return out


x23, x34, x4 = f(2, 3), f(3, 4), f(2, 4, 4, 6)
pos = np.abs(f(3, 4)) + 0.1
w8, b8 = f(8), f(8)
ids = [R.integers(0, 5, (2, 3)), R.integers(0, 5, (2, 3))]
tables = [f(5, 8), f(5, 8)]
seq, seq2 = f(2, 3, 8), f(2, 3, 8)
qkv, qkv_bias, away = f(8, 3, 8), f(3, 8), f(2, 2, 3, 3)
low = np.abs(f(4, 2)) * 5
boxes = np.concatenate([low, low + 1 + np.abs(f(4, 2)) * 4], 1).astype("float32")
label = np.array([[1], [3], [0]])
state = f(2, 3)
gates = f(2, 12)
fc_w, fc_y, fc_b = f(4, 8), f(3, 8), f(8)
relu = lambda v: np.maximum(v, 0)
total, count = np.array([2.5], "float32"), np.array([1.9], "float32")
moved = _moved(x34 * 3, total, count, 0.8)
column, zero_one = f(5, 1), np.array([[0], [1], [1], [0], [1]], "float32")
clicks = np.array([[-2], [-1], [0.3], [1.7], [0]], "float32")
side = (2 * zero_one - 1) * column * 3
# type: (inputs, attributes, {slot: result})
OPS = {
    "skip_layernorm": ({"X": seq, "Y": seq2, "Scale": w8, "Bias": b8}, {"begin_norm_axis": 2, "epsilon": 1e-5}, {"Out": _normed(seq + seq2, w8, b8)}),
    "fused_embedding_eltwise_layernorm": ({"Ids": ids, "Embs": tables, "Bias": b8, "Scale": w8}, {"epsilon": 1e-5}, {"Out": _normed(tables[0][ids[0]] + tables[1][ids[1]], w8, b8)}),
    "multihead_matmul": ({"Input": seq, "W": qkv, "Bias": qkv_bias, "BiasQK": away}, {"alpha": 0.5, "head_number": 2}, {"Out": _attention(seq, qkv, qkv_bias, away)}),
    "fused_fc_elementwise_layernorm": ({"X": x34, "W": fc_w, "Y": fc_y, "Bias0": fc_b, "Scale": w8, "Bias1": b8}, {"activation_type": "relu", "epsilon": 1e-5}, {"Out": _normed(relu(x34 @ fc_w + fc_b) + fc_y, w8, b8)}),
    "fusion_transpose_flatten_concat": ({"X": [x4, x4]}, {"trans_axis": [0, 2, 3, 1], "flatten_axis": 1, "concat_axis": 1}, {"Out": np.concatenate([x4.transpose(0, 2, 3, 1).reshape(2, -1)] * 2, 1)}),
    "fused_matmul": ({"X": x23, "Y": x34, "ResidualData": f(2, 4) * 0}, {"matmul_alpha": 2.0, "fuse_activation": "relu"}, {"Out": relu(x23 @ x34 * 2)}),
    "fused_gemm_epilogue": ({"X": x23, "Y": x34, "Bias": f(4) * 0}, {"activation": "relu"}, {"Out": relu(x23 @ x34)}),
    "fused_bias_act": ({"x": seq, "bias": w8}, {"act_method": "relu"}, {"out": relu(seq + w8)}),
    "fused_dropout_add": ({"x": x34, "y": pos}, {"p": 0.3, "is_test": True, "mode": "upscale_in_train"}, {"out": x34 + pos}),
    "fused_elementwise_add": ({"X": x34, "Y": pos}, {"axis": -1, "fuse_activation": "tanh"}, {"Out": np.tanh(x34 + pos)}),
    "fused_softplus": ({"X": x34}, {"beta": 1.0, "fuse_activation": "sqrt"}, {"Out": np.sqrt(np.log1p(np.exp(x34)))}),
    "conv2d_fusion": ({"Input": x4, "Filter": f(3, 4, 1, 1) * 0, "Bias": f(3), "ResidualData": f(2, 3, 4, 6)}, {"activation": "relu", "exhaustive_search": True}, None),
    "squeeze": ({"X": f(1, 2, 1)}, {"axes": [0]}, None),
    "unsqueeze": ({"X": x34}, {"axes": [0, 2]}, {"Out": x34[None, :, None]}),
    "flatten": ({"X": x4}, {"axis": 2}, {"Out": x4.reshape(8, 24)}),
    "one_hot": ({"X": label}, {"depth": 4, "dtype": 5}, {"Out": np.eye(4, dtype="float32")[label[:, 0]]}),
    "pad2d": ({"X": x4}, {"paddings": [1, 0, 2, 1], "mode": "edge"}, {"Out": np.pad(x4, [(0, 0), (0, 0), (1, 0), (2, 1)], "edge")}),
    "pad_constant_like": ({"X": x34, "Y": x34[:2, :3]}, {"pad_value": 2.0}, {"Out": np.pad(x34[:2, :3], [(0, 1), (0, 1)], constant_values=2.0)}),
    "minus": ({"X": x34, "Y": pos}, {}, {"Out": x34 - pos}),
    "square_error_cost": ({"X": x34, "Y": pos}, {}, {"Out": (x34 - pos) ** 2}),
    "smooth_l1_loss": ({"X": x34, "Y": pos}, {"sigma": 1.0}, {"Out": np.where(abs(x34 - pos) < 1, 0.5 * (x34 - pos) ** 2, abs(x34 - pos) - 0.5).sum(1, keepdims=True)}),
    "cos_sim": ({"X": x34, "Y": pos}, {}, {"Out": ((x34 * pos).sum(1) / np.linalg.norm(x34, axis=1) / np.linalg.norm(pos, axis=1))[:, None]}),
    "soft_relu": ({"X": x34}, {"threshold": 40.0}, {"Out": np.log1p(np.exp(x34))}),
    "brelu": ({"X": x34}, {"t_min": -0.2, "t_max": 0.3}, {"Out": np.clip(x34, np.float32(-0.2), np.float32(0.3))}),
    "hard_sigmoid": ({"X": x34}, {"slope": 0.2, "offset": 0.5}, {"Out": np.clip(x34 * np.float32(0.2) + np.float32(0.5), 0, 1)}),
    "isfinite": ({"X": x34}, {}, {"Out": np.array([True])}),
    "has_nan": ({"X": x34}, {}, {"Out": np.array([False])}),
    "fill_zeros_like": ({"X": x34}, {}, {"Out": x34 * 0}),
    "expand_as": ({"X": x34, "target_tensor": f(6, 4)}, {}, {"Out": np.tile(x34, (2, 1))}),
    "iou_similarity": ({"X": boxes, "Y": boxes[1:]}, {"box_normalized": True}, {"Out": _iou(boxes, boxes[1:])}),
    "space_to_depth": ({"X": x4}, {"blocksize": 2}, {"Out": x4.reshape(2, 4, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 16, 2, 3)}),
    "data_norm": ({"X": x34, "BatchSize": pos[0], "BatchSum": x34[0], "BatchSquareSum": pos[1]}, {"epsilon": 1e-4}, {"Y": (x34 - x34[0] / pos[0]) * np.sqrt(pos[0] / pos[1])}),
    "lstm_unit": ({"X": gates, "C_prev": state}, {"forget_bias": 1.0}, dict(zip("CH", _lstm_unit(gates, state)))),
    "reduce_logsumexp": ({"X": x34}, {"axis": [1]}, {"Out": np.log(np.exp(x34).sum(1))}),
    "swiglu": ({"x": x34}, {}, {"out": x34[:, :2] / (1 + np.exp(-x34[:, :2])) * x34[:, 2:]}),
    "rms_norm": ({"x": x34}, {"normalized_shape": [4], "epsilon": 1e-6}, {"y": x34 / np.sqrt((x34**2).mean(1, keepdims=True) + 1e-6)}),
    "box_clip": ({"Input": boxes * 3, "ImInfo": np.array([[8, 6, 1.0]], "float32")}, {}, {"Output": np.minimum(boxes * 3, np.array([5, 7, 5, 7], "float32"))}),
    "density_prior_box": ({"Input": f(1, 2, 2, 2), "Image": f(1, 3, 16, 16)}, {"fixed_sizes": [4.0], "fixed_ratios": [1.0], "densities": [1], "variances": [0.1, 0.1, 0.2, 0.2], "offset": 0.5}, None),
    "top_k": ({"X": x34, "K": np.array([2])}, {"k": 1}, {"Out": -np.sort(-x34, 1)[:, :2]}),
    "sampling_id": ({"X": pos}, {}, None),
    **{f"fake_quantize_{d}moving_average_abs_max": ({"X": x34 * 3, "InScale": f(1), "InAccum": total, "InState": count}, {"moving_rate": 0.8, "is_test": False}, dict(zip(["Out", "OutScale", "OutState", "OutAccum"], [_quantized(x34 * 3, moved[0], d != ""), *moved]))) for d in ("", "dequantize_")},
    "moving_average_abs_max_scale": ({"X": x34 * 3, "InAccum": total, "InState": count}, {"moving_rate": 0.8, "is_test": False}, dict(zip(["Out", "OutScale", "OutState", "OutAccum"], [x34 * 3, *moved]))),
    "fake_channel_wise_quantize_abs_max": ({"X": x34}, {"bit_length": 8, "quant_axis": 1, "is_test": True}, {"Out": _quantized(x34, np.abs(x34).max(0)), "OutScale": np.abs(x34).max(0)}),
    "squared_l2_distance": ({"X": x34, "Y": x34[:1] * 2}, {}, {"sub_result": x34 - x34[:1] * 2, "Out": ((x34 - x34[:1] * 2) ** 2).sum(1, keepdims=True)}),
    "modified_huber_loss": ({"X": column * 3, "Y": zero_one}, {}, {"Out": np.select([side < -1, side < 1], [-4 * side, (1 - side) ** 2], 0 * side)}),
    "rank_loss": ({"Label": zero_one, "Left": column, "Right": column[::-1].copy()}, {}, {"Out": np.log1p(np.exp(column - column[::-1])) - zero_one * (column - column[::-1])}),
    "margin_rank_loss": ({"X1": column, "X2": column[::-1].copy(), "Label": 2 * zero_one - 1}, {"margin": 0.1}, {"Activated": (0.1 - (2 * zero_one - 1) * (column - column[::-1]) > 0).astype("float32"), "Out": relu(0.1 - (2 * zero_one - 1) * (column - column[::-1]))}),
    "bpr_loss": ({"X": x34, "Label": label}, {}, {"Y": _bpr(x34, label)}),
    "teacher_student_sigmoid_loss": ({"X": column * 3, "Label": clicks}, {}, {"Y": _taught(column * 3, clicks)}),
    "fsp": ({"X": x4, "Y": x4[:, :3] * 2}, {}, {"Out": np.einsum("nahw,nbhw->nab", x4, x4[:, :3] * 2) / 24}),
    "polygon_box_transform": ({"Input": x4}, {}, {"Output": np.where(np.arange(4)[:, None, None] % 2 == 0, 4.0 * np.arange(6), 4.0 * np.arange(4)[:, None]) - x4}),
    "sigmoid_focal_loss": ({"X": x34 * 3, "Label": np.array([[1], [0], [-1]], "int32"), "FgNum": np.array([2], "int32")}, {"gamma": 1.5, "alpha": 0.3}, {"Out": _focal(x34 * 3, np.array([[1], [0], [-1]]), 2, 1.5, 0.3)}),
    "linear_interp": ({"X": x34[None]}, {"out_w": 8, "align_corners": False, "align_mode": 1, "interp_method": "linear"}, None),
}  # fmt: skip


@pytest.mark.parametrize("name", list(OPS))
def test_op(name, tmp_path):
    inputs, attributes, wanted = OPS[name]
    found = run(tmp_path, name, inputs, attributes, list(wanted) if wanted else [_FIRST.get(name, "Out")])
    if wanted is None:
        _SHAPES[name](found[0], inputs)
        return
    for a, b in zip(found, wanted.values(), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


_FIRST = {"conv2d_fusion": "Output", "density_prior_box": "Boxes"}


def _fusion(found, inputs):
    wanted = relu(inputs["Bias"][:, None, None] + inputs["ResidualData"])
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def _density(found, inputs):
    assert found.shape == (2, 2, 1, 4)
    np.testing.assert_allclose(found[0, 1, 0], [10 / 16, 2 / 16, 14 / 16, 6 / 16], atol=1e-6)


def _sampled(found, inputs):
    assert found.shape == (3,) and found.dtype == np.int64 and (0 <= found).all() and (found < 4).all()


def _linear(found, inputs):
    x = inputs["X"]
    assert found.shape == (1, 3, 8)
    np.testing.assert_allclose(found[:, :, ::2], x, atol=1e-6)
    np.testing.assert_allclose(found[:, :, 1:7:2], (x[:, :, :3] + x[:, :, 1:]) / 2, atol=1e-6)


_SHAPES = {
    "conv2d_fusion": _fusion,
    "density_prior_box": _density,
    "linear_interp": _linear,
    "sampling_id": _sampled,
    "squeeze": lambda found, inputs: np.testing.assert_array_equal(found, inputs["X"][0]),
}


@pytest.mark.parametrize("name", ["conv2d", "conv2d_transpose"])
def test_padding_same_takes_dilations_as_one(name, tmp_path):
    """As the reference computes it, whatever is written there."""
    inputs, settings = (
        {"Input": f(1, 1, 5, 4), "Filter": f(1, 1, 3, 3)},
        {"strides": [1, 1], "padding_algorithm": "SAME"},
    )
    found, wanted = (
        run(tmp_path, name, inputs, {**settings, "dilations": dilations}, ["Output"])[0]
        for dilations in ([2, 3], [1, 1])
    )
    assert found.shape == (1, 1, 5, 4)
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
def test_resized_to_one_element(method, tmp_path):
    """There the first is taken, not the middle; cubic ones take it from half an element before."""
    x = np.array([1.0, 5.0, 9.0, 13.0], "float32").reshape(1, 1, 1, 4)
    settings = {"out_h": 1, "out_w": 1, "interp_method": method, "align_corners": False, "align_mode": 0}
    found = run(tmp_path, f"{method}_interp_v2", {"X": x}, settings, ["Out"])[0]
    cubic = -0.09375 * 1 + 0.59375 * 1 + 0.59375 * 1 - 0.09375 * 5  # taps at -2, -1, 0 and 1, the edge repeated
    np.testing.assert_allclose(found, [[[[1.0 if method == "bilinear" else cubic]]]], rtol=1e-5)


def _lu(x):
    """The factors in one matrix and the rows that were swapped, of a matrix without rows of zeros, with the largest pivots."""
    x, pivots = x.copy(), []
    for k in range(min(x.shape)):
        p = k + np.abs(x[k:, k]).argmax()
        x[[k, p]] = x[[p, k]]
        pivots.append(p + 1)
        x[k + 1 :, k] /= x[k, k]
        x[k + 1 :, k + 1 :] -= np.outer(x[k + 1 :, k], x[k, k + 1 :])
    return x, np.array(pivots, "int32")


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
def test_lu_unpack(shape, tmp_path):
    x = f(*shape)
    packed, pivots = _lu(x)
    p, low, up = run(tmp_path, "lu_unpack", {"X": packed, "Pivots": pivots}, {}, ["Pmat", "L", "U"])
    np.testing.assert_allclose(p @ low @ up, x, atol=1e-5)
    np.testing.assert_array_equal(low, np.tril(low))
    np.testing.assert_array_equal(up, np.triu(up))
    np.testing.assert_array_equal(np.diag(low), np.ones(min(shape)))


@pytest.mark.parametrize(
    ("inputs", "settings", "wanted"),
    [
        ({}, {}, [4, 3]),
        ({}, {"tol": 1e6}, [0, 0]),
        ({}, {"tol": 1e-3, "use_default_tol": False}, [4, 3]),
        ({"TolTensor": np.array([1e-3, 1e6], "float32")}, {"use_default_tol": False}, [4, 0]),
        ({}, {"hermitian": True}, [4, 3]),
    ],
)
def test_matrix_rank(inputs, settings, wanted, tmp_path):
    full = np.linalg.qr(f(4, 4))[0].astype("float32")
    x = np.stack([full @ np.diag([4.0, -3, 2, 1]) @ full.T, full @ np.diag([4.0, -3, 2, 0]) @ full.T]).astype("float32")
    found = run(tmp_path, "matrix_rank", {"X": x, **inputs}, settings, ["Out"])[0]
    assert found.dtype == np.int64 and found.tolist() == wanted


@pytest.mark.parametrize("driver", ["gels", "gelsd"])
def test_lstsq(driver, tmp_path):
    x, y = f(6, 3), f(6, 2)
    found, residuals = run(
        tmp_path, "lstsq", {"X": x, "Y": y}, {"driver": driver, "rcond": 1e-6}, ["Solution", "Residuals"]
    )
    solution, missed, _, _ = np.linalg.lstsq(x, y, rcond=None)
    np.testing.assert_allclose(found, solution, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(residuals, missed, rtol=1e-4)


def _metrics(states):
    right, wrong, _, missed = states.T.astype("float64")
    share = lambda a, b: a / (a + b) if a + b > 0 else 1.0
    both = lambda p, r: 2 * p * r / (p + r) if p + r > 0 else 0.0
    p, r = (np.mean([share(*pair) for pair in zip(right, other, strict=True)]) for other in (wrong, missed))
    q, s = share(right.sum(), wrong.sum()), share(right.sum(), missed.sum())
    return [p, r, both(p, r), q, s, both(q, s)]


@pytest.mark.parametrize("weighted", [False, True])
def test_precision_recall(weighted, tmp_path):
    """One example after another, as the states are defined: of the class found, of that which is right, of all others."""
    found, wanted = np.array([[0], [1], [1], [3], [0]], "int32"), np.array([[0], [1], [2], [0], [0]], "int32")
    weights = np.array([[1.0], [0.5], [2.0], [1.5], [1.0]], "float32")
    before = np.arange(20, dtype="float32").reshape(5, 4)
    states = np.zeros((5, 4), "float32")
    for i, (a, b) in enumerate(zip(found[:, 0], wanted[:, 0], strict=True)):
        w = weights[i, 0] if weighted else 1.0
        states[[k for k in range(5) if k not in (a, b)], 2] += w
        if a == b:
            states[a, 0] += w
        else:
            states[a, 1] += w
            states[b, 3] += w
    inputs = {"MaxProbs": f(5, 1), "Indices": found, "Labels": wanted, "StatesInfo": before}
    if weighted:
        inputs["Weights"] = weights
    slots = ["BatchMetrics", "AccumMetrics", "AccumStatesInfo"]
    batch, every, total = run(tmp_path, "precision_recall", inputs, {"class_number": 5}, slots)
    np.testing.assert_allclose(batch, _metrics(states), rtol=1e-12)
    np.testing.assert_allclose(every, _metrics(states + before), rtol=1e-12)
    np.testing.assert_allclose(total, states + before)


def test_unknown_ones_are_listed(tmp_path):
    with pytest.raises(NotImplementedError, match=r"(?s)not known:\n  tree_conv \(max_depth=1\) in 1 op"):
        run(tmp_path, "tree_conv", {"X": x34}, {"max_depth": 1}, ["Out"])
    with pytest.raises(NotImplementedError, match=r"relu attributes \(power=2\)"):
        run(tmp_path, "relu", {"X": x34}, {"power": 2}, ["Out"])
    with pytest.raises(ValueError, match="input 'Z' is not known"):
        run(tmp_path, "relu", {"X": x34, "Z": x34}, {}, ["Out"])
    with pytest.raises(ValueError, match=r"op 2 'elementwise_add': .*do not broadcast"):
        run(tmp_path, "elementwise_add", {"X": x34, "Y": f(3)}, {"axis": -1}, ["Out"])
