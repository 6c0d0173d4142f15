"""Rewrites of programs that are trained: recomputation, gradients of several runs, mixed precision."""

from proa import _C
from proa.distributed.passes.base import PassBase, register_pass
from proa.static.program import program_guard
from proa.static.remaking import begin, replace
from proa.static.replay import Replay

__all__ = ["GradientMerge", "Mixed", "Recompute"]


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
        from proa.static.replay import parse

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
        from proa.autograd import no_grad

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
