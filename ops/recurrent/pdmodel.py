"""What these ops are in PaddlePaddle's format where reference.rules read backwards does not say it."""

import numpy as np

from proa.jit.reference.graph import current
from proa.jit.reference.rule import constant, op, refuse

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _turned(x):
    out = op("transpose2", {"X": x}, {"axis": [1, 0, 2]}, outputs=("Out", "XShape"))[0]
    out.shape = (x.shape[1], x.shape[0], x.shape[2]) if x.shape is not None else None
    return out


def _bias(bias, rows, dtype):
    return bias if bias is not None else constant(np.zeros(rows, dtype), dtype)


def _states(given, x, width, count):
    """The states before, [count, N, width]; zeros unless given."""
    if given is not None:
        one = op("unsqueeze2", {"X": given}, {"axes": [0]}, outputs=("Out", "XShape"))[0]
        return one if count == 1 else op("concat", {"X": [one] * count}, {"axis": 0})
    sizes = {"shape": [count, -1, width], "dtype": 5 if x.dtype == "float32" else 6, "value": 0.0}
    return op("fill_constant_batch_size_like", {"Input": x}, {**sizes, "input_dim_idx": 1, "output_dim_idx": 1})


def pdmodel_rnn(
    x, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, h0, c0, lengths, mode, reverse, time_major, keep_reserve
):
    if weight_hr is not None:
        refuse("an LSTM with a projection")
    steps = x if time_major else _turned(x)
    width, rows = weight_hh.shape[1], weight_hh.shape[0]
    if rows != _GATES[mode] * width or "float" not in x.dtype:
        refuse(f"{mode} of {x.dtype}")
    # The reverse direction alone: the sequence turned; with lengths, both directions, of which one is taken.
    both = reverse and lengths is not None
    count = 2 if both else 1
    given = op("flip", {"X": steps}, {"axis": [0]}, shape=steps.shape) if reverse and not both else steps
    weights = [weight_ih, weight_hh] * count
    weights += [_bias(bias_ih, rows, x.dtype), _bias(bias_hh, rows, x.dtype)] * count
    before = [_states(h0, steps, width, count)] + ([_states(c0, steps, width, count)] if mode == "LSTM" else [])
    flags = {"mode": mode, "hidden_size": width, "input_size": weight_ih.shape[1], "num_layers": 1, "seed": 0}
    flags |= {"is_bidirec": both, "dropout_prob": 0.0, "is_test": not current().trains}
    inputs = {"Input": given, "PreState": before, "WeightList": weights, "SequenceLength": lengths}
    slots = ("Out", ("State", len(before)), "DropoutState", "Reserve")
    out, *after = op("rnn", inputs, flags, outputs=slots)[: 1 + len(before)]
    if both:
        half = {"axes": [2], "starts": [width], "ends": [2 * width], "infer_flags": [1], "decrease_axis": []}
        out = op("slice", {"Input": out}, half)
    elif reverse:
        out = op("flip", {"X": out}, {"axis": [0]})
    after = [_last(state, count) for state in after]
    out = out if time_major else op("transpose2", {"X": out}, {"axis": [1, 0, 2]}, outputs=("Out", "XShape"))[0]
    return [out, after[0], after[1] if len(after) > 1 else None, None]


def _last(state, count):
    taken = {"axes": [0], "starts": [count - 1], "ends": [count], "infer_flags": [1], "decrease_axis": [0]}
    return op("slice", {"Input": state}, taken)
