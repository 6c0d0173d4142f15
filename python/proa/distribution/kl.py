"""Divergences between distributions, by their classes."""

from proa import _C
from proa.distribution.categorical import Categorical
from proa.distribution.normal import Normal
from proa.distribution.uniform import Uniform

__all__ = ["kl_divergence", "register_kl"]

_rules: dict = {}


def register_kl(cls_p, cls_q):
    """Decorates a function of (p, q) that gives the divergence of distributions of these classes."""

    def register(function):
        _rules[cls_p, cls_q] = function
        return function

    return register


def kl_divergence(p, q):
    """The Kullback-Leibler divergence of q from p: the mean over p of log(p / q).

    Raises:
        NotImplementedError: no rule is known for their classes.

    Examples:
        >>> a, b = proa.distribution.Normal(0.0, 1.0), proa.distribution.Normal(1.0, 1.0)
        >>> proa.distribution.kl_divergence(a, b).item()
        0.5
    """
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            rule = _rules.get((kind_p, kind_q))
            if rule is not None:
                return rule(p, q)
    raise _C.located(
        NotImplementedError(
            f"kl_divergence: there is no rule for {type(p).__name__} and {type(q).__name__}; register_kl adds one"
        )
    )


@register_kl(Normal, Normal)
def _normals(p, q):
    ratio = (p.scale / q.scale) * (p.scale / q.scale)
    move = ((p.loc - q.loc) / q.scale) * ((p.loc - q.loc) / q.scale)
    return 0.5 * (ratio + move - 1.0 - ratio.log())


@register_kl(Uniform, Uniform)
def _uniforms(p, q):
    inside = (q.low <= p.low).logical_and(p.high <= q.high)
    value = ((q.high - q.low) / (p.high - p.low)).log()
    return _C.ops.where(inside, value, _C.ops.full_like(value, float("inf")))


@register_kl(Categorical, Categorical)
def _categoricals(p, q):
    logs = p._log_softmax()
    return (logs.exp() * (logs - q._log_softmax())).sum(-1, keepdim=True)
