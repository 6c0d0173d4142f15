"""The Tensor object: identity, attributes, copies, text, conversions to Python numbers."""

import copy
import gc
import pickle
import sys
import weakref

import numpy as np
import pytest

from proa import _C


class Parameter(_C.Tensor):
    def __init__(self, data, trainable=True):
        self.stop_gradient = not trainable
        self.factor = 1.0


def test_attributes():
    x = _C.to_tensor(np.ones((2, 3), "float32"))
    assert x.shape == [2, 3]
    assert x.strides == [3, 1]
    assert x.layout == "strided"
    assert (x.ndim, x.dim(), x.ndimension()) == (2, 2, 2)
    assert x.size == 6
    assert x.element_size() == 4
    assert x.dtype == _C.float32
    assert str(x.place) == "Place(cpu)"
    assert x.stop_gradient
    assert x.is_leaf
    assert x.grad is None
    assert not x.persistable
    assert x.T.shape == [3, 2]
    assert not x.T.is_contiguous()
    assert x.T.contiguous().is_contiguous()
    assert x.contiguous() is x
    with pytest.raises(AttributeError):
        x.shape = [6]


def test_names():
    x, y = _C.to_tensor(1.0), _C.to_tensor(1.0)
    assert x.name.startswith("generated_tensor_")
    assert x.name == x.name
    assert x.name != y.name
    x.name = "mine"
    assert x.name == "mine"
    with pytest.raises(TypeError):
        x.name = 3


def test_identity_of_wrapped_tensors():
    x = _C.to_tensor([1.0])
    y = x * 2
    assert y.add_(x) is y
    leaf = _C.to_tensor([1.0], stop_gradient=False)
    (leaf * 2).backward()
    g = leaf.grad
    assert leaf.grad is g


def test_python_attributes_and_weak_references():
    x = _C.to_tensor([1.0])
    x.note = "a"
    assert x.note == "a"
    r = weakref.ref(x)
    assert r() is x
    del x
    assert r() is None


def test_objects_are_used_again_clean():
    x = _C.to_tensor([1.0])
    x.note, x.name, x.persistable = "a", "n", True
    del x
    y = _C.to_tensor([1.0])
    assert not hasattr(y, "note")
    assert y.name != "n"
    assert not y.persistable


def test_cycle_through_an_attribute_is_collected():
    x = _C.to_tensor([1.0])
    x.me = x
    r = weakref.ref(x)
    del x
    gc.collect()
    assert r() is None


def test_cycle_through_a_hook_is_collected():
    x = _C.to_tensor([1.0], stop_gradient=False)
    x.register_hook(lambda g: x.name and None)  # noqa: F821
    r = weakref.ref(x)
    del x
    gc.collect()
    assert r() is None


def test_hook_of_a_living_graph_is_kept():
    x = _C.to_tensor([1.0], stop_gradient=False)
    called = []
    x.register_hook(lambda g: called.append(g))
    y = x * 2
    gc.collect()
    y.backward()
    assert len(called) == 1


def test_no_leak():
    x = _C.to_tensor([1.0, 2.0])
    for _ in range(100):
        x + 1
    gc.collect()
    before = _C.memory_figures()["allocated"]
    for _ in range(1000):
        y = x + 1
        y.z = x
        y[0].item()
        str(y)
    del y
    gc.collect()
    assert _C.memory_figures()["allocated"] <= before


def test_subclass():
    data = _C.to_tensor([1.0, 2.0])
    p = Parameter(data, trainable=True)
    assert isinstance(p, _C.Tensor)
    assert not p.stop_gradient
    assert p.data_ptr() == data.data_ptr()
    assert p.factor == 1.0
    assert type(p + 1) is _C.Tensor
    r = weakref.ref(p)
    p.me = p
    del p
    gc.collect()
    assert r() is None


def test_constructor():
    assert _C.Tensor([1, 2]).tolist() == [1, 2]
    assert _C.Tensor([1], dtype="float64", stop_gradient=False).stop_gradient is False
    assert _C.Tensor().shape == [0]


def test_methods_may_be_added_in_python():
    _C.Tensor.double_for_test = lambda self: self * 2
    try:
        assert _C.to_tensor([1.0]).double_for_test().tolist() == [2.0]
    finally:
        del _C.Tensor.double_for_test


# Copies


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "bool", "int8"])
def test_deepcopy_and_pickle(dtype):
    x = _C.to_tensor([[0, 1], [1, 0]], dtype).T
    x.name, x.persistable, x.note = "mine", True, [1]
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(y) is _C.Tensor
        assert y.astype("float32").tolist() == x.astype("float32").tolist()
        assert y.dtype == x.dtype
        assert (y.name, y.persistable, y.note) == ("mine", True, [1])
        assert y.note is not x.note
        assert y.data_ptr() != x.data_ptr()


def test_deepcopy_keeps_grad_flag_and_memo():
    x = _C.to_tensor([1.0], stop_gradient=False)
    a, b = copy.deepcopy([x, x])
    assert a is b
    assert not a.stop_gradient
    with pytest.raises(RuntimeError, match="detach"):
        copy.deepcopy(x * 2)


def test_pickle_of_subclass():
    p = pickle.loads(pickle.dumps(Parameter(_C.to_tensor([1.0]))))
    assert type(p) is Parameter
    assert p.factor == 1.0
    assert not p.stop_gradient


@pytest.mark.parametrize(
    "args",
    [
        (_C.Tensor, b"1234", [2], "float32", "cpu", True, None, False),
        (_C.Tensor, b"", [2**62, 2**62], "float32", "cpu", True, None, False),
        (_C.Tensor, b"", [-1], "float32", "cpu", True, None, False),
        (_C.Tensor, b"1234", [1], "float33", "cpu", True, None, False),
        (int, b"1234", [1], "float32", "cpu", True, None, False),
        (_C.Tensor, "1234", [1], "float32", "cpu", True, None, False),
        (_C.Tensor,),
    ],
)
def test_altered_pickles(args):
    with pytest.raises((TypeError, ValueError)):
        _C.rebuild_tensor(*args)


def test_shallow_copy_is_new_object():
    x = _C.to_tensor([1.0])
    assert copy.copy(x) is not x


# Text


def test_repr():
    x = _C.to_tensor([[1.0, 2.5], [3.0, 4.0]], stop_gradient=False)
    assert repr(x) == (
        "Tensor(shape=[2, 2], dtype=float32, place=Place(cpu), stop_gradient=False,\n"
        "       [[1.        , 2.50000000],\n"
        "        [3.        , 4.        ]])"
    ) or repr(x).startswith("Tensor(shape=[2, 2], dtype=float32, place=Place(cpu), stop_gradient=False,\n       [[1.")
    assert str(x) == repr(x)
    assert repr(_C.to_tensor([], "float32")).endswith("[])")


def test_format():
    assert f"{_C.to_tensor(1.234567):.2f}" == "1.23"
    assert f"{_C.to_tensor(7):3d}" == "  7"
    assert f"{_C.to_tensor([1.0])}".startswith("Tensor(")


# Numbers


def test_item():
    x = _C.to_tensor([[1, 2], [3, 4]])
    assert _C.to_tensor(2.5).item() == 2.5
    assert type(_C.to_tensor(True).item()) is bool
    assert type(_C.to_tensor(2).item()) is int
    assert _C.to_tensor(1 + 2j).item() == 1 + 2j
    assert x.item(2) == 3
    assert x.T.item(1) == 3
    assert x.item(-1) == 4
    assert x.item(0, 1) == x.item((0, 1)) == 2
    with pytest.raises(ValueError, match="item: only a tensor of one element"):
        x.item()
    with pytest.raises(IndexError, match="out of range"):
        x.item(4)
    with pytest.raises(ValueError, match="3 indices"):
        x.item(0, 0, 0)


def test_tolist():
    a = np.arange(24).reshape(2, 3, 4)
    assert _C.to_tensor(a).tolist() == a.tolist()
    assert _C.to_tensor(a).T.tolist() == a.T.tolist()
    assert _C.to_tensor(np.zeros((2, 0))).tolist() == [[], []]
    assert _C.to_tensor(1.5).tolist() == 1.5


def test_conversions():
    assert float(_C.to_tensor([2.5])) == 2.5
    assert int(_C.to_tensor(2.9)) == 2
    assert complex(_C.to_tensor(2.0)) == 2 + 0j
    assert bool(_C.to_tensor([[1]])) is True
    assert [10, 20, 30][_C.to_tensor(1)] == 20
    assert list(range(_C.to_tensor(3))) == [0, 1, 2]
    with pytest.raises(TypeError, match="only integer tensors"):
        [1, 2][_C.to_tensor(1.0)]
    with pytest.raises(TypeError, match="complex"):
        float(_C.to_tensor(1j))
    for convert in (float, int, bool, complex):
        with pytest.raises(ValueError, match="x is \\[2\\] float32"):
            convert(_C.to_tensor([1.0, 2.0]))
        with pytest.raises(ValueError):
            convert(_C.to_tensor([]))


def test_moves_and_casts():
    x = _C.to_tensor([1.5])
    assert x.cpu() is x
    assert x.astype("int32").tolist() == [1]
    assert x.to("float64").dtype == x.to(dtype="float64").dtype == x.to(_C.to_tensor(1.0, "float64")).dtype == "float64"
    assert x.to("cpu") is x
    assert x.to("cpu", "float64").dtype == "float64"
    with pytest.raises((ValueError, RuntimeError)):
        x.to("nosuchdevice")
    with pytest.raises(TypeError, match="to: device must be"):
        x.to(3)


def test_set_value_and_copy():
    x = _C.to_tensor([1.0, 2.0], stop_gradient=False)
    version = x.inplace_version
    x.set_value(np.array([3.0, 4.0]))
    assert x.tolist() == [3.0, 4.0]
    assert x.inplace_version > version
    x.copy_(_C.to_tensor([5, 6]))
    assert x.tolist() == [5.0, 6.0]
    with pytest.raises(ValueError, match="set_value: the value does not have the shape"):
        x.set_value(np.ones(3))
    y = _C.to_tensor(np.zeros((2, 3), "float32")).T
    y.set_value(np.ones((3, 2)))
    assert y.tolist() == [[1, 1]] * 3


# DTypes and places


def test_dtypes():
    assert _C.float32 == "float32" == _C.to_tensor(1.0).dtype.name
    assert _C.float32 == np.float32
    assert _C.float32 == np.dtype("float32")
    assert _C.float32 != "float64"
    assert _C.float32 != None  # noqa: E711
    assert _C.float32 != 3
    assert repr(_C.float32) == "proa.float32"
    assert {_C.float32: 1}["float32"] == 1
    assert pickle.loads(pickle.dumps(_C.int8)) is _C.int8
    assert copy.deepcopy(_C.int8) is _C.int8
    for spelling in ("float32", "paddle.float32", np.float32, np.dtype("float32"), _C.float32):
        assert _C.DType(spelling) is _C.float32
    assert _C.DType(int) is _C.int64 and _C.DType(float) is _C.float64
    with pytest.raises(TypeError):
        _C.DType("float33")


def test_places():
    assert _C.CPUPlace() == _C.Place("cpu") == "cpu"
    assert repr(_C.CUDAPlace(1)) == "Place(gpu:1)"
    assert _C.CUDAPlace(1).is_gpu_place()
    assert _C.CUDAPlace(1).get_device_id() == 1
    assert len({_C.CPUPlace(), _C.Place("cpu")}) == 1
    with pytest.raises(ValueError):
        _C.Place("abacus")


def test_reference_counts():
    x = _C.to_tensor([1.0])
    gc.collect()
    before = sys.getrefcount(x), sys.getrefcount(_C.Tensor), sys.getrefcount(_C.float32)
    for _ in range(100):
        x[0], x + x, x.T, x.dtype, x.shape, x.detach(), x.numpy()
    gc.collect()
    after = sys.getrefcount(x), sys.getrefcount(_C.Tensor), sys.getrefcount(_C.float32)
    assert after == before


_OF_NUMPY = {
    "argmax": {"axis": 1}, "argsort": {}, "amax": {"axis": 0}, "any": {}, "all": {"axis": 1}, "average": {}, "ceil": {}, "clip": {"a_min": 1, "a_max": 2},
    "copy": {}, "cumsum": {"axis": 1}, "diagonal": {}, "expand_dims": {"axis": 0}, "flip": {}, "histogram": {}, "max": {}, "mean": {"axis": (0, 1)},
    "median": {}, "min": {"initial": 0.5}, "nanmean": {}, "ndim": {}, "nonzero": {}, "percentile": {"q": [25, 75]}, "prod": {"keepdims": True},
    "ptp": {}, "ravel": {}, "repeat": {"repeats": 2}, "round": {"decimals": 1}, "size": {}, "sort": {}, "squeeze": {}, "std": {"ddof": 1},
    "sum": {"dtype": "float64"}, "swapaxes": {"axis1": 0, "axis2": 1}, "take": {"indices": [0, 3]}, "trace": {}, "transpose": {}, "unique": {},
    "var": {}, "where": {}, "linalg.norm": {}, "linalg.svd": {}, "fft.fft": {}, "sin": {}, "isnan": {},
}  # fmt: skip


@pytest.mark.parametrize("name", _OF_NUMPY)
def test_functions_of_numpy(name):
    """They give of a tensor what they give of its array."""
    function = np
    for part in name.split("."):
        function = getattr(function, part)
    array = np.array([[3.0, 1.5, 2.0], [4.0, 0.0, 5.25]], "float32")
    got, want = (function(x, **_OF_NUMPY[name]) for x in (_C.to_tensor(array, stop_gradient=False), array))
    assert type(got) is type(want)
    for one, other in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, want))):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)


def test_functions_of_numpy_on_lists_and_into_arrays():
    x = _C.to_tensor([1.0, 2.0])
    assert np.concatenate([x, np.ones(1, "float32")]).tolist() == [1.0, 2.0, 1.0]
    assert np.where(x > 1, x, 0).tolist() == [0.0, 2.0] and np.einsum("i,i->", x, x) == 5.0
    out = np.zeros(2, "float32")
    assert np.cumsum(x, out=out) is out and out.tolist() == [1.0, 3.0]
    assert np.allclose(x, [1, 2]) and np.array_equal(x, x) and np.full_like(x, 7).tolist() == [7.0, 7.0]
    with pytest.raises(TypeError, match="numpy.cumsum: out must be an array"):
        np.cumsum(np.ones(2, "float32"), out=x)
