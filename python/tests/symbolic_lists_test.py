"""Lists that hold tensors of a program: where a list of numbers may stand, it is recorded; elsewhere an error says so."""

import contextlib

import numpy as np
import pytest

import proa
from proa.jit import to_static

_X = np.array([[1.0, -2.0, 3.0], [4.0, 0.5, -6.0]], "float32")


def _i(x):
    """A 0-d integer of the program: 1."""
    return (x.sum() > -100).astype("int64")


_RECORDED = {
    "to_tensor": lambda x: proa.to_tensor([x.sum(), x.max()]),
    "to_tensor, nested, with numbers": lambda x: proa.to_tensor([[x.sum(), 1], [2.5, x.max()], (3, x[0, 0])]),
    "to_tensor, with arrays": lambda x: proa.to_tensor([x[0], np.ones(3, "float32"), proa.zeros([3]), [1, 2, 3.0]]),
    "to_tensor, one": lambda x: proa.to_tensor([x]),
    "to_tensor, dtype": lambda x: proa.to_tensor([x.sum(), x.max()], dtype="float64"),
    "to_tensor, integers": lambda x: proa.to_tensor([_i(x), 5]),
    "to_tensor, promoted": lambda x: proa.to_tensor([_i(x), 5.5, x.max().astype("float64")]),
    "assign": lambda x: proa.assign([x.sum(), x.max()]),
    "as an index": lambda x: x[[_i(x), 0]],
    "in a tuple of indices": lambda x: x[[_i(x), 0], [0, _i(x)]],
    "setitem, value": lambda x: _changed(x, lambda y: y.__setitem__(0, [x.sum(), x.max(), 1.0])),
    "setitem, index": lambda x: _changed(x, lambda y: y.__setitem__([_i(x), 0], 7.0)),
    "stack": lambda x: proa.stack([x.sum(), x.max()]),
    "concat": lambda x: proa.concat([x, x * 2]),
    "full, shape": lambda x: proa.full([2, _i(x)], 3.0),
    "reshape": lambda x: proa.reshape(x, [3 * _i(x), 2]),
    "where": lambda x: proa.where(x > 0, x, proa.to_tensor([x.sum(), x.max(), 0.0])),
    "comparison": lambda x: x > proa.to_tensor([x.sum(), 0.0, x.max()]),
}


def _changed(x, change):
    y = x * 1.0
    change(y)
    return y


@pytest.mark.parametrize("name", _RECORDED)
def test_recorded_as_eager(name):
    f = _RECORDED[name]
    want = f(proa.to_tensor(_X))
    for values in (_X, _X * -3):
        got = to_static(f)(proa.to_tensor(values))
        want = f(proa.to_tensor(values))
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_array_equal(got.numpy(), want.numpy())


@pytest.mark.parametrize("name", _RECORDED)
def test_unknown_sizes(name):
    spec = [proa.static.InputSpec([None, 3], "float32")]
    f = to_static(_RECORDED[name], input_spec=spec)
    np.testing.assert_array_equal(f(proa.to_tensor(_X)).numpy(), _RECORDED[name](proa.to_tensor(_X)).numpy())


def test_ragged():
    for f in (lambda x: proa.to_tensor([x, x[0]]), lambda x: proa.to_tensor([x.sum(), [1.0]])):
        with pytest.raises(ValueError, match="ragged"):
            to_static(f)(proa.to_tensor(_X))


def test_empty_beside_symbolic():
    got = to_static(lambda x: proa.to_tensor([x[:, :0].sum(axis=0), []]))(proa.to_tensor(_X))
    assert got.shape == [2, 0]


# Every function of the package and method of Tensor, given lists with tensors of a program in each place that takes
# something: an answer or an error, but the process lives.


def _functions():
    for module in (proa, proa.linalg, proa.nn.functional, proa.static.nn):
        for name in sorted(set(getattr(module, "__all__", None) or dir(module))):
            f = getattr(module, name, None)
            if callable(f) and not isinstance(f, type) and not name.startswith("_"):
                yield f"{module.__name__}.{name}", f
    for name in sorted(dir(proa.Tensor)):
        if not name.startswith("__") or name in ("__getitem__", "__setitem__", "__array__", "__dlpack__", "__eq__"):
            yield f"Tensor.{name}", getattr(proa.Tensor, name)


_HARMFUL = {
    "proa.disable_signal_handler", "proa.enable_static", "proa.disable_static", "proa.set_device", "proa.save",
    "proa.load", "proa.set_default_dtype", "proa.set_flags", "proa.set_printoptions", "proa.seed",
    "proa.set_grad_enabled", "proa.set_rng_state", "proa.set_cuda_rng_state", "proa.summary", "proa.flops",
    "proa.batch", "Tensor.tofile",
}  # fmt: skip


def _arguments(x):
    lists = [[x.sum(), x.max()], [x, x], [[x.sum(), 1.0], [0, x.max()]], [_i(x), 0], [x, None], ["a", x], [[], x], x]
    for a in lists:
        yield (a,)
        for b in ([_i(x), 0], [x.sum(), 1.0], x, 0):
            yield (a, b)
            yield (b, a, a)


def test_every_function_survives():
    quick = [(name, f) for name, f in _functions() if name not in _HARMFUL]
    assert len(quick) > 400
    answers = 0
    for name, f in quick:

        def call(x, f=f):
            nonlocal answers
            for arguments in _arguments(x):
                try:
                    f(*arguments)
                    answers += 1
                except SystemError:
                    raise
                except Exception:  # pylint: disable=broad-except
                    pass
            return x

        print(name, flush=True)
        with contextlib.suppress(TypeError, ValueError, IndexError, NotImplementedError, RuntimeError):
            to_static(call)(proa.to_tensor(_X))  # some of what was recorded cannot run
    assert answers > 1000
