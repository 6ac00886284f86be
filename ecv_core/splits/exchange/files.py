"""Released folds travel: a CSV of `user_id,item_id,fold` into folds, and back."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ecv_core.disarming import disarmed
from ecv_core.errors import FoldsError
from ecv_core.records import Folds, Interactions
from ecv_core.records.codec import shown
from ecv_core.splits.exchange.parsing import content_of, mismatch, pairs_of, parse
from ecv_core.splits.exchange.storage import write_bytes
from ecv_core.splits.k_fold import MAX_K

if TYPE_CHECKING:
    import pyarrow as pa

IMPORTED = "imported"
"""The strategy of folds that were read from a file."""
COLUMNS = ("user_id", "item_id", "fold")


def read_folds(source: Path | bytes, interactions: Interactions) -> Folds:
    """Folds from a file that gives every interaction exactly one fold, numbered from 0.

    Args:
        source: a CSV or gzipped CSV, as a path or as its content; rows in any order, further
            columns are ignored.
        interactions: the prepared dataset that the folds are of.
    Returns: strategy 'imported', seed None, k = highest fold + 1.
    Raises: FoldsError if the file cannot be read, lacks a column, misses or repeats an interaction,
        names one that is not there, or has an odd fold number, an empty fold, or only one fold.
    """
    name = f"the fold file {source.name}" if isinstance(source, Path) else "the fold file"
    table = parse(content_of(source, name), name, COLUMNS)
    fold = _fold_numbers(table["fold"], name)
    given, wanted = pairs_of(table, name, interactions)
    if not np.array_equal(given.sorted, wanted.sorted):
        raise FoldsError(f"{name} {mismatch(given, wanted, interactions)}")
    assignment = np.empty(len(interactions), dtype=np.int16)
    assignment[wanted.order] = fold[given.order]

    sizes = np.bincount(assignment)
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        raise FoldsError(
            f"{name} has folds up to {len(sizes) - 1}, but {len(empty)} of them hold nothing, e.g. "
            f"fold {empty[0]}; number the folds from 0 without gaps"
        )
    if len(sizes) < 2:
        raise FoldsError(f"{name} has only fold 0; at least 2 folds are needed")
    return Folds(strategy=IMPORTED, k=len(sizes), seed=None, assignment=assignment)


def folds_csv(interactions: Interactions, folds: Folds) -> bytes:
    """The folds as CSV text in UTF-8, one row per interaction in the order of the interactions.

    Raises: FoldsError if they are no folds in which every interaction is held out exactly once.
    """
    import pyarrow as pa

    if not deals(folds) or folds.assignment is None:
        raise FoldsError(
            f"the split '{folds.strategy}' does not hold every interaction out exactly once, so "
            "it cannot be one CSV of user_id,item_id,fold; export it as a ZIP archive"
        )
    if len(folds.assignment) != len(interactions):
        raise FoldsError(
            f"these folds assign {len(folds.assignment)} interactions, but {interactions.dataset} "
            f"has {len(interactions)}; make the folds from this dataset again"
        )
    every = np.arange(len(interactions))
    columns = disarmed_ids(interactions, every)
    return csv_text(columns | {"fold": pa.array(folds.assignment)})


def deals(folds: Folds) -> bool:
    """Whether every interaction is held out in exactly one fold and learnt from in the others."""
    return folds.draw is None and folds.assignment is not None and bool(folds.assignment.min() >= 0)


def id_columns(interactions: Interactions, rows: NDArray[np.intp]) -> dict[str, pa.Array]:
    """The user and item ids of these interactions, as columns of a table."""
    import pyarrow as pa

    users, items = pa.array(interactions.users[rows]), pa.array(interactions.items[rows])
    return {
        "user_id": pa.array(interactions.user_ids).take(users),
        "item_id": pa.array(interactions.item_ids).take(items),
    }


def disarmed_ids(interactions: Interactions, rows: NDArray[np.intp]) -> dict[str, pa.Array]:
    """As `id_columns`, for a file that a spreadsheet may open; reading it undoes that."""
    return {name: disarmed(ids) for name, ids in id_columns(interactions, rows).items()}


def csv_text(columns: dict[str, pa.Array], delimiter: str = ",") -> bytes:
    """Columns as delimited text in UTF-8 under a line with their names."""
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table(columns)
    text = b""
    for quoting in ("none", "needed"):  # Arrow's "needed" quotes all text, so try without first
        out = io.BytesIO()
        try:
            csv.write_csv(
                table,
                out,
                csv.WriteOptions(include_header=False, quoting_style=quoting, delimiter=delimiter),
            )
        except pa.ArrowInvalid:
            continue
        text = out.getvalue()
        break
    return delimiter.join(columns).encode() + b"\n" + text


def write_folds(path: Path, interactions: Interactions, folds: Folds) -> None:
    """Write the folds as CSV, gzipped where the name ends in .gz; never leaves half a file.

    The same folds give the same bytes. Raises: FoldsError if the file cannot be written.
    """
    content = folds_csv(interactions, folds)
    if path.suffix == ".gz":
        content = gzip.compress(content, compresslevel=6, mtime=0)
    write_bytes(path, content)


def _fold_numbers(column: pa.ChunkedArray, name: str) -> NDArray[np.int16]:
    """The fold of each row; shape (rows,)."""
    import pyarrow as pa
    from pyarrow import compute

    whole = compute.match_substring_regex(column, r"^\d{1,9}$")
    bad = column.filter(compute.invert(whole))
    if not len(bad):
        numbers = np.asarray(column.cast(pa.int32()))
        bad = column.filter(pa.array(numbers >= MAX_K))
    if len(bad):
        raise FoldsError(
            f"{name} has {len(bad)} rows whose fold is not a whole number below {MAX_K}, e.g. "
            f"'{shown(bad[0])}'; number the folds 0, 1, 2, ..."
        )
    return numbers.astype(np.int16)
