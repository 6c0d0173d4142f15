"""`static.amp` with bfloat16, under the names that the reference has for it."""

from proa.static.amp.casting import cast_model_to_fp16, cast_parameters_to_fp16
from proa.static.amp.decorator import decorate
from proa.static.amp.guard import bf16_guard
from proa.static.amp.lists import AutoMixedPrecisionListsBF16
from proa.static.amp.mixing import mix

__all__ = [
    "AutoMixedPrecisionListsBF16",
    "bf16_guard",
    "cast_model_to_bf16",
    "cast_parameters_to_bf16",
    "convert_float_to_uint16",
    "decorate_bf16",
    "rewrite_program_bf16",
]


def decorate_bf16(optimizer, amp_lists=None, use_pure_bf16=False, use_bf16_guard=None):
    """`static.amp.decorate` with bfloat16, which needs no scaling of losses.

    Args:
        optimizer (Optimizer): does the steps.
        amp_lists (AutoMixedPrecisionListsBF16, optional): ops and values that go another way.
        use_pure_bf16 (bool): level O2.
        use_bf16_guard (bool, optional): only what was recorded inside of `bf16_guard`. None: if there is such a part.

    Examples:
        >>> adam = proa.optimizer.Adam(parameters=proa.nn.Linear(2, 2).parameters())
        >>> type(proa.static.amp.bf16.decorate_bf16(adam)).__name__
        'OptimizerWithMixedPrecision'
    """
    return decorate(
        optimizer, amp_lists, use_pure_fp16=use_pure_bf16, use_fp16_guard=use_bf16_guard, use_bf16=True,
        use_dynamic_loss_scaling=False,
    )  # fmt: skip


def rewrite_program_bf16(main_prog, amp_lists=None):
    """Makes a program again at level O1 in bfloat16, in its place.

    Args:
        main_prog (Program): without gradients and updates.
        amp_lists (AutoMixedPrecisionListsBF16, optional): ops and values that go another way.
    """
    mix(main_prog, "bfloat16", "O1", amp_lists)


def cast_model_to_bf16(program, startup_prog=None, amp_lists=None, use_bf16_guard=None):
    """`cast_model_to_fp16` with bfloat16.

    Args:
        program (Program): without gradients and updates.
        startup_prog (Program, optional): accepted.
        amp_lists (AutoMixedPrecisionListsBF16, optional): ops and values that go another way.
        use_bf16_guard (bool, optional): only what was recorded inside of `bf16_guard`; None: if there is such a part.

    Returns:
        set[str]: the names of the parameters that the program casts.
    """
    return cast_model_to_fp16(program, amp_lists, use_bf16_guard, "bfloat16")


def cast_parameters_to_bf16(place=None, program=None, scope=None, to_bf16_var_names=None):
    """`cast_parameters_to_fp16` with bfloat16."""
    cast_parameters_to_fp16(place, program, scope, to_bf16_var_names, "bfloat16")


def convert_float_to_uint16(in_list):
    """The bits of bfloat16 numbers that float32 ones round to, as uint16.

    Args:
        in_list (array): float32.

    Examples:
        >>> [hex(bits) for bits in proa.static.amp.bf16.convert_float_to_uint16([1.0, -2.5]).tolist()]
        ['0x3f80', '0xc020']
    """
    import numpy as np

    from proa import _C

    given = np.asarray(in_list, np.float32)
    with _C.eager_mode():
        exact = _C.to_tensor(given).astype(_C.bfloat16).astype(_C.float32).numpy()
    return (exact.view(np.uint32) >> 16).astype(np.uint16)
