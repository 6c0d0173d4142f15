"""The generated Python: signatures, docstrings and stubs of a small schema."""

import inspect
import types

import pytest

from ops.schema import commas, emit_bindings, emit_docs, emit_python, model, parser, python_example, python_signature

_SCHEMA = """
- op: multiply(Tensor x, Tensor y) -> Tensor out
  doc: Elementwise product.
  infer: {shape: "broadcast(x, y)", dtype: "promote(x, y)"}
  kernel: elementwise
  inplace: x -> out
  grad: none
  python: {function: multiply, method: multiply, operator: "*"}
  samples: ["f32[2,3], f32[3]"]

- op: sum(Tensor x, int[] axis=[], DType? dtype=none, bool keepdim=false) -> Tensor out
  doc: The sum.
  infer: {shape: "reduce(x, axis, keepdim)", dtype: "promote_sum(x, dtype)"}
  kernel: Sum
  grad: none
  python: {function: sum, method: sum, params: {axis: dim}}
  samples: ["N[2,3].T, [0], keepdim=True"]

- op: relu(Tensor x, float slope=inf) -> Tensor out
  doc: Of negative numbers zero.
  infer: {shape: x, dtype: x}
  kernel: elementwise
  grad: none
  python: {function: relu, module: nn.functional}
  samples: ["f32[2]"]
"""


@pytest.fixture(name="index")
def _index():
    return {o.name: o for o in parser.parse_file("ops/testing/small.yaml", _SCHEMA)}


def _run(text, monkeypatch):
    """Runs a generated module over an `_C.ops` that notes its calls."""
    calls = []
    ops = types.SimpleNamespace(
        **{n: (lambda *a, n=n: calls.append((n, a)) or n) for n in ("multiply", "multiply_", "sum", "relu")}
    )
    package = types.ModuleType("proa._C")
    package.ops = ops
    monkeypatch.setitem(__import__("sys").modules, "proa", types.ModuleType("proa"))
    monkeypatch.setitem(__import__("sys").modules, "proa._C", package)
    namespace = {}
    exec(compile(text, "generated", "exec"), namespace)  # pylint: disable=exec-used
    return namespace, calls


def test_functions_are_python_functions(index, monkeypatch):
    files = emit_python.emit(list(index.values()))
    assert sorted(files) == ["__init__.py", "nn_functional.py", "nn_functional.pyi", "root.py", "root.pyi"]
    root, calls = _run(files["root.py"], monkeypatch)
    assert root["__all__"] == ["multiply", "multiply_", "sum"]
    assert inspect.isfunction(root["sum"])
    assert str(inspect.signature(root["sum"])) == "(x, dim=None, dtype=None, keepdim=False, name=None, *, axis=None)"
    assert str(inspect.signature(root["multiply_"])) == "(x, y, name=None)"
    root["sum"]("x", dim=1, keepdim=True)
    root["sum"]("x", axis=2)
    root["multiply_"]("a", "b")
    assert calls == [("sum", ("x", 1, None, True)), ("sum", ("x", 2, None, False)), ("multiply_", ("a", "b"))]


def test_docstring(index):
    text = emit_python.emit(list(index.values()))["root.py"]
    assert "keepdim (bool, optional): default False" in text
    assert ">>> out = proa.multiply(proa.ones([2, 3]), proa.ones([3]))" in text
    assert "In place: x holds the result" in text


def test_stub_says_what_numbers_may_stand_for(index):
    stub = emit_python.emit(list(index.values()))["root.pyi"]
    assert "y: Tensor | Number" in stub
    assert "def sum(x: Tensor, dim: int | Sequence[int | Tensor] | Tensor | None = None" in stub
    assert "keepdim: Bool | Tensor = False" in stub  # attributes may be tensors
    compile(stub, "stub", "exec")


def test_methods(index):
    methods = emit_python.tensor_methods(list(index.values()))
    assert "def multiply_(self, y:" in methods
    assert "relu" not in methods


def test_same_function_twice(index):
    twice = parser.parse_file("ops/testing/other.yaml", _SCHEMA.replace("multiply(", "product("))
    with pytest.raises(model.SchemaError, match="function multiply of module root is already op"):
        emit_python.emit([*index.values(), twice[0]])


def test_examples():
    assert commas.split("f32[2,3], (a, b), mode='x,y'") == ["f32[2,3]", "(a, b)", "mode='x,y'"]


def test_example_renames(index):
    assert python_example.example(index["sum"]) == "proa.sum(proa.ones([2, 3]), [0], keepdim=True)"


def test_text_signature(index):
    assert python_signature.text_signature(index["sum"], True) == "x, dim=None, dtype=None, keepdim=False, name=None"
    assert python_signature.text_signature(index["sum"], False).startswith("x, axis=None")
    assert python_signature.default_of(index["relu"].params[1]) == "1e999"


def test_bindings(index):
    text = emit_bindings.emit(list(index.values()), "testing")["testing_bindings.cc"]
    assert 'constinit Signature signature_multiply("multiply", signature_multiply_names, 2, 2, 0x3);' in text
    # The first operand of an in-place op is a tensor.
    assert 'constinit Signature signature_multiply_("multiply_", signature_multiply__names, 2, 2, 0x2);' in text
    assert "BinaryOperator::kMultiply" in text
    # A renamed parameter answers to both of its names.
    assert 'constexpr const char* signature_sum_names[] = {"x", "dim", "dtype", "keepdim"};' in text
    assert 'constexpr const char* signature_sum_also[] = {"x", "axis", "dtype", "keepdim"};' in text
    assert "signature_sum_names, 4, 1, 0x0, signature_sum_also);" in text
    assert text.count('{"sum", &Call_sum') == 2
    assert '{"multiply", &Call_multiply' in text
    assert "Given(a[3]) ? ToBool(signature_sum, 3, a[3]) : false" in text
    assert text.count("std::numeric_limits<double>::infinity()") == 1


def test_operator_that_does_not_fit():
    bad = parser.parse_file("ops/testing/small.yaml", _SCHEMA.replace('"*"', '"~"'))
    with pytest.raises(model.SchemaError, match="operator '~' does not fit an op of 2 required parameters"):
        emit_bindings.emit(bad, "testing")


def test_docs(index):
    page = emit_docs.emit(list(index.values()))
    assert "3 ops, 1 of them also in place" in page
    assert "`proa.nn.functional.relu`" in page
