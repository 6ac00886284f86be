"""Discriminative power: how well a metric tells configurations apart, by paired t tests over users.

Source: Anelli, Di Noia, Di Sciascio, Pomo, Ragone (2019), On the discriminative power of
hyper-parameters in cross-validation and how to choose them, sections 3 to 5; after Sakai (2006) and
Valcarce, Bellogín, Parapar, Castells (2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, stdtr

from ecv_core.records.errors import InputError
from ecv_core.store.recorded import Configuration

DRAWN = 25
"""Pairs of configurations that the paper draws."""
_NEAR = 1e-9
"""A variance below this share of the two rows' own is worked out again from their differences."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PValueCurve:
    """A metric's p-value curve: p values by rank, largest first, averaged over folds."""

    p_values: Floats
    """Mean over folds at each rank; shape (pairs drawn,)."""
    deviations: Floats
    """Standard deviation over folds at each rank, n - 1 in the denominator; likewise."""

    @property
    def dp(self) -> float:
        """Discriminative power: the sum of the curve. Less tells configurations apart better."""
        return float(self.p_values.sum())

    @property
    def dp_plus_sd(self) -> float:
        """The same of the curve with a standard deviation added at each rank."""
        return float((self.p_values + self.deviations).sum())


def paired_p_values(values: NDArray[np.floating]) -> Floats:
    """Two-sided p of a paired t test over users, for every pair of configurations in every fold.

    The variances of all differences follow from one product of the scores with themselves. Two
    configurations that give every user the same score have p = 1.

    Args: values: shape (configurations, folds, users); NaN where a user has no score in a fold, the
        same for all configurations.
    Returns: shape (folds, pairs), pairs in the order of `numpy.triu_indices(configurations, 1)`.
    Raises: InputError for fewer than two configurations, or two users in a fold, or users that
        some configurations have a score of and others not.
    """
    count, folds, _ = values.shape
    if count < 2:
        raise InputError(
            f"discriminative power needs at least 2 configurations, but there is {count}; tune "
            "with more values"
        )
    first, second = np.triu_indices(count, 1)
    found = np.empty((folds, len(first)))
    for fold in range(folds):
        rows = values[:, fold]
        missing = np.isnan(rows)
        if (missing != missing[0]).any():
            raise InputError(
                f"in fold {fold} some configurations have scores of users that others have not; "
                "compare runs on the same folds"
            )
        rows = rows[:, ~missing[0]].astype(np.float64)
        users = rows.shape[1]
        if users < 2:
            raise InputError(f"fold {fold} has {users} users with a score, but a t test needs 2")
        rows -= rows.mean(axis=0)  # what is common to all falls out of every difference
        means = rows.mean(axis=1)
        rows -= means[:, None]
        squares = rows @ rows.T
        own = squares.diagonal()
        sums = own[first] + own[second] - 2 * squares[first, second]
        near = np.flatnonzero(sums <= _NEAR * (own[first] + own[second]))
        for at in near:  # cancelled: a difference of few users, or none
            sums[at] = np.square(rows[first[at]] - rows[second[at]]).sum()
        steps = means[first] - means[second]
        found[fold] = _two_sided(steps, sums, users)
    return found


def _two_sided(steps: Floats, sums: Floats, users: int) -> Floats:
    """From mean differences and sums of squares around them."""
    tiny = np.finfo(np.float64).eps
    errors = np.sqrt(np.maximum(sums, 0) / (users - 1) / users)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(steps) / errors
    p = np.minimum(1.0, 2 * stdtr(users - 1, -np.where(np.isnan(t), 0.0, t)))
    p[(np.abs(steps) <= 4 * tiny) & (errors <= 4 * tiny)] = 1.0
    return np.asarray(p, dtype=np.float64)


def draw(pairs: int, *, drawn: int = DRAWN, seed: int = 0) -> NDArray[np.intp]:
    """Places of the pairs of one draw without replacement; all of them where there are fewer."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.permutation(pairs)[:drawn])


def drawn_curve(p_values: Floats) -> PValueCurve:
    """The curve of these pairs, as in the paper; `p_values` of shape (folds, pairs)."""
    return _curve(-np.sort(-p_values, axis=1))


def expected_curve(p_values: Floats, *, drawn: int = DRAWN) -> PValueCurve:
    """The expectation of the curve over all draws of so many pairs, exactly.

    In a draw of m of N pairs without replacement the r-th largest is the i-th largest of all with
    probability C(i-1, r-1) C(N-i, m-r) / C(N, m). `dp` is the expectation of the drawn DP, m times
    the mean p value. `deviations` are over folds of the expected p values: what folds differ by
    when no draw does, so `dp_plus_sd` is at most the expectation of the drawn one.

    Args:
        p_values: shape (folds, pairs).
        drawn: m; all pairs where there are fewer.
    """
    pairs = p_values.shape[1]
    m = min(drawn, pairs)
    rank, place = np.arange(1, m + 1)[:, None], np.arange(1, pairs + 1)[None, :]
    possible = (place >= rank) & (pairs - place >= m - rank)
    logs = _log_choose(place - 1, rank - 1) + _log_choose(pairs - place, m - rank)
    weights = np.where(possible, np.exp(logs - _log_choose(np.array(pairs), np.array(m))), 0.0)
    return _curve(-np.sort(-p_values, axis=1) @ weights.T)


def dominance(
    p_values: Floats, configurations: Sequence[Configuration]
) -> dict[str, dict[str, float]]:
    """Parameter -> value -> expected DP of pairs that share the value and differ elsewhere.

    The parameter with the lowest DP is dominant: once it is set, the others still change the
    scores, so that pairs are told apart. Section 5 of the paper.

    Args:
        p_values: shape (folds, pairs), as `paired_p_values` gives them.
        configurations: each with the same parameters.
    Returns: of draws of DRAWN pairs, where a value has fewer that many times their mean p value;
        nothing for a single parameter; values with no pair are left out.
    """
    names = list(configurations[0])
    if len(names) < 2:
        return {}
    first, second = np.triu_indices(len(configurations), 1)
    mean = p_values.mean(axis=0)
    found: dict[str, dict[str, float]] = {}
    for name in names:
        given = [one[name] for one in configurations]
        codes = {value: code for code, value in enumerate(dict.fromkeys(given))}
        code = np.array([codes[value] for value in given])
        found[name] = {}
        for value, mine in codes.items():
            shared = (code[first] == mine) & (code[second] == mine)
            if shared.any():
                found[name][str(value)] = DRAWN * float(mean[shared].mean())
    return found


def dominant(found: dict[str, dict[str, float]]) -> str | None:
    """The parameter with the lowest DP at its best value; None without several."""
    best = {name: min(values.values()) for name, values in found.items() if values}
    return min(best, key=best.__getitem__) if len(best) > 1 else None


def _curve(ordered: Floats) -> PValueCurve:
    folds = len(ordered)
    return PValueCurve(
        p_values=ordered.mean(axis=0),
        deviations=ordered.std(axis=0, ddof=1) if folds > 1 else np.zeros(ordered.shape[1]),
    )


def _log_choose(n: NDArray[np.integer], k: NDArray[np.integer]) -> Floats:
    inside = (k >= 0) & (k <= n)
    n, k = np.where(inside, n, 0), np.where(inside, k, 0)
    logs = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.where(inside, logs, -math.inf)
