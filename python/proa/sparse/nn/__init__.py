"""Layers of sparse tensors; images are [N, D, H, W, C] or [N, H, W, C] with dense channels."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert(
    {
        "proa.sparse.nn.activation": "LeakyReLU ReLU ReLU6 Softmax",
        "proa.sparse.nn.conv": "Conv2D Conv3D SubmConv2D SubmConv3D",
        "proa.sparse.nn.norm": "BatchNorm SyncBatchNorm",
        "proa.sparse.nn.pooling": "MaxPool3D",
    }
)

__all__ = [*_HOMES, "functional"]

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("functional",))
