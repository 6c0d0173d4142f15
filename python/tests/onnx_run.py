"""Runs exported models in ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime

import proa
from proa.onnx import exporting
from proa.onnx.graph import tensor_of

# It has no kernel for the dtypes.
_NOT_HERE = ("NOT_IMPLEMENTED", "Could not find an implementation", "MLDataType", "is invalid")


def model_of(program, names, outputs, opset_version=9, **configs):
    """The model of a program, checked by onnx."""
    out_names = [f"out_{i}" for i in range(len(outputs))]
    model, tensors = exporting.model_of(program, names, outputs, out_names, opset_version, True, **configs)
    model.graph.initializer.extend(tensor_of(name, *tensor) for name, tensor in tensors.items())
    onnx.checker.check_model(model, full_check=True)
    return model


def run(model, feeds):
    """The results; None where the engine has no kernel for a dtype. `feeds` are NumPy arrays by name."""
    given = {i.name for i in model.graph.input}
    feeds = {name: x for name, x in feeds.items() if name in given}
    # Of no elements at all Unique of ONNX Runtime 1.32 ends the process.
    if any(n.op_type == "Unique" for n in model.graph.node) and any(x.size == 0 for x in feeds.values()):
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if any(text in str(error) for text in _NOT_HERE):
            return None
        raise
    return session.run(None, feeds)


def tensors(result):
    """The tensors of a result in a row."""
    if isinstance(result, proa.Tensor):
        return [result]
    items = result.values() if isinstance(result, dict) else result or ()
    return [t for item in items for t in tensors(item)]


def same(got, want, rtol, atol, where):
    """Asserts equal dtypes, shapes and elements."""
    assert len(got) == len(want), where
    for a, b in zip(got, want, strict=True):
        a = np.asarray(a)
        assert a.dtype == b.dtype and a.shape == b.shape, f"{where}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, equal_nan=True, err_msg=where)
