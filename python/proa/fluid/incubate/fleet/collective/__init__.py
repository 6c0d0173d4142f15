"""See proa.distributed.fleet."""

from proa.distributed.fleet.base.distributed_strategy import DistributedStrategy
from proa.distributed.fleet.base.fleet_base import fleet

__all__ = ["DistributedStrategy", "fleet"]
