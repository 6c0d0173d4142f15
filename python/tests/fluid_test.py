"""The old namespace: programs of 1.x, files, readers, names, metrics."""

import numpy as np
import pytest

import proa
from proa import fluid
from proa.fluid import layers

_R = np.random.RandomState(0)
X = _R.randn(3, 4).astype("float32")
P = np.abs(X) + 0.1
IMAGE = _R.randn(2, 4, 6, 6).astype("float32")


def t(array):
    return proa.to_tensor(np.asarray(array))


_I = np.array([[1], [3], [0]])


def _regression():
    x = fluid.layers.data("x", [4])
    y = fluid.layers.data("y", [1])
    hidden = fluid.layers.fc(x, 8, act="tanh", param_attr=fluid.ParamAttr(initializer=fluid.initializer.Xavier()))
    prediction = fluid.layers.fc(hidden, 1)
    return x, y, prediction, fluid.layers.mean(fluid.layers.square_error_cost(prediction, y))


def test_a_program_of_1x(tmp_path):
    proa.enable_static()
    try:
        main, startup = fluid.Program(), fluid.Program()
        with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup), fluid.unique_name.guard():
            x, y, prediction, cost = _regression()
            rate = fluid.layers.exponential_decay(0.1, 100, 0.9)
            fluid.optimizer.AdamOptimizer(rate).minimize(cost)
            place = fluid.CPUPlace()
            exe = fluid.Executor(place)
            exe.run(startup)
            feeder = fluid.DataFeeder(feed_list=[x, "y"], place=place)
            rng = np.random.RandomState(1)
            samples = [(row, [row.sum()]) for row in rng.rand(16, 4).astype("float32")]
            reader = fluid.io.batch(fluid.io.shuffle(lambda: iter(samples), 16), 8)
            costs = []
            for _ in range(60):
                for batch in reader():
                    costs.append(exe.run(main, feed=feeder.feed(batch), fetch_list=[cost])[0].item())
            assert np.mean(costs[-4:]) < 0.05 * np.mean(costs[:4])
            folder = str(tmp_path / "inference")
            fluid.io.save_inference_model(folder, ["x"], [prediction], exe, main)
            program, names, targets = fluid.io.load_inference_model(folder, exe)
            feed = {names[0]: rng.rand(3, 4).astype("float32")}
            got = exe.run(program, feed=feed, fetch_list=targets)[0]
            want = exe.run(main, feed=feed, fetch_list=[prediction], use_prune=True)[0]
            np.testing.assert_allclose(got, want, rtol=1e-5)
            for save, load in ((fluid.io.save_params, fluid.io.load_params),
                               (fluid.io.save_persistables, fluid.io.load_persistables)):  # fmt: skip
                save(exe, str(tmp_path / "all"), main)
                save(exe, str(tmp_path / "one"), main, filename="params")
                exe.run(startup)
                load(exe, str(tmp_path / "one"), main, filename="params")
                load(exe, str(tmp_path / "all"), main)
                np.testing.assert_allclose(exe.run(main, feed, [prediction], use_prune=True)[0], want, rtol=1e-5)
    finally:
        proa.disable_static()


def test_saved_parameters_have_the_statistics(tmp_path):
    """As in the reference, where moving means are parameters: a model that is loaded predicts the same."""
    proa.enable_static()
    try:
        main, startup = fluid.Program(), fluid.Program()
        with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
            x = fluid.data("x", [None, 2])
            fluid.layers.batch_norm(x, moving_mean_name="middle", momentum=0.5)
            exe = fluid.Executor()
            exe.run(startup)
            exe.run(main, feed={"x": np.float32([[1, 3], [3, 5]])})
            fluid.io.save_params(exe, str(tmp_path / "all"), main)
        found = proa.load(str(tmp_path / "all"))
        assert len(found) == 4 and np.asarray(found["middle"]).tolist() == [1.0, 2.0]
        assert [p.trainable for p in main.all_parameters() if p.name == "middle"] == [False]
    finally:
        proa.disable_static()


def test_loaders_from_generators():
    loader = fluid.io.DataLoader.from_generator(capacity=4)
    loader.set_sample_generator(lambda: iter([(X[0], 1), (X[1], 2), (X[2], 3)]), 2, drop_last=False)
    batches = list(loader())
    assert [batch[0].shape for batch in batches] == [[2, 4], [1, 4]] and batches[0][1].tolist() == [1, 2]
    loader.set_batch_generator(lambda: iter([X, P]))
    assert [batch[0].shape for batch in loader] == [[3, 4], [3, 4]]
    with proa.static.program_guard(proa.static.Program()):
        x = fluid.data("x", [None, 4])
        loader = proa.io.DataLoader.from_generator(feed_list=[x], capacity=1, iterable=True)
    loader.set_sample_list_generator(lambda: iter([[(row,) for row in X]]))
    (batch,) = list(loader)
    assert list(batch[0]) == ["x"] and batch[0]["x"].shape == [3, 4]
    with pytest.raises(RuntimeError, match="call set_sample_generator"):
        list(fluid.io.DataLoader.from_generator())
    with pytest.raises(TypeError, match="reader must be a function"):
        loader.set_batch_generator([1])


def test_names_of_types_and_questions():
    kind = fluid.core.VarDesc.VarType
    assert t(X).dtype == kind.FP32 and t(_I).dtype == kind.INT64 and kind.LOD_TENSOR != kind.RAW
    assert not fluid.is_compiled_with_cuda() and not fluid.core.is_compiled_with_rocm()
    assert issubclass(fluid.core.EOFException, Exception) and issubclass(fluid.core.EnforceNotMet, RuntimeError)
    assert fluid.framework.Variable is proa.Tensor and fluid.framework.in_dygraph_mode()
    with fluid.dygraph.guard(fluid.CPUPlace()):
        assert fluid.dygraph.enabled() and fluid.dygraph.to_variable(X).shape == [3, 4]
    fluid.require_version("0.0.1")
    with pytest.raises(TypeError, match="must be of float32"):
        fluid.data_feeder.check_variable_and_dtype(t(_I), "x", ["float32"], "example")
    assert layers.utils.map_structure(lambda v: v + 1, {"a": [1, (2, 3)]}) == {"a": [2, (3, 4)]}
    assert layers.utils.flatten([1, [2, {"b": 4, "a": 3}]]) == [1, 2, 3, 4]
    assert list(proa.utils.map_structure(lambda v: v, {"b": 4, "a": 3})) == ["b", "a"]
    assert proa.utils.pack_sequence_as({"b": [1, (2,)], "a": 4}, [10, 20, 30]) == {"b": [20, (30,)], "a": 10}
    with pytest.raises(ValueError, match="number of elements"):
        layers.utils.assert_same_structure([1, 2], [1])


def test_sequences_with_lengths():
    tensor = fluid.create_lod_tensor(np.arange(5).reshape(5, 1), [[2, 3]], fluid.CPUPlace())
    assert tensor.lod() == [[0, 2, 5]] and np.array(tensor).shape == (5, 1)
    assert fluid.create_random_int_lodtensor([[1, 2]], [2], None, 0, 3).shape() == [3, 2]
    with pytest.raises(ValueError, match="lengths"):
        fluid.create_lod_tensor(np.zeros([4, 1]), [[2, 3]])


def test_metrics():
    accuracy = fluid.metrics.Accuracy()
    accuracy.update(0.5, 2)
    accuracy.update(np.array([1.0]), 2)
    assert accuracy.eval() == 0.75
    precision, recall = fluid.metrics.Precision(), fluid.metrics.Recall()
    both = fluid.metrics.CompositeMetric()
    both.add_metric(precision), both.add_metric(recall)
    both.update(np.array([0.9, 0.8, 0.2]), np.array([1, 0, 1]))
    assert both.eval() == [0.5, 0.5]
    both.reset()
    assert both.eval() == [0.0, 0.0]
    distance = fluid.metrics.EditDistance()
    distance.update(np.array([0.0, 2.0]), 2)
    assert distance.eval() == (1.0, 0.5)
    with pytest.raises(ValueError, match="no data"):
        fluid.metrics.Accuracy().eval()


def test_one_file_of_parameters_is_read_by_its_name(tmp_path):
    """`save_params` into one file, and no program beside it."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        fluid.layers.fc(fluid.data("x", [None, 4]), 2)
        executor = fluid.Executor(fluid.CPUPlace())
        executor.run(startup)
        fluid.io.save_params(executor, str(tmp_path), main, "all")
    found = proa.load(str(tmp_path), params_filename="all")
    assert {name: list(value.shape) for name, value in found.items()} == {"fc_0.w_0": [4, 2], "fc_0.b_0": [2]}
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        proa.load(str(tmp_path), params_filename="none")
