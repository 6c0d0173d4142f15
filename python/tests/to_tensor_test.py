"""to_tensor: what it takes, which dtype comes out, and what it refuses."""

import signal

import numpy as np
import pytest

import proa
from proa import _C


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1, "int64"),
        (1.5, "float32"),
        (True, "bool"),
        (1j, "complex64"),
        ([1, 2], "int64"),
        ([1, 2.5], "float32"),
        ([True, 2], "int64"),
        ([True, False], "bool"),
        ([1.0, 2j], "complex64"),
        ([], "float32"),
        ([[], []], "float32"),
        (((1, 2), [3, 4]), "int64"),
        (range(3), "int64"),
        (np.float64(1.5), "float32"),
        ([np.float64(1.5), 2], "float32"),
        (np.float16(1.5), "float16"),
        (np.int8(3), "int8"),
        (np.array([1.5]), "float64"),
        ([np.array([1, 2], "int32"), np.array([3, 4], "int32")], "int32"),
        ([np.array([1, 2], "int32"), [3, 4.5]], "float32"),
    ],
    ids=repr,
)
def test_dtypes(data, dtype):
    x = _C.to_tensor(data)
    assert x.dtype == dtype
    np.testing.assert_array_equal(x.numpy(), np.array(data).astype(dtype))
    assert x.stop_gradient


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float64", "complex64"])
def test_given_dtype(dtype):
    for data in (1, [0, 1], np.array([0, 1]), _C.to_tensor([0, 1])):
        x = _C.to_tensor(data, dtype)
        assert x.dtype == dtype
        np.testing.assert_array_equal(x.astype("complex64").numpy(), np.array(_plain(data), "complex64"))


def _plain(data):
    return data.tolist() if isinstance(data, _C.Tensor) else data


def test_default_dtype():
    _C.set_default_dtype("float64")
    try:
        assert _C.to_tensor(1.5).dtype == "float64"
        assert _C.to_tensor([1.5, 2j]).dtype == "complex128"
        assert (_C.to_tensor([1]) + 1.5).dtype == "float64"
        assert _C.to_tensor(np.float32(1)).dtype == "float32"
    finally:
        _C.set_default_dtype("float32")


def test_lists_of_tensors():
    x = _C.to_tensor([1.0, 2.0])
    assert _C.to_tensor([x, x]).shape == [2, 2]
    assert _C.to_tensor([x[0], 3]).tolist() == [1.0, 3.0]
    assert _C.to_tensor([[x], [[4, 5]]]).tolist() == [[[1.0, 2.0]], [[4.0, 5.0]]]


def test_copies():
    a = np.ones(2, "float32")
    x = _C.to_tensor(a)
    a[0] = 5
    assert x.tolist() == [1.0, 1.0]
    y = _C.to_tensor(x)
    assert y is not x
    assert y.data_ptr() != x.data_ptr()
    assert _C.to_tensor(_C.to_tensor([1.0], stop_gradient=False)).stop_gradient


def test_stop_gradient():
    assert not _C.to_tensor([1.0], stop_gradient=False).stop_gradient
    # Integers carry no gradient, and say what was asked for.
    integers = _C.to_tensor([1], stop_gradient=False)
    assert not integers.stop_gradient and (integers + 1).stop_gradient


@pytest.mark.parametrize(
    "data",
    [[[1], [1, 2]], [1, [2]], [[1], 2], [[], [1]], [[1], []], [[[1]], [1]], [np.ones(2), np.ones(3)], [np.ones(2), 1]],
    ids=repr,
)
def test_ragged(data):
    with pytest.raises(ValueError, match="ragged"):
        _C.to_tensor(data)


@pytest.mark.parametrize(
    "data", ["abc", b"abc", None, object(), ["a"], [None], {"a": 1}, {1, 2}, [object()], int, [[1], ["a"]]], ids=repr
)
def test_not_numbers(data):
    with pytest.raises(TypeError):
        _C.to_tensor(data)


def test_numbers_out_of_range():
    for data in (2**63, [2**63], -(2**63) - 1, np.array([2**63], "uint64")):
        with pytest.raises((OverflowError, ValueError), match="int64"):
            _C.to_tensor(data)
    assert _C.to_tensor(2**63 - 1).item() == 2**63 - 1
    with pytest.raises((TypeError, ValueError)):
        _C.to_tensor(1j, "float32")


def test_lists_that_contain_themselves():
    data = []
    data.append(data)
    with pytest.raises(ValueError, match="nested"):
        _C.to_tensor(data)


def test_lists_that_change_while_they_are_read():
    class Cuts:
        def __array__(self, dtype=None, copy=None):
            data.clear()
            data.append([1.0] * 1000)
            return np.zeros(2, "float32")

    for k in range(3):
        data = [[0.0, 0.0]] * k + [Cuts()] + [[0.0, 0.0]] * (3 - k)
        with pytest.raises(ValueError, match="changed while it was read|ragged"):
            _C.to_tensor(data)


def test_bad_arguments():
    with pytest.raises(TypeError, match="dtype"):
        _C.to_tensor(1, "float33")
    with pytest.raises(TypeError, match="dtype"):
        _C.to_tensor(1, 3)
    with pytest.raises(TypeError, match="place"):
        _C.to_tensor(1, place=3)
    with pytest.raises(ValueError):
        _C.to_tensor(1, place="abacus")
    with pytest.raises(TypeError):
        _C.to_tensor()
    with pytest.raises(TypeError):
        _C.to_tensor(1, bogus=2)


def test_large_list():
    data = [[float(i * j) for j in range(100)] for i in range(1000)]
    np.testing.assert_array_equal(_C.to_tensor(data).numpy(), np.array(data, "float32"))


@pytest.mark.parametrize("dtype", [None, "float32", "bool", "int8", "complex64"])
@pytest.mark.parametrize("r", [range(5), range(-3, 10, 4), range(7, -20, -3), range(0), range(2**62, 2**62 + 2)])
def test_a_range_is_as_its_list(r, dtype):
    got, want = proa.to_tensor(r, dtype), proa.to_tensor(list(r), dtype)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_ranges_in_lists():
    np.testing.assert_array_equal(proa.to_tensor([range(3), range(3, 6)]).numpy(), np.arange(6).reshape(2, 3))
    x = proa.to_tensor([range(2), [0.5, 1]])
    assert x.dtype == proa.float32 and x.tolist() == [[0, 1], [0.5, 1]]
    with pytest.raises(ValueError, match="ragged"):
        proa.to_tensor([range(3), range(2)])


def test_ranges_beyond_int64_and_beyond_memory():
    for r in (range(2**63, 2**63 + 2), range(0, 2**64, 2**62), range(10**30)):
        if max(r[0], r[-1]) < 2**63:
            assert proa.to_tensor(r).tolist() == list(r)
            continue
        with pytest.raises(OverflowError, match="to_tensor: the range has numbers that do not fit in int64"):
            proa.to_tensor(r)
    for r in (range(2**50), range(2**62), [range(2**55)]):
        with pytest.raises((MemoryError, ValueError, OverflowError)) as e:
            proa.to_tensor(r)
        assert any(word in str(e.value) for word in ("to_tensor", "memory", "size overflows"))


def test_a_long_range_is_interrupted():
    """No memory is taken for numbers of Python: 2^28 of them would be 9 GB."""

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(TimeoutError):
            for _ in range(100):
                proa.to_tensor(range(2**28), "uint8")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
