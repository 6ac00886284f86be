"""scikit-learn's search for parameters, where a candidate leaves as soon as it cannot win."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, NoReturn

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.callback import with_callbacks
from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    ParameterSampler,
    RandomizedSearchCV,
)
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import process_routing

from ecv_core.energy.real_meters import meter_for
from ecv_core.estimators.callbacks import SearchCallbacks
from ecv_core.estimators.fold_scores import InvalidInput, NoScore, SplitSamples
from ecv_core.estimators.race import Race, candidate_of, check_refit
from ecv_core.evaluation.directions import metric_named
from ecv_core.evaluation.scoring import Scoring
from ecv_core.library.settings import settings_of_rule
from ecv_core.records.parameters import score_text
from ecv_core.records.spec import RunSpec
from ecv_core.selection.rounds import Verdict
from ecv_core.stopping import NEVER_STOPS, StoppingRule


class _EarlySearch(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A search of scikit-learn's in which a candidate leaves as soon as it cannot win.

    All but `fit` is inherited from scikit-learn, and where all folds run `fit` is as well.
    """

    best_params_: Mapping[str, Any]
    best_score_: float
    cv_results_: dict[str, Any]
    verdict_: Verdict | None

    def _drawn_candidates(self) -> Iterable[Mapping[str, Any]]:
        """The candidates, in the order of `cv_results_`."""
        raise NotImplementedError

    @with_callbacks  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Search, and fit the best on all samples.

        Args:
            as of scikit-learn's search.

        Raises:
            scikit-learn's own errors; InvalidInput for folds in the order of time, or a value
                that cannot be.
        """
        meter = None
        if self.energy:
            # The meter reads only the country and the watts of a spec: here they are the usual
            # ones.
            meter = meter_for(RunSpec(dataset="", algorithm=""))
            meter.start()
        if self._runs_all_folds():
            super().fit(X, y, **params)
            self._set_results_of_all_folds()
        else:
            self._fit_in_race(X, y, params)
        if meter is not None:
            self.joules_ = meter.stop().joules
        return self

    def _runs_all_folds(self) -> bool:
        """Whether no candidate may leave early.

        Raises:
            InvalidInput: For a rule that a search does not have.
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

    def _set_results_of_all_folds(self) -> None:
        """Say the same after scikit-learn's own search as after a race."""
        candidate_count = len(self.cv_results_["params"])
        self.n_folds_used_ = np.full(candidate_count, self.n_splits_)
        self.folds_saved_ = 0
        self.verdict_ = None
        self.sentence_ = f"All {self.n_splits_} folds of {candidate_count} candidates were run."
        if hasattr(self, "best_params_"):
            verb = "The best is"
            if callable(self.refit):  # it may take any
                verb = "Your function refit took"
            self.sentence_ += f" {verb} {self.best_params_}"
            if hasattr(self, "best_score_"):
                self.sentence_ += f", {score_text(self.best_score_)}"
            self.sentence_ += "."

    def _fit_in_race(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        """Run folds of the candidates until the best is known, and fit it on all samples.

        Args:
            X: The samples.
            y: Their targets.
            params: What else `fit` was given, such as groups and sample_weight.
        """
        scorer = self._checked_scoring()
        sample_weight = params.get("sample_weight")
        if get_config()["enable_metadata_routing"]:
            # scikit-learn itself hands groups and weights to the splitter and the scorer, if these
            # ask for them.
            groups = None
            score_weights = None
            fit_params = process_routing(self, "fit", **params).estimator.fit
        else:
            groups = params.pop("groups", None)  # only the splitter takes groups
            score_weights = sample_weight
            fit_params = params
        table = SplitSamples(self.estimator, X, y, self.cv, groups, params)
        if score_weights is not None:
            table.score_weights = np.asarray(score_weights)
            self._warn_without_weights(scorer)
        table.check_number_of_folds()
        table.check_not_in_time(
            "no candidate may leave early there: use rule='never', which runs them all, or shuffle"
        )
        candidates = list(self._drawn_candidates())
        # The folds run in an order drawn by chance; without a random state it is always the same.
        table.shuffle(_seed_of(self.random_state or 0))
        # Users may set callbacks of scikit-learn to follow a search.
        callbacks = SearchCallbacks(self, table, sample_weight)
        race = Race(self, table, scorer, candidates, callbacks)
        with callbacks.during_fit():
            with callbacks.during_race(len(candidates)):
                race.run()
            if not race.best_first:
                # This always raises an error, which says why.
                self._refuse_without_winner(race, fit_params)
            self._set_results_of(race)
            if self.refit:
                self._refit(table, fit_params, callbacks)

    def _checked_scoring(self) -> Scoring:
        """The scorers, of which `refit` says which decides.

        Raises:
            scikit-learn's errors; InvalidInput where `refit` is nothing that it can be.
        """
        if not isinstance(self.refit, bool | np.bool_ | str) and not callable(self.refit):
            raise InvalidInput(
                f"refit is True, False, a scorer's name or a function, but is {self.refit!r}"
            )
        deciding_name = None
        if isinstance(self.refit, str):
            deciding_name = self.refit
        scorer = Scoring(self.estimator, self.scoring, deciding_name)
        if scorer.multimetric:
            check_refit(self.refit, scorer.scorers)
        return scorer

    def _warn_without_weights(self, scorer: Scoring) -> None:
        """Name the scorers that ignore `sample_weight`, in scikit-learn's words."""
        for name in scorer.scorers_without_weights(self.estimator):
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
        best = candidate_of(self.estimator, self.best_params_)
        began = time.time()
        with callbacks.during_refit(best):
            _fit(best, table, fit_params)
        self.refit_time_ = time.time() - began
        self.best_estimator_ = best
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_

    def _refuse_without_winner(self, race: Race, fit_params: Mapping[str, Any]) -> NoReturn:
        """Say that there is no winner.

        Raises:
            the error of a fit on all samples, where there is one, for it says what is wrong
                with the data, and `GridSearchCV` raises it likewise; else NoScore.
        """
        if self.refit:
            _fit(candidate_of(self.estimator, race.candidates[0]), race.table, fit_params)
        raise NoScore(race.sentence_without_winner())

    def _set_results_of(self, race: Race) -> None:
        """What a search has after `fit`: see `EFoldSearchCV`."""
        self.n_splits_ = race.table.k
        self.scorer_ = race.scorer.scorers
        self.n_folds_used_ = race.folds_used
        self.folds_saved_ = len(race.candidates) * race.table.k - int(race.folds_used.sum())
        self.verdict_ = race.verdict
        self.cv_results_ = race.results()
        fitted_fold = race.fitted_fold()
        self.multimetric_ = fitted_fold.score_names != ["score"]
        mean_scores = self.cv_results_[f"mean_test_{fitted_fold.deciding_score}"]
        winner = int(self.cv_results_[f"rank_test_{fitted_fold.deciding_score}"].argmin())
        _warn_where_lower_is_better(race.scorer.name, mean_scores[winner])
        best_index = winner
        if callable(self.refit):  # scikit-learn lets a function choose from the results
            best_index = _checked_index(self.refit(self.cv_results_), len(race.candidates))
        # With several scores nobody is the best unless `refit` says which score decides, as in
        # scikit-learn.
        if self.refit or not self.multimetric_:
            self.best_index_ = best_index
            self.best_params_ = self.cv_results_["params"][best_index]
            if not callable(self.refit):
                self.best_score_ = mean_scores[best_index]
        self.sentence_ = race.sentence(winner)
        if best_index != winner:
            self.sentence_ += f" Your function refit took {race.candidate_text(best_index)}."


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
        expected_loss: It ends once at most this share of the leader's mean is expected to be lost
            by taking it; with 0 all folds run, as with rule='never'.
        certain: It ends once no other can have the best mean of all folds, with `confidence`.
        confidence: The confidence of that, in (0, 1).
        random_state: The random state of the order in which the folds run; with None the same order
            every time.
        energy: Whether the whole search is metered (`joules_`), refit included.

    Attributes:
        n_folds_used_: of each candidate, shape (candidates,).
        folds_saved_: how many fewer folds than `GridSearchCV` it took.
        sentence_: the verdict with its numbers.
        verdict_: as of `selection`; None for a single candidate, and where all folds were to run.
        joules_: of the whole search, where energy was asked for.

    >>> import ecv_core as ecv
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> grid = {"C": [0.0001, 1.0]}
    >>> ecv.EFoldSearchCV(LogisticRegression(max_iter=500), grid).fit(X, y).best_params_
    {'C': 1.0}
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
        param_distributions: As there, name -> values or a distribution of scipy (`rvs`), or a list
            of these; also distributions of Optuna.
        random_state: The random state of the draw, as there, and of the order in which the folds
            run.
        rule, expected_loss, certain, confidence, energy: as of `EFoldSearchCV`, and so is what it
            has after `fit`.

    >>> import ecv_core as ecv
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=500)
    >>> space = {"C": [0.0001, 1.0]}
    >>> ecv.EFoldRandomizedSearchCV(model, space, n_iter=2).fit(X, y).best_params_
    {'C': 1.0}
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
        return _draw_candidates(self.param_distributions, self.n_iter, self.random_state)


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


def _warn_where_lower_is_better(name: str, mean: float) -> None:
    """Warn of a score such as 'mean_squared_error', of which a search takes the highest."""
    metric = metric_named(name)
    if metric is None or metric.higher_is_better or not mean > 0:
        return
    warnings.warn(
        f"a search takes the highest {name}, although lower is better; negate it, as make_scorer "
        "does with greater_is_better=False",
        UserWarning,
        stacklevel=6,  # The warning points at where fit is called.
    )


def _checked_index(index: Any, candidate_count: int) -> int:
    """What a `refit` of somebody's own gives.

    Raises:
        TypeError, IndexError as scikit-learn.
    """
    if not isinstance(index, Integral):
        raise TypeError("best_index_ returned is not an integer")
    best_index = int(index)
    if not 0 <= best_index < candidate_count:
        raise IndexError("best_index_ index out of range")
    return best_index


def _draw_candidates(spaces: Any, count: int, random_state: Any) -> Iterable[Mapping[str, Any]]:
    """Candidates that are drawn from a space, or from several in turn.

    Raises:
        scikit-learn's errors for what is no space.
    """
    if not isinstance(count, Integral) or count < 1:
        raise InvalidInput(f"n_iter candidates are drawn, at least 1, but it is {count!r}")
    list_of_spaces = spaces
    if isinstance(spaces, Mapping):
        list_of_spaces = [spaces]
    values = []
    for space in list_of_spaces:
        values += space.values()
    optuna = _optuna_if_used(values)
    if optuna is not None:
        seed = None
        if random_state is not None:
            seed = _seed_of(random_state)
        return _draw_by_optuna(optuna, list_of_spaces, count, seed)
    return ParameterSampler(spaces, count, random_state=random_state)


def _optuna_if_used(values: Iterable[Any]) -> Any:
    """Optuna, where one of a space's values is a distribution of Optuna's; else None."""
    optuna = sys.modules.get("optuna")  # nobody who has not loaded it has its distributions
    if optuna is None:
        return None
    if any(isinstance(value, optuna.distributions.BaseDistribution) for value in values):
        return optuna
    return None


def _draw_by_optuna(
    optuna: Any, spaces: Sequence[Mapping[str, Any]], count: int, seed: int | None
) -> Iterator[Mapping[str, Any]]:
    """Draws from Optuna's distributions and from lists, from each space in turn."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
    for draw in range(count):
        distributions = {}
        for name, values in spaces[draw % len(spaces)].items():
            distributions[name] = values
            if not isinstance(values, optuna.distributions.BaseDistribution):
                distributions[name] = optuna.distributions.CategoricalDistribution(values)
        yield study.ask(distributions).params
