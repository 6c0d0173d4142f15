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


def from_torch(tensor):
    """A tensor over the elements of one of PyTorch, without a copy: what is written to one is read from the other.

    Gradients are not shared: it is what `tensor.detach()` holds.

    Args:
        tensor (torch.Tensor): on a device that Proa has.

    Raises:
        TypeError: it is no tensor of PyTorch.

    Examples:
        >>> import torch  # doctest: +SKIP
        >>> proa.utils.dlpack.from_torch(torch.ones(2)).tolist()  # doctest: +SKIP
        [1.0, 1.0]
    """
    if not (hasattr(tensor, "__dlpack__") and hasattr(tensor, "detach")) or isinstance(tensor, _C.Tensor):
        raise _C.located(
            TypeError(
                f"from_torch: a torch.Tensor is needed, not {type(tensor).__name__}; from_dlpack takes any object with "
                "__dlpack__, to_tensor copies numbers"
            )
        )
    return _C.from_dlpack(tensor.detach())
