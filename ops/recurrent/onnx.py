"""What these ops are in ONNX. The language: python/proa/onnx/rule.py."""

from proa.onnx.rule import cast, constant, filled, onnx, refuse, result, size, to_result

# The operator, its activations, and our gates in the order of ONNX's.
_CELLS = {
    "LSTM": ("LSTM", None, (0, 3, 1, 2)),
    "GRU": ("GRU", None, (1, 0, 2)),
    "RNN_TANH": ("RNN", ["Tanh"], (0,)),
    "RNN_RELU": ("RNN", ["Relu"], (0,)),
}


def _gates(w, order):
    """Rows of gates in another order, of the one direction that there is."""
    hidden = w.shape[0] // len(order)
    parts = [onnx.Slice(w, starts=[g * hidden], ends=[(g + 1) * hidden], axes=[0]) for g in order]
    return onnx.Unsqueeze(onnx.Concat(*parts, axis=0) if len(parts) > 1 else w, axes=[0])


def onnx_rnn(
    x, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, h0, c0, lengths, mode, reverse, time_major, keep_reserve
):
    if weight_hr is not None:
        refuse("an LSTM with a projection of its state", "leave proj_size out")
    operator, activations, order = _CELLS[mode]
    x, weight_ih, weight_hh, bias_ih, bias_hh, h0, c0 = to_result(x, weight_ih, weight_hh, bias_ih, bias_hh, h0, c0)
    steps = x if time_major else onnx.Transpose(x, perm=[1, 0, 2])
    bias = None
    if bias_ih is not None or bias_hh is not None:
        zeros = constant([0.0] * weight_ih.shape[0], x.dtype)
        bias = onnx.Concat(*[_gates(b if b is not None else zeros, order) for b in (bias_ih, bias_hh)], axis=1)
    named = {"linear_before_reset": 1} if mode == "GRU" else {"activations": activations} if activations else {}
    inputs = [steps, _gates(weight_ih, order), _gates(weight_hh, order), bias]
    inputs.append(None if lengths is None else cast(lengths, "int32"))
    inputs.append(None if h0 is None else onnx.Unsqueeze(h0, axes=[0]))
    if mode == "LSTM":
        inputs.append(None if c0 is None else onnx.Unsqueeze(c0, axes=[0]))
    made = getattr(onnx, operator)(
        *inputs,
        hidden_size=weight_hh.shape[1],
        direction="reverse" if reverse else "forward",
        outputs=3 if mode == "LSTM" else 2,
        **named,
    )
    out = onnx.Squeeze(made[0], axes=[1])
    out = out if time_major else onnx.Transpose(out, perm=[1, 0, 2])
    if mode == "LSTM":
        cell = onnx.Squeeze(made[2], axes=[0])
    else:
        cell = filled(
            0.0,
            x.dtype,
            onnx.Concat(
                size(result(1), 0) if result(1).shape[0] >= 0 else size(x, 1 if time_major else 0), [0], axis=0
            ),
        )
    return out, onnx.Squeeze(made[1], axes=[0]), cell, None
