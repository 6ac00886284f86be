"""The tables of docs/estimators.md, from the recorded study of scikit-learn's estimators.

python -m scripts.study_estimators data/recorded/estimators.npz [ORDERS]
python -m scripts.study_estimators data/recorded/estimators.npz rules  # what Studies shows, as CSV
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from ecv_core.analysis import exploration
from ecv_core.analysis.selection import Terms, play_orders
from ecv_core.records.run import Energy, FoldResult, Scores, UserScores
from ecv_core.stopping import EFold, Never, Precision, StdStagnation
from scripts.record_estimators import CLASSIFIERS, REGRESSORS

K = 10


def recorded(path: str) -> dict[str, list[Scores]]:
    """Table -> the scores of its estimators."""
    kept = np.load(path)
    found = {}
    for name in dict.fromkeys(key.partition("/")[0] for key in kept):
        fold = kept[f"{name}/fold"]
        seconds = kept[f"{name}/seconds"].astype(np.float64)
        if f"{name}/right" in kept:
            samples = np.unpackbits(kept[f"{name}/right"], axis=1)[:, : len(fold)]
        else:
            samples = -kept[f"{name}/error"]
        contenders = []
        for at, row in enumerate(samples.astype(np.float32)):
            users = np.full((K, len(fold)), np.nan, np.float32)
            users[fold, np.arange(len(fold))] = row
            means = np.nanmean(users.astype(np.float64), axis=1)
            contenders.append(Scores(name=str(at), folds=means, users=users, joules=seconds[at]))
        found[name] = contenders
    return found


def replayed(
    contenders: list[Scores], orders: int, choose: Callable[..., tuple[int, int]]
) -> tuple[float, float, float]:
    """Share of folds, mean loss in percent, and how often the best is chosen."""
    scores = np.array([one.folds for one in contenders])
    means = scores.mean(axis=1)
    rng = np.random.default_rng(0)
    found = [choose(scores[:, rng.permutation(K)]) for _ in range(orders)]
    losses = [100 * (means.max() - means[winner]) / abs(means.max()) for winner, _ in found]
    folds = np.mean([used for _, used in found]) / scores.size
    return float(folds), float(np.mean(losses)), float(np.mean(np.array(losses) == 0))


def first(folds: int) -> Callable[[NDArray[np.float64]], tuple[int, int]]:
    """The best mean of so many folds each."""
    return lambda scores: (int(scores[:, :folds].mean(axis=1).argmax()), folds * len(scores))


def halving(scores: NDArray[np.float64]) -> tuple[int, int]:
    """Successive halving with folds as the resource: 1, 2, 4, 8 folds, and half of them left."""
    left, used = np.arange(len(scores)), 0
    for before, folds in ((0, 1), (1, 2), (2, 4), (4, 8)):
        used += (folds - before) * len(left)
        best = np.argsort(-scores[left, :folds].mean(axis=1), kind="stable")
        left = left[best][: max(1, len(left) // 2)]
        if len(left) == 1:
            break
    return int(left[0]), used


def pruned(scores: NDArray[np.float64]) -> tuple[int, int]:
    """Optuna's WilcoxonPruner at p = 0.1, after two folds: each against the best before it."""
    best, used = 0, K
    for one in range(1, len(scores)):
        for folds in range(1, K + 1):
            used += 1
            apart = scores[one, :folds] - scores[best, :folds]
            behind = folds >= 2 and apart.any() and apart.mean() < 0
            if behind and wilcoxon(apart, alternative="less", zero_method="zsplit").pvalue < 0.1:
                break
        else:
            if scores[one].mean() > scores[best].mean():
                best = one
    return best, used


RULES = {
    "all folds": Never(),
    "precision 1 %": Precision(0.01, metric="score"),
    "e-fold, alpha 1e-4": EFold(alpha=1e-4),
    "std-stagnation (Mahlich et al.)": StdStagnation(),
}


def of_rules(path: str, orders: int = 60) -> None:
    """Write what each rule does in each cell, over the same orders of the folds, as CSV."""
    kept = np.load(path)
    rows = []
    for table, contenders in recorded(path).items():
        rng = np.random.default_rng(0)
        drawn = [rng.permutation(K) for _ in range(orders)]
        whole = np.array([one.folds.mean() for one in contenders])
        for name, rule in RULES.items():
            used = np.empty((len(contenders), orders), int)
            at_stop = np.empty((len(contenders), orders))
            for at, one in enumerate(contenders):
                results = [_result(one, fold) for fold in range(K)]
                for column, order in enumerate(drawn):
                    seen = [results[fold] for fold in order]
                    stops = (n for n in range(1, K) if rule.decide(seen[:n]).stop)
                    used[at, column] = next(stops, K)
                    at_stop[at, column] = one.folds[order[: used[at, column]]].mean()
            apart = 100 * np.abs(at_stop - whole[:, None]) / np.abs(whole[:, None])
            right = float((np.abs(whole[at_stop.argmax(axis=0)] - whole.max()) < 1e-12).mean())
            rows += [
                {
                    "table": table,
                    "task": "classification" if f"{table}/right" in kept else "regression",
                    "samples": contenders[0].users.shape[1],
                    "algorithm": list(CLASSIFIERS if f"{table}/right" in kept else REGRESSORS)[at],
                    "rule": name,
                    "folds": used[at].mean(),
                    "difference_percent": apart[at].mean(),
                    "within_1_percent": 100 * (apart[at] <= 1 + 1e-9).mean(),
                    "winner_percent": 100 * right,
                }
                for at in range(len(contenders))
            ]
        print(table, flush=True)
    out = path.replace(".npz", "-rules.csv")
    pd.DataFrame(rows).to_csv(out, index=False, float_format="%.4g")


def _result(one: Scores, fold: int) -> FoldResult:
    there = np.flatnonzero(np.isfinite(one.users[fold])).astype(np.int32)
    return FoldResult(
        fold=fold,
        score=float(one.folds[fold]),
        metrics={},
        users=len(there),
        fit_seconds=0.0,
        evaluate_seconds=0.0,
        total_seconds=0.0,
        energy=Energy.none(),
        user_scores=UserScores(
            users=there, metrics=("score",), values=one.users[fold, there][:, None]
        ),
    )


def main(path: str, orders: str = "1000") -> None:
    """Print them."""
    if orders == "rules":
        of_rules(path)
        return
    found, count = recorded(path), int(orders)
    ways = {
        "expected loss 0.1 %": Terms(k=K, expected_loss=0.001),
        "certain, 95 %": Terms(k=K),
    }
    others = {
        "one fold each": first(1),
        "three folds each": first(3),
        "four folds each": first(4),
        "successive halving": halving,
        "WilcoxonPruner": pruned,
    }
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in (*ways, *others)}
    for table, contenders in found.items():
        said = []
        for name, terms in ways.items():
            over = play_orders(contenders, terms, orders=count)
            rows[name].append((over.folds_share, over.mean_loss_percent, over.right))
            said.append(f"{over.folds_share:.0%} {over.mean_loss_percent:.3f} {over.right:.1%}")
        for name, choose in others.items():
            few = min(count, 10) if name == "WilcoxonPruner" else count
            rows[name].append(replayed(contenders, few, choose))
        print(f"{table:20} n {contenders[0].users.shape[1]:5} " + " | ".join(said), flush=True)
    for name, parts in rows.items():
        folds, loss, right = np.array(parts).T
        print(
            f"{name:20} folds {folds.mean():.1%} (most {folds.max():.0%}), loss {loss.mean():.3f} "
            f"% (most {loss.max():.3f}), right {right.mean():.1%} (least {right.min():.1%})",
            flush=True,
        )
    for rule, within in (
        (Precision(0.01), 1),
        (Precision(0.02), 2),
        (Precision(0.05), 5),
        (EFold(alpha=1e-4), 1),
        (EFold(alpha=1e-3), 1),
        (StdStagnation(), 1),
    ):
        cells = []
        for contenders in found.values():
            for one in contenders:
                outcome = exploration.outcome(one, rule, within_percent=within)
                cells.append((outcome.mean_stop, outcome.mean_difference_percent, outcome.within))
        stops, off, near = np.array(cells, float).T
        print(
            f"{rule}: {stops.mean():.2f} folds, difference {off.mean():.2f} %, within {within} % "
            f"in {near.mean():.1%}, least {near.min():.1%}, below 95 %: {(near < 0.95).sum()} "
            f"of {len(near)}",
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
