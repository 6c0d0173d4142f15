"""Functions that programs call for their effect on other versions: flags, modes, readers."""

import os

from proa import _C

# name without FLAGS_ -> value
_flags: dict = {
    "enable_eager_mode": os.environ.get("FLAGS_enable_eager_mode", "1").lower() not in ("0", "false", "off", "")
}


def eager_mode_flag():
    """The value of FLAGS_enable_eager_mode (proa.framework.modes)."""
    return bool(_flags["enable_eager_mode"])


def in_dynamic_mode():
    """True while ops run at once; False while they are recorded into a program."""
    static = getattr(_C, "in_static_mode", None)
    return not (static is not None and static())


def enable_static():
    """Lets ops be recorded into the default program from now on."""
    from proa import static

    static.enable_static()


def disable_static(place=None):
    """Lets ops run at once again."""
    from proa import static

    static.disable_static()
    if place is not None:
        _C.set_device(place)


def disable_signal_handler():
    """Nothing: no signal handlers are installed."""


def set_flags(flags):
    """Sets flags by name.

    Args:
        flags (dict): names, with or without "FLAGS_", and values.
    """
    if not isinstance(flags, dict):
        raise TypeError(f"set_flags: flags must be a dict, not {type(flags).__name__}")
    for name, value in flags.items():
        _flags[name.removeprefix("FLAGS_")] = value


def get_flags(flags):
    """The values of flags that were set, by name.

    Args:
        flags (str|list[str]): names.
    """
    names = [flags] if isinstance(flags, str) else list(flags)
    unknown = [name for name in names if name.removeprefix("FLAGS_") not in _flags]
    if unknown:
        raise ValueError(f"get_flags: {', '.join(unknown)} has not been set")
    return {name: _flags[name.removeprefix("FLAGS_")] for name in names}


def batch(reader, batch_size, drop_last=False):
    """A reader of lists of `batch_size` samples, from a reader of samples.

    Args:
        reader (Callable): gives an iterable of samples.
        batch_size (int): samples in a list.
        drop_last (bool): leave out the last list if it is shorter.
    """
    if not isinstance(batch_size, int) or batch_size <= 0:
        raise ValueError(f"batch: batch_size must be a positive int, not {batch_size!r}")

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
