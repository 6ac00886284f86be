"""What a stopping rule is: it sees the results so far and says stop or go on, with a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ecv_core.records import Decision, FoldResult, Interval, RunSpec


def after(n: int) -> str:
    """How a reason begins: 'After 1 fold', 'After 4 folds'."""
    return f"After {n} fold{'s' if n > 1 else ''}"


class StoppingRule(Protocol):
    """Decides from fold results only, so that live and recorded runs use the same code."""

    def decide(self, results: Sequence[FoldResult]) -> Decision:
        """Whether to stop after the newest of these folds.

        Args:
            results: the folds so far in the order in which they came; at least one.
        """


@runtime_checkable
class OwnInterval(Protocol):
    """A rule that reasons with another interval than Student's t of the fold scores."""

    def interval(self, results: Sequence[FoldResult]) -> Interval | None:
        """The interval to show after these folds; None where there is none.

        Args:
            results: as for `StoppingRule.decide`.
        """


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
    """From a spec whose values have been checked; it has a tolerance where `settings` does."""
    default_folds: int = 3
    """The `min_folds` to offer first."""
    needs_user_scores: bool = False
    """True where FoldResult.user_scores must be there, which stored runs keep apart."""
