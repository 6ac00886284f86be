"""Every fold score there is, wherever it was computed, found by what decides it.

Runs of this database (imported ones among them) are found through the index on their score key;
recorded runs by the names of their files, which begin with dataset and algorithm.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ecv_core import models
from ecv_core.evaluation import metric_of
from ecv_core.records.errors import InputError
from ecv_core.records.run import FoldResult, RunRecord, Scores, UserScores, one_source, user_table
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import NEVER_STOPS, StoppingRule, TakesAids, cheap_models, rule_for
from ecv_core.stopping.adjustment import Aids
from ecv_core.store.recorded import has_user_scores, recorded_like, recorded_user_scores
from ecv_core.store.store import Store

# The folds of a run -> its scores as arrays.


def scores_of_run(run: RunRecord) -> Scores:
    """The scores of a run's folds so far, with users' scores where its folds carry them."""
    scores = scores_of(run.spec, run.folds)
    return replace(scores, run_id=run.run_id, other_work=bool(run.other_work))


def scores_of(spec: RunSpec, results: Iterable[FoldResult]) -> Scores:
    """The scores of some folds of a spec, named after its algorithm and dataset.

    Args: results: each fold once, in any order; with users' scores where they are known.
    """
    by_fold = tuple(sorted(results, key=lambda result: result.fold))
    folds, joules = np.full(spec.k, np.nan), np.full(spec.k, np.nan)
    for result in by_fold:
        folds[result.fold] = result.score
        if result.energy.source != "none":
            joules[result.fold] = result.energy.joules
    users = [result.user_scores for result in by_fold if result.user_scores is not None]
    ids = values = None
    if users and len(users) == len(by_fold) and all(spec.metric_name in u.metrics for u in users):
        ids, table = user_table(users, spec.metric_name)
        values = np.full((spec.k, len(ids)), np.nan, dtype=table.dtype)
        values[[result.fold for result in by_fold]] = table
    scores = Scores(
        folds=folds,
        joules=joules,
        users=values,
        user_ids=ids,
        results=by_fold,
        higher_is_better=metric_of(spec).higher_is_better,
        name=f"{spec.algorithm} on {spec.dataset}",
        dataset=spec.dataset,
        algorithm=spec.algorithm,
        metric=spec.metric_name,
    )
    if scores.costs is None:
        return scores
    return replace(scores, source=one_source({result.energy.source for result in by_fold}))


class Results:
    """The one way to fold scores.

    Only users' scores of one metric are kept between calls, so that a fold that was committed
    meanwhile is there at the next one. Errors, of every method:
    StoreError for a damaged run or scores, InputError for a damaged file of a recorded run.
    """

    def __init__(
        self, store: Store | None, *, recorded: bool = True, folder: Path | None = None
    ) -> None:
        """Of a database, and of the recorded runs unless told otherwise.

        Args:
            store: the database; None where only recorded runs count.
            folder: where they are; by default the project's.
        """
        self._store = store
        self._recorded = recorded
        self._folder = folder
        self._columns: dict[tuple[str, int, str], UserScores] = {}

    def runs(self, spec: RunSpec, *, own: bool = False) -> list[RunRecord]:
        """The runs with folds that have the same scores, whichever of the folds they run.

        Args:
            spec: one of them; how it stops does not matter.
            own: only those that were computed in this database, neither imported nor recorded.
        Returns: those with most folds first; among these the database's, newest first.
        """
        here = self._store.runs_like(spec, imported=not own) if self._store else []
        runs = [run for run in here if run.folds or run.ahead]
        if self._recorded and not own:
            ids = {run.run_id for run in runs}
            runs += [run for run in recorded_like(spec, self._folder) if run.run_id not in ids]
        return sorted(runs, key=lambda run: -len(run.folds))

    def folds(
        self, spec: RunSpec, *, own: bool = False, user_scores: bool | str = False
    ) -> dict[int, FoldResult]:
        """Every fold that there is, whichever run it is of, by index in ascending order.

        Where several runs have a fold, one with users' scores is taken, and among these the one
        that `runs` names first.

        Args:
            spec, own: as of `runs`.
            user_scores: whether the folds carry users' scores, where they were kept; of one metric
                alone where it is named.
        """
        chosen = self._chosen(spec, own=own)
        folds = {fold: result for fold, (_, result) in chosen.items()}
        runs = {run.run_id: run for run, _ in chosen.values()} if user_scores else {}
        metric = user_scores if isinstance(user_scores, str) else None
        for run in runs.values():
            wanted = [result for its_run, result in chosen.values() if its_run is run]
            for fold, users in self.user_scores_in(run, wanted, metric).items():
                folds[fold] = replace(folds[fold], user_scores=users)
        return folds

    def fold(self, spec: RunSpec, index: int, *, own: bool = False) -> FoldResult | None:
        """One fold, with users' scores where they were kept; None where it is nowhere.

        Args: as of `folds`.
        """
        chosen = self._chosen(spec, own=own)
        if index not in chosen:
            return None
        run, result = chosen[index]
        return replace(result, user_scores=self._user_scores(run, [index]).get(index))

    def user_scores(self, of: RunSpec | RunRecord) -> dict[int, UserScores]:
        """Fold -> every user's scores, where they were kept.

        Args: of: a run, for its own folds; or a spec, for all folds as `folds` finds them.
        """
        if isinstance(of, RunRecord):
            return self._user_scores(of)
        folds = self.folds(of, user_scores=True)
        return {fold: one.user_scores for fold, one in folds.items() if one.user_scores}

    def user_scores_in(
        self, run: RunRecord, results: Collection[FoldResult], metric: str | None = None
    ) -> dict[int, UserScores]:
        """Fold -> every user's scores of some folds of a run, where they were kept.

        Args: metric: that alone, which is not unpacked again at the next call; all without it.
        """
        if metric is None:
            return self._user_scores(run, [result.fold for result in results])
        found = {}
        for fold in (result.fold for result in results):
            users = self._columns.get((run.run_id, fold, metric))
            if users is None and (users := self._user_scores(run, [fold]).get(fold)) is not None:
                users = self._columns[run.run_id, fold, metric] = users.only(metric)
            if users is not None:
                found[fold] = users
        return found

    def with_user_scores(self, run: RunRecord) -> RunRecord:
        """The run, its folds with every user's scores where they were kept."""
        users = self._user_scores(run)
        folds = (replace(result, user_scores=users.get(result.fold)) for result in run.folds)
        return replace(run, folds=tuple(folds))

    def scores(self, of: RunSpec | RunRecord, *, users: bool = True) -> Scores:
        """All that is known of some folds, as arrays.

        Args:
            of: as for `user_scores`.
            users: whether every user's scores are wanted too: they take longer to read.
        """
        if isinstance(of, RunRecord):
            return scores_of_run(self.with_user_scores(of) if users else of)
        return scores_of(of, self.folds(of, user_scores=users).values())

    # -- inside -------------------------------------------------------------------------------

    def _chosen(self, spec: RunSpec, *, own: bool) -> dict[int, tuple[RunRecord, FoldResult]]:
        """Of every fold, by index in ascending order, the run that it is taken from."""
        runs = self.runs(spec, own=own)
        with_users = self._folds_with_users(runs)
        places = [(run, result) for run in runs for result in (*run.folds, *run.ahead)]
        places.sort(key=lambda place: (place[0].run_id, place[1].fold) not in with_users)
        chosen: dict[int, tuple[RunRecord, FoldResult]] = {}
        for run, result in places:
            chosen.setdefault(result.fold, (run, result))
        return dict(sorted(chosen.items()))

    def _folds_with_users(self, runs: Sequence[RunRecord]) -> set[tuple[str, int]]:
        """Run id and index of the folds that have users' scores."""
        ids = [run.run_id for run in runs]
        found = self._store.folds_with_user_scores(ids) if self._store else set()
        if self._recorded:
            for run in runs:
                if has_user_scores(run, self._folder):
                    found |= {(run.run_id, result.fold) for result in run.folds}
        return found

    def _user_scores(
        self, run: RunRecord, folds: Collection[int] | None = None
    ) -> dict[int, UserScores]:
        """Of a run that is here, or recorded, or was imported and is recorded as well."""
        found = self._store.user_scores(run.run_id, folds) if self._store else {}
        if not found and self._recorded:
            recorded = recorded_user_scores(run, self._folder)
            found = {one: users for one, users in recorded.items() if not folds or one in folds}
        return found


# The cheap models by which a run's mean is corrected: their specs, their folds, their scores.


def aid_spec(spec: RunSpec, name: str) -> RunSpec:
    """All folds of a cheap model, on the folds of this run; its parameters are at their defaults.

    Raises: UnknownName.
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


def aid_folds(results: Results, spec: RunSpec) -> dict[str, Mapping[int, FoldResult]]:
    """The folds of each cheap model that a run is adjusted by; empty for one that lacks some."""
    found: dict[str, Mapping[int, FoldResult]] = {}
    for name in cheap_models(spec):
        folds = results.folds(aid_spec(spec, name))
        found[name] = {} if set(spec.fold_order) - set(folds) else folds
    return found


def aids_of(results: Results, spec: RunSpec, names: Iterable[str]) -> Aids:
    """The scores of these cheap models, at least one.

    Raises: InputError for one without all folds.
    """
    found: dict[str, Mapping[int, UserScores]] = {}
    for name in names:
        aid = aid_spec(spec, name)
        scores = results.user_scores(aid)
        if set(aid.fold_order) - set(scores):
            raise InputError(
                f"to adjust by '{name}' all {spec.max_folds} folds of it on {spec.dataset} are "
                f"needed, with the same settings; run it with the rule '{NEVER_STOPS}'"
            )
        found[name] = {fold: scores[fold] for fold in aid.fold_order}
    return Aids(found, spec.metric_name)


def adjusted_rule(results: Results, spec: RunSpec) -> StoppingRule:
    """The rule of a run, with the scores of the cheap models that it is adjusted by, if any.

    Raises: InputError where such a model lacks a fold.
    """
    rule = rule_for(spec)
    if not (isinstance(rule, TakesAids) and rule.needs_aids):
        return rule
    return rule.with_aids(aids_of(results, spec, rule.needs_aids))
