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
    "user, used",
    [
        ("tensor:tensor", "profiler:events"),
        ("ops/elementwise:binary", "ops:registry"),
        ("autograd:ops", "ops/elementwise:binary"),
        ("autograd:ops", "autograd:node"),
        ("diagnostics:call_log", "ops:observers"),
        ("jit:executor", "ops:ops"),
        ("jit:region_grad", "autograd:engine"),
        ("amp:cast_cache_grad", "autograd:function"),
        ("python:core", "jit:region_grad"),
        ("python:core", "inference:predictor"),
        ("ops/elementwise:binary", "bazel:tool"),
        ("examples/digits:predict", "inference:predictor"),
        (":wheel", "python:proa"),
        ("app:main", "tensor:dtype"),
        ("profiler:dist", "tensor:files"),
    ],
)
def test_allowed(layers, user, used):
    assert layers["violation"](*user.split(":"), *used.split(":")) is None


@pytest.mark.parametrize(
    "user, used",
    [
        ("profiler:events", "tensor:dtype"),
        ("tensor:tensor", "ops:registry"),
        ("tensor:tensor", "profiler:statistics"),
        ("ops/elementwise:binary", "autograd:engine"),
        ("autograd:engine", "ops:registry"),
        ("autograd:engine", "autograd:ops"),
        ("jit:executor", "autograd:engine"),
        ("jit:executor", "jit:region_grad"),
        ("amp:autocast", "amp:cast_cache_grad"),
        ("inference:predictor", "autograd:engine"),
        ("inference:predictor", "jit:region_grad"),
        ("ops:ops", "diagnostics:call_log"),
        ("ops:ops", "python:proa"),
        ("ops:ops", "examples/digits:model"),
    ],
)
def test_refused(layers, user, used):
    assert layers["violation"](*user.split(":"), *used.split(":"))


def test_the_sentence_says_what_is_allowed(layers):
    sentence = layers["violation"]("tensor", "tensor", "ops", "registry")
    assert sentence == "tensor may use profiler:events only, not ops"
