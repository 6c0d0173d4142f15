"""Config: which model a predictor runs, and how."""

import os
import warnings

from proa import _C
from proa.inference.kinds import PrecisionType

__all__ = ["Config", "PassBuilder"]


class PassBuilder:
    """The passes over the program, by name, in the order in which they run; `Config.pass_builder()` gives it.

    Examples:
        >>> passes = proa.inference.Config().pass_builder()
        >>> passes.all_passes()
        ['identities', 'constant_folding', 'equal_calls', 'fold_parameters', 'recognize', 'recognize_attention',
        'fold_norm', 'scale_weights', 'join_linears', 'fold_parameters', 'fuse_norm', 'fuse_activation',
        'fuse_cache', 'dead_code', 'fuse_pointwise', 'without_reserves', 'side_by_side']
        >>> passes.delete_pass("fuse_norm")
        >>> passes.append_pass("identities")
        >>> passes.insert_pass(0, "dead_code")
        >>> passes.all_passes()[0], passes.all_passes()[-1]
        ('dead_code', 'identities')
    """

    def __init__(self):
        self._names = list(_C.inference_passes())
        self._debug = False

    def all_passes(self):
        """The names, in order."""
        return list(self._names)

    def _checked(self, what, name):
        if name not in _C.passes():
            raise _C.located(
                ValueError(f"{what}: no pass is named {name!r}; there are {', '.join(sorted(_C.passes()))}")
            )
        return name

    def append_pass(self, name):
        """Puts a pass at the end.

        Raises:
            ValueError: no pass has this name.
        """
        self._names.append(self._checked("append_pass", name))

    def insert_pass(self, idx, name):
        """Puts a pass at a place of the list.

        Raises:
            ValueError: no pass has this name.
            IndexError: the place is behind the end.
        """
        if not 0 <= idx <= len(self._names):
            raise _C.located(
                IndexError(f"insert_pass: there are {len(self._names)} passes; a pass cannot stand at {idx}")
            )
        self._names.insert(idx, self._checked("insert_pass", name))

    def delete_pass(self, name):
        """Takes a pass out, by its name or number. A name that is not in the list is nothing: programs delete passes of
        the reference, which are not here.

        Raises:
            IndexError: there is no pass of this number.
        """
        if isinstance(name, int):
            if not 0 <= name < len(self._names):
                raise _C.located(
                    IndexError(f"delete_pass: there are {len(self._names)} passes; none has the number {name}")
                )
            del self._names[name]
        else:
            self._names = [own for own in self._names if own != name]

    def set_passes(self, passes):
        """These passes and no others.

        Raises:
            ValueError: no pass has one of the names.
        """
        self._names = [self._checked("set_passes", name) for name in passes]

    def clear_passes(self):
        """No passes."""
        self._names = []

    def turn_on_debug(self):
        """As `Config.switch_ir_debug()`."""
        self._debug = True

    def debug_string(self):
        """The names, a line for each."""
        return "".join(f"  - {name}\n" for name in self._names)


class Config:
    """Which model, and how it is run.

    Args:
        Either nothing, the folder of a model, or its two files: `Config("net.pdmodel", "net.pdiparams")`.

    A model is run on the CPU; settings of other engines are remembered and answered, and say by a warning that they
    change nothing. Unless `set_cpu_math_library_num_threads` was called, a run uses as many threads as the process.

    Examples:
        >>> config = proa.inference.Config("/models/net.pdmodel", "/models/net.pdiparams")
        >>> config.prog_file()
        '/models/net.pdmodel'
    """

    Precision = PrecisionType
    Float32, Int8, Half, Bfloat16 = PrecisionType

    def __init__(self, *arguments):
        if len(arguments) > 2 or not all(isinstance(a, (str, os.PathLike)) for a in arguments):
            raise _C.located(
                TypeError("Config: give the folder of a model, or its program and parameters as two paths")
            )
        self._dir = self._prog = self._params = ""
        if len(arguments) == 1:
            self._dir = os.fspath(arguments[0])
        elif arguments:
            self._prog, self._params = map(os.fspath, arguments)
        self._buffers = None
        self._threads = 1
        self._state = {
            "ir_optim": True, "ir_debug": False, "bfloat16": False, "glog": True, "memory": True, "onnxruntime": False,
            "ort_optimization": False, "low_io": False,
        }  # fmt: skip
        self._ops = {"bfloat16": set(), "full": set(), "mixed": set()}
        self._dumped = []
        self._cache_dir = ""
        self._passes = PassBuilder()

    # Which model ---------------------------------------------------------------

    def set_model(self, model, params=None):
        """The folder of a model, or its two files."""
        if params is None:
            self._dir = model
        else:
            self._prog, self._params = model, params

    def set_prog_file(self, path):
        """The file of the program."""
        self._prog = path

    def set_params_file(self, path):
        """The file of the parameters."""
        self._params = path

    def set_model_buffer(self, prog_buffer, prog_buffer_size, params_buffer, params_buffer_size):
        """The contents of the two files."""
        self._buffers = bytes(prog_buffer)[:prog_buffer_size], bytes(params_buffer)[:params_buffer_size]

    def model_dir(self):
        return self._dir

    def prog_file(self):
        return self._prog

    def params_file(self):
        return self._params

    def model_from_memory(self):
        return self._buffers is not None

    # The CPU -------------------------------------------------------------------

    def set_cpu_math_library_num_threads(self, threads):
        """How many threads a run uses; 0: as many as the process.

        Raises:
            ValueError: a negative number.
        """
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 0:
            raise _C.located(
                ValueError(f"set_cpu_math_library_num_threads: threads must be 0 or a positive int, not {threads!r}")
            )
        self._threads = threads
        self._state["threads"] = threads

    def cpu_math_library_num_threads(self):
        return self._threads

    def enable_mkldnn(self):
        """oneDNN computes where it is the fastest, in any case."""

    def mkldnn_enabled(self):
        return True

    enable_onednn, onednn_enabled = enable_mkldnn, mkldnn_enabled

    # Switches --------------------------------------------------------------------

    def switch_ir_optim(self, x=True):
        """Whether passes run over the program; they do."""
        self._state["ir_optim"] = bool(x)

    def ir_optim(self):
        return self._state["ir_optim"]

    def switch_ir_debug(self, x=True, passes=()):
        """Writes the program as text, before the passes and after each (of `passes` alone, if there are any), when the
        predictor is created: `ir_00_loaded.txt`, `ir_01_identities.txt`, ... in the folder of `set_optim_cache_dir`, or
        the current one.
        """
        self._state["ir_debug"] = bool(x)
        self._dumped = list(passes)

    def set_optim_cache_dir(self, path):
        """Where `switch_ir_debug` writes, and `enable_onnxruntime` keeps what it exported, for the next process."""
        self._cache_dir = os.fspath(path)

    def enable_memory_optim(self, x=True):
        """On from the start: weights stay in the file, mapped, where this package wrote it. They are read when they are
        needed, processes that run the model share them, and what was packed for a kernel takes no memory twice. Do not
        change the file in place meanwhile; saving over it is fine. Off, they are copied, into large pages: a decoder, which
        reads all its weights for each token, is faster so. What a run computes is released after its last use in any case.
        """
        self._state["memory"] = bool(x)

    def memory_optim_enabled(self):
        return self._state["memory"]

    def profile_enabled(self):
        return False

    def disable_glog_info(self):
        """No lines of information; there are none. (What changes nothing is said by warnings, as Python's filters say.)"""
        self._state["glog"] = False

    def glog_info_disabled(self):
        return not self._state["glog"]

    def switch_specify_input_names(self, x=True):
        """Inputs are known by their names and by their order, in any case; says by a warning that False changes nothing."""
        if not x:
            self._ignored("switch_specify_input_names", "inputs are known by their names and their order in any case")

    def specify_input_name(self):
        return True

    def switch_use_feed_fetch_ops(self, x=True):
        """Inputs and results are handles, in any case; says by a warning that True changes nothing."""
        if x:
            self._ignored("switch_use_feed_fetch_ops", "inputs and results are handles")

    def use_feed_fetch_ops_enabled(self):
        return False

    def pass_builder(self):
        """The list of passes."""
        return self._passes

    def delete_pass(self, name):
        """Leaves out a pass; one that is not in the list is nothing."""
        self._passes.delete_pass(name)

    # Other devices and engines -----------------------------------------------------

    def _ignored(self, what, reason):
        warnings.warn(f"Config.{what}: {reason}; the setting changes nothing", stacklevel=3)

    def enable_use_gpu(self, memory_pool_init_size_mb=100, device_id=0, precision_mode=PrecisionType.Float32):
        """Says by a warning that there is no GPU; the model runs on the CPU."""
        self._ignored("enable_use_gpu", _CPU)

    def disable_gpu(self):
        """The CPU, as in any case."""

    def use_gpu(self):
        return False

    use_xpu = use_npu = use_ipu = use_custom_device = tensorrt_engine_enabled = use_gpu
    tensorrt_oss_enabled = trt_allow_build_at_runtime = lite_engine_enabled = mkldnn_quantizer_enabled = use_gpu
    dlnne_enabled = thread_local_stream_enabled = use_gpu
    mkldnn_int8_enabled = tensorrt_dynamic_shape_enabled = use_gpu
    tensorrt_varseqlen_enabled = tensorrt_dla_enabled = shape_range_info_collected = use_gpu
    tuned_tensorrt_dynamic_shape = tensorrt_explicit_quantization_enabled = tensorrt_inspector_enabled = use_gpu
    openvino_engine_enabled = new_ir_enabled = onednn_int8_enabled = use_gpu

    def tensorrt_optimization_level(self):
        return 0

    def tensorrt_precision_mode(self):
        return PrecisionType.Float32

    def gpu_device_id(self):
        return 0

    xpu_device_id = npu_device_id = gpu_device_id

    def memory_pool_init_size_mb(self):
        return 0

    def fraction_of_gpu_memory_for_pool(self):
        return 0.0

    def enable_tensorrt_engine(self, workspace_size=1 << 30, max_batch_size=1, min_subgraph_size=3,
                               precision_mode=PrecisionType.Float32, use_static=False, use_calib_mode=True,
                               use_cuda_graph=False):  # fmt: skip
        """Says by a warning that there is no TensorRT."""
        self._ignored("enable_tensorrt_engine", _TENSORRT)

    def enable_save_optim_model(self, save_optimized_model=False):
        """Says by a warning that it is not saved; `switch_ir_debug` shows it."""
        if save_optimized_model:
            self._ignored("enable_save_optim_model", "the program after the passes is shown by switch_ir_debug alone")

    def enable_custom_passes(self, passes=(), custom_pass_only=False):
        """Adds passes at the end, or with `custom_pass_only` runs them alone; names of others are nothing.

        Examples:
            >>> config = proa.inference.Config()
            >>> config.enable_custom_passes(["identities", "of_another_package"], True)
            >>> config.pass_builder().all_passes()
            ['identities']
        """
        if custom_pass_only:
            self._passes.clear_passes()
        for name in passes:
            if name in _C.passes():
                self._passes.append_pass(name)

    def enable_onnxruntime(self):
        """Lets ONNX Runtime run the model: a file of ONNX, or a program, exported when the predictor is made. Of a program with
        operations that ONNX cannot say it runs the parts between them, and a warning names them.

        Raises:
            ImportError: the package onnxruntime is not installed.
        """
        from proa.inference import onnxruntime_engine

        onnxruntime_engine.library()
        self._state["onnxruntime"] = True

    def disable_onnxruntime(self):
        """Models run by this package's own code."""
        self._state["onnxruntime"] = False

    def onnxruntime_enabled(self):
        return self._state["onnxruntime"]

    def enable_mkldnn_bfloat16(self):
        """Matrix products and convolutions compute in bfloat16, their weights converted when the model is loaded;
        inputs and results keep their dtypes. `convert_to_mixed_precision` does it once, for a file.
        """
        self._state["bfloat16"] = True

    def mkldnn_bfloat16_enabled(self):
        return self._state["bfloat16"]

    def set_bfloat16_op(self, op_list):
        """With `enable_mkldnn_bfloat16`, these ops alone compute in bfloat16, by the names that they have here or in the
        reference ("conv2d", "fc"); all that can if it is empty. Names of other ops are nothing.
        """
        self._ops["bfloat16"] = self._names("set_bfloat16_op", op_list)

    def exp_disable_mixed_precision_ops(self, op_list):
        """With `enable_mkldnn_bfloat16`, these ops stay in float32; a ValueError of `create_predictor` for a name that
        no op has.
        """
        self._ops["full"] = self._names("exp_disable_mixed_precision_ops", op_list)

    def exp_enable_mixed_precision_ops(self, op_list):
        """With `enable_mkldnn_bfloat16`, these ops compute in bfloat16 as well; a ValueError of `create_predictor` for a
        name that no op has.
        """
        self._ops["mixed"] = self._names("exp_enable_mixed_precision_ops", op_list)

    def enable_low_precision_io(self, x=True):
        """With `enable_mkldnn_bfloat16`, inputs and results of float32 become bfloat16."""
        self._state["low_io"] = bool(x)

    @staticmethod
    def _names(what, names):
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise _C.located(TypeError(f"{what}: give a set of names of ops, not {names!r}"))
        return set(names)

    enable_onednn_bfloat16 = enable_mkldnn_bfloat16

    def enable_ort_optimization(self):
        """With `enable_onnxruntime`, ONNX Runtime's optimizations are on, also where `switch_ir_optim(False)` says no."""
        self._state["ort_optimization"] = True

    def ort_optimization_enabled(self):
        return self._state["ort_optimization"]

    def shape_range_info_path(self):
        return ""

    def summary(self):
        """The settings, as a table."""
        rows = [
            ("model_dir", self._dir), ("prog_file", self._prog), ("params_file", self._params),
            ("from_memory", self.model_from_memory()), ("use_gpu", self.use_gpu()),
            ("cpu_math_thread", self._state.get("threads", "all")),
            *((name, value) for name, value in sorted(self._state.items()) if name != "threads"),
            ("passes", " ".join(self._running_passes())),
        ]  # fmt: skip
        return "\n".join(f"{name:24}{value}" for name, value in rows)

    def _running_passes(self):
        """The passes that will run."""
        return self._passes.all_passes() if self._state["ir_optim"] else []

    def _dumps(self):
        """The folder for the texts of the program, or None."""
        return (self._cache_dir or ".") if self._state["ir_debug"] or self._passes._debug else None


_CPU = "this package runs models on the CPU"
_OWN = "models run by this package's own code, or by ONNX Runtime"
_TENSORRT = "there is no TensorRT"
_ONEDNN = "oneDNN computes where it is the fastest"
_INT8 = "models compute in the types in which they were saved, or in bfloat16"

# The settings of PaddlePaddle that change nothing here, by the reason.
_NOTHING = {
    _CPU: """enable_xpu set_xpu_device_id set_xpu_config enable_npu enable_custom_device enable_ipu load_ipu_config
        set_ipu_config set_ipu_custom_info enable_gpu_multi_stream exp_enable_use_cutlass exp_sparse_conv_using_buffer
        use_opencl""",
    _OWN: "enable_openvino_engine enable_lite_engine enable_dlnne enable_new_executor enable_new_ir",
    "there is no CINN; passes fuse what they can": "enable_cinn",
    _TENSORRT: """set_trt_dynamic_shape_info enable_tuned_tensorrt_dynamic_shape mark_trt_engine_outputs
        enable_tensorrt_explicit_quantization enable_tensorrt_memory_optim set_tensorrt_optimization_level
        exp_disable_tensorrt_dynamic_shape_ops exp_disable_tensorrt_subgraph exp_specify_tensorrt_subgraph_precision
        enable_tensorrt_oss enable_tensorrt_varseqlen enable_tensorrt_dla enable_tensorrt_inspector
        exp_disable_tensorrt_ops collect_shape_range_info""",
    _ONEDNN: """disable_mkldnn disable_onednn set_mkldnn_op set_onednn_op disable_mkldnn_fc_passes
        disable_onednn_fc_passes""",
    "what is kept for shapes is bounded without it": "set_mkldnn_cache_capacity set_onednn_cache_capacity",
    _INT8: "enable_mkldnn_int8 enable_onednn_int8 enable_quantizer enable_mkldnn_quantizer",
    "time spent in operations is measured by proa.profiler": "enable_profile",
    "the passes are listed by pass_builder": "set_optimization_level use_optimized_model",
    "nothing is kept between runs; Predictor.try_shrink_memory gives memory back": "partially_release",
}


def _changes_nothing(name, reason):
    def method(self, *args, **kwargs):
        self._ignored(name, reason)

    method.__name__, method.__qualname__ = name, f"Config.{name}"
    method.__doc__ = f"Says by a warning that it changes nothing: {reason}."
    return method


for _reason, _names in _NOTHING.items():
    for _name in _names.split():
        setattr(Config, _name, _changes_nothing(_name, _reason))
