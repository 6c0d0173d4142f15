"""Files of static programs: inference models."""

import os

from proa import _C
from proa.static import scope as scopes
from proa.static.binding import copied
from proa.static.executor import LoadedProgram
from proa.static.sequences import lengths_name, levels_of


def save_inference_model(path_prefix, feed_vars, fetch_vars, executor=None, **kwargs):
    """Writes the part of the program that `fetch_vars` need; the same files as `jit.save`, as one.

    The model is as in a test: dropout passes everything on, batch normalization uses its running statistics.

    Args:
        path_prefix (str): of `.pdmodel` and `.pdiparams`.
        feed_vars (Tensor|list): inputs of the program.
        fetch_vars (Tensor|list): what the model gives.
        program (Program, optional): whose; that of `fetch_vars`. One in mixed precision (`static.amp`) is written with its casts,
            its `clone` from before without.
        format (str, optional): "proa", or "paddle" for files that PaddlePaddle reads, as of `jit.save`.

    Raises:
        ValueError: an unknown format.
        NotImplementedError: operations that PaddlePaddle's format cannot say, with the lines that made them.

    Examples:
        >>> import os, tempfile
        >>> static, main, folder = proa.static, proa.static.Program(), tempfile.TemporaryDirectory()
        >>> with static.program_guard(main):
        ...     x = static.data("x", [None, 2])
        ...     y = static.nn.fc(x, 3)
        >>> executor = static.Executor()
        >>> static.save_inference_model(os.path.join(folder.name, "net"), [x], [y], executor, program=main)
        >>> sorted(os.listdir(folder.name))
        ['net.pdiparams', 'net.pdmodel']
        >>> folder.cleanup()
    """
    from proa.jit import reference

    wanted = reference.check_format("static.save_inference_model", kwargs.get("format", "proa"))
    as_list = lambda value: list(value) if isinstance(value, (list, tuple)) else [value]
    feeds, fetches = as_list(feed_vars), as_list(fetch_vars)
    folder = os.path.dirname(path_prefix)
    if folder:
        os.makedirs(folder, exist_ok=True)
    if "program" in kwargs or _C.is_symbolic(fetches[0]):
        # Of a program in mixed precision (static.amp) the tensors from before name what it is now.
        owner = kwargs.get("program") or next((p for p in list(scopes.programs) if p.owns(fetches[0])), None)
        owner = getattr(owner, "_source", owner)
        fetches = fetches if owner is None else [owner.current(t) for t in fetches]
    recorded = owner._program if kwargs.get("program") else _C.program_of(fetches[0])
    program = _in_scope(recorded)
    sequences = [] if wanted == "paddle" else _lengths_given(program, recorded, fetches)
    outputs = _result_names([t.name for t in fetches], program)
    fetches = [program.value(recorded.value_number(t)) for t in fetches]
    for tensor in fetches:  # new handles of what leads gradients where it was recorded
        tensor.stop_gradient = not tensor.is_floating_point()
    names = [name for t in feeds for name in (t.name, *_lengths_of(program, t.name))]
    trainable = [name for name, tensor in program.captured if name and not tensor.stop_gradient]
    if wanted == "paddle":
        reference.save("static.save_inference_model", path_prefix, program, names, fetches, trainable, for_test=True)
        return
    outputs += [t.name for t in sequences]
    _C.save_program(
        os.fsencode(path_prefix),
        program,
        names,
        fetches + sequences,
        outputs,
        trainable=trainable,
        for_test=True,
    )


def _result_names(names, program):
    """What the results are called: as the variables are, but a name stands for one result and for nothing else."""
    taken = {*program.input_names, *(name for name, _ in program.captured)}
    found = []
    for place, name in enumerate(names):
        found.append(name if name not in taken else f"output_{place}")
        taken.add(found[-1])
    return found


def _in_scope(recorded):
    """A copy of the program as the scope of now has it; its parameters have their names, by which it is trained further."""
    owned = any(program._program is recorded for program in list(scopes.programs))
    return copied(recorded, scopes.global_scope() if owned else scopes.Scope())


def _lengths_given(program, recorded, fetches):
    """The lengths of the sequences in results, which are results after the others, named by the place of theirs."""
    found = []
    for place, tensor in enumerate(fetches):
        for level, lengths in enumerate(levels_of(tensor)):
            value = _C.ops.assign(program.value(recorded.value_number(lengths)))
            value.name = lengths_name(f"fetch_{place}", level)
            found.append(value)
    return found


def _lengths_of(program, name):
    """The inputs for the lengths of sequences in an input, which are fed with it."""
    inputs, number = set(program.input_names), 0
    while lengths_name(name, number) in inputs:
        yield lengths_name(name, number)
        number += 1


def _loaded(path, model, params):
    if model is None and params is None:
        return _C.load_program(os.fsencode(path))
    files = (os.path.join(path, model or "__model__"), os.path.join(path, params) if params else "")
    return _C.load_program(*map(os.fsencode, files))


def load_inference_model(path_prefix, executor=None, **kwargs):
    """Loads a model, one of PaddlePaddle 1.x and 2.x too: `docs/programs.md` lists the ops that it may have.

    Args:
        path_prefix (str): of `.pdmodel` and `.pdiparams`; or a folder with `__model__`.
        executor: accepted.
        model_filename (str, optional): the file of the program in the folder `path_prefix`.
        params_filename (str, optional): that of the parameters; without it each has a file of its own.

    Raises:
        NotImplementedError: the program has ops that are not known; the message lists all of them with their attributes.

    Returns:
        list: [program, names of the inputs, targets to fetch], as Executor.run takes them.

    Examples:
        >>> import os, tempfile
        >>> static, main, folder = proa.static, proa.static.Program(), tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "net")
        >>> with static.program_guard(main):
        ...     x = static.data("x", [None, 2])
        ...     static.save_inference_model(path, [x], [x * 2.0], static.Executor())
        >>> program, names, targets = static.load_inference_model(path, static.Executor())
        >>> feed = {names[0]: np.array([[1.0, 2.0]], "float32")}
        >>> static.Executor().run(program, feed=feed, fetch_list=targets)[0].tolist()
        [[2.0, 4.0]]
        >>> folder.cleanup()
    """
    program = LoadedProgram(
        _loaded(os.fspath(path_prefix), kwargs.get("model_filename"), kwargs.get("params_filename"))
    )
    names = program._module.input_names
    lengths = {lengths_name(name, number) for name in names for number in range(len(names))}
    return [program, [name for name in names if name not in lengths], program.fetch_targets()]
