"""Which room may depend on which. bazel/layers.bzl is Starlark that Python can read."""

import pathlib

import pytest


@pytest.fixture(scope="module")
def layers():
    source = pathlib.Path("bazel/layers.bzl").read_text()
    names = {"aspect": lambda **_: None}
    exec(source, names)
    return names


@pytest.mark.parametrize(
    "user, used, target",
    [
        ("tensor", "profiler", "events"),
        ("ops/elementwise", "ops", "registry"),
        ("autograd/ops", "ops/elementwise", "binary"),
        ("autograd/ops", "autograd", "node"),
        ("jit", "ops", "ops"),
        ("python", "inference", "predictor"),
        ("ops/elementwise", "bazel", "tool"),
        ("examples/digits", "inference", "predictor"),
        ("", "python", "proa"),
        ("app", "tensor", "dtype"),
    ],
)
def test_allowed(layers, user, used, target):
    assert layers["violation"](user, used, target) is None


@pytest.mark.parametrize(
    "user, used, target",
    [
        ("profiler", "tensor", "dtype"),
        ("tensor", "ops", "registry"),
        ("tensor", "profiler", "statistics"),
        ("ops/elementwise", "autograd", "engine"),
        ("autograd", "ops", "registry"),
        ("autograd", "autograd/ops", "binary"),
        ("jit", "autograd", "engine"),
        ("inference", "autograd", "engine"),
        ("ops", "python", "proa"),
        ("ops", "examples/digits", "model"),
    ],
)
def test_refused(layers, user, used, target):
    assert layers["violation"](user, used, target)


def test_the_sentence_says_what_is_allowed(layers):
    assert layers["violation"]("tensor", "ops", "registry") == "tensor may use profiler:events only, not ops"
