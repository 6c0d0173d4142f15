"""Programs of PaddlePaddle say with which version of each op they were saved; the importer takes the meaning of that one."""

import warnings

import numpy as np
import pytest

import proa
from proa import _C
from proa.jit.reference import wire
from proa.static import InputSpec

_X = np.array([[-3.0, -1.0, 0.5], [0.0, 2.0, -0.25], [4.0, np.inf, -np.inf]], "float32")


def _program(kind, attributes, version, inputs=("X",), dtype="float32", out_slot="Out"):
    """The bytes of a program of one op with inputs [3, 3]; `version` None: the file says none."""
    names = [f"in_{slot}" for slot in inputs]
    variables = [{"name": n, "dtype": "float32", "dims": [3, 3], "need_check_feed": True} for n in names]
    variables += [{"name": "feed", "kind": 9, "persistable": True}, {"name": "fetch", "kind": 10, "persistable": True}]
    variables.append({"name": "out", "dtype": dtype, "dims": [-1]})
    ops = [
        {"type": "feed", "inputs": {"X": ["feed"]}, "outputs": {"Out": [name]}, "attributes": {"col": i}}
        for i, name in enumerate(names)
    ]
    given = {slot: [name] for slot, name in zip(inputs, names, strict=True)}
    ops.append({"type": kind, "inputs": given, "outputs": {out_slot: ["out"]}, "attributes": attributes})
    ops.append({"type": "fetch", "inputs": {"X": ["out"]}, "outputs": {"Out": ["fetch"]}, "attributes": {"col": 0}})
    versions = {} if version is None else {kind: version}
    return wire.program([{"parent": -1, "vars": variables, "ops": ops}], 2_000_000, versions)


def _run(kind, attributes, version, arrays=(_X,), **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = _C.parse_program_files(_program(kind, attributes, version, **options), b"")
    return module.run([proa.to_tensor(a) for a in arrays])[0].numpy()


def _leaky_old(x, alpha):
    return np.maximum(x, alpha * x)


def _leaky(x, alpha):
    return np.where(x > 0, x, alpha * x)


@pytest.mark.parametrize("alpha", [0.1, 3.0, -0.5])
def test_leaky_relu(alpha):
    x = _X[:2]  # (an infinite x tells nothing)
    x = np.concatenate([x, x[:1]])
    for version, expected in [(None, _leaky_old), (0, _leaky_old), (1, _leaky)]:
        found = _run("leaky_relu", {"alpha": alpha}, version, [x])
        np.testing.assert_allclose(found, expected(x, np.float32(alpha)), rtol=1e-6)
    assert (alpha <= 1) == np.allclose(_leaky_old(x, alpha), _leaky(x, alpha))


@pytest.mark.parametrize("threshold", [0.5, -1.0])
def test_hard_shrink(threshold):
    x = np.array([[-3.0, -1.0, 0.5], [0.0, 2.0, -0.25], [4.0, 1.0, -2.0]], "float32")
    below, above = (x < -threshold).astype("float32"), (x > threshold).astype("float32")
    np.testing.assert_array_equal(_run("hard_shrink", {"threshold": threshold}, 0, [x]), x * (below + above))
    np.testing.assert_array_equal(_run("hard_shrink", {"threshold": threshold}, 1, [x]), x * ((below + above) > 0))


def test_names_of_axes():
    x = np.arange(9, dtype="float32").reshape(3, 3)
    np.testing.assert_array_equal(_run("flip", {"dims": [1]}, None, [x]), x[:, ::-1])
    np.testing.assert_array_equal(_run("flip", {"axis": [0]}, 1, [x]), x[::-1])
    np.testing.assert_array_equal(_run("roll", {"shifts": [1], "dims": [1]}, None, [x]), np.roll(x, 1, 1))
    np.testing.assert_array_equal(_run("roll", {"shifts": [1], "axis": [0]}, 2, [x]), np.roll(x, 1, 0))
    for version, names in [(None, ("dim1", "dim2")), (1, ("axis1", "axis2"))]:
        attributes = {"offset": 1, names[0]: 1, names[1]: 0}
        found = _run("trace", attributes, version, [x], inputs=("Input",))
        np.testing.assert_array_equal(found, np.trace(x, 1, 1, 0))


def test_tolerances_as_numbers_and_as_texts():
    near = _X[:1].repeat(3, 0)
    for version, write in [(None, float), (1, float), (2, str)]:
        for tolerance, expected in [(0.1, True), (0.001, False)]:
            attributes = {"rtol": write(tolerance), "atol": write(0.0), "equal_nan": False}
            arrays = [near, near * np.float32(1.01)]
            found = _run("allclose", attributes, version, arrays, inputs=("Input", "Other"), dtype="bool")
            assert bool(found) is expected, (version, tolerance)


def test_indices_without_a_dtype():
    """Of 1.x, where dtype was -1 or not there."""
    for attributes, version in [({"axis": 1}, None), ({"axis": 1, "dtype": -1}, 0), ({"axis": 1, "dtype": 3}, 1)]:
        found = _run("arg_max", attributes, version, [_X[::-1].copy()], dtype="int64")
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, _X[::-1].argmax(1))


@pytest.mark.parametrize(("kind", "version", "known"), [("leaky_relu", 7, 1), ("relu", 2, 0)])
def test_newer_versions_are_told(kind, version, known):
    program = _program(kind, {}, version)
    with pytest.warns(UserWarning, match=f"op '{kind}' was saved as version {version}.*newer than version {known}"):
        module = _C.parse_program_files(program, b"")
    expected = _leaky(_X, np.float32(0.02)) if kind == "leaky_relu" else np.maximum(_X, 0)
    np.testing.assert_allclose(module.run([proa.to_tensor(_X)])[0].numpy(), expected)


def test_versions_of_ops_that_are_not_there_are_not_told():
    program = wire.program([], 2_000_000, {})  # (the map has what the program's ops are)
    assert b"leaky_relu" not in program
    assert _C.reference_op_versions()["roi_align"] == 3 and "relu" not in _C.reference_op_versions()


def test_what_we_write_says_its_versions(tmp_path):
    """... so that it is read with the meaning that it was written with."""

    def f(x):
        return proa.nn.functional.leaky_relu(x, 3.0) + proa.nn.functional.hardshrink(x, 0.25)

    path, x = str(tmp_path / "net"), _X[:2]
    proa.jit.save(f, path, [InputSpec([None, 3])], format="paddle")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = proa.jit.load(path)
    np.testing.assert_allclose(loaded(proa.to_tensor(x)).numpy(), f(proa.to_tensor(x)).numpy())
    with open(f"{path}.pdmodel", "rb") as file:
        assert file.read().endswith(bytes.fromhex("0a100a0a") + b"leaky_relu" + bytes.fromhex("12020801"))
