"""A selection, fold by fold: who leads, whom nobody needs to run any more, and when it is decided.

Two questions. *What may I claim?* It ends once nobody but the leader can have the best k-fold mean.
The winner is wrong only if it passed the truly best one, and to be declared it must at that look
have passed everybody: such events of two winners exclude each other, so the chance is greatest with
two contenders, and what is allowed is not divided by their number (Gutmann and Maymin 1987, and
Hung and Fithian 2019, for noise that is alike; with noise that differs tenfold up to 1.2 times as
much, as measured). It is spread over the looks by `evidence.level_of_looks`. For the whole ranking
all C (C - 1) / 2 differences have to be right, and the error is divided by them (Bonferroni).

*Which shall I use?* Contenders are put out as long as the sum of what is expected to be lost by
passing over them stays below a share of the leader's mean (`Spread.gains`).

Nobody is put out for good: a later look, which knows more of what folds add, may bring somebody
back. So a fold goes first to those who are near if folds add nothing more; only when they are
settled do those come that fold noise could bring back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import InputError
from ecv_core.selection.evidence import (
    ANY_NOISE,
    NEW_DATA,
    NO_NOISE,
    USUAL_NOISE,
    Differences,
    Prior,
    Spread,
    level_of_looks,
    spread_of,
)

_DRAWS = 4000
"""Of the bootstrap; the same every time, so that a sentence does not change."""
Until = Literal["winner", "order"]
Unit = Literal["joules", "seconds", "folds"]
_UNITS: dict[str, tuple[Unit, float]] = {
    "joules": ("joules", 1),
    "J": ("joules", 1),
    "kJ": ("joules", 1e3),
    "MJ": ("joules", 1e6),
    "Wh": ("joules", 3600),
    "kWh": ("joules", 3.6e6),
    "seconds": ("seconds", 1),
    "s": ("seconds", 1),
    "min": ("seconds", 60),
    "h": ("seconds", 3600),
    "fold": ("folds", 1),
    "folds": ("folds", 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that the folds of a selection may take; exceeded by less than one fold."""

    amount: float
    unit: Unit

    def __post_init__(self) -> None:
        if not (self.amount > 0 and math.isfinite(self.amount)):
            raise InputError(f"a budget must be above 0, but is {self.amount:g} {self.unit}")

    @classmethod
    def parse(cls, text: str) -> Budget:
        """'50 Wh', '20min' or '30 folds' as a budget. Raises: InputError for anything else."""
        found = re.fullmatch(r"([0-9.e+-]+) *([A-Za-z]+)", text.strip())
        try:
            unit, factor = _UNITS[found[2] if found else ""]
            return cls(amount=float(found[1] if found else 0) * factor, unit=unit)
        except (KeyError, ValueError):
            raise InputError(
                f"'{text}' is no budget; write a number and one of: {', '.join(_UNITS)}"
            ) from None

    @property
    def text(self) -> str:
        """As people read it."""
        if self.unit == "joules":
            return f"{self.amount / 3600:.3g} Wh"
        if self.unit == "seconds":
            return f"{self.amount / 60:.3g} min" if self.amount >= 60 else f"{self.amount:.3g} s"
        return f"{self.amount:g} fold{'s' if self.amount != 1 else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a selection is to find out, and how sure it has to be."""

    k: int
    """Folds in all."""
    confidence: float = 0.95
    """Probability, at least, that what it says holds for the means over all k folds."""
    indifference: float = 0.0
    """Contenders closer than this share of the leader's mean are as good as each other."""
    until: Until = "winner"
    higher_is_better: bool = True
    expected_loss: float | None = None
    """Good enough is whoever is expected to be at most this share of the leader's mean below the
    best; None where it is to be certain who is best."""
    budget: Budget | None = None
    """The most that all folds may take; the best that can be said within it is the answer."""

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise InputError(
                f"the confidence must be between 0 and 1, but is {self.confidence}; "
                "use for example 0.95"
            )
        if not 0 <= self.indifference < 1:
            raise InputError(
                "the indifference is a share of the leader's mean from 0 to below 1, but is "
                f"{self.indifference}; use for example 0.01 for 1 %"
            )
        if self.until not in ("winner", "order"):
            raise InputError(f"a selection goes on until winner or order, not '{self.until}'")
        if self.k < 2:
            raise InputError(
                f"a selection needs at least 2 folds, but there is {self.k}; choose a split with "
                "several"
            )

        if self.expected_loss is not None and not 0 < self.expected_loss < 1:
            raise InputError(
                "the expected loss is a share of the leader's mean between 0 and 1, but is "
                f"{self.expected_loss}; use for example 0.001 for 0.1 %"
            )
        for what, given in (("an expected loss", self.expected_loss), ("a budget", self.budget)):
            if given is not None and (self.until != "winner" or self.indifference):
                raise InputError(
                    f"{what} asks which one to use; leave out "
                    + ("the indifference" if self.indifference else "the whole order")
                )

    @property
    def certain(self) -> bool:
        """Whether it is to be certain who is best, not only good enough to use."""
        return self.expected_loss is None and self.budget is None

    def level(self, contenders: int) -> float:
        """Probability of error that one end of one interval may have at one look."""
        pairs = contenders * (contenders - 1) // 2 if self.until == "order" else 1
        return level_of_looks((1 - self.confidence) / pairs, self.k)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """How far one contender is behind another, in units of the score; negative if it is ahead."""

    behind: float
    low: float
    """At least so far; may be -inf. Each end is passed with the probability that Terms allow, over
    all looks together."""
    high: float
    folds: int
    """Folds that both have run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Where a selection stood after a fold; contenders are named by their places."""

    n: int
    """Folds of the leader: nobody has more."""
    fold: int
    """Index of its newest fold."""
    leader: int
    gaps: Mapping[int, Gap]
    """To the leader, of everybody else who was or is in."""
    ran: tuple[tuple[int, int], ...]
    """Contender and fold of what was run since the last look."""
    dropped: tuple[int, ...]
    """Was in before, and need not be run from now on."""
    left: tuple[int, ...]
    """Still in, best first."""
    decided: bool
    expected_loss: float
    """What is expected to be lost by taking the leader, as a share of its mean; an upper bound,
    for it is summed over the others. Infinite where one has no fold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a selection has found; contenders are named by their places."""

    winner: int
    tied: tuple[int, ...]
    """No difference to the winner was found of these, or none beyond the indifference."""
    ties: tuple[tuple[int, int], ...]
    """Pairs of which that holds, better mean first; until 'winner' those with the winner."""
    order: tuple[int, ...]
    """Everybody, best first; of contenders dropped early it is their place when they were."""
    worse: tuple[int, ...]
    """Of these it is shown that they are worse than the winner on new data too; of the others only
    that they cannot win these folds, or not enough to be waited for."""
    optimism: float
    """How much higher the winner's mean is expected to be than its k-fold mean, for having been
    picked as the highest, in units of the score (the winner's curse)."""


class Selection:
    """The state between looks: who is in, and who is to run next.

    Args:
        differences: of the contenders' scores.
        contenders: how many there are, at least two.
        terms: what is asked.
        cost: of one more fold of a contender, in the unit of the budget.
    """

    def __init__(
        self,
        differences: Differences,
        contenders: int,
        terms: Terms,
        cost: Callable[[int], float] = lambda one: 1.0,
    ) -> None:
        self._differences = differences
        self._terms = terms
        self._cost = cost
        self._sign = 1.0 if terms.higher_is_better else -1.0
        self._level = terms.level(contenders)
        self.left = list(range(contenders))
        """Who is still in, best first."""
        self.wanted = dict.fromkeys(range(contenders), 1)
        """Who is to run before the next look, and how many folds it is to have then."""
        self.decided = False
        self._leader = 0
        self._folds = [0] * contenders
        self._new: list[tuple[int, int]] = []
        self._better: dict[tuple[int, int], bool] = {}
        self._ties: list[tuple[int, int]] = []

    def next_folds(self, order: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Contender and fold of all that is `wanted` before the next look.

        Args: order: of the folds.
        """
        for one, count in self.wanted.items():
            for fold in order[self._folds[one].bit_count() : count]:
                yield one, fold

    def ran(self, one: int, fold: int) -> None:
        """Take in that a contender has run a fold; all run them in one order.

        Args:
            one: place of the contender.
            fold: index of the fold.
        """
        self._folds[one] |= 1 << fold
        self._new.append((one, fold))

    def look(self, *, spent: bool = False) -> Round:
        """Where it stands, now that everybody who is `wanted` has run.

        Args: spent: that the budget is, so that some may not have run, and this is the last look.
        """
        counts = [folds.bit_count() for folds in self._folds]
        n = max(counts)
        first = [one for one, count in enumerate(counts) if count == n]
        # A leader whose challengers' folds could not be paid any more stays it.
        if not (spent and any(counts[one] < count for one, count in self.wanted.items()) and n > 1):
            self._leader = max(first, key=lambda one: self._sign * self._mean(one))
        leader, before = self._leader, list(self.left)
        others = [one for one, count in enumerate(counts) if one != leader and count]
        spread = self._spread(leader, others, ANY_NOISE if self._terms.certain else USUAL_NOISE)
        half = spread.half_widths(self._level, self._terms.k)
        gaps = {
            one: Gap(behind=mean, low=mean - width, high=mean + width, folds=int(folds))
            for one, mean, width, folds in zip(
                others, spread.means.tolist(), half.tolist(), spread.folds.tolist(), strict=True
            )
        }
        gains = self._spread(leader, others, USUAL_NOISE).gains(self._terms.k)
        mean = abs(self._mean(leader))
        unknown = len(others) + 1 < len(counts)
        loss = math.inf if unknown or not mean else float(gains.sum()) / mean
        if self._terms.until == "order":
            behind = sorted(self.left, key=lambda one: -self._sign * self._mean(one))
            out = set(self._placed(behind, n == self._terms.k))
            self.left = [one for one in behind if one not in out]
            waiting = list(self.left)
            self.decided = n == self._terms.k or not waiting
            self.wanted = dict.fromkeys(waiting, n + 1)
        else:
            passed = [one for one, gap in gaps.items() if gap.low > 0]
            if not self._terms.certain:
                passed = _affordable(others, gains, (self._terms.expected_loss or 0.0) * mean)
            full = {one for one in others if gaps[one].folds == self._terms.k}
            out = {one for one in others if one in passed and one not in full}
            rest = sorted(set(others) - out, key=lambda one: gaps[one].behind)
            self.left = [leader, *rest]
            margin = self._terms.indifference * mean
            waiting = [one for one in rest if one not in full and gaps[one].low < -margin]
            if not self._terms.certain:
                waiting = [one for one in rest if one not in full]
            self.decided = spent or not waiting
            self.wanted = {} if self.decided else self._next(leader, waiting, counts, gaps)
            if self.decided:
                known = set(self._worse(leader, others))
                ties = [one for one in rest if (one not in full and not spent) or one not in known]
                self._ties = [(leader, one) for one in ties if one in full or not spent]
        inside = {*before, *self.left}
        found, self._new = tuple(self._new), []
        return Round(
            n=n,
            fold=next((fold for one, fold in reversed(found) if one == leader), found[-1][1]),
            leader=leader,
            gaps={one: gap for one, gap in gaps.items() if one in inside},
            ran=found,
            dropped=tuple(one for one in before if one in out),
            left=tuple(self.left),
            decided=self.decided,
            expected_loss=loss,
        )

    def verdict(self) -> Verdict:
        """What is found so far: the leader, and everybody's place; at least one look was taken."""
        everybody = range(len(self._folds))
        seen = [one for one in everybody if self._folds[one]]

        def wins(one: int) -> int:
            return sum(self._better.get((one, other), False) for other in everybody)

        best = self._leader if self._terms.until == "winner" else max(everybody, key=wins)
        others = [one for one in seen if one != best]
        spread = self._spread(best, others, USUAL_NOISE)
        behind = dict(zip(others, spread.means.tolist(), strict=True)) | {best: 0.0}
        order = sorted(
            everybody, key=lambda one: (-wins(one), one != best, behind.get(one, math.inf))
        )
        tied = [next(p for p in pair if p != best) for pair in self._ties if best in pair]
        return Verdict(
            winner=best,
            tied=tuple(tied),
            ties=tuple(self._ties),
            order=tuple(order),
            worse=self._worse(best, others),
            optimism=_optimism(spread, self._terms.k),
        )

    def _spread(self, leader: int, others: Sequence[int], prior: Prior) -> Spread:
        folds, between = self._folds, self._differences.between
        found = [between(leader, one, folds[leader] & folds[one]) for one in others]
        alike = [self._differences.alike(leader, one) for one in others]
        return spread_of(found, alike, prior, self._sign)

    def _next(
        self, leader: int, waiting: list[int], counts: Sequence[int], gaps: Mapping[int, Gap]
    ) -> dict[int, int]:
        """Who runs before the next look, and how many folds it is to have then."""
        n = counts[leader]
        if self._terms.budget is not None:
            return self._cheapest(leader, waiting, counts)
        others = list(gaps)
        calm = self._spread(leader, others, NO_NOISE)
        if self._terms.certain:
            low = calm.means - calm.half_widths(self._level, self._terms.k)
            far = {one for one, end in zip(others, low.tolist(), strict=True) if end > 0}
        else:
            mean = abs(self._mean(leader))
            allowed = (self._terms.expected_loss or 0.0) * mean
            far = set(_affordable(others, calm.gains(self._terms.k), allowed))
        if near := [one for one in waiting if one not in far]:
            if all(counts[one] < n for one in near):
                return dict.fromkeys(near, n)
            return dict.fromkeys([leader, *near], n + 1)
        if lacking := [one for one in waiting if counts[one] < n]:
            return {one: counts[one] + 1 for one in lacking}
        return dict.fromkeys([leader, min(waiting, key=lambda one: gaps[one].low)], n + 1)

    def _cheapest(self, leader: int, waiting: list[int], counts: Sequence[int]) -> dict[int, int]:
        """The folds by which the expected loss falls most for what they cost."""
        n, k = counts[leader], self._terms.k
        spread = self._spread(leader, waiting, USUAL_NOISE)
        with np.errstate(invalid="ignore"):
            falls = np.nan_to_num(spread.gains(k) - spread.gains(k, more=1), posinf=1e300)
        worth = dict(zip(waiting, falls.tolist(), strict=True))
        some: list[tuple[float, dict[int, int]]] = [
            (worth[one] / self._cost(one), {one: counts[one] + 1})
            for one in waiting
            if counts[one] < n
        ]
        chosen, gain, cost = {leader: n + 1}, 0.0, self._cost(leader)
        level = [one for one in waiting if counts[one] == n]
        for one in sorted(level, key=lambda one: -worth[one] / self._cost(one)):
            chosen, gain, cost = chosen | {one: n + 1}, gain + worth[one], cost + self._cost(one)
            some.append((gain / cost, chosen))
        return max(some, key=lambda each: each[0])[1]

    def _worse(self, winner: int, others: Sequence[int]) -> tuple[int, ...]:
        """Of whom it is shown that they are worse than the winner on new data.

        New data are folds without end, so the distance varies by s2 / e. The error is divided by
        the number of contenders, any of whom may be the winner, and spread over all looks.
        """
        error = (1 - self._terms.confidence) / len(self._folds)
        level = level_of_looks(error, self._terms.k, endless=True)
        spread = self._spread(winner, others, NEW_DATA)
        low = spread.means - spread.half_widths(level, None)
        return tuple(one for one, end in zip(others, low.tolist(), strict=True) if end > 0)

    def _mean(self, one: int) -> float:
        return self._differences.mean(one, self._folds[one])

    def _placed(self, order: Sequence[int], last: bool) -> tuple[int, ...]:
        """Settle pairs of those still in; gives those all of whose places are known now."""
        margin = self._terms.indifference * abs(self._mean(order[0]))
        open_pairs: set[int] = set()
        for place, one in enumerate(order):
            after = order[place + 1 :]
            spread = self._spread(one, after, ANY_NOISE)
            half = spread.half_widths(self._level, self._terms.k)
            worse = self._worse(one, after) if last else ()
            for other, mean, width in zip(after, spread.means, half, strict=True):
                if (one, other) in self._better or (other, one) in self._better:
                    continue
                near = abs(mean) + width <= margin or (last and other not in worse)
                if near:
                    self._ties.append((one, other))
                if near or mean - width > 0 or last:
                    self._better[one, other] = not near
                    self._better[other, one] = False
                else:
                    open_pairs |= {one, other}
        return tuple(one for one in order if one not in open_pairs)


def _affordable(others: Sequence[int], gains: NDArray[np.float64], allowed: float) -> list[int]:
    """Whom to pass over, so that no more than this is expected to be lost: the least first."""
    places = np.argsort(gains, kind="stable")
    few = int(np.searchsorted(np.cumsum(gains[places]), allowed, side="right"))
    return [others[place] for place in places[:few].tolist()]


def _optimism(spread: Spread, k: int) -> float:
    """How much the highest mean overshoots, by a parametric bootstrap of the means' noise.

    Every contender has half the variance of its difference to the winner, and the winner that of
    the middle one; means are drawn anew around those that were seen, and the highest is picked.
    """
    errors = spread.errors(k)
    known = np.isfinite(errors)
    if not known.any() or not errors[known].any():
        return 0.0
    own = np.append(errors[known], np.median(errors[known])) / np.sqrt(2)
    noise = np.random.default_rng(0).standard_normal((_DRAWS, len(own))) * own
    picked = (noise - np.append(spread.means[known], 0.0)).argmax(axis=1)
    return float(noise[np.arange(_DRAWS), picked].mean())
