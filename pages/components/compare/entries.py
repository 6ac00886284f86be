"""Runs -> what the comparing figures and tables need of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from ecv_core.analysis.comparison.spec_differences import names
from ecv_core.evaluation import METRICS
from ecv_core.figures.compare import Entry
from ecv_core.records import Run
from ecv_core.runs.document import moments_of
from pages.components.shared.words import metric_label


def entry_of(run: Run, name: str = "") -> Entry:
    """A run with its moments, under this name or that of its algorithm."""
    better = METRICS[run.spec.metric].higher_is_better
    return Entry(run, moments_of(run), metric_label(run.spec), better, name)


def entries_of(runs: Sequence[Run]) -> list[Entry]:
    """The runs under names that tell them apart; datasets as chosen, the best mean first."""
    entries = [entry_of(run, name) for run, name in zip(runs, names(runs), strict=True)]
    panels = list(dict.fromkeys((entry.run.spec.dataset, entry.metric) for entry in entries))
    return sorted(
        entries,
        key=lambda entry: (panels.index((entry.run.spec.dataset, entry.metric)), _rank(entry)),
    )


def _rank(entry: Entry) -> float:
    """Lower comes first: the better mean, and last what has none yet."""
    if not entry.moments:
        return inf
    used = min(entry.run.stopped_at or len(entry.moments), len(entry.moments))
    mean = entry.moments[used - 1].mean
    return -mean if entry.higher_is_better else mean
