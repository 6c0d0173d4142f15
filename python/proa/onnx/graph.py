"""A graph of ONNX under construction: nodes, constants, and the values that rules handle."""

import contextlib
import math
import threading

import numpy as np

from proa.onnx import opset


class Value:
    """A tensor of the graph.

    Arithmetic with values and numbers makes nodes; a number has the dtype of the other operand.

    Attributes:
        name (str): in the graph.
        dtype (str): "float32".
        shape (tuple): sizes, negative numbers for open ones; None where it is not known.
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, name, dtype, shape=None):
        self.name, self.dtype, self.shape = name, dtype, shape

    @property
    def rank(self):
        return len(self.shape)

    def __add__(self, other):
        return current().node("Add", self, other)

    def __radd__(self, other):
        return current().node("Add", other, self)

    def __sub__(self, other):
        return current().node("Sub", self, other)

    def __rsub__(self, other):
        return current().node("Sub", other, self)

    def __mul__(self, other):
        return current().node("Mul", self, other)

    def __rmul__(self, other):
        return current().node("Mul", other, self)

    def __truediv__(self, other):
        return current().node("Div", self, other)

    def __rtruediv__(self, other):
        return current().node("Div", other, self)

    def __neg__(self):
        return current().node("Neg", self)


class _Building(threading.local):
    graph = None


_building = _Building()


def current():
    """The graph that a rule adds to."""
    return _building.graph


class Graph:
    """Nodes in order, and constants, of one version of the operator set; for one thread.

    Args:
        version (int): of the operator set.
    """

    def __init__(self, version):
        self.version = version
        self.nodes = []
        self.tensors = {}  # of constants, by name: (dtype, array)
        self._constants = {}  # names by what they hold
        self._names = set()
        self.domains = {}  # others than ONNX's, with their versions
        self.operation = None  # what the converter is at

    @contextlib.contextmanager
    def building(self):
        """Rules add to this graph."""
        before, _building.graph = _building.graph, self
        try:
            yield self
        finally:
            _building.graph = before

    @contextlib.contextmanager
    def block(self):
        """Nodes made meanwhile go to a list of their own, which it gives: the body of an If or a Loop."""
        before, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = before

    def free_name(self, wish):
        """`wish`, or with a number behind it if it is taken."""
        name, count = wish, 0
        while name in self._names:
            count += 1
            name = f"{wish}_{count}"
        self._names.add(name)
        return name

    def constant(self, values, dtype):
        """A value of these elements, as a NumPy array of this dtype (bfloat16: its bits as uint16)."""
        array = np.ascontiguousarray(values if isinstance(values, np.ndarray) else _array(values, dtype))
        array = array.reshape(np.shape(values))
        key = (dtype, array.shape, array.tobytes()) if array.size <= 64 else None
        if key is None or key not in self._constants:
            name = self.free_name("constant")
            self.tensors[name] = (dtype, array)
            if key is None:
                return Value(name, dtype, array.shape)
            self._constants[key] = name
        return Value(self._constants[key], dtype, array.shape)

    def parameter(self, name, dtype, array):
        """A value of these elements, under this name if it is free."""
        name = self.free_name(name or "constant")
        self.tensors[name] = (dtype, array)
        return Value(name, dtype, array.shape)

    def node(self, op, *inputs, outputs=None, domain="", version=1, **named):
        """Adds a node and returns its value, or a tuple where there are several.

        What is given by name is an attribute or an input, as this version of the operator has it; numbers and lists
        become constants of the dtype that belongs there; None is what is left out.

        Args:
            op (str): ONNX's operator.
            inputs: values, numbers, lists, None for an input that is left out.
            outputs (int, optional): how many there are, where the operator leaves that open.
            domain (str): of an operator that is none of ONNX's; then all inputs are values, and `outputs` is a list
                of pairs of dtype and shape.
        """
        onnx = opset.package()

        named = {name: value for name, value in named.items() if value is not None}
        if domain:
            self.domains[domain] = version
            made = [Value(self.free_name(op), dtype, tuple(shape)) for dtype, shape in outputs]
            self._append(
                onnx.helper, op, [v.name for v in inputs], made, {k: _plain(v) for k, v in named.items()}, domain
            )
            return made[0] if len(made) == 1 else tuple(made)
        form = opset.form(op, self.version)
        inputs, attributes = list(inputs), {}
        for name, value in named.items():
            if name in form.attributes and not isinstance(value, Value):
                attributes[name] = form.as_attribute(name, value)
                continue
            place = form.place_of(name)
            if place is None:
                late = isinstance(value, Value)
                form.refuse(lambda f: f.place_of(name) is not None if late else f.takes(name), f"{op} has no {name}")  # noqa: B023
            inputs += [None] * (place + 1 - len(inputs))
            inputs[place] = value
        while inputs and inputs[-1] is None:
            inputs.pop()
        types = {}
        for place, value in enumerate(inputs):
            if isinstance(value, Value):
                types.setdefault(form.type_of_input(place), value.dtype)
        for place, value in enumerate(inputs):
            if value is not None and not isinstance(value, Value):
                text = form.type_of_input(place)
                dtype = form.dtype(text) or types.get(text) or "int64"
                types.setdefault(text, dtype)
                inputs[place] = self.constant(value, dtype)
        for place, value in enumerate(inputs):
            text = form.type_of_input(place)
            if value is not None and (form.dtype(text) or value.dtype) != value.dtype:
                raise opset.NotInOnnx(f"ONNX's {op} takes {text} for input {place}, not {value.dtype}")
            if value is not None and not form.variadic and text in types and types[text] != value.dtype:
                raise opset.NotInOnnx(f"ONNX's {op} takes inputs of one type, not {types[text]} and {value.dtype}")
        form.check({v: dtype for v, dtype in types.items() if v in form.allowed})
        made = [self._result(op, form, types, attributes, i) for i in range(outputs or form.least_outputs)]
        self._append(
            onnx.helper,
            op,
            ["" if v is None else v.name for v in inputs],
            made,
            {k: _plain(v) for k, v in attributes.items()},
        )
        return made[0] if outputs is None and len(made) == 1 else tuple(made)

    def _result(self, op, form, types, attributes, i):
        body = next((a for a in attributes.values() if isinstance(a, Body)), None)
        if body is not None:  # an If, or a Loop, whose body gives a condition besides
            given = body.outputs[1:] if body.inputs else body.outputs
            return Value(self.free_name(op), given[i].dtype)
        text = form.outputs[min(i, len(form.outputs) - 1)]
        dtype = form.dtype(text) or types.get(text)
        if dtype is None:
            said = attributes.get("to", attributes.get("dtype", attributes.get("value")))
            dtype = getattr(said, "dtype", said)
            form.check({text: dtype})
        return Value(self.free_name(op), dtype)

    def _append(self, helper, op, inputs, made, attributes, domain=""):
        outputs = [v.name for v in made]
        self.nodes.append(
            helper.make_node(op, inputs, outputs, name=outputs[0] if outputs else None, domain=domain, **attributes)
        )


class Element:
    """The one element of the `value` of ConstantOfShape."""

    def __init__(self, value, dtype):
        self.value, self.dtype = value, dtype


class Body:
    """A graph inside of a node."""

    def __init__(self, name, inputs, outputs, nodes):
        self.name, self.inputs, self.outputs, self.nodes = name, inputs, outputs, nodes

    def proto(self):
        helper = opset.package().helper

        infos = [
            [helper.make_tensor_value_info(v.name, opset.element_number(v.dtype), v.shape) for v in values]
            for values in (self.inputs, self.outputs)
        ]
        return helper.make_graph(self.nodes, self.name, *infos)


def _array(values, dtype):
    if dtype == "bfloat16":
        bits = np.asarray(values, np.float32).view(np.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    array = np.asarray(values)
    if np.dtype(dtype).kind in "iu" and array.dtype.kind == "f":
        if not all(math.isfinite(v) and v == int(v) for v in array.ravel().tolist()):
            raise opset.NotInOnnx(f"{array.tolist()} is no {dtype}")
    return array.astype(dtype)


def _plain(value):
    """An attribute as the onnx package takes it: dtypes by number, elements as tensors."""
    if isinstance(value, Body):
        return value.proto()
    if isinstance(value, Element):
        return tensor_of("value", value.dtype, _array([value.value], value.dtype))
    if isinstance(value, str) and value in opset._ELEMENTS.values():
        return opset.element_number(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value


def tensor_of(name, dtype, array):
    """A TensorProto."""
    onnx = opset.package()

    tensor = onnx.TensorProto(name=name, data_type=opset.element_number(dtype), dims=array.shape)
    tensor.raw_data = array.tobytes()
    return tensor
