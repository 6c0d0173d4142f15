"""The model that is served: names and shapes as the protocol tells them, and runs of arrays."""

import numpy as np

from proa import _C
from proa.inference.config import Config
from proa.inference.predictor import create_predictor
from proa.inference.serve.protocol import DATATYPES, Input

__all__ = ["Model"]


def _described(what, names, specs):
    for name, (_, dtype) in zip(names, specs):
        if dtype.name not in DATATYPES:
            raise _C.located(
                ValueError(f"serve: {what} {name!r} is {dtype.name}, which the protocol has no datatype for")
            )
    return [Input(name, dtype.name, shape) for name, (shape, dtype) in zip(names, specs)]


class Model:
    """A predictor with its description. `run` may be called from many threads at once.

    Args:
        path (str): prefix or folder, as `Config` takes it.
        name, version (str): as clients call it.
        threads (int, optional): of one run.
    """

    def __init__(self, path, name, version="1", threads=None):
        config = Config(path)
        config.enable_memory_optim()
        if threads is not None:
            config.set_cpu_math_library_num_threads(threads)
        self.name, self.version = name, version
        self._predictor = create_predictor(config)
        engine = self._predictor._engine
        self.inputs = _described("input", self._predictor.get_input_names(), engine.input_specs)
        self.outputs = _described("output", self._predictor.get_output_names(), engine.output_specs)
        # Whether rows of several requests may stand in one run.
        self.takes_rows = all(d.shape and d.shape[0] == -1 for d in self.inputs + self.outputs) and bool(self.inputs)

    def metadata(self):
        """As the protocol describes a model."""
        return {
            "name": self.name,
            "versions": [self.version],
            "platform": "proa",
            "inputs": [d.metadata() for d in self.inputs],
            "outputs": [d.metadata() for d in self.outputs],
        }

    def run(self, arrays):
        """The results of arrays in the order of the inputs, as arrays."""
        values = []
        for declared, array in zip(self.inputs, arrays):
            if declared.dtype == "bfloat16":
                with _C.eager_mode():
                    array = _C.to_tensor(array).astype("bfloat16")
            values.append(array)
        results = []
        for declared, value in zip(self.outputs, self._predictor.run(values)):
            with _C.eager_mode():
                value = value.astype("float32") if declared.dtype == "bfloat16" else value
            results.append(np.asarray(value.numpy()))
        return results
