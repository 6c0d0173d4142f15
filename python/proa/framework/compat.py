"""Functions that programs call for their effect on other versions: modes, readers."""

from proa import _C


def in_dynamic_mode() -> bool:
    """True while ops run at once; False while they are recorded into a program.

    Examples:
        >>> proa.in_dynamic_mode()
        True
    """
    static = getattr(_C, "in_static_mode", None)
    return not (static is not None and static())


def enable_static():
    """Lets ops be recorded into the default program from now on.

    Examples:
        >>> proa.enable_static()
        >>> proa.in_dynamic_mode()
        False
        >>> proa.disable_static()
    """
    from proa import static

    static.enable_static()


def disable_static(place=None):
    """Lets ops run at once again.

    Examples:
        >>> proa.disable_static()
        >>> proa.in_dynamic_mode()
        True
    """
    from proa import static

    static.disable_static()
    if place is not None:
        _C.set_device(place)


def disable_signal_handler():
    """Takes the crash handler off again (`proa.utils.enable_crash_handler`); no other signal handler is installed.

    Examples:
        >>> proa.disable_signal_handler()
    """
    _C.debug.disable_crash_handler()


def batch(reader, batch_size, drop_last=False):
    """A reader of lists of `batch_size` samples, from a reader of samples.

    Args:
        reader (Callable): gives an iterable of samples.
        batch_size (int): samples in a list.
        drop_last (bool): leave out the last list if it is shorter.

    Examples:
        >>> reader = proa.batch(lambda: iter(range(5)), batch_size=2)
        >>> list(reader())
        [[0, 1], [2, 3], [4]]
    """
    if not isinstance(batch_size, int) or batch_size <= 0:
        raise _C.located(ValueError(f"batch: batch_size must be a positive int, not {batch_size!r}"))

    def batches():
        samples = []
        for sample in reader():
            samples.append(sample)
            if len(samples) == batch_size:
                yield samples
                samples = []
        if samples and not drop_last:
            yield samples

    return batches
