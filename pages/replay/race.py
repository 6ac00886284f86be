"""The race: two lanes over the same folds, played again; and what stopping saves a year."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from math import floor, log10
from statistics import fmean
from typing import TYPE_CHECKING, Any

import streamlit as st

from ecv_core.analysis.tradeoff.curves import PAPER_STOP
from ecv_core.energy.meter import carbon_source, countries
from ecv_core.energy.meter import country as country_of
from ecv_core.energy.parts import left_in_words
from ecv_core.energy.savings import (
    PAPER_KG,
    PAPER_SOURCES,
    AtScale,
    Tally,
    Yearly,
    at_scale,
    energy_of,
    tallies,
)
from ecv_core.figures.words import (
    ESTIMATED_DIGITS,
    duration,
    half_width_words,
    metric_label,
    processor_sentence,
    range_words,
    run_title,
    saved_words,
    shown_interval,
    small_number,
    watt_hours_range,
)
from ecv_core.records.errors import EcvError
from ecv_core.records.run import HOW, RunRecord
from ecv_core.stopping import difference_percent
from ecv_core.store.recorded import recorded_runs
from pages.replay.choice import choose_run, usual_run
from pages.shared.address.link import write_into_link
from pages.shared.address.navigation import FOLD_BY_FOLD, show_view
from pages.shared.address.present import present_button, presenting
from pages.shared.charts.player import asked_step, player
from pages.shared.live.runs import source_sentence
from pages.shared.live.state import KEPT, escaped, sentence
from pages.shared.widgets.component import component
from pages.shared.widgets.glossary import glossary_link

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

NAME = "race"
_USUAL_SECONDS = 12.0
"""That a race takes when it is played at the usual speed."""

_race = component(
    __file__,
    "ecv_race",
    html='<div class="ecv-race"></div>',
    css="lanes.css",
    js=["../shared/widgets/duration.js", "lanes.js"],
)


def race(beside_title: DeltaGenerator) -> None:
    """Pick a run, watch it race, and see what stopping comes to.

    Raises: EcvError for a run that cannot be shown.
    """
    run = choose_run(usual_run)
    if run is None:
        return
    with beside_title:
        present_button()
    _again(run)
    at_scale_panel(run)


def play_race(run: RunRecord, *, autoplay: bool = False) -> None:
    """The lanes of a finished run, and the controls that play them."""
    data = race_data(run, NAME)
    usual = _digits(max(data["total"], 0.1) / _USUAL_SECONDS)
    factors = sorted({_digits(usual / 2), usual, _digits(2 * usual), 1.0})
    _race(key="race-lanes", data=data)
    player(
        NAME,
        version=run.run_id,
        texts=data["verdicts"],
        seconds=data["seconds"],
        speeds=[(f"{factor:g} x real time", factor) for factor in factors],
        speed=usual,
        step=asked_step(run.k),
        label="Folds of the k-fold lane",
        autoplay=autoplay,
    )


def _digits(factor: float) -> float:
    """With two significant digits."""
    return float(f"{factor:.2g}")


def _again(run: RunRecord) -> None:
    with st.container(key="presented-race"):
        if presenting():
            st.markdown(f"**{escaped(run_title(run))}**")
        play_race(run)
    total, facts = tallies(run.folds, run.k)[-1].seconds, energy_of(run)
    ran = "" if run.complete else " Dashed folds never ran; they are estimated."
    st.caption(
        f"{glossary_link('fold', 'Folds')} are as wide as the time they took: "
        f"{duration(total)} for all {run.k}.{ran} "
        + (
            f"Energy saved: {saved_words(facts)}. {source_sentence(facts.source)}"
            if facts.source != "none"
            else "No energy was recorded for this run, so only time is counted."
        )
        + f" {processor_sentence(facts)}"
    )
    st.button(
        "Replay it fold by fold",
        icon=":material/replay:",
        key="to-replay",
        type="tertiary",
        on_click=show_view,
        args=(FOLD_BY_FOLD,),
    )
    write_into_link({"run": run.run_id})


def race_data(run: RunRecord, slider: str) -> dict[str, Any]:
    """What lanes.js draws of a run with a finished fold."""
    told = tallies(run.folds, run.k)
    steps = range(run.k + 1)
    seconds = [after.seconds - before.seconds for before, after in pairwise(told)]
    return {
        "slider": slider,
        "seconds": seconds,
        "total": max(told[-1].seconds, 1e-9),
        "titles": [
            f"fold {n}: {duration(each)}" + ("" if told[n].ran else ", estimated: it never ran")
            for n, each in enumerate(seconds, start=1)
        ],
        "ran": [tally.ran for tally in told[1:]],
        "lanes": [
            {
                "name": "e-fold",
                "end": run.stopped_at,
                "says": [_e_fold_says(run, told, n) for n in steps],
            },
            {
                "name": f"{run.k}-fold",
                "end": run.k,
                "says": [_k_fold_says(run, told, n) for n in steps],
            },
        ],
        "counters": _counters(run, told),
        "verdicts": [_verdict(run, told, n) for n in steps],
    }


def _verdict(run: RunRecord, told: Sequence[Tally], n: int) -> str:
    """The sentence below the lanes after n folds of the k-fold lane."""
    stop, k = run.stopped_at, run.k
    if n == 0:
        return "Both run the same folds; only one of them may stop."
    if stop is None or n < stop:
        return "Neck and neck: both have the same folds so far, and the same score."
    if stop == k:
        return f"The rule never said stop early: e-fold used all {k} folds and saved nothing."
    at = run.moments[stop - 1].mean
    if n < k:
        return f"e-fold is done with {at:.4f}; what {k}-fold still spends is saved."
    if run.k_fold_mean is None:
        return (
            f"The {k}-fold mean is not known: folds {len(run.folds) + 1} to {k} never ran. "
            "Their time and energy are estimated at the mean of those that did."
        )
    end, what = told[-1], "processor time"
    share = told[stop].processor_seconds / max(end.processor_seconds, 1e-9)
    if not end.processor_seconds:
        share, what = told[stop].seconds / max(end.seconds, 1e-9), "time"
    off = difference_percent(at, run.k_fold_mean)
    return (
        f"The score of {stop} folds differs by {off:.2f} % from that of all {k}, "
        f"for {100 * share:.0f} % of the {what}."
    )


def _e_fold_says(run: RunRecord, told: Sequence[Tally], n: int) -> str:
    stop = run.stopped_at
    if stop is not None and n >= stop:
        moment = run.moments[stop - 1]
        half = half_width_words(shown_interval(run).interval, run.k)
        label = metric_label(run.spec)
        how = "stopped" if stop < run.k else "never stopped early, done"
        after = f"{how} after {stop} folds, {duration(told[stop].seconds)}"
        return f"{after}: {label} {moment.mean:.4f}{f', {half}' if half else ''}"
    return _running(run, n)


def _k_fold_says(run: RunRecord, told: Sequence[Tally], n: int) -> str:
    if n < run.k:
        return _running(run, n)
    if not run.complete:
        return f"would be done after about {duration(told[-1].seconds)}: its mean is not known"
    label = metric_label(run.spec)
    return (
        f"done after all {run.k} folds, {duration(told[-1].seconds)}: "
        f"{label} {run.moments[-1].mean:.4f}"
    )


def _running(run: RunRecord, n: int) -> str:
    mean = f", mean {run.moments[n - 1].mean:.4f}" if 0 < n <= len(run.moments) else ""
    return f"{n} of {run.k} folds{mean}"


def _counters(run: RunRecord, told: Sequence[Tally]) -> list[dict[str, Any]]:
    """What is saved by then, processor time first: other work beside it hardly changes that.

    Each in one unit for the whole race, so that the number can run without jumping; lanes.js writes
    seconds as time.
    """
    found: list[dict[str, Any]] = []
    if told[-1].processor_seconds:
        saved = _saved(run, told, "processor_seconds")
        found.append({"label": "Processor time saved", "values": saved})
    if energy_of(run).source != "none":
        energy = [joules / 3600 for joules in _saved(run, told, "joules")]
        grams = _saved(run, told, "grams_co2e")
        for label, unit, values in (
            ("Energy saved", "Wh", energy),
            ("Emissions saved", "g CO2e", grams),
        ):
            if 0 < values[-1] < 0.1:
                unit, values = f"m{unit}", [1000 * value for value in values]
            decimals = _decimals(values[-1])
            found.append({"label": label, "unit": unit, "values": values, "decimals": decimals})
    return [*found, {"label": "Time saved", "values": _saved(run, told, "seconds")}]


def _saved(run: RunRecord, told: Sequence[Tally], name: str) -> list[float]:
    """After each fold, what the folds after the stop cost by then; 0 while there is no stop."""
    costs = [float(getattr(tally, name)) for tally in told]
    stop = run.stopped_at
    return [max(cost - costs[-1 if stop is None else stop], 0.0) for cost in costs]


def _decimals(most: float) -> int:
    """As many as show the digits of the last value that are believed."""
    return min(max(ESTIMATED_DIGITS - 1 - floor(log10(most)), 0), 6) if most > 0 else 1


# What stopping would save in a year of many runs.


_USED, _OF = "folds_used", "folds-used-of"


def at_scale_panel(run: RunRecord) -> None:
    """Inputs on the left, the year on the right; nothing of one fold, or without its energy."""
    if run.k == 1 or energy_of(run).source == "none":
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


def stops_of(runs: Sequence[RunRecord], k: int) -> Stops | None:
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
            f"recorded runs as they ran, {stops.mean:.1f} on average: that range is"
        )
    return (
        f"An estimate: {small_number(saved.folds)} of {small_number(whole.folds)} folds a year "
        f"would not run ({share:.0f} %). {why} {small_number(least)} to {small_number(most)} kWh."
    )


def _workload(run: RunRecord) -> tuple[AtScale, Stops | None]:
    first, second = st.columns(2)
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
    recorded: list[RunRecord] = []
    with suppress(EcvError):  # said where the run is chosen
        recorded = recorded_runs()
    stops = stops_of(recorded, run.k)
    typical = round(stops.mean, 1) if stops else float(run.stopped_at or PAPER_STOP)
    usual = min(typical, float(run.k))
    of = (None if stops else run.run_id, run.k)
    if st.session_state.get(_OF, of) != of:
        st.session_state[_USED] = usual  # other runs have other stops
    st.session_state[_OF] = of
    used = second.number_input(
        "Folds used on average",
        min_value=1.0,
        max_value=float(run.k),
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
        k=run.k,
        folds_used=float(used),
        joules_per_fold=joules,
        seconds_per_fold=seconds,
        grams_per_kwh=_electricity(run.spec.country),
    )
    return work, stops


def _per_fold(run: RunRecord) -> tuple[tuple[float, float], float]:
    """Joules of one fold of this run, and its seconds: of processors where they are known."""
    facts, count = energy_of(run), len(run.folds)
    low, high = (joules / count for joules in facts.joules_range)
    st.caption(
        f"{run_title(run)}: {watt_hours_range(low, high)} ({HOW[facts.source]}) and "
        f"{duration(run.seconds / count)} a fold. {range_words(facts)} "
        f"{left_in_words([run])}"
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


def _year(run: RunRecord, work: AtScale, saved: Yearly, whole: Yearly, stops: Stops | None) -> None:
    timed = energy_of(run).processor_seconds is not None
    hours = "processor time" if timed else "computing time"
    st.markdown(
        "| in a year of 52 weeks | saved | of |\n|---|---|---|\n"
        f"| {hours} | **{duration(3600 * saved.hours)}** | {duration(3600 * whole.hours)} |\n"
        f"| energy | **{_ends(saved.kwh)} kWh** | {_ends(whole.kwh)} kWh |\n"
        f"| emissions (CO2e) | **{_ends(saved.kg_co2e)} kg** | {_ends(whole.kg_co2e)} kg |\n"
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
