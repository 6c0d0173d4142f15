"""Arguments of convolutions and pools: numbers for each spatial dim, and padding in its many forms."""

from proa import _C
from proa.framework import attributes


def plain_ints(value):
    """`value` with NumPy's integers, and tensors of one, as Python's; also inside of lists; arrays and tensors as lists."""
    if isinstance(value, (int, str)) or value is None:
        return value
    if isinstance(value, _C.Tensor):
        return attributes.numbers(value)
    if isinstance(value, (list, tuple)):
        for v in value:
            if type(v) is not int:
                return [_item(v) for v in value]
        return value
    return value.tolist() if hasattr(value, "tolist") else value


def _item(value):
    """plain_ints of an item of a list, where a tensor [1] is its number."""
    found = plain_ints(value)
    return found[0] if isinstance(value, _C.Tensor) and isinstance(found, list) and len(found) == 1 else found


def size_argument(owner, name, value, least=1):
    """`value` as an int that is at least `least`: a size that a layer is made with."""
    found = plain_ints(value)
    if isinstance(found, bool) or not isinstance(found, int):
        attributes.known(owner, name, value)
        raise _C.located(TypeError(f"{owner}: {name} must be an int, not {value!r}"))
    if found < least:
        raise _C.located(ValueError(f"{owner}: {name} must be {least} or more, not {found}"))
    return found


def numbers(op, name, value, n):
    """`value` as a list of n ints: one for all dims, or one each."""
    value = plain_ints(value)
    if isinstance(value, int):
        return [value] * n
    if isinstance(value, (list, tuple)) and len(value) in (1, n) and all(isinstance(v, int) for v in value):
        return list(value) * (n if len(value) == 1 else 1)
    attributes.known(op, name, value)
    raise _C.located(ValueError(f"{op}: {name} must be an int or {n} ints, not {value!r}"))


def positive(op, name, value, n):
    """`numbers` that are at least 1."""
    found = numbers(op, name, value, n)
    for v in found:
        if type(v) is int and v < 1:
            raise _C.located(ValueError(f"{op}: {name} must be positive, not {v}"))
    return found


def is_channel_last(op, data_format, n):
    """Whether the channels are the last dim; the format must be one for n spatial dims."""
    first = {1: "NCL", 2: "NCHW", 3: "NCDHW"}[n]
    last = {1: "NLC", 2: "NHWC", 3: "NDHWC"}[n]
    if data_format not in (first, last, "NCW", "NWC", "NC") or (n > 1 and len(data_format) != n + 2):
        raise _C.located(ValueError(f"{op}: data_format must be {first} or {last}, not {data_format!r}"))
    return data_format[-1] == "C" and data_format != "NC"


def window_padding(op, padding, n, channel_last):
    """(numbers, algorithm) as the ops take them: one number, one for each dim or two for each, and "EXPLICIT"; or
    "SAME" or "VALID", for which the op finds the numbers where the sizes are known.

    Accepts what padding_pairs does.
    """
    if type(padding) is int:  # the common case
        return (padding,), "EXPLICIT"
    padding = plain_ints(padding)
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise _C.located(ValueError(f"{op}: padding must be 'SAME' or 'VALID' if it is a str, not {padding!r}"))
        return (0,), padding.upper()
    return flat(padding_pairs(op, padding, n, None, None, None, None, channel_last)), "EXPLICIT"


def padding_pairs(op, padding, n, sizes, kernel, stride, dilation, channel_last):
    """Padding as [before, after] for each of n spatial dims.

    Accepts an int, n ints, 2 * n ints (before and after each dim), n + 2 pairs (with
    those of batch and channels, which must be 0), "VALID" and "SAME" (the result has
    ceil(size / stride) elements along each dim).
    """
    padding = attributes.known(op, "padding", plain_ints(padding))
    if isinstance(padding, str):
        return _named(op, padding, n, sizes, kernel, stride, dilation)
    if isinstance(padding, int):
        return [[padding, padding]] * n
    if not isinstance(padding, (list, tuple)):
        raise _C.located(TypeError(f"{op}: padding must be an int, a list or a str, not {type(padding).__name__}"))
    padding = list(padding)
    if all(isinstance(p, int) for p in padding):
        if len(padding) == n:
            return [[p, p] for p in padding]
        if len(padding) == 2 * n:
            return [padding[2 * i : 2 * i + 2] for i in range(n)]
        if len(padding) == 1:
            return [padding * 2] * n
    if len(padding) == n + 2 and all(isinstance(p, (list, tuple)) and len(p) == 2 for p in padding):
        outer = [padding[0], padding[-1 if channel_last else 1]]
        if any(any(pair) for pair in outer):
            raise _C.located(ValueError(f"{op}: batch and channels cannot be padded; padding is {padding}"))
        return [list(p) for p in (padding[1:-1] if channel_last else padding[2:])]
    raise _C.located(
        ValueError(
            f"{op}: padding must be an int, {n} or {2 * n} ints, {n + 2} pairs, 'SAME' or 'VALID', not {padding!r}"
        )
    )


def _named(op, padding, n, sizes, kernel, stride, dilation):
    if padding.upper() == "VALID":
        return [[0, 0]] * n
    if padding.upper() != "SAME":
        raise _C.located(ValueError(f"{op}: padding must be 'SAME' or 'VALID' if it is a str, not {padding!r}"))
    stride, dilation = positive(op, "stride", stride, n), positive(op, "dilation", dilation, n)
    pairs = []
    for i in range(n):
        size, reach = sizes[i], dilation[i] * (kernel[i] - 1) + 1
        steps = -(-size // stride[i])
        total = max((steps - 1) * stride[i] + reach - size, 0)
        pairs.append([total // 2, total - total // 2])
    return pairs


def flat(pairs):
    """[[a, b], [c, d]] as [a, b, c, d]."""
    return [p for pair in pairs for p in pair]


def spatial_sizes(x, channel_last):
    """Sizes of the dims that are neither batch nor channels."""
    return x.shape[1:-1] if channel_last else x.shape[2:]


def require_dims(op, name, x, low, high=None):
    """Raises unless x has `low` dims, or from `low` to `high` (inf: any number)."""
    if low <= x.ndim <= (low if high is None else high):
        return
    what = f"{low}" if high is None else f"{low} or more" if high == float("inf") else f"{low} to {high}"
    raise _C.located(ValueError(f"{op}: {name} must have {what} dims; it is {list(x.shape)} {x.dtype.name}"))
