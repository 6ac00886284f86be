"""Data and a splitter -> folds; an estimator and a fold -> scikit-learn's scores of it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs, parallel_config
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv, cross_validate
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed

from ecv_core.evaluation.scoring import Scoring, Told
from ecv_core.records.errors import InputError

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Indices of training and of held-out samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One fold of one estimator."""

    found: Mapping[str, Any] | None
    """As scikit-learn's `cross_validate` of this fold gives it; None where the fit failed."""
    told: Told | None
    """What its samples tell of the score; None where they tell nothing, or there is none."""
    seconds: float
    watch: str | None = None
    """Which score decides, where it is known: its key is this after 'test_'."""
    failure: ValueError | None = None
    """scikit-learn's error where the fit failed."""

    @property
    def score(self) -> float:
        """The one that decides, NaN where there is none.

        Raises: InputError where the scorers give none of that name.
        """
        if self.found is None:
            return float("nan")
        scores = {key: value[0] for key, value in self.found.items() if key.startswith("test_")}
        named = self.watch is not None and scores.keys() != {"test_score"}
        key = f"test_{self.watch}" if named else next(iter(scores))
        if key not in scores:
            known = ", ".join(name.removeprefix("test_") for name in scores)
            raise InputError(f"no scorer is called '{self.watch}'; choose one of: {known}")
        return float(scores[key])


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
        """Args: as of scikit-learn's `cross_validate`. Raises: its errors."""
        self.X, self.y = indexable(X, y)
        self.params = dict(params or {})
        self.classes: bool = is_classifier(estimator)
        """Whether samples are classified; else a number of them is predicted."""
        self._cv = check_cv(cv, y, classifier=self.classes)
        self._groups = groups
        asked = get_routing_for_object(self._cv).consumes("split", self.params)
        routed = {name: self.params[name] for name in asked}
        known = groups if groups is not None else routed.get("groups")
        given = {"groups": groups} if groups is not None else routed
        self.folds: list[Fold] = [
            (np.arange(self.n)[train], np.arange(self.n)[test])
            for train, test in self._cv.split(self.X, self.y, **given)
        ]
        if not self.folds:
            raise InputError(f"the splitter {self._cv!r} gives no fold; give one that does")
        self.units = np.arange(self.n)
        if known is not None:
            codes = np.unique(np.asarray(known), return_inverse=True)[1]
            if not any(np.isin(codes[train], codes[test]).any() for train, test in self.folds):
                self.units = codes
        """Who the samples are: themselves, or their groups where none is on both sides."""
        self.order: Sequence[int] = range(len(self.folds))
        """In which the folds run."""

    @property
    def n(self) -> int:
        shape = getattr(self.X, "shape", None)
        return int(shape[0]) if shape else len(self.X)

    @property
    def k(self) -> int:
        return len(self.folds)

    @cached_property
    def in_time(self) -> bool:
        """Whether all folds are held out after what is learnt from, as `TimeSeriesSplit` has it."""
        return self.k > 1 and all(
            len(train) and train.max() < test.min() for train, test in self.folds
        )

    @cached_property
    def apart(self) -> bool:
        """Whether no sample, or group, is held out in two folds."""
        seen = sum(len(np.unique(self.units[test])) for _, test in self.folds)
        return seen == len(np.unique(np.concatenate([self.units[test] for _, test in self.folds])))

    def check_by_chance(self, why: str) -> None:
        """Refuse folds in the order of time. Args: why: end of the sentence. Raises: InputError."""
        if self.in_time:
            raise InputError(
                f"the folds of {self._cv!r} come in the order of time and their scores may drift, "
                f"so that the first do not stand for all; {why}"
            )

    def shuffle(self, seed: int | None) -> None:
        """Have the folds run in an order drawn by chance, or with None as the splitter has them."""
        if seed is not None and not self.in_time:
            self.order = np.random.default_rng(seed).permutation(self.k).tolist()

    def task(self, estimator: Any, at: int, scoring: Scoring) -> dict[str, Any]:
        """What `scored` takes of an estimator in a fold: that fold alone, for it may travel."""
        train, test = self.folds[at]
        scoring.units = self.units[test]
        given = {"X": self.X, "y": self.y, "groups": self._groups, "params": self.params}
        return given | {
            "estimator": estimator,
            "scoring": scoring,
            "cv": _OneFold(self._cv, (train, test)),
        }

    def computed(
        self,
        tasks: Sequence[tuple[Any, int]],
        make: Callable[[Any], Scoring],
        n_jobs: int | None,
        pre_dispatch: Any = "n_jobs",
        **settings: Any,
    ) -> Generator[Scored]:
        """Estimators in folds, computed by so many jobs of joblib, in the order of the tasks.

        Who stops asking has those cancelled that have not begun.

        Args:
            tasks: estimators, which are not changed, each with the index of a fold.
            make: the scoring of an estimator.
            n_jobs, pre_dispatch: as of scikit-learn.
            settings: others of scikit-learn's `cross_validate`.
        Raises: scikit-learn's errors; not that of a failed fit, unless error_score is 'raise'.
        """
        given = (self.task(one, at, make(one)) for one, at in tasks)
        if effective_n_jobs(n_jobs) == 1:
            yield from (scored(**settings, **task) for task in given)
            return
        jobs = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch=pre_dispatch)
        results = jobs(delayed(scored)(**settings, **task) for task in given)
        try:
            for one in results:  # noqa: UP028  or they would be closed before the warning is off
                yield one
        finally:
            with warnings.catch_warnings():  # of folds that are not needed any more
                warnings.simplefilter("ignore", UserWarning)
                results.close()


def scored(*, scoring: Scoring, **given: Any) -> Scored:
    """scikit-learn's `cross_validate` of one fold.

    Args:
        scoring: of the estimator, for this call only.
        given: the rest of what it takes.
    Raises: as `SplitSamples.computed`.
    """
    began = time.perf_counter()
    # Dask has even one job run elsewhere, from where what samples tell would not come back.
    here = parallel_config("threading") if effective_n_jobs() > 1 else nullcontext()
    try:
        with here:
            found = cross_validate(scoring=scoring.scorer, n_jobs=1, **given)
    except ValueError as error:
        failed = "fits failed" in str(error) and given["error_score"] != "raise"
        if scoring.called or not failed:
            raise
        return Scored(found=None, told=None, seconds=time.perf_counter() - began, failure=error)
    seconds = time.perf_counter() - began
    return Scored(found=found, told=scoring.told, seconds=seconds, watch=scoring.watch)


class _OneFold:
    """A splitter of one fold, which asks for the metadata that another one does."""

    def __init__(self, cv: Any, fold: Fold) -> None:
        self._cv, self._fold = cv, fold

    def get_metadata_routing(self) -> Any:
        return get_routing_for_object(self._cv)

    def get_n_splits(self, *_: object, **__: object) -> int:
        return 1

    def split(self, *_: object, **__: object) -> list[Fold]:
        return [self._fold]


def check_fits(folds: Sequence[Scored], error_score: Any) -> None:
    """Say how many fits failed. Raises: scikit-learn's error, where all have."""
    failures = [one.failure for one in folds if one.failure is not None]
    if failures and len(failures) == len(folds):
        raise failures[0]
    if failures:
        warnings.warn(
            f"{len(failures)} fits failed out of a total of {len(folds)}. The score on these "
            f"train-test partitions is set to {error_score}. The first: {failures[0]}",
            FitFailedWarning,
            stacklevel=3,
        )
