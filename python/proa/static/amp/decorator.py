"""`decorate`: an optimizer whose minimize puts the program into mixed precision and scales its loss."""

import warnings

from proa import _C
from proa.amp.grad_scaler import in_range, positive, steps
from proa.nn.clip import scaled
from proa.optimizer import Optimizer
from proa.static.amp.mixing import checked_dtype, checked_level, checked_lists, mix
from proa.static.gradients import append_backward, current_pairs
from proa.static.parameters import create_global_var
from proa.static.program import program_guard
from proa.static.scope import programs
from proa.utils import unique_name

__all__ = ["OptimizerWithMixedPrecision", "decorate"]


class OptimizerWithMixedPrecision:
    """What `decorate` gives. What is not here it has from the optimizer: `set_lr`, `state_dict` and so on."""

    def __init__(self, optimizer, lists, level, dtype, scaling, use_guard):
        self._optimizer, self._lists, self._level, self._dtype = optimizer, lists, level, dtype
        self._scaling, self._use_guard = scaling, use_guard
        self._program = self._loss_scaling = self._scaled_loss = self._steps = None
        # Set by fleet: whether steps are finite for all workers, and what ops are over several workers.
        self.agreed, self.replaced, self._checkpoints = None, {}, None

    def __getattr__(self, name):
        return getattr(self.__dict__["_optimizer"], name)

    def get_loss_scaling(self):
        """The factor, a float32 tensor [1] that can be fetched; None before minimize."""
        return self._loss_scaling

    def get_scaled_loss(self):
        """The loss times the factor; None before minimize."""
        return self._scaled_loss

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        """Puts the loss's program into mixed precision and appends the gradients of the scaled loss.

        Args:
            loss (Tensor): of the program.
            startup_program (Program, optional): starts the factor; the default one.
            parameter_list (list, optional): default: every trained parameter of the program.
            no_grad_set (set, optional): tensors through which no gradient flows.

        Returns:
            list[tuple]: (parameter, gradient times the factor).

        Raises:
            RuntimeError: the program is in mixed precision by another optimizer's other settings, or is trained already.
        """
        program = self._owner(loss)
        if program._mixed != self._settings:
            mix(program, self._dtype, self._level, self._lists, self._use_guard, trains=True, replaced=self.replaced)
        self._program = program
        with program_guard(program, startup_program):
            self._scaled_loss = program.current(loss)
            if self._scaled_loss.dtype != _C.float32:
                self._scaled_loss = self._scaled_loss.astype(_C.float32)
            if self._loss_scaling is None:
                self._loss_scaling = _variable("loss_scaling", self._scaling["init_loss_scaling"], "float32")
            if self._scales:
                self._scaled_loss = self._scaled_loss * self._loss_scaling.reshape([])
            left_out = [program.current(t) if isinstance(t, _C.Tensor) else t for t in no_grad_set or ()]
            pairs = append_backward(self._scaled_loss, parameter_list, left_out, checkpoints=self._checkpoints)
            self._scaled_loss = program.current(self._scaled_loss)
            return pairs

    def mix_for_scaler(self, program):
        """Puts a program into mixed precision whose gradients are computed outside of it.

        Returns:
            amp.GradScaler | None: scales its loss as this optimizer would; None where losses are not scaled.
        """
        from proa.amp import GradScaler

        mix(program, self._dtype, self._level, self._lists, self._use_guard, replaced=self.replaced)
        self._program = program
        return GradScaler(**self._scaling) if self._scales else None

    def apply_gradients(self, params_grads):
        """Appends the division by the factor, the step, which is left out where a gradient is not finite, and the change of the factor.

        Args:
            params_grads (list[tuple]): what `backward` gave; gradients may have been changed, but not divided.
        """
        if self._program is None:
            raise _C.located(RuntimeError("static.amp: apply_gradients needs the program that backward put into mixed precision; call backward first"))  # fmt: skip
        optimizer, params_grads = self._optimizer, current_pairs(params_grads)
        with program_guard(self._program):
            self._take_parameters(params_grads)
            if not self._scales:
                return self._step(params_grads)
            pairs = [(p, g) for p, g in params_grads if g is not None]
            finite = _C.ops.all_finite([g for _, g in pairs])
            if self.agreed is not None:
                finite = self.agreed(finite)
            factor = 1.0 / self._loss_scaling.astype(_C.float64).reshape([])
            # Not in place: a gradient of a program may be that of several parameters, or show the factor itself.
            _C.cond(finite, lambda: self._step([(p, scaled(g, factor)) for p, g in pairs]), lambda: [])
            if self._scaling["use_dynamic_loss_scaling"]:
                self._adapt(finite)
        self._program.keep(optimizer)
        return []

    def apply_optimize(self, loss, startup_program, params_grads):
        """`apply_gradients`, in the program of the loss."""
        with program_guard(self._owner(loss), startup_program):
            return self.apply_gradients(params_grads)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """`backward` and `apply_gradients`.

        Returns:
            (list, list): an empty list, and the (parameter, gradient times the factor) pairs.
        """
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        self.apply_gradients(pairs)
        return [], pairs

    def amp_init(self, place=None, scope=None, test_program=None, use_fp16_test=False):
        """Puts the program for tests into mixed precision too. To be called after the startup program has run.

        Parameters need nothing: they are float32, what updates go to, and their 16-bit copies are made when the program runs.

        Args:
            place, scope: accepted.
            test_program (Program, optional): `main.clone(for_test=True)` from before minimize.
            use_fp16_test (bool): do so at level O1 too; at O2 it is done always.

        Raises:
            RuntimeError: minimize was not called.
        """
        if self._program is None:
            raise _C.located(RuntimeError("amp_init: no program is in mixed precision yet; call minimize before"))
        if test_program is not None and test_program._mixed is None and (use_fp16_test or self._level == "O2"):
            mix(test_program, self._dtype, self._level, self._lists, self._use_guard)

    # Parts -------------------------------------------------------------------

    @property
    def _settings(self):
        return f"{self._level} {self._dtype}"

    @property
    def _scales(self):
        return self._scaling["init_loss_scaling"] != 1.0 or self._scaling["use_dynamic_loss_scaling"]

    def _owner(self, loss):
        if not isinstance(loss, _C.Tensor):
            raise _C.located(TypeError(f"minimize: loss must be a Tensor, not {type(loss).__name__}"))
        if not _C.is_symbolic(loss):
            raise _C.located(
                TypeError(
                    "minimize: loss must be a value of a program, not a tensor with values; use paddle.amp.auto_cast and "
                    "paddle.amp.GradScaler, or record the program after enable_static()"
                )
            )
        return next(p for p in list(programs) if p.owns(loss))

    def _take_parameters(self, pairs):
        optimizer = self._optimizer
        if not optimizer._parameter_list:
            optimizer._groups = []
            optimizer._add_param_group({"params": [p for p, _ in pairs]})

    def _step(self, pairs):
        self._optimizer.apply_gradients(pairs)
        return []

    def _adapt(self, finite):
        """Appends the rule of the factor: it grows after good steps in a row and shrinks after bad ones."""
        settings, scale = self._scaling, self._loss_scaling
        good, bad = self._steps or (_variable("num_good_steps", 0, "int32"), _variable("num_bad_steps", 0, "int32"))
        self._steps = good, bad
        zero, one = (_C.ops.full([1], value, _C.int32) for value in (0, 1))
        ok = finite.reshape([1])
        goods, bads = _C.ops.where(ok, good + one, zero), _C.ops.where(ok, zero, bad + one)
        grows = _C.ops.equal(goods, one * settings["incr_every_n_steps"])
        shrinks = _C.ops.equal(bads, one * settings["decr_every_n_nan_or_inf"])
        larger, smaller = scale * settings["incr_ratio"], (scale * settings["decr_ratio"]).clip(min=1.0)
        larger = _C.ops.where(_C.ops.isfinite(larger), larger, scale)
        _C.ops.store_(scale, _C.ops.where(grows, larger, _C.ops.where(shrinks, smaller, scale)))
        _C.ops.store_(good, _C.ops.where(grows, zero, goods))
        _C.ops.store_(bad, _C.ops.where(shrinks, zero, bads))


def _variable(name, value, dtype):
    return create_global_var([1], value, dtype, persistable=True, name=unique_name.generate(name))


def decorate(
    optimizer,
    amp_lists=None,
    init_loss_scaling=2.0**15,
    incr_every_n_steps=1000,
    decr_every_n_nan_or_inf=2,
    incr_ratio=2.0,
    decr_ratio=0.8,
    use_dynamic_loss_scaling=None,
    use_pure_fp16=False,
    use_fp16_guard=None,
    use_bf16=False,
    use_promote=False,
    level=None,
    dtype=None,
    master_weight=None,
    master_grad=False,
    use_amp_guard=None,
):
    """An optimizer that trains a static program in mixed precision.

    Its minimize makes the program again in mixed precision, with the casts that `paddle.amp.auto_cast` would have recorded, scales
    the loss, divides the gradients, leaves out steps whose gradients are not finite, and adapts the factor, all in the
    program. Parameters stay float32 (they are the master weights); their 16-bit copies are made in each run.

    Args:
        optimizer (Optimizer): does the steps.
        amp_lists (AutoMixedPrecisionLists, optional): ops and values that go another way.
        init_loss_scaling (float): the first factor; 1 for bfloat16, which needs none.
        incr_every_n_steps, decr_every_n_nan_or_inf (int): steps in a row after which the factor changes.
        incr_ratio, decr_ratio (float): what it is multiplied by then.
        use_dynamic_loss_scaling (bool): whether it changes; None means True for float16.
        use_pure_fp16 (bool): level O2.
        use_fp16_guard, use_amp_guard (bool, optional): only what was recorded inside of `fp16_guard`. None: at O2, if there is such a
            part.
        use_bf16 (bool): bfloat16 instead of float16.
        use_promote (bool): accepted; ops of mixed arguments compute in float32.
        level (str, optional): "O0", "O1" or "O2"; before use_pure_fp16.
        dtype (str, optional): "float16" or "bfloat16"; before use_bf16.
        master_weight, master_grad (bool, optional): accepted; parameters and their gradients are float32.

    Returns:
        OptimizerWithMixedPrecision

    Raises:
        TypeError: for what is no Optimizer, or one that is decorated already.
        ValueError: for another level or dtype, or a ratio or number of steps that is out of range.

    Examples:
        >>> proa.enable_static()
        >>> main, startup = proa.static.Program(), proa.static.Program()
        >>> with proa.static.program_guard(main, startup):
        ...     x = proa.static.data("x", [None, 3])
        ...     loss = proa.static.nn.fc(x, 1).mean()
        ...     sgd = proa.static.amp.decorate(proa.optimizer.SGD(0.1), init_loss_scaling=128.0)
        ...     pairs = sgd.minimize(loss)
        >>> exe = proa.static.Executor()
        >>> found = exe.run(startup)
        >>> sgd.amp_init(proa.CPUPlace())
        >>> _, factor = exe.run(main, {"x": np.ones([2, 3], "float32")}, [loss, sgd.get_loss_scaling()])
        >>> factor.tolist()
        [128.0]
        >>> proa.disable_static()
    """
    if isinstance(optimizer, OptimizerWithMixedPrecision):
        raise _C.located(TypeError("static.amp.decorate: the optimizer is decorated already; use what decorate gave"))
    if not isinstance(optimizer, Optimizer):
        raise _C.located(
            TypeError(f"static.amp.decorate: optimizer must be an Optimizer, not {type(optimizer).__name__}")
        )
    level = checked_level("static.amp.decorate", level or ("O2" if use_pure_fp16 else "O1"))
    dtype = checked_dtype("static.amp.decorate", dtype or ("bfloat16" if use_bf16 else "float16"))
    dynamic = (dtype == "float16") if use_dynamic_loss_scaling is None else bool(use_dynamic_loss_scaling)
    if dtype == "bfloat16" and dynamic:
        warnings.warn("static.amp.decorate: bfloat16 has the range of float32; its losses are not scaled", stacklevel=2)
    low = dtype == "bfloat16" or level == "O0"
    scaling = {
        "init_loss_scaling": 1.0 if low else positive("init_loss_scaling", init_loss_scaling),
        "incr_every_n_steps": steps("incr_every_n_steps", incr_every_n_steps),
        "decr_every_n_nan_or_inf": steps("decr_every_n_nan_or_inf", decr_every_n_nan_or_inf),
        "incr_ratio": in_range("incr_ratio", incr_ratio, 1.0, float("inf")),
        "decr_ratio": in_range("decr_ratio", decr_ratio, 0.0, 1.0),
        "use_dynamic_loss_scaling": dynamic and not low,
    }
    guard = use_fp16_guard if use_amp_guard is None else use_amp_guard
    if guard is None and level != "O2":
        guard = False
    return OptimizerWithMixedPrecision(
        optimizer, checked_lists("static.amp.decorate", amp_lists), level, dtype, scaling, guard
    )
