"""Parameter types of the schema language, and what each is in C++.

The one table of types: the parser, every generator and the docs read it. Adding a
type is adding a row here, an alternative to `Value` (ops/value.h) and a conversion
in the Python binding (python/core/convert.h).
"""

from __future__ import annotations

import dataclasses
import pathlib
import re


@dataclasses.dataclass(frozen=True)
class ParamType:
    """One row of the table.

    Attributes:
      name: as written in a schema, without the `?` of optional types.
      cpp: C++ type of a parameter.
      cpp_optional: C++ type of a `name?` parameter; empty if there is none.
      stored: C++ type that owns the value (a grad node keeps this).
      enum: enumerator of ParamType in ops/value.h.
      python: annotation in the type stubs.
    """

    name: str
    cpp: str
    cpp_optional: str
    stored: str
    enum: str
    python: str

    @property
    def is_tensor(self) -> bool:
        return self.name in ("Tensor", "Tensor[]")


_ROWS = (
    ParamType("Tensor", "const Tensor&", "const Tensor&", "Tensor", "kTensor", "Tensor"),
    ParamType("Tensor[]", "std::span<const Tensor>", "", "std::vector<Tensor>", "kTensorList", "Sequence[Tensor]"),
    ParamType("bool", "bool", "std::optional<bool>", "bool", "kBool", "Bool"),
    ParamType("int", "int64_t", "std::optional<int64_t>", "int64_t", "kInt", "int"),
    ParamType("float", "double", "std::optional<double>", "double", "kFloat", "float"),
    ParamType("str", "std::string_view", "", "std::string", "kString", "str"),
    ParamType(
        "int[]", "std::span<const int64_t>", "", "std::vector<int64_t>", "kIntList", "int | Sequence[int] | None"
    ),
    ParamType(
        "float[]", "std::span<const double>", "", "std::vector<double>", "kFloatList", "float | Sequence[float] | None"
    ),
    ParamType("IntArray", "const IntArray&", "", "IntArray", "kIntArray", "int | Sequence[int | Tensor] | Tensor"),
    ParamType("Scalar", "const Scalar&", "const std::optional<Scalar>&", "Scalar", "kScalar", "Number"),
    ParamType("DType", "DType", "std::optional<DType>", "DType", "kDType", "DTypeLike"),
    ParamType("Place", "Place", "std::optional<Place>", "Place", "kPlace", "PlaceLike"),
)
PARAM_TYPES = {row.name: row for row in _ROWS}

# tensor/dtype.h has the table of element types: enumerator, C++ type, name, kind.
_DTYPE_ROWS = re.findall(
    r"X\((k\w+), (?:::proa::)?(\w+), \"(\w+)\", '(\w)'\)",
    (pathlib.Path(__file__).parents[2] / "tensor" / "dtype.h").read_text(encoding="utf-8"),
)
DTYPES = tuple(name for _, _, name, _ in _DTYPE_ROWS)
# Enumerator of DType, C++ type.
DTYPE_CPP = {name: (enum, cpp) for enum, cpp, name, _ in _DTYPE_ROWS}


def _of_kinds(kinds: str) -> tuple[str, ...]:
    return tuple(name for _, _, name, kind in _DTYPE_ROWS if kind in kinds)


_INTEGERS, _FLOATS, _COMPLEX = _of_kinds("ui"), _of_kinds("f"), _of_kinds("c")
DTYPE_SETS = {
    "all": DTYPES,
    "numeric": _INTEGERS + _FLOATS + _COMPLEX,
    "real": _INTEGERS + _FLOATS,
    "floating": _FLOATS,
    "floating_complex": _FLOATS + _COMPLEX,
    "real_bool": ("bool",) + _INTEGERS + _FLOATS,
    "integral": _INTEGERS,
    "integral_bool": ("bool",) + _INTEGERS,
}
# Short dtype codes of samples.
DTYPE_CODES = {
    "b": "bool",
    "u8": "uint8",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}
