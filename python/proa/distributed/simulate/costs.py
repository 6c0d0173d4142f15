"""CostModel: seconds of operations by their arithmetic and bytes, fitted to measured ones."""

import json
from typing import NamedTuple

from proa import _C

__all__ = ["CostModel", "OpSample", "fit"]


class OpSample(NamedTuple):
    """One measured call: the op, floating point operations, bytes read and written, seconds."""

    name: str
    flops: float
    bytes: float
    seconds: float


class Law(NamedTuple):
    """seconds = base + factor * (flops / arithmetic + bytes / traffic)."""

    base: float
    factor: float


class CostModel:
    """What a call of an op costs.

    The ideal time of a call is flops / arithmetic + bytes / traffic; its time is `base + factor * ideal` with the numbers of
    its op in `laws`, or those of "" for ops that were not measured. Laws of "send" and "recv" are what a message of a pipeline
    takes of the ranks themselves; without, it takes nothing but the link.

    Args:
        arithmetic (float): floating point operations a second that a rank can do (`proa.profiler.measure_roof()`).
        traffic (float): bytes a second that it can read and write.
        laws (dict): op to (base, factor); "" must be there.

    Raises:
        ValueError: rates that are not above 0, or no law of "".

    Examples:
        >>> from proa.distributed.simulate import CostModel
        >>> costs = CostModel(1e9, 1e9, {"": (1e-6, 1.0), "matmul": (2e-6, 1.25)})
        >>> costs.seconds("matmul", flops=8_000_000, bytes=0)
        0.010002
    """

    def __init__(self, arithmetic, traffic, laws=None):
        if not (arithmetic > 0 and traffic > 0):
            raise _C.located(ValueError(f"CostModel: rates must be above 0, not {arithmetic} and {traffic}"))
        self.arithmetic, self.traffic = float(arithmetic), float(traffic)
        self.laws = {name: Law(*map(float, law)) for name, law in ({"": (0.0, 1.0)} if laws is None else laws).items()}
        if "" not in self.laws:
            raise _C.located(ValueError("CostModel: laws must have one of '', for ops that were not measured"))

    def ideal(self, flops, bytes):
        """Seconds at the full rates."""
        return flops / self.arithmetic + bytes / self.traffic

    def seconds(self, name, flops, bytes):
        """Seconds of a call."""
        law = self.laws.get(name, self.laws[""])
        return law.base + law.factor * self.ideal(flops, bytes)

    def save(self, path):
        """Writes it as JSON."""
        data = {"arithmetic": self.arithmetic, "traffic": self.traffic, "laws": self.laws}
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(data, stream, indent=1)

    @classmethod
    def load(cls, path):
        """What `save` wrote; ValueError for another file."""
        with open(path, encoding="utf-8") as stream:
            try:
                return cls(**json.load(stream))
            except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
                raise _C.located(ValueError(f"CostModel.load: {path} is no cost model: {error}")) from None

    def __repr__(self):
        return f"CostModel({self.arithmetic / 1e9:.4g} GFLOP/s, {self.traffic / 1e9:.4g} GB/s, laws of {len(self.laws) - 1} ops)"


def _law(points):
    """The line through (ideal, seconds) whose relative errors are least; neither of its numbers is negative."""
    if len({ideal for ideal, _ in points}) == 1:  # of one size: all of it grows with the size
        mean = sum(seconds for _, seconds in points) / len(points)
        ideal = points[0][0]
        return Law(0.0, mean / ideal) if ideal > 0 else Law(mean, 0.0)
    # Least squares of base / seconds + factor * ideal / seconds - 1.
    rows = [(1.0 / seconds, ideal / seconds) for ideal, seconds in points]
    aa, ab, bb = (sum(r[i] * r[j] for r in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = (sum(r[i] for r in rows) for i in (0, 1))
    det = aa * bb - ab * ab
    if det > 1e-12 * aa * bb:
        base, factor = (a * bb - b * ab) / det, (b * aa - a * ab) / det
        if base >= 0 and factor >= 0:
            return Law(base, factor)
    flat, proportional = Law(a / aa, 0.0), Law(0.0, b / bb if bb else 0.0)

    def error(law):
        return sum((law.base * r[0] + law.factor * r[1] - 1) ** 2 for r in rows)

    return min(flat, proportional, key=error)


def fit(samples, roof):
    """A cost model of measured calls: a law for each op among them, and one of all together for other ops.

    Args:
        samples (sequence[OpSample]): of several sizes of each op, else its time is taken to grow with its size.
        roof (tuple): floating point operations and bytes a second at best (`proa.profiler.measure_roof()` times 1e9).

    Returns:
        CostModel

    Raises:
        ValueError: no samples, or one that took no time.

    Examples:
        >>> from proa.distributed.simulate import OpSample, fit
        >>> samples = [OpSample("exp", n, 8 * n, 1e-6 + n * 4e-9) for n in (1000, 2000, 4000)]
        >>> base, factor = fit(samples, (1e9, 8e9)).laws["exp"]
        >>> round(base, 9), round(factor, 6)
        (1e-06, 2.0)
    """
    if not samples:
        raise _C.located(ValueError("fit: there are no samples"))
    model, by_name = CostModel(*roof), {}
    for sample in samples:
        if not sample.seconds > 0:
            raise _C.located(ValueError(f"fit: a call takes time, and this one took {sample.seconds} s: {sample}"))
        by_name.setdefault(sample.name, []).append((model.ideal(sample.flops, sample.bytes), sample.seconds))
    laws = {name: _law(points) for name, points in by_name.items()}
    laws[""] = _law([point for points in by_name.values() for point in points])
    return CostModel(*roof, laws)
