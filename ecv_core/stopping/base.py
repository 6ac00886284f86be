"""What a stopping rule is: it sees the results so far and says stop or go on, with a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ecv_core.records import Decision, FoldResult, Interval, IntervalKind, RunSpec


def after(n: int) -> str:
    """How a reason begins: 'After 1 fold', 'After 4 folds'."""
    return f"After {n} fold{'s' if n > 1 else ''}"


class StoppingRule(Protocol):
    """Decides from fold results only, so that live and recorded runs use the same code.

    An instance may say more of itself: `title`, its name for people; `needs_user_scores = True`,
    where it reads FoldResult.user_scores; `order_free = True`, where it decides by which folds it
    has seen and which of them is the newest, so that every order of k folds can be worked out
    exactly (see `analysis.exploration.outcome`).
    """

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


@runtime_checkable
class OwnMean(Protocol):
    """A rule that knows the k-fold mean better than by the mean of the folds so far."""

    def mean(self, results: Sequence[FoldResult]) -> float:
        """The estimate after these folds; their plain mean once all folds are in.

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
    meaning: str = ""
    """What its stop says of the mean: 'has settled'; by default that it satisfies this rule."""
    default_folds: int = 3
    """The `min_folds` to offer first."""
    needs_user_scores: bool = False
    """True where FoldResult.user_scores must be there, which stored runs keep apart."""
    looks: bool = True
    """Whether it decides by scores, so that a stop is a lucky one more often than not."""
    interval: IntervalKind = IntervalKind.MEAN
    """What the intervals of its moments hold."""
    kind: type | None = None
    """The class that `build` makes, where an instance alone says its settings: it has each of
    `settings` as an attribute."""
    instance: StoppingRule | None = None
    """What `build` gives, where a rule was registered as an instance, with nothing left to set."""

    @property
    def axis(self) -> str | None:
        """The setting that is varied where rules are compared; None where there is none."""
        ranked = ("alpha", "tolerance", "min_folds")
        return next((name for name in ranked if name in self.settings), None)
