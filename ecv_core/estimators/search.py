"""scikit-learn's search for parameters, where a candidate leaves as soon as it cannot win."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, ParameterSampler
from sklearn.utils.metadata_routing import process_routing

from ecv_core.energy.real_meters import meter_for
from ecv_core.estimators.fold_scores import Scored, SplitSamples, check_fits
from ecv_core.evaluation.scoring import Scoring, Told
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.errors import InputError
from ecv_core.records.spec import RunSpec
from ecv_core.selection.evidence import Difference, folds_in
from ecv_core.selection.rounds import Selection, Terms, Verdict
from ecv_core.stopping.fold_variance import user_variance


class EFoldSearchCV(GridSearchCV):  # type: ignore[misc]  # scikit-learn has no types
    """`GridSearchCV` by fewer folds: candidates meet on the same folds, and leave when out.

        search = ecv.EFoldSearchCV(SVC(), {"C": [0.1, 1, 10]}, cv=10).fit(X, y)
        search.best_params_, search.folds_saved_, search.sentence_

    What it has after `fit` is what `GridSearchCV` has, and below. In `cv_results_` a score is NaN
    where a candidate was stopped before that split; its means are over the splits that it ran
    (`n_folds`), so that ranks are by place in the selection instead. Differences on the same
    held-out samples decide, as docs/estimators.md says.

    Args:
        estimator, scoring, n_jobs, refit, cv, verbose, error_score, return_train_score: as there;
            with several scorers the one that `refit` names decides, or else the first.
        param_grid: name -> values, or a list of these, for all combinations; or distributions, of
            which some candidates are drawn: lists, those of scipy (`rvs`), or Optuna's.
        n_iter: how many are drawn; by default all combinations, or 10 of distributions.
        expected_loss: it ends once at most this share of the leader's mean is expected to be lost
            by taking it.
        certain: it ends once no other can have the best mean of all folds, with `confidence`.
        confidence: of that, in (0, 1).
        random_state: of the draw, and of the order in which the folds run.
        energy: whether the whole search is metered (`joules_`), refit included.

    Attributes:
        n_folds_used_: of each candidate, shape (candidates,).
        folds_saved_: how many fewer folds than `GridSearchCV` it took.
        sentence_: the verdict with its numbers.
        verdict_: as of `selection`; None for a single candidate.
        joules_: of the whole search, where energy was asked for.
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        n_iter: int | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = 10,
        expected_loss: float = 0.001,
        certain: bool = False,
        confidence: float = 0.95,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: int | None = 0,
        error_score: Any = np.nan,
        return_train_score: bool = False,
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
        self.n_iter = n_iter
        self.expected_loss = expected_loss
        self.certain = certain
        self.confidence = confidence
        self.random_state = random_state
        self.energy = energy

    def fit(self, X: Any, y: Any = None, **params: Any) -> EFoldSearchCV:
        """Search, and fit the best on all samples. Args: as of `GridSearchCV.fit`.

        Raises: scikit-learn's own errors; InputError for folds in the order of time, or a value
            that cannot be.
        """
        watch = self.refit if isinstance(self.refit, str) else None
        scorer = Scoring(self.estimator, self.scoring, watch)
        if scorer.multimetric:
            self._check_refit(scorer.scorers)
        routing = get_config()["enable_metadata_routing"]
        groups = None if routing else params.pop("groups", None)
        fit_params = process_routing(self, "fit", **params).estimator.fit if routing else params
        table = SplitSamples(self.estimator, X, y, self.cv, groups, params)
        table.shuffle(self.random_state)
        table.check_by_chance("no candidate may leave early there: use GridSearchCV, or shuffle")
        candidates = list(_candidates(self.param_grid, self.n_iter, self.random_state))
        if not candidates:
            raise InputError("there is no candidate to choose from; give values of a parameter")
        meter = meter_for(RunSpec(dataset="", algorithm="")) if self.energy else None
        if meter is not None:
            meter.start()
        race = _Race(self, table, scorer, candidates, watch)
        race.run()
        self._tell(race)
        if self.refit:
            best = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
            began = time.time()
            best.fit(*((table.X,) if y is None else (table.X, table.y)), **fit_params)
            self.refit_time_ = time.time() - began
            self.best_estimator_ = best
            if hasattr(best, "feature_names_in_"):
                self.feature_names_in_ = best.feature_names_in_
        if meter is not None:
            self.joules_ = meter.stop().joules
        return self

    def _check_refit(self, names: Iterable[str]) -> None:
        """Refuse what does not say which of several scores decides. Raises: ValueError."""
        if self.refit is not False and not callable(self.refit) and self.refit not in set(names):
            raise ValueError(
                "For multi-metric scoring, the parameter refit must be set to a scorer key or a "
                f"callable, which says what the best is; or to False. {self.refit!r} was passed."
            )

    def _tell(self, race: _Race) -> None:
        self.n_splits_ = race.table.k
        self.scorer_ = race.scorer.scorers
        self.n_folds_used_ = np.array([len(one) for one in race.found])
        self.folds_saved_ = len(race.found) * race.table.k - int(self.n_folds_used_.sum())
        self.verdict_: Verdict | None = race.verdict
        self.cv_results_ = race.results()
        ranks = [key for key in self.cv_results_ if key.startswith("rank_test_")]
        scores = [key.removeprefix("rank_test_") for key in ranks]
        self.multimetric_ = scores != ["score"]
        if self.multimetric_:
            self._check_refit(scores)
        watch = self.refit if self.refit in scores else scores[0]
        best = int(self.cv_results_[f"rank_test_{watch}"].argmin())
        if callable(self.refit):
            best = self.refit(self.cv_results_)
        if self.refit or not self.multimetric_:
            self.best_index_ = best
            self.best_params_ = self.cv_results_["params"][best]
            if not callable(self.refit):
                self.best_score_ = self.cv_results_[f"mean_test_{watch}"][best]
        self.sentence_ = race.sentence(best)


class _Race:
    """The candidates of a search, their folds, and who is in."""

    def __init__(
        self,
        search: EFoldSearchCV,
        table: SplitSamples,
        scorer: Scoring,
        candidates: Sequence[Mapping[str, Any]],
        watch: str | None,
    ) -> None:
        self.table, self.scorer, self.candidates = table, scorer, candidates
        self._search, self._watch = search, watch
        self.found: list[dict[int, Scored]] = [{} for _ in candidates]
        """Of each candidate, fold -> scores."""
        self.verdict: Verdict | None = None
        self.places: list[int] = []
        """Candidates by their places in the verdict; those that failed are none."""
        self._terms = None
        if len(candidates) > 1:
            self._terms = search_terms(
                table.k, search.confidence, search.expected_loss, search.certain
            )

    def run(self) -> None:
        every = [(one, at) for one in range(len(self.candidates)) for at in self.table.order]
        if self._terms is None:
            self._compute(every)
            self.places = [0]
        while self._terms is not None and not self._decided(self._terms):
            pass
        check_fits([fold for one in self.found for fold in one.values()], self._search.error_score)

    def _decided(self, terms: Terms) -> bool:
        """Go on with those that have not failed; False where another has failed meanwhile."""
        healthy = [one for one in range(len(self.candidates)) if self._healthy(one)]
        self.places = healthy
        if len(healthy) < 2:
            self._compute([(one, at) for one in healthy for at in self.table.order])
            return True
        kinds = [
            tuple(type(value) for value in self.candidates[one].values() if hasattr(value, "fit"))
            for one in healthy
        ]
        found = [self.found[one] for one in healthy]
        differences = SampleDifferences(found, kinds, apart=self.table.apart)
        race = Selection(differences, len(healthy), terms)
        while not race.decided:
            wanted = list(race.next_folds(self.table.order))
            self._compute([(healthy[one], at) for one, at in wanted])
            if not all(map(self._healthy, healthy)):
                return False
            for one, at in wanted:
                race.ran(one, at)
            now = race.look()
            if self._search.verbose:
                left = f"{len(now.left)} of {len(self.candidates)} candidates"
                print(  # noqa: T201  as scikit-learn's searches do
                    f"After {sum(map(len, self.found))} folds: {left} left, the best is "
                    f"{dict(self.candidates[healthy[now.leader]])}"
                )
        self.verdict = race.verdict()
        self.places = [healthy[one] for one in self.verdict.order]
        return True

    def score(self, one: int, at: int) -> float:
        """What decides, of a candidate in a fold that it has run."""
        return self.found[one][at].score

    def _healthy(self, one: int) -> bool:
        return all(np.isfinite(self.score(one, at)) for at in self.found[one])

    def _compute(self, wanted: Iterable[tuple[int, int]]) -> None:
        """Those folds of candidates that are not there yet."""
        search = self._search
        lacking = [(one, at) for one, at in wanted if at not in self.found[one]]
        settings = {
            "error_score": search.error_score,
            "return_train_score": search.return_train_score,
            "verbose": max(search.verbose - 1, 0),
        }
        folds = self.table.computed(
            [(self._estimator(one), at) for one, at in lacking],
            lambda of: Scoring(of, search.scoring, self._watch),
            search.n_jobs,
            search.pre_dispatch,
            **settings,
        )
        for (one, at), fold in zip(lacking, folds, strict=True):
            self.found[one][at] = fold

    def _estimator(self, one: int) -> Any:
        params = clone(dict(self.candidates[one]), safe=False)
        return clone(self._search.estimator).set_params(**params)

    def results(self) -> dict[str, Any]:
        k, count = self.table.k, len(self.candidates)
        examples = (fold.found for one in self.found for fold in one.values() if fold.found)
        scores = [key for key in next(examples) if key.startswith(("test_", "train_"))]
        results: dict[str, Any] = {}
        for key in ("fit_time", "score_time", *scores):
            values = np.full((count, k), np.nan)
            for row, folds in zip(values, self.found, strict=True):
                for at, fold in folds.items():
                    if fold.found is not None:
                        row[at] = fold.found[key][0]
                    elif key in scores and self._search.error_score != "raise":
                        row[at] = self._search.error_score
            ran = np.array([[at in folds for at in range(k)] for folds in self.found])
            # NaN of a fold that failed makes the mean NaN, as in scikit-learn.
            if key in scores:
                results |= {f"split{at}_{key}": values[:, at] for at in range(k)}
            else:
                values = np.nan_to_num(values)
            mean = np.where(ran, values, 0).sum(axis=1) / ran.sum(axis=1)
            about = np.where(ran, (values - mean[:, None]) ** 2, 0)
            results[f"mean_{key}"] = mean
            results[f"std_{key}"] = np.sqrt(about.sum(axis=1) / ran.sum(axis=1))
        for name in dict.fromkeys(name for one in self.candidates for name in one):
            lacking = np.array([name not in one for one in self.candidates])
            given = [one[name] for one in self.candidates if name in one]
            numbers = all(isinstance(value, Real) for value in given)
            kind = np.result_type(*given) if numbers else np.dtype(object)
            column = np.ma.MaskedArray(np.empty(count, kind), mask=lacking)
            for at, one in enumerate(self.candidates):
                if name in one:
                    column[at] = one[name]
            results[f"param_{name}"] = column
        results["params"] = [dict(one) for one in self.candidates]
        results["n_folds"] = np.array([len(one) for one in self.found])
        ranks = np.full(count, max(len(self.places), 1) + (len(self.places) < count), np.int32)
        ranks[self.places] = np.arange(1, len(self.places) + 1)
        for key in scores:
            if key.startswith("test_"):
                results[f"rank_{key}"] = ranks
        return results

    def sentence(self, best: int) -> str:
        k, used = self.table.k, sum(map(len, self.found))
        whole = len(self.candidates) * k
        mean = np.mean([self.score(best, at) for at in self.found[best]])
        text = (
            f"The best of {len(self.candidates)} candidates by {self.scorer.name} is "
            f"{dict(self.candidates[best])}, {mean:.4f} in {len(self.found[best])} of {k} folds; "
            f"{used} of {whole} folds were run ({1 - used / whole:.0%} saved)"
        )
        if self._terms is None or self.verdict is None:
            return f"{text}."
        if self._terms.certain:
            ties = len(self.verdict.tied)
            return f"{text}, and no other has a better mean of all {k} folds, at " + (
                f"{self._terms.confidence:.0%} confidence"
                + (f"; {ties} tie with it." if ties else ".")
            )
        return (
            f"{text}; at most {self._terms.expected_loss:.2%} is expected to be lost by taking it."
        )


@kinds_checked
def search_terms(k: int, confidence: float, expected_loss: float | None, certain: bool) -> Terms:
    """What a search is to find out. Raises: InputError for a value that cannot be."""
    return Terms(k=k, confidence=confidence, expected_loss=None if certain else expected_loss)


class SampleDifferences:
    """Differences of candidates in the same folds, by what their samples or groups tell.

    Args:
        found: of each candidate, fold -> scores; folds may come, none changes.
        kinds: what each candidate is; of two alike the folds behave much the same.
        apart: whether no sample, or group, is held out in two folds.
    """

    def __init__(
        self, found: Sequence[Mapping[int, Scored]], kinds: Sequence[object], *, apart: bool
    ) -> None:
        self._found, self._kinds, self._apart = found, kinds, apart
        self._known: dict[tuple[int, int, int], Difference] = {}

    def mean(self, one: int, folds: int) -> float:
        return float(np.mean([self._found[one][at].score for at in folds_in(folds)]))

    def alike(self, one: int, other: int) -> bool:
        return self._kinds[one] == self._kinds[other]

    def between(self, one: int, other: int, folds: int) -> Difference:
        key = (one, other, folds)
        if key not in self._known:
            rows, a, b = folds_in(folds), self._found[one], self._found[other]
            apart = np.array([a[at].score - b[at].score for at in rows])
            self._known[key] = Difference(
                mean=float(apart.mean()),
                users=self._explained(one, other, rows),
                observed=float(apart.var(ddof=1)) if len(rows) > 1 else np.nan,
                folds=len(rows),
            )
        return self._known[key]

    def _explained(self, one: int, other: int, rows: Sequence[int]) -> float:
        """The variance of one fold's difference as samples tell it; NaN where they do not."""
        pairs = [(self._found[one][at].told, self._found[other][at].told) for at in rows]
        apart: list[Told] = []
        for mine, theirs in pairs:
            if mine is None or theirs is None or not np.array_equal(mine.units, theirs.units):
                return np.nan
            apart.append(Told(units=mine.units, values=mine.values - theirs.values))
        if not self._apart:
            everybody = np.unique(np.concatenate([fold.units for fold in apart]))
            values = np.full((len(rows), len(everybody)), np.nan)
            for row, fold in zip(values, apart, strict=True):
                row[np.searchsorted(everybody, fold.units)] = fold.values
            return float(user_variance(values, np.ones((1, len(rows)), np.bool_))[0][0])
        # Nobody comes twice: each fold's spread is all there is to know.
        people = np.array([float(len(fold.values)) for fold in apart])
        if people.max() == 1:  # left out by itself: folds have to tell
            return np.nan
        total = np.array([((one.values - one.values.mean()) ** 2).sum() for one in apart]).sum()
        if not total and all(
            np.isin(told.values, (0, 1)).all() for two in pairs for told in two if told
        ):
            # Of right and wrong, not even one difference yet is no proof that there will be none:
            # half a one is expected (Jeffreys' prior), or small tables would be decided at once.
            total = 0.5
        return float(total / (people - 1).sum() / people.mean())


def _candidates(given: Any, n_iter: int | None, seed: int | None) -> Iterable[Mapping[str, Any]]:
    """Combinations of values, or draws. Raises: scikit-learn's errors for what is no space."""
    if n_iter is not None and n_iter < 1:
        raise InputError(f"n_iter candidates are drawn, at least 1, but it is {n_iter}")
    drawn = n_iter or 10  # as scikit-learn's RandomizedSearchCV
    spaces = [given] if isinstance(given, Mapping) else given
    values = [value for space in spaces for value in space.values()]
    optuna = sys.modules.get("optuna")
    if optuna is not None and any(
        isinstance(value, optuna.distributions.BaseDistribution) for value in values
    ):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
        listed = optuna.distributions.CategoricalDistribution
        for at in range(drawn):
            given = spaces[at % len(spaces)].items()
            space = {name: of if hasattr(of, "single") else listed(of) for name, of in given}
            yield study.ask(space).params
    elif n_iter is not None or any(hasattr(value, "rvs") for value in values):
        yield from ParameterSampler(given, drawn, random_state=seed)
    else:
        yield from ParameterGrid(given)
