"""DistributedStrategy: how a job trains, as switches and dicts of settings."""

import copy
import json
import warnings

from proa import _C

__all__ = ["DistributedStrategy"]

_SWITCHES = {
    "adam_d2sum": False, "adaptive_localsgd": False, "amp": False, "asp": False, "auto": False, "auto_search": False,
    "a_sync": True, "calc_comm_same_stream": False, "conv_workspace_size_limit": 512,
    "cudnn_batchnorm_spatial_persistent": False, "cudnn_exhaustive_search": False, "dgc": False, "elastic": False,
    "find_unused_parameters": False, "fp16_allreduce": False, "fs_client_param": "", "fuse_all_reduce_ops": True,
    "fuse_grad_merge": False, "fuse_grad_size_in_MB": 32, "fuse_grad_size_in_num": 8, "gradient_merge": False,
    "heter_ccl_mode": False, "hierarchical_allreduce_inter_nranks": 1, "is_fl_ps_mode": False, "lamb": False,
    "lars": False, "last_comm_group_size_MB": 1.0, "localsgd": False, "nccl_comm_num": 1, "pipeline": False,
    "qat": False, "recompute": False, "semi_auto": False, "sharding": False, "split_data": True,
    "sync_batch_norm": False, "sync_nccl_allreduce": True, "tensor_parallel": False,
    "use_hierarchical_allreduce": False, "without_graph_optimization": True,
}  # fmt: skip

_CONFIGS: dict[str, dict] = {
    "a_sync_configs": {
        "k_steps": -1, "max_merge_var_num": 1, "send_queue_size": 16, "independent_recv_thread": False,
        "min_send_grad_num_before_recv": 1, "thread_pool_size": 1, "send_wait_times": 1,
        "runtime_split_send_recv": False, "launch_barrier": True, "heter_worker_device_guard": "cpu",
        "lr_decay_steps": 10, "use_ps_gpu": 0,
    },
    "adaptive_localsgd_configs": {"init_k_steps": 1, "begin_step": 1},
    "amp_configs": {
        "init_loss_scaling": 32768.0, "incr_every_n_steps": 1000, "decr_every_n_nan_or_inf": 2, "incr_ratio": 2.0,
        "decr_ratio": 0.8, "use_dynamic_loss_scaling": True, "custom_white_list": [], "custom_black_list": [],
        "custom_black_varnames": [], "use_pure_fp16": False, "use_fp16_guard": True, "use_pure_bf16": False,
    },
    "dgc_configs": {"rampup_begin_step": 0, "rampup_step": 1, "sparsity": []},
    "fleet_desc_configs": {},
    "gradient_merge_configs": {"k_steps": 1, "avg": True},
    "gradient_scale_configs": {"scale_strategy": "avg", "scale_gradient": False},
    "hybrid_configs": {
        "dp_degree": -1, "mp_degree": 1, "pp_degree": 1, "sharding_degree": 1, "sep_degree": 1, "ep_degree": 1,
        "mp_configs": {}, "pp_configs": {}, "sharding_configs": {}, "order": ["dp", "pp", "sharding", "sep", "mp"],
    },
    "lamb_configs": {"lamb_weight_decay": 0.01, "exclude_from_weight_decay": []},
    "lars_configs": {
        "lars_coeff": 0.001, "lars_weight_decay": 0.0005, "epsilon": 0.0, "exclude_from_weight_decay": [],
    },
    "localsgd_configs": {"k_steps": 1, "begin_step": 1},
    "pipeline_configs": {
        "micro_batch_size": 1, "accumulate_steps": 1, "schedule_mode": "1F1B", "p2p_cache_shape": True,
        "enable_partial_send_recv": True,
    },
    "qat_configs": {
        "channel_wise_abs_max": True, "weight_bits": 8, "activation_bits": 8, "not_quant_pattern": [], "algo": "",
    },
    "recompute_configs": {"checkpoints": [], "enable_offload": False, "checkpoint_shape": []},
    "sharding_configs": {
        "sharding_segment_strategy": "segment_broadcast_MB", "segment_broadcast_MB": 32.0, "segment_anchors": [],
        "sharding_degree": 8, "mp_degree": 1, "dp_degree": 1, "hybrid_dp": False, "gradient_merge_acc_step": 1,
        "optimize_offload": False, "pp_allreduce_in_optimize": False, "pp_degree": 1, "optimize_cast": False,
        "stage": 1,
    },
    "sparse_table_configs": {},
    "tensor_parallel_configs": {"tensor_parallel_degree": 1, "tensor_init_seed": -1},
    "trainer_desc_configs": {
        "dump_fields_path": "", "dump_fields": [], "dump_param": [], "stat_var_names": [], "trainer": "",
        "device_worker": "", "local_sparse": [], "remote_sparse": [],
    },
}  # fmt: skip

# What nobody follows in a job of several workers, and what to do instead.
_NOT_YET = {
    "qat": "train with paddle.nn.quant or paddle.fluid.contrib.slim and convert the result",
    "auto": "name the degrees in hybrid_configs",
    "auto_search": "name the degrees in hybrid_configs",
    "heter_ccl_mode": "leave it off: all workers compute on devices of one kind",
    "is_fl_ps_mode": "leave it off: there are no parameter servers",
}

# What a static program does not do besides: of two switches that each change the step.
_NOT_BESIDE = {
    "pipeline": ("localsgd", "adaptive_localsgd", "dgc", "asp", "sync_batch_norm"),
    "sharding": ("localsgd", "adaptive_localsgd", "dgc", "lamb", "lars"),
    "dgc": ("amp", "localsgd", "adaptive_localsgd", "lamb", "lars"),
    "localsgd": ("adaptive_localsgd",),
    "tensor_parallel": (
        "pipeline",
        "sharding",
        "localsgd",
        "adaptive_localsgd",
        "dgc",
        "semi_auto",
        "sync_batch_norm",
        "lamb",
        "lars",
    ),
    "semi_auto": (
        "pipeline",
        "amp",
        "recompute",
        "localsgd",
        "adaptive_localsgd",
        "sharding",
        "dgc",
        "asp",
        "sync_batch_norm",
    ),
}

# Settings of sharding that programs do not follow, and why or what to do instead.
_NOT_SHARDED = {
    "optimize_offload": (
        False,
        "states lie in the memory of the host already; files that are mapped: group_sharded_parallel(offload=folder)",
    ),
    "mp_degree": (1, "leave it out, or train eagerly with hybrid_configs['mp_degree']"),
    "pp_degree": (1, "leave it out, or train eagerly with hybrid_configs['pp_degree']"),
}

# Those that change nothing in them, and why.
_SHARDED_WITHOUT_EFFECT = {
    "pp_allreduce_in_optimize": "it is about a pipeline beside it",
    "segment_anchors": "exchanges end by bytes: segment_broadcast_MB",
    "sharding_segment_strategy": "exchanges end by bytes: segment_broadcast_MB",
}

# What has no counterpart while a model is trained eagerly on several workers, and what to do instead.
_NOT_DYNAMIC = {
    **_NOT_YET,
    "semi_auto": "it is about programs; name the degrees in hybrid_configs",
    "lars": "give the optimizer that you mean (paddle.fluid.optimizer.LarsMomentum)",
    "lamb": "use paddle.optimizer.Lamb",
    "gradient_merge": "call step and clear_grad every k-th batch, with the loss divided by k; or pipeline_configs"
    "['accumulate_steps']",
    "dgc": "use fp16_allreduce to exchange half of the bytes",
    "localsgd": "average the parameters with paddle.distributed.all_reduce when you want them equal",
    "adaptive_localsgd": "average the parameters with paddle.distributed.all_reduce when you want them equal",
}

# Switches that change no numbers here, and why there is nothing to switch.
WITHOUT_EFFECT = {
    "a_sync": "it is about parameter servers",
    "adam_d2sum": "it is about parameter servers",
    "calc_comm_same_stream": "it is about streams of GPUs",
    "conv_workspace_size_limit": "it is about cuDNN",
    "cudnn_batchnorm_spatial_persistent": "it is about cuDNN",
    "cudnn_exhaustive_search": "it is about cuDNN",
    "elastic": "the launcher is told: --nnodes 2:4, --max_restart",
    "fs_client_param": "it is about parameter servers",
    "fuse_grad_merge": "sums of gradients are ops of the program, which its passes fuse",
    "fuse_grad_size_in_num": "buckets are made by bytes: fuse_grad_size_in_MB",
    "hierarchical_allreduce_inter_nranks": "ranks of one machine exchange in the memory that they share",
    "nccl_comm_num": "it is about NCCL",
    "split_data": "a feed is what this worker is given",
    "sync_nccl_allreduce": "it is about NCCL",
    "use_hierarchical_allreduce": "ranks of one machine exchange in the memory that they share",
    "without_graph_optimization": "passes change no numbers",
}

# The order in which hybrid_configs names ways, and what a topology calls them.
_WAYS = {"dp": "data", "pp": "pipe", "sharding": "sharding", "sep": "sep", "mp": "model"}


class _Setting:
    """A switch or dict of settings as an attribute: what it is unless set, and what may be set."""

    def __init__(self, name, default):
        self.name, self.default = name, default
        self.__doc__ = f"A {type(default).__name__}; {default!r} unless set."

    def __get__(self, strategy, kind=None):
        return self if strategy is None else strategy.__dict__[self.name]

    def __set__(self, strategy, value):
        strategy.__dict__[self.name] = self.checked(value)

    def checked(self, value):
        """The value as it is kept, or an error."""
        kind = type(self.default)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise _C.located(
                TypeError(f"DistributedStrategy: {self.name} must be a {kind.__name__}, not {type(value).__name__}")
            )
        return value


class _Configs(_Setting):
    """A dict whose keys are known: setting it changes those that are given."""

    def __set__(self, strategy, value):
        if not isinstance(value, dict):
            raise _C.located(TypeError(f"DistributedStrategy: {self.name} must be a dict, not {type(value).__name__}"))
        wrong = [key for key in value if self.default and key not in self.default]
        if wrong:
            raise _C.located(
                ValueError(f"DistributedStrategy: {self.name} has no {wrong[0]!r}; it has {', '.join(self.default)}")
            )
        strategy.__dict__[self.name].update(value)


class _Compilation(_Setting):
    """Settings of the static executor that came with the reference."""

    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self.__doc__ = f"A proa.static.{kind}."

    def checked(self, value):
        from proa import static

        if not isinstance(value, getattr(static, self.kind)):
            raise _C.located(
                TypeError(f"DistributedStrategy: {self.name} must be a {self.kind}, not {type(value).__name__}")
            )
        return value


class DistributedStrategy:
    """Switches (`strategy.amp = True`) and their settings (`strategy.amp_configs = {...}`).

    With one worker, what is about exchange between workers has no effect.

    Raises (when an attribute is set):
        TypeError: for a name that is none, or a value of another type.
        ValueError: for a setting that the dict does not have.

    Examples:
        >>> strategy = proa.distributed.fleet.DistributedStrategy()
        >>> strategy.amp = True
        >>> strategy.amp_configs = {"init_loss_scaling": 1024.0}
        >>> strategy.amp_configs["init_loss_scaling"], strategy.amp_configs["incr_ratio"]
        (1024.0, 2.0)
    """

    def __init__(self):
        from proa.static import strategies

        attributes = self.__dict__
        attributes.update(_SWITCHES)
        attributes.update(copy.deepcopy(_CONFIGS))
        attributes["build_strategy"] = strategies.BuildStrategy()
        attributes["execution_strategy"] = strategies.ExecutionStrategy()

    def __setattr__(self, name, value):
        if not isinstance(getattr(type(self), name, None), _Setting):
            raise _C.located(TypeError(f"DistributedStrategy: there is no {name!r}"))
        object.__setattr__(self, name, value)

    def mixed(self, optimizer):
        """The optimizer of a static program: by `amp` and `amp_configs` one that trains it in mixed precision."""
        if not self.amp:
            return optimizer
        from proa.static import amp

        configs = dict(self.amp_configs)
        names = [configs.pop(f"custom_{kind}") for kind in ("white_list", "black_list", "black_varnames")]
        bf16 = configs.pop("use_pure_bf16")
        configs["use_pure_fp16"] |= bf16
        # On unless set: a mark that no part of the program bears marks all of it.
        configs["use_fp16_guard"] = None if configs["use_fp16_guard"] else False
        if bf16:
            configs["use_dynamic_loss_scaling"] = False
        return amp.decorate(optimizer, amp.CustomOpLists(*names), use_bf16=bf16, **configs)

    def places(self, count):
        """(names, dims) of the topology that `hybrid_configs` describes for `count` processes.

        A `dp_degree` of -1 takes what the others leave.

        Raises:
            ValueError: they are not `count` processes.
        """
        hybrid = self.hybrid_configs
        order = list(hybrid["order"])
        if sorted(order) != sorted(_WAYS):
            raise _C.located(
                ValueError(
                    f"DistributedStrategy: hybrid_configs['order'] must name each of {list(_WAYS)} once; it is {order}"
                )
            )
        degrees = {way: hybrid[f"{way}_degree"] for way in order}
        if self.tensor_parallel and degrees["mp"] == 1:
            degrees["mp"] = self.tensor_parallel_configs["tensor_parallel_degree"]
        for way, degree in degrees.items():
            if (
                isinstance(degree, bool)
                or not isinstance(degree, int)
                or (degree < 1 and (way != "dp" or degree != -1))
            ):
                raise _C.located(
                    ValueError(
                        f"DistributedStrategy: hybrid_configs['{way}_degree'] must be a positive int, not {degree!r}"
                    )
                )
        others = 1
        for way, degree in degrees.items():
            others *= degree if way != "dp" else 1
        if degrees["dp"] == -1 and count % others == 0:
            degrees["dp"] = count // others
        if degrees["dp"] * others != count:
            text = ", ".join(f"{way}_degree {degree}" for way, degree in degrees.items() if degree != 1)
            raise _C.located(
                ValueError(
                    f"DistributedStrategy: hybrid_configs ({text or 'all degrees 1'}) do not make the {count} processes of "
                    "the job: their product must be that number"
                )
            )
        if degrees["sep"] == 1:  # as programs of 2.3 know the topology
            del degrees["sep"]
        return [_WAYS[way] for way in degrees], list(degrees.values())

    def check_dynamic(self):
        """Raises NotImplementedError for a switch that several workers would not follow."""
        for name, instead in _NOT_DYNAMIC.items():
            if self.__dict__[name]:
                raise _C.located(
                    NotImplementedError(
                        f"fleet: strategy.{name} is not in this version for eager training on several workers; {instead}"
                    )
                )
        if self.recompute:
            warnings.warn(
                "fleet: strategy.recompute is about programs; call paddle.distributed.fleet.utils.recompute on layers, or give "
                "PipelineLayer a recompute_interval",
                stacklevel=4,
            )
        for name, degree in (("sharding", "sharding_degree"), ("pipeline", "pp_degree")):
            if self.__dict__[name] and self.hybrid_configs[degree] == 1:
                warnings.warn(
                    f"fleet: strategy.{name} is about programs; eager training is divided by hybrid_configs['{degree}']",
                    stacklevel=4,
                )

    def check_static(self, count=1):
        """Raises NotImplementedError for what a static program of `count` workers would not follow."""
        if self.recompute and self.recompute_configs["enable_offload"]:
            warnings.warn(
                "fleet: recompute_configs['enable_offload'] changes nothing: checkpoints lie in the memory of the host",
                stacklevel=4,
            )
        if self.gradient_scale_configs["scale_gradient"] and not self.pipeline:
            warnings.warn(
                "fleet: gradient_scale_configs['scale_gradient'] changes nothing without pipeline: it says whether micro-batches "
                "average gradients or losses; over workers see 'scale_strategy'",
                stacklevel=4,
            )
        wrong = []
        if count > 1:
            names, dims = self.places(count)
            degrees = dict(zip(names, dims))
            wrong += [(name, instead) for name, instead in _NOT_YET.items() if self.__dict__[name]]
            for one, others in _NOT_BESIDE.items():
                if self.__dict__[one] or (one == "tensor_parallel" and degrees["model"] > 1):
                    wrong += [(f"{name} beside {one}", "leave one off") for name in others if self.__dict__[name]]
            if self.pipeline and self.gradient_scale_configs["scale_strategy"] != "avg":
                wrong.append(
                    (
                        f"gradient_scale_configs['scale_strategy'] {self.gradient_scale_configs['scale_strategy']!r} beside pipeline",
                        "copies of a pipeline take the mean: 'avg'; multiply the loss",
                    )
                )
            if self.sharding:
                wrong += self._not_sharded()
                self._warn_of_sharding()
            wrong += [
                (f"hybrid_configs['{way}_degree']", f"set strategy.{switch}, or train eagerly")
                for way, switch in (("pp", "pipeline"), ("sharding", "sharding"), ("sep", "semi_auto"))
                if degrees.get(_WAYS[way], 1) > 1
            ]
        elif self.qat:
            wrong.append(("qat", _NOT_YET["qat"]))
        for name, instead in wrong:
            raise _C.located(
                NotImplementedError(
                    f"distributed_optimizer: strategy.{name} is not in this version for static programs; {instead}"
                )
            )

    def _not_sharded(self):
        configs = self.sharding_configs
        wrong = [
            (f"sharding_configs['{name}']", instead)
            for name, (value, instead) in _NOT_SHARDED.items()
            # Guards of devices say how many stages there are, and ProgramPipeline that it is this number.
            if configs[name] != value and not (name == "pp_degree" and self.pipeline)
        ]
        if configs["stage"] not in (1, 2):
            wrong.append(
                (
                    f"sharding_configs['stage'] {configs['stage']!r}",
                    "stages 1 and 2 are one in a program; train eagerly for stage 3",
                )
            )
        return wrong

    def _warn_of_sharding(self):
        for name, why in _SHARDED_WITHOUT_EFFECT.items():
            if self.sharding_configs[name] != _CONFIGS["sharding_configs"][name]:
                warnings.warn(f"fleet: sharding_configs['{name}'] changes nothing: {why}", stacklevel=5)

    def _values(self):
        return {name: value for name, value in self.__dict__.items() if not name.endswith("_strategy")}

    def save_to_prototxt(self, output):
        """Writes switches and settings into a text file."""
        with open(output, "w", encoding="utf-8") as file:
            json.dump(self._values(), file, indent=1)

    def load_from_prototxt(self, pb_file):
        """Reads what `save_to_prototxt` wrote."""
        with open(pb_file, encoding="utf-8") as file:
            try:
                values = json.load(file)
                if not isinstance(values, dict):
                    raise ValueError
            except (ValueError, RecursionError):
                raise _C.located(
                    ValueError(f"load_from_prototxt: {pb_file} was not written by save_to_prototxt of this package")
                ) from None
        for name, value in values.items():
            setattr(self, name, value)

    def __repr__(self):
        changed = {name: value for name, value in self._values().items() if value != {**_SWITCHES, **_CONFIGS}[name]}
        return f"DistributedStrategy({changed})"


for _name, _default in _SWITCHES.items():
    setattr(DistributedStrategy, _name, _Setting(_name, _default))
for _name, _default in _CONFIGS.items():
    setattr(DistributedStrategy, _name, _Configs(_name, _default))
for _name, _kind in (("build_strategy", "BuildStrategy"), ("execution_strategy", "ExecutionStrategy")):
    setattr(DistributedStrategy, _name, _Compilation(_name, _kind))
