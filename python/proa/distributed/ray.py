"""Training functions on the actors of a Ray cluster.

    from proa.distributed.ray import run

    def train(rate):
        dist.init_parallel_env()
        ...
        return float(loss)

    losses = run(train, (0.1,), ranks=4)

Ray (PyPI `ray`) is not needed by anything else, and is imported when `run` is called.
"""

import contextlib
import os
import secrets
import socket
import time

from proa import _C

__all__ = ["run"]

_PATIENCE = 5.0  # seconds that other ranks get to say what was wrong first


def _ray():
    try:
        import ray  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise _C.located(ImportError("distributed.ray: there is no Ray here; pip install ray")) from None
    return ray


class _Worker:
    """An actor: one rank."""

    def place(self):
        """(address of the machine, a port that nobody has at this moment)."""
        import ray

        address = ray.util.get_node_ip_address()
        with socket.socket() as s:
            s.bind(("", 0))
            return address, s.getsockname()[1]

    def run(self, environment, function, args, kwargs):
        """What the function gives on this rank."""
        os.environ.update(environment)
        try:
            return function(*args, **kwargs)
        finally:
            from proa.distributed import parallel

            parallel.destroy_process_group()


def _environments(places, more):
    """The variables of each rank, from the places of the actors; those of one machine are neighbours.

    Returns:
        (list[int], list[dict]): which actor is which rank, and the variables by rank.
    """
    machines = {}
    for actor, (address, _) in enumerate(places):
        machines.setdefault(address, []).append(actor)
    order = [actor for actors in machines.values() for actor in actors]
    address, port = places[order[0]]
    common = {
        "PADDLE_MASTER": f"{address}:{port}",
        "PADDLE_TRAINERS_NUM": str(len(places)),
        "PADDLE_NNODES": str(len(machines)),
        "PROA_JOB_SECRET": secrets.token_hex(16),
        **more,
    }
    found = []
    for node, actors in enumerate(machines.values()):
        for local in range(len(actors)):
            found.append({
                "PADDLE_TRAINER_ID": str(len(found)), "PADDLE_NODE_RANK": str(node), "PADDLE_RANK_IN_NODE": str(local),
                "PADDLE_LOCAL_SIZE": str(len(actors)), **common,
            })  # fmt: skip
    return order, found


def run(function, args=(), kwargs=None, ranks=2, cpus_per_rank=1, gpus_per_rank=0, environment=None, timeout=None):
    """Calls a function on Ray actors, each of which is a rank of one job.

    The cluster is the one that Ray is connected with; else that of `RAY_ADDRESS`; else one of this machine. An actor has
    `cpus_per_rank` threads. When a rank fails the others are ended, and so they are when this returns.

    Args:
        function (Callable): calls `init_parallel_env` (or `fleet.init`) itself; Ray pickles it.
        args (tuple), kwargs (dict, optional): its arguments.
        ranks (int): how many.
        cpus_per_rank, gpus_per_rank (int): what an actor reserves.
        environment (dict, optional): further variables of the ranks.
        timeout (float, optional): seconds until all have begun; without it, until the cluster has room.

    Returns:
        list: what each rank returned, by rank.

    Raises:
        ImportError: there is no Ray.
        ValueError: ranks is no positive int.
        TimeoutError: the cluster has no room for all within the time.
        RuntimeError: a rank failed; it names the rank, and has its error.

    Examples:
        >>> proa.distributed.ray.run(print, ranks=0)
        Traceback (most recent call last):
            ...
        ValueError: ...ranks must be a positive int, not 0...
    """
    if isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1:
        raise _C.located(ValueError(f"distributed.ray.run: ranks must be a positive int, not {ranks!r}"))
    ray = _ray()
    if not ray.is_initialized():
        ray.init(log_to_driver=True)
    actor = ray.remote(_Worker).options(num_cpus=cpus_per_rank, num_gpus=gpus_per_rank)
    workers = [actor.remote() for _ in range(ranks)]
    try:
        try:
            places = ray.get([worker.place.remote() for worker in workers], timeout=timeout)
        except ray.exceptions.GetTimeoutError:
            raise _C.located(
                TimeoutError(f"distributed.ray.run: the cluster had no room for {ranks} ranks within {timeout:g} s")
            ) from None
        order, variables = _environments(places, {k: str(v) for k, v in (environment or {}).items()})
        started = [
            workers[who].run.remote(own, function, tuple(args), dict(kwargs or {}))
            for who, own in zip(order, variables)
        ]
        return _results(ray, started)
    finally:
        for worker in workers:
            with contextlib.suppress(Exception):  # it is gone
                ray.kill(worker)


def _results(ray, started):
    """What the calls gave; raises what went wrong first."""
    waiting = list(started)
    while waiting:
        done, waiting = ray.wait(waiting)
        try:
            ray.get(done)
        except Exception:  # noqa: BLE001
            break
    else:
        return ray.get(started)
    # Others fail because of the first: a rank that died comes before what they say about it.
    until = time.monotonic() + _PATIENCE
    failed = []
    for rank, call in enumerate(started):
        ready, _ = ray.wait([call], timeout=max(0.0, until - time.monotonic()))
        try:
            ray.get(ready)
        except Exception as error:  # noqa: BLE001
            failed.append((not isinstance(error, ray.exceptions.RayActorError), _is_of_another(error), rank, error))
    _, _, rank, first = min(failed, key=lambda f: f[:3])
    raise _C.located(RuntimeError(f"distributed.ray.run: rank {rank} failed: {first}")) from first


def _is_of_another(error):
    """Whether a rank says that another one is to blame."""
    text = str(error)
    return "died" in text or "left" in text or "never entered" in text
