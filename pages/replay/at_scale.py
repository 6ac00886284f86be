"""What stopping would save in a year of many runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import streamlit as st

from ecv_core.analysis.tradeoff.curves import PAPER_STOP
from ecv_core.energy.meter import carbon_source, countries
from ecv_core.energy.meter import country as country_of
from ecv_core.energy.parts import left_in_words
from ecv_core.energy.savings import (
    PAPER_KG,
    PAPER_SOURCES,
    AtScale,
    Yearly,
    at_scale,
    energy_of,
)
from ecv_core.figures.words import (
    duration,
    processor_sentence,
    range_words,
    run_title,
    small_number,
    watt_hours_range,
)
from ecv_core.records.errors import EcvError
from ecv_core.records.run import HOW, Run
from ecv_core.store.recorded import recorded_runs
from pages.shared.live.state import KEPT, sentence
from pages.shared.widgets.glossary import glossary_link

_USED, _OF = "folds_used", "folds-used-of"


def at_scale_panel(run: Run) -> None:
    """Inputs on the left, the year on the right; nothing of a run whose energy is not known."""
    if not run.folds or energy_of(run).source == "none":
        return
    st.header("What would it save at scale?", anchor=False)
    left, right = st.columns([1.25, 1], gap="large")
    with left:
        work, stops = _workload(run)
    with right:
        try:
            saved = at_scale(work, work.k - work.folds_used)
            whole = at_scale(work, work.k)
        except EcvError as error:
            st.error(sentence(error), icon=":material/error:")
            return
        _year(run, work, saved, whole, stops)
    _lecture(work, stops)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stops:
    """After how many folds the rule stopped in the runs of the recorded study."""

    mean: float
    least: int
    most: int
    runs: int


def stops_of(runs: Sequence[Run], k: int) -> Stops | None:
    """Of those of these runs that have k folds and stopped; None where there is none."""
    stops = [run.stopped_at for run in runs if run.k == k and run.stopped_at is not None]
    if not stops:
        return None
    return Stops(mean=fmean(stops), least=min(stops), most=max(stops), runs=len(stops))


def at_scale_sentence(
    work: AtScale, saved: Yearly, whole: Yearly, stops: Stops | None = None
) -> str:
    """The year in one sentence, with the range that the folds used would make of it.

    Args:
        work: what runs in a year.
        saved: by it.
        whole: what it would take without stopping.
        stops: of the recorded study, for the range; without it one fold more or less is.
    """
    share = 100 * saved.folds / whole.folds if whole.folds else 0.0
    low, high = max(work.folds_used - 1, 1), min(work.folds_used + 1, work.k)
    if stops is not None:
        low, high = stops.least, stops.most
    _, most = at_scale(replace(work, folds_used=low), work.k - low).kwh
    least, _ = at_scale(replace(work, folds_used=high), work.k - high).kwh
    why = "One fold more or less per run makes it"
    if stops is not None:
        why = (
            f"The rule stopped after {stops.least} to {stops.most} folds in the {stops.runs} "
            f"recorded runs, {stops.mean:.1f} on average: that range is"
        )
    return (
        f"An estimate: {small_number(saved.folds)} of {small_number(whole.folds)} folds a year "
        f"would not run ({share:.0f} %). {why} {small_number(least)} to {small_number(most)} kWh."
    )


def _workload(run: Run) -> tuple[AtScale, Stops | None]:
    first, second, third = st.columns(3)
    runs = first.number_input(
        "Runs per week",
        min_value=0,
        max_value=10_000_000,
        value=100,
        step=10,
        key="runs_per_week",
        **KEPT,
        help="Each one a whole cross-validation: every model, setting and dataset counts.",
    )
    folds = second.number_input(
        "Folds (k)", min_value=2, max_value=1000, value=max(run.k, 2), key="scale_k", **KEPT
    )
    stops = stops_of(_recorded(), int(folds))
    typical = round(stops.mean, 1) if stops else float(run.stopped_at or PAPER_STOP)
    usual = min(typical, float(folds))
    of = (None if stops else run.run_id, folds)
    if st.session_state.get(_OF, of) != of:
        st.session_state[_USED] = usual  # other runs have other stops
    st.session_state[_OF] = of
    used = third.number_input(
        "Folds used on average",
        min_value=1.0,
        max_value=float(folds),
        value=usual,
        step=0.5,
        key=_USED,
        **KEPT,
        help="Begins with the mean of the recorded runs of so many folds, or with this run's stop "
        "where there are none. The paper's mean over 30 pairs is "
        f"{PAPER_STOP} of 10; the page How many folds? gives yours over every order of the folds.",
    )
    joules, seconds = _per_fold(run)
    work = AtScale(
        runs_per_week=float(runs),
        k=int(folds),
        folds_used=float(used),
        joules_per_fold=joules,
        seconds_per_fold=seconds,
        grams_per_kwh=_electricity(run.spec.country),
    )
    return work, stops


def _recorded() -> list[Run]:
    try:
        return recorded_runs()
    except EcvError:  # said where the run is chosen
        return []


def _per_fold(run: Run) -> tuple[tuple[float, float], float]:
    """Joules of one fold of this run, and its seconds: of processors where they are known."""
    facts, count = energy_of(run), len(run.folds)
    low, high = (joules / count for joules in facts.joules_range)
    st.caption(
        f"{run_title(run)}: {watt_hours_range(low, high)} ({HOW[facts.source]}) and "
        f"{duration(run.seconds / count)} a fold. {range_words(facts)} "
        f"{processor_sentence(facts)} {left_in_words([run])}"
    )
    seconds = run.seconds if facts.processor_seconds is None else facts.processor_seconds
    return (low, high), seconds / count


def _electricity(country: str) -> float:
    """Grams CO2e per kWh."""
    known = countries()
    codes = list(known)
    code = st.selectbox(
        "Country",
        codes,
        index=codes.index(country) if country in known else 0,
        format_func=lambda one: known[one].name,
        key="scale_country",
        **KEPT,
        help="Whose electricity. Nothing looks up where you are.",
    )
    at, origin = country_of(code or country), carbon_source()
    st.caption(
        f"{glossary_link('carbon-intensity', 'Carbon intensity')} of "
        f"{at.name}: {at.grams_co2e_per_kwh:.0f} g CO2e per kWh in {at.year} "
        f"([{origin.source}]({origin.url})); {origin.note}."
    )
    return at.grams_co2e_per_kwh


def _year(run: Run, work: AtScale, saved: Yearly, whole: Yearly, stops: Stops | None) -> None:
    st.markdown("**Saved in a year of 52 weeks**")
    row = st.container(horizontal=True)
    timed = energy_of(run).processor_seconds is not None
    for label, shown, of in (
        (
            "Processor time" if timed else "Computing time",
            duration(3600 * saved.hours),
            duration(3600 * whole.hours),
        ),
        ("Energy", f"{_ends(saved.kwh)} kWh", f"{_ends(whole.kwh)} kWh"),
        ("Emissions (CO2e)", f"{_ends(saved.kg_co2e)} kg", f"{_ends(whole.kg_co2e)} kg"),
    ):
        row.container(width=150).metric(
            label,
            shown,
            f"of {of}",
            delta_arrow="off",
            delta_color="off",
        )
    st.markdown(at_scale_sentence(work, saved, whole, stops))


def _ends(values: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(map(small_number, values)))


def _lecture(work: AtScale, stops: Stops | None) -> None:
    """A group's year by what others measured at a plug, whatever this run is."""
    with st.expander("For a lecture: a research group's year", icon=":material/school:"):
        papers = st.number_input(
            "Papers a year",
            min_value=1,
            max_value=1000,
            value=5,
            key="papers",
            help="With deep learning, all experiments of the group counted.",
        )
        st.markdown(lecture_sentence(int(papers), work, stops))


def lecture_sentence(papers: int, work: AtScale, stops: Stops | None = None) -> str:
    """What a group's papers come to in a year and what stopping would save of it, with sources.

    Args:
        papers: a year, each with deep learning.
        work: says k, and how many folds are used.
        stops: as of `at_scale_sentence`.
    """
    sources = ", ".join(f"[{name}]({url})" for name, url in PAPER_SOURCES)
    low, high = (stops.most, stops.least) if stops else (work.folds_used, work.folds_used)
    shares = [1 - folds / work.k for folds in (low, high)]
    year = [papers * kg for kg in PAPER_KG]
    saved = [kg * share for kg, share in zip(year, shares, strict=True)]
    return (
        f"The experiments of a paper on recommenders with deep learning came to {_ends(PAPER_KG)} "
        f"kg CO2e, measured at a plug ({sources}). {papers} such papers a year are {_ends(year)} "
        f"kg. Were all of it {work.k}-fold cross-validation, stopping after "
        f"{small_number(work.folds_used)} folds would save "
        f"{100 * (1 - work.folds_used / work.k):.0f} % of it; with stops after "
        f"{_ends(sorted((high, low)))} folds that is {_ends(saved)} kg a year."
    )
