"""A block of runs and their users' scores -> scores, ranks, tau and bootstrap under each split."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core import evaluation
from ecv_core.analysis.ranking import mean_ranks, pair_numbers, pair_signs, tau_b
from ecv_core.analysis.significance import RESAMPLES, Floats, bootstrap_means
from ecv_core.records.errors import InputError
from ecv_core.records.frames import with_columns
from ecv_core.records.parameters import listed
from ecv_core.records.run import RunRecord, UserScores
from ecv_core.records.spec import Role, RunSpec
from ecv_core.splits import IMPORTED, SPLITS

# Complete runs on one dataset -> the largest block of splits x algorithms without a gap.


FEWEST = 2
"""Splits, and algorithms, that a comparison needs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Every algorithm under every split, on one dataset."""

    dataset: str
    splits: tuple[str, ...]
    """As `split_label` names them, in the order of the registry."""
    algorithms: tuple[str, ...]
    runs: Mapping[tuple[str, str], RunRecord]
    """(split, algorithm) -> its run."""
    left_out: tuple[str, ...] = ()
    """Splits and algorithms that lack runs the others have."""


def split_label(spec: RunSpec) -> str:
    """The split's id, with what is not its default: 'temporal-windows, k = 3'."""
    if spec.split == IMPORTED:
        return f"{IMPORTED} {(spec.folds_sha256 or '')[:8]}".rstrip()
    if (known := SPLITS.get(spec.split)) is None:  # of code that is not here
        return spec.split
    usual = dict(known.resolve({}))
    words = [f"{name} = {value}" for name, value in spec.split_params if usual.get(name) != value]
    if spec.k != known.default_k:
        words.insert(0, f"k = {spec.k}")
    return ", ".join([spec.split, *words])


def block_of(runs: Iterable[RunRecord], algorithms: Sequence[str] = ()) -> Block:
    """What of the runs can be compared.

    Args:
        runs: complete ones on one dataset; of equal ones the last counts.
        algorithms: the order in which they are to come; others after them.
    Raises: InputError if fewer than two splits share at least two algorithms, or datasets or
        protocols are mixed.
    """
    runs = list(runs)
    _check_alike(runs)
    there = {(split_label(run.spec), run.spec.algorithm): run for run in runs}
    by_split: dict[str, set[str]] = {}
    for split, algorithm in there:
        by_split.setdefault(split, set()).add(algorithm)
    kept, shared = _largest(by_split)
    order = [*algorithms, *sorted(shared - set(algorithms))]
    ordered = tuple(name for name in order if name in shared)
    missing = [name for name in by_split if name not in kept]
    everywhere = set().union(*by_split.values())
    return Block(
        dataset=runs[0].spec.dataset,
        splits=tuple(sorted(kept, key=_place)),
        algorithms=ordered,
        runs={cell: run for cell, run in there.items() if cell[0] in kept and cell[1] in shared},
        left_out=tuple([*sorted(missing, key=_place), *sorted(everywhere - shared)]),
    )


def _check_alike(runs: Sequence[RunRecord]) -> None:
    """Refuse runs whose scores differ for another reason than split and algorithm."""
    known = {(run.spec.dataset, *_protocol(run.spec)) for run in runs}
    if len(known) > 1:
        raise InputError(
            "splits are compared on one dataset, with one list length and one way to rank, but "
            f"the runs have {len(known)} different ones; pick runs that differ in split only"
        )


def _protocol(spec: RunSpec) -> tuple[object, ...]:
    """How the held-out part is measured, whichever of the metrics is looked at."""
    return tuple(value for name, value in spec.part(Role.MEASURE).items() if name != "metric")


def _largest(by_split: Mapping[str, set[str]]) -> tuple[list[str], set[str]]:
    """Splits and the algorithms they share, as many cells as can be."""
    shared: set[frozenset[str]] = set()
    for names in map(frozenset, by_split.values()):
        shared |= {names} | {names & one for one in shared}
    blocks = [([split for split in by_split if one <= by_split[split]], one) for one in shared]
    blocks = [block for block in blocks if min(map(len, block)) >= FEWEST]
    if not blocks:
        raise InputError(
            "ranks can swap where at least two algorithms have complete runs under at least two "
            "splits; run more of them"
        )
    splits, algorithms = max(
        blocks, key=lambda block: (len(block[0]) * len(block[1]), len(block[0]), sorted(block[1]))
    )
    return splits, set(algorithms)


def _place(split: str) -> tuple[int, str]:
    names = list(SPLITS)
    name = split.partition(",")[0]
    return (names.index(name) if name in names else len(names), split)


# Per-user scores of some algorithms under one split -> their scores, had other users come.
#
# The user is what is drawn: with all folds, under every split and for every algorithm alike, since
# scores of the same user are alike. That is what makes orders and swaps comparable.


def user_cube(
    scores: Sequence[Mapping[int, UserScores]], metric: str, n_users: int
) -> NDArray[np.float32]:
    """Per-user scores as an array.

    Args:
        scores: per algorithm, fold -> its per-user scores; the same folds for all.
        metric: as in UserScores.metrics.
        n_users: users of the dataset, or one more than the largest code that occurs.
    Returns: shape (algorithms, folds, n_users); NaN where a user is not evaluated in a fold by
        every algorithm.
    """
    folds = sorted(scores[0])
    cube = np.full((len(scores), len(folds), n_users), np.nan, dtype=np.float32)
    for row, by_fold in enumerate(scores):
        for column, fold in enumerate(folds):
            cube[row, column, by_fold[fold].users] = by_fold[fold].of(metric)
    cube[:, np.isnan(cube).any(axis=0)] = np.nan
    return cube


def resampled_scores(
    cubes: Sequence[NDArray[np.float32]], *, resamples: int = RESAMPLES
) -> list[Floats]:
    """Each algorithm's mean over folds of its mean over users, for users drawn with replacement.

    The same users are drawn for all algorithms under all splits.

    Args:
        cubes: one per split, as `user_cube` makes it: shape (algorithms, folds, users).
        resamples: how many bootstrap samples.
    Returns: per split, shape (algorithms, resamples); a fold none of whose users is drawn does not
        count, and NaN is left where that is so in every fold.
    Source: Efron (1979), with the user as the unit.
    """
    if not cubes:
        return []
    rows = np.concatenate([part for cube in cubes for part in _sums_and_users(cube)])
    drawn = bootstrap_means(rows, resamples=resamples)
    found, at = [], 0
    for cube in cubes:
        algorithms, folds, _ = cube.shape
        middle, end = at + algorithms * folds, at + (algorithms + 1) * folds
        totals, shares = drawn[at:middle].reshape(algorithms, folds, -1), drawn[middle:end]
        known = shares > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(known, totals / shares, 0.0).sum(axis=1) / known.sum(axis=0)
        found.append(means)
        at = end
    return found


def _sums_and_users(cube: NDArray[np.float32]) -> tuple[Floats, Floats]:
    """A row of scores per algorithm and fold, and a row per fold with 1 for who is evaluated."""
    scores = np.nan_to_num(cube, nan=0.0).astype(np.float64)
    return scores.reshape(-1, cube.shape[-1]), (~np.isnan(cube[0])).astype(np.float64)


UsersOf = Callable[[RunRecord], Mapping[int, UserScores]]
"""Run -> its per-user scores by fold; empty where they are not known."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Swaps:
    """Several algorithms under several splits, by one metric."""

    dataset: str
    metric: str
    """With its cut-off: 'ndcg@10'."""
    higher_is_better: bool
    splits: tuple[str, ...]
    algorithms: tuple[str, ...]
    scores: Floats
    """Mean over folds; shape (splits, algorithms)."""
    samples: Floats
    """The same for users drawn with replacement; shape (splits, algorithms, resamples), NaN where
    a split's per-user scores are not known."""

    @property
    def ranks(self) -> Floats:
        """1 is best, equals share the mean; shape (splits, algorithms)."""
        return mean_ranks(self.scores, higher_is_better=self.higher_is_better)

    @property
    def signs(self) -> Floats:
        """Who is ahead; shape (splits, pairs)."""
        return pair_signs(self.scores, higher_is_better=self.higher_is_better)

    @property
    def sample_signs(self) -> Floats:
        """Who is ahead in each sample; shape (splits, resamples, pairs)."""
        rows = self.samples.transpose(0, 2, 1)
        return pair_signs(rows, higher_is_better=self.higher_is_better)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The algorithms of each pair."""
        first, second = pair_numbers(len(self.algorithms))
        return [
            (self.algorithms[one], self.algorithms[other])
            for one, other in zip(first.tolist(), second.tolist(), strict=True)
        ]

    @property
    def without_users(self) -> tuple[str, ...]:
        """Splits whose per-user scores are not known: they have no intervals."""
        return tuple(
            name
            for name, samples in zip(self.splits, self.samples, strict=True)
            if np.isnan(samples).all()
        )

    def number(self, split: str) -> int:
        """Row of a split. Raises: InputError if it is not among them."""
        if split not in self.splits:
            raise InputError(f"'{split}' is not compared; choose one of: {', '.join(self.splits)}")
        return self.splits.index(split)

    def taus(self) -> Floats:
        """Tau-b between every two splits; shape (splits, splits)."""
        signs = self.signs
        return tau_b(signs[:, None], signs[None])

    def sample_taus(self) -> Floats:
        """The same in every sample; shape (splits, splits, resamples)."""
        signs = self.sample_signs
        return tau_b(signs[:, None], signs[None])


def common_metrics(block: Block) -> list[str]:
    """Metrics that every fold of every run has, that of the runs first."""
    runs = list(block.runs.values())
    first = runs[0].folds[0].metrics
    shared = [
        name for name in first if all(name in fold.metrics for run in runs for fold in run.folds)
    ]
    own = runs[0].spec.metric_name
    return sorted(shared, key=lambda name: name != own)


def swaps(block: Block, metric: str, users_of: UsersOf) -> Swaps:
    """Rank a block's algorithms under each of its splits.

    Args:
        block: the runs.
        metric: one of `common_metrics`.
        users_of: gives per-user scores.
    Raises: InputError for a metric that some fold lacks.
    """
    grid = [[block.runs[split, one] for one in block.algorithms] for split in block.splits]
    if any(metric not in fold.metrics for row in grid for run in row for fold in run.folds):
        raise InputError(
            f"not every run has {metric}; choose one of: {', '.join(common_metrics(block))}"
        )
    users = [_users(row, metric, users_of) for row in grid]
    known = [scores for row in users for one in row for scores in one.values()]
    n_users = max((int(one.users.max(initial=-1)) for one in known), default=-1) + 1
    drawn = iter(resampled_scores([user_cube(row, metric, n_users) for row in users if row]))
    unknown = np.full((len(block.algorithms), RESAMPLES), np.nan)
    spec = next(iter(block.runs.values())).spec
    scored = spec.metric_name == metric
    about = evaluation.metric_of(spec) if scored else evaluation.metric(metric.partition("@")[0])
    return Swaps(
        dataset=block.dataset,
        metric=metric,
        higher_is_better=about.higher_is_better,
        splits=block.splits,
        algorithms=block.algorithms,
        scores=np.array([[_score(run, metric) for run in row] for row in grid]),
        samples=np.stack([next(drawn) if row else unknown for row in users]),
    )


def _score(run: RunRecord, metric: str) -> float:
    return float(np.mean([fold.metrics[metric] for fold in run.folds]))


def _users(runs: list[RunRecord], metric: str, users_of: UsersOf) -> list[Mapping[int, UserScores]]:
    """Per algorithm; empty where one of them lacks a fold's scores."""
    found: list[Mapping[int, UserScores]] = []
    for run in runs:
        scores = users_of(run)
        folds = {fold.fold for fold in run.folds}
        if not folds <= set(scores) or any(metric not in scores[fold].metrics for fold in folds):
            return []
        found.append({fold: scores[fold] for fold in folds})
    return found


RANKS_COLUMNS = {
    "dataset": "evaluated on",
    "metric": "what the score is",
    "split": "the strategy",
    "algorithm": "what is ranked",
    "score": "mean over folds",
    "low": "lower end of its bootstrap interval over users; empty where users are not known",
    "high": "upper end",
    "rank": "1 is best, equals share the mean of their ranks",
    "reference_rank": "under the reference split",
    "up": "ranks gained against the reference; negative where lost",
}
TAUS_COLUMNS = {
    "dataset": "evaluated on",
    "metric": "what the score is",
    "split": "one strategy",
    "other": "another one",
    "tau": "Kendall's tau-b between their rankings of the algorithms",
    "low": "lower end of its bootstrap interval over users",
    "high": "upper end",
    "swaps": "pairs of algorithms that are the other way round",
    "pairs": "pairs of algorithms",
}
"""The frames' columns and what they mean."""


@with_columns(RANKS_COLUMNS)
def ranks_frame(swaps: Swaps, reference: str) -> pd.DataFrame:
    """One row per split and algorithm, with the RANKS_COLUMNS; the reference's best first.

    Args:
        swaps: what was ranked.
        reference: one of its splits, whose rows come first.
    Raises: InputError for a reference that is not among the splits.
    """
    at = swaps.number(reference)
    ranks = swaps.ranks
    low, high = interval(swaps.samples)
    order = np.lexsort((np.arange(len(swaps.algorithms)), ranks[at])).tolist()
    columns = [at] + [number for number in range(len(swaps.splits)) if number != at]
    return pd.DataFrame(
        [
            {
                "dataset": swaps.dataset,
                "metric": swaps.metric,
                "split": swaps.splits[column],
                "algorithm": swaps.algorithms[row],
                "score": swaps.scores[column, row],
                "low": low[column, row],
                "high": high[column, row],
                "rank": ranks[column, row],
                "reference_rank": ranks[at, row],
                "up": ranks[at, row] - ranks[column, row],
            }
            for column in columns
            for row in order
        ],
        columns=list(RANKS_COLUMNS),
    )


@with_columns(TAUS_COLUMNS)
def taus_frame(swaps: Swaps) -> pd.DataFrame:
    """One row per two splits, each pair once, with the TAUS_COLUMNS."""
    taus, signs = swaps.taus(), swaps.signs
    low, high = interval(swaps.sample_taus())
    return pd.DataFrame(
        [
            {
                "dataset": swaps.dataset,
                "metric": swaps.metric,
                "split": swaps.splits[one],
                "other": swaps.splits[other],
                "tau": taus[one, other],
                "low": low[one, other],
                "high": high[one, other],
                "swaps": int((signs[one] * signs[other] < 0).sum()),
                "pairs": signs.shape[1],
            }
            for one, other in itertools.combinations(range(len(swaps.splits)), 2)
        ],
        columns=list(TAUS_COLUMNS),
    )


def swapped_frame(swaps: Swaps, reference: str) -> pd.DataFrame:
    """One row per pair of algorithms and split under which its order is the other way round.

    Returns: split; ahead and behind, under the reference; both_percent: of bootstrap samples with
        both orders, missing where users are not known.
    Raises: InputError for a reference that is not among the splits.
    """
    at = swaps.number(reference)
    signs, samples, pairs = swaps.signs, swaps.sample_signs, swaps.pairs
    kept = samples == signs[:, None]  # (splits, resamples, pairs)
    known = np.logical_and.reduce(np.isfinite(samples), axis=2)
    rows = []
    for split, pair in np.argwhere(signs * signs[at] < 0).tolist():
        order = pairs[pair] if signs[at, pair] > 0 else pairs[pair][::-1]
        both = kept[at, :, pair] & kept[split, :, pair]
        rows.append((swaps.splits[split], *order, _percent(both, known[at] & known[split])))
    return pd.DataFrame(rows, columns=["split", "ahead", "behind", "both_percent"])


def interval(samples: Floats) -> tuple[Floats, Floats]:
    """Ends of the 95 % percentile interval over the last axis; NaN where there is no sample.

    Args: samples: shape (..., resamples); NaN does not count.
    """
    known = ~np.isnan(samples).all(axis=-1)
    ends = np.full((2, *known.shape), np.nan)
    if known.any():
        ends[:, known] = np.nanquantile(samples[known], [0.025, 0.975], axis=-1)
    return ends[0], ends[1]


def _percent(yes: NDArray[np.bool_], known: NDArray[np.bool_]) -> float:
    return 100.0 * float(yes[known].mean()) if known.any() else float("nan")


# Pairs of algorithms under several splits -> what the ranking does, in plain sentences.


SURE_PERCENT = 95.0
"""Share of bootstrap samples from which on a swap is called no accident of the users."""


def winners(swaps: Swaps) -> str:
    """Who is first where: 'ease wins under 8 of 10 splits, neu-mf under temporal-global and ...'.

    The algorithm that wins most often comes first, with a count; the others with their splits.
    """
    first = swaps.ranks == swaps.ranks.min(axis=1, keepdims=True)
    where: dict[str, list[str]] = {}
    for split, row in zip(swaps.splits, first, strict=True):
        best = [name for name, wins in zip(swaps.algorithms, row, strict=True) if wins]
        where.setdefault(listed(best), []).append(f"'{split}'")
    often = sorted(where, key=lambda names: len(where[names]), reverse=True)
    count = len(swaps.splits)
    if len(often) == 1:
        return (
            f"{often[0]} {_win(often[0])} under {'both' if count == 2 else f'all {count}'} splits."
        )
    most = len(where[often[0]])
    usual = where[often[0]][0] if most == 1 else f"{most} of {count} splits"
    rest = "; ".join(f"{names} under {listed(where[names])}" for names in often[1:])
    return f"{often[0]} {_win(often[0])} under {usual}; {rest}."


def headline(swaps: Swaps, reference: str) -> str:
    """The surest swap by name, and how many pairs swap.

    Raises: InputError for a reference that is not among the splits.
    """
    swapped = swapped_frame(swaps, reference)
    others = len(swaps.splits) - 1
    between = (
        f"between '{reference}' and {'the other split' if others == 1 else f'{others} others'}"
    )
    if swapped.empty:
        return f"No pair of algorithms swaps {between}."
    best = swapped.sort_values("both_percent", ascending=False, kind="stable").iloc[0]
    each = swapped.groupby(["ahead", "behind"], sort=False)["both_percent"].max()
    text = (
        f"Under '{best['split']}', {best['behind']} beats {best['ahead']}; under '{reference}' it "
        f"is the other way round. Pairs of algorithms that swap {between}: {len(each)} of "
        f"{len(swaps.pairs)}"
    )
    if each.isna().all():
        return f"{text}; without the users' scores nobody knows which of them are chance."
    sure = int((each >= SURE_PERCENT).sum())
    rest = "; the others may be chance" if sure else "; it may be chance"
    return (
        f"{text}, {sure or 'none'} of them in at least {SURE_PERCENT:g} % of the bootstrap samples"
        f"{rest if sure < len(each) else ''}."
    )


def _win(names: str) -> str:
    return "share the first rank" if " and " in names else "wins"
