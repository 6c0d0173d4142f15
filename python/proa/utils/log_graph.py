"""A program as the graph that TensorBoard draws: GraphDef, a message of protocol buffers."""

import re

from proa import _C
from proa.utils.proto_fields import bytes_field, integer_field

__all__ = ["graph", "program_text"]

_INPUT = re.compile(r"\s*(%\d+) = (input|captured|\w+) \"([^\"]*)\"(?: : (.*))?$")
_CALL = re.compile(r"\s*(?:(%\d+(?:, %\d+)*) = )?([A-Za-z]\w*)\((.*)$")
_SHAPE = re.compile(r"\[([^\]]*)\] (\w+)")


def program_text(model, input_spec):
    """The text of a program, or of what a layer computes of such inputs."""
    if hasattr(model, "global_block"):
        return str(model)
    from proa.jit.input_spec import InputSpec
    from proa.jit.tracing import Trace

    if input_spec is None:
        raise _C.located(ValueError("LogWriter.add_graph: input_spec is missing"))
    specs = input_spec if isinstance(input_spec, (list, tuple)) else [input_spec]
    specs = [InputSpec.from_tensor(s) if isinstance(s, _C.Tensor) else s for s in specs]
    with _C.eager_mode():
        return str(Trace(model.forward, specs, model).program)


def graph(text):
    """The GraphDef of a program's text. Slashes in names make groups: parameters and what takes them, by layer."""
    nodes, names, counts = [], {}, {}
    for line in text.splitlines():
        leaf, call = _INPUT.match(line), _CALL.match(line)
        if leaf:
            value, kind, name, type_of = leaf.groups()
            names[value] = name = _unused(name.replace(".", "/") or kind, counts)
            nodes.append(_node(name, "Placeholder" if kind == "input" else "Parameter", [], type_of or ""))
        elif call:
            results, op, rest = call.groups()
            taken, _, type_of = rest.partition(" : ")
            inputs = [names[v] for v in re.findall(r"%\d+", taken) if v in names]
            name = _unused(_group(inputs, nodes) + op, counts)
            nodes.append(_node(name, op, inputs, type_of))
            for i, value in enumerate(re.findall(r"%\d+", results or "")):
                names[value] = f"{name}:{i}" if i else name
    return b"".join(bytes_field(1, content) for content, _, _ in nodes) + bytes_field(4, integer_field(1, 1))


def _unused(name, counts):
    """A name that no node has yet."""
    found = name
    while found in counts:
        found = f"{name}_{counts[name]}"
        counts[name] += 1
    counts[found] = 1
    return found


def _group(inputs, nodes):
    """The layer of an operation: that of the parameters which it takes."""
    own = {name for _, name, kind in nodes if kind == "Parameter"}
    layers = [name.split("/")[:-1] for name in inputs if name in own]
    if not layers:
        return ""
    common = layers[0]
    for other in layers[1:]:
        common = [a for a, b in zip(common, other) if a == b]
    return "".join(part + "/" for part in common)


def _node(name, op, inputs, type_of):
    content = bytes_field(1, name) + bytes_field(2, op) + b"".join(bytes_field(3, i) for i in inputs)
    shapes = b""
    for sizes, _ in _SHAPE.findall(type_of):
        dims = [int(n) if n.isdigit() else -1 for n in sizes.split(", ") if n]
        shapes += bytes_field(7, b"".join(bytes_field(2, integer_field(1, n)) for n in dims))
    if shapes:
        content += bytes_field(5, bytes_field(1, "_output_shapes") + bytes_field(2, bytes_field(1, shapes)))
    return content, name, op
