"""Reducer: exchanges the gradients of a model's parameters while backward still runs.

Gradients go in buckets of a dtype and a size. A bucket goes as soon as all of its gradients are there and all buckets
before it have gone, so that every rank starts the same exchanges in the same order. After the first backward the
buckets are made anew, in the order in which gradients came on rank 0.
"""

from proa import _C
from proa.distributed import collective
from proa.distributed.groups import resolve
from proa.distributed.row_gradients import gathered_rows

__all__ = ["Reducer"]

_MIB = 1 << 20


class _Bucket:
    """Parameters whose gradients go together."""

    def __init__(self, places, dtype, sizes, shapes):
        self.places, self.dtype, self.sizes, self.shapes = places, dtype, sizes, shapes
        self.reset()

    def reset(self):
        self.missing = len(self.places)
        self.flat = self.task = None


def _without_grad(function):
    def call(*args):
        grad = _C.is_grad_enabled()
        _C.set_grad_enabled(False)
        try:
            return function(*args)
        finally:
            _C.set_grad_enabled(grad)

    return call


class Reducer:
    """Averages gradients over a group.

    Args:
        parameters (list[(str, Tensor)]): those that are trained, in the order of the model.
        group (Group): of several ranks.
        bucket_mib, first_mib (float): sizes of buckets, and of the first that goes.
        find_unused (bool): parameters may have no gradient in a step.
        compression (str, optional): "float16" or "bfloat16", in which float32 gradients go; sums are of float32.
    """

    def __init__(self, parameters, group, bucket_mib=25, first_mib=1, find_unused=False, compression=None):
        self._names = [name for name, _ in parameters]
        self._parameters = [p for _, p in parameters]
        self._group, self._find_unused, self._compression = group, find_unused, compression
        self._limits = (first_mib * _MIB, bucket_mib * _MIB)
        self.synchronizes = True
        self._order = []  # in which gradients came, in the first step
        self._rebuilt = False
        self._make_buckets(list(reversed(range(len(self._parameters)))))
        self._nodes = None
        self._begin()
        self._hooks = [
            p.register_post_accumulate_grad_hook(lambda _, i=i: self._arrived(i))
            for i, p in enumerate(self._parameters)
        ]

    @property
    def bucket_sizes(self):
        """Elements of each bucket, in the order in which they go."""
        return [sum(b.sizes) for b in self._buckets]

    def _make_buckets(self, order):
        self._buckets, self._bucket_of = [], {}
        places, used, dtype = [], 0, None
        limit = self._limits[0]

        def close():
            nonlocal places, used, limit
            if not places:
                return
            sizes = [self._parameters[i].size for i in places]
            shapes = [self._parameters[i].shape for i in places]
            for i in places:
                self._bucket_of[i] = len(self._buckets)
            self._buckets.append(_Bucket(places, dtype, sizes, shapes))
            places, used, limit = [], 0, self._limits[1]

        for i in order:
            p = self._parameters[i]
            bytes = p.size * p.element_size()
            if places and (p.dtype != dtype or used + bytes > limit):
                close()
            places.append(i)
            dtype, used = p.dtype, used + bytes
        close()

    def _begin(self):
        """A new step."""
        for b in self._buckets:
            b.reset()
        self._ready = set()
        self._next = 0
        self._unused = set()
        self._running = False

    def prepare(self, outputs):
        """Before each backward: what the forward gave.

        Raises:
            RuntimeError: parameters had no gradient in the step before, which was not announced.
        """
        if self._running:
            missing = [n for i, n in enumerate(self._names) if i not in self._ready]
            self._begin()
            raise _C.located(
                RuntimeError(
                    "DataParallel: these parameters had no gradient in the last step, so the exchange never ended: "
                    f"{', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''}; say find_unused_parameters=True"
                )
            )
        self._unused = set()
        if self._find_unused and self.synchronizes:
            self._unused = self._find(outputs)

    def _find(self, outputs):
        """Parameters to which no gradient will come from the outputs."""
        if self._nodes is None:
            with _C.eager_mode():
                made = [p.reshape([-1]) for p in self._parameters]
            self._nodes = {out.grad_fn.next_functions[0][0]: i for i, out in enumerate(made)}
        seen, open = set(), [t.grad_fn for t in _tensors(outputs) if t.grad_fn is not None]
        while open:
            node = open.pop()
            if node in seen:
                continue
            seen.add(node)
            open += [n for n, _ in node.next_functions if n is not None]
        return {i for node, i in self._nodes.items() if node not in seen}

    # In backward ------------------------------------------------------------------

    @_without_grad
    def _arrived(self, i):
        if not self.synchronizes:
            return
        if not self._running:
            self._running = True
            for unused in sorted(self._unused):
                self._note(unused)
        self._note(i)
        if len(self._ready) == len(self._parameters):
            self._finish()

    def _note(self, i):
        if i in self._ready:
            return
        self._ready.add(i)
        if not self._rebuilt:
            self._order.append(i)
        self._buckets[self._bucket_of[i]].missing -= 1
        while self._next < len(self._buckets) and self._buckets[self._next].missing == 0:
            self._go(self._buckets[self._next])
            self._next += 1

    def _has_rows(self, i):
        grad = self._parameters[i].grad
        return grad is not None and grad.is_selected_rows()

    def _go(self, b):
        """Starts the exchange of a bucket; of row-sparse gradients at the end, when their sizes are known."""
        parts = []
        for i in b.places:
            p = self._parameters[i]
            # What this backward does not reach may have a gradient of an earlier one, which counts too.
            if p.grad is None or p.grad.is_selected_rows():
                parts.append(_C.ops.full([p.size], 0, b.dtype))
            else:
                parts.append(_C.ops.reshape(p.grad.detach(), [-1]))
        b.flat = parts[0].clone() if len(parts) == 1 else _C.ops.concat(parts, 0)
        if self._compression is not None and b.dtype == _C.float32:
            b.flat = _C.ops.cast(b.flat, self._compression)
        b.task = collective.all_reduce(b.flat, collective.ReduceOp.AVG, self._group, sync_op=False)

    def _finish(self):
        """All exchanges are under way: takes their results."""
        used = None
        if self._find_unused:
            there = [i not in self._unused or p.grad is not None for i, p in enumerate(self._parameters)]
            mask = _C.to_tensor([int(one) for one in there], "uint8")
            collective.all_reduce(mask, collective.ReduceOp.MAX, self._group)
            used = mask.tolist()
        rows = self._exchange_rows()
        for b in self._buckets:
            b.task.wait()
            flat = b.flat if b.flat.dtype == b.dtype else _C.ops.cast(b.flat, b.dtype)
            at = 0
            for i, size, shape in zip(b.places, b.sizes, b.shapes):
                if i not in rows and (used is None or used[i]):
                    self._parameters[i].grad = flat[at : at + size].reshape(shape)
                at += size
        for i, grad in rows.items():
            self._parameters[i].grad = grad
        if not self._rebuilt:
            self._rebuild()
        self._begin()

    def _exchange_rows(self):
        """{parameter: gradient} of those that are row-sparse on some rank: rows of all ranks, without zeros between."""
        mine = [int(self._has_rows(i)) for i in range(len(self._parameters))]
        if not self._sparse_somewhere(mine):
            return {}
        group, parameters = resolve(self._group), self._parameters
        found = {}
        for i in [i for i, sparse in enumerate(self._sparse) if sparse]:
            found[i] = gathered_rows(parameters[i], parameters[i].grad if mine[i] else None, group)
        return found

    def _sparse_somewhere(self, mine):
        # Which they are is asked once: layers do not change their minds.
        if not hasattr(self, "_sparse"):
            mask = _C.to_tensor(mine, "uint8")
            collective.all_reduce(mask, collective.ReduceOp.MAX, self._group)
            self._sparse = mask.tolist()
        return any(self._sparse)

    def _rebuild(self):
        order = [self._order]
        group = resolve(self._group)
        collective.broadcast_object_list(order, group.ranks[0], group)
        self._make_buckets(order[0])
        self._rebuilt = True


def _tensors(value):
    if isinstance(value, _C.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in _tensors(v)] if isinstance(value, (list, tuple)) else []
