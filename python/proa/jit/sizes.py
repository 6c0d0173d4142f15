"""Which sizes a recording is made for: exact ones at first, open ones when a dim is seen with a second size."""

OPEN = -1  # in sizes: any, as an InputSpec declares
WIDE = -2  # any from 2 on


def fits(recorded, sizes):
    """Whether a recording for sizes, some of them open, holds for these. Both: a tuple of sizes for each tensor."""
    if recorded == sizes:
        return True
    for a, b in zip(recorded, sizes, strict=True):
        if len(a) != len(b):
            return False
        for m, n in zip(a, b, strict=True):
            if m != n and m != OPEN and (m != WIDE or n < 2):
                return False
    return True


class SizeHistory:
    """The sizes that the calls of a function had.

    Sizes 0 and 1 are recorded exactly, unless they are declared open: what is empty or broadcasts is another program
    for many functions.

    Args:
        declared (optional): the sizes that specs declare, with open ones.
    """

    def __init__(self, declared=None):
        self._declared = declared
        self._seen = None  # what was recorded last, with open sizes
        self._refused = set()

    def proposals(self, sizes):
        """Sizes to try for a call, the most general ones first; at last those of the call."""
        made = [self._declared] if self._declared is not None else []
        if self._seen is not None:
            made.append(self._merged(sizes, True))
            made.append(self._merged(sizes, False))
        made.append(sizes)
        return [s for i, s in enumerate(made) if s == sizes or s not in self._refused and s not in made[:i]]

    def _merged(self, sizes, more):
        """`sizes`, open where they were; and if `more`, where they differ from what was recorded."""
        return tuple(
            tuple(
                WIDE if n > 1 and (old < 0 or more and old > 1 and old != n) else n
                for old, n in zip(before, now, strict=True)
            )
            if len(before) == len(now)
            else now
            for before, now in zip(self._seen, sizes, strict=True)
        )

    def refuse(self, sizes):
        """A recording for these failed."""
        self._refused.add(sizes)

    def accept(self, sizes):
        """A recording was made for these."""
        if self._seen is None:
            self._seen = sizes
            return
        self._seen = tuple(
            tuple(old if old < 0 or n in (0, 1) else n for old, n in zip(before, now, strict=True))
            if len(before) == len(now)
            else now
            for before, now in zip(self._seen, sizes, strict=True)
        )
