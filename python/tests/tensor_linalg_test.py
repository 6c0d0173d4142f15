"""einsum and functions of proa.linalg against NumPy."""

import numpy as np
import pytest

import proa
from python.tests.checked_values import array, close, random

T = proa.to_tensor


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ij->ji", [(2, 3)]),
        ("ij", [(2, 3)]),
        ("ba", [(2, 3)]),
        ("ii", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("iji->j", [(3, 2, 3)]),
        ("i,i->", [(4,), (4,)]),
        ("i,j->ij", [(4,), (3,)]),
        ("i,j->ji", [(4,), (3,)]),
        ("ij->", [(2, 3)]),
        ("ij->j", [(2, 3)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
        ("...ij->...ji", [(2, 1, 3)]),
        ("i...,i...->...", [(3, 2, 4), (3, 2, 4)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        ("ij,kj,k->i", [(2, 3), (4, 3), (4,)]),
        ("ab,cd,ef->", [(2, 3), (2, 2), (3, 1)]),
        ("ij,ij->ij", [(2, 3), (2, 3)]),
        ("ij,j->ij", [(2, 3), (3,)]),
        ("ij,kl->ijkl", [(2, 3), (4, 2)]),
        ("ij,ij->", [(2, 3), (1, 3)]),
        ("bi, bj -> bij", [(1, 3), (4, 2)]),
        ("ij,jk->ik", [(0, 3), (3, 4)]),
        ("ij,jk->ik", [(2, 0), (0, 4)]),
        ("i->", [(0,)]),
    ],
)
def test_einsum(equation, shapes):
    arrays = [array(*shape) for shape in shapes]
    close(proa.einsum(equation, *map(T, arrays)), np.einsum(equation, *arrays), 1e-4)
    close(proa.einsum(equation, [T(a) for a in arrays]), np.einsum(equation, *arrays), 1e-4)


@pytest.mark.parametrize(
    "equation, shapes, says",
    [
        ("ij,jk->ik", [(2, 3)], "names 2 operands"),
        ("ij,jk->ik", [(2, 3), (4, 5)], "'j' stands for sizes 3 and 4"),
        ("ij->ik", [(2, 3)], "in no operand"),
        ("ij->ii", [(2, 3)], "twice in the result"),
        ("i;j", [(2, 3)], "neither a letter"),
        ("ijk", [(2, 3)], "does not fit"),
        ("i", [(2, 3)], "does not fit"),
        ("ii", [(2, 3)], "sizes 2 and 3"),
        ("__import__('os')->", [(2, 3)], "neither a letter"),
    ],
)
def test_einsum_errors(equation, shapes, says):
    with pytest.raises(ValueError, match=says):
        proa.einsum(equation, *(T(array(*shape)) for shape in shapes))
    with pytest.raises(ValueError, match="at least one"):
        proa.einsum("i")


def test_einsum_gradient():
    a, b = T(array(2, 3), stop_gradient=False), T(array(3, 4), stop_gradient=False)
    g = array(2, 4)
    (proa.einsum("ij,jk->ik", a, b) * T(g)).sum().backward()
    close(a.grad, g @ b.numpy().T)
    close(b.grad, a.numpy().T @ g)


@pytest.mark.parametrize("p", ["fro", 0, 1, 2, 3.5, float("inf"), -float("inf")])
@pytest.mark.parametrize("axis", [None, 0, -1, [0]])
@pytest.mark.parametrize("keepdim", [False, True])
def test_norm(p, axis, keepdim):
    x = array(3, 4)
    flat = np.abs(x)
    axes = tuple(axis) if isinstance(axis, list) else axis
    kwargs = {"axis": axes, "keepdims": keepdim}
    expected = {
        "fro": lambda: np.sqrt((flat**2).sum(**kwargs)),
        0: lambda: (flat != 0).sum(**kwargs),
        float("inf"): lambda: flat.max(**kwargs),
        -float("inf"): lambda: flat.min(**kwargs),
    }.get(p, lambda: (flat ** float(p)).sum(**kwargs) ** (1.0 / float(p)))()
    close(proa.norm(T(x), p, axis, keepdim), expected, 1e-4)


@pytest.mark.parametrize("p", ["fro", 1, -1, float("inf"), -float("inf")])
@pytest.mark.parametrize("keepdim", [False, True])
def test_norm_of_matrices(p, keepdim):
    x = array(2, 3, 4)
    for axes in ([0, 1], [2, 0], (-1, -2)):
        expected = np.linalg.norm(x, p, tuple(axes), keepdims=keepdim)
        close(proa.norm(T(x), p, axes, keepdim), expected, 1e-4)
    with pytest.raises(ValueError, match="of matrices"):
        proa.norm(T(x), 3.5, [0, 1])


def test_norm_errors():
    x = T(array(3))
    with pytest.raises(ValueError, match="p must be"):
        proa.norm(x, "nuc")
    with pytest.raises(IndexError):
        proa.norm(x, 2, 1)
    assert proa.norm(proa.zeros([0])).item() == 0.0


@pytest.mark.parametrize("axes", [0, 1, 2, [[0, 1], [1, 0]], [[2], [0]]])
def test_tensordot(axes):
    x, y = array(3, 4, 4), array(4, 3, 4)
    if axes == [[2], [0]] or isinstance(axes, int):
        y = array(4, 4, 3)
    numpy_axes = axes if isinstance(axes, int) else tuple(axes)
    close(proa.tensordot(T(x), T(y), axes), np.tensordot(x, y, numpy_axes), 1e-4)


def test_products():
    x, y = array(2, 3), array(4, 3)
    close(proa.inner(T(x), T(y)), np.inner(x, y), 1e-4)
    close(proa.cross(T(x), T(x[::-1].copy())), np.cross(x, x[::-1]), 1e-4)
    close(proa.dist(T(x), T(x + 1)), np.sqrt(6.0))
    close(proa.mm(T(x), proa.t(T(y))), x @ y.T, 1e-4)
    out = proa.zeros([2, 4])
    assert proa.mm(T(x), T(y).T, out) is out
    close(proa.linalg.multi_dot([T(x), T(y).T, T(array(4, 1) * 0 + 1)]), (x @ y.T).sum(1, keepdims=True), 1e-4)
    close(proa.linalg.multi_dot([T(x[0]), T(y).T, T(y), T(x[1])]), x[0] @ y.T @ y @ x[1], 1e-4)
    m = array(3, 3)
    for n in (0, 1, 2, 5, -1, -3):
        close(proa.linalg.matrix_power(T(m), n), np.linalg.matrix_power(m, n), 1e-3)
    with pytest.raises(ValueError, match=r"\[\.\.\., N, N\]"):
        proa.linalg.matrix_power(T(x), 2)


@pytest.mark.parametrize("ddof", [True, False])
def test_cov(ddof):
    x = array(3, 10)
    close(proa.linalg.cov(T(x), ddof=ddof), np.cov(x, ddof=int(ddof)), 1e-4)
    close(proa.linalg.cov(T(x.T), rowvar=False, ddof=ddof), np.cov(x, ddof=int(ddof)), 1e-4)
    f, a = random.integers(1, 4, 10), random.random(10)
    close(proa.linalg.cov(T(x), True, ddof, T(f)), np.cov(x, ddof=int(ddof), fweights=f), 1e-4)
    expected = np.cov(x, ddof=int(ddof), fweights=f, aweights=a)
    close(proa.linalg.cov(T(x), True, ddof, T(f), T(a)), expected, 1e-4)


def test_corrcoef():
    x = array(4, 9)
    close(proa.linalg.corrcoef(T(x)), np.corrcoef(x), 1e-4)
    close(proa.linalg.corrcoef(T(x), False), np.corrcoef(x, rowvar=False), 1e-4)
    assert proa.linalg.corrcoef(T(x[0])).item() == 1.0
    with pytest.raises(ValueError, match="1 or 2 dims"):
        proa.linalg.corrcoef(proa.ones([2, 2, 2]))


def test_multi_dot_of_unknown_sizes():
    arrays = [array(2, 3), array(3, 4), array(4, 5), array(5)]
    proa.enable_static()
    try:
        program = proa.static.Program()
        with proa.static.program_guard(program):
            feeds = [proa.static.data(f"x{i}", [-1] * a.ndim, "float32") for i, a in enumerate(arrays)]
            out = proa.linalg.multi_dot(feeds)
        (got,) = proa.static.Executor().run(program, feed={f"x{i}": a for i, a in enumerate(arrays)}, fetch_list=[out])
    finally:
        proa.disable_static()
    close(got, np.linalg.multi_dot(arrays), 1e-3)
