"""predict: from work, topology, strategy and costs to a Result."""

from proa import _C
from proa.distributed.simulate.costs import CostModel
from proa.distributed.simulate.dividing import divide
from proa.distributed.simulate.events import Engine
from proa.distributed.simulate.memory import held
from proa.distributed.simulate.parts import parts_of
from proa.distributed.simulate.planning import Plan
from proa.distributed.simulate.result import Result
from proa.distributed.simulate.strategy import Strategy
from proa.distributed.simulate.topology import Topology
from proa.distributed.simulate.work import Work

__all__ = ["predict"]


def predict(work, topology, strategy, costs, cuts=None, every_rank=None):
    """Simulates one training step.

    Ranks of one stage do the same at the same time, so one of each stage is simulated, whatever their number. Where ranks
    differ (`Topology(slow=...)`) or wait for cores, all are.

    Args:
        work (Work): of one process for one micro-batch (`read`, `record`).
        topology (Topology): where ranks run.
        strategy (Strategy): how they are parallel.
        costs (CostModel): what calls cost on one rank.
        cuts (sequence[int], optional): positions at which the parts of a pipeline begin; else parts take about the same time.
        every_rank (bool, optional): simulate each rank by itself.

    Returns:
        Result

    Raises:
        TypeError: arguments of another kind.
        ValueError: degrees that do not fit the ranks; more stages than calls; ranks that differ with `every_rank=False`.

    Examples:
        >>> from proa.distributed import simulate
        >>> net = [proa.nn.Linear(64, 64) for _ in range(8)]
        >>> work = simulate.record(net, [proa.static.InputSpec([32, 64], "float32", "x")], lambda y: y.mean())
        >>> costs = simulate.CostModel(arithmetic=1e12, traffic=1e11)
        >>> topology = simulate.Topology(4096, ranks_per_node=8)
        >>> result = simulate.predict(work, topology, simulate.Strategy(dp=512, pp=8, micro_batches=32), costs)
        >>> len(result.ranks), result.represented
        (8, 4096)
    """
    for name, value, kind in (
        ("work", work, Work),
        ("topology", topology, Topology),
        ("strategy", strategy, Strategy),
        ("costs", costs, CostModel),
    ):
        if not isinstance(value, kind):
            raise _C.located(TypeError(f"predict: {name} must be a {kind.__name__}, not {type(value).__name__}"))
    strategy.check(topology.ranks)
    differ = bool(topology.slow) or topology.shares_cores
    if differ and every_rank is False:
        raise _C.located(ValueError("predict: ranks that differ or share cores are simulated each by itself"))
    work = divide(work, strategy.mp, strategy.sequence)
    parts = parts_of(work, costs, strategy, cuts)
    every = differ if every_rank is None else every_rank
    ranks = range(topology.ranks) if every else strategy.group(0, "pp")
    engine = Engine(topology)
    plan = Plan(engine, work, parts, strategy, topology, costs, ranks)
    engine.run()
    memory = [held(work, parts, strategy, stage) for stage in range(strategy.pp)]
    return Result(engine, plan, memory, topology, strategy)
