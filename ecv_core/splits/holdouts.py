"""Splits that hold out a part of every user's history, some users, or the end of all time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from ecv_core.records.arrays import Codes, Counts, Indices, Mask
from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Interactions, Part
from ecv_core.splits.parts import day, occurs_in_training
from ecv_core.splits.strategies import (
    Assignment,
    Draw,
    Parts,
    Settings,
    Times,
    deal_evenly,
    order_by_user,
    user_k_fold,
)

# Each user's interactions in an order, and per-user holdouts counted from the end of it.


@dataclass(frozen=True, kw_only=True, eq=False)
class Histories:
    """Where each interaction stands in its user's history, and how long that is.

    What is counted are interactions or, for baskets, whole baskets.
    """

    users: Codes
    """The user of each interaction; shape (interactions,)."""
    units_after: Counts
    """How many units of the history come after that of each interaction; shape (interactions,)."""
    sizes: Counts
    """How long each user's history is; shape (users,)."""

    def is_among_last(self, counts: Counts) -> Mask:
        """Which interactions are among the last `counts` of their user; shape (interactions,)."""
        return self.units_after < counts[self.users]


def random_histories(interactions: Interactions, rng: np.random.Generator) -> Histories:
    """Each user's interactions in a random order."""
    order = order_by_user(interactions, None, rng)
    return _histories(interactions, order, np.ones(len(order), dtype=np.bool_))


def timed_histories(interactions: Interactions, seed: int) -> Histories:
    """Each user's interactions in the order of time, those of equal times at random.

    Args:
        interactions: With a `history`.
        seed: Fixes the order of equal times.
    """
    rng = np.random.default_rng(seed)
    order = order_by_user(interactions, interactions.history, rng)
    return _histories(interactions, order, np.ones(len(order), dtype=np.bool_))


def basket_histories(interactions: Interactions) -> Histories:
    """Each user's baskets in order; every interaction stands where its basket does.

    Args:
        interactions: With `baskets`.
    """
    # The draw only orders the interactions within a basket. These stay together, so any seed gives
    # the same histories.
    order = order_by_user(interactions, interactions.baskets, np.random.default_rng(0))
    users = interactions.users[order]
    baskets = np.asarray(interactions.baskets)[order]
    begins_basket = np.ones(len(order), dtype=np.bool_)
    begins_basket[1:] = (users[1:] != users[:-1]) | (baskets[1:] != baskets[:-1])
    return _histories(interactions, order, begins_basket)


def _histories(interactions: Interactions, order: Indices, begins_unit: Mask) -> Histories:
    """Histories of interactions or baskets, the units that are counted.

    Args:
        interactions: Whose histories they are.
        order: Sorts the interactions by user, and within a user as the history goes.
        begins_unit: Which interactions, in that order, are the first of their unit.
    """
    # A unit is an interaction or a basket. In `order` the interactions of each user stand together,
    # as the history goes, and `begins_unit` says which of them are the first of a unit.
    users = interactions.users[order]
    sizes = np.bincount(users[begins_unit], minlength=interactions.n_users)
    # Units are numbered from 0 on through all users.
    unit_numbers = np.cumsum(begins_unit) - 1
    last_unit_of_user = np.cumsum(sizes) - 1
    # An interaction in the last unit of its user has no units after it.
    units_after = np.empty(len(order), dtype=np.int32)
    units_after[order] = last_unit_of_user[users] - unit_numbers
    return Histories(
        users=interactions.users, units_after=units_after, sizes=sizes.astype(np.int32)
    )


def _history_sizes(interactions: Interactions) -> Counts:
    """How many interactions each user has; shape (users,)."""
    return np.bincount(interactions.users, minlength=interactions.n_users).astype(np.int32)


def counts_of_share(sizes: Counts, share: float) -> Counts:
    """How many of each are `share` of them, rounded down, yet at least 1 and never all.

    None of fewer than 2, and none for a share of 0. Source: RecBole's ratio-based splitting.
    """
    if not share:
        return np.zeros_like(sizes)
    # The tiny number is added because 0.29 * 100 is a little below 29, and would be rounded to 28.
    wanted = np.floor(sizes * share + 1e-9).astype(np.int32)
    counts = np.clip(wanted, 1, np.maximum(sizes - 1, 1))
    counts[sizes < 2] = 0
    return counts


class HeldOutCounts(NamedTuple):
    """How much of each user's history is held out; both have shape (users,)."""

    test: Counts
    validation: Counts


def hold_out(histories: Histories, held_out: HeldOutCounts, skip: Counts | int = 0) -> Parts:
    """The end of each user's history held out, what is before it for validation, the rest learnt.

    A user who would be left without training is not tested: all is learnt from. What is skipped at
    the very end is unused, but for the first of a history, so that every user has some training.

    Args:
        histories: In the order that counts.
        held_out: How many are held out of each user.
        skip: How many at the very end of each history are left out; shape (users,) or a number.

    Returns:
        The Part of each interaction; shape (interactions,).
    """
    skipped = np.full_like(histories.sizes, skip)
    training_counts = histories.sizes - skipped - held_out.test - held_out.validation
    is_tested = (held_out.test > 0) & (training_counts >= 1)
    # At the end of a history stand first the validation, then the test, and then what is skipped.
    count_from_test_on = skipped + np.where(is_tested, held_out.test, 0)
    count_from_validation_on = count_from_test_on + np.where(is_tested, held_out.validation, 0)
    # The widest range at the end of a history is written first, and the narrower ones over it.
    parts = np.full(len(histories.users), Part.TRAIN, dtype=np.int8)
    parts[histories.is_among_last(count_from_validation_on)] = Part.VALIDATION
    parts[histories.is_among_last(count_from_test_on)] = Part.TEST
    is_skipped = histories.is_among_last(skipped)
    parts[is_skipped] = Part.UNUSED
    # If a whole history is skipped, its first interaction is still learnt from.
    is_first = histories.units_after == histories.sizes[histories.users] - 1
    parts[is_skipped & is_first] = Part.TRAIN
    return parts


def random_holdout(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """Some random interactions of every user, or of all, drawn anew for each of k repetitions."""
    count = len(interactions)
    together = bool(settings.get("together"))  # leave-one-out has no such setting
    sizes = _history_sizes(interactions)
    if together:  # It is as if all interactions were a single user's.
        sizes = np.array([count], dtype=np.int32)
    held_out = _held_out_counts(sizes, settings)
    if not _is_anybody_tested(sizes, held_out):
        raise FoldsError(_message_of_short_histories(interactions, sizes, settings))

    def draw(index: int) -> Parts:
        rng = np.random.default_rng([seed, index])
        if not together:
            return hold_out(random_histories(interactions, rng), held_out)
        units_after = rng.permutation(count).astype(np.int32)
        users = np.zeros_like(units_after)
        return hold_out(Histories(users=users, units_after=units_after, sizes=sizes), held_out)

    return draw


def last_interactions(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """The end of every user's history; fold j first takes away what folds 0 .. j-1 held out."""
    return _draw_in_steps_back(interactions, timed_histories(interactions, seed), k, settings)


def last_baskets(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """As `last_interactions`, of baskets."""
    return _draw_in_steps_back(
        interactions, basket_histories(interactions), k, settings, unit="baskets"
    )


def _draw_in_steps_back(
    interactions: Interactions,
    histories: Histories,
    k: int,
    settings: Settings,
    unit: str = "interactions",
) -> Draw:
    """Fold j tests the j-th block from the end of every history, trained on what is before it."""
    sizes = histories.sizes
    counts_of_last_fold = _held_out_counts(sizes, settings, steps_back=k - 1)
    if not _is_anybody_tested(sizes, counts_of_last_fold, k):
        if k == 1:
            raise FoldsError(_message_of_short_histories(interactions, sizes, settings, unit))
        raise FoldsError(
            f"no user of {interactions.dataset} has enough {unit} for {k} steps back (the "
            f"longest history has {int(sizes.max(initial=0)):,}); choose a smaller k than {k}"
        )

    def draw(index: int) -> Parts:
        held_out = _held_out_counts(sizes, settings, steps_back=index)
        return hold_out(histories, held_out, skip=index * held_out.test)

    return draw


def _is_anybody_tested(sizes: Counts, held_out: HeldOutCounts, folds: int = 1) -> bool:
    """Whether a user's history is long enough for so many folds, with something left to learn."""
    is_long_enough = sizes > folds * held_out.test + held_out.validation
    return bool(np.any((held_out.test > 0) & is_long_enough))


def _held_out_counts(sizes: Counts, settings: Settings, steps_back: int = 0) -> HeldOutCounts:
    """How much of each user is tested and validated: shares, or one each.

    Args:
        sizes: The sizes of the histories; shape (users,).
        settings: The settings of the split; without a share 'test' one of each user is tested.
        steps_back: How many folds have tested a block each, from the end of the histories on.
    """
    if "test" not in settings:  # The split is leave-one-out, where validation is yes or no.
        one_each = np.ones_like(sizes)
        return HeldOutCounts(one_each, one_each * bool(settings["validation"]))
    test = counts_of_share(sizes, float(settings["test"]))
    # A history ends with the test block of this fold, followed by those of the folds before it.
    # What comes earlier in the history has a share for validation.
    size_of_end = (steps_back + 1) * test
    sizes_before = np.maximum(sizes - size_of_end, 0)
    return HeldOutCounts(test, counts_of_share(sizes_before, float(settings["validation"])))


def _message_of_short_histories(
    interactions: Interactions,
    history_sizes: Counts,
    settings: Settings,
    unit: str = "interactions",
) -> str:
    needed = 2  # A user needs one to learn from and one to test on.
    if settings["validation"]:
        needed = 3
    longest = int(history_sizes.max(initial=0))
    return (
        f"no user of {interactions.dataset} has more than {longest} {unit}, but this split "
        f"needs {needed} of at least one user to learn from and to hold out; use "
        "'record-k-fold', which needs no more than one interaction of each user"
    )


# Splits that test on users of their own, of whom only a fold-in part is learnt from.


def user_fold_in(
    interactions: Interactions, k: int, seed: int, settings: Settings
) -> Assignment | Draw:
    """Users dealt evenly into k folds; of each, the same random part is held out in its fold."""
    counts = _counts_to_hold_out(interactions, settings)
    users = np.flatnonzero(counts)
    if not 2 <= k <= len(users):
        raise FoldsError(
            _message_of_few_users(interactions, len(users), f"deal into {k:,} folds", settings)
        )
    rng = np.random.default_rng(seed)
    is_held_out = random_histories(interactions, rng).is_among_last(counts)
    fold_of_user = np.full(interactions.n_users, -1, dtype=np.int16)
    fold_of_user[users] = deal_evenly(len(users), k, rng)
    assignment = fold_of_user[interactions.users]
    assignment[~is_held_out] = -1  # These are the fold-in parts, which no fold holds out.
    if not settings["validation"]:
        return assignment
    if k < 3:
        raise FoldsError(
            f"the split 'user-fold-in' with validation takes the next fold's users for it and so "
            f"needs k of at least 3, but it is {k}; choose a larger k, or no validation"
        )

    def draw(index: int) -> Parts:
        parts = np.full(len(assignment), Part.TRAIN, dtype=np.int8)
        parts[assignment == index] = Part.TEST
        parts[assignment == (index + 1) % k] = Part.VALIDATION
        return parts

    return draw


def user_split(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """A random share of the users is tested, drawn anew for each of k repetitions."""
    counts = _counts_to_hold_out(interactions, settings)
    users = np.flatnonzero(counts)
    user_count = np.array([len(users)], dtype=np.int32)
    (test_count,) = counts_of_share(user_count, float(settings["test"])).tolist()
    other_count = user_count - test_count
    (validation_count,) = counts_of_share(other_count, float(settings["validation"])).tolist()
    if test_count == 0:
        raise FoldsError(
            _message_of_few_users(interactions, len(users), "test on some of them", settings)
        )

    def draw(index: int) -> Parts:
        rng = np.random.default_rng([seed, index])
        is_held_out = random_histories(interactions, rng).is_among_last(counts)
        test_users, other_users = np.split(rng.permutation(users), [test_count])
        part_of_user = np.full(interactions.n_users, Part.TRAIN, dtype=np.int8)
        part_of_user[test_users] = Part.TEST
        part_of_user[other_users[:validation_count]] = Part.VALIDATION
        parts = part_of_user[interactions.users]
        parts[~is_held_out] = Part.TRAIN  # This is the fold-in part.
        return parts

    return draw


def _counts_to_hold_out(interactions: Interactions, settings: Settings) -> Counts:
    """How many are held out of each user who is tested: all but the fold-in part; shape (users,).

    With a fold-in part, a user with a single interaction is never tested.
    """
    sizes = _history_sizes(interactions)
    fold_in_share = float(settings["fold_in"])
    if not fold_in_share:  # nothing of a tested user is learnt from
        return sizes
    return counts_of_share(sizes, 1 - fold_in_share)


def _message_of_few_users(
    interactions: Interactions, users: int, wish: str, settings: Settings
) -> str:
    condition = ""
    if settings["fold_in"]:
        condition = " with at least two interactions"
    return (
        f"{interactions.dataset} has {users:,} users{condition}, too few to {wish}; "
        f"choose a smaller k or more data, or the split 'record-k-fold'"
    )


# Folds in the early part of every user's history, the late part put aside for what is chosen.


NESTED_K_FOLD = "nested-k-fold"
CHOOSE_PART = "choose"
TEST_PART = "test"


def nested_k_fold(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """k folds of what comes first in each history; or, once chosen, its end held out (k = 1).

    Source: Anelli et al. (2019), section 2: temporal hold-out of 20 % of each user's interactions,
    10 folds of the rest, and relevant is what is rated above a threshold.
    """
    histories = timed_histories(interactions, seed)
    late_counts = counts_of_share(histories.sizes, float(settings["aside"]))
    is_late = histories.is_among_last(late_counts)
    is_relevant = _is_rated_above(interactions, float(settings["above"]))
    if settings["part"] == TEST_PART:
        if k != 1:
            raise FoldsError(
                f"the part put aside is tested once, so k must be 1, but is {k}; "
                f"with part={CHOOSE_PART} the early part has k folds"
            )

        def draw_late_part(_: int) -> Parts:
            return _train_and_test_parts(~is_late, is_late & is_relevant)

        return draw_late_part
    early_rows = np.flatnonzero(~is_late)
    assignment = np.full(len(interactions), -1, dtype=np.int16)
    assignment[early_rows] = user_k_fold(interactions.take(early_rows), k, seed, settings)

    def draw(index: int) -> Parts:
        is_held_out = assignment == index
        return _train_and_test_parts(~is_late & ~is_held_out, is_held_out & is_relevant)

    return draw


def _train_and_test_parts(is_learnt: Mask, is_tested: Mask) -> Parts:
    """What is held out but not relevant is in neither: it may be recommended, and is no hit."""
    parts = np.full(len(is_learnt), Part.UNUSED, dtype=np.int8)
    parts[is_learnt] = Part.TRAIN
    parts[is_tested] = Part.TEST
    return parts


def _is_rated_above(interactions: Interactions, above: float) -> Mask:
    """Which interactions count as hits: those rated above a threshold, or all for 0."""
    if not above:
        return np.ones(len(interactions), dtype=np.bool_)
    if interactions.ratings is None:
        raise FoldsError(
            f"{interactions.dataset} has no ratings, so none is above {above:g}; leave the "
            "threshold out: then every interaction counts"
        )
    is_above: Mask = interactions.ratings > above
    if not is_above.any():
        raise FoldsError(
            f"no rating of {interactions.dataset} is above {above:g} (the highest is "
            f"{interactions.ratings.max():g}); choose a lower threshold"
        )
    return is_above


# Splits at points in time that everybody shares: one, or one window after the other.


KEEP = "keep"
DROP = "drop"
GROWING = "growing"
SLIDING = "sliding"


class Window(NamedTuple):
    """When the parts of a fold begin, in Unix seconds; each ends where the next begins."""

    train_start: int
    validation_start: int
    test_start: int
    end: int
    """The first moment that is no more tested."""


def temporal_global(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """Everything before one point in time is learnt from, everything from then on held out."""
    times = np.sort(np.asarray(interactions.timestamps))
    first = int(times[0])
    text = str(settings["time_point"]).strip()
    if text:
        test_start = _parse_time_point(text, times, interactions.dataset)
    else:
        test_start = int(times[_index_after_share(1 - float(settings["test"]), len(times))])
        if test_start == first:
            raise FoldsError(_message_of_first_moment(interactions, "test", settings["test"]))
    validation_start = _validation_start(times, first, test_start, interactions, settings)
    window = Window(first, validation_start, test_start, int(times[-1]) + 1)
    return _draw_from_windows([window], interactions, settings)


def temporal_windows(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """k windows with about equally many interactions; each is predicted from what is before it."""
    times = np.sort(np.asarray(interactions.timestamps))
    count = len(times)
    first_share = float(settings["first"])
    test_indices = []
    for window in range(k):
        share_before = first_share + (1 - first_share) * window / k
        test_indices.append(_index_after_share(share_before, count))
    test_starts = times[test_indices]
    train_starts = np.full(k, times[0])
    if settings["training"] == SLIDING:  # Each window has as many interactions as the first.
        train_starts = times[np.array(test_indices) - test_indices[0]]
    if np.any(np.diff(test_starts) <= 0) or np.any(train_starts >= test_starts):
        raise FoldsError(
            f"{interactions.dataset} cannot be cut into {k} windows after its first "
            f"{first_share:.0%}: too many of its {count:,} interactions have the same time; "
            "choose a smaller k, or another share 'first'"
        )
    test_ends = np.append(test_starts[1:], times[-1] + 1)
    bounds = np.stack([train_starts, test_starts, test_ends], axis=1).tolist()
    windows = []
    for train_start, test_start, test_end in bounds:
        validation_start = _validation_start(times, train_start, test_start, interactions, settings)
        windows.append(Window(train_start, validation_start, test_start, test_end))
    return _draw_from_windows(windows, interactions, settings)


def _draw_from_windows(
    windows: Sequence[Window], interactions: Interactions, settings: Settings
) -> Draw:
    """Fold i is the i-th window; held-out users and items that training lacks may be dropped."""

    def draw(index: int) -> Parts:
        window = windows[index]
        times = np.asarray(interactions.timestamps)
        parts = np.full(len(times), Part.TRAIN, dtype=np.int8)
        parts[times >= window.validation_start] = Part.VALIDATION
        parts[times >= window.test_start] = Part.TEST
        parts[(times < window.train_start) | (times >= window.end)] = Part.UNUSED
        if settings["unknown"] == DROP:
            is_learnt = parts == Part.TRAIN
            is_user_known = occurs_in_training(interactions.users, is_learnt)
            is_item_known = occurs_in_training(interactions.items, is_learnt)
            is_held_out = (parts == Part.TEST) | (parts == Part.VALIDATION)
            parts[is_held_out & ~(is_user_known & is_item_known)] = Part.UNKNOWN
        return parts

    return draw


def _index_after_share(share: float, count: int) -> int:
    """The index, in `count` that are sorted, before which about this share of them lies."""
    return min(max(round(count * share), 0), count - 1)


def _validation_start(
    times: Times, train_start: int, test_start: int, interactions: Interactions, settings: Settings
) -> int:
    """When validation begins: with the last share of training; with the test, if there is none.

    Args:
        times: The times of all interactions, ascending.
        train_start: When training begins.
        test_start: When the test begins.
        interactions: Named in an error.
        settings: The settings of the split.

    Raises:
        FoldsError: If nothing would be left to learn from.
    """
    share = float(settings["validation"])
    if not share:
        return test_start
    train_index, test_index = np.searchsorted(times, [train_start, test_start]).tolist()
    train_count = test_index - train_index  # The validation part is counted, too.
    start = int(times[train_index + _index_after_share(1 - share, train_count)])
    if start <= train_start:
        raise FoldsError(_message_of_first_moment(interactions, "validation", share))
    return start


def _parse_time_point(text: str, times: Times, dataset: str) -> int:
    """The time in Unix seconds. Raises: FoldsError if it is none, or outside the data."""
    try:
        seconds = _unix_seconds(text)
    except (ValueError, OverflowError):
        raise FoldsError(
            f"the time point '{text}' is not a date; give it as 2003-01-31, as 2003-01-31T12:00 "
            "(UTC) or in Unix seconds"
        ) from None
    first = int(times[0])
    last = int(times[-1])
    if not first < seconds <= last:
        raise FoldsError(
            f"the time point {text} is outside {dataset}, which goes from {day(first)} to "
            f"{day(last)}; choose one after the first and up to the last"
        )
    return seconds


def _unix_seconds(text: str) -> int:
    """The first whole second from a number or a date on. Raises: ValueError, OverflowError."""
    try:
        seconds = float(text)
    except ValueError:
        date = datetime.fromisoformat(text)
        seconds = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    return math.ceil(seconds)


def _message_of_first_moment(interactions: Interactions, name: str, share: object) -> str:
    return (
        f"{interactions.dataset} has so many interactions at its first moment that no point in "
        f"time leaves the last {share} of them for '{name}' and something before it; "
        f"choose a smaller '{name}', or the split 'temporal-user'"
    )
