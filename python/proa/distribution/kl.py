"""Divergences between distributions, by their classes."""

import warnings

from proa import _C
from proa.distribution.categorical import Categorical
from proa.distribution.distribution import Distribution
from proa.distribution.exponential_family import ExponentialFamily, log_normalizer_and_slope
from proa.distribution.normal import Normal
from proa.distribution.uniform import Uniform

__all__ = ["kl_divergence", "register_kl"]

_rules: dict = {}


def register_kl(cls_p, cls_q):
    """Decorates a function of (p, q) that gives the divergence of distributions of these classes, and of those below them.

    Examples:
        >>> class Fixed(proa.distribution.Distribution):
        ...     pass
        >>> @proa.distribution.register_kl(Fixed, Fixed)
        ... def rule(p, q):
        ...     return 0.0 if p is q else float("inf")
        >>> proa.distribution.kl_divergence(Fixed(), Fixed())
        inf
    """
    for kind in (cls_p, cls_q):
        if not isinstance(kind, type) or not issubclass(kind, Distribution):
            raise _C.located(TypeError(f"register_kl: a class of Distributions is needed, not {kind!r}"))

    def register(function):
        _rules[cls_p, cls_q] = function
        return function

    return register


def kl_divergence(p, q):
    """The Kullback-Leibler divergence of q from p: the mean over p of log(p / q).

    The rule is that of the nearest classes, those of p before those of q.

    Raises:
        NotImplementedError: no rule is known for their classes.

    Examples:
        >>> a, b = proa.distribution.Normal(0.0, 1.0), proa.distribution.Normal(1.0, 1.0)
        >>> proa.distribution.kl_divergence(a, b).item()
        0.5
    """
    first = _nearest((kind_p, kind_q) for kind_p in type(p).__mro__ for kind_q in type(q).__mro__)
    if first is None:
        raise _C.located(
            NotImplementedError(
                f"kl_divergence: there is no rule for {type(p).__name__} and {type(q).__name__}; register_kl adds one"
            )
        )
    other = _nearest((kind_p, kind_q) for kind_q in type(q).__mro__ for kind_p in type(p).__mro__)
    if _rules[other] is not _rules[first]:
        warnings.warn(
            f"kl_divergence: two rules are as near to {type(p).__name__} and {type(q).__name__}; that of "
            f"{first[0].__name__} and {first[1].__name__} is used; register_kl({type(p).__name__}, {type(q).__name__}) decides",
            RuntimeWarning,
            stacklevel=2,
        )
    return _rules[first](p, q)


def _nearest(pairs):
    return next((pair for pair in pairs if pair in _rules), None)


@register_kl(Normal, Normal)
def _normals(p, q):
    # In float64, which holds squares of all ratios.
    loc, scale, other_loc, other_scale = (x.astype(_C.float64) for x in (p.loc, p.scale, q.loc, q.scale))
    ratio, move = scale / other_scale, (loc - other_loc) / other_scale
    return (0.5 * (ratio * ratio + move * move - 1.0) - ratio.log()).astype(p.dtype)


@register_kl(Uniform, Uniform)
def _uniforms(p, q):
    inside = (q.low <= p.low).logical_and(p.high <= q.high)
    value = q.entropy() - p.entropy()
    return _C.ops.where(inside, value, _C.ops.full_like(value, float("inf")))


@register_kl(Categorical, Categorical)
def _categoricals(p, q):
    logs = p._log_softmax()
    return (logs.exp() * (logs - q._log_softmax())).sum(-1, keepdim=True)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_families(p, q):
    """How far F(theta of q) lies above the tangent of F at theta of p."""
    if type(p) is not type(q):
        raise _C.located(
            NotImplementedError(
                f"kl_divergence: {type(p).__name__} and {type(q).__name__} are no family; register_kl adds a rule"
            )
        )
    value, parameters, slopes = log_normalizer_and_slope(p)
    others = [other.astype(parameter.dtype) for other, parameter in zip(q._natural_parameters, parameters)]
    result = q._log_normalizer(*others) - value
    for parameter, other, slope in zip(parameters, others, slopes):
        term = (other - parameter) * slope
        result = result - (term.sum(list(range(-len(q.event_shape), 0))) if q.event_shape else term)
    return result.astype(p.dtype) if hasattr(p, "dtype") else result
