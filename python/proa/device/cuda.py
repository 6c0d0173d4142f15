"""NVIDIA GPUs: memory and properties. Without one every function but `device_count` says so."""

import types

from proa import _C
from proa.device import memory, streams
from proa.device.streams import Event, Stream, stream_guard
from proa.framework.names import missing as _missing

__all__ = [
    "Event",
    "Stream",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "stream_guard",
    "synchronize",
]


def device_count():
    """Number of GPUs that this package can use; 0 for one that was built without CUDA.

    Examples:
        >>> proa.device.cuda.device_count() >= 0
        True
    """
    return _C.device_count("gpu")


def _gpu(function, device):
    """The place of a GPU, given by number or name; the first one for None.

    Raises:
        ValueError: it is no GPU, or not there.
        TypeError: it names no device.
    """
    if isinstance(device, bool) or not isinstance(device, (int, str, _C.Place, type(None))):
        raise _C.located(
            TypeError(f"{function}: device must be a Place, int, str or None, not {type(device).__name__}")
        )
    place = device if isinstance(device, _C.Place) else f"gpu:{device or 0}" if not isinstance(device, str) else device
    if isinstance(place, str):
        place = _C.Place(place)
    if place.kind != "gpu" or place.index >= device_count():
        raise _C.located(
            ValueError(f"{function}: there is no GPU {place.name}; this machine or package has {device_count()}")
        )
    return place


def _meant(function, device):
    """The device that a number, name or None stands for: a GPU where there is one, also while the default is the CPU."""
    if not device_count():
        return device
    current = _C.get_device()
    return current if device is None and current.startswith("gpu") else _gpu(function, device)


def current_stream(device=None):
    """The stream that the work of a GPU is put into: of the current one, or the first, for None.

    Without a GPU that of the current device.

    Examples:
        >>> proa.device.cuda.current_stream().synchronize()
    """
    return streams.current_stream(_meant("device.cuda.current_stream", device))


def synchronize(device=None):
    """Waits until the work of a GPU is done: of the current one, or the first, for None.

    Without a GPU it waits for the current device.

    Raises:
        IndexError: an index that a kernel met is out of range; and other errors of values (docs/gpu.md).

    Examples:
        >>> proa.device.cuda.synchronize()
    """
    streams.synchronize(_meant("device.cuda.synchronize", device))


def memory_allocated(device=None):
    """Bytes of the GPU's memory that tensors have at this moment.

    Args:
        device (Place|int|str, optional): the first GPU unless given.

    Raises:
        ValueError: there is no such GPU.

    Examples:
        >>> proa.device.cuda.memory_allocated()  # a package without GPUs
        Traceback (most recent call last):
            ...
        ValueError: ...there is no GPU gpu:0; this machine or package has 0...
    """
    return memory.memory_allocated(_gpu("memory_allocated", device))


def max_memory_allocated(device=None):
    """The most bytes of the GPU's memory that tensors have had at a time. Arguments: `memory_allocated`.

    Examples:
        >>> proa.device.cuda.max_memory_allocated()  # a package without GPUs
        Traceback (most recent call last):
            ...
        ValueError: ...there is no GPU gpu:0; this machine or package has 0...
    """
    return memory.max_memory_allocated(_gpu("max_memory_allocated", device))


def memory_reserved(device=None):
    """Bytes of the GPU's memory that the allocator holds. Arguments: `memory_allocated`.

    Examples:
        >>> proa.device.cuda.memory_reserved()  # a package without GPUs
        Traceback (most recent call last):
            ...
        ValueError: ...there is no GPU gpu:0; this machine or package has 0...
    """
    return memory.memory_reserved(_gpu("memory_reserved", device))


def max_memory_reserved(device=None):
    """The most bytes of the GPU's memory that the allocator has held. Arguments: `memory_allocated`.

    Examples:
        >>> proa.device.cuda.max_memory_reserved()  # a package without GPUs
        Traceback (most recent call last):
            ...
        ValueError: ...there is no GPU gpu:0; this machine or package has 0...
    """
    return memory.max_memory_reserved(_gpu("max_memory_reserved", device))


class _Properties(types.SimpleNamespace):
    """`name`, `major`, `minor`, `total_memory` (bytes) and `multi_processor_count` of a GPU."""


def get_device_properties(device=None):
    """What the driver says of a GPU: `name`, `major`, `minor`, `total_memory` (bytes), `multi_processor_count`.

    Args:
        device (Place|int|str, optional): the first GPU unless given.

    Raises:
        ValueError: there is no such GPU.

    Examples:
        >>> proa.device.cuda.get_device_properties()  # a package without GPUs
        Traceback (most recent call last):
            ...
        ValueError: ...there is no GPU gpu:0; this machine or package has 0...
    """
    known = _C.device_properties(_gpu("get_device_properties", device))
    return _Properties(
        name=known["name"],
        major=known["major"],
        minor=known["minor"],
        total_memory=known["memory"],
        multi_processor_count=known["multiprocessors"],
    )


def get_device_name(device=None):
    """The name of a GPU. Arguments and errors: `get_device_properties`.

    Examples:
        >>> proa.device.cuda.get_device_name()  # a package without GPUs
        Traceback (most recent call last):
            ...
        ValueError: ...there is no GPU gpu:0; this machine or package has 0...
    """
    return _C.device_properties(_gpu("get_device_name", device))["name"]


def get_device_capability(device=None):
    """(major, minor) of a GPU's instruction set. Arguments and errors: `get_device_properties`.

    Examples:
        >>> proa.device.cuda.get_device_capability()  # a package without GPUs
        Traceback (most recent call last):
            ...
        ValueError: ...there is no GPU gpu:0; this machine or package has 0...
    """
    known = _C.device_properties(_gpu("get_device_capability", device))
    return known["major"], known["minor"]


def empty_cache():
    """Gives back what the allocators of all GPUs keep; nothing to do without one.

    Examples:
        >>> proa.device.cuda.empty_cache()
    """
    for index in range(device_count()):
        memory.empty_cache(f"gpu:{index}")


__getattr__ = _missing(__name__)
