"""What other code reports of a fold -> its scores, every value checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

import ecv_core.datasets as datasets
from ecv_core import evaluation, stopping
from ecv_core.datasets import rated
from ecv_core.errors import InputError
from ecv_core.evaluation import METRICS, Evaluation, Kind
from ecv_core.evaluation.rating import errors_by_user
from ecv_core.records import AMOUNT, Part, RunSpec, Task, UserScores
from ecv_core.stopping import StoppingRule
from ecv_core.tracking.handed import Handed
from ecv_core.tracking.lists import lists_of, ratings_of
from ecv_core.tracking.tables import codes_of, known_columns, some

if TYPE_CHECKING:
    import pandas as pd

_WAYS = (
    "report user -> score (a dict or a Series), one number, or a table of recommendations with the "
    "columns user_id and item_id"
)
_SHARES = frozenset({Kind.HITS, Kind.LISTS, Kind.RANKS})
"""Metrics that are from 0 to 1."""
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
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


def measure(
    spec: RunSpec, handed: Handed, reported: object, *, rule: StoppingRule | None = None
) -> Measured:
    """The scores of a fold from what was reported of it.

    Args:
        spec: of the run.
        handed: the fold.
        reported: user -> score, for every user with something held out; or the score of the fold;
            or a table: lists of recommended items, which are evaluated here under full ranking,
            predicted ratings, or users' scores.
        rule: that stops the run, where the spec does not say it.
    Raises: InputError with what is wrong and the way out.
    """
    if isinstance(reported, bool | str | bytes) or reported is None:
        raise InputError(f"fold {handed.index} was reported as {reported!r}; {_WAYS}")
    if isinstance(reported, Real | np.number):
        return _number(spec, handed, float(reported), rule)
    if isinstance(reported, Mapping):
        return _of_users(spec, handed, list(reported), list(reported.values()))
    if hasattr(reported, "columns"):
        return _of_table(spec, handed, reported)
    if hasattr(reported, "index") and hasattr(reported, "to_numpy"):
        return _of_users(spec, handed, list(reported.index), list(reported.to_numpy()))
    raise InputError(f"fold {handed.index} was reported as a {type(reported).__name__}; {_WAYS}")


def _of_table(spec: RunSpec, handed: Handed, table: Any) -> Measured:  # noqa: ANN401  a DataFrame
    if "item_id" not in table.columns:
        known_columns(table, ("user_id", "score"), _WAYS)
        return _of_users(spec, handed, list(table["user_id"]), list(table["score"]))
    if spec.task is Task.RATINGS:
        return _predictions(spec, handed, table)
    return _lists(spec, handed, table)


def _number(spec: RunSpec, handed: Handed, score: float, rule: StoppingRule | None) -> Measured:
    per_user = (
        stopping.rule(spec.rule).needs_user_scores
        if rule is None
        else bool(getattr(rule, "needs_user_scores", False))
    )
    if per_user:
        raise InputError(
            f"the rule '{spec.rule}' compares every user's score, so one number for fold "
            f"{handed.index} is not enough; report user -> score or recommendations, or use "
            "another rule, such as e-fold"
        )
    _check(spec, score, f"the score of fold {handed.index}")
    return Measured(
        score=score,
        metrics={spec.metric_name: score},
        users=len(np.unique(handed.data.users[handed.parts == Part.TEST])),
    )


def _of_users(spec: RunSpec, handed: Handed, users: list[Any], scores: list[Any]) -> Measured:
    known = METRICS[spec.metric]
    if not known.per_user and spec.task is not Task.RATINGS:
        raise InputError(
            f"{known.title} has one value per fold and none per user; report that number, or "
            "recommendations"
        )
    codes = codes_of(users, handed.data.user_ids, "user", handed.data.dataset)
    held = np.bincount(handed.data.users[handed.parts == Part.TEST], minlength=handed.data.n_users)
    if len(twice := np.flatnonzero(np.bincount(codes, minlength=len(held)) > 1)):
        raise InputError(f"user {some(handed.data.user_ids, twice)} has two scores; report one")
    if len(none := codes[held[codes] == 0]):
        raise InputError(
            f"user {some(handed.data.user_ids, none)} has nothing held out in fold "
            f"{handed.index}, so no score counts there; leave it out"
        )
    there = np.zeros(len(held), dtype=np.bool_)
    there[codes] = True
    if len(missing := np.flatnonzero((held > 0) & ~there)):
        raise InputError(
            f"user {some(handed.data.user_ids, missing)} has held-out items in fold "
            f"{handed.index} but no score; report one for each of the {(held > 0).sum():,} users "
            "in fold.test (0 for whom nothing was recommended)"
        )
    values = np.empty(len(held))
    for code, user, score in zip(codes, users, scores, strict=True):
        if not isinstance(score, Real | np.number) or isinstance(score, bool):
            raise InputError(f"the score of user {user} must be a number, but is {score!r}")
        _check(spec, float(score), f"the score of user {user}")
        values[code] = score
    whose = np.flatnonzero(held)
    result = _ratings_of(spec, values, held) if spec.task is Task.RATINGS else None
    result = result or Evaluation(
        users=whose.astype(np.int32),
        metrics=(spec.metric_name,),
        values=values[whose, None],
        means={spec.metric_name: float(values[whose].mean())},
    )
    return _measured(spec, result)


def _ratings_of(spec: RunSpec, errors: Any, held: Any) -> Evaluation:  # noqa: ANN401  arrays
    """Users' own errors, pooled over all ratings of the fold as RMSE and MAE are here."""
    users = np.repeat(np.arange(len(held)), held)
    whose, parts, pooled = errors_by_user(errors[users], np.zeros(len(users)), users)
    name = spec.metric_name
    return Evaluation(
        users=whose, metrics=(name,), values=parts[name][:, None], means={name: pooled[name]}
    )


def _lists(spec: RunSpec, handed: Handed, table: pd.DataFrame) -> Measured:
    known = METRICS[spec.metric]
    if known.kind not in evaluation.OF_LISTS:
        raise InputError(
            f"{known.title} does not follow from lists of recommendations; report user -> score"
        )
    lists, note = lists_of(spec, handed, table)
    result = evaluation.evaluate_lists(
        lists,
        handed.matrices.seen,
        handed.matrices.held_out,
        [n for n in spec.cutoffs if n <= spec.n],  # longer lists than asked for are not known
        train=handed.matrices.train,
        candidates=spec.candidates,
    )
    return _measured(spec, result, note)


def _predictions(spec: RunSpec, handed: Handed, table: pd.DataFrame) -> Measured:
    held = handed.parts == Part.TEST
    assert handed.data.ratings is not None  # a run of RMSE or MAE is refused without
    return _measured(
        spec,
        evaluation.evaluate_ratings(
            ratings_of(handed, table),
            handed.data.ratings[held],
            handed.data.users[held],
            rated.scale_of(handed.data, datasets.entry(spec.dataset).scale),
        ),
    )


def _measured(spec: RunSpec, result: Evaluation, note: str = "") -> Measured:
    return Measured(
        score=result.means[spec.metric_name],
        metrics=result.means,
        users=len(result.users),
        user_scores=result.kept_per_user(spec.n) if result.metrics else None,
        note=note,
    )


def _check(spec: RunSpec, score: float, whose: str) -> None:
    """Refuse what no value of the metric can be."""
    known = METRICS[spec.metric]
    if not math.isfinite(score) or abs(score) > AMOUNT:
        raise InputError(f"{whose} must be a finite number, but is {score}")
    if known.kind in _SHARES and not -_ROUNDING <= score <= 1 + _ROUNDING:
        raise InputError(f"{whose} is {score:g}, but {known.title} is from 0 to 1")
    if known.kind in (Kind.RATINGS, Kind.PROBABILITIES) and score < 0:
        raise InputError(f"{whose} is {score:g}, but {known.title} is never negative")
