"""What one fold gave: scores and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Self

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

AMOUNT = 1e15
"""No score, second or joule is further from 0: what claims to be would break every sum."""
Number = Annotated[float, Ge(-AMOUNT), Le(AMOUNT)]
Amount = Annotated[float, Ge(0), Le(AMOUNT)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """What one fold cost the machine, in joules and grams CO2e."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}  # there is no other kind of energy

    joules: Amount
    cpu_joules: Amount
    gpu_joules: Amount
    ram_joules: Amount
    grams_co2e: Amount
    source: str
    """How it is known: 'rapl' is measured, 'cpu-load' and 'constant' are estimates, 'told' is from
    whoever computed the fold elsewhere, 'none' is no meter."""

    @property
    def measured(self) -> bool:
        """True when a power counter was read, False for an estimate."""
        return self.source == "rapl"

    @property
    def watt_hours(self) -> float:
        """The energy in Wh, as pages show it."""
        return self.joules / 3600

    @classmethod
    def none(cls) -> Self:
        """No meter, or one that failed."""
        return cls(
            joules=0.0,
            cpu_joules=0.0,
            gpu_joules=0.0,
            ram_joules=0.0,
            grams_co2e=0.0,
            source="none",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Of a fold that was computed together with those of other configurations.

    Its seconds and joules are its own work and an equal part of what each needed with others, so
    that their sum over all of them is what was spent. Here is what it needs in all.
    """

    configurations: int
    """That were computed together, this one among them."""
    alone_seconds: Amount
    """Of all the work that it needed: about what it would have taken on its own."""
    alone_joules: Amount
    """Likewise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UserScores:
    """Per-user scores of one fold, at the run's n: the raw material of later analyses.

    `users` has shape (evaluated users,), codes into the prepared Interactions; `values` has shape
    (evaluated users, len(metrics)).
    """

    __pydantic_config__: ClassVar = {"arbitrary_types_allowed": True}  # arrays, which no JSON holds

    users: NDArray[np.int32]
    metrics: tuple[str, ...]
    values: NDArray[np.float32]

    def of(self, metric: str) -> NDArray[np.float32]:
        """One metric's scores; shape (evaluated users,)."""
        return self.values[:, self.metrics.index(metric)]


def user_table(
    scores: Sequence[UserScores], metric: str
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """One metric's per-user scores of several folds side by side.

    Args:
        scores: of at least one fold, each with this metric.
        metric: as in UserScores.metrics.
    Returns: the users seen, ascending, of shape (users,); and their scores, of shape (folds,
        users), NaN where a user has nothing held out in a fold.
    """
    # A fold's users mostly ascend: merging them takes a tenth of what np.unique does.
    users = np.sort(np.concatenate([one.users for one in scores]), kind="stable")
    users = users[np.diff(users, prepend=users[:1] - 1) > 0]
    values = np.full((len(scores), len(users)), np.nan, dtype=np.float32)
    for row, one in zip(values, scores, strict=True):
        row[np.searchsorted(users, one.users)] = one.of(metric)
    return users, values


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldResult:
    """What one fold gave: its score, all metrics, what it cost."""

    fold: int
    score: Number
    """Mean over the evaluated users of the run's metric at its n; over all ratings of RMSE."""
    metrics: Mapping[str, float]
    """Every metric at every cut-off, 'ndcg@10' -> mean over users."""
    users: int
    """How many users had something held out, and so count."""
    inner_curve: tuple[float, ...] = ()
    """nDCG@100 on the inner validation part after each epoch, where a model stops early by it; of
    predicted ratings the RMSE of the held-out part after each step, by which nothing is stopped."""
    fit_seconds: Amount
    evaluate_seconds: Amount
    total_seconds: Amount
    energy: Energy
    reused: bool = False
    """Whether another run had computed it: its seconds and joules were spent there."""
    shared: Shared | None = None
    """Where its work was shared with other configurations; None for a fold on its own."""
    user_scores: UserScores | None = field(default=None, compare=False, repr=False)
