"""Sharing memory with other frameworks through DLPack capsules.

New code passes tensors themselves: `proa.to_tensor(other)` and `other.from_dlpack(tensor)`.
"""

from proa import _C


def to_dlpack(x):
    """A capsule over the elements of a tensor, without a copy; consume it once."""
    return x.__dlpack__()


def from_dlpack(dlpack):
    """A tensor over the elements of a capsule, or of any object with `__dlpack__`, without a copy."""
    return _C.from_dlpack(dlpack)
