"""Mixtures of experts: layers of which a gate chooses some for each token, spread over processes."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.incubate.distributed.models.moe.gate": "BaseGate GShardGate NaiveGate SwitchGate",
    "proa.incubate.distributed.models.moe.grad_clip": "ClipGradForMOEByGlobalNorm",
    "proa.incubate.distributed.models.moe.moe_layer": "MoELayer",
})  # fmt: skip

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("gate", "grad_clip", "moe_layer", "routing"))
