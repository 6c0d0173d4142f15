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

This is done where the call is the first of its statement, and is made once: not in the condition of a `while`, a lambda or what
`and` may leave out. A kind is as in alternatives.py.
"""

import ast
import sys
import types

from proa import _C
from proa.jit.dy2static import calls, functions, source, wishes
from proa.jit.dy2static.alternatives import Alternatives
from proa.jit.dy2static.expressions import placed, runtime

_LAYERS, _RECORDER = "proa.nn.layer.layers", "proa.jit.tracing"
_MOST = 64  # copies of what follows, of all calls of a function


# While functions are rewritten -----------------------------------------------------------------------------------------------


def apart(node, wanted, numbers):
    """Rewrites the statements of a function, in place, around calls at some positions; `wanted`: {position: number of kinds}."""
    _Apart(wanted, numbers).visit(node)
    return node


class _Apart(ast.NodeTransformer):
    def __init__(self, wanted, numbers):
        self._wanted, self._numbers, self._copies = wanted, numbers, 0

    def generic_visit(self, node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, self._block(block))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            part.body = self._block(part.body)
        return node

    def _block(self, statements):
        out = []
        for k, statement in enumerate(statements):
            call = self._call(statement)
            count = self._wanted[_position(call)] if call is not None else 0
            if call is None or self._copies + count > _MOST:
                out.append(self.visit(statement))
                continue
            self._copies += count
            name = f"_proa_kinds_{next(self._numbers)}"
            made = placed(
                ast.Call(runtime("of_kinds", call.func, ast.Constant(count), at=call.func), call.args, call.keywords),
                call,
            )
            out.append(placed(ast.Assign([ast.Name(name, ast.Store())], made), statement))
            rest = statements[k:]
            ways = [
                self._block([_replaced(rest[0], call, name, number), *map(source.copied, rest[1:])])
                for number in range(count)
            ]
            chosen = ways.pop()
            for number in reversed(range(count - 1)):
                is_it = runtime("is_kind", ast.Name(name, ast.Load()), ast.Constant(number), at=call)
                chosen = [placed(ast.If(is_it, ways[number], chosen), statement)]
            return out + chosen
        return out

    def _call(self, statement):
        """The first call of a statement, if it is wanted and made once, before all that may change something."""
        if isinstance(statement, ast.AugAssign) and any(isinstance(n, ast.Call) for n in ast.walk(statement.target)):
            return None
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)):
            part = statement.value
        elif isinstance(statement, (ast.If, ast.Assert)):
            part = statement.test
        elif isinstance(statement, ast.For):
            part = statement.iter
        else:
            return None
        call = _first_call(part)
        return call if call is not None and _position(call) in self._wanted else None


def _position(node):
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _first_call(node):
    """The call of an expression that is made before its others; None if one way of the expression makes none."""
    if node is None or isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return None
    if isinstance(node, ast.BoolOp):
        return _first_call(node.values[0])
    if isinstance(node, ast.IfExp):
        return _first_call(node.test)
    if isinstance(node, ast.Compare):
        return _first_call(node.left) or _first_call(node.comparators[0])
    for child in ast.iter_child_nodes(node):
        found = None if _is_super(child) else _first_call(child)
        if found is not None:
            return found
        if isinstance(child, (ast.BoolOp, ast.IfExp, ast.Compare)) and any(
            isinstance(n, ast.Call) for n in ast.walk(child)
        ):
            return None
    is_own = isinstance(node, ast.Call) and isinstance(getattr(node.func, "value", None), ast.Name)
    return node if isinstance(node, ast.Call) and (not is_own or node.func.value.id != functions.RUNTIME) else None


def _is_super(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _replaced(statement, call, name, number):
    """A copy of a statement, with one kind in the place of the call."""
    position = _position(call)

    class Replace(ast.NodeTransformer):
        def visit_Call(self, node):
            if _position(node) == position:
                return runtime("one_kind", ast.Name(name, ast.Load()), ast.Constant(number), at=node)
            return self.generic_visit(node)

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

    if _accepting[0] is None:
        _accepting[0] = accepting.__code__
    return accepting


_accepting: list = [None]  # the code of the function that of_kinds makes


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
    if frame is not None and (frame.f_code is _accepting[0] or frame.f_globals.get("__name__") == _RECORDER):
        return value
    return _refuse(value, frame)


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
