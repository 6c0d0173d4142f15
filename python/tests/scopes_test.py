"""Scopes: parameters by name, started by startup programs; several scopes of one program, several executors of one scope."""

import numpy as np
import pytest

import proa
from proa import fluid, static

_RNG = np.random.RandomState(0)
FEED = {"x": _RNG.randn(8, 3).astype("float32"), "y": _RNG.randn(8, 1).astype("float32")}
OPTIMIZERS = {
    "sgd": lambda: proa.optimizer.SGD(0.1),
    "momentum": lambda: proa.optimizer.Momentum(0.05),
    "adam": lambda: proa.optimizer.Adam(0.05),
    "adamw with a schedule": lambda: proa.optimizer.AdamW(proa.optimizer.lr.NoamDecay(8, 4)),
    "rmsprop": lambda: proa.optimizer.RMSProp(0.01),
}


class Net:
    """A trained program: of functions, or of layers, built in the scope of now."""

    def __init__(self, optimizer="sgd", layers=False):
        self.main, self.startup = static.Program(), static.Program()
        self.main.random_seed = 3
        with proa.utils.unique_name.guard(), static.program_guard(self.main, self.startup):
            x, y = static.data("x", [None, 3]), static.data("y", [None, 1])
            if layers:
                net = proa.nn.Sequential(proa.nn.Linear(3, 4), proa.nn.BatchNorm1D(4), proa.nn.Linear(4, 1))
                out = net(x)
            else:
                out = static.nn.fc(static.nn.batch_norm(static.nn.fc(x, 4)), 1)
            self.test = self.main.clone(for_test=True)
            self.out, self.loss = out, proa.nn.functional.mse_loss(out, y)
            OPTIMIZERS[optimizer]().minimize(self.loss)

    def start(self, scope=None, seed=1):
        proa.seed(seed)
        static.Executor().run(self.startup, scope=scope)

    def train(self, steps, scope=None):
        executor = static.Executor()
        return [executor.run(self.main, feed=FEED, fetch_list=[self.loss], scope=scope)[0].item() for _ in range(steps)]

    def names(self):
        return [t.name for t in self.main.list_vars() if t.persistable]


def _values(net, scope):
    return {name: np.array(scope.find_var(name).get_tensor()) for name in net.names()}


@pytest.mark.parametrize("layers", [False, True])
@pytest.mark.parametrize("optimizer", [name for name in OPTIMIZERS if "schedule" not in name])
def test_a_startup_program_starts_everything_anew(optimizer, layers):
    """Parameters, statistics and the state of the optimizer: the second training is the first again."""
    with static.scope_guard(static.Scope()):
        net = Net(optimizer, layers)
        net.start()
        net.train(2)  # a startup program that runs first leaves the first values
        runs = []
        for _ in range(2):
            net.start(seed=5)
            runs.append(net.train(4))
        assert runs[0] == runs[1] and runs[0][0] != runs[0][-1]


@pytest.mark.parametrize("layers", [False, True])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_two_scopes_hold_separate_parameters_of_one_program(optimizer, layers):
    home = static.Scope()
    with static.scope_guard(home):
        net = Net(optimizer, layers)
        net.start()
    a, b = static.Scope(), static.Scope()
    net.start(a, seed=7)
    net.start(b, seed=7)
    at_home = _values(net, home)
    alone = net.train(4, a)
    for name, value in _values(net, home).items():
        np.testing.assert_array_equal(value, at_home[name])  # training in a changes nothing at home
    mixed = []
    for _ in range(4):  # b between steps at home
        mixed += net.train(1, b)
        net.train(1, home)
    assert mixed == alone
    for name, value in _values(net, a).items():
        np.testing.assert_array_equal(value, np.array(b.find_var(name).get_tensor()))
    assert any((value != at_home[name]).any() for name, value in _values(net, home).items())
    # A program for tests, and files, see the scope's values.
    executor = static.Executor()
    want = executor.run(net.test, feed=FEED, fetch_list=[net.out], scope=a)[0]
    with static.scope_guard(a):
        np.testing.assert_array_equal(executor.run(net.test, feed=FEED, fetch_list=[net.out])[0], want)
    assert np.abs(executor.run(net.test, feed=FEED, fetch_list=[net.out], scope=home)[0] - want).max() > 1e-4


def test_a_value_of_a_scope_is_saved(tmp_path):
    scope = static.Scope()
    scope.var("x").get_tensor().set(np.arange(6.0, dtype="float32").reshape(2, 3))
    proa.save(scope.find_var("x").get_tensor(), str(tmp_path / "x"))
    np.testing.assert_array_equal(proa.load(str(tmp_path / "x")).numpy(), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])


def test_several_executors_share_a_scope_and_two_graphs_their_parameters():
    """fluid's way: programs built one after another under the same names, in one scope."""
    with static.scope_guard(static.Scope()):
        train, infer, startup = static.Program(), static.Program(), static.Program()
        with proa.utils.unique_name.guard(), static.program_guard(train, startup):
            loss = static.nn.fc(static.data("x", [None, 3]), 1).mean()
            proa.optimizer.SGD(1.0).minimize(loss)
        with proa.utils.unique_name.guard(), static.program_guard(infer, static.Program()):
            out = static.nn.fc(static.data("x", [None, 3]), 1)
        first, second = static.Executor(), static.Executor(proa.CPUPlace())
        first.run(startup)
        x = {"x": FEED["x"]}
        before = second.run(infer, feed=x, fetch_list=[out])[0]
        for executor in (first, second):
            executor.run(train, feed=x)
        after = second.run(infer, feed=x, fetch_list=[out])[0]
        slope = FEED["x"].mean(0)
        np.testing.assert_allclose(after, before - 2 * (FEED["x"] @ slope + 1)[:, None], rtol=1e-4, atol=1e-5)


def test_what_a_scope_is_given_is_what_runs():
    home, other = static.Scope(), static.Scope()
    with static.scope_guard(home):
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            out = static.nn.fc(static.data("x", [None, 3]), 2, weight_attr="w_of_scopes", bias_attr=False)
    executor = static.Executor()
    executor.run(startup, scope=other)
    for scope, value in ((home, 1.0), (other, 2.0)):
        scope.find_var("w_of_scopes").get_tensor().set(np.full([3, 2], value, "float32"), proa.CPUPlace())
    x = {"x": np.ones([1, 3], "float32")}
    run = lambda scope, fetch: executor.run(main, feed=x, fetch_list=fetch, scope=scope)[0]
    assert run(home, [out]).tolist() == [[3.0, 3.0]] and run(other, [out]).tolist() == [[6.0, 6.0]]
    assert run(home, ["w_of_scopes"]).max() == 1 and run(other, ["w_of_scopes"]).max() == 2
    assert main.state_dict(scope=other)["w_of_scopes"].numpy().max() == 2
    main.set_state_dict({"w_of_scopes": np.full([3, 2], 5.0, "float32")}, scope=other)
    assert run(other, [out]).tolist() == [[15.0, 15.0]] and run(home, [out]).tolist() == [[3.0, 3.0]]
    # Operations that are added later run on the scope's values, too.
    with static.program_guard(main):
        more = out + 1.0
    assert run(other, [more]).tolist() == [[16.0, 16.0]]
    other.erase(["w_of_scopes"])
    assert other.find_var("w_of_scopes") is None and other.local_var_names() == []


def test_files_of_a_scope(tmp_path):
    home, other = static.Scope(), static.Scope()
    with static.scope_guard(home):
        net = Net()
        net.start()
    net.start(other, seed=9)
    executor = static.Executor()
    with static.scope_guard(other):
        net.train(2)
        want = executor.run(net.test, feed=FEED, fetch_list=[net.out])[0]
        fluid.io.save_persistables(executor, str(tmp_path / "vars"), net.main)
        static.save(net.main, str(tmp_path / "all"))
        x = net.main.var("x")
        static.save_inference_model(str(tmp_path / "model"), [x], [net.out], executor)
        program, names, targets = static.load_inference_model(str(tmp_path / "model"), executor)
        got = executor.run(program, feed={names[0]: FEED["x"]}, fetch_list=targets)[0]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    third = static.Scope()
    for load in (
        lambda: fluid.io.load_persistables(executor, str(tmp_path / "vars"), net.main),
        lambda: static.load(net.main, str(tmp_path / "all")),
    ):
        net.start(third, seed=2)
        with static.scope_guard(third):
            load()
            np.testing.assert_array_equal(executor.run(net.test, feed=FEED, fetch_list=[net.out])[0], want)
    assert np.abs(executor.run(net.test, feed=FEED, fetch_list=[net.out], scope=home)[0] - want).max() > 1e-4


def test_scopes_in_scopes_and_bad_ones():
    scope = static.Scope()
    with static.scope_guard(scope):
        static.create_global_var([2], 3.0, "float32", True, name="three_of_scopes")
    kid = scope.new_scope()
    assert np.array(kid.find_var("three_of_scopes").get_tensor()).tolist() == [3.0, 3.0]
    assert kid.local_var_names() == [] and static.Scope().find_var("three_of_scopes") is None
    kid.var("own")
    assert scope.find_var("own") is None and kid.find_var("own").name() == "own"
    scope.drop_kids()
    made = scope.var("made").get_tensor()
    assert not made._is_initialized()
    with pytest.raises(RuntimeError, match="made has no value in this scope; set gives one"):
        np.array(made)
    made.set(np.ones([2, 2]), proa.CPUPlace())
    assert np.array(scope.find_var("made").get_tensor()).tolist() == np.array(made).tolist() == [[1.0, 1.0]] * 2
    with pytest.raises(ValueError, match=r"made is \[2, 2\], the value is \[3\]"):
        made.set(np.ones([3]))
    with pytest.raises(TypeError, match="scope must be a Scope, not int"):
        static.Executor().run(static.Program(), scope=3)
