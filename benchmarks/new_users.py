"""Does the interval for new users hold, and how wide is it?

    python -m benchmarks.new_users                 the recorded runs, some minutes
    python -m benchmarks.new_users --draws 100     fewer drawn groups of users
    python -m benchmarks.new_users --refit ml-100k ease --users 300 --draws 60
    python -m benchmarks.new_users --refit ml-1m item-knn --split random-holdout --draws 60

Of every recorded run some of its users are drawn, with replacement, and some of its folds: their
interval has to hold the mean of all users and folds. With --refit users of a dataset are drawn, the
model is trained on them alone, and the interval has to hold the mean of all such draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import ecv_core as ecv
from ecv_core import evaluation, models, splits
from ecv_core.records.interactions import Interactions
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
                held.setdefault((users, folds), {})[name] = 100 * count / draws
    print("| users drawn | folds | held on average | least of the runs | width, to a plain one |")
    print("|---|---|---|---|---|")
    for (users, folds), shares in held.items():
        least = min(shares, key=shares.__getitem__)
        print(
            f"| {users} | {folds} | {np.mean(list(shares.values())):.1f} % "
            f"| {shares[least]:.1f} % ({least}) | {np.mean(widths[users, folds]):.2f} |"
        )


def subset(data: Interactions, users: NDArray[np.intp]) -> Interactions:
    """The interactions of some users, who are numbered anew."""
    users = np.sort(users)
    number = np.full(data.n_users, -1, dtype=np.int32)
    number[users] = np.arange(len(users), dtype=np.int32)
    rows = np.flatnonzero(number[data.users] >= 0)
    taken = data.take(rows)
    return replace(taken, users=number[taken.users], user_ids=data.user_ids[users])


def refitted_table(
    data: Interactions, algorithm: str, split: str, seed: int
) -> NDArray[np.float64]:
    """nDCG@10 of each user in each of ten folds, of a model trained on these users alone."""
    folds = splits.split(data, split, 10, seed)
    table = np.full((10, data.n_users), np.nan)
    known = models.algorithm(algorithm)
    for fold in range(10):
        matrices = splits.fold_matrices(data, folds, fold)
        model = known.build(dict(known.resolve({})))
        model.fit(matrices.train, seed=seed)
        result = evaluation.evaluate(
            model, matrices.train, matrices.held_out, [10], metrics=["ndcg"]
        )
        table[fold, result.users] = result.of("ndcg@10")
    return table


def print_refitted(
    dataset: str, algorithm: str, split: str, users: int, draws: int, seed: int
) -> None:
    """The share of draws whose interval holds the mean of all draws."""
    data = ecv.load(dataset)
    rng = np.random.default_rng(seed)
    tables = []
    for draw in range(draws):
        chosen = rng.permutation(data.n_users)[:users]
        tables.append(refitted_table(subset(data, chosen), algorithm, split, draw))
    truth = float(np.mean([np.nanmean(table, axis=1).mean() for table in tables]))
    print(f"{algorithm} on {users} users of {dataset}, {split}, {draws} draws, mean {truth:.4f}")
    for folds in FOLDS:
        held = 0
        for table in tables:
            interval = ecv.new_data_interval(table[rng.permutation(10)[:folds]])
            held += interval.low <= truth <= interval.high
        print(f"after {folds} folds: held in {100 * held / draws:.1f} %")


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--refit", nargs=2, metavar=("DATASET", "ALGORITHM"))
    parser.add_argument("--users", type=int, default=300)
    parser.add_argument("--split", default="user-k-fold")
    options = parser.parse_args()
    if options.refit:
        dataset, algorithm = options.refit
        print_refitted(
            dataset, algorithm, options.split, options.users, options.draws, options.seed
        )
    else:
        print_recorded(options.draws, options.seed)


if __name__ == "__main__":
    main()
