"""Files of every release so far load, and give what they gave then."""

import pathlib
import re

import numpy as np
import pytest

import proa as paddle
from fuzz import wire

FOLDER = pathlib.Path(__file__).parent / "golden_models"
MODELS = sorted(path.with_suffix("") for path in FOLDER.glob("*/*.pdmodel"))
NAMES = [f"{path.parent.name}-{path.name}" for path in MODELS]


def _arrays(path):
    with np.load(f"{path}.npz") as data:
        return {key: data[key] for key in data.files}


def _numbered(arrays, letter):
    return [arrays[f"{letter}{i}"] for i in range(len(arrays)) if f"{letter}{i}" in arrays]


@pytest.mark.parametrize("path", MODELS, ids=NAMES)
def test_a_model_of_an_earlier_release(path, tmp_path):
    arrays = _arrays(path)
    prefix = str(path)
    for _ in range(2):
        loaded = paddle.jit.load(prefix)
        if "seed" in arrays:
            paddle.seed(int(arrays["seed"]))
        results = loaded(*[paddle.to_tensor(a) for a in _numbered(arrays, "x")])
        results = results if isinstance(results, (list, tuple)) else [results]
        want = _numbered(arrays, "y")
        assert len(results) == len(want)
        for got, expected in zip(results, want, strict=True):
            assert got.numpy().dtype == expected.dtype
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-5, atol=1e-6)
        # Once more as this release writes it.
        prefix = str(tmp_path / "again")
        paddle._C.load_program(str(path).encode()).save(prefix.encode())


def test_the_release_under_work_has_its_models():
    assert paddle.version.full_version in {path.parent.name for path in MODELS}


def _arguments(fields, depth=0):
    """Field numbers of the arguments of all operations in a block."""
    for number, _, value in fields:
        if number != 2 or not isinstance(value, list):
            continue
        for inner, _, item in value:
            if inner == 3 and isinstance(item, list):
                yield from (n for n, _, _ in item if n != 13)
            if inner == 5 and isinstance(item, list):
                yield from _arguments(item, depth + 1)


# The field that holds an argument of a type (jit/program.proto).
FIELDS = {
    "Tensor": 2,
    "Tensor[]": 3,
    "bool": 4,
    "int": 5,
    "float": 6,
    "str": 7,
    "int[]": 8,
    "float[]": 9,
    "IntArray": 8,
}
FIELDS |= {"Scalar": 10, "DType": 11, "Place": 12}


def test_every_kind_of_argument_is_in_some_file():
    seen = set()
    for path in MODELS:
        module = wire.read(path.with_suffix(".pdmodel").read_bytes()[24:])
        for number, _, value in module:
            if number == 4 and isinstance(value, list):
                seen.update(_arguments(value))
    recordable = [op for op in paddle._C.op_registry() if "composite" not in op["traits"]]
    types = {p["type"] for op in recordable for p in op["params"]}
    missing = {t for t in types if FIELDS[t] not in seen}
    assert not missing, f"no golden model has an argument of type {missing}"


# What becomes of ops ------------------------------------------------------------------


def _parsed(line):
    """(name, version, {parameter: (type, default or None)}, outputs) of a line of ops.txt."""
    version, signature = line.split(" ", 1)
    head, _, tail = signature.partition(") -> ")
    name, _, inside = head.partition("(")
    params = {}
    for text in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", inside.rstrip(")") if tail else inside.removesuffix(")")):
        declared, _, default = text.strip().partition("=")
        kind, _, param = declared.rpartition(" ")
        params[param] = kind, default or None
    outputs = [text.split()[-1] for text in tail.split(",")] if tail else []
    return name, int(version), params, outputs


def changes(old, new):
    """What in the ops of a later release (lines of ops.txt) would give its files of an earlier one another meaning."""
    now = {op[0]: op for op in map(_parsed, new)}
    for name, version, params, outputs in map(_parsed, old):
        if name not in now:
            yield f"{name}: is gone"
            continue
        _, later, new_params, new_outputs = now[name]
        if later > version:
            continue  # its upgrades are looked for by the reader
        if later < version:
            yield f"{name}: version {version} became {later}"
        for param, declared in params.items():
            if new_params.get(param) != declared:
                yield f"{name}: parameter {param} was {declared}, is {new_params.get(param)}"
        for param, (_, default) in new_params.items():
            if param not in params and default is None:
                yield f"{name}: new parameter {param} has no default"
        if new_outputs[: len(outputs)] != outputs:
            yield f"{name}: outputs were {outputs}, are {new_outputs}"


def _current():
    return [f"{op['version']} {op['signature']}" for op in paddle._C.op_registry() if "composite" not in op["traits"]]


@pytest.mark.parametrize(
    "old, new, says",
    [
        (
            "1 f(Tensor x, int[] axis=[1,2]) -> Tensor out",
            "1 f(Tensor x, int[] axis=[1,2], bool k=false) -> Tensor out",
            "",
        ),
        ("1 f(Tensor x, int n=1) -> Tensor out", "2 f(Tensor y) -> Tensor out", ""),
        ("1 f(Tensor x) -> Tensor out", "1 g(Tensor x) -> Tensor out", "is gone"),
        ("1 f(Tensor x, int n=1) -> Tensor out", "1 f(Tensor x, int n=2) -> Tensor out", "parameter n"),
        ("1 f(Tensor x, int n=1) -> Tensor out", "1 f(Tensor x, float n=1) -> Tensor out", "parameter n"),
        ("1 f(Tensor x) -> Tensor out", "1 f(Tensor x, Tensor y) -> Tensor out", "y has no default"),
        ("1 f(Tensor x) -> Tensor a, Tensor b", "1 f(Tensor x) -> Tensor b, Tensor a", "outputs"),
        ("1 f_(Tensor x, Tensor value)", "1 f_(Tensor x)", "parameter value"),
    ],
)
def test_a_change_of_meaning_is_seen(old, new, says):
    found = list(changes([old], [new]))
    assert any(says in text for text in found) if says else not found


def test_no_op_of_an_earlier_release_changed_its_meaning():
    """Such a change raises the op's version and needs an upgrade (ops/upgrade.h)."""
    now = _current()
    assert not list(changes(now, now))
    for folder in {path.parent for path in MODELS} - {FOLDER / paddle.version.full_version}:
        found = list(changes((folder / "ops.txt").read_text().splitlines(), now))
        assert not found, f"{folder.name}: {found}"
