"""Choosing the best of several: what each way costs, how often it is right, what it loses.

python -m benchmarks.selection             prints the tables, from what is recorded
python -m benchmarks.selection --adversaries   ties, permuted labels, unstable trainings: 2,000 each
python -m benchmarks.selection --size      100 contenders x 10 folds x 100,000 users: time, memory

Side by side in one run, over the same random orders of the folds: ours; an Optuna study with our
FoldPruner and with Optuna's own WilcoxonPruner, trials in random order; a Friedman race with
Conover's post-hoc test after at least five folds, as irace does; always one, two, three folds; and
the paper's rule on each contender alone, the highest mean at the stop being chosen.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ecv_core.analysis.selection import EverySubset, Selection, Terms, play
from ecv_core.analysis.selection.differences import PairedScores
from ecv_core.analysis.selection.pruner import FoldPruner
from ecv_core.analysis.selection.replay import follow
from ecv_core.analysis.selection.runs import recorded_contenders
from ecv_core.records.run import Energy, FoldResult, Scores
from ecv_core.stopping import moments, stop_of
from ecv_core.stopping.efold import EFold
from ecv_core.store.configurations import GRIDS, configuration_names, read_configurations

K = 10
"""Folds of every contender."""


@dataclass
class Outcome:
    """Of one way, in one order of the folds."""

    winner: int
    folds: Sequence[Sequence[int]]
    """Of each contender, that were run."""
    tied: Sequence[int] = ()


Way = Callable[[Sequence[Scores], list[int], np.random.Generator], Outcome]


def ours(expected_loss: float | None = None) -> Way:
    """The selection of this project: certain, or by expected loss."""
    kept: dict[int, EverySubset] = {}

    def way(some: Sequence[Scores], order: list[int], _: np.random.Generator) -> Outcome:
        differences = kept.setdefault(id(some), EverySubset(some))
        found = follow(some, order, Terms(k=K, expected_loss=expected_loss), differences)
        assert found.verdict is not None
        return Outcome(found.verdict.winner, found.ran, found.verdict.tied)

    return way


def optuna_study(kind: str) -> Way:
    """An Optuna study whose trials are the contenders, in random order, with this pruner."""

    def way(some: Sequence[Scores], order: list[int], rng: np.random.Generator) -> Outcome:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        fold_pruner = FoldPruner(k=K, trials=len(some))
        theirs = optuna.pruners.WilcoxonPruner(p_threshold=0.1)
        pruner: Any = theirs if kind == "wilcoxon" else fold_pruner
        study = optuna.create_study(direction="maximize", pruner=pruner)
        ran: list[list[int]] = [[] for _ in some]
        trials = rng.permutation(len(some)).tolist()

        def objective(trial: optuna.Trial) -> float:
            place = trials[trial.number]
            one = some[place]
            for fold in order:
                ran[place].append(fold)
                if kind == "wilcoxon":
                    trial.report(float(one.folds[fold]), fold)
                else:
                    assert one.users is not None
                    fold_pruner.report(trial, fold, one.users[fold])
                if trial.should_prune():
                    if kind == "ours":
                        raise optuna.TrialPruned
                    return float(one.folds[ran[place]].mean())  # as WilcoxonPruner's page has it
            return float(one.folds[order].mean())

        study.optimize(objective, n_trials=len(some))
        return Outcome(trials[study.best_trial.number], ran)

    return way


def friedman_race(some: Sequence[Scores], order: list[int], _: np.random.Generator) -> Outcome:
    """F-race (Birattari et al. 2002): from five folds on, Friedman's test, then Conover's."""
    left = list(range(len(some)))
    ran: list[list[int]] = [[] for _ in some]
    seen: list[int] = []
    for fold in order:
        seen.append(fold)
        for one in left:
            ran[one].append(fold)
        if len(left) < 2 or len(seen) < 5:
            continue
        scores = np.array([some[one].folds[seen] for one in left])
        ranks = stats.rankdata(-scores, axis=0)
        b, n = len(seen), len(left)
        if n == 2:
            p = stats.wilcoxon(scores[0], scores[1]).pvalue
            keep = [int(ranks.sum(axis=1).argmin())] if p < 0.05 else [0, 1]
        else:
            if stats.friedmanchisquare(*scores).pvalue >= 0.05:
                continue
            totals, squares = ranks.sum(axis=1), (ranks**2).sum()
            t1 = (totals**2).sum() / b
            error = np.sqrt(max(2 * b * (squares - t1) / ((b - 1) * (n - 1)), 0.0))
            reach = stats.t.ppf(0.975, (b - 1) * (n - 1)) * error
            keep = [place for place in range(n) if totals[place] - totals.min() <= reach]
        left = [left[place] for place in keep]
        if len(left) == 1:
            break
    return Outcome(max(left, key=lambda one: some[one].folds[seen].mean()), ran)


def always(n: int) -> Way:
    """The same number of folds for each."""

    def way(some: Sequence[Scores], order: list[int], _: np.random.Generator) -> Outcome:
        means = [one.folds[order[:n]].mean() for one in some]
        return Outcome(int(np.argmax(means)), [order[:n]] * len(some))

    return way


def each_alone(some: Sequence[Scores], order: list[int], _: np.random.Generator) -> Outcome:
    """The paper's rule, alpha 1e-4, on each contender alone."""
    rule, means, ran = EFold(alpha=1e-4), [], []
    for one in some:
        results = [
            FoldResult(
                fold=fold,
                score=float(one.folds[fold]),
                metrics={},
                users=0,
                fit_seconds=0,
                evaluate_seconds=0,
                total_seconds=0,
                energy=Energy.none(),
            )
            for fold in order
        ]
        stop = stop_of(moments(rule, results, 0.95), K) or K
        ran.append(order[:stop])
        means.append(one.folds[order[:stop]].mean())
    return Outcome(int(np.argmax(means)), ran)


WAYS: dict[str, Way] = {
    "certain, 95 %": ours(),
    "expected loss 0.1 %": ours(expected_loss=0.001),
    "expected loss 0.05 %": ours(expected_loss=0.0005),
    "Optuna with our FoldPruner": optuna_study("ours"),
    "Optuna with its WilcoxonPruner, p 0.1": optuna_study("wilcoxon"),
    "Friedman race": friedman_race,
    "always 1 fold": always(1),
    "always 2 folds": always(2),
    "always 3 folds": always(3),
    "the paper's rule on each alone": each_alone,
}
"""By their names in the tables."""


def compare(groups: Mapping[str, Sequence[Scores]], orders: int) -> None:
    """One table: a row per way; shares over all groups, right per group."""
    heads = " | ".join(groups)
    sys.stdout.write(f"| way | folds | joules | right | mean loss | {heads} |\n")
    sys.stdout.write("|---" * (5 + len(groups)) + "|\n")
    for name, way in WAYS.items():
        n = min(orders, 60) if "Optuna" in name else orders
        spent, whole, used, losses, right = 0.0, 0.0, [], [], []
        for some in groups.values():
            rng = np.random.default_rng(0)
            means = np.array([one.folds.mean() for one in some])
            best = means.max()
            joules = np.array([one.fold_joules for one in some])
            hits, cost, folds = 0, 0.0, 0
            for _ in range(n):
                found = way(some, rng.permutation(K).tolist(), rng)
                hits += bool(means[[found.winner, *found.tied]].max() >= best)
                losses.append(100 * (best - means[found.winner]) / best)
                folds += sum(map(len, found.folds))
                cost += sum(joules[place, list(ran)].sum() for place, ran in enumerate(found.folds))
            spent += cost / n
            whole += joules.sum()
            used.append(folds / n / len(some) / K)
            right.append(hits / n)
        each = " | ".join(
            f"{100 * share:.0f} %, {100 * rate:.1f} %"
            for share, rate in zip(used, right, strict=True)
        )
        sys.stdout.write(
            f"| {name} | {100 * np.mean(used):.1f} % | {100 * spent / whole:.1f} % "
            f"| {100 * np.mean(right):.2f} % | {np.mean(losses):.3f} % | {each} |\n"
        )
        sys.stdout.flush()


def adversaries(selections: int) -> None:
    """How often a wrong winner is declared where all are equal but for chance."""
    sys.stdout.write("| made data | wrong winner | folds |\n|---|---|---|\n")
    cases: dict[str, tuple[list[float], list[float], float]] = {
        "two equal, calm": ([0.5] * 2, [0] * 2, 0.0),
        "four equal, calm, folds differ": ([0.5] * 4, [0] * 4, 0.3),
        "four that draw no random numbers, partition noise x1": ([0.5] * 4, [-1] * 4, 0.3),
        "two seeds of one model, training noise x1": ([0.5] * 2, [1] * 2, 0.0),
        "two seeds, x3": ([0.5] * 2, [3] * 2, 0.0),
        "two seeds, x10": ([0.5] * 2, [10] * 2, 0.0),
        "four seeds, x10, folds differ": ([0.5] * 4, [10] * 4, 0.3),
        "three calm, one unstable x10": ([0.5] * 4, [10, 0, 0, 0], 0.3),
        "three calm, one unstable x46": ([0.5] * 4, [46, 0, 0, 0], 0.3),
        "two, one unstable x46": ([0.5] * 2, [46, 0], 0.0),
    }
    for name, (means, own, shared) in cases.items():
        wrong, folds = 0, 0
        for seed in range(selections):
            some = made(means, own, shared, seed)
            played = play(some, Terms(k=K), range(K))
            true = np.array([one.folds.mean() for one in some])
            wrong += true[[played.verdict.winner, *played.verdict.tied]].max() < true.max()
            folds += sum(played.folds_used)
        share = folds / selections / K / len(means)
        sys.stdout.write(f"| {name} | {100 * wrong / selections:.1f} % | {100 * share:.0f} % |\n")
        sys.stdout.flush()


def made(
    means: Sequence[float], own: Sequence[float], shared: float, seed: int, users: int = 40
) -> list[Scores]:
    """Contenders of these true means; `own` is what all users of a fold share,
    as a multiple of what they contribute; below 0 for models that draw no random numbers."""
    rng = np.random.default_rng(seed)
    taste, fold = rng.normal(0, 0.2, users), rng.normal(0, shared, K)
    found = []
    for place, (mean, noise) in enumerate(zip(means, own, strict=True)):
        values = mean + taste + fold[:, None] + rng.normal(0, 0.2, (K, users))
        values += rng.normal(0, np.sqrt(abs(noise) * 0.2**2 / users), K)[:, None]
        found.append(
            Scores(
                name=str(place),
                folds=values.mean(axis=1),
                users=values,
                joules=np.ones(K),
                random=noise > 0,
            )
        )
    return found


def size(contenders: int = 100, users: int = 100_000) -> None:
    """The statistics of a large selection, round by round, where nobody can be dropped."""
    rng = np.random.default_rng(0)
    base = rng.random((K, users), dtype=np.float32)
    some = [
        Scores(
            name=str(place),
            folds=(values := base + rng.normal(0, 0.1, (K, users)).astype(np.float32))
            .mean(axis=1)
            .astype(np.float64),
            users=values,
            joules=np.ones(K),
        )
        for place in range(contenders)
    ]
    game = Selection(PairedScores(some), contenders, Terms(k=K, confidence=1 - 1e-9))
    while not game.decided:
        began, left = time.perf_counter(), len(game.left)
        for one, fold in game.next_folds(range(K)):
            game.ran(one, fold)
        n = game.look().n
        sys.stdout.write(f"fold {n}: {left} in, {time.perf_counter() - began:.2f} s\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    sys.stdout.write(
        f"peak memory {peak:.2f} GiB, of which scores {4 * K * users * contenders / 2**30:.2f}\n"
    )


def main() -> None:
    """What the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adversaries", action="store_true")
    parser.add_argument("--size", action="store_true")
    parser.add_argument("--orders", type=int, default=5000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.adversaries:
        adversaries(2000)
    elif options.size:
        size()
    else:
        sys.stdout.write("The recorded study (per dataset: folds, right)\n\n")
        compare(recorded_contenders(), options.orders)
        sys.stdout.write("\nGrids of one parameter\n\n")
        grids = {
            name: read_configurations(GRIDS / f"{name}.json").scores
            for name in configuration_names(GRIDS)
        }
        compare(grids, options.orders)


if __name__ == "__main__":
    main()
