"""Recurrent nets of 1.x: one step is recorded inside of `with`, and made again for each of the others."""

import contextlib

from proa import _C
from proa.fluid.layers.blocks import Block
from proa.static.sequences import as_rows_of, layout_of, levels_of, note

__all__ = ["DynamicRNN", "StaticRNN"]


class _Recurrent:
    """The common part: what the step takes, keeps and gives."""

    def __init__(self, name=None):
        self._inputs = []  # (value of the first step, whole tensor)
        self._memories = []  # [value of the first step, first value, what it becomes]
        self._outputs = []
        self._fixed = []  # (value of the step, tensor)
        self._inside = self._done = False

    @property
    def _kind(self):
        return type(self).__name__

    @contextlib.contextmanager
    def _recorded(self):
        if self._inside or self._done:
            raise _C.located(RuntimeError(f"{self._kind}: one block of a step is recorded already"))
        self._block = Block(self._kind)
        self._inside = True
        try:
            with self._block.recording():
                yield
        finally:
            self._inside = False
        self._done = True
        if not self._outputs:
            raise _C.located(ValueError(f"{self._kind}: the step gives nothing; call output in it"))

    def _need_block(self, what):
        if not self._inside:
            raise _C.located(RuntimeError(f"{self._kind}.{what}: belongs into the block of the step"))

    def _number(self, tensor):
        return self._block.number(tensor)

    def update_memory(self, mem, new):
        """What a memory is in the next step.

        Args:
            mem (Tensor): what `memory` gave.
            new (Tensor): of its shape.
        """
        self._need_block("update_memory")
        for memory in self._memories:
            if memory[0] is mem:
                memory[2] = new
                return
        raise _C.located(ValueError(f"{self._kind}.update_memory: the first argument is no memory of this net"))

    def output(self, *outputs):
        """What each step gives."""
        self._need_block("output")
        self._outputs += outputs

    step_output = output

    def _next(self, rows, memories):
        """(memories after a step, what it gives)."""
        given = {self._number(value): row for (value, _), row in zip(self._inputs, rows, strict=True)}
        given.update((self._number(m[0]), now) for m, now in zip(self._memories, memories, strict=True))
        given.update((self._number(value), tensor) for value, tensor in self._fixed)
        kept = [self._number(m[0] if m[2] is None else m[2]) for m in self._memories]
        found = self._block.again(given, kept + [self._number(o) for o in self._outputs])
        return found[: len(kept)], found[len(kept) :]

    def _all(self, results):
        return results[0] if len(results) == 1 else results


class StaticRNN(_Recurrent):
    """A recurrent net of a fixed number of steps: the first dim of its inputs, [steps, batch, ...].

    Values of the program that the step uses are inputs, memories or parameters.

    Examples:
        >>> from proa import fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     x = fluid.data("x", [3, None, 2])
        ...     rnn = fluid.layers.StaticRNN()
        ...     with rnn.step():
        ...         row = rnn.step_input(x)
        ...         total = rnn.memory(shape=[-1, 2], batch_ref=row)
        ...         rnn.update_memory(total, total + row)
        ...         rnn.output(total + row)
        ...     sums = rnn()
        >>> fluid.Executor().run(main, feed={"x": np.ones([3, 1, 2], "float32")}, fetch_list=[sums])[0].tolist()
        [[[1.0, 1.0]], [[2.0, 2.0]], [[3.0, 3.0]]]
    """

    def step(self):
        """The block of a step."""
        return self._recorded()

    def step_input(self, x):
        """The slice of x of a step."""
        self._need_block("step_input")
        steps = x.shape[0] if x.shape else None
        if type(steps) is not int or steps < 1:
            raise _C.located(
                ValueError(
                    f"StaticRNN.step_input: the first dim is the number of steps, at least 1; x is {list(x.shape)}"
                )
            )
        if self._inputs and self._inputs[0][1].shape[0] != steps:
            raise _C.located(
                ValueError(f"StaticRNN.step_input: {steps} steps, and {self._inputs[0][1].shape[0]} of another input")
            )
        self._inputs.append((x[0], x))
        return self._inputs[-1][0]

    def memory(self, init=None, shape=None, batch_ref=None, init_value=0.0, init_batch_dim_idx=0, ref_batch_dim_idx=1):
        """A value that is kept from step to step.

        Args:
            init (Tensor): what it is in the first step; otherwise `init_value`, with the size of `batch_ref` as batch.
            shape (list[int]): of the memory; -1 for the batch.
            batch_ref (Tensor): an input of the step, or a whole one.
        """
        self._need_block("memory")
        if init is None:
            if shape is None or batch_ref is None:
                raise _C.located(ValueError("StaticRNN.memory: give init, or shape and batch_ref"))
            whole = next((x for value, x in self._inputs if value is batch_ref), batch_ref)
            sizes = list(shape)
            sizes[init_batch_dim_idx] = whole.shape[ref_batch_dim_idx]
            import proa

            init = proa.full(sizes, init_value, whole.dtype)
        value = _C.ops.assign(init)
        self._memories.append([value, init, None])
        return value

    def __call__(self):
        """What the steps gave, [steps, ...] each."""
        if not self._done or not self._inputs:
            raise _C.located(RuntimeError("StaticRNN: has no step yet that takes an input"))
        # The first step is the one that was recorded.
        memories = [m[0] if m[2] is None else m[2] for m in self._memories]
        given = [self._outputs]
        for step in range(1, self._inputs[0][1].shape[0]):
            memories, outputs = self._next([x[step] for _, x in self._inputs], memories)
            given.append(outputs)
        return self._all([_C.ops.stack(list(parts), 0) for parts in zip(*given, strict=True)])


class DynamicRNN(_Recurrent):
    """A recurrent net along sequences of different lengths: the rows of its inputs, whose sequences the program knows.

    Examples:
        >>> from proa import fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     x = fluid.data("x", [None, 1], lod_level=1)
        ...     rnn = fluid.layers.DynamicRNN()
        ...     with rnn.block():
        ...         row = rnn.step_input(x)
        ...         total = rnn.memory(shape=[1], value=0.0)
        ...         rnn.update_memory(total, total + row)
        ...         rnn.output(total + row)
        ...     sums = rnn()
        >>> rows = fluid.create_lod_tensor(np.ones([3, 1], "float32"), [[2, 1]])
        >>> fluid.Executor().run(main, feed={"x": rows}, fetch_list=[sums])[0].tolist()
        [[1.0], [2.0], [1.0]]
    """

    def block(self):
        """The block of a step."""
        return self._recorded()

    def step_input(self, x, level=0):
        """The rows of a step, one of each sequence: [sequences, ...]."""
        self._need_block("step_input")
        layout = layout_of("DynamicRNN.step_input", x)
        padded = layout.padded(x, 0)
        if not self._inputs:
            self._layout, self._rows = layout, x
        steps = _C.ops.transpose(padded, [1, 0, *range(2, len(padded.shape))])
        self._inputs.append((steps[0], steps))
        return self._inputs[-1][0]

    def static_input(self, x):
        """A value that is the same in each step: [sequences, ...]."""
        self._need_block("static_input")
        if not self._inputs:
            raise _C.located(RuntimeError("DynamicRNN.static_input: call step_input before it"))
        self._fixed.append((_C.ops.assign(x), x))
        note(self._fixed[-1][0], levels_of(x))
        return self._fixed[-1][0]

    def memory(self, init=None, shape=None, value=0.0, need_reorder=False, dtype="float32"):
        """A value that is kept from step to step.

        Args:
            init (Tensor): what it is in the first step, [sequences, ...]; otherwise `value`, [sequences, *shape].
            shape (list[int]): without the sequences.
            need_reorder (bool): accepted: sequences keep their order here.
        """
        self._need_block("memory")
        if not self._inputs:
            raise _C.located(RuntimeError("DynamicRNN.memory: call step_input before it"))
        if init is None:
            if shape is None:
                raise _C.located(ValueError("DynamicRNN.memory: give init or shape"))
            import proa

            first = self._inputs[0][1]
            init = proa.full([first.shape[1], *shape], value, dtype)
        held = _C.ops.assign(init)
        self._memories.append([held, init, None])
        return held

    def __call__(self):
        """What the steps gave: rows as those of the inputs, with the same sequences."""
        if not self._done or not self._inputs:
            raise _C.located(RuntimeError("DynamicRNN: has no block yet that takes an input"))
        lengths, count, places = self._layout.lengths, len(self._memories), len(self._outputs)
        longest = self._layout.longest()
        at = _C.ops.full([1], 0, _C.int64)
        steps = _C.ops.unsqueeze(_C.ops.cumsum(_C.ops.full_like(self._numbers_like(), 1), 0) - 1, [1])

        def expanded(flags, value):
            return _C.ops.reshape(flags, [*flags.shape, *[1] * (len(value.shape) - len(flags.shape))])

        def body(t, *values):
            now, kept = values[:count], values[count:]
            rows = [_C.ops.reshape(_C.ops.gather(x, t, 0), x.shape[1:]) for _, x in self._inputs]
            new, outputs = self._next(rows, now)
            goes_on = lengths > t
            new = [_C.ops.where(expanded(goes_on, b), a, b) for a, b in zip(new, now, strict=True)]
            here = steps == t
            out = [
                _C.ops.where(expanded(here, old), _C.ops.unsqueeze(o, [0]), old)
                for o, old in zip(outputs, kept, strict=True)
            ]
            return [t + 1, *new, *out]

        first = [m[1] for m in self._memories]
        wide = _C.ops.cast(_C.ops.full_like(steps, 0), _C.float32)
        kept = []
        for output in self._outputs:
            zeros = _C.ops.unsqueeze(_C.ops.full_like(output, 0), [0])
            kept.append(
                zeros + _C.ops.cast(_C.ops.reshape(wide, [wide.shape[0], *[1] * len(output.shape)]), output.dtype)
            )
        found = _C.while_loop(lambda t, *values: [(t < longest).all()], body, [at, *first, *kept])[1 + count :]
        results = []
        for values in found[:places]:
            rows = self._layout.unpadded(_C.ops.transpose(values, [1, 0, *range(2, len(values.shape))]))
            rows = as_rows_of(rows, self._rows)
            note(rows, levels_of(self._rows))
            results.append(rows)
        return self._all(results)

    def _numbers_like(self):
        """An int64 tensor of as many elements as there are steps."""
        steps = self._inputs[0][1]
        while len(steps.shape) > 1:
            steps = _C.ops.max(steps, len(steps.shape) - 1)
        return _C.ops.cast(_C.ops.full_like(steps, 0), _C.int64)
