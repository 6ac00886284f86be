"""Choosing the best of several: what each way costs, how often it is right, what it loses.

    python -m benchmarks.selection                 recorded contenders, in random orders
    python -m benchmarks.selection --adversaries   made contenders: equal ones, unstable folds

Side by side over the same random orders of the folds: our selection; Optuna with our FoldPruner and
with its own WilcoxonPruner, trials in random order; a Friedman race with Conover's test after at
least five folds, as irace runs it; one, two and three folds for everybody; and the paper's rule on
each contender alone, of which the highest mean at the stop is chosen.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from scipy import stats

from benchmarks.tables import percent, print_head, print_row
from ecv_core.analysis.replay import result_of
from ecv_core.records.run import Scores
from ecv_core.selection.contenders import recorded_contenders
from ecv_core.selection.evidence import EverySubset, PairedScores
from ecv_core.selection.pruner import FoldPruner
from ecv_core.selection.replay import SelectionProgress, play_computed_folds
from ecv_core.selection.rounds import Terms
from ecv_core.stopping import moments, stop_of
from ecv_core.stopping.efold import EFold
from ecv_core.store.configurations import GRIDS, configuration_names, recorded_grid

K = 10
"""Folds of every contender."""
MOST_STUDIES = 60
"""Orders in which Optuna is measured, which takes longer than all others."""
Floats = NDArray[np.float64]


@dataclass
class Study:
    """Contenders with all their folds."""

    contenders: Sequence[Scores]
    differences: EverySubset
    scores: Floats
    """Shape (contenders, folds)."""
    joules: Floats
    """Likewise."""


@dataclass
class Outcome:
    """Of one way, in one order of the folds."""

    winner: int
    folds: Sequence[Sequence[int]]
    """Of each contender, that were run."""
    tied: Sequence[int] = ()


Way = Callable[[Study, list[int], np.random.Generator], Outcome]


def study_of(contenders: Sequence[Scores]) -> Study:
    """Contenders as every way needs them."""
    scores = np.array([contender.folds for contender in contenders])
    joules = np.array([contender.fold_joules for contender in contenders])
    return Study(contenders, EverySubset(contenders), scores, joules)


def by_selection(terms: Terms) -> Way:
    """The selection of this project."""

    def way(study: Study, order: list[int], _rng: np.random.Generator) -> Outcome:
        played = play_computed_folds(study.contenders, order, terms, study.differences)
        assert played.verdict is not None  # recorded contenders have all folds
        return Outcome(played.verdict.winner, played.folds_ran, played.verdict.tied)

    return way


def by_wilcoxon_pruner(study: Study, order: list[int], rng: np.random.Generator) -> Outcome:
    """Optuna's WilcoxonPruner, p 0.1."""

    def run_trial(trial: optuna.Trial, contender: int, ran: list[int]) -> float:
        scores = study.scores[contender]
        for fold in order:
            ran.append(fold)
            trial.report(float(scores[fold]), fold)
            if trial.should_prune():
                break
        return float(scores[ran].mean())  # as the pruner's documentation has it

    return by_optuna(study, rng, optuna.pruners.WilcoxonPruner(p_threshold=0.1), run_trial)


def by_fold_pruner(study: Study, order: list[int], rng: np.random.Generator) -> Outcome:
    """Optuna with the pruner of this project."""
    pruner = FoldPruner(k=K, trials=len(study.scores))

    def run_trial(trial: optuna.Trial, contender: int, ran: list[int]) -> float:
        users = study.contenders[contender].users
        assert users is not None  # as of all recorded contenders
        for fold in order:
            ran.append(fold)
            pruner.report(trial, fold, users[fold])
            if trial.should_prune():
                raise optuna.TrialPruned
        return float(study.scores[contender, order].mean())

    return by_optuna(study, rng, pruner, run_trial)


def by_optuna(
    study: Study,
    rng: np.random.Generator,
    pruner: Any,  # noqa: ANN401  ours is none of Optuna's classes
    run_trial: Callable[[optuna.Trial, int, list[int]], float],
) -> Outcome:
    """The best trial, where the contenders are trials in random order.

    Args:
        study: of the contenders.
        rng: for the order of the trials.
        pruner: of the trials.
        run_trial: runs the folds of a contender, notes them in the list, and gives its score.
    """
    contender_of_trial = rng.permutation(len(study.scores)).tolist()
    ran: list[list[int]] = [[] for _ in study.scores]

    def objective(trial: optuna.Trial) -> float:
        contender = contender_of_trial[trial.number]
        return run_trial(trial, contender, ran[contender])

    trials = optuna.create_study(direction="maximize", pruner=pruner)
    trials.optimize(objective, n_trials=len(study.scores))
    return Outcome(contender_of_trial[trials.best_trial.number], ran)


def by_friedman_race(study: Study, order: list[int], _rng: np.random.Generator) -> Outcome:
    """F-race (Birattari et al. 2002): from five folds on, those that are worse leave."""
    racing = np.arange(len(study.scores))
    ran: list[list[int]] = [[] for _ in study.scores]
    for count in range(1, K + 1):
        for contender in racing:
            ran[contender].append(order[count - 1])
        if count >= 5:
            racing = racing[survivors(study.scores[racing][:, order[:count]])]
        if len(racing) == 1:
            break
    means = study.scores[racing][:, order[:count]].mean(axis=1)
    return Outcome(int(racing[means.argmax()]), ran)


def survivors(scores: Floats) -> NDArray[np.intp]:
    """Who is not worse than the best: by Wilcoxon's test of two, of more by Friedman's.

    Args:
        scores: shape (contenders, folds).
    Source: the post-hoc test is Conover's (1999, section 5.8).
    """
    contenders, folds = scores.shape
    everybody = np.arange(contenders)
    ranks = stats.rankdata(-scores, axis=0)
    rank_sums = ranks.sum(axis=1)
    if contenders == 2:
        if stats.wilcoxon(scores[0], scores[1]).pvalue >= 0.05:
            return everybody
        return np.array([rank_sums.argmin()])
    if stats.friedmanchisquare(*scores).pvalue >= 0.05:
        return everybody
    freedom = (folds - 1) * (contenders - 1)
    unexplained = (ranks**2).sum() - (rank_sums**2).sum() / folds
    error = np.sqrt(max(2 * folds * unexplained / freedom, 0.0))
    least_difference = stats.t.ppf(0.975, freedom) * error
    return np.flatnonzero(rank_sums - rank_sums.min() <= least_difference)


def by_equal_folds(folds: int) -> Way:
    """The same number of folds for each."""

    def way(study: Study, order: list[int], _rng: np.random.Generator) -> Outcome:
        means = study.scores[:, order[:folds]].mean(axis=1)
        return Outcome(int(means.argmax()), [order[:folds]] * len(means))

    return way


def by_papers_rule(study: Study, order: list[int], _rng: np.random.Generator) -> Outcome:
    """The paper's rule, alpha 1e-4, on each contender alone."""
    rule = EFold(alpha=1e-4)
    means = []
    ran = []
    for scores in study.scores:
        results = [result_of(fold, float(scores[fold])) for fold in order]
        stop = stop_of(moments(rule, results, 0.95), K) or K
        ran.append(order[:stop])
        means.append(scores[order[:stop]].mean())
    return Outcome(int(np.argmax(means)), ran)


WAYS: dict[str, Way] = {
    "certain, 95 %": by_selection(Terms(k=K)),
    "expected loss 0.1 %": by_selection(Terms(k=K, expected_loss=0.001)),
    "Optuna with our FoldPruner": by_fold_pruner,
    "Optuna with its WilcoxonPruner": by_wilcoxon_pruner,
    "Friedman race": by_friedman_race,
    "1 fold": by_equal_folds(1),
    "2 folds": by_equal_folds(2),
    "3 folds": by_equal_folds(3),
    "the paper's rule on each alone": by_papers_rule,
}
"""By their names in the tables."""


@dataclass
class Averages:
    """What a way comes to in one order of a study's folds, on average; shares."""

    folds: float
    joules: float
    """Of the folds that were run; not a share."""
    right: float
    loss: float
    """How far the winner's mean is below the best; a share of the best."""


def over_orders(way: Way, study: Study, orders: int) -> Averages:
    """Choose in so many random orders of the folds."""
    rng = np.random.default_rng(0)
    means = study.scores.mean(axis=1)
    ran = np.zeros(study.scores.shape)
    """In how many orders each fold of each contender was run."""
    right = 0
    losses = []
    for _ in range(orders):
        outcome = way(study, rng.permutation(K).tolist(), rng)
        if means[[outcome.winner, *outcome.tied]].max() >= means.max():
            right += 1
        losses.append(1 - means[outcome.winner] / means.max())
        for contender, folds in enumerate(outcome.folds):
            ran[contender, list(folds)] += 1
    return Averages(
        folds=ran.mean() / orders,
        joules=(ran * study.joules).sum() / orders,
        right=right / orders,
        loss=float(np.mean(losses)),
    )


def print_ways(groups: Mapping[str, Sequence[Scores]], orders: int) -> None:
    """A row for each way: means over all groups, then folds and how often it is right in each."""
    studies = [study_of(contenders) for contenders in groups.values()]
    joules_of_all_folds = sum(study.joules.sum() for study in studies)
    print_head(["way", "folds", "joules", "right", "mean loss", *groups])
    for name, way in WAYS.items():
        orders_of_way = orders
        if way in (by_fold_pruner, by_wilcoxon_pruner):
            orders_of_way = min(orders, MOST_STUDIES)
        averages = [over_orders(way, study, orders_of_way) for study in studies]
        joules = sum(average.joules for average in averages) / joules_of_all_folds
        print_row([name, *cells_of(averages, joules)])


def cells_of(averages: Sequence[Averages], joules: float) -> list[str]:
    """Means over all groups, then each group.

    Args:
        averages: of a way, in each group.
        joules: of all groups together, as a share.
    """
    cells = [
        percent(fmean(average.folds for average in averages)),
        percent(joules),
        percent(fmean(average.right for average in averages), 2),
        percent(fmean(average.loss for average in averages), 3),
    ]
    for average in averages:
        cells.append(f"{percent(average.folds, 0)}, {percent(average.right)}")
    return cells


# Made contenders.


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
        return play_computed_folds(self.contenders, range(K), terms, self)


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


def print_adversaries(selections: int) -> None:
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
        shares = [bold_above(0.05, count / selections) for count in (wrong, called_worse)]
        all_folds = selections * len(fold_noise) * K
        print_row([name, *shares, percent(folds / all_folds, 0)])


def bold_above(most: float, share: float) -> str:
    """A share as a percentage, bold where it is too much."""
    if share > most:
        return f"**{percent(share)}**"
    return percent(share)


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
            cell = f"{multiple:.2f}"
            if multiple > 2:
                cell = f"**{cell}**"
            row.append(cell)
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
    """What the options ask for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--adversaries", action="store_true")
    parser.add_argument("--orders", type=int, default=5000, help="of the recorded folds")
    parser.add_argument("--selections", type=int, default=2000, help="of made contenders")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if options.adversaries:
        print_adversaries(options.selections)
        print("\nLoss measured, as a multiple of the 0.1 % asked for\n")
        print_losses(options.selections)
    else:
        print("The recorded study (per dataset: folds, right)\n")
        print_ways(recorded_contenders(), options.orders)
        print("\nGrids of one parameter\n")
        grids = {name: recorded_grid(name).scores for name in configuration_names(GRIDS)}
        print_ways(grids, options.orders)


if __name__ == "__main__":
    main()
