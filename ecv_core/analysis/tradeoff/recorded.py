"""Rules over every order of the recorded runs' folds, worked out once and kept beside them.

They never change, and working them out took most of the first opening of two pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ecv_core.analysis.orders.outcomes import Curve
from ecv_core.records.run import Scores
from ecv_core.store.recorded import FOLDER

CURVES = FOLDER / "curves.npz"
"""`scripts/record_curves.py` wrote it: per rule and field an array, a row per run of `runs`, in
32 bits but for the settings."""
WITHIN_PERCENT = 2.0
"""The difference that a study counts as close enough."""
ERRORS = "standard_errors."


def key_of(scores: Scores) -> str:
    """What a curve depends on, but for users' scores, which belong to the folds."""
    costs = b"" if scores.costs is None else scores.costs.tobytes()
    return sha256(scores.folds.tobytes() + costs).hexdigest()[:32]


def recorded_curve(
    scores: Scores, rule: str, settings: ArrayLike, within_percent: float | None
) -> Curve | None:
    """What a rule does to a recorded run at some settings; None where that is not kept."""
    if within_percent != WITHIN_PERCENT:
        return None
    places, stored = _stored()
    at, columns = places.get(key_of(scores)), stored.get(rule)
    if at is None or columns is None:
        return None
    known = columns["settings"][at]
    rows = np.searchsorted(known, settings).clip(max=len(known) - 1)
    if not np.array_equal(known[rows], settings):
        return None
    told = {name: values[at, rows] for name, values in columns.items()}
    errors = {name: told.pop(name) for name in list(told) if name.startswith(ERRORS)}
    return Curve(
        k=len(scores.folds),
        **told,
        standard_errors={name.removeprefix(ERRORS): one for name, one in errors.items()},
    )


@cache
def _stored() -> tuple[Mapping[str, int], Mapping[str, dict[str, NDArray[np.float64]]]]:
    """The row of each run by its key; rule -> field -> values of all runs."""
    if not CURVES.exists():
        return {}, {}
    found: dict[str, dict[str, NDArray[np.float64]]] = {}
    with np.load(CURVES) as file:
        places = {str(key): at for at, key in enumerate(file["runs"])}
        for name in file.files:
            rule, _, field = name.partition("/")
            if field:
                found.setdefault(rule, {})[field] = file[name].astype(np.float64)
    return places, found
