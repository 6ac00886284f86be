"""The selection's test as a pruner for Optuna, for objectives that know every user's score.

Optuna finishes one trial before it begins the next, so each is compared with the best finished one,
on the folds that both have run. Nothing of Optuna is imported here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.selection.evidence import ANY_NOISE, PairedScores, level_of_looks, spread_of


class Trial(Protocol):
    """The part of an `optuna.Trial` that is needed."""

    @property
    def number(self) -> int:
        """Its number in the study."""

    def report(self, value: float, step: int) -> None:
        """Tell the study an intermediate value."""


class FoldPruner:
    """Prunes a trial as soon as its k-fold mean can no longer be the best.

        pruner = ecv.FoldPruner(k=10, trials=100)
        study = optuna.create_study(direction="maximize", pruner=pruner)
        # and in the objective, after each fold: pruner.report(trial, fold, scores)

    Args:
        k: folds of every trial.
        trials: how many the study is going to have; each is compared with the best once per fold,
            and the error that is allowed is divided over the trials (Bonferroni).
        confidence: that no trial is pruned whose k-fold mean is better than the best's.
    Raises: InputError for values that cannot be.
    """

    def __init__(self, *, k: int, trials: int, confidence: float = 0.95) -> None:
        if k < 2 or trials < 2 or not 0 < confidence < 1:
            raise InputError(
                "a FoldPruner needs at least 2 folds and 2 trials and a confidence between 0 and "
                f"1, but has k = {k}, trials = {trials}, confidence = {confidence}"
            )
        self._k = k
        self._level = level_of_looks((1 - confidence) / (trials - 1), k)
        self._scores: dict[int, dict[int, NDArray[np.float32]]] = {}
        self._users: list[Any] | None = None

    def report(self, trial: Trial, fold: int, scores: Mapping[Any, float] | ArrayLike) -> None:
        """Keep the scores of a fold, and report their mean to the study as step `fold`.

        Args:
            trial: that has run the fold.
            fold: its index, 0 .. k-1.
            scores: user -> score, or a score per user, the same users in every trial; NaN for a
                user with nothing held out.
        Raises: InputError for a fold that cannot be, or no score at all.
        """
        if not 0 <= fold < self._k:
            raise InputError(
                f"there is no fold {fold}; with k = {self._k} they are 0 to {self._k - 1}"
            )
        if isinstance(scores, Mapping):
            if self._users is None:
                self._users = sorted(scores)
            else:
                self._users += sorted(set(scores) - set(self._users))
            values = np.array([scores.get(user, np.nan) for user in self._users], np.float32)
        else:
            values = np.asarray(scores, dtype=np.float32).ravel()
        if np.isnan(values).all():
            raise InputError(
                f"fold {fold} of trial {trial.number} has no score of any user or sample"
            )
        self._scores.setdefault(trial.number, {})[fold] = values
        trial.report(float(np.nanmean(values)), fold)

    def prune(self, study: Any, trial: Any) -> bool:  # noqa: ANN401  Optuna's, which is not imported
        """Optuna's question: whether this trial can be given up."""
        try:
            best = study.best_trial.number
        except ValueError:  # none has finished yet
            return False
        mine, theirs = self._scores.get(trial.number, {}), self._scores.get(best, {})
        common = sorted(mine.keys() & theirs.keys())
        if not common:
            return False
        users = max(len(one[fold]) for one in (mine, theirs) for fold in common)
        both = (("best", theirs), ("trial", mine))
        pair = [self._contender(name, one, common, users) for name, one in both]
        found = PairedScores(pair).between(0, 1, (1 << len(common)) - 1)
        sign = 1.0 if study.direction.name == "MAXIMIZE" else -1.0
        spread = spread_of([found], [True], ANY_NOISE, sign)
        return bool((spread.means - spread.half_widths(self._level, self._k) > 0)[0])

    def _contender(
        self, name: str, scores: Mapping[int, NDArray[np.float32]], folds: list[int], users: int
    ) -> Scores:
        values = np.full((len(folds), users), np.nan, dtype=np.float32)
        for row, fold in zip(values, folds, strict=True):
            row[: len(scores[fold])] = scores[fold]
        return Scores(name=name, folds=np.nanmean(values, axis=1, dtype=np.float64), users=values)
