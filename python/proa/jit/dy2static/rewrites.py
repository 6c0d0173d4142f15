"""Statements that become simpler ones before they are converted: `match` with values and guards, writes of attributes.

    match v:                       _proa_subject_1 = v
        case 0:                    if _proa_subject_1 == 0:
            a                          a
        case [x] if g:      ->     else:
            b                          _proa_matched_2 = False
        case _:                        match _proa_subject_1:
            c                              case [x]:
                                               _proa_matched_2 = True
                                       if _proa_matched_2 and g:
                                           b
                                       else:
                                           c

Patterns are Python's; values and guards may be tensors. `a.b = v` becomes `_proa_.write(v, a, "b")`, as `a.b` may be a
property, whose functions are converted too; so do `+=` and `del`. `a[i] = v` becomes `_proa_.put(v, a, i)`: `a` may be a list, and
`i` a tensor.
"""

import ast

from proa.jit.dy2static import scopes
from proa.jit.dy2static.expressions import placed, runtime


def simplified(statements, numbers):
    """The statements of a function; `numbers` gives numbers for names that are made."""
    matches = _Compound(numbers)
    out = []
    for statement in statements:
        out += _as_list(matches.visit(statement))
    return out


def endless(node, numbers):
    """A `while` whose condition belongs to its body, as statements: `while True: if test: ... else: ...; break`."""
    leave, otherwise, rest = [placed(ast.Break(), node)], node.orelse, []
    if {"break", "continue"} & scopes.jumps(node.orelse):  # of a loop around it: not in this one
        ended = f"_ended_{next(numbers)}"
        rest = [ast.If(_read(ended), node.orelse, [])]
        otherwise = [_assign(ended, ast.Constant(True))]
    choice = placed(ast.If(node.test, node.body, [*otherwise, *leave]), node)
    always = ast.copy_location(ast.Constant(True), node.test)
    begin = [_assign(ended, ast.Constant(False))] if rest else []
    return [placed(s, node) for s in (*begin, ast.While(always, [choice], []), *rest)]


class _Conditions(ast.NodeTransformer):
    """Loops whose conditions read names that may have no value, which may raise: they belong to the body."""

    def __init__(self, names, numbers):
        self._names, self._numbers = names, numbers

    def visit_FunctionDef(self, node):
        return node  # a function of its own

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef

    def visit_While(self, node):
        node = self.generic_visit(node)
        if any(isinstance(n, ast.Name) and n.id in self._names for n in scopes.own(node.test)):
            return endless(node, self._numbers)
        return node


def asking(statements, names, numbers):
    """The statements of a function in which some names may have no value."""
    conditions = _Conditions(names, numbers)
    return [made for s in statements for made in _as_list(conditions.visit(s))]


class _Compound(ast.NodeTransformer):
    def __init__(self, numbers):
        self._numbers = numbers

    def visit_FunctionDef(self, node):
        return node  # a function of its own

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef

    def visit_While(self, node):
        if not _binds_late(node.test):
            return self.generic_visit(node)
        return [made for s in endless(node, self._numbers) for made in _as_list(self.generic_visit(s))]

    def visit_If(self, node):
        """`if a and (b := ...)`: what the later operands bind has a value where all hold."""
        if not _binds_late(node.test):
            return self.generic_visit(node)
        otherwise = []
        if node.orelse:
            taken = f"_taken_{next(self._numbers)}"  # which branches change: not one of those that they leave alone
            begin = placed(_assign(taken, ast.Constant(False)), node)
            node.body.insert(0, placed(_assign(taken, ast.Constant(True)), node))
            otherwise = [begin, placed(ast.If(ast.UnaryOp(ast.Not(), _read(taken)), node.orelse, []), node)]
        body = node.body
        for test in reversed(node.test.values):
            body = [ast.copy_location(placed(ast.If(test, body, []), test), node)]
        return [
            made
            for s in [*otherwise[:1], *body, *otherwise[1:]]
            for made in _as_list(self.generic_visit(s) if s is not body[0] else self._inner(s))
        ]

    def _inner(self, node):
        """An `if` in an `if`, made of the operands of a condition."""
        node.test = self.visit(node.test)
        node.body = [made for s in node.body for made in _as_list(self.visit(s))]
        return node

    def visit_Match(self, node):
        self.generic_visit(node)
        if not any(_is_compared(case) for case in node.cases):
            return node
        subject = f"_proa_subject_{next(self._numbers)}"
        rest = []
        for case in reversed(node.cases):
            rest = self._case(case, subject, rest)
        return [placed(_assign(subject, node.subject), node.subject), *rest]

    def _case(self, case, subject, rest):
        """Statements for a case, with those for the cases after it."""
        made = []
        test = None if _takes_all(case.pattern) else _comparison(case.pattern, subject)
        if test is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
            if case.pattern.name is not None:
                made.append(_assign(case.pattern.name, _read(subject)))
        elif test is None:
            matched = f"_proa_matched_{next(self._numbers)}"
            found = ast.match_case(case.pattern, None, [_assign(matched, ast.Constant(True))])
            made += [_assign(matched, ast.Constant(False)), ast.Match(_read(subject), [found])]
            test = _read(matched)
        tests = [t for t in (test, case.guard) if t is not None]
        if not tests:
            return [*(placed(s, case.pattern) for s in made), *case.body]
        whole = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        return [placed(s, case.pattern) for s in (*made, ast.If(whole, case.body, rest))]


def _as_list(made):
    return made if isinstance(made, list) else [made]


def _binds_late(test):
    """Whether it is an `and` of which operands after the first bind names."""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And):
        return False
    return any(isinstance(n, ast.NamedExpr) for n in scopes.own(list(test.values[1:])))


def _is_compared(case):
    """Whether a truth value decides, besides the pattern's kind."""
    if case.guard is not None and not scopes.is_plain(case.guard):
        return True
    return _comparison(case.pattern, "_") is not None


def _takes_all(pattern):
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _comparison(pattern, subject):
    """`subject == value` for patterns that are values; None for others."""
    if isinstance(pattern, ast.MatchValue):
        return ast.Compare(_read(subject), [ast.Eq()], [pattern.value])
    if isinstance(pattern, ast.MatchOr):
        parts = [_comparison(p, subject) for p in pattern.patterns]
        return None if None in parts else ast.BoolOp(ast.Or(), parts)
    return None


# Attributes --------------------------------------------------------------------------------------------------------------


def written(statement, numbers):
    """An assignment or `del` as statements in which attributes are written by calls."""
    if isinstance(statement, ast.Delete):
        return [_deleted(target, statement) for target in statement.targets]
    if isinstance(statement, ast.AugAssign):
        return _changed(statement, numbers)
    if isinstance(statement, ast.AnnAssign):
        if not isinstance(statement.target, ast.Attribute) or statement.value is None:
            return [statement]
        return [_write(statement.value, statement.target, statement)]
    if len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Attribute):
        return [_write(statement.value, statement.targets[0], statement)]
    if len(statement.targets) == 1 and scopes.is_late_index(statement.targets[0]):
        target = statement.targets[0]
        return [placed(ast.Expr(runtime("put", statement.value, target.value, target.slice, at=statement)), statement)]
    targets = _Targets(numbers)
    statement.targets = [targets.visit(target) for target in statement.targets]
    return [statement, *(_write(_read(name), target, statement) for name, target in targets.found)]


def _changed(statement, numbers):
    target = statement.target
    if not isinstance(target, ast.Attribute):
        return [statement]
    owner, value = (f"_proa_{what}_{next(numbers)}" for what in ("owner", "value"))
    read = ast.Attribute(_read(owner), target.attr, ast.Load())
    change = ast.AugAssign(ast.Name(value, ast.Store()), statement.op, statement.value)
    begin = [_assign(owner, target.value), _assign(value, read), change]
    target = ast.Attribute(_read(owner), target.attr, ast.Store())
    return [*(placed(s, statement) for s in begin), _write(_read(value), target, statement)]


def _deleted(target, statement):
    if not isinstance(target, ast.Attribute):
        return placed(ast.Delete([target]), statement)
    return placed(ast.Expr(runtime("delete", target.value, ast.Constant(target.attr), at=statement)), statement)


def _write(value, target, statement):
    return placed(ast.Expr(runtime("write", value, target.value, ast.Constant(target.attr), at=statement)), statement)


class _Targets(ast.NodeTransformer):
    """Attributes among targets as names, which are written afterwards."""

    def __init__(self, numbers):
        self._numbers, self.found = numbers, []

    def visit_Attribute(self, node):
        if isinstance(node.ctx, ast.Load):
            return node
        name = f"_proa_target_{next(self._numbers)}"
        self.found.append((name, node))
        return placed(ast.Name(name, ast.Store()), node)

    def visit_Subscript(self, node):
        return node  # what is in it is read


def _assign(name, value):
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _read(name):
    return ast.Name(name, ast.Load())
