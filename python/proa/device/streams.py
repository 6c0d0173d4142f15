"""Streams and events of a device, for programs that order their work by hand; on the CPU work is done when it is called."""

import contextlib

from proa import _C

__all__ = ["Event", "Stream", "current_stream", "stream_guard", "synchronize"]


class Event:
    """A point in a stream.

    Args:
        enable_timing, blocking, interprocess (bool): accepted.

    Examples:
        >>> event = proa.device.cuda.Event()
        >>> event.record()
        >>> event.query()
        True
    """

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self._recorded = False

    def record(self, stream=None):
        """Marks the point of now."""
        self._recorded = True

    def query(self):
        """Whether all before it is done: yes."""
        return True

    def synchronize(self):
        """Waits until all before it is done."""
        _C.synchronize()


class Stream:
    """A queue of work.

    Args:
        device (Place|int, optional): accepted.
        priority (int, optional): accepted.

    Examples:
        >>> proa.device.cuda.Stream().synchronize()
    """

    def __init__(self, device=None, priority=None):
        self.device = device

    def synchronize(self):
        """Waits until its work is done."""
        _C.synchronize()

    def query(self):
        """Whether its work is done: yes."""
        return True

    def wait_event(self, event):
        """Lets later work wait for an event."""
        event.synchronize()

    def wait_stream(self, stream):
        """Lets later work wait for that of another stream."""
        stream.synchronize()

    def record_event(self, event=None):
        """Marks the point of now; the event."""
        event = Event() if event is None else event
        event.record(self)
        return event


_stream = Stream()


def current_stream(device=None):
    """The stream that work goes into.

    Examples:
        >>> stream = proa.device.cuda.current_stream()
        >>> stream.synchronize()
    """
    return _stream


@contextlib.contextmanager
def stream_guard(stream):
    """Inside, work goes into `stream`."""
    global _stream
    if not isinstance(stream, Stream):
        raise _C.located(TypeError(f"stream_guard: stream must be a Stream, not {type(stream).__name__}"))
    before, _stream = _stream, stream
    try:
        yield
    finally:
        _stream = before


def synchronize(device=None):
    """Waits until the work of a device is done.

    Examples:
        >>> proa.device.cuda.synchronize()
    """
    _C.synchronize()
