"""Normalization by sums that are kept over all batches."""

from proa import _C
from proa.nn import initializer
from proa.static.nn.parametric import activated
from proa.static.only import static_only
from proa.static.parameters import create_global_var, program_parameter
from proa.utils import unique_name

__all__ = ["data_norm"]

_SUMS = {"batch_size": 1e4, "batch_sum": 0.0, "batch_square": 1e4}


@static_only("use paddle.nn.BatchNorm1D")
def data_norm(
    input,
    act=None,
    epsilon=1e-05,
    param_attr=None,
    data_layout="NCHW",
    in_place=False,
    name=None,
    moving_mean_name=None,
    moving_variance_name=None,
    do_model_average_for_mean_and_var=False,
    slot_dim=-1,
    sync_stats=False,
    summary_decay_rate=0.9999999,
    enable_scale_and_shift=False,
):
    """(input - mean) * scale for each column: mean = sum / size, scale = sqrt(size / square), of all rows so far.

    The three are tensors that the program keeps, `<name>.batch_size`, `.batch_sum`, `.batch_square_sum`. Each run in
    training first normalizes by them, then they become what they were times summary_decay_rate plus: the number of rows,
    their sum, and the sum of (row - mean)^2 + epsilon. A program for tests leaves them as they are.

    Args:
        input (Tensor): [N, columns].
        act (str, optional): a function of `nn.functional`.
        epsilon (float): see above.
        param_attr (dict, optional): first values: "batch_size" (1e4), "batch_sum" (0), "batch_square" (1e4); "scale_w"
            (1) and "bias" (0) with enable_scale_and_shift.
        slot_dim (int): columns are groups of so many; a group whose first value is 0 has no data: its result is 0 and it
            counts in no sum.
        enable_scale_and_shift (bool): a factor and a shift for each column, which are trained.
        data_layout, in_place, moving_mean_name, moving_variance_name, do_model_average_for_mean_and_var, sync_stats:
            accepted.

    Raises:
        RuntimeError: in eager mode.
        ValueError: input is no matrix; slot_dim does not divide its columns; param_attr has other keys.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     y = proa.static.nn.data_norm(proa.static.data("x", [None, 3]))
        >>> y.shape
        [-1, 3]
    """
    if len(input.shape) != 2:
        raise _C.located(ValueError(f"data_norm: input must be [N, columns]; it is {list(input.shape)}"))
    given = dict(param_attr) if isinstance(param_attr, dict) else {}
    unknown = set(given) - {*_SUMS, "scale_w", "bias"}
    if unknown:
        raise _C.located(ValueError(f"data_norm: param_attr has no {sorted(unknown)[0]!r}; it has {', '.join(_SUMS)}"))
    columns = input.shape[1]
    slot = columns if slot_dim <= 0 else int(slot_dim)
    if columns % slot:
        raise _C.located(ValueError(f"data_norm: {columns} columns are no multiple of slot_dim {slot}"))
    prefix = name if name is not None else unique_name.generate("data_norm")
    size, total, square = (
        create_global_var([columns], given.get(key, first), input.dtype, True, name=f"{prefix}.{kept}")
        for (key, first), kept in zip(_SUMS.items(), ("batch_size", "batch_sum", "batch_square_sum"))
    )
    mean, scale = total / size, _C.ops.sqrt(size / square)
    result = (input - mean) * scale
    counts = _C.ops.full_like(input.detach(), 1.0)
    if slot_dim > 0:
        first = _C.ops.reshape(input.detach(), [-1, columns // slot, slot])[:, :, :1]
        data = (_C.ops.abs(first) >= 1e-7).astype(input.dtype)
        counts = _C.ops.reshape(_C.ops.reshape(counts, [-1, columns // slot, slot]) * data, [-1, columns])
        result = result * counts
    rows = _C.ops.sum(counts, 0)
    away = input.detach() - mean
    updates = (
        (size, rows),
        (total, _C.ops.sum(input.detach() * counts, 0)),
        (square, _C.ops.sum(away * away * counts, 0) + rows * epsilon),
    )
    if enable_scale_and_shift:
        factor = initializer.Constant(float(given.get("scale_w", 1.0)))
        shift = initializer.Constant(float(given.get("bias", 0.0)))
        weight = program_parameter([columns], f"{prefix}.scale_w", input.dtype, False, factor, prefix)
        result = result * weight
        result = result + program_parameter([columns], f"{prefix}.bias", input.dtype, True, shift, prefix)
    result = activated(result, act)
    for kept, added in updates:
        _C.ops.store_(kept, kept * summary_decay_rate + added)
    return result
