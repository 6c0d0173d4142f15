"""What a call of a recorded function is looked up by: all that a recording depends on, and nothing else."""

import numpy as np
import pytest

import proa
from proa import _C
from proa.framework import flags


def _x(shape=(2, 3), dtype="float32", stop_gradient=True):
    return proa.to_tensor(np.ones(shape, dtype), stop_gradient=stop_gradient)


def test_equal_calls_have_equal_keys():
    assert _C.call_key((_x(), _x((1,)))) == _C.call_key((_x(), _x((1,))))
    assert _C.call_key(()) == _C.call_key(())


@pytest.mark.parametrize(
    "other",
    [
        (),
        (_x(), _x()),
        (_x((3, 2)),),
        (_x((2, 3, 1)),),
        (_x((6,)),),
        (_x(()),),
        (_x((2, 0)),),
        (_x(dtype="float64"),),
        (_x(dtype="int32"),),
        (_x(stop_gradient=False),),
        (_x(dtype="int32", stop_gradient=False),),
    ],
)
def test_arguments_that_differ_have_other_keys(other):
    assert _C.call_key((_x(),)) != _C.call_key(other)


def test_integers_that_ask_for_gradients_are_told_apart():
    x = _x(dtype="int64")
    before = _C.call_key((x,))
    x.stop_gradient = False
    assert _C.call_key((x,)) != before


def _default_float64():
    class Scope:
        def __enter__(self):
            proa.set_default_dtype("float64")

        def __exit__(self, *_):
            proa.set_default_dtype("float32")

    return Scope()


@pytest.mark.parametrize(
    "scope",
    [
        proa.no_grad,
        lambda: proa.amp.auto_cast(level="O1", dtype="bfloat16"),
        lambda: proa.amp.auto_cast(level="O2", dtype="bfloat16"),
        _default_float64,
    ],
)
def test_the_context_is_part_of_the_key(scope):
    args = (_x(),)
    before = _C.call_key(args)
    with scope():
        assert _C.call_key(args) != before
    assert _C.call_key(args) == before


def test_calls_that_have_none():
    x = _x()
    assert _C.call_key((x, 1.0)) is None
    assert _C.call_key(([x],)) is None
    assert _C.call_key(x) is None
    assert _C.call_key((x,) * 1000) is None  # as they are found one by one
    program = proa.static.Program()
    with proa.static.program_guard(program):
        proa.enable_static()
        try:
            assert _C.call_key((x,)) is None
            assert _C.call_key((proa.static.data("x", [2]),)) is None
        finally:
            proa.disable_static()


def test_a_recording_is_found_again_and_only_where_it_holds():
    calls = []

    @proa.jit.to_static
    def f(x):
        calls.append(1)
        return x * 2.0

    for _ in range(3):
        np.testing.assert_array_equal(f(_x()).numpy(), np.full((2, 3), 2, "f"))
    assert len(calls) == 1
    many = [_x((1,)) for _ in range(200)]  # too many for a key
    g = proa.jit.to_static(lambda *xs: xs[0] + xs[-1])
    assert g(*many).item() == g(*many).item() == 2.0
    assert len(g.program_cache) == 1
    with proa.no_grad():
        f(_x())
    assert len(calls) == 2
    f(_x(dtype="float64"))
    assert len(calls) == 3


def test_flags_that_decide_what_is_computed_part_recordings():
    names = [n for n, flag in flags._FLAGS.items() if flag.meaning]
    assert names
    for name in names:
        f = proa.jit.to_static(lambda x: x + 1.0)
        x = _x()
        f(x)
        before = proa.get_flags([name])
        try:
            proa.set_flags({name: not before[name]})
            f(x)
            f(x)
        finally:
            proa.set_flags(before)
        f(x)
        assert len(f.program_cache) == 2, name
