"""Formulas that more than one stage needs: the t quantile and the paper's difference."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit


@lru_cache(maxsize=4096)
def t_quantile(freedom: int, confidence: float) -> float:
    """How many standard errors a two-sided interval of Student's t reaches to each side.

    Args:
        freedom: degrees of freedom, at least 1.
        confidence: in (0, 1), e.g. 0.95.
    """
    # The lower tail, because 1 - (1 - confidence) / 2 loses digits as confidence nears 1.
    return -float(stdtrit(freedom, (1 - confidence) / 2))


def differences_percent(x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
    """d(x, y) = |x - y| / ((|x| + |y|) / 2) * 100, element by element; 0 where both are 0.

    Returns: in [0, 200]; the paper's formula for scores that are not negative, and symmetric in
        sign, so that metrics below zero work too.
    Source: papers/e-fold-cross-validation.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    middle = np.abs(x) / 2 + np.abs(y) / 2
    percent: NDArray[np.float64] = np.abs(x - y) / np.where(middle > 0, middle, 1.0) * 100
    return percent


def difference_percent(x: float, y: float) -> float:
    """`differences_percent` of two numbers."""
    return float(differences_percent(x, y))
