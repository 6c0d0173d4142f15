"""Losses of margins and of likelihoods beside their formulas in NumPy; gradients beside differences."""

import math

import numpy as np
import pytest

import proa as paddle
from proa.nn import functional as F

T = paddle.to_tensor
RNG = np.random.default_rng(0)
X, Y, Z = (RNG.standard_normal((5, 4)) for _ in range(3))
SIGNS = np.array([1, -1, -1, 1, 0])
CLASSES = np.array([0, 3, 1, 1, 2])
WEIGHT = RNG.random(4) + 0.5


def norm(x, p=2):
    return np.linalg.norm(x, p, axis=-1)


def cosine(x, y, margin):
    c = (x * y).sum(-1) / np.sqrt(((x**2).sum(-1) + 1e-11) * ((y**2).sum(-1) + 1e-11))
    return np.where(SIGNS == 1, 1 - c, np.where(SIGNS == -1, np.maximum(c - margin, 0), 0))


def margins(x, p, margin, weight=1.0):
    far = np.maximum(x - x[range(5), CLASSES][:, None] + margin, 0) ** p
    far[range(5), CLASSES] = 0
    return (far * np.broadcast_to(weight, 4)[CLASSES][:, None]).mean(1)


def triplet(x, y, z, margin=1.0, p=2, swap=False, eps=1e-6):
    far = norm(x - z + eps, p)
    if swap:
        far = np.minimum(far, norm(y - z + eps, p))
    return np.maximum(norm(x - y + eps, p) - far + margin, 0)


def poisson(x, count, log_input, full):
    loss = np.exp(x) - count * x if log_input else x - count * np.log(x + 1e-8)
    many = np.maximum(count, 2.0)
    stirling = many * np.log(many) - many + 0.5 * np.log(2 * np.pi * many)
    return loss + np.where(count > 1, stirling, 0) if full else loss


BINARY, COUNTS, VARIANCE = RNG.integers(0, 2, (5, 4)), RNG.integers(0, 5, (5, 4)), RNG.random((5, 4)) + 0.1
SIGMOID = 1 / (1 + np.exp(-X))
SOFT = -(BINARY * np.log(SIGMOID) + (1 - BINARY) * np.log(1 - SIGMOID))
CASES = {
    "cosine": (lambda x, y: F.cosine_embedding_loss(x, y, T(SIGNS), 0.1, "none"), (X, Y), cosine(X, Y, 0.1)),
    "soft margin": (
        lambda x: F.soft_margin_loss(x, T(2 * BINARY - 1), "none"),
        (X,),
        np.log1p(np.exp(-(2 * BINARY - 1) * X)),
    ),
    "multi label": (lambda x: F.multi_label_soft_margin_loss(x, T(BINARY), None, "none"), (X,), SOFT.mean(-1)),
    "weights": (
        lambda x: F.multi_label_soft_margin_loss(x, T(BINARY), T(WEIGHT), "none"),
        (X,),
        (SOFT * WEIGHT).mean(-1),
    ),
    "multi margin": (lambda x: F.multi_margin_loss(x, T(CLASSES), reduction="none"), (X,), margins(X, 1, 1.0)),
    "squares": (
        lambda x: F.multi_margin_loss(x, T(CLASSES), 2, 0.5, T(WEIGHT), "none"),
        (X,),
        margins(X, 2, 0.5, WEIGHT),
    ),
    "triplet": (lambda x, y, z: F.triplet_margin_loss(x, y, z, reduction="none"), (X, Y, Z), triplet(X, Y, Z)),
    "swap": (
        lambda x, y, z: F.triplet_margin_loss(x, y, z, 0.5, 1, swap=True, reduction="none"),
        (X, Y, Z),
        triplet(X, Y, Z, 0.5, 1, True),
    ),
    "distance": (
        lambda x, y, z: F.triplet_margin_with_distance_loss(
            x, y, z, lambda a, b: (a - b).square().sum(-1), reduction="none"
        ),
        (X, Y, Z),
        np.maximum(norm(X - Y) ** 2 - norm(X - Z) ** 2 + 1, 0),
    ),
    "default distance": (
        lambda x, y, z: F.triplet_margin_with_distance_loss(x, y, z, swap=True, reduction="none"),
        (X, Y, Z),
        triplet(X, Y, Z, swap=True),
    ),
    "gaussian": (
        lambda x, y, v: F.gaussian_nll_loss(x, y, v, reduction="none"),
        (X, Y, VARIANCE),
        (np.log(VARIANCE) + (X - Y) ** 2 / VARIANCE) / 2,
    ),
    "gaussian of rows": (
        lambda x, y, v: F.gaussian_nll_loss(x, y, v, True, reduction="none"),
        (X, Y, VARIANCE[:, 0]),
        (np.log(VARIANCE[:, :1]) + (X - Y) ** 2 / VARIANCE[:, :1] + math.log(2 * math.pi)) / 2,
    ),
    "poisson": (lambda x: F.poisson_nll_loss(x, T(COUNTS), reduction="none"), (X,), poisson(X, COUNTS, True, False)),
    "poisson of rates": (
        lambda x: F.poisson_nll_loss(x, T(COUNTS), False, True, reduction="none"),
        (np.abs(X) + 0.1,),
        poisson(np.abs(X) + 0.1, COUNTS, False, True),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    f, arrays, wanted = CASES[name]
    leaves = [T(a, stop_gradient=False) for a in arrays]
    out = f(*leaves)
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-9, atol=1e-12)
    weight = RNG.standard_normal(wanted.shape)
    (out * T(weight)).sum().backward()
    h = 1e-6
    for i, a in enumerate(arrays):
        v = RNG.standard_normal(a.shape)
        ends = []
        for step in (h, -h):
            moved = [T(b + step * v) if k == i else T(b) for k, b in enumerate(arrays)]
            ends.append((f(*moved) * T(weight)).sum().item())
        slope = (ends[0] - ends[1]) / (2 * h)
        np.testing.assert_allclose((leaves[i].grad.numpy() * v).sum(), slope, rtol=1e-5, atol=1e-7)


def test_reductions_and_layers():
    label = T(CLASSES)
    each = F.multi_margin_loss(T(X), label, reduction="none").numpy()
    assert paddle.nn.MultiMarginLoss()(T(X), label).item() == pytest.approx(each.mean())
    assert paddle.nn.MultiMarginLoss(reduction="sum")(T(X), label).item() == pytest.approx(each.sum())
    with pytest.raises(ValueError, match="MultiMarginLoss: reduction must be mean, sum or none, not 'all'"):
        paddle.nn.MultiMarginLoss(reduction="all")
    layer = paddle.nn.TripletMarginLoss(0.5, 1, swap=True, reduction="none")
    np.testing.assert_allclose(layer(T(X), T(Y), T(Z)).numpy(), triplet(X, Y, Z, 0.5, 1, True))
    assert F.cosine_embedding_loss(T(X[0]), T(Y[0]), T([1]), reduction="none").shape == [1]
    assert F.cosine_embedding_loss(T(X[0]), T(Y[0]), T(1), reduction="none").shape == []


def test_variances_below_epsilon():
    v = T(np.zeros((5, 4)), stop_gradient=False)
    out = F.gaussian_nll_loss(T(X), T(Y), v, epsilon=0.5, reduction="none")
    np.testing.assert_allclose(out.numpy(), (np.log(0.5) + (X - Y) ** 2 / 0.5) / 2)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: F.cosine_embedding_loss(T(X), T(Y), T(SIGNS), 1.5), "margin must be from -1 to 1"),
        (lambda: F.cosine_embedding_loss(T(X), T(Y), T(SIGNS[:3])), "one number for each pair, 5"),
        (lambda: F.cosine_embedding_loss(T(X), T(Y), T(1)), "label must have one number for each pair"),
        (lambda: F.soft_margin_loss(T(X), T(SIGNS)), "label must have the shape of input"),
        (lambda: F.multi_margin_loss(T(X), T(CLASSES), 3), "p must be 1 or 2"),
        (lambda: F.multi_margin_loss(T(X), T(CLASSES + 1)), r"labels must be in \[0, 4\)"),
        (lambda: F.multi_margin_loss(T(X), T(CLASSES), weight=T(WEIGHT[:2])), "weight must be of the classes"),
        (lambda: F.triplet_margin_loss(T(X), T(Y), T(Z), -1.0), "margin must be positive"),
        (lambda: F.triplet_margin_loss(T(X), T(Y), T(Z), p=0), "p must be a positive number"),
        (lambda: F.gaussian_nll_loss(T(X), T(Y), T(-VARIANCE)), "variance must not be negative"),
        (lambda: F.gaussian_nll_loss(T(X), T(Y), T(VARIANCE[:2])), "variance must have the shape of input"),
        (lambda: F.poisson_nll_loss(T(X), T(COUNTS), epsilon=0.0), "epsilon must be positive"),
        (lambda: F.poisson_nll_loss(T(X), T(COUNTS), reduction="all"), "reduction must be one of mean, sum, none"),
    ],
)
def test_errors(call, says):
    with pytest.raises(ValueError, match=says):
        call()
