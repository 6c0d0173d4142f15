"""See proa.utils.profiler."""

from proa.framework.names import missing as _missing
from proa.utils.profiler import cuda_profiler, profiler, reset_profiler, start_profiler, stop_profiler

__all__ = ["cuda_profiler", "profiler", "reset_profiler", "start_profiler", "stop_profiler"]

__getattr__ = _missing(__name__)
