"""The examples in the docstrings of the package run and print what they say."""

import doctest
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import proa
from bazel.dev import api_pages

# The last two put Proa in the place of paddle when they are imported, for all tests that follow.
_SKIPPED = ("proa._C", "proa._generated", "proa.as_paddle", "proa.utils.paddle_path")


def _modules(path=proa.__path__, prefix="proa."):
    for info in pkgutil.iter_modules(path, prefix):
        if info.name.startswith(_SKIPPED):
            continue
        yield info.name
        if info.ispkg:
            yield from _modules(importlib.import_module(info.name).__path__, info.name + ".")


@pytest.mark.parametrize("name", _modules())
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what they write without a path is not left in the source tree
    monkeypatch.setenv("PROA_EXTENSION_DIR", str(tmp_path))  # a sandbox cannot write into the user's cache
    module = importlib.import_module(name)
    proa.seed(0)
    if name.startswith("proa.vision.models"):
        # Their examples show shapes; random numbers for the parameters of all these networks take a minute.
        proa.nn.initializer.set_global_initializer(proa.nn.initializer.Constant(0.0))
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    out = []
    for test in doctest.DocTestFinder().find(module, name, globs={"proa": proa, "np": np}):
        runner.run(test, out=out.append)
    proa.nn.initializer.set_global_initializer(None)
    assert runner.failures == 0, "".join(out)


def test_examples_of_what_is_made_in_c():
    """Docstrings that no module's source holds: of tensors, dtypes, places and functions of the extension."""
    parser, out, names = doctest.DocTestParser(), [], []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for module in api_pages.MODULES:
        for name, value in api_pages.public_names(module).items():
            # The module of Tensor is the package itself.
            made_in_c = getattr(value, "__module__", None) in ("proa", "proa._C") or inspect.isbuiltin(value)
            if made_in_c and callable(value) and ">>>" in (inspect.getdoc(value) or ""):
                test = parser.get_doctest(inspect.getdoc(value), {"proa": proa, "np": np}, name, None, 0)
                runner.run(test, out=out.append)
                names.append(name)
    assert runner.failures == 0, "".join(out)
    assert {"Tensor", "to_tensor", "CPUPlace", "dtype"} <= set(names)


@pytest.mark.parametrize("name", _modules())
def test_everything_public_is_documented(name):
    module = importlib.import_module(name)
    assert inspect.getdoc(module), name
    for attribute, value in vars(module).items():
        if attribute.startswith("_") or getattr(value, "__module__", None) != name:
            continue
        if inspect.isfunction(value) or inspect.isclass(value):
            assert inspect.getdoc(value), f"{name}.{attribute}"
