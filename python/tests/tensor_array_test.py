"""Tensors as NumPy arrays, buffers and DLPack capsules, both ways."""

import gc
import struct

import numpy as np
import pytest

from proa import _C

_DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_round_trip(dtype, shape):
    a = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    x = _C.to_tensor(a)
    assert x.dtype == dtype
    assert x.shape == list(shape)
    for b in (x.numpy(), np.asarray(x), np.array(x)):
        assert b.dtype == a.dtype
        assert b.shape == a.shape
        np.testing.assert_array_equal(b, a)


def test_numpy_is_a_writable_copy():
    x = _C.to_tensor([1.0, 2.0])
    a = x.numpy()
    a[0] = 5.0
    assert x.tolist() == [1.0, 2.0]


def test_asarray_shares_for_reading():
    x = _C.to_tensor([1.0, 2.0])
    a = np.asarray(x)
    assert a.ctypes.data == x.data_ptr()
    assert not a.flags.writeable
    assert np.asarray(x, dtype="float64").tolist() == [1.0, 2.0]
    del x
    gc.collect()
    assert a.tolist() == [1.0, 2.0]


def test_array_method():
    x = _C.to_tensor([1.0, 2.0])
    assert x.__array__().ctypes.data == x.data_ptr()
    assert x.__array__(copy=True).flags.writeable
    assert x.__array__(dtype="int32").dtype == np.int32
    assert x.__array__(copy=False).ctypes.data == x.data_ptr()
    with pytest.raises(ValueError, match="without a copy"):
        x.__array__(dtype="int32", copy=False)


def test_strided_tensors():
    a = np.arange(12, dtype="float32").reshape(3, 4)
    x = _C.to_tensor(a).T[::-1, 1:]
    np.testing.assert_array_equal(x.numpy(), a.T[::-1, 1:])
    np.testing.assert_array_equal(np.asarray(x), a.T[::-1, 1:])


@pytest.mark.parametrize("view", [lambda a: a.T, lambda a: a[::-1], lambda a: a[:, ::2], lambda a: a[1:1]])
def test_strided_arrays(view):
    a = view(np.arange(12, dtype="int64").reshape(3, 4))
    np.testing.assert_array_equal(_C.to_tensor(a).numpy(), a)


def test_functions_of_numpy():
    x = _C.to_tensor([1.0, 4.0])
    np.testing.assert_allclose(np.sqrt(x), [1.0, 2.0])
    np.testing.assert_allclose(np.concatenate([x, x]), [1, 4, 1, 4])


def test_bfloat16_becomes_float32():
    x = _C.to_tensor([1.5, 2.0], "bfloat16")
    assert x.numpy().dtype == np.float32
    assert np.asarray(x).tolist() == [1.5, 2.0]
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(x)


def test_tensors_that_require_grad():
    x = _C.to_tensor([1.0, 2.0], stop_gradient=False)
    assert x.numpy().tolist() == [1.0, 2.0]
    assert (x * 2).numpy().tolist() == [2.0, 4.0]


# The buffer protocol


def test_memoryview():
    x = _C.to_tensor(np.arange(6, dtype="int32").reshape(2, 3))
    m = memoryview(x)
    assert (m.shape, m.format, m.itemsize, m.readonly) == ((2, 3), "i", 4, True)
    assert m.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert bytes(m) == struct.pack("6i", *range(6))


def test_writing_through_a_buffer_counts_as_a_change():
    import io

    x = _C.to_tensor([1.0, 2.0])
    version = x.inplace_version
    io.BytesIO(struct.pack("2f", 3.0, 4.0)).readinto(x)
    assert x.tolist() == [3.0, 4.0]
    assert x.inplace_version > version


def test_contiguity_that_a_consumer_asks_for():
    x = _C.to_tensor(np.ones((2, 3), "float32"))
    assert len(bytes(x.contiguous())) == 24
    import hashlib

    with pytest.raises((BufferError, ValueError), match="contiguous"):
        hashlib.md5(x.T)


def test_buffers_of_other_types():
    import array

    assert _C.to_tensor(array.array("h", [1, 2])).dtype == "int16"
    assert _C.to_tensor(memoryview(b"\x01\x02")).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("dtype", "result"), [("uint16", "int32"), ("uint32", "int64"), ("uint64", "int64"), ("longdouble", "float64")]
)
def test_types_without_counterpart_are_widened(dtype, result):
    x = _C.to_tensor(np.array([1, 40000], dtype))
    assert x.dtype == result
    assert x.tolist() == [1, 40000]


def test_types_that_are_no_numbers():
    with pytest.raises(ValueError, match="does not fit in int64"):
        _C.to_tensor(np.array([2**63], "uint64"))
    for bad in (np.array(["a"]), np.array([None]), np.array(["2020-01-01"], "datetime64[D]"), np.zeros(2, "i4,f4")):
        with pytest.raises(TypeError):
            _C.to_tensor(bad)


def test_other_byte_order():
    a = np.array([1.5, 2.5], ">f4")
    assert _C.to_tensor(a).tolist() == [1.5, 2.5]


def test_objects_with_array():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return np.array([1, 2, 3], dtype or "int16")

    assert _C.to_tensor(Wrapped()).dtype == "int16"


# DLPack


@pytest.mark.parametrize("dtype", [d for d in _DTYPES if d != "bool"])
def test_dlpack_to_numpy_and_back(dtype):
    x = _C.to_tensor(np.arange(6).reshape(2, 3).astype(dtype))
    a = np.from_dlpack(x)
    assert a.ctypes.data == x.data_ptr()
    np.testing.assert_array_equal(a, x.numpy())
    y = _C.from_dlpack(np.arange(6).reshape(2, 3).astype(dtype))
    np.testing.assert_array_equal(y.numpy(), x.numpy())


def test_dlpack_of_views():
    a = np.arange(12, dtype="float32").reshape(3, 4)
    x = _C.from_dlpack(a.T[1:])
    assert x.data_ptr() == a.T[1:].ctypes.data
    np.testing.assert_array_equal(x.numpy(), a.T[1:])
    np.testing.assert_array_equal(np.from_dlpack(_C.to_tensor(a)[:, 1]), a[:, 1])


def test_dlpack_keeps_memory_alive():
    y = _C.from_dlpack(np.arange(100000, dtype="float32"))
    gc.collect()
    assert y[-1].item() == 99999.0


def test_dlpack_device_and_copy():
    x = _C.to_tensor([1.0, 2.0])
    assert x.__dlpack_device__() == (1, 0)
    y = _C.from_dlpack(x)
    assert y.data_ptr() == x.data_ptr()
    z = _C.from_dlpack(x.__dlpack__(copy=True, max_version=(1, 0)))
    assert z.data_ptr() != x.data_ptr()
    assert _C.from_dlpack(x.__dlpack__(dl_device=(1, 0))).data_ptr() == x.data_ptr()


def test_dlpack_capsules():
    x = _C.to_tensor([1.0, 2.0])
    assert '"dltensor"' in repr(x.__dlpack__())
    assert '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 1)))
    capsule = _C.to_dlpack(x)
    assert _C.from_dlpack(capsule).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="used before"):
        _C.from_dlpack(capsule)
    del capsule
    x.__dlpack__()  # nobody takes it
    with pytest.raises(TypeError, match="__dlpack__"):
        _C.from_dlpack([1.0])


def test_dlpack_refuses_gradients():
    x = _C.to_tensor([1.0], stop_gradient=False)
    with pytest.raises(BufferError, match="detach"):
        x.__dlpack__()
    assert np.from_dlpack(x.detach()).tolist() == [1.0]


def test_read_only_memory_is_not_changed():
    a = np.arange(3, dtype="float32")
    a.flags.writeable = False
    try:
        x = _C.from_dlpack(a)
    except BufferError:
        pytest.skip("this NumPy does not export read-only arrays")
    with pytest.raises(ValueError):
        x.add_(_C.to_tensor(1.0))
    assert a.tolist() == [0.0, 1.0, 2.0]
