"""What a converted function calls: functions of users are converted too, those of libraries are left alone."""

import functools
import os
import sys
import threading
import types

from proa import _C
from proa.jit.dy2static import functions, properties, wishes, writes

_OWN = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_is_library: dict = {}  # by file
_ignored: set = set()  # names of modules
_left: set = set()  # ids of code objects that not_to_static was given
_of_library: dict = {}  # by ids of code objects of libraries: what is called in place of their functions, or None
_kept: list = []  # those
# What other modules call in place of functions: of builtins, and by functions that know those of libraries.
replaced: dict = {}
methods: dict = {}  # of tensors
of_lists: dict = {}  # methods of lists
of_libraries: list = []
_state = threading.local()


class converting:
    """`with converting():` calls on this thread convert what they call, layers too."""

    def __init__(self, on=True):
        self._on = on

    def __enter__(self):
        self._before = getattr(_state, "on", False)
        _state.on = self._on

    def __exit__(self, *unused):
        _state.on = self._before


def recorded(function):
    """What is called in place of a layer's forward or hook."""
    if not is_converting():
        return function
    if getattr(function, "__name__", None) == "forward":
        return call(function)
    from proa.jit.dy2static import kinds

    return kinds.hook(function)


def is_converting():
    """Whether a function that is converted is recorded on this thread."""
    return getattr(_state, "on", False)


def leave(function):
    """Lets a function stay as it is written."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is not None and id(code) not in _left:
        _left.add(id(code))
        _kept.append(code)
        functions._functions.pop(getattr(function, "__func__", function), None)


def ignore(modules):
    """Lets functions of modules, and of modules in them, stay as they are written."""
    for module in modules if isinstance(modules, (list, tuple)) else [modules]:
        if not isinstance(module, types.ModuleType):
            raise _C.located(TypeError(f"ignore_module: takes modules, not {type(module).__name__}"))
        _ignored.add(module.__name__)


@functools.lru_cache(maxsize=1)
def _libraries():
    """The folders of proa, of the standard library and of what is installed."""
    import sysconfig

    paths = {os.path.join(path, "") for path in sysconfig.get_paths().values() if path}
    return (_OWN, *(paths - {os.path.join(sys.prefix, "")}))


def why_left(function):
    """Why a function of Python is not to be converted; None if it is."""
    code = function.__code__
    if id(code) in _left:
        return "it is marked by not_to_static"
    library = _is_library.get(code.co_filename)
    if library is None:
        path = code.co_filename
        library = path.startswith(_libraries()) or f"{os.sep}site-packages{os.sep}" in path or path[:1] == "<"
        if path.startswith("<doctest ") or path.startswith("<ipython"):
            library = False
        _is_library[path] = library
    if library:
        # Functions that a decorator made share their code.
        _of_library[id(code)] = _replacement(function) if function.__closure__ is None else None
        _kept.append(code)
        return "it is of a library"
    if _ignored:
        name = function.__globals__.get("__name__", "")
        if any(name == module or name.startswith(f"{module}.") for module in _ignored):
            return "its module is ignored (ignore_module)"
    return None


def why_unconverted(code):
    """Why the code of a frame is not that of a converted function; None if it is."""
    if code.co_flags & functions.LEFT_ALONE:
        return "it is a generator or coroutine"
    if functions.is_made(code):
        return None
    if id(code) in _left:
        return "it is marked by not_to_static"
    known = functions.known_conversion(code)
    if known is not None and known.why is not None:
        return known.why
    if _is_library.get(code.co_filename):
        return "it is of a library"
    return "it is called by what is not converted"


def converted(function):
    """A function of Python, converted unless it is to be left."""
    if functions.is_made(function.__code__) or why_left(function) is not None:
        return function
    return functions.convert(function)


def _replacement(function):
    """What is called in place of a function of a library: of those that take arrays or call what they are given."""
    for find in of_libraries:
        found = find(function)
        if found is not None:
            return found
    return None


def _constructor(kind):
    """A class whose `__init__` is a user's: called, its `__init__` is converted."""
    begin = kind.__init__
    if type(begin) is not types.FunctionType or id(begin.__code__) in _of_library:
        return kind
    made = converted(begin)
    if made is begin or kind.__new__ is not object.__new__:
        return kind

    def construct(*args, **kwargs):
        instance = kind.__new__(kind)
        made(instance, *args, **kwargs)
        return instance

    return construct


def read(owner, name):
    """`owner.name`, where the name is that of a property of a user's class: its function is converted."""
    found = properties.property_of(owner, name)
    if found is not None and found.fget is not None:
        return converted(found.fget)(owner)
    return getattr(owner, name)


def call(function):
    """What is called in place of a function, method, layer or other callable object."""
    kind = type(function)
    if kind is types.FunctionType:
        if function.__code__.co_flags & 0x20 and wishes.is_wished(wishes.generator(function.__code__)):
            from proa.jit.dy2static import generators

            return generators.as_list(function)
        made = _of_library.get(id(function.__code__), False)
        if made is False:
            made = converted(function)
            if made is function:
                made = _of_library.get(id(function.__code__))
        return made or function
    if kind is types.MethodType:
        inner = function.__func__
        if type(inner) is types.FunctionType and inner.__code__.co_flags & 0x20:
            made = call(inner)
            return function if made is inner else types.MethodType(made, function.__self__)
        if type(inner) is not types.FunctionType or id(inner.__code__) in _of_library:
            return function
        made = converted(inner)
        return function if made is inner else types.MethodType(made, function.__self__)
    if kind is types.BuiltinFunctionType or kind is type:
        owner = function.__self__ if kind is not type else None
        if isinstance(owner, _C.Tensor):
            found = methods.get(function.__name__)
            return function if found is None else found(owner, function)
        if writes.depth() and kind is not type:
            writes.items(owner, sys._getframe(1).f_globals)
        if type(owner) is list and function.__name__ in of_lists:
            return of_lists[function.__name__](owner, function)
        try:
            found = replaced.get(function)
        except TypeError:
            return function
        return found or (function if kind is not type else _constructor(function))
    if kind is functools.partial:
        inner = call(function.func)
        return function if inner is function.func else functools.partial(inner, *function.args, **function.keywords)
    method = getattr(kind, "__call__", None)  # noqa: B004 (what it is, not whether there is one)
    if type(method) is types.FunctionType and id(method.__code__) not in _of_library and not issubclass(kind, type):
        made = converted(method)
        if made is not method:
            return types.MethodType(made, function)
    return function
