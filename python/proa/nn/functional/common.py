"""Linear maps, dropout, padding, similarity and rearrangements."""

import math

from proa import _C
from proa.framework import attributes
from proa.framework.attributes import (
    an_int,
    ints,
    is_late,
    known,
    known_int,
    known_ints,
    known_number,
    known_real,
    number,
    real,
)
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import require
from proa.nn.functional.shapes import is_channel_last, numbers, plain_ints, positive, require_dims
from proa.tensor.attribute import optional_tensor
from proa.tensor.manipulation import broadcast_tensors
from proa.tensor.precision import narrowed, widened


def linear(x, weight, bias=None, name=None):
    """x @ weight + bias.

    Args:
        x (Tensor): [..., in].
        weight (Tensor): [in, out], or [in].
        bias (Tensor, optional): [out], or [1] for all.

    Returns:
        Tensor: [..., out], or [...] for a weight of one dim.

    Examples:
        >>> F = proa.nn.functional
        >>> F.linear(proa.ones([2, 3]), proa.ones([3, 4])).tolist()[0]
        [3.0, 3.0, 3.0, 3.0]
    """
    if isinstance(weight, _C.Tensor) and weight.ndim == 1:
        product, bias = _C.ops.matmul(x, weight), optional_tensor(bias, "linear", "bias")
        return product if bias is None else product + bias
    if isinstance(bias, _C.Tensor) and bias.size == 1:
        bias = _C.ops.broadcast_to(bias, weight.shape[-1:])
    return _C.ops.linear(x, weight, bias)


def bilinear(x1, x2, weight, bias=None, name=None):
    """x1 @ weight[k] @ x2 + bias[k] for each k.

    Args:
        x1 (Tensor): [N, in1].
        x2 (Tensor): [N, in2].
        weight (Tensor): [out, in1, in2].
        bias (Tensor, optional): [1, out].

    Returns:
        Tensor: [N, out].

    Examples:
        >>> proa.nn.functional.bilinear(proa.ones([2, 3]), proa.ones([2, 4]), proa.ones([5, 3, 4])).shape
        [2, 5]
    """
    x1 = _C.tensor_argument(x1, "bilinear", "x1")
    x2 = _C.tensor_argument(x2, "bilinear", "x2")
    weight = _C.tensor_argument(weight, "bilinear", "weight")
    bias = optional_tensor(bias, "bilinear", "bias")
    require_dims("bilinear", "x1", x1, 2)
    require_dims("bilinear", "x2", x2, 2)
    require_dims("bilinear", "weight", weight, 3)
    ops = _C.ops
    out, in1, in2 = weight.shape
    # [N, in1] @ [in1, out * in2]
    left = ops.matmul(x1, ops.reshape(ops.transpose(weight, [1, 0, 2]), [in1, out * in2]))
    result = (ops.reshape(left, [-1, out, in2]) * ops.unsqueeze(x2, 1)).sum(-1)
    return result if bias is None else result + bias


def _check_p(op, p):
    p = number(p)
    if isinstance(p, _C.Tensor) and p.size == 1 and p.is_floating_point():
        return p
    if isinstance(p, bool) or not isinstance(p, (int, float)):
        raise _C.located(TypeError(f"{op}: p must be a number, not {type(p).__name__}"))
    if not 0 <= p <= 1:
        raise _C.located(ValueError(f"{op}: p must be in [0, 1]; it is {p}"))
    return p


def _mask(x, shape, p):
    """Zeros with probability p and ones elsewhere, of the dtype of x."""
    if isinstance(p, _C.Tensor):
        return _C.ops.bernoulli(_C.ops.broadcast_to(1.0 - p, shape))
    return _C.ops.bernoulli(_C.ops.full(shape, 1.0 - p, x.dtype))


def dropout(x, p=0.5, axis=None, training=True, mode="upscale_in_train", name=None):
    """In training, zeros each element with probability p.

    Args:
        x (Tensor): any shape.
        p (float|Tensor): the probability; of a tensor its one element.
        axis (int|list[int], optional): the mask varies along these axes and is the same along others.
        training (bool): whether anything is dropped.
        mode (str): "upscale_in_train" divides what remains by 1 - p, so that the mean stays;
            "downscale_in_infer" multiplies by 1 - p when not training instead.

    Examples:
        >>> F = proa.nn.functional
        >>> F.dropout(proa.ones([4]), 0.5, training=False).tolist()
        [1.0, 1.0, 1.0, 1.0]
    """
    p = _check_p("dropout", p)
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise _C.located(ValueError(f"dropout: mode must be upscale_in_train or downscale_in_infer, not {mode!r}"))
    upscale = mode == "upscale_in_train"
    axis = known("dropout", "axis", axis)
    if isinstance(p, _C.Tensor):
        return _dropout_of_run(x, p, axis, training, upscale)
    if not training:
        return x if upscale else x * (1.0 - p)
    if p == 0:
        return x
    if p == 1:
        return x * 0.0
    if axis is None:
        return _C.ops.dropout(x, p, True, mode)[0]
    shape = x.shape
    axes = known_ints("dropout", "axis", [axis] if isinstance(axis, int) else axis, "an int or a list of ints")
    rank = len(shape)
    if any(not -rank <= a < rank for a in axes):
        raise _C.located(ValueError(f"dropout: axis {axes} is out of range; x is {list(shape)} {x.dtype.name}"))
    kept = {a % rank for a in axes}
    mask = _mask(x, [size if i in kept else 1 for i, size in enumerate(shape)], p)
    return x * (mask * (1.0 / (1.0 - p)) if upscale else mask)


def _dropout_of_run(x, p, axis, training, upscale):
    """dropout with a probability that only the run of a program knows."""
    keep = 1.0 - _C.ops.cast(_C.ops.reshape(p, []), x.dtype)
    if not training:
        return x if upscale else x * keep
    rank = len(x.shape)
    kept = range(rank) if axis is None else {a % rank for a in ([axis] if isinstance(axis, int) else axis)}
    mask = _C.ops.bernoulli(_C.ops.broadcast_to(keep, [n if i in kept else 1 for i, n in enumerate(x.shape)]))
    return x * (mask / _C.ops.where(keep == 0, _C.ops.full_like(keep, 1.0), keep) if upscale else mask)


def dropout2d(x, p=0.5, training=True, data_format="NCHW", name=None):
    """Dropout of whole channels of [N, C, H, W] (or [N, H, W, C]).

    Examples:
        >>> proa.nn.functional.dropout2d(proa.ones([1, 2, 3, 3]), p=0.5, training=False).sum().item()
        18.0
    """
    x = _C.tensor_argument(x, "dropout2d", "x")
    last = is_channel_last("dropout2d", data_format, 2)
    return dropout(x, p, [0, 3] if last else [0, 1], training)


def dropout3d(x, p=0.5, training=True, data_format="NCDHW", name=None):
    """Dropout of whole channels of [N, C, D, H, W] (or [N, D, H, W, C]).

    Examples:
        >>> proa.nn.functional.dropout3d(proa.ones([1, 2, 1, 3, 3]), p=0.5, training=False).sum().item()
        18.0
    """
    x = _C.tensor_argument(x, "dropout3d", "x")
    last = is_channel_last("dropout3d", data_format, 3)
    return dropout(x, p, [0, 4] if last else [0, 1], training)


def alpha_dropout(x, p=0.5, training=True, name=None):
    """Dropout that keeps mean and variance of SELU's outputs (Klambauer et al., 2017).

    Dropped elements become SELU's lowest value; an affine map restores the statistics.

    Examples:
        >>> proa.nn.functional.alpha_dropout(proa.ones([2, 3]), p=0.5, training=False).tolist()
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    x = _C.tensor_argument(x, "alpha_dropout", "x")
    p = _check_p("alpha_dropout", p)
    late = isinstance(p, _C.Tensor)
    if not training or not late and p == 0:
        return x
    if not late and p == 1:
        return x * 0.0
    lowest = -1.0507009873554805 * 1.6732632423543772
    p = _C.ops.cast(_C.ops.reshape(p, []), x.dtype) if late else p
    keep = 1.0 - p
    a = (keep * (1.0 + p * lowest * lowest)) ** -0.5
    b = -a * p * lowest
    mask = _mask(x, x.shape, p)
    out = (x * mask + (1.0 - mask) * lowest) * a + b
    return _C.ops.where(keep == 0, _C.ops.full_like(x, 0.0), out) if late else out


def embedding(x, weight, padding_idx=None, sparse=False, name=None):
    """Rows of a table.

    Args:
        x (Tensor): integers, [...].
        weight (Tensor): [rows, size].
        padding_idx (int, optional): this row gives zeros and gets no gradient; negative counts from the end.
        sparse (bool): the gradient of `weight` holds only the rows that x names (`Tensor.is_selected_rows`), so
            that a step costs what those rows cost.

    Returns:
        Tensor: [..., size].

    Examples:
        >>> proa.nn.functional.embedding(proa.to_tensor([2, 0]), proa.to_tensor([[1.0], [2.0], [3.0]])).tolist()
        [[3.0], [1.0]]
    """
    if isinstance(x, _C.Tensor) and x.dtype in (_C.int16, _C.int8, _C.uint8):
        x = _C.ops.cast(x, _C.int32)
    if padding_idx is None:
        return _C.ops.embedding(x, weight, -1, sparse)
    rows, padding_idx = weight.shape[0], known_int("embedding", "padding_idx", padding_idx)
    if not -rows <= padding_idx < rows:
        raise _C.located(ValueError(f"embedding: padding_idx {padding_idx} is not one of {rows} rows"))
    return _C.ops.embedding(x, weight, padding_idx % rows, sparse)


def one_hot(x, num_classes, name=None):
    """Ones at the places that x names, in a new last dim of num_classes; float.

    Examples:
        >>> proa.nn.functional.one_hot(proa.to_tensor([1, 0]), 3).tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """
    return _C.ops.one_hot(x, num_classes)


_FORMATS = {3: ("NCL", "NLC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}


def pad(x, pad, mode="constant", value=0.0, data_format="NCHW", name=None):
    """Adds elements around a tensor.

    Args:
        x (Tensor): any rank with constant mode and 2 * rank paddings; else rank 3 to 5.
        pad (list[int]|Tensor): elements before and after. With 2 * rank of them, those of
            dim 0, dim 1 and so on. With fewer, those of the last spatial dim, the one before
            it and so on: [left, right, top, bottom, front, back]. Of a matrix, two are those of its columns.
        mode (str): "constant" (value), "reflect", "replicate" (the edge) or "circular".
        value (float): of constant mode.
        data_format (str): where the channels are: "NCL", "NLC", "NCHW", "NHWC", "NCDHW" or "NDHWC".

    Examples:
        >>> F = proa.nn.functional
        >>> F.pad(proa.ones([1, 1, 2, 2]), [1, 1, 0, 0]).shape
        [1, 1, 2, 4]
    """
    x = _C.tensor_argument(x, "pad", "x")
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise _C.located(ValueError(f"pad: mode must be constant, reflect, replicate or circular, not {mode!r}"))
    pad = attributes.numbers(pad)
    pads = ints("pad", "pad", [pad] if isinstance(pad, int) else pad, "an int or a list of ints")
    rank = len(x.shape)
    if len(pads) == 1 and rank in _FORMATS:
        pads = pads * (2 * (rank - 2))
    if mode == "constant" and len(pads) == 2 * rank:
        return _C.ops.pad(x, pads, mode, value)
    if mode == "constant" and rank == 2 and len(pads) == 2:
        return _C.ops.pad(x, [0, 0, *pads], mode, value)
    if rank not in _FORMATS or len(pads) % 2 or len(pads) > 2 * (rank - 2):
        raise _C.located(
            ValueError(
                f"pad: {len(pads)} paddings do not fit; give {2 * rank}, or 2 for each spatial dim; "
                f"x is {list(x.shape)} {x.dtype.name}"
            )
        )
    first, last = _FORMATS[rank]
    # The default "NCHW" stands for channels first at any rank.
    if data_format not in (first, last, "NCHW"):
        raise _C.located(
            ValueError(f"pad: data_format must be {first} or {last} for a tensor of {rank} dims, not {data_format!r}")
        )
    full = [0] * (2 * rank)
    axis = rank - 2 if data_format == last else rank - 1
    for i in range(0, len(pads), 2):
        full[2 * axis : 2 * axis + 2] = pads[i : i + 2]
        axis -= 1
    return _C.ops.pad(x, full, mode, value)


def zeropad2d(x, padding, data_format="NCHW", name=None):
    """Pads [N, C, H, W] with zeros; padding is [left, right, top, bottom] or one int.

    Examples:
        >>> proa.nn.functional.zeropad2d(proa.ones([1, 1, 1, 1]), [1, 0, 0, 1])[0, 0].tolist()
        [[0.0, 1.0], [0.0, 0.0]]
    """
    x = _C.tensor_argument(x, "zeropad2d", "x")
    padding = plain_ints(padding)
    if isinstance(padding, int):
        padding = [padding] * 4
    padding = ints("zeropad2d", "padding", padding, "an int or a list of ints")
    return pad(x, padding, "constant", 0.0, data_format)


def normalize(x, p=2, axis=1, epsilon=1e-12, name=None):
    """x over its p-norm along an axis (at least epsilon); float16 and bfloat16 are computed in float32.

    Examples:
        >>> proa.nn.functional.normalize(proa.to_tensor([[3.0, 4.0]])).tolist()
        [[0.6000000238418579, 0.800000011920929]]
    """
    x = _C.tensor_argument(x, "normalize", "x")
    from proa.tensor.linalg import norm

    epsilon = real("normalize", "epsilon", epsilon)
    if len(x.shape) == 1:
        axis = 0
    wide = widened(x)
    length = norm(wide, p, axis, True)
    return narrowed(wide / _C.ops.clip(length, epsilon, float("inf")), x)


def cosine_similarity(x1, x2, axis=1, eps=1e-08):
    """Cosine of the angle between x1 and x2 along an axis; the product of their norms is at least eps.

    x1 and x2 are repeated to the shape that they have in common. float16 and bfloat16 are computed in float32.

    Examples:
        >>> proa.nn.functional.cosine_similarity(proa.to_tensor([[1.0, 0.0]]), proa.to_tensor([[0.0, 2.0]])).tolist()
        [0.0]
    """
    x1 = _C.tensor_argument(x1, "cosine_similarity", "x1")
    x2 = _C.tensor_argument(x2, "cosine_similarity", "x2")
    eps = real("cosine_similarity", "eps", eps)
    # Sizes of other dims are repeated by the product and by the quotient.
    along = [t.shape[axis] for t in (x1, x2) if isinstance(axis, int) and -t.ndim <= axis < t.ndim]
    if len(x1.shape) != len(x2.shape) or len(along) == 2 and (is_late(along) or along[0] != along[1]):
        x1, x2 = broadcast_tensors([x1, x2])
    a, b = widened(x1), widened(x2)
    lengths = _C.ops.p_norm(a, 2.0, [axis]) * _C.ops.p_norm(b, 2.0, [axis])
    return narrowed((a * b).sum(axis) / _C.ops.clip(lengths, eps, float("inf")), x1, x2)


def label_smooth(label, prior_dist=None, epsilon=0.1, name=None):
    """(1 - epsilon) * label + epsilon * prior_dist (even over the classes unless given).

    Examples:
        >>> np.round(proa.nn.functional.label_smooth(proa.to_tensor([[0.0, 1.0]])).astype("float64").numpy(), 3).tolist()
        [[0.05, 0.95]]
    """
    label = _C.tensor_argument(label, "label_smooth", "label")
    epsilon = real("label_smooth", "epsilon", epsilon)
    if not 0 <= epsilon <= 1:
        raise _C.located(ValueError(f"label_smooth: epsilon must be in [0, 1]; it is {epsilon}"))
    if label.ndim == 0:
        raise _C.located(ValueError(f"label_smooth: label must have a dim of classes; it is [] {label.dtype.name}"))
    if prior_dist is None:
        prior_dist = 1.0 / max(label.shape[-1], 1)  # without classes there is nothing to smooth
    elif not isinstance(prior_dist, _C.Tensor):
        prior_dist = real("label_smooth", "prior_dist", prior_dist, "a Tensor")
    return label * (1.0 - epsilon) + prior_dist * epsilon


def sequence_mask(x, maxlen=None, dtype="int64", name=None):
    """Ones in the first x elements and zeros after, in a new last dim.

    Args:
        x (Tensor): lengths, [...].
        maxlen (int, optional): size of the new dim; the longest length unless given, or if it is negative.
        dtype (str): of the result.

    Examples:
        >>> proa.nn.functional.sequence_mask(proa.to_tensor([1, 3]), maxlen=3).tolist()
        [[1, 0, 0], [1, 1, 1]]
    """
    x = _C.tensor_argument(x, "sequence_mask", "x")
    if maxlen is not None and not isinstance(maxlen, _C.Tensor):
        maxlen = an_int("sequence_mask", "maxlen", maxlen)
    if maxlen is None or not is_late(maxlen) and maxlen < 0:
        maxlen = _C.ops.clip(x.max(), 0).astype("int64")
    steps = _C.ops.cumsum(_C.ops.full([maxlen], 1, x.dtype), 0) - 1
    return (steps < _C.ops.unsqueeze(x, -1)).astype(dtype)


def pixel_shuffle(x, upscale_factor, data_format="NCHW", name=None):
    """[N, C * r * r, H, W] to [N, C, H * r, W * r] (Shi et al., 2016).

    Examples:
        >>> proa.nn.functional.pixel_shuffle(proa.ones([1, 4, 2, 2]), 2).shape
        [1, 1, 4, 4]
    """
    x = _C.tensor_argument(x, "pixel_shuffle", "x")
    upscale_factor = number(plain_ints(known_number("pixel_shuffle", "upscale_factor", upscale_factor)))
    if not isinstance(upscale_factor, int) or upscale_factor < 1:
        raise _C.located(ValueError(f"pixel_shuffle: upscale_factor must be a positive int, not {upscale_factor!r}"))
    require_dims("pixel_shuffle", "x", x, 4)
    ops, r = _C.ops, upscale_factor
    last = is_channel_last("pixel_shuffle", data_format, 2)
    n, channels = x.shape[0], x.shape[3] if last else x.shape[1]
    height, width = x.shape[1:3] if last else x.shape[2:]
    if channels % (r * r):
        raise _C.located(
            ValueError(f"pixel_shuffle: {channels} channels are not divisible by upscale_factor squared, {r * r}")
        )
    c = channels // (r * r)
    if last:
        x = ops.transpose(ops.reshape(x, [n, height, width, c, r, r]), [0, 1, 4, 2, 5, 3])
        return ops.reshape(x, [n, height * r, width * r, c])
    x = ops.transpose(ops.reshape(x, [n, c, r, r, height, width]), [0, 1, 4, 2, 5, 3])
    return ops.reshape(x, [n, c, height * r, width * r])


def _four(op, paddings):
    """[top, left, bottom, right] of one, two or four paddings."""
    paddings = known(op, "paddings", plain_ints(paddings))
    if isinstance(paddings, int):
        return [paddings] * 4
    paddings = known_ints(op, "paddings", paddings, "an int or a list of ints")
    if len(paddings) == 2:
        return [*paddings, *paddings]
    if len(paddings) == 4:
        return paddings
    raise _C.located(ValueError(f"{op}: paddings must be 1, 2 or 4 ints, not {paddings!r}"))


def _window(op, size, kernel_sizes, strides, paddings, dilations):
    kernel, stride = positive(op, "kernel_sizes", kernel_sizes, 2), positive(op, "strides", strides, 2)
    dilation, pads = positive(op, "dilations", dilations, 2), _four(op, paddings)
    out = [(size[i] + pads[i] + pads[i + 2] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    if any(n < 1 for n in out if isinstance(n, int)):  # those that are open are seen when the program runs
        raise _C.located(ValueError(f"{op}: the kernel, {kernel}, is larger than the padded size of {list(size)}"))
    return kernel, stride, dilation, pads, out


_TO_THE_END = (1 << 31) - 1
# Each is an operation of the program; where sizes are known, the image holds the kernel.
_MOST_TAPS = 65536


def unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """Sliding blocks as columns (im2col).

    Args:
        x (Tensor): [N, C, H, W].
        kernel_sizes, strides, dilations (int|list[int]): one or [height, width].
        paddings (int|list[int]): one, [height, width] or [top, left, bottom, right].

    Returns:
        Tensor: [N, C * KH * KW, number of blocks].

    Raises:
        ValueError: the kernel is larger than the padded image, or has more than 65536 taps where H or W is open.

    Examples:
        >>> proa.nn.functional.unfold(proa.ones([1, 3, 4, 4]), 2).shape
        [1, 12, 9]
    """
    x = _C.tensor_argument(x, "unfold", "x")
    require_dims("unfold", "x", x, 4)
    ops = _C.ops
    kernel, stride, dilation, pads, _ = _window("unfold", x.shape[2:], kernel_sizes, strides, paddings, dilations)
    if any(pads):
        x = ops.pad(x, [0, 0, 0, 0, pads[0], pads[2], pads[1], pads[3]])
    if math.prod(kernel) > _MOST_TAPS and not all(isinstance(n, int) for n in x.shape[2:]):
        raise _C.located(
            ValueError(
                f"unfold: a kernel of {kernel} has {math.prod(kernel)} taps; at most {_MOST_TAPS} for open sizes"
            )
        )
    if not all(isinstance(n, int) for n in x.shape[2:]):
        sizes = ops.slice(ops.shape(x), [0], [2], [4])
        reach = [(kernel[d] - 1) * dilation[d] + 1 for d in range(2)]
        says = f"unfold: the kernel, {kernel}, is larger than the padded size of {{}}"
        x = require(x, sizes >= _C.to_tensor(reach, dtype="int64"), says, sizes)
    taps = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            # Counted from the end, and so for any size: as many behind the last as the kernel has behind the tap.
            start = [i * dilation[0], j * dilation[1]]
            behind = [(kernel[d] - 1 - at) * dilation[d] for d, at in enumerate((i, j))]
            taps.append(ops.slice(x, [2, 3], start, [-n or _TO_THE_END for n in behind], stride))
    return ops.flatten(ops.flatten(ops.stack(taps, 2), 1, 2), 2, 3)


def fold(x, output_sizes, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """Adds up columns of sliding blocks where they overlap (col2im): the adjoint of unfold.

    Args:
        x (Tensor): [N, C * KH * KW, number of blocks].
        output_sizes (list[int]): [H, W] of the result.
        kernel_sizes, strides, paddings, dilations: as in unfold.

    Returns:
        Tensor: [N, C, H, W].

    Examples:
        >>> proa.nn.functional.fold(proa.ones([1, 4, 4]), output_sizes=[3, 3], kernel_sizes=2)[0, 0].tolist()
        [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]
    """
    x = _C.tensor_argument(x, "fold", "x")
    ops = _C.ops
    size = numbers("fold", "output_sizes", output_sizes, 2)
    kernel, stride, dilation, pads, out = _window("fold", size, kernel_sizes, strides, paddings, dilations)
    require_dims("fold", "x", x, 3)
    n, columns, blocks = x.shape
    if columns % (kernel[0] * kernel[1]) or blocks != out[0] * out[1]:
        raise _C.located(
            ValueError(f"fold: x must be [N, C * {kernel[0] * kernel[1]}, {out[0] * out[1]}]; it is {list(x.shape)}")
        )
    channels = columns // (kernel[0] * kernel[1])
    # The blocks are pixels of a feature map; a transposed convolution with an identity
    # kernel puts each element of a block in its place and adds up.
    maps = ops.reshape(x, [n * channels, kernel[0] * kernel[1], out[0], out[1]])
    identity = ops.reshape(ops.eye(kernel[0] * kernel[1], None, x.dtype), [-1, 1, kernel[0], kernel[1]])
    padded = [size[i] + pads[i] + pads[i + 2] for i in range(2)]
    spare = [padded[i] - ((out[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1) for i in range(2)]
    whole = ops.conv2d_transpose(maps, identity, None, stride, [0, 0], [], dilation, 1, [], "NCHW")
    if any(spare):
        whole = ops.pad(whole, [0, 0, 0, 0, 0, spare[0], 0, spare[1]])
    whole = ops.slice(whole, [2, 3], pads[:2], [pads[0] + size[0], pads[1] + size[1]])
    return ops.reshape(whole, [n, channels, size[0], size[1]])


def temporal_shift(x, seg_num, shift_ratio=0.25, name=None, data_format="NCHW"):
    """Moves part of the channels one frame back and as many one frame forward (Lin et al., 2019).

    Args:
        x (Tensor): [N * seg_num, C, H, W] (or NHWC): frames of N clips.
        seg_num (int): frames of a clip.
        shift_ratio (float): part of the channels that moves each way, at most 0.5.

    Examples:
        >>> proa.nn.functional.temporal_shift(proa.ones([4, 4, 2, 2]), seg_num=2).shape
        [4, 4, 2, 2]
    """
    x = _C.tensor_argument(x, "temporal_shift", "x")
    require_dims("temporal_shift", "x", x, 4)
    ops = _C.ops
    seg_num = an_int("temporal_shift", "seg_num", seg_num)
    shift_ratio = known_real("temporal_shift", "shift_ratio", shift_ratio)
    if not 0 <= shift_ratio <= 0.5:
        raise _C.located(ValueError(f"temporal_shift: shift_ratio must be in [0, 0.5]; it is {shift_ratio}"))
    last = is_channel_last("temporal_shift", data_format, 2)
    if last:
        x = ops.transpose(x, [0, 3, 1, 2])
    frames, channels, height, width = x.shape
    # Of no pixels, how many clips there are must be said.
    clips = -1 if is_late(x.shape) or 0 not in x.shape or seg_num < 1 or frames % seg_num else frames // seg_num
    x = ops.reshape(x, [clips, seg_num, channels, height, width])
    c1, c2 = int(channels * shift_ratio), int(channels * 2 * shift_ratio)
    pad_before, pad_after = [0, 0, 1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    back = ops.pad(x[:, : seg_num - 1, :c1], pad_before)
    forward = ops.pad(x[:, 1:, c1:c2], pad_after)
    out = ops.reshape(ops.concat([back, forward, x[:, :, c2:]], 2), [frames, channels, height, width])
    return ops.transpose(out, [0, 2, 3, 1]) if last else out


__getattr__ = _borrow(__name__, "proa.nn.functional")
