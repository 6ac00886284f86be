"""What a run used and what stopping saved, at its end and fold by fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ecv_core.records import FoldResult


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyFacts:
    """What a run used and what stopping saved, in joules and grams CO2e."""

    joules: float
    """Of all folds that ran."""
    grams_co2e: float
    saved_joules: float | None
    """Against all k folds: what the folds after the stop cost, or would have cost at the mean of
    the folds so far. None while there is no stop."""
    saved_percent: float | None
    source: str
    """'none' if any fold was not metered, else the source of the newest fold."""


def energy_facts(folds: Sequence[FoldResult], k: int, stopped_at: int | None) -> EnergyFacts:
    """Energy used and saved.

    Args:
        folds: those that ran, in their order, also those that ran to check the stop.
        k: folds of the whole cross-validation.
        stopped_at: folds used; None while there is no stop.
    """
    joules = sum(fold.energy.joules for fold in folds)
    saved = percent = None
    if folds and stopped_at is not None:
        checked = sum(fold.energy.joules for fold in folds[stopped_at:])
        missing = k - max(len(folds), stopped_at)
        saved = checked + missing * joules / len(folds)
        whole = joules + missing * joules / len(folds)
        percent = 100 * saved / whole if whole else None
    sources = {fold.energy.source for fold in folds}
    return EnergyFacts(
        joules=joules,
        grams_co2e=sum(fold.energy.grams_co2e for fold in folds),
        saved_joules=saved,
        saved_percent=percent,
        source="none" if "none" in sources or not folds else folds[-1].energy.source,
    )


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
    """False where the n-th fold never ran: it is counted at the mean of those that did."""


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
        mean = tuple(sum(column) / len(costs) for column in zip(*costs, strict=True))
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
