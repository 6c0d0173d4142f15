"""Small tools: unique names, a check of the installation, version requirements."""

import importlib

from proa import _C
from proa._deprecation import deprecated
from proa.utils import unique_name

__all__ = [
    "CustomOp",
    "LogWriter",
    "cpp_extension",
    "custom_op",
    "deprecated",
    "disable_crash_handler",
    "enable_crash_handler",
    "environment_report",
    "require_version",
    "run_check",
    "try_import",
    "unique_name",
]


def __getattr__(name):
    if name == "LogWriter":
        return importlib.import_module("proa.utils.log_writer").LogWriter
    if name in ("CustomOp", "custom_op"):
        return getattr(importlib.import_module("proa.utils.custom_ops"), name)
    if name in ("assert_same_structure", "flatten", "map_structure", "pack_sequence_as"):
        return getattr(importlib.import_module("proa.fluid.layers.utils"), name)
    if name in ("cpp_extension", "dlpack", "download", "profiler"):
        return importlib.import_module(f"proa.utils.{name}")
    from proa.framework.names import MissingName

    raise MissingName("proa.utils", name)


def environment_report():
    """One block of text for bug reports: versions, CPU, threads, memory, libraries, flags, environment.

    Examples:
        >>> print(proa.utils.environment_report())
        proa ...
        cpu flags ...
        flags ...
    """
    from proa.utils import environment

    return environment.report()


def enable_crash_handler(python_stack=True):
    """Lets the process say, when it dies of a signal, which ops ran and in whose library the faulting code is.

    Nothing is installed unless this is called (or FLAGS_crash_handler set). After its report it goes on to the handler
    that was there before, so that exit status and core dumps stay as they are.

    Args:
        python_stack (bool): the Python stacks of all threads too, by the standard library's faulthandler, unless that
            is enabled already.

    Examples:
        >>> proa.utils.enable_crash_handler(python_stack=False)
        >>> proa.utils.disable_crash_handler()
    """
    if python_stack:
        import faulthandler

        if not faulthandler.is_enabled():
            faulthandler.enable()
    _C.debug.enable_crash_handler()


def disable_crash_handler():
    """Takes the crash handler off; the standard library's faulthandler stays as it is.

    Examples:
        >>> proa.utils.enable_crash_handler(python_stack=False)
        >>> proa.utils.disable_crash_handler()
    """
    _C.debug.disable_crash_handler()


def run_check():
    """Trains a small model on each device, says whether all is well, and prints `environment_report`.

    Raises:
        RuntimeError: something gave a wrong result.

    Examples:
        >>> proa.utils.run_check()
        Running verify Proa program ...
        Proa works well on 1 CPU.
        Proa is installed successfully! Let's start deep learning with Proa now.
        ...
    """
    from proa.utils.install_check import run

    run()


def try_import(module_name, err_msg=None):
    """Imports a module that is not always there.

    Args:
        module_name (str): its name.
        err_msg (str, optional): what the ImportError says if it is not.

    Examples:
        >>> proa.utils.try_import("math").floor(1.5)
        1
    """
    try:
        return importlib.import_module(module_name)
    except ImportError:
        if err_msg is None:
            err_msg = f"{module_name} is needed here and not installed; install it with: pip install {module_name}"
        raise _C.located(ImportError(err_msg)) from None


def _version(text):
    parts = text.split(".")
    if not 1 <= len(parts) <= 4 or not all(part.isdigit() for part in parts):
        raise _C.located(ValueError(f"require_version: {text!r} is not a version such as 2.3.0"))
    return [int(part) for part in parts] + [0] * (4 - len(parts))


def require_version(min_version, max_version=None):
    """Raises an Exception unless this version lies between two.

    Args:
        min_version (str): the oldest, such as "0.1.0".
        max_version (str, optional): the newest.

    Examples:
        >>> proa.utils.require_version("0.0.1")
    """
    from proa import version

    for what, text in (("min_version", min_version), ("max_version", max_version)):
        if not isinstance(text, str) and not (what == "max_version" and text is None):
            raise _C.located(TypeError(f"require_version: {what} must be a str, not {type(text).__name__}"))
    here = _version(version.full_version)
    if here < _version(min_version):
        raise _C.located(Exception(f"version {min_version} or newer is needed; {version.full_version} is installed"))
    if max_version is not None and here > _version(max_version):
        raise _C.located(Exception(f"version {max_version} or older is needed; {version.full_version} is installed"))
