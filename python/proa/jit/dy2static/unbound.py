"""Which names a function reads where not every way to that place has given them a value."""

import ast

from proa.jit.dy2static import scopes

_GIVES_ITEMS = (ast.Yield, ast.YieldFrom)


def names(body, local):
    """Those of `local` names, of the statements of a function; not such as code reads that is not converted."""
    walk = _Walk(local)
    walk.block(body, frozenset())
    return frozenset(walk.found - _read_elsewhere(body))


def _reads(node):
    """The names that are read in a node, functions in it included."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _read_elsewhere(body):
    found = set()
    for statement in body:
        for node in ast.walk(statement):
            alone = isinstance(node, (ast.AsyncFunctionDef, ast.ClassDef))
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                inner = node.body if isinstance(node.body, list) else [node.body]
                alone = any(isinstance(n, _GIVES_ITEMS) for n in scopes.own(inner))
            if alone:
                found |= _reads(node)
    return found


class _Walk:
    """Goes through the ways of a function: `known` are names that have a value; None where no way leads."""

    def __init__(self, local):
        self._local, self.found = set(local), set()

    def block(self, statements, known):
        for statement in statements:
            if known is None:
                return None
            known = self._statement(statement, known)
        return known

    def _read(self, nodes, known):
        for node in nodes:
            self.found |= (_reads(node) & self._local) - known

    def _statement(self, statement, known):
        inner = scopes.blocks(statement)
        if not inner or isinstance(statement, (*scopes.FUNCTIONS, ast.ClassDef)):
            self._read([statement], known)
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                self._read([ast.Name(statement.target.id, ast.Load())], known)
            if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                return None
            if isinstance(statement, ast.Delete):
                return known - set(scopes.bound([statement]))
            return known | set(scopes.bound([statement]))
        heads = [node for node in ast.iter_child_nodes(statement) if isinstance(node, (ast.expr, ast.withitem))]
        self._read(heads, known)
        inside = known | set(scopes.bound(heads))
        if isinstance(statement, ast.If):
            return _both(self.block(statement.body, inside), self.block(statement.orelse, inside))
        if isinstance(statement, ast.With):
            return self.block(statement.body, inside)
        if isinstance(statement, (ast.For, ast.While)):
            self.block(statement.body, inside)
            always = isinstance(statement.test if isinstance(statement, ast.While) else None, ast.Constant)
            return _both(self.block(statement.orelse, known), known) if not always else known
        if isinstance(statement, ast.Try):
            return self._try(statement, known)
        for case in getattr(statement, "cases", ()):
            bound = scopes.bound([case.pattern]) if hasattr(case, "pattern") else []
            self._read([n for n in (case.guard,) if n is not None], inside | set(bound))
            self.block(case.body, inside | set(bound))
        return inside

    def _try(self, statement, known):
        after = self.block(statement.body, known)
        if after is not None:
            after = self.block(statement.orelse, after)
        for handler in statement.handlers:
            named = {handler.name} - {None}
            after = _both(after, self.block(handler.body, known | named))
        final = self.block(statement.finalbody, known)
        return None if after is None or final is None else after | final


def _both(a, b):
    return a & b if a is not None and b is not None else a if b is None else b
