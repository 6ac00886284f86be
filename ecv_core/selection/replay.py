"""Finished contenders -> a selection played on them, in one order of the folds or in many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.selection.evidence import Difference, Differences, EverySubset, PairedScores
from ecv_core.selection.rounds import Budget, Round, Selection, Terms, Verdict

MAX_FOLDS = 16
"""Of contenders that are played in many orders: all sets of folds are worked out."""
_DRAWS = 8
"""Of what may follow; folds that more than one of them needs are likely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One selection, from its first fold to its verdict; contenders are named by their places."""

    rounds: tuple[Round, ...]
    verdict: Verdict
    folds_used: tuple[int, ...]
    """Of each contender."""
    joules: float | None
    """Of the folds that were run; None where not all are known."""
    joules_of_all_folds: float | None
    spent: float | None = None
    """In the unit of the budget; None without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverOrders:
    """What selections come to over many orders of the folds."""

    orders: int
    folds_share: float
    """Folds that were run, of all."""
    joules_share: float | None
    """Likewise of the joules; None where not all are known."""
    right: float
    """Share of orders in which the winner is the best over all folds, or tied with it."""
    losses_percent: NDArray[np.float64]
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

    Raises: InputError with which, and the way out.
    """
    names = [one.name for one in contenders]
    if len(set(names)) < 2:
        raise InputError(
            f"a selection needs at least two contenders, but has {len(set(names))}; name another"
        )
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"the contender '{twice[0]}' is there twice; leave one out")
    first = contenders[0]
    for one in contenders[1:]:
        if first.users is None or one.users is None:
            continue
        both = np.flatnonzero(~np.isnan(first.folds) & ~np.isnan(one.folds))
        apart = np.isnan(first.users[both]) != np.isnan(one.users[both])
        if apart.any():
            fold = int(both[np.flatnonzero(apart.any(axis=1))[0]])
            raise InputError(
                f"fold {fold} of '{one.name}' has other users, or samples, than that of "
                f"'{first.name}' ({int(apart.sum()):,} differ); contenders must be scored on the "
                "same ones, so run both on the same folds"
            )


def play(contenders: Sequence[Scores], terms: Terms, order: Sequence[int]) -> Played:
    """A selection in this order of the folds.

    Args:
        contenders: with all the folds that it needs.
        terms: what is asked.
        order: fold indices; all k of them, each once.
    Raises: InputError for contenders that cannot be compared, or a fold that is missing.
    """
    check_contenders(contenders)
    return _played(contenders, order, terms)


def play_orders(
    contenders: Sequence[Scores], terms: Terms, *, orders: int, seed: int = 0
) -> OverOrders:
    """Selections over random orders of the folds.

    Args:
        contenders: with all k folds.
        terms: what is asked.
        orders: how many to draw, at least one.
        seed: of the draw.
    Raises: InputError as `play`, for k above MAX_FOLDS, or fewer than one order.
    """
    check_contenders(contenders)
    if terms.k > MAX_FOLDS:
        raise InputError(
            f"many orders can be played of at most {MAX_FOLDS} folds, but there are {terms.k}; "
            "play the recorded order"
        )
    if orders < 1:
        raise InputError(f"at least one order must be drawn, but not {orders}")
    _check_complete(contenders)
    rng = np.random.default_rng(seed)
    differences = EverySubset(contenders)
    sign = 1.0 if terms.higher_is_better else -1.0
    means = np.array([one.folds.mean() for one in contenders])
    best = float((sign * means).max())
    folds, joules, right = 0, 0.0, 0
    losses = np.empty(orders)
    for at in range(orders):
        found = _played(contenders, rng.permutation(terms.k).tolist(), terms, differences)
        winner = found.verdict.winner
        folds += sum(found.folds_used)
        joules += np.nan if found.joules is None else found.joules
        lost = best - sign * means[winner]
        losses[at] = 100 * lost / abs(best) if best else 0.0
        near = {winner, *found.verdict.tied}
        right += any(sign * means[one] >= best for one in near)
    whole = _total([one.fold_joules for one in contenders])
    return OverOrders(
        orders=orders,
        folds_share=folds / (orders * terms.k * len(contenders)),
        joules_share=None if whole is None or np.isnan(joules) else joules / orders / whole,
        right=right / orders,
        losses_percent=losses,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """A selection as far as the folds that are there take it."""

    rounds: tuple[Round, ...]
    ran: tuple[tuple[int, ...], ...]
    """Folds of each contender that it has needed, newest last."""
    needed: tuple[int, int] | None
    """The contender and the fold that come next; None once it is decided."""
    left: tuple[int, ...]
    """Who is still in, best first."""
    verdict: Verdict | None
    """So far; None before the first look."""
    spent: float | None
    """In the unit of the budget; None without one."""


def follow(
    contenders: Sequence[Scores],
    order: Sequence[int],
    terms: Terms,
    differences: Differences | None = None,
) -> Followed:
    """Go through a selection until it is decided, or needs a fold that has not been run.

    Args:
        contenders: with the folds that they have.
        order: of the folds.
        terms: what is asked.
        differences: of these contenders; by default worked out as they are needed.
    Raises: InputError for a budget in a unit in which the folds' costs are not known.
    """
    ran: list[list[int]] = [[] for _ in contenders]
    costs = _costs(contenders, terms)
    game = Selection(
        differences or PairedScores(contenders),
        len(contenders),
        terms,
        cost=lambda one: float(costs[one, ran[one]].mean()),
    )
    allowed = np.inf if terms.budget is None else terms.budget.amount
    rounds: list[Round] = []
    needed, spent = None, 0.0
    while not game.decided and needed is None:
        for one, fold in game.next_folds(order):
            if spent >= allowed:
                break
            if np.isnan(contenders[one].folds[fold]):
                needed = one, fold
                break
            if np.isnan(costs[one, fold]) and terms.budget is not None:
                raise InputError(
                    f"the {terms.budget.unit} of fold {fold} of '{contenders[one].name}' are not "
                    "known, so they cannot be a budget; give a number of folds"
                )
            ran[one].append(fold)
            game.ran(one, fold)
            spent += costs[one, fold]
        if needed is None:
            rounds.append(game.look(spent=spent >= allowed))
    return Followed(
        rounds=tuple(rounds),
        ran=tuple(map(tuple, ran)),
        needed=needed,
        left=tuple(game.left),
        verdict=game.verdict() if rounds else None,
        spent=spent if terms.budget else None,
    )


def likely_folds(contenders: Sequence[Scores], terms: Terms) -> list[tuple[int, int]]:
    """Contender and fold of all that a selection, once looked at, may run; the likeliest first."""
    if terms.budget is not None:
        amount = terms.budget.amount / float(np.nanmean(_costs(contenders, terms)))
        terms = replace(terms, budget=Budget(amount=amount, unit="folds"))
    known, rng = PairedScores(contenders), np.random.default_rng(0)
    often: Counter[tuple[int, int]] = Counter()
    for _ in range(_DRAWS):
        drawn = _Drawn(contenders, known, rng)
        for each in follow(drawn.contenders, range(terms.k), terms, drawn).rounds:
            often.update(each.ran)
    return [turn for turn, count in often.most_common() if count > 1]


class _Drawn(PairedScores):
    """Contenders with all folds; missing ones are drawn around the others, as users tell."""

    def __init__(
        self, contenders: Sequence[Scores], known: PairedScores, rng: np.random.Generator
    ) -> None:
        folds = np.array([one.folds for one in contenders])
        has = ~np.isnan(folds)
        self._known = known
        self._there = [sum(1 << fold for fold in np.flatnonzero(row).tolist()) for row in has]
        most = int(has.sum(axis=1).argmax())
        behind = np.nanmean(folds - folds[most], axis=1)[:, None]
        level = np.where(has, folds - behind, 0).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
        level[~has.any(axis=0)] = level[has.any(axis=0)].mean()
        noise = [self._users(one, most) if one != most else 0.0 for one in range(len(folds))]
        drawn = np.sqrt(np.nan_to_num(noise))[:, None] * rng.standard_normal(folds.shape)
        folds = np.where(has, folds, level + behind + drawn)
        self.contenders = [
            replace(one, folds=row) for one, row in zip(contenders, folds, strict=True)
        ]
        super().__init__([replace(one, users=None) for one in self.contenders])

    def _users(self, one: int, other: int) -> float:
        return self._known.between(one, other, self._there[one] & self._there[other]).users

    def _computed(self, one: int, other: int, folds: int) -> Difference:
        return replace(super()._computed(one, other, folds), users=self._users(one, other))


def _costs(contenders: Sequence[Scores], terms: Terms) -> NDArray[np.float64]:
    """What each fold costs in the unit of the budget, NaN where that is not known."""
    if terms.budget is None or terms.budget.unit == "folds":
        return np.ones((len(contenders), terms.k))
    if terms.budget.unit == "joules":
        return np.array([one.fold_joules for one in contenders])
    seconds = np.full((len(contenders), terms.k), np.nan)
    for row, one in zip(seconds, contenders, strict=True):
        for result in one.results or ():
            row[result.fold] = result.total_seconds
    return seconds


def _played(
    contenders: Sequence[Scores],
    order: Sequence[int],
    terms: Terms,
    differences: Differences | None = None,
) -> Played:
    followed = follow(contenders, order, terms, differences)
    if followed.needed is not None:
        one, fold = followed.needed
        raise InputError(
            f"'{contenders[one].name}' has no fold {fold}, which the selection needs; run it, or "
            "leave the contender out"
        )
    assert followed.verdict is not None  # it is decided
    return Played(
        rounds=followed.rounds,
        verdict=followed.verdict,
        folds_used=tuple(map(len, followed.ran)),
        joules=joules_of(contenders, followed.ran),
        joules_of_all_folds=_total([one.fold_joules for one in contenders]),
        spent=followed.spent,
    )


def joules_of(contenders: Sequence[Scores], ran: Sequence[Sequence[int]]) -> float | None:
    """What these folds of the contenders took; None where that is not known of all."""
    return _total(
        [one.fold_joules[list(folds)] for one, folds in zip(contenders, ran, strict=True)]
    )


def _total(joules: Sequence[NDArray[np.float64]]) -> float | None:
    total = float(sum(one.sum() for one in joules))
    return None if np.isnan(total) else total


def _check_complete(contenders: Sequence[Scores]) -> None:
    for one in contenders:
        if missing := np.flatnonzero(np.isnan(one.folds)).tolist():
            raise InputError(
                f"'{one.name}' has no fold {missing[0]}; every order needs all folds, so run it "
                "to the end or leave the contender out"
            )
