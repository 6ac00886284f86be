"""A search -> what scikit-learn's callbacks are told of it, as of scikit-learn's own searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sklearn.utils import _safe_indexing as rows_of  # in its `__all__`

from ecv_core.estimators.fold_scores import Fold, SplitSamples


class SearchCallbacks:
    """Tells the callbacks of a search which of its tasks begin and end.

    The tasks and their names are those of scikit-learn's searches: the search, in it the folds of
    its candidates, and the refit. What an estimator does inside a fold is not told.
    """

    def __init__(self, search: Any, table: SplitSamples, sample_weight: Any) -> None:
        """Keep what the callbacks are told of.

        Args:
            search: The search; it has callbacks if its user called scikit-learn's `set_callbacks`.
            table: Its samples and folds.
            sample_weight: The weight of each sample; None where none are given.
        """
        self._search = search
        self._table = table
        self._metadata: Mapping[str, Any] | None = None
        """What scikit-learn calls metadata: what `fit` is given beside X and y."""
        if sample_weight is not None:
            self._metadata = {"sample_weight": sample_weight}
        self._search_task: Any = None
        """scikit-learn's record of the search as a task; None before `during_fit`."""
        self._race_task: Any = None
        """That of the folds of all candidates; None before `during_race`."""

    @contextmanager
    def during_fit(self) -> Iterator[None]:
        """The whole of `fit`."""
        subtasks = 1  # the race
        if self._search.refit is not False:
            subtasks = 2  # and the refit
        # The method looks private, but scikit-learn documents it for estimators of others.
        self._search_task = self._search._init_callback_context(max_subtasks=subtasks)
        with self._report_task(self._search_task, **self._all_samples()):
            yield

    @contextmanager
    def during_race(self, candidates: int) -> Iterator[None]:
        """All folds of so many candidates, of which some will not run."""
        self._race_task = self._search_task.subcontext(
            task_name="search",
            max_subtasks=candidates * self._table.k,
            sequential_subtasks=False,
        )
        with self._report_task(self._race_task):
            yield

    @contextmanager
    def during_fold(self, candidate: int, fold: int) -> Iterator[None]:
        """A fold of a candidate."""
        task = self._race_task.subcontext(
            task_name="candidate-split-evaluation", task_id=candidate * self._table.k + fold
        )
        with self._report_task(task, **self._training_samples(self._table.folds[fold])):
            yield

    @contextmanager
    def during_refit(self, estimator: Any) -> Iterator[None]:
        """The fit of the best on all samples, of which the estimator tells as well."""
        task = self._search_task.subcontext(task_name="refit-with-best-params")
        with (
            task.propagate_callback_context(estimator),
            self._report_task(task, **self._all_samples()),
        ):
            yield

    @contextmanager
    def _report_task(self, task: Any, **samples: Any) -> Iterator[None]:
        """A task that begins, and ends unless there is an error."""
        task.call_on_fit_task_begin(estimator=self._search, **samples)
        yield
        task.call_on_fit_task_end(estimator=self._search, **samples)

    def _all_samples(self) -> dict[str, Any]:
        return {"X": self._table.X, "y": self._table.y, "metadata": self._metadata}

    def _training_samples(self, fold: Fold) -> dict[str, Any]:
        """Those of a fold, as functions: scikit-learn calls them where a callback wants them."""
        train, _ = fold

        # These are functions, for scikit-learn takes the samples only if a callback asks for them.
        def X() -> Any:
            return rows_of(self._table.X, train)

        def y() -> Any:
            if self._table.y is None:
                return None
            return rows_of(self._table.y, train)

        def metadata() -> Mapping[str, Any] | None:
            if self._metadata is None:
                return None
            return {"sample_weight": rows_of(self._metadata["sample_weight"], train)}

        return {"X": X, "y": y, "metadata": metadata}
