"""Activation layers of sparse tensors."""

from proa.nn.layer.layers import Layer
from proa.sparse.nn import functional as F

__all__ = ["LeakyReLU", "ReLU", "ReLU6", "Softmax"]


class ReLU(Layer):
    """max(x, 0) of the elements that are held.

    Args:
        name (str, optional): not used.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 2]], [-1.0, 2.0], [3])
        >>> proa.sparse.nn.ReLU()(x).values().tolist()
        [0.0, 2.0]
    """

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        return F.relu(x)


class ReLU6(Layer):
    """min(max(x, 0), 6) of the elements that are held.

    Args:
        name (str, optional): not used.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 2]], [-1.0, 8.0], [3])
        >>> proa.sparse.nn.ReLU6()(x).values().tolist()
        [0.0, 6.0]
    """

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        return F.relu6(x)


class LeakyReLU(Layer):
    """x where it is positive, else x * negative_slope, of the elements that are held.

    Args:
        negative_slope (float): the factor.
        name (str, optional): not used.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 2]], [-4.0, 8.0], [3])
        >>> proa.sparse.nn.LeakyReLU(0.5)(x).values().tolist()
        [-2.0, 8.0]
    """

    def __init__(self, negative_slope=0.01, name=None):
        super().__init__()
        self._negative_slope, self._name = negative_slope, name

    def forward(self, x):
        return F.leaky_relu(x, self._negative_slope)

    def extra_repr(self):
        return f"negative_slope={self._negative_slope}"


class Softmax(Layer):
    """exp(x) over its sum along a dim, among the elements that are held; see functional.softmax.

    Args:
        axis (int): the dim; of CSR the last.
        name (str, optional): not used.

    Examples:
        >>> x = proa.sparse.sparse_csr_tensor([0, 2, 3], [0, 2, 1], [1.0, 1.0, 5.0], [2, 3])
        >>> proa.sparse.nn.Softmax()(x).values().tolist()
        [0.5, 0.5, 1.0]
    """

    def __init__(self, axis=-1, name=None):
        super().__init__()
        self._axis, self._name = axis, name

    def forward(self, x):
        return F.softmax(x, self._axis)

    def extra_repr(self):
        return f"axis={self._axis}"
