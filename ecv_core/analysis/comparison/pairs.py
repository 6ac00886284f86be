"""Runs -> a paired test of every pair that can be compared fairly, corrected for their number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.comparison.fairness import fair_key, measures, unfair
from ecv_core.analysis.significance import PairedTest, holm, over_folds, over_users
from ecv_core.records import Run, UserScores

_UserMeans = tuple[NDArray[np.int32], NDArray[np.float64]]

SIGNIFICANCE = 0.05
"""A difference is found where the corrected p is at most this."""
K_FOLD = ("user-k-fold", "record-k-fold", "imported")
"""Splits of which each fold tests on 1/k and trains on the rest, as `over_folds` assumes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contender:
    """A run with every user's scores, as far as they were kept."""

    name: str
    """Unlike any other contender's."""
    run: Run
    users: Mapping[int, UserScores]
    """Fold -> scores; may be empty."""
    metric: str
    """As shown: 'nDCG@10'."""
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs on the same folds, the one with the better mean first.

    Where lower is better, differences are turned round, so that better is always above 0.
    """

    first: str
    second: str
    dataset: str
    metric: str
    folds: tuple[int, ...]
    """The folds that both have."""
    test: PairedTest
    p_holm: float
    """Corrected for all comparisons that were made together."""
    wilcoxon_holm: float | None

    @property
    def found(self) -> bool:
        """Whether the test finds a difference."""
        return self.p_holm <= SIGNIFICANCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Untested:
    """Two runs of which no test would be fair, and why."""

    first: str
    second: str
    reason: str
    apart: bool
    """Whether it goes without saying: another dataset or another metric."""


def compare_runs(
    contenders: Sequence[Contender], *, confidence: float = 0.95
) -> tuple[list[Comparison], list[Untested]]:
    """Test every pair that can be tested fairly, and say of the others why not.

    Where every user's score is known for both, users are paired: each one's mean over the folds
    that both runs have. Otherwise folds are paired, with a correction for their dependence.

    Args:
        contenders: at least two, each under a name of its own.
        confidence: of the intervals, in (0, 1).
    Returns: the tested pairs, in the order of the contenders; and the others.
    """
    untested: list[Untested] = []
    by_users: defaultdict[Hashable, list[tuple[Contender, Contender]]] = defaultdict(list)
    tests: list[tuple[Contender, Contender, tuple[int, ...], PairedTest]] = []
    means = _Means()
    for one, other in combinations(contenders, 2):
        folds = common_folds(one.run, other.run)
        if reason := unfair(one.run.spec, other.run.spec) or _too_little(one, other, folds, means):
            apart = measures(one.run.spec) != measures(other.run.spec)
            untested.append(Untested(first=one.name, second=other.name, reason=reason, apart=apart))
        elif _has_users(one, folds) and _has_users(other, folds):
            by_users[(fair_key(one.run.spec), folds)].append((one, other))
        else:
            pair = _better_first(one, other, folds)
            scores = [_fold_scores(each, folds) for each in pair]
            k = one.run.spec.k
            tests.append((*pair, folds, over_folds(*scores, k=k, confidence=confidence)))
    for (_, folds), group in by_users.items():  # type: ignore[misc]  # the key made above
        tests += _over_users(group, folds, means, confidence)
    order = {each.name: at for at, each in enumerate(contenders)}
    tests.sort(key=lambda found: sorted((order[found[0].name], order[found[1].name])))
    return _corrected(tests), untested


def best_of(names: Collection[str], tested: Sequence[Comparison]) -> str | None:
    """The contender that the tests find better than every other one; None where there is none."""
    for name in names:
        beaten = {one.second for one in tested if one.found and one.first == name}
        if len(names) > 1 and beaten >= set(names) - {name}:
            return name
    return None


def common_folds(one: Run, other: Run) -> tuple[int, ...]:
    """Indices of the folds that both have finished, ascending."""
    return tuple(sorted({f.fold for f in one.folds} & {f.fold for f in other.folds}))


def user_means(scores: Mapping[int, UserScores], folds: Sequence[int], metric: str) -> _UserMeans:
    """Each user's mean over those of the folds in which the user has a score.

    A user has none where nothing is held out, or where the metric is not defined (NaN).

    Returns: users, ascending, and their means; both of shape (users seen,).
    """
    values = np.concatenate([scores[f].of(metric) for f in folds]).astype(np.float64)
    known = np.isfinite(values)
    users = np.concatenate([scores[f].users for f in folds])[known]
    users, at = np.unique(users, return_inverse=True)
    values = values[known]
    return users, np.bincount(at, weights=values) / np.bincount(at)


class _Means:
    """`user_means` of each contender, worked out once however many pairs it is in."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[int, ...]], _UserMeans] = {}

    def of(self, contender: Contender, folds: tuple[int, ...]) -> _UserMeans:
        """Of these folds."""
        key = contender.name, folds
        if key not in self._known:
            metric = contender.run.spec.metric_name
            self._known[key] = user_means(contender.users, folds, metric)
        return self._known[key]


def _too_little(one: Contender, other: Contender, folds: tuple[int, ...], means: _Means) -> str:
    if not folds:
        return "no fold in common"
    if _has_users(one, folds) and _has_users(other, folds):
        if not all(_same(one.users[f].users, other.users[f].users) for f in folds):
            return "different users held out: the dataset was not the same for both"
        if len(np.intersect1d(means.of(one, folds)[0], means.of(other, folds)[0])) < 2:
            return "fewer than two users in common"
        return ""
    if len(folds) < 2:
        return "only one fold in common, and no scores of single users"
    if one.run.spec.split not in K_FOLD:
        return f"no scores of single users, and the folds of {one.run.spec.split} are not k-fold"
    return ""


def _same(one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    """Whether both hold the same users, in whatever order."""
    return np.array_equal(one, other) or np.array_equal(np.sort(one), np.sort(other))


def _has_users(contender: Contender, folds: Sequence[int]) -> bool:
    metric = contender.run.spec.metric_name
    return all(f in contender.users and metric in contender.users[f].metrics for f in folds)


def _fold_scores(contender: Contender, folds: Sequence[int]) -> list[float]:
    """Turned round where lower is better."""
    scores = {result.fold: result.score for result in contender.run.folds}
    return [scores[f] if contender.higher_is_better else -scores[f] for f in folds]


def _better_first(
    one: Contender, other: Contender, folds: tuple[int, ...]
) -> tuple[Contender, Contender]:
    means = [float(np.mean(_fold_scores(each, folds))) for each in (one, other)]
    return (one, other) if means[0] >= means[1] else (other, one)


def _over_users(
    pairs: Sequence[tuple[Contender, Contender]],
    folds: tuple[int, ...],
    means: _Means,
    confidence: float,
) -> list[tuple[Contender, Contender, tuple[int, ...], PairedTest]]:
    """Pairs that have the same folds, so that all can be resampled together."""
    contenders = list({one.name: one for pair in pairs for one in pair}.values())
    rows = {one.name: at for at, one in enumerate(contenders)}
    known = [means.of(one, folds) for one in contenders]
    common = known[0][0]
    for users, _ in known[1:]:
        common = np.intersect1d(common, users, assume_unique=True)
    scores = np.stack([values[np.searchsorted(users, common)] for users, values in known])
    if not contenders[0].higher_is_better:
        scores = -scores
    level = scores.mean(axis=1)
    ordered = [
        (one, other) if level[rows[one.name]] >= level[rows[other.name]] else (other, one)
        for one, other in pairs
    ]
    tests = over_users(
        scores,
        [(rows[one.name], rows[other.name]) for one, other in ordered],
        confidence=confidence,
    )
    return [(*pair, folds, test) for pair, test in zip(ordered, tests, strict=True)]


def _corrected(
    tests: Sequence[tuple[Contender, Contender, tuple[int, ...], PairedTest]],
) -> list[Comparison]:
    p = holm([test.p for *_, test in tests])
    ranked = [test.wilcoxon_p for *_, test in tests if test.wilcoxon_p is not None]
    wilcoxon = iter(holm(ranked))
    return [
        Comparison(
            first=first.name,
            second=second.name,
            dataset=first.run.spec.dataset,
            metric=first.metric,
            folds=folds,
            test=test,
            p_holm=p_one,
            wilcoxon_holm=None if test.wilcoxon_p is None else next(wilcoxon),
        )
        for (first, second, folds, test), p_one in zip(tests, p, strict=True)
    ]
