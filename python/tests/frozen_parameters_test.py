"""Parameters of programs that are not trained: listed, saved, started, and left alone by optimizers."""

import numpy as np
import pytest

import proa
from proa import static


@pytest.fixture(autouse=True)
def _static():
    proa.enable_static()
    with static.scope_guard(static.Scope()):
        yield
    proa.disable_static()


def _build():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [4, 3])
        hidden = proa.nn.Linear(3, 5, weight_attr=proa.ParamAttr("fixed", trainable=False), bias_attr="moved")(x)
        hidden = proa.nn.BatchNorm1D(5)(hidden)  # a layer that nobody keeps
        stopped = proa.nn.Linear(5, 2, weight_attr="stopped", bias_attr=False)
        stopped.weight.stop_gradient = True
        total = static.create_global_var([1], 1.0, "float32", persistable=True, name="a_number")
        loss = (stopped(static.nn.batch_norm(hidden, moving_mean_name="middle")) ** 3).mean() + total
    return main, startup, loss


def test_all_parameters_are_those_that_are_trained_and_those_that_are_not():
    main, _, loss = _build()
    names = [p.name for p in main.all_parameters()]
    assert len(names) == len(set(names)) == 11 and "a_number" not in names
    frozen = {p.name for p in main.all_parameters() if p.stop_gradient}
    assert {"fixed", "stopped", "middle"} < frozen and len(frozen) == 6  # and three more running statistics
    assert sorted(main.state_dict("param")) == sorted(names) and sorted(main.state_dict("opt")) == ["a_number"]
    trained = {p.name for p in main.trained_parameters()}
    assert trained == set(names) - frozen and "moved" in trained
    with static.program_guard(main):
        assert {p.name for p, _ in static.append_backward(loss)} == trained


@pytest.mark.parametrize("kind", ["Momentum", "Adam", "Lamb"])
def test_optimizers_leave_them_as_they_are(kind):
    main, startup, loss = _build()
    with static.program_guard(main, startup):
        _, pairs = getattr(proa.optimizer, kind)(0.1).minimize(loss)
    trained = {p.name for p in main.trained_parameters()}
    assert {p.name for p, _ in pairs} == trained
    exe, feed = static.Executor(), {"x": np.random.default_rng(0).normal(size=(4, 3)).astype("float32")}
    exe.run(startup)
    before = {name: value.numpy().copy() for name, value in main.state_dict("param").items()}
    exe.run(main, feed=feed, fetch_list=[loss])
    moved = {
        name for name, value in main.state_dict("param").items() if not np.array_equal(value.numpy(), before[name])
    }
    assert not moved & {"fixed", "stopped"} and "moved" in moved and "middle" in moved
    exe.run(startup)  # starts the running statistics anew
    means = [v.numpy() for n, v in main.state_dict("param").items() if n == "middle" or "norm1d" in n and n[-1] == "1"]
    assert len(means) == 2 and not np.any(means)


def test_they_are_in_the_file_of_parameters(tmp_path):
    main, _, _ = _build()
    static.save(main, str(tmp_path / "net"))
    found = proa.load(str(tmp_path / "net.pdparams"), return_numpy=True)
    assert set(found) >= {p.name for p in main.all_parameters()}
    (statistic,) = [n for n in found if n.startswith("batch_norm1d") and n.endswith("w_2")]
    static.set_program_state(main, {"fixed": np.full([3, 5], 7.0, "float32"), statistic: np.full([5], 3.0, "float32")})
    assert (main.state_dict()["fixed"].numpy() == 7).all() and (main.state_dict()[statistic].numpy() == 3).all()
    static.load(main, str(tmp_path / "net"))
    assert (main.state_dict()[statistic].numpy() == 1).all() and (main.state_dict()["fixed"].numpy() != 7).any()
