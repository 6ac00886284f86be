"""Finished contenders -> a selection played on them, in one order of the folds or in many."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.selection.evidence import Differences, EverySubset, PairedScores
from ecv_core.selection.rounds import Budget, Round, Selection, Terms, Turn, Verdict

MAX_FOLDS = 16
"""Most folds of contenders that are played in many orders: all sets of folds are worked out."""
_DRAWS = 8
"""How often the missing folds are drawn, to guess which will be needed: those that more than one
draw needs are likely."""


@dataclass(frozen=True, kw_only=True)
class SelectionResult:
    """One selection, from its first fold to its verdict; contenders are named by their places."""

    rounds: tuple[Round, ...]
    verdict: Verdict
    winner_mean: float
    """The winner's mean of the folds that it ran."""
    folds_used: tuple[int, ...]
    """Of each contender."""
    joules: float | None
    """Of the folds that were run; None where not all are known."""
    joules_of_all_folds: float | None
    """Where folds are still to come, what they are expected to take is counted; None without."""
    spent: float | None = None
    """In the unit of the budget; None without one."""

    @property
    def energy_share(self) -> float | None:
        """The joules of the folds that were run as a share of those of all; None if not known."""
        if self.joules is None or not self.joules_of_all_folds:
            return None
        return self.joules / self.joules_of_all_folds


@dataclass(frozen=True, kw_only=True)
class ResultsOverOrders:
    """What selections come to over many orders of the folds."""

    orders: int
    folds_share: float
    """Folds that were run, of all."""
    joules_share: float | None
    """Likewise of the joules; None where not all are known."""
    right_share: float
    """Share of orders in which the winner is the best over all folds, or tied with it."""
    losses_percent: Floats
    """How far the winner's k-fold mean is below the best, percent; shape (orders,)."""

    @property
    def mean_loss_percent(self) -> float:
        """The average loss."""
        return float(self.losses_percent.mean())

    @property
    def p95_loss_percent(self) -> float:
        """Not more than this is lost in 95 % of orders."""
        return float(np.quantile(self.losses_percent, 0.95, method="inverted_cdf"))


def check_contenders(contenders: Sequence[Scores]) -> None:
    """Refuse contenders that cannot be told apart or were not scored on the same users.

    Raises:
        InputError: With which, and the way out.
    """
    names = [contender.name for contender in contenders]
    if len(set(names)) < 2:
        raise InputError(
            f"a selection needs at least two contenders, but has {len(set(names))}; add another"
        )
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the contender '{name}' is listed twice; remove one")
    for contender in contenders[1:]:
        _check_same_users(contenders[0], contender)


def _check_same_users(first: Scores, other: Scores) -> None:
    """Refuse two contenders of which a fold that both have run was scored on different users."""
    if first.users is None or other.users is None:
        return
    both_ran = ~np.isnan(first.folds) & ~np.isnan(other.folds)
    for fold in np.flatnonzero(both_ran):
        differs = np.isnan(first.users[fold]) != np.isnan(other.users[fold])
        if differs.any():
            raise InputError(
                f"fold {fold} of '{other.name}' has other users, or samples, than that of "
                f"'{first.name}' ({differs.sum():,} differ); contenders must be scored on the same "
                "users, or samples, so run both on the same folds"
            )


def select_in_order(
    contenders: Sequence[Scores], terms: Terms, order: Sequence[int]
) -> SelectionResult:
    """A selection in this order of the folds.

    Args:
        contenders: With all the folds that it needs.
        terms: What is asked.
        order: Fold indices; all k of them, each once.

    Raises:
        InputError: For contenders that cannot be compared, or a fold that is missing.
    """
    check_contenders(contenders)
    return _select_to_end(contenders, order, terms, PairedScores(contenders))


def check_order_count(orders: int) -> None:
    """Refuse to draw no order. Raises: InputError."""
    if orders < 1:
        raise InputError(f"at least one order must be drawn, but got {orders}")


def select_in_random_orders(
    contenders: Sequence[Scores], terms: Terms, *, orders: int, seed: int = 0
) -> ResultsOverOrders:
    """Selections over random orders of the folds.

    Args:
        contenders: With all k folds.
        terms: What is asked.
        orders: How many to draw, at least one.
        seed: The seed of the draw.

    Raises:
        InputError: As `select_in_order`, for k above MAX_FOLDS, or fewer than one order.
    """
    check_contenders(contenders)
    if terms.k > MAX_FOLDS:
        raise InputError(
            f"random orders can be replayed for at most {MAX_FOLDS} folds, but there are "
            f"{terms.k}; replay the recorded order only"
        )
    check_order_count(orders)
    _check_complete(contenders)
    rng = np.random.default_rng(seed)
    differences = EverySubset(contenders)
    # Means of which the highest is the best, also where lower scores are better.
    means = terms.sign * np.array([contender.folds.mean() for contender in contenders])
    best = float(means.max())
    used_folds = 0
    used_joules = 0.0
    right_orders = 0
    losses = np.zeros(orders)
    for draw in range(orders):
        order = rng.permutation(terms.k).tolist()
        result = _select_to_end(contenders, order, terms, differences)
        used_folds += sum(result.folds_used)
        used_joules += result.joules or 0.0
        winner = result.verdict.winner
        if best:  # a loss is a share of the best mean, and so is not defined where that is 0
            losses[draw] = 100 * (best - means[winner]) / abs(best)
        # A contender that is tied with the winner is a right answer, too.
        if means[[winner, *result.verdict.tied]].max() >= best:
            right_orders += 1
    joules_share = None
    joules_of_all_folds = _joules_of_all_folds(contenders)
    if joules_of_all_folds:  # of none, or of 0 joules, there is no share
        joules_share = used_joules / orders / joules_of_all_folds
    return ResultsOverOrders(
        orders=orders,
        folds_share=used_folds / (orders * terms.k * len(contenders)),
        joules_share=joules_share,
        right_share=right_orders / orders,
        losses_percent=losses,
    )


@dataclass(frozen=True, kw_only=True)
class SelectionProgress:
    """A selection as far as the folds that are there take it."""

    rounds: tuple[Round, ...]
    folds_ran: tuple[tuple[int, ...], ...]
    """Folds of each contender that it has needed, newest last."""
    missing_turn: Turn | None
    """The fold that is needed next and has not run; None once it is decided."""
    still_in: tuple[int, ...]
    """Who may yet have to run, best first."""
    verdict: Verdict | None
    """So far; None before the first look."""
    spent: float | None
    """In the unit of the budget; None without one."""


def select_with_computed_folds(
    contenders: Sequence[Scores], order: Sequence[int], terms: Terms, differences: Differences
) -> SelectionProgress:
    """Go through a selection until it is decided, or needs a fold that has not been run.

    Args:
        contenders: With the folds that they have.
        order: The order of the folds.
        terms: What is asked.
        differences: The differences of these contenders.

    Raises:
        InputError: For a budget in a unit in which the folds' costs are not known.
    """
    walk = _SelectionWalk(contenders, terms, differences)
    rounds = []
    missing_turn = None
    while not walk.selection.decided and missing_turn is None:
        missing_turn = walk.run_until_look(order)
        if missing_turn is None:
            rounds.append(walk.selection.look(budget_is_spent=walk.budget_is_spent))
    verdict = None
    if rounds:
        verdict = walk.selection.verdict()
    spent = None
    if terms.budget is not None:
        spent = walk.spent
    return SelectionProgress(
        rounds=tuple(rounds),
        folds_ran=tuple(map(tuple, walk.folds_ran)),
        missing_turn=missing_turn,
        still_in=tuple(walk.selection.still_in),
        verdict=verdict,
        spent=spent,
    )


class _SelectionWalk:
    """A selection among folds that are there, with what they have cost so far."""

    def __init__(
        self, contenders: Sequence[Scores], terms: Terms, differences: Differences
    ) -> None:
        self._contenders = contenders
        self._costs = _fold_costs(contenders, terms)
        """What each fold of each contender costs, as `_fold_costs` has it."""
        self._budget = terms.budget
        self.spent = 0.0
        """What has been spent, in the unit of the budget."""
        self.folds_ran: list[list[int]] = [[] for _ in contenders]
        """The folds that each contender has run, newest last."""
        self.selection = Selection(differences, len(contenders), terms, cost=self._usual_cost)

    def _usual_cost(self, contender: int) -> float:
        """The mean cost of the folds that a contender has run."""
        return float(self._costs[contender, self.folds_ran[contender]].mean())

    @property
    def budget_is_spent(self) -> bool:
        return self._budget is not None and self.spent >= self._budget.amount

    def run_until_look(self, order: Sequence[int]) -> Turn | None:
        """Run what the selection wants before its next look, as far as the budget goes.

        Returns:
            The first of these folds that is not there, before which all ends; else None.

        Raises:
            InputError: For a budget in a unit in which the cost of a fold is not known.
        """
        for turn in self.selection.next_folds(order):
            if self.budget_is_spent:
                return None
            contender = self._contenders[turn.contender]
            if np.isnan(contender.folds[turn.fold]):
                return turn
            cost = self._costs[turn.contender, turn.fold]
            if self._budget is not None and np.isnan(cost):
                raise InputError(
                    f"the {self._budget.unit} of fold {turn.fold} of '{contender.name}' are not "
                    "known, so they cannot limit the selection; give the budget as a number of "
                    "folds"
                )
            self.spent += cost
            self.folds_ran[turn.contender].append(turn.fold)
            self.selection.add_fold(turn.contender, turn.fold)
        return None


def likely_turns(contenders: Sequence[Scores], terms: Terms) -> list[Turn]:
    """All that a selection, once looked at, may run; the likeliest first.

    The folds that are missing are drawn several times, and the selection is played on each draw.
    """
    if terms.budget is not None:
        # What a missing fold will cost is not known: the budget is counted in folds of usual cost.
        amount = terms.budget.amount / float(np.nanmean(_fold_costs(contenders, terms)))
        terms = replace(terms, budget=Budget(amount=amount, unit="folds"))
    real_scores = PairedScores(contenders)
    rng = np.random.default_rng(0)
    counts: Counter[Turn] = Counter()
    for _ in range(_DRAWS):
        completed = _CompletedScores(contenders, real_scores, rng)
        progress = select_with_computed_folds(
            completed.contenders, range(terms.k), terms, differences=completed
        )
        for selection_round in progress.rounds:
            counts.update(selection_round.turns)
    # What a single draw alone asks for is too unlikely to be computed ahead.
    return [turn for turn, count in counts.most_common() if count > 1]


class _CompletedScores(PairedScores):
    """Contenders with all folds; missing ones are drawn around the others, as users tell."""

    def __init__(
        self, contenders: Sequence[Scores], real_scores: PairedScores, rng: np.random.Generator
    ) -> None:
        """One draw.

        Args:
            contenders: With the folds that they have, at least one each.
            real_scores: Differences of the same contenders.
            rng: Draws the missing folds.
        """
        self._real_scores = real_scores
        self._fold_bits = []
        """For each contender, the set of the folds that it has run."""
        for contender in contenders:
            ran = np.flatnonzero(~np.isnan(contender.folds)).tolist()
            # A set of folds is a number with one bit per fold.
            self._fold_bits.append(sum(1 << fold for fold in ran))
        self.contenders = []
        completed = self._with_missing_drawn(contenders, rng)
        for contender, scores in zip(contenders, completed, strict=True):
            self.contenders.append(replace(contender, folds=scores))
        super().__init__(self.contenders)

    def _with_missing_drawn(self, contenders: Sequence[Scores], rng: np.random.Generator) -> Floats:
        """Scores of all folds; shape (contenders, k)."""
        # In arrays of two dimensions a row is a contender and a column a fold.
        scores = np.array([contender.folds for contender in contenders])
        has_run = ~np.isnan(scores)
        reference = int(has_run.sum(axis=1).argmax())  # This is a contender with most folds.
        ahead_of_reference = np.nanmean(scores - scores[reference], axis=1)[:, None]
        # A missing score is drawn as the level of its fold, plus how far the contender is ahead of
        # the reference, plus noise as large as its users show. The level of a fold is the mean
        # score in it, as if everybody who ran it were the reference.
        contender_counts = has_run.sum(axis=0)
        sums = np.where(has_run, scores - ahead_of_reference, 0).sum(axis=0)
        fold_levels = sums / np.maximum(contender_counts, 1)
        fold_levels[contender_counts == 0] = fold_levels[contender_counts > 0].mean()
        variances = np.zeros(len(scores))
        for contender in range(len(scores)):
            if contender != reference:
                # The folds asked for do not matter here: what users show was measured before.
                variances[contender] = self.user_variance(contender, reference, ())
        deviations = np.sqrt(np.nan_to_num(variances))[:, None]
        noise = deviations * rng.standard_normal(scores.shape)
        return np.where(has_run, scores, fold_levels + ahead_of_reference + noise)

    def user_variance(self, contender: int, other: int, folds: Sequence[int]) -> float:
        """As it was measured, whichever folds are asked for: nothing is drawn for users."""
        folds_of_both = self._fold_bits[contender] & self._fold_bits[other]
        return self._real_scores.between(contender, other, folds_of_both).user_variance


def _fold_costs(contenders: Sequence[Scores], terms: Terms) -> Floats:
    """What each fold costs in the unit of the budget, NaN if not known; 1 without a budget.

    The shape is (contenders, k).
    """
    if terms.budget is None or terms.budget.unit == "folds":
        return np.ones((len(contenders), terms.k))
    if terms.budget.unit == "joules":
        return np.array([contender.fold_joules for contender in contenders])
    seconds = np.full((len(contenders), terms.k), np.nan)
    for row, contender in zip(seconds, contenders, strict=True):
        for result in contender.results or ():
            row[result.fold] = result.total_seconds
    return seconds


def _select_to_end(
    contenders: Sequence[Scores], order: Sequence[int], terms: Terms, differences: Differences
) -> SelectionResult:
    """A selection to its end.

    Raises:
        InputError: For a fold that it needs and that is missing.
    """
    progress = select_with_computed_folds(contenders, order, terms, differences)
    if progress.missing_turn is not None:
        name = contenders[progress.missing_turn.contender].name
        raise InputError(
            f"'{name}' has no fold {progress.missing_turn.fold}, which the selection needs; run "
            "it, or leave the contender out"
        )
    result = result_so_far(contenders, progress, _joules_of_all_folds(contenders))
    assert result is not None  # it is decided, so that it has at least one round
    return result


def result_so_far(
    contenders: Sequence[Scores], progress: SelectionProgress, joules_of_all_folds: float | None
) -> SelectionResult | None:
    """What a selection has come to; None before its first look.

    Args:
        contenders: With the folds that they have.
        progress: Their selection.
        joules_of_all_folds: See `SelectionResult`.
    """
    if progress.verdict is None:
        return None
    joules = 0.0
    for contender, folds in zip(contenders, progress.folds_ran, strict=True):
        joules += float(contender.fold_joules[list(folds)].sum())
    return SelectionResult(
        rounds=progress.rounds,
        verdict=progress.verdict,
        winner_mean=mean_so_far(contenders, progress.rounds, progress.verdict.winner),
        folds_used=tuple(map(len, progress.folds_ran)),
        joules=finite_or_none(joules),
        joules_of_all_folds=joules_of_all_folds,
        spent=progress.spent,
    )


def mean_so_far(contenders: Sequence[Scores], rounds: Sequence[Round], contender: int) -> float:
    """A contender's mean of the folds that it ran in these rounds, at least one."""
    return float(contenders[contender].folds[folds_of(rounds, contender)].mean())


def folds_of(rounds: Sequence[Round], contender: int) -> list[int]:
    """The folds that a contender ran in these rounds, in that order."""
    folds = []
    for selection_round in rounds:
        for turn in selection_round.turns:
            if turn.contender == contender:
                folds.append(turn.fold)
    return folds


def _joules_of_all_folds(contenders: Sequence[Scores]) -> float | None:
    """None where those of one fold are not known."""
    return finite_or_none(float(sum(contender.fold_joules.sum() for contender in contenders)))


def finite_or_none(value: float) -> float | None:
    """The value as JSON has it: nothing for one that is infinite or not a number."""
    if math.isfinite(value):
        return value
    return None


def _check_complete(contenders: Sequence[Scores]) -> None:
    for contender in contenders:
        missing = np.flatnonzero(np.isnan(contender.folds))
        if missing.size:
            raise InputError(
                f"'{contender.name}' has no fold {missing[0]}; every order needs all folds, so "
                "run it to the end or leave the contender out"
            )
