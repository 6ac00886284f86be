"""Ways to choose the best of several: ours, and those that are compared with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ecv_core.records import Scores
from ecv_core.selection import EverySubset, Selection, Terms
from ecv_core.selection.pruner import FoldPruner
from ecv_core.selection.replay import follow
from ecv_core.stopping import moments, stop_of
from ecv_core.stopping.efold import EFold

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


def ours(confidence: float = 0.95) -> Way:
    """The selection of this project."""
    kept: dict[int, EverySubset] = {}

    def way(some: Sequence[Scores], order: list[int], _: np.random.Generator) -> Outcome:
        differences = kept.setdefault(id(some), EverySubset(some))
        game = Selection(differences, len(some), Terms(k=K, confidence=confidence))
        ran = follow(some, order, game).ran
        verdict = game.verdict()
        return Outcome(verdict.winner, ran, verdict.tied)

    return way


def optuna_study(kind: str) -> Way:
    """An Optuna study whose trials are the contenders, in random order, with this pruner."""

    def way(some: Sequence[Scores], order: list[int], rng: np.random.Generator) -> Outcome:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        fold_pruner = FoldPruner(k=K, trials=len(some), random=any(one.random for one in some))
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
    from ecv_core.records import Energy, FoldResult

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


def ways(*, slow: bool = True) -> dict[str, Way]:
    """Every way by its name in the tables."""
    found: dict[str, Way] = {
        "ours, 95 %": ours(),
        "Optuna with our FoldPruner": optuna_study("ours"),
        "Optuna with its WilcoxonPruner, p 0.1": optuna_study("wilcoxon"),
        "Friedman race": friedman_race,
        "always 1 fold": always(1),
        "always 2 folds": always(2),
        "always 3 folds": always(3),
        "the paper's rule on each alone": each_alone,
    }
    return found if slow else {name: way for name, way in found.items() if "Optuna" not in name}
