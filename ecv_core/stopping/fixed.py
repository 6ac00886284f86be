"""The baseline that every rule must beat: always the same number of folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ecv_core.records import Decision, FoldResult
from ecv_core.stopping.base import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """Stop after `folds` folds, whatever the scores."""

    folds: int

    @property
    def min_folds(self) -> int:
        """The same number, by the name that it has among the settings of a run."""
        return self.folds

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        n = len(results)
        if n >= self.folds:
            return Decision(
                stop=True, reason=f"After {n} of the {self.folds} folds asked for: stop."
            )
        return Decision(stop=False, reason=f"After {n} of the {self.folds} folds asked for: go on.")


FIXED = Rule(
    id="fixed",
    title="Fixed number",
    help="Stops after the minimum number of folds, whatever the scores: the baseline to beat.",
    source="baseline",
    meaning="is that of the number of folds asked for",
    settings=("min_folds",),
    least_folds=1,
    kind=Fixed,
    looks=False,
    build=lambda spec: Fixed(folds=spec.min_folds),
)
