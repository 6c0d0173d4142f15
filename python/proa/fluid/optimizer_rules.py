"""Rules of optimizers that 1.x has and 2.x does not: layer-wise rates (LARS), FTRL, Adagrad that forgets."""

from proa import _C
from proa.optimizer.adaptive import _PerParameter

__all__ = ["DecayedAdagrad", "Ftrl", "Lars"]


def _norm(x):
    """The norm, 0-d; of the largest element's size, so that no square overflows or vanishes."""
    largest = x.abs().max() if x.size != 0 else _C.ops.full([], 0.0, x.dtype)
    unit = _C.ops.where(largest > 0, largest, largest + 1.0)
    scaled = x / unit
    return (scaled * scaled).sum().sqrt() * unit


class Lars(_PerParameter):
    """Momentum with a rate for each parameter, in proportion to its norm over that of its gradient (You et al., 2017).

    rate * lars_coeff * |p| / (|g| + lars_weight_decay * |p| + epsilon) where the decay and both norms are positive, else rate.
    """

    _accumulator_names = ("velocity",)
    norms_of_whole = True

    def __init__(self, learning_rate, momentum, lars_coeff, lars_weight_decay, epsilon, exclude, parameters, weight_decay,
                 grad_clip, multi_precision, rescale_grad, name=None):  # fmt: skip
        super().__init__(learning_rate, epsilon, parameters, weight_decay, grad_clip)
        self._multi_precision = bool(multi_precision)
        self._decay, self._exclude = float(lars_weight_decay), tuple(exclude or ())
        self._default_options = {"momentum": float(momentum), "coeff": float(lars_coeff), "scale": float(rescale_grad)}

    def _settings(self, param, group):
        *settings, options = super()._settings(param, group)
        decay = 0.0 if any(part in param.name for part in self._exclude) else self._decay
        return (*settings, (*options, ("decay", decay)))

    def _update_one(self, param, grad, state, rate, options):
        decay, dtype = options["decay"], param.dtype
        wide = dtype if dtype == _C.float64 else _C.float32  # rates and norms lie outside of 16-bit floats
        value, grad, rate = param.astype(wide), grad.astype(wide) * options["scale"], rate.astype(wide)
        if decay > 0:
            p_norm, g_norm = state["norms"]([_norm(value), _norm(grad)])
            own = rate * options["coeff"] * p_norm / (g_norm + decay * p_norm + self._epsilon)
            rate = _C.ops.where(_C.ops.logical_and(p_norm > 0, g_norm > 0), own, rate)
        velocity = state["velocity"].astype(wide) * options["momentum"] + rate * (grad + decay * value)
        state["velocity"].set_value(velocity.astype(dtype))
        param.set_value((value - velocity).astype(dtype))


class Ftrl(_PerParameter):
    """Follow the regularized leader, each coordinate with its own rate (McMahan et al., 2013)."""

    _accumulator_names = ("squared", "linear")

    def __init__(self, learning_rate, l1, l2, lr_power, parameters, weight_decay, grad_clip, name=None):
        super().__init__(learning_rate, 0.0, parameters, weight_decay, grad_clip)
        self._default_options = {"l1": float(l1) + 1e-10, "l2": float(l2) + 1e-10, "power": float(lr_power)}

    def _update_one(self, param, grad, state, rate, options):
        rate = rate.astype(param.dtype)
        squared, linear = state["squared"], state["linear"]
        raised = (lambda x: x.sqrt()) if options["power"] == -0.5 else (lambda x: x ** -options["power"])
        sums = squared + grad * grad
        old, new = raised(squared), raised(sums)
        linear.set_value(linear + grad - (new - old) / rate * param)
        squared.set_value(sums)
        l1 = options["l1"]
        value = (linear.sign() * l1 - linear) / (new / rate + 2 * options["l2"])
        param.set_value(_C.ops.where(linear.abs() > l1, value, value * 0.0))


class DecayedAdagrad(_PerParameter):
    """Adagrad whose sum of squares decays (Duchi et al., 2011)."""

    _accumulator_names = ("moment",)

    def __init__(self, learning_rate, decay, epsilon, parameters, weight_decay, grad_clip, name=None):
        super().__init__(learning_rate, epsilon, parameters, weight_decay, grad_clip)
        self._default_options = {"decay": float(decay)}

    def _update_one(self, param, grad, state, rate, options):
        decay = options["decay"]
        moment = state["moment"] * decay + grad * grad * (1.0 - decay)
        state["moment"].set_value(moment)
        param.subtract_(rate.astype(param.dtype) * grad / (moment.sqrt() + self._epsilon))
