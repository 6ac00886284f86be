"""The rule of the e-fold paper: stop when the interval's width has stopped mattering."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.parameters import Parameter, scientific
from ecv_core.records.run import Decision, FoldResult, Moment
from ecv_core.stopping.base import FoldSets, Phrases, Rule, SetSteps, Watched, after
from ecv_core.stopping.interval import mean_interval

Widths = TypeVar("Widths", float, NDArray[np.float64])


def least_alpha(before: Widths, now: Widths) -> Widths:
    """The least alpha that stops when the interval's width goes from `before` to `now`."""
    return now * abs(before - now)


@dataclass(frozen=True, slots=True, kw_only=True)
class EFold:
    """Stop after fold n when c_n * |c_(n-1) - c_n| <= alpha.

    c_n is the full width of the confidence interval of the mean of n scores. The product form of
    the paper's |c_(n-1) - c_n| <= alpha / c_n also covers c_n = 0.
    """

    alpha: float
    """In units of the score squared; larger stops earlier."""
    confidence: float = 0.95
    min_folds: int = 3
    """No stop before this fold; c_2 is the first width, so fold 3 is the first possible stop."""

    @property
    def first(self) -> int:
        """The first fold that can stop: a change needs two widths, a width two scores."""
        return max(3, self.min_folds)

    def steps(self, sets: FoldSets) -> SetSteps:
        """Width times change, from every set of folds to the next."""
        half = sets.half_widths(self.confidence)
        widths = 2 * half
        return SetSteps(
            step=lambda before, after: least_alpha(widths[before], widths[after]),
            half_widths=half,
            setting=self.alpha,
        )

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        n = len(results)
        scores = [result.score for result in results]
        first = self.first
        now = mean_interval(scores, self.confidence)
        if now is None:
            return Decision(
                stop=False,
                reason=f"{after(n)}: one score has no interval yet, and the earliest stop is after "
                f"{first}: go on.",
            )
        if n < first:
            return Decision(
                stop=False,
                reason=f"{after(n)}: the interval is {now.width:.3g} wide, and the earliest stop "
                f"is after {first}: go on.",
            )
        before = mean_interval(scores[:-1], self.confidence)
        assert before is not None  # n >= 3
        product = least_alpha(before.width, now.width)
        stop = product <= self.alpha
        said = scientific(float(f"{product:.2e}"))  # written like alpha, to be compared with it
        verdict = (
            f"is at most alpha = {scientific(self.alpha)}, so it has settled: stop."
            if stop
            else f"is above alpha = {scientific(self.alpha)}, so it is still moving: go on."
        )
        return Decision(
            stop=stop,
            reason=f"{after(n)}: the interval is {now.width:.3g} wide, {before.width:.3g} before; "
            f"width x change = {said} {verdict}",
        )


def _sentence(say: Phrases) -> str:
    formula = say.maths("c_n * |c_(n-1) - c_n| <= alpha", r"c_n \cdot |c_{n-1} - c_n| \le \alpha")
    c_n = say.maths("c_n", "c_n")
    return (
        f"Evaluation stopped after fold n, after {say.least} at the earliest, as soon as {formula} "
        f"with alpha = {scientific(say.values['alpha'])}, where {c_n} is the width of "
        f"{say.interval}; this is e-fold cross-validation{say.paper}."
    )


def products(moments: Sequence[Moment]) -> list[float | None]:
    """Width times change after each fold, which is the least alpha that stops there."""
    widths = [moment.interval.width if moment.interval else None for moment in moments]
    return [
        None if before is None or now is None else least_alpha(before, now)
        for before, now in zip([None, *widths], widths, strict=False)
    ]


def _meaning(alpha: float) -> str:
    """In the unit of the score: a width w that changes by a tenth has w * 0.1 w = alpha."""
    width = math.sqrt(10 * alpha)
    return (
        f"Stops once an interval {width:.2g} wide changes by no more than "
        f"{width / 10:.2g} from one fold to the next; a wider interval must be steadier."
    )


ALPHA = Parameter(
    name="alpha",
    default=1e-4,
    label="alpha",
    help="Larger saves energy, smaller is more certain. It has the unit of the score squared, "
    "so its scale is logarithmic.",
    low=0,
    open=True,
    said="alpha",
    way_out="for nDCG, values from 1e-7 to 1e-2 make sense",
    scale="logarithmic",
    steps=(
        *(float(f"{step}e{power}") for power in range(-7, -2) for step in (1, 2, 5)),
        1e-2,
    ),
    presets=(("Thrifty", 1e-3), ("Balanced", 1e-4), ("Careful", 1e-5)),
    meaning=_meaning,
    flag="--alpha",
    always_told=True,
    terms=("alpha", "interval-width"),
)

E_FOLD = Rule(
    id="e-fold",
    title="e-fold",
    help=(
        "Stops when the width of the score's confidence interval, times how much that width "
        "just changed, is at most alpha. A width needs two scores and a change two widths, so "
        "fold 3 is the first that can stop, even with a minimum of 2."
    ),
    source="e-fold cross-validation for recommender systems (the paper's rule)",
    kind=EFold,
    parameters=(ALPHA,),
    least_folds=2,
    meaning="has settled",
    short=lambda values: f"alpha {scientific(values['alpha'])}",
    legend="paper's rule, all alphas",
    sentence=_sentence,
    watched=Watched(
        label="Width x change",
        help="The rule stops when this is at most alpha.",
        of=products,
    ),
    picture="threshold",
)
