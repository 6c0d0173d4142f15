"""The profiler's older interface, over `proa.profiler`."""

import contextlib

from proa import _C
from proa import profiler as _profiler

__all__ = [
    "Profiler",
    "ProfilerOptions",
    "cuda_profiler",
    "get_profiler",
    "profiler",
    "reset_profiler",
    "start_profiler",
    "stop_profiler",
]

_STATES = ("CPU", "GPU", "All")
_ORDERS = {
    None: "CPUTotal",
    "default": "CPUTotal",
    "calls": "CPUTotal",
    "total": "CPUTotal",
    "max": "CPUMax",
    "min": "CPUMin",
    "ave": "CPUAvg",
}
_running = None


def _order(sorted_key):
    if sorted_key not in _ORDERS:
        raise _C.located(
            ValueError(f"profiler: sorted_key must be one of {', '.join(map(str, _ORDERS))}, not {sorted_key!r}")
        )
    return _profiler.SortedKeys[_ORDERS[sorted_key]]


def _begin():
    global _running
    _running = _profiler.Profiler(on_trace_ready=lambda prof: None, record_shapes=True)
    _running.start()


def start_profiler(state, tracer_option="Default"):
    """Begins to record.

    Args:
        state (str): "CPU", "GPU" or "All".
        tracer_option (str): "Default", "OpDetail" or "AllOpDetail"; all record the same.
    """
    if state not in _STATES:
        raise _C.located(ValueError(f"start_profiler: state must be 'CPU', 'GPU' or 'All', not {state!r}"))
    if tracer_option not in ("Default", "OpDetail", "AllOpDetail"):
        raise _C.located(ValueError(f"start_profiler: tracer_option {tracer_option!r} is not known"))
    if _running is None:
        _begin()


def stop_profiler(sorted_key=None, profile_path=None):
    """Ends recording, prints tables and writes a file.

    Args:
        sorted_key (str, optional): order of rows: "calls", "total", "max", "min" or "ave".
        profile_path (str, optional): a file for `proa.profiler.load_profiler_result`.
    """
    global _running
    order = _order(sorted_key)
    if _running is None:
        return
    prof, _running = _running, None
    prof.stop()
    prof.summary(sorted_by=order)
    if profile_path is not None:
        prof.export(profile_path, "pb")


def reset_profiler():
    """Forgets what was recorded so far."""
    if _running is not None:
        _running.stop()
        _begin()


@contextlib.contextmanager
def profiler(state, sorted_key=None, profile_path=None, tracer_option="Default"):
    """Records inside of a `with`; for the arguments see `start_profiler` and `stop_profiler`."""
    _order(sorted_key)
    start_profiler(state, tracer_option)
    try:
        yield
    finally:
        stop_profiler(sorted_key, profile_path)


@contextlib.contextmanager
def cuda_profiler(output_file, output_mode=None, config=None):
    """Not in this build: raises RuntimeError."""
    raise _C.located(RuntimeError("cuda_profiler: this build has no CUDA"))
    yield


class ProfilerOptions:
    """Options of `Profiler`, read by key.

    Args:
        options (dict, optional): replaces defaults: state, sorted_key, tracer_level, batch_range,
            profile_path, and others that are accepted and do nothing.
    """

    _DEFAULTS = {
        "state": "All",
        "sorted_key": "default",
        "tracer_level": "Default",
        "batch_range": [0, None],
        "output_thread_detail": False,
        "profile_path": "none",
        "timeline_path": "none",
        "op_summary_path": "none",
    }

    def __init__(self, options=None):
        unknown = set(options or ()) - set(self._DEFAULTS)
        if unknown:
            raise _C.located(ValueError(f"ProfilerOptions: there is no option {', '.join(sorted(unknown))}"))
        self._options = {**self._DEFAULTS, **(options or {})}

    def with_state(self, state):
        """The same options with another state."""
        return ProfilerOptions({**self._options, "state": state})

    def __getitem__(self, name):
        if name not in self._options:
            raise _C.located(ValueError(f"ProfilerOptions: there is no option {name}"))
        return self._options[name]


class Profiler:
    """Records a range of batches; `record_step()` after each of them.

    Args:
        enabled (bool): False: do nothing.
        options (ProfilerOptions, optional): what to record, and where to write it.
    """

    def __init__(self, enabled=True, options=None):
        self.enabled = enabled
        self.profiler_options = options or ProfilerOptions()
        self.batch_id = 0
        self._on = False

    def __enter__(self):
        self.batch_id = 0
        self._update()
        return self

    def __exit__(self, *exception):
        self.stop()

    def _update(self):
        first, end = self.profiler_options["batch_range"]
        inside = self.batch_id >= first and (end is None or self.batch_id < end)
        if self.enabled and inside and not self._on:
            self.start()
        elif self._on and not inside:
            self.stop()

    def start(self):
        """Begins to record."""
        if self.enabled:
            start_profiler(self.profiler_options["state"], self.profiler_options["tracer_level"])
            self._on = True

    def stop(self):
        """Ends recording, prints and writes."""
        if self._on:
            self._on = False
            path = self.profiler_options["profile_path"]
            stop_profiler(self.profiler_options["sorted_key"], None if path == "none" else path)

    def reset(self):
        """Forgets what was recorded so far."""
        reset_profiler()

    def record_step(self, change_profiler_status=True):
        """A batch has ended."""
        self.batch_id += 1
        if change_profiler_status:
            self._update()


_default = None


def get_profiler():
    """The Profiler of the process."""
    global _default
    if _default is None:
        _default = Profiler()
    return _default
