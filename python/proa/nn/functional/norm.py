"""Normalizations."""

from proa import _C
from proa.framework.attributes import an_int, is_late, known, known_int, real, reals
from proa.framework.grad_mode import no_grad
from proa.framework.names import borrow as _borrow
from proa.framework.once import once
from proa.framework.requirements import require_multiple, require_sizes
from proa.nn.functional.shapes import plain_ints
from proa.tensor.attribute import optional_tensor
from proa.tensor.precision import keeps_types, narrowed, widened


def _channel_axis(op, x, data_format):
    """Where the channels are: 1, or the last axis for formats that end in C."""
    if data_format not in ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC"):
        raise _C.located(
            ValueError(f"{op}: data_format must be NC, NCL, NCHW, NCDHW, NLC, NHWC or NDHWC, not {data_format!r}")
        )
    rank = len(x.shape)
    if rank < 2:
        raise _C.located(ValueError(f"{op}: x must have at least 2 dims; it is {list(x.shape)} {x.dtype.name}"))
    return rank - 1 if data_format[-1] == "C" and data_format != "NC" else 1


def _has_one_element(x, axis):
    """Whether each channel of x has a single element."""
    # An open size counts as more than one: a batch of one that only the run knows is refused by the op.
    return all(isinstance(size, int) and size == 1 for d, size in enumerate(x.shape) if d != axis)


def _along(x, axis, vector):
    """A vector [C] in the shape that broadcasts to x along `axis`."""
    shape = [1] * len(x.shape)
    shape[axis] = -1
    return _C.ops.reshape(vector, shape)


def batch_norm(
    x,
    running_mean,
    running_var,
    weight,
    bias,
    training=False,
    momentum=0.9,
    epsilon=1e-05,
    data_format="NCHW",
    use_global_stats=None,
    name=None,
    *,
    relu=False,
    residual=None,
):
    """(x - mean) / sqrt(var + epsilon) * weight + bias, for each channel (Ioffe and Szegedy, 2015).

    Args:
        x (Tensor): [N, C], [N, C, L], [N, C, H, W] or [N, C, D, H, W], or with the channels last.
        running_mean, running_var (Tensor): [C]; used in evaluation, and in training set to
            momentum * old + (1 - momentum) * that of the batch (the variance without Bessel's correction).
        weight, bias (Tensor|None): [C].
        training (bool): use the batch's mean and variance. A batch of one element a channel has none: x is
            passed through, and the running statistics stay; where a program learns that only as it runs, it is an error.
        momentum (float): what remains of the running statistics.
        epsilon (float): keeps the division finite.
        data_format (str): where the channels are.
        use_global_stats (bool, optional): use the running statistics in training too.
        relu (bool): apply relu to the result, in the same pass over the images.
        residual (Tensor, optional): of the shape of x; is added before relu, in the same pass.

    Examples:
        >>> x, zero, one = proa.to_tensor([[2.0], [-2.0]]), proa.zeros([1]), proa.ones([1])
        >>> proa.nn.functional.batch_norm(x, zero, one, one, zero, epsilon=0.0, relu=True).tolist()
        [[2.0], [0.0]]
    """
    x = _C.tensor_argument(x, "batch_norm", "x")
    running_mean = _C.tensor_argument(running_mean, "batch_norm", "running_mean")
    running_var = _C.tensor_argument(running_var, "batch_norm", "running_var")
    axis = _channel_axis("batch_norm", x, data_format)
    if use_global_stats is None:
        use_global_stats = not training
    ops, inputs = _C.ops, [x]
    if residual is not None:
        if not relu:
            raise _C.located(ValueError("batch_norm: residual is for relu=True; add it to the result otherwise"))
        inputs.append(residual)
    if use_global_stats:
        op = ops.batch_norm_inference
        if relu:
            op = ops.batch_norm_relu_inference if residual is None else ops.batch_norm_add_relu_inference
        return op(*inputs, running_mean, running_var, weight, bias, epsilon, data_format)
    if _has_one_element(x, axis):
        out = x if residual is None else x + residual
        return ops.relu(out) if relu else out
    op = ops.batch_norm
    if relu:
        op = ops.batch_norm_relu if residual is None else ops.batch_norm_add_relu
    out, mean, var, _, _ = op(*inputs, running_mean, running_var, weight, bias, momentum, epsilon, data_format)
    with no_grad():
        follow_batch((running_mean, running_var), (mean, var))
    return out


def follow_batch(running, values):
    """Running statistics become what a batch made of them; once, where `recompute` calls the layer again."""

    def store():
        for kept, value in zip(running, values, strict=True):
            _C.ops.store_(kept, value)

    once(store)


def _normalized(x, mean, var, weight, bias, epsilon, axis):
    scale = (var + epsilon).rsqrt()
    scale = scale if weight is None else scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    return x * _along(x, axis, scale) + _along(x, axis, shift)


def _scaled(op, x, axis, **given):
    """x, whose size along axis is that of each vector which is given; else a ValueError, as of `require_sizes`."""
    for name, vector in given.items():
        if vector is None:
            continue
        if vector.ndim != 1:
            raise _C.located(ValueError(f"{op}: {name} must be [C]; it is {list(vector.shape)} {vector.dtype.name}"))
        (size,) = vector.shape
        says = f"{op}: {name} must be [C]; it is {{}} and x {{}} {x.dtype.name}"
        late = is_late(x.shape[axis]) and not is_late(size)
        x = require_sizes(x, [x.shape[axis]], [size], says, vector, x)
        if late:  # it is known from here on
            x = _C.ops.reshape(x, [*x.shape[:axis], size, *x.shape[axis + 1 :]])
    return x


def layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05, name=None):
    """Normalizes each sample over its last dims (Ba et al., 2016).

    Args:
        x (Tensor): [..., *normalized_shape].
        normalized_shape (int|list[int]): the last dims of x.
        weight, bias (Tensor, optional): of that shape, or flat.
        epsilon (float): keeps the division finite.

    Examples:
        >>> proa.nn.functional.layer_norm(proa.to_tensor([[1.0, 3.0]]), 2).numpy().round(3).tolist()
        [[-1.0, 1.0]]
    """
    x = _C.tensor_argument(x, "layer_norm", "x")
    shape = plain_ints(known("layer_norm", "normalized_shape", normalized_shape))
    if not isinstance(shape, (int, list, tuple)):
        raise _C.located(TypeError(f"layer_norm: normalized_shape must be an int or a list of int, not {shape!r}"))
    shape = [shape] if isinstance(shape, int) else list(shape)
    n, last = len(shape), list(x.shape[-len(shape) :])
    late = is_late(last)
    if late or last != shape or n == 0:
        message = f"layer_norm: the last dims of x must be normalized_shape, {shape}; x is {{}} {x.dtype.name}"
        if n == 0 or len(last) != n:
            raise _C.located(ValueError(message.format(list(x.shape))))
        x = require_sizes(x, last, shape, message, x)
    if late:  # they are known from here on
        x = _C.ops.reshape(x, [*x.shape[:-n], *shape])
    return _C.ops.layer_norm(x, weight, bias, len(x.shape) - n, epsilon)


def group_norm(x, num_groups, epsilon=1e-05, weight=None, bias=None, data_format="NCHW", name=None):
    """Normalizes each sample over groups of channels (Wu and He, 2018).

    Args:
        x (Tensor): [N, C, ...], or with the channels last.
        num_groups (int): C is divided into so many.
        epsilon (float): keeps the division finite.
        weight, bias (Tensor, optional): [C].
        data_format (str): where the channels are.

    Examples:
        >>> proa.nn.functional.group_norm(proa.rand([2, 4, 3, 3]), num_groups=2).shape
        [2, 4, 3, 3]
    """
    x = _C.tensor_argument(x, "group_norm", "x")
    weight, bias = optional_tensor(weight, "group_norm", "weight"), optional_tensor(bias, "group_norm", "bias")
    axis = _channel_axis("group_norm", x, data_format)
    x = _scaled("group_norm", x, axis, weight=weight, bias=bias)
    num_groups = known_int("group_norm", "num_groups", num_groups)
    says = f"group_norm: the channels are not divisible by {num_groups} groups; x is {{}} {x.dtype.name}"
    if num_groups < 1:
        raise _C.located(ValueError(says.format(list(x.shape))))
    x = require_multiple(x, x.shape[axis], num_groups, says, x)
    return _by_groups(x, num_groups, epsilon, weight, bias, axis)


def _by_groups(x, num_groups, epsilon, weight, bias, axis):
    """group_norm with channels along `axis`; num_groups may be an open size."""
    ops, rank = _C.ops, len(x.shape)
    if axis != 1:
        x = ops.transpose(x, [0, rank - 1, *range(1, rank - 1)])
    shape = x.shape
    rows = ops.reshape(x, [shape[0], num_groups, -1] if 0 not in shape else [shape[0], num_groups, 0])
    out = ops.reshape(ops.layer_norm(rows, None, None, 2, epsilon), shape)
    if weight is not None:
        out = out * _along(out, 1, weight)
    if bias is not None:
        out = out + _along(out, 1, bias)
    return ops.transpose(out, [0, *range(2, rank), 1]) if axis != 1 else out


def instance_norm(
    x,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.9,
    eps=1e-05,
    data_format="NCHW",
    name=None,
    *,
    training=False,
    epsilon=None,
):
    """Normalizes each channel of each sample (Ulyanov et al., 2016).

    Args:
        x (Tensor): [N, C, L], [N, C, H, W] or [N, C, D, H, W], or with the channels last.
        running_mean, running_var (Tensor, optional): used with use_input_stats=False only.
        weight, bias (Tensor, optional): [C].
        use_input_stats (bool): use each sample's own statistics.
        momentum: accepted.
        eps (float): keeps the division finite.
        data_format (str): where the channels are.
        training: accepted.
        epsilon (float, optional): another name of eps.

    Examples:
        >>> proa.nn.functional.instance_norm(proa.rand([2, 4, 3, 3])).shape
        [2, 4, 3, 3]
    """
    x = _C.tensor_argument(x, "instance_norm", "x")
    eps = real("instance_norm", "eps", eps if epsilon is None else epsilon)
    axis = _channel_axis("instance_norm", x, data_format)
    if not use_input_stats:
        mean = _C.tensor_argument(running_mean, "instance_norm", "running_mean")
        return _normalized(
            x, mean, _C.tensor_argument(running_var, "instance_norm", "running_var"), weight, bias, eps, axis
        )
    weight, bias = optional_tensor(weight, "instance_norm", "weight"), optional_tensor(bias, "instance_norm", "bias")
    x = _scaled("instance_norm", x, axis, weight=weight, bias=bias)
    return _by_groups(x, x.shape[axis], eps, weight, bias, axis)


@keeps_types
def local_response_norm(x, size, alpha=0.0001, beta=0.75, k=1.0, data_format="NCHW", name=None):
    """x / (k + alpha * mean of x**2 over `size` neighbouring channels)**beta (Krizhevsky et al., 2012).

    Args:
        x (Tensor): [N, C, L], [N, C, H, W] or [N, C, D, H, W], or with the channels last.
        size (int): how many channels.
        alpha, beta, k (float): of the formula.
        data_format (str): where the channels are.

    Examples:
        >>> proa.nn.functional.local_response_norm(proa.rand([2, 4, 3, 3]), size=5).shape
        [2, 4, 3, 3]
    """
    x = _C.tensor_argument(x, "local_response_norm", "x")
    size = an_int("local_response_norm", "size", size)
    alpha, beta, k = reals("local_response_norm", alpha=alpha, beta=beta, k=k)
    ops, given = _C.ops, x
    x = widened(x)  # squares
    axis, rank = _channel_axis("local_response_norm", x, data_format), len(x.shape)
    if rank < 3:
        raise _C.located(
            ValueError(f"local_response_norm: x must have at least 3 dims; it is {list(x.shape)} {x.dtype.name}")
        )
    if axis != 1:
        x = ops.transpose(x, [0, rank - 1, *range(1, rank - 1)])
    n, channels = x.shape[:2]
    rows = ops.reshape(x.square(), [n, 1, channels, -1])
    mean = ops.avg_pool2d(rows, [size, 1], [1, 1], [size // 2, (size - 1) // 2, 0, 0], False, False, "NCHW")
    out = narrowed(x / ops.reshape(mean * alpha + k, x.shape) ** beta, given)
    return ops.transpose(out, [0, *range(2, rank), 1]) if axis != 1 else out


__getattr__ = _borrow(__name__, "proa.nn.functional")
