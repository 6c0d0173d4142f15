"""Models read from files of ONNX, as layers."""

import os

import numpy as np

from proa import _C
from proa.framework import container
from proa.framework.parameter import Parameter
from proa.nn import Layer
from proa.onnx import import_rule, imported_graph, model_file, numbers
from proa.onnx.import_rule import EMPTY, Known, known, tensor_of
from proa.static import InputSpec


def load(path_or_bytes):
    """The layer of `proa.onnx.load`."""
    if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
        return _layer(bytes(path_or_bytes), None, "the model")
    path = os.fspath(path_or_bytes)
    with container.open_regular(path) as file:
        data = file.read()
    return _layer(data, os.path.dirname(os.path.abspath(path)), path)


def _layer(data, folder, source):
    try:
        graph, _ = imported_graph.read(data, folder)
        return ImportedLayer(graph, source)
    except imported_graph.Refusal as error:
        raise _C.located(ValueError(f"onnx.load: {source}: {error}")) from None


class ImportedLayer(Layer):
    """A model of ONNX as a layer: takes its inputs in order or by name, gives its output, or a list of its outputs.

    What the file has as initializers of floating dtypes are parameters under their names; statistics of normalizations
    and integer weights are buffers. It computes as the file says in training too: its batch normalizations keep
    their statistics. `proa.onnx.load` makes it.

    Attributes:
        input_spec (list): an InputSpec for each input, for `jit.save`, `to_static` and `onnx.export`.
        input_names (list), output_names (list): of str.
    """

    def __init__(self, graph, source):
        super().__init__()
        self._graph, self._source = graph, source
        self.input_names, self.output_names = list(graph.inputs), list(graph.outputs)
        self.input_spec = [_spec(name, graph.declared.get(name)) for name in graph.inputs]
        self._held = {}  # attributes by names of initializers
        for name, role in imported_graph.roles(graph).items():
            if role == "known":
                continue
            tensor = graph.constants.pop(name).tensor()
            free = self._free_name(name)
            if role == "parameter":
                self._parameters[free] = Parameter(tensor, free)
            else:
                self._buffers[free] = tensor
            self._held[name] = free

    def _free_name(self, name):
        free, count = name or "initializer", 0
        while hasattr(self, free):
            count += 1
            free = f"{name}_{count}"
        return free

    def forward(self, *inputs, **named):
        values = self._bound(inputs, named)
        for name, attribute in self._held.items():
            values[name] = self.__dict__[attribute]
        results = _Frame(self._graph, values, None, {}, self._source).run()
        found = [_result(value, name) for value, name in zip(results, self.output_names, strict=True)]
        return found[0] if len(found) == 1 else found

    def _bound(self, inputs, named):
        """Values of inputs by name."""
        if len(inputs) > len(self.input_names):
            raise _C.located(
                TypeError(
                    f"{self._source}: {len(inputs)} inputs given; it takes {len(self.input_names)}: {self.input_names}"
                )
            )
        values = dict(zip(self.input_names, inputs, strict=False))
        for name, value in named.items():
            if name not in self.input_names or name in values:
                raise _C.located(TypeError(f"{self._source}: {name!r} is no input that is still open"))
            values[name] = value
        missing = [name for name in self.input_names if name not in values]
        if missing:
            raise _C.located(TypeError(f"{self._source}: inputs {missing} are missing"))
        for name, spec in zip(self.input_names, self.input_spec, strict=True):
            values[name] = self._checked(name, values[name], spec)
        return values

    def _checked(self, name, value, spec):
        if isinstance(value, (list, tuple)):
            return [self._checked(name, v, None) for v in value]
        if value is None:
            return EMPTY
        if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
            return Known(value.astype(object), "string")
        tensor = value if isinstance(value, _C.Tensor) else _C.to_tensor(value)
        if spec is None or spec.dtype is None:
            return tensor
        if tensor.dtype != spec.dtype:
            raise _C.located(
                TypeError(
                    f"{self._source}: input {name!r} is {spec.dtype.name}, not {tensor.dtype.name}; cast it before"
                )
            )
        have = tensor.shape
        if spec.shape is not None and (
            len(have) != len(spec.shape)
            or any(
                not hasattr(a, "tensor") and b not in (-1, None) and a != b
                for a, b in zip(have, spec.shape, strict=True)
            )
        ):
            raise _C.located(ValueError(f"{self._source}: input {name!r} is {list(spec.shape)}, not {list(have)}"))
        return tensor


def _spec(name, declared):
    """The InputSpec of a type, None where it is no tensor."""
    tensor = declared.tensor_type if declared is not None else None
    if tensor is None or tensor.elem_type == 8:
        return None
    try:
        dtype = model_file.dtype_of(tensor.elem_type)
    except ValueError as error:
        raise imported_graph.Refusal(f"input {name!r}: {error}") from None
    dims = [d.dim_value for d in tensor.shape.dim] if tensor.shape is not None else []
    # A size of 0 with no name is how files leave it open.
    sizes = [None if d.dim_param or d.dim_value <= 0 else d.dim_value for d in tensor.shape.dim] if dims else []
    if any(d < -1 or d >= 2**62 for d in dims):
        raise imported_graph.Refusal(f"input {name!r}: sizes {dims}")
    spec = InputSpec(sizes, dtype, name)
    if tensor.shape is None:
        return None
    return spec


def _result(value, name):
    if isinstance(value, list):
        return [_result(v, name) for v in value]
    if value is EMPTY or value is None:
        return None
    if isinstance(value, Known) and value.dtype == "string":
        return value.array
    return tensor_of(value)


class _Frame:
    """One run of a graph.

    Args:
        graph (Graph): what runs.
        values (dict): by name.
        outer (_Frame|None): whose values it sees.
        attributes (dict): of the function that it is.
        source (str): for errors.
    """

    def __init__(self, graph, values, outer, attributes, source):
        self.graph, self.values, self.outer, self.attributes, self.source = graph, values, outer, attributes, source

    def run(self):
        for node in self.graph.nodes:
            results = self._run(node)
            for name, value in zip(node.outputs, results, strict=False):
                if name:
                    self.values[name] = value
            for name in node.ends:
                self.values.pop(name, None)
        return [self.value(name) for name in self.graph.outputs]

    def value(self, name):
        frame = self
        while frame is not None:
            if name in frame.values:
                return frame.values[name]
            if name in frame.graph.constants:
                return frame._constant(name)
            frame = frame.outer
        raise _C.located(ValueError(f"{name!r} has no value: it was left out where the function was called"))

    def _constant(self, name):
        value = self.graph.constants[name]
        if not isinstance(value, imported_graph.Reference):
            return value
        value = self.attributes.get(value.name)
        if isinstance(value, Known):
            return value
        if value is None:
            raise _C.located(ValueError(f"the attribute of {name!r} was left out where the function was called"))
        whole = value[0] if isinstance(value, list) and value else value
        dtype = "float32" if isinstance(whole, float) else "string" if isinstance(whole, str) else "int64"
        return Known(np.array(value, object if dtype == "string" else dtype), dtype)

    def _run(self, node):
        inputs = [self.value(name) if name else None for name in node.inputs]
        attributes = {name: self.attributes.get(a.name) if isinstance(a, imported_graph.Reference) else a
                      for name, a in node.attributes.items()}  # fmt: skip
        attributes = {name: a for name, a in attributes.items() if a is not None}
        try:
            if node.function is not None:
                return self._call(node.function, inputs, attributes)
            made = numbers.computed(_Running(node, attributes, self), inputs)
            if made is not None:
                return [made]
            return self._apply(node, inputs, attributes)
        except Exception as error:
            if type(error) in _OF_PYTHON:
                refused = import_rule.Refused(f"{_what_was_given(inputs, attributes)} do not fit the operator: {error}")
                _say_where(refused, f"{self.source}: {node.place}")
                raise refused from error
            _say_where(error, f"{self.source}: {node.place}")
            raise

    def _call(self, function, inputs, attributes):
        values = {name: value for name, value in zip(function.message.input, inputs, strict=False) if value is not None}
        given = {**function.defaults, **attributes}
        return _Frame(function.graph, values, None, given, self.source).run()

    def _apply(self, node, inputs, attributes):
        rule = node.rule
        arguments = []
        for i, value in enumerate(inputs):
            kind = rule.kind(i)
            if kind == "raw" or value is None:
                arguments.append(value)
            elif kind == "numbers":
                arguments.append(known(value, rule.name_of_input(i)))
            elif isinstance(value, list) or value is EMPTY:
                raise import_rule.Refused(f"{rule.name_of_input(i)} must be a tensor, not a sequence or an optional")
            else:
                arguments.append(tensor_of(value))
        while arguments and arguments[-1] is None and not rule.variadic:
            arguments.pop()
        before = import_rule._running.node
        import_rule._running.node = _Running(node, attributes, self)
        try:
            made = rule.function(*arguments, **attributes)
        finally:
            import_rule._running.node = before
        results = list(made) if isinstance(made, tuple) else [made]
        if len(results) < sum(bool(name) for name in node.outputs):
            raise import_rule.Refused(f"gives {len(results)} outputs; the node names {len(node.outputs)}")
        return results


class _Running:
    """The node that runs, for rules."""

    def __init__(self, node, attributes, frame):
        self.version, self.outputs, self.attributes = node.version, node.outputs, attributes
        self.op_type, self.domain, self._frame = node.op_type, node.domain, frame

    def function_of(self, graph):
        if not isinstance(graph, imported_graph.Graph):
            raise import_rule.Refused(f"an attribute that must be a graph is {graph!r:.80}")

        def run(*inputs):
            if len(inputs) != len(graph.inputs):
                raise import_rule.Refused(f"its body takes {len(graph.inputs)} values, not {len(inputs)}")
            frame = self._frame
            values = dict(zip(graph.inputs, inputs, strict=True))
            return _Frame(graph, values, frame, frame.attributes, frame.source).run()

        return run


# A rule takes the attributes that it knows of the types that ONNX says, and tensors of enough dims. Those of a file may
# be others; what then goes wrong in the middle of it, Python says in words that mean nothing to whoever has the file.
_OF_PYTHON = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError, ZeroDivisionError)


def _what_was_given(inputs, attributes):
    """Inputs by their sizes, and attributes."""
    told = ", ".join(map(_told, inputs))
    return f"inputs ({told}) and attributes {attributes!r:.200}"


def _told(value):
    if isinstance(value, Known):
        return f"{list(value.array.shape)} {value.dtype}"
    if isinstance(value, _C.Tensor):
        return f"{list(value.shape)} {value.dtype.name}"
    return "none" if value is None or value is EMPTY else type(value).__name__


_said = "_proa_onnx_place"


def _say_where(error, place):
    """The node goes before the message, once."""
    if getattr(error, _said, False) or not error.args or not isinstance(error.args[0], str):
        return
    try:
        setattr(error, _said, True)
    except AttributeError:
        return
    error.args = (f"{place}: {error.args[0]}", *error.args[1:])
