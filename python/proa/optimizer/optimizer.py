"""Optimizer: what all optimizers share.

Parameters that are treated alike (same factor on the learning rate, same decay,
same options) form a bucket; an optimizer updates a bucket with one call of a fused
op, whatever the number of parameters.
"""

import warnings
from collections import defaultdict

from proa import _C
from proa.framework import recorded_rates
from proa.framework.attributes import known_real, wrong
from proa.framework.grad_mode import no_grad
from proa.nn.clip import is_factor, widened
from proa.nn.layer import use
from proa.optimizer.bucket import Bucket, times, with_l2
from proa.optimizer.lr import LRScheduler
from proa.optimizer.saved_state import LOW, SavedState, assign, same
from proa.regularizer import L1Decay, L2Decay, WeightDecayRegularizer
from proa.utils import unique_name


def _as_regularizer(decay):
    if decay is None or isinstance(decay, WeightDecayRegularizer):
        return decay
    if isinstance(decay, (int, float)):
        return L2Decay(decay)
    raise _C.located(
        TypeError(f"Optimizer: weight_decay must be a number, L1Decay or L2Decay, not {type(decay).__name__}")
    )


def _check_clip(kind, clip):
    if clip is not None and not callable(clip):
        raise _C.located(TypeError(f"{kind}: grad_clip must be a ClipGradBy... object, not {type(clip).__name__}"))


class Optimizer(SavedState):
    """Base of optimizers.

    Args:
        learning_rate (float|LRScheduler): the rate, or its schedule.
        epsilon (float): kept for optimizers that divide.
        parameters (list): parameters to update, or groups: dicts with `params` and
            settings that hold for the group (`learning_rate` is a factor there) and go before a parameter's own. Each
            group is clipped by itself, by its own `grad_clip` if it has one.
        weight_decay (float|L1Decay|L2Decay, optional): added to the gradients; a
            parameter's own regularizer goes before it. A float means L2Decay.
        grad_clip (optional): ClipGradByGlobalNorm, ClipGradByNorm or ClipGradByValue.
        name (str, optional): not used.

    Subclasses name their per-parameter state in `_accumulator_names` and define
    `_update_bucket(bucket, grads)`; or, one parameter at a time,
    `_append_optimize_op(block, (parameter, grad))`.

    Examples:
        >>> layer = proa.nn.Linear(2, 1)
        >>> sgd = proa.optimizer.SGD(0.1, parameters=layer.parameters())
        >>> isinstance(sgd, proa.optimizer.Optimizer), sgd.get_lr()
        (True, 0.1)
    """

    _accumulator_names: tuple[str, ...] = ()
    _multi_precision = False
    _takes_l2 = True  # whether _update_bucket adds the L2 penalty; if not, the gradients come with it

    def __init__(
        self, learning_rate=0.001, epsilon=1e-08, parameters=None, weight_decay=None, grad_clip=None, name=None
    ):
        kind = type(self).__name__
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float, LRScheduler)):
            raise _C.located(
                TypeError(
                    f"{kind}: learning_rate must be a number or an LRScheduler, not {type(learning_rate).__name__}"
                )
            )
        if parameters is None and not _C.in_static_mode():
            raise _C.located(ValueError(f"{kind}: parameters is missing; give parameters=model.parameters()"))
        if isinstance(parameters, (_C.Tensor, dict)):
            raise _C.located(
                TypeError(f"{kind}: parameters must be a list of parameters, not one {type(parameters).__name__}")
            )
        _check_clip(kind, grad_clip)
        try:
            parameters = list(parameters or ())  # in static mode: all that the program trains, at minimize
        except TypeError:
            raise wrong(kind, "parameters", "a list of parameters", parameters) from None
        if not parameters and not _C.in_static_mode():
            warnings.warn(
                f"{kind}: parameters is empty, so that nothing is trained; a layer knows the layers and parameters that are "
                "attributes of it, not those in lists and dicts of Python: LayerList, LayerDict and ParameterList hold them",
                stacklevel=3,
            )
        self._learning_rate = learning_rate
        self._lr_tensor = None
        self._lr_filled = None  # once a program has the tensor: its version when it was filled
        self._lr_value = None
        self._epsilon = self._real("epsilon", epsilon)
        if self._epsilon < 0:
            raise _C.located(ValueError(f"{type(self).__name__}: epsilon must not be negative; it is {epsilon}"))
        self._name = name
        self._grad_clip = grad_clip
        self.regularization = _as_regularizer(weight_decay)
        self._default_options = {}
        self._accumulators = defaultdict(dict)
        self._master_weights = {}
        self._exact = {}  # float32 parameters that amp.decorate made 16-bit ones of, until they are master weights
        self._written = {}  # versions of the 16-bit parameters after the last step, by name
        self._loaded = {}
        self._buckets = None
        self._groups = []
        if parameters and isinstance(parameters[0], dict):
            for group in parameters:
                self._add_param_group(group)
        else:
            self._add_param_group({"params": parameters})

    def _real(self, name, value):
        """A setting as a float."""
        return float(known_real(type(self).__name__, name, value))

    # Groups ----------------------------------------------------------------

    def _add_param_group(self, group):
        """Adds a dict with `params` and settings that go before the optimizer's own."""
        kind = type(self).__name__
        group = dict(group)
        params = group.get("params")
        group["params"] = [params] if isinstance(params, _C.Tensor) else list(params or ())
        seen = {id(p) for g in self._groups for p in g["params"]}
        group["params"] = self._once(group["params"])
        names = {}
        for p in group["params"]:
            if not isinstance(p, _C.Tensor):
                raise _C.located(TypeError(f"{kind}: parameters must be tensors, not {type(p).__name__}"))
            if id(p) in seen:
                raise _C.located(ValueError(f"{kind}: parameter {p.name} is in more than one group"))
            if names.setdefault(p.name, p) is not p:
                raise _C.located(ValueError(f"{kind}: two parameters have the name {p.name}"))
        _check_clip(kind, group.get("grad_clip"))
        group["weight_decay"] = _as_regularizer(group["weight_decay"]) if "weight_decay" in group else None
        self._groups.append(group)
        self._buckets = None

    def _once(self, params):
        """The parameters of a group, each once: a step moves a shared one once. The reference's moves it each time."""
        distinct = list({id(p): p for p in params}.values())
        if len(distinct) < len(params):
            again = next(p for i, p in enumerate(params) if any(p is other for other in params[:i]))
            warnings.warn(
                f"{type(self).__name__}: parameter {getattr(again, 'name', again)} is given more than once; "
                "a step updates it once",
                stacklevel=5,
            )
        return distinct

    def _change_clips(self, change):
        """Puts `change(clip)` into the place of what clips gradients, of all and of groups."""
        self._grad_clip = change(self._grad_clip)
        for group in self._groups:
            if "grad_clip" in group:
                group["grad_clip"] = change(group["grad_clip"])

    @property
    def _stepping(self):
        """The optimizer that updates the parameters: this one, or that which it wraps."""
        return self

    @property
    def _parameter_list(self):
        return [p for group in self._groups for p in group["params"]]

    _param_groups = _parameter_list

    def _settings(self, param, group):
        """(lr_scale, l1, l2, options) of a parameter; options is a hashable tuple of pairs."""
        attr = getattr(param, "optimize_attr", None) or {}
        lr_scale = float(group.get("learning_rate", attr.get("learning_rate", 1.0)))
        decay = group["weight_decay"] or getattr(param, "regularizer", None) or self.regularization
        l1 = decay.coeff if isinstance(decay, L1Decay) else 0.0
        l2 = decay.coeff if isinstance(decay, L2Decay) else 0.0
        options = tuple((name, group.get(name, value)) for name, value in self._default_options.items())
        return lr_scale, l1, l2, options

    def _make_buckets(self):
        """Sorts the parameters into buckets and makes their state. Settings are read here, once."""
        buckets = {}
        for number, group in enumerate(self._groups):
            for param in group["params"]:
                if param.stop_gradient:
                    continue
                key = (*self._settings(param, group), param.dtype, str(param.place), number)
                if key not in buckets:
                    buckets[key] = Bucket(*key[:3], dict(key[3]), param.dtype, group)
                buckets[key].params.append(param)
        for bucket in buckets.values():
            if self._has_master(bucket.params[0]):
                bucket.params = [self._master_weight(p) for p in bucket.owners]
            for name in self._accumulator_names:
                bucket.states[name] = [self._accumulator(name, p, bucket.options) for p in bucket.params]
        self._buckets = list(buckets.values())
        self._trainable = [not p.stop_gradient for p in self._parameter_list]

    # State of a parameter ----------------------------------------------------

    def _master_weight(self, param):
        """The float32 copy of a 16-bit parameter that updates go to, so that small ones are not lost."""
        if param.name not in self._master_weights:
            with _C.eager_mode():
                exact = self._exact.pop(param.name, None)
                if exact is None or not same(exact.detach().astype(param.dtype), param):
                    exact = param
                master = exact.detach().astype(_C.float32)
            master.name = f"{param.name}_fp32_master_0"
            master.persistable = True
            master.stop_gradient = True
            self._master_weights[param.name] = master
            if _C.in_static_mode():
                from proa.static.parameters import remember_made

                remember_made(master, lambda: param.detach().astype(_C.float32))
            loaded = self._loaded.get("master_weights", {})
            if param.name in loaded:
                assign(master, loaded.pop(param.name))
                if not loaded:
                    del self._loaded["master_weights"]
            self._written[param.name] = param.inplace_version
        return self._master_weights[param.name]

    def _follow_parameters(self, bucket):
        """Parameters that somebody else wrote to since the last step (a checkpoint was loaded) begin their copies anew."""
        for owner, master in zip(bucket.owners, bucket.params):
            if owner.inplace_version != self._written[owner.name]:
                if not same(master.astype(owner.dtype), owner):
                    master.set_value(owner.astype(_C.float32))
                self._written[owner.name] = owner.inplace_version

    def _start_accumulator(self, name, param, options):
        """The first value of an accumulator of a parameter that is updated by `options`; zeros unless a subclass knows better."""
        return _C.ops.full_like(param, 0.0)

    def _accumulator(self, name, param, options):
        """The accumulator `name` of a parameter, made or taken from a loaded state if it is new."""
        by_param = self._accumulators[name]
        if param.name not in by_param:
            with _C.eager_mode():
                tensor = self._start_accumulator(name, param, options).detach()
            tensor.name = f"{param.name}_{name}_0"
            tensor.persistable = True
            tensor.stop_gradient = True
            by_param[param.name] = tensor
            if _C.in_static_mode():
                from proa.static.parameters import remember_made

                remember_made(tensor, lambda: self._start_accumulator(name, param, options))
            if tensor.name in self._loaded:
                assign(tensor, self._loaded.pop(tensor.name))
        return by_param[param.name]

    def _add_accumulator(self, name, param, dtype=None, fill_value=0.0, shape=None, type=None, device=None):
        """For subclasses that work on one parameter at a time: makes an accumulator."""
        by_param = self._accumulators[name]
        if param.name not in by_param:
            size = param.shape if shape is None else shape
            with _C.eager_mode():
                tensor = _C.ops.full(size, fill_value, dtype or param.dtype)
            tensor.name = f"{param.name}_{name}_0"
            tensor.persistable = True
            by_param[param.name] = tensor
            if _C.in_static_mode():
                from proa.static.parameters import remember_made

                remember_made(tensor, lambda: _C.ops.full(size, fill_value, dtype or param.dtype))
            if tensor.name in self._loaded:
                assign(tensor, self._loaded.pop(tensor.name))
        return by_param[param.name]

    def _get_accumulator(self, name, param):
        return self._accumulators[name][param.name]

    # Learning rate -----------------------------------------------------------

    def get_lr(self) -> float:
        """The learning rate of now.

        Examples:
            >>> proa.optimizer.SGD(0.1, parameters=proa.nn.Linear(1, 1).parameters()).get_lr()
            0.1
        """
        rate = self._learning_rate
        return float(rate()) if isinstance(rate, LRScheduler) else float(rate)

    def set_lr(self, value) -> None:
        """Sets a constant learning rate; an error if it follows a schedule."""
        if isinstance(self._learning_rate, LRScheduler):
            raise _C.located(
                RuntimeError(
                    "set_lr: the learning rate follows a schedule; step the scheduler, or make the optimizer with a number"
                )
            )
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _C.located(TypeError(f"set_lr: value must be a number, not {type(value).__name__}"))
        self._learning_rate = float(value)

    def set_lr_scheduler(self, scheduler):
        """Lets the learning rate follow another schedule from now on."""
        if not isinstance(scheduler, LRScheduler):
            raise _C.located(
                TypeError(f"set_lr_scheduler: scheduler must be an LRScheduler, not {type(scheduler).__name__}")
            )
        self._learning_rate = scheduler

    def _lr(self):
        """The rate as a 0-d float64 tensor: the same tensor always, filled anew when the rate changes.

        A program has it by a name, such as learning_rate_0. A value that is set by that name stays until the rate changes, or, of
        a schedule, until the next run.
        """
        recorded = _C.in_static_mode()
        if recorded:
            recorded_rates.note(self)
        value = self.get_lr()
        moved = value != self._lr_value
        if not moved and self._lr_filled is not None and isinstance(self._learning_rate, LRScheduler):
            moved = self._lr_filled != self._lr_tensor.inplace_version
        if moved:
            with _C.eager_mode():
                rate = _C.ops.full([], value, _C.float64)
            if self._lr_tensor is None:
                self._lr_tensor = rate
                self._lr_tensor.persistable = True
            else:
                self._lr_tensor.set_value(rate)
            self._lr_value = value
            if self._lr_filled is not None:
                self._lr_filled = self._lr_tensor.inplace_version
        if recorded and self._lr_filled is None:
            from proa.static.parameters import hold_rate

            self._lr_tensor.name = unique_name.generate("learning_rate")
            hold_rate(self)
            self._lr_filled = self._lr_tensor.inplace_version
        return self._lr_tensor

    def _global_learning_rate(self, program=None):
        """The tensor of the rate, which programs fetch: it, or its name, gives float32 [1]. `program` is accepted."""
        return self._lr()

    # Stepping ----------------------------------------------------------------

    def step(self) -> None:
        """Updates every parameter that has a gradient.

        Examples:
            >>> net = proa.nn.Linear(2, 1)
            >>> sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
            >>> net(proa.ones([3, 2])).mean().backward()
            >>> sgd.step()
            >>> sgd.clear_grad()
        """
        self._step_scaled(1.0)

    def _step_scaled(self, factor):
        """A step with gradients times a factor, which a GradScaler knows; they stay as they are."""
        use.refuse_in_recording(f"{type(self).__name__}.step")
        recording, cast = _C.is_grad_enabled(), _C.amp.exchange(0)
        _C.set_grad_enabled(False)
        try:
            if self._buckets is None or self._trainability_changed():
                self._make_buckets()
            self._update_all({id(p): p.grad for bucket in self._buckets for p in bucket.owners}, factor)
        finally:
            _C.set_grad_enabled(recording)
            _C.amp.exchange(cast)

    def _trainability_changed(self):
        i = 0
        trainable = self._trainable
        for group in self._groups:
            for p in group["params"]:
                if p.stop_gradient is trainable[i]:
                    return True
                i += 1
        return False

    def _update_all(self, grads, factor=1.0):
        """Updates all buckets from gradients by the ids of their parameters, clipped group by group, and times a factor."""
        for group in self._groups:
            buckets = [bucket for bucket in self._buckets if bucket.group is group]
            self._update_group(buckets, group.get("grad_clip", self._grad_clip), grads, factor)

    def _update_group(self, buckets, clip, grads, factor):
        """Updates buckets whose gradients are clipped together.

        Where one number clips all gradients, it goes into the update: gradients are read and stay as they are.
        """
        common = None
        if clip is not None:
            pairs = [(p, grads.get(id(p))) for bucket in buckets for p in bucket.owners]
            pairs = [(p, g) for p, g in pairs if g is not None]
            if "common_factor" in vars(type(clip)):  # not inherited: a subclass may clip otherwise
                common = clip.common_factor(pairs, factor)
            if common is None:
                widens = "_clip_wide" in vars(type(clip))
                if widens and all(self._has_master(p) or g.dtype not in LOW for p, g in pairs):
                    pairs = clip.for_step(pairs, factor)
                else:
                    pairs = clip([(p, widened(g, factor)) for p, g in pairs])
                grads, factor = {id(p): g for p, g in pairs}, 1.0
            elif not _C.is_symbolic(common):
                common = common.item()
        for bucket in buckets:
            found = [grads.get(id(p)) for p in bucket.owners]
            if common is None:
                self._update(bucket, found, factor)
                continue
            clipped = [getattr(p, "need_clip", True) for p in bucket.owners]
            self._update(bucket, [g if c else None for g, c in zip(found, clipped)], common * factor)
            if not all(clipped):
                self._update(bucket, [None if c else g for g, c in zip(found, clipped)], factor)

    def _update(self, bucket, grads, factor=1.0):
        for grad in grads:
            if grad is None:
                kept = [g is not None for g in grads]
                bucket, grads = bucket.part(kept), [g for g in grads if g is not None]
                break
        if not grads:
            return
        masters = bucket.owners is not bucket.params
        recorded = _C.is_symbolic(grads[0])
        if masters and not recorded:
            self._follow_parameters(bucket)
        adds_l2 = bool(bucket.l2) and not self._takes_l2
        fused = getattr(type(self)._update_bucket, "fuses_masters", False)
        if masters:
            # Rows that occur twice are added up: in float32.
            grads = [_as_float32(g) if g.is_selected_rows() else g for g in grads]
        if is_factor(factor) and (bucket.l1 or adds_l2 or not fused):
            grads, factor = [widened(g, factor) if masters else times(g, factor) for g in grads], 1.0
        # Beside float32 parameters 16-bit gradients are read as they are, and the sums are float32.
        if bucket.l1:
            grads = [g + p.sign() * bucket.l1 for p, g in zip(bucket.params, grads)]
        if adds_l2:
            grads = with_l2(bucket, grads)
        if masters and not fused:
            grads = [_as_float32(g) for g in grads]
        bucket.grad_scale, bucket.rounded = factor, bucket.owners if masters and fused else ()
        try:
            self._update_bucket(bucket, grads)
        except ValueError:
            self._refuse_other_dtypes(bucket)
            raise
        if not masters:
            return
        for owner, master in zip(bucket.owners, bucket.params):
            if not fused:
                owner.set_value(master.astype(owner.dtype))
            self._written[owner.name] = owner.inplace_version

    def _refuse_other_dtypes(self, bucket):
        """Raises an error if a network was converted after the state for its parameters was made."""
        for p in bucket.owners:
            if p.dtype != bucket.dtype:
                raise _C.located(
                    RuntimeError(
                        f"{type(self).__name__}.step: {p.name} is {p.dtype.name}, but was {bucket.dtype.name} when state for it was "
                        "made; convert a network before its optimizer's first step, or go on with a new optimizer that is given "
                        "state_dict() of this one"
                    )
                )

    def _update_bucket(self, bucket, grads):
        """Changes `bucket.params` in place. `bucket.l2` has still to be applied, `bucket.l1` has not."""
        self._create_accumulators(None, bucket.params)
        for param, grad in zip(bucket.params, with_l2(bucket, grads)):
            self._append_optimize_op(None, (param, grad))

    def _create_accumulators(self, block, parameters):
        """For subclasses that work on one parameter at a time."""

    def _append_optimize_op(self, block, param_and_grad):
        """For subclasses: updates one parameter in place from its gradient."""
        raise _C.located(
            NotImplementedError(f"{type(self).__name__} defines neither _update_bucket nor _append_optimize_op")
        )

    def _create_param_lr(self, param_and_grad):
        attr = getattr(param_and_grad[0], "optimize_attr", None)
        return self.get_lr() * (attr.get("learning_rate", 1.0) if attr else 1.0)

    def clear_grad(self, set_to_zero=True) -> None:
        """Clears the gradients of all parameters.

        Args:
            set_to_zero (bool): True keeps the memory for the next gradients.
        """
        use.refuse_in_recording(f"{type(self).__name__}.clear_grad")
        for group in self._groups:
            for p in group["params"]:
                p.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def backward(self, loss, startup_program=None, parameters=None, no_grad_set=None, callbacks=None):
        """The parameters that have a gradient, with it; `loss.backward()` runs first, unless it did. Of a program the gradients
        are appended to it.

        Args:
            loss (Tensor): what to differentiate.
            no_grad_set (set, optional): tensors of a program through which no gradient flows.
            startup_program, callbacks: not used.
            parameters (list, optional): whose gradients; those of the optimizer unless given.

        Returns:
            list[tuple[Tensor, Tensor]]: for `apply_gradients`.

        Examples:
            >>> net = proa.nn.Linear(2, 1)
            >>> sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
            >>> loss = net(proa.ones([1, 2])).sum()
            >>> loss.backward()
            >>> [grad.shape for _, grad in sgd.backward(loss)]
            [[2, 1], [1]]
        """
        if not isinstance(loss, _C.Tensor):
            raise _C.located(TypeError(f"backward: loss must be a Tensor, not {type(loss).__name__}"))
        if _C.is_symbolic(loss):
            use.refuse_in_recording(f"{type(self).__name__}.backward")
            return self._append_backward(loss, parameters, no_grad_set)
        if not _C.backward_ran_from(loss):
            loss.backward()
        chosen = self._parameter_list if parameters is None else list(parameters)
        return [(p, p.grad) for p in chosen if p.grad is not None]

    @no_grad()
    def apply_gradients(self, params_grads):
        """Updates parameters from given gradients instead of their own. An optimizer of no parameters gets these."""
        use.refuse_in_recording(f"{type(self).__name__}.apply_gradients")
        params_grads = list(params_grads)
        if any(_C.is_symbolic(g) for _, g in params_grads if g is not None):
            from proa.static.gradients import current_pairs

            params_grads = current_pairs(params_grads)
        if not self._parameter_list and params_grads:
            self._groups = []
            self._add_param_group({"params": [p for p, _ in params_grads]})
            if any(_C.is_symbolic(g) for _, g in params_grads if g is not None):
                self._join_program()
        given = {id(p): g for p, g in params_grads}
        cast = _C.amp.exchange(0)  # a step inside of auto_cast is none of its business
        try:
            if self._buckets is None or self._trainability_changed():
                self._make_buckets()
            self._update_all(given)
        finally:
            _C.amp.exchange(cast)

    def _apply_optimize(self, loss, startup_program, params_grads):
        """The name of apply_gradients that programs with loops of their own call."""
        self.apply_gradients(params_grads)

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """Updates from the gradients that `loss.backward()` left.

        Returns:
            (list, list): an empty list, and the (parameter, gradient) pairs used.
        """
        if not isinstance(loss, _C.Tensor):
            raise _C.located(TypeError(f"minimize: loss must be a Tensor, not {type(loss).__name__}"))
        if _C.is_symbolic(loss):
            return self._minimize_recorded(loss, parameters, no_grad_set)
        chosen = self._parameter_list if parameters is None else list(parameters)
        left_out = {id(p) for p in no_grad_set or ()} | {p for p in no_grad_set or () if isinstance(p, str)}
        pairs = [(p, p.grad) for p in chosen if p.grad is not None and id(p) not in left_out and p.name not in left_out]
        self.apply_gradients(pairs)
        return [], pairs

    def _minimize_recorded(self, loss, parameters, no_grad_set):
        """Appends the gradients of `loss` and one step to its program."""
        use.refuse_in_recording(f"{type(self).__name__}.minimize")
        pairs = self._append_backward(loss, parameters, no_grad_set)
        self.apply_gradients(pairs)
        return [], pairs

    def _join_program(self):
        """The program that is recorded steps by this optimizer from now on."""
        from proa import static

        recorded_rates.note(self)
        static.default_main_program().keep(self)

    _checkpoints = None  # between which gradients of a program are made from values that are computed once more

    def _append_backward(self, loss, parameters, no_grad_set):
        from proa import static

        if not self._groups or not self._parameter_list:
            self._groups = []
            self._add_param_group({"params": static.default_main_program().trained_parameters()})
        self._join_program()
        return static.append_backward(
            loss, parameters or self._parameter_list, no_grad_set, checkpoints=self._checkpoints
        )


def _as_float32(grad):
    return grad.astype(_C.float32) if grad.dtype in LOW else grad
