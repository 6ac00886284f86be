"""All runs as rows of a table: what the table shows and no more, so that thousands are quick."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import Any

import sqlalchemy as sa

from ecv_core.records.errors import InputError, StoreError
from ecv_core.records.run import AMOUNT, QUIET, Energy, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.removal import kept
from ecv_core.store.rows import damage
from ecv_core.store.schema import folds, imports, labels, runs
from ecv_core.store.store import Store

# What people write on their runs: a name, tags and a note.


MOST_TAGS, TAG_LENGTH, NAME_LENGTH, NOTE_LENGTH = 12, 30, 80, 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What is written on one run; empty where nothing is."""

    name: str = ""
    tags: tuple[str, ...] = ()
    """Each once, in the order in which they were given."""
    note: str = ""


def checked_label(name: str = "", tags: Iterable[str] = (), note: str = "") -> Label:
    """A label as it is kept: without blanks around its texts and without a tag twice.

    Raises: InputError for a text that is too long, or too many tags.
    """
    label = Label(
        name=" ".join(name.split()),
        tags=tuple(dict.fromkeys(tag for one in tags if (tag := " ".join(one.split())))),
        note=note.strip(),
    )
    texts = [("name", label.name, NAME_LENGTH), ("note", label.note, NOTE_LENGTH)]
    for what, text, most in [*texts, *(("tag", tag, TAG_LENGTH) for tag in label.tags)]:
        if len(text) > most:
            raise InputError(
                f"the {what} '{text[:20]}...' has {len(text)} characters; at most {most} are kept"
            )
    if len(label.tags) > MOST_TAGS:
        raise InputError(f"a run has at most {MOST_TAGS} tags, but these are {len(label.tags)}")
    return label


def label_runs(store: Store, labelled: Mapping[str, Label]) -> None:
    """Write on each run its label, instead of what was on it; an empty label removes it.

    Raises: StoreError.
    """
    rows = [
        {"run_id": run_id, "name": one.name, "tags": json.dumps(one.tags), "note": one.note}
        for run_id, one in labelled.items()
        if one != Label()
    ]
    with store.transaction("written") as connection:
        connection.execute(labels.delete().where(labels.c.run_id.in_(list(labelled))))
        if rows:
            connection.execute(labels.insert(), rows)


def labels_in(connection: sa.Connection) -> dict[str, Label]:
    """What is written on each run that has a label, by run id."""
    return {
        row.run_id: Label(name=row.name, tags=tuple(json.loads(row.tags)), note=row.note)
        for row in connection.execute(labels.select()).all()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What several folds cost together."""

    energy: Energy
    total_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A run as a row of the list."""

    run_id: str
    group: str
    """As in Run."""
    spec: RunSpec
    state: RunState
    created_at: datetime
    scores: tuple[float, ...]
    """Of its finished folds, in the order in which they finished."""
    joules: float | None
    """Of all finished folds; None where one was not metered, or there is none."""
    fold_seconds: tuple[float, ...]
    """Of each finished fold on its own, see `records.Shared`, in the order of the scores; likewise
    the joules."""
    fold_joules: tuple[float, ...]
    """0 where a fold was not metered."""
    spent: tuple[Spent, ...]
    """What the finished folds cost together, one of each way to know it."""
    other_work: bool
    """Whether the joules hold other work of the machine too."""
    stopped_at: int | None
    """As in Run."""
    label: Label
    imported: bool
    started_by: str = ""
    """As in Run."""

    @property
    def mean(self) -> float | None:
        """The mean of the folds up to the stop, or of all so far; None before the first."""
        return fmean(self.scores[: self.stopped_at]) if self.scores else None

    @property
    def whole(self) -> bool:
        """As in Run."""
        return len(self.scores) == self.spec.k


class RunList:
    """All runs of a database; folds that were read once are not read again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._folds: dict[str, _Folds | StoreError] = {}
        self.damaged: dict[str, str] = {}
        """Run id -> a sentence, for those that `rows` could not read and left out the last time."""

    def rows(self) -> list[ListedRun]:
        """One row per run that can be read, newest first. Raises: StoreError."""
        with self._store.transaction("read") as connection:
            rows = connection.execute(
                sa.select(
                    runs.c.run_id,
                    runs.c.group_id,
                    runs.c.spec,
                    runs.c.state,
                    runs.c.created_at,
                    runs.c.stopped_at,
                    runs.c.started_by,
                )
                .where(kept())
                .order_by(runs.c.sequence.desc())
            ).all()
            self._folds = done = _read_folds(connection, self._folds)
            written = labels_in(connection)
            imported = set(connection.scalars(sa.select(imports.c.run_id)))
        specs: dict[str, RunSpec] = {}
        self.damaged = {}
        found = []
        for row in rows:
            try:
                found.append(_listed(row, specs, done, written, imported))
            except StoreError as error:
                self.damaged[row.run_id] = str(error)
        return found


def _listed(
    row: Any,  # noqa: ANN401  a row
    specs: dict[str, RunSpec],
    done: Mapping[str, _Folds | StoreError],
    written: Mapping[str, Label],
    imported: Collection[str],
) -> ListedRun:
    mine = done.get(row.run_id)
    if isinstance(mine, StoreError):
        raise mine
    try:
        if row.spec not in specs:  # each different one once
            specs[row.spec] = RunSpec.from_json(row.spec)
        return ListedRun(
            run_id=row.run_id,
            group=row.group_id,
            spec=specs[row.spec],
            state=RunState(row.state),
            created_at=datetime.fromisoformat(row.created_at),
            scores=mine.scores if mine else (),
            joules=mine.joules if mine else None,
            fold_seconds=mine.seconds if mine else (),
            fold_joules=mine.fold_joules if mine else (),
            spent=mine.spent if mine else (),
            other_work=mine is not None and mine.other_work,
            stopped_at=row.stopped_at,
            label=written.get(row.run_id, Label()),
            imported=row.run_id in imported,
            started_by=row.started_by or "",
        )
    except (ValueError, TypeError, KeyError) as error:
        raise damage(row.run_id, error) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folds:
    """What the list shows of the folds of one run."""

    version: tuple[int, int]
    """How many there are, and the newest row."""
    scores: tuple[float, ...]
    joules: float | None
    seconds: tuple[float, ...]
    fold_joules: tuple[float, ...]
    spent: tuple[Spent, ...]
    other_work: bool


def _read_folds(
    connection: sa.Connection, known: Mapping[str, _Folds | StoreError]
) -> dict[str, _Folds | StoreError]:
    """The folds of every run that has some; those that are as `known` are taken from there."""
    count, newest = sa.func.count(), sa.func.max(folds.c.sequence)
    counted = sa.select(folds.c.run_id, count, newest).group_by(folds.c.run_id)
    versions = {run_id: (many, last) for run_id, many, last in connection.execute(counted)}
    found: dict[str, _Folds | StoreError] = {
        run_id: same
        for run_id, version in versions.items()
        if isinstance(same := known.get(run_id), _Folds) and same.version == version
    }
    missing = versions.keys() - found.keys()
    query = sa.select(folds.c.run_id, folds.c.result).order_by(folds.c.sequence)
    if found:
        query = query.where(folds.c.run_id.in_(missing))
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for run_id, text in connection.execute(query) if missing else ():
        texts[run_id].append(text)
    for run_id, version in versions.items():
        if run_id in missing:
            found[run_id] = _folds(run_id, version, texts[run_id])
    return found


def _folds(run_id: str, version: tuple[int, int], texts: Sequence[str]) -> _Folds | StoreError:
    try:
        results = [json.loads(text) for text in texts]
        energies = [fold["energy"] for fold in results]
        metered = all(energy["source"] != "none" for energy in energies)
        shared = [fold.get("shared") or {} for fold in results]
        fold_joules = tuple(
            float(own.get("alone_joules", energy["joules"]))
            for own, energy in zip(shared, energies, strict=True)
        )
        seconds = tuple(
            float(own.get("alone_seconds", fold["total_seconds"]))
            for own, fold in zip(shared, results, strict=True)
        )
        joules = sum(float(energy["joules"]) for energy in energies)
        scores = tuple(float(fold["score"]) for fold in results)
        if not all(abs(value) <= AMOUNT for value in (*scores, *seconds, joules)):
            raise ValueError(f"a score, time or energy of {max(*scores, *seconds, joules):g}")
        return _Folds(
            version=version,
            scores=scores,
            joules=joules if metered else None,
            seconds=seconds,
            fold_joules=fold_joules,
            spent=_spent([fold for fold in results if not fold.get("reused")]),
            other_work=any(
                energy.get("machine_shared") or (energy.get("other_work") or 0) > QUIET
                for energy in energies
            ),
        )
    except (ValueError, KeyError, TypeError) as error:
        return damage(run_id, error)


def _spent(results: Sequence[Mapping[str, Any]]) -> tuple[Spent, ...]:
    """Of folds that this run has computed: one that it has from another run is counted there."""
    found = []
    for source in dict.fromkeys(str(fold["energy"]["source"]) for fold in results):
        mine = [fold for fold in results if fold["energy"]["source"] == source]
        sums: dict[str, Any] = {
            name: sum(float(fold["energy"][name]) for fold in mine) for name in _AMOUNTS
        }
        seconds = sum(
            float((fold.get("shared") or {}).get("alone_seconds", fold["total_seconds"]))
            for fold in mine
        )
        found.append(Spent(energy=Energy(source=source, **sums), total_seconds=seconds))
    return tuple(found)


_AMOUNTS = ("joules", "cpu_joules", "gpu_joules", "ram_joules", "grams_co2e")
