"""Adam and AdamW."""

from proa import _C
from proa.framework.attributes import known_real
from proa.optimizer.bucket import first_power, fuses_masters
from proa.optimizer.optimizer import Optimizer


def _check_beta(kind, name, value):
    value = float(known_real(kind, name, value))
    if not 0.0 <= value < 1.0:
        raise _C.located(ValueError(f"{kind}: {name} must be in [0, 1), not {value}"))
    return value


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015).

    m1 = beta1 * m1 + (1 - beta1) * grad; m2 = beta2 * m2 + (1 - beta2) * grad**2;
    p -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * m1 / (sqrt(m2) + epsilon * sqrt(1 - beta2**t)).

    Args:
        learning_rate (float|LRScheduler): the rate, or its schedule.
        beta1 (float|Tensor): decay of the first moment; the number in a tensor is read now.
        beta2 (float|Tensor): decay of the second moment.
        epsilon (float): keeps the division finite.
        parameters (list): what to update; see Optimizer.
        weight_decay (float|L1Decay|L2Decay, optional): added to the gradients (AdamW is different).
        grad_clip (optional): ClipGradByGlobalNorm, ClipGradByNorm or ClipGradByValue.
        lazy_mode (bool): of a gradient that holds some rows only (`sparse=True` of an embedding), update these rows
            and leave the others and their moments alone. Without, they move on by their moments.
        multi_precision (bool): update float32 copies of float16 and bfloat16 parameters (`master_weights` of the state),
            which small steps would leave as they are.
        use_multi_tensor (bool): accepted; parameters are always updated together.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> adam = proa.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())
        >>> net(proa.ones([3, 2])).mean().backward()
        >>> adam.step()
    """

    _accumulator_names = ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")

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
        lazy_mode=False,
        multi_precision=False,
        use_multi_tensor=False,
    ):
        super().__init__(learning_rate, epsilon, parameters, weight_decay, grad_clip, name)
        self._multi_precision = bool(multi_precision)
        kind = type(self).__name__
        self._default_options = {
            "beta1": _check_beta(kind, "beta1", beta1),
            "beta2": _check_beta(kind, "beta2", beta2),
            "epsilon": self._epsilon,
            "lazy_mode": bool(lazy_mode),
        }

    def _start_accumulator(self, name, param, options):
        if name in ("beta1_pow_acc", "beta2_pow_acc"):
            return first_power(options[name[:5]], param)
        return _C.ops.full_like(param, 0.0)

    @fuses_masters
    def _update_bucket(self, bucket, grads):
        options, states = bucket.options, bucket.states
        _C.ops.adam_(
            bucket.params,
            grads,
            states["moment1"],
            states["moment2"],
            states["beta1_pow_acc"],
            states["beta2_pow_acc"],
            self._lr(),
            options["beta1"],
            options["beta2"],
            options["epsilon"],
            bucket.lr_scale,
            bucket.l2,
            options["lazy_mode"],
            bucket.grad_scale,
            list(bucket.rounded),
        )


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019): `p -= lr * weight_decay * p` besides.

    Args:
        learning_rate (float|LRScheduler): the rate, or its schedule.
        beta1 (float|Tensor): decay of the first moment; the number in a tensor is read now.
        beta2 (float|Tensor): decay of the second moment.
        epsilon (float): keeps the division finite.
        parameters (list): what to update; see Optimizer.
        weight_decay (float): strength of the decay.
        lr_ratio (Callable, optional): parameter -> factor on its learning rate.
        apply_decay_param_fun (Callable, optional): parameter name -> whether it decays.
        grad_clip (optional): ClipGradByGlobalNorm, ClipGradByNorm or ClipGradByValue.
        lazy_mode (bool): rows that a sparse gradient does not hold stay as they are; see Adam.
        multi_precision (bool): update float32 copies of 16-bit parameters; see Adam.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> adamw = proa.optimizer.AdamW(0.01, parameters=net.parameters(), weight_decay=0.1)
        >>> net(proa.ones([1, 2])).backward()
        >>> adamw.step()
        >>> adamw.clear_grad()
    """

    _takes_l2 = False

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-08,
        parameters=None,
        weight_decay=0.01,
        lr_ratio=None,
        apply_decay_param_fun=None,
        grad_clip=None,
        lazy_mode=False,
        multi_precision=False,
        name=None,
    ):
        for what, function in (("lr_ratio", lr_ratio), ("apply_decay_param_fun", apply_decay_param_fun)):
            if function is not None and not callable(function):
                raise _C.located(TypeError(f"AdamW: {what} must be callable, not {type(function).__name__}"))
        if isinstance(weight_decay, bool) or not isinstance(weight_decay, (int, float)):
            raise _C.located(TypeError(f"AdamW: weight_decay must be a number, not {type(weight_decay).__name__}"))
        self._decay = float(weight_decay)
        self._lr_ratio = lr_ratio
        self._decays = apply_decay_param_fun
        super().__init__(
            learning_rate, beta1, beta2, epsilon, parameters, None, grad_clip, name, lazy_mode, multi_precision
        )

    def _settings(self, param, group):
        # What the parameter's own ParamAttr asks for comes besides the decay, as in PaddlePaddle.
        lr_scale, l1, l2, options = super()._settings(param, {**group, "weight_decay": None})
        if self._lr_ratio is not None:
            lr_scale *= float(self._lr_ratio(param))
        decay = self._decay if group["weight_decay"] is None else group["weight_decay"].coeff
        if self._decays is not None and not self._decays(param.name):
            decay = 0.0
        return lr_scale, l1, l2, (*options, ("decay", decay))

    @fuses_masters
    def _update_bucket(self, bucket, grads):
        options, states = bucket.options, bucket.states
        _C.ops.adamw_(
            bucket.params,
            grads,
            states["moment1"],
            states["moment2"],
            states["beta1_pow_acc"],
            states["beta2_pow_acc"],
            self._lr(),
            options["beta1"],
            options["beta2"],
            options["epsilon"],
            options["decay"],
            bucket.lr_scale,
            options["lazy_mode"],
            bucket.grad_scale,
            list(bucket.rounded),
        )
