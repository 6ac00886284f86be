"""A run's folds and stop -> what stopping would save in a year of many runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import streamlit as st

from ecv_core.analysis.tradeoff.curves import PAPER_STOP
from ecv_core.energy.meter import carbon_source, countries
from ecv_core.energy.parts import inflated_energy_words
from ecv_core.energy.savings import (
    PAPER_KG,
    PAPER_SOURCES,
    EnergyFacts,
    Workload,
    Yearly,
    energy_of,
    yearly_cost,
)
from ecv_core.figures.words import (
    counted,
    duration,
    range_words,
    run_title,
    small_number,
    watt_hours_range,
)
from ecv_core.records.errors import EcvError
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import HOW_KNOWN, RunRecord
from ecv_core.store.recorded import recorded_runs
from pages.shared.base.glossary import glossary_link
from pages.shared.live.state import KEPT_IN_ADDRESS, escaped, sentence
from pages.shared.widgets.choices import pick_one

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_USED = "folds_used"
_SUGGESTED_BY = "folds-used-of"
"""In the session: the runs that the folds used on average were suggested by."""


@dataclass(frozen=True, kw_only=True)
class Stops:
    """After how many folds the rule stopped in the runs of the recorded study."""

    mean: float
    least: int
    most: int
    runs: int


def show_year(run: RunRecord) -> None:
    """Inputs on the left, the year on the right; nothing of one fold, or without its energy."""
    facts = energy_of(run)
    if run.k == 1 or facts.source == "none":
        return
    recorded = []
    with suppress(EcvError):  # the choice of the run has shown this error already
        recorded = recorded_runs()
    stops = stops_of(recorded, run.k)
    st.header("What would it save at scale?", anchor=False)
    left_column, right_column = st.columns([1.25, 1], gap="large")
    with left_column:
        work = _pick_workload(run, facts, stops)
    with right_column:
        try:
            saved_cost = yearly_cost(work, work.k - work.folds_used)
            full_cost = yearly_cost(work, work.k)
        except EcvError as error:
            st.error(sentence(error), icon=":material/error:")
            return
        time_label = "computing time"
        if facts.processor_seconds is not None:
            time_label = "processor time"
        st.markdown(_year_table(saved_cost, full_cost, time_label))
        st.markdown(year_sentence(work, saved_cost, full_cost, stops))
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


def _year_table(saved_cost: Yearly, full_cost: Yearly, time_label: str) -> str:
    """What is saved of what in a year, as Markdown; `time_label` is the name of the time."""
    time = f"**{duration(3600 * saved_cost.hours)}** | {duration(3600 * full_cost.hours)}"
    saved_energy, full_energy = _in_one_unit("kWh", saved_cost.kwh, full_cost.kwh)
    energy = f"**{saved_energy}** | {full_energy}"
    saved_emissions, full_emissions = _in_one_unit("kg", saved_cost.kg_co2e, full_cost.kg_co2e)
    emissions = f"**{saved_emissions}** | {full_emissions}"
    return (
        "| in a year of 52 weeks | saved | of |\n|---|---|---|\n"
        f"| {time_label} | {time} |\n| energy | {energy} |\n| emissions (CO2e) | {emissions} |\n"
    )


def stops_of(runs: Sequence[RunRecord], k: int) -> Stops | None:
    """Of those of these runs that have k folds and stopped; None where there is none."""
    stops = [run.stopped_at for run in runs if run.k == k and run.stopped_at is not None]
    if not stops:
        return None
    return Stops(mean=fmean(stops), least=min(stops), most=max(stops), runs=len(stops))


def year_sentence(
    work: Workload, saved_cost: Yearly, full_cost: Yearly, stops: Stops | None = None
) -> str:
    """The year in one sentence, with the range that the folds used would make of it.

    Args:
        work: What runs in a year.
        saved_cost: What stopping saves of it.
        full_cost: What it would take without stopping.
        stops: Those of the recorded study, for the range; without it one fold more or less is.
    """
    saved_share = 0.0
    if full_cost.folds:
        saved_share = saved_cost.folds / full_cost.folds
    if stops is None:
        fewest = max(work.folds_used - 1, 1)
        most = min(work.folds_used + 1, work.k)
        range_words = "With one fold more or less per run, the saving is"
    else:
        fewest = stops.least
        most = stops.most
        range_words = (
            f"The rule stopped after {stops.least} to {stops.most} folds in the "
            f"{counted(stops.runs, 'recorded run')}, {stops.mean:.1f} on average. For that range, "
            "the saving is"
        )
    # The energy of the folds that do not run is a range, as energy is estimated. The least is saved
    # with the most folds, at the lower end of that range.
    least_saved, _ = yearly_cost(work, work.k - most).kwh
    _, most_saved = yearly_cost(work, work.k - fewest).kwh
    (saved_energy,) = _in_one_unit("kWh", (least_saved, most_saved))
    return (
        f"By estimate, {small_number(saved_cost.folds)} of {small_number(full_cost.folds)} folds a "
        f"year would not run ({percent_text(saved_share, '.0f')}). {range_words} "
        f"{saved_energy}."
    )


def _pick_workload(run: RunRecord, facts: EnergyFacts, stops: Stops | None) -> Workload:
    """What runs in a year, as it is put in; what a fold of it takes is that of this run.

    Args:
        run: The run.
        facts: Its energy.
        stops: Those of the recorded study.
    """
    left_column, right_column = st.columns(2)
    runs = left_column.number_input(
        "Runs per week",
        min_value=0,
        max_value=10_000_000,
        value=100,
        step=10,
        key="runs_per_week",
        **KEPT_IN_ADDRESS,
        help="Each one a whole cross-validation: every model, setting and dataset counts.",
    )
    folds_used = _pick_folds_used(right_column, run, stops)
    folds = len(run.folds)
    least_joules, most_joules = facts.joules_range
    joules_per_fold = (least_joules / folds, most_joules / folds)
    title = escaped(run_title(run))
    st.caption(
        f"{title}: {watt_hours_range(*joules_per_fold)} ({HOW_KNOWN[facts.source]}) and "
        f"{duration(run.seconds / folds)} a fold. {range_words(facts)} "
        f"{inflated_energy_words([run])}"
    )
    seconds = run.seconds
    if facts.processor_seconds is not None:
        seconds = facts.processor_seconds
    return Workload(
        runs_per_week=runs,
        k=run.k,
        folds_used=folds_used,
        joules_per_fold=joules_per_fold,
        seconds_per_fold=seconds / folds,
        grams_per_kwh=_pick_grams_per_kwh(run.spec.country),
    )


def _pick_folds_used(column: DeltaGenerator, run: RunRecord, stops: Stops | None) -> float:
    """The widget of the folds used on average, which begins with the stops that are known."""
    suggestion = float(run.stopped_at or PAPER_STOP)
    suggested_by = run.run_id
    if stops is not None:
        suggestion = round(stops.mean, 1)
        suggested_by = f"{run.k} recorded folds"
    suggestion = min(suggestion, float(run.k))
    # A typed number stays until the suggestion comes from other runs, as these have other stops.
    if st.session_state.get(_SUGGESTED_BY, suggested_by) != suggested_by:
        st.session_state[_USED] = suggestion
    st.session_state[_SUGGESTED_BY] = suggested_by
    used = column.number_input(
        "Folds used on average",
        min_value=1.0,
        max_value=float(run.k),
        value=suggestion,
        step=0.5,
        key=_USED,
        **KEPT_IN_ADDRESS,
        help="Begins with the mean of the recorded runs of so many folds, or with this run's stop "
        "where there are none. The paper's mean over 30 pairs is "
        f"{PAPER_STOP} of 10; the page How many folds? gives yours over every order of the folds.",
    )
    return float(used)


def _pick_grams_per_kwh(usual_country: str) -> float:
    """Carbon intensity of the electricity of the country that is picked, in grams CO2e."""
    known_countries = countries()
    names = {code: country.name for code, country in known_countries.items()}
    code = pick_one(
        "Country",
        list(names),
        "scale_country",
        usual=usual_country,
        words=names.__getitem__,
        width="stretch",
        help="Whose electricity. Nothing looks up where you are.",
    )
    country = known_countries[code]
    origin = carbon_source()
    st.caption(
        f"{glossary_link('carbon-intensity', 'Carbon intensity')} of "
        f"{country.name}: {country.grams_co2e_per_kwh:.0f} g CO2e per kWh in {country.year} "
        f"([{origin.source}]({origin.url})); {origin.note}."
    )
    return country.grams_co2e_per_kwh


def _range_words(ends: Sequence[float]) -> str:
    """'1.2 to 3.4'; the number alone where both ends are the same."""
    distinct_texts = dict.fromkeys(map(small_number, ends))
    return " to ".join(distinct_texts)


def _in_one_unit(unit: str, *ranges: tuple[float, float]) -> list[str]:
    """Each range with its unit: '1.2 to 3.4 kWh', and '12 to 34 Wh' where none has a whole kWh."""
    largest = max(map(max, ranges))
    factor = 1
    if 0 < largest < 1:
        factor = 1000
        unit = unit.removeprefix("k")
    texts = []
    for least, most in ranges:
        texts.append(f"{_range_words((factor * least, factor * most))} {unit}")
    return texts


def lecture_sentence(papers: int, work: Workload, stops: Stops | None) -> str:
    """What a group's papers come to in a year and what stopping would save of it, with sources.

    The numbers are what others measured at a plug, whatever this run is.

    Args:
        papers: How many a year, each with deep learning.
        work: Says k, and how many folds are used.
        stops: As of `year_sentence`.
    """
    sources = ", ".join(f"[{name}]({url})" for name, url in PAPER_SOURCES)
    used = work.folds_used
    fewest = used
    most = used
    if stops is not None:
        fewest = stops.least
        most = stops.most
    least_kg, most_kg = PAPER_KG
    kg_a_year = _range_words((papers * least_kg, papers * most_kg))
    saved_share = 1 - used / work.k
    stops_words = _range_words((fewest, most))
    # The least is saved where papers emit the least and stop latest; the most, the other way round.
    least_saved_kg = papers * least_kg * (1 - most / work.k)
    most_saved_kg = papers * most_kg * (1 - fewest / work.k)
    saved_kg = _range_words((least_saved_kg, most_saved_kg))
    return (
        "The experiments of a paper on recommenders with deep learning came to "
        f"{_range_words(PAPER_KG)} kg CO2e, measured at a plug ({sources}). {papers} such papers a "
        f"year are {kg_a_year} kg. If all of it were {work.k}-fold cross-validation, stopping "
        f"after {small_number(used)} folds would save {percent_text(saved_share, '.0f')} of it; "
        f"stopping after {stops_words} folds would save {saved_kg} kg a year."
    )
