"""Linear maps, dropout, padding, similarity and masks."""

from proa import _C
from proa.framework import attributes
from proa.framework.attributes import (
    an_int,
    ints,
    is_late,
    known,
    known_int,
    known_ints,
    number,
    real,
)
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import require
from proa.nn.functional.shapes import is_channel_last, plain_ints, require_dims
from proa.tensor.attribute import optional_tensor
from proa.tensor.manipulation import broadcast_tensors
from proa.tensor.precision import keeps_types, narrowed, widened


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
    if isinstance(bias, _C.Tensor) and not is_late(bias.size) and bias.size == 1:
        bias = _C.ops.broadcast_to(bias, weight.shape[-1:])
    return _C.ops.linear(x, weight, bias)


@keeps_types
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
    if is_late(rows):
        if padding_idx < 0:
            says = f"embedding: padding_idx {padding_idx} counts from the end of a weight whose rows only the run knows"
            raise _C.located(ValueError(says))
        says = f"embedding: padding_idx {padding_idx} is not a row of weight; it is {{}}"
        weight = require(weight, rows.tensor() > padding_idx, says, _C.ops.shape(weight))
        return _C.ops.embedding(x, weight, padding_idx, sparse)
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


@keeps_types
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


@keeps_types
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
    kept = label * (1.0 - epsilon)
    if prior_dist is None:
        classes = label.shape[-1]  # without them there is nothing to smooth
        if is_late(classes):  # a number then, too: it does not widen the result
            return kept + (_C.ops.full([], epsilon, "float64") / classes).astype(kept.dtype)
        prior_dist = 1.0 / max(classes, 1)
    elif not isinstance(prior_dist, _C.Tensor):
        prior_dist = real("label_smooth", "prior_dist", prior_dist, "a Tensor")
    return kept + prior_dist * epsilon


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


__getattr__ = _borrow(__name__, "proa.nn.functional")
