"""Row-sparse gradients: the tensor, the engine, hooks, programs, clipping and optimizers, against NumPy and dense runs."""

import numpy as np
import pytest

import proa
from proa import _C, nn, optimizer
from proa.nn import functional as F

random = np.random.default_rng(11)


def dense_of(rows, values, height):
    out = np.zeros((height, *values.shape[1:]), values.dtype)
    np.add.at(out, np.array(rows, "int64"), values)
    return out


def sparse_tensor(rows, values, height):
    return proa.row_sparse(proa.to_tensor(np.array(rows, "int64")), proa.to_tensor(values), height)


def example(dtype="float32", rows=(4, 1, 4, 0), height=6, size=3):
    values = random.integers(-4, 5, (len(rows), size)).astype(dtype)  # whole numbers: sums are exact
    return sparse_tensor(rows, values, height), dense_of(rows, values, height)


def table(height=7, size=3, dtype="float32"):
    start = random.normal(size=(height, size)).astype(dtype)
    return proa.create_parameter([height, size], dtype, default_initializer=nn.initializer.Assign(start))


# The tensor ---------------------------------------------------------------------


def test_what_it_is():
    t, dense = example()
    assert t.is_selected_rows() and not t.is_dense() and t.layout == "row_sparse" and t.type == "SELECTED_ROWS"
    assert t.shape == [6, 3] and t.dtype == proa.float32 and t.size == 18
    np.testing.assert_array_equal(t.numpy(), dense)
    np.testing.assert_array_equal(np.asarray(t), dense)
    np.testing.assert_array_equal(t.to_dense().numpy(), dense)
    np.testing.assert_array_equal(t.contiguous().numpy(), dense)
    np.testing.assert_array_equal(t.rows().numpy(), [4, 1, 4, 0])
    assert t.tolist() == dense.tolist() and t.values().shape == [4, 3]
    assert not t.to_dense().is_selected_rows() and t.detach().is_selected_rows() and t.clone().is_selected_rows()
    assert "rows=[4, 1, 4, 0]" in repr(t) and "shape=[6, 3]" in repr(t) and "values=[[" in repr(t)


def test_a_dense_tensor_holds_all_rows():
    x = proa.to_tensor(random.normal(size=(3, 2)))
    assert not x.is_selected_rows() and x.type == "DENSE_TENSOR"
    np.testing.assert_array_equal(x.rows().numpy(), [0, 1, 2])
    np.testing.assert_array_equal(x.values().numpy(), x.numpy())
    np.testing.assert_array_equal(x.merge_rows().numpy(), x.numpy())


def test_merge_rows():
    t, dense = example()
    merged = t.merge_rows()
    assert merged.rows().tolist() == [0, 1, 4]
    np.testing.assert_array_equal(merged.values().numpy(), dense[[0, 1, 4]])
    assert merged.is_selected_rows()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "uint8", "bool", "complex64"])
def test_dtypes(dtype):
    values = proa.to_tensor(np.array([[1, 0], [1, 1], [0, 1]])).astype(dtype)
    t = proa.row_sparse(proa.to_tensor([1, 0, 1]), values, 3)
    expected = [[1, 1], [1, 1], [0, 0]]
    assert t.astype("float32").to_dense().tolist() == expected and t.merge_rows().astype("float32").tolist() == expected


def test_ops_that_do_not_know_it_see_a_dense_tensor():
    t, dense = example("float64")
    other = random.normal(size=(3, 2))
    np.testing.assert_allclose(proa.matmul(t, proa.to_tensor(other)).numpy(), dense @ other)
    np.testing.assert_allclose(proa.exp(t).numpy(), np.exp(dense))
    np.testing.assert_allclose((t * t).numpy(), dense * dense)
    np.testing.assert_allclose((t + 1.0).numpy(), dense + 1)
    np.testing.assert_allclose((t - t.to_dense()).numpy(), 0)
    np.testing.assert_allclose(t.T.numpy(), dense.T)
    np.testing.assert_allclose(t[4].numpy(), dense[4])
    np.testing.assert_allclose(t[1:5, ::2].numpy(), dense[1:5, ::2])
    np.testing.assert_allclose(proa.concat([t, t]).numpy(), np.concatenate([dense, dense]))
    np.testing.assert_allclose(t.reshape([3, 6]).numpy(), dense.reshape(3, 6))
    np.testing.assert_allclose(t.sum(axis=0).numpy(), dense.sum(0))
    assert proa.zeros_like(t).tolist() == np.zeros((6, 3)).tolist()
    dlpack = np.from_dlpack(t.to_dense())
    np.testing.assert_allclose(dlpack, dense)
    for export in (t.__dlpack__, lambda: np.from_dlpack(t), lambda: proa.utils.dlpack.to_dlpack(t)):
        with pytest.raises(BufferError, match=r"x is row-sparse.*x\.to_dense\(\).*\[6, 3\] float64"):
            export()


def test_ops_that_keep_it():
    t, dense = example("float64")
    factor = proa.to_tensor(0.5, dtype="float64")
    for result, expected in (
        (t * factor, dense * 0.5),
        (factor * t, dense * 0.5),
        (t * 3.0, dense * 3),
        (t / 4.0, dense / 4),
        (t.scale(2.0), dense * 2),
        (t.clip(-1.0, 2.0), dense.clip(-1, 2)),
        (t.clip(max=0.0), dense.clip(max=0)),
        (t.astype("float32"), dense),
        (t.clone(), dense),
        (t + t, dense + dense),
    ):
        assert result.is_selected_rows()
        np.testing.assert_array_equal(result.numpy(), expected)
    for result, expected in ((t.scale(2.0, 1.0), dense * 2 + 1), (t.clip(1.0, 2.0), dense.clip(1, 2))):
        assert result.is_dense()
        np.testing.assert_array_equal(result.numpy(), expected)


def test_sums_with_dense_tensors():
    t, dense = example("float64")
    x = random.normal(size=(6, 3))
    np.testing.assert_array_equal((t + proa.to_tensor(x)).numpy(), x + dense)
    np.testing.assert_array_equal((proa.to_tensor(x) + t).numpy(), x + dense)
    np.testing.assert_array_equal((t + proa.to_tensor(x[0])).numpy(), x[0] + dense)
    np.testing.assert_array_equal((t + proa.to_tensor(x.astype("float32"))).numpy(), x.astype("float32") + dense)
    target = proa.to_tensor(x)
    alias = target.detach()
    target.add_(t)
    np.testing.assert_array_equal(alias.numpy(), x + dense)  # in the memory of target
    turned = proa.to_tensor(x.T.copy()).T
    turned.add_(t)
    np.testing.assert_array_equal(turned.numpy(), x + dense)


def test_sums_of_many_hold_no_more_rows_than_there_are():
    total, expected = None, 0
    for _ in range(10):
        t, dense = example()
        total, expected = t if total is None else total + t, expected + dense
    assert total.rows().shape[0] <= 6
    np.testing.assert_array_equal(total.numpy(), expected)


def test_in_place_gives_the_handle_a_new_value():
    t, dense = example("float64")
    t.scale_(2.0)
    assert t.is_selected_rows()
    t.add_(t)
    np.testing.assert_array_equal(t.numpy(), dense * 4)
    t.add_(proa.ones([6, 3], "float64"))
    assert t.is_dense()
    np.testing.assert_array_equal(t.numpy(), dense * 4 + 1)


def test_in_place_without_a_row_form_is_refused():
    t, _ = example()
    with pytest.raises(ValueError, match=r"exp_: x is not strided.*to_dense.*\[6, 3\] float32"):
        t.exp_()
    with pytest.raises(ValueError, match="shapes do not broadcast|does not fit in place"):
        t.add_(proa.ones([2, 6, 3]))


def test_bad_parts():
    with pytest.raises(IndexError, match=r"row_sparse: row 6 at \[1\] is out of range for 6 rows"):
        sparse_tensor([0, 6], np.ones((2, 3)), 6)
    with pytest.raises(IndexError, match="row -1"):
        sparse_tensor([-1], np.ones((1, 3)), 6)
    with pytest.raises(ValueError, match="number of rows, 2"):
        sparse_tensor([0, 1], np.ones((3, 3)), 6)
    with pytest.raises(TypeError, match="row_sparse"):
        proa.row_sparse(proa.to_tensor([0.5]), proa.ones([1, 2]), 3)
    with pytest.raises(TypeError):
        proa.row_sparse(None, proa.ones([1, 2]), 3)


def test_rows_that_are_changed_later_are_checked_again():
    rows = proa.to_tensor([0, 1])
    t = proa.row_sparse(rows, proa.ones([2, 2]), 3)
    rows.set_value(np.array([0, 1 << 40]))
    p = proa.create_parameter([3, 2], "float32")
    for use in (t.numpy, t.merge_rows, t.to_dense, lambda: proa.zeros([3, 2]).add_(t), lambda: t + proa.ones([3, 2])):
        with pytest.raises(IndexError, match="out of range"):
            use()
    p.grad = t
    with pytest.raises(IndexError, match="out of range"):
        optimizer.SGD(0.1, [p]).step()


@pytest.mark.parametrize("rows, size", [([], 3), ([1, 1], 0), ([], 0)])
def test_empty(rows, size):
    t, dense = example(rows=rows, size=size)
    np.testing.assert_array_equal(t.numpy(), dense)
    np.testing.assert_array_equal((t + t).numpy(), dense)
    np.testing.assert_array_equal(t.merge_rows().numpy(), dense)
    assert repr(t)


def test_saving_writes_all_elements(tmp_path):
    t, dense = example()
    path = str(tmp_path / "t")
    proa.save({"t": t}, path)
    np.testing.assert_array_equal(np.asarray(proa.load(path)["t"]), dense)


# Gradients ----------------------------------------------------------------------


def grads_of(ids, sparse, padding_idx=None, dtype="float32"):
    weight = table(dtype=dtype)
    weight.set_value(np.arange(21, dtype=dtype).reshape(7, 3))
    factor = np.arange(np.prod(np.shape(ids)) * 3, dtype=dtype).reshape((*np.shape(ids), 3))
    out = F.embedding(proa.to_tensor(np.array(ids, "int64")), weight, padding_idx, sparse)
    (out * proa.to_tensor(factor)).sum().backward()
    return weight.grad


@pytest.mark.parametrize("padding_idx", [None, 2, -1])
@pytest.mark.parametrize("ids", [[[1, 2, 1], [6, 2, 2]], [4], [], 3, [[]], [2, 2]], ids=str)
def test_embedding(ids, padding_idx):
    sparse, dense = grads_of(ids, True, padding_idx), grads_of(ids, False, padding_idx)
    assert sparse.is_selected_rows() and dense.is_dense()
    np.testing.assert_array_equal(sparse.numpy(), dense.numpy())
    skipped = None if padding_idx is None else padding_idx % 7
    assert sparse.rows().tolist() == [i for i in np.ravel(ids).astype(int).tolist() if i != skipped]


def test_ids_may_be_overwritten_after_backward():
    weight, ids = table(), proa.to_tensor([1, 2])
    F.embedding(ids, weight, sparse=True).sum().backward()
    ids.set_value(np.array([5, 6]))
    assert weight.grad.rows().tolist() == [1, 2]


def test_id_out_of_range():
    with pytest.raises(IndexError, match="embedding: index 7"):
        F.embedding(proa.to_tensor([7]), table(), sparse=True)


def test_layer():
    layer = nn.Embedding(5, 2, padding_idx=0, sparse=True)
    assert "sparse=True" in repr(layer)
    layer(proa.to_tensor([[0, 3, 3]])).sum().backward()
    assert layer.weight.grad.is_selected_rows()
    np.testing.assert_array_equal(layer.weight.grad.numpy(), [[0, 0], [0, 0], [0, 0], [2, 2], [0, 0]])


def test_accumulation_over_uses_and_passes():
    weight, ids = table(), [proa.to_tensor([1, 2]), proa.to_tensor([2, 2, 5])]
    for _ in range(2):
        (F.embedding(ids[0], weight, sparse=True).sum() + 2 * F.embedding(ids[1], weight, sparse=True).sum()).backward()
    assert weight.grad.is_selected_rows()
    np.testing.assert_array_equal(weight.grad.numpy()[:, 0], [0, 2, 10, 0, 0, 4, 0])


@pytest.mark.parametrize("sparse_first", [True, False])
def test_tied_weights(sparse_first):
    ids, x = proa.to_tensor([1, 4, 4]), random.normal(size=(2, 3)).astype("float32")

    def grad(sparse):
        weight = table()
        weight.set_value(np.ones((7, 3), "float32"))
        parts = [
            lambda: F.embedding(ids, weight, sparse=sparse).sum(),
            lambda: proa.matmul(proa.to_tensor(x), weight.T).sum(),
        ]
        first, second = parts if sparse_first else parts[::-1]
        (first() + second()).backward()
        return weight.grad

    assert grad(True).is_dense()
    np.testing.assert_array_equal(grad(True).numpy(), grad(False).numpy())


@pytest.mark.parametrize("order", [(True, False), (False, True), (True, False, True)])
def test_sparse_and_dense_passes_one_after_the_other(order):
    weight, expected = table(), np.zeros((7, 3))
    for i, sparse in enumerate(order):
        F.embedding(proa.to_tensor([i, 6]), weight, sparse=sparse).sum().backward()
        expected[[i, 6]] += 1
    np.testing.assert_array_equal(weight.grad.numpy(), expected)


def test_a_kept_gradient_is_not_changed_by_the_next_pass():
    weight = table()
    F.embedding(proa.to_tensor([1]), weight, sparse=True).sum().backward()
    kept = weight.grad
    F.embedding(proa.to_tensor([1]), weight, sparse=True).sum().backward()
    del kept
    kept = weight.grad.clone()
    (weight * 1.0).sum().backward()
    assert kept.numpy().sum() == 6 and weight.grad.numpy().sum() == 6 + 21


def test_hooks_see_and_replace_it():
    weight, seen = table(), []
    handle = weight.register_hook(lambda g: seen.append(g) or g * 2.0)
    F.embedding(proa.to_tensor([1, 1]), weight, sparse=True).sum().backward()
    assert seen[0].is_selected_rows() and weight.grad.is_selected_rows()
    assert weight.grad.numpy()[1].tolist() == [4, 4, 4] and seen[0].numpy()[1].tolist() == [2, 2, 2]
    handle.remove()
    weight.clear_grad()
    weight.register_hook(lambda g: sparse_tensor([0], np.ones((1, 3), "float32"), 7))
    (weight * 3.0).sum().backward()
    assert weight.grad.is_selected_rows() or weight.grad.numpy().sum() == 3
    assert weight.grad.numpy().sum() == 3


def test_clear_grad():
    weight = table()
    F.embedding(proa.to_tensor([1]), weight, sparse=True).sum().backward()
    weight.clear_grad(True)
    assert weight.grad.is_selected_rows() and weight.grad.rows().shape == [0] and not weight.grad.numpy().any()
    F.embedding(proa.to_tensor([1]), weight, sparse=True).sum().backward()
    assert weight.grad.numpy().sum() == 3
    weight.clear_grad(False)
    assert weight.grad is None


def test_grad_of_a_table_that_is_no_leaf():
    def grad(sparse):
        base = proa.to_tensor(np.ones((7, 3)), stop_gradient=False)
        weight = base * base * 3.0
        weight.retain_grads()
        F.embedding(proa.to_tensor([1, 1, 2]), weight, sparse=sparse).sum().backward()
        assert weight.grad.is_selected_rows() is sparse
        return base.grad.numpy()

    np.testing.assert_array_equal(grad(True), grad(False))


def test_proa_grad_and_second_derivatives():
    def both(sparse):
        weight = proa.to_tensor(np.arange(21.0).reshape(7, 3), stop_gradient=False)
        out = F.embedding(proa.to_tensor([1, 1, 2]), weight, sparse=sparse)
        (first,) = proa.grad((out * out * out).sum(), weight, create_graph=True)
        assert first.is_selected_rows() is sparse
        (second,) = proa.grad((first * first).sum(), weight)
        return first.numpy(), second.numpy()

    for s, d in zip(both(True), both(False)):
        np.testing.assert_allclose(s, d)


def test_gradient_through_values():
    weight = proa.to_tensor(np.arange(6.0).reshape(3, 2), stop_gradient=False)

    def penalty(ids, merge):
        out = F.embedding(proa.to_tensor(ids), weight, sparse=True)
        (first,) = proa.grad((out * out).sum(), weight, create_graph=True)
        values = first.merge_rows().values() if merge else first.values()
        return proa.grad((values * values).sum(), weight)[0].numpy()

    # d/dw of (2 n w)^2 with n uses of the row.
    np.testing.assert_allclose(penalty([0, 2, 2], True), weight.numpy() * np.array([[8.0], [0], [32]]))
    np.testing.assert_allclose(penalty([0, 2], False), weight.numpy() * np.array([[8.0], [0], [8]]))
    with pytest.raises(ValueError, match=r"held_values: rows that occur twice.*merge_rows"):
        penalty([0, 2, 2], False)


def test_gradient_of_row_sparse():
    values = proa.to_tensor(random.normal(size=(3, 2)), stop_gradient=False)
    t = proa.row_sparse(proa.to_tensor([2, 0, 2]), values, 4)
    factor = random.normal(size=(4, 2))
    (t * proa.to_tensor(factor)).sum().backward()
    np.testing.assert_allclose(values.grad.numpy(), factor[[2, 0, 2]])


# Programs -----------------------------------------------------------------------


@pytest.mark.parametrize("make", ["SGD", "Momentum", "Adam"])
def test_static_training_gives_the_numbers_of_eager_training(make):
    start = random.normal(size=(7, 3)).astype("float32")
    batches = random.integers(0, 7, (3, 4))

    def build(ids, weight):
        return (F.embedding(ids, weight, sparse=True) ** 2).sum()

    weight = proa.create_parameter([7, 3], "float32", default_initializer=nn.initializer.Assign(start))
    opt = getattr(optimizer, make)(0.1, parameters=[weight])
    for ids in batches:
        build(proa.to_tensor(ids), weight).backward()
        opt.step()
        opt.clear_grad()

    proa.enable_static()
    try:
        main, startup = proa.static.Program(), proa.static.Program()
        with proa.static.program_guard(main, startup):
            ids = proa.static.data("ids", [4], "int64")
            static_weight = proa.create_parameter([7, 3], "float32", default_initializer=nn.initializer.Assign(start))
            getattr(optimizer, make)(0.1, parameters=[static_weight]).minimize(build(ids, static_weight))
        exe = proa.static.Executor()
        exe.run(startup)
        for batch in batches:
            exe.run(main, feed={"ids": batch})
        value = static_weight.numpy() if hasattr(static_weight, "numpy") else None
    finally:
        proa.disable_static()
    np.testing.assert_array_equal(value, weight.numpy())


# Clipping -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "clip",
    [
        nn.ClipGradByValue(0.5),
        nn.ClipGradByValue(2.0, 0.25),
        nn.ClipGradByNorm(0.5),
        nn.ClipGradByNorm(100.0),
        nn.ClipGradByGlobalNorm(0.5),
        nn.ClipGradByGlobalNorm(100.0),
    ],
    ids=repr,
)
def test_clipping_equals_that_of_dense_gradients(clip):
    p, q = table(6), proa.create_parameter([2], "float32")
    t, dense = example()
    other = proa.to_tensor([3.0, -4.0])
    sparse = clip([(p, t), (q, other)])
    expected = clip([(p, proa.to_tensor(dense)), (q, other)])
    for (_, s), (_, d) in zip(sparse, expected):
        np.testing.assert_allclose(s.numpy(), d.numpy(), rtol=1e-6)
    if not (isinstance(clip, nn.ClipGradByValue) and clip.min > 0):
        assert sparse[0][1].is_selected_rows()


def test_norms():
    grads = [random.normal(size=s).astype(d) for s, d in (((3, 4), "float32"), ((), "float64"), ((0, 2), "float16"))]
    got = _C.ops.squared_norm([proa.to_tensor(g) for g in grads])
    np.testing.assert_allclose(got.item(), sum((g.astype("float64") ** 2).sum() for g in grads), rtol=1e-12)
    t, dense = example()
    assert _C.ops.squared_norm([t]).item() == (dense**2).sum()
    assert _C.ops.squared_norm([]).item() == 0.0
    large = proa.full([4], 1e30)  # the squares of which float32 does not hold
    np.testing.assert_allclose(nn.ClipGradByNorm(1.0)([(table(), large)])[0][1].numpy(), 0.5)


# Optimizers ---------------------------------------------------------------------


O = optimizer
SAME = {  # equal to the run with dense gradients
    "sgd": lambda ps: O.SGD(0.1, ps),
    "sgd l2": lambda ps: O.SGD(0.1, ps, weight_decay=0.3),
    "sgd l1": lambda ps: O.SGD(0.1, ps, weight_decay=proa.regularizer.L1Decay(0.3)),
    "momentum": lambda ps: O.Momentum(0.1, 0.9, ps),
    "nesterov l2": lambda ps: O.Momentum(0.1, 0.9, ps, True, 0.2),
    "adam": lambda ps: O.Adam(0.1, parameters=ps),
    "adam l2": lambda ps: O.Adam(0.1, parameters=ps, weight_decay=0.2),
    "adam lazy l2": lambda ps: O.Adam(0.1, parameters=ps, weight_decay=0.2, lazy_mode=True),
    "adamw": lambda ps: O.AdamW(0.1, parameters=ps, weight_decay=0.2),
    "adagrad": lambda ps: O.Adagrad(0.1, parameters=ps, initial_accumulator_value=0.5),
    "adagrad l2": lambda ps: O.Adagrad(0.1, parameters=ps, weight_decay=0.1),
    "rmsprop": lambda ps: O.RMSProp(0.1, parameters=ps, momentum=0.5, centered=True),
    "adadelta": lambda ps: O.Adadelta(0.5, parameters=ps, weight_decay=0.1),
    "adamax": lambda ps: O.Adamax(0.1, parameters=ps),
    "lamb": lambda ps: O.Lamb(0.1, parameters=ps),
    "sgd global norm": lambda ps: O.SGD(0.1, ps, grad_clip=nn.ClipGradByGlobalNorm(0.1)),
    "adam value": lambda ps: O.Adam(0.1, parameters=ps, grad_clip=nn.ClipGradByValue(0.1)),
    "momentum norm": lambda ps: O.Momentum(0.1, 0.9, ps, grad_clip=nn.ClipGradByNorm(0.2)),
}
BATCHES = [[1, 5, 1], [], [0, 6], [5, 5, 5], [2], [3, 1]]


def train(make, sparse, dtype="float32", batches=BATCHES, height=7, size=3):
    start = np.random.default_rng(5).normal(size=(height, size)).astype("float32")
    weight = proa.framework.Parameter(proa.to_tensor(start).astype(dtype))
    other = proa.framework.Parameter(proa.ones([2], dtype))  # a dense gradient in the same call
    opt = make([weight, other])
    for ids in batches:
        out = F.embedding(proa.to_tensor(np.array(ids, "int64")), weight, sparse=sparse)
        ((out * out).sum() + (out.sum() * other).sum()).backward()
        assert weight.grad.is_selected_rows() is sparse
        opt.step()
        opt.clear_grad()
    return weight.astype("float32").numpy(), other.astype("float32").numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", SAME)
def test_optimizer_equals_the_dense_run(name, dtype):
    tolerance = {"float32": 1e-6, "float64": 1e-12}.get(dtype, 2e-2)
    for sparse, dense in zip(train(SAME[name], True, dtype), train(SAME[name], False, dtype)):
        np.testing.assert_allclose(sparse, dense, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("size", [1, 5, 2000])
def test_optimizer_rows_of_any_length_and_many_threads(size):
    batches = [np.random.default_rng(i).integers(0, 900, 40) for i in range(3)]
    for make in (SAME["sgd"], SAME["momentum"], SAME["adam"], SAME["adagrad l2"]):
        sparse, dense = (train(make, s, batches=batches, height=900, size=size)[0] for s in (True, False))
        np.testing.assert_allclose(sparse, dense, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["Adam", "AdamW"])
def test_lazy_adam(kind):
    """Against the formula: rows without a gradient stay, also their moments and their decay."""
    decay = 0.2 if kind == "AdamW" else 0.0
    lr, b1, b2, eps = 0.1, 0.8, 0.99, 1e-3
    p = np.random.default_rng(5).normal(size=(7, 3)).astype("float32").astype("float64")
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, ids in enumerate(BATCHES, 1):
        g = np.zeros_like(p)
        np.add.at(g, np.array(ids, int), 2 * p[np.array(ids, int)])
        touched = sorted(set(ids))
        for r in touched:
            p[r] *= 1 - lr * decay
            m[r] = b1 * m[r] + (1 - b1) * g[r]
            v[r] = b2 * v[r] + (1 - b2) * g[r] ** 2
            c = np.sqrt(1 - b2**t)
            p[r] -= lr * c / (1 - b1**t) * m[r] / (np.sqrt(v[r]) + eps * c)

    weight = proa.framework.Parameter(
        proa.to_tensor(np.random.default_rng(5).normal(size=(7, 3)).astype("float32")).astype("float64")
    )
    extra = {"weight_decay": decay} if kind == "AdamW" else {}
    opt = getattr(optimizer, kind)(lr, b1, b2, eps, parameters=[weight], lazy_mode=True, **extra)
    for ids in BATCHES:
        out = F.embedding(proa.to_tensor(np.array(ids, "int64")), weight, sparse=True)
        (out * out).sum().backward()
        opt.step()
        opt.clear_grad()
    np.testing.assert_allclose(weight.numpy(), p, rtol=2e-6)


def test_lazy_mode_means_nothing_for_dense_gradients():
    make = lambda lazy: lambda ps: O.Adam(0.1, parameters=ps, lazy_mode=lazy)
    np.testing.assert_array_equal(train(make(True), False)[0], train(make(False), False)[0])
    assert (train(make(True), True)[0] != train(make(False), True)[0]).any()


def test_an_optimizer_of_ones_own_gets_it_too():
    class Own(optimizer.Optimizer):
        def _append_optimize_op(self, block, param_and_grad):
            param, grad = param_and_grad
            param.subtract_(grad * 0.1)

    expected = train(SAME["sgd"], True)[0]
    np.testing.assert_allclose(train(lambda ps: Own(0.1, parameters=ps), True)[0], expected, rtol=1e-6)


def test_grads_that_do_not_fit():
    p = table()
    with pytest.raises(ValueError, match=r"sgd_: grads\[0\] is \[6, 3\] float32, but params\[0\] is \[7, 3\] float32"):
        _C.ops.sgd_([p.detach()], [example()[0]], proa.to_tensor(0.1))


# Memory -------------------------------------------------------------------------


@pytest.mark.parametrize("make", ["SGD", "Adam"])
def test_a_step_allocates_no_dense_gradient(make):
    height, size = 1_000_000, 64
    weight = proa.framework.Parameter(proa.zeros([height, size]))
    options = {"lazy_mode": True} if make == "Adam" else {}
    opt = getattr(optimizer, make)(0.1, parameters=[weight], grad_clip=nn.ClipGradByGlobalNorm(1.0), **options)
    ids = proa.to_tensor(random.integers(0, height, 100))

    def step():
        (F.embedding(ids, weight, sparse=True) - 1.0).square().sum().backward()
        opt.step()
        opt.clear_grad()

    step()  # makes the state
    _C.memory_reset_peak()
    before = _C.memory_figures()["allocated"]
    step()
    used = _C.memory_figures()["peak_allocated"] - before
    assert used < 1_000_000, used  # the dense gradient has 256 MB, the rows 25.6 KB
    assert (
        weight[int(ids[0])].numpy().all() and not weight.sum(axis=1).numpy()[np.setdiff1d(range(50), ids.numpy())].any()
    )
