"""The baseline that every rule must beat: always the same number of folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ecv_core.records import Decision, FoldResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """Stop after `folds` folds, whatever the scores."""

    folds: int

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        n = len(results)
        if n >= self.folds:
            return Decision(
                stop=True, reason=f"After {n} of the {self.folds} folds asked for: stop."
            )
        return Decision(stop=False, reason=f"After {n} of the {self.folds} folds asked for: go on.")
