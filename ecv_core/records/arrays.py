"""Kinds of arrays that the stages hand to each other, by what their numbers mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Float32s = NDArray[np.float32]
AnyFloats = NDArray[np.floating]
"""Numbers of either precision, float32 or float64."""
AnyArray = NDArray[Any]
Mask = NDArray[np.bool_]
"""Which of several are meant."""
Codes = NDArray[np.int32]
"""Numbers from 0 that stand for users, items, baskets or clusters."""
Ids = NDArray[np.str_]
"""What files call users or items, by their codes."""
Indices = NDArray[np.intp]
"""Places in another array, such as rows of a matrix."""
Counts = NDArray[np.integer]
"""How many of something there are."""


def rows_of_entries(matrix: csr_array) -> Indices:
    """The row of each stored entry of a matrix, in their order."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
