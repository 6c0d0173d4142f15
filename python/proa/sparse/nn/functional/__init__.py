"""Functions of the layers of sparse tensors."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert(
    {
        "proa.sparse.nn.functional.activation": "leaky_relu relu relu6 softmax",
        "proa.sparse.nn.functional.chosen_keys": "attention",
        "proa.sparse.nn.functional.windows": "conv2d conv3d max_pool3d subm_conv2d subm_conv3d",
    }
)

__all__ = list(_HOMES)

__getattr__, __dir__ = _lazy(__name__, _HOMES, ())
