"""A run and its moments -> the numbers beside figure 1."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ecv_core.energy import SOURCES
from ecv_core.records import Moment, Run
from ecv_core.stopping import difference_percent
from pages.components.shared.glossary import glossary_link


def source_sentence(source: str) -> str:
    """How the energy is known, said honestly, as Markdown."""
    return f"{glossary_link('energy', 'Energy')}: {SOURCES.get(source, source)}."


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
