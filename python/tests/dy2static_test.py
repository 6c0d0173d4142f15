"""Conversion of functions: what is left alone, what errors, tracebacks and tools show, training and saving of what is converted."""

import functools
import heapq
import io
import pathlib
import re
import sys
import textwrap
import types

import numpy as np
import pytest

import proa as paddle
from proa import nn

X = paddle.to_tensor([[1.0, -2.0], [3.0, 4.0]])


def _line_of(text):
    lines = pathlib.Path(__file__).read_text().splitlines()
    return next(k for k, line in enumerate(lines, 1) if line.strip().startswith(text))


def _branching(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def _module_of(name, text, folder):
    """A module of a file, as users have them."""
    path = folder / f"{name}.py"
    path.write_text(textwrap.dedent(text))
    module = types.ModuleType(name)
    module.__file__ = str(path)
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


# What is left alone -------------------------------------------------------------------------------------------------------


def test_functions_without_source_are_recorded_as_they_are():
    names = {"paddle": paddle}
    exec("def f(x):\n    return x * 2 if x.ndim == 2 else x\ndef g(x):\n    return x if x.sum() > 0 else -x", names)
    assert paddle.jit.to_static(names["f"])(X).tolist() == (X * 2).tolist()
    with pytest.raises(RuntimeError, match="no elements until the program runs"):
        paddle.jit.to_static(names["g"])(X)


def test_several_lambdas_on_a_line_are_told_apart():
    functions = [lambda x: x * 2 if x.sum() > 0 else x, lambda x: x * 3 if x.sum() > 0 else x]
    assert [paddle.jit.to_static(f)(X)[0, 0].item() for f in functions] == [2.0, 3.0]
    assert [paddle.jit.to_static(f)(-X)[0, 0].item() for f in functions] == [-1.0, -1.0]


def test_not_to_static_and_ignored_modules_stay(tmp_path):
    @paddle.jit.not_to_static
    def left(x):
        if x.sum() > 0:
            x = x * 2
        return x

    with pytest.raises(RuntimeError) as error:
        paddle.jit.to_static(lambda x: left(x))(X)
    assert "left is not converted, because it is marked by not_to_static" in "\n".join(error.value.__notes__)
    text = """
        def act(x):
            if x.sum() > 0:
                x = x * 2
            return x
    """
    module = _module_of("converted_then_ignored", text, tmp_path)
    assert paddle.jit.to_static(lambda x: module.act(x))(X).tolist() == (X * 2).tolist()
    paddle.jit.ignore_module([module])
    with pytest.raises(RuntimeError):
        paddle.jit.to_static(lambda x: module.act(x))(X)
    with pytest.raises(TypeError, match="ignore_module: takes modules, not str"):
        paddle.jit.ignore_module(["json"])


def test_the_library_and_numpy_are_left():
    from proa.jit.dy2static import calls

    for function in (nn.Linear.forward, nn.functional.softmax, np.stack, functools.wraps, textwrap.dedent):
        assert calls.call(function) is function
    assert calls.call(_branching) is not _branching
    assert calls.call(calls.call(_branching)) is calls.call(_branching)


def test_to_static_can_be_turned_off():
    converted = paddle.jit.to_static(_branching)
    paddle.jit.enable_to_static(False)
    try:
        assert converted(X).tolist() == (X * 2).tolist()
        assert not converted._recordings
        assert not paddle.jit.ProgramTranslator().enable_to_static
    finally:
        paddle.jit.enable_to_static(True)
    converted(X)
    assert len(converted._recordings) == 1


# What is shown -------------------------------------------------------------------------------------------------------------


def test_code_program_and_rollback():
    converted = paddle.jit.to_static(_branching)
    assert "_proa_.if_(" in converted.code and "_proa_.Returned(x * 2)" in converted.code
    assert paddle.jit.ProgramTranslator().get_code(_branching) == converted.code
    converted(X)
    assert "cond(" in str(converted.main_program) and converted.concrete_program.program is converted.main_program
    assert converted.rollback() is _branching
    unconverted = paddle.jit.to_static(paddle.jit.not_to_static(lambda x: x * 17))
    assert "x * 17" in unconverted.code and "_proa_" not in unconverted.code


def test_code_level_shows_the_code_and_the_program(capsys):
    paddle.jit.set_code_level(1)
    try:
        paddle.jit.to_static(_branching)(X)
    finally:
        paddle.jit.set_code_level(0)
    shown = capsys.readouterr().err
    assert "_proa_.if_(" in shown and "cond(" in shown


def _outer(x):
    y = x * 1
    while y.sum() < 100:
        if y.sum() > 0:
            y = _inner(y)
        else:
            y = y + 1
    return y


def _inner(y):
    return y.reshape([7, 9])


def test_tracebacks_show_the_lines_of_users_and_no_others():
    with pytest.raises(ValueError, match="reshape") as error:
        paddle.jit.to_static(_outer)(X)
    frames = [(f.path.name, f.lineno + 1, f.name) for f in error.traceback]
    assert not any("dy2static" in str(f.path) and "test" not in str(f.path) for f in error.traceback)
    # Neither those of what records: one frame stands between the call and the function.
    assert [file for file, *_ in frames[:3]] == ["dy2static_test.py", "static_function.py", "dy2static_test.py"]
    own = [(line, name) for file, line, name in frames if file == "dy2static_test.py"][1:]
    assert own == [
        (_line_of("while y.sum() < 100:"), "_outer"),
        (_line_of("if y.sum() > 0:"), "_outer"),
        (_line_of("y = _inner(y)"), "_outer"),
        (_line_of("return y.reshape([7, 9])"), "_inner"),
    ]


def test_tools_see_the_lines_of_users():
    """What coverage and pdb see: line events of the file, in frames with the names of the function."""
    seen = set()

    def trace(frame, event, argument):
        if frame.f_code.co_filename == __file__:
            seen.add((frame.f_code.co_name, frame.f_lineno))
        return trace

    converted = paddle.jit.to_static(_branching)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        converted(X)
    finally:
        sys.settrace(before)
    first = _branching.__code__.co_firstlineno
    assert {("_branching", first + k) for k in (1, 2, 3)} <= seen
    assert not any(name.startswith("_proa_") for name, _ in seen)


def test_a_debugger_finds_the_variables():
    found = types.SimpleNamespace()

    @paddle.jit.not_to_static
    def look():
        found.names = set(sys._getframe(1).f_locals)

    def function(x):
        y = x * 2
        if x.sum() > 0:
            z = y + 1
            look()
            y = z
        return y

    paddle.jit.to_static(function)(X)
    assert {"y", "z"} <= found.names


# What is said ---------------------------------------------------------------------------------------------------------------


def test_assertions_are_checked_by_replays(tmp_path):
    @paddle.jit.to_static
    def checked(x):
        y = x * 2
        assert x.sum() > 0, "all is lost"
        return y

    assert checked(X).tolist() == (X * 2).tolist()
    for _ in range(2):
        with pytest.raises(AssertionError, match="all is lost"):
            checked(-X)
    paddle.jit.save(checked, str(tmp_path / "checked"), [paddle.static.InputSpec([2, 2])])
    with pytest.raises(AssertionError, match="all is lost"):
        paddle.jit.load(str(tmp_path / "checked"))(-X)


def test_prints_are_made_by_replays(capsys):
    @paddle.jit.to_static
    def shown(x):
        print("sum:", x.sum(), flush=True)
        return x * 2

    for factor in (1.0, 2.0):
        shown(X * factor)
    out = capsys.readouterr().out
    assert out.count("sum:") == 2 and "6." in out and "12." in out and "symbolic" not in out


def test_a_print_in_a_branch_is_of_that_branch(capsys):
    def shown(x):
        if x.sum() > 0:
            print("up", x.sum())
        return x

    shown = paddle.jit.to_static(shown)
    shown(X)
    shown(-X)
    assert capsys.readouterr().out.count("up Tensor") == 1


def test_a_print_to_a_file(tmp_path):
    file = io.StringIO()

    @paddle.jit.to_static
    def shown(x):
        print("sum", x.sum(), file=file)
        return x

    shown(X)
    assert "sum" in file.getvalue() and "6." in file.getvalue()
    with pytest.warns(UserWarning, match="what the function prints to a file is not saved"):
        paddle.jit.save(shown, str(tmp_path / "shown"), [paddle.static.InputSpec([2, 2])])

    @paddle.jit.to_static
    def in_branch(x):
        if x.sum() > 0:
            print(x, file=file)
        return x

    with pytest.raises(NotImplementedError, match="print: to a file, in a branch"):
        in_branch(X)


def test_a_value_that_leaves_its_branch_is_an_error():
    box = types.SimpleNamespace()

    @paddle.jit.not_to_static  # or the way that does not leak would give it no value
    def leak(value):
        box.value = value

    def leaking(x):
        if x.sum() > 0:
            leak(x * 2)
        return x + box.value

    with pytest.raises(ValueError, match="made in a branch or a loop is used outside of it"):
        paddle.jit.to_static(leaking)(X)

    def giving(x):
        if x.sum() > 0:
            leak(x * 2)
        return box.value

    with pytest.raises(RuntimeError, match="made in a branch or loop"):
        paddle.jit.to_static(giving)(X)


class _Counter:
    def __init__(self):
        self.n, self.seen, self.named = 0, [], {}

    def count(self, value, by=1):
        self.n += by
        self.seen.append(value)
        self.named["last"] = value


_SEEN: list = []


def _note(value):
    _SEEN.append(value)


def _by_methods(x):
    counter, other = _Counter(), _Counter()
    other.inner = counter
    if x.sum() > 0:
        counter.count(x)
        other.count(x * 2, by=2)
    else:
        counter.count(-x, by=3)
        other.inner.count(x)
        other.count(x * 3)
        counter.seen.pop()
    return counter.seen[0] * counter.n + other.seen[0] * other.n + counter.named["last"]


def _by_methods_in_a_loop(x):
    counter = _Counter()
    counter.named["last"] = x
    while counter.named["last"].abs().sum() < 100:
        counter.named["last"] = counter.named["last"] * 2
        counter.n += 1
    return counter.named["last"] * counter.n


def _of_a_module(x):
    _SEEN.clear()
    if x.sum() > 0:
        _note(x * 2)
    else:
        _note(x * 3)
    return _SEEN[0]


def _made_in_a_branch(x):
    y = x
    if x.sum() > 0:
        counter, items = _Counter(), []
        counter.count(x * 2)
        items.append(counter.n)
        y = counter.seen[0] * len(items)
    return y


def _constant_changed_in_place(x):
    buffer, other = paddle.zeros([2]), paddle.zeros([2])
    if x.sum() > 0:
        buffer.add_(x[0])
    else:
        buffer[0] = 5.0
    other.add_(x[0])
    return buffer + other


@pytest.mark.parametrize(
    "function", [_by_methods, _by_methods_in_a_loop, _of_a_module, _made_in_a_branch, _constant_changed_in_place]
)
def test_what_functions_that_are_called_write_is_of_one_way(function):
    """Both ways are recorded, and each writes to objects and lists that the statement does not name."""
    converted = paddle.jit.to_static(function)
    for x in (X, -X, X * 2, -X):
        np.testing.assert_allclose(converted(x).numpy(), function(x).numpy())
    assert len(converted._recordings) == 1


def test_a_dict_that_one_way_alone_fills_is_an_error():
    kept = {}

    def keeping(x):
        if x.sum() > 0:
            keep(x * 2)
        return x

    def keep(value):
        kept["value"] = value

    with pytest.raises(
        NotImplementedError, match=r"the contents of kept differ .*: {.value.: \[2, 2\] float32} and {}; give each"
    ):
        paddle.jit.to_static(keeping)(X)
    assert not kept


def test_what_has_no_counterpart_says_what_to_write():
    def chosen(x):
        return next(iter({k: row for k, row in enumerate([x[0], x[1]]) if row.sum() > 0}.values()))

    def indexed(x):
        return x * range(1, 3)[x.argmax() % 2]

    def heaped(x):
        heap = []
        for row in [x[0], x[1]]:
            heapq.heappush(heap, (row.sum(), row))
        return heap[0][1]

    def compared(x):
        return x if (x.sum() > 0, x.max() > 0) == (True, True) else -x

    class Box:
        def __add__(self, x):
            if x.sum() > 0:
                return x
            return -x

    for function, says in (
        (chosen, "write a `for` with `append`"),
        (indexed, r"use paddle.stack\(list\)\[index\]"),
        (heaped, "what is called here is not converted, .* argsort, topk"),
        (compared, "compare the tensors, and join what that gives by `and`"),
        (lambda x: Box() + x, "__add__ is not converted, because it is called by what is not converted"),
    ):
        with pytest.raises(RuntimeError) as error:
            paddle.jit.to_static(function)(X)
        assert re.search(says, "\n".join(error.value.__notes__))


# Training --------------------------------------------------------------------------------------------------------------------


class _Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.out = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 2)
        self.norm, self.drop = nn.BatchNorm1D(8), nn.Dropout(0.5)

    def forward(self, x):
        h = paddle.tanh(self.one(x))
        steps = 0
        while h.abs().mean() < 0.6 and steps < 4:
            h = h + paddle.tanh(self.two(h))
            steps += 1
        if self.training:
            h = self.norm(h)
            if h.mean() > 1e3:
                h = self.drop(h)
        elif h.mean() > 0:
            h = h * 0.5
        return self.out(h)


def _trained(net, level=None):
    optimizer = paddle.optimizer.Momentum(0.05, parameters=net.parameters())
    rng = np.random.RandomState(3)
    losses = []
    for _ in range(6):
        x, y = (paddle.to_tensor(rng.randn(8, n).astype("float32")) for n in (4, 2))
        with paddle.amp.auto_cast(enable=level is not None, level=level or "O1", dtype="bfloat16"):
            loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("level", [None, "O1"])
def test_training_is_that_of_eager_mode(level):
    nets = []
    for _ in range(2):
        paddle.seed(7)
        nets.append(_Net())
    converted = paddle.jit.to_static(nets[1])
    tolerance = 1e-4 if level is None else 2e-2
    np.testing.assert_allclose(_trained(converted, level), _trained(nets[0], level), rtol=tolerance)
    for a, b in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance)
    if level is None:
        np.testing.assert_allclose(nets[0].norm._mean.numpy(), nets[1].norm._mean.numpy(), rtol=1e-4)
    x = paddle.to_tensor(np.random.RandomState(5).randn(3, 4).astype("float32"))
    for net in nets:
        net.eval()
    np.testing.assert_allclose(converted(x).numpy(), nets[0](x).numpy(), rtol=1e-2, atol=1e-2)


def test_a_saved_net_is_trained_further(tmp_path):
    paddle.seed(7)
    net = _Net()
    paddle.jit.save(net, str(tmp_path / "net"), [paddle.static.InputSpec([None, 4])])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    net.eval()
    for rows in (1, 5):
        x = paddle.to_tensor(np.random.RandomState(rows).randn(rows, 4).astype("float32"))
        np.testing.assert_allclose(loaded(x).numpy(), net(x).numpy(), rtol=1e-5, atol=1e-6)
    loaded.train()
    optimizer = paddle.optimizer.SGD(0.05, parameters=loaded.parameters())
    x, losses = paddle.to_tensor(np.random.RandomState(9).randn(4, 4).astype("float32")), []
    for _ in range(5):
        loss = (loaded(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_dtypes_of_ways_under_autocast():
    weight = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])

    def cast(x):
        if x.sum() > 0:
            y = x @ weight
        else:
            y = x * 0.5
        return y + 1

    converted = paddle.jit.to_static(cast)
    with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        for x in (X, -X):
            np.testing.assert_allclose(
                converted(x).astype("float32").numpy(), cast(x).astype("float32").numpy(), rtol=1e-2
            )


# Cost -------------------------------------------------------------------------------------------------------------------------


def test_what_does_not_depend_on_tensors_records_what_it_did():
    """No operation more than without conversion, and none of regions."""

    def plain(x, n=3):
        for k in range(n):
            if k % 2 and x.ndim == 2 or not n:
                continue
            x = x * k if k > 1 else x + len(x)
        return x if 0 < n < 5 else -x

    converted, left = (
        paddle.jit.to_static(plain),
        types.FunctionType(plain.__code__.replace(), plain.__globals__, "plain", (3,)),
    )
    paddle.jit.not_to_static(left)
    as_written = paddle.jit.to_static(left)
    assert converted(X).tolist() == as_written(X).tolist()
    assert str(converted.main_program) == str(as_written.main_program)


def test_functions_are_converted_once():
    from proa.jit.dy2static import functions

    def made(k):
        return lambda x: x * k if x.sum() > 0 else x

    one, two = made(1.0), made(2.0)
    assert functions.conversion_of(one) is functions.conversion_of(two)
    assert functions.convert(one) is functions.convert(one)
    assert paddle.jit.to_static(two)(X).tolist() == (X * 2).tolist()


def test_a_list_of_the_function_around_is_not_taken_for_one_of_the_program():
    """It would be one of values of the program when the call is over."""
    seen = []

    @paddle.jit.to_static
    def doubled(x):
        if x.sum() > 0:
            seen.append(x)
            x = x * 2
        return x

    with pytest.raises(
        NotImplementedError, match="how many items seen has depends on a tensor, and it is a list of the"
    ):
        doubled(X)
    assert seen == []
