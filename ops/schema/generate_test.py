"""What the generators write for one small family, compared with the golden files beside it.

After a wanted change: PROA_UPDATE_GOLDEN=1 python -m pytest ops/schema/generate_test.py
"""

import os

import pytest

from ops.schema import generate, model, parser

_DATA = "ops/schema/testdata"


def _index():
    return {op.name: op for op in parser.parse_file(f"{_DATA}/scaled.yaml")}


_FILES = generate.generate("testdata", _index(), has_infer=False)


@pytest.mark.parametrize("name", sorted(_FILES))
def test_golden(name):
    path = f"{_DATA}/{name}.golden"
    if os.environ.get("PROA_UPDATE_GOLDEN"):
        with open(path, "w", encoding="utf-8") as f:
            f.write(_FILES[name])
    with open(path, encoding="utf-8") as f:
        assert _FILES[name] == f.read()


def test_words_are_compiled_apart(tmp_path):
    text = open(f"{_DATA}/scaled.yaml", encoding="utf-8").read()
    path = tmp_path / "testdata" / "scaled.yaml"
    path.parent.mkdir()
    # Other lines, other words, other samples.
    path.write_text("# A comment\n\n" + text.replace("doc: ", "doc: In other words. ").replace("f32[2,3]", "f32[4,3]"))
    index = {op.name: op for op in parser.parse_file(str(path))}
    files = generate.generate("testdata", index, has_infer=False)
    changed = {name for name, text in files.items() if text.partition("\n")[2] != _FILES[name].partition("\n")[2]}
    assert changed == {"testdata_docs.cc", "testdata_binding_docs.cc"}


def test_node_keeps_only_what_its_formula_names():
    grad = _FILES["testdata_grad.cc"]
    node = grad[grad.index("class ScaledNode") : grad.index("DifferentiateScaled")]
    assert "factor_" in node and "SavedTensor" not in node


def test_a_recomputed_output_is_not_kept():
    grad = _FILES["testdata_grad.cc"]
    node = grad[grad.index("class SplitScaleNode") : grad.index("const bool installed_split_scale")]
    assert "final : public RecomputingNode" in node and node.count("ForgetRecomputed();") == 2
    # x and shift are for it alone, scale is what a gradient names.
    assert "if (node->recomputes()) node->x_ = " in node
    assert "node->out_ = node->recomputes() ? SavedTensor::OfRecomputedOutput()" in node
    assert "node->scale_ = SavedTensor(scale, 1);" in node
    assert node.index("AllowRecompute(std::get<0>(result))") < node.index("node->x_ = ")


@pytest.mark.parametrize("formula", ["scaled(out, factor)", "out", "reshape(x, shape(x))"])
def test_a_recomputed_output_comes_from_what_the_node_has(formula, tmp_path):
    text = open(f"{_DATA}/scaled.yaml", encoding="utf-8").read()
    wrong = tmp_path / "testdata" / "scaled.yaml"  # the folder is the family
    wrong.parent.mkdir()
    wrong.write_text(text.replace("scaled(multiply(x, shift), factor)", formula))
    with pytest.raises(model.SchemaError, match="`recompute` is a tensor made of arguments and other outputs|reshape"):
        generate.generate("testdata", {op.name: op for op in parser.parse_file(str(wrong))}, has_infer=False)


def test_an_output_behind_recomputed_ones_is_made_of_them(tmp_path):
    schema = tmp_path / "testdata" / "twice.yaml"
    schema.parent.mkdir()
    schema.write_text(
        """\
- op: plus(Tensor x, Tensor y) -> Tensor out
  doc: Sum.
  infer: {shape: "broadcast(x, y)", dtype: "promote(x, y)"}
  kernel: elementwise
  inplace: x -> out
  grad:
    x: plus(g, out)
    y: g
  recompute: {behind_recomputed: "plus(y, x)"}
  samples: ["f32[2], f32[2]"]
"""
    )
    index = {op.name: op for op in parser.parse_file(str(schema))}
    grad = generate.generate("testdata", index, has_infer=False)["testdata_grad.cc"]
    node = grad[grad.index("class PlusNode") : grad.index("Tensor DifferentiatePlus(")]
    assert "const Tensor x = RecomputedInput(0);" in node and "const Tensor y = RecomputedInput(1);" in node
    assert "ops::plus(y, x)" in node
    assert "SavedTensor x_" not in node and "SavedTensor y_" not in node
    forward, inplace = grad.split("Tensor DifferentiateInplacePlus(")
    assert "node->AllowRecomputeBehind(result, x, y);" in forward
    assert "AllowRecompute" not in inplace


def test_an_op_in_place_keeps_a_copy_of_what_it_overwrites(tmp_path):
    schema = tmp_path / "testdata" / "inplace.yaml"
    schema.parent.mkdir()
    schema.write_text(
        """\
- op: twice(Tensor x, Tensor y) -> Tensor out
  doc: Product.
  infer: {shape: "broadcast(x, y)", dtype: "promote(x, y)"}
  kernel: elementwise
  inplace: x -> out
  grad:
    x: twice(g, y)
    y: twice(g, x)
  samples: ["f32[2], f32[2]"]
- op: rounded(Tensor x) -> Tensor out
  doc: A whole number.
  infer: {shape: x, dtype: x}
  kernel: elementwise
  inplace: x -> out
  grad: none
  samples: ["f32[2]"]
"""
    )
    index = {op.name: op for op in parser.parse_file(str(schema))}
    grad = generate.generate("testdata", index, has_infer=False)["testdata_grad.cc"]
    forward, inplace = grad.split("Tensor DifferentiateInplaceTwice(")
    assert '#include "autograd/ops/before_change.h"' in forward
    assert "node->x_ = SavedTensor(x, *node, 0);" in forward and "SavedTensor(BeforeChange" not in forward
    assert "node->x_ = SavedTensor(BeforeChange(x, x), *node, 0);" in inplace
    assert "node->y_ = SavedTensor(BeforeChange(y, x), *node, 1);" in inplace
    constant = grad[grad.index("DifferentiateInplaceRounded(") :]
    assert 'CheckInplace("rounded_", x);' in constant and "AssignHistory(x, Detach(x));" in constant


_WIDE = """\
- op: to(Tensor x, DType dtype) -> Tensor out
  doc: x in another dtype.
  infer: {shape: x, dtype: dtype}
  kernel: elementwise
  grad:
    x: g
  takes_wider_grads: true
  samples: ["f32[2], dtype='float64'"]
- op: product(Tensor x, Tensor y, DType? dtype=none) -> Tensor out
  doc: Product.
  infer: {shape: "matmul(x, y)", dtype: "promote(x, y)"}
  kernel: elementwise
  grad:
    x: product(g, y, grad_dtype(x))
    y: product(x, g)
  samples: ["f32[2], f32[2]"]
"""


def _grad_of(text, tmp_path):
    schema = tmp_path / "testdata" / "wide.yaml"
    schema.parent.mkdir()
    schema.write_text(text)
    index = {op.name: op for op in parser.parse_file(str(schema))}
    return generate.generate("testdata", index, has_infer=False)["testdata_grad.cc"]


def test_a_formula_asks_in_which_dtype_its_gradient_is_wanted(tmp_path):
    grad = _grad_of(_WIDE, tmp_path)
    node = grad[grad.index("class ProductNode") : grad.index("Tensor DifferentiateProduct(")]
    assert "const DType grad_dtype = GradDType(*this, 0, x_dtype_);" in node
    assert "input_grads[0] = Conform(ops::product(g, y, grad_dtype), grad_dtype);" in node
    assert "input_grads[1] = Conform(ops::product(x, g, std::nullopt), y_dtype_);" in node
    node = grad[grad.index("class ToNode") : grad.index("Tensor DifferentiateTo(")]
    assert "public Node, public TakesWiderGrads {" in node and "return x_dtype_;" in node
    assert "input_grads[0] = Conform(g, x_dtype_);" in node
    assert '#include "autograd/grad_dtype.h"' in grad and "grad_dtype.h" not in _FILES["testdata_grad.cc"]


def test_a_formula_asks_of_its_own_gradient_only(tmp_path):
    with pytest.raises(model.SchemaError, match=r"product: grad_dtype\(y\) is not for the gradient of x"):
        _grad_of(_WIDE.replace("grad_dtype(x)", "grad_dtype(y)"), tmp_path)


_WIDE_PAIR = """\
- op: pair(Tensor x, Tensor y, DType? dtype=none) -> Tensor a, Tensor b
  doc: Both.
  infer: {a: {shape: x, dtype: "promote(x, y)"}, b: {shape: y, dtype: "promote(x, y)"}}
  kernel: elementwise
  grad:
    x: pair(g_a, g_b, grad_dtype(x))[0]
    y: pair(g_a, g_b, grad_dtype(x))[1]
  samples: ["f32[2], f32[2]"]
"""


def test_formulas_that_share_a_call_ask_by_one_of_their_names(tmp_path):
    """The call gives what x waits for; the gradient of y becomes what y waits for."""
    grad = _grad_of(_WIDE_PAIR, tmp_path)
    assert grad.count("const DType grad_dtype = GradDType(*this, 0, x_dtype_);") == 2
    assert "shared_0.emplace(ops::pair(g_a, g_b, grad_dtype));" in grad
    assert "input_grads[0] = Conform(std::get<0>(*shared_0), grad_dtype);" in grad
    assert "input_grads[1] = Conform(std::get<1>(*shared_0), GradDType(*this, 1, y_dtype_));" in grad


def test_an_op_without_a_reference_is_refused(tmp_path):
    samples = tmp_path / "scaled_samples.py"
    samples.write_text("def reference_multiply(x, y):\n  return x * y\n")
    with pytest.raises(model.SchemaError, match="no reference_scaled"):
        generate.check_references("testdata", _index(), [str(samples)])
