"""Tensors from buffers of others: each format, layout and exporter gives the numbers, or an error that says why not."""

import array
import ctypes
import itertools
import mmap

import numpy as np
import pytest

import proa


def _check(o):
    """As NumPy reads it, or refused."""
    try:
        got = proa.to_tensor(o)
    except (TypeError, ValueError) as e:
        assert len(str(e)) > 10
        return False
    try:
        want = np.asarray(o)
    except ValueError:
        return True  # a format that NumPy does not read
    assert got.shape == list(want.shape)
    np.testing.assert_array_equal(got.numpy().astype(want.dtype), want)
    return True


@pytest.mark.parametrize("code", "bBhHiIlLqQfdu")
def test_array_module(code):
    for values in ([], [1], [1, 2, 3]):
        a = array.array(code, "x" * len(values) if code == "u" else values)
        assert _check(a) or code == "u"
        if values:
            _check(memoryview(a)[::-1])
            _check(memoryview(a)[:0])


_CTYPES = [
    ctypes.c_bool, ctypes.c_byte, ctypes.c_ubyte, ctypes.c_short, ctypes.c_ushort, ctypes.c_int, ctypes.c_uint,
    ctypes.c_long, ctypes.c_ulong, ctypes.c_longlong, ctypes.c_ulonglong, ctypes.c_float, ctypes.c_double,
    ctypes.c_longdouble, ctypes.c_char, ctypes.c_wchar, ctypes.c_void_p, ctypes.c_char_p, ctypes.py_object,
]  # fmt: skip


@pytest.mark.parametrize("kind", _CTYPES, ids=lambda k: k.__name__)
def test_ctypes(kind):
    numbers = kind not in _CTYPES[-5:]
    for sizes in ((3,), (2, 3), (2, 1, 2), (0,), (2, 0)):
        t = kind
        for n in reversed(sizes):
            t = t * n
        made = _check(t())
        assert made or not numbers
    if numbers and kind is not ctypes.c_longdouble:
        t = (kind * 2 * 3)()
        for i, j in itertools.product(range(3), range(2)):
            t[i][j] = i + j
        assert _check(t)


def test_ctypes_of_other_kinds():
    class Point(ctypes.Structure):
        _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_int)]

    class Either(ctypes.Union):
        _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_int)]

    for o in ((Point * 3)(), Point(), Either(), (Either * 2)(), (ctypes.c_int * 3 * 2)()):
        try:
            proa.to_tensor(o)
        except (TypeError, ValueError):
            pass
    for kind in (ctypes.c_int, ctypes.c_double, ctypes.c_short):
        swapped = (kind.__ctype_be__ * 3)(1, 2, 3)
        np.testing.assert_array_equal(proa.to_tensor(swapped).numpy(), [1, 2, 3])


@pytest.mark.parametrize("dtype", [*"?bBhHiIlLqQefdgFDGOSUV", "M8[s]", "m8[s]", ">i4", ">f8", ">f2", "i4,f4", "2i4"])
def test_numpy(dtype):
    for shape in ((), (0,), (3,), (2, 3), (2, 0, 3)):
        x = np.zeros(shape, dtype)
        for y in (x, x.T, x[..., ::-1] if x.ndim else x, np.asfortranarray(x), np.broadcast_to(x, (2, *x.shape))):
            try:
                got = proa.to_tensor(y)
            except (TypeError, ValueError) as e:
                assert str(e)
            else:
                assert got.shape == list(y.shape)
                np.testing.assert_array_equal(got.numpy(), np.zeros(y.shape))


def test_memoryviews():
    data = bytes(range(48))
    for code, size in zip("bBhHiIlLqQfdNn", (1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 4, 8, 8, 8)):
        view = memoryview(data).cast(code)
        assert _check(view) and _check(view[1:]) and _check(view[::-2])
        assert _check(memoryview(data).cast(code, [2, 24 // size]))
    _check(memoryview(data).cast("c"))
    _check(memoryview(b""))
    _check(bytearray(data))
    with mmap.mmap(-1, 4096) as m:
        _check(m)


def test_released():
    view = memoryview(bytearray(8))
    view.release()
    with pytest.raises((TypeError, ValueError)):
        proa.to_tensor(view)


@pytest.mark.parametrize("copy", [True, False, None, 1, 0])
def test_array_protocol_copy(copy):
    x = proa.ones([2, 3])
    np.testing.assert_array_equal(x.__array__(copy=copy), np.ones([2, 3]))


def test_array_protocol_wrong():
    x = proa.ones([2, 3])
    for copy in (x, "yes", [], 1.5):
        with pytest.raises(TypeError, match="__array__"):
            x.__array__(copy=copy)
    with pytest.raises(TypeError):
        x.__array__(dtype="no such type")
    np.testing.assert_array_equal(x.__array__(copy=proa.to_tensor(True)), np.ones([2, 3]))
    for version in (5, "1", (1,), (1, "0"), (1, 2, 3), [1, 0], 2.0):
        with pytest.raises(TypeError, match="max_version"):
            x.__dlpack__(max_version=version)
    for device in (5, (1,), ("cpu", 0)):
        with pytest.raises(TypeError, match="dl_device"):
            x.__dlpack__(dl_device=device)
