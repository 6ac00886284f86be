"""A selection as lanes: its sentence, the rounds to play, what each took."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from ecv_core.analysis.selection import Played, Terms
from ecv_core.analysis.selection.contenders import contender_title
from ecv_core.analysis.selection.document import (
    Cost,
    costs,
    lanes,
    step_sentences,
    verdict_sentence,
    winner_mean,
)
from ecv_core.energy.parts import left_in_words
from ecv_core.figures.report.describe import Description, describe_selection
from ecv_core.figures.report.pictures import intervals_picture
from ecv_core.figures.selection import selection_figures, selection_steps
from ecv_core.figures.words import dataset_title, metric_label
from ecv_core.records.run import Run, Scores
from ecv_core.records.spec import RunSpec
from pages.shared.address.present import present_button
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.player import asked_step, player
from pages.shared.charts.plot import plot
from pages.shared.live.state import escaped
from pages.shared.widgets.cite import for_paper, made_with
from pages.shared.widgets.sliders import numbers, slider_watch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "selection"
_SECONDS = 1.6
_SPEEDS = [("slow, 3.2 s a round", 0.5), ("normal, 1.6 s", 1.0), ("fast, 0.8 s", 2.0)]
_STYLE = """
<style>
.st-key-best-moment .ecv-sentence { min-height: 2.8em; margin: 0; }
.st-key-best-verdict p { font-size: 1.35rem; line-height: 1.35; }
</style>
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A selection as far as it has come."""

    contenders: Sequence[Scores]
    terms: Terms
    played: Played
    version: Hashable
    """Of what it was made from."""
    specs: Sequence[RunSpec] = ()
    """Of the contenders; none for scores from a file."""
    runs: Sequence[Run] = ()
    """Whose folds these are, where they are kept."""
    file: str = ""
    """Name of the file of scores."""
    replayed: bool = True
    """Whether all folds were there before."""

    @property
    def titles(self) -> list[str]:
        """Of the contenders, as people read them; a file's are as they stand there."""
        return [contender_title(one.name) if self.specs else one.name for one in self.contenders]

    @property
    def on(self) -> str:
        """Title of the dataset; empty where it is not known."""
        return dataset_title(self.specs[0].dataset) if self.specs else ""

    @property
    def metric(self) -> str:
        """As people read it; empty where it is not known."""
        return metric_label(self.specs[0]) if self.specs else ""

    @property
    def decided(self) -> bool:
        """Whether the answer is there."""
        return self.played.rounds[-1].decided

    def cost(self) -> list[Cost]:
        """At each step."""
        return costs(self.contenders, self.played.rounds, self.played.joules_of_all_folds)


def show(
    chosen: Shown,
    *,
    autoplay: bool = False,
    slider: bool = False,
    then: Callable[[], None] | None = None,
) -> None:
    """The verdict, the controls, what happened in the round, the lanes, the cost.

    Args:
        chosen: with at least one round.
        autoplay: whether it begins to play at once; else it stands at its last round.
        slider: a slider alone instead of the player, whose keys a page may want for itself.
        then: draws the way to the next question, once it is decided.
    """
    st.html(_STYLE)
    with st.container(key="presented-verdict"), st.container(key="best-verdict"):
        st.markdown(f"**{escaped(sentence_of(chosen))}**")
    if then and chosen.decided:
        then()
    said = step_sentences(chosen.titles, chosen.terms, chosen.played.rounds)
    with st.container(key="presented-lanes"):
        _lanes_played(chosen, said, autoplay=autoplay, slider=slider)
    if not slider:
        present_button()
    energy_bar((fold for run in chosen.runs for fold in run.folds), left_in_words(chosen.runs))
    if chosen.decided:
        _for_paper(chosen)


def _lanes_played(chosen: Shown, said: Sequence[str], *, autoplay: bool, slider: bool) -> None:
    count = len(chosen.played.rounds)
    if slider:
        _slider(count)
    else:
        asked = "fold" in st.query_params
        player(
            NAME,
            version=repr(chosen.version),
            texts=said,
            seconds=[_SECONDS] * (count + 1),
            speeds=_SPEEDS,
            speed=1.0,
            step=asked_step(count, 0 if autoplay else count),
            unit="round",
            label="Rounds seen",
            autoplay=autoplay and not asked,
        )
    with st.container(key="best-moment"):
        numbers(NAME, key="best-sentence", labels=[], values=[], notes=[], sentences=said)
    _figure(chosen, said)


def _for_paper(chosen: Shown) -> None:
    def make() -> Description:
        return describe_selection(
            chosen.contenders,
            chosen.titles,
            chosen.terms,
            chosen.played,
            specs=chosen.specs,
            file=chosen.file,
            made_with=made_with(chosen.runs) if chosen.runs or chosen.file else {},
            replayed=chosen.replayed,
        )

    def picture() -> Figure:
        rows = _lanes(chosen)
        rows = rows.assign(name=rows["contender"], mean=rows["behind"])
        last = rows[rows["step"] == rows["step"].max()]
        return intervals_picture(last, "behind the leader, % of its mean")

    on = f" on {chosen.on}" if chosen.on else ""
    for_paper(
        make,
        key="best",
        pictures={"Contenders": picture},
        title=f"Which is best{on}",
        specs=chosen.specs,
    )


def _slider(count: int) -> None:
    with st.container(key="best-slider"):
        step = st.slider("Folds seen", 0, count, 1, key="best-round")
        slider_watch(NAME, container="best-slider", step=int(step))


def sentence_of(chosen: Shown) -> str:
    """What was found, or what is known so far."""
    played, cost = chosen.played, chosen.cost()[-1]
    leader = chosen.contenders[played.rounds[-1].leader]
    return verdict_sentence(
        chosen.titles,
        chosen.terms,
        played.verdict,
        played.rounds,
        played.folds_used,
        mean=winner_mean(leader, played.rounds, played.rounds[-1].leader),
        on=chosen.on,
        energy=None if cost.joules is None else cost.share,
    )


def _figure(chosen: Shown, said: Sequence[str]) -> None:
    played = chosen.played
    titles = [title.replace("<", "&lt;") for title in chosen.titles]  # Plotly reads tags
    frame = _lanes(chosen, titles)
    steps = selection_steps(frame, said)

    def make(dark: bool) -> list[go.Figure]:
        return selection_figures(frame, dark=dark)

    name = f"which is best on {chosen.on}" if chosen.on else "which is best"
    plot(
        make,
        version=(repr(chosen.version), repr(chosen.terms), len(played.rounds)),
        key="best-lanes",
        alt=steps.alts[-1],
        slider=NAME,
        steps=lambda: steps,
        name=name,
        table=lambda: frame,
    )


def _lanes(chosen: Shown, titles: Sequence[str] = ()) -> pd.DataFrame:
    verdict = chosen.played.verdict if chosen.decided else None
    titles = titles or chosen.titles
    return lanes(chosen.contenders, titles, chosen.terms, chosen.played.rounds, verdict)
