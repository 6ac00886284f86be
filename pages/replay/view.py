"""A run told again: the sentence of the moment, its numbers, figure 1 up to it, the controls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from ecv_core.analysis.replay import explanations
from ecv_core.energy.savings import energy_of
from ecv_core.figures.efold import alt_text, history_of_replay
from ecv_core.figures.efold_plot import efold_figures, efold_steps
from ecv_core.figures.threshold import PICTURES
from ecv_core.figures.words import (
    alpha_text,
    joined,
    metric_label,
    processor_sentence,
    rule_words,
    run_name,
    run_title,
)
from ecv_core.records.run import RunRecord
from ecv_core.stopping import PAPERS_RULE, RULES
from pages.replay.choice import ALPHA, ORDER, ChosenReplay, alpha_of, pick_replay
from pages.shared.address.link import write_into_link
from pages.shared.address.navigation import RACE, show_view
from pages.shared.base.glossary import glossary_link
from pages.shared.base.present import draw_present_button, presenting
from pages.shared.charts.player import asked_step, draw_player
from pages.shared.charts.plot import plot
from pages.shared.charts.save_picture import save_picture
from pages.shared.live.runs import source_sentence
from pages.shared.live.state import escaped
from pages.shared.widgets.sliders import show_numbers_of_slider

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from ecv_core.figures.report.moving import MovingChart

_SLIDER = "replay"
_SECONDS = 1.2
_FOLDS_AT_START = 2
"""Folds shown at first: the first interval is there to look at, and the stop is still to come."""
SPEEDS = [
    ("slow, 2.4 s a fold", 0.5),
    ("normal, 1.2 s", 1.0),
    ("fast, 0.6 s", 2.0),
    ("very fast, 0.3 s", 4.0),
]
_HEIGHT = 400
_TYPE_SCALE = 1.2
"""In a presentation."""


def show_replay(beside_title: DeltaGenerator) -> None:
    """Everything below the title, and beside it the way to the presentation.

    Args:
        beside_title: Where the button of the presentation is.

    Raises:
        EcvError: If the run or a setting cannot be played.
    """
    chosen = pick_replay()
    if chosen is None:
        return
    with beside_title:
        draw_present_button()
    with st.container(key="presented-replay"):
        # The title of the page is hidden in a presentation, so this says which run is shown.
        if presenting():
            st.markdown(
                f"**{escaped(run_title(chosen.run))}**, {escaped(metric_label(chosen.spec))}, "
                f"{rule_words(chosen.spec)}"
            )
        else:
            draw_controls(chosen)
        with st.container(key="replay-moment"):
            show_numbers_of_slider(
                _SLIDER, key="replay-sentence", sentences=explanations(chosen.replayed_run)
            )
        draw_figure(chosen)
        if presenting():
            draw_controls(chosen)
    _show_ways_on(chosen)
    _draw_decisions(chosen)


def draw_figure(chosen: ChosenReplay) -> None:
    """Figure 1, drawn to the moment on axes that do not move."""
    run = chosen.run
    spec = chosen.spec
    replayed_run = chosen.replayed_run
    type_scale = 1.0
    if presenting():
        type_scale = _TYPE_SCALE
    history = history_of_replay(spec, replayed_run, run_title(run))
    # The key lacks the alpha: the figure shows only where it stops, which most alphas share.
    cache_key = (
        run.run_id,
        len(run.folds),
        spec.rule,
        replayed_run.stopped_at,
        chosen.seed,
        type_scale,
    )
    plot(
        partial(efold_figures, history, height=_HEIGHT, type_scale=type_scale),
        cache_key=cache_key,
        key="replay-figure",
        alt=alt_text(history),
        slider_name=_SLIDER,
        steps=partial(efold_steps, history),
        name=f"replay of {run_name(run)}",
        table=history.frame,
    )


def draw_controls(chosen: ChosenReplay) -> None:
    """Play, step, scrub."""
    replayed_run = chosen.replayed_run
    folds = len(replayed_run.moments)
    pauses = []
    if replayed_run.stopped_at is not None and replayed_run.stopped_at < folds:
        pauses = [replayed_run.stopped_at]
    draw_player(
        _SLIDER,
        version=chosen.run.run_id,
        texts=explanations(replayed_run),
        seconds=[_SECONDS] * folds,
        speeds=SPEEDS,
        speed=1.0,
        step=asked_step(folds, min(_FOLDS_AT_START, folds)),
        pauses=pauses,
        label="Folds seen",
    )


def _show_ways_on(chosen: ChosenReplay) -> None:
    """The way to the race, and what is shown; the address of the page links to it from now on."""
    with st.container(horizontal=True):
        st.button(
            "Race it against k-fold",
            icon=":material/flag:",
            key="to-race",
            type="tertiary",
            on_click=show_view,
            args=(RACE,),
        )
        save_picture(
            partial(_moving_chart, chosen),
            name=f"replay of {run_name(chosen.run)}",
            key="replay",
            label="Save the replay",
        )
    params = {"run": chosen.run.run_id, ORDER: str(chosen.seed)}
    if chosen.spec.rule == PAPERS_RULE:
        params[ALPHA] = alpha_text(alpha_of(chosen.spec))
    write_into_link(params)
    st.caption(_caption(chosen))


def _caption(chosen: ChosenReplay) -> str:
    """The order of the folds, what bands are, and how the energy is known, as Markdown."""
    origin_of_order = "as it ran"
    if chosen.seed:  # seed 0 stands for the order in which the folds ran
        origin_of_order = f"shuffled with seed {chosen.seed}"
    order = " ".join(str(fold.fold + 1) for fold in chosen.replayed_run.folds)
    facts = energy_of(chosen.run)
    order_words = f"{glossary_link('order', 'Order')} of the {glossary_link('fold', 'folds')}"
    bands = f"Bands are {glossary_link('confidence-interval', 'intervals')} of these folds."
    return joined(
        f"{order_words}: {order} ({origin_of_order}).",
        bands,
        _missing_folds_words(chosen.run),
        source_sentence(facts.source),
        processor_sentence(facts),
    )


def _moving_chart(chosen: ChosenReplay) -> MovingChart:
    from ecv_core.figures.report.moving import moving_replay

    return moving_replay(chosen.spec, chosen.replayed_run, run_title(chosen.run))


def _missing_folds_words(run: RunRecord) -> str:
    """How many folds ran, and why not all; empty where all did, or still may."""
    if run.complete or run.state.active:
        return ""
    reason = ""
    # A run that checks its stop goes on after it, so that its stop is not why folds are missing.
    if run.stopped_early and not run.checked:
        reason = ", as its rule stopped it"
    return f"Only {len(run.folds)} of {run.k} folds ran{reason}."


def _draw_decisions(chosen: ChosenReplay) -> None:
    """The picture that explains the decisions, where the rule names one."""
    rule = RULES[chosen.spec.rule]
    if rule.picture not in PICTURES or rule.watched is None:
        return
    draw = PICTURES[rule.picture]
    moments = chosen.replayed_run.moments
    with st.expander(f"What decides: {rule.watched.label.lower()}", icon=":material/rule:"):
        plot(
            partial(draw, moments, chosen.spec),
            cache_key=(chosen.run.run_id, len(moments), chosen.spec.to_json(), chosen.seed),
            key="replay-deciding",
            alt=f"{rule.watched.label} after each fold. {rule.watched.help}",
            name=f"what decides in {run_name(chosen.run)}",
        )
