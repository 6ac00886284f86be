"""What a run was computed on: the machine and the versions that its scores and energy depend on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

import psutil

from ecv_core._version import __version__

PACKAGES = ("codecarbon", "lenskit", "numpy", "scipy", "torch")


def environment() -> dict[str, object]:
    """This machine and the versions that are installed here, as plain JSON values."""
    return {
        "e_fold": __version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "gpu": _gpu(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def _gpu() -> str | None:
    """The name of the GPU that models compute on; None where they compute on the processor."""
    if version("torch").endswith("+cpu"):
        return None
    import pynvml  # CodeCarbon's

    try:
        pynvml.nvmlInit()
        name = pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0))
    except pynvml.NVMLError:
        return None
    return str(name)
