"""The state of the random generators."""

from proa import _C
from proa.framework.attributes import wrong

_seeded = False


def is_seeded():
    """Whether the program has called `seed`."""
    return _seeded


def seed(seed):
    """Seeds the generators of all devices; the same seed gives the same numbers.

    The order of shuffled data follows it too. A program that never calls it, but `numpy.random.seed`, gets the order that
    NumPy's numbers give.

    Args:
        seed (int): any 64-bit integer.

    Examples:
        >>> proa.seed(7); a = proa.rand([3])
        >>> proa.seed(7); b = proa.rand([3])
        >>> bool((a == b).all())
        True
    """
    global _seeded
    try:
        number = int(seed)
    except (TypeError, ValueError):
        raise wrong("seed", "seed", "an int", seed) from None
    made = _C.seed(number)
    _seeded = True
    return made


def get_rng_state():
    """The state of the CPU's generator, for `set_rng_state`.

    Examples:
        >>> state = proa.get_rng_state()
        >>> a = proa.rand([2])
        >>> proa.set_rng_state(state)
        >>> (proa.rand([2]) == a).all().item()
        True
    """
    return _C.get_rng_state()


def set_rng_state(state):
    """Puts the CPU's generator back to a state that `get_rng_state` gave.

    Examples:
        >>> state = proa.get_rng_state()
        >>> a = proa.rand([2])
        >>> proa.set_rng_state(state)
        >>> (proa.rand([2]) == a).all().item()
        True
    """
    _C.set_rng_state(state)


def get_cuda_rng_state():
    """States of the generators of all GPUs: a list, empty without GPUs.

    Examples:
        >>> proa.get_cuda_rng_state()  # one state for each GPU
        []
    """
    return []


def set_cuda_rng_state(state_list):
    """Puts the generators of all GPUs back to the states of `get_cuda_rng_state`.

    Examples:
        >>> proa.set_cuda_rng_state(proa.get_cuda_rng_state())
    """
    if state_list:
        raise _C.located(ValueError(f"set_cuda_rng_state: {len(state_list)} states were given, but there is no GPU"))


def _manual_program_seed(seed_of_programs):
    """`seed`: programs draw from the generators of their places."""
    seed(seed_of_programs)
