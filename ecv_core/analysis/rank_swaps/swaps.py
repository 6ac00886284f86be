"""A block of runs and their users' scores -> scores, ranks, tau and bootstrap under each split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ecv_core import evaluation
from ecv_core.analysis.rank_swaps.blocks import Block
from ecv_core.analysis.rank_swaps.bootstrap import resampled_scores, user_cube
from ecv_core.analysis.ranking import mean_ranks, pair_signs
from ecv_core.analysis.significance import RESAMPLES
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord, UserScores

ScoresByFold = Mapping[int, UserScores]
UserScoresOf = Callable[[RunRecord], ScoresByFold]
"""Run -> its per-user scores by fold; empty where they were not kept."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Swaps:
    """The scores of several algorithms under several splits, by one metric."""

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
    per-user scores of a split are missing."""

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
        """The algorithms of each pair, in the order of `ranking.pair_numbers`."""
        return list(combinations(self.algorithms, 2))

    @property
    def without_users(self) -> tuple[str, ...]:
        """Splits without per-user scores: they have no intervals."""
        missing = np.isnan(self.samples).all(axis=(1, 2))
        return tuple(np.array(self.splits)[missing].tolist())

    def row_of(self, split: str) -> int:
        """Find the row of a split. Raises: InputError if it is not among the splits."""
        if split not in self.splits:
            raise InputError(f"'{split}' is not compared; choose one of: {', '.join(self.splits)}")
        return self.splits.index(split)


def common_metrics(block: Block) -> list[str]:
    """The metrics that every fold of every run has, that of the runs first.

    One that only describes lists ranks nobody, and is left out.
    """
    runs = list(block.runs.values())
    shared = list(runs[0].folds[0].metrics)
    for run in runs:
        for fold in run.folds:
            shared = [name for name in shared if name in fold.metrics]
    shared = [name for name in shared if not _is_descriptive(name)]
    metric_of_runs = runs[0].spec.metric_name
    if metric_of_runs in shared:
        shared.remove(metric_of_runs)
        shared.insert(0, metric_of_runs)
    return shared


def _is_descriptive(metric: str) -> bool:
    """Whether no value of a metric is better than another; of unknown ones that is not known."""
    metric_id = metric.partition("@")[0]
    return metric_id in evaluation.METRICS and evaluation.METRICS[metric_id].descriptive


def rank_block(block: Block, metric: str, user_scores_of: UserScoresOf) -> Swaps:
    """Rank a block's algorithms under each of its splits.

    Args:
        block: The runs.
        metric: One of `common_metrics`.
        user_scores_of: Gives a run's per-user scores.

    Raises:
        InputError: For a metric that some fold lacks.
    """
    metrics = common_metrics(block)
    if metric not in metrics:
        raise InputError(f"not every run has {metric}; choose one of: {', '.join(metrics)}")
    scores = []
    user_scores: dict[str, list[ScoresByFold]] = {}
    for split in block.splits:
        runs = [block.runs[split, algorithm] for algorithm in block.algorithms]
        scores.append([_mean_score(run, metric) for run in runs])
        scores_of_runs = _complete_user_scores(runs, metric, user_scores_of)
        if scores_of_runs is not None:
            user_scores[split] = scores_of_runs
    spec = next(iter(block.runs.values())).spec
    if spec.metric_name == metric:
        metric_info = evaluation.metric_of(spec)
    else:  # It is another metric that the folds have, with its cut-off.
        metric_info = evaluation.metric(metric.partition("@")[0])
    return Swaps(
        dataset=block.dataset,
        metric=metric,
        higher_is_better=metric_info.higher_is_better,
        splits=block.splits,
        algorithms=block.algorithms,
        scores=np.array(scores),
        samples=_bootstrap_samples(block, metric, user_scores),
    )


def _mean_score(run: RunRecord, metric: str) -> float:
    return float(np.mean([fold.metrics[metric] for fold in run.folds]))


def _complete_user_scores(
    runs: Sequence[RunRecord], metric: str, user_scores_of: UserScoresOf
) -> list[ScoresByFold] | None:
    """Per-user scores of each run's own folds; None where a run lacks those of a fold."""
    scores_of_runs: list[ScoresByFold] = []
    for run in runs:
        stored = user_scores_of(run)
        scores_by_fold = {}
        for fold in run.folds:
            if fold.fold not in stored or metric not in stored[fold.fold].metrics:
                return None
            scores_by_fold[fold.fold] = stored[fold.fold]
        scores_of_runs.append(scores_by_fold)
    return scores_of_runs


def _bootstrap_samples(
    block: Block, metric: str, user_scores: Mapping[str, Sequence[ScoresByFold]]
) -> Floats:
    """The scores of a block for users drawn with replacement.

    Args:
        block: The runs.
        metric: Whose scores are drawn.
        user_scores: For each split that has them, per-user scores in the order of the algorithms.

    Returns:
        Shape (splits, algorithms, resamples); NaN for splits without per-user scores.
    """
    # A user has the same code, and so the same column, under every split.
    highest_code = -1
    for scores_of_runs in user_scores.values():
        for scores_by_fold in scores_of_runs:
            for scores in scores_by_fold.values():
                highest_code = max(highest_code, int(scores.users.max(initial=-1)))
    cubes = []
    for scores_of_runs in user_scores.values():
        cubes.append(user_cube(scores_of_runs, metric, highest_code + 1))
    samples = np.full((len(block.splits), len(block.algorithms), RESAMPLES), np.nan)
    for split, drawn in zip(user_scores, resampled_scores(cubes), strict=True):
        samples[block.splits.index(split)] = drawn
    return samples
