"""What an operator of ONNX takes and gives in a version of its operator set, as the onnx package says it."""

import functools

from proa import _C

# Names of element types: in schemas of ONNX, and here.
_ELEMENTS = {
    "bool": "bool",
    "uint8": "uint8",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "complex64": "complex64",
    "complex128": "complex128",
}
# How the package calls them in its enumeration.
_NUMBERS = {"float32": "FLOAT", "float64": "DOUBLE"}


class NeedsOpset(Exception):
    """What is to be said takes a later version of the operator set."""

    def __init__(self, version, why):
        super().__init__(why)
        self.version = version


class NotInOnnx(Exception):
    """What no version of the operator set can say; the text says why."""


def package():
    """The onnx package.

    Raises:
        ImportError: it is not installed.
    """
    try:
        import onnx  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise _C.located(
            ImportError(
                f"onnx.export writes files with the package onnx, which cannot be imported ({error}): pip install onnx"
            )
        ) from None
    return onnx


def element_number(dtype):
    """The number that ONNX gives the dtype of this name."""
    onnx = package()

    return getattr(onnx.TensorProto, _NUMBERS.get(dtype, dtype.upper()))


def dtype_of(type_text):
    """`tensor(float)` as "float32"; None for what holds no elements of ours."""
    inner = type_text.removeprefix("tensor(").removesuffix(")")
    return _ELEMENTS.get(inner) if inner != type_text else None


@functools.cache
def _history():
    onnx = package()

    found = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and not schema.deprecated:
            found.setdefault(schema.name, []).append(schema)
    return {name: sorted(of, key=lambda s: s.since_version) for name, of in found.items()}


@functools.cache
def form(name, version):
    """The Form of an operator in this version.

    Raises:
        NeedsOpset: it came later.
        NotInOnnx: there is none of that name.
    """
    forms = [Form(schema) for schema in _history().get(name, ())]
    if not forms:
        raise _C.located(NotInOnnx(f"the installed onnx has no operator {name}"))
    known = [f for f in forms if f.since <= version]
    if not known:
        raise _C.located(NeedsOpset(forms[0].since, f"{name} came with opset {forms[0].since}"))
    known[-1].later = [f for f in forms if f.since > version]
    return known[-1]


class Form:
    """An operator as one version has it."""

    def __init__(self, schema):
        self.name, self.since = schema.name, schema.since_version
        self.attributes = {name: a.type.name for name, a in schema.attributes.items()}
        self.inputs = [(i.name, i.type_str) for i in schema.inputs]
        self.outputs = [o.type_str for o in schema.outputs]
        self.least_outputs = schema.min_output
        many = type(schema.inputs[0].option).Variadic if schema.inputs else None
        self.variadic = bool(schema.inputs) and schema.inputs[-1].option == many
        allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
        self.allowed = {v: frozenset(filter(None, map(dtype_of, texts))) for v, texts in allowed.items()}
        self.later = []

    def place_of(self, name):
        """Which input has this name, or None. (Attributes became inputs with a capital.)"""
        return next((i for i, (n, _) in enumerate(self.inputs) if n.lower() == name.lower()), None)

    def takes(self, name):
        """Whether there is an attribute or an input of this name."""
        return name in self.attributes or self.place_of(name) is not None

    def as_attribute(self, name, value):
        """A number as the attribute has it: of a list of one, or as a float."""
        kind = self.attributes[name]
        if kind in ("INT", "FLOAT") and isinstance(value, list):
            (value,) = value
        return float(value) if kind == "FLOAT" else value

    def type_of_input(self, place):
        if place >= len(self.inputs) and not self.variadic:
            self.refuse(lambda f: place < len(f.inputs), f"{self.name} has no input {place}")
        return self.inputs[min(place, len(self.inputs) - 1)][1]

    def dtype(self, type_text):
        """The only dtype that this type stands for; None where there are several."""
        allowed = self.allowed.get(type_text, ())
        return dtype_of(type_text) or (next(iter(allowed)) if len(allowed) == 1 else None)

    def check(self, types):
        """That the dtypes of type variables are allowed.

        Raises:
            NeedsOpset: they are in a later version.
            NotInOnnx: they never are.
        """
        for variable, dtype in types.items():
            if variable in self.allowed and dtype not in self.allowed[variable]:
                self.refuse(lambda f: dtype in f.allowed.get(variable, ()), f"{self.name} takes no {dtype}")  # noqa: B023

    def refuse(self, fits, why):
        """Names the first later form that fits, if there is one."""
        for f in self.later:
            if fits(f):
                raise _C.located(NeedsOpset(f.since, f"{why} before opset {f.since}"))
        raise _C.located(NotInOnnx(f"ONNX's {why}"))
