"""The examples in the docstrings of the package run and print what they say."""

import doctest
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import proa

_SKIPPED = ("proa._C", "proa._generated", "proa.as_paddle")


def _modules():
    for info in pkgutil.walk_packages(proa.__path__, "proa."):
        if not info.name.startswith(_SKIPPED):
            yield info.name


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
