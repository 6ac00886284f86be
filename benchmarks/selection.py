"""What a selection promises, on made contenders: equal ones, and folds that are unstable.

python -m benchmarks.selection [--selections 2000]

How often another than the best is declared the certain winner, and an equal one is called worse;
then what is lost by an expected loss of 0.1 %, as a multiple of it. More than is asked for is bold.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import bold_where, percent, print_head, print_row
from ecv_core.records.run import Scores
from ecv_core.selection.evidence import PairedScores
from ecv_core.selection.replay import SelectionProgress, select_with_computed_folds
from ecv_core.selection.rounds import Terms

K = 10
"""Folds of every contender."""
Floats = NDArray[np.float64]

EQUAL: dict[str, Sequence[float]] = {
    "two, calm": [0] * 2,
    "four, calm": [0] * 4,
    "twelve, calm": [0] * 12,
    "two, x10": [10] * 2,
    "three calm, one x46": [46, 0, 0, 0],
    "two, x100": [100] * 2,
    "twelve, x100": [100] * 12,
    "two, x1000": [1000] * 2,
    "four, x1000": [1000] * 4,
}
"""Contenders with equal true means -> the fold noise of each: what all users of a fold share, as a
multiple of what they contribute to the variance of its mean."""
FOLD_NOISES = (0, 1, 3, 10, 46, 100)
LOSS = 0.001
"""The expected loss that is asked for."""
USERS = 40


class MadeContenders(PairedScores):
    """Contenders with made fold means, and what users would tell of their differences."""

    def __init__(self, fold_means: Floats, user_variances: Floats) -> None:
        """Of contenders that are of different algorithms.

        Args:
            fold_means: in running order; shape (contenders, folds).
            user_variances: of a fold's difference as users tell it after 1, 2, ... folds; the same
                for all pairs.
        """
        self.contenders = []
        for place, scores in enumerate(fold_means):
            self.contenders.append(Scores(name=f"c{place}", folds=scores))
        super().__init__(self.contenders)
        self.means = fold_means.mean(axis=1)
        self._user_variances = user_variances

    def user_variance(self, _contender: int, _other: int, folds: Sequence[int]) -> float:
        return float(self._user_variances[len(folds) - 1])

    def select(self, terms: Terms) -> SelectionProgress:
        """Go through the selection; all of its folds are there."""
        return select_with_computed_folds(self.contenders, range(K), terms, self)


def made_contenders(
    true_means: Sequence[float],
    fold_noise: Sequence[float],
    selections: int,
    seed: int,
    spread: float = 0.2,
) -> Iterator[MadeContenders]:
    """The contenders of one selection after the other, as of 40 users.

    Args:
        true_means: of the contenders.
        fold_noise: of each contender, as of `EQUAL`.
        selections: how many.
        seed: of the draws.
        spread: standard deviation of a user's score.
    """
    rng = np.random.default_rng(seed)
    by_users = spread**2 / USERS
    deviations = np.sqrt(by_users * (1 + np.array(fold_noise, dtype=float)))
    noise = rng.standard_normal((selections, len(true_means), K)) * deviations[:, None]
    freedom = (USERS - 1) * np.arange(1, K + 1)
    user_variances = 2 * by_users * rng.chisquare(freedom, (selections, K)) / freedom
    for noise_of_selection, variances in zip(noise, user_variances, strict=True):
        yield MadeContenders(np.array(true_means)[:, None] + noise_of_selection, variances)


def print_equal(selections: int) -> None:
    """How often another than the best is declared, or an equal one is called worse."""
    print_head(["equal contenders", "wrong winner", "called worse", "folds"])
    for name, fold_noise in EQUAL.items():
        equal_means = [0.5] * len(fold_noise)
        wrong = 0
        called_worse = 0
        folds = 0
        for made in made_contenders(equal_means, fold_noise, selections, seed=1):
            progress = made.select(Terms(k=K))
            assert progress.verdict is not None  # made contenders have all folds
            wrong += bool(made.means[progress.verdict.winner] < made.means.max())
            called_worse += len(progress.verdict.worse) > 0
            folds += sum(map(len, progress.folds_ran))
        shares = []
        for count in (wrong, called_worse):
            share = count / selections
            shares.append(bold_where(share > 0.05, percent(share)))
        all_folds = selections * len(fold_noise) * K
        print_row([name, *shares, percent(folds / all_folds, 0)])


def print_losses(selections: int) -> None:
    """The loss measured as a multiple of the one asked for; above 2 is bold."""
    print_head(["contenders", *(f"x{fold_noise}" for fold_noise in FOLD_NOISES)])
    for name, contenders, spread in (
        ("two equal", 2, 0.0),
        ("two, 2 % apart", 2, 0.01),
        ("four equal", 4, 0.0),
        ("four, 2 % apart", 4, 0.01),
        ("twelve, 2 % apart", 12, 0.01),
    ):
        row = [name]
        for fold_noise in FOLD_NOISES:
            multiple = mean_loss(contenders, spread, fold_noise, selections) / LOSS
            row.append(bold_where(multiple > 2, f"{multiple:.2f}"))
        print_row(row)


def mean_loss(contenders: int, spread: float, fold_noise: float, selections: int) -> float:
    """What the winners' means of all folds lack on average, as a share of the best.

    Args:
        contenders: how many.
        spread: standard deviation of their true means.
        fold_noise: of each, as of `EQUAL`.
        selections: how many; their true means are drawn twenty times.
    """
    draws = 20
    losses = []
    for seed in range(draws):
        true_means = 0.5 + np.random.default_rng(seed).normal(0, spread, contenders)
        noises = [fold_noise] * contenders
        for made in made_contenders(true_means.tolist(), noises, selections // draws, seed, 0.02):
            verdict = made.select(Terms(k=K, expected_loss=LOSS)).verdict
            assert verdict is not None  # as above
            losses.append(1 - made.means[verdict.winner] / made.means.max())
    return float(np.mean(losses))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--selections", type=int, default=2000)
    options = parser.parse_args()
    print_equal(options.selections)
    print("\nLoss measured, as a multiple of the 0.1 % asked for\n")
    print_losses(options.selections)


if __name__ == "__main__":
    main()
