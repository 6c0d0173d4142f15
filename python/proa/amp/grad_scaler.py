"""GradScaler: a loss times a large factor, so that gradients do not vanish in float16."""

import enum
import math
import warnings

from proa import _C
from proa.framework import flags
from proa.nn.layer import use

__all__ = ["AmpScaler", "GradScaler"]

_LOW = (_C.float16, _C.bfloat16)


class _Stage(enum.Enum):
    """What has been done with an optimizer since the last update."""

    INIT = 0
    UNSCALED = 1
    STEPPED = 2


class _Seen:
    """An optimizer since the last update: its stage, and whether its gradients are finite, which is computed on the device
    and read when someone asks."""

    __slots__ = ("finite", "optimizer", "stage")

    def __init__(self, optimizer):
        self.optimizer, self.stage, self.finite = optimizer, _Stage.INIT, True

    def is_finite(self):
        self.finite = bool(self.finite)
        return self.finite


class _Flags:
    """Tensors that say whether something is finite, or was found not to be, on one place each. Its truth: all is finite."""

    __slots__ = ("finite", "found")

    def __init__(self):
        self.finite, self.found = [], []

    def __bool__(self):
        return not any(map(bool, self.found)) and all(map(bool, self.finite))


class _AtOnce:
    """No gradients, no casts, no recording: for what a scaler does with gradients."""

    def __enter__(self):
        self._grad, self._cast = _C.is_grad_enabled(), _C.amp.exchange(0)
        self._mode = _C.eager_mode()
        _C.set_grad_enabled(False)
        self._mode.__enter__()

    def __exit__(self, *error):
        self._mode.__exit__(*error)
        _C.set_grad_enabled(self._grad)
        _C.amp.exchange(self._cast)


class GradScaler:
    """Scales losses, unscales gradients, leaves out steps whose gradients are not finite, and adapts the factor.

    Several optimizers may share one: each is unscaled and stepped once, then comes one `update`. Gradients of several
    `backward` add up before a step. After `say_after` steps in a row that were left out a warning names a parameter.

    Args:
        enable (bool): False makes every method do what a program without a scaler does.
        init_loss_scaling (float): the first factor.
        incr_ratio (float): what the factor is multiplied by after `incr_every_n_steps` good steps, above 1.
        decr_ratio (float): what it is multiplied by after `decr_every_n_nan_or_inf` bad ones, below 1.
        incr_every_n_steps, decr_every_n_nan_or_inf (int): steps in a row.
        use_dynamic_loss_scaling (bool): False keeps the factor as it is.

    Raises:
        ValueError: for a ratio or a number of steps that is out of range.
        TypeError: for what is no number.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
        >>> scaler = proa.amp.GradScaler(init_loss_scaling=1024)
        >>> with proa.amp.auto_cast(dtype="float16"):
        ...     loss = net(proa.ones([3, 2])).mean()
        >>> scaler.scale(loss).backward()
        >>> scaler.step(sgd)
        >>> scaler.update()
        >>> sgd.clear_grad()
    """

    #: After how many steps in a row that were left out a warning says which parameter is to blame.
    say_after = 10

    def __init__(
        self,
        enable=True,
        init_loss_scaling=2.0**15,
        incr_ratio=2.0,
        decr_ratio=0.5,
        incr_every_n_steps=1000,
        decr_every_n_nan_or_inf=2,
        use_dynamic_loss_scaling=True,
    ):
        self._enable = bool(enable)
        self.set_init_loss_scaling(init_loss_scaling)
        self.set_incr_ratio(incr_ratio)
        self.set_decr_ratio(decr_ratio)
        self.set_incr_every_n_steps(incr_every_n_steps)
        self.set_decr_every_n_nan_or_inf(decr_every_n_nan_or_inf)
        self._use_dynamic_loss_scaling = bool(use_dynamic_loss_scaling)
        self._incr_count = 0
        self._decr_count = 0
        self._left_out = 0
        self._seen = {}

    @staticmethod
    def agreed(finite):
        """Whether all gradients are finite, from whether those of this process are; a job of several ranks replaces it."""
        return finite

    # Use -------------------------------------------------------------------

    def scale(self, var):
        """The loss times the factor, float32 of a 16-bit one; the loss itself if the scaler is not enabled.

        Args:
            var (Tensor): of a floating point dtype.
        """
        if not isinstance(var, _C.Tensor):
            raise _C.located(TypeError(f"GradScaler.scale: var must be a Tensor, not {type(var).__name__}"))
        if not var.is_floating_point():
            raise _C.located(
                TypeError(
                    f"GradScaler.scale: var must be of a floating point dtype, as losses are; it is {var.dtype.name}"
                )
            )
        if not self._enable:
            return var
        use.refuse_in_recording("GradScaler.scale")
        cast = _C.amp.exchange(0)
        try:
            return (var.astype(_C.float32) if var.dtype in _LOW else var) * self._scale
        finally:
            _C.amp.exchange(cast)

    def unscale_(self, optimizer):
        """Divides the gradients of the optimizer's parameters by the factor; for clipping before `step`.

        Raises:
            RuntimeError: it has been done since the last `update`, or `step` has.
        """
        if not self._enable:
            return
        use.refuse_in_recording("GradScaler.unscale_")
        seen = self._of("unscale_", optimizer)
        if seen.stage is _Stage.UNSCALED:
            self._refuse(
                "unscale_",
                "unscale_() has been called on this optimizer since the last update(); call update() after step()",
            )
        if seen.stage is _Stage.STEPPED:
            self._refuse(
                "unscale_", "step() has been called on this optimizer since the last update(); call update() first"
            )
        with _AtOnce():
            seen.finite = self.agreed(_unscale(_grads(optimizer), 1.0 / self._scale))
        seen.stage = _Stage.UNSCALED

    def step(self, optimizer):
        """`optimizer.step()` with unscaled gradients; nothing if one of them is not finite. `update` comes next.

        Raises:
            RuntimeError: it has been called since the last `update`.
        """
        if not self._enable:
            return optimizer.step()
        use.refuse_in_recording("GradScaler.step")
        seen = self._of("step", optimizer)
        if seen.stage is _Stage.STEPPED:
            self._refuse(
                "step", "step() has been called on this optimizer since the last update(); call update() first"
            )
        if seen.stage is _Stage.INIT and _takes_gradients(optimizer):
            self._step_from_scaled(seen)
        else:
            if seen.stage is _Stage.INIT:
                self.unscale_(optimizer)
            if seen.is_finite():
                optimizer.step()
        seen.stage = _Stage.STEPPED
        return None

    def _step_from_scaled(self, seen):
        """A step of an optimizer with float32 copies, which divides 16-bit gradients in float32, so that small ones are not lost.

        Afterwards they are divided as `unscale_` does it, for programs that look at them.
        """
        with _AtOnce():
            seen.finite = self.agreed(_finite(_grads(seen.optimizer)))
        if seen.is_finite():
            seen.optimizer._step_scaled(1.0 / self._scale)
        with _AtOnce():
            _unscale(_grads(seen.optimizer), 1.0 / self._scale)

    def minimize(self, optimizer, *args, **kwargs):
        """`step` by the optimizer's `minimize(*args, **kwargs)`, and `update`.

        Returns:
            What the optimizer's `minimize` gives; (None, None) for a step that is left out.

        Raises:
            RuntimeError: `step` has been called since the last `update`.
            TypeError: the loss is a value of a program.
        """
        if not self._enable:
            return optimizer.minimize(*args, **kwargs)
        if any(isinstance(a, _C.Tensor) and _C.is_symbolic(a) for a in (*args, *kwargs.values())):
            raise _C.located(
                TypeError(
                    "GradScaler.minimize: the loss is a value of a program; decorate the optimizer by paddle.static.amp.decorate instead"
                )  # fmt: skip
            )
        seen = self._of("minimize", optimizer)
        if seen.stage is _Stage.STEPPED:
            self._refuse(
                "minimize", "step() has been called on this optimizer since the last update(); call update() first"
            )
        if seen.stage is _Stage.INIT:
            self.unscale_(optimizer)
        result = optimizer.minimize(*args, **kwargs) if seen.is_finite() else (None, None)
        self.update()
        return result

    def update(self):
        """Adapts the factor to what has been seen since the last `update`."""
        if not self._enable:
            return
        use.refuse_in_recording("GradScaler.update")
        bad = [seen for seen in self._seen.values() if not seen.is_finite()]
        self._left_out = self._left_out + 1 if bad else 0
        if bad and self._left_out % self.say_after == 0:
            self._say(bad)
        if self._use_dynamic_loss_scaling:
            self._adapt(bool(bad))
        self._seen.clear()

    def first_op(self, run):
        """Which op makes the first NaN or Inf: runs forward and backward again, and looks at what each op gives.

        To be asked when steps are left out. It takes a pass over every result; gradients that there are by then add up, so
        clear them afterwards.

        Args:
            run (Callable): what to look at, without arguments: `lambda: scaler.scale(loss()).backward()`.

        Returns:
            str: the op, and what it was given; None if all is finite.

        Examples:
            >>> scaler = proa.amp.GradScaler()
            >>> x = proa.to_tensor([-1.0], stop_gradient=False)
            >>> print(scaler.first_op(lambda: scaler.scale((x + 0.5).log().sum()).backward()).splitlines()[0])
            log: made 1 NaN in out
        """
        if not callable(run):
            raise _C.located(TypeError(f"GradScaler.first_op: run must be callable, not {type(run).__name__}"))
        before = flags.get_flags(["check_nan_inf", "check_nan_inf_level"])
        flags.set_flags({"check_nan_inf_level": 0, "check_nan_inf": True})
        try:
            run()
        except RuntimeError as error:
            text = str(error).removeprefix("(PreconditionNotMet) ")
            if ": made " not in text.partition("\n")[0]:
                raise
            return text
        finally:
            flags.set_flags(before)
        return None

    def _adapt(self, found_inf):
        if found_inf:
            self._incr_count = 0
            self._decr_count += 1
            if self._decr_count == self._decr_every_n_nan_or_inf:
                self._scale = max(self._scale * self._decr_ratio, 1.0)
                self._decr_count = 0
        else:
            self._decr_count = 0
            self._incr_count += 1
            if self._incr_count == self._incr_every_n_steps:
                larger = self._scale * self._incr_ratio
                self._scale = larger if larger < 3.4e38 else self._scale
                self._incr_count = 0

    def _of(self, what, optimizer):
        if not hasattr(optimizer, "_parameter_list"):
            raise _C.located(
                TypeError(f"GradScaler.{what}: optimizer must be an Optimizer, not {type(optimizer).__name__}")
            )
        return self._seen.setdefault(id(optimizer), _Seen(optimizer))

    def _refuse(self, what, why):
        raise _C.located(RuntimeError(f"GradScaler.{what}: {why}"))

    def _say(self, bad):
        """Warns of many steps in a row that were left out."""
        with _AtOnce():
            found = [_told(p) for seen in bad for p in seen.optimizer._parameter_list if p.grad is not None]
        found = [text for text in found if text] or ["no gradient that is still there"]
        warnings.warn(
            f"GradScaler: {self._left_out} steps in a row were left out; the factor is {self._scale:g}. Not finite: "
            f"{found[0]}{f' and {len(found) - 1} more' if len(found) > 1 else ''}. "
            "GradScaler.first_op(run) says which op makes it first",
            stacklevel=3,
        )

    # Settings ----------------------------------------------------------------

    def is_enable(self):
        """Whether the scaler is enabled."""
        return self._enable

    def is_use_dynamic_loss_scaling(self):
        """Whether the factor is adapted."""
        return self._use_dynamic_loss_scaling

    def get_init_loss_scaling(self):
        """The first factor."""
        return self._init_loss_scaling

    def set_init_loss_scaling(self, new_init_loss_scaling):
        """Sets the first factor, which is the factor from now on."""
        self._init_loss_scaling = positive("init_loss_scaling", new_init_loss_scaling)
        self._scale = self._init_loss_scaling

    def get_incr_ratio(self):
        """What the factor is multiplied by after good steps."""
        return self._incr_ratio

    def set_incr_ratio(self, new_incr_ratio):
        """Sets it; it must be above 1."""
        self._incr_ratio = in_range("incr_ratio", new_incr_ratio, 1.0, math.inf)

    def get_decr_ratio(self):
        """What the factor is multiplied by after bad steps."""
        return self._decr_ratio

    def set_decr_ratio(self, new_decr_ratio):
        """Sets it; it must be between 0 and 1."""
        self._decr_ratio = in_range("decr_ratio", new_decr_ratio, 0.0, 1.0)

    def get_incr_every_n_steps(self):
        """After how many good steps in a row the factor grows."""
        return self._incr_every_n_steps

    def set_incr_every_n_steps(self, new_incr_every_n_steps):
        """Sets it."""
        self._incr_every_n_steps = steps("incr_every_n_steps", new_incr_every_n_steps)

    def get_decr_every_n_nan_or_inf(self):
        """After how many bad steps in a row the factor shrinks."""
        return self._decr_every_n_nan_or_inf

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf):
        """Sets it."""
        self._decr_every_n_nan_or_inf = steps("decr_every_n_nan_or_inf", new_decr_every_n_nan_or_inf)

    # State ---------------------------------------------------------------------

    def state_dict(self):
        """Factor, ratios and counts; empty if the scaler is not enabled."""
        if not self._enable:
            return {}
        import numpy

        return {
            "scale": numpy.array([self._scale], "float32"),
            "incr_ratio": self._incr_ratio,
            "decr_ratio": self._decr_ratio,
            "incr_every_n_steps": self._incr_every_n_steps,
            "decr_every_n_nan_or_inf": self._decr_every_n_nan_or_inf,
            "incr_count": self._incr_count,
            "decr_count": self._decr_count,
            "use_dynamic_loss_scaling": self._use_dynamic_loss_scaling,
        }

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave.

        Raises:
            RuntimeError: the state is empty, as that of a scaler that is not enabled.
            TypeError: it is no dict.
            KeyError: an entry is missing; nothing is taken over.
        """
        if not isinstance(state_dict, dict):
            raise _C.located(
                TypeError(f"GradScaler.load_state_dict: state_dict must be a dict, not {type(state_dict).__name__}")
            )
        if not self._enable:
            return
        if not state_dict:
            self._refuse("load_state_dict", "the state is empty; it is that of a scaler that was not enabled")
        missing = [name for name in self.state_dict() if name not in state_dict]
        if missing:
            raise _C.located(
                KeyError(
                    f"GradScaler.load_state_dict: the state has no {', '.join(missing)}; is it that of a GradScaler?"
                )
            )
        scale = state_dict["scale"]
        scale = scale.reshape([-1])[0] if hasattr(scale, "reshape") else scale
        self.set_init_loss_scaling(float(scale))
        self.set_incr_ratio(state_dict["incr_ratio"])
        self.set_decr_ratio(state_dict["decr_ratio"])
        self.set_incr_every_n_steps(state_dict["incr_every_n_steps"])
        self.set_decr_every_n_nan_or_inf(state_dict["decr_every_n_nan_or_inf"])
        self._incr_count = int(state_dict["incr_count"])
        self._decr_count = int(state_dict["decr_count"])
        self._use_dynamic_loss_scaling = bool(state_dict["use_dynamic_loss_scaling"])

    set_state_dict = load_state_dict


def _grads(optimizer):
    return [p.grad for p in optimizer._parameter_list if p.grad is not None]


def _finite(grads):
    """Whether all elements are finite: one op for those of a place."""
    seen = _Flags()
    seen.finite = [_C.ops.all_finite(tensors) for tensors in _by_place(grads)]
    return seen


def _unscale(grads, factor):
    """Multiplies gradients in place; whether all are finite then. One op for those of a place, however many."""
    seen, together, others = _Flags(), [], []
    for grad in {id(grad): grad for grad in grads}.values():  # two parameters may have been given one tensor
        # A few rows of a table, or a view of what somebody else laid out: one by one.
        (others if grad.is_selected_rows() or not grad.is_contiguous() else together).append(grad)
    for tensors in _by_place(together):
        found = _C.ops.full([1], False, _C.bool, tensors[0].place)
        _C.ops.check_finite_and_unscale_(tensors, found, factor)
        seen.found.append(found)
    for grad in others:
        grad.scale_(factor)
    seen.finite = [_C.ops.all_finite(tensors) for tensors in _by_place(others)]
    return seen


def _by_place(tensors):
    """Lists of those that lie in the same place."""
    lists = {}
    for tensor in tensors:
        lists.setdefault(str(tensor.place), []).append(tensor)
    return lists.values()


def _plain(grad):
    return grad.to_dense() if grad.is_selected_rows() else grad


def _takes_gradients(optimizer):
    """Whether a step may be given gradients of another dtype than that of their parameters: all of 16 bits have float32 copies."""
    from proa.optimizer import Optimizer

    return (
        isinstance(optimizer, Optimizer)
        and type(optimizer).step is Optimizer.step
        and optimizer._multi_precision
        and any(g.dtype in _LOW for g in _grads(optimizer))
    )


def _told(param):
    """What is not finite in the gradient of a parameter; None where all is."""
    grad = _plain(param.grad)
    nans, infs = int(_C.ops.isnan(grad).sum()), int(_C.ops.isinf(grad).sum())
    if not nans and not infs:
        return None
    return f"the gradient of {param.name} ({list(grad.shape)} {grad.dtype.name}), with {nans} NaN and {infs} Inf"


def _number(name, value):
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise _C.located(TypeError(f"GradScaler: {name} must be a number, not {value!r}"))
    return float(value)


def positive(name, value):
    """A number above 0, finite."""
    number = _number(name, value)
    if not 0.0 < number < math.inf:
        raise _C.located(ValueError(f"GradScaler: {name} must be positive and finite, not {value}"))
    return number


def in_range(name, value, low, high):
    """A number above `low` and below `high`."""
    number = _number(name, value)
    if not low < number < high:
        said = f"above {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise _C.located(ValueError(f"GradScaler: {name} must be {said}, not {value}"))
    return number


def steps(name, value):
    """A positive whole number."""
    number = positive(name, value)
    if number != int(number):
        raise _C.located(ValueError(f"GradScaler: {name} must be a whole number, not {value}"))
    return int(number)


# The name under which 2.x programs import it from paddle.amp.grad_scaler.
AmpScaler = GradScaler
