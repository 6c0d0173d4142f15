"""`raise` and `assert` by a tensor in a `try` that may handle the error, as jumps to what handles it.

A first recording finds such a statement and ends; in the next one it leaves a loop of one turn:

    try:                                   _raised_1 = 0
        if x.sum() > 9:                    for _raised_turn_1 in (0,):
            raise ValueError("large")          try:
        y = f(x)                  ->               if x.sum() > 9:
    except ValueError as e:                            _raised_1 = 1
        y = -x                                         break
                                                   y = f(x)
                                               except ValueError as e:
                                                   y = -x
                                           if _raised_1 == 1:
                                               try:
                                                   raise ValueError("large")
                                               except ValueError as e:
                                                   y = -x

It is done where the statement stands in the `try` itself, outside of loops, and nothing else jumps out of that.
"""

import ast

from proa.jit.dy2static import scopes, source
from proa.jit.dy2static.expressions import placed


def as_jumps(node, lines):
    """Rewrites the `try` statements of a function, in place, in which such statements stand in some lines."""
    _Tries(lines).generic_visit(node)
    return node


class _Tries(ast.NodeTransformer):
    def __init__(self, lines):
        self._lines = lines

    def visit_Try(self, node):
        self.generic_visit(node)
        parts = [*node.body, *node.orelse, *(s for h in node.handlers for s in h.body)]
        if not node.handlers or scopes.jumps(parts):
            return node
        code = f"_raised_{node.lineno}"
        jumps = _Jumps(self._lines, code)
        body = [made for s in node.body for made in _as_list(jumps.visit(s))]
        if not jumps.errors:
            return node
        handlers = [source.copied(handler) for handler in node.handlers]
        inner = ast.Try(body, node.handlers, node.orelse, [])
        turn = ast.Name(f"_raised_turn_{node.lineno}", ast.Store())
        made = [
            _assign(code, 0),
            ast.For(turn, ast.Tuple([ast.Constant(0)], ast.Load()), [placed(inner, node)], []),
        ]
        for number, statement in enumerate(jumps.errors, 1):
            handling = ast.Try([statement], [source.copied(handler) for handler in handlers], [], [])
            is_it = ast.Compare(ast.Name(code, ast.Load()), [ast.Eq()], [ast.Constant(number)])
            made.append(ast.If(is_it, [placed(handling, statement)], []))
        made = [placed(statement, node) for statement in made]
        return placed(ast.Try(made, [], [], node.finalbody), node) if node.finalbody else made


class _Jumps(ast.NodeTransformer):
    """Statements that raise by a tensor as jumps; `errors` are what raises the errors."""

    def __init__(self, lines, code):
        self._lines, self._code, self.errors = lines, code, []

    def visit_FunctionDef(self, node):
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef
    visit_For = visit_AsyncFor = visit_While = visit_Try = visit_FunctionDef  # a jump would leave another one

    def _jump(self, error):
        self.errors.append(error)
        return [placed(s, error) for s in (_assign(self._code, len(self.errors)), ast.Break())]

    def visit_Raise(self, node):
        return self._jump(node) if node.lineno in self._lines and node.exc is not None else node

    def visit_Assert(self, node):
        if node.lineno not in self._lines:
            return node
        made = ast.Call(ast.Name("AssertionError", ast.Load()), [] if node.msg is None else [node.msg], [])
        error = placed(ast.Raise(made, None), node)
        return placed(ast.If(ast.UnaryOp(ast.Not(), node.test), self._jump(error), []), node)


def _as_list(made):
    return made if isinstance(made, list) else [made]


def _assign(name, number):
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(number))
