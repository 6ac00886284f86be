"""The runs of a plan in the database: who has them, and every fold committed as it comes.

Only who drives a plan writes it, so that what computes folds needs no database.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import takewhile
from typing import NamedTuple, TypeVar

from ecv_core import stopping
from ecv_core.energy.meter import with_emissions
from ecv_core.evaluation import metric_of
from ecv_core.jobs.plan import FoldTask, Plan, next_fold
from ecv_core.records.errors import InputError, RunError, StoreError, Terminated
from ecv_core.records.run import FoldResult, Moment, Progress, RunRecord, RunState, no_progress
from ecv_core.records.spec import RunSpec
from ecv_core.splits import exchangeable
from ecv_core.stopping import StoppingRule, cheap_model_ids
from ecv_core.stopping.odd_folds import doubt_about_folds
from ecv_core.store.engine import AGAIN_SECONDS
from ecv_core.store.ownership import this_process
from ecv_core.store.people import add_lost, lost_seconds
from ecv_core.store.rescue import KeptRun, check_kept, when_taken_in
from ecv_core.store.rescue import rescue as write_rescue_file
from ecv_core.store.results import Results, adjusted_rule, cheap_model_spec
from ecv_core.store.store import Store

log = logging.getLogger(__name__)

SAVE_SECONDS = 300.0
"""How long a command waits for a database that is away, or a disk that is full."""
WAITING_TO_BE_SAVED = ". A result is waiting in memory to be saved; e-fold tries again."
PROGRESS_SECONDS = 0.25
"""How often in-fold progress is written to the database, at most."""

_Done = TypeVar("_Done")


class SaveAttempts:
    """For a command: says once that the database cannot be used, and gives up in the end."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        """Nothing has failed yet. Args: announce: called with each trouble, the first time."""
        self._announce = announce
        self._failing_since: float | None = None
        """On the clock of `time.monotonic`; None while the database can be used."""

    def __call__(self, trouble: str | None) -> None:
        """As `Callbacks.trouble`. Raises: RunError after SAVE_SECONDS without success."""
        if not trouble:  # What waited to be saved is saved.
            self._failing_since = None
            return
        if self._failing_since is None:
            self._failing_since = time.monotonic()
            self._announce(trouble)
        waited_seconds = time.monotonic() - self._failing_since
        if waited_seconds >= SAVE_SECONDS:
            reason = trouble.removesuffix(WAITING_TO_BE_SAVED)
            raise RunError(f"gave up after {waited_seconds:.0f} s: {reason}")


@dataclass(frozen=True, kw_only=True)
class Callbacks:
    """Who is told what happens; nobody, unless it is said."""

    fold: Callable[[RunRecord], object] = lambda run: None
    """After each fold is on disk and its turn has come, with the run as it stands after it."""
    ended: Callable[[RunRecord], object] = lambda run: None
    """After a run has ended, however it did."""
    trouble: Callable[[str | None], object] = lambda sentence: None
    """A sentence while something finished cannot be saved, or the database is away; None once it
    is there again."""
    progress: Progress = no_progress
    """Every step within a fold, from any thread."""


class PlanRuns:
    """A plan's runs: made when they are needed, claimed, committed to, ended."""

    def __init__(
        self,
        store: Store,
        *,
        runs: Iterable[RunRecord] = (),
        plan_id: str = "",
        owner: str = "",
        started_by: str = "",
        cancelled_ids: Collection[str] = (),
        rule: StoppingRule | None = None,
        compute_every_fold: bool = False,
        with_recorded: bool = False,
        callbacks: Callbacks | None = None,
    ) -> None:
        """Nothing is claimed yet.

        Args:
            runs: The plan's runs that are there already; queued ones are claimed at the start.
            plan_id: Under which its other runs are made, and found again; empty for none.
            owner: Who has its runs; by default this process.
            started_by: The id of a person, as of `Store.create`.
            cancelled_ids: Of its runs that somebody has taken out of the queue: they do not go on.
            rule: Stops `runs`, where it is none that their specs could name.
            compute_every_fold: Also those that another run has.
            with_recorded: Whether runs outside the database count for `folds`.
        """
        self.store = store
        self.owner = owner or this_process()
        self.callbacks = callbacks or Callbacks()
        self.results = Results(store, with_recorded=with_recorded)
        self._plan_id = plan_id
        self._started_by = started_by
        self._rule = rule
        self._compute_every_fold = compute_every_fold

        # Runs that are there already. Those that the plan has made earlier bear its id as group.
        initial_runs = list(runs)
        if plan_id:
            initial_runs = [*store.group(plan_id), *initial_runs]
        self._initial_ids = [run.run_id for run in initial_runs]
        self._run_ids_by_key = {_key_of_run(run.spec): run.run_id for run in initial_runs}
        """Ids of all runs, also of those that are made later."""
        self._initially_queued_ids = {
            run.run_id for run in initial_runs if run.state is RunState.QUEUED
        }
        """Ids of the runs that waited in the queue before, but for those that this plan has tried
        to claim since."""

        # What this plan does with its runs from now on; by run id.
        self._running_ids: set[str] = set()
        """Of the runs that are claimed now."""
        self._claimed_runs: dict[str, RunRecord] = {}
        """Runs that are claimed, as they were last read: nobody else changes what a plan looks at
        of them, so they are read again only after a change of its own."""
        self._rules: dict[str, StoppingRule] = {}
        """Kept, so that scores of cheap models are read once."""
        self._copies_in_memory: dict[str, KeptRun] = {}
        """What was computed here, in case that the database is damaged meanwhile."""
        self._end_states = dict.fromkeys(cancelled_ids, RunState.CANCELLED)
        """The state of each run that has ended here, or that others have now."""
        self._is_writing = False
        """Whether something finished is to be written, and is not yet."""
        self._has_unsaved_fold = False
        """Whether a fold that was computed here is not in the database yet."""
        self._is_giving_up = False
        """Whether nothing waits for the database any more."""

    # -- what a plan looks at -----------------------------------------------------------------

    def run_of(self, spec: RunSpec) -> RunRecord | None:
        with suppress(KeyError, InputError):
            # The run is not made yet, or was deleted meanwhile.
            return self._current_run(self._run_ids_by_key[_key_of_run(spec)])
        return None

    def _current_run(self, run_id: str) -> RunRecord:
        """A run as it is; one that is claimed is read from the database once."""
        run = self._claimed_runs.get(run_id) or self.store.run(run_id)
        if run_id in self._running_ids:
            self._claimed_runs[run_id] = run
        return run

    def has_ended_incomplete(self, spec: RunSpec) -> bool:
        # No run has the empty text as its id.
        run_id = self._run_ids_by_key.get(_key_of_run(spec), "")
        return self._end_states.get(run_id, RunState.FINISHED) is not RunState.FINISHED

    def folds(self, spec: RunSpec) -> Mapping[int, FoldResult]:
        return self.results.folds(spec)

    def folds_with_users(
        self, spec: RunSpec, metric: str | None = None
    ) -> Mapping[int, FoldResult]:
        return self.results.folds_with_users(spec, metric)

    # -- whose the runs are -------------------------------------------------------------------

    @property
    def running(self) -> Collection[str]:
        """Ids of the runs that are claimed now."""
        return self._running_ids

    def start(self) -> None:
        """Claim what waits in the queue; finish what has all its folds and never said so."""
        for run_id in self._initial_ids:
            run = self.store.run(run_id)
            if run.state is RunState.QUEUED and not self._plan_id:
                if len(self._initial_ids) == 1:
                    # A single run is claimed now. Of several, each waits until a task of it is
                    # claimed.
                    self._start(run_id)
            elif run.state.resumable and next_fold(run) is None:
                # Its program ended between the last fold and the end of the run.
                self.store.requeue(run_id, run.spec, owner=self.owner)
                if self._start(run_id):
                    self._end(run_id, RunState.FINISHED, None)

    def queue_next(self, plan: Plan) -> list[str]:
        """Have the runs of the plan's most urgent task wait in the owner's queue; gives their ids.

        Runs that are not there yet are made. Raises: InputError where the plan cannot go on.
        """
        task = next(iter(plan.next(self, ())), None)
        if task is None:
            return []
        return [self._put_in_queue(spec) for spec in task.specs]

    def claim(self, task: FoldTask) -> bool:
        """Have the task's runs running under this owner.

        Returns:
            False where another program has one, somebody has cancelled it meanwhile, or a cheap
            model that it needs has failed; it has ended then.
        """
        for spec in task.specs:
            run_id = self._run_ids_by_key.get(_key_of_run(spec))
            if run_id in self._running_ids:
                self._add_folds(run_id, spec.only_folds)
            else:
                run_id = self._put_in_queue(spec)
                if not self._start(run_id, spec):
                    return False
            obstacle = self._failed_cheap_model(spec)
            if obstacle is not None:
                self._end(run_id, RunState.FAILED, obstacle)
                return False
        return True

    def _add_folds(self, run_id: str, folds: Sequence[int]) -> None:
        """Have a run that is to have only some folds have these too."""
        # This is empty for a run that is to have all folds.
        only_folds = self._current_run(run_id).spec.only_folds
        more_folds = [fold for fold in folds if fold not in only_folds]
        if only_folds and more_folds:
            self._set_folds(run_id, (*only_folds, *more_folds))

    def _set_folds(self, run_id: str, only_folds: tuple[int, ...]) -> None:
        """Have a claimed run compute these folds and no others."""
        spec = replace(self._current_run(run_id).spec, only_folds=only_folds)
        self.store.ask_for(run_id, spec, owner=self.owner)
        self._claimed_runs.pop(run_id, None)

    def _put_in_queue(self, spec: RunSpec) -> str:
        """Have a run wait in the owner's queue, made if it lacks; gives its id."""
        run = self.run_of(spec)
        if run is None:
            # Another program that goes on with the same plan may have made it by now.
            (run_id,) = self.store.create(
                [spec], owner=self.owner, started_by=self._started_by, plan_id=self._plan_id
            )
            self._run_ids_by_key[_key_of_run(spec)] = run_id
            run = self.store.run(run_id)
        # A run that was in the queue from the start is not put there again: where it is gone from
        # there, somebody has cancelled it, and cancelled it stays.
        if run.run_id not in self._initially_queued_ids:
            self.store.requeue(run.run_id, _spec_to_go_on(run, spec), owner=self.owner)
        return run.run_id

    def _start(self, run_id: str, spec: RunSpec | None = None) -> bool:
        """Claim a run that waits; whether it is ours now.

        Args:
            run_id: The run id of the run.
            spec: Says which folds it is to have; None for those that its own spec says.
        """
        if spec is not None:
            spec = _spec_to_go_on(self.store.run(run_id), spec)
        is_ours = self.store.start(run_id, spec, owner=self.owner)
        self._initially_queued_ids.discard(run_id)
        if is_ours:
            self._running_ids.add(run_id)
            self._end_states.pop(run_id, None)
        else:
            self._note_run_of_others(run_id)
        return is_ours

    def _note_run_of_others(self, run_id: str) -> None:
        """Another program has the run by now and goes on with it, or nobody is to do so."""
        self._running_ids.discard(run_id)
        self._claimed_runs.pop(run_id, None)
        self._end_states[run_id] = self.store.run(run_id).state

    def _failed_cheap_model(self, spec: RunSpec) -> str | None:
        """Why a run cannot go on: a cheap model that it needs has ended without its folds."""
        # A run's mean may be adjusted by the scores of cheap models on the same folds, all of which
        # are then needed first.
        for name in cheap_model_ids(spec):
            cheap = cheap_model_spec(spec, name)
            if not self.has_ended_incomplete(cheap):
                continue
            run = self.store.run(self._run_ids_by_key[_key_of_run(cheap)])
            ending = f"is {run.state}"
            if run.error:
                ending = f"failed: {run.error}"
            return f"'{name}', which it is adjusted by, {ending}"
        return None

    # -- folds --------------------------------------------------------------------------------

    def reuse(self, task: FoldTask) -> bool:
        """Commit the task's fold where another run of this database has computed it already."""
        if self._compute_every_fold:
            return False
        if len(task.specs) > 1:
            # Configurations that share work are computed together, or none of them.
            return False
        spec = task.specs[0]
        if spec.tracked:
            # The code of a tracked model is elsewhere, and may have changed since.
            return False
        # Imported and recorded folds do not count, as they were computed on another machine.
        result = self.results.fold(spec, task.fold, computed_here=True)
        if result is None:
            return False
        lacks_user_scores = result.user_scores is None and metric_of(spec).per_user
        if lacks_user_scores:
            return False
        # The energy was measured then; this run may count the emissions of another country.
        energy = with_emissions(result.energy, spec.country)
        self.commit(task, spec_index=0, result=replace(result, energy=energy, reused=True))
        return True

    def commit(self, task: FoldTask, spec_index: int, result: FoldResult) -> None:
        """Keep a fold and what the rule makes of it; a full disk delays this, but loses nothing.

        Where another program has the run by now, the fold is kept all the same. Where this program
        is told to end before the fold is saved, it is put into a file, as of `save_unstored_folds`.
        """
        spec = task.specs[spec_index]
        run_id = self._run_ids_by_key[_key_of_run(spec)]
        # The copy in memory saves the fold where the database is damaged meanwhile.
        self._copies_in_memory.setdefault(run_id, KeptRun(spec=spec)).add(run_id, result)
        self._has_unsaved_fold = True
        try:
            self._write_fold(run_id, result)
        except (KeyboardInterrupt, Terminated):
            if self._has_unsaved_fold:
                self._is_giving_up = True
                log.error("%s", self._save_in_file("a fold could not be saved before the end"))
            raise

    def _write_fold(self, run_id: str, result: FoldResult) -> None:
        """Write a fold, and where the run stands after it if no other program has it by now."""
        run = self._current_run(run_id)
        rule = self._rule_of(run)
        results = self._results_with(run, rule, result)
        # A moment is what the rule says after a fold. The rule sees folds in their own order, so a
        # fold has none while one before it is missing, and may bring those of later folds along.
        moments = moments_of(run, rule, results)
        new_moments = [moment for moment in moments if moment not in run.moments]
        moment_of_fold = None
        for moment in new_moments:
            if moment.fold == result.fold:
                moment_of_fold = moment
        stopped_at = stopping.stop_of(moments, run.k)
        if run_id in self._copies_in_memory:
            self._copies_in_memory[run_id].stopped_at = stopped_at
        add_fold = partial(
            self.store.add_fold,
            run_id,
            result,
            stopped_at=stopped_at,
            moment=moment_of_fold,
            changed_moments=tuple(new_moments),
            ahead=moment_of_fold is None,
            owner=self.owner,
        )
        is_ours = self._retry_until_written(add_fold)
        self._has_unsaved_fold = False
        self._claimed_runs.pop(run_id, None)
        if not is_ours:
            self._note_run_of_others(run_id)
            return
        run_now = self._current_run(run_id)
        # Several folds may have had their turn with this one.
        for fold_count in range(len(run.folds) + 1, len(run_now.folds) + 1):
            self.callbacks.fold(_run_after(run_now, fold_count))

    def _results_with(
        self, run: RunRecord, rule: StoppingRule, result: FoldResult
    ) -> dict[int, FoldResult]:
        """A run's results and a new one, by fold, with every user's score where the rule or the
        metric looks at them."""
        results = {}
        for stored in (*run.folds, *run.ahead):
            # The folds ahead have finished before their turn.
            results[stored.fold] = stored
        if metric_of(run.spec).per_user:
            metric: str | None = run.spec.metric_name
            if stopping.needs_user_scores(rule):
                metric = None  # None stands for all metrics that were kept.
            scores = self.results.user_scores_of_folds(run, list(results), metric)
            for fold, user_scores in scores.items():
                results[fold] = replace(results[fold], user_scores=user_scores)
        # A fold that finished before its turn is stored already, and is here with users' scores.
        results.setdefault(result.fold, result)
        return results

    def _rule_of(self, run: RunRecord) -> StoppingRule:
        """The rule that stops a run."""
        # A rule that no spec can name is handed to the plan together with the runs that it stops.
        if self._rule is not None and run.run_id in self._initial_ids:
            return self._rule
        if run.run_id not in self._rules:
            self._rules[run.run_id] = adjusted_rule(self.results, run.spec)
        return self._rules[run.run_id]

    # -- how they end -------------------------------------------------------------------------

    def finish_if_no_fold_is_missing(self, run_id: str) -> None:
        """Finish a running run that needs no more fold, unless another program has it by now."""
        run = self.store.run(run_id)
        if run.state is RunState.RUNNING and next_fold(run) is None:
            self._end(run_id, RunState.FINISHED, None)

    def finish_runs_without_missing_folds(
        self, specs: Iterable[RunSpec] | None, submitted_tasks: Iterable[FoldTask] = ()
    ) -> None:
        """Finish those of these runs, or of all that are claimed, that need no more fold.

        Args:
            submitted_tasks: Tasks that are computed still, whose runs go on.
        """
        run_ids = self._ids_of(specs) & self._running_ids
        for task in submitted_tasks:
            run_ids -= self._ids_of(task.specs)
        for run_id in run_ids:
            if next_fold(self._current_run(run_id)) is None:
                self._end(run_id, RunState.FINISHED, None)

    def withdraw(self, task: FoldTask, submitted_tasks: Iterable[FoldTask]) -> None:
        """The task's fold is not computed: nobody needs it any more.

        Args:
            submitted_tasks: Other tasks, as of `finish_runs_without_missing_folds`.
        """
        self.note_node(task, None)
        for run_id in self._ids_of(task.specs) & self._running_ids:
            run = self._current_run(run_id)
            if next_fold(run) is not None and task.fold in run.spec.only_folds:
                other_folds = tuple(fold for fold in run.spec.only_folds if fold != task.fold)
                self._set_folds(run_id, other_folds)
                # Folds that finished early wait for the missing ones before them. Where this was
                # the missing one, writing one of them again gives all of them their turn.
                if run.ahead:
                    self._write_fold(run_id, run.ahead[0])
        self.finish_runs_without_missing_folds(task.specs, submitted_tasks)

    def end(
        self, state: RunState, error: str | None = None, specs: Iterable[RunSpec] | None = None
    ) -> None:
        """End these runs, or all that are claimed; those that need no more fold are finished."""
        self.finish_runs_without_missing_folds(specs)
        for run_id in self._ids_of(specs) & self._running_ids:
            self._end(run_id, state, error)

    def leave_queue(self) -> None:
        """End the runs that wait still for this plan, which is done and needs none of their folds.

        A selection goes on by one of its runs, which waits then though another one is needed.
        """
        for run_id in self._initially_queued_ids:
            self.store.leave_queue(run_id, RunState.FINISHED, owner=self.owner)

    def check_stored(self) -> None:
        """Check that every fold that was computed here can be read from the database.

        Raises:
            StoreError: Where one cannot.
        """
        if self._copies_in_memory:
            check_kept(self.store, self._copies_in_memory)

    def save_unstored_folds(self, error: StoreError | RunError) -> RunError | None:
        """Keep the folds of these runs in a file of their own, where the database lacks one.

        Args:
            error: The error that has ended the plan.

        Returns:
            What says where; None where all of them can be read again.
        """
        try:
            self.check_stored()
        except StoreError as missing_fold_error:
            cause: StoreError | RunError = missing_fold_error
        else:
            return None  # The database has every fold.
        if isinstance(error, RunError):
            # This error says what happened, and not only which fold is missing.
            cause = error
        return RunError(self._save_in_file(str(cause)))

    def _save_in_file(self, cause: str) -> str:
        """Write what was computed here into a file of its own; the cause, and where the folds are.

        Or that they are lost, where no file can be written.
        """
        fold_count = sum(len(copy.rows) for copy in self._copies_in_memory.values())
        try:
            path = write_rescue_file(self.store, self._copies_in_memory)
        except StoreError as error:
            return f"{cause}. {fold_count} folds are lost with this program: {error}"
        return (
            f"{cause}. The folds that this program has computed, {fold_count} in all, are kept in "
            f"{path}: ECV_DATABASE_URL=sqlite:///{path} opens it, and resume goes on there"
            f"{when_taken_in(self.store, path)}"
        )

    def has_ended(self, run_id: str) -> bool:
        """Whether a run was claimed here, and has ended or was lost since."""
        return run_id in self._end_states

    @property
    def all_finished(self) -> bool:
        """Whether every run that has ended has done so by needing no more fold."""
        return all(state is RunState.FINISHED for state in self._end_states.values())

    def check_finished(self) -> None:
        """Raises: RunError for the first run that has ended otherwise."""
        for run_id, state in self._end_states.items():
            if state is not RunState.FINISHED:
                error = self.store.run(run_id).error
                raise RunError(error or f"the run was {state}; its finished folds are kept")

    def _ids_of(self, specs: Iterable[RunSpec] | None) -> set[str]:
        """Of the runs of these specs, or of all that are claimed."""
        if specs is None:
            return set(self._running_ids)
        return {self._run_ids_by_key[_key_of_run(spec)] for spec in specs}

    def _end(self, run_id: str, state: RunState, error: str | None) -> None:
        """Finish a claimed run in the database, and say so: nothing more is computed for it."""
        finish = partial(self.store.finish, run_id, state, error=error, owner=self.owner)
        self._retry_until_written(finish)
        self._running_ids.discard(run_id)
        self._claimed_runs.pop(run_id, None)
        self._end_states[run_id] = state
        self.callbacks.ended(self.store.run(run_id))

    # -- what the driver asks -----------------------------------------------------------------

    def cancelled(self, specs: Iterable[RunSpec] | None = None) -> bool:
        """Whether someone asked one of these runs, or of all that are claimed, to stop."""
        try:
            return self.store.cancel_requested(*self._ids_of(specs))
        except StoreError as error:
            # The connection was cut. The database is asked again in a moment.
            log.warning("nobody can say whether a run was cancelled: %s", error)
            return False

    def seconds_left(self, task: FoldTask, max_seconds_per_run: float) -> float:
        """How long a task may take, so that no run of it takes longer than it may in all.

        Args:
            task: A fold of one run, or of several runs that share it.
            max_seconds_per_run: What all folds of a run may take together.
        """
        run_ids = self._ids_of(task.specs)
        # Folds that were cut off are kept nowhere, but their seconds were spent as well.
        seconds_of_cut_off_folds = lost_seconds(self.store, run_ids)
        most_spent = 0.0
        for run_id in run_ids:
            spent = self.store.run(run_id).spent_seconds + seconds_of_cut_off_folds[run_id]
            most_spent = max(most_spent, spent)
        # Runs that share a task share its seconds equally: of a task of 60 s, two runs spend 30 s
        # each. So where the run that has spent most has 30 s left, the task of two may take 60 s.
        least_left = max_seconds_per_run - most_spent
        return least_left * len(run_ids)

    def add_lost_seconds(self, task: FoldTask, seconds: float) -> None:
        """Note the seconds of a fold that did not come to its end: they were spent."""
        with suppress(StoreError):
            # If the database is away, lost seconds are the least of the troubles.
            add_lost(self.store, self._ids_of(task.specs), seconds)

    def note_node(self, task: FoldTask, node: str | None) -> None:
        """Note which node has begun with a task; None: none has it any more."""
        with suppress(StoreError):
            # Nodes are noted only for people who look, so that an error costs nothing else.
            for run_id in self._ids_of(task.specs):
                self.store.begin_on(run_id, task.fold, node)

    def progress_of(self, task: FoldTask, writer: ProgressWriter) -> Progress:
        """Tells where the task is; of several runs the first one tells it."""
        write = writer.progress_for(self._run_ids_by_key[_key_of_run(task.specs[0])], task.fold)

        def tell(phase: str, step: int, steps: int, /) -> None:
            self.callbacks.progress(phase, step, steps)
            write(phase, step, steps)

        return tell

    def _retry_until_written(self, write: Callable[[], _Done]) -> _Done:
        """Write, again and again until it is done; a sentence while it cannot be.

        Raises:
            StoreError: Where nothing waits any more.
        """
        was_refused = False
        self._is_writing = True
        while True:
            try:
                done = write()
            except StoreError as error:
                if self._is_giving_up:
                    raise
                if not was_refused:
                    log.error("%s", error)
                was_refused = True
                self.callbacks.trouble(f"{error}{WAITING_TO_BE_SAVED}")
                time.sleep(AGAIN_SECONDS)
            else:
                self._is_writing = False
                self.callbacks.trouble(None)
                return done

    def tell_connection(self, sentence: str | None) -> None:
        """As `Callbacks.trouble`, of a database that cannot be reached, or is there again.

        While something is to be written, its being there ends no trouble: only the write does.
        Else a server that answers and then fails would be waited for without an end.

        Raises:
            StoreError: Where nothing waits any more.
        """
        if sentence and self._is_giving_up:
            raise StoreError(sentence)
        if sentence or not self._is_writing:
            self.callbacks.trouble(sentence)


def keep_reported_fold(
    store: Store,
    run: RunRecord,
    result: FoldResult,
    *,
    owner: str = "",
    rule: StoppingRule | None = None,
    trouble: Callable[[str | None], object] | None = None,
) -> None:
    """Commit a fold that other code has computed, and finish its run if it needs no more.

    Args:
        store: The store of the run.
        run: The run of the fold.
        result: The fold.
        owner: Who has the run; by default this process.
        rule: As of `PlanRuns`.
        trouble: As of `Callbacks`; without it a fold that cannot be saved at once is an error.

    Raises:
        RunError: Where the fold cannot be saved; with `trouble`, it is in a file of its own then.
    """
    callbacks = Callbacks(trouble=trouble or _raise_unsaved_fold)
    plan_runs = PlanRuns(store, runs=[run], owner=owner, rule=rule, callbacks=callbacks)
    task = FoldTask(specs=(run.spec,), fold=result.fold)
    try:
        plan_runs.commit(task, spec_index=0, result=result)
    except RunError as error:
        if trouble is None:
            raise  # Whoever has reported the fold has it still.
        raise plan_runs.save_unstored_folds(error) or error from None
    # The rule may have stopped the run after this fold, or it was the last one.
    plan_runs.finish_if_no_fold_is_missing(run.run_id)


def _raise_unsaved_fold(sentence: str | None) -> None:
    """As `Callbacks.trouble`, where a fold that cannot be saved at once is not waited for."""
    if sentence:
        raise RunError(f"the fold could not be saved: {sentence}; report it again")


def _spec_to_go_on(run: RunRecord, spec: RunSpec) -> RunSpec:
    """The run's own spec, with the folds that this one asks for, and those that finished early."""
    # This is empty where all folds are asked for.
    only_folds = spec.only_folds
    # Folds that finished before their turn are computed and paid for. They have to be among the
    # folds of the run, or their turn never comes.
    early_folds = {result.fold for result in run.ahead}
    if only_folds and not early_folds.issubset(only_folds):
        only_folds = tuple(sorted(early_folds.union(only_folds)))
    return replace(run.spec, only_folds=only_folds, full=spec.full or run.spec.full)


def _run_after(run: RunRecord, fold_count: int) -> RunRecord:
    """A run as it stood after so many of its folds."""
    stopped_at = run.stopped_at
    if stopped_at is not None and stopped_at > fold_count:
        stopped_at = None
    return replace(
        run,
        folds=run.folds[:fold_count],
        moments=run.moments[:fold_count],
        stopped_at=stopped_at,
    )


def moments_of(
    run: RunRecord, rule: StoppingRule, results: Mapping[int, FoldResult]
) -> list[Moment]:
    """What the rule says after each fold whose turn has come.

    The turns are in the order of the run's spec, so that the rule decides the same in whichever
    order folds finish. Folds after a gap wait, until the rule has stopped: then nobody waits for
    the gap any more.

    Args:
        run: Without the newest result.
        rule: The rule that stops it.
        results: By fold, the newest too.
    """
    order = run.spec.fold_order
    # A fold has its turn once all folds before it are there. Folds that the run had before other
    # folds were asked for come first.
    folds = [result.fold for result in run.folds if result.fold not in order]
    folds += takewhile(results.__contains__, order)  # Folds up to the first missing one count.
    moments = _moments_after_each(run, rule, results, folds)
    is_stopped = stopping.stop_of(moments, run.k) is not None
    if not is_stopped or len(folds) == len(results):
        return moments
    # Nobody waits for the missing folds any more, so those after them have their turn.
    folds += [fold for fold in order if fold in results and fold not in folds]
    return _moments_after_each(run, rule, results, folds)


def _moments_after_each(
    run: RunRecord, rule: StoppingRule, results: Mapping[int, FoldResult], folds: Sequence[int]
) -> list[Moment]:
    """What the rule says after each of these folds, in this order.

    What was said after a fold stays, also where an earlier version of the rule has said it.
    """
    # A moment is what the rule says after n folds. What was said and stored is not said anew.
    stored_moments = {(moment.n, moment.fold): moment for moment in run.moments}
    moments = []
    for n, fold in enumerate(folds, start=1):
        moment = stored_moments.get((n, fold))
        if moment is None:
            results_so_far = [results[fold_so_far] for fold_so_far in folds[:n]]
            moment = stopping.moment(rule, results_so_far, run.spec.confidence, run.spec.overlap)
            # A fold whose score is far off the others is doubted. A window in time is not, as
            # scores may drift from one window to the next.
            if exchangeable(run.spec.split):
                moment = replace(
                    moment, doubt=doubt_about_folds(results_so_far, run.spec.metric_name)
                )
        moments.append(moment)
    return moments


# With 200 nodes it is called thousands of times a second.
@lru_cache(maxsize=100_000)
def _key_of_run(spec: RunSpec) -> Hashable:
    """As of `RunSpec.key_in_plan`."""
    return spec.key_in_plan


class _FoldProgress(NamedTuple):
    """Where the fold of a run is."""

    fold: int
    phase: str
    step: int
    steps: int


class ProgressWriter:
    """A thread that writes to the database where folds are: no fold ever waits for it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reports: dict[str, _FoldProgress] = {}
        """By run id, what was last reported and is not written yet."""
        self._has_reports = threading.Event()
        self._is_closed = threading.Event()
        self._write_lock = threading.Lock()
        """Held while reports are written, so that none is written after `drop_reports`."""
        self._thread = threading.Thread(target=self._write, name="ecv-progress", daemon=True)
        self._thread.start()

    def progress_for(self, run_id: str, fold: int) -> Progress:
        """What to tell of a fold of a run."""

        def report(phase: str, step: int, steps: int, /) -> None:
            self._reports[run_id] = _FoldProgress(fold, phase, step, steps)
            self._has_reports.set()

        return report

    def drop_reports(self) -> None:
        """A fold itself comes next, which says more: nothing is written after this."""
        with self._write_lock:
            self._reports.clear()

    def close(self) -> None:
        """End the thread."""
        self.drop_reports()
        self._is_closed.set()
        self._has_reports.set()  # This wakes the thread.
        self._thread.join()

    def _write(self) -> None:
        """In the thread: write what is reported, now and then, until `close`."""
        is_away = False
        while not self._is_closed.is_set():
            self._has_reports.wait()
            self._has_reports.clear()
            with self._write_lock:
                for run_id in list(self._reports):
                    try:
                        self._store.set_progress(run_id, *self._reports.pop(run_id))
                        is_away = False
                    except StoreError as error:
                        # The fold goes on: it is worth more than what a page shows of its progress.
                        if not is_away:
                            log.warning("progress was not written: %s", error)
                        is_away = True
                        self._is_closed.wait(AGAIN_SECONDS)
            self._is_closed.wait(PROGRESS_SECONDS)
