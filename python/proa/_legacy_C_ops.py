"""Ops by the names that the reference gave them in 2.x, called as its functions called them.

`_legacy_C_ops.matmul_v2(x, y, "trans_x", False, "trans_y", True)`: tensors first, then names and values of attributes.
Attributes that choose a library or a device have no effect. What such an op has as second results beside the one that
programs use (shapes, masks, statistics) is None, unless it is said otherwise.
"""

import functools

import proa
from proa import _C
from proa.framework.names import MissingName as _MissingName

_IGNORED = ("use_cudnn", "use_mkldnn", "use_xpu", "op_device", "op_role", "name", "fuse_relu_before_depthwise_conv",
            "workspace_size_MB", "exhaustive_search", "use_quantizer", "mkldnn_data_type", "x_data_format",
            "y_data_format", "use_addto", "padding_algorithm", "is_sparse", "is_distributed", "remote_prefetch")  # fmt: skip


def _taken(name, arguments):
    """(tensors and other leading values, attributes)."""
    cut = next((i for i, value in enumerate(arguments) if isinstance(value, str)), len(arguments))
    rest = arguments[cut:]
    if len(rest) % 2 or not all(isinstance(key, str) for key in rest[::2]):
        raise _C.located(TypeError(f"{name}: give tensors, then names and values of attributes"))
    attributes = dict(zip(rest[::2], rest[1::2]))
    return list(arguments[:cut]), {key: value for key, value in attributes.items() if key not in _IGNORED}


def _elementwise(function):
    def call(x, y, axis=-1):
        from proa.fluid.layers.arguments import aligned

        return function(x, aligned(x, y, axis))

    return call


def _reduced(function):
    def call(x, dim=(), keep_dim=False, reduce_all=False, in_dtype=-1, out_dtype=-1):
        axis = [] if reduce_all else list(dim) if isinstance(dim, (list, tuple)) else [dim]
        return function(x, axis=axis, keepdim=keep_dim)

    return call


def _first(function, others=1):
    """`function`, whose result stands before so many that programs do not use."""

    def call(*tensors, **attributes):
        return (function(*tensors, **attributes), *[None] * others)

    return call


def _matmul(x, y, transpose_X=False, transpose_Y=False, alpha=1.0, trans_x=False, trans_y=False):
    result = _C.ops.matmul(x, y, transpose_X or trans_x, transpose_Y or trans_y)
    return result if alpha == 1.0 else result * alpha


def _reshape(x, shape_tensor=None, shape=None):
    return proa.reshape(x, shape if shape is not None else shape_tensor)


def _concat(xs, axis=0):
    return _C.ops.concat(list(xs), axis)


def _split(x, num=0, sections=(), axis=0):
    return proa.split(x, list(sections) if sections else num, axis)


def _cast(x, in_dtype=None, out_dtype=None):
    return x.astype(out_dtype)


def _scale(x, scale=1.0, bias=0.0, bias_after_scale=True):
    return _C.ops.scale(x, scale, bias, bias_after_scale)


def _lookup(weight, ids, padding_idx=-1):
    return proa.nn.functional.embedding(ids, weight, None if padding_idx < 0 else padding_idx)


def _conv(function):
    def call(x, weight, bias=None, strides=1, paddings=0, dilations=1, groups=1, data_format="NCHW"):
        layout = {"AnyLayout": "NCHW"}.get(data_format, data_format)
        return function(x, weight, bias, stride=strides, padding=paddings, dilation=dilations, groups=groups,
                        data_format=layout)  # fmt: skip

    return call


def _layer_norm(x, weight=None, bias=None, epsilon=1e-5, begin_norm_axis=1):
    shape = list(x.shape[begin_norm_axis:])
    weight, bias = (None if v is None else v.reshape(shape) for v in (weight, bias))
    return proa.nn.functional.layer_norm(x, shape, weight, bias, epsilon)


def _batch_norm(x, weight, bias, mean, variance, mean_out=None, variance_out=None, momentum=0.9, epsilon=1e-5,
                is_test=False, data_layout="NCHW", use_global_stats=False, trainable_statistics=False,
                fuse_with_relu=False):  # fmt: skip
    rank = len(x.shape)
    layout = data_layout if rank == 4 else {2: "NC", 3: "NCL", 5: "NCDHW"}[rank]
    training = (not is_test or trainable_statistics) and not use_global_stats
    return proa.nn.functional.batch_norm(x, mean, variance, weight, bias, training, momentum, epsilon, layout,
                                         use_global_stats or None)  # fmt: skip


def _instance_norm(x, scale=None, bias=None, epsilon=1e-5):
    return proa.nn.functional.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


def _cross_entropy(logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True, axis=-1,
                   use_softmax=True):  # fmt: skip
    loss, softmax = proa.nn.functional.softmax_with_cross_entropy(logits, label, soft_label, ignore_index,
                                                                  return_softmax=True, axis=axis)  # fmt: skip
    return softmax, loss


def _dropout(x, seed_tensor=None, dropout_prob=0.5, is_test=False, fix_seed=False, seed=0,
             dropout_implementation="downgrade_in_infer"):  # fmt: skip
    from proa.fluid.layers.nn import dropout_mode

    mode = dropout_mode(dropout_implementation)
    return proa.nn.functional.dropout(x, dropout_prob, training=not is_test, mode=mode), None


def _pool2d(x, pooling_type="max", ksize=(1, 1), strides=(1, 1), paddings=(0, 0), global_pooling=False, adaptive=False,
            ceil_mode=False, exclusive=True, data_format="NCHW"):  # fmt: skip
    F = proa.nn.functional
    if adaptive:
        return (F.adaptive_max_pool2d if pooling_type == "max" else F.adaptive_avg_pool2d)(x, list(ksize))
    from proa.fluid import layers

    return layers.pool2d(x, list(ksize), pooling_type, list(strides), list(paddings), global_pooling,
                         ceil_mode=ceil_mode, exclusive=exclusive, data_format=data_format)  # fmt: skip


def _fill(shape=(), dtype="float32", value=0.0, str_value="", force_cpu=False):
    return proa.full(list(shape), float(str_value) if str_value else value, dtype)


def _same(x, *rest, **attributes):
    return x


# From the reference's name to the function of (tensors, attributes).
_OPS = {
    "elementwise_add": _elementwise(_C.ops.add),
    "elementwise_sub": _elementwise(_C.ops.subtract),
    "elementwise_mul": _elementwise(_C.ops.multiply),
    "elementwise_div": _elementwise(_C.ops.divide),
    "elementwise_max": _elementwise(_C.ops.maximum),
    "elementwise_min": _elementwise(_C.ops.minimum),
    "elementwise_pow": _elementwise(_C.ops.pow),
    "elementwise_mod": _elementwise(_C.ops.remainder),
    "elementwise_floordiv": _elementwise(_C.ops.floor_divide),
    "reduce_sum": _reduced(_C.ops.sum),
    "reduce_mean": _reduced(_C.ops.mean),
    "reduce_max": _reduced(_C.ops.max),
    "reduce_min": _reduced(_C.ops.min),
    "reduce_prod": _reduced(_C.ops.prod),
    "reduce_all": _reduced(_C.ops.all),
    "reduce_any": _reduced(_C.ops.any),
    "matmul": _matmul,
    "matmul_v2": _matmul,
    "mul": lambda x, y, x_num_col_dims=1, y_num_col_dims=1: proa.fluid.layers.mul(x, y, x_num_col_dims, y_num_col_dims),
    "reshape2": _first(_reshape),
    "transpose2": _first(lambda x, axis: _C.ops.transpose(x, list(axis))),
    "squeeze2": _first(lambda x, axes=(): proa.squeeze(x, list(axes) or None)),
    "unsqueeze2": _first(lambda x, axes=(): proa.unsqueeze(x, list(axes))),
    "flatten_contiguous_range": _first(lambda x, start_axis=1, stop_axis=1: _C.ops.flatten(x, start_axis, stop_axis)),
    "expand_v2": lambda x, shape: proa.expand(x, list(shape)),
    "concat": _concat,
    "stack": lambda xs, axis=0: _C.ops.stack(list(xs), axis),
    "split": _split,
    "cast": _cast,
    "scale": _scale,
    "assign": lambda x: _C.ops.assign(x),
    "fill_constant": _fill,
    "lookup_table_v2": _lookup,
    "gather": lambda x, index, axis_tensor=None, axis=0, overwrite=True: proa.gather(x, index, axis),
    "gather_nd": lambda x, index: _C.ops.gather_nd(x, index),
    "scatter": lambda x, index, updates, overwrite=True: proa.scatter(x, index, updates, overwrite),
    "top_k_v2": lambda x, k=1, axis=-1, largest=True, sorted=True: _C.ops.topk(x, k, axis, largest, sorted),
    "argsort": lambda x, axis=-1, descending=False: _C.ops.sort(x, axis, descending),
    "arg_max": lambda x, axis=-1, keepdims=False, flatten=False, dtype=3: proa.argmax(x, None if flatten else axis, keepdims),
    "softmax": lambda x, axis=-1: _C.ops.softmax(x, axis),
    "log_softmax": lambda x, axis=-1: _C.ops.log_softmax(x, axis),
    "gelu": lambda x, approximate=False: _C.ops.gelu(x, approximate),
    "leaky_relu": lambda x, alpha=0.02: _C.ops.leaky_relu(x, alpha),
    "hard_swish": lambda x, threshold=6.0, scale=6.0, offset=3.0: _C.ops.hardswish(x),
    "hard_sigmoid": lambda x, slope=0.2, offset=0.5: _C.ops.hardsigmoid(x, slope, offset),
    "clip": lambda x, min=0.0, max=0.0: _C.ops.clip(x, min, max),
    "pow": lambda x, factor=1.0: _C.ops.pow(x, factor),
    "conv2d": _conv(lambda *a, **k: proa.nn.functional.conv2d(*a, **k)),
    "depthwise_conv2d": _conv(lambda *a, **k: proa.nn.functional.conv2d(*a, **k)),
    "conv3d": _conv(lambda *a, **k: proa.nn.functional.conv3d(*a, **k)),
    "conv2d_transpose": _conv(lambda *a, **k: proa.nn.functional.conv2d_transpose(*a, **k)),
    "pool2d": _pool2d,
    "layer_norm": _first(_layer_norm, 2),
    "batch_norm": _first(_batch_norm, 5),
    "sync_batch_norm": _first(_batch_norm, 5),
    "instance_norm": _first(_instance_norm, 2),
    "softmax_with_cross_entropy": _cross_entropy,
    "dropout": _dropout,
    "c_allreduce_sum": _same, "c_allreduce_max": _same, "c_allreduce_min": _same, "c_allreduce_prod": _same,
    "c_allreduce_sum_": _same, "c_broadcast": _same, "c_identity": _same, "c_sync_calc_stream": _same,
    "c_sync_comm_stream": _same, "mp_allreduce_sum": _same,
}  # fmt: skip
# Of one tensor, of the same name here.
_UNARY = frozenset((
    "abs acos asin atan ceil cos cosh erf exp expm1 floor log log10 log1p log2 logsigmoid mish reciprocal relu relu6 round "
    "rsqrt sigmoid sign silu sin sinh softsign sqrt square tan tanh shape"
).split())  # fmt: skip


def __getattr__(name):
    function = _OPS.get(name)
    if function is None and name in _UNARY:
        function = getattr(_C.ops, name)
    if function is None:
        raise _MissingName(__name__, name)

    @functools.wraps(function)
    def call(*arguments):
        tensors, attributes = _taken(name, arguments)
        try:
            return function(*tensors, **attributes)
        except TypeError as error:
            if "unexpected keyword argument" not in str(error):
                raise
            raise _C.located(TypeError(f"_C_ops.{name}: {str(error).partition('() ')[2] or error}")) from None

    call.__name__ = call.__qualname__ = name
    return call


def __dir__():
    return sorted({*_OPS, *_UNARY})
