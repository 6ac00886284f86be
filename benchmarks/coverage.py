"""Do intervals keep their promise: the precision rule's, and Student's t where a rule stopped?

python -m benchmarks.coverage             prints the tables of docs/method.md, in some minutes
python -m benchmarks.coverage --recorded  only those of recorded runs, in half a minute

Recorded runs: in how many orders of the folds the score at the stop is within the tolerance,
exactly. Adversaries: made scores of users in folds, 2,000 runs each, of models whose training adds
nothing and of models whose training adds as much as users do; users alone make a fold's mean vary
by a quarter to twice the tolerance, and the worst of these sizes is told. Then how often a broken
fold, a drift and fold effects are said; and the paper's rule on normal scores, fold by fold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from ecv_core.analysis.exploration import explore
from ecv_core.models import ALGORITHMS
from ecv_core.records.run import Scores, by_cluster
from ecv_core.stopping.fold_variance import UNSTABLE, FoldVariance, fold_variance
from ecv_core.stopping.odd_folds import FALSE_ALARM, drift_p_value, far_fold_p_values
from ecv_core.store.recorded import FOLDER, recorded_runs
from ecv_core.store.results import Results
from pages.learn.material.misleading_scores import coverage_by_stop

TOLERANCES = (0.02, 0.03, 0.05)
PROMISED = 0.95
K = 10
RUNS = 2000
KEPT = 0.93
"""Less than this is bold: there the promise breaks."""
_AT_ONCE = 250
Floats = NDArray[np.float64]
Maker = Callable[[np.random.Generator, int, float], Floats]


# Adversaries: scores of users in folds, shape (runs, K, users), with a mean of about 1 except where
# a metric is one of zeros and ones. `spread` is the standard deviation of a fold's mean that users
# alone make.


def _calm(rng: np.random.Generator, runs: int, spread: float, users: int = 100) -> Floats:
    noise = rng.standard_normal((runs, K, users)) + rng.standard_normal((runs, 1, users))
    values: Floats = 1 + spread * np.sqrt(users) * noise
    return values


def _common(times: float, rng: np.random.Generator, runs: int, spread: float) -> Floats:
    """All users of a fold share something, with so many times the variance that users make."""
    shared = np.sqrt(times) * spread * rng.standard_normal((runs, K, 1))
    values: Floats = _calm(rng, runs, spread) + shared
    return values


def _heavy(rng: np.random.Generator, runs: int, spread: float) -> Floats:
    """A few users score a hundred times what most do: lognormal with sigma 1.5."""
    users, sigma = 100, 1.5
    noise = rng.lognormal(0.0, sigma, (runs, K, users))
    middle, deviation = np.exp(sigma**2 / 2), np.sqrt(np.expm1(sigma**2) * np.exp(sigma**2))
    values: Floats = 1 + spread * np.sqrt(users) * (noise - middle) / deviation
    return values


def _clusters(rng: np.random.Generator, runs: int, spread: float) -> Floats:
    """20 clusters of 50 users, who share a fifth of what varies: 10.8 times the variance."""
    clusters, size = 20, 50
    together = 0.5 * rng.standard_normal((runs, K, clusters)).repeat(size, axis=2)
    own = rng.standard_normal((runs, K, clusters * size))
    values: Floats = 1 + spread * np.sqrt(clusters * size / 1.25) * (together + own)
    return values


def _named(
    make: Maker, sizes: Sequence[int], rng: np.random.Generator, runs: int, spread: float
) -> Floats:
    """The same runs, where the data name the clusters: of these sizes, one after the other."""
    values = make(rng, runs, spread)
    rows = values.reshape(runs * K, -1)
    _, told = by_cluster(rows, np.arange(len(sizes), dtype=np.int32).repeat(sizes))
    return told.reshape(runs, K, -1)


def _rare(rng: np.random.Generator, runs: int, _spread: float) -> Floats:
    """A hit for one user in 25, of 50 users."""
    return (rng.random((runs, K, 50)) < 0.04).astype(np.float64)


def _ties(rng: np.random.Generator, runs: int, _spread: float) -> Floats:
    """200 users, each of whom scores the same in every fold but for one in a hundred times."""
    usual = rng.random((runs, 1, 200)) < 0.3
    return (usual ^ (rng.random((runs, K, 200)) < 0.01)).astype(np.float64)


def _drifting(rng: np.random.Generator, runs: int, spread: float) -> Floats:
    """Scores rise by 12 % from the first fold to the last."""
    return _calm(rng, runs, spread) + 0.12 * (np.arange(K) / (K - 1) - 0.5)[None, :, None]


def _broken(rng: np.random.Generator, runs: int, spread: float) -> Floats:
    """One fold, any of them, scores 40 % below the others."""
    values = _calm(rng, runs, spread)
    values[np.arange(runs), rng.integers(K, size=runs)] -= 0.4
    return values


SIZES = (0.25, 0.4, 0.5, 0.7, 1.0, 1.5)
"""Standard deviations of the users' part, in the tolerance."""
ADVERSARIES: dict[str, tuple[Maker, Sequence[float]]] = {
    "users explain all": (_calm, SIZES),
    **{f"fold effect x{times}": (partial(_common, times), SIZES) for times in (1, 3, 10, 30)},
    "heavy-tailed users": (_heavy, SIZES),
    "20 clusters of users": (_clusters, SIZES),
    "20 clusters, named": (partial(_named, _clusters, [50] * 20), SIZES),
    "rare 0/1 metric, 50 users": (_rare, (1.0,)),
    "ties: users score alike": (_ties, (1.0,)),
    "drift in the order of folds": (_drifting, (0.25, 0.5)),
    "one of ten folds broken": (_broken, (0.25, 0.5)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
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
    """
    runs, k, users = values.shape
    observed = running(values.mean(axis=2))[1]
    about = values - values.mean(axis=1, keepdims=True)
    totals, squares = np.cumsum(about, axis=1), np.cumsum(about**2, axis=1)
    n = np.arange(1.0, k + 1)
    within = (squares - totals**2 / n[None, :, None]).sum(axis=2)
    freedom = np.broadcast_to((n - 1) * users, (runs, k)).copy()
    within[:, 0] = values[:, 0].var(axis=1) * users
    freedom[:, 0] = users - 1
    span = np.maximum(1.0, np.abs(values).max(axis=(1, 2)))[:, None]
    return FoldVariance(
        sizes=np.broadcast_to(np.arange(1, k + 1), (runs, k)).ravel(),
        by_users=(np.where(within > 1e-12 * span**2, within, span**2) / freedom / users).ravel(),
        users_freedom=freedom.ravel(),
        of_fold_means=observed.ravel(),
    )


def faced(
    make: Maker,
    size: float,
    *,
    training: float = 0.0,
    tolerance: float = 0.03,
    runs: int = RUNS,
    seed: int = 0,
) -> Kept:
    """The precision rule against an adversary.

    Args:
        make: draws its runs.
        size: standard deviation of a fold's mean that users alone make, in the tolerance.
        training: variance that training adds to a fold's mean, in that of the users' part.
        tolerance: what is asked for.
        runs: how many.
        seed: of the draws.
    """
    rng = np.random.default_rng(seed)
    found: list[dict[str, float]] = []
    while len(found) * _AT_ONCE < runs:
        values = make(rng, _AT_ONCE, size * tolerance)
        if training:
            users = levels(values).by_users.reshape(-1, K)[:, -1, None, None]
            values = values + np.sqrt(training * users) * rng.standard_normal((_AT_ONCE, K, 1))
        found.append(_faced(values, tolerance))
    return Kept(**{name: float(np.mean([one[name] for one in found])) for name in found[0]})


def _faced(values: Floats, tolerance: float) -> dict[str, float]:
    known = levels(values)
    shape = values.shape[:2]
    scores = values.mean(axis=2)
    means = running(scores)[0]
    half = known.half_widths(K, PROMISED).reshape(shape)
    with np.errstate(invalid="ignore"):
        stops = half <= tolerance * np.abs(means)
    stops[:, -1] = True
    at = stops.argmax(axis=1)
    last = means[:, -1]
    off = np.abs(means - last[:, None])
    so_far = np.arange(K) <= at[:, None]
    doubted = np.zeros(shape, dtype=np.bool_)
    users = known.by_users.reshape(shape)
    for n in range(3, K + 1):
        likely = np.minimum(
            far_fold_p_values(scores[:, :n], users[:, n - 1]).min(axis=1),
            drift_p_value(scores[:, :n], users[:, n - 1]),
        )
        doubted[:, n - 1] = likely < FALSE_ALARM / 10
    unstable = known.p_values.reshape(shape) < UNSTABLE
    rows = np.arange(len(means))
    return {
        "within": (off[rows, at] <= tolerance * np.abs(last)).mean(),
        "folds": at.mean() + 1,
        "always": (off <= half * (1 + 1e-9)).all(axis=1).mean(),
        "unstable": (unstable & so_far).any(axis=1).mean(),
        "doubted": (doubted & so_far).any(axis=1).mean(),
        "doubted_at_all": doubted.any(axis=1).mean(),
    }


def running(scores: Floats) -> tuple[Floats, Floats]:
    """Mean and variance (NaN for one) of the first n scores of each row; shapes as the scores."""
    n = np.arange(1.0, scores.shape[1] + 1)
    middle = scores.mean(axis=1, keepdims=True)
    sums = np.cumsum(scores - middle, axis=1)
    squares = np.cumsum((scores - middle) ** 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = np.maximum(squares - sums**2 / n, 0) / (n - 1)
    return middle + sums / n, variances


def recorded(folder: Path = FOLDER) -> dict[str, Scores]:
    """The runs of a folder that have per-user scores, by name."""
    found = {}
    for run in recorded_runs(folder):
        scores = Results(None, folder=folder).scores(run)
        if scores.users is not None:
            usual = ALGORITHMS[run.spec.algorithm].resolve({})
            set_to = [
                f"{name} {value}" for name, value in run.spec.params if (name, value) not in usual
            ]
            found[", ".join([run.spec.dataset, run.spec.algorithm, *set_to])] = scores
    return found


def over_orders(
    scores: Scores, tolerances: Sequence[float] = TOLERANCES
) -> list[tuple[float, float]]:
    """At each tolerance: share of the orders of the folds that end within, and mean folds used."""
    walk = explore(scores, "precision", confidence=PROMISED)
    found = [walk.at(one, within_percent=100 * one) for one in tolerances]
    return [(one.within or 0.0, one.mean_stop) for one in found]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table as documents have it."""
    lines = [heads, ["---"] * len(heads), *rows]
    sys.stdout.write("\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n\n")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _print_recorded() -> None:
    heads = ["run", *(f"within {100 * one:g} % (folds)" for one in TOLERANCES), "variance ratio"]
    rows, kept, used, ratios = [], [], [], []
    study = recorded()
    for name, scores in {**study, **recorded(FOLDER / "unstable")}.items():
        outcomes = over_orders(scores)
        assert scores.users is not None
        everything = np.ones((1, len(scores.folds)), dtype=np.bool_)
        known = fold_variance(scores.users, everything)
        ratio = float(known.ratios[0])
        if name in study:
            kept.append([within for within, _ in outcomes])
            used.append([folds for _, folds in outcomes])
            ratios.append(ratio)
        if name not in study or min(within for within, _ in outcomes) < PROMISED:
            cells = [f"{_percent(within)} ({folds:.2f})" for within, folds in outcomes]
            rows.append([name, *cells, f"{ratio:.2f}"])
    for word, of in (("mean", np.mean), ("least", np.min)):
        cells = [_percent(float(of(column))) for column in zip(*kept, strict=True)]
        if word == "mean":
            means = np.mean(used, axis=0)
            cells = [f"{cell} ({folds:.2f})" for cell, folds in zip(cells, means, strict=True)]
        rows.append([f"**{word} of {len(kept)} recorded runs**", *cells, f"{of(ratios):.2f}"])
    table(heads, rows)
    low, high = (float(chi2.ppf(share, K - 1)) / (K - 1) for share in (0.025, 0.975))
    sys.stdout.write(
        f"Above: the recorded runs below {PROMISED:.0%} at some tolerance, if any, and the "
        f"unstable ones. Variance ratio: of the fold means, over what users explain; chance alone "
        f"gives {low:.2f} to {high:.2f} in 95 % of runs of ten folds.\n\n"
    )


def _print_adversaries() -> None:
    heads = ["adversary", "training adds nothing (folds)", "as much as users do (folds)"]
    heads += ["every look holds", "said: folds differ", "said: far off or drift", "once all ran"]
    rows = []
    for name, (make, sizes) in ADVERSARIES.items():
        cells, worst = [], []
        for training in (0.0, 1.0):
            outcomes = [faced(make, size, training=training) for size in sizes]
            worst.append(min(outcomes, key=lambda one: one.within))
            text = f"{_percent(worst[-1].within)} ({worst[-1].folds:.2f})"
            cells.append(text if worst[-1].within >= KEPT else f"**{text}**")
        told = worst[0]
        cells += map(_percent, (told.always, told.unstable, told.doubted, told.doubted_at_all))
        rows.append([name, *cells])
    table(heads, rows)


def _print_stops() -> None:
    heads = ["stop after", "share of runs", "Student's t holds", "allowing for the stop"]
    rows = [
        [
            str(one.stop or "**any**"),
            *map(_percent, (one.share, one.t_interval_holds, one.look_interval_holds)),
        ]
        for one in coverage_by_stop(1e-4, 0.01, runs=500_000)
    ]
    table(heads, rows)


def main() -> None:
    """Measure and print."""
    _print_recorded()
    if "--recorded" not in sys.argv[1:]:
        _print_adversaries()
        _print_stops()


if __name__ == "__main__":
    main()
