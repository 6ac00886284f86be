"""A fold as other code gets it: tables with the dataset's own ids."""

from __future__ import annotations

import csv
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecv_core import splits
from ecv_core.fold import data_of, fold_seed, folds_of
from ecv_core.records.arrays import Ids, Indices
from ecv_core.records.interactions import Part
from ecv_core.records.spec import RunSpec
from ecv_core.untrusted.files import replacing

if TYPE_CHECKING:
    import pandas as pd


class TrackedFold:
    """One fold of a tracked run. Its tables are made when they are first looked at."""

    def __init__(self, spec: RunSpec, index: int) -> None:
        """Fold `index` of a run.

        Raises:
            FoldsError: Where it has nothing to learn from, or nothing held out; DatasetError.
        """
        self.spec = spec
        self.index = index
        """Which fold it is, 0 .. k-1."""
        self.seed = fold_seed(spec.seed, index)
        """Of this fold's random choices, from the run's seed."""
        self.data = data_of(spec)
        self.parts = splits.usable_parts(self.data, folds_of(spec), index)
        """The Part of each interaction; shape (interactions,)."""

    @cached_property
    def matrices(self) -> splits.FoldMatrices:
        """The same as sparse matrices, users and items as codes."""
        return splits.fold_matrices(self.data, folds_of(self.spec), self.index)

    @cached_property
    def held_out_counts(self) -> Indices:
        """How many interactions of each user are held out; shape (users,)."""
        return np.bincount(self.data.users[self.parts == Part.TEST], minlength=self.data.n_users)

    @cached_property
    def train(self) -> pd.DataFrame:
        """What may be learnt from: `user_id`, `item_id`, and `rating` and `timestamp` where the
        dataset has them; ids as the dataset writes them, whole numbers where all of them are."""
        return self._table(Part.TRAIN)

    @cached_property
    def test(self) -> pd.DataFrame:
        """What is held out, with the columns of `train`."""
        return self._table(Part.TEST)

    @cached_property
    def validation(self) -> pd.DataFrame:
        """What the split sets aside from training, with the columns of `train`; mostly empty."""
        return self._table(Part.VALIDATION)

    def __repr__(self) -> str:
        counts = np.bincount(self.parts, minlength=len(Part))
        return (
            f"<fold {self.index} of {self.data.dataset}: {counts[Part.TRAIN]:,} interactions to "
            f"learn from, {counts[Part.TEST]:,} held out>"
        )

    def _table(self, part: Part) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(self.columns(part))

    def write(self, folder: Path) -> dict[str, Path]:
        """Write 'train' and 'test', and 'validation' where there is such a part, as CSV files.

        Returns:
            Their paths, absolute. Raises: OSError.
        """
        parts = {"train": Part.TRAIN, "test": Part.TEST}
        if (self.parts == Part.VALIDATION).any():
            parts["validation"] = Part.VALIDATION
        files = {}
        for name, part in parts.items():
            files[name] = folder.absolute() / f"fold-{self.index}-{name}.csv"
            _write_csv(files[name], self.columns(part))
        return files

    def columns(self, part: Part) -> dict[str, NDArray[Any]]:
        """The columns of a part by name, as `train` has them; each of shape (interactions,)."""
        data = self.data
        is_in_part = self.parts == part
        columns = {
            "user_id": _ids_as_written(data.user_ids)[data.users[is_in_part]],
            "item_id": _ids_as_written(data.item_ids)[data.items[is_in_part]],
        }
        if data.ratings is not None:
            columns["rating"] = data.ratings[is_in_part]
        if data.timestamps is not None:
            columns["timestamp"] = data.timestamps[is_in_part]
        return columns


def _write_csv(path: Path, columns: dict[str, NDArray[Any]]) -> None:
    values = []
    for column in columns.values():
        if column.dtype.kind == "f":
            # The csv module would write a rating in single precision with too many digits, so that
            # NumPy writes each distinct number here.
            numbers, codes = np.unique(column, return_inverse=True)
            column = numbers.astype(str).astype(object)[codes]
        values.append(column.tolist())
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(zip(*values, strict=True))


def _ids_as_written(ids: Ids) -> Ids | NDArray[np.int64]:
    """Ids as whole numbers where every one of them is written as one, else as text."""
    texts = ids.astype(object)
    try:
        numbers = ids.astype(np.int64)
    except (ValueError, OverflowError):
        return texts
    if (numbers.astype(ids.dtype) == ids).all():
        return numbers
    # Some id is written as no whole number is, such as '007'.
    return texts
