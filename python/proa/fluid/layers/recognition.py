"""Reading lines of text and tags: windows of images as steps, CTC, the distance of texts, chunks of tags."""

import proa
from proa import _C
from proa.nn import functional as F
from proa.static.sequences import Layout, as_lengths, layout_of, levels_of, note

__all__ = ["chunk_eval", "ctc_greedy_decoder", "edit_distance", "im2sequence", "warpctc"]

# Of each scheme the numbers of the tags begin, inside, end and single, -1 where it has none, and how many it has.
_SCHEMES = {"IOB": (0, 1, -1, -1, 2), "IOE": (-1, 0, 1, -1, 2), "IOBES": (0, 1, 2, 3, 4), "plain": (-1, -1, -1, -1, 1)}


def _pair(value):
    return list(value) if isinstance(value, (list, tuple)) else [value, value]


def im2sequence(input, filter_size=1, stride=1, padding=0, input_image_size=None, out_stride=1, name=None):
    """The windows of each image, row by row, as the rows of a sequence: [N * rows * columns, C * height * width of a window].

    Args:
        input (Tensor): a value of a program, [N, C, H, W].
        filter_size, stride (int|list[int]): of the windows, [height, width].
        padding (int|list[int]): [up, left, down, right], or [height, width].
        input_image_size, out_stride: images of sizes of their own inside of a batch; not in this version.

    Raises:
        ValueError: input has other dims.
        NotImplementedError: input_image_size is given.
    """
    input = _C.tensor_argument(input, "im2sequence", "input")
    if len(input.shape) != 4:
        raise _C.located(ValueError(f"im2sequence: input must be [N, C, H, W]; it is {list(input.shape)}"))
    if input_image_size is not None:
        raise _C.located(
            NotImplementedError("im2sequence: input_image_size is not in this version; resize images to one size")
        )
    pads = _pair(padding)
    pads = [*pads, *pads] if len(pads) == 2 else pads
    windows = F.unfold(input, _pair(filter_size), _pair(stride), pads, 1)
    count = _C.ops.shape(windows)[2:].astype("int64")
    rows = _C.ops.flatten(_C.ops.transpose(windows, [0, 2, 1]), 0, 1)
    note(rows, [_C.ops.full_like(windows[:, 0, 0], 0).astype("int64") + count])
    return rows


def warpctc(input, label, blank=0, norm_by_times=False, input_length=None, label_length=None):
    """The CTC loss: [N, 1].

    Args:
        input (Tensor): scores: [rows, classes + 1] with sequences, or padded, [T, N, classes + 1].
        label (Tensor): int32: [rows, 1] with sequences, or padded, [N, L].
        blank (int): the class of no label.
        norm_by_times (bool): gradients over the number of steps.
        input_length, label_length (Tensor, optional): int64, [N], of padded sequences.

    Raises:
        ValueError: one length is given and not the other, or nothing is known of sequences.
    """
    if (input_length is None) != (label_length is None):
        raise _C.located(ValueError("warpctc: give both of input_length and label_length, or neither"))
    if input_length is None:
        scores, labels = layout_of("warpctc", input), layout_of("warpctc", label, name="label")
        input_length, label_length = scores.lengths, labels.lengths
        input = _C.ops.transpose(scores.padded(input, 0.0), [1, 0, 2])
        label = labels.padded(_C.ops.reshape(label, [-1]), 0)
    loss = F.ctc_loss(
        input, label.astype("int32"), _flat(input_length), _flat(label_length), blank, "none", norm_by_times
    )
    return loss.reshape([-1, 1])


def _flat(lengths):
    return _C.ops.reshape(lengths, [-1])


def _kept(rows, lengths, keep):
    """(the rows where `keep`, how many each sequence has)."""
    left = _C.ops.gather(rows, _C.ops.reshape(_C.ops.nonzero(keep), [-1]), 0)
    return left, _C.ops.sum(Layout(lengths).padded(keep.astype("int64"), 0), 1)


def _before(rows, layout, other):
    """For each row the one before it in its sequence, `other` for the first."""
    shifted = _C.ops.concat([_C.ops.full([1], other, rows.dtype), rows[:-1]], 0)
    return _C.ops.where(layout.position == 0, _C.ops.full_like(rows, other), shifted)


def ctc_greedy_decoder(input, blank, input_length=None, padding_value=0, name=None):
    """The most probable class of each step; repetitions become one, and blanks go away.

    Args:
        input (Tensor): probabilities or scores: [rows, classes + 1] with sequences, or padded, [N, T, classes + 1].
        blank (int): the class of no label.
        input_length (Tensor, optional): int64, [N] or [N, 1], of a padded input.
        padding_value (int): behind the end of padded results.

    Returns:
        Tensor: int64, [rows, 1] with sequences; of a padded input (int64 [N, T], lengths [N, 1]).
    """
    if input_length is None:
        layout = layout_of("ctc_greedy_decoder", input)
        found, lengths = _merged(_C.ops.argmax(input, 1), layout, blank)
        result = _C.ops.unsqueeze(found, [1])
        note(result, [lengths])
        return result
    layout = Layout(as_lengths("ctc_greedy_decoder", input_length, "input_length"))
    found, lengths = _merged(layout.unpadded(_C.ops.argmax(input, 2)), layout, blank)
    padded = Layout(lengths).padded(found, padding_value, _C.ops.shape(input)[1].astype("int64"))
    return padded, _C.ops.unsqueeze(lengths, [1])


def _merged(classes, layout, blank):
    keep = _C.ops.logical_and(classes != blank, classes != _before(classes, layout, -1))
    return _kept(classes, layout.lengths, keep)


def edit_distance(input, label, normalized=True, ignored_tokens=None, input_length=None, label_length=None):
    """How many insertions, deletions and changes make each sequence the one of its label.

    Args:
        input, label (Tensor): integers: [rows, 1] with sequences, or padded, [N, T].
        normalized (bool): over the length of the label.
        ignored_tokens (list[int], optional): left out of both first.
        input_length, label_length (Tensor, optional): int64, [N], of padded sequences.

    Returns:
        (Tensor, Tensor): float32 [N, 1], and the number of sequences, int64 [1].

    Examples:
        >>> a, b = proa.to_tensor([[1, 2, 3]]), proa.to_tensor([[1, 3, 0]])
        >>> lengths = [proa.to_tensor([3]), proa.to_tensor([2])]
        >>> proa.fluid.layers.edit_distance(a, b, False, None, *lengths)[0].tolist()
        [[1.0]]
    """
    one, n = _texts(input, input_length, ignored_tokens, "input")
    other, m = _texts(label, label_length, ignored_tokens, "label")
    places = _numbers(_C.ops.shape(other)[1].astype("int64") + 1)  # 0 ... m
    row = places.astype("float32") + _C.ops.full_like(m, 0).astype("float32").unsqueeze(1)
    behind = _C.ops.unsqueeze(places, [0]) > _C.ops.unsqueeze(places, [1])  # [j, k]: k after j
    behind = behind.astype("float32") * 1e9

    def step(t, row):
        token = _C.ops.gather(one, t, 1)
        change = row[:, :-1] + (other != token).astype("float32")
        first = _C.ops.full_like(row[:, :1], 1.0) + row[:, :1]
        best = _C.ops.concat([first, _C.ops.minimum(row[:, 1:] + 1.0, change)], 1)
        # What is inserted in a row costs one a step: the least of best[k] + (j - k) over k up to j.
        ahead = _C.ops.unsqueeze(best - places.astype("float32"), [1]) + behind
        new = _C.ops.min(ahead, 2) + places.astype("float32")
        return [t + 1, _C.ops.where(_C.ops.unsqueeze(n > t, [1]), new, row)]

    longest = _C.ops.max(_C.ops.concat([n, _C.ops.full([1], 0, _C.int64)], 0))
    _, row = _C.while_loop(lambda t, _: [(t < longest).all()], step, [_C.ops.full([1], 0, _C.int64), row])
    distance = _C.ops.take_along_axis(row, _C.ops.unsqueeze(m, [1]), 1)
    if normalized:
        distance = distance / _C.ops.unsqueeze(m, [1]).astype("float32")
    return distance, _C.ops.shape(distance)[:1].astype("int64")


def _texts(x, lengths, ignored, name):
    """(padded int64 [N, T], lengths) without the tokens that are ignored."""
    if lengths is None:
        layout = layout_of("edit_distance", x, name=name)
        rows = _C.ops.reshape(x, [-1]).astype("int64")
    else:
        layout = Layout(as_lengths("edit_distance", lengths, f"{name}_length"))
        rows = layout.unpadded(x.astype("int64"))
    lengths = layout.lengths
    if ignored:
        keep = rows == rows
        for token in ignored:
            keep = _C.ops.logical_and(keep, rows != int(token))
        rows, lengths = _kept(rows, lengths, keep)
    return Layout(lengths).padded(rows, 0), lengths


def _numbers(count):
    """0, 1 ... count - 1."""
    return proa.arange(0, count, 1, "int64")


def chunk_eval(input, label, chunk_scheme, num_chunk_types, excluded_chunk_types=None, seq_length=None):
    """How many chunks of tags, such as names in a text, were found.

    A tag is the number of its type of chunk times the number of tags of the scheme (IOB: begin, inside; IOE: inside, end;
    IOBES: begin, inside, end, single; plain: one), plus the tag; the largest is no chunk.

    Args:
        input, label (Tensor): int64 tags: [rows, 1] with sequences, or padded, [N, T] or [N, T, 1].
        chunk_scheme (str): "IOB", "IOE", "IOBES" or "plain".
        num_chunk_types (int): how many types there are.
        excluded_chunk_types (list[int], optional): types that do not count.
        seq_length (Tensor, optional): int64, [N], of padded sequences.

    Returns:
        tuple: precision, recall, F1 (float32 [1]); chunks of input, of label, of both (int64 [1]).

    Raises:
        ValueError: an unknown scheme.

    Examples:
        >>> tags = proa.to_tensor([[0, 1, 4, 2]])
        >>> found = proa.fluid.layers.chunk_eval(tags, proa.to_tensor([[0, 1, 4, 0]]), "IOB", 2, None, proa.to_tensor([4]))
        >>> [round(v.item(), 2) for v in found]
        [0.5, 0.5, 0.5, 2, 2, 1]
    """
    if chunk_scheme not in _SCHEMES:
        raise _C.located(
            ValueError(f"chunk_eval: chunk_scheme must be one of {', '.join(_SCHEMES)}, not {chunk_scheme!r}")
        )
    if seq_length is None:
        layout = layout_of("chunk_eval", label if not levels_of(input) else input)
        tags = [_C.ops.reshape(x, [-1]).astype("int64") for x in (input, label)]
    else:
        layout = Layout(as_lengths("chunk_eval", seq_length, "seq_length"))
        tags = [layout.unpadded(_C.ops.flatten(x, 1, -1)).astype("int64") for x in (input, label)]
    (begins, ends, kinds), (begins_too, ends_too, kinds_too) = (
        _chunks(t, layout, _SCHEMES[chunk_scheme], num_chunk_types, excluded_chunk_types or ()) for t in tags
    )
    same = _C.ops.logical_and(
        _C.ops.logical_and(begins, begins_too), _C.ops.logical_and(ends == ends_too, kinds == kinds_too)
    )
    found, wanted, right = (flags.astype("int64").sum().reshape([1]) for flags in (begins, begins_too, same))
    precision, recall = _ratio(right, found), _ratio(right, wanted)
    return precision, recall, _ratio(2.0 * precision * recall, precision + recall), found, wanted, right


def _ratio(a, b):
    """a / b, 0 where b is."""
    a, b = a.astype("float32"), b.astype("float32")
    return _C.ops.where(b > 0.0, a / _C.ops.where(b > 0.0, b, _C.ops.full_like(b, 1.0)), _C.ops.full_like(b, 0.0))


def _chunks(tags, layout, scheme, types, excluded):
    """For each row: whether a chunk begins there, where it ends (the row behind it), and its type."""
    begin, inside, end, single, count = scheme
    both, either = _C.ops.logical_and, _C.ops.logical_or
    none = types * count
    before = _before(tags, layout, none)
    kind, kind_before = tags // count, before // count
    tag = _C.ops.where(tags < none, tags % count, _C.ops.full_like(tags, -2))
    tag_before = _C.ops.where(before < none, before % count, _C.ops.full_like(tags, -2))
    was, now = before < none, tags < none
    other = both(both(was, now), kind != kind_before)
    closed = either(tag_before == end, tag_before == single)
    opens = either(tag == begin, tag == single)
    begins = either(either(both(now, _C.ops.logical_not(was)), other), both(both(was, now), either(opens, both(either(tag == inside, tag == end), closed))))  # fmt: skip
    stays = both(both(was, now), kind == kind_before)
    ends = either(both(was, _C.ops.logical_not(both(was, now))), other)
    ends = either(ends, both(stays, either(closed, both(either(tag_before == begin, tag_before == inside), opens))))
    ends = either(ends, layout.position == 0)
    rows = _numbers(_C.ops.shape(tags)[0].astype("int64"))
    last = _C.ops.reshape(_C.ops.shape(tags)[0].astype("int64"), [1])
    places = _C.ops.concat([_C.ops.reshape(_C.ops.nonzero(ends), [-1]), last], 0)
    behind = _C.ops.gather(places, _C.ops.searchsorted(places, rows, False, True), 0)
    for wrong in excluded:
        begins = both(begins, kind != int(wrong))
    return begins, behind, kind
