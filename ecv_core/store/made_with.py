"""Runs -> the machine and the versions that they were computed with, and where they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ecv_core.records.run import RunRecord
from ecv_core.store.environment import environment
from ecv_core.store.imports import origins
from ecv_core.store.recorded import recorded_environment
from ecv_core.store.store import Store


def made_with(runs: Sequence[RunRecord], store: Store) -> Mapping[str, Any]:
    """The environment that all these runs share; where they differ it says so instead.

    Args:
        runs: The runs of the database, or recorded ones; without any it is this machine's.
        store: The database, which knows where imported runs were computed.

    Returns:
        As `environment.environment` gives it.
    """
    imported = origins(store)
    environments = []
    for run in runs:
        origin = imported.get(run.run_id)
        if origin is not None:
            environment_of_run = origin.made_with
        else:
            # A run that is neither imported nor recorded was computed here.
            environment_of_run = recorded_environment(run.run_id) or environment()
        if environment_of_run not in environments:
            environments.append(environment_of_run)
    if len(environments) > 1:
        return {"machine": f"{len(environments)} different ones, named in each run's JSON"}
    if environments:
        return environments[0]
    return environment()


def imported_sentence(run_id: str, store: Store) -> str:
    """Where a run came from, in one plain sentence; empty for one that ran here."""
    origin = origins(store).get(run_id)
    if origin is None:
        return ""
    other_id = ""
    if origin.original_id != run_id:
        other_id = f", where it is run {origin.original_id}"
    return (
        f"Imported on {origin.imported_at:%Y-%m-%d} from {origin.file_name}{other_id}: it was "
        "computed elsewhere, so its seconds and energy are another machine's."
    )
