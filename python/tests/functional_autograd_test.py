"""proa.incubate.autograd: vjp, jvp, Jacobian, Hessian against closed forms, SciPy and differences."""

import numpy as np
import pytest
from scipy import optimize

import proa
from proa.incubate.autograd import Hessian, Jacobian, jvp, vjp

_RNG = np.random.default_rng(4)


def _tensor(*shape):
    return proa.to_tensor(_RNG.normal(size=shape))


def _differences(f, *xs, eps=1e-6):
    """The Jacobian of a function of NumPy arrays, [M, N]."""
    columns = []
    for k, x in enumerate(xs):
        for i in range(x.size):
            moved = [[a.copy() for a in xs] for _ in range(2)]
            moved[0][k].reshape(-1)[i] += eps
            moved[1][k].reshape(-1)[i] -= eps
            plus, minus = (np.concatenate([np.ravel(y) for y in f(*m)]) for m in moved)
            columns.append((plus - minus) / (2 * eps))
    return np.stack(columns, axis=1)


# vjp and jvp


def test_vjp_closed_form():
    a, x, v = _RNG.normal(size=(3, 4)), _tensor(4), _tensor(3)
    y, g = vjp(lambda x: proa.matmul(proa.to_tensor(a), x), x, v)
    np.testing.assert_allclose(y.numpy(), a @ x.numpy())
    np.testing.assert_allclose(g.numpy(), a.T @ v.numpy())
    assert x.stop_gradient and x.grad is None
    _, g = vjp(lambda x: x * x, x)
    np.testing.assert_allclose(g.numpy(), 2 * x.numpy())


def test_jvp_closed_form():
    a, x, v = _RNG.normal(size=(3, 4)), _tensor(4), _tensor(4)
    y, t = jvp(lambda x: proa.matmul(proa.to_tensor(a), x), x, v)
    np.testing.assert_allclose(t.numpy(), a @ v.numpy())
    _, t = jvp(lambda x: proa.sin(x), x)
    np.testing.assert_allclose(t.numpy(), np.cos(x.numpy()))


def test_structures():
    x, y = _tensor(2, 3), _tensor(3, 2)

    def f(x, y):
        return proa.matmul(x, y), x.sum()

    out, grads = vjp(f, [x, y], [proa.ones([2, 2], "float64"), proa.zeros([], "float64")])
    assert isinstance(out, tuple) and isinstance(grads, tuple) and len(grads) == 2
    np.testing.assert_allclose(grads[0].numpy(), np.ones((2, 2)) @ y.numpy().T)
    out, tangents = jvp(f, (x, y), (x, proa.zeros_like(y)))
    assert isinstance(tangents, tuple)
    np.testing.assert_allclose(tangents[0].numpy(), x.numpy() @ y.numpy())
    np.testing.assert_allclose(tangents[1].numpy(), x.numpy().sum())
    _, grads = vjp(lambda x: x * 2, [x])
    assert isinstance(grads, tuple)


def test_what_does_not_take_part():
    x, y = _tensor(2), _tensor(3)
    _, (gx, gy) = vjp(lambda x, y: x * 2, [x, y])
    assert gy.tolist() == [0.0] * 3
    _, g = vjp(lambda x: proa.ones([2], "float64"), x)
    assert g.tolist() == [0.0, 0.0]
    _, t = jvp(lambda x: proa.ones([2], "float64"), x)
    assert t.tolist() == [0.0, 0.0]
    _, t = jvp(lambda x: x * 3, x)  # the gradient does not depend on x
    assert t.tolist() == [3.0, 3.0]


def test_vjp_and_jvp_agree():
    x, u, v = _tensor(3, 3), _tensor(3, 3), _tensor(3, 3)
    f = lambda x: proa.tanh(proa.matmul(x, x)) * proa.exp(x)
    g, t = vjp(f, x, u)[1], jvp(f, x, v)[1]
    np.testing.assert_allclose((g * v).sum().item(), (u * t).sum().item())
    want = _differences(lambda a: [f(proa.to_tensor(a)).numpy()], x.numpy()) @ v.numpy().reshape(-1)
    np.testing.assert_allclose(t.numpy().reshape(-1), want, atol=1e-7)


def test_any_order():
    x = proa.to_tensor([0.3, 1.2], "float64")
    derivative = lambda f: lambda x: vjp(f, x)[1]
    tangent = lambda f: lambda x: jvp(f, x)[1]
    for wrap in (derivative, tangent, lambda f: tangent(derivative(f))):
        f, signs = proa.sin, [np.sin, np.cos, lambda a: -np.sin(a), lambda a: -np.cos(a)]
        step = 2 if wrap not in (derivative, tangent) else 1
        for n in range(1, 4):
            f = wrap(f)
            np.testing.assert_allclose(f(x).numpy(), signs[n * step % 4](x.numpy()), atol=1e-12)


def test_stays_connected():
    """A gradient penalty: results are differentiated by the argument and by what the function uses."""
    x, w = _tensor(3), _tensor(3)
    x.stop_gradient = w.stop_gradient = False
    _, g = vjp(lambda x: (w * x**3).sum(), x)
    g.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * w.numpy() * x.numpy())
    np.testing.assert_allclose(w.grad.numpy(), 3 * x.numpy() ** 2)
    with proa.no_grad():
        assert vjp(lambda x: x * x, _tensor(2))[1].shape == [2]


def test_complex_vector_products():
    x, v = (proa.to_tensor(_RNG.normal(size=3) + 1j * _RNG.normal(size=3)) for _ in range(2))
    _, t = jvp(lambda x: x * x * x, x, v)
    np.testing.assert_allclose(t.numpy(), 3 * x.numpy() ** 2 * v.numpy())
    _, g = vjp(lambda x: x * x * x, x, v)
    np.testing.assert_allclose(g.numpy(), np.conj(3 * x.numpy() ** 2) * v.numpy())


# Each with its derivative in the direction v, and its adjoint: Re(conj(w) df(v)) = Re(conj(g(w)) v).
@pytest.mark.parametrize(
    "func, derivative, adjoint",
    [
        (lambda x: x.conj(), lambda x, v: np.conj(v), lambda x, w: np.conj(w)),
        (lambda x: x * x.conj(), lambda x, v: 2 * (np.conj(x) * v).real + 0j, lambda x, w: 2 * w.real * x),
        (lambda x: proa.real(x), lambda x, v: v.real, lambda x, w: w + 0j),
        (lambda x: proa.abs(x), lambda x, v: (np.conj(x) * v).real / abs(x), lambda x, w: w * x / abs(x)),
        (lambda x: 1j * x, lambda x, v: 1j * v, lambda x, w: -1j * w),
    ],
)
def test_products_of_functions_that_are_not_analytic(func, derivative, adjoint):
    x, v, w = (proa.to_tensor(_RNG.normal(size=3) + 1j * _RNG.normal(size=3)) for _ in range(3))
    y, t = jvp(func, x, v)
    assert t.dtype == y.dtype
    np.testing.assert_allclose(t.numpy(), derivative(x.numpy(), v.numpy()), atol=1e-12)
    step = 1e-6
    moved = func(x + step * v).numpy() - func(x - step * v).numpy()
    np.testing.assert_allclose(t.numpy(), moved / (2 * step), atol=1e-8)
    w = w if y.is_complex() else proa.real(w)
    _, g = vjp(func, x, w)
    assert g.dtype == x.dtype
    np.testing.assert_allclose(g.numpy(), adjoint(x.numpy(), w.numpy()), atol=1e-12)


def test_products_from_real_to_complex():
    x, v = _tensor(3), _tensor(3)
    w = proa.to_tensor(_RNG.normal(size=3) + 1j * _RNG.normal(size=3))
    to_circle = lambda x: proa.complex(proa.cos(x), proa.sin(x))
    slope = 1j * np.exp(1j * x.numpy())
    np.testing.assert_allclose(jvp(to_circle, x, v)[1].numpy(), slope * v.numpy())
    _, g = vjp(to_circle, x, w)
    assert g.dtype.name == "float64"
    np.testing.assert_allclose(g.numpy(), (np.conj(slope) * w.numpy()).real)


def test_matrices_of_real_and_imaginary_parts():
    z = _RNG.normal(size=2) + 1j * _RNG.normal(size=2)
    pairs = proa.as_real(proa.to_tensor(z))
    J = Jacobian(lambda r: proa.as_real(proa.as_complex(r) ** 2), pairs)
    want = np.zeros((4, 4))
    for i, d in enumerate(2 * z):  # Cauchy and Riemann
        want[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[d.real, -d.imag], [d.imag, d.real]]
    np.testing.assert_allclose(J[:].numpy(), want)
    H = Hessian(lambda r: (proa.abs(proa.as_complex(r)) ** 2).sum(), pairs)
    np.testing.assert_allclose(H[:].numpy(), 2 * np.eye(4), atol=1e-12)


def test_errors_of_products():
    x = _tensor(2)
    with pytest.raises(ValueError, match=r"v\[0\] does not fit results\[0\]; v\[0\] is \[3\] float64, .*\[2\] float64"):
        vjp(lambda x: x, x, _tensor(3))
    with pytest.raises(ValueError, match="v has 2 tensors for 1 xs"):
        jvp(lambda x: x, x, [x, x])
    with pytest.raises(ValueError, match="float32"):
        jvp(lambda x: x, x, x.astype("float32"))
    with pytest.raises(TypeError, match=r"xs\[1\] is int"):
        vjp(lambda x, y: x, [x, 3])
    with pytest.raises(TypeError, match=r"xs\[0\] is int64"):
        vjp(lambda x: x, proa.ones([2], "int64"))
    with pytest.raises(TypeError, match="func must give Tensors, but result 0 is float"):
        vjp(lambda x: 1.0, x)
    with pytest.raises(ValueError, match="xs is empty"):
        vjp(lambda: x, [])


# Jacobian


def test_jacobian_of_a_product():
    x, y = _tensor(2, 3), _tensor(3, 4)
    J = Jacobian(lambda x, y: proa.matmul(x, y), [x, y])
    assert J.shape == (8, 18)
    want = np.concatenate([np.kron(np.eye(2), y.numpy().T), np.kron(x.numpy(), np.eye(4))], axis=1)
    np.testing.assert_allclose(J[:].numpy(), want)


def test_jacobian_of_several_results():
    x, y = _tensor(2), _tensor(2, 2)

    def f(x, y):
        return proa.sin(x) * y, (x * x).sum(), proa.ones([1], "float64")

    J = Jacobian(f, [x, y])
    assert J.shape == (6, 6)

    def reference(x, y):
        return np.sin(x) * y, (x * x).sum(), np.ones(1)

    np.testing.assert_allclose(J[:, :].numpy(), _differences(reference, x.numpy(), y.numpy()), atol=1e-8)


@pytest.mark.parametrize(
    "key",
    [
        0, -1, slice(None), slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(2, 2), [0, 2, 0],
        (slice(None), 0), (0, slice(None)), (1, 2), (slice(1, None), slice(None, 2)), (..., 1), (2, ...), ...,
        (slice(None), [0, 1]),
    ],
)  # fmt: skip
def test_jacobian_indexing(key):
    x = proa.to_tensor([1.0, 2.0, 3.0, 4.0], "float64")
    f = lambda x: proa.stack([x[0] * x[1], x[2] * x[3], x.sum(), x[0] ** 3])
    want = np.array([[2, 1, 0, 0], [0, 0, 4, 3], [1, 1, 1, 1], [3, 0, 0, 0.0]])
    numpy_key = tuple(list(k) if isinstance(k, list) else k for k in key) if isinstance(key, tuple) else key
    want = want[numpy_key]
    got = Jacobian(f, x)[key]
    assert got.shape == list(want.shape)
    np.testing.assert_allclose(got.numpy(), want)


def test_only_rows_that_are_asked_for():
    x = _tensor(5)
    seen = []

    class Spy(proa.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, dy):
            seen.append(int(dy.argmax()))
            return dy * 2

    J = Jacobian(Spy.apply, x)
    assert seen == []
    assert J[3].tolist() == [0, 0, 0, 2, 0]
    assert J[3, 1].item() == 0
    assert seen == [3]
    J[2:4]
    assert seen == [3, 2]


def test_a_column_needs_two_passes():
    x = _tensor(50)
    calls = []

    class Spy(proa.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, dy):
            calls.append(1)
            return dy * 3 * ctx.saved_tensor()[0] ** 2

    J = Jacobian(lambda x: Spy.apply(x[::-1]), x)
    want = np.zeros(50)
    want[-8] = 3 * x.numpy()[7] ** 2
    for key in (7, -43):
        np.testing.assert_allclose(J[:, key].numpy(), want)
        np.testing.assert_allclose(J[10:, key].numpy(), want[10:])
    assert len(calls) == 1
    with pytest.raises(IndexError, match=r"there is no column 50; the shape is \[50, 50\]"):
        J[:, 50]
    with proa.no_grad():
        column = J[:, 7]
    assert column.stop_gradient
    np.testing.assert_allclose(column.numpy(), want)


def test_columns_of_several_arguments():
    x, y = _tensor(2, 2), _tensor(3)
    J = Jacobian(lambda x, y: (x * y[0] * x, y.sum(), y * 2), [x, y])
    whole = J[:].numpy()
    for j in range(7):
        np.testing.assert_allclose(J[:, j].numpy(), whole[:, j])
    x.stop_gradient = False
    Jacobian(lambda x: x**3, x)[:, 1].sum().backward()
    np.testing.assert_allclose(x.grad.numpy().reshape(-1), 6 * x.numpy().reshape(-1) * [0, 1, 0, 0])


def test_batched_jacobian():
    x, w = _tensor(5, 3), _tensor(3, 2)
    f = lambda x: proa.tanh(proa.matmul(x, w))
    J = Jacobian(f, x, is_batched=True)
    assert J.shape == (5, 2, 3)
    slope = 1 - np.tanh(x.numpy() @ w.numpy()) ** 2
    want = slope[:, :, None] * w.numpy().T[None]
    for key in (slice(None), (slice(None), 0), (slice(None), slice(None), 1), (2,), (2, 1, 0), (slice(1, 3), 1), ...):
        np.testing.assert_allclose(J[key].numpy(), want[key], err_msg=str(key))
    y = _tensor(5, 2, 2)
    J = Jacobian(lambda x, y: (x.sum(axis=1), y * y), [x, y], is_batched=True)
    assert J.shape == (5, 5, 7)
    want = np.zeros((5, 5, 7))
    want[:, 0, :3] = 1
    for k in range(4):
        want[:, 1 + k, 3 + k] = 2 * y.numpy().reshape(5, 4)[:, k]
    np.testing.assert_allclose(J[:].numpy(), want)


def test_large_and_empty():
    x = _tensor(400)
    J = Jacobian(lambda x: x * 3, x)
    row = J[399].numpy()
    assert row[399] == 3 and np.count_nonzero(row) == 1
    empty = Jacobian(lambda x: x * 3, proa.zeros([0], "float64"))
    assert empty.shape == (0, 0) and empty[:].shape == [0, 0]
    batch = Jacobian(lambda x: x * 3, proa.zeros([0, 2], "float64"), is_batched=True)
    assert batch.shape == (0, 2, 2) and batch[:].shape == [0, 2, 2]
    scalar = Jacobian(lambda x: x * x, proa.to_tensor(3.0, "float64"))
    assert scalar.shape == (1, 1) and scalar[0, 0].item() == 6


def test_jacobian_is_differentiable():
    x = _tensor(3)
    x.stop_gradient = False
    Jacobian(lambda x: x**3, x)[:].sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 6 * x.numpy())
    with proa.no_grad():
        J = Jacobian(lambda x: x**3, x)
        assert J[0].stop_gradient
    assert not J[0].stop_gradient


def test_errors_of_matrices():
    x = _tensor(3, 2)
    J = Jacobian(lambda x: x * x, x)
    with pytest.raises(IndexError, match=r"there is no row 6; the shape is \[6, 6\]"):
        J[6]
    with pytest.raises(IndexError, match="too many indices"):
        J[0, 0, 0]
    with pytest.raises(TypeError, match="not str"):
        J["a"]
    with pytest.raises(ValueError, match="same first dim"):
        Jacobian(lambda x: x.sum(), x, is_batched=True)
    for matrix in (Jacobian, Hessian):
        says = rf"{matrix.__name__}: xs 0 is complex64; a complex function has no matrix .* use jvp or vjp"
        with pytest.raises(TypeError, match=says):
            matrix(lambda x: proa.real(x).sum(), proa.to_tensor([1j]))
        with pytest.raises(TypeError, match=rf"{matrix.__name__}: result 0 is complex64"):
            matrix(lambda x: proa.complex(x, x), proa.to_tensor([1.0]))
    with pytest.raises(ValueError, match=r"Hessian: func must give one number, but .*\[3, 2\]"):
        Hessian(lambda x: x * x, x)
    with pytest.raises(ValueError, match="one number for each sample"):
        Hessian(lambda x: x * x, x, is_batched=True)


# Hessian


def test_hessian_of_rosenbrock():
    x = proa.to_tensor(np.linspace(-1, 1.5, 20))

    def f(x):
        a, b = x[:-1], x[1:]
        return (100 * (b - a * a) ** 2 + (1 - a) ** 2).sum()

    H = Hessian(f, x)
    assert H.shape == (20, 20)
    np.testing.assert_allclose(H[:, :].numpy(), optimize.rosen_hess(x.numpy()), rtol=1e-12)
    np.testing.assert_allclose(Jacobian(f, x)[0].numpy(), optimize.rosen_der(x.numpy()), rtol=1e-12)
    np.testing.assert_allclose(H[3].numpy(), optimize.rosen_hess(x.numpy())[3], rtol=1e-12)


def test_hessian_of_several_arguments():
    x, y = _tensor(2, 2), _tensor(2)
    H = Hessian(lambda x, y: (proa.matmul(x, y) ** 2).sum(), [x, y])
    assert H.shape == (6, 6)

    def slopes(x, y):
        r = 2 * (x @ y)
        return np.outer(r, y), x.T @ r

    want = _differences(slopes, x.numpy(), y.numpy())
    np.testing.assert_allclose(H[:].numpy(), want, atol=1e-6)
    np.testing.assert_allclose(H[:].numpy(), H[:].numpy().T, atol=1e-12)


def test_batched_hessian():
    x = _tensor(4, 3)
    H = Hessian(lambda x: (x**3).sum(axis=1, keepdim=True), x, is_batched=True)
    assert H.shape == (4, 3, 3)
    want = 6 * x.numpy()[:, :, None] * np.eye(3)
    np.testing.assert_allclose(H[:].numpy(), want)
    np.testing.assert_allclose(H[:, 1].numpy(), want[:, 1])
    np.testing.assert_allclose(H[2, :, 2].numpy(), want[2, :, 2])


def test_third_derivatives():
    x = _tensor(3)
    T = Jacobian(lambda x: Hessian(lambda x: (x**4).sum(), x)[:], x)
    want = np.zeros((3, 3, 3))
    for i in range(3):
        want[i, i, i] = 24 * x.numpy()[i]
    np.testing.assert_allclose(T[:].numpy().reshape(3, 3, 3), want)


def test_hessian_of_a_linear_function():
    H = Hessian(lambda x: (3 * x).sum(), _tensor(3))
    np.testing.assert_array_equal(H[:].numpy(), np.zeros((3, 3)))


def test_newton():
    """Uses the matrices as a program would: the minimum of a convex function in a few steps."""
    a = proa.to_tensor(_RNG.normal(size=(6, 4)))
    f = lambda x: proa.logsumexp(proa.matmul(a, x)) + 0.1 * (x * x).sum()
    x = np.zeros(4)
    for _ in range(8):
        t = proa.to_tensor(x)
        x = x - np.linalg.solve(Hessian(f, t)[:].numpy(), Jacobian(f, t)[0].numpy())
    best = optimize.minimize(lambda x: f(proa.to_tensor(x)).item(), np.zeros(4), tol=1e-12)
    np.testing.assert_allclose(x, best.x, atol=1e-4)


def test_in_a_program():
    program = proa.static.Program()
    with proa.static.program_guard(program):
        x = proa.static.data("x", [3], "float64")
        H = Hessian(lambda x: (x**3).sum(), x)[:]
    (got,) = proa.static.Executor().run(program, feed={"x": np.array([1.0, 2.0, 3.0])}, fetch_list=[H])
    np.testing.assert_allclose(got, np.diag([6.0, 12.0, 18.0]))
