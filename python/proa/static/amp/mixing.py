"""Recorded programs made again in mixed precision: by the interpreter that casts eager calls, one operation after another."""

from proa import _C
from proa.framework.dtype import as_dtype
from proa.static import scope as scopes
from proa.static.amp.lists import AutoMixedPrecisionLists
from proa.static.remaking import begin, replace, settings_of

__all__ = ["cast_captured", "mix", "remake"]


def checked_level(where, level):
    """A level that there is."""
    if level not in ("O0", "O1", "O2"):
        raise _C.located(ValueError(f"{where}: level must be 'O0', 'O1' or 'O2', not {level!r}"))
    return level


def checked_dtype(where, dtype):
    """The name of a 16-bit dtype."""
    kind = as_dtype(dtype)
    if kind not in (_C.float16, _C.bfloat16):
        raise _C.located(ValueError(f"{where}: dtype must be 'float16' or 'bfloat16', not {dtype!r}"))
    return kind.name


def checked_lists(where, lists):
    """The lists, or empty ones."""
    lists = AutoMixedPrecisionLists() if lists is None else lists
    if not isinstance(lists, AutoMixedPrecisionLists):
        raise _C.located(
            TypeError(
                f"{where}: amp_lists must be AutoMixedPrecisionLists or CustomOpLists, not {type(lists).__name__}"
            )
        )
    return lists


class _Choice:
    """For each call of a program what it is made again in."""

    def __init__(self, number, black, guards, unmixed):
        self._number, self._guards, self._black, self._unmixed = number, guards, black, unmixed

    def __call__(self, at, call):
        guarded = self._guards is None or any(first <= at < end for first, end in self._guards)
        guarded = guarded and not any(first <= at < end for first, end in self._unmixed)
        return settings_of(self._number) if guarded and self._black.isdisjoint(call.values()) else None


def mix(program, dtype, level, lists=None, use_guard=None, trains=False, replaced=None):
    """Makes the operations of a program again in mixed precision, in their place.

    Parameters stay what they are, float32: their casts are operations of the program. Tensors of the program name what
    they named: `Executor.run` finds what was made of them.

    Args:
        program (Program): recorded in float32, without gradients and updates.
        dtype (str): "float16" or "bfloat16".
        level (str): "O1" or "O2".
        lists (AutoMixedPrecisionLists, optional): see there.
        use_guard (bool, optional): only what was recorded inside of `fp16_guard`; None: if there is such a part.
        trains (bool): gradients of the program follow, and no further mixing.
        replaced (dict, optional): as of `remake`.

    Raises:
        RuntimeError: the program is in mixed precision already, or has updates of parameters.
    """
    if program._mixed is not None:
        raise _C.located(
            RuntimeError(f"static.amp: the program is in mixed precision already ({program._mixed}); decorate it once")
        )
    lists = checked_lists("static.amp", lists)
    number = lists.settings(dtype, level) if level != "O0" else 0
    guards = program._guarded if use_guard or (use_guard is None and program._guarded) else None
    replay, recorded, inputs = begin(program, trains)
    _refuse_updates(replay)
    replay.replaced = replaced or {}
    black = {program._program.value_number(t) for t in _named(program, lists.black_varnames)}
    black |= {n for n, t in replay.env.items() if t.name in lists.black_varnames}
    _finish(program, replay, recorded, inputs, _Choice(number, black, guards, list(program._unmixed)))
    program._mixed = f"{level} {dtype}"


def cast_captured(program, chosen, dtype):
    """Puts 16-bit tensors of the same names in the place of float32 ones that a program captures; gives them by name.

    Args:
        program (Program): made again.
        chosen (Callable): tensor -> whether to cast it.
        dtype (DType): of the new ones.
    """
    made = {}

    def converted(tensor):
        if tensor.dtype != _C.float32 or not chosen(tensor):
            return tensor
        if tensor.name not in made:
            from proa.amp.decoration import converted_like

            made[tensor.name] = converted_like(tensor, dtype)
        return made[tensor.name]

    replay, recorded, inputs = begin(program, False, converted)
    _finish(program, replay, recorded, inputs, lambda at, call: settings_of(0))
    held = scopes.global_scope()._tensors
    held.update((name, tensor) for name, tensor in made.items() if name in held)
    return made


def remake(program, replaced):
    """Makes the operations of a program again, in their place, some of them by functions. Without such operations it stays.

    Args:
        program (Program): without gradients and updates.
        replaced (dict): by the names of ops, functions that take their arguments and give their results.

    Raises:
        RuntimeError: the program has updates of parameters.
    """
    replay, recorded, inputs = begin(program, False)
    if not any(call.op in replaced for call in _all_calls(replay.calls)):
        return
    _refuse_updates(replay)
    replay.replaced = replaced
    _finish(program, replay, recorded, inputs, lambda at, call: settings_of(0))


def _all_calls(calls):
    """They, and those in their regions."""
    for call in calls:
        yield call
        for region in call.regions:
            yield from _all_calls(region.calls)


def _finish(program, replay, recorded, inputs, context):
    def make():
        with recorded.recording():
            replay.run(context)

    replace(program, replay, recorded, inputs, make)


def _named(program, names):
    return [t for t in map(program._program.find, names) if t is not None]


def _refuse_updates(replay):
    for call in replay.calls:
        changed = call.args[0] if call.args and call.op.endswith("_") else []
        for number in changed if isinstance(changed, list) else [changed]:
            if not replay.env.get(number, _STOPPED).stop_gradient:
                raise _C.located(
                    RuntimeError(
                        f"the program updates {replay.env[number].name} by {call.op} already; decorate the "
                        "optimizer before its minimize"
                    )
                )


class _STOPPED:
    stop_gradient = True
