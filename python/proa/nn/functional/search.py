"""Sequences of a beam search."""

from proa import _C
from proa.framework.requirements import require_sizes

__all__ = ["gather_tree"]


def gather_tree(ids, parents):
    """Whole sequences from the words and parents of each step of a beam search.

    Args:
        ids (Tensor): the words, [time, batch, beam], int32 or int64.
        parents (Tensor): from which beam of the step before each word goes on, of that shape.

    Returns:
        Tensor: [time, batch, beam]; beam j is the sequence that ends in `ids[-1, :, j]`.

    Examples:
        >>> ids = proa.to_tensor([[[2, 2]], [[6, 1]], [[3, 9]]])
        >>> parents = proa.to_tensor([[[0, 0]], [[1, 1]], [[1, 0]]])
        >>> proa.nn.functional.gather_tree(ids, parents).tolist()
        [[[2, 2]], [[1, 6]], [[3, 9]]]
    """
    ids = _C.tensor_argument(ids, "gather_tree", "ids")
    parents = _C.tensor_argument(parents, "gather_tree", "parents")
    if len(ids.shape) != 3 or len(parents.shape) != 3:
        raise _C.located(
            ValueError(
                f"gather_tree: ids and parents must both be [time, batch, beam]; they are {list(ids.shape)} and "
                f"{list(parents.shape)}"
            )
        )
    says = "gather_tree: ids and parents must both be [time, batch, beam]; they are {} and {}"
    ids = require_sizes(ids, parents.shape, ids.shape, says, ids, parents)
    if type(ids.shape[0]) is not int:
        return _of_program(ids, parents)
    found = []
    beams = None
    for t in range(ids.shape[0] - 1, -1, -1):
        word, parent = ids[t], parents[t]
        if beams is not None:
            word, parent = _C.ops.take_along_axis(word, beams, 1), _C.ops.take_along_axis(parent, beams, 1)
        found.append(word)
        beams = parent
    return _C.ops.stack(found[::-1], 0) if found else ids.clone()


def _of_program(ids, parents):
    """`gather_tree` of as many steps as only the run of the program knows."""
    ops = _C.ops
    row = lambda steps, t: ops.squeeze(ops.gather(steps, ops.reshape(t, [1]), 0), [0])
    last = ops.shape(ids)[0].astype("int64") - 1

    def turn(t, beams, found):
        word, parent = (ops.take_along_axis(row(steps, t), beams, 1) for steps in (ids, parents))
        return [t - 1, parent, ops.concat([ops.unsqueeze(word, [0]), found], 0)]

    # Each beam goes on from itself before the last step.
    every = (((parents * 0).sum(0) + 1).cumsum(1) - 1).astype(parents.dtype)
    begin = [ops.reshape(last, [1]), every, ids[:0]]
    return _C.while_loop(lambda t, *_: [(t >= 0).all()], turn, begin)[2]
