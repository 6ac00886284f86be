"""A run told again: the sentence of the moment, its numbers, figure 1 up to it, the controls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from ecv_core.analysis.replay import explanations
from ecv_core.energy.savings import energy_of
from ecv_core.figures.efold import efold_frame
from ecv_core.figures.efold_plot import efold_figures, efold_steps
from ecv_core.figures.threshold import PICTURES
from ecv_core.figures.words import (
    alpha_text,
    metric_label,
    processor_sentence,
    rule_words,
    run_name,
    run_title,
)
from ecv_core.records.run import RunRecord
from ecv_core.stopping import PAPERS_RULE, RULES
from pages.replay.choice import ALPHA, ORDER, ChosenReplay, alpha_of, settings
from pages.shared.address.link import write_into_link
from pages.shared.address.navigation import RACE, show_view
from pages.shared.address.present import present_button, presenting
from pages.shared.charts.player import asked_step, player
from pages.shared.charts.plot import plot
from pages.shared.live.runs import source_sentence
from pages.shared.live.state import escaped
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.sliders import numbers

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

NAME = "replay"
_SECONDS = 1.2
_BEGIN = 2
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


def replay(beside_title: DeltaGenerator) -> None:
    """Everything below the title, and beside it the way to the presentation.

    Raises: EcvError for a run or setting that cannot be played.
    """
    chosen = settings()
    if chosen is None:
        return
    with beside_title:
        present_button()
    with st.container(key="presented-replay"):
        if presenting():  # whoever comes late sees what is shown
            st.markdown(
                f"**{escaped(run_title(chosen.run))}**, {escaped(metric_label(chosen.spec))}, "
                f"{rule_words(chosen.spec)}"
            )
        else:
            controls(chosen)
        with st.container(key="replay-moment"):
            numbers(NAME, key="replay-sentence", sentences=explanations(chosen.played))
        figure(chosen)
        if presenting():
            controls(chosen)
    _around(chosen)
    _deciding(chosen)


def figure(chosen: ChosenReplay) -> None:
    """Figure 1, drawn to the moment on axes that do not move."""
    type_scale = _TYPE_SCALE if presenting() else 1.0
    run, spec, played = chosen.run, chosen.spec, chosen.played
    metric = metric_label(spec)

    steps = efold_steps(
        played.moments,
        k=played.k,
        metric=metric,
        stopped_at=played.stopped_at,
        title=run_title(run),
    )
    plot(
        lambda dark: efold_figures(
            played.moments,
            k=played.k,
            metric=metric,
            stopped_at=played.stopped_at,
            confidence=spec.confidence,
            dark=dark,
            height=_HEIGHT,
            type_scale=type_scale,
        ),
        # Not the alpha: only its stop is in the figure, and most moves of the slider keep it.
        version=(run.run_id, len(run.folds), spec.rule, played.stopped_at, chosen.seed, type_scale),
        key="replay-figure",
        alt=steps.alts[-1],
        slider=NAME,
        steps=lambda: steps,
        name=f"replay of {run_name(run)}",
        table=lambda: efold_frame(played.moments, played.stopped_at),
    )


def controls(chosen: ChosenReplay) -> None:
    """Play, step, scrub."""
    played = chosen.played
    count = len(played.moments)
    stop = played.stopped_at
    player(
        NAME,
        version=chosen.run.run_id,
        texts=explanations(played),
        seconds=[_SECONDS] * count,
        speeds=SPEEDS,
        speed=1.0,
        step=asked_step(count, min(_BEGIN, count)),
        pauses=[stop] if stop is not None and stop < count else [],
        label="Folds seen",
    )


def _as_told(chosen: ChosenReplay) -> dict[str, str]:
    """What the address needs to tell the run as it is told here."""
    told = {"run": chosen.run.run_id, ORDER: str(chosen.seed)}
    if chosen.spec.rule != PAPERS_RULE:
        return told
    return told | {ALPHA: alpha_text(alpha_of(chosen.spec))}


def _around(chosen: ChosenReplay) -> None:
    """Where to go from here."""
    run, played = chosen.run, chosen.played

    st.button(
        "Race it against k-fold",
        icon=":material/flag:",
        key="to-race",
        type="tertiary",
        on_click=show_view,
        args=(RACE,),
    )
    write_into_link(_as_told(chosen))
    order = " ".join(str(fold.fold) for fold in played.folds)
    how = "as it ran" if chosen.seed == 0 else f"shuffled with seed {chosen.seed}"
    st.caption(
        f"{glossary_link('order', 'Order')} of the {glossary_link('fold', 'folds')}: {order} "
        f"({how}). {_rest_words(run)}{source_sentence(energy_of(run).source)} "
        f"{processor_sentence(energy_of(run))}"
    )


def _deciding(chosen: ChosenReplay) -> None:
    """The picture that explains the decisions, where the rule names one."""
    spec, played = chosen.spec, chosen.played
    rule = RULES[spec.rule]
    if rule.picture not in PICTURES or rule.watched is None:
        return
    with st.expander(f"What decides: {rule.watched.label.lower()}", icon=":material/rule:"):
        plot(
            lambda dark: PICTURES[rule.picture](played.moments, spec, dark=dark),
            version=(chosen.run.run_id, len(played.moments), spec.to_json(), chosen.seed),
            key="replay-deciding",
            alt=f"{rule.watched.label} after each fold. {rule.watched.help}",
            name=f"what decides in {run_name(chosen.run)}",
        )


def _rest_words(run: RunRecord) -> str:
    """That folds never ran, where they did not."""
    if run.complete or run.state.active:
        return ""
    why = ": its rule ended it" if run.stopped_early and not run.checked else ""
    return f"Only {len(run.folds)} of {run.k} folds ran{why}. "
