"""Plans of op_families.py: the part that is asked for, and PyTorch's views as copies."""

import inspect
import json

import numpy as np
import op_families
import pytest

_PLAN = {
    "lines": [{"op": "conj", "family": "elementwise"}, {"op": "matmul", "family": "linalg"}],
    "missing": {"elementwise": {"small": ["real_of_complex", "nan_to_num"]}, "linalg": {"no peer": ["lu"]}},
    "part": "",
}


def test_a_part_of_a_plan_that_is_there():
    assert op_families.chosen(_PLAN, "") == {name: _PLAN[name] for name in ("lines", "missing")}
    family = op_families.chosen(_PLAN, "linalg")
    assert [line["op"] for line in family["lines"]] == ["matmul"] and family["missing"] == {
        "linalg": {"no peer": ["lu"]}
    }
    named = op_families.chosen(_PLAN, "con")
    assert [line["op"] for line in named["lines"]] == ["conj"] and named["missing"] == {}
    assert op_families.chosen(_PLAN, "real")["missing"] == {"elementwise": {"small": ["real_of_complex"]}}
    part = op_families.chosen(_PLAN, "linalg") | {"part": "linalg"}
    assert op_families.chosen(part, "linalg") == family
    for other in ("", "elementwise"):
        with pytest.raises(ValueError, match="holds the pairs of --part linalg alone"):
            op_families.chosen(part, other)


def test_a_plan_of_another_dtype_is_refused():
    with pytest.raises(ValueError, match="holds the pairs of --dtype float64"):
        op_families.chosen(_PLAN | {"dtype": "float64"}, "")
    assert op_families.chosen(_PLAN | {"dtype": "float64"}, "", "float64") == op_families.chosen(_PLAN, "")


def test_samples_of_another_dtype():
    for text in ("N[2,3]", "f32[2,3], f32[3]"):
        sample = op_families._sample(text, 0, "float64")
        assert {a.dtype for a in sample.args} == {"float64"}
    with pytest.raises(ValueError, match="has no tensor of int64"):
        op_families._sample("f64[2,3]", 0, "int64")
    assert op_families._sample("i32[4]", 0, "float32").args[0].dtype == "int32"


class _Tensor:
    """As much of PyTorch's tensor as a line asks of one."""

    def __init__(self, array, conjugate=False):
        self.array, self.conjugate = array, conjugate

    def data_ptr(self):
        return self.array.__array_interface__["data"][0]

    def is_conj(self):
        return self.conjugate

    def resolve_conj(self):
        return _Tensor(self.array.conj())

    def clone(self):
        return _Tensor(self.array.copy())


class _Framework:
    tensor = _Tensor

    def __init__(self, function):
        self.function = function

    def call(self, line, args, named):
        args = op_families._with_tensors(args, self.tensor)
        return lambda: self.function(*args, **named)


def test_what_is_a_view_and_its_copy():
    array = np.arange(6, dtype="complex64").reshape(2, 3)
    last, new = (lambda x: _Tensor(x.array[1:, 2:])), (lambda x: x.clone())
    for function, view in ((lambda x: x, True), (last, True), (lambda x: [last(x)], True), (new, False)):
        assert op_families._is_view(_Framework(function), {}, [array], {}) is view
    copy = op_families._copy(_Tensor(array))
    assert copy.array is not array and np.array_equal(copy.array, array)
    assert np.array_equal(op_families._copy(_Tensor(array, True)).array, array.conj())


def test_a_call_that_is_written_down_names_the_ops_own_arguments():
    from ops.conformance import suite

    ops = suite.all_ops()
    for name, call in op_families._CALLS.items():
        wanted = [v for v in inspect.signature(call).parameters.values() if v.kind is v.POSITIONAL_OR_KEYWORD][1:]
        assert {v.name for v in wanted} <= {v.name for v in ops[name].params}, name
    for names in (op_families._AS, op_families._WITHOUT_TENSORS):
        assert set(names) <= set(op_families._CALLS)


def test_a_call_is_given_tensors_by_name():
    class Torch(op_families._Torch):
        def __init__(self):
            self.lib, self.tensor = "torch", _Tensor

    line = {"form": "call", "name": "sum_to", "params": ["x", "shape"]}
    seen = []
    calls = op_families._CALLS
    op_families._CALLS = {"sum_to": lambda t, x, shape: seen.append((t, x, shape))}
    try:
        Torch().call(line, [np.zeros(3)], {"shape": [1]})()
    finally:
        op_families._CALLS = calls
    assert seen[0][0] == "torch" and isinstance(seen[0][1], _Tensor) and seen[0][2] == [1]


class _Result:
    def __init__(self, a):
        self.a, self.shape = np.asarray(a), np.shape(a)

    def numpy(self):
        return self.a

    def is_complex(self):
        return False


def test_results_that_are_not_unique_are_compared_by_what_is():
    ours, theirs = _Result([1.0, -2.0]), _Result([-1.0, 2.0])
    assert op_families._compared(ours, theirs) == "other numbers"
    assert op_families._compared(ours, theirs, np.abs) == "same"
    assert op_families._compared(ours, _Result([1.0, 3.0]), np.abs) == "other numbers"


def test_results_of_other_shapes_or_kinds_are_of_another_function():
    ours = [_Result([1.0, 2.0]), _Result([3])]
    assert op_families._compared(ours, [_Result([1.0, 2.0])]) == "same"
    assert op_families._compared(ours, [_Result([1.0, 2.0]), _Result([4])]) == "other numbers"
    assert op_families._compared(ours, [_Result([1.0, 2.0]), _Result([3.5])]) == "other"
    for other in ([_Result([1.0])], [], [*ours, _Result([3])], [3.0]):
        assert op_families._compared(ours, other) == "other"


class _Op:
    name, params, samples = "stanh", [], ["f32[8]"]

    class location:
        file = "ops/elementwise/activation.yaml"


@pytest.mark.parametrize("name", ["stanh", "sinh"])  # by a call that is written down, and by one of its name
def test_an_op_with_other_numbers_is_told_from_one_without_a_peer(name, monkeypatch, capsys):
    from ops.conformance import suite

    class Proa:
        def __init__(self):
            pass

        def call(self, line, args, named):
            return lambda: _Result(np.zeros(3, "float32"))

    class Torch(Proa):
        result, lib = _Result(np.ones(3, "float32")), None

        def function(self, home, name):
            return home == "torch"

        def call(self, line, args, named):
            return lambda: self.result

    op = _Op()
    op.name = name
    monkeypatch.setattr(op_families, "_Proa", Proa)
    monkeypatch.setattr(op_families, "_Torch", Torch)
    monkeypatch.setattr(suite, "all_ops", lambda: {name: op})
    found = op_families.plan("")
    assert found["missing"] == {"elementwise": {"other numbers": [name]}}
    assert op_families.with_other_numbers(found) == [name]
    monkeypatch.setattr(Torch, "result", _Result(np.ones(4, "float32")))
    found = op_families.plan("")
    assert found["missing"] == {"elementwise": {"no peer": [name]}} and op_families.with_other_numbers(found) == []


def test_other_numbers_are_an_error_of_the_program(tmp_path, monkeypatch):
    plan = tmp_path / "plan"
    plan.write_text(json.dumps({"lines": [], "missing": {"linalg": {"other numbers": ["lu"]}}, "part": ""}))
    monkeypatch.setattr("sys.argv", ["op_families.py", "--plan", str(plan)])
    with pytest.raises(SystemExit, match="numbers are not those of PyTorch: lu"):
        op_families.main()
