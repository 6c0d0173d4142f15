"""Steps of `load`, by the names that programs of the reference use them by."""

import os
import runpy
import sys

from proa.utils.cpp_extension.compiling import get_build_directory
from proa.utils.cpp_extension.loading import load_library, load_op_meta_info_and_register_op

__all__ = ["get_build_directory", "load_op_meta_info_and_register_op"]


def _import_module_from_library(module_name, build_directory, verbose=False):
    """The module of a library that lies in a folder as <name>.so."""
    return load_library(os.path.join(build_directory, f"{module_name}.so"), module_name)


def _jit_compile(file_path, verbose=False):
    """Runs a setup.py that builds in place."""
    arguments, folder = sys.argv, os.getcwd()
    sys.argv = [file_path, "build_ext", "--inplace"]
    os.chdir(os.path.dirname(os.path.abspath(file_path)))
    try:
        runpy.run_path(os.path.basename(file_path), run_name="__main__")
    finally:
        sys.argv = arguments
        os.chdir(folder)
