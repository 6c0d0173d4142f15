"""The examples in the docstrings of the package run and print what they say."""

import doctest
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import proa

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
def test_examples(name):
    module = importlib.import_module(name)
    proa.seed(0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    out = []
    for test in doctest.DocTestFinder().find(module, name, globs={"proa": proa, "np": np}):
        runner.run(test, out=out.append)
    assert runner.failures == 0, "".join(out)


@pytest.mark.parametrize("name", _modules())
def test_everything_public_is_documented(name):
    module = importlib.import_module(name)
    assert inspect.getdoc(module), name
    for attribute, value in vars(module).items():
        if attribute.startswith("_") or getattr(value, "__module__", None) != name:
            continue
        if inspect.isfunction(value) or inspect.isclass(value):
            assert inspect.getdoc(value), f"{name}.{attribute}"
