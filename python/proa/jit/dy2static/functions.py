"""Conversion of functions: each code object once, with the lines of the user's file and the cells of the function."""

import ast
import itertools
import types
import weakref

from proa.framework.size import converted_codes as _made
from proa.jit.dy2static import properties, source, wishes
from proa.jit.dy2static.expressions import RUNTIME, Expressions
from proa.jit.dy2static.statements import NotConverted, Statements, converted

LEFT_ALONE = 0x20 | 0x80 | 0x100 | 0x200  # flags of generators and coroutines
_FUTURE = 0x1FE0000  # flags of `from __future__`


class Conversion:
    """What became of a code object: new code and its text, or why there is none."""

    def __init__(self, code=None, tree=None, why=None, nones=frozenset()):
        self.code, self._tree, self.why = code, tree, why
        self.nones = nones  # names that have no value in the place of None

    def text(self):
        """The rewritten source."""
        return ast.unparse(self._tree)


_conversions: dict = {}  # by id of a code object: (weak reference to it, Conversion)
# function: {what is wished for it: (converted function, names that have no value in the place of None)}
_functions: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
# What rewritten functions find under the name of the runtime; it puts itself there.
runtime_cell = types.CellType()


def conversion_of(function):
    """The Conversion of a function's code."""
    code = function.__code__
    known = _conversions.get(id(code))
    if known is None:
        key = id(code)
        forget = lambda _: _conversions.pop(key, None)
        known = _conversions[id(code)] = weakref.ref(code, forget), _convert(function)
    return known[1]


def known_conversion(code):
    """The Conversion of a code object that was tried before; None of others."""
    known = _conversions.get(id(code))
    return None if known is None else known[1]


def is_made(code):
    """Whether the code is what conversion gave."""
    return id(code) in _made


def convert(function):
    """The function rewritten; itself where it is already, or cannot be."""
    known = _functions.get(function, {})
    kinds = wishes.calls_of_kinds(function.__code__)
    ways = wishes.lines_of_ways(function.__code__)
    wanted = wishes.names_of_none(function.__code__)
    caught = wishes.lines_of_caught(function.__code__)
    key = frozenset(kinds.items()), ways, frozenset((n, line) for n, lines in wanted.items() for line in lines), caught
    found, nones = known.get(key, (None, ()))
    if found is None:
        if id(function.__code__) in _made:
            return function
        conversion = conversion_of(function)
        if (kinds or ways or wanted or caught) and conversion.code is not None:
            conversion = _convert(function, kinds, ways, wanted, caught)
        nones = conversion.nones
        found = function if conversion.code is None else _with_code(function, conversion.code)
        if found is not function:
            _functions.setdefault(function, {})[key] = found, nones
    wishes.note_names(function.__code__.co_filename, nones)
    return found


def _with_code(function, code):
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[RUNTIME] = runtime_cell
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, tuple(cells[n] for n in code.co_freevars)
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
    made.__annotations__ = function.__annotations__
    made.__dict__.update(function.__dict__)
    return made


def _convert(function, kinds=None, ways=(), wanted=None, caught=()):
    code = function.__code__
    if code.co_flags & LEFT_ALONE:
        return Conversion(why="it is a generator or coroutine")
    found = source.find(function)
    if found is None:
        return Conversion(why="its source is not to be had")
    node, owner = found
    try:
        node = source.copied(node)
        if owner is not None:
            source.mangle(node, owner)
        nones = frozenset()
        if caught:
            from proa.jit.dy2static.raises import as_jumps

            node = as_jumps(node, caught)
        if wanted and not isinstance(node, ast.Lambda):
            from proa.jit.dy2static.nones import without

            nones = without(node, wanted)
        tree = _rewritten(node, properties.names_in(function.__globals__), kinds, ways)
        made = _compiled(tree, code)
    except (NotConverted, RecursionError) as error:
        return Conversion(why=str(error).splitlines()[0])
    if any(name not in (*code.co_freevars, RUNTIME) for name in made.co_freevars):
        return Conversion(why="its variables are not those of its source")
    return Conversion(made, tree, nones=nones)


def _rewritten(node, names, kinds=None, ways=()):
    numbers = itertools.count(1)
    if (kinds or ways) and not isinstance(node, ast.Lambda):
        from proa.jit.dy2static.kinds import apart

        node = apart(node, kinds or {}, ways, numbers)
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)
    if isinstance(node, ast.Lambda):
        return Expressions(None, lambda inner: converted(inner, numbers, names), names).visit(node)
    node.decorator_list = []
    node.returns = None
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return Statements(node, numbers, names).rewrite(node)


def _compiled(tree, code):
    """The code object of the rewritten function, in a function that has its free variables as parameters."""
    is_lambda = isinstance(tree, ast.Lambda)
    names = dict.fromkeys([*code.co_freevars, RUNTIME])
    body = [ast.Return(tree)] if is_lambda else [tree]
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    if not is_lambda:
        tree.name = "_proa_function_"  # which is no variable of its own
    whole = ast.FunctionDef("_proa_free_", arguments, body, [], None)
    module = ast.Module([whole], [])
    whole.lineno = whole.end_lineno = tree.lineno
    whole.col_offset = whole.end_col_offset = tree.col_offset
    ast.fix_missing_locations(module)
    outer = compile(module, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True)
    outer = next(c for c in outer.co_consts if isinstance(c, types.CodeType))
    made = next(c for c in outer.co_consts if isinstance(c, types.CodeType))
    if not is_lambda:
        tree.name = code.co_name
    made = made.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    return _named(made, code)


def _named(code, user):
    """The code with functions of blocks named as the function that they are of, in tracebacks; all of it is noted."""
    constants = tuple(
        _named(_as_block(c, user), c if not c.co_name.startswith("_proa_") else user)
        if isinstance(c, types.CodeType) and c.co_flags & 0x3 == 0x3
        else c
        for c in code.co_consts
    )
    code = code.replace(co_consts=constants)
    _made.add(id(code))
    _kept.append(code)
    return code


_kept: list = []  # what _made has the ids of


def _as_block(code, user):
    if not code.co_name.startswith("_proa_"):
        return code
    return code.replace(co_name=user.co_name, co_qualname=user.co_qualname)
