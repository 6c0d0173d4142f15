"""Inputs of programs."""

from proa import static
from proa.static.program import assume_static

__all__ = ["data"]


def data(name, shape, append_batch_size=True, dtype="float32", lod_level=0, type=None, stop_gradient=True):
    """An input of the program.

    Args:
        name (str): by which it is fed.
        shape (list[int]): sizes; -1 for sizes that are known only when the program runs.
        append_batch_size (bool): put -1 before them, unless one is -1 already.
        dtype (str): of the elements.
        stop_gradient (bool): False lets gradients be asked for.

    Where no mode was ever chosen, static mode is on from now on, as it was in 1.x.
    """
    assume_static()
    shape = [-1 if size is None else size for size in shape]
    if append_batch_size and all(size >= 0 for size in shape):
        shape = [-1, *shape]
    tensor = static.data(name, shape, dtype, lod_level)
    tensor.stop_gradient = stop_gradient
    return tensor
