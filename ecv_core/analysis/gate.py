"""Whether a candidate may take a baseline's place: not worse on new data by more than a margin.

A fixed threshold on a noisy score lets worse models pass and stops equal ones. Here two one-sided
tests decide, fold by fold, and where these folds cannot tell that is an answer of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ecv_core.analysis.significance import corrected_t_test_over_folds, differ_alike
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import counted, percent_text, score_text
from ecv_core.stopping.new_data import NewDataInterval, new_data_interval

MARGIN = 0.01
"""Of the baseline's mean, where nobody says what does not matter."""


class GateVerdict(StrEnum):
    """What the folds say of a candidate."""

    PASSES = "passes"
    FAILS = "fails"
    UNKNOWN = "unknown"


_WORDS = {
    GateVerdict.PASSES: "The candidate passes: on new data it is not worse",
    GateVerdict.FAILS: "The candidate fails: on new data it is worse",
    GateVerdict.UNKNOWN: "These folds cannot tell whether the candidate is worse",
}


@dataclass(frozen=True, kw_only=True)
class Gate:
    """What was decided of a candidate, and by what."""

    verdict: GateVerdict
    folds: int
    """Folds after which it was decided; all that both have where it was not."""
    difference: float
    """Mean of the candidate minus that of the baseline over these folds, in the unit of the score;
    turned round where lower is better, so that above 0 is always better."""
    low: float
    """Ends of the interval of that difference on new data, which allows for all looks."""
    high: float
    margin: float
    """By how much the candidate may be worse, in the unit of the score."""
    baseline_mean: float
    """Over all folds that both have, of which a margin may be a share."""
    of: str
    """What new data are of: 'users', 'rows', 'clusters'; or 'folds' where only these are known."""
    confidence: float
    higher_is_better: bool = True

    @property
    def sentence(self) -> str:
        """The verdict in words, with what it rests on."""
        margin = f"{self.margin:.4g}"
        if self.baseline_mean:
            margin += f", {percent_text(self.margin / abs(self.baseline_mean))} of the baseline"
        scored_unit = self.of  # It is a word such as 'users'.
        data = f"new {scored_unit}"
        if scored_unit == "folds":
            data = "new data (from the fold scores alone)"
        verdict = f"{_WORDS[self.verdict]} by more than the margin ({margin})."
        level = percent_text(self.confidence)
        direction = ""
        if not self.higher_is_better:
            direction = ", turned round as lower is better,"
        difference = score_text(self.difference, "+")
        on_new_data = f"for {data} it is not known"
        if math.isfinite(self.low) and math.isfinite(self.high):
            ends = f"{score_text(self.low, '+')} to {score_text(self.high, '+')}"
            on_new_data = f"for {data} {ends} (each end at {level}, for all looks together)"
        return (
            f"{verdict} After {counted(self.folds, 'fold')} the difference{direction} is "
            f"{difference}, {on_new_data}."
        )


def gate(
    baseline: ArrayLike,
    candidate: ArrayLike,
    *,
    margin: float | str | None = None,
    k: float | None = None,
    planned_folds: int = 0,
    confidence: float = 0.95,
    higher_is_better: bool = True,
    scored_unit: str = "users",
) -> Gate:
    """Decide in as few folds as it takes whether a candidate may take a baseline's place.

    After each fold the interval of the difference on new data is worked out. The candidate passes
    once the whole of it is above minus the margin, and fails once the whole is below. Each error is
    at most 1 - confidence for all looks together.

    Args:
        baseline: The score of each fold, in the order in which they ran; shape (folds,). Or of each
            user in each fold, NaN where a user has nothing held out; shape (folds, users).
        candidate: The candidate of the same folds, and the same users; the same shape.
        margin: By how much the candidate may be worse: as of `margin_of`; by default MARGIN of the
            baseline's mean.
        k: Into how many parts the data are split; by default as many as there are folds.
        planned_folds: Folds that the run has when none is saved; by default all that are given.
        confidence: The confidence of each of the two statements, in (0.5, 1).
        higher_is_better: Whether it is.
        scored_unit: What has a score of its own: 'users', 'rows' or 'clusters'.

    Raises:
        InputError: For other shapes, fewer than two folds of means, or values that are not finite.
    Source: Schuirmann (1987) for the two one-sided tests; `new_data_interval` for users, Nadeau and
        Bengio (2003) for folds; docs/library.md has how often it errs.
    """
    baseline_scores, candidate_scores = _checked_scores(baseline, candidate)
    if not 0.5 < confidence < 1:
        raise InputError(f"the confidence must be between 0.5 and 1, but is {confidence}")
    planned_folds = max(planned_folds, len(baseline_scores), 2)
    # There may be a look after each planned fold. By Bonferroni's correction each of them gets an
    # equal part of the error that all together may make.
    error_of_look = (1 - confidence) / planned_folds
    margin_in_score = margin_of(margin, baseline_scores)
    differences = candidate_scores - baseline_scores
    if not higher_is_better:
        differences = -differences
    first_look = 1
    if differences.ndim == 1:  # without users a single fold has no spread
        first_look = 2
        scored_unit = "folds"
    if len(differences) < first_look:
        raise InputError("the gate needs at least two folds of each, but there is one")

    def interval_after(n: int) -> NewDataInterval:
        return _interval(
            differences[:n],
            k=k or planned_folds,
            error_of_end=error_of_look,
            units_are_rows=scored_unit == "rows",
            is_last_fold=n == planned_folds,
        )

    n = first_look
    interval = interval_after(n)
    while _verdict(interval, margin_in_score) is GateVerdict.UNKNOWN and n < len(differences):
        n += 1
        interval = interval_after(n)
    return Gate(
        verdict=_verdict(interval, margin_in_score),
        folds=n,
        difference=_mean(differences[:n]),
        low=interval.low,
        high=interval.high,
        margin=margin_in_score,
        baseline_mean=_mean(baseline_scores),
        of=scored_unit,
        confidence=confidence,
        higher_is_better=higher_is_better,
    )


def _verdict(interval: NewDataInterval, margin: float) -> GateVerdict:
    """What an interval of the difference says: two one-sided tests."""
    if interval.low >= -margin:
        return GateVerdict.PASSES
    if interval.high < -margin:
        return GateVerdict.FAILS
    return GateVerdict.UNKNOWN


def _checked_scores(baseline: ArrayLike, candidate: ArrayLike) -> tuple[Floats, Floats]:
    """Both as arrays of one shape. Raises: InputError."""
    try:
        first = np.asarray(baseline, dtype=np.float64)
        second = np.asarray(_in_order_of(baseline, candidate), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"scores must be numbers, one for each fold (and user): {error}") from None
    if first.shape != second.shape or first.ndim not in (1, 2) or not first.size:
        raise InputError(
            f"baseline and candidate have the scores of the same folds (and users), but their "
            f"shapes are {first.shape} and {second.shape}"
        )
    if np.isinf(first).any() or np.isinf(second).any():
        raise InputError("a score is infinite; give finite scores, or NaN where a score is missing")
    if first.ndim == 1 and (np.isnan(first).any() or np.isnan(second).any()):
        raise InputError("the score of a fold is missing; leave the fold out of both")
    return first, second


def _in_order_of(baseline: Any, candidate: Any) -> Any:  # noqa: ANN401  arrays and tables of any kind
    """The candidate's scores in the order of the baseline's labels, where both are of pandas.

    Where they have no label in common, such as parts of one long table, they stay in their order.

    Raises:
        InputError: Where some labels are the same, and others are not.
    """
    if not hasattr(baseline, "axes") or not hasattr(candidate, "axes"):
        return candidate
    if len(baseline.axes) != len(candidate.axes):
        return candidate  # Another shape is refused by the caller.
    for axis, labels in enumerate(baseline.axes):
        labels_of_candidate = candidate.axes[axis]
        common = labels.intersection(labels_of_candidate)
        if labels.equals(labels_of_candidate) or not len(common):
            continue
        if not len(common) == len(labels) == len(labels_of_candidate):
            raise InputError(
                f"baseline and candidate have {len(common)} labels in common, such as "
                f"{common[0]!r}, and others that differ; give both the same labels, or arrays"
            )
        candidate = candidate.reindex(labels, axis=axis)
    return candidate


def _mean(scores: Floats) -> float:
    """The mean of the folds' means."""
    if scores.ndim == 1:
        return float(scores.mean())
    return float(np.nanmean(scores, axis=1).mean())


def margin_of(margin: float | str | None, baseline: ArrayLike) -> float:
    """A margin in the unit of the score.

    Args:
        margin: That, a share of the baseline's mean such as '1%', or None for MARGIN of it.
        baseline: As of `gate`.

    Raises:
        InputError.
    """
    mean = abs(_mean(np.asarray(baseline, dtype=np.float64)))
    if margin is None:
        return MARGIN * mean
    text = str(margin).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0  # It is refused below with all other negative numbers.
    if not 0 <= number < math.inf:
        raise InputError(
            f"'{margin}' is not a margin; give a number of at least 0, or a share such as '1%'"
        )
    if text.endswith("%"):
        return number / 100 * mean
    return number


def _interval(
    differences: Floats, *, k: float, error_of_end: float, units_are_rows: bool, is_last_fold: bool
) -> NewDataInterval:
    """Where the difference on new data is.

    Args:
        differences: The differences of the folds so far; shape (folds,) or (folds, users).
        k: Into how many parts the data are split.
        error_of_end: The probability that it is beyond one end.
        units_are_rows: Whether rows of a table take the place of users.
        is_last_fold: Whether no fold is to come.
    """
    confidence = 1 - 2 * error_of_end
    if differences.ndim == 2:
        # A row is held out in one fold only, a user in several. The correction for training data
        # that folds share depends on it.
        return new_data_interval(differences, confidence, k=k, rows=units_are_rows)
    if differ_alike(differences):
        # If no planned fold has a difference, a model was compared with itself.
        if is_last_fold and not differences.any():
            return NewDataInterval(low=0.0, high=0.0)
        # Otherwise equal differences do not show how far those of other folds may be from them.
        return NewDataInterval(low=-math.inf, high=math.inf)
    test = corrected_t_test_over_folds(
        differences, np.zeros_like(differences), k=k, confidence=confidence
    )
    return NewDataInterval(low=test.low, high=test.high)
