"""Functions whose names may still change: functional differentiation, graphs, fused layers, optimizers around others,
sparse tensors, tuning of loaders."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy
from proa.incubate import autograd

_HOMES = _invert({
    "proa.incubate.graph": "graph_khop_sampler graph_reindex graph_sample_neighbors graph_send_recv segment_max "
    "segment_mean segment_min segment_sum",
    "proa.incubate.optimizer.lookahead": "LookAhead",
    "proa.incubate.optimizer.model_average": "ModelAverage",
    "proa.incubate.softmax": "softmax_mask_fuse softmax_mask_fuse_upper_triangle",
})  # fmt: skip

__all__ = [
    *_HOMES,
    "asp",
    "autograd",
    "autotune",
    "distributed",
    "multiprocessing",
    "nn",
    "optimizer",
    "sparse",
    "strings",
]

__getattr__, __dir__ = _lazy(
    __name__, _HOMES, ("asp", "autotune", "distributed", "multiprocessing", "nn", "optimizer", "sparse", "strings")
)
