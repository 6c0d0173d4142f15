"""Functions that make their parameters and add a layer to the program: fc, convolutions, normalizations."""

import math

from proa import _C
from proa.framework.parameter import ParamAttr
from proa.nn import functional as F
from proa.nn import initializer
from proa.static.only import static_only
from proa.static.parameters import program_parameter
from proa.utils import unique_name

__all__ = [
    "batch_norm",
    "bilinear_tensor_product",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "fc",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "prelu",
    "row_conv",
    "sparse_embedding",
    "spectral_norm",
]


def activated(x, name):
    """`nn.functional`'s function of this name, of x; x itself without one."""
    if name is None:
        return x
    function = getattr(F, name, None) or getattr(_C.ops, name, None)
    if function is None or name.startswith("_"):
        raise _C.located(ValueError(f"there is no activation {name!r}"))
    return function(x)


def _prefix(name, kind):
    return name if name is not None else unique_name.generate(kind)


def _as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


@static_only("use paddle.nn.Linear")
def fc(x, size, num_flatten_dims=1, weight_attr=None, bias_attr=None, activation=None, name=None):
    """A linear layer: the dims from `num_flatten_dims` on are its features. Of several inputs, the sum.

    Args:
        x (Tensor|list[Tensor]): inputs; their features are of known sizes.
        size (int): features of the result.
        num_flatten_dims (int): dims that stay.
        weight_attr (ParamAttr|list, optional): of the weights [features, size].
        bias_attr (ParamAttr|bool, optional): of the bias [size]; False for none.
        activation (str, optional): a function of `nn.functional`.
        name (str, optional): first part of the names of the parameters.

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x = proa.static.data("x", [None, 3, 4])
        ...     y = proa.static.nn.fc(x, 5, activation="relu")
        >>> y.shape
        [-1, 5]
    """
    inputs = _as_list(x)
    attrs = weight_attr if isinstance(weight_attr, (list, tuple)) else [weight_attr] * len(inputs)
    prefix = _prefix(name, "fc")
    total = None
    for item, attr in zip(inputs, attrs):
        keep = num_flatten_dims if num_flatten_dims >= 0 else len(item.shape) + num_flatten_dims
        if not 0 < keep < len(item.shape):
            raise _C.located(
                ValueError(
                    f"fc: num_flatten_dims is {num_flatten_dims}, and x is of {len(item.shape)} dims; it must leave some"
                )
            )
        features = math.prod(item.shape[keep:]) if all(d >= 0 for d in item.shape[keep:]) else -1
        weight = program_parameter([features, size], attr, item.dtype, prefix=prefix)
        flat = item if keep == len(item.shape) - 1 else _C.ops.flatten(item, keep, -1)
        part = _C.ops.matmul(flat, weight)
        total = part if total is None else total + part
    bias = program_parameter([size], bias_attr, inputs[0].dtype, is_bias=True, prefix=prefix)
    return activated(total if bias is None else total + bias, activation)


def _channels(x, data_format):
    return x.shape[1] if data_format.startswith("NC") else x.shape[-1]


def _pair(value, count):
    return list(value) if isinstance(value, (list, tuple)) else [value] * count


def _convolution(kind, rank, input, num_filters, filter_size, groups, param_attr, bias_attr, name, data_format, function,
                 act, **how):  # fmt: skip
    channels, groups = _channels(input, data_format), groups or 1
    if channels % groups:
        raise _C.located(ValueError(f"{kind}: {channels} channels are no multiple of {groups} groups"))
    kernel = _pair(filter_size, rank)
    prefix = _prefix(name, kind)
    std = math.sqrt(2.0 / (math.prod(kernel) * channels))
    shape = [num_filters, channels // groups, *kernel]
    weight = program_parameter(shape, param_attr, input.dtype, False, initializer.Normal(0.0, std), prefix)
    bias = program_parameter([num_filters], bias_attr, input.dtype, True, prefix=prefix)
    return activated(function(input, weight, bias, groups=groups, data_format=data_format, **how), act)


@static_only("use paddle.nn.Conv2D")
def conv2d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None,
           bias_attr=None, use_cudnn=True, act=None, name=None, data_format="NCHW"):  # fmt: skip
    """A 2-D convolution with its weight [num_filters, C / groups, height, width].

    Args:
        input (Tensor): [N, C, H, W], or [N, H, W, C].
        num_filters (int): channels of the result.
        filter_size (int|list[int]): of the kernel.
        stride, padding, dilation, groups, data_format: as in `nn.functional.conv2d`.
        param_attr, bias_attr (ParamAttr, optional): of the parameters; False for no bias.
        act (str, optional): a function of `nn.functional`.
        name (str, optional): first part of the names of the parameters.

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x = proa.static.data("x", [None, 3, 8, 8])
        ...     y = proa.static.nn.conv2d(x, num_filters=4, filter_size=3, act="relu")
        >>> y.shape[1:]
        [4, 6, 6]
        >>> proa.static.nn.conv2d(proa.ones([1, 3, 8, 8]), 4, 3)
        Traceback (most recent call last):
            ...
        RuntimeError: ...conv2d: works on programs, but static mode is off...
    """
    return _convolution("conv2d", 2, input, num_filters, filter_size, groups, param_attr, bias_attr, name, data_format,
                        F.conv2d, act, stride=stride, padding=padding, dilation=dilation)  # fmt: skip


@static_only("use paddle.nn.Conv3D")
def conv3d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None,
           bias_attr=None, use_cudnn=True, act=None, name=None, data_format="NCDHW"):  # fmt: skip
    """A 3-D convolution with its weight; see `conv2d`.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x = proa.static.data("x", [None, 3, 4, 8, 8])
        ...     y = proa.static.nn.conv3d(x, num_filters=4, filter_size=3, padding=1)
        >>> y.shape[1:]
        [4, 4, 8, 8]
    """
    return _convolution("conv3d", 3, input, num_filters, filter_size, groups, param_attr, bias_attr, name, data_format,
                        F.conv3d, act, stride=stride, padding=padding, dilation=dilation)  # fmt: skip


def _transposed(kind, rank, input, num_filters, output_size, filter_size, padding, stride, dilation, groups, param_attr,
                bias_attr, act, name, data_format, function):  # fmt: skip
    channels, groups = _channels(input, data_format), groups or 1
    strides, dilations = _pair(stride, rank), _pair(dilation, rank)
    if filter_size is None:
        if output_size is None:
            raise _C.located(ValueError(f"{kind}: give filter_size or output_size"))
        pads = _pair(padding, rank)
        sizes = input.shape[2:] if data_format.startswith("NC") else input.shape[1:-1]
        wanted = _pair(output_size, rank)
        filter_size = [
            (wanted[i] - (sizes[i] - 1) * strides[i] + 2 * pads[i] - 1) // dilations[i] + 1 for i in range(rank)
        ]
    kernel = _pair(filter_size, rank)
    prefix = _prefix(name, kind)
    weight = program_parameter([channels, num_filters // groups, *kernel], param_attr, input.dtype, prefix=prefix)
    bias = program_parameter([num_filters], bias_attr, input.dtype, True, prefix=prefix)
    result = function(input, weight, bias, stride=stride, padding=padding, groups=groups, dilation=dilation,
                      output_size=output_size, data_format=data_format)  # fmt: skip
    return activated(result, act)


@static_only("use paddle.nn.Conv2DTranspose")
def conv2d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1,
                     groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None,
                     data_format="NCHW"):  # fmt: skip
    """A transposed 2-D convolution with its weight [C, num_filters / groups, height, width]; see `conv2d`.

    Args:
        output_size (int|list[int], optional): of the result; gives filter_size if that is missing.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x = proa.static.data("x", [None, 3, 4, 4])
        ...     y = proa.static.nn.conv2d_transpose(x, num_filters=2, output_size=[8, 8], stride=2)
        >>> y.shape[1:]
        [2, 8, 8]
    """
    return _transposed("conv2d_transpose", 2, input, num_filters, output_size, filter_size, padding, stride, dilation,
                       groups, param_attr, bias_attr, act, name, data_format, F.conv2d_transpose)  # fmt: skip


@static_only("use paddle.nn.Conv3DTranspose")
def conv3d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1,
                     groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None,
                     data_format="NCDHW"):  # fmt: skip
    """A transposed 3-D convolution with its weight; see `conv2d_transpose`.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x = proa.static.data("x", [None, 3, 2, 4, 4])
        ...     y = proa.static.nn.conv3d_transpose(x, num_filters=2, filter_size=2, stride=2)
        >>> y.shape[1:]
        [2, 4, 8, 8]
    """
    return _transposed("conv3d_transpose", 3, input, num_filters, output_size, filter_size, padding, stride, dilation,
                       groups, param_attr, bias_attr, act, name, data_format, F.conv3d_transpose)  # fmt: skip


@static_only("use paddle.nn.BatchNorm2D", none=("momentum", "epsilon"))
def batch_norm(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None,
               data_layout="NCHW", in_place=False, name=None, moving_mean_name=None, moving_variance_name=None,
               do_model_average_for_mean_and_var=True, use_global_stats=False):  # fmt: skip
    """Batch normalization with its parameters and running statistics.

    Args:
        input (Tensor): [N, C, ...].
        act (str, optional): a function of `nn.functional`.
        is_test (bool): use the running statistics, and leave them as they are.
        momentum, epsilon, data_layout, use_global_stats: as in `nn.functional.batch_norm`.
        param_attr, bias_attr (ParamAttr, optional): of scale and shift [C].
        name (str, optional): first part of the names of the parameters.
        moving_mean_name, moving_variance_name (str, optional): names of the running statistics.

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> static, main = proa.static, proa.static.Program()
        >>> with static.program_guard(main):
        ...     y = static.nn.batch_norm(static.data("x", [None, 1]))
        >>> x = np.array([[1.0], [3.0]], "float32")
        >>> static.Executor().run(main, feed={"x": x}, fetch_list=[y])[0].round(3).tolist()
        [[-1.0], [1.0]]
    """
    channels = _channels(input, data_layout) if len(input.shape) > 1 else input.shape[0]
    prefix = _prefix(name, "batch_norm")
    kind = _C.float32 if input.dtype in (_C.float16, _C.bfloat16) else input.dtype
    scale = program_parameter([channels], param_attr, kind, False, initializer.Constant(1.0), prefix)
    shift = program_parameter([channels], bias_attr, kind, True, prefix=prefix)
    # Parameters, as in the reference: what saves parameters saves the statistics, too.
    mean, variance = (
        program_parameter(
            [channels],
            ParamAttr(name=given, initializer=initializer.Constant(first), trainable=False),
            kind,
            False,
            prefix=prefix,
        )
        for given, first in ((moving_mean_name, 0.0), (moving_variance_name, 1.0))
    )
    data_format = data_layout if len(input.shape) == 4 else {2: "NC", 3: "NCL", 5: "NCDHW"}[len(input.shape)]
    result = F.batch_norm(input, mean, variance, scale, shift, not (is_test or use_global_stats), momentum, epsilon,
                          data_format, use_global_stats or None)  # fmt: skip
    return activated(result, act)


@static_only("use paddle.nn.LayerNorm", none=("begin_norm_axis", "epsilon"))
def layer_norm(input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None, bias_attr=None,
               act=None, name=None):  # fmt: skip
    """Layer normalization over the dims from `begin_norm_axis` on, with its parameters.

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> static, main = proa.static, proa.static.Program()
        >>> with static.program_guard(main):
        ...     y = static.nn.layer_norm(static.data("x", [None, 2]))
        >>> x = np.array([[1.0, 3.0], [5.0, 5.0]], "float32")
        >>> static.Executor().run(main, feed={"x": x}, fetch_list=[y])[0].round(3).tolist()
        [[-1.0, 1.0], [0.0, 0.0]]
    """
    dims = list(input.shape[begin_norm_axis:])
    count = math.prod(dims) if all(d >= 0 for d in dims) else -1
    prefix = _prefix(name, "layer_norm")
    weight = bias = None
    if scale:
        weight = program_parameter([count], param_attr, input.dtype, False, initializer.Constant(1.0), prefix)
    if shift:
        bias = program_parameter([count], bias_attr, input.dtype, True, prefix=prefix)
    weight = None if weight is None else weight.reshape(dims)
    bias = None if bias is None else bias.reshape(dims)
    return activated(F.layer_norm(input, dims, weight, bias, epsilon), act)


@static_only("use paddle.nn.GroupNorm", none=("epsilon",))
def group_norm(input, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None, data_layout="NCHW", name=None):
    """Group normalization with its parameters [C].

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> static, main = proa.static, proa.static.Program()
        >>> with static.program_guard(main):
        ...     y = static.nn.group_norm(static.data("x", [None, 4, 1, 1]), groups=2)
        >>> x = np.array([1.0, 3.0, 2.0, 6.0], "float32").reshape(1, 4, 1, 1)
        >>> static.Executor().run(main, feed={"x": x}, fetch_list=[y])[0].round(3).reshape(-1).tolist()
        [-1.0, 1.0, -1.0, 1.0]
    """
    channels = _channels(input, data_layout)
    prefix = _prefix(name, "group_norm")
    weight = program_parameter([channels], param_attr, input.dtype, False, initializer.Constant(1.0), prefix)
    bias = program_parameter([channels], bias_attr, input.dtype, True, prefix=prefix)
    return activated(F.group_norm(input, groups, epsilon, weight, bias, data_layout), act)


@static_only("use paddle.nn.InstanceNorm2D", none=("epsilon",))
def instance_norm(input, epsilon=1e-05, param_attr=None, bias_attr=None, name=None):
    """Instance normalization with its parameters [C].

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> static, main = proa.static, proa.static.Program()
        >>> with static.program_guard(main):
        ...     y = static.nn.instance_norm(static.data("x", [None, 1, 1, 2]))
        >>> x = np.array([1.0, 3.0], "float32").reshape(1, 1, 1, 2)
        >>> static.Executor().run(main, feed={"x": x}, fetch_list=[y])[0].round(3).reshape(-1).tolist()
        [-1.0, 1.0]
    """
    prefix = _prefix(name, "instance_norm")
    channels = [input.shape[1]]
    weight = program_parameter(channels, param_attr, input.dtype, False, initializer.Constant(1.0), prefix)
    bias = program_parameter(channels, bias_attr, input.dtype, True, prefix=prefix)
    return F.instance_norm(input, weight=weight, bias=bias, eps=epsilon)


@static_only("use paddle.nn.PReLU")
def prelu(x, mode, param_attr=None, data_format="NCHW", name=None):
    """max(0, x) + slope * min(0, x) with its slope: one ("all"), of each channel, or of each element.

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> static, main = proa.static, proa.static.Program()
        >>> with static.program_guard(main):
        ...     y = static.nn.prelu(static.data("x", [None, 2]), "all")
        >>> static.Executor().run(main, feed={"x": np.array([[-4.0, 2.0]], "float32")}, fetch_list=[y])[0].tolist()
        [[-1.0, 2.0]]
    """
    if mode not in ("all", "channel", "element"):
        raise _C.located(ValueError(f"prelu: mode must be 'all', 'channel' or 'element', not {mode!r}"))
    shape = {"all": [1], "channel": [_channels(x, data_format)], "element": [1, *x.shape[1:]]}[mode]
    prefix = _prefix(name, "prelu")
    slope = program_parameter(shape, param_attr, x.dtype, False, initializer.Constant(0.25), prefix)
    if mode == "element":
        return F.relu(x) - slope * F.relu(-x)
    return F.prelu(x, slope, data_format)


@static_only("use paddle.nn.Bilinear")
def bilinear_tensor_product(x, y, size, act=None, name=None, param_attr=None, bias_attr=None):
    """x * W_i * y for each i of `size`, with its weight [size, M, N] and bias [1, size].

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x, y = proa.static.data("x", [None, 3]), proa.static.data("y", [None, 4])
        ...     z = proa.static.nn.bilinear_tensor_product(x, y, size=5)
        >>> z.shape[1:]
        [5]
    """
    prefix = _prefix(name, "bilinear_tensor_product")
    weight = program_parameter([size, x.shape[1], y.shape[1]], param_attr, x.dtype, prefix=prefix)
    bias = program_parameter([1, size], bias_attr, x.dtype, True, prefix=prefix)
    return activated(F.bilinear(x, y, weight, bias), act)


@static_only("use paddle.nn.Embedding")
def sparse_embedding(input, size, padding_idx=None, is_test=False, entry=None, table_class="CommonSparseTable",
                     param_attr=None, dtype="float32", slot=None):  # fmt: skip
    """`embedding` whose gradient holds only the rows that `input` names; a parameter server is not needed.

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     ids = proa.static.data("ids", [None, 6], "int64")
        ...     vectors = proa.static.nn.sparse_embedding(ids, [100, 8])
        >>> vectors.shape[1:]
        [6, 8]
    """
    from proa.static.nn.layers import embedding

    return embedding(input, size, True, False, padding_idx, param_attr, dtype)


@static_only("use paddle.nn.SpectralNorm")
def spectral_norm(weight, dim=0, power_iters=1, eps=1e-12, name=None):
    """`weight` over its largest singular value, found by iterations.

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> static, main = proa.static, proa.static.Program()
        >>> with static.program_guard(main):
        ...     y = static.nn.spectral_norm(static.data("w", [2, 2]), power_iters=20)
        >>> w = np.diag([4.0, 1.0]).astype("float32")
        >>> static.Executor().run(main, feed={"w": w}, fetch_list=[y])[0].round(3).tolist()
        [[1.0, 0.0], [0.0, 0.25]]
    """
    from proa import nn

    with _C.eager_mode():
        layer = nn.SpectralNorm(list(weight.shape), dim, power_iters, eps)
    return layer(weight)


@static_only("use paddle.nn.Conv1D")
def row_conv(input, future_context_size, param_attr=None, act=None):
    """out[t] = sum over i of input[t + i] * weight[i], for each channel; weight is [future_context_size + 1, D].

    Args:
        input (Tensor): [N, T, D].
        future_context_size (int): how many later steps count.

    Raises:
        RuntimeError: in eager mode.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x = proa.static.data("x", [None, 9, 4])
        ...     y = proa.static.nn.row_conv(x, future_context_size=2)
        >>> y.shape[1:]
        [9, 4]
    """
    channels = input.shape[-1]
    weight = program_parameter(
        [future_context_size + 1, channels], param_attr, input.dtype, prefix=_prefix(None, "row_conv")
    )
    padded = _C.ops.pad(input, [0, 0, 0, future_context_size, 0, 0])
    kernel = weight.transpose([1, 0]).unsqueeze(1)
    result = F.conv1d(padded.transpose([0, 2, 1]), kernel, groups=channels)
    return activated(result.transpose([0, 2, 1]), act)
