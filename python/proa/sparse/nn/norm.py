"""Normalization layers of sparse tensors."""

from proa import _C, nn
from proa.sparse.unary import sparse_argument

__all__ = ["BatchNorm", "SyncBatchNorm"]


class BatchNorm(nn.BatchNorm1D):
    """Batch normalization of the values that are held, [nnz, C]; those that are not do not count.

    Args:
        num_features (int): channels.
        momentum, epsilon, weight_attr, bias_attr, use_global_stats: as in nn.BatchNorm2D.
        data_format (str): "NDHWC" or "NHWC".
        name (str, optional): not used.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 0], [1, 2], [0, 1], [0, 1]], [[1.0], [3.0]], [1, 4, 2, 2, 1])
        >>> proa.sparse.nn.BatchNorm(1)(x).values().round().tolist()
        [[-1.0], [1.0]]
    """

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NDHWC",
        use_global_stats=None,
        name=None,
    ):
        if data_format not in ("NDHWC", "NHWC"):
            raise _C.located(ValueError(f"BatchNorm: data_format must be 'NDHWC' or 'NHWC', not {data_format!r}"))
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, "NCL", use_global_stats, name)

    def forward(self, x):
        x = sparse_argument(type(self).__name__, "x", x).coalesce()
        return x._with_values(super().forward(x._values))


class SyncBatchNorm(nn.SyncBatchNorm):
    """BatchNorm with statistics over all ranks.

    Args:
        num_features, momentum, epsilon, weight_attr, bias_attr, name: as in BatchNorm.
        data_format (str): not used; channels are last.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 0], [1, 2], [0, 1], [0, 1]], [[1.0], [3.0]], [1, 4, 2, 2, 1])
        >>> proa.sparse.nn.SyncBatchNorm(1)(x).values().round().tolist()
        [[-1.0], [1.0]]
    """

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        name=None,
    ):
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, "NCHW", name)

    def forward(self, x):
        x = sparse_argument("SyncBatchNorm", "x", x).coalesce()
        return x._with_values(super().forward(x._values))

    @classmethod
    def convert_sync_batchnorm(cls, layer):
        """The layer with each BatchNorm in it, or itself, replaced by a SyncBatchNorm of the same parameters."""
        if isinstance(layer, BatchNorm):
            return super().convert_sync_batchnorm(layer)
        for name, child in list(layer.named_children()):
            layer.add_sublayer(name, cls.convert_sync_batchnorm(child))
        return layer
