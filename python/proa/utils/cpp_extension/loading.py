"""Loads extensions: their ops become functions."""

import os
import re
import types

from proa import _C
from proa.utils.cpp_extension import compiling
from proa.utils.op_function import operators, publish

__all__ = ["load", "load_library", "load_op_meta_info_and_register_op"]

_loaded: dict[str, tuple[list, dict]] = {}


def load_library(path, name=None):
    """Loads a library of ops that was built before.

    Args:
        path (str): the shared library.
        name (str, optional): of the module.

    Returns:
        module: with a function for each op, and all of them in its `__all__`.

    Raises:
        FileNotFoundError: there is no such file.
        RuntimeError: it is no extension, or was built for another version of the interface.
        ValueError: two of its ops have one name, or contradict themselves.
    """
    path = os.path.realpath(os.fspath(path))
    if path not in _loaded:
        infos = _C.load_extension(path)
        _loaded[path] = infos, publish(infos)
    infos, functions = _loaded[path]
    module = types.ModuleType(name or os.path.splitext(os.path.basename(path))[0])
    module.__file__ = path
    module.__doc__ = f"The ops of {os.path.basename(path)}."
    module.__dict__.update(functions)
    module.__all__ = operators(infos)
    return module


def load_op_meta_info_and_register_op(path):
    """Loads a library of ops; their names.

    Args:
        path (str): the shared library.

    Returns:
        list[str]: the ops, without those that are gradients of others.
    """
    return list(load_library(path).__all__)


def load(
    name,
    sources,
    extra_cxx_cflags=None,
    extra_cuda_cflags=None,
    extra_ldflags=None,
    extra_include_paths=None,
    build_directory=None,
    interpreter=None,
    verbose=False,
):
    """Builds an extension now and loads it. What was built from the same contents before is not built again.

    Args:
        name (str): of the module.
        sources (list[str]): C++ files that include "proa/extension.h" or "paddle/extension.h".
        extra_cxx_cflags (list[str], optional): for the compiler; a `-std=` or `-O` here wins.
        extra_cuda_cflags (list[str], optional): refused unless empty; there is no CUDA here.
        extra_ldflags (list[str], optional): for the linker.
        extra_include_paths (list[str], optional): folders of headers.
        build_directory (str, optional): where to build; else `get_build_directory()`.
        interpreter (str, optional): no effect.
        verbose (bool): print the commands and what the compiler says.

    Returns:
        module: with a function for each op.

    Raises:
        RuntimeError: what the compiler says, with the lines of the user's files.
        ValueError: a name that is none, or an op with a name that is taken.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(os.path.join(folder, "twice.cc"), "w") as f:
        ...     _ = f.write('''
        ... #include "proa/extension.h"
        ... using namespace proa::extension;
        ... std::vector<Tensor> Twice(const Tensor& x) { return {x + x}; }
        ... PROA_OP(doc_twice).Inputs({"x"}).Outputs({"out"}).SetKernelFn(PROA_KERNEL(Twice)).Composite();
        ... ''')
        >>> twice = proa.utils.cpp_extension.load("twice", [os.path.join(folder, "twice.cc")])  # doctest: +SKIP
        >>> twice.doc_twice(proa.ones([2])).tolist()  # doctest: +SKIP
        [2.0, 2.0]
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise _C.located(ValueError(f"load: name is {name!r}; it must be a name of Python, letters, digits and _"))
    if extra_cuda_cflags:
        raise _C.located(NotImplementedError(f"{name}: extra_cuda_cflags: this build of Proa has no CUDA"))
    root = build_directory or os.path.join(compiling.get_build_directory(), name)
    library = compiling.compile_library(
        name, sources, root, extra_cxx_cflags or [], extra_ldflags or [], extra_include_paths or [], verbose
    )
    return load_library(library, name)
