"""The base of schedules."""

from proa import _C
from proa.framework.attributes import known_int, known_real, wrong
from proa.nn.layer import use


class LRScheduler:
    """Base of schedules. Subclasses define `get_lr`, from `base_lr`, `last_epoch` and `last_lr`.

    Args:
        learning_rate (float): the base rate, not negative.
        last_epoch (int): the epoch before the first; a run that is resumed gives its own.
        verbose (bool): print the rate at each step.

    Examples:
        >>> class Halving(proa.optimizer.lr.LRScheduler):
        ...     def get_lr(self):
        ...         return self.base_lr * 0.5**self.last_epoch
        >>> schedule = Halving(0.1)
        >>> schedule.step(); schedule()
        0.05
    """

    _saved: tuple[str, ...] = ("last_epoch", "last_lr")
    _is_made = False  # the step that begins a schedule is no step of training

    def __init__(self, learning_rate=0.1, last_epoch=-1, verbose=False):
        kind = type(self).__name__
        if isinstance(learning_rate, bool):
            raise wrong(kind, "learning_rate", "a number", learning_rate)
        learning_rate = known_real(kind, "learning_rate", learning_rate)
        if learning_rate < 0:
            raise _C.located(ValueError(f"{kind}: learning_rate must not be negative; it is {learning_rate}"))
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = known_int(kind, "last_epoch", last_epoch)
        if not -1 <= self.last_epoch < 2**31:
            raise _C.located(ValueError(f"{kind}: last_epoch must be from -1 to 2^31 - 1; it is {last_epoch}"))
        self.verbose = verbose
        self.step()
        self._is_made = True

    def __call__(self):
        """The rate of now."""
        return self.last_lr

    def step(self, epoch=None):
        """Goes to the next epoch, or to `epoch`."""
        if self._is_made:
            use.refuse_in_recording(f"{type(self).__name__}.step")
        if epoch is None:
            self.last_epoch += 1
            self.last_lr = self.get_lr()
        else:
            self.last_epoch = epoch
            closed = getattr(self, "_get_closed_form_lr", None)
            self.last_lr = closed() if closed else self.get_lr()
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def get_lr(self):
        """The rate of epoch `last_epoch`; subclasses define it."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define get_lr"))

    def _state_keys(self):
        """For subclasses: sets `self.keys`, the names of the attributes that `state_dict` saves."""
        self.keys = list(self._saved)

    state_keys = _state_keys

    def state_dict(self):
        """What a resumed run needs, as a dict of numbers."""
        self.state_keys()
        return {key: self.__dict__[key] for key in self.keys if key in self.__dict__}

    def set_state_dict(self, state_dict):
        """Takes over what `state_dict` gave."""
        self.state_keys()
        missing = [key for key in self.keys if key in self.__dict__ and key not in state_dict]
        if missing:
            raise _C.located(ValueError(f"{type(self).__name__}: the state has no {', '.join(missing)}"))
        for key in self.keys:
            if key in state_dict:
                self.__dict__[key] = state_dict[key]

    set_dict = set_state_dict
