"""paddle._C_ops and paddle._legacy_C_ops: the reference's names of ops, with names and values of attributes."""

import numpy as np
import pytest
from proa._generated import aliases

import proa
from proa import _C_ops, _legacy_C_ops

_R = np.random.RandomState(0)
X, Y = _R.randn(3, 4).astype("float32"), _R.rand(3, 4).astype("float32") + 0.5
IMAGE, KERNEL = _R.randn(2, 4, 5, 5).astype("float32"), _R.randn(4, 1, 3, 3).astype("float32")


def t(array):
    return proa.to_tensor(np.asarray(array))


BOXES = np.array([[0, 0, 10, 10], [0, 0, 9, 10], [20, 20, 30, 30], [0, 0, 15, 15]], "float32")
ONES = np.ones((1, 1, 1, 1), "float32")
SCORES = np.array([[[0.9, 0.8, 0.7]]], "float32")
# From the op to arguments, what it gives, and where in its results.
CALLS = {
    "elementwise_add": ([t(IMAGE), t(X[0]), "axis", 1], IMAGE + X[0][:, None, None], None),
    "elementwise_sub": ([t(X), t(Y)], X - Y, None),
    "elementwise_mul": ([t(X), t(Y), "axis", -1, "use_mkldnn", False], X * Y, None),
    "elementwise_div": ([t(X), t(Y)], X / Y, None),
    "elementwise_max": ([t(X), t(Y)], np.maximum(X, Y), None),
    "elementwise_min": ([t(X), t(Y)], np.minimum(X, Y), None),
    "elementwise_pow": ([t(Y), t(X)], Y**X, None),
    "elementwise_mod": ([t([7]), t([4])], [3], None),
    "elementwise_floordiv": ([t([7]), t([4])], [1], None),
    "reduce_sum": ([t(X), "dim", [1], "keep_dim", True], X.sum(1, keepdims=True), None),
    "reduce_mean": ([t(X), "dim", [0], "keep_dim", False, "reduce_all", True], X.mean(), None),
    "reduce_max": ([t(X), "dim", 0], X.max(0), None),
    "reduce_min": ([t(X), "dim", [0]], X.min(0), None),
    "reduce_prod": ([t(X), "dim", [0]], X.prod(0), None),
    "reduce_all": ([t(X > 0), "dim", [0]], (X > 0).all(0), None),
    "reduce_any": ([t(X > 0), "dim", [0]], (X > 0).any(0), None),
    "matmul": ([t(X), t(Y), "transpose_X", False, "transpose_Y", True, "alpha", 2.0], 2 * X @ Y.T, None),
    "matmul_v2": ([t(X), t(Y), "trans_x", True, "trans_y", False], X.T @ Y, None),
    "mul": ([t(X), t(Y.T.copy())], X @ Y.T, None),
    "fc": ([t(X), t(Y.T.copy()), t(-Y[:, 0]), "activation_type", "relu"], np.maximum(X @ Y.T - Y[:, 0], 0), None),
    "reshape2": ([t(X), None, "shape", [4, 3]], X.reshape(4, 3), 0),
    "transpose2": ([t(X), "axis", [1, 0]], X.T, 0),
    "squeeze2": ([t(X[None]), "axes", [0]], X, 0),
    "unsqueeze2": ([t(X), "axes", [0]], X[None], 0),
    "flatten_contiguous_range": ([t(IMAGE), "start_axis", 1, "stop_axis", -1], IMAGE.reshape(2, -1), 0),
    "expand_v2": ([t(X[:1]), "shape", [3, 4]], X[:1].repeat(3, 0), None),
    "concat": ([[t(X), t(Y)], "axis", 1], np.concatenate([X, Y], 1), None),
    "stack": ([[t(X), t(Y)], "axis", 0], np.stack([X, Y]), None),
    "split": ([t(X), "num", 2, "axis", 1], X[:, 2:], 1),
    "cast": ([t(X), "in_dtype", proa.float32, "out_dtype", proa.int32], X.astype("int32"), None),
    "scale": ([t(X), "scale", 2.0, "bias", 1.0], 2 * X + 1, None),
    "assign": ([t(X)], X, None),
    "fill_constant": (["shape", [2], "value", 3.0, "dtype", "float32"], [3, 3], None),
    "lookup_table_v2": ([t(X), t([2, 0]), "is_sparse", False, "padding_idx", -1], X[[2, 0]], None),
    "gather": ([t(X), t([2]), None, "axis", 0], X[[2]], None),
    "gather_nd": ([t(X), t([[1]])], X[[1]], None),
    "scatter": ([t(X), t([1]), t(Y[:1]), "overwrite", True], np.stack([X[0], Y[0], X[2]]), None),
    "top_k_v2": ([t(X), "k", 2], np.argsort(-X)[:, :2], 1),
    "argsort": ([t(X), "axis", -1, "descending", False], np.argsort(X), 1),
    "arg_max": ([t(X), "axis", 1], X.argmax(1), None),
    "softmax": ([t(X), "axis", -1, "use_cudnn", True], np.exp(X) / np.exp(X).sum(1, keepdims=True), None),
    "log_softmax": ([t(X), "axis", 0], X - np.log(np.exp(X).sum(0)), None),
    "gelu": ([t(X), "approximate", True],
             0.5 * X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3))), None),
    "leaky_relu": ([t(X), "alpha", 0.1], np.where(X > 0, X, 0.1 * X), None),
    "hard_swish": ([t(X)], X * np.clip(X + 3, 0, 6) / 6, None),
    "hard_sigmoid": ([t(X), "slope", 0.2, "offset", 0.5], np.clip(0.2 * X + 0.5, 0, 1), None),
    "clip": ([t(X), "min", -0.5, "max", 0.5], np.clip(X, -0.5, 0.5), None),
    "pow": ([t(Y), "factor", 2.0], Y**2, None),
    "layer_norm": ([t(X), None, None, "epsilon", 1e-5, "begin_norm_axis", 1],
                   (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5), 0),
    "instance_norm": ([t(IMAGE), None, None, "epsilon", 1e-5],
                      (IMAGE - IMAGE.mean((2, 3), keepdims=True)) / np.sqrt(IMAGE.var((2, 3), keepdims=True) + 1e-5), 0),
    "dropout": ([t(X), None, "dropout_prob", 0.25, "is_test", True], X * 0.75, 0),
    "pool2d": ([t(IMAGE), "pooling_type", "avg", "ksize", [5, 5], "strides", [1, 1], "paddings", [0, 0]],
               IMAGE.mean((2, 3), keepdims=True), None),
    "elementwise_fmax": ([t(X), t(Y)], np.fmax(X, Y), None),
    "elementwise_fmin": ([t(X), t(Y)], np.fmin(X, Y), None),
    "grad_add": ([t(X), t(Y)], X + Y, None),
    "minus": ([t(X), t(Y)], X - Y, None),
    "reduce_amax": ([t(X), "dim", [0]], X.max(0), None),
    "reduce_amin": ([t(X), "dim", [0]], X.min(0), None),
    "logsumexp": ([t(X), "axis", [0], "reduce_all", True], np.log(np.exp(X).sum()), None),
    "frobenius_norm": ([t(X), "dim", [0, 1], "keep_dim", False], np.linalg.norm(X), None),
    "p_norm": ([t(X), "porder", 1.0, "axis", 1, "epsilon", 1e-12, "keepdim", True, "asvector", False],
               np.abs(X).sum(1, keepdims=True), None),
    "lookup_table": ([t(X), t([[2], [0]])], X[[2, 0]], None),
    "top_k": ([t(X), "k", 1], X.max(1, keepdims=True), 0),
    "arg_min": ([t(X), "axis", 1], X.argmin(1), None),
    "where_index": ([t(np.array([0, 2, 0]))], [[1]], None),
    "size": ([t(X)], 12, None),
    "brelu": ([t(X), "t_min", 0.0, "t_max", 0.5], np.clip(X, 0, 0.5), None),
    "hard_shrink": ([t(X), "threshold", 0.7], np.where(np.abs(X) > 0.7, X, 0), None),
    "tanh_shrink": ([t(X)], X - np.tanh(X), None),
    "fill_any_like": ([t(X), "value", 2.0, "dtype", 5], np.full((3, 4), 2.0), None),
    "fill_zeros_like": ([t(X)], np.zeros((3, 4)), None),
    "determinant": ([t(np.diag([2.0, 3.0]))], 6.0, None),
    "slogdeterminant": ([t(np.diag([2.0, 3.0]))], [1.0, np.log(6.0)], None),
    "index_select": ([t(X), t([1, 3]), "dim", 1], X[:, [1, 3]], None),
    "isnan_v2": ([t(X)], np.isnan(X), None),
    "isinf_v2": ([t(X)], np.isinf(X), None),
    "isfinite_v2": ([t(X)], np.isfinite(X), None),
    "bce_loss": ([t([0.25]), t([1.0])], [-np.log(0.25)], None),
    "sigmoid_cross_entropy_with_logits": ([t([0.5, 2.0]), t([1.0, -100.0]), "normalize", True, "ignore_index", -100],
                                          [np.log1p(np.exp(-0.5)), 0.0], None),
    "kldiv_loss": ([t(X), t(Y), "reduction", "none"], Y * (np.log(Y) - X), None),
    "huber_loss": ([t([0.5, 3.0]), t([0.0, 0.0]), "delta", 1.0], [0.125, 2.5], 1),
    "diag_v2": ([t(X[0]), "offset", 1], np.diag(X[0], 1), None),
    "reverse": ([t(X), "axis", [0]], X[::-1], None),
    "addmm": ([t(X), t(Y[:, :3]), t(Y), "Alpha", 2.0, "Beta", 0.5], 0.5 * X + 2 * Y[:, :3] @ Y, None),
    "uniform_random": (["shape", [3], "min", 2.0, "max", 2.0, "dtype", "float32"], [2, 2, 2], None),
    "gaussian_random": (["shape", [3], "mean", 2.0, "std", 0.0], [2, 2, 2], None),
    "sum": ([[t(X), t(Y)]], X + Y, None),
    "group_norm": ([t(IMAGE), None, None, "epsilon", 1e-5, "groups", 4],
                   (IMAGE - IMAGE.mean((2, 3), keepdims=True)) / np.sqrt(IMAGE.var((2, 3), keepdims=True) + 1e-5), 0),
    "relu": ([t(X)], np.maximum(X, 0), None),
    # Of three boxes the second covers the first nearly.
    "nms": ([t(BOXES[:3]), "iou_threshold", 0.5], [0, 2], None),
    "matrix_nms": ([t(BOXES[None, :3]), t(SCORES), "background_label", -1], [3], 2),
    "multiclass_nms3": ([t(BOXES[None, :3]), t(SCORES), None, "background_label", -1, "nms_threshold", 0.5], [2], 2),
    "bipartite_match": ([t([[0.1, 0.9], [0.8, 0.2]])], [[1, 0]], 0),
    "anchor_generator": ([t(IMAGE[:, :, :1, :1]), "anchor_sizes", [16.0], "aspect_ratios", [1.0], "variances", [1.0] * 4,
                          "stride", [16.0, 16.0], "offset", 0.5], [[[[0, 0, 15, 15]]]], 0),
    "generate_proposals_v2": ([t(ONES), t(ONES.repeat(4, 1) * 0), t(np.array([[40, 40]], "float32")), t(ONES * BOXES[3]),
                               t(ONES.repeat(4, 3))], BOXES[3:], 0),
    "collect_fpn_proposals": ([[t(BOXES[:1]), t(BOXES[1:3])], [t([[0.1]]), t([[0.9], [0.5]])], [t([1]), t([2])],
                               "post_nms_topN", 2], BOXES[1:3], 0),
    "distribute_fpn_proposals": ([t(BOXES[:3]), t([3]), "min_level", 2, "max_level", 3, "refer_level", 2, "refer_scale", 9],
                                 [[0], [1], [2]], 1),
    "c_allreduce_sum": ([t(X), "use_calc_stream", True, "ring_id", 0], X, None),
}  # fmt: skip


@pytest.mark.parametrize("module", [_C_ops, _legacy_C_ops, proa.fluid.core.ops])
@pytest.mark.parametrize("name", CALLS)
def test_ops(name, module):
    arguments, want, place = CALLS[name]
    got = getattr(module, name)(*arguments)
    got = got if place is None else got[place]
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-5)


def test_convolutions_and_norms():
    conv = _C_ops.depthwise_conv2d(t(IMAGE), t(KERNEL), "strides", [1, 1], "paddings", [1, 1], "dilations", [1, 1],
                                   "groups", 4, "use_cudnn", True)  # fmt: skip
    want = proa.nn.functional.conv2d(t(IMAGE), t(KERNEL), padding=1, groups=4)
    np.testing.assert_allclose(conv.numpy(), want.numpy(), rtol=1e-6)
    mean, variance = t(np.zeros(4, "float32")), t(np.ones(4, "float32"))
    scale, shift = t(np.ones(4, "float32")), t(np.zeros(4, "float32"))
    out = _C_ops.batch_norm(t(IMAGE), scale, shift, mean, variance, mean, variance, "momentum", 0.9, "epsilon", 1e-5,
                            "is_test", False, "data_layout", "NCHW", "use_mkldnn", False)  # fmt: skip
    assert len(out) == 6
    axes = (0, 2, 3)
    want = (IMAGE - IMAGE.mean(axes, keepdims=True)) / np.sqrt(IMAGE.var(axes, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out[0].numpy(), want, atol=1e-4)
    np.testing.assert_allclose(mean.numpy(), IMAGE.mean(axes) * 0.1, atol=1e-6)
    softmax, loss = _C_ops.softmax_with_cross_entropy(t(X), t([[1], [0], [3]]), "soft_label", False)
    share = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    np.testing.assert_allclose(softmax.numpy(), share, rtol=1e-5)
    np.testing.assert_allclose(
        loss.numpy(), -np.log(np.take_along_axis(share, np.array([[1], [0], [3]]), 1)), rtol=1e-5
    )


def test_values_alone():
    np.testing.assert_allclose(_C_ops.matmul(t(X), t(Y), False, True).numpy(), X @ Y.T, rtol=1e-5)
    np.testing.assert_allclose(_C_ops.final_state_softmax(t(X), 0).numpy().sum(0), np.ones(4), rtol=1e-5)


def test_every_old_op_is_called_here():
    """Those whose call is not that of an op of this package."""
    from proa.framework import reference_ops

    elsewhere = {"batch_norm", "sync_batch_norm", "conv2d", "conv3d", "conv2d_transpose", "depthwise_conv2d",
                 "depthwise_conv2d_transpose", "softmax_with_cross_entropy", "merged_momentum",
                 "merged_momentum_", "sparse_momentum"}  # fmt: skip
    functions = {name for name in aliases.NAMES if hasattr(aliases, name)}
    left = {*functions, *reference_ops.OPS} - set(CALLS) - elsewhere
    assert all(name.startswith(("c_", "mp_")) for name in left), left


def test_every_name_of_the_reference_is_one():
    """Each alias finds an op, in `_C_ops` and in the lists of `auto_cast`."""
    assert len(aliases.NAMES) > 70
    for name, op in aliases.NAMES.items():
        assert callable(getattr(_C_ops, name)) and name in dir(_C_ops)
        assert hasattr(proa._C.ops, op)
    with proa.amp.auto_cast(custom_black_list=sorted(aliases.NAMES), dtype="bfloat16"):
        assert proa.matmul(t(X), t(Y.T.copy())).dtype == proa.float32


def test_bad_input():
    with pytest.raises(AttributeError, match="no attribute 'no_such_op'"):
        _legacy_C_ops.no_such_op  # noqa: B018
    with pytest.raises(TypeError, match="_C_ops.softmax: .*'no_such_attribute'"):
        _legacy_C_ops.softmax(t(X), "no_such_attribute", 1)
    with pytest.raises(TypeError, match="names and values"):
        _legacy_C_ops.softmax(t(X), "axis")
