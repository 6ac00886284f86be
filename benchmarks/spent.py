"""What a process has taken: seconds of the processor, and memory.

`peer_models` run where only the peer is installed, so only the standard library is imported here.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path


def processor_seconds() -> float:
    """Of this process and its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def status_megabytes(field: str) -> float:
    """A line of Linux's status of this process: VmRSS is what it holds, VmHWM the most so far."""
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024
