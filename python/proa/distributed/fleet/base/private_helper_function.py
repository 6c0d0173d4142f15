"""Waiting for servers."""

import socket
import time

__all__ = ["wait_server_ready"]


def wait_server_ready(endpoints):
    """Returns when something listens at each of "address:port"."""
    for endpoint in endpoints:
        address, _, port = endpoint.partition(":")
        while True:
            with socket.socket() as probe:
                probe.settimeout(2)
                if probe.connect_ex((address, int(port))) == 0:
                    break
            time.sleep(1)
