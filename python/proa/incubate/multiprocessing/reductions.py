"""How tensors are handed to other processes: their memory is a file without a name, which both processes map."""

import mmap
import os
import weakref
from multiprocessing.reduction import DupFd, ForkingPickler

from proa import _C
from proa.framework.parameter import Parameter

__all__ = ["init_reductions", "reduce_tensor"]


class _Memory(mmap.mmap):
    """A mapping that can be referred to weakly; its descriptor lives as long."""


# By address: the descriptor and the mapping of memory that is shared already. A tensor keeps its mapping alive.
_shared: dict = {}


def _mapped(descriptor, size):
    """A flat array of bytes over the file of a descriptor, which is closed with the last user of the array."""
    import numpy as np

    memory = _Memory(descriptor, size)
    data = np.frombuffer(memory, np.uint8)
    address = data.ctypes.data
    _shared[address] = (descriptor, weakref.ref(memory))
    weakref.finalize(memory, _forget, address, descriptor)
    return data


def _forget(address, descriptor):
    os.close(descriptor)
    if _shared.get(address, (None,))[0] == descriptor:
        del _shared[address]


def _tensor_over(data, dtype, shape):
    from proa.utils.dlpack import from_dlpack

    return from_dlpack(data.view(dtype).reshape(shape))


def _descriptor_of(tensor, array):
    """The descriptor of a tensor's memory, which becomes shared where it is not so yet."""
    known = _shared.get(tensor.data_ptr())
    if known is not None and known[1]() is not None and len(known[1]()) == array.nbytes:
        return known[0]
    descriptor = os.memfd_create("proa-tensor", os.MFD_CLOEXEC)
    try:
        os.posix_fallocate(descriptor, 0, array.nbytes)  # too little memory is an OSError now, and no bus error later
        data = _mapped(descriptor, array.nbytes)
    except OSError:
        os.close(descriptor)
        raise
    data.view(array.dtype).reshape(array.shape)[...] = array
    _tensor_over(data, array.dtype, array.shape)._share_buffer_to(tensor)
    return descriptor


def reduce_tensor(tensor):
    """What pickle needs to make a tensor again in another process, over the same memory.

    The tensor itself moves into shared memory when it is sent for the first time; views that were taken of it before stay
    where they were. Handed over by value, as a copy: empty tensors, bfloat16, and tensors that are not contiguous. Gradients
    do not follow. The sender must be alive when the other process takes the tensor.

    Args:
        tensor (Tensor): on the CPU; a leaf, or one that needs no gradient.

    Returns:
        tuple: a function and its arguments.

    Raises:
        RuntimeError: the tensor was computed from others and requires grad.
        OSError: there is not enough memory.
    """
    if not tensor.stop_gradient and not tensor.is_leaf:
        raise _C.located(
            RuntimeError(
                f"multiprocessing: {list(tensor.shape)} {tensor.dtype.name} was computed from other tensors and requires "
                "grad, which does not reach other processes; send x.detach()"
            )
        )
    by_value = tensor.dtype == _C.bfloat16 or not tensor.size or not tensor.is_contiguous()
    if by_value or not tensor.place.is_cpu_place():
        return tensor.__reduce_ex__(2)
    array = tensor.detach().numpy()
    descriptor = DupFd(_descriptor_of(tensor, array))
    named = (tensor.name, tensor.trainable) if isinstance(tensor, Parameter) else None
    return _rebuilt, (descriptor, array.dtype.str, array.shape, tensor.stop_gradient, named)


def _rebuilt(descriptor, dtype, shape, stop_gradient, named):
    import numpy as np

    dtype, descriptor = np.dtype(dtype), descriptor.detach()
    tensor = _tensor_over(_mapped(descriptor, int(np.prod(shape, dtype=np.int64)) * dtype.itemsize), dtype, shape)
    if named is not None:
        return Parameter(tensor, named[0], trainable=named[1])
    tensor.stop_gradient = stop_gradient
    return tensor


def init_reductions():
    """Lets multiprocessing hand tensors over in shared memory; importing `incubate.multiprocessing` does it."""
    for kind in (_C.Tensor, Parameter):
        ForkingPickler.register(kind, reduce_tensor)
