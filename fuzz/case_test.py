"""Cases are read as they are written."""

import pytest

from fuzz import case as cases
from fuzz import corpus, replay


@pytest.mark.parametrize(
    "text",
    [
        "call(proa.add, tensor('float32', [2, 3]), 1.5)",
        "differentiate(f, tensor('int64', [], layout='strided', grad=True, values=(0, 3)), axis=-1)",
        "call(f, [1, [2, None]], (3,), (), 'a', nan, -inf, 1j, True, ..., slice(None, -1, 2))",
        "record(layer(proa.nn.Linear, 3, 4), again(0, 'first'), array('bool', [2]), object())",
        "call(f)",
    ],
)
def test_texts(text):
    assert str(cases.parse(text)) == text


def test_what_is_no_case_is_refused():
    for text in ("1", "f()", "f(x)(y)"):
        with pytest.raises(ValueError, match="not a case"):
            cases.parse(text)


def test_seeds_are_right_calls():
    """Each seed of this build is a call that works."""
    wrong = []
    for c in corpus.file_seeds(["seeds.txt"]):
        replay.reset()
        if corpus.reachable(c) and c.mode == "call":
            try:
                eval(str(c), vars(replay))  # pylint: disable=eval-used
            except Exception as e:  # pylint: disable=broad-except
                wrong.append(f"{c}: {type(e).__name__}: {e}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("layout", replay._LAYOUTS)
@pytest.mark.parametrize("dims", [[], [0], [3], [2, 3], [1, 0, 2], [2, 3, 4, 5], [1, 2, 1, 2, 3]])
def test_layouts(layout, dims):
    """Tensors have the shape and dtype that they are asked to have, and the same elements each time."""
    for dtype in ("float32", "bfloat16", "int64", "bool", "complex64"):
        replay.reset()
        t = replay.tensor(dtype, dims, layout=layout)
        assert list(t.shape) == dims and t.dtype.name == dtype
        replay.reset()
        if layout != "uninitialised":
            replay._same([replay._array(t)], [replay._array(replay.tensor(dtype, dims, layout=layout))], layout)
        replay.reset()
