"""paddle.inference: what programs that deploy a model call."""

import concurrent.futures
import gc
import itertools
import multiprocessing
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
    for number in (2, -1):
        with pytest.raises(IndexError, match=rf"no predictor {number}; they are numbered 0 to 1"):
            pool.retrieve(number)


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


@pytest.mark.parametrize("form", ["proa", "paddle"])
def test_a_model_without_weights_needs_no_file_of_them(form, tmp_path):
    path = str(tmp_path / "net")
    proa.jit.save(proa.nn.ReLU(), path, [proa.static.InputSpec([None, 3], "float32", "x")], format=form)
    for file in tmp_path.glob("net.pdiparams*"):
        file.unlink()
    with open(path + ".pdmodel", "rb") as file:
        program = file.read()
    from_memory = inference.Config()
    from_memory.set_model_buffer(program, len(program), b"", 0)
    for config in (inference.Config(path + ".pdmodel", ""), inference.Config(path), from_memory):
        np.testing.assert_array_equal(_result(inference.create_predictor(config)), np.maximum(X, 0))
    # Those of a model that has some are missed.
    proa.jit.save(proa.nn.Linear(3, 2), path, [proa.static.InputSpec([None, 3], "float32", "x")], format=form)
    for file in tmp_path.glob("net.pdiparams*"):
        file.unlink()
    with pytest.raises(FileNotFoundError):
        inference.create_predictor(inference.Config(path + ".pdmodel", ""))


def test_other_engines_say_that_they_change_nothing(model):
    config = inference.Config(str(model[0]))
    for call in (
        lambda: config.enable_use_gpu(200, 0),
        lambda: config.enable_tensorrt_engine(precision_mode=inference.PrecisionType.Half),
        config.enable_lite_engine,
        config.enable_xpu,
    ):
        with pytest.warns(UserWarning, match="the setting changes nothing"):
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
        (lambda: predictor.get_input_handle("x").copy_from_cpu([1.0]), TypeError, "ndarray, not list"),
        (lambda: predictor.get_input_handle("x").share_external_data([1.0]), TypeError, "ndarray or Tensor, not list"),
        (lambda: inference.Config().set_bfloat16_op("conv2d"), TypeError, "a set of names"),
        (lambda: inference.Config().set_cpu_math_library_num_threads(-1), ValueError, "0 or a positive"),
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


def test_one_predictor_on_many_threads(model):
    predictor = inference.create_predictor(inference.Config(str(model[0])))
    inputs = [np.random.RandomState(i).randn(1 + i % 5, 3).astype("float32") for i in range(200)]
    want = [predictor.run([x])[0].numpy() for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        got = list(pool.map(lambda x: predictor.run([x])[0].numpy(), inputs))
    for one, other in zip(got, want):
        np.testing.assert_array_equal(one, other)


def test_clones_on_many_threads(model):
    first = inference.create_predictor(inference.Config(str(model[0])))

    def work(number):
        x = np.full([1 + number % 3, 3], number, "float32")
        clone = first.clone()
        return all(np.array_equal(_result(clone, x), first.run([x])[0].numpy()) for _ in range(20))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(16)))


class _Tagger(proa.nn.Layer):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = proa.nn.LSTM(4, 8, direction="bidirect"), proa.nn.Linear(16, 3)

    def forward(self, x):
        return proa.nn.functional.relu(self.out(self.lstm(x)[0]))


@pytest.mark.parametrize("threads", [1, 2])
def test_sixteen_threads_on_one_predictor_and_on_clones(threads, tmp_path):
    """Of shapes that all come and go at once, whose memory is planned."""
    net = _Tagger()
    net.eval()
    proa.jit.save(net, str(tmp_path / "net"), [proa.static.InputSpec([None, None, 4], "float32", "x")])
    config = inference.Config(str(tmp_path / "net"))
    config.set_cpu_math_library_num_threads(threads)
    first = inference.create_predictor(config)
    random = np.random.RandomState(0)
    inputs = [random.randn(1 + random.randint(40), 1 + random.randint(30), 4).astype("float32") for _ in range(160)]
    want = [net(proa.to_tensor(x)).numpy() for x in inputs]

    def work(number):
        predictors = itertools.cycle([first, first.clone()])
        return [next(predictors).run([x])[0].numpy() for x in inputs[number::16]]

    for _ in range(2):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for number, results in enumerate(pool.map(work, range(16))):
                for one, other in zip(results, want[number::16], strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_clones_of_a_recurrent_model(tmp_path):
    net = _Tagger()
    net.eval()
    proa.jit.save(net, str(tmp_path / "net"), [proa.static.InputSpec([None, None, 4], "float32", "x")])
    first = inference.create_predictor(inference.Config(str(tmp_path / "net")))

    def work(number):
        clone, random = first.clone(), np.random.RandomState(number)
        for _ in range(10):
            x = random.randn(1 + random.randint(3), 1 + random.randint(9), 4).astype("float32")
            np.testing.assert_allclose(_result(clone, x), net(proa.to_tensor(x)).numpy(), rtol=1e-5, atol=1e-6)
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_the_interpreter_is_free_while_a_predictor_runs(tmp_path):
    class Slow(proa.nn.Layer):
        def forward(self, x):
            return proa.static.nn.while_loop(lambda i, y: i < 200, lambda i, y: [i + 1, proa.tanh(y @ x)], [
                proa.zeros([], "int64"), x])[1]  # fmt: skip

    proa.jit.save(
        proa.jit.to_static(Slow()), str(tmp_path / "net"), [proa.static.InputSpec([256, 256], "float32", "x")]
    )
    predictor = inference.create_predictor(inference.Config(str(tmp_path / "net")))
    x, turns = np.zeros([256, 256], "float32"), 0
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(predictor.run, [x])
        while not running.done():
            turns += 1
            threading.Event().wait(0.0005)
    # Held, it would be given up a few times at most, while the thread starts and ends.
    assert turns > 20, turns


def test_external_data_is_read_where_it_lies(model):
    predictor = inference.create_predictor(inference.Config(str(model[0])))
    x = X.copy()
    predictor.get_input_handle("x").share_external_data(x)
    predictor.run()
    output = predictor.get_output_handle(predictor.get_output_names()[0])
    np.testing.assert_allclose(output.copy_to_cpu(), model[1], rtol=1e-6)
    x[:] = 0  # seen without another call
    predictor.run()
    np.testing.assert_array_equal(output.copy_to_cpu()[0], output.copy_to_cpu()[3])
    for other in (X[::2], np.asfortranarray(X)):
        (got,) = predictor.run([other])
        np.testing.assert_allclose(got.numpy(), predictor.run([np.array(other)])[0].numpy(), rtol=1e-6)
    fixed = X.copy()
    fixed.flags.writeable = False
    np.testing.assert_allclose(predictor.run([fixed])[0].numpy(), model[1], rtol=1e-6)


def test_hooks_see_what_operations_read_and_make(model):
    config = inference.Config(str(model[0]))
    config.switch_ir_optim(False)
    predictor = inference.create_predictor(config)
    read, made = [], []
    predictor.register_input_hook(lambda op, name, tensor: read.append((op, name, tensor.shape)))
    predictor.register_output_hook(lambda op, name, tensor: made.append((op, name, tensor.numpy())))
    np.testing.assert_allclose(_result(predictor), model[1], rtol=1e-6)
    assert [op for op, *_ in made] == ["linear", "relu", "linear"]
    assert read[0] == ("linear", "x", [4, 3]) and read[1][1].endswith("weight") and len(read) == 7
    (output,) = predictor.get_output_names()
    assert made[-1][1] == output and made[0][1].startswith("%")
    np.testing.assert_array_equal(made[1][2], np.maximum(made[0][2], 0))
    np.testing.assert_allclose(made[2][2], model[1], rtol=1e-6)
    # Those of a clone are its own.
    read.clear()
    predictor.clone().run([X])
    assert not read
    # An error ends the run, and the predictor goes on.
    other = inference.create_predictor(config)
    calls = []

    def stop(op, name, tensor):
        calls.append(op)
        if len(calls) == 2:
            raise KeyError("enough")

    other.register_output_hook(stop)
    with pytest.raises(KeyError, match="enough"):
        other.run([X])
    assert calls == ["linear", "relu"]
    np.testing.assert_allclose(other.run([X])[0].numpy(), model[1], rtol=1e-6)
    with pytest.raises(TypeError, match="hook must be callable, not int"):
        other.register_output_hook(1)


def test_hooks_on_many_threads(model):
    """Each call sees its own tensors; a hook may run predictors itself."""
    predictor = inference.create_predictor(inference.Config(str(model[0])))
    inner = predictor.clone()
    rows = threading.local()
    wrong = []

    def check(op, name, tensor):
        if tensor.shape[0] != rows.now or inner.run([X])[0].shape != [4, 2]:
            wrong.append((op, tensor.shape))

    predictor.register_output_hook(check)

    def work(number):
        rows.now = 1 + number % 5
        return predictor.run([np.zeros([rows.now, 3], "float32")])[0].shape == [rows.now, 2]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(100)))
    assert not wrong


def test_memory_is_given_back_and_the_predictor_goes_on(model):
    predictor = inference.create_predictor(inference.Config(str(model[0])))
    _result(predictor)
    predictor.clear_intermediate_tensor()
    output = predictor.get_output_handle(predictor.get_output_names()[0])
    assert output.shape() == [4, 2]
    assert predictor.try_shrink_memory() >= 0
    with pytest.raises(RuntimeError, match="no value"):
        output.copy_to_cpu()
    np.testing.assert_allclose(_result(predictor), model[1], rtol=1e-6)


def test_passes_are_listed_deleted_and_inserted(model, tmp_path):
    config = inference.Config(str(model[0]))
    passes = config.pass_builder()
    names = passes.all_passes()
    assert set(names) <= set(proa._C.passes()) and "dead_code" in names
    passes.delete_pass("dead_code")
    config.delete_pass("conv_elementwise_add_act_fuse_pass")  # the reference's
    passes.insert_pass(1, "dead_code")
    passes.append_pass("identities")
    assert passes.all_passes() == [names[0], "dead_code", *[n for n in names[1:] if n != "dead_code"], "identities"]
    assert "dead_code" in config.summary() and "dead_code" in passes.debug_string()
    config.switch_ir_debug()
    config.set_optim_cache_dir(str(tmp_path / "dumps"))
    np.testing.assert_allclose(_result(inference.create_predictor(config)), model[1], rtol=1e-6)
    dumped = sorted(path.name for path in (tmp_path / "dumps").iterdir())
    assert dumped[:3] == ["ir_00_loaded.txt", f"ir_01_{names[0]}.txt", "ir_02_dead_code.txt"]
    assert len(dumped) == 1 + len(passes.all_passes())
    assert "linear(" in (tmp_path / "dumps" / dumped[0]).read_text()
    for call, kind, says in (
        (lambda: passes.append_pass("fancy"), ValueError, "no pass is named 'fancy'; there are"),
        (lambda: passes.insert_pass(99, "dead_code"), IndexError, "cannot stand at 99"),
        (lambda: passes.delete_pass(99), IndexError, "none has the number 99"),
    ):
        with pytest.raises(kind, match=says):
            call()


def _conv_net():
    proa.seed(3)
    net = proa.nn.Sequential(
        proa.nn.Conv2D(3, 8, 3), proa.nn.BatchNorm2D(8), proa.nn.ReLU(), proa.nn.Flatten(), proa.nn.Linear(288, 5)
    )
    net.eval()
    return net


@pytest.mark.parametrize("mapped", [True, False])
def test_weights_are_packed_once(mapped, tmp_path):
    """By the first run: those that passes made, and those of the file."""
    proa.jit.save(_conv_net(), str(tmp_path / "net"), [proa.static.InputSpec([None, 3, 8, 8], "float32", "x")])
    config = inference.Config(str(tmp_path / "net"))
    config.enable_memory_optim(mapped)
    predictor = inference.create_predictor(config)
    x = np.ones([2, 3, 8, 8], "float32")
    counts = []
    for _ in range(4):
        predictor.run([x])
        counts.append(proa._C.reorder_counts()["weights"])
    assert counts == counts[:1] * 4, counts


def _wide_net():
    """With a weight of a mebibyte, and a residual of half of one."""

    class Net(proa.nn.Layer):
        def __init__(self):
            super().__init__()
            self.first, self.norm1 = proa.nn.Conv2D(512, 512, 1), proa.nn.BatchNorm2D(512)
            self.second, self.norm2 = proa.nn.Conv2D(512, 512, 1, bias_attr=False), proa.nn.BatchNorm2D(512)

        def forward(self, x):
            x = proa.nn.functional.relu(self.norm1(self.first(x)))
            return proa.nn.functional.relu(self.norm2(self.second(x)) + x) * 2

    proa.seed(3)
    net = Net()
    for norm in (net.norm1, net.norm2):
        norm.weight.set_value(proa.rand([512]) + 0.5)
        norm._variance.set_value(proa.rand([512]) + 0.5)
        norm._mean.set_value(proa.randn([512]))
    net.eval()
    return net


def test_weights_of_files_stand_in_memory_once(tmp_path):
    """Multiplied by the scale of their norm while they are packed; and they go with their predictor."""
    net = _wide_net()
    path = str(tmp_path / "net")
    proa.jit.save(net, path, [proa.static.InputSpec([None, 512, 16, 16], "float32", "x")])
    x = np.random.default_rng(0).standard_normal([1, 512, 16, 16]).astype("float32")
    want = net(proa.to_tensor(x)).numpy()
    del net
    gc.collect()
    held = []
    for changed in (None, "scale_weights", "fold_norm"):
        before = proa._C.memory_figures()["allocated"]
        config = inference.Config(path)
        if changed:
            config.delete_pass(changed)
        predictor = inference.create_predictor(config)
        assert ("fold_norm" == changed) == ("batch_norm" in predictor._engine.plan)
        for _ in range(2):
            (got,) = predictor.run([x])
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-4)
        predictor.try_shrink_memory()
        del got
        held.append(proa._C.memory_figures()["allocated"] - before)
        del predictor
        gc.collect()
        assert proa._C.memory_figures()["allocated"] - before < 1 << 16, changed
    packed = 2 * 512 * 512 * 4
    assert held[0] < 1.2 * packed and held[1] > 1.9 * packed, held


def test_dumps_after_some_passes(model, tmp_path):
    config = inference.Config(str(model[0]))
    config.switch_ir_debug(True, ["dead_code"])
    config.set_optim_cache_dir(str(tmp_path))
    inference.create_predictor(config)
    number = config.pass_builder().all_passes().index("dead_code") + 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ir_00_loaded.txt", f"ir_{number:02}_dead_code.txt"]
    (tmp_path / "file").write_text("")
    config.set_optim_cache_dir(str(tmp_path / "file"))
    with pytest.raises(ValueError, match="cannot be written"):
        inference.create_predictor(config)


def test_settings_are_answered(model):
    config = inference.Config(str(model[0]))
    config.set_cpu_math_library_num_threads(0)
    assert config.specify_input_name() and config.mkldnn_enabled() and config.cpu_math_library_num_threads() == 0
    np.testing.assert_allclose(_result(inference.create_predictor(config)), model[1], rtol=1e-6)
    assert inference.Config.Half is inference.PrecisionType.Half and int(inference.PlaceType.GPU) == 1
    assert inference.DataType(1) is inference.DataType.INT64 and str(inference.DataType.INT64) == "DataType.INT64"
    handle = inference.create_predictor(config).get_input_handle("x")
    handle.reshape(np.array([2, 3]))
    assert handle.shape() == [2, 3] and type(handle.shape()[0]) is int


def test_a_deleted_pass_does_not_run(tmp_path):
    proa.jit.save(_conv_net(), str(tmp_path / "net"), [proa.static.InputSpec([None, 3, 8, 8], "float32", "x")])
    plans = []
    for change in (
        lambda c: None,
        lambda c: c.pass_builder().delete_pass("fold_norm"),
        lambda c: [c.pass_builder().delete_pass(name) for name in ("fold_norm", "fuse_norm")],
        lambda c: c.switch_ir_optim(False),
    ):
        config = inference.Config(str(tmp_path / "net"))
        change(config)
        plans.append(inference.create_predictor(config)._engine.plan)
    assert ["conv2d_activation(" in plan for plan in plans] == [True, False, False, False]
    assert ["conv2d_batch_norm_relu" in plan for plan in plans] == [False, True, False, False]
    assert ["batch_norm_inference(" in plan for plan in plans] == [False, False, True, True]


def test_bfloat16(tmp_path):
    net = _conv_net()
    path = str(tmp_path / "net")
    proa.jit.save(net, path, [proa.static.InputSpec([None, 3, 8, 8], "float32", "x")])
    x = np.random.RandomState(0).randn(2, 3, 8, 8).astype("float32")
    want = net(proa.to_tensor(x)).numpy()
    config = inference.Config(path)
    config.enable_mkldnn_bfloat16()
    assert config.mkldnn_bfloat16_enabled()
    predictor = inference.create_predictor(config)
    (name,) = predictor.get_output_names()
    assert [name] == inference.create_predictor(inference.Config(path)).get_output_names()
    got = _result(predictor, x)
    assert got.dtype == np.float32 and 0 < abs(got - want).max() < 0.03 * abs(want).max()
    assert "[288, 5] bfloat16" in predictor._engine.plan and "[8, 3, 3, 3] bfloat16" in predictor._engine.plan


def test_products_of_bfloat16_have_the_bits_of_calls(tmp_path):
    """Predictors keep weights in another order; the results are the same, in each run, on any number of threads. Long
    sums of many rows are divided in another way; they are the same on any number of threads."""
    for rows, inner, columns in (
        (1, 64, 64),
        (3, 100, 70),
        (49, 512, 2048),
        (5, 8192, 64),
        (128, 768, 300),
        (33, 1, 9),
        (300, 900, 768),
        (1024, 3072, 64),
    ):
        net = proa.nn.Linear(inner, columns)
        path = str(tmp_path / "net")
        proa.jit.save(net, path, [proa.static.InputSpec([None, inner], "float32", "x")])
        x = np.random.RandomState(0).randn(rows, inner).astype("float32")
        low = [proa.to_tensor(t).astype("bfloat16") for t in (x, net.weight, net.bias)]
        want = proa.nn.functional.linear(*low).astype("float32").numpy()
        found = []
        for threads in (1, 2, 5):
            config = inference.Config(path)
            config.set_cpu_math_library_num_threads(threads)
            config.enable_mkldnn_bfloat16()
            predictor = inference.create_predictor(config)
            for _ in range(2):
                got = _result(predictor, x)
                if rows < 256 or inner <= 768:
                    np.testing.assert_array_equal(got, want)
                else:
                    np.testing.assert_allclose(got, want, rtol=0.01, atol=0.01 * abs(want).max())
                found.append(got)
        assert all(np.array_equal(got, found[0]) for got in found)


@pytest.mark.parametrize(
    "call, names, conv, linear",
    [
        ("set_bfloat16_op", {"conv2d", "an op of others"}, "bfloat16", "float32"),
        ("set_bfloat16_op", {"matmul_v2"}, "float32", "bfloat16"),
        ("set_bfloat16_op", ["fc"], "float32", "bfloat16"),
        ("set_bfloat16_op", set(), "bfloat16", "bfloat16"),
        ("exp_disable_mixed_precision_ops", {"conv2d"}, "float32", "bfloat16"),
        ("exp_enable_mixed_precision_ops", {"tanh"}, "bfloat16", "bfloat16"),
    ],
)
def test_which_ops_compute_in_bfloat16(call, names, conv, linear, tmp_path):
    path = str(tmp_path / "net")
    proa.jit.save(_conv_net(), path, [proa.static.InputSpec([None, 3, 8, 8], "float32", "x")])
    config = inference.Config(path)
    config.enable_mkldnn_bfloat16()
    getattr(config, call)(names)
    plan = inference.create_predictor(config)._engine.plan
    assert f"[8, 3, 3, 3] {conv}" in plan and f"[288, 5] {linear}" in plan, plan
    if call != "set_bfloat16_op":
        getattr(config, call)({"an op of others"})
        with pytest.raises(ValueError, match="no op called 'an op of others'"):
            inference.create_predictor(config)
    config = inference.Config(path)
    config.enable_mkldnn_bfloat16()
    config.enable_low_precision_io()
    got = inference.create_predictor(config).run([proa.zeros([1, 3, 8, 8], "bfloat16")])[0]
    assert got.dtype.name == "bfloat16"


def test_convert_to_mixed_precision(tmp_path):
    net = _conv_net()
    path = str(tmp_path / "net")
    proa.jit.save(net, path, [proa.static.InputSpec([None, 3, 8, 8], "float32", "x")])
    x = np.random.RandomState(0).randn(2, 3, 8, 8).astype("float32")
    want = net(proa.to_tensor(x)).numpy()
    old = [path + ".pdmodel", path + ".pdiparams"]
    new = [path + "_16.pdmodel", path + "_16.pdiparams"]
    for precision in (inference.PrecisionType.Bfloat16, inference.PrecisionType.Half):
        inference.convert_to_mixed_precision(*old, *new, precision, inference.PlaceType.CPU)
        got = _result(inference.create_predictor(inference.Config(*new)), x)
        assert got.dtype == np.float32 and abs(got - want).max() < 0.03 * abs(want).max()
        assert (tmp_path / "net_16.pdiparams").stat().st_size < 0.7 * (tmp_path / "net.pdiparams").stat().st_size
    inference.convert_to_mixed_precision(
        *old, *new, inference.PrecisionType.Half, keep_io_types=False, black_list={"conv2d"}
    )
    predictor = inference.create_predictor(inference.Config(*new))
    (got,) = predictor.run([x.astype("float16")])
    assert got.dtype.name == "float16" and abs(got.numpy() - want).max() < 0.03 * abs(want).max()
    assert "[8, 3, 3, 3] float32" in predictor._engine.plan
    for arguments, says in (
        ([*old, *new, inference.PrecisionType.Int8], "Half or Bfloat16"),
        ([*old, "a.pdmodel", "b.pdiparams"], "must be <prefix>.pdmodel"),
    ):
        with pytest.raises(ValueError, match=says):
            inference.convert_to_mixed_precision(*arguments)
    with pytest.raises(FileNotFoundError):
        inference.convert_to_mixed_precision(path + "x.pdmodel", path + "x.pdiparams", *new)


def _mapped(path, offset):
    """Bytes of a file that this process has mapped and holds for itself alone."""
    config = inference.Config(path)
    config.enable_memory_optim()
    predictor = inference.create_predictor(config)
    x = np.ones([1, 512], "float32")
    (got,) = predictor.run([x])
    lines, private = open("/proc/self/smaps", encoding="utf-8").read().splitlines(), None
    for i, line in enumerate(lines):
        if line.endswith("net.pdiparams"):
            fields = dict(part.split(":", 1) for part in lines[i + 1 : i + 20] if ":" in part)
            private = int(fields["Private_Dirty"].split()[0]), int(fields["Rss"].split()[0])
    offset.put((got.numpy().sum().item(), private))


def test_weights_stay_in_the_file(tmp_path):
    net = proa.nn.Linear(512, 1024)
    path = str(tmp_path / "net")
    proa.jit.save(net, path, [proa.static.InputSpec([None, 512], "float32", "x")])
    results = multiprocessing.get_context("spawn").Queue()
    process = multiprocessing.get_context("spawn").Process(target=_mapped, args=(path, results))
    process.start()
    total, (dirty, resident) = results.get(timeout=120)
    process.join()
    want = net(proa.ones([1, 512])).numpy().sum().item()
    assert abs(total - want) < 1e-3 and dirty == 0 and resident >= 2048
    # Saving over a model that is mapped is fine, and what the predictor has stays.
    config = inference.Config(path)
    config.enable_memory_optim()
    predictor = inference.create_predictor(config)
    proa.jit.save(proa.nn.Linear(512, 1024), path, [proa.static.InputSpec([None, 512], "float32", "x")])
    assert abs(predictor.run([np.ones([1, 512], "float32")])[0].numpy().sum().item() - want) < 1e-3
    damaged = (tmp_path / "net.pdiparams").read_bytes()[:-1]
    (tmp_path / "net.pdiparams").write_bytes(damaged)
    with pytest.raises(ValueError, match="truncated|belong"):
        inference.create_predictor(config)


def test_soak(model):
    """Memory stays, whatever the shapes are, and however many predictors come and go."""

    def resident():
        return int(open("/proc/self/statm", encoding="utf-8").read().split()[1]) * 4096

    predictor = inference.create_predictor(inference.Config(str(model[0])))
    sizes = np.random.RandomState(0).randint(1, 200, 5000)
    for n in sizes:
        predictor.run([np.ones([n, 3], "float32")])
    before = resident()
    for n in sizes:
        predictor.run([np.ones([n, 3], "float32")])
    for _ in range(1000):
        inference.create_predictor(inference.Config(str(model[0])))
    assert resident() - before < 8 << 20
