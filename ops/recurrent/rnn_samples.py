"""References of ops/recurrent/rnn.yaml: a loop over steps in NumPy, gradients by complex steps."""

import numpy as np

_STEP = 1e-30


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _step(mode, a, b, h, c):
    """The next h and c of sums a, of the inputs, and b, of the state."""
    if mode == "LSTM":
        i, f, g, o = np.split(a + b, 4, -1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        return _sigmoid(o) * np.tanh(c), c
    if mode == "GRU":
        (xr, xz, xn), (hr, hz, hn) = np.split(a, 3, -1), np.split(b, 3, -1)
        z = _sigmoid(xz + hz)
        return z * h + (1 - z) * np.tanh(xn + _sigmoid(xr + hr) * hn), c
    s = a + b
    return (np.tanh(s) if mode == "RNN_TANH" else np.where(s.real > 0, s, 0)), c


def _run(tensors, lengths, mode, reverse, time_major):
    """(out, h, c) of the tensors by name, sample by sample."""
    w = tensors
    x = w["x"].swapaxes(0, 1) if time_major else w["x"]
    batch, steps = x.shape[:2]
    hidden = w["weight_ih"].shape[0] // {"LSTM": 4, "GRU": 3}.get(mode, 1)
    state = w["weight_hh"].shape[1]
    out = np.zeros((batch, steps, state), complex)
    last_h = np.zeros((batch, state), complex)
    last_c = np.zeros((batch, hidden if mode == "LSTM" else 0), complex)
    zero = np.zeros(w["weight_ih"].shape[0])
    bias_ih, bias_hh = (zero if w.get(k) is None else w[k] for k in ("bias_ih", "bias_hh"))
    for n in range(batch):
        h = np.zeros(state) if w.get("h0") is None else w["h0"][n]
        c = np.zeros(last_c.shape[1]) if w.get("c0") is None else w["c0"][n]
        count = steps if lengths is None else lengths[n]
        for t in reversed(range(count)) if reverse else range(count):
            new, c = _step(mode, w["weight_ih"] @ x[n, t] + bias_ih, w["weight_hh"] @ h + bias_hh, h, c)
            h = new if w.get("weight_hr") is None else w["weight_hr"] @ new
            out[n, t] = h
        last_h[n], last_c[n] = h, c
    return (out.swapaxes(0, 1) if time_major else out), last_h, last_c


_NAMES = ("x", "weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr", "h0", "c0")


def _gradients(grads, tensors, *how):
    """Of sum(grad * result), by each tensor, in the order of _NAMES; those of missing ones by zeros in their place."""
    tensors = dict(tensors)
    rows, (_, state) = tensors["weight_ih"].shape[0], tensors["weight_hh"].shape
    batch = grads[1].shape[0]
    for name, shape in (("bias_ih", rows), ("bias_hh", rows), ("h0", (batch, state)), ("c0", grads[2].shape)):
        if tensors.get(name) is None:
            tensors[name] = np.zeros(shape)
    found = []
    for name in _NAMES:
        if tensors.get(name) is None:
            found.append(np.zeros((0, 0)))
            continue
        slope = np.zeros(tensors[name].shape)
        for at in np.ndindex(slope.shape):
            moved = tensors[name].astype(complex)
            moved[at] += 1j * _STEP
            results = _run(tensors | {name: moved}, *how)
            slope[at] = sum((g * np.imag(r)).sum() for g, r in zip(grads, results)) / _STEP
        found.append(slope)
    return tuple(found)


def reference_rnn(
    x, weight_ih, weight_hh, bias_ih=None, bias_hh=None, weight_hr=None, h0=None, c0=None, lengths=None,
    mode="LSTM", reverse=False, time_major=False, keep_reserve=True,
):  # fmt: skip
    tensors = dict(zip(_NAMES, (x, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, h0, c0)))
    return (*(np.real(r) for r in _run(tensors, lengths, mode, reverse, time_major)), None)


def reference_rnn_grad(
    grad_out, grad_h, grad_c, x, weight_ih, weight_hh, bias_ih=None, bias_hh=None, weight_hr=None, h0=None, c0=None,
    lengths=None, reserve=None, mode="LSTM", reverse=False, time_major=False, dtype=None,
):  # fmt: skip
    tensors = dict(zip(_NAMES, (x, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, h0, c0)))
    return _gradients((grad_out, grad_h, grad_c), tensors, lengths, mode, reverse, time_major)


def reference_rnn_grad_grad(
    grad_x, grad_weight_ih, grad_weight_hh, grad_bias_ih, grad_bias_hh, grad_weight_hr, grad_h0, grad_c0,
    grad_out, grad_h, grad_c, x, weight_ih, weight_hh, bias_ih=None, bias_hh=None, weight_hr=None, h0=None, c0=None,
    lengths=None, mode="LSTM", reverse=False, time_major=False,
):  # fmt: skip
    tensors = dict(zip(_NAMES, (x, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr, h0, c0)))
    rates = (
        grad_x, grad_weight_ih, grad_weight_hh, grad_bias_ih, grad_bias_hh, grad_weight_hr, grad_h0, grad_c0,
    )  # fmt: skip
    how = (lengths, mode, reverse, time_major)

    def moved(by):
        # What is not given is zero, but weight_hr.
        return {
            k: None if v is None and rate.size == 0 else (0 if v is None else v) + by * rate
            for (k, v), rate in zip(tensors.items(), rates)
        }

    # The rates of the results, and those of the gradients.
    of_grads = [np.imag(r) / _STEP for r in _run(moved(1j * _STEP), *how)]
    h, grads = 1e-5, (grad_out, grad_h, grad_c)
    up, down = _gradients(grads, moved(h), *how), _gradients(grads, moved(-h), *how)
    return (*of_grads, *((a - b) / (2 * h) for a, b in zip(up, down)))


# Weights up to 2 make what a step rounds larger with each that follows; CPUs that multiply bfloat16 round the state of each
# step, and gradients of its gates, to it.
TOLERANCE = {
    "rnn": {"float32": (1e-4, 1e-4), "bfloat16": (0.016, 0.06)},
    "rnn_grad": {"float32 of bfloat16": (0.016, 0.016)},
    "rnn_grad_grad": {"float64": (1e-6, 1e-8)},
}
