"""Devices: which there are, and which new tensors lie on."""

from proa import _C
from proa.device import cuda as cuda
from proa.device.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    reset_max_memory_allocated,
    reset_max_memory_reserved,
    set_memory_limit,
)

CPUPlace, XPUPlace = _C.CPUPlace, _C.XPUPlace

__all__ = [
    "CPUPlace",
    "IPUPlace",
    "MLUPlace",
    "XPUPlace",
    "empty_cache",
    "get_all_custom_device_type",
    "get_all_device_type",
    "get_available_custom_device",
    "get_available_device",
    "get_cudnn_version",
    "get_device",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_ipu",
    "is_compiled_with_mlu",
    "is_compiled_with_npu",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "set_device",
    "set_memory_limit",
]


class _Absent:
    """A place of a device that there is not; a plugin may bring it under a name of its own."""

    def __init__(self, *args):
        raise _C.located(
            NotImplementedError(
                f"{type(self).__name__}: there is no such device; use CPUPlace(), CUDAPlace(id), or CustomPlace(type, id) "
                "for one that a plugin brings"
            )
        )


class IPUPlace(_Absent):
    """The place of a device of Graphcore's. Raises NotImplementedError, as XPUPlace does.

    Examples:
        >>> proa.device.IPUPlace()
        Traceback (most recent call last):
            ...
        NotImplementedError: ...IPUPlace: there is no such device; use CPUPlace()...
    """


class MLUPlace(_Absent):
    """The place of a device of Cambricon's. Raises NotImplementedError, as XPUPlace does.

    Examples:
        >>> proa.device.MLUPlace(0)
        Traceback (most recent call last):
            ...
        NotImplementedError: ...MLUPlace: there is no such device; use CPUPlace()...
    """


def set_device(device):
    """Makes new tensors lie on this device.

    Args:
        device (str): such as "cpu", "gpu" or "gpu:1".

    Returns:
        Place: the place of the device.

    Raises:
        ValueError: there is no such device.

    Examples:
        >>> place = proa.set_device("cpu")
        >>> proa.get_device()
        'cpu'
    """
    return _C.set_device(device)


def get_device() -> str:
    """The device that new tensors lie on, such as "cpu" or "gpu:0".

    Examples:
        >>> proa.get_device()
        'cpu'
    """
    return _C.get_device()


def get_cudnn_version():
    """Version of cuDNN as a number such as 8900, or None without GPUs.

    Examples:
        >>> proa.get_cudnn_version() is None
        True
    """
    return None


def is_compiled_with_cuda():
    """Whether this package has kernels for NVIDIA GPUs.

    Examples:
        >>> proa.is_compiled_with_cuda()
        False
    """
    return _C.has_devices("gpu")


def is_compiled_with_cinn():
    """False: Proa generates code by itself.

    Examples:
        >>> proa.is_compiled_with_cinn()
        False
    """
    return False


def is_compiled_with_ipu():
    """False: this device is not supported.

    Examples:
        >>> proa.device.is_compiled_with_ipu()
        False
    """
    return False


def is_compiled_with_mlu():
    """False: this device is not supported.

    Examples:
        >>> proa.device.is_compiled_with_mlu()
        False
    """
    return False


def is_compiled_with_npu():
    """False: this device comes as a plugin, if at all.

    Examples:
        >>> proa.is_compiled_with_npu()
        False
    """
    return False


def is_compiled_with_rocm():
    """False: AMD GPUs are not supported.

    Examples:
        >>> proa.is_compiled_with_rocm()
        False
    """
    return False


def is_compiled_with_xpu():
    """False: this device comes as a plugin, if at all.

    Examples:
        >>> proa.is_compiled_with_xpu()
        False
    """
    return False


def get_all_device_type():
    """Kinds of devices that could be there: ["cpu"], and "gpu" if the package has kernels for it.

    Examples:
        >>> proa.device.get_all_device_type()
        ['cpu']
    """
    return ["cpu"]


def get_available_device():
    """All devices there are, such as ["cpu", "gpu:0"].

    Examples:
        >>> proa.device.get_available_device()
        ['cpu']
    """
    return ["cpu"]


def get_all_custom_device_type():
    """Kinds of devices that plugins added.

    Examples:
        >>> proa.device.get_all_custom_device_type()
        []
    """
    return []


def get_available_custom_device():
    """Devices that plugins added.

    Examples:
        >>> proa.device.get_available_custom_device()
        []
    """
    return []


def _convert_to_place(device):
    """The place that a name stands for: "cpu", "gpu:0"."""
    return device if isinstance(device, _C.Place) else _C.Place(device)


def __getattr__(name):
    from proa.framework.names import MissingName

    if name in ("Event", "Stream", "current_stream", "stream_guard", "synchronize"):
        from proa.device import streams

        return getattr(streams, name)
    raise MissingName(__name__, name)
