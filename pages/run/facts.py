"""A run -> the numbers beside figure 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from ecv_core.energy import intensity_words, memory_words
from ecv_core.energy.parts import left_in_words
from ecv_core.energy.savings import EnergyFacts, energy_of
from ecv_core.figures.words import (
    FORECAST,
    half_named,
    range_words,
    reused_words,
    shared_words,
    uncertainty,
    used_words,
    watt_hours_range,
)
from ecv_core.records.run import Run
from ecv_core.stopping import NEVER_STOPS, cheap_models
from ecv_core.store.results import Results, aid_spec
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.live.runs import source_sentence
from pages.shared.live.state import escaped, store
from pages.shared.widgets.glossary import explained, metric_term
from pages.shared.widgets.words import (
    algorithm_title,
    counted,
    duration,
    grams,
    metric_label,
    saved_words,
    watt_hours,
)

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_HALF = 130
"""Pixels of a metric that has another one beside it."""


def fact_panel(run: Run) -> None:
    """A pure function of the completed folds; the clock is in the bar.

    Where energy may still come they have their key, by which the look of a page gives them room.
    """
    energy = energy_of(run)
    with st.container(key="facts" if run.state.active or energy.source != "none" else None):
        _score(run)
        _energy(run, energy)


def _score(run: Run) -> None:
    k, at = run.k, run.at_stop
    mean, named = "-", ""
    if at:
        shown = uncertainty(run) if at.n == k and run.complete else at.interval
        half = f" ± {shown.width / 2:.4f}" if shown else ""
        mean = f"{at.mean:.4f}{half}"
        named = half_named(shown, k)
    st.metric(
        f"Mean {metric_label(run.spec)}",
        mean,
        help=explained(
            f"Mean of the folds used. At {100 * run.spec.confidence:g} % confidence: "
            f"{named or 'there is no interval yet'}.",
            metric_term(run.spec.metric),
            "confidence-interval",
        ),
    )
    said = f"{named}, {100 * run.spec.confidence:g} % confidence." if named else ""
    st.caption(f"{said[:1].upper()}{said[1:]}" or "Its interval comes with the second fold.")
    row = _row()
    row.metric(
        "Folds used",
        f"{run.folds_used} of {k}",
        width=_HALF,
        help=explained("Folds that the mean is of (e), of k.", "e", "k"),
    )
    row.metric(
        "Time",
        duration(run.seconds) if run.folds else "-",
        width=_HALF,
        help="Computing time of the finished folds: splitting, fitting and evaluating.",
    )


def _row() -> DeltaGenerator:
    """Two metrics side by side, one below the other where they would be cut off."""
    return st.container(horizontal=True, gap="small")


def _processor(run: Run, facts: EnergyFacts) -> None:
    """What other work beside it does not change; nothing of runs of before it was written."""
    if facts.processor_seconds is None and (run.folds or not run.state.active):
        return
    row, saved = _row(), facts.saved_processor_percent
    row.metric(
        "Processor time",
        "-" if facts.processor_seconds is None else duration(facts.processor_seconds),
        width=_HALF,
        help="Of all cores, for the finished folds alone. Other work on the machine hardly changes "
        "it, as it does time and joules.",
    )
    row.metric(
        "Forgone to check" if run.checked else "Of it saved",
        f"{'about ' * facts.forecast}{saved:.0f} %" if saved else "-",
        width=_HALF,
        help=f"Of the processor time of all {run.k} folds.",
    )


def _energy(run: Run, facts: EnergyFacts) -> None:
    _processor(run, facts)
    if facts.source == "none" and run.folds:
        row = _row()
        row.metric("Energy used", "-", width=_HALF)
        row.metric("Energy saved", "-", width=_HALF)
        st.caption(source_sentence("none"))
        return
    row = _row()
    used, per_fold, emitted = "-", "-", "-"  # until the first fold, each where it will be told
    if run.folds:
        used, emitted = used_words(facts), grams(facts.grams_co2e)
        per_fold = watt_hours_range(*(joules / len(run.folds) for joules in facts.joules_range))
    row.metric("Energy used", used, width=_HALF)
    row.metric("Energy per fold", per_fold, width=_HALF)
    row = _row()
    _saved(row, facts, run)
    row.metric(
        "Emissions",
        emitted,
        width=100,
        help=explained(
            f"Grams CO2e of all of the energy used, as {intensity_words(run.spec.country)}.",
            "emissions",
            "carbon-intensity",
        ),
    )
    if not run.folds:
        return
    st.caption(f"{source_sentence(facts.source)} {range_words(facts)}".strip())
    for said in filter(None, (memory_words(run.folds), shared_words(run))):
        st.caption(said)
    energy_bar(run.folds, left_in_words([run]))
    if reused := reused_words(run):
        st.caption(reused)
    if not run.state.active and (beside := _cheap_models(run)):
        st.caption(beside)


def _cheap_models(run: Run) -> str:
    """What the runs cost that this one is adjusted by: they are no part of its own energy."""
    said = []
    for name in cheap_models(run.spec):
        aid = next(iter(Results(store(), recorded=False).runs(aid_spec(run.spec, name))), None)
        if aid is None:
            continue
        energy = energy_of(aid)
        cost = "not metered" if energy.source == "none" else watt_hours(aid.joules)
        link = f"[{escaped(algorithm_title(name))}](?run={aid.run_id})"
        said.append(f"{link} ({counted(len(aid.folds), 'fold')}, {cost})")
    return f"Adjusted by {', '.join(said)}: besides the energy above." if said else ""


def _saved(place: DeltaGenerator, facts: EnergyFacts, run: Run) -> None:
    """What the stop saved, or would have; a range takes more room than a number."""
    checked, percent, about = run.checked, facts.saved_percent, "about " * facts.forecast
    share = f"{about}{percent:.0f} % of all {run.k}" if percent else None
    if share is None and run.state.active and run.spec.rule != NEVER_STOPS:
        share = "known at the stop"  # and room for it: what is below does not move then
    place.metric(
        "Saving forgone" if checked else "Energy saved",
        saved_words(facts),
        share,
        delta_arrow="off",
        delta_color="normal" if percent and not checked else "off",
        width=180,
        help=explained(
            "What the folds after the stop cost: they ran to check it."
            if checked
            else f"A forecast until the other folds have run: {FORECAST}.",
            "energy-saved",
            "stop",
        ),
    )
