"""What operators of ONNX are in these ops. The language: python/proa/onnx/import_rule.py."""

from proa import _C
from proa.onnx.import_rule import check_turns, refuse

ops = _C.ops

# Activations that the ops compute with, and our gates in the order that ours have of ONNX's.
_LSTM = ["Sigmoid", "Tanh", "Tanh"]
_GRU = ["Sigmoid", "Tanh"]
_FUNCTIONS = {"Sigmoid": ops.sigmoid, "Tanh": ops.tanh, "Relu": ops.relu, "Softsign": ops.softsign,
              "Softplus": ops.softplus}  # fmt: skip


def _gates(w, order):
    if len(order) == 1:
        return w
    parts = ops.split(w, [-1 if i == len(order) - 1 else w.shape[0] // len(order) for i in range(len(order))], 0)
    return ops.concat([parts[i] for i in order], 0)


def _directions(direction):
    if direction not in ("forward", "reverse", "bidirectional"):
        refuse(f"there is no direction {direction!r}")
    return [direction == "reverse"] if direction != "bidirectional" else [False, True]


def _one(x, d):
    return None if x is None else ops.squeeze(ops.slice(x, [0], [d], [d + 1]), [0])


def _run(kind, x, w, r, b, lengths, h0, c0, direction, activations, layout, order, step=None):
    """All directions; (outputs, last states, last cells) as ONNX has them."""
    if layout:
        x = ops.transpose(x, [1, 0, 2])
        h0, c0 = (None if s is None else ops.transpose(s, [1, 0, 2]) for s in (h0, c0))
    outs, hs, cs = [], [], []
    for d, reverse in enumerate(_directions(direction)):
        wi, wh = _gates(_one(w, d), order), _gates(_one(r, d), order)
        bi = bh = None
        if b is not None:
            bi, bh = ops.split(_one(b, d), [b.shape[1] // 2, -1], 0)
            bi, bh = _gates(bi, order), _gates(bh, order)
        of = (x, wi, wh, bi, bh, _one(h0, d), _one(c0, d))
        if step is None:
            mode = kind(d) if callable(kind) else kind
            # The op wants sizes of a state; none is zeros.
            out, h, c, _ = ops.rnn(*of[:5], None, of[5], of[6], lengths, mode, reverse, True)
        else:
            out, h, c = _stepped(*of, lengths, reverse, step(d))
        outs.append(out), hs.append(h), cs.append(c)
    y = ops.stack(outs, 1)
    h, c = ops.stack(hs, 0), ops.stack(cs, 0)
    if layout:
        y, h, c = ops.transpose(y, [2, 0, 1, 3]), ops.transpose(h, [1, 0, 2]), ops.transpose(c, [1, 0, 2])
    return y, h, c


def _stepped(x, wi, wh, bi, bh, h0, c0, lengths, reverse, step):
    """What the op cannot: one step after the other."""
    steps, batch, hidden = x.shape[0], x.shape[1], wh.shape[1]
    if hasattr(steps, "tensor"):
        refuse("other than usual activations, peepholes and linear_before_reset=0 need a number of steps that is known")
    check_turns(steps, x)
    h = ops.full([batch, hidden], 0.0, x.dtype) if h0 is None else h0
    c = ops.full([batch, hidden], 0.0, x.dtype) if c0 is None else c0
    outs = [None] * steps
    for t in range(steps - 1, -1, -1) if reverse else range(steps):
        new, cell = step(_one(x, t), h, c, wi, wh, bi, bh)
        if lengths is None:
            outs[t], h, c = new, new, cell
            continue
        going = ops.unsqueeze(ops.full([], t, lengths.dtype) < lengths, [1])  # else the sequence has ended
        h, c = ops.where(going, new, h), ops.where(going, cell, c)
        outs[t] = ops.where(going, new, ops.full_like(new, 0.0))
    return ops.stack(outs, 0), h, c


def _functions(activations, usual, d):
    names = activations[d * len(usual) : (d + 1) * len(usual)] if activations else usual
    for name in names:
        if name not in _FUNCTIONS:
            refuse(f"the activation {name!r} is not known here")
    return [_FUNCTIONS[name] for name in names], list(names) == list(usual)


def _linear(x, w, b):
    y = ops.matmul(x, w, False, True)
    return y if b is None else y + b


def from_RNN(x, w, r, b=None, lengths=None, h0=None, *, hidden_size=None, direction="forward", activations=None,
             activation_alpha=None, activation_beta=None, clip=None, layout=0):  # fmt: skip
    _no_clip(clip)
    modes = {"Tanh": "RNN_TANH", "Relu": "RNN_RELU"}
    names = activations or ["Tanh"] * len(_directions(direction))
    if all(n in modes for n in names):
        return _run(lambda d: modes[names[d]], x, w, r, b, lengths, h0, None, direction, None, layout, (0,))[:2]

    def step(d):
        (f,), _ = _functions(names, ["Tanh"], d)

        def one(x, h, c, wi, wh, bi, bh):
            return f(_linear(x, wi, bi) + _linear(h, wh, bh)), c

        return one

    return _run(None, x, w, r, b, lengths, h0, None, direction, names, layout, (0,), step)[:2]


def from_GRU(x, w, r, b=None, lengths=None, h0=None, *, hidden_size=None, direction="forward", activations=None,
             activation_alpha=None, activation_beta=None, clip=None, layout=0, linear_before_reset=0):  # fmt: skip
    _no_clip(clip)
    usual = not activations or list(activations) == _GRU * len(_directions(direction))
    if usual and linear_before_reset:
        return _run("GRU", x, w, r, b, lengths, h0, None, direction, None, layout, (1, 0, 2))[:2]

    def step(d):
        (f, g), _ = _functions(activations, _GRU, d)

        def one(x, h, c, wi, wh, bi, bh):  # gates z, r, h
            hidden = wh.shape[1]
            parts = [hidden, hidden, -1]
            xz, xr, xh = ops.split(_linear(x, wi, bi), parts, 1)
            wz, wr, wn = ops.split(wh, parts, 0)
            bz, br, bn = (None,) * 3 if bh is None else ops.split(bh, parts, 0)
            z, r = f(xz + _linear(h, wz, bz)), f(xr + _linear(h, wr, br))
            n = g(xh + (r * _linear(h, wn, bn) if linear_before_reset else _linear(r * h, wn, bn)))
            return (1.0 - z) * n + z * h, c

        return one

    return _run(None, x, w, r, b, lengths, h0, None, direction, activations, layout, (0, 1, 2), step)[:2]


def from_LSTM(x, w, r, b=None, lengths=None, h0=None, c0=None, p=None, *, hidden_size=None, direction="forward",
              activations=None, activation_alpha=None, activation_beta=None, clip=None, input_forget=0, layout=0):  # fmt: skip
    _no_clip(clip)
    usual = not activations or list(activations) == _LSTM * len(_directions(direction))
    if usual and p is None and not input_forget:
        return _run("LSTM", x, w, r, b, lengths, h0, c0, direction, None, layout, (0, 2, 3, 1))

    def step(d):
        (f, g, last), _ = _functions(activations, _LSTM, d)
        peep = None if p is None else ops.split(_one(p, d), [p.shape[1] // 3, p.shape[1] // 3, -1], 0)

        def one(x, h, c, wi, wh, bi, bh):  # gates i, o, f, c
            hidden = wh.shape[1]
            i, o, fg, n = ops.split(_linear(x, wi, bi) + _linear(h, wh, bh), [hidden] * 3 + [-1], 1)
            i = f(i if peep is None else i + peep[0] * c)
            fg = 1.0 - i if input_forget else f(fg if peep is None else fg + peep[2] * c)
            c = fg * c + i * g(n)
            o = f(o if peep is None else o + peep[1] * c)
            return o * last(c), c

        return one

    return _run(None, x, w, r, b, lengths, h0, c0, direction, activations, layout, (0, 1, 2, 3), step)


def _no_clip(clip):
    if clip:
        refuse("clip of a recurrent cell is not known here")
