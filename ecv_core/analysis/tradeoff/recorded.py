"""Rules over every order of the recorded runs' folds, worked out once and kept beside them.

They never change, and working them out took most of the first opening of two pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ecv_core.analysis.orders.outcomes import Curve
from ecv_core.records.arrays import Floats
from ecv_core.records.run import Scores
from ecv_core.store.recorded import FOLDER

CURVES = FOLDER / "curves.npz"
"""`scripts/record_curves.py` wrote it: per rule and field an array, a row per run of `runs`, in
32 bits but for the settings."""
WITHIN_PERCENT = 2.0
"""The difference that a study counts as close enough."""
ERRORS_PREFIX = "standard_errors."
"""Of the name of an array of standard errors, before that of the field that they are of."""


def key_of(scores: Scores) -> str:
    """What a curve depends on, but for users' scores, which belong to the folds."""
    content = scores.folds.tobytes()
    if scores.costs is not None:
        content += scores.costs.tobytes()
    return sha256(content).hexdigest()[:32]


def recorded_curve(
    scores: Scores, rule: str, settings: ArrayLike, within_percent: float | None
) -> Curve | None:
    """What a rule does to a recorded run at some settings; None where that is not kept."""
    # The stored field `within` was worked out for this difference only.
    if within_percent != WITHIN_PERCENT:
        return None
    stored = _stored_curves()
    run_row = stored.run_numbers.get(key_of(scores))
    fields = stored.fields_by_rule.get(rule)
    if run_row is None or fields is None:
        return None
    stored_settings = fields["settings"][run_row]
    # Where each setting would be among the stored ones; one beyond all is compared with the last.
    rows = np.searchsorted(stored_settings, settings).clip(max=len(stored_settings) - 1)
    if not np.array_equal(stored_settings[rows], settings):
        return None
    values = {}
    errors = {}
    for name, array in fields.items():  # An array has the shape (runs, settings, ...).
        if name.startswith(ERRORS_PREFIX):
            errors[name.removeprefix(ERRORS_PREFIX)] = array[run_row, rows]
        else:
            values[name] = array[run_row, rows]
    return Curve(k=scores.k, **values, standard_errors=errors)


class _StoredCurves(NamedTuple):
    """What the file of curves holds."""

    run_numbers: Mapping[str, int]
    """The row of each run, by its key."""
    fields_by_rule: Mapping[str, Mapping[str, Floats]]
    """Rule -> field of a curve -> values; shape (runs, settings, ...)."""


@cache
def _stored_curves() -> _StoredCurves:
    """Read the file, once; nothing is kept where there is none."""
    if not CURVES.exists():
        return _StoredCurves({}, {})
    run_numbers = {}
    fields_by_rule: dict[str, dict[str, Floats]] = {}
    with np.load(CURVES) as file:
        for number, key in enumerate(file["runs"]):
            run_numbers[str(key)] = number
        for name in file.files:
            rule, _, field = name.partition("/")
            if field:
                fields_by_rule.setdefault(rule, {})[field] = file[name].astype(np.float64)
    return _StoredCurves(run_numbers, fields_by_rule)
