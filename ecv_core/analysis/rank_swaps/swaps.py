"""A block of runs and their users' scores -> scores, ranks, tau and bootstrap under each split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecv_core.analysis.rank_swaps.block import Block
from ecv_core.analysis.rank_swaps.bootstrap import RESAMPLES, resampled_scores, user_cube
from ecv_core.analysis.ranking import mean_ranks, pair_numbers, pair_signs, tau_b
from ecv_core.errors import InputError
from ecv_core.evaluation import METRICS
from ecv_core.records import Run, UserScores

UsersOf = Callable[[Run], Mapping[int, UserScores]]
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
    scores: NDArray[np.float64]
    """Mean over folds; shape (splits, algorithms)."""
    samples: NDArray[np.float64]
    """The same for users drawn with replacement; shape (splits, algorithms, resamples), NaN where
    a split's per-user scores are not known."""

    @property
    def ranks(self) -> NDArray[np.float64]:
        """1 is best, equals share the mean; shape (splits, algorithms)."""
        return mean_ranks(self.scores, higher_is_better=self.higher_is_better)

    @property
    def signs(self) -> NDArray[np.float64]:
        """Who is ahead; shape (splits, pairs)."""
        return pair_signs(self.scores, higher_is_better=self.higher_is_better)

    @property
    def sample_signs(self) -> NDArray[np.float64]:
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

    def taus(self) -> NDArray[np.float64]:
        """Tau-b between every two splits; shape (splits, splits)."""
        signs = self.signs
        return tau_b(signs[:, None], signs[None])

    def sample_taus(self) -> NDArray[np.float64]:
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


def swaps(
    block: Block,
    metric: str,
    users_of: UsersOf,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Swaps:
    """Rank a block's algorithms under each of its splits.

    Args:
        block: the runs.
        metric: one of `common_metrics`.
        users_of: gives per-user scores.
        resamples: bootstrap samples of users, the same users under all splits.
        seed: of the bootstrap.
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
    drawn = iter(
        resampled_scores(
            [user_cube(row, metric, n_users) for row in users if row],
            resamples=resamples,
            seed=seed,
        )
    )
    unknown = np.full((len(block.algorithms), resamples), np.nan)
    return Swaps(
        dataset=block.dataset,
        metric=metric,
        higher_is_better=METRICS[metric.partition("@")[0]].higher_is_better,
        splits=block.splits,
        algorithms=block.algorithms,
        scores=np.array([[_score(run, metric) for run in row] for row in grid]),
        samples=np.stack([next(drawn) if row else unknown for row in users]),
    )


def _score(run: Run, metric: str) -> float:
    return float(np.mean([fold.metrics[metric] for fold in run.folds]))


def _users(runs: list[Run], metric: str, users_of: UsersOf) -> list[Mapping[int, UserScores]]:
    """Per algorithm; empty where one of them lacks a fold's scores."""
    found: list[Mapping[int, UserScores]] = []
    for run in runs:
        scores = users_of(run)
        folds = {fold.fold for fold in run.folds}
        if not folds <= set(scores) or any(metric not in scores[fold].metrics for fold in folds):
            return []
        found.append({fold: scores[fold] for fold in folds})
    return found
