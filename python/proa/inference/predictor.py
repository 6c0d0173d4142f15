"""Predictor: a loaded model, and handles of what goes in and comes out."""

import glob
import os
import shutil
import tempfile

import numpy as np

from proa import _C
from proa.inference.config import Config
from proa.inference.kinds import DataType

__all__ = ["Predictor", "PredictorPool", "Tensor", "create_predictor"]


class Tensor:
    """An input or a result of a predictor. `copy_from_cpu` and `copy_to_cpu` carry arrays.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "net")
        >>> proa.jit.save(proa.nn.ReLU(), path, [proa.static.InputSpec([None, 2], "float32", "x")])
        >>> predictor = proa.inference.create_predictor(proa.inference.Config(path + ".pdmodel", path + ".pdiparams"))
        >>> x = predictor.get_input_handle("x")
        >>> x.copy_from_cpu(np.array([[-1.0, 2.0]], "float32"))
        >>> predictor.run(), x.shape()
        (True, [1, 2])
        >>> predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu().tolist()
        [[0.0, 2.0]]
        >>> folder.cleanup()
    """

    def __init__(self, name, value=None):
        self._name = name
        self._value = value
        self._shape = None
        self._lod = []

    def name(self):
        return self._name

    def reshape(self, shape):
        """Says the dims of what will be copied in; the array decides."""
        self._shape = list(shape)

    def shape(self):
        """The dims."""
        return list(self._value.shape) if self._value is not None else (self._shape or [])

    def copy_from_cpu(self, data):
        """Takes a copy of an array.

        Raises:
            TypeError: it is none.
        """
        if not isinstance(data, (np.ndarray, list)):
            raise _C.located(TypeError(f"copy_from_cpu: data must be an ndarray, not {type(data).__name__}"))
        with _C.eager_mode():
            self._value = _C.to_tensor(np.array(data))

    def share_external_data(self, data):
        """Takes an array or tensor; a tensor is not copied."""
        self._value = data if isinstance(data, _C.Tensor) else _C.to_tensor(np.asarray(data))

    def copy_to_cpu(self):
        """The value as an array.

        Raises:
            RuntimeError: there is none yet.
        """
        if self._value is None:
            raise _C.located(RuntimeError(f"copy_to_cpu: {self._name!r} has no value yet; call run() first"))
        return self._value.numpy()

    def type(self):
        """The kind of its elements."""
        return DataType[self._value.dtype.name.upper()] if self._value is not None else DataType.FLOAT32

    def lod(self):
        return self._lod

    def set_lod(self, lod):
        """Keeps the lengths of sequences; models here do not look at them."""
        self._lod = lod


def _module(config):
    """Loads what a config names. Files that are not called alike are put side by side first."""
    if config._buffers is not None:
        with tempfile.TemporaryDirectory() as folder:
            for ending, data in zip((".pdmodel", ".pdiparams"), config._buffers):
                with open(os.path.join(folder, "model" + ending), "wb") as file:
                    file.write(data)
            return _C.load_program(os.fsencode(os.path.join(folder, "model")))
    prog, params = config._prog, config._params
    if not prog and config._dir:
        if os.path.exists(config._dir + ".pdmodel") or os.path.exists(os.path.join(config._dir, "__model__")):
            return _C.load_program(os.fsencode(config._dir))
        found = sorted(glob.glob(os.path.join(glob.escape(config._dir), "*.pdmodel")))
        if len(found) != 1:
            raise _C.located(
                ValueError(
                    f"create_predictor: the folder {config._dir!r} must hold one .pdmodel; it holds {len(found)}"
                )
            )
        prog = found[0]
        params = prog[: -len(".pdmodel")] + ".pdiparams"
    if not prog:
        raise _C.located(ValueError("create_predictor: the config names no model; give Config the files"))
    for path in (prog, params):
        if path and not os.path.exists(path):
            raise _C.located(FileNotFoundError(f"create_predictor: there is no file {path}"))
    base = os.path.splitext(prog)[0]
    if prog == base + ".pdmodel" and params in ("", base + ".pdiparams"):
        return _C.load_program(os.fsencode(base))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(prog, os.path.join(folder, "model.pdmodel"))
        if params:
            shutil.copy(params, os.path.join(folder, "model.pdiparams"))
        return _C.load_program(os.fsencode(os.path.join(folder, "model")))


class Predictor:
    """A loaded model; `create_predictor` makes it.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "net")
        >>> proa.jit.save(proa.nn.ReLU(), path, [proa.static.InputSpec([None, 2], "float32", "x")])
        >>> predictor = proa.inference.create_predictor(proa.inference.Config(path + ".pdmodel", path + ".pdiparams"))
        >>> predictor.get_input_names()
        ['x']
        >>> (y,) = predictor.run([np.array([[-1.0, 2.0]], "float32")])
        >>> y.tolist()
        [[0.0, 2.0]]
        >>> folder.cleanup()
    """

    def __init__(self, config, module=None):
        self._config = config
        self._module = _module(config) if module is None else module
        self._inputs = {name: Tensor(name) for name in self._module.input_names}
        self._outputs = {name: Tensor(name) for name in self._output_names()}

    def _output_names(self):
        seen, names = {}, []
        for name in self._module.output_names:
            seen[name] = seen.get(name, -1) + 1
            names.append(name if not seen[name] else f"{name}_{seen[name]}")
        return names

    def get_input_names(self):
        """The names of the inputs, in order."""
        return list(self._inputs)

    def get_output_names(self):
        """The names of the results, in order."""
        return list(self._outputs)

    def _handle(self, what, handles, name):
        if name not in handles:
            raise _C.located(ValueError(f"{what}: the model has no {name!r}; it has {', '.join(handles)}"))
        return handles[name]

    def get_input_handle(self, name):
        """The input of this name."""
        return self._handle("get_input_handle", self._inputs, name)

    def get_output_handle(self, name):
        """The result of this name."""
        return self._handle("get_output_handle", self._outputs, name)

    get_input_tensor, get_output_tensor = get_input_handle, get_output_handle

    def run(self, inputs=None):
        """Computes the results of what the input handles hold; or of a list of arrays or tensors, then as a list.

        Returns:
            bool|list: True, or the results.

        Raises:
            ValueError: an input has no value, or the list is not one for each input.
        """
        if inputs is not None:
            if len(inputs) != len(self._inputs):
                raise _C.located(ValueError(f"Predictor.run: there are {len(self._inputs)} inputs, not {len(inputs)}"))
            for handle, value in zip(self._inputs.values(), inputs):
                handle.share_external_data(value)
        missing = [name for name, handle in self._inputs.items() if handle._value is None]
        if missing:
            raise _C.located(
                ValueError(f"Predictor.run: input {missing[0]!r} has no value; copy_from_cpu gives it one")
            )
        with _C.ThreadScope(self._config._state.get("threads") or 0), _C.eager_mode():
            results = self._module.run([handle._value for handle in self._inputs.values()])
        for handle, value in zip(self._outputs.values(), results):
            handle._value = value
        return True if inputs is None else list(results)

    zero_copy_run = run

    def clone(self):
        """A predictor of the same model with handles of its own."""
        return Predictor(self._config, self._module)

    def clear_intermediate_tensor(self):
        """Nothing is kept between runs."""

    def try_shrink_memory(self):
        """Gives memory that is not used back to the system; how many bytes."""
        released = _C.memory_release()
        return released if isinstance(released, int) else 0


class PredictorPool:
    """Several predictors of one model: `retrieve(i)`.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "net")
        >>> proa.jit.save(proa.nn.ReLU(), path, [proa.static.InputSpec([None, 2], "float32", "x")])
        >>> pool = proa.inference.PredictorPool(proa.inference.Config(path + ".pdmodel", path + ".pdiparams"), 2)
        >>> pool.retrieve(1).run([np.array([[-1.0, 2.0]], "float32")])[0].tolist()
        [[0.0, 2.0]]
        >>> folder.cleanup()
    """

    def __init__(self, config, size=1):
        if size < 1:
            raise _C.located(ValueError(f"PredictorPool: size must be positive, not {size}"))
        first = Predictor(config)
        self._predictors = [first] + [first.clone() for _ in range(size - 1)]

    def retrieve(self, idx):
        """The predictor of this number."""
        return self._predictors[idx]

    retrive = retrieve


def create_predictor(config):
    """Loads the model that a config names.

    Raises:
        TypeError: for no Config.
        FileNotFoundError, ValueError: its files are not there, or are no model.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "net")
        >>> proa.jit.save(proa.nn.Linear(2, 3), path, [proa.static.InputSpec([None, 2], "float32", "x")])
        >>> predictor = proa.inference.create_predictor(proa.inference.Config(path + ".pdmodel", path + ".pdiparams"))
        >>> predictor.run([np.zeros([4, 2], "float32")])[0].shape
        [4, 3]
        >>> folder.cleanup()
    """
    if not isinstance(config, Config):
        raise _C.located(TypeError(f"create_predictor: config must be a Config, not {type(config).__name__}"))
    return Predictor(config)
