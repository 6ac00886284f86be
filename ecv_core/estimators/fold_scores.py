"""Data and a splitter -> folds; an estimator and a fold -> scikit-learn's scores of it."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs, parallel_config
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv, cross_validate
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed

from ecv_core.evaluation.scoring import SampleValues, Scoring, one_block
from ecv_core.records.arrays import Indices
from ecv_core.records.errors import InputError

Fold = tuple[Indices, Indices]
"""Indices of training and of held-out samples."""


class InvalidInput(InputError, ValueError, TypeError):
    """What cannot be, as an error that whoever catches scikit-learn's catches."""


class NoScore(InputError, ValueError):
    """No fold has a finite score, so that nothing can be said of any estimator."""


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One fold of one estimator."""

    results: Mapping[str, Any] | None
    """As scikit-learn's `cross_validate` of this fold gives them; None where the fit failed."""
    samples: SampleValues | None
    """What its samples tell of the score; None where they tell nothing, or there is none."""
    seconds: float
    deciding_name: str | None = None
    """By which name the score that decides was asked for, where it is known."""
    failure: str = ""
    """The traceback of a fit that failed."""
    error_score: float = float("nan")
    """What counts as the score where the fit failed."""

    @property
    def score(self) -> float:
        """The one that decides, NaN where there is none.

        Raises:
            InvalidInput: Where the scorers give none of that name.
        """
        if self.results is None:
            return self.error_score
        return float(self.results[f"test_{self.deciding_score}"][0])

    @property
    def score_keys(self) -> list[str]:
        """The keys of its scores in the results, of held-out samples and of training samples."""
        return [key for key in self.results or () if key.startswith(("test_", "train_"))]

    @property
    def score_names(self) -> list[str]:
        """What the scores are called, as scikit-learn's keys have it after 'test_'."""
        names = []
        for key in self.score_keys:
            if key.startswith("test_"):
                names.append(key.removeprefix("test_"))
        return names

    @property
    def deciding_score(self) -> str:
        """Which of them decides. Raises: InvalidInput where there is none of that name."""
        names = self.score_names
        # A single score decides whatever name it is asked by, as in scikit-learn.
        if self.deciding_name is None or names == ["score"]:
            return names[0]
        if self.deciding_name not in names:
            raise InvalidInput(
                f"no scorer is called '{self.deciding_name}'; choose one of: {', '.join(names)}"
            )
        return self.deciding_name

    @property
    def has_score(self) -> bool:
        """Whether the score that decides is a finite number."""
        return bool(np.isfinite(self.score))


class SplitSamples:
    """Samples and how they are split: the folds that scikit-learn would make of them, once."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        cv: Any,
        groups: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        """Split the samples; arguments are as of scikit-learn's `cross_validate`.

        Raises:
            its errors.
        """
        self.X, self.y = indexable(X, y)
        self.params = dict(params or {})
        self.classifies: bool = is_classifier(estimator)
        """Whether samples are classified; else a number of them is predicted."""
        self._cv = check_cv(cv, y, classifier=self.classifies)
        self._groups = groups
        split_params = self._split_params()
        rows = np.arange(self.n)
        self.folds: list[Fold] = []
        for train, test in self._cv.split(self.X, self.y, **split_params):
            self.folds.append((rows[train], rows[test]))
        if not self.folds:
            raise InvalidInput(
                "No fits were performed. Was the CV iterator empty? Were there no candidates? "
                f"The splitter {self._cv!r} gives no fold; give one that does."
            )
        self.units = rows
        """What each sample counts as: itself, or its group where folds hold out whole groups."""
        self.grouped = False
        """Whether `units` are groups."""
        # Groups count only where no fold trains on one part of a group and holds out another.
        if split_params.get("groups") is not None:
            _, group_codes = np.unique(np.asarray(split_params["groups"]), return_inverse=True)
            splits_a_group = any(
                np.isin(group_codes[train], group_codes[test]).any() for train, test in self.folds
            )
            if not splits_a_group:
                self.units = group_codes
                self.grouped = True
        self.order: Sequence[int] = range(len(self.folds))
        """Indices of the folds, in the order in which they run."""
        self.score_weights: NDArray[Any] | None = None
        """The weights of the samples, for scorers that take them; shape (n,)."""

    def _split_params(self) -> dict[str, Any]:
        """What the splitter is given beside the samples: name of its parameter -> value.

        Raises:
            ValueError: For groups that have to be routed, as scikit-learn does.
        """
        routing_is_enabled = get_config()["enable_metadata_routing"]
        if self._groups is not None:
            if routing_is_enabled:
                raise ValueError(
                    "`groups` can only be passed if metadata routing is not enabled via "
                    "`sklearn.set_config(enable_metadata_routing=True)`. When routing is enabled, "
                    "pass `groups` alongside other metadata via the `params` argument instead."
                )
            return {"groups": self._groups}
        if not routing_is_enabled:
            return {}
        consumed = get_routing_for_object(self._cv).consumes("split", self.params)
        # The splitter may ask for its parameters under other names (`set_split_request`).
        router = MetadataRouter(owner="cross_validate").add(
            splitter=self._cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
        )
        params = {name: self.params[name] for name in consumed}
        return dict(process_routing(router, "fit", **params).splitter.split)

    def check_number_of_folds(self) -> None:
        """Refuse a splitter that does not give as many folds as it says, as a search has to.

        Raises:
            InvalidInput.
        """
        expected = self._cv.get_n_splits(self.X, self.y, **self._split_params())
        if expected != self.k:
            raise InvalidInput(
                "cv.split and cv.get_n_splits return inconsistent results. Expected "
                f"{expected} splits, got {self.k}"
            )

    @property
    def n(self) -> int:
        shape = getattr(self.X, "shape", None)
        if shape:
            return int(shape[0])
        return len(self.X)

    @property
    def k(self) -> int:
        return len(self.folds)

    @cached_property
    def in_time(self) -> bool:
        """Whether all folds are held out after what is learnt from, as `TimeSeriesSplit` has it."""
        for train, test in self.folds:
            if len(train) == 0 or len(test) == 0 or train.max() >= test.min():
                return False
        return self.k > 1

    @cached_property
    def held_out_once(self) -> bool:
        """Whether no sample, or group, is held out in two folds."""
        held_out = [np.unique(self.units[test]) for _, test in self.folds]
        everybody = np.concatenate(held_out)
        return len(np.unique(everybody)) == len(everybody)

    @cached_property
    def overlap(self) -> float:
        """Held-out samples over training samples, on average over the folds, where some sample is
        held out in several; else 0. Of groups where these are dealt."""
        if self.held_out_once:
            return 0.0
        # Folds that hold out the same samples overlap. How much that widens the interval of their
        # mean follows from this ratio (Nadeau and Bengio 2003).
        ratios = []
        for train, test in self.folds:
            held_out_units = np.unique(self.units[test])
            training_units = np.unique(self.units[train])
            ratios.append(len(held_out_units) / len(training_units))
        return float(np.mean(ratios))

    def check_not_in_time(self, why: str) -> None:
        """Refuse folds in the order of time.

        Args:
            why: End of the sentence.

        Raises:
            InvalidInput.
        """
        if self.in_time:
            raise InvalidInput(
                f"the folds of {self._cv!r} come in the order of time and their scores may drift, "
                f"so that the first do not stand for all; {why}"
            )

    def shuffle(self, seed: int | None) -> None:
        """Have the folds run in an order drawn by chance, or with None as the splitter has them."""
        if seed is not None and not self.in_time:
            self.order = np.random.default_rng(seed).permutation(self.k).tolist()

    def arguments_of_fold(self, estimator: Any, fold: int, scoring: Scoring) -> dict[str, Any]:
        """What `score_fold` takes of an estimator in a fold: that fold alone, for it may travel.

        `scoring`, which is of this fold only, learns whose the samples and what their weights are.
        """
        train, test = self.folds[fold]
        # scikit-learn tells a scorer neither which samples it scores nor their weights. So
        # `scoring`, which is of this fold alone, is told here.
        scoring.units = self.units[test]
        if self.score_weights is not None:
            scoring.weights = self.score_weights[test]
            scoring.training_weights = self.score_weights[train]
        return {
            "estimator": estimator,
            "X": self.X,
            "y": self.y,
            "groups": self._groups,
            "params": self.params,
            "scoring": scoring,
            "cv": _OneFold(self._cv, (train, test)),
        }

    def scored_folds(
        self,
        tasks: Sequence[tuple[Any, int]],
        scoring_of: Callable[[Any], Scoring],
        n_jobs: int | None,
        pre_dispatch: Any = "n_jobs",
        **settings: Any,
    ) -> Generator[Scored]:
        """Estimators in folds, computed by so many jobs of joblib, in the order of the tasks.

        Who stops asking has those cancelled that have not begun.

        Args:
            tasks: Estimators, which are not changed, each with the index of a fold.
            scoring_of: Makes the scoring of an estimator, for one fold.
            n_jobs, pre_dispatch: as of scikit-learn.
            settings: Others of scikit-learn's `cross_validate`.

        Raises:
            scikit-learn's errors; not that of a failed fit, unless error_score is 'raise'.
        """
        if effective_n_jobs(n_jobs) == 1:
            for estimator, fold in tasks:
                arguments = self.arguments_of_fold(estimator, fold, scoring_of(estimator))
                yield score_fold(**settings, **arguments)
            return
        jobs = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch=pre_dispatch)
        results = jobs(
            delayed(score_fold)(
                **settings, **self.arguments_of_fold(estimator, fold, scoring_of(estimator))
            )
            for estimator, fold in tasks
        )
        try:
            for scored in results:  # noqa: UP028  `yield from` would close them too early
                yield scored
        finally:
            with warnings.catch_warnings():  # joblib warns of folds that nobody waits for
                warnings.simplefilter("ignore", UserWarning)
                results.close()


def score_fold(*, scoring: Scoring, error_score: Any, **arguments: Any) -> Scored:
    """scikit-learn's `cross_validate` of one fold.

    Args:
        scoring: The scoring of the estimator, for this call only.
        error_score: What counts where a fit, or the scorer, fails; or 'raise'.
        arguments: The rest of what scikit-learn's function takes.

    Raises:
        as `SplitSamples.scored_folds`.
    """
    began = time.perf_counter()
    # The scorer keeps the values of the samples in the memory of this process. Under joblib's Dask
    # backend even one job runs elsewhere, from where they would not come back.
    in_this_process: AbstractContextManager[Any] = nullcontext()
    if effective_n_jobs() > 1:
        in_this_process = parallel_config("threading")
    try:
        with in_this_process:
            results = cross_validate(
                scoring=scoring.scorer, error_score=error_score, n_jobs=1, **arguments
            )
    except ValueError as error:
        # scikit-learn raises an error where all fits failed; here there is a single fit.
        fit_failed = _FITS_FAILED in str(error) and error_score != "raise"
        if scoring.was_called or not fit_failed:  # a called scorer had a fitted estimator to score
            raise
        return Scored(
            results=None,
            samples=_failed_fold(scoring, error_score),
            seconds=time.perf_counter() - began,
            failure=str(error).partition(_TRACEBACK_FOLLOWS)[2],
            error_score=float(error_score),
        )
    seconds = time.perf_counter() - began
    samples = scoring.samples
    if scoring.has_failed:
        samples = _failed_fold(scoring, error_score)
    return Scored(
        results=results, samples=samples, seconds=seconds, deciding_name=scoring.deciding_name
    )


_FITS_FAILED = "fits failed"
_TRACEBACK_FOLLOWS = "fits failed with the following error:\n"
"""scikit-learn's words, of which there is one traceback where a single fold failed."""


def _failed_fold(scoring: Scoring, error_score: Any) -> SampleValues | None:
    """A score that was put in the place of a failure; None where it is no finite number."""
    if not np.isfinite(error_score):
        return None
    return one_block(scoring.units, float(error_score))


class _OneFold:
    """A splitter of one fold, which asks for the metadata that another one does."""

    def __init__(self, cv: Any, fold: Fold) -> None:
        self._cv = cv
        self._fold = fold

    def get_metadata_routing(self) -> Any:
        return get_routing_for_object(self._cv)

    def get_n_splits(self, *_: object, **__: object) -> int:
        return 1

    def split(self, *_: object, **__: object) -> list[Fold]:
        return [self._fold]


def report_failed_fits(folds: Iterable[Scored], error_score: Any) -> None:
    """Warn of fits that failed, in scikit-learn's words, with each distinct traceback once.

    Args:
        folds: All that were run.
        error_score: What counts as their score.

    Raises:
        ValueError: Where every fit failed, as scikit-learn does.
    """
    total = 0
    tracebacks: Counter[str] = Counter()
    for fold in folds:
        total += 1
        if fold.failure:
            tracebacks[fold.failure] += 1
    failed = tracebacks.total()
    if failed == 0:
        return
    details = "Below are more details about the failures:"
    for traceback, count in tracebacks.items():
        details += f"\n{'-' * 80}\n{count} {_TRACEBACK_FOLLOWS}{traceback}"
    if failed == total:
        raise ValueError(
            f"\nAll the {total} fits failed.\n"
            "It is very likely that your model is misconfigured.\n"
            f"You can try to debug the error by setting error_score='raise'.\n\n{details}"
        )
    warnings.warn(
        f"\n{failed} fits failed out of a total of {total}.\n"
        "The score on these train-test partitions for these parameters will be set to "
        f"{error_score}.\nIf these failures are not expected, you can try to debug them by "
        f"setting error_score='raise'.\n\n{details}",
        FitFailedWarning,
        stacklevel=3,
    )
