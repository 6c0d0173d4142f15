"""Batch normalization over the batches of several processes."""

import math

from proa import _C
from proa.nn import functional as F
from proa.nn.functional.norm import follow_batch
from proa.nn.layer.norm import _BatchNormBase

__all__ = ["SyncBatchNorm", "batch_norm_over_ranks"]


def batch_norm_over_ranks(
    x, running_mean, running_var, weight=None, bias=None, momentum=0.9, epsilon=1e-05, data_format="NCHW", group=None
):
    """The op `batch_norm` with the mean and the variance of the batches of all processes of a group (all unless given)."""
    from proa.distributed.groups import resolve

    group = resolve(group)
    # In float32 as batch_norm; two exchanges, so that the variance is of differences from the mean.
    channel = x.ndim - 1 if data_format[-1] == "C" and x.ndim > 2 else 1
    axes = [i for i in range(x.ndim) if i != channel]
    shape = [1] * x.ndim
    shape[channel] = -1
    wide = x.cast("float32") if x.dtype in (_C.float16, _C.bfloat16) else x
    sums = _C.ops.concat([wide.sum(axes), _elements(wide, axes)], 0)
    sums = _C.ops.all_reduce(sums, group.id, "sum")
    n = sums[-1].detach()
    mean = sums[:-1] / n
    away = wide - mean.reshape(shape)
    variance = _C.ops.all_reduce((away * away).sum(axes), group.id, "sum") / n
    inv_std = _C.ops.rsqrt(variance + epsilon)
    out = away * inv_std.reshape(shape)
    if weight is not None:
        out = out * weight.reshape(shape)
    if bias is not None:
        out = out + bias.reshape(shape)
    running = [
        (old * momentum + now.detach().cast(old.dtype) * (1.0 - momentum)).detach()
        for old, now in ((running_mean, mean), (running_var, variance))
    ]
    return out.cast(x.dtype), *running, mean.detach(), inv_std.detach()


def _elements(x, axes):
    """The number of elements along axes, [1] of the dtype of x; of a program whose sizes are not known, when it runs."""
    sizes = [x.shape[axis] for axis in axes]
    if all(type(size) is int for size in sizes):
        return _C.ops.full([1], float(math.prod(sizes)), x.dtype)
    known = _C.ops.shape(x.detach())
    return math.prod((known[axis] for axis in axes), start=_C.ops.full([], 1, _C.int64)).reshape([1]).cast(x.dtype)


class SyncBatchNorm(_BatchNormBase):
    """Batch normalization over the batches of all processes; in one process the same as BatchNorm.

    Examples:
        >>> proa.nn.SyncBatchNorm(3)(proa.rand([2, 3, 4, 4])).shape
        [2, 3, 4, 4]
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
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, name=name)

    def forward(self, x, residual=None, relu=False):
        """x normalized by the mean and the variance of the batches of all processes."""
        from proa.distributed.groups import resolve

        group = resolve(None)
        training = self.training or self._trainable_statistics
        if group.nranks == 1 or not training or self._use_global_stats:
            return super().forward(x, residual, relu)
        self._check(x)
        out = self._over_ranks(x, group)
        out = out if residual is None else out + residual
        return F.relu(out) if relu else out

    def _over_ranks(self, x, group):
        out, mean, variance, _, _ = batch_norm_over_ranks(
            x,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            self._momentum,
            self._epsilon,
            self._data_format,
            group,
        )
        follow_batch((self._mean, self._variance), (mean, variance))
        return out

    @classmethod
    def convert_sync_batchnorm(cls, layer):
        """`layer` with every batch normalization in it replaced by a SyncBatchNorm of the same parameters."""
        converted = layer
        if isinstance(layer, _BatchNormBase) and not isinstance(layer, SyncBatchNorm):
            converted = cls(
                layer._num_features, layer._momentum, layer._epsilon,
                None if layer.weight is not None else False, None if layer.bias is not None else False,
                layer._data_format,
            )  # fmt: skip
            for name in ("weight", "bias"):
                if getattr(layer, name) is not None:
                    setattr(converted, name, getattr(layer, name))
            for name in (
                "_mean",
                "_variance",
            ):  # parameters that are buffers, which they would not be any more by setattr
                converted._parameters[name] = getattr(layer, name)
            for name in ("training", "_use_global_stats", "_trainable_statistics"):
                converted.__dict__[name] = getattr(layer, name)
        for name, child in list(layer.named_children()):
            converted.add_sublayer(name, cls.convert_sync_batchnorm(child))
        return converted
