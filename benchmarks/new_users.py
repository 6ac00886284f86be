"""Does the interval for new users hold, and how wide is it?

    python -m benchmarks.new_users                 the recorded runs, some minutes
    python -m benchmarks.new_users --draws 100     fewer drawn groups of users

Of every recorded run some of its users are drawn, with replacement, and some of its folds: their
interval has to hold the mean of all users and folds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import ecv_core as ecv
from benchmarks.tables import percent, print_head, print_row
from ecv_core.store.recorded import recorded_runs, recorded_user_scores

FOLDS = (1, 3, 4, 10)
USERS = (200, 500)


def recorded_tables() -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Each recorded run that has its users' scores: name, and folds x users, NaN where absent."""
    for run in recorded_runs():
        scores = recorded_user_scores(run)
        if not run.whole or len(scores) < run.k:
            continue
        user_count = max(int(of_fold.users.max()) for of_fold in scores.values()) + 1
        table = np.full((run.k, user_count), np.nan)
        for fold, of_fold in scores.items():
            table[fold, of_fold.users] = of_fold.of(run.spec.metric_name)
        yield f"{run.spec.dataset} {run.spec.algorithm}", table


def prototype_width(table: NDArray[np.float64]) -> float:
    """How wide the interval is by users' means and folds' means alone, Student's t."""
    table = table[:, ~np.isnan(table).all(axis=0)]
    is_scored = ~np.isnan(table)
    of_user = np.nanmean(table, axis=0)
    variance = of_user.var(ddof=1) / len(of_user)
    if len(table) > 1:
        within = np.where(is_scored, table - of_user, 0.0)
        freedom = is_scored.sum() - len(of_user)
        explained = (within**2).sum() / max(1, freedom) / is_scored.sum(axis=1).mean()
        of_folds = np.nanmean(table, axis=1).var(ddof=1)
        variance += max(0.0, of_folds - explained) / len(table)
    return 2 * stats.t.ppf(0.975, len(of_user) - 1) * float(np.sqrt(variance))


def print_recorded(draws: int, seed: int) -> None:
    """The share of draws that is held, on average over the runs and at least."""
    rng = np.random.default_rng(seed)
    held: dict[tuple[int, int], dict[str, float]] = {}
    widths: dict[tuple[int, int], list[float]] = {}
    for name, table in recorded_tables():
        truth = float(np.nanmean(table, axis=1).mean())
        for users in USERS:
            for folds in FOLDS:
                count = 0
                for _ in range(draws):
                    rows = rng.permutation(len(table))[:folds]
                    drawn = table[np.ix_(rows, rng.integers(table.shape[1], size=users))]
                    interval = ecv.new_data_interval(drawn)
                    count += interval.low <= truth <= interval.high
                    plain = prototype_width(drawn)
                    if plain > 0:  # some user has a hit
                        widths.setdefault((users, folds), []).append(interval.width / plain)
                held.setdefault((users, folds), {})[name] = count / draws
    print_head(
        ["users drawn", "folds", "held on average", "least of the runs", "width, to a plain one"]
    )
    for (users, folds), shares in held.items():
        least = min(shares, key=shares.__getitem__)
        average = percent(fmean(shares.values()))
        width = fmean(widths[users, folds])
        print_row([users, folds, average, f"{percent(shares[least])} ({least})", f"{width:.2f}"])


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print_recorded(options.draws, options.seed)


if __name__ == "__main__":
    main()
