"""How the launchers of a job find each other: at the address of the master, or through an etcd server."""

import errno
import socket
import time

from proa import _C
from proa.distributed.launch.electing import elect
from proa.distributed.launch.links import Client, Server, _address

__all__ = ["connect"]


def _listen(plan):
    """A socket at the master's address if that is this machine's and free, else None."""
    host, port = plan.master
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    hosts = [host] + ([""] if plan.node_rank == 0 else [])  # an address that only the others see
    for name in hosts:
        try:
            return socket.create_server((name, port), family=family)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return None
    return None


def connect(plan):
    """The way to the other machines: this launcher becomes the one that they meet at, or connects to it.

    Raises:
        ConnectionError: nobody is there within the limit, or it is something else.
    """
    if plan.etcd is not None:
        return elect(plan)
    if plan.master is None:
        return Server(plan)
    limit, error = time.monotonic() + plan.timeout, None
    while time.monotonic() < limit:
        listener = _listen(plan)
        if listener is not None:
            return Server(plan, listener)
        try:
            connection = socket.create_connection(plan.master, timeout=5.0)
        except OSError as found:
            error = found
            time.sleep(0.2)
            continue
        try:
            return Client(plan, connection, plan.master)
        except OSError as found:
            connection.close()
            raise _C.located(
                ConnectionError(
                    f"launch: at --master {_address(plan.master)} there is another program ({found}); choose another port"
                )
            ) from None
    raise _C.located(
        ConnectionError(
            f"launch: nobody answers at --master {_address(plan.master)} within {plan.timeout:g} seconds ({error}); is "
            "the launcher there running, and does the address belong to its machine?"
        )
    )
