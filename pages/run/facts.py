"""A run -> the numbers beside figure 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from ecv_core.energy.meter import country_in_words
from ecv_core.energy.parts import left_in_words
from ecv_core.energy.savings import EnergyFacts, energy_of
from ecv_core.figures.words import FORECAST, half_named, reused_words, shared_words, uncertainty
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


def _energy(run: Run, facts: EnergyFacts) -> None:
    if facts.source == "none" and run.folds:
        row = _row()
        row.metric("Energy used", "-", width=_HALF)
        row.metric("Energy saved", "-", width=_HALF)
        st.caption(source_sentence("none"))
        return
    row = _row()
    used, per_fold, emitted = "-", "-", "-"  # until the first fold, each where it will be told
    if run.folds:
        used, emitted = watt_hours(facts.joules), grams(facts.grams_co2e)
        per_fold = watt_hours(facts.joules / len(run.folds))
    row.metric("Energy used", used, width=_HALF)
    row.metric("Energy per fold", per_fold, width=_HALF)
    row = _row()
    _saved(row, facts, run)
    row.metric(
        "Emissions",
        emitted,
        width=100,
        help=explained(
            f"Grams CO2e of the energy used, at the carbon intensity of "
            f"{country_in_words(run.spec.country)}.",
            "emissions",
            "carbon-intensity",
        ),
    )
    if not run.folds:
        return
    st.caption(source_sentence(facts.source))
    if said := shared_words(run):
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
