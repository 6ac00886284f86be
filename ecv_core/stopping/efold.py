"""The rule of the e-fold paper: stop when the interval's width has stopped mattering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ecv_core.records import Decision, FoldResult
from ecv_core.stopping.base import Rule, after
from ecv_core.stopping.interval import mean_interval

Widths = TypeVar("Widths", float, NDArray[np.float64])


def alpha_text(alpha: float) -> str:
    """'1e-4', '5e-3', '0.01', '0'."""
    if alpha >= 0.01 or alpha == 0:
        return f"{alpha:g}"
    mantissa, exponent = f"{alpha:e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


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
        said = alpha_text(float(f"{product:.2e}"))  # written like alpha, to be compared with it
        verdict = (
            f"is at most alpha = {alpha_text(self.alpha)}, so it has settled: stop."
            if stop
            else f"is above alpha = {alpha_text(self.alpha)}, so it is still moving: go on."
        )
        return Decision(
            stop=stop,
            reason=f"{after(n)}: the interval is {now.width:.3g} wide, {before.width:.3g} before; "
            f"width x change = {said} {verdict}",
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
    meaning="has settled",
    settings=("alpha", "confidence", "min_folds"),
    least_folds=2,
    kind=EFold,
    build=lambda spec: EFold(
        alpha=spec.alpha, confidence=spec.confidence, min_folds=spec.min_folds
    ),
)
