"""Generators whose items depend on tensors, as functions that give a list of the items."""

import ast

from proa import _C
from proa.jit.dy2static import functions, properties, scopes, source
from proa.jit.dy2static.expressions import placed, runtime

_ITEMS = "items_of_generator"
_MOST = 1000
_counts: dict = {}  # by the names of generators: items since it was called
_made: dict = {}  # by id of a generator's code: it, and the code that gives the list


def as_list(function):
    """The generator function as one that gives the list of its items; itself where it does more than yield them."""
    code = function.__code__
    if id(code) not in _made:
        _made[id(code)] = code, _converted(function)
    made = _made[id(code)][1]
    _counts[_named(code)] = 0
    return function if made is None else functions._with_code(function, made)


def _named(code):
    return f"{code.co_filename}:{code.co_firstlineno}"


def bounded(name):
    """After each item: a generator that has no end gives no list."""
    _counts[name] += 1
    if _counts[name] > _MOST:
        raise _C.located(
            RuntimeError(f"a generator that depends on tensors gives more than {_MOST} items; write a `for` without it")
        )


def _converted(function):
    found = source.find(function)
    if found is None or _ITEMS in function.__code__.co_varnames:
        return None
    node, owner = source.copied(found[0]), found[1]
    if owner is not None:
        source.mangle(node, owner)
    lists = _Lists(_named(function.__code__))
    node.body = lists.generic_visit(ast.Module(node.body, [])).body
    if lists.more or any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in scopes.own(node.body)):
        return None
    first, last = node.body[0], node.body[-1]
    begin = placed(ast.Assign([ast.Name(_ITEMS, ast.Store())], ast.List([], ast.Load())), first)
    node.body = [begin, *node.body, placed(ast.Return(ast.Name(_ITEMS, ast.Load())), last)]
    try:
        tree = functions._rewritten(node, properties.names_in(function.__globals__))
        return functions._compiled(tree, function.__code__)
    except (functions.NotConverted, RecursionError):
        return None


class _Lists(ast.NodeTransformer):
    """`yield x` as an `append` to the list; `more` where a statement does what a list cannot."""

    def __init__(self, name):
        self._name, self.more = name, False

    def visit_Expr(self, node):
        value = node.value
        if not isinstance(value, (ast.Yield, ast.YieldFrom)):
            return node
        method = "append" if isinstance(value, ast.Yield) else "extend"
        given = value.value or ast.Constant(None)
        items = ast.Name(_ITEMS, ast.Load())
        call = ast.Call(ast.Attribute(items, method, ast.Load()), [given], [])
        check = runtime("bounded", ast.Constant(self._name), at=node)
        return [placed(ast.Expr(call), node), placed(ast.Expr(check), node)]

    def visit_Assign(self, node):
        """`got = yield from items`: None, of what is no generator."""
        if not isinstance(node.value, ast.YieldFrom) or isinstance(node.value.value, ast.Call):
            return node
        node.value, given = ast.copy_location(ast.Constant(None), node.value), node.value
        return [*self.visit_Expr(placed(ast.Expr(given), node)), node]

    def visit_Return(self, node):
        self.more = self.more or node.value is not None
        return placed(ast.Return(ast.Name(_ITEMS, ast.Load())), node)

    def visit_FunctionDef(self, node):
        return node

    visit_Lambda = visit_ClassDef = visit_FunctionDef
