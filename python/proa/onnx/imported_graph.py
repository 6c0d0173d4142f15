"""Graphs of ONNX made ready to run: nodes with their rules, constants, and everything checked that can be without running.

What no rule can do is noted, for all nodes, before anything runs; what is no graph at all is refused at once.
"""

import dataclasses
import functools
import importlib
import inspect
import pkgutil

import numpy as np

from proa import _C
from proa.onnx import model_file, wire
from proa.onnx.import_rule import Known

# Element types that are held in wider signed ones, and operators that would see it.
_WIDENED = {4: "uint16", 12: "uint32", 13: "uint64"}
_OF_BITS = ("BitwiseNot",)
# Versions of the operator set whose meaning the rules know.
OLDEST, NEWEST = 1, 23
_STANDARD = ("", "ai.onnx")
# How rules of other domains begin.
_DOMAINS = {"": "from_", "ai.onnx.preview.training": "from_training_"}
_FLOATS = ("float32", "float64", "float16", "bfloat16")
_MOST_KNOWN = 256  # elements of integers that are taken for shapes


class Refusal(ValueError):
    """A file that is no model, or no model that can run."""


class Rule:
    """A rule of import and what its parameters are.

    Args:
        function: `from_<Operator>`.
    """

    def __init__(self, function):
        self.function = function
        self.inputs, self.attributes, self.variadic, self.required = [], set(), False, set()
        self.kinds = {name: note.__metadata__[0] for name, note in inspect.get_annotations(function).items()
                      if hasattr(note, "__metadata__")}  # fmt: skip
        for p in inspect.signature(function).parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                self.variadic = True
                self.inputs.append(p.name)
            elif p.kind is p.KEYWORD_ONLY:
                self.attributes.add(p.name)
                if p.default is p.empty:
                    self.required.add(p.name)
            else:
                self.inputs.append(p.name)
                if p.default is p.empty:
                    self.required.add(p.name)

    def name_of_input(self, place):
        return self.inputs[min(place, len(self.inputs) - 1)]

    def kind(self, place):
        """ "numbers", "raw", "state", or None for a tensor."""
        return self.kinds.get(self.name_of_input(place))

    def why_not(self, node):
        """What of the node the rule does not take, or None."""
        if len(node.inputs) > len(self.inputs) and not self.variadic:
            return f"has {len(node.inputs)} inputs, of which {len(self.inputs)} are known"
        given = {self.name_of_input(i) for i, name in enumerate(node.inputs) if name} | set(node.attributes)
        unknown = sorted(set(node.attributes) - self.attributes - set(self.inputs))
        if unknown:
            return f"has attributes that are not known: {', '.join(unknown)}"
        missing = sorted(name for name in self.required - given if not self.variadic or name != self.inputs[-1])
        return f"lacks {', '.join(missing)}" if missing else None


@functools.cache
def rules():
    """Rules by (domain, operator): those beside the ops, and those that rules of export imply."""
    from proa._generated import onnx_import as families
    from proa.onnx import convert

    found, tensors = {}, {d["name"]: sum(p["type"] == "Tensor" for p in d["params"]) for d in _C.op_registry()}
    for name, rule in convert.rules().items():
        operator = getattr(rule, "operator", None)
        if operator and (("", operator) not in found or name == operator.lower()):
            found["", operator] = _implied(name, tensors[name])
    for module in pkgutil.iter_modules(families.__path__):
        for name, function in vars(importlib.import_module(f"{families.__name__}.{module.name}")).items():
            for domain, begin in sorted(_DOMAINS.items(), key=lambda item: -len(item[1])):
                if name.startswith(begin):
                    found[domain, name.removeprefix(begin)] = function
                    break
    return {key: Rule(function) for key, function in found.items()}


def _implied(op, tensors):
    """The rule for an operator that is an op, of one tensor or of two."""
    function = getattr(_C.ops, op)
    if tensors == 1:
        return lambda x, *, consumed_inputs=None: function(x)

    def rule(x, y, *, broadcast=0, axis=None, consumed_inputs=None):
        return function(x, aligned(x, y, axis))

    return rule


def aligned(x, y, axis):
    """`y` with dims behind it, so that its first one is dim `axis` of `x`: as versions before 7 broadcast."""
    missing = len(x.shape) - axis - len(y.shape) if axis is not None else 0
    return _C.ops.unsqueeze(y, list(range(len(y.shape), len(y.shape) + missing))) if missing > 0 else y


@dataclasses.dataclass
class Reference:
    """An attribute that a function is given with its call."""

    name: str


@dataclasses.dataclass
class Node:
    """A node: what it runs by, and where it stands."""

    op_type: str
    domain: str
    inputs: list
    outputs: list
    attributes: dict
    version: int
    place: str  # "node 3 'conv1' (Conv)"
    rule: object = None  # a Rule
    function: object = None  # a Function of the model that it calls
    ends: list = dataclasses.field(default_factory=list)  # names of the graph that nobody uses after it
    function_of: object = None  # while it runs: makes a function of a graph


@dataclasses.dataclass
class Graph:
    """A graph: names of what goes in and comes out, nodes in order, constants by name."""

    name: str
    inputs: list
    outputs: list
    nodes: list
    constants: dict
    declared: dict  # types of inputs, by name
    outer: set = dataclasses.field(default_factory=set)  # names from around it


@dataclasses.dataclass
class Function:
    """A function of the model."""

    key: tuple
    message: object
    graph: object = None


class Builder:
    """Makes graphs of messages.

    Args:
        model: a Model message.
        folder (str|None): where external data may lie.
    """

    def __init__(self, model, folder):
        self.folder, self.problems = folder, []
        self.floats = set()  # names of initializers of the main graph that are tensors of the model
        self._opsets = self._versions(model.opset_import, "the model")
        self.functions = {}
        for f in model.functions:
            key = (_domain(f.domain), f.name)
            if key in self.functions:
                raise Refusal(f"function {f.name!r} is there twice")
            self.functions[key] = Function(key, f)
        self._building, self._widened, self._of_bits = [], set(), []
        if model.graph is None:
            raise Refusal("there is no graph in it")
        self.graph = self._graph(model.graph, self._opsets, "", set(), main=True)
        if self._widened:
            self.problems += [f"{place}: of {' and '.join(sorted(self._widened))}, which the model has and which are held in "
                              "wider integers here, it would give other numbers" for place in self._of_bits]  # fmt: skip

    def _versions(self, imports, where):
        found = {}
        for entry in imports:
            found[_domain(entry.domain)] = entry.version
        version = found.get("")
        if version is not None and not OLDEST <= version <= NEWEST:
            self.problems.append(f"{where} is of version {version} of the operators; {OLDEST} to {NEWEST} are known")
        return found

    def _graph(self, message, opsets, where, around, main=False):
        constants, name = {}, message.name
        for tensor in message.initializer:
            if tensor.name in constants:
                raise Refusal(f"{where}initializer {tensor.name!r} is there twice")
            constants[tensor.name] = self._constant(tensor, f"{where}initializer {tensor.name!r}")
        for sparse in message.sparse_initializer:
            label = sparse.values.name if sparse.values is not None else ""
            constants[label] = self._sparse(sparse, f"{where}sparse initializer {label!r}")
        inputs = [v.name for v in message.input if v.name not in constants]
        if len(set(inputs)) != len(inputs):
            raise Refusal(f"{where}two inputs have one name")
        declared = {v.name: v.type for v in message.input}
        for v in message.input:
            self._note_type(
                v.type.tensor_type.elem_type if v.type is not None and v.type.tensor_type is not None else 0
            )
        if not main:  # an initializer that is an input too is given by who runs the body
            inputs = [v.name for v in message.input]
        graph = Graph(name, inputs, [v.name for v in message.output], [], constants, declared)
        self._nodes(graph, message.node, opsets, where, around)
        return graph

    def _nodes(self, graph, messages, opsets, where, around):
        known = set(graph.inputs) | set(graph.constants)
        made_by = {}
        for number, message in enumerate(messages):
            for name in message.output:
                made_by.setdefault(name, number)
        for number, message in enumerate(messages):
            label = f" {message.name!r}" if message.name else ""
            place = f"{where}node {number}{label} ({message.op_type})"
            for name in message.input:
                if name and name not in known and name not in around:
                    if name in made_by:
                        raise Refusal(f"{place}: takes {name!r}, which node {made_by[name]} makes later: the graph is "
                                      "cyclic, or its nodes are out of order")  # fmt: skip
                    raise Refusal(f"{place}: takes {name!r}, which nothing gives: no input, initializer or node")
            node = self._node(message, opsets, place, around | known)
            for name in message.output:
                if name and name in known and name not in graph.inputs:
                    raise Refusal(f"{place}: makes {name!r}, which is there already")
                if name in graph.inputs:
                    raise Refusal(f"{place}: makes {name!r}, which is an input")
            known.update(name for name in message.output if name)
            if node is None:
                continue
            if node.op_type == "Constant" and node.domain == "" and node.function is None:
                graph.constants[node.outputs[0]] = self._value_of_constant(node)
                continue
            graph.nodes.append(node)
        for name in graph.outputs:
            if name and name not in known and name not in around:
                raise Refusal(f"{where}output {name!r} is made by no node")
        self._note_ends(graph, known)

    def _note_ends(self, graph, known):
        """Of each node the names that are not used after it; and what the graph takes from around it."""
        kept = set(graph.outputs) | set(graph.constants)
        for node in reversed(graph.nodes):
            used = set(node.inputs)
            for g in graphs_of(node):
                used |= g.outer
            graph.outer |= {n for n in used if n and n not in known}
            node.ends = [n for n in used if n and n in known and n not in kept]
            node.ends += [n for n in node.outputs if n and n not in kept and n not in used]
            kept |= used
        graph.outer |= {n for n in graph.outputs if n not in known}

    def _node(self, message, opsets, place, around):
        domain = _domain(message.domain)
        if not all(isinstance(name, str) for name in message.input):
            raise Refusal(f"{place}: inputs without names")
        attributes = {}
        for a in message.attribute:
            if a.name in attributes:
                raise Refusal(f"{place}: attribute {a.name!r} is there twice")
            attributes[a.name] = self._attribute(a, opsets, place, around)
        node = Node(
            message.op_type, domain, list(message.input), list(message.output), attributes, opsets.get(domain, 0), place
        )
        function = self.functions.get((domain, message.op_type))
        if function is not None:
            node.function = self._called(function, place)
            if len(node.inputs) > len(function.message.input) or len(node.outputs) > len(function.message.output):
                raise Refusal(f"{place}: more inputs or outputs than its function has")
            return node
        if domain not in opsets:
            if domain in _DOMAINS:
                raise Refusal(f"{place}: the model does not say which version of {domain or 'ai.onnx'} it is of")
            self.problems.append(f"{place}: no operator of the domain {domain!r} is known")
            return node
        if domain == "" and message.op_type == "Constant":
            if len(node.outputs) != 1:
                raise Refusal(f"{place}: a constant has one output; it names {len(node.outputs)}")
            return node
        if message.op_type == "Cast":
            self._note_type(attributes.get("to"))
        if message.op_type in _OF_BITS and domain == "":
            self._of_bits.append(place)
        node.rule = rules().get((domain, message.op_type))
        if node.rule is None:
            what = f"{domain}.{message.op_type}" if domain else message.op_type
            self.problems.append(f"{place}: the operator {what} of version {node.version} is not known")
            return node
        why = node.rule.why_not(node)
        if why:
            self.problems.append(f"{place}: {why}")
        return node

    def _called(self, function, place):
        """The function, built when it is called first."""
        if function.key in self._building:
            raise Refusal(f"{place}: the function calls itself")
        if function.graph is None:
            if len(self._building) > 50:
                raise Refusal(f"{place}: functions call each other more than 50 deep")
            self._building.append(function.key)
            m = function.message
            graph = Graph(m.name, list(m.input), list(m.output), [], {}, {})
            where = f"function {m.name!r}: "
            self._nodes(graph, m.node, self._versions(m.opset_import, where), where, set())
            function.defaults = {a.name: self._attribute(a, self._opsets, where, set()) for a in m.attribute_proto}
            function.graph = graph
            self._building.pop()
        return function

    def _note_type(self, number):
        if isinstance(number, int) and number in _WIDENED:
            self._widened.add(_WIDENED[number])

    def _constant(self, tensor, place):
        self._note_type(tensor.data_type)
        try:
            dtype, array = model_file.array_of(tensor, self.folder)
        except ValueError as error:
            raise Refusal(f"{place}: {error}") from None
        return Known(array, dtype)

    def _sparse(self, sparse, place):
        if sparse.values is None or sparse.indices is None:
            raise Refusal(f"{place}: it has no values or no indices")
        values, indices = (self._constant(t, place) for t in (sparse.values, sparse.indices))
        shape, at = list(sparse.dims), indices.array
        count = len(values.array.reshape(-1))
        total = int(np.prod(np.array(shape or [1], object)))
        if min(shape, default=0) < 0 or total > 64 * max(count, 1024) or indices.dtype != "int64":
            raise Refusal(f"{place}: {count} values in sizes {shape}; so thin tensors are not made dense")
        try:
            dense = np.zeros(shape, values.array.dtype)
            places = at if at.ndim == 1 else np.ravel_multi_index(tuple(at.T), shape)
            if (places < 0).any():
                raise _C.located(ValueError("negative places"))
            dense.reshape(-1)[places] = values.array.reshape(-1)
        except (ValueError, IndexError) as error:
            raise Refusal(f"{place}: {error}") from None
        return Known(dense, values.dtype)

    def _attribute(self, a, opsets, place, around):
        if a.ref_attr_name:
            return Reference(a.ref_attr_name)
        where = f"{place}: attribute {a.name!r}"
        kind = a.type or _guessed(a)
        if kind == 1:
            return a.f
        if kind == 2:
            return a.i
        if kind == 3:
            return _text(a.s, where)
        if kind == 4 and a.t is not None:
            return self._constant(a.t, where)
        if kind == 5 and a.g is not None:
            return self._graph(a.g, opsets, f"{place}: ", around)
        if kind in (6, 7):
            return list(a.floats if kind == 6 else a.ints)
        if kind == 8:
            return [_text(s, where) for s in a.strings]
        if kind == 11 and a.sparse_tensor is not None:
            return self._sparse(a.sparse_tensor, where)
        if kind == 13 and a.tp is not None:
            return a.tp
        raise Refusal(f"{where} has the type {kind}, which is not known, or nothing in it")

    def _value_of_constant(self, node):
        given = list(node.attributes.items())
        if len(given) != 1:
            raise Refusal(f"{node.place}: a constant has one value")
        name, value = given[0]
        if isinstance(value, Reference):
            return value
        if isinstance(value, Known):
            return value
        forms = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64",
                 "value_string": "string", "value_strings": "string"}  # fmt: skip
        if name not in forms:
            raise Refusal(f"{node.place}: a constant has no {name!r}")
        dtype = forms[name]
        try:
            return Known(np.array(value, object if dtype == "string" else dtype), dtype)
        except (ValueError, TypeError, OverflowError):
            raise Refusal(f"{node.place}: {name} is of another type") from None


def graphs_of(node):
    """The graphs in the attributes of a node."""
    return [value for value in node.attributes.values() if isinstance(value, Graph)]


def _domain(name):
    return "" if name in _STANDARD else name


def _text(raw, where):
    try:
        return bytes(raw).decode()
    except UnicodeDecodeError:
        raise Refusal(f"{where} is no text") from None


def _guessed(a):
    """The type of an attribute of a file that does not say it."""
    said = [("f", 1), ("i", 2), ("s", 3), ("t", 4), ("g", 5), ("floats", 6), ("ints", 7), ("strings", 8)]
    return next((kind for name, kind in said if name in a.__dict__), 0)


def read(data, folder):
    """(the main Graph, its Builder) of the bytes of a file.

    Raises:
        Refusal: they are no model that can run; of operators that are not known the message has all.
    """
    try:
        model = model_file.read(data)
    except wire.Damaged as error:
        raise Refusal(f"{error}; the file is damaged, or no ONNX model") from None
    builder = Builder(model, folder)
    if builder.problems:
        lines = "\n".join(f"  {problem}" for problem in builder.problems[:1000])
        more = f"\n  and {len(builder.problems) - 1000} more" if len(builder.problems) > 1000 else ""
        raise Refusal(f"{len(builder.problems)} places cannot be run here:\n{lines}{more}")
    return builder.graph, builder


def roles(graph):
    """What the constants of a graph are: {name: "parameter", "state" or "known"}, by the inputs they go to."""
    kinds = {}
    _note_kinds(graph, kinds)
    found = {}
    for name, value in graph.constants.items():
        uses = kinds.get(name, set())
        if value.__class__ is Reference or value.dtype == "string" or uses and uses <= {"numbers"}:
            found[name] = "known"
        elif value.dtype in _FLOATS:
            found[name] = "state" if uses and uses <= {"state", "numbers"} else "parameter"
        else:
            found[name] = "known" if value.array.size <= _MOST_KNOWN else "state"
    return found


def _note_kinds(graph, kinds, hidden=frozenset()):
    for node in graph.nodes:
        for i, name in enumerate(node.inputs):
            if name and name not in hidden:
                kinds.setdefault(name, set()).add(node.rule.kind(i) if node.rule else None)
        for inner in graphs_of(node):
            _note_kinds(inner, kinds, hidden | set(inner.constants) | set(inner.inputs))
    for name in graph.outputs:
        kinds.setdefault(name, set()).add(None)
