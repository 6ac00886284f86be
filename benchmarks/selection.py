"""Choosing the best of several: what each way costs, how often it is right, what it loses.

python -m benchmarks.selection             prints the tables, from what is recorded
python -m benchmarks.selection --adversaries   equal contenders, unstable folds: 2,000 each
python -m benchmarks.selection --budgets   a budget beside as many folds for everybody

Side by side in one run, over the same random orders of the folds: ours; an Optuna study with our
FoldPruner and with Optuna's own WilcoxonPruner, trials in random order; a Friedman race with
Conover's post-hoc test after at least five folds, as irace does; always one, two, three folds; and
the paper's rule on each contender alone, the highest mean at the stop being chosen.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ecv_core.records.run import Energy, FoldResult, Scores
from ecv_core.selection.contenders import recorded_contenders
from ecv_core.selection.evidence import (
    EverySubset,
    PairedScores,
    expected_excess,
    level_of_looks,
)
from ecv_core.selection.pruner import FoldPruner
from ecv_core.selection.replay import follow
from ecv_core.selection.rounds import Budget, Terms
from ecv_core.stopping import moments, stop_of
from ecv_core.stopping.efold import EFold
from ecv_core.store.configurations import GRIDS, configuration_names, recorded_grid

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


# Made contenders, by the thousand: the selection written once more for a batch, with arrays instead
# of objects, so that a table takes seconds and two programs must agree.

_NOISE = {"certain": (2.0, 1.9), "worse": (0.75, 2.2), "loss": (3.5, 8.0)}
"""a and d0 of ANY_NOISE, NEW_DATA and USUAL_NOISE in `evidence`, for different algorithms."""
_MADE: dict[str, tuple[list[float], list[float]]] = {
    "two equal, calm": ([0.5] * 2, [0] * 2),
    "four equal, calm": ([0.5] * 4, [0] * 4),
    "twelve equal, calm": ([0.5] * 12, [0] * 12),
    "two, fold noise x1": ([0.5] * 2, [1] * 2),
    "two, x3": ([0.5] * 2, [3] * 2),
    "twelve, x3": ([0.5] * 12, [3] * 12),
    "two, x10": ([0.5] * 2, [10] * 2),
    "four, x10": ([0.5] * 4, [10] * 4),
    "twelve, x10": ([0.5] * 12, [10] * 12),
    "three calm, one x10": ([0.5] * 4, [10, 0, 0, 0]),
    "three calm, one x46": ([0.5] * 4, [46, 0, 0, 0]),
    "two, one x46": ([0.5] * 2, [46, 0]),
    "two, x46": ([0.5] * 2, [46] * 2),
    "four, x46": ([0.5] * 4, [46] * 4),
    "two, x100": ([0.5] * 2, [100] * 2),
    "four, x100": ([0.5] * 4, [100] * 4),
    "twelve, x100": ([0.5] * 12, [100] * 12),
    "two, x1000": ([0.5] * 2, [1000] * 2),
    "four, x1000": ([0.5] * 4, [1000] * 4),
}
"""True means, and what all users of a fold share as a multiple of what they contribute."""


@dataclass
class Batch:
    """Contenders of many selections at once."""

    means: NDArray[np.float64]
    """Of folds in running order; shape (selections, contenders, folds)."""
    users: NDArray[np.float64]
    """Variance of a fold's difference as users tell it after 1, 2, ... folds; shape
    (selections, folds), the same for all pairs."""


def made_batch(
    means: Sequence[float], own: Sequence[float], selections: int, seed: int, spread: float = 0.2
) -> Batch:
    """As `tests.selection.conftest.made` makes one, with 40 users."""
    rng, users = np.random.default_rng(seed), 40
    level = spread**2 / users
    drawn = rng.standard_normal((selections, len(means), K))
    noise = drawn * np.sqrt(level * (1 + np.array(own, dtype=float)))[:, None]
    freedom = (users - 1) * np.arange(1, K + 1)
    told = 2 * level * rng.chisquare(freedom, (selections, K)) / freedom
    return Batch(np.array(means)[:, None] + noise, told)


@dataclass
class _Look:
    """What is known of all selections of a batch; arrays of shape (selections, contenders)."""

    ran: NDArray[Any]
    other: NDArray[np.bool_]
    """All but the leader."""
    gap: NDArray[np.float64]
    own: NDArray[np.float64]
    users: NDArray[np.float64]

    def spread(self, a: float, d0: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Variances and degrees of freedom; see `evidence`."""
        more = self.ran - 1.0
        weight = np.where(self.other, more, 0.0)
        pairs = np.minimum(weight[:, :, None], weight[:, None]) * 0.25
        each = np.arange(weight.shape[1])
        pairs[:, each, each] = weight
        ratio = weight * self.own / self.users
        rest = weight.sum(axis=1, keepdims=True) - weight
        varies = pairs.sum(axis=(1, 2))[:, None] - 2 * pairs.sum(axis=2) + weight
        seen = np.where(rest > 0, rest**2 / np.maximum(varies, 1e-300), 0.0)
        q = (ratio.sum(axis=1, keepdims=True) - ratio) / np.maximum(rest, 1e-300)
        d = 1 / (1 / d0 + 1 / (a + seen))
        at = d * (a + seen * q) / (a + seen) * self.users
        return (at + more * self.own) / (d + more), d + more

    def passed(
        self, a: float, d0: float, level: float, allowed: NDArray[np.float64] | None
    ) -> NDArray[np.bool_]:
        """Who is out: by bounds of this level, or by the loss that is allowed in each selection."""
        from scipy.special import stdtrit

        variance, freedom = self.spread(a, d0)
        error = np.sqrt(variance * np.maximum(1 / self.ran - 1 / K, 0))
        if allowed is None:
            return np.asarray(self.gap + stdtrit(freedom, level) * error > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            gains = error * expected_excess(self.gap / error, freedom)
        gains = np.where(error > 0, gains, np.maximum(-self.gap, 0))
        gains = np.where(self.other, gains, 0.0)
        places = np.argsort(gains, axis=1)
        few = np.cumsum(np.take_along_axis(gains, places, 1), axis=1) <= allowed[:, None]
        found = np.zeros(gains.shape, bool)
        np.put_along_axis(found, places, few, 1)
        return found


def many(batch: Batch, loss: float | None = None) -> tuple[NDArray[Any], ...]:
    """All selections of a batch.

    Args:
        batch: of contenders of different algorithms.
        loss: expected loss that is asked for; None for certain ones.
    Returns: winners, folds of each contender, and who is shown to be worse; shapes (selections,),
        (selections, contenders) twice.
    """
    from scipy.special import stdtrit

    means, (b, c, _) = batch.means, batch.means.shape
    rows, level = np.arange(b), level_of_looks(0.05, K)
    ran, target = np.zeros((b, c), int), np.ones((b, c), int)
    winner, done, worse = np.zeros(b, int), np.zeros(b, bool), np.zeros((b, c), bool)
    while not done.all():
        ran = np.where(done[:, None], ran, np.maximum(ran, target))
        n = ran.max(axis=1)
        mean = np.take_along_axis(np.cumsum(means, axis=2), ran[:, :, None] - 1, 2)[:, :, 0] / ran
        leader = np.where(ran == n[:, None], mean, -np.inf).argmax(axis=1)
        winner = np.where(done, winner, leader)
        other = np.arange(c) != winner[:, None]
        apart = means[rows, winner][:, None] - means
        here = np.arange(K) < ran[:, :, None]
        gap = (apart * here).sum(axis=2) / ran
        own = ((apart - gap[:, :, None]) ** 2 * here).sum(axis=2) / np.maximum(ran - 1, 1)
        users = np.take_along_axis(batch.users, ran - 1, 1)

        seen = _Look(ran, other, gap, own, users)
        allowed = None if loss is None else loss * np.abs(mean[rows, winner])
        a, d0 = _NOISE["certain" if loss is None else "loss"]
        waiting = other & ~seen.passed(a, d0, level, allowed) & (ran < K)
        variance, freedom = seen.spread(*_NOISE["worse"])
        strict = level_of_looks(0.05 / c, K, new_data=True)
        shown = other & (gap + stdtrit(freedom, strict) * np.sqrt(variance / ran) > 0)
        worse = np.where(done[:, None], worse, shown)
        near = waiting & ~seen.passed(100.0, 100.0, level, allowed)
        full = ran == n[:, None]
        ahead = (near & full).any(axis=1)
        lacking = waiting & ~full
        error = np.sqrt(seen.spread(a, d0)[0])
        first = np.where(waiting, gap / error, np.inf).argmin(axis=1)
        lone = np.arange(c) == first[:, None]
        some = near.any(axis=1)[:, None]
        behind = lacking.any(axis=1)[:, None]
        ahead |= ~some[:, 0] & ~behind[:, 0]
        target = np.where(
            some,
            np.where(near, np.where(ahead, n + 1, n)[:, None], 0),
            np.where(behind, np.where(lacking, ran + 1, 0), np.where(lone, n[:, None] + 1, 0)),
        )
        target[rows[ahead], winner[ahead]] = n[ahead] + 1
        done |= ~waiting.any(axis=1)
    return winner, ran, worse


def adversaries(selections: int) -> None:
    """How often another than the best is declared, or an equal one is called worse."""
    sys.stdout.write("| made data | wrong winner | called worse | folds |\n|---|---|---|---|\n")
    for name, (means, own) in _MADE.items():
        batch = made_batch(means, own, selections, seed=1)
        winner, ran, worse = many(batch)
        true = batch.means.mean(axis=2)
        wrong = true[np.arange(selections), winner] < true.max(axis=1)
        sys.stdout.write(
            f"| {name} | {_bold(100 * wrong.mean(), 5)} "
            f"| {_bold(100 * worse.any(axis=1).mean(), 5)} | {10 * ran.mean():.0f} % |\n"
        )


def losses(selections: int, asked: float = 0.001) -> None:
    """The loss that is measured, in that which was asked for, over contenders made up."""
    sys.stdout.write("| contenders | " + " | ".join(f"x{x}" for x in (0, 1, 3, 10, 46, 100)))
    sys.stdout.write(" |\n|---" + "|---" * 6 + "|\n")
    for name, count, spread in (
        ("two equal", 2, 0.0),
        ("two, 2 % apart", 2, 0.01),
        ("four equal", 4, 0.0),
        ("four, 2 % apart", 4, 0.01),
        ("twelve, 2 % apart", 12, 0.01),
    ):
        cells = []
        for noise in (0, 1, 3, 10, 46, 100):
            lost = []
            for part in range(20):
                means = 0.5 + np.random.default_rng(part).normal(0, spread, count)
                batch = made_batch(means.tolist(), [noise] * count, selections // 20, part, 0.02)
                true = batch.means.mean(axis=2)
                picked = true[np.arange(len(true)), many(batch, asked)[0]]
                lost.append(((true.max(axis=1) - picked) / true.max(axis=1)).mean() / asked)
            cells.append(_bold(float(np.mean(lost)), 2, ""))
        sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")


def _bold(value: float, most: float, unit: str = " %") -> str:
    text = f"{value:.2f}" if not unit else f"{value:.1f}{unit}"
    return f"**{text}**" if value > most else text


class _SameUsers(PairedScores):
    """Made folds, of whose differences users tell as much as of the recorded ones."""

    def __init__(self, made: Sequence[Scores], known: EverySubset) -> None:
        super().__init__(made)
        self._known = known

    def user_variance(self, contender: int, other: int, folds: Sequence[int]) -> float:
        return self._known.between(contender, other, 2**K - 1).user_variance


def budgets(orders: int, dataset: str = "hetrec-lastfm") -> None:
    """The loss within a budget, beside as many folds for everybody, pair by pair.

    Over orders of the recorded ten folds, and over made studies: ten new folds each, normal with
    the recorded means and the recorded covariances of the contenders' folds.
    """
    some = recorded_contenders()[dataset]
    known = EverySubset(some)
    recorded = np.array([one.folds for one in some])
    middle = recorded.mean(axis=1, keepdims=True)
    about = (recorded - middle) / np.sqrt(K - 1)  # its square is their covariance
    bare = [replace(one, users=None, user_ids=None) for one in some]
    sys.stdout.write("| folds | of | budget | fixed | difference |\n|---|---|---|---|---|\n")
    for amount, of in itertools.product((24, 36, 48), ("recorded folds", "new folds")):
        rng = np.random.default_rng(0)
        terms = Terms(k=K, budget=Budget(amount=amount, unit="folds"))
        lost = np.empty((orders, 2))
        for row in lost:
            order = rng.permutation(K).tolist()
            folds, made = recorded, some
            differences: PairedScores = known
            if of == "new folds":
                folds = middle + about @ rng.standard_normal((K, K))
                made = [replace(one, folds=new) for one, new in zip(bare, folds, strict=True)]
                differences = _SameUsers(made, known)
            found = follow(made, order, terms, differences).verdict
            assert found is not None  # made folds are all there
            fixed = folds[:, order[: amount // len(some)]].mean(axis=1).argmax()
            means = folds.mean(axis=1)
            row[:] = 100 * (1 - means[[found.winner, fixed]] / means.max())
        cells = [*lost.T, lost[:, 0] - lost[:, 1]]
        said = [f"{one.mean():.3f} % ({one.std(ddof=1) / orders**0.5:.3f})" for one in cells]
        sys.stdout.write(f"| {amount} | {of} | {' | '.join(said)} |\n")
        sys.stdout.flush()


def main() -> None:
    """What the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adversaries", action="store_true")
    parser.add_argument("--budgets", action="store_true")
    parser.add_argument("--orders", type=int, default=5000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.adversaries:
        adversaries(2000)
        sys.stdout.write("\nLoss measured in loss asked for (0.1 %)\n\n")
        losses(2000)
    elif options.budgets:
        budgets(min(options.orders, 500))
    else:
        sys.stdout.write("The recorded study (per dataset: folds, right)\n\n")
        compare(recorded_contenders(), options.orders)
        sys.stdout.write("\nGrids of one parameter\n\n")
        grids = {name: recorded_grid(name).scores for name in configuration_names(GRIDS)}
        compare(grids, options.orders)


if __name__ == "__main__":
    main()
