"""Data and models in memory -> what runs name; datasets, their folds, and metrics of any scores."""

from __future__ import annotations

import copy
import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse

import ecv_core.dataset as on_disk
from ecv_core import evaluation, splits
from ecv_core.dataset.ready import for_task
from ecv_core.evaluation import Scorer
from ecv_core.evaluation.any_scores import AnyScores
from ecv_core.models import ALGORITHMS
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.errors import DatasetError, InputError
from ecv_core.records.interactions import Folds, Interactions
from ecv_core.records.parameters import ParamValue
from ecv_core.splits.strategies import Make

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from ecv_core.jobs.fold_tables import Handed
    from ecv_core.records.spec import RunSpec


ROLES = ("user_id", "item_id", "rating", "timestamp", "cluster")
_TEXTS = ("user_id", "item_id", "cluster")
_DATA = (
    "give a dataset's id, a pandas or polars frame, a scipy sparse matrix (users x items), a "
    "LensKit Dataset, or arrays (users, items[, ratings[, timestamps[, clusters]]])"
)


@dataclass(frozen=True, eq=False)
class Data:
    """Interactions that are in memory; welcome wherever a dataset is named."""

    frame: pd.DataFrame
    """`user_id` and `item_id`, and where they are known `rating`, `timestamp` and `cluster`."""

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        timestamp: str | None = None,
        cluster: str | None = None,
    ) -> Data:
        """A table, with the columns that cannot be recognised by their names.

        Args:
            frame: a pandas or polars frame.
            user, item, rating, timestamp: names of columns; what is not named is recognised, as
                'userId' is, and rating and timestamp may be missing.
            cluster: the column that says which users belong together, as a household does; by
                default none.
        Raises: InputError for what is no table, or a column that it does not have.
        """
        from ecv_core.dataset.own.recognise import roles_by_names

        table = _pandas(frame)
        names = [str(name) for name in table.columns]
        places = roles_by_names(names)
        for role, name in zip(ROLES, (user, item, rating, timestamp, cluster), strict=True):
            if name is not None and name not in names:
                raise InputError(f"the table has no column '{name}'; it has {_some(names)}")
            places |= {} if name is None else {role: names.index(name)}
        for role, option in (("user_id", "user"), ("item_id", "item")):
            if role not in places:
                raise InputError(
                    f"none of the columns {_some(names)} is recognised as the {option}; say which "
                    f"it is: ecv.Data.from_frame(table, {option}='...')"
                )
        if places["user_id"] == places["item_id"]:
            raise InputError(f"'{names[places['user_id']]}' is the user and the item; name both")
        there = [role for role in ROLES if role in places]
        return cls(table.iloc[:, [places[role] for role in there]].set_axis(there, axis=1))


def as_data(given: object) -> Data:
    """Anything that holds interactions. Raises: InputError for what does not."""
    import pandas as pd

    if isinstance(given, Data):
        return given
    if isinstance(given, Interactions):
        ids = given.user_ids[given.users], given.item_ids[given.items]
        known = zip(ROLES, (*ids, given.ratings, given.timestamps, given.clusters), strict=True)
        return Data(pd.DataFrame({role: one for role, one in known if one is not None}))
    if isinstance(given, pd.DataFrame) or hasattr(given, "to_pandas"):
        return Data.from_frame(given)
    if issparse(given):
        cells: Any = given
        cells = cells.tocoo()
        users, items = cells.coords if hasattr(cells, "coords") else (cells.row, cells.col)
        there = cells.data != 0
        values = cells.data[there]
        columns: dict[str, Any] = {"user_id": users[there], "item_id": items[there]}
        columns |= {} if (values == 1).all() else {"rating": values}
        return Data(pd.DataFrame(columns))
    if hasattr(given, "interaction_table"):  # LensKit's Dataset
        return Data.from_frame(given.interaction_table(format="pandas", original_ids=True))
    if isinstance(given, tuple | list) and 2 <= len(given) <= len(ROLES):
        arrays = [np.asarray(column) for column in given]
        if all(array.ndim == 1 and len(array) == len(arrays[0]) for array in arrays):
            return Data(pd.DataFrame(dict(zip(ROLES, arrays, strict=False))))
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise InputError(f"arrays of interactions have one shape (rows,), but have {shapes}")
    raise InputError(f"data of the type {type(given).__name__} cannot be used; {_DATA}")


def dataset_id(given: object) -> str:
    """The id by which a run names its data; what is in memory is held for this process.

    Args: given: an id; or as `as_data`.
    Raises: InputError, DatasetError for what cannot be used.
    """
    if isinstance(given, str):
        return given
    from ecv_core.dataset._catalogue import hold

    columns, interactions = _checked(as_data(given))
    digest = hashlib.sha256()
    for role, column in columns.items():
        digest.update(role.encode())
        for value in column.to_pylist() if role in _TEXTS else ():
            digest.update(f"{len(value)}:{value}".encode())
        if role not in _TEXTS:
            digest.update(column.to_numpy().tobytes())
    return hold(interactions, digest.hexdigest())


@kinds_checked
def add(given: object, name: str) -> str:
    """Keep data as a dataset of one's own, found under its name by every page and command.

    Args:
        given: as wherever a dataset is named; or the path of a file (CSV, JSON lines, Parquet,
            ZIP), which is recognised as on the page Data.
        name: letters, digits, - and _.
    Returns: the name.
    Raises: InputError, DatasetError with what is wrong with the name or the data.
    """
    from ecv_core.dataset.own import add_file

    def report(doing: str, done: int, total: int) -> None:
        """Nobody looks."""

    if isinstance(given, str | PathLike):
        add_file(name, Path(given), {}, report)
        return name
    import pyarrow as pa
    import pyarrow.parquet

    columns, _ = _checked(as_data(given))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name if name.isidentifier() else 'data'}.parquet"
        pyarrow.parquet.write_table(pa.table(columns), path)
        add_file(name, path, {role: role for role in columns}, report)
    return name


def _pandas(frame: object) -> pd.DataFrame:
    import pandas as pd

    table = frame if isinstance(frame, pd.DataFrame) else getattr(frame, "to_pandas", lambda: 0)()
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"data of the type {type(frame).__name__} cannot be used; {_DATA}")
    return table


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "") or "none"


def _checked(data: Data) -> tuple[dict[str, pa.Array], Interactions]:
    """As files have them. Raises: DatasetError with the first value that is none."""
    import pyarrow as pa

    from ecv_core.dataset.layout import Form, Layout, Unreadable
    from ecv_core.dataset.reading import strictly
    from ecv_core.dataset.rows import Batch

    if not len(data.frame):
        raise DatasetError("the data have no rows, so there is nothing to learn from; give some")
    columns = {}
    for role in data.frame.columns:
        text = role in _TEXTS
        values = _text(data.frame[role]) if text else _numbers(data.frame[role], role)
        kind = pa.string() if text else pa.float64()
        columns[role] = pa.array(values, type=kind, from_pandas=True)
    try:
        layout = Layout(form=Form.PARQUET, names=tuple(columns))
        return columns, strictly([Batch(columns=columns)], layout, "data in memory").interactions
    except Unreadable as error:
        raise DatasetError(f"the data cannot be used: {error}; drop or mend such rows") from error


def _text(ids: pd.Series[Any]) -> NDArray[np.object_]:
    """Ids as text, whole numbers without a point, as pandas has them where one is missing."""
    missing = ids.isna()
    if ids.dtype.kind == "f" and (ids[~missing] % 1 == 0).all():
        ids = ids.astype("Int64")
    texts = ids.astype(str).to_numpy(dtype=object)
    texts[missing.to_numpy()] = None
    return texts


def _numbers(values: pd.Series[Any], role: str) -> NDArray[np.float64]:
    """Ratings, or times as Unix seconds; what is no number is missing."""
    import pandas as pd

    if role == "timestamp" and not pd.api.types.is_numeric_dtype(values.dtype):
        times = pd.to_datetime(values, errors="coerce", utc=True)
        values = (times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(1, "s")
    return np.asarray(pd.to_numeric(values, errors="coerce"), dtype=np.float64)


# A model in memory -> what a fold of it gives.

_MODELS = (
    "give the id of an algorithm, or an object with fit(matrix) and score(users) -> users x items, "
    "or with fit(matrix) and recommend(users, matrix, N=...) as implicit's, a scorer or pipeline "
    "of LensKit, or a function of the training matrix that returns users x items"
)
Report = Callable[["RunSpec", "Handed"], object]
"""Computes a fold: what `Tracked.report` takes."""


def computing(model: object) -> Report:
    """How a model in memory computes a fold; each fold fits a copy of its own.

    Raises: InputError for what is no model.
    """
    if hasattr(model, "train") and type(model).__module__.startswith("lenskit"):
        return lambda spec, fold: _lenskit(model, spec, fold)
    fits = callable(getattr(model, "fit", None)) and not isinstance(model, type)
    if fits and callable(getattr(model, "recommend", None)):
        return lambda spec, fold: _recommends(copy.deepcopy(model), spec, fold)
    if fits and callable(getattr(model, "score", None)) and len(_names(model, "score")) == 1:
        return lambda spec, fold: _fit(copy.deepcopy(model), fold)
    if callable(model) and not isinstance(model, type) and not fits:
        return lambda spec, fold: model(fold.matrices.train)
    kind = type(model).__name__
    if isinstance(model, type):
        kind = f"type (the class {model.__name__}, not an object of it)"
    raise InputError(f"a model of the type {kind} cannot be used; {_MODELS}")


def name_of(model: object) -> str:
    """What it is called where nobody says otherwise."""
    return str(getattr(model, "__name__", type(model).__name__))


def _names(model: Any, method: str) -> Mapping[str, Any]:  # noqa: ANN401  any object
    return signature(getattr(model, method)).parameters


def _fit(model: Any, fold: Handed) -> Any:  # noqa: ANN401  any object
    named = _names(model, "fit")
    quiet = {"show_progress": False} if "show_progress" in named else {}
    seed = {"seed": fold.seed} if "seed" in named else {}
    model.fit(fold.matrices.train, **quiet, **seed)
    return model


def _recommends(model: Any, spec: RunSpec, fold: Handed) -> pd.DataFrame:  # noqa: ANN401
    import pandas as pd

    _fit(model, fold)
    matrix = fold.matrices.train
    users = np.unique(fold.matrices.held_out.nonzero()[0])
    longest = max(*spec.cutoffs, spec.n)
    items, scores = model.recommend(users, matrix[users], N=longest)
    real = np.asarray(items).ravel() >= 0
    return pd.DataFrame(
        {
            "user_id": fold.data.user_ids[np.repeat(users, np.shape(items)[1])][real],
            "item_id": fold.data.item_ids[np.where(real, np.asarray(items).ravel(), 0)][real],
            "score": np.asarray(scores).ravel()[real],
        }
    )


def _lenskit(model: Any, spec: RunSpec, fold: Handed) -> pd.DataFrame:  # noqa: ANN401
    from lenskit.batch import recommend
    from lenskit.data import from_interactions_df
    from lenskit.pipeline import Pipeline, topn_pipeline

    longest = max(*spec.cutoffs, spec.n)
    if isinstance(model, Pipeline):
        pipeline = model.clone()
    else:
        pipeline = topn_pipeline(copy.deepcopy(model), n=longest)
    pipeline.train(from_interactions_df(fold.train))
    return recommend(pipeline, fold.test.user_id.unique(), n=longest, n_jobs=1).to_df()


# Datasets, their folds, and the metrics of any model's scores.


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
    return for_task(entry, entry.tasks[0])


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
        scores: of every user and item, higher is better, -inf for what is never recommended, shape
            (users, items), dense, or sparse with 0 for what is not stored; or a fitted model with
            `score(users)`, as in `models.base.Recommender`.
        train: nonzero where the user has the item in training: never a candidate; shape (users,
            items). A stored 0 is no interaction, and an item that is stored twice counts once.
        held_out: nonzero where it is held out; users without any do not count; same shape.
        cutoffs: list lengths; one above the number of items is a list that is not filled.
        names: ids of metrics; by default all that cost little beside ranking.
    Returns: 'ndcg@10' -> mean.
    Raises: InputError for shapes that differ, nothing held out, a bad cut-off, an unknown name
        or a score that is NaN, +inf or no number.
    """
    train = _canonical(train)
    held_out = _canonical(held_out)
    if train.shape != held_out.shape:
        raise InputError(
            "train and held_out must have the same shape (users, items), but have "
            f"{train.shape} and {held_out.shape}"
        )
    model = AnyScores(scores, train.shape)
    found = evaluation.evaluate(model, train, held_out, cutoffs, metrics=names)
    return dict(found.means)


def _canonical(matrix: csr_array | csr_matrix) -> csr_array:
    """A copy in which every cell is stored once, and none that is 0."""
    canonical = csr_array(matrix).astype(np.float64, copy=True)
    canonical.sum_duplicates()
    canonical.eliminate_zeros()
    return canonical
