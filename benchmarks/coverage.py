"""Do intervals keep their promise: the precision rule's, and Student's t where a rule stopped?

python -m benchmarks.coverage       the tables of docs/method.md, in some minutes

Adversaries: made scores of users in folds, 2,000 runs each, of models whose training adds nothing
and of models whose training adds as much as users do; users alone make a fold's mean vary by a
quarter to one and a half times the tolerance, and the worst of these sizes is printed. Then how
often a run warns of unstable folds, and of a broken fold or a drift; and the paper's rule on normal
scores, fold by fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import bold_where, percent, print_head, print_row
from ecv_core.records.run import by_cluster
from ecv_core.stopping.fold_variance import UNSTABLE, FoldVariance, fold_variance
from ecv_core.stopping.interval import running_means_and_deviations
from ecv_core.stopping.odd_folds import FALSE_ALARM, drift_p_value, far_fold_p_values
from pages.learn.material.misleading_scores import coverage_by_stop

TOLERANCE = 0.03
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

    Args:
        values: shape (runs, K, users).
    """
    looks = np.tri(K, dtype=np.bool_)
    of_runs = [fold_variance(run, looks) for run in values]
    of_field = {}
    for field in fields(FoldVariance):
        parts = [getattr(of_run, field.name) for of_run in of_runs]
        if parts[0] is not None:
            of_field[field.name] = np.concatenate(parts)
    return FoldVariance(**of_field)


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
    """How often a score was within the tolerance, and folds."""
    return bold_where(kept.within < KEPT, f"{percent(kept.within)} ({kept.folds:.2f})")


def print_stops() -> None:
    """Whether intervals hold where the paper's rule stops, on normal scores."""
    print_head(["stop after", "share of runs", "Student's t holds", "`stop_interval` holds"])
    for coverage in coverage_by_stop(1e-4, 0.01, runs=500_000):
        shares = [coverage.share, coverage.t_interval_holds, coverage.look_interval_holds]
        print_row([coverage.stop or "**any**", *map(percent, shares)])


def main() -> None:
    """Measure and print."""
    print_adversaries()
    print_stops()


if __name__ == "__main__":
    main()
