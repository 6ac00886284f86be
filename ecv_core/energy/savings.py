"""What a run used and what stopping saved, at its end and fold by fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ecv_core.records.run import FoldResult, Run, one_source

MARGIN = 0.15
"""A fold that never ran is taken to cost from so much less than the lowest of those that ran to so
much more than the highest. In the recorded runs, stopped after 3 to 9 of 10 folds, the other folds
together cost something in this range in 96 % (`python -m benchmarks.energy`)."""
_ONE_FOLD = (0.5, 1.35)
"""The same, as factors, where one fold alone has run; all recorded runs are in this range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyFacts:
    """What a run used and what stopping saved, in joules and grams CO2e."""

    joules: float
    """Of all folds that ran."""
    joules_range: tuple[float, float]
    """As of `Energy.range`: both are `joules` where a counter was read, or somebody told them."""
    above_idle: bool
    """Whether the least of it is what the folds added to the idle machine, which was measured."""
    grams_co2e: float
    saved_joules: float | None
    """Against all k folds: what the folds after the stop cost, or would have cost: see
    `later_mean`. None while there is no stop."""
    saved_range: tuple[float, float] | None
    """From the least to the most that this may be; both are `saved_joules` once all folds ran."""
    saved_percent: float | None
    processor_seconds: float | None
    """Of all cores and all folds that ran; None where some fold does not say."""
    saved_processor_seconds: float | None
    """As `saved_joules`; None too where some fold does not say; likewise the next."""
    saved_processor_percent: float | None
    source: str
    """'none' if any fold was not metered, 'mixed' if they are known in several ways."""

    @property
    def forecast(self) -> bool:
        """Whether some of what is saved is not known, because the folds never ran."""
        return self.saved_range is not None and self.saved_range[0] < self.saved_range[1]


def later_mean(costs: Sequence[float]) -> float:
    """What one more fold costs: the mean without the first fold, which also pays for start-up.

    Args:
        costs: of the folds that ran, in their order; at least one, which then stands alone.
    """
    return fmean(costs[1:] or costs)


def later_range(costs: Sequence[float]) -> tuple[float, float]:
    """From the least to the most that one more fold may be taken to cost on average.

    Args: as for `later_mean`.
    """
    if len(costs) == 1:
        return costs[0] * _ONE_FOLD[0], costs[0] * _ONE_FOLD[1]
    return min(costs[1:]) * (1 - MARGIN), max(costs[1:]) * (1 + MARGIN)


def energy_of(run: Run) -> EnergyFacts:
    """Energy that a run used, and what its stop saved."""
    return energy_facts(run.folds, run.k, run.stopped_at)


def energy_facts(folds: Sequence[FoldResult], k: int, stopped_at: int | None) -> EnergyFacts:
    """Energy used and saved, had these folds been stopped there; of a run see `energy_of`.

    Args:
        folds: those that ran, in their order, also those that ran to check the stop.
        k: folds of the whole cross-validation.
        stopped_at: folds used; None while there is no stop.
    """
    joules = [fold.energy.joules for fold in folds]
    processor = [fold.processor_seconds for fold in folds if fold.processor_seconds is not None]
    timed = len(processor) == len(folds) > 0
    saved, saved_range, percent = _saved(joules, k, stopped_at)
    seconds, _, processor_percent = _saved(processor if timed else [], k, stopped_at)
    sources = {fold.energy.source for fold in folds}
    ranges = [fold.energy.range for fold in folds]
    return EnergyFacts(
        joules=sum(joules),
        joules_range=(sum(low for low, _ in ranges), sum(high for _, high in ranges)),
        above_idle=all(fold.energy.idle_joules is not None for fold in folds),
        grams_co2e=sum(fold.energy.grams_co2e for fold in folds),
        saved_joules=saved,
        saved_range=saved_range,
        saved_percent=percent,
        processor_seconds=sum(processor) if timed else None,
        saved_processor_seconds=seconds,
        saved_processor_percent=processor_percent,
        source=one_source(sources),
    )


def _saved(
    costs: Sequence[float], k: int, stopped_at: int | None
) -> tuple[float | None, tuple[float, float] | None, float | None]:
    """What a stop saved of these costs of folds, its range, and in percent of all k folds."""
    if not costs or stopped_at is None:
        return None, None, None
    checked = sum(costs[stopped_at:])
    missing = k - max(len(costs), stopped_at)
    never_ran = missing * later_mean(costs)
    low, high = later_range(costs)
    saved = checked + never_ran
    whole = sum(costs) + never_ran
    ends = (checked + missing * low, checked + missing * high)
    return saved, ends, 100 * saved / whole if whole else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Where k-fold cross-validation stands after n folds, and what stopping has saved by then."""

    n: int
    """Folds so far, 0 .. k."""
    seconds: float
    joules: float
    grams_co2e: float
    saved_seconds: float
    """Of the folds so far, those after the stop; likewise the two below."""
    saved_joules: float
    saved_grams: float
    ran: bool
    """False where the n-th fold never ran: it is counted at the mean of those that did, without
    the first: see `later_mean`."""


def tallies(folds: Sequence[FoldResult], k: int, stopped_at: int | None) -> list[Tally]:
    """The race between stopping and going on, over the same folds.

    Args:
        folds: those that ran, in their order.
        k: folds of the whole cross-validation.
        stopped_at: folds used; None while there is no stop, so that nothing is saved.
    Returns: k + 1 tallies, from n = 0; only the first where no fold has run.
    """
    costs = [(f.total_seconds, f.energy.joules, f.energy.grams_co2e) for f in folds]
    if costs:
        mean = tuple(later_mean(column) for column in zip(*costs, strict=True))
        costs += [(mean[0], mean[1], mean[2])] * (k - len(costs))
    spent, saved = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
    found = [_tally(0, spent, saved, True)]
    for n, cost in enumerate(costs, start=1):
        spent = [total + part for total, part in zip(spent, cost, strict=True)]
        if stopped_at is not None and n > stopped_at:
            saved = [total + part for total, part in zip(saved, cost, strict=True)]
        found.append(_tally(n, spent, saved, n <= len(folds)))
    return found


def _tally(n: int, spent: list[float], saved: list[float], ran: bool) -> Tally:
    return Tally(
        n=n,
        seconds=spent[0],
        joules=spent[1],
        grams_co2e=spent[2],
        saved_seconds=saved[0],
        saved_joules=saved[1],
        saved_grams=saved[2],
        ran=ran,
    )
