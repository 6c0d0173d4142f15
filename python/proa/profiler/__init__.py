"""The profiler: what a program does when, on which thread, in which layer, and what it costs.

with proa.profiler.Profiler() as prof:
    for x, y in loader:
        train_step(x, y)
        prof.step()
prof.summary()
"""

from proa.framework.names import missing as _missing
from proa.profiler.event import RecordEvent, TracerEventType, counter, instant
from proa.profiler.profiler import (
    Profiler,
    ProfilerState,
    ProfilerTarget,
    export_chrome_tracing,
    export_protobuf,
    make_scheduler,
)
from proa.profiler.result import ProfilerResult, SortedKeys, SummaryView, load_profiler_result, merge
from proa.profiler.roof import measure_roof

__all__ = [
    "Profiler",
    "ProfilerResult",
    "ProfilerState",
    "ProfilerTarget",
    "RecordEvent",
    "SortedKeys",
    "SummaryView",
    "TracerEventType",
    "counter",
    "export_chrome_tracing",
    "export_protobuf",
    "instant",
    "load_profiler_result",
    "make_scheduler",
    "measure_roof",
    "merge",
]

__getattr__ = _missing(__name__)
