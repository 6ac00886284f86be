"""Scores of all users' held-out items and negatives together -> pooled AUC, calibrated log loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are used

from ecv_core.evaluation.formulas import linearized, log_loss
from ecv_core.records.arrays import Floats, Indices, Mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoredPairs:
    """Pairs of a user and an item with their scores; all of shape (pairs,)."""

    scores: Floats
    chosen: Mask
    """Whether the item is held out; else it is a negative."""
    owners: Indices
    """The user's number; no two users have the same."""

    @classmethod
    def joined(cls, parts: Sequence[ScoredPairs]) -> ScoredPairs:
        """All pairs of some users and of others."""
        scores = np.concatenate([part.scores for part in parts])
        chosen = np.concatenate([part.chosen for part in parts])
        owners = np.concatenate([part.owners for part in parts])
        return cls(scores=scores, chosen=chosen, owners=owners)


def pooled_auc(pairs: ScoredPairs, seed: int = 0) -> Floats:
    """The chance that a held-out pair has a higher score than a negative one; a tie is one half.

    Each pair has a placement: the share of the pairs of the other sort that it beats, or for a
    negative that beat it. The mean of either sort's is the AUC A, and a user adds to it

        A + (sum over the user's held-out pairs of (placement - A)) / (held-out pairs per user)
          + (sum over the user's negative pairs of (placement - A)) / (negative pairs per user)

    Args:
        pairs: of which some are held out and some are negative.
        seed: of no use here.
    Returns: what each user adds, by number of the user; shape (users,). The mean is A.
    Source: Hanley, McNeil (1982) for A; DeLong, DeLong, Clarke-Pearson (1988) for placements,
        Obuchowski (1997) for pairs that come in groups.
    """
    held_out = pairs.scores[pairs.chosen]
    negative = pairs.scores[~pairs.chosen]
    placements = np.empty(len(pairs.scores))
    placements[pairs.chosen] = _share_below(held_out, negative)
    placements[~pairs.chosen] = 1 - _share_below(negative, held_out)
    auc = float(placements[pairs.chosen].mean())
    owners, codes = np.unique(pairs.owners, return_inverse=True)
    added = np.full(len(owners), auc)
    for sort in (pairs.chosen, ~pairs.chosen):
        counts = np.bincount(codes[sort], minlength=len(owners))
        sums = np.bincount(codes[sort], weights=placements[sort], minlength=len(owners))
        added += linearized(sums, counts, mean=auc, value=0.0)
    return added


def _share_below(scores: Floats, others: Floats) -> Floats:
    """Of each score, the share of the others that are lower; equal ones count one half."""
    in_order = np.sort(others)
    below = np.searchsorted(in_order, scores)
    not_above = np.searchsorted(in_order, scores, side="right")
    return (below + not_above) / (2 * len(others))


def calibrated_log_loss(pairs: ScoredPairs, seed: int = 0) -> Floats:
    """Log loss of scores that a logistic curve turns into probabilities.

    The two numbers of the curve are learnt on the pairs of half of the users and scored on those
    of the others, and the other way round.

    Args:
        pairs: of at least two users.
        seed: decides which users are in which half.
    Returns: what each user adds to the mean over all pairs, by number of the user; shape (users,).
        Infinite where any score is, and NaN where there is one user alone.
    Source: Platt (1999), without his prior, as there are many pairs.
    """
    owners, codes = np.unique(pairs.owners, return_inverse=True)
    if len(owners) < 2:
        return np.full(len(owners), np.nan)
    if not np.isfinite(pairs.scores).all():
        return np.full(len(owners), np.inf)
    order = np.random.default_rng(seed).permutation(len(owners))
    is_first = np.zeros(len(owners), dtype=np.bool_)
    is_first[order[: len(owners) // 2]] = True
    losses = calibrated_losses(pairs.scores, pairs.chosen, is_first[codes])
    sums = np.bincount(codes, weights=losses)
    return linearized(sums, np.bincount(codes), mean=float(losses.mean()))


def calibrated_losses(scores: Floats, chosen: Mask, half: Mask) -> Floats:
    """Log loss of each pair by the curve of the other half.

    Args:
        scores: of pairs of any users, finite; shape (pairs,).
        chosen: whether the pair is held out; both sorts are in either half; shape (pairs,).
        half: whether the pair's user is in the first half; shape (pairs,).
    Returns: nats; shape (pairs,).
    """
    spread = scores.std() or 1.0
    scaled = (scores - scores.mean()) / spread
    losses = np.empty(len(scores))
    for learnt in (half, ~half):
        curve = _logistic_curve(scaled[learnt], chosen[learnt])
        losses[~learnt] = log_loss(np.polyval(curve, scaled[~learnt]), chosen[~learnt])
    return losses


def _logistic_curve(scores: Floats, chosen: Mask) -> Floats:
    """Slope and intercept of the likeliest logistic curve, by Newton's method with halved steps."""

    def loss(curve: Floats) -> float:
        return float(log_loss(np.polyval(curve, scores), chosen).mean())

    share = chosen.mean()
    curve = np.array([0.0, np.log(share / (1 - share))])
    least = loss(curve)
    for _ in range(100):
        shares = scipy.special.expit(np.polyval(curve, scores))
        weights = shares * (1 - shares)
        errors = chosen - shares
        cross = (weights * scores).mean()
        curvature = [[(weights * scores**2).mean() + 1e-9, cross], [cross, weights.mean() + 1e-9]]
        step = np.linalg.solve(curvature, [(errors * scores).mean(), errors.mean()])
        after = loss(curve + step)
        while after > least and np.abs(step).max() > 1e-9:
            step = step / 2
            after = loss(curve + step)
        if least - after < 1e-9:
            break
        curve = curve + step
        least = after
    return curve


PAIR_METRICS = {"pooled-auc": pooled_auc, "calibrated-log-loss": calibrated_log_loss}
"""Their kernels, by the metric's id: pairs and a seed -> what each user adds."""
