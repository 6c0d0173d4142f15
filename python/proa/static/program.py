"""Static mode: programs that ops are recorded into."""

import contextlib
import threading
import weakref

from proa import _C
from proa.static.block import Block, is_parameter


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
        self._program.follow_gradients()
        self._declared = {}  # inputs by name: sizes and dtype
        self._kept = []
        self._readers = []  # that feed it (GeneratorLoader)
        self._for_test = False
        self._copied_from = None
        self.random_seed = 0
        self._begin_block()

    def keep(self, thing):
        """`thing` lives as long as the program: an optimizer, whose schedule moves the rate that the program reads."""
        self._kept.append(thing)

    def clone(self, for_test=False):
        """A copy, which later operations of this program are no part of; tensors of this program name those of the
        copy, too. Parameters are shared.

        Args:
            for_test (bool): the copy is as a test runs it: dropout passes everything on, batch normalization uses its
                running statistics, nothing is updated, and there are no gradients.

        Examples:
            >>> main = proa.static.Program()
            >>> with proa.static.program_guard(main):
            ...     x = proa.static.data("x", [2])
            ...     y = proa.nn.functional.dropout(x, 0.5)
            >>> exe, test = proa.static.Executor(), main.clone(for_test=True)
            >>> exe.run(test, feed={"x": proa.ones([2]).numpy()}, fetch_list=[y])[0].tolist()
            [1.0, 1.0]
        """
        copy = Program()
        copy.__dict__.update({name: _copied(value) for name, value in self.__dict__.items()})
        copy._program = program = self._program.clone(for_test)
        copy._inputs = {name: program.find(name) for name in self._inputs}
        for name, tensor in copy._inputs.items():
            tensor.name = name
        copy._bound = weakref.WeakKeyDictionary()
        copy._ready = {}
        copy._for_test = for_test or self._for_test
        if for_test:
            copy._backwards = []
        copy._copied_from = self
        copy._pipeline = None
        return copy

    @property
    def num_operations(self):
        return self._program.num_operations

    def list_vars(self):
        """The tensors that the program captures: parameters, buffers, constants."""
        return [tensor for _, tensor in self._program.captured]

    def all_parameters(self):
        """The captured parameters, those that are not trained too (`stop_gradient`), and what else gradients are asked of;
        each once, in the order in which they were made.

        Examples:
            >>> main = proa.static.Program()
            >>> with proa.static.program_guard(main):
            ...     x = proa.static.data("x", [None, 2])
            ...     frozen = proa.ParamAttr("frozen_weight", trainable=False)
            ...     y = proa.static.nn.fc(x, 3, weight_attr=frozen, bias_attr=False)
            >>> [(p.name, p.trainable) for p in main.all_parameters()]
            [('frozen_weight', False)]
        """
        found = self._distinct(tensor for tensor in self.list_vars() if is_parameter(tensor))
        # The program captures them where they are used first, and passes may use them in another order.
        place = {name: number for number, name in enumerate(self._made)}
        made = iter(sorted((t for t in found if t.name in place), key=lambda t: place[t.name]))
        return [next(made) if t.name in place else t for t in found]

    def trained_parameters(self):
        """Those of `all_parameters` that are trained: what optimizers update unless told otherwise."""
        return self._distinct(tensor for tensor in self.list_vars() if not tensor.stop_gradient)

    def _distinct(self, tensors):
        # Gradients that can be differentiated again hold parameters by other handles, which come after the parameters.
        tensors = list(tensors)
        firsts = {(tensor.data_ptr() or id(tensor), tuple(tensor.shape)): tensor for tensor in reversed(tensors)}
        return [tensor for tensor in tensors if firsts[tensor.data_ptr() or id(tensor), tuple(tensor.shape)] is tensor]

    def __str__(self):
        return str(self._program)

    def to_string(self, throw_on_error=False, with_details=False):
        """The operations as text, which has every detail and no errors to throw."""
        return str(self)

    @staticmethod
    def parse_from_string(binary_str):
        """The program of the bytes that `serialize_program` gives (or of a .pdmodel), without its parameters.

        `deserialize_persistables` gives it its parameters, and with them it can be run.

        Raises:
            TypeError: for what is no bytes.
        """
        from proa.static.states import deserialize_program

        return deserialize_program(binary_str)


def _copied(value):
    return value.copy() if isinstance(value, (dict, list)) else value


class _Mode(threading.local):
    """Whether ops of this thread are recorded, and into which programs; `chosen` counts the calls that said so."""

    recording = False
    chosen = 0
    main, startup = Program(), Program()  # of all threads, until a guard names others


_mode = _Mode()


def default_main_program():
    """The program that ops are recorded into.

    Examples:
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     proa.static.default_main_program() is main
        True
    """
    return _mode.main


def default_startup_program():
    """An empty program: parameters get their first values when they are made.

    Examples:
        >>> main, startup = proa.static.Program(), proa.static.Program()
        >>> with proa.static.program_guard(main, startup):
        ...     proa.static.default_startup_program() is startup
        True
    """
    return _mode.startup


def _apply():
    _C.record_into(_mode.main._program if _mode.recording else None)


def _choose(recording):
    _mode.recording = recording
    _mode.chosen += 1
    _apply()


def enable_static():
    """Ops are recorded into the default program from now on, also after a `program_guard` that this is called in."""
    _choose(True)


def assume_static():
    """`enable_static`, unless this thread has ever chosen a mode: programs of 1.x were static without saying so."""
    if not _C.in_static_mode() and not _mode.chosen:
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

    Examples:
        >>> proa.enable_static()
        >>> program = proa.static.Program()
        >>> with proa.static.program_guard(program):
        ...     x = proa.static.data("x", [None, 3])
        ...     y = x * 2.0
        >>> exe = proa.static.Executor()
        >>> exe.run(program, feed={"x": np.ones([1, 3], "float32")}, fetch_list=[y])[0].tolist()
        [[2.0, 2.0, 2.0]]
        >>> proa.disable_static()
    """
    if not isinstance(main_program, Program):
        raise _C.located(TypeError(f"program_guard: main_program must be a Program, not {type(main_program).__name__}"))
    before = _mode.main, _mode.startup
    recording, chosen = _mode.recording, _mode.chosen
    _mode.main = main_program
    _mode.startup = startup_program if startup_program is not None else _mode.startup
    _mode.recording = True
    _apply()
    try:
        yield
    finally:
        _mode.main, _mode.startup = before
        if _mode.chosen == chosen:  # nobody switched the mode inside
            _mode.recording = recording
        _apply()


def data(name, shape, dtype=None, lod_level=0):
    """An input of the program; the same one again if it has an input of that name, shape and dtype.

    Args:
        name (str): by which it is fed.
        shape (list): sizes; None or -1 for sizes that are known only when the program runs.
        dtype: default: the default dtype.
        lod_level (int): from 1 on, the rows are sequences of different lengths, which are fed with them as a
            `fluid.LoDTensor` (`fluid.create_lod_tensor`); see `proa.static.sequences`.

    Returns:
        Tensor: symbolic.

    Raises:
        ValueError: the program has an input of that name, but of another shape or dtype.

    Examples:
        >>> proa.enable_static()
        >>> x = proa.static.data("x", [None, 3], "float32")
        >>> x.name, x.dtype.name
        ('x', 'float32')
        >>> proa.disable_static()
    """
    sizes = [-1 if size is None or size == -1 else int(size) for size in shape]
    kind = _C.get_default_dtype() if dtype is None else dtype
    kind = _C.DType(kind) if isinstance(kind, str) else kind
    main = _mode.main
    declared = main._declared.get(name)
    if declared is not None:
        if declared != (sizes, kind):
            raise _C.located(
                ValueError(
                    f"data: the program already has an input {name!r} {declared[0]} {declared[1].name}, not "
                    f"{sizes} {kind.name}; give this one another name"
                )
            )
        return main._inputs[name]
    tensor = main._program.add_input(name, sizes, kind)
    tensor.name = name
    main._inputs[name] = tensor
    main._declared[name] = (sizes, kind)
    if lod_level:
        from proa.static import sequences

        sequences.declare(name, tensor, lod_level)
    return tensor


@contextlib.contextmanager
def name_scope(prefix=None):
    """Nothing: names of values are those of the program text.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()), proa.static.name_scope("encoder"):
        ...     y = proa.static.data("x", [None, 2]) + 1.0
        >>> y.shape[1:]
        [2]
    """
    yield
