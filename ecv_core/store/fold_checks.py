"""What a fold has to be before it is kept, whether a file tells of it or a node has computed it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

import numpy as np

import ecv_core.untrusted.limits as limits
from ecv_core.energy.meter import SOURCES
from ecv_core.records import codec
from ecv_core.records.errors import InputError
from ecv_core.records.run import FoldResult, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.store.document import FoldDocument

_METRIC = re.compile(r"[a-z][a-z0-9_-]{0,39}(@[0-9]{1,6})?")
_SAME = 1e-9
"""How far a score may be from the mean that it is: rounding, nothing else."""
_SAME_MEAN = 1e-5
"""How far the mean of users' scores may be: they are kept in single precision."""
MAX_FOLD_SECONDS = 366 * 24 * 3600.0
MAX_FOLD_JOULES = 1e12
"""What a machine of 30 kW draws in a year."""


def check_fold(spec: RunSpec, result: FoldResult) -> None:
    """Refuse a fold that no run of this spec can have.

    Args:
        spec: The spec of the run.
        result: The result of its fold, from whoever has computed it.

    Raises:
        InputError: With what is wrong with it.
    """
    # A node may have put values of any kind into a result. Written as JSON and read back, they are
    # checked against the types and limits that a file with a fold has to keep.
    try:
        values = codec.to_json(FoldDocument.of(result))
        document = codec.read(FoldDocument, json.dumps(values))
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"it is no fold: {codec.what_is_wrong(error)}") from error
    check_fold_names(document)
    check_texts(values)
    check_fold_of_spec(spec, result)
    _check_seconds_and_joules(result)
    if result.user_scores is not None:
        _check_users(result.users, result.user_scores)
        _check_means(result, result.user_scores)


def check_fold_names(fold: FoldDocument) -> None:
    """Refuse what cannot be the name of a metric or of a source of energy. Raises: InputError."""
    for metric in fold.metrics:
        if not _METRIC.fullmatch(metric):
            raise InputError(f"'{codec.shown(metric)}' cannot be the name of a metric")
    sources = [fold.energy.source, *(reading.source for reading in fold.energy.readings)]
    for source in sources:
        if source not in SOURCES:
            raise InputError(f"no source of energy is called '{codec.shown(source)}'")


def check_texts(values: object) -> None:
    """Refuse JSON values with a text that cannot be shown in a line. Raises: InputError."""
    for place, text in _texts(values, ""):
        if len(text) > limits.MAX_TEXT or not text.isprintable():
            raise InputError(
                f"its {codec.shown(place)} must be a line of text, but is {codec.shown(text)}"
            )


def _texts(value: object, place: str) -> Iterator[tuple[str, str]]:
    """The texts in a JSON value, each with its place, such as 'moments[1].reason'."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _texts(part, f"{place}.{name}".removeprefix("."))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _texts(part, f"{place}[{index}]")


def check_fold_of_spec(spec: RunSpec, result: FoldResult) -> None:
    """Refuse a fold that is not this run's, or a score that is not of its metric.

    Raises:
        InputError.
    """
    if result.fold not in spec.fold_order:
        raise InputError(f"fold {result.fold} is not one of the folds of its spec")
    score = result.metrics.get(spec.metric_name, math.inf)
    if abs(score - result.score) > _SAME:
        raise InputError(f"the score of fold {result.fold} is not its {spec.metric_name}")


def _check_seconds_and_joules(result: FoldResult) -> None:
    """Refuse seconds and joules that no machine can have spent on a fold. Raises: InputError."""
    seconds = max(result.fit_seconds, result.evaluate_seconds, result.total_seconds)
    if seconds > MAX_FOLD_SECONDS:
        raise InputError(f"it took {seconds:g} s, which is more than a year")
    if result.energy.joules > MAX_FOLD_JOULES:
        raise InputError(
            f"it used {result.energy.joules:g} J, which is more than a machine draws in a year"
        )


_INTEGERS = "iu"
_FLOATS = "f"
"""Kinds of NumPy's types."""


def _check_users(count: int, scores: UserScores) -> None:
    """Refuse scores that are not those of so many users. Raises: InputError."""
    _check_numbers(scores.users, _INTEGERS, (count,))
    _check_numbers(scores.values, _FLOATS, (count, len(scores.metrics)))
    if scores.clusters is not None:
        _check_numbers(scores.clusters, _INTEGERS, (count,))
    user_numbers = np.unique(scores.users)  # They ascend, so that the first is the least.
    if len(user_numbers) != count or count == 0 or user_numbers[0] < 0:
        raise InputError("its users' scores do not name each user once")


def _check_numbers(array: object, kinds: str, shape: tuple[int, ...]) -> None:
    """Refuse what is no array of such numbers, of this shape. Raises: InputError."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds:
        raise InputError("its users' scores are not numbers")
    if array.shape != shape:
        raise InputError(f"its users' scores have the shape {array.shape} instead of {shape}")


def _check_means(result: FoldResult, scores: UserScores) -> None:
    """Refuse users' scores that do not give the fold's metrics. Raises: InputError."""
    means = scores.values.mean(axis=0, dtype=np.float64)
    # Rounding grows with the numbers: it is relative to the largest score of a user, or to 1.
    largest_scores = np.abs(scores.values).max(axis=0, initial=1.0)
    for metric, mean, largest_score in zip(scores.metrics, means, largest_scores, strict=True):
        score = result.metrics.get(metric, math.inf)
        if not abs(mean - score) <= _SAME_MEAN * largest_score:
            raise InputError(
                f"its {metric} is {score:g}, and the mean of its users' scores {mean:g}"
            )
