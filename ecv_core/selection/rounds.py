"""A selection, fold by fold: who leads, whom nobody needs to run any more, and when it is decided.

Two questions. *What may I claim?* It ends once nobody but the leader can have the best k-fold mean.
The winner is wrong only if it passed the truly best one, and to be declared it must at that look
have passed everybody: such events of two winners exclude each other, so the chance is greatest with
two contenders, and what is allowed is not divided by their number (Gutmann and Maymin 1987, and
Hung and Fithian 2019, for noise that is alike; with noise that differs tenfold up to 1.2 times as
much, as measured). It is spread over the looks by `evidence.level_of_looks`. For the whole ranking
all C (C - 1) / 2 differences have to be right, and the error is divided by them (Bonferroni).

*Which shall I use?* Contenders are put out as long as the sum of what is expected to be lost by
passing over them stays below a share of the leader's mean (`Spread.expected_losses`).

Nobody is put out for good: a later look, which knows more of what folds add, may bring somebody
back. So a fold goes first to those who are near if folds add nothing more; only when they are
settled do those come that fold noise could bring back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ecv_core.records.arrays import Floats
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
"""Samples of the bootstrap; they are the same every time, so that a sentence does not change."""
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
"""What people write -> the unit in which it is kept, and how many of that unit it is."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The most that the folds of a selection may take; exceeded by less than one fold."""

    amount: float
    unit: Unit

    def __post_init__(self) -> None:
        if not (self.amount > 0 and math.isfinite(self.amount)):
            raise InputError(f"a budget must be above 0, but is {self.amount:g} {self.unit}")

    @classmethod
    def parse(cls, text: str) -> Budget:
        """'50 Wh', '20min' or '30 folds' as a budget.

        Raises:
            InputError: For anything else.
        """
        refusal = InputError(
            f"'{text}' is not a budget; write a number and a unit, one of: {', '.join(_UNITS)}"
        )
        parts = re.fullmatch(r"([0-9.e+-]+) *([A-Za-z]+)", text.strip())
        if parts is None or parts[2] not in _UNITS:
            raise refusal
        try:
            number = float(parts[1])
        except ValueError:
            raise refusal from None
        unit, factor = _UNITS[parts[2]]
        return cls(amount=number * factor, unit=unit)

    @property
    def text(self) -> str:
        """As people read it."""
        if self.unit == "joules":
            return f"{self.amount / 3600:.3g} Wh"
        if self.unit == "seconds" and self.amount >= 60:
            return f"{self.amount / 60:.3g} min"
        if self.unit == "seconds":
            return f"{self.amount:.3g} s"
        if self.amount == 1:
            return "1 fold"
        return f"{self.amount:g} folds"


USUAL_LOSS = 0.001
"""The share of the score that may be lost where a contender is wanted for use, unless said."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a selection is to find out, and how sure it has to be."""

    k: int
    """Folds in all."""
    confidence: float = 0.95
    """Probability, at least, that what it says holds for the means over all k folds."""
    indifference: float = 0.0
    """It is enough that nobody is ahead of the leader by more than this share of its mean."""
    until: Until = "winner"
    higher_is_better: bool = True
    expected_loss: float | None = None
    """Good enough is whoever is expected to be at most this share of the leader's mean below the
    best; None where it is to be certain who is best."""
    budget: Budget | None = None
    """The most that all folds may take; the best that can be said within it is the answer."""
    has_worst_score: bool = True
    """Whether a fold can be only so bad. Where it is not so, as of squared errors, folds without a
    bad sample look calm: nothing is certain before all have run, and no loss is expected."""

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
            raise InputError(f"'until' must be winner or order, but is '{self.until}'")
        if self.k < 2:
            raise InputError(
                f"a selection needs at least 2 folds, but there is {self.k}; choose a split with "
                "several"
            )
        if self.expected_loss is not None:
            if not 0 < self.expected_loss < 1:
                raise InputError(
                    "the expected loss is a share of the leader's mean between 0 and 1, but is "
                    f"{self.expected_loss}; use for example 0.001 for 0.1 %"
                )
            self._refuse_indifference_and_order_beside("an expected loss")
        if self.budget is not None:
            self._refuse_indifference_and_order_beside("a budget")

    def _refuse_indifference_and_order_beside(self, setting: str) -> None:
        """Refuse a setting that asks which contender to use beside one that asks for certainty."""
        if self.indifference:
            raise InputError(
                f"{setting} asks which contender to use, so leave out the indifference"
            )
        if self.until != "winner":
            raise InputError(f"{setting} asks which contender to use, so leave out the whole order")

    @property
    def winner_must_be_certain(self) -> bool:
        """Whether it is to be certain who is best, not only good enough to use."""
        return self.expected_loss is None and self.budget is None

    @property
    def sign(self) -> float:
        """1 where a higher score is better, else -1: the score times it is better if higher."""
        if self.higher_is_better:
            return 1.0
        return -1.0

    def level(self, contenders: int) -> float:
        """Probability of error that one end of one interval may have at one look."""
        if self.until == "order":
            return self.level_of_pairs(contenders)
        return level_of_looks(1 - self.confidence, self.k)

    def level_of_pairs(self, contenders: int) -> float:
        """As `level`, where what is said of all pairs of contenders has to be right together."""
        pairs = contenders * (contenders - 1) // 2
        return level_of_looks((1 - self.confidence) / pairs, self.k)


@dataclass(frozen=True, kw_only=True)
class Gap:
    """How far one contender is behind another, in units of the score; negative if it is ahead."""

    behind: float
    low: float
    """At least so far; may be -inf. Each end is passed with the probability that Terms allow, over
    all looks together."""
    high: float
    folds: int
    """Folds that both have run."""


class Turn(NamedTuple):
    """One fold of one contender: what is run, was run, or comes next."""

    contender: int
    """Its place."""
    fold: int
    """Index of the fold."""


@dataclass(frozen=True, kw_only=True)
class Round:
    """Where a selection stood after a fold; contenders are named by their places."""

    n: int
    """Folds of the leader: nobody has more."""
    fold: int
    """Index of the newest fold that it ran in this round; where it ran none, of the last run."""
    leader: int
    gaps: Mapping[int, Gap]
    """To the leader, of everybody else who was or is in."""
    turns: tuple[Turn, ...]
    """What was run since the last look."""
    dropped: tuple[int, ...]
    """Was in before, and need not be run from now on."""
    still_in: tuple[int, ...]
    """The contenders that may yet have to run, best first."""
    decided: bool
    expected_loss: float
    """What is expected to be lost by taking the leader, as a share of its mean; an upper bound,
    for it is summed over the others. Infinite where one has no fold."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a selection has found; contenders are named by their places."""

    winner: int
    ties: tuple[tuple[int, int], ...]
    """Pairs of which no difference was found, or the second is ahead by the indifference at most;
    better mean first. Until 'winner' those with the winner."""
    order: tuple[int, ...]
    """Everybody, best first; of contenders dropped early it is their place when they were."""
    worse: tuple[int, ...]
    """Of these it is shown that they are worse than the winner on new data too; of the others only
    that they cannot win these folds, or not enough to be waited for."""
    optimism: float
    """How much higher the winner's mean is expected to be than its k-fold mean, for having been
    picked as the highest, in units of the score (the winner's curse)."""
    equivalent: tuple[tuple[int, int], ...] = ()
    """Of the ties those that are shown to differ by the indifference at most, either way."""

    @property
    def tied(self) -> tuple[int, ...]:
        """Those of which no difference to the winner was found, or that are ahead of it by the
        indifference at most."""
        return self._with_winner(self.ties)

    @property
    def as_good(self) -> tuple[int, ...]:
        """Of those tied with the winner the ones that are shown to be as good, either way."""
        return self._with_winner(self.equivalent)

    def _with_winner(self, pairs: Iterable[tuple[int, int]]) -> tuple[int, ...]:
        """The partners of the winner in these pairs."""
        partners = []
        for better, other in pairs:
            if better == self.winner:
                partners.append(other)
            elif other == self.winner:
                partners.append(better)
        return tuple(partners)

    @property
    def losers(self) -> list[int]:
        """Everybody but the winner, best first."""
        return [contender for contender in self.order if contender != self.winner]


@dataclass(frozen=True, kw_only=True)
class _Comparison:
    """Everybody beside the leader, at one look; contenders are named by their places."""

    leader: int
    leader_mean: float
    """Its size, without its sign."""
    leader_folds: int
    """How many the leader has run: nobody has more."""
    others: list[int]
    """Everybody else who has run a fold."""
    with_all_folds: set[int]
    """Those of the others who have run all k folds, as the leader has."""
    gaps: dict[int, Gap]
    """Of the others to the leader."""
    expected_losses: Floats
    """What is expected to be lost by passing over each of the others, in units of the score."""


class _Option(NamedTuple):
    """Folds that could run before the next look."""

    folds_wanted: dict[int, int]
    """Contender -> how many folds it would have then."""
    loss_fall: float
    """By how much the expected loss would fall, in units of the score."""
    cost: float
    """In the unit of the budget."""

    def worth(self) -> float:
        """How much the expected loss would fall for each unit of cost."""
        return self.loss_fall / self.cost

    def combined_with(self, other: _Option) -> _Option:
        """The folds of both."""
        return _Option(
            self.folds_wanted | other.folds_wanted,
            self.loss_fall + other.loss_fall,
            self.cost + other.cost,
        )


def _fold_of_round(turns: Sequence[Turn], leader: int) -> int:
    """The fold that names a round: the leader's newest, or while the leader waits the last one.

    Args:
        turns: What ran in the round, at least one fold of a contender.
        leader: Who leads after it.
    """
    for turn in reversed(turns):
        if turn.contender == leader:
            return turn.fold
    return turns[-1].fold


def _same_cost(contender: int) -> float:
    return 1.0


class Selection:
    """The state between looks: who is in, and who is to run next.

    Args:
        differences: The differences of the contenders' scores.
        contender_count: How many there are, at least two.
        terms: What is asked.
        cost: The cost of one more fold of a contender, in the unit of the budget; by default every
            fold costs the same.
    """

    def __init__(
        self,
        differences: Differences,
        contender_count: int,
        terms: Terms,
        cost: Callable[[int], float] = _same_cost,
    ) -> None:
        self._differences = differences
        self._terms = terms
        self._cost = cost
        self._contender_count = contender_count
        self._error_of_one_look = terms.level(contender_count)
        self.still_in = list(range(contender_count))
        """Who may yet have to run, best first."""
        self.folds_wanted = dict.fromkeys(range(contender_count), 1)
        """Contender that is to run before the next look -> how many folds it is to have then."""
        self.decided = False
        self._leader = 0
        self._fold_bits = [0] * contender_count
        """For each contender, the set of the folds that it has run, one bit per fold."""
        self._turns_since_look: list[Turn] = []
        self._settled: set[tuple[int, int]] = set()
        """Pairs of contenders, either way round, that need no more folds; only if `until` is
        'order'."""
        self._wins = [0] * contender_count
        """How many others each contender is shown to be better than; only with `until` 'order'."""
        self._ties: list[tuple[int, int]] = []
        """The pairs of `Verdict.ties`."""
        self._equivalent: list[tuple[int, int]] = []
        """The pairs of `Verdict.equivalent`."""

    @property
    def _counts(self) -> list[int]:
        """How many folds each contender has run."""
        return [fold_bits.bit_count() for fold_bits in self._fold_bits]

    def next_folds(self, order: Sequence[int]) -> Iterator[Turn]:
        """All folds that are wanted before the next look.

        Args:
            order: The order of the folds.
        """
        counts = self._counts
        for contender, count in self.folds_wanted.items():
            for fold in order[counts[contender] : count]:
                yield Turn(contender, fold)

    def add_fold(self, contender: int, fold: int) -> None:
        """Take in that a contender has run a fold; all run them in one order.

        Args:
            contender: Its place.
            fold: Index of the fold.
        """
        self._fold_bits[contender] |= 1 << fold
        self._turns_since_look.append(Turn(contender, fold))

    def look(self, *, budget_is_spent: bool = False) -> Round:
        """Settle what can be settled, now that all `folds_wanted` have run.

        Args:
            budget_is_spent: Whether the budget is spent, so that some may not have run and
                this is the last look.
        """
        self._choose_leader(budget_is_spent=budget_is_spent)
        comparison = self._compare_with_leader()
        in_before = self.still_in
        # Both calls also set `still_in`, `folds_wanted` and `decided` anew.
        if self._terms.until == "order":
            settled = self._settle_places(comparison)
        else:
            settled = self._settle_rivals(comparison, budget_is_spent=budget_is_spent)
        dropped = tuple(contender for contender in in_before if contender in settled)
        in_before_or_now = {*in_before, *self.still_in}
        gaps = {}
        for contender, gap in comparison.gaps.items():
            if contender in in_before_or_now:
                gaps[contender] = gap
        turns = tuple(self._turns_since_look)
        self._turns_since_look = []
        return Round(
            n=comparison.leader_folds,
            fold=_fold_of_round(turns, comparison.leader),
            leader=comparison.leader,
            gaps=gaps,
            turns=turns,
            dropped=dropped,
            still_in=tuple(self.still_in),
            decided=self.decided,
            expected_loss=self._expected_loss(comparison),
        )

    def verdict(self) -> Verdict:
        """What is found so far: the leader, and everybody's place; at least one look was taken."""
        everybody = range(self._contender_count)
        winner = self._leader
        if self._terms.until == "order":
            winner = max(everybody, key=self._wins_and_mean)
        others = self._others(winner)
        spread = self._spread(winner, others, USUAL_NOISE)
        # Whoever has not run a fold comes last.
        behind = dict.fromkeys(everybody, math.inf)
        behind.update(zip(others, spread.means.tolist(), strict=True))

        def rank(contender: int) -> tuple[int, bool, float]:
            """Most wins first (until 'winner' nobody has any), then the winner, then by means."""
            return -self._wins[contender], contender != winner, behind[contender]

        equivalent: tuple[tuple[int, int], ...] = ()
        # Only with an indifference can two contenders be as good as each other.
        if self._terms.indifference > 0:
            equivalent = tuple(self._equivalent)
        return Verdict(
            winner=winner,
            ties=tuple(self._ties),
            order=tuple(sorted(everybody, key=rank)),
            worse=self._worse_on_new_data(winner, others),
            optimism=_optimism(spread, self._terms.k),
            equivalent=equivalent,
        )

    def _choose_leader(self, *, budget_is_spent: bool) -> None:
        """Whoever has the best mean of those with most folds leads from now on."""
        counts = self._counts
        most = max(counts)
        wants_more = any(
            counts[contender] < count for contender, count in self.folds_wanted.items()
        )
        if budget_is_spent and wants_more and most > 1:
            # The budget ended before everybody who challenges the leader could catch up, so that
            # the means are not of the same folds: the leader of the last look stays. While nobody
            # has more than one fold, there is no earlier leader to keep.
            return
        with_most_folds = [contender for contender, count in enumerate(counts) if count == most]
        self._leader = max(with_most_folds, key=self._signed_mean)

    def _compare_with_leader(self) -> _Comparison:
        """How far everybody who has run a fold is behind the leader."""
        leader = self._leader
        others = self._others(leader)
        usual_spread = self._spread(leader, others, USUAL_NOISE)
        spread = usual_spread
        if self._terms.winner_must_be_certain:
            # What is certain has to hold however much the folds that have not run may differ.
            spread = self._spread(leader, others, ANY_NOISE)
        half_widths = self._half_widths(spread)
        lows = spread.means - half_widths
        highs = spread.means + half_widths
        gaps = {}
        with_all_folds = set()
        for row, contender in enumerate(others):
            gaps[contender] = Gap(
                behind=float(spread.means[row]),
                low=float(lows[row]),
                high=float(highs[row]),
                folds=int(spread.folds[row]),
            )
            if gaps[contender].folds == self._terms.k:
                with_all_folds.add(contender)
        return _Comparison(
            leader=leader,
            leader_mean=abs(self._mean(leader)),
            leader_folds=self._counts[leader],
            others=others,
            with_all_folds=with_all_folds,
            gaps=gaps,
            # A loss is an expectation, whatever has to be certain: it holds on average.
            expected_losses=usual_spread.expected_losses(self._terms.k),
        )

    def _half_widths(self, spread: Spread) -> Floats:
        """How far each k-fold difference can be from its mean; infinite where that has no bound."""
        half_widths = spread.half_widths(self._error_of_one_look, self._terms.k)
        if self._terms.winner_must_be_certain and not self._terms.has_worst_score:
            half_widths[spread.folds < self._terms.k] = np.inf
        return half_widths

    def _expected_loss(self, comparison: _Comparison) -> float:
        """See `Round.expected_loss`."""
        everybody_ran = len(comparison.others) + 1 == self._contender_count
        if not everybody_ran or not comparison.leader_mean:
            return math.inf
        return float(comparison.expected_losses.sum()) / comparison.leader_mean

    def _settle_rivals(self, comparison: _Comparison, *, budget_is_spent: bool) -> set[int]:
        """Until 'winner': settle who is in, whether it is decided, and who is to run next.

        Returns:
            Whom nobody needs to run any more.
        """
        # A contender that has run all folds is not dropped: that would save nothing, and the
        # verdict compares it with the leader.
        dropped = set(self._dispensable_contenders(comparison)) - comparison.with_all_folds
        rivals = [contender for contender in comparison.others if contender not in dropped]
        rivals.sort(key=lambda contender: comparison.gaps[contender].behind)
        self.still_in = [comparison.leader, *rivals]
        undecided = self._undecided_rivals(comparison, rivals)
        self.decided = budget_is_spent or not undecided
        if self.decided:
            self.folds_wanted = {}
            self._ties = self._ties_with_leader(comparison, rivals, budget_is_spent=budget_is_spent)
            self._equivalent = self._equivalent_ties(comparison)
        else:
            self.folds_wanted = self._next_counts(comparison, undecided)
        return dropped

    def _dispensable_contenders(self, comparison: _Comparison) -> list[int]:
        """Who cannot be best, or may be passed over for the little that is expected to be lost."""
        if self._terms.winner_must_be_certain:
            return [contender for contender, gap in comparison.gaps.items() if gap.low > 0]
        passed_over = self._contenders_to_pass_over(comparison, comparison.expected_losses)
        if self._terms.has_worst_score:
            return passed_over
        # A score without a bound, such as a squared error, may be so bad in a single later fold
        # that the order changes, so nobody with a better mean than the leader's is passed over.
        # There may be such a contender, because the leader is only the best of those with most
        # folds: one with fewer folds has not run those in which the leader was bad.
        leader_mean = self._signed_mean(comparison.leader)
        return [
            contender for contender in passed_over if self._signed_mean(contender) <= leader_mean
        ]

    def _undecided_rivals(self, comparison: _Comparison, rivals: Sequence[int]) -> list[int]:
        """The rivals of whom more folds are needed before it is decided.

        Where it is to be certain, a rival that is ahead by the indifference at most is not one.
        """
        margin = self._terms.indifference * comparison.leader_mean
        undecided = []
        for rival in rivals:
            # `low` is how far the rival is behind at least; below 0 it may be ahead.
            may_be_ahead = comparison.gaps[rival].low < -margin
            is_settled = self._terms.winner_must_be_certain and not may_be_ahead
            if not is_settled and rival not in comparison.with_all_folds:
                undecided.append(rival)
        return undecided

    def _ties_with_leader(
        self, comparison: _Comparison, rivals: Sequence[int], *, budget_is_spent: bool
    ) -> list[tuple[int, int]]:
        """The leader and each rival that is not shown to differ from it, once it is decided.

        With all folds run that is whoever is not shown to be worse. A rival with fewer folds is
        ahead by the indifference at most; but where the budget is spent, nothing is said of it.
        """
        worse = self._worse_on_new_data(comparison.leader, comparison.others)
        ties = []
        for rival in rivals:
            if rival in comparison.with_all_folds:
                tied = rival not in worse
            else:
                # The selection was decided before this rival ran all folds, so it can be ahead by
                # the indifference at most. Where the budget ended it, nothing is known of the
                # rival.
                tied = not budget_is_spent
            if tied:
                ties.append((comparison.leader, rival))
        return ties

    def _equivalent_ties(self, comparison: _Comparison) -> list[tuple[int, int]]:
        """The ties with the leader that are shown to differ by the indifference at most.

        These are two one-sided tests (Schuirmann 1987): the whole interval lies within the margin.
        Its error is divided by the number of pairs, as any may be the one that is spoken of.
        """
        margin = self._terms.indifference * comparison.leader_mean
        spread = self._spread(comparison.leader, comparison.others, ANY_NOISE)
        level = self._terms.level_of_pairs(self._contender_count)
        largest_differences = np.abs(spread.means) + spread.half_widths(level, self._terms.k)
        difference_of = dict(zip(comparison.others, largest_differences.tolist(), strict=True))
        # Every tie is with the leader of this comparison.
        return [(leader, rival) for leader, rival in self._ties if difference_of[rival] <= margin]

    def _settle_places(self, comparison: _Comparison) -> set[int]:
        """Until 'order': settle pairs, who is in, whether it is decided, and who is to run next.

        Returns:
            Whose place is known now.
        """
        # If the whole order is asked for, all contenders that are in have as many folds as the
        # leader.
        all_folds_ran = comparison.leader_folds == self._terms.k
        best_first = sorted(self.still_in, key=self._signed_mean, reverse=True)
        margin = self._terms.indifference * abs(self._mean(best_first[0]))
        unsettled: set[int] = set()
        for place, contender in enumerate(best_first):
            others_after = best_first[place + 1 :]
            unsettled_rivals = self._settle_pairs(
                contender, others_after, margin, all_folds_ran=all_folds_ran
            )
            if unsettled_rivals:
                unsettled.update(unsettled_rivals, [contender])
        self.still_in = [contender for contender in best_first if contender in unsettled]
        self.decided = all_folds_ran or not self.still_in
        self.folds_wanted = dict.fromkeys(self.still_in, comparison.leader_folds + 1)
        return set(best_first) - unsettled

    def _settle_pairs(
        self, contender: int, others_after: Sequence[int], margin: float, *, all_folds_ran: bool
    ) -> list[int]:
        """Settle who is better of a contender and each of those whose means come after its own.

        Args:
            contender: Its place.
            others_after: Places of the others.
            margin: A smaller difference is a tie, in units of the score.
            all_folds_ran: Whether all folds have run, so that every pair has to be settled.

        Returns:
            Those with whom it has to run on.
        """
        # What is settled has to hold however much noise the folds still to come add.
        spread = self._spread(contender, others_after, ANY_NOISE)
        half_widths = self._half_widths(spread)
        worse_on_new_data: tuple[int, ...] = ()
        if all_folds_ran:
            worse_on_new_data = self._worse_on_new_data(contender, others_after)
        unsettled = []
        for other, behind, half_width in zip(others_after, spread.means, half_widths, strict=True):
            pair = (contender, other)
            if pair in self._settled:  # An earlier look has settled it.
                continue
            # Equivalence is shown by two one-sided tests, as in `_equivalent_ties`.
            is_equivalent = abs(behind) + half_width <= margin
            is_shown_behind = behind - half_width > 0
            if not (all_folds_ran or is_equivalent or is_shown_behind):
                unsettled.append(other)
                continue
            is_tied = is_equivalent
            if all_folds_ran and other not in worse_on_new_data:
                is_tied = True  # no fold is left that could show a difference
            self._settle_pair(contender, other, is_tied=is_tied)
            if is_equivalent:
                self._equivalent.append(pair)
        return unsettled

    def _settle_pair(self, better: int, other: int, *, is_tied: bool) -> None:
        """Take down that of a pair the first is better, or that neither is."""
        self._settled |= {(better, other), (other, better)}
        if is_tied:
            self._ties.append((better, other))
        else:
            self._wins[better] += 1

    def _next_counts(self, comparison: _Comparison, undecided: Sequence[int]) -> dict[int, int]:
        """Who of the undecided runs before the next look -> how many folds it is to have then.

        A fold goes first to those who are near the leader if folds add no noise to what users show;
        then to those who have fewer folds than the leader; else to the one that may be best.
        """
        if self._terms.budget is not None:
            return self._next_counts_by_worth(comparison, undecided)
        leader_folds = comparison.leader_folds
        counts = self._counts
        # They are near the leader if folds add no noise to what users show.
        near_leader = self._near_leader(comparison, undecided)
        if near_leader:
            # A difference is over folds that both have. While all near ones have fewer than the
            # leader, they draw level with it; another fold of the leader would tell nothing yet.
            if all(counts[contender] < leader_folds for contender in near_leader):
                return dict.fromkeys(near_leader, leader_folds)
            return dict.fromkeys([comparison.leader, *near_leader], leader_folds + 1)
        lagging = [contender for contender in undecided if counts[contender] < leader_folds]
        if lagging:
            return {contender: counts[contender] + 1 for contender in lagging}
        # It is the contender whose interval reaches farthest ahead of the leader.
        may_be_best = min(undecided, key=lambda contender: comparison.gaps[contender].low)
        return dict.fromkeys([comparison.leader, may_be_best], leader_folds + 1)

    def _near_leader(self, comparison: _Comparison, undecided: Sequence[int]) -> list[int]:
        """The undecided that would be so even if folds add no noise of their own."""
        spread = self._spread(comparison.leader, comparison.others, NO_NOISE)
        if self._terms.winner_must_be_certain:
            lows = spread.means - spread.half_widths(self._error_of_one_look, self._terms.k)
            settled = _above_zero(comparison.others, lows)
        else:
            settled = self._contenders_to_pass_over(
                comparison, spread.expected_losses(self._terms.k)
            )
        return [contender for contender in undecided if contender not in settled]

    def _next_counts_by_worth(
        self, comparison: _Comparison, undecided: Sequence[int]
    ) -> dict[int, int]:
        """The folds by which the expected loss falls most for what they cost.

        Either one more fold of a contender that has fewer than the leader, or one more of the
        leader and of some of those that have as many.

        Returns:
            Contender -> how many folds it is to have.
        """
        spread = self._spread(comparison.leader, undecided, USUAL_NOISE)
        with np.errstate(invalid="ignore"):  # a fall of what stays infinite is NaN
            loss_now = spread.expected_losses(self._terms.k)
            loss_after_a_fold = spread.expected_losses(self._terms.k, more_folds=1)
            # A loss that was infinite and no longer is counts as the largest fall of all.
            falls = np.nan_to_num(loss_now - loss_after_a_fold, posinf=1e300)
        counts = self._counts
        options = []
        level_with_leader = []
        for contender, fall in zip(undecided, falls.tolist(), strict=True):
            option = _Option(
                {contender: counts[contender] + 1}, loss_fall=fall, cost=self._cost(contender)
            )
            if counts[contender] == comparison.leader_folds:
                level_with_leader.append(option)
            else:
                options.append(option)
        # A contender with as many folds as the leader can tell more only on a fold that the leader
        # runs too. All of these share that fold of the leader, so the options are: the best of them
        # with the leader, the best two with the leader, and so on.
        folds_of_leader = {comparison.leader: comparison.leader_folds + 1}
        combination = _Option(folds_of_leader, loss_fall=0.0, cost=self._cost(comparison.leader))
        for option in sorted(level_with_leader, key=_Option.worth, reverse=True):
            combination = combination.combined_with(option)
            options.append(combination)
        return max(options, key=_Option.worth).folds_wanted

    def _contenders_to_pass_over(
        self, comparison: _Comparison, expected_losses: Floats
    ) -> list[int]:
        """Whom to pass over, so that no more than the terms allow is expected to be lost.

        Those by which least is lost are passed over first.

        Args:
            comparison: With the leader.
            expected_losses: By passing over each of the others, in units of the score.
        """
        # With a budget alone no loss is allowed, so that all of the budget is used.
        allowed_loss = (self._terms.expected_loss or 0.0) * comparison.leader_mean
        passed_over = []
        # Whichever of them is the best, no more is lost than the sum of their losses.
        total_loss = 0.0
        least_first = np.argsort(expected_losses, kind="stable").tolist()
        for row in least_first:
            total_loss += expected_losses[row]
            if total_loss > allowed_loss:
                break
            passed_over.append(comparison.others[row])
        return passed_over

    def _worse_on_new_data(self, winner: int, others: Sequence[int]) -> tuple[int, ...]:
        """Of whom it is shown that they are worse than the winner on new data.

        New data are folds without end, so the distance varies by s2 / e. The error is divided by
        the number of contenders, any of whom may be the winner, and spread over all looks.
        """
        # Any of the contenders may be the winner, by luck (Bonferroni).
        error = (1 - self._terms.confidence) / self._contender_count
        level = level_of_looks(error, self._terms.k, new_data=True)
        spread = self._spread(winner, others, NEW_DATA)
        half_widths = spread.half_widths(level, None)  # None asks for the mean of endless folds.
        return tuple(_above_zero(others, spread.means - half_widths))

    def _others(self, contender: int) -> list[int]:
        """Everybody but this contender who has run a fold."""
        others = []
        for other, count in enumerate(self._counts):
            if other != contender and count:
                others.append(other)
        return others

    def _spread(self, leader: int, others: Sequence[int], prior: Prior) -> Spread:
        """How far each of the others is behind the leader, on the folds that both have run."""
        differences = []
        same_algorithm = []
        for other in others:
            folds_of_both = self._fold_bits[leader] & self._fold_bits[other]
            differences.append(self._differences.between(leader, other, folds_of_both))
            same_algorithm.append(self._differences.same_algorithm(leader, other))
        return spread_of(differences, same_algorithm, prior, self._terms.sign)

    def _mean(self, contender: int) -> float:
        return self._differences.mean(contender, self._fold_bits[contender])

    def _wins_and_mean(self, contender: int) -> tuple[int, float]:
        """By which contenders are in order: the mean decides between equally many wins."""
        return self._wins[contender], self._signed_mean(contender)

    def _signed_mean(self, contender: int) -> float:
        """A contender's mean, negated where lower is better."""
        return self._terms.sign * self._mean(contender)


def _above_zero(contenders: Sequence[int], values: Floats) -> list[int]:
    """The contenders whose value, in the same order, is above zero."""
    return [contender for contender, value in zip(contenders, values, strict=True) if value > 0]


def _optimism(spread: Spread, k: int) -> float:
    """How much the highest mean overshoots, by a parametric bootstrap of the means' noise.

    Every contender has half the variance of its difference to the winner, and the winner that of
    the middle one; means are drawn anew around those that were seen, and the highest is picked.

    Args:
        spread: How far the others are behind the winner.
        k: Folds in all.
    """
    errors = spread.standard_errors(k)
    is_finite = np.isfinite(errors)
    errors = errors[is_finite]
    if not errors.any():
        return 0.0
    # The means of the spread say how far each of the others is behind the winner. The winner itself
    # is appended as the last entry: it is 0 behind itself, and is given the median error, for the
    # errors are of differences to it. A mean has half the variance of a difference of two means.
    behind_winner = np.append(spread.means[is_finite], 0.0)
    deviations = np.append(errors, np.median(errors)) / np.sqrt(2)
    # A row per draw of all means, a column per contender.
    draws = np.random.default_rng(0).standard_normal((_DRAWS, len(behind_winner)))
    noise = draws * deviations
    # In each draw somebody wins by its mean, noise included. What its noise adds is the winner's
    # curse.
    winners = (noise - behind_winner).argmax(axis=1)
    noise_of_winners = noise[np.arange(_DRAWS), winners]
    return float(noise_of_winners.mean())
