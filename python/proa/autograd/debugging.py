"""To see what backward does: anomaly mode, and the graph as text."""

import contextlib

from proa import _C
from proa.autograd.saved_tensors import _outputs

__all__ = ["detect_anomaly", "graph_dot", "graph_text", "is_anomaly_enabled", "set_detect_anomaly"]


def set_detect_anomaly(mode, check_nan=True):
    """Switches anomaly mode on or off, for all threads.

    In this mode each op remembers the lines of your program that called it. When backward fails, the error names the op
    and these lines. With `check_nan`, so does an error for the first gradient with NaN or Inf. Slow: for debugging.

    Args:
        mode (bool): on or off.
        check_nan (bool): look for NaN and Inf in all gradients that formulas make.

    Examples:
        >>> proa.autograd.set_detect_anomaly(True)
        >>> proa.autograd.is_anomaly_enabled()
        True
        >>> proa.autograd.set_detect_anomaly(False)
    """
    _set_mode(_mode(mode, check_nan))


class detect_anomaly(contextlib.ContextDecorator):  # noqa: N801, as its API name
    """Anomaly mode in a with block, or in a decorated function; see `set_detect_anomaly`.

    Args:
        check_nan (bool): look for NaN and Inf in all gradients that formulas make.

    Examples:
        >>> x = proa.to_tensor([0.0], stop_gradient=False)
        >>> with proa.autograd.detect_anomaly():
        ...     y = proa.sqrt(x)
        ...     try:
        ...         y.backward()
        ...     except RuntimeError as error:
        ...         print(str(error).splitlines()[0])
        (PreconditionNotMet) backward: sqrt's backward made a gradient of x with 0 NaN and 1 Inf; it is [1] float32; \
the gradient that came in was finite
    """

    def __init__(self, check_nan=True):
        self._mode = _mode(True, check_nan)
        self._before = []

    def __enter__(self):
        self._before.append(_C.anomaly_mode())
        _set_mode(self._mode)
        return self

    def __exit__(self, *exception):
        _set_mode(self._before.pop())


def _mode(on, check_nan):
    return 0 if not on else 2 if check_nan else 1


def _set_mode(mode):
    _C.set_anomaly_mode(mode)


def is_anomaly_enabled():
    """True if anomaly mode is on.

    Examples:
        >>> proa.autograd.is_anomaly_enabled()
        False
    """
    return _C.anomaly_mode() != 0


def graph_text(tensors, max_nodes=200):
    """The backward graph of `tensors` as text, ops in the order in which backward runs them.

    Args:
        tensors (Tensor|list[Tensor]): where backward would start.
        max_nodes (int): show so many ops and count the others; 0: all.

    Examples:
        >>> w = proa.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> w.name = "w"
        >>> print(proa.autograd.graph_text((w * w).sum()), end="")
        #1 sum
          x: #2 multiply
        #2 multiply, saves y [2] float32, x [2] float32 (8 bytes)
          x: leaf w [2] float32
          y: leaf w [2] float32
    """
    return _C.graph_text(_outputs("graph_text", tensors), _bound("graph_text", max_nodes))


def graph_dot(tensors, max_nodes=200):
    """The backward graph of `tensors` in the DOT language of Graphviz; the arguments are those of `graph_text`.

    Examples:
        >>> w = proa.to_tensor([1.0], stop_gradient=False)
        >>> print(proa.autograd.graph_dot(w + w).splitlines()[0])
        digraph backward {
    """
    return _C.graph_dot(_outputs("graph_dot", tensors), _bound("graph_dot", max_nodes))


def _bound(op, max_nodes):
    if isinstance(max_nodes, bool) or not isinstance(max_nodes, int):
        raise _C.located(TypeError(f"{op}: max_nodes must be int, not {type(max_nodes).__name__}"))
    if max_nodes < 0:
        raise _C.located(ValueError(f"{op}: max_nodes must be 0 or more, got {max_nodes}"))
    return max_nodes
