"""Bayesian factorization machines for ratings: Gibbs sampling, as in libFM, through myFM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # its parts load when they are used

from ecv_core.models.base import Algorithm, Report, Settings, with_source
from ecv_core.records.arrays import Codes, Floats, Indices
from ecv_core.records.errors import DatasetError, RunError
from ecv_core.records.interactions import Need, Pairs, Ratings
from ecv_core.records.parameters import Parameter
from ecv_core.records.tasks import Task

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

# Ratings -> the features of factorization machines, as relation blocks: u, i, t, iu, ii.


SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, kw_only=True, eq=False)
class FeatureBlock:
    """Features that many ratings share, and which of its rows each rating has.

    `train_rows` and `asked_rows` have shape (ratings,) and (pairs,); `features` shape (rows,
    features).
    """

    features: csr_matrix
    train_rows: Indices
    asked_rows: Indices
    group_sizes: tuple[int, ...]
    """Features of each kind, in their order: a prior is learnt for each kind."""


def feature_blocks(
    train: Ratings,
    asked: Pairs,
    *,
    days_per_period: int = 1,
    time: bool = False,
    items_of_user: bool = False,
    users_of_item: bool = False,
) -> list[FeatureBlock]:
    """The features of table 3 of the paper, from training ratings alone.

    Whoever is unknown to training has no feature of its own: the answer then comes from what is
    known of the others. A time without a training rating likewise.

    Args:
        train: What is learnt from.
        asked: What is to be predicted.
        days_per_period: See `time`.
        time: t, the period of so many days in which the rating was given.
        items_of_user: iu, the items that the user has rated, each 1 / sqrt(their number).
        users_of_item: ii, the users who have rated the item, alike.

    Raises:
        DatasetError: If times are asked for that are not there.
    Source: Rendle, Zhang, Koren (2019), section 5.1; weights as in Koren (2008), SVD++.
    """
    is_rated = scipy.sparse.csr_array(
        (np.ones(len(train)), (train.users, train.items)), shape=(train.n_users, train.n_items)
    )
    user_block = _block_of_rows(
        is_rated, train.users, asked.users, with_rated_columns=items_of_user
    )
    item_block = _block_of_rows(
        is_rated.T.tocsr(), train.items, asked.items, with_rated_columns=users_of_item
    )
    blocks = [user_block, item_block]
    if time:
        blocks.append(_block_of_times(train.pairs, asked, days_per_period))
    return blocks


def _block_of_rows(
    is_rated: csr_array, train_rows: Codes, asked_rows: Codes, *, with_rated_columns: bool
) -> FeatureBlock:
    """The features of users; of items where `is_rated` is transposed.

    Args:
        is_rated: Ones where a user has rated an item; shape (users, items).
        train_rows: The user of each training rating.
        asked_rows: The user of each rating that is to be predicted.
        with_rated_columns: Whether the items that a user has rated are features too, whatever the
            ratings.
    """
    counts = np.diff(is_rated.indptr)
    features = [_indicators(np.flatnonzero(counts), len(counts))]
    if with_rated_columns:
        # By the weight 1 / sqrt(count) each row has the length 1, however many ratings it has.
        rated_columns = np.unique(is_rated.indices)
        weights = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts)
        columns = np.searchsorted(rated_columns, is_rated.indices)
        shape = (len(counts), len(rated_columns))
        features.append(scipy.sparse.csr_array((weights, columns, is_rated.indptr), shape=shape))
    return _feature_block(features, train_rows, asked_rows)


def _feature_block(
    kinds: list[csr_array], train_rows: Indices | Codes, asked_rows: Indices | Codes
) -> FeatureBlock:
    """A block of one or several kinds of features, each of shape (rows, features)."""
    features = scipy.sparse.hstack(kinds, format="csr")
    return FeatureBlock(
        features=scipy.sparse.csr_matrix(features, dtype=np.float64),
        train_rows=train_rows.astype(np.intp),
        asked_rows=asked_rows.astype(np.intp),
        group_sizes=tuple(kind.shape[1] for kind in kinds),
    )


def _indicators(rows: Indices, row_count: int) -> csr_array:
    """One-hot features of some of the rows, 0 in the others; shape (row_count, len(rows))."""
    columns = np.arange(len(rows))
    entries = (np.ones(len(rows)), (rows, columns))
    return scipy.sparse.csr_array(entries, shape=(row_count, len(rows)))


def _block_of_times(train: Pairs, asked: Pairs, days_per_period: int) -> FeatureBlock:
    """A feature for each period of so many days in which a training rating was given."""
    if train.timestamps is None or asked.timestamps is None:
        raise DatasetError(
            "the model learns from the time of each rating, but these ratings have none; choose "
            "another dataset or another algorithm"
        )
    train_periods = train.timestamps // (days_per_period * SECONDS_PER_DAY)
    asked_periods = asked.timestamps // (days_per_period * SECONDS_PER_DAY)
    periods, train_rows = np.unique(train_periods, return_inverse=True)
    nearest_rows = np.searchsorted(periods, asked_periods).clip(max=len(periods) - 1)
    is_known = periods[nearest_rows] == asked_periods
    # The last row is that of a period which training does not know.
    empty_row = len(periods)
    asked_rows = np.where(is_known, nearest_rows, empty_row)
    features = _indicators(np.arange(len(periods)), len(periods) + 1)
    return _feature_block([features], train_rows, asked_rows)


BURN_IN = 5
"""Steps at the start that are left out of the average once there are more, as in myFM."""


class BayesianFM:
    """The answer is the average over sampling steps, each with other parameters.

    Every step answers what is asked and is then forgotten, so that memory does not grow with them.
    """

    def __init__(self, features: Mapping[str, bool], params: Settings) -> None:
        """Load myFM, so that no fold is charged for it.

        Args:
            features: Which there are beside users and items; arguments of `feature_blocks`.
            params: The params of the algorithm, by name.
        """
        import_myfm()
        self._features = features
        self._params = params

    def predict(self, train: Ratings, asked: Pairs, *, seed: int, report: Report) -> Floats:
        steps = self._params["steps"]
        report(0, steps)
        myfm = import_myfm()
        days = self._params.get("days", 1)  # models without features of time have no such parameter
        blocks = feature_blocks(train, asked, days_per_period=days, **self._features)
        self._check_memory(blocks)  # Within myFM, a lack of memory would end the whole process.
        train_blocks = [
            myfm.RelationBlock(block.train_rows.tolist(), block.features) for block in blocks
        ]
        asked_blocks = [
            myfm.RelationBlock(block.asked_rows.tolist(), block.features) for block in blocks
        ]
        # All features are in the blocks; the ratings themselves have none.
        no_train_features = scipy.sparse.csr_matrix((len(train), 0), dtype=np.float64)
        no_asked_features = scipy.sparse.csr_matrix((len(asked), 0), dtype=np.float64)
        average = np.zeros(len(asked))
        # The mean is added here and not learnt by features, which unknown users and items lack.
        mean = train.mean

        def after_step(step: int, sample: Any, *_: object) -> bool:  # noqa: ANN401  compiled
            nonlocal average
            sampled_scores = sample.predict_score(no_asked_features, asked_blocks)
            predicted = mean + np.asarray(sampled_scores)
            # The sampling has to settle at first. So the predictions of all steps from BURN_IN on
            # are averaged, and before that the newest ones stand for the average.
            if step <= BURN_IN:
                average = predicted
            else:
                average = average + (predicted - average) / (step + 1 - BURN_IN)
            if not np.isfinite(average).all():
                raise RunError(
                    f"the sampling diverged in step {step + 1} of {steps}: predictions are no "
                    "longer finite numbers; use a smaller dimension or deviation"
                )
            report(step + 1, steps, average)
            return False  # False lets myFM go on.

        myfm.create_train_fm(
            self._params["dimension"],
            self._params["deviation"],
            no_train_features,
            train_blocks,
            train.values - mean,
            seed % 2**31,
            self._sampler_settings(myfm, blocks),
            after_step,
        )
        return average

    def _check_memory(self, blocks: list[FeatureBlock]) -> None:
        """Take for a moment about as much memory as myFM will.

        Where there is none, a MemoryError says so; inside myFM that mostly ends the whole process.
        """
        # Its largest arrays hold vectors: about two for each feature, a column of a block, and one
        # for each row.
        rows, columns = np.sum([block.features.shape for block in blocks], axis=0)
        np.empty((2 * int(columns) + int(rows), self._params["dimension"]))

    def _sampler_settings(self, myfm: Any, blocks: list[FeatureBlock]) -> object:  # noqa: ANN401
        """The settings of myFM's Gibbs sampler, with a prior for each kind of feature."""
        group_sizes: list[int] = []
        for block in blocks:
            group_sizes += block.group_sizes
        group_of_feature = np.repeat(np.arange(len(group_sizes)), group_sizes)
        config = myfm.ConfigBuilder()
        config.set_task_type(myfm.TaskType.REGRESSION)
        config.set_group_index(group_of_feature.tolist())
        config.set_n_iter(self._params["steps"])
        config.set_n_kept_samples(1)
        # The hyperpriors, as myFM sets them by default.
        config.set_alpha_0(1.0)
        config.set_beta_0(1.0)
        config.set_gamma_0(1.0)
        config.set_reg_0(1.0)
        config.set_mu_0(0.0)
        config.set_fit_w0(True)
        config.set_fit_linear(True)
        return config.build()


@cache
def import_myfm() -> Any:  # noqa: ANN401 - it has no types
    """The compiled part of myFM, loaded by itself."""
    # The package around it (0.4.0) imports `pkg_resources`, which setuptools has dropped and which
    # myFM does not use.
    package = find_spec("myfm")
    if package is None:
        raise ModuleNotFoundError("No module named 'myfm'", name="myfm")
    compiled = PathFinder.find_spec("myfm._myfm", package.submodule_search_locations)
    if compiled is None or compiled.loader is None:
        raise ModuleNotFoundError("myfm has no compiled part", name="myfm")
    module = module_from_spec(compiled)
    compiled.loader.exec_module(module)
    return module


_SECONDS_PER_RATING = 3e-8
"""On one core, for each rating, step and dimension. Measured on ml-1m: 455 s for 512 steps with 32
dimensions (the recorded study); each further kind of feature takes about half as much again."""

_DIMENSION = Parameter(
    "dimension",
    32,
    "Length of a feature's vector; larger is better and takes longer.",
    low=1,
    high=1024,
)
_STEPS = Parameter(
    "steps",
    512,
    "Steps of Gibbs sampling, over which predictions are averaged; more is better.",
    low=1,
    high=100_000,
)
_DEVIATION = Parameter(
    "deviation",
    0.1,
    "Standard deviation of the normal distribution from which vectors are drawn at the start.",
    low=0.0,
    high=10.0,
)
_COMMON_PARAMETERS = with_source(
    "Rendle, Zhang, Koren (2019): On the Difficulty of Evaluating Baselines, section 5.2",
    _DIMENSION,
    _STEPS,
    _DEVIATION,
)
"""Parameters of the whole family."""
_DAYS = Parameter(
    "days",
    1,
    "Days that share one feature of time.",
    low=1,
    high=10_000,
    source="a parameter for each day, as in Koren (2009)",
)


FEATURES = {
    "bayesian-mf": (),
    "bayesian-svd++": ("items_of_user",),
    "bayesian-time-svd": ("time",),
    "bayesian-time-svd++": ("time", "items_of_user"),
    "bayesian-time-svd++-flipped": ("time", "items_of_user", "users_of_item"),
}
"""The features of each model besides user and item, named as in `feature_blocks`."""


def _family_member(name: str, title: str, summary: str, paper: str) -> Algorithm:
    features = FEATURES[name]
    needs = Need.NOTHING
    parameters = _COMMON_PARAMETERS
    if "time" in features:
        needs = Need.TIMESTAMPS
        parameters = (*_COMMON_PARAMETERS, _DAYS)
    return Algorithm(
        id=name,
        title=title,
        summary=summary,
        paper=paper,
        task=Task.RATINGS,
        # Each further kind of feature was measured to take half as much time again.
        seconds_per_rating=_SECONDS_PER_RATING * (1 + 0.5 * len(features)),
        needs=needs,
        parameters=parameters,
        build=partial(BayesianFM, dict.fromkeys(features, True)),
    )


BAYESIAN = (
    _family_member(
        "bayesian-mf",
        "Bayesian MF",
        "Matrix factorization of ratings with all regularization learnt: Gibbs sampling draws the "
        "parameters anew in each step and averages the predictions. Takes minutes, and has hardly "
        "anything to set.",
        "Salakhutdinov, Mnih (2008): Bayesian Probabilistic Matrix Factorization using MCMC",
    ),
    _family_member(
        "bayesian-svd++",
        "Bayesian SVD++",
        "Bayesian MF that also looks at which items a user has rated, whatever the ratings. Better "
        "than Bayesian MF; takes about twice as long.",
        "Koren (2008): Factorization Meets the Neighborhood; by Gibbs sampling as in Rendle (2013)",
    ),
    _family_member(
        "bayesian-time-svd",
        "Bayesian timeSVD",
        "Bayesian MF with a vector for each day, so that tastes may change with time. Needs times; "
        "takes hardly longer than Bayesian MF.",
        "Koren (2009): Collaborative Filtering with Temporal Dynamics; by Gibbs sampling",
    ),
    _family_member(
        "bayesian-time-svd++",
        "Bayesian timeSVD++",
        "Bayesian MF with days and with which items a user has rated. Needs times; among the best "
        "on data with a long history.",
        "Koren (2009): Collaborative Filtering with Temporal Dynamics; by Gibbs sampling",
    ),
    _family_member(
        "bayesian-time-svd++-flipped",
        "Bayesian timeSVD++ flipped",
        "Bayesian timeSVD++ that also looks at which users have rated an item. Needs times; the "
        "best and the slowest of its family.",
        "Rendle (2013): Scaling Factorization Machines to Relational Data",
    ),
)
