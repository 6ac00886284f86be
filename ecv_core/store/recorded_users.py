"""Scores of users, of all recorded runs of a folder <-> one Parquet file.

It has a row per run, fold and user, and a row group per run, so that one run's are read alone.
Scores are kept in 16 bits, about three digits: enough for the spread between and within users.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.arrays import Codes
from ecv_core.records.errors import InputError
from ecv_core.records.run import UserScores
from ecv_core.untrusted.files import change_stamp_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

LEVEL = 12
"""Of compression: a higher one takes seconds where a folder has many runs, and saves little."""


def names_with_users(path: Path) -> frozenset[str]:
    """The runs of which a file has users' scores; none where there is no file.

    Raises:
        InputError: If the file is damaged.
    """
    return _names_at_stamp(path, change_stamp_of(path))


@lru_cache(maxsize=64)
def _names_at_stamp(path: Path, stamp: tuple[int, ...]) -> frozenset[str]:
    """The names in a file, which is read again only when it has changed."""
    if not stamp:  # There is no file.
        return frozenset()
    with _users_file(path) as file:
        return frozenset(_row_groups(file))


def read_users(path: Path, name: str, metric: str) -> dict[int, UserScores]:
    """Fold -> per-user scores of a run.

    Args:
        path: The path of the file.
        name: The name of the run.
        metric: The run's own, which comes first of those that were kept.

    Returns:
        Empty where none were kept, or there is no file.

    Raises:
        InputError: If the file is damaged.
    """
    if not path.exists():
        return {}
    with _users_file(path) as file:
        group = _row_groups(file).get(name)
        if group is None:
            return {}
        columns = _columns_of(file, group)
        folds = columns.pop("fold")
        users = columns.pop("user")
        clusters = columns.pop("cluster", None)
    # What is left are scores, a column for each metric.
    metrics = list(columns)
    if metric in metrics:
        # `UserScores.metrics` begins with the metric of the run.
        metrics.remove(metric)
        metrics.insert(0, metric)
    values = np.stack([columns[name] for name in metrics], axis=1).astype(np.float32)
    scores = {}
    for fold in np.unique(folds):
        is_of_fold = folds == fold
        clusters_of_fold = None
        if clusters is not None:
            clusters_of_fold = clusters[is_of_fold]
        scores[int(fold)] = UserScores(
            users=users[is_of_fold],
            metrics=tuple(metrics),
            values=values[is_of_fold],
            clusters=clusters_of_fold,
        )
    return scores


def _columns_of(file: parquet.ParquetFile, group: int) -> dict[str, NDArray[Any]]:
    """The columns of a row group but its name, without those that its run has not kept."""
    names = [column for column in file.schema_arrow.names if column != "name"]
    table = file.read_row_group(group, columns=names)
    columns = {}
    for column in names:
        if table[column].null_count < len(table):
            columns[column] = table[column].to_numpy()
    return columns


@contextmanager
def _users_file(path: Path) -> Iterator[parquet.ParquetFile]:
    """A file of users' scores.

    Raises:
        InputError: If it is damaged, also as far as that shows while it is open.
    """
    from pyarrow import parquet

    with reading("the per-user scores", path), parquet.ParquetFile(path) as file:
        yield file


@contextmanager
def reading(what: str, path: Path) -> Iterator[None]:
    """While a recorded file is read.

    Args:
        what: It holds, for the sentence.
        path: The path of the file.

    Raises:
        InputError: If it cannot be read, or is no such file.
    """
    import pyarrow as pa

    try:
        yield
    except (OSError, LookupError, ValueError, TypeError, pa.ArrowException) as error:
        raise InputError(
            f"{what} {path} cannot be read ({type(error).__name__}); restore the file from the "
            "project, or record it again"
        ) from error


def _row_groups(file: parquet.ParquetFile) -> dict[str, int]:
    """The row group of each run, by its name.

    All rows of a group are of one run, so that the least of their names is the name of all.
    """
    groups = {}
    for group in range(file.num_row_groups):
        names = file.metadata.row_group(group).column(0).statistics
        if names is None or not names.has_min_max:
            raise ValueError("a row group does not name its run")
        groups[names.min] = group
    return groups


def users_table(
    name: str, scores: Mapping[int, UserScores], metrics: Sequence[str]
) -> pa.Table | None:
    """The rows of a run, with those of these metrics that every fold has; None without any.

    Args:
        name: The name of the run.
        scores: Fold -> its per-user scores.
        metrics: As in UserScores.metrics: 'ndcg@10'.
    """
    import pyarrow as pa

    indices = sorted(scores)
    folds = [scores[index] for index in indices]
    common_metrics = _metrics_of_all(folds, metrics)
    sizes = [len(fold.users) for fold in folds]
    rows = sum(sizes)
    if not common_metrics or rows == 0:
        return None
    fold_of_row = np.repeat(indices, sizes).astype(np.int16)
    user_of_row = np.concatenate([fold.users for fold in folds]).astype(np.int32)
    columns = {"name": np.full(rows, name), "fold": fold_of_row, "user": user_of_row}
    clusters = _clusters_of_all(folds)
    if clusters is not None:
        columns["cluster"] = clusters
    for metric in common_metrics:
        values = np.concatenate([fold.of(metric) for fold in folds])
        # Three digits are enough for the spread of users, and take half the room.
        columns[metric] = values.astype(np.float16)
    return pa.table(columns)


def _clusters_of_all(folds: Sequence[UserScores]) -> Codes | None:
    """The clusters of all users, fold after fold; None where a fold has none."""
    clusters = []
    for fold in folds:
        if fold.clusters is None:
            return None
        clusters.append(fold.clusters)
    return np.concatenate(clusters).astype(np.int32)


def _metrics_of_all(folds: Sequence[UserScores], metrics: Sequence[str]) -> list[str]:
    """Those of the metrics that every fold has, each once."""
    kept = []
    for metric in dict.fromkeys(metrics):
        if all(metric in fold.metrics for fold in folds):
            kept.append(metric)
    return kept


def write_users(old_file: Path, name: str, scores: pa.Table | None, new_file: Path) -> None:
    """Write the file anew: the other runs that have been in it, then this one.

    A metric that a run has not kept is null in all of its rows.

    Args:
        old_file: The file that has been there; there may be none.
        name: The name of the run.
        scores: The scores of the run, as of `users_table`.
        new_file: To write.

    Raises:
        InputError: If the file that has been there is damaged.
        OSError: If the new one cannot be written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([("name", pa.string()), ("fold", pa.int16()), ("user", pa.int32())])
    if old_file.exists():
        with _users_file(old_file) as file:
            schema = pa.unify_schemas([schema, file.schema_arrow])
    if scores is not None:
        schema = pa.unify_schemas([schema, scores.schema])
    few_values = [column for column in schema.names if column not in ("user", "cluster")]
    with parquet.ParquetWriter(
        new_file,
        schema,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=few_values,
        column_encoding={"user": "DELTA_BINARY_PACKED"},
    ) as writer:
        # Each run is a row group, so that it is read without the others.
        for table in _other_runs(old_file, name):
            writer.write_table(_with_columns(table, schema), row_group_size=len(table))
        if scores is not None:
            writer.write_table(_with_columns(scores, schema), row_group_size=len(scores))


def _other_runs(path: Path, name: str) -> Iterator[pa.Table]:
    """The rows of each run in a file but for the one of this name; none where there is no file."""
    if path.exists():
        with _users_file(path) as file:
            for other, group in _row_groups(file).items():
                if other != name:
                    yield file.read_row_group(group)


def _with_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with all columns of a schema, null where it has none."""
    import pyarrow as pa

    return pa.concat_tables([schema.empty_table(), table], promote_options="default")
