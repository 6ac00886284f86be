"""Every fold score there is, wherever it was computed, found by what decides it.

Runs of this database (imported ones among them) are found through the index on their score key;
recorded runs by the names of their files, which begin with dataset and algorithm.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ecv_core import models
from ecv_core.evaluation import metric_of
from ecv_core.records.errors import InputError
from ecv_core.records.run import (
    FoldResult,
    RunRecord,
    Scores,
    UserScores,
    source_of_sum,
    user_table,
)
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import NEVER_STOPS, StoppingRule, TakesCheapModels, cheap_model_ids, rule_for
from ecv_core.stopping.adjustment import CheapModels
from ecv_core.store.recorded import has_user_scores, recorded_runs_like, recorded_user_scores
from ecv_core.store.store import Store

# The folds of a run -> its scores as arrays.


def scores_of_run(run: RunRecord) -> Scores:
    """The scores of a run's folds so far, with users' scores where its folds carry them."""
    scores = scores_of(run.spec, run.folds)
    return replace(scores, run_id=run.run_id, other_work=bool(run.other_work))


def scores_of(spec: RunSpec, results: Iterable[FoldResult]) -> Scores:
    """The scores of some folds of a spec, named after its algorithm and dataset.

    Args:
        results: Each fold once, in any order; with users' scores where they are known.
    """
    results = tuple(sorted(results, key=attrgetter("fold")))
    folds = np.full(spec.k, np.nan)
    joules = np.full(spec.k, np.nan)
    for result in results:
        folds[result.fold] = result.score
        if result.energy.source != "none":
            joules[result.fold] = result.energy.joules
    metric = metric_of(spec)
    scores = Scores(
        folds=folds,
        joules=joules,
        results=results,
        higher_is_better=metric.higher_is_better,
        name=f"{spec.algorithm} on {spec.dataset}",
        dataset=spec.dataset,
        algorithm=spec.algorithm,
        metric=spec.metric_name,
        metric_range=metric.range,
    )
    if scores.costs is not None:  # Costs are there if the energy of every fold is known.
        scores = replace(scores, source=source_of_sum({result.energy.source for result in results}))
    return _with_users(scores, results)


def _with_users(scores: Scores, results: Sequence[FoldResult]) -> Scores:
    """The same scores with those of users, where every fold carries them."""
    users = [result.user_scores for result in results if result.user_scores is not None]
    if not users or len(users) < len(results):
        return scores
    if any(scores.metric not in fold.metrics for fold in users):
        return scores
    user_ids, table = user_table(users, scores.metric)
    values = np.full((scores.k, len(user_ids)), np.nan, dtype=table.dtype)
    values[[result.fold for result in results]] = table
    return replace(scores, users=values, user_ids=user_ids)


class Results:
    """The one way to fold scores.

    Only users' scores of one metric are kept between calls, so that a fold that was committed
    meanwhile is there at the next one. Errors, of every method:
    StoreError for a damaged run or scores, InputError for a damaged file of a recorded run.
    """

    def __init__(
        self,
        store: Store | None,
        *,
        with_recorded: bool = True,
        recorded_folder: Path | None = None,
    ) -> None:
        """Of the runs in a database and of recorded runs, which are files in a folder.

        Args:
            store: The database; None where only recorded runs count.
            with_recorded: Whether recorded runs count, too.
            recorded_folder: Their folder; by default that of the runs which this project publishes.
        """
        self._store = store
        self._with_recorded = with_recorded
        self._recorded_folder = recorded_folder
        self._scores_of_one_metric: dict[tuple[str, int, str], UserScores] = {}
        """By run id, fold and metric: what is kept between calls."""

    def runs(self, spec: RunSpec, *, computed_here: bool = False) -> list[RunRecord]:
        """The runs with folds that have the same scores, whichever of the folds they run.

        Args:
            spec: One of them; how it stops does not matter.
            computed_here: Only those of this database that were neither imported nor recorded.

        Returns:
            Those with most folds first; among these the database's, newest first.
        """
        run_of_id: dict[str, RunRecord] = {}
        if self._store is not None:
            for run in self._store.runs_like(spec, with_imported=not computed_here):
                if run.folds or run.ahead:
                    run_of_id[run.run_id] = run
        if self._with_recorded and not computed_here:
            for run in recorded_runs_like(spec, self._recorded_folder):
                run_of_id.setdefault(run.run_id, run)
        return sorted(run_of_id.values(), key=_fold_count, reverse=True)

    def folds(self, spec: RunSpec, *, computed_here: bool = False) -> dict[int, FoldResult]:
        """Every fold that there is, whichever run it is of, by index in ascending order.

        Where several runs have a fold, one with users' scores is taken, and among these the one
        that `runs` names first.

        Args:
            spec: As of `runs`.
            computed_here: As of `runs`.
        """
        chosen = self._chosen_folds(spec, computed_here=computed_here)
        return {fold: choice.result for fold, choice in chosen.items()}

    def folds_with_users(self, spec: RunSpec, metric: str | None = None) -> dict[int, FoldResult]:
        """As `folds`; the folds carry every user's scores, where they were kept.

        Args:
            spec: As of `runs`.
            metric: As of `user_scores_of_folds`.
        """
        chosen = self._chosen_folds(spec, computed_here=False)
        results = {fold: choice.result for fold, choice in chosen.items()}
        run_of_id = {choice.run.run_id: choice.run for choice in chosen.values()}
        for run in run_of_id.values():
            folds = [fold for fold, choice in chosen.items() if choice.run is run]
            for fold, user_scores in self.user_scores_of_folds(run, folds, metric).items():
                results[fold] = replace(results[fold], user_scores=user_scores)
        return results

    def fold(self, spec: RunSpec, index: int, *, computed_here: bool = False) -> FoldResult | None:
        """One fold, with users' scores where they were kept; None where it is nowhere.

        Args:
            spec: As of `runs`.
            index: The index of the fold.
            computed_here: As of `runs`.
        """
        choice = self._chosen_folds(spec, computed_here=computed_here).get(index)
        if choice is None:
            return None
        users = self.user_scores(choice.run, [index]).get(index)
        return replace(choice.result, user_scores=users)

    def user_scores(
        self, run: RunRecord, folds: Collection[int] | None = None
    ) -> dict[int, UserScores]:
        """Fold -> every user's scores, where they were kept.

        Args:
            run: The run that is here, or recorded, or was imported and is recorded as well.
            folds: Only of these; None for all of them.
        """
        scores = {}
        if self._store is not None:
            scores = self._store.user_scores(run.run_id, folds)
        if scores or not self._with_recorded:
            return scores
        recorded = recorded_user_scores(run, self._recorded_folder)
        if folds is None:
            return recorded
        return {fold: users for fold, users in recorded.items() if fold in folds}

    def user_scores_of_folds(
        self, run: RunRecord, folds: Collection[int], metric: str | None
    ) -> dict[int, UserScores]:
        """Fold -> every user's scores of some folds of a run, where they were kept.

        Args:
            run: The run that has these folds.
            folds: Their indices.
            metric: That alone, which is not unpacked again at the next call; all without it.
        """
        if metric is None:
            # The scores of all metrics are too large to be kept between calls.
            return self.user_scores(run, folds)
        scores = {}
        for fold in folds:
            # A page that looks every second asks for the same folds again, and unpacking all
            # metrics takes long. The scores of one metric are small enough to be kept.
            key = (run.run_id, fold, metric)
            if key not in self._scores_of_one_metric:
                users = self.user_scores(run, [fold]).get(fold)
                if users is None:
                    continue
                self._scores_of_one_metric[key] = users.only(metric)
            scores[fold] = self._scores_of_one_metric[key]
        return scores

    def with_user_scores(self, run: RunRecord) -> RunRecord:
        """The run, its folds with every user's scores where they were kept."""
        return run.with_user_scores(self.user_scores(run))

    def scores(self, run: RunRecord) -> Scores:
        """The scores of a run's folds as arrays, with every user's where they were kept."""
        return scores_of_run(self.with_user_scores(run))

    # -- inside -------------------------------------------------------------------------------

    def _chosen_folds(self, spec: RunSpec, *, computed_here: bool) -> dict[int, _Choice]:
        """Of every fold, by index in ascending order, the run that it is taken from."""
        with_users: dict[int, _Choice] = {}
        without_users: dict[int, _Choice] = {}
        runs = self.runs(spec, computed_here=computed_here)
        in_database = set()
        if self._store is not None:
            in_database = self._store.folds_with_user_scores([run.run_id for run in runs])
        # A fold is taken from the first run that has it, which is the one with the most folds.
        for run in runs:
            are_users_recorded = self._with_recorded and has_user_scores(run, self._recorded_folder)
            # Folds ahead of their turn have their scores already, though the run's rule has not
            # seen them.
            for result in (*run.folds, *run.ahead):
                choices = without_users
                if are_users_recorded or (run.run_id, result.fold) in in_database:
                    choices = with_users
                choices.setdefault(result.fold, _Choice(run, result))
        # Where any run has its users' scores, the fold is taken from there.
        return dict(sorted((without_users | with_users).items()))


class _Choice(NamedTuple):
    """A fold, and the run that it is taken from."""

    run: RunRecord
    result: FoldResult


def _fold_count(run: RunRecord) -> int:
    return len(run.folds)


# The cheap models by which a run's mean is corrected: their specs, their folds, their scores.


def cheap_model_spec(spec: RunSpec, name: str) -> RunSpec:
    """All folds of a cheap model, on the folds of this run; its parameters are at their defaults.

    Raises:
        UnknownName.
    """
    return replace(
        spec,
        algorithm=name,
        params=models.algorithm(name).resolve({}),
        tracked=False,
        rule=NEVER_STOPS,
        rule_params=(),
        min_folds=1,
        full=False,
    )


def cheap_model_folds(results: Results, spec: RunSpec) -> dict[str, Mapping[int, FoldResult]]:
    """The folds of each cheap model that a run is adjusted by; empty for one that lacks some."""
    folds_of: dict[str, Mapping[int, FoldResult]] = {}
    for name in cheap_model_ids(spec):
        folds = results.folds(cheap_model_spec(spec, name))
        if not folds.keys() >= set(spec.fold_order):
            folds = {}
        folds_of[name] = folds
    return folds_of


def cheap_models_of(results: Results, spec: RunSpec, names: Iterable[str]) -> CheapModels:
    """The scores of these cheap models, at least one.

    Raises:
        InputError: For one without all folds.
    """
    scores_by_name: dict[str, Mapping[int, UserScores]] = {}
    for name in names:
        scores = {}
        for fold, result in results.folds_with_users(cheap_model_spec(spec, name)).items():
            if result.user_scores is not None:
                scores[fold] = result.user_scores
        if not scores.keys() >= set(spec.fold_order):
            raise InputError(
                f"to adjust by '{name}', all {spec.max_folds} folds of '{name}' on "
                f"{spec.dataset} with the same settings are needed; run it with the rule "
                f"'{NEVER_STOPS}'"
            )
        scores_by_name[name] = {fold: scores[fold] for fold in spec.fold_order}
    return CheapModels(scores_by_name, spec.metric_name)


def adjusted_rule(results: Results, spec: RunSpec) -> StoppingRule:
    """The rule of a run, with the scores of the cheap models that it is adjusted by, if any.

    Raises:
        InputError: Where such a model lacks a fold.
    """
    rule = rule_for(spec)
    if isinstance(rule, TakesCheapModels) and rule.needed_cheap_models:
        return rule.with_cheap_models(cheap_models_of(results, spec, rule.needed_cheap_models))
    return rule
