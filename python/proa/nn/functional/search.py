"""Sequences of a beam search."""

from proa import _C

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
    if len(ids.shape) != 3 or list(ids.shape) != list(parents.shape):
        raise _C.located(
            ValueError(
                f"gather_tree: ids and parents must both be [time, batch, beam]; they are {list(ids.shape)} and "
                f"{list(parents.shape)}"
            )
        )
    found = []
    beams = None
    for t in range(ids.shape[0] - 1, -1, -1):
        word, parent = ids[t], parents[t]
        if beams is not None:
            word, parent = _C.ops.take_along_axis(word, beams, 1), _C.ops.take_along_axis(parent, beams, 1)
        found.append(word)
        beams = parent
    return _C.ops.stack(found[::-1], 0) if found else ids.clone()
