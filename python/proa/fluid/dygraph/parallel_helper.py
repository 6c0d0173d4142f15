"""Questions about data parallelism, as layers of 1.x asked them."""

from proa.distributed import collective
from proa.distributed.parallel import parallel_helper as _questions
from proa.framework import no_grad
from proa.framework.names import missing as _missing

__all__ = ["_broadcast_parameters", "_is_data_parallel_mode", "_is_parallel_ctx_initialized"]

__getattr__ = _missing(__name__)


_is_parallel_ctx_initialized = _questions._is_parallel_ctx_initialized
_is_data_parallel_mode = _questions._is_data_parallel_mode


@no_grad()
def _broadcast_parameters(parameters):
    """The values that the first process has of parameters that are trained, on all."""
    for parameter in parameters:
        if parameter.trainable:
            collective.broadcast(parameter, 0)
