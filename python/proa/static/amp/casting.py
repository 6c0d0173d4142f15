"""Programs, and their parameters, in 16 bits without an optimizer: for inference, and for what is trained by hand."""

from proa import _C
from proa.framework.dtype import as_dtype
from proa.static.amp.mixing import cast_captured, checked_dtype, checked_level, mix
from proa.static.program import default_main_program
from proa.static.replay import parse

__all__ = ["cast_model_to_fp16", "cast_parameters_to_fp16"]


def cast_model_to_fp16(
    program, amp_lists=None, use_fp16_guard=None, dest_type="float16", level="O2", use_promote=False
):
    """Makes a program again in 16 bits, in its place.

    Args:
        program (Program): without gradients and updates.
        amp_lists (AutoMixedPrecisionLists, optional): ops and values that go another way.
        use_fp16_guard (bool, optional): only what was recorded inside of `fp16_guard`; None: if there is such a part.
        dest_type (str): "float16" or "bfloat16".
        level (str): "O1" or "O2".
        use_promote (bool): accepted; ops of mixed arguments compute in float32.

    Returns:
        set[str]: the names of the parameters that the program casts, for `cast_parameters_to_fp16`.

    Examples:
        >>> proa.enable_static()
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     x = proa.static.data("x", [None, 3])
        ...     y = proa.static.nn.fc(x, 1)
        >>> names = proa.static.amp.cast_model_to_fp16(main)
        >>> len(names)
        2
        >>> proa.static.Executor().run(main, {"x": np.ones([2, 3], "float32")}, [y])[0].dtype.name
        'float16'
        >>> proa.disable_static()
    """
    dtype = checked_dtype("cast_model_to_fp16", dest_type)
    mix(program, dtype, checked_level("cast_model_to_fp16", level), amp_lists, use_fp16_guard)
    return cast_names(program, dtype)


def cast_names(program, dtype):
    """The names of the parameters that a program casts to a dtype, each time that it takes them."""
    numbers, calls = parse(str(program._program))
    tensors = {n: t for n, (_, t) in zip(numbers, program._program.captured, strict=True)}
    other, cast = set(), set()
    for call in calls:
        to_low = call.op == "cast" and call.args[1] == as_dtype(dtype)
        for number in call.values():
            if number in tensors:
                (cast if to_low else other).add(tensors[number].name)
    return cast - other


def cast_parameters_to_fp16(place=None, program=None, scope=None, to_fp16_var_names=None, dest_type=None):
    """Puts 16-bit parameters in the place of those that a program casts, for inference in less memory.

    Args:
        place, scope: accepted.
        program (Program): what `cast_model_to_fp16` changed.
        to_fp16_var_names (set[str], optional): what it gave; every parameter that the program casts.
        dest_type (str, optional): "float16" or "bfloat16"; that of the program.

    Raises:
        RuntimeError: the program is not in mixed precision.

    Examples:
        >>> proa.enable_static()
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     y = proa.static.nn.fc(proa.static.data("x", [None, 3]), 1)
        >>> names = proa.static.amp.cast_model_to_fp16(main)
        >>> proa.static.amp.cast_parameters_to_fp16(proa.CPUPlace(), main, to_fp16_var_names=names)
        >>> {p.dtype.name for p in main.all_parameters()}
        {'float16'}
        >>> proa.disable_static()
    """
    program = default_main_program() if program is None else program
    if program._mixed is None:
        raise _C.located(
            RuntimeError("cast_parameters_to_fp16: the program is float32; call cast_model_to_fp16 before")
        )
    dtype = checked_dtype("cast_parameters_to_fp16", dest_type or program._mixed.split()[-1])
    chosen = cast_names(program, dtype)
    if to_fp16_var_names is not None:
        chosen &= set(to_fp16_var_names)
    cast_captured(program, lambda tensor: tensor.name in chosen, as_dtype(dtype))
