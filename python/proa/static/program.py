"""Static mode: programs that ops are recorded into."""

import contextlib

from proa import _C
from proa.static.block import Block


class Program(Block):
    """A program under construction, and what is remembered about it in Python.

    Examples:
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     x = proa.static.data("x", [None, 2])
        ...     y = x * 2.0
    """

    def __init__(self):
        self._program = _C.Program()
        self.random_seed = 0
        self._begin_block()

    def clone(self, for_test=False):
        """The program itself: operations are only ever appended, and what is not fetched is not run."""
        return self

    @property
    def num_operations(self):
        return self._program.num_operations

    def list_vars(self):
        """The tensors that the program captures: parameters, buffers, constants."""
        return [tensor for _, tensor in self._program.captured]

    def all_parameters(self):
        """The captured tensors that are trained."""
        return [tensor for tensor in self.list_vars() if not tensor.stop_gradient]

    def __str__(self):
        return str(self._program)

    to_string = __str__


_main, _startup = Program(), Program()
_scopes: list = []  # entered recordings, innermost last


def default_main_program():
    """The program that ops are recorded into."""
    return _main


def default_startup_program():
    """An empty program: parameters get their first values when they are made."""
    return _startup


def enable_static():
    """Ops are recorded into the default program from now on."""
    if not _scopes:
        _enter(_main)


def disable_static():
    """Ops run at once again."""
    while _scopes:
        _scopes.pop().__exit__(None, None, None)


def _enter(program):
    scope = program._program.recording()
    scope.__enter__()
    _scopes.append(scope)


@contextlib.contextmanager
def program_guard(main_program, startup_program=None):
    """Inside, ops are recorded into `main_program`.

    Args:
        main_program (Program): takes the operations.
        startup_program (Program, optional): becomes the default startup program.
    """
    global _main, _startup
    if not isinstance(main_program, Program):
        raise _C.located(TypeError(f"program_guard: main_program must be a Program, not {type(main_program).__name__}"))
    before = _main, _startup
    _main = main_program
    _startup = startup_program if startup_program is not None else _startup
    scope = main_program._program.recording()
    scope.__enter__()
    try:
        yield
    finally:
        scope.__exit__(None, None, None)
        _main, _startup = before


def data(name, shape, dtype=None, lod_level=0):
    """An input of the program.

    Args:
        name (str): by which it is fed.
        shape (list): sizes; None or -1 for sizes that are known only when the program runs.
        dtype: default: the default dtype.

    Returns:
        Tensor: symbolic.
    """
    sizes = [-1 if size is None else int(size) for size in shape]
    kind = _C.get_default_dtype() if dtype is None else dtype
    kind = _C.DType(kind) if isinstance(kind, str) else kind
    tensor = _main._program.add_input(name, sizes, kind)
    tensor.name = name
    _main._inputs[name] = tensor
    return tensor


@contextlib.contextmanager
def name_scope(prefix=None):
    """Nothing: names of values are those of the program text."""
    yield
