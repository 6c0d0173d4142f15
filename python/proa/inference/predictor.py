"""Predictor: a loaded model, and handles of what goes in and comes out."""

import operator

import numpy as np

from proa import _C
from proa.inference import onnxruntime_engine
from proa.inference.config import Config
from proa.inference.kinds import DataType
from proa.inference.loading import load_module
from proa.inference.precision import low_precision
from proa.static.sequences import lengths_name

__all__ = ["Predictor", "PredictorPool", "Tensor", "create_predictor"]


def _shared(data):
    """A tensor over the memory of an array, where that can be."""
    if data is None or isinstance(data, _C.Tensor):
        return data
    array = np.asarray(data)
    if array.flags.c_contiguous and array.flags.writeable and array.dtype.isnative:
        try:
            return _C.from_dlpack(array)
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass  # A kind of element that DLPack does not carry.
    with _C.eager_mode():
        return _C.to_tensor(array)


def _lengths_of(handles, names):
    """(name, (place, level)) of each handle that holds the lengths of sequences in the input or result of this place."""
    for place, name in enumerate(names):
        level = 0
        while lengths_name(name, level) in handles:
            yield lengths_name(name, level), (place, level)
            level += 1


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
        self._shape = [operator.index(n) for n in shape]

    def shape(self):
        """The dims."""
        return list(self._value.shape) if self._value is not None else (self._shape or [])

    def copy_from_cpu(self, data):
        """Takes a copy of an array.

        Raises:
            TypeError: it is none.
        """
        if not isinstance(data, np.ndarray):
            raise _C.located(TypeError(f"copy_from_cpu: data must be an ndarray, not {type(data).__name__}"))
        self._value = None  # The copy may take its memory.
        with _C.eager_mode():
            self._value = _C.to_tensor(data)

    def share_external_data(self, data):
        """Takes an array or tensor without a copy: runs read the caller's memory, which must not change meanwhile. An
        array that is not contiguous, or whose memory may not be written, is copied.
        """
        if not isinstance(data, (np.ndarray, _C.Tensor)):
            raise _C.located(
                TypeError(f"share_external_data: data must be an ndarray or Tensor, not {type(data).__name__}")
            )
        self._value = _shared(data)

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
        """Where the sequences in its rows begin and end, a list for each level; [] where it has none."""
        return self._lod

    def set_lod(self, lod):
        """Says where the sequences in its rows begin and end: [[0, 2, 5]] are two, of 2 and 3 rows.

        A model that asks for no sequences of this input does not look at it.
        """
        self._lod = [[operator.index(n) for n in level] for level in lod]


def _engine(config):
    """(what runs the model that a config names, what its results are called)."""
    threads = config._state.get("threads") or 0
    if config._state["onnxruntime"]:
        optimized = config._state["ir_optim"] or config._state["ort_optimization"]
        settings = _C.SubgraphSettings(threads, optimized, config._cache_dir or "")
        with _C.eager_mode():
            return onnxruntime_engine.onnxruntime_engine(
                config._prog or config._dir, lambda: load_module(config), settings, config._running_passes()
            )
    low = None
    if config._state["bfloat16"]:
        ops = config._ops
        low = low_precision("bfloat16", not config._state["low_io"], ops["full"], ops["mixed"], ops["bfloat16"])
    with _C.eager_mode():
        engine = _C.program_engine(
            load_module(config), config._running_passes(), low, config._dumps(), config._dumped, threads
        )
    return engine, engine.output_names


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

    def __init__(self, config, engine=None):
        if not isinstance(config, Config):
            raise _C.located(TypeError(f"create_predictor: config must be a Config, not {type(config).__name__}"))
        self._config = config
        self._engine, self._result_names = _engine(config) if engine is None else engine
        self._inputs = {name: Tensor(name) for name in self._engine.input_names}
        self._outputs = {name: Tensor(name) for name in self._output_names()}
        self._input_hooks, self._output_hooks = [], []
        # Lengths of sequences are inputs and results of the program, which handles say by their lod.
        self._lengths_of = dict(_lengths_of(self._inputs, list(self._inputs)))
        self._lengths_given = dict(_lengths_of(self._outputs, [f"fetch_{k}" for k in range(len(self._outputs))]))

    def _output_names(self):
        seen, names = {}, []
        for name in self._result_names:
            seen[name] = seen.get(name, -1) + 1
            names.append(name if not seen[name] else f"{name}_{seen[name]}")
        return names

    def get_input_names(self):
        """The names of the inputs, in order; without those of lengths of sequences, which `set_lod` says."""
        return [name for name in self._inputs if name not in self._lengths_of]

    def get_output_names(self):
        """The names of the results, in order; without those of lengths of sequences, which `lod` has."""
        return [name for name in self._outputs if name not in self._lengths_given]

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

        With a list it may be called on one predictor from many threads at once: calls share nothing but the weights,
        and the interpreter is free while one computes. Handles are one set: threads that use them take a `clone()` each.

        Returns:
            bool|list: True, or the results.

        Raises:
            ValueError: an input has no value, or the list is not one for each input.
        """
        if inputs is None:
            values = [handle._value for handle in self._inputs.values()]
            values = [self._lengths(n) if v is None else v for n, v in zip(self._inputs, values, strict=True)]
        else:
            if len(inputs) != len(self._inputs):
                raise _C.located(ValueError(f"Predictor.run: there are {len(self._inputs)} inputs, not {len(inputs)}"))
            values = [_shared(value) for value in inputs]
        for name, value in zip(self._inputs, values):
            if value is None:
                raise _C.located(ValueError(f"Predictor.run: input {name!r} has no value; copy_from_cpu gives it one"))
        with _C.eager_mode():
            results = self._engine.run(values, self._input_hooks, self._output_hooks)
        for handle, value in zip(self._outputs.values(), results):
            handle._value, handle._lod = value, []
        results_alone = self.get_output_names()
        for name, (place, _) in self._lengths_given.items():
            ends = self._outputs[name]._value.numpy().cumsum().tolist()
            self._outputs[results_alone[place]]._lod.append([0, *ends])
        return True if inputs is None else list(results)

    zero_copy_run = run

    def _registered(self, what, hooks, hook):
        if not callable(hook):
            raise _C.located(TypeError(f"{what}: hook must be callable, not {type(hook).__name__}"))
        self._engine.check_hooks()
        hooks.append(hook)

    def register_input_hook(self, hook):
        """Calls `hook(op, name, tensor)` with each tensor that an operation reads (parameters too), before it runs.

        Hooks are called in the order in which they were registered, by the thread that runs, and cannot be taken back; a
        clone has none. The operations are those that run, after the passes (`Config.switch_ir_optim(False)`: those of the
        model). A tensor without a name in the program has a number: "%7". What a hook raises ends the run, and `run`
        raises it.

        Raises:
            TypeError: the hook cannot be called.
            NotImplementedError: ONNX Runtime runs the model.
        """
        self._registered("register_input_hook", self._input_hooks, hook)

    def register_output_hook(self, hook):
        """Calls `hook(op, name, tensor)` with each tensor that an operation made; else as `register_input_hook`.

        Raises:
            TypeError: the hook cannot be called.
            NotImplementedError: ONNX Runtime runs the model.

        Examples:
            >>> import os, tempfile
            >>> folder = tempfile.TemporaryDirectory()
            >>> path = os.path.join(folder.name, "net")
            >>> proa.jit.save(proa.nn.ReLU(), path, [proa.static.InputSpec([None, 2], "float32", "x")])
            >>> predictor = proa.inference.create_predictor(proa.inference.Config(path + ".pdmodel", path + ".pdiparams"))
            >>> predictor.register_output_hook(lambda op, name, tensor: print(op, tensor.numpy()))
            >>> _ = predictor.run([np.array([[-1.0, 2.0]], "float32")])
            relu [[0. 2.]]
            >>> folder.cleanup()
        """
        self._registered("register_output_hook", self._output_hooks, hook)

    def clone(self):
        """A predictor of the same model with handles of its own."""
        return type(self)(self._config, (self._engine, self._result_names))

    def _lengths(self, name):
        """The lengths of sequences, by the lod of the input that they are of; None for other inputs."""
        place, level = self._lengths_of.get(name, (None, None))
        if place is None:
            return None
        of = list(self._inputs.values())[place]
        if level >= len(of._lod):
            raise _C.located(
                ValueError(f"Predictor.run: input {of._name!r} is of sequences; set_lod says where they begin and end")
            )
        return _C.to_tensor(np.diff(np.asarray(of._lod[level], "int64")))

    def clear_intermediate_tensor(self):
        """Nothing is kept between runs but inputs and results."""

    def try_shrink_memory(self):
        """Lets go of the results, and gives memory that is not used back to the system; how many bytes."""
        for handle in self._outputs.values():
            handle._value = None
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
        """The predictor of this number; an IndexError if there is none."""
        n = len(self._predictors)
        if not 0 <= operator.index(idx) < n:
            raise _C.located(
                IndexError(f"PredictorPool.retrieve: there is no predictor {idx}; they are numbered 0 to {n - 1}")
            )
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
    return Predictor(config)
