"""What memory a device's tensors take, now and at most, and what the allocator holds for the next ones."""

from proa import _C

__all__ = [
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "set_memory_limit",
]


def memory_allocated(device=None):
    """Bytes of memory that tensors have at this moment. Blocks up to 256 bytes come from a pool and are not counted.

    Args:
        device (Place|str, optional): "cpu"; the current device unless given.

    Examples:
        >>> before = proa.device.memory_allocated("cpu")
        >>> x = proa.ones([1024, 1024])
        >>> proa.device.memory_allocated("cpu") - before
        4194304
    """
    return _C.memory_figures(device)["allocated"]


def max_memory_allocated(device=None):
    """The most bytes that tensors have had at a time, since the beginning or `reset_max_memory_allocated`.

    Examples:
        >>> type(proa.device.max_memory_allocated()).__name__
        'int'
    """
    return _C.memory_figures(device)["peak_allocated"]


def memory_reserved(device=None):
    """Bytes that the allocator has taken from the system: for tensors, and kept for the next ones.

    Examples:
        >>> type(proa.device.memory_reserved()).__name__
        'int'
    """
    return _C.memory_figures(device)["reserved"]


def max_memory_reserved(device=None):
    """The most bytes that the allocator has had from the system at a time.

    Examples:
        >>> type(proa.device.max_memory_reserved()).__name__
        'int'
    """
    return _C.memory_figures(device)["peak_reserved"]


def reset_max_memory_allocated(device=None):
    """Begins anew with the maxima, at what there is now (both of them: allocated and reserved).

    Examples:
        >>> proa.device.reset_max_memory_allocated()
    """
    _C.memory_reset_peak(device)


reset_max_memory_reserved = reset_max_memory_allocated


def empty_cache(device=None):
    """Gives what the allocator keeps for the next tensors back to the system; returns how many bytes.

    Examples:
        >>> _ = proa.device.empty_cache()
    """
    return _C.memory_release(device)


def set_memory_limit(limit, device=None):
    """Bounds what the allocator takes from the system; beyond it, a MemoryError that says what is in use.

    Args:
        limit (int): bytes.
        device (Place|str, optional): the current device unless given.

    Examples:
        >>> from proa import device
        >>> device.set_memory_limit(device.memory_reserved() + (64 << 20))  # 64 MiB more than there is now
        >>> proa.ones([1 << 30])
        Traceback (most recent call last):
            ...
        MemoryError: ...
        >>> device.set_memory_limit(2**63 - 1)
    """
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise _C.located(TypeError(f"set_memory_limit: limit must be int, not {type(limit).__name__}"))
    if not 0 < limit < 2**63:
        raise _C.located(ValueError(f"set_memory_limit: limit must be positive and below 2^63, not {limit}"))
    _C.memory_set_cap(limit, device)
