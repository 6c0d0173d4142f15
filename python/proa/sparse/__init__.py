"""Sparse tensors: what they are made of, functions of them, and layers in `nn`."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert(
    {
        "proa.sparse.binary": "add divide is_same_shape multiply subtract",
        "proa.sparse.creation": "mask_as sparse_coo_tensor sparse_csr_tensor",
        "proa.sparse.nn": "ReLU",
        "proa.sparse.products": "addmm masked_matmul matmul mv",
        "proa.sparse.shapes": "coalesce reshape slice sum transpose",
        "proa.sparse.tensor": "SparseCooTensor SparseCsrTensor SparseTensor",
        "proa.sparse.unary": "abs asin asinh atan atanh cast deg2rad expm1 isnan log1p neg pow rad2deg sin sinh sqrt square "
        "tan tanh",
    }
)

__all__ = [*_HOMES, "functional", "nn"]

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("functional", "nn"))
