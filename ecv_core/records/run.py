"""A run, with what is known of it so far."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Protocol, Self

import numpy as np
from annotated_types import Ge, Le, MaxLen
from numpy.typing import NDArray

from ecv_core.records.arrays import Codes, Floats
from ecv_core.records.renamed import renamed_fields
from ecv_core.records.spec import RunSpec

# What one fold gave: scores and what it cost.


LARGEST_AMOUNT = 1e15
"""No fold took more seconds or joules: what claims to would break every sum."""
LARGEST_SCORE = 1e30
"""No score is further from 0: squared errors of amounts of money are large, and users' scores are
kept in single precision, which ends at 3e38."""
Number = Annotated[float, Ge(-LARGEST_SCORE), Le(LARGEST_SCORE)]
Amount = Annotated[float, Ge(0), Le(LARGEST_AMOUNT)]


QUIET = 0.05
"""The share of the machine that other programs may use, for it to be called idle otherwise."""


HOW_KNOWN = {
    "rapl": "measured",
    "plug": "measured",
    "slurm": "measured",
    "cpu-load": "estimated",
    "constant": "estimated",
    "command": "reported",
    "plugin": "reported",
    "told": "reported",
    "mixed": "from several sources",
    "none": "not known",
}
"""`Energy.source` -> how it is known, in a word or a few."""


def source_of_sum(sources: Collection[str]) -> str:
    """Of a sum over folds: 'none' where one of them is not metered, 'mixed' where they differ."""
    different = set(sources)
    # A sum is not known where one of its parts is not.
    if not different or "none" in different:
        return "none"
    if len(different) > 1:
        return "mixed"
    return different.pop()


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What one meter said of a fold, where several were asked."""

    meter: str
    """What it is called: 'shelly', 'CodeCarbon'."""
    source: str
    """As `Energy.source`."""
    joules: Amount
    """0 where it said nothing."""
    low_joules: Amount
    """Had it drawn the least that was read, wherever nothing was; likewise the next."""
    high_joules: Amount
    gap_seconds: Amount = 0.0
    """Of the fold, without a reading."""


@dataclass(frozen=True, kw_only=True)
class Energy:
    """What one fold cost the machine, in joules and grams CO2e."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}  # Fields that are not known are refused.

    joules: Amount
    cpu_joules: Amount
    gpu_joules: Amount
    ram_joules: Amount
    grams_co2e: Amount
    source: str
    """How it is known: 'rapl' (the processor's counter), 'plug' and 'slurm' are measured,
    'cpu-load' and 'constant' are estimates, 'command' and 'plugin' are what a meter of one's own
    said, 'told' is from whoever computed the fold elsewhere, 'none' is no meter, 'mixed' more
    than one of these."""
    other_work: Annotated[float, Ge(0), Le(1)] | None = None
    """The share of the machine's processors that other programs used meanwhile; None where that is
    not known."""
    machine_shared: bool = False
    """Whether folds of other programs could run meanwhile, so that theirs may be in it."""
    idle_joules: Amount | None = None
    """What the machine would have drawn in this time without any work; None where that was not
    measured."""
    gpu_seconds: Amount | None = None
    """How long GPUs computed for the process and its children, added up over GPUs; None where NVML
    does not say."""
    memory_basis: str = ""
    """How memory's wattage was got: 'given', 'modules' that the firmware lists, or its 'size';
    empty where that was not written yet."""
    readings: Annotated[tuple[Reading, ...], MaxLen(99)] = ()
    """Of every meter, where one was named; the first is the one whose joules these are."""

    @property
    def above_idle_joules(self) -> float | None:
        """What the fold added to an idle machine; None where that is not known."""
        if self.idle_joules is None:
            return None
        return max(self.joules - self.idle_joules, 0.0)

    @property
    def joules_range(self) -> tuple[float, float]:
        """From the least to the most that may be put down to the fold, in joules.

        All that the machine drew is the most. The least is what the fold added to an idle machine;
        where that is not known, all but memory, which draws its flat wattage anyway. Told and
        measured energy is what it is, but for the time without a reading.
        """
        if HOW_KNOWN.get(self.source) == "estimated":
            least = self.above_idle_joules
            if least is None:
                # An estimate counts memory at a flat wattage, and memory would have been powered
                # without the fold as well.
                least = self.joules - self.ram_joules
            return least, self.joules
        if not self.readings:
            return self.joules, self.joules
        # `joules` come from the first meter. Only a sum over folds that different meters read has
        # another source than this meter, which then gives no bounds of the sum.
        reading = self.readings[0]
        if reading.source != self.source:
            return self.joules, self.joules
        # A meter may miss a part of the time, in which more or less power was drawn.
        bounds = (self.joules, reading.low_joules, reading.high_joules)
        return min(bounds), max(bounds)

    @property
    def of_fold_alone(self) -> bool:
        """Whether it is the fold's alone, as far as is known, so that it may be added up."""
        return not self.machine_shared and (self.other_work or 0.0) <= QUIET

    @property
    def measured(self) -> bool:
        """True when a meter was read, False for an estimate and for what somebody says."""
        return HOW_KNOWN.get(self.source) == "measured"

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


@dataclass(frozen=True, kw_only=True)
class Shared:
    """Of a fold that was computed together with those of other configurations.

    Its seconds and joules are its own work and an equal part of what each needed with others, so
    that their sum over all of them is what was spent. Here is what it needs in all.
    """

    configurations: Annotated[int, Ge(1), Le(10**9)]
    """That were computed together, this one among them."""
    alone_seconds: Amount
    """Of all the work that it needed: about what it would have taken on its own."""
    alone_joules: Amount
    """Likewise."""


@dataclass(frozen=True, kw_only=True, eq=False)
class UserScores:
    """Per-user scores of one fold, at the run's n: the raw material of later analyses.

    `users` has shape (evaluated users,), codes into the prepared Interactions; `values` has shape
    (evaluated users, len(metrics)).
    """

    # Pydantic is to take the fields with arrays as they are.
    __pydantic_config__: ClassVar = {"arbitrary_types_allowed": True}

    users: Codes
    metrics: tuple[str, ...]
    values: NDArray[np.float32]
    clusters: Codes | None = None
    """Who of them belong together, where the data name it: a code each, shape as `users`."""

    def of(self, metric: str) -> NDArray[np.float32]:
        """One metric's scores; shape (evaluated users,)."""
        return self.values[:, self.metrics.index(metric)]

    def only(self, metric: str) -> UserScores:
        """Without the other metrics; all of them where this one is not there."""
        if metric not in self.metrics or len(self.metrics) == 1:
            return self
        return replace(self, metrics=(metric,), values=self.of(metric)[:, None].copy())


def user_table(scores: Sequence[UserScores], metric: str) -> tuple[Codes, NDArray[np.floating]]:
    """One metric's per-user scores of several folds side by side.

    Args:
        scores: The scores of at least one fold, each with this metric.
        metric: As in UserScores.metrics.

    Returns:
        The users seen, ascending, of shape (users,); and their scores, of shape (folds, users), NaN
        where a user has nothing held out in a fold. Where all folds name clusters, these take the
        place of users: see `by_cluster`.
    """
    # A fold's users mostly ascend: merging them takes a tenth of what np.unique does.
    users = np.sort(np.concatenate([fold.users for fold in scores]), kind="stable")
    # In ascending order, a user is new where the code differs from the one before. Prepending a
    # smaller code makes the first user new, too.
    is_new = np.diff(users, prepend=users[:1] - 1) > 0
    users = users[is_new]
    # The values have a row for each fold and a column for each user.
    values = np.full((len(scores), len(users)), np.nan, dtype=np.float32)
    for place, fold in enumerate(scores):
        if np.array_equal(fold.users, users):
            # Most folds of user-k-fold have all users, and need no search.
            values[place] = fold.of(metric)
        else:
            values[place, np.searchsorted(users, fold.users)] = fold.of(metric)
    # Clusters take the place of users only where every fold names them.
    cluster_of_user = np.empty(len(users), dtype=np.int32)
    for fold in scores:
        if fold.clusters is None:
            return users, values
        cluster_of_user[np.searchsorted(users, fold.users)] = fold.clusters
    return by_cluster(values, cluster_of_user)


def by_cluster(values: NDArray[np.floating], clusters: Codes) -> tuple[Codes, Floats]:
    """Scores of users -> of clusters of them, with the same mean in every fold.

    A fold with C clusters of N users: mean + C / N * the sum of their deviations from the mean, so
    that the variance of the mean is the one that is robust to clusters.

    Args:
        values: Shape (folds, users); NaN where a user has nothing held out.
        clusters: A code for each user.

    Returns:
        The clusters, ascending, and their scores, shape (folds, clusters).
    Source: Liang, Zeger (1986).
    """
    cluster_codes, cluster_of_user = np.unique(clusters, return_inverse=True)
    cluster_count = len(cluster_codes)
    cluster_scores = np.full((len(values), cluster_count), np.nan)
    for fold, user_scores in enumerate(values.astype(np.float64)):
        is_scored = ~np.isnan(user_scores)
        cluster = cluster_of_user[is_scored]
        scores = user_scores[is_scored]
        sizes = np.bincount(cluster, minlength=cluster_count)
        user_count = max(sizes.sum(), 1)  # In a fold without scores the whole row stays NaN.
        mean = scores.sum() / user_count
        sums_of_deviations = np.bincount(cluster, scores - mean, minlength=cluster_count)
        has_users = sizes > 0
        # The sums of deviations add up to 0, so that any factor keeps the mean. With this factor,
        # the number of clusters over that of users, the variance of the mean over clusters is the
        # cluster-robust variance of Liang and Zeger.
        factor = np.count_nonzero(has_users) / user_count
        cluster_scores[fold, has_users] = mean + factor * sums_of_deviations[has_users]
    return cluster_codes, cluster_scores


@dataclass(frozen=True, kw_only=True)
class Node:
    """Where and when a fold was computed."""

    host: str
    hardware: str
    """'AMD EPYC 7763, 64 cores, 256 GiB': joules of different hardware are not to be compared."""
    began_at: datetime
    slurm_joules: Amount | None = None
    """Of the whole node meanwhile, by SLURM's `acct_gather_energy`; None where it has none."""


@renamed_fields(seconds_alone="seconds_if_computed_alone", joules_alone="joules_if_computed_alone")
@dataclass(frozen=True, kw_only=True)
class FoldResult:
    """What one fold gave: its score, all metrics, what it cost.

    >>> import ecv_core as ecv
    >>> run = ecv.evaluate("synthetic", "popular", k=3, rule="never")
    >>> run.record.folds[0].fold, run.record.folds[0].users
    (0, 943)
    """

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
    processor_seconds: Amount | None = None
    """Of all cores, of the process that computed it and its children; None where nobody said."""
    energy: Energy
    reused: bool = False
    """Whether another run had computed it: its seconds and joules were spent there."""
    shared: Shared | None = None
    """Where its work was shared with other configurations; None for a fold on its own."""
    node: Node | None = None
    """Where it was computed; None where that is not known, or other code computed it."""
    user_scores: UserScores | None = field(default=None, compare=False, repr=False)

    @property
    def seconds_if_computed_alone(self) -> float:
        """On its own, also where its work was shared with others; likewise the joules."""
        if self.shared is not None:
            return self.shared.alone_seconds
        return self.total_seconds

    @property
    def joules_if_computed_alone(self) -> float:
        """See `seconds_if_computed_alone`."""
        if self.shared is not None:
            return self.shared.alone_joules
        return self.energy.joules

    @property
    def host(self) -> str | None:
        """The machine that computed it, where that is known."""
        if self.node is None:
            return None
        return self.node.host


def other_work_words(folds: Sequence[FoldResult]) -> str:
    """Why the joules of these folds are not theirs alone; empty where they are."""
    reasons = []
    shared_count = sum(fold.energy.machine_shared for fold in folds)
    if shared_count:
        reasons.append(
            f"{shared_count} of {len(folds)} folds shared the machine with folds of other programs"
        )
    disturbed = [fold.energy for fold in folds if not fold.energy.of_fold_alone]
    if disturbed:
        percent_of_others = [round(100 * (energy.other_work or 0.0)) for energy in disturbed]
        least = min(percent_of_others)
        most = max(percent_of_others)
        percent = f"{least} to {most}"
        if least == most:
            percent = str(most)
        # Folds that only shared the machine may have seen no other work.
        if most > 100 * QUIET:
            reasons.append(
                f"other programs used {percent} % of the machine during {len(disturbed)} of "
                f"{len(folds)} folds"
            )
    return "; ".join(reasons)


# Where a run stood after a fold, and what its rule made of it.


class IntervalKind(StrEnum):
    """What an interval holds with its confidence; two kinds are not to be compared."""

    MEAN = "mean"
    """The mean that endlessly many such folds of these users would have (Student's t)."""
    K_FOLD_MEAN = "k-fold mean"
    """The mean of all k folds: how far the mean of those seen is from it, nothing once all are."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A confidence interval of a mean."""

    low: float
    high: float
    kind: IntervalKind = IntervalKind.MEAN

    @property
    def width(self) -> float:
        """c_n of the paper: the full width."""
        return self.high - self.low


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A stopping rule's answer after a fold.

    >>> import ecv_core as ecv
    >>> ecv.Decision(stop=True, reason="after 3 folds").stop
    True
    """

    stop: bool
    reason: str
    """One sentence with the numbers of this moment, fit to show."""


@dataclass(frozen=True, kw_only=True)
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
    doubt: str = ""
    """What makes the folds so far no base for a promise, in a sentence: a fold far off, a drift."""


# How work says where it is.


class Progress(Protocol):
    """Told where some work is, as it goes on; it may raise `records.errors.Cancelled` to end the
    work."""

    def __call__(self, phase: str, step: int, steps: int, /) -> None:
        """Note a step.

        Args:
            phase: What is being done: "fit".
            step: How far it is.
            steps: 0 where the total is not known.
        """


def no_progress(phase: str, step: int, steps: int, /) -> None:
    """Report nothing."""


# The fold scores of one run, or of anything else that was evaluated in folds.


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """What is known of k folds: a score each, what they cost, and every user's score."""

    folds: Floats
    """Mean of each fold, by fold index; shape (k,); NaN where it has not been run."""
    joules: Floats | None = None
    """Of each fold; shape (k,); NaN where it is not known. None where none is."""
    users: NDArray[np.floating] | None = None
    """The score of every user in every fold; shape (k, users); NaN where a user has nothing held
    out, or the fold has not been run. None where a fold that was run came without."""
    user_ids: NDArray[np.integer] | None = None
    """Whose they are: sorted codes into the prepared data; shape (users,). None where `users` is,
    or where its columns have no names."""
    results: tuple[FoldResult, ...] | None = None
    """All that is known of the folds that were run, by fold index. None where there is nothing but
    the scores."""
    cheap_models: Any = None
    """Cheap models on the same users (stopping.adjustment.CheapModels) that correct the precision
    rule's mean; None: the plain one."""
    higher_is_better: bool = True
    name: str = ""
    """What it is called among others."""
    dataset: str = ""
    """What it was evaluated on: scores of one dataset are left out together."""
    algorithm: str = ""
    """What was evaluated; empty where only the name is known."""
    metric: str = ""
    """The score's name, as in RunSpec.metric_name or as shown."""
    metric_range: tuple[float, float] = (-math.inf, math.inf)
    """The least and the most that the metric can be, where they are known."""
    run_id: str | None = None
    """Of the run whose folds these all are; None for no run, or several."""
    source: str = "none"
    """How the joules are known, as in Energy; 'none' where some are not, so that folds count."""
    other_work: bool = False
    """Whether the joules hold other work of the machine too: then they are in no sum of joules."""

    @property
    def k(self) -> int:
        """Number of folds."""
        return len(self.folds)

    @property
    def in_clusters(self) -> bool:
        """Whether `users` has a column for each cluster of users, which the data name."""
        if self.users is None or not self.results:
            return False
        for result in self.results:
            if result.user_scores is None or result.user_scores.clusters is None:
                return False
        return True

    @property
    def fingerprint(self) -> str:
        """A hash of all that a curve depends on: equal scores have the same one."""
        about = (
            self.name,
            self.dataset,
            self.metric,
            self.source,
            self.run_id,
            self.higher_is_better,
        )
        digest = sha256()
        for part in about:
            # A zero byte ends each part, so that 'ab' and 'c' differ from 'a' and 'bc'.
            digest.update(f"{part}\0".encode())
        digest.update(self.folds.tobytes())
        if self.costs is not None:
            digest.update(self.costs.tobytes())
        return digest.hexdigest()

    @property
    def fold_joules(self) -> Floats:
        """The joules, NaN where they are not known; shape (k,)."""
        if self.joules is None:
            return np.full(self.k, np.nan)
        return self.joules

    @property
    def costs(self) -> Floats | None:
        """The joules, where every fold has some; None where folds are to be counted instead."""
        if self.joules is None or not (self.joules > 0).all():
            return None
        return self.joules


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

    @property
    def resumable(self) -> bool:
        """Whether it ended before its rule let it end, and can go on."""
        return self in (RunState.CANCELLED, RunState.INTERRUPTED, RunState.FAILED)


@dataclass(frozen=True, kw_only=True)
class FoldProgress:
    """Where the fold that is running now is."""

    fold: int
    phase: str
    step: int
    steps: int
    """0 where the total is not known."""
    started_at: datetime


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One dataset x algorithm x spec, with what is known of it so far."""

    run_id: str
    spec: RunSpec
    state: RunState
    folds: tuple[FoldResult, ...]
    """In the order in which the rule sees them. They carry users' scores only where a function
    asks for these: see `user_scores`."""
    ahead: tuple[FoldResult, ...] = ()
    """Finished before their turn: a fold that the rule has to see first is missing still."""
    damaged: Mapping[int, str] = field(default_factory=dict)
    """Folds that are kept but cannot be read -> a sentence. They are in no sum, and computed again
    where the run goes on."""
    moments: Sequence[Moment] = ()
    """Where the run stood after each fold, as recorded then, or else worked out again."""
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    group: str | None = None
    """Runs that were started together share a group."""
    stopped_at: int | None = None
    """Folds used (e) when the rule said stop, or k when it never did and all are in."""
    error: str | None = None
    other_work: str = ""
    """Why it is thought that the machine did other work meanwhile, so that its seconds and joules
    are not its own; empty where nothing speaks for it."""
    progress: FoldProgress | None = None
    queue_position: int | None = None
    """How many runs are before this one, while it is queued."""
    outside: bool = False
    """Whether its folds are asked for and told by programs that come and go."""
    anew: bool = False
    """Whether each fold is computed, also those that another run has."""
    started_by: str = ""
    """The id of the person who started it; empty where that is nobody in particular."""

    @property
    def k(self) -> int:
        """How many folds are planned: those of its split, or those that were asked for."""
        return self.spec.max_folds

    @property
    def complete(self) -> bool:
        """Whether every planned fold is in, so that the mean of all is known."""
        return len(self.folds) == self.k

    @property
    def whole(self) -> bool:
        """Whether every fold of its split is in, so that every order of them is known.

        A run of only some folds may be complete; it never is whole.
        """
        return len(self.folds) == self.spec.k

    @property
    def resumable(self) -> bool:
        """Whether it was cut off: it ended before its rule let it end, and can go on."""
        return self.state.resumable or (self.state is RunState.FINISHED and bool(self.damaged))

    @property
    def can_be_checked(self) -> bool:
        """Whether it ended at its stop with folds left, which would show how good the stop is."""
        return self.state is RunState.FINISHED and not (self.complete or self.damaged)

    def can_go_on(self, *, full: bool) -> bool:
        """Whether it was cut off, or it ended at its stop and is to be checked now.

        To check a run is to compute the folds after its stop as well, for its mean at the stop can
        be compared with that of all folds then.

        Args:
            full: Whether folds after the stop are asked for.
        """
        return self.resumable or (full and self.can_be_checked)

    @property
    def stopped_early(self) -> bool:
        """Whether its rule said stop before the last planned fold."""
        return self.stopped_at is not None and self.stopped_at < self.k

    @property
    def checked(self) -> bool:
        """Whether folds after its stop have run, or are going to, to check it."""
        if self.ends_at_stop or not self.stopped_early:
            return False
        return self.state.active or len(self.folds) > self.folds_used

    @property
    def ends_at_stop(self) -> bool:
        """Whether a fold after its stop was only under way then: nobody asked for it, and it is not
        the last of all planned folds."""
        return not (self.spec.full or self.complete)

    @property
    def folds_used(self) -> int:
        """How many folds its mean is of (e): those up to the stop, or all so far."""
        return min(self.stopped_at or len(self.folds), len(self.folds))

    @property
    def at_stop(self) -> Moment | None:
        """Where it stood at its stop, or after the newest fold so far; None before the first."""
        if not self.moments:
            return None
        return self.moments[self.folds_used - 1]

    @property
    def doubt(self) -> str:
        """What makes its folds no base for a promise, in a sentence; empty where nothing does."""
        if not self.moments:
            return ""
        return self.moments[-1].doubt

    @property
    def k_fold_mean(self) -> float | None:
        """The mean of all planned folds; None until they are in."""
        if not (self.moments and self.complete):
            return None
        return self.moments[-1].mean

    @property
    def folds_in_order(self) -> tuple[FoldResult, ...]:
        """By fold index, whatever the order in which they finished."""
        return tuple(sorted(self.folds, key=lambda result: result.fold))

    @property
    def user_scores(self) -> dict[int, UserScores]:
        """Fold -> its users' scores, of the folds that carry them (`Results.with_user_scores`)."""
        scores = {}
        for result in self.folds:
            if result.user_scores is not None:
                scores[result.fold] = result.user_scores
        return scores

    def with_user_scores(self, scores: Mapping[int, UserScores]) -> RunRecord:
        """The same run, its folds with these scores of their users; fold -> scores."""
        folds = []
        for result in self.folds:
            folds.append(replace(result, user_scores=scores.get(result.fold)))
        return replace(self, folds=tuple(folds))

    @property
    def joules(self) -> float:
        """What all folds so far cost, those that checked the stop too."""
        return sum(result.energy.joules for result in self.folds)

    @property
    def seconds(self) -> float:
        """How long all folds so far took, those that checked the stop too."""
        return sum(result.total_seconds for result in self.folds)

    @property
    def spent_seconds(self) -> float:
        """As `seconds`, with folds ahead of their turn, without those that another run computed."""
        folds = (*self.folds, *self.ahead)
        return sum(result.total_seconds for result in folds if not result.reused)
