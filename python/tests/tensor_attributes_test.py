"""Attributes as eager tensors: each number, and each list of numbers, that a public function takes.

Of each case of public_cases.py, and of the samples of each op with a public function, every attribute that is a number or
a list of numbers is given as a tensor: 0-d and of one element, int32 and int64, or floating; of a list as one tensor and as a
list of them. The result is what the number gives.
"""

import numpy as np
import pytest

import proa as paddle
from ops.conformance import samples
from proa.framework.nested import flatten
from python.tests.public_cases import Case, function_at, parameter_names, public_cases

F = paddle.nn.functional

# Where a tensor of one element (or any tensor) means something else than the number.
OTHERWISE = {
    ("normal", "mean"): "of a tensor the shape is that of the result, `shape` is not read",
    ("normal", "std"): "the same",
    ("quantile", "q"): "[q] gives a result with one dim more",
    ("nanquantile", "q"): "the same",
    ("split", "num_or_sections"): "[n] is the sizes of the parts",
    ("tensordot", "axes"): "[n] is an axis of both",
    ("nn.functional.unfold", "paddings"): "[n] is no padding",
    ("Tensor.__getitem__", "key"): "[i] takes elements along a dim",
}


def _is_number(a):
    return isinstance(a, (int, float)) and not isinstance(a, bool) and not (isinstance(a, int) and abs(a) >= 2**31)


def _attribute(a):
    return _is_number(a) or isinstance(a, (list, tuple)) and len(a) > 0 and all(_is_number(v) for v in a)


def _cases():
    seen = set()
    for name, function, texts in public_cases():
        taken = 0
        for text in texts:
            if name in seen or taken == 3:
                break
            text = text.replace(".T", "")
            try:
                (sample,) = samples.parse(text, ("float32",))
            except (ValueError, SyntaxError):
                continue
            if not any(s.dtype in ("float32", "int64", "bool", "int32") for s in sample.specs()) and sample.specs():
                continue
            names = parameter_names(function, len(sample.args))
            places = [(i, names[i]) for i, a in enumerate(sample.args) if _attribute(a)]
            places += [(k, k) for k, a in sample.kwargs.items() if _attribute(a)]
            taken += bool(places)
            for place, parameter in places:
                yield name, text, place, parameter
        seen.add(name)


CASES = list(_cases())


class Call:
    """One call with one attribute taken out: `call(tensors, value)`."""

    def __init__(self, name, text, place):
        function = function_at(name)
        self.case = Case(name, text, function)
        self.args, self.kwargs = self.case.arguments()
        self.place = place
        self.value = self.kwargs[place] if isinstance(place, str) else self.args[place]
        self.function = function

    def tensors(self):
        return flatten([self.args, self.kwargs])

    def __call__(self, tensors, value, seed=3):
        from proa.framework.nested import rebuild

        if self.case.name == "increment" or self.case.name.endswith("_"):
            tensors = [paddle.assign(t) for t in tensors]
        args, kwargs = rebuild([self.args, self.kwargs], iter(tensors))
        args, kwargs = list(args), dict(kwargs)
        (kwargs if isinstance(self.place, str) else args)[self.place] = value
        paddle.seed(seed)
        return [t for t in flatten(self.function(*args, **kwargs)) if isinstance(t, paddle.Tensor)]


def _as_tensors(value, otherwise=False):
    """The value in every form in which a program may give it; `otherwise`: not as a list of one."""
    if isinstance(value, (list, tuple)):
        integers = all(isinstance(v, int) for v in value)
        for dtype in ("int64", "int32") if integers else ("float32",):
            yield paddle.to_tensor(list(value), dtype=dtype)
        yield [paddle.to_tensor(v) for v in value]
        return
    for dtype in ("int64", "int32") if isinstance(value, int) else ("float32",):
        yield paddle.to_tensor(value, dtype=dtype)
        if not otherwise:
            yield paddle.to_tensor([value], dtype=dtype)


def _same(got, want, where):
    assert len(got) == len(want), where
    for a, b in zip(got, want):
        a, b = a.astype("float32").numpy(), b.astype("float32").numpy()
        assert a.shape == b.shape, f"{where}: {a.shape}, not {b.shape}"
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5, err_msg=where)


def check(name, text, place, parameter):
    """The attribute as a number, and as tensors."""
    call = Call(name, text, place)
    want = call(call.tensors(), call.value)
    otherwise = (name, parameter) in OTHERWISE
    if otherwise and name == "normal":
        return
    for value in _as_tensors(call.value, otherwise):
        where = f"{name}({text}) with {parameter} = {value}"
        _same(call(call.tensors(), value), want, f"{where}, eager")


@pytest.mark.parametrize("name", sorted({c[0] for c in CASES}))
def test_attributes_as_tensors(name):
    for case in CASES:
        if case[0] == name:
            check(*case)


def test_there_are_many():
    assert len(CASES) > 300 and len({c[0] for c in CASES}) > 120
