"""Inputs of programs, and calls that programs make for their effect on memory."""

from proa import _C, static
from proa.static.program import assume_static

__all__ = ["cuda_pinned_places", "data", "memory_optimize", "release_memory"]


def data(name, shape, dtype="float32", lod_level=0):
    """An input of the program: `static.data` of float32 unless said otherwise.

    Where no mode was ever chosen, static mode is on from now on, as it was in 1.x.
    """
    assume_static()
    return static.data(name, shape, dtype, lod_level)


def cuda_pinned_places(device_count=None):
    """A list of places of pinned memory."""
    return [_C.CUDAPinnedPlace()] * (device_count or 1)


def memory_optimize(input_program, skip_opt_set=None, print_log=False, level=0, skip_grads=True):
    """Nothing: values of a program are freed after their last use."""


def release_memory(input_program, skip_opt_set=None):
    """Nothing: values of a program are freed after their last use."""
