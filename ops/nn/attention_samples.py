"""References of attention."""

import numpy as np


def _by_head(t):
    return np.swapaxes(t, 1, 2)


def _weights(query, key, mask, scale):
    scores = scale * _by_head(query) @ np.swapaxes(_by_head(key), 2, 3)
    if mask is not None:
        scores = scores + mask
    if scores.shape[-1] == 0:
        return scores
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def reference_attention(query, key, value, mask=None, scale=1.0):
    return _by_head(_weights(query, key, mask, scale) @ _by_head(value))


def _score_grads(grad_out, query, key, value, mask, scale):
    p = _weights(query, key, mask, scale)
    dp = _by_head(grad_out) @ np.swapaxes(_by_head(value), 2, 3)
    return p, p * (dp - (p * dp).sum(axis=-1, keepdims=True))


def reference_attention_grad(grad_out, query, key, value, mask=None, scale=1.0):
    p, ds = _score_grads(grad_out, query, key, value, mask, scale)
    return (
        scale * _by_head(ds @ _by_head(key)),
        scale * _by_head(np.swapaxes(ds, 2, 3) @ _by_head(query)),
        _by_head(np.swapaxes(p, 2, 3) @ _by_head(grad_out)),
    )


def reference_attention_mask_grad(grad_out, query, key, value, mask, scale=1.0):
    ds = _score_grads(grad_out, query, key, value, mask, scale)[1]
    missing = ds.ndim - mask.ndim
    axes = tuple(range(missing)) + tuple(missing + d for d in range(mask.ndim) if mask.shape[d] == 1)
    return ds.sum(axis=axes, keepdims=True).reshape(mask.shape)


def _differences(f, x, grads):
    """Central differences of the sum of f(x) * grads."""
    out, step = np.zeros_like(x), 1e-5
    for i in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        out[i] = sum(((a - b) * g).sum() for a, b, g in zip(f(up), f(down), grads, strict=True)) / (2 * step)
    return out


def reference_attention_grad_grad(grad_query, grad_key, grad_value, grad_out, query, key, value, mask=None, scale=1.0):
    grads = (grad_query, grad_key, grad_value)
    f = reference_attention_grad
    whole = np.zeros((query.shape[0], query.shape[2], query.shape[1], key.shape[1])) + (0 if mask is None else mask)
    return (
        _differences(lambda t: f(t, query, key, value, mask, scale), grad_out, grads),
        _differences(lambda t: f(grad_out, t, key, value, mask, scale), query, grads),
        _differences(lambda t: f(grad_out, query, t, value, mask, scale), key, grads),
        _differences(lambda t: f(grad_out, query, key, t, mask, scale), value, grads),
        _differences(lambda t: f(grad_out, query, key, value, t, scale), whole, grads),
    )


_HALF = {"float16": (2e-2, 2e-2), "bfloat16": (1e-1, 1e-1), "float32": (5e-5, 5e-5)}
TOLERANCE = {
    "attention": _HALF,
    "attention_grad": _HALF,
    "attention_mask_grad": {"float32": (1e-4, 1e-4)},
    "attention_grad_grad": {"float32": (1e-3, 1e-3), "float64": (1e-6, 1e-6)},
}
