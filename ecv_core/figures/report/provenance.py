"""Where a run was computed, and with what: machine, versions, the content of its data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ecv_core.dataset as datasets
from ecv_core.records.errors import EcvError


def data_key(dataset: str) -> str:
    """64 hex digits that change with a dataset's content; empty where it is not on this disk."""
    entry = datasets.catalogue().get(dataset)
    if entry is None or not datasets.available(entry):
        return ""
    try:
        return datasets.source_key(dataset)
    except EcvError:  # a file that cannot be read any more has no hash
        return ""


def machine_words(made_with: Mapping[str, Any]) -> str:
    """'x86_64, 2 cores, 24 GiB', and its GPU if it has one; 'unknown' where nothing is recorded."""
    words = [str(made_with["machine"])] if made_with.get("machine") else []
    if made_with.get("cores"):
        words.append(f"{made_with['cores']} cores")
    if made_with.get("memory_gib"):
        words.append(f"{made_with['memory_gib']} GiB")
    if made_with.get("gpu"):
        words.append(str(made_with["gpu"]))
    return ", ".join(words) or "unknown"


def version_words(made_with: Mapping[str, Any]) -> str:
    """'e-fold 0.1.0, Python 3.11.7, torch 2.13.0'; 'unknown' where nothing was recorded."""
    words = [f"e-fold {made_with['e_fold']}"] if made_with.get("e_fold") else []
    words += [f"Python {made_with['python']}"] if made_with.get("python") else []
    packages = made_with.get("packages")
    if isinstance(packages, Mapping):
        words += [f"{name} {version}" for name, version in packages.items()]
    return ", ".join(words) or "unknown"
