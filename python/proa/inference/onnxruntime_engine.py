"""Models for predictors that have to do with ONNX: files of ONNX read as programs, and programs run by ONNX Runtime.

Parts of programs: an engine for `_C.split` (inference/subgraphs.h) is an object with

    name, least_operations           as there
    claims(whole)                    whether it computes each operation of a _C.LoadedModule: a list of bools
    compile(part, settings)          what runs a part: a _C.Engine, or an object with `run(values)`, from many threads at once; a
                                     ValueError or NotImplementedError declines, and the part runs here
"""

import glob
import hashlib
import importlib.util
import os
import tempfile
import warnings

from proa import _C

__all__ = ["OnnxRuntimeEngine", "imported_module", "is_onnx_file", "library", "onnxruntime_engine"]


def library():
    """The path of the library that the package onnxruntime carries.

    Raises:
        ImportError: it is not installed, or carries none.
    """
    found = importlib.util.find_spec("onnxruntime")
    for folder in (found and found.submodule_search_locations) or ():
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), "capi", "libonnxruntime.so*"))):
            return path
    raise _C.located(
        ImportError(
            "Config.enable_onnxruntime: models run there by the library of the package onnxruntime, which cannot be found: "
            "pip install onnxruntime, or leave enable_onnxruntime out"
        )
    )


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


def onnxruntime_engine(path, load, settings, own_passes):
    """What a config names, run by ONNX Runtime; of a program with operations that ONNX cannot say, those parts that it can.

    Args:
        path (str): a file of ONNX runs as it is.
        load: gives the module otherwise, which is exported.
        settings (_C.SubgraphSettings): how.
        own_passes (list): over the parts that run here.

    Returns:
        (_C.Engine, what its results are called).
    """
    if is_onnx_file(path):
        engine = _session(path, settings)
        return engine, engine.output_names
    module, engine = load(), OnnxRuntimeEngine()
    try:
        return engine.compile(module, settings), module.output_names
    except NotImplementedError as error:
        warnings.warn(f"create_predictor: ONNX Runtime runs parts of the model: {error}", UserWarning, stacklevel=5)

    def warn(sentence):
        warnings.warn(f"create_predictor: {sentence}", UserWarning, stacklevel=6)

    return _C.split(module, engine, settings, own_passes, warn), module.output_names


def _session(path, settings):
    return _C.onnxruntime_engine(os.fspath(path), library(), settings.threads, settings.optimized)


class OnnxRuntimeEngine:
    """ONNX Runtime as an engine for parts of programs."""

    name = "ONNX Runtime"
    least_operations = 3

    def claims(self, whole):
        """The operations for which there is a rule of ONNX that takes them."""
        from proa.onnx.graph import Graph
        from proa.onnx.opset import NeedsOpset

        outputs = [whole.program.value(n) for n in whole.output_numbers]
        version = _OPSET
        while True:
            probe = _probe()(whole.program, outputs, Graph(version))
            try:
                probe.run([f"result_{i}" for i in range(len(outputs))])
            except NeedsOpset as needed:
                if needed.version <= version:
                    raise
                version = needed.version
                continue
            return [i not in probe.refused for i in range(len(probe.block["operations"]))]

    def compile(self, part, settings):
        """A session for a module.

        Raises:
            NotImplementedError: ONNX cannot say some operations; the message has them.
            ValueError: ONNX Runtime refuses the model.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = _kept_path(part, settings.folder) or os.path.join(folder, "model.onnx")
            if not os.path.exists(path):
                _export(part, path)
            return _session(path, settings)


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

    key = hashlib.sha256(f"{full_version} {os.path.basename(library())}\n{module.program}".encode())
    key.update(repr((module.input_names, module.output_numbers)).encode())
    for _, tensor in module.program.captured:
        key.update(tensor.detach().numpy().tobytes())
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, f"onnxruntime_{key.hexdigest()[:32]}.onnx")


def _export(module, path):
    import proa
    from proa.jit.saving import TranslatedLayer
    from proa.static import InputSpec

    inputs = {v["name"]: v for v in _C.program_values(module.program) if v["kind"] == "input"}
    specs = [
        InputSpec([None if d < 0 else d for d in inputs[n]["shape"]], inputs[n]["dtype"], n) for n in module.input_names
    ]
    proa.onnx.export(TranslatedLayer({"forward": module}, {}), path, specs)
