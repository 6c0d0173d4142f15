"""What `jit.save` writes of a function's results, and what recordings and loaded layers say of their programs."""

import numpy as np
import pytest

import proa as paddle
from proa import static


class _Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(4, 2)

    @paddle.jit.to_static
    def forward(self, x):
        h = self.linear(x)
        return h, h.mean(), {"double": h * 2}


_SPECS = [static.InputSpec([None, 4], "float32")]


def test_output_spec_chooses_results(tmp_path):
    net, x = _Net(), paddle.ones([3, 4])
    want = net(x)
    assert [list(t.shape)[1:] for t in net.forward.outputs] == [[2], [], [2]]
    for chosen, values in (
        (net.forward.outputs[1:], [want[1], want[2]["double"]]),
        (net.forward.outputs[:1], [want[0]]),
        ([net.forward.outputs[2], net.forward.outputs[0]], [want[2]["double"], want[0]]),
    ):
        paddle.jit.save(net, str(tmp_path / "net"), _SPECS, output_spec=chosen)
        got = paddle.jit.load(str(tmp_path / "net"))(x)
        got = got if isinstance(got, list) else [got]
        assert len(got) == len(values)
        for a, b in zip(got, values, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_output_spec_that_names_nothing_is_an_error(tmp_path):
    net = _Net()
    result = net(paddle.ones([3, 4]))[0]
    for bad in ([result], ["h"], _Net().forward.dygraph_function):
        with pytest.raises(ValueError, match="output_spec has a .* that is no result of the function.*there are 3"):
            paddle.jit.save(net, str(tmp_path / "net"), _SPECS, output_spec=bad)
    with pytest.raises(ValueError, match="names results of a converted function"):
        paddle.jit.save(paddle.nn.Linear(4, 2), str(tmp_path / "net"), _SPECS, output_spec=[result])
    with pytest.raises(RuntimeError, match="nothing is recorded yet"):
        paddle.jit.save(_Net(), str(tmp_path / "net"), _SPECS, output_spec=[result])


def test_a_path_without_a_name_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="prefix of file names"):
        paddle.jit.save(paddle.nn.Linear(4, 2), str(tmp_path) + "/", _SPECS)


def test_a_loaded_layer_gives_a_program_that_an_executor_runs(tmp_path):
    net, x = paddle.nn.Linear(4, 2), np.ones([3, 4], "float32")
    paddle.jit.save(net, str(tmp_path / "net"), [static.InputSpec([None, 4], "float32", "x")])
    program = paddle.jit.load(str(tmp_path / "net")).program()
    assert isinstance(program, static.Program) and "linear(" in str(program)
    assert sorted(list(t.shape) for t in program.list_vars()) == [[2], [4, 2]]
    (got,) = static.Executor().run(program, feed={"x": x})
    np.testing.assert_allclose(got, net(paddle.to_tensor(x)).numpy(), rtol=1e-6)


def test_a_recording_says_its_inputs_and_parameters():
    net = paddle.jit.to_static(paddle.nn.Linear(4, 2), input_spec=[static.InputSpec([None, 4], "float32", "x")])
    concrete = net.forward.concrete_program
    assert [list(t.shape)[1:] for t in concrete.inputs] == [[4]]
    assert {p.name for p in concrete.parameters} == {p.name for p in net.parameters()}
    assert isinstance(concrete.main_program, static.Program) and str(concrete.main_program) == str(concrete.program)


@pytest.mark.parametrize("of", ["append_backward", "gradients", "minimize"])
def test_gradients_are_fetched_by_the_names_of_parameters(of):
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", [3, 4], "float32")
            weight = paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Constant(0.5))
            loss = (static.nn.fc(x, 2, weight_attr=weight, bias_attr=False) ** 2).mean()
            w = next(p for p in main.all_parameters())
            if of == "append_backward":
                ((_, grad),) = static.append_backward(loss)
                assert grad.name == "w@GRAD"
            elif of == "gradients":
                assert static.gradients(loss, [w])[0].name == "w@GRAD"
                assert static.gradients(loss, [w])[0].name == "w@GRAD_1"
            else:
                paddle.optimizer.SGD(0.0).minimize(loss)
        executor, value = static.Executor(), np.arange(12, dtype="float32").reshape(3, 4)
        executor.run(startup)
        (got,) = executor.run(main, feed={"x": value}, fetch_list=["w@GRAD"])
        np.testing.assert_allclose(got, value.T @ (value @ np.full([4, 2], 0.5)) / 3, rtol=1e-5)
    finally:
        paddle.disable_static()


def test_a_gradient_that_is_an_input_keeps_its_name():
    paddle.enable_static()
    try:
        with static.program_guard(static.Program()):
            x = static.data("x", [2], "float32")
            w = paddle.create_parameter([2], "float32", name="weight_of_input")
            ((_, grad),) = static.append_backward((x * w).sum())
            (got,) = static.Executor().run(
                static.default_main_program(), feed={"x": np.float32([1, 2])}, fetch_list=[grad]
            )
            np.testing.assert_array_equal(got, [1, 2])
            assert x.name == "x"
    finally:
        paddle.disable_static()


def test_the_length_of_an_array_is_a_tensor_of_a_program():
    paddle.enable_static()
    try:
        with static.program_guard(static.Program()):
            x = static.data("x", [2], "float32")
            array = paddle.tensor.array_write(x, 0, paddle.tensor.create_array("float32"))
            array = paddle.tensor.array_write(x * 2, 1, array)
            length = paddle.tensor.array_length(array)
            last = paddle.tensor.array_read(array, length - 1)
            got = static.Executor().run(feed={"x": np.float32([1, 2])}, fetch_list=[length, last])
        assert got[0].tolist() == [2] and got[0].dtype == np.int64 and got[1].tolist() == [2, 4]
    finally:
        paddle.disable_static()


def _none_or_tensors(x):
    if x.sum() > 10:
        return None
    if x.sum() > 0:
        return x * 2, x.sum()
    return (x.astype("int64"),) * 3


def _one_of_two(x):
    if x.sum() > 0:
        return x * 2
    return x[0] - 1


@pytest.mark.parametrize("function", [_none_or_tensors, _one_of_two])
def test_results_of_another_kind_by_a_tensor(function, tmp_path):
    paddle.jit.save(function, str(tmp_path / "f"), _SPECS)
    loaded = paddle.jit.load(str(tmp_path / "f"))
    for scale in (9.0, 0.25, -1.5, 0.5):
        x = paddle.full([2, 4], scale)
        want, got = function(x), loaded(x)
        if want is None:
            assert got is None
            continue
        pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
        for a, b in pairs:
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    names = loaded._module.output_names
    assert names[0] == "output@WHICH"
    assert names[1:] == (
        ["output_0@1", "output_1@1", "output_0@2", "output_1@2", "output_2@2"]
        if function is _none_or_tensors
        else ["output_0@0", "output_0@1"]
    )
    config = paddle.inference.Config(str(tmp_path / "f.pdmodel"), str(tmp_path / "f.pdiparams"))
    predictor = paddle.inference.create_predictor(config)
    assert predictor.get_output_names() == names
    with pytest.raises(TypeError, match="neither what goes on in it nor a file of another format"):
        paddle.jit.save(function, str(tmp_path / "g"), _SPECS, format="paddle")
