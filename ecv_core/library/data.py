"""Datasets, their folds, and the metrics of any model's scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

import ecv_core.dataset as on_disk
from ecv_core import evaluation, splits
from ecv_core.dataset.ready import for_task
from ecv_core.evaluation import Scorer
from ecv_core.evaluation.task import AnyScores
from ecv_core.library.in_memory import dataset_id
from ecv_core.models import ALGORITHMS
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Folds, Interactions
from ecv_core.records.parameters import ParamValue
from ecv_core.splits.strategies import Make

if TYPE_CHECKING:
    import pandas as pd


def datasets() -> pd.DataFrame:
    """What there is to evaluate on: the catalogue and your own files.

    Returns: one row per dataset, by id: `title`, `users`, `items` and `interactions` after
        preparation (missing where they are not known yet), `samples` and `features` of a table,
        `on_disk`, `source`, `licence`.
    """
    import pandas as pd

    names = ("users", "items", "interactions", "samples", "features")
    counts = dict.fromkeys(names, "Int64")
    return pd.DataFrame(on_disk.listing()).set_index("id").astype(counts)


def algorithms() -> pd.DataFrame:
    """What there is to evaluate: the package's algorithms, and those of plug-ins.

    Returns: one row per algorithm, by id: `title`, `task`, `parameters` (name -> default),
        `summary`.
    """
    import pandas as pd

    rows = {
        name: (
            known.title,
            known.task.value,
            {one.name: one.default for one in known.parameters},
            known.summary,
        )
        for name, known in ALGORITHMS.items()
    }
    columns = ["title", "task", "parameters", "summary"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("id")


@kinds_checked
def load(dataset: object, *, download: bool = False) -> Interactions:
    """A dataset as runs use it: implicit feedback, 5-core; users and items as codes from 0.

    Of a table the samples, with `features`, `targets` and `classes`.

    Args:
        dataset: an id of `datasets()`; or data in memory, as of `evaluate`.
        download: get it if it is not on disk; its licence is in `datasets()`.
    Raises: UnknownName; DatasetError if it is not on disk, damaged, or cannot be downloaded.
    """
    name = dataset_id(dataset)
    entry = on_disk.entry(name)
    if download and not on_disk.available(entry):
        on_disk.download(entry, lambda done, total: None)
    return for_task(name, entry.tasks[0])


@kinds_checked
def split(
    data: object,
    strategy: str | splits.Strategy | Make = "user-k-fold",
    *,
    k: int | None = None,
    seed: int = 42,
    params: Mapping[str, ParamValue] | None = None,
) -> Folds:
    """The folds of a dataset: those that a run with the same strategy, k and seed has.

    Args:
        data: from `load`; or an id or data in memory, as of `evaluate`.
        strategy: how it is split: an id of `splits.SPLITS`, or one of one's own, as of `evaluate`.
        k: number of folds; by default the strategy's, mostly 10.
        seed: fixes every random choice.
        params: the strategy's own parameters by name; the rest by default.
    Returns: `folds.parts(i)` says what each interaction is for in fold i; `ecv.fold_matrices(data,
        folds, i)` gives its matrices.
    Raises: InputError for a name or a value; FoldsError if the data cannot be split so.
    """
    interactions = data if isinstance(data, Interactions) else load(data)
    known = (
        splits.strategy(strategy) if isinstance(strategy, str) else splits.register_split(strategy)
    )
    folds = known.default_k if k is None else k
    known.check_k(folds)
    return splits.split(interactions, known.id, folds, seed, params)


@kinds_checked
def metrics(
    scores: NDArray[np.floating] | Scorer,
    train: csr_array | csr_matrix,
    held_out: csr_array | csr_matrix,
    *,
    cutoffs: Sequence[int] = (10,),
    names: Sequence[str] | None = None,
) -> dict[str, float]:
    """Every metric of a model's scores, under full ranking, averaged over users.

    Args:
        scores: of every user and item, higher is better, shape (users, items), dense or sparse; or
            a fitted model with `score(users)`, as in `models.base.Recommender`.
        train: nonzero where the user has the item in training: never a candidate; shape (users,
            items).
        held_out: nonzero where it is held out; users without any do not count; same shape.
        cutoffs: list lengths.
        names: ids of metrics; by default all that cost little beside ranking.
    Returns: 'ndcg@10' -> mean.
    Raises: InputError for shapes that differ, nothing held out, a bad cut-off, an unknown name
        or a score that is no finite number.
    """
    train, held_out = csr_array(train), csr_array(held_out)
    if train.shape != held_out.shape:
        raise InputError(
            "train and held_out must have the same shape (users, items), but have "
            f"{train.shape} and {held_out.shape}"
        )
    model = AnyScores(scores, train.shape)
    found = evaluation.evaluate(model, train, held_out, cutoffs, metrics=names)
    return dict(found.means)
