"""Clipping of gradients; an optimizer takes one of these as `grad_clip`."""

from proa import _C
from proa.framework.grad_mode import no_grad

_LOW = (_C.float16, _C.bfloat16)


class ClipGradBase:
    """Base: called with a list of (parameter, gradient), returns the list with clipped gradients.

    Gradients of parameters with `need_clip = False` stay as they are. A row-sparse gradient stays row-sparse; rows that
    occur twice in it count as their sum.
    """

    @no_grad()
    def __call__(self, params_grads):
        return self._dygraph_clip(params_grads)

    def _dygraph_clip(self, params_grads):
        """What a call does. Classes of users of the reference define this one."""
        clipped = [(p, g) for p, g in params_grads if g is not None and getattr(p, "need_clip", True)]
        replaced = {id(p): g for (p, _), g in zip(clipped, self._clip([g for _, g in clipped]))}
        return [(p, replaced.get(id(p), g)) for p, g in params_grads]

    def common_factor(self, params_grads, scale=1.0):
        """The one factor, a 0-d float64 tensor, that clips all gradients which count `scale` times; None where each has its own.

        An optimizer takes it into its update, which reads gradients once. A subclass that clips otherwise is called instead.
        """
        return None

    def for_step(self, params_grads, scale=1.0):
        """What a call gives, of gradients that count `scale` times, for an update of float32 parameters: 16-bit gradients
        become float32, in the pass that clips them. For classes that define `_clip_wide`; a subclass that clips otherwise
        is called instead.
        """
        clipped = [(p, g) for p, g in params_grads if g is not None and getattr(p, "need_clip", True)]
        replaced = {id(p): g for (p, _), g in zip(clipped, self._clip_wide([g for _, g in clipped], scale))}
        return [(p, replaced[id(p)] if id(p) in replaced else widened(g, scale)) for p, g in params_grads]

    def _clip(self, grads):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define _clip"))


def _number(kind, name, value):
    if isinstance(value, bool) or not hasattr(value, "__float__"):  # not what only looks like a number
        raise _C.located(TypeError(f"{kind}: {name} must be a number, not {value!r}"))
    return float(value)


def _norm(kind, value):
    value = _number(kind, "clip_norm", value)
    if not value > 0.0:
        raise _C.located(ValueError(f"{kind}: clip_norm must be positive; it is {value}"))
    return value


class ClipGradByValue(ClipGradBase):
    """Every element into [min, max].

    Args:
        max (float): the upper limit.
        min (float, optional): the lower limit; -max unless given.

    Examples:
        >>> clip = proa.nn.ClipGradByValue(max=1.0)
        >>> sgd = proa.optimizer.SGD(0.1, parameters=proa.nn.Linear(2, 2).parameters(), grad_clip=clip)
    """

    def __init__(self, max, min=None):
        self.max = _number("ClipGradByValue", "max", max)
        self.min = -self.max if min is None else _number("ClipGradByValue", "min", min)
        if self.min > self.max:
            raise _C.located(
                ValueError(f"ClipGradByValue: min must not be above max; they are {self.min} and {self.max}")
            )

    def _clip(self, grads):
        return [_C.ops.clip(g, self.min, self.max) for g in grads]

    def _clip_wide(self, grads, scale):
        return [self._wide(widened(g, scale)) for g in grads]

    def _wide(self, grad):
        if grad.dtype not in _LOW:
            return _C.ops.clip(grad, self.min, self.max)
        # Beside a float32 limit a 16-bit gradient is read as what it is, and neither is rounded.
        low, high = (_C.ops.full([], limit, _C.float32) for limit in (self.min, self.max))
        return _C.ops.minimum(_C.ops.maximum(grad, low), high)

    def __repr__(self):
        return f"ClipGradByValue(max={self.max}, min={self.min})"


class ClipGradByNorm(ClipGradBase):
    """Each gradient to an L2 norm of at most `clip_norm`, by scaling.

    Examples:
        >>> clip = proa.nn.ClipGradByNorm(1.0)
        >>> net = proa.nn.Linear(2, 1)
        >>> sgd = proa.optimizer.SGD(0.1, parameters=net.parameters(), grad_clip=clip)
    """

    def __init__(self, clip_norm):
        self.clip_norm = _norm("ClipGradByNorm", clip_norm)

    def _clip(self, grads):
        return [_scaled([g], self.clip_norm)[0] for g in grads]

    def _clip_wide(self, grads, scale):
        return [widened(g, _factor([g], self.clip_norm, scale) * scale) for g in grads]

    def __repr__(self):
        return f"ClipGradByNorm(clip_norm={self.clip_norm})"


class ClipGradByGlobalNorm(ClipGradBase):
    """All gradients together to an L2 norm of at most `clip_norm`, by one common factor.

    Args:
        clip_norm (float): the highest norm.
        group_name (str): not used; norms are taken over all parameters of an optimizer.

    Examples:
        >>> clip = proa.nn.ClipGradByGlobalNorm(1.0)
        >>> net = proa.nn.Linear(2, 1)
        >>> sgd = proa.optimizer.SGD(0.1, parameters=net.parameters(), grad_clip=clip)
    """

    def __init__(self, clip_norm, group_name="default_group"):
        self.clip_norm = _norm("ClipGradByGlobalNorm", clip_norm)
        self.group_name = group_name

    def common_factor(self, params_grads, scale=1.0):
        """See ClipGradBase."""
        grads = [g for p, g in params_grads if g is not None and getattr(p, "need_clip", True)]
        return _factor(grads, self.clip_norm, scale) if grads else None

    def _clip(self, grads):
        return _scaled(grads, self.clip_norm)

    def __repr__(self):
        return f"ClipGradByGlobalNorm(clip_norm={self.clip_norm})"


def _scaled(grads, limit):
    """The gradients times what brings the L2 norm of all of them down to `limit`."""
    if not grads:
        return grads
    factor = _factor(grads, limit)
    return [scaled(g, factor) for g in grads]


def _factor(grads, limit, scale=1.0):
    """What brings the L2 norm of all gradients, which count `scale` times, down to `limit`; float64."""
    return limit / _C.ops.clip(_C.ops.squared_norm(grads).sqrt() * scale, limit, float("inf"))


def scaled(grad, factor):
    """A gradient times a float64 factor, in its dtype.

    In half precision a small factor would have few digits or be 0 where the product is not: it is of float32.
    """
    if grad.dtype in _LOW:
        return widened(grad, factor).astype(grad.dtype)
    return grad * factor.astype(grad.dtype)


def is_factor(factor):
    """Whether something is to be multiplied: by a number that is not 1, or by one that only the run of a program knows."""
    return isinstance(factor, _C.Tensor) or factor != 1.0


def widened(grad, factor=1.0):
    """A gradient times a number: in its dtype, or float32 of a 16-bit one, which is read as it is. By 1: the gradient."""
    if grad is None or not is_factor(factor):
        return grad
    if not isinstance(factor, _C.Tensor):
        factor = _C.ops.full([], factor, _C.float64)
    if grad.dtype not in _LOW:
        return grad * factor.astype(grad.dtype)
    if grad.is_selected_rows():  # a product keeps the dtype of the rows
        grad = grad.astype(_C.float32)
    return grad * factor.astype(_C.float32)
