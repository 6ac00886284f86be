"""The rule that is plain k-fold cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ecv_core.records.run import Decision, FoldResult
from ecv_core.stopping.base import Rule, after


@dataclass(frozen=True, slots=True)
class Never:
    """Go on to the last fold, whatever the scores."""

    looks: ClassVar[bool] = False

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        return Decision(stop=False, reason=f"{after(len(results))}: this rule never stops: go on.")


NEVER = Rule(
    id="never",
    title="Never stop",
    help="Runs every fold: plain k-fold cross-validation.",
    source="k-fold cross-validation",
    kind=Never,
    told=(),
    sentence=lambda say: f"All folds were evaluated. The interval is {say.interval}.",
)
