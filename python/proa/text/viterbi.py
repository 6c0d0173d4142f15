"""The most probable tags of a sequence, by scores of words and of steps from tag to tag."""

from proa import _C
from proa.framework.attributes import is_late
from proa.nn.layer.layers import Layer

__all__ = ["ViterbiDecoder", "viterbi_decode"]


def viterbi_decode(potentials, transition_params, lengths, include_bos_eos_tag=True, name=None):
    """The highest sum of scores that a path of tags has, and the path.

    Args:
        potentials (Tensor): scores of each tag at each place, [N, T, tags].
        transition_params (Tensor): scores of tag j after tag i, [tags, tags].
        lengths (Tensor): int64, [N].
        include_bos_eos_tag (bool): the last tag stands before the first place (its row counts there), the last but
            one after the end (its row counts there, as the reference has it).

    Returns:
        (Tensor, Tensor): scores [N], and paths [N, longest length] of int64, zeros after the end.

    Examples:
        >>> potentials = proa.to_tensor([[[1.0, 0.0], [0.0, 2.0]]])
        >>> scores, paths = proa.text.viterbi_decode(potentials, proa.zeros([2, 2]), proa.to_tensor([2]), False)
        >>> scores.tolist(), paths.tolist()
        ([3.0], [[0, 1]])
    """
    potentials, transition_params, lengths = (
        _C.tensor_argument(value, "viterbi_decode", name)
        for name, value in (
            ("potentials", potentials), ("transition_params", transition_params), ("lengths", lengths)
        )
    )  # fmt: skip
    if len(potentials.shape) != 3 or list(transition_params.shape) != [potentials.shape[2]] * 2:
        raise _C.located(
            ValueError(
                f"viterbi_decode: potentials must be [N, T, tags] and transition_params [tags, tags]; they are "
                f"{list(potentials.shape)} and {list(transition_params.shape)}"
            )
        )
    ops = _C.ops
    batch, _, tags = potentials.shape
    lengths = lengths.astype("int64").reshape([-1])
    longest, steps = _steps(potentials, lengths)
    alpha = potentials[:, 0]
    if include_bos_eos_tag:
        start, stop = transition_params[tags - 1], transition_params[tags - 2]
        alpha = alpha + start
        ends = ops.equal(lengths, ops.full_like(lengths, 1)).astype(alpha.dtype)
        alpha = alpha + ops.unsqueeze(ends, [1]) * stop
    back = []
    for t in range(1, steps):
        scores = ops.unsqueeze(alpha, [2]) + ops.unsqueeze(transition_params, [0])
        best, before = scores.max(1), ops.argmax(scores, 1)
        new = best + potentials[:, t]
        if include_bos_eos_tag:
            ends = ops.equal(lengths, ops.full_like(lengths, t + 1)).astype(alpha.dtype)
            new = new + ops.unsqueeze(ends, [1]) * stop
        inside = ops.unsqueeze(ops.greater_than(lengths, ops.full_like(lengths, t)), [1])
        alpha = ops.where(inside, new, alpha)
        back.append(before)
    scores, last = alpha.max(-1), ops.argmax(alpha, -1)
    path = []
    for t in range(steps - 1, -1, -1):
        if t < steps - 1:
            earlier = ops.take_along_axis(back[t], ops.unsqueeze(last, [1]), 1).reshape([-1])
            last = ops.where(ops.greater_than(lengths, ops.full_like(lengths, t + 1)), earlier, last)
        inside = ops.greater_than(lengths, ops.full_like(lengths, t))
        path.append(ops.where(inside, last, ops.full_like(last, 0)))
    paths = ops.stack(path[::-1], 1) if path else ops.full([batch, 0], 0, _C.int64)
    return scores, paths if longest is None else ops.slice(paths, [1], [0], [longest])


def _steps(potentials, lengths):
    """(the longest length where only the run of a program knows it, else None; how many steps are computed)."""
    batch, places, _ = potentials.shape
    if not is_late(batch) and not batch:
        return None, 0
    longest = lengths.max()
    if not _C.is_symbolic(longest) or _C.take_elements(longest):
        return None, int(longest.item())
    if is_late(places):
        raise _C.located(
            ValueError(
                "viterbi_decode: in a program the number of places must be known, as there is a step for each; potentials is "
                f"{list(potentials.shape)} {potentials.dtype.name}"
            )
        )
    return longest, places


class ViterbiDecoder(Layer):
    """`viterbi_decode` with its transitions.

    Args:
        transitions (Tensor): [tags, tags].
        include_bos_eos_tag (bool): see there.

    Examples:
        >>> decoder = proa.text.ViterbiDecoder(proa.zeros([3, 3]), include_bos_eos_tag=False)
        >>> scores, path = decoder(proa.to_tensor([[[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]]]), proa.to_tensor([2]))
        >>> scores.tolist(), path.tolist()
        ([3.0], [[1, 0]])
    """

    def __init__(self, transitions, include_bos_eos_tag=True, name=None):
        super().__init__()
        self.transitions = transitions
        self.include_bos_eos_tag = include_bos_eos_tag

    def forward(self, potentials, lengths):
        return viterbi_decode(potentials, self.transitions, lengths, self.include_bos_eos_tag)
