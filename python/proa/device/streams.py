"""Streams and events of a device, for programs that order their work by hand; on the CPU work is done when it is called.

A thread works on one stream of a device at a time. What it enqueues there is done in its order; work on two streams may
be done side by side, and only events order it. Memory goes back to the stream that it came from.
"""

from proa import _C

__all__ = ["Event", "Stream", "current_stream", "stream_guard", "synchronize"]


class Event:
    """A point in a stream of a device (of the device of now when the event is first recorded).

    Args:
        enable_timing, blocking, interprocess (bool): accepted; every event measures time, none is shared.

    Examples:
        >>> import proa as paddle
        >>> start, end = paddle.device.Event(), paddle.device.Event()
        >>> start.record()
        >>> y = paddle.ones([64, 64]) @ paddle.ones([64, 64])
        >>> end.record()
        >>> end.synchronize()
        >>> start.elapsed_time(end) >= 0
        True
    """

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self._event = None

    def record(self, stream=None):
        """Marks the point of now in a stream (of now)."""
        queue = _queue("record", current_stream() if stream is None else stream)
        if self._event is None:
            self._event = _C.Event(queue.place)
        self._event.record(queue)

    def query(self):
        """Whether all before it is done; yes for an event that nobody has recorded."""
        return self._event is None or self._event.query()

    def synchronize(self):
        """Waits until all before it is done."""
        if self._event is not None:
            self._event.synchronize()

    def elapsed_time(self, end_event):
        """Milliseconds from this point to another; both must have been recorded, and be done."""
        if self._event is None or getattr(end_event, "_event", None) is None:
            raise _C.located(RuntimeError("elapsed_time: both events must have been recorded"))
        return self._event.elapsed_ms(end_event._event)


class Stream:
    """A queue of work of a device.

    Args:
        device (Place|str|int, optional): whose; the device of now by default, or the one of that number of its kind.
        priority (int, optional): accepted.

    Examples:
        >>> import proa as paddle
        >>> stream = paddle.device.Stream()
        >>> with paddle.device.stream_guard(stream):
        ...     y = paddle.ones([2]) * 3
        >>> stream.synchronize()
        >>> y.numpy().tolist()
        [3.0, 3.0]
    """

    def __init__(self, device=None, priority=None):
        self._stream = _C.Stream(_place(device))
        self._asked = None

    @classmethod
    def _of(cls, stream):
        made = cls.__new__(cls)
        made._stream = stream
        made._asked = None
        return made

    @property
    def device(self):
        """The device, a place."""
        return self._stream.place

    def __eq__(self, other):
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device, self._stream.handle) == (other.device, other._stream.handle)

    def __hash__(self):
        return hash((str(self.device), self._stream.handle))

    def synchronize(self):
        """Waits until its work is done."""
        self._stream.synchronize()

    def query(self):
        """Whether the work that it had when it was first asked is done; a device may need a moment to say yes."""
        if self._asked is None:
            self._asked = self.record_event()
        done = self._asked.query()
        if done:
            self._asked = None
        return done

    def wait_event(self, event):
        """Lets later work wait for an event; one that nobody has recorded is past."""
        if not isinstance(event, Event):
            raise _C.located(TypeError(f"wait_event: event must be an Event, not {type(event).__name__}"))
        if event._event is not None:
            event._event.delay(self._stream)

    def wait_stream(self, stream):
        """Lets later work wait for what another stream has."""
        _queue("wait_stream", stream)
        self.wait_event(stream.record_event())

    def record_event(self, event=None):
        """Marks the point of now; the event."""
        event = Event() if event is None else event
        event.record(self)
        return event


class stream_guard:
    """Inside, the work of this thread goes into `stream`: after what it enqueued before, and before what comes after.

    Args:
        stream (Stream): of any device; None changes nothing.

    Examples:
        >>> stream = proa.device.Stream()
        >>> with proa.device.stream_guard(stream):
        ...     y = proa.ones([2]) + 1
        >>> stream.synchronize()
        >>> y.tolist()
        [2.0, 2.0]
    """

    def __init__(self, stream):
        self._guard = None if stream is None else _C.StreamGuard(_queue("stream_guard", stream))

    def __enter__(self):
        if self._guard is not None:
            self._guard.__enter__()

    def __exit__(self, *exception):
        if self._guard is not None:
            self._guard.__exit__(*exception)


def current_stream(device=None):
    """The stream that the work of this thread on a device goes into.

    Examples:
        >>> stream = proa.device.cuda.current_stream()
        >>> stream.synchronize()
    """
    return Stream._of(_C.current_stream(_place(device)))


def synchronize(device=None):
    """Waits until the work of a device is done.

    Examples:
        >>> proa.device.cuda.synchronize()
    """
    _C.synchronize(_place(device))


def _queue(op, stream):
    if not isinstance(stream, Stream):
        raise _C.located(TypeError(f"{op}: stream must be a Stream, not {type(stream).__name__}"))
    return stream._stream


def _place(device):
    """A place, from a number too."""
    if isinstance(device, int) and not isinstance(device, bool):
        kind = _C.get_device().partition(":")[0]
        return kind if kind == "cpu" and device == 0 else f"{kind}:{device}"
    return device
