"""A run told again: the sentence of the moment, its numbers, figure 1 up to it, the controls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go
import streamlit as st

from ecv_core.analysis.replay import explanations
from ecv_core.energy.savings import energy_of
from ecv_core.figures.decisions import PICTURES
from ecv_core.figures.efold import efold_frame
from ecv_core.figures.efold_plot import efold_figures, efold_steps
from ecv_core.figures.words import (
    alpha_text,
    metric_label,
    processor_sentence,
    rule_words,
    run_name,
    run_title,
    small_number,
    watt_hours,
)
from ecv_core.records.parameters import Parameter
from ecv_core.records.run import Run
from ecv_core.stopping import PAPERS_RULE, RULES
from pages.replay.choice import ALPHA, ORDER, ChosenReplay, alpha_of, from_address, settings
from pages.shared.address.link import link_has
from pages.shared.address.navigation import RACE, show_view
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
_STYLE = """
<style>
.st-key-replay-moment .ecv-sentence { min-height: 2.8em; margin: 0; }
.st-key-replay-row .ecv-sentence { display: none; }
</style>
"""


def replay(beside_title: DeltaGenerator) -> None:
    """Everything below the title, and beside it the way to the presentation.

    Raises: EcvError for a run or setting that cannot be played.
    """
    chosen = settings()
    if chosen is None:
        return
    st.html(_STYLE)
    with beside_title:
        _present_button()
    controls(chosen)
    with st.container(key="replay-moment"):
        moment_sentence(chosen)
    figure(chosen, height=_HEIGHT, with_table=True)
    with st.container(key="replay-row"):
        _moment_numbers(chosen)
    _around(chosen)
    _deciding(chosen)


def moment_sentence(chosen: ChosenReplay) -> None:
    """What explains the moment."""
    said = explanations(chosen.played)
    numbers(NAME, key="replay-sentence", sentences=said)


def _moment_numbers(chosen: ChosenReplay) -> None:
    labels, values, notes = _row(chosen)  # the sentence is above the figure
    numbers(NAME, key="replay-numbers", labels=labels, values=values, notes=notes)


def figure(
    chosen: ChosenReplay, *, height: int, type_scale: float = 1.0, with_table: bool = False
) -> None:
    """Figure 1, drawn to the moment on axes that do not move."""
    run, spec, played = chosen.run, chosen.spec, chosen.played
    metric = metric_label(spec)

    def make(dark: bool) -> list[go.Figure]:
        return efold_figures(
            played.moments,
            k=played.k,
            metric=metric,
            stopped_at=played.stopped_at,
            confidence=spec.confidence,
            dark=dark,
            height=height,
            type_scale=type_scale,
        )

    steps = efold_steps(
        played.moments,
        k=played.k,
        metric=metric,
        stopped_at=played.stopped_at,
        title=run_title(run),
    )
    plot(
        make,
        # Not the alpha: only its stop is in the figure, and most moves of the slider keep it.
        version=(
            run.run_id,
            len(run.folds),
            spec.rule,
            played.stopped_at,
            chosen.seed,
            height,
            type_scale,
        ),
        key="replay-figure",
        alt=steps.alts[-1],
        slider=NAME,
        steps=lambda: steps,
        name=f"replay of {run_name(run)}",
        table=(lambda: efold_frame(played.moments, played.stopped_at)) if with_table else None,
    )


def controls(chosen: ChosenReplay, *, present: bool = False) -> bool:
    """Play, step, scrub; True when someone leaves the presentation."""
    played = chosen.played
    count = len(played.moments)
    stop = played.stopped_at
    return player(
        NAME,
        version=chosen.run.run_id,
        texts=explanations(played),
        seconds=[_SECONDS] * count,
        speeds=SPEEDS,
        speed=1.0,
        step=asked_step(count, min(_BEGIN, count)),
        pauses=[stop] if stop is not None and stop < count else [],
        label="Folds seen",
        present=present,
    )


def _row(chosen: ChosenReplay) -> tuple[list[tuple[str, str]], list[list[str]], list[list[str]]]:
    """Labels, and per moment the numbers and their notes."""
    spec, played = chosen.spec, chosen.played
    metered = all(fold.energy.source != "none" for fold in played.folds)
    labels = [
        (f"Mean {metric_label(spec)}", "Of the folds so far."),
        ("Interval width", f"Of the {100 * spec.confidence:g} % interval of the mean."),
    ]
    rule = RULES[spec.rule]
    deciding: Sequence[float | None] = ()
    if (watched := rule.watched) is not None:
        deciding = watched.of(played.moments)
        labels.append((watched.label, watched.help))
    labels.append(("Energy so far" if metered else "Time so far", "Of the folds so far."))
    values, notes = [["-"] * len(labels)], [[""] * len(labels)]
    spent, before = 0.0, None
    for at, (moment, fold) in enumerate(zip(played.moments, played.folds, strict=True)):
        width = moment.interval.width if moment.interval else None
        spent += fold.energy.joules if metered else fold.total_seconds
        value = [f"{moment.mean:.4f}", "-" if width is None else f"{width:.4f}"]
        note = [f"this fold {moment.score:.4f}", "" if before is None else f"{before:.4f} before"]
        if rule.axis is not None and deciding:
            number = deciding[at]
            value.append("-" if number is None else rule.axis.text(float(f"{number:.2e}")))
            note.append(_against(number, rule.axis, rule.values(spec)[rule.axis.name]))
        value.append(watt_hours(spent) if metered else f"{small_number(spent)} s")
        note.append(f"{moment.n} of {played.k} folds")
        values.append(value)
        notes.append(note)
        before = width
    return labels, values, notes


def _against(number: float | None, axis: Parameter, limit: float) -> str:
    words = axis.in_words(limit)
    if number is None:
        return words
    return f"{'≤' if number <= limit else '>'} {words}"


def _as_told(chosen: ChosenReplay) -> dict[str, str]:
    """What the address needs to tell the run as it is told here."""
    told = {"run": chosen.run.run_id, ORDER: str(chosen.seed)}
    if chosen.spec.rule != PAPERS_RULE:
        return told
    return told | {ALPHA: alpha_text(alpha_of(chosen.spec))}


def _present_button() -> None:
    def present() -> None:
        st.query_params["present"] = "1"

    st.button(
        "Present",
        icon=":material/present_to_all:",
        key="present",
        on_click=present,
        help="Large type, only the figure and the sentence; F makes it full screen, Esc leaves it.",
    )


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
    link_has(_as_told(chosen))
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


def _rest_words(run: Run) -> str:
    """That folds never ran, where they did not."""
    if run.complete or run.state.active:
        return ""
    why = ": its rule ended it" if run.stopped_early and not run.checked else ""
    return f"Only {len(run.folds)} of {run.k} folds ran{why}. "


_PRESENT_HEIGHT = 488
_TYPE_SCALE = 1.35
_PRESENT_STYLE = """
<style>
[data-testid="stHeader"] { display: none; }
.st-key-replay-settings:not(:has([data-testid="stAlert"])) { display: none; }
[data-testid="stMainBlockContainer"] { padding: 0.75rem 1.5rem 0; zoom: var(--ecv-zoom, 1); }
[data-testid="stMainBlockContainer"] .ecv-sentence {
  font-size: 1.9rem; line-height: 1.3; min-height: 3.9em; margin: 0; font-weight: 500;
}
.st-key-replay-told p { font-size: 1.35rem; line-height: 1.3; margin: 0 0 0.5rem; }
</style>
"""


def presenting() -> bool:
    """Whether the address asks for the presentation."""
    return st.query_params.get("present", "") not in ("", "0", "false")


def presentation() -> None:
    """Large type, only the figure and the sentence; goes back to the page when someone leaves it.

    Raises: EcvError for a run or setting that cannot be played.
    """
    chosen = from_address()
    if chosen is None:
        return
    st.html(_PRESENT_STYLE)
    spec = chosen.spec
    with st.container(key="replay-told"):  # whoever comes late sees what is shown
        st.markdown(
            f"**{escaped(run_title(chosen.run))}**, {escaped(metric_label(spec))}, "
            f"{rule_words(spec)}"
        )
    moment_sentence(chosen)
    figure(chosen, height=_PRESENT_HEIGHT, type_scale=_TYPE_SCALE)
    if controls(chosen, present=True):
        st.query_params.pop("present", None)
        st.rerun()
