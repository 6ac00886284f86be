"""The numbers of docs/estimators.md, from the recorded study of scikit-learn's estimators.

    python -m scripts.study_estimators search [ORDERS]       # which of ten is best
    python -m scripts.study_estimators halving FOLDER [SEEDS]  # the same by HalvingGridSearchCV
    python -m scripts.study_estimators rules [ORDERS]        # when does one stop
    python -m scripts.study_estimators tables                # what docs/estimators.md prints

`search` and `halving` write `data/recorded/estimators-search.csv`, a table at a time, and go on
where they ended; `rules` writes `estimators-rules.csv`. FOLDER is as of `record_estimators`.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from ecv_core.analysis import exploration
from ecv_core.analysis.orders.subsets import FoldSubsets
from ecv_core.estimators.differences import SampleDifferences
from ecv_core.estimators.fold_scores import Scored
from ecv_core.evaluation.scoring import SampleValues
from ecv_core.figures.estimators import (
    SEARCH_COLUMNS,
    estimators_frame,
    estimators_scores,
    means_by,
    searches_frame,
)
from ecv_core.records.run import Scores
from ecv_core.selection.evidence import (
    ANY_NOISE,
    NO_NOISE,
    USUAL_NOISE,
    Prior,
    Spread,
    moderated_spread,
)
from ecv_core.selection.replay import select_with_computed_folds
from ecv_core.selection.rounds import Terms
from ecv_core.stopping import EFold, Never, Precision, StdStagnation
from ecv_core.stopping.base import FoldSets, OrderRule, SetRule, first_stop
from ecv_core.store.recorded import FOLDER
from scripts.record_estimators import CLASSIFIERS, REGRESSORS, splitter, tables

K = 10
TERMS = {"expected loss 0.1 %": Terms(k=K, expected_loss=0.001), "certain, 95 %": Terms(k=K)}
RULES: dict[str, Any] = {
    "all folds": Never(),
    "precision 1 %": Precision(0.01, metric="score"),
    "e-fold, alpha 1e-4": EFold(alpha=1e-4),
    "stagnating standard deviation (Mahlich et al.)": StdStagnation(),
}
Way = Callable[[NDArray[np.float64], NDArray[np.intp]], tuple[int, NDArray[np.intp]]]
"""(Scores of contenders x folds, order) -> who is chosen, and how many folds each has run."""


def differences(contenders: Sequence[Scores]) -> SampleDifferences:
    """What `EFoldSearchCV` knows of these candidates, once their folds have run."""
    found = []
    for one in contenders:
        assert one.users is not None
        there = [np.flatnonzero(np.isfinite(row)) for row in one.users]
        found.append(
            {
                fold: Scored(
                    results={"test_score": one.folds[fold : fold + 1]},
                    samples=SampleValues(
                        units=units, values=one.users[fold, units].astype(np.float64)
                    ),
                    seconds=0.0,
                )
                for fold, units in enumerate(there)
            }
        )
    return SampleDifferences(found, [one.algorithm for one in contenders], held_out_once=True)


class Batch:
    """Selections of one table over many orders of the folds at once, look by look.

    What `selection.rounds.Selection` does for one order, without its words; `checked`
    plays some orders there too. Arrays have the shape (orders, contenders).
    """

    def __init__(self, contenders: Sequence[Scores]) -> None:
        self.contenders, self.known = contenders, differences(contenders)
        self.scores = np.array([one.folds for one in contenders])
        self.spent = np.array([one.fold_joules for one in contenders])
        sets = np.arange(1, 2**K)
        chosen = ((sets[:, None] >> np.arange(K)) & 1).astype(np.float64)
        e = chosen.sum(axis=1)
        apart = self.scores[:, None] - self.scores
        means, own = np.empty((2, *apart.shape[:2], len(sets)))
        self.means = np.empty((len(self.scores), len(sets) + 1))
        for at, rows in enumerate(chosen > 0):  # to the last digit, for there are ties
            some = np.ascontiguousarray(apart[..., rows])
            means[..., at] = some.mean(axis=-1)
            own[..., at] = some.var(axis=-1, ddof=1) if rows.sum() > 1 else np.nan
            self.means[:, at + 1] = np.ascontiguousarray(self.scores[:, rows]).mean(axis=-1)
        users = np.array([one.users for one in contenders], np.float64)
        people = np.isfinite(users[0]).sum(axis=1)
        counted = np.isin(users[np.isfinite(users)], (0, 1)).all()
        spread = np.zeros(apart.shape)
        for one, values in enumerate(users):
            spread[one] = np.nanvar(values - users, axis=2) * people
        total = spread @ chosen.T
        total = np.where((total > 0) | (not counted), total, 0.5)
        explained = total / (chosen @ (people - 1)) / (chosen @ people / e)
        none = np.full((*apart.shape[:2], 1), np.nan)
        self.levels = [np.concatenate([none, one], axis=2) for one in (means, explained, own)]

    def play(self, terms: Terms, orders: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Who wins, shape (orders,), and how many folds each has run."""
        prefix = np.hstack([np.zeros((len(orders), 1), int), np.cumsum(1 << orders, axis=1)])
        counts = np.ones((len(orders), len(self.scores)), int)
        winners, active = np.zeros(len(orders), int), np.arange(len(orders))
        while len(active):
            wanted, leader = self._look(terms, prefix[active], counts[active])
            decided = ~wanted.any(axis=1)
            winners[active[decided]] = leader[decided]
            counts[active] = np.maximum(counts[active], wanted)
            active = active[~decided]
        return winners, counts

    def _look(
        self, terms: Terms, prefix: NDArray[Any], counts: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """How many folds each is to have before the next look, 0 where that does not matter, and
        who leads."""
        rows, everybody = np.arange(len(counts)), np.arange(counts.shape[1])
        sets = np.take_along_axis(prefix, counts, axis=1)
        n = counts.max(axis=1, keepdims=True)
        own = self.means[everybody, sets]
        leader = np.where(counts == n, own, -np.inf).argmax(axis=1)
        others = everybody != leader[:, None]
        behind, users, observed = (one[leader[:, None], everybody, sets] for one in self.levels)
        users = np.where(others, users, np.nan)  # the leader is no other, and weighs nothing
        alike = np.zeros(counts.shape, bool)

        def spread(prior: Prior) -> Spread:
            return moderated_spread(behind, users, observed, counts.astype(float), alike, prior)

        level = terms.level(counts.shape[1])
        allowed = (terms.expected_loss or 0.0) * np.abs(own[rows, leader])

        def passed(prior: Prior) -> tuple[NDArray[Any], NDArray[Any]]:
            found = spread(prior)
            low = behind - found.half_widths(level, K)
            if terms.winner_must_be_certain:
                return others & (low > 0), low
            gains = np.where(others, found.expected_losses(K), np.inf)
            places = np.argsort(gains, axis=1, kind="stable")
            some = np.cumsum(np.take_along_axis(gains, places, axis=1), axis=1) <= allowed[:, None]
            out = np.zeros_like(others)
            np.put_along_axis(out, places, some, axis=1)
            return out, low

        out, low = passed(ANY_NOISE if terms.winner_must_be_certain else USUAL_NOISE)
        waiting = others & ~out & (counts < K)
        if terms.winner_must_be_certain:
            waiting &= low < 0
        near = waiting & ~passed(NO_NOISE)[0]
        lacking = waiting & (counts < n)
        with_leader = np.zeros_like(others)
        with_leader[rows, leader] = True
        level_up = near & ((counts < n) | ~near).all(axis=1, keepdims=True)
        nearest = np.zeros_like(others)
        nearest[rows, np.where(waiting, low, np.inf).argmin(axis=1)] = True
        some = near.any(axis=1, keepdims=True)
        wanted = np.where(
            some,
            np.where(level_up.any(axis=1, keepdims=True), near * n, (near | with_leader) * (n + 1)),
            np.where(
                lacking.any(axis=1, keepdims=True),
                lacking * (counts + 1),
                (nearest | with_leader) * (n + 1),
            ),
        )
        return np.where(waiting.any(axis=1, keepdims=True), wanted, 0), leader

    def checked(self, terms: Terms, orders: NDArray[np.intp]) -> int:
        """In how many of these orders `EFoldSearchCV` runs the same folds and finds the same; where
        candidates tie to the last digit but one, it may turn to another of them first."""
        same = 0
        for winner, used, order in zip(*self.play(terms, orders), orders, strict=True):
            found = select_with_computed_folds(self.contenders, order.tolist(), terms, self.known)
            assert found.verdict is not None
            same += (found.verdict.winner, [*map(len, found.folds_ran)]) == (winner, used.tolist())
        return same


def first(folds: int) -> Way:
    """The best mean of so many folds each."""
    return lambda scores, order: (
        int(scores[:, order[:folds]].mean(axis=1).argmax()),
        np.full(len(scores), folds),
    )


def halving(scores: NDArray[np.float64], order: NDArray[np.intp]) -> tuple[int, NDArray[np.intp]]:
    """Successive halving with folds as the resource: 1, 2, 4, 8 folds, and half of them left."""
    left, used = np.arange(len(scores)), np.zeros(len(scores), np.intp)
    for folds in (1, 2, 4, 8):
        used[left] = folds
        best = np.argsort(-scores[left][:, order[:folds]].mean(axis=1), kind="stable")
        left = left[best][: max(1, len(left) // 2)]
        if len(left) == 1:
            break
    return int(left[0]), used


@cache
def _p_value(signed_ranks: tuple[float, ...]) -> float:
    """As `scipy.stats.wilcoxon(..., alternative="less", zero_method="zsplit")` of so few, over all
    signs that they could have; that takes 50 ms where ranks tie."""
    ranks = np.array([one for one in signed_ranks if one])
    signs = np.arange(2 ** len(ranks))[:, None] >> np.arange(len(ranks)) & 1
    sums = signs @ np.abs(ranks)
    return float((sums <= ranks[ranks > 0].sum() + 1e-9).mean())


def pruned(scores: NDArray[np.float64], order: NDArray[np.intp]) -> tuple[int, NDArray[np.intp]]:
    """Optuna's WilcoxonPruner at p = 0.1, after two folds: each against the best before it."""
    best, used = 0, np.full(len(scores), K)
    for one in range(1, len(scores)):
        apart = np.round(scores[one, order] - scores[best, order], 12)
        for folds in range(2, K + 1):
            seen = apart[:folds]
            if seen.mean() >= 0:
                continue
            ranks = np.sort(rankdata(np.abs(seen)) * np.sign(seen))
            if _p_value(tuple(ranks.tolist())) < 0.1:
                used[one] = folds
                break
        else:
            if scores[one].mean() > scores[best].mean():
                best = one
    return best, used


OTHERS: dict[str, Way] = {
    "one fold each": first(1),
    "three folds each": first(3),
    "four folds each": first(4),
    "successive halving over folds": halving,
    "Optuna's WilcoxonPruner, p 0.1": pruned,
}


def search(orders: int) -> None:
    """Every way over so many orders of the folds, table by table."""
    for table, contenders in estimators_scores().items():
        lacking = [way for way in (*TERMS, *OTHERS) if not _is_there(table, way, orders)]
        if not lacking:
            continue
        began, rng = time.process_time(), np.random.default_rng(0)
        batch, drawn = Batch(contenders), np.array([rng.permutation(K) for _ in range(orders)])
        for way in lacking:
            if way in TERMS:
                print(f"{table}, {way}: {batch.checked(TERMS[way], drawn[:5])} of 5 the same")
                winners, used = batch.play(TERMS[way], drawn)
            else:
                found = [OTHERS[way](batch.scores, order) for order in drawn]
                winners, used = (np.array(part) for part in zip(*found, strict=True))
            ran = np.arange(K) < used[..., None]
            seconds = (batch.spent[:, drawn].swapaxes(0, 1) * ran).sum() / orders
            means = batch.scores.mean(axis=1)
            losses = 100 * (means.max() - means[winners]) / abs(means.max())
            share = seconds / batch.spent.sum()
            _keep(table, contenders, way, orders, ran.mean(), share, losses)
        print(f"{table}: {time.process_time() - began:.0f} s of processor", flush=True)


def halved(folder: str, seeds: int) -> None:
    """scikit-learn's own HalvingGridSearchCV on the tables: its resource are samples."""
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    recorded, way = estimators_scores(), "HalvingGridSearchCV"
    spent = {name: sum(one.fold_joules.sum() for one in few) for name, few in recorded.items()}
    for table, X, y, classes in sorted(tables(Path(folder)), key=lambda one: spent[one[0]]):
        if _is_there(table, way, seeds):
            continue
        estimators = list((CLASSIFIERS if classes else REGRESSORS).values())
        means = np.array([one.folds.mean() for one in recorded[table]])
        winners, shares = [], []
        for seed in range(seeds):
            found = HalvingGridSearchCV(
                Pipeline([("scale", StandardScaler()), ("model", estimators[0])]),
                {"model": estimators},
                scoring="accuracy" if classes else "neg_mean_absolute_error",
                cv=splitter(classes),
                random_state=seed,
                refit=False,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.fit(X, y)
            best = found.cv_results_["params"][found.best_index_]["model"]
            winners.append([type(one) for one in estimators].index(type(best)))
            samples = np.dot(found.n_candidates_, found.n_resources_)
            shares.append(samples / (len(estimators) * len(y)))
        losses = 100 * (means.max() - means[winners]) / abs(means.max())
        _keep(table, recorded[table], way, seeds, np.mean(shares), np.nan, losses)
        print(table, flush=True)


def _is_there(table: str, way: str, orders: int) -> bool:
    if not (FOLDER / "estimators-search.csv").exists():
        return False
    kept = searches_frame()
    mine = kept[(kept["dataset"] == table) & (kept["way"] == way)]
    return bool((mine["orders"] >= orders).any())


def _keep(
    table: str,
    contenders: Sequence[Scores],
    way: str,
    orders: int,
    folds: float,
    seconds: float | None,
    losses: NDArray[np.float64],
) -> None:
    path = FOLDER / "estimators-search.csv"
    row = {
        "dataset": table,
        "task": _task(contenders),
        "samples": _samples(contenders),
        "way": way,
        "orders": orders,
        "folds_percent": 100 * folds,
        "seconds_percent": np.nan if seconds is None else 100 * seconds,
        "loss_percent": losses.mean(),
        "right_percent": 100 * (losses < 1e-9).mean(),
    }
    kept = searches_frame() if path.exists() else pd.DataFrame(columns=list(SEARCH_COLUMNS))
    kept = kept[(kept["dataset"] != table) | (kept["way"] != way)]
    rows = [*kept.to_dict("records"), row]
    pd.DataFrame(rows).to_csv(path, index=False, float_format="%.6g")


def _task(contenders: Sequence[Scores]) -> str:
    return "regression" if contenders[0].folds.max() <= 0 else "classification"


def _samples(contenders: Sequence[Scores]) -> int:
    assert contenders[0].users is not None
    return contenders[0].users.shape[1]


def of_rules(orders: int) -> None:
    """What each rule does in each cell, over the same orders of the folds."""
    rows = []
    for table, contenders in estimators_scores().items():
        rng = np.random.default_rng(0)
        drawn = np.array([rng.permutation(K) for _ in range(orders)])
        whole = np.array([one.folds.mean() for one in contenders])
        for name, rule in RULES.items():
            stops = np.array([_stops(one, rule, drawn) for one in contenders])
            seen = np.arange(K) < stops[..., None]
            scores = np.array([one.folds[drawn] for one in contenders])
            spent = np.array([one.fold_joules[drawn] for one in contenders])
            at_stop = (scores * seen).sum(axis=2) / stops
            apart = 100 * np.abs(at_stop - whole[:, None]) / np.abs(whole[:, None])
            right = (np.abs(whole[at_stop.argmax(axis=0)] - whole.max()) < 1e-12).mean()
            rows += [
                {
                    "dataset": table,
                    "task": _task(contenders),
                    "samples": _samples(contenders),
                    "algorithm": one.algorithm,
                    "rule": name,
                    "folds": stops[at].mean(),
                    "seconds_percent": 100 * (spent * seen)[at].sum() / spent[at].sum(),
                    "difference_percent": apart[at].mean(),
                    "within_1_percent": 100 * (apart[at] <= 1 + 1e-9).mean(),
                    "winner_percent": 100 * right,
                }
                for at, one in enumerate(contenders)
            ]
    path = FOLDER / "estimators-rules.csv"
    pd.DataFrame(rows).round(12).to_csv(path, index=False, float_format="%.4g")


def _stops(one: Scores, rule: Any, drawn: NDArray[np.intp]) -> NDArray[np.intp]:  # noqa: ANN401
    """The fold after which each order stops; shape (orders,)."""
    if isinstance(rule, OrderRule):
        return rule.first_stops(one.folds[drawn])
    if not isinstance(rule, SetRule):
        return np.full(len(drawn), K)
    subsets = FoldSubsets(one.folds)
    number = np.empty(2**K, np.int32)
    number[subsets.lattice.masks] = np.arange(2**K)
    sets = number[np.cumsum(1 << drawn, axis=1)]
    known = rule.steps(
        FoldSets(
            folds=subsets.scores,
            means=subsets.means,
            half_widths=subsets.half_widths,
            contains_fold=subsets.lattice.contains,
            users=one.users,
            cheap_models=None,
        )
    )
    before = np.hstack([np.zeros((len(sets), 1), np.int32), sets[:, :-1]])
    stop = (
        known.threshold_of_step(before.ravel(), sets.ravel()).reshape(sets.shape) <= known.setting
    )
    stop[:, : first_stop(rule) - 1] = False
    stop[:, -1] = True
    found: NDArray[np.intp] = stop.argmax(axis=1) + 1
    return found


def printed() -> None:
    """The tables of docs/estimators.md, and what holds in how many cells."""
    every = searches_frame()
    for task, frame in every.groupby("task"):
        print(f"\n{task}, {frame['dataset'].nunique()} tables")
        for way in frame["way"].unique():
            mine = frame[frame["way"] == way]
            folds, seconds, loss, right = (
                mine[name]
                for name in ("folds_percent", "seconds_percent", "loss_percent", "right_percent")
            )
            print(
                f"| {way} ({mine['orders'].max():,}) | {folds.mean():.0f} % ({folds.max():.0f} %) "
                f"| {seconds.mean():.0f} % | {loss.mean():.3f} % | {loss.max():.3f} % "
                f"| {right.mean():.1f} % ({right.min():.1f} %) |"
            )
    wide = every.pivot(
        index=["dataset", "samples"],
        columns="way",
        values=["folds_percent", "loss_percent", "right_percent"],
    )
    loss, certain = TERMS
    for (table, samples), row in wide.loc[list(dict.fromkeys(every["dataset"]))].iterrows():
        print(
            f"| {table} | {samples:,} | {row['folds_percent', loss]:.0f} % "
            f"| {row['loss_percent', loss]:.3f} % | {row['folds_percent', certain]:.0f} % "
            f"| {row['right_percent', certain]:.1f} % |"
        )
    for task, frame in estimators_frame().groupby("task"):
        print(f"\n{task}\n{means_by(frame, 'rule').round(2).to_string()}")
    for rule, within in ((Precision(0.01), 1), (Precision(0.02), 2), (Precision(0.05), 5)):
        cells = [
            (_task(contenders), outcome.mean_stop, outcome.within, f"{one.name} on {table}")
            for table, contenders in estimators_scores().items()
            for one in contenders
            for outcome in (exploration.outcome_over_orders(one, rule, within_percent=within),)
        ]
        frame = pd.DataFrame(cells, columns=["task", "folds", "within", "cell"])
        for task, mine in frame.groupby("task"):
            below = mine[mine["within"] < 0.95].sort_values("within")
            said = ", ".join(f"{row.cell} {row.within:.1%}" for row in below.itertuples())
            print(
                f"precision {within} %, {task}, every order: {mine['folds'].mean():.2f} folds, "
                f"within in {mine['within'].mean():.2%}; below 95 % in {len(below)} of "
                f"{len(mine)} cells: {said}"
            )


def main(what: str, *more: str) -> None:
    """Compute, or print."""
    if what == "search":
        search(int(*more or ("1000",)))
    elif what == "halving":
        halved(more[0], int(*more[1:] or ("5",)))
    elif what == "rules":
        of_rules(int(*more or ("1000",)))
    else:
        printed()


if __name__ == "__main__":
    main(*sys.argv[1:])
