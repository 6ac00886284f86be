"""scikit-learn's search for parameters, where a candidate leaves as soon as it cannot win."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    ParameterSampler,
    RandomizedSearchCV,
)
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import process_routing

from ecv_core.energy.real_meters import meter_for
from ecv_core.estimators.callbacks import SearchCallbacks, with_callbacks
from ecv_core.estimators.fold_scores import (
    InvalidInput,
    NoScore,
    Scored,
    SplitSamples,
    report_failed_fits,
)
from ecv_core.evaluation.directions import metric_named
from ecv_core.evaluation.scoring import SampleValues, Scoring
from ecv_core.library.settings import settings_of_rule
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.parameters import listed
from ecv_core.records.spec import RunSpec
from ecv_core.selection.document import withheld_sentence
from ecv_core.selection.evidence import FoldDifferences, variance_over_all
from ecv_core.selection.rounds import Selection, Terms, Verdict
from ecv_core.stopping import NEVER_STOPS, StoppingRule


class _EarlySearch(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A search of scikit-learn's in which a candidate leaves as soon as it cannot win.

    What is asked of a search before and after `fit` is scikit-learn's own, and so is `fit` where
    all folds run.
    """

    best_params_: Mapping[str, Any]
    cv_results_: dict[str, Any]
    verdict_: Verdict | None

    def _drawn_candidates(self) -> Iterable[Mapping[str, Any]]:
        """The candidates, in the order of `cv_results_`."""
        raise NotImplementedError

    @with_callbacks
    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Search, and fit the best on all samples.

        Args:
            as of scikit-learn's search.

        Raises:
            scikit-learn's own errors; InputError for folds in the order of time, or a value
                that cannot be.
        """
        meter = None
        if self.energy:
            meter = meter_for(RunSpec(dataset="", algorithm=""))
            meter.start()
        if self._runs_all_folds():
            super().fit(X, y, **params)
            self._tell_of_all_folds()
        else:
            self._fit_in_race(X, y, params)
        if meter is not None:
            self.joules_ = meter.stop().joules
        return self

    def _runs_all_folds(self) -> bool:
        """Whether no candidate may leave early.

        Raises:
            InvalidInput: for a rule that a search does not have.
        """
        if self.rule is not None:
            settings = settings_of_rule(self.rule)
            if settings is None or settings["rule"] != NEVER_STOPS:
                raise InvalidInput(
                    f"the rule of a search is 'never' or None, but is {self.rule!r}; when a search "
                    "ends is set by expected_loss, or by certain=True"
                )
            return True
        return self.expected_loss == 0 and not self.certain

    def _tell_of_all_folds(self) -> None:
        """Say the same after scikit-learn's own search as after a race."""
        candidates = len(self.cv_results_["params"])
        self.n_folds_used_ = np.full(candidates, self.n_splits_)
        self.folds_saved_ = 0
        self.verdict_ = None
        self.sentence_ = f"All {self.n_splits_} folds of {candidates} candidates were run."
        if hasattr(self, "best_params_"):
            self.sentence_ += f" The best is {self.best_params_}."

    def _fit_in_race(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        """Search as far as it takes, and fit the best on all samples."""
        watch = None
        if isinstance(self.refit, str):
            watch = self.refit
        scorer = Scoring(self.estimator, self.scoring, watch)
        if scorer.multimetric:
            self._check_refit(scorer.scorers)
        groups = None
        score_weights = None
        sample_weight = params.get("sample_weight")
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(self, "fit", **params).estimator.fit
        else:
            groups = params.pop("groups", None)
            score_weights = sample_weight
            fit_params = params
        table = SplitSamples(self.estimator, X, y, self.cv, groups, params)
        if score_weights is not None:
            table.score_weights = np.asarray(score_weights)
            self._warn_without_weights(scorer)
        table.check_number_of_folds()
        table.check_by_chance(
            "no candidate may leave early there: use rule='never', which runs them all, or shuffle"
        )
        candidates = list(self._drawn_candidates())
        if not candidates:
            raise InvalidInput(
                "No fits were performed, for there is no candidate; give values of a parameter"
            )
        # With None the order is by chance too, but the same every time.
        table.shuffle(_seed_of(self.random_state or 0))
        callbacks = SearchCallbacks(self, table, sample_weight)
        race = _Race(self, table, scorer, candidates, watch, callbacks)
        with callbacks.fit():
            with callbacks.race(len(candidates)):
                race.run()
            if not race.places:
                self._refuse(race, fit_params)
            self._tell(race)
            if self.refit:
                self._refit(table, fit_params, callbacks)

    def _warn_without_weights(self, scorer: Scoring) -> None:
        """Name the scorers that ignore `sample_weight`, in scikit-learn's words."""
        for name in scorer.without_weights(self.estimator):
            warnings.warn(
                f"The scoring {name} does not support sample_weight, which may lead to "
                f"statistically incorrect results when fitting {self} with sample_weight. ",
                UserWarning,
                stacklevel=5,
            )

    def _refit(
        self, table: SplitSamples, fit_params: Mapping[str, Any], callbacks: SearchCallbacks
    ) -> None:
        """Fit the best candidate on all samples."""
        best = self._candidate(self.best_params_)
        began = time.time()
        with callbacks.refit(best):
            _fit(best, table, fit_params)
        self.refit_time_ = time.time() - began
        self.best_estimator_ = best
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_

    def _candidate(self, params: Mapping[str, Any]) -> Any:
        """The estimator of a candidate, not fitted."""
        return clone(self.estimator).set_params(**clone(dict(params), safe=False))

    def _refuse(self, race: _Race, fit_params: Mapping[str, Any]) -> NoReturn:
        """Say that there is no winner.

        Raises:
            the error of a fit on all samples, where there is one, for it says what is wrong
                with the data, and `GridSearchCV` raises it likewise; else NoScore.
        """
        if self.refit:
            _fit(self._candidate(race.candidates[0]), race.table, fit_params)
        raise NoScore(race.sentence_without_winner())

    def _check_refit(self, names: Iterable[str]) -> None:
        """Refuse what does not say which of several scores decides.

        Raises:
            ValueError.
        """
        if self.refit is not False and not callable(self.refit) and self.refit not in set(names):
            raise ValueError(
                "For multi-metric scoring, the parameter refit must be set to a scorer key or a "
                "callable to refit an estimator with the best parameters, or to False where no "
                f"best one is needed. {self.refit!r} was passed."
            )

    def _tell(self, race: _Race) -> None:
        self.n_splits_ = race.table.k
        self.scorer_ = race.scorer.scorers
        self.n_folds_used_ = race.folds_used
        self.folds_saved_ = len(race.candidates) * race.table.k - int(race.folds_used.sum())
        self.verdict_ = race.verdict
        self.cv_results_ = race.results()
        ranks = [key for key in self.cv_results_ if key.startswith("rank_test_")]
        scores = [key.removeprefix("rank_test_") for key in ranks]
        self.multimetric_ = scores != ["score"]
        watch = scores[0]
        if self.refit in scores:
            watch = self.refit
        best = int(self.cv_results_[f"rank_test_{watch}"].argmin())
        if callable(self.refit):
            best = _checked_index(self.refit(self.cv_results_), len(race.candidates))
        if self.refit or not self.multimetric_:
            self.best_index_ = best
            self.best_params_ = self.cv_results_["params"][best]
            if not callable(self.refit):
                self.best_score_ = self.cv_results_[f"mean_test_{watch}"][best]
        self.sentence_ = race.sentence(best)


class EFoldSearchCV(_EarlySearch, GridSearchCV):  # type: ignore[misc]
    """`GridSearchCV` by fewer folds: candidates meet on the same folds, and leave when out.

        search = ecv.EFoldSearchCV(SVC(), {"C": [0.1, 1, 10]}, cv=10).fit(X, y)
        search.best_params_, search.folds_saved_, search.sentence_

    What it has after `fit` is what `GridSearchCV` has, and below. In `cv_results_` a score is NaN
    where a candidate was stopped before that split; its means are over the splits that it ran
    (`n_folds_used_`), so that ranks are by place in the selection instead. Differences on the same
    held-out samples decide, as docs/estimators.md says.

    Args:
        estimator, param_grid, scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score,
            return_train_score: as there; with several scorers the one that `refit` names decides,
            or else the first.
        rule: 'never' to run all folds of all candidates: then `fit` is scikit-learn's own.
        expected_loss: it ends once at most this share of the leader's mean is expected to be lost
            by taking it; with 0 all folds run, as with rule='never'.
        certain: it ends once no other can have the best mean of all folds, with `confidence`.
        confidence: of that, in (0, 1).
        random_state: of the order in which the folds run; with None the same order every time.
        energy: whether the whole search is metered (`joules_`), refit included.

    Attributes:
        n_folds_used_: of each candidate, shape (candidates,).
        folds_saved_: how many fewer folds than `GridSearchCV` it took.
        sentence_: the verdict with its numbers.
        verdict_: as of `selection`; None for a single candidate, and where all folds were to run.
        joules_: of the whole search, where energy was asked for.
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        rule: StoppingRule | str | None = None,
        expected_loss: float = 0.001,
        certain: bool = False,
        confidence: float = 0.95,
        random_state: Any = None,
        energy: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.rule = rule
        self.expected_loss = expected_loss
        self.certain = certain
        self.confidence = confidence
        self.random_state = random_state
        self.energy = energy

    def _drawn_candidates(self) -> Iterable[Mapping[str, Any]]:
        return ParameterGrid(self.param_grid)


class EFoldRandomizedSearchCV(_EarlySearch, RandomizedSearchCV):  # type: ignore[misc]
    """`RandomizedSearchCV` by fewer folds: as `EFoldSearchCV`, of candidates that are drawn.

        space = {"C": scipy.stats.loguniform(0.01, 100)}
        search = ecv.EFoldRandomizedSearchCV(SVC(), space, n_iter=20, cv=10).fit(X, y)

    Args:
        estimator, n_iter, scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score,
            return_train_score: as of `RandomizedSearchCV`.
        param_distributions: as there, name -> values or a distribution of scipy (`rvs`), or a list
            of these; also distributions of Optuna.
        random_state: of the draw, as there, and of the order in which the folds run.
        rule, expected_loss, certain, confidence, energy: as of `EFoldSearchCV`, and so is what it
            has after `fit`.
    """

    def __init__(
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_iter: int = 10,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        rule: StoppingRule | str | None = None,
        expected_loss: float = 0.001,
        certain: bool = False,
        confidence: float = 0.95,
        energy: bool = False,
    ) -> None:
        super().__init__(
            estimator,
            param_distributions,
            n_iter=n_iter,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            random_state=random_state,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.rule = rule
        self.expected_loss = expected_loss
        self.certain = certain
        self.confidence = confidence
        self.energy = energy

    def _drawn_candidates(self) -> Iterable[Mapping[str, Any]]:
        return _draws(self.param_distributions, self.n_iter, self.random_state)


def _fit(estimator: Any, table: SplitSamples, fit_params: Mapping[str, Any]) -> None:
    """Fit an estimator on all samples."""
    if table.y is None:
        estimator.fit(table.X, **fit_params)
    else:
        estimator.fit(table.X, table.y, **fit_params)


def _seed_of(random_state: Any) -> int:
    """The seed that scikit-learn's `random_state` is, or one that it draws."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _checked_index(index: Any, candidates: int) -> int:
    """What a `refit` of somebody's own gives.

    Raises:
        TypeError, IndexError as scikit-learn.
    """
    if not isinstance(index, Integral):
        raise TypeError("best_index_ returned is not an integer")
    place = int(index)
    if not 0 <= place < candidates:
        raise IndexError("best_index_ index out of range")
    return place


class _Race:
    """The candidates of a search, their folds, and who is in.

    A fold in which no candidate has a score says nothing, and is left out. A candidate without a
    score in a fold in which another has one is out.
    """

    def __init__(
        self,
        search: _EarlySearch,
        table: SplitSamples,
        scorer: Scoring,
        candidates: Sequence[Mapping[str, Any]],
        watch: str | None,
        callbacks: SearchCallbacks,
    ) -> None:
        self.table = table
        self.scorer = scorer
        self.candidates = candidates
        self._search = search
        self._watch = watch
        self._callbacks = callbacks
        self.folds: list[dict[int, Scored]] = [{} for _ in candidates]
        """Of each candidate, fold -> scores."""
        self.left_out: list[int] = []
        """Folds in which nobody has a score, in the order in which they ran."""
        self.out: set[int] = set()
        """Candidates without a score in a fold where another has one."""
        self.verdict: Verdict | None = None
        self.places: list[int] = []
        """Candidates that are in, best first; none where nobody has a score."""
        self._terms: Terms | None = None
        if len(candidates) > 1:
            terms = search_terms(table.k, search.confidence, search.expected_loss, search.certain)
            self._terms = replace(terms, bounded=_is_bounded(table, scorer, certain=search.certain))

    @property
    def folds_used(self) -> NDArray[np.int_]:
        """Folds that each candidate has run; shape (candidates,)."""
        return np.array([len(folds) for folds in self.folds])

    @property
    def inside(self) -> list[int]:
        """Candidates that are not out."""
        return [place for place in range(len(self.candidates)) if place not in self.out]

    @property
    def order(self) -> list[int]:
        """Folds that count, in the order in which they run."""
        return [fold for fold in self.table.order if fold not in self.left_out]

    def run(self) -> None:
        """Run folds until the best candidate is known, or nobody has a score.

        Raises:
            scikit-learn's error where every fit failed; the settings' own errors.
        """
        decided = False
        while not decided:
            if self._terms is not None and len(self.inside) > 1 and len(self.order) > 1:
                decided = self._select(replace(self._terms, k=len(self.order)))
            else:
                decided = self._run_all()
        every = [fold for folds in self.folds for fold in folds.values()]
        report_failed_fits(every, self._search.error_score)
        if self.left_out and self.places:
            warnings.warn(self._left_out_sentence(), UserWarning, stacklevel=3)

    def _run_all(self) -> bool:
        """Have all folds run by those that are in: a single candidate, or on a single fold.

        Returns:
            False where a fold was left out, or a candidate is out now.
        """
        order = self.order
        self._compute([(place, fold) for place in self.inside for fold in order])
        if self._exclude(order):
            return False
        if order:
            self.places = sorted(self.inside, key=self.mean, reverse=True)
        return True

    def _select(self, terms: Terms) -> bool:
        """Have folds run until the selection of those that are in is decided.

        Returns:
            False where a fold was left out, or a candidate is out now, so that another
            selection has to be made of the others; its folds are there already.
        """
        inside = self.inside
        order = self.order
        kinds = [_kind(self.candidates[place]) for place in inside]
        folds = [self.folds[place] for place in inside]
        differences = SampleDifferences(folds, kinds, apart=self.table.apart)
        selection = Selection(differences, len(inside), terms)
        while not selection.decided:
            wanted = list(selection.next_folds(order))
            self._compute([(inside[contender], fold) for contender, fold in wanted])
            if self._exclude([fold for _, fold in wanted]):
                return False
            for contender, fold in wanted:
                selection.ran(contender, fold)
            now = selection.look()
            if self._search.verbose:
                self._print_round(len(now.left), inside[now.leader])
        self.verdict = selection.verdict()
        self.places = [inside[contender] for contender in self.verdict.order]
        return True

    def _print_round(self, left: int, leader: int) -> None:
        print(  # noqa: T201  as scikit-learn's searches do
            f"After {self.folds_used.sum()} folds: {left} of {len(self.candidates)} candidates "
            f"left, the best is {dict(self.candidates[leader])}"
        )

    def _print_fold(self, place: int, fold: int) -> None:
        """Tell of a fold that has run, from `verbose=3` on with its scores, as scikit-learn."""
        result = self.folds[place][fold]
        params = ", ".join(f"{name}={value}" for name, value in self.candidates[place].items())
        scores = ""
        if self._search.verbose > 2:
            scores = _scores_text(result)
        print(  # noqa: T201
            f"[CV {fold + 1}/{self.table.k}] END {params};{scores} total time={result.seconds:.1f}s"
        )

    def mean(self, place: int) -> float:
        """What a candidate has in the folds that it has run and that count; NaN without any."""
        scores = [fold.score for at, fold in self.folds[place].items() if at not in self.left_out]
        if not scores:
            return float("nan")
        return float(np.mean(scores))

    def _exclude(self, folds: Iterable[int]) -> bool:
        """Leave out folds without a score, and candidates without one where another has one.

        Args:
            folds: that were run just now.
        Returns:
            whether anything was left out.
        """
        excluded = False
        for fold in dict.fromkeys(folds):
            if not self._lacking(fold):
                continue
            excluded = True
            if self._anybody_scores(fold):
                self.out.update(self._lacking(fold))
            else:
                self.left_out.append(fold)
        return excluded

    def _lacking(self, fold: int) -> list[int]:
        """Candidates that are in, have run a fold, and have no score there."""
        lacking = []
        for place in self.inside:
            if fold in self.folds[place] and not self.folds[place][fold].has_score:
                lacking.append(place)
        return lacking

    def _anybody_scores(self, fold: int) -> bool:
        """Whether a candidate has a score in a fold; those that have not run it are asked too.

        Also those that are out: whether a fold counts must not depend on the order of the folds.
        """
        for folds in self.folds:
            if fold in folds and folds[fold].has_score:
                return True
        for place in range(len(self.candidates)):
            self._compute([(place, fold)])
            if self.folds[place][fold].has_score:
                return True
        return False

    def _compute(self, wanted: Iterable[tuple[int, int]]) -> None:
        """Have candidates run those folds that they have not run yet.

        Args:
            wanted: candidate and fold.
        """
        search = self._search
        lacking = []
        tasks = []
        for place, fold in wanted:
            if fold not in self.folds[place]:
                lacking.append((place, fold))
                tasks.append((search._candidate(self.candidates[place]), fold))
        results = self.table.computed(
            tasks,
            self._scoring,
            search.n_jobs,
            search.pre_dispatch,
            error_score=search.error_score,
            return_train_score=search.return_train_score,
        )
        for place, fold in lacking:
            with self._callbacks.fold(place, fold):
                result = next(results)
            self.folds[place][fold] = result
            if search.verbose > 1:
                self._print_fold(place, fold)
            if result.results is not None:
                self._check_scores(result.results)

    def _check_scores(self, results: Mapping[str, Any]) -> None:
        """Refuse several scores of one scorer of which `refit` names none.

        Raises:
            ValueError.
        """
        names = [key.removeprefix("test_") for key in results if key.startswith("test_")]
        if names != ["score"]:
            self._search._check_refit(names)

    def _scoring(self, estimator: Any) -> Scoring:
        return Scoring(estimator, self._search.scoring, self._watch)

    def results(self) -> dict[str, Any]:
        """`cv_results_`."""
        results: dict[str, Any] = {}
        for key in ("fit_time", "score_time"):
            values = np.nan_to_num(self._values(key, failed=0.0))
            results |= self._mean_and_std(key, values)
        score_keys = self._score_keys()
        for key in score_keys:
            values = self._values(key, failed=self._search.error_score)
            for fold in range(self.table.k):
                results[f"split{fold}_{key}"] = values[:, fold]
            summary = self._mean_and_std(key, values)
            results |= summary
            _warn_of_scores(key, summary[f"mean_{key}"])
        results |= _parameter_columns(self.candidates)
        results["params"] = [dict(candidate) for candidate in self.candidates]
        for key in score_keys:
            if key == self._deciding_key(score_keys):
                results[f"rank_{key}"] = self._ranks(results[f"mean_{key}"])
            elif key.startswith("test_"):
                results[f"rank_{key}"] = _ranks_of_means(results[f"mean_{key}"])
        return results

    def _deciding_key(self, score_keys: Sequence[str]) -> str:
        """Of which score the candidates were compared."""
        key = f"test_{self._watch}"
        if key in score_keys:
            return key
        return score_keys[0]

    def _score_keys(self) -> list[str]:
        """Names of all scores, as any fold that was fitted has them."""
        for folds in self.folds:
            for fold in folds.values():
                if fold.results is not None:
                    return [key for key in fold.results if key.startswith(("test_", "train_"))]
        return []

    def _values(self, key: str, *, failed: float) -> NDArray[np.float64]:
        """What each candidate has in each fold; shape (candidates, k), NaN where it has not run.

        Args:
            key: of scikit-learn's results of a fold.
            failed: what a fit that failed has.
        """
        values = np.full((len(self.candidates), self.table.k), np.nan)
        for row, folds in zip(values, self.folds, strict=True):
            for at, fold in folds.items():
                if fold.results is None:
                    row[at] = failed
                else:
                    row[at] = fold.results[key][0]
        return values

    def _mean_and_std(self, key: str, values: NDArray[np.float64]) -> dict[str, Any]:
        """Of each candidate, over the folds that it ran and that count.

        NaN in such a fold makes both NaN, as in scikit-learn.
        """
        means = np.full(len(self.candidates), np.nan)
        deviations = np.full(len(self.candidates), np.nan)
        for place, folds in enumerate(self.folds):
            counted = [fold for fold in sorted(folds) if fold not in self.left_out]
            if counted:
                means[place] = values[place, counted].mean()
                deviations[place] = values[place, counted].std()
        return {f"mean_{key}": means, f"std_{key}": deviations}

    def _ranks(self, means: NDArray[np.float64]) -> NDArray[np.int32]:
        """The place of each candidate in the selection; those that are out share the last one.

        Candidates with the same mean of the same folds share a place, as in scikit-learn, so that
        the first of them is the best.
        """
        ranks = np.full(len(self.candidates), len(self.places) + 1, np.int32)
        for rank, place in enumerate(self.places, start=1):
            ranks[place] = rank
            if rank > 1:
                before = self.places[rank - 2]
                same_folds = self.folds[place].keys() == self.folds[before].keys()
                if same_folds and means[place] == means[before]:
                    ranks[place] = ranks[before]
        return ranks

    def sentence(self, best: int) -> str:
        """The verdict with its numbers.

        Args:
            best: the candidate that is taken.
        """
        used = self.folds_used.sum()
        whole = len(self.candidates) * self.table.k
        counted = len(self.folds[best].keys() - set(self.left_out))
        text = (
            f"The best of {len(self.candidates)} candidates by {self.scorer.name} is "
            f"{dict(self.candidates[best])}, {self.mean(best):.4f} in {counted} of "
            f"{self.table.k} folds; {used} of {whole} folds were run ({1 - used / whole:.0%} saved)"
        )
        sentences = [f"{text}{self._promise()}."]
        if self._terms is not None:
            withheld = withheld_sentence(self._terms)
            if withheld is not None:
                sentences.append(withheld)
        if self.left_out:
            sentences.append(self._left_out_sentence())
        if self.out:
            sentences.append(self._out_sentence())
        return " ".join(sentences)

    def _promise(self) -> str:
        """What is known of the others, as the end of a sentence."""
        if self._terms is None or self.verdict is None:
            return ""
        if not self._terms.certain and not self._terms.bounded:
            return ""
        if not self._terms.certain:
            loss = f"{self._terms.expected_loss:.2%}"
            return f"; at most {loss} is expected to be lost by taking it"
        promise = (
            f", and no other has a better mean of all {len(self.order)} folds, at "
            f"{self._terms.confidence:.0%} confidence"
        )
        ties = len(self.verdict.tied)
        if ties:
            promise += f"; {ties} tie with it"
        return promise

    def _left_out_sentence(self) -> str:
        names = listed([str(fold) for fold in sorted(self.left_out)])
        if len(self.left_out) == 1:
            return f"Fold {names} has no score of any candidate, so it is left out."
        return f"Folds {names} have no score of any candidate, so they are left out."

    def _out_sentence(self) -> str:
        names = listed([str(dict(self.candidates[place])) for place in sorted(self.out)][:_NAMED])
        if len(self.out) > _NAMED:
            names = f"{len(self.out)} candidates"
        verb = "have"
        if len(self.out) == 1:
            verb = "has"
        return f"Out: {names}, which {verb} no score in a fold where another has one."

    def sentence_without_winner(self) -> str:
        """Why nobody is best."""
        name = self.scorer.name
        if self.order:
            return (
                f"none of {len(self.candidates)} candidates can be chosen, for each has no finite "
                f"{name} in a fold where another has one; set error_score to a number that counts "
                "there, or mend the candidates"
            )
        return (
            f"no candidate has a finite {name} in any of the {self.table.k} folds, so none is "
            "best; choose another score, or folds in which it is defined"
        )


def _scores_text(fold: Scored) -> str:
    """The scores of a fold as scikit-learn prints them: ' score=(train=0.950, test=0.910)'."""
    if fold.results is None:
        return f" score={fold.error_score:.3f}"
    text = ""
    for key, values in fold.results.items():
        kind, _, name = key.partition("_")
        if kind != "test":
            continue
        score = f"{values[0]:.3f}"
        if f"train_{name}" in fold.results:
            train_score = fold.results[f"train_{name}"][0]
            score = f"(train={train_score:.3f}, test={score})"
        text += f" {name}={score}"
    return text


def _is_bounded(table: SplitSamples, scorer: Scoring, *, certain: bool) -> bool:
    """Whether a fold can be only so bad, as far as a search has to know.

    Of predicted numbers no error is too large. Of log loss it is known what one sample can do,
    which is enough to be certain who is best, but not to say what is lost on average.
    """
    metric = metric_named(scorer.name)
    if certain or metric is None:
        return table.classes
    return table.classes and metric.bounded


_NAMED = 3
"""More candidates that are out are counted, not named."""


def _kind(candidate: Mapping[str, Any]) -> tuple[type, ...]:
    """What a candidate is, where estimators are searched: of two alike folds behave alike."""
    return tuple(type(value) for value in candidate.values() if hasattr(value, "fit"))


def _ranks_of_means(means: NDArray[np.float64]) -> NDArray[np.int32]:
    """Places by a score that did not decide, as in scikit-learn: who has no mean comes last."""
    if np.isnan(means).all():
        return np.ones(len(means), np.int32)
    ranked = np.where(np.isnan(means), np.nanmin(means) - 1, means)
    return np.asarray(rankdata(-ranked, method="min"), np.int32)


def _warn_of_scores(key: str, means: NDArray[np.float64]) -> None:
    """Warn of candidates without a mean, in scikit-learn's words."""
    if not np.isfinite(means).all():
        warnings.warn(
            f"One or more of the {key.partition('_')[0]} scores are non-finite: {means}",
            UserWarning,
            stacklevel=5,
        )


def _parameter_columns(candidates: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A masked array for each parameter, as `GridSearchCV` has them."""
    names: dict[str, None] = {}
    for candidate in candidates:
        names |= dict.fromkeys(candidate)
    return {f"param_{name}": _parameter_column(name, candidates) for name in names}


def _parameter_column(name: str, candidates: Sequence[Mapping[str, Any]]) -> Any:
    """The values of a parameter, masked where a candidate has none."""
    places = [place for place, candidate in enumerate(candidates) if name in candidate]
    values = [candidates[place][name] for place in places]
    kind = np.dtype(object)
    if all(isinstance(value, Real) for value in values):
        kind = np.result_type(*values)
    column = np.ma.MaskedArray(np.empty(len(candidates), kind), mask=True)
    for place, value in zip(places, values, strict=True):
        column[place] = value
    return column


@kinds_checked
def search_terms(k: int, confidence: float, expected_loss: float | None, certain: bool) -> Terms:
    """What a search is to find out.

    Raises:
        InputError: for a value that cannot be.
    """
    if certain:
        expected_loss = None
    return Terms(k=k, confidence=confidence, expected_loss=expected_loss)


class SampleDifferences(FoldDifferences):
    """Differences of candidates in the same folds, by what their samples or groups tell.

    Args:
        folds: of each candidate, fold -> scores; folds may come, none changes.
        kinds: what each candidate is; of two alike the folds behave much the same.
        apart: whether no sample, or group, is held out in two folds.
    """

    def __init__(
        self, folds: Sequence[Mapping[int, Scored]], kinds: Sequence[object], *, apart: bool
    ) -> None:
        super().__init__()
        self._folds = folds
        self._kinds = kinds
        self._apart = apart

    def scores(self, contender: int, folds: Sequence[int]) -> NDArray[np.float64]:
        return np.array([self._folds[contender][fold].score for fold in folds])

    def alike(self, contender: int, other: int) -> bool:
        return self._kinds[contender] == self._kinds[other]

    def variance_of_users(self, contender: int, other: int, folds: Sequence[int]) -> float:
        """The variance of one fold's difference as samples tell it; NaN where they do not."""
        differences: list[SampleValues] = []
        for fold in folds:
            mine = self._folds[contender][fold].samples
            theirs = self._folds[other][fold].samples
            if mine is None or theirs is None or not np.array_equal(mine.units, theirs.units):
                return np.nan
            difference = SampleValues(
                units=mine.units,
                values=mine.values - theirs.values,
                reach=max(mine.reach, theirs.reach),
            )
            differences.append(difference)
        if self._apart:
            return _variance_apart(differences)
        return _variance_of_units(differences)


def _variance_of_units(folds: Sequence[SampleValues]) -> float:
    """The variance of a fold's mean where samples, or groups, may come in several folds.

    Args:
        folds: differences of two candidates.
    """
    everybody = np.unique(np.concatenate([fold.units for fold in folds]))
    values = np.full((len(folds), len(everybody)), np.nan)
    for row, fold in zip(values, folds, strict=True):
        row[np.searchsorted(everybody, fold.units)] = fold.values
    return variance_over_all(values)


def _variance_apart(folds: Sequence[SampleValues]) -> float:
    """The variance of a fold's mean where nobody comes twice: each fold's spread is all there is.

    Samples that two candidates predict alike are no proof that they always will: half a sample
    that is predicted otherwise is expected (Jeffreys' prior), or small tables would be decided at
    once. So the sum of squares is never below what half a sample would have, at its largest.

    Args:
        folds: differences of two candidates.

    Returns:
        NaN where each fold is a single sample, or no sample tells anything.
    """
    people = np.array([float(len(fold.values)) for fold in folds])
    if people.max() == 1:  # left out by itself: folds have to tell
        return np.nan
    squares = 0.0
    largest_reach = 0.0
    for fold in folds:
        squares += float(((fold.values - fold.values.mean()) ** 2).sum())
        largest_reach = max(largest_reach, fold.reach)
    total = max(squares, largest_reach**2 / 2)
    if total == 0:
        return np.nan
    return float(total / (people - 1).sum() / people.mean())


def _draws(spaces: Any, draws: int, random_state: Any) -> Iterable[Mapping[str, Any]]:
    """Candidates that are drawn from a space, or from several in turn.

    Raises:
        scikit-learn's errors for what is no space.
    """
    if not isinstance(draws, Integral) or draws < 1:
        raise InvalidInput(f"n_iter candidates are drawn, at least 1, but it is {draws!r}")
    parts = spaces
    if isinstance(spaces, Mapping):
        parts = [spaces]
    values: list[Any] = []
    for space in parts:
        values += space.values()
    optuna = _optuna_of(values)
    if optuna is not None:
        seed = None
        if random_state is not None:
            seed = _seed_of(random_state)
        return _drawn_by_optuna(optuna, parts, draws, seed)
    return ParameterSampler(spaces, draws, random_state=random_state)


def _optuna_of(values: Iterable[Any]) -> Any:
    """Optuna, where one of a space's values is a distribution of Optuna's; else None."""
    optuna = sys.modules.get("optuna")  # nobody who has not loaded it has its distributions
    if optuna is None:
        return None
    if any(isinstance(value, optuna.distributions.BaseDistribution) for value in values):
        return optuna
    return None


def _drawn_by_optuna(
    optuna: Any, spaces: Sequence[Mapping[str, Any]], draws: int, seed: int | None
) -> Iterator[Mapping[str, Any]]:
    """Draws from Optuna's distributions and from lists, from each space in turn."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    for draw in range(draws):
        distributions = {}
        for name, values in spaces[draw % len(spaces)].items():
            distributions[name] = values
            if not isinstance(values, optuna.distributions.BaseDistribution):
                distributions[name] = optuna.distributions.CategoricalDistribution(values)
        yield study.ask(distributions).params
