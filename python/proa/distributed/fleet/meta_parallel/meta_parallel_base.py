"""Wrappers around a model that several workers train; parameters begin equal where they are shared."""

from proa import _C
from proa.distributed.fleet.utils.hybrid_parallel_util import broadcast_parameters
from proa.nn.layer.layers import Layer

__all__ = ["MetaParallelBase", "ShardingParallel", "TensorParallel"]


class MetaParallelBase(Layer):
    """A model and the groups of this process; names in `state_dict` are the model's own.

    Args:
        layers (Layer): the model.
        hcg (HybridCommunicateGroup): the groups of this process.
        strategy (DistributedStrategy): how it is trained.
    """

    def __init__(self, layers, hcg, strategy=None):
        super().__init__(layers.full_name() + "_meta_parallel_base")
        self._hcg, self._strategy = hcg, strategy
        # What is not divided must be the same on the processes of one model; then the models must be.
        broadcast_parameters(layers, hcg.get_model_parallel_group(), divided=False)
        for group in (hcg.get_sharding_parallel_group(), hcg.get_sep_parallel_group(), hcg.get_data_parallel_group()):
            broadcast_parameters(layers, group)
        self._layers = _divided(layers, hcg, strategy)

    def forward(self, *inputs, **kwargs):
        """That of the model."""
        return self._layers(*inputs, **kwargs)

    def state_dict(self, destination=None, include_sublayers=True, use_hook=True, structured_name_prefix=""):
        """That of the model, with its names."""
        return self._layers.state_dict(destination, include_sublayers, use_hook, structured_name_prefix)

    def set_state_dict(self, state_dict, use_structured_name=True):
        """That of the model, with its names."""
        return self._layers.set_state_dict(state_dict, use_structured_name)

    set_dict = load_dict = set_state_dict


def _divided(layers, hcg, strategy):
    """The model as stage 3 of sharding has it, if that is asked for; of stages 1 and 2 the optimizer takes care."""
    if strategy is None or hcg.get_sharding_parallel_world_size() == 1:
        return layers
    stage = strategy.sharding_configs["stage"]
    if stage not in (1, 2, 3) or isinstance(stage, bool):
        raise _C.located(ValueError(f"DistributedStrategy: sharding_configs['stage'] must be 1, 2 or 3, not {stage!r}"))
    if stage < 3:
        return layers
    from proa.distributed.fleet.meta_parallel.sharding import DividedParameters

    return DividedParameters(layers, hcg.get_sharding_parallel_group())


class TensorParallel(MetaParallelBase):
    """A model with layers whose parameters are divided (ColumnParallelLinear and its kind)."""


class ShardingParallel(MetaParallelBase):
    """A model whose optimizer's states are divided."""
