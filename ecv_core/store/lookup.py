"""What people type or paste for a run -> the run: its id, the beginning of it, or a name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa

from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord
from ecv_core.store.plans import stored_plans
from ecv_core.store.recorded import recorded_run
from ecv_core.store.schema import is_not_deleted, runs
from ecv_core.store.store import Store, open_store

_MOST_SHOWN = 5
"""Ids that the sentence on an ambiguous beginning names."""


def find_run(name: str, *, store: Store | None = None, folder: Path | None = None) -> RunRecord:
    """The recorded run, or the run of the database, that a name stands for.

    Args:
        name: The id of a run, the beginning of the id of a run in the database, or the name of a
            recorded run, such as 'ml-100k--item-knn'.
        store: The database; by default the usual one, opened where the run is not recorded.
        folder: The folder of the recorded runs; by default that of the project.

    Raises:
        InputError: Where there is no such run, or the beginning fits several.
        StoreError: Where the run is damaged.
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
        store: The database.
        beginning: The beginning of the id, or all of it. Where no id begins so, it is returned as
            it is, and whoever asks for that run is told that there is none.

    Raises:
        InputError: Where it is empty, or several ids begin so.
    """
    rows = store.rows(sa.select(runs.c.run_id).where(is_not_deleted()))
    return _full_id_of([row.run_id for row in rows], beginning, "run")


def full_plan_id(store: Store, kind: str, beginning: str) -> str:
    """The same of the plans of a kind, such as selections."""
    plans = stored_plans(store, kind)
    return _full_id_of([plan.plan_id for plan in plans], beginning, kind)


def _full_id_of(ids: Sequence[str], beginning: str, kind: str) -> str:
    """The only id that begins so; the beginning itself where none does. Raises: InputError.

    Args:
        ids: To choose from.
        beginning: The beginning of one of them, or all of it.
        kind: What they are ids of.
    """
    if not beginning:
        raise InputError(f"the id of the {kind} is empty; give its id or the beginning of it")
    if beginning in ids:
        return beginning
    matches = [full_id for full_id in ids if full_id.startswith(beginning)]
    if len(matches) > 1:
        shown = ", ".join(matches[:_MOST_SHOWN])
        if len(matches) > _MOST_SHOWN:
            shown += ", ..."
        raise InputError(
            f"the ids of {len(matches)} {kind}s begin with '{beginning}' ({shown}); give more "
            "characters"
        )
    if matches:
        return matches[0]
    # No run has this id. Whoever looks it up says so.
    return beginning
