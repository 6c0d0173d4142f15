"""Files of programs that are trained: parameters (.pdparams), states of optimizers (.pdopt), the program (.pdmodel)."""

import contextlib
import os

from proa import _C
from proa.static.executor import LoadedProgram
from proa.static.program import Program

__all__ = [
    "deserialize_persistables",
    "deserialize_program",
    "load",
    "load_from_file",
    "load_program_state",
    "normalize_program",
    "save",
    "save_to_file",
    "serialize_persistables",
    "serialize_program",
    "set_program_state",
]


# Whoever names one of the files means all of them.
_ENDINGS = (".pdparams", ".pdopt", ".pdmodel")


def _checked(what, program):
    program = getattr(program, "_source", program)
    if not isinstance(program, Program):
        raise _C.located(TypeError(f"{what}: program must be a Program, not {type(program).__name__}"))
    return program


def save(program, model_path, protocol=4, **configs):
    """Writes the parameters of a program into `model_path`.pdparams, other tensors that it keeps into .pdopt.

    Whatever happens to this process, `load` finds both files as they were or both new.

    Args:
        program (Program): it.
        model_path (str): folder and first part of the names.
        protocol (int): of the pickles that format="paddle" writes; otherwise accepted.
        format (str, optional): "proa", or "paddle" for files that PaddlePaddle reads: both sets of tensors as pickles of arrays,
            and `model_path`.pdmodel, the whole program, with the gradients and the steps of optimizers in it, which
            `deserialize_program(load_from_file(...))` gives, here and there.

    Raises:
        NotImplementedError: format="paddle", and the program has operations that PaddlePaddle's format cannot say; the
            message has all of them, with the lines that made them.

    Examples:
        >>> import tempfile
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     y = proa.static.nn.fc(proa.static.data("x", [None, 2]), 3)
        >>> folder = tempfile.mkdtemp()
        >>> proa.static.save(main, folder + "/model")
        >>> sorted(proa.static.load_program_state(folder + "/model")) == sorted(main.state_dict())
        True
    """
    from proa.framework import serialization
    from proa.jit import reference

    program = _checked("save", program)
    if not os.path.basename(model_path):
        raise _C.located(ValueError(f"save: model_path must end in the first part of a file name, not {model_path!r}"))
    wanted = reference.check_format("static.save", configs.get("format", "proa"))
    states = {ending: program.state_dict(mode) for mode, ending in (("param", ".pdparams"), ("opt", ".pdopt"))}
    if wanted == "paddle":
        _save_for_paddle(program, model_path, states, protocol)
        return
    serialization.save_together(
        {model_path + e: {name: tensor.numpy() for name, tensor in state.items()} for e, state in states.items()}
    )


def _save_for_paddle(program, model_path, states, protocol):
    import pickle

    from proa.jit.reference.convert import elements
    from proa.static import whole

    contents = {".pdmodel": whole.written("static.save", program)}
    for ending, state in states.items():
        arrays = {name: elements(tensor) for name, tensor in state.items()}
        contents[ending] = pickle.dumps(arrays, protocol=protocol)
    files = [(_C.AtomicFile(os.fsencode(model_path + ending)), content) for ending, content in contents.items()]
    with contextlib.ExitStack() as opened:
        for file, content in files:
            opened.enter_context(file).write(content)
        for file, _ in files:
            file.commit()


def load_program_state(model_path, var_list=None):
    """The values that `save` wrote, as a dict of arrays.

    Args:
        model_path (str): as `save` had it, or with .pdparams, .pdopt or .pdmodel; or an inference model, or a folder with a file for each
            tensor, as `fluid.io.save_params` writes. Files of such a folder that hold no tensor are named by a warning.
        var_list (list, optional): only tensors of these names.

    Examples:
        >>> import os, tempfile
        >>> static, main, folder = proa.static, proa.static.Program(), tempfile.TemporaryDirectory()
        >>> with static.program_guard(main):
        ...     y = static.nn.fc(static.data("x", [None, 2]), 3, weight_attr=proa.ParamAttr(name="weight_of_state"))
        >>> static.save(main, os.path.join(folder.name, "net"))
        >>> static.load_program_state(os.path.join(folder.name, "net"), ["weight_of_state"])["weight_of_state"].shape
        (2, 3)
        >>> folder.cleanup()
    """
    from proa.framework import serialization

    base = next((model_path.removesuffix(e) for e in _ENDINGS if model_path.endswith(e)), model_path)
    state = {}
    if os.path.exists(base + ".pdparams"):
        for values in serialization.load_together([base + ".pdparams", base + ".pdopt"], return_numpy=True):
            state.update(values or {})
    elif os.path.isdir(base):
        state = serialization.load(base, return_numpy=True)
    elif os.path.exists(base + ".pdmodel"):
        state = {name: tensor.numpy() for name, tensor in _C.load_program(os.fsencode(base)).captured if name}
    else:
        raise _C.located(FileNotFoundError(f"load_program_state: there is no {base}.pdparams"))
    state.pop("StructuredToParameterName@@", None)
    if var_list is not None:
        wanted = {tensor if isinstance(tensor, str) else tensor.name for tensor in var_list}
        state = {name: value for name, value in state.items() if name in wanted}
    return state


def set_program_state(program, state_dict):
    """Gives the tensors of a program the values of the same names; says which had none.

    Raises:
        ValueError: a value has other dims.

    Examples:
        >>> static, main = proa.static, proa.static.Program()
        >>> with static.program_guard(main):
        ...     y = static.nn.fc(static.data("x", [None, 2]), 1, weight_attr=proa.ParamAttr(name="weight_to_set"))
        >>> static.set_program_state(main, {"weight_to_set": np.array([[5.0], [6.0]], "float32")})
        >>> np.array(static.global_scope().find_var("weight_to_set").get_tensor()).tolist()
        [[5.0], [6.0]]
    """
    import warnings

    program = _checked("set_program_state", program)
    unused = set(state_dict) - set(program.state_dict())
    program.set_state_dict(state_dict)
    if unused:
        warnings.warn(
            f"set_program_state: the program has no tensors of these names: {', '.join(sorted(unused))}", stacklevel=2
        )


def load(program, model_path, executor=None, var_list=None):
    """Reads into a program what `save` wrote.

    Raises:
        FileNotFoundError: there is no `model_path`.pdparams.
        ValueError: a parameter of the program is not in the file, or has other dims there.

    Examples:
        >>> import os, tempfile
        >>> static, main, folder = proa.static, proa.static.Program(), tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "net")
        >>> with static.program_guard(main):
        ...     y = static.nn.fc(static.data("x", [None, 2]), 1, weight_attr=proa.ParamAttr(name="weight_of_net"))
        >>> static.save(main, path)
        >>> weight = static.global_scope().find_var("weight_of_net").get_tensor()
        >>> saved = np.array(weight)
        >>> weight.set(np.zeros([2, 1], "float32"))
        >>> static.load(main, path)
        >>> bool((np.array(weight) == saved).all())
        True
        >>> folder.cleanup()
    """
    program = _checked("load", program)
    state = load_program_state(model_path, var_list)
    missing = [] if var_list is not None else [n for n in program.state_dict("param") if n not in state]
    if missing:
        raise _C.located(ValueError(f"load: parameter {missing[0]!r} of the program is not in {model_path}.pdparams"))
    program.set_state_dict(state)


def save_to_file(path, content):
    """Writes bytes into a file, which changes as a whole (see `proa.save`).

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "bytes")
        >>> proa.static.save_to_file(path, b"abc")
        >>> proa.static.load_from_file(path)
        b'abc'
        >>> folder.cleanup()
    """
    if not isinstance(content, bytes):
        raise _C.located(ValueError(f"save_to_file: content must be bytes, not {type(content).__name__}"))
    with _C.AtomicFile(os.fsencode(path)) as file:
        file.write(content)
        file.commit()


def load_from_file(path):
    """The bytes in a file.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "bytes")
        >>> proa.static.save_to_file(path, b"abc")
        >>> proa.static.load_from_file(path)
        b'abc'
        >>> folder.cleanup()
    """
    with open(os.fspath(path), "rb") as file:  # not what has a number among open files
        return file.read()


def normalize_program(program, feed_vars, fetch_vars, **kwargs):
    """A copy of the program for inference: the operations that what is fetched needs, as in a test; nothing is updated.

    Parameters are shared. Prints and assertions stay, but for those of inputs that are not among `feed_vars`.

    Args:
        program (Program): it, which stays as it is.
        feed_vars (Tensor|list): inputs of the program.
        fetch_vars (Tensor|list): its values.

    Raises:
        TypeError: no program, or no tensors.
        ValueError: a tensor is not of this program, or one of feed_vars is no input of it.

    Examples:
        >>> static, main = proa.static, proa.static.Program()
        >>> with static.program_guard(main):
        ...     x = static.data("x", [None, 2])
        ...     y = proa.nn.functional.dropout(x + 1.0, 0.5)
        >>> test = static.normalize_program(main, [x], [y])
        >>> static.Executor().run(test, feed={"x": np.zeros([1, 2], "float32")}, fetch_list=[y])[0].tolist()
        [[1.0, 1.0]]
    """
    program = _checked("normalize_program", program)
    origins = [program]
    while origins[-1]._copied_from is not None:  # whose tensors name those of the copy
        origins.append(origins[-1]._copied_from)
    for what, given in (("feed_vars", feed_vars), ("fetch_vars", fetch_vars)):
        for tensor in _as_list(given):
            if not isinstance(tensor, _C.Tensor):
                raise _C.located(
                    TypeError(f"normalize_program: {what} must be tensors of the program, not {type(tensor).__name__}")
                )
            if what == "feed_vars" and tensor.name not in program._program.input_names:
                raise _C.located(
                    ValueError(
                        f"normalize_program: {tensor.name!r} of feed_vars is no input of the program; see static.data"
                    )
                )
            if not any(p.owns(tensor) for p in origins):
                raise _C.located(
                    ValueError(
                        f"normalize_program: {what} has a tensor ({tensor.name!r}) that is no value of this program"
                    )
                )
    test = program.clone(for_test=True)
    test._prints = []
    test._program.prune(*([test.current(t) for t in _as_list(given)] for given in (fetch_vars, feed_vars)))
    return test


def _as_list(given):
    return given if isinstance(given, (list, tuple)) else [given]


def _bytes_of(feed_vars, fetch_vars, ending):
    import tempfile

    from proa.static.saving import save_inference_model

    with tempfile.TemporaryDirectory() as folder:
        save_inference_model(folder + "/model", feed_vars, fetch_vars)
        return load_from_file(folder + "/model" + ending)


def serialize_program(feed_vars, fetch_vars, **kwargs):
    """The bytes of the .pdmodel that `save_inference_model` writes.

    Examples:
        >>> static = proa.static
        >>> with static.program_guard(static.Program()):
        ...     x = static.data("x", [None, 2])
        ...     data = static.serialize_program([x], [static.nn.fc(x, 3)])
        >>> type(data), len(data) > 0
        (<class 'bytes'>, True)
    """
    return _bytes_of(feed_vars, fetch_vars, ".pdmodel")


def serialize_persistables(feed_vars, fetch_vars, executor=None, **kwargs):
    """The bytes of the .pdiparams that `save_inference_model` writes.

    Examples:
        >>> static = proa.static
        >>> with static.program_guard(static.Program()):
        ...     x = static.data("x", [None, 2])
        ...     data = static.serialize_persistables([x], [static.nn.fc(x, 3)])
        >>> type(data), len(data) >= 4 * (2 * 3 + 3)  # float32
        (<class 'bytes'>, True)
    """
    return _bytes_of(feed_vars, fetch_vars, ".pdiparams")


class _Bytes(LoadedProgram):
    """A program without its parameters, as `deserialize_program` gives it, until `deserialize_persistables` gives them."""

    def __init__(self, data):
        Program.__init__(self)
        self.data, self._module = data, None

    def run(self, feed, fetch_list, return_numpy):
        self._need_parameters()
        return super().run(feed, fetch_list, return_numpy)

    def fetch_targets(self):
        self._need_parameters()
        return super().fetch_targets()

    def _need_parameters(self):
        if self._module is None:
            raise _C.located(
                RuntimeError(
                    "the program has no parameters yet; call static.deserialize_persistables(program, data, executor)"
                )
            )

    def fill(self, module):
        LoadedProgram.__init__(self, module)


def deserialize_program(data):
    """A program from the bytes of `serialize_program`; `deserialize_persistables` gives it its parameters.

    Also one as it was built, from the .pdmodel of `save` with format="paddle" or of PaddlePaddle 1.x and 2.x: it is run, fetched
    from by names and trained; its parameters are those of the scope of now, or zeros until `load`.

    Raises:
        TypeError: for what is no bytes.
        ValueError: PaddlePaddle's, but no program.
        NotImplementedError: it has ops that are not known; the message lists all of them with their attributes.

    Examples:
        >>> static = proa.static
        >>> with static.program_guard(static.Program()):
        ...     x = static.data("x", [None, 2])
        ...     y = x * 2.0
        ...     texts = static.serialize_program([x], [y]), static.serialize_persistables([x], [y])
        >>> program = static.deserialize_persistables(static.deserialize_program(texts[0]), texts[1])
        >>> static.Executor().run(program, feed={"x": np.ones([1, 2], "float32")}, fetch_list=program.fetch_targets())
        [array([[2., 2.]], dtype=float32)]
    """
    if not isinstance(data, bytes):
        raise _C.located(TypeError(f"deserialize_program: data must be bytes, not {type(data).__name__}"))
    if data[:1] == b"\n":  # PaddlePaddle's, not ours
        from proa.static import whole

        found = whole.read(data)
        if found is not None:
            return found
    return _Bytes(data)


def deserialize_persistables(program, data, executor=None):
    """Gives a program the parameters of `serialize_persistables`: it runs then as that of `load_inference_model`.

    Returns:
        Program: the same.

    Examples:
        >>> static = proa.static
        >>> with static.program_guard(static.Program()):
        ...     x = static.data("x", [None, 2])
        ...     y = static.nn.fc(x, 3, weight_attr=proa.nn.initializer.Constant(1.0))
        ...     texts = static.serialize_program([x], [y]), static.serialize_persistables([x], [y])
        >>> program = static.deserialize_persistables(static.deserialize_program(texts[0]), texts[1])
        >>> static.Executor().run(program, feed={"x": np.ones([1, 2], "float32")}, fetch_list=program.fetch_targets())
        [array([[2., 2., 2.]], dtype=float32)]
    """
    if not isinstance(program, _Bytes) or not isinstance(data, bytes):
        raise _C.located(TypeError("deserialize_persistables: give what deserialize_program returned, and bytes"))
    program.fill(_C.parse_program_files(program.data, data))
    return program
