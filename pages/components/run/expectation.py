"""Before Start: about how long the runs will take, and how much energy, by runs that are known."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

import ecv_core.datasets as datasets
from ecv_core import models
from ecv_core.energy.expected import Expected, KnownCosts, expected, together
from ecv_core.errors import EcvError
from ecv_core.records import RunSpec, Task
from ecv_core.runs.recorded import recorded_run
from ecv_core.stopping import folds_planned
from pages.components.shared.state import run_list
from pages.components.shared.words import counted, duration, watt_hours_range


def expectation(specs: Sequence[RunSpec]) -> None:
    """One line; nothing where there is nothing to start."""
    if specs:
        st.caption(expectation_words(specs, _known(specs)))


def expectation_words(specs: Sequence[RunSpec], known: Sequence[KnownCosts]) -> str:
    """How long and how much, as ranges, or what is not known yet."""
    found = {spec.algorithm: expected(spec, known, folds_planned(spec)) for spec in specs}
    told = [one for one in found.values() if one is not None]
    missing = [name for name, one in found.items() if one is None]
    if not told and (rough := _rough(specs)):
        return f"Each fold will take about {duration(rough)} of one core, by a rough count."
    if not told:
        return "Time and energy: not known yet for this dataset and algorithm."
    text = _words(together(told))
    return f"{text} Not known yet: {', '.join(missing)}." if missing else text


def _rough(specs: Sequence[RunSpec]) -> float:
    """Seconds of the longest fit of a model of ratings, of a dataset whose size is known; or 0."""
    rough = [0.0]
    for spec in specs:
        known = datasets.entry(spec.dataset) if spec.task is Task.RATINGS else None
        if known is not None and known.rated:
            algorithm = models.algorithm(spec.algorithm)
            rough.append(algorithm.rough_seconds(dict(spec.params), known.rated[2]))
    return max(rough)


def _words(one: Expected) -> str:
    least, most = one.folds
    folds = counted(most, "fold") if least == most else f"{least} to {counted(most, 'fold')}"
    time = " to ".join(dict.fromkeys(duration(end) for end in one.seconds))
    energy = f" and {watt_hours_range(*one.joules)}" if one.joules else ""
    alike = "" if one.same_parameters else ", some with other parameters"
    return (
        f"{folds} will take about {time}{energy}, by {counted(one.runs, 'earlier run')} of this "
        f"dataset and algorithm{alike}."
    )


def _known(specs: Sequence[RunSpec]) -> list[KnownCosts]:
    """Costs of own runs and of the recorded one, of each dataset and algorithm."""
    wanted = {(spec.dataset, spec.algorithm) for spec in specs}
    found = []
    try:
        for dataset, algorithm in sorted(wanted):
            run = recorded_run(f"{dataset}--{algorithm}")
            if run is not None and run.spec.task is Task.TOP_N:  # the others shared the machine
                found.append(KnownCosts.of(run))
        found += [
            KnownCosts(spec=row.spec, seconds=row.fold_seconds, joules=row.fold_joules)
            for row in run_list().rows()
            if (row.spec.dataset, row.spec.algorithm) in wanted and not row.imported
        ]
    except EcvError:  # said where runs are shown; here it is only not known
        return []
    return found
