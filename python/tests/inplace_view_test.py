"""In-place changes, views and setitem under differentiation.

Single rows of the table in autograd/README.md.
"""

import gc
import weakref

import numpy as np
import pytest

import proa as paddle
from proa import _C


def _tensor(a, grad=False):
    return paddle.to_tensor(np.asarray(a, "float64"), stop_gradient=not grad)


def _grads(y, *xs):
    return [None if g is None else g.numpy() for g in paddle.grad(y, list(xs), retain_graph=True, allow_unused=True)]


# Views --------------------------------------------------------------------------------


def test_change_of_a_view_reaches_its_base():
    x, w = _tensor([[1.0, 2.0], [3.0, 4.0]], True), _tensor([5.0, 6.0], True)
    b = x * 2
    v = b[1]
    v.add_(w)
    assert b.tolist() == [[2.0, 4.0], [11.0, 14.0]]
    c = _tensor([[1.0, 10.0], [100.0, 1000.0]])
    gx, gw = _grads((b * c).sum(), x, w)
    assert gx.tolist() == [[2.0, 20.0], [200.0, 2000.0]]
    assert gw.tolist() == [100.0, 1000.0]


def test_base_without_grad_becomes_one_with():
    b, w = paddle.zeros([3]), paddle.to_tensor([2.0], stop_gradient=False)
    before = b[0:2]
    assert before.stop_gradient
    b[0:1].add_(w)
    assert not b.stop_gradient and not before.stop_gradient
    assert not b.is_leaf and not before.is_leaf
    (before * 3).sum().backward()
    assert w.grad.tolist() == [3.0]


def test_view_reads_what_was_written_through_another():
    x = _tensor([1.0, 2.0, 3.0, 4.0], True)
    b = x * 1
    first, reversed_, row = b[:2], b[::-1], b.reshape([2, 2])[1]
    first.scale_(10.0)
    row.add_(first.clone())
    assert reversed_.tolist() == [24.0, 13.0, 20.0, 10.0]
    (g,) = _grads((reversed_ * _tensor([1.0, 10.0, 100.0, 1000.0])).sum(), x)
    assert g.tolist() == [10000 + 100, 1000 + 10, 10, 1]


def test_expanded_view_sums_over_its_repetitions():
    x, w = _tensor([1.0, 2.0], True), _tensor([1.0, 1.0], True)
    b = x * 1
    wide = b.expand([3, 2])
    b.add_(w)
    (gw,) = _grads((wide * _tensor([[1, 2], [3, 4], [5, 6]])).sum(), w)
    assert gw.tolist() == [9.0, 12.0]
    with pytest.raises(ValueError, match="along dim 0 are one and the same"):
        wide.add_(w)
    with pytest.raises(ValueError, match="one and the same"):
        paddle.ones([2]).expand([3, 2]).add_(paddle.ones([2]))


def test_complex_base_and_its_real_view():
    x = paddle.to_tensor(np.array([1 + 2j, 3 + 4j]), stop_gradient=False)
    w = _tensor([[1.0, 2.0], [3.0, 4.0]], True)
    b = x * 1
    parts = paddle.as_real(b)
    parts.scale_(2.0)
    parts.add_(w)
    assert b.tolist() == [3 + 6j, 9 + 12j]
    c = _tensor([[1.0, 10.0], [100.0, 1000.0]])
    gx, gw = _grads((paddle.as_real(b) * c).sum(), x, w)
    assert gx.tolist() == [2 + 20j, 200 + 2000j]
    assert gw.tolist() == c.tolist()
    b.add_(paddle.to_tensor(np.array([1j, 1j])))
    (gw,) = _grads((parts * c).sum(), w)
    assert gw.tolist() == c.tolist()


def test_reshape_in_place_keeps_the_link():
    x, w = _tensor(np.arange(4.0), True), _tensor([1.0, 1.0], True)
    b = x * 1
    v = b[:]
    b.reshape_([2, 2])
    v.reshape_([2, 2])
    b[1].add_(w)
    assert v.tolist() == [[0, 1], [3, 4]]
    gx, gw = _grads((v * _tensor([[1, 2], [3, 4]])).sum(), x, w)
    assert gx.tolist() == [1, 2, 3, 4] and gw.tolist() == [3, 4]


def test_copying_reshape_is_no_view():
    x, w = _tensor(np.arange(6.0).reshape(2, 3), True), _tensor([1.0], True)
    b = x * 1
    flat = b.t().reshape([6])
    flat[0:1].add_(w)
    assert b[0, 0].item() == 0.0
    gx, gw = _grads((flat * _tensor(np.arange(6.0))).sum(), x, w)
    assert gx.tolist() == [[0, 2, 4], [1, 3, 5]] and gw.tolist() == [0.0]


def test_split_gives_copies_and_unbind_views():
    x, w = _tensor([1.0, 2.0, 3.0], True), _tensor([5.0], True)
    b = x * 1
    first, rest = paddle.split(b, [1, 2])
    rest.scale_(3.0)
    first.add_(w)
    assert b.tolist() == [1, 2, 3]
    one, two, three = paddle.unbind(b)
    two.subtract_(one.clone())
    assert b.tolist() == [1, 1, 3]
    (gx,) = _grads((b * _tensor([1, 10, 100])).sum(), x)
    assert gx.tolist() == [1 - 10, 10, 100]
    gx, gw = _grads(three + rest.sum() + first.sum(), x, w)
    assert gx.tolist() == [1, 3, 4] and gw.tolist() == [1]


def test_hook_and_retained_gradient_of_a_changed_view():
    x = _tensor([1.0, 2.0], True)
    b = x * 1
    v = b[0:1]
    b.scale_(3.0)
    v.retain_grads()
    seen = []
    v.register_hook(lambda g: seen.append(g.tolist()))
    (v * 5).sum().backward()
    assert v.grad.tolist() == [5.0] and seen == [[5.0]]
    assert x.grad.tolist() == [15.0, 0.0]


# What is refused, what is allowed ---------------------------------------------------------


def test_leaf():
    x = _tensor([1.0, 2.0], True)
    for change in (
        lambda: x.add_(x),
        lambda: x.reshape_([2, 1]),
        lambda: x.__setitem__(0, 1.0),
    ):
        with pytest.raises(RuntimeError, match="leaf that requires grad"):
            change()
    with pytest.raises(RuntimeError, match=r"add_: cannot change x in place.*leaf.*stop_gradient.*no_grad"):
        x.add_(x)
    with paddle.no_grad():
        x.add_(_tensor([1.0, 1.0]))
        x[0] = 7.0
        x[1:].scale_(2.0)
        x.reshape_([2, 1])
    assert x.tolist() == [[7.0], [6.0]] and not x.stop_gradient and x.is_leaf
    (x * 2).sum().backward()
    assert x.grad.tolist() == [[2.0], [2.0]]


def test_view_made_under_no_grad():
    x, w = _tensor([1.0, 2.0], True), _tensor([1.0], True)
    b = x * 1
    with paddle.no_grad():
        v = b[0:1]
    assert v.stop_gradient
    with pytest.raises(RuntimeError, match="a view made under no_grad"):
        v.add_(w)
    v.add_(_tensor([1.0]))  # no part of a graph: a change of the data
    (g,) = _grads(b.sum(), x)
    assert g.tolist() == [1.0, 1.0]


def test_change_under_no_grad_is_a_change_of_the_data():
    x = _tensor([1.0, 2.0], True)
    b = x * 3
    v = b[0:1]
    with paddle.no_grad():
        v.add_(_tensor([1.0]))
        b.scale_(2.0)
    assert b.tolist() == [8.0, 12.0]
    (g,) = _grads((b + 0).sum() + v.sum(), x)
    assert g.tolist() == [6.0, 3.0]


def test_view_made_before_its_base_became_a_leaf():
    b = paddle.ones([2])
    v = b[0:1]
    b.stop_gradient = False
    assert v.stop_gradient
    (v * b).sum().backward()
    assert b.grad.tolist() == [1.0, 1.0]
    w = paddle.to_tensor([1.0], stop_gradient=False)
    v.add_(w)
    v.sum().backward()
    assert w.grad.tolist() == [1.0] and b.grad.tolist() == [1.0, 1.0] and b.tolist() == [2.0, 1.0]


def test_other_shape_or_dtype_does_not_fit():
    x, w = _tensor([[1.0, 2.0]], True), _tensor([[1.0, 2.0], [3.0, 4.0]], True)
    b = x * 1
    with pytest.raises(ValueError, match="add_: the result has shape \\[2, 2\\], which does not fit in place"):
        b.add_(w)
    f = paddle.ones([2])
    with pytest.raises((ValueError, TypeError), match="which does not fit in place"):
        f.add_(_tensor([1.0, 2.0], True))
    assert f.stop_gradient
    (g,) = _grads(b.sum(), x)
    assert g.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("name", ["exp_", "tanh_", "sigmoid_", "sqrt_", "rsqrt_", "reciprocal_"])
def test_saved_output_may_be_the_changed_tensor(name):
    x = _tensor([0.5, 2.0, 3.0], True)
    b = x * 1
    getattr(b, name)()
    want = getattr(paddle, name[:-1], None) or getattr(paddle.nn.functional, name[:-1])
    (g,) = _grads(b.sum(), x)
    (e,) = _grads(want(x).sum(), x)
    np.testing.assert_allclose(g, e)
    v = (x * 1)[0:2]
    getattr(v, name)()
    (g,) = _grads(v.sum(), x)
    np.testing.assert_allclose(g, [e[0], e[1], 0])


def test_add_to_itself():
    x = _tensor([1.0, 2.0], True)
    b = x * 1
    b.add_(b)
    b[0:1].add_(b[0:1])
    b[0:1].add_(b[1:2])
    (g,) = _grads((b * _tensor([1.0, 10.0])).sum(), x)
    assert b.tolist() == [8.0, 4.0] and g.tolist() == [4.0, 22.0]


# Setting items ------------------------------------------------------------------------------

_KEYS = [
    (1, ()),
    (1, (3,)),
    (slice(None, None, -1), (2, 3)),
    ((slice(0, 1), 2), (1,)),
    ((Ellipsis, 1), (2,)),
    ((0, [2, 0]), (2,)),
    (([1, 0], [2, 0]), (2,)),
    ([1, 1], (2, 3)),
    ((slice(None), [0, 2]), (2, 2)),
    (np.array([[True, False, True], [False, True, False]]), (3,)),
    (np.array([True, False]), (1, 3)),
    (np.array([[True, False, True], [False, True, False]]), ()),
    ((None, 0), (1, 3)),
]


@pytest.mark.parametrize("key,shape", _KEYS, ids=str)
@pytest.mark.parametrize("grad_x,grad_v", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("through_view", [False, True])
def test_setitem(key, shape, grad_x, grad_v, through_view):
    a = np.arange(6.0).reshape(2, 3) + 1
    val = np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape) * 10
    x, v = _tensor(a, grad_x), _tensor(val, grad_v)
    b = paddle.transpose(x.t() * 1, [1, 0]) if through_view else x * 1
    b[key] = v
    want = a.copy()
    want[key] = val
    assert b.tolist() == want.tolist()
    c = np.arange(6.0).reshape(2, 3) * 7 + 1
    gx, gv = _grads((b * _tensor(c)).sum(), x, v)
    # Which element of the value ended where: numbers that set it.
    place = np.full(a.shape, -1)
    place[key] = np.arange(val.size).reshape(val.shape)
    if grad_x:
        np.testing.assert_allclose(gx, c * (place < 0))
    if grad_v:
        want = [c[place == i].sum() for i in range(val.size)]
        np.testing.assert_allclose(gv, np.reshape(want, shape))


def test_setitem_of_an_overlapping_part_of_itself():
    x = _tensor([1.0, 2.0, 3.0, 4.0], True)
    b = x * 1
    b[1:] = b[:-1]
    b[0] = b[3]
    assert b.tolist() == [3.0, 1.0, 2.0, 3.0]
    (g,) = _grads((b * _tensor([1.0, 10.0, 100.0, 1000.0])).sum(), x)
    assert g.tolist() == [10.0, 100.0, 1001.0, 0.0]


def test_setitem_while_views_live():
    x, v = _tensor([[1.0, 2.0], [3.0, 4.0]], True), _tensor([5.0, 6.0], True)
    b = x * 1
    column = b[:, 1]
    b[1] = v
    b[paddle.to_tensor([0]), 1] = 0.0
    assert column.tolist() == [0.0, 6.0]
    gx, gv = _grads((column * _tensor([1.0, 10.0])).sum(), x, v)
    assert gx.tolist() == [[0, 0], [0, 0]] and gv.tolist() == [0, 10]


def test_composites_in_place():
    x, value = _tensor([1.0, 2.0, 3.0], True), paddle.to_tensor(7.0, "float64", stop_gradient=False)
    b = x * 1
    v = b[1:]
    v[v > 2.5] = value
    assert b.tolist() == [1.0, 2.0, 7.0]
    gx, gv = _grads((b * _tensor([1.0, 10.0, 100.0])).sum(), x, value)
    assert gx.tolist() == [1.0, 10.0, 0.0] and gv == 100.0


# Leaks -----------------------------------------------------------------------------------------


def _allocated():
    return _C.memory_figures("cpu")["allocated"] if hasattr(_C, "memory_figures") else None


def test_nothing_is_held():
    w = _tensor(np.ones(100), True)

    def program(backward):
        b = paddle.zeros([4, 100], "float64")
        v, u = b[0], b.reshape([2, 2, 100])[0]
        v.add_(w)
        u[1] = v + w
        b.multiply_(b.detach().clone())
        u.add_(u)
        b[b > 0.5] = w.sum()
        if backward:
            (u.sum() + b[3].sum()).backward()
            w.clear_gradient()
        u.multiply_(u)  # saves itself
        return [weakref.ref(t) for t in (b, v, u)]

    gc.collect()
    gc.disable()
    try:
        for i in range(300):
            refs = program(i % 2 == 0)
            assert [r() for r in refs] == [None, None, None]
            if i == 20:
                before = paddle.device.memory_allocated("cpu") if hasattr(paddle.device, "memory_allocated") else 0
        after = paddle.device.memory_allocated("cpu") if hasattr(paddle.device, "memory_allocated") else 0
        assert after <= before
    finally:
        gc.enable()


# Programs ----------------------------------------------------------------------------------------


def _run_program(build, **feeds):
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        inputs = {n: paddle.static.data(n, shape, "float64") for n, (shape, _) in feeds.items()}
        for t in inputs.values():
            t.stop_gradient = False
        fetch = build(**inputs)
    return paddle.static.Executor().run(main, {n: np.asarray(a, "float64") for n, (_, a) in feeds.items()}, fetch)


def test_change_of_a_symbolic_view_reaches_its_base():
    def build(x, w):
        b = x * 2
        before, v = b[:, 0], b[1]
        v.add_(w)
        after = b.reshape([-1])
        loss = (before * w).sum() + after.sum()
        return [b, v, before, after, *paddle.static.gradients(loss, [x, w])]

    a, w = np.arange(4.0).reshape(2, 2), np.array([10.0, 20.0])
    b, v, before, after, gx, gw = _run_program(build, x=([2, 2], a), w=([2], w))
    want = a * 2
    want[1] += w
    assert b.tolist() == want.tolist() and v.tolist() == want[1].tolist()
    assert before.tolist() == want[:, 0].tolist() and after.tolist() == want.ravel().tolist()
    assert gx.tolist() == [[2 * 11, 2], [2 * 21, 2]]
    assert gw.tolist() == [before[0] + 20 + 1, before[1] + 1]


def test_change_of_a_symbolic_base_reaches_its_views():
    def build(x):
        b = x * 1
        v = b[0]
        b.scale_(3.0)
        b[1] = 7.0
        flat = b.t()[1]
        b.reshape_([4])
        b.add_(b)
        return [v, flat, b, paddle.static.gradients((v * v).sum(), [x])[0]]

    v, flat, b, g = _run_program(build, x=([2, 2], [[1, 2], [3, 4]]))
    assert v.tolist() == [6, 12] and flat.tolist() == [12, 14] and b.tolist() == [6, 12, 14, 14]
    assert g.tolist() == [[2 * 6 * 6, 2 * 12 * 6], [0, 0]]


def test_symbolic_views_that_cannot_be_recorded():
    weight = paddle.ones([2, 2], "float64")

    def outside(x):
        row = weight[0]
        return [row.add_(x)]

    def wide(x):
        return [(x * 1).expand([3, 2]).add_(x)]

    with pytest.raises(ValueError, match="a view of a tensor from outside of the program"):
        _run_program(outside, x=([2], [1, 2]))
    with pytest.raises(ValueError, match="one and the same"):
        _run_program(wide, x=([2], [1, 2]))


def _write(view, key=0):
    def change(x):
        y = view(x)
        y[key] = 5.0
        return y

    return change


def _twice(x):
    y = x.reshape([-1])
    y[0] = x[1] * 2
    return y


# What is made of a leaf x, the values of x then, and the gradient of the sum of 1, 2, ... times the result: as the
# reference has them.
@pytest.mark.parametrize(
    "change, values, gradient",
    [
        (_write(lambda x: x.reshape([-1])), [5, 2, 3, 4], [0, 2, 3, 4]),
        (_write(lambda x: x.reshape([2, 2])), [5, 5, 3, 4], [0, 0, 3, 4]),
        (_write(lambda x: x[1:]), [1, 5, 3, 4], [0, 0, 2, 3]),
        (_write(lambda x: x.unsqueeze(0)), [5, 5, 5, 5], [0, 0, 0, 0]),
        (_write(lambda x: x.reshape([2, 2]).transpose([1, 0])), [5, 2, 5, 4], [0, 3, 0, 4]),
        (_write(lambda x: x.flatten()), [5, 2, 3, 4], [0, 2, 3, 4]),
        (_write(lambda x: x.unsqueeze(0).squeeze(0)), [5, 2, 3, 4], [0, 2, 3, 4]),
        (_write(lambda x: paddle.split(x, 2)[0]), [1, 2, 3, 4], [0, 2, 0, 0]),
        (lambda x: x.reshape([-1]).add_(paddle.to_tensor(1.0)), [2, 3, 4, 5], [1, 2, 3, 4]),
        (lambda x: x.reshape([-1]).zero_(), [0, 0, 0, 0], [0, 0, 0, 0]),
        (_twice, [4, 2, 3, 4], [0, 4, 3, 4]),
        (lambda x: x * _write(lambda x: x.reshape([-1]))(x), [5, 2, 3, 4], [5, 8, 18, 32]),
    ],
)
def test_writing_into_a_view_of_a_leaf(change, values, gradient):
    x = _tensor([1.0, 2.0, 3.0, 4.0], True)
    y = change(x)
    (y * paddle.arange(1.0, y.size + 1).reshape(y.shape)).sum().backward()
    assert x.tolist() == values
    assert x.grad is not None and x.grad.tolist() == gradient and x.is_leaf


def test_each_round_writes_into_a_view_of_a_leaf_anew():
    x = _tensor([1.0, 2.0], True)
    for k in range(3):
        y = x.reshape([-1])
        y[0] = 7.0
        y.sum().backward()
        assert x.grad.tolist() == [0.0, k + 1.0]
