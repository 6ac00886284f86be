"""What is said of a winner: whom it is as good as, and how good it is on new users.

    python -m benchmarks.winners [--runs 200]     two, four and twelve contenders, some minutes
    python -m benchmarks.winners --new-users      the best of 50 on new users

The first of the contenders is better than all others, which are equal, by 0.5, 1, 2 or 3 times the
indifference. "As good as" is false of two whose means of all folds differ by more than the
indifference; whose true means do is counted apart, for it speaks of these folds.

With --new-users the best of many contenders is picked, and its mean, its mean corrected for all
folds and its interval are set beside its true mean for new users, that is over users without end.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import NamedTuple, get_args

import numpy as np

from benchmarks.tables import percent, print_head, print_row
from ecv_core.records.run import Scores
from ecv_core.selection.document import winner_new_data
from ecv_core.selection.replay import select_in_order
from ecv_core.selection.rounds import Terms, Until
from ecv_core.stopping.new_data import new_data_interval

K = 10
USERS = 500
MEAN = 0.5
INDIFFERENCE = 0.01
"""The margin is this share of the leader's mean."""
GAPS = (0.5, 1.0, 2.0, 3.0)
"""Of the others to the best, in margins."""
COUNTS = (2, 4, 12)
"""Of contenders."""


class Kind(NamedTuple):
    """How scores vary about their true mean."""

    spread: float
    """Standard deviation of a user's score in a fold, each contender's own."""
    fold_noise: float
    """Variance that all users of a contender's fold share, as a multiple of what the users
    contribute to that of the fold's mean."""


KINDS = (Kind(0.02, 0.0), Kind(0.1, 0.0), Kind(0.03, 3.0), Kind(0.05, 10.0))
NEW_USERS_TERMS = (Terms(k=K), Terms(k=K, expected_loss=0.01))


def made(
    means: list[float], kind: Kind, rng: np.random.Generator, own_taste: float = 0.0
) -> list[Scores]:
    """Contenders with these true means.

    Args:
        means: of the contenders.
        kind: of their scores.
        rng: to draw with.
        own_taste: standard deviation of what a user has with one contender in every fold.
    """
    taste = rng.normal(0, kind.spread, USERS)
    contenders = []
    for place, mean in enumerate(means):
        of_contender = rng.normal(0, own_taste, USERS)
        values = mean + taste + of_contender + rng.normal(0, kind.spread, (K, USERS))
        luck = rng.normal(0, np.sqrt(kind.fold_noise * kind.spread**2 / USERS), (K, 1))
        values = values + luck
        contenders.append(Scores(name=f"c{place}", folds=values.mean(axis=1), users=values))
    return contenders


class Said(NamedTuple):
    """What was said in a selection; over several of them, shares."""

    said: float
    """That at least one is as good as another."""
    false: float
    """That was false of at least one pair, by the means of all folds."""
    false_in_truth: float
    """That was false of at least one pair, by their true means, of which folds vary."""
    lost: float
    """Another was ahead of the winner by more than the indifference."""
    folds: float
    """Share of all folds that were run."""


def said_once(contenders: list[Scores], gap: float, terms: Terms) -> Said:
    """What a selection says of contenders, the first of which is truly ahead by the gap."""
    result = select_in_order(contenders, terms, range(K))
    verdict = result.verdict
    means = np.array([contender.folds.mean() for contender in contenders])
    margin = INDIFFERENCE * means[verdict.winner]
    distances = [abs(means[first] - means[second]) for first, second in verdict.equivalent]
    with_best = any(0 in pair for pair in verdict.equivalent)
    return Said(
        said=len(verdict.equivalent) > 0,
        false=any(distance > margin for distance in distances),
        false_in_truth=with_best and gap > 1,
        lost=means.max() - means[verdict.winner] > margin,
        folds=sum(result.folds_used) / len(contenders) / K,
    )


def print_indifference(runs: int, seed: int) -> None:
    """How often "as good as" is said, and how often it is false; a row for each kind of data."""
    columns = ["until", "contenders", "gap, margins", "spread of a user", "fold noise"]
    print_head([*columns, "said", "false", "false in truth", "lost more", "folds"])
    for until, count, gap, kind in product(get_args(Until), COUNTS, GAPS, KINDS):
        rng = np.random.default_rng(seed)
        terms = Terms(k=K, indifference=INDIFFERENCE, until=until)
        true_means = [MEAN] + [MEAN * (1 - gap * INDIFFERENCE)] * (count - 1)
        selections = [said_once(made(true_means, kind, rng), gap, terms) for _ in range(runs)]
        *shares, folds = np.mean(selections, axis=0)
        kind_cells = [f"{kind.spread:g}", f"x{kind.fold_noise:g}"]
        share_cells = [percent(share) for share in shares]
        print_row([until, count, f"{gap:g}", *kind_cells, *share_cells, percent(folds, 0)])


def print_new_users(runs: int, seed: int) -> None:
    """How much too high the winner is, and how often its intervals hold its true mean."""
    columns = ["contenders", "true means", "asked", "mean too high", "corrected mean too high"]
    print_head([*columns, "plain interval holds", "interval of the winner holds", "as wide"])
    for count, spread_of_means, terms in product((2, 12, 50), (0.0, 0.005), NEW_USERS_TERMS):
        rng = np.random.default_rng(seed)
        rows = []
        for _ in range(runs):
            rows.append(_of_winner(count, spread_of_means, terms, rng))
        too_high, corrected, plain, own, width = np.mean(rows, axis=0)
        asked = "certain"
        if terms.expected_loss is not None:
            asked = f"expected loss {100 * terms.expected_loss:g} %"
        means = "equal"
        if spread_of_means:
            means = f"vary by {100 * spread_of_means / MEAN:g} %"
        errors = [percent(too_high, 2), percent(corrected, 2)]
        print_row([count, means, asked, *errors, percent(plain), percent(own), f"{width:.2f}"])


def _of_winner(
    count: int, spread_of_means: float, terms: Terms, rng: np.random.Generator
) -> tuple[float, float, bool, bool, float]:
    """One selection: how much too high the winner's mean and its corrected one are, as shares of
    its true mean; whether the plain and its own interval hold that; the ratio of their widths."""
    true_means = MEAN + spread_of_means * rng.standard_normal(count)
    contenders = made(true_means.tolist(), Kind(0.2, 1.0), rng, own_taste=0.2)
    result = select_in_order(contenders, terms, range(K))
    place = result.verdict.winner
    true = true_means[place]
    mean = result.winner_mean
    corrected = mean - result.verdict.optimism
    users = contenders[place].users
    assert users is not None
    plain = new_data_interval(users[: result.folds_used[place]], terms.confidence, k=K)
    own = winner_new_data(contenders, terms, result)
    assert own is not None
    return (
        mean / true - 1,
        corrected / true - 1,
        plain.low <= true <= plain.high,
        own.low <= true <= own.high,
        own.width / plain.width,
    )


def main() -> None:
    """What the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--new-users", action="store_true")
    options = parser.parse_args()
    if options.new_users:
        print_new_users(options.runs, options.seed)
        return
    print_indifference(options.runs, options.seed)


if __name__ == "__main__":
    main()
