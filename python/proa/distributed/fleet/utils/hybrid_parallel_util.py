"""Exchanges of gradients and parameters by hand, coalesced by dtype."""

from proa import _C

__all__ = [
    "Quiet",
    "average_gradients",
    "broadcast_dp_parameters",
    "broadcast_mp_parameters",
    "broadcast_parameters",
    "broadcast_sharding_parameters",
    "differs",
    "fused_allreduce_gradients",
    "somewhere",
]

_MOST = 128 << 20  # bytes of one exchange
_LOW = (_C.float16, _C.bfloat16)


def _batches(tensors):
    """Lists of tensors of one dtype whose bytes together are not too many."""
    kinds = {}
    for tensor in tensors:
        kinds.setdefault(tensor.dtype, []).append(tensor)
    for same in kinds.values():
        batch, size = [], 0
        for tensor in same:
            bytes_of = tensor.size * tensor.element_size()
            if batch and size + bytes_of > _MOST:
                yield batch
                batch, size = [], 0
            batch.append(tensor)
            size += bytes_of
        yield batch


def _in_one(tensors, exchange):
    """Calls `exchange` on one flat tensor in place of several, then writes them."""
    flat = _C.ops.concat([t.reshape([-1]) for t in tensors], 0)
    flat = exchange(flat)
    sizes = [t.size for t in tensors]
    for tensor, part in zip(tensors, _C.ops.split(flat, sizes, 0)):
        tensor.set_value(part.reshape(tensor.shape))


class Quiet:
    """No gradients are recorded, nothing is cast."""

    def __enter__(self):
        self._grad, self._cast = _C.is_grad_enabled(), _C.amp.exchange(0)
        _C.set_grad_enabled(False)

    def __exit__(self, *_):
        _C.set_grad_enabled(self._grad)
        _C.amp.exchange(self._cast)


_ROWS, _DENSE = 1.0, 2.0


def _kinds(parameters, group):
    """What gradient of each there is on some process of the group: 0 for none, _ROWS, or _DENSE if one of them is."""
    from proa.distributed import collective

    if not parameters:
        return []
    kind = lambda grad: 0.0 if grad is None else _ROWS if grad.is_selected_rows() else _DENSE
    kinds = _C.to_tensor([kind(p.grad) for p in parameters], dtype=_C.float32)
    collective.all_reduce(kinds, collective.ReduceOp.MAX, group)
    return kinds.tolist()


def _made_dense(parameters):
    """They have dense gradients from now on: of zeros where they have none here."""
    for p in parameters:
        if p.grad is None:
            p.grad = _C.ops.full_like(p.detach(), 0.0)
        elif p.grad.is_selected_rows():
            p.grad = p.grad.to_dense()
    return parameters


def somewhere(parameters, group):
    """Those that have a gradient on some process of the group; here it is dense, of zeros if there was none, from now on."""
    return _made_dense([p for p, kind in zip(parameters, _kinds(parameters, group)) if kind])


def _sum_copies(experts, group, tensor_of, counts):
    """Adds up a tensor of each expert over its copies: where a group has several groups of experts.

    Args:
        experts (list[Tensor]): parameters that differ within the group.
        tensor_of (Callable): the tensor of a parameter, which is replaced by the sum.
        counts (Callable): whether the tensors of this group of experts count; zeros in their place otherwise.
    """
    from proa.distributed import collective

    several = {}
    for p in experts:
        among = getattr(p, "expert_group", group)
        if among.nranks < group.nranks and set(among.ranks) <= set(group.ranks):
            several.setdefault(id(among), (among, []))[1].append(p)
    for among, parameters in several.values():

        def exchange(flat, among=among):
            # All experts' places, of which this process fills its own: there is no group of the copies.
            nothing = _C.ops.full_like(flat, 0.0)
            places = [nothing] * among.nranks
            places[among.rank] = flat if counts(among) else nothing
            everyone = _C.ops.concat(places, 0)
            collective.all_reduce(everyone, group=group)
            return _C.ops.split(everyone, [flat.shape[0]] * among.nranks, 0)[among.rank]

        for batch in _batches([tensor_of(p) for p in parameters]):
            _in_one(batch, exchange)


def differs(parameter, group):
    """Whether processes of the group have other experts; those that divide layers, say, may all have the same."""
    among = getattr(parameter, "expert_group", group)
    return getattr(parameter, "no_sync", False) and len(set(among.ranks) & set(group.ranks)) > 1


def average_gradients(parameters, group, half=False, total=False):
    """Replaces gradients by their mean over a group.

    A parameter that has no gradient here has one of zeros if another process has one. Row-sparse gradients stay so.

    Args:
        parameters (list[Tensor]): the same on all processes.
        group (Group): the processes.
        half (bool): float32 gradients are exchanged as float16.
        total (bool): the sum in place of the mean.
    """
    from proa.distributed import collective
    from proa.distributed.row_gradients import gathered_rows

    if group.nranks == 1 or not parameters:
        return
    own = [p for p in parameters if differs(p, group)]
    parameters = [p for p in parameters if not differs(p, group)]
    with Quiet():
        _sum_copies([p for p in own if p.grad is not None], group, lambda p: p.grad, lambda among: True)
        for p in own:
            # Of experts: what came from all processes of their group has been added up already.
            if p.grad is not None and not total:
                p.grad = p.grad.scale(1.0 / group.nranks)
        kinds = _kinds(parameters, group)
        for p, kind in zip(parameters, kinds):
            if kind == _ROWS:
                p.grad = gathered_rows(p, p.grad, group, not total)
        parameters = _made_dense([p for p, kind in zip(parameters, kinds) if kind == _DENSE])

        def exchange(flat):
            dtype = flat.dtype
            if half and dtype == _C.float32:
                flat = (flat if total else flat.scale(1.0 / group.nranks)).astype(_C.float16)
                collective.all_reduce(flat, collective.ReduceOp.SUM, group)
                return flat.astype(dtype)
            collective.all_reduce(flat, collective.ReduceOp.SUM, group)
            return flat if total else flat.scale(1.0 / group.nranks)

        for batch in _batches([p.grad for p in parameters]):
            _in_one(batch, exchange)


def broadcast_parameters(model, group, divided=True, source=None):
    """Gives the processes of a group the parameters and buffers of its first, or of the process `source`.

    Experts that differ within the group stay; their copies get those of the process's group of experts.

    Args:
        divided (bool): those of which each process has a part (`is_distributed`) too.
    """
    from proa.distributed import collective

    if group.nranks == 1:
        return
    first = group.ranks[0] if source is None else source

    def exchange(flat):
        collective.broadcast(flat, first, group)
        return flat

    with Quiet():
        tensors = [p for p in model.parameters() if divided or not getattr(p, "is_distributed", False)]
        alike = [p for p in tensors if not differs(p, group)]
        for batch in _batches([*alike, *model.buffers()]):
            _in_one(batch, exchange)
        own = [p for p in tensors if differs(p, group)]
        _sum_copies(own, group, lambda p: p, lambda among: first in among.ranks)


def fused_allreduce_gradients(parameter_list, hcg=None):
    """Averages the gradients of the parameters over all data-parallel workers."""
    from proa.distributed import collective

    group = collective.get_group(0) if hcg is None else hcg.get_data_parallel_group()
    average_gradients([p for p in parameter_list if not p.stop_gradient], group)


def _groups(hcg):
    from proa.distributed.fleet.base.fleet_base import fleet

    return fleet._hcg if hcg is None else hcg


def broadcast_dp_parameters(model, hcg=None):
    """Gives all data-parallel workers the parameters of the first."""
    hcg = _groups(hcg)
    if hcg is not None:
        broadcast_parameters(model, hcg.get_data_parallel_group())


def broadcast_mp_parameters(model, hcg=None):
    """Gives all model-parallel workers the parameters of the first that are not divided among them."""
    hcg = _groups(hcg)
    if hcg is not None:
        broadcast_parameters(model, hcg.get_model_parallel_group(), divided=False)


def broadcast_sharding_parameters(model, hcg=None):
    """Gives all workers among whom states are divided the parameters of the first."""
    hcg = _groups(hcg)
    if hcg is not None:
        broadcast_parameters(model, hcg.get_sharding_parallel_group())
