"""The part of fleet that works in one process."""

from proa.distributed.fleet import utils

__all__ = ["utils"]
