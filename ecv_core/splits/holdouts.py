"""Splits that hold out a part of every user's history, some users, or the end of all time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import Interactions, Part
from ecv_core.splits.parts import day, known_to_training
from ecv_core.splits.strategies import Assignment, Draw, Settings, by_users

# Each user's interactions in an order, and per-user holdouts counted from the end of it.


Keys = NDArray[np.int64] | NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Histories:
    """Where each interaction stands in its user's history, and how long that is.

    What is counted are interactions or, for baskets, whole baskets. Arrays `users` and `from_end`
    (0 is the last) have shape (interactions,); `sizes` (users,).
    """

    users: NDArray[np.int32]
    from_end: NDArray[np.int32]
    sizes: NDArray[np.int32]


def histories(interactions: Interactions, keys: Keys | None, rng: np.random.Generator) -> Histories:
    """Each user's interactions in the order of the keys, equal or no keys in a random order."""
    sizes = np.bincount(interactions.users, minlength=interactions.n_users)
    order = by_user(interactions, keys, rng)
    return _placed(interactions, order, np.arange(len(order)), sizes)


def timed_histories(interactions: Interactions, seed: int) -> Histories:
    """In the order of time. Args: interactions with a `history`; seed for equal times."""
    return histories(interactions, interactions.history, np.random.default_rng(seed))


def basket_histories(interactions: Interactions) -> Histories:
    """Each user's baskets in order; every interaction stands where its basket does.

    Args: interactions with `baskets`.
    """
    baskets = np.asarray(interactions.baskets)
    order = by_user(interactions, baskets, np.random.default_rng(0))
    users, baskets = interactions.users[order], baskets[order]
    new_user = np.ones(len(order), dtype=np.bool_)
    new_user[1:] = users[1:] != users[:-1]
    new = new_user.copy()
    new[1:] |= baskets[1:] != baskets[:-1]
    number = np.cumsum(new) - 1
    sizes = np.bincount(users[new], minlength=interactions.n_users)
    return _placed(interactions, order, number, sizes)


def by_user(
    interactions: Interactions, keys: Keys | None, rng: np.random.Generator
) -> NDArray[np.intp]:
    """The order that sorts by user, then by key, and at random within equal keys.

    Returns: indices, shape (interactions,).
    """
    shuffled = rng.permutation(len(interactions))
    users = interactions.users[shuffled]
    if keys is None or not len(keys):
        return shuffled[np.argsort(users, kind="stable")]
    low, high = int(keys.min()), int(keys.max())
    span = high - low + 1
    if span * interactions.n_users < 2**62:  # one sort of one number is several times faster
        joint = users.astype(np.int64) * span + (keys[shuffled].astype(np.int64) - low)
        return shuffled[np.argsort(joint, kind="stable")]
    return shuffled[np.lexsort((keys[shuffled], users))]


def _placed(
    interactions: Interactions,
    order: NDArray[np.intp],
    number: NDArray[np.intp],
    sizes: NDArray[np.intp],
) -> Histories:
    """Places from running numbers of all users' units, one after the other."""
    users = interactions.users[order]
    from_end = np.empty(len(order), dtype=np.int32)
    from_end[order] = np.cumsum(sizes)[users] - 1 - number
    return Histories(users=interactions.users, from_end=from_end, sizes=sizes.astype(np.int32))


def share_of(sizes: NDArray[np.int32], share: float) -> NDArray[np.int32]:
    """How many of each are `share` of them, rounded down, yet at least 1 and never all.

    None of fewer than 2, and none for a share of 0. Source: RecBole's ratio-based splitting.
    """
    if not share:
        return np.zeros_like(sizes)
    # The tiny addend keeps 0.29 * 100 at 29.
    wanted = np.floor(sizes * share + 1e-9).astype(np.int32)
    return np.where(sizes >= 2, np.clip(wanted, 1, np.maximum(sizes - 1, 1)), 0).astype(np.int32)


def hold_out(
    of: Histories,
    test: NDArray[np.int32],
    validation: NDArray[np.int32],
    skip: NDArray[np.int32] | int = 0,
) -> NDArray[np.int8]:
    """The end of each user's history held out, what is before it for validation, the rest learnt.

    A user who would be left without training is not tested: all is learnt from. What is skipped at
    the very end is unused, but for the first of a history, so that every user has some training.

    Args:
        of: histories in the order that counts.
        test: how many are held out of each user; shape (users,).
        validation: how many before those are for validation; shape (users,).
        skip: how many at the very end of each history are left out; shape (users,) or a number.
    Returns: the Part of each interaction; shape (interactions,).
    """
    skip = np.broadcast_to(np.asarray(skip, dtype=np.int32), of.sizes.shape)
    tested = (test > 0) & (of.sizes - skip - test - validation >= 1)
    test_end = skip + np.where(tested, test, 0)
    learnt_from = test_end + np.where(tested, validation, 0)
    place, users = of.from_end, of.users
    parts = np.full(len(users), Part.TRAIN, dtype=np.int8)
    parts[place < learnt_from[users]] = Part.VALIDATION
    parts[place < test_end[users]] = Part.TEST
    parts[place < skip[users]] = Part.UNUSED
    parts[(place < skip[users]) & (place == of.sizes[users] - 1)] = Part.TRAIN
    return parts


Counts = NDArray[np.int32]


def at_random(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """Some random interactions of every user, or of all, drawn anew for each of k repetitions."""
    count, together = len(interactions), bool(settings.get("together"))
    sizes = np.array([count], dtype=np.int32) if together else _sizes(interactions)
    test, validation = _held(sizes, settings)
    if not np.any((test > 0) & (sizes > test + validation)):
        raise FoldsError(_too_short(interactions, sizes, settings))

    def draw(index: int) -> NDArray[np.int8]:
        rng = np.random.default_rng([seed, index])
        if not together:
            return hold_out(histories(interactions, None, rng), test, validation)
        places = rng.permutation(count).astype(np.int32)  # as if everything were one user's
        of = Histories(users=np.zeros_like(places), from_end=places, sizes=sizes)
        return hold_out(of, test, validation)

    return draw


def last_ones(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """The end of every user's history; fold j first takes away what folds 0 .. j-1 held out."""
    return _backwards(interactions, timed_histories(interactions, seed), k, settings)


def last_baskets(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """As `last_ones`, of baskets."""
    return _backwards(interactions, basket_histories(interactions), k, settings, "baskets")


def _backwards(
    interactions: Interactions,
    of: Histories,
    k: int,
    settings: Settings,
    unit: str = "interactions",
) -> Draw:
    """Fold j tests the j-th block from the end of every history, trained on what is before it."""
    test, validation = _held(of.sizes, settings, k - 1)
    if not np.any((test > 0) & (of.sizes > k * test + validation)):
        if k == 1:
            raise FoldsError(_too_short(interactions, of.sizes, settings, unit))
        raise FoldsError(
            f"nobody in {interactions.dataset} has {unit} enough for {k} steps back "
            f"(the longest history has {int(of.sizes.max(initial=0)):,}); "
            f"choose a smaller k than {k}"
        )

    def draw(index: int) -> NDArray[np.int8]:
        test, validation = _held(of.sizes, settings, index)
        return hold_out(of, test, validation, index * test)

    return draw


def _sizes(interactions: Interactions) -> Counts:
    return np.bincount(interactions.users, minlength=interactions.n_users).astype(np.int32)


def _held(sizes: Counts, settings: Settings, back: int = 0) -> tuple[Counts, Counts]:
    """How many are tested and validated of each user: shares, or one each; shapes (users,).

    Args:
        sizes: of the histories.
        settings: of the split.
        back: so many times the tested ones are taken away from the end before.
    """
    if "test" not in settings:
        one = np.ones_like(sizes)
        return one, one * bool(settings["validation"])
    test = share_of(sizes, float(settings["test"]))
    rest = np.maximum(sizes - (back + 1) * test, 0)
    return test, share_of(rest, float(settings["validation"]))


def _too_short(
    interactions: Interactions, sizes: Counts, settings: Settings, unit: str = "interactions"
) -> str:
    needed = 3 if settings["validation"] else 2
    longest = int(sizes.max(initial=0))
    return (
        f"no user of {interactions.dataset} has more than {longest} {unit}, and this split "
        f"needs {needed} of at least one user to learn from and to hold out; "
        "use 'record-k-fold', which needs no more than one of each"
    )


# Splits that test on users of their own, of whom only a fold-in part is learnt from.


def user_fold_in(
    interactions: Interactions, k: int, seed: int, settings: Settings
) -> Assignment | Draw:
    """Users dealt evenly into k folds; of each, the same random part is held out in its fold."""
    sizes = _held_sizes(interactions, float(settings["fold_in"]))
    users = np.flatnonzero(sizes)
    if not 2 <= k <= len(users):
        raise FoldsError(_too_few(interactions, len(users), f"deal into {k:,} folds", settings))
    rng = np.random.default_rng(seed)
    held = _held_out(interactions, sizes, rng)
    dealt = np.resize(rng.permutation(k).astype(np.int16), len(users))
    rng.shuffle(dealt)
    fold_of_user = np.full(interactions.n_users, -1, dtype=np.int16)
    fold_of_user[users] = dealt
    assignment = np.where(held, fold_of_user[interactions.users], -1).astype(np.int16)
    if not settings["validation"]:
        return assignment
    if k < 3:
        raise FoldsError(
            f"the split 'user-fold-in' with validation takes the next fold's users for it and so "
            f"needs k of at least 3, but it is {k}; choose a larger k, or no validation"
        )

    def draw(index: int) -> NDArray[np.int8]:
        parts = np.where(assignment == index, Part.TEST, Part.TRAIN).astype(np.int8)
        parts[assignment == (index + 1) % k] = Part.VALIDATION
        return parts

    return draw


def user_split(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """A random share of the users is tested, drawn anew for each of k repetitions."""
    sizes = _held_sizes(interactions, float(settings["fold_in"]))
    users = np.flatnonzero(sizes)
    everyone = np.array([len(users)], dtype=np.int32)
    test = int(share_of(everyone, float(settings["test"]))[0])
    validation = int(share_of(everyone - test, float(settings["validation"]))[0])
    if test == 0:
        raise FoldsError(_too_few(interactions, len(users), "test on some of them", settings))

    def draw(index: int) -> NDArray[np.int8]:
        rng = np.random.default_rng([seed, index])
        held = _held_out(interactions, sizes, rng)
        of_user = np.full(interactions.n_users, Part.TRAIN, dtype=np.int8)
        chosen = rng.permutation(users)
        of_user[chosen[:test]] = Part.TEST
        of_user[chosen[test : test + validation]] = Part.VALIDATION
        return np.where(held, of_user[interactions.users], Part.TRAIN).astype(np.int8)

    return draw


def _held_sizes(interactions: Interactions, fold_in: float) -> NDArray[np.int32]:
    """How many are held out of each user who is tested: all but the fold-in part; shape (users,).

    With a fold-in part, a user with a single interaction is never tested.
    """
    sizes = _sizes(interactions)
    return share_of(sizes, 1 - fold_in) if fold_in else sizes


def _held_out(
    interactions: Interactions, sizes: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which interactions are held out when their user is tested, at random."""
    of = histories(interactions, None, rng)
    return of.from_end < sizes[of.users]


def _too_few(interactions: Interactions, users: int, wish: str, settings: Settings) -> str:
    two = " with at least two interactions" if settings["fold_in"] else ""
    return (
        f"{interactions.dataset} has {users:,} users{two}, too few to {wish}; "
        f"choose a smaller k or more data, or the split 'record-k-fold'"
    )


# Folds in the early part of every user's history, the late part put aside for what is chosen.


NESTED_K_FOLD = "nested-k-fold"
CHOOSE_PART, TEST_PART = "choose", "test"


def nested_k_fold(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """k folds of what comes first in each history; or, once chosen, its end held out (k = 1).

    Source: Anelli et al. (2019), section 2: temporal hold-out of 20 % of each user's interactions,
    10 folds of the rest, and relevant is what is rated above a threshold.
    """
    of = timed_histories(interactions, seed)
    late = of.from_end < share_of(of.sizes, float(settings["aside"]))[of.users]
    counts = _relevant(interactions, float(settings["above"]))
    if settings["part"] == TEST_PART:
        if k != 1:
            raise FoldsError(
                f"the part put aside is tested once, so k must be 1, but is {k}; "
                f"with part={CHOOSE_PART} the early part has k folds"
            )
        parts = _parts(late, counts, ~late)
        return lambda index: parts.copy()
    rows = np.flatnonzero(~late)
    fold_of = np.full(len(interactions), -1, dtype=np.int16)
    fold_of[rows] = by_users(interactions.take(rows), k, seed, settings)

    def draw(index: int) -> NDArray[np.int8]:
        held = fold_of == index
        return _parts(held, counts, ~late & ~held)

    return draw


def _parts(
    held: NDArray[np.bool_], counts: NDArray[np.bool_], learnt: NDArray[np.bool_]
) -> NDArray[np.int8]:
    """What is held out but does not count is no part; it may be recommended, and is no hit."""
    parts = np.full(len(held), Part.UNUSED, dtype=np.int8)
    parts[learnt] = Part.TRAIN
    parts[held & counts] = Part.TEST
    return parts


def _relevant(interactions: Interactions, above: float) -> NDArray[np.bool_]:
    if not above:
        return np.ones(len(interactions), dtype=np.bool_)
    if interactions.ratings is None:
        raise FoldsError(
            f"{interactions.dataset} has no ratings, so none is above {above:g}; leave the "
            "threshold out: then every interaction counts"
        )
    found: NDArray[np.bool_] = interactions.ratings > above
    if not found.any():
        raise FoldsError(
            f"no rating of {interactions.dataset} is above {above:g} (the highest is "
            f"{interactions.ratings.max():g}); choose a lower threshold"
        )
    return found


# Splits at points in time that everybody shares: one, or one window after the other.


KEEP, DROP = "keep", "drop"
GROWING, SLIDING = "growing", "sliding"


def temporal_global(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """Everything before one point in time is learnt from, everything from then on held out."""
    times = np.asarray(interactions.timestamps)
    ordered = np.sort(times)
    text = str(settings["time_point"]).strip()
    if text:
        cut = _time_point(text, ordered, interactions.dataset)
    else:
        cut = int(ordered[_index(len(ordered), 1 - float(settings["test"]))])
        if cut == ordered[0]:
            raise FoldsError(_all_at_once(interactions, "test", settings["test"]))
    validation = _validation_from(ordered, int(ordered[0]), cut, interactions, settings)
    end = int(ordered[-1]) + 1
    return lambda _: _window(interactions, settings, (int(ordered[0]), validation, cut, end))


def temporal_windows(interactions: Interactions, k: int, seed: int, settings: Settings) -> Draw:
    """k windows with about equally many interactions; each is predicted from what is before it."""
    times = np.asarray(interactions.timestamps)
    ordered = np.sort(times)
    count, first = len(ordered), float(settings["first"])
    at = [_index(count, first + (1 - first) * window / k) for window in range(k)]
    cuts = [int(ordered[place]) for place in at]
    sliding = settings["training"] == SLIDING
    begins = [int(ordered[place - at[0]]) if sliding else int(ordered[0]) for place in at]
    if np.any(np.diff(cuts) <= 0) or any(a >= b for a, b in zip(begins, cuts, strict=True)):
        raise FoldsError(
            f"{interactions.dataset} cannot be cut into {k} windows after its first "
            f"{first:.0%}: too many of its {count:,} interactions have the same time; "
            "choose a smaller k, or another share 'first'"
        )
    ends = [*cuts[1:], int(ordered[-1]) + 1]
    validations = [
        _validation_from(ordered, begin, cut, interactions, settings)
        for begin, cut in zip(begins, cuts, strict=True)
    ]
    windows = list(zip(begins, validations, cuts, ends, strict=True))
    return lambda index: _window(interactions, settings, windows[index])


def _index(count: int, share: float) -> int:
    """The place, in `count` that are sorted, from which on all but `share` of them lie."""
    return min(max(round(count * share), 0), count - 1)


def _validation_from(
    ordered: NDArray[np.int64], begin: int, cut: int, interactions: Interactions, settings: Settings
) -> int:
    """From when on training is for validation instead: the last share of it; `cut` for none."""
    share = float(settings["validation"])
    if not share:
        return cut
    low, high = np.searchsorted(ordered, [begin, cut])
    found = int(ordered[low + _index(int(high - low), 1 - share)])
    if found <= begin:
        raise FoldsError(_all_at_once(interactions, "validation", share))
    return found


def _window(
    interactions: Interactions, settings: Settings, at: tuple[int, int, int, int]
) -> NDArray[np.int8]:
    """The parts from when training, validation and test begin, in this order, to the test's end.

    Without what is held out of users or items that training lacks, if so chosen.
    """
    begin, validation, cut, end = at
    times = np.asarray(interactions.timestamps)
    parts = np.full(len(times), Part.TRAIN, dtype=np.int8)
    parts[times >= validation] = Part.VALIDATION
    parts[times >= cut] = Part.TEST
    parts[(times < begin) | (times >= end)] = Part.UNUSED
    if settings["unknown"] == KEEP:
        return parts
    users, items = known_to_training(interactions, parts)
    unknown = ~(users[interactions.users] & items[interactions.items])
    parts[unknown & ((parts == Part.TEST) | (parts == Part.VALIDATION))] = Part.UNKNOWN
    return parts


def _time_point(text: str, ordered: NDArray[np.int64], dataset: str) -> int:
    """The time in Unix seconds. Raises: FoldsError if it is none, or outside the data."""
    try:
        try:
            moment = float(text)
        except ValueError:
            date = datetime.fromisoformat(text)
            moment = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
        if not np.isfinite(moment):
            raise ValueError
    except (ValueError, OverflowError):
        raise FoldsError(
            f"the time point '{text}' is no date; give it as 2003-01-31, as 2003-01-31T12:00 (UTC) "
            "or in Unix seconds"
        ) from None
    first, last = int(ordered[0]), int(ordered[-1])
    if not first < moment <= last:
        raise FoldsError(
            f"the time point {text} is outside {dataset}, which goes from {day(first)} to "
            f"{day(last)}; choose one after the first and up to the last"
        )
    return int(np.ceil(moment))


def _all_at_once(interactions: Interactions, name: str, share: object) -> str:
    return (
        f"{interactions.dataset} has so many interactions at its first moment that no point in "
        f"time leaves the last {share} of them for '{name}' and something before it; "
        f"choose a smaller '{name}', or the split 'temporal-user'"
    )
