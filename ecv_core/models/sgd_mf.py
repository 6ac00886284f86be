"""Biased matrix factorization of ratings, learnt by stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from ecv_core.models.base import Algorithm, Report, Settings, with_source
from ecv_core.records.arrays import Codes, Float32s, Floats
from ecv_core.records.errors import RunError
from ecv_core.records.interactions import Pairs, Ratings
from ecv_core.records.parameters import Parameter
from ecv_core.records.tasks import Task

RATINGS_AT_ONCE = 1_000_000
"""Ratings between two reports, so that a cancel takes effect within about a second."""
PAIRS_AT_ONCE = 250_000
"""Pairs whose vectors are copied at once to predict them."""
HIDDEN_SHARE = 0.05
"""Of the training ratings, hidden from the fits of the grid, to choose one by."""


class FactorSetting(NamedTuple):
    """What decides how far each rating moves the parameters."""

    learning_rate: float
    regularization: float


GRID = [FactorSetting(*pair) for pair in product((0.001, 0.003), (0.02, 0.03, 0.04, 0.05))]
"""The settings of the paper's search: every pair of two rates and four regularizations."""


class SgdMF:
    """A rating is the mean, two biases and the product of a user's and an item's vector."""

    def __init__(self, params: Settings) -> None:
        """Compile the inner loop, so that no fold is charged for it."""
        import ecv_core.models.sgd_mf_kernel  # noqa: F401

        self._params = params

    def predict(self, train: Ratings, asked: Pairs, *, seed: int, report: Report) -> Floats:
        """As `RatingPredictor.predict`; the mean and the other's bias for who is unknown."""
        epochs = self._params["epochs"]
        search_steps = 0
        if self._params["search"]:
            search_steps = len(GRID) * epochs
        steps = search_steps + epochs
        report(0, steps)
        setting = FactorSetting(self._params["learning_rate"], self._params["regularization"])
        if self._params["search"]:
            setting = self._best_setting(train, seed, lambda done: report(done, steps))
        factorization = _Factorization(train, self._params, seed)
        for epoch in range(epochs):
            epochs_before = search_steps + epoch
            # Within an epoch the same step is reported again and again, so that a fit can be
            # cancelled there.
            report_same_step = partial(report, epochs_before, steps)
            factorization.train_epoch(setting, report_same_step)
            predicted = factorization.predict(asked)
            if not np.isfinite(predicted).all():
                raise RunError(
                    f"sgd-mf diverged in epoch {epoch + 1} of {epochs}: predictions are no longer "
                    "finite numbers; use a lower learning_rate than "
                    f"{setting.learning_rate:g}"
                )
            report(epochs_before + 1, steps, predicted)
        return predicted

    def _best_setting(
        self, train: Ratings, seed: int, report: Callable[[int], None]
    ) -> FactorSetting:
        """The setting of the grid that predicts a part of the ratings best, learnt from the others.

        Args:
            train: The training ratings.
            seed: Fixes which part, and each fit.
            report: Called with the number of epochs that are done.
        """
        rng = np.random.default_rng(seed)
        hidden_count = max(1, round(HIDDEN_SHARE * len(train)))
        is_hidden = rng.permutation(len(train)) < hidden_count
        if is_hidden.all():
            raise RunError(
                "sgd-mf cannot choose its settings by one rating; set search=false, or use "
                "more data"
            )
        visible = train.take(~is_hidden)
        validation = train.take(is_hidden)
        epochs = self._params["epochs"]
        mean_squared_errors = []
        for number, setting in enumerate(GRID):
            factorization = _Factorization(visible, self._params, seed)
            for epoch in range(epochs):
                factorization.train_epoch(setting, partial(report, number * epochs + epoch))
            predicted = factorization.predict(validation.pairs).clip(train.low, train.high)
            error = np.mean((predicted - validation.values) ** 2)
            # A fit that diverged, whose error is NaN, is never best.
            mean_squared_errors.append(np.nan_to_num(error, nan=np.inf))
        return GRID[int(np.argmin(mean_squared_errors))]


class _Factorization:
    """The mean, biases and vectors of one fit, in single precision."""

    def __init__(self, train: Ratings, params: Settings, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._users = train.users
        self._items = train.items
        self._mean = train.mean
        self._residuals = (train.values - self._mean).astype(np.float32)
        self._user_vectors = self._random_vectors(train.users, train.n_users, params)
        self._item_vectors = self._random_vectors(train.items, train.n_items, params)
        self._user_biases = np.zeros(train.n_users, dtype=np.float32)
        self._item_biases = np.zeros(train.n_items, dtype=np.float32)

    def _random_vectors(self, codes: Codes, size: int, params: Settings) -> Float32s:
        """Vectors at random; zero for who has no rating: the answer is the mean and a bias."""
        vectors = self._rng.standard_normal((size, params["dimension"]), dtype=np.float32)
        vectors *= np.float32(params["deviation"])
        has_no_rating = np.bincount(codes, minlength=size) == 0
        vectors[has_no_rating] = 0  # nothing is known of them, so that predictions stay at biases
        return vectors

    def train_epoch(self, setting: FactorSetting, report: Callable[[], None]) -> None:
        """Go through all ratings once, in random order; `report` is called now and then."""
        from ecv_core.models.sgd_mf_kernel import descend

        order = self._rng.permutation(len(self._residuals))
        for start in range(0, len(order), RATINGS_AT_ONCE):
            report()
            # It changes the vectors and biases in place.
            descend(
                self._users,
                self._items,
                self._residuals,
                order[start : start + RATINGS_AT_ONCE],
                self._user_vectors,
                self._item_vectors,
                self._user_biases,
                self._item_biases,
                setting.learning_rate,
                setting.regularization,
            )

    def predict(self, asked: Pairs) -> Floats:
        """Shape (pairs,); computed in blocks, so that memory stays small."""
        deviations = np.empty(len(asked))
        for start in range(0, len(asked), PAIRS_AT_ONCE):
            block = slice(start, start + PAIRS_AT_ONCE)
            users = asked.users[block]
            items = asked.items[block]
            products = np.einsum("nd,nd->n", self._user_vectors[users], self._item_vectors[items])
            deviations[block] = self._user_biases[users] + self._item_biases[items] + products
        return deviations + self._mean


_LEARNING_RATE = Parameter(
    "learning_rate",
    0.003,
    "Size of a step; smaller is better but needs more epochs.",
    low=1e-6,
    high=1.0,
)
_REGULARIZATION = Parameter(
    "regularization",
    0.04,
    "Pulls vectors and biases towards zero; more for small data and large dimensions.",
    low=0.0,
    high=10.0,
)
_DEVIATION = Parameter(
    "deviation",
    0.1,
    "Standard deviation of the normal distribution from which vectors are drawn.",
    low=0.0,
    high=10.0,
)
_SEARCH = Parameter(
    "search",
    False,
    "Chooses the learning rate (0.001 or 0.003) and the regularization (0.02 to 0.05) in each "
    "fold, by 5 % of its training ratings; takes nine times as long.",
)
_PARAMETERS = with_source(
    "Rendle, Zhang, Koren (2019): On the Difficulty of Evaluating Baselines, section 5.3",
    Parameter("dimension", 64, "How many numbers each vector has.", low=1, high=2048),
    Parameter("epochs", 128, "Passes over all ratings.", low=1, high=10_000),
    _LEARNING_RATE,
    _REGULARIZATION,
    _DEVIATION,
    _SEARCH,
)

SGD_MF = Algorithm(
    id="sgd-mf",
    title="SGD MF",
    summary=(
        "Biased matrix factorization of ratings by stochastic gradient descent, as in the Netflix "
        "Prize. Takes seconds to minutes; good only where learning rate, regularization and "
        "dimension suit the data."
    ),
    paper="Koren, Bell, Volinsky (2009): Matrix Factorization Techniques; set-up of Rendle (2019)",
    task=Task.RATINGS,
    seconds_per_rating=1e-8,
    parameters=_PARAMETERS,
    build=SgdMF,
)
