"""Names that are None or of several kinds until a tensor decides: what is read where it is None, programs that say so once, errors."""

import pytest

import proa as paddle


def _operations(text):
    return sum(line.count(" = ") for line in text.splitlines())


def three(x):
    out, s = x * 0, x.sum()
    a = b = c = None
    if s > 0:
        a = x
    if a is not None:
        out = out + a
    if s > 1:
        b = x * 2
    if b is not None:
        out = out + b
    if s > 2:
        c = x * 3
    if c is not None:
        out = out + c
    return out


def six(x):
    out, s = x * 0, x.sum()
    a = b = c = d = e = f = None
    if s > 0:
        a = x
    if a is not None:
        out = out + a
    if s > 1:
        b = x * 2
    if b is not None:
        out = out + b
    if s > 2:
        c = x * 3
    if c is not None:
        out = out + c
    if s > 3:
        d = x * 4
    if d is not None:
        out = out + d
    if s > 4:
        e = x * 5
    if e is not None:
        out = out + e
    if s > 5:
        f = x * 6
    if f is not None:
        out = out + f
    return out


def test_as_many_ifs_as_one_likes():
    """Twice as many are a program twice as long, not one of eight times the ways."""
    sizes = []
    for function in (three, six):
        converted = paddle.jit.to_static(function)
        for value in (-1.0, 0.5, 1.0, 7.0):
            x = paddle.to_tensor([value, 0.25])
            assert converted(x).tolist() == function(x).tolist()
        sizes.append(_operations(str(converted.concrete_program.main_program)))
    assert sizes[1] < 2.3 * sizes[0]


def read_where_it_is_none(x):
    found = None
    if x.sum() > 0:
        found = x * 2
    return found + 1


def test_what_is_none_has_no_operators():
    converted = paddle.jit.to_static(read_where_it_is_none)
    assert converted(paddle.to_tensor([1.0])).tolist() == [3.0]
    for call in (read_where_it_is_none, converted):
        with pytest.raises(TypeError):
            call(paddle.to_tensor([-1.0]))
    with pytest.raises(
        TypeError, match="found is None where it is read: found has a value in one way of the statement"
    ):
        converted(paddle.to_tensor([-1.0]))


def in_a_list(x):
    found = None
    if x.sum() > 0:
        found = x * 2
    return [v for v in (x, found) if v is not None][-1]


def test_what_may_be_none_in_a_list_is_recorded_in_each_way():
    converted = paddle.jit.to_static(in_a_list)
    for value in (1.0, -1.0):
        assert converted(paddle.to_tensor([value])).tolist() == in_a_list(paddle.to_tensor([value])).tolist()


def of_another_function(x):
    found = None
    if x.sum() > 0:
        found = x * 2

    def inner():
        return x if found is None else found

    return inner() * 3


def test_names_that_inner_functions_read():
    converted = paddle.jit.to_static(of_another_function)
    for value in (1.0, -1.0):
        x = paddle.to_tensor([value])
        assert converted(x).tolist() == of_another_function(x).tolist()


def pairs_and_tensors(x):
    out, s = x * 0, x.sum()
    if s > 0:
        a = x
    else:
        a = (s, 2)
    out = out + (a[0] * a[1] if isinstance(a, tuple) else a)
    if s > 1:
        b = x.sum()
    else:
        b = x * 2
    out = out + b.max() * len(b.shape)
    if s > 2:
        c = "much"
    else:
        c = "little"
    out = out * len(c)
    if s > 3:
        d = x
    else:
        d = [x, s]
    out = out + (sum(v.sum() for v in d) if isinstance(d, list) else d)
    if s > 4:
        e = x.astype("float64")
    else:
        e = x
    out = out + (e * 3).astype("float32")
    if s > 5:
        f = 1
    else:
        f = {"x": x}
    out = out + (f["x"] if isinstance(f, dict) else f)
    if s > 6:
        g = x
    else:
        g = x.sum()
    out = out - g
    if s > 7:
        h = (x, x)
    else:
        h = (x,)
    return out * len(h)


def test_what_reads_a_name_of_several_kinds_is_copied_alone():
    """Eight `if`s one after the other: copies of all that follows would be 256."""
    converted = paddle.jit.to_static(pairs_and_tensors)
    for value in (-1.0, 0.5, 1.0, 2.0, 3.0, 4.0, 7.0, 9.0):
        x, y = (paddle.to_tensor([value, 0.25], stop_gradient=False) for _ in range(2))
        got, want = converted(x), pairs_and_tensors(y)
        got.sum().backward()
        want.sum().backward()
        assert got.tolist() == want.tolist() and x.grad.tolist() == y.grad.tolist()
    assert _operations(str(converted.concrete_program.main_program)) < 400


def of_a_function_before(x):
    if x.sum() > 0:
        y = x
    else:
        y = (x, x)
    size = lambda: len(y) if isinstance(y, tuple) else 5
    x = x * 2
    return x * size()


def test_names_that_are_read_by_functions_later():
    converted = paddle.jit.to_static(of_a_function_before)
    for value in (1.0, -1.0):
        x = paddle.to_tensor([value])
        assert converted(x).tolist() == of_a_function_before(x).tolist()
