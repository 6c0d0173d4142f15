"""Prediction as 1.x has it: AnalysisConfig, PaddleTensor and create_paddle_predictor, over proa.inference."""

import numpy as np

from proa import _C
from proa.inference import Config as AnalysisConfig
from proa.inference import Predictor

__all__ = ["AnalysisConfig", "PaddlePredictor", "PaddleTensor", "create_paddle_predictor"]


class PaddleTensor:
    """An array with a name, as predictors take and give it.

    Args:
        data (ndarray, optional): the elements.
        name (str): of the input or output.
    """

    def __init__(self, data=None, name=""):
        self._array = np.zeros([0], "float32") if data is None else np.asarray(data)
        self.name, self.lod = name, []

    @property
    def shape(self):
        return list(self._array.shape)

    @shape.setter
    def shape(self, sizes):
        self._array = self._array.reshape(sizes)

    @property
    def dtype(self):
        return self._array.dtype

    @property
    def data(self):
        """The elements in a row."""
        return self._array.reshape(-1)

    def as_ndarray(self):
        """The array."""
        return self._array


class PaddlePredictor(Predictor):
    """A predictor that is given its inputs all at once."""

    def run(self, inputs=None):
        """The outputs, PaddleTensors, for inputs in the order of the model, or by their names; True, for None: what the
        handles hold is taken.

        Raises:
            ValueError: another number of inputs.
        """
        if inputs is None:
            return super().run()
        names = self.get_input_names()
        if len(inputs) != len(names):
            raise _C.located(
                ValueError(
                    f"PaddlePredictor.run: the model takes {len(names)} inputs ({', '.join(names)}), not {len(inputs)}"
                )
            )
        given = {value.name: value for value in inputs}
        ordered = [given[name] for name in names] if set(given) == set(names) else inputs
        for name, value in zip(names, ordered, strict=True):
            self.get_input_handle(name).copy_from_cpu(value.as_ndarray())
        super().run()
        names = self.get_output_names()
        return [PaddleTensor(self.get_output_handle(name).copy_to_cpu(), name) for name in names]


def create_paddle_predictor(config):
    """The predictor of a model.

    Args:
        config (AnalysisConfig): which files, and how.

    Examples:
        >>> import os, tempfile
        >>> from proa import fluid
        >>> folder, main = tempfile.TemporaryDirectory(), fluid.Program()
        >>> with fluid.program_guard(main, fluid.Program()):
        ...     x = fluid.data("x", [None, 2])
        ...     _ = fluid.io.save_inference_model(folder.name, ["x"], [x * 2.0], fluid.Executor(), main, "model", "params")
        >>> config = fluid.core.AnalysisConfig(os.path.join(folder.name, "model"), os.path.join(folder.name, "params"))
        >>> predictor = fluid.core.create_paddle_predictor(config)
        >>> predictor.run([fluid.core.PaddleTensor(np.ones([1, 2], "float32"))])[0].as_ndarray().tolist()
        [[2.0, 2.0]]
        >>> folder.cleanup()
    """
    return PaddlePredictor(config)
