"""Sparse tensors: every function and layer against the same of dense tensors, in each layout and mode; gradients; bad input."""

import io

import numpy as np
import pytest
import scipy.sparse

import proa as paddle

sparse = paddle.sparse
F, nn = sparse.nn.functional, sparse.nn


def _array(shape=(4, 5), share=0.5, seed=0, positive=False):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.1, 0.9, shape) * (1 if positive else rng.choice([-1.0, 1.0], shape))
    return x * (rng.random(shape) < share)


def _coo(x, sparse_dim=None, duplicates=False, dtype="int64"):
    """A COO tensor of an array, in any order; with duplicates some elements in two parts."""
    sparse_dim = x.ndim if sparse_dim is None else sparse_dim
    held = (x != 0).reshape(*x.shape[:sparse_dim], -1).any(-1)
    indices = np.stack(np.nonzero(held))
    values = x[tuple(indices)]
    if duplicates:
        indices = np.concatenate([indices, indices], 1)
        values = np.concatenate([values * 0.25, values * 0.75])
    order = np.random.default_rng(1).permutation(indices.shape[1])
    return sparse.sparse_coo_tensor(indices[:, order].astype(dtype), values[order], list(x.shape), stop_gradient=False)


def _csr(x, dtype="int64"):
    """A CSR tensor of an array, columns of a row in falling order."""
    shape = x.shape
    lines = x.reshape(-1, shape[-1])
    cols = [np.nonzero(line)[0][::-1] for line in lines]
    counts = np.array([len(c) for c in cols]).reshape(-1, shape[-2])
    crows = np.concatenate([np.zeros((len(counts), 1), np.int64), counts.cumsum(1)], 1).reshape(-1)
    values = np.concatenate([line[c] for line, c in zip(lines, cols)] or [np.zeros(0)])
    return sparse.sparse_csr_tensor(
        crows.astype(dtype), np.concatenate(cols).astype(dtype), values, list(shape), stop_gradient=False
    )


def _dense(x):
    return x.to_dense() if isinstance(x, sparse.SparseTensor) else x


X, Y = _array(), _array(seed=2)
P = _array(positive=True)
W = np.random.default_rng(5).uniform(-1, 1, (5, 3))
IMAGE = _array((2, 4, 5, 5, 3), 0.3, 7) * (np.random.default_rng(8).random((2, 4, 5, 5, 1)) < 0.4)
PLANE = IMAGE[:, 0]
# Without zeros among the channels, which would be as large as each other.
POOLED = _array((2, 4, 5, 5, 3), 1.0, 6) * (np.random.default_rng(8).random((2, 4, 5, 5, 1)) < 0.4)
WINDOW = np.random.default_rng(9).uniform(-1, 1, (3, 3, 3, 3, 2))


def _with_places(of_values):
    """A reference that acts on elements that are held and leaves the others 0."""
    return lambda x, *rest: paddle.where(x != 0, of_values(x, *rest), paddle.zeros_like(x))


def _masked_softmax(x, axis=-1):
    return paddle.nn.functional.softmax(paddle.where(x != 0, x, paddle.full_like(x, -1e300)), axis) * (x != 0).astype(
        x.dtype
    )


def _dense_conv(x, weight, subm=False, **options):
    n = len(weight.shape) - 2
    last = [0, n + 1, *range(1, n + 1)]
    conv = {2: paddle.nn.functional.conv2d, 3: paddle.nn.functional.conv3d}[n]
    first = weight.transpose([n + 1, n, *range(n)])
    out = conv(x.transpose(last), first, **options).transpose([0, *range(2, n + 2), 1])
    return out * (x != 0).any(-1, True).astype(x.dtype) if subm else out


def _dense_pool(x, size, **options):
    low = paddle.where((x != 0).any(-1, True).expand(x.shape), x, paddle.full_like(x, -1e300))
    out = paddle.nn.functional.max_pool3d(low.transpose([0, 4, 1, 2, 3]), size, **options).transpose([0, 2, 3, 4, 1])
    return paddle.where(out > -1e299, out, paddle.zeros_like(out))


# name: (function of sparse and dense tensors, the same of dense ones, arrays; "s" sparse in both layouts, "c" COO, "d" dense)
UNARY = "abs asin asinh atan atanh deg2rad expm1 log1p neg rad2deg sin sinh square tan tanh".split()
CASES = {
    **{name: (getattr(sparse, name), getattr(paddle, name), [("s", X)]) for name in UNARY},
    "sqrt": (sparse.sqrt, _with_places(paddle.sqrt), [("s", P)]),
    "pow": (lambda x: sparse.pow(x, 3), lambda x: x**3, [("s", X)]),
    "pow 0": (lambda x: sparse.pow(x, 0), lambda x: (x != 0).astype(x.dtype) * x**0, [("s", X)]),
    "cast": (lambda x: sparse.cast(x, "int32", "float32"), lambda x: x.astype("float32"), [("s", X)]),
    "isnan": (lambda x: sparse.isnan(x).astype("float64"), lambda x: paddle.isnan(x).astype("float64"), [("s", X)]),
    "add": (sparse.add, paddle.add, [("s", X), ("s", Y)]),
    "add dense": (sparse.add, paddle.add, [("s", X), ("d", Y[:1])]),
    "subtract": (sparse.subtract, paddle.subtract, [("s", X), ("s", Y)]),
    "subtract dense": (lambda x, y: sparse.subtract(y, x), lambda x, y: y - x, [("s", X), ("d", Y)]),
    "multiply": (sparse.multiply, paddle.multiply, [("s", X), ("s", Y)]),
    "multiply dense": (sparse.multiply, paddle.multiply, [("s", X), ("d", Y[:1])]),
    "multiply number": (lambda x: -2 * x, lambda x: -2 * x, [("s", X)]),
    "divide": (
        lambda x, y: sparse.divide(x, y),
        paddle.divide,
        [("s", X), ("s", np.random.default_rng(4).uniform(1, 2, X.shape))],
    ),
    "divide dense": (lambda x, y: sparse.divide(x, y + 2.0), lambda x, y: x / (y + 2.0), [("s", X), ("d", Y)]),
    "divide number": (lambda x: x / 4, lambda x: x / 4, [("s", X)]),
    "coalesce": (sparse.coalesce, lambda x: x * 1, [("s", X)]),
    "mask_as": (sparse.mask_as, lambda x, m: x * (m != 0).astype(x.dtype), [("d", Y + 3), ("s", X)]),
    "transpose": (lambda x: sparse.transpose(x, [1, 0]), lambda x: x.transpose([1, 0]), [("s", X)]),
    "transpose 3": (lambda x: x.transpose([2, 0, 1]), lambda x: x.transpose([2, 0, 1]), [("s", _array((2, 3, 4)))]),
    "reshape": (lambda x: sparse.reshape(x, [2, -1]), lambda x: x.reshape([2, -1]), [("s", X)]),
    "reshape 3": (lambda x: sparse.reshape(x, [2, 0, 2]), lambda x: x.reshape([2, 5, 2]), [("s", X)]),
    "slice": (
        lambda x: sparse.slice(x, [0, -1], [1, -4], [-1, 99]),
        lambda x: paddle.slice(x, [0, 1], [1, 1], [3, 5]),
        [("s", X)],
    ),
    "sum": (lambda x: sparse.sum(x).to_dense().sum(), lambda x: x.sum(), [("s", X)]),
    "sum 1": (lambda x: sparse.sum(x, -1, keepdim=True), lambda x: x.sum(-1, keepdim=True), [("s", X)]),
    "sum 0": (lambda x: sparse.sum(x, [0]), lambda x: x.sum(0), [("c", _array((3, 4, 2)))]),
    "sum 02": (lambda x: sparse.sum(x, (0, 2)), lambda x: x.sum([0, 2]), [("c", _array((3, 4, 2)))]),
    "matmul": (sparse.matmul, paddle.matmul, [("s", X), ("d", W)]),
    "matmul batch": (
        sparse.matmul,
        paddle.matmul,
        [("s", _array((2, 3, 4))), ("d", np.random.default_rng(3).uniform(-1, 1, (2, 4, 5)))],
    ),
    "matmul from dense": (
        lambda x, y: sparse.matmul(y, x),
        lambda x, y: y @ x,
        [("s", X), ("d", W[:, :1] @ W[:1, :] @ W.T[:, :4])],
    ),
    "matmul sparse": (sparse.matmul, paddle.matmul, [("s", X), ("s", Y.T.copy())]),
    "matmul vector": (sparse.matmul, paddle.matmul, [("s", X), ("d", W[:, 0])]),
    "mv": (sparse.mv, paddle.mv, [("s", X), ("d", W[:, 0])]),
    "masked_matmul": (
        sparse.masked_matmul,
        lambda x, y, m: (x @ y) * (m != 0).astype(x.dtype),
        [("d", W[:4]), ("d", W.T), ("s", X)],
    ),
    "addmm": (
        lambda i, x, y: sparse.addmm(i, x, y, 0.5, 3.0),
        lambda i, x, y: 0.5 * i + 3.0 * (x @ y),
        [("d", W[:4]), ("s", X), ("d", W)],
    ),
    "addmm sparse": (
        lambda i, x, y: sparse.addmm(i, x, y, 2.0, 3.0),
        lambda i, x, y: 2.0 * i + 3.0 * (x @ y),
        [("s", X[:, :4]), ("s", X), ("s", Y.T.copy())],
    ),
    "nn.functional.relu": (F.relu, paddle.nn.functional.relu, [("s", X)]),
    "nn.functional.relu6": (lambda x: F.relu6(x * 9), lambda x: paddle.nn.functional.relu6(x * 9), [("s", X)]),
    "nn.functional.leaky_relu": (
        lambda x: F.leaky_relu(x, 0.3),
        lambda x: paddle.nn.functional.leaky_relu(x, 0.3),
        [("s", X)],
    ),
    "nn.functional.softmax": (F.softmax, _masked_softmax, [("s", X)]),
    "nn.functional.softmax 3": (lambda x: F.softmax(x, 1), lambda x: _masked_softmax(x, 1), [("c", _array((3, 4, 2)))]),
    "nn.functional.softmax batch": (F.softmax, _masked_softmax, [("s", _array((3, 4, 2)))]),
    "nn.functional.conv3d": (F.conv3d, _dense_conv, [("i", IMAGE), ("d", WINDOW)]),
    "nn.functional.conv3d strided": (
        lambda x, w: F.conv3d(x, w, None, [1, 2, 2], [1, 0, 2], [1, 2, 1]),
        lambda x, w: _dense_conv(x, w, stride=[1, 2, 2], padding=[1, 0, 2], dilation=[1, 2, 1]),
        [("i", IMAGE), ("d", WINDOW)],
    ),
    "nn.functional.conv2d": (
        lambda x, w: F.conv2d(x, w, padding="SAME"),
        lambda x, w: _dense_conv(x, w, padding=1),
        [("i", PLANE), ("d", WINDOW[0])],
    ),
    "nn.functional.subm_conv3d": (
        F.subm_conv3d,
        lambda x, w: _dense_conv(x, w, True, padding=1),
        [("i", IMAGE), ("d", WINDOW)],
    ),
    "nn.functional.subm_conv2d": (
        lambda x, w: F.subm_conv2d(x, w, dilation=2),
        lambda x, w: _dense_conv(x, w, True, padding=2, dilation=2),
        [("i", PLANE), ("d", WINDOW[0])],
    ),
    "nn.functional.max_pool3d": (lambda x: F.max_pool3d(x, 2), lambda x: _dense_pool(x, 2), [("i", POOLED)]),
    "nn.functional.max_pool3d ceil": (
        lambda x: F.max_pool3d(x, 3, 2, 1, ceil_mode=True),
        lambda x: _dense_pool(x, 3, stride=2, padding=1, ceil_mode=True),
        [("i", POOLED)],
    ),
}
# What has tests of its own below.
OTHERS = """SparseCooTensor SparseCsrTensor SparseTensor ReLU functional nn is_same_shape sparse_coo_tensor sparse_csr_tensor
    nn.functional.attention nn.functional""".split()


def test_every_function_has_a_case():
    names = [*sparse.__all__, *(f"nn.functional.{name}" for name in F.__all__)]
    cased = {name.partition(" ")[0] for name in CASES}
    assert sorted(set(names) - cased - set(OTHERS)) == []


def _made(kind, x, layout):
    if kind == "d":
        return paddle.to_tensor(x, stop_gradient=False)
    if kind == "i":
        return _coo(x, x.ndim - 1)
    if kind == "s" and layout == "csr":
        return _csr(x)
    return _coo(x, dtype="int32" if layout == "int32" else "int64")


def _leaves(tensors):
    return [t.values() if isinstance(t, sparse.SparseTensor) else t for t in tensors]


def _layouts(name):
    return ["coo", "int32", "csr"] if any(kind == "s" for kind, _ in CASES[name][2]) else ["coo"]


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    """As the dense function: values, and gradients of all arguments, at the places that are held."""
    function, reference, arrays = CASES[name]
    for layout in _layouts(name):
        given = [_made(kind, x, layout) for kind, x in arrays]
        dense = [paddle.to_tensor(x, stop_gradient=False) for _, x in arrays]
        out, want = _dense(function(*given)), reference(*dense)
        assert list(out.shape) == list(want.shape) or name == "sum", f"{layout}: {out.shape}, dense {want.shape}"
        np.testing.assert_allclose(out.numpy(), want.numpy(), rtol=1e-6, atol=1e-9, err_msg=layout)
        if out.stop_gradient:
            continue
        rng = np.random.default_rng(3)
        weight = paddle.to_tensor(rng.uniform(-1, 1, out.shape).astype(out.numpy().dtype))
        (out * weight).sum().backward()
        (want * weight).sum().backward()
        for g, d in zip(given, dense, strict=True):
            if isinstance(g, sparse.SparseTensor):
                if g.grad is None:
                    assert name in ("mask_as", "masked_matmul")
                    continue
                where = tuple(g.to_sparse_coo().indices().numpy())
                np.testing.assert_allclose(g.grad.values().numpy(), d.grad.numpy()[where], rtol=1e-5, atol=1e-8)
            else:
                np.testing.assert_allclose(g.grad.numpy(), d.grad.numpy(), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_converted_and_saved(name, tmp_path):
    """Recorded, and from a file: the same, with sparse tensors made and taken apart inside of the program."""
    function, _, arrays = CASES[name]
    given = [_made(kind, x, "coo") for kind, x in arrays]
    leaves = [t.detach() for t in _leaves(given)]

    def run(*leaves):
        full = [
            g._with_values(v) if isinstance(g, sparse.SparseTensor) else v for g, v in zip(given, leaves, strict=True)
        ]
        return _dense(function(*full))

    want = run(*leaves).numpy()
    converted = paddle.jit.to_static(run)
    for _ in range(2):
        np.testing.assert_allclose(converted(*leaves).numpy(), want, rtol=1e-6, atol=1e-9)
    specs = [paddle.static.InputSpec(list(t.shape), t.dtype.name) for t in leaves]
    paddle.jit.save(run, str(tmp_path / "m"), specs)
    np.testing.assert_allclose(paddle.jit.load(str(tmp_path / "m"))(*leaves).numpy(), want, rtol=1e-6, atol=1e-9)


def test_converted_functions_take_and_give_sparse_tensors():
    @paddle.jit.to_static
    def double(x):
        return x * 2

    for x in (_coo(X), _csr(X)):
        out = double(x)
        assert type(out) is type(x)
        np.testing.assert_allclose(out.numpy(), X * 2)


@pytest.mark.parametrize("name", CASES)
def test_elements_at_one_place_are_added_up(name):
    function, reference, arrays = CASES[name]
    if "s" not in [kind for kind, _ in arrays] or name in ("mask_as", "masked_matmul", "divide", "addmm sparse"):
        pytest.skip("has no such argument, or is told apart by places")
    given, dense = [], []
    for kind, x in arrays:
        t = _coo(x, duplicates=True) if kind == "s" else paddle.to_tensor(x)
        given.append(t)
        dense.append(_dense(t))
    np.testing.assert_allclose(
        _dense(function(*given)).numpy(), reference(*dense).numpy(), rtol=1e-6, atol=1e-9, err_msg=name
    )


def _peer(x):
    coo = x.to_sparse_coo().coalesce()
    return scipy.sparse.coo_array((coo.values().numpy(), tuple(coo.indices().numpy())), shape=x.shape)


def test_as_scipy():
    """Layouts and products of larger matrices."""
    a, b = _array((60, 80), 0.1, 3), _array((80, 50), 0.2, 4)
    x, y = _coo(a), _coo(b)
    want = scipy.sparse.csr_array(a)
    csr = x.to_sparse_csr()
    np.testing.assert_array_equal(csr.crows().numpy(), want.indptr)
    np.testing.assert_array_equal(csr.cols().numpy(), want.indices)
    np.testing.assert_array_equal(csr.values().numpy(), want.data)
    product = (want @ scipy.sparse.csr_array(b)).tocsr()
    product.sort_indices()
    for left in (x, csr):
        got = sparse.matmul(left, y).to_sparse_csr()
        np.testing.assert_array_equal(got.crows().numpy(), product.indptr)
        np.testing.assert_array_equal(got.cols().numpy(), product.indices)
        np.testing.assert_allclose(got.values().numpy(), product.data, rtol=1e-12)
    total = (_peer(x) + _peer(x.transpose([1, 0]).transpose([1, 0]))).tocsr()
    np.testing.assert_allclose(sparse.add(x, x).numpy(), total.toarray())
    np.testing.assert_allclose((csr @ paddle.to_tensor(b)).numpy(), want @ b, rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_same_bits_with_any_number_of_threads(threads):
    a = _array((500, 400), 0.1, 3).astype("float32")
    y = np.random.default_rng(1).uniform(-1, 1, (400, 90)).astype("float32")

    def run():
        x = _csr(a)
        product = sparse.matmul(x, paddle.to_tensor(y))
        product.sum().backward()
        other = sparse.matmul(x, _coo(y[:, :40] * (y[:, :40] > 0.8)))
        return [t.numpy().tobytes() for t in (product, x.grad.values(), other.values(), F.softmax(x).values())]

    before = paddle.get_flags("FLAGS_paddle_num_threads")["FLAGS_paddle_num_threads"]
    paddle.set_flags({"FLAGS_paddle_num_threads": 1})
    want = run()
    paddle.set_flags({"FLAGS_paddle_num_threads": threads})
    try:
        assert run() == want
    finally:
        paddle.set_flags({"FLAGS_paddle_num_threads": before})


def test_second_gradients():
    x, w = _csr(X), paddle.to_tensor(W, stop_gradient=False)
    values = x.values()
    out = sparse.matmul(sparse.tanh(x), w * w).sum()
    (first,) = paddle.grad(out, [values], create_graph=True)
    (second,) = paddle.grad((first * first).sum(), [w])
    dense, v = paddle.to_tensor(X, stop_gradient=False), paddle.to_tensor(W, stop_gradient=False)
    (first,) = paddle.grad(paddle.matmul(paddle.tanh(dense), v * v).sum(), [dense], create_graph=True)
    (want,) = paddle.grad(((first * first) * (dense != 0).astype("float64")).sum(), [v])
    np.testing.assert_allclose(second.numpy(), want.numpy(), rtol=1e-9)


# Conversions, methods, text, files -------------------------------------------------------------------------------------


def test_conversions():
    dense = paddle.to_tensor(X, stop_gradient=False)
    assert not dense.is_sparse_coo() and not dense.is_sparse_csr()
    coo, csr = dense.to_sparse_coo(2), dense.to_sparse_csr()
    assert coo.is_sparse() and coo.is_sparse_coo() and csr.is_sparse_csr() and not csr.is_sparse_coo()
    assert coo.is_coalesced() and coo.nnz() == csr.nnz() == (X != 0).sum()
    for x in (coo, csr, coo.to_sparse_csr(), csr.to_sparse_coo(), dense.to_sparse_coo(1), csr.to_sparse_coo(1)):
        np.testing.assert_array_equal(x.numpy(), X)
    assert dense.to_sparse_coo(1).values().shape[1:] == [5]
    (csr * 3).to_dense().sum().backward()
    np.testing.assert_array_equal(dense.grad.numpy(), 3.0 * (X != 0))
    batch = paddle.to_tensor(_array((3, 4, 5)))
    np.testing.assert_array_equal(batch.to_sparse_csr().numpy(), batch.numpy())
    assert batch.to_sparse_csr().crows().shape == [15]


@pytest.mark.parametrize(
    "dtype", ["bool", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
)
def test_layouts_in_every_dtype(dtype):
    x = paddle.to_tensor((X > 0.3).astype("float32")).astype(dtype)
    want = x.astype("float32").numpy() if dtype == "bfloat16" else x.numpy()
    for s in (
        x.to_sparse_coo(),
        x.to_sparse_csr(),
        sparse.coalesce(x.to_sparse_coo().transpose([1, 0]).transpose([1, 0])),
    ):
        assert s.dtype == x.dtype
        got = s.to_dense()
        np.testing.assert_array_equal(got.astype("float32").numpy() if dtype == "bfloat16" else got.numpy(), want)


def test_stop_gradient_and_leaves():
    v = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    assert sparse.sparse_coo_tensor([[0, 1]], v, [3]).stop_gradient
    x = sparse.sparse_coo_tensor([[0, 1]], v * 3, [3], stop_gradient=False)
    y = sparse.square(x)
    y.backward(sparse.sparse_coo_tensor([[0, 1]], [1.0, 1.0], [3]))
    assert v.grad.tolist() == [18.0, 36.0]
    x = sparse.sparse_coo_tensor([[0, 1]], [1.0, 2.0], [3], stop_gradient=False)
    sparse.sin(x).to_dense().sum().backward()
    assert x.is_leaf and x.grad.is_sparse_coo() and x.grad.shape == [3]
    x.clear_grad()
    assert x.grad is None or x.grad.values().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("shape", [[0, 3], [3, 0], [0, 0], [2, 3]])
def test_no_elements(shape):
    for x in (paddle.zeros(shape).to_sparse_coo(), paddle.zeros(shape).to_sparse_csr()):
        assert x.nnz() == 0 and x.to_dense().shape == shape
        assert (x @ paddle.ones([shape[1], 2])).shape == [shape[0], 2]
        assert sparse.matmul(x, paddle.zeros([shape[1], 4]).to_sparse_coo()).shape == [shape[0], 4]
        for out in (x + x, x * x, -x, x.sum(), x.transpose([1, 0]), F.softmax(x), x.coalesce(), F.relu(x), x * 2):
            assert out.nnz() == 0
        assert "values=[]" in repr(x)


def test_text():
    x = sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [2.0, 3.0], [2, 3])
    assert repr(x) == (
        "Tensor(shape=[2, 3], dtype=float32, place=Place(cpu), stop_gradient=True,\n"
        "       crows=[0, 1, 2],\n       cols=[1, 0],\n       values=[2., 3.])"
    )


def test_files(tmp_path):
    x, y = _coo(X, duplicates=True), _csr(X).coalesce()
    paddle.save({"x": x, "y": [y, 3]}, str(tmp_path / "s.pd"))
    back = paddle.load(str(tmp_path / "s.pd"))
    for got, want in ((back["x"], x), (back["y"][0], y)):
        assert type(got) is type(want) and got.is_coalesced() == want.is_coalesced() if got.is_sparse_coo() else True
        assert got.stop_gradient == want.stop_gradient and got.shape == want.shape
        for a, b in zip(got._parts().values(), want._parts().values(), strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert back["y"][1] == 3


def test_a_file_with_bad_places(tmp_path):
    x = _coo(X)
    x._coalesced = True  # a lie
    stream = io.BytesIO()
    paddle.save(x, stream)
    stream.seek(0)
    with pytest.raises(ValueError, match="bad sparse node"):
        paddle.load(stream)
    x._shape = [2, 2]
    x._coalesced = False
    stream = io.BytesIO()
    paddle.save(x, stream)
    stream.seek(0)
    with pytest.raises((ValueError, IndexError), match="out of range|bad sparse node"):
        paddle.load(stream)


def test_aliases():
    assert paddle.sparse.ReLU is nn.ReLU and paddle.sparse.functional.relu is F.relu
    other = paddle.incubate.sparse
    for name in sparse.__all__:
        if name not in ("functional", "nn"):
            assert getattr(other, name) is getattr(sparse, name)
    assert other.nn.Conv3D is nn.Conv3D and other.nn.functional.relu is F.relu


# Layers ----------------------------------------------------------------------------------------------------------------

LAYERS = {
    "BatchNorm": lambda: nn.BatchNorm(3),
    "Conv2D": lambda: nn.Conv2D(3, 4, 3, padding=1),
    "Conv3D": lambda: nn.Conv3D(3, 4, 3, stride=2, padding=1),
    "LeakyReLU": lambda: nn.LeakyReLU(0.2),
    "MaxPool3D": lambda: nn.MaxPool3D(2),
    "ReLU": nn.ReLU,
    "ReLU6": nn.ReLU6,
    "Softmax": nn.Softmax,
    "SubmConv2D": lambda: nn.SubmConv2D(3, 4, 3),
    "SubmConv3D": lambda: nn.SubmConv3D(3, 4, 3, key="a"),
    "SyncBatchNorm": lambda: nn.SyncBatchNorm(3),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, tmp_path):
    """Called, converted and saved; parameters get gradients."""
    assert sorted(LAYERS) == sorted(set(nn.__all__) - {"functional"})
    layer = LAYERS[name]()
    image = (
        _coo(PLANE if name.endswith("2D") else IMAGE, 3 if name.endswith("2D") else 4)
        .astype("float32")
        .detach()
        .coalesce()
    )
    image.stop_gradient = False
    image = type(image)(image._indices, image._values.detach(), image._shape, True)
    image.stop_gradient = False
    out = layer(image)
    out.to_dense().square().sum().backward()
    assert image.grad is not None and all(p.grad is not None for p in layer.parameters() if not p.stop_gradient)
    layer.eval()
    want = layer(image).numpy()

    class Whole(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = layer

        def forward(self, values):
            return self.inner(image._with_values(values)).to_dense()

    spec = paddle.static.InputSpec(list(image.values().shape), "float32")
    whole = Whole()
    whole.eval()
    paddle.jit.save(whole, str(tmp_path / "m"), [spec])
    np.testing.assert_allclose(
        paddle.jit.load(str(tmp_path / "m"))(image.values().detach()).numpy(), want, rtol=1e-5, atol=1e-6
    )


def test_batch_norm_and_its_conversion():
    x = _coo(IMAGE, 4)
    layer = nn.BatchNorm(3)
    layer.to(dtype="float64")
    values = x.coalesce().values().numpy()
    want = (values - values.mean(0)) / np.sqrt(values.var(0) + 1e-5)
    np.testing.assert_allclose(layer(x).values().numpy(), want, rtol=1e-6)
    model = paddle.nn.Sequential(nn.Conv3D(3, 3, 1), layer, paddle.nn.Sequential(nn.BatchNorm(3)))
    made = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert [type(each).__name__ for each in made.sublayers()] == [
        "Conv3D",
        "SyncBatchNorm",
        "Sequential",
        "SyncBatchNorm",
    ]
    assert made[1].weight is layer.weight


def test_a_network_learns():
    """Two convolutions and a pool tell images with few elements from those with many."""
    paddle.seed(3)
    rng = np.random.default_rng(0)
    model = paddle.nn.Sequential(
        nn.SubmConv3D(1, 4, 3), nn.BatchNorm(4), nn.ReLU(), nn.Conv3D(4, 4, 2, stride=2), nn.ReLU()
    )
    head = paddle.nn.Linear(4, 1)
    adam = paddle.optimizer.Adam(0.03, parameters=[*model.parameters(), *head.parameters()])
    label = np.arange(8) % 2
    image = (rng.random((8, 4, 4, 4, 1)) < np.where(label, 0.6, 0.15)[:, None, None, None, None]).astype("float32")
    x, target = paddle.to_tensor(image).to_sparse_coo(4), paddle.to_tensor(label.astype("float32")[:, None])
    losses = []
    for _ in range(30):
        pooled = model(x).to_dense().sum([1, 2, 3])
        loss = paddle.nn.functional.binary_cross_entropy_with_logits(head(pooled), target)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.parametrize("masks", ["", "p", "a", "pa"])
def test_attention(masks):
    rng = np.random.default_rng(2)
    q, k, v = (paddle.to_tensor(rng.uniform(-1, 1, (2, 2, 5, 3)), stop_gradient=False) for _ in range(3))
    seen = rng.random((4, 5, 5)) < 0.6
    padding = (rng.random((2, 5)) < 0.7).astype("float64") if "p" in masks else None
    extra = (rng.random((5, 5)) < 0.7).astype("float64") if "a" in masks else None
    out = F.attention(
        q, k, v, paddle.to_tensor(seen.astype("float64")).to_sparse_csr(),
        None if padding is None else paddle.to_tensor(padding), None if extra is None else paddle.to_tensor(extra),
    )  # fmt: skip
    if padding is not None:
        seen = seen & (padding != 0).repeat(2, 0)[:, None, :]
    if extra is not None:
        seen = seen & (extra != 0)
    mask = paddle.to_tensor(np.where(seen, 0.0, -1e300).reshape(2, 2, 5, 5))
    d = [paddle.to_tensor(t.numpy(), stop_gradient=False) for t in (q, k, v)]
    scores = paddle.nn.functional.softmax(paddle.matmul(d[0], d[1], transpose_y=True) / 3**0.5 + mask)
    want = paddle.matmul(scores * paddle.to_tensor(seen.reshape(2, 2, 5, 5).astype("float64")), d[2])
    np.testing.assert_allclose(out.numpy(), want.numpy(), rtol=1e-9, atol=1e-12)
    out.square().sum().backward()
    want.square().sum().backward()
    for a, b in zip((q, k, v), d, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-7, atol=1e-10)


# Bad input -------------------------------------------------------------------------------------------------------------

_S = "sparse.sparse_coo_tensor([[0, 1], [1, 2]], [1.0, 2.0], [2, 3])"
_R = "sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [2.0, 3.0], [2, 3])"
ERRORS = [
    ("sparse.sparse_coo_tensor([[0, 5], [1, 2]], [1.0, 2.0], [2, 3])", IndexError, r"index 5 at \[0, 1\] is out of range for dim 0 of size 2"),
    ("sparse.sparse_coo_tensor([[0, -1], [1, 2]], [1.0, 2.0], [2, 3])", IndexError, "index -1 at"),
    ("sparse.sparse_coo_tensor([[0, 1], [1, 2]], [1.0, 2.0, 3.0], [2, 3])", ValueError, r"values must be \[2, ...\] by indices"),
    ("sparse.sparse_coo_tensor([[0, 1], [1, 2]], 1.0, [2, 3])", ValueError, r"values must be \[2, ...\]"),
    ("sparse.sparse_coo_tensor([0, 1], [1.0, 2.0], [2])", ValueError, r"indices must be \[sparse_dim, nnz\]"),
    ("sparse.sparse_coo_tensor([[0.5]], [1.0], [2])", TypeError, "indices must be int32 or int64"),
    ("sparse.sparse_coo_tensor([[0]], [1.0], [2, 2])", ValueError, "shape must be 1 sizes"),
    ("sparse.sparse_coo_tensor([[0]], [[1.0, 2.0]], [2, 3])", ValueError, "shape must be 1 sizes"),
    ("sparse.sparse_coo_tensor([[]], [])", ValueError, "shape is needed"),
    ("sparse.sparse_coo_tensor([[0]], [1.0], [-2])", ValueError, "negative size"),
    ("sparse.sparse_coo_tensor([[0], [0]], [1.0], [2**62, 4])", ValueError, "overflow"),
    ("sparse.sparse_coo_tensor([[-1, 3]], [1.0, 2.0])", IndexError, "index -1"),
    ("sparse.sparse_csr_tensor([0, 2, 1], [0, 1], [1.0, 2.0], [2, 3])", ValueError, "crows must rise"),
    ("sparse.sparse_csr_tensor([1, 2, 2], [0, 1], [1.0, 2.0], [2, 3])", ValueError, "crows must begin with 0"),
    ("sparse.sparse_csr_tensor([0, 1, 1], [0, 1], [1.0, 2.0], [2, 3])", ValueError, "crows come to 1 elements; cols has 2"),
    ("sparse.sparse_csr_tensor([0, 2], [1, 1], [1.0, 2.0], [1, 3])", ValueError, "row 0 has column 1 twice"),
    ("sparse.sparse_csr_tensor([0, 0, 3], [2, 1, 2], [1.0, 2.0, 3.0], [2, 3])", ValueError, "row 1 has column 2 twice"),
    ("sparse.sparse_csr_tensor([0, 1, 2], [0, 3], [1.0, 2.0], [2, 3])", IndexError, "index 3"),
    ("sparse.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0], [2, 3])", ValueError, r"values must be \[2\] by cols"),
    ("sparse.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], [3, 3])", ValueError, "crows must have 4 numbers"),
    ("sparse.sparse_csr_tensor([0, 1], [0], [1.0], [3])", ValueError, r"shape must be \[rows, columns\]"),
    ("sparse.sparse_csr_tensor([0, 1], [[0]], [1.0], [1, 1])", ValueError, "cols must have 1 dim"),
    ("sparse.sin(paddle.ones([2]))", TypeError, "x must be a sparse tensor, not a dense tensor; see Tensor.to_sparse_coo"),
    ("sparse.sin(3)", TypeError, "not int"),
    (f"sparse.add({_S}, 3.0)", TypeError, "a number changes all elements"),
    (f"sparse.add({_S}, sparse.sparse_coo_tensor([[0]], [1.0], [3]))", ValueError, "shapes must be equal"),
    ("sparse.add(paddle.ones([2]), paddle.ones([2]))", TypeError, "y must be a sparse tensor"),
    (f"sparse.multiply({_S}, paddle.ones([5]))", ValueError, "y does not broadcast"),
    (f"sparse.divide(paddle.ones([2, 3]), {_S})", TypeError, "x must be a sparse tensor"),
    (f"sparse.matmul({_S}, paddle.ones([2, 3]))", ValueError, r"y must be \[3, n\]"),
    (f"sparse.matmul({_S}, {_R})", ValueError, "x has 3 columns, y 2 rows"),
    (f"sparse.matmul({_S}, 3)", TypeError, "y"),
    (f"sparse.mv({_S}, paddle.ones([2]))", ValueError, r"vec \[k\]"),
    (f"sparse.masked_matmul(paddle.ones([2, 4]), paddle.ones([3, 3]), {_S})", ValueError, "csr_sampled_matmul"),
    (f"sparse.addmm(paddle.ones([2, 3]), {_S}, paddle.ones([3, 2]))", ValueError, "shape of the product"),
    (f"sparse.transpose({_S}, [0, 0])", ValueError, "each of 2 dims once"),
    (f"sparse.transpose({_S}, [0, 2])", IndexError, "axis 2 is out of range"),
    (f"sparse.reshape({_S}, [4, 2])", ValueError, "cannot become"),
    (f"sparse.reshape({_S}, [-1, -1])", ValueError, "cannot become"),
    (f"sparse.sum({_S}, 2)", IndexError, "axis 2 is out of range"),
    (f"sparse.slice({_S}, [0], [1], [1, 2])", ValueError, "one length"),
    (f"sparse.cast({_S}, 'float32')", ValueError, "index_dtype must be int32 or int64"),
    (f"sparse.mask_as(paddle.ones([2]), {_S})", ValueError, "shape of mask"),
    (f"F.softmax({_R}, 0)", ValueError, "must be the last"),
    (f"F.softmax({_S}, 2)", IndexError, "axis 2 is out of range"),
    (f"F.conv3d({_S}, paddle.ones([3, 3, 3, 1, 1]))", ValueError, "dense channels alone"),
    (f"F.conv3d({_R}, paddle.ones([3, 3, 3, 1, 1]))", ValueError, "a CSR tensor"),
    ("F.conv3d(paddle.ones([1, 2, 2, 2, 3]).to_sparse_coo(4), paddle.ones([3, 3, 3, 2, 1]))", ValueError, "3 channels by x"),
    ("F.conv3d(paddle.ones([1, 2, 2, 2, 3]).to_sparse_coo(4), paddle.ones([3, 3, 3, 3, 1]))", ValueError, "the window covers 3 elements of dim 1, of which there are 2"),
    ("F.conv3d(paddle.ones([1, 2, 2, 2, 3]).to_sparse_coo(4), paddle.ones([1, 1, 1, 3, 1]), groups=3)", ValueError, "groups must be 1"),
    ("F.conv3d(paddle.ones([1, 2, 2, 2, 3]).to_sparse_coo(4), paddle.ones([1, 1, 1, 3, 1]), stride=0)", ValueError, "stride"),
    ("F.subm_conv3d(paddle.ones([1, 2, 2, 2, 3]).to_sparse_coo(4), paddle.ones([1, 1, 1, 3, 1]), stride=2)", ValueError, "stride must be 1"),
    ("F.max_pool3d(paddle.ones([1, 2, 2, 2, 3]).to_sparse_coo(4), 3)", ValueError, "the window covers 3"),
    ("nn.Conv3D(2, 2, 3, groups=2)", ValueError, "groups must be 1"),
    ("nn.Conv3D(2, 2, 3, padding_mode='reflect')", ValueError, "padding_mode must be 'zeros'"),
    ("nn.MaxPool3D(2, return_mask=True)", ValueError, "return_mask"),
    ("nn.BatchNorm(3, data_format='NCHW')", ValueError, "data_format"),
    ("paddle.ones([2]).to_sparse_csr()", ValueError, "2 or 3 dims"),
    ("paddle.ones([2]).to_sparse_coo(2)", ValueError, "sparse_dim must be 1 to 1"),
    ("paddle.ones([2]).to_sparse_coo(0)", ValueError, "sparse_dim must be 1 to 1"),
    ("sparse.sparse_coo_tensor([[0]], [[1.0]], [2, 1]).to_sparse_csr()", ValueError, "all of them sparse"),
    (f"bool({_S})", ValueError, "neither true nor false"),
    (f"paddle.sin({_S})", TypeError, "x"),
]  # fmt: skip


@pytest.mark.parametrize("text, kind, says", ERRORS, ids=[text[:60] for text, _, _ in ERRORS])
def test_errors(text, kind, says):
    with pytest.raises(kind, match=says):
        eval(text)


def test_indices_of_int32_do_not_overflow():
    """Places are counted in int64, whatever indices are."""
    x = sparse.sparse_coo_tensor(np.array([[70000, 3], [70000, 4]], "int32"), [1.0, 2.0], [100000, 100000])
    y = x.coalesce()
    assert y.indices().tolist() == [[3, 70000], [4, 70000]] and y.indices().dtype.name == "int32"
    z = sparse.reshape(x, [10**10])
    assert z.indices().tolist() == [[300004, 7000070000]] and z.indices().dtype.name == "int64"


def test_dense_tensors_have_no_places():
    for name, maker in (("indices", "to_sparse_coo"), ("crows", "to_sparse_csr"), ("cols", "to_sparse_csr")):
        with pytest.raises(ValueError, match=rf"{name}: x is dense, \[2, 3\] float32; .*x\.{maker}\(\) makes one"):
            getattr(paddle.ones([2, 3]), name)()
        assert getattr(getattr(paddle.ones([2, 3]), maker)(), name)().size > 0


def test_parts_of_the_other_kind():
    coo = paddle.to_tensor(X).to_sparse_coo()
    for name in ("crows", "cols"):
        with pytest.raises(ValueError, match=rf"{name}: x is a SparseCooTensor, .*x\.to_sparse_csr\(\) makes one"):
            getattr(coo, name)()
    with pytest.raises(ValueError, match=r"indices: x is a SparseCsrTensor, .*x\.to_sparse_coo\(\) makes one"):
        coo.to_sparse_csr().indices()
