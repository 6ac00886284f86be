"""When to stop folding: the rules, and what a rule says along a run, live or recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ecv_core.errors import InputError, UnknownName
from ecv_core.records import FoldResult, Moment, RunSpec
from ecv_core.statistics import difference_percent
from ecv_core.stopping.base import OwnInterval, StoppingRule
from ecv_core.stopping.efold import EFold
from ecv_core.stopping.fixed import Fixed
from ecv_core.stopping.interval import mean_and_deviation, mean_interval
from ecv_core.stopping.never import Never
from ecv_core.stopping.precision import Precision
from ecv_core.stopping.stagnation import StdStagnation

__all__ = [
    "RULES",
    "EFold",
    "Fixed",
    "Never",
    "Precision",
    "Rule",
    "StdStagnation",
    "StoppingRule",
    "difference_percent",
    "mean_interval",
    "moments",
    "rule",
    "rule_for",
    "stop_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A stopping rule as users know it."""

    id: str
    title: str
    help: str
    """What it does and when to use it, in at most three sentences."""
    source: str
    settings: tuple[str, ...]
    """The fields of RunSpec that it looks at, as a page or a command line should offer them."""
    least_folds: int
    """The lowest `min_folds` that makes sense for it."""
    build: Callable[[RunSpec], StoppingRule]
    default_folds: int = 3
    """The `min_folds` to offer first."""
    needs_user_scores: bool = False
    """True where FoldResult.user_scores must be there, which stored runs keep apart."""


RULES: dict[str, Rule] = {
    "e-fold": Rule(
        id="e-fold",
        title="e-fold",
        help=(
            "Stops when the width of the score's confidence interval, times how much that width "
            "just changed, is at most alpha. A width needs two scores and a change two widths, so "
            "fold 3 is the first that can stop, even with a minimum of 2."
        ),
        source="e-fold cross-validation for recommender systems (the paper's rule)",
        settings=("alpha", "confidence", "min_folds"),
        least_folds=2,
        build=lambda spec: EFold(
            alpha=spec.alpha, confidence=spec.confidence, min_folds=spec.min_folds
        ),
    ),
    "precision": Rule(
        id="precision",
        title="Precision",
        help=(
            "Stops when the k-fold mean is known to within the tolerance you state, with the "
            "confidence you state. It compares every user's score from fold to fold, so large "
            "data may need one fold and noisy data nearly all."
        ),
        source="this project; finite-population variance of the fold means",
        settings=("tolerance", "confidence", "min_folds"),
        least_folds=1,
        default_folds=1,
        needs_user_scores=True,
        build=lambda spec: _precision(spec),  # defined below
    ),
    "std-stagnation": Rule(
        id="std-stagnation",
        title="Standing deviation",
        help=(
            "Stops when the standard deviation of the scores has, twice in a row, fallen or grown "
            "by no more than 5 %. Fold 4 is the first that can stop."
        ),
        source="Mahlich, Vente, Beel (2024), general e-fold cross-validation",
        settings=("min_folds",),
        least_folds=2,
        build=lambda spec: StdStagnation(min_folds=spec.min_folds),
    ),
    "fixed": Rule(
        id="fixed",
        title="Fixed number",
        help="Stops after the minimum number of folds, whatever the scores: the baseline to beat.",
        source="baseline",
        settings=("min_folds",),
        least_folds=1,
        build=lambda spec: Fixed(folds=spec.min_folds),
    ),
    "never": Rule(
        id="never",
        title="Never stop",
        help="Runs every fold: plain k-fold cross-validation.",
        source="k-fold cross-validation",
        settings=(),
        least_folds=1,
        build=lambda spec: Never(),
    ),
}
"""Every stopping rule, by id."""


def _precision(spec: RunSpec) -> Precision:
    if spec.tolerance is None:
        raise InputError("the precision rule needs a tolerance, for example 0.03 for 3 %")
    if not 0 < spec.tolerance < 1:
        raise InputError(
            f"the tolerance is a share of the score between 0 and 1, but is {spec.tolerance}; "
            "use for example 0.03 for 3 %"
        )
    return Precision(
        tolerance=spec.tolerance,
        k=len(spec.fold_order),
        metric=spec.metric_name,
        confidence=spec.confidence,
        min_folds=spec.min_folds,
    )


def rule(rule_id: str) -> Rule:
    """The rule with this id. Raises: UnknownName."""
    if rule_id not in RULES:
        raise UnknownName("stopping rule", rule_id, RULES)
    return RULES[rule_id]


def rule_for(spec: RunSpec) -> StoppingRule:
    """The rule that a run is stopped by, with its settings.

    Raises: UnknownName for the rule; InputError for a setting that cannot work.
    """
    chosen = rule(spec.rule)
    if not (spec.alpha > 0 and math.isfinite(spec.alpha)):
        raise InputError(
            f"alpha must be a positive number, but is {spec.alpha}; "
            "for nDCG, values from 1e-7 to 1e-2 make sense"
        )
    if not 0 < spec.confidence < 1:
        raise InputError(
            f"the confidence must be between 0 and 1, but is {spec.confidence}; "
            "use for example 0.95"
        )
    if not chosen.least_folds <= spec.min_folds <= spec.k:
        raise InputError(
            f"the minimum number of folds must be from {chosen.least_folds} to k = {spec.k} for "
            f"the rule '{chosen.id}', but is {spec.min_folds}"
        )
    return chosen.build(spec)


def moments(rule: StoppingRule, results: Sequence[FoldResult], confidence: float) -> list[Moment]:
    """Where a run stood after each of its folds, and what the rule said there.

    Args:
        rule: asked after every fold, also after it first said stop.
        results: the folds in the order in which they came; may be empty.
        confidence: of the intervals, in (0, 1), where the rule has none of its own.
    Returns: one moment per fold.
    Raises: InputError for a score that is not a finite number.
    """
    found = []
    for n in range(1, len(results) + 1):
        scores = [result.score for result in results[:n]]
        found.append(
            Moment(
                n=n,
                fold=results[n - 1].fold,
                score=scores[-1],
                mean=mean_and_deviation(scores)[0],
                interval=(
                    rule.interval(results[:n])
                    if isinstance(rule, OwnInterval)
                    else mean_interval(scores, confidence)
                ),
                decision=rule.decide(results[:n]),
            )
        )
    return found


def stop_of(moments: Sequence[Moment], k: int) -> int | None:
    """Folds used (e): the first stop; k if the rule never fired and all k are in; else None."""
    for moment in moments:
        if moment.decision.stop:
            return moment.n
    return k if len(moments) >= k else None
