"""About how long a tuning takes, before it starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ecv_core.energy.expected import KnownCosts, expected
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import folds_planned

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
    specs: Sequence[RunSpec],
    known: Sequence[KnownCosts],
    there: Iterable[int],
    *,
    going_on: Sequence[int | None] = (),
) -> Estimate | None:
    """By what runs took that are known; None where none is.

    Args:
        specs: of the configurations, each with all folds.
        known: of any runs.
        there: of each configuration the number of folds that are there already.
        going_on: of each the number of the training run that serves it and others, which takes as
            long as the longest of them; None for one on its own. By default all are.
    Returns: at most so long, for every selection is at most all folds, and work that is shared in
        other ways is counted as often as it is needed.
    """
    runs: dict[int, float] = {}
    folds, same = 0, 0
    numbers = going_on or [None] * len(specs)
    for at, (spec, have, number) in enumerate(zip(specs, there, numbers, strict=True)):
        found = expected(spec, known, folds_planned(spec))
        if found is None:
            return None
        rest = spec.k - have
        took = rest * sum(found.seconds) / 2 / max(1, found.folds[1])
        place = -1 - at if number is None else number
        runs[place] = max(runs.get(place, 0.0), took)
        folds += rest
        same += found.same_parameters
    return Estimate(seconds=sum(runs.values()), folds=folds, same_parameters=same)
