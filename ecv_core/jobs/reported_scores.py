"""What other code reports of a fold -> the fold's scores, every value checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ecv_core import dataset as datasets
from ecv_core import evaluation, stopping
from ecv_core.dataset.rating_scale import scale_of
from ecv_core.evaluation import Evaluation, Metric, check_computed_here, metric_of
from ecv_core.evaluation.any_scores import AnyScores
from ecv_core.evaluation.formulas import errors_by_user
from ecv_core.fold.computing import evaluate_ranking, needed_ratings, protocol_of
from ecv_core.jobs.reported_tables import (
    check_columns,
    check_lengths,
    codes_of,
    first_and_count,
    lists_of,
    note_of_missing_lists,
    ratings_of,
)
from ecv_core.jobs.tracked_fold import TrackedFold
from ecv_core.records.arrays import Floats, Indices, Mask
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Part
from ecv_core.records.run import LARGEST_SCORE, FoldResult, UserScores
from ecv_core.stopping import StoppingRule

if TYPE_CHECKING:
    import pandas as pd

_WAYS = (
    "report user -> score (a dict or a Series), one number, a table of recommendations with the "
    "columns user_id and item_id, or an array of scores, users x items"
)
_ROUNDING = 1e-6
"""How far beyond its range a score may be that was rounded elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A fold's scores."""

    score: float
    metrics: Mapping[str, float]
    """As FoldResult.metrics."""
    users: int
    """How many have something held out."""
    user_scores: UserScores | None = None
    """None where one number was reported."""
    note: str = ""
    """What should be known of how it came about; mostly empty."""

    def result(self, index: int, **spent: Any) -> FoldResult:  # noqa: ANN401
        """What a run keeps of fold `index`, with the fields that say what was spent."""
        return FoldResult(
            fold=index,
            score=self.score,
            metrics=self.metrics,
            users=self.users,
            user_scores=self.user_scores,
            **spent,
        )


def measure(
    fold: TrackedFold,
    reported: Any,  # noqa: ANN401  what it is decides how it is read
    *,
    rule: StoppingRule | None = None,
    has_named_metric: bool = True,
) -> Measured:
    """The scores of a fold from what was reported of it.

    Args:
        fold: As other code got it.
        reported: User -> score, for every user with something held out; or the score of the fold;
            or a table: lists of recommended items, which are evaluated here under full ranking,
            predicted ratings, or users' scores; or scores of users x items, in the order of the
            matrices, or a fitted model with `score(users)`.
        rule: The rule that stops the run, where the spec does not say it.
        has_named_metric: Whether somebody has named the metric by which the run is scored.

    Raises:
        InputError: With what is wrong and the way out.
    """
    if not has_named_metric and _has_scores(reported):
        raise InputError(
            f"it is not known of which metric these scores of fold {fold.index} are; name it "
            f"where the run begins: metric='{fold.spec.metric_name}', or one of your own, "
            "metric=ecv.Metric('clicks')"
        )
    if reported is None or isinstance(reported, bool | str | bytes):
        raise InputError(f"fold {fold.index} was reported as {reported!r}; {_WAYS}")
    if isinstance(reported, Real | np.number):
        return _measure_number(fold, float(reported), rule)
    if hasattr(reported, "columns"):
        return _measure_table(fold, reported)
    if _maps_users(reported):
        return _measure_user_scores(fold, reported.items())
    is_matrix = len(getattr(reported, "shape", ())) == 2
    is_model = callable(getattr(reported, "score", None))
    if is_matrix or is_model:
        return _measure_item_scores(fold, reported)
    raise InputError(f"fold {fold.index} was reported as a {type(reported).__name__}; {_WAYS}")


def _has_scores(reported: Any) -> bool:  # noqa: ANN401  as of `measure`
    """Whether the scores themselves are reported, and not what is evaluated here."""
    if hasattr(reported, "columns"):
        return "item_id" not in reported.columns
    return _maps_users(reported) or isinstance(reported, Real | np.number)


def _maps_users(reported: object) -> bool:
    """Whether it is user -> score, as a dict or a Series is."""
    return callable(getattr(reported, "items", None))


# What was reported, by its kind.


def _measure_number(fold: TrackedFold, score: float, rule: StoppingRule | None) -> Measured:
    """The scores of a fold of which one number is reported. Raises: InputError."""
    spec = fold.spec
    if stopping.needs_user_scores(rule or stopping.rule_for(spec)):
        raise InputError(
            f"the rule '{spec.rule}' compares every user's score, so one number for fold "
            f"{fold.index} is not enough; report user -> score or recommendations, or use "
            "another rule, such as e-fold"
        )
    _check_score(metric_of(spec), score, f"the score of fold {fold.index}")
    return Measured(
        score=score,
        metrics={spec.metric_name: score},
        users=int(np.count_nonzero(fold.held_out_counts)),
    )


def _measure_table(fold: TrackedFold, table: pd.DataFrame) -> Measured:
    """The scores of a fold from a table: users' scores, predicted ratings, or recommendations."""
    spec = fold.spec
    if "item_id" not in table.columns:
        check_columns(table, ("user_id", "score"), _WAYS)
        return _measure_user_scores(fold, zip(table["user_id"], table["score"], strict=True))
    if not spec.task.ranks:
        return _measure_ratings(fold, table)
    if "prediction" in table.columns:
        raise InputError(
            f"the table has predicted ratings, but {spec.metric_name} is a metric of ranked "
            "items; report recommendations"
        )
    return _measure_lists(fold, table)


def _measure_item_scores(
    fold: TrackedFold,
    scores: Any,  # noqa: ANN401  an array, or an object with a method `score`
) -> Measured:
    """The scores of a fold from the scores of every item for every user. Raises: InputError."""
    spec = fold.spec
    if not spec.task.ranks:
        raise InputError(
            f"scores of users x items are ranked, and this run is scored by {spec.task.outputs}; "
            "report a table of user_id, item_id and prediction, or use a metric of ranking"
        )
    check_computed_here(metric_of(spec))
    model = AnyScores(scores, fold.matrices.train.shape)
    return _measured(fold, evaluate_ranking(spec, fold.index, model, fold.matrices))


def _measure_lists(fold: TrackedFold, table: pd.DataFrame) -> Measured:
    """The scores of a fold from recommended items, as of `lists_of`. Raises: InputError."""
    spec = fold.spec
    metric = metric_of(spec)
    if metric.kind not in evaluation.OF_LISTS:
        raise InputError(
            f"{metric.title} does not follow from lists of recommendations; report user -> score"
        )
    check_computed_here(metric)
    lists = lists_of(fold, table)
    check_lengths(fold, lists)
    # The reported lists have n items, so that nothing is known of longer ones.
    cutoffs = [n for n in spec.cutoffs if n <= spec.n]
    scores = evaluation.evaluate_lists(
        lists,
        fold.matrices.seen,
        fold.matrices.held_out,
        cutoffs,
        train=fold.matrices.train,
        ratings=needed_ratings(spec, fold.matrices),
        protocol=protocol_of(spec, fold.index),
        extra_metrics=(spec.metric,),
    )
    return _measured(fold, scores, note_of_missing_lists(fold, lists))


def _measure_ratings(fold: TrackedFold, table: pd.DataFrame) -> Measured:
    """The scores of a fold from predicted ratings, as of `ratings_of`. Raises: InputError."""
    metric = metric_of(fold.spec)
    check_computed_here(metric)
    data = fold.data
    is_held_out = fold.parts == Part.TEST
    # Runs that predict ratings are refused where the data have none.
    assert data.ratings is not None
    scores = evaluation.evaluate_ratings(
        ratings_of(fold, table),
        data.ratings[is_held_out],
        data.users[is_held_out],
        scale_of(data, datasets.entry(fold.spec.dataset).scale),
        metric,
    )
    return _measured(fold, scores)


def _measure_user_scores(fold: TrackedFold, reported: Iterable[tuple[Any, Any]]) -> Measured:
    """The scores of a fold from each user's.

    Args:
        fold: As other code got it.
        reported: User id and score.
    """
    spec = fold.spec
    metric = metric_of(spec)
    if not metric.per_user and spec.task.ranks:
        raise InputError(
            f"{metric.title} has one value per fold and none per user; report that number, or "
            "recommendations"
        )
    users = np.flatnonzero(fold.held_out_counts)
    scores = _scores_by_user(fold, metric, list(reported))[users]
    mean = float(scores.mean())
    if not spec.task.ranks:
        # Errors of users are pooled over all ratings of the fold, so that a user counts by the
        # number of ratings: as if each rating of a user were off by the user's error.
        rating_counts = fold.held_out_counts[users]
        errors_of_ratings = np.repeat(scores, rating_counts)
        no_errors = np.zeros(len(errors_of_ratings))
        errors = errors_by_user(errors_of_ratings, no_errors, np.repeat(users, rating_counts))
        scores = errors.values[spec.metric_name]
        mean = errors.means[spec.metric_name]
    evaluation = Evaluation(
        users=users.astype(np.int32),
        metrics=(spec.metric_name,),
        values=scores[:, None],
        means={spec.metric_name: mean},
    )
    return _measured(fold, evaluation)


def _scores_by_user(
    fold: TrackedFold, metric: Metric, reported: Sequence[tuple[Any, Any]]
) -> Floats:
    """The reported scores by the users' codes.

    Args:
        fold: As other code got it.
        metric: The metric that the scores are of.
        reported: User id and score.

    Returns:
        Shape (users of the dataset,); without meaning for users with nothing held out.

    Raises:
        InputError: For an unknown user, one twice or none, or a score that cannot be.
    """
    ids = [user for user, _ in reported]
    user_codes = codes_of(ids, fold.data.user_ids, "user", fold.data.dataset)
    _check_every_user_once(fold, user_codes)
    # The check leaves no user with held-out items without a score; other entries stay unset.
    scores = np.empty(fold.data.n_users)
    for code, (user, score) in zip(user_codes, reported, strict=True):
        _check_score(metric, score, f"the score of user {user}")
        scores[code] = score
    return scores


def _measured(fold: TrackedFold, scores: Evaluation, note: str = "") -> Measured:
    """The fold's scores from its evaluation, with a note as of `Measured`."""
    user_scores = None
    if scores.metrics:
        # An evaluation names only the metrics of which each user has a value.
        user_scores = scores.user_scores(fold.spec.n, fold.data.cluster_of)
    return Measured(
        score=scores.means[fold.spec.metric_name],
        metrics=scores.means,
        users=len(scores.users),
        user_scores=user_scores,
        note=note,
    )


# What no score can be.


def _check_every_user_once(fold: TrackedFold, user_codes: Indices) -> None:
    """Refuse scores of other users than those with something held out. Raises: InputError."""
    score_counts = np.bincount(user_codes, minlength=fold.data.n_users)
    has_score = score_counts > 0
    is_held_out = fold.held_out_counts > 0
    in_fold = f"in fold {fold.index}"
    _refuse_users(fold, score_counts > 1, f"two scores {in_fold}")
    _refuse_users(fold, has_score & ~is_held_out, f"nothing held out {in_fold}, but a score")
    _refuse_users(fold, is_held_out & ~has_score, f"held-out items {in_fold} but no score")


def _refuse_users(fold: TrackedFold, is_wrong: Mask, what: str) -> None:
    """Refuse scores where those of a user are wrong.

    Args:
        fold: The fold that they are of.
        is_wrong: Shape (users of the dataset,).
        what: Such a user has, for the sentence.

    Raises:
        InputError.
    """
    if is_wrong.any():
        users = first_and_count(fold.data.user_ids, np.flatnonzero(is_wrong))
        raise InputError(
            f"user {users} has {what}; report "
            f"one for each of the {np.count_nonzero(fold.held_out_counts):,} users in fold.test "
            "(0 for a user without recommendations)"
        )


def _check_score(metric: Metric, score: object, whose: str) -> None:
    """Refuse what no value of the metric can be. Raises: InputError."""
    if not isinstance(score, Real | np.number) or isinstance(score, bool):
        raise InputError(f"{whose} must be a number, but is {score!r}")
    value = float(score)
    if not math.isfinite(value):
        raise InputError(f"{whose} must be a finite number, but is {value}")
    if abs(value) > LARGEST_SCORE:
        raise InputError(
            f"{whose} is {value:g}, but no score is further from 0 than {LARGEST_SCORE:g}"
        )
    if value < metric.low - _ROUNDING:
        raise InputError(f"{whose} is {value:g}, but {metric.title} is at least {metric.low:g}")
    if value > metric.high + _ROUNDING:
        raise InputError(f"{whose} is {value:g}, but {metric.title} is at most {metric.high:g}")
