"""A chart in steps -> one HTML page that plays by itself, or an animated GIF or WebP."""

from __future__ import annotations

import io
import json
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from ecv_core.analysis.replay import Replay, explanations
from ecv_core.figures.efold import history_of_replay
from ecv_core.figures.efold_plot import drawn_steps, efold_figures
from ecv_core.figures.palette import DARK, Palette, palette
from ecv_core.figures.report.html_templates import templates
from ecv_core.figures.report.pictures import PIXELS_PER_INCH, printed_figure
from ecv_core.figures.report.saving import styled
from ecv_core.figures.words import rule_words, run_title
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.store.outputs import write_result

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from markupsafe import Markup
    from matplotlib.figure import Figure
    from PIL.Image import Image

MovingForm = Literal["html", "gif", "webp"]
MOVING_FORMS: tuple[MovingForm, ...] = get_args(MovingForm)

SECONDS = 1.2
"""For which each step is shown; the last one for longer, before a picture begins again."""
_LAST_SECONDS = 4.0
_LONGEST_SECONDS = 24.0
"""That a page with many steps plays: each of them is then shown for a shorter time."""
_MOST_PICTURED = 20
"""Steps of a picture."""
_LEGEND_ON_PHONES = 130
"""Pixels that the legend of a page needs there beside those that it has."""
_WIDTH = 6.4
_LEAST_HEIGHT = 4.0
"""Inches. A picture of many rows is higher."""
_PIXELS_ACROSS = 960
"""The picture of a run has 960 x 600 pixels."""
_MOST_PIXELS_DOWN = 840
"""Of a chart."""
_SENTENCE_LINES = 3
"""For which there is room below every chart."""
_SENTENCE_LETTERS = 100
"""In a line below a picture."""
_HEADING_LETTERS = 88
_LINE_HEIGHT = 0.16
"""Inches of a line above or below a chart."""
_STRIP_MARGIN = 0.04


class MakeFigures(Protocol):
    """Makes the figures of all steps, for a light or a dark page."""

    def __call__(self, *, dark: bool) -> Sequence[go.Figure]:
        """On axes that do not move; of data that do not change meanwhile."""


@dataclass(frozen=True, kw_only=True)
class MovingChart:
    """A chart in several steps, with what each of them shows; one that does not move has one."""

    title: str
    subtitle: str
    """A line below the title."""
    make: MakeFigures
    sentences: Sequence[str]
    """One for each step."""
    step_names: Sequence[str] = ()
    """What each step is called, such as 'alpha 1e-4'; none where its sentence says as much."""
    initial_step: int = 0
    """The step that a page shows at first."""
    least_width: int = 0
    """Pixels; on a narrower page the chart scrolls sideways."""

    @property
    def seconds(self) -> float:
        """For which each step is shown."""
        return min(SECONDS, _LONGEST_SECONDS / len(self.sentences))


def moving_replay(spec: RunSpec, replayed_run: Replay, title: str) -> MovingChart:
    """Figure 1 after each fold; of a run with many folds, after some of them.

    Args:
        spec: The spec of the run, with the rule that decides.
        replayed_run: The folds in the order in which they are played.
        title: The title of the run.
    """
    history = history_of_replay(spec, replayed_run, title)
    sentence_after_fold = explanations(replayed_run)
    folds_drawn = drawn_steps(history)
    return MovingChart(
        title=title,
        subtitle=f"{history.metric}, k = {history.k}, {rule_words(spec)}",
        make=partial(efold_figures, history),
        sentences=[sentence_after_fold[n] for n in folds_drawn],
    )


def moving_run(run: RunRecord) -> MovingChart:
    """Figure 1 after each fold of a run, as its rule decided then."""
    replayed_run = Replay(
        folds=run.folds,
        moments=tuple(run.moments),
        stopped_at=run.stopped_at,
        k=run.spec.max_folds,
    )
    return moving_replay(run.spec, replayed_run, run_title(run))


def moving_html(chart: MovingChart) -> str:
    """One HTML page that plays without a server.

    Returns:
        HTML with plotly.js in it, about 5 MB; nothing is loaded from anywhere, and all text is
        escaped. It is light or dark as the reader's other pages are, and has a button for it.
    """
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    light_figures = chart.make(dark=False)
    steps = {
        "light": _plain_figures(light_figures),
        "dark": _plain_figures(chart.make(dark=True)),
        "sentences": list(chart.sentences),
        "names": list(chart.step_names),
        "seconds": chart.seconds,
    }
    page = templates().get_template("moving.html")
    return page.render(
        title=chart.title,
        subtitle=chart.subtitle,
        first_sentence=chart.sentences[chart.initial_step],
        initial_step=chart.initial_step,
        last=len(chart.sentences) - 1,
        height=int(light_figures[0].layout.height),
        narrow_height=_narrow_height(light_figures[0]),
        least_width=chart.least_width,
        steps=script_json(steps),
        plotly=Markup(get_plotlyjs()),
    )


def _narrow_height(figure: go.Figure) -> int:
    """Pixels of a chart on a phone, where a legend has a line for each of its names."""
    height = int(figure.layout.height)
    if any(trace.showlegend is not False for trace in figure.data):
        height += _LEGEND_ON_PHONES
    return height


def script_json(value: object) -> Markup:
    """A value as JSON that no text in it can make an end of the element around it."""
    from markupsafe import Markup

    text = json.dumps(value, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))


def _plain_figures(figures: Sequence[go.Figure]) -> list[object]:
    """Figures as JSON values."""
    return [json.loads(str(figure.to_json())) for figure in figures]


def moving_picture(
    chart: MovingChart, form: Literal["gif", "webp"], *, dark: bool = False
) -> bytes:
    """An animated picture that plays for ever: its title, the chart, and the sentence below it.

    Args:
        chart: In its steps.
        form: The form of the file.
        dark: Whether it is for a dark page.

    Returns:
        A picture of 960 x 600 pixels, or higher where the chart has many rows. Of a chart with many
        steps it has some, the first and the last among them.
    """
    ground = "white"
    if dark:
        ground = DARK.ground
    look = _Look(
        heading=[
            *textwrap.wrap(chart.title, _HEADING_LETTERS),
            *textwrap.wrap(chart.subtitle, _HEADING_LETTERS),
        ],
        colours=palette(dark),
        ground=ground,
        sentence_lines=_most_lines(chart.sentences),
    )
    figures = chart.make(dark=dark)
    images = []
    for step in pictured_steps(len(figures)):
        images.append(_image(figures[step], chart.sentences[step], look))
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


def pictured_steps(steps: int) -> list[int]:
    """Which of so many steps a picture has, at equal distances."""
    # The kept steps are evenly spread, and the first and the last step are among them.
    pictured = min(steps, _MOST_PICTURED)
    gaps = max(pictured - 1, 1)
    return [place * (steps - 1) // gaps for place in range(pictured)]


@dataclass(frozen=True, kw_only=True)
class _Look:
    """What all steps of a picture have in common."""

    heading: Sequence[str]
    """Lines above the chart."""
    colours: Palette
    ground: str
    sentence_lines: int
    """For which there is room below the chart, whether a step needs them or not."""


def _image(figure: go.Figure, sentence: str, look: _Look) -> Image:
    """A step as pixels: the heading, the chart, the sentence."""
    from PIL import Image

    lines = textwrap.wrap(sentence, _SENTENCE_LETTERS)
    # Every step gets the same number of lines, so that the chart stays at the same place.
    lines += [""] * (look.sentence_lines - len(lines))
    words_height = _strip_height(look.heading) + _strip_height(lines)
    height = max(_LEAST_HEIGHT - words_height, figure.layout.height / PIXELS_PER_INCH)

    # `printed_figure` expects a function that makes the figure, so one returns the figure made
    # above.
    def figure_of_step() -> go.Figure:
        return figure

    with styled({"axes.facecolor": look.ground}, colours=look.colours):
        chart = printed_figure(figure_of_step, width=_WIDTH, height=height)
        heading = _text_strip(look.heading, size=9)
        words = _text_strip(lines, size=8)
        parts = [_pixels(part, look.ground) for part in (heading, chart, words)]
    size = (_PIXELS_ACROSS, sum(part.height for part in parts))
    image = Image.new("RGB", size, look.ground)
    top = 0
    for part in parts:
        left_margin = (_PIXELS_ACROSS - part.width) // 2
        image.paste(part, (left_margin, top))
        top += part.height
    return image


def _text_strip(lines: Sequence[str], *, size: float) -> Figure:
    """Lines of text across a picture.

    Args:
        lines: The lines of the text.
        size: The size of its type, in points.
    """
    from matplotlib.figure import Figure

    strip = Figure(figsize=(_WIDTH, _strip_height(lines)))
    strip.text(0.01, 1, "\n".join(lines), fontsize=size, linespacing=1.3, va="top")
    return strip


def _strip_height(lines: Sequence[str]) -> float:
    return _LINE_HEIGHT * len(lines) + _STRIP_MARGIN


def _pixels(figure: Figure, ground: str) -> Image:
    """A matplotlib figure as pixels: as wide as a picture is, unless it were too high then."""
    from PIL import Image

    file = io.BytesIO()
    width, height = figure.get_size_inches()
    dpi = min(_PIXELS_ACROSS / width, _MOST_PIXELS_DOWN / height)
    figure.savefig(file, format="png", dpi=dpi, facecolor=ground)
    file.seek(0)
    return Image.open(file).convert("RGB")


def _most_lines(sentences: Sequence[str]) -> int:
    """For how many lines the chart leaves room at each step."""
    most = _SENTENCE_LINES
    for sentence in sentences:
        most = max(most, len(textwrap.wrap(sentence, _SENTENCE_LETTERS)))
    return most


def moving_file(chart: MovingChart, form: MovingForm, *, dark: bool = False) -> bytes:
    """The chart as a file.

    Args:
        chart: In its steps.
        form: The form of the file.
        dark: Whether a picture is for a dark page; an HTML page is for both.
    """
    if form == "html":
        return moving_html(chart).encode()
    return moving_picture(chart, form, dark=dark)


def moving_form_of(path: Path) -> MovingForm | None:
    """The form that a file's name says; None where it is of none that moves."""
    for form in MOVING_FORMS:
        if path.suffix == f".{form}":
            return form
    return None


def write_moving(chart: MovingChart, form: MovingForm, path: Path) -> str:
    """Write a chart that moves to a file; its title.

    Raises:
        RunError: If it cannot be written.
    """
    content = moving_file(chart, form)
    write_result(path, content)
    return chart.title
