"""einsum: sums of products by index letters, as transposes, reshapes and matrix products."""

import math

from proa import _C
from proa.framework.names import borrow as _borrow

__all__ = [
    "einsum",
]

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(equation, *operands):
    """Sums of products of elements that share index letters.

    Args:
        equation (str): letters of each operand's dims, separated by commas, and after "->" those of
            the result; without "->" the letters that are there once, in order. "..." stands for
            dims that broadcast.
        *operands (Tensor): as many as the equation has, or one list of them.

    Returns:
        Tensor: with the dims that the equation says.

    Raises:
        ValueError: the equation is malformed or does not fit the operands.

    Examples:
        >>> a, b = proa.ones([2, 3]), proa.ones([3, 4])
        >>> proa.einsum("ij,jk->ik", a, b).tolist()
        [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not operands:
        raise _C.located(ValueError("einsum: at least one operand is needed"))
    operands = [_C.tensor_argument(x, "einsum", f"element {i} of operands") for i, x in enumerate(operands)]
    inputs, output = _parse(equation, operands)
    terms = [_one_letter_each(x, letters) for x, letters in zip(operands, inputs)]
    _check_sizes(equation, terms)
    while len(terms) > 1:
        i, j = _cheapest(terms)
        second, first = terms.pop(j), terms.pop(i)
        kept = set(output).union(*(letters for _, letters in terms))
        terms.append(_contract(first, second, kept))
    x, letters = terms[0]
    dropped = [i for i, letter in enumerate(letters) if letter not in output]
    if dropped:
        x = x.sum(dropped)
        letters = [letter for letter in letters if letter in output]
    perm = [letters.index(letter) for letter in output]
    return x if perm == list(range(len(perm))) else _C.ops.transpose(x, perm)


def _fail(equation, what):
    raise _C.located(ValueError(f"einsum: {what}; the equation is {equation!r}"))


def _parse(equation, operands):
    """Letters of each operand's dims and of the result's; dims of "..." get letters of their own."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        _fail(equation, f"it names {len(parts)} operands, but {len(operands)} were given")
    for part in (*parts, right):
        rest = part.replace("...", "", 1)
        if any(c not in _LETTERS for c in rest):
            _fail(equation, f"{part!r} holds something that is neither a letter nor '...'")
    unused = [c for c in _LETTERS if c not in text]
    width = 0
    for part, x in zip(parts, operands):
        rank, named = len(x.shape), len(part.replace("...", ""))
        if named > rank or ("..." not in part and named != rank):
            _fail(equation, f"{part!r} does not fit an operand of shape {list(x.shape)}")
        if "..." in part:
            width = max(width, rank - named)
    if width > len(unused):
        _fail(equation, "there are more dims than letters")
    dots = unused[:width]
    inputs = []
    for part, x in zip(parts, operands):
        count = len(x.shape) - len(part.replace("...", ""))
        inputs.append(list(part.replace("...", "".join(dots[width - count :]) if count else "")))
    if arrow:
        output = list(right.replace("...", "".join(dots)))
        if len(set(output)) < len(output):
            _fail(equation, "a letter is there twice in the result")
        for letter in output:
            if not any(letter in letters for letters in inputs):
                _fail(equation, f"{letter!r} is in the result but in no operand")
    else:
        seen = [letter for letters in inputs for letter in letters]
        once = sorted(letter for letter in set(seen) if seen.count(letter) == 1 and letter not in dots)
        output = [*dots, *once]
    return inputs, output


def _one_letter_each(x, letters):
    """Takes diagonals until no letter is there twice."""
    letters = list(letters)
    for letter in list(letters):
        while letters.count(letter) > 1:
            a = letters.index(letter)
            b = letters.index(letter, a + 1)
            if x.shape[a] != x.shape[b]:
                raise _C.located(
                    ValueError(f"einsum: {letter!r} stands for sizes {x.shape[a]} and {x.shape[b]} of one operand")
                )
            x = _C.ops.diagonal(x, 0, a, b)  # the diagonal becomes the last dim
            letters = [c for i, c in enumerate(letters) if i not in (a, b)] + [letter]
    return x, letters


def _check_sizes(equation, terms):
    sizes = {}
    for x, letters in terms:
        for letter, size in zip(letters, x.shape):
            known = sizes.setdefault(letter, size)
            if known == 1:
                sizes[letter] = size
            elif size not in (1, known):
                _fail(equation, f"{letter!r} stands for sizes {known} and {size}")


def _cheapest(terms):
    """The pair whose product has the fewest multiplications."""
    if len(terms) == 2:
        return 0, 1

    def cost(i, j):
        sizes = {}
        for x, letters in (terms[i], terms[j]):
            for letter, size in zip(letters, x.shape):
                sizes[letter] = max(size, sizes.get(letter, 1))
        return math.prod(sizes.values())

    pairs = [(i, j) for i in range(len(terms)) for j in range(i + 1, len(terms))]
    return min(pairs, key=lambda pair: cost(*pair))


def _contract(first, second, kept):
    """Product of two terms, summed over the letters that are not kept."""
    ops = _C.ops
    first, second = (_summed_alone(a, b, kept) for a, b in ((first, second), (second, first)))
    (x, a), (y, b) = first, second
    size_x, size_y = dict(zip(a, x.shape)), dict(zip(b, y.shape))
    # A letter of size 1 on one side broadcasts; a sum over it is a sum of the other side.
    shared = [c for c in a if c in size_y]
    batch = [c for c in shared if c in kept]
    summed = [c for c in shared if c not in kept and size_x[c] == size_y[c]]
    uneven = [c for c in shared if c not in kept and size_x[c] != size_y[c]]
    if uneven:
        drop_x = [a.index(c) for c in uneven]
        x = x.sum(drop_x)
        a = [c for c in a if c not in uneven]
        y = y.sum([b.index(c) for c in uneven])
        return _contract((x, a), (y, [c for c in b if c not in uneven]), kept)
    only_x, only_y = [c for c in a if c not in size_y], [c for c in b if c not in size_x]
    x = ops.transpose(x, [a.index(c) for c in (*batch, *only_x, *summed)])
    y = ops.transpose(y, [b.index(c) for c in (*batch, *summed, *only_y)])
    inner = math.prod(size_x[c] for c in summed)
    rows, columns = [size_x[c] for c in only_x], [size_y[c] for c in only_y]
    batch_x, batch_y = [size_x[c] for c in batch], [size_y[c] for c in batch]
    x = ops.reshape(x, [*batch_x, math.prod(rows), inner])
    y = ops.reshape(y, [*batch_y, inner, math.prod(columns)])
    out = ops.matmul(x, y)
    both = [max(p, q) if min(p, q) else 0 for p, q in zip(batch_x, batch_y)]
    return ops.reshape(out, [*both, *rows, *columns]), [*batch, *only_x, *only_y]


def _summed_alone(term, other, kept):
    """Sums over the letters that are in this term only and not kept."""
    x, letters = term
    alone = [i for i, c in enumerate(letters) if c not in other[1] and c not in kept]
    if not alone:
        return term
    return x.sum(alone), [c for i, c in enumerate(letters) if i not in alone]


__getattr__ = _borrow(__name__, "proa")
