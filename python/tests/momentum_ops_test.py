"""merged_momentum_ (rates and decays of their own) and sparse_momentum_ (gradients of places), against NumPy in float64."""

import numpy as np
import pytest

import proa
from proa import _C, _C_ops

ops = _C.ops
SHAPES = [(3,), (2, 5), (), (0, 4), (4, 1, 3), (2000,)]


def t(array, dtype=None):
    tensor = proa.to_tensor(np.asarray(array))
    return tensor.astype(dtype) if dtype else tensor


def step(p, g, v, lr, mu, nesterov, l2=0.0, scale=1.0):
    g = g * scale + l2 * p
    v = mu * v + g
    return p - lr * (g + mu * v if nesterov else v), v


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("rates", ["one", "own", "two"])
@pytest.mark.parametrize("l2", [[], [0.3], [0.0, 0.1, 0.2, 0.1, 0.0, 0.5]])
def test_merged(nesterov, rates, l2):
    rng = np.random.RandomState(len(l2))
    params, grads, velocities = ([rng.randn(*shape) for shape in SHAPES] for _ in range(3))
    own = [t(0.1 * (i + 1)) for i in range(len(SHAPES))]
    lrs = {"one": own[:1], "own": own, "two": [own[i % 2] for i in range(len(SHAPES))]}[rates]
    state = [[t(x) for x in xs] for xs in (params, grads, velocities)]
    for _ in range(3):
        ops.merged_momentum_(*state, lrs, 0.9, nesterov, l2, 0.5)
    for i, (p, g, v) in enumerate(zip(params, grads, velocities)):
        decay = (l2 * len(SHAPES) if len(l2) == 1 else l2 or [0.0] * len(SHAPES))[i]
        lr = (lrs * len(SHAPES) if len(lrs) == 1 else lrs)[i].item()
        for _ in range(3):
            p, v = step(p, g, v, lr, 0.9, nesterov, decay, 0.5)
        np.testing.assert_allclose(state[0][i].numpy(), p, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(state[2][i].numpy(), v, rtol=1e-12, atol=1e-15)


def test_merged_is_the_optimizer():
    """Momentum with groups of their own rates makes the same steps, bit for bit."""
    rng = np.random.RandomState(1)
    start, grads = (
        [rng.randn(4, 3).astype("float32") for _ in range(2)],
        [rng.randn(4, 3).astype("float32") for _ in range(2)],
    )
    made = [proa.create_parameter([4, 3], "float32") for _ in start]
    for p, x in zip(made, start):
        p.set_value(x)
    momentum = proa.optimizer.Momentum(
        0.1, 0.9, use_nesterov=True,
        parameters=[{"params": [made[0]]}, {"params": [made[1]], "learning_rate": 0.5, "weight_decay": 0.01}],
    )  # fmt: skip
    params, velocities = [t(x) for x in start], [proa.zeros([4, 3]) for _ in start]
    for _ in range(3):
        for p, g in zip(made, grads):
            p.grad = t(g)
        momentum.step()
        ops.merged_momentum_(params, [t(g) for g in grads], velocities,
                             [t(0.1), t(0.05)], 0.9, True, [0.0, 0.01])  # fmt: skip
    for one, other in zip(made, params):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)


@pytest.mark.parametrize("low", ["float16", "bfloat16"])
def test_merged_with_masters(low):
    rng = np.random.RandomState(2)
    masters = [t(rng.randn(5).astype("float32")) for _ in range(3)]
    grads = [t(rng.randn(5).astype("float32")).astype(low) for _ in range(3)]
    velocities, rounded = [proa.zeros([5]) for _ in range(3)], [m.astype(low) for m in masters]
    expected = [
        step(m.numpy().astype("float64"), g.astype("float64").numpy(), 0.0, lr, 0.9, False, 0.1)[0]
        for m, g, lr in zip(masters, grads, (0.1, 0.2, 0.1))
    ]
    fast = t(0.1)
    result = _C_ops.merged_momentum(
        rounded, grads, velocities, [fast, t(0.2), fast], masters, rounded, velocities, masters, "mu", 0.9,
        "regularization_method", ["l2_decay"] * 3, "regularization_coeff", [0.1] * 3, "multi_precision", True,
    )  # fmt: skip
    assert result[0][0] is rounded[0]
    for master, narrow, x in zip(masters, rounded, expected):
        np.testing.assert_allclose(master.numpy(), x, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(narrow.astype("float32").numpy(), master.astype(low).astype("float32").numpy())


def test_merged_with_rows():
    """A gradient that holds rows is as one of zeros between them."""
    p, rows = t(np.arange(12.0).reshape(4, 3)), proa.row_sparse(t([2, 0, 2]), t(np.ones([3, 3])), 4)
    other, velocities = p.clone(), [proa.ones([4, 3], "float64") for _ in range(2)]
    ops.merged_momentum_([p, other], [rows, rows.to_dense()], velocities, [t(0.1), t(0.1)], 0.9)
    np.testing.assert_array_equal(p.numpy(), other.numpy())
    np.testing.assert_allclose(p.numpy()[2], np.arange(6.0, 9.0) - 0.1 * 2.9)


@pytest.mark.parametrize("shape, axis, places", [
    ((6, 3), 0, [4, 1]), ((6, 3), 0, [5, 0, 5]), ((6, 3), 0, []), ((4, 6), 1, [0, 5, 2]), ((4, 6), -1, [3, 3]), ((7,), 0, [6]),
    ((2, 5, 3), 1, [4, 0]), ((2, 5, 3), 2, [1]), ((3, 0), 0, [2]),
])  # fmt: skip
@pytest.mark.parametrize("nesterov, l2", [(False, 0.0), (True, 0.0), (True, 0.2)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("index", ["int64", "int32", "column"])
def test_sparse(shape, axis, places, nesterov, l2, dtype, index):
    rng = np.random.RandomState(len(places))
    p, v = rng.randn(*shape), rng.randn(*shape)
    g = rng.randn(*(len(places) if i == axis % len(shape) else n for i, n in enumerate(shape)))
    dense = np.zeros(shape)
    np.add.at(dense, (slice(None),) * (axis % len(shape)) + (places,), g) if places else None
    at = np.asarray(places, "int32" if index == "int32" else "int64")
    param, velocity = t(p, dtype), t(v, dtype)
    for _ in range(2):
        ops.sparse_momentum_(param, t(g, dtype), velocity, t(at[:, None] if index == "column" else at), t(0.1), 0.9,
                             nesterov, axis, l2, 0.5)  # fmt: skip
        p, v = step(p, dense, v, 0.1, 0.9, nesterov, l2, 0.5)
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    np.testing.assert_allclose(param.numpy(), p, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(velocity.numpy(), v, rtol=tolerance, atol=tolerance)


def test_sparse_as_the_reference_calls_it():
    rng = np.random.RandomState(3)
    master, g = rng.randn(4, 2).astype("float32"), rng.randn(2, 2).astype("float16")
    param, wide, velocity = t(master, "float16"), t(master), proa.zeros([4, 2])
    dense = np.zeros([4, 2])
    dense[[3, 1]] = g
    found = _C_ops.sparse_momentum(
        param, t(g), velocity, t([3, 1]), t(np.float32([0.1])), wide, param, velocity, wide, "mu", 0.9, "use_nesterov", True,
        "axis", 0, "regularization_method", "l2_decay", "regularization_coeff", 0.1, "multi_precision", True,
    )  # fmt: skip
    assert found[0] is param
    expected, _ = step(master.astype("float64"), dense, 0.0, 0.1, 0.9, True, 0.1)
    np.testing.assert_allclose(wide.numpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(param.numpy(), wide.numpy().astype("float16"))


def test_what_they_refuse():
    p, g, lr = proa.ones([3, 2]), proa.ones([1, 2]), t(0.1)
    for method, says in (("l1_decay", "must be '' or 'l2_decay'"), (None, "must be ''")):
        with pytest.raises(ValueError, match=says):
            _C_ops.sparse_momentum(p, g, p.clone(), t([0]), lr, "regularization_method", method)
    with pytest.raises(ValueError, match="asks for master parameters"):
        _C_ops.sparse_momentum(p, g, p.clone(), t([0]), lr, "multi_precision", True)
    with pytest.raises(ValueError, match="has 1 names, regularization_coeff 2"):
        _C_ops.merged_momentum(
            [p], [p], [p.clone()], [lr], "regularization_method", [""], "regularization_coeff", [0.1, 0.2]
        )
    for places, says in (([3], "row 3 at"), ([-1], "row -1 at")):
        with pytest.raises(IndexError, match=f"{says}.*out of range for 3 rows"):
            ops.sparse_momentum_(p, g, p.clone(), t(places), lr, 0.9)
    assert p.tolist() == [[1, 1]] * 3
    leaf = proa.create_parameter([3, 2], "float32")
    with pytest.raises(RuntimeError):  # outside of no_grad
        ops.sparse_momentum_(leaf, g, p.clone(), t([0]), lr, 0.9)
    ops.merged_momentum_([], [], [], [lr], 0.9)


def test_in_a_program():
    """A recorded step is the step."""
    proa.enable_static()
    try:
        main = proa.static.Program()
        with proa.static.program_guard(main):
            g, index = proa.static.data("g", [2, 3]), proa.static.data("i", [2], "int64")
            p = proa.static.create_global_var([4, 3], 1.0, "float32", persistable=True)
            v = proa.static.create_global_var([4, 3], 0.0, "float32", persistable=True)
            lr = proa.full([1], 0.1)
            with proa.no_grad():
                _C.ops.sparse_momentum_(p, g, v, index, lr, 0.9)
                _C.ops.merged_momentum_([p], [proa.full([4, 3], 1.0)], [v], [lr], 0.9)
        exe = proa.static.Executor()
        for _ in range(2):
            (result,) = exe.run(main, feed={"g": np.ones([2, 3], "float32"), "i": np.array([1, 3])}, fetch_list=[p])
    finally:
        proa.disable_static()
    value, velocity = np.ones(4), np.zeros(4)
    for _ in range(2):
        value, velocity = step(value, np.array([0.0, 1, 0, 1]), velocity, 0.1, 0.9, False)
        value, velocity = step(value, 1.0, velocity, 0.1, 0.9, False)
    np.testing.assert_allclose(result, np.repeat(value[:, None], 3, 1), rtol=1e-6)
