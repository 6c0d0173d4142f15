"""What the names of 1.8 are called in 2.x, and how their parameters are."""

__all__ = ["ADDED", "HINTS", "NAMES", "PARAMETERS", "UNSET", "VALUES", "WITHOUT_EFFECT"]

# Names below paddle.fluid, and below paddle; of one name, each by itself.
_MOVED = """
BuildStrategy CompiledProgram ExecutionStrategy Executor ParallelExecutor Program Variable cpu_places cuda_places data
    default_main_program default_startup_program device_guard global_scope gradients name_scope program_guard scope_guard
    load_program_state set_program_state WeightNormParamAttr: static
CPUPlace CUDAPinnedPlace CUDAPlace NPUPlace ParamAttr XPUPlace get_flags is_compiled_with_cuda is_compiled_with_npu
    is_compiled_with_rocm is_compiled_with_xpu set_flags:
in_dygraph_mode: in_dynamic_mode
enable_dygraph disable_dygraph: disable_static enable_static
one_hot: nn.functional.one_hot
embedding: static.nn.embedding
backward.append_backward backward.gradients: static.append_backward static.gradients
unique_name.generate unique_name.guard unique_name.switch: utils.unique_name
io.DataLoader: io.DataLoader
io.batch: batch
clip.GradientClipByGlobalNorm clip.GradientClipByNorm clip.GradientClipByValue:
    nn.ClipGradByGlobalNorm nn.ClipGradByNorm nn.ClipGradByValue
regularizer.L1Decay regularizer.L2Decay: regularizer
regularizer.L1DecayRegularizer regularizer.L2DecayRegularizer: regularizer.L1Decay regularizer.L2Decay
initializer.Constant initializer.Normal initializer.TruncatedNormal initializer.Uniform: nn.initializer
initializer.ConstantInitializer initializer.NormalInitializer initializer.TruncatedNormalInitializer
    initializer.UniformInitializer initializer.NumpyArrayInitializer: nn.initializer.Constant nn.initializer.Normal
    nn.initializer.TruncatedNormal nn.initializer.Uniform nn.initializer.Assign
optimizer.Adadelta optimizer.Adagrad optimizer.Adam optimizer.Adamax optimizer.Momentum optimizer.SGD: optimizer
optimizer.AdadeltaOptimizer optimizer.AdagradOptimizer optimizer.AdamOptimizer optimizer.AdamaxOptimizer
    optimizer.MomentumOptimizer optimizer.RMSPropOptimizer optimizer.SGDOptimizer: optimizer.Adadelta optimizer.Adagrad
    optimizer.Adam optimizer.Adamax optimizer.Momentum optimizer.RMSProp optimizer.SGD
dygraph.to_variable dygraph.no_grad dygraph.grad dygraph.DataParallel: to_tensor no_grad grad DataParallel
dygraph.Layer dygraph.LayerList dygraph.ParameterList dygraph.Sequential dygraph.BatchNorm dygraph.Linear dygraph.Conv2D
    dygraph.Conv3D dygraph.Conv2DTranspose dygraph.Flatten dygraph.LayerNorm dygraph.Embedding: nn
dygraph.TracedLayer dygraph.TranslatedLayer dygraph.ProgramTranslator: jit
dygraph.declarative: jit.to_static
dygraph.ParallelEnv: distributed.ParallelEnv
layers.fc layers.conv2d layers.conv3d layers.conv2d_transpose layers.conv3d_transpose layers.batch_norm layers.layer_norm
    layers.group_norm layers.instance_norm layers.prelu layers.row_conv layers.py_func layers.cond layers.case
    layers.switch_case layers.while_loop: static.nn
layers.create_global_var layers.accuracy layers.auc layers.Print: static
layers.create_parameter layers.reshape layers.concat layers.cast layers.matmul layers.transpose layers.squeeze
    layers.unsqueeze layers.stack layers.unstack layers.split layers.zeros layers.ones layers.zeros_like layers.ones_like
    layers.eye layers.full_like layers.linspace layers.arange layers.argmax layers.argmin layers.assign layers.shape
    layers.slice layers.strided_slice layers.increment layers.gather layers.gather_nd layers.scatter layers.scatter_nd
    layers.scatter_nd_add layers.index_select layers.scale layers.pow layers.clip layers.topk layers.mean layers.cumsum
    layers.equal layers.not_equal layers.less_than layers.less_equal layers.greater_than layers.greater_equal
    layers.logical_and layers.logical_or layers.logical_not layers.logical_xor layers.abs layers.acos layers.asin layers.atan
    layers.ceil layers.cos layers.cosh layers.erf layers.exp layers.floor layers.log layers.log1p layers.reciprocal
    layers.round layers.rsqrt layers.sign layers.sin layers.sinh layers.sqrt layers.square layers.stanh layers.tanh
    layers.triu layers.unbind layers.rank layers.is_empty layers.expand_as layers.shard_index:
layers.relu layers.relu6 layers.sigmoid layers.softmax layers.log_softmax layers.elu layers.gelu layers.selu layers.swish
    layers.softplus layers.softsign layers.softshrink layers.leaky_relu layers.maxout layers.mish layers.thresholded_relu
    layers.label_smooth layers.log_loss layers.dice_loss layers.mse_loss layers.npair_loss layers.pixel_shuffle
    layers.sequence_mask layers.square_error_cost layers.softmax_with_cross_entropy layers.temporal_shift layers.unfold
    layers.cross_entropy layers.dropout: nn.functional
layers.logsigmoid layers.hard_sigmoid layers.hard_swish layers.hard_shrink layers.tanh_shrink: nn.functional.log_sigmoid
    nn.functional.hardsigmoid nn.functional.hardswish nn.functional.hardshrink nn.functional.tanhshrink
layers.elementwise_add layers.elementwise_sub layers.elementwise_mul layers.elementwise_div layers.elementwise_floordiv
    layers.elementwise_mod layers.elementwise_pow layers.elementwise_max layers.elementwise_min: add subtract multiply divide
    floor_divide mod pow maximum minimum
layers.reduce_sum layers.reduce_mean layers.reduce_max layers.reduce_min layers.reduce_prod layers.reduce_all
    layers.reduce_any: sum mean max min prod all any
layers.fill_constant layers.range layers.sums layers.sum layers.expand layers.reverse layers.uniform_random: full arange add_n
    add_n tile flip uniform
layers.BeamSearchDecoder layers.dynamic_decode layers.Decoder: nn
"""

# Those of _MOVED that are of other meaning are not rewritten; what to do with them instead.
HINTS = {
    "DataFeeder": "feed a dict of arrays",
    "core.VarDesc": "dtypes are paddle.float32 and its like, or their names",
    "dygraph.Dropout": "paddle.nn.Dropout(p, mode='downscale_in_infer') is the same; the default of 2.x scales in training",
    "dygraph.FC": "paddle.nn.Linear needs to be told the size of its input",
    "dygraph.GRUUnit": "paddle.nn.GRUCell has other parameters",
    "dygraph.Pool2D": "paddle.nn.MaxPool2D or AvgPool2D",
    "dygraph.guard": "2.x computes eagerly without it; take its block out, and call paddle.set_device for the place",
    "dygraph.load_dygraph": "paddle.load(path + '.pdparams') and paddle.load(path + '.pdopt')",
    "dygraph.save_dygraph": "paddle.save(state, path + '.pdparams')",
    "initializer.MSRA": "paddle.nn.initializer.KaimingUniform, or KaimingNormal for uniform=False",
    "initializer.MSRAInitializer": "paddle.nn.initializer.KaimingUniform, or KaimingNormal for uniform=False",
    "initializer.Xavier": "paddle.nn.initializer.XavierUniform, or XavierNormal for uniform=False",
    "initializer.XavierInitializer": "paddle.nn.initializer.XavierUniform, or XavierNormal for uniform=False",
    "io.load_inference_model": "paddle.static.load_inference_model takes the prefix of two files",
    "io.save_inference_model": "paddle.static.save_inference_model takes a prefix, and variables instead of names",
    "layers.argsort": "paddle.argsort gives the indices only; paddle.sort the values",
    "layers.data": "paddle.static.data takes the whole shape, with None for the batch",
    "layers.embedding": "paddle.static.nn.embedding takes indices without a last dim of 1",
    "layers.gaussian_random": "paddle.normal(mean, std, shape)",
    "layers.l2_normalize": "paddle.nn.functional.normalize",
    "layers.one_hot": "paddle.nn.functional.one_hot takes indices without a last dim of 1",
    "layers.pool2d": "paddle.nn.functional.max_pool2d or avg_pool2d",
    "load_dygraph": "paddle.load(path + '.pdparams') and paddle.load(path + '.pdopt')",
    "save_dygraph": "paddle.save(state, path + '.pdparams')",
}


_HOUSES = {
    "static",
    "static.nn",
    "nn",
    "nn.functional",
    "nn.initializer",
    "optimizer",
    "regularizer",
    "jit",
    "utils.unique_name",
}


def _read(text):
    """{name below paddle.fluid: name below paddle}."""
    lines = []
    for line in text.strip().splitlines():
        if line.startswith(" "):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    found = {}
    for line in lines:
        old, _, new = line.partition(":")
        olds, news = old.split(), new.split()
        if len(news) == len(olds) and not (len(news) == 1 and news[0] in _HOUSES):
            found.update(zip(olds, news))
        else:
            assert len(news) <= 1, f"{len(olds)} names and {len(news)} successors: {line}"
            home = f"{news[0]}." if news else ""
            found.update((name, home + name.rpartition(".")[2]) for name in olds)
    return found


NAMES = _read(_MOVED)

# What parameters are called where the successor has none of the old name: those of single functions, and of all others.
PARAMETERS = {
    "": {
        "act": "activation", "axes": "axis", "cond": "condition", "dim": "axis", "factor": "y", "filter_size": "kernel_size",
        "input": "x", "input_dim": "in_features", "keep_dim": "keepdim", "num_channels": "in_channels",
        "num_filters": "out_channels", "output_dim": "out_features", "param_attr": "weight_attr",
        "parameter_list": "parameters", "regularization": "weight_decay",
        "regularization_coeff": "coeff",
    },
    "dygraph.to_variable": {"value": "data"},
    "initializer.Normal": {"loc": "mean", "scale": "std"},
    "initializer.NormalInitializer": {"loc": "mean", "scale": "std"},
    "initializer.TruncatedNormal": {"loc": "mean", "scale": "std"},
    "initializer.TruncatedNormalInitializer": {"loc": "mean", "scale": "std"},
    "layers.dropout": {"dropout_implementation": "mode", "dropout_prob": "p"},
    "layers.expand": {"expand_times": "repeat_times"},
    "layers.fill_constant": {"value": "fill_value"},
    "layers.sum": {"x": "inputs"},
    "layers.sums": {"input": "inputs"},
    "one_hot": {"depth": "num_classes", "input": "x"},
}  # fmt: skip

# What a call must be given where 1.8 had another default, in the old parameter's stead.
ADDED = {
    "layers.argmax": {"axis": "axis=0"},
    "layers.argmin": {"axis": "axis=0"},
    "layers.cross_entropy": {None: "use_softmax=False, reduction='none'"},
    "layers.dropout": {"dropout_implementation": "mode='downscale_in_infer'"},
    "layers.split": {"dim": "axis=-1"},
}

# Texts of values that are called otherwise.
VALUES = {("layers.dropout", "dropout_implementation"): {"downgrade_in_infer": "downscale_in_infer"}}

# Parameters without a meaning here: they go where the successor has none of the name.
WITHOUT_EFFECT = frozenset("name use_cudnn use_mkldnn force_cpu inplace in_place".split())

# Values that mean that a parameter is not used; of all others, None.
UNSET = {"alpha": "1.0", "axis": "-1", "is_test": "False", "overwrite": "True"}
