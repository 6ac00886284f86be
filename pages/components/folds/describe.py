"""The decision as text for a paper."""

from __future__ import annotations

from ecv_core.analysis.tradeoff import Decision
from ecv_core.records import Run
from ecv_core.report.describe import describe_advice
from pages.components.folds.curves import Explored
from pages.components.shared.cite import cite_and_describe, made_with


def describe(explored: Explored, found: Decision, runs: list[Run]) -> None:
    """The panel."""
    cite_and_describe(
        lambda: describe_advice(found, runs, made_with(runs), cost=explored.cost), key="folds"
    )
