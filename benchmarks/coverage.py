"""Do intervals keep their promise: the precision rule's, and Student's t where a rule stopped?

    python -m benchmarks.coverage             the tables of docs/method.md, in some minutes
    python -m benchmarks.coverage --recorded  only those of recorded runs, in half a minute

Recorded runs: in how many orders of the folds the score at the stop is within the tolerance,
exactly. Adversaries: made scores of users in folds, 2,000 runs each, of models whose training adds
nothing and of models whose training adds as much as users do; users alone make a fold's mean vary
by a quarter to one and a half times the tolerance, and the worst of these sizes is printed. Then
how often a run warns of unstable folds, and of a broken fold or a drift; and the paper's rule on
normal scores, fold by fold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from benchmarks.tables import percent, print_head, print_row
from ecv_core.analysis.exploration import explore
from ecv_core.models import ALGORITHMS
from ecv_core.records.run import RunRecord, Scores, by_cluster
from ecv_core.stopping.fold_variance import UNSTABLE, FoldVariance, fold_variance
from ecv_core.stopping.interval import running_means_and_deviations
from ecv_core.stopping.odd_folds import FALSE_ALARM, drift_p_value, far_fold_p_values
from ecv_core.store.recorded import FOLDER, recorded_runs
from ecv_core.store.results import Results
from pages.learn.material.misleading_scores import coverage_by_stop

TOLERANCES = (0.02, 0.03, 0.05)
TOLERANCE = 0.03
"""Of made runs."""
PROMISED = 0.95
K = 10
RUNS = 2000
KEPT = 0.93
"""Less than this is bold: there the promise breaks."""
BATCH = 250
"""Runs that are made at once."""
Floats = NDArray[np.float64]
Maker = Callable[[np.random.Generator, int, float], Floats]
CLUSTERS = 20
CLUSTER_SIZE = 50
"""Users of a cluster."""


# Adversaries: scores of users in folds, shape (runs, K, users), with a mean of about 1 except where
# a metric is one of zeros and ones. `spread` is the standard deviation of a fold's mean that users
# alone make.


def _calm(rng: np.random.Generator, runs: int, spread: float) -> Floats:
    """100 users, each with a taste that is the same in every fold."""
    users = 100
    noise = rng.standard_normal((runs, K, users)) + rng.standard_normal((runs, 1, users))
    return np.asarray(1 + spread * np.sqrt(users) * noise)


def _common(times: float, rng: np.random.Generator, runs: int, spread: float) -> Floats:
    """All users of a fold share something, with so many times the variance that users make."""
    shared = np.sqrt(times) * spread * rng.standard_normal((runs, K, 1))
    return _calm(rng, runs, spread) + shared


def _heavy(rng: np.random.Generator, runs: int, spread: float) -> Floats:
    """A few users score a hundred times what most do: lognormal with sigma 1.5."""
    users = 100
    sigma = 1.5
    noise = rng.lognormal(0.0, sigma, (runs, K, users))
    mean = np.exp(sigma**2 / 2)
    deviation = np.sqrt(np.expm1(sigma**2) * np.exp(sigma**2))
    return np.asarray(1 + spread * np.sqrt(users) * (noise - mean) / deviation)


def _clusters(rng: np.random.Generator, runs: int, spread: float) -> Floats:
    """20 clusters of 50 users, who share a fifth of what varies: 10.8 times the variance."""
    users = CLUSTERS * CLUSTER_SIZE
    together = 0.5 * rng.standard_normal((runs, K, CLUSTERS)).repeat(CLUSTER_SIZE, axis=2)
    own = rng.standard_normal((runs, K, users))
    return np.asarray(1 + spread * np.sqrt(users / 1.25) * (together + own))


def _named_clusters(rng: np.random.Generator, runs: int, spread: float) -> Floats:
    """The same runs, where the data name the clusters, which then take the place of users."""
    values = _clusters(rng, runs, spread)
    cluster_of_user = np.arange(CLUSTERS, dtype=np.int32).repeat(CLUSTER_SIZE)
    _, scores = by_cluster(values.reshape(runs * K, -1), cluster_of_user)
    return scores.reshape(runs, K, -1)


def _rare(rng: np.random.Generator, runs: int, _spread: float) -> Floats:
    """A hit for one user in 25, of 50 users."""
    return (rng.random((runs, K, 50)) < 0.04).astype(np.float64)


def _ties(rng: np.random.Generator, runs: int, _spread: float) -> Floats:
    """200 users, each of whom scores the same in every fold but for one in a hundred times."""
    is_usual_hit = rng.random((runs, 1, 200)) < 0.3
    is_unusual = rng.random((runs, K, 200)) < 0.01
    return (is_usual_hit ^ is_unusual).astype(np.float64)


def _drifting(rng: np.random.Generator, runs: int, spread: float) -> Floats:
    """Scores rise by 12 % from the first fold to the last."""
    drift = 0.12 * (np.arange(K) / (K - 1) - 0.5)
    return _calm(rng, runs, spread) + drift[:, None]


def _broken(rng: np.random.Generator, runs: int, spread: float) -> Floats:
    """One fold, any of them, scores 40 % below the others."""
    values = _calm(rng, runs, spread)
    broken_folds = rng.integers(K, size=runs)
    values[np.arange(runs), broken_folds] -= 0.4
    return values


class Adversary(NamedTuple):
    """Made runs that are meant to break the promise."""

    make: Maker
    sizes: Sequence[float]
    """Standard deviations of a fold's mean that users alone make, in the tolerance."""


SIZES = (0.25, 0.4, 0.5, 0.7, 1.0, 1.5)
ADVERSARIES = {
    "users explain all": Adversary(_calm, SIZES),
    "fold effect x1": Adversary(partial(_common, 1), SIZES),
    "fold effect x3": Adversary(partial(_common, 3), SIZES),
    "fold effect x10": Adversary(partial(_common, 10), SIZES),
    "fold effect x30": Adversary(partial(_common, 30), SIZES),
    "heavy-tailed users": Adversary(_heavy, SIZES),
    "20 clusters of users": Adversary(_clusters, SIZES),
    "20 clusters, named": Adversary(_named_clusters, SIZES),
    "rare 0/1 metric, 50 users": Adversary(_rare, (1.0,)),
    "ties: users score alike": Adversary(_ties, (1.0,)),
    "drift in the order of folds": Adversary(_drifting, (0.25, 0.5)),
    "one of ten folds broken": Adversary(_broken, (0.25, 0.5)),
}


class Kept(NamedTuple):
    """What the precision rule did on made runs; shares of them, and folds."""

    within: float
    """The score at the stop is within the tolerance of the mean of all folds."""
    folds: float
    always: float
    """The interval after every fold, from the first to the last, holds the mean of all."""
    unstable: float
    """Until the stop it was said that fold means vary more than users explain."""
    doubted: float
    """Until the stop a fold was called far off, or a drift was."""
    doubted_at_all: float
    """Once all folds are in."""


def levels(values: Floats) -> FoldVariance:
    """What the first 1 to K folds of each run tell; flat, shape (runs * K,).

    Worked out here for users who are in every fold, by the formula of docs/method.md.

    Args:
        values: shape (runs, K, users).
    """
    runs, k, users = values.shape
    folds = np.arange(1, k + 1)
    _, deviations = running_means_and_deviations(values.mean(axis=2))
    # Each user's scores vary about their own mean; of a single fold its users vary about theirs.
    distances = values - values.mean(axis=1, keepdims=True)
    sums = np.cumsum(distances, axis=1)
    sums_of_squares = np.cumsum(distances**2, axis=1)
    squares = (sums_of_squares - sums**2 / folds[:, None]).sum(axis=2)
    squares[:, 0] = values[:, 0].var(axis=1) * users
    freedom = np.tile((folds - 1.0) * users, (runs, 1))
    freedom[:, 0] = users - 1
    # Where nobody differs, it is as if one user had differed by the whole scale.
    scale = np.maximum(1.0, np.abs(values).max(axis=(1, 2)))[:, None]
    squares = np.where(squares > 1e-12 * scale**2, squares, scale**2)
    return FoldVariance(
        sizes=np.tile(folds, runs),
        by_users=(squares / freedom / users).ravel(),
        users_freedom=freedom.ravel(),
        of_fold_means=deviations.ravel() ** 2,
    )


def faced(
    make: Maker, size: float, *, training: float = 0.0, runs: int = RUNS, seed: int = 0
) -> Kept:
    """The precision rule against an adversary.

    Args:
        make: draws its runs.
        size: standard deviation of a fold's mean that users alone make, in the tolerance.
        training: variance that training adds to a fold's mean, in that of the users' part.
        runs: how many, rounded up to whole batches.
        seed: of the draws.
    """
    rng = np.random.default_rng(seed)
    batches = []
    for _ in range(0, runs, BATCH):
        values = make(rng, BATCH, size * TOLERANCE)
        if training:
            by_users = levels(values).by_users.reshape(BATCH, K)[:, -1, None, None]
            luck = np.sqrt(training * by_users) * rng.standard_normal((BATCH, K, 1))
            values = values + luck
        batches.append(_kept(values))
    # Column by column: a mean over rows is rounded in another order.
    means = [float(np.mean(column)) for column in zip(*batches, strict=True)]
    return Kept(*means)


def _kept(values: Floats) -> Kept:
    """The precision rule on runs with these scores of users; shape (runs, K, users)."""
    runs = len(values)
    variance = levels(values)
    scores = values.mean(axis=2)
    means, _ = running_means_and_deviations(scores)
    half_widths = variance.half_widths(K, PROMISED).reshape(runs, K)
    with np.errstate(invalid="ignore"):
        may_stop = half_widths <= TOLERANCE * np.abs(means)
    may_stop[:, -1] = True
    stops = may_stop.argmax(axis=1)  # index of the last fold that is run
    until_stop = np.arange(K) <= stops[:, None]
    k_fold_means = means[:, -1]
    distances = np.abs(means - k_fold_means[:, None])
    distances_at_stop = distances[np.arange(runs), stops]
    doubted = _doubted(scores, variance.by_users.reshape(runs, K))
    unstable = variance.p_values.reshape(runs, K) < UNSTABLE
    return Kept(
        within=np.mean(distances_at_stop <= TOLERANCE * np.abs(k_fold_means)),
        folds=stops.mean() + 1,
        always=(distances <= half_widths * (1 + 1e-9)).all(axis=1).mean(),
        unstable=(unstable & until_stop).any(axis=1).mean(),
        doubted=(doubted & until_stop).any(axis=1).mean(),
        doubted_at_all=doubted.any(axis=1).mean(),
    )


def _doubted(scores: Floats, by_users: Floats) -> NDArray[np.bool_]:
    """Whether a fold is called far off, or a drift is seen, after each fold; shape (runs, K).

    Args:
        scores: of folds; shape (runs, K).
        by_users: variance of one fold's mean as users tell it after each fold; likewise.
    """
    doubted = np.zeros(scores.shape, dtype=np.bool_)
    for folds in range(3, K + 1):
        scores_so_far = scores[:, :folds]
        variances = by_users[:, folds - 1]
        far_fold = far_fold_p_values(scores_so_far, variances).min(axis=1)
        drift = drift_p_value(scores_so_far, variances)
        doubted[:, folds - 1] = np.minimum(far_fold, drift) < FALSE_ALARM / 10
    return doubted


def recorded(folder: Path = FOLDER) -> dict[str, Scores]:
    """The runs of a folder that have per-user scores, by name."""
    results = Results(None, recorded_folder=folder)
    scores_by_name = {}
    for run in recorded_runs(folder):
        scores = results.scores(run)
        if scores.users is not None:
            scores_by_name[_name(run)] = scores
    return scores_by_name


def _name(run: RunRecord) -> str:
    """A run by its dataset, its algorithm and the parameters that are not the defaults."""
    defaults = ALGORITHMS[run.spec.algorithm].resolve({})
    words = [run.spec.dataset, run.spec.algorithm]
    for parameter in run.spec.params:
        if parameter not in defaults:
            name, value = parameter
            words.append(f"{name} {value}")
    return ", ".join(words)


class OverOrders(NamedTuple):
    """What the precision rule does over all orders of a run's folds."""

    within: float
    """Share of the orders that end within the tolerance."""
    folds: float

    def __str__(self) -> str:
        return f"{percent(self.within)} ({self.folds:.2f})"


def over_orders(scores: Scores) -> list[OverOrders]:
    """The precision rule over the orders of the folds, at each of the tolerances."""
    orders = explore(scores, "precision", confidence=PROMISED)
    outcomes = []
    for tolerance in TOLERANCES:
        outcome = orders.at(tolerance, within_percent=100 * tolerance)
        outcomes.append(OverOrders(outcome.within or 0.0, outcome.mean_stop))
    return outcomes


def variance_ratio(scores: Scores) -> float:
    """The variance of all fold means over what users explain."""
    assert scores.users is not None
    all_folds = np.ones((1, scores.k), dtype=np.bool_)
    return float(fold_variance(scores.users, all_folds).ratios[0])


def print_recorded() -> None:
    """Recorded runs that break the promise, unstable ones, and the mean and least of the study."""
    columns = [f"within {100 * tolerance:g} % (folds)" for tolerance in TOLERANCES]
    print_head(["run", *columns, "variance ratio"])
    outcomes_of_runs = []
    ratios = []
    for name, scores in recorded().items():
        outcomes = over_orders(scores)
        ratio = variance_ratio(scores)
        outcomes_of_runs.append(outcomes)
        ratios.append(ratio)
        if min(outcomes).within < PROMISED:
            print_row([name, *outcomes, f"{ratio:.2f}"])
    for name, scores in recorded(FOLDER / "unstable").items():
        print_row([name, *over_orders(scores), f"{variance_ratio(scores):.2f}"])
    means = []
    least = []
    for outcomes_of_tolerance in zip(*outcomes_of_runs, strict=True):
        within = [outcome.within for outcome in outcomes_of_tolerance]
        folds = [outcome.folds for outcome in outcomes_of_tolerance]
        means.append(OverOrders(fmean(within), fmean(folds)))
        least.append(percent(min(within)))
    study = f"of {len(ratios)} recorded runs"
    print_row([f"**mean {study}**", *means, f"{np.mean(ratios):.2f}"])
    print_row([f"**least {study}**", *least, f"{min(ratios):.2f}"])
    low = float(chi2.ppf(0.025, K - 1)) / (K - 1)
    high = float(chi2.ppf(0.975, K - 1)) / (K - 1)
    print(
        f"\nAbove: the recorded runs below {PROMISED:.0%} at some tolerance, if any, and the "
        "unstable ones. Variance ratio: of the fold means, over what users explain; chance alone "
        f"gives {low:.2f} to {high:.2f} in 95 % of runs of ten folds.\n"
    )


def print_adversaries() -> None:
    """A row for each adversary, at the worst of its sizes."""
    columns = ["adversary", "training adds nothing (folds)", "as much as users do (folds)"]
    columns += ["every look holds", "warned: folds differ", "warned: far off or drift"]
    print_head([*columns, "once all ran"])
    for name, adversary in ADVERSARIES.items():
        calm_training = worst_size(adversary, training=0.0)
        noisy_training = worst_size(adversary, training=1.0)
        shares = [calm_training.always, calm_training.unstable]
        shares += [calm_training.doubted, calm_training.doubted_at_all]
        within = [within_cell(calm_training), within_cell(noisy_training)]
        print_row([name, *within, *map(percent, shares)])
    print()


def worst_size(adversary: Adversary, training: float) -> Kept:
    """What the rule kept at the size at which it kept the least."""
    outcomes = [faced(adversary.make, size, training=training) for size in adversary.sizes]
    return min(outcomes, key=lambda kept: kept.within)


def within_cell(kept: Kept) -> str:
    """How often a score was within the tolerance, and folds; bold where the promise breaks."""
    text = f"{percent(kept.within)} ({kept.folds:.2f})"
    if kept.within < KEPT:
        return f"**{text}**"
    return text


def print_stops() -> None:
    """Whether intervals hold where the paper's rule stops, on normal scores."""
    print_head(["stop after", "share of runs", "Student's t holds", "`stop_interval` holds"])
    for coverage in coverage_by_stop(1e-4, 0.01, runs=500_000):
        shares = [coverage.share, coverage.t_interval_holds, coverage.look_interval_holds]
        print_row([coverage.stop or "**any**", *map(percent, shares)])


def main() -> None:
    """Measure and print."""
    print_recorded()
    if "--recorded" not in sys.argv[1:]:
        print_adversaries()
        print_stops()


if __name__ == "__main__":
    main()
