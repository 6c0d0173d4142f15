"""Smaller promises of static mode and of conversion: complex values, texts, initializers without a block, memory of runs."""

import gc
import inspect
import os
import warnings

import numpy as np
import pytest

import proa as paddle
from proa import static

_R = np.random.RandomState(0)


@pytest.fixture
def main():
    """A program that is recorded into."""
    paddle.enable_static()
    program, startup = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(program, startup):
        yield program
    paddle.disable_static()


_Z = (_R.randn(2, 1, 3) + 1j * _R.randn(2, 1, 3)).astype("complex64")
_OF_COMPLEX = {
    "abs": (paddle.abs, np.abs),
    "transpose": (lambda z: paddle.transpose(z, [2, 0, 1]), lambda z: z.transpose(2, 0, 1)),
    "squeeze": (lambda z: paddle.squeeze(z, 1), lambda z: z.squeeze(1)),
    "unsqueeze": (lambda z: paddle.unsqueeze(z, 0), lambda z: z[None]),
    "matmul": (lambda z: paddle.matmul(z, z.transpose([0, 2, 1])), lambda z: z @ z.transpose(0, 2, 1)),
    "full": (lambda z: z + paddle.full([3], 2 - 1j, "complex64"), lambda z: z + np.complex64(2 - 1j)),
}


@pytest.mark.parametrize("name", _OF_COMPLEX)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_values(main, name, dtype):
    ours, numpy = _OF_COMPLEX[name]
    z = static.data("z", [2, 1, 3], dtype)
    out = ours(z.astype(dtype) if name != "full" else z)
    (got,) = static.Executor().run(main, feed={"z": _Z.astype(dtype)}, fetch_list=[out])
    np.testing.assert_allclose(got, numpy(_Z.astype(dtype)), rtol=1e-5)


def test_variables_of_texts(main):
    kinds = paddle.fluid.core.VarDesc.VarType
    for given in (kinds.STRINGS, 26):
        made = main.global_block().create_var(name=f"texts{given!r}", type=given, shape=[1], dtype="float32")
        assert made.lod_level == 0 and made.type == kinds.STRINGS == "STRINGS" and repr(made.type) == "VarType.STRINGS"
    plain = main.global_block().create_var(name="plain", shape=[-1, 2], dtype="float32")
    assert plain.type == kinds.LOD_TENSOR == 7 and plain.type != kinds.STRINGS and plain.type != "STRINGS"
    with pytest.raises(ValueError, match="type must be one of fluid.core.VarDesc.VarType; it is 99"):
        main.global_block().create_var(name="other", type=99, shape=[1])


_INITIALIZERS = {
    "Constant": {"value": 0.5},
    "Normal": {},
    "TruncatedNormal": {},
    "Uniform": {},
    "XavierNormal": {},
    "XavierUniform": {},
    "KaimingNormal": {},
    "KaimingUniform": {},
    "Orthogonal": {},
    "Assign": {"value": np.arange(12, dtype="float32").reshape(4, 3)},
}


@pytest.mark.parametrize("name", _INITIALIZERS)
def test_initializers_without_a_block(name):
    """In eager mode and in static mode, where a startup program draws: numbers of one distribution."""
    shape = [4, 3] if name == "Assign" else [64, 64]
    make = lambda: getattr(paddle.nn.initializer, name)(**_INITIALIZERS[name])
    paddle.seed(3)
    want = paddle.create_parameter(shape, "float32", default_initializer=make()).numpy()
    again = paddle.zeros(shape)
    paddle.seed(3)
    make()(again, None)
    np.testing.assert_array_equal(again.numpy(), want)
    paddle.enable_static()
    try:
        program, startup = static.Program(), static.Program()
        with static.scope_guard(static.Scope()), static.program_guard(program, startup):
            made = static.create_parameter(shape, "float32", default_initializer=make())
            executor = static.Executor()
            executor.run(startup)
            (got,) = executor.run(program, fetch_list=[made])
    finally:
        paddle.disable_static()
    if name in ("Assign", "Constant"):
        np.testing.assert_array_equal(got, want)
    assert abs(got.std() - want.std()) <= 0.05 * want.std()
    assert abs(got.mean() - want.mean()) <= 0.06 * max(want.std(), 1e-6)


# Conversion ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [True, 3, 2.5, None, "text"])
def test_equal_plain_values_of_ways(value):
    """Both ways give the same plain value: it stays one, in `if` and in cond."""

    @paddle.jit.to_static
    def function(x):
        if x.sum() > 0:
            kept, y = value, x
        else:
            kept, y = value, -x
        assert type(kept) is type(value) and kept == value
        return y

    assert function(paddle.to_tensor([-1.0])).tolist() == [1.0]


@pytest.mark.parametrize("value", [True, 3])
def test_equal_plain_values_of_cond(main, value):
    x = static.data("x", [1])
    out = static.nn.cond(x.sum() > 0, lambda: (x * 2, value), lambda: (x, value))
    assert type(out[1]) is type(value) and out[1] == value
    (got,) = static.Executor().run(main, feed={"x": np.float32([2])}, fetch_list=out[:1])
    assert got.item() == 4


def test_arrays_in_branches_have_gradients_of_their_dtype():
    @paddle.jit.to_static
    def function(x):
        array = paddle.tensor.create_array("float64")
        if x.sum() > 0:
            paddle.tensor.array_write(x * 2, paddle.to_tensor(0), array)
        else:
            paddle.tensor.array_write(x * 3, paddle.to_tensor(0), array)
        return paddle.tensor.array_read(array, paddle.to_tensor(0))

    x = paddle.to_tensor([-1.0, 0.5], "float64", stop_gradient=False)
    function(x).sum().backward()
    assert x.grad.dtype == paddle.float64 and x.grad.tolist() == [3.0, 3.0]


# fmt: off
class _Net(paddle.nn.Layer):
    def forward(self, x):
        return x

    @paddle.jit.to_static
    def other(self, x):  # not forward
            # a comment that stands where it likes
        if x.sum() > 0:
      # and another
            y = x * 2
        else:
            y = x
        return paddle.abs(y)
    # one more
# fmt: on


def _three():
    yield from range(3)


def test_edges_of_calls():
    assert _Net().other(paddle.to_tensor([1.0])).tolist() == [2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function = paddle.jit.to_static(lambda x: x * sum(_three()))
        assert function(paddle.to_tensor([1.0])).tolist() == [3.0]


_SIGNAL = _R.randn(2, 64).astype("float32")
_COVERED = {
    "frame": lambda x: paddle.signal.frame(x, 16, 8),
    "stft": lambda x: paddle.signal.stft(x, 16),
    "istft": lambda x: paddle.signal.istft(paddle.signal.stft(x, 16), 16),
    "pad": lambda x: paddle.nn.functional.pad(
        x.reshape([1, 2, 64]), paddle.to_tensor([1, 2], "int32") + 0, data_format="NCL"),
    "expand": lambda x: x[:, :1].expand([2, x.shape[0] + paddle.to_tensor(3, "int32")]),
    "expand_as": lambda x: x[:1].expand_as(x * 2),
}  # fmt: skip


@pytest.mark.parametrize("name", _COVERED)
@pytest.mark.parametrize("open_size", [False, True])
def test_functions_under_conversion(name, open_size):
    function = _COVERED[name]
    spec = [static.InputSpec([None, 64] if open_size else [2, 64])]
    x = paddle.to_tensor(_SIGNAL)
    want = function(x)
    got = paddle.jit.to_static(function, input_spec=spec)(x)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)


def test_an_error_of_a_shape_under_conversion():
    function = paddle.jit.to_static(lambda x: x.reshape([7, -1]))
    with pytest.raises(ValueError, match="reshape"):
        function(paddle.to_tensor(_SIGNAL))


# Model -----------------------------------------------------------------------------------------------------------------------


def test_a_model_in_static_mode(tmp_path):
    """prepare, fit, evaluate, predict, save and load of Model, of a program and in eager mode: the same numbers."""
    x = _R.randn(32, 4).astype("float32")
    label = (x.sum(1, keepdims=True) > 0).astype("int64")
    found = {}
    for mode in ("static", "eager"):
        (paddle.enable_static if mode == "static" else paddle.disable_static)()
        try:
            with static.scope_guard(static.Scope()), static.program_guard(static.Program(), static.Program()):
                paddle.seed(5)
                net = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.ReLU(), paddle.nn.Linear(8, 2))
                model = paddle.Model(
                    net, static.InputSpec([None, 4], "float32", "x"), static.InputSpec([None, 1], "int64", "label")
                )
                optimizer = paddle.optimizer.Adam(0.05, parameters=model.parameters())
                model.prepare(optimizer, paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy())
                data = [(a, b) for a, b in zip(x, label, strict=True)]
                model.fit(data, batch_size=8, epochs=3, shuffle=False, verbose=0)
                result = model.evaluate(data, batch_size=8, verbose=0)
                predicted = np.concatenate(model.predict(data, batch_size=8, verbose=0)[0])
                model.save(str(tmp_path / mode))
                model.load(str(tmp_path / mode))
                found[mode] = result, predicted
        finally:
            paddle.disable_static()
    for mode in found:
        assert found[mode][0]["acc"] > 0.8
    np.testing.assert_allclose(found["static"][1], found["eager"][1], rtol=1e-4, atol=1e-5)


# Memory ----------------------------------------------------------------------------------------------------------------------


def _resident():
    """KiB of this process in memory."""
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="freed memory waits in quarantine")
def test_runs_over_random_shapes_keep_no_memory():
    """10^4 runs of a converted function with an open size, and of a program, over shapes that are drawn."""

    @paddle.jit.to_static(input_spec=[static.InputSpec([None, None])])
    def function(x):
        y = paddle.nn.functional.softmax(x * 2.0, -1)
        if y.sum() > 3:
            y = y + 1
        return y.sum(0)

    program = static.Program()
    with static.program_guard(program):
        given = static.data("x", [None, None])
        out = (given.exp() @ given.transpose([1, 0])).mean()
    executor = static.Executor()
    largest = np.zeros([20, 20], "float32")

    def run(shapes):
        for k, (n, m) in enumerate(shapes):
            if k % 2:
                function(paddle.to_tensor(largest[:n, :m]))
            else:
                executor.run(program, feed={"x": largest[:n, :m]}, fetch_list=[out])
        gc.collect()

    # What is kept for a shape is made: each of them twice, so that both kinds of run see it.
    run([(n, m) for n in range(1, 20) for m in range(1, 20) for _ in range(2)])
    run(_R.randint(1, 20, [1000, 2]))
    reserved, resident = paddle.device.memory_reserved("cpu"), _resident()
    run(_R.randint(1, 20, [10000, 2]))
    assert paddle.device.memory_reserved("cpu") <= reserved
    assert _resident() <= resident + 1024
    assert len(function._recordings) == 1


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="freed memory waits in quarantine")
def test_a_loaded_layer_that_trains_under_no_grad_keeps_no_memory(tmp_path):
    net = paddle.nn.Sequential(paddle.nn.Linear(8, 16), paddle.nn.BatchNorm1D(16), paddle.nn.Linear(16, 2))
    paddle.jit.save(net, str(tmp_path / "net"), [static.InputSpec([None, 8])])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    loaded.train()
    x = paddle.randn([32, 8])

    def run(times):
        with paddle.no_grad():
            for _ in range(times):
                loaded(x)
        gc.collect()

    run(500)
    reserved, resident = paddle.device.memory_reserved("cpu"), _resident()
    run(4000)
    assert paddle.device.memory_reserved("cpu") <= reserved and _resident() <= resident + 512


def test_variables_of_a_loop_are_tensors():
    x = paddle.zeros([1])
    for value, says in (
        ([x], r"loop_vars\[1\] must be a Tensor, not list; stack an array"),
        (3, "must be a Tensor, not int"),
    ):
        with pytest.raises(TypeError, match=says):
            static.nn.while_loop(lambda x, y: x < 1, lambda x, y: [x, y], [x, value])


# Names -----------------------------------------------------------------------------------------------------------------------

# What there is no hardware for here, with the words that each says.
_WITHOUT = {"IpuCompiledProgram", "IpuStrategy", "ipu_shard_guard", "set_ipu_shard"}


@pytest.mark.parametrize("module", [static, static.nn, paddle.jit, static.amp, static.sparsity])
def test_no_public_name_only_raises(module):
    """A function whose body is nothing but `raise NotImplementedError` is a name without the thing."""
    found = set()
    for name in module.__all__ if hasattr(module, "__all__") else dir(module):
        value = inspect.unwrap(getattr(module, name)) if callable(getattr(module, name)) else None
        for function in (value, getattr(value, "__init__", None)):
            try:
                lines = [line.strip() for line in inspect.getsource(function).splitlines()]
            except (TypeError, OSError):
                continue
            text = " ".join(lines)
            body = text.split('"""')[-1] if '"""' in text else text
            if "NotImplementedError" in body and not any(w in body for w in (" return ", " yield ", " if ", " = ")):
                found.add(name)
    assert found <= _WITHOUT, found
