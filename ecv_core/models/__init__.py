"""The algorithms users can pick: id -> title, parameters and builder; no model code is loaded."""

from __future__ import annotations

import re

from ecv_core.models.averages import BIAS, POPULAR
from ecv_core.models.base import Algorithm
from ecv_core.models.bayesian import BAYESIAN
from ecv_core.models.ease import EASE_MODEL
from ecv_core.models.held import is_held
from ecv_core.models.knn import ITEM_KNN, RP3BETA, USER_KNN
from ecv_core.models.lenskit_mf import BIASED_ALS, IMPLICIT_MF
from ecv_core.models.neural import BPR_MF, LIGHT_GCN, MULTI_VAE, NEU_MF, NGCF, TRIPLE2VEC, VBCAR
from ecv_core.models.nmf import NMF_MODEL
from ecv_core.models.outside import model_elsewhere, tracked_model
from ecv_core.models.sgd_mf import SGD_MF
from ecv_core.models.tabular import PACKAGES_NOT_HERE, TABULAR
from ecv_core.records.errors import InputError, NotInstalled, UnknownName, how_to_install
from ecv_core.records.plugins import Registry
from ecv_core.records.spec import RunSpec
from ecv_core.records.tasks import Task

__all__ = [
    "ALGORITHMS",
    "algorithm",
    "computed_here",
    "computing",
    "is_held",
    "of",
    "serving",
    "tracked_model",
]

# A new algorithm is its import above and its name here, where pages shall list it.
_PROJECT_ALGORITHMS = (
    POPULAR,
    ITEM_KNN,
    IMPLICIT_MF,
    MULTI_VAE,
    NEU_MF,
    EASE_MODEL,
    USER_KNN,
    BPR_MF,
    NMF_MODEL,
    RP3BETA,
    LIGHT_GCN,
    NGCF,
    TRIPLE2VEC,
    VBCAR,
    BIAS,
    SGD_MF,
    BIASED_ALS,
    *BAYESIAN,
    *TABULAR,
)
"""The project's own algorithms."""


def _from_entry_point(offered: object, name: str) -> tuple[str, Algorithm]:
    """The id and the algorithm that a package offers."""
    if not isinstance(offered, Algorithm):
        raise TypeError(f"it names {offered!r}, which is no ecv_core.models.base.Algorithm")
    if not re.fullmatch(r"[a-z0-9][a-z0-9+-]{0,39}", offered.id):
        raise ValueError(f"its id '{offered.id}' is not small letters, digits and hyphens")
    return offered.id, offered


ALGORITHMS = Registry(
    {algorithm.id: algorithm for algorithm in _PROJECT_ALGORITHMS},
    group="ecv_core.models",
    to_entry=_from_entry_point,
)
"""Every algorithm by its id, in the order in which pages list them: the project's own, and those
of installed packages (docs/extending.md)."""


def serving(task: Task) -> list[str]:
    """Ids of the algorithms that can be asked for this, in the registry's order."""
    return [name for name, algorithm in ALGORITHMS.items() if algorithm.task is task]


def algorithm(algorithm_id: str) -> Algorithm:
    """The algorithm with this id.

    Raises:
        UnknownName: With the ids that exist.
        NotInstalled: Where its package is not here.
    """
    if algorithm_id in ALGORITHMS:
        return ALGORITHMS[algorithm_id]
    if algorithm_id in PACKAGES_NOT_HERE:
        raise NotInstalled(how_to_install(PACKAGES_NOT_HERE[algorithm_id]))
    raise UnknownName("algorithm", algorithm_id, ALGORITHMS)


def of(spec: RunSpec) -> Algorithm:
    """What is known of the model of a run, whether its code is here or not; loads nothing."""
    if computed_here(spec):
        return ALGORITHMS[spec.algorithm]
    return model_elsewhere(spec.algorithm, spec.task)


def computed_here(spec: RunSpec) -> bool:
    """Whether the dashboard could compute a fold of a run: it is not tracked, and not of a
    plug-in that is not here."""
    return not spec.tracked and spec.algorithm in ALGORITHMS


def computing(spec: RunSpec) -> Algorithm:
    """The algorithm that computes the folds of a run here.

    Of a model in memory it says what is known of it, and builds nothing.

    Raises:
        InputError: For a tracked run; UnknownName.
    """
    if is_held(spec):
        return model_elsewhere(spec.algorithm, spec.task)
    if spec.tracked:
        raise InputError(
            f"'{spec.algorithm}' is tracked: its folds are computed by your own code, not here; "
            "continue with ecv.track or the command track"
        )
    return algorithm(spec.algorithm)
