"""Random numbers by name: those that must be equal on the processes that share a tensor, and those that must differ."""

import contextlib

from proa import _C

__all__ = [
    "MODEL_PARALLEL_RNG",
    "RNGStatesTracker",
    "determinate_seed",
    "dropout",
    "get_rng_state_tracker",
    "model_parallel_random_seed",
]

MODEL_PARALLEL_RNG = "model_parallel_rng"


class RNGStatesTracker:
    """States of the random generator by name; inside of `rng_state(name)` random numbers are drawn from that one.

    Examples:
        >>> from proa.distributed.fleet.layers.mpu import RNGStatesTracker
        >>> tracker = RNGStatesTracker()
        >>> tracker.add("parts", 7)
        >>> with tracker.rng_state("parts"):
        ...     x = proa.rand([3])
        >>> proa.seed(7); bool((x == proa.rand([3])).all())
        True
    """

    def __init__(self):
        self.reset()

    def reset(self):
        """Forgets all states."""
        self.states_, self.seeds_ = {}, set()

    def add(self, name, seed):
        """A new state, that which `seed` begins.

        Raises:
            ValueError: the name or the seed is there already.
        """
        if seed in self.seeds_:
            raise _C.located(ValueError(f"RNGStatesTracker.add: seed {seed} is there already"))
        if name in self.states_:
            raise _C.located(ValueError(f"RNGStatesTracker.add: state {name!r} is there already"))
        before = _C.get_rng_state()
        _C.seed(int(seed))
        self.states_[name] = _C.get_rng_state()
        self.seeds_.add(seed)
        _C.set_rng_state(before)

    def get_states_tracker(self):
        """A copy of all states, for `set_states_tracker`."""
        return dict(self.states_)

    def set_states_tracker(self, states):
        """Puts all states back."""
        self.states_ = dict(states)

    @contextlib.contextmanager
    def rng_state(self, name=MODEL_PARALLEL_RNG):
        """Random numbers of the `with` block are those of this state, which goes on where it was left.

        Raises:
            ValueError: there is no such state.
        """
        if name not in self.states_:
            raise _C.located(
                ValueError(f"RNGStatesTracker.rng_state: there is no state {name!r}; add(name, seed) makes one")
            )
        before = _C.get_rng_state()
        _C.set_rng_state(self.states_[name])
        try:
            yield
        finally:
            self.states_[name] = _C.get_rng_state()
            _C.set_rng_state(before)


_tracker = RNGStatesTracker()


def get_rng_state_tracker():
    """The tracker of this process."""
    return _tracker


def model_parallel_random_seed(seed=None):
    """Seeds what is equal on all processes of a model with `seed`, and what differs with a number of each process.

    Args:
        seed (int, optional): the same on all processes; 2048 unless given.
    """
    from proa.distributed.fleet.layers.mpu.mp_ops import model_group

    seed = 2048 if seed is None else int(seed)
    stage = 0
    from proa.distributed.fleet.base.fleet_base import fleet

    if fleet._hcg is not None:
        stage = fleet._hcg.get_stage_id()
    group = model_group()
    _tracker.reset()
    _tracker.add(MODEL_PARALLEL_RNG, seed + 1024 + stage * group.nranks + max(0, group.rank))
    _C.seed(seed + stage)


def determinate_seed(rng_name):
    """A seed drawn from the state of this name."""
    from proa import randint

    with _tracker.rng_state(rng_name):
        return int(randint(0, 2**31 - 1, [1]).item())


def dropout(x, p=0.5, axis=None, rng_name=None, training=True, mode="upscale_in_train", name=None):
    """`nn.functional.dropout` with random numbers of the state `rng_name`."""
    from proa.nn import functional

    if rng_name is None:
        return functional.dropout(x, p, axis, training, mode, name)
    with _tracker.rng_state(rng_name):
        return functional.dropout(x, p, axis, training, mode, name)
