"""A chart that moves fold by fold -> one HTML page that plays by itself, or a GIF or WebP."""

from __future__ import annotations

import io
import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from ecv_core.analysis.replay import Replay, explanations
from ecv_core.figures.efold_plot import drawn_steps, efold_figures
from ecv_core.figures.report.pictures import printed
from ecv_core.figures.report.run_report import templates
from ecv_core.figures.report.saving import styled
from ecv_core.figures.words import metric_label, rule_words, run_title
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.store.outputs import write_result

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from PIL.Image import Image

MovingForm = Literal["html", "gif", "webp"]
MOVING_FORMS: tuple[MovingForm, ...] = get_args(MovingForm)

SECONDS = 1.2
"""For which each step is shown; the last one for longer, before a picture begins again."""
_LAST_SECONDS = 4.0
_WIDTH = 6.4
_HEIGHT = 4.0
_DPI = 150
"""A picture has 960 x 600 pixels."""
_SENTENCE_LINES = 3
_SENTENCE_LETTERS = 100
"""In a line below a picture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MovingChart:
    """A chart in several steps, with what each of them shows."""

    title: str
    under: str
    """A line below the title."""
    figures: Sequence[go.Figure]
    """One for each step, on axes that do not move."""
    sentences: Sequence[str]
    """One for each step."""


def moving_replay(spec: RunSpec, played: Replay, title: str) -> MovingChart:
    """Figure 1 after each fold; of a run with many folds, after some of them.

    Args:
        spec: of the run, with the rule that decides.
        played: the folds in the order in which they are played.
        title: of the run.
    """
    folds = len(played.moments)
    figures = efold_figures(
        played.moments,
        k=played.k,
        metric=metric_label(spec),
        stopped_at=played.stopped_at,
        confidence=spec.confidence,
    )
    every_sentence = explanations(played)
    sentences = []
    for step in drawn_steps(folds, played.stopped_at):
        sentences.append(every_sentence[step])
    return MovingChart(
        title=title,
        under=f"{metric_label(spec)}, {rule_words(spec)}",
        figures=figures,
        sentences=sentences,
    )


def moving_run(run: RunRecord) -> MovingChart:
    """Figure 1 after each fold of a run, as its rule decided then."""
    played = Replay(
        folds=run.folds,
        moments=tuple(run.moments),
        stopped_at=run.stopped_at,
        k=run.spec.max_folds,
    )
    return moving_replay(run.spec, played, run_title(run))


def moving_html(chart: MovingChart) -> str:
    """One HTML page that plays without a server.

    Returns: HTML with plotly.js in it, about 5 MB; nothing is loaded from anywhere, and all text is
        escaped.
    """
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    figures = []
    for figure in chart.figures:
        figures.append(json.loads(str(figure.to_json())))
    steps = {"figures": figures, "sentences": list(chart.sentences), "seconds": SECONDS}
    # No text can end the element that the steps stand in.
    steps_json = json.dumps(steps, separators=(",", ":")).replace("<", "\\u003c")
    page = templates().get_template("moving.html")
    return page.render(
        title=chart.title,
        under=chart.under,
        first_sentence=chart.sentences[0],
        last=len(figures) - 1,
        steps=Markup(steps_json),
        plotly=Markup(get_plotlyjs()),
    )


def moving_picture(chart: MovingChart, form: Literal["gif", "webp"]) -> bytes:
    """An animated picture of 960 x 600 pixels that plays for ever, the sentence below the chart."""
    images = []
    for figure, sentence in zip(chart.figures, chart.sentences, strict=True):
        images.append(_image(figure, sentence))
    milliseconds = [round(1000 * SECONDS)] * len(images)
    milliseconds[-1] = round(1000 * _LAST_SECONDS)
    first, *others = images
    file = io.BytesIO()
    first.save(
        file,
        format=form,
        save_all=True,
        append_images=others,
        duration=milliseconds,
        loop=0,
    )
    return file.getvalue()


def _image(figure: go.Figure, sentence: str) -> Image:
    """A step as pixels."""
    from PIL import Image

    lines = textwrap.wrap(sentence, _SENTENCE_LETTERS)
    missing_lines = _SENTENCE_LINES - len(lines)
    lines += [""] * missing_lines  # the chart has the same room at each step
    file = io.BytesIO()

    def step() -> go.Figure:
        return figure

    with styled():
        drawn = printed(step, width=_WIDTH, height=_HEIGHT)
        drawn.supxlabel("\n".join(lines), fontsize=8, x=0.01, ha="left", linespacing=1.3)
        drawn.savefig(file, format="png", dpi=_DPI, facecolor="white")
    file.seek(0)
    return Image.open(file).convert("RGB")


def moving_file(chart: MovingChart, form: MovingForm) -> bytes:
    """The chart as a file."""
    if form == "html":
        return moving_html(chart).encode()
    return moving_picture(chart, form)


def moving_form_of(path: Path) -> MovingForm | None:
    """The form that a file's name says; None where it is of none that moves."""
    for form in MOVING_FORMS:
        if path.suffix == f".{form}":
            return form
    return None


def write_moving(run: RunRecord, form: MovingForm, path: Path) -> str:
    """Write figure 1 of a run, fold by fold, to a file; its title.

    Raises:
        RunError: if it cannot be written.
    """
    chart = moving_run(run)
    content = moving_file(chart, form)
    write_result(path, content)
    return f"{chart.title}, fold by fold"
