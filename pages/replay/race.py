"""The race: two lanes over the same folds, live or played again, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from math import floor, log10
from typing import Any

import pandas as pd
import streamlit as st

from ecv_core.energy.parts import left_in_words
from ecv_core.energy.savings import Tally, energy_of, tallies
from ecv_core.figures.words import (
    ESTIMATED_DIGITS,
    duration,
    half_named,
    metric_label,
    processor_sentence,
    run_name,
    run_title,
)
from ecv_core.records.run import Run, RunState
from ecv_core.stopping import difference_percent
from pages.replay.at_scale import at_scale_panel
from pages.replay.choice import choose_run
from pages.shared.address.link import link_has
from pages.shared.address.navigation import FOLD_BY_FOLD, show_view
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.player import asked_step, player
from pages.shared.live.events import RUNS, STEPS, topic
from pages.shared.live.runs import Known, source_sentence, whole
from pages.shared.live.state import manager, sentences, store
from pages.shared.live.watch import follow
from pages.shared.widgets.component import component
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.tables import chart_table

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
        _again(story_of(run))
    at_scale_panel(run)


def race_frame(story: Story) -> pd.DataFrame:
    """One row per fold of the k-fold lane: what it has spent, and what stopping has saved."""
    stop = story.run.stopped_at
    return pd.DataFrame(
        {
            "n": [tally.n for tally in story.tallies],
            "e-fold goes on": [stop is None or tally.n < stop for tally in story.tallies],
            "ran": [tally.ran for tally in story.tallies],
            "mean": [None, *(m.mean for m in story.run.moments)]
            + [None] * (len(story.tallies) - 1 - len(story.run.moments)),
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
    last = story_of(run).tallies[-1]
    return last.saved_seconds / last.seconds if last.seconds else 0.0


def play_race(story: Story, *, autoplay: bool = False) -> None:
    """The lanes of a finished run, and the controls that play them."""
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
        step=asked_step(story.run.k),
        label="Folds of the k-fold lane",
        autoplay=autoplay,
    )


def _again(story: Story) -> None:
    play_race(story)
    total = story.tallies[-1].seconds
    ran = "" if story.run.complete else " Dashed folds never ran; they are estimated."
    st.caption(
        f"{glossary_link('fold', 'Folds')} are as wide as the time they took: "
        f"{duration(total)} for all {story.run.k}.{ran} "
        + (
            source_sentence(energy_of(story.run).source)
            if story.metered
            else "No energy was recorded for this run, so only time is counted."
        )
        + f" {processor_sentence(energy_of(story.run))}"
    )
    energy_bar(story.run.folds, left_in_words([story.run]))
    _data(story)


def _around(usual: float) -> list[float]:
    at = _FACTORS.index(usual)
    return sorted({*_FACTORS[max(at - 2, 0) : at + 3], 1.0})


def _data(story: Story) -> None:
    st.button(
        "Replay it fold by fold",
        icon=":material/replay:",
        key="to-replay",
        type="tertiary",
        on_click=show_view,
        args=(FOLD_BY_FOLD,),
    )
    link_has({"run": story.run.run_id})
    chart_table(
        lambda: race_frame(story),
        key="race",
        name=f"race of {run_name(story.run)}",
        alt=f"The race of {run_title(story.run)}.",
    )


def _live(run_id: str) -> None:
    with sentences():
        run = store().run(run_id)
        if not run.state.active:
            st.rerun()  # the whole page: from now on it can be played again
        story = story_of(run)
        done = len(run.folds)
        elapsed, part = None, 0.0
        if run.progress is not None:
            elapsed = max((datetime.now(UTC) - run.progress.started_at).total_seconds(), 0.0)
            part = run.progress.step / run.progress.steps if run.progress.steps else 0.0
        expected = story.tallies[-1].seconds / story.run.k if done else None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Everything that the race of one run shows."""

    run: Run
    tallies: Sequence[Tally]
    """From before the first fold to the k-th, those that never ran at the mean of those that did;
    only the first while no fold is finished."""

    @property
    def metered(self) -> bool:
        """Whether the energy of every fold is known."""
        return bool(self.run.folds) and all(f.energy.source != "none" for f in self.run.folds)

    @property
    def difference(self) -> float | None:
        """The paper's d between the mean at the stop and that of all folds; None if unknown."""
        at, whole = self.run.at_stop, self.run.k_fold_mean
        return difference_percent(at.mean, whole) if at and whole is not None else None


def story_of(run: Run) -> Story:
    """The race of a run, finished or going on."""
    return Story(run=run, tallies=tallies(run.folds, run.k, run.stopped_at))


def race_data(story: Story, slider: str) -> dict[str, Any]:
    """What lanes.js draws."""
    told = _padded(story.tallies, story.run.k)
    steps = range(story.run.k + 1)
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
                "end": story.run.stopped_at,
                "says": [_e_fold_says(story, told, n) for n in steps],
            },
            {
                "name": f"{story.run.k}-fold",
                "end": story.run.k if len(story.run.folds) or not story.run.state.active else None,
                "says": [_k_fold_says(story, told, n) for n in steps],
            },
        ],
        "counters": _counters(story, told),
        "verdicts": [verdict(story, n) for n in steps],
    }


def verdict(story: Story, n: int) -> str:
    """The sentence below the lanes after n folds of the k-fold lane."""
    stop, k = story.run.stopped_at, story.run.k
    if n == 0 and story.run.state is RunState.QUEUED:
        return "On the starting line: the run is queued."
    if n == 0:
        return "Both run the same folds; only one of them may stop."
    if stop is None or n < stop:
        return "Neck and neck: both have the same folds so far, and the same score."
    if stop == k:
        return f"The rule never said stop early: e-fold used all {k} folds and saved nothing."
    at = story.run.moments[stop - 1].mean
    if n < k:
        return f"e-fold is done with {at:.4f}; what {k}-fold still spends is saved."
    if story.difference is None:
        return (
            f"The {k}-fold mean is not known: folds {len(story.run.folds) + 1} to {k} never ran. "
            "Their time and energy are estimated at the mean of those that did."
        )
    share = 100 * story.tallies[stop].seconds / max(story.tallies[-1].seconds, 1e-9)
    return (
        f"The score of {stop} folds differs by {story.difference:.2f} % from that of all {k}, "
        f"for {share:.0f} % of the time."
    )


def _padded(told: Sequence[Tally], k: int) -> list[Tally]:
    """Lanes of equal folds while nothing is known of any."""
    if len(told) == k + 1:
        return list(told)
    zero = told[0]
    return [
        Tally(
            n=n,
            seconds=float(n),
            joules=0.0,
            grams_co2e=0.0,
            saved_seconds=0.0,
            saved_joules=0.0,
            saved_grams=0.0,
            ran=False,
        )
        if n
        else zero
        for n in range(k + 1)
    ]


def _e_fold_says(story: Story, told: Sequence[Tally], n: int) -> str:
    stop = story.run.stopped_at
    if stop is not None and n >= stop:
        moment = story.run.moments[stop - 1]
        half = half_named(moment.interval, story.run.k)
        label = metric_label(story.run.spec)
        how = "stopped" if stop < story.run.k else "never stopped early, done"
        after = f"{how} after {stop} folds, {duration(told[stop].seconds)}"
        return f"{after}: {label} {moment.mean:.4f}{f', {half}' if half else ''}"
    return _running(story, n)


def _k_fold_says(story: Story, told: Sequence[Tally], n: int) -> str:
    if n < story.run.k:
        return _running(story, n)
    if not story.run.complete:
        return f"would be done after about {duration(told[-1].seconds)}: its mean is not known"
    label = metric_label(story.run.spec)
    return (
        f"done after all {story.run.k} folds, {duration(told[-1].seconds)}: "
        f"{label} {story.run.moments[-1].mean:.4f}"
    )


def _running(story: Story, n: int) -> str:
    if n >= len(story.run.moments) and story.run.state.active:
        return f"running fold {min(n + 1, story.run.k)} of {story.run.k}"
    mean = f", mean {story.run.moments[n - 1].mean:.4f}" if 0 < n <= len(story.run.moments) else ""
    return f"{n} of {story.run.k} folds{mean}"


def _counters(story: Story, told: Sequence[Tally]) -> list[dict[str, Any]]:
    found = []
    if story.metered:
        found.append(_counter("Energy saved", "Wh", [t.saved_joules / 3600 for t in told]))
        found.append(_counter("Emissions saved", "g", [t.saved_grams for t in told], " CO2e"))
    found.append(_time_counter([t.saved_seconds for t in told]))
    return found


def _counter(label: str, unit: str, values: list[float], of: str = "") -> dict[str, Any]:
    """One unit for the whole race, so that the number can run without jumping."""
    if 0 < values[-1] < 0.1:
        unit, values = f"m{unit}", [1000 * value for value in values]
    return {
        "label": label,
        "unit": unit + of,
        "values": values,
        "decimals": _decimals(values[-1], ESTIMATED_DIGITS),
    }


def _time_counter(values: list[float]) -> dict[str, Any]:
    unit, per = ("min", 60.0) if values[-1] >= 60 else ("s", 1.0)
    return _counter_of("Time saved", unit, [value / per for value in values])


def _counter_of(label: str, unit: str, values: list[float]) -> dict[str, Any]:
    return {"label": label, "unit": unit, "values": values, "decimals": _decimals(values[-1])}


def _decimals(most: float, significant: int = 3) -> int:
    """So many significant digits of the last value."""
    return min(max(significant - 1 - floor(log10(most)), 0), 6) if most > 0 else 1
