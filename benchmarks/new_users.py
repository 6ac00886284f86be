"""Does the interval for new users hold?

python -m benchmarks.new_users [--draws 1000] [--seed 1]      some minutes

Of every recorded run some of its users are drawn, with replacement, and some of its folds: their
interval has to hold the mean of all users and folds.
"""

from __future__ import annotations

import argparse
from itertools import chain
from statistics import fmean

import numpy as np

import ecv_core as ecv
from benchmarks.tables import percent, print_head, print_row
from ecv_core.selection.contenders import recorded_contenders

FOLDS = (1, 3, 4, 10)
USERS = (200, 500)


def main() -> None:
    """The share of draws that is held, on average over the runs and at least."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    held: dict[tuple[int, int], dict[str, float]] = {}
    for scores in chain.from_iterable(recorded_contenders().values()):
        assert scores.users is not None  # as of all recorded runs
        name = f"{scores.dataset}, {scores.algorithm}"
        truth = float(np.nanmean(scores.users, axis=1).mean())
        for users in USERS:
            for folds in FOLDS:
                count = 0
                for _ in range(options.draws):
                    rows = rng.permutation(scores.k)[:folds]
                    columns = rng.integers(scores.users.shape[1], size=users)
                    interval = ecv.new_data_interval(scores.users[np.ix_(rows, columns)])
                    count += interval.low <= truth <= interval.high
                held.setdefault((users, folds), {})[name] = count / options.draws
    print_head(["users drawn", "folds", "held on average", "least of the runs"])
    for (users, folds), shares in held.items():
        least = min(shares, key=shares.__getitem__)
        average = percent(fmean(shares.values()))
        print_row([users, folds, average, f"{percent(shares[least])} ({least})"])


if __name__ == "__main__":
    main()
