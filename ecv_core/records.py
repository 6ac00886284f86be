"""What the stages hand to each other: frozen records, no I/O, only derived values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

ParamValue = int | float | str | bool
"""A model parameter's value: whatever JSON can hold as one scalar."""

Progress = Callable[[str, int, int], None]
"""Called with (phase, step, steps) as work goes on; steps is 0 where the total is not known.
It may raise `errors.Cancelled` to end the work."""


def no_progress(phase: str, step: int, steps: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interactions:
    """Who interacted with what: one entry per (user, item), users and items as codes from 0.

    Arrays `users`, `items`, and where there are any `ratings`, `timestamps` (Unix seconds) all have
    shape (interactions,). `user_ids[code]` and `item_ids[code]` give the dataset's own ids as text.
    """

    dataset: str
    users: NDArray[np.int32]
    items: NDArray[np.int32]
    user_ids: NDArray[np.str_]
    item_ids: NDArray[np.str_]
    ratings: NDArray[np.float32] | None = None
    timestamps: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.users)

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    @property
    def density(self) -> float:
        """Share of the user x item matrix that is filled, in [0, 1]."""
        cells = self.n_users * self.n_items
        return len(self) / cells if cells else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Folds:
    """Which fold each interaction is held out in.

    `assignment[i]` in 0 .. k-1 belongs to interaction i of the Interactions it was made from.
    """

    strategy: str
    k: int
    seed: int | None
    assignment: NDArray[np.int16]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """Everything that decides a run's scores, and how it is stopped and metered.

    Hashable and JSON-serialisable: the same spec and fold index give the same scores anywhere.
    """

    dataset: str
    algorithm: str
    params: tuple[tuple[str, ParamValue], ...] = ()
    """Every parameter of the model, defaults filled in, sorted by name."""
    split: str = "user-k-fold"
    folds_sha256: str | None = None
    """For split 'imported': names the fold file kept under the data directory."""
    k: int = 10
    only_folds: tuple[int, ...] = ()
    """Run just these folds, in this order; empty means 0 .. k-1."""
    seed: int = 42
    metric: str = "ndcg"
    n: int = 10
    cutoffs: tuple[int, ...] = (1, 5, 10, 20)
    """List lengths at which every metric is computed; contains n."""
    rule: str = "e-fold"
    alpha: float = 1e-4
    tolerance: float | None = None
    confidence: float = 0.95
    min_folds: int = 3
    full: bool = False
    """Go on to the last fold after the rule says stop, to check it."""
    country: str = "DEU"
    """ISO 3166-1 alpha-3 code; its carbon intensity turns joules into grams CO2e."""

    @property
    def metric_name(self) -> str:
        """The score's name with its cut-off, as in FoldResult.metrics: 'ndcg@10'."""
        return f"{self.metric}@{self.n}"

    @property
    def fold_order(self) -> tuple[int, ...]:
        """The fold indices in the order in which they are to run."""
        return self.only_folds or tuple(range(self.k))

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces; `params` as an object."""
        data = asdict(self) | {"params": dict(self.params)}
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The spec that `to_json` wrote; fields it does not know are ignored.

        Raises: ValueError or TypeError if the text is not such a spec.
        """
        data = json.loads(text)
        known = {f.name for f in fields(cls)}
        data = {key: value for key, value in data.items() if key in known}
        data["params"] = tuple(sorted(data.get("params", {}).items()))
        for key in ("cutoffs", "only_folds"):
            if key in data:
                data[key] = tuple(data[key])
        return cls(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """What one fold cost the machine, in joules and grams CO2e."""

    joules: float
    cpu_joules: float
    gpu_joules: float
    ram_joules: float
    grams_co2e: float
    source: str
    """How it is known: 'rapl' is measured, 'cpu-load' and 'constant' are estimates, 'none' is
    no meter."""

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UserScores:
    """Per-user scores of one fold, at the run's n: the raw material of later analyses.

    `users` has shape (evaluated users,), codes into the prepared Interactions; `values` has shape
    (evaluated users, len(metrics)).
    """

    users: NDArray[np.int32]
    metrics: tuple[str, ...]
    values: NDArray[np.float32]

    def of(self, metric: str) -> NDArray[np.float32]:
        """One metric's scores; shape (evaluated users,)."""
        return self.values[:, self.metrics.index(metric)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldResult:
    """What one fold gave: its score, all metrics, what it cost."""

    fold: int
    score: float
    """Mean over the evaluated users of the run's metric at its n."""
    metrics: Mapping[str, float]
    """Every metric at every cut-off, 'ndcg@10' -> mean over users."""
    users: int
    """How many users had something held out, and so count."""
    fit_seconds: float
    evaluate_seconds: float
    total_seconds: float
    energy: Energy
    user_scores: UserScores | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval of a mean."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """c_n of the paper: the full width."""
        return self.high - self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A stopping rule's answer after a fold."""

    stop: bool
    reason: str
    """One sentence with the numbers of this moment, fit to show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where a run stood after its n-th fold: one point of figure 1."""

    n: int
    """Folds seen so far, 1 .. k."""
    fold: int
    """Index of the newest fold."""
    score: float
    mean: float
    interval: Interval | None
    """None after one fold: one score has no interval."""
    decision: Decision


class RunState(StrEnum):
    """Where a run is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    FAILED = "failed"
    INTERRUPTED = "interrupted"

    @property
    def active(self) -> bool:
        """True while folds may still arrive without anyone asking."""
        return self in (RunState.QUEUED, RunState.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldProgress:
    """Where the fold that is running now is."""

    fold: int
    phase: str
    step: int
    steps: int
    """0 where the total is not known."""
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One dataset x algorithm x spec, with what is known of it so far."""

    run_id: str
    spec: RunSpec
    state: RunState
    folds: tuple[FoldResult, ...]
    """In the order in which they finished, without per-user scores."""
    moments: tuple[Moment, ...] = ()
    """Where the run stood after each fold, as recorded then; may be missing in old runs."""
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    group: str | None = None
    """Runs that were started together share a group."""
    stopped_at: int | None = None
    """Folds used (e) when the rule said stop, or k when it never did and all are in."""
    error: str | None = None
    progress: FoldProgress | None = None
    queue_position: int | None = None
    """How many runs are before this one, while it is queued."""
