"""Measurements in fresh processes, which nothing that ran before disturbs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def measured_afresh(module: str, *words: str, surroundings: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401  any JSON
    """Run a module in a process of its own; returns the JSON that it prints last.

    Args:
        module: its name.
        words: what it is called with.
        surroundings: what is set in its environment.
    Raises:
        SystemExit: where it fails; it has said why.
    """
    process = subprocess.run(
        [sys.executable, "-m", module, *words],
        env=os.environ | dict(surroundings or {}),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if process.returncode:
        raise SystemExit(f"{module} {' '.join(words)} ended with exit code {process.returncode}")
    return json.loads(process.stdout.splitlines()[-1])


def status_megabytes(field: str) -> float:
    """A line of Linux's status of this process: VmRSS is what it holds, VmHWM the most so far."""
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024
