"""What differs between two results of a call; and all that differs, by kind and target."""

from __future__ import annotations

import collections
import re

import numpy as np

from fuzz import judge
from fuzz.beside.calls import Array, Call

# By the dtype of the result, of its largest number.
_TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 2e-2,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float64": 1e-6,
    "complex128": 1e-6,
}
# What a program may refuse although the call alone is right: what it must know is known when it runs.
_LATER = re.compile(r"when (it|the program) (runs|is recorded)|in a program|a program |open size|recorded|to_static")


def _close(a: Array, b: Array, dtype: str) -> bool:
    x, y = a.numpy(), b.numpy()
    if x.dtype.kind not in "fc" or y.dtype.kind not in "fc":
        return np.array_equal(x, y)
    tolerance = _TOLERANCE.get(dtype, 1e-4)
    finite = np.abs(y[np.isfinite(y)].astype("complex128" if y.dtype.kind == "c" else "float64"))
    with np.errstate(all="ignore"):
        return np.allclose(x, y, rtol=tolerance, atol=tolerance * max(1, finite.max(initial=0)), equal_nan=True)


def _some(a: Array) -> str:
    return str(a.numpy().reshape(-1)[:4])


def _values(ours, theirs, random: bool):
    if len(ours) != len(theirs):
        return "count", f"{len(ours)} results, theirs {len(theirs)}"
    for (dtype, a), (other, b) in zip(ours, theirs):
        if dtype != other:
            return "dtype", f"{dtype}, theirs {other}"
        if dtype == "py":
            same = a == b or isinstance(a, float) and np.isclose(a, b, equal_nan=True)
            if not same and not random:
                return "value", f"{a!r}, theirs {b!r}"
        elif a.shape != b.shape:
            return "shape", f"{list(a.shape)}, theirs {list(b.shape)}"
        elif not random and not _close(a, b, dtype):
            return "value", f"{_some(a)}, theirs {_some(b)}"
    return None


def _gradients(ours, theirs):
    if isinstance(theirs, str) or theirs is None:
        return None
    if isinstance(ours, str):
        return "gradient refused", ours
    for at, (a, b) in enumerate(zip(ours or [None] * len(theirs), theirs)):
        if a is None or b is None:
            known = b if a is None else a
            if known is not None and np.any(known.numpy()):
                return (
                    "gradient",
                    f"{at}: {'none' if a is None else _some(a)}, theirs {'none' if b is None else _some(b)}",
                )
        elif a.shape != b.shape or not _close(a, b, b.dtype):
            return "gradient", f"{at}: {_some(a)}, theirs {_some(b)}"
    return None


def beside(ours, theirs) -> tuple[str, str]:
    """(kind, what it says) of two results: same, or what differs."""
    if ours[0] == "died":
        return "died", ours[1]
    if ours[0] == "error":
        if ours[1] == "_TooLong":
            return "hangs", ""
        if judge._INTERNAL.search(ours[2]):
            return "internal", f"{ours[1]}: {ours[2]}"
    if theirs is None or theirs[0] == "died" or theirs[1] == "_TooLong":
        return "theirs died", ""
    if theirs[0] == "error":
        return ("both refuse" if ours[0] == "error" else "theirs refuses"), theirs[2]
    if ours[0] == "error":
        given = [dtype if dtype == "py" else f"{dtype}{list(a.shape)}" for dtype, a in theirs[1]]
        return "refused", f"{ours[1]}: {ours[2]} | theirs gives {', '.join(given)}"
    random = ours[3] or theirs[3]
    return _values(ours[1], theirs[1], random) or (not random and _gradients(ours[2], theirs[2])) or ("same", "")


def recorded(eager, program) -> tuple[str, str]:
    """(kind, what it says) of the results of a call at once and in a program of ours."""
    if program[0] == "died":
        return "died", program[1]
    if program[0] == "error" and program[1] == "_TooLong":
        return "hangs", ""
    if eager[0] == "error":
        return ("both refuse", "") if program[0] == "error" else ("accepted", f"at once: {eager[2]}")
    if program[0] == "error":
        return ("refused later" if _LATER.search(program[2]) else "refused"), f"{program[1]}: {program[2]}"
    random = eager[3]
    found = _values(program[1], eager[1], random) or (not random and _gradients(program[2], eager[2]))
    return found or ("same", "")


class Report:
    """Counts of kinds, and the calls of those that are not as they should be, by kind and target."""

    # Nothing to look at: it refuses what we accept, it fails, or a program cannot know.
    _QUIET = ("same", "both refuse", "theirs refuses", "theirs died", "refused later")

    def __init__(self, lax: bool = False) -> None:
        """`lax`: what only the other refuses is shown too."""
        self._quiet = set(self._QUIET) - ({"theirs refuses"} if lax else set())
        self.counts: collections.Counter = collections.Counter()
        self.groups: dict[tuple[str, str], list[tuple[int, Call, str]]] = collections.defaultdict(list)

    def add(self, number: int, call: Call, kind: str, says: str, of: str = "") -> None:
        self.counts[f"{of} {kind}".strip()] += 1
        if kind not in self._quiet:
            self.groups[f"{of} {kind}".strip(), call.target].append((number, call, says))

    def lines(self, examples: int = 2) -> list[str]:
        out = [f"{count:8} {kind}" for kind, count in sorted(self.counts.items())]
        for (kind, target), found in sorted(self.groups.items()):
            out.append(f"{kind}: {target}, {len(found)} times")
            for number, call, says in found[:examples]:
                out.append(f"    --call {number}: {call}\n        {' '.join(says.split())[:400]}")
        return out
