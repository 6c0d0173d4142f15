"""How far to go along a direction: until the function is lower, and flatter (the strong conditions of Wolfe)."""

import math

from proa import _C
from proa.framework.attributes import wrong

__all__ = ["Line", "strong_wolfe"]

_LOWER, _FLATTER = 1e-4, 0.9


class Line:
    """A function of a vector, whose calls are counted."""

    def __init__(self, op, function):
        self._op, self._function, self.calls = op, function, 0

    def value_and_gradient(self, position):
        """Both at a position, as tensors without a history."""
        from proa import grad

        self.calls += 1
        x = position.detach()
        x.stop_gradient = False
        value = self._function(x)
        if not isinstance(value, _C.Tensor) or value.size != 1:
            raise wrong(self._op, "objective_func", "a function that gives a Tensor of one element", value)
        return value.detach(), grad(value, x)[0].detach()


def _between(a, b):
    """The least point of the cubic through two (step, value, slope), or the middle where that is no help."""
    (left, f, df), (right, g, dg) = sorted((a, b))
    width = right - left
    middle = left + width / 2
    if width == 0.0 or not all(map(math.isfinite, (f, g, df, dg))):
        return middle
    d = df + dg - 3.0 * (f - g) / (left - right)
    root = d * d - df * dg
    if root < 0.0:
        return middle
    root = math.sqrt(root)
    below = dg - df + 2.0 * root
    if below == 0.0:
        return middle
    found = right - width * (dg + root - d) / below
    return found if left + 0.1 * width <= found <= right - 0.1 * width else middle


def strong_wolfe(line, position, direction, value, gradient, most, first):
    """(step, value, gradient) at a step that meets the conditions, or at the lowest that was found; step 0 if none is lower.

    Args:
        line (Line): the function.
        position, direction (Tensor): where the line starts, and its direction.
        value, gradient (Tensor): of the function at `position`.
        most (int): evaluations.
        first (float): the step that is tried first.
    """
    start, slope = value.item(), (gradient * direction).sum().item()
    if not slope < 0.0:
        return 0.0, value, gradient
    best = (0.0, start, slope), value, gradient

    def at(step):
        nonlocal best
        v, g = line.value_and_gradient(position + direction * step)
        point = step, v.item(), (g * direction).sum().item()
        if point[1] < best[0][1]:
            best = point, v, g
        return point, v, g

    low, high = (0.0, start, slope), None
    step = first
    for _ in range(most):
        found = at(step)
        point = found[0]
        is_low = point[1] <= start + _LOWER * step * slope
        if not is_low or (point[1] >= low[1] and low[0] > 0.0):
            high = point
        elif abs(point[2]) <= -_FLATTER * slope:
            return step, found[1], found[2]
        else:
            # The other end is where the slope leads up to.
            if high is not None and point[2] * (high[0] - low[0]) >= 0.0:
                high = low
            elif high is None and point[2] >= 0.0:
                high = low
            low = point
        step = 2.0 * step if high is None else _between(low, high)
        if high is not None and abs(high[0] - low[0]) <= 1e-12 * max(1.0, abs(low[0])):
            break
    return best[0][0], best[1], best[2]
