"""The race: two lanes over the same folds, live or played again."""

from __future__ import annotations

from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from ecv_core.energy.parts import left_in_words
from ecv_core.records.run import Run
from pages.replay.at_scale import at_scale_panel
from pages.replay.choice import choose_run
from pages.replay.equivalents import equivalents_panel
from pages.replay.story import Story, race_data, story_of, verdict
from pages.shared.address.link import copy_link
from pages.shared.address.navigation import FOLD_BY_FOLD, show_view
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.player import asked_step, player
from pages.shared.charts.plot import plot
from pages.shared.live.events import RUNS, STEPS, topic
from pages.shared.live.runs import Known, source_sentence, whole
from pages.shared.live.state import manager, sentences, store
from pages.shared.live.watch import follow
from pages.shared.widgets.component import component
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.tables import chart_table
from pages.shared.widgets.words import duration, run_name, run_title

NAME = "race"
_GOAL_SECONDS = 12.0
_FACTORS = (0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)

_race = component(
    __file__,
    "ecv_race",
    html='<div class="ecv-race"></div>',
    css="lanes.css",
    js="lanes.js",
)


def race() -> None:
    """Pick a run, watch it race, and see what stopping comes to.

    Raises: EcvError for a run that cannot be shown.
    """
    run = choose_run(_first, active=True)
    if run is None:
        return
    manager()
    if run.state.active:
        follow(
            _live,
            run.run_id,
            key="race",
            of=[topic(RUNS, [run.run_id])],
            often=[STEPS],
        )
    else:
        _again(story_of(run, run.moments))
    at_scale_panel(run)


def race_frame(story: Story) -> pd.DataFrame:
    """One row per fold of the k-fold lane: what it has spent, and what stopping has saved."""
    return pd.DataFrame(
        {
            "n": [tally.n for tally in story.tallies],
            "e-fold goes on": [
                story.stopped_at is None or tally.n < story.stopped_at for tally in story.tallies
            ],
            "ran": [tally.ran for tally in story.tallies],
            "mean": [None, *(m.mean for m in story.moments)]
            + [None] * (len(story.tallies) - 1 - len(story.moments)),
            "seconds": [tally.seconds for tally in story.tallies],
            "energy Wh": [tally.joules / 3600 for tally in story.tallies],
            "grams CO2e": [tally.grams_co2e for tally in story.tallies],
            "saved seconds": [tally.saved_seconds for tally in story.tallies],
            "saved Wh": [tally.saved_joules / 3600 for tally in story.tallies],
            "saved grams CO2e": [tally.saved_grams for tally in story.tallies],
        }
    )


def usual_speed(seconds: float) -> float:
    """The factor at which so many seconds take about twelve."""
    return min(_FACTORS, key=lambda factor: abs(seconds / factor - _GOAL_SECONDS))


def _first(runs: list[Known]) -> Known:
    """A typical one: of those that have stopped, the one with the median share of time saved.

    Of the recorded ones where there are any, for they need not be read.
    """
    read = [run for run in runs if isinstance(run, Run)] or list(map(whole, runs))
    stopped = [run for run in read if run.folds and run.stopped_at is not None] or read
    return sorted(stopped, key=lambda run: (_saved_share(run), run_title(run)))[len(stopped) // 2]


def _saved_share(run: Run) -> float:
    last = story_of(run, ()).tallies[-1]
    return last.saved_seconds / last.seconds if last.seconds else 0.0


def _again(story: Story) -> None:
    data = race_data(story, NAME)
    total = story.tallies[-1].seconds
    usual = usual_speed(total)
    _race(key="race-lanes", data=data)
    player(
        NAME,
        version=story.run.run_id,
        texts=data["verdicts"],
        seconds=data["seconds"],
        speeds=[(f"{factor:g} x real time", factor) for factor in _around(usual)],
        speed=usual,
        step=asked_step(story.k),
        label="Folds of the k-fold lane",
    )
    ran = "" if story.complete else " Dashed folds never ran; they are estimated."
    st.caption(
        f"{glossary_link('fold', 'Folds')} are as wide as the time they took: "
        f"{duration(total)} for all {story.k}.{ran} "
        + (
            source_sentence(story.run.folds[-1].energy.source)
            if story.metered
            else "No energy was recorded for this run, so only time is counted."
        )
    )
    energy_bar(story.run.folds, left_in_words([story.run]))
    _data(story)
    equivalents_panel(story)


def _around(usual: float) -> list[float]:
    at = _FACTORS.index(usual)
    return sorted({*_FACTORS[max(at - 2, 0) : at + 3], 1.0})


def _data(story: Story) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Replay it fold by fold",
            icon=":material/replay:",
            key="to-replay",
            type="tertiary",
            on_click=show_view,
            args=(FOLD_BY_FOLD,),
        )
        copy_link({"run": story.run.run_id})
    chart_table(
        lambda: race_frame(story),
        key="race",
        name=f"race of {run_name(story.run)}",
        alt=f"The race of {run_title(story.run)}.",
    )
    _still(story)


def _still(story: Story) -> None:
    """The lanes at the end of the race as a figure, which can be saved; made only when opened."""
    box = st.expander(
        "The race as a picture, to save",
        icon=":material/image:",
        key="race-still",
        on_change="rerun",
    )
    if not box.open:
        return
    from ecv_core.figures.race import HEIGHT, race_figure, race_lanes

    with box:
        frame = race_frame(story)
        plot(
            lambda dark: race_figure(race_lanes(frame), dark=dark),
            version=(story.run.run_id, len(story.run.folds)),
            key="race-picture",
            alt=f"The race of {run_title(story.run)}. {verdict(story, story.k)}",
            height=HEIGHT,
            name=f"race of {run_name(story.run)}",
        )


def _live(run_id: str) -> None:
    with sentences():
        run = store().run(run_id)
        if not run.state.active:
            st.rerun()  # the whole page: from now on it can be played again
        story = story_of(run, run.moments)
        done = len(run.folds)
        elapsed, part = None, 0.0
        if run.progress is not None:
            elapsed = max((datetime.now(UTC) - run.progress.started_at).total_seconds(), 0.0)
            part = run.progress.step / run.progress.steps if run.progress.steps else 0.0
        expected = story.tallies[-1].seconds / story.k if done else None
        live = {"done": done, "elapsed": elapsed, "expected": expected, "part": part}
        st.badge("live", icon=":material/sensors:", color="blue")
        _race(key="race-live", data=race_data(story, NAME) | {"live": live})
        if not run.spec.full:
            st.caption(
                "This run ends where its rule says stop; what it saves is then estimated. Start a "
                "run with **Go on to k after the stop** for a race to the end."
            )
        elif run.queue_position:
            st.caption(f"It waits for {run.queue_position} runs before it.")
