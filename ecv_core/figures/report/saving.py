"""A matplotlib figure in a paper's size and type -> PDF, SVG, PGF, PNG, or SVG inside a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock  # noqa: TID251  the style is the whole process's while a figure is drawn
from typing import TYPE_CHECKING, Any, Literal, get_args

from ecv_core.figures.palette import LIGHT, Palette
from ecv_core.figures.report.latex import escaped
from ecv_core.records import __version__

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties

COLUMN = 3.3
"""Inches: the width of a column in most two-column styles."""
PAGE = 6.2
"""Inches: the width of a figure across a page of a report."""
SMALL = 7.0
"""Points: ticks, legends and numbers in cells. No type is smaller; paper.mplstyle has it too."""

Form = Literal["pdf", "svg", "pgf", "png"]
FORMS: tuple[Form, ...] = get_args(Form)

PNG_DPI = 300

Draw = Callable[[], "Figure"]
"""Makes the figure; it is called with our style in force."""

_STYLE_FILE = Path(__file__).parent / "paper.mplstyle"
"""Sizes and lines; the colours are those of the palette."""
_STYLE_IN_USE = Lock()


def figure_bytes(draw: Draw, form: Form, *, title: str) -> bytes:
    """The figure as a file.

    A PGF picture is written without a TeX installation: its text is measured in our font, placed
    by its anchor, and set in the document's font when that is typeset.

    Args:
        draw: Makes the figure.
        form: The form of the file.
        title: What it shows, kept in the file.

    Returns:
        The same bytes for the same figure. PDF embeds its fonts, SVG holds outlines.
    """
    with styled({"svg.fonttype": "path"}):
        figure = draw()
        if form == "pgf":
            return _pgf(figure, title).encode()
        facts: dict[str, Any] = {"Title": title, "Creator": f"e-fold {__version__}"}
        match form:  # a date would make every file another
            case "pdf":
                facts["CreationDate"] = None
            case "svg":
                facts["Date"] = None
            case "png":
                facts["Software"] = facts.pop("Creator")
        file = io.BytesIO()
        figure.savefig(file, format=form, dpi=PNG_DPI, metadata=facts)
    return file.getvalue()


def inline_svg(draw: Draw, *, alt: str) -> Markup:
    """The figure as an `<svg>` element for a page, with text that can be selected.

    Args:
        draw: Makes the figure.
        alt: One sentence for those who do not see it; escaped here.
    """
    from markupsafe import Markup

    file = io.StringIO()
    no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with styled({"svg.fonttype": "none"}):
        draw().savefig(file, format="svg", metadata=no_metadata, transparent=True)
    # The XML declaration before the element has no place inside a page.
    _, start, element = file.getvalue().partition("<svg")
    attributes, _, body = element.partition(">")
    # Without a size of its own, the figure takes the width that the page has for it.
    head = start + re.sub(r' (?:width|height)="[^"]*"', "", attributes)
    body = _without_unused_ids(body).strip()
    return Markup(f'{head} role="img"><title>') + alt + Markup(f"</title>{body}")


def _without_unused_ids(svg: str) -> str:
    """Without the ids that nothing refers to: several figures in a page would share them."""
    for unused_id in set(re.findall(r' id="([\w-]+)"', svg)) - set(re.findall(r"#([\w-]+)", svg)):
        svg = svg.replace(f' id="{unused_id}"', "")
    return svg


@contextmanager
def styled(
    settings: Mapping[str, Any] | None = None, *, colours: Palette = LIGHT
) -> Iterator[None]:
    """Our style, for one figure at a time; whatever held before holds afterwards.

    Args:
        settings: The settings of matplotlib, beside those of the style.
        colours: The colours of the ground that the figure is for.
    """
    import matplotlib

    style: Any = {
        "text.color": colours.ink,
        "axes.labelcolor": colours.ink,
        "axes.edgecolor": colours.muted,
        "xtick.color": colours.ink,
        "ytick.color": colours.ink,
        "grid.color": colours.ink,
        **(settings or {}),
    }
    with _STYLE_IN_USE, matplotlib.rc_context(style, fname=_STYLE_FILE):
        yield


def _pgf(figure: Figure, title: str) -> str:
    """The figure as LaTeX commands, written without a TeX."""
    from matplotlib.backend_bases import RendererBase
    from matplotlib.backends.backend_pgf import RendererPgf

    class WithoutTex(RendererPgf):
        """Measures text as all other renderers do, where matplotlib would start a TeX."""

        def get_text_width_height_descent(
            self, s: str, prop: FontProperties, ismath: bool | Literal["TeX"]
        ) -> tuple[float, float, float]:
            return RendererBase.get_text_width_height_descent(self, s, prop, ismath)

        def draw_text(self, gc: Any, x: Any, y: Any, s: str, *more: Any, **named: Any) -> None:  # noqa: ANN401
            super().draw_text(gc, x, y, escaped(s), *more, **named)

    width, height = figure.get_size_inches()
    one_line = " ".join(title.split())
    file = io.StringIO()
    file.write(
        f"% {one_line}\n% e-fold {__version__}; \\usepackage{{pgf}}, then \\input this file\n"
        "\\begingroup%\n\\makeatletter%\n\\begin{pgfpicture}%\n"
        f"\\pgfpathrectangle{{\\pgfpointorigin}}{{\\pgfqpoint{{{width:f}in}}{{{height:f}in}}}}%\n"
        "\\pgfusepath{use as bounding box, clip}%\n"
    )
    figure.draw(WithoutTex(figure, file))
    file.write("\\end{pgfpicture}%\n\\makeatother%\n\\endgroup%\n")
    return file.getvalue()
