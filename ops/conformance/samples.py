"""Samples: the text language of schemas (docs/schema.md), and samples made in Python.

`parse("f32[2,3].T, i64[4]=0..5, axis=1", dtypes)` gives Sample objects whose arguments are
TensorSpec, plain values and lists; `TensorSpec.array(rng)` makes the NumPy array.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from typing import Any

import numpy as np

from ops.schema import commas, param_types

_TENSOR = re.compile(
    r"(?P<code>N|index|bf16|f16|f32|f64|c64|c128|b|u8|i8|i16|i32|i64)\[(?P<dims>[0-9, ]*)\](?P<views>(?:\.[Tsb])*)(?P<values>.*)"
)


# Values of matrices that are their own conjugate transposes.
HERMITIAN = ("hermitian", "definite")


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """A tensor of a sample: dtype name, dims, views ('T', 's', 'b') and what its values are.

    An index keeps its dtype where the sample runs in other dtypes.
    """

    dtype: str
    dims: tuple[int, ...]
    views: tuple[str, ...] = ()
    values: str = ""
    index: bool = False

    def array(self, rng: np.random.Generator) -> np.ndarray:
        """The values, row-major, in a NumPy dtype that holds them (float32 for bfloat16)."""
        dtype = np.dtype("float32" if self.dtype == "bfloat16" else self.dtype)
        x = np.asarray(self._draw(rng, dtype))  # NumPy draws scalars for no dims
        if self.dtype == "bfloat16":
            x = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).reshape(self.dims)
        if "b" in self.views and self.dims and x.size:
            x = np.ascontiguousarray(np.broadcast_to(x[:1], x.shape))
        return x

    def _draw(self, rng: np.random.Generator, dtype: np.dtype) -> np.ndarray:
        values = self.values.strip()
        if m := re.fullmatch(r"= *(-?\d+)\.\.(-?\d+)", values):
            return rng.integers(int(m[1]), int(m[2]), self.dims).astype(dtype)
        if m := re.fullmatch(r"= *(-?[\d.]+)", values):
            return np.full(self.dims, float(m[1])).astype(dtype)
        n = int(np.prod(self.dims, dtype=np.int64))
        if values == "distinct":
            # Spaced by 0.25, so that finite differences do not change the order.
            x = (rng.permutation(n) - n // 2).reshape(self.dims)
            return (x if dtype.kind in "iu" else x * 0.25).astype(dtype)
        if dtype.kind == "b":
            return rng.random(self.dims) < 0.5
        if dtype.kind in "iu":
            low = 1 if values.startswith(">") else (0 if dtype.kind == "u" else -5)
            return rng.integers(low, 6, self.dims).astype(dtype)
        x = rng.uniform(-2, 2, self.dims)
        if dtype.kind == "c":
            x = x + 1j * rng.uniform(-2, 2, self.dims)
        if m := re.fullmatch(r"> *(-?[\d.]+)", values):
            x = float(m[1]) + 0.25 + np.abs(x)
        elif m := re.fullmatch(r"\|x\| *< *([\d.]+)", values):
            x = x * (0.45 * float(m[1]))
        elif values == "wide":
            x = x * 5
        elif values in HERMITIAN:
            adjoint = np.conj(np.swapaxes(x, -1, -2))
            x = x + adjoint if values == "hermitian" else x @ adjoint + x.shape[-1] * np.eye(x.shape[-1])
        elif values == "nan":
            flat = x.reshape(-1)
            for i, special in enumerate((np.nan, np.inf, -np.inf, 0.0, -0.0)):
                if i < flat.size:
                    flat[i] = special
        elif values:
            raise ValueError(f"values {values!r} of a tensor in a sample")
        return x.astype(dtype)


@dataclasses.dataclass(frozen=True)
class Sample:
    """One call: positional and keyword arguments (TensorSpec or NumPy arrays stand for tensors)."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    text: str = ""

    def specs(self) -> list[TensorSpec]:
        out = []
        for a in (*self.args, *self.kwargs.values()):
            out += [s for s in (a if isinstance(a, (list, tuple)) else [a]) if isinstance(s, TensorSpec)]
        return out

    def with_dtype(self, old: str, new: str) -> "Sample":
        """The same call with every tensor of dtype `old` in dtype `new`."""

        def change(a):
            if isinstance(a, TensorSpec) and a.dtype == old and not a.index:
                return dataclasses.replace(a, dtype=new)
            if isinstance(a, list):
                return [change(x) for x in a]
            return a

        return Sample(
            tuple(map(change, self.args)), {k: change(v) for k, v in self.kwargs.items()}, f"{self.text} as {new}"
        )

    def with_dims(self, dims: tuple[int, ...]) -> "Sample":
        """The same call, of tensors that all have these dims; attributes stay, and may not fit any more."""

        def change(a):
            if isinstance(a, TensorSpec):
                return dataclasses.replace(a, dims=dims)
            return [change(x) for x in a] if isinstance(a, list) else a

        kwargs = {k: change(v) for k, v in self.kwargs.items()}
        return Sample(tuple(map(change, self.args)), kwargs, f"{self.text} of {list(dims)}")

    def grown(self, elements: int) -> "Sample":
        """The same call, all dims of all tensors longer by one factor, so that the largest has about `elements`.

        Dims of 0 and 1 stay, and so do attributes: a call may not fit its attributes any more.
        """

        def size(factor: float) -> float:
            return max(
                (np.prod([_longer(d, factor) for d in s.dims], dtype=np.float64) for s in self.specs()), default=0
            )

        factor = 1
        while size(factor) < elements and factor < 4096 and size(factor + 1) > size(factor):
            factor += max(1, factor // 4)

        def change(a):
            if isinstance(a, TensorSpec):
                return dataclasses.replace(a, dims=tuple(_longer(d, factor) for d in a.dims))
            return [change(x) for x in a] if isinstance(a, list) else a

        return Sample(
            tuple(map(change, self.args)),
            {k: change(v) for k, v in self.kwargs.items()},
            f"{self.text} with dims {factor} times as long",
        )

    @property
    def special(self) -> bool:
        return any(s.values.strip() == "nan" for s in self.specs())


def _longer(dim: int, factor: int) -> int:
    return dim * factor if dim > 1 else dim


def parse(text: str, dtypes: tuple[str, ...]) -> list[Sample]:
    """The samples of one text: one, or one a dtype of `dtypes` where it says `N`."""
    if re.search(r"(^|[ ,(])N\[", text):
        return [_parse_one(re.sub(r"(^|[ ,(])N\[", lambda m: m[1] + _code(d) + "[", text)) for d in dtypes]
    return [_parse_one(text)]


def _code(dtype: str) -> str:
    return next(c for c, d in param_types.DTYPE_CODES.items() if d == dtype)


def _parse_one(text: str) -> Sample:
    args, kwargs = [], {}
    for part in commas.split(text):
        part = part.strip()
        m = re.match(r"([a-z_][a-z0-9_]*) *= *(?!=)", part)
        if m and not _TENSOR.match(part):
            kwargs[m[1]] = _value(part[m.end() :].strip())
        else:
            args.append(_value(part))
    return Sample(tuple(args), kwargs, text)


def _value(text: str):
    if m := _TENSOR.fullmatch(text):
        dims = tuple(int(d) for d in m["dims"].split(",") if d.strip())
        index = m["code"] == "index"
        dtype = "int64" if index else param_types.DTYPE_CODES[m["code"]]
        return TensorSpec(dtype, dims, tuple(m["views"].split(".")[1:]), m["values"], index)
    if text[:1] in "([" and _TENSOR.match(text[1:].strip()):
        return [_value(p.strip()) for p in commas.split(text[1:-1])]
    if text in param_types.DTYPES:
        return text
    if text in ("none", "None"):
        return None
    if text in ("inf", "-inf", "nan"):
        return float(text)
    return ast.literal_eval(text)
