"""Ops as the reference calls them where a formula (`aliases` of a schema) cannot say it, and the functions of such formulas.

Each function of `OPS` has the inputs of the reference's op in their order, and its attributes by name.
"""

from collections.abc import Callable
from typing import Any

import proa
from proa import _C

OPS: dict[str, Callable[..., Any]] = {}


def _op(*names):
    """Adds a function to `OPS` by its name, or by these."""

    def add(function):
        OPS.update(dict.fromkeys(names or (function.__name__,), function))
        return function

    return add


# Functions of formulas ----------------------------------------------------------------------------------------------


def align(x, y, axis):
    """y with dims of one behind, so that its dims meet those of x from `axis` on; -1: from behind."""
    if axis == -1 or not isinstance(y, _C.Tensor) or len(y.shape) >= len(x.shape):
        return y
    after = len(x.shape) - axis - len(y.shape)
    while after < 0 and y.shape[-1] == 1:  # trailing ones do not count
        y, after = _C.ops.squeeze(y, [-1]), after + 1
    if after < 0:
        raise _C.located(
            ValueError(f"axis is {axis}: y {list(y.shape)} does not fit into x {list(x.shape)} from there on")
        )
    return _C.ops.unsqueeze(y, list(range(len(y.shape), len(y.shape) + after))) if after else y


def axes(dim, every=False):
    """A list of axes; empty for all of them."""
    if dim is None or every:
        return []
    return list(dim) if isinstance(dim, (list, tuple)) else [dim]


# Convolutions and pools ---------------------------------------------------------------------------------------------


def _convolution(function, x, weight, bias, strides, paddings, dilations, groups, data_format):
    layout = {"AnyLayout": "NCHW"}.get(data_format, data_format)
    return function(x, weight, bias, stride=strides, padding=paddings, dilation=dilations, groups=groups,
                    data_format=layout)  # fmt: skip


@_op("conv2d", "depthwise_conv2d")
def _conv2d(x, weight, bias=None, strides=1, paddings=0, dilations=1, groups=1, data_format="NCHW"):
    f = proa.nn.functional.conv2d
    return _convolution(f, x, weight, bias, strides, paddings, dilations, groups, data_format)


@_op("conv3d")
def _conv3d(x, weight, bias=None, strides=1, paddings=0, dilations=1, groups=1, data_format="NCDHW"):
    f = proa.nn.functional.conv3d
    return _convolution(f, x, weight, bias, strides, paddings, dilations, groups, data_format)


@_op("conv2d_transpose", "depthwise_conv2d_transpose")
def _conv2d_transpose(x, weight, bias=None, strides=1, paddings=0, dilations=1, groups=1, data_format="NCHW",
                      output_padding=(), output_size=()):  # fmt: skip
    def f(*args, **kwargs):
        more = {"output_padding": list(output_padding)} if output_padding else {}
        more |= {"output_size": list(output_size)} if output_size else {}
        return proa.nn.functional.conv2d_transpose(*args, **kwargs, **more)

    return _convolution(f, x, weight, bias, strides, paddings, dilations, groups, data_format)


@_op("pool2d")
def _pool2d(x, pooling_type="max", ksize=(1, 1), strides=(1, 1), paddings=(0, 0), global_pooling=False, adaptive=False,
            ceil_mode=False, exclusive=True, data_format="NCHW"):  # fmt: skip
    F = proa.nn.functional
    if adaptive:
        return (F.adaptive_max_pool2d if pooling_type == "max" else F.adaptive_avg_pool2d)(x, list(ksize))
    from proa.fluid import layers

    return layers.pool2d(x, list(ksize), pooling_type, list(strides), list(paddings), global_pooling,
                         ceil_mode=ceil_mode, exclusive=exclusive, data_format=data_format)  # fmt: skip


# Norms, dropout, losses ---------------------------------------------------------------------------------------------


@_op("layer_norm")
def _layer_norm(x, weight=None, bias=None, epsilon=1e-5, begin_norm_axis=1):
    shape = list(x.shape[begin_norm_axis:])
    weight, bias = (None if v is None else v.reshape(shape) for v in (weight, bias))
    return proa.nn.functional.layer_norm(x, shape, weight, bias, epsilon), None, None


@_op("batch_norm", "sync_batch_norm")
def _batch_norm(x, weight, bias, mean, variance, mean_out=None, variance_out=None, momentum=0.9, epsilon=1e-5,
                is_test=False, data_layout="NCHW", use_global_stats=False, trainable_statistics=False,
                fuse_with_relu=False):  # fmt: skip
    rank = len(x.shape)
    layout = data_layout if rank == 4 else {2: "NC", 3: "NCL", 5: "NCDHW"}[rank]
    training = (not is_test or trainable_statistics) and not use_global_stats
    out = proa.nn.functional.batch_norm(x, mean, variance, weight, bias, training, momentum, epsilon, layout,
                                        use_global_stats or None)  # fmt: skip
    return out, None, None, None, None, None


@_op("instance_norm")
def _instance_norm(x, scale=None, bias=None, epsilon=1e-5):
    return proa.nn.functional.instance_norm(x, weight=scale, bias=bias, eps=epsilon), None, None


@_op("group_norm")
def _group_norm(x, scale=None, bias=None, epsilon=1e-5, groups=1, data_layout="NCHW"):
    return proa.nn.functional.group_norm(x, groups, epsilon, scale, bias, data_layout), None, None


@_op("dropout")
def _dropout(x, seed_tensor=None, dropout_prob=0.5, is_test=False, fix_seed=False, seed=0,
             dropout_implementation="downgrade_in_infer"):  # fmt: skip
    from proa.fluid.layers.nn import dropout_mode

    mode = dropout_mode(dropout_implementation)
    return proa.nn.functional.dropout(x, dropout_prob, training=not is_test, mode=mode), None


@_op("softmax_with_cross_entropy")
def _cross_entropy(logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True, axis=-1,
                   use_softmax=True):  # fmt: skip
    loss, softmax = proa.nn.functional.softmax_with_cross_entropy.__wrapped__(logits, label, soft_label, ignore_index,
                                                                  return_softmax=True, axis=axis)  # fmt: skip
    return softmax, loss


@_op("sigmoid_cross_entropy_with_logits")
def _sigmoid_cross_entropy(x, label, pos_weight=None, ignore_index=-100, normalize=False):
    loss = _C.ops.sigmoid_cross_entropy(x, label)
    counted = _C.ops.cast(label != ignore_index, loss.dtype)
    return loss * counted / counted.sum() if normalize else loss * counted


@_op("kldiv_loss")
def _kldiv_loss(x, target, reduction="mean"):
    return proa.nn.functional.kl_div(x, target, reduction)


@_op("huber_loss")
def _huber_loss(x, y, delta=1.0):
    return None, proa.nn.functional.smooth_l1_loss(x, y, "none", delta)


# Creation and the rest ----------------------------------------------------------------------------------------------


@_op("fill_constant")
def _fill(shape=(), dtype="float32", value=0.0, str_value="", force_cpu=False, place_type=-1):
    return proa.full(list(shape), float(str_value) if str_value else value, dtype)


@_op("uniform_random")
def _uniform(shape=(), dtype="float32", min=-1.0, max=1.0, seed=0, diag_num=0, diag_step=0, diag_val=1.0):
    return proa.uniform(list(shape), dtype, min, max, seed)


@_op("gaussian_random")
def _gaussian(shape=(), dtype="float32", mean=0.0, std=1.0, seed=0):
    return _C.ops.gaussian(list(shape), dtype, mean, std, seed)


@_op("split")
def _split(x, num=0, sections=(), axis=0):
    return proa.split(x, list(sections) if sections else num, axis)


@_op("mul")
def _mul(x, y, x_num_col_dims=1, y_num_col_dims=1):
    return proa.fluid.layers.mul(x, y, x_num_col_dims, y_num_col_dims)


@_op("fc")
def _fc(x, weight, bias=None, in_num_col_dims=1, activation_type="", padding_weights=False):
    out = proa.fluid.layers.mul(x, weight, in_num_col_dims)
    out = out if bias is None else out + _C.ops.reshape(bias, [-1])
    return _C.ops.relu(out) if activation_type == "relu" else out


@_op("scatter")
def _scatter(x, index, updates, overwrite=True):
    return proa.scatter(x, index, updates, overwrite)


@_op("sum")
def _add_n(xs):
    return proa.add_n(xs)


@_op("c_allreduce_sum", "c_allreduce_sum_", "c_allreduce_max", "c_allreduce_min", "c_allreduce_prod", "c_broadcast",
     "c_identity", "c_sync_calc_stream", "c_sync_comm_stream", "mp_allreduce_sum")  # fmt: skip
def _same(x, *rest, **attributes):
    """Among one process."""
    return x


# Steps of optimizers ------------------------------------------------------------------------------------------------


def _l2_of(name, methods, coefficients):
    """The factors of the decay of each parameter, from its kind ("l2_decay" or "") and its factor."""
    methods, coefficients = list(methods), list(coefficients)
    if len(methods) != len(coefficients):
        raise _C.located(
            ValueError(
                f"{name}: regularization_method has {len(methods)} names, regularization_coeff {len(coefficients)}"
            )
        )
    for method in methods:
        if method not in ("", "l2_decay"):
            raise _C.located(ValueError(f"{name}: regularization_method must be '' or 'l2_decay', not {method!r}"))
    return [float(c) if method else 0.0 for method, c in zip(methods, coefficients)]


def _step_of(name, params, masters, multi_precision, update):
    """Calls `update(params, rounded)`: with multi_precision the step is of the masters, and `params` get their values."""
    if not multi_precision:
        return update(params, [])
    if not masters:
        raise _C.located(ValueError(f"{name}: multi_precision asks for master parameters, of float32"))
    return update(masters, params)


@_op("merged_momentum", "merged_momentum_")
def _merged_momentum(params, grads, velocities, learning_rates, masters=None, params_out=None, velocities_out=None,
                     masters_out=None, mu=0.9, use_nesterov=False, regularization_method=(), regularization_coeff=(),
                     multi_precision=False, rescale_grad=1.0):  # fmt: skip
    rates = [learning_rates] if isinstance(learning_rates, _C.Tensor) else list(learning_rates)
    l2 = _l2_of("merged_momentum", regularization_method, regularization_coeff)
    with proa.no_grad():
        _step_of("merged_momentum", list(params), masters, multi_precision, lambda params, rounded: _C.ops.merged_momentum_(
            params, list(grads), list(velocities), rates, mu, use_nesterov, l2, rescale_grad, rounded))  # fmt: skip
    return params, velocities, masters


@_op("sparse_momentum")
def _sparse_momentum(param, grad, velocity, index, learning_rate, master=None, param_out=None, velocity_out=None,
                     master_out=None, mu=0.9, use_nesterov=False, axis=0, regularization_method="",
                     regularization_coeff=0.0, multi_precision=False, rescale_grad=1.0):  # fmt: skip
    (l2,) = _l2_of("sparse_momentum", [regularization_method], [regularization_coeff])
    axis = int(axis.item()) if isinstance(axis, _C.Tensor) else axis
    with proa.no_grad():
        _step_of("sparse_momentum", [param], [master] if master is not None else None, multi_precision,
                 lambda params, rounded: _C.ops.sparse_momentum_(
                     params[0], grad, velocity, index, learning_rate, mu, use_nesterov, axis, l2, rescale_grad,
                     rounded))  # fmt: skip
    return param, velocity, master


# Detection ----------------------------------------------------------------------------------------------------------


@_op("distribute_fpn_proposals")
def _distribute_fpn_proposals(rois, rois_num=None, *_counts, min_level=2, max_level=5, refer_level=4, refer_scale=224,
                              pixel_offset=True):  # fmt: skip
    args = (rois, rois_num, min_level, max_level, refer_level, refer_scale, pixel_offset)
    restore, counts = _C.ops.fpn_levels(*args)
    return _C.ops.distribute_fpn_proposals(*args), restore, _C.ops.unbind(counts, 0)


@_op("collect_fpn_proposals")
def _collect_fpn_proposals(rois, scores, rois_num=None, post_nms_topN=1000):  # noqa: N803 (the reference's name)
    """The best of all levels, by image where numbers say which is of which."""
    together, points = _C.ops.concat(list(rois), 0), _C.ops.reshape(_C.ops.concat(list(scores), 0), [-1])
    best = _C.ops.argsort(points, 0, True)[:post_nms_topN]
    if not rois_num:
        return _C.ops.gather(together, best), None
    images = _C.ops.concat([_C.ops.repeat_interleave(_C.ops.arange(0, n.shape[0], 1, "int64"), n) for n in rois_num], 0)
    mine = _C.ops.gather(images, best)
    kinds = _C.ops.arange(0, rois_num[0].shape[0], 1, "int64")
    counts = _C.ops.sum((mine.unsqueeze(0) == kinds.unsqueeze(1)).astype("int32"), [1]).astype("int32")
    return _C.ops.gather(together, _C.ops.gather(best, _C.ops.argsort(mine, 0))), counts
