"""What the names of a function are: bound where, changed where, and whether a statement leaves its block."""

import ast

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def own(nodes, into_comprehensions=True):
    """The nodes of statements or expressions that belong to their function: not those of functions and classes in it."""
    waiting = list(reversed(nodes if isinstance(nodes, list) else [nodes]))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, FUNCTIONS):
            arguments = node.args
            inner = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
            inner += getattr(node, "decorator_list", [])
        elif isinstance(node, ast.ClassDef):
            inner = [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
        elif isinstance(node, _COMPREHENSIONS) and not into_comprehensions:
            inner = []
        else:
            inner = list(ast.iter_child_nodes(node))
        waiting += reversed(inner)


def bound(nodes):
    """The names that statements bind, in the order of the text."""
    names = {}
    targets_of_comprehensions = set()
    for node in own(nodes):
        if isinstance(node, _COMPREHENSIONS):
            for part in node.generators:
                targets_of_comprehensions.update(id(n) for n in ast.walk(part.target))
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if id(node) not in targets_of_comprehensions:
                names[node.id] = None
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names[node.name] = None
        elif isinstance(node, ast.alias):
            names[(node.asname or node.name).split(".")[0]] = None
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names[node.name] = None
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names[node.rest] = None
    return list(names)


def declared(nodes, kind):
    """The names of `global` or `nonlocal` statements."""
    return {name for node in own(nodes) if isinstance(node, kind) for name in node.names}


def dotted(node):
    """`self.a.b` as ("self", "a", "b"); None for what is no chain of names."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return (node.id, *parts) if isinstance(node, ast.Name) else None


def changed(nodes):
    """(attributes that are assigned, what is changed in place), as dotted names, of the statements of a block.

    Changed in place is what gets an item (`y[0] = v`), and what a method is called of that may do so: its name ends
    in an underscore, as those of tensors, or begins it. Lists and dicts are found when the function runs.
    """
    attributes = {}
    items = {}
    for node in own(nodes):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            name = dotted(node)
            if name is not None and node.attr == "stop_gradient":
                items[name[:-1]] = None  # as a method in place, if it is a tensor's
            elif name is not None:
                attributes[name] = None
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            base = node.value
            while isinstance(base, ast.Subscript):
                base = base.value
            name = dotted(base)
            if name is not None:
                items[name] = None
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            name = dotted(node.func.value)
            if name is not None and (method.endswith("_") and not method.endswith("__") or method == "set_value"):
                items[name] = None
    return list(attributes), [name for name in items if name not in attributes]


def is_late_index(node):
    """Whether it is a subscript whose index is a value that may be a tensor."""
    if not isinstance(node, ast.Subscript):
        return False
    return not isinstance(node.slice, (ast.Slice, ast.Tuple)) and not is_known_number(node.slice)


def is_known_number(node):
    """Whether an expression is a constant, or one with a sign."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def changed_names(nodes):
    """The names of what statements change in place."""
    return [path[0] for path in changed(nodes)[1] if len(path) == 1]


def asked(statement, names):
    """Which of some names a statement changes in place."""
    found = changed_names([statement])
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        found.append(statement.target.id)
    return [name for name in dict.fromkeys(found) if name in names]


def chains(nodes):
    """Attributes that are read, as dotted names: lists that methods of them change are found by these."""
    found = {}
    for node in own(nodes):
        if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Attribute)):
            name = dotted(node.value)
            if name is not None and len(name) > 1:
                found[name] = None
    return list(found)


# Jumps ---------------------------------------------------------------------------------------------------------------------


def jumps(nodes, in_loop=False):
    """Which of break, continue, return stand in a block and leave it: a set of "break", "continue", "return"."""
    found = set()
    for node in nodes if isinstance(nodes, list) else [nodes]:
        if isinstance(node, ast.Return):
            found.add("return")
        elif isinstance(node, ast.Break) and not in_loop:
            found.add("break")
        elif isinstance(node, ast.Continue) and not in_loop:
            found.add("continue")
        elif isinstance(node, (ast.For, ast.While, ast.AsyncFor)):
            found |= jumps(node.body, True) | jumps(node.orelse, in_loop)
        elif not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            for block in blocks(node):
                found |= jumps(block, in_loop)
    return found


def blocks(node):
    """The blocks of a compound statement."""
    found = [
        getattr(node, name) for name in ("body", "orelse", "finalbody") if isinstance(getattr(node, name, None), list)
    ]
    found += [handler.body for handler in getattr(node, "handlers", ())]
    return found + [case.body for case in getattr(node, "cases", ())]


def always_leaves(block):
    """Whether no way leads to the end of a block."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
        return True
    if isinstance(last, ast.If):
        return always_leaves(last.body) and always_leaves(last.orelse)
    return isinstance(last, ast.With) and always_leaves(last.body)


def is_plain(test):
    """Whether a condition is a truth value of Python, whatever its names are."""
    if isinstance(test, ast.Constant):
        return True
    if isinstance(test, ast.Compare):
        return all(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return is_plain(test.operand)
    if isinstance(test, ast.BoolOp):
        return all(is_plain(value) for value in test.values)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name):
        return test.func.id in ("isinstance", "hasattr", "callable", "issubclass")
    return isinstance(test, ast.Attribute) and test.attr == "training"
