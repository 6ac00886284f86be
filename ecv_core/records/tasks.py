"""What a model is asked for, and everything about it that the stages of a fold ask."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Self


class Task(StrEnum):
    """What the models of a run do.

    Who needs to know something that depends on the task asks it here, or keeps a table with an
    entry for each task beside the stage that it is about.
    """

    words: str
    """As it is said in a sentence: 'predicts ratings'."""
    outputs: str
    """What its metrics are of: 'predicted ratings'."""
    unit: str
    """What has a score of its own in a fold: 'user', or 'sample' of a table."""
    rows: str
    """What is dealt into folds, in the plural: 'interactions', 'ratings', 'samples'."""
    note: str
    """What a picker says behind the titles of its models, so that they are told from others."""
    ranks: bool
    """Whether lists of items are scored. Else the data hold what is to be predicted, and a fold is
    scored by all its held-out rows together."""
    of_table: bool
    """Whether it is done on the rows of a table, and not on who interacted with what."""
    usual_split: str
    """Where nobody asks for another: of ratings and of samples k disjoint parts."""
    usual_metric: str
    usual_algorithm: str
    """What to begin with, and what is named as an example."""
    metrics: frozenset[str]
    """Ids of its metrics; empty of ranked items, which every other metric is of."""

    def __new__(cls, value: str, facts: Mapping[str, Any] = MappingProxyType({})) -> Self:
        """A member with its facts. `Task("top-n")`, without facts, looks a member up."""
        task = str.__new__(cls, value)
        task._value_ = value
        for name, fact in facts.items():
            setattr(task, name, fact)
        return task

    TOP_N = (
        "top-n",
        {
            "words": "ranks items",
            "outputs": "ranked items",
            "unit": "user",
            "rows": "interactions",
            "note": "",
            "ranks": True,
            "of_table": False,
            "usual_split": "user-k-fold",
            "usual_metric": "ndcg",
            "usual_algorithm": "item-knn",
            "metrics": frozenset(),
        },
    )
    """Rank items for each user, learnt from who has what."""
    RATINGS = (
        "ratings",
        {
            "words": "predicts ratings",
            "outputs": "predicted ratings",
            "unit": "user",
            "rows": "ratings",
            "note": "ratings",
            "ranks": False,
            "of_table": False,
            "usual_split": "record-k-fold",
            "usual_metric": "rmse",
            "usual_algorithm": "bias",
            "metrics": frozenset({"rmse", "mae"}),
        },
    )
    """Predict the rating that a user gives an item at a time, learnt from ratings."""
    CLASSES = (
        "classification",
        {
            "words": "classifies samples",
            "outputs": "classified samples",
            "unit": "sample",
            "rows": "samples",
            "note": "",
            "ranks": False,
            "of_table": True,
            "usual_split": "stratified-k-fold",
            "usual_metric": "accuracy",
            "usual_algorithm": "logistic-regression",
            "metrics": frozenset(
                {"accuracy", "balanced-accuracy", "f1-macro", "roc-auc", "cross-entropy"}
            ),
        },
    )
    """Tell the class of a sample, a row of a table, from its other columns."""
    NUMBERS = (
        "regression",
        {
            "words": "predicts numbers of samples",
            "outputs": "predicted numbers of samples",
            "unit": "sample",
            "rows": "samples",
            "note": "",
            "ranks": False,
            "of_table": True,
            "usual_split": "sample-k-fold",
            "usual_metric": "r2",
            "usual_algorithm": "ridge",
            "metrics": frozenset({"r2", "mean-absolute-error", "root-mean-squared-error"}),
        },
    )
    """Predict a number of a sample, likewise."""

    @classmethod
    def of_metric(cls, metric_id: str, kind: object = None) -> Task:
        """The task that a metric is of.

        Args:
            metric_id: One of `metrics`, or any other: of ranked items.
            kind: What a metric of one's own is computed from, as `evaluation.metrics.Kind` names
                it; the kinds of what is predicted have the names of tasks.
        """
        for task in cls:
            if kind == task.value or metric_id in task.metrics:
                return task
        return cls.TOP_N

    @property
    def tasks_on_same_data(self) -> tuple[Task, ...]:
        """The tasks that can be done with the same data: a table has one thing to be told."""
        if self.of_table:
            return (self,)
        return tuple(task for task in Task if not task.of_table)


_OF_ALL_CANDIDATES = frozenset(
    {"auc", "log-loss", "r-precision", "grouped-auc", "pooled-auc", "calibrated-log-loss"}
)
WITHOUT_CUTOFF = _OF_ALL_CANDIDATES.union(*(task.metrics for task in Task))
"""Ids of the metrics that look at more than the top n, so that n is no part of their name."""
