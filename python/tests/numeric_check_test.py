"""FLAGS_check_nan_inf and proa.amp.debugging: the first op that makes a NaN or Inf is named, with all that helps."""

import inspect
import re
import threading

import numpy as np
import pytest

import proa
from proa.amp import debugging

NAN, INF = float("nan"), float("inf")


@pytest.fixture
def checked():
    proa.set_flags({"FLAGS_check_nan_inf": 1})
    yield
    debugging.disable_tensor_checker()


@pytest.fixture(autouse=True)
def off_afterwards():
    yield
    debugging.disable_tensor_checker()


def line_of(function, text):
    """ "this_test.py:12", of the line of a function that holds `text`."""
    lines, first = inspect.getsourcelines(function)
    return f"numeric_check_test.py:{first + next(i for i, line in enumerate(lines) if text in line)}"


def test_forward_names_op_statistics_and_line(checked):
    def program():
        return proa.to_tensor([1.0, 0.0, -4.0]).log()

    with pytest.raises(RuntimeError) as e:
        program()
    text = str(e.value)
    assert text.splitlines()[:3] == [
        "(PreconditionNotMet) log: made 1 NaN and 1 Inf in out",
        "  out: [3] float32; 1 NaN, 1 Inf, min 0, max 0, mean 0",
        "  x: [3] float32; 0 NaN, 0 Inf, min -4, max 1, mean -1",
    ]
    assert line_of(program, ".log()") in text


def test_what_is_not_finite_from_the_start_is_named_as_such(checked):
    x = proa.to_tensor([1.0, NAN, INF])
    with pytest.raises(
        RuntimeError, match=r"^\(PreconditionNotMet\) multiply: 1 NaN and 1 Inf in out came in with x\n"
    ):
        x * proa.to_tensor([1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match="add: .* came in with y"):
        proa.to_tensor([1.0, 2.0, 3.0]) + x


def test_infinities_that_the_program_has_already(checked):
    """Masks are made of them; a NaN made of them is a mistake."""
    mask = proa.full([2], -INF)
    masked = proa.to_tensor([1.0, 2.0]) + mask
    assert masked.isinf().all()
    proa.nn.functional.softmax(proa.to_tensor([1.0, -INF]), -1)
    with pytest.raises(RuntimeError, match=r"^\(PreconditionNotMet\) subtract: made 2 NaN in out"):
        masked - mask
    with pytest.raises(RuntimeError, match=r"^\(PreconditionNotMet\) divide: made 1 Inf"):
        proa.to_tensor([1.0]) / proa.to_tensor([0.0])


def test_numbers_of_the_program_itself(checked):
    proa.full([2], NAN)
    proa.nn.functional.pad(proa.ones([2, 2]), [1, 1, 1, 1], value=NAN)
    proa.empty([1000])


def test_other_dtypes_and_shapes(checked):
    for dtype in ("float16", "bfloat16", "float64"):
        with pytest.raises(RuntimeError, match=f"sqrt: made 1 NaN in out\n  out: .* {dtype}"):
            proa.to_tensor([-1.0, 4.0]).astype(dtype).sqrt()
    with pytest.raises(RuntimeError, match="exp: made 1 Inf in out\n  out: \\[\\] float32"):
        proa.to_tensor(1000.0).exp()
    with pytest.raises(RuntimeError, match="exp: made 3 Inf"):
        proa.full([3, 4], 1000.0)[:, 1].exp()
    proa.zeros([0, 3]).log()
    with pytest.raises(RuntimeError, match="complex64"):
        proa.to_tensor([1 + 1j, 0j]) / proa.to_tensor([0j, 1 + 0j])


class Broken(proa.nn.Layer):
    def forward(self, x):
        return (x - 10).sqrt()


def test_the_layer_is_named(checked):
    net = proa.nn.Sequential(proa.nn.Linear(3, 3), proa.nn.Sequential(proa.nn.ReLU(), Broken()))
    with pytest.raises(RuntimeError) as e:
        net(proa.ones([2, 3]))
    assert "sqrt: made 6 NaN" in str(e.value)
    assert f"in layer Sequential.1.1 (Broken), {line_of(Broken.forward, 'sqrt')}" in str(e.value)


class Root(proa.nn.Layer):
    def forward(self, x):
        return x.sqrt()


def test_backward_names_the_forward_call(checked):
    net = proa.nn.Sequential(Root())
    x = proa.to_tensor([0.0, 4.0], stop_gradient=False)
    y = net(x)
    with pytest.raises(RuntimeError) as e:
        y.sum().backward()
    text = str(e.value)
    assert re.match(r"\(PreconditionNotMet\) \w+: made 1 Inf in out\n", text), text
    assert "in sqrt's backward" in text and "sqrt was called" in text
    assert 'numeric_check_test.py", line ' + line_of(Root.forward, "sqrt").partition(":")[2] in text
    assert "in layer Sequential.0 (Root)" in text
    assert not proa.autograd.is_anomaly_enabled()


def test_in_place_statistics_are_those_before_the_call(checked):
    x = proa.to_tensor([-1.0, 4.0])
    with pytest.raises(RuntimeError) as e:
        x.sqrt_()
    assert str(e.value).splitlines()[:3] == [
        "(PreconditionNotMet) sqrt_: made 1 NaN in out",
        "  out: [2] float32; 1 NaN, 0 Inf, min 2, max 2, mean 2",
        "  x: [2] float32; 0 NaN, 0 Inf, min -1, max 4, mean 1.5",
    ]


def test_optimizers_too(checked):
    net = proa.nn.Linear(2, 1)
    sgd = proa.optimizer.SGD(1e38, parameters=net.parameters())
    (net(proa.full([1, 2], 1e10)) * 1e20).sum().backward()
    with pytest.raises(RuntimeError, match=r"sgd_?: made"):
        sgd.step()


def test_in_the_executor_the_line_that_recorded_it():
    def record():
        with proa.static.program_guard(program):
            x = proa.static.data("x", [2])
            return x.log()

    program = proa.static.Program()
    proa.enable_static()
    try:
        out = record()
        executor = proa.static.Executor()
        assert np.isnan(executor.run(program, {"x": np.array([-1, 1], "f")}, [out])[0]).any()
        proa.set_flags({"FLAGS_check_nan_inf": 1})
        executor.run(program, {"x": np.array([2, 1], "f")}, [out])
        with pytest.raises(RuntimeError) as e:
            executor.run(program, {"x": np.array([-1, 1], "f")}, [out])
    finally:
        proa.disable_static()
    text = str(e.value)
    assert text.startswith("(PreconditionNotMet) log: made 1 NaN in out\n")
    assert "in the program: %1 = log(%0)" in text
    assert f"recorded: {line_of(record, 'x.log()')}" in text


def test_to_static_too(checked):
    @proa.jit.to_static
    def f(x):
        return x.log() * 2

    f(proa.to_tensor([1.0]))
    with pytest.raises(RuntimeError, match="log: made 1 Inf"):
        f(proa.to_tensor([0.0]))


def test_other_threads_take_part(checked):
    errors = []

    def work():
        proa.ones([1000])  # learns of it here
        try:
            proa.to_tensor([0.0]).log()
        except RuntimeError as e:
            errors.append(str(e))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "log: made 1 Inf" in errors[0]


def test_off_nothing_is_looked_at(checked):
    proa.set_flags({"FLAGS_check_nan_inf": 0})
    assert proa.to_tensor([0.0]).log().isinf().all()


def test_reports_and_goes_on(capfd):
    proa.set_flags({"FLAGS_check_nan_inf": True, "FLAGS_check_nan_inf_level": 1})
    y = proa.to_tensor([0.0]).log()
    assert y.isinf().all()
    err = capfd.readouterr().err
    assert err.startswith("FLAGS_check_nan_inf: log: made 1 Inf in out\n") and err.count("FLAGS_check") == 1


def test_anomaly_mode_stays_what_was_asked_for():
    with proa.autograd.detect_anomaly():
        proa.set_flags({"FLAGS_check_nan_inf": 1})
        proa.set_flags({"FLAGS_check_nan_inf": 0})
        assert proa.autograd.is_anomaly_enabled()
    assert not proa.autograd.is_anomaly_enabled()


# proa.amp.debugging -----------------------------------------------------------


def test_checker_with_a_choice_of_ops():
    config = debugging.TensorCheckerConfig(checked_op_list=["exp"])
    debugging.enable_tensor_checker(config)
    proa.to_tensor([0.0]).log()
    with pytest.raises(RuntimeError, match=r"^\(PreconditionNotMet\) exp"):
        proa.to_tensor([1000.0]).exp()
    debugging.enable_tensor_checker(debugging.TensorCheckerConfig(skipped_op_list=["log"]))
    proa.to_tensor([0.0]).log()
    with pytest.raises(RuntimeError, match=r"^\(PreconditionNotMet\) exp"):
        proa.to_tensor([1000.0]).exp()
    debugging.disable_tensor_checker()
    proa.to_tensor([1000.0]).exp()


def test_checker_arguments():
    with pytest.raises(ValueError, match="checked_op_list: there is no op 'exq'; did you mean exp"):
        debugging.TensorCheckerConfig(checked_op_list=["exq"])
    with pytest.raises(TypeError, match="must be a list of names of ops"):
        debugging.TensorCheckerConfig(skipped_op_list="exp")
    with pytest.raises(TypeError, match="debug_mode must be a DebugMode"):
        debugging.TensorCheckerConfig(debug_mode=3)
    with pytest.raises(TypeError, match="must be a TensorCheckerConfig, not dict"):
        debugging.enable_tensor_checker({})


def test_check_numerics():
    x = np.array([1, NAN, -INF, 0, 3], "f")
    stats, values = debugging.check_numerics(proa.to_tensor(x), debug_mode=debugging.DebugMode.CHECK_ALL)
    assert stats.tolist() == [1, 1, 1]
    np.testing.assert_allclose(values.numpy(), [3, 0, 4 / 3], rtol=1e-6)
    with pytest.raises(RuntimeError, match="check_numerics: y of exp has 1 NaN and 1 Inf; it is"):
        debugging.check_numerics(proa.to_tensor(x), "exp", "y")
    with pytest.raises(TypeError, match="check_numerics: does not accept int64"):
        debugging.check_numerics(proa.to_tensor([1]))
