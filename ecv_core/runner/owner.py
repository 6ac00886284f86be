"""Who runs a run: processes with names that stay theirs."""

from __future__ import annotations

import socket

import psutil


def this_process() -> str:
    """Names this process for good: host, process id and start, for a process id comes back."""
    process = psutil.Process()
    return f"{socket.gethostname()}:{process.pid}:{process.create_time():.0f}"


def is_alive(owner: str) -> bool:
    """Whether the process that `this_process` named is still there; other hosts count as alive."""
    host, pid, started = owner.rsplit(":", 2)
    if host != socket.gethostname():
        return True
    try:
        return abs(psutil.Process(int(pid)).create_time() - float(started)) < 2
    except psutil.Error:
        return False
