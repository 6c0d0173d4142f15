"""Who wants to know what reading batches costs: profilers and timers.

An observer has `before_read()` and `after_read()`, called around each batch on the thread that reads.
"""

_observers: list = []


def add_observer(observer):
    """From now on, also of loops that run already."""
    _observers.append(observer)


def remove_observer(observer):
    """Does nothing if it is not there."""
    if observer in _observers:
        _observers.remove(observer)


class Observed:
    """An iterator over the batches of another, whose reads observers are told of."""

    def __init__(self, batches):
        self._batches = iter(batches)

    def __iter__(self):
        return self

    def next(self):
        """`next(self)`, as programs of 2.x call it."""
        return self.__next__()

    def __next__(self):
        if not _observers:
            return next(self._batches)
        observers = list(_observers)
        for observer in observers:
            observer.before_read()
        try:
            return next(self._batches)
        finally:
            for observer in reversed(observers):
                observer.after_read()
