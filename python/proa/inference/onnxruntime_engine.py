"""Models for predictors that have to do with ONNX: files of ONNX read as programs, and programs run by ONNX Runtime."""

import hashlib
import os
import tempfile
import warnings

from proa import _C
from proa.inference import subgraphs
from proa.inference.runner import Runner

__all__ = ["OnnxRuntimeEngine", "OnnxRuntimeModule", "imported_module", "is_onnx_file", "onnxruntime_module", "package"]


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


def onnxruntime_module(path, load, settings):
    """What a config names, run by ONNX Runtime; of a program with operations that ONNX cannot say, those parts that it can.

    Args:
        path (str): a file of ONNX runs as it is.
        load: gives the module otherwise, which is exported.
        settings (subgraphs.Settings): how.
    """
    package()
    if is_onnx_file(path):
        return OnnxRuntimeModule(path, settings.threads, optimized=settings.optimized)
    module, engine = load(), OnnxRuntimeEngine()
    try:
        return engine.compile(module, settings)
    except NotImplementedError as error:
        warnings.warn(f"create_predictor: ONNX Runtime runs parts of the model: {error}", UserWarning, stacklevel=5)
    trace = _recorded(module)
    results = trace.outputs[: trace.num_results]
    return subgraphs.split(trace.program, trace.input_names, results, module.output_names, engine, settings)


class OnnxRuntimeEngine:
    """ONNX Runtime as an engine for parts of programs (subgraphs.py)."""

    name = "ONNX Runtime"
    least_operations = 3

    def claims(self, program, outputs):
        """The operations for which there is a rule of ONNX that takes them."""
        from proa.onnx.graph import Graph
        from proa.onnx.opset import NeedsOpset

        version = _OPSET
        while True:
            probe = _probe()(program, outputs, Graph(version))
            try:
                probe.run([f"result_{i}" for i in range(len(outputs))])
            except NeedsOpset as needed:
                if needed.version <= version:
                    raise
                version = needed.version
                continue
            return [i not in probe.refused for i in range(len(probe.block["operations"]))]

    def compile(self, module, settings):
        """A session for a module.

        Raises:
            NotImplementedError: ONNX cannot say some operations; the message has them.
            ValueError: ONNX Runtime refuses the model.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = _kept_path(module, settings.folder) or os.path.join(folder, "model.onnx")
            if not os.path.exists(path):
                _export(module, path)
            return OnnxRuntimeModule(path, settings.threads, list(module.output_names), settings.optimized)


_OPSET = 17  # the first version that is tried


def _probe():
    from proa.onnx.convert import Converter

    class Probe(Converter):
        """Notes which operations of a program the format refuses."""

        passes = ()

        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.refused = set()

        def convert(self, block):
            if block is not self.block:
                return super().convert(block)
            for i, operation in enumerate(block["operations"]):
                before = len(self.problems) + len(self.left_out)
                super().convert({"operations": [operation]})
                if len(self.problems) + len(self.left_out) > before:
                    self.refused.add(i)

    return Probe


def _kept_path(module, folder):
    """Where the file of a module is kept, by all that it is made of; None without a folder."""
    if not folder:
        return None
    from proa.version import full_version

    key = hashlib.sha256(f"{full_version} {package().__version__}\n{module.program}".encode())
    key.update(repr((module.input_names, module.output_numbers)).encode())
    for _, tensor in module.program.captured:
        key.update(tensor.detach().numpy().tobytes())
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, f"onnxruntime_{key.hexdigest()[:32]}.onnx")


def _layer(module):
    from proa.jit.saving import TranslatedLayer
    from proa.static import InputSpec

    inputs = {v["name"]: v for v in _C.program_values(module.program) if v["kind"] == "input"}
    specs = [
        InputSpec([None if d < 0 else d for d in inputs[n]["shape"]], inputs[n]["dtype"], n) for n in module.input_names
    ]
    return TranslatedLayer({"forward": module}, {}), specs


def _recorded(module):
    import proa
    from proa.jit.saving import recorded

    with _C.eager_mode(), proa.no_grad():
        return recorded("create_predictor", *_layer(module))


def _export(module, path):
    import proa

    layer, specs = _layer(module)
    proa.onnx.export(layer, path, specs)


class OnnxRuntimeModule(Runner):
    """A session of ONNX Runtime.

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

    def refusal_of_hooks(self):
        return subgraphs.REFUSAL_OF_HOOKS

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
