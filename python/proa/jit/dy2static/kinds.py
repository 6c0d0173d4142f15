"""Calls of functions whose results are of several kinds by a tensor, in code that is recorded: what follows is recorded for each kind.

A first recording finds such a call and ends; the next one has the statement of the call, and what follows in its block, once for
each kind (wishes.py):

    y = g(f(x))        _proa_kinds_1 = _proa_.of_kinds(f, 2)(x)
    rest         ->    if _proa_.is_kind(_proa_kinds_1, 0):
                           y = g(_proa_.one_kind(_proa_kinds_1, 0))
                           rest
                       else:
                           y = g(_proa_.one_kind(_proa_kinds_1, 1))
                           rest

What a statement calls before gets a name first, in the same order; the condition of a `while` goes into its body, and `and`, `or` and
ternaries that may leave the call out become statements. This is not done in lambdas and comprehensions. A kind is as in
alternatives.py.

Where the ways of an `if` give a name values of several kinds, and something reads that, what follows in its block is recorded in
each way, up to the last statement that has the name; so it is where a ternary does. Where that is passed to what is called, it is to the
end.
"""

import ast
import sys
import types

from proa import _C
from proa.jit.dy2static import calls, functions, rewrites, scopes, source, undefined, wishes
from proa.jit.dy2static.alternatives import Alternatives
from proa.jit.dy2static.expressions import placed, runtime

_LAYERS, _RECORDER = "proa.nn.layer.layers", "proa.jit.tracing"
_MOST = 64  # copies of what follows, of all calls of a function


# While functions are rewritten -----------------------------------------------------------------------------------------------


def apart(node, wanted, ways, numbers):
    """Rewrites the statements of a function, in place, around calls at some positions (`wanted`: {position: number of kinds}), and
    around each `if` of some lines (`ways`: line and name)."""
    _Apart(wanted, ways, numbers, _names_in_functions(node)).visit(node)
    return node


class _Apart(ast.NodeTransformer):
    def __init__(self, wanted, ways, numbers, in_functions):
        self._wanted, self._numbers, self._copies = wanted, numbers, 0
        self._in_functions = in_functions  # names that functions in this one may read wherever they are called
        self._ways = {}  # names by line
        for line, name in ways:
            self._ways.setdefault(line, set()).add(name)

    def generic_visit(self, node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, self._block(block))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            part.body = self._block(part.body)
        return node

    def _block(self, statements):
        out, statements = [], list(statements)
        while statements:
            statement = statements.pop(0)
            opened = self._opened(statement)
            if opened is not None:
                statements = opened + statements
                continue
            path = self._path(_expression(statement))
            call = path[-1] if path else None
            count = self._wanted[_position(call)] if path else 0
            if not path or self._copies + count > _MOST:
                if statements and self._is_apart(statement) and self._copies + 2 <= _MOST:
                    count = self._read_in(statement, statements)
                    statement = self._with_rest(statement, statements[:count])
                    return [*out, statement, *self._block(statements[count:])]
                out.append(self.visit(statement))
                continue
            self._copies += count
            out += self._named_first(path, statement)
            name = f"_proa_kinds_{next(self._numbers)}"
            if isinstance(call, ast.Subscript):
                made = runtime("item_of_kinds", call.value, call.slice, ast.Constant(count), at=call)
            else:
                function = runtime("of_kinds", call.func, ast.Constant(count), at=call.func)
                made = placed(ast.Call(function, call.args, call.keywords), call)
            out.append(placed(ast.Assign([ast.Name(name, ast.Store())], made), statement))
            ways = [
                self._block([_replaced(statement, call, name, number), *map(source.copied, statements)])
                for number in range(count)
            ]
            chosen = ways.pop()
            for number in reversed(range(count - 1)):
                is_it = runtime("is_kind", ast.Name(name, ast.Load()), ast.Constant(number), at=call)
                chosen = [placed(ast.If(is_it, ways[number], chosen), statement)]
            return out + chosen
        return out

    def _is_apart(self, statement):
        """Whether what follows is wished for in each way of an `if`, or of one that ends a way of it."""
        if not isinstance(statement, ast.If):
            return False
        if getattr(statement, "is_apart", False):
            return True
        return statement.lineno in self._ways or any(map(self._is_apart, statement.body + statement.orelse))

    def _read_in(self, statement, rest):
        """How many of the statements behind an `if` are up to the last one that has a name of several kinds."""
        names, count = self._names_of(statement), 0
        while names is not None and not names & self._in_functions:
            has = lambda s, names=names: any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(s))
            count = max((k for k, s in enumerate(rest, 1) if has(s)), default=0)
            # What is apart among these gives names of several kinds, too.
            more = [self._names_of(s) if isinstance(s, ast.If) else self._chosen_in(s) for s in rest[:count]]
            if None in more:
                break
            more = names.union(*more)
            if more == names:
                return count
            names = more
        return len(rest)

    def _chosen_in(self, statement):
        """The names that a ternary gives values of several kinds in a statement; None where it is apart to the end of the block."""
        expression = _expression(statement)
        path = None if expression is None else self._folded(expression)
        if path is None or not isinstance(path[-1], ast.IfExp):
            return set()
        return None if any(map(_is_call, path[:-1])) else _bound_by(statement, "")

    def _names_of(self, statement):
        """The names for which an `if` is apart, those of what ends its ways included; None where it is to the end of the block."""
        if not isinstance(statement, ast.If):
            return set()
        names = set()
        if getattr(statement, "is_apart", False):
            if statement.names_apart is None:
                return None
            names = set(statement.names_apart)
        names |= set(self._ways.get(statement.lineno, ()))
        for inner in statement.body + statement.orelse:
            more = self._names_of(inner)
            if more is None:
                return None
            names |= more
        return None if None in names else names

    def _with_rest(self, statement, rest):
        """The `if` with what follows it in each of its ways."""
        self._copies += 2
        for name in ("body", "orelse"):
            block = getattr(statement, name)
            follows = [] if scopes.always_leaves(block) else map(source.copied, rest)
            setattr(statement, name, self._block([*block, *follows]))
        return statement

    def _opened(self, statement):
        """Statements that make a wanted call of a condition, or of a part that may be left out, on their own; None if there is none."""
        if isinstance(statement, ast.While) and self._holds_wanted(statement.test):
            return rewrites.endless(statement, self._numbers)
        expression = _expression(statement)
        path = None if expression is None or self._path(expression) else self._folded(expression)
        if path is None:
            return None
        made, choice = self._named_first(path, statement), path[-1]
        name = f"{undefined.CHOSEN}{next(self._numbers)}"  # which branches change
        read = lambda: placed(ast.Name(name, ast.Load()), choice)
        keep = lambda value: placed(ast.Assign([ast.Name(name, ast.Store())], value), value)
        if isinstance(choice, ast.IfExp):
            made.append(placed(ast.If(choice.test, [keep(choice.body)], [keep(choice.orelse)]), choice))
            made[-1].is_apart = _position(choice) in self._wanted
            # What is called with it may keep it anywhere.
            made[-1].names_apart = None if any(map(_is_call, path[:-1])) else _bound_by(statement, name)
        else:
            is_and = isinstance(choice.op, ast.And)
            rest = []
            for value in reversed(choice.values[1:]):
                test = read() if is_and else placed(ast.UnaryOp(ast.Not(), read()), choice)
                rest = [placed(ast.If(test, [keep(value), *rest], []), value)]
            made += [keep(choice.values[0]), *rest]
        _put(path[-2] if len(path) > 1 else statement, choice, read())
        return [*made, statement]

    def _holds_wanted(self, expression):
        return self._path(expression) is not None or self._folded(expression) is not None

    def _folded(self, node):
        """The nodes from an expression down to `and`, `or` or a ternary that makes a wanted call or leaves it out."""
        if isinstance(node, ast.BoolOp) and any(map(self._holds_wanted, node.values[1:])):
            return [node]
        if isinstance(node, ast.IfExp):
            if _position(node) in self._wanted or any(map(self._holds_wanted, (node.body, node.orelse))):
                return [node]
        for part in _parts(node):
            path = self._folded(part)
            if path is not None:
                return [node, *path]
        return None

    def _path(self, node):
        """The nodes from an expression down to the first wanted call that it makes whatever its values are; None if there is none."""
        if node is None:
            return None
        for part in _parts(node):
            path = self._path(part)
            if path is not None:
                return [node, *path]
        is_one = _is_call(node) or isinstance(node, ast.Subscript)
        return [node] if is_one and _position(node) in self._wanted else None

    def _named_first(self, path, statement):
        """Names for what is called before the end of a path, in the expressions on it."""
        made = []
        for node, below in zip(path, path[1:], strict=False):
            for part in _parts(node):
                if part is below:
                    break
                holder, field = (part, "value") if isinstance(part, (ast.keyword, ast.Starred)) else (None, None)
                value = part if holder is None else part.value
                if not any(_is_call(n) for n in ast.walk(value)):
                    continue
                name = f"_proa_value_{next(self._numbers)}"
                made.append(placed(ast.Assign([ast.Name(name, ast.Store())], value), statement))
                read = placed(ast.Name(name, ast.Load()), value)
                if holder is None:
                    _put(node, part, read)
                else:
                    setattr(holder, field, read)
        return made


def _bound_by(statement, name):
    """The names that hold what a ternary chose, which is `name` in its statement; None where that is not known."""
    if isinstance(statement, ast.Return):
        return {name}
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        return None
    parts = [part for target in targets for part in ast.walk(target) if not isinstance(part, ast.expr_context)]
    if not all(isinstance(part, (ast.Name, ast.Tuple, ast.List, ast.Starred)) for part in parts):
        return None  # an item or attribute, which others may read by another name
    return {name, *(part.id for part in parts if isinstance(part, ast.Name))}


def _names_in_functions(node):
    inner = [n for n in ast.walk(node) if isinstance(n, scopes.FUNCTIONS) and n is not node]
    return {n.id for function in inner for n in ast.walk(function) if isinstance(n, ast.Name)}


def _expression(statement):
    """The expression of a statement that is evaluated once, before it changes anything; None if it has none."""
    if isinstance(statement, ast.AugAssign) and any(isinstance(n, ast.Call) for n in ast.walk(statement.target)):
        return None
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)):
        return statement.value
    if isinstance(statement, (ast.If, ast.Assert)):
        return statement.test
    return statement.iter if isinstance(statement, ast.For) else None


def _parts(node):
    """The parts of an expression that are evaluated whatever their values are, in their order."""
    if isinstance(node, ast.Lambda):
        return []
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return [node.generators[0].iter]
    if isinstance(node, ast.BoolOp):
        return node.values[:1]
    if isinstance(node, ast.IfExp):
        return [node.test]
    if isinstance(node, ast.Compare):
        return [node.left, node.comparators[0]]
    if isinstance(node, ast.Dict):
        return [part for pair in zip(node.keys, node.values, strict=True) for part in pair if part is not None]
    return [part for part in ast.iter_child_nodes(node) if isinstance(part, (ast.expr, ast.keyword))]


def _put(node, part, other):
    """Puts another expression in the place of a part of a node."""
    for name, value in ast.iter_fields(node):
        if value is part:
            setattr(node, name, other)
        elif isinstance(value, list):
            value[:] = [other if v is part else v for v in value]


def _position(node):
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _is_call(node):
    """Whether it is a call of the user's, other than of `super`."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id != "super"
    return getattr(getattr(node.func, "value", None), "id", None) != functions.RUNTIME


def _replaced(statement, call, name, number):
    """A copy of a statement, with one kind in the place of the call."""
    position = _position(call)

    class Replace(ast.NodeTransformer):
        def visit_Call(self, node):
            if _position(node) == position:
                return runtime("one_kind", ast.Name(name, ast.Load()), ast.Constant(number), at=node)
            return self.generic_visit(node)

        visit_Subscript = visit_Call

    copy = source.copied(statement)
    for field in ("value", "test", "iter"):
        part = getattr(copy, field, None)
        if isinstance(part, ast.AST):
            setattr(copy, field, Replace().visit(part))
    return copy


# While they are recorded ------------------------------------------------------------------------------------------------------


def of_kinds(function, count):
    """What is called in place of a function of which the result may be of several kinds."""
    made = calls.call(function)
    if isinstance(made, (types.BuiltinFunctionType, type)):
        return made

    def accepting(*args, **kwargs):
        value = made(*args, **kwargs)
        if isinstance(value, Alternatives) and len(value.values) > count:
            _refuse(value, sys._getframe(1))
        return value

    _accepting.add(accepting.__code__)
    return accepting


_accepting: set = set()  # the code of functions that take results of several kinds


def hook(function):
    """What is called in place of a hook of a layer: where it gives None by a tensor, what it was given stays."""
    made = calls.call(function)

    def call_hook(*args):
        value = made(*args)
        return value if not isinstance(value, Alternatives) else _instead_of_none(value, args[-1], len(args) == 2)

    _accepting.add(call_hook.__code__)
    return call_hook


def _instead_of_none(value, given, is_before):
    from proa.jit.dy2static.runtime import chosen

    as_given = lambda v: (v,) if is_before and not isinstance(v, tuple) else v
    parts = [given if v is None else as_given(v) for v in value.values]
    found = parts[-1]
    for k in reversed(range(len(parts) - 1)):
        found = chosen(is_kind(value, k), lambda k=k: parts[k], lambda found=found: found)
    return found


def passed(value, frame):
    """What a function gave, for who called it: an error where that is code that is recorded, which cannot go on with several kinds."""
    if not isinstance(value, Alternatives):
        return value
    while frame is not None and frame.f_globals.get("__name__") == _LAYERS:
        layer = frame.f_locals.get("self")
        if getattr(layer, "_forward_post_hooks", None):  # which take one value
            break
        frame = frame.f_back
    # A layer may be called by the one who records.
    if frame is not None and (frame.f_code in _accepting or frame.f_globals.get("__name__") == _RECORDER):
        return value
    return _refuse(value, frame)


def settled(value, frame):
    """The value of a ternary that the code of a frame evaluates: of one kind, or what follows is recorded for each."""
    return _refuse(value, frame) if isinstance(value, Alternatives) else value


def _refuse(value, frame):
    error = _C.located(TypeError(value.why))
    if frame is not None and functions.is_made(frame.f_code):
        positions = list(frame.f_code.co_positions())
        place = positions[frame.f_lasti // 2] if frame.f_lasti >= 0 else (None,)
        if None not in place:
            error._proa_wish = wishes.kinds(frame.f_code, tuple(place), len(value.values))
    raise error


def is_kind(value, number):
    """Whether a value is of that kind: a bool, or a bool tensor []."""
    if not isinstance(value, Alternatives):
        return number == 0
    if number >= len(value.values):
        return False
    if isinstance(value.which, int):
        return value.which == number
    return _C.ops.equal(value.which, _C.to_tensor(number, dtype="int64"))


def one_kind(value, number):
    """The value if it is of that kind."""
    if not isinstance(value, Alternatives):
        return value
    return value.values[min(number, len(value.values) - 1)]
