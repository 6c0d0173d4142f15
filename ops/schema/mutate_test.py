"""Mutants of formulas: which mistakes are made, and the grad nodes and lists that hold them."""

import glob
import json

import pytest

from ops.schema import generate, parser

_SCHEMA = """\
- op: multiply(Tensor x, Tensor y) -> Tensor out
  doc: d
  composite: A
  samples: [""]
- op: add(Tensor x, Tensor y) -> Tensor out
  doc: d
  composite: A
  samples: [""]
- op: neg(Tensor x) -> Tensor out
  doc: d
  composite: A
  samples: [""]
- op: sum(Tensor x, int axis=0, bool keepdim=false) -> Tensor out
  doc: d
  composite: A
  samples: [""]
- op: reshape(Tensor x, IntArray shape) -> Tensor out
  doc: d
  composite: A
  samples: [""]
- op: product(Tensor x, Tensor y, DType? dtype=none) -> Tensor out
  doc: d
  composite: A
  samples: [""]
- op: mine(Tensor x, Tensor? y, int axis, bool flag) -> Tensor out
  doc: d
  infer: {shape: x, dtype: x}
  kernel: Mine
  grad:
    x: FORMULA
    y: none
  samples: [""]
"""


def _generated(formula):
    path = "ops/family/t.yaml"
    index = {op.name: op for op in parser.parse_file(path, _SCHEMA.replace("FORMULA", formula))}
    files = generate.mutants("family", index)
    return files["family_grad_mutants.cc"], json.loads(files["family_mutants.json"])


def _mutants(formula):
    return {e["mutant"] for e in _generated(formula)[1]}


@pytest.mark.parametrize(
    "formula, mutant",
    [
        ("g * x", "no gradient"),
        ("g * x", "-(g * x)"),
        ("g * x", "g * x * 2"),
        ("g * x", "g"),  # a factor dropped
        ("g * x", "x"),
        ("g * x", "g + x"),  # a sibling
        ("g * x", "g * y"),  # another tensor
        ("multiply(g, x)", "add(g, x)"),
        ("sum(g, axis, flag)", "g"),
        ("sum(g, axis, flag)", "sum(g, axis)"),
        ("sum(g, axis, flag)", "sum(g, keepdim=flag)"),
        ("sum(g, axis, flag)", "sum(g, axis + 1, flag)"),
        ("sum(g, axis, flag)", "sum(g, axis, not flag)"),
        ("sum(g, 1)", "sum(g, 0)"),
        ("sum(g, 1)", "sum(g, 2)"),
        ("g * 0.5", "g * 1.0"),
        ("g if flag else g * x", "g"),
        ("reshape(g, shape(x))", "reshape(g, shape(g))"),
        ("reshape(g, shape(x))", "reshape(-g, shape(x))"),
    ],
)
def test_makes(formula, mutant):
    assert mutant in _mutants(formula)


@pytest.mark.parametrize(
    "formula, not_a_mutant",
    [
        ("g * x", "g * x"),
        ("sum(g, axis)", "sum(axis, g)"),  # does not type-check
        ("sum(g, axis)", "axis"),
        ("reshape(g, shape(x))", "reshape(g, shape(y))"),  # y may be absent; the forward call would fail
        ("product(g, x, grad_dtype(x))", "product(g, x)"),  # rounds otherwise, and is no mistake
        ("product(g, x, grad_dtype(x))", "product(g, x, grad_dtype(y))"),
    ],
)
def test_does_not_make(formula, not_a_mutant):
    assert not_a_mutant not in _mutants(formula)


def test_swapped_operands_name_the_op_that_may_be_commutative():
    swapped = [e for e in _generated("multiply(g, x)")[1] if e["kind"] == "swapped"]
    assert [(e["mutant"], e["swapped"]) for e in swapped] == [("multiply(x, g)", "multiply")]


def test_the_node_holds_every_mutant_and_the_formula():
    text, entries = _generated("g * x")
    numbers = [e["id"] for e in entries]
    assert len(set(numbers)) == len(numbers) and 0 not in numbers
    for n in numbers:
        assert f"case {n}: {{" in text
    assert "input_grads[0] = Conform(ops::multiply(g, x), x_dtype_);" in text[text.index("default: {") :]
    assert entries[0]["location"].startswith("ops/family/t.yaml:") and entries[0]["original"] == "g * x"


def test_every_formula_of_the_schemas_has_mutants_and_no_number_is_used_twice():
    index = parser.parse_files(sorted(glob.glob("ops/*/*.yaml")))
    numbers, formulas = [], set()
    for family in sorted({op.family for op in index.values()}):
        entries = json.loads(generate.mutants(family, index)[f"{family}_mutants.json"])
        numbers += [e["id"] for e in entries]
        formulas |= {(e["op"], e["input"]) for e in entries}
    assert len(set(numbers)) == len(numbers)
    assert formulas == {(op.name, p.name) for op in index.values() for p in op.differentiable_params}
