"""Random programs of views, in-place changes and reads, against an interpreter that has no views.

It keeps the elements in one flat tensor and a view as an array of positions in it.
"""

import numpy as np
import pytest

import proa as paddle


def _tensor(a, grad=False):
    return paddle.to_tensor(np.asarray(a, "float64"), stop_gradient=not grad)


def _grads(y, *xs):
    return [None if g is None else g.numpy() for g in paddle.grad(y, list(xs), retain_graph=True, allow_unused=True)]


class _Flat:
    """The reference: elements in one flat tensor, views as positions; ops out of place only."""

    def __init__(self, flat):
        self.flat = flat
        self.n = flat.shape[0]

    def _pick(self, places):
        rows = np.zeros((places.size, self.n))
        rows[np.arange(places.size), places.ravel()] = 1
        return _tensor(rows)

    def read(self, places):
        return paddle.matmul(self._pick(places), self.flat).reshape(list(places.shape))

    def write(self, places, value):
        pick = self._pick(places)
        kept = np.ones(self.n)
        kept[places.ravel()] = 0
        flat = paddle.matmul(pick, value.reshape([places.size]), transpose_x=True)
        self.flat = self.flat * _tensor(kept) + flat


def _view_of(rng, t, places):
    """A random view of a tensor, and of its positions."""
    kind = rng.integers(6)
    if kind == 0 and places.ndim:
        i = int(rng.integers(places.shape[0]))
        return t[i], places[i]
    if kind == 1 and places.ndim:
        step = int(rng.choice([-1, 1, 2]))
        start = int(rng.integers(places.shape[0]))
        return t[start::step], places[start::step]
    if kind == 2:
        return paddle.transpose(t, list(range(places.ndim))[::-1]), places.T
    if kind == 3 and np.array_equal(places.ravel(), np.arange(places.size) + (places.ravel()[0] if places.size else 0)):
        return t.reshape([-1]), places.reshape(-1)
    if kind == 4:
        return t.unsqueeze(0), places[None]
    if kind == 5 and places.ndim >= 2:
        return paddle.diagonal(t), np.diagonal(places)
    return t[...], places[...]


def _change(rng, t, ref, places, w, w_ref):
    """The same random change of a view, in place and in the reference."""
    c = rng.standard_normal(places.shape)
    kind = rng.integers(7)
    old = ref.read(places)
    if kind == 0:
        t.add_(_tensor(c) * w)
        new = old + _tensor(c) * w_ref
    elif kind == 1:
        t.multiply_(_tensor(c))
        new = old * _tensor(c)
    elif kind == 2:
        t.scale_(0.5, 1.0)
        new = old * 0.5 + 1.0
    elif kind == 3 and places.ndim:
        i = int(rng.integers(places.shape[0]))
        t[i] = w * _tensor(c[i])
        new, places = w_ref * _tensor(c[i]), places[i]
    elif kind == 4:
        mask = paddle.to_tensor(c > 0)
        t[mask] = w * 2
        new = paddle.where(mask, _tensor(np.ones(places.shape)) * w_ref * 2, old)
    elif kind == 5:
        t.subtract_(t)
        new = old - old
    else:
        t.tanh_()
        new = paddle.tanh(old)
    ref.write(places, new)


def _start(rng):
    a, w, with_history = rng.standard_normal((2, 3)), rng.standard_normal(), rng.integers(3) > 0
    return a, w, bool(with_history)


def _steps(rng, count):
    """What to do with which of `count` views so far; the caller adds a view for each 0."""
    for _ in range(int(rng.integers(3, 10))):
        action = int(rng.integers(3))
        yield action, int(rng.integers(count))
        count += action == 0


def _grad_or_none(y, xs, **options):
    """None where backward needs a value that the program has overwritten."""
    try:
        return paddle.grad(y, xs, allow_unused=True, **options)
    except RuntimeError as e:
        assert "changed in place by" in str(e)
        return None


def _assert_same(grads, want, tolerance, message):
    for g, e in zip(grads, want):
        g, e = (np.zeros(1) if v is None else v.numpy().ravel() for v in (g, e))
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance, err_msg=message)


def _run_beside_reference(seed):
    """True if the program could be differentiated twice, and all was right."""
    rng = np.random.default_rng(seed)
    a, w0, with_history = _start(rng)
    x, w = _tensor(a, with_history), _tensor(w0, True)
    xr, wr = _tensor(a.ravel(), with_history), _tensor(w0, True)
    ref = _Flat(xr * 1.5)
    tensors, positions = [x * 1.5], [np.arange(6).reshape(2, 3)]
    loss, loss_ref = w * 0, wr * 0
    for action, i in _steps(rng, 1):
        if action == 0:
            t, places = _view_of(rng, tensors[i], positions[i])
            tensors.append(t)
            positions.append(places)
        elif action == 1:
            _change(rng, tensors[i], ref, positions[i], w, wr)
        else:
            c = _tensor(rng.standard_normal(positions[i].shape))
            loss = loss + (paddle.sin(tensors[i] + 0) * c).sum()
            loss_ref = loss_ref + (paddle.sin(ref.read(positions[i])) * c).sum()
    for t, places in zip(tensors, positions):
        np.testing.assert_allclose(t.numpy(), ref.read(places).numpy(), rtol=1e-12, atol=1e-12)
        loss = loss + (t + 0).sum() * w
        loss_ref = loss_ref + ref.read(places).sum() * wr
    inputs, inputs_ref = ([x, w], [xr, wr]) if with_history else ([w], [wr])
    grads = _grad_or_none(loss, inputs, create_graph=True)
    if grads is None:
        return False
    want = _grad_or_none(loss_ref, inputs_ref, create_graph=True)
    _assert_same(grads, want, 1e-9, f"seed {seed}")
    if all(e.stop_gradient for e in want):
        return False
    norm, norm_ref = (sum((g * g).sum() for g in gs if not g.stop_gradient) for gs in (grads, want))
    second = _grad_or_none(norm, inputs)
    if second is None:
        return False
    _assert_same(second, _grad_or_none(norm_ref, inputs_ref), 1e-8, f"seed {seed}")
    return True


@pytest.mark.parametrize("block", range(8))
def test_random_programs(block):
    assert sum(_run_beside_reference(seed) for seed in range(block * 25, block * 25 + 25)) >= 8


def _record(seed, x, w, wrap):
    """The program of a seed over given tensors: the values of all views, and a loss."""
    rng = np.random.default_rng(seed)
    _start(rng)
    tensors, positions, loss = [x * 1.5], [np.arange(6).reshape(2, 3)], w * 0
    for action, i in _steps(rng, 1):
        t, places = tensors[i], positions[i]
        c = wrap(rng.standard_normal(places.shape))
        kind = int(rng.integers(5))
        if action == 0:
            t, places = _view_of(rng, t, places)
            tensors.append(t)
            positions.append(places)
        elif action == 2:
            loss = loss + (paddle.sin(t + 0) * c).sum()
        elif kind == 0:
            t.add_(c * w)
        elif kind == 1:
            t.multiply_(c)
        elif kind == 2 and places.ndim:
            t[int(rng.integers(places.shape[0]))] = w
        elif kind == 3:
            t.subtract_(t)
        else:
            t.scale_(0.5, 1.0)
    for t in tensors:
        loss = loss + (t + 0).sum() * w
    return tensors, loss


def _constant(a):
    return paddle.to_tensor(np.asarray(a, "float64"))


def test_random_programs_recorded_equal_eager_ones():
    for seed in range(1000, 1060):
        a, w0, _ = _start(np.random.default_rng(seed))
        x, w = _tensor(a, True), _tensor(w0, True)
        tensors, loss = _record(seed, x, w, _tensor)
        grads = paddle.grad(loss, [x, w])
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            xs = paddle.static.data("x", [2, 3], "float64")
            ws = paddle.static.data("w", [], "float64")
            xs.stop_gradient = ws.stop_gradient = False
            values, cost = _record(seed, xs, ws, _constant)
            fetch = [*values, cost, *paddle.static.gradients(cost, [xs, ws])]
        got = paddle.static.Executor().run(main, {"x": a, "w": np.asarray(w0)}, fetch)
        for g, e in zip(got, [*tensors, loss, *grads]):
            np.testing.assert_allclose(g, e.numpy(), rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}")
