"""Contenders of one algorithm -> a row each: parameters, score with its interval, folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ecv_core import models
from ecv_core.analysis.selection.names import parse_contender
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import ParamValue
from ecv_core.records.run import Scores
from ecv_core.stopping.interval import t_quantile

if TYPE_CHECKING:
    import pandas as pd

OWN = ("score", "low", "high", "folds")
"""Columns of `configurations_frame` that are no parameters."""


def varied(names: Sequence[str]) -> list[dict[str, ParamValue]] | None:
    """The parameters in which contenders differ, of each; None where they are no search space.

    Args:
        names: of contenders, as `names.parse_contender` reads them; others are no search space.
    """
    parsed = []
    try:
        for name in names:
            algorithm, given = parse_contender(name)
            known = models.algorithm(algorithm)
            parsed.append((algorithm, known.every(known.resolve(given))))
    except InputError:
        return None
    if len({algorithm for algorithm, _ in parsed}) != 1 or len(parsed) < 2:
        return None
    first = parsed[0][1]
    differ = [name for name in first if len({params[name] for _, params in parsed}) > 1]
    return [{name: params[name] for name in differ} for _, params in parsed] if differ else None


def configurations_frame(
    contenders: Sequence[Scores],
    params: Sequence[Mapping[str, ParamValue]],
    folds: Sequence[int],
) -> pd.DataFrame:
    """What is known of each configuration, in their order.

    Args:
        contenders: one for each configuration.
        params: the parameters in which they differ, as `varied` gives them.
        folds: that each has needed.
    Returns: a column per parameter; `score`, the mean of the folds that ran, NaN for none; `low`
        and `high`, a 95 % interval of it over users (Student's t of each user's mean), NaN where
        scores per user are not known; `folds`.
    """
    import pandas as pd

    rows = []
    for one, own, needed in zip(contenders, params, folds, strict=True):
        low = high = np.nan
        ran = np.flatnonzero(~np.isnan(one.folds))
        if one.users is not None and len(ran):
            low, high = _interval(one.users[ran].astype(np.float64))
        score = float(one.folds[ran].mean()) if len(ran) else np.nan
        rows.append({**own, "score": score, "low": low, "high": high, "folds": needed})
    return pd.DataFrame(rows)


def _interval(values: np.ndarray) -> tuple[float, float]:
    """Of the mean over users; shape of the values (folds, users), NaN where a user has none."""
    seen = ~np.isnan(values).all(axis=0)
    users = np.nanmean(values[:, seen], axis=0)
    if len(users) < 2:
        return np.nan, np.nan
    half = t_quantile(len(users) - 1, 0.95) * users.std(ddof=1) / np.sqrt(len(users))
    return float(users.mean() - half), float(users.mean() + half)
