"""Settings of compiled programs and executors, kept for programs that choose them.

One executor runs every program, and its passes decide by themselves; the settings are checked and remembered.
"""

from proa import _C

__all__ = ["BuildStrategy", "ExecutionStrategy", "ParallelExecutor", "IpuStrategy"]


class _Settings:
    """Attributes with defaults; others are refused, and values of other kinds."""

    _DEFAULTS: dict = {}

    def __init__(self):
        self.__dict__.update(self._DEFAULTS)

    def __setattr__(self, name, value):
        if name not in self._DEFAULTS:
            raise _C.located(AttributeError(f"{type(self).__name__} has no setting {name!r}"))
        kind = type(self._DEFAULTS[name])
        if kind in (bool, int) and not isinstance(value, (bool, int)) and value is not None:
            raise _C.located(
                TypeError(f"{type(self).__name__}: {name} must be {kind.__name__}, not {type(value).__name__}")
            )
        self.__dict__[name] = value

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"


class BuildStrategy(_Settings):
    """How a program was compiled: which operations to fuse, how to combine gradients.

    Examples:
        >>> strategy = proa.static.BuildStrategy()
        >>> strategy.enable_inplace = True
    """

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

    _DEFAULTS = {
        "allow_cuda_graph_capture": False, "build_cinn_pass": False, "cache_runtime_context": False,
        "debug_graphviz_path": "", "enable_addto": False, "enable_auto_fusion": False,
        "enable_backward_optimizer_op_deps": True, "enable_inplace": True, "enable_parallel_graph": False,
        "enable_sequential_execution": False, "fix_op_run_order": False, "fuse_adamw": False,
        "fuse_all_optimizer_ops": False, "fuse_all_reduce_ops": False, "fuse_bn_act_ops": False,
        "fuse_bn_add_act_ops": True, "fuse_broadcast_ops": False, "fuse_dot_product_attention": False,
        "fuse_elewise_add_act_ops": False, "fuse_gemm_epilogue": False, "fuse_relu_depthwise_conv": False,
        "fuse_resunit": False, "fused_attention": False, "fused_feedforward": False, "gradient_scale_strategy": 0,
        "hierarchical_allreduce_inter_nranks": 0, "memory_optimize": None, "mkldnn_enabled_op_types": (),
        "num_trainers": 1, "nccl_comm_num": 1, "reduce_strategy": 0, "remove_unnecessary_lock": True,
        "sequential_run": False, "sync_batch_norm": False, "trainer_id": 0, "trainers_endpoints": (),
        "use_hierarchical_allreduce": False, "async_mode": False, "is_distribution": False,
    }  # fmt: skip


class ExecutionStrategy(_Settings):
    """How an executor ran: threads, and when it freed memory.

    Examples:
        >>> strategy = proa.static.ExecutionStrategy()
        >>> strategy.num_threads = 4
    """

    _DEFAULTS = {
        "allow_op_delay": False, "num_iteration_per_drop_scope": 100, "num_iteration_per_run": 1, "num_threads": 0,
        "use_cuda": False, "use_experimental_executor": False, "use_thread_barrier": False, "dry_run": False,
        "use_device": 0,
    }  # fmt: skip


class IpuStrategy:
    """Settings of a device that this package does not run on."""

    def __init__(self):
        raise _C.located(NotImplementedError("IpuStrategy: this package runs on CPUs; there is no IPU"))


class ParallelExecutor:
    """Runs a program on all devices of a kind; here, one.

    Args:
        use_cuda (bool): must be False.
        loss_name, build_strategy, exec_strategy, num_trainers, trainer_id: accepted.
        main_program (Program, optional): the default main program unless given.
    """

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
        from proa.static.executor import Executor
        from proa.static.program import default_main_program

        if use_cuda:
            raise _C.located(ValueError("ParallelExecutor: this package runs on CPUs; give use_cuda=False"))
        self._program = default_main_program() if main_program is None else main_program
        self._executor = Executor()

    def run(self, fetch_list, feed=None, feed_dict=None, return_numpy=True):
        """`Executor.run` of the program."""
        feed = feed if feed is not None else feed_dict
        return self._executor.run(self._program, feed=feed, fetch_list=fetch_list, return_numpy=return_numpy)

    def drop_local_exe_scopes(self):
        """Nothing is kept between runs."""

    device_count = 1
