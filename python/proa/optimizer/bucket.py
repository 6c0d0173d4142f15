"""Parameters that are updated alike, and what updates of such a bucket are made of."""

from proa import _C
from proa.nn.clip import scaled


def fuses_masters(update_bucket):
    """Marks an `_update_bucket` whose op takes 16-bit gradients beside float32 copies, multiplies by `bucket.grad_scale` and
    writes `bucket.rounded`: all in one pass. One that a subclass defines is not marked, and gets float32 gradients."""
    update_bucket.fuses_masters = True
    return update_bucket


class Bucket:
    """Parameters treated alike: `lr_scale`, `l1` and `l2` hold for all, and `options` of the group.

    `states` maps the name of an accumulator to the list of tensors beside `params`. `owners` are the parameters of the
    network: the same list as `params`, unless these are float32 copies of theirs. `grad_scale` and `rounded` are for updates
    that are marked by `fuses_masters`: what gradients count times, and the 16-bit parameters to be written. `group` is the
    dict that the parameters were given in: its gradients are clipped together. `dtype` is that of the owners when state was made.
    """

    __slots__ = (
        "dtype",
        "grad_scale",
        "group",
        "l1",
        "l2",
        "lr_scale",
        "options",
        "owners",
        "params",
        "rounded",
        "states",
    )

    def __init__(self, lr_scale, l1, l2, options, dtype, group):
        self.lr_scale, self.l1, self.l2, self.options, self.dtype, self.group = lr_scale, l1, l2, options, dtype, group
        self.owners = self.params = []
        self.states = {}
        self.grad_scale, self.rounded = 1.0, ()

    def part(self, kept):
        """The same bucket with those parameters only for which `kept` (a list of bool) is true."""
        part = Bucket(self.lr_scale, self.l1, self.l2, self.options, self.dtype, self.group)
        part.owners = part.params = [p for p, k in zip(self.params, kept) if k]
        if self.owners is not self.params:
            part.owners = [p for p, k in zip(self.owners, kept) if k]
        part.states = {name: [s for s, k in zip(tensors, kept) if k] for name, tensors in self.states.items()}
        return part


def times(grad, factor):
    """A gradient times a number, in its dtype; rows stay rows."""
    if not isinstance(factor, _C.Tensor):
        factor = _C.ops.full([], factor, _C.float64)
    return scaled(grad, factor)


def first_power(beta, param):
    """The power of a beta before the first step; on the CPU as exact as the parameter."""
    exact = param.dtype == _C.float64 and param.place.is_cpu_place()
    return _C.ops.full([1], beta, _C.float64 if exact else _C.float32)


def with_l2(bucket, grads):
    """Gradients with the L2 penalty added; for optimizers whose op does not do it."""
    if not bucket.l2:
        return grads
    return [g + p * bucket.l2 for p, g in zip(bucket.params, grads)]
