"""The selection written once more for thousands of made selections at once, with arrays.

A table takes seconds so, and two programs must agree (`tests/selection/test_batch.py`).
The formulas are those of `ecv_core.selection.evidence`, the order of the folds that of
`ecv_core.selection.rounds`; all contenders are of different algorithms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ecv_core.selection.evidence import expected_excess, level_of_looks

K = 10
"""Folds of every contender."""
ERROR = 0.05
"""How often a winner that is declared may be wrong."""
USERS = 40
Floats = NDArray[np.float64]
Counts = NDArray[np.intp]
Flags = NDArray[np.bool_]


class Noise(NamedTuple):
    """What is supposed of fold noise: a and d0 of a `Prior` in `evidence`."""

    freedom: float
    alike: float


CERTAIN_NOISE = Noise(2.0, 1.9)
LOSS_NOISE = Noise(3.5, 8.0)
NEW_DATA_NOISE = Noise(0.75, 2.2)
NO_NOISE = Noise(100.0, 100.0)


@dataclass
class Batch:
    """Contenders of many selections at once."""

    means: Floats
    """Of folds in running order; shape (selections, contenders, folds)."""
    users: Floats
    """Variance of a fold's difference as users tell it after 1, 2, ... folds; shape
    (selections, folds), the same for all pairs."""


class Selected(NamedTuple):
    """What came of each selection."""

    winners: Counts
    """Places of the winners; shape (selections,)."""
    folds: Counts
    """Of each contender, that were run; shape (selections, contenders)."""
    worse: Flags
    """Who is shown to be worse on new data; shape (selections, contenders)."""


def made_batch(
    means: Sequence[float],
    fold_noise: Sequence[float],
    selections: int,
    seed: int,
    spread: float = 0.2,
) -> Batch:
    """Fold means of contenders, as those of `tests.selection.conftest.made` with 40 users.

    Args:
        means: true ones of the contenders.
        fold_noise: of each contender, the variance that all users of a fold share, as a multiple
            of what they contribute to that of the fold's mean.
        selections: how many.
        seed: of the draws.
        spread: standard deviation of a user's score.
    """
    rng = np.random.default_rng(seed)
    by_users = spread**2 / USERS
    variances = by_users * (1 + np.array(fold_noise, dtype=float))
    drawn = rng.standard_normal((selections, len(means), K))
    noise = drawn * np.sqrt(variances)[:, None]
    freedom = (USERS - 1) * np.arange(1, K + 1)
    estimates = 2 * by_users * rng.chisquare(freedom, (selections, K)) / freedom
    return Batch(np.array(means)[:, None] + noise, estimates)


def select_many(batch: Batch, loss: float | None = None) -> Selected:
    """Go through all selections of a batch, look by look.

    Args:
        batch: of contenders.
        loss: the expected loss that is asked for, as a share of the leader's mean; None where it is
            to be certain who is best.
    """
    folds: Counts = np.ones(batch.means.shape[:2], dtype=np.intp)
    look = look_at(batch, folds)
    waiting = look.waiting(loss)
    while waiting.any():
        # A selection in which nobody waits is decided: it stays as it is.
        folds = next_folds(look, waiting, loss)
        look = look_at(batch, folds)
        waiting = look.waiting(loss)
    return Selected(look.leaders, folds, look.shown_worse())


@dataclass
class Look:
    """All selections after some folds; arrays of shape (selections, contenders)."""

    folds: Counts
    """That each contender has run."""
    leaders: Counts
    """The best of those that have run the most; shape (selections,)."""
    leader_means: Floats
    """Shape (selections,)."""
    is_rival: Flags
    """All but the leader."""
    gaps: Floats
    """How far each is behind the leader, over its own folds."""
    fold_variances: Floats
    """Of the differences to the leader in single folds; 0 after one."""
    user_variances: Floats
    """The same variance as users tell it; shape (selections, contenders)."""

    def moderated(self, noise: Noise) -> tuple[Floats, Floats]:
        """Variances of one fold's difference and their degrees of freedom (Smyth 2004)."""
        own_freedom = self.folds - 1.0
        ratio, ratio_freedom = self._ratios_of_others()
        # The prior counts as a ratio of 1: folds add nothing.
        total_freedom = noise.freedom + ratio_freedom
        ratio = (noise.freedom + ratio_freedom * ratio) / total_freedom
        prior_freedom = 1 / (1 / noise.alike + 1 / total_freedom)
        freedom = prior_freedom + own_freedom
        squares = prior_freedom * ratio * self.user_variances + own_freedom * self.fold_variances
        return squares / freedom, freedom

    def _ratios_of_others(self) -> tuple[Floats, Floats]:
        """By how much folds add to what users tell, among the other rivals: ratio and freedom."""
        weights = np.where(self.is_rival, self.folds - 1.0, 0.0)
        weighted = weights * self.fold_variances / self.user_variances
        weights_of_others = weights.sum(axis=1, keepdims=True) - weights
        sums_of_others = weighted.sum(axis=1, keepdims=True) - weighted
        # Differences to one leader are correlated, with a squared correlation of 1/4.
        covariances = 0.25 * np.minimum(weights[:, :, None], weights[:, None])
        diagonal = np.arange(weights.shape[1])
        covariances[:, diagonal, diagonal] = weights
        variance_of_all = covariances.sum(axis=(1, 2))[:, None]
        variance_of_others = variance_of_all - 2 * covariances.sum(axis=2) + weights
        freedom = weights_of_others**2 / np.maximum(variance_of_others, 1e-300)
        freedom[weights_of_others <= 0] = 0.0
        return sums_of_others / np.maximum(weights_of_others, 1e-300), freedom

    def waiting(self, loss: float | None) -> Flags:
        """Rivals who may yet be better than the leader, and have folds to run."""
        noise = CERTAIN_NOISE
        if loss is not None:
            noise = LOSS_NOISE
        return self.is_rival & ~self.is_out(noise, loss) & (self.folds < K)

    def is_out(self, noise: Noise, loss: float | None) -> Flags:
        """Who need not run any more: by a bound, or by the loss that is allowed."""
        variances, freedom = self.moderated(noise)
        errors = np.sqrt(variances * np.maximum(1 / self.folds - 1 / K, 0))
        if loss is None:
            lowest = self.gaps + stdtrit(freedom, level_of_looks(ERROR, K)) * errors
            return np.asarray(lowest > 0)
        return self._is_out_by_loss(errors, freedom, loss)

    def _is_out_by_loss(self, errors: Floats, freedom: Floats, loss: float) -> Flags:
        """As many rivals as may be passed over together, those with the least to lose first."""
        with np.errstate(invalid="ignore", divide="ignore"):
            losses = errors * expected_excess(self.gaps / errors, freedom)
        losses = np.where(errors > 0, losses, np.maximum(-self.gaps, 0))
        losses[~self.is_rival] = 0.0
        order = np.argsort(losses, axis=1)
        sums = np.cumsum(np.take_along_axis(losses, order, 1), axis=1)
        allowed = loss * np.abs(self.leader_means)
        is_out = np.zeros(losses.shape, dtype=np.bool_)
        np.put_along_axis(is_out, order, sums <= allowed[:, None], 1)
        return is_out

    def shown_worse(self) -> Flags:
        """Rivals that are worse on new data too, of which there is no end."""
        variances, freedom = self.moderated(NEW_DATA_NOISE)
        level = level_of_looks(ERROR / self.folds.shape[1], K, new_data=True)
        lowest = self.gaps + stdtrit(freedom, level) * np.sqrt(variances / self.folds)
        return np.asarray(self.is_rival & (lowest > 0))


def look_at(batch: Batch, folds: Counts) -> Look:
    """Compare everybody with the leader, over the folds that both have run."""
    last_fold = folds[:, :, None] - 1
    sums = np.take_along_axis(np.cumsum(batch.means, axis=2), last_fold, 2)[:, :, 0]
    means = sums / folds
    has_most = folds == folds.max(axis=1, keepdims=True)
    leaders = np.where(has_most, means, -np.inf).argmax(axis=1)
    selections = np.arange(len(folds))
    differences = batch.means[selections, leaders][:, None] - batch.means
    has_run = np.arange(K) < folds[:, :, None]
    gaps = (differences * has_run).sum(axis=2) / folds
    squares = ((differences - gaps[:, :, None]) ** 2 * has_run).sum(axis=2)
    return Look(
        folds=folds,
        leaders=leaders,
        leader_means=means[selections, leaders],
        is_rival=np.arange(folds.shape[1]) != leaders[:, None],
        gaps=gaps,
        fold_variances=squares / np.maximum(folds - 1, 1),
        user_variances=np.take_along_axis(batch.users, folds - 1, 1),
    )


def next_folds(look: Look, waiting: Flags, loss: float | None) -> Counts:
    """How many folds everybody is to have run at the next look.

    First come the rivals that are near if folds add nothing more; then those that lack folds of the
    leader; then the nearest of all, with the leader.

    Args:
        look: of now.
        waiting: rivals that may yet be better.
        loss: as for `select_many`.
    """
    most = look.folds.max(axis=1, keepdims=True)
    has_most = look.folds == most
    is_near = waiting & ~look.is_out(NO_NOISE, loss)
    is_lacking = waiting & ~has_most
    some_are_near = is_near.any(axis=1, keepdims=True)
    some_are_lacking = is_lacking.any(axis=1, keepdims=True)
    # Who is near catches up; where one of them has caught up, all go on with the leader.
    near_go_on = (is_near & has_most).any(axis=1, keepdims=True)
    folds = np.where(is_near, most + near_go_on, look.folds)
    folds = np.where(is_lacking & ~some_are_near, look.folds + 1, folds)
    nearest_goes_on = waiting.any(axis=1, keepdims=True) & ~some_are_near & ~some_are_lacking
    folds = np.where(nearest_goes_on & _nearest(look, waiting, loss), most + 1, folds)
    leader_goes_on = near_go_on | nearest_goes_on
    return np.where(leader_goes_on & ~look.is_rival, most + 1, folds)


def _nearest(look: Look, waiting: Flags, loss: float | None) -> Flags:
    """The one rival of each selection that is the fewest standard errors behind."""
    noise = CERTAIN_NOISE
    if loss is not None:
        noise = LOSS_NOISE
    variances, _ = look.moderated(noise)
    distances = np.where(waiting, look.gaps / np.sqrt(variances), np.inf)
    return np.arange(waiting.shape[1]) == distances.argmin(axis=1)[:, None]
