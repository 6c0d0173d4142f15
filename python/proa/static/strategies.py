"""Settings of compiled programs and executors, kept for programs that choose them.

One executor runs every program, and its passes decide by themselves. What a setting means here stands with it: most are
checked and remembered, some do what they say.
"""

from proa import _C

__all__ = ["BuildStrategy", "ExecutionStrategy", "ParallelExecutor"]

_HERE = "Remembered: the passes of the executor decide by themselves."
_ONE = "Remembered: this version runs a program on one device."


class Setting:
    """An attribute of a strategy: values of the kind of its default, and what it does.

    Args:
        default: its first value, whose kind values must have; None for bool or None.
        doc (str): what it means here.
        choices (tuple, optional): the values that there are.
    """

    def __init__(self, default, doc, choices=None):
        self.default, self.__doc__, self.choices = default, doc, choices

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return self if instance is None else instance.__dict__.get(self.name, self.default)

    def __set__(self, instance, value):
        where = f"{type(instance).__name__}.{self.name}"
        kinds = {bool: (bool, int), int: (bool, int), type(None): (bool, int, type(None)), str: (str,)}
        kind = type(self.default)
        if not isinstance(value, kinds.get(kind, (list, tuple, set, frozenset))):
            wanted = {bool: "a bool", int: "an int", type(None): "a bool or None", str: "a str"}.get(
                kind, "a list or set"
            )
            raise _C.located(TypeError(f"{where}: must be {wanted}, not {type(value).__name__}"))
        if self.choices is not None and value not in self.choices:
            raise _C.located(ValueError(f"{where}: must be one of {', '.join(map(str, self.choices))}, not {value!r}"))
        instance.__dict__[self.name] = value


class _Settings:
    """Attributes that are settings; others are refused."""

    def __setattr__(self, name, value):
        if not isinstance(getattr(type(self), name, None), Setting):
            raise _C.located(AttributeError(f"{type(self).__name__} has no setting {name!r}"))
        super().__setattr__(name, value)

    def __repr__(self):
        names = [name for name, kind in vars(type(self)).items() if isinstance(kind, Setting)]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


class BuildStrategy(_Settings):
    """How a program is compiled: which operations to fuse, how to combine gradients.

    Every name that programs set is there and checks its values. What the executor's passes do is decided by them; a
    setting that asks for less or for more of it changes no result.

    Examples:
        >>> strategy = proa.static.BuildStrategy()
        >>> strategy.enable_inplace = True
        >>> strategy.reduce_strategy = proa.static.BuildStrategy.ReduceStrategy.Reduce
        >>> strategy.no_such_setting = True
        Traceback (most recent call last):
        AttributeError: BuildStrategy has no setting 'no_such_setting'...
    """

    def _finalize_strategy_and_create_passes(self):
        """The passes that run over a program that is compiled with this, a PassBuilder; the same one each time. At first they
        are those of the executor.

        Examples:
            >>> strategy = proa.static.BuildStrategy()
            >>> strategy._finalize_strategy_and_create_passes().all_passes()[0].type()
            'identities'
        """
        from proa.static.chosen_passes import PassBuilder

        return self.__dict__.setdefault("passes of the program", PassBuilder())

    class ReduceStrategy:
        """How gradients of several devices are combined."""

        AllReduce = 0
        Reduce = 1
        _NoReduce = 2

    class GradientScaleStrategy:
        """What the gradient of the loss starts from."""

        CoeffNumDevice = 0
        One = 1
        Customized = 2

    debug_graphviz_path = Setting("", "A file: the program as a graph (DOT) is written there when it is compiled.")
    reduce_strategy = Setting(0, _ONE, (0, 1, 2))
    gradient_scale_strategy = Setting(
        0,
        "CoeffNumDevice and One are the same on one device; Customized: pass your own gradient to `gradients`.",
        (0, 1, 2),
    )
    memory_optimize = Setting(None, "Remembered: values are given back after their last use, always.")
    enable_inplace = Setting(True, "Remembered: the passes decide where a result takes its operand's memory.")
    enable_sequential_execution = Setting(False, "Remembered: operations run in the order of the program, always.")
    remove_unnecessary_lock = Setting(True, "Remembered: a run takes no locks.")
    sync_batch_norm = Setting(False, _ONE)
    enable_auto_fusion = Setting(False, _HERE)
    fuse_all_optimizer_ops = Setting(False, "Remembered: an optimizer is one operation for all parameters, always.")
    fuse_bn_act_ops = Setting(False, _HERE)
    fuse_bn_add_act_ops = Setting(True, _HERE)
    fuse_elewise_add_act_ops = Setting(False, _HERE)
    fuse_relu_depthwise_conv = Setting(False, _HERE)
    fuse_broadcast_ops = Setting(False, _ONE)
    fuse_all_reduce_ops = Setting(False, _ONE)
    fuse_adamw = Setting(False, _HERE)
    fuse_dot_product_attention = Setting(False, _HERE)
    fuse_gemm_epilogue = Setting(False, _HERE)
    fuse_resunit = Setting(False, _HERE)
    fused_attention = Setting(False, _HERE)
    fused_feedforward = Setting(False, _HERE)
    build_cinn_pass = Setting(False, _HERE)
    allow_cuda_graph_capture = Setting(False, _HERE)
    cache_runtime_context = Setting(False, "Remembered: a plan is kept with its program, always.")
    enable_addto = Setting(False, _HERE)
    enable_backward_optimizer_op_deps = Setting(True, _HERE)
    enable_parallel_graph = Setting(False, _ONE)
    fix_op_run_order = Setting(False, "Remembered: operations run in the order of the program, always.")
    sequential_run = Setting(False, "Remembered: operations run in the order of the program, always.")
    mkldnn_enabled_op_types = Setting((), "Remembered: oneDNN is used where it serves.")
    hierarchical_allreduce_inter_nranks = Setting(0, _ONE)
    use_hierarchical_allreduce = Setting(False, _ONE)
    num_trainers = Setting(1, _ONE)
    nccl_comm_num = Setting(1, _ONE)
    trainer_id = Setting(0, _ONE)
    trainers_endpoints = Setting((), _ONE)
    async_mode = Setting(False, _ONE)
    is_distribution = Setting(False, _ONE)


class ExecutionStrategy(_Settings):
    """How an executor runs: threads, and when it frees memory.

    Examples:
        >>> strategy = proa.static.ExecutionStrategy()
        >>> strategy.num_threads = 4
    """

    num_threads = Setting(0, "Remembered: OMP_NUM_THREADS says it, for all of the process.")
    num_iteration_per_drop_scope = Setting(100, "Remembered: values are given back after their last use, always.")
    num_iteration_per_run = Setting(
        1, "How often a CompiledProgram runs in each `Executor.run`; the last run is fetched."
    )
    use_thread_barrier = Setting(False, _ONE)
    allow_op_delay = Setting(False, _HERE)
    use_cuda = Setting(False, _ONE)
    use_device = Setting(0, _ONE)
    use_experimental_executor = Setting(False, "Remembered: there is one executor.")
    dry_run = Setting(False, "Remembered.")


class ParallelExecutor:
    """Runs a program on all devices of a kind; here, one.

    Args:
        use_cuda (bool): must be False.
        loss_name, num_trainers, trainer_id: accepted.
        main_program (Program, optional): the default main program unless given.
        share_vars_from (ParallelExecutor, optional): accepted; parameters are those of the scope.
        exec_strategy (ExecutionStrategy, optional): see there.
        build_strategy (BuildStrategy, optional): see there.
        scope (Scope, optional): whose parameters it uses and changes.

    Examples:
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     y = proa.static.data("x", [None]) + 1.0
        >>> proa.static.ParallelExecutor(False, main_program=main).run([y], feed={"x": np.zeros([1], "float32")})[0].tolist()
        [1.0]
    """

    device_count = 1

    def __init__(
        self,
        use_cuda=False,
        loss_name=None,
        main_program=None,
        share_vars_from=None,
        exec_strategy=None,
        build_strategy=None,
        num_trainers=1,
        trainer_id=0,
        scope=None,
    ):
        from proa.static.executor import CompiledProgram, Executor
        from proa.static.program import default_main_program

        if use_cuda:
            raise _C.located(ValueError("ParallelExecutor: this package runs on CPUs; give use_cuda=False"))
        if share_vars_from is not None and not isinstance(share_vars_from, ParallelExecutor):
            raise _C.located(
                TypeError(
                    f"ParallelExecutor: share_vars_from must be a ParallelExecutor, not {type(share_vars_from).__name__}"
                )
            )
        program = default_main_program() if main_program is None else main_program
        self._program = CompiledProgram(program, build_strategy).with_data_parallel(loss_name, None, exec_strategy)
        self._executor = Executor()
        self._scope = scope

    def run(self, fetch_list, feed=None, feed_dict=None, return_numpy=True):
        """`Executor.run` of the program. A list of feeds must hold one: that of the one device.

        Raises:
            ValueError: `feed` is a list of several.
        """
        feed = feed if feed is not None else feed_dict
        if isinstance(feed, (list, tuple)):
            if len(feed) != 1:
                raise _C.located(
                    ValueError(f"ParallelExecutor.run: feed holds {len(feed)} dicts, one for each device; there is one")
                )
            feed = feed[0]
        return self._executor.run(
            self._program, feed=feed, fetch_list=fetch_list, scope=self._scope, return_numpy=return_numpy
        )

    def drop_local_exe_scopes(self):
        """Nothing is kept between runs."""
