"""The parallel environment, and DataParallel: the wrapper around a layer whose gradients are averaged over processes."""

import contextlib
import os
from types import SimpleNamespace as _Namespace

from proa import _C
from proa.distributed import collective, groups
from proa.distributed.environment import (
    is_initialized,
    job,
    note_initialized,
    trainer_count,
    trainer_id,
)
from proa.distributed.fleet.utils.hybrid_parallel_util import differs
from proa.distributed.reducer import Reducer
from proa.nn.layer.layers import Layer

__all__ = [
    "DataParallel",
    "ParallelEnv",
    "destroy_process_group",
    "get_backend",
    "get_rank",
    "get_world_size",
    "init_parallel_env",
    "is_available",
    "is_initialized",
]


class ParallelEnv:
    """What the launcher said about this process.

    Examples:
        >>> env = proa.distributed.ParallelEnv()
        >>> env.rank, env.world_size
        (0, 1)
    """

    def __init__(self):
        self._rank = trainer_id()
        self._world_size = trainer_count()
        self._device_type = "cpu"
        selected = os.environ.get("FLAGS_selected_gpus", "0").split(",")[0]
        self._device_id = int(selected) if selected.isdigit() else 0
        endpoints = os.environ.get("PADDLE_TRAINER_ENDPOINTS", "")
        self._trainer_endpoints = endpoints.split(",") if endpoints else []
        self._current_endpoint = os.environ.get("PADDLE_CURRENT_ENDPOINT", "")
        self._nrings = 1

    @property
    def rank(self):
        """The number of this process, from 0."""
        return self._rank

    @property
    def world_size(self):
        """How many processes there are."""
        return self._world_size

    @property
    def device_id(self):
        """The device of this process."""
        return self._device_id

    @property
    def device_type(self):
        """The kind of device: cpu."""
        return self._device_type

    @property
    def current_endpoint(self):
        """Address and port of this process; empty without a launcher."""
        return self._current_endpoint

    @property
    def trainer_endpoints(self):
        """Addresses and ports of all processes; empty without a launcher."""
        return self._trainer_endpoints

    @property
    def nrings(self):
        """How many rings collectives use."""
        return self._nrings

    local_rank = rank
    nranks = world_size
    dev_id = device_id


def init_parallel_env():
    """Makes this process a member of the job that its launcher describes; returns when all processes are there.

    The process of rank 0 serves the store in which they meet, at the address that the environment names (PADDLE_MASTER,
    MASTER_ADDR and MASTER_PORT, or the first of PADDLE_TRAINER_ENDPOINTS). With PADDLE_MASTER=etcd://address:port/prefix
    they meet in an etcd server, below a prefix that no other job uses. `PROA_INIT_TIMEOUT` is how many seconds they
    wait for each other, 300 unless it is set. Processes with another PROA_JOB_SECRET are refused.

    Returns:
        Group: the group of all processes.

    Raises:
        RuntimeError: a process did not come or died, or the port is in use.

    Examples:
        >>> proa.distributed.init_parallel_env().nranks
        1
        >>> proa.distributed.destroy_process_group()
    """
    if groups.context().job is not None:
        return groups.resolve(None)
    mine = job()
    if mine.world_size > 1:
        groups.begin(mine.rank, mine.world_size, mine.master, etcd=mine.etcd)
    note_initialized(True)
    return groups.resolve(None)


def is_available():
    """Whether this package can train on several processes: it can.

    Examples:
        >>> proa.distributed.is_available()
        True
    """
    return True


def destroy_process_group(group=None):
    """Leaves the job, or ends one group.

    Examples:
        >>> _ = proa.distributed.init_parallel_env()
        >>> proa.distributed.destroy_process_group()
        >>> proa.distributed.is_initialized()
        False
    """
    if group is None or group.id == 0:
        groups.end()
        return
    groups.groups().pop(group.id, None)
    if group.carrier is not None:
        group.carrier = None
        groups.context().job.forget_group(group.id)


def get_backend(group=None):
    """What carries collectives, by the name that programs know: GLOO, which stands for CPUs, or that of a device (NCCL).

    Which of the backends of CPUs a group of several processes has is said by `group.carrier.backend`: "proa", unless
    `new_group(backend="gloo")` or `PADDLE_DISTRI_BACKEND=gloo` asked for the library.

    Examples:
        >>> proa.distributed.get_backend()
        'GLOO'
    """
    carrier = groups.resolve(group).carrier
    return "GLOO" if carrier is None or carrier.backend == "proa" else carrier.backend.upper()


def get_rank(group=None):
    """The number of this process in the job, or in `group` (-1 if it is not in it).

    Examples:
        >>> proa.distributed.get_rank()
        0
    """
    return groups.rank() if group is None else group.get_group_rank(groups.rank())


def get_world_size(group=None):
    """How many processes the job has, or `group`.

    Examples:
        >>> proa.distributed.get_world_size()
        1
    """
    return group.nranks if group is not None else groups.world_size()


class DataParallel(Layer):
    """A layer trained on several processes, each with a part of the data; with one process, the layer itself.

    When it is made, the parameters and buffers of all processes become those of the first. In backward gradients are
    averaged over the processes, in buckets that go while the rest is computed. A gradient that is row-sparse stays so.
    Parameters with `no_sync = True` stay each process's own, and so do experts of which each has others (MoELayer), whose
    gradients come from the tokens of all processes and are divided by their number.

    Args:
        layers (Layer): the layer; its parameters are those of the wrapper, and `state_dict` has its names.
        strategy (optional): what prepare_context gave.
        comm_buffer_size (float): MiB of a bucket.
        last_comm_buffer_size (float): MiB of the bucket that goes first: the last layers', whose gradients come first.
        find_unused_parameters (bool): some parameters may have no gradient in a step. Looking for them costs a walk
            through the graph in each forward.
        group (Group, optional): all processes unless given.
        compression (str, optional): "float16" or "bfloat16": float32 gradients go in 16 bits; they add up in float32.

    Raises:
        RuntimeError: the processes have different parameters, or (in the next forward) one had no gradient.

    Examples:
        >>> net = proa.DataParallel(proa.nn.Linear(2, 3))
        >>> net(proa.ones([4, 2])).shape, list(net.state_dict())
        ([4, 3], ['weight', 'bias'])
    """

    def __init__(
        self,
        layers,
        strategy=None,
        comm_buffer_size=25,
        last_comm_buffer_size=1,
        find_unused_parameters=False,
        group=None,
        compression=None,
    ):
        if not isinstance(layers, Layer):
            raise _C.located(TypeError(f"DataParallel: layers must be a Layer, not {type(layers).__name__}"))
        if strategy is not None and not hasattr(strategy, "nranks"):
            raise _C.located(
                TypeError(f"DataParallel: strategy must come from prepare_context, not {type(strategy).__name__}")
            )
        if compression not in (None, "float16", "bfloat16"):
            raise _C.located(ValueError(f"DataParallel: compression must be float16 or bfloat16, not {compression!r}"))
        if groups.context().job is None and trainer_count() > 1:
            raise _C.located(
                RuntimeError(
                    f"DataParallel: the job has {trainer_count()} processes, which are not connected; call "
                    "paddle.distributed.init_parallel_env() first"
                )
            )
        super().__init__(layers.full_name() + "_data_parallel")
        self._layers = layers
        self._strategy = strategy if strategy is not None else _Namespace(nranks=1, local_rank=0)
        self.find_unused_parameters = find_unused_parameters
        self.grad_need_sync = True
        self.comm_buffer_size = comm_buffer_size
        self.last_comm_buffer_size = last_comm_buffer_size
        self.group = group
        self.__dict__["_reducer"] = None
        mine = groups.resolve(group)
        if mine.nranks > 1:
            _make_equal(layers, mine)
            trained = [(n, p) for n, p in layers.named_parameters() if not p.stop_gradient and not differs(p, mine)]
            _scale_experts(layers, mine)
            if trained:
                self.__dict__["_reducer"] = Reducer(
                    trained, mine, comm_buffer_size, last_comm_buffer_size, find_unused_parameters, compression
                )

    def forward(self, *inputs, **kwargs):
        """That of the layer."""
        outputs = self._layers(*inputs, **kwargs)
        if self._reducer is not None and _C.is_grad_enabled():
            self._reducer.synchronizes = self.grad_need_sync
            self._reducer.prepare(outputs)
        return outputs

    @contextlib.contextmanager
    def no_sync(self):
        """Inside, gradients add up without being exchanged; the next backward outside exchanges the sums.

        Examples:
            >>> net = proa.DataParallel(proa.nn.Linear(2, 1))
            >>> with net.no_sync():
            ...     net(proa.ones([1, 2])).sum().backward()
        """
        before = self.grad_need_sync
        self.grad_need_sync = False
        if self._reducer is not None:
            self._reducer.synchronizes = False
        try:
            yield
        finally:
            self.grad_need_sync = before
            if self._reducer is not None:
                self._reducer.synchronizes = before

    def scale_loss(self, loss):
        """The loss itself; kept for programs that scaled it."""
        return loss

    def apply_collective_grads(self):
        """Nothing; kept for programs that asked for the exchange."""

    def state_dict(self, destination=None, include_sublayers=True, use_hook=True, structured_name_prefix=""):
        """That of the layer, with its names."""
        return self._layers.state_dict(destination, include_sublayers, use_hook, structured_name_prefix)

    def set_state_dict(self, state_dict, use_structured_name=True):
        """That of the layer, with its names."""
        return self._layers.set_state_dict(state_dict, use_structured_name)

    set_dict = set_state_dict
    load_dict = set_state_dict


def _make_equal(layers, group):
    """The parameters and buffers of the group's first process, on all; raises where they are not of the same kind."""
    tensors = list(layers.state_dict().items())
    for name, tensor in tensors:
        among = getattr(tensor, "expert_group", None)
        if among is not None and differs(tensor, group) and len(set(among.ranks) & set(group.ranks)) < group.nranks:
            raise _C.located(
                NotImplementedError(
                    f"DataParallel: processes {among.ranks} have {name} of each other, and others in {group.ranks} copies of "
                    "them; use fleet.distributed_model and fleet.distributed_optimizer"
                )
            )
    mine = [(name, tuple(t.shape), t.dtype.name) for name, t in tensors]
    found = []
    collective.all_gather_object(found, mine, group)
    for place, theirs in enumerate(found):
        if theirs == found[0]:
            continue
        pair = next(
            ((a, b) for a, b in zip([*found[0], None], [*theirs, None]) if a != b),
            (f"{len(found[0])}", f"{len(theirs)}"),
        )
        raise _C.located(
            RuntimeError(
                f"DataParallel: processes have different models: process {group.ranks[0]} has {pair[0]} where process "
                f"{group.ranks[place]} has {pair[1]}"
            )
        )
    grad = _C.is_grad_enabled()
    _C.set_grad_enabled(False)
    try:
        for _, tensor in tensors:
            if not differs(tensor, group):
                collective.broadcast(tensor, group.ranks[0], group)
    finally:
        _C.set_grad_enabled(grad)


def _scale_experts(layers, group):
    """Gradients of experts are of the mean over processes, as those of what all have."""
    for p in layers.parameters():
        if getattr(p, "expert_group", None) is not None and not p.stop_gradient and differs(p, group):
            p.register_hook(lambda grad: grad.scale(1.0 / group.nranks))


def sync_params_buffers(model, comm_group=None, src_rank=0, is_model_parallel=False):
    """The parameters and buffers of one process of a group, on all of it.

    Args:
        model (Layer): with the same parameters on all processes.
        comm_group (Group, optional): which; that of all processes unless given.
        src_rank (int): whose values, by its number in the job.
        is_model_parallel (bool): parameters that are divided between processes (`is_distributed`) stay as they are.
    """
    from proa.distributed.fleet.utils.hybrid_parallel_util import broadcast_parameters

    group = collective.get_group(0) if comm_group is None else comm_group
    broadcast_parameters(model, group, not is_model_parallel, src_rank)


# Under these names training loops of 2.x ask whether they are parallel.
parallel_helper = _Namespace(
    _is_parallel_ctx_initialized=is_initialized,
    _is_data_parallel_mode=lambda: is_initialized() and trainer_count() > 1,
)
