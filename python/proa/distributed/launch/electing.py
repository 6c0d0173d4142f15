"""Launchers that find each other through an etcd server: one of them has the meeting, and when it is lost another one."""

import socket
import time

from proa import _C
from proa.distributed.environment import _endpoint
from proa.distributed.launch.links import Client, Server, _address

__all__ = ["Office", "elect"]

_LEASE = 8  # seconds after its last sign of life that the place of a launcher is free
_SIGN = 2.0  # seconds between signs of life
_KEY = "meeting"


class Office:
    """The place of the launcher that has the meeting: a key in etcd, which goes when the launcher does.

    Args:
        store (EtcdStore): of the job.
        address (str): where the others find it.
        lease (int): under which the key was set.
    """

    def __init__(self, store, address, lease):
        self._store, self._address, self._lease = store, address, lease
        self._said = time.monotonic()

    def hold(self):
        """Gives a sign of life when it is time; False once another launcher has the place."""
        if time.monotonic() - self._said < _SIGN:
            return True
        self._said = time.monotonic()
        try:
            if self._store.keep_lease(self._lease):
                return True
            # It was silent for too long (a stopped process, a server that was away).
            self._lease = self._store.new_lease(_LEASE)
            return self._store.claim(_KEY, self._address, self._lease)
        except RuntimeError:
            return True  # the server is away, and nobody else can have taken the place

    def leave(self, ended):
        """The place is free at once; what killed ranks of earlier rounds left in the store goes when the job has ended."""
        try:
            if ended:
                self._store.clear()
            self._store.end_lease(self._lease)
        except (RuntimeError, ValueError):
            pass  # it ends by itself


def elect(plan):
    """The way to the other machines of a plan with an etcd server: this launcher gets the meeting, or connects to the one
    that has it.

    Raises:
        ConnectionError: the server does not answer, or the launcher that is to have the meeting, within the limit.
    """
    place, limit, error = plan.etcd.below(plan.job_id), time.monotonic() + plan.timeout, None
    try:
        store = place.store(plan.timeout)
    except RuntimeError as found:
        raise _C.located(
            ConnectionError(
                f"launch: the etcd server of --master {plan.etcd} does not answer ({found}); is it running?"
            )
        ) from None
    while time.monotonic() < limit:
        listener = socket.create_server(("", 0))
        address = _address((plan.host, listener.getsockname()[1]))
        lease = store.new_lease(_LEASE)
        if store.claim(_KEY, address, lease):
            return Server(plan, listener, Office(store, address, lease))
        listener.close()
        store.end_lease(lease)
        connection = None
        try:
            master = _endpoint(store.get(_KEY, 0.0).decode(), _KEY)
            connection = socket.create_connection(master, timeout=2.0)
            return Client(plan, connection, master)
        except (OSError, RuntimeError, ValueError) as found:  # it has just gone, or is lost and its place not yet free
            error = found
            if connection is not None:
                connection.close()
            time.sleep(0.3)
    raise _C.located(
        ConnectionError(f"launch: machines did not meet through {plan.etcd} within {plan.timeout:g} seconds ({error})")
    )
