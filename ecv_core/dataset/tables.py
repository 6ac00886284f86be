"""Dataset id -> a table of samples: one that comes with scikit-learn, or one's own file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ecv_core.dataset._catalogue import DatasetEntry, find
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Table
from ecv_core.records.tasks import Task

if TYPE_CHECKING:
    import pandas as pd

MOST_CATEGORIES = 50
"""A column of texts with more of them is no feature."""
FEW_NUMBERS = 20
"""A column of at most so many whole numbers are classes, of more they are numbers to predict."""


def read_table(known: DatasetEntry) -> Table:
    """The samples of a dataset. Raises: DatasetError if it is not on disk, or cannot serve."""
    if known.generated:
        import sklearn.datasets

        made: Any = getattr(sklearn.datasets, known.loader)(**dict(known.loader_options))
        features, targets = made if isinstance(made, tuple) else (made.data, made.target)
        classes = None
        if known.classes is not None:
            classes = np.array([str(name) for name in made.target_names])
        return Table.of(known.id, np.asarray(features, np.float64), targets, classes, known.target)
    import pandas as pd

    return table_of(known.id, pd.read_parquet(find(known)[0]), known.target)


def task_of(frame: pd.DataFrame, target: str) -> Task:
    """What is to be done with a column: few values or texts are classes, others numbers.

    Raises: DatasetError where it can be neither.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    values = frame[target]
    if missing := int(values.isna().sum()):
        row = int(np.flatnonzero(values.isna())[0]) + 1
        raise DatasetError(
            f"the target '{target}' has no value in {missing:,} of {len(frame):,} rows (row {row} "
            "is the first); 'none' and 'na' are no values: write such a class in another word, "
            "leave these rows out, or choose another target"
        )
    kinds = values.nunique()
    if kinds < 2:
        raise DatasetError(
            f"the target '{target}' has the same value in every row, so there is nothing to learn; "
            "choose another column"
        )
    number = is_numeric_dtype(values) and not is_bool_dtype(values)
    if number and not (kinds <= FEW_NUMBERS and (values % 1 == 0).all()):
        if not np.isfinite(values).all():
            raise DatasetError(f"the target '{target}' has a value that is no finite number")
        return Task.NUMBERS
    rarest = values.value_counts()
    if rarest.iloc[-1] < 2 or kinds > len(frame) / 2:
        raise DatasetError(
            f"the target '{target}' has {kinds:,} classes in {len(frame):,} rows, and "
            f"'{rarest.index[-1]}' only once, so that it cannot be learnt and held out; choose "
            "another column, or leave such rows out"
        )
    return Task.CLASSES


def table_of(dataset: str, frame: pd.DataFrame, target: str) -> Table:
    """A frame as samples: numbers as they are, each text of a column as a feature of its own.

    Raises: DatasetError where nothing is left to learn from, or the target cannot serve.
    """
    task = task_of(frame, target)
    features = features_of(frame.drop(columns=target))
    if not features.shape[1]:
        raise DatasetError(
            f"beside the target '{target}' no column can be learnt from: they hold texts of more "
            f"than {MOST_CATEGORIES} kinds, or one value alone; add a column of numbers"
        )
    if task is Task.NUMBERS:
        numbers = frame[target].to_numpy(np.float64)
        return Table.of(dataset, features, numbers, None, target)
    classes, codes = np.unique(frame[target].astype(str).to_numpy(np.str_), return_inverse=True)
    return Table.of(dataset, features, codes, classes, target)


def features_of(frame: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The columns that can be learnt from, as numbers; shape (rows, features), NaN where missing.

    Texts become a column of 0 and 1 for each; left out are texts of more than MOST_CATEGORIES
    kinds, as ids and names are, and columns with a single value.
    """
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    parts = []
    for _, column in frame.items():
        if column.nunique() < 2:
            continue
        if is_numeric_dtype(column):
            numbers = column.to_numpy(np.float64, na_value=np.nan)
            parts.append(np.where(np.isfinite(numbers), numbers, np.nan)[:, None])
        elif column.nunique() <= MOST_CATEGORIES:
            parts.append(pd.get_dummies(column.astype("string")).to_numpy(np.float64))
    return np.hstack(parts) if parts else np.empty((len(frame), 0))
