"""Models that static.save_inference_model wrote are trained further by jit.load, under the names of their program."""

import numpy as np
import pytest

import proa
from proa import nn, static

_X = np.random.RandomState(0).randn(5, 3).astype("float32")


def _saved(path, in_scope, folder=None):
    """Writes a model; gives {name: value}, and what it computes."""
    proa.enable_static()
    try:
        main, start = static.Program(), static.Program()
        with static.program_guard(main, start), proa.utils.unique_name.guard():
            x = static.data("x", [None, 3])
            h = static.nn.fc(x, 4, weight_attr=proa.ParamAttr(name="first.w"), bias_attr=proa.ParamAttr(name="first.b"))
            h = static.nn.batch_norm(h, param_attr=proa.ParamAttr(name="scale"), bias_attr=proa.ParamAttr(name="shift"),
                                     moving_mean_name="mean", moving_variance_name="variance")  # fmt: skip
            h = static.nn.fc(
                proa.tanh(h), 2, weight_attr=proa.ParamAttr(name="last.w", trainable=False), bias_attr=False
            )
        exe = static.Executor()
        with static.scope_guard(static.Scope() if in_scope else static.global_scope()):
            exe.run(start)
            names = ["first.w", "first.b", "scale", "shift", "mean", "variance", "last.w"]
            held = [static.global_scope().find_var(name).get_tensor() for name in names]
            rng = np.random.RandomState(7)
            for tensor in held:
                tensor.set(rng.rand(*np.array(tensor).shape).astype("float32") + 0.2, proa.CPUPlace())
            (result,) = exe.run(main.clone(for_test=True), feed={"x": _X}, fetch_list=[h])
            if folder is not None:
                proa.fluid.io.save_inference_model(folder, ["x"], [h], exe, main)
            else:
                static.save_inference_model(path, [x], [h], exe, program=main)
            return dict(zip(names, map(np.array, held), strict=True)), result
    finally:
        proa.disable_static()


@pytest.mark.parametrize("in_scope", [False, True])
def test_fine_tuning(tmp_path, in_scope):
    path = str(tmp_path / "net")
    values, result = _saved(path, in_scope)
    net = proa.jit.load(path)
    named = {p.name: p for p in net.parameters()}
    assert sorted(named) == ["first.b", "first.w", "scale", "shift"]
    assert len(net.buffers()) == 3  # running statistics, and what is not trainable
    for name, p in named.items():
        np.testing.assert_array_equal(p.numpy(), values[name])
    x = proa.to_tensor(_X)
    np.testing.assert_allclose(net(x).numpy(), result, rtol=1e-5)

    # The same of layers, in evaluation mode.
    first, norm = nn.Linear(3, 4), nn.BatchNorm1D(4)
    first.weight.set_value(values["first.w"])
    first.bias.set_value(values["first.b"])
    norm.set_state_dict(dict(zip(["weight", "bias", "_mean", "_variance"],
                                 map(values.get, ["scale", "shift", "mean", "variance"]), strict=True)))  # fmt: skip
    norm.eval()
    last = proa.to_tensor(values["last.w"])
    whole = lambda x: proa.matmul(proa.tanh(norm(first(x))), last)
    theirs = {"first.w": first.weight, "first.b": first.bias, "scale": norm.weight, "shift": norm.bias}
    ours = proa.optimizer.Momentum(0.1, parameters=net.parameters())
    other = proa.optimizer.Momentum(0.1, parameters=list(theirs.values()))
    for _ in range(3):
        losses = []
        for model, optimizer in ((net, ours), (whole, other)):
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(loss))
        np.testing.assert_allclose(*losses, rtol=1e-5)
    for name, p in theirs.items():
        np.testing.assert_allclose(named[name].numpy(), p.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("in_scope", [False, True])
def test_state_of_inference_models(tmp_path, in_scope):
    values, _ = _saved(str(tmp_path / "net"), in_scope)
    state = static.load_program_state(str(tmp_path / "net"))
    assert sorted(state) == sorted(values)
    for name, value in values.items():
        np.testing.assert_array_equal(state[name], value)


def test_models_of_the_old_namespace(tmp_path):
    folder = str(tmp_path / "model")
    values, result = _saved(None, False, folder)
    net = proa.jit.load(folder)
    assert sorted(p.name for p in net.parameters()) == ["first.b", "first.w", "scale", "shift"]
    np.testing.assert_allclose(net(proa.to_tensor(_X)).numpy(), result, rtol=1e-5)
    assert sorted(proa.load(folder)) == sorted(values)


def _reference_file(path, array):
    from proa.jit.reference import wire

    path.write_bytes(wire.tensor_head(array.dtype.name, array.shape) + array.tobytes())


def test_folders_of_tensors(tmp_path):
    """A file for each tensor, as PaddlePaddle 1.x wrote them, and as we do; what is none is named."""
    arrays = {"w": _X, "b": np.arange(4), "n": np.float32([]), "one": np.float64(3.0)[None]}
    for name, array in arrays.items():
        _reference_file(tmp_path / name, array)
    (tmp_path / "readme.txt").write_text("no tensor")
    for read in (lambda: proa.load(str(tmp_path), return_numpy=True), lambda: static.load_program_state(str(tmp_path))):
        with pytest.warns(UserWarning, match="readme.txt in .* is left out"):
            found = read()
        assert sorted(found) == sorted(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype
    one = proa.load(str(tmp_path / "w"))
    assert isinstance(one, proa.Tensor)
    np.testing.assert_array_equal(one.numpy(), _X)
    whole = (tmp_path / "w").read_bytes()
    for cut in range(4, len(whole), 7):
        (tmp_path / "cut").write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="cut"):
            proa.load(str(tmp_path / "cut"))


def test_parameters_of_the_reference_in_the_old_namespace(tmp_path):
    proa.enable_static()
    try:
        main, start = static.Program(), static.Program()
        with static.program_guard(main, start):
            y = static.nn.fc(
                static.data("x", [None, 3]), 2, weight_attr=proa.ParamAttr(name="of_1x.w"), bias_attr=False
            )
        exe = static.Executor()
        exe.run(start)
        _reference_file(tmp_path / "of_1x.w", np.ones([3, 2], "float32"))
        proa.fluid.io.load_params(exe, str(tmp_path), main)
        (found,) = exe.run(main, feed={"x": _X}, fetch_list=[y])
    finally:
        proa.disable_static()
    np.testing.assert_allclose(found, _X.sum(1, keepdims=True).repeat(2, 1), rtol=1e-5)


def test_a_deserialized_program_gets_its_parameters(tmp_path):
    proa.enable_static()
    try:
        main, start = static.Program(), static.Program()
        with static.program_guard(main, start):
            x = static.data("x", [None, 3])
            y = static.nn.fc(x, 2)
        exe = static.Executor()
        exe.run(start)
        (wanted,) = exe.run(main, feed={"x": _X}, fetch_list=[y])
        texts = static.serialize_program([x], [y]), static.serialize_persistables([x], [y], exe)
        program = static.deserialize_program(texts[0])
        with pytest.raises(RuntimeError, match="no parameters yet; call static.deserialize_persistables"):
            exe.run(program, feed={"x": _X}, fetch_list=None)
        static.deserialize_persistables(program, texts[1], exe)
        (found,) = exe.run(program, feed={"x": _X}, fetch_list=program.fetch_targets())
    finally:
        proa.disable_static()
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
