"""Profiler: records, step by step, as a schedule says."""

import contextlib
import datetime
import enum
import os
import re
import socket
import threading
import warnings

from proa import _C
from proa.io import reader_cost
from proa.profiler.instrument import Instruments
from proa.profiler.result import ProfilerResult, SortedKeys
from proa.profiler.timer import StepTimer


class ProfilerState(enum.Enum):
    """What a profiler does during a step.

    Examples:
        >>> proa.profiler.make_scheduler(closed=1, ready=0, record=1)(0) == proa.profiler.ProfilerState.CLOSED
        True
    """

    CLOSED = 0  # nothing
    READY = 1  # records, so that what is slow only once is over; the events are thrown away
    RECORD = 2
    RECORD_AND_RETURN = 3  # records, and hands over what it has when the step ends


class ProfilerTarget(enum.Enum):
    """Which devices to record.

    Examples:
        >>> proa.profiler.ProfilerTarget.CPU.name
        'CPU'
    """

    CPU = 0
    GPU = 1
    MLU = 2


_RECORDS = (ProfilerState.RECORD, ProfilerState.RECORD_AND_RETURN)


def _count(where, name, value, least):
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _C.located(ValueError(f"{where}: {name} must be an int >= {least}, not {value!r}"))
    return value


def make_scheduler(*, closed, ready, record, repeat=0, skip_first=0):
    """A schedule: cycles of `closed`, `ready` and `record` steps.

    Args:
        closed (int): steps without recording.
        ready (int): steps that warm up.
        record (int): steps that are recorded; what they gave is handed over after the last.
        repeat (int): number of cycles; 0 goes on for ever.
        skip_first (int): steps before the first cycle.

    Returns:
        Callable: step number -> ProfilerState.

    Examples:
        >>> schedule = proa.profiler.make_scheduler(closed=1, ready=1, record=2, repeat=1)
        >>> [schedule(step).name for step in range(5)]
        ['CLOSED', 'READY', 'RECORD', 'RECORD_AND_RETURN', 'CLOSED']
    """
    _count("make_scheduler", "closed", closed, 0)
    _count("make_scheduler", "ready", ready, 0)
    _count("make_scheduler", "record", record, 1)
    _count("make_scheduler", "repeat", repeat, 0)
    _count("make_scheduler", "skip_first", skip_first, 0)
    length = closed + ready + record

    def schedule(step):
        step = _count("scheduler", "step", step, 0) - skip_first
        if step < 0 or (repeat and step >= repeat * length):
            return ProfilerState.CLOSED
        at = step % length
        if at < closed:
            return ProfilerState.CLOSED
        if at < closed + ready:
            return ProfilerState.READY
        return ProfilerState.RECORD if at < length - 1 else ProfilerState.RECORD_AND_RETURN

    return schedule


def _schedule_of(scheduler):
    if scheduler is None:
        return lambda step: ProfilerState.RECORD
    if callable(scheduler):
        return scheduler
    if isinstance(scheduler, (tuple, list)) and len(scheduler) == 2:
        begin = _count("Profiler", "the first step of scheduler", scheduler[0], 0)
        end = _count("Profiler", "the end of scheduler", scheduler[1], begin + 1)
        ready = min(begin, 1)
        return make_scheduler(closed=begin - ready, ready=ready, record=end - begin, repeat=1)
    raise _C.located(
        TypeError(f"Profiler: scheduler must be a function of the step, a pair (first, end) or None, not {scheduler!r}")
    )


def _file_name(worker_name, extension):
    """A name that no other step, process or host takes."""
    worker = worker_name or f"host_{socket.gethostname()}pid_{os.getpid()}"
    now = datetime.datetime.now().strftime("%Y_%m_%d_%H_%M_%S_%f")
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', worker)}_time_{now}{extension}"


def _exporter(dir_name, worker_name, extension, file_format):
    os.makedirs(dir_name, exist_ok=True)

    def handle(prof):
        prof.export(os.path.join(dir_name, _file_name(worker_name, extension)), file_format)

    return handle


def export_chrome_tracing(dir_name, worker_name=None):
    """A handler for `on_trace_ready` that writes traces for chrome://tracing and Perfetto's UI.

    Args:
        dir_name (str): folder, made if needed; each trace is a file of its own.
        worker_name (str, optional): beginning of the file names; host and process unless given.

    Returns:
        Callable: takes the Profiler.

    Examples:
        >>> with proa.profiler.Profiler(on_trace_ready=proa.profiler.export_chrome_tracing("/tmp/trace_example")) as p:
        ...     _ = proa.ones([2]) + 1
    """
    return _exporter(dir_name, worker_name, ".paddle_trace.json", "json")


def export_protobuf(dir_name, worker_name=None):
    """A handler for `on_trace_ready` that writes files for `load_profiler_result`.

    Args:
        dir_name (str): folder, made if needed; each trace is a file of its own.
        worker_name (str, optional): beginning of the file names; host and process unless given.

    Returns:
        Callable: takes the Profiler.

    Examples:
        >>> with proa.profiler.Profiler(on_trace_ready=proa.profiler.export_protobuf("/tmp/profile_example")) as p:
        ...     _ = proa.ones([2]) + 1
    """
    return _exporter(dir_name, worker_name, ".paddle_trace.pb", "pb")


def _names_of_threads():
    return {t.native_id: t.name for t in threading.enumerate() if t.native_id is not None}


def _check_targets(targets):
    targets = list(targets) if targets is not None else [ProfilerTarget.CPU]
    for target in targets:
        if not isinstance(target, ProfilerTarget):
            raise _C.located(TypeError(f"Profiler: targets must be ProfilerTarget, not {target!r}"))
        if target is not ProfilerTarget.CPU:
            warnings.warn(f"Profiler: nothing records {target.name} in this build; it is left out", stacklevel=3)
    return [target for target in targets if target is ProfilerTarget.CPU]


class Profiler(contextlib.ContextDecorator):
    """Records what a program does, and shows and exports it.

    A context manager, a decorator, or `start()` and `stop()`; `step()` after each training step.

    Args:
        targets (Iterable[ProfilerTarget], optional): devices; the CPU unless given.
        scheduler (Callable|tuple, optional): step number -> ProfilerState (`make_scheduler`), or
            (first, end): record the steps from `first` to before `end`. Unless given, all is recorded.
        on_trace_ready (Callable, optional): called with the profiler when a recording is complete;
            writes a Chrome trace to ./profiler_log unless given.
        timer_only (bool): record nothing; only time steps and the reading of batches.
        record_shapes (bool): shapes and dtypes of the arguments of ops.
        profile_memory (bool): allocations.
        with_flops (bool): arithmetic and memory traffic of ops.
        with_stack (bool): the line of the program that called an op.
        events_per_thread (int): how many events a thread keeps, 64 bytes each; the oldest give way.

    Examples:
        >>> net = proa.nn.Linear(4, 2)
        >>> with proa.profiler.Profiler(scheduler=(1, 3), on_trace_ready=lambda prof: None) as prof:
        ...     for _ in range(4):
        ...         loss = net(proa.ones([3, 4])).mean()
        ...         loss.backward()
        ...         prof.step()
        >>> [row["calls"] for row in prof.profiler_result.table("op") if row["name"] == "linear"]
        [2]
    """

    _recording = None  # the profiler that records: there is one recorder in a process
    _lock = threading.Lock()

    def __init__(
        self,
        *,
        targets=None,
        scheduler=None,
        on_trace_ready=None,
        timer_only=False,
        record_shapes=False,
        profile_memory=False,
        with_flops=False,
        with_stack=False,
        events_per_thread=1 << 20,
    ):
        self.targets = _check_targets(targets)
        self._schedule = _schedule_of(scheduler)
        if on_trace_ready is not None and not callable(on_trace_ready):
            raise _C.located(
                TypeError(f"Profiler: on_trace_ready must be a function, not {type(on_trace_ready).__name__}")
            )
        self.on_trace_ready = on_trace_ready
        self.timer_only = bool(timer_only)
        wanted = {
            "KERNELS": True,
            "SHAPES": record_shapes,
            "MEMORY": profile_memory,
            "FLOPS": with_flops,
            "SOURCE": with_stack,
        }
        self._details = sum(getattr(_C.profiler, name) for name, want in wanted.items() if want)
        self._events_per_thread = _count("Profiler", "events_per_thread", events_per_thread, 1)
        self.profiler_result = None
        self.step_num = 0
        self.current_state = ProfilerState.CLOSED
        self._running = False
        self._step_range = None
        self._thread_names = {}
        self._pid = None
        self._timer = StepTimer()

    # Beginning and end ----------------------------------------------------

    def start(self):
        """Begins; step 0 runs from here to the first `step()`. Nothing if it has begun already."""
        if self._running:
            return
        self._pid = os.getpid()
        self.step_num = 0
        self.profiler_result = None
        if not self.timer_only:
            self._enter(self._state_at(0))
            self._begin_step()
        self._running = True
        self._timer = StepTimer()
        self._timer.start()
        reader_cost.add_observer(self._timer)

    def stop(self):
        """Ends; a recording that is under way is handed over. Nothing if it does not run."""
        if not self._runs_here():
            return
        self._running = False
        reader_cost.remove_observer(self._timer)
        if self.timer_only:
            print(self._timer.report())
        else:
            self._end_step()
            self._leave(ProfilerState.CLOSED)

    def step(self, num_samples=None):
        """Says that a step has ended and the next one begins.

        Args:
            num_samples (int, optional): samples in the step, for throughput.
        """
        if not self._runs_here():
            return
        self._timer.step(num_samples)
        self.step_num += 1
        if self.timer_only:
            return
        self._thread_names.update(_names_of_threads())
        self._end_step()
        self._leave(self._state_at(self.step_num))
        self._begin_step()

    def step_info(self, unit=None):
        """What steps have cost since the last call of this, as text: reading, the whole, throughput.

        Args:
            unit (str, optional): what `num_samples` counts, "images".
        """
        return self._timer.info(unit)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()

    def _runs_here(self):
        """Whether it runs; a child of fork has no part in what its parent records."""
        if self._running and os.getpid() != self._pid:
            self._running, self._step_range, self.current_state = False, None, ProfilerState.CLOSED
            reader_cost.remove_observer(self._timer)
        return self._running

    # States ---------------------------------------------------------------

    def _state_at(self, step):
        state = self._schedule(step)
        if not isinstance(state, ProfilerState):
            raise _C.located(TypeError(f"Profiler: scheduler must give a ProfilerState, not {state!r}"))
        return state

    def _enter(self, state):
        """From a state that does not record."""
        if state is not ProfilerState.CLOSED:
            with Profiler._lock:
                if Profiler._recording not in (None, self):
                    raise _C.located(RuntimeError("Profiler: another profiler records; stop it first"))
                first, Profiler._recording = Profiler._recording is None, self
            if first:
                Instruments.attach()
            _C.profiler.set_thread_name(threading.current_thread().name)
            _C.profiler.start(self._events_per_thread, 4 << 30, self._details)
        self.current_state = state

    def _leave(self, state):
        """From the current state to `state`."""
        before = self.current_state
        if before is ProfilerState.CLOSED:
            self._enter(state)
        elif before is ProfilerState.RECORD and state in _RECORDS:
            self.current_state = state
        elif before is ProfilerState.READY and state is not ProfilerState.CLOSED:
            if state is not before:
                self._enter(state)  # anew
        else:
            recorded = self._end_recording()
            try:
                if before in _RECORDS:
                    self._hand_over(recorded)
            finally:
                self._enter(state)

    def _end_recording(self):
        with Profiler._lock:
            Profiler._recording = None
        Instruments.detach()
        self.current_state = ProfilerState.CLOSED
        recorded = _C.profiler.take()
        # Threads that have ended since are known from the steps.
        recorded.name_threads({**self._thread_names, **_names_of_threads()})
        return recorded

    def _hand_over(self, recorded):
        self.profiler_result = ProfilerResult(recorded)
        if self.on_trace_ready is None:
            self.on_trace_ready = export_chrome_tracing("./profiler_log/")
        self.on_trace_ready(self)

    def _begin_step(self):
        if self.current_state is not ProfilerState.CLOSED:
            self._step_range = _C.profiler.Range(f"ProfileStep#{self.step_num}", "step")
            self._step_range.begin()

    def _end_step(self):
        if self._step_range is not None:
            self._step_range.end()
            self._step_range = None

    # Results --------------------------------------------------------------

    def _result(self, what):
        if self.profiler_result is None:
            raise _C.located(
                RuntimeError(f"Profiler.{what}: nothing was recorded yet; call it after stop() or in on_trace_ready")
            )
        return self.profiler_result

    def export(self, path, format="json"):
        """Writes the last recording to a file.

        Args:
            path (str): the file.
            format (str): "json" (Chrome; compressed if the path ends in .gz) or "pb" (loads back).
        """
        self._result("export").save(path, format)

    def summary(self, sorted_by=SortedKeys.CPUTotal, op_detail=True, thread_sep=False, time_unit="ms", views=None):
        """Prints tables of the last recording; with `timer_only`, of the steps.

        Args:
            sorted_by (SortedKeys): order of the rows.
            op_detail (bool): ops by the shapes of their arguments too, where these were recorded.
            thread_sep (bool): tables for each thread.
            time_unit (str): "s", "ms", "us" or "ns".
            views (SummaryView|list[SummaryView], optional): which tables; all unless given.
        """
        if self.timer_only:
            print(self._timer.report())
            return
        print(self._result("summary").summary(sorted_by, op_detail, thread_sep, time_unit, views))


def _after_fork_in_child():
    Profiler._lock = threading.Lock()
    Profiler._recording = None
    Instruments.reset()


os.register_at_fork(after_in_child=_after_fork_in_child)
