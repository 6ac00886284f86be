"""Where a run stood after a fold, and what its rule made of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class IntervalKind(StrEnum):
    """What an interval holds with its confidence; two kinds are not to be compared."""

    MEAN = "mean"
    """The mean that endlessly many such folds would have (Student's t): how uncertain the mean is,
    and what belongs into a paper."""
    K_FOLD_MEAN = "k-fold mean"
    """The mean of all k folds: how far the mean of those seen is from it, nothing once all are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval of a mean."""

    low: float
    high: float
    kind: IntervalKind = IntervalKind.MEAN

    @property
    def width(self) -> float:
        """c_n of the paper: the full width."""
        return self.high - self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A stopping rule's answer after a fold."""

    stop: bool
    reason: str
    """One sentence with the numbers of this moment, fit to show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where a run stood after its n-th fold: one point of figure 1."""

    n: int
    """Folds seen so far, 1 .. k."""
    fold: int
    """Index of the newest fold."""
    score: float
    mean: float
    interval: Interval | None
    """None after one fold: one score has no interval."""
    decision: Decision
