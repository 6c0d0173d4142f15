"""paddle.inference: what programs that deploy a model call."""

import threading

import numpy as np
import pytest

import proa
from proa import inference

X = np.random.RandomState(0).randn(4, 3).astype("float32")


@pytest.fixture(scope="module", name="model")
def _model(tmp_path_factory):
    net = proa.nn.Sequential(proa.nn.Linear(3, 8), proa.nn.ReLU(), proa.nn.Linear(8, 2))
    folder = tmp_path_factory.mktemp("model")
    proa.jit.save(net, str(folder / "net"), [proa.static.InputSpec([None, 3], "float32", "x")])
    return folder, net(proa.to_tensor(X)).numpy()


def _result(predictor, x=X):
    (name,) = predictor.get_input_names()
    handle = predictor.get_input_handle(name)
    handle.reshape(list(x.shape))
    handle.copy_from_cpu(x)
    assert predictor.run() is True
    (name,) = predictor.get_output_names()
    return predictor.get_output_handle(name).copy_to_cpu()


def test_a_deployed_program(model):
    folder, want = model
    config = inference.Config(str(folder / "net.pdmodel"), str(folder / "net.pdiparams"))
    config.disable_gpu()
    config.enable_mkldnn()
    config.set_cpu_math_library_num_threads(2)
    config.enable_memory_optim()
    config.switch_ir_optim(True)
    config.switch_use_feed_fetch_ops(False)
    config.switch_specify_input_names(True)
    config.disable_glog_info()
    assert not config.use_gpu() and config.cpu_math_library_num_threads() == 2 and config.glog_info_disabled()
    assert "net.pdmodel" in config.summary()
    predictor = inference.create_predictor(config)
    np.testing.assert_allclose(_result(predictor), want, rtol=1e-6)
    np.testing.assert_allclose(_result(predictor, X[:1]), want[:1], rtol=1e-6)
    (got,) = predictor.run([X])
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
    other = predictor.clone()
    np.testing.assert_allclose(_result(other, X[:2]), want[:2], rtol=1e-6)
    handle = predictor.get_output_handle(predictor.get_output_names()[0])
    assert handle.shape() == [4, 2] and handle.type() == inference.DataType.FLOAT32
    predictor.clear_intermediate_tensor(), predictor.try_shrink_memory()
    pool = inference.PredictorPool(config, 2)
    np.testing.assert_allclose(_result(pool.retrieve(1)), want, rtol=1e-6)


def test_ways_of_naming_a_model(model, tmp_path):
    folder, want = model
    np.testing.assert_allclose(_result(inference.create_predictor(inference.Config(str(folder)))), want, rtol=1e-6)
    np.testing.assert_allclose(
        _result(inference.create_predictor(inference.Config(str(folder / "net")))), want, rtol=1e-6
    )
    (tmp_path / "__model__").write_bytes((folder / "net.pdmodel").read_bytes())
    (tmp_path / "weights").write_bytes((folder / "net.pdiparams").read_bytes())
    config = inference.Config()
    config.set_model(str(tmp_path / "__model__"), str(tmp_path / "weights"))
    np.testing.assert_allclose(_result(inference.create_predictor(config)), want, rtol=1e-6)
    config = inference.Config()
    program, params = (folder / "net.pdmodel").read_bytes(), (folder / "net.pdiparams").read_bytes()
    config.set_model_buffer(program, len(program), params, len(params))
    assert config.model_from_memory()
    np.testing.assert_allclose(_result(inference.create_predictor(config)), want, rtol=1e-6)


def test_other_engines_say_that_they_change_nothing(model):
    config = inference.Config(str(model[0]))
    for call in (
        lambda: config.enable_use_gpu(200, 0),
        lambda: config.enable_tensorrt_engine(precision_mode=inference.PrecisionType.Half),
        config.enable_mkldnn_bfloat16,
        config.enable_xpu,
    ):
        with pytest.warns(UserWarning, match="on the CPU"):
            call()
    assert not config.use_gpu() and inference.Config.Precision.Int8 is inference.PrecisionType.Int8
    assert "version" in inference.get_version() and inference.get_num_bytes_of_data_type(inference.DataType.INT64) == 8


def test_bad_input(model, tmp_path):
    predictor = inference.create_predictor(inference.Config(str(model[0])))
    for call, kind, says in (
        (lambda: inference.create_predictor("net"), TypeError, "must be a Config"),
        (lambda: inference.Config(1), TypeError, "the folder of a model"),
        (lambda: inference.create_predictor(inference.Config()), ValueError, "names no model"),
        (lambda: inference.create_predictor(inference.Config(str(tmp_path))), ValueError, "must hold one .pdmodel"),
        (lambda: inference.create_predictor(inference.Config("a.pdmodel", "b")), FileNotFoundError, "a.pdmodel"),
        (lambda: predictor.get_input_handle("y"), ValueError, "has no 'y'"),
        (lambda: predictor.clone().run(), ValueError, "has no value"),
        (lambda: predictor.run([X, X]), ValueError, "1 inputs, not 2"),
        (
            lambda: predictor.clone().get_output_handle(predictor.get_output_names()[0]).copy_to_cpu(),
            RuntimeError,
            "run",
        ),
        (lambda: predictor.get_input_handle("x").copy_from_cpu("text"), TypeError, "ndarray"),
        (lambda: inference.Config().set_cpu_math_library_num_threads(0), ValueError, "positive"),
    ):
        with pytest.raises(kind, match=says):
            call()


def test_threads_are_of_the_run_alone(tmp_path):
    """Others see the number of the process, also while a predictor runs."""
    before = proa._C.get_num_threads()
    with proa._C.ThreadScope(1):
        assert proa._C.get_num_threads() == 1
        seen = []
        thread = threading.Thread(target=lambda: seen.append(proa._C.get_num_threads()))
        thread.start()
        thread.join()
        assert seen == [before]
        with proa._C.ThreadScope(0):
            assert proa._C.get_num_threads() == 1
    assert proa._C.get_num_threads() == before
    with pytest.raises(ValueError, match="num_threads"), proa._C.ThreadScope(-1):
        pass
