"""normalize_program: a copy that computes what is fetched, as in a test, and trains nothing."""

import numpy as np
import pytest

import proa
from proa import static

_X = np.random.RandomState(0).randn(4, 3).astype("float32")


def _training():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 3])
        label = static.data("label", [None, 1])
        hidden = proa.nn.functional.dropout(static.nn.fc(x, 8, activation="relu"), 0.5)
        y = static.nn.fc(hidden, 1)
        loss = ((y - label) ** 2).mean()
        proa.optimizer.SGD(0.1).minimize(loss)
    return main, startup, x, label, y, loss


@pytest.fixture(autouse=True)
def _own_scope():
    with static.scope_guard(static.Scope()):
        yield


def test_it_trains_nothing_and_drops_nothing_out(tmp_path):
    main, startup, x, label, y, loss = _training()
    executor = static.Executor()
    executor.run(startup)
    test = static.normalize_program(main, [x], [y])
    before = {name: np.array(v) for name, v in main.state_dict("param").items()}
    found = [executor.run(test, feed={"x": _X}, fetch_list=[y])[0] for _ in range(3)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    for name, value in main.state_dict("param").items():
        np.testing.assert_array_equal(np.array(value), before[name])
    w0, b0, w1, b1 = before.values()
    np.testing.assert_allclose(found[0], np.maximum(_X @ w0 + b0, 0) @ w1 + b1, rtol=1e-4, atol=1e-5)
    static.save_inference_model(str(tmp_path / "net"), [x], [y], executor, program=test)
    again, names, targets = static.load_inference_model(str(tmp_path / "net"), executor)
    assert names == ["x"]
    assert [(t.name, t.shape, t.dtype) for t in targets] == [(y.name, list(y.shape), proa.float32)]
    np.testing.assert_allclose(executor.run(again, feed={"x": _X}, fetch_list=targets)[0], found[0], rtol=1e-6)
    # The program itself trains on, and the copy sees it.
    executor.run(main, feed={"x": _X, "label": _X[:, :1]}, fetch_list=[loss])
    assert not np.array_equal(executor.run(test, feed={"x": _X}, fetch_list=[y])[0], found[0])


def test_of_a_copy_by_the_tensors_of_the_first():
    main, startup, x, _, y, _ = _training()
    executor = static.Executor()
    executor.run(startup)
    copy = main.clone()
    found = [
        executor.run(static.normalize_program(p, [x], [y]), feed={"x": _X}, fetch_list=[y])[0] for p in (main, copy)
    ]
    np.testing.assert_array_equal(*found)


def test_what_is_not_of_the_program():
    main, _, x, _, y, _ = _training()
    with static.program_guard(static.Program()):
        other = static.data("x", [None, 3]) + 1.0
    with pytest.raises(ValueError, match="fetch_vars has a tensor .* that is no value of this program"):
        static.normalize_program(main, [x], [other])
    with pytest.raises(ValueError, match="of feed_vars is no input of the program"):
        static.normalize_program(main, [y], [y])
    with pytest.raises(TypeError, match="normalize_program: fetch_vars must be tensors of the program, not str"):
        static.normalize_program(main, [x], "y")
    with pytest.raises(TypeError, match="normalize_program: program must be a Program, not int"):
        static.normalize_program(3, [x], [y])


def test_what_is_not_fetched_is_gone():
    main, startup, x, label, y, loss = _training()
    executor = static.Executor()
    executor.run(startup)
    test = static.normalize_program(main, [x], [y])
    listed = [op.type for op in test.global_block().ops]
    assert "sgd_" not in listed and "mean" not in listed and len(listed) < len(main.global_block().ops) / 2
    assert [op.type for op in main.global_block().ops].count("sgd_") > 0  # the program stays as it is
    executor.run(test, feed={"x": _X}, fetch_list=[y.name])
    with pytest.raises((ValueError, RuntimeError)):
        executor.run(test, feed={"x": _X, "label": _X[:, :1]}, fetch_list=[loss])
    again = static.normalize_program(test, [x], [y])
    assert len(again.global_block().ops) == len(listed)


def test_prints_of_what_is_fed_stay(capsys):
    main = static.Program()
    with static.program_guard(main):
        x, label = static.data("x", [2]), static.data("label", [2])
        static.Print(x, message="of x")
        static.Print(label, message="of label")
        y = x * 2.0
    test = static.normalize_program(main, [x], [y])
    executor = static.Executor()
    assert executor.run(test, feed={"x": _X[0, :2]}, fetch_list=[y])[0].shape == (2,)
    text = capsys.readouterr().out
    assert "of x" in text and "of label" not in text


def test_a_result_is_found_by_its_name():
    main = static.Program()
    with static.program_guard(main):
        y = static.data("x", [2]) * 2.0
        y.name = "twice"
        more = main.global_block().var("twice") + 1.0
    (got,) = static.Executor().run(main, feed={"x": _X[0, :2]}, fetch_list=[more])
    np.testing.assert_allclose(got, _X[0, :2] * 2 + 1)
    with pytest.raises(ValueError, match="no value of the program is named 'thrice'"):
        main.global_block().var("thrice")
