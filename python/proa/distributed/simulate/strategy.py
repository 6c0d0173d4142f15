"""Strategy: how a job is parallel."""

from typing import NamedTuple

from proa import _C
from proa.distributed.fleet.meta_parallel.pp_utils.schedule import MODES

__all__ = ["Strategy"]

_DEGREES = ("dp", "mp", "pp", "sharding", "micro_batches", "chunks")


class Place(NamedTuple):
    """Where a rank is: which copy of the data, stage, shard and part of the layers."""

    dp: int
    pp: int
    sharding: int
    mp: int


class Strategy:
    """Degrees whose product is the number of ranks, as `fleet.DistributedStrategy` has them.

    Args:
        dp (int): copies of the model, each with a part of the batch.
        mp (int): ranks that divide each layer.
        pp (int): stages.
        sharding (int): ranks that divide what the optimizer keeps, each with a part of the batch.
        stage (int): of sharding: 1 divides states, 2 gradients too, 3 parameters too.
        micro_batches (int): that a rank computes in a step.
        chunks (int): parts of the model a stage; above 1 the interleaved schedule.
        schedule (str): "1F1B" or "F-then-B".
        sequence (bool): sequence parallel beside `mp`.
        recompute (bool): backward computes forward of each part once more, and keeps what comes into it.
        bucket_mib (float): of gradients that are exchanged together.
        overlap (bool): gradients are exchanged while backward goes on.
        algorithm (str): of collectives: "ring", "tree", "direct", or "auto".

    Raises:
        TypeError, ValueError: degrees that are no numbers above 0, another stage or schedule.

    Examples:
        >>> from proa.distributed.simulate import Strategy
        >>> Strategy(dp=4, mp=2, pp=8, micro_batches=16).ranks
        64
    """

    def __init__(
        self,
        dp=1,
        mp=1,
        pp=1,
        sharding=1,
        stage=1,
        micro_batches=1,
        chunks=1,
        schedule="1F1B",
        sequence=False,
        recompute=False,
        bucket_mib=25.0,
        overlap=True,
        algorithm="auto",
    ):
        for name, value in zip(_DEGREES, (dp, mp, pp, sharding, micro_batches, chunks)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise _C.located(TypeError(f"Strategy: {name} must be an int, not {type(value).__name__}"))
            if value < 1:
                raise _C.located(ValueError(f"Strategy: {name} must be at least 1, not {value}"))
        if stage not in (1, 2, 3):
            raise _C.located(ValueError(f"Strategy: stage must be 1, 2 or 3, not {stage!r}"))
        if schedule not in MODES:
            known = ", ".join(map(repr, MODES))
            raise _C.located(ValueError(f"Strategy: schedule must be one of {known}, not {schedule!r}"))
        from proa.distributed.simulate.collectives import ALGORITHMS

        if algorithm not in (*ALGORITHMS, "auto"):
            known = ", ".join(map(repr, (*ALGORITHMS, "auto")))
            raise _C.located(ValueError(f"Strategy: algorithm must be one of {known}, not {algorithm!r}"))
        if chunks > 1 and pp == 1:
            raise _C.located(ValueError(f"Strategy: {chunks} chunks a stage need several stages"))
        if chunks > 1 and micro_batches % pp:
            raise _C.located(
                ValueError(
                    f"Strategy: {chunks} chunks a stage need a number of micro-batches that the {pp} stages divide evenly, not "
                    f"{micro_batches}"
                )
            )
        if sequence and mp == 1:
            raise _C.located(ValueError("Strategy: sequence parallel needs mp above 1"))
        if not bucket_mib > 0:
            raise _C.located(ValueError(f"Strategy: bucket_mib must be above 0, not {bucket_mib}"))
        self.dp, self.mp, self.pp, self.sharding, self.stage = dp, mp, pp, sharding, stage
        self.micro_batches, self.chunks, self.schedule = micro_batches, chunks, schedule
        self.sequence, self.recompute = sequence, recompute
        self.bucket_mib, self.overlap, self.algorithm = bucket_mib, overlap, algorithm

    @classmethod
    def of_fleet(cls, strategy, ranks, **more):
        """That of a `fleet.DistributedStrategy` for so many ranks; `more` goes to `Strategy`.

        Examples:
            >>> from proa.distributed import fleet, simulate
            >>> strategy = fleet.DistributedStrategy()
            >>> strategy.hybrid_configs = {"dp_degree": -1, "mp_degree": 2, "pp_degree": 2}
            >>> simulate.Strategy.of_fleet(strategy, 16).dp
            4
        """
        degrees = {name: strategy.hybrid_configs[f"{name}_degree"] for name in ("dp", "mp", "pp", "sharding")}
        if degrees["dp"] == -1:
            degrees["dp"] = max(ranks // (degrees["mp"] * degrees["pp"] * degrees["sharding"]), 1)
        pipeline = strategy.pipeline_configs
        made = cls(
            **degrees,
            stage=strategy.sharding_configs["stage"],
            micro_batches=pipeline["accumulate_steps"],
            schedule=pipeline["schedule_mode"],
            **more,
        )
        made.check(ranks)
        return made

    @property
    def ranks(self):
        """The product of the degrees."""
        return self.dp * self.mp * self.pp * self.sharding

    def check(self, ranks):
        """Raises ValueError unless the degrees fit the number of ranks."""
        if self.ranks != ranks:
            raise _C.located(
                ValueError(
                    f"Strategy: dp {self.dp} x mp {self.mp} x pp {self.pp} x sharding {self.sharding} = {self.ranks} ranks, and "
                    f"the topology has {ranks}"
                )
            )

    # Neighbours divide layers, then come shards, stages, and copies: as fleet's topology has it.

    def place(self, rank):
        """The Place of a rank."""
        rest, mp = divmod(rank, self.mp)
        rest, sharding = divmod(rest, self.sharding)
        dp, pp = divmod(rest, self.pp)
        return Place(dp, pp, sharding, mp)

    def rank(self, place):
        """The rank at a Place."""
        return ((place.dp * self.pp + place.pp) * self.sharding + place.sharding) * self.mp + place.mp

    def group(self, rank, axis):
        """The ranks that differ from this one along "dp", "pp", "sharding" or "mp" alone, in their order."""
        place = self.place(rank)
        return [self.rank(place._replace(**{axis: i})) for i in range(getattr(self, axis))]

    def __repr__(self):
        parts = [f"{name}={getattr(self, name)}" for name in ("dp", "mp", "pp", "sharding") if getattr(self, name) > 1]
        if self.sharding > 1:
            parts.append(f"stage={self.stage}")
        parts += [f"{name}={getattr(self, name)}" for name in ("micro_batches", "chunks") if getattr(self, name) > 1]
        parts += [name for name in ("sequence", "recompute") if getattr(self, name)]
        return f"Strategy({', '.join(parts)})"
