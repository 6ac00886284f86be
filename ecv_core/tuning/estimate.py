"""About how long a tuning takes, before it starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ecv_core.energy.expected import KnownCosts, expected
from ecv_core.records import RunSpec

HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What all folds of all configurations would take."""

    seconds: float
    folds: int
    """To compute; those that are there already are not counted."""
    same_parameters: int
    """Configurations whose own folds say what they take; the others are taken to be like those of
    the same algorithm and dataset."""


def estimate(
    specs: Sequence[RunSpec], known: Sequence[KnownCosts], there: Iterable[int]
) -> Estimate | None:
    """By what runs took that are known; None where none is.

    Args:
        specs: of the configurations, each with all folds.
        known: of any runs.
        there: of each configuration the number of folds that are there already.
    Returns: at most so long, for every selection is at most all folds.
    """
    seconds, folds, same = 0.0, 0, 0
    for spec, have in zip(specs, there, strict=True):
        found = expected(spec, known)
        if found is None:
            return None
        rest = spec.k - have
        seconds += rest * sum(found.seconds) / 2 / max(1, found.folds[1])
        folds += rest
        same += found.same_parameters
    return Estimate(seconds=seconds, folds=folds, same_parameters=same)
