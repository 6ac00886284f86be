"""A dataset entry or a frame -> a table of samples, and what is to be told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ecv_core.dataset.entries import DatasetEntry
from ecv_core.dataset.sources import Source
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import Table
from ecv_core.records.tasks import Task

if TYPE_CHECKING:
    import pandas as pd

MOST_CATEGORIES = 50
"""A column of texts with more of them is no feature."""
FEW_NUMBERS = 20
"""A column of at most so many whole numbers are classes, of more they are numbers to predict."""


def read_table(source: Source) -> Table:
    """The samples of a dataset. Raises: DatasetError if they cannot serve."""
    dataset = source.dataset
    if source.file is None:
        return _scikit_learn_table(dataset)
    import pandas as pd

    return table_of(dataset.id, pd.read_parquet(source.file.path), dataset.target)


def _scikit_learn_table(dataset: DatasetEntry) -> Table:
    """A table that comes with scikit-learn, or is made by it."""
    import sklearn.datasets

    bunch: Any = getattr(sklearn.datasets, dataset.loader)(**dict(dataset.loader_options))
    if isinstance(bunch, tuple):
        # Functions that make data, such as make_friedman1, give features and targets alone.
        features, targets = bunch
    else:
        features = bunch.data
        targets = bunch.target
    classes = None
    if dataset.classes is not None:
        classes = np.array([str(name) for name in bunch.target_names])
    numbers = np.asarray(features, np.float64)
    return Table.of(dataset.id, numbers, targets, classes, dataset.target)


def task_of(frame: pd.DataFrame, target: str) -> Task:
    """What is to be done with a column: few values or texts are classes, others numbers.

    Raises:
        DatasetError: Where it can be neither.
    """
    values = frame[target]
    missing_count = int(values.isna().sum())
    if missing_count:
        row = int(np.flatnonzero(values.isna())[0]) + 1
        raise DatasetError(
            f"the target '{target}' has no value in {missing_count:,} of {len(frame):,} rows (row "
            f"{row} is the first); 'none' and 'na' count as missing: rename such a class, leave "
            "these rows out, or choose another target"
        )
    if values.nunique() < 2:
        raise DatasetError(
            f"the target '{target}' has the same value in every row, so there is nothing to learn; "
            "choose another column"
        )
    if _is_number_to_predict(values):
        is_finite = np.isfinite(values.to_numpy(np.float64))
        if not is_finite.all():
            row = int(np.argmin(is_finite))
            raise DatasetError(
                f"the target '{target}' has the value {values.iloc[row]} in row {row + 1}, which "
                "is not a finite number; leave such rows out, or choose another target"
            )
        return Task.NUMBERS
    _check_classes(values, target)
    return Task.CLASSES


def _is_number_to_predict(values: pd.Series) -> bool:
    """Whether a column is of numbers, and not of a few whole ones, which are classes."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if not is_numeric_dtype(values) or is_bool_dtype(values):
        return False
    return values.nunique() > FEW_NUMBERS or bool((values % 1 != 0).any())


def _check_classes(values: pd.Series, target: str) -> None:
    """Refuse classes that cannot be learnt and held out. Raises: DatasetError."""
    counts = values.value_counts()
    if counts.iloc[-1] < 2 or len(counts) > len(values) / 2:
        raise DatasetError(
            f"the target '{target}' has {len(counts):,} classes in {len(values):,} rows, and "
            f"'{counts.index[-1]}' only once, so this class cannot be both learnt and held out; "
            "choose another column, or leave such rows out"
        )


def table_of(name: str, frame: pd.DataFrame, target: str) -> Table:
    """A frame as samples: numbers as they are, each text of a column as a feature of its own.

    Args:
        name: The name of the dataset.
        frame: A column for each feature, and the target.
        target: The name of the column that is to be told.

    Raises:
        DatasetError: Where nothing is left to learn from, or the target cannot serve.
    """
    task = task_of(frame, target)
    features = _features(frame.drop(columns=target))
    if not features.shape[1]:
        raise DatasetError(
            f"no column but the target '{target}' can be learnt from: the others have more than "
            f"{MOST_CATEGORIES} different texts, or only one value; add a column of numbers"
        )
    if task is Task.NUMBERS:
        numbers = frame[target].to_numpy(np.float64)
        return Table.of(name, features, numbers, None, target)
    texts = frame[target].astype(str).to_numpy(np.str_)
    classes, codes = np.unique(texts, return_inverse=True)
    return Table.of(name, features, codes, classes, target)


def left_out_columns(frame: pd.DataFrame) -> dict[str, str]:
    """The columns that cannot be learnt from, and why.

    Args:
        frame: A column for each feature.

    Returns:
        Column -> the reason. Texts of more than MOST_CATEGORIES kinds are ids and names.
    """
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    reasons = {}
    for name, column in frame.items():
        has_numbers = is_numeric_dtype(column)
        if has_numbers:  # an infinite one counts as missing
            column = pd.Series(_finite_numbers(column))
        distinct_count = column.nunique()
        if distinct_count == 0:
            reasons[str(name)] = "it has no value"
        elif distinct_count == 1:
            reasons[str(name)] = "it has only one value"
        elif distinct_count > MOST_CATEGORIES and not has_numbers:
            reasons[str(name)] = (
                f"it has {distinct_count:,} different texts, more than {MOST_CATEGORIES}"
            )
    return reasons


def _finite_numbers(column: pd.Series) -> Floats:
    """The numbers of a column, NaN where one is missing or infinite; shape (rows,)."""
    numbers = column.to_numpy(np.float64, na_value=np.nan)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _features(frame: pd.DataFrame) -> Floats:
    """The columns that can be learnt from, as numbers; shape (rows, features), NaN where missing.

    Texts become a column of 0 and 1 for each; an infinite number counts as missing.
    """
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    features = [np.empty((len(frame), 0))]
    left_out = left_out_columns(frame)
    for name, column in frame.items():
        if str(name) in left_out:
            continue
        if is_numeric_dtype(column):
            # The numbers become one column of a matrix.
            features.append(_finite_numbers(column)[:, None])
        else:
            features.append(pd.get_dummies(column.astype("string")).to_numpy(np.float64))
    return np.hstack(features)
