"""Runs and their folds in a database: all that passes between those who compute and who look.

Thread- and process-safe: every method is one transaction, and nothing is cached here. SQLite runs
in WAL mode with full synchronisation, so what a method has returned from is on disk.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Hashable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from ecv_core.records.errors import InputError
from ecv_core.records.run import FoldResult, Moment, RunRecord, RunState, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.store import schema
from ecv_core.store.engine import connect, database_url, repeatable, transaction
from ecv_core.store.quota import Quota, count_starts_within_quota, forget_old_quota_use
from ecv_core.store.rows import (
    ACTIVE,
    OUTSIDE,
    Rows,
    fold_row,
    moment_columns,
    read_folds,
    run_row,
    run_rows,
    take_back_if_interrupted,
    unpack_user_scores,
    user_scores_row,
)
from ecv_core.store.schema import (
    folds,
    imports,
    now,
    places,
    progress,
    removed,
    runs,
    under_way,
    user_scores,
)


def open_store(url: str | None = None) -> Store:
    """The store at this URL (default: `database_url()`), its tables made if they are missing.

    Raises:
        StoreError: If there is no usable database, or one of another version.
    """
    return Store(url or database_url())


@dataclass(frozen=True, kw_only=True)
class FoldOnNode:
    """What a node of a cluster computes."""

    node: str
    run_id: str
    fold: int
    since: datetime


class Store:
    """Runs, their folds, per-user scores and in-fold progress."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = connect(url)
        # The connections are closed once nobody holds this store any more.
        weakref.finalize(self, self._engine.dispose)
        with self.transaction("written") as connection:
            schema.forget_long_removed(connection)
            forget_old_quota_use(connection)

    # -- reading ------------------------------------------------------------------------------

    @repeatable
    def run(self, run_id: str) -> RunRecord:
        """One run with its folds.

        Raises:
            InputError: If there is none with this id.
            StoreError: If it is damaged.
        """
        with self.transaction("read") as connection:
            rows = run_rows(connection, schema.is_not_deleted(), runs.c.run_id == run_id)
        if not rows.runs:
            raise InputError(
                f"there is no run '{run_id}' in this database; the page Runs, or `ecv runs`, "
                "lists them all"
            )
        return rows.records(skip_damaged=False)[0]

    def runs(self) -> list[RunRecord]:
        """All runs that can be read, newest first; of the others `RunList` tells."""
        return self._load()[::-1]

    @repeatable
    def active(self) -> list[RunRecord]:
        """Runs that are queued or running, as the queue goes: running first, OUTSIDE's last.

        Costs one indexed query while there is none.
        """
        with self.transaction("read") as connection:
            if connection.scalar(sa.select(runs.c.run_id).where(ACTIVE).limit(1)) is None:
                return []
            rows = run_rows(connection, ACTIVE)
        place_in_queue = {row.run_id: place for place, row in enumerate(rows.queue)}

        def order(run: RunRecord) -> tuple[bool, int]:
            # A run that ends between the query of runs and that of the queue is no longer in the
            # queue, and comes last.
            return run.outside, place_in_queue.get(run.run_id, len(place_in_queue))

        return sorted(rows.records(), key=order)

    def group(self, group_id: str) -> list[RunRecord]:
        """The runs that were started together, in the order of their start; empty if none."""
        return self._load(runs.c.group_id == group_id)

    def runs_like(self, spec: RunSpec, *, with_imported: bool = True) -> list[RunRecord]:
        """The runs whose folds have the same scores, newest first.

        Args:
            spec: One of them; see `RunSpec.same_scores`.
            with_imported: Whether those that were computed elsewhere count.
        """
        # Runs whose folds have the same scores share a score key.
        conditions = [runs.c.score_key == spec.score_key]
        if not with_imported:
            conditions.append(runs.c.run_id.not_in(sa.select(imports.c.run_id)))
        return self._load(*conditions)[::-1]

    def specs(self) -> list[tuple[RunSpec, int]]:
        """Every spec that was run, and how many folds of it there are, newest first.

        Of specs with the same scores the newest stands for all. Reads no fold.
        """
        # Runs whose folds have the same scores share a score key. Of each key this finds the newest
        # run that is not deleted, and how many folds all runs of the key have together.
        fold_count = sa.func.count(folds.c.fold.distinct()).label("folds")
        newest = sa.func.max(runs.c.sequence).label("newest")
        runs_with_folds = sa.select(newest, fold_count).join_from(
            runs, folds, folds.c.run_id == runs.c.run_id, isouter=True
        )
        not_deleted = schema.is_not_deleted()
        by_key = runs_with_folds.where(not_deleted).group_by(runs.c.score_key).subquery()
        query = sa.select(runs.c.spec, by_key.c.folds)
        query = query.join_from(by_key, runs, runs.c.sequence == by_key.c.newest)
        specs = []
        for row in self.rows(query.order_by(runs.c.sequence.desc())):
            with suppress(ValueError):
                # A damaged spec is passed over; the page Runs tells of it.
                specs.append((RunSpec.from_json(row.spec), row.folds))
        return specs

    def folds_with_user_scores(self, run_ids: Collection[str]) -> set[tuple[str, int]]:
        """Run id and fold index of the folds of these runs that have per-user scores."""
        query = sa.select(user_scores.c.run_id, user_scores.c.fold)
        rows = self.rows(query.where(user_scores.c.run_id.in_(run_ids)))
        return {(row.run_id, row.fold) for row in rows}

    def user_scores(
        self, run_id: str, only_folds: Collection[int] | None = None
    ) -> dict[int, UserScores]:
        """Per-user scores of each finished fold that has them, by fold index.

        Raises:
            StoreError: If they are damaged.
        """
        query = user_scores.select().filter_by(run_id=run_id)
        if only_folds is not None:
            query = query.where(user_scores.c.fold.in_(only_folds))
        return {row.fold: unpack_user_scores(row) for row in self.rows(query)}

    def place_of(self, group_id: str | None) -> str:
        """Where the runs of a group are computed; empty where nobody has chosen."""
        query = sa.select(places.c.place).filter_by(group_id=group_id)
        return self.scalar(query) or ""

    def next_queued(self, owner: str) -> str | None:
        """The run id that has waited longest in this owner's queue, or None."""
        query = sa.select(runs.c.run_id)
        query = query.filter_by(state=RunState.QUEUED, owner=owner)
        return self.scalar(query.order_by(runs.c.queued_at, runs.c.sequence).limit(1))

    def cancel_requested(self, *run_ids: str) -> bool:
        """Whether someone asked one of these runs to stop."""
        query = sa.select(runs.c.run_id).where(runs.c.run_id.in_(run_ids), runs.c.cancel_requested)
        return self.scalar(query.limit(1)) is not None

    # -- writing ------------------------------------------------------------------------------

    @repeatable
    def create(
        self,
        specs: Sequence[RunSpec],
        *,
        owner: str,
        started_by: str = "",
        quota: Quota | None = None,
        plan_id: str = "",
        anew: bool = False,
        compute_on: str = "",
    ) -> list[str]:
        """Queue one run per spec, as one group; gives the run ids.

        Args:
            owner: The process in whose queue they wait.
            plan_id: The plan id of the plan that they compute for, which names the group; else
                their first run's id does. A run that the plan has already is not made again, and is
                left as it is.
            anew: Whether each fold is computed, also those that another run has.
            compute_on: Where the folds are computed, as `--on` takes it; empty says nothing.

        Raises:
            RightsError: Beyond the quota; nothing is queued then.
        """
        run_ids = []
        new_runs: dict[str, RunSpec] = {}
        with self.transaction("written") as connection:
            ids_of_plan: dict[Hashable, str] = {}
            if plan_id:
                # Of several programs that go on with a plan at once, one makes its next run.
                schema.wait_for_others(connection)
                ids_of_plan = _run_ids_of_plan(connection, plan_id, specs)
            for spec in specs:
                run_id = ids_of_plan.get(spec.key_in_plan)
                if run_id is None:
                    run_id = new_run_id()
                    new_runs[run_id] = spec
                run_ids.append(run_id)
            if quota is not None:
                count_starts_within_quota(connection, quota, started_by, list(new_runs))
            # Runs that are started together are one group, which the plan or the first run names.
            group = plan_id or run_ids[0]
            for run_id, spec in new_runs.items():
                row = run_row(
                    run_id, spec, group=group, owner=owner, started_by=started_by, anew=anew
                )
                connection.execute(runs.insert().values(**row))
            _set_place_of_computing(connection, group, compute_on)
        return run_ids

    @repeatable
    def compute_on(self, group_id: str, place: str) -> None:
        """Say where the runs of a group are computed, as `--on` takes it; empty says nothing."""
        with self.transaction("written") as connection:
            _set_place_of_computing(connection, group_id, place)

    @repeatable
    def requeue(
        self,
        run_id: str,
        spec: RunSpec,
        *,
        owner: str,
        started_by: str = "",
        quota: Quota | None = None,
    ) -> bool:
        """Queue a run again, to go on at its next missing fold; the spec may go further now.

        Args:
            run_id: The run id of the run.
            spec: What it runs from now on.
            owner: The process in whose queue it waits.
            started_by: The person who asks for it.
            quota: The quota of this person.

        Returns:
            False if it is queued or running already, whoever did it.

        Raises:
            RightsError: Beyond the quota; it stays as it is then.
        """
        values = {
            "state": RunState.QUEUED,
            "spec": spec.to_json(),
            "score_key": spec.score_key,
            "owner": owner,
            "cancel_requested": False,
            "queued_at": now(),
            "finished_at": None,
            "error": None,
        }
        with self.transaction("written") as connection:
            if quota is not None and _is_idle(connection, run_id):
                count_starts_within_quota(connection, quota, started_by, [run_id])
            change = runs.update().filter_by(run_id=run_id).where(~ACTIVE).values(**values)
            return connection.execute(change).rowcount == 1

    def start(self, run_id: str, spec: RunSpec | None = None, *, owner: str) -> bool:
        """Mark a queued run as running.

        Args:
            spec: What it is to run, where other folds are asked for since it was queued.
            owner: In whose queue it waits.

        Returns:
            False if it no longer waits there.
        """
        values = {
            "state": RunState.RUNNING,
            # A run that goes on keeps the time at which it first started.
            "started_at": sa.func.coalesce(runs.c.started_at, now()),
        }
        if spec is not None:
            values["spec"] = spec.to_json()
        return self.write(_in_state(run_id, RunState.QUEUED, owner).values(**values)) == 1

    def ask_for(self, run_id: str, spec: RunSpec, *, owner: str) -> None:
        """Ask for other folds of a running run, if its owner still has it."""
        self.write(_in_state(run_id, RunState.RUNNING, owner).values(spec=spec.to_json()))

    @repeatable
    def finish(
        self, run_id: str, state: RunState, *, error: str | None = None, owner: str | None = None
    ) -> None:
        """Mark a run as no longer active; not if `owner`, who says so, no longer has it."""
        with self.transaction("written") as connection:
            # An owner that was taken for dead has its run again, unless somebody has resumed it.
            if owner is not None and not take_back_if_interrupted(connection, run_id, owner):
                return
            connection.execute(under_way.delete().filter_by(run_id=run_id))
            connection.execute(progress.delete().filter_by(run_id=run_id))
            change = runs.update().filter_by(run_id=run_id)
            connection.execute(change.values(state=state, error=error, finished_at=now()))

    def runs_that_left_queue(self, group_id: str, queued_run_id: str) -> list[str]:
        """Runs of a group that were cancelled since another run was queued."""
        queued_at = sa.select(runs.c.queued_at).filter_by(run_id=queued_run_id).scalar_subquery()
        query = sa.select(runs.c.run_id).filter_by(group_id=group_id, state=RunState.CANCELLED)
        return [row.run_id for row in self.rows(query.where(runs.c.finished_at >= queued_at))]

    def leave_queue(
        self, run_id: str, state: RunState, *, error: str | None = None, owner: str
    ) -> None:
        """End a run that still waits in this owner's queue, though nobody needs its fold."""
        change = _in_state(run_id, RunState.QUEUED, owner)
        self.write(change.values(state=state, error=error, finished_at=now()))

    def add_fold(
        self,
        run_id: str,
        result: FoldResult,
        *,
        stopped_at: int | None,
        moment: Moment | None = None,
        changed_moments: Sequence[Moment] = (),
        ahead: bool = False,
        owner: str | None = None,
    ) -> bool:
        """Keep a finished fold and where the run stood after it.

        A fold that is already there is left as it is, unless it cannot be read.

        Args:
            stopped_at: Where the rule has stopped the run, if it has.
            moment: The run after this fold.
            changed_moments: After other folds, whose turn has come, or changed, with this one.
            ahead: Whether its own turn has not come, as of `RunRecord.ahead`.
            owner: Who computed it. If another owner has the run by now, the fold is kept, and
                the rest is left to that one; if this one was taken for dead, it is not any more.

        Returns:
            Whether the owner still has the run.
        """
        if result.user_scores is not None:
            # Packing users' scores takes long. The packed row is remembered, so that the
            # transaction, for which others have to wait, has it at once.
            user_scores_row(result.user_scores)
        with self.transaction("written") as connection:
            query = folds.select().filter_by(run_id=run_id, fold=result.fold)
            rows = connection.execute(query).all()
            is_damaged = bool(read_folds(rows).damaged)
            if is_damaged:
                _forget_fold(connection, run_id, result.fold)
            if is_damaged or not rows:
                _insert_fold(connection, run_id, result, moment, ahead=ahead)
            _end_on_node(connection, run_id, result.fold)
            for changed_moment in changed_moments:
                change = folds.update().filter_by(run_id=run_id, fold=changed_moment.fold)
                connection.execute(change.values(**moment_columns(changed_moment)))
            # Up to here, the fold is kept whoever has the run by now. What follows changes the run
            # itself, which only its owner may do.
            if owner is not None and not take_back_if_interrupted(connection, run_id, owner):
                return False
            connection.execute(progress.delete().filter_by(run_id=run_id))
            change = runs.update().filter_by(run_id=run_id)
            connection.execute(change.values(stopped_at=stopped_at))
            return True

    @repeatable
    def set_progress(
        self, run_id: str, fold: int, phase: str, step: int, steps: int, *, starts_now: bool = False
    ) -> None:
        """Say where the running fold is; it started at its first report, or with this one."""
        values = {"phase": phase, "step": step, "steps": steps}
        of_fold = progress.update().filter_by(run_id=run_id, fold=fold)
        with self.transaction("written") as connection:
            # A row of this fold is only changed, so that it keeps the time of its first report.
            if not starts_now and connection.execute(of_fold.values(**values)).rowcount:
                return
            connection.execute(progress.delete().filter_by(run_id=run_id))
            row = progress.insert().values(run_id=run_id, fold=fold, started_at=now(), **values)
            connection.execute(row)

    def begin_on(self, run_id: str, fold: int, node: str | None) -> None:
        """Say which node of a cluster computes a fold from now on; None: none does any more."""
        with self.transaction("written") as connection:
            _end_on_node(connection, run_id, fold)
            if node is not None:
                values = {"run_id": run_id, "fold": fold, "node": node, "since": now()}
                connection.execute(under_way.insert().values(**values))

    def folds_on_nodes(self) -> list[FoldOnNode]:
        """What the nodes of a cluster compute now, by their names."""
        query = sa.select(under_way).join(runs, runs.c.run_id == under_way.c.run_id)
        query = query.filter_by(state=RunState.RUNNING).order_by(under_way.c.node)
        nodes = []
        for row in self.rows(query):
            since = datetime.fromisoformat(row.since)
            nodes.append(FoldOnNode(node=row.node, run_id=row.run_id, fold=row.fold, since=since))
        return nodes

    def request_cancel(self, run_id: str) -> None:
        """Ask for a run to stop: its owner does; nobody has to for a queued one, or OUTSIDE."""
        change = runs.update().filter_by(run_id=run_id)
        # Whoever computes a run sees the request and ends it. But nobody watches over a queued run,
        # or over one whose folds other programs ask for: that is ended here.
        is_queued = runs.c.state == RunState.QUEUED
        is_of_other_programs = (runs.c.state == RunState.RUNNING) & (runs.c.owner == OUTSIDE)
        unwatched = change.where(is_queued | is_of_other_programs)
        self.write(
            change.values(cancel_requested=True),
            unwatched.values(state=RunState.CANCELLED, finished_at=now()),
        )

    def delete(self, run_id: str) -> None:
        """Forget a run and everything that belongs to it.

        Raises:
            InputError: While it is queued or running.
        """
        with self.transaction("written") as connection:
            if not _is_idle(connection, run_id):
                raise InputError(
                    f"run '{run_id}' is queued or running; cancel it before you delete it"
                )
            schema.forget(connection, [run_id])

    def delete_fold(self, run_id: str, fold: int) -> None:
        """Forget a fold that cannot be read; a run that was finished can go on there.

        A fold that can be read stays.
        """
        query = folds.select().filter_by(run_id=run_id, fold=fold)
        with self.transaction("written") as connection:
            rows = connection.execute(query).all()
            if fold not in read_folds(rows).damaged:
                return
            _forget_fold(connection, run_id, fold)
            change = runs.update().filter_by(run_id=run_id)
            connection.execute(change.values(stopped_at=None))
            finished = change.filter_by(state=RunState.FINISHED)
            error = "a damaged fold was deleted"
            connection.execute(finished.values(state=RunState.INTERRUPTED, error=error))

    def remove(self, run_ids: Collection[str]) -> list[str]:
        """Delete runs so that `bring_back` can undo it for `schema.UNDO_MINUTES`.

        Runs that are queued or running are left as they are.

        Returns:
            The ids of those deleted.
        """
        query = sa.select(runs.c.run_id).where(
            runs.c.run_id.in_(run_ids), ~ACTIVE, schema.is_not_deleted()
        )
        with self.transaction("written") as connection:
            idle_ids = list(connection.scalars(query))
            # Somebody else may have deleted one of them at this very moment, whose row is replaced.
            connection.execute(removed.delete().where(removed.c.run_id.in_(idle_ids)))
            for run_id in idle_ids:
                connection.execute(removed.insert().values(run_id=run_id, removed_at=now()))
        return idle_ids

    def bring_back(self, run_ids: Collection[str]) -> int:
        """Undo `remove`; gives how many of these runs are back."""
        return self.write(removed.delete().where(removed.c.run_id.in_(run_ids)))

    # -- inside -------------------------------------------------------------------------------

    @repeatable
    def _load(self, *where: sa.ColumnElement[bool]) -> list[RunRecord]:
        with self.transaction("read") as connection:
            rows = run_rows(connection, schema.is_not_deleted(), *where)
        return rows.records()

    @repeatable
    def rows(self, query: sa.Select[Any]) -> Rows:
        """What a query finds, for this package."""
        with self.transaction("read") as connection:
            return connection.execute(query).all()

    @repeatable
    def scalar(self, query: sa.Select[Any]) -> Any:  # noqa: ANN401  any column
        """The first column of the first row, for this package; None where there is none."""
        with self.transaction("read") as connection:
            return connection.scalar(query)

    @repeatable
    def write(self, *changes: sa.Insert | sa.Update | sa.Delete) -> int:
        """Change rows in one transaction, for this package; gives how many the last one did."""
        count = 0
        with self.transaction("written") as connection:
            for change in changes:
                count = connection.execute(change).rowcount
        return count

    def transaction(self, doing: str) -> AbstractContextManager[sa.Connection]:
        """One transaction, for this package; see `engine.transaction`."""
        return transaction(self._engine, doing)


def new_run_id() -> str:
    """An id that no other run has."""
    return uuid4().hex[:12]


def _run_ids_of_plan(
    connection: sa.Connection, plan_id: str, specs: Sequence[RunSpec]
) -> dict[Hashable, str]:
    """The ids of a plan's runs that are not deleted, by `RunSpec.key_in_plan`; the oldest of each.

    Runs whose scores differ from those of all these specs are left out, and those whose spec is
    damaged.
    """
    query = sa.select(runs.c.run_id, runs.c.spec).where(
        schema.is_not_deleted(),
        runs.c.group_id == plan_id,
        # Only the specs of these are read: a plan asks for one run after the other.
        runs.c.score_key.in_({spec.score_key for spec in specs}),
    )
    ids: dict[Hashable, str] = {}
    for row in connection.execute(query.order_by(runs.c.sequence)):
        with suppress(ValueError):
            ids.setdefault(RunSpec.from_json(row.spec).key_in_plan, row.run_id)
    return ids


def _in_state(run_id: str, state: RunState, owner: str) -> sa.Update:
    """A change of a run, if it is this owner's and in this state."""
    return runs.update().filter_by(run_id=run_id, state=state, owner=owner)


def _is_idle(connection: sa.Connection, run_id: str) -> bool:
    """Whether a run is neither queued nor running."""
    return connection.scalar(runs.select().filter_by(run_id=run_id).where(ACTIVE)) is None


def _set_place_of_computing(connection: sa.Connection, group_id: str, place: str) -> None:
    """As `Store.compute_on`, in a transaction that goes on."""
    if place:
        # Without a place in the table, the runs are computed where the settings say.
        connection.execute(places.delete().filter_by(group_id=group_id))
        connection.execute(places.insert().values(group_id=group_id, place=place))


def _insert_fold(
    connection: sa.Connection,
    run_id: str,
    result: FoldResult,
    moment: Moment | None,
    *,
    ahead: bool,
) -> None:
    """Insert a fold, and its users' scores where there are some."""
    connection.execute(folds.insert().values(**fold_row(run_id, result, moment, ahead=ahead)))
    if result.user_scores is not None:
        row = user_scores_row(result.user_scores)
        connection.execute(user_scores.insert().values(run_id=run_id, fold=result.fold, **row))


def _end_on_node(connection: sa.Connection, run_id: str, fold: int) -> None:
    """No node computes this fold any more."""
    connection.execute(under_way.delete().filter_by(run_id=run_id, fold=fold))


def _forget_fold(connection: sa.Connection, run_id: str, fold: int) -> None:
    """Delete a fold; where the run stood after the others is worked out again without it."""
    for table in (folds, user_scores):
        connection.execute(table.delete().filter_by(run_id=run_id, fold=fold))
    change = folds.update().filter_by(run_id=run_id)
    connection.execute(change.values(ahead=False, turn=None, moment=None))
