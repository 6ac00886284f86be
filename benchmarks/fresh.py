"""Measurements in fresh processes, which nothing that ran before disturbs.

`peer_models` run where only the peer is installed, so only the standard library is imported here.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def measured_afresh(module: str, *words: str) -> Any:  # noqa: ANN401  any JSON
    """Run a module in a process of its own; returns the JSON that it prints last.

    Args:
        module: its name.
        words: what it is called with.
    Raises:
        SystemExit: where it fails; it has said why.
    """
    process = subprocess.run(
        [sys.executable, "-m", module, *words],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if process.returncode:
        raise SystemExit(f"{module} {' '.join(words)} ended with exit code {process.returncode}")
    return json.loads(process.stdout.splitlines()[-1])


def processor_seconds() -> float:
    """Of this process and its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def status_megabytes(field: str) -> float:
    """A line of Linux's status of this process: VmRSS is what it holds, VmHWM the most so far."""
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024
