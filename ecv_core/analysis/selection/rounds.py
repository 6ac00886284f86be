"""A selection, fold by fold: who leads, whom nobody needs to run any more, and when it is decided.

A winner is wrong only if the contender with the best k-fold mean was dropped, or passed over as a
tie, in favour of another; so with C contenders only its C - 1 differences have to be right, each at
every look. The error that is allowed, 1 - confidence, is divided evenly over those differences and
over the k - 1 looks that are not yet the last (a union bound, Bonferroni), which holds whatever
leads and whichever way contenders depend on each other. For the whole ranking all C (C - 1) / 2
differences have to be right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ecv_core.analysis.selection.differences import Differences
from ecv_core.records.errors import InputError

Until = Literal["winner", "order"]


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

    def level(self, contenders: int) -> float:
        """Probability of error that one end of one interval may have at one look."""
        pairs = contenders - 1
        if self.until == "order":
            pairs = contenders * (contenders - 1) // 2
        return (1 - self.confidence) / pairs / (self.k - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """How far one contender is behind another, in units of the score; negative if it is ahead."""

    behind: float
    low: float
    """At least so far; may be -inf. Each end is passed with the probability that Terms allow, over
    all looks and all contenders together."""
    high: float
    folds: int
    """Folds that both have run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Where a selection stood after a fold; contenders are named by their places."""

    n: int
    """Folds that whoever is still in has run."""
    fold: int
    """Index of the newest fold."""
    leader: int
    gaps: Mapping[int, Gap]
    """To the leader, of everybody else who was still in."""
    dropped: tuple[int, ...]
    """Need not be run any more from now on."""
    left: tuple[int, ...]
    """Still in, best first."""
    decided: bool


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


class Selection:
    """The state between rounds: who is in, and what was found of the others.

    Args:
        differences: of the contenders' scores.
        contenders: how many there are, at least two.
        terms: what is asked.
    """

    def __init__(self, differences: Differences, contenders: int, terms: Terms) -> None:
        self._differences = differences
        self._terms = terms
        self._sign = 1.0 if terms.higher_is_better else -1.0
        self._level = terms.level(contenders)
        self.left = list(range(contenders))
        """Who is still in, best first."""
        self._seen = 0
        self._ran = [0] * contenders
        self._better: dict[tuple[int, int], bool] = {}
        self._ties: list[tuple[int, int]] = []
        self.decided = False

    def after(self, fold: int) -> Round:
        """Take in a fold that everybody still in has run.

        Args:
            fold: its index, not seen before.
        """
        self._seen |= 1 << fold
        for one in self.left:
            self._ran[one] = self._seen
        # A stable sort keeps the order of the contenders among equal means.
        order = sorted(self.left, key=lambda one: -self._sign * self._mean(one, self._seen))
        leader, n = order[0], self._seen.bit_count()
        gaps = {one: self.gap(leader, one) for one in order[1:]}
        last = n == self._terms.k
        if self._terms.until == "order":
            dropped = self._placed(order, last)
        else:
            dropped = () if last else tuple(one for one, gap in gaps.items() if gap.low > 0)
        self.left = [one for one in order if one not in dropped]
        if self._terms.until == "order":
            self.decided = last or not self.left
        else:
            margin = self._margin(leader)
            rest = [one for one in self.left if one != leader]
            self.decided = last or all(gaps[one].low >= -margin for one in rest)
            if self.decided:
                self._ties = [(leader, one) for one in rest if not last or self._alike(leader, one)]
        return Round(
            n=n,
            fold=fold,
            leader=leader,
            gaps=gaps,
            dropped=dropped,
            left=tuple(self.left),
            decided=self.decided,
        )

    def spared(self, fold: int, ran: Sequence[int]) -> tuple[int, ...]:
        """Drop who needs not run this fold, because of what others have shown in it already.

        A new leader may be so far ahead on the folds before that another cannot catch it any more.
        The difference of two contenders is looked at once per number of folds that both have run,
        so this adds nothing to the error.

        Args:
            fold: the newest, that some have run and others not yet.
            ran: who has run it, all of them still in.
        """
        if self._terms.until == "order" or not ran or not self._seen:
            return ()
        so_far = self._seen | 1 << fold
        leader = max(ran, key=lambda one: self._sign * self._mean(one, so_far))
        waiting = [one for one in self.left if one not in ran]
        gone = tuple(one for one in waiting if self.gap(leader, one).low > 0)
        self.left = [one for one in self.left if one not in gone]
        return gone

    def verdict(self) -> Verdict:
        """What is found so far: the leader, and everybody's place; at least one fold is in."""
        leader = self.left[0] if self._terms.until == "winner" else None
        everybody = range(len(self._ran))

        def wins(one: int) -> int:
            return sum(self._better.get((one, other), False) for other in everybody)

        best = max(everybody, key=wins) if leader is None else leader
        order = sorted(
            everybody, key=lambda one: (-wins(one), one != best, self.gap(best, one).behind)
        )
        tied = [next(p for p in pair if p != order[0]) for pair in self._ties if order[0] in pair]
        return Verdict(
            winner=order[0], tied=tuple(tied), ties=tuple(self._ties), order=tuple(order)
        )

    def gap(self, leader: int, one: int) -> Gap:
        """How far one is behind another on the folds that both have run."""
        return self._gap(leader, one, self._terms.k)

    def _gap(self, leader: int, one: int, k: int | None) -> Gap:
        if leader == one:
            return Gap(behind=0.0, low=0.0, high=0.0, folds=self._ran[one].bit_count())
        common = self._ran[leader] & self._ran[one]
        found = self._differences.between(leader, one, common)
        behind, half = self._sign * found.mean, found.half_width(self._level, k)
        return Gap(behind=behind, low=behind - half, high=behind + half, folds=found.folds)

    def _mean(self, one: int, folds: int) -> float:
        return self._differences.mean(one, folds)

    def _margin(self, leader: int) -> float:
        return self._terms.indifference * abs(self._mean(leader, self._seen))

    def _alike(self, one: int, other: int) -> bool:
        """Whether all k folds show no difference that would be there on new data too."""
        return self._gap(one, other, None).low <= 0

    def _placed(self, order: Sequence[int], last: bool) -> tuple[int, ...]:
        """Settle pairs of those still in; gives those all of whose places are known now."""
        margin = self._margin(order[0])
        open_pairs: set[int] = set()
        for place, one in enumerate(order):
            for other in order[place + 1 :]:
                if (one, other) in self._better or (other, one) in self._better:
                    continue
                gap = self.gap(one, other)
                near = max(abs(gap.low), abs(gap.high)) <= margin
                if last:
                    near = near or self._alike(one, other)
                if near:
                    self._ties.append((one, other))
                if near or gap.low > 0 or last:
                    self._better[one, other] = not near
                    self._better[other, one] = False
                else:
                    open_pairs |= {one, other}
        return tuple(one for one in order if one not in open_pairs)
