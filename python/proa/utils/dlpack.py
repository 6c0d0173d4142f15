"""Sharing memory with other frameworks through DLPack capsules.

New code passes tensors themselves: `proa.to_tensor(other)` and `other.from_dlpack(tensor)`.
"""

from proa import _C


def to_dlpack(x):
    """A capsule over the elements of a tensor, without a copy; consume it once.

    Examples:
        >>> capsule = proa.utils.dlpack.to_dlpack(proa.ones([2]))
        >>> proa.utils.dlpack.from_dlpack(capsule).tolist()
        [1.0, 1.0]
    """
    return x.__dlpack__()


def from_dlpack(dlpack):
    """A tensor over the elements of a capsule, or of any object with `__dlpack__`, without a copy.

    Examples:
        >>> proa.utils.dlpack.from_dlpack(np.arange(3)).tolist()
        [0, 1, 2]
    """
    return _C.from_dlpack(dlpack)
