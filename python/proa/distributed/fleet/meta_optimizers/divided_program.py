"""Static programs whose optimizer states are divided among workers: `strategy.sharding` in static mode."""

from proa import _C
from proa.distributed import collective
from proa.distributed.calls import untraced
from proa.distributed.fleet.meta_optimizers.dygraph_optimizer.hybrid_clip import over_ranks
from proa.distributed.fleet.meta_parallel.sharding.divided_optimizer import (
    check_elementwise,
    length,
    make_part,
    part_of,
    whole,
)
from proa.distributed.groups import rank
from proa.distributed.state_names import divided_owner
from proa.static.parameters import remember_made

__all__ = ["DividedProgram", "degrees"]

_PART = "@part"  # ends the names of parts


def degrees(configs, count):
    """(sharding, data) degrees of `count` workers by `sharding_configs`; a sharding_degree above them (8 unless set) is all of them.

    Raises:
        ValueError: their product is not the number of workers.
    """
    data = int(configs["dp_degree"]) if configs["hybrid_dp"] else 1
    sharding = min(int(configs["sharding_degree"]), count)
    if sharding < 1 or data < 1 or sharding * data != count:
        raise _C.located(
            ValueError(
                f"fleet: sharding_configs divide among {sharding} workers, times dp_degree {data}, and the job has {count}; "
                "the product must be that number (dp_degree counts with hybrid_dp)"
            )
        )
    return sharding, data


class DividedProgram:
    """What each worker updates in place of whole parameters: of each an equal run of elements.

    A step is: gradients are added up so that each worker has the sums of its runs; it updates these; all gather the whole.
    Runs are copied from the parameters first, so that a startup program or a loaded state needs nothing.

    Args:
        inner (Optimizer): does the step; knows whole parameters until now.
        configs (dict): `sharding_configs`.
        count (int): workers.
        halves (bool): gradients go in float16.
    """

    def __init__(self, inner, configs, count, halves):
        check_elementwise(inner)
        sharding, data = degrees(configs, count)
        self._group = self._among([list(range(first, first + sharding)) for first in range(0, count, sharding)])
        copies = [list(range(first, count, sharding)) for first in range(sharding)]
        self._copies = self._among(copies) if data > 1 else None
        self._limit, self._halves = float(configs["segment_broadcast_MB"]) * 2**20, halves
        self._parts, self._shapes = {}, {}
        inner._change_clips(lambda clip: over_ranks(clip, self._group, lambda parameter: True))
        self._divide(inner)

    @staticmethod
    def _among(lists):
        """The group of this worker; all make all groups, in one order."""
        return next(g for g in [collective.new_group(ranks) for ranks in lists] if rank() in g.ranks)

    def _divide(self, inner):
        """Puts parts into the place of parameters. While states are made, parts have the names of the whole: states have them too,
        and what is decided by name is decided alike."""
        for settings in inner._groups:
            settings["params"] = [self._part(p) for p in settings["params"] if not p.stop_gradient]
        inner._make_buckets()
        for part in self._parts.values():
            part.name += _PART
            part.stop_gradient = True  # none of the parameters of the program
            remember_made(part, part.detach().clone)

    def _part(self, parameter):
        self._parts[id(parameter)] = part = make_part(parameter, self._group)
        self._shapes[parameter.name] = list(parameter.shape)
        return part

    # Files -------------------------------------------------------------------

    @staticmethod
    def is_part(name):
        """Whether this is the name of a part, which each run copies from its parameter."""
        return name.endswith(_PART)

    def shape_of(self, name, size):
        """The shape of the whole state of which this worker has `size` elements; None if it has all of it."""
        owner = divided_owner(name, self._shapes)
        if owner in (None, name):  # parameters are whole
            return None
        shape = self._shapes[owner]
        return shape if size == length(shape, self._group) else None

    def whole(self, value, name):
        """A state, of the parts of all workers, which call this together."""
        return untraced(whole, value, self.shape_of(name, value.size), self._group)

    def part(self, value, name):
        """This worker's part of a whole state."""
        return untraced(part_of, value, self._group)

    def pairs(self, pairs, how):
        """[(part, its gradient)] of (parameter, gradient of this worker) pairs; appends the exchange and the copies.

        Args:
            how (str): "avg" or "sum".
        """
        made = []
        for bucket in self._buckets(pairs):
            shares = self._reduced([g for _, g in bucket], how)
            for (p, _), share in zip(bucket, shares):
                part = self._parts[id(p)]
                size = part.shape[0]
                begin = self._group.rank * size
                _C.ops.store_(part, _C.ops.slice(self._padded(p), [0], [begin], [begin + size]))
                part.stop_gradient = False  # as the optimizer knows it
                made.append((part, share))
        return made

    def gather(self, parameters):
        """Appends the parameters' new values, from the parts of all."""
        count = self._group.nranks
        for bucket in self._buckets([(p, p) for p in parameters]):
            parts = [self._parts[id(p)] for p, _ in bucket]
            flat = _C.ops.all_gather(_C.ops.concat(parts, 0), count, self._group.id)
            runs = _C.ops.split(_C.ops.reshape(flat, [count, -1]), [part.shape[0] for part in parts], 1)
            for (p, _), part, run in zip(bucket, parts, runs):
                part.stop_gradient = True
                whole = _C.ops.reshape(run, [-1])
                if whole.shape[0] != p.size:
                    whole = _C.ops.slice(whole, [0], [0], [p.size])
                _C.ops.store_(p, _C.ops.reshape(whole, p.shape))

    # Parts -------------------------------------------------------------------

    def _buckets(self, pairs):
        """Lists of pairs whose second ones have one dtype and are not too many bytes; the last layers come first."""
        open_ones, found = {}, []
        for pair in reversed(pairs):
            bucket, size = open_ones.get(pair[1].dtype, (None, 0))
            if bucket is None or size >= self._limit:
                bucket, size = [], 0
                found.append(bucket)
            bucket.append(pair)
            open_ones[pair[1].dtype] = bucket, size + pair[1].size * pair[1].element_size()
        return found

    def _padded(self, x):
        """Its elements and zeros: as many for each worker."""
        flat, count = _C.ops.reshape(x, [-1]), self._group.nranks
        missing = -x.size % count
        return _C.ops.concat([flat, _C.ops.full([missing], 0.0, x.dtype)], 0) if missing else flat

    def _reduced(self, grads, how):
        count = self._group.nranks
        rows = [_C.ops.reshape(self._padded(g), [count, -1]) for g in grads]
        flat = _C.ops.reshape(_C.ops.concat(rows, 1), [-1])
        dtype = flat.dtype
        if self._halves and dtype == _C.float32:
            flat = flat.astype(_C.float16)
        flat = _C.ops.reduce_scatter(flat, count, self._group.id, how)
        if self._copies is not None:
            flat = _C.ops.all_reduce(flat, self._copies.id, how)
        return _C.ops.split(flat.astype(dtype), [row.shape[1] for row in rows], 0)
