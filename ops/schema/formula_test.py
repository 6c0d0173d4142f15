"""Formulas: type checks against the schemas, and the C++ they become."""

import pytest

from ops.schema import formula, model, parser

_SCHEMA = """\
- op: multiply(Tensor x, Tensor y) -> Tensor out
  doc: d
  composite: A
  samples: [""]
- op: where(Tensor condition, Tensor x, Tensor y) -> Tensor out
  doc: d
  composite: B
  samples: [""]
- op: greater_than(Tensor x, Tensor y) -> Tensor out
  doc: d
  composite: C
  samples: [""]
- op: reshape(Tensor x, IntArray shape) -> Tensor out
  doc: d
  composite: D
  samples: [""]
- op: mine(Tensor x, float slope, bool flag, int[] axes) -> Tensor out
  doc: d
  composite: E
  samples: [""]
"""


def _compile(text):
    index = {op.name: op for op in parser.parse_file("t.yaml", _SCHEMA)}
    op = index["mine"]
    names = {p.name: formula.Expr(p.name, p.type.name) for p in op.params}
    names["g"] = formula.Expr("g", "Tensor")
    compiler = formula.Compiler(op, index, names)
    return compiler.compile(formula.parse(text, model.Location("t.yaml", 3))), compiler.use


@pytest.mark.parametrize(
    "text, code",
    [
        ("g * x", "ops::multiply(g, x)"),
        ("g * 2", "ops::multiply(g, ScalarLike(g, int64_t{2}))"),
        (
            "(g * x) * 2",
            "[&](const Tensor& like) { return ops::multiply(like, ScalarLike(like, int64_t{2})); }(ops::multiply(g, x))",
        ),
        ("g * slope", "ops::multiply(g, ScalarLike(g, slope))"),
        ("reshape(g, shape(x))", "ops::reshape(g, ShapeOf(x))"),
        ("reshape(g, [1, -1])", "ops::reshape(g, IntArray(std::vector<int64_t>{int64_t{1}, (-int64_t{1})}))"),
        ("reshape(g, shape=axes)", "ops::reshape(g, IntArray(axes))"),
        (
            "where(x > 0, g, x) if flag else g",
            "(flag ? ops::where(ops::greater_than(x, ScalarLike(x, int64_t{0})), g, x) : g)",
        ),
    ],
)
def test_becomes(text, code):
    assert _compile(text)[0] == formula.Expr(code, "Tensor")


def test_meta_functions_do_not_keep_the_tensor():
    _, use = _compile("reshape(g, shape(x))")
    assert use.bare == {"g", "x"}  # no meta_of given: the tensor itself is asked
    index = {op.name: op for op in parser.parse_file("t.yaml", _SCHEMA)}
    names = {"x": formula.Expr("x", "Tensor"), "g": formula.Expr("g", "Tensor")}
    compiler = formula.Compiler(index["mine"], index, names, lambda f, n, rest: f"{f}_{n}_")
    code = compiler.compile(formula.parse("reshape(g, shape(x))", model.Location("t", 1)))
    assert code.code == "ops::reshape(g, shape_x_)" and compiler.use.bare == {"g"}


@pytest.mark.parametrize(
    "text, says",
    [
        ("nothing(x)", "no op is named 'nothing'"),
        ("multiply(x)", "needs parameter 'y'"),
        ("multiply(x, g, g)", "takes 2 arguments"),
        ("multiply(x, z=g)", "no parameter 'z'"),
        ("multiply(x, x=g)", "given twice"),
        ("unknown * 2", "unknown name 'unknown'"),
        ("reshape(g, slope)", "parameter shape is IntArray"),
        ("g if slope else x", "not bool"),
        ("g if flag else 1", "branches have types"),
        ("shape(slope)", "takes a tensor"),
    ],
)
def test_type_errors(text, says):
    with pytest.raises(model.SchemaError, match="t.yaml:3"):
        _compile(text)
    with pytest.raises(model.SchemaError) as e:
        _compile(text)
    assert says in str(e.value)
