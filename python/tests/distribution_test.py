"""Distributions against formulas, counts of samples, and the reference's numbers (3.3)."""

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

import proa
from proa import distribution as D


def test_normal():
    loc, scale = np.array([0.0, 1.0]), np.array([1.0, 3.0])
    normal, other = D.Normal(proa.to_tensor(loc, "float32"), proa.to_tensor(scale, "float32")), D.Normal(0.5, 2.0)
    x = np.array([0.3, 0.4])
    density = np.exp(-((x - loc) ** 2) / (2 * scale**2)) / (scale * math.sqrt(2 * math.pi))
    np.testing.assert_allclose(normal.probs(proa.to_tensor(x, "float32")).numpy(), density, rtol=1e-6)
    np.testing.assert_allclose(normal.log_prob(proa.to_tensor(x, "float32")).numpy(), np.log(density), rtol=1e-6)
    np.testing.assert_allclose(normal.entropy().numpy(), 0.5 + 0.5 * np.log(2 * np.pi) + np.log(scale), rtol=1e-6)
    np.testing.assert_allclose(normal.kl_divergence(other).numpy(), [0.34939718, 0.25078487], rtol=1e-6)
    proa.seed(1)
    drawn = normal.sample([20000]).numpy()
    assert drawn.shape == (20000, 2)
    np.testing.assert_allclose(drawn.mean(0), loc, atol=0.1)
    np.testing.assert_allclose(drawn.std(0), scale, rtol=0.03)
    assert other.sample((2, 3)).shape == [2, 3] and other.sample().shape == []
    assert normal.mean.tolist() == [0.0, 1.0] and normal.variance.tolist() == [1.0, 9.0]


def test_gradients_flow_through_rsample_only():
    loc = proa.to_tensor([1.0], stop_gradient=False)
    scale = proa.to_tensor([2.0], stop_gradient=False)
    normal = D.Normal(loc, scale)
    assert normal.sample([3]).stop_gradient
    normal.rsample([3]).sum().backward()
    assert loc.grad.tolist() == [3.0] and scale.grad is not None


def test_uniform():
    uniform = D.Uniform(proa.to_tensor([0.0, 1.0]), proa.to_tensor([1.0, 3.0]))
    assert uniform.probs(proa.to_tensor([0.3, 0.4])).tolist() == [1.0, 0.0]
    np.testing.assert_allclose(uniform.log_prob(proa.to_tensor([0.3, 2.4])).numpy(), [0, -math.log(2)], rtol=1e-6)
    np.testing.assert_allclose(uniform.entropy().numpy(), [0, math.log(2)], rtol=1e-6)
    drawn = uniform.sample([1000]).numpy()
    assert (drawn >= [0, 1]).all() and (drawn < [1, 3]).all() and D.Uniform(0.0, 2.0).sample([3]).shape == [3]
    assert D.kl_divergence(D.Uniform(0.0, 1.0), D.Uniform(-1.0, 3.0)).item() == pytest.approx(math.log(4))
    assert D.kl_divergence(D.Uniform(0.0, 2.0), D.Uniform(0.0, 1.0)).item() == math.inf


def test_categorical():
    weights = np.array([[0.2, 0.3, 0.5], [1.0, 2.0, 4.0]], "float32")
    c = D.Categorical(proa.to_tensor(weights))
    other = D.Categorical(proa.to_tensor([[0.5, 0.1, 0.5], [3.0, 2.0, 4.0]]))
    np.testing.assert_allclose(c.entropy().numpy(), [1.0906355, 0.5242666], rtol=1e-6)
    np.testing.assert_allclose(c.kl_divergence(other).numpy(), [[0.01951201], [0.15373977]], rtol=1e-5)
    share = weights / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(c.probs(proa.to_tensor([0, 2])).numpy(), share[:, [0, 2]], rtol=1e-6)
    np.testing.assert_allclose(
        c.log_prob(proa.to_tensor([[0], [1]])).numpy(), np.log(share[[[0], [1]], [[0], [1]]]), rtol=1e-6
    )
    proa.seed(2)
    drawn = c.sample([5000]).numpy()
    assert drawn.shape == (5000, 2)
    for i in range(2):
        np.testing.assert_allclose(np.bincount(drawn[:, i], minlength=3) / 5000, share[i], atol=0.03)
    one = D.Categorical(proa.to_tensor([0.2, 0.3, 0.5]))
    assert one.sample([2, 3]).shape == [2, 3] and one.entropy().shape == []
    np.testing.assert_allclose(one.probs(proa.to_tensor([2, 1])).numpy(), [0.5, 0.3], rtol=1e-6)


def test_divergences_of_ones_own():
    class Own(D.Distribution):
        pass

    with pytest.raises(NotImplementedError, match="no rule for Own and Normal"):
        D.kl_divergence(Own(), D.Normal(0.0, 1.0))

    @D.register_kl(Own, D.Normal)
    def rule(p, q):
        return 7

    assert Own().kl_divergence(D.Normal(0.0, 1.0)) == 7


def test_bad_input():
    for call, kind, says in (
        (lambda: D.Normal("0", 1.0), TypeError, "loc must be a number"),
        (lambda: D.Normal(0.0, 1.0).sample(2.5), TypeError, "shape must be"),
        (lambda: D.Categorical(1.0), ValueError, "a dim of classes"),
        (lambda: D.Distribution().sample(), NotImplementedError, "does not define sample"),
    ):
        with pytest.raises(kind, match=says):
            call()


def test_beta():
    alpha, beta = np.array([0.5, 2.0, 7.5]), np.array([0.7, 3.0, 1.0])
    ours, theirs = D.Beta(proa.to_tensor(alpha), proa.to_tensor(beta)), scipy.stats.beta(alpha, beta)
    x = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(ours.prob(proa.to_tensor(x)).numpy(), theirs.pdf(x), rtol=1e-12)
    np.testing.assert_allclose(ours.log_prob(proa.to_tensor(x)).numpy(), theirs.logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(ours.mean.numpy(), theirs.mean(), rtol=1e-14)
    np.testing.assert_allclose(ours.variance.numpy(), theirs.var(), rtol=1e-13)
    np.testing.assert_allclose(ours.entropy().numpy(), theirs.entropy(), rtol=1e-10, atol=1e-12)
    # At the ends a power of 0 is 1.
    ends = D.Beta(proa.to_tensor([1.0, 1.0], "float64"), proa.to_tensor([2.0, 1.0], "float64"))
    assert ends.prob(proa.to_tensor([0.0, 1.0], "float64")).tolist() == pytest.approx([2.0, 1.0])
    proa.seed(3)
    drawn = ours.sample([4000]).numpy()
    assert drawn.shape == (4000, 3) and D.Beta(2.0, [1.0, 3.0]).sample().shape == [2]
    for k in range(3):
        assert scipy.stats.kstest(drawn[:, k], scipy.stats.beta(alpha[k], beta[k]).cdf).pvalue > 1e-3
    p, q = D.Beta(2.0, 3.0), D.Beta(1.0, 4.0)
    want = (
        scipy.special.betaln(1, 4) - scipy.special.betaln(2, 3)
        + scipy.special.psi(2) * 1 + scipy.special.psi(3) * -1 + 0 * scipy.special.psi(5)
    )  # fmt: skip
    assert D.kl_divergence(p, q).item() == pytest.approx(want, rel=1e-5)
    assert D.Beta(1e-3, 1e-3).sample([200]).isfinite().all().item()


def test_dirichlet():
    a = np.array([[0.5, 2.0, 3.0], [4.0, 5.0, 0.6]])
    ours = D.Dirichlet(proa.to_tensor(a))
    x = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    theirs = [scipy.stats.dirichlet(row) for row in a]
    np.testing.assert_allclose(
        ours.log_prob(proa.to_tensor(x)).numpy(), [t.logpdf(r) for t, r in zip(theirs, x)], rtol=1e-12
    )
    np.testing.assert_allclose(ours.prob(proa.to_tensor(x)).numpy(), [t.pdf(r) for t, r in zip(theirs, x)], rtol=1e-12)
    np.testing.assert_allclose(ours.mean.numpy(), [t.mean() for t in theirs], rtol=1e-14)
    np.testing.assert_allclose(ours.variance.numpy(), [t.var() for t in theirs], rtol=1e-13)
    np.testing.assert_allclose(ours.entropy().numpy(), [t.entropy() for t in theirs], rtol=1e-11)
    assert ours.batch_shape == (2,) and ours.event_shape == (3,)
    proa.seed(4)
    drawn = ours.sample([4000]).numpy()
    assert drawn.shape == (4000, 2, 3)
    np.testing.assert_allclose(drawn.sum(-1), 1, rtol=1e-12)
    for i in range(2):
        for k in range(3):
            marginal = scipy.stats.beta(a[i, k], a[i].sum() - a[i, k])
            assert scipy.stats.kstest(drawn[:, i, k], marginal.cdf).pvalue > 1e-3
    b = np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])
    psi, log_b = scipy.special.psi, lambda v: scipy.special.gammaln(v).sum(-1) - scipy.special.gammaln(v.sum(-1))
    want = log_b(b) - log_b(a) + ((a - b) * (psi(a) - psi(a.sum(-1, keepdims=True)))).sum(-1)
    np.testing.assert_allclose(ours.kl_divergence(D.Dirichlet(proa.to_tensor(b))).numpy(), want, rtol=1e-10)
    with pytest.raises(ValueError, match="must have a dim of shares"):
        D.Dirichlet(1.0)


def test_multinomial():
    p = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
    ours, theirs = D.Multinomial(6, proa.to_tensor(p * 10)), [scipy.stats.multinomial(6, row) for row in p]
    x = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 0.0]])
    np.testing.assert_allclose(
        ours.log_prob(proa.to_tensor(x)).numpy(), [t.logpmf(r) for t, r in zip(theirs, x)], rtol=1e-12
    )
    np.testing.assert_allclose(ours.prob(proa.to_tensor(x)).numpy(), [t.pmf(r) for t, r in zip(theirs, x)], rtol=1e-12)
    np.testing.assert_allclose(ours.entropy().numpy(), [t.entropy() for t in theirs], rtol=1e-10)
    np.testing.assert_allclose(ours.mean.numpy(), 6 * p, rtol=1e-14)
    np.testing.assert_allclose(ours.variance.numpy(), 6 * p * (1 - p), rtol=1e-13)
    proa.seed(5)
    drawn = ours.sample([3000]).numpy()
    assert drawn.shape == (3000, 2, 3) and (drawn.sum(-1) == 6).all() and (drawn[:, 1, 2] == 0).all()
    np.testing.assert_allclose(drawn.mean(0), 6 * p, atol=0.1)
    np.testing.assert_allclose(drawn.var(0), 6 * p * (1 - p), atol=0.12)
    assert D.Multinomial(3, [1.0, 1.0]).sample().shape == [2]
    for count, kind in ((0, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(kind, match="total_count"):
            D.Multinomial(count, [1.0, 1.0])


_EXTREMES = [
    *((f"normal {scale}", lambda s=scale: D.Normal(s, 2 * s), lambda s=scale: scipy.stats.norm(s, 2 * s), [0.5 * scale, -scale, 3 * scale])
      for scale in (1e-30, 1e-20, 1e20, 1e30)),
    *((f"uniform {low} {high}", lambda l=low, h=high: D.Uniform(l, h), lambda l=low, h=high: scipy.stats.uniform(l, h - l), [low / 2 + high / 2, low / 4 + high / 4 * 3, -3.2e38])
      for low, high in ((-1e38, 1e38), (-3e38, 3e38), (0.0, 1e-38), (1e30, 1.5e30))),
    *((f"beta {a} {b}", lambda a=a, b=b: D.Beta(a, b), lambda a=a, b=b: scipy.stats.beta(a, b), [1e-6, 0.5, 1 - 1e-6])
      for a, b in ((1e-3, 1e-3), (1e-10, 1.0), (1e3, 1e-3), (1e6, 1e6), (1e-30, 1e-30), (1e9, 3.0))),
]  # fmt: skip


@pytest.mark.parametrize("ours, theirs, values", [case[1:] for case in _EXTREMES], ids=[case[0] for case in _EXTREMES])
def test_extreme_parameters(ours, theirs, values):
    """As SciPy in float64 says, of the same numbers as float32 has them."""
    ours, theirs = ours(), theirs()
    values = np.array(values, "float32")
    with np.errstate(all="ignore"):
        want = theirs.logpdf(values.astype("float64"))
    np.testing.assert_allclose(ours.log_prob(proa.to_tensor(values)).numpy(), want, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(ours.entropy().numpy(), theirs.entropy(), rtol=2e-5)
    if isinstance(ours, D.Beta):
        np.testing.assert_allclose(ours.variance.numpy(), theirs.var(), rtol=1e-5)
        assert np.isfinite(ours.sample([200]).numpy()).all()
    np.testing.assert_allclose(D.kl_divergence(ours, ours).numpy(), 0, atol=1e-6)


def test_divergences_of_far_scales():
    """KL of normals is log(b / a) + (a^2 + d^2) / (2 b^2) - 1 / 2, also where a / b is near the ends of the numbers."""
    for a, b in ((1e-15, 1e15), (1e-30, 1e-28), (1e30, 1e28), (2.0, 2.0)):
        want = np.log(b / a) + 0.5 * (a / b) ** 2 - 0.5
        np.testing.assert_allclose(
            D.kl_divergence(D.Normal(0.0, a), D.Normal(0.0, b)).numpy(), want, rtol=1e-5, atol=1e-6
        )
    wide, narrow = D.Uniform(-3e38, 3e38), D.Uniform(-1.0, 1.0)
    np.testing.assert_allclose(D.kl_divergence(narrow, wide).numpy(), np.log(3e38), rtol=1e-6)
    assert D.kl_divergence(wide, narrow).item() == np.inf


def test_large_concentrations():
    for concentration in ([1e6, 1.0, 1e-3], [1e-3] * 3, [1e-30] * 3, [1e5, 2e5, 3e5]):
        ours, theirs = D.Dirichlet(proa.to_tensor(concentration)), scipy.stats.dirichlet(np.array(concentration))
        np.testing.assert_allclose(ours.entropy().numpy(), theirs.entropy(), rtol=1e-5)
        np.testing.assert_allclose(
            ours.log_prob(proa.to_tensor([0.2, 0.3, 0.5])).numpy(), theirs.logpdf([0.2, 0.3, 0.5]), rtol=1e-5
        )
        np.testing.assert_allclose(ours.variance.numpy(), theirs.var(), rtol=1e-5)


@pytest.mark.parametrize("a", [0.1, 0.01, 1e-3, 1e-4, 1e-30])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_samples_of_small_concentrations(a, dtype):
    """Nearly all shares are 0 or 1 then; numbers from Gamma(a) that are no floats any more must not become halves."""
    proa.seed(7)
    pair = proa.to_tensor([a, a], dtype=dtype)
    inside = scipy.stats.beta.cdf(0.9, a, a) - scipy.stats.beta.cdf(0.1, a, a)
    for shares in (D.Dirichlet(pair).sample([20000]).numpy()[:, 0], D.Beta(pair[0], pair[1]).sample([20000]).numpy()):
        assert shares.dtype == dtype
        assert abs(((shares > 0.1) & (shares < 0.9)).mean() - inside) < 5 * np.sqrt(inside / 20000) + 1e-9
        assert abs((shares > 0.5).mean() - 0.5) < 0.02
        # The part below a half, as SciPy has it; above it the distance from 1 is lost to rounding.
        if a == 0.1 and dtype == "float64":
            below = scipy.stats.beta(a, a)
            assert scipy.stats.kstest(shares[shares < 0.5], lambda x: below.cdf(x) / 0.5).pvalue > 1e-3


def test_integers_as_parameters():
    two = proa.to_tensor([2, 3])
    assert D.Beta(two, two).sample([4]).dtype == D.Dirichlet(two).sample([4]).dtype == proa.float32
    assert D.Uniform(proa.to_tensor(0), proa.to_tensor(3)).sample([2]).dtype == proa.float32


@pytest.mark.parametrize("kind, names", [("Normal", ("loc", "scale")), ("Uniform", ("low", "high"))])
def test_numbers_beside_lists(kind, names):
    """As in PaddlePaddle 3.3: parameters that are no tensors have the shape of both; tensors stay as they were given."""
    made = getattr(D, kind)([1.0, 2.0, 3.0], 4.0)
    assert [getattr(made, name).shape for name in names] == [[3], [3]]
    given = proa.to_tensor(4.0)
    made = getattr(D, kind)([1.0, 2.0, 3.0], given)
    assert getattr(made, names[1]) is given and made.sample([2]).shape == [2, 3]


def test_gradients_where_a_count_is_zero_and_outside_of_an_interval():
    """Found beside PaddlePaddle 3.3 and PyTorch: they were zeros."""
    probs = proa.to_tensor([0.2, 0.3, 0.5, 0.0], stop_gradient=False)
    counts = proa.to_tensor([0.0, 2.0, 3.0, 0.0], stop_gradient=False)
    log_prob = D.Multinomial(5, probs).log_prob(counts)
    assert np.isclose(log_prob.item(), scipy.stats.multinomial.logpmf([0, 2, 3], 5, [0.2, 0.3, 0.5]), rtol=1e-5)
    log_prob.backward()
    # Of log(sum!) - the log(count!) + count * log(prob); that of what never comes has no slope.
    want = (
        scipy.special.digamma(6)
        - scipy.special.digamma(counts.numpy() + 1)
        + np.log(np.where(probs.numpy(), probs.numpy(), 1))
    )
    np.testing.assert_allclose(counts.grad.numpy(), want, rtol=1e-5, atol=1e-6)
    assert np.isfinite(probs.grad.numpy()).all()

    low, high = (proa.to_tensor([v, v], stop_gradient=False) for v in (0.0, 4.0))
    D.Uniform(low, high).log_prob(proa.to_tensor([1.0, 9.0])).sum().backward()
    assert low.grad.tolist() == [0.25, 0.25] and high.grad.tolist() == [-0.25, -0.25]
