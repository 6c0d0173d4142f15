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
