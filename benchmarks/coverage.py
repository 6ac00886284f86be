"""Do intervals keep their promise: the precision rule's, and Student's t where a rule stopped?

python -m benchmarks.coverage             prints the tables of docs/method.md, in some minutes
python -m benchmarks.coverage --recorded  only those of recorded runs, in half a minute
python -m benchmarks.coverage --trade-off folds on recorded runs against what other priors hold
python -m benchmarks.coverage --optimum   the fewest folds that any stopping could take

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
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit
from scipy.stats import chi2

import ecv_core.stopping.fold_variance as variance
from ecv_core.analysis.exploration import explore
from ecv_core.models import ALGORITHMS
from ecv_core.records.run import Scores, by_cluster
from ecv_core.stopping.fold_variance import UNSTABLE, FoldVariance, fold_variance
from ecv_core.stopping.odd_folds import FALSE_ALARM, drift, far_off
from ecv_core.store.recorded import FOLDER, recorded_runs
from ecv_core.store.results import Results
from pages.learn.material.misleading_scores import at_the_stop

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
        users=(np.where(within > 1e-12 * span**2, within, span**2) / freedom / users).ravel(),
        users_freedom=freedom.ravel(),
        observed=observed.ravel(),
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
            users = levels(values).users.reshape(-1, K)[:, -1, None, None]
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
    users = known.users.reshape(shape)
    for n in range(3, K + 1):
        likely = np.minimum(
            far_off(scores[:, :n], users[:, n - 1]).min(axis=1),
            drift(scores[:, :n], users[:, n - 1]),
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
        ratio = float(known.observed[0] / known.users[0])
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


Half = Callable[[FoldVariance], Floats]
"""Half widths for K folds."""


def _with_prior(shared: float) -> Half:
    """The precision rule's, with another probability that folds share something."""
    count = len(variance._EFFECTS) - 1
    prior = np.concatenate([[1 - shared], np.full(count, shared / count)])
    with np.errstate(divide="ignore"), patch.object(variance, "_PRIOR", prior):
        error = min(variance.simulated_look_error(K, PROMISED, runs=200_000), 1 - PROMISED)

    def half(known: FoldVariance) -> Floats:
        with (
            np.errstate(divide="ignore"),
            patch.multiple(variance, _PRIOR=prior, look_error=lambda k, confidence: error),
        ):
            return known.half_widths(K, PROMISED)

    return half


def _moderated(d0: float) -> Half:
    """Student's t with the variance (d0 u + (e - 1) s2) / (d0 + e - 1), all looks together."""

    def parts(known: FoldVariance) -> tuple[Floats, Floats]:
        more: Floats = known.sizes.astype(np.float64) - 1
        sum_of = d0 * known.users + more * np.where(more > 0, known.observed, 0.0)
        left = np.maximum(1 / known.sizes - 1 / K, 0)
        error: Floats = np.sqrt(sum_of / (d0 + more) * left)
        return error, d0 + more

    scores = np.random.default_rng(1).standard_normal((100_000, K))
    means, observed = running(scores)
    error, freedom = parts(_known(np.ones_like(scores), observed))
    off = np.abs(means - means[:, -1:])
    with np.errstate(invalid="ignore", divide="ignore"):
        likely = 2 * stdtr(freedom, -off.ravel() / error).reshape(scores.shape)
    level = float(np.quantile(likely[:, :-1].min(axis=1), 1 - PROMISED))

    def half(known: FoldVariance) -> Floats:
        error, freedom = parts(known)
        found: Floats = -stdtrit(freedom, level / 2) * error
        return found

    return half


def _known(users: Floats, observed: Floats) -> FoldVariance:
    """After 1 to K folds of each run, users known exactly; shapes (runs, K)."""
    return FoldVariance(
        sizes=np.broadcast_to(np.arange(1, K + 1), users.shape).ravel(),
        users=users.ravel(),
        users_freedom=np.full(users.size, 1e9),
        observed=observed.ravel(),
    )


def _stopped(means: Floats, half: Floats, tolerance: float) -> tuple[float, float]:
    """Share of runs within the tolerance at the stop, and mean folds; arrays (runs, K)."""
    with np.errstate(invalid="ignore"):
        stops = half <= tolerance * np.abs(means)
    stops[:, -1] = True
    at = stops.argmax(axis=1)
    off = np.abs(means[np.arange(len(means)), at] - means[:, -1])
    return float((off <= tolerance * np.abs(means[:, -1])).mean()), float(at.mean() + 1)


def _print_trade_off(tolerance: float = 0.03, orders: int = 500, runs: int = 2000) -> None:
    """What each bound costs on recorded runs, and holds there and against fold effects."""
    rng = np.random.default_rng(0)
    every = np.array([rng.permutation(K) for _ in range(orders)])
    sets = np.cumsum(1 << every, axis=1) - 1
    chosen = ((np.arange(1, 2**K)[:, None] >> np.arange(K)) & 1).astype(np.bool_)
    cells = []
    for scores in recorded().values():
        assert scores.users is not None
        means = (chosen @ scores.folds) / chosen.sum(axis=1)
        cells.append((means[sets], fold_variance(scores.users, chosen)))
    bounds = {f"prior probability {one:g}": _with_prior(one) for one in (0, 0.05, 0.1, 0.2, 0.3)}
    bounds |= {f"moderated, d0 = {one}": _moderated(one) for one in (6, 12, 24)}
    heads = [
        "bound for all looks",
        "folds at 3 %",
        "least of the runs",
        "worst of x3",
        "x10",
        "x30",
    ]
    rows = []
    for name, half in bounds.items():
        kept = [_stopped(means, half(known)[sets], tolerance) for means, known in cells]
        cols = [f"{np.mean([folds for _, folds in kept]):.2f}"]
        cols.append(_percent(min(within for within, _ in kept)))
        for times in (3, 10, 30):
            worst = 1.0
            for size in SIZES:
                spread = size * tolerance
                noise = rng.standard_normal((runs, K)) * spread * np.sqrt(1 + times)
                means, observed = running(1 + noise)
                known = _known(np.full((runs, K), spread**2), observed)
                found = _stopped(means, half(known).reshape(means.shape), tolerance)
                worst = min(worst, found[0])
            cols.append(_percent(worst))
        rows.append([name, *cols])
    table(heads, rows)


SIZES_OF_OPTIMUM = (0.2, 0.25, 0.35, 0.45, 0.55, 0.65, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2.4, 3.2)
_SHARED_EFFECTS = np.array([0, 0.5, 1, 2, 4, 7, 11])
"""What folds add to the users' part, in that; the last is x10 with as much training as users."""
_MAY_ERR = np.array([1 - PROMISED, *[1 - KEPT] * 6])
_RATIOS = np.concatenate([[0], np.geomspace(1e-3, 3000, 400)])
"""Sums of squares of the fold means about their mean, over the users' part of one."""
_STEPS = np.concatenate([np.linspace(0, 4, 40, endpoint=False), np.linspace(4, 30, 60)])
"""Square roots of what one more fold adds to them."""


class _Means:
    """Made fold means of which users explain all; shapes (runs, K)."""

    def __init__(self, runs: int, seed: int = 0) -> None:
        self.scores = np.random.default_rng(seed).standard_normal((runs, K))
        means, variances = running(self.scores)
        self.off = np.abs(means - means[:, -1:])
        self.squares = np.nan_to_num(variances) * np.arange(K)

    def outcome(self, stops: NDArray[np.bool_], size: float) -> tuple[Floats, float]:
        """How often each effect ends farther off than the tolerance; and folds without effect.

        Args:
            stops: whether to stop after 1 to K folds at each of _RATIOS; shape (K, ratios).
            size: of the users' part, in the tolerance.
        """
        errors, folds = [], 0.0
        for effect in _SHARED_EFFECTS:
            places = np.searchsorted(_RATIOS, self.squares * (1 + effect), side="right") - 1
            at = stops[np.arange(K), places].argmax(axis=1)
            off = self.off[np.arange(len(at)), at] * np.sqrt(1 + effect) * size
            errors.append((off > 1).mean())
            folds = folds or float(at.mean() + 1)
        return np.array(errors), folds


def _best_stops(size: float, prices: Floats) -> NDArray[np.bool_]:
    """Where to stop for the fewest folds without effect, plus a price for each effect's errors.

    Backward induction (Chow, Robbins, Siegmund 1971): the sum of squares and the number of folds
    tell all there is to know, and one more fold adds (1 + r) times a chi-squared variable.
    """
    e = np.arange(1, K + 1)[:, None]
    with np.errstate(divide="ignore"):
        errors = 2 * ndtr(-1 / (size * np.sqrt((1 + _SHARED_EFFECTS) * (1 / e - 1 / K))))
    after = _RATIOS[:, None] + _STEPS**2
    low = np.clip(np.searchsorted(_RATIOS, after, side="right") - 1, 0, len(_RATIOS) - 2)
    part = np.clip((after - _RATIOS[low]) / (_RATIOS[low + 1] - _RATIOS[low]), 0, 1)
    weight = np.gradient(_STEPS) * np.sqrt(2 / np.pi)
    weight[[0, -1]] /= 2
    stops, rest = np.ones((K, len(_RATIOS)), dtype=np.bool_), np.zeros(len(_RATIOS))
    effects = 1 + _SHARED_EFFECTS[:, None]
    for n in range(K - 1, 0, -1):
        likely = effects ** (-(n - 1) / 2) * np.exp(-_RATIOS / 2 / effects)
        go_on = likely[0] + ((rest[low] * (1 - part) + rest[low + 1] * part) * weight).sum(axis=1)
        stop = (prices * errors[n - 1]) @ likely
        stops[n - 1] = stop <= go_on
        rest = np.minimum(stop, go_on)
    return stops


def _fewest_folds(made: _Means, size: float, tries: int = 16) -> float:
    """The fewest folds without effect of which every effect is kept; the prices are searched."""
    rng, best, share = np.random.default_rng(1), float(K), np.full(len(_MAY_ERR), 1 / 7)
    for n in range(tries):
        prices = rng.dirichlet(np.full(len(share), 0.5)) if 0 < n < tries // 2 else share
        if n >= tries // 2:
            prices = share * np.exp(0.6 * rng.standard_normal(len(share)))
        low, high = np.log(0.3), np.log(3e4)
        for _ in range(9):
            middle = (low + high) / 2
            errors, folds = made.outcome(_best_stops(size, prices * np.exp(middle)), size)
            kept = (errors <= _MAY_ERR).all()
            low, high = (low, middle) if kept else (middle, high)
            if kept and folds < best:
                best, share = folds, prices
    return best


def _print_optimum(tolerance: float = 0.03, runs: int = 10_000) -> None:
    """Folds of the precision rule beside the fewest that could keep 93 %, by size."""
    made, rows, ours, fewest = _Means(runs), [], [], []
    ratios = [_RATIOS / max(n - 1, 1) for n in range(1, K + 1)]
    known = FoldVariance(
        sizes=np.repeat(np.arange(1, K + 1), len(_RATIOS)),
        users=np.ones(K * len(_RATIOS)),
        users_freedom=np.full(K * len(_RATIOS), 1e9),
        observed=np.concatenate(ratios),
    )
    half = known.half_widths(K, PROMISED).reshape(K, -1)
    for size in SIZES_OF_OPTIMUM:
        errors, folds = made.outcome(half * size <= 1, size)
        ours.append(folds)
        fewest.append(_fewest_folds(made, size))
        worst = int((errors - _MAY_ERR).argmax())
        kept = f"{_percent(1 - errors[worst])} (x{_SHARED_EFFECTS[worst]:g})"
        rows.append([f"{size:g}", f"{folds:.2f}", kept, f"{fewest[-1]:.2f}"])
    table(["users' part", "folds of the rule", "holds at worst", "fewest folds"], rows)
    sizes = []
    for scores in recorded().values():
        assert scores.users is not None
        users = fold_variance(scores.users, np.ones((1, K), dtype=np.bool_)).users[0]
        sizes.append(np.sqrt(users) / tolerance / abs(scores.folds.mean()))
    average = [np.interp(sizes, SIZES_OF_OPTIMUM, one).mean() for one in (ours, fewest)]
    sys.stdout.write(
        f"At the sizes of the {len(sizes)} recorded runs: {average[0]:.2f} and {average[1]:.2f}.\n"
    )


def _print_stops() -> None:
    heads = ["stop after", "share of runs", "Student's t holds", "allowing for the stop"]
    rows = [
        [str(one.stop or "**any**"), *map(_percent, (one.share, one.plain, one.wide))]
        for one in at_the_stop(1e-4, 0.01, runs=500_000)
    ]
    table(heads, rows)


def main() -> None:
    """Measure and print."""
    if "--trade-off" in sys.argv[1:]:
        _print_trade_off()
        return
    if "--optimum" in sys.argv[1:]:
        _print_optimum()
        return
    _print_recorded()
    if "--recorded" not in sys.argv[1:]:
        _print_adversaries()
        _print_stops()


if __name__ == "__main__":
    main()
