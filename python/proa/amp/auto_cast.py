"""`auto_cast`: op calls in a 16-bit floating point type where that is faster and safe."""

import collections
import contextlib
import functools
import warnings

from proa import _C

__all__ = ["amp_guard", "amp_state", "auto_cast", "settings_of"]


def _ops(what, names):
    """The names of ops in a list of the user, sorted."""
    if names is None:
        return []
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise _C.located(TypeError(f"auto_cast: {what} must be a list, set or tuple of names of ops, not {names!r}"))
    return sorted(set(names))


def settings_of(dtype, level, white, black):
    """The number of the settings of autocast for `_C.amp.exchange`.

    Args:
        dtype (str|DType): a 16-bit type.
        level (str): "O1" or "O2".
        white, black (Iterable[str]): names of ops.
    """
    if not isinstance(dtype, (str, _C.DType)):
        return _C.amp.settings(dtype, False, [], [])  # which says what is wrong
    return _number(dtype, level == "O2", tuple(sorted(white)), tuple(sorted(black)))


@functools.lru_cache(maxsize=1024)  # as many as there are
def _number(dtype, o2, white, black):
    return _C.amp.settings(dtype, o2, _here(white), _here(black))


def _here(names):
    """Names of ops as they are called here; of the reference's ops that are no single op here, those that do their work."""
    if _known().issuperset(names):
        return list(names)
    calls, found = _reference_calls(), set()
    for name in names:
        if name in _known() or name not in calls:
            found.add(name)
            continue
        found |= calls[name]
        if not calls[name]:
            warnings.warn(
                f"auto_cast: {name} is made of ops for everything here (elementwise ones, sums, views), which go by their own classes: "
                "naming it does nothing",
                stacklevel=6,
            )
    return sorted(found)


# An op that rules of more types call is one for everything: to name it would move others too.
_MOST_TYPES = 6


@functools.cache
def _reference_calls():
    """Of each of the reference's ops the ops here that do its work: what its rule calls, but elementwise ops, views, reductions
    and what the rules of many others call too."""
    working = {op["name"] for op in _C.op_registry() if op["fuse"] in ("none", "matmul")}
    rules = {**dict.fromkeys(_C.reference_op_types(), ()), **_C.reference_op_calls()}
    calls = {name: working.intersection(called) for name, called in rules.items()}
    types = collections.Counter(op for called in calls.values() for op in called)
    return {name: {op for op in called if types[op] <= _MOST_TYPES} for name, called in calls.items()}


@functools.cache
def _known():
    """Names that an op has here or by its schema."""
    from proa._generated.aliases import NAMES

    return NAMES.keys() | {op["name"] for op in _C.op_registry()}


@functools.cache
def _say_that_float16_is_slow():
    """Once in a process, where the CPU has no arithmetic of float16."""
    from proa.utils import environment

    if not environment.has_cpu_flag("avx512_fp16"):
        warnings.warn(
            "auto_cast: this CPU has no float16 arithmetic, so float16 is computed through float32, which is right but "
            'slow; dtype="bfloat16" is the 16-bit type of CPUs',
            stacklevel=4,
        )


@contextlib.contextmanager
def auto_cast(enable=True, custom_white_list=None, custom_black_list=None, level="O1", dtype="float16"):
    """Inside of the context (or a function decorated with it) ops compute in a 16-bit type where that is faster and safe.

    Matrix products and convolutions cast their float32 arguments to `dtype`; ops whose results would suffer (sums,
    softmax, losses, normalization, exponentials) cast 16-bit arguments to float32; ops of several arguments of
    different dtypes compute in float32. Gradients have the dtypes of what they are gradients of. Changes in place keep
    their dtype. A parameter is cast once and not at each use, until it changes or the outermost context ends. Settings are
    those of the thread, and a recorded program keeps the casts that it was recorded with.

    Args:
        enable (bool): False switches it off inside of the context.
        custom_white_list (list[str]|set[str], optional): ops to be computed in `dtype` as well, by the
                name that they have here or in the reference (`matmul`, `matmul_v2`; `pool2d` is four ops here).
        custom_black_list (list[str]|set[str], optional): ops to be computed in float32.
        level (str): "O1" as said; "O2": all ops compute in `dtype` but those whose results would suffer; "O0": off.
        dtype (str|DType): "float16" or "bfloat16". On a CPU bfloat16 is the fast one.

    Raises:
        ValueError: for another level or dtype, an op in both lists, or a name that no op has.
        TypeError: for a list that is none of names.

    Examples:
        >>> x = proa.ones([2, 3])
        >>> with proa.amp.auto_cast(dtype="bfloat16"):
        ...     y = proa.matmul(x, x, transpose_y=True)
        ...     print(y.dtype, y.sum().dtype)
        proa.bfloat16 proa.float32
    """
    if level not in ("O0", "O1", "O2"):
        raise _C.located(ValueError(f"auto_cast: level must be 'O0', 'O1' or 'O2', not {level!r}"))
    white, black = _ops("custom_white_list", custom_white_list), _ops("custom_black_list", custom_black_list)
    settings = settings_of(dtype, level, white, black)
    on = bool(enable) and level != "O0"
    if on and "bfloat16" not in str(dtype) and _C.get_device() == "cpu":
        _say_that_float16_is_slow()
    before = _C.amp.exchange(settings if on else 0)
    outermost = on and _C.amp.begin_cast_cache()
    try:
        yield
    finally:
        if outermost:
            _C.amp.end_cast_cache()
        _C.amp.exchange(before)


amp_guard = auto_cast


def amp_state():
    """{"dtype": "float16", "level": "O1"} of the autocast of this thread, None outside of one; programs ask the reference's module for it."""
    state = _C.amp.current()
    return state and {"dtype": state[0], "level": state[1]}
