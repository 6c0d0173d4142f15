"""Names that are None until a statement that depends on a tensor gives them a value.

A first recording finds that the ways of a statement leave such a name None and something else, and ends (wishes.py). In the next one
the name has no value in the place of None (maybe.py), and what asks for None asks whether it has one:

    found = None                      found = None; del found
    while found is None:       ->     while _proa_.is_none(lambda: found):
        ...                               ...
    return found                      return _proa_.or_none(lambda: found, "found")

What follows is recorded once, however many such names there are. This is done where all other reads are of a value for sure: behind
a test, or of an operator that refuses None. Other names are recorded in each way (kinds.py).
"""

import ast

from proa import _C
from proa.jit.dy2static import alternatives, scopes, undefined, wishes
from proa.jit.dy2static.expressions import later, placed, runtime
from proa.jit.dy2static.maybe import Maybe

_REFUSING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)  # comparisons that None has not
_FAILED = object()  # a read that may be of None


# While functions are rewritten -----------------------------------------------------------------------------------------------


def without(node, wanted):
    """Rewrites a function, in place, if it is to be and may be: the names that have no value in the place of None.

    Args:
        wanted (dict): {name: lines} of statements that leave names None or not. One of them in a function is enough for all of
            its names that may be so, as each would be found by a recording of its own.
    """
    mine = {n for n, lines in wanted.items() if any(node.lineno <= line <= node.end_lineno for line in lines)}
    names = frozenset(name for name in scopes.bound(node.body) if _may(node, name)) if mine else frozenset()
    if not mine & names:
        return frozenset()
    _Without(names).generic_visit(node)
    return names


def _may(node, name):
    if name in {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}:
        return False
    if name in scopes.declared(node.body, ast.Global) | scopes.declared(node.body, ast.Nonlocal):
        return False
    found = _Reads(name)
    return found.block(node.body, False) is not _FAILED and found.is_given_none


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def _apart(statement, names):
    """`a, b = None, 0` as statements of which each gives None, or none of them."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Tuple) or len(statement.targets) > 1 or not isinstance(statement.value, ast.Tuple):
        return [statement]
    pairs = list(zip(target.elts, statement.value.elts, strict=False))
    is_one = lambda t, v: isinstance(t, ast.Name) and t.id in names and _is_none(v)
    alone = [pair for pair in pairs if is_one(*pair)]
    whole = any(isinstance(e, ast.Starred) for e in (*target.elts, *statement.value.elts))
    if not alone or whole or len(target.elts) != len(statement.value.elts):
        return [statement]
    made = [placed(ast.Assign([t], v), statement) for t, v in alone]
    rest = [pair for pair in pairs if not is_one(*pair)]
    if rest:
        targets, values = (list(part) for part in zip(*rest, strict=True))
        together = [ast.Tuple(targets, ast.Store())], ast.Tuple(values, ast.Load())
        made.insert(0, placed(ast.Assign(*together), statement))
    return made


class _Reads:
    """Goes through the ways of a function: whether a name is not None at a place; _FAILED where one that may be is read."""

    def __init__(self, name):
        self._name, self.is_given_none = name, False

    def _is_it(self, node):
        return isinstance(node, ast.Name) and node.id == self._name

    def _asks(self, node, operator):
        """Whether it is `name is None`, or `is not`."""
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], operator):
            return False
        return self._is_it(node.left) and _is_none(node.comparators[0])

    def _has(self, test, holds):
        """Whether the name is not None where a test is true, or false."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._has(test.operand, not holds)
        if isinstance(test, ast.BoolOp):
            return isinstance(test.op, ast.And) == holds and any(self._has(v, holds) for v in test.values)
        return self._asks(test, ast.IsNot if holds else ast.Is)

    def _gets_none(self, statements):
        return any(
            isinstance(n, ast.Assign) and _is_none(n.value) and any(map(self._is_it, n.targets))
            for s in statements
            for n in ast.walk(s)
        )

    # Expressions ----------------------------------------------------------------------------------------------------------------

    def _reads_well(self, node, has):
        """Whether an expression reads the name only where it has a value, or where None is refused."""
        if has or not any(self._is_it(n) for n in ast.walk(node)):
            return True
        if self._asks(node, (ast.Is, ast.IsNot)):
            return True
        if self._is_it(node) or isinstance(node, scopes.FUNCTIONS):
            return False
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                if not self._reads_well(value, has):
                    return False
                has = has or self._has(value, isinstance(node.op, ast.And))
            return True
        if isinstance(node, ast.IfExp):
            ways = [(node.body, True), (node.orelse, False)]
            return self._reads_well(node.test, False) and all(
                self._reads_well(w, self._has(node.test, h)) for w, h in ways
            )
        return all(self._is_refused(node, part) or self._reads_well(part, False) for part in ast.iter_child_nodes(node))

    def _is_refused(self, node, part):
        """Whether it is the name, where None would be an error."""
        if not self._is_it(part):
            return False
        if isinstance(node, ast.Compare):
            return all(isinstance(op, _REFUSING) for op in node.ops)
        if isinstance(node, ast.UnaryOp):
            return not isinstance(node.op, ast.Not)
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            return part is node.value
        return isinstance(node, ast.BinOp)

    # Statements -----------------------------------------------------------------------------------------------------------------

    def block(self, statements, has):
        """Whether the name is not None after a block; None where no way leads there."""
        for statement in statements:
            has = self._statement(statement, has)
            if has is _FAILED or has is None:
                return has
        return has

    def _statement(self, statement, has):
        if isinstance(statement, (*scopes.FUNCTIONS, ast.ClassDef)):
            return _FAILED if any(self._is_it(n) for n in ast.walk(statement)) else has
        if isinstance(statement, ast.If):
            if not self._reads_well(statement.test, has):
                return _FAILED
            ways = [(statement.body, True), (statement.orelse, False)]
            return self._joined([self.block(b, has or self._has(statement.test, h)) for b, h in ways])
        if isinstance(statement, (ast.While, ast.For)):
            return self._loop(statement, has)
        if isinstance(statement, ast.With):
            if not all(self._reads_well(item, has) for item in statement.items):
                return _FAILED
            return self.block(statement.body, has)
        if scopes.blocks(statement):
            return has if not any(self._is_it(n) for n in ast.walk(statement)) else _FAILED
        return self._simple(statement, has)

    def _loop(self, statement, has):
        has = has and not self._gets_none([statement])
        test = statement.test if isinstance(statement, ast.While) else statement.iter
        if not self._reads_well(test, has) or self._binds(getattr(statement, "target", None)):
            return _FAILED
        of_test = isinstance(statement, ast.While)
        inside = self.block(statement.body, has or of_test and self._has(test, True))
        ends = of_test and not any(isinstance(n, ast.Break) for n in ast.walk(statement))
        after = has or ends and self._has(test, False)
        return _FAILED if inside is _FAILED else self._joined([after, self.block(statement.orelse, after)])

    def _binds(self, target):
        return target is not None and any(self._is_it(n) for n in ast.walk(target))

    def _simple(self, statement, has):
        if isinstance(statement, ast.Return) and statement.value is not None and self._is_it(statement.value):
            return None
        if isinstance(statement, ast.AugAssign) and self._is_it(statement.target):
            return True if self._reads_well(statement.value, True) else _FAILED
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            for part in _apart(statement, {self._name}):
                has = self._assigned(part, has)
            return has
        if any(self._is_it(n) and not isinstance(n.ctx, ast.Load) for n in ast.walk(statement)):
            return _FAILED  # deleted, or bound where it is no statement's affair
        if not self._reads_well(statement, has):
            return _FAILED
        if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return None
        return has or isinstance(statement, ast.Assert) and self._has(statement.test, True)

    def _assigned(self, statement, has):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        given = any(map(self._is_it, targets))
        if not self._reads_well(statement.value, has):
            return _FAILED
        for target in targets:
            if self._is_it(target):
                continue
            of_it = [n for n in ast.walk(target) if self._is_it(n)]
            if any(not isinstance(n.ctx, ast.Load) for n in of_it):
                given = True
            elif not self._reads_well(target, has):
                return _FAILED
        if not given:
            return has
        if _is_none(statement.value):
            self.is_given_none = True
            return False if isinstance(statement, ast.Assign) else _FAILED
        chosen = isinstance(statement.value, (ast.IfExp, ast.BoolOp, ast.Tuple, ast.List))
        return _FAILED if chosen and any(_is_none(n) for n in ast.walk(statement.value)) else True

    @staticmethod
    def _joined(ways):
        if any(way is _FAILED for way in ways):
            return _FAILED
        ways = [way for way in ways if way is not None]
        return all(ways) if ways else None


class _Without(ast.NodeTransformer):
    def __init__(self, names):
        self._names = names

    def _is_one(self, node):
        return isinstance(node, ast.Name) and node.id in self._names

    def visit_FunctionDef(self, node):
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef

    def visit_Assign(self, node):
        parts = _apart(node, self._names)
        if parts != [node]:
            made = [self.visit(part) for part in parts]
            return [s for part in made for s in (part if isinstance(part, list) else [part])]
        node.value = self.visit(node.value)
        mine = [t for t in node.targets if self._is_one(t)]
        if not mine or not _is_none(node.value):
            return node
        made = []
        for target in mine:
            made.append(placed(ast.Assign([ast.Name(target.id, ast.Store())], ast.Constant(None)), node))
            made.append(placed(ast.Delete([ast.Name(target.id, ast.Del())]), node))
        node.targets = [t for t in node.targets if not self._is_one(t)]
        return [node, *made] if node.targets else made

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) != 1 or not self._is_one(node.left) or not _is_none(node.comparators[0]):
            return node
        if not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            return node
        made = runtime("is_none", later(node.left), ast.Constant(node.left.id), at=node)
        return made if isinstance(node.ops[0], ast.Is) else placed(ast.UnaryOp(ast.Not(), made), node)

    def visit_Return(self, node):
        if self._is_one(node.value):
            node.value = runtime("or_none", later(node.value), ast.Constant(node.value.id), at=node)
            return node
        return self.generic_visit(node)


# While they are recorded ------------------------------------------------------------------------------------------------------


def _held(read, name):
    """What a name holds: a value, a Maybe, or None."""
    try:
        return read()
    except NameError:
        if any(map(undefined.is_marked, read.__closure__)):  # it is not None, but of no kind that is known
            raise
        wishes.note_read(name)
        return None


def is_none(read, name):
    """Whether a name has no value, of `read`: a bool, or a bool tensor []."""
    found = _held(read, name)
    if type(found) is not Maybe:
        return found is None
    return not found.bound if isinstance(found.bound, bool) else _C.ops.logical_not(found.bound)


def or_none(read, name):
    """What a name holds, or None, of several kinds where only the run knows."""
    found = _held(read, name)
    if type(found) is not Maybe:
        return found
    if isinstance(found.bound, bool):
        return found.value if found.bound else None
    why = undefined.reason(name) or "whether it has a value depends on a tensor"
    return alternatives.or_none(
        found.bound,
        found.value,
        f"{name}, which is returned: {why}; who calls the recorded function can take a value or None, but no file of another format",
    )
