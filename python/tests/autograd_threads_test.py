"""Backward within backward and on several threads; gradients of complex tensors."""

import threading

import numpy as np
import pytest

import proa


def _leaf(value, dtype="float64"):
    return proa.to_tensor(value, dtype=dtype, stop_gradient=False)


def _in_threads(f, n=4):
    """f(i) on n threads; the exceptions, None where there was none."""
    errors = [None] * n
    barrier = threading.Barrier(n)

    def run(i):
        try:
            barrier.wait()
            f(i)
        except BaseException as error:  # noqa: BLE001
            errors[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_backward_inside_a_hook():
    x, w = _leaf([2.0]), _leaf([3.0])
    y = x * x

    def hook(grad):
        with proa.enable_grad():  # hooks run without
            (w * w).backward()
        return grad * w.grad

    y.register_hook(hook)
    (y * 2).backward()
    assert w.grad.item() == 6.0
    assert x.grad.item() == 2 * 6.0 * 4.0


def test_backward_inside_a_formula():
    class Cube(proa.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensor()
            with proa.enable_grad():
                inner = x.detach()
                inner.stop_gradient = False
                (inner**3).backward()
            return grad * inner.grad

    x = _leaf([2.0])
    (Cube.apply(x) * 2).backward()
    assert x.grad.item() == 24.0


def test_deep_reentrance():
    depth = 50
    leaf = _leaf([1.0])
    seen = []

    @proa.enable_grad()
    def run(level):
        y = leaf * 2
        if level < depth:
            y.register_hook(lambda g: run(level + 1))
        y.backward()
        seen.append(level)

    run(1)
    assert seen == list(range(depth, 0, -1))
    assert leaf.grad.item() == 2.0 * depth


def test_disjoint_graphs():
    results = [None] * 4

    def work(i):
        rng = np.random.RandomState(i)
        a = rng.rand(64, 64)
        x = _leaf(a)
        for _ in range(20):
            x.clear_gradient(set_to_zero=False)
            proa.matmul(x, proa.exp(x)).sum().backward()
        results[i] = (a, x.grad.numpy())

    assert _in_threads(work) == [None] * 4
    for a, grad in results:
        e = np.exp(a)
        ones = np.ones_like(a)
        np.testing.assert_allclose(grad, ones @ e.T + (a.T @ ones) * e)


def test_shared_graph():
    x = _leaf([1.0, 2.0])
    y = proa.exp(x * x)
    loss = (y * y).sum()

    def work(i):
        for _ in range(25):
            loss.backward(retain_graph=True)

    assert _in_threads(work) == [None] * 4
    v = np.array([1.0, 2.0])
    np.testing.assert_allclose(x.grad.numpy(), 100 * 4 * v * np.exp(2 * v * v))


def test_shared_leaf():
    x = _leaf([1.0])

    def work(i):
        for _ in range(100):
            (x * float(i + 1)).backward()

    assert _in_threads(work) == [None] * 4
    assert x.grad.item() == 1000.0


def test_errors_of_one_thread_do_no_harm_to_others():
    x = _leaf([1.0])
    shared = x * 2

    def work(i):
        for _ in range(50):
            y = shared * shared
            if i == 0:
                y.register_hook(lambda g: 1 / 0)
            y.backward(retain_graph=True)

    errors = _in_threads(work)
    assert isinstance(errors[0], ZeroDivisionError)
    assert errors[1:] == [None] * 3
    assert x.grad.item() == 3 * 50 * 8.0


# Complex


def _numeric(f, z, step=1e-6):
    """dL/da + i dL/db of z = a + ib by differences."""
    grad = np.zeros_like(z)
    for i in np.ndindex(z.shape):
        for direction in (1.0, 1j):
            d = np.zeros_like(z)
            d[i] = step * direction
            grad[i] += direction * (f(z + d) - f(z - d)) / (2 * step)
    return grad


@pytest.mark.parametrize(
    ("loss", "reference"),
    [
        (lambda z: z.abs().sum(), lambda z: np.abs(z).sum()),
        (lambda z: (z * z * (1 + 2j)).real().sum(), lambda z: (z * z * (1 + 2j)).real.sum()),
        (lambda z: proa.exp(z).imag().sum(), lambda z: np.exp(z).imag.sum()),
        (lambda z: (z * z.conj()).real().sum(), lambda z: (z * z.conj()).real.sum()),
        (lambda z: proa.matmul(z, z).abs().sum(), lambda z: np.abs(z @ z).sum()),
        (lambda z: (1 / z).angle().sum(), lambda z: np.angle(1 / z).sum()),
    ],
)
def test_real_losses_of_complex_tensors(loss, reference):
    rng = np.random.RandomState(0)
    z = rng.rand(2, 2) + 1j * rng.rand(2, 2) + 0.5
    x = _leaf(z, "complex128")
    loss(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), _numeric(reference, z), rtol=1e-6, atol=1e-8)


def test_complex_losses():
    x = _leaf([1 + 2j], "complex128")
    y = x * x
    with pytest.raises(ValueError, match=r"outputs\[0\] is complex, .* \[1\] complex128; make a real loss of it"):
        y.backward()
    with pytest.raises(ValueError, match="is complex"):
        proa.grad(y, x)
    (g,) = proa.grad(y, x, proa.to_tensor([1.0 + 0j], dtype="complex128"))
    np.testing.assert_allclose(g.numpy(), [np.conj(2 * (1 + 2j))])
