"""A call as data that either package can make: nothing here, or in runner.py, is of Proa.

An argument is a plain value, an `Array`, which becomes a tensor, or a list or tuple of those.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Array:
    """A NumPy array in bytes, which every release of NumPy reads. As an argument, a tensor; `plain`: an array."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes = dataclasses.field(repr=False)
    plain: bool = False

    @classmethod
    def of(cls, a: Any, plain: bool = False) -> "Array":
        a = np.asarray(a)
        return cls(a.dtype.name, tuple(a.shape), np.ascontiguousarray(a).tobytes(), plain)

    def numpy(self) -> np.ndarray:
        return np.frombuffer(self.data, self.dtype).reshape(self.shape).copy()

    def changed(self, change) -> "Array":
        """Of the array that `change` makes of this one."""
        return Array.of(change(self.numpy()), self.plain)


@dataclasses.dataclass(frozen=True)
class Call:
    """`target(*args, **kwargs)`; with `made`, the layer that `target` makes of these arguments is called."""

    target: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    made: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    training: bool = True

    @property
    def in_place(self) -> bool:
        name = self.target.rpartition(".")[2]
        return name == "increment" or name.endswith("_") and not name.endswith("__")

    def leaves(self) -> list[Any]:
        """The arguments, and what is in lists of them."""
        return [x for v in (*self.args, *self.kwargs.values()) for x in _leaves(v)]

    def arrays(self) -> list[Array]:
        return [x for x in self.leaves() if isinstance(x, Array) and not x.plain]

    def rebuilt(self, change) -> "Call":
        """The call with `change(array)` for each of its tensors."""
        every = lambda x: change(x) if isinstance(x, Array) and not x.plain else x
        kwargs = {k: rebuild(v, every) for k, v in self.kwargs.items()}
        return dataclasses.replace(self, args=tuple(rebuild(v, every) for v in self.args), kwargs=kwargs)

    def __str__(self) -> str:
        said = lambda args, kwargs: ", ".join([*map(text, args), *(f"{k}={text(v)}" for k, v in kwargs.items())])
        if self.made is None:
            return f"{self.target}({said(self.args, self.kwargs)})"
        mode = "" if self.training else ".eval()"
        return f"{self.target}({said(*self.made)}){mode}({said(self.args, self.kwargs)})"


def _leaves(v: Any) -> list[Any]:
    return [x for e in v for x in _leaves(e)] if isinstance(v, (list, tuple)) else [v]


def rebuild(v: Any, change) -> Any:
    """`change` of each leaf, in the lists and tuples that they are in."""
    return type(v)(rebuild(e, change) for e in v) if isinstance(v, (list, tuple)) else change(v)


def text(v: Any) -> str:
    if isinstance(v, Array):
        if v.shape == () or v.plain and len(v.data) < 40:
            return f"{v.dtype}({v.numpy().tolist()})"
        return f"{v.dtype}{list(v.shape)}"
    if isinstance(v, (list, tuple)):
        inner = ", ".join(map(text, v)) + ("," if isinstance(v, tuple) and len(v) == 1 else "")
        return f"[{inner}]" if isinstance(v, list) else f"({inner})"
    return repr(v)
