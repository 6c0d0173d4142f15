"""The names of `proa.utils.cpp_extension`, where programs of the reference also look for them."""

from proa.utils.cpp_extension.installing import CppExtension, CUDAExtension, setup
from proa.utils.cpp_extension.loading import load

CUDA_HOME = None


def __getattr__(name):
    from proa.utils.cpp_extension import installing

    return getattr(installing, name)


__all__ = ["CUDAExtension", "CUDA_HOME", "CppExtension", "load", "setup"]
