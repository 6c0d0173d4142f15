"""`upgrade`: the text of a program of 1.8 as one of 2.x."""

import ast
import functools
import inspect
import re

from proa.upgrade.names import ADDED, HINTS, NAMES, PARAMETERS, UNSET, VALUES, WITHOUT_EFFECT

__all__ = ["Upgraded", "upgrade"]

# Modules of 1.8 whose names are those of the module above them.
_INNER = re.compile(
    r"^(?:(?P<dygraph>dygraph)\.(?:nn|base|layers|container|parallel|checkpoint|jit)|"
    r"(?P<layers>layers)\.(?:nn|tensor|ops|loss|control_flow|metric_op|io)|"
    r"(?:param_attr|framework|executor|compiler|core))\.(?P<name>\w+)$"
)


class Upgraded:
    r"""What `upgrade` gives: the `text`, the number of `changes`, and what is `left`: [(line, name, why)].

    Examples:
        >>> from proa.upgrade import upgrade
        >>> upgraded = upgrade("import paddle.fluid as fluid\ny = fluid.layers.relu(x)\n")
        >>> upgraded.text, upgraded.left
        ('import paddle\ny = paddle.nn.functional.relu(x)\n', [])
    """

    def __init__(self, text, changes, left):
        self.text, self.changes, self.left = text, changes, left


def upgrade(source):
    """A program of 1.8 as one of 2.x, as far as each call means the same there.

    Args:
        source (str): Python.

    Returns:
        Upgraded: the text, and what is left to do by hand.

    Raises:
        SyntaxError: the source is not Python 3.

    Examples:
        >>> from proa.upgrade import upgrade
        >>> print(upgrade("import paddle.fluid as fluid\\ny = fluid.layers.reduce_sum(x, dim=1)  # sum\\n").text)
        import paddle
        y = paddle.sum(x, axis=1)  # sum
    """
    return _Rewriter(source).run()


def _canonical(name):
    """A name below paddle.fluid as the table has it."""
    if name in NAMES or name in HINTS:
        return name
    inner = _INNER.match(name)
    if inner is None:
        return name
    home = inner["dygraph"] or inner["layers"]
    return f"{home}.{inner['name']}" if home else inner["name"]


@functools.cache
def _signature(path):
    """Names of the parameters of proa.<path>, in their order, without self; None where there are none to see."""
    import importlib

    import proa

    value = proa
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            value = importlib.import_module(f"{value.__name__}.{part}")
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in parameters if p.kind in plain]


class _Leave(Exception):
    """Why a call cannot be rewritten."""


class _Rewriter:
    def __init__(self, source):
        self._tree = ast.parse(source)
        self._source = source.encode()
        starts = [0]
        for line in self._source.split(b"\n"):
            starts.append(starts[-1] + len(line) + 1)
        self._starts = starts
        self._edits, self._left, self._kept = [], [], set()
        self._homes, self._imports = {}, []
        self._shadowed = set()
        self._uses_static = self._uses_eager = False

    def run(self):
        for node in ast.walk(self._tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._note_import(node)
        self._leave_shadowed()
        if not self._homes:
            return Upgraded(self._source.decode(), 0, sorted(self._left))
        self._visit(self._tree)
        changes = len(self._edits)
        if changes:
            self._change_imports()
        text = self._source
        for start, end, new in sorted(self._edits, reverse=True):
            text = text[:start] + new.encode() + text[end:]
        return Upgraded(text.decode(), changes, sorted(self._left))

    # Where things are

    def _span(self, node):
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node):
        start, end = self._span(node)
        return self._source[start:end].decode()

    def _replace(self, node, new):
        self._edits.append((*self._span(node), new))

    # Imports

    def _note_import(self, node):
        before = len(self._homes)
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[:2] == ["paddle", "fluid"]:
                    self._homes[alias.asname or "paddle"] = alias.name if alias.asname else "paddle"
        elif not node.level and node.module and node.module.split(".")[0] == "paddle":
            for alias in node.names:
                if alias.name == "*" and node.module.split(".")[:2] == ["paddle", "fluid"]:
                    why = "which names come with it is not to be seen; import the names, or paddle.fluid as fluid"
                    self._left.append((node.lineno, f"from {node.module} import *", why))
                    continue
                full = f"{node.module}.{alias.name}"
                if full.split(".")[:2] == ["paddle", "fluid"]:
                    self._homes[alias.asname or alias.name] = full
        if len(self._homes) > before:
            self._imports.append(node)

    def _leave_shadowed(self):
        """Names that are bound to something else, too, stay as they are: which of both is meant is not to be seen."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.arg):
                name = node.arg
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                name = node.id
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = node.name
            else:
                continue
            if name in self._homes and name != "paddle":
                why = "this name is bound here, too; what is reached by it is left as it is"
                self._left.append((node.lineno, name, why))
                self._shadowed.add(name)
        for name in self._shadowed:
            del self._homes[name]

    def _change_imports(self):
        has_paddle = any(
            isinstance(node, ast.Import) and any(a.name == "paddle" and a.asname is None for a in node.names)
            for node in self._tree.body
        )
        wanted = "" if has_paddle else "import paddle"
        last = None
        for node in self._imports:
            names = node.names
            local = {
                (a.asname or a.name.split(".")[0] if isinstance(node, ast.Import) else a.asname or a.name): a
                for a in names
            }
            unused = [a for name, a in local.items() if name in self._homes and name not in self._kept]
            if len(unused) == len(names):
                new = wanted
                wanted = ""
                if not new:
                    self._remove_line(node)
                    continue
                self._replace(node, new)
            last = node
        # Programs of 1.8 record unless they say otherwise.
        switch = "paddle.enable_static()" if self._uses_static and not self._uses_eager else ""
        lines = [line for line in (wanted, switch) if line]
        if lines:
            tops = [n for n in self._tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
            after = (tops or [last])[-1]
            _, end = self._span(after)
            rest = self._source.find(b"\n", end)
            end = len(self._source) if rest < 0 else rest
            self._edits.append((end, end, "\n" + "\n".join(lines)))

    def _remove_line(self, node):
        start, end = self._span(node)
        if self._source[end : end + 1] == b"\n" and self._source[start - 1 : start] in (b"\n", b""):
            self._edits.append((start, end + 1, ""))
        else:
            self._edits.append((start, end, "pass"))

    # Names

    def _name(self, node):
        """The full name of a chain of attributes that begins with what was imported from paddle.fluid, or None."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._homes:
            return None
        full = ".".join([self._homes[node.id], *reversed(parts)])
        return full if full == "paddle.fluid" or full.startswith("paddle.fluid.") else None

    def _visit(self, node):
        if isinstance(node, ast.Call):
            name = self._name(node.func)
            if name is not None:
                self._call(node, name)
                for inner in [*node.args, *(k.value for k in node.keywords)]:
                    self._visit(inner)
                return
        elif isinstance(node, (ast.Attribute, ast.Name)):
            name = self._name(node)
            if name is not None:
                self._reference(node, name)
                return
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            return
        for child in ast.iter_child_nodes(node):
            self._visit(child)

    def _keep(self, node, name, why):
        while isinstance(node, ast.Attribute):
            node = node.value
        self._kept.add(node.id)
        self._left.append((node.lineno, name.removeprefix("paddle."), why))

    def _reference(self, node, name):
        old = _canonical(name.removeprefix("paddle.fluid").removeprefix("."))
        self._uses_eager = self._uses_eager or old.startswith("dygraph")
        if old in NAMES:
            self._uses_static = self._uses_static or NAMES[old].startswith("static.")
            self._replace(node, f"paddle.{NAMES[old]}")
        else:
            self._keep(node, name, HINTS.get(old, "no successor that is known here"))

    def _call(self, node, name):
        old = _canonical(name.removeprefix("paddle.fluid").removeprefix("."))
        self._uses_eager = self._uses_eager or old.startswith("dygraph")
        if old not in NAMES:
            return self._keep(node.func, name, HINTS.get(old, "no successor that is known here"))
        new = NAMES[old]
        edits = self._edits
        self._edits = []
        try:
            self._arguments(node, old, new)
        except _Leave as why:
            self._edits = edits
            return self._keep(node.func, name, str(why))
        self._edits = [*edits, *self._edits]
        self._uses_static = self._uses_static or new.startswith("static.")
        return self._replace(node.func, f"paddle.{new}")

    # Arguments

    def _arguments(self, node, old, new):
        olds, news = _signature(f"fluid.{old}"), _signature(new)
        if old == "dygraph.Embedding":
            return self._sizes_of_embedding(node, news)
        if olds is None or news is None:
            return None
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            raise _Leave(f"its arguments are in a list or dict; paddle.{new} has other ones")
        if len(node.args) > len(olds):
            raise _Leave("more arguments than it has")
        given = set()
        in_order = True
        for i, argument in enumerate(node.args):
            given.add(olds[i])
            target = self._target(olds[i], old, new, olds, news, argument)
            if target is None:
                self._remove(node, argument)
                in_order = False
                continue
            in_order = in_order and i < len(news) and news[i] == target
            text = self._value(old, olds[i], argument)
            if not in_order:
                start, _ = self._span(argument)
                self._edits.append((start, start, f"{target}="))
            if text is not None:
                self._replace(argument, text)
        for keyword in node.keywords:
            given.add(keyword.arg)
            target = self._target(keyword.arg, old, new, olds, news, keyword.value)
            if target is None:
                self._remove(node, keyword)
                continue
            if target != keyword.arg:
                start, _ = self._span(keyword)
                self._edits.append((start, start + len(keyword.arg.encode()), target))
            text = self._value(old, keyword.arg, keyword.value)
            if text is not None:
                self._replace(keyword.value, text)
        for parameter, text in ADDED.get(old, {}).items():
            if parameter not in given:
                _, end = self._span(node)
                comma = "" if not (node.args or node.keywords) else ", "
                self._edits.append((end - 1, end - 1, comma + text))
        return None

    def _target(self, parameter, old, new, olds, news, value):
        """What the successor calls a parameter; None to leave it out."""
        if parameter not in olds:
            raise _Leave(f"{old} has no parameter {parameter}")
        own = PARAMETERS.get(old, {})
        for name in (own.get(parameter), parameter, PARAMETERS[""].get(parameter)):
            if name in news:
                return name
        if parameter in WITHOUT_EFFECT or ast.unparse(value) == UNSET.get(parameter, "None"):
            return None
        raise _Leave(f"paddle.{new} has no {parameter}")

    def _value(self, old, parameter, value):
        """Another text for a value, or None."""
        table = VALUES.get((old, parameter))
        if table is None:
            return None
        if not isinstance(value, ast.Constant):
            raise _Leave(f"{parameter} is calculated; its values are called otherwise")
        return repr(table[value.value]) if value.value in table else None

    def _remove(self, node, argument):
        """Takes an argument out, with the comma before it, or else the one after it."""
        start, end = self._span(argument)
        before = self._source[:start].rstrip()
        if before.endswith(b","):
            self._edits.append((len(before) - 1, end, ""))
            return
        after = len(self._source) - len(self._source[end:].lstrip())
        if self._source[after : after + 1] == b",":
            after += 1
            end = len(self._source) - len(self._source[after:].lstrip(b" "))
        self._edits.append((start, end, ""))

    def _sizes_of_embedding(self, node, news):
        """Embedding(size=[number, dim], ...) of 1.8 is Embedding(number, dim, ...)."""
        names = ["size", "is_sparse", "is_distributed", "padding_idx", "param_attr", "dtype"]
        pairs = [*zip(names, node.args), *((k.arg, k.value) for k in node.keywords)]
        texts = []
        for name, value in pairs:
            if name == "size" and isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) == 2:
                texts[:0] = [self._text(item) for item in value.elts]
            elif name == "is_sparse":
                texts.append(f"sparse={self._text(value)}")
            elif name in ("padding_idx", "param_attr"):
                texts.append(f"{PARAMETERS[''].get(name, name)}={self._text(value)}")
            elif name == "dtype" and isinstance(value, ast.Constant) and value.value == "float32":
                continue
            else:
                raise _Leave("paddle.nn.Embedding takes the two sizes by themselves")
        if not pairs or self._name_inside(node):
            raise _Leave("paddle.nn.Embedding takes the two sizes by themselves")
        start, _ = self._span(node.func)
        _, end = self._span(node)
        opening = self._span(node.func)[1]
        self._edits.append((opening, end, f"({', '.join(texts)})"))

    def _name_inside(self, node):
        return any(self._name(inner) for argument in [*node.args, *node.keywords] for inner in ast.walk(argument))
