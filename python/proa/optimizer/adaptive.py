"""Adagrad, Adadelta, RMSProp, Adamax and Lamb."""

import functools

from proa import _C
from proa.framework.attributes import function, known_real
from proa.nn.clip import is_factor
from proa.optimizer.adam import _check_beta
from proa.optimizer.bucket import first_power, fuses_masters, times, with_l2
from proa.optimizer.optimizer import Optimizer
from proa.optimizer.whole_norms import is_part, whole_norms


class _PerParameter(Optimizer):
    """Updates one parameter at a time: `_update_one(param, grad, state, rate, options)`, with the rate as a 0-d float64 tensor.

    There is no rule for rows: a row-sparse gradient is made dense. A class with `norms_of_whole` asks `state["norms"]`, a
    function, for the norms of whole parameters where it has those of parts.
    """

    norms_of_whole = False

    def _update_bucket(self, bucket, grads):
        rate = self._lr() * bucket.lr_scale
        grads = [g.to_dense() if g.is_selected_rows() else g for g in grads]
        for i, (param, grad) in enumerate(zip(bucket.params, with_l2(bucket, grads))):
            state = {name: tensors[i] for name, tensors in bucket.states.items()}
            if self.norms_of_whole:
                state["norms"] = functools.partial(whole_norms, bucket.owners[i])
            self._update_one(param, grad, state, rate, bucket.options)


def _unbiasing(power):
    """1 / (1 - power) of a power of a beta, 0-d float64."""
    return 1.0 / (1.0 - power.astype(_C.float64).reshape([]))


class Adagrad(Optimizer):
    """Adagrad (Duchi et al., 2011): `m += grad**2; p -= lr * grad / (sqrt(m) + epsilon)`.

    Args:
        learning_rate (float|LRScheduler): the rate, or its schedule.
        epsilon (float): keeps the division finite.
        parameters (list): what to update; see Optimizer.
        weight_decay (float|L1Decay|L2Decay, optional): added to the gradients.
        grad_clip (optional): ClipGradByGlobalNorm, ClipGradByNorm or ClipGradByValue.
        initial_accumulator_value (float): what m starts from.
        multi_precision (bool): update float32 copies of 16-bit parameters; see Adam.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> adagrad = proa.optimizer.Adagrad(0.01, parameters=net.parameters())
        >>> net(proa.ones([1, 2])).backward()
        >>> adagrad.step()
        >>> adagrad.clear_grad()
    """

    _accumulator_names = ("moment",)

    def __init__(
        self,
        learning_rate,
        epsilon=1e-06,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
        initial_accumulator_value=0.0,
        multi_precision=False,
    ):
        super().__init__(learning_rate, epsilon, parameters, weight_decay, grad_clip, name)
        self._multi_precision = bool(multi_precision)
        self._initial = self._real("initial_accumulator_value", initial_accumulator_value)
        self._default_options = {"epsilon": self._epsilon}

    def _start_accumulator(self, name, param, options):
        return _C.ops.full_like(param, self._initial)

    @fuses_masters
    def _update_bucket(self, bucket, grads):
        _C.ops.adagrad_(
            bucket.params,
            grads,
            bucket.states["moment"],
            self._lr(),
            bucket.options["epsilon"],
            bucket.lr_scale,
            bucket.l2,
            bucket.grad_scale,
            list(bucket.rounded),
        )


class Adadelta(Optimizer):
    """Adadelta (Zeiler, 2012): steps scaled by running averages of squared gradients and squared steps.

    Args:
        learning_rate (float|LRScheduler): factor on the steps.
        epsilon (float): keeps the division finite.
        rho (float): decay of both averages.
        parameters (list): what to update; see Optimizer.
        weight_decay (float|L1Decay|L2Decay, optional): added to the gradients.
        grad_clip (optional): ClipGradByGlobalNorm, ClipGradByNorm or ClipGradByValue.
        multi_precision (bool): update float32 copies of 16-bit parameters; see Adam.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> adadelta = proa.optimizer.Adadelta(0.01, parameters=net.parameters())
        >>> net(proa.ones([1, 2])).backward()
        >>> adadelta.step()
        >>> adadelta.clear_grad()
    """

    _accumulator_names = ("_avg_squared_grad", "_avg_squared_update")

    def __init__(
        self,
        learning_rate=0.001,
        epsilon=1e-06,
        rho=0.95,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
        multi_precision=False,
    ):
        super().__init__(learning_rate, epsilon, parameters, weight_decay, grad_clip, name)
        self._multi_precision = bool(multi_precision)
        self._default_options = {"epsilon": self._epsilon, "rho": self._real("rho", rho)}

    @fuses_masters
    def _update_bucket(self, bucket, grads):
        _C.ops.adadelta_(
            bucket.params,
            grads,
            bucket.states["_avg_squared_grad"],
            bucket.states["_avg_squared_update"],
            self._lr(),
            bucket.options["rho"],
            bucket.options["epsilon"],
            bucket.lr_scale,
            bucket.l2,
            bucket.grad_scale,
            list(bucket.rounded),
        )


class RMSProp(Optimizer):
    """RMSProp: gradients divided by the root of a running average of their squares.

    s = rho * s + (1 - rho) * grad**2; v = momentum * v + lr * grad / sqrt(s + epsilon); p -= v.
    With `centered` the average gradient's square is taken off s.

    Args:
        learning_rate (float|LRScheduler): the rate, or its schedule.
        rho (float): decay of the averages.
        epsilon (float): keeps the division finite.
        momentum (float): what remains of the last step.
        centered (bool): divide by the root of the variance.
        parameters (list): what to update; see Optimizer.
        weight_decay (float|L1Decay|L2Decay, optional): added to the gradients.
        grad_clip (optional): ClipGradByGlobalNorm, ClipGradByNorm or ClipGradByValue.
        multi_precision (bool): update float32 copies of 16-bit parameters; see Adam.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> rmsprop = proa.optimizer.RMSProp(0.01, parameters=net.parameters())
        >>> net(proa.ones([1, 2])).backward()
        >>> rmsprop.step()
        >>> rmsprop.clear_grad()
    """

    _accumulator_names = ("momentum", "mean_square", "mean_grad")

    def __init__(
        self,
        learning_rate,
        rho=0.95,
        epsilon=1e-06,
        momentum=0.0,
        centered=False,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
        multi_precision=False,
    ):
        super().__init__(learning_rate, epsilon, parameters, weight_decay, grad_clip, name)
        self._multi_precision = bool(multi_precision)
        for what, value in (("rho", rho), ("epsilon", epsilon), ("momentum", momentum)):
            if value is None or known_real("RMSProp", what, value) < 0.0:
                raise _C.located(ValueError(f"RMSProp: {what} must not be negative or None; it is {value}"))
        self._default_options = {
            "rho": self._real("rho", rho),
            "epsilon": self._epsilon,
            "momentum": self._real("momentum", momentum),
            "centered": bool(centered),
        }

    @fuses_masters
    def _update_bucket(self, bucket, grads):
        options, states = bucket.options, bucket.states
        _C.ops.rmsprop_(
            bucket.params,
            grads,
            states["mean_square"],
            states["mean_grad"],
            states["momentum"],
            self._lr(),
            options["rho"],
            options["epsilon"],
            options["momentum"],
            options["centered"],
            bucket.lr_scale,
            bucket.l2,
            bucket.grad_scale,
            list(bucket.rounded),
        )


class Adamax(Optimizer):
    """Adamax (Kingma and Ba, 2015): Adam with the maximum norm.

    Args:
        learning_rate (float|LRScheduler): the rate, or its schedule.
        beta1 (float|Tensor): decay of the first moment; the number in a tensor is read now.
        beta2 (float|Tensor): decay of the norm.
        epsilon (float): keeps the division finite.
        parameters (list): what to update; see Optimizer.
        weight_decay (float|L1Decay|L2Decay, optional): added to the gradients.
        grad_clip (optional): ClipGradByGlobalNorm, ClipGradByNorm or ClipGradByValue.
        multi_precision (bool): update float32 copies of 16-bit parameters; see Adam.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> adamax = proa.optimizer.Adamax(0.01, parameters=net.parameters())
        >>> net(proa.ones([1, 2])).backward()
        >>> adamax.step()
        >>> adamax.clear_grad()
    """

    _accumulator_names = ("moment", "inf_norm", "beta1_pow_acc")

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-08,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
        multi_precision=False,
    ):
        super().__init__(learning_rate, epsilon, parameters, weight_decay, grad_clip, name)
        self._multi_precision = bool(multi_precision)
        self._default_options = {
            "beta1": _check_beta("Adamax", "beta1", beta1),
            "beta2": _check_beta("Adamax", "beta2", beta2),
            "epsilon": self._epsilon,
        }

    def _start_accumulator(self, name, param, options):
        if name == "beta1_pow_acc":
            return first_power(options["beta1"], param)
        return _C.ops.full_like(param, 0.0)

    @fuses_masters
    def _update_bucket(self, bucket, grads):
        options, states = bucket.options, bucket.states
        _C.ops.adamax_(
            bucket.params,
            grads,
            states["moment"],
            states["inf_norm"],
            states["beta1_pow_acc"],
            self._lr(),
            options["beta1"],
            options["beta2"],
            options["epsilon"],
            bucket.lr_scale,
            bucket.l2,
            bucket.grad_scale,
            list(bucket.rounded),
        )


class Lamb(_PerParameter):
    """LAMB (You et al., 2020): Adam steps with decoupled decay, scaled to each parameter's norm.

    Args:
        learning_rate (float|LRScheduler): the rate, or its schedule.
        lamb_weight_decay (float): strength of the decay.
        beta1 (float|Tensor): decay of the first moment; the number in a tensor is read now.
        beta2 (float|Tensor): decay of the second moment.
        epsilon (float): keeps the division finite.
        parameters (list): what to update; see Optimizer.
        grad_clip (optional): ClipGradByGlobalNorm, ClipGradByNorm or ClipGradByValue.
        exclude_from_weight_decay_fn (Callable, optional): parameter -> True if it does not decay.
        multi_precision (bool): update float32 copies of 16-bit parameters; see Adam.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> lamb = proa.optimizer.Lamb(0.01, parameters=net.parameters())
        >>> net(proa.ones([1, 2])).backward()
        >>> lamb.step()
        >>> lamb.clear_grad()
    """

    _accumulator_names = ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")
    norms_of_whole = True

    def __init__(
        self,
        learning_rate=0.001,
        lamb_weight_decay=0.01,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-06,
        parameters=None,
        grad_clip=None,
        exclude_from_weight_decay_fn=None,
        name=None,
        multi_precision=False,
    ):
        super().__init__(learning_rate, epsilon, parameters, None, grad_clip, name)
        self._multi_precision = bool(multi_precision)
        self._exclude = function("Lamb", "exclude_from_weight_decay_fn", exclude_from_weight_decay_fn)
        self._default_options = {
            "beta1": _check_beta("Lamb", "beta1", beta1),
            "beta2": _check_beta("Lamb", "beta2", beta2),
            "epsilon": self._epsilon,
            "lamb_weight_decay": self._real("lamb_weight_decay", lamb_weight_decay),
        }

    def _settings(self, param, group):
        lr_scale, l1, l2, options = super()._settings(param, group)
        if self._exclude is not None and self._exclude(param):
            options = tuple((name, 0.0 if name == "lamb_weight_decay" else value) for name, value in options)
        return lr_scale, l1, l2, options

    def _start_accumulator(self, name, param, options):
        if name in ("beta1_pow_acc", "beta2_pow_acc"):
            return first_power(options[name[:5]], param)
        return _C.ops.full_like(param, 0.0)

    @fuses_masters
    def _update_bucket(self, bucket, grads):
        if all(p.place.is_cpu_place() for p in bucket.params) and not any(map(is_part, bucket.owners)):
            options, states = bucket.options, bucket.states
            _C.ops.lamb_(
                bucket.params,
                grads,
                *(states[name] for name in self._accumulator_names),
                self._lr(),
                options["beta1"],
                options["beta2"],
                options["epsilon"],
                options["lamb_weight_decay"],
                bucket.lr_scale,
                bucket.l2,
                bucket.grad_scale,
                list(bucket.rounded),
            )
            return
        # Other devices have no such op, and it knows no norms but of what is here: with tensor ops, one parameter after the other.
        grads = [g.to_dense() if g.is_selected_rows() else g for g in grads]
        grads = [g.astype(p.dtype) for p, g in zip(bucket.params, grads)]
        if is_factor(bucket.grad_scale):
            grads = [times(g, bucket.grad_scale) for g in grads]
        super()._update_bucket(bucket, grads)
        for low, param in zip(bucket.rounded, bucket.params):
            low.set_value(param.astype(low.dtype))

    def _update_one(self, param, grad, state, rate, options):
        beta1, beta2 = options["beta1"], options["beta2"]
        moment1, moment2 = state["moment1"], state["moment2"]
        power1, power2 = state["beta1_pow_acc"], state["beta2_pow_acc"]
        moment1.set_value(moment1 * beta1 + grad * (1.0 - beta1))
        moment2.set_value(moment2 * beta2 + grad * grad * (1.0 - beta2))
        unbiased1 = moment1 * _unbiasing(power1).astype(param.dtype)
        unbiased2 = moment2 * _unbiasing(power2).astype(param.dtype)
        step = unbiased1 / (unbiased2.sqrt() + options["epsilon"])
        decay = options["lamb_weight_decay"]
        if decay:
            step = step + param * decay
        param_norm, step_norm = state["norms"]([_C.ops.squared_norm([t]).sqrt() for t in (param, step)])
        measured = _C.ops.logical_and(param_norm > 0.0, step_norm > 0.0)
        ratio = _C.ops.where(measured, param_norm / step_norm, _C.ops.full_like(param_norm, 1.0))
        param.subtract_(step * (rate * ratio).astype(param.dtype))
        power1.set_value(power1 * beta1)
        power2.set_value(power2 * beta2)
