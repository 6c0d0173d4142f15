"""GradScaler: a loss times a large factor, so that gradients do not vanish in float16."""

import enum

from proa import _C

__all__ = ["AmpScaler", "GradScaler"]


class _Stage(enum.Enum):
    """What has been done with an optimizer since the last update."""

    INIT = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales losses, unscales gradients, leaves out steps whose gradients are not finite, and adapts the factor.

    Args:
        enable (bool): False makes every method do what a program without a scaler does.
        init_loss_scaling (float): the first factor.
        incr_ratio (float): what the factor is multiplied by after `incr_every_n_steps` good steps, above 1.
        decr_ratio (float): what it is multiplied by after `decr_every_n_nan_or_inf` bad ones, below 1.
        incr_every_n_steps, decr_every_n_nan_or_inf (int): steps in a row.
        use_dynamic_loss_scaling (bool): False keeps the factor as it is.

    Raises:
        ValueError: for a ratio or a number of steps that is out of range.

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
        self._found_inf = False
        self._stages = {}

    # Use -------------------------------------------------------------------

    def scale(self, var):
        """The loss times the factor; the loss itself if the scaler is not enabled."""
        if not isinstance(var, _C.Tensor):
            raise _C.located(TypeError(f"GradScaler.scale: var must be a Tensor, not {type(var).__name__}"))
        return var * self._scale if self._enable else var

    def unscale_(self, optimizer):
        """Divides the gradients of the optimizer's parameters by the factor; for clipping before `step`.

        Raises:
            RuntimeError: it has been done since the last `update`, or `step` has.
        """
        if not self._enable:
            return
        stage = self._stage(optimizer)
        if stage is _Stage.UNSCALED:
            self._refuse("unscale_", "unscale_() has been called on this optimizer since the last update()")
        if stage is _Stage.STEPPED:
            self._refuse("unscale_", "step() has been called on this optimizer since the last update()")
        grads = [p.grad for p in optimizer._parameter_list if p.grad is not None]
        before = _C.is_grad_enabled()
        _C.set_grad_enabled(False)
        try:
            with _C.eager_mode():
                for grad in grads:
                    grad.scale_(1.0 / self._scale)
                finite = [_C.ops.all(_C.ops.isfinite(grad)) for grad in grads]
                self._found_inf = bool(finite) and not _C.ops.stack(finite).all().item()
        finally:
            _C.set_grad_enabled(before)
        self._stages[id(optimizer)] = _Stage.UNSCALED

    def step(self, optimizer):
        """`optimizer.step()` with unscaled gradients; nothing if one of them is not finite. `update` comes next.

        Raises:
            RuntimeError: it has been called since the last `update`.
        """
        if not self._enable:
            return optimizer.step()
        if self._stage(optimizer) is _Stage.STEPPED:
            self._refuse("step", "step() has been called on this optimizer since the last update()")
        if self._stage(optimizer) is _Stage.INIT:
            self.unscale_(optimizer)
        if not self._found_inf:
            optimizer.step()
        self._stages[id(optimizer)] = _Stage.STEPPED
        return None

    def minimize(self, optimizer, *args, **kwargs):
        """`step` by the optimizer's `minimize(*args, **kwargs)`, and `update`.

        Returns:
            What the optimizer's `minimize` gives; (None, None) for a step that is left out.
        """
        if not self._enable:
            return optimizer.minimize(*args, **kwargs)
        if self._stage(optimizer) is _Stage.INIT:
            self.unscale_(optimizer)
        result = (None, None) if self._found_inf else optimizer.minimize(*args, **kwargs)
        self.update()
        return result

    def update(self):
        """Adapts the factor to what has been seen since the last `update`."""
        if not self._enable:
            return
        if self._use_dynamic_loss_scaling:
            self._adapt()
        self._stages.clear()
        self._found_inf = False

    def _adapt(self):
        if self._found_inf:
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

    def _stage(self, optimizer):
        return self._stages.get(id(optimizer), _Stage.INIT)

    def _refuse(self, what, why):
        raise _C.located(RuntimeError(f"GradScaler.{what}: {why}"))

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
        self._init_loss_scaling = _positive("init_loss_scaling", new_init_loss_scaling)
        self._scale = self._init_loss_scaling

    def get_incr_ratio(self):
        """What the factor is multiplied by after good steps."""
        return self._incr_ratio

    def set_incr_ratio(self, new_incr_ratio):
        """Sets it; it must be above 1."""
        if not new_incr_ratio > 1.0:
            raise _C.located(ValueError(f"GradScaler: incr_ratio must be above 1, not {new_incr_ratio}"))
        self._incr_ratio = float(new_incr_ratio)

    def get_decr_ratio(self):
        """What the factor is multiplied by after bad steps."""
        return self._decr_ratio

    def set_decr_ratio(self, new_decr_ratio):
        """Sets it; it must be between 0 and 1."""
        if not 0.0 < new_decr_ratio < 1.0:
            raise _C.located(ValueError(f"GradScaler: decr_ratio must be between 0 and 1, not {new_decr_ratio}"))
        self._decr_ratio = float(new_decr_ratio)

    def get_incr_every_n_steps(self):
        """After how many good steps in a row the factor grows."""
        return self._incr_every_n_steps

    def set_incr_every_n_steps(self, new_incr_every_n_steps):
        """Sets it."""
        self._incr_every_n_steps = int(_positive("incr_every_n_steps", new_incr_every_n_steps))

    def get_decr_every_n_nan_or_inf(self):
        """After how many bad steps in a row the factor shrinks."""
        return self._decr_every_n_nan_or_inf

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf):
        """Sets it."""
        self._decr_every_n_nan_or_inf = int(_positive("decr_every_n_nan_or_inf", new_decr_every_n_nan_or_inf))

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
            KeyError: an entry is missing.
        """
        if not self._enable:
            return
        if not state_dict:
            self._refuse("load_state_dict", "the state is empty; it is that of a scaler that was not enabled")
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


def _positive(name, value):
    if not value > 0:
        raise _C.located(ValueError(f"GradScaler: {name} must be positive, not {value}"))
    return float(value)


# The name under which 2.x programs import it from paddle.amp.grad_scaler.
AmpScaler = GradScaler
