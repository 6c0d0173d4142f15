"""Exchanges of gradients and parameters by hand; of one worker there is nothing to exchange."""

__all__ = [
    "broadcast_dp_parameters",
    "broadcast_mp_parameters",
    "broadcast_sharding_parameters",
    "fused_allreduce_gradients",
]


def fused_allreduce_gradients(parameter_list, hcg=None):
    """Averages the gradients of the parameters over all workers."""


def broadcast_dp_parameters(model, hcg=None):
    """Gives all workers the parameters of the first."""


broadcast_mp_parameters = broadcast_sharding_parameters = broadcast_dp_parameters
