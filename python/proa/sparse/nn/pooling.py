"""Pools of sparse images."""

from proa import _C
from proa.nn.layer.layers import Layer
from proa.sparse.nn import functional as F

__all__ = ["MaxPool3D"]


class MaxPool3D(Layer):
    """The largest of the elements under the window, of those that are held; see functional.max_pool3d.

    Args:
        kernel_size, stride, padding, ceil_mode, data_format: as in functional.max_pool3d.
        return_mask (bool): False.
        name (str, optional): not used.

    Raises:
        ValueError: return_mask is True.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1], [0, 1]], [[-1.0], [-2.0]], [1, 2, 2, 2, 1])
        >>> proa.sparse.nn.MaxPool3D(2)(x).values().tolist()
        [[-1.0]]
    """

    def __init__(
        self, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NDHWC", name=None
    ):
        super().__init__()
        if return_mask:
            raise _C.located(ValueError("MaxPool3D: there is no return_mask for sparse images; it must be False"))
        self._kernel_size, self._stride, self._padding = kernel_size, stride, padding
        self._ceil_mode, self._data_format, self._name = ceil_mode, data_format, name

    def forward(self, x):
        return F.max_pool3d(x, self._kernel_size, self._stride, self._padding, self._ceil_mode, self._data_format)

    def extra_repr(self):
        return f"kernel_size={self._kernel_size}, stride={self._stride}, padding={self._padding}"
