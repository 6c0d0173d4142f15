"""Files of programs as 1.x wrote them, one function for each kind of variable; readers and loaders."""

import os

from proa import _C
from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy
from proa.static import default_main_program, global_scope
from proa.static.binding import value_in

_HOMES = _invert({
    "proa.io": "BatchSampler ComposeDataset Dataset IterableDataset RandomSampler Sampler SequenceSampler TensorDataset",
    "proa.reader": "buffered cache chain compose firstn map_readers shuffle xmap_readers",
    "proa.framework.compat": "batch",
    "proa.static.states": "load load_program_state save set_program_state",
    "proa.fluid.reader": "DataLoader PyReader",
})  # fmt: skip

__getattr__, __dir__ = _lazy(__name__, _HOMES)


def is_persistable(var):
    """Whether a tensor keeps its value between runs."""
    return bool(var.persistable)


def is_parameter(var):
    """Whether a tensor is trained."""
    from proa.framework import Parameter

    return isinstance(var, Parameter)


def get_program_parameter(program):
    """The parameters of a program."""
    return [var for var in program.list_vars() if is_parameter(var)]


def get_program_persistable_vars(program):
    """The tensors of a program that keep their values between runs."""
    return [var for var in program.list_vars() if is_persistable(var)]


def _chosen(main_program, vars, predicate):
    program = default_main_program() if main_program is None else main_program
    program = getattr(program, "_source", program)
    if vars is None:
        return [var for var in program.list_vars() if var.name and (predicate is None or predicate(var))]
    return [program.var(var) if isinstance(var, str) else var for var in vars]


def save_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """Writes tensors of a program into a folder: a file for each, or all into `filename`.

    Args:
        executor: accepted.
        dirname (str): the folder.
        main_program (Program, optional): the default main program unless given.
        vars (list, optional): tensors or names; otherwise those for which `predicate(tensor)` is true.
        filename (str, optional): of one file for all.

    Examples:
        >>> import os, tempfile
        >>> static = proa.static
        >>> folder, main = tempfile.TemporaryDirectory(), static.Program()
        >>> with static.program_guard(main):
        ...     y = static.nn.fc(static.data("x", [None, 2]), 3, weight_attr=proa.ParamAttr(name="weight_of_vars"))
        >>> static.save_vars(static.Executor(), folder.name, main, vars=["weight_of_vars"])
        >>> os.listdir(folder.name)
        ['weight_of_vars']
        >>> folder.cleanup()
    """
    scope = global_scope()
    write({var.name: value_in(scope, var).numpy() for var in _chosen(main_program, vars, predicate)}, dirname, filename)


def write(values, dirname, filename=None):
    """Writes arrays into a folder, by name: a file for each, or all into `filename`."""
    from proa.framework import save

    os.makedirs(dirname or ".", exist_ok=True)
    if filename is not None:
        save(values, os.path.join(dirname or ".", filename))
        return
    for name, value in values.items():
        path = os.path.join(dirname, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        save({name: value}, path)


def load_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """Reads into the tensors of a program what `save_vars` wrote.

    Raises:
        FileNotFoundError: a file is not there.
        ValueError: a tensor is not in the file, or has other dims there.

    Examples:
        >>> import tempfile
        >>> static = proa.static
        >>> folder, main = tempfile.TemporaryDirectory(), static.Program()
        >>> with static.program_guard(main):
        ...     y = static.nn.fc(static.data("x", [None, 2]), 3, weight_attr=proa.ParamAttr(name="weight_to_load"))
        >>> value = static.global_scope().find_var("weight_to_load").get_tensor()
        >>> before = np.array(value)
        >>> static.save_vars(static.Executor(), folder.name, main, vars=["weight_to_load"])
        >>> value.set(np.zeros([2, 3], "float32"))
        >>> static.load_vars(static.Executor(), folder.name, main, vars=["weight_to_load"])
        >>> bool((np.array(value) == before).all())
        True
        >>> folder.cleanup()
    """
    chosen = _chosen(main_program, vars, predicate)
    fill(chosen, read(chosen, dirname, filename))


def read(vars, dirname, filename=None):
    """The arrays of tensors that `write` has written, by name."""
    from proa.framework import load

    together = None if filename is None else load(os.path.join(dirname or ".", filename), return_numpy=True)
    values = {}
    for var in vars:
        held = together if together is not None else load(os.path.join(dirname, var.name), return_numpy=True)
        held = held if isinstance(held, dict) else {var.name: held}  # a file of PaddlePaddle 1.x is a tensor alone
        if var.name not in held:
            raise _C.located(ValueError(f"load_vars: {var.name!r} is not in {filename or var.name}"))
        values[var.name] = held[var.name]
    return values


def fill(vars, values):
    """Sets tensors of a program to arrays, by name."""
    from proa.static.scope import tensor_in_scope

    for var in vars:
        tensor_in_scope(value_in(global_scope(), var)).set(values[var.name])


def save_params(executor, dirname, main_program=None, filename=None):
    """`save_vars` of the parameters."""
    save_vars(executor, dirname, main_program, predicate=is_parameter, filename=filename)


def load_params(executor, dirname, main_program=None, filename=None):
    """`load_vars` of the parameters."""
    load_vars(executor, dirname, main_program, predicate=is_parameter, filename=filename)


def save_persistables(executor, dirname, main_program=None, filename=None):
    """`save_vars` of all tensors that keep their values."""
    save_vars(executor, dirname, main_program, predicate=is_persistable, filename=filename)


def load_persistables(executor, dirname, main_program=None, filename=None):
    """`load_vars` of all tensors that keep their values."""
    load_vars(executor, dirname, main_program, predicate=is_persistable, filename=filename)


def _prefix(dirname, model_filename):
    name = "__model__" if model_filename is None else os.path.splitext(model_filename)[0]
    return os.path.join(dirname, name)


def save_inference_model(dirname, feeded_var_names, target_vars, executor, main_program=None, model_filename=None,
                         params_filename=None, export_for_deployment=True, program_only=False,
                         clip_extra=True, legacy_format=False):  # fmt: skip
    """Writes the part of a program that `target_vars` need, with its parameters, into a folder.

    Args:
        dirname (str): the folder.
        feeded_var_names (list[str]): the inputs.
        target_vars (list[Tensor]): what the model gives.
        executor: accepted.
        main_program (Program, optional): the default main program unless given.
        model_filename (str, optional): the file of the program; __model__.pdmodel unless given.
        params_filename (str, optional): that of the parameters; the name of the program's file, with another ending, unless given.

    Returns:
        list[str]: the names of the targets.
    """
    from proa.static.saving import save_inference_model as write

    program = default_main_program() if main_program is None else getattr(main_program, "_source", main_program)
    names = [feeded_var_names] if isinstance(feeded_var_names, str) else list(feeded_var_names)
    targets = [target_vars] if isinstance(target_vars, _C.Tensor) else list(target_vars)
    os.makedirs(dirname, exist_ok=True)
    prefix = _prefix(dirname, model_filename)
    write(prefix, [program.var(name) for name in names], targets)
    if model_filename is not None and params_filename is not None:
        os.replace(prefix + ".pdiparams", os.path.join(dirname, params_filename))
        os.replace(prefix + ".pdmodel", os.path.join(dirname, model_filename))
    return [target.name for target in targets]


def load_inference_model(dirname, executor, model_filename=None, params_filename=None, pserver_endpoints=None):
    """Reads what `save_inference_model` wrote, here or in PaddlePaddle 1.x.

    Returns:
        list: [program, names of the inputs, targets to fetch].
    """
    from proa.static.saving import load_inference_model as read

    path = _prefix(dirname, model_filename)
    own = model_filename is None or params_filename is None or not os.path.exists(os.path.join(dirname, model_filename))
    if own and os.path.exists(path + ".pdmodel"):
        return read(path, executor)
    return read(dirname, executor, model_filename=model_filename, params_filename=params_filename)
