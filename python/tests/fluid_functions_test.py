"""Functions of the old namespace: every one is called against NumPy."""

import math
import re

import numpy as np
import pytest

import proa
from proa.fluid import layers

_R = np.random.RandomState(0)
X = _R.randn(3, 4).astype("float32")
P = np.abs(X) + 0.1
IMAGE = _R.randn(2, 4, 6, 6).astype("float32")


def t(array):
    return proa.to_tensor(np.asarray(array))


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


_I = np.array([[1], [3], [0]])
_S = _softmax(X)

# From a call (with "=" where its result is not one value) to what NumPy says.
CALLS = {
    "elementwise_add": (lambda: layers.elementwise_add(t(IMAGE), t(X[0]), axis=1), IMAGE + X[0][:, None, None]),
    "elementwise_sub": (lambda: layers.elementwise_sub(t(X), t(X[0])), X - X[0]),
    "elementwise_mul": (lambda: layers.elementwise_mul(t(X), t(X[:, 0]), axis=0), X * X[:, :1]),
    "elementwise_div": (lambda: layers.elementwise_div(t(X), t(P)), X / P),
    "elementwise_max": (lambda: layers.elementwise_max(t(X), t(P), act="relu"), np.maximum(X, P)),
    "elementwise_min": (lambda: layers.elementwise_min(t(X), t(P)), np.minimum(X, P)),
    "elementwise_pow": (lambda: layers.elementwise_pow(t(P), t(X)), P**X),
    "elementwise_mod": (lambda: layers.elementwise_mod(t([7, 8]), t([4, 3])), [3, 2]),
    "elementwise_floordiv": (lambda: layers.elementwise_floordiv(t([7, 8]), t([4, 3])), [1, 2]),
    "reduce_sum": (lambda: layers.reduce_sum(t(X), dim=1, keep_dim=True), X.sum(1, keepdims=True)),
    "reduce_sum of all": (lambda: layers.reduce_sum(t(X)), [X.sum()]),
    "reduce_mean": (lambda: layers.reduce_mean(t(X), dim=[0]), X.mean(0)),
    "reduce_max": (lambda: layers.reduce_max(t(X)), [X.max()]),
    "reduce_min": (lambda: layers.reduce_min(t(X), 0), X.min(0)),
    "reduce_prod": (lambda: layers.reduce_prod(t(X), 0), X.prod(0)),
    "reduce_all": (lambda: layers.reduce_all(t(X > 9)), [False]),
    "reduce_any": (lambda: layers.reduce_any(t(X > 0), 0), (X > 0).any(0)),
    "equal": (lambda: layers.equal(t(X), t(X)), X == X),
    "not_equal": (lambda: layers.not_equal(t(X), t(P)), X != P),
    "less_than": (lambda: layers.less_than(t(X), t(P), cond=proa.zeros([3, 4], "bool")), X < P),
    "less_equal": (lambda: layers.less_equal(t(X), t(P)), X <= P),
    "greater_than": (lambda: layers.greater_than(t(X), t(P)), X > P),
    "greater_equal": (lambda: layers.greater_equal(t(X), t(P)), X >= P),
    "logical_and": (lambda: layers.logical_and(t(X > 0), t(X < 1)), (X > 0) & (X < 1)),
    "logical_or": (lambda: layers.logical_or(t(X > 1), t(X < 0)), (X > 1) | (X < 0)),
    "logical_xor": (lambda: layers.logical_xor(t(X > 0), t(X < 1)), (X > 0) ^ (X < 1)),
    "logical_not": (lambda: layers.logical_not(t(X > 0)), X <= 0),
    "mean": (lambda: layers.mean(t(X)), [X.mean()]),
    "matmul": (lambda: layers.matmul(t(X), t(X), transpose_y=True, alpha=2.0), 2 * X @ X.T),
    "mul": (lambda: layers.mul(t(IMAGE), t(_R.rand(24, 6, 2).astype("float32") * 0 + 1), 1, 2),
            IMAGE.reshape(2, -1).sum(1, keepdims=True).repeat(2, 1)),
    "sum": (lambda: layers.sum([t(X), t(P)]), X + P),
    "sums": (lambda: layers.sums([t(X), t(P)], out=proa.zeros([3, 4])), X + P),
    "l2_normalize": (lambda: layers.l2_normalize(t(X), axis=1), X / np.sqrt((X * X).sum(1, keepdims=True))),
    "cos_sim": (lambda: layers.cos_sim(t(X), t(P)),
                (X * P).sum(1, keepdims=True) / np.sqrt((X * X).sum(1, keepdims=True) * (P * P).sum(1, keepdims=True))),
    "fsp_matrix": (lambda: layers.fsp_matrix(t(IMAGE), t(IMAGE)), np.einsum("nahw,nbhw->nab", IMAGE, IMAGE) / 36),
    "where": (lambda: layers.where(t(X > 0)), np.argwhere(X > 0)),
    "affine_channel": (lambda: layers.affine_channel(t(IMAGE), t(X[0]), t(P[0])),
                       IMAGE * X[0][:, None, None] + P[0][:, None, None]),
    "relu6": (lambda: layers.relu6(t(X * 5)), np.clip(X * 5, 0, 6)),
    "leaky_relu": (lambda: layers.leaky_relu(t(X)), np.where(X > 0, X, 0.02 * X)),
    "elu": (lambda: layers.elu(t(X)), np.where(X > 0, X, np.exp(X) - 1)),
    "selu": (lambda: layers.selu(t(X), 2.0, 1.5), 2 * np.where(X > 0, X, 1.5 * (np.exp(X) - 1))),
    "gelu": (lambda: layers.gelu(t(X)), X * 0.5 * (1 + np.vectorize(math.erf)(X / math.sqrt(2)))),
    "brelu": (lambda: layers.brelu(t(X), -0.5, 0.5), np.clip(X, -0.5, 0.5)),
    "soft_relu": (lambda: layers.soft_relu(t(X), 1.0), np.log1p(np.exp(np.clip(X, -1, 1)))),
    "stanh": (lambda: layers.stanh(t(X)), 1.7159 * np.tanh(0.67 * X)),
    "hard_sigmoid": (lambda: layers.hard_sigmoid(t(X)), np.clip(0.2 * X + 0.5, 0, 1)),
    "hard_swish": (lambda: layers.hard_swish(t(X)), X * np.clip(X + 3, 0, 6) / 6),
    "hard_swish of others": (lambda: layers.hard_swish(t(X), 5.0, 4.0, 2.0), X * np.clip(X + 2, 0, 5) / 4),
    "swish": (lambda: layers.swish(t(X), 2.0), X * _sigmoid(2 * X)),
    "mish": (lambda: layers.mish(t(X)), X * np.tanh(np.log1p(np.exp(X)))),
    "maxout": (lambda: layers.maxout(t(IMAGE), 2), IMAGE.reshape(2, 2, 2, 6, 6).max(2)),
    "softshrink": (lambda: layers.softshrink(t(X)), np.sign(X) * np.maximum(np.abs(X) - 0.5, 0)),
    "hard_shrink": (lambda: layers.hard_shrink(t(X)), np.where(np.abs(X) > 0.5, X, 0)),
    "thresholded_relu": (lambda: layers.thresholded_relu(t(X), 0.3), np.where(X > 0.3, X, 0)),
    "cumsum": (lambda: layers.cumsum(t(X), 1, exclusive=True, reverse=True),
               np.cumsum(X[:, ::-1], 1)[:, ::-1] - X),
    "pow": (lambda: layers.pow(t(P), 3.0), P**3),
    "clip": (lambda: layers.clip(t(X), -0.1, 0.2), np.clip(X, -0.1, 0.2)),
    "clip_by_norm": (lambda: layers.clip_by_norm(t(X), 1.0), X / np.sqrt((X * X).sum())),
    "scale": (lambda: layers.scale(t(X), 2.0, 1.0, False, act="tanh"), np.tanh(2 * (X + 1))),
    "increment": (lambda: layers.increment(t(np.array([1.0], "float32")), 2.0), [3.0]),
    "isfinite": (lambda: layers.isfinite(t(X)), [True]),
    "has_inf": (lambda: layers.has_inf(t(np.array([1, np.inf], "float32"))), [True]),
    "has_nan": (lambda: layers.has_nan(t(X)), [False]),
    "rank": (lambda: layers.rank(t(X)), 2),
    "size": (lambda: layers.size(t(X)), 12),
    "shape": (lambda: layers.shape(t(X)), [3, 4]),
    "fill_constant": (lambda: layers.fill_constant([2, 2], "int64", 7), np.full([2, 2], 7)),
    "fill_constant_batch_size_like": (
        lambda: layers.fill_constant_batch_size_like(t(X), [1, 2], "float32", 5.0), np.full([3, 2], 5.0)),
    "zeros": (lambda: layers.zeros([2], "int32"), [0, 0]),
    "ones": (lambda: layers.ones([2], "float32"), [1, 1]),
    "zeros_like": (lambda: layers.zeros_like(t(X)), np.zeros_like(X)),
    "ones_like": (lambda: layers.ones_like(t(X)), np.ones_like(X)),
    "full_like": (lambda: layers.full_like(t(X), 3.0), np.full_like(X, 3)),
    "range": (lambda: layers.range(1, 7, 2, "int64"), [1, 3, 5]),
    "arange": (lambda: layers.arange(1, 4), [1, 2, 3]),
    "linspace": (lambda: layers.linspace(0.0, 1.0, 5, "float32"), np.linspace(0, 1, 5)),
    "eye": (lambda: layers.eye(2, batch_shape=[3]), np.eye(2)[None].repeat(3, 0)),
    "diag": (lambda: layers.diag(t(X[0])), np.diag(X[0])),
    "triu": (lambda: layers.triu(t(X)), np.triu(X)),
    "one_hot": (lambda: layers.one_hot(t(_I), 4), np.eye(4)[_I[:, 0]]),
    "one_hot beyond": (lambda: layers.one_hot(t([[1], [9]]), 3, allow_out_of_range=True), [[0, 1, 0], [0, 0, 0]]),
    "cast": (lambda: layers.cast(t(X), "int32"), X.astype("int32")),
    "assign": (lambda: layers.assign(t(X), proa.zeros([3, 4])), X),
    "concat": (lambda: layers.concat([t(X), t(P)], axis=1), np.concatenate([X, P], 1)),
    "stack": (lambda: layers.stack([t(X), t(P)], 1), np.stack([X, P], 1)),
    "unstack=": (lambda: layers.unstack(t(X), 1), list(X.T)),
    "unbind=": (lambda: layers.unbind(t(X), 0), list(X)),
    "split=": (lambda: layers.split(t(X), 2), list(np.split(X, 2, -1))),
    "reshape": (lambda: layers.reshape(t(X), [-1, 2], act="relu"), np.maximum(X.reshape(-1, 2), 0)),
    "transpose": (lambda: layers.transpose(t(X), [1, 0]), X.T),
    "squeeze": (lambda: layers.squeeze(t(X[None]), [0]), X),
    "unsqueeze": (lambda: layers.unsqueeze(t(X), [0]), X[None]),
    "flatten": (lambda: layers.flatten(t(IMAGE), axis=2), IMAGE.reshape(8, 36)),
    "flatten to one row": (lambda: layers.flatten(t(X), axis=0), X.reshape(1, -1)),
    "expand": (lambda: layers.expand(t(X), [2, 1]), np.tile(X, [2, 1])),
    "expand_as": (lambda: layers.expand_as(t(X[:1]), t(X)), X[:1].repeat(3, 0)),
    "slice": (lambda: layers.slice(t(X), [0, 1], [1, 0], [3, 2]), X[1:3, :2]),
    "strided_slice": (lambda: layers.strided_slice(t(X), [1], [0], [4], [2]), X[:, ::2]),
    "crop": (lambda: layers.crop(t(X), [2, 2], [1, 1]), X[1:3, 1:3]),
    "crop_tensor": (lambda: layers.crop_tensor(t(X), [2, 2]), X[:2, :2]),
    "reverse": (lambda: layers.reverse(t(X), 0), X[::-1]),
    "pad": (lambda: layers.pad(t(X), [0, 1, 2, 0], 9.0), np.pad(X, ((0, 1), (2, 0)), constant_values=9)),
    "pad2d": (lambda: layers.pad2d(t(IMAGE), [1, 2, 0, 1], "reflect"),
              np.pad(IMAGE, ((0, 0), (0, 0), (1, 2), (0, 1)), "reflect")),
    "pad_constant_like": (lambda: layers.pad_constant_like(t(X), t(X[:2, :3])),
                          np.pad(X[:2, :3], ((0, 1), (0, 1)))),
    "space_to_depth": (lambda: layers.space_to_depth(t(IMAGE), 2),
                       IMAGE.reshape(2, 4, 3, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 16, 3, 3)),
    "shard_index": (lambda: layers.shard_index(t(_I), 4, 2, 0), [[1], [-1], [0]]),
    "gather": (lambda: layers.gather(t(X), t([[2], [0]])), X[[2, 0]]),
    "gather_nd": (lambda: layers.gather_nd(t(X), t([[1, 2]])), [X[1, 2]]),
    "index_select": (lambda: layers.index_select(t(X), t([3, 0]), 1), X[:, [3, 0]]),
    "scatter": (lambda: layers.scatter(t(X), t([1]), t(P[:1])), np.stack([X[0], P[0], X[2]])),
    "scatter_nd": (lambda: layers.scatter_nd(t([[1], [1]]), t(np.array([2, 3], "float32")), [3]), [0, 5, 0]),
    "scatter_nd_add": (lambda: layers.scatter_nd_add(t(X[0]), t([[1]]), t(np.array([2], "float32"))), X[0] + [0, 2, 0, 0]),
    "argmax": (lambda: layers.argmax(t(X), 1), X.argmax(1)),
    "argmin": (lambda: layers.argmin(t(X)), X.argmin(0)),
    "argsort=": (lambda: layers.argsort(t(X)), [np.sort(X), np.argsort(X)]),
    "topk=": (lambda: layers.topk(t(X), 2), [-np.sort(-X)[:, :2], np.argsort(-X)[:, :2]]),
    "unique=": (lambda: layers.unique(t([5, 2, 5, 1])), [[5, 2, 1], [0, 1, 0, 2]]),
    "unique_with_counts=": (lambda: layers.unique_with_counts(t([5, 2, 5, 1])), [[5, 2, 1], [0, 1, 0, 2], [2, 1, 1]]),
    "softmax": (lambda: layers.softmax(t(X)), _S),
    "log_softmax": (lambda: layers.log_softmax(t(X)), np.log(_S)),
    "dropout": (lambda: layers.dropout(t(X), 0.3, is_test=True), X * 0.7),
    "dropout upscaled": (lambda: layers.dropout(t(X), 0.3, True, dropout_implementation="upscale_in_train"), X),
    "pool2d": (lambda: layers.pool2d(t(IMAGE), 2, "avg", 2), IMAGE.reshape(2, 4, 3, 2, 3, 2).mean((3, 5))),
    "pool2d of all": (lambda: layers.pool2d(t(IMAGE), global_pooling=True), IMAGE.max((2, 3), keepdims=True)),
    "pool3d": (lambda: layers.pool3d(t(IMAGE[:, None, :, :, :]), 2, "max", 2),
               IMAGE.reshape(2, 1, 2, 2, 3, 2, 3, 2).max((3, 5, 7))),
    "adaptive_pool2d": (lambda: layers.adaptive_pool2d(t(IMAGE), [3, 3], "avg"),
                        IMAGE.reshape(2, 4, 3, 2, 3, 2).mean((3, 5))),
    "adaptive_pool3d": (lambda: layers.adaptive_pool3d(t(IMAGE[:, None]), [2, 3, 3], "avg"),
                        IMAGE.reshape(2, 1, 2, 2, 3, 2, 3, 2).mean((3, 5, 7))),
    "resize_nearest": (lambda: layers.resize_nearest(t(IMAGE), [3, 3], align_corners=False), IMAGE[:, :, ::2, ::2]),
    "resize_nearest by corners": (lambda: layers.resize_nearest(t(IMAGE), [2, 2]), IMAGE[:, :, ::5, ::5]),
    "resize_bilinear": (lambda: layers.resize_bilinear(t(IMAGE), [2, 2]), IMAGE[:, :, ::5, ::5]),
    "image_resize": (lambda: layers.image_resize(t(IMAGE), scale=1.0), IMAGE),
    "resize_trilinear": (lambda: layers.resize_trilinear(t(IMAGE[:, None]), [4, 6, 6]), IMAGE[:, None]),
    "label_smooth": (lambda: layers.label_smooth(t(np.eye(4, dtype="float32"))), np.eye(4) * 0.9 + 0.025),
    "lrn": (lambda: layers.lrn(t(IMAGE[:, :1]), 1, 1.0, 0.5, 0.75), IMAGE[:, :1] / (1 + 0.5 * IMAGE[:, :1] ** 2) ** 0.75),
    "sequence_mask": (lambda: layers.sequence_mask(t([1, 3]), 4), [[1, 0, 0, 0], [1, 1, 1, 0]]),
    "temporal_shift": (lambda: layers.temporal_shift(t(IMAGE), 2, 0.25),
                       np.concatenate([np.stack([0 * IMAGE[0, :1], IMAGE[0, :1]]),
                                       np.stack([IMAGE[1, 1:2], 0 * IMAGE[1, 1:2]]), IMAGE[:, 2:]], 1)),
    "pixel_shuffle": (lambda: layers.pixel_shuffle(t(IMAGE), 2),
                      IMAGE.reshape(2, 1, 2, 2, 6, 6).transpose(0, 1, 4, 2, 5, 3).reshape(2, 1, 12, 12)),
    "shuffle_channel": (lambda: layers.shuffle_channel(t(IMAGE), 2), IMAGE[:, [0, 2, 1, 3]]),
    "unfold": (lambda: layers.unfold(t(IMAGE), 6), IMAGE.reshape(2, -1, 1)),
    "cross_entropy": (lambda: layers.cross_entropy(t(_S), t(_I)), -np.log(np.take_along_axis(_S, _I, 1))),
    "cross_entropy ignoring": (lambda: layers.cross_entropy(t(_S), t([[1], [-100], [0]])),
                               -np.log(np.take_along_axis(_S, _I, 1)) * [[1], [0], [1]]),
    "cross_entropy soft": (lambda: layers.cross_entropy(t(_S), t(_S), True), -(_S * np.log(_S)).sum(1, keepdims=True)),
    "softmax_with_cross_entropy": (lambda: layers.softmax_with_cross_entropy(t(X), t(_I)),
                                   -np.log(np.take_along_axis(_S, _I, 1))),
    "sigmoid_cross_entropy_with_logits": (
        lambda: layers.sigmoid_cross_entropy_with_logits(t(X), t(_S)),
        -_S * np.log(_sigmoid(X)) - (1 - _S) * np.log(1 - _sigmoid(X))),
    "square_error_cost": (lambda: layers.square_error_cost(t(X), t(P)), (X - P) ** 2),
    "mse_loss": (lambda: layers.mse_loss(t(X), t(P)), [((X - P) ** 2).mean()]),
    "huber_loss": (lambda: layers.huber_loss(t(X), t(P), 0.5),
                   np.where(abs(P - X) <= 0.5, 0.5 * (P - X) ** 2, 0.5 * (abs(P - X) - 0.25))),
    "smooth_l1": (lambda: layers.smooth_l1(t(X), t(P), sigma=2.0),
                  np.where(abs(X - P) < 0.25, 2 * (X - P) ** 2, abs(X - P) - 0.125).sum(1, keepdims=True)),
    "kldiv_loss": (lambda: layers.kldiv_loss(t(np.log(_S)), t(_S[::-1].copy()), "sum"),
                   [(_S[::-1] * (np.log(_S[::-1]) - np.log(_S))).sum()]),
    "log_loss": (lambda: layers.log_loss(t(_S[:, :1]), t(np.array([[1], [0], [1]], "float32")), 0.0),
                 -np.log(np.where([[1], [0], [1]], _S[:, :1], 1 - _S[:, :1]))),
    "bpr_loss": (lambda: layers.bpr_loss(t(X), t(_I)),
                 [[np.mean([np.log1p(np.exp(row[j] - row[i])) for j in range(len(row)) if j != i])]
                  for row, (i,) in zip(X, _I)]),
    "sigmoid_focal_loss": (
        lambda: layers.sigmoid_focal_loss(t(X), t(_I.astype("int32")), t(np.array([2], "int32")), 2.0, 0.25),
        np.where(_I == np.arange(1, X.shape[1] + 1), -0.25 * (1 - _sigmoid(X)) ** 2 * np.log(_sigmoid(X)),
                 -0.75 * _sigmoid(X) ** 2 * np.log(1 - _sigmoid(X))) / 2),
    "multiplex": (lambda: layers.multiplex([t(X), t(P)], t(np.array([[1], [0], [1]], "int32"))), np.stack([P[0], X[1], P[2]])),
    "clamp": (lambda: layers.clamp(t(X), -0.5, 0.5), X.clip(-0.5, 0.5)),
    "clamp into": (lambda: layers.clamp(t(X), max=0.1, output=proa.zeros(list(X.shape))), X.clip(None, 0.1)),
    "margin_rank_loss": (lambda: layers.margin_rank_loss(t(np.sign(X)), t(X), t(P)),
                         np.maximum(0, 0.1 - np.sign(X) * (X - P))),
    "rank_loss": (lambda: layers.rank_loss(t(_S), t(X), t(P)), np.log1p(np.exp(X - P)) - _S * (X - P)),
    "accuracy": (lambda: layers.accuracy(t(X), t(X.argmax(1)[:, None])), [1.0]),
    "is_empty": (lambda: layers.is_empty(t(X)), False),
}  # fmt: skip
_UNARY = ("abs acos asin atan ceil cos cosh erf exp floor log reciprocal round rsqrt sigmoid sign sin sinh softplus "
          "softsign sqrt square tanh tanh_shrink log1p relu logsigmoid").split()  # fmt: skip
# Called in the other tests of this namespace or in static_layers_test, or random, or the functions of static mode and nn themselves.
ELSEWHERE = (
    "Assert continuous_value_model lstm auc batch_norm case cond conv2d conv2d_transpose conv3d conv3d_transpose "
    "create_array array_length array_read "
    "array_write create_global_var create_parameter create_tensor data dice_loss embedding fc gaussian_random "
    "gaussian_random_batch_size_like group_norm instance_norm layer_norm npair_loss prelu Print py_func row_conv "
    "sampling_id spectral_norm switch_case teacher_student_sigmoid_loss uniform_random uniform_random_batch_size_like "
    "warpctc while_loop cosine_decay exponential_decay inverse_time_decay linear_lr_warmup natural_exp_decay noam_decay "
    "piecewise_decay polynomial_decay Categorical Normal Uniform BeamSearchDecoder Decoder dynamic_decode "
    # In crf_test, static_heads_test, sequence_test and fluid_sequences_test.
    "crf_decoding linear_chain_crf data_norm nce multi_box_head prior_box bilinear_tensor_product dynamic_gru dynamic_lstm "
    "lod_reset sequence_concat sequence_conv sequence_enumerate sequence_expand sequence_expand_as sequence_first_step "
    "sequence_last_step sequence_pad sequence_pool sequence_reshape sequence_reverse sequence_scatter sequence_slice "
    "sequence_softmax sequence_unpad "
    # In fluid_targets_test, fluid_masks_test, fluid_proposals_test and fluid_beams_test.
    "rpn_target_assign retinanet_target_assign generate_proposal_labels generate_mask_labels detection_map anchor_generator collect_fpn_proposals "
    "distribute_fpn_proposals generate_proposals retinanet_detection_output beam_search beam_search_decode "
    # In fluid_cells_test and fluid_detection_test.
    "GRUCell LSTMCell RNNCell lstm_unit rnn box_coder matrix_nms multiclass_nms yolo_box yolov3_loss "
    # In fluid_images_test, fluid_ssd_test and program_decode_test.
    "bipartite_match detection_output ssd_loss target_assign "
    "box_clip deformable_conv grid_sampler image_resize_short iou_similarity psroi_pool random_crop resize_linear roi_align "
    "roi_pool autoincreased_step_counter lod_append hsigmoid mean_iou get_tensor_from_selected_rows merge_selected_rows "
    "gather_tree BasicDecoder DecodeHelper GreedyEmbeddingHelper SampleEmbeddingHelper TrainingHelper "
    # In fluid_regions_test.
    "deformable_roi_pooling locality_aware_nms prroi_pool roi_perspective_transform "
    # In fluid_loops_test and fluid_recognition_test.
    "While tensor_array_to_tensor dynamic_lstmp gru_unit chunk_eval ctc_greedy_decoder edit_distance im2sequence "
    # In fluid_blocks_test.
    "DynamicRNN IfElse StaticRNN Switch create_py_reader_by_data double_buffer py_reader read_file"
).split()


@pytest.mark.parametrize("name", CALLS)
def test_functions(name):
    call, want = CALLS[name]
    got = call()
    pairs = zip(got, want, strict=True) if name.endswith("=") else [(got, want)]
    for value, expected in pairs:
        value, expected = value.numpy(), np.asarray(expected)
        assert value.shape == expected.shape
        np.testing.assert_allclose(value, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", _UNARY)
def test_functions_of_one_tensor(name):
    x = P if name in ("log", "rsqrt", "sqrt", "log1p", "reciprocal") else np.clip(X, -0.9, 0.9)
    want = {
        "acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "erf": np.vectorize(math.erf),
        "reciprocal": lambda v: 1 / v, "round": np.round, "rsqrt": lambda v: 1 / np.sqrt(v), "sigmoid": _sigmoid,
        "softplus": lambda v: np.log1p(np.exp(v)), "softsign": lambda v: v / (1 + abs(v)),
        "tanh_shrink": lambda v: v - np.tanh(v), "relu": lambda v: np.maximum(v, 0),
        "logsigmoid": lambda v: -np.log1p(np.exp(-v)),
    }.get(name) or getattr(np, name)  # fmt: skip
    np.testing.assert_allclose(getattr(layers, name)(t(x)).numpy(), want(x), rtol=1e-5, atol=1e-6)


def test_every_function_is_called_somewhere():
    public = {name for name in dir(layers) if not name.startswith("_")}
    modules = {"nn", "loss", "tensor", "ops", "math", "io", "control_flow", "learning_rate_scheduler", "metric_op",
               "utils", "collective", "distributions", "core", "arguments", "rnn", "sequence_lod", "recurrent_blocks",
               "switches", "py_readers", "detection", "recognition", "loops", "blocks", "images", "helpers", "ssd",
               "targets", "masks", "precision", "proposals", "beams", "uneven", "regions"}  # fmt: skip
    called = {re.sub(r"[ =].*", "", name) for name in CALLS} | set(_UNARY) | set(ELSEWHERE)
    assert public - modules - called == set()
    assert called - public == set()


def test_random_functions_have_their_dims():
    assert layers.uniform_random([2, 3], min=0.0, max=1.0).min().item() >= 0
    assert layers.gaussian_random([4]).shape == [4] and layers.sampling_id(t(_S)).shape == [3]
    assert layers.uniform_random_batch_size_like(t(X), [-1, 7]).shape == [3, 7]
    assert layers.gaussian_random_batch_size_like(t(X), [-1, 7]).shape == [3, 7]
    assert layers.create_tensor("int64").dtype == proa.int64


def test_losses_of_several_tensors():
    images = t(_softmax(_R.randn(2, 5, 3).astype("float32")))
    labels = t(_R.randint(0, 3, [2, 5, 1]))
    assert layers.dice_loss(images, labels).size == 1
    assert layers.npair_loss(t(X), t(P), t(np.arange(3))).size == 1
    got = layers.teacher_student_sigmoid_loss(
        t(np.float32([[0.3]] * 4)), t(np.array([[-2], [-0.5], [0.4], [1.4]], "float32"))
    )
    base = np.log1p(np.exp(0.3))
    np.testing.assert_allclose(
        got.numpy().ravel(), [base, base - 0.3, 2 * base - 0.3 * 0.4, 2 * base - 0.3 - 0.3 * 0.4], rtol=1e-5
    )
    logits = _R.randn(5, 2, 4).astype("float32")
    got = layers.warpctc(t(logits), t(np.array([[1, 2], [3, 0]], "int32")), 0, False, t([5, 4]), t([2, 1]))
    assert got.shape == [2, 1] and (got.numpy() > 0).all()
    with pytest.raises(TypeError, match="warpctc: nothing is known of sequences in input"):
        layers.warpctc(t(logits), t(np.array([[1, 2]], "int32")))
