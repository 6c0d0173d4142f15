"""Topology: ranks on nodes, the cores that they share, and the links between them."""

from typing import NamedTuple

from proa import _C

__all__ = ["Link", "Sharing", "Topology"]


class Link(NamedTuple):
    """How bytes get from one rank to another.

    Attributes:
        latency (float): seconds of a message without bytes.
        bandwidth (float): bytes a second: inside of a node of each rank, between nodes of each node.
        cores (float): how much of a core a rank needs while its bytes move: 1 for memory that ranks have in common, 0 for a
            network card that works by itself.

    Examples:
        >>> proa.distributed.simulate.Link(latency=2e-6, bandwidth=25e9)
        Link(latency=2e-06, bandwidth=25000000000.0, cores=0.0)
    """

    latency: float
    bandwidth: float
    cores: float = 0.0


class Sharing(NamedTuple):
    """What ranks that share cores cost one another, beside that each has a part of them (`fit_to_steps`).

    Attributes:
        crowding (float): by how much computing gets longer: what a rank had in caches is gone when it has the core again. 0.1
            is a tenth, for two ranks a core and for more: what is gone cannot be lost again.
        tick (float): seconds after which a core that has nothing to do takes over a rank that waits for another core; until
            then a rank stays where it was when it last had to wait. Of a system it is the period of the scheduler's clock,
            4e-3 for most Linux. 0 for ranks that share all cores evenly at any time.

    Examples:
        >>> proa.distributed.simulate.Sharing(crowding=0.1)
        Sharing(crowding=0.1, tick=0.0)
    """

    crowding: float = 0.0
    tick: float = 0.0


_ALONE = Sharing()
_INSIDE, _BETWEEN = Link(5e-6, 100e9), Link(10e-6, 25e9)


def _positive(name, value, whole=False):
    kinds = (int,) if whole else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise _C.located(TypeError(f"Topology: {name} must be a number, not {type(value).__name__}"))
    if not value > 0:
        raise _C.located(ValueError(f"Topology: {name} must be above 0, not {value}"))
    return value


def _link(name, link):
    if not isinstance(link, Link):
        raise _C.located(TypeError(f"Topology: {name} must be a Link, not {type(link).__name__}"))
    _positive(f"{name}.bandwidth", link.bandwidth)
    if not (link.latency >= 0 and link.cores >= 0):
        raise _C.located(ValueError(f"Topology: latency and cores of {name} cannot be negative: {link}"))
    return link


class Topology:
    """Where ranks run. Rank r is on node r // ranks_per_node.

    Args:
        ranks (int): how many.
        ranks_per_node (int, optional): all on one node unless given.
        threads (int): that each rank computes with.
        cores_per_node (int, optional): that the ranks of a node share; as many as their threads unless given. With fewer,
            what runs at one time gets equal parts of them.
        inside, between (Link): links of two ranks of a node, and of two nodes. What crosses the border of a node at one time
            shares `between`. Without them 5 us and 100 GB/s, and 10 us and 25 GB/s.
        sharing (Sharing): what ranks that share cores cost one another; nothing unless given.
        slow (dict, optional): {rank: factor} of ranks that compute slower than the others; 2.0 takes twice the time.

    Raises:
        TypeError, ValueError: for numbers that are none, that are not above 0, or ranks that are not there.

    Examples:
        >>> from proa.distributed.simulate import Topology
        >>> Topology(16, ranks_per_node=8).nodes
        2
        >>> Topology(8, cores_per_node=2).shares_cores
        True
    """

    def __init__(
        self,
        ranks,
        ranks_per_node=None,
        threads=1,
        cores_per_node=None,
        inside=_INSIDE,
        between=_BETWEEN,
        slow=None,
        sharing=_ALONE,
    ):
        self.ranks = _positive("ranks", ranks, whole=True)
        self.ranks_per_node = _positive("ranks_per_node", ranks_per_node or ranks, whole=True)
        self.threads = _positive("threads", threads)
        self.inside, self.between = _link("inside", inside), _link("between", between)
        self.cores_per_node = _positive(
            "cores_per_node", cores_per_node or self.ranks_per_node * (threads + inside.cores)
        )
        if not isinstance(sharing, Sharing):
            raise _C.located(TypeError(f"Topology: sharing must be a Sharing, not {type(sharing).__name__}"))
        for name, value in sharing._asdict().items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise _C.located(TypeError(f"Topology: {name} must be a number, not {type(value).__name__}"))
            if not 0 <= value < float("inf"):
                raise _C.located(ValueError(f"Topology: {name} cannot be negative or infinite: {value}"))
        self.sharing = sharing
        self.slow = dict(slow or {})
        for rank, factor in self.slow.items():
            _positive(f"slow[{rank}]", factor)
            if rank not in range(ranks):
                raise _C.located(ValueError(f"Topology: slow names rank {rank}, and there are {ranks}"))

    @property
    def nodes(self):
        """How many there are."""
        return -(-self.ranks // self.ranks_per_node)

    @property
    def shares_cores(self):
        """Whether ranks may have to wait for a core."""
        wants = self.threads + max(self.inside.cores, self.between.cores)
        return self.cores_per_node < min(self.ranks, self.ranks_per_node) * wants

    def node(self, rank):
        """The node of a rank."""
        return rank // self.ranks_per_node

    def link(self, ranks):
        """The link that a group of ranks is bound by, and how many groups share it.

        A group that lies on several nodes goes over `between`; the other ranks of these nodes are taken to be in groups of
        the same kind, which communicate at the same time.

        Returns:
            (Link, float)
        """
        node = self.node(ranks[0])
        here = sum(self.node(rank) == node for rank in ranks)
        if here == len(ranks):
            return self.inside, 1.0
        return self.between, min(self.ranks, self.ranks_per_node) / here

    def __repr__(self):
        return (
            f"Topology({self.ranks} ranks on {self.nodes} nodes, {self.threads} threads each, {self.cores_per_node} cores a "
            f"node, inside {self.inside}, between {self.between})"
        )
