"""Runs a program that says `import paddle`, unchanged.

    python -m proa.as_paddle [--version 2.x] script.py [arguments]
    python -m proa.as_paddle [--version 2.x] -m module [arguments]
    python -m proa.as_paddle --path

The same within a program: `import proa.as_paddle` at its top. In tests: `pytest -p proa.as_paddle`. For programs that
start others: put the folder that `--path` prints into PYTHONPATH, where it goes before an installed paddle; a program that
is run by this module hands it to the programs that it starts. PROA_AS_PADDLE=2.x in the environment chooses the version.

From then on `import paddle`, `import paddle.nn as nn`, `from paddle.io import Dataset` and so on give the modules of Proa,
classes and functions say that they are paddle's, dtypes print as paddle.float32, and `paddle.__version__` is the release
that is stood for. Up to 2.4, FLAGS_set_to_1d is on: `loss.numpy()[0]` works for results without dims.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import runpy
import sys

from proa import _C

# The last patch of each release.
_RELEASES = {
    "2.0": "2.0.2",
    "2.1": "2.1.3",
    "2.2": "2.2.2",
    "2.3": "2.3.2",
    "2.4": "2.4.2",
    "2.5": "2.5.2",
    "2.6": "2.6.2",
}
_DEFAULT = "2.3"
_VARIABLE = "PROA_AS_PADDLE"


def _other(name):
    """proa.x as paddle.x."""
    return "paddle" + name[len("proa") :]


def _is_ours(name):
    return name == "proa" or name.startswith("proa.")


# Modules ----------------------------------------------------------------------------------------------------------------


def _adopt(module):
    """Makes a loaded module of Proa paddle's: under that name too, and its classes and functions say so."""
    name = module.__spec__.name
    sys.modules.setdefault(_other(name), module)
    for value in list(vars(module).values()):
        _rename(value, name)
    module.__name__ = _other(name)


def _rename(value, home, depth=0):
    if getattr(value, "__module__", None) != home or not (isinstance(value, type) or hasattr(value, "__code__")):
        return
    try:
        value.__module__ = _other(home)
    except (AttributeError, TypeError):  # what is not ours to change
        return
    if isinstance(value, type) and depth < 3:
        for inner in list(vars(value).values()):
            if isinstance(inner, type):
                _rename(inner, home, depth + 1)


class _Adopting(importlib.abc.Loader):
    """Loads a module of Proa as its own loader does, then adopts it."""

    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        # A module may have put another in its place.
        _adopt(sys.modules.get(module.__spec__.name, module))

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Alias(importlib.abc.Loader):
    """Gives the module of Proa itself, under its other name."""

    def __init__(self, name):
        self._name = name

    def create_module(self, spec):
        module = importlib.import_module(self._name)
        self._spec, self._loader = module.__spec__, getattr(module, "__loader__", None)
        return module

    def exec_module(self, module):
        # The import system has just written the other name's spec into the module.
        module.__spec__, module.__loader__ = self._spec, self._loader


class _Finder(importlib.abc.MetaPathFinder):
    """Finds paddle and paddle.x.y as proa and proa.x.y, and adopts those as they are loaded."""

    def find_spec(self, fullname, path=None, target=None):
        if _is_ours(fullname):
            spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None and fullname not in sys.modules:
                spec.loader = _Adopting(spec.loader)
            return spec
        if fullname != "paddle" and not fullname.startswith("paddle."):
            return None
        name = "proa" + fullname[len("paddle") :]
        if name in sys.modules:
            found = sys.modules[name].__spec__
        else:
            try:
                found = importlib.util.find_spec(name)
            except (ModuleNotFoundError, AttributeError):
                found = None
        if found is None:
            self._tell(fullname)
            return None
        package = found.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, _Alias(name), is_package=package)

    def _tell(self, fullname):
        """Raises ModuleNotFoundError with what is known of a module that is not there."""
        from proa.framework import names

        why = names.since_when(fullname[len("paddle.") :])
        if why is not None:
            raise ModuleNotFoundError(f"No module named {fullname!r}: {why}", name=fullname)


# Version and types --------------------------------------------------------------------------------------------------------


def _full(version):
    version = version or _DEFAULT
    full = _RELEASES.get(version, version)
    parts = full.split(".")
    if len(parts) != 3 or not all(part.isdigit() for part in parts) or f"{parts[0]}.{parts[1]}" not in _RELEASES:
        raise _C.located(
            ValueError(f"as_paddle: version must be one of {', '.join(_RELEASES)} (or a patch of it), not {version!r}")
        )
    return full


def _stand_for(full):
    import proa
    from proa import version
    from proa.framework import flags

    proa.__version__ = version.full_version = full
    version.major, version.minor, version.patch = full.split(".")
    if "FLAGS_set_to_1d" not in os.environ:
        flags.set_flags({"FLAGS_set_to_1d": (int(version.major), int(version.minor)) <= (2, 4)})


def _name_types():
    _C.DType.__repr__ = _C.DType.__str__ = lambda self: f"paddle.{self.name}"
    for kind in vars(_C).values():
        if isinstance(kind, type) and _is_ours(getattr(kind, "__module__", "")):
            try:
                kind.__module__ = "paddle"
            except (AttributeError, TypeError):
                continue


def path():
    """The folder that makes `import paddle` give Proa, if it is in PYTHONPATH."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "utils", "paddle_path")


def install(version=None):
    """Lets `import paddle` give Proa. Calling it again changes nothing but the version, if one is given.

    Args:
        version (str, optional): the release that is stood for, such as "2.3"; PROA_AS_PADDLE in the environment, or 2.3.

    Raises:
        RuntimeError: another paddle has been imported already.
        ValueError: for a version that is none of 2.0 to 2.6.
    """
    import proa

    present = sys.modules.get("paddle")
    shim = getattr(present, "__file__", None) or ""
    if present is not None and present is not proa and not shim.startswith(path()):
        raise _C.located(RuntimeError("as_paddle: another module paddle has been imported already"))
    first = not any(isinstance(finder, _Finder) for finder in sys.meta_path)
    full = _full(version or os.environ.get(_VARIABLE))
    if first:
        sys.modules["paddle"] = proa
        sys.meta_path.insert(0, _Finder())
        for name, module in list(sys.modules.items()):
            if _is_ours(name) and getattr(module, "__spec__", None) is not None and name != __spec__.name:
                _adopt(module)
        _name_types()
    if first or version is not None:
        _stand_for(full)


def _hand_on(version):
    """Lets programs that this one starts see paddle too."""
    os.environ[_VARIABLE] = _full(version or os.environ.get(_VARIABLE))
    before = os.environ.get("PYTHONPATH", "")
    if path() not in before.split(os.pathsep):
        os.environ["PYTHONPATH"] = path() + (os.pathsep + before if before else "")


def main(arguments):
    """Runs `arguments`: options, and a script, or -m and a module, with its own arguments."""
    version = None
    if arguments[:1] == ["--path"]:
        print(path())
        return 0
    if arguments and arguments[0].startswith("--version"):
        if "=" in arguments[0]:
            version, arguments = arguments[0].partition("=")[2], arguments[1:]
        else:
            version, arguments = (arguments[1] if len(arguments) > 1 else ""), arguments[2:]
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["-m"]:
        print(__doc__)
        return 0 if arguments and arguments != ["-m"] else 2
    try:
        install(version)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    _hand_on(version)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return 0
    script = arguments[0]
    if not os.path.isfile(script):
        print(f"as_paddle: there is no file {script}", file=sys.stderr)
        return 2
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
elif __name__ == "proa.as_paddle":
    install()
