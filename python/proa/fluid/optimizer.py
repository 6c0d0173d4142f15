"""Optimizers, with the old arguments (parameter_list, regularization); they step their schedules by themselves."""

from proa import _C
from proa import optimizer as _optimizer
from proa.fluid import clip as _clip
from proa.fluid import optimizer_rules as _rules
from proa.framework.names import missing as _missing
from proa.incubate.optimizer.model_average import ModelAverage as _ModelAverage
from proa.optimizer import lr as _lr


def __getattr__(name):
    if name == "ExponentialMovingAverage":
        from proa.static.averages import ExponentialMovingAverage

        return ExponentialMovingAverage
    return _missing(__name__)(name)


class _Old:
    """What the old optimizers have beside the new: mixed into each class below."""

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, grad_clip=None):
        """`Optimizer.minimize`; then the schedule of the learning rate goes one step on."""
        result = super().minimize(loss, startup_program, parameter_list, no_grad_set)
        schedule = self._learning_rate
        if getattr(schedule, "steps_itself", False):
            from proa import _C

            if _C.is_symbolic(loss):
                from proa.static.program import default_main_program

                default_main_program()._after_run.append(self._next_rate)
            else:
                schedule.step()
        return result

    def _lr(self):
        """The rate as a 0-d float64 tensor; of a rate that is a variable of the program, what it is then."""
        rate = self.__dict__.get("_rate")
        return super()._lr() if rate is None else _C.ops.reshape(rate.detach(), []).astype(_C.float64)

    def get_lr(self):
        """The learning rate of now."""
        rate = self.__dict__.get("_rate")
        if rate is None:
            return super().get_lr()
        from proa.static import global_scope
        from proa.static.binding import value_in

        with _C.eager_mode():
            return value_in(global_scope(), rate).item()

    def _next_rate(self):
        self._learning_rate.step()
        self._lr()

    def current_step_lr(self):
        """The learning rate of now."""
        return self.get_lr()

    def set_dict(self, state_dict):
        """`set_state_dict`."""
        self.set_state_dict(state_dict)


def _rate_of(optimizer, rate):
    """What an optimizer is made with: a number or schedule; 1 where a variable, which the program moves, is the rate."""
    if callable(rate) and not isinstance(rate, (_lr.LRScheduler, _C.Tensor)):
        rate = rate()
    if isinstance(rate, _C.Tensor):
        optimizer._rate, rate = rate, 1.0
    return rate


def _start(self, base, learning_rate, parameter_list, regularization, grad_clip, name, **own):
    learning_rate = _rate_of(self, learning_rate)
    base.__init__(
        self,
        learning_rate=learning_rate,
        parameters=parameter_list,
        weight_decay=regularization,
        grad_clip=grad_clip if grad_clip is not None else _clip.default_clip(),
        name=name,
        **own,
    )


class SGDOptimizer(_Old, _optimizer.SGD):
    """`optimizer.SGD`."""

    def __init__(self, learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None):
        _start(self, _optimizer.SGD, learning_rate, parameter_list, regularization, grad_clip, name)


class MomentumOptimizer(_Old, _optimizer.Momentum):
    """`optimizer.Momentum`."""

    def __init__(self, learning_rate, momentum, parameter_list=None, use_nesterov=False, regularization=None,
                 grad_clip=None, name=None):  # fmt: skip
        _start(self, _optimizer.Momentum, learning_rate, parameter_list, regularization, grad_clip, name,
               momentum=momentum, use_nesterov=use_nesterov)  # fmt: skip


class AdamOptimizer(_Old, _optimizer.Adam):
    """`optimizer.Adam`."""

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, parameter_list=None,
                 regularization=None, grad_clip=None, name=None, lazy_mode=False, use_global_beta_pow=False,
                 flatten_param_grads=False, align_size=-1):  # fmt: skip
        _start(self, _optimizer.Adam, learning_rate, parameter_list, regularization, grad_clip, name, beta1=beta1,
               beta2=beta2, epsilon=epsilon, lazy_mode=lazy_mode)  # fmt: skip


class AdamaxOptimizer(_Old, _optimizer.Adamax):
    """`optimizer.Adamax`."""

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, parameter_list=None,
                 regularization=None, grad_clip=None, name=None):  # fmt: skip
        _start(self, _optimizer.Adamax, learning_rate, parameter_list, regularization, grad_clip, name, beta1=beta1,
               beta2=beta2, epsilon=epsilon)  # fmt: skip


class AdagradOptimizer(_Old, _optimizer.Adagrad):
    """`optimizer.Adagrad`."""

    def __init__(self, learning_rate, epsilon=1e-6, parameter_list=None, regularization=None, grad_clip=None, name=None,
                 initial_accumulator_value=0.0):  # fmt: skip
        _start(self, _optimizer.Adagrad, learning_rate, parameter_list, regularization, grad_clip, name,
               epsilon=epsilon, initial_accumulator_value=initial_accumulator_value)  # fmt: skip


class AdadeltaOptimizer(_Old, _optimizer.Adadelta):
    """`optimizer.Adadelta`."""

    def __init__(self, learning_rate, epsilon=1e-6, rho=0.95, parameter_list=None, regularization=None, grad_clip=None,
                 name=None):  # fmt: skip
        _start(self, _optimizer.Adadelta, learning_rate, parameter_list, regularization, grad_clip, name,
               epsilon=epsilon, rho=rho)  # fmt: skip


class RMSPropOptimizer(_Old, _optimizer.RMSProp):
    """`optimizer.RMSProp`."""

    def __init__(self, learning_rate, rho=0.95, epsilon=1e-6, momentum=0.0, centered=False, parameter_list=None,
                 regularization=None, grad_clip=None, name=None):  # fmt: skip
        _start(self, _optimizer.RMSProp, learning_rate, parameter_list, regularization, grad_clip, name, rho=rho,
               epsilon=epsilon, momentum=momentum, centered=centered)  # fmt: skip


class LambOptimizer(_Old, _optimizer.Lamb):
    """`optimizer.Lamb`."""

    def __init__(self, learning_rate=0.001, lamb_weight_decay=0.01, beta1=0.9, beta2=0.999, epsilon=1e-6,
                 parameter_list=None, regularization=None, grad_clip=None, exclude_from_weight_decay_fn=None,
                 name=None):  # fmt: skip
        if regularization is not None:
            raise _C.located(ValueError("LambOptimizer: give lamb_weight_decay instead of regularization"))
        clip = grad_clip if grad_clip is not None else _clip.default_clip()
        _optimizer.Lamb.__init__(self, _rate_of(self, learning_rate), lamb_weight_decay, beta1, beta2, epsilon, parameter_list,
                                 clip, exclude_from_weight_decay_fn, name)  # fmt: skip


class LarsMomentumOptimizer(_Old, _rules.Lars):
    """Momentum with a rate for each layer (You et al., 2017), for very large batches.

    Args:
        learning_rate (float|LRScheduler): the rate.
        momentum (float): part of the last step that goes on.
        lars_coeff (float): how far a layer goes for its norm.
        lars_weight_decay (float): added to the gradients, times the parameter; 0 makes it plain momentum.
        parameter_list (list, optional): what to update; in static mode all unless given.
        regularization, grad_clip (optional): as in `optimizer.Momentum`.
        name (str, optional): not used.
        exclude_from_weight_decay (list[str], optional): parts of names of parameters that do not decay.
        epsilon (float): keeps the division finite.
        multi_precision (bool): update float32 copies of 16-bit parameters.
        rescale_grad (float): factor of the gradients.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> lars = proa.fluid.optimizer.LarsMomentum(0.1, 0.9, parameter_list=net.parameters())
        >>> net(proa.ones([4, 2])).mean().backward()
        >>> lars.step()
        >>> lars.clear_grad()
    """

    def __init__(self, learning_rate, momentum, lars_coeff=0.001, lars_weight_decay=0.0005, parameter_list=None,
                 regularization=None, grad_clip=None, name=None, exclude_from_weight_decay=None, epsilon=0,
                 multi_precision=False, rescale_grad=1.0):  # fmt: skip
        _start(self, _rules.Lars, learning_rate, parameter_list, regularization, grad_clip, name, momentum=momentum,
               lars_coeff=lars_coeff, lars_weight_decay=lars_weight_decay, epsilon=epsilon,
               exclude=exclude_from_weight_decay, multi_precision=multi_precision, rescale_grad=rescale_grad)  # fmt: skip


class FtrlOptimizer(_Old, _rules.Ftrl):
    """Follow the regularized leader (McMahan et al., 2013): what l1 holds at zero stays there.

    Args:
        learning_rate (float|LRScheduler): the rate.
        l1, l2 (float): strengths of the two norms.
        lr_power (float): not positive; -0.5 for the square root.
        parameter_list, regularization, grad_clip, name: as in LarsMomentum.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> ftrl = proa.fluid.optimizer.Ftrl(0.1, l1=10.0, parameter_list=net.parameters())
        >>> net(proa.ones([4, 2])).mean().backward()
        >>> ftrl.step()
        >>> net.bias.tolist()
        [0.0]
    """

    def __init__(self, learning_rate, l1=0.0, l2=0.0, lr_power=-0.5, parameter_list=None, regularization=None,
                 grad_clip=None, name=None):  # fmt: skip
        _start(self, _rules.Ftrl, learning_rate, parameter_list, regularization, grad_clip, name, l1=l1, l2=l2,
               lr_power=lr_power)  # fmt: skip


class DecayedAdagradOptimizer(_Old, _rules.DecayedAdagrad):
    """Adagrad whose sum of squares decays.

    Args:
        learning_rate (float|LRScheduler): the rate.
        decay (float): part of the sum that stays.
        epsilon (float): keeps the division finite.
        parameter_list, regularization, grad_clip, name: as in LarsMomentum.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> adagrad = proa.fluid.optimizer.DecayedAdagrad(0.1, parameter_list=net.parameters())
        >>> net(proa.ones([4, 2])).mean().backward()
        >>> adagrad.step()
    """

    def __init__(self, learning_rate, decay=0.95, epsilon=1e-6, parameter_list=None, regularization=None, grad_clip=None,
                 name=None):  # fmt: skip
        _start(self, _rules.DecayedAdagrad, learning_rate, parameter_list, regularization, grad_clip, name, decay=decay,
               epsilon=epsilon)  # fmt: skip


LarsMomentum, Ftrl, DecayedAdagrad = LarsMomentumOptimizer, FtrlOptimizer, DecayedAdagradOptimizer
SGD, Momentum, Adam, Adamax, Adagrad = SGDOptimizer, MomentumOptimizer, AdamOptimizer, AdamaxOptimizer, AdagradOptimizer
Adadelta, RMSProp, Lamb, Optimizer = AdadeltaOptimizer, RMSPropOptimizer, LambOptimizer, _optimizer.Optimizer


class RecomputeOptimizer:
    """An optimizer whose backward pass computes what is between checkpoints once more, in place of keeping it. Of programs.

    Args:
        optimizer (Optimizer): it.

    Examples:
        >>> proa.enable_static()
        >>> with proa.static.program_guard(proa.static.Program(), proa.static.Program()):
        ...     hidden = proa.static.nn.fc(proa.static.data("x", [None, 4]), 8, activation="tanh")
        ...     loss = proa.static.nn.fc(hidden, 1).mean()
        ...     recompute = proa.fluid.optimizer.RecomputeOptimizer(proa.optimizer.SGD(0.1))
        ...     recompute._set_checkpoints([hidden])
        ...     _, pairs = recompute.minimize(loss)
        >>> len(pairs)
        4
        >>> proa.disable_static()
    """

    def __init__(self, optimizer):
        self._optimizer, self._checkpoints = optimizer, []

    def _set_checkpoints(self, checkpoints):
        """The values of the program, or names of them, that are kept.

        Raises:
            TypeError: for what is no list.
        """
        if not isinstance(checkpoints, (list, tuple)):
            raise _C.located(
                TypeError(f"RecomputeOptimizer: checkpoints must be a list, not {type(checkpoints).__name__}")
            )
        self._checkpoints = list(checkpoints)

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        """Appends the gradients of the loss.

        Returns:
            list[tuple]: (parameter, gradient).

        Raises:
            ValueError: there are no checkpoints, or one is no value of the program.
        """
        self._begin()
        if isinstance(self._optimizer, _optimizer.Optimizer):
            return self._optimizer._append_backward(loss, parameter_list, no_grad_set)
        return self._optimizer.backward(loss, startup_program, parameter_list, no_grad_set)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """`backward` and `apply_gradients`.

        Returns:
            (list, list): an empty list, and the (parameter, gradient) pairs.
        """
        self._begin()
        return self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)

    def _begin(self):
        if not self._checkpoints:
            raise _C.located(ValueError("RecomputeOptimizer: call _set_checkpoints first, with one value or more"))
        self._optimizer._checkpoints = self._checkpoints


class ModelAverage(_ModelAverage):
    """`incubate.ModelAverage` of the parameters of the program, with the old arguments. Made after `minimize`.

    Args:
        average_window_rate (float): length of a window as a part of all steps.
        min_average_window, max_average_window (int): least and most length of a window.
        regularization (optional): accepted.
        name (str, optional): not used.

    Examples:
        >>> from proa import fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     loss = fluid.layers.mean(fluid.layers.fc(fluid.data("x", [None, 2]), 1))
        ...     _ = fluid.optimizer.SGD(0.1).minimize(loss)
        ...     average = fluid.optimizer.ModelAverage(0.15, min_average_window=2, max_average_window=10)
        >>> exe = fluid.Executor()
        >>> _ = exe.run(startup)
        >>> feed = {"x": np.ones([1, 2], "float32")}
        >>> losses = [exe.run(main, feed=feed, fetch_list=[loss])[0].item() for _ in range(4)]
        >>> with average.apply(exe):
        ...     mean = exe.run(main.clone(for_test=True), feed=feed, fetch_list=[loss])[0].item()
        >>> mean < losses[-1] < losses[0]  # of the last two steps, which went on
        True
    """

    def __init__(self, average_window_rate, min_average_window=10000, max_average_window=10000, regularization=None,
                 name=None):  # fmt: skip
        super().__init__(average_window_rate, None, min_average_window, max_average_window, name)


def __dir__():
    return sorted(name for name in globals() if not name.startswith("_"))
