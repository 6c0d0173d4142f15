"""Files with a sample a line, read in pieces: by this process, or by several that each read pieces ahead."""

import os
import shlex
import subprocess

import numpy as np

from proa import _C
from proa.io import DataLoader, Dataset

__all__ = ["Pieces", "Rows"]

_BYTES = 1 << 22  # of a piece, and what one line may have beyond


class Rows:
    """Samples in a row: of each slot the values of all samples, and how many each sample has.

    Args:
        slots (list): a (values, counts) for each slot, arrays.
    """

    def __init__(self, slots):
        self._slots = slots
        self._ends = [np.concatenate([[0], np.cumsum(counts)]) for _, counts in slots]

    def __len__(self):
        return len(self._slots[0][1]) if self._slots else 0

    def slots(self, begin, end):
        """A (values, counts) for each slot of the samples from `begin` to `end`."""
        return [
            (values[at[begin] : at[end]], counts[begin:end])
            for (values, counts), at in zip(self._slots, self._ends, strict=True)
        ]

    def followed_by(self, other):
        """These samples and those of other Rows."""
        mine, its = self._slots, other._slots
        return Rows(
            [(np.concatenate([a, c]), np.concatenate([b, d])) for (a, b), (c, d) in zip(mine, its, strict=True)]
        )

    def samples(self):
        """A list of an array for each slot, sample by sample."""
        if not len(self):
            return iter(())
        return map(
            list, zip(*(np.split(values, at[1:-1]) for (values, _), at in zip(self._slots, self._ends)), strict=True)
        )


class Pieces(Dataset):
    """The pieces of files, as slots.

    Args:
        owner (str): whose, for errors.
        files (list[str]): read in this order.
        command (str): a program that files go through, "cat" for none; a file that goes through one is one piece.
        slots (list): (name, dtype of NumPy) of each slot.
    """

    def __init__(self, owner, files, command, slots):
        self._owner, self._slots = owner, slots
        self._command, self._text = shlex.split(command), command
        whole = self._command not in ([], ["cat"])
        self._places = []
        for file in files:
            size = os.path.getsize(file)
            starts = [0] if whole else range(0, max(size, 1), _BYTES)
            self._places += [(file, at, None if whole else min(at + _BYTES, size)) for at in starts]

    def __len__(self):
        return len(self._places)

    def __getitem__(self, number):
        file, begin, end = self._places[number]
        words, counts = [[] for _ in self._slots], [[] for _ in self._slots]
        for line in self._lines(file, begin, end):
            self._take(line.split(), words, counts)
        try:
            # All values of a slot at once: many times as fast as line by line.
            values = [np.array(w, "S").astype(kind) for w, (_, kind) in zip(words, self._slots, strict=True)]
        except (ValueError, OverflowError):
            self._refuse(number)
            raise
        if any(counted is None for counted in counts):
            self._refuse(number)
        return [(v, np.array(c, "int64")) for v, c in zip(values, counts, strict=True)]

    def _take(self, line, words, counts):
        """The words of a line for each slot; a line that does not fit leaves None among the counts."""
        if not line or counts[0] is None:
            return
        at = 0
        try:
            for i in range(len(words)):
                end = at + 1 + int(line[at])
                if end < at + 2 or end > len(line):
                    raise ValueError
                words[i] += line[at + 1 : end]
                counts[i].append(end - at - 1)
                at = end
            if at != len(line):
                raise ValueError
        except (ValueError, IndexError):
            counts[0] = None

    def _refuse(self, number):
        """Raises what is wrong with the first line of a piece that does not fit."""
        file, begin, end = self._places[number]
        for count, line in enumerate(self._lines(file, begin, end), 1):
            words = line.split()
            if words:
                self._check(words, f"{file}:{_lines_before(file, begin) + count}")

    def _lines(self, file, begin, end):
        """The lines that begin in a part of a file."""
        if end is None:
            yield from self._lines_of_command(file)
            return
        with open(file, "rb") as stream:
            if begin:
                stream.seek(begin - 1)
                stream.readline()
            while stream.tell() < end:
                yield stream.readline()

    def _lines_of_command(self, file):
        with open(file, "rb") as stream, subprocess.Popen(self._command, stdin=stream, stdout=subprocess.PIPE) as child:
            yield from child.stdout
            if child.wait():
                raise _C.located(
                    RuntimeError(f"{self._owner}: {self._text!r} ended with {child.returncode} for {file}")
                )

    def _check(self, words, where):
        at = 0
        for name, kind in self._slots:
            try:
                count = int(words[at])
                values = words[at + 1 : at + 1 + count]
                if count < 1 or len(values) != count:
                    raise ValueError
                np.array(values, "S").astype(kind)
            except (IndexError, ValueError, OverflowError):
                raise _C.located(
                    ValueError(
                        f"{where}: slot {name!r} must be the number of its values, at least 1, and as many of {kind}"
                    )
                ) from None
            at += 1 + count
        if at != len(words):
            raise _C.located(ValueError(f"{where}: {len(words) - at} words more than the slots of use_var"))

    def rows(self, processes=0):
        """The Rows of each piece, in order; read ahead by so many processes, or by this one."""
        processes = min(processes, len(self), len(os.sched_getaffinity(0)))
        if processes < 2:
            yield from (Rows(self[number]) for number in range(len(self)))
            return
        loader = DataLoader(self, batch_size=None, num_workers=processes, collate_fn=_flat)
        for arrays in loader:
            arrays = [array.numpy() for array in arrays]
            yield Rows(list(zip(arrays[::2], arrays[1::2], strict=True)))


def _flat(slots):
    return [array for slot in slots for array in slot]


def _lines_before(file, begin):
    """How many lines begin before a place of a file: what an error is told by."""
    if not begin:
        return 0
    with open(file, "rb") as stream:
        return stream.read(begin - 1).count(b"\n") + 1
