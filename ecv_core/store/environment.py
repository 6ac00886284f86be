"""What a run was computed on: the machine and the versions that its scores and energy depend on."""

from __future__ import annotations

import os
import platform
import socket
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import psutil

from ecv_core.records import __version__

PACKAGES = ("codecarbon", "lenskit", "numpy", "scipy", "torch")


def environment() -> dict[str, object]:
    """This machine and the versions that are installed here, as plain JSON values."""
    packages = {name: version(name) for name in PACKAGES if find_spec(name)}
    return {
        "e_fold": __version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": _memory_gib(),
        "gpu": _gpu(),
        "python": platform.python_version(),
        "packages": packages,
    }


def host() -> str:
    """What this machine is called: by SLURM, if a job of it runs here."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


@cache
def hardware() -> str:
    """'AMD EPYC 7763, 64 cores, 256 GiB': what joules depend on, in words."""
    words = [_processor(), f"{os.cpu_count()} cores", f"{_memory_gib()} GiB"]
    gpu = _gpu()
    if gpu:
        words.append(gpu)
    return ", ".join(words)


def _memory_gib() -> int:
    return round(psutil.virtual_memory().total / 2**30)


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            field, _, value = line.partition(":")
            if field.startswith("model name"):
                return " ".join(value.split())
    return platform.processor() or platform.machine()


def _gpu() -> str | None:
    """The name of the GPU that models compute on; None without one, or without [energy]."""
    if not (find_spec("torch") and find_spec("pynvml")) or version("torch").endswith("+cpu"):
        return None
    # This package comes with CodeCarbon.
    import pynvml

    try:
        pynvml.nvmlInit()
        name = pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0))
    except pynvml.NVMLError:
        return None
    return str(name)
