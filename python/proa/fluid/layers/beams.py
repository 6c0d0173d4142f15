"""Beam search step by step, as programs of 1.x write it: a While with arrays, whose items have two levels of sequences.

The rows of a step are what was chosen; the first level says how many rows of the step before are of each source, the second how
many were chosen after each of these rows.
"""

import proa
from proa import _C
from proa.fluid.layers.loops import Array
from proa.static.sequences import Layout, levels_of, note

__all__ = ["beam_search", "beam_search_decode"]


_LEAST, _NONE = -3.4e38, -3.402e38


def _two_levels(op, what, x):
    levels = levels_of(x)
    if len(levels) != 2:
        raise _C.located(
            ValueError(
                f"{op}: {what} must have two levels of sequences, of sources and of rows chosen after each row; it has "
                f"{len(levels)}. The ids and scores that the search begins with are data(..., lod_level=2)"
            )
        )
    return levels


def _rows_of_sources(levels):
    """How many rows there are of each source."""
    ends = _C.ops.concat([_C.ops.full([1], 0, _C.int64), _C.ops.cumsum(levels[1], 0)], 0)
    sources = _C.ops.cumsum(levels[0], 0)
    return _C.ops.gather(ends, sources, 0) - _C.ops.gather(ends, sources - levels[0], 0)


def beam_search(pre_ids, pre_scores, ids, scores, beam_size, end_id, level=0, is_accumulated=True, name=None,
                return_parent_idx=False):  # fmt: skip
    """One step of a beam search: the best `beam_size` ways on of each source; of ways that are as good the later row goes first.

    A row that has ended (its id is `end_id`) goes on as it is, with its score. A source of which only such rows are left gives no
    rows any more: a loop ends when there are none (`is_empty`).

    Args:
        pre_ids (Tensor): int64, [rows, 1]: the words chosen before.
        pre_scores (Tensor): float32, [rows, 1], with two levels of sequences: see above.
        ids (Tensor, optional): int64, [rows, K]: words that may follow each row; all, 0 to K - 1, if None.
        scores (Tensor): float32, [rows, K]: and how good they are.
        beam_size (int): how many are chosen of each source, at most.
        end_id (int): the word that ends a row.
        level (int): 0.
        is_accumulated (bool): scores are those of whole rows; else probabilities, whose logarithms are added to pre_scores.
        return_parent_idx (bool): give the row that each comes after, too.

    Returns:
        tuple of Tensor: ids and scores [chosen, 1], with two levels of sequences, and if asked for int32 [chosen].

    Raises:
        ValueError: another level; pre_scores has no two levels of sequences; beam_size is no positive number.

    Examples:
        >>> from proa import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     pre = [fluid.data(n, [None, 1], d, lod_level=2) for n, d in (("ids", "int64"), ("scores", "float32"))]
        ...     share = fluid.data("share", [None, 3])
        ...     chosen = fluid.layers.beam_search(*pre, None, share, beam_size=2, end_id=0, is_accumulated=False)
        ...     rows = fluid.create_lod_tensor(np.array([[1]]), [[1], [1]]), fluid.create_lod_tensor(np.zeros([1, 1], "float32"), [[1], [1]])
        ...     feed = {"ids": rows[0], "scores": rows[1], "share": np.array([[0.5, 0.25, 0.75]], "float32")}
        ...     fluid.Executor().run(feed=feed, fetch_list=[chosen[0]])[0].tolist()
        [[2], [0]]
    """
    ops = _C.ops
    if level != 0:
        raise _C.located(ValueError(f"beam_search: level must be 0, that of the sources; it is {level!r}"))
    if type(beam_size) is not int or beam_size < 1:
        raise _C.located(ValueError(f"beam_search: beam_size must be a positive int, not {beam_size!r}"))
    levels = _two_levels("beam_search", "pre_scores", pre_scores)
    sources = Layout(_rows_of_sources(levels))
    before = ops.reshape(pre_scores, [-1, 1])
    has_ended = ops.reshape(pre_ids, [-1, 1]) == end_id
    worth = scores if is_accumulated else ops.log(scores) + before
    choices = ops.shape(worth)[1].astype("int64")
    numbers = ops.unsqueeze(proa.arange(0, choices, 1, "int64"), [0])
    worth = ops.where(has_ended, before + ops.full_like(worth, 0.0), worth)
    words = (numbers if ids is None else ids.astype("int64")) + ops.full_like(worth, 0.0).astype("int64")
    words = ops.where(has_ended, ops.full_like(words, end_id), words)
    # A row that has ended goes on in one way. The least score that a way may have lies above that of none.
    may = ops.logical_or(ops.logical_not(has_ended), numbers == 0)
    key = ops.where(may, ops.clip(worth, _LEAST, None), ops.full_like(worth, _NONE))
    # Side by side for each source, the last row first: [sources, rows * K].
    together = ops.flip(sources.padded(key, _NONE), [1])
    rows = ops.shape(together)[1].astype("int64")
    place = ops.argsort(ops.argsort(ops.flatten(together, 1, 2), 1, True), 1)
    column = (rows - 1 - ops.unsqueeze(sources.position, [1])) * choices + numbers
    place = ops.gather_nd(place, ops.stack([ops.unsqueeze(sources.sequence, [1]) + column * 0, column], 2))
    chosen = ops.logical_and(place < beam_size, may)
    goes_on = ops.logical_and(chosen, ops.logical_not(has_ended)).any(1).astype("int64")
    counts = ops.squeeze(sources.padded(ops.unsqueeze(goes_on, [1]), 0), [2])
    alive = sources.of_sequence(ops.sum(counts, axis=[1]) > 0)
    chosen = ops.logical_and(chosen, ops.unsqueeze(alive, [1]))
    at = ops.nonzero(chosen).astype("int64")
    at = ops.gather(at, ops.argsort(at[:, 0] * (rows * choices) + ops.gather_nd(place, at), 0), 0)
    results = [ops.unsqueeze(ops.gather_nd(v, at), [1]) for v in (words, worth)]
    following = [sources.lengths, ops.sum(chosen.astype("int64"), axis=[1])]
    for result in results:
        note(result, following)
    return (*results, at[:, 0].astype("int32")) if return_parent_idx else tuple(results)


def _items(op, array):
    """(rows of all steps, how many each step has, first levels, their sizes, second levels) of an array."""
    if isinstance(array, Array) and array.uneven is not None:
        items = array.uneven
        (first, first_counts), (second, _) = items.levels
        return items.rows.touch(), items.counts.touch(), first, first_counts, second
    array = list(array)
    if not array:
        raise _C.located(IndexError(f"{op}: the array is empty"))
    levels = [_two_levels(op, "each step", x) for x in array]
    sizes = lambda tensors: _C.ops.concat([_C.ops.shape(t)[:1].astype("int64") for t in tensors], 0)
    whole = lambda tensors: _C.ops.concat(list(tensors), 0)
    first, second = zip(*levels, strict=True)
    return whole(array), sizes(array), whole(first), sizes(first), whole(second)


def beam_search_decode(ids, scores, beam_size, end_id, name=None):
    """The sentences of a beam search, read back from its last steps to its first.

    Args:
        ids, scores (array of Tensor): what `beam_search` gave in each step, behind what the search began with.
        beam_size (int): accepted. end_id (int): the word that ends a row; it stands once, at the end, if at all.

    Returns:
        (Tensor, Tensor): int64 [words] and float32 [words], two levels of sequences: the sentences of each source, the best first,
        and the words of each.

    Raises:
        IndexError: the array is empty. ValueError: its steps have no two levels of sequences.
    """
    ops = _C.ops
    words, counts, per_source, source_counts, after = _items("beam_search_decode", ids)
    values = ops.reshape(_items("beam_search_decode", scores)[0], [-1])
    words = ops.reshape(words, [-1]).astype("int64")
    steps = Layout(counts)
    count_of_sources = source_counts[0]
    # How many rows there are in each step of each source: [steps, sources]. Those of the step before are the entries of `after`.
    ends = ops.concat([ops.full([1], 0, _C.int64), ops.cumsum(after, 0)], 0)
    at = ops.cumsum(per_source, 0)
    rows = ops.gather(ends, at, 0) - ops.gather(ends, at - per_source, 0)
    table = ops.reshape(rows, ops.concat([-ops.full_like(ops.reshape(count_of_sources, [1]), 1),
                                          ops.reshape(count_of_sources, [1])], 0))  # fmt: skip
    source = Layout(rows).sequence % count_of_sources
    later = ops.concat([table[1:], ops.full_like(table[:1], 0)], 0)
    is_last = ops.gather_nd(later, ops.stack([steps.sequence, source], 1)) == 0
    # The row that each row comes after, of the first step none: behind the entries of that, `after` has one for each row.
    parent = Layout(after).sequence - ops.sum(ops.reshape(per_source, [-1])[:count_of_sources])
    parent = ops.where(steps.sequence == 0, ops.full_like(parent, -1), parent)
    ends_at = ops.reshape(ops.nonzero(is_last).astype("int64"), [-1])
    ends_at = ops.gather(ends_at, ops.argsort(ops.gather(values, ends_at, 0), 0, True), 0)
    mine = ops.gather(source, ends_at, 0)
    order = ops.argsort(mine * ops.shape(mine)[0].astype("int64") + _numbers(mine), 0)
    ends_at, mine = ops.gather(ends_at, order, 0), ops.gather(mine, order, 0)

    def turn(t, current, path):
        following = ops.where(current < 0, current, ops.gather(parent, ops.clip(current, 0, None), 0))
        return [t + 1, following, ops.concat([path, ops.unsqueeze(current, [1])], 1)]

    number = ops.shape(counts)[0].astype("int64")
    start = [ops.full([1], 0, _C.int64), ends_at, ops.unsqueeze(ends_at, [1])[:, :0]]
    _, _, path = _C.while_loop(lambda t, *_: [(t < number).all()], turn, start)
    there = path >= 0
    index = ops.clip(path, 0, None)
    said = proa.static.sequences.take(words, index)
    is_final = proa.arange(0, number, 1, "int64") == 0
    kept = ops.logical_and(there, ops.logical_or(said != end_id, is_final))
    backwards = lambda x: ops.flip(x, [1])
    at = ops.nonzero(backwards(kept)).astype("int64")
    results = [ops.gather_nd(backwards(v), at) for v in (said, proa.static.sequences.take(values, index))]
    sentences = ops.sum(
        (ops.unsqueeze(mine, [1]) == proa.arange(0, count_of_sources, 1, "int64")).astype("int64"), axis=[0]
    )
    for result in results:
        note(result, [sentences, ops.sum(kept.astype("int64"), axis=[1])])
    return tuple(results)


def _numbers(like):
    return proa.arange(0, _C.ops.shape(like)[0].astype("int64"), 1, "int64")
