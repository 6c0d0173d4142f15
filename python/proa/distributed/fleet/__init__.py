"""fleet: one interface to all ways of training on several processes; here, with one worker and no server.

Examples:
    >>> from proa.distributed import fleet
    >>> fleet.init(is_collective=True)
    >>> fleet.worker_index(), fleet.worker_num(), fleet.is_first_worker()
    (0, 1, True)
    >>> net = fleet.distributed_model(proa.nn.Linear(2, 1))
    >>> sgd = fleet.distributed_optimizer(proa.optimizer.SGD(0.1, parameters=net.parameters()))
"""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_METHODS = (
    "all_reduce barrier_worker distributed_model distributed_optimizer get_hybrid_communicate_group init init_server "
    "init_worker is_first_worker is_server is_worker load_inference_model load_model local_device_ids local_rank minimize "
    "node_num rank_in_node run_server save_cache_model save_dense_params save_inference_model save_persistables "
    "server_endpoints server_index server_num set_date shrink state_dict set_state_dict step clear_grad set_lr get_lr "
    "stop_worker util world_device_ids worker_endpoints worker_index worker_num _role_maker _runtime_handle"
)
_HOMES = _invert({
    "proa.distributed.fleet.base.fleet_base": "Fleet distributed_scaler",
    "proa.distributed.fleet.base.distributed_strategy": "DistributedStrategy",
    "proa.distributed.fleet.base.role_maker": "PaddleCloudRoleMaker Role UserDefinedRoleMaker",
    "proa.distributed.fleet.base.topology": "CommunicateTopology HybridCommunicateGroup",
    "proa.distributed.fleet.base.util_factory": "UtilBase",
    "proa.distributed.fleet.data_generator": "MultiSlotDataGenerator MultiSlotStringDataGenerator",
    "proa.autograd.recomputation": "recompute",
    "proa.distributed.fleet.base": "role_maker",
})  # fmt: skip

__all__ = sorted([name for name in [*_HOMES, *_METHODS.split()] if not name.startswith("_")])

_get, _names = _lazy(__name__, _HOMES, ("base", "data_generator", "dataset", "meta_parallel", "metrics", "utils"))


def __getattr__(name):
    if name == "fleet" or name in _METHODS.split():
        from proa.distributed.fleet.base import fleet_base

        return fleet_base.fleet if name == "fleet" else getattr(fleet_base.fleet, name)
    return _get(name)


def __dir__():
    return sorted({*_names(), *__all__, "fleet"})
