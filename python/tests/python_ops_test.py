"""Users' own ops in Python, `custom_op` and `static.py_func`: the same as any other op, and clear about what is wrong."""

import re

import numpy as np
import pytest

import proa
from proa import static
from proa.autograd import gradcheck, gradgradcheck
from proa.utils import custom_op
from python.tests.program_results import program_results


def _random(*shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def _leaf(array):
    return proa.to_tensor(array, stop_gradient=False)


# --- Ops of Python ----------------------------------------------------------------------------------------------------


@custom_op("py_scale(Tensor x, float factor=2.0) -> Tensor out")
def _scale(x, factor):
    return x.numpy() * factor


@_scale.gradient
def _(grad_out, factor):
    return grad_out.numpy() * factor


@custom_op("acme::py_pair(Tensor x, Tensor? y, int n, str[] words) -> Tensor first, Tensor[] rest")
def _pair(x, y, n, words):
    """Of everything."""
    base = x.numpy() if y is None else x.numpy() + y.numpy()
    return base + len(words), [np.asarray(base * i) for i in range(n)]


@_pair.infer
def _(x, y, n, words):
    return x, [x] * n


@_pair.gradient(formula=True)
def _(x, y, n, words, grad_first, grad_rest):
    g = grad_first
    for i, more in enumerate(grad_rest):
        g = g + more * float(i)
    return g, None if y is None else g


def test_an_op_of_python():
    x = _leaf(_random(3, 2))
    assert gradcheck(lambda a: _scale(a, factor=3.0), [x])
    np.testing.assert_allclose(_scale(x).numpy(), x.numpy() * 2)
    first, rest = _pair(x, None, 2, ["a", "b"])
    np.testing.assert_allclose(first.numpy(), x.numpy() + 2)
    assert len(rest) == 2 and _pair.__doc__ == "Of everything."

    def every(a, b):
        first, rest = _pair(a, b, 3, [])
        return first * 2.0 + rest[1] * rest[2]

    y = _leaf(_random(3, 2, seed=1))
    assert gradcheck(every, [x, y])
    assert gradgradcheck(every, [x, y])
    assert gradcheck(lambda a: _pair(a, None, 2, [])[1][1], [x])


def test_an_op_of_python_in_programs(tmp_path):
    def build(x, y):
        first, rest = _pair(_scale(x), y, 2, ["w"])
        return first + rest[1]

    feed = {"x": _random(3, 2), "y": _random(3, 2, seed=1)}
    _, (out, gx, gy) = program_results(build, feed, "x", "y")
    x, y = _leaf(feed["x"]), _leaf(feed["y"])
    want = build(x, y)
    want.sum().backward()
    for a, b in ((out, want), (gx, x.grad), (gy, y.grad)):
        np.testing.assert_allclose(a, b.numpy())
    net = proa.jit.to_static(lambda v: _scale(v, 4.0), input_spec=[static.InputSpec([None, 2], "float64")])
    proa.jit.save(net, str(tmp_path / "net"))
    np.testing.assert_allclose(proa.jit.load(str(tmp_path / "net"))(x).numpy(), feed["x"] * 4)


@pytest.mark.parametrize(
    ("signature", "says"),
    [
        ("nothing", "is no signature"),
        (3, "is no signature"),
        ("f(Tensor x)", "is no signature"),
        ("f(Matrix x) -> Tensor out", "'Matrix x' is no parameter"),
        ("f(int? x) -> Tensor out", "only tensors may be None"),
        ("f(float x=abc) -> Tensor out", "the default 'abc' is no literal"),
        ("f(int x='1') -> Tensor out", "is no int"),
        ("f(Tensor x) -> int out", "'int out' is no output"),
        ("f(int n, Tensor x) -> Tensor out", "f: tensors come before attributes"),
        ("f(Tensor x, Tensor x) -> Tensor out", "f: two parameters are called x"),
        ("relu(Tensor x) -> Tensor out", "there is an op 'relu' already"),
    ],
)
def test_signatures_that_are_refused(signature, says):
    with pytest.raises((ValueError, RuntimeError), match=re.escape(says)):
        custom_op(signature)(lambda *args: args[0])(proa.ones([1]), proa.ones([1]))


def test_functions_of_python_that_go_wrong():
    def op(signature, kernel, **kwargs):
        return custom_op(signature, **kwargs)(kernel)

    def raises(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as caught:
        op("py_raises(Tensor x) -> Tensor out", raises)(proa.ones([1]))
    if hasattr(caught.value, "__notes__"):
        assert "in the kernel of the custom op py_raises" in caught.value.__notes__
    with pytest.raises(TypeError, match="py_none: the kernel gave None for output out|returned NoneType"):
        op("py_none(Tensor x) -> Tensor out", lambda x: [None])(proa.ones([1]))
    with pytest.raises(ValueError, match="py_few: the kernel returned 1; the op has 2 outputs"):
        op("py_few(Tensor x) -> Tensor a, Tensor b", lambda x: (x,))(proa.ones([1]))
    with pytest.raises(TypeError, match="py_arity: the kernel must take 2 arguments"):
        op("py_arity(Tensor x, Tensor y) -> Tensor out", lambda x: x)
    with pytest.raises(ValueError, match="py_lie: the kernel and inference disagree on output out"):
        op("py_lie(Tensor x) -> Tensor out", lambda x: x, infer=lambda x: ([7], "int32"))(proa.ones([1]))
    with pytest.raises(TypeError, match="py_odd: inference gave 3 for output out"):
        op("py_odd(Tensor x) -> Tensor out", lambda x: x, infer=lambda x: [3])(proa.ones([1]))
    with pytest.raises(ValueError, match="py_grad_names: its gradient takes what, which is no parameter"):
        op("py_grad_names(Tensor x) -> Tensor out", lambda x: x, gradient=lambda what: what)(proa.ones([1]))
    two = op("py_two(Tensor x, Tensor y) -> Tensor out", lambda x, y: x, gradient=lambda grad_out: grad_out)
    with pytest.raises(ValueError, match="py_two_grad: the gradient returned 1 values; the op has 2 tensors"):
        two(_leaf(_random(2)), _leaf(_random(2))).sum().backward()
    shape = op("py_shape(Tensor x) -> Tensor out", lambda x: x, gradient=lambda grad_out: proa.ones([5], "float64"))
    with pytest.raises(ValueError, match="py_shape: gradient 0 that backward returned does not fit"):
        shape(_leaf(_random(2))).sum().backward()
    with pytest.raises(RuntimeError, match="py_shape: infer comes too late"):
        shape.infer(lambda x: x)


# --- static.py_func ---------------------------------------------------------------------------------------------------


def _out_like(x, name):
    return static.default_main_program().current_block().create_var(name=name, dtype=x.dtype, shape=x.shape)


@pytest.mark.parametrize("skip", [False, True])
def test_py_func(skip):
    seen = []

    def tanh(x):
        return np.tanh(x.numpy())

    def tanh_grad(*given):
        y, dy = given[-2:]
        assert len(given) == (2 if skip else 3)
        return dy.numpy() * (1 - np.square(y.numpy()))

    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [None, 3], "float64")
        x.stop_gradient = False
        out = _out_like(x, "hidden")
        hidden = static.py_func(tanh, x, out, tanh_grad, x if skip else None)
        assert hidden is out and hidden.shape[1] == 3
        static.py_func(lambda v: seen.append(v.numpy().copy()), hidden, None)
        (grad,) = static.gradients([(hidden * 2.0).sum()], [x])
    exe = static.Executor()
    for n in (2, 5):
        fed = _random(n, 3, seed=n)
        got = exe.run(main, feed={"x": fed}, fetch_list=[hidden, grad])
        np.testing.assert_allclose(got[0], np.tanh(fed))
        np.testing.assert_allclose(got[1], 2 * (1 - np.tanh(fed) ** 2))
        np.testing.assert_allclose(seen[-1], np.tanh(fed))
    assert len(seen) == 2


def test_py_func_of_several():
    main = static.Program()
    with static.program_guard(main):
        a, b = static.data("a", [2]), static.data("b", [2])
        outs = [_out_like(a, "s"), main.current_block().create_var(name="p", shape=[2], dtype="int64")]
        total, product = static.py_func(lambda u, v: (u + v, (u * v).astype("int64")), [a, b], outs)
        none = static.py_func(lambda: np.float32(7), None, main.current_block().create_var(shape=[], dtype="float32"))
    fed = {"a": np.array([1, 2], "float32"), "b": np.array([3, 4], "float32")}
    got = static.Executor().run(main, feed=fed, fetch_list=[total, product, none])
    assert [g.tolist() for g in got] == [[4.0, 6.0], [3, 8], 7.0] and got[1].dtype == np.int64


def test_py_func_that_goes_wrong():
    with pytest.raises(RuntimeError, match="static mode is off"):
        static.py_func(len, proa.ones([1]), None)
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [2])
        with pytest.raises(TypeError, match="py_func: func is 3; it must be a function"):
            static.py_func(3, x, None)
        with pytest.raises(TypeError, match="py_func: x is int"):
            static.py_func(len, 3, None)
        with pytest.raises(ValueError, match="py_func: skip_vars_in_backward_input has a value that is neither"):
            static.py_func(len, x, None, len, static.data("z", [1]))
        wrong = static.py_func(lambda v: v.numpy()[:1], x, _out_like(x, "w"))
        count = static.py_func(lambda v: (v, v), x, _out_like(x, "c"))
    exe, fed = static.Executor(), {"x": np.zeros(2, "float32")}
    with pytest.raises(ValueError, match=r"py_func: the kernel and inference disagree on output outs: it is \[1\]"):
        exe.run(main, feed=fed, fetch_list=[wrong])
    with pytest.raises(ValueError, match="py_func: the function .* gave 2 values, not 1"):
        exe.run(main, feed=fed, fetch_list=[count])
