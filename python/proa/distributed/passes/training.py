"""Rewrites of programs that are trained: recomputation, gradients of several runs, mixed precision, divided states."""

from proa import _C
from proa.autograd import no_grad
from proa.distributed.calls import copy_into
from proa.distributed.passes.base import PassBase, register_pass
from proa.static.binding import value_in
from proa.static.parameters import create_global_var
from proa.static.program import program_guard
from proa.static.recomputing import changes_tensors
from proa.static.remaking import begin, replace
from proa.static.replay import Replay, Value, parse

__all__ = ["EarlyCasts", "GradientMerge", "Mixed", "Recompute", "Sharding"]


def _maker(recorded, calls, tensor, what):
    """The number of the operation that makes a value."""
    number = recorded.value_number(tensor)
    for at, call in enumerate(calls):
        if any(number in (found if isinstance(found, list) else [found]) for found in call.results):
            return at
    raise _C.located(ValueError(f"{what} is no result of an operation of the program"))


@register_pass("recompute")
@register_pass("auto_parallel_recompute")
class Recompute(PassBase):
    """Backward computes once more what lies between checkpoints. Of a program with gradients, before or after updates follow them.

    Settings: `loss`; `checkpoints`, values or names of them.
    """

    name = "recompute"

    def _apply_single_impl(self, main_program, startup_program, context):
        from proa.static import recomputing

        loss, checkpoints = self._need("loss", "checkpoints")
        loss = main_program.current(loss)
        kept = recomputing.find_checkpoints(main_program, checkpoints)
        recorded = main_program._program
        recomputing.recompute(
            main_program, kept, 1 + _maker(recorded, parse(str(recorded))[1], loss, "recompute: loss")
        )


@register_pass("amp")
@register_pass("auto_parallel_amp")
class Mixed(PassBase):
    """The operations of a program in mixed precision. Of a program without gradients.

    Settings: `dtype` ("float16"), `level` ("O1"), `amp_lists`.
    """

    name = "amp"

    def _apply_single_impl(self, main_program, startup_program, context):
        from proa.static.amp.mixing import checked_dtype, checked_level, mix

        dtype, level = self.get_attr("dtype", "float16"), self.get_attr("level", "O1")
        mix(
            main_program,
            checked_dtype("pass amp", dtype),
            checked_level("pass amp", level),
            self.get_attr("amp_lists"),
            trains=True,
        )


@register_pass("gradient_merge")
@register_pass("auto_parallel_gradient_merge_pass")
class GradientMerge(PassBase):
    """Gradients add up over `k_steps` runs; what follows them (clips, exchanges, updates) is done in the last of these.

    Settings: `params_grads`, as minimize gave them; `k_steps`; `avg` (True): the mean in place of the sum.
    """

    name = "gradient_merge"

    def _apply_single_impl(self, main_program, startup_program, context):
        from proa.distributed.fleet.meta_optimizers.local_steps import variable

        pairs, runs = self._need("params_grads", "k_steps")
        if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
            raise _C.located(
                ValueError(f"pass gradient_merge: k_steps is {runs!r}; it must be a number of runs, at least 1")
            )
        grads = [main_program.current(g) for _, g in pairs if g is not None]
        recorded = main_program._program
        _, made, inputs = begin(main_program, True)
        with program_guard(main_program, startup_program):
            sums = [variable(f"{p.name}_gradient_merge", p.shape, g.dtype) for p, g in pairs if g is not None]
            count = variable("gradient_merge_runs", [1], "int64")
        factor = 1.0 / runs if self.get_attr("avg", True) else 1.0
        replay = _Merged(recorded, inputs, grads, sums, count, runs, factor)

        def make():
            with made.recording():
                replay.run(None)

        replace(main_program, replay, made, inputs, make)


class _Merged(Replay):
    """A program made again, with what follows its gradients in a branch."""

    def __init__(self, recorded, inputs, grads, sums, count, runs, factor):
        super().__init__(recorded, inputs)
        self._numbers_of = [recorded.value_number(g) for g in grads]
        self._last = max(_maker(recorded, self.calls, g, "gradient_merge: a gradient") for g in grads)
        self._sums, self._count, self._runs, self._factor = sums, count, runs, factor

    def run(self, context):
        if self._made:
            raise _C.located(
                RuntimeError(
                    "pass gradient_merge: something was recorded of the program's old values; apply the pass last"
                )
            )
        with no_grad():
            for call in self.calls[: self._last + 1]:
                self._make(call, exact=True)
            for total, number in zip(self._sums, self._numbers_of):
                _C.ops.store_(total, total + self.env[number])

            def step():
                for total, number in zip(self._sums, self._numbers_of):
                    self.env[number] = total * self._factor
                for call in self.calls[self._last + 1 :]:
                    self._make(call, exact=True)
                for total in self._sums:
                    # Not times 0: an infinite gradient would leave NaN.
                    _C.ops.store_(total, _C.ops.full(total.shape, 0.0, total.dtype))
                return []

            given = {number: self.env[number] for number in self._numbers_of}
            now = self._count + 1
            _C.ops.store_(self._count, now)
            left = _C.ops.remainder(now, _C.ops.full([1], self._runs, _C.int64))
            _C.cond(_C.ops.equal(left, _C.ops.full([1], 0, _C.int64)).reshape([]), step, lambda: [])
            self.env.update(given)
        self._made = len(self.calls)


def _updated(program, parameters):
    """The first of the parameters that an operation of the program changes; None if none is."""
    recorded = program._program
    calls = parse(str(recorded))[1]
    changed = {v for call in _all_calls(calls) if call.op.endswith("_") for v in _values(call.args)}
    numbers = {id(t): number for number, (_, t) in zip(parse(str(recorded))[0], recorded.captured)}
    return next((p for p in parameters if numbers.get(id(p)) in changed), None)


def _all_calls(calls):
    for call in calls:
        yield call
        for region in call.regions:
            yield from _all_calls(region.calls)


def _values(args):
    return [v for arg in args for v in (arg if isinstance(arg, list) else [arg]) if isinstance(v, Value)]


@register_pass("sharding")
@register_pass("auto_parallel_sharding")
class Sharding(PassBase):
    """Workers divide the states of the optimizer: gradients are added up so that each has the sums of its part, it updates that part,
    and the parts are gathered. Of a program with gradients and no updates, which the pass appends. All workers apply it.

    Settings: `optimizer`; `params_grads`, as its backward gave them; `sharding_degree` and the other keys of
    `DistributedStrategy.sharding_configs`, and `amp` where the optimizer is one of mixed precision.
    """

    name = "sharding"

    def _apply_single_impl(self, main_program, startup_program, context):
        from proa.distributed.fleet.base.distributed_strategy import DistributedStrategy
        from proa.distributed.fleet.meta_optimizers.program_optimizer import ProgramOptimizer
        from proa.distributed.groups import world_size

        optimizer, pairs = self._need("optimizer", "params_grads")
        updated = _updated(main_program, [p for p, _ in pairs])
        if updated is not None:
            raise _C.located(
                ValueError(
                    f"pass sharding: the program updates {updated.name} already; give the pass the optimizer, in place of its "
                    "apply_gradients or minimize"
                )
            )
        strategy = DistributedStrategy()
        strategy.sharding = True
        strategy.sharding_configs = {k: v for k, v in self._attrs.items() if k not in ("optimizer", "params_grads")}
        strategy.check_static(world_size())
        made = ProgramOptimizer(optimizer, strategy, world_size())
        made.adopt(main_program, startup_program, pairs)
        made.apply_gradients(pairs)


@register_pass("optimize_cast")
class EarlyCasts(PassBase):
    """The 16-bit copies of parameters that a program in mixed precision computes with are made where parameters are updated, and kept
    from run to run, in place of being made where they are used. Numbers stay the same. Of a program with updates.

    Copies of the program (`clone`) are to be made before.
    """

    name = "optimize_cast"

    def _apply_single_impl(self, main_program, startup_program, context):
        recorded = main_program._program
        calls = parse(str(recorded))[1]
        numbers = parse(str(recorded))[0]
        trained = {n: t for n, (_, t) in zip(numbers, recorded.captured) if not t.stop_gradient and t.persistable}
        first = next((at for at, call in enumerate(calls) if changes_tensors(call)), len(calls))
        casts = {}  # the value that a cast gives: (parameter, dtype)
        for call in calls[:first]:
            if call.op == "cast" and call.args[0] in trained:
                kind = recorded.value(call.results[0]).dtype
                if kind in (_C.float16, _C.bfloat16):
                    casts[call.results[0]] = trained[call.args[0]], kind
        if not casts:
            return
        _, made, inputs = begin(main_program, True)
        with program_guard(main_program, startup_program), _C.eager_mode():
            copies = {
                (id(p), kind.name): (
                    p,
                    create_global_var(p.shape, 0.0, kind, persistable=True, name=f"{p.name}.{kind.name}"),
                )
                for p, kind in casts.values()
            }
        replay = _Early(recorded, inputs, {v: copies[id(p), kind.name][1] for v, (p, kind) in casts.items()}, copies)

        def make():
            with made.recording():
                replay.run(None)

        replace(main_program, replay, made, inputs, make)
        kept = Copies([(p, copy) for p, copy in copies.values()])
        main_program._starts["16-bit copies of parameters"] = kept
        main_program._after_run.append(kept.note)


class Copies:
    """Before a run: copies of parameters that somebody wrote to since the last one (a state was loaded) are made anew."""

    def __init__(self, pairs):
        self._pairs, self._seen, self._scope = pairs, {}, None

    def run(self, scope):
        if self._scope is not scope:
            self._scope, self._seen = scope, {}
        with _C.eager_mode(), no_grad():
            for parameter, copy in self._pairs:
                value = value_in(scope, parameter)
                if self._seen.get(parameter.name) != (id(value), value.inplace_version):
                    copy_into(value_in(scope, copy), value.detach().astype(copy.dtype))

    def note(self):
        """After a run, which has made copies of what it has updated."""
        for parameter, _ in self._pairs:
            value = value_in(self._scope, parameter)
            self._seen[parameter.name] = id(value), value.inplace_version


class _Early(Replay):
    """A program made again, with copies of parameters in place of casts, which are made behind all that updates."""

    def __init__(self, recorded, inputs, given, copies):
        super().__init__(recorded, inputs)
        self._given, self._copies = given, copies

    def run(self, context):
        if self._made:
            raise _C.located(
                RuntimeError(
                    "pass optimize_cast: something was recorded of the program's old values; apply the pass last"
                )
            )
        with no_grad():
            for call in self.calls:
                if call.op == "cast" and call.results[0] in self._given:
                    self.env[call.results[0]] = self._given[call.results[0]]
                else:
                    self._make(call, exact=True)
            for parameter, copy in self._copies.values():
                _C.ops.store_(copy, _C.ops.cast(parameter, copy.dtype))
        self._made = len(self.calls)
