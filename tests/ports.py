"""Ports for servers that a test starts."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from random import Random

# Linux gives ports from 32768 on to whoever connects or asks for any port. One of those may be
# taken by another test in the seconds that a server needs to start.
_LOWEST = 10_000
_HIGHEST = 32_000


def unused_port(in_a_row: int = 1) -> int:
    """A port that nobody uses; the first one, where several in a row are needed."""
    drawn = Random()  # Seeded by the system: workers of pytest draw other ports.
    while True:
        first = drawn.randrange(_LOWEST, _HIGHEST - in_a_row)
        try:
            with ExitStack() as servers:
                for port in range(first, first + in_a_row):
                    servers.enter_context(socket.create_server(("", port)))
        except OSError:
            continue
        return first
