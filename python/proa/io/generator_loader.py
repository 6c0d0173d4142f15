"""GeneratorLoader: batches from a generator of the program's own."""

import numpy as np

from proa import _C
from proa.io.reader_cost import Observed

__all__ = ["GeneratorLoader"]


class GeneratorLoader:
    """Batches from a generator of samples, of lists of samples, or of batches. `DataLoader.from_generator` makes it.

    In eager mode a batch is a list of tensors; in static mode a list of one feed, or with `return_list` a list of
    tensors. With `iterable=False` it belongs to the program, which it feeds in each run after `start()`, until a run raises
    `fluid.core.EOFException`; then `reset()`.
    """

    def __init__(self, feed_list=None, capacity=None, use_double_buffer=True, iterable=True, return_list=False,
                 use_multiprocess=False, drop_last=True):  # fmt: skip
        self._names = [tensor.name for tensor in feed_list] if feed_list else None
        self._static = _C.in_static_mode()
        if self._static and self._names is None:
            raise _C.located(
                ValueError("DataLoader.from_generator: static mode needs feed_list, the inputs of the program")
            )
        self.inputs = list(feed_list or ())
        self._running = None
        self._iterable = iterable
        if not iterable:
            if not self._static:
                raise _C.located(ValueError("DataLoader.from_generator: iterable=False is for programs"))
            from proa.static.program import default_main_program

            default_main_program()._readers.append(self)
        self._return_list = return_list or not self._static
        self._batches = None

    def set_sample_generator(self, reader, batch_size, drop_last=True, places=None):
        """`reader()` yields samples: tuples of arrays; they are put together by `batch_size`."""
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise _C.located(ValueError(f"set_sample_generator: batch_size must be a positive int, not {batch_size!r}"))

        def lists():
            held = []
            for sample in reader():
                held.append(sample if isinstance(sample, (list, tuple)) else (sample,))
                if len(held) == batch_size:
                    yield held
                    held = []
            if held and not drop_last:
                yield held

        return self.set_sample_list_generator(lists, places)

    def set_sample_list_generator(self, reader, places=None):
        """`reader()` yields lists of samples."""

        def batches():
            for samples in reader():
                rows = [sample if isinstance(sample, (list, tuple)) else (sample,) for sample in samples]
                yield [self._column(number, column) for number, column in enumerate(zip(*rows))]

        return self.set_batch_generator(batches, places)

    def _column(self, number, values):
        """The values of samples for one input as one array; of sequences a LoDTensor."""
        if self._static and number < len(self.inputs):
            from proa.static import feeding

            return feeding.column(self.inputs[number], values)
        return np.stack([np.asarray(value) for value in values])

    def set_batch_generator(self, reader, places=None):
        """`reader()` yields batches: lists of arrays or tensors."""
        if not callable(reader):
            raise _C.located(
                TypeError(f"set_batch_generator: reader must be a function that gives a generator, not {reader!r}")
            )
        self._batches = reader
        return self

    decorate_sample_generator = set_sample_generator
    decorate_sample_list_generator = set_sample_list_generator
    decorate_paddle_reader = set_sample_list_generator
    decorate_batch_generator = decorate_tensor_provider = set_batch_generator

    def start(self):
        """Runs of the program take batches from now on."""
        if self._iterable:
            raise _C.located(RuntimeError("start: is for loaders with iterable=False; iterate over this one"))
        self._need_batches()
        self._running = iter(self._batches())

    def reset(self):
        """After the last batch, or before: `start` begins anew."""
        self._running = None

    def feed(self):
        """What the next run is fed; nothing where it was not started.

        Raises:
            EOFException: there is no batch left.
        """
        if self._running is None:
            return {}
        for batch in self._running:
            return dict(zip(self._names, batch if isinstance(batch, (list, tuple)) else [batch], strict=True))
        from proa.fluid.core import EOFException

        raise _C.located(EOFException("the reader has no more batches; call reset, and start to begin anew"))

    def _need_batches(self):
        if self._batches is None:
            raise _C.located(
                RuntimeError(
                    "DataLoader: call set_sample_generator, set_sample_list_generator or set_batch_generator first"
                )
            )

    def __iter__(self):
        self._need_batches()
        return Observed(self._tensors())

    def _tensors(self):
        for batch in self._batches():
            batch = batch if isinstance(batch, (list, tuple)) else [batch]
            with _C.eager_mode():
                tensors = [
                    value if hasattr(value, "recursive_sequence_lengths") else _C.to_tensor(value) for value in batch
                ]
            if self._return_list:
                yield tensors
            else:
                yield [dict(zip(self._names, tensors))]

    def __call__(self):
        return iter(self)
