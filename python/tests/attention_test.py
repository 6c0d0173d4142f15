"""scaled_dot_product_attention: masks, causality, dropout, and what it keeps for the gradient."""

import numpy as np
import pytest

import proa
from proa.nn.functional import scaled_dot_product_attention


def _inputs(length=5, keys=7, heads=2, size=4, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((2, n, heads, size)).astype("float32") for n in (length, keys, keys)]


def _reference(q, k, v, mask=None):
    """In float64; mask is added to [N, heads, L, S]."""
    q, k, v = (np.transpose(t.astype("float64"), (0, 2, 1, 3)) for t in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    scores = scores if mask is None else scores + mask
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.transpose(weights / weights.sum(axis=-1, keepdims=True) @ v, (0, 2, 1, 3))


def _attend(q, k, v, **options):
    return scaled_dot_product_attention(*map(proa.to_tensor, (q, k, v)), **options).numpy()


def test_without_a_mask():
    inputs = _inputs()
    np.testing.assert_allclose(_attend(*inputs), _reference(*inputs), rtol=1e-5, atol=1e-5)


def test_masks():
    inputs, rng = _inputs(), np.random.default_rng(1)
    added = rng.standard_normal((1, 2, 5, 7)).astype("float32")
    np.testing.assert_allclose(
        _attend(*inputs, attn_mask=proa.to_tensor(added)), _reference(*inputs, added), rtol=1e-5, atol=1e-5
    )
    seen = rng.random((2, 1, 5, 7)) > 0.4
    seen[..., 0] = True
    want = _reference(*inputs, np.where(seen, 0, -np.inf))
    for mask in (seen, seen.astype("int32")):
        got = _attend(*inputs, attn_mask=proa.to_tensor(mask))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_causal():
    inputs = _inputs(6, 6)
    want = _reference(*inputs, np.where(np.tri(6) > 0, 0, -np.inf))
    np.testing.assert_allclose(_attend(*inputs, is_causal=True), want, rtol=1e-5, atol=1e-5)


def test_dropout_scales_what_it_keeps():
    q, k, v = _inputs(64, 64)
    ones = np.ones_like(v)
    proa.seed(0)
    got = _attend(q, k, ones, dropout_p=0.25)
    assert got.std() > 0.01 and abs(got.mean() - 1) < 0.05  # without dropout each is 1
    np.testing.assert_allclose(_attend(q, k, ones, dropout_p=0.25, training=False), 1, rtol=1e-5)


def test_no_matrix_of_scores_is_kept():
    q, k, v = (proa.to_tensor(t, stop_gradient=False) for t in _inputs(256, 256, 1, 8))
    out = scaled_dot_product_attention(q, k, v)
    kept = sum(row.bytes for row in proa.autograd.saved_tensors_summary(out).rows)
    assert 0 < kept <= 3 * 2 * 256 * 8 * 4 < 2 * 256 * 256 * 4


def test_a_mask_and_causal():
    q, k, v = map(proa.to_tensor, _inputs(5, 5))
    with pytest.raises(ValueError, match="give attn_mask or is_causal, not both"):
        scaled_dot_product_attention(q, k, v, attn_mask=proa.ones([5, 5]), is_causal=True)


def _rows(length, rng, n=2, heads=2):
    """Keys that each query of each head sees, as many for each head, as CSR: offsets, columns, booleans."""
    count = 2 * length
    seen = np.zeros([n * heads, length * length], bool)
    for row in seen:
        row[rng.choice(length * (length - 1), count, False)] = True  # the last query sees nothing
    seen = seen.reshape(n, heads, length, length)
    offset = np.concatenate([np.zeros([n, heads, 1], int), seen.sum(-1).cumsum(-1)], -1)
    return offset, np.nonzero(seen)[3].reshape(n, heads, count), seen


@pytest.mark.parametrize("integer", ["int32", "int64"])
@pytest.mark.parametrize("masks", ["", "padding", "places", "padding places"])
def test_keys_by_rows(integer, masks):
    rng, length = np.random.default_rng(3), 6
    q, k, v = (rng.standard_normal((2, 2, length, 4)).astype("float32") for _ in range(3))
    offset, columns, seen = _rows(length, rng)
    options = {}
    if "padding" in masks:
        options["key_padding_mask"] = (rng.random((2, length)) > 0.3).astype("float32")
        seen = seen & (options["key_padding_mask"] != 0)[:, None, None]
    if "places" in masks:
        options["attn_mask"] = (rng.random((length, length)) > 0.3).astype("float32")
        seen = seen & (options["attn_mask"] != 0)
    assert not seen.any(-1).all()  # some query sees nothing
    tensors = [proa.to_tensor(x, stop_gradient=False) for x in (q, k, v)]
    out = proa.nn.functional.sparse_attention(
        *tensors, proa.to_tensor(offset.astype(integer)), proa.to_tensor(columns.astype(integer)),
        **{name: proa.to_tensor(mask) for name, mask in options.items()},
    )  # fmt: skip
    scores = np.where(seen, q.astype("float64") @ np.swapaxes(k, -1, -2) / 2, -np.inf)
    weights = np.exp(scores - np.where(seen.any(-1), scores.max(-1), 0.0)[..., None])
    weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    np.testing.assert_allclose(out.numpy(), weights @ v, rtol=1e-5, atol=1e-5)
    out.sum().backward()
    # Of v: how much each key is seen; nothing is NaN.
    np.testing.assert_allclose(
        tensors[2].grad.numpy(), np.repeat(weights.sum(-2)[..., None], 4, -1), rtol=1e-5, atol=1e-5
    )
    assert all(np.isfinite(t.grad.numpy()).all() for t in tensors)


def test_rows_that_do_not_fit():
    x, offset = proa.ones([1, 2, 3, 4]), proa.to_tensor([[[0, 1, 1, 2]] * 2])
    columns = proa.to_tensor([[[0, 2]] * 2])
    attend = proa.nn.functional.sparse_attention
    assert attend(x, x, x, offset, columns).shape == [1, 2, 3, 4]
    assert attend(x, x, x, offset * 0, columns[:, :, :0]).numpy().max() == 0
    for arguments, says in (
        ((x, x[:, :, :2], x, offset, columns), r"key must be \[1, 2, 3, 4\]; it is \[1, 2, 2, 4\]"),
        ((x, x, x, offset[:, :, 1:], columns), r"sparse_csr_offset must be \[1, 2, 4\]"),
        ((x, x, x, offset, columns[0]), "sparse_csr_columns"),
        ((x[0], x, x, offset, columns), "query"),
        ((x, x, x, offset, columns, proa.ones([3])), r"key_padding_mask must be \[1, 3\]"),
    ):
        with pytest.raises(ValueError, match=says):
            attend(*arguments)
    for wrong in ((offset, columns + 2), (offset, columns - 1), (offset + 1, columns)):
        with pytest.raises(IndexError):
            attend(x, x, x, *wrong)


@pytest.mark.parametrize(
    "queries, keys", [(40, 60), (4096, 512)]
)  # the second in blocks of queries, whose sums are added up
def test_results_in_16_bits_are_rounded_once(queries, keys):
    """Scores, weights and sums are float32: what is given is the exact result to half a unit in the last place."""
    random = np.random.RandomState(0)
    shapes = [[1, queries, 2, 16], [1, keys, 2, 16], [1, keys, 2, 16], [1, queries, 2, 16]]
    query, key, value, grad = (proa.to_tensor(random.randn(*s).astype("float32")).astype("float16") for s in shapes)
    results = []
    for dtype in ("float16", "float64"):
        leaves = [t.astype(dtype).detach() for t in (query, key, value)]
        for leaf in leaves:
            leaf.stop_gradient = False
        out = proa._C.ops.attention(*leaves, None, 0.25)
        out.backward(grad.astype(dtype))
        results.append([t.astype("float64").numpy() for t in (out, *(leaf.grad for leaf in leaves))])
    for found, exact in zip(*results):
        assert np.abs(found - exact).max() <= 1.01 * 2.0**-11 * np.abs(exact).max()


def _gradients(q, k, v, grad, scale):
    """Of attention in float64: the result, and the gradients of q, k and v; [N, L, heads, size] each."""
    q, k, v, grad = (np.transpose(t.astype("float64"), (0, 2, 1, 3)) for t in (q, k, v, grad))
    scores = q @ np.swapaxes(k, -1, -2) * scale
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    dp = grad @ np.swapaxes(v, -1, -2)
    ds = p * (dp - (p * dp).sum(axis=-1, keepdims=True)) * scale
    found = (p @ v, ds @ k, np.swapaxes(ds, -1, -2) @ q, np.swapaxes(p, -1, -2) @ grad)
    return [np.transpose(t, (0, 2, 1, 3)) for t in found]


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("heads_first", [False, True])
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1000, 700), (1, 3, 260, 129), (2, 9, 130, 70), (1, 2, 3, 1), (3, 1, 129, 2000)]
)
def test_heads_blocks_and_threads(sizes, heads_first, dtype):
    """Few heads in parts that are added up, many queries in blocks, operands in either order: right, and the same bits on
    any number of threads."""
    n, heads, queries, keys = sizes
    rng, results = np.random.default_rng(5), []
    given = [rng.standard_normal((n, length, heads, 16)).astype("float32") for length in (queries, keys, keys, queries)]
    given = [proa.to_tensor(t).astype(dtype) for t in given]
    if heads_first:  # they lie so, and are views
        given = [proa.transpose(proa.transpose(t, [0, 2, 1, 3]) + 0, [0, 2, 1, 3]) for t in given]
    before = proa._C.get_num_threads()
    try:
        for threads in (1, 2, 5):
            proa._C.set_num_threads(threads)
            leaves = [t.detach() for t in given[:3]]
            for leaf in leaves:
                leaf.stop_gradient = False
            out = proa._C.ops.attention(*leaves, None, 0.25)
            out.backward(given[3])
            results.append([t.astype("float64").numpy() for t in (out, *(leaf.grad for leaf in leaves))])
    finally:
        proa._C.set_num_threads(before)
    exact = _gradients(*(t.astype("float64").numpy() for t in given), 0.25)
    units = {"float64": 1e-13, "float32": 1e-5, "bfloat16": 2.0**-6, "float16": 2.0**-10}[dtype]
    for found, want in zip(results[0], exact):
        assert np.abs(found - want).max() <= units * np.abs(want).max()
    for other in results[1:]:
        for found, want in zip(other, results[0]):
            np.testing.assert_array_equal(found, want)
