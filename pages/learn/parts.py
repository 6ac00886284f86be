"""What several chapters share: the sentence to take home, the run that they follow, figure 1."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import plotly.graph_objects as go
import streamlit as st

from ecv_core.figures.efold import FoldHistory, alt_text
from ecv_core.figures.efold_plot import efold_figure
from ecv_core.figures.palette import FIGURE_1_SCALE
from ecv_core.figures.words import metric_label, run_title
from ecv_core.records.arrays import Floats
from ecv_core.records.run import Moment, RunRecord
from pages.learn.course import CHAPTERS
from pages.learn.material.recorded_runs import CONFIDENCE, complete_runs, guide_run, scores_of
from pages.shared.base.component import ComponentParts
from pages.shared.charts.plot import plot
from pages.shared.charts.save_picture import save_page, save_picture

if TYPE_CHECKING:
    from ecv_core.figures.report.moving import MakeFigures, MovingChart


def show_takeaway(text: str) -> None:
    """The lesson below a picture, in Markdown."""
    with st.container(key="learn-takeaway"):
        st.markdown(text)


class Guide(NamedTuple):
    """The recorded run that chapters follow."""

    run: RunRecord
    scores: Floats
    """One per fold; shape (k,)."""
    metric: str
    """What the scores are, as people read it."""

    @property
    def k(self) -> int:
        """How many folds it has."""
        return len(self.scores)

    @property
    def cache_key(self) -> Hashable:
        """Another for other scores: by it pages keep the figures of this run."""
        return (self.run.run_id, *self.scores.tolist())

    @property
    def note(self) -> str:
        """Where the numbers of a chapter come from."""
        spec = self.run.spec
        return f"A recorded run: {run_title(self.run)}, {spec.k} folds, seed {spec.seed}."


def guide() -> Guide:
    """The run that chapters follow.

    Raises:
        InputError: If there is no recorded run.
    """
    run = guide_run(complete_runs())
    return Guide(run, scores_of(run), metric_label(run.spec))


@dataclass(frozen=True)
class SliderNumbers:
    """What follows a slider; a row for each of its steps."""

    values: list[list[str]] = field(default_factory=list)
    notes: list[list[str]] = field(default_factory=list)
    """A smaller line below each number."""
    sentences: list[str] = field(default_factory=list)


_HEIGHT = 385


def save_chart(
    chapter: str,
    make: MakeFigures,
    *,
    subtitle: str,
    sentences: Sequence[str],
    step_names: Sequence[str] = (),
    initial_step: int = 0,
    animated: bool = True,
    least_width: int = 0,
) -> None:
    """A menu that saves a chapter's chart as files.

    Args:
        chapter: Its id.
        make: Gives a figure for each step.
        subtitle: The line below the title: what the numbers are, and of which run.
        sentences: What each step shows.
        step_names: What each step is called; none where its sentence says as much.
        initial_step: The step that a page shows at first.
        animated: Whether there are animated pictures of it.
        least_width: In pixels; on a narrower page the chart scrolls sideways.
    """
    title = CHAPTERS[chapter].question

    def chart() -> MovingChart:
        from ecv_core.figures.report.moving import MovingChart

        return MovingChart(
            title=title,
            subtitle=subtitle,
            make=make,
            sentences=sentences,
            step_names=step_names,
            initial_step=initial_step,
            least_width=least_width,
        )

    save_picture(chart, name=title, key=f"chapter-{chapter}", moves=animated)


def save_component(
    chapter: str, parts: ComponentParts, data: Mapping[str, object], *, subtitle: str
) -> None:
    """A menu that saves a chapter's picture with its own buttons as a page.

    Args:
        chapter: Its id.
        parts: What the picture is made of.
        data: What it draws.
        subtitle: The line below the title.
    """
    title = CHAPTERS[chapter].question

    def page() -> str:
        from ecv_core.figures.report.component_page import component_page

        return component_page(
            title=title,
            subtitle=subtitle,
            html=parts.html,
            style=parts.style,
            script=parts.script,
            data=data,
        )

    save_page(page, name=title, key=f"chapter-{chapter}")


def draw_figure_1(
    moments: Sequence[Moment],
    run: RunRecord,
    *,
    chapter: str,
    sentence: str,
    stopped_at: int | None,
    title: str,
    cache_key: Hashable,
    key: str,
    name: str,
) -> None:
    """Figure 1 of the paper, in type for the last row of a lecture hall.

    Args:
        moments: Those that are shown.
        run: Whose folds they are.
        chapter: The id of the chapter that it is in.
        sentence: What a saved picture says below its title.
        stopped_at: Folds used; None where it does not stop.
        title: The run, in the sentence for those who do not see the figure.
        cache_key: Another for other moments: the figure is made anew only when this changes.
        key: The key of the figure.
        name: The name of its files.
    """
    history = FoldHistory(
        moments=moments,
        k=run.k,
        metric=metric_label(run.spec),
        stopped_at=stopped_at,
        confidence=CONFIDENCE,
        title=title,
    )

    def draw(*, dark: bool) -> list[go.Figure]:
        return [efold_figure(history, dark=dark, height=_HEIGHT, type_scale=FIGURE_1_SCALE)]

    plot(draw, cache_key=cache_key, key=key, name=name, alt=alt_text(history))
    subtitle = f"{title}, {history.metric}, k = {run.k}"
    save_chart(chapter, draw, subtitle=subtitle, sentences=[sentence], animated=False)
