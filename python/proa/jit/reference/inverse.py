"""The rules of `ops/<family>/reference.rules` read backwards: which op of the format one of ours is.

A rule can be read so where its body is one call of an op with its inputs, its attributes and literals:

    softmax(X; axis=-1) -> Out: softmax(X, axis)

says that `softmax(x, axis=1)` is `softmax` with X = x and the attribute axis = 1.
"""

import ast
import dataclasses
import functools
import importlib.resources

from proa import _C
from proa.jit.reference import rule
from proa.jit.reference.graph import Value
from proa.jit.reference.wire import CODES, Floats

_LITERALS = {"true": True, "false": False, "none": None}
_OPENING, _CLOSING = "([", ")]"
# Functions of the rules around the op that are nothing unless attributes say so.
_TRANSPARENT = {"act", "typed", "wide"}


@dataclasses.dataclass
class Inverse:
    """One rule: `type` is what `op` is in the format."""

    type: str
    inputs: dict  # by slot: whether it may be missing
    attributes: dict  # by name: the default
    outputs: list  # (slot, whether it may be missing, whether it is a list)
    call: ast.Call


def _logical_lines(text):
    """(whether it is indented, line), those that continue an open bracket joined."""
    pending, depth = "", 0
    for line in text.splitlines():
        code = line.split("#")[0].rstrip()
        if not code.strip():
            continue
        pending = f"{pending} {code.strip()}" if pending else code
        depth += sum(code.count(c) for c in _OPENING) - sum(code.count(c) for c in _CLOSING)
        if depth == 0:
            yield pending[0] == " ", pending.strip()
            pending = ""


def _parts(text, mark):
    """`text` at the marks that stand in no bracket and no quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        quoted ^= c == '"'
        depth += 0 if quoted else (c in _OPENING) - (c in _CLOSING)
        if depth == 0 and not quoted and text.startswith(mark, i):
            parts.append(text[start:i].strip())
            start = i + len(mark)
    return [p for p in [*parts, text[start:].strip()] if p]


def _expression(text):
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:  # an attribute named like a word of Python, lambda
        return None


def _default(text):
    for word, value in _LITERALS.items():
        text = text.replace(word, str(value))
    return ast.literal_eval(text)


def _versioned(node):
    """Whether this is `... if version > 0 else ...`: programs are written in the newest version."""
    return isinstance(node, ast.IfExp) and any(
        isinstance(n, ast.Name) and n.id == "version" for n in ast.walk(node.test)
    )


def _one_call(node):
    """The call of an op in a body, or None."""
    if _versioned(node):
        node = node.body
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TRANSPARENT:
        node = node.args[0]
    if isinstance(node, ast.List) and len(node.elts) == 1:
        return _one_call(node.elts[0])
    return node if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None


def _rules_of(text):
    """(head, lines of the body) of each rule."""
    rules, body, head = [], [], None
    for indented, line in [*_logical_lines(text), (False, "")]:
        if indented:
            body.append(line)
            continue
        if head:
            rules.append((head, body))
        before, *rest = _parts(line, ":") if line else [""]
        head = before if "->" in before and not before.startswith("def ") else None
        body = [":".join(rest)] if rest else []
    return rules


def _parts_of(head):
    """(types, text of the inputs, attributes with defaults, text of the outputs) of the head of a rule."""
    left, right = head.split("->")
    names, described = left[: left.index("(")], left[left.index("(") + 1 : left.rindex(")")]
    inputs, _, attributes = described.partition(";")
    defaults = {}
    for p in _parts(attributes, ","):
        name, _, value = p.partition("=")
        defaults[name.strip()] = _default(value)
    return [kind.partition("@")[0] for kind in _parts(names, ",")], inputs, defaults, right


def _read(text):
    for head, body in _rules_of(text):
        call = _one_call(_expression(body[0])) if len(body) == 1 else None
        if call is None:
            continue
        kinds, inputs, defaults, right = _parts_of(head)
        slots = {p.strip("?*"): "?" in p or "*" in p for p in _parts(inputs, ",")}
        outputs = [(p.strip("?*"), "?" in p, "*" in p) for p in _parts(right, ",")]
        for kind in kinds:
            yield Inverse(kind, slots, defaults, outputs, call)


def _texts():
    from proa._generated import pdmodel as families

    for file in sorted(importlib.resources.files(families).iterdir(), key=lambda f: f.name):
        if file.name.endswith(".rules"):
            yield file.read_text()


@functools.cache
def defaults():
    """The attributes that the rules know of each type, with what they are where an op does not say it."""
    found = {}
    for text in _texts():
        for head, _ in _rules_of(text):
            kinds, _, attributes, _ = _parts_of(head)
            found.update((kind, {k: v for k, v in attributes.items() if v is not None}) for kind in kinds)
    return found


@functools.cache
def inverses():
    """The rules that can be read backwards, by our op."""
    ours, found = {d["name"] for d in _C.op_registry()}, {}
    for text in _texts():
        for inverse in _read(text):
            name = inverse.call.func.id
            name = inverse.type if name == "same" else name
            if name in ours:
                found.setdefault(name, []).append(inverse)
    return found


@functools.cache
def _parameters():
    return {d["name"]: d["params"] for d in _C.op_registry()}


@functools.cache
def _outputs():
    return {d["name"]: d["outputs"] for d in _C.op_registry()}


class _Differs(Exception):
    """The rule does not say this call."""


def made(name, arguments):
    """Values of what the op is by the first rule that says this call; None if no rule does."""
    for inverse in inverses().get(name, ()):
        try:
            inputs, attributes, aligned = _bindings(inverse, name, arguments)
        except _Differs:
            continue
        return _add(inverse, name, inputs, attributes, aligned)
    return None


def _bindings(inverse, name, arguments):
    """Inputs and attributes of the op of the format."""
    params = _parameters()[name]
    inputs, attributes, aligned, said = {}, {}, False, set()
    given = list(zip([p["name"] for p in params], inverse.call.args, strict=False))
    given += [(k.arg, k.value) for k in inverse.call.keywords]
    if len(inverse.call.args) > len(params):
        raise _Differs
    for parameter, node in given:
        value = arguments.get(parameter)
        said.add(parameter)
        if isinstance(node, ast.Call) and node.func.id == "align":
            slot = node.args[1].id
            inputs[slot], attributes["axis"], aligned = value, -1, True
        elif isinstance(node, ast.Call) and node.func.id == "reduced":
            attributes["reduce_all"] = not value
            attributes[node.args[0].id] = list(value) or [0]
        elif isinstance(node, ast.Call) and node.func.id in _TRANSPARENT and isinstance(node.args[0], ast.Name):
            inputs[node.args[0].id] = value
        elif isinstance(node, ast.Name) and node.id in inverse.inputs:
            if value is None and not inverse.inputs[node.id]:
                raise _Differs
            inputs[node.id] = value
        elif isinstance(node, ast.Name) and node.id in inverse.attributes:
            attributes[node.id] = _as_attribute(value, inverse.attributes[node.id])
        elif _literal(node) != value:
            raise _Differs
    for p in params:
        if p["name"] not in said and not _is_default(p, arguments.get(p["name"])):
            raise _Differs
    return inputs, attributes, aligned


def _literal(node):
    if isinstance(node, ast.Name) and node.id in _LITERALS:
        return _LITERALS[node.id]
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise _Differs from None


def _is_default(parameter, value):
    if parameter["type"] == "Place?" or value is None:
        return True
    default = parameter["default"]
    if default is None:
        return value in ([], None)
    text = str(value).lower() if isinstance(value, bool) else str(value).replace(" ", "")
    return text == str(default).strip('"').replace(" ", "") or _same_number(value, default)


def _same_number(value, default):
    try:
        return float(value) == float(default)
    except (TypeError, ValueError):
        return False


def _as_attribute(value, default):
    """A value of ours as an attribute of the kind that the default is of."""
    if isinstance(value, Value) or value is None:
        raise _Differs
    if isinstance(value, str) and isinstance(default, int):
        return CODES[value]
    if isinstance(default, bool):
        return bool(value)
    if isinstance(default, int) and not isinstance(value, list):
        if value != int(value):
            raise _Differs
        return int(value)
    if isinstance(default, float) and not isinstance(value, list):
        return float(value)
    if isinstance(default, str) and isinstance(value, str):
        return value
    if isinstance(default, list) and isinstance(value, list) and not any(isinstance(v, Value) for v in value):
        return Floats(value) if any(isinstance(v, float) for v in [*default, *value]) else list(value)
    raise _Differs


def _add(inverse, name, inputs, attributes, aligned):
    """The op, with inputs of one type."""
    single = {slot: v for slot, v in inputs.items() if isinstance(v, Value)}
    if aligned:
        inputs.update(zip(single, rule.promoted(*single.values()), strict=True))
    else:
        floats = {slot: v for slot, v in single.items() if "float" in v.dtype}
        if len({v.dtype for v in floats.values()}) > 1:
            inputs.update(zip(floats, rule.promoted(*floats.values()), strict=True))
    ours, results, slots = _outputs()[name], iter(rule.results()), []
    for i, (slot, _, many) in enumerate(inverse.outputs):
        if many and i < len(ours):
            slots.append((slot, len(rule.results()) - i))
        else:
            slots.append((slot, 1))
    found = rule.op(inverse.type, inputs, attributes, tuple(slots), dtype=next(results).dtype)
    found = found if isinstance(found, list) else [found]
    count = len(rule.results())
    if sum(n for _, n in slots) < count:
        found += [None] * (count - len(found))
    return found[:count]
