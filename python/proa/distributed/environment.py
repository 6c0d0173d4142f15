"""What a launcher says about the job in the environment, and the refusal of jobs of more than one process."""

import os

from proa import _C

__all__ = ["is_initialized", "require_one_process", "trainer_count", "trainer_id"]


def _number(name, default):
    text = os.environ.get(name, "")
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise _C.located(
            ValueError(f"distributed: the environment says {name}={text!r}; it must be an integer")
        ) from None


def trainer_id():
    """The number of this process: PADDLE_TRAINER_ID, 0 without a launcher."""
    return _number("PADDLE_TRAINER_ID", 0)


def trainer_count():
    """How many processes the job has: PADDLE_TRAINERS_NUM, 1 without a launcher."""
    return _number("PADDLE_TRAINERS_NUM", 1)


def require_one_process(what, count=None):
    """Raises NotImplementedError if the job (or `count`) is more than one process."""
    count = trainer_count() if count is None else count
    if count > 1:
        raise _C.located(
            NotImplementedError(
                f"{what}: this version trains in one process, and {count} are asked for; start one (unset "
                "PADDLE_TRAINERS_NUM, or nprocs=1), which uses all cores of the machine"
            )
        )


_state = {"initialized": False}


def is_initialized():
    """Whether `init_parallel_env` has been called.

    Examples:
        >>> _ = proa.distributed.init_parallel_env()
        >>> proa.distributed.is_initialized()
        True
        >>> proa.distributed.destroy_process_group()
    """
    return _state["initialized"]


def note_initialized(whether):
    """This process is a member of the job from now on, or no longer."""
    _state["initialized"] = whether
