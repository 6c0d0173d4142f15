"""Conditional random fields over chains: the cost of a path of tags, and the best path.

The transitions are one tensor [tags + 2, tags]: the first row says how well a chain begins with a tag, the second how well it ends
with one, row 2 + i how well each tag follows tag i.
"""

from proa import _C
from proa.static.only import static_only
from proa.static.parameters import program_parameter
from proa.static.sequences import Layout, as_lengths, layout_of, levels_of, note
from proa.utils import unique_name

__all__ = ["crf_decoding", "linear_chain_crf"]


def best_path(scores, transitions, lengths):
    """The tags whose scores and transitions have the largest sum (Viterbi), 0 behind the end of a sequence.

    Args:
        scores (Tensor): [sequences, steps, tags], of one step at least.
        transitions (Tensor): [tags + 2, tags].
        lengths (Tensor): int64, [sequences].

    Returns:
        Tensor: int64, [sequences, steps].
    """
    begin, end, follow = _parts(transitions)
    steps = _C.ops.transpose(scores, [1, 0, 2])
    count = _C.ops.shape(scores).astype("int64")[1]
    tags = scores.shape[2]
    own = _C.ops.reshape(_numbers(tags), [1, tags])
    first = _take(steps, _C.ops.full([1], 0, _C.int64)) + begin

    def forward(t, best, came):
        sums = _C.ops.unsqueeze(best, [2]) + follow
        new = _C.ops.max(sums, 1) + _take(steps, t)
        active = _C.ops.unsqueeze(t < lengths, [1])
        # Behind its end a sequence stays at the tag that it has.
        source = _C.ops.argmax(sums, 1)
        source = _C.ops.where(active, source, _C.ops.full_like(source, 0) + own)
        return [t + 1, _C.ops.where(active, new, best), _put(came, t, source)]

    came = _C.ops.full_like(steps, 0).astype("int64")
    _, best, came = _C.while_loop(
        lambda t, best, came: [(t < count).all()], forward, [_C.ops.full([1], 1, _C.int64), first, came]
    )
    last = _C.ops.argmax(best + end, 1)

    def backward(t, tag, path):
        path = _put(path, t, tag)
        before = _C.ops.take_along_axis(_take(came, t), _C.ops.unsqueeze(tag, [1]), 1)
        return [t - 1, _C.ops.squeeze(before, [1]), path]

    path = _C.ops.max(came, 2) * 0
    _, tag, path = _C.while_loop(
        lambda t, tag, path: [(t > 0).all()], backward, [_C.ops.reshape(count - 1, [1]), last, path]
    )
    path = _C.ops.transpose(_put(path, _C.ops.full([1], 0, _C.int64), tag), [1, 0])
    _, valid = Layout(lengths).steps(count)
    return _C.ops.where(valid, path, _C.ops.full_like(path, 0))


def _parts(transitions):
    return transitions[0:1], transitions[1:2], transitions[2:]


def _numbers(count):
    return _C.ops.cumsum(_C.ops.full([count], 1, _C.int64), 0) - 1


def _take(steps, t):
    """Step t ([1]) of [steps, ...]."""
    return _C.ops.reshape(_C.ops.gather(steps, t, 0), steps.shape[1:])


def _put(steps, t, value):
    """[steps, ...] with `value` as step t ([1])."""
    numbers = _C.ops.cumsum(_C.ops.full_like(_first_of(steps), 1).astype("int64"), 0) - 1
    here = _C.ops.reshape(numbers == t, [steps.shape[0], *[1] * (len(steps.shape) - 1)])
    return _C.ops.where(here, _C.ops.unsqueeze(value, [0]), steps)


def _first_of(steps):
    """A tensor [steps]."""
    from proa.tensor.creation import arange

    return arange(0, steps.shape[0], 1, "int64")


def path_cost(scores, transitions, tags, lengths):
    """-log of the probability of a path of tags among all paths: [sequences, 1].

    Args:
        scores (Tensor): [sequences, steps, tags], of one step at least.
        transitions (Tensor): [tags + 2, tags].
        tags (Tensor): int64, [sequences, steps].
        lengths (Tensor): int64, [sequences].
    """
    begin, end, follow = _parts(transitions)
    steps = _C.ops.transpose(scores, [1, 0, 2])
    count = _C.ops.shape(scores).astype("int64")[1]

    def forward(t, total):
        sums = _C.ops.logsumexp(_C.ops.unsqueeze(total, [2]) + follow, 1) + _take(steps, t)
        return [t + 1, _C.ops.where(_C.ops.unsqueeze(t < lengths, [1]), sums, total)]

    first = _take(steps, _C.ops.full([1], 0, _C.int64)) + begin
    _, total = _C.while_loop(lambda t, total: [(t < count).all()], forward, [_C.ops.full([1], 1, _C.int64), first])
    every = _C.ops.logsumexp(total + end, 1)

    numbers, valid = Layout(lengths).steps(count)
    inside = valid.astype(scores.dtype)
    tags = _C.ops.where(valid, tags, _C.ops.full_like(tags, 0))
    own = _C.ops.sum(_C.ops.squeeze(_C.ops.take_along_axis(scores, _C.ops.unsqueeze(tags, [2]), 2), [2]) * inside, 1)
    moves = _C.ops.gather_nd(follow, _C.ops.stack([tags[:, :-1], tags[:, 1:]], 2))
    own = own + _C.ops.sum(moves * inside[:, 1:], 1)
    last = _C.ops.sum(_C.ops.where(numbers == _C.ops.unsqueeze(lengths - 1, [1]), tags, _C.ops.full_like(tags, 0)), 1)
    own = own + _C.ops.gather(begin[0], _C.ops.reshape(tags[:, :1], [-1]), 0) + _C.ops.gather(end[0], last, 0)
    cost = _C.ops.where(lengths > 0, every - own, _C.ops.full_like(own, 0.0))
    return _C.ops.unsqueeze(cost, [1])


def _batch(op, input, length):
    """(scores side by side, lengths, layout): of [rows, tags], or of [sequences, steps, tags] with `length`."""
    if length is not None:
        if len(input.shape) != 3:
            raise _C.located(
                ValueError(f"{op}: with length, input must be [sequences, steps, tags]; it is {list(input.shape)}")
            )
        return input, as_lengths(op, length, "length"), None
    if len(input.shape) != 2:
        raise _C.located(
            ValueError(f"{op}: without length, input must be [rows, tags]; it is {list(input.shape)}; or give length")
        )
    layout = layout_of(op, input)
    return layout.padded(input, 0.0), layout.lengths, layout


def _side_by_side(tags, layout):
    if layout is None:
        return (tags if len(tags.shape) == 2 else _C.ops.squeeze(tags, [2])).astype("int64")
    return layout.padded(_C.ops.reshape(tags, [-1]).astype("int64"), 0)


@static_only("use paddle.text.viterbi_decode")
def crf_decoding(input, param_attr, label=None, length=None):
    """The best path of tags of each sequence, by the transitions that `linear_chain_crf` trains.

    Args:
        input (Tensor): scores: [rows, tags] of an input with `lod_level`; [sequences, steps, tags] with `length`.
        param_attr (ParamAttr): of the transitions [tags + 2, tags], whose name is that of the ones that are trained.
        label (Tensor, optional): as many tags, int64; then the result says where they are those of the best path.
        length (Tensor, optional): int64, [sequences].

    Returns:
        Tensor: int64: [rows, 1], or [sequences, steps] with zeros behind the ends. With `label`, 1 where it is right.

    Raises:
        RuntimeError: in eager mode.
        ValueError: nothing is known of the lengths.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     scores = proa.static.data("scores", [None, 7, 5])
        ...     length = proa.static.data("length", [None], "int64")
        ...     path = proa.static.nn.crf_decoding(scores, proa.ParamAttr(name="transitions"), length=length)
        >>> path.shape
        [-1, 7]
    """
    transitions = _transitions(input, param_attr)
    scores, lengths, layout = _batch("crf_decoding", input, length)
    path = best_path(scores, transitions, lengths)
    if layout is not None:
        path = _C.ops.unsqueeze(layout.unpadded(path), [1])
    if label is not None:
        path = (path == label.reshape(path.shape).astype("int64")).astype("int64")
    if layout is not None:
        note(path, levels_of(input))
    return path


@static_only("compute the cost with tensor functions")
def linear_chain_crf(input, label, param_attr=None, length=None):
    """The cost -log(probability) of each sequence of tags, with the transitions [tags + 2, tags] as its parameter.

    Args:
        input (Tensor): scores: [rows, tags] of an input with `lod_level`; [sequences, steps, tags] with `length`.
        label (Tensor): int64 tags: [rows, 1]; [sequences, steps] with `length`.
        param_attr (ParamAttr, optional): of the transitions.
        length (Tensor, optional): int64, [sequences].

    Returns:
        Tensor: [sequences, 1].

    Raises:
        RuntimeError: in eager mode.
    """
    transitions = _transitions(input, param_attr)
    scores, lengths, layout = _batch("linear_chain_crf", input, length)
    return path_cost(scores, transitions, _side_by_side(label, layout), lengths)


def _transitions(input, attr):
    tags = input.shape[-1]
    return program_parameter([tags + 2, tags], attr, input.dtype, prefix=unique_name.generate("linear_chain_crf"))
