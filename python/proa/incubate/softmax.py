"""Softmax of masked scores of attention."""

from proa import _C

__all__ = ["softmax_mask_fuse", "softmax_mask_fuse_upper_triangle"]


def softmax_mask_fuse(x, mask, name=None):
    """softmax(x + mask) along the last dim.

    Args:
        x (Tensor): scores, floating point [N, heads, L, S].
        mask (Tensor): what is added, broadcast to x: 0, or a large negative number.
        name (str, optional): not used.

    Returns:
        Tensor: of the shape of x.

    Examples:
        >>> mask = proa.to_tensor([0.0, float("-inf")])
        >>> proa.incubate.softmax_mask_fuse(proa.zeros([1, 1, 1, 2]), mask).tolist()
        [[[[1.0, 0.0]]]]
    """
    x, mask = (_C.tensor_argument(v, "softmax_mask_fuse", name) for name, v in (("x", x), ("mask", mask)))
    return _C.ops.softmax(_C.ops.add(x, mask), -1)


def softmax_mask_fuse_upper_triangle(x):
    """softmax along the last dim of scores of which each row sees its own place and those before.

    Args:
        x (Tensor): scores, floating point [N, heads, L, L].

    Returns:
        Tensor: of the shape of x.

    Examples:
        >>> proa.incubate.softmax_mask_fuse_upper_triangle(proa.zeros([1, 1, 2, 2])).tolist()
        [[[[1.0, 0.0], [0.5, 0.5]]]]
    """
    x = _C.tensor_argument(x, "softmax_mask_fuse_upper_triangle", "x")
    seen = _C.ops.tril(_C.ops.full_like(x, 1.0)) > 0.0
    return _C.ops.softmax(_C.ops.where(seen, x, _C.ops.full_like(x, float("-inf"))), -1)
