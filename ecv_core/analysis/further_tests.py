"""Paired scores -> what reviewers ask for beside the t test: equivalence, signs, signed ranks.

And scores of several learners on several datasets -> whether their ranks differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import ArrayLike

from ecv_core.analysis.ranking import mean_ranks
from ecv_core.analysis.significance import BLOCK_CELLS, corrected_error, differ_alike
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError

FLIPS = 9_999
"""Draws of the randomization test: a p value near 0.05 is then known to within 0.004."""


@dataclass(frozen=True, kw_only=True)
class Chances:
    """How likely it is which of two learners is better by more than a margin; they sum to 1."""

    first: float
    """The first is better by more than the margin."""
    equivalent: float
    """They differ by at most the margin, the region of practical equivalence."""
    second: float


def correlated_bayes(differences: ArrayLike, *, k: float, margin: float) -> Chances:
    """The Bayesian correlated t test of two learners by the scores of the same folds.

    Args:
        differences: First minus second, of each fold; shape (folds,), at least two.
        k: Into how many parts the data are split, so that the correlation is 1/k; as of
            `significance.corrected_t_test_over_folds`.
        margin: Differences up to it do not matter in practice; at least 0, in the unit of the
            score.

    Raises:
        InputError: For fewer than two folds, a margin below 0, or folds that all
            differ by the same.

    Source: Corani, Benavoli (2015); Benavoli, Corani, Demsar, Zaffalon (2017).
    """
    values = np.asarray(differences, dtype=np.float64)
    count = len(values)
    if count < 2:
        raise InputError(f"a test over folds needs at least two in common, but there are {count}")
    if differ_alike(values):
        raise InputError(
            f"all {count} folds differ by the same, which does not tell by how much others would"
        )
    if not margin >= 0:
        raise InputError(f"a margin of practical equivalence is at least 0, but is {margin}")
    mean = float(values.mean())
    standard_error = corrected_error(values, k)
    # The posterior of the difference is Student's t about the mean; these are its two tails.
    first = float(scipy.special.stdtr(count - 1, (mean - margin) / standard_error))
    second = float(scipy.special.stdtr(count - 1, (-mean - margin) / standard_error))
    return Chances(first=first, equivalent=max(0.0, 1 - first - second), second=second)


def signed_rank_p(differences: ArrayLike, *, rounding: ArrayLike = 0.0) -> float:
    """The two-sided p of Wilcoxon's signed-rank test; 1 where no two scores differ.

    Args:
        differences: The differences of the pairs; those that are 0 do not count.
        rounding: How far rounding may have moved the difference of each pair, or of all: scores
            such as 0.3 and 0.1 + 0.2 are meant to be the same. Sizes that are no farther apart are
            ties.

    Source: Wilcoxon (1945), by scipy: exact for up to 50 pairs without ties.
    """
    values = np.asarray(differences, dtype=np.float64)
    rounding_of_pair = np.broadcast_to(np.asarray(rounding, dtype=np.float64), values.shape)
    differs = np.abs(values) > rounding_of_pair
    values = values[differs]
    if not len(values):
        return 1.0
    # The test looks only at the signs and at the ranks of the sizes. So a size may be replaced by
    # the number of its tie, which ranks in the same way.
    ties = _ties(np.abs(values), rounding_of_pair[differs])
    return float(scipy.stats.wilcoxon(np.sign(values) * ties).pvalue)


def _ties(sizes: Floats, rounding: Floats) -> Floats:
    """A number for each size, the same for those that only rounding keeps from the least of a tie.

    Many sizes that lie close together are no tie, though each may be within rounding of the next.
    """
    ties = np.empty(len(sizes))
    tie = 0
    least_of_tie = -math.inf
    rounding_of_least = 0.0
    for pair in np.argsort(sizes).tolist():  # The pairs come from the least size on.
        # Compared with the least of the tie: with its last one, sizes far apart could be one tie.
        if sizes[pair] - least_of_tie > max(rounding_of_least, rounding[pair]):
            tie += 1
            least_of_tie = sizes[pair]
            rounding_of_least = rounding[pair]
        ties[pair] = tie
    return ties


def randomization_p(differences: ArrayLike, *, flips: int = FLIPS) -> float:
    """The two-sided p of a randomization test: signs of the differences drawn by chance.

    If both systems were the same, each difference might as well have the other sign. scipy's
    `permutation_test` gives the same, but takes a minute for 50,000 users.

    Args:
        differences: The differences of the pairs; shape (pairs,).
        flips: How often all signs are drawn.

    Returns:
        At least 1 / (flips + 1), for the signs as they are count as a draw.

    Source: Smucker, Allan, Carterette (2007); Phipson, Smyth (2010) for the draw that is added.
    """
    values = np.asarray(differences, dtype=np.float64)
    values = values[values != 0]
    if not len(values):
        return 1.0
    observed = abs(float(values.sum()))
    # A sum that equals the observed one up to rounding counts as extreme, so the limit is a little
    # below the observed sum.
    least_extreme_sum = observed - 1e-12 * float(np.abs(values).sum())
    rng = np.random.default_rng(0)
    flips_per_block = max(1, BLOCK_CELLS // len(values))
    extreme_draws = 1  # the signs as they were observed count as a draw of their own
    for start in range(0, flips, flips_per_block):
        flips_of_block = min(flips_per_block, flips - start)
        # A row is a draw of all signs, a column is a pair.
        is_positive = rng.integers(2, size=(flips_of_block, len(values)), dtype=np.int8)
        # A sign is 2 * is_positive - 1, so this is the sum of the values with their signs.
        sums = 2 * (is_positive @ values) - values.sum()
        extreme_draws += int((np.abs(sums) >= least_extreme_sum).sum())
    return extreme_draws / (flips + 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class RankTest:
    """Friedman's test of several learners on several datasets, and Nemenyi's of each two."""

    mean_ranks: Floats
    """1 is the best; shape (learners,)."""
    statistic: float
    """Friedman's chi-squared, with learners - 1 degrees of freedom."""
    p: float
    nemenyi_p: Floats
    """Of each two learners, corrected for all pairs; shape (learners, learners)."""
    critical_difference: float
    """Mean ranks farther apart than this differ at 5 %."""


_LEVEL = 0.05
"""Of the critical difference."""


def friedman(scores: ArrayLike) -> RankTest:
    """Whether the ranks of learners differ over datasets, and which two do.

    Args:
        scores: Higher is better; shape (datasets, learners), at least (2, 3).

    Raises:
        InputError: For a score that is not finite.

    Source: Friedman (1937) and Nemenyi (1963), as Demsar (2006) describes them.
    """
    values: Floats = np.asarray(scores, dtype=np.float64)
    datasets, learners = values.shape
    if not np.isfinite(values).all():
        raise InputError("Friedman's test needs a finite score of each learner on each dataset")
    # Each dataset ranks the learners; means that only rounding keeps apart tie.
    ranks = mean_ranks(values)
    ranks_over_datasets = ranks.mean(axis=0)
    statistic = 0.0
    p = 1.0
    # Equal ranks have the statistic 0, where scipy may divide 0 by 0.
    if np.ptp(ranks_over_datasets) > 0:
        outcome = scipy.stats.friedmanchisquare(*ranks.T)
        statistic = float(outcome.statistic)
        p = float(outcome.pvalue)
    # Nemenyi's test: differences of mean ranks, in units of their standard error, follow the
    # studentized range over sqrt(2).
    standard_error = math.sqrt(learners * (learners + 1) / (6 * datasets))
    rank_differences = np.abs(ranks_over_datasets[:, None] - ranks_over_datasets[None, :])
    studentized = scipy.stats.studentized_range
    quantile = float(studentized.ppf(1 - _LEVEL, learners, np.inf)) / math.sqrt(2)
    return RankTest(
        mean_ranks=ranks_over_datasets,
        statistic=statistic,
        p=p,
        nemenyi_p=studentized.sf(
            rank_differences / standard_error * math.sqrt(2), learners, np.inf
        ),
        critical_difference=quantile * standard_error,
    )
