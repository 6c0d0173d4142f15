"""Operators written in C++: built on the fly (`load`) or ahead (`setup`). The guide is docs/custom_ops.md."""

from proa.framework.names import lazy as _lazy
from proa.utils.cpp_extension.compiling import get_build_directory
from proa.utils.cpp_extension.installing import CppExtension, CUDAExtension, setup
from proa.utils.cpp_extension.loading import load, load_library, load_op_meta_info_and_register_op

__all__ = [
    "BuildExtension", "CUDAExtension", "CppExtension", "get_build_directory", "load", "load_library",
    "load_op_meta_info_and_register_op", "setup",
]  # fmt: skip

__getattr__, __dir__ = _lazy(
    __name__,
    {"BuildExtension": "proa.utils.cpp_extension.installing"},
    ("cpp_extension", "extension_utils"),
)
