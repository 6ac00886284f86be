"""How a fold is ranked, and what its evaluation works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ecv_core.evaluation.formulas import Popularity
from ecv_core.evaluation.metrics import METRICS, Kind
from ecv_core.evaluation.pairs import ScoredPairs
from ecv_core.records.arrays import Counts, Floats, Indices, Mask

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SAMPLED_WARNING = (
    "A sampled metric is not a small version of the full one: it is another metric, with other "
    "values, and it may order algorithms differently, the more so the fewer negatives are drawn. "
    "Use it to compare with work that reports it, and full ranking otherwise "
    "(Krichene, Rendle 2020: On Sampled Metrics for Item Recommendation)."
)
"""What sampling does to a metric, said wherever it is chosen."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How held-out items are ranked; the default is full ranking of all items."""

    candidates: str = "all"
    """A choice of `RunSpec.candidates`."""
    negatives: int | None = None
    """None ranks all candidates. A number draws so many once for each user, and ranks each of the
    user's held-out items alone against them."""
    sampling: str = "uniform"
    """A choice of `RunSpec.negative_sampling`."""
    seed: int = 0
    """Fixes the negatives; the model has no say in them."""

    @property
    def sampled(self) -> bool:
        """Whether held-out items are ranked against sampled negatives only."""
        return self.negatives is not None

    def candidates_by(self, counts: Counts) -> Mask:
        """Which items may be recommended; shape (items,).

        Args:
            counts: How often each item is in training; shape (items,).
        """
        if self.candidates == "train":
            return counts > 0
        return np.ones(len(counts), dtype=np.bool_)


Columns = dict[str, Floats]
"""Metric -> its values: (users, cutoffs) with a cut-off, (users,) without, (cutoffs,) of lists."""


@dataclass(frozen=True, kw_only=True, eq=False)
class EvaluatedFold:
    """One fold under one protocol; matrices have shape (users, items)."""

    model: Any
    """An `evaluation.Scorer`; None where only lists are evaluated."""
    seen: csr_array
    held_out: csr_array
    users: Indices
    """Rows with something held out, ascending; shape (evaluated users,)."""
    cutoffs: tuple[int, ...]
    """Ascending; one may be more than there are items."""
    candidates: Mask
    """Which items may be recommended; shape (items,)."""
    popularity: Popularity
    protocol: Protocol
    metrics: tuple[str, ...]
    report: Callable[[int], None]
    """Called with the number of users that are done."""
    compiled: bool = False
    """Whether lists are made by compiled code."""
    ratings: csr_array | None = None
    """Of what is held out, where metrics need them; stored where `held_out` is."""
    pairs: list[ScoredPairs] = field(default_factory=list)
    """Filled while users are ranked, where metrics look at all of them together."""

    def of_kind(self, kind: Kind) -> list[str]:
        """The metrics of this kind that are to be computed."""
        return [name for name in self.metrics if METRICS[name].kind is kind]
