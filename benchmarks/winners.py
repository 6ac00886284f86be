"""What is said of a winner: whom it is as good as.

    python -m benchmarks.winners                  two, four and twelve contenders, some minutes
    python -m benchmarks.winners --runs 50        fewer selections of each kind

The first of the contenders is better than all others, which are equal, by 0.5, 1, 2 or 3 times the
indifference. "As good as" is false of two whose means of all folds, or whose true means, differ by
more than the indifference.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from itertools import product
from typing import get_args

import numpy as np

from ecv_core.records.run import Scores
from ecv_core.selection.replay import play
from ecv_core.selection.rounds import Terms, Until

K = 10
USERS = 500
MEAN = 0.5
INDIFFERENCE = 0.01
"""The margin is this share of the leader's mean."""
GAPS = (0.5, 1.0, 2.0, 3.0)
"""Of the others to the best, in margins."""
COUNTS = (2, 4, 12)
"""Of contenders."""


@dataclass(frozen=True)
class Kind:
    """How scores vary about their true mean."""

    spread: float
    """Standard deviation of a user's score in a fold, each contender's own."""
    fold_noise: float
    """Variance that all users of a contender's fold share, as a multiple of what the users
    contribute to that of the fold's mean."""


KINDS = (Kind(0.02, 0.0), Kind(0.1, 0.0), Kind(0.03, 3.0))


def made(means: list[float], kind: Kind, rng: np.random.Generator) -> list[Scores]:
    """Contenders with these true means."""
    taste = rng.normal(0, kind.spread, USERS)
    contenders = []
    for place, mean in enumerate(means):
        values = mean + taste + rng.normal(0, kind.spread, (K, USERS))
        luck = rng.normal(0, np.sqrt(kind.fold_noise * kind.spread**2 / USERS), (K, 1))
        values = values + luck
        contenders.append(Scores(name=f"c{place}", folds=values.mean(axis=1), users=values))
    return contenders


@dataclass
class Tally:
    """What was said in some selections, as counts of them."""

    said: int = 0
    """That at least one is as good as another."""
    false: int = 0
    """That was false of at least one pair."""
    lost: int = 0
    """Another was ahead of the winner by more than the indifference."""
    folds: int = 0
    """Of all contenders."""


def tally(count: int, gap: float, kind: Kind, until: Until, runs: int, seed: int) -> Tally:
    """What selections of so many contenders say, the first ahead of the others by the gap."""
    rng = np.random.default_rng(seed)
    terms = Terms(k=K, indifference=INDIFFERENCE, until=until)
    true_means = [MEAN] + [MEAN * (1 - gap * INDIFFERENCE)] * (count - 1)
    total = Tally()
    for _ in range(runs):
        contenders = made(true_means, kind, rng)
        played = play(contenders, terms, range(K))
        verdict = played.verdict
        means = np.array([contender.folds.mean() for contender in contenders])
        margin = INDIFFERENCE * means[verdict.winner]
        total.said += len(verdict.equivalent) > 0
        for pair in verdict.equivalent:
            first, second = pair
            false_of_folds = abs(means[first] - means[second]) > margin
            false_of_truth = gap > 1 and 0 in pair
            if false_of_folds or false_of_truth:
                total.false += 1
                break
        total.lost += bool(means.max() - means[verdict.winner] > margin)
        total.folds += sum(played.folds_used)
    return total


def print_indifference(runs: int, seed: int) -> None:
    """How often "as good as" is said, and how often it is false; a row for each kind of data."""
    sys.stdout.write(
        "| until | contenders | gap, margins | spread of a user | fold noise | said | false "
        "| lost more | folds |\n|---|---|---|---|---|---|---|---|---|\n"
    )
    for until, count, gap, kind in product(get_args(Until), COUNTS, GAPS, KINDS):
        total = tally(count, gap, kind, until, runs, seed)
        said = 100 * total.said / runs
        false = 100 * total.false / runs
        lost = 100 * total.lost / runs
        folds = 100 * total.folds / runs / count / K
        sys.stdout.write(
            f"| {until} | {count} | {gap:g} | {kind.spread:g} | x{kind.fold_noise:g} "
            f"| {said:.1f} % | {false:.1f} % | {lost:.1f} % | {folds:.0f} % |\n"
        )
        sys.stdout.flush()


def main() -> None:
    """What the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print_indifference(options.runs, options.seed)


if __name__ == "__main__":
    main()
