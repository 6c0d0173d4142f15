"""MoELayer: tokens go to the experts that a gate chooses, on whichever process they are, and come back."""

from proa import _C, nn
from proa.distributed.groups import Group
from proa.distributed.groups import rank as own_rank
from proa.distributed.utils import global_gather, global_scatter
from proa.incubate.distributed.models.moe.gate import BaseGate, GShardGate, NaiveGate, SwitchGate
from proa.incubate.distributed.models.moe.routing import counts_of, of_all
from proa.nn.layer.layers import Layer

__all__ = ["MoELayer"]

_GATES = {"naive": (NaiveGate, 2), "gshard": (GShardGate, 2), "switch": (SwitchGate, 1), None: (NaiveGate, 2)}


class MoELayer(Layer):
    """A mixture of experts.

    Each process of `moe_group` has its own experts and its own tokens; parameters of experts are marked `no_sync`, and
    are not averaged with those of other processes.

    Args:
        d_model (int): size of a token.
        experts (LayerList): the experts of this process; each maps [tokens, d_model] to the same.
        gate (dict|BaseGate, optional): {"type": "gshard", "top_k": 2}, or "switch" (1), "naive"; or a gate.
        moe_group (Group, optional): the processes that have experts; this one alone unless given.
        mp_group (Group, optional): processes that share each token; each of them routes a part. fleet's optimizer adds up
            their gradients of the gate, and of experts unless they are processes of `moe_group` too.
        recompute_interval (int): above 0, experts are recomputed in backward.

    Shape:
        inp: [..., d_model]; result: the same.

    Raises:
        TypeError, ValueError: for other experts or gates.
        NotImplementedError: called in a program.

    Examples:
        >>> from proa.incubate.distributed.models.moe import MoELayer
        >>> experts = proa.nn.LayerList([proa.nn.Linear(4, 4) for _ in range(3)])
        >>> layer = MoELayer(4, experts, gate={"type": "naive", "top_k": 2})
        >>> layer(proa.ones([2, 5, 4])).shape
        [2, 5, 4]
    """

    def __init__(
        self, d_model, experts, gate=None, moe_group=None, mp_group=None, recompute_interval=0, recompute_ctx=None
    ):
        super().__init__()
        experts = nn.LayerList(experts) if isinstance(experts, (list, tuple)) else experts
        if not isinstance(experts, nn.LayerList) or not len(experts):
            raise _C.located(TypeError("MoELayer: experts must be a LayerList of at least one layer"))
        self.d_model, self.num_expert, self.recompute_interval = d_model, len(experts), recompute_interval
        # None is this process alone here, and all processes to an exchange.
        self.group, self.mp_group = Group([own_rank()], -1) if moe_group is None else moe_group, mp_group
        self.world_size = self.group.nranks
        self.experts = experts
        for parameter in experts.parameters():
            parameter.is_expert = True
            parameter.no_sync = self.world_size > 1
            parameter.expert_group = self.group
        self.gate = self._make_gate({} if gate is None else gate)
        if mp_group is not None and mp_group.nranks > 1:
            self._see_parts()
        self.top_k = self.gate.top_k

    def _see_parts(self):
        """Processes that share tokens route parts of them: gradients of what they hold alike are to be added up."""
        from proa.distributed.fleet.utils.sequence_parallel_utils import mark_as_sequence_parallel_parameter

        alike = [] if set(self.mp_group.ranks) <= set(self.group.ranks) else self.experts.parameters()
        for parameter in [*self.gate.parameters(), *alike]:
            mark_as_sequence_parallel_parameter(parameter)

    def _make_gate(self, gate):
        if isinstance(gate, BaseGate):
            if gate.tot_expert != self.num_expert * self.world_size:
                raise _C.located(
                    ValueError(
                        f"MoELayer: the gate is for {gate.tot_expert} experts, and there are {self.num_expert} on each of "
                        f"{self.world_size} processes"
                    )
                )
            return gate
        if not isinstance(gate, dict):
            raise _C.located(TypeError(f"MoELayer: gate must be a dict or a gate, not {type(gate).__name__}"))
        kind = gate.get("type", "gshard")
        if kind not in _GATES:
            raise _C.located(ValueError(f"MoELayer: gate['type'] must be 'naive', 'gshard' or 'switch', not {kind!r}"))
        made, top_k = _GATES[kind]
        more = {} if made is NaiveGate else {"group": self.group}
        return made(self.d_model, self.num_expert, self.world_size, topk=gate.get("top_k", top_k), **more)

    def names_in_whole(self):
        """{name here: name in a layer of all experts} of this process's experts."""
        first = max(0, self.group.rank) * self.num_expert
        return {f"experts.{own}": f"experts.{first + own}" for own in range(self.num_expert)}

    def forward(self, inp):
        if inp.shape[-1] != self.d_model:
            raise _C.located(
                ValueError(f"MoELayer: the input is {list(inp.shape)}; its last dim must be d_model, {self.d_model}")
            )
        if _C.is_symbolic(inp):
            raise _C.located(
                NotImplementedError(
                    "MoELayer: how many rows go to which expert is only known when they are there, so it cannot be part of a program "
                    "(static, converted or saved); call it eagerly, and convert the layers around it"
                )
            )
        from proa.distributed.fleet.layers.mpu import mp_ops

        shape = inp.shape
        x = inp.reshape([-1, self.d_model])
        shared = self.mp_group is not None and self.mp_group.nranks > 1
        if shared:
            x = mp_ops.scatter_first(x, self.mp_group)
        y = self._mixed(x)
        if shared:
            y = mp_ops.gather_first(y, self.mp_group)
            balance = self.gate.get_loss()
            if balance is not None:  # of a part each: the mean is the same on all of them
                self.gate.set_loss(mp_ops.sum_up(balance, self.mp_group) / self.mp_group.nranks)
        return y.reshape(shape)

    def _mixed(self, x):
        """The weighted sum of what the chosen experts make of each token."""
        from proa import arange, scatter

        tokens, total = x.shape[0], self.num_expert * self.world_size
        value, experts = self.gate(x)
        flat = experts.reshape([-1])
        counts = counts_of(flat, total)
        # By expert, of one in their order; those of no expert come last and stay here.
        keys = flat + (flat < 0).astype(flat.dtype) * (total + 1)
        order = (keys * flat.shape[0] + arange(flat.shape[0], dtype=flat.dtype)).argsort()
        sent = int(counts.sum().item())
        order = order[:sent]
        rows = _C.ops.gather(x, order // self.top_k, 0)
        everywhere = of_all(counts, self.group).numpy()
        mine = self.group.rank
        # From each process, in its order, to each expert of this one.
        arriving = everywhere[:, mine * self.num_expert : (mine + 1) * self.num_expert]
        local, arriving_flat = _C.to_tensor(everywhere[mine].copy()), _C.to_tensor(arriving.reshape(-1).copy())
        rows = global_scatter(rows, local, arriving_flat, self.group)
        rows = self._by_experts(rows, arriving.sum(0).tolist())
        rows = global_gather(rows, local, arriving_flat, self.group)
        zeros = _C.ops.full([tokens * self.top_k, self.d_model], 0.0, rows.dtype)
        placed = scatter(zeros, order, rows) if sent else zeros + rows.sum()
        weights = value.reshape([tokens, 1, self.top_k]).astype(rows.dtype)
        return _C.ops.matmul(weights, placed.reshape([tokens, self.top_k, self.d_model])).reshape(
            [tokens, self.d_model]
        )

    def _by_experts(self, rows, counts):
        from proa.autograd import recompute

        parts = _C.ops.split(rows, counts, 0) if len(counts) > 1 else [rows]
        found = []
        for expert, part in zip(self.experts, parts):
            # An expert without tokens takes part all the same: its gradients are zeros, not missing.
            found.append(recompute(expert, part) if self.recompute_interval and self.training else expert(part))
        return _C.ops.concat(found, 0)
