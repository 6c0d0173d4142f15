"""Runs a program that says `import paddle`, unchanged.

    python -m proa.as_paddle script.py [arguments]
    python -m proa.as_paddle -m module [arguments]

`install()` does the same inside a program: from then on `import paddle`,
`import paddle.nn as nn`, `from paddle.io import Dataset` and so on give the modules
of Proa.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import runpy
import sys

from proa import _C


class _Loader(importlib.abc.Loader):
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
    """Finds paddle and paddle.x.y as proa and proa.x.y."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "paddle" and not fullname.startswith("paddle."):
            return None
        name = "proa" + fullname[len("paddle") :]
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(name), is_package=True)


def install():
    """Lets `import paddle` give Proa. Calling it again changes nothing.

    Raises:
        RuntimeError: another paddle has been imported already.
    """
    import proa

    present = sys.modules.get("paddle")
    if present is not None and present is not proa:
        raise _C.located(RuntimeError("as_paddle: another module paddle has been imported already"))
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    importlib.import_module("paddle")


def main(arguments):
    """Runs `arguments`: a script, or -m and a module, with its own arguments."""
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["-m"]:
        print(__doc__)
        return 0 if arguments and arguments != ["-m"] else 2
    install()
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
