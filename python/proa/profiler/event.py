"""Events that a program records by itself."""

import enum
import functools

from proa import _C


class TracerEventType(enum.Enum):
    """What an event is about; its value is the category under which exports and tables show it.

    Examples:
        >>> proa.profiler.TracerEventType.UserDefined.name
        'UserDefined'
    """

    Operator = "op"
    Dataloader = "dataloader"
    ProfileStep = "step"
    Forward = "forward"
    Backward = "backward"
    Optimization = "optimizer"
    Communication = "communication"
    PythonOp = "python"
    PythonUserDefined = "python user"
    UserDefined = "user"


def _category(event_type):
    if isinstance(event_type, TracerEventType):
        return event_type.value
    if isinstance(event_type, str):
        return event_type
    raise _C.located(TypeError(f"RecordEvent: event_type must be a TracerEventType, not {type(event_type).__name__}"))


class RecordEvent:
    """A range of the program's own, in traces and tables under its name.

    A context manager, a decorator, or `begin()` and `end()`. A range that ends on another thread
    than it began is shown apart; `end()` without `begin()`, or a second time, does nothing. Without a
    profiler that records it costs next to nothing.

    Args:
        name (str): any text.
        event_type (TracerEventType): what it is about.

    Examples:
        >>> with proa.profiler.Profiler(on_trace_ready=lambda prof: None) as prof:
        ...     with proa.profiler.RecordEvent("my part"):
        ...         x = proa.ones([2, 3]) * 2
        >>> [e["name"] for e in prof.profiler_result.events() if e["category"] == "user"]
        ['my part']
    """

    def __init__(self, name, event_type=TracerEventType.UserDefined):
        if not isinstance(name, str):
            raise _C.located(TypeError(f"RecordEvent: name must be a str, not {type(name).__name__}"))
        self.name = name
        self.event_type = event_type
        self._arguments = (name, _category(event_type))
        self._range = None

    def begin(self):
        """The range begins now; one that is open is forgotten."""
        if _C.profiler.enabled():
            self._range = _C.profiler.Range(*self._arguments)
            self._range.begin()

    def end(self):
        """The range ends now."""
        opened, self._range = self._range, None
        if opened is not None:
            opened.end()

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, *exception):
        self.end()

    def __call__(self, function):
        """Decorates a function: each call is a range of its own, also of calls within one another."""

        @functools.wraps(function)
        def recorded(*args, **kwargs):
            with RecordEvent(self.name, self.event_type):
                return function(*args, **kwargs)

        return recorded


def instant(name, event_type=TracerEventType.UserDefined):
    """Records a moment.

    Args:
        name (str): any text.
        event_type (TracerEventType): what it is about.

    Examples:
        >>> with proa.profiler.Profiler() as p:
        ...     proa.profiler.instant("epoch begins")
    """
    if _C.profiler.enabled():
        _C.profiler.instant(name, _category(event_type))


def counter(name, value):
    """Records that a quantity has a value from now on: traces show one curve a name.

    Args:
        name (str): of the quantity, "loss".
        value (float): its value.

    Examples:
        >>> with proa.profiler.Profiler() as p:
        ...     proa.profiler.counter("loss", 0.5)
    """
    if _C.profiler.enabled():
        _C.profiler.counter(name, float(value))
