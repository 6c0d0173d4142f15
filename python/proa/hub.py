"""Models from folders that have a hubconf.py: its functions are the models.

dependencies = ["numpy"]                # modules that must be there

def small_net(classes=10):
    \"""A small network.\"""
    return Net(classes)
"""

import importlib.util
import os
import sys

from proa import _C
from proa.framework.names import missing as _missing

__all__ = ["help", "list", "load"]

__getattr__ = _missing(__name__)

_FILE = "hubconf.py"


def _conf(what, repo_dir, source):
    """The module of a folder's hubconf.py, made anew."""
    if source not in ("github", "gitee", "local"):
        raise _C.located(ValueError(f"hub.{what}: source must be 'github', 'gitee' or 'local', not {source!r}"))
    if source != "local":
        raise _C.located(
            NotImplementedError(
                f"hub.{what}: nothing is fetched from {source}, as it would run what it fetches; clone the repository "
                f"{repo_dir!r}, look at it, and give its folder with source='local'"
            )
        )
    folder = os.path.abspath(os.path.expanduser(repo_dir))
    path = os.path.join(folder, _FILE)
    if not os.path.isfile(path):
        raise _C.located(FileNotFoundError(f"hub.{what}: there is no {_FILE} in {folder}"))
    spec = importlib.util.spec_from_file_location("hubconf", path)
    module = importlib.util.module_from_spec(spec)
    # It imports what lies beside it; other folders' modules of its name are none of its business.
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module


def _entry(what, repo_dir, model, source):
    if not isinstance(model, str):
        raise _C.located(TypeError(f"hub.{what}: model must be the name of a function, not {type(model).__name__}"))
    module = _conf(what, repo_dir, source)
    names = _entries(module)
    if model not in names:
        raise _C.located(
            RuntimeError(f"hub.{what}: {_FILE} has no function {model!r}; it has: {', '.join(names) or 'none'}")
        )
    return module, getattr(module, model)


def _entries(module):
    return sorted(name for name, value in vars(module).items() if callable(value) and not name.startswith("_"))


def list(repo_dir, source="github", force_reload=False):  # noqa: A001
    """The names of the models of a folder.

    Args:
        repo_dir (str): the folder of hubconf.py.
        source (str): "local". From "github" and "gitee" nothing is fetched: clone the repository.
        force_reload (bool): accepted; the file is read each time.

    Raises:
        NotImplementedError: another source.
        FileNotFoundError: there is no hubconf.py.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with open(os.path.join(folder, "hubconf.py"), "w") as file:
        ...     _ = file.write("import proa\\ndef line(size=1):\\n    'A line.'\\n    return proa.nn.Linear(size, 1)\\n")
        >>> proa.hub.list(folder, source="local"), proa.hub.help(folder, "line", source="local")
        (['line'], 'A line.')
        >>> proa.hub.load(folder, "line", source="local", size=3).weight.shape
        [3, 1]
    """
    return _entries(_conf("list", repo_dir, source))


def help(repo_dir, model, source="github", force_reload=False):  # noqa: A001
    """What a model's docstring says; arguments as in `list`.

    Examples:
        >>> proa.hub.help("/no/such/folder", "net", source="local")
        Traceback (most recent call last):
            ...
        proa.errors.NotFoundError: ...there is no hubconf.py in /no/such/folder...
    """
    return _entry("help", repo_dir, model, source)[1].__doc__


def load(repo_dir, model, source="github", force_reload=False, **kwargs):
    r"""A model: what its function returns.

    Args:
        repo_dir, source, force_reload: as in `list`.
        model (str): name of the function.
        kwargs: its arguments.

    Raises:
        RuntimeError: there is no such function, or a module is missing that `dependencies` names.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> with open(os.path.join(folder.name, "hubconf.py"), "w") as file:
        ...     _ = file.write("import proa\ndef line(size=1):\n    return proa.nn.Linear(size, 1)\n")
        >>> proa.hub.load(folder.name, "line", source="local", size=3).weight.shape
        [3, 1]
        >>> folder.cleanup()
    """
    module, function = _entry("load", repo_dir, model, source)
    wanted = getattr(module, "dependencies", None) or ()
    absent = [name for name in wanted if name not in sys.modules and importlib.util.find_spec(name) is None]
    if absent:
        raise _C.located(RuntimeError(f"hub.load: {_FILE} needs modules that are not installed: {', '.join(absent)}"))
    return function(**kwargs)
