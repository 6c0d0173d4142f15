"""How the operations of a recorded program are made again in its place; its tensors name the new ones from then on."""

import contextlib

from proa import _C
from proa.framework.size import Size
from proa.static.program import default_main_program
from proa.static.replay import Replay

__all__ = ["begin", "replace", "settings_of"]


@contextlib.contextmanager
def settings_of(number):
    """Calls are cast by the settings of this number; 0 is none."""
    before = _C.amp.exchange(number)
    try:
        yield
    finally:
        _C.amp.exchange(before)


def begin(program, trains, captured=lambda tensor: tensor):
    """(what makes a program again, what it is recorded into, the inputs of that): for `replace`."""
    recorded = _C.Program()
    if not trains:
        recorded.follow_gradients()
    inputs = {}
    for name in program._program.input_names:
        old = program._program.find(name)
        sizes, kind = program._declared.get(name) or ([-1 if isinstance(s, Size) else s for s in old.shape], old.dtype)
        inputs[name] = recorded.add_input(name, sizes, kind)
        inputs[name].name = name
        if name in program._inputs:
            inputs[name].stop_gradient = program._inputs[name].stop_gradient
    return Replay(program._program, inputs, captured), recorded, inputs


def replace(program, replay, recorded, inputs, make):
    """The program has the operations from now on that `make` records; its tensors name them.

    Args:
        program (Program): of which `begin` gave the next three.
        make (Callable): runs the replay, of operations that were not made yet; it may be called again.
    """
    from proa.static import program as programs

    make()
    old, env = program._program, replay.env
    # What is recorded later of tensors from before goes into the program that they are of; it is made again when it is wanted.
    program._replaced.append((old, env, make))
    program._levels = {_same_rows(rows, old, env): [env[old.value_number(t)] for t in lengths]
                       for rows, lengths in program._levels.items()}  # fmt: skip
    program._program, program._inputs = recorded, {name: inputs[name] for name in program._inputs}
    program._guarded, program._unmixed = [], []
    program._bound.clear()
    if program is default_main_program():
        programs._apply()


def _same_rows(rows, old, env):
    """The key of a number of rows (proa.static.sequences) among the new values."""
    if isinstance(rows, tuple):
        return "value", _C.program_of(env[rows[1]]).value_number(env[rows[1]])
    for number, tensor in env.items():
        value = old.value(number)
        if value.ndim and _C.is_symbolic(value) and _C.dim_name(value, 0) == rows:
            return _C.dim_name(tensor, 0)
    return rows
