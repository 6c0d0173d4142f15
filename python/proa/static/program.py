"""Static mode: programs that ops are recorded into."""

import contextlib
import threading

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
        self._declared = {}  # inputs by name: sizes and dtype
        self._kept = []
        self.random_seed = 0
        self._begin_block()

    def keep(self, thing):
        """`thing` lives as long as the program: an optimizer, whose schedule moves the rate that the program reads."""
        self._kept.append(thing)

    def clone(self, for_test=False):
        """The program itself; for a test, one that shares its operations: its runs change no parameter, dropout passes
        everything on, and batch normalization uses its running statistics.
        """
        return TestProgram(self) if for_test else self

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

    def to_string(self, throw_on_error=False, with_details=False):
        """The operations as text, which has every detail and no errors to throw."""
        return str(self)


class TestProgram(Program):
    """A program as it runs in a test: what `clone(for_test=True)` gives."""

    def __init__(self, source):
        self.__dict__.update(source.__dict__)
        self._modules = {}

    def run_test(self, feeds, fetches):
        """What `fetches` are of these inputs, in evaluation: None if the program has nothing that is of training."""
        from proa.static import test_mode

        wanted = [item for item in fetches if _C.is_symbolic(item)]
        if not wanted or not test_mode.has_training(self._program):
            return None
        key = tuple(map(id, wanted)), tuple(feeds)
        if key not in self._modules:
            # The tensors are kept, so that their ids stay theirs.
            self._modules[key] = *test_mode.test_module(self._program, feeds, wanted), wanted
        module, names, _ = self._modules[key]
        results = iter(module.run([feeds[name] for name in names]))
        return [next(results) if _C.is_symbolic(item) else item for item in fetches]


_main, _startup = Program(), Program()


class _Mode(threading.local):
    """Whether ops of this thread are recorded; `chosen` counts the calls that said so."""

    recording = False
    chosen = 0


_mode = _Mode()


def default_main_program():
    """The program that ops are recorded into."""
    return _main


def default_startup_program():
    """An empty program: parameters get their first values when they are made."""
    return _startup


def _apply():
    _C.record_into(_main._program if _mode.recording else None)


def _choose(recording):
    _mode.recording = recording
    _mode.chosen += 1
    _apply()


def enable_static():
    """Ops are recorded into the default program from now on, also after a `program_guard` that this is called in."""
    _choose(True)


def disable_static():
    """Ops run at once again, also in and after a `program_guard` that this is called in."""
    _choose(False)


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
    recording, chosen = _mode.recording, _mode.chosen
    _main = main_program
    _startup = startup_program if startup_program is not None else _startup
    _mode.recording = True
    _apply()
    try:
        yield
    finally:
        _main, _startup = before
        if _mode.chosen == chosen:  # nobody switched the mode inside
            _mode.recording = recording
        _apply()


def data(name, shape, dtype=None, lod_level=0):
    """An input of the program; the same one again if it has an input of that name, shape and dtype.

    Args:
        name (str): by which it is fed.
        shape (list): sizes; None or -1 for sizes that are known only when the program runs.
        dtype: default: the default dtype.

    Returns:
        Tensor: symbolic.

    Raises:
        ValueError: the program has an input of that name, but of another shape or dtype.
    """
    sizes = [-1 if size is None or size == -1 else int(size) for size in shape]
    kind = _C.get_default_dtype() if dtype is None else dtype
    kind = _C.DType(kind) if isinstance(kind, str) else kind
    declared = _main._declared.get(name)
    if declared is not None:
        if declared != (sizes, kind):
            raise _C.located(
                ValueError(
                    f"data: the program already has an input {name!r} {declared[0]} {declared[1].name}, not "
                    f"{sizes} {kind.name}; give this one another name"
                )
            )
        return _main._inputs[name]
    tensor = _main._program.add_input(name, sizes, kind)
    tensor.name = name
    _main._inputs[name] = tensor
    _main._declared[name] = (sizes, kind)
    return tensor


@contextlib.contextmanager
def name_scope(prefix=None):
    """Nothing: names of values are those of the program text."""
    yield
