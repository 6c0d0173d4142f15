"""Functions of sequences of different lengths: those of `static.nn`, chains of tags, and what walks along the rows."""

from proa import _C
from proa.framework.parameter import ParamAttr
from proa.static.nn.crf import crf_decoding, linear_chain_crf
from proa.static.nn.kept_sums import data_norm
from proa.static.nn.parametric import activated, bilinear_tensor_product
from proa.static.nn.sampled import nce
from proa.static.nn.sequence import (
    sequence_concat,
    sequence_conv,
    sequence_enumerate,
    sequence_expand,
    sequence_expand_as,
    sequence_first_step,
    sequence_last_step,
    sequence_pad,
    sequence_pool,
    sequence_reshape,
    sequence_reverse,
    sequence_scatter,
    sequence_slice,
    sequence_softmax,
    sequence_unpad,
)
from proa.static.nn.ssd import multi_box_head, prior_box
from proa.static.only import static_only
from proa.static.parameters import program_parameter
from proa.static.sequences import Layout, as_lengths, as_rows_of, layout_of, levels_of, note
from proa.utils import unique_name

__all__ = [
    "bilinear_tensor_product", "crf_decoding", "data_norm", "dynamic_gru", "dynamic_lstm", "dynamic_lstmp", "gru_unit",
    "linear_chain_crf", "lod_append", "lod_reset",
    "multi_box_head", "nce", "prior_box", "sequence_concat", "sequence_conv", "sequence_enumerate", "sequence_expand",
    "sequence_expand_as", "sequence_first_step", "sequence_last_step", "sequence_pad", "sequence_pool", "sequence_reshape",
    "sequence_reverse", "sequence_scatter", "sequence_slice", "sequence_softmax", "sequence_unpad",
]  # fmt: skip


def lod_reset(x, y=None, target_lod=None):
    """x with other sequences in its rows: those of y, or of the offsets `target_lod`.

    Args:
        x (Tensor): a value of a program, [rows, ...].
        y (Tensor, optional): with sequences of its own, or offsets as an integer tensor.
        target_lod (list[int], optional): where sequences begin, and the end of the last.

    Raises:
        ValueError: neither is given.
    """
    if y is not None:
        levels = levels_of(y)
        if not levels:
            offsets = as_lengths("lod_reset", y, "y")
            levels = [offsets[1:] - offsets[:-1]]
    elif target_lod is not None:
        ends = [int(end) for end in target_lod]
        levels = [as_lengths("lod_reset", [b - a for a, b in zip(ends, ends[1:])])]
    else:
        raise _C.located(ValueError("lod_reset: give y or target_lod"))
    # A size of its own: what else has the rows of x keeps its sequences.
    result = _C.ops.gather(x, _C.ops.cumsum(_C.ops.full_like(Layout(levels[-1]).sequence, 1), 0) - 1, 0)
    note(result, levels)
    return result


def lod_append(x, level):
    """x with one more level of sequences: those of the rows, below the levels that it has.

    Args:
        x (Tensor): a value of a program, [rows, ...].
        level (Tensor|list[int]): lengths, one for each sequence (or row) that x has so far; or a value whose sequences are taken.
    """
    lower = levels_of(level) if isinstance(level, _C.Tensor) else []
    lengths = lower[-1] if lower else as_lengths("lod_append", level, "level")
    result = _C.ops.gather(x, _C.ops.cumsum(_C.ops.full_like(Layout(lengths).sequence, 1), 0) - 1, 0)
    note(result, [*levels_of(x), lengths])
    return result


def _walk(op, input, is_reverse, step, states):
    """step(row, states) -> states along the rows of each sequence: the first state after each row, [rows, ...] each.

    `states` are [sequences, size] at the beginning; of each, what it was after each row is given.
    """
    layout = layout_of(op, input)
    padded = layout.padded(_C.ops.gather(input, _order(layout), 0) if is_reverse else input, 0.0)
    steps = _C.ops.transpose(padded, [1, 0, 2])
    count = _C.ops.shape(steps).astype("int64")[0]
    numbers = _C.ops.cumsum(_C.ops.full_like(_C.ops.max(_C.ops.max(steps, 2), 1), 1.0).astype("int64"), 0) - 1
    kept = [_C.ops.unsqueeze(state, [0]) + _C.ops.unsqueeze(_C.ops.max(steps, 2) * 0.0, [2]) for state in states]

    def body(t, *values):
        now, before = list(values[: len(states)]), values[len(states) :]
        row = _C.ops.reshape(_C.ops.gather(steps, t, 0), steps.shape[1:])
        now = step(row, now)
        here = _C.ops.reshape(numbers == t, [steps.shape[0], 1, 1])
        return [t + 1, *now, *(_C.ops.where(here, _C.ops.unsqueeze(new, [0]), old) for new, old in zip(now, before))]

    start = _C.ops.full([1], 0, _C.int64)
    found = _C.while_loop(lambda t, *values: [(t < count).all()], body, [start, *states, *kept])[1 + len(states) :]
    rows = [layout.unpadded(_C.ops.transpose(values, [1, 0, 2])) for values in found]
    rows = [_C.ops.gather(r, _order(layout), 0) if is_reverse else r for r in rows]
    rows = [as_rows_of(r, input) for r in rows]
    for r in rows:
        note(r, levels_of(input))
    return rows


def _order(layout):
    """The rows of each sequence in reverse."""
    return layout.of_sequence(layout.begins + layout.lengths - 1) - layout.position


def _start(op, given, input, size):
    """The first state: `given`, or zeros [sequences, size]."""
    if given is not None:
        return given
    zeros = _C.ops.unsqueeze(layout_of(op, input).lengths.astype(input.dtype) * 0.0, [1])
    return zeros + _C.ops.full([1, size], 0.0, input.dtype)


def _need_columns(op, input, size):
    if len(input.shape) != 2 or input.shape[1] != size:
        raise _C.located(ValueError(f"{op}: input must be [rows, {size}]; it is {list(input.shape)}"))


@static_only("use paddle.nn.LSTM")
def dynamic_lstm(input, size, h_0=None, c_0=None, param_attr=None, bias_attr=None, use_peepholes=True, is_reverse=False,
                 gate_activation="sigmoid", cell_activation="tanh", candidate_activation="tanh", dtype="float32",
                 name=None):  # fmt: skip
    """An LSTM along the rows of each sequence; what the input adds to the gates is computed before, by an `fc`.

    With weight [size / 4, size] and bias [1, size], each of four parts: candidate, input gate, forget gate, output gate. With
    peepholes the bias is [1, 7 * size / 4]; its last three parts are factors of the cell in the three gates.

    Args:
        input (Tensor): [rows, size], with sequences.
        size (int): 4 times the size of the state.
        h_0, c_0 (Tensor, optional): the first states, [sequences, size / 4].
        is_reverse (bool): from the last row to the first.

    Returns:
        (Tensor, Tensor): state and cell after each row, [rows, size / 4].

    Raises:
        RuntimeError: in eager mode.
        ValueError: input has other columns, or no sequences.
    """
    _need_columns("dynamic_lstm", input, size)
    hidden = size // 4
    prefix = name if name is not None else unique_name.generate("lstm")
    weight = program_parameter([hidden, size], param_attr, input.dtype, prefix=prefix)
    wide = [1, 7 * hidden if use_peepholes else size]
    bias = program_parameter(wide, bias_attr, input.dtype, True, prefix=prefix)
    if bias is None:
        bias = _C.ops.full(wide, 0.0, input.dtype)
    activations = gate_activation, cell_activation, candidate_activation
    step = lambda row, states: _lstm_step(row, *states, weight, bias, hidden, use_peepholes, activations)
    states = [_start("dynamic_lstm", given, input, hidden) for given in (h_0, c_0)]
    return tuple(_walk("dynamic_lstm", input, is_reverse, step, states))


def _lstm_step(row, state, cell, weight, bias, hidden, use_peepholes, activations, cell_clip=None):
    """[state, cell] after a row; what the state is multiplied with may be a projection of the state of before."""
    of_gate, of_cell, of_candidate = activations
    part = lambda x, i: x[:, i * hidden : (i + 1) * hidden]
    gates = row + _C.ops.matmul(state, weight) + bias[:, : 4 * hidden]
    peep = lambda i, c: c * part(bias, 4 + i) if use_peepholes else c * 0.0
    candidate = activated(part(gates, 0), of_candidate)
    enter = activated(part(gates, 1) + peep(0, cell), of_gate)
    keep = activated(part(gates, 2) + peep(1, cell), of_gate)
    cell = candidate * enter + cell * keep
    if cell_clip:
        cell = _C.ops.clip(cell, -cell_clip, cell_clip)
    leave = activated(part(gates, 3) + peep(2, cell), of_gate)
    return [leave * activated(cell, of_cell), cell]


@static_only("use paddle.nn.LSTM")
def dynamic_lstmp(input, size, proj_size, param_attr=None, bias_attr=None, use_peepholes=True, is_reverse=False,
                  gate_activation="sigmoid", cell_activation="tanh", candidate_activation="tanh", proj_activation="tanh",
                  dtype="float32", name=None, h_0=None, c_0=None, cell_clip=None, proj_clip=None):  # fmt: skip
    """`dynamic_lstm` whose state is projected to fewer columns before it comes to the next row (Sak et al., 2014).

    With weight [proj_size, size], bias as `dynamic_lstm`, and a projection [size / 4, proj_size], whose name is that of
    `param_attr`, if it has one, with `_proj` behind it.

    Args:
        input (Tensor): [rows, size], with sequences.
        size (int): 4 times the size of the state.
        proj_size (int): of the projection.
        proj_activation (str): of the projection.
        h_0, c_0 (Tensor, optional): the first projection [sequences, proj_size], and cell [sequences, size / 4].
        cell_clip, proj_clip (float, optional): bounds of the elements.

    Returns:
        (Tensor, Tensor): projection [rows, proj_size] and cell [rows, size / 4] after each row.

    Raises:
        RuntimeError: in eager mode.
        ValueError: input has other columns, or no sequences.
    """
    _need_columns("dynamic_lstmp", input, size)
    hidden = size // 4
    prefix = name if name is not None else unique_name.generate("lstmp")
    weight = program_parameter([proj_size, size], param_attr, input.dtype, prefix=prefix)
    attr = ParamAttr.of(param_attr)
    if attr is not False and attr.name:
        attr = ParamAttr(**{**attr.__dict__, "name": f"{attr.name}_proj"})
    projection = program_parameter([hidden, proj_size], attr, input.dtype, prefix=f"{prefix}_proj")
    wide = [1, 7 * hidden if use_peepholes else size]
    bias = program_parameter(wide, bias_attr, input.dtype, True, prefix=prefix)
    if bias is None:
        bias = _C.ops.full(wide, 0.0, input.dtype)
    activations = gate_activation, cell_activation, candidate_activation

    def step(row, states):
        state, cell = _lstm_step(row, *states, weight, bias, hidden, use_peepholes, activations, cell_clip)
        projected = activated(_C.ops.matmul(state, projection), proj_activation)
        return [_C.ops.clip(projected, -proj_clip, proj_clip) if proj_clip else projected, cell]

    states = [_start("dynamic_lstmp", given, input, size) for given, size in ((h_0, proj_size), (c_0, hidden))]
    return tuple(_walk("dynamic_lstmp", input, is_reverse, step, states))


@static_only("use paddle.nn.GRUCell")
def gru_unit(input, hidden, size, param_attr=None, bias_attr=None, activation="tanh", gate_activation="sigmoid",
             origin_mode=False):  # fmt: skip
    """One step of a GRU; what the input adds is computed before, by an `fc`. Parameters as those of `dynamic_gru`.

    Args:
        input (Tensor): [batch, size].
        hidden (Tensor): the state, [batch, size / 3].
        size (int): 3 times the size of the state.

    Returns:
        (Tensor, Tensor, Tensor): the next state and the state times the reset gate, [batch, size / 3]; update gate, reset gate
        and candidate, [batch, size].

    Raises:
        RuntimeError: in eager mode.
        ValueError: input or hidden have other columns.
    """
    _need_columns("gru_unit", input, size)
    columns = size // 3
    if len(hidden.shape) != 2 or hidden.shape[1] != columns:
        raise _C.located(ValueError(f"gru_unit: hidden must be [batch, {columns}]; it is {list(hidden.shape)}"))
    prefix = unique_name.generate("gru_unit")
    weight = program_parameter([columns, size], param_attr, input.dtype, prefix=prefix)
    bias = program_parameter([1, size], bias_attr, input.dtype, True, prefix=prefix)
    return _gru_step(input, hidden, weight, bias, columns, gate_activation, activation, origin_mode)


def _gru_step(row, state, weight, bias, size, gate_activation, activation, origin_mode):
    """(next state, state times reset gate, [update gate, reset gate, candidate])."""
    row = row if bias is None else row + bias
    gates = activated(row[:, : 2 * size] + _C.ops.matmul(state, weight[:, : 2 * size]), gate_activation)
    update, reset = gates[:, :size], gates[:, size:]
    kept = reset * state
    candidate = activated(row[:, 2 * size :] + _C.ops.matmul(kept, weight[:, 2 * size :]), activation)
    take = 1.0 - update if origin_mode else update
    return (1.0 - take) * state + take * candidate, kept, _C.ops.concat([gates, candidate], 1)


@static_only("use paddle.nn.GRU")
def dynamic_gru(input, size, param_attr=None, bias_attr=None, is_reverse=False, gate_activation="sigmoid",
                candidate_activation="tanh", h_0=None, origin_mode=False):  # fmt: skip
    """A GRU along the rows of each sequence; what the input adds is computed before, by an `fc`.

    With weight [size, 3 * size] and bias [1, 3 * size], each of three parts: update gate u, reset gate r, candidate. The state
    becomes (1 - u) * state + u * candidate; with origin_mode, u * state + (1 - u) * candidate.

    Args:
        input (Tensor): [rows, 3 * size], with sequences.
        size (int): of the state.
        h_0 (Tensor, optional): the first state, [sequences, size].
        is_reverse (bool): from the last row to the first.

    Returns:
        Tensor: the state after each row, [rows, size].

    Raises:
        RuntimeError: in eager mode.
        ValueError: input has other columns, or no sequences.
    """
    _need_columns("dynamic_gru", input, 3 * size)
    prefix = unique_name.generate("gru")
    weight = program_parameter([size, 3 * size], param_attr, input.dtype, prefix=prefix)
    bias = program_parameter([1, 3 * size], bias_attr, input.dtype, True, prefix=prefix)

    def step(row, states):
        return [_gru_step(row, *states, weight, bias, size, gate_activation, candidate_activation, origin_mode)[0]]

    (rows,) = _walk("dynamic_gru", input, is_reverse, step, [_start("dynamic_gru", h_0, input, size)])
    return rows
