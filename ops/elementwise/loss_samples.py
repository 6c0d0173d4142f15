"""References of elementwise losses, and their gradients where differences are of no use."""

import numpy as np

from ops.conformance.samples import Sample


def samples_binary_cross_entropy():
    rng = np.random.default_rng(3)
    for dtype in ("float32", "float64"):
        yield Sample((rng.uniform(0.1, 0.9, (2, 3)).astype(dtype), rng.random((2, 3)).astype(dtype)), {})


def reference_binary_cross_entropy(x, label):
    with np.errstate(divide="ignore"):
        yes, no = np.maximum(np.log(x), -100), np.maximum(np.log(1 - x), -100)
    return -(label * yes + (1 - label) * no)


def gradients_binary_cross_entropy():
    x, label = np.array([0.0, 1.0, 0.0, 1.0, 0.5]), np.array([0.0, 1.0, 1.0, 0.0, 0.5])
    yield {"x": x, "label": label}, {"x": [0.0, 0.0, -1e12, 1e12, 0.0]}


def reference_sigmoid_cross_entropy(x, label):
    return np.maximum(x, 0) - x * label + np.log1p(np.exp(-np.abs(x)))


def gradients_sigmoid_cross_entropy():
    # 0 is where max(x, 0) and |x| have their kinks, and the loss has none.
    x, label = np.array([0.0, 0.0, 800.0, -800.0]), np.array([0.0, 1.0, 0.0, 0.0])
    yield {"x": x, "label": label}, {"x": [0.5, -0.5, 1.0, 0.0]}, {"x": [0.25, 0.25, 0.0, 0.0]}


def reference_kl_divergence(x, label):
    safe = np.where(label <= 0, 1, label)
    return np.where(label <= 0, 0, label * (np.log(safe) - x))
