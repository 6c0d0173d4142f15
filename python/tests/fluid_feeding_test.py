"""What programs of 1.x are fed and what they give: sequences from lists of samples, readers, fetched lengths, means of parameters."""

import numpy as np
import pytest

import proa
from proa import fluid
from proa.fluid import layers

SAMPLES = [([1, 2, 3], 0), ([4], 1), ([2, 2, 0, 1], 1)]


@pytest.fixture(autouse=True)
def program():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        yield main


def _network(columns=4):
    """Words as bags: (inputs, loss, what is pooled)."""
    words = fluid.layers.data("words", [1], dtype="int64", lod_level=1)
    label = fluid.layers.data("label", [1], dtype="int64")
    pooled = layers.sequence_pool(layers.embedding(words, [5, columns], param_attr="table"), "sum")
    scores = layers.fc(pooled, 2, act="softmax", param_attr="weight")
    return [words, label], layers.mean(layers.cross_entropy(scores, label)), pooled


def test_a_feeder_makes_sequences():
    inputs, loss, pooled = _network()
    feeder = fluid.DataFeeder(feed_list=inputs, place=fluid.CPUPlace())
    feed = feeder.feed(SAMPLES)
    assert isinstance(feed["words"], fluid.LoDTensor) and feed["words"].shape() == [8, 1]
    assert feed["words"].recursive_sequence_lengths() == [[3, 1, 4]] and feed["words"].lod() == [[0, 3, 4, 8]]
    assert feed["label"].tolist() == [[0], [1], [1]]
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    table = np.array(fluid.global_scope().find_var("table").get_tensor())
    (found,) = executor.run(fluid.default_main_program(), feed=feed, fetch_list=[pooled])
    np.testing.assert_allclose(found, [table[words].sum(0) for words, _ in SAMPLES], rtol=1e-6)


def test_two_levels():
    nested = fluid.data("nested", [None, 2], "float32", lod_level=2)
    feed = fluid.DataFeeder([nested]).feed([([[[1, 2], [3, 4]], [[5, 6]]],), ([[[7, 8]]],)])["nested"]
    assert feed.recursive_sequence_lengths() == [[2, 1], [2, 1, 1]]
    assert np.asarray(feed).tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    with pytest.raises(
        ValueError, match="'nested': it has lod_level 2, so a sample is a list nested 2 deep; one is not at level 1"
    ):
        fluid.DataFeeder([nested]).feed([([1.0, 2.0],)])
    with pytest.raises(ValueError, match=r"feed of 'x', \[-1, 3\] float32: the samples do not fit"):
        fluid.DataFeeder([fluid.data("x", [None, 3])]).feed([([1.0, 2.0],)])


@pytest.mark.parametrize("how", ["py_reader", "from_generator", "iterable"])
def test_readers_of_sequences(how):
    inputs, loss, pooled = _network()
    batches = lambda: iter([SAMPLES, SAMPLES[:2]])
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    main = fluid.default_main_program()
    table = np.array(fluid.global_scope().find_var("table").get_tensor())
    wanted = [[table[words].sum(0) for words, _ in batch] for batch in batches()]
    if how == "iterable":
        loader = fluid.io.DataLoader.from_generator(inputs, capacity=4, iterable=True)
        loader.set_sample_list_generator(batches, places=fluid.CPUPlace())
        found = [executor.run(main, feed=feed, fetch_list=[pooled])[0] for feed in loader()]
    else:
        if how == "py_reader":
            reader = layers.create_py_reader_by_data(4, inputs)
            reader.decorate_paddle_reader(batches)
        else:
            reader = fluid.io.DataLoader.from_generator(inputs, capacity=4, iterable=False)
            reader.set_sample_list_generator(batches)
        reader.start()
        found = []
        with pytest.raises(fluid.core.EOFException):
            while True:
                found += executor.run(main, fetch_list=[pooled])
        reader.reset()
    assert len(found) == 2
    for value, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(value, want, rtol=1e-6)


def test_what_is_fetched_has_its_sequences():
    x = fluid.layers.data("x", [2], lod_level=1)
    y = layers.sequence_reverse(x)
    total = layers.sequence_pool(x, "sum")
    rows = np.arange(8, dtype="float32").reshape(4, 2)
    feed = {"x": fluid.create_lod_tensor(rows, [[1, 3]])}
    executor = fluid.Executor()
    value, pooled = executor.run(feed=feed, fetch_list=[y, total], return_numpy=False)
    assert value.lod() == [[0, 1, 4]] and np.array(value).tolist() == rows[[0, 3, 2, 1]].tolist()
    assert np.array(pooled).tolist() == [[0, 1], [12, 15]] and not isinstance(pooled, fluid.LoDTensor)
    # As it came, it is fed again.
    (again,) = executor.run(feed={"x": value}, fetch_list=[y])
    assert again.tolist() == rows.tolist()


def test_a_schedule_is_fetched():
    x = fluid.data("x", [None, 2])
    loss = layers.mean(layers.fc(x, 1))
    rate = layers.piecewise_decay([2, 3], [0.5, 0.25, 0.125])
    fluid.optimizer.SGD(rate).minimize(loss)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    feed = {"x": np.ones([1, 2], "float32")}
    found = [executor.run(feed=feed, fetch_list=[loss, rate])[1].tolist() for _ in range(4)]
    assert found == [[0.5], [0.5], [0.25], [0.125]]


@pytest.mark.parametrize("window", [(2, 3), (100, 100)])
def test_means_of_parameters(window):
    """After steps of SGD: the mean over the windows, in the scope of now, and back again."""
    x = fluid.data("x", [None, 2])
    loss = layers.reduce_mean(layers.square(layers.fc(x, 1, param_attr="w", bias_attr=False)))
    fluid.optimizer.SGD(0.1).minimize(loss)
    average = fluid.optimizer.ModelAverage(0.5, min_average_window=window[0], max_average_window=window[1])
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    for scope in (fluid.global_scope(), fluid.Scope()):
        with fluid.scope_guard(scope):
            executor = fluid.Executor()
            executor.run(startup)
            weight = scope.find_var("w").get_tensor()
            values = []
            for step in range(7):
                executor.run(main, feed={"x": np.float32([[1, step]])}, fetch_list=[loss])
                values.append(np.array(weight))
            kept, now = [], []
            for number, value in enumerate(values, 1):
                now.append(value)
                if len(now) >= window[0] and len(now) >= min(window[1], number * 0.5):
                    kept, now = now, []
            with average.apply(executor):
                np.testing.assert_allclose(np.array(weight), np.mean(kept + now, 0), rtol=1e-5)
            np.testing.assert_array_equal(np.array(weight), values[-1])
            with average.apply(executor, need_restore=False):
                pass
            assert np.abs(np.array(weight) - values[-1]).max() > 0
            average.restore(executor)
            np.testing.assert_array_equal(np.array(weight), values[-1])


def test_sequences_of_several_inputs():
    """The sum of layers of inputs that bring lengths each has the sequences of the first; so have sums by operators."""
    a, b = (fluid.layers.data(name, [2], lod_level=1) for name in "ab")
    sums = [layers.sums([a, b]), a + layers.relu(b), layers.elementwise_add(a, b, act="relu"), layers.fc([a, b], 2)]
    assert [s.lod_level for s in sums] == [1] * 4 and (a.astype("int64") * 2).lod_level == 1
    pooled = [layers.sequence_pool(layers.concat([s, a], axis=1), "sum") for s in sums[:3]]
    rows = np.arange(8, dtype="float32").reshape(4, 2)
    feed = {name: fluid.create_lod_tensor(rows, [[1, 3]]) for name in "ab"}
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    for found in executor.run(feed=feed, fetch_list=pooled):
        assert found.tolist() == [[0, 2, 0, 1], [24, 30, 12, 15]]


def test_a_saved_model_gives_sequences(tmp_path):
    words = fluid.data("words", [None, 1], "int64", lod_level=1)
    rows = layers.embedding(words, [5, 3])
    pooled = layers.sequence_pool(rows, "max")
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    feed = {"words": fluid.create_lod_tensor(np.int64([[1], [2], [3]]), [[2, 1]])}
    wanted = executor.run(feed=feed, fetch_list=[pooled, rows])
    fluid.io.save_inference_model(str(tmp_path), ["words"], [pooled, rows], executor)
    program, names, targets = fluid.io.load_inference_model(str(tmp_path), executor)
    assert names == ["words"] and len(targets) == 2
    found = executor.run(program, feed=feed, fetch_list=targets, return_numpy=False)
    for value, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.array(value), want)
    assert found[1].lod() == [[0, 2, 3]] and not hasattr(found[0], "lod")
    (by_name,) = executor.run(program, feed=feed, fetch_list=[targets[1].name])
    np.testing.assert_array_equal(by_name, wanted[1])
    (by_place,) = executor.run(program, feed=feed, fetch_list=["output_1"])  # as files of before called it
    np.testing.assert_array_equal(by_place, wanted[1])
    with pytest.raises(ValueError, match=f"the loaded program has no result 'none'; it has {pooled.name}, {rows.name}"):
        executor.run(program, feed=feed, fetch_list=["none"])
    with pytest.raises(TypeError, match="a list of one dict; it is a list of 2 items"):
        executor.run(feed=[feed, feed], fetch_list=[pooled])


def test_chunks_of_batches():
    chunks = fluid.metrics.ChunkEvaluator()
    assert chunks.eval() == (0.0, 0.0, 0.0)
    for counts in ((3, 4, 2), (np.array([1]), np.array([2]), np.array([1]))):
        chunks.update(*counts)
    assert chunks.eval() == pytest.approx((0.75, 0.5, 0.6))


def test_files_have_the_names_that_were_asked_for(tmp_path):
    """As scripts of 1.x open them: for the executor, and for predictors of their time."""
    a, b = fluid.data("a", [None, 2]), fluid.data("b", [None, 2])
    out = layers.fc(a, 3) + layers.fc(b, 3)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    feed = {"a": np.float32([[1, 2]]), "b": np.float32([[3, 4]])}
    (wanted,) = executor.run(feed=feed, fetch_list=[out])
    for model, params in (("__model__", "__params__"), ("net.pdmodel", "net.pdiparams"), ("model", None), (None, None)):
        folder = tmp_path / f"{model}{params}"
        fluid.io.save_inference_model(
            str(folder), ["a", "b"], [out], executor, model_filename=model, params_filename=params
        )
        if params is not None:
            assert {file.name for file in folder.iterdir()} == {model, params}
        program, names, targets = fluid.io.load_inference_model(str(folder), executor, model, params)
        assert executor.run(program, feed=feed, fetch_list=targets)[0].tolist() == wanted.tolist() and names == [
            "a",
            "b",
        ]
    folder = tmp_path / "__model____params__"
    config = fluid.core.AnalysisConfig(str(folder / "__model__"), str(folder / "__params__"))
    config.disable_gpu()
    config.switch_use_feed_fetch_ops(False)
    predictor = fluid.core.create_paddle_predictor(config)
    tensors = [fluid.core.PaddleTensor(feed[name], name) for name in "ba"]
    (found,) = predictor.clone().run(tensors)
    np.testing.assert_allclose(found.as_ndarray(), wanted, rtol=1e-6)
    assert found.shape == [1, 3] and found.data.tolist() == found.as_ndarray().ravel().tolist()
    for name, value in feed.items():
        predictor.get_input_tensor(name).copy_from_cpu(value)
    predictor.zero_copy_run()
    np.testing.assert_allclose(
        predictor.get_output_tensor(predictor.get_output_names()[0]).copy_to_cpu(), wanted, rtol=1e-6
    )
    with pytest.raises(ValueError, match=r"the model takes 2 inputs \(a, b\), not 1"):
        predictor.run(tensors[:1])


def test_averages_of_batches():
    average = fluid.average.WeightedAverage()
    with pytest.raises(ValueError, match="there is no data"):
        average.eval()
    average.add(np.array([1.0, 3.0]), 1)
    average.add(np.array([5.0, 7.0]), 3)
    assert average.eval().tolist() == [4.0, 6.0]
    with pytest.raises(ValueError, match="weight must be a number or an array, not str"):
        average.add(1.0, "2")
    average.reset()
    average.add(2, 2)
    assert average.eval() == 2


def test_mixed_precision_by_its_old_name():
    """A script of 1.8 that decorates its optimizer trains; float32 without it gives nearly the same losses."""
    losses = []
    for mixed in (False, True):
        main, startup = fluid.Program(), fluid.Program()
        with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
            proa.seed(3)
            x, y = fluid.data("x", [None, 8]), fluid.data("y", [None, 1])
            hidden = layers.fc(x, 16, act="relu")
            loss = layers.mean(layers.square_error_cost(layers.fc(hidden, 1), y))
            optimizer = fluid.optimizer.Adam(0.02)
            if mixed:
                optimizer = fluid.contrib.mixed_precision.decorate(optimizer, init_loss_scaling=8.0)
            optimizer.minimize(loss)
            executor = fluid.Executor()
            executor.run(startup)
            feed = {"x": np.linspace(-1, 1, 32, dtype="float32").reshape(4, 8), "y": np.float32([[0], [1], [2], [3]])}
            losses.append([executor.run(main, feed=feed, fetch_list=[loss])[0].item() for _ in range(20)])
    assert losses[1][-1] < losses[1][0] / 2
    np.testing.assert_allclose(losses[1], losses[0], rtol=0.05, atol=0.02)
