"""Models from folders that have a hubconf.py: its functions are the models.

dependencies = ["numpy"]                # modules that must be there

def small_net(classes=10):
    \"""A small network.\"""
    return Net(classes)

The folder is one of this machine, or a repository of GitHub or Gitee that is fetched once. Either way its code runs.
"""

import importlib.util
import os
import shutil
import sys

from proa import _C
from proa.framework.names import missing as _missing

__all__ = ["help", "list", "load"]

__getattr__ = _missing(__name__)

_FILE = "hubconf.py"

# Source: its main branch, and where an archive of a branch or tag is.
_SOURCES = {
    "github": ("main", "https://github.com/{owner}/{name}/archive/{branch}.zip"),
    "gitee": ("master", "https://gitee.com/{owner}/{name}/repository/archive/{branch}.zip"),
}


def _fetched(what, repo, source, force_reload):
    """The folder of a repository's branch, fetched if it is not there."""
    from proa.utils import download

    branch, address = _SOURCES[source]
    where, _, named = str(repo).partition(":")
    owner, _, name = where.partition("/")
    parts = (owner, name, *(named or branch).split("/"))
    if name.count("/") or any(not part or part.startswith(".") or set(part) & set("\\?#%") for part in parts):
        raise _C.located(
            ValueError(f"hub.{what}: a repository of {source} is 'owner/name' or 'owner/name:branch', not {repo!r}")
        )
    branch = named or branch
    home = os.path.join(download._HOME, "hub")
    folder = os.path.join(home, f"{owner}_{name}_{branch.replace('/', '_')}")
    if os.path.isdir(folder) and not force_reload:
        sys.stderr.write(f"Using cache found in {folder}\n")
        return folder
    place = f"{folder}.{os.getpid()}"
    try:
        found = download.get_path_from_url(address.format(owner=owner, name=name, branch=branch), place)
        if not os.path.isdir(found):
            raise _C.located(ValueError(f"hub.{what}: what {source} has of {repo!r} is no archive"))
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(found, folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return folder


def _conf(what, repo_dir, source, force_reload):
    """The module of a folder's hubconf.py, made anew."""
    if source != "local" and source not in _SOURCES:
        raise _C.located(ValueError(f"hub.{what}: source must be 'github', 'gitee' or 'local', not {source!r}"))
    if source != "local":
        repo_dir = _fetched(what, repo_dir, source, force_reload)
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


def _entry(what, repo_dir, model, source, force_reload):
    if not isinstance(model, str):
        raise _C.located(TypeError(f"hub.{what}: model must be the name of a function, not {type(model).__name__}"))
    module = _conf(what, repo_dir, source, force_reload)
    function = getattr(module, model, None)
    if not callable(function):
        names = ", ".join(_entries(module)) or "none"
        raise _C.located(RuntimeError(f"hub.{what}: {_FILE} has no function {model!r}; it has: {names}"))
    return module, function


def _entries(module):
    return sorted(name for name, value in vars(module).items() if callable(value) and not name.startswith("_"))


def list(repo_dir, source="github", force_reload=False):  # noqa: A001
    """The names of the models of a folder: of the functions of its hubconf.py that do not begin with an underscore.

    Args:
        repo_dir (str): the folder of hubconf.py; of the other sources "owner/name" or "owner/name:branch".
        source (str): "local", or "github" or "gitee": an archive of the repository is fetched once, into
            ~/.cache/paddle/hub (or hub under PADDLE_HOME), and its code runs here as you. Know whose it is.
        force_reload (bool): fetch it anew. A local hubconf.py is read each time.

    Raises:
        ValueError: another source, or no name of a repository.
        RuntimeError: it could not be fetched.
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
    return _entries(_conf("list", repo_dir, source, force_reload))


def help(repo_dir, model, source="github", force_reload=False):  # noqa: A001
    """What a model's docstring says; arguments as in `list`.

    Examples:
        >>> proa.hub.help("/no/such/folder", "net", source="local")
        Traceback (most recent call last):
            ...
        proa.errors.NotFoundError: ...there is no hubconf.py in /no/such/folder...
    """
    return _entry("help", repo_dir, model, source, force_reload)[1].__doc__


def load(repo_dir, model, source="github", force_reload=False, **kwargs):
    r"""A model: what its function returns.

    Args:
        repo_dir, source, force_reload: as in `list`.
        model (str): name of the function; `load` takes those with an underscore too.
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
    module, function = _entry("load", repo_dir, model, source, force_reload)
    wanted = getattr(module, "dependencies", None) or ()
    absent = [name for name in wanted if name not in sys.modules and importlib.util.find_spec(name) is None]
    if absent:
        raise _C.located(RuntimeError(f"hub.load: {_FILE} needs modules that are not installed: {', '.join(absent)}"))
    return function(**kwargs)
