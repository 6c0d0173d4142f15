"""Functions of static mode that make parameters, scopes, startup programs, files of programs, metrics."""

import numpy as np
import pytest

import proa
from proa import static
from proa.nn import functional as F


def _run(build, feed, extra=()):
    """(fetched values, program, results) of a program built inside of a guard, in a scope of its own."""
    main, startup = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        results = build()
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        executor = static.Executor()
        executor.run(startup)
        return executor.run(main, feed=feed, fetch_list=results), main


_X = np.random.RandomState(0).randn(3, 4, 6, 6).astype("float32")


def _parameters(main):
    return {name: proa.to_tensor(tensor.numpy()) for name, tensor in main.state_dict().items()}


def _data(shape=(None, 4, 6, 6), name="x"):
    return static.data(name, list(shape))


def test_fc():
    (got,), main = _run(lambda: static.nn.fc(_data(), 5, activation="tanh", name="head"), {"x": _X})
    p = _parameters(main)
    assert sorted(p) == ["head.b_0", "head.w_0"] and p["head.w_0"].shape == [144, 5]
    np.testing.assert_allclose(got, np.tanh(_X.reshape(3, -1) @ p["head.w_0"].numpy()), rtol=1e-5, atol=1e-6)
    (got,), main = _run(lambda: static.nn.fc([_data()] * 2, 2, num_flatten_dims=3, bias_attr=False), {"x": _X})
    a, b = (value.numpy() for value in _parameters(main).values())
    np.testing.assert_allclose(got, _X @ a + _X @ b, rtol=1e-5, atol=1e-5)


_LAYERS = {
    "conv2d": (
        lambda x: static.nn.conv2d(x, 8, 3, stride=2, padding=1, groups=2, act="relu"),
        lambda x, w, b: F.relu(F.conv2d(x, w, b, 2, 1, groups=2)),
    ),
    "conv2d_transpose": (
        lambda x: static.nn.conv2d_transpose(x, 2, filter_size=3, stride=2),
        lambda x, w, b: F.conv2d_transpose(x, w, b, 2),
    ),
    "conv2d_transpose to a size": (
        lambda x: static.nn.conv2d_transpose(x, 2, output_size=[13, 13], stride=2),
        lambda x, w, b: F.conv2d_transpose(x, w, b, 2),
    ),
    "layer_norm": (
        lambda x: static.nn.layer_norm(x, begin_norm_axis=1),
        lambda x, w, b: F.layer_norm(x, [4, 6, 6], w.reshape([4, 6, 6]), b.reshape([4, 6, 6])),
    ),
    "group_norm": (lambda x: static.nn.group_norm(x, 2), lambda x, w, b: F.group_norm(x, 2, 1e-5, w, b)),
    "instance_norm": (static.nn.instance_norm, lambda x, w, b: F.instance_norm(x, weight=w, bias=b)),
    "prelu": (lambda x: static.nn.prelu(x, "channel"), F.prelu),
    "prelu of elements": (lambda x: static.nn.prelu(x, "element"), lambda x, w: F.relu(x) - w * F.relu(-x)),
}


@pytest.mark.parametrize("name", _LAYERS)
def test_layers_are_the_functions(name):
    build, function = _LAYERS[name]
    (got,), main = _run(lambda: build(_data((3, 4, 6, 6))), {"x": _X})
    parameters = sorted(_parameters(main).items(), key=lambda item: item[0].endswith("b_0"))
    np.testing.assert_allclose(got, function(proa.to_tensor(_X), *[p for _, p in parameters]).numpy(), atol=1e-5)


def test_conv3d_and_row_conv():
    x = np.random.RandomState(1).randn(2, 3, 4, 5, 5).astype("float32")
    (got,), main = _run(lambda: static.nn.conv3d(_data((2, 3, 4, 5, 5)), 2, 3), {"x": x})
    p = _parameters(main)
    w, b = (next(v for k, v in p.items() if k.endswith(end)) for end in ("w_0", "b_0"))
    np.testing.assert_allclose(got, F.conv3d(proa.to_tensor(x), w, b).numpy(), atol=1e-5)
    rows = np.random.RandomState(1).randn(2, 5, 3).astype("float32")
    (got,), main = _run(lambda: static.nn.row_conv(_data((None, 5, 3)), 2), {"x": rows})
    (w,) = (value.numpy() for value in _parameters(main).values())
    padded = np.pad(rows, ((0, 0), (0, 2), (0, 0)))
    want = sum(padded[:, i : i + 5] * w[i] for i in range(3))
    np.testing.assert_allclose(got, want, atol=1e-5)


def test_batch_norm_learns_statistics_and_uses_them():
    (got,), main = _run(lambda: static.nn.batch_norm(_data(), name="bn", act="relu"), {"x": _X})
    mean, variance = _X.mean((0, 2, 3)), _X.var((0, 2, 3))
    want = (_X - mean[:, None, None]) / np.sqrt(variance[:, None, None] + 1e-5)
    np.testing.assert_allclose(got, np.maximum(want, 0), atol=1e-4)
    p = _parameters(main)
    assert sorted(p) == ["bn.b_0", "bn.w_0", "bn.w_1", "bn.w_2"]
    np.testing.assert_allclose(p["bn.w_1"].numpy(), mean * 0.1, atol=1e-6)
    (got,), _ = _run(lambda: static.nn.batch_norm(_data(), is_test=True), {"x": _X})
    np.testing.assert_allclose(got, _X / np.sqrt(1 + 1e-5), rtol=1e-5)


def test_training_a_program_with_fc():
    rng = np.random.RandomState(0)
    x = rng.randn(32, 4).astype("float32")
    y = (x @ np.array([[1.0], [-2.0], [3.0], [0.5]], "float32")) + 0.25
    main, startup = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        prediction = static.nn.fc(_data((None, 4)), 1, weight_attr=proa.ParamAttr(name="slope"), bias_attr="offset")
        loss = F.mse_loss(prediction, _data((None, 1), "y"))
        proa.optimizer.SGD(0.1).minimize(loss)
        executor = static.Executor()
        executor.run(startup)
        losses = [executor.run(main, feed={"x": x, "y": y}, fetch_list=[loss])[0].item() for _ in range(150)]
        assert losses[-1] < 1e-4 * losses[0]
        found = static.global_scope().find_var("slope").get_tensor()
        np.testing.assert_allclose(np.array(found).ravel(), [1, -2, 3, 0.5], atol=0.02)
        executor.run(startup)  # starts anew
        assert executor.run(main, feed={"x": x, "y": y}, fetch_list=[loss])[0].item() > 0.1


def test_names_share_parameters():
    def twice():
        attr = proa.ParamAttr(name="shared")
        x = _data((None, 4))
        return static.nn.fc(x, 4, weight_attr=attr), static.nn.fc(x, 4, weight_attr=attr)

    (a, b), main = _run(twice, {"x": _X[0, :, 0, :4].copy()})
    np.testing.assert_array_equal(a, b)
    assert [name for name in main.state_dict() if name == "shared"] == ["shared"]


def test_scopes():
    scope = static.Scope()
    with static.scope_guard(scope), static.program_guard(static.Program()):
        static.nn.fc(_data((None, 2)), 2, weight_attr=proa.ParamAttr(name="in_this_scope"))
        assert static.global_scope() is scope
    assert static.global_scope() is not scope
    variable = scope.find_var("in_this_scope")
    variable.get_tensor().set(np.eye(2, dtype="float32"), proa.CPUPlace())
    assert np.array(variable.get_tensor()).tolist() == [[1, 0], [0, 1]] and variable.get_tensor().shape() == [2, 2]
    assert scope.find_var("nothing") is None and scope.var("nothing").name() == "nothing"
    with pytest.raises(ValueError, match="in_this_scope is"):
        variable.get_tensor().set(np.zeros([3], "float32"))
    with pytest.raises(RuntimeError, match="has no value"):
        scope.find_var("nothing").get_tensor().shape()
    with pytest.raises(TypeError, match="must be a Scope"), static.scope_guard(3):
        pass


def test_files(tmp_path):
    x = _X[0, :, 0, :4].copy()
    main = static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main):
        y = static.nn.fc(_data((None, 4)), 3)
        executor = static.Executor()
        (want,) = executor.run(main, feed={"x": x}, fetch_list=[y])
        path = str(tmp_path / "folder" / "model")
        static.save(main, path)
        kept = static.load_program_state(path)
        for tensor in main.all_parameters():
            with proa.no_grad():
                static.global_scope().find_var(tensor.name).get_tensor().set(np.zeros(tensor.shape, "float32"))
        assert not executor.run(main, feed={"x": x}, fetch_list=[y])[0].any()
        static.load(main, path, executor)
        np.testing.assert_array_equal(executor.run(main, feed={"x": x}, fetch_list=[y])[0], want)
        with pytest.warns(UserWarning, match="unknown"):
            static.set_program_state(main, {**kept, "unknown": want})
        data = static.serialize_program([main.var("x")], [y]), static.serialize_persistables([main.var("x")], [y])
        loaded = static.deserialize_persistables(static.deserialize_program(data[0]), data[1])
        got = executor.run(loaded, feed={"x": x}, fetch_list=loaded.fetch_targets())
        np.testing.assert_allclose(got[0], want, rtol=1e-6)
    with pytest.raises(FileNotFoundError, match="there is no"):
        static.load(main, str(tmp_path / "nothing"))


def test_metrics_against_counting():
    rng = np.random.RandomState(3)
    scores = rng.rand(50, 2).astype("float32")
    scores /= scores.sum(1, keepdims=True)
    labels = (rng.rand(50, 1) < scores[:, 1:]).astype("int64")
    main = static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main):
        x, y = _data((None, 2)), static.data("y", [None, 1], "int64")
        results = [static.accuracy(x, y), *static.auc(x, y)[:2], static.auc(x, y, "PR")[1]]
        executor = static.Executor()
        for part in (slice(0, 20), slice(20, 50)):
            got = executor.run(main, feed={"x": scores[part], "y": labels[part]}, fetch_list=results)
    part = slice(20, 50)
    assert got[0].item() == pytest.approx((scores[part].argmax(1) == labels[part, 0]).mean())

    def area(s, t):
        high, low = s[t == 1], s[t == 0]
        return np.mean((high[:, None] > low) + 0.5 * (high[:, None] == low))

    assert got[1].item() == pytest.approx(area(scores[:, 1], labels[:, 0]), abs=2e-3)
    assert got[2].item() == pytest.approx(area(scores[part, 1], labels[part, 0]), abs=2e-3)
    assert 0.0 < got[3].item() <= 1.0


def test_choices():
    def of(number):
        x = static.data("x", [1])
        i = static.data("i", [1], "int64")
        a = static.nn.switch_case(i, {1: lambda: x + 1.0, 3: lambda: x + 3.0}, lambda: x * 0.0)
        b = static.nn.case([(x > 5.0, lambda: x), (x > 0.0, lambda: x * 2.0)], lambda: -x)
        return a, b

    for x, i, want in ((2.0, 1, (3.0, 4.0)), (9.0, 3, (12.0, 9.0)), (-2.0, 7, (0.0, 2.0))):
        got, _ = _run(lambda: of(0), {"x": np.array([x], "float32"), "i": np.array([i])})
        assert (got[0].item(), got[1].item()) == want
    with pytest.raises(ValueError, match="each number"):
        static.nn.switch_case(proa.to_tensor(1), [(1, lambda: 0), (1, lambda: 0)])


def test_averages_of_parameters():
    w = proa.create_parameter([2], "float32")
    average = static.ExponentialMovingAverage(0.5)
    average.follow([w])
    total, power = np.zeros(2), 1.0
    for step in range(3):
        w.set_value(np.array([step, 2.0 * step], "float32"))
        average.update()
        total, power = total * 0.5 + np.array([step, 2.0 * step]) * 0.5, power * 0.5
    with average.apply():
        np.testing.assert_allclose(w.numpy(), total / (1 - power), rtol=1e-6)
    assert w.tolist() == [2.0, 4.0]


def test_settings_and_places():
    build = static.BuildStrategy()
    build.fuse_bn_act_ops = True
    build.reduce_strategy = static.BuildStrategy.ReduceStrategy.Reduce
    with pytest.raises(AttributeError, match="no setting 'nothing'"):
        build.nothing = 1
    main = static.Program()
    with static.program_guard(main):
        y = _data((None, 2)) * 2.0
    compiled = static.CompiledProgram(main).with_data_parallel(loss_name="loss", build_strategy=build)
    x = np.ones([1, 2], "float32")
    assert static.Executor().run(compiled, feed={"x": x}, fetch_list=[y])[0].tolist() == [[2.0, 2.0]]
    assert static.ParallelExecutor(main_program=main).run([y], {"x": x})[0].tolist() == [[2.0, 2.0]]
    with pytest.raises(ValueError, match="use_cuda=False"):
        static.ParallelExecutor(use_cuda=True)
    assert static.cuda_places() == [] and len(static.cpu_places(2)) == 2
    with static.device_guard("cpu"):
        pass


def test_eager_mode_says_what_to_do():
    x = proa.ones([2, 3])
    for call in (lambda: static.nn.fc(x, 2), lambda: static.nn.batch_norm(x), lambda: static.nn.prelu(x, "all")):
        with pytest.raises(RuntimeError, match="use paddle.nn"):
            call()
    with static.program_guard(static.Program()):
        y = static.data("y", [None, None])
        with pytest.raises(ValueError, match="sizes that are known"):
            static.nn.fc(y, 3)
        with pytest.raises(ValueError, match="num_flatten_dims is 2"):
            static.nn.fc(y, 3, num_flatten_dims=2)


def test_a_clone_for_tests_changes_no_parameter():
    main, startup = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        loss = static.nn.fc(_data((None, 4)), 3).mean()
        test = main.clone(for_test=True)
        proa.optimizer.SGD(0.1).minimize(loss)
        executor = static.Executor()
        executor.run(startup)
        feed = {"x": np.ones([2, 4], "float32")}
        first, second = (executor.run(test, feed=feed, fetch_list=[loss])[0] for _ in range(2))
        trained = executor.run(main, feed=feed, fetch_list=[loss])[0]
        assert first == second == trained
        assert executor.run(test, feed=feed, fetch_list=[loss])[0] < first


def test_a_clone_for_tests_evaluates(tmp_path):
    x = np.random.RandomState(5).randn(16, 4).astype("float32") * 3 + 1
    main, startup = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        data, unused = _data((None, 4)), _data((None, 1), "unused")
        norm = static.nn.batch_norm(data, name="bn_eval", act="relu")
        out = F.dropout(norm, 0.5) * 2.0 + 0.0 * unused.sum()
        test = main.clone(for_test=True)
        proa.optimizer.SGD(0.1).minimize(out.mean())
        executor = static.Executor()
        executor.run(startup)
        feed = {"x": x, "unused": np.zeros([16, 1], "float32")}
        for _ in range(3):
            executor.run(main, feed=feed, fetch_list=[out])
        p = _parameters(main)
        want = (x - p["bn_eval.w_1"].numpy()) / np.sqrt(p["bn_eval.w_2"].numpy() + 1e-5) * p["bn_eval.w_0"].numpy() + p[
            "bn_eval.b_0"
        ].numpy()
        for _ in range(2):
            got = executor.run(test, feed=feed, fetch_list=[out, norm, main.var("bn_eval.w_1")])
            np.testing.assert_allclose(got[0], 2 * np.maximum(want, 0), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(got[1], np.maximum(want, 0), rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(got[2], p["bn_eval.w_1"].numpy())
        static.save_inference_model(str(tmp_path / "model"), [data], [norm])
        program, names, targets = static.load_inference_model(str(tmp_path / "model"))
        (loaded,) = executor.run(program, feed={names[0]: x}, fetch_list=targets)
        np.testing.assert_allclose(loaded, np.maximum(want, 0), rtol=1e-4, atol=1e-5)
        assert not np.allclose(executor.run(main, feed=feed, fetch_list=[norm])[0], np.maximum(want, 0), atol=1e-2)
