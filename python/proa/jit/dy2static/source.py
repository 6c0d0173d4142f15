"""The syntax tree of a function, from the file that its code object names."""

import ast
import linecache

# By file: (its lines, {first line: [(node, class that it stands in)]}). Lines are compared by identity: linecache keeps them.
_files: dict = {}


def find(function):
    """(node, name of the innermost class around it or None) of a function; None if its source is not to be had."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        return None
    found = [
        (node, owner) for node, owner in _index(code.co_filename, lines).get(code.co_firstlineno, ()) if _is(node, code)
    ]
    if len(found) > 1:
        found = _around(found, code)
    return found[0] if len(found) == 1 else None


def _index(filename, lines):
    known = _files.get(filename)
    if known is None or known[0] is not lines:
        index = {}
        try:
            tree = ast.parse("".join(lines))
        except (SyntaxError, ValueError, RecursionError):
            tree = ast.Module([], [])
        _collect(tree, None, index)
        known = _files[filename] = lines, index
    return known[1]


def _collect(tree, owner, index):
    waiting = [(tree, owner)]
    while waiting:
        node, owner = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            decorators = getattr(node, "decorator_list", ())
            index.setdefault(min([node.lineno, *(d.lineno for d in decorators)]), []).append((node, owner))
        inner = node.name if isinstance(node, ast.ClassDef) else owner
        waiting += [(child, inner) for child in ast.iter_child_nodes(node)]


def _is(node, code):
    """Whether the code may be that of the node: its name and parameters are."""
    if code.co_name != getattr(node, "name", "<lambda>"):
        return False
    args = node.args
    names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    names += [a.arg for a in (args.vararg, args.kwarg) if a is not None]
    given = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    # Private names of a class are longer in the code.
    return len(names) == given and all(b.endswith(a) for a, b in zip(names, code.co_varnames, strict=False))


def _around(found, code):
    """Those of several on a line that hold all positions of the code, the smallest first; one if columns are known."""
    places = [(p[0], p[2]) for p in code.co_positions() if p[0] is not None and p[2] is not None and p[2] != p[3]]
    if not places:
        return found
    first, last = min(places), max(places)
    inside = [
        pair
        for pair in found
        if (pair[0].lineno, pair[0].col_offset) <= first and last <= (pair[0].end_lineno, pair[0].end_col_offset)
    ]
    size = lambda pair: (pair[0].end_lineno - pair[0].lineno, pair[0].end_col_offset - pair[0].col_offset)
    return sorted(inside, key=size)[:1]


def copied(node):
    """A copy of a tree, so that the tree of the file stays."""
    if isinstance(node, ast.AST):
        new = type(node).__new__(type(node))
        for name in node._fields:
            if hasattr(node, name):
                setattr(new, name, copied(getattr(node, name)))
        for name in node._attributes:
            if hasattr(node, name):
                setattr(new, name, getattr(node, name))
        return new
    return [copied(item) for item in node] if isinstance(node, list) else node


def mangle(node, owner):
    """Private names (`__x`) of a function of a class, as the compiler writes them: in place."""
    prefix = f"_{owner.lstrip('_')}"

    def private(name):
        return f"{prefix}{name}" if name.startswith("__") and not name.endswith("__") and owner.strip("_") else name

    waiting = [node]
    while waiting:
        part = waiting.pop()
        for field in ("id", "attr", "arg", "name", "asname", "rest"):
            value = getattr(part, field, None)
            if isinstance(value, str) and not (isinstance(part, ast.alias) and "." in value):
                setattr(part, field, private(value))
        if isinstance(part, (ast.Global, ast.Nonlocal)):
            part.names = [private(name) for name in part.names]
        if not isinstance(part, ast.ClassDef):  # which has names of its own
            waiting += ast.iter_child_nodes(part)
