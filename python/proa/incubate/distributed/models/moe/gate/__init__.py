"""Gates: which experts a token goes to, and with what weight."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    f"proa.incubate.distributed.models.moe.gate.{name}_gate": kind
    for name, kind in (("base", "BaseGate"), ("naive", "NaiveGate"), ("gshard", "GShardGate"), ("switch", "SwitchGate"))
})  # fmt: skip

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("base_gate", "gshard_gate", "naive_gate", "switch_gate"))
