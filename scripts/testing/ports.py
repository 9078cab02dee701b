#!/usr/bin/env python3
"""Finds a free port of this machine for a server that is started later, or killed and started again.

    scripts/testing/ports.py        prints the port

It is below the ports that the system gives to connections. One of those may be taken by any connection before the server
has it, and also by the attempt of a client to connect to the port while its server is away.
"""

import random
import socket

OWN = "/proc/sys/net/ipv4/ip_local_port_range"
LOWEST = 10_000


def first_of_connections():
    """The first port that the system gives to connections."""
    try:
        with open(OWN) as file:
            return int(file.read().split()[0])
    except OSError:
        return 32_768  # not Linux: those of others begin later


def free_port():
    """A port at which nothing listens."""
    end = first_of_connections()
    if end < LOWEST + 1000:
        end = 60_000  # nearly all are given to connections
    while True:
        # A seed of a script repeats no port of another run at the same time.
        port = random.SystemRandom().randrange(LOWEST, end)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


if __name__ == "__main__":
    print(free_port())
