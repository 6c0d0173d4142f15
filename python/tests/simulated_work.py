"""Work, machines and costs for the simulator's tests, of which the results are known."""

import proa
from proa.distributed import simulate
from proa.distributed.simulate import Link, Topology
from proa.distributed.simulate.work import Operation, Parameter, Work
from proa.static import InputSpec

__all__ = ["COSTS", "FREE", "even", "network", "recorded", "topology"]

FREE = Link(0.0, 1e30)
# A floating point operation takes a second, but those that add gradients.
COSTS = simulate.CostModel(1.0, 1e30, {"": (0.0, 1.0), "add_": (0.0, 0.0)})


def even(calls=8, forward=1.0, backward=2.0, parameters=0.0, states=0.0, activations=4.0):
    """Work of calls that all take the same time and have the same parameters; each gives what the next takes."""
    operations = [Operation("f", "forward", i, forward, 0.0, (i,), (i + 1,)) for i in range(calls)]
    operations += [Operation("b", "backward", i, backward, 0.0, (i,)) for i in reversed(range(calls))]
    held = [Parameter(1000 + i, (1,), parameters, i) for i in range(calls)]
    return Work(operations, held, dict.fromkeys(range(calls + 1), activations), states)


def topology(ranks, **more):
    return Topology(ranks, **({"inside": FREE, "between": FREE} | more))


def network(width=64, layers=3):
    return [proa.nn.Linear(width, width) for _ in range(layers)]


def recorded(net=None, batch=32, optimizer=False, width=64):
    net = net or network(width)
    parameters = [p for layer in net for p in layer.parameters()]
    adam = proa.optimizer.Adam(0.1, parameters=parameters) if optimizer else None
    return simulate.record(net, [InputSpec([batch, width], "float32", "x")], lambda y: y.mean(), adam)
