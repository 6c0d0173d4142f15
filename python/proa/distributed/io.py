"""Files of static programs that several workers train, as `proa.static` writes those of one.

What workers divide among them (stages of a pipeline, states under `strategy.sharding`, layers that are tensor parallel) is collected first, so that all workers call
`save_persistables` together; the first one writes. Files are those of one process: any number of workers reads them.
"""

from proa import _C
from proa.fluid import io as _io
from proa.fluid.io import is_persistable

__all__ = ["is_persistable", "load_inference_model_distributed", "load_persistables", "save_persistables"]


def collect(program):
    """Gives this worker the parameters of all stages of a program that is trained as a pipeline."""
    from proa.static import default_main_program, global_scope

    program = default_main_program() if program is None else program
    if getattr(program, "_pipeline", None) is not None:
        program._pipeline.gather(global_scope())


def _program(what, program):
    from proa import static

    program = static.default_main_program() if program is None else program
    program = getattr(program, "_source", program)
    if not isinstance(program, static.Program):
        raise _C.located(TypeError(f"{what}: main_program must be a Program, not {type(program).__name__}"))
    return program


def _kept(program):
    """(the tensors of a program that keep their values, who divides their states among workers or None)."""
    divided = getattr(program, "_divided", None)
    kept = [var for var in program.list_vars() if var.name and is_persistable(var)]
    return [var for var in kept if divided is None or not divided.is_part(var.name)], divided


def whole_values(what, program):
    """{name: array} of what a program keeps; workers that divide it call this together."""
    from proa.static import global_scope
    from proa.static.binding import value_in

    program = _program(what, program)
    collect(program)
    (kept, divided), found = _kept(program), {}
    for var in sorted(kept, key=lambda var: var.name):
        value = value_in(global_scope(), var).detach()
        shape = None if divided is None else divided.shape_of(var.name, value.size)
        found[var.name] = (value if shape is None else divided.whole(value, var.name)).numpy()
    return found


def save_persistables(executor, dirname, main_program=None, filename=None):
    """Writes all tensors of a program that keep their values: parameters, buffers, states of its optimizer.

    All workers call it; the first one writes, and no worker goes on before the files are there.

    Args:
        executor (Executor): accepted.
        dirname (str): the folder, which all workers that load see.
        main_program (Program, optional): the default main program unless given.
        filename (str, optional): of one file for all; otherwise a file for each.

    Examples:
        >>> import os, tempfile
        >>> static = proa.static
        >>> folder, main = tempfile.TemporaryDirectory(), static.Program()
        >>> with static.program_guard(main):
        ...     y = static.nn.fc(static.data("x", [None, 2]), 3, weight_attr=proa.ParamAttr(name="weight_of_ranks"))
        >>> proa.distributed.io.save_persistables(static.Executor(), folder.name, main, "all")
        >>> os.listdir(folder.name)
        ['all']
        >>> folder.cleanup()
    """
    from proa.distributed import collective, groups

    values = whole_values("save_persistables", main_program)
    try:
        if groups.rank() == 0:
            _io.write(values, dirname, filename)
    finally:
        if groups.context().job is not None:
            collective.barrier()


def load_persistables(executor, dirname, main_program=None, filename=None):
    """Reads into the tensors of a program what `save_persistables` wrote, on each worker that calls it.

    Raises:
        FileNotFoundError: a file is not there.
        ValueError: a tensor is not in the file, or has other dims there.

    Examples:
        >>> import tempfile
        >>> static = proa.static
        >>> folder, main = tempfile.TemporaryDirectory(), static.Program()
        >>> with static.program_guard(main):
        ...     y = static.nn.fc(static.data("x", [None, 2]), 3, weight_attr=proa.ParamAttr(name="weight_back"))
        >>> value = static.global_scope().find_var("weight_back").get_tensor()
        >>> before = np.array(value)
        >>> proa.distributed.io.save_persistables(static.Executor(), folder.name, main)
        >>> value.set(np.zeros([2, 3], "float32"))
        >>> proa.distributed.io.load_persistables(static.Executor(), folder.name, main)
        >>> bool((np.array(value) == before).all())
        True
        >>> folder.cleanup()
    """
    kept, divided = _kept(_program("load_persistables", main_program))
    values = _io.read(kept, dirname, filename)
    for var in kept if divided is not None else ():
        if divided.shape_of(var.name, var.size) is not None:
            values[var.name] = divided.part(_C.to_tensor(values[var.name]), var.name).numpy()
    _io.fill(kept, values)


def load_inference_model_distributed(dirname, executor, model_filename=None, params_filename=None):
    """Reads what `save_inference_model` wrote into a folder, on each worker that calls it.

    Args:
        dirname (str): the folder.
        executor (Executor): accepted.
        model_filename (str, optional): of the program.
        params_filename (str, optional): of the parameters.

    Returns:
        list: the program, the names of its inputs, its outputs.

    Raises:
        FileNotFoundError: a file is not there.

    Examples:
        >>> import tempfile
        >>> fleet, static = proa.distributed.fleet, proa.static
        >>> fleet.init(is_collective=True)
        >>> folder, main = tempfile.TemporaryDirectory(), static.Program()
        >>> with static.program_guard(main):
        ...     y = static.nn.fc(static.data("x", [None, 2]), 3)
        >>> fleet.save_inference_model(static.Executor(), folder.name, ["x"], [y], main)
        >>> _, names, outputs = proa.distributed.io.load_inference_model_distributed(folder.name, static.Executor())
        >>> names, len(outputs)
        (['x'], 1)
        >>> folder.cleanup()
    """
    return _io.load_inference_model(dirname, executor, model_filename, params_filename)
