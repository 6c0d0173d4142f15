"""A network as it is trained by several workers, by what they are parallel in."""

from proa import _C
from proa.distributed.fleet.base.topology import ParallelMode

__all__ = ["distributed"]


def distributed(model, hcg, strategy):
    """The layer that `fleet.distributed_model` gives.

    Args:
        model (Layer): the network.
        hcg (HybridCommunicateGroup): the groups of this process.
        strategy (DistributedStrategy): how it trains.
    """
    if hcg.nranks == 1:
        return model
    strategy.check_dynamic()
    if strategy.amp and (strategy.amp_configs["use_pure_fp16"] or strategy.amp_configs["use_pure_bf16"]):
        from proa import amp

        model = amp.decorate(
            model, level="O2", dtype="bfloat16" if strategy.amp_configs["use_pure_bf16"] else "float16"
        )
    if strategy.sync_batch_norm:
        from proa.nn import SyncBatchNorm

        model = SyncBatchNorm.convert_sync_batchnorm(model)
    from proa.distributed.fleet import meta_parallel as wrappers

    mode = hcg.get_parallel_mode()
    # Experts that differ between processes are not averaged: the optimizer exchanges the others' gradients.
    alike = not any(getattr(p, "no_sync", False) for p in model.parameters())
    if mode == ParallelMode.DATA_PARALLEL and alike and not strategy.fp16_allreduce:
        wrapped = _data_parallel(model, hcg, strategy)
        if wrapped is not None:
            return wrapped
    if mode == ParallelMode.PIPELINE_PARALLEL:
        if not isinstance(model, wrappers.PipelineLayer):
            raise _C.located(
                TypeError(
                    "distributed_model: with pp_degree above 1 the model must be a PipelineLayer, which says where stages "
                    f"begin; it is a {type(model).__name__}"
                )
            )
        several = model.get_num_virtual_stages() > 1
        kind = wrappers.PipelineParallelWithInterleave if several else wrappers.PipelineParallel
        return kind(model, hcg, strategy)
    kind = {ParallelMode.TENSOR_PARALLEL: wrappers.TensorParallel}.get(mode, wrappers.ShardingParallel)
    return kind(model, hcg, strategy)


def _data_parallel(model, hcg, strategy):
    """DataParallel, which averages gradients during backward; None where the optimizer has to do it before a step."""
    from proa.distributed.parallel import DataParallel

    try:
        wrapped = DataParallel(
            model,
            comm_buffer_size=strategy.fuse_grad_size_in_MB,
            last_comm_buffer_size=strategy.last_comm_group_size_MB,
            find_unused_parameters=strategy.find_unused_parameters,
            group=hcg.get_data_parallel_group(),
        )
    except NotImplementedError:
        return None
    for parameter in model.parameters():
        parameter.reduced_by_model = True
    return wrapped
