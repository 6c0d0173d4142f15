"""Fleet: the object behind the functions of `fleet`."""

from proa import _C
from proa.distributed.fleet.base.distributed_strategy import DistributedStrategy
from proa.distributed.fleet.base.role_maker import PaddleCloudRoleMaker
from proa.distributed.fleet.base.topology import CommunicateTopology, HybridCommunicateGroup
from proa.distributed.fleet.base.workers import Workers
from proa.distributed.groups import PerRank, world_size

__all__ = ["Fleet", "distributed_scaler", "fleet"]


class Fleet(Workers):
    """This worker of a job. `proa.distributed.fleet` has its methods as functions.

    Examples:
        >>> fleet = proa.distributed.fleet.Fleet()
        >>> fleet.init(is_collective=True)
        >>> fleet.worker_index(), fleet.worker_num(), fleet.is_first_worker()
        (0, 1, True)
    """

    _user_defined_strategy = PerRank()
    user_defined_optimizer = PerRank()
    _hcg = PerRank()

    def __init__(self):
        super().__init__()
        self._runtime_handle = None

    def init(self, role_maker=None, is_collective=False, strategy=None, log_level="INFO"):
        """Starts. Everything else of fleet comes after it.

        Args:
            role_maker (optional): PaddleCloudRoleMaker or UserDefinedRoleMaker; the environment unless given.
            is_collective (bool): workers only, no parameter servers.
            strategy (DistributedStrategy, optional): how to train.

        Raises:
            ValueError: `strategy.hybrid_configs` are not as many processes as the job has.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.worker_num()
            1
        """
        if isinstance(role_maker, bool):
            role_maker, is_collective = None, role_maker
        if role_maker is not None and not hasattr(role_maker, "_worker_num"):
            raise _C.located(TypeError(f"fleet.init: role_maker must be a role maker, not {type(role_maker).__name__}"))
        from proa.distributed import parallel

        if is_collective or world_size() > 1:
            parallel.init_parallel_env()
        self._role_maker = role_maker or PaddleCloudRoleMaker(is_collective=is_collective)
        self._set_strategy(strategy)

    def _set_strategy(self, strategy):
        if strategy is None:
            strategy = self._user_defined_strategy or DistributedStrategy()
        if not isinstance(strategy, DistributedStrategy):
            raise _C.located(TypeError(f"fleet: strategy must be a DistributedStrategy, not {type(strategy).__name__}"))
        names, dims = strategy.places(world_size())
        if self._hcg is None or (self._hcg.nranks, self._hcg.topology()._dims) != (world_size(), dims):
            self._hcg = HybridCommunicateGroup(CommunicateTopology(names, dims))
        self._user_defined_strategy = strategy

    def get_hybrid_communicate_group(self):
        """The groups of this worker, one for each way of being parallel.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.get_hybrid_communicate_group().get_data_parallel_world_size()
            1
        """
        self._started("get_hybrid_communicate_group")
        return self._hcg

    # Servers: there are none ------------------------------------------------

    def init_worker(self, scopes=None):
        """Connects to the parameter servers; there are none.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.init_worker()
        """

    def stop_worker(self):
        """Leaves the parameter servers; there are none.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.stop_worker()
        """

    def init_server(self, *args, **kwargs):
        """Makes this process a parameter server. Not in this version.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.init_server()
            Traceback (most recent call last):
                ...
            NotImplementedError: ...no parameter servers; train with the worker alone...
        """
        self._no_server("init_server")

    def run_server(self):
        """Serves parameters. Not in this version.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.run_server()
            Traceback (most recent call last):
                ...
            NotImplementedError: ...no parameter servers; train with the worker alone...
        """
        self._no_server("run_server")

    def _no_server(self, what):
        raise _C.located(
            NotImplementedError(f"fleet.{what}: this version has no parameter servers; train with the worker alone")
        )

    def shrink(self, threshold=None):
        """Drops rarely used rows of the tables of parameter servers; there are none.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.shrink()
        """

    def set_date(self, table_id, day_id):
        """Tells the tables of parameter servers the day; there are none.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> proa.distributed.fleet.set_date(0, "20260101")
        """

    # Training ----------------------------------------------------------------

    def distributed_model(self, model):
        """The layer as it is trained on all workers.

        By `strategy.hybrid_configs`: PipelineParallel for stages, TensorParallel, ShardingParallel or DataParallel;
        of one worker, the layer. Its parameters begin equal on all workers that share them.

        Args:
            model (Layer): the network; a PipelineLayer for stages.

        Raises:
            TypeError: for something else.
            NotImplementedError: a switch of the strategy that is not in this version.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> net = proa.nn.Linear(2, 1)
            >>> proa.distributed.fleet.distributed_model(net) is net
            True
        """
        from proa.distributed.fleet.base.model import distributed
        from proa.nn import Layer

        if not isinstance(model, Layer):
            raise _C.located(TypeError(f"distributed_model: model must be a Layer, not {type(model).__name__}"))
        self._started("distributed_model")
        return distributed(model, self._hcg, self._user_defined_strategy)

    def distributed_optimizer(self, optimizer, strategy=None):
        """The optimizer as it is used on all workers: of one worker, the optimizer; in static mode with `strategy.amp` what
        `static.amp.decorate` gives.

        In static mode its minimize appends to the program what the strategy says: mean of gradients over the workers,
        `gradient_merge`, `localsgd`, `sharding`, `dgc`, `fp16_allreduce`, the rules of `lamb` and `lars`. All workers build the same program;
        parameters become those of the first worker, then and after each run of the startup program.

        Args:
            optimizer (Optimizer): what it is for.
            strategy (DistributedStrategy, optional): goes before that of `init`.

        Raises:
            NotImplementedError: a switch of the strategy that is not in this version.

        Examples:
            >>> proa.distributed.fleet.init(is_collective=True)
            >>> sgd = proa.optimizer.SGD(0.1, parameters=proa.nn.Linear(2, 1).parameters())
            >>> proa.distributed.fleet.distributed_optimizer(sgd).get_lr()
            0.1
        """
        from proa.optimizer.optimizer import Optimizer

        optimizer, keeps_zeros = _without_asp(optimizer)
        decorated = isinstance(getattr(optimizer, "_optimizer", None), Optimizer)  # by static.amp
        if not decorated and not isinstance(optimizer, Optimizer):
            raise _C.located(
                TypeError(f"distributed_optimizer: optimizer must be an Optimizer, not {type(optimizer).__name__}")
            )
        if strategy is not None:
            self._set_strategy(strategy)
        chosen = self._user_defined_strategy or DistributedStrategy()
        make = self._of_program if _C.in_static_mode() else self._of_layers
        optimizer = make(optimizer, chosen, decorated)
        if keeps_zeros or chosen.asp:
            from proa.incubate import asp

            optimizer = asp.decorate(optimizer)
        self.user_defined_optimizer = optimizer
        return optimizer

    def _of_program(self, optimizer, chosen, decorated):
        """The optimizer of a program."""
        chosen.check_static(world_size())
        from proa.distributed.fleet.meta_optimizers.program_optimizer import ProgramOptimizer, by_rule

        optimizer = by_rule(optimizer, chosen)
        if chosen.pipeline and world_size() > 1:
            from proa.distributed.fleet.meta_optimizers.pipeline_program import PipelineProgramOptimizer

            self._started("distributed_optimizer")
            return PipelineProgramOptimizer(optimizer if decorated else chosen.mixed(optimizer), chosen)
        optimizer = optimizer if decorated else chosen.mixed(optimizer)
        if world_size() > 1 or chosen.gradient_merge or chosen.recompute:
            from proa.distributed.fleet.meta_optimizers.semi_auto import DividedByMarks

            self._started("distributed_optimizer")
            kind = DividedByMarks if chosen.semi_auto and world_size() > 1 else ProgramOptimizer
            optimizer = kind(optimizer, chosen, world_size(), self._hcg)
        return optimizer

    def _of_layers(self, optimizer, chosen, decorated):
        """The optimizer of a model that is trained eagerly."""
        if world_size() == 1:
            return optimizer
        from proa.distributed.fleet.meta_optimizers.dygraph_optimizer import HybridParallelOptimizer

        chosen.check_dynamic()
        self._started("distributed_optimizer")
        return HybridParallelOptimizer(optimizer, self._hcg, chosen)

    def _optimizer(self, what):
        if self.user_defined_optimizer is None:
            raise _C.located(RuntimeError(f"fleet.{what}: call fleet.distributed_optimizer first"))
        return self.user_defined_optimizer

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """That of the distributed optimizer.

        Examples:
            >>> fleet = proa.distributed.fleet
            >>> fleet.init(is_collective=True)
            >>> net = proa.nn.Linear(2, 1, weight_attr=proa.nn.initializer.Constant(1.0))
            >>> optimizer = fleet.distributed_optimizer(proa.optimizer.SGD(0.5, parameters=net.parameters()))
            >>> loss = net(proa.ones([1, 2])).sum()
            >>> loss.backward()
            >>> _ = fleet.minimize(loss)
            >>> net.weight.tolist()
            [[0.5], [0.5]]
        """
        return self._optimizer("minimize").minimize(loss, startup_program, parameter_list, no_grad_set)

    def step(self):
        """That of the distributed optimizer.

        Examples:
            >>> fleet = proa.distributed.fleet
            >>> fleet.init(is_collective=True)
            >>> net = proa.nn.Linear(2, 1, weight_attr=proa.nn.initializer.Constant(1.0))
            >>> optimizer = fleet.distributed_optimizer(proa.optimizer.SGD(0.5, parameters=net.parameters()))
            >>> net(proa.ones([1, 2])).sum().backward()
            >>> fleet.step()
            >>> net.weight.tolist()
            [[0.5], [0.5]]
        """
        self._optimizer("step").step()

    def clear_grad(self):
        """That of the distributed optimizer.

        Examples:
            >>> fleet = proa.distributed.fleet
            >>> fleet.init(is_collective=True)
            >>> net = proa.nn.Linear(2, 1)
            >>> optimizer = fleet.distributed_optimizer(proa.optimizer.SGD(0.5, parameters=net.parameters()))
            >>> net(proa.ones([1, 2])).sum().backward()
            >>> fleet.clear_grad()
            >>> net.weight.grad.tolist()
            [[0.0], [0.0]]
        """
        self._optimizer("clear_grad").clear_grad()

    def state_dict(self):
        """That of the distributed optimizer.

        Examples:
            >>> fleet = proa.distributed.fleet
            >>> fleet.init(is_collective=True)
            >>> net = proa.nn.Linear(2, 1)
            >>> optimizer = fleet.distributed_optimizer(proa.optimizer.Momentum(0.1, parameters=net.parameters()))
            >>> net(proa.ones([1, 2])).sum().backward()
            >>> fleet.step()
            >>> sorted(tensor.shape for tensor in fleet.state_dict().values() if isinstance(tensor, proa.Tensor))
            [[1], [2, 1]]
        """
        return self._optimizer("state_dict").state_dict()

    def set_state_dict(self, state_dict):
        """That of the distributed optimizer.

        Examples:
            >>> fleet = proa.distributed.fleet
            >>> fleet.init(is_collective=True)
            >>> net = proa.nn.Linear(2, 1)
            >>> optimizer = fleet.distributed_optimizer(proa.optimizer.Adam(0.1, parameters=net.parameters()))
            >>> fleet.set_state_dict(fleet.state_dict())
        """
        return self._optimizer("set_state_dict").set_state_dict(state_dict)

    def get_lr(self):
        """That of the distributed optimizer.

        Examples:
            >>> fleet = proa.distributed.fleet
            >>> fleet.init(is_collective=True)
            >>> sgd = proa.optimizer.SGD(0.1, parameters=proa.nn.Linear(2, 1).parameters())
            >>> _ = fleet.distributed_optimizer(sgd)
            >>> fleet.get_lr()
            0.1
        """
        return self._optimizer("get_lr").get_lr()

    def set_lr(self, value):
        """That of the distributed optimizer.

        Examples:
            >>> fleet = proa.distributed.fleet
            >>> fleet.init(is_collective=True)
            >>> sgd = proa.optimizer.SGD(0.1, parameters=proa.nn.Linear(2, 1).parameters())
            >>> _ = fleet.distributed_optimizer(sgd)
            >>> fleet.set_lr(0.01)
            >>> sgd.get_lr()
            0.01
        """
        return self._optimizer("set_lr").set_lr(value)

    # Files ----------------------------------------------------------------------

    def save_persistables(self, executor, dirname, main_program=None, mode=0):
        """Writes the tensors of a static program that keep their values into a folder, those that workers divide as wholes.

        Where workers divide them (stages, `strategy.sharding`) all call it; each that does writes (`paddle.distributed.io`: the
        first one alone).

        Examples:
            >>> import os, tempfile
            >>> fleet, static = proa.distributed.fleet, proa.static
            >>> fleet.init(is_collective=True)
            >>> folder, main = tempfile.TemporaryDirectory(), static.Program()
            >>> with static.program_guard(main):
            ...     y = static.nn.fc(static.data("x", [None, 2]), 3, weight_attr=proa.ParamAttr(name="weight_to_save"))
            >>> fleet.save_persistables(static.Executor(), folder.name, main)
            >>> "weight_to_save" in os.listdir(folder.name)
            True
            >>> folder.cleanup()
        """
        from proa.distributed import io
        from proa.fluid.io import write

        write(io.whole_values("save_persistables", main_program), dirname)

    def save_inference_model(
        self, executor, dirname, feeded_var_names, target_vars, main_program=None, export_for_deployment=True, mode=0
    ):
        """Writes the part of a static program that `target_vars` need into a folder.

        Examples:
            >>> import os, tempfile
            >>> fleet, static = proa.distributed.fleet, proa.static
            >>> fleet.init(is_collective=True)
            >>> folder, main = tempfile.TemporaryDirectory(), static.Program()
            >>> with static.program_guard(main):
            ...     y = static.nn.fc(static.data("x", [None, 2]), 3)
            >>> fleet.save_inference_model(static.Executor(), folder.name, ["x"], [y], main)
            >>> sorted(os.listdir(folder.name))
            ['__model__.pdiparams', '__model__.pdmodel']
            >>> folder.cleanup()
        """
        from proa.distributed.io import collect
        from proa.fluid import io

        collect(main_program)
        io.save_inference_model(dirname, feeded_var_names, target_vars, executor, main_program)

    def load_model(self, path, mode=0):
        """Reads the tables of parameter servers. Not in this version.

        Examples:
            >>> proa.distributed.fleet.load_model("/tables")
            Traceback (most recent call last):
                ...
            NotImplementedError: ...no parameter servers; train with the worker alone...
        """
        self._no_server("load_model")

    load_inference_model = save_dense_params = save_cache_model = load_model


def _without_asp(optimizer):
    """(the optimizer, whether asp.decorate was asked to keep the zeros of its parameters)"""
    itself = getattr(optimizer, "keeps_zeros_of", None)
    return (optimizer, False) if itself is None else (itself, True)


def distributed_scaler(scaler):
    """The GradScaler as it is used on all workers: a step is skipped on all of them when one has an infinite gradient.

    Of one worker, the scaler.

    Examples:
        >>> scaler = proa.amp.GradScaler(init_loss_scaling=1024.0)
        >>> proa.distributed.fleet.distributed_scaler(scaler) is scaler
        True
    """
    if world_size() > 1:
        from proa.distributed.fleet.meta_optimizers.dygraph_optimizer import watch_all_ranks

        # All: gradients of data-parallel workers are averaged later, in the step that all must take or leave out.
        watch_all_ranks(scaler)
    return scaler


fleet = Fleet()
