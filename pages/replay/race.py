"""The race: two lanes over the same folds, live or played again, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from math import floor, log10
from typing import TYPE_CHECKING, Any

import streamlit as st

from ecv_core.energy.savings import Tally, energy_of, tallies
from ecv_core.figures.words import (
    ESTIMATED_DIGITS,
    counted,
    duration,
    half_named,
    metric_label,
    processor_sentence,
    run_title,
    saved_words,
)
from ecv_core.records.run import Run, RunState
from ecv_core.stopping import difference_percent
from pages.replay.at_scale import at_scale_panel
from pages.replay.choice import choose_run, usual_run
from pages.shared.address.link import link_has
from pages.shared.address.navigation import FOLD_BY_FOLD, show_view
from pages.shared.address.present import present_button, presenting
from pages.shared.charts.player import asked_step, player
from pages.shared.live.events import RUNS, STEPS, topic
from pages.shared.live.runs import source_sentence
from pages.shared.live.state import escaped, manager, sentences, store
from pages.shared.live.watch import follow
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
    run = choose_run(usual_run, active=True)
    if run is None:
        return
    manager()
    with beside_title:
        present_button()
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


def play_race(story: Story, *, autoplay: bool = False) -> None:
    """The lanes of a finished run, and the controls that play them."""
    data = race_data(story, NAME)
    usual = _digits(max(story.tallies[-1].seconds, 0.1) / _USUAL_SECONDS)
    factors = sorted({_digits(usual / 2), usual, _digits(2 * usual), 1.0})
    _race(key="race-lanes", data=data)
    player(
        NAME,
        version=story.run.run_id,
        texts=data["verdicts"],
        seconds=data["seconds"],
        speeds=[(f"{factor:g} x real time", factor) for factor in factors],
        speed=usual,
        step=asked_step(story.run.k),
        label="Folds of the k-fold lane",
        autoplay=autoplay,
    )


def _digits(factor: float) -> float:
    """With two significant digits."""
    return float(f"{factor:.2g}")


def _again(story: Story) -> None:
    with st.container(key="presented-race"):
        if presenting():
            st.markdown(f"**{escaped(run_title(story.run))}**")
        play_race(story)
    total, facts = story.tallies[-1].seconds, energy_of(story.run)
    ran = "" if story.run.complete else " Dashed folds never ran; they are estimated."
    st.caption(
        f"{glossary_link('fold', 'Folds')} are as wide as the time they took: "
        f"{duration(total)} for all {story.run.k}.{ran} "
        + (
            f"Energy saved: {saved_words(facts)}. {source_sentence(facts.source)}"
            if story.metered
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
    link_has({"run": story.run.run_id})


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
        with st.container(key="presented-race"):
            st.badge(f"live: {run_title(run)}", icon=":material/sensors:", color="blue")
            _race(key="race-live", data=race_data(story, NAME) | {"live": live})
        if not run.spec.full:
            st.caption(
                "This run ends where its rule says stop; what it saves is then estimated. Start a "
                "run with **Go on to k after the stop** for a race to the end."
            )
        elif run.queue_position:
            st.caption(f"It waits for {counted(run.queue_position, 'run')} before it.")


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
    return Story(run=run, tallies=tallies(run.folds, run.k))


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
    end, what = story.tallies[-1], "processor time"
    share = story.tallies[stop].processor_seconds / max(end.processor_seconds, 1e-9)
    if not end.processor_seconds:
        share, what = story.tallies[stop].seconds / max(end.seconds, 1e-9), "time"
    return (
        f"The score of {stop} folds differs by {story.difference:.2f} % from that of all {k}, "
        f"for {100 * share:.0f} % of the {what}."
    )


def _padded(told: Sequence[Tally], k: int) -> list[Tally]:
    """Lanes of equal folds while nothing is known of any."""
    if len(told) == k + 1:
        return list(told)
    return [Tally(n=n, seconds=float(n), ran=n == 0) for n in range(k + 1)]


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
    """What is saved by then, processor time first: other work beside it hardly changes that.

    Each in one unit for the whole race, so that the number can run without jumping; lanes.js writes
    seconds as time.
    """
    found: list[dict[str, Any]] = []
    if told[-1].processor_seconds:
        saved = _saved(story, told, "processor_seconds")
        found.append({"label": "Processor time saved", "values": saved})
    if story.metered:
        energy = [joules / 3600 for joules in _saved(story, told, "joules")]
        grams = _saved(story, told, "grams_co2e")
        for label, unit, values in (
            ("Energy saved", "Wh", energy),
            ("Emissions saved", "g CO2e", grams),
        ):
            if 0 < values[-1] < 0.1:
                unit, values = f"m{unit}", [1000 * value for value in values]
            decimals = _decimals(values[-1])
            found.append({"label": label, "unit": unit, "values": values, "decimals": decimals})
    return [*found, {"label": "Time saved", "values": _saved(story, told, "seconds")}]


def _saved(story: Story, told: Sequence[Tally], name: str) -> list[float]:
    """After each fold, what the folds after the stop cost by then; 0 while there is no stop."""
    costs = [float(getattr(tally, name)) for tally in told]
    stop = story.run.stopped_at
    return [max(cost - costs[-1 if stop is None else stop], 0.0) for cost in costs]


def _decimals(most: float) -> int:
    """As many as show the digits of the last value that are believed."""
    return min(max(ESTIMATED_DIGITS - 1 - floor(log10(most)), 0), 6) if most > 0 else 1
