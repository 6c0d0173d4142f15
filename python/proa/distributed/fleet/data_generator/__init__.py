"""Programs that turn lines of text into samples for a training job, on standard input and output."""

import sys

from proa import _C

__all__ = ["DataGenerator", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]


class DataGenerator:
    """Base: define `generate_sample(line)`, which gives a function that yields [(slot, values), ...]."""

    def __init__(self):
        self._proto_info = None
        self.batch_size_ = 32

    def set_batch(self, batch_size):
        """How many samples `generate_batch` gets at once."""
        self.batch_size_ = batch_size

    def generate_sample(self, line):
        """A function without arguments that yields the samples of one line; `line` is None for `run_from_memory`."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define generate_sample"))

    def generate_batch(self, samples):
        """A function without arguments that yields samples from a list of them."""

        def all_of_them():
            yield from samples

        return all_of_them

    def _gen_str(self, line):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define _gen_str"))

    def _write(self, samples):
        for sample in self.generate_batch(samples)():
            sys.stdout.write(self._gen_str(sample))

    def _run(self, lines):
        batch = []
        for line in lines:
            for sample in self.generate_sample(line)():
                if sample is None:
                    continue
                batch.append(sample)
                if len(batch) == self.batch_size_:
                    self._write(batch)
                    batch = []
        if batch:
            self._write(batch)

    def run_from_stdin(self):
        """Reads lines from standard input, writes samples to standard output."""
        self._run(sys.stdin)

    def run_from_memory(self):
        """Writes the samples that `generate_sample(None)` gives."""
        self._run([None])


def _check(line):
    if not isinstance(line, (list, tuple)):
        raise _C.located(
            ValueError(f"DataGenerator: a sample must be a list of (slot, values), not {type(line).__name__}")
        )


class MultiSlotStringDataGenerator(DataGenerator):
    """Samples of words: each slot as their number, then they themselves.

    Examples:
        >>> class Words(proa.distributed.fleet.MultiSlotStringDataGenerator):
        ...     def generate_sample(self, line):
        ...         def samples():
        ...             yield [("words", ["good", "film"]), ("label", ["1"])]
        ...         return samples
        >>> Words().run_from_memory()
        2 good film 1 1
    """

    def _gen_str(self, line):
        _check(line)
        return " ".join(" ".join([str(len(values)), *values]) for _, values in line) + "\n"


class MultiSlotDataGenerator(DataGenerator):
    """Samples of integers or floats: each slot as the number of its values, then they themselves.

    Examples:
        >>> class Clicks(proa.distributed.fleet.MultiSlotDataGenerator):
        ...     def generate_sample(self, line):
        ...         def samples():
        ...             yield [("ids", [12, 7]), ("price", [0.5])]
        ...         return samples
        >>> Clicks().run_from_memory()
        2 12 7 1 0.5
    """

    def _gen_str(self, line):
        _check(line)
        if self._proto_info is None:
            self._proto_info = [(name, "uint64") for name, _ in line]
        elif len(line) != len(self._proto_info):
            raise _C.located(
                ValueError(f"DataGenerator: a sample has {len(line)} slots, those before had {len(self._proto_info)}")
            )
        parts = []
        for i, (name, values) in enumerate(line):
            if not isinstance(name, str) or not isinstance(values, list):
                raise _C.located(ValueError("DataGenerator: a slot must be (str, list)"))
            if not values:
                raise _C.located(ValueError(f"DataGenerator: slot {name!r} has no values; pad it in generate_sample"))
            if name != self._proto_info[i][0]:
                raise _C.located(
                    ValueError(f"DataGenerator: slot {i} is {name!r}, and was {self._proto_info[i][0]!r} before")
                )
            if any(isinstance(value, float) for value in values):
                self._proto_info[i] = (name, "float")
            parts.append(" ".join(map(str, [len(values), *values])))
        return " ".join(parts) + "\n"
