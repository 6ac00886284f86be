"""A run: fold after fold until its rule says stop, its cheap models first if it has some."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ecv_core.jobs.plan import FoldTask, PlanResults, folds_done, next_fold, without_submitted
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import cheap_model_ids, folds_planned
from ecv_core.store.results import cheap_model_spec

SPECULATE = 1
"""So many folds more than its rule is sure to need, where there is a place."""


class RunPlan:
    """One run, from its next missing fold to its stop, or to its last fold."""

    independent = False

    def __init__(self, spec: RunSpec, *, speculate: int = SPECULATE) -> None:
        """Nothing is known yet.

        Args:
            speculate: How many folds may be computed beyond those that the rule is sure to need.
        """
        self.spec = spec
        self._speculate = speculate
        # Cheap models are quick models whose scores in all folds make the mean of this run more
        # precise, so their folds come first. To see that all are there takes long: it is done once.
        self._has_cheap_models = False

    def next(
        self, results: PlanResults, submitted_tasks: Collection[FoldTask]
    ) -> Sequence[FoldTask]:
        """The folds before which the rule cannot stop, then so many more as bets."""
        if results.has_ended_incomplete(self.spec):
            return []
        if not self._has_cheap_models:
            cheap = tasks_of_cheap_models(self.spec, results)
            self._has_cheap_models = not cheap
            if cheap and not results.has_ended_incomplete(cheap[0].specs[0]):
                return without_submitted(cheap, submitted_tasks)
        return without_submitted(self._own_tasks(results.run_of(self.spec)), submitted_tasks)

    def _own_tasks(self, run: RunRecord | None) -> list[FoldTask]:
        """The run's next folds: none once its rule has stopped it, or it has all of them."""
        spec_of_run = self.spec
        if run is not None:
            if next_fold(run, full=self.spec.full) is None:
                return []
            # A run that is there already keeps its own folds; it may go on after its stop if either
            # spec says so.
            spec_of_run = replace(run.spec, full=self.spec.full or run.spec.full)
        order = spec_of_run.fold_order
        done = folds_done(run)
        first_missing = 0
        while order[first_missing] in done:
            first_missing += 1
        fewest, most = folds_planned(spec_of_run)
        # The rule cannot stop before the fewest folds, nor before the first that is missing. Folds
        # after these are bets: they are computed while there is room, and may not be needed.
        sure_count = max(fewest, first_missing + 1)
        planned_count = min(sure_count + self._speculate, most)
        tasks = []
        for position, fold in enumerate(order[:planned_count]):
            if fold not in done:
                is_bet = position >= sure_count
                tasks.append(FoldTask(specs=(self.spec,), fold=fold, bet=is_bet))
        return tasks


def tasks_of_cheap_models(spec: RunSpec, results: PlanResults) -> list[FoldTask]:
    """The folds that a cheap model misses, the first one that misses some; none where all are
    there."""
    for name in cheap_model_ids(spec):
        cheap = cheap_model_spec(spec, name)
        folds = results.folds_with_users(cheap).values()
        folds_there = {result.fold for result in folds if result.user_scores is not None}
        missing_folds = tuple(fold for fold in cheap.fold_order if fold not in folds_there)
        if missing_folds:
            if folds_there:  # another run has them; without any, this is to be a run of all folds
                cheap = replace(cheap, only_folds=missing_folds)
            return [FoldTask(specs=(cheap,), fold=fold) for fold in missing_folds]
    return []
