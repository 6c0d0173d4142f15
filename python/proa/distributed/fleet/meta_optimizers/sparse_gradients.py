"""Deep gradient compression of static programs: workers send the largest elements of their gradients; the rest waits.

Y. Lin, S. Han, H. Mao, Y. Wang, W. J. Dally, "Deep Gradient Compression: Reducing the Communication Bandwidth for Distributed
Training", ICLR 2018: each worker keeps momentum `u` and what was not sent `v` of its own gradients:

    u = m u + g;   v = v + u;   the k largest |v| are sent;   where they were, u = v = 0
    parameter -= rate * mean over workers of what was sent
"""

import math

from proa import _C
from proa.nn.clip import ClipGradByNorm
from proa.optimizer import Momentum
from proa.static.parameters import create_global_var
from proa.utils import unique_name

__all__ = ["SparseGradients"]

_FEWEST = 16384  # elements of a parameter that it pays for, as in the reference


class SparseGradients:
    """The step of `strategy.dgc`, in place of that of Momentum for large parameters from run `rampup_begin_step` on.

    Args:
        optimizer (Momentum): whose step it is until then, and for small parameters.
        strategy (DistributedStrategy): has `dgc_configs`.
        count (int): workers.

    Raises:
        TypeError: for another optimizer.
        NotImplementedError: for a clip that would have to see the gradients of all.
        ValueError: a setting is out of range.
    """

    def __init__(self, optimizer, strategy, count):
        if type(optimizer) is not Momentum:
            raise _C.located(
                TypeError(
                    f"fleet: strategy.dgc with {type(optimizer).__name__}; it compresses the gradients of "
                    "paddle.optimizer.Momentum; give that optimizer, or leave the switch off"
                )
            )
        clip = optimizer._grad_clip
        if clip is not None and type(clip) is not ClipGradByNorm:
            raise _C.located(
                NotImplementedError(
                    f"fleet: strategy.dgc with {type(clip).__name__}: gradients are clipped before they are sent; use "
                    "ClipGradByNorm"
                )
            )
        configs = strategy.dgc_configs
        self._begin, self._ramp = int(configs["rampup_begin_step"]), int(configs["rampup_step"])
        self._levels = [float(s) for s in configs["sparsity"]] or [0.999]
        if self._begin < 0 or self._ramp < 1 or not all(0 <= s < 1 for s in self._levels):
            raise _C.located(
                ValueError(
                    f"fleet: dgc_configs: rampup_begin_step must be at least 0, rampup_step 1, and sparsity from 0 to below 1; "
                    f"they are {self._begin}, {self._ramp} and {self._levels}"
                )
            )
        self._optimizer, self._count = optimizer, count
        self._how = strategy.gradient_scale_configs["scale_strategy"]
        # Each worker clips its own; the sum of N that are alike in size and not in direction has sqrt(N) times the norm.
        self._clip = None if clip is None else ClipGradByNorm(clip.clip_norm / math.sqrt(count))

    def step(self, pairs, over_workers):
        """Appends the step.

        Args:
            pairs (list[tuple]): (parameter, gradient of this worker).
            over_workers (Callable): appends the means of tensors over the workers.
        """
        large = [(p, g) for p, g in pairs if p.size >= _FEWEST and g.dtype == _C.float32]
        ids = {id(p) for p, _ in large}
        small = [(p, g) for p, g in pairs if id(p) not in ids]
        if not large:
            return self._plain(pairs, over_workers)
        held = [[self._zeros(p, what) for p, _ in large] for what in ("momentum", "unsent")]
        runs = create_global_var([1], 0, "int64", persistable=True, name=unique_name.generate("dgc_runs"))
        done = runs + 0
        _C.ops.store_(runs, done + 1)

        def sparse(level):
            self._plain(small, over_workers)
            self._compressed(large, held, self._levels[level])
            return []

        def from_level(level):
            if level == len(self._levels) - 1:
                return sparse(level)
            # Run r is of level (r - begin) * levels // ramp.
            end = self._begin + -(-(level + 1) * self._ramp // len(self._levels))
            return self._branch(done, end, lambda: sparse(level), lambda: from_level(level + 1))

        if self._begin:
            self._branch(done, self._begin, lambda: self._plain(pairs, over_workers) or [], lambda: from_level(0))
        else:
            from_level(0)
        return None

    # Parts -------------------------------------------------------------------

    @staticmethod
    def _branch(done, end, before, after):
        _C.cond(_C.ops.less_than(done, _C.ops.full([1], end, _C.int64)).reshape([]), before, after)
        return []

    def _plain(self, pairs, over_workers):
        if pairs:
            means = over_workers([g for _, g in pairs], self._how)
            self._optimizer.apply_gradients(list(zip([p for p, _ in pairs], means)))

    @staticmethod
    def _zeros(parameter, what):
        name = unique_name.generate(f"{parameter.name}_dgc_{what}")
        return create_global_var([parameter.size], 0.0, "float32", persistable=True, name=name)

    def _compressed(self, pairs, held, sparsity):
        values, places, sizes = [], [], []
        for at, (p, g) in enumerate(pairs):
            kept, place = self._largest(p, g, held[0][at], held[1][at], sparsity)
            values.append(kept)
            places.append(place.astype(_C.int32))
            sizes.append(kept.shape[0])
        rows = [
            _C.ops.split(
                _C.ops.reshape(_C.ops.all_gather(_C.ops.concat(each, 0), self._count, 0), [self._count, -1]), sizes, 1
            )
            for each in (values, places)
        ]
        factor = 1.0 / self._count if self._how == "avg" else 1.0
        for (p, _), kept, place in zip(pairs, *rows):
            place = _C.ops.reshape(place, [-1, 1]).astype(_C.int64)
            total = _C.ops.scatter_nd(place, _C.ops.reshape(kept, [-1]) * factor, [p.size])
            lr_scale = self._settings(p)[0]
            _C.ops.sgd_([p], [_C.ops.reshape(total, p.shape)], self._optimizer._lr(), lr_scale, 0.0, self._rescale, [])

    def _largest(self, p, g, momentum, unsent, sparsity):
        """(values, places) that this worker sends of a gradient; appends the changes of what it holds."""
        _, l1, l2, options = self._settings(p)
        g = _C.ops.reshape(g, [-1])
        if l1 or l2:
            flat = _C.ops.reshape(p.detach(), [-1])
            g = g + (flat * l2 if l2 else _C.ops.sign(flat) * l1) / self._rescale
        if self._clip is not None:
            ((_, g),) = self._clip([(p, g)])
        factor = options["momentum"]
        u = (momentum + g) * factor if options["use_nesterov"] else momentum * factor + g
        v = unsent + u + g if options["use_nesterov"] else unsent + u
        _, place = _C.ops.topk(_C.ops.abs(v), max(1, round(p.size * (1.0 - sparsity))), 0)
        kept = _C.ops.gather(v, place, 0)
        nothing = _C.ops.full([place.shape[0]], 0.0, _C.float32)
        _C.ops.store_(momentum, _C.ops.scatter(u, place, nothing))
        _C.ops.store_(unsent, _C.ops.scatter(v, place, nothing))
        return kept, place

    @property
    def _rescale(self):
        return self._optimizer._rescale_grad

    def _settings(self, parameter):
        group = next(g for g in self._optimizer._groups if any(p is parameter for p in g["params"]))
        lr_scale, l1, l2, options = self._optimizer._settings(parameter, group)
        return lr_scale, l1, l2, dict(options)
