"""What a report needs to know beyond the run: versions, machine, the data's hash, what to cite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import ecv_core.dataset as datasets
from ecv_core.records.errors import EcvError
from ecv_core.store.environment import environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Facts about the place where a report is made; a report is a pure function of these."""

    made_at: datetime
    made_with: Mapping[str, Any]
    """As `environment.environment` gives it: of the machine that ran it, if that is known."""
    data_keys: Mapping[str, str] = field(default_factory=dict)
    """Dataset id -> 64 hex digits that change with its content; only those that are on disk."""
    bibtex: tuple[str, ...] = ()
    """Entries of the datasets, where the catalogue has them."""


def provenance(
    dataset_ids: Iterable[str], made_with: Mapping[str, Any] | None = None
) -> Provenance:
    """What is known here and now.

    Args:
        dataset_ids: of the runs; those that this installation does not have are left out.
        made_with: of a run that was computed elsewhere; by default this machine's.
    """
    known, keys, entries = datasets.catalogue(), {}, []
    for name in sorted(set(dataset_ids)):
        if name not in known:
            continue
        entries.append(known[name].bibtex)
        if datasets.available(known[name]):
            try:
                keys[name] = datasets.source_key(name)
            except EcvError:  # a file that cannot be read any more has no hash
                continue
    return Provenance(
        made_at=datetime.now(UTC),
        made_with=environment() if made_with is None else made_with,
        data_keys=keys,
        bibtex=tuple(dict.fromkeys(entry for entry in entries if entry)),
    )


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
