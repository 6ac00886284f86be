"""What one fold's evaluation works on, gathered once: users, parts, candidates, what to compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.evaluation.metrics import METRICS, Kind
from ecv_core.evaluation.novelty import Popularity
from ecv_core.evaluation.protocol import Protocol

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]
Columns = dict[str, Floats]
"""Metric -> its values: (users, cutoffs) with a cut-off, (users,) without, (cutoffs,) of lists."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """One fold under one protocol; matrices have shape (users, items)."""

    score: Callable[[NDArray[np.intp]], torch.Tensor]
    seen: csr_array
    held_out: csr_array
    users: NDArray[np.intp]
    """Rows with something held out, ascending; shape (evaluated users,)."""
    cutoffs: tuple[int, ...]
    """Ascending."""
    candidates: NDArray[np.bool_]
    """Which items may be recommended; shape (items,)."""
    popularity: Popularity
    protocol: Protocol
    metrics: tuple[str, ...]
    report: Callable[[int], None]
    """Called with the number of users that are done."""

    def of_kind(self, kind: Kind) -> list[str]:
        """The metrics of this kind that are to be computed."""
        return [name for name in self.metrics if METRICS[name].kind is kind]
