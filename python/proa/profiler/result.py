"""ProfilerResult: what was recorded, to look at, to save and to load."""

import enum
import os

from proa import _C


class SortedKeys(enum.Enum):
    """Order of the rows of tables. The GPU's keys sort like the CPU's where there is none.

    Examples:
        >>> proa.profiler.SortedKeys.CPUTotal.name
        'CPUTotal'
    """

    CPUTotal = 0
    CPUAvg = 1
    CPUMax = 2
    CPUMin = 3
    GPUTotal = 4
    GPUAvg = 5
    GPUMax = 6
    GPUMin = 7


class SummaryView(enum.Enum):
    """Tables of a summary.

    Examples:
        >>> proa.profiler.SummaryView.OperatorView.name
        'OperatorView'
    """

    DeviceView = 0
    OverView = 1
    ModelView = 2
    DistributedView = 3
    KernelView = 4
    OperatorView = 5
    MemoryView = 6
    MemoryManipulationView = 7
    UDFView = 8


# What the recorder calls them. Layers and steps are the model; ranges of the program's own are the UDFs.
_ORDERS = ("total", "average", "max", "min")
_VIEWS = {
    SummaryView.DeviceView: ("thread",),
    SummaryView.OverView: ("overview",),
    SummaryView.ModelView: ("step", "layer"),
    SummaryView.DistributedView: (),
    SummaryView.KernelView: ("kernel",),
    SummaryView.OperatorView: ("op",),
    SummaryView.MemoryView: ("memory",),
    SummaryView.MemoryManipulationView: (),
    SummaryView.UDFView: ("user", "source"),
}
_GROUPS = {
    "op": ("name", ["op"], False),
    "op_shapes": ("shapes", ["op"], False),
    "backward": ("name", ["backward"], False),
    "kernel": ("name", [], True),
    "category": ("category", [], False),
    "layer": ("path", [], False),
    "source": ("source", [], False),
    "user": ("name", ["user", "python user"], False),
    "all": ("name", [], False),
}


class ProfilerResult:
    """A recording: of `Profiler.profiler_result`, or loaded.

    Examples:
        >>> with proa.profiler.Profiler(on_trace_ready=lambda prof: None) as prof:
        ...     x = proa.ones([2, 3]) + 1
        >>> result = prof.profiler_result
        >>> [row["name"] for row in result.table("op") if row["name"] == "add"]
        ['add']
    """

    def __init__(self, recording):
        self._recording = recording

    def __len__(self):
        return len(self._recording)

    @property
    def dropped(self):
        """Number of events for which there was no room."""
        return self._recording.dropped

    @property
    def duration(self):
        """Seconds from the beginning of the recording to its end."""
        return (self._recording.stop_ns - self._recording.start_ns) / 1e9

    @property
    def roof(self):
        """(GFLOP/s, GB/s) that the machine can do at best; set it, and tables show shares of it. 0: not known."""
        return self._recording.roof

    @roof.setter
    def roof(self, roof):
        flops, memory = (float(x) for x in roof)
        self._recording.roof = (flops, memory)

    def events(self):
        """All events in the order of their beginnings, a dict each, times in nanoseconds."""
        return self._recording.events()

    def threads(self):
        """The threads that events refer to by index, a dict each."""
        return self._recording.threads()

    def processes(self):
        """The processes that threads refer to by index, a dict each."""
        return self._recording.processes()

    def table(self, by="op", by_thread=False):
        """Rows of statistics, those with the largest total first.

        Args:
            by (str): "op", "op_shapes", "backward", "kernel", "category", "layer", "source", "user" or "all".
            by_thread (bool): rows of each thread apart.

        Returns:
            list[dict]: name, shapes, category, thread, calls, total_ns, self_ns, min_ns, max_ns, avg_ns,
            backward_ns, kernel_ns (of ops: the part in which their kernels ran on the cpu), flops, bytes, gflops_per_s, gbytes_per_s, of_roof.
        """
        if by not in _GROUPS:
            raise _C.located(ValueError(f"table: by must be one of {', '.join(_GROUPS)}, not {by!r}"))
        group, categories, device = _GROUPS[by]
        return self._recording.table(group, categories, by_thread, device)

    def memory(self):
        """Allocations by place, tag and the op around them: a list of dicts, the largest first."""
        return self._recording.memory()

    def memory_peaks(self):
        """Peak and ends of the memory of each place, a dict each."""
        return self._recording.memory_peaks()

    def summary(self, sorted_by=SortedKeys.CPUTotal, op_detail=True, thread_sep=False, time_unit="ms", views=None):
        """Tables as text; for the arguments see `Profiler.summary`."""
        if not isinstance(sorted_by, SortedKeys):
            raise _C.located(TypeError(f"summary: sorted_by must be one of SortedKeys, not {sorted_by!r}"))
        if time_unit not in ("s", "ms", "us", "ns"):
            raise _C.located(ValueError(f"summary: time_unit must be 's', 'ms', 'us' or 'ns', not {time_unit!r}"))
        views = list(SummaryView) if views is None else [views] if isinstance(views, SummaryView) else list(views)
        for view in views:
            if not isinstance(view, SummaryView):
                raise _C.located(TypeError(f"summary: views must be of SummaryView, not {view!r}"))
        names = [name for view in views for name in _VIEWS[view]]
        order = _ORDERS[sorted_by.value % len(_ORDERS)]
        return self._recording.summary(order, bool(op_detail), bool(thread_sep), time_unit, names)

    def save(self, path, format="json", max_bytes=None):
        """Writes it to a file, which appears when it is complete.

        Args:
            path (str): the file.
            format (str): "json": Chrome's trace format; compressed if the path ends in .gz.
                "pb": loads back with `load_profiler_result`. "perfetto": the format of its UI.
                "folded": stacks for flame graphs. "html": a report that needs nothing else.
            max_bytes (int, optional): bound of the text of "json"; later events are left out.
        """
        path = os.fspath(path)
        if format == "json":
            self._recording.export_chrome(path, path.endswith(".gz"), max_bytes)
        elif format == "pb":
            self._recording.save(path)
        elif format in ("perfetto", "folded", "html"):
            getattr(self._recording, f"export_{format}")(path)
        else:
            raise _C.located(
                ValueError(f"save: format must be 'json', 'pb', 'perfetto', 'folded' or 'html', not {format!r}")
            )


def load_profiler_result(file_name):
    """Loads a file that `export_protobuf` wrote.

    Args:
        file_name (str): the file.

    Returns:
        ProfilerResult: all that was recorded.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no such file, was cut off or altered.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> with proa.profiler.Profiler(on_trace_ready=lambda profiler: None) as profiler:
        ...     _ = proa.ones([2]) + 1
        >>> path = os.path.join(folder.name, "run.pb")
        >>> profiler.profiler_result.save(path, format="pb")
        >>> loaded = proa.profiler.load_profiler_result(path)
        >>> type(loaded).__name__
        'ProfilerResult'
        >>> folder.cleanup()
    """
    return ProfilerResult(_C.profiler.load(os.fspath(file_name)))


def merge(results):
    """Recordings of several processes as one, on one time line.

    Those of one machine share its clock; others are aligned by the calendar time.

    Args:
        results (Iterable[ProfilerResult]): as recorded or loaded.

    Returns:
        ProfilerResult: with the events of all.

    Examples:
        >>> results = []
        >>> for i in range(2):
        ...     with proa.profiler.Profiler(on_trace_ready=lambda profiler: None) as profiler:
        ...         _ = proa.ones([2]) + i
        ...     results.append(profiler.profiler_result)
        >>> type(proa.profiler.merge(results)).__name__
        'ProfilerResult'
    """
    return ProfilerResult(_C.profiler.merge([result._recording for result in results]))
