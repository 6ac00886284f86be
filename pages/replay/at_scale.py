"""What stopping would save in a year of many runs, and what that is like; money if asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import streamlit as st

from ecv_core.analysis.tradeoff.curves import PAPER_STOP
from ecv_core.energy.at_scale import AtScale, Yearly, at_scale
from ecv_core.energy.equivalents import Likeness, like
from ecv_core.energy.meter import countries
from ecv_core.energy.meter import country as country_of
from ecv_core.energy.parts import left_in_words
from ecv_core.energy.savings import energy_of
from ecv_core.energy.sources import carbon_source
from ecv_core.figures.words import processor_sentence
from ecv_core.records.errors import EcvError
from ecv_core.records.run import HOW, Run
from ecv_core.store.recorded import recorded_runs
from pages.shared.live.state import KEPT, sentence
from pages.shared.widgets.choices import switch
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.words import (
    duration,
    run_title,
    small_number,
    watt_hours,
)

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

RECORDED, POWER = "As this run", "From machine power"
_USED, _OF = "folds_used", "folds-used-of"


def at_scale_panel(run: Run) -> None:
    """Inputs on the left, the year on the right, how it is worked out below."""
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
        _year(work, saved, whole, stops)


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
    most = at_scale(replace(work, folds_used=low), work.k - low).kwh
    least = at_scale(replace(work, folds_used=high), work.k - high).kwh
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
    told = "Each one a whole cross-validation: every model, setting and dataset counts."
    runs = _number(first, "Runs per week", "runs_per_week", 100, (0, 10_000_000), 10, help=told)
    folds = _number(second, "Folds (k)", "scale_k", max(run.k, 2), (2, 1000), 1)
    stops = stops_of(_recorded(), int(folds))
    typical = round(stops.mean, 1) if stops else float(run.stopped_at or PAPER_STOP)
    usual = min(typical, float(folds))
    of = (None if stops else run.run_id, folds)
    if st.session_state.get(_OF, of) != of:
        st.session_state[_USED] = usual  # other runs have other stops
    st.session_state[_OF] = of
    used = _number(
        third,
        "Folds used on average",
        _USED,
        usual,
        (1.0, float(folds)),
        0.5,
        help="Begins with the mean of the recorded runs of so many folds, or with this run's stop "
        "where there are none. The paper's mean over 30 pairs is "
        f"{PAPER_STOP} of 10; the page How many folds? gives yours over every order of the folds.",
    )
    joules, seconds = _per_fold(run)
    grams, price = _electricity(run.spec.country)
    work = AtScale(
        runs_per_week=float(runs),
        k=int(folds),
        folds_used=float(used),
        joules_per_fold=joules,
        seconds_per_fold=seconds,
        grams_per_kwh=grams,
        price_per_kwh=price,
    )
    return work, stops


def _number(
    place: DeltaGenerator,
    label: str,
    key: str,
    usual: float | None,
    ends: tuple[float, float],
    step: float | None = None,
    **about: Any,  # noqa: ANN401  help and placeholder
) -> Any:  # noqa: ANN401  of the type of its ends, or None
    """A field for a number between two ends; in the address."""
    given: dict[str, Any] = {"value": usual, "min_value": ends[0], "max_value": ends[1], **KEPT}
    return place.number_input(label, key=key, step=step, **given | about)


def _recorded() -> list[Run]:
    try:
        return recorded_runs()
    except EcvError:  # said where the run is chosen
        return []


def _per_fold(run: Run) -> tuple[float, float]:
    """Joules and seconds of one fold: this run's, or a machine's power times the time."""
    count = len(run.folds)
    facts = energy_of(run)
    known = facts.source != "none" and count > 0
    seconds = run.seconds / count if count else 0.0
    ways = [RECORDED, POWER] if known else [POWER]
    way = switch("Energy of a fold", ways, "energy_of_a_fold")
    if way == RECORDED and known:
        how = HOW[facts.source]
        joules = facts.joules / count
        st.caption(
            f"{run_title(run)}: {watt_hours(joules)} ({how}) and {duration(seconds)} a fold, "
            f"about {small_number(joules / seconds if seconds else 0)} W. "
            f"{processor_sentence(facts)} {left_in_words([run])}"
        )
        return joules, seconds
    left, right = st.columns(2)
    told = "Under load, at the plug: a laptop draws tens of watts, a GPU server a thousand."
    watts = _number(left, "Machine power in W", "watts", 200.0, (0.0, 1e6), 10.0, help=told)
    minutes = _number(right, "Minutes per fold", "minutes_per_fold", 10.0, (0.0, 1e6), 1.0)
    return float(watts) * float(minutes) * 60, float(minutes) * 60


def _electricity(country: str) -> tuple[float, float | None]:
    """Grams CO2e per kWh, and the price of a kWh if one is given."""
    known = countries()
    codes = list(known)
    left, middle, right = st.columns(3)
    code = left.selectbox(
        "Country",
        codes,
        index=codes.index(country) if country in known else 0,
        format_func=lambda one: known[one].name,
        key="scale_country",
        **KEPT,
        help="Whose electricity. Nothing looks up where you are.",
    )
    at = country_of(code or country)
    own = _number(
        middle,
        "Own g CO2e per kWh",
        "own_intensity",
        None,
        (0.0, 5000.0),
        placeholder=f"{at.grams_co2e_per_kwh:.0f}",
        help="Of your contract or of this hour; empty takes the country's.",
    )
    told = "In your currency; empty leaves money out."
    price = _number(
        right, "Price of a kWh", "price", None, (0.0, 1000.0), 0.01, placeholder="none", help=told
    )
    if own is None:
        origin = carbon_source()
        st.caption(
            f"{glossary_link('carbon-intensity', 'Carbon intensity')} of "
            f"{at.name}: {at.grams_co2e_per_kwh:.0f} g CO2e per kWh in {at.year} "
            f"([{origin.source}]({origin.url})); {origin.note}."
        )
    else:
        st.caption(f"Your own value: {small_number(float(own))} g CO2e per kWh.")
    grams = at.grams_co2e_per_kwh if own is None else float(own)
    return grams, None if price is None else float(price)


def _year(work: AtScale, saved: Yearly, whole: Yearly, stops: Stops | None) -> None:
    st.markdown("**Saved in a year of 52 weeks**")
    row = st.container(horizontal=True)
    for label, value, unit, of in (
        ("Energy", saved.kwh, "kWh", whole.kwh),
        ("Emissions (CO2e)", saved.kg_co2e, "kg", whole.kg_co2e),
        ("Computing time", saved.hours, "h", whole.hours),
        ("Money", saved.money, "", whole.money),
    ):
        if value is not None and of is not None:
            row.container(width=150).metric(
                label,
                f"{small_number(value)} {unit}".strip(),
                f"of {small_number(of)} {unit}".strip(),
                delta_arrow="off",
                delta_color="off",
            )
    st.markdown(at_scale_sentence(work, saved, whole, stops))
    if saved.kwh > 0 and equivalents_wanted():
        st.markdown("That is like")
        likenesses(saved.kwh * 3.6e6, saved.kg_co2e * 1000)


PARAM = "equivalents"
_KEY = "equivalents-shown"


def equivalents_wanted() -> bool:
    """Whether they are to be shown: as the switch says, before there is one as the address says."""
    asked = st.query_params.get(PARAM, "1") not in ("0", "false", "off", "no")
    return bool(st.session_state.get(_KEY, asked))


def equivalents_switch() -> bool:
    """A switch that the address can turn off with `?equivalents=0`."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = equivalents_wanted()

    def changed() -> None:
        if st.session_state[_KEY]:
            st.query_params.pop(PARAM, None)
        else:
            st.query_params[PARAM] = "0"

    return st.toggle(
        "Compare with everyday things",
        key=_KEY,
        on_change=changed,
        help="Each with its source. Turn it off where you want numbers only.",
    )


def likenesses(joules: float, grams_co2e: float) -> None:
    """The list, or a sentence where the amount is too small for any."""
    found = like(joules, grams_co2e)
    if not found:
        st.markdown("- too little to compare with anything in a home.")
        return
    st.markdown("\n".join(f"- {likeness_text(one)}" for one in found))
    with st.popover("Sources", icon=":material/menu_book:"):
        for one in found:
            known = one.equivalent
            st.markdown(f"**{known.text}** · {known.source} ([{known.year}]({known.url}))")


def likeness_text(one: Likeness) -> str:
    """'about **1.4 min** of light from a 9 W LED lamp': two digits, it is no measurement."""
    return f"about **{small_number(float(f'{one.amount:.1e}'))} {one.unit}** {one.equivalent.text}"
