"""A seed -> made-up interactions: about as many as MovieLens 100K has, or any number.

How an interaction of `synthetic`, the default dataset, comes about. Every user and item has a
vector of tastes, drawn from a standard normal distribution; their product is the affinity. A user
takes as many distinct items as a log-normal activity says, each with odds proportional to

    popularity(item) * exp(taste_strength * affinity(user, item))

among the items that were out before the user's last visit. Drawing without replacement with such
odds is done exactly, by the Gumbel top-k trick (Kool, van Hoof, Welling 2019, arXiv:1903.06059).

Popularity alone therefore explains part of what is held out and tastes explain more: models that
learn tastes clearly beat the popularity baseline, as they do on MovieLens: nDCG@10 on one of ten
folds was 0.16 for popularity, 0.29 for cosine ItemKNN and 0.34 for EASE when the defaults were set,
against 0.14, 0.29 and 0.35 on MovieLens 100K.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.arrays import Floats, Indices
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Interactions

_DAY = 86_400
_START = 1_704_067_200  # 1 January 2024, UTC


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The world to generate; the defaults give the size and density of MovieLens 100K."""

    users: int = 943
    items: int = 1_400
    """Before preparation: a tail of items with fewer than 5 users is pruned."""
    tastes: int = 8
    """Length of the taste vectors: fewer are easier to learn."""
    taste_strength: float = 1.5
    """Standard deviation of the log-odds that tastes add; 0 leaves popularity alone."""
    zipf_exponent: float = 1.6
    """Popularity of the item at rank r is (r + zipf_shift) ** -zipf_exponent."""
    zipf_shift: float = 40.0
    """Flattens the head, so that no single item is everybody's."""
    median_activity: float = 68.0
    """Items that the median user takes."""
    activity_sigma: float = 1.0
    """Standard deviation of the logarithm of activity."""
    least_activity: int = 20
    most_activity: int = 600
    days: int = 365
    """Length of the whole period."""
    mean_visit_days: float = 30.0
    """How long a user stays, on average; exponentially distributed."""
    share_released_later: float = 0.3
    """Share of the items that come out during the period; the others were out before it."""


def generate(seed: int = 20_240_601, parameters: Parameters | None = None) -> Interactions:
    """The dataset, with ratings 1 to 5 and timestamps, sorted by user and then item.

    The same seed and parameters give the same data under the same numpy version.
    """
    world = parameters or Parameters()
    rng = np.random.default_rng(seed)
    affinity = _affinity(world, rng)
    popularity = _log_popularity(world, rng)
    arrival, departure = _visit_days(world, rng)
    release = _release_days(world, rng)

    log_odds = popularity + world.taste_strength * affinity  # Its shape is (users, items).
    log_odds[departure[:, None] <= release[None, :]] = -np.inf
    # The Gumbel top-k trick: the largest sums of log-odds and Gumbel noise are a draw without
    # replacement with these odds.
    keys = log_odds + rng.gumbel(size=log_odds.shape)
    users, items = _take_largest(keys, _activity(world, rng))

    # On this day the user is there and the item is out.
    first_day = np.maximum(arrival[users], release[items])
    days = first_day + rng.random(len(users)) * (departure[users] - first_day)
    # A rating is 3 for an affinity of 0, and differs from what the affinity says by some noise.
    liking = affinity[users, items] + 0.7 * rng.standard_normal(len(users))
    return Interactions(
        dataset="synthetic",
        users=users.astype(np.int32),
        items=items.astype(np.int32),
        user_ids=np.array([f"u{number:04d}" for number in range(world.users)]),
        item_ids=np.array([f"i{number:04d}" for number in range(world.items)]),
        ratings=np.clip(np.round(3.0 + liking), 1, 5).astype(np.float32),
        timestamps=(_START + days * _DAY).astype(np.int64),
    )


def generate_by_id(dataset_id: str) -> Interactions:
    """The made-up dataset with this id: `synthetic`, or a large one of the size in its id.

    Raises:
        InputError: As `size_of`.
    """
    size = size_of(dataset_id)
    if size is None:
        return generate()
    return generate_large(size)


def fingerprint() -> str:
    """What decides the default dataset: generator, seed, parameters and numpy's version."""
    text = f"1:{generate.__defaults__}:{asdict(Parameters())}:{np.__version__}"
    return hashlib.sha256(text.encode()).hexdigest()


def _affinity(world: Parameters, rng: np.random.Generator) -> Floats:
    """Shape (users, items), mean 0 and standard deviation 1."""
    users = rng.standard_normal((world.users, world.tastes))
    items = rng.standard_normal((world.items, world.tastes))
    return users @ items.T / np.sqrt(world.tastes)


def _log_popularity(world: Parameters, rng: np.random.Generator) -> Floats:
    ranks = 1 + rng.permutation(world.items)
    return -world.zipf_exponent * np.log(ranks + world.zipf_shift)


def _visit_days(world: Parameters, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """First and last moment of each user, in days from the start of the period."""
    arrival = rng.uniform(0, world.days - 1, world.users)
    stay = 0.5 + rng.exponential(world.mean_visit_days, world.users)
    return arrival, np.minimum(arrival + stay, world.days)


def _release_days(world: Parameters, rng: np.random.Generator) -> Floats:
    """The day on which each item comes out; 0 for those that were out before."""
    is_released_later = rng.random(world.items) < world.share_released_later
    return np.where(is_released_later, rng.uniform(0, world.days, world.items), 0.0)


def _activity(world: Parameters, rng: np.random.Generator) -> NDArray[np.int64]:
    wanted = rng.lognormal(np.log(world.median_activity), world.activity_sigma, world.users)
    return np.clip(wanted, world.least_activity, world.most_activity).astype(np.int64)


def _take_largest(keys: Floats, counts: NDArray[np.int64]) -> tuple[Indices, Indices]:
    """Each user's `counts` items with the largest keys, of those whose key is finite.

    Args:
        keys: Shape (users, items).
        counts: Shape (users,).

    Returns:
        The users and the items that were taken, sorted by user and then item.
    """
    counts = np.minimum(counts, np.isfinite(keys).sum(axis=1))
    largest_first = np.argsort(-keys, axis=1)
    is_rank_taken = np.arange(keys.shape[1]) < counts[:, None]
    is_item_taken = np.zeros(keys.shape, dtype=bool)
    np.put_along_axis(is_item_taken, largest_first, is_rank_taken, axis=1)
    users, items = np.nonzero(is_item_taken)
    return users, items


# `synthetic-large`: any size, to see how cost grows with the data.
#
# Every item is of one genre, and every user has two genres that they like. A user draws as many
# items as a log-normal activity says, most of them from the genres that they like, by Zipf's
# popularity; of an item drawn twice one interaction is left. So popularity explains part of what is
# held out, tastes explain more, and the work is linear in the interactions, in blocks of users.


NAME = "synthetic-large"
SIZE = 1_000_000
"""Interactions where the id says no other number."""
LEAST = 10_000
MOST = 1_000_000_000

MEAN_ACTIVITY = 47
"""Interactions of a user, on average."""
DRAWS = 1.12
"""Draws for each interaction: the others are of what the user has already."""
ACTIVITY_SIGMA = 1.0
"""Standard deviation of the logarithm of activity."""
ITEMS_PER_SQRT = 6.5
"""Items for each square root of the interactions, as catalogues grow more slowly than their use."""
GENRES = 20
LIKED_SHARE = 0.6
"""Of the draws, those from a genre that the user likes."""
ZIPF_EXPONENT = 1.0
ZIPF_SHIFT = 50
DRAWS_AT_ONCE = 4_000_000


def size_of(dataset_id: str) -> int | None:
    """The interactions that an id asks for, 'synthetic-large-20000000'; None for other datasets.

    Raises:
        InputError: For a size that is not offered.
    """
    if dataset_id == NAME:
        return SIZE
    name, _, digits = dataset_id.rpartition("-")
    if name != NAME or not digits.isdecimal():
        return None
    size = int(digits)
    if not LEAST <= size <= MOST:
        raise InputError(f"{NAME} has from {LEAST:,} to {MOST:,} interactions, not {size:,}")
    return size


def generate_large(size: int, seed: int = 20_261_123) -> Interactions:
    """About `size` interactions, sorted by user and then item, without ratings or times.

    The same size and seed give the same data under the same numpy version.
    """
    rng = np.random.default_rng(seed)
    n_users = max(size // MEAN_ACTIVITY, 50)
    n_items = int(ITEMS_PER_SQRT * size**0.5)
    catalogue = _Catalogue.at_random(n_items, rng)
    draw_counts = _draw_counts(n_users, n_items, rng)
    liked_genres = rng.integers(GENRES, size=(n_users, 2))
    # Users are drawn for in blocks, so that memory does not grow with the number of draws. A block
    # ends where the draws of all users so far pass a multiple of DRAWS_AT_ONCE.
    block_starts = np.flatnonzero(np.diff(np.cumsum(draw_counts) // DRAWS_AT_ONCE)) + 1
    cells_of_blocks = []
    for users_of_block in np.split(np.arange(n_users), block_starts):
        user_of_draw = np.repeat(users_of_block, draw_counts[users_of_block])
        liked_genre_of_draw = liked_genres[user_of_draw, rng.integers(2, size=len(user_of_draw))]
        items = catalogue.draw(liked_genre_of_draw, rng)
        # A cell is a user and an item as one number. A cell that is drawn twice is kept once.
        cells_of_blocks.append(np.unique(user_of_draw * n_items + items))
    cells = np.concatenate(cells_of_blocks)
    name = NAME
    if size != SIZE:
        name = f"{NAME}-{size}"
    return Interactions(
        dataset=name,
        users=(cells // n_items).astype(np.int32),
        items=(cells % n_items).astype(np.int32),
        user_ids=np.char.zfill(np.arange(n_users).astype(str), 8),
        item_ids=np.char.zfill(np.arange(n_items).astype(str), 8),
    )


@dataclass(frozen=True, kw_only=True)
class _Catalogue:
    """Items on a line, each as long as it is popular, those of a genre side by side."""

    item_bounds: Floats
    """Item i lies between item_bounds[i] and item_bounds[i + 1]; shape (items + 1,)."""
    genre_bounds: Floats
    """Genre g lies between genre_bounds[g] and genre_bounds[g + 1]; shape (GENRES + 1,)."""

    @classmethod
    def at_random(cls, n_items: int, rng: np.random.Generator) -> _Catalogue:
        """Items with genres and ranks of popularity by chance; popularity is Zipf's."""
        genre_of_item = np.sort(rng.integers(GENRES, size=n_items))
        popularity = (rng.permutation(n_items) + 1.0 + ZIPF_SHIFT) ** -ZIPF_EXPONENT
        item_bounds = np.concatenate([[0.0], np.cumsum(popularity)])
        first_item_of_genre = np.searchsorted(genre_of_item, np.arange(GENRES + 1))
        return cls(item_bounds=item_bounds, genre_bounds=item_bounds[first_item_of_genre])

    def draw(self, liked_genre: NDArray[np.int64], rng: np.random.Generator) -> Indices:
        """An item for each draw, most of them of a genre that the user likes.

        Args:
            liked_genre: One of the user of each draw; shape (draws,).
            rng: A generator.

        Returns:
            Codes of items; shape (draws,).
        """
        is_of_liked_genre = rng.random(len(liked_genre)) < LIKED_SHARE
        low = np.where(is_of_liked_genre, self.genre_bounds[liked_genre], 0.0)
        high = np.where(is_of_liked_genre, self.genre_bounds[liked_genre + 1], self.item_bounds[-1])
        # An item's two bounds are as far apart as it is popular, so that a uniform number falls
        # between them as often as that.
        numbers = low + rng.random(len(liked_genre)) * (high - low)
        items = np.searchsorted(self.item_bounds, numbers, "right") - 1
        # A number that is rounded up to the very end would be of an item after the last.
        return np.minimum(items, len(self.item_bounds) - 2)


def _draw_counts(n_users: int, n_items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How many items are drawn for each user, log-normal; shape (users,)."""
    # The mean of a log-normal distribution is exp(mean + variance / 2) of its logarithm.
    mean_log = np.log(MEAN_ACTIVITY * DRAWS) - ACTIVITY_SIGMA**2 / 2
    activity = np.exp(rng.normal(mean_log, ACTIVITY_SIGMA, n_users))
    return np.clip(activity, 6, n_items // 4).astype(np.int64)
