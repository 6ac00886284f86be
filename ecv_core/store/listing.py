"""All runs as rows of a table: what the table shows and no more, so that thousands are quick."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from statistics import fmean
from typing import Any

import sqlalchemy as sa

from ecv_core.records import codec
from ecv_core.records.errors import DamagedRun, InputError
from ecv_core.records.run import Energy, FoldResult, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.rows import AHEAD, damage, read_folds, stop_of_row
from ecv_core.store.schema import folds, imports, kept, labels, runs
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
        name=" ".join(_printable(name).split()),
        tags=tuple(
            dict.fromkeys(tag for one in tags if (tag := " ".join(_printable(one).split())))
        ),
        note="\n".join(map(_printable, note.strip().splitlines())),
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


def _printable(text: str) -> str:
    """With a blank for each other sign: PostgreSQL takes no NUL, and nothing half a character."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


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
    found = {}
    for row in connection.execute(labels.select()).all():
        with suppress(ValueError, TypeError):  # a damaged label is as none
            tags = codec.read(tuple[str, ...], row.tags)
            found[row.run_id] = Label(name=row.name, tags=tags, note=row.note)
    return found


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
    processor_seconds: float | None
    """Of all finished folds and all cores; None where one does not say, or there is none."""
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
    damaged: Mapping[int, str] = field(default_factory=dict)
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
        self._folds: dict[str, _Folds] = {}
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
            except DamagedRun as error:
                self.damaged[row.run_id] = str(error)
        return found


def _listed(
    row: Any,  # noqa: ANN401  a row
    specs: dict[str, RunSpec],
    done: Mapping[str, _Folds],
    written: Mapping[str, Label],
    imported: Collection[str],
) -> ListedRun:
    columns = done.get(row.run_id, _NO_FOLDS).columns
    try:
        if row.spec not in specs:  # each different one once
            specs[row.spec] = RunSpec.from_json(row.spec)
        return ListedRun(
            run_id=row.run_id,
            group=row.group_id,
            spec=specs[row.spec],
            state=RunState(row.state),
            created_at=datetime.fromisoformat(row.created_at),
            stopped_at=stop_of_row(row, specs[row.spec], columns["damaged"]),
            label=written.get(row.run_id, Label()),
            imported=row.run_id in imported,
            started_by=row.started_by or "",
            **columns,
        )
    except (ValueError, TypeError, KeyError) as error:
        raise damage(row.run_id, error) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folds:
    """The folds of one run, as they are in the table."""

    version: tuple[int, int]
    """How many there are, and the newest row."""
    columns: Mapping[str, Any]
    """What a row says of them, by the field of ListedRun."""


def _read_folds(connection: sa.Connection, known: Mapping[str, _Folds]) -> dict[str, _Folds]:
    """The folds of every run that has some; those that are as `known` are taken from there."""
    count, newest = sa.func.count(), sa.func.max(folds.c.sequence)
    counted = sa.select(folds.c.run_id, count, newest).group_by(folds.c.run_id)
    versions = {run_id: (many, last) for run_id, many, last in connection.execute(counted)}
    found = {
        run_id: same
        for run_id, version in versions.items()
        if (same := known.get(run_id)) and same.version == version
    }
    missing = versions.keys() - found.keys()
    query = sa.select(folds.c.run_id, folds.c.fold, folds.c.result, folds.c.moment)
    query = query.order_by(folds.c.sequence)
    if found:
        query = query.where(folds.c.run_id.in_(missing))
    rows: defaultdict[str, list[Any]] = defaultdict(list)
    for row in connection.execute(query) if missing else ():
        rows[row.run_id].append(row)
    for run_id in missing:
        good, damaged = read_folds(rows[run_id])
        turn = {row.fold: _turn(row.moment) for row in rows[run_id]}
        results = [good[fold] for fold in sorted(good, key=lambda fold: turn[fold])]
        seen = sum(turn[fold] < _AHEAD for fold in good)
        columns = _columns(results, seen, damaged)
        found[run_id] = _Folds(version=versions[run_id], columns=columns)
    return found


_AHEAD = sys.maxsize


def _turn(moment: str | None) -> int:
    """Whose fold the rule sees first: 0 where it is not known, and they are in their order."""
    if moment == AHEAD:
        return _AHEAD
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        found = json.loads(moment or "{}")
        return int(found["n"]) if isinstance(found, dict) else 0
    return 0


def _columns(
    results: Sequence[FoldResult], seen: int, damaged: Mapping[int, str]
) -> dict[str, Any]:
    metered = bool(results) and all(one.energy.source != "none" for one in results)
    processor = [one.processor_seconds for one in results if one.processor_seconds is not None]
    return {
        "scores": tuple(one.score for one in results[:seen]),  # what is ahead of them is spent only
        "joules": sum(one.energy.joules for one in results) if metered else None,
        "processor_seconds": sum(processor) if len(processor) == len(results) > 0 else None,
        "fold_seconds": tuple(one.seconds_alone for one in results),
        "fold_joules": tuple(one.joules_alone for one in results),
        "spent": _spent(results),
        "other_work": any(not one.energy.own for one in results),
        "damaged": damaged,
    }


def _spent(results: Iterable[FoldResult]) -> tuple[Spent, ...]:
    """Of folds that this run has computed: one that it has from another run is counted there."""
    of_source: defaultdict[str, list[FoldResult]] = defaultdict(list)
    for result in results:
        if not result.reused:
            of_source[result.energy.source].append(result)
    found = []
    for source, mine in of_source.items():
        sums = {name: sum(getattr(one.energy, name) for one in mine) for name in _AMOUNTS}
        seconds = sum(one.seconds_alone for one in mine)
        found.append(Spent(energy=Energy(source=source, **sums), total_seconds=seconds))
    return tuple(found)


_AMOUNTS = ("joules", "cpu_joules", "gpu_joules", "ram_joules", "grams_co2e")
_NO_FOLDS = _Folds(version=(0, 0), columns=_columns((), 0, {}))
