"""What the stages hand to each other: frozen records, no I/O, only derived values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ecv_core.errors import FoldsError

ParamValue = int | float | str | bool
"""A model parameter's value: whatever JSON can hold as one scalar."""


class Progress(Protocol):
    """Told where some work is, as it goes on; it may raise `errors.Cancelled` to end the work."""

    def __call__(
        self, phase: str, step: int, steps: int, /, *, curve: Sequence[float] = ()
    ) -> None:
        """Note a step.

        Args:
            phase: what is being done: "fit".
            step: how far it is.
            steps: 0 where the total is not known.
            curve: nDCG@100 on the inner validation part after each epoch of a fit so far.
        """


WITHOUT_CUTOFF = frozenset({"auc", "log-loss", "mae", "rmse"})
"""Ids of the metrics that look at more than the top n, so that n is no part of their name."""


def no_progress(phase: str, step: int, steps: int, /, *, curve: Sequence[float] = ()) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interactions:
    """Who interacted with what: one entry per (user, item), users and items as codes from 0.

    Arrays `users`, `items`, and where there are any `ratings`, `timestamps` (Unix seconds),
    `baskets` and `sequence` all have shape (interactions,). `user_ids[code]` and `item_ids[code]`
    give the dataset's own ids as text.
    """

    dataset: str
    users: NDArray[np.int32]
    items: NDArray[np.int32]
    user_ids: NDArray[np.str_]
    item_ids: NDArray[np.str_]
    ratings: NDArray[np.float32] | None = None
    timestamps: NDArray[np.int64] | None = None
    baskets: NDArray[np.int32] | None = None
    """What was bought together: within one user equal numbers are one basket, larger is later."""
    sequence: NDArray[np.int32] | None = None
    """Where neither times nor baskets are known: the place within the user's history."""

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
    def history(self) -> NDArray[np.int64] | NDArray[np.int32] | None:
        """What puts one user's interactions in order, larger is later; None where nothing does.

        Only timestamps compare between users too.
        """
        known = (self.timestamps, self.baskets, self.sequence)
        return next((array for array in known if array is not None), None)

    @property
    def density(self) -> float:
        """Share of the user x item matrix that is filled, in [0, 1]."""
        cells = self.n_users * self.n_items
        return len(self) / cells if cells else 0.0


class Part(IntEnum):
    """What an interaction is for in one fold."""

    TRAIN = 0
    VALIDATION = 1
    TEST = 2
    """Held out: what the model is evaluated on."""
    UNUSED = 3
    """Neither learnt from nor held out, such as what lies after a time window."""
    UNKNOWN = 4
    """Would be held out, but its user or item is unknown to training and such are dropped."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Folds:
    """What each interaction is for in each of k folds, worked out one fold at a time.

    Belongs to the Interactions it was made from. Either `assignment` or `draw` is given.
    """

    strategy: str
    k: int
    seed: int | None
    params: tuple[tuple[str, ParamValue], ...] = ()
    """Every parameter of the strategy, defaults filled in, sorted by name."""
    assignment: NDArray[np.int16] | None = None
    """The fold, 0 .. k-1, that holds an interaction out; every other fold learns from it. -1 is
    held out in none. Shape (interactions,)."""
    draw: Callable[[int], NDArray[np.int8]] | None = field(default=None, repr=False)
    """Where folds are not of that form: fold index -> Part of each interaction."""

    def parts(self, index: int) -> NDArray[np.int8]:
        """The Part of each interaction in fold `index`; shape (interactions,), the caller's own.

        Raises: FoldsError if there is no such fold.
        """
        if not 0 <= index < self.k:
            raise FoldsError(f"there is no fold {index}; these folds go from 0 to {self.k - 1}")
        if self.draw is not None:
            return self.draw(index)
        if self.assignment is None:
            raise FoldsError(f"these {self.k} folds hold neither an assignment nor a way to draw")
        return np.where(self.assignment == index, Part.TEST, Part.TRAIN).astype(np.int8)


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
    split_params: tuple[tuple[str, ParamValue], ...] = ()
    """Every parameter of the split, defaults filled in, sorted by name."""
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
    candidates: str = "all"
    """Which items may be recommended: 'all', or 'train' for those with a training interaction."""
    negatives: int | None = None
    """Rank each held-out item against so many sampled items; None ranks all candidates."""
    negative_sampling: str = "uniform"
    """How they are drawn: 'uniform' or 'popularity'; the run's seed decides which."""
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
        """The score's name, with its cut-off if it has one, as in FoldResult.metrics: 'ndcg@10'."""
        return self.metric if self.metric in WITHOUT_CUTOFF else f"{self.metric}@{self.n}"

    @property
    def fold_order(self) -> tuple[int, ...]:
        """The fold indices in the order in which they are to run."""
        return self.only_folds or tuple(range(self.k))

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no spaces; `params` and `split_params` as objects."""
        data = asdict(self)
        data |= {"params": dict(self.params), "split_params": dict(self.split_params)}
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The spec that `to_json` wrote; fields it does not know are ignored.

        Raises: ValueError or TypeError if the text is not such a spec.
        """
        data = json.loads(text)
        known = {f.name for f in fields(cls)}
        data = {key: value for key, value in data.items() if key in known}
        for key in ("params", "split_params"):
            data[key] = tuple(sorted(data.get(key, {}).items()))
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
    inner_curve: tuple[float, ...] = ()
    """nDCG@100 on the inner validation part after each epoch, where a model stops early by it."""
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
    curve: tuple[float, ...] = ()
    """As FoldResult.inner_curve, so far."""


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
