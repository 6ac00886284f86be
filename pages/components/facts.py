"""A run and its moments -> the numbers beside figure 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ecv_core.energy import SOURCES
from ecv_core.records import FoldResult, Moment, Run
from ecv_core.stopping import difference_percent


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


def source_sentence(source: str) -> str:
    """How the energy is known, said honestly."""
    return f"Energy: {SOURCES.get(source, source)}."


def elapsed_seconds(run: Run, at: datetime | None = None) -> float:
    """Computing time: that of the finished folds and of the one that is running."""
    done = sum(fold.total_seconds for fold in run.folds)
    if run.progress is not None:
        done += max(((at or datetime.now(UTC)) - run.progress.started_at).total_seconds(), 0.0)
    return done


def remaining_seconds(run: Run) -> float | None:
    """At most this long to the last fold, at the mean pace so far; None before the first fold."""
    if not run.folds:
        return None
    mean = sum(fold.total_seconds for fold in run.folds) / len(run.folds)
    return mean * (len(run.spec.fold_order) - len(run.folds))


def check_sentence(moments: Sequence[Moment], k: int, stopped_at: int | None) -> str:
    """How far the score at the stop is from the k-fold mean; empty unless all folds are in."""
    if stopped_at is None or stopped_at >= k or len(moments) < k:
        return ""
    at, whole = moments[stopped_at - 1].mean, moments[-1].mean
    return (
        f"Checked: the mean of all {k} folds is {whole:.4f}, "
        f"a difference of {difference_percent(at, whole):.2f} % from the {at:.4f} at the stop."
    )
