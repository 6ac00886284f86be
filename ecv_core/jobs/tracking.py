"""What other code reports of a fold, every value checked."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecv_core import dataset as datasets
from ecv_core import evaluation, stopping
from ecv_core.dataset.rating_scale import scale_of
from ecv_core.evaluation import Evaluation, check_computed_here, metric_of
from ecv_core.evaluation.any_scores import AnyScores
from ecv_core.evaluation.formulas import errors_by_user
from ecv_core.fold import data_of
from ecv_core.fold.computing import ranked
from ecv_core.jobs.fold_tables import Handed
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Part
from ecv_core.records.run import AMOUNT, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import StoppingRule

if TYPE_CHECKING:
    import pandas as pd

# Columns and ids of tables that other code gives, checked against the dataset.


def reported_table(source: Path | IO[bytes]) -> pd.DataFrame:
    """A CSV table as `tell` takes it; ids stay texts, also where one is 'NA' or 'null'."""
    import pandas as pd

    ids = {"user_id": str, "item_id": str}
    return pd.read_csv(source, dtype=ids, keep_default_na=False, encoding="utf-8-sig")


def known_columns(table: pd.DataFrame, needed: Sequence[str], way_out: str) -> None:
    """Refuse a table that lacks a column. Raises: InputError."""
    if missing := [name for name in needed if name not in table.columns]:
        has = ", ".join(map(str, table.columns))[:200] or "none"
        raise InputError(f"the table has no column '{missing[0]}' (it has: {has}); {way_out}")


def codes_of(
    ids: Collection[Any], known: NDArray[np.str_], what: str, dataset: str
) -> NDArray[np.intp]:
    """Ids as codes of the dataset; numbers and texts that read the same are the same.

    Args:
        ids: as other code has them.
        known: code -> id.
    Raises: InputError for an id that the dataset does not have.
    """
    import pandas as pd

    values = pd.Series(list(ids))
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values % 1 == 0).all():
        values = values.astype(np.int64)  # as pandas turns whole numbers into where one is missing
    codes: NDArray[np.intp] = pd.Index(known.astype(object)).get_indexer(
        values.astype(str).astype(object)
    )
    if len(wrong := np.flatnonzero(codes < 0)):
        more = f" (and {len(wrong) - 1:,} more)" if len(wrong) > 1 else ""
        raise InputError(
            f"there is no {what} '{values.iloc[wrong[0]]}'{more} in {dataset} as it is prepared; "
            f"use the {what} ids of fold.train and fold.test"
        )
    return codes


def finite(table: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """A column's numbers. Raises: InputError for what is none, or is not finite."""
    import pandas as pd

    values = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64)
    if len(wrong := np.flatnonzero(~np.isfinite(values))):
        raise InputError(
            f"row {wrong[0] + 1} of the table has the {column} '{table[column].iloc[wrong[0]]}', "
            "which is no finite number"
        )
    return values


def some(ids: NDArray[np.str_], codes: NDArray[np.integer]) -> str:
    """The first of these by its id, with how many more there are: '17 (and 3 more)'."""
    more = f" (and {len(codes) - 1:,} more)" if len(codes) > 1 else ""
    return f"'{ids[codes[0]]}'{more}"


# Tables of recommended items, or of predicted ratings -> arrays, every row checked.


def lists_of(spec: RunSpec, handed: Handed, table: pd.DataFrame) -> tuple[NDArray[np.int64], str]:
    """Each user's list, best first, and a note where users with something held out have none.

    Args: table: `user_id`, `item_id`, and `rank` (1 is best), or `score` (higher is better);
        without either the rows of a user are in their order.
    Returns: item codes, -1 where a list is shorter; shape (users, n).
    Raises: InputError for what is unknown, there twice, no candidate, or too short.
    """
    known_columns(table, ("user_id", "item_id"), "recommendations have user_id and item_id")
    users, items = _pairs(handed, table)
    order = _order(handed, table, users, items)
    users, items = users[order], items[order]
    _check_candidates(spec, handed, users, items)
    counts = np.bincount(users, minlength=handed.data.n_users)
    places = np.arange(len(users)) - np.repeat(np.cumsum(counts) - counts, counts)
    short = places < spec.n
    lists = np.full((handed.data.n_users, spec.n), -1, dtype=np.int64)
    lists[users[short], places[short]] = items[short]
    return lists, _note(spec, handed, counts)


def ratings_of(handed: Handed, table: pd.DataFrame) -> NDArray[np.float64]:
    """Predicted ratings in the order of the held-out ones; shape (held-out ratings,).

    Args: table: `user_id`, `item_id` and `prediction` (or `score`), for every row of fold.test.
    Raises: InputError for what is missing, there twice, or not held out.
    """
    import pandas as pd

    column = "score" if "prediction" not in table.columns else "prediction"
    if column not in table.columns:
        raise InputError(
            "the table of predicted ratings has neither a column 'prediction' nor 'score'; give "
            "user_id, item_id and prediction for every row of fold.test"
        )
    users, items = _pairs(handed, table)
    predicted = finite(table, column)
    held, width = handed.parts == Part.TEST, handed.data.n_items
    asked = handed.data.users[held].astype(np.int64) * width + handed.data.items[held]
    given = pd.Series(predicted, index=users * width + items)
    for keys, what in (
        (np.setdiff1d(asked, given.index), "held-out ratings of fold {} have no prediction"),
        (np.setdiff1d(given.index, asked), "ratings are predicted that fold {} does not hold out"),
    ):
        if len(keys):
            raise InputError(
                f"{len(keys):,} of {len(asked):,} {what.format(handed.index)}, such as that of "
                f"{_pair(handed, int(keys[0]))}; predict every row of fold.test, and no others"
            )
    return given[asked].to_numpy()


def _pairs(handed: Handed, table: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    data = handed.data
    if not len(table):
        raise InputError(f"the table of fold {handed.index} has no rows")
    users = codes_of(table["user_id"], data.user_ids, "user", data.dataset).astype(np.int64)
    items = codes_of(table["item_id"], data.item_ids, "item", data.dataset).astype(np.int64)
    keys = users * data.n_items + items
    _, first = np.unique(keys, return_index=True)
    if len(first) < len(keys):
        twice = np.delete(keys, first)[0]
        raise InputError(f"{_pair(handed, int(twice))} is in the table twice; leave one out")
    return users, items


def _order(
    handed: Handed, table: pd.DataFrame, users: NDArray[np.int64], items: NDArray[np.int64]
) -> NDArray[np.intp]:
    """Rows by user, the best first; of equal scores the item with the lower number."""
    if "rank" in table.columns:
        rank = finite(table, "rank")
        order = np.lexsort((rank, users))
        same = (np.diff(users[order]) == 0) & (np.diff(rank[order]) == 0)
        if same.any():
            user = users[order][np.argmax(same)]
            raise InputError(
                f"two items of user '{handed.data.user_ids[user]}' have the same rank, so their "
                "order is not known; give each its own, or a score"
            )
        return order
    if "score" in table.columns:
        return np.lexsort((items, -finite(table, "score"), users))
    return np.argsort(users, kind="stable")


def _check_candidates(
    spec: RunSpec, handed: Handed, users: NDArray[np.int64], items: NDArray[np.int64]
) -> None:
    keys, width = users * handed.data.n_items + items, handed.data.n_items
    own = np.isin(handed.parts, (Part.TRAIN, Part.VALIDATION))
    seen = handed.data.users[own].astype(np.int64) * width + handed.data.items[own]
    if (there := np.isin(keys, seen)).any():
        raise InputError(
            f"{there.sum():,} of {len(keys):,} recommendations are of items that the user has in "
            f"training, such as {_pair(handed, int(keys[np.argmax(there)]))}; leave out what a "
            "user has: it is no candidate"
        )
    if spec.candidates == "train":
        learnt = np.unique(handed.data.items[handed.parts == Part.TRAIN])
        if (strange := ~np.isin(items, learnt)).any():
            raise InputError(
                f"item '{handed.data.item_ids[items[np.argmax(strange)]]}' is recommended, but "
                "nobody has it in training, so it is no candidate here (candidates = train)"
            )


def _note(spec: RunSpec, handed: Handed, counts: NDArray[np.intp]) -> str:
    """Says who counts with an empty list. Raises: InputError where lists are too short."""
    held = np.unique(handed.data.users[handed.parts == Part.TEST])
    listed = held[counts[held] > 0]
    if not len(listed):
        raise InputError(
            f"no user with held-out items in fold {handed.index} has a list; recommend to the "
            "users of fold.test"
        )
    own = np.isin(handed.parts, (Part.TRAIN, Part.VALIDATION))
    left = handed.data.n_items - np.bincount(handed.data.users[own], minlength=handed.data.n_users)
    if (counts[listed] < np.minimum(spec.n, left[listed])).all():
        raise InputError(
            f"the longest list has {counts[listed].max()} items, but {spec.metric_name} looks at "
            f"{spec.n}; recommend {spec.n} items to each user, or track with a shorter n"
        )
    none = len(held) - len(listed)
    return (
        f"{none:,} of {len(held):,} users with held-out items have no list in fold "
        f"{handed.index}; they count with no hit"
        if none
        else ""
    )


def _pair(handed: Handed, key: int) -> str:
    user, item = divmod(key, handed.data.n_items)
    return f"item '{handed.data.item_ids[item]}' for user '{handed.data.user_ids[user]}'"


_WAYS = (
    "report user -> score (a dict or a Series), one number, a table of recommendations with the "
    "columns user_id and item_id, or an array of scores, users x items"
)
_ROUNDING = 1e-6
"""How far beyond its range a score may be that was rounded elsewhere."""


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
    spec: RunSpec,
    handed: Handed,
    reported: object,
    *,
    rule: StoppingRule | None = None,
    said: bool = True,
) -> Measured:
    """The scores of a fold from what was reported of it.

    Args:
        reported: user -> score, for every user with something held out; or the score of the fold;
            or a table: lists of recommended items, which are evaluated here under full ranking,
            predicted ratings, or users' scores; or scores of users x items, in the order of the
            matrices, or a fitted model with `score(users)`.
        rule: that stops the run, where the spec does not say it.
        said: whether anybody has said which metric the run is scored by.
    Raises: InputError with what is wrong and the way out.
    """
    if not said and _are_scores(reported):
        raise InputError(
            f"what these scores of fold {handed.index} are is not known; say it where the run "
            f"begins: metric='{spec.metric_name}', or one of your own, metric=ecv.Metric('clicks')"
        )
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
    if len(getattr(reported, "shape", ())) == 2 or callable(getattr(reported, "score", None)):
        return _of_scores(spec, handed, reported)
    raise InputError(f"fold {handed.index} was reported as a {type(reported).__name__}; {_WAYS}")


def _are_scores(reported: object) -> bool:
    """Whether the scores themselves are reported, and not what is evaluated here."""
    if hasattr(reported, "columns"):
        return "item_id" not in reported.columns
    of_users = isinstance(reported, Mapping) or hasattr(reported, "to_numpy")
    return of_users or isinstance(reported, Real | np.number)


def _of_table(spec: RunSpec, handed: Handed, table: Any) -> Measured:  # noqa: ANN401  a DataFrame
    if "item_id" not in table.columns:
        known_columns(table, ("user_id", "score"), _WAYS)
        return _of_users(spec, handed, list(table["user_id"]), list(table["score"]))
    if not spec.task.ranks:
        return _predictions(spec, handed, table)
    if "prediction" in table.columns:
        raise InputError(
            f"ratings are predicted, but {spec.metric_name} is of ranked items; report lists"
        )
    return _lists(spec, handed, table)


def _of_scores(spec: RunSpec, handed: Handed, scores: object) -> Measured:
    if not spec.task.ranks:
        raise InputError(
            f"scores of users x items are ranked, and this run is scored by {spec.task.of}; "
            "report a table of user_id, item_id and prediction, or use a metric of ranking"
        )
    check_computed_here(metric_of(spec))
    parts = handed.matrices
    model = AnyScores(scores, parts.train.shape)
    return _measured(spec, ranked(spec, handed.index, model, parts))


def _number(spec: RunSpec, handed: Handed, score: float, rule: StoppingRule | None) -> Measured:
    known = stopping.rule(spec.rule) if rule is None else rule
    if getattr(known, "needs_user_scores", False):
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
    known = metric_of(spec)
    if not known.per_user and spec.task.ranks:
        raise InputError(
            f"{known.title} has one value per fold and none per user; report that number, or "
            "recommendations"
        )
    codes = codes_of(users, handed.data.user_ids, "user", handed.data.dataset)
    held = np.bincount(handed.data.users[handed.parts == Part.TEST], minlength=handed.data.n_users)
    told = np.bincount(codes, minlength=len(held))
    for wrong, what in (
        (told > 1, f"two scores in fold {handed.index}"),
        ((told > 0) & (held == 0), f"nothing held out in fold {handed.index}, but a score"),
        ((told == 0) & (held > 0), f"held-out items in fold {handed.index} but no score"),
    ):
        if wrong.any():
            raise InputError(
                f"user {some(handed.data.user_ids, np.flatnonzero(wrong))} has {what}; report one "
                f"for each of the {(held > 0).sum():,} users in fold.test (0 for whom nothing was "
                "recommended)"
            )
    values = np.empty(len(held))
    for code, user, score in zip(codes, users, scores, strict=True):
        if not isinstance(score, Real | np.number) or isinstance(score, bool):
            raise InputError(f"the score of user {user} must be a number, but is {score!r}")
        _check(spec, float(score), f"the score of user {user}")
        values[code] = score
    whose, name = np.flatnonzero(held), spec.metric_name
    values, mean = values[whose], float(values[whose].mean())
    if not spec.task.ranks:  # users' own errors, pooled over all ratings of the fold
        errors = np.repeat(values, held[whose])
        _, parts, pooled = errors_by_user(
            errors, np.zeros(len(errors)), np.repeat(whose, held[whose])
        )
        values, mean = parts[name], pooled[name]
    return _measured(
        spec,
        Evaluation(
            users=whose.astype(np.int32),
            metrics=(name,),
            values=values[:, None],
            means={name: mean},
        ),
    )


def _lists(spec: RunSpec, handed: Handed, table: pd.DataFrame) -> Measured:
    known = metric_of(spec)
    if known.kind not in evaluation.OF_LISTS:
        raise InputError(
            f"{known.title} does not follow from lists of recommendations; report user -> score"
        )
    check_computed_here(known)
    lists, note = lists_of(spec, handed, table)
    result = evaluation.evaluate_lists(
        lists,
        handed.matrices.seen,
        handed.matrices.held_out,
        [n for n in spec.cutoffs if n <= spec.n],  # longer lists than asked for are not known
        train=handed.matrices.train,
        candidates=spec.candidates,
        also=(spec.metric,),
    )
    return _measured(spec, result, note)


def _predictions(spec: RunSpec, handed: Handed, table: pd.DataFrame) -> Measured:
    metric = metric_of(spec)
    check_computed_here(metric)
    held = handed.parts == Part.TEST
    assert handed.data.ratings is not None  # a run of RMSE or MAE is refused without
    return _measured(
        spec,
        evaluation.evaluate_ratings(
            ratings_of(handed, table),
            handed.data.ratings[held],
            handed.data.users[held],
            scale_of(handed.data, datasets.entry(spec.dataset).scale),
            metric,
        ),
    )


def _measured(spec: RunSpec, result: Evaluation, note: str = "") -> Measured:
    clusters = data_of(spec).cluster_of
    return Measured(
        score=result.means[spec.metric_name],
        metrics=result.means,
        users=len(result.users),
        user_scores=result.kept_per_user(spec.n, clusters) if result.metrics else None,
        note=note,
    )


def _check(spec: RunSpec, score: float, whose: str) -> None:
    """Refuse what no value of the metric can be."""
    known = metric_of(spec)
    if not math.isfinite(score) or abs(score) > AMOUNT:
        raise InputError(f"{whose} must be a finite number, but is {score}")
    if score < known.low - _ROUNDING:
        raise InputError(f"{whose} is {score:g}, but {known.title} is at least {known.low:g}")
    if score > known.high + _ROUNDING:
        raise InputError(f"{whose} is {score:g}, but {known.title} is at most {known.high:g}")
