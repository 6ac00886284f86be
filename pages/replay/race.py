"""The race: a run as two lanes over the same folds, e-fold's and k-fold's, played again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import floor, log10
from typing import TYPE_CHECKING, Any

import streamlit as st

from ecv_core.energy.savings import Tally, energy_of, tallies
from ecv_core.figures.words import (
    ESTIMATED_DIGITS,
    counted,
    duration,
    half_width_words,
    metric_label,
    new_data_line,
    processor_sentence,
    rule_words,
    run_name,
    run_title,
    saved_words,
    shown_interval,
)
from ecv_core.records.parameters import percent_text, score_text
from ecv_core.records.run import RunRecord
from ecv_core.stopping import difference_percent
from ecv_core.store.new_data import mean_on_new_data
from pages.replay.choice import choose_run
from pages.replay.year import show_year
from pages.shared.address.link import write_into_link
from pages.shared.address.navigation import FOLD_BY_FOLD, show_view
from pages.shared.base.component import component_parts, registered
from pages.shared.base.glossary import glossary_link
from pages.shared.base.present import draw_present_button, presenting
from pages.shared.charts.player import asked_step, draw_player
from pages.shared.charts.save_picture import save_page
from pages.shared.live.runs import source_sentence
from pages.shared.live.state import escaped, results

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_SLIDER = "race"
"""The name of the player, by which the lanes follow it."""
_USUAL_SECONDS = 12.0
"""That a race takes when it is played at the usual speed."""
_LEAST_SECONDS = 1e-9
"""In place of no time at all, by which nothing can be divided."""

_RACE_COMPONENT = component_parts(
    __file__,
    html='<div class="ecv-race"></div>',
    css="lanes.css",
    js=["../shared/base/duration.js", "lanes.js"],
)
_draw_race = registered("ecv_race", _RACE_COMPONENT)


def show_race(beside_title: DeltaGenerator) -> None:
    """Pick a run, watch it race, and see what stopping comes to.

    Args:
        beside_title: Where the button of the presentation is.

    Raises:
        EcvError: If the run cannot be shown.
    """
    run = choose_run()
    if run is None:
        return
    with beside_title:
        draw_present_button()
    play_race(run)
    st.caption(_costs_words(run))
    st.caption(_new_data_words(run))
    with st.container(horizontal=True):
        st.button(
            "Replay it fold by fold",
            icon=":material/replay:",
            key="to-replay",
            type="tertiary",
            on_click=show_view,
            args=(FOLD_BY_FOLD,),
        )
        name = f"race of {run_name(run)}"
        save_page(partial(_saved_page, run), name=name, key="race")
    write_into_link({"run": run.run_id})
    show_year(run)


def _saved_page(run: RunRecord) -> str:
    """The race as one HTML page with a player."""
    from ecv_core.figures.report.component_page import component_page

    data = race_data(run)
    title = f"{run_title(run)}: e-fold against k-fold"
    subtitle = f"{metric_label(run.spec)}, k = {run.k}, {rule_words(run.spec)}"
    return component_page(
        title=title,
        subtitle=subtitle,
        html=_RACE_COMPONENT.html,
        style=_RACE_COMPONENT.style,
        script=_RACE_COMPONENT.script,
        data=data,
        player_name=_SLIDER,  # the lanes follow the player of this name, which is in `data` too
        fold_seconds=data["seconds"],
    )


def play_race(run: RunRecord, *, autoplay: bool = False) -> None:
    """The lanes of a finished run, and the controls that play them."""
    data = race_data(run)
    # A speed says how many times faster the race is than the run was.
    total_seconds = max(data["total"], 0.1)  # avoids a speed of 0 for a run that took no time
    usual_speed = _two_digits(total_seconds / _USUAL_SECONDS)
    speeds = sorted({_two_digits(usual_speed / 2), usual_speed, _two_digits(2 * usual_speed), 1.0})
    with st.container(key="presented-race"):
        if presenting():
            st.markdown(f"**{escaped(run_title(run))}**")
        _draw_race(key="race-lanes", data=data)
        draw_player(
            _SLIDER,
            version=run.run_id,
            texts=data["verdicts"],
            seconds=data["seconds"],
            speeds=[(f"{speed:g} x real time", speed) for speed in speeds],
            speed=usual_speed,
            step=asked_step(run.k),
            label="Folds of the k-fold lane",
            autoplay=autoplay,
        )


def _two_digits(factor: float) -> float:
    """Rounded to two significant digits."""
    return float(f"{factor:.2g}")


def _new_data_words(run: RunRecord) -> str:
    """The interval for new data, of which the ± in the lane says nothing."""
    scored = results().with_user_scores(run)
    line = escaped(new_data_line(scored, mean_on_new_data(scored, scored.user_scores)))
    return f"± is {glossary_link('confidence-interval', 'of these folds')}. At the stop: {line}."


def _costs_words(run: RunRecord) -> str:
    """How long all folds took, and what of time and energy was saved, as Markdown."""
    facts = energy_of(run)
    *_, tally_of_all = tallies(run.folds, run.k)
    words = (
        f"{glossary_link('fold', 'Folds')} are as wide as the time they took: "
        f"{duration(tally_of_all.seconds)} for all {run.k}."
    )
    if not run.complete:
        words += " Dashed folds never ran; they are estimated."
    if facts.source == "none":
        words += " No energy was recorded for this run, so only time is counted."
    else:
        saved_title = "Energy saved"
        if facts.is_checked:
            saved_title = "Energy that the stop would save"
        words += f" {saved_title}: {saved_words(facts)}. {source_sentence(facts.source)}"
    return f"{words} {processor_sentence(facts)}"


def race_data(run: RunRecord) -> dict[str, Any]:
    """What lanes.js draws of a run with a finished fold."""
    tally_after = tallies(run.folds, run.k)
    fold_seconds = []
    fold_titles = []
    for fold in range(1, run.k + 1):
        seconds = tally_after[fold].seconds - tally_after[fold - 1].seconds
        title = f"fold {fold}: {duration(seconds)}"
        if not tally_after[fold].ran:
            title += ", estimated: it never ran"
        fold_seconds.append(seconds)
        fold_titles.append(title)
    steps = range(run.k + 1)  # a step is the number of folds that the lane of k-fold has played
    e_fold = {
        "name": "e-fold",
        "end": run.stopped_at,
        "says": [_words_on_e_fold(run, tally_after, folds_played) for folds_played in steps],
    }
    k_fold = {
        "name": f"{run.k}-fold",
        "end": run.k,
        "says": [_words_on_k_fold(run, tally_after, folds_played) for folds_played in steps],
    }
    return {
        "slider": _SLIDER,
        "seconds": fold_seconds,
        "total": max(tally_after[run.k].seconds, _LEAST_SECONDS),
        "titles": fold_titles,
        "ran": [tally.ran for tally in tally_after[1:]],
        "lanes": [e_fold, k_fold],
        "counters": _counters(run, tally_after),
        "verdicts": [_verdict(run, tally_after, folds_played) for folds_played in steps],
    }


def _verdict(run: RunRecord, tally_after: Sequence[Tally], folds_played: int) -> str:
    """The sentence below the lanes after so many folds of the k-fold lane."""
    stop = run.stopped_at
    k = run.k
    if folds_played == 0:
        return "Both run the same folds, but only e-fold may stop early."
    if stop is None or folds_played < stop:
        return "Neck and neck: both have the same folds so far, and the same score."
    if stop == k:
        return f"The rule did not stop early: e-fold used all {k} folds and saved nothing."
    mean = run.moments[stop - 1].mean
    if folds_played < k:
        finished = f"e-fold has finished with {score_text(mean)}."
        return f"{finished} Everything that {k}-fold still spends is saved."
    if run.k_fold_mean is None:
        return (
            f"The {k}-fold mean is not known: folds {len(run.folds) + 1} to {k} never ran. "
            "Their time and energy are estimated as the mean of those that did."
        )
    at_stop = tally_after[stop]
    at_end = tally_after[k]
    if at_end.processor_seconds:
        share = at_stop.processor_seconds / at_end.processor_seconds
        cost = "processor time"
    else:
        share = at_stop.seconds / max(at_end.seconds, _LEAST_SECONDS)
        cost = "time"
    difference = percent_text(difference_percent(mean, run.k_fold_mean) / 100, ".2f")
    return (
        f"The score of {counted(stop, 'fold')} differs by {difference} from that of all {k}, "
        f"for {percent_text(share, '.0f')} of the {cost}."
    )


def _words_on_e_fold(run: RunRecord, tally_after: Sequence[Tally], folds_played: int) -> str:
    """The words beside the lane of e-fold after so many folds."""
    stop = run.stopped_at
    if stop is None or folds_played < stop:
        return _words_on_folds_so_far(run, folds_played)
    ending = "stopped"
    if stop == run.k:
        ending = "done without an early stop"
    score = f"{metric_label(run.spec)} {score_text(run.moments[stop - 1].mean)}"
    half_width = half_width_words(shown_interval(run).interval, run.k)
    if half_width:
        score += f", {half_width}"
    return f"{ending} after {counted(stop, 'fold')}, {duration(tally_after[stop].seconds)}: {score}"


def _words_on_k_fold(run: RunRecord, tally_after: Sequence[Tally], folds_played: int) -> str:
    """The words beside the lane of k-fold after so many folds."""
    if folds_played < run.k:
        return _words_on_folds_so_far(run, folds_played)
    # The lane shows all k folds, also where those after the stop never ran: their time is
    # estimated.
    total = duration(tally_after[run.k].seconds)
    if not run.complete:
        return f"would be done after about {total}: its mean is not known"
    score = f"{metric_label(run.spec)} {score_text(run.moments[-1].mean)}"
    return f"done after all {run.k} folds, {total}: {score}"


def _words_on_folds_so_far(run: RunRecord, folds_played: int) -> str:
    """How many folds are in, and their mean, where they ran."""
    words = f"{folds_played} of {run.k} folds"
    if 0 < folds_played <= len(run.moments):
        words += f", mean {score_text(run.moments[folds_played - 1].mean)}"
    return words


def _counters(run: RunRecord, tally_after: Sequence[Tally]) -> list[dict[str, Any]]:
    """What is saved after each fold of the k-fold lane; lanes.js writes seconds as time.

    Processor time comes first, for other work on the machine hardly changes it.
    """
    counters = []
    if tally_after[run.k].processor_seconds:
        saved = _saved_after_each_fold(run, [tally.processor_seconds for tally in tally_after])
        counters.append({"label": "Processor time saved", "values": saved})
    facts = energy_of(run)
    if facts.source != "none":
        # A counter shows one number: of an estimate its high end, of a forecast about the middle.
        least, most = facts.saved_range or (0.0, 0.0)
        bound = ""
        if facts.has_forecast:
            bound = ", about"
        elif least < most:
            bound = ", at most"
        watt_hours = _saved_after_each_fold(run, [tally.joules / 3600 for tally in tally_after])
        counters.append(_amount(f"Energy saved{bound}", "Wh", watt_hours))
        grams = _saved_after_each_fold(run, [tally.grams_co2e for tally in tally_after])
        counters.append(_amount(f"Emissions saved{bound}", "g CO2e", grams))
    saved = _saved_after_each_fold(run, [tally.seconds for tally in tally_after])
    counters.append({"label": "Time saved", "values": saved})
    return counters


def _amount(label: str, unit: str, values: Sequence[float]) -> dict[str, Any]:
    """A counter in one unit for the whole race, so that its number can run without jumping.

    Args:
        label: What is counted.
        unit: The unit of the values; small ones are shown in thousandths of it.
        values: After each fold.
    """
    if 0 < values[-1] < 0.1:
        unit = f"m{unit}"
        values = [1000 * value for value in values]
    return {"label": label, "unit": unit, "values": values, "decimals": _decimals(values[-1])}


def _saved_after_each_fold(run: RunRecord, costs: Sequence[float]) -> list[float]:
    """What the folds after the stop cost; 0 while there is no stop.

    Args:
        run: Says when it stopped.
        costs: What all folds so far cost, after each; shape (k + 1,).
    """
    if run.stopped_at is None:
        return [0.0] * len(costs)
    return [max(cost - costs[run.stopped_at], 0.0) for cost in costs]


def _decimals(largest: float) -> int:
    """As many as show the digits of the largest value that are believed; at most 6."""
    if largest <= 0:
        return 1
    digits = ESTIMATED_DIGITS - 1 - floor(log10(largest))
    return min(max(digits, 0), 6)
