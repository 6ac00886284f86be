"""Per-user scores of a whole run <-> one small Parquet file, for later analyses of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ecv_core.errors import InputError
from ecv_core.files import replacing
from ecv_core.records import UserScores


def write_user_scores(scores: Mapping[int, UserScores], metrics: Sequence[str], path: Path) -> None:
    """Write some metrics' scores of every fold, as a whole or not at all.

    Scores are kept in 16 bits, about three digits: enough for the spread between and within users,
    and a fold's mean is recorded elsewhere.

    Args:
        scores: fold -> its per-user scores.
        metrics: at least one, as in UserScores.metrics: 'ndcg@10'.
        path: its folder is made if need be.
    Raises: OSError if it cannot be written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    folds = sorted(scores)
    sizes = [len(scores[fold].users) for fold in folds]
    table = pa.table(
        {
            "fold": np.repeat(np.array(folds, dtype=np.int16), sizes),
            "user": np.concatenate([scores[fold].users for fold in folds]).astype(np.int32),
        }
        | {
            metric: np.concatenate([scores[fold].of(metric) for fold in folds]).astype(np.float16)
            for metric in metrics
        }
    )
    with replacing(path) as part:
        parquet.write_table(
            table,
            part,
            compression="zstd",
            compression_level=19,
            use_dictionary=["fold", *metrics],
            column_encoding={"user": "DELTA_BINARY_PACKED"},
        )


def read_user_scores(path: Path) -> dict[int, UserScores]:
    """What `write_user_scores` wrote; empty where there is no such file.

    Raises: InputError for a file that is no such table.
    """
    import pyarrow as pa
    from pyarrow import parquet

    if not path.exists():
        return {}
    try:
        table = parquet.read_table(path)
        fold, user = (table[name].to_numpy() for name in ("fold", "user"))
        metrics = tuple(name for name in table.column_names if name not in ("fold", "user"))
        columns = [table[metric].to_numpy().astype(np.float32) for metric in metrics]
        values = np.stack(columns, axis=1)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise InputError(
            f"the per-user scores {path.name} cannot be read ({type(error).__name__}); restore the "
            "file from the project, or record the run again"
        ) from error
    return {
        int(one): UserScores(users=user[fold == one], metrics=metrics, values=values[fold == one])
        for one in np.unique(fold)
    }
