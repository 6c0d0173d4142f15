"""einsum: sums of products by index letters, as transposes, reshapes and matrix products."""

import functools
import itertools
import math

from proa import _C
from proa.framework.attributes import wrong
from proa.framework.names import borrow as _borrow

__all__ = [
    "einsum",
]

# Up to so many operands the best of all orders is found; of more, the cheapest pair is taken again and again.
_MOST_FOR_BEST = 6
_TYPICAL = 64  # what a size that is known only when the program runs counts as there
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
    x, letters = _contract_all(terms, output)
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
    if not isinstance(equation, str):
        raise wrong("einsum", "equation", "a str", equation)
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
            if not isinstance(size, int):
                continue  # the ops check it when the program runs
            known = sizes.setdefault(letter, size)
            if known == 1:
                sizes[letter] = size
            elif size not in (1, known):
                _fail(equation, f"{letter!r} stands for sizes {known} and {size}")


def _contract_all(terms, output):
    if len(terms) == 1:
        return terms[0]
    sizes = {}
    for x, letters in terms:
        for letter, size in zip(letters, x.shape):
            size = size if isinstance(size, int) else _TYPICAL
            sizes[letter] = max(size, sizes.get(letter, 1))
    tree = _order(tuple("".join(letters) for _, letters in terms), "".join(output), tuple(sorted(sizes.items())))

    def contract(node):
        """The product of the operands of a node, and which these are."""
        if isinstance(node, int):
            return terms[node], {node}
        (first, some), (second, others) = contract(node[0]), contract(node[1])
        done = some | others
        kept = set(output).union(*(letters for i, (_, letters) in enumerate(terms) if i not in done))
        return _contract(first, second, kept), done

    return contract(tree)[0]


@functools.lru_cache(maxsize=256)
def _order(inputs, output, sizes):
    """Which operands to multiply first, for the fewest multiplications: a tree of pairs, with operands by number."""
    sizes, count = dict(sizes), len(inputs)

    def letters_of(group):
        """Letters of the product of a group that something else needs."""
        inside = set().union(*(inputs[i] for i in group))
        return inside & set(output).union(*(inputs[i] for i in range(count) if i not in group))

    def cost(a, b):
        return math.prod(sizes[c] for c in letters_of(a) | letters_of(b))

    best = {frozenset([i]): (0, i) for i in range(count)}
    if count > _MOST_FOR_BEST:
        groups = list(best)
        while len(groups) > 1:
            a, b = min(itertools.combinations(groups, 2), key=lambda pair: cost(*pair))
            best[a | b] = (0, (best[a][1], best[b][1]))
            groups = [g for g in groups if g not in (a, b)] + [a | b]
        return best[groups[0]][1]
    for size in range(2, count + 1):
        for group in map(frozenset, itertools.combinations(range(count), size)):
            first, *rest = sorted(group)
            splits = (
                frozenset([first, *chosen]) for k in range(size - 1) for chosen in itertools.combinations(rest, k)
            )
            best[group] = min(
                (
                    (best[a][0] + best[group - a][0] + cost(a, group - a), (best[a][1], best[group - a][1]))
                    for a in splits
                ),
                key=lambda found: found[0],
            )
    return best[frozenset(range(count))][1]


def _contract(first, second, kept):
    """Product of two terms, summed over the letters that are not kept."""
    ops = _C.ops
    first, second = (_summed_alone(a, b, kept) for a, b in ((first, second), (second, first)))
    (x, a), (y, b) = first, second
    size_x, size_y = dict(zip(a, x.shape)), dict(zip(b, y.shape))
    # A letter of size 1 on one side broadcasts; a sum over it is a sum of the other side.
    shared = [c for c in a if c in size_y]
    batch = [c for c in shared if c in kept]
    uneven = [c for c in shared if c not in kept and _is_one(size_x[c]) != _is_one(size_y[c])]
    summed = [c for c in shared if c not in kept and c not in uneven]
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
    both = [q if _is_one(p) or not _is_one(q) and isinstance(q, int) else p for p, q in zip(batch_x, batch_y)]
    return ops.reshape(out, [*both, *rows, *columns]), [*batch, *only_x, *only_y]


def _is_one(size):
    return isinstance(size, int) and size == 1


def _summed_alone(term, other, kept):
    """Sums over the letters that are in this term only and not kept."""
    x, letters = term
    alone = [i for i, c in enumerate(letters) if c not in other[1] and c not in kept]
    if not alone:
        return term
    return x.sum(alone), [c for i, c in enumerate(letters) if i not in alone]


__getattr__ = _borrow(__name__, "proa")
