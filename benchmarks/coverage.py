"""Do intervals keep their promise: the precision rule's, and Student's t where a rule stopped?

python -m benchmarks.coverage             prints the tables of docs/method.md, in some minutes
python -m benchmarks.coverage --recorded  only those of recorded runs, in half a minute

Recorded runs: in how many orders of the folds the score at the stop is within the tolerance,
exactly. Made runs: normal fold means, with a part that users explain and a common part that they
do not, a multiple of the first; the users' part goes from a tenth to twice the tolerance, and the
worst of these is told. Then the same from users in groups of like taste; and the paper's rule on
normal scores, fold by fold.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from ecv_core.analysis.exploration import explore
from ecv_core.lessons.stops import at_the_stop
from ecv_core.models import ALGORITHMS
from ecv_core.records.run import Scores
from ecv_core.stopping.fold_variance import FoldVariance, fold_variance
from ecv_core.store.recorded import FOLDER, recorded_runs
from ecv_core.store.results import Results

TOLERANCES = (0.02, 0.03, 0.05)
PROMISED = 0.95
K = 10
SHARES = (0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0, 1.25, 1.5, 2.0)
"""Standard deviations of the users' part, in the tolerance."""
MULTIPLES = (0, 1, 3, 10, 30)
"""Variances of the common part, in those of the users' part."""
Floats = NDArray[np.float64]


def made(
    multiple: float,
    share: float,
    tolerance: float,
    *,
    random: bool,
    runs: int = 20_000,
    seed: int = 0,
) -> tuple[float, float]:
    """The precision rule on normal fold means about 1: share of runs within, mean folds used.

    Args:
        multiple: variance of what all users of a fold share, in that of the users' part.
        share: standard deviation of the users' part, in the tolerance.
        tolerance: what is asked for.
        random: what the rule is told of the model.
        runs: how many.
        seed: of the draws.
    """
    users = (share * tolerance) ** 2
    rng = np.random.default_rng(seed)
    scores = 1 + np.sqrt(users * (1 + multiple)) * rng.standard_normal((runs, K))
    means, observed = running(scores)
    known = FoldVariance(
        sizes=np.broadcast_to(np.arange(1, K + 1), scores.shape),
        users=np.full(scores.shape, users),
        users_freedom=np.full(scores.shape, 1e9),
        observed=observed,
        random=random,
    )
    return _kept(means, known.half_widths(K, PROMISED), tolerance)


def made_of_groups(
    share: float, tolerance: float, *, random: bool, runs: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """As `made`, from 20 groups of 50 users; a fifth of what varies is common to a group.

    So a fold's mean varies 10.8 times as much as independent users would let it.
    """
    rng = np.random.default_rng(seed)
    groups, size = 20, 50
    spread = share * tolerance * np.sqrt(groups * size / 1.25)
    sets = np.tri(K, dtype=np.bool_)
    kept, used = 0.0, 0.0
    for _ in range(runs):
        together = 0.5 * rng.standard_normal((K, groups)).repeat(size, axis=1)
        own = rng.standard_normal((K, groups * size)) + rng.standard_normal(groups * size)
        values = 1 + spread * (together + own)
        half = fold_variance(values, sets, random=random).half_widths(K, PROMISED)
        good, folds = _kept(running(values.mean(axis=1)[None])[0], half[None], tolerance)
        kept, used = kept + good / runs, used + folds / runs
    return kept, used


def running(scores: Floats) -> tuple[Floats, Floats]:
    """Mean and variance (NaN for one) of the first n scores of each row; shapes as the scores."""
    n = np.arange(1.0, scores.shape[1] + 1)
    middle = scores.mean(axis=1, keepdims=True)
    sums = np.cumsum(scores - middle, axis=1)
    squares = np.cumsum((scores - middle) ** 2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        variances = np.maximum(squares - sums**2 / n, 0) / (n - 1)
    return middle + sums / n, variances


def _kept(means: Floats, half: Floats, tolerance: float) -> tuple[float, float]:
    stops = half <= tolerance * np.abs(means)
    stops[:, -1] = True
    at = stops.argmax(axis=1)
    last = means[:, -1]
    off = np.abs(means[np.arange(len(means)), at] - last)
    return float((off <= tolerance * np.abs(last)).mean()), float(at.mean() + 1)


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
        known = fold_variance(scores.users, everything, random=scores.random)
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


def _print_made() -> None:
    heads = ["made runs", *(f"x{multiple}" for multiple in MULTIPLES), "20 groups"]
    rows = []
    for random in (True, False):
        for tolerance in (0.02, 0.05):
            cells = []
            for multiple in MULTIPLES:
                outcomes = [made(multiple, one, tolerance, random=random) for one in SHARES]
                cells.append(_percent(min(within for within, _ in outcomes)))
            groups = [made_of_groups(one, tolerance, random=random) for one in SHARES[2:11:2]]
            cells.append(_percent(min(within for within, _ in groups)))
            what = "random numbers" if random else "none"
            rows.append([f"model draws {what}, tolerance {100 * tolerance:g} %", *cells])
    table(heads, rows)


def _print_stops() -> None:
    heads = ["stop after", "share of runs", "Student's t holds", "allowing for the stop"]
    rows = [
        [str(one.stop or "**any**"), *map(_percent, (one.share, one.plain, one.wide))]
        for one in at_the_stop(1e-4, 0.01)
    ]
    table(heads, rows)


def main() -> None:
    """Measure and print."""
    _print_recorded()
    if "--recorded" not in sys.argv[1:]:
        _print_made()
        _print_stops()


if __name__ == "__main__":
    main()
