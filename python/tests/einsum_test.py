"""einsum of any number of operands against NumPy, in the order that takes the fewest multiplications; sizes that are open."""

import numpy as np
import pytest

import proa
from proa.tensor.einsum import _order

LETTERS = "abcdefg"


def equations(count):
    """Equations with repeated letters, sums of one operand alone, outer products and scalars, and sizes for the letters."""
    rng = np.random.default_rng(17)
    for _ in range(count):
        sizes = {c: int(rng.integers(0 if rng.random() < 0.05 else 1, 4)) for c in LETTERS}
        inputs = ["".join(rng.choice(list(LETTERS), rng.integers(0, 4))) for _ in range(rng.integers(1, 9))]
        used = sorted(set("".join(inputs)))
        output = "".join(rng.permutation([c for c in used if rng.random() < 0.5]))
        yield f"{','.join(inputs)}->{output}", [[sizes[c] for c in term] for term in inputs]


def test_equations_of_up_to_eight_operands():
    rng = np.random.default_rng(3)
    for equation, shapes in equations(300):
        arrays = [rng.standard_normal(shape) for shape in shapes]
        got = proa.einsum(equation, *map(proa.to_tensor, arrays)).numpy()
        want = np.einsum(equation, *arrays)
        assert got.shape == want.shape, equation
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10, err_msg=equation)


def _cost(tree, inputs, output, sizes):
    """Multiplications of an order, by its definition, and which operands it joins."""
    if isinstance(tree, int):
        return 0, {tree}
    (first, some), (second, others) = (_cost(t, inputs, output, sizes) for t in tree)
    needed = lambda group: (
        set("".join(inputs[i] for i in group))
        & set(output + "".join(inputs[i] for i in range(len(inputs)) if i not in group))
    )
    product = 1
    for letter in needed(some) | needed(others):
        product *= sizes[letter]
    return first + second + product, some | others


def _trees(items):
    """All orders of some operands."""
    if len(items) == 1:
        yield items[0]
        return
    first, *rest = items
    for mask in range(2 ** len(rest) - 1):
        left = [first] + [x for i, x in enumerate(rest) if mask >> i & 1]
        right = [x for i, x in enumerate(rest) if not mask >> i & 1]
        for a in _trees(left):
            for b in _trees(right):
                yield a, b


def test_no_order_takes_fewer_multiplications():
    rng = np.random.default_rng(5)
    for _ in range(40):
        sizes = {c: int(rng.integers(1, 50)) for c in LETTERS}
        inputs = tuple("".join(rng.choice(list(LETTERS), 2, replace=False)) for _ in range(rng.integers(2, 6)))
        output = "".join(sorted(set("".join(inputs)))[:2])
        found, joined = _cost(_order(inputs, output, tuple(sorted(sizes.items()))), inputs, output, sizes)
        assert joined == set(range(len(inputs)))
        assert found == min(_cost(tree, inputs, output, sizes)[0] for tree in _trees(list(range(len(inputs))))), inputs


def test_many_operands_go_by_the_cheapest_pair():
    rng = np.random.default_rng(7)
    shapes = [(3, 4)] * 5 + [(4, 3)] * 5
    arrays = [rng.standard_normal(s) for pair in zip(shapes[:5], shapes[5:]) for s in pair]
    names = "abcdefghijk"
    equation = ",".join(names[i] + names[i + 1] for i in range(10)) + "->ak"
    got = proa.einsum(equation, *map(proa.to_tensor, arrays)).numpy()
    np.testing.assert_allclose(got, np.linalg.multi_dot(arrays), rtol=1e-9)


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bij,bjk,bkl->bil", [(2, 3, 4), (2, 4, 5), (2, 5, 2)]),
        ("ij,jk,kl,lm->im", [(2, 3), (3, 4), (4, 5), (5, 1)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
        ("ii->i", [(3, 3)]),
        ("i,j->ij", [(3,), (4,)]),
        ("ij,ij->", [(2, 3), (2, 3)]),
        ("bij,ij->b", [(2, 3, 4), (3, 4)]),
    ],
)
def test_programs_of_unknown_sizes(equation, shapes):
    rng = np.random.default_rng(9)
    proa.enable_static()
    try:
        program = proa.static.Program()
        with proa.static.program_guard(program):
            feeds = [proa.static.data(f"x{i}", [-1] * len(s), "float64") for i, s in enumerate(shapes)]
            out = proa.einsum(equation, *feeds)
        for more in (0, 2):
            arrays = [rng.standard_normal([n + more for n in shape]) for shape in shapes]
            feed = {f"x{i}": a for i, a in enumerate(arrays)}
            (got,) = proa.static.Executor().run(program, feed=feed, fetch_list=[out])
            np.testing.assert_allclose(got, np.einsum(equation, *arrays), rtol=1e-9, atol=1e-12)
    finally:
        proa.disable_static()


def test_gradients_of_three_operands():
    rng = np.random.default_rng(11)
    arrays = [rng.standard_normal(s) for s in ((2, 3), (3, 4), (4, 2, 2))]
    tensors = [proa.to_tensor(a, stop_gradient=False) for a in arrays]
    proa.einsum("ij,jk,kll->i", *tensors).sum().backward()
    np.testing.assert_allclose(tensors[0].grad.numpy(), np.einsum("jk,kll->j", *arrays[1:])[None].repeat(2, 0))
    np.testing.assert_allclose(tensors[1].grad.numpy(), np.einsum("ij,kll->jk", arrays[0], arrays[2]))
