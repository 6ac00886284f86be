"""All runs as rows of a table: what the table shows and no more, so that thousands are quick."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from statistics import fmean
from typing import Any, NamedTuple

import sqlalchemy as sa

from ecv_core.energy.savings import Range, sum_if_each_has_it, sum_of_ranges
from ecv_core.records import codec
from ecv_core.records.errors import InputError, printable
from ecv_core.records.run import Energy, FoldResult, RunRecord, RunState, source_of_sum
from ecv_core.records.spec import RunSpec
from ecv_core.store.rows import Rows, checked_stop, damaged_run, read_folds
from ecv_core.store.schema import folds, imports, is_not_deleted, labels, runs
from ecv_core.store.store import Store

# What people write on their runs: a name, tags and a note.


MOST_TAGS = 12
TAG_LENGTH = 30
NAME_LENGTH = 80
NOTE_LENGTH = 2000


@dataclass(frozen=True, kw_only=True)
class Label:
    """What is written on one run; empty where nothing is."""

    name: str = ""
    tags: tuple[str, ...] = ()
    """Each once, in the order in which they were given."""
    note: str = ""


def checked_label(name: str = "", tags: Iterable[str] = (), note: str = "") -> Label:
    """A label as it is kept: without blanks around its texts and without a tag twice.

    Raises:
        InputError: For a text that is too long, or too many tags.
    """
    one_line_tags = [_one_line(tag) for tag in tags]
    note_lines = [printable(line) for line in note.strip().splitlines()]
    label = Label(
        name=_one_line(name),
        tags=tuple(dict.fromkeys(tag for tag in one_line_tags if tag)),
        note="\n".join(note_lines),
    )
    _check_length("name", label.name, NAME_LENGTH)
    _check_length("note", label.note, NOTE_LENGTH)
    for tag in label.tags:
        _check_length("tag", tag, TAG_LENGTH)
    if len(label.tags) > MOST_TAGS:
        raise InputError(
            f"a run can have at most {MOST_TAGS} tags, but this one has {len(label.tags)}"
        )
    return label


def _check_length(what: str, text: str, most: int) -> None:
    """Refuse a text of more characters than these. Raises: InputError."""
    if len(text) > most:
        raise InputError(
            f"the {what} '{text[:20]}...' has {len(text)} characters; at most {most} are allowed"
        )


def _one_line(text: str) -> str:
    """A text without line breaks, and with single blanks between its words."""
    return " ".join(printable(text).split())


def label_runs(store: Store, labelled: Mapping[str, Label]) -> None:
    """Write on each run its label, instead of what was on it; an empty label removes it.

    Raises:
        StoreError.
    """
    with store.transaction("written") as connection:
        connection.execute(labels.delete().where(labels.c.run_id.in_(list(labelled))))
        for run_id, label in labelled.items():
            if label != Label():
                tags = json.dumps(label.tags)
                row = labels.insert().values(
                    run_id=run_id, name=label.name, tags=tags, note=label.note
                )
                connection.execute(row)


def _labels(connection: sa.Connection) -> dict[str, Label]:
    """What is written on each run that has a label, by run id."""
    label_of = {}
    for row in connection.execute(labels.select()).all():
        with suppress(ValueError, TypeError):
            # A run with a damaged label is shown without a label.
            tags = codec.read(tuple[str, ...], row.tags)
            label_of[row.run_id] = Label(name=row.name, tags=tags, note=row.note)
    return label_of


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What several folds cost together."""

    energy: Energy
    total_seconds: float


@dataclass(frozen=True, kw_only=True)
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
    joules_range: Range
    """Likewise, from the least to the most, as `Energy.joules_range`."""
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
        if not self.scores:
            return None
        return fmean(self.scores[: self.stopped_at])

    @property
    def whole(self) -> bool:
        """As in Run."""
        return len(self.scores) == self.spec.k

    @property
    def can_be_checked(self) -> bool:
        """As in RunRecord."""
        has_folds_left = len(self.scores) < len(self.spec.fold_order)
        return self.state is RunState.FINISHED and has_folds_left and not self.damaged


class _Source(NamedTuple):
    """All that a row of the list is made of, but for the folds themselves."""

    row: Any
    """Of the runs table, with the number of its folds, and the place of the newest in the table of
    folds: they change where its folds do."""
    label: Label
    imported: bool


def groups_of_runs(store: Store, runs: Sequence[RunRecord]) -> dict[str, dict[str, str]]:
    """What sums of runs are told by: 'person' and 'tag' -> a run's id -> the name.

    A run with several tags is of their combination, so that nothing is counted twice; what no run
    has is left out.
    """
    with store.transaction("read") as connection:
        label_of = _labels(connection)
    person_of_run = {run.run_id: run.started_by for run in runs if run.started_by}
    tags_of_run = {}
    for run in runs:
        label = label_of.get(run.run_id, Label())
        if label.tags:
            # All tags of a run are one name: in a sum for each tag it would count several times.
            tags_of_run[run.run_id] = ", ".join(label.tags)
    groups = {}
    if person_of_run:
        groups["person"] = person_of_run
    if tags_of_run:
        groups["tag"] = tags_of_run
    return groups


class RunList:
    """All runs of a database; those that are as at the last look are not read again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sources: dict[str, _Source] = {}
        self._runs: dict[str, ListedRun] = {}
        self.damaged: dict[str, str] = {}
        """Run id -> a sentence, for those that `rows` could not read and left out the last time."""

    def rows(self) -> list[ListedRun]:
        """One row per run that can be read, newest first. Raises: StoreError."""
        # What was read is kept for the next call, with the sources by which a change is seen.
        with self._store.transaction("read") as connection:
            sources = _sources(connection)
            unchanged = {}
            for run_id, run in self._runs.items():
                if sources.get(run_id) == self._sources[run_id]:
                    unchanged[run_id] = run
            fold_rows = _fold_rows(connection, sources.keys() - unchanged.keys())
        self._sources = sources
        self._runs = {}
        self.damaged = {}
        for run_id, source in sources.items():
            if run_id in unchanged:
                self._runs[run_id] = unchanged[run_id]
                continue
            try:
                self._runs[run_id] = _listed_run(source, fold_rows.get(run_id, []))
            except (ValueError, TypeError, KeyError) as error:
                self.damaged[run_id] = str(damaged_run(run_id, error))
        return list(self._runs.values())


def _sources(connection: sa.Connection) -> dict[str, _Source]:
    """What each run is made of, newest first; deleted runs are left out."""
    count = sa.func.count().label("fold_count")
    newest = sa.func.max(folds.c.sequence).label("newest_fold")
    by_run = sa.select(folds.c.run_id, count, newest).group_by(folds.c.run_id).subquery()
    query = sa.select(runs, by_run.c.fold_count, by_run.c.newest_fold)
    query = query.outerjoin_from(runs, by_run, by_run.c.run_id == runs.c.run_id)
    query = query.where(is_not_deleted())
    label_of = _labels(connection)
    imported_ids = set(connection.scalars(sa.select(imports.c.run_id)))
    # A run has changed where its row has, the number of its folds, or which fold is the newest.
    sources = {}
    for row in connection.execute(query.order_by(runs.c.sequence.desc())):
        sources[row.run_id] = _Source(
            row=row,
            label=label_of.get(row.run_id, Label()),
            imported=row.run_id in imported_ids,
        )
    return sources


_MOST_NAMED = 1000
"""So many run ids are named in a query; databases take only so many values at once."""


def _fold_rows(connection: sa.Connection, run_ids: Collection[str]) -> dict[str, list[Any]]:
    """The rows of the folds of these runs, by run id."""
    if not run_ids:
        return {}
    query = folds.select().order_by(folds.c.sequence)
    # A query can name only so many runs. Where there are more, the folds of all runs are read.
    if len(run_ids) <= _MOST_NAMED:
        query = query.where(folds.c.run_id.in_(run_ids))
    rows: defaultdict[str, list[Any]] = defaultdict(list)
    for row in connection.execute(query):
        rows[row.run_id].append(row)
    return rows


def _listed_run(source: _Source, fold_rows: Rows) -> ListedRun:
    """A row of the list.

    Raises:
        ValueError or TypeError: For a value that cannot be.
    """
    row = source.row
    spec = RunSpec.from_json(row.spec)
    run_folds = read_folds(fold_rows)
    # A fold that is ahead of its turn has no score yet, but its seconds and joules were spent.
    results = run_folds.seen + run_folds.ahead
    scores = [result.score for result in run_folds.seen]
    processor_seconds = [result.processor_seconds for result in results]
    fold_seconds = [result.seconds_if_computed_alone for result in results]
    fold_joules = [result.joules_if_computed_alone for result in results]
    joules = None
    if source_of_sum([result.energy.source for result in results]) != "none":
        joules = sum(result.energy.joules for result in results)
    return ListedRun(
        run_id=row.run_id,
        group=row.group_id,
        spec=spec,
        state=RunState(row.state),
        created_at=datetime.fromisoformat(row.created_at),
        scores=tuple(scores),
        joules=joules,
        joules_range=sum_of_ranges(result.energy.joules_range for result in results),
        processor_seconds=sum_if_each_has_it(processor_seconds),
        fold_seconds=tuple(fold_seconds),
        fold_joules=tuple(fold_joules),
        spent=_spent(results),
        other_work=any(not result.energy.of_fold_alone for result in results),
        stopped_at=checked_stop(row.stopped_at, spec, run_folds.damaged),
        label=source.label,
        imported=source.imported,
        started_by=row.started_by,
        damaged=run_folds.damaged,
    )


def _spent(results: Iterable[FoldResult]) -> tuple[Spent, ...]:
    """Of folds that this run has computed: one that it has from another run is counted there."""
    results_of_source: defaultdict[str, list[FoldResult]] = defaultdict(list)
    for result in results:
        if not result.reused:
            results_of_source[result.energy.source].append(result)
    spent = []
    for source, computed_results in results_of_source.items():
        amounts: dict[str, Any] = dict.fromkeys(_AMOUNTS, 0.0)
        seconds = 0.0
        for result in computed_results:
            seconds += result.seconds_if_computed_alone
            for name in _AMOUNTS:
                amounts[name] += getattr(result.energy, name)
        spent.append(Spent(energy=Energy(source=source, **amounts), total_seconds=seconds))
    return tuple(spent)


_AMOUNTS = ("joules", "cpu_joules", "gpu_joules", "ram_joules", "grams_co2e")
"""The fields of `Energy` that are added up."""
