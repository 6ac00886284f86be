"""Kinds of arrays that the stages hand to each other, by what their numbers mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
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
