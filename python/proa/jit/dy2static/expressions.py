"""Expressions whose way depends on truth values, and calls, as calls of the runtime.

| written | rewritten |
|---|---|
| `a and b`, `a or b` | `_proa_.all_of(lambda: a, lambda: b)`, `any_of` |
| `not a` | `_proa_.negated(a)` |
| `a < b < c` | `_proa_.chained(a, (operator, lambda: b), (operator, lambda: c))` |
| `a if t else b` | `_proa_.chosen(t, lambda: a, lambda: b)` |
| `f(x)` | `_proa_.call(f)(x)` |
| `[f(a) for a in b if c]` | `_proa_.listed(b, lambda item: [c for a in (item,)][0], ...)`; also in `sum` and `list` |
| `super()` | `super(__class__, self)` |
| `a[b]` | `_proa_.item(a, b)` |
| `a in b` | `_proa_.within(a, b)` |
| `a.name`, the name of a property | `_proa_.read(a, "name")` |
| `a`, a name that may have no value | `_proa_.bound(a, "a")` |

An operand that binds names (`:=`) becomes a function before the statement, which has them as its own; `named` says which.
In comprehensions and lambdas it stays in its place, where the name belongs, as what awaits does.
"""

import ast

from proa.jit.dy2static import scopes, source

RUNTIME = "_proa_"  # the free variable of rewritten functions that holds the runtime
OF_NAMES = ("is_none", "or_none")  # functions of the runtime that take what a name holds as it is (nones.py)
_PLACED = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_OPERATORS = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip


def runtime(name, *args, at, named=()):
    """A call of a function of the runtime; `named` are names that its operands bind."""
    keywords = [ast.keyword("named", ast.Constant(tuple(named)))] if named else []
    made = ast.Call(ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load()), list(args), keywords)
    return placed(made, at)


def placed(node, at):
    """The node with the position of another one in all that has none."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, at)
            if part.end_lineno != part.lineno:  # a call counts as one of its last line
                part.end_lineno, part.end_col_offset = part.lineno, part.col_offset
        waiting += [p for p in ast.iter_child_nodes(part) if not hasattr(p, "lineno")]
    return node


def later(expression):
    """A lambda that gives the expression."""
    empty = ast.arguments([], [], None, [], [], None, [])
    return placed(ast.Lambda(empty, expression), expression)


def _has(kinds, expressions):
    return any(isinstance(node, kinds) for e in expressions for node in scopes.own(e))


def _is_of_runtime(function):
    return isinstance(function, ast.Attribute) and getattr(function.value, "id", None) == RUNTIME


def is_of_runtime(node, name):
    """Whether it is a call of that function of the runtime."""
    return isinstance(node, ast.Call) and _is_of_runtime(node.func) and node.func.attr == name


class Expressions(ast.NodeTransformer):
    """Rewrites the expressions of a function.

    Args:
        first (str|None): the first parameter of the function, for `super()`.
        nested: rewrites a function that stands in it.
        properties (set): names of attributes that may be properties of users' classes.
        operand: makes a function of an expression that binds names, to stand before the statement; None where it cannot.

    Attributes:
        before (list): functions that the statement needs before it.
        maybe (frozenset): names whose reads ask whether they have a value.
    """

    def __init__(self, first, nested, properties, operand=None):
        self._first, self._nested, self._properties, self._operand = first, nested, properties, operand
        self._inside = 0  # of how many comprehensions
        self.before = []
        self.maybe = frozenset()

    def _stays(self, *expressions):
        """Whether expressions must be evaluated where they are written."""
        if _has((ast.Await, ast.Yield, ast.YieldFrom), expressions):
            return True
        return (self._operand is None or self._inside > 0) and _has(ast.NamedExpr, expressions)

    def _named(self, *expressions):
        """The names that expressions bind by `:=`."""
        return list(dict.fromkeys(n.target.id for e in expressions for n in scopes.own(e) if type(n) is ast.NamedExpr))

    def _later(self, expression):
        """What gives the value of a rewritten expression when it is called."""
        names = self._named(expression)
        if not names:
            return later(expression)
        self.before.append(self._operand(expression, names))
        return placed(ast.Name(self.before[-1].name, ast.Load()), expression)

    def visit_BoolOp(self, node):
        stays = self._stays(*node.values)
        named = self._named(*node.values)
        self.generic_visit(node)
        if stays or scopes.is_plain(node):
            return node
        name = "all_of" if isinstance(node.op, ast.And) else "any_of"
        return runtime(name, *map(self._later, node.values), at=node, named=named)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and not scopes.is_plain(node.operand):
            return runtime("negated", node.operand, at=node)
        return node

    def visit_Compare(self, node):
        stays = self._stays(*node.comparators)
        named = self._named(*node.comparators)
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            made = runtime("within", node.left, node.comparators[0], at=node)
            return made if isinstance(node.ops[0], ast.In) else runtime("negated", made, at=node)
        if len(node.ops) == 1 or stays or not all(type(op) in _OPERATORS for op in node.ops):
            return node
        pairs = [
            placed(ast.Tuple([ast.Constant(_OPERATORS[type(op)]), self._later(value)], ast.Load()), value)
            for op, value in zip(node.ops, node.comparators, strict=True)
        ]
        return runtime("chained", node.left, *pairs, at=node, named=named)

    def visit_IfExp(self, node):
        stays = self._stays(node.body, node.orelse)
        plain = scopes.is_plain(node.test)
        named = self._named(node.body, node.orelse)
        self.generic_visit(node)
        if stays or plain:
            return node
        return runtime("chosen", node.test, self._later(node.body), self._later(node.orelse), at=node, named=named)

    def _comprehension(self, node):
        self._inside += 1
        self.generic_visit(node)
        self._inside -= 1
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_ListComp(self, node):
        stays = self._is_whole(node)
        self._comprehension(node)
        return node if stays else runtime("listed", *self._ways(node), at=node)

    @staticmethod
    def _is_whole(node):
        """Whether a comprehension stays as it is."""
        return len(node.generators) > 1 or node.generators[0].is_async or _has(_PLACED, [node])

    def _ways(self, node):
        """What a comprehension goes over, which items stay, and what they give."""
        part = node.generators[0]
        stays = self._of_item(self._all(part.ifs), part.target) if part.ifs else placed(ast.Constant(None), node)
        return part.iter, stays, self._of_item(node.elt, part.target)

    def _next(self, node):
        """`next` of a generator expression; None for other calls."""
        function, count = node.func, []
        if _is_of_runtime(getattr(function, "func", None)) and function.func.attr == "of_kinds":
            function, count = function.args[0], function.args[1:]
        if getattr(function, "id", None) != "next" or node.keywords or not node.args:
            return None
        if not isinstance(node.args[0], ast.GeneratorExp) or self._is_whole(node.args[0]):
            return None
        default = [self.visit(arg) for arg in node.args[1:]]
        self._comprehension(node.args[0])
        ways = self._ways(node.args[0])
        return runtime("first_of_kinds" if count else "first", *count, *ways, *default, at=node)

    def _all(self, conditions):
        if len(conditions) == 1:
            return conditions[0]
        return runtime("all_of", *map(later, conditions), at=conditions[0])

    @staticmethod
    def _of_item(expression, target):
        """A lambda that gives an expression of the names that are bound to an item."""
        loop = ast.comprehension(
            source.copied(target), ast.Tuple([ast.Name("_proa_item_", ast.Load())], ast.Load()), [], 0
        )
        only = ast.Subscript(ast.ListComp(expression, [loop]), ast.Constant(0), ast.Load())
        argument = ast.arguments([], [ast.arg("_proa_item_")], None, [], [], None, [])
        return placed(ast.Lambda(argument, only), expression)

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id in ("sum", "list", "tuple") and len(node.args) == 1:
            if isinstance(node.args[0], ast.GeneratorExp) and len(node.args[0].generators) == 1:
                inner = node.args[0]  # which is gone through at once
                node.args[0] = placed(ast.ListComp(inner.elt, inner.generators), inner)
        if _is_of_runtime(node.func) and node.func.attr in OF_NAMES:
            return node
        found = self._next(node)
        if found is not None:
            return found
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            if not node.args and self._first is not None:
                node.args = [placed(ast.Name(name, ast.Load()), node) for name in ("__class__", self._first)]
            return node
        if not _is_of_runtime(node.func):
            node.func = runtime("call", node.func, at=node.func)
        return node

    def visit_Name(self, node):
        if node.id in self.maybe and isinstance(node.ctx, ast.Load):
            return runtime("bound", node, ast.Constant(node.id), at=node)
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr in self._properties and isinstance(node.ctx, ast.Load):
            return runtime("read", node.value, ast.Constant(node.attr), at=node)
        return node

    def visit_Subscript(self, node):
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        if isinstance(node.slice, ast.Slice):
            parts = [part or ast.Constant(None) for part in (node.slice.lower, node.slice.upper, node.slice.step)]
            if all(scopes.is_known_number(part) for part in parts):
                return node
            node.slice = runtime("slice_", *parts, at=node.slice)
        elif not scopes.is_late_index(node):
            return node
        return runtime("item", node.value, node.slice, at=node)

    def visit_Lambda(self, node):
        node.args = self.visit(node.args)
        first = next((a.arg for a in (*node.args.posonlyargs, *node.args.args)), None)
        inner = Expressions(first, self._nested, self._properties)
        inner.maybe = self.maybe - {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
        node.body = inner.visit(node.body)
        return node

    def visit_FunctionDef(self, node):
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args = self.visit(node.args)
        node.returns = None
        return self._nested(node)

    def visit_AsyncFunctionDef(self, node):
        return node

    def visit_ClassDef(self, node):
        return node  # its methods are converted when they are called

    def visit_AnnAssign(self, node):
        """Without the annotation: a name of an enclosing function may have none."""
        if not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        if node.value is None:
            return placed(ast.Pass(), node)
        return placed(ast.Assign([node.target], self.visit(node.value)), node)

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_Assert(self, node):
        self.generic_visit(node)
        args = [node.test]
        if node.msg is not None and not _has(_PLACED, [node.msg]):
            args.append(later(node.msg))
        node.test = runtime("asserted", *args, at=node.test)
        return node
