"""Scores of all users' held-out items and negatives together -> pooled AUC, calibrated log loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are used

from ecv_core.evaluation.formulas import linearized_by_user, log_loss, placements
from ecv_core.records.arrays import Floats, Indices, Mask


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredPairs:
    """Pairs of a user and an item with their scores; all of shape (pairs,)."""

    scores: Floats
    is_held_out: Mask
    """Whether the item is held out; else it is a negative."""
    users: Indices
    """The user's number; no two users have the same."""

    @classmethod
    def joined(cls, parts: Sequence[ScoredPairs]) -> ScoredPairs:
        """All pairs of some users and of others."""
        scores = np.concatenate([part.scores for part in parts])
        is_held_out = np.concatenate([part.is_held_out for part in parts])
        users = np.concatenate([part.users for part in parts])
        return cls(scores=scores, is_held_out=is_held_out, users=users)


def pooled_auc(pairs: ScoredPairs, seed: int = 0) -> Floats:
    """The chance that a held-out pair has a higher score than a negative one; a tie is one half.

    Each pair has a placement: the share of the pairs of the other sort that it beats, or for a
    negative that beat it. The mean of either sort's is the AUC A, and a user adds to it

        A + (sum over the user's held-out pairs of (placement - A)) / (held-out pairs per user)
          + (sum over the user's negative pairs of (placement - A)) / (negative pairs per user)

    Args:
        pairs: The pairs of which some are held out and some are negative.
        seed: The seed of no use here.

    Returns:
        What each user adds, by number of the user; shape (users,). The mean is A.
    Source: Hanley, McNeil (1982) for A; DeLong, DeLong, Clarke-Pearson (1988) for placements,
        Obuchowski (1997) for pairs that come in groups.
    """
    is_held_out = pairs.is_held_out
    placement_of_pair = placements(pairs.scores, is_held_out)
    auc = float(placement_of_pair[is_held_out].mean())
    users, user_of_pair = np.unique(pairs.users, return_inverse=True)
    user_values = np.full(len(users), auc)
    # The area is the mean placement of the held-out pairs, and of the negative ones as well. A user
    # moves it by either, and both moves, each 0 on average, are added up.
    for is_of_kind in (is_held_out, ~is_held_out):
        owners = user_of_pair[is_of_kind]
        counts = np.bincount(owners, minlength=len(users))
        sums = np.bincount(owners, weights=placement_of_pair[is_of_kind], minlength=len(users))
        user_values += linearized_by_user(sums, counts, mean=auc, value=0.0)
    return user_values


def calibrated_log_loss(pairs: ScoredPairs, seed: int = 0) -> Floats:
    """Log loss of scores that a logistic curve turns into probabilities.

    The two numbers of the curve are learnt on the pairs of half of the users and scored on those
    of the others, and the other way round.

    Args:
        pairs: The pairs of at least two users.
        seed: Decides which users are in which half.

    Returns:
        What each user adds to the mean over all pairs, by number of the user; shape (users,).
        Infinite where any score is, and NaN where there is one user alone.
    Source: Platt (1999), without his prior, as there are many pairs.
    """
    users, user_of_pair = np.unique(pairs.users, return_inverse=True)
    if len(users) < 2:
        return np.full(len(users), np.nan)
    if not np.isfinite(pairs.scores).all():
        return np.full(len(users), np.inf)
    order = np.random.default_rng(seed).permutation(len(users))
    is_in_first_half = np.zeros(len(users), dtype=np.bool_)
    is_in_first_half[order[: len(users) // 2]] = True
    losses = calibrated_losses(pairs.scores, pairs.is_held_out, is_in_first_half[user_of_pair])
    sums = np.bincount(user_of_pair, weights=losses)
    counts = np.bincount(user_of_pair)
    return linearized_by_user(sums, counts, mean=float(losses.mean()))


def calibrated_losses(scores: Floats, is_held_out: Mask, is_in_first_half: Mask) -> Floats:
    """Log loss of each pair by the curve of the other half.

    Args:
        scores: The scores of pairs of any users, finite; shape (pairs,).
        is_held_out: Else a pair is a negative; both sorts are in either half; shape (pairs,).
        is_in_first_half: Whether the pair's user is in the first half; shape (pairs,).

    Returns:
        Nats; shape (pairs,).
    """
    spread = scores.std() or 1.0  # Equal scores have no spread.
    scaled = (scores - scores.mean()) / spread
    losses = np.empty(len(scores))
    for is_learnt_from in (is_in_first_half, ~is_in_first_half):
        is_scored = ~is_learnt_from
        curve = _logistic_curve(scaled[is_learnt_from], is_held_out[is_learnt_from])
        log_odds = np.polyval(curve, scaled[is_scored])
        losses[is_scored] = log_loss(log_odds, is_held_out[is_scored])
    return losses


def _logistic_curve(scores: Floats, is_held_out: Mask) -> Floats:
    """Slope and intercept of the likeliest logistic curve, by Newton's method with halved steps.

    Of its log odds: slope * score + intercept.
    """

    def mean_loss(curve: Floats) -> float:
        return float(log_loss(np.polyval(curve, scores), is_held_out).mean())

    share = is_held_out.mean()
    # The curve is its slope and its intercept; it begins flat, at the share of held-out pairs.
    curve = np.array([0.0, np.log(share / (1 - share))])
    least_loss = mean_loss(curve)
    for _ in range(100):  # A few of Newton's steps are enough.
        probabilities = scipy.special.expit(np.polyval(curve, scores))
        errors = is_held_out - probabilities
        # This is the loss's gradient with the opposite sign.
        descent = [(errors * scores).mean(), errors.mean()]
        weights = probabilities * (1 - probabilities)
        mixed = (weights * scores).mean()
        # The Hessian of the loss; a little more on its diagonal keeps it invertible.
        hessian = [[(weights * scores**2).mean() + 1e-9, mixed], [mixed, weights.mean() + 1e-9]]
        step = np.linalg.solve(hessian, descent)
        loss = mean_loss(curve + step)
        # A step that overshoots is halved until the loss falls.
        while loss > least_loss and np.abs(step).max() > 1e-9:
            step = step / 2
            loss = mean_loss(curve + step)
        if least_loss - loss < 1e-9:
            break
        curve = curve + step
        least_loss = loss
    return curve


PAIR_METRICS = {"pooled-auc": pooled_auc, "calibrated-log-loss": calibrated_log_loss}
"""Their kernels, by the metric's id: pairs and a seed -> what each user adds."""
