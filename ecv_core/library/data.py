"""Data in memory -> a dataset that runs can name."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, issparse

from ecv_core.records.arguments import kinds_checked
from ecv_core.records.errors import DatasetError, InputError
from ecv_core.records.interactions import Interactions

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


ROLES = ("user_id", "item_id", "rating", "timestamp", "cluster")
_TEXTS = ("user_id", "item_id", "cluster")
_TELLING_ROWS = 100
"""Of a frame, beside the names of its columns, for what the columns are."""
_DATA = (
    "give a dataset's id, a pandas or polars frame, a matrix (users x items), sparse or dense, a "
    "LensKit Dataset, or arrays (users, items[, ratings[, timestamps[, clusters]]])"
)


@dataclass(frozen=True, eq=False)
class Data:
    """Interactions that are in memory; welcome wherever a dataset is named.

    >>> import pandas as pd
    >>> import ecv_core as ecv
    >>> table = pd.DataFrame({"customer": [1, 2], "sku": ["a", "b"]})
    >>> ecv.Data.from_frame(table, user="customer", item="sku").frame.columns.tolist()
    ['user_id', 'item_id']
    """

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
            frame: A pandas or polars frame, lazy or not.
            user, item, rating, timestamp: names of columns; what is not named is recognised, as
                'userId' is, and rating and timestamp may be missing.
            cluster: The column that says which users belong together, as a household does; by
                default none.

        Raises:
            InputError: For what is no table, or a column that it does not have.
        """
        from ecv_core.dataset.own.roles import roles_by_names

        table = _as_pandas(frame)
        if table is None:
            raise InputError(f"data of the type {type(frame).__name__} cannot be used; {_DATA}")
        names = list(map(str, table.columns))
        named_columns = dict(zip(ROLES, (user, item, rating, timestamp, cluster), strict=True))
        first_rows = table.head(_TELLING_ROWS).astype(str).to_numpy().tolist()
        # Role -> place of its column in the table: as recognised, unless the caller has named it.
        place_of_role = roles_by_names(names, first_rows)
        for role, name in named_columns.items():
            if name is not None:
                place_of_role[role] = _place_of_column(name, names)
        for role, option in (("user_id", "user"), ("item_id", "item")):
            if role not in place_of_role:
                raise InputError(
                    f"none of the columns {_first_names(names)} is recognised as the {option}; say "
                    f"which it is: ecv.Data.from_frame(table, {option}='...')"
                )
        user_place = place_of_role["user_id"]
        if user_place == place_of_role["item_id"]:
            raise InputError(f"'{names[user_place]}' is the user and the item; name both")
        roles = [role for role in ROLES if role in place_of_role]
        columns = table.iloc[:, [place_of_role[role] for role in roles]]
        return cls(columns.set_axis(roles, axis=1))


def _place_of_column(name: str, names: Sequence[str]) -> int:
    """Raises: InputError for a column that the table does not have."""
    if name not in names:
        raise InputError(f"the table has no column '{name}'; it has {_first_names(names)}")
    return names.index(name)


def as_data(source: object) -> Data:
    """Anything that holds interactions. Raises: InputError for what does not."""
    if isinstance(source, Data):
        return source
    if isinstance(source, Interactions):
        return _from_interactions(source)
    frame = _as_pandas(source)
    if frame is not None:
        return Data.from_frame(frame)
    if issparse(source):
        return _from_matrix(source)
    if _is_dense_matrix(source):
        # In a dense matrix NaN means, as 0 does, that there is no interaction.
        return _from_matrix(np.nan_to_num(source))
    if hasattr(source, "interaction_table"):
        # This is a Dataset of LensKit.
        return Data.from_frame(source.interaction_table(format="pandas", original_ids=True))
    if isinstance(source, tuple | list) and 2 <= len(source) <= len(ROLES):
        return _from_arrays(source)
    raise InputError(f"data of the type {type(source).__name__} cannot be used; {_DATA}")


def _as_pandas(source: Any) -> pd.DataFrame | None:  # noqa: ANN401  any object
    """A frame of pandas, or of a library whose frames can become one; None for anything else."""
    import pandas as pd

    # A lazy frame of polars has no `to_pandas` before it is computed.
    if hasattr(source, "collect_schema") and not hasattr(source, "to_pandas"):
        source = source.collect()
    if hasattr(source, "to_pandas"):
        source = source.to_pandas()
    if isinstance(source, pd.DataFrame):
        return source
    return None


def _is_dense_matrix(source: object) -> TypeGuard[NDArray[Any]]:
    """Whether it is an array of numbers with rows and columns."""
    if not isinstance(source, np.ndarray):
        return False
    return source.ndim == 2 and source.dtype.kind in "biuf"


def _from_interactions(interactions: Interactions) -> Data:
    """Interactions with their ids, and what else is known of each."""
    import pandas as pd

    columns = {
        "user_id": interactions.user_ids[interactions.users],
        "item_id": interactions.item_ids[interactions.items],
        "rating": interactions.ratings,
        "timestamp": interactions.moments,
        "cluster": interactions.clusters,
    }
    present_columns = {role: values for role, values in columns.items() if values is not None}
    return Data(pd.DataFrame(present_columns))


def _from_matrix(matrix: Any) -> Data:  # noqa: ANN401  any matrix
    """The cells of a matrix (users x items) that are not 0; other values than 1 are ratings."""
    import pandas as pd

    cells = coo_array(matrix)
    users, items = cells.coords
    is_interaction = cells.data != 0  # A sparse matrix may store zeros.
    columns = {"user_id": users[is_interaction], "item_id": items[is_interaction]}
    values = cells.data[is_interaction]
    if (values != 1).any():  # A matrix of ones has no ratings.
        columns["rating"] = values
    return Data(pd.DataFrame(columns))


def _from_arrays(source: Sequence[object]) -> Data:
    """Arrays of one length in the order of ROLES."""
    import pandas as pd

    arrays = [np.asarray(column) for column in source]
    if all(array.ndim == 1 and len(array) == len(arrays[0]) for array in arrays):
        return Data(pd.DataFrame(dict(zip(ROLES, arrays, strict=False))))
    shapes = ", ".join(str(array.shape) for array in arrays)
    raise InputError(f"arrays of interactions have one shape (rows,), but have {shapes}")


def dataset_id(data: object) -> str:
    """The id by which a run names its data; what is in memory is held for this process.

    Args:
        data: An id; or as `as_data` takes it.

    Raises:
        InputError, DatasetError: for what cannot be used.
    """
    if isinstance(data, str):
        return data
    from ecv_core.dataset.entries import register_in_memory

    columns, interactions = _columns_and_interactions(as_data(data))
    digest = hashlib.sha256()
    for role, column in columns.items():
        digest.update(role.encode())
        if role in _TEXTS:
            for value in column.to_pylist():
                # With its length before each text 'ab' and 'c' differ from 'a' and 'bc'.
                digest.update(f"{len(value)}:{value}".encode())
        else:
            digest.update(column.to_numpy().tobytes())
    # The id is known to this process alone, which has the data.
    return register_in_memory(interactions, digest.hexdigest())


@kinds_checked
def add(given: object, name: str) -> str:
    """Keep data as a dataset of one's own, found under its name by every page and command.

    Args:
        given: As wherever a dataset is named; or the path of a file (CSV, JSON lines, Parquet,
            ZIP), which is recognised as on the page Data.
        name: Letters, digits, - and _.

    Returns:
        The name.

    Raises:
        InputError, DatasetError: With what is wrong with the name or the data.
    """
    from ecv_core.dataset.own import add_file
    from ecv_core.dataset.plain import no_report

    if isinstance(given, str | PathLike):
        add_file(name, Path(given), {}, no_report)
        return name
    import pyarrow as pa
    import pyarrow.parquet

    columns, _ = _columns_and_interactions(as_data(given))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.parquet"
        pyarrow.parquet.write_table(pa.table(columns), path)
        column_of_role = {role: role for role in columns}
        add_file(name, path, column_of_role, no_report)
    return name


def _first_names(names: Sequence[str]) -> str:
    """The first eight names, for a message."""
    if not names:
        return "none"
    text = ", ".join(map(repr, names[:8]))
    if len(names) > 8:
        text += ", ..."
    return text


def _columns_and_interactions(data: Data) -> tuple[dict[str, pa.Array], Interactions]:
    """As files have them. Raises: DatasetError with the first value that is none."""
    import pyarrow as pa

    from ecv_core.dataset.layout import Form, Layout, Unreadable
    from ecv_core.dataset.reading import read_strictly
    from ecv_core.dataset.rows import Batch

    if not len(data.frame):
        raise DatasetError("the data have no rows, so there is nothing to learn from; give some")
    columns = {}
    for role in data.frame.columns:
        if role in _TEXTS:
            texts = _text(data.frame[role])
            columns[role] = pa.array(texts, type=pa.string(), from_pandas=True)
        else:
            numbers = _numbers(data.frame[role], role)
            columns[role] = pa.array(numbers, type=pa.float64(), from_pandas=True)
    try:
        layout = Layout(form=Form.PARQUET, names=tuple(columns))
        content = read_strictly([Batch(columns=columns)], layout, "data in memory")
    except Unreadable as error:
        raise DatasetError(f"the data cannot be used: {error}; drop or mend such rows") from error
    return columns, content.interactions


def _text(ids: pd.Series[Any]) -> NDArray[np.object_]:
    """Ids as text, whole numbers without a point, as pandas has them where one is missing."""
    missing = ids.isna()
    # If one of them is missing, pandas has whole numbers as floats: 7 would become '7.0'.
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
