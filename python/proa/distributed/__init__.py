"""Training on several processes; so far what works in one."""

from proa.distributed import fleet

__all__ = ["fleet"]
