"""The node tests of ONNX, as Debian's libonnx-testdata has them: models with inputs and outputs in files."""

import pathlib

import numpy as np

import proa
from proa.onnx import model_file
from proa.onnx.import_rule import Known

FOLDER = pathlib.Path("/usr/share/libonnx-testdata/data")


def names():
    """Of all tests: "node/test_abs"."""
    return sorted(str(p.parent.relative_to(FOLDER)) for p in FOLDER.glob("*/*/model.onnx"))


def check(name):
    """Runs a test; raises for what is not as it is written.

    Raises:
        AssertionError: an output is another.
    """
    folder = FOLDER / name
    model = model_file.read((folder / "model.onnx").read_bytes())
    net = proa.onnx.load(str(folder / "model.onnx"))
    initialized = {t.name for t in model.graph.initializer}
    given = [i for i in model.graph.input if i.name not in initialized]
    sets = sorted(folder.glob("test_data_set_*"))
    assert sets
    for part in sets:
        inputs = [_value(part / f"input_{k}.pb", i.type) for k, i in enumerate(given)]
        made = net(*inputs)
        made = [made] if len(model.graph.output) == 1 else made
        for k, output in enumerate(model.graph.output):
            _same(made[k], _value(part / f"output_{k}.pb", output.type), output.name)


def _value(path, kind):
    return _read(path.read_bytes(), kind)


def _read(data, kind):
    if kind.optional_type is not None:
        message = model_file.read(data, "Optional")
        inner = kind.optional_type.elem_type
        if inner.sequence_type is not None:
            return (
                None if message.sequence_value is None else [_tensor(t) for t in message.sequence_value.tensor_values]
            )
        return None if message.tensor_value is None else _tensor(message.tensor_value)
    if kind.sequence_type is not None:
        return [_tensor(t) for t in model_file.read(data, "Sequence").tensor_values]
    message = model_file.read(data, "Tensor")
    if kind.tensor_type.elem_type == 16 and message.data_type == 4:  # bfloat16 as bits
        message.data_type = 16
    return _tensor(message)


def _tensor(message):
    dtype, array = model_file.array_of(message)
    return array if dtype == "string" else Known(array, dtype).tensor()


def _same(got, want, name):
    if want is None:
        assert got is None, f"{name} has a value"
        return
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), f"{name} is no sequence of {len(want)}"
        for i, (a, b) in enumerate(zip(got, want, strict=True)):
            _same(a, b, f"{name}[{i}]")
        return
    if isinstance(want, np.ndarray):
        assert isinstance(got, np.ndarray) and got.shape == want.shape and (got == want).all(), f"{name}: {got} {want}"
        return
    assert got.dtype == want.dtype, f"{name} is {got.dtype.name}, not {want.dtype.name}"
    assert got.shape == want.shape, f"{name} is {got.shape}, not {want.shape}"
    a, b = (proa.cast(t, "float32").numpy() if t.dtype.name == "bfloat16" else t.numpy() for t in (got, want))
    np.testing.assert_allclose(
        a, b, rtol=2e-3 if got.dtype.name in ("float16", "bfloat16") else 1e-3, atol=1e-5, err_msg=name
    )
