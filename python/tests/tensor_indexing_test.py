"""x[key] and x[key] = value, against NumPy, with hand-picked and random keys."""

import numpy as np
import pytest

from proa import _C


def _array(shape, dtype="float32"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def _as_tensors(key):
    """The key with each array as a Tensor."""
    if isinstance(key, tuple):
        return tuple(_as_tensors(k) for k in key)
    return _C.to_tensor(key) if isinstance(key, np.ndarray) else key


_MASK = np.array([True, False, True, False])
_KEYS = [
    0,
    -1,
    np.int64(2),
    slice(None),
    slice(1, 3),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(-1, 0, -2),
    slice(3, 1),
    slice(10, 20),
    slice(-100, 100),
    slice(None, None, 2**62),
    slice(None, None, -(2**63)),
    ...,
    None,
    (),
    (0, 1),
    (0, 1, 2),
    (slice(1), 2),
    (..., 1),
    (1, ...),
    (..., slice(None, None, -1)),
    (None, 0, None),
    (0, None, slice(1, 3), ..., None),
    [0, 2],
    [],
    [True, False, True, False],
    [[0, 1], [2, 3]],
    np.array([0, -1]),
    np.array([0, 1], "int32"),
    np.array(1),
    ([0, 1], [1, 2]),
    ([0, 1], slice(None), [1, 2]),
    (slice(None), [0, 1], [1, 2]),
    (0, slice(None), [1, 2]),
    (slice(None), 0, [1, 2]),
    ([[0], [1]], [0, 1, 2]),
    ([0, 1], ..., [1, 2]),
    (slice(None), [0, 1], ..., [1, 2]),
    ([0, 1], None, [1, 2]),
    (None, [0, 1]),
    (slice(1, 3), [0, 1]),
    (slice(None, None, -1), slice(1, None), [0, 1, 1]),
    (slice(None), [0, 1], None),
    _MASK,
    (_MASK, 1),
    (_MASK, slice(None), [0, 1]),
    (slice(None), np.array([True, False, True])),
    np.zeros(4, bool),
    True,
    False,
    (True, 0),
    (False, slice(1, 3)),
    ([0, 1], True),
]


@pytest.mark.parametrize("key", _KEYS, ids=repr)
def test_get(key):
    a = _array((4, 3, 5))
    expected = a[key]
    for k in (key, _as_tensors(key)):
        out = _C.to_tensor(a)[k]
        assert out.shape == list(expected.shape)
        np.testing.assert_array_equal(out.numpy(), expected)


@pytest.mark.parametrize("key", _KEYS, ids=repr)
def test_set(key):
    a = _array((4, 3, 5))
    values = [7.0, -_array(a[key].shape), _array(a[key].shape[-1:])]
    if np.ndim(a[key]) > 0:
        values.append(-_array(a[key].shape)[None])
    for value in values:
        expected = a.copy()
        expected[key] = value
        for k in (key, _as_tensors(key)):
            x = _C.to_tensor(a)
            x[k] = value if isinstance(value, float) else _C.to_tensor(value)
            np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("key", _KEYS, ids=repr)
def test_gradient_of_get(key):
    x = _C.to_tensor(_array((4, 3, 5), "float64"), stop_gradient=False)
    x[key].sum().backward()
    expected = np.zeros((4, 3, 5))
    np.add.at(expected, key, 1.0)
    np.testing.assert_array_equal(x.grad.numpy(), expected)


@pytest.mark.parametrize("key", _KEYS, ids=repr)
def test_gradient_of_set(key):
    leaf = _C.to_tensor(_array((4, 3, 5), "float64"), stop_gradient=False)
    value = _C.to_tensor(2.0, "float64", stop_gradient=False)
    x = leaf * 1.0
    x[key] = value
    (x * _C.to_tensor(_array((4, 3, 5), "float64"))).sum().backward()
    weights = _array((4, 3, 5), "float64")
    taken = np.zeros((4, 3, 5), bool)
    taken[key] = True
    np.testing.assert_array_equal(leaf.grad.numpy(), np.where(taken, 0, weights))
    np.testing.assert_allclose(value.grad.numpy(), weights[taken].sum())


def _random_part(rng, n):
    """A part of a key for a dim of size n."""
    kind = rng.integers(6)
    if kind == 0 and n > 0:
        return int(rng.integers(-n, n))
    if kind == 1:
        bounds = [None if rng.random() < 0.3 else int(v) for v in rng.integers(-n - 2, n + 3, 2)]
        step = int(rng.choice([-3, -2, -1, 1, 2, 3]))
        return slice(*bounds, step)
    if kind == 2 and n > 0:
        return rng.integers(-n, n, rng.integers(0, 4))
    if kind == 3 and n > 0:
        return rng.integers(-n, n, (2, 1))
    if kind == 4:
        return rng.random(n) < 0.5
    return slice(None)


def _random_key(rng, shape):
    parts = [_random_part(rng, n) for n in shape[: rng.integers(len(shape) + 1)]]
    if rng.random() < 0.3:
        parts.insert(int(rng.integers(len(parts) + 1)), ...)
    if rng.random() < 0.3:
        parts.insert(int(rng.integers(len(parts) + 1)), None)
    if rng.random() < 0.2:
        return _reversed_ellipsis(parts, shape, rng)
    return tuple(parts)


def _reversed_ellipsis(parts, shape, rng):
    return (..., *(_random_part(rng, n) for n in shape[len(shape) - 1 :]))


@pytest.mark.parametrize("seed", range(400))
def test_random_keys(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.2 else 1, 5, rng.integers(1, 5)))
    a = _array(shape)
    key = _random_key(rng, shape)
    view = rng.random() < 0.5  # of a transposed tensor
    x = _C.to_tensor(a.T.copy()).T if view else _C.to_tensor(a)
    try:
        expected = a[key]
    except IndexError:
        with pytest.raises((IndexError, ValueError)):  # the latter: arrays do not broadcast
            x[key]
        return
    got = x[_as_tensors(key)]
    assert got.shape == list(expected.shape)
    np.testing.assert_array_equal(got.numpy(), expected)
    value = rng.normal(size=expected.shape).astype("float32")
    a[key] = value
    x[key] = _C.to_tensor(value)
    # Of an element that is set twice, NumPy keeps the last value, as we do.
    np.testing.assert_array_equal(x.numpy(), a)


def test_basic_indexing_is_a_view():
    x = _C.to_tensor(_array((3, 4)))
    y = x[1:, ::2]
    assert y.data_ptr() == x.data_ptr() + 16
    y.add_(_C.to_tensor(1.0))
    assert x[1, 0].item() == 5.0
    assert x[:] is not x


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (4, "index 4 is out of range at dim 0; x is"),
        (-5, "index -5 is out of range at dim 0"),
        ((0, 3), "index 3 is out of range at dim 1"),
        ((0, 0, 0, 0), "too many indices, 4"),
        ((..., 0, ...), "only one Ellipsis"),
        ("a", "not str"),
        (1.5, "not float"),
        (np.array([0.5]), "arrays of integers or bool"),
        (np.array([True, False]), "the mask does not fit at dim 0"),
        ([0, 4], "index 4 at"),
        (2**100, "cannot fit"),
        ([[0, 1], [0, 1, 2]], None),
    ],
    ids=repr,
)
def test_bad_keys(key, says):
    x = _C.to_tensor(_array((4, 3, 5)))
    with pytest.raises(ValueError if says is None else IndexError, match=says):
        x[key]
    with pytest.raises(ValueError if says is None else IndexError, match=says):
        x[key] = 1.0
    np.testing.assert_array_equal(x.numpy(), _array((4, 3, 5)))


def test_bad_values():
    x = _C.to_tensor(_array((4, 3)))
    for value in (_C.to_tensor([1.0, 2.0]), np.ones((2, 4, 3))):
        with pytest.raises(ValueError):
            x[0] = value
        with pytest.raises(ValueError):
            x[[0, 1]] = value
    with pytest.raises(TypeError):
        x[0] = "a"
    with pytest.raises(TypeError):
        x[0] = 1j
    with pytest.raises(TypeError):
        del x[0]
    with pytest.raises(ValueError, match="step is zero"):
        x[::0]


def test_values_take_the_dtype():
    x = _C.to_tensor([1, 2, 3])
    x[0] = 2.9
    x[1:] = _C.to_tensor([7.5, 8.5])
    assert x.tolist() == [2, 7, 8]


def test_zero_dims():
    x = _C.to_tensor(5.0)
    assert x[()].item() == 5.0
    assert x[...].item() == 5.0
    assert x[None].shape == [1]
    x[()] = 2.0
    assert x.item() == 2.0
    for key in (0, slice(None)):
        with pytest.raises(IndexError):
            x[key]


def test_bounds_may_be_tensors():
    x = _C.to_tensor(_array((5,)))
    one = _C.to_tensor(1)
    assert x[one:].tolist() == [1, 2, 3, 4]
    assert x[one].item() == 1


def test_iteration():
    x = _C.to_tensor(_array((3, 2)))
    assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    a, b, c = x
    assert c.tolist() == [4, 5]
    assert len(x) == 3
    with pytest.raises(TypeError):
        iter(_C.to_tensor(1.0))
    with pytest.raises(TypeError):
        len(_C.to_tensor(1.0))


def test_contains():
    x = _C.to_tensor([1.0, 2.0])
    assert 2.0 in x
    assert 3.0 not in x
    assert "a" not in x
