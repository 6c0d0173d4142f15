"""proa.linalg against NumPy and SciPy over many shapes; gradients against differences; programs of unknown sizes; errors."""

import itertools

import numpy as np
import pytest
import scipy.linalg

import proa
from proa.autograd import numeric_check

L = proa.linalg
TYPES = ["float32", "float64", "complex64", "complex128"]
SIZES = [0, 1, 2, 3, 5, 16, 17, 33, 70]
BATCHES = [(), (1,), (3,), (2, 2), (0,)]
SHAPES = [
    (*batch, m, n)
    for m, n in itertools.product(SIZES, SIZES)
    for batch in (BATCHES if max(m, n) <= 5 else BATCHES[:1] if max(m, n) > 17 else BATCHES[:3])
]
SQUARES = [shape for shape in SHAPES if shape[-1] == shape[-2]]
RNG = np.random.default_rng(11)


def draw(shape, dtype):
    x = RNG.standard_normal(shape)
    if dtype.startswith("complex"):
        x = x + 1j * RNG.standard_normal(shape)
    return x.astype(dtype)


def hermitian(shape, dtype, definite=False):
    x = draw(shape, dtype)
    if definite:
        return (x @ adjoint(x) + shape[-1] * np.eye(shape[-1])).astype(dtype)
    return x + adjoint(x)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def close(got, want, dtype, scale=1.0, what=""):
    got = got.numpy() if isinstance(got, proa.Tensor) else got
    assert got.shape == np.shape(want), f"{what}: {got.shape}, not {np.shape(want)}"
    limit = scale * (3e-5 if dtype in ("float32", "complex64") else 1e-12)
    size = max(1.0, float(np.abs(want).max(initial=0)))
    assert np.abs(got - want).max(initial=0) <= limit * size * max((1, *got.shape[-2:])), what


def identity(n, x):
    return np.broadcast_to(np.eye(n), (*x.shape[:-2], n, n))


@pytest.mark.parametrize("dtype", TYPES)
def test_factors_of_every_shape(dtype):
    for shape in SHAPES:
        x = draw(shape, dtype)
        m, n = shape[-2:]
        k = min(m, n)
        t, where = proa.to_tensor(x), f"{shape} {dtype}"
        for mode in ("reduced", "complete"):
            q, r = (p.numpy() for p in L.qr(t, mode))
            columns = k if mode == "reduced" else m
            assert q.shape == (*shape[:-1], columns) and r.shape == (*shape[:-2], columns, n), where
            close(q @ r, x, dtype, what=f"qr {where}")
            close(adjoint(q) @ q, identity(columns, x), dtype, what=f"qr {where}")
            assert (np.tril(r, -1) == 0).all(), where
        np.testing.assert_array_equal(L.qr(t, "r").numpy(), L.qr(t)[1].numpy(), err_msg=where)
        for full in (False, True):
            u, s, vh = (p.numpy() for p in L.svd(t, full))
            assert u.shape == (*shape[:-1], m if full else k) and vh.shape == (*shape[:-2], n if full else k, n), where
            close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x, dtype, what=f"svd {where}")
            close(adjoint(u) @ u, identity(u.shape[-1], x), dtype, what=f"svd {where}")
            close(vh @ adjoint(vh), identity(vh.shape[-2], x), dtype, what=f"svd {where}")
            assert (np.diff(s) <= 0).all() and (s >= 0).all(), where
            if x.size:
                close(s, np.linalg.svd(x, compute_uv=False), dtype, what=f"svd {where}")
            close(L.svdvals(t), s, dtype, what=f"svdvals {where}")
        for pivot in (True, False):
            if pivot or k == 0:
                factors, pivots, infos = L.lu(t, pivot, True)
                assert list(pivots.shape) == [*shape[:-2], k] and list(infos.shape) == list(shape[:-2]), where
                p, low, up = (f.numpy() for f in L.lu_unpack(factors, pivots))
                close(p @ low @ up, x, dtype, what=f"lu {where}")
                assert (np.abs(low) <= 1 + 1e-6).all() or dtype.startswith("complex"), where


@pytest.mark.parametrize("dtype", TYPES)
def test_square_matrices_of_every_shape(dtype):
    for shape in SQUARES:
        n, where = shape[-1], f"{shape} {dtype}"
        h, d = hermitian(shape, dtype), hermitian(shape, dtype, definite=True)
        for uplo, read in (
            ("L", np.tril(h) + np.triu(draw(shape, dtype), 1)),
            ("U", np.triu(h) + np.tril(draw(shape, dtype), -1)),
        ):
            w, v = (p.numpy() for p in L.eigh(proa.to_tensor(read), uplo))
            close((v * w[..., None, :]) @ adjoint(v), h, dtype, what=f"eigh {where} {uplo}")
            close(adjoint(v) @ v, identity(n, h), dtype, what=f"eigh {where} {uplo}")
            assert (np.diff(w) >= 0).all(), where
            close(L.eigvalsh(proa.to_tensor(read), uplo), w, dtype, what=f"eigvalsh {where} {uplo}")
        for upper in (False, True):
            c = L.cholesky(proa.to_tensor(d), upper).numpy()
            close(adjoint(c) @ c if upper else c @ adjoint(c), d, dtype, what=f"cholesky {where}")
            assert ((np.tril(c, -1) if upper else np.triu(c, 1)) == 0).all(), where
            b = draw((*shape[:-2], n, 2), dtype)
            close(
                d @ L.cholesky_solve(proa.to_tensor(b), proa.to_tensor(c), upper).numpy(),
                b,
                dtype,
                30,
                f"cholesky_solve {where}",
            )
            for transpose, unit in itertools.product((False, True), repeat=2):
                triangle = np.triu(d) if upper else np.tril(d)
                triangle = triangle - np.tril(np.triu(triangle)) + np.eye(n) if unit else triangle
                a = np.swapaxes(triangle, -1, -2) if transpose else triangle
                if unit and n > 5:
                    continue  # grows beyond what can be compared
                found = L.triangular_solve(proa.to_tensor(d), proa.to_tensor(b), upper, transpose, unit).numpy()
                close(a @ found, b, dtype, 1e3, f"triangular_solve {where}")
        x = draw(shape, dtype) + 2 * n * np.eye(n).astype(dtype)
        close(x @ L.solve(proa.to_tensor(x), proa.to_tensor(b)).numpy(), b, dtype, 30, f"solve {where}")
        close(x @ L.inv(proa.to_tensor(x)).numpy(), identity(n, x), dtype, 30, f"inv {where}")
        x = draw(shape, dtype)
        w, v = (p.numpy() for p in L.eig(proa.to_tensor(x)))
        close(x @ v, v * w[..., None, :], dtype, 10, f"eig {where}")
        close(np.linalg.norm(v, axis=-2) if n else np.ones(w.shape), np.ones(w.shape), dtype, 10, f"eig {where}")
        close(L.eigvals(proa.to_tensor(x)), w, dtype, 100, f"eigvals {where}")


@pytest.mark.parametrize("dtype", TYPES)
def test_pseudoinverses_and_least_squares_of_every_rank(dtype):
    eps = np.finfo(dtype).eps
    for m, n in itertools.product([1, 2, 3, 5, 8, 20], repeat=2):
        for rank in range(min(m, n, 4) + 1):
            full = rank == min(m, n)
            x = (draw((2, m, rank), dtype) @ draw((2, rank, n), dtype)).astype(dtype)
            b, where, t = draw((2, m, 3), dtype), f"{m} x {n} of rank {rank} {dtype}", proa.to_tensor(x)
            rcond = 1000 * eps
            inverse = np.linalg.pinv(x.astype("complex128"), rcond)
            scale = 1e3 * max(1, float(np.abs(inverse).max()))
            close(L.pinv(t, rcond), inverse, dtype, scale, where)
            np.testing.assert_array_equal(L.matrix_rank(t, rcond * np.abs(x).max(initial=0) * 10).numpy(), rank, where)
            if m == n:
                s = x + adjoint(x)
                close(
                    L.pinv(proa.to_tensor(s), rcond, True),
                    np.linalg.pinv(s.astype("complex128"), rcond),
                    dtype,
                    1e5,
                    where,
                )
            for driver in ("gels", "gelsy", "gelsd", "gelss", None):
                if driver == "gels" and not full:
                    continue
                found, residuals, ranks, values = L.lstsq(t, proa.to_tensor(b), rcond, driver)
                close(found, inverse @ b, dtype, 10 * scale, f"lstsq {driver} {where}")
                assert list(residuals.shape) == ([2, 3] if m > n else [0]), where
                if m > n:
                    want = (np.abs(x @ found.numpy() - b) ** 2).sum(-2)
                    close(residuals, want, dtype, 100, where)
                if driver == "gels":
                    assert list(ranks.shape) == [0] and ranks.dtype == proa.int32, where
                else:
                    np.testing.assert_array_equal(ranks.numpy(), [rank, rank], err_msg=f"{driver} {where}")
                assert list(values.shape) == ([2, min(m, n)] if driver in ("gelsd", "gelss") else [0]), where


def test_pivots_and_infos_are_those_of_lapack():
    for n in (1, 2, 5, 20, 40):
        for m in (n, n + 3, max(1, n - 2)):
            x = draw((m, n), "float64")
            factors, pivots = L.lu(proa.to_tensor(x))
            if m == n:
                want, swaps = scipy.linalg.lu_factor(x)
                close(factors, want, "float64", 10)
                np.testing.assert_array_equal(pivots.numpy(), swaps + 1)
    singular = np.array([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [0.0, 1.0]]])
    assert L.lu(proa.to_tensor(singular), get_infos=True)[2].tolist() == [2, 0, 1]
    x = hermitian((4, 4), "float64", definite=True)
    factors, pivots = L.lu(proa.to_tensor(x), pivot=False)
    assert pivots.tolist() == [1, 2, 3, 4]
    p, low, up = L.lu_unpack(factors, pivots)
    close(low.numpy() @ up.numpy(), x, "float64")
    assert [list(f.shape) for f in L.lu_unpack(factors, pivots, False)] == [[4, 4], [0], [0]]
    assert [list(f.shape) for f in L.lu_unpack(factors, pivots, True, False)] == [[0], [4, 4], [4, 4]]
    infos = L.lu(proa.to_tensor([[0.0, 1.0], [1.0, 0.0]]), False, True)
    assert infos[2].item() == 1 and not np.isfinite(infos[0].numpy()).all()


def test_solve_tells_vectors_from_matrices():
    x, v = draw((2, 3, 3), "float64"), draw((2, 3), "float64")
    t = proa.to_tensor
    close(L.solve(t(x), t(v)), np.linalg.solve(x, v[..., None])[..., 0], "float64", 10)
    close(L.solve(t(x), t(v[0])), np.linalg.solve(x, np.stack([v[0], v[0]])[..., None])[..., 0], "float64", 10)
    close(L.solve(t(x[0]), t(x)), np.linalg.solve(x[0], x), "float64", 10)
    close(t(x).solve(t(x[:, :, :1].copy())), np.linalg.solve(x, x[:, :, :1]), "float64", 10)


@pytest.mark.parametrize("p", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_condition_numbers_and_norms(p):
    for dtype in TYPES:
        for shape in [(1, 1), (3, 3), (2, 4, 4), (2, 1, 5, 5), (0, 3, 3)]:
            x = draw(shape, dtype) + 2 * np.eye(shape[-1]).astype(dtype)
            close(L.cond(proa.to_tensor(x), p), np.linalg.cond(x, p), dtype, 100, f"cond {shape} {dtype} {p}")
        if p is None:
            continue
        x = draw((2, 3, 4), dtype)
        for axes, keepdim in itertools.product([(0, 1), (2, 0), (-1, -2)], (False, True)):
            want = np.linalg.norm(x, p, axes, keepdims=keepdim)
            close(L.norm(proa.to_tensor(x), p, list(axes), keepdim), want, dtype, 10, f"norm {axes} {dtype} {p}")
    if p == "nuc":
        close(L.norm(proa.to_tensor(x[0]), p), np.linalg.norm(x[0], p), dtype, 10)


def test_condition_of_singular_matrices():
    singular = proa.to_tensor([[1.0, 0.0], [0.0, 0.0]])
    assert L.cond(singular).item() == np.inf and L.cond(singular, -2).item() == 0.0
    with pytest.raises(ValueError, match="singular"):
        L.cond(singular, 1)
    with pytest.raises(ValueError, match="p must be"):
        L.cond(singular, 3)
    with pytest.raises(ValueError, match="without elements"):
        L.cond(proa.zeros([0, 0]))
    assert L.cond(proa.ones([3, 2])).item() > 1e6


def test_ranks():
    x = np.stack([np.diag([3.0, 2.0, 0.0]), np.diag([1.0, 0.0, 0.0])])
    t = proa.to_tensor(x)
    assert L.matrix_rank(t).tolist() == [2, 1] and L.matrix_rank(t).dtype == proa.int64
    assert L.matrix_rank(t, 1.5).tolist() == [2, 0] and L.matrix_rank(t, hermitian=True).tolist() == [2, 1]
    assert L.matrix_rank(t, proa.to_tensor([[0.5], [2.5]])).tolist() == [[2, 1], [1, 0]]
    assert L.matrix_rank(proa.zeros([2, 0, 3])).tolist() == [0, 0]
    with pytest.raises(TypeError, match="tol must be"):
        L.matrix_rank(t, "1")


def test_nan_gives_nan_and_neighbours_stay():
    x = hermitian((3, 4, 4), "float64", definite=True)
    x[1, 2, 2] = np.nan
    t = proa.to_tensor(x)
    for f in (L.cholesky, L.eigvalsh, L.eigvals, L.svdvals, L.pinv, L.inv, L.eigh, L.eig, L.svd, L.qr, L.lu):
        out = f(t)
        for part in out if isinstance(out, tuple) else [out]:
            part = part.numpy()
            assert part.dtype.kind == "i" or np.isnan(part[1]).any(), f.__name__
            assert np.isfinite(part[[0, 2]]).all(), f.__name__


GRADIENTS = {
    "solve": (L.solve, [(3, 3), (3, 2)]),
    "solve of vectors": (L.solve, [(2, 3, 3), (2, 3)]),
    "cholesky_solve": (
        lambda b, x: L.cholesky_solve(b, L.cholesky(x @ x.t() + proa.eye(3).astype("float64"))),
        [(3, 2), (3, 3)],
    ),
    "lu": (lambda x: L.lu_unpack(*L.lu(x))[1:], [(3, 4)]),
    "qr r": (lambda x: L.qr(x, "r"), [(4, 3)]),
    "qr complete": (lambda x: L.qr(x, "complete"), [(3, 3)]),
    "projection of qr": (lambda x: (lambda q: q[:, 2:] @ q[:, 2:].t())(L.qr(x, "complete")[0]), [(4, 2)]),
    "projection of svd": (lambda x: (lambda u, s, vh: u[:, 2:] @ u[:, 2:].t() + s.sum())(*L.svd(x, True)), [(4, 2)]),  # type: ignore[call-overload, attr-defined, arg-type]
    "projection of vh": (lambda x: (lambda u, s, vh: vh[2:].t() @ vh[2:])(*L.svd(x, True)), [(2, 4)]),  # type: ignore[attr-defined, arg-type]
    "svd": (L.svd, [(2, 3, 2)]),
    "eigh": (lambda x: L.eigh(x + x.t()), [(3, 3)]),
    "eig": (lambda x: [p.abs() for p in L.eig(x)], [(3, 3)]),
    "pinv": (L.pinv, [(2, 3)]),
    "pinv of rank 1": (lambda a, b: L.pinv(a @ b, 1e-6), [(3, 1), (1, 2)]),
    "hermitian pinv": (lambda x: L.pinv(x + x.t(), 1e-12, True), [(3, 3)]),
    "lstsq": (lambda x, y: L.lstsq(x, y)[:2], [(4, 2), (4, 1)]),
    "wide lstsq": (lambda x, y: L.lstsq(x, y, driver="gels")[0], [(2, 4), (2, 1)]),
    "lstsq values": (lambda x, y: L.lstsq(x, y, driver="gelsd")[3], [(4, 2), (4, 1)]),
    "cond": (L.cond, [(3, 3)]),
    "cond 1": (lambda x: L.cond(x, 1), [(3, 3)]),
    "nuclear norm": (lambda x: L.norm(x, "nuc", [0, 1]), [(3, 2)]),
    "spectral norm": (lambda x: L.norm(x, 2, [0, 1]), [(3, 2)]),
    "smallest": (lambda x: L.norm(x, -2, [0, 1]), [(3, 2)]),
    "corrcoef": (L.corrcoef, [(3, 5)]),
    "matrix_power": (lambda x: L.matrix_power(x, -2), [(3, 3)]),
    "multi_dot": (lambda a, b, c: L.multi_dot([a, b, c]), [(2, 3), (3, 4), (4,)]),
    "einsum": (lambda a, b, c: proa.einsum("ij,jk,kii->k", a, b, c), [(2, 3), (3, 4), (4, 2, 2)]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_public_functions(name):
    f, shapes = GRADIENTS[name]
    rng = np.random.default_rng(5)
    arrays = [rng.standard_normal(s) for s in shapes]

    def loss(tensors):
        out = f(*tensors)
        parts = out if isinstance(out, (tuple, list)) else [out]
        return sum((p * proa.to_tensor(np.cos(np.arange(p.size)).reshape(p.shape))).sum() for p in parts)

    def second(tensors):
        grads = proa.grad([loss(tensors)], list(tensors), create_graph=True, allow_unused=True)
        return sum((g * g).sum() for g in grads if g is not None)

    for order in (loss, second):
        numeric_check.compare_gradients(
            order, [a.copy() for a in arrays], names=[str(i) for i in range(len(arrays))], eps=1e-6, atol=1e-4, rtol=1e-4,
            most=12, what=name,
        )  # fmt: skip


def test_gradients_where_values_are_equal_are_finite():
    x = proa.to_tensor(np.eye(3), stop_gradient=False)
    L.norm(x, "nuc", [0, 1]).backward()
    close(x.grad, np.eye(3), "float64")
    for f in (
        lambda t: L.eigh(t)[0].sum(),
        lambda t: L.svd(t)[1].sum(),
        lambda t: L.eigvalsh(t).sum(),
        lambda t: L.svd(t)[0].sum(),
    ):
        x = proa.to_tensor(np.eye(3), stop_gradient=False)
        f(x).backward()
        assert np.isfinite(x.grad.numpy()).all()


CALLS = {
    "cholesky": (L.cholesky, ["d"]),
    "cholesky_solve": (L.cholesky_solve, ["b", "d"]),
    "cond": (L.cond, ["x"]),
    "cond fro": (lambda x: L.cond(x, "fro"), ["d"]),
    "corrcoef": (lambda x: L.corrcoef(x[0]), ["x"]),
    "det": (L.det, ["x"]),
    "eig": (L.eig, ["x"]),
    "eigh": (L.eigh, ["d"]),
    "eigvals": (L.eigvals, ["x"]),
    "eigvalsh": (L.eigvalsh, ["d"]),
    "inv": (L.inv, ["d"]),
    "lu": (L.lu, ["x"]),
    "matrix_power": (lambda x: L.matrix_power(x, 3), ["x"]),
    "matrix_rank": (L.matrix_rank, ["x"]),
    "matrix_rank hermitian": (lambda x: L.matrix_rank(x, None, True), ["d"]),
    "multi_dot": (lambda x, b: L.multi_dot([x[0], x[0], b[0]]), ["x", "b"]),
    "norm": (lambda x: L.norm(x, "nuc", [1, 2]), ["x"]),
    "pinv": (L.pinv, ["x"]),
    "qr": (L.qr, ["x"]),
    "slogdet": (L.slogdet, ["x"]),
    "solve": (L.solve, ["d", "b"]),
    "svd": (L.svd, ["x"]),
    "svdvals": (L.svdvals, ["x"]),
    "triangular_solve": (L.triangular_solve, ["d", "b"]),
    "einsum": (lambda x, b: proa.einsum("...ij,...jk,...jk->...i", x, b, b), ["x", "b"]),
    "einsum of pairs": (lambda x, b: proa.einsum("bij,bjk->ik", x, b), ["x", "b"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_programs_of_unknown_sizes(name):
    f, wanted = CALLS[name]
    paddle = proa
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            feeds = [paddle.static.data(letter, [-1, -1, -1], "float64") for letter in wanted]
            outs = f(*feeds)
            outs = list(outs) if isinstance(outs, (tuple, list)) else [outs]
        executor = paddle.static.Executor()
        for n in (2, 4):
            arrays = {
                "x": draw((3, n, n), "float64"),
                "d": hermitian((3, n, n), "float64", definite=True),
                "b": draw((3, n, 2), "float64"),
            }
            feed = {letter: arrays[letter] for letter in wanted}
            got = executor.run(program, feed=feed, fetch_list=outs)
            paddle.disable_static()
            want = f(*(proa.to_tensor(a) for a in feed.values()))
            paddle.enable_static()
            want = list(want) if isinstance(want, (tuple, list)) else [want]
            for g, w in zip(got, want):
                w = w.numpy()
                if name == "lstsq" and w.size == 0:
                    continue  # residuals: whether there are more rows is known only when the program runs
                close(np.asarray(g), w, "float64", 100, f"{name} {n}")
    finally:
        paddle.disable_static()


def test_the_same_bits_for_any_number_of_threads():
    x = draw((40, 12, 12), "float32")
    t = proa.to_tensor(x)
    before = proa._C.get_num_threads()
    found = []
    for threads in (1, 2, 3):
        proa._C.set_num_threads(threads)
        found.append([p.numpy().tobytes() for f in (L.svd, L.eig, L.qr, L.lu, L.inv) for p in _parts(f(t))])
    proa._C.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def _parts(out):
    return out if isinstance(out, tuple) else [out]


def test_errors_name_the_matrix():
    x = np.stack([np.eye(2)] * 6).reshape(2, 3, 2, 2)
    x[1, 2] = [[1.0, 2.0], [2.0, 1.0]]
    with pytest.raises(
        ValueError, match=r"matrix at \[1, 2\] of the batch is not positive definite: its leading 2 x 2"
    ):
        L.cholesky(proa.to_tensor(x))
    x[1, 2] = 1.0
    with pytest.raises(ValueError, match=r"solve: .*the matrix at \[1, 2\] of the batch is singular"):
        L.solve(proa.to_tensor(x), proa.ones([2, 1]).astype("float64"))
    with pytest.raises(ValueError, match=r"x must be \[\.\.\., N, N\]; it is \[2, 3\]"):
        L.eigh(proa.ones([2, 3]))
    with pytest.raises(TypeError, match="int64"):
        L.svd(proa.to_tensor([[1, 2]]))
    with pytest.raises(ValueError, match="driver is 'best'"):
        L.lstsq(proa.ones([3, 2]), proa.ones([3, 1]), driver="best")
    with pytest.raises(ValueError, match="rcond must be"):
        L.lstsq(proa.ones([3, 2]), proa.ones([3, 1]), rcond="small")
    with pytest.raises(ValueError, match="full rank"):
        L.lstsq(proa.zeros([3, 2]), proa.ones([3, 1]), driver="gels")
    with pytest.raises(ValueError, match=r"y must be \[2, 3\]"):
        L.lu_unpack(proa.ones([2, 3, 3]), proa.ones([3]).astype("int32"))
    with pytest.raises(ValueError, match="pivot 9 is no row"):
        L.lu_unpack(proa.ones([2, 2]), proa.to_tensor([9, 1], "int32"))


def test_what_is_given_as_a_tensor():
    x = draw((2, 3, 2), "float64")
    x[1, :, 1] = x[1, :, 0] * (1 + 1e-9)
    found = L.pinv(proa.to_tensor(x), proa.to_tensor([1e-15, 1e-6], dtype="float64")).numpy()
    for i, rcond in enumerate((1e-15, 1e-6)):
        close(found[i], np.linalg.pinv(x[i], rcond), "float64", 1e4)
    close(L.pinv(proa.to_tensor(x), proa.to_tensor([[1e-3]])), np.linalg.pinv(x, 1e-3), "float64", 100)


def test_least_squares_of_unknown_sizes_are_refused():
    proa.enable_static()
    try:
        with proa.static.program_guard(proa.static.Program()):
            x, y = (proa.static.data(n, [-1, -1], "float64") for n in "xy")
            with pytest.raises(ValueError, match="lstsq: the sizes of x must be known when the program is recorded"):
                L.lstsq(x, y)
    finally:
        proa.disable_static()


def test_a_product_of_very_many():
    """The order of many matrices is found in less than n^3 steps, and is still a good one."""
    sizes = [(3, 2, 5, 1)[k % 4] for k in range(1001)]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((m, n)) / np.sqrt(n) for m, n in itertools.pairwise(sizes)]
    want = arrays[0]
    for a in arrays[1:]:
        want = want @ a
    close(L.multi_dot([proa.to_tensor(a) for a in arrays]), want, "float64", 1000)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (24, 32), (32, 24), (100, 37)])
def test_pseudoinverses_on_both_sides_of_full_rank(shape, dtype):
    """Matrices of full rank go a shorter way, which must not be taken by others: of lower rank, or by rcond."""
    rng = np.random.default_rng(3)
    a = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if "complex" in dtype else 0)
    u, s, v = np.linalg.svd(a, full_matrices=False)
    falling = (u * np.logspace(0, -5, len(s))) @ v
    single = dtype in ("float32", "complex64")
    for x, rcond in [
        (a, 1e-15),
        (a, 0.3),
        (falling, 1e-3),
        (falling, 1e-7),
        (np.outer(a[:, 0], a[0]), 1e-5 if single else 1e-12),
        (0 * a, 1e-15),
    ]:
        x = x.astype(dtype)
        wanted = np.linalg.pinv(x.astype("complex128"), rcond)
        got = L.pinv(proa.to_tensor(x), rcond).numpy()
        assert got.dtype == x.dtype
        # What a matrix in single precision says about its pseudoinverse.
        condition = np.linalg.norm(wanted, 2) * np.linalg.norm(x.astype("complex128"), 2)
        limit = (1e-6 * max(condition, 1) if single else 1e-10) * np.abs(wanted).max()
        np.testing.assert_allclose(got, wanted, rtol=0, atol=limit, err_msg=f"{rcond}")


def _matrices(n, dtype):
    """Pairs of a name and a matrix [n, n] in double precision, whose decomposition is hard in some way."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if "complex" in dtype else 0)
    q = np.linalg.qr(a)[0]
    low = a[:, : max(1, n // 3)]
    info = np.finfo(dtype)
    yield "random", a
    yield "graded", a * np.logspace(0, -5, n)[:, None]
    yield "repeated", (q * np.repeat([1.0, 2.0], [n // 2, n - n // 2])) @ q.conj().T
    yield "of low rank", low @ low.conj().T
    yield "defective", np.eye(n, k=1) + 2 * np.eye(n)
    yield "zero", 0 * a
    yield "huge", a * (float(info.max) / 1e4)
    yield "tiny", a * (float(info.tiny) * 10)


# On both sides of each size at which LAPACK goes another way.
@pytest.mark.parametrize("n", [1, 2, 3, 17, 26, 49, 76, 101, 151])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_decompositions_of_hard_matrices(dtype, n):
    epsilon = float(np.finfo(dtype).eps)
    for name, a in _matrices(n, dtype):
        x = a.astype(dtype)
        # Back in double precision, near one.
        scale = float(np.abs(x).max()) or 1.0
        exact = x.astype("complex128") / scale
        size = np.linalg.norm(exact) or 1.0
        limit = 40 * epsilon * np.sqrt(n) * size

        def near(left, right, limit=limit, name=name):
            assert np.linalg.norm(left - right) <= limit, name

        t = proa.to_tensor(x)
        u, s, vh = (v.numpy().astype("complex128") for v in L.svd(t))
        near(u * (s / scale) @ vh, exact)
        near(u.conj().T @ u, np.eye(n), 40 * epsilon * n)
        near(vh @ vh.conj().T, np.eye(n), 40 * epsilon * n)
        values = L.svdvals(t).numpy().astype("float64") / scale
        near(values, np.linalg.svd(exact, compute_uv=False))

        w, v = (v.numpy().astype("complex128") for v in L.eig(t))
        near(exact @ v, v * (w / scale), 3 * limit)
        near(np.linalg.norm(v, axis=0), np.ones(n), 40 * epsilon * n)
        # The trace is well conditioned where eigenvalues are not.
        near(L.eigvals(t).numpy().astype("complex128").sum() / scale, np.trace(exact), 10 * limit)

        half = (x / 2 + x.conj().T / 2).astype(dtype)
        exact = half.astype("complex128") / scale
        for uplo in "LU":
            # The other triangle is not read.
            read = np.tril(half) if uplo == "L" else np.triu(half)
            w, v = (v.numpy().astype("complex128") for v in L.eigh(proa.to_tensor(read), uplo))
            near(exact @ v, v * (w / scale))
            near(v.conj().T @ v, np.eye(n), 40 * epsilon * n)
            near(L.eigvalsh(proa.to_tensor(read), uplo).numpy() / scale, w / scale)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 9), (40, 40), (130, 7), (7, 130), (90, 60), (60, 90)])
def test_svd_of_every_shape(shape, dtype):
    rng = np.random.default_rng(4)
    x = (rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if "complex" in dtype else 0)).astype(dtype)
    limit = 100 * float(np.finfo(dtype).eps) * max(shape)
    for full in (False, True):
        u, s, vh = (v.numpy() for v in L.svd(proa.to_tensor(x), full_matrices=full))
        k = min(shape)
        assert u.shape == (shape[0], shape[0] if full else k)
        assert vh.shape == (shape[1] if full else k, shape[1])
        assert np.abs(u[:, :k] * s @ vh[:k] - x).max() < limit
        assert np.abs(u.conj().T @ u - np.eye(u.shape[1])).max() < limit
        assert np.abs(vh @ vh.conj().T - np.eye(len(vh))).max() < limit
        largest = np.take_along_axis(u, np.abs(u).argmax(0)[None], 0)[0]
        assert (largest.imag == 0).all()
        assert (largest.real > 0).all()


def test_decompositions_have_the_same_bits_at_any_number_of_threads():
    x = proa.to_tensor(np.random.default_rng(5).standard_normal((6, 120, 120)).astype("float32"))
    results = []
    before = proa._C.get_num_threads()
    for threads in (1, 4):
        proa._C.set_num_threads(threads)
        results.append([v.numpy().tobytes() for f in (L.svd, L.eig, L.eigh) for v in f(x)])
    proa._C.set_num_threads(before)
    assert results[0] == results[1]
