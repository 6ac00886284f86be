"""A fold's parts: as sparse matrices, counted, and how much of training lies after tests.

A *pair* is a training interaction and a test interaction that it helps to predict; it leaks where
the training interaction is strictly later. The share of leaking pairs is given for three notions
of helping, from wide to narrow:

- *anyone*: every training interaction helps to predict every test interaction, as all of them
  shape what a collaborative filter learns;
- *item*: those of the same item help, as they are its popularity (figure 1 of the paper: a model
  that knows of a hit before it becomes one);
- *own*: those of the same user help, as they are the profile.

Source: Meng et al. (2020), who describe the leak; the measure is this project's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import NDArray

from ecv_core.records.arguments import kinds_checked
from ecv_core.records.arrays import Codes, Mask
from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Folds, History, Interactions, Part
from ecv_core.splits.strategies import Parts

Ranks = NDArray[np.signedinteger]


@dataclass(frozen=True, kw_only=True, eq=False)
class FoldMatrices:
    """One fold; every matrix has shape (users, items), float32 ones, sorted, without duplicates.

    Rows and columns may be empty.
    """

    train: scipy.sparse.csr_array
    validation: scipy.sparse.csr_array
    """Set aside from training; empty where the split has no such part."""
    held_out: scipy.sparse.csr_array
    interactions: Interactions
    """What was split."""
    learnt: Mask
    """Which interactions are in training; shape (interactions,)."""
    tested: Mask
    """Which are held out; shape (interactions,)."""

    @property
    def seen(self) -> scipy.sparse.csr_array:
        """What the user already has when the held-out part is predicted, and so no candidate."""
        if not self.validation.nnz:
            return self.train
        seen = scipy.sparse.csr_array(self.train + self.validation)
        seen.sort_indices()
        return seen

    @property
    def held_out_ratings(self) -> scipy.sparse.csr_array | None:
        """Of what is held out, stored where `held_out` is; None where there are none."""
        return self._ratings(self.tested)

    @property
    def train_ratings(self) -> scipy.sparse.csr_array | None:
        """Of what may be learnt from, stored where `train` is; None where there are none."""
        return self._ratings(self.learnt)

    def _ratings(self, is_chosen: Mask) -> scipy.sparse.csr_array | None:
        """The chosen interactions with their ratings in a matrix of users and items."""
        if self.interactions.ratings is None:
            return None
        cells = (self.interactions.users[is_chosen], self.interactions.items[is_chosen])
        values = self.interactions.ratings[is_chosen].astype(np.float64)
        # A matrix adds up the ratings, and the ones, of a user who has an item twice. Their
        # quotient is the mean of these ratings.
        ratings = scipy.sparse.csr_array((values, cells), shape=self.train.shape)
        counts = scipy.sparse.csr_array((np.ones(len(values)), cells), shape=self.train.shape)
        ratings.data /= counts.data
        return ratings

    def history(self) -> History:
        """What is known of when the entries of `train` were, for models that ask for it."""
        return History.of(self.interactions, self.learnt)


@kinds_checked
def fold_matrices(interactions: Interactions, folds: Folds, index: int) -> FoldMatrices:
    """All parts of fold `index`, pairwise disjoint.

    Raises:
        FoldsError: If the folds have no such index or belong to other interactions, or if the fold
            has nothing to learn from or nothing held out.

    >>> import ecv_core as ecv
    >>> data = ecv.load("synthetic")
    >>> fold = ecv.fold_matrices(data, ecv.split(data, k=5), 0)
    >>> fold.train.nnz + fold.held_out.nnz == len(data)
    True
    """
    parts = usable_parts(interactions, folds, index)
    return FoldMatrices(
        train=_matrix(interactions, parts == Part.TRAIN),
        validation=_matrix(interactions, parts == Part.VALIDATION),
        held_out=_matrix(interactions, parts == Part.TEST),
        interactions=interactions,
        learnt=parts == Part.TRAIN,
        tested=parts == Part.TEST,
    )


def usable_parts(interactions: Interactions, folds: Folds, index: int) -> Parts:
    """The Part of each interaction in fold `index`. Raises: FoldsError as `fold_matrices`."""
    parts = checked_parts(interactions, folds, index)
    for part, words in ((Part.TRAIN, "to learn from"), (Part.TEST, "held out")):
        if not np.any(parts == part):
            unknown = np.count_nonzero(parts == Part.UNKNOWN)
            way_out = "; use another number of folds or another split"
            if unknown:
                way_out = (
                    f", because training knows the user and the item of none of {unknown:,} "
                    "interactions; use 'unknown' = 'keep'"
                )
            raise FoldsError(
                f"fold {index} of {interactions.dataset} under the split '{folds.strategy}' has "
                f"nothing {words}{way_out}"
            )
    return parts


def checked_parts(interactions: Interactions, folds: Folds, index: int) -> Parts:
    """The Part of each interaction in fold `index`.

    Raises:
        FoldsError: If the folds have no such index or belong to other interactions.
    """
    parts = folds.parts(index)
    if len(parts) != len(interactions):
        raise FoldsError(
            f"these folds assign {len(parts)} interactions, but {interactions.dataset} "
            f"has {len(interactions)}; make the folds from this dataset again"
        )
    return parts


def _matrix(interactions: Interactions, is_chosen: Mask) -> scipy.sparse.csr_array:
    """The chosen interactions as ones in a matrix of users and items."""
    cells = (interactions.users[is_chosen], interactions.items[is_chosen])
    shape = (interactions.n_users, interactions.n_items)
    values = np.ones(np.count_nonzero(is_chosen), dtype=np.float32)
    # Building it from cells sorts them, and adds up those that are there twice.
    matrix = scipy.sparse.csr_array((values, cells), shape=shape)
    matrix.data[:] = 1
    return matrix


# What a fold holds, part by part, and what of it is unknown.


@dataclass(frozen=True, kw_only=True)
class PartCounts:
    """What is in one part of a fold."""

    interactions: int
    users: int
    items: int
    baskets: int | None
    """Distinct (user, basket) pairs; None where the dataset has no baskets."""
    first_time: int | None
    """Time of the earliest interaction in Unix seconds; None without timestamps or interactions."""
    last_time: int | None
    """Time of the latest interaction, likewise."""


@dataclass(frozen=True, kw_only=True)
class FoldParts:
    """What is in every part of a fold: the statistics that Meng et al. ask authors to report."""

    counts: Mapping[Part, PartCounts]
    """By part; a part without interactions has zeros."""
    unknown_users: int
    """Users that something is or would be held out of for testing, and training does not have."""
    unknown_items: int
    """Items that are or would be held out for testing, and training does not have."""
    unknown_interactions: int
    """Test interactions, dropped or not, whose user or item training does not have."""

    @property
    def dropped(self) -> int:
        """How many held-out interactions were dropped as unknown, from test and validation."""
        return self.counts[Part.UNKNOWN].interactions


def occurs_in_training(codes: Codes, is_learnt: Mask) -> Mask:
    """Whether the user (or the item) of each interaction has any training interaction.

    Marking each code takes a quarter of the time of `np.isin`, which does not know that they go
    from 0 without a gap.

    Args:
        codes: The users or the items of the interactions; shape (interactions,).
        is_learnt: Which interactions are in training; shape (interactions,).

    Returns:
        Shape (interactions,).
    """
    is_known = np.zeros(codes.max(initial=-1) + 1, dtype=np.bool_)
    is_known[codes[is_learnt]] = True
    return is_known[codes]


def fold_parts(interactions: Interactions, folds: Folds, index: int) -> FoldParts:
    """Count fold `index`.

    Where unknown users and items are dropped, those of the validation part count as unknown too.

    Raises:
        FoldsError: If the folds have no such index or belong to other interactions.
    """
    parts = checked_parts(interactions, folds, index)
    is_learnt = parts == Part.TRAIN
    # Interactions of unknown users and items would be held out too, if they were not dropped.
    is_held_out = (parts == Part.TEST) | (parts == Part.UNKNOWN)
    is_user_known = occurs_in_training(interactions.users, is_learnt)
    is_item_known = occurs_in_training(interactions.items, is_learnt)
    unknown_users = interactions.users[is_held_out & ~is_user_known]
    unknown_items = interactions.items[is_held_out & ~is_item_known]
    is_unknown = is_held_out & ~(is_user_known & is_item_known)
    counts = {part: _part_counts(interactions, parts == part) for part in Part}
    return FoldParts(
        counts=counts,
        unknown_users=len(np.unique(unknown_users)),
        unknown_items=len(np.unique(unknown_items)),
        unknown_interactions=int(np.count_nonzero(is_unknown)),
    )


def _part_counts(interactions: Interactions, is_in_part: Mask) -> PartCounts:
    """What is in a part; `is_in_part` has shape (interactions,)."""
    users = interactions.users[is_in_part]
    items = interactions.items[is_in_part]
    baskets = None
    if interactions.baskets is not None:
        # Each user's baskets are numbered from 0, so a basket is known by user and number: the user
        # in the upper 32 bits, the number in the lower.
        basket_numbers = interactions.baskets[is_in_part].astype(np.int64)
        baskets = len(np.unique(users.astype(np.int64) << 32 | basket_numbers))
    first_time = None
    last_time = None
    if interactions.timestamps is not None and len(users):
        times = interactions.timestamps[is_in_part]
        first_time = int(times.min())
        last_time = int(times.max())
    return PartCounts(
        interactions=len(users),
        users=int(np.count_nonzero(np.bincount(users))),
        items=int(np.count_nonzero(np.bincount(items))),
        baskets=baskets,
        first_time=first_time,
        last_time=last_time,
    )


def day(seconds: int | None) -> str:
    """The day in UTC; empty for None, the number itself where it is no date."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return str(seconds)  # own files may have any numbers for times


# How much of what a model learns lies after what it is to predict.


@dataclass(frozen=True, kw_only=True)
class Leakage:
    """Shares of (training, test) pairs in which training lies later, in [0, 1].

    None where it cannot be known: times that do not compare between users, or no pair at all.
    """

    of_any_user: float | None
    of_same_item: float | None
    of_same_user: float | None
    leaked_tests: float | None
    """Share of the test interactions that any training interaction lies after."""


def leakage(interactions: Interactions, folds: Folds, index: int) -> Leakage | None:
    """The leakage of fold `index`; None for a dataset without any order in time.

    Takes O(n log n) time and O(n) memory for n interactions.

    Raises:
        FoldsError: If the folds have no such index or belong to other interactions.
    """
    parts = checked_parts(interactions, folds, index)
    if interactions.history is None:
        return None
    is_learnt = parts == Part.TRAIN
    is_tested = parts == Part.TEST
    _, time_ranks = np.unique(interactions.history, return_inverse=True)
    train_ranks = time_ranks[is_learnt]
    test_ranks = time_ranks[is_tested]

    def share_within(groups: Codes) -> float | None:
        return share_of_later_training(
            groups[is_learnt], train_ranks, groups[is_tested], test_ranks
        )

    of_same_user = share_within(interactions.users)
    if interactions.timestamps is None:  # an order of each user does not compare between users
        return Leakage(
            of_any_user=None, of_same_item=None, of_same_user=of_same_user, leaked_tests=None
        )
    leaked_tests = None
    if len(train_ranks) and len(test_ranks):
        leaked_tests = float(np.mean(test_ranks < train_ranks.max()))
    one_group = np.zeros_like(interactions.users)
    return Leakage(
        of_any_user=share_within(one_group),
        of_same_item=share_within(interactions.items),
        of_same_user=of_same_user,
        leaked_tests=leaked_tests,
    )


def share_of_later_training(
    train_groups: Codes, train_ranks: Ranks, test_groups: Codes, test_ranks: Ranks
) -> float | None:
    """Share of the pairs within a group in which the training interaction is later.

    Each test interaction makes a pair with every training interaction of its group, such as its
    user. One test interaction at time 3 and training at the times 1, 2 and 4 have the share 1/3.

    Args:
        train_groups: The group of each training interaction.
        train_ranks: The times of those, as ranks from 0.
        test_groups: The group of each test interaction, likewise.
        test_ranks: The times of those, ranked together with the times of training.

    Returns:
        None without a pair.
    """
    # Each group has a range of keys of its own, so that one sort serves all groups: with ranks from
    # 0 to 9, group 0 has the keys from 0 to 9, and rank 3 in group 2 is the key 23.
    keys_per_group = int(max(train_ranks.max(initial=0), test_ranks.max(initial=0))) + 1
    train_keys = np.sort(train_groups.astype(np.int64) * keys_per_group + train_ranks)
    first_keys = test_groups.astype(np.int64) * keys_per_group
    # For each test interaction, these are the places in `train_keys` at which its group begins and
    # ends, and at which the training interactions begin that are later than it.
    group_begins = np.searchsorted(train_keys, first_keys)
    group_ends = np.searchsorted(train_keys, first_keys + keys_per_group)
    later_begins = np.searchsorted(train_keys, first_keys + test_ranks, side="right")
    pair_count = int(np.sum(group_ends - group_begins))
    if not pair_count:
        return None
    return int(np.sum(group_ends - later_begins)) / pair_count
