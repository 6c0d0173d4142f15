"""Calls of `_C.ops` and of generated methods: binding of arguments, conversions, messages."""

import inspect
import threading

import numpy as np
import pytest

from proa import _C

ops = _C.ops


@pytest.fixture(name="x")
def _x():
    return _C.to_tensor(np.arange(6, dtype="float32").reshape(2, 3))


def test_positional_and_keywords(x):
    for out in (
        ops.sum(x, [1]),
        ops.sum(x, axis=[1]),
        ops.sum(x=x, axis=1),
        x.sum(1),
        x.sum(axis=1),
        x.sum(1, None, False),
        x.sum(axis=1, name="ignored"),
        x.sum(1, None, False, None),
    ):
        assert out.tolist() == [3.0, 12.0]
    # Keywords that are no interned strings.
    assert ops.sum(x, **{"".join(["ax", "is"]): 1}).tolist() == [3.0, 12.0]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: ops.add(), r"add\(\) missing 2 required arguments: 'x', 'y'"),
        (lambda x: ops.add(x), r"add\(\) missing 1 required argument: 'y'"),
        (lambda x: ops.add(y=x), r"add\(\) missing 1 required argument: 'x'"),
        (lambda x: ops.add(x, x, x), r"add\(\) takes 2 positional arguments but 3 were given"),
        (lambda x: x.add(x, x), r"add\(\) takes 2 positional arguments but 3 were given"),
        (
            lambda x: ops.sum(x, 0, None, True, None, 3),
            r"sum\(\) takes from 1 to 4 positional arguments but 6 were given",
        ),
        (lambda x: ops.add(x, x, z=1), r"add\(\) got an unexpected keyword argument 'z'"),
        (lambda x: ops.add(x, x, x=x), r"add\(\) got multiple values for argument 'x'"),
        (lambda x: x.add(x=x), r"add\(\) got multiple values for argument 'x'"),
        (lambda x: ops.add(x, None), "add: y must be a Tensor, an array or a number, not None"),
        (lambda x: ops.add(x, "a"), "add: y must be a Tensor, an array or a number, not str"),
        (lambda x: ops.exp(1.0), "exp: x must be a Tensor or an array, not float"),
        (lambda x: ops.exp(None), "exp: x must be a Tensor or an array, not None"),
        (lambda x: ops.exp([1.0]), "exp: x must be a Tensor or an array, not list"),
        (lambda x: ops.sum(x, axis="a"), "sum: axis must be int or a list of int, not str"),
        (lambda x: ops.sum(x, axis=1.0), "sum: axis must be int or a list of int, not float"),
        (lambda x: ops.sum(x, axis=[0, 1.0]), "sum: element 1 of axis must be int, not float"),
        (lambda x: ops.sum(x, keepdim="a"), "sum: keepdim must be bool, not str"),
        (lambda x: ops.sum(x, dtype="float33"), "sum: dtype names no element type: 'float33'"),
        (lambda x: ops.cast(x, None), "cast: dtype must be a dtype or its name, not None"),
        (lambda x: ops.concat(x), "concat: x must be a list or tuple of Tensor, not "),
        (lambda x: ops.concat([x, 1]), "concat: element 1 of x must be a Tensor, not int"),
        (lambda x: ops.concat([x], axis=1.5), "concat: axis must be int, not float"),
        (lambda x: ops.concat([x], axis=_C.to_tensor([0, 1])), "concat: axis must be int or a Tensor of one integer"),
        (lambda x: ops.reshape(x, "a"), "reshape: shape must be int or a list of int, not str"),
        (lambda x: ops.full([2], "a"), "full: fill_value must be a number or a Tensor of one element, not str"),
        (lambda x: ops.full([2], 1.0, place=3), "full: place must be a place or its name, not int"),
    ],
)
def test_type_errors(x, call, says):
    with pytest.raises(TypeError, match=says):
        call(x)


def test_other_errors(x):
    with pytest.raises(ValueError, match="reshape: 6 elements do not fill"):
        ops.reshape(x, [4])
    with pytest.raises(IndexError, match="sum: axis 2 is out of range"):
        ops.sum(x, 2)
    for axis in (-3, 2**31, 2**63 - 1):
        with pytest.raises(IndexError):
            ops.sum(x, axis)
    with pytest.raises(OverflowError, match="axis is 9223372036854775808, which int64 does not hold"):
        ops.concat([x], 2**63)
    with pytest.raises(OverflowError, match="element 0 of axis"):
        ops.sum(x, [2**63])
    with pytest.raises(OverflowError, match="does not fit in int64"):
        x + 2**64
    with pytest.raises(ValueError, match="overflow"):
        ops.full([2**40, 2**40], 0.0)
    with pytest.raises(ValueError):
        ops.full([-2], 0.0)


def test_error_of_undefined_memory():
    with pytest.raises(MemoryError):
        ops.full([2**50], 0.0)


def test_ints_of_many_kinds(x):
    for axis in (1, np.int32(1), _C.to_tensor(1), _C.to_tensor([1]), np.array(1), True):
        assert ops.concat([x, x], axis).shape == [2, 6]
    for axis in (1, (1,), [np.int64(1)], [_C.to_tensor(1)], np.array([1]), _C.to_tensor([1]), range(1, 2)):
        assert ops.sum(x, axis).tolist() == [3.0, 12.0]
    for shape in ([3, 2], (3, -1), _C.to_tensor([3, 2]), [_C.to_tensor(3), 2], np.array([3, 2])):
        assert ops.reshape(x, shape).shape == [3, 2]
    assert ops.reshape(x, 6).shape == [6]


def test_none_asks_for_the_default(x):
    assert ops.sum(x, None, None, None).item() == 15.0


def test_scalars():
    for value in (2, 2.0, np.float32(2), _C.to_tensor(2.0), np.array(2.0)):
        assert ops.full([1], value, "float32").tolist() == [2.0]
    assert ops.full([1], True).dtype == "bool" or ops.full([1], True).tolist() == [1.0]


def test_numbers_and_arrays_as_tensors(x):
    assert ops.add(x, 1).dtype == "float32"
    assert ops.add(1, x).tolist() == (x + 1).tolist()
    assert ops.add(x, np.ones(3, "float32")).tolist() == (x + 1).tolist()
    assert ops.add(1, 2.5).item() == 3.5
    with pytest.raises(TypeError, match="x must be a Tensor or an array, not int"):
        ops.add_(1, x)


def test_signatures_are_readable():
    assert str(inspect.signature(ops.sum)) == "(x, axis=None, dtype=None, keepdim=False, name=None)"
    assert str(inspect.signature(_C.Tensor.sum)) == "(x, axis=None, dtype=None, keepdim=False, name=None)"
    assert str(inspect.signature(_C.to_tensor([1]).sum)) == ("(axis=None, dtype=None, keepdim=False, name=None)")
    for name in dir(ops):
        if not name.startswith("__"):
            inspect.signature(getattr(ops, name))
    assert "Elementwise sum" in ops.add.__doc__


def test_registry_and_functions_agree():
    registry = {d["name"]: d for d in _C.op_registry()}
    assert {n for n in dir(ops) if not n.startswith("__")} == set(registry)
    add = registry["add"]
    assert [p["name"] for p in add["params"]] == ["x", "y"]
    assert add["source"].startswith("ops/elementwise/")
    assert "differentiable" in add["traits"]
    assert "inplace" in registry["add_"]["traits"]


def test_results_of_several_outputs(x):
    values, indices = ops.topk(x, 2)
    assert values.tolist() == [[2.0, 1.0], [5.0, 4.0]]
    assert indices.dtype == "int64"
    assert [t.tolist() for t in ops.unbind(x)] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_other_threads_run_during_a_large_op():
    x = _C.to_tensor(np.ones(4_000_000, "float32"))
    count = 0
    done = threading.Event()

    def work():
        for _ in range(20):
            ops.exp(x)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        count += 1
    thread.join()
    assert count > 1000


def test_threads_share_tensors():
    x = _C.to_tensor(np.ones(50_000, "float32"))
    results = []

    def work():
        y = x
        for _ in range(50):
            y = y + x
        results.append(float(y[0]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [51.0] * 4
