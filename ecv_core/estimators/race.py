"""Candidates and their folds -> who is best, as soon as no other can be."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import clone

from ecv_core.estimators.callbacks import SearchCallbacks
from ecv_core.estimators.differences import SampleDifferences
from ecv_core.estimators.fold_scores import InvalidInput, Scored, SplitSamples, report_failed_fits
from ecv_core.evaluation.directions import metric_named
from ecv_core.evaluation.scoring import Scoring
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import listed, percent_text, score_text
from ecv_core.selection.document import withheld_sentence
from ecv_core.selection.rounds import Selection, Terms, Verdict


class Race:
    """The candidates of a search, their folds, and who is in.

    A fold in which no candidate has a score says nothing, and is left out. A candidate without a
    score in a fold in which another has one is out.
    """

    def __init__(
        self,
        search: Any,
        table: SplitSamples,
        scorer: Scoring,
        candidates: Sequence[Mapping[str, Any]],
        callbacks: SearchCallbacks,
    ) -> None:
        if not candidates:
            raise InvalidInput(
                "No fits were performed, for there is no candidate; give values of a parameter"
            )
        self.table = table
        self.scorer = scorer
        self.candidates = candidates
        self._search = search
        self._callbacks = callbacks
        self.folds: list[dict[int, Scored]] = [{} for _ in candidates]
        """For each candidate: fold -> its scores."""
        self.folds_without_score: list[int] = []
        """Folds in which nobody has a score, in the order in which they ran."""
        self.excluded: set[int] = set()
        """Candidates without a score in a fold where another has one."""
        self.verdict: Verdict | None = None
        self.best_first: list[int] = []
        """Candidates that are in, best first; none where nobody has a score."""
        self._selection_terms: Terms | None = None
        """What is asked of the candidates; None for a single one, as there is nothing to ask."""
        if len(candidates) > 1:
            try:
                terms = search_terms(
                    table.k, search.confidence, search.expected_loss, search.certain
                )
            except InputError as error:
                raise InvalidInput(str(error)) from error
            self._selection_terms = replace(
                terms, has_worst_score=_has_worst_score(table, scorer, certain=search.certain)
            )

    @property
    def folds_used(self) -> NDArray[np.int_]:
        """Folds that each candidate has run; shape (candidates,)."""
        return np.array([len(folds) for folds in self.folds])

    @property
    def remaining(self) -> list[int]:
        """Candidates that are not out."""
        return [index for index in range(len(self.candidates)) if index not in self.excluded]

    @property
    def order(self) -> list[int]:
        """Folds that count, in the order in which they run."""
        return [fold for fold in self.table.order if fold not in self.folds_without_score]

    def run(self) -> None:
        """Run folds until the best candidate is known, or nobody has a score.

        Raises:
            scikit-learn's error where every fit failed; the settings' own errors.
        """
        # If a fold or a candidate has to be left out, nothing is decided, and the others are
        # compared anew; the folds that have run are kept.
        terms = self._selection_terms
        decided = False
        while not decided:
            if terms is not None and len(self.remaining) > 1 and len(self.order) > 1:
                decided = self._decided_by_selection(replace(terms, k=len(self.order)))
            else:
                decided = self._decided_by_all_folds()
        report_failed_fits(self._scored_folds(), self._search.error_score)
        if self.folds_without_score and self.best_first:
            warnings.warn(self._left_out_sentence(), UserWarning, stacklevel=3)

    def _scored_folds(self) -> list[Scored]:
        """Every fold that a candidate has run."""
        scored_folds: list[Scored] = []
        for folds in self.folds:
            scored_folds += folds.values()
        return scored_folds

    def fitted_fold(self) -> Scored:
        """Any fold whose fit succeeded: where there is none, `run` has raised an error."""
        return next(scored for scored in self._scored_folds() if scored.results is not None)

    def _decided_by_all_folds(self) -> bool:
        """Have all folds run by those that are in: a single candidate, or on a single fold.

        Returns:
            False where a fold was left out, or a candidate is out now.
        """
        order = self.order
        self._run_folds([(index, fold) for index in self.remaining for fold in order])
        if self._exclude_without_score(order):
            return False  # the others are compared anew
        if order:
            self.best_first = sorted(self.remaining, key=self.mean, reverse=True)
        return True

    def _decided_by_selection(self, terms: Terms) -> bool:
        """Have folds run until the selection of those that are in is decided.

        Returns:
            False where a fold was left out, or a candidate is out now, so that another
            selection has to be made of the others; its folds are there already.
        """
        remaining = self.remaining  # the selection numbers them from 0, and calls them contenders
        order = self.order
        differences = SampleDifferences(
            [self.folds[index] for index in remaining],
            [_estimator_types(self.candidates[index]) for index in remaining],
            held_out_once=self.table.held_out_once,
            certain=terms.winner_must_be_certain,
        )
        selection = Selection(differences, len(remaining), terms)
        while not selection.decided:
            next_folds = list(selection.next_folds(order))
            self._run_folds([(remaining[contender], fold) for contender, fold in next_folds])
            if self._exclude_without_score([fold for _, fold in next_folds]):
                return False  # the others need a selection of their own
            for contender, fold in next_folds:
                selection.add_fold(contender, fold)
            look = selection.look()  # This compares the contenders, and drops who cannot win.
            if self._search.verbose:
                self._print_round(len(look.still_in), remaining[look.leader])
        self.verdict = selection.verdict()
        self.best_first = [remaining[contender] for contender in self.verdict.order]
        return True

    def _print_round(self, candidates_left: int, leader: int) -> None:
        print(  # noqa: T201  as scikit-learn's searches do
            f"After {self.folds_used.sum()} folds: {candidates_left} of {len(self.candidates)} "
            f"candidates left, the best is {dict(self.candidates[leader])}"
        )

    def _print_fold(self, index: int, fold: int) -> None:
        """Tell of a fold that has run, from `verbose=3` on with its scores, as scikit-learn."""
        scored = self.folds[index][fold]
        params = ", ".join(f"{name}={value}" for name, value in self.candidates[index].items())
        scores = ""
        if self._search.verbose > 2:
            scores = _scores_text(scored)
        print(  # noqa: T201
            f"[CV {fold + 1}/{self.table.k}] END {params};{scores} total time={scored.seconds:.1f}s"
        )

    def mean(self, index: int) -> float:
        """What a candidate has in the folds that it has run and that count; NaN without any."""
        scores = []
        for fold, scored in self.folds[index].items():
            if fold not in self.folds_without_score:
                scores.append(scored.score)
        if not scores:
            return float("nan")
        return float(np.mean(scores))

    def _exclude_without_score(self, folds: Iterable[int]) -> bool:
        """Leave out folds without a score, and candidates without one where another has one.

        Args:
            folds: The folds that were run just now.

        Returns:
            Whether anything was left out.
        """
        anything_excluded = False
        for fold in dict.fromkeys(folds):
            if not self._without_score(fold):
                continue
            anything_excluded = True
            # This may have further candidates run the fold, so who lacks a score is asked anew.
            if self._anybody_scores(fold):
                self.excluded.update(self._without_score(fold))
            else:
                self.folds_without_score.append(fold)
        return anything_excluded

    def _without_score(self, fold: int) -> list[int]:
        """Candidates that are in, have run a fold, and have no score there."""
        candidates = []
        for index in self.remaining:
            if fold in self.folds[index] and not self.folds[index][fold].has_score:
                candidates.append(index)
        return candidates

    def _anybody_scores(self, fold: int) -> bool:
        """Whether a candidate has a score in a fold; those that have not run it are asked too.

        Also those that are out: whether a fold counts must not depend on the order of the folds.
        """
        for folds in self.folds:
            if fold in folds and folds[fold].has_score:
                return True
        # Whether a fold counts must not depend on who has run it yet.
        for index in range(len(self.candidates)):
            self._run_folds([(index, fold)])
            if self.folds[index][fold].has_score:
                return True
        return False

    def _run_folds(self, folds: Iterable[tuple[int, int]]) -> None:
        """Have candidates run those folds that they have not run yet, into `self.folds`.

        Args:
            folds: Candidate and fold.
        """
        search = self._search
        folds_to_run = [(index, fold) for index, fold in folds if fold not in self.folds[index]]
        tasks = []
        for index, fold in folds_to_run:
            tasks.append((candidate_of(search.estimator, self.candidates[index]), fold))
        scored_folds = self.table.scored_folds(
            tasks,
            self._scoring,
            search.n_jobs,
            search.pre_dispatch,
            error_score=search.error_score,
            return_train_score=search.return_train_score,
        )
        for index, fold in folds_to_run:
            with self._callbacks.during_fold(index, fold):
                scored = next(scored_folds)  # where a single job computes, it begins here
            self.folds[index][fold] = scored
            if search.verbose > 1:
                self._print_fold(index, fold)
            # A function may give several scores, which is known only now.
            if scored.results is not None and scored.score_names != ["score"]:
                check_refit(search.refit, scored.score_names)

    def _scoring(self, estimator: Any) -> Scoring:
        return Scoring(estimator, self._search.scoring, self.scorer.deciding_name)

    def results(self) -> dict[str, Any]:
        """`cv_results_`."""
        results: dict[str, Any] = {}
        for key in ("fit_time", "score_time"):
            seconds = np.nan_to_num(self._values(key, failed=0.0))
            results |= self._mean_and_std(key, seconds)
        fitted_fold = self.fitted_fold()
        for key in fitted_fold.score_keys:
            values = self._values(key, failed=self._search.error_score)
            for fold in range(self.table.k):
                results[f"split{fold}_{key}"] = values[:, fold]
            summary = self._mean_and_std(key, values)
            results |= summary
            _warn_of_scores(key, summary[f"mean_{key}"])
        results |= _parameter_columns(self.candidates)
        results["params"] = [dict(candidate) for candidate in self.candidates]
        # By the score that decides, the candidates are ranked as the race has ordered them, for
        # their means are of different folds.
        for key in fitted_fold.score_keys:
            if key == f"test_{fitted_fold.deciding_score}":
                results[f"rank_{key}"] = self._ranks(results[f"mean_{key}"])
            elif key.startswith("test_"):
                results[f"rank_{key}"] = _ranks_of_means(results[f"mean_{key}"])
        return results

    def _values(self, key: str, *, failed: float) -> Floats:
        """What each candidate has in each fold; shape (candidates, k), NaN where it has not run.

        Args:
            key: The key of scikit-learn's results of a fold.
            failed: What a fit that failed has.
        """
        values = np.full((len(self.candidates), self.table.k), np.nan)
        for row, folds in zip(values, self.folds, strict=True):
            for fold, scored in folds.items():
                if scored.results is None:
                    row[fold] = failed
                else:
                    row[fold] = scored.results[key][0]
        return values

    def _mean_and_std(self, key: str, values: Floats) -> dict[str, Any]:
        """Of each candidate, over the folds that it ran and that count.

        NaN in such a fold makes both NaN, as in scikit-learn.
        """
        means = np.full(len(self.candidates), np.nan)
        deviations = np.full(len(self.candidates), np.nan)
        for index, folds in enumerate(self.folds):
            scored_folds = [fold for fold in sorted(folds) if fold not in self.folds_without_score]
            if scored_folds:
                means[index] = values[index, scored_folds].mean()
                deviations[index] = values[index, scored_folds].std()
        return {f"mean_{key}": means, f"std_{key}": deviations}

    def _ranks(self, means: Floats) -> NDArray[np.int32]:
        """The rank of each candidate in the selection; those that are out share the last one.

        Candidates with the same mean of the same folds share a rank, as in scikit-learn, so that
        the first of them is the best.
        """
        ranks = np.full(len(self.candidates), len(self.best_first) + 1, np.int32)
        for rank, index in enumerate(self.best_first, start=1):
            ranks[index] = rank
        # Candidates tie whose means are equal and of the same folds.
        for better, index in itertools.pairwise(self.best_first):
            same_folds = self.folds[index].keys() == self.folds[better].keys()
            if same_folds and means[index] == means[better]:
                ranks[index] = ranks[better]
        return ranks

    def sentence(self, best: int) -> str:
        """The verdict with its numbers.

        Args:
            best: The candidate that won.
        """
        used_folds = self.folds_used.sum()
        all_folds = len(self.candidates) * self.table.k
        saved = percent_text(1 - used_folds / all_folds, ".0f")
        text = (
            f"The best of {len(self.candidates)} candidates by {self.scorer.name} is "
            f"{self.candidate_text(best)}; {used_folds} of {all_folds} folds were run "
            f"({saved} saved)"
        )
        sentences = [f"{text}{self._promise()}."]
        # One sample can change a score that has no worst value by any amount: less is promised of
        # such a score than was asked for.
        terms = self._selection_terms
        if terms is not None and not terms.has_worst_score:
            sentences.append(withheld_sentence(terms))
        if self.folds_without_score:
            sentences.append(self._left_out_sentence())
        if self.excluded:
            sentences.append(self._excluded_sentence())
        return " ".join(sentences)

    def candidate_text(self, index: int) -> str:
        """A candidate with its mean: "{'C': 10}, 0.8750 in 3 of 5 folds"."""
        scored_folds = len(self.folds[index].keys() - set(self.folds_without_score))
        return (
            f"{dict(self.candidates[index])}, {score_text(self.mean(index))} in {scored_folds} of "
            f"{self.table.k} folds"
        )

    def _promise(self) -> str:
        """What is known of the others, as the end of a sentence."""
        terms = self._selection_terms
        if terms is None or self.verdict is None:
            return ""
        loss = terms.expected_loss
        if loss is not None:
            if not terms.has_worst_score:  # `withheld_sentence` says why nothing is promised
                return ""
            return f"; at most {percent_text(loss)} is expected to be lost by taking it"
        promise = (
            f", and no other has a better mean of all {len(self.order)} folds, at "
            f"{percent_text(terms.confidence)} confidence"
        )
        ties = len(self.verdict.tied)
        if ties:
            promise += f"; {ties} tie with it"
        return promise

    def _left_out_sentence(self) -> str:
        names = listed(list(map(str, sorted(self.folds_without_score))))
        if len(self.folds_without_score) == 1:
            return f"Fold {names} has no score of any candidate, so it is left out."
        return f"Folds {names} have no score of any candidate, so they are left out."

    def _excluded_sentence(self) -> str:
        names = listed([str(dict(self.candidates[index])) for index in sorted(self.excluded)])
        if len(self.excluded) > _MOST_NAMED:
            names = f"{len(self.excluded)} candidates"
        verb = "have"
        if len(self.excluded) == 1:
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


def _scores_text(scored: Scored) -> str:
    """The scores of a fold as scikit-learn prints them: ' score=(train=0.950, test=0.910)'."""
    if scored.results is None:
        return f" score={scored.error_score:.3f}"
    text = ""
    for key, values in scored.results.items():
        kind, _, name = key.partition("_")
        if kind != "test":
            continue
        score = f"{values[0]:.3f}"
        if f"train_{name}" in scored.results:
            train_score = scored.results[f"train_{name}"][0]
            score = f"(train={train_score:.3f}, test={score})"
        text += f" {name}={score}"
    return text


def _has_worst_score(table: SplitSamples, scorer: Scoring, *, certain: bool) -> bool:
    """Whether a fold can be only so bad, as far as a search has to know.

    Of predicted numbers no error is too large. Of log loss it is known what one sample can do,
    which is enough to be certain who is best, but not to say what is lost on average.
    """
    metric = metric_named(scorer.name)
    return table.classifies and (certain or metric is None or metric.has_worst_score)


_MOST_NAMED = 3
"""More candidates that are out are counted, not named."""


def _estimator_types(candidate: Mapping[str, Any]) -> tuple[type, ...]:
    """What a candidate is, where estimators are searched: of two alike folds behave alike."""
    return tuple(type(value) for value in candidate.values() if hasattr(value, "fit"))


def _ranks_of_means(means: Floats) -> NDArray[np.int32]:
    """Places by a score that did not decide, as in scikit-learn: who has no mean comes last."""
    if np.isnan(means).all():
        return np.ones(len(means), np.int32)
    # A candidate without a mean is ranked below all others; the highest mean has rank 1.
    ranked = np.where(np.isnan(means), np.nanmin(means) - 1, means)
    return np.asarray(rankdata(-ranked, method="min"), np.int32)


def _warn_of_scores(key: str, means: Floats) -> None:
    """Warn of candidates without a mean, in scikit-learn's words."""
    if not np.isfinite(means).all():
        warnings.warn(
            f"One or more of the {key.partition('_')[0]} scores are non-finite: {means}",
            UserWarning,
            stacklevel=5,
        )


def _parameter_columns(candidates: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A masked array for each parameter, as `GridSearchCV` has them."""
    # A dict, not a set: the names stay in their order.
    names = dict.fromkeys(itertools.chain.from_iterable(candidates))
    return {f"param_{name}": _parameter_column(name, candidates) for name in names}


def _parameter_column(name: str, candidates: Sequence[Mapping[str, Any]]) -> Any:
    """The values of a parameter, masked where a candidate has none."""
    values = {}
    for index, candidate in enumerate(candidates):
        if name in candidate:
            values[index] = candidate[name]
    data_type = np.dtype(object)
    if all(isinstance(value, Real) for value in values.values()):
        data_type = np.result_type(*values.values())
    column = np.ma.MaskedArray(np.empty(len(candidates), data_type), mask=True)
    for index, value in values.items():
        column[index] = value  # an element is no longer masked once it has a value
    return column


def candidate_of(estimator: Any, params: Mapping[str, Any]) -> Any:
    """The estimator of a candidate, not fitted."""
    return clone(estimator).set_params(**clone(dict(params), safe=False))


def check_refit(refit: Any, names: Iterable[str]) -> None:
    """Refuse what does not say which of several scores decides.

    Raises:
        ValueError.
    """
    if refit is not False and not callable(refit) and refit not in set(names):
        raise ValueError(
            "For multi-metric scoring, the parameter refit must be set to a scorer key or a "
            "callable to refit an estimator with the best parameters, or to False where no "
            f"best one is needed. {refit!r} was passed."
        )


@kinds_checked
def search_terms(k: int, confidence: float, expected_loss: float | None, certain: bool) -> Terms:
    """What a search is to find out.

    Raises:
        InputError: For a value that cannot be.
    """
    if certain:  # the winner has to be certain, whatever a wrong choice would lose
        expected_loss = None
    return Terms(k=k, confidence=confidence, expected_loss=expected_loss)
