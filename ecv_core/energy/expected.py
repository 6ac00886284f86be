"""Runs of a dataset and an algorithm -> about how long the next one takes, and how much energy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ecv_core.energy.savings import later_range
from ecv_core.records.run import Run
from ecv_core.records.spec import RunSpec

Range = tuple[float, float]
"""The least and the most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCosts:
    """What the folds of a run cost."""

    spec: RunSpec
    seconds: tuple[float, ...]
    """Of each fold that ran, in the order in which they ran."""
    joules: tuple[float, ...]
    """Likewise; 0 where there was no meter."""

    @classmethod
    def of(cls, run: Run) -> KnownCosts:
        """Those of a run."""
        return cls(
            spec=run.spec,
            seconds=tuple(fold.seconds_alone for fold in run.folds),
            joules=tuple(fold.joules_alone for fold in run.folds),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a run may be expected to take."""

    folds: tuple[int, int]
    """From the first at which its rule can stop to the last."""
    seconds: Range
    joules: Range | None
    """None where no run that is known was metered."""
    runs: int
    """How many runs say so."""
    same_parameters: bool
    """Whether they had the same parameters of the model."""


def expected(spec: RunSpec, known: Iterable[KnownCosts], folds: tuple[int, int]) -> Expected | None:
    """What a run takes, by runs of its dataset and algorithm; with its parameters if there are any.

    Args:
        known: of any runs; those of others are passed over.
        folds: the fewest and the most that it may need, see `stopping.folds_planned`.
    Returns: from the fewest folds at the lowest cost of one to the most at the highest, see
        `savings.later_range`; None where nothing is known.
    """
    alike = [
        one
        for one in known
        if (one.spec.dataset, one.spec.algorithm) == (spec.dataset, spec.algorithm) and one.seconds
    ]
    same = [one for one in alike if one.spec.params == spec.params]
    told = same or alike
    if not told:
        return None
    metered = [one.joules for one in told if all(one.joules)]
    return Expected(
        folds=folds,
        seconds=_times(folds, [one.seconds for one in told]),
        joules=_times(folds, metered) if metered else None,
        runs=len(told),
        same_parameters=bool(same),
    )


def together(parts: Sequence[Expected]) -> Expected:
    """Several runs, one after the other; at least one."""
    metered = [one.joules for one in parts if one.joules is not None]
    return Expected(
        folds=(sum(one.folds[0] for one in parts), sum(one.folds[1] for one in parts)),
        seconds=_sum([one.seconds for one in parts]),
        joules=_sum(metered) if len(metered) == len(parts) else None,
        runs=sum(one.runs for one in parts),
        same_parameters=all(one.same_parameters for one in parts),
    )


def _times(folds: tuple[int, int], costs: Sequence[Sequence[float]]) -> Range:
    ranges = [later_range(one) for one in costs]
    return folds[0] * min(low for low, _ in ranges), folds[1] * max(high for _, high in ranges)


def _sum(ranges: Sequence[Range]) -> Range:
    return sum(low for low, _ in ranges), sum(high for _, high in ranges)
