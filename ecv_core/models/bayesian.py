"""Bayesian factorization machines for ratings: Gibbs sampling, as in libFM, through myFM."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ecv_core.errors import RunError
from ecv_core.models.base import Report
from ecv_core.models.bayesian_features import Block, blocks
from ecv_core.models.parameters import Algorithm, Parameter
from ecv_core.records import Need, Pairs, ParamValue, Ratings, Task

Floats = NDArray[np.float64]

BURN_IN = 5
"""Steps at the start that are left out of the average once there are more, as in myFM."""


class BayesianFM:
    """The answer is the average over sampling steps, each with other parameters.

    Every step answers what is asked and is then forgotten, so that memory does not grow with them.
    """

    def __init__(
        self,
        *,
        features: Mapping[str, bool],
        dimension: int,
        steps: int,
        deviation: float,
        days: int = 1,
    ) -> None:
        self._features = dict(features)
        self._dimension = dimension
        self._steps = steps
        self._deviation = deviation
        self._days = days

    def predict(self, train: Ratings, asked: Pairs, *, seed: int, report: Report) -> Floats:
        report(0, self._steps)
        fm = import_myfm()
        found = blocks(train, asked, **self._features, days=self._days)
        self._ask_for_memory(found)
        none = [csr_matrix((size, 0), dtype=np.float64) for size in (len(train), len(asked))]
        learnt = [fm.RelationBlock(block.train.tolist(), block.rows) for block in found]
        wanted = [fm.RelationBlock(block.asked.tolist(), block.rows) for block in found]
        average = np.zeros(len(asked))
        # Whoever is unknown has no feature, so what is common to all must not hide in features.
        mean = train.mean

        def after(step: int, sample: Any, *_: object) -> bool:  # noqa: ANN401 - of compiled code
            nonlocal average
            counts = step + 1 - BURN_IN
            answer = mean + np.asarray(sample.predict_score(none[1], wanted))
            average = answer if step <= BURN_IN else average + (answer - average) / counts
            if not np.isfinite(average).all():
                raise RunError(
                    f"the sampling diverged in step {step + 1} of {self._steps}: predictions are "
                    "no finite numbers any more; use a smaller dimension or deviation"
                )
            report(step + 1, self._steps, average)
            return False

        fm.create_train_fm(
            self._dimension,
            self._deviation,
            none[0],
            learnt,
            train.values - mean,
            seed % 2**31,
            self._config(fm, found),
            after,
        )
        return average

    def _ask_for_memory(self, found: list[Block]) -> None:
        """Have about as much as myFM will take, for a moment.

        Raises: MemoryError where there is none; inside myFM that mostly ends the whole process.
        """
        rows, features = np.sum([block.rows.shape for block in found], axis=0)
        np.empty((2 * int(features) + int(rows), self._dimension))

    def _config(self, fm: Any, found: list[Block]) -> object:  # noqa: ANN401
        """myFM's own settings, with a prior for each kind of feature."""
        sizes = [size for block in found for size in block.groups]
        config = fm.ConfigBuilder()
        config.set_task_type(fm.TaskType.REGRESSION)
        config.set_group_index([kind for kind, size in enumerate(sizes) for _ in range(size)])
        config.set_n_iter(self._steps)
        config.set_n_kept_samples(1)
        for name in ("alpha_0", "beta_0", "gamma_0", "reg_0"):
            getattr(config, f"set_{name}")(1.0)
        config.set_mu_0(0.0)
        config.set_fit_w0(True)
        config.set_fit_linear(True)
        return config.build()


def import_myfm() -> Any:  # noqa: ANN401 - it has no types
    """The compiled part of myFM.

    myFM 0.4.0 asks on import for `pkg_resources`, which setuptools has dropped, and uses nothing
    of it: something of that name is there meanwhile.
    """
    name = "pkg_resources"
    if "myfm" in sys.modules or name in sys.modules:
        from myfm import _myfm

        return _myfm
    stand_in = ModuleType(name)
    stand_in.get_distribution = None  # type: ignore[attr-defined]
    stand_in.DistributionNotFound = LookupError  # type: ignore[attr-defined]
    sys.modules[name] = stand_in
    try:
        from myfm import _myfm
    finally:
        del sys.modules[name]
    return _myfm


def _build(
    params: Mapping[str, ParamValue], *, time: bool, items_of_user: bool, users_of_item: bool
) -> BayesianFM:
    import_myfm()  # so that no fold is charged for it
    return BayesianFM(
        features={"time": time, "items_of_user": items_of_user, "users_of_item": users_of_item},
        dimension=int(params["dimension"]),
        steps=int(params["steps"]),
        deviation=float(params["deviation"]),
        days=int(params.get("days", 1)),
    )


_PAPER = "Rendle, Zhang, Koren (2019): On the Difficulty of Evaluating Baselines, section 5.2"

_RATE = 3e-8
"""Measured on ml-1m: 455 s of one core for 512 steps with 32 dimensions (the recorded study);
each further kind of feature takes about half as much again."""

_ALWAYS = (
    Parameter(
        name="dimension",
        default=32,
        low=1,
        high=1024,
        help="Length of a feature's vector; larger is better and takes longer.",
        source=_PAPER,
    ),
    Parameter(
        name="steps",
        default=512,
        low=1,
        high=100_000,
        help="Steps of Gibbs sampling, over which predictions are averaged; more is better.",
        source=_PAPER,
    ),
    Parameter(
        name="deviation",
        default=0.1,
        low=0.0,
        high=10.0,
        help="Standard deviation of the normal distribution from which vectors are drawn first.",
        source=_PAPER,
    ),
)
_DAYS = Parameter(
    name="days",
    default=1,
    low=1,
    high=10_000,
    help="Days that share one feature of time.",
    source="a parameter for each day, as in Koren (2009)",
)


def _algorithm(
    name: str,
    title: str,
    summary: str,
    paper: str,
    *,
    time: bool = False,
    items_of_user: bool = False,
    users_of_item: bool = False,
) -> Algorithm:
    return Algorithm(
        id=name,
        title=title,
        summary=summary,
        paper=paper,
        task=Task.RATINGS,
        rate=_RATE * (1 + 0.5 * (time + items_of_user + users_of_item)),
        needs=Need.TIMESTAMPS if time else Need.NOTHING,
        parameters=(*_ALWAYS, _DAYS) if time else _ALWAYS,
        build=partial(_build, time=time, items_of_user=items_of_user, users_of_item=users_of_item),
    )


BAYESIAN_MF = _algorithm(
    "bayesian-mf",
    "Bayesian MF",
    "Matrix factorization of ratings with all regularization learnt: Gibbs sampling draws the "
    "parameters anew in each step and averages the predictions. Minutes; hardly anything to set.",
    "Salakhutdinov, Mnih (2008): Bayesian Probabilistic Matrix Factorization using MCMC",
)
BAYESIAN_SVD_PP = _algorithm(
    "bayesian-svd++",
    "Bayesian SVD++",
    "Bayesian MF that also looks at which items a user has rated, whatever the ratings. Better "
    "than Bayesian MF; about twice as long.",
    "Koren (2008): Factorization Meets the Neighborhood; by Gibbs sampling as in Rendle (2013)",
    items_of_user=True,
)
BAYESIAN_TIME_SVD = _algorithm(
    "bayesian-time-svd",
    "Bayesian timeSVD",
    "Bayesian MF with a vector for each day, so that tastes may change with time. Needs times; "
    "hardly longer than Bayesian MF.",
    "Koren (2009): Collaborative Filtering with Temporal Dynamics; by Gibbs sampling",
    time=True,
)
BAYESIAN_TIME_SVD_PP = _algorithm(
    "bayesian-time-svd++",
    "Bayesian timeSVD++",
    "Bayesian MF with days and with which items a user has rated. Needs times; among the best on "
    "data with a long history.",
    "Koren (2009): Collaborative Filtering with Temporal Dynamics; by Gibbs sampling",
    time=True,
    items_of_user=True,
)
BAYESIAN_TIME_SVD_PP_FLIPPED = _algorithm(
    "bayesian-time-svd++-flipped",
    "Bayesian timeSVD++ flipped",
    "Bayesian timeSVD++ that also looks at which users have rated an item. Needs times; the best "
    "and the slowest of its family.",
    "Rendle (2013): Scaling Factorization Machines to Relational Data",
    time=True,
    items_of_user=True,
    users_of_item=True,
)
