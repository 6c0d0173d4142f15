"""Models for predictors that have to do with ONNX: files of ONNX read as programs, and programs run by ONNX Runtime."""

import os
import tempfile

from proa import _C

__all__ = ["OnnxRuntimeModule", "imported_module", "is_onnx_file", "onnxruntime_module", "package"]


def package():
    """The package onnxruntime.

    Raises:
        ImportError: it is not installed.
    """
    try:
        import onnxruntime  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise _C.located(
            ImportError(
                f"Config.enable_onnxruntime: models run there by the package onnxruntime, which cannot be imported ({error}): "
                "pip install onnxruntime, or leave enable_onnxruntime out"
            )
        ) from None
    return onnxruntime


def is_onnx_file(path):
    """Whether a path is that of a file of ONNX, by its name."""
    return bool(path) and os.fspath(path).endswith(".onnx")


def imported_module(path):
    """A file of ONNX as the program of a predictor.

    Raises:
        ValueError: what `proa.onnx.load` refuses; or a model that cannot be recorded.
    """
    import proa
    from proa.jit.saving import recorded

    layer = proa.onnx.load(path)
    with _C.eager_mode(), proa.no_grad():
        trace = recorded("create_predictor", layer, layer.input_spec)
    return trace.program.module(trace.input_names, trace.outputs[: trace.num_results])


def onnxruntime_module(path, load, threads=0, optimized=True):
    """What a config names, run by ONNX Runtime.

    Args:
        path (str): a file of ONNX runs as it is.
        load: gives the module otherwise, which is exported.
        threads (int): for one operator; 0 for the engine's choice.
        optimized (bool): whether the engine changes the graph first.
    """
    package()
    if is_onnx_file(path):
        return OnnxRuntimeModule(path, threads, optimized=optimized)
    with tempfile.TemporaryDirectory() as folder:
        exported = os.path.join(folder, "model.onnx")
        names = _exported(load(), exported)
        return OnnxRuntimeModule(exported, threads, names, optimized)


def _exported(module, path):
    """Writes a module as ONNX; its names of results."""
    import proa
    from proa.jit.saving import TranslatedLayer
    from proa.static import InputSpec

    inputs = {v["name"]: v for v in _C.program_values(module.program) if v["kind"] == "input"}
    specs = [
        InputSpec([None if d < 0 else d for d in inputs[n]["shape"]], inputs[n]["dtype"], n) for n in module.input_names
    ]
    proa.onnx.export(TranslatedLayer({"forward": module}, {}), path, specs)
    return list(module.output_names)


class OnnxRuntimeModule:
    """A session of ONNX Runtime in the shape of a module: `run` takes tensors and gives tensors.

    Args:
        path (str): of the file.
        threads (int): for one operator; 0 for the engine's choice.
        output_names (list, optional): what the results are called; those of the file by default.
        optimized (bool): whether the engine changes the graph first.

    Raises:
        ValueError: the engine refuses the model.
    """

    def __init__(self, path, threads=0, output_names=None, optimized=True):
        runtime = package()
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        if not optimized:
            options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        if threads:
            options.intra_op_num_threads = threads
        try:
            self._session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise _C.located(ValueError(f"create_predictor: ONNX Runtime refuses the model: {error}")) from None
        self.input_names = [v.name for v in self._session.get_inputs()]
        self._results = [v.name for v in self._session.get_outputs()]
        self.output_names = list(output_names or self._results)

    def run(self, values, input_hooks=(), output_hooks=()):
        """Results of inputs in order; there are no hooks.

        Raises:
            ValueError: the engine refuses them.
        """
        feeds = {name: value.numpy() for name, value in zip(self.input_names, values, strict=True)}
        try:
            return [_C.to_tensor(array) for array in self._session.run(self._results, feeds)]
        except Exception as error:
            raise _C.located(ValueError(f"Predictor.run: ONNX Runtime: {error}")) from None
