"""Mixed precision of programs, with the arguments of 1.8; see proa.static.amp."""

from proa import static
from proa.static.amp import AutoMixedPrecisionLists as AutoMixedPrecisionLists

__all__ = ["AutoMixedPrecisionLists", "decorate"]


def decorate(optimizer, amp_lists=None, init_loss_scaling=1.0, incr_every_n_steps=1000, decr_every_n_nan_or_inf=2,
             incr_ratio=2.0, decr_ratio=0.8, use_dynamic_loss_scaling=True):  # fmt: skip
    """An optimizer whose `minimize` makes the program one in mixed precision: `static.amp.decorate`."""
    return static.amp.decorate(optimizer, amp_lists, init_loss_scaling, incr_every_n_steps, decr_every_n_nan_or_inf,
                               incr_ratio, decr_ratio, use_dynamic_loss_scaling)  # fmt: skip
