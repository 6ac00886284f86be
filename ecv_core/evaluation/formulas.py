"""The formulas of metrics: of hits in ranked lists per user, and of errors of predictions.

Those of lists are RecBole's: binary gain, discount 1/log2(rank + 1), and a perfect list that has a
hit at each of its first min(n, held-out items) ranks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.records.arrays import AnyArray, AnyFloats, Codes, Counts, Floats, Indices, Mask

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Lists = NDArray[np.integer]
"""Items, best first, -1 where no candidate is left; shape (users, n)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranked:
    """Ranked lists against what was held out, with the sums that the metrics share.

    `hits` has shape (users, n), True where the item at that rank is held out; `held_out` has shape
    (users,) and counts each user's held-out items, at least 1. `cutoffs` are at most n.
    """

    hits: Mask
    held_out: Counts
    cutoffs: tuple[int, ...]

    def at_cutoffs(self, by_rank: Floats) -> Floats:
        """See `sums_at_cutoffs`."""
        return sums_at_cutoffs(by_rank, self.cutoffs)

    def reachable(self) -> Indices:
        """Hits that a perfect list has: min(n, held-out); shape (users, cutoffs)."""
        return np.minimum(np.array(self.cutoffs), self.held_out[:, None])

    def ranks(self) -> Floats:
        """1 .. n; shape (n,)."""
        return np.arange(1.0, self.hits.shape[1] + 1)


def sums_at_cutoffs(by_rank: AnyArray, cutoffs: Sequence[int]) -> Floats:
    """Sums over the first n ranks of each list, for each cut-off n.

    Args:
        by_rank: Shape (users, ranks).
        cutoffs: At most as many as ranks.

    Returns:
        Shape (users, cutoffs).
    """
    last_places = np.array(cutoffs) - 1
    return np.cumsum(by_rank, axis=1)[:, last_places]


def discounts(n: int) -> Floats:
    """1 / log2(rank + 1) of the ranks 1 to n; shape (n,)."""
    ranks = np.arange(1, n + 1)
    return 1 / np.log2(ranks + 1)


def _counts(ranked: Ranked) -> Floats:
    return ranked.at_cutoffs(ranked.hits.astype(np.float64))


def ndcg(ranked: Ranked) -> Floats:
    """Discounted gain over that of a perfect list. Source: Järvelin & Kekäläinen (2002)."""
    discount_of_rank = discounts(ranked.hits.shape[1])
    ideal: Floats = np.cumsum(discount_of_rank)[ranked.reachable() - 1]
    return ranked.at_cutoffs(ranked.hits * discount_of_rank) / ideal


def recall(ranked: Ranked) -> Floats:
    """Share of the held-out items that are in the list."""
    return _counts(ranked) / ranked.held_out[:, None]


def precision(ranked: Ranked) -> Floats:
    """Share of the list's n places that hold a held-out item."""
    return _counts(ranked) / np.array(ranked.cutoffs, dtype=np.float64)


def mrr(ranked: Ranked) -> Floats:
    """1 / rank of the first hit, 0 without one. Source: Voorhees (1999)."""
    first = ranked.hits & (np.cumsum(ranked.hits, axis=1) == 1)
    return ranked.at_cutoffs(first / ranked.ranks())


def hit(ranked: Ranked) -> Floats:
    """1 if there is any hit, else 0."""
    return (_counts(ranked) > 0).astype(np.float64)


def average_precision(ranked: Ranked) -> Floats:
    """The precision at the rank of each hit, summed and divided by the hits of a perfect list."""
    precision_at_rank = np.cumsum(ranked.hits, axis=1) / ranked.ranks()
    return ranked.at_cutoffs(ranked.hits * precision_at_rank) / ranked.reachable()


def f1(ranked: Ranked) -> Floats:
    """Harmonic mean of precision and recall. Source: van Rijsbergen (1979)."""
    return 2 * _counts(ranked) / (np.array(ranked.cutoffs) + ranked.held_out[:, None])


HIT_METRICS: dict[str, Callable[[Ranked], Floats]] = {
    "ndcg": ndcg,
    "recall": recall,
    "precision": precision,
    "mrr": mrr,
    "hit": hit,
    "map": average_precision,
    "f1": f1,
}
"""Their kernels, by the metric's id: hits -> shape (users, cutoffs)."""


# Hits and the popularity of the recommended items -> how novel the hits are, per user.


@dataclass(frozen=True, kw_only=True, eq=False)
class Popularity:
    """How often each item was chosen in training; `counts` has shape (items,)."""

    counts: Counts
    users: int
    """Users with a training interaction."""

    @classmethod
    def of(cls, train: csr_array) -> Popularity:
        """From a training matrix of shape (users, items)."""
        counts = np.bincount(train.indices, minlength=train.shape[1])
        return cls(counts=counts, users=int(np.count_nonzero(np.diff(train.indptr))))


def _discounted_novelty(ranked: Ranked, items: Lists, novelty: Floats) -> Floats:
    """The novelty of the hits, discounted by rank, over the discounts of all places up to n.

    Args:
        ranked, items: as of `epc`.
        novelty: The novelty of every item, shape (items,).

    Returns:
        Shape (users, cutoffs).
    """
    discount_of_rank = discounts(ranked.hits.shape[1])
    # Only hits count, so an empty place (-1) may look up any item.
    gained = ranked.at_cutoffs(np.where(ranked.hits, novelty[items], 0.0) * discount_of_rank)
    return gained / ranked.at_cutoffs(discount_of_rank[None])


def epc(ranked: Ranked, items: Lists, popularity: Popularity) -> Floats:
    """Expected popularity complement: novelty 1 - p(seen | i) of the hits, discounted by rank.

    That is the share of the users who do not have the item.

    Args:
        ranked: The users' lists.
        items: The item at each rank, -1 where there is none; shape (users, n).
        popularity: The popularity of all items in training.

    Returns:
        Shape (users, cutoffs), in [0, 1]; 0 without a hit.
    Source: Vargas & Castells (2011), discount 1/log2(rank + 1), relevant = held out.
    """
    return _discounted_novelty(ranked, items, 1 - popularity.counts / max(popularity.users, 1))


def efd(ranked: Ranked, items: Lists, popularity: Popularity) -> Floats:
    """Expected free discovery: novelty -log2 p(i | seen) of the hits, discounted by rank.

    An item that nobody has counts as one that one user has. Arguments as for `epc`.

    Returns:
        Bits; shape (users, cutoffs), not negative; 0 without a hit.
    Source: Vargas & Castells (2011), discount 1/log2(rank + 1), relevant = held out.
    """
    total = max(int(popularity.counts.sum()), 1)
    return _discounted_novelty(
        ranked, items, np.log2(total) - np.log2(np.maximum(popularity.counts, 1))
    )


NOVELTY_METRICS = {"epc": epc, "efd": efd}
"""Their kernels, by the metric's id."""


# The popularity of the recommended items, hit or not -> how popular lists are, per user.

HEAD_SHARE = 0.8
"""The share of all training interactions that the most popular items, the short head, have."""


def _mean_in_list(items: Lists, cutoffs: Sequence[int], item_values: AnyArray) -> Floats:
    """The mean of a number of each item over the items of each list.

    Args:
        items: Best first, -1 where there is none; shape (users, n).
        cutoffs: List lengths, at most n.
        item_values: The number of each item; shape (items,).

    Returns:
        Shape (users, cutoffs); 0 for an empty list.
    """
    is_item = items >= 0
    sums = sums_at_cutoffs(np.where(is_item, item_values[items], 0), cutoffs)
    lengths = sums_at_cutoffs(is_item, cutoffs)
    return sums / np.maximum(lengths, 1)


def average_popularity(items: Lists, cutoffs: Sequence[int], popularity: Popularity) -> Floats:
    """Training interactions of an item of the list, on average.

    Args:
        items: Best first, -1 where there is none; shape (users, n).
        cutoffs: List lengths, at most n.
        popularity: The popularity of all items in training.

    Returns:
        Interactions; shape (users, cutoffs), not negative; 0 for an empty list.
    Source: Yin, Cui, Li, Yao, Chen (2012), as average recommendation popularity.
    """
    return _mean_in_list(items, cutoffs, popularity.counts)


def tail_share(items: Lists, cutoffs: Sequence[int], popularity: Popularity) -> Floats:
    """Share of the list's items that are of the long tail. Arguments as for `average_popularity`.

    Returns:
        Shape (users, cutoffs), in [0, 1]; 0 for an empty list.
    Source: Abdollahpouri, Burke, Mobasher (2017), as average percentage of long tail items.
    """
    return _mean_in_list(items, cutoffs, ~short_head(popularity))


def short_head(popularity: Popularity) -> Mask:
    """Which items are the most popular ones that have 80 % of the training interactions.

    They are taken one after the other, of equally popular ones that with the lower number first,
    up to the one with which the share is reached.

    Returns:
        Shape (items,).
    """
    most_popular_first = np.argsort(-popularity.counts, kind="stable")
    counts = popularity.counts[most_popular_first]
    # An item is of the head as long as those before it have less than the share together, so that
    # the item with which the share is reached is one too.
    counts_before = np.cumsum(counts) - counts
    is_head = np.zeros(len(counts), dtype=np.bool_)
    is_head[most_popular_first] = counts_before < HEAD_SHARE * counts.sum()
    return is_head


POPULARITY_METRICS = {"average-popularity": average_popularity, "tail-share": tail_share}
"""Their kernels, by the metric's id."""


# Hits and what users gave the items -> gains that differ, per user.


@dataclass(frozen=True, kw_only=True, eq=False)
class Graded:
    """Ranked lists with the ratings of what was held out."""

    ratings: Floats
    """Of the item at each rank, 0 where none is held out; shape (users, n)."""
    ideal: Floats
    """Of a perfect list, the highest first, 0 where nothing is left; shape (users, n)."""
    cutoffs: tuple[int, ...]
    """At most n."""


def linear_gain(ratings: Floats) -> Floats:
    """The rating itself; nothing for one below 0."""
    return np.maximum(ratings, 0)


def exponential_gain(ratings: Floats) -> Floats:
    """2 to the power of the rating, less 1, which is nothing for 0; nothing for one below 0."""
    return np.exp2(np.maximum(ratings, 0)) - 1


def graded_ndcg(graded: Graded, gain: Callable[[Floats], Floats]) -> Floats:
    """Discounted gains of the held-out items over those of a perfect list.

    Args:
        graded: The users' lists.
        gain: `linear_gain` or `exponential_gain`.

    Returns:
        Shape (users, cutoffs), in [0, 1]; 0 for a user of whose ratings none has a gain.
    Source: Järvelin & Kekäläinen (2002), discount 1/log2(rank + 1); the exponential gain is of
        Burges et al. (2005).
    """
    discount_of_rank = discounts(graded.ratings.shape[1])
    gained = sums_at_cutoffs(gain(graded.ratings) * discount_of_rank, graded.cutoffs)
    ideal = sums_at_cutoffs(gain(graded.ideal) * discount_of_rank, graded.cutoffs)
    return np.divide(gained, ideal, out=np.zeros_like(gained), where=ideal > 0)


GAINS = {"graded-ndcg": linear_gain, "graded-ndcg-exponential": exponential_gain}
"""Rating -> gain, by the metric's id."""


# Scores of two kinds of things, positive and negative -> how far the kinds lie apart.


def placements(scores: AnyFloats, is_positive: Mask) -> Floats:
    """How well each score lies on its side: the mean over either kind is the AUC.

    Args:
        scores: Some positive and some negative ones; shape (scores,).
        is_positive: Which are positive; same shape.

    Returns:
        Of each positive the share of the negatives that are lower, of each negative the share of
        the positives that are higher; equal ones count one half; shape (scores,).
    Source: DeLong, DeLong, Clarke-Pearson (1988).
    """
    positives = scores[is_positive]
    negatives = scores[~is_positive]
    shares = np.empty(len(scores))
    shares[is_positive] = _share_below(positives, negatives)
    shares[~is_positive] = 1 - _share_below(negatives, positives)
    return shares


def _share_below(scores: AnyFloats, others: AnyFloats) -> Floats:
    """Of each score, the share of the others that are lower; equal ones count one half."""
    others_in_order = np.sort(others)
    count_lower = np.searchsorted(others_in_order, scores)
    count_not_higher = np.searchsorted(others_in_order, scores, side="right")
    # This is the mean of both, as a share.
    return (count_lower + count_not_higher) / (2 * len(others))


# Predictions and what came true -> prediction errors: log loss, and MAE and RMSE of ratings.


def log_loss(log_odds: ArrayLike, chosen: ArrayLike) -> Floats:
    """-log of the probability that a model gave to what happened.

    Args:
        log_odds: The log odds of an interaction, log(p / (1 - p)); any shape, any finite size.
        chosen: 1 or True where there is one; same shape.

    Returns:
        Same shape, in nats, not negative; log 2 where p is one half.
    Source: Good (1952); as binary cross-entropy in He et al. (2017).
    """
    log_odds = np.asarray(log_odds, dtype=np.float64)
    log_odds_against = np.where(np.asarray(chosen, dtype=bool), -log_odds, log_odds)
    return np.logaddexp(0.0, log_odds_against)  # This is log(1 + exp(x)) without overflow.


class UserErrors(NamedTuple):
    """Errors of predicted ratings, over all ratings of a fold and as each user adds to them."""

    users: Codes
    """Codes, ascending."""
    values: dict[str, Floats]
    """By metric, z_u of `errors_by_user`, whose mean is the metric; shape (users,)."""
    means: dict[str, float]
    """By metric, over all ratings."""


def errors_by_user(
    predicted: ArrayLike,
    ratings: ArrayLike,
    users: ArrayLike,
    further_errors: Mapping[str, Floats] = MappingProxyType({}),
) -> UserErrors:
    """MAE and RMSE over all ratings of a fold, and what each user adds to them.

    Both follow from a ratio of two sums over users, the errors and the ratings, and are no mean of
    users' own. What a user adds is linearized: with s_u the user's sum of (absolute, squared)
    errors, n_u ratings, m users and N ratings in all, the mean error is E = sum s_u / N, and

        z_u = f(E) + f'(E) * (s_u - n_u * E) / (N / m)

    with f the identity, or the root for RMSE; where E is 0, every z_u is 0. The mean of z_u over
    users is f(E) exactly, and the variance of that mean is that of a ratio, ratings grouped by
    user (delta method).

    Args:
        predicted: Ratings as a model predicts them; shape (ratings,), at least one.
        ratings: As users gave them; shape (ratings,).
        users: Whose they are, codes; shape (ratings,).
        further_errors: By metric, an error of each rating, whose mean counts as MAE's does; shape
            (ratings,).
    Source: Cochran (1977), Sampling Techniques, section 6.4, for the ratio; Herlocker et al. (2004)
        for the metrics.
    """
    error = np.asarray(predicted, dtype=np.float64) - np.asarray(ratings, dtype=np.float64)
    rating_users, codes, counts = np.unique(users, return_inverse=True, return_counts=True)
    user_values: dict[str, Floats] = {}
    means: dict[str, float] = {}
    for name, errors in {"rmse": error**2, "mae": np.abs(error), **further_errors}.items():
        sums = np.bincount(codes, weights=errors)
        mean = float(errors.mean())
        # The metric is the mean error, or its root. The slope says how much it moves with the mean.
        value = mean
        slope = 1.0
        if name == "rmse":
            value = math.sqrt(mean)
            slope = 0.0  # A root has no slope at 0, where no user has an error.
            if mean > 0:
                slope = 0.5 / value
        means[name] = value
        # Each user gets a value. Their mean is the metric, and their spread says how it varies.
        user_values[name] = linearized_by_user(sums, counts, mean=mean, value=value, slope=slope)
    return UserErrors(rating_users.astype(np.int32), user_values, means)


def linearized_by_user(
    sums: AnyArray,
    counts: AnyArray,
    *,
    mean: float,
    value: float | None = None,
    slope: float = 1.0,
) -> Floats:
    """What each user adds to a function of a mean over all that users have (delta method).

    Args:
        sums: Over what the user has; shape (users,).
        counts: How much that is; shape (users,), with a sum above 0.
        mean: The sum of `sums` over that of `counts`.
        value: f(mean); by default the mean itself.
        slope: f'(mean).

    Returns:
        Shape (users,); its mean is `value`.
    """
    if value is None:
        value = mean
    # The mean is a ratio of two sums over users, and user u moves it by as much as the user's sum
    # differs from counts[u] * mean. These deviations add up to 0, so that the mean of the result is
    # `value`; over the mean count their variance is that of the ratio (delta method).
    mean_count = counts.sum() / len(counts)
    deviations = sums - counts * mean
    user_values = value + slope * deviations / mean_count
    return user_values
