"""Every method of inference.Config: it does something that can be seen, or it says that it changes nothing."""

import os
import warnings

import numpy as np
import pytest

import proa
from proa import inference, nn

X = np.array([[257.0, 0.0]], "float32")  # 257 is no bfloat16
_ARGUMENTS = {"enable_save_optim_model": (True,), "switch_specify_input_names": (False,)}
# What asks for what is so in any case.
_SO = {
    "disable_gpu": (), "enable_mkldnn": (), "enable_onednn": (), "switch_specify_input_names": (True,),
    "switch_use_feed_fetch_ops": (False,), "enable_save_optim_model": (False,),
}  # fmt: skip
# Answers that no setting changes.
_ANSWERS = (
    (False, """use_gpu use_xpu use_npu use_ipu use_custom_device tensorrt_engine_enabled tensorrt_oss_enabled
        trt_allow_build_at_runtime lite_engine_enabled mkldnn_quantizer_enabled dlnne_enabled thread_local_stream_enabled
        mkldnn_int8_enabled tensorrt_dynamic_shape_enabled tensorrt_varseqlen_enabled tensorrt_dla_enabled
        shape_range_info_collected tuned_tensorrt_dynamic_shape tensorrt_explicit_quantization_enabled
        tensorrt_inspector_enabled openvino_engine_enabled new_ir_enabled onednn_int8_enabled profile_enabled
        use_feed_fetch_ops_enabled"""),
    (True, "mkldnn_enabled onednn_enabled specify_input_name"),
    (0, """tensorrt_optimization_level gpu_device_id xpu_device_id npu_device_id memory_pool_init_size_mb
        fraction_of_gpu_memory_for_pool"""),
    ("", "shape_range_info_path"),
    (inference.PrecisionType.Float32, "tensorrt_precision_mode"),
)  # fmt: skip
_ANSWER_OF = {name: answer for answer, names in _ANSWERS for name in names.split()}
_IGNORED = [
    "enable_use_gpu", "enable_tensorrt_engine", "enable_save_optim_model", "switch_specify_input_names",
    "switch_use_feed_fetch_ops",
    *(name for names in inference.config._NOTHING.values() for name in names.split()),
]  # fmt: skip


@pytest.fixture(scope="module", name="model")
def _model(tmp_path_factory):
    """Of a product, a sum and relu, computed twice; 257 becomes 258."""

    class Net(proa.nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = proa.nn.Linear(2, 2)

        def forward(self, x):
            y = self.linear(x)
            return proa.maximum(nn.functional.relu(y), nn.functional.relu(y))

    path = str(tmp_path_factory.mktemp("model") / "net")
    net = Net()
    net.linear.weight.set_value(np.array([[1, -1], [2, 0.5]], "float32"))
    net.linear.bias.set_value(np.ones(2, "float32"))
    proa.jit.save(net, path, [proa.static.InputSpec([None, 2], "float32", "x")])
    return path


def _run(config):
    return float(inference.create_predictor(config).run([X])[0].numpy()[0, 0])


def _operations(config):
    """Those that run."""
    seen = []
    predictor = inference.create_predictor(config)
    predictor.register_output_hook(lambda op, name, tensor: seen.append(op))
    predictor.run([X])
    return seen


def test_what_changes_nothing_says_so(model):
    for name in _IGNORED:
        config = inference.Config(model)
        before = config.summary()
        with pytest.warns(UserWarning, match=rf"Config\.{name}: .*; the setting changes nothing") as seen:
            getattr(config, name)(*_ARGUMENTS.get(name, ()))
        assert len(seen) == 1 and seen[0].filename == __file__
        assert config.summary() == before and "warning" in getattr(config, name).__doc__
        for method, answer in _ANSWER_OF.items():
            assert getattr(config, method)() == answer, (method, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, arguments in _SO.items():
            getattr(config, name)(*arguments)
    assert _run(config) == 258


def _model_is_named(model, tmp_path):
    config = inference.Config()
    config.set_model(model)
    assert config.model_dir() == model and _run(config) == 258
    config.set_model(model + ".pdmodel", model + ".pdiparams")
    assert _run(config) == 258
    config = inference.Config()
    config.set_prog_file(model + ".pdmodel")
    config.set_params_file(model + ".pdiparams")
    assert config.prog_file() + config.params_file() == model + ".pdmodel" + model + ".pdiparams"
    assert _run(config) == 258 and not config.model_from_memory()
    with open(model + ".pdmodel", "rb") as a, open(model + ".pdiparams", "rb") as b:
        program, parameters = a.read(), b.read()
    config = inference.Config()
    config.set_model_buffer(program, len(program), parameters, len(parameters))
    assert config.model_from_memory() and _run(config) == 258


def _threads(model, tmp_path):
    config = inference.Config(model)
    for number in (3, 1):
        config.set_cpu_math_library_num_threads(number)
        assert config.cpu_math_library_num_threads() == number
        predictor, seen = inference.create_predictor(config), set()
        predictor.register_output_hook(lambda *_: seen.add(proa._C.get_num_threads()))
        predictor.run([X])
        assert seen == {number}


def _passes(model, tmp_path):
    config = inference.Config(model)
    fused = _operations(config)
    config.switch_ir_optim(False)
    assert not config.ir_optim() and len(_operations(config)) > len(fused)
    config.switch_ir_optim()
    for name in config.pass_builder().all_passes():
        config.delete_pass(name)
    assert len(_operations(config)) > len(fused)
    config.enable_custom_passes(["dead_code", "of_another_package"])
    assert config.pass_builder().all_passes() == ["dead_code"]


def _dumps(model, tmp_path):
    config = inference.Config(model)
    config.switch_ir_debug()
    config.set_optim_cache_dir(tmp_path / "dumps")
    inference.create_predictor(config)
    assert "ir_00_loaded.txt" in os.listdir(tmp_path / "dumps")


def _memory(model, tmp_path):
    for on in (True, False):
        config = inference.Config(model)
        config.enable_memory_optim(on)
        assert config.memory_optim_enabled() == on
        predictor = inference.create_predictor(config)
        with open("/proc/self/maps") as maps:
            assert (model + ".pdiparams" in maps.read()) == on
        del predictor


def _bfloat16(model, tmp_path):
    for call in ("enable_mkldnn_bfloat16", "enable_onednn_bfloat16"):
        config = inference.Config(model)
        assert not config.mkldnn_bfloat16_enabled() and _run(config) == 258
        getattr(config, call)()
        assert config.mkldnn_bfloat16_enabled() and _run(config) != 258
    config.set_bfloat16_op({"conv2d"})
    assert _run(config) == 258
    config.set_bfloat16_op(set())
    config.exp_disable_mixed_precision_ops({"linear", "matmul"})
    assert _run(config) == 258
    config.exp_disable_mixed_precision_ops(set())
    config.exp_enable_mixed_precision_ops({"nothing"})
    with pytest.raises(ValueError, match="nothing"):
        inference.create_predictor(config)
    config = inference.Config(model)
    config.enable_mkldnn_bfloat16()
    config.enable_low_precision_io()
    (y,) = inference.create_predictor(config).run([proa.to_tensor(X).astype("bfloat16")])
    assert y.dtype.name == "bfloat16"


def _onnxruntime(model, tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    config = inference.Config(model)
    config.enable_onnxruntime()
    config.enable_ort_optimization()
    assert config.onnxruntime_enabled() and config.ort_optimization_enabled()
    predictor = inference.create_predictor(config)
    assert float(predictor.run([X])[0].numpy()[0, 0]) == 258
    for register in (predictor.register_input_hook, predictor.register_output_hook):
        with pytest.raises(NotImplementedError, match="ONNX Runtime does not show"):
            register(print)
    config.disable_onnxruntime()
    assert not config.onnxruntime_enabled() and len(_operations(config)) > 0


def _said(model, tmp_path):
    config = inference.Config(model)
    assert not config.glog_info_disabled()
    config.disable_glog_info()
    assert config.glog_info_disabled() and model in config.summary()


# What the methods do, by those that a case is about.
_EFFECTS = {
    """set_model model_dir set_prog_file set_params_file prog_file params_file set_model_buffer
    model_from_memory""": _model_is_named,
    "set_cpu_math_library_num_threads cpu_math_library_num_threads": _threads,
    "switch_ir_optim ir_optim pass_builder delete_pass enable_custom_passes": _passes,
    "switch_ir_debug set_optim_cache_dir": _dumps,
    "enable_memory_optim memory_optim_enabled": _memory,
    """enable_mkldnn_bfloat16 enable_onednn_bfloat16 mkldnn_bfloat16_enabled set_bfloat16_op
    exp_disable_mixed_precision_ops exp_enable_mixed_precision_ops enable_low_precision_io""": _bfloat16,
    """enable_onnxruntime disable_onnxruntime onnxruntime_enabled enable_ort_optimization
    ort_optimization_enabled""": _onnxruntime,
    "disable_glog_info glog_info_disabled summary": _said,
}


@pytest.mark.parametrize("case", _EFFECTS.values(), ids=lambda f: f.__name__)
def test_what_methods_do(case, model, tmp_path):
    case(model, tmp_path)


def test_every_method_is_asked_about():
    asked = {name for names in _EFFECTS for name in names.split()} | {*_IGNORED, *_SO, *_ANSWER_OF}
    there = {
        name
        for name in dir(inference.Config)
        if not name.startswith("_") and callable(getattr(inference.Config, name)) and name != "Precision"
    }
    assert asked == there
    for name in there:
        doc = getattr(inference.Config, name).__doc__
        assert doc or name in _ANSWER_OF or not name.startswith(("enable", "set", "switch", "disable")), name
