"""Rules that look at no score: always so many folds (the baseline), or all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ecv_core.records.run import Decision, FoldResult
from ecv_core.stopping.base import AT_LEAST, Phrases, Rule, check_numbers, decision


@dataclass(frozen=True)
class Never:
    """Go on to the last fold, whatever the scores.

    >>> import ecv_core as ecv
    >>> float(ecv.orders([0.31, 0.32, 0.30, 0.33], ecv.Never()).mean_stop)
    4.0
    """

    looks: ClassVar[bool] = False

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        return decision(len(results), "this rule runs all folds")


def _never_sentence(say: Phrases) -> str:
    return f"All folds were evaluated. The interval is {say.interval}."


def _all_folds(_values: Mapping[str, Any]) -> str:
    return "all folds"


NEVER = Rule(
    id="never",
    title="Never stop",
    help="Runs every fold: plain k-fold cross-validation.",
    source="k-fold cross-validation",
    kind=Never,
    run_settings=(),
    short=_all_folds,
    sentence=_never_sentence,
)


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """Stop after `folds` folds, whatever the scores.

    >>> import ecv_core as ecv
    >>> float(ecv.orders([0.31, 0.32, 0.30, 0.33], ecv.Fixed(folds=3)).mean_stop)
    3.0
    """

    looks: ClassVar[bool] = False
    folds: int

    def __post_init__(self) -> None:
        check_numbers(self, folds=1)

    @property
    def min_folds(self) -> int:
        """The same number, by the name that it has among the settings of a run."""
        return self.folds

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        n = len(results)
        reason = f"After {n} of the {self.folds} folds that the rule runs"
        if n >= self.folds:
            return Decision(stop=True, reason=f"{reason}: stop.")
        return Decision(stop=False, reason=f"{reason}: go on.")


def _fixed(min_folds: int) -> Fixed:
    """The rule as a run makes it: the number of folds is the run's minimum."""
    return Fixed(folds=min_folds)


def _short(values: Mapping[str, Any]) -> str:
    return f"fixed {values['min_folds']}"


def _sentence(say: Phrases) -> str:
    return (
        f"The first {say.least} of {say.k} were evaluated, whatever their scores. The interval "
        f"is {say.interval}."
    )


FIXED = Rule(
    id="fixed",
    title="Fixed number",
    help=(
        "Stops after the minimum number of folds, whatever the scores are: a baseline for the "
        "other rules."
    ),
    source="baseline",
    kind=Fixed,
    make=_fixed,
    run_settings=("min_folds",),
    axis=replace(AT_LEAST, label="Number of folds", phrase="{}"),
    meaning="is over the number of folds that was set",
    short=_short,
    sentence=_sentence,
)
