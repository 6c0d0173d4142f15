"""Exchanges of rows for mixtures of experts; of one process, each expert is here."""

from proa.distributed.collective import _check_tensor

__all__ = ["global_gather", "global_scatter"]


def global_scatter(x, local_count, global_count, group=None, use_calc_stream=True):
    """Sends rows of `x` to the processes of their experts: `local_count[i]` rows for expert i, in order."""
    _check_tensor("global_scatter", "x", x)
    return x.clone()


def global_gather(x, local_count, global_count, group=None, use_calc_stream=True):
    """Brings rows back from the processes of their experts: undoes `global_scatter`."""
    _check_tensor("global_gather", "x", x)
    return x.clone()
