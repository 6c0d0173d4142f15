"""The typed model of a schema: what the parser makes and the generators read."""

from __future__ import annotations

import ast
import dataclasses
import functools

from ops.schema import param_types


class SchemaError(Exception):
    """A mistake in a schema file; the message starts with `file:line:`."""

    def __init__(self, location: "Location", message: str):
        super().__init__(f"{location}: {message}")
        self.location = location


@dataclasses.dataclass(frozen=True)
class Location:
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclasses.dataclass(frozen=True)
class Param:
    """A parameter of an op. `default` is the text in the schema, None if required."""

    name: str
    type: param_types.ParamType
    optional: bool
    default: str | None

    @property
    def cpp(self) -> str:
        return self.type.cpp_optional if self.optional else self.type.cpp

    @property
    def stored(self) -> str:
        """C++ type that owns a value of this parameter."""
        if self.optional and not self.type.is_tensor:
            return f"std::optional<{self.type.stored}>"
        return self.type.stored

    @property
    def is_tensor(self) -> bool:
        return self.type.name == "Tensor"

    @property
    def is_tensor_list(self) -> bool:
        return self.type.name == "Tensor[]"


@dataclasses.dataclass(frozen=True)
class Output:
    """An output. `aliases` is the parameter whose storage a view shares, or None."""

    name: str
    is_list: bool
    aliases: str | None


@dataclasses.dataclass(frozen=True)
class Formula:
    """An expression of the formula language, as Python syntax tree (formula.py)."""

    text: str
    tree: ast.expr
    location: Location


@dataclasses.dataclass(frozen=True)
class InferRule:
    """Shape and dtype of one output, and the order of its dims in memory (None: row-major)."""

    shape: Formula
    dtype: Formula
    order: Formula | None = None


# The backends besides the CPU that a schema may name kernels for, and what the kernels are registered for.
# `device` is every device that has none of its own: such a kernel asks nothing but its DeviceRuntime.
BACKENDS = {"cuda": "DeviceKind::kGPU", "device": None}

# The kernel that is made of a formula struct. Backends that compile the structs, besides the CPU, and the dtypes that
# they compute none of.
ELEMENTWISE = "elementwise"
FORMULA_BACKENDS = {"cuda": ("complex64", "complex128")}


@dataclasses.dataclass(frozen=True)
class Kernel:
    """`elementwise`, or the name of a kernel function."""

    function: str
    simd: bool
    elementwise: bool


@dataclasses.dataclass(frozen=True)
class DeviceKernel:
    """A kernel function of a backend besides the CPU, in the namespace of its name; or `elementwise`."""

    backend: str  # of BACKENDS
    function: str
    dtypes: tuple[str, ...]

    @property
    def elementwise(self) -> bool:
        return self.function == ELEMENTWISE


@dataclasses.dataclass(frozen=True)
class PythonApi:
    """How the op appears in Python; absent keys are None."""

    function: str | None = None
    method: str | None = None
    operator: str | None = None
    module: str = "root"
    params: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Alias:
    """A name that the reference gives an op, and how it calls it (alias.py); `formula` is None for the name alone."""

    name: str
    params: tuple[tuple[str, str | None], ...]
    formula: Formula | None
    location: Location


@dataclasses.dataclass(frozen=True)
class ErrorSample:
    args: str
    says: str
    type: str


@dataclasses.dataclass(frozen=True)
class Op:
    """One op of a schema file."""

    name: str
    params: tuple[Param, ...]
    outputs: tuple[Output, ...]
    signature: str
    doc: str
    location: Location
    family: str
    stem: str
    infer: dict[str, InferRule]
    compute: Formula | None  # dtype rule that decides the kernel and casts its arguments
    kernel: Kernel | None
    device_kernels: tuple[DeviceKernel, ...]
    composite: Formula | str | None  # a formula, or the name of a C++ function
    strided: bool
    channels_last: bool  # the kernel takes images of either memory order
    dtypes: tuple[str, ...]
    inplace: str | None  # parameter that `name_` changes
    mutates: tuple[str, ...]  # parameters that this op itself changes
    reuses: str | None  # parameter in whose memory the output may be made
    rows_form: str | None  # C++ function that takes over when an argument is row-sparse
    rows_params: tuple[str, ...]  # parameters that the kernel takes row-sparse as they are
    grad: dict[str, Formula | None] | None  # None: not differentiable
    takes_wider_grads: bool  # the node takes the gradient of a 16-bit result in float32 too
    recompute: Formula | None  # how backward makes the first output again, which then is not kept
    recompute_behind: bool  # only where the producers of all inputs do so, from what they make again
    elements: Formula | None  # what is known of a result of integers when a program is recorded
    inference: dict[str, Formula]  # in a test: values of attributes, or formulas of outputs; {}: the same call
    amp: str
    fuse: str
    flops: Formula | None  # what a call costs; None: by its fuse class
    random: bool
    data_dependent: bool
    of_bytes: bool  # what elements mean is nothing to it: its reference sees arrays as they lie in memory
    version: int
    python: PythonApi | None
    aliases: tuple[Alias, ...]
    samples: tuple[str, ...]
    errors: tuple[ErrorSample, ...]

    @property
    def cpp_struct(self) -> str:
        """'leaky_relu' -> 'LeakyRelu'."""
        return "".join(part[:1].upper() + part[1:] for part in self.name.split("_") if part)

    @functools.cached_property
    def by_name(self) -> dict[str, Param]:
        return {p.name: p for p in self.params}

    @property
    def tensor_params(self) -> tuple[Param, ...]:
        return tuple(p for p in self.params if p.type.is_tensor)

    @property
    def is_view(self) -> bool:
        return any(o.aliases for o in self.outputs)

    @property
    def differentiable_params(self) -> tuple[Param, ...]:
        """The inputs with a gradient formula, in order; composites have none of their own."""
        if not self.grad:
            return ()
        return tuple(p for p in self.tensor_params if self.grad.get(p.name) is not None)

    @property
    def cpp_return(self) -> str:
        """Return type of the front door."""
        kinds = ["std::vector<Tensor>" if o.is_list else "Tensor" for o in self.outputs]
        if not kinds:
            return "void"
        return kinds[0] if len(kinds) == 1 else f"std::tuple<{', '.join(kinds)}>"
