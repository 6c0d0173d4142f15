"""Functions of sequences of different lengths: the rows of all sequences stand one after another in one tensor.

How long the sequences are is known of values that come from an input with `lod_level` (proa.static.sequences); everywhere, and in
eager mode, `lengths` says it.
"""

from proa import _C
from proa.framework.attributes import known_int, real, wrong
from proa.framework.requirements import require, require_sizes, with_size
from proa.static.nn.parametric import activated
from proa.static.only import static_only
from proa.static.parameters import program_parameter
from proa.static.sequences import Layout, as_lengths, as_rows_of, layout_of, levels_of, note, take, take_or
from proa.tensor.creation import arange
from proa.tensor.manipulation import expand
from proa.utils import unique_name

__all__ = [
    "sequence_concat", "sequence_conv", "sequence_enumerate", "sequence_expand", "sequence_expand_as", "sequence_first_step",
    "sequence_last_step", "sequence_pad", "sequence_pool", "sequence_reshape", "sequence_reverse", "sequence_scatter",
    "sequence_slice", "sequence_softmax", "sequence_unpad",
]  # fmt: skip

_POOLS = ("average", "sum", "sqrt", "max", "first", "last")


def _column(tensor, like):
    """A tensor [n] as [n, 1, ...], to go with `like`."""
    return _C.ops.reshape(tensor, [tensor.shape[0], *[1] * (len(like.shape) - 1)]).astype(like.dtype)


def sequence_pool(input, pool_type, is_test=False, pad_value=0.0, *, lengths=None):
    """One row for each sequence: the sum of its rows, say.

    Args:
        input (Tensor): [rows, ...].
        pool_type (str): "average", "sum", "sqrt" (the sum over the root of the length), "max", "first" or "last".
        is_test (bool): accepted.
        pad_value (float): stands for sequences without rows.
        lengths (Tensor, optional): int64, [sequences]; see `proa.static.sequences`.

    Returns:
        Tensor: [sequences, ...].

    Raises:
        ValueError: for another pool_type, or sequences that nothing is known of.

    Examples:
        >>> x = proa.to_tensor([[1.0], [2.0], [6.0]])
        >>> proa.static.nn.sequence_pool(x, "average", lengths=[2, 0, 1]).tolist()
        [[1.5], [0.0], [6.0]]
    """
    kind = pool_type.lower() if isinstance(pool_type, str) else pool_type
    if kind not in _POOLS:
        raise _C.located(ValueError(f"sequence_pool: pool_type must be one of {', '.join(_POOLS)}, not {pool_type!r}"))
    layout = layout_of("sequence_pool", input, lengths)
    has_rows = layout.lengths > 0
    if kind in ("first", "last"):
        row = layout.begins + (layout.lengths - 1 if kind == "last" else 0)
        result = take_or(input, row, has_rows, float(real("sequence_pool", "pad_value", pad_value)))
    else:
        if kind == "max":
            padded = layout.padded(input, _lowest(input.dtype))
            result = _C.ops.max(padded, 1)
        else:
            result = _C.ops.sum(layout.padded(input, 0.0), 1).astype(input.dtype)
            if kind != "sum":
                many = _column(_C.ops.clip(layout.lengths, 1, None), result)
                result = result / (many if kind == "average" else _C.ops.sqrt(many))
        empty = _C.ops.full_like(result, real("sequence_pool", "pad_value", pad_value))
        result = _C.ops.where(_column(has_rows, result).astype("bool"), result, empty)
    note(result, levels_of(input)[:-1] if lengths is None else [])
    return result


def _lowest(dtype):
    return -float("inf") if "float" in dtype.name else -(2 ** (31 if dtype == _C.int32 else 63))


def sequence_first_step(input, *, lengths=None):
    """The first row of each sequence: `sequence_pool` of "first".

    Examples:
        >>> proa.static.nn.sequence_first_step(proa.to_tensor([[1.0], [2.0], [6.0]]), lengths=[2, 1]).tolist()
        [[1.0], [6.0]]
    """
    return sequence_pool(input, "first", lengths=lengths)


def sequence_last_step(input, *, lengths=None):
    """The last row of each sequence: `sequence_pool` of "last".

    Examples:
        >>> proa.static.nn.sequence_last_step(proa.to_tensor([[1.0], [2.0], [6.0]]), lengths=[2, 1]).tolist()
        [[2.0], [6.0]]
    """
    return sequence_pool(input, "last", lengths=lengths)


def sequence_softmax(input, use_cudnn=False, name=None, *, lengths=None):
    """The softmax over the rows of each sequence.

    Args:
        input (Tensor): [rows] or [rows, 1].
        lengths (Tensor, optional): int64, [sequences]; see `proa.static.sequences`.

    Returns:
        Tensor: as `input`.

    Examples:
        >>> proa.static.nn.sequence_softmax(proa.to_tensor([1.0, 1.0, 3.0]), lengths=[2, 1]).tolist()
        [0.5, 0.5, 1.0]
    """
    layout = layout_of("sequence_softmax", input, lengths)
    says = "sequence_softmax: input must be [rows] or [rows, 1]; it is {}"
    if len(input.shape) not in (1, 2):
        raise _C.located(ValueError(says.format(list(input.shape))))
    if len(input.shape) == 2:
        input = with_size(input, 1, 1, says)
    padded = layout.padded(input, -float("inf"))
    # A sequence without rows would give NaN, which nobody reads.
    return _same_rows(layout.unpadded(_C.ops.softmax(padded, 1)), input, lengths)


def _same_rows(result, x, lengths):
    """The result has the rows of x, and their sequences."""
    result = as_rows_of(result, x)
    if lengths is None:
        note(result, levels_of(x))
    return result


def sequence_reverse(x, name=None, *, lengths=None):
    """The rows of each sequence in reverse order.

    Examples:
        >>> proa.static.nn.sequence_reverse(proa.to_tensor([1.0, 2.0, 6.0]), lengths=[2, 1]).tolist()
        [2.0, 1.0, 6.0]
    """
    layout = layout_of("sequence_reverse", x, lengths, name="x")
    last = layout.of_sequence(layout.begins + layout.lengths - 1)
    return _same_rows(take(x, last - layout.position), x, lengths)


def sequence_pad(x, pad_value, maxlen=None, name=None, *, lengths=None):
    """The sequences side by side, filled up to one length.

    Args:
        x (Tensor): [rows, ...].
        pad_value (Tensor|float): fills up: one number, or a tensor of the dims of a row.
        maxlen (int, optional): the length, not below that of the longest; that of the longest unless given.
        lengths (Tensor, optional): int64, [sequences]; see `proa.static.sequences`.

    Returns:
        (Tensor, Tensor): [sequences, length, ...]; the lengths, int64 [sequences].

    Examples:
        >>> x, lengths = proa.static.nn.sequence_pad(proa.to_tensor([1.0, 2.0, 6.0]), 0.0, lengths=[2, 1])
        >>> x.tolist(), lengths.tolist()
        ([[1.0, 2.0], [6.0, 0.0]], [2, 1])
    """
    layout = layout_of("sequence_pad", x, lengths, name="x")
    longest = layout.longest()
    maxlen = maxlen if maxlen is None else known_int("sequence_pad", "maxlen", maxlen)
    if maxlen is not None and maxlen != -1:
        says = f"sequence_pad: maxlen is {maxlen}, the longest sequence has {{}} rows"
        layout = Layout(require(layout.lengths, longest <= maxlen, says, longest))
        longest = maxlen
    steps, valid = layout.steps(longest)
    index = _C.ops.unsqueeze(layout.begins, [1]) + steps
    if isinstance(pad_value, _C.Tensor):
        other = expand(pad_value.astype(x.dtype).reshape([1, *_filler(pad_value, x)]), [1, *x.shape[1:]])
        index = _C.ops.where(valid, index + 1, _C.ops.full_like(index, 0))
        padded = take(_C.ops.concat([other, x], 0), index)
    else:
        padded = take_or(x, index, valid, real("sequence_pad", "pad_value", pad_value))
    return padded, layout.lengths


def _filler(pad_value, x):
    if pad_value.size == 1:
        return [1] * (len(x.shape) - 1)
    if list(pad_value.shape) != list(x.shape[1:]):
        raise _C.located(
            ValueError(
                f"sequence_pad: pad_value must be one number or of the dims of a row, {list(x.shape[1:])}; it is "
                f"{list(pad_value.shape)}"
            )
        )
    return list(pad_value.shape)


def sequence_unpad(x, length, name=None):
    """The rows of sequences that stand side by side, without what filled them up.

    Args:
        x (Tensor): [sequences, size, ...].
        length (Tensor): integers, [sequences] or [sequences, 1].

    Returns:
        Tensor: [rows, ...].

    Examples:
        >>> proa.static.nn.sequence_unpad(proa.to_tensor([[1.0, 2.0], [6.0, 0.0]]), proa.to_tensor([2, 1])).tolist()
        [1.0, 2.0, 6.0]
    """
    _C.tensor_argument(x, "sequence_unpad", "x")
    if len(x.shape) < 2:
        raise _C.located(ValueError(f"sequence_unpad: x must be [sequences, size, ...]; it is {list(x.shape)}"))
    layout = Layout(as_lengths("sequence_unpad", length, "length"))
    result = layout.unpadded(x)
    note(result, [layout.lengths])
    return result


def sequence_concat(input, name=None, *, lengths=None):
    """The first sequences of all inputs one after another, then the second ones, and so on.

    Args:
        input (list[Tensor]): [rows, ...] each, with as many sequences each.
        lengths (list[Tensor], optional): int64 [sequences] for each.

    Examples:
        >>> a, b = proa.to_tensor([1.0, 2.0, 3.0]), proa.to_tensor([7.0, 8.0])
        >>> proa.static.nn.sequence_concat([a, b], lengths=[[2, 1], [1, 1]]).tolist()
        [1.0, 2.0, 7.0, 3.0, 8.0]
    """
    if not isinstance(input, (list, tuple)) or not input:
        raise _C.located(TypeError("sequence_concat: input must be a list of tensors that is not empty"))
    if lengths is not None and not isinstance(lengths, (list, tuple)):
        raise wrong("sequence_concat", "lengths", "a list of tensors", lengths)
    given = lengths if lengths is not None else [None] * len(input)
    if len(given) != len(input):
        raise _C.located(ValueError(f"sequence_concat: {len(given)} lengths for {len(input)} tensors"))
    layouts = [layout_of("sequence_concat", x, n) for x, n in zip(input, given)]
    total = layouts[0].lengths
    for layout in layouts[1:]:
        says = "sequence_concat: all must have as many sequences; they have {} and {}"
        total = require_sizes(total, total.shape, layout.lengths.shape, says, total, layout.lengths)
        total = total + layout.lengths
    whole = Layout(total)
    places, before = [], whole.begins
    for layout in layouts:
        places.append(layout.of_sequence(before) + layout.position)
        before = before + layout.lengths
    result = take(_C.ops.concat(list(input), 0), _C.ops.argsort(_C.ops.concat(places, 0)))
    note(result, [total])
    return result


def _expanded(x, layout, repeats):
    """Each sequence of x as often as `repeats` says; (rows, lengths)."""
    which = Layout(repeats).sequence
    lengths = take(layout.lengths, which)
    wide = Layout(lengths)
    rows = wide.of_sequence(take(layout.begins, which)) + wide.position
    return take(x, rows), lengths


def _repeats(op, y, lengths, level):
    _C.tensor_argument(y, op, "y")
    return layout_of(op, y, None, level, "y").lengths if lengths is None else as_lengths(op, lengths)


def sequence_expand(x, y, ref_level=-1, name=None, *, lengths=None, x_lengths=None):
    """The rows, or the sequences, of x, each as often as the sequence of y at its place is long.

    Args:
        x (Tensor): [rows, ...]: sequences if it has lengths, else each row by itself.
        y (Tensor): whose lengths say how often.
        ref_level (int): which level of y's lengths; the last.
        lengths (Tensor, optional): int64 [sequences], of y,
        x_lengths (Tensor, optional): and of x; see `proa.static.sequences`.

    Examples:
        >>> x, y = proa.to_tensor([[1.0], [2.0], [3.0]]), proa.zeros([5, 1])
        >>> proa.static.nn.sequence_expand(x, y, lengths=[2, 0, 3]).tolist()
        [[1.0], [1.0], [3.0], [3.0], [3.0]]
    """
    _C.tensor_argument(x, "sequence_expand", "x")
    repeats = _repeats("sequence_expand", y, lengths, -1 if ref_level is None else ref_level)
    own = x_lengths if x_lengths is not None else (levels_of(x) or [None])[0]
    if own is None:
        result = take(x, Layout(repeats).sequence)
        note(result, [repeats])
        return result
    result, lengths = _expanded(x, layout_of("sequence_expand", x, own, name="x"), repeats)
    note(result, [lengths])
    return result


def sequence_expand_as(x, y, name=None, *, lengths=None):
    """Each row of x as often as the sequence of y at its place is long.

    Examples:
        >>> x, y = proa.to_tensor([[1.0], [2.0]]), proa.zeros([4, 1])
        >>> proa.static.nn.sequence_expand_as(x, y, lengths=[3, 1]).tolist()
        [[1.0], [1.0], [1.0], [2.0]]
    """
    _C.tensor_argument(x, "sequence_expand_as", "x")
    repeats = _repeats("sequence_expand_as", y, lengths, 0)
    result = take(x, Layout(repeats).sequence)
    note(result, [repeats])
    return result


def sequence_reshape(input, new_dim, *, lengths=None):
    """The elements of each sequence in rows of another size.

    Args:
        input (Tensor): [rows, size].
        new_dim (int): the new size; the elements of each sequence are a multiple of it.

    Returns:
        Tensor: [rows * size / new_dim, new_dim].

    Examples:
        >>> proa.static.nn.sequence_reshape(proa.arange(4).reshape([1, 4]), 2, lengths=[1]).tolist()
        [[0, 1], [2, 3]]
    """
    layout = layout_of("sequence_reshape", input, lengths)
    if len(input.shape) != 2:
        raise _C.located(ValueError(f"sequence_reshape: input must be [rows, size]; it is {list(input.shape)}"))
    size = input.shape[1]
    elements = layout.lengths * size
    new_dim = known_int("sequence_reshape", "new_dim", new_dim)
    if new_dim < 1:
        raise _C.located(ValueError(f"sequence_reshape: new_dim must be positive; it is {new_dim}"))
    says = (
        f"sequence_reshape: the columns of a sequence times its length must be a multiple of {new_dim}; input has the shape "
        "{}, the lengths are {}"
    )
    checked = require(input, elements % new_dim == 0, says, _C.ops.shape(input), layout.lengths)
    result = _C.ops.reshape(checked, [-1, new_dim])
    note(result, [_C.ops.floor_divide(elements, _C.ops.full_like(elements, new_dim))])
    return result


def sequence_slice(input, offset, length, name=None, *, lengths=None):
    """A part of each sequence.

    Args:
        input (Tensor): [rows, ...].
        offset (Tensor): integers [sequences] or [sequences, 1]: where the part begins in its sequence,
        length (Tensor): and how long it is.

    Examples:
        >>> x = proa.to_tensor([1.0, 2.0, 3.0, 6.0])
        >>> part = proa.static.nn.sequence_slice(x, proa.to_tensor([1, 0]), proa.to_tensor([2, 1]), lengths=[3, 1])
        >>> part.tolist()
        [2.0, 3.0, 6.0]
    """
    layout = layout_of("sequence_slice", input, lengths)
    offset, length = as_lengths("sequence_slice", offset, "offset"), as_lengths("sequence_slice", length, "length")
    for part in (offset, length):
        says = "sequence_slice: there must be an offset and a length for each sequence; there are {} for {}"
        length = require_sizes(length, part.shape, layout.lengths.shape, says, part, layout.lengths)
    inside = _C.ops.concat([offset >= 0, length >= 0, offset + length <= layout.lengths], 0)
    says = "sequence_slice: sequences of {} rows do not have {} rows from {} on"
    length = require(length, inside, says, layout.lengths, length, offset)
    part = Layout(length)
    result = take(input, part.of_sequence(layout.begins + offset) + part.position)
    note(result, [length])
    return result


def sequence_enumerate(input, win_size, pad_value=0, name=None, *, lengths=None):
    """For each row the `win_size` values from it on; beyond the end of its sequence, `pad_value`.

    Args:
        input (Tensor): integers, [rows] or [rows, 1].
        win_size (int): how many.

    Returns:
        Tensor: [rows, win_size].

    Examples:
        >>> proa.static.nn.sequence_enumerate(proa.to_tensor([1, 2, 6]), 2, lengths=[2, 1]).tolist()
        [[1, 2], [2, 0], [6, 0]]
    """
    layout = layout_of("sequence_enumerate", input, lengths)
    fixed = not isinstance(win_size, _C.Tensor)
    if fixed and (isinstance(win_size, bool) or not isinstance(win_size, int) or win_size < 1):
        raise _C.located(ValueError(f"sequence_enumerate: win_size must be a positive int, not {win_size!r}"))
    pad_value = real("sequence_enumerate", "pad_value", pad_value)
    return _same_rows(_windows(_C.ops.reshape(input, [-1]), layout, 0, win_size, pad_value), input, lengths)


def _windows(rows, layout, begin, size, value):
    """For each row the `size` rows of its sequence from `begin` rows after it on: [rows, size, ...]."""
    steps = _C.ops.unsqueeze(arange(begin, begin + size, 1, "int64"), [0])
    place = _C.ops.unsqueeze(layout.position, [1]) + steps
    valid = _C.ops.logical_and(place >= 0, place < _C.ops.unsqueeze(layout.of_sequence(layout.lengths), [1]))
    index = _C.ops.unsqueeze(layout.of_sequence(layout.begins), [1]) + place
    return take_or(rows, index, valid, value)


def sequence_scatter(input, index, updates, name=None, *, lengths=None):
    """Row i of input, with the updates of sequence i added at the columns that `index` names.

    Args:
        input (Tensor): [sequences, columns].
        index (Tensor): integers, [rows] or [rows, 1].
        updates (Tensor): as `index`, of input's dtype.
        lengths (Tensor, optional): int64 [sequences], of index and updates.

    Examples:
        >>> x = proa.ones([2, 3])
        >>> proa.static.nn.sequence_scatter(x, proa.to_tensor([0, 2, 0]), proa.to_tensor([1.0, 2.0, 3.0]), lengths=[2, 1]).tolist()
        [[2.0, 1.0, 3.0], [4.0, 1.0, 1.0]]
    """
    input = _C.tensor_argument(input, "sequence_scatter", "input")
    updates = _C.tensor_argument(updates, "sequence_scatter", "updates")
    layout = layout_of("sequence_scatter", index, lengths, name="index")
    columns = _C.ops.reshape(index, [-1]).astype("int64")
    places = _C.ops.stack([layout.sequence, columns], 1)
    return _C.ops.scatter_nd_add(input, places, _C.ops.reshape(updates, [-1]))


@static_only("use paddle.nn.Conv1D on padded sequences")
def sequence_conv(input, num_filters, filter_size=3, filter_stride=1, padding=True, padding_start=None, bias_attr=None,
                  param_attr=None, act=None, name=None, *, lengths=None):  # fmt: skip
    """A convolution along the rows of each sequence, with its weight [filter_size * size, num_filters] and bias.

    Args:
        input (Tensor): [rows, size].
        num_filters (int): size of a row of the result.
        filter_size (int): rows that a window takes.
        filter_stride (int): 1.
        padding (bool): accepted: beyond a sequence there are zeros, always.
        padding_start (int, optional): where the window begins, in rows after its own; -(filter_size // 2) unless given.
        param_attr, bias_attr (ParamAttr, optional): of weight and bias; bias_attr=False for none.
        act (str, optional): a function of `nn.functional`.
        lengths (Tensor, optional): int64 [sequences]; see `proa.static.sequences`.

    Returns:
        Tensor: [rows, num_filters].

    Raises:
        RuntimeError: in eager mode.
        ValueError: filter_stride is not 1.

    Examples:
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     words = proa.static.data("words", [None, 8], lod_level=1)
        ...     y = proa.static.nn.sequence_conv(words, 4, 3)
        >>> y.shape, y.lod_level
        ([-1, 4], 1)
    """
    if filter_stride != 1:
        raise _C.located(ValueError(f"sequence_conv: filter_stride must be 1, not {filter_stride!r}"))
    layout = layout_of("sequence_conv", input, lengths)
    if len(input.shape) != 2:
        raise _C.located(ValueError(f"sequence_conv: input must be [rows, size]; it is {list(input.shape)}"))
    prefix = name if name is not None else unique_name.generate("sequence_conv")
    size = input.shape[1]
    weight = program_parameter([filter_size * size, num_filters], param_attr, input.dtype, prefix=prefix)
    bias = program_parameter([num_filters], bias_attr, input.dtype, True, prefix=prefix)
    begin = -(filter_size // 2) if padding_start is None else padding_start
    windows = _windows(input, layout, begin, filter_size, 0.0)
    result = _C.ops.matmul(_C.ops.reshape(windows, [-1, filter_size * size]), weight)
    result = result if bias is None else result + bias
    return _same_rows(activated(result, act), input, lengths)
