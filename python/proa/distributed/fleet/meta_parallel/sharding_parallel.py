"""ShardingParallel, under the name that programs know."""

from proa.distributed.fleet.meta_parallel.meta_parallel_base import ShardingParallel

__all__ = ["ShardingParallel"]
