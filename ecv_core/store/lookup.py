"""What people type or paste for a run -> the run: its id, the beginning of it, or a name."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord
from ecv_core.store.recorded import recorded_run
from ecv_core.store.schema import kept, runs
from ecv_core.store.store import Store, open_store

_MOST_SHOWN = 5
"""Ids that the sentence on an ambiguous beginning names."""


def find_run(name: str, *, store: Store | None = None, folder: Path | None = None) -> RunRecord:
    """The recorded run, or the run of the database, that a name stands for.

    Args:
        name: the id of a run, the beginning of the id of a run in the database, or the name of a
            recorded run, such as 'ml-100k--item-knn'.
        store: the database; by default the usual one, opened where the run is not recorded.
        folder: of the recorded runs; by default that of the project.

    Raises:
        InputError: where there is no such run, or the beginning fits several.
        StoreError: where the run is damaged.
    """
    recorded = recorded_run(name, folder)
    if recorded is not None:
        return recorded
    if store is None:
        store = open_store()
    return store.run(full_id(store, name))


def full_id(store: Store, beginning: str) -> str:
    """The id of the only run of a database whose id begins so.

    Args:
        store: the database.
        beginning: of the id, or all of it. Where no id begins so, it is returned as it is, and
            whoever asks for that run is told that there is none.

    Raises:
        InputError: where it is empty, or several ids begin so.
    """
    if not beginning:
        raise InputError("the id of the run is empty; give its id or the beginning of it")
    ids = []
    for row in store.rows(sa.select(runs.c.run_id).where(kept())):
        if row.run_id == beginning:
            return beginning
        if row.run_id.startswith(beginning):
            ids.append(row.run_id)
    if len(ids) > 1:
        shown = ", ".join(ids[:_MOST_SHOWN])
        if len(ids) > _MOST_SHOWN:
            shown += ", ..."
        raise InputError(
            f"the ids of {len(ids)} runs begin with '{beginning}' ({shown}); give more characters"
        )
    if ids:
        return ids[0]
    return beginning
