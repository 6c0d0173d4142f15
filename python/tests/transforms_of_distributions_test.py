"""Transforms of random variables, and what is made of them: against SciPy, finite differences, and counts of samples."""

import warnings

import numpy as np
import pytest
import scipy.stats

import proa
from proa import distribution as D


def t(value, dtype="float64", **kwargs):
    return proa.to_tensor(np.asarray(value), dtype=dtype, **kwargs)


# A transform, an x (one event, after two batch dims where it takes events), and f of NumPy where that is simple.
_X = np.array([[0.3, -1.2, 2.0], [0.9, 0.1, -0.4]])
TRANSFORMS = {
    "affine": (lambda: D.AffineTransform(t(0.5), t([-2.0, 1.5, 3.0])), _X, lambda x: 0.5 + np.array([-2.0, 1.5, 3.0]) * x),
    "exp": (D.ExpTransform, _X, np.exp),
    "power": (lambda: D.PowerTransform(t([2.0, -1.0, 0.5])), np.abs(_X), lambda x: x ** [2.0, -1.0, 0.5]),
    "sigmoid": (D.SigmoidTransform, _X, lambda x: 1 / (1 + np.exp(-x))),
    "tanh": (D.TanhTransform, _X, np.tanh),
    "stick": (D.StickBreakingTransform, _X, None),
    "reshape": (lambda: D.ReshapeTransform((3,), (1, 3, 1)), _X, lambda x: x.reshape(2, 1, 3, 1)),
    "stack": (lambda: D.StackTransform([D.ExpTransform(), D.TanhTransform()], 0), _X,
              lambda x: np.stack([np.exp(x[0]), np.tanh(x[1])])),
    "chain": (lambda: D.ChainTransform([D.TanhTransform(), D.AffineTransform(t(1.0), t(2.0)), D.ExpTransform()]), _X,
              lambda x: np.exp(1 + 2 * np.tanh(x))),
    "chain of vectors": (lambda: D.ChainTransform([D.AffineTransform(t(1.0), t(2.0)), D.StickBreakingTransform()]), _X, None),
    "independent": (lambda: D.IndependentTransform(D.ExpTransform(), 1), _X, np.exp),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_there_and_back(name):
    make, x, function = TRANSFORMS[name]
    transform, rank = make(), make()._domain.event_rank
    y = transform.forward(t(x))
    if function is not None:
        np.testing.assert_allclose(y.numpy(), function(x), rtol=1e-12)
    np.testing.assert_allclose(transform.inverse(y).numpy(), x, rtol=1e-9, atol=1e-12)
    assert list(transform.forward_shape(tuple(x.shape))) == y.shape
    assert list(transform.inverse_shape(tuple(y.shape))) == list(x.shape)
    assert transform._codomain.event_rank >= 0 and len(y.shape) - len(x.shape) == transform._codomain.event_rank - rank


@pytest.mark.parametrize("name", TRANSFORMS)
def test_how_much_space_is_stretched(name):
    """Against the determinant of finite differences, of each event."""
    make, x, _ = TRANSFORMS[name]
    transform = make()
    rank, step = transform._domain.event_rank, 1e-6
    found = transform.forward_log_det_jacobian(t(x)).numpy()
    lead = x.shape[: x.ndim - rank]
    found = np.broadcast_to(found, lead)
    back = transform.inverse_log_det_jacobian(transform.forward(t(x))).numpy()
    np.testing.assert_allclose(np.broadcast_to(back, lead), -found, rtol=1e-9, atol=1e-12)
    for where in np.ndindex(*lead):

        def images(delta, where=where):
            moved = x.copy()
            moved[where] += delta
            y = transform.forward(t(moved)).numpy()
            return y.reshape(*lead, -1)[where]

        event = np.zeros(x.shape[x.ndim - rank :])
        columns = []
        for i in range(event.size):
            delta = event.copy().reshape(-1)
            delta[i] = step
            delta = delta.reshape(event.shape)
            columns.append((images(delta) - images(-delta)) / (2 * step))
        # Of numbers that add up to 1 the last follows from the others.
        jacobian = np.stack(columns, -1)[: event.size]
        np.testing.assert_allclose(found[where], np.log(abs(np.linalg.det(jacobian))), rtol=1e-5, atol=1e-6)


def test_not_one_to_one():
    down, up = D.AbsTransform().inverse(t([2.0]))
    assert down.item() == -2.0 and up.item() == 2.0 and D.AbsTransform().forward(t([-3.0])).item() == 3.0
    assert [z.item() for z in D.AbsTransform().inverse_log_det_jacobian(t([2.0]))] == [0.0, 0.0]
    y = D.SoftmaxTransform().forward(t(_X))
    np.testing.assert_allclose(y.numpy(), np.exp(_X) / np.exp(_X).sum(1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(D.SoftmaxTransform().inverse(y).numpy(), np.log(y.numpy()), rtol=1e-12)
    for transform in (D.AbsTransform(), D.SoftmaxTransform(), D.ChainTransform([D.ExpTransform(), D.AbsTransform()])):
        with pytest.raises(NotImplementedError, match="several values have the same result"):
            transform.forward_log_det_jacobian(t(_X))


def test_extreme_numbers():
    x = t([-1000.0, -50.0, 50.0, 1000.0])
    for transform in (D.TanhTransform(), D.SigmoidTransform()):
        assert np.isfinite(transform.forward_log_det_jacobian(x).numpy()).all()
    assert D.TanhTransform().forward_log_det_jacobian(t(50.0)).item() == pytest.approx(2 * np.log(2) - 100)
    assert D.ExpTransform().forward(t(np.zeros([0, 3]))).shape == [0, 3]
    assert D.StickBreakingTransform().forward(t([1000.0, -1000.0])).numpy().sum() == pytest.approx(1.0)


def test_calls():
    exp = D.ExpTransform()
    assert isinstance(exp(D.Normal(0.0, 1.0)), D.TransformedDistribution)
    assert isinstance(exp(D.TanhTransform()), D.ChainTransform) and exp(t(0.0)).item() == 1.0
    assert D.transform.ExpTransform is D.ExpTransform and D.variable.real.event_rank == 0
    assert D.TanhTransform()._codomain.constraint(t([0.5, 2.0])).tolist() == [True, False]


# Distributions of these ----------------------------------------------------------------------------------------------


def scipy_of_exp():
    return scipy.stats.lognorm(s=0.5, scale=np.exp(0.3))


@pytest.mark.parametrize(
    ("make", "law", "at"),
    [
        (lambda: D.TransformedDistribution(D.Normal(t(0.3), t(0.5)), [D.ExpTransform()]), scipy_of_exp(), [0.2, 1.0, 5.0]),
        (lambda: D.TransformedDistribution(D.Normal(t(0.0), t(1.0)), [D.AffineTransform(t(2.0), t(-3.0))]),
         scipy.stats.norm(2, 3), [-4.0, 2.0, 9.0]),
        (lambda: D.TransformedDistribution(D.Uniform(t(0.0), t(1.0)), [D.PowerTransform(t(2.0))]),
         scipy.stats.beta(0.5, 1.0), [0.1, 0.5, 0.9]),
        (lambda: D.TransformedDistribution(
            D.Uniform(t(0.0), t(1.0)),
            [D.ChainTransform([D.AffineTransform(t(1.0), t(-1.0))]), _Log(), D.AffineTransform(t(0.0), t(-2.0))]),
         scipy.stats.expon(scale=2.0), [0.1, 1.0, 6.0]),
        (lambda: D.Normal(t(1.0), t(2.0)), scipy.stats.norm(1, 2), [-3.0, 1.0, 2.0]),
        (lambda: D.Uniform(t(-1.0), t(3.0)), scipy.stats.uniform(-1, 4), [-0.5, 1.0, 2.9]),
    ],
    ids=["exp", "affine", "power", "exponential", "normal", "uniform"],
)  # fmt: skip
def test_against_scipy(make, law, at):
    """Densities, and samples by the test of Kolmogorov and Smirnov."""
    distribution = make()
    np.testing.assert_allclose(distribution.log_prob(t(at)).numpy(), law.logpdf(at), rtol=1e-7)
    np.testing.assert_allclose(distribution.prob(t(at)).numpy(), law.pdf(at), rtol=1e-7)
    proa.seed(7)
    sample = distribution.sample([5000])
    assert sample.shape == [5000] and sample.stop_gradient and sample.dtype == proa.float64
    assert scipy.stats.kstest(sample.numpy(), law.cdf).pvalue > 0.01


class _Log(D.Transform):
    _type = D.transform.Type.BIJECTION

    def _forward(self, x):
        return x.log()

    def _inverse(self, y):
        return y.exp()

    def _inverse_log_det_jacobian(self, y):
        return y


def test_classes_of_a_categorical():
    proa.seed(3)
    weights = np.array([0.1, 0.6, 0.3])
    counts = np.bincount(D.Categorical(t(weights)).sample([6000]).numpy(), minlength=3)
    assert scipy.stats.chisquare(counts, 6000 * weights).pvalue > 0.01


def test_shapes_and_events():
    base = D.Normal(t(np.zeros([4, 3])), t(np.full([4, 3], 2.0)))
    cov = 4 * np.eye(3)
    x = np.random.RandomState(0).randn(4, 3)
    vectors = D.Independent(base, 1)
    assert vectors.batch_shape == (4,) and vectors.event_shape == (3,) and vectors.sample([2]).shape == [2, 4, 3]
    law = scipy.stats.multivariate_normal(np.zeros(3), cov)
    np.testing.assert_allclose(vectors.log_prob(t(x)).numpy(), law.logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(vectors.prob(t(x)).numpy(), law.pdf(x), rtol=1e-12)
    np.testing.assert_allclose(vectors.entropy().numpy(), [law.entropy()] * 4, rtol=1e-12)
    assert vectors.mean.shape == vectors.variance.shape == [4, 3]

    simplex = D.TransformedDistribution(base, [D.StickBreakingTransform()])
    assert simplex.batch_shape == (4,) and simplex.event_shape == (4,)
    y = simplex.sample([5])
    assert y.shape == [5, 4, 4] and simplex.log_prob(y).shape == [5, 4]
    np.testing.assert_allclose(y.numpy().sum(-1), 1.0, rtol=1e-12)

    # A scale without dims stretches each of three dims.
    scaled = D.TransformedDistribution(vectors, [D.AffineTransform(t(1.0), t(5.0))])
    assert scaled.batch_shape == (4,) and scaled.event_shape == (3,)
    law = scipy.stats.multivariate_normal(np.ones(3), 100 * np.eye(3))
    np.testing.assert_allclose(scaled.log_prob(t(x)).numpy(), law.logpdf(x), rtol=1e-12)
    reshaped = D.TransformedDistribution(vectors, [D.ReshapeTransform((3,), (3, 1))])
    assert reshaped.event_shape == (3, 1) and reshaped.log_prob(reshaped.sample()).shape == [4]
    assert D.TransformedDistribution(vectors, []).log_prob(t(x)).shape == [4]


def test_gradients_of_rsample():
    loc, scale = t(0.0, stop_gradient=False), t(1.0, stop_gradient=False)
    distribution = D.TransformedDistribution(D.Normal(loc, scale), [D.AffineTransform(t(1.0), t(3.0))])
    distribution.rsample([10]).sum().backward()
    assert loc.grad.item() == pytest.approx(30.0) and scale.grad is not None


# Exponential families, divergences -----------------------------------------------------------------------------------


class Exponential(D.ExponentialFamily):
    def __init__(self, rate):
        self.rate = rate
        super().__init__(rate.shape)

    @property
    def _natural_parameters(self):
        return (-self.rate,)

    def _log_normalizer(self, theta):
        return -(-theta).log()

    _mean_carrier_measure = 0.0


def test_exponential_families():
    rate, other = np.array([0.5, 1.0, 4.0]), np.array([1.0, 1.0, 0.5])
    p, q = Exponential(t(rate, stop_gradient=False)), Exponential(t(other))
    np.testing.assert_allclose(p.entropy().numpy(), scipy.stats.expon(scale=1 / rate).entropy(), rtol=1e-12)
    np.testing.assert_allclose(
        D.kl_divergence(p, q).numpy(), np.log(rate / other) + other / rate - 1.0, rtol=1e-9, atol=1e-12
    )
    p.entropy().sum().backward()
    np.testing.assert_allclose(p.rate.grad.numpy(), -1 / rate, rtol=1e-9)
    with pytest.raises(NotImplementedError, match="does not define _natural_parameters"):
        D.ExponentialFamily().entropy()

    class Other(Exponential):
        pass

    with pytest.raises(NotImplementedError, match="Other and Exponential are no family"):
        D.kl_divergence(Other(t(rate)), q)


def test_rules_of_near_classes():
    class A(D.Distribution):
        pass

    class B(A):
        pass

    D.register_kl(A, B)(lambda p, q: "AB")
    D.register_kl(B, A)(lambda p, q: "BA")
    with pytest.warns(RuntimeWarning, match="two rules are as near to B and B"):
        assert D.kl_divergence(B(), B()) == "BA"
    D.register_kl(B, B)(lambda p, q: "BB")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert D.kl_divergence(B(), B()) == "BB" and A().kl_divergence(B()) == "AB"
    with pytest.raises(NotImplementedError, match="no rule for A and A"):
        D.kl_divergence(A(), A())
    with pytest.raises(TypeError, match="register_kl: a class of Distributions"):
        D.register_kl(int, A)


def test_bad_input():
    exp, normal = D.ExpTransform(), D.Normal(t([0.0]), t([1.0]))
    for call, kind, says in (
        (lambda: exp.forward(1.0), TypeError, "forward: x must be a Tensor, not float"),
        (lambda: exp.inverse([1.0]), TypeError, "inverse: y must be a Tensor, not list"),
        (lambda: exp.forward_shape(3), TypeError, "forward_shape: shape must be a list of ints"),
        (lambda: D.StickBreakingTransform().forward(t(1.0)), ValueError, "forward: x needs 1 dims or more"),
        (lambda: D.SoftmaxTransform().forward_shape([]), ValueError, "shape of a vector has a dim"),
        (lambda: D.AffineTransform(0.0, t(1.0)), TypeError, "loc must be a Tensor, not float"),
        (lambda: D.PowerTransform(2.0), TypeError, "power must be a Tensor"),
        (lambda: D.ChainTransform([1]), TypeError, "transforms must be a list of Transforms"),
        (lambda: D.StackTransform([]), TypeError, "must not be empty"),
        (lambda: D.StackTransform([exp], axis=1.0), TypeError, "axis must be an int"),
        (lambda: D.StackTransform([exp]).forward(t([1.0, 2.0])), ValueError, "axis 0 must be of 1"),
        (lambda: D.IndependentTransform(exp, 0), ValueError, "reinterpreted_batch_rank must be positive"),
        (lambda: D.IndependentTransform(normal, 1), TypeError, "base must be a Transform"),
        (lambda: D.ReshapeTransform((2,), (3,)), ValueError, "do not hold as many numbers"),
        (lambda: D.ReshapeTransform(2, 2), TypeError, "lists of ints"),
        (lambda: D.ReshapeTransform((2,), (2, 1)).forward(t([1.0, 2.0, 3.0])), ValueError, "the last dims must be"),
        (lambda: D.Independent(exp, 1), TypeError, "base must be a Distribution"),
        (lambda: D.Independent(normal, 2), ValueError, "from 1 to 1, the batch dims of base, not 2"),
        (lambda: D.TransformedDistribution(exp, []), TypeError, "base must be a Distribution"),
        (lambda: D.TransformedDistribution(normal, exp), TypeError, "transforms must be a list"),
        (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), [D.StickBreakingTransform()]), ValueError,
         "take events of 1 dims"),
        (lambda: D.Transform().forward(t(1.0)), NotImplementedError, "does not define _forward"),
        (lambda: D.Transform().forward_log_det_jacobian(t(1.0)), NotImplementedError, "_forward_log_det_jacobian"),
        (lambda: D.Distribution().mean, NotImplementedError, "does not define mean"),
    ):  # fmt: skip
        with pytest.raises(kind, match=says):
            call()
