"""Each stage by itself: what there is to evaluate, data, their folds, metrics of any scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

import ecv_core.dataset as on_disk
from ecv_core import evaluation, splits
from ecv_core.dataset.preparation import for_task
from ecv_core.evaluation import Scorer
from ecv_core.evaluation.any_scores import AnyScores
from ecv_core.library.data import dataset_id
from ecv_core.models import ALGORITHMS
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import Folds, Interactions
from ecv_core.records.parameters import ParamValue
from ecv_core.splits.strategies import SplitFunction

if TYPE_CHECKING:
    import pandas as pd


def datasets() -> pd.DataFrame:
    """What there is to evaluate on: the catalogue and your own files.

    Returns:
        One row per dataset, by id: `title`, `users`, `items` and `interactions` after preparation
        (missing where they are not known yet), `samples` and `features` of a table, `on_disk`,
        `source`, `licence`.

    >>> import ecv_core as ecv
    >>> bool(ecv.datasets().loc["synthetic", "on_disk"])
    True
    """
    import pandas as pd

    counts = ("users", "items", "interactions", "samples", "features")
    # pandas' Int64 holds whole numbers of which some are missing.
    kinds = dict.fromkeys(counts, "Int64")
    return pd.DataFrame(on_disk.listing()).set_index("id").astype(kinds)


def algorithms() -> pd.DataFrame:
    """What there is to evaluate: the package's algorithms, and those of plug-ins.

    Returns:
        One row per algorithm, by id: `title`, `task`, `parameters` (name -> default), `summary`.

    >>> import ecv_core as ecv
    >>> ecv.algorithms().loc["ease", "title"]
    'EASE'
    """
    import pandas as pd

    rows = []
    for algorithm in ALGORITHMS.values():
        defaults = {parameter.name: parameter.default for parameter in algorithm.parameters}
        rows.append(
            {
                "id": algorithm.id,
                "title": algorithm.title,
                "task": algorithm.task.value,
                "parameters": defaults,
                "summary": algorithm.summary,
            }
        )
    return pd.DataFrame(rows).set_index("id")


@kinds_checked
def load(dataset: object, *, download: bool = False) -> Interactions:
    """A dataset as runs use it: implicit feedback, 5-core; users and items as codes from 0.

    Of a table the samples, with `features`, `targets` and `classes`.

    Args:
        dataset: An id of `datasets()`; or data in memory, as of `evaluate`.
        download: Get it if it is not on disk; its licence is in `datasets()`.

    Raises:
        UnknownName.
        DatasetError: If it is not on disk, damaged, or cannot be downloaded.

    >>> import numpy as np
    >>> import ecv_core as ecv
    >>> ecv.load(np.ones((6, 8))).n_items
    8
    """
    name = dataset_id(dataset)
    entry = on_disk.entry(name)
    if download and not on_disk.available(entry):
        on_disk.download(entry, lambda done, total: None)
    return for_task(entry, entry.usual_task)


@kinds_checked
def split(
    data: object,
    strategy: str | splits.Strategy | SplitFunction = "user-k-fold",
    *,
    k: int | None = None,
    seed: int = 42,
    params: Mapping[str, ParamValue] | None = None,
) -> Folds:
    """The folds of a dataset: those that a run with the same strategy, k and seed has.

    Args:
        data: From `load`; or an id or data in memory, as of `evaluate`.
        strategy: How it is split: an id of `splits.SPLITS`, or one of one's own, as of `evaluate`.
        k: Number of folds; by default the strategy's, mostly 10.
        seed: Fixes every random choice.
        params: The strategy's own parameters by name; the rest by default.

    Returns:
        `folds.parts(i)` says what each interaction is for in fold i; `ecv.fold_matrices(data,
        folds, i)` gives its matrices.

    Raises:
        InputError: For a name or a value.
        FoldsError: If the data cannot be split so.

    >>> import ecv_core as ecv
    >>> ecv.split("synthetic", "user-k-fold", k=5).k
    5
    """
    interactions = data
    if not isinstance(interactions, Interactions):
        interactions = load(data)
    if isinstance(strategy, str):
        chosen_strategy = splits.strategy(strategy)
    else:
        chosen_strategy = splits.register_split(strategy)
    if k is None:
        k = chosen_strategy.default_k
    chosen_strategy.check_k(k)
    return splits.split(interactions, chosen_strategy.id, k, seed, params)


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
        scores: The scores of every user and item, higher is better, -inf for what is never
            recommended, shape (users, items), dense, or sparse with 0 for what is not stored; or a
            fitted model with `score(users)`, as in `models.base.Recommender`.
        train: Nonzero where the user has the item in training: never a candidate; shape (users,
            items). A stored 0 is no interaction, and an item that is stored twice counts once.
        held_out: Nonzero where it is held out; users without any do not count; same shape. Metrics
            with gains take the values as ratings, the mean where an item is stored twice.
        cutoffs: List lengths; one above the number of items is a list that is not filled.
        names: Ids of metrics; by default all that cost little beside ranking.

    Returns:
        'ndcg@10' -> mean.

    Raises:
        InputError: For shapes that differ, nothing held out, a bad cut-off, an unknown name or a
            score that is NaN, +inf or no number.

    >>> import ecv_core as ecv
    >>> from scipy.sparse import csr_array
    >>> train = csr_array([[1, 0, 0]])
    >>> held_out = csr_array([[0, 0, 1]])
    >>> ecv.metrics([[9.0, 1.0, 2.0]], train, held_out, cutoffs=[1], names=["recall"])
    {'recall@1': 1.0}
    """
    train_counts = _cell_counts(train)
    held_out_counts = _cell_counts(held_out)
    if train_counts.shape != held_out_counts.shape:
        raise InputError(
            "train and held_out must have the same shape (users, items), but have "
            f"{train_counts.shape} and {held_out_counts.shape}"
        )
    model = AnyScores(scores, train_counts.shape)
    ratings = _mean_ratings(held_out, held_out_counts)
    # An array or a series is neither true nor false, as a list without anything in it is.
    if names is not None:
        names = list(names)
    result = evaluation.evaluate(
        model, train_counts, held_out_counts, list(cutoffs), ratings=ratings, metrics=names
    )
    return dict(result.means)


def _cell_counts(matrix: csr_array | csr_matrix) -> csr_array:
    """How often each cell that is not 0 is stored, in a copy that has each of these cells once."""
    counts = csr_array(matrix).astype(np.float64, copy=True)
    counts.eliminate_zeros()
    # A 1 and a -1 of one cell are two interactions, whose sum would be none.
    counts.data[:] = 1
    counts.sum_duplicates()
    return counts


def _mean_ratings(held_out: csr_array | csr_matrix, cell_counts: csr_array) -> csr_array:
    """The values of a matrix, stored where its `_cell_counts` are; of duplicates the mean."""
    ratings = csr_array(held_out).astype(np.float64, copy=True)
    ratings.eliminate_zeros()
    # SciPy adds up what is stored several times for a cell, so the sum is divided by how often.
    ratings.sum_duplicates()
    ratings.data /= cell_counts.data  # Both have the same cells in the same order.
    return ratings
