"""What a model is asked for: the items that a user will like best, or a rating."""

from __future__ import annotations

from enum import StrEnum


class Task(StrEnum):
    """What models of a run do; the metric of a run tells which it is."""

    TOP_N = "top-n"
    """Rank items for each user, learnt from who has what."""
    RATINGS = "ratings"
    """Predict the rating that a user gives an item at a time, learnt from ratings."""

    @property
    def words(self) -> str:
        """As it is said in a sentence: 'predicts ratings'."""
        return "predicts ratings" if self is Task.RATINGS else "ranks items"


RATING_METRICS = frozenset({"mae", "rmse"})
"""Ids of the metrics of predicted ratings; every other metric is of ranked items."""
