"""A fold as other code gets it: tables with the dataset's own ids."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecv_core import splits
from ecv_core.fold import data_of, fold_seed, folds_of
from ecv_core.records.interactions import Interactions, Part
from ecv_core.records.spec import RunSpec

if TYPE_CHECKING:
    import pandas as pd


class Handed:
    """One fold of a tracked run. Its tables are made when they are first looked at."""

    def __init__(self, spec: RunSpec, index: int) -> None:
        """Fold `index` of a run.

        Raises: FoldsError where it has nothing to learn from, or nothing held out; DatasetError.
        """
        self.index = index
        """Which fold it is, 0 .. k-1."""
        self.seed = fold_seed(spec.seed, index)
        """Of this fold's random choices, from the run's seed."""
        self.data: Interactions = data_of(spec)
        self.parts: NDArray[np.int8] = splits.usable_parts(self.data, folds_of(spec), index)
        self._spec = spec

    @cached_property
    def matrices(self) -> splits.FoldMatrices:
        """The same as sparse matrices, users and items as codes."""
        return splits.fold_matrices(self.data, folds_of(self._spec), self.index)

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

    def columns(self, part: Part) -> dict[str, NDArray[Any]]:
        """The columns of a part by name, as `train` has them; each of shape (interactions,)."""
        data, chosen = self.data, self.parts == part
        columns: dict[str, NDArray[Any]] = {
            "user_id": as_given(data.user_ids)[data.users[chosen]],
            "item_id": as_given(data.item_ids)[data.items[chosen]],
        }
        for name, values in (("rating", data.ratings), ("timestamp", data.timestamps)):
            if values is not None:
                columns[name] = values[chosen]
        return columns


def as_given(ids: NDArray[np.str_]) -> NDArray[np.str_] | NDArray[np.int64]:
    """Ids as whole numbers where every one of them is written as one, else as text."""
    try:
        numbers = ids.astype(np.int64)
    except (ValueError, OverflowError):
        return ids.astype(object)
    return numbers if (numbers.astype(ids.dtype) == ids).all() else ids.astype(object)
