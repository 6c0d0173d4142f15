"""The parser: what it accepts, what it refuses and where, and that text round-trips."""

import dataclasses
import glob
import os
import re

import pytest

from ops.schema import alias, flops, formula, model, parser, printer

_MULTIPLY = """\
- op: multiply(Tensor x, Tensor y) -> Tensor out
  doc: Elementwise product.
  infer: {shape: broadcast(x, y), dtype: promote(x, y)}
  kernel: elementwise
  inplace: x -> out
  grad:
    x: sum_to(g * conj(y), shape(x))
    y: none
  samples: ["f32[2,3], f32[3]"]
"""


def _parse(text):
    return parser.parse_file("ops/test/test.yaml", text)


def _plain(op):
    """The op without locations and syntax trees, which do not compare."""

    def strip(v):
        if isinstance(v, model.Formula):
            return v.text
        if isinstance(v, model.InferRule):
            return (v.shape.text, v.dtype.text)
        if isinstance(v, model.Alias):
            return (v.name, v.params, v.formula and v.formula.text)
        if isinstance(v, tuple):
            return tuple(strip(x) for x in v)
        if isinstance(v, dict):
            return {k: strip(x) for k, x in v.items()}
        return v

    return {
        f.name: strip(getattr(op, f.name)) for f in dataclasses.fields(op) if f.name not in ("location", "signature")
    }


def test_reads_an_op():
    (op,) = _parse(_MULTIPLY)
    assert op.name == "multiply" and [p.name for p in op.params] == ["x", "y"]
    assert op.infer["out"].shape.text == "broadcast(x, y)"
    assert op.compute.text == "promote(x, y)"
    assert op.strided and op.kernel.elementwise and op.inplace == "x"
    assert op.grad["y"] is None and op.grad["x"].location.line == 7
    assert (op.family, op.stem) == ("test", "test")


def test_types_and_defaults():
    (op,) = _parse("""\
- op: f(Tensor x, Tensor? w, Tensor[] ys, int[] axis=[0, -1], str mode="a,b", float? p=none, bool b=true) -> Tensor(x) a, Tensor[] c
  doc: d
  composite: F
  samples: ["f32[2]"]
""")
    assert [p.default for p in op.params] == [None, None, None, "[0, -1]", '"a,b"', "none", "true"]
    assert op.outputs[0].aliases == "x" and op.outputs[1].is_list
    assert op.cpp_return == "std::tuple<Tensor, std::vector<Tensor>>"
    assert formula.cpp_default(op.params[3]) == "std::vector<int64_t>{0, -1}"


@pytest.mark.parametrize(
    "change, line, says",
    [
        (("doc:", "dok:"), 2, "unknown key 'dok'"),
        (("  doc: Elementwise product.\n", ""), 1, "key 'doc' is missing"),
        (("Tensor x,", "Tenzor x,"), 1, "parameter 'Tenzor x'"),
        (("kernel: elementwise", "kernel: lower_case"), 4, "neither `elementwise` nor"),
        (
            ("kernel: elementwise", "kernel: {npu: Mine}"),
            4,
            "`kernel` has the key 'npu'; a map has backends (cpu, cuda",
        ),
        (("kernel: elementwise", "kernel: {cuda: Mine}"), 4, "`kernel` has none for cpu"),
        (
            ("kernel: elementwise", "kernel: {cpu: Mine, cuda: mine}"),
            4,
            "kernel 'mine' of cuda is no CamelCase function",
        ),
        (("kernel: elementwise", "kernel: {cpu: Mine, cuda: {name: A}}"), 4, "has the keys function and dtypes"),
        (("kernel: elementwise", "kernel: {cpu: Mine, cuda: {function: A, dtypes: [f]}}"), 4, "dtypes ['f']"),
        (("    y: none\n", ""), 6, "no word on ['y']"),
        (("y: none", "z: none"), 6, "knows no input ['z']"),
        (("inplace: x -> out", "inplace: y -> out"), 5, "`inplace` maps the first parameter"),
        (("g * conj(y)", "g *"), 7, "formula"),
        (("g * conj(y)", "g.sum()"), 7, "only calls of ops by name"),
        (("g * conj(y)", "x[0] * g"), 7, "only an output of a call is chosen"),
        (("  grad:", "  kernel: Twice\n  grad:"), 6, "key 'kernel' is repeated"),
        (("inplace: x -> out", "dtypes: floaty"), 5, "dtypes 'floaty'"),
        (("inplace: x -> out", "row_sparse: [z]"), 5, "`row_sparse` lists tensor parameters"),
        (("inplace: x -> out", "row_sparse: multiply_rows"), 5, "a list of parameters or a CamelCase function"),
        (("infer: {shape: broadcast(x, y), ", "infer: {"), 3, "needs shape and dtype"),
        (("Tensor y)", "Tensor x)"), 1, "name 'x' is used twice"),
        (("inplace: x -> out", "inplace: x -> out\n  recompute: g"), 6, "a first output that is one new tensor"),
        (("inplace: x -> out", "recompute: {again: multiply(x, y)}"), 5, "behind_recomputed: formula"),
        (
            ("inplace: x -> out", "recompute: {behind_recomputed: multiply(x, y)}"),
            5,
            "takes and gives tensors with gradients alone",
        ),
        (("inplace: x -> out", "reuses: z"), 5, "`reuses` names a tensor parameter, not 'z'"),
        (("inplace: x -> out", "takes_wider_grads: true"), 5, "for ops of one tensor and one result"),
        (("inplace: x -> out", "takes_wider_grads: wide"), 5, "takes_wider_grads is true or false"),
        (("inplace: x -> out", "of_bytes: true"), 5, "bytes have no gradient"),
    ],
)
def test_mistakes_name_file_and_line(change, line, says):
    text = _MULTIPLY.replace(*change)
    assert text != _MULTIPLY
    with pytest.raises(model.SchemaError) as e:
        _parse(text)
    assert str(e.value).startswith(f"ops/test/test.yaml:{line}:")
    assert says in str(e.value)


def test_yaml_mistake_has_a_line():
    with pytest.raises(model.SchemaError, match="ops/test/test.yaml:2:"):
        _parse('- op: "f(\n  doc: [')


def test_name_defined_twice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(_MULTIPLY)
    with pytest.raises(model.SchemaError, match="already defined at a.yaml:1"):
        parser.parse_files(["a.yaml", "b.yaml"])


@pytest.mark.parametrize(
    "entry, says",
    [
        ("mul(x, y): nosuch(x, y)", "there is no op 'nosuch'"),
        ("mul(x, y): multiply(x, z)", "unknown name 'z'"),
        ("mul(x, y): multiply(x, y, 1)", "does not fit multiply(Tensor x, Tensor y)"),
        ("mul(x, y): multiply(x, axis=y)", "does not fit multiply(Tensor x, Tensor y)"),
        ("mul(x=1, y): multiply(x, y)", "a required parameter follows"),
        ("mul(x, x): multiply(x, x)", "parameter 'x'"),
        ("mul: multiply(x, y)", "or neither"),
        ("mul(x, y):", "or neither"),
        ("mul x:", "is neither a name nor"),
        ("multiply:", "alias multiply already names op multiply"),
        ("add:", "alias add already names op add"),
        ("other:", "alias other already names op add"),
    ],
)
def test_mistakes_in_aliases(entry, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    entry = entry if entry.endswith(":") else '"{}": "{}"'.format(*entry.split(": "))
    (tmp_path / "b.yaml").write_text(_MULTIPLY + f"  aliases:\n    {entry}\n")
    (tmp_path / "a.yaml").write_text(_MULTIPLY.replace("multiply", "add", 1) + "  aliases:\n    other:\n")
    with pytest.raises(model.SchemaError) as e:
        parser.parse_files(["a.yaml", "b.yaml"])
    assert str(e.value).startswith("b.yaml:") and says in str(e.value)


def test_aliases_as_python(tmp_path, monkeypatch):
    text = _MULTIPLY + (
        '  aliases:\n    "mul_v2(x, y, axis=-1, both=none)": "[multiply(x, align(x, y, axis) if both == none else both), none]"\n'
        "    mul:\n"
    )
    (op,) = _parse(text)
    module = alias.emit([op])
    compile(module, "aliases.py", "exec")
    assert '{"mul", "multiply"},\n    {"mul_v2", "multiply"},' in alias.emit_table([op])
    assert '    "mul": "multiply",\n    "mul_v2": "multiply",\n' in module
    assert (
        "def mul_v2(x, y, axis=-1, both=None):\n"
        "    return _ops.multiply(x, _align(x, y, axis) if both is None else both), None\n"
    ) in module


def test_nothing_in_a_schema_is_executed(tmp_path):
    canary = tmp_path / "canary"
    evil = _MULTIPLY.replace("Elementwise product.", f'!!python/object/apply:os.mkdir ["{canary}"]')
    with pytest.raises(model.SchemaError):
        _parse(evil)
    assert not canary.exists()


def _all_ops():
    return [op for path in sorted(glob.glob("ops/*/*.yaml")) for op in parser.parse_file(path)]


def test_every_schema_round_trips():
    ops = _all_ops()
    assert len(ops) > 100
    for op in ops:
        (again,) = parser.parse_file(op.location.file, printer.entry(op))
        assert _plain(again) == _plain(op), op.name
        assert os.path.basename(os.path.dirname(op.location.file)) == op.family


@pytest.mark.parametrize(
    "text, says",
    [
        ("2 * numel(z)", "'z' is no tensor"),
        ("numel(x, 1)", "numel takes 1 arguments"),
        ("size(x, y)", "'y' is no dim"),
        ("numel(x) if y else 0", "'y' is neither a bool nor an optional tensor"),
        ("numel(x) == 2", "cannot say 'numel(x) == 2'"),
        ("sum(x)", "cannot say 'sum(x)'"),
    ],
)
def test_flops_formulas_are_checked(text, says):
    entry = f"""
- op: f(Tensor x, Tensor y) -> Tensor out
  doc: d
  infer: {{shape: x, dtype: x}}
  kernel: F
  flops: {text}
  grad: none
  samples: ["f32[2], f32[2]"]
"""
    with pytest.raises(model.SchemaError, match=r"^ops/a/b.yaml:6: flops ") as e:
        parser.parse_file("ops/a/b.yaml", entry)
    assert says in str(e.value)


def test_flops_formulas_compile():
    entry = """
- op: f(Tensor x, Tensor? y=none, bool t=false) -> Tensor out
  doc: d
  infer: {shape: x, dtype: x}
  kernel: F
  flops: 2 * numel(out) * (rows(x) if t else size(x, -1)) / numel(y) + (1 if y else 0)
  grad: none
  samples: ["f32[2]"]
"""
    [op] = parser.parse_file("ops/a/b.yaml", entry)
    assert flops.compile_formula(op.flops, op.params, op.outputs) == (
        "(flops::Quotient(((2.0 * flops::Numel(results[0])) * (std::get<bool>(args[2]) ? flops::Rows(args[0]) : "
        "flops::Size(args[0], -1))), flops::Numel(args[1])) + (flops::IsGiven(args[1]) ? 1.0 : 0.0))"
    )


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("random: true", "it draws random numbers; say by `inference`"),
        ("inference: {training: false}", "`inference` is `none`, or a map of attributes or of outputs"),
        ("inference: {x: y}", "`inference` is `none`, or a map"),
        ("inference: {}", "`inference` is `none`, or a map"),
    ],
)
def test_what_a_test_means_is_said(key, says):
    text = "- op: f(Tensor x, float p=0.5) -> Tensor out\n  doc: d\n  infer: {shape: x, dtype: x}\n  kernel: F\n  grad: none\n"
    with pytest.raises(model.SchemaError, match=re.escape(says)):
        parser.parse_file("ops/a/b.yaml", text + f"  samples: ['f32[2]']\n  {key}\n")


@pytest.mark.parametrize("param", ["bool training=true", "float running_rate=1.0"])
def test_a_parameter_of_training_is_noticed(param):
    text = f"- op: f(Tensor x, {param}) -> Tensor out\n  doc: d\n  infer: {{shape: x, dtype: x}}\n  kernel: F\n  grad: none\n"
    with pytest.raises(model.SchemaError, match="has the parameter"):
        parser.parse_file("ops/a/b.yaml", text + "  samples: ['f32[2]']\n")
    op = parser.parse_file("ops/a/b.yaml", text + "  samples: ['f32[2]']\n  inference: none\n")[0]
    assert op.inference == {}


def test_ops_that_one_process_cannot_call():
    """They have errors in place of samples, and say so."""
    text = "- op: f(Tensor x) -> Tensor out\n  doc: d\n  composite: F\n"
    errors = "  errors: [{args: 'f32[2]', says: there is one process}]\n"
    (op,) = parser.parse_file("ops/a/b.yaml", text + "  samples: none\n" + errors)
    assert op.samples == () and len(op.errors) == 1
    for rest in (errors, "  samples: none\n"):
        with pytest.raises(model.SchemaError, match="f: key `samples` is missing"):
            parser.parse_file("ops/a/b.yaml", text + rest)
