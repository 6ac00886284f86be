"""What a stopping rule is: it sees the results so far and says stop or go on, with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ecv_core.records import Decision, FoldResult


class StoppingRule(Protocol):
    """Decides from fold results only, so that live and recorded runs use the same code."""

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        """Whether to stop after the newest of these folds.

        Args:
            results: the folds so far in the order in which they came; at least one.
        """
