"""Parameter types of the schema language, and what each is in C++.

The one table of types: the parser, every generator and the docs read it. Adding a
type is adding a row here, an alternative to `Value` (ops/value.h) and a conversion
in the Python binding (python/core/convert.h).
"""

from __future__ import annotations

import dataclasses


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

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
# Enumerator of DType, C++ type.
DTYPE_CPP = {
    "bool": ("kBool", "bool"),
    "uint8": ("kUInt8", "uint8_t"),
    "int8": ("kInt8", "int8_t"),
    "int16": ("kInt16", "int16_t"),
    "int32": ("kInt32", "int32_t"),
    "int64": ("kInt64", "int64_t"),
    "float16": ("kFloat16", "float16"),
    "bfloat16": ("kBFloat16", "bfloat16"),
    "float32": ("kFloat32", "float"),
    "float64": ("kFloat64", "double"),
    "complex64": ("kComplex64", "complex64"),
    "complex128": ("kComplex128", "complex128"),
}
_INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_COMPLEX = ("complex64", "complex128")
DTYPE_SETS = {
    "all": DTYPES,
    "numeric": _INTEGERS + _FLOATS + _COMPLEX,
    "real": _INTEGERS + _FLOATS,
    "floating": _FLOATS,
    "floating_complex": _FLOATS + _COMPLEX,
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
