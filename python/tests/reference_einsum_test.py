"""The op einsum of PaddlePaddle's programs, of known and of open sizes, beside numpy.einsum."""

import numpy as np
import pytest

import proa
from proa import _C
from proa.jit.reference import wire

_SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 2}


def _program(equation, shapes):
    names = [f"in{i}" for i in range(len(shapes))]
    variables = [
        {"name": n, "dtype": "float32", "dims": list(s), "need_check_feed": True} for n, s in zip(names, shapes)
    ]
    variables += [{"name": "feed", "kind": 9, "persistable": True}, {"name": "fetch", "kind": 10, "persistable": True}]
    variables.append({"name": "out", "dtype": "float32", "dims": [-1]})
    ops = [
        {"type": "feed", "inputs": {"X": ["feed"]}, "outputs": {"Out": [name]}, "attributes": {"col": i}}
        for i, name in enumerate(names)
    ]
    ops.append({"type": "einsum", "inputs": {"Operands": names}, "outputs": {"Out": ["out"]},
                "attributes": {"equation": equation}})  # fmt: skip
    ops.append({"type": "fetch", "inputs": {"X": ["out"]}, "outputs": {"Out": ["fetch"]}, "attributes": {"col": 0}})
    return wire.program([{"parent": -1, "vars": variables, "ops": ops}], 2_003_000, {})


def _run(equation, arrays, opened=False):
    shapes = [[-1] * a.ndim if opened else a.shape for a in arrays]
    module = _C.parse_program_files(_program(equation, shapes), b"")
    return module.run([proa.to_tensor(a) for a in arrays])[0].numpy()


_EQUATIONS = [
    "ab,bc->ac", "abc,acd->abd", "abc,adc->abd", "abc,cd->abd", "ab->ba", "ab->a", "abc->", "a,b->ab", "a,a->", "ab,ab->ab",
    "abc,abd->cd", "ab,bc,cd->ad", "ab,cd->dbca", "abcd,abed->abce", "ab,bc", "ba", "abc,cb->a", "ab, bc -> ca", "ab,b->ab",
]  # fmt: skip


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("equation", _EQUATIONS)
def test_letters(equation, opened):
    rng = np.random.RandomState(1)
    parts = equation.replace(" ", "").split("->")[0].split(",")
    arrays = [rng.randn(*[_SIZES[c] for c in part]).astype("float32") for part in parts]
    found = _run(equation, arrays, opened)
    np.testing.assert_allclose(found, np.einsum(equation, *arrays), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("...ab,...bc->...ac", ([2, 6, 3, 4], [2, 6, 4, 5])),
        ("...ab,...bc->...ac", ([2, 6, 3, 4], [6, 4, 5])),
        ("...ab,...bc", ([1, 6, 3, 4], [2, 1, 4, 5])),
        ("...a->a...", ([2, 3, 4],)),
        ("a...->...", ([2, 3, 4],)),
        ("...,...->...", ([3, 4], [3, 4])),
        ("b...a,ac->b...c", ([2, 6, 3, 4], [4, 5])),
    ],
)
def test_ellipsis(equation, shapes, opened):
    rng = np.random.RandomState(2)
    arrays = [rng.randn(*shape).astype("float32") for shape in shapes]
    found = _run(equation, arrays, opened)
    np.testing.assert_allclose(found, np.einsum(equation, *arrays), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "says"),
    [
        ("ab", "is not of 2 tensors"),
        ("abc,bc->a", r"does not fit \[2, 3\]"),
        ("ab,b->a", r"does not fit \[3, 4\]"),
        ("aa,bc->a", "a diagonal, or no letter"),
        ("a?,bc->a", "a diagonal, or no letter"),
        ("ab,bc->ad", "the result of .* has a letter twice, or one that no tensor has"),
        ("ab,bc->aa", "the result of .* has a letter twice"),
        ("ab,bc->ac->a", "is not of 2 tensors"),
    ],
)
def test_refusals(equation, says):
    with pytest.raises(ValueError, match=f"block 0, op 2 'einsum': .*{says}"):
        _run(equation, [np.zeros([2, 3], "float32"), np.zeros([3, 4], "float32")])
