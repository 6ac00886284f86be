"""The rule of the e-fold paper: stop when the interval's width has stopped mattering."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ecv_core.records.arrays import Codes, Floats
from ecv_core.records.parameters import Parameter, percent_text, scientific
from ecv_core.records.run import Decision, FoldResult, Interval, Moment
from ecv_core.stopping.base import (
    FoldSets,
    Phrases,
    Rule,
    SetSteps,
    Watched,
    check_numbers,
    decision,
)
from ecv_core.stopping.interval import mean_interval, t_factors

Widths = TypeVar("Widths", float, Floats)


def least_alpha(width_before: Widths, width: Widths) -> Widths:
    """The least alpha that stops when the interval's width has changed so: width times change."""
    return width * abs(width_before - width)


@dataclass(frozen=True, kw_only=True)
class EFold:
    """Stop after fold n when c_n * |c_(n-1) - c_n| <= alpha.

    c_n is the full width of the confidence interval of the mean of n scores. The product form of
    the paper's |c_(n-1) - c_n| <= alpha / c_n also covers c_n = 0.

    >>> import ecv_core as ecv
    >>> float(ecv.orders([0.3, 0.3, 0.3, 0.3, 0.3], ecv.EFold(alpha=1e-4)).mean_stop)
    3.0
    """

    alpha: float
    """In units of the score squared; larger stops earlier."""
    confidence: float = 0.95
    min_folds: int = 3
    """No stop before this fold; c_2 is the first width, so fold 3 is the first possible stop."""

    def __post_init__(self) -> None:
        check_numbers(self, alpha=0)

    @property
    def first(self) -> int:
        """The first fold that can stop: a change needs two widths, a width two scores."""
        return max(3, self.min_folds)

    def widths(self, interval_widths: ArrayLike, means: ArrayLike) -> Floats:
        """What counts as the width of intervals so wide about these means."""
        return np.asarray(interval_widths, dtype=np.float64)

    def words(self, width: float) -> str:
        """Such a width: '0.0123'."""
        return f"{width:.3g}"

    def steps(self, sets: FoldSets) -> SetSteps:
        """Width times change, from every set of folds to the next."""
        half_widths = sets.half_widths(self.confidence)
        widths = self.widths(2 * half_widths, sets.means)

        def alpha_of_step(before: Codes, after: Codes) -> Floats:
            # A step from or to a set of folds without a width is not a stop at any alpha.
            return np.nan_to_num(least_alpha(widths[before], widths[after]), nan=np.inf)

        return SetSteps(
            threshold_of_step=alpha_of_step,
            half_widths=half_widths,
            setting=self.alpha,
        )

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        n = len(results)
        scores = [result.score for result in results]
        first = self.first
        interval = mean_interval(scores, self.confidence)
        if interval is None:
            return decision(
                n,
                f"one score gives no interval yet, and the rule can stop after fold {first} at the "
                "earliest",
            )
        interval_before = mean_interval(scores[:-1], self.confidence)
        width = self._width(interval)
        if n < first or interval_before is None:
            return decision(
                n,
                f"the interval is {self.words(width)} wide, and the rule can stop after fold "
                f"{first} at the earliest",
            )
        width_before = self._width(interval_before)
        alpha_needed = least_alpha(width_before, width)
        if math.isnan(alpha_needed):
            return decision(
                n,
                "the mean is 0 now or was 0 one fold earlier, and a width cannot be a share of 0",
            )
        stop = alpha_needed <= self.alpha
        alpha = scientific(self.alpha)
        verdict = f"is above alpha = {alpha}, so the interval is not steady enough"
        if stop:
            verdict = f"is at most alpha = {alpha}, so the interval is steady enough"
        product = scientific(float(f"{alpha_needed:.2e}"))  # It is written like alpha.
        return decision(
            n,
            f"the interval is {self.words(width)} wide ({self.words(width_before)} before); width "
            f"x change = {product} {verdict}",
            stop=stop,
        )

    def _width(self, interval: Interval) -> float:
        return float(self.widths(interval.width, (interval.low + interval.high) / 2))


class EFoldRelative(EFold):
    """The same with widths as shares of the mean, so that alpha has no unit.

    A score in other units stops at the same fold. About a mean of 0 no share is known: go on.
    """

    @property
    def relative_alpha(self) -> float:
        """A share squared; larger stops earlier."""
        return self.alpha

    def widths(self, interval_widths: ArrayLike, means: ArrayLike) -> Floats:
        size = np.abs(np.asarray(means, dtype=np.float64))
        with np.errstate(divide="ignore", invalid="ignore"):
            shares: Floats = np.where(size > 0, np.asarray(interval_widths) / size, np.nan)
        return shares

    def words(self, width: float) -> str:
        return f"{percent_text(width, '.1f')} of the mean"


def _sentence(say: Phrases) -> str:
    condition = _condition_words(say, "c", say.values["alpha"])
    return f"{condition} {say.interval}; this is e-fold cross-validation{say.paper}."


def _condition_words(say: Phrases, width: str, alpha: float) -> str:
    """When evaluation stopped, as a sentence that ends before what the widths are of.

    Args:
        say: What sentences are made of.
        width: The letter of the widths in the formula.
        alpha: The alpha that the rule is set to.
    """
    formula = say.maths(
        f"{width}_n * |{width}_(n-1) - {width}_n| <= alpha",
        rf"{width}_n \cdot |{width}_{{n-1}} - {width}_n| \le \alpha",
    )
    symbol = say.maths(f"{width}_n", f"{width}_n")
    return (
        f"Evaluation stopped after fold n, after {say.least} at the earliest, as soon as {formula} "
        f"with alpha = {scientific(alpha)}, where {symbol} is the width of"
    )


def least_alphas(deviations: Floats, confidence: float) -> Floats:
    """The least alpha that stops after each fold; infinite where the rule cannot stop yet.

    Args:
        deviations: The deviations of the first 1 .. k scores of each order; shape (orders, k).
        confidence: The confidence of the intervals.
    """
    # A row is an order of the folds. Column n - 1 has what is known after its first n folds.
    _, k = deviations.shape
    widths = 2 * t_factors(k, confidence) * deviations
    earliest_stop = EFold(alpha=1.0).first  # This fold is the same for any alpha.
    first_column = earliest_stop - 1
    widths_one_fold_earlier = widths[:, first_column - 1 : -1]
    alphas = np.full(deviations.shape, np.inf)
    alphas[:, first_column:] = least_alpha(widths_one_fold_earlier, widths[:, first_column:])
    return alphas


def _interval_width(moment: Moment) -> float | None:
    """How wide the interval is; None while there is none."""
    if moment.interval is None:
        return None
    return moment.interval.width


def _relative_width(moment: Moment) -> float | None:
    """The same as a share of the mean; None also where the mean is 0."""
    if moment.interval is None or moment.mean == 0:
        return None
    return moment.interval.width / abs(moment.mean)


def least_alpha_after_folds(
    moments: Sequence[Moment], width_of: Callable[[Moment], float | None] = _interval_width
) -> list[float | None]:
    """Width times change after each fold, which is the least alpha that stops there.

    Args:
        moments: The moment after each fold.
        width_of: The width of a moment; None where it has none.

    Returns:
        One number for each moment; None where it, or the one before it, has no width.
    """
    least_alphas: list[float | None] = []
    width_before = None
    for moment in moments:
        width = width_of(moment)
        alpha = None
        if width_before is not None and width is not None:
            alpha = least_alpha(width_before, width)
        least_alphas.append(alpha)
        width_before = width
    return least_alphas


def _alpha_sentence(alpha: float) -> str:
    """In the unit of the score: a width w that changes by a tenth has w * 0.1 w = alpha."""
    # The rule stops at width * change <= alpha. An interval of this width stops it once the width
    # changes by a tenth.
    width = math.sqrt(10 * alpha)
    number = f"Alpha {scientific(alpha)}"
    if "e" in scientific(alpha):
        number += f" is {np.format_float_positional(alpha, trim='-')}"
    return (
        f"{number}: the rule stops once an interval {width:.2g} wide changes by no more than "
        f"{width / 10:.2g} from one fold to the next. A wider interval must be steadier."
    )


ALPHA = Parameter(
    name="alpha",
    default=1e-4,
    label="alpha",
    help="A larger alpha stops earlier and saves more energy; a smaller alpha gives a more "
    "certain mean. 1e-4 means 0.0001. The unit of alpha is that of the score, squared.",
    low=0,
    open=True,
    error_name="alpha",
    way_out="for nDCG, values from 1e-7 (0.0000001) to 1e-2 (0.01) make sense",
    scale="logarithmic",
    steps=(*(float(f"{step}e{power}") for power in range(-7, -2) for step in (1, 2, 5)), 1e-2),
    presets=(("Thrifty", 1e-3), ("Balanced", 1e-4), ("Careful", 1e-5)),
    meaning=_alpha_sentence,
    flag="--alpha",
    always_told=True,
    terms=("alpha", "interval-width"),
)

E_FOLD = Rule(
    id="e-fold",
    title="e-fold",
    help="Stops when the width of the score's confidence interval, times the last change of that "
    "width, is at most alpha. A width needs two scores and a change needs two widths, so "
    "the rule can stop after fold 3 at the earliest, even with a minimum of 2.",
    source="e-fold cross-validation for recommender systems (the paper's rule)",
    kind=EFold,
    parameters=(ALPHA,),
    least_folds=2,
    meaning="has settled",
    short=lambda values: f"alpha {scientific(values['alpha'])}",
    sentence=_sentence,
    watched=Watched(
        label="Width x change",
        help="The rule stops when this is at most alpha.",
        after_folds=lambda moments, _values: least_alpha_after_folds(moments),
    ),
    picture="threshold",
)


def _relative_sentence(say: Phrases) -> str:
    condition = _condition_words(say, "w", say.values["relative_alpha"])
    return (
        f"{condition} {say.interval}, as a share of that mean; this is e-fold "
        f"cross-validation{say.paper} with relative widths."
    )


def _relative_products(moments: Sequence[Moment], _values: Mapping[str, Any]) -> list[float | None]:
    """The least relative alpha that stops after each fold."""
    return least_alpha_after_folds(moments, _relative_width)


RELATIVE_ALPHA = replace(
    ALPHA,
    name="relative_alpha",
    default=5e-3,
    label="Relative alpha",
    help="A larger value stops earlier and saves more energy; a smaller value gives a more "
    "certain mean. It has no unit, so the same value suits all metrics and datasets.",
    error_name="the relative alpha",
    way_out="values from 1e-4 (0.0001) to 1e-1 (0.1) make sense",
    steps=tuple(float(f"{step}e{power}") for power in range(-4, -1) for step in (1, 2, 5)),
    presets=(("Thrifty", 2e-2), ("Balanced", 5e-3), ("Careful", 1e-3)),
    meaning=lambda alpha: (
        f"The rule stops once an interval as wide as {percent_text(math.sqrt(10 * alpha), '.1f')} "
        f"of the mean changes by no more than {percent_text(math.sqrt(alpha / 10), '.1f')} of the "
        "mean from one fold to the next. A wider interval must be steadier."
    ),
    flag="",
    always_told=False,
)


def _relative_rule(relative_alpha: float, confidence: float, min_folds: int) -> EFoldRelative:
    """The rule as a run makes it: the class calls its threshold `alpha`."""
    return EFoldRelative(alpha=relative_alpha, confidence=confidence, min_folds=min_folds)


E_FOLD_RELATIVE = Rule(
    id="e-fold-relative",
    title="e-fold, relative",
    help=(
        "The paper's rule, with each interval width as a share of the mean. Its alpha has no "
        "unit, so the same value suits all metrics and datasets."
    ),
    source="this project; the paper's rule with relative widths",
    kind=EFoldRelative,
    make=_relative_rule,
    parameters=(RELATIVE_ALPHA,),
    least_folds=2,
    meaning="has settled",
    short=lambda values: f"relative alpha {scientific(values['relative_alpha'])}",
    sentence=_relative_sentence,
    watched=Watched(
        label="Relative width x change",
        help="The rule stops when this is at most the relative alpha.",
        after_folds=_relative_products,
    ),
    picture="threshold",
)
