"""Models that count and average: the popularity of items, and a rating from damped means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecv_core.models.base import Algorithm, Report, Settings, with_source
from ecv_core.records.arrays import Codes, Float32s, Floats, Indices, rows_of_entries
from ecv_core.records.interactions import Pairs, Ratings
from ecv_core.records.parameters import Parameter
from ecv_core.records.run import Progress, no_progress
from ecv_core.records.tasks import Task

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# Every user gets the items with most training interactions.


_DRAWS = 20
"""Times at most that a negative is drawn, until it is none of the user's items."""


class Popular:
    """Scores an item by its number of training interactions, the same for every user.

    Args:
        batch_size: 0 counts every interaction; otherwise see `_items_once_per_batch`.
    """

    def __init__(self, batch_size: int = 0) -> None:
        self._batch_size = batch_size

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        items: NDArray[np.signedinteger] = train.indices
        if self._batch_size:  # one half of a batch are interactions, the other their negatives
            items = _items_once_per_batch(train, max(self._batch_size // 2, 1), seed)
        counts = np.bincount(items, minlength=train.shape[1])
        self._scores = counts.astype(np.float32)  # This is exact, as no item has 2^24 users here.
        progress("fit", 1, 1)

    @property
    def common(self) -> Float32s:
        """As of `evaluation.Scorer`."""
        return self._scores

    def score(self, users: Indices) -> Float32s:
        return np.tile(self._scores, (len(users), 1))


def _items_once_per_batch(train: csr_array, positives_per_batch: int, seed: int) -> Indices:
    """The items of each batch, each once: what RecBole 1.2.1 counts.

    A batch has so many interactions in random order, and for each a negative: an item that the user
    has not, drawn evenly. `item_cnt[item] = item_cnt[item] + 1` counts an item once, however often
    it is there, the negatives too; so no item counts more often than there are batches.

    Args:
        train: Shape (users, items), what users have.
        positives_per_batch: Interactions in a batch.
        seed: Fixes the negatives and the order.

    Returns:
        Item indices, each as often as there are batches with it.
    """
    rng = np.random.default_rng(seed)
    item_count = train.shape[1]
    users = rows_of_entries(train)
    # Each pair of a user and an item has a number.
    positive_pairs = users * item_count + train.indices
    negatives = np.empty(train.nnz, dtype=np.intp)
    to_draw = np.arange(train.nnz)
    for _ in range(_DRAWS):  # a user of nearly all items may keep a positive as a negative
        negatives[to_draw] = rng.integers(item_count, size=len(to_draw))
        drawn_pairs = users[to_draw] * item_count + negatives[to_draw]
        to_draw = to_draw[np.isin(drawn_pairs, positive_pairs)]
    batches = rng.permutation(train.nnz) // positives_per_batch
    # An item counts once in a batch, however often it is in it. So each pair of a batch and an item
    # becomes one number, and of equal numbers one is kept.
    items = np.concatenate([train.indices, negatives])
    batches_and_items = np.unique(np.tile(batches, 2) * item_count + items)
    return batches_and_items % item_count  # This is the item of each such number.


_POPULAR_PARAMETERS = (
    Parameter(
        "batch_size",
        0,
        "0 counts every interaction. Otherwise an item counts once in each batch, of which half "
        "are interactions and half negatives, as in RecBole's Pop by mistake (2048 there).",
        low=0,
        high=1_000_000,
        source="every interaction counts in the paper; RecBole 1.2.1 counts by batches",
        added_later=True,
    ),
)

POPULAR = Algorithm(
    id="popular",
    title="Popularity",
    summary="Recommends the items with most training interactions to everyone. "
    "Costs next to nothing; the baseline that any personal model has to beat.",
    paper="Cremonesi, Koren, Turrin (2010): Performance of recommender algorithms on top-N tasks",
    parameters=_POPULAR_PARAMETERS,
    build=lambda params: Popular(int(params.get("batch_size", 0))),
    random=False,
    with_torch=False,
)


# A rating is the mean of all, what its item gets more, and what its user gives more.


class Bias:
    """Damped means: of few ratings little is believed. Unknown users and items add nothing.

    What each item adds is found first, then what each user adds.

    Source: Koren, Bell (2011), Advances in Collaborative Filtering, section 5.2.1.
    """

    def __init__(self, params: Settings) -> None:
        self._params = params

    def predict(self, train: Ratings, asked: Pairs, *, seed: int, report: Report) -> Floats:
        report(0, 1)
        residuals = train.values - train.mean
        item_damping = self._params["item_damping"]
        item_biases = _damped_means(residuals, train.items, train.n_items, item_damping)
        residuals -= item_biases[train.items]
        user_damping = self._params["user_damping"]
        user_biases = _damped_means(residuals, train.users, train.n_users, user_damping)
        user_means = train.mean + user_biases[asked.users]
        predicted = user_means + item_biases[asked.items]
        report(1, 1, predicted)
        return predicted


def _damped_means(residuals: Floats, codes: Codes, size: int, damping: float) -> Floats:
    """The damped mean of the residuals of each user's ratings, or of each item's."""
    sums = np.bincount(codes, weights=residuals, minlength=size)
    counts = np.bincount(codes, minlength=size) + damping
    return np.divide(sums, counts, out=np.zeros(size), where=counts > 0)


_BIAS_PARAMETERS = with_source(
    "LensKit 2025.8",
    Parameter(
        "user_damping",
        5.0,
        "Each user counts as if there were so many more ratings at the average.",
        low=0,
        high=1e6,
    ),
    Parameter(
        "item_damping",
        5.0,
        "Each item counts as if there were so many more ratings at the average.",
        low=0,
        high=1e6,
    ),
)

BIAS = Algorithm(
    id="bias",
    title="Bias (damped means)",
    summary=(
        "Predicts a rating from the mean of all ratings and the deviations of its item and its "
        "user, which are drawn towards zero where there are few ratings. Costs next to nothing; "
        "the baseline that every personal model of ratings has to beat."
    ),
    paper="Koren, Bell (2011): Advances in Collaborative Filtering",
    task=Task.RATINGS,
    parameters=_BIAS_PARAMETERS,
    build=Bias,
    random=False,
)
