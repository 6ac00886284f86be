"""A matplotlib figure in a paper's size and type -> PDF, SVG, PGF, PNG, or SVG inside a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock  # noqa: TID251  the style is the whole process's while a figure is drawn
from typing import TYPE_CHECKING, Any, Literal, get_args

from ecv_core._version import __version__
from ecv_core.figures.palette import LIGHT

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties

COLUMN = 3.3
"""Inches: the width of a column in most two-column styles."""
PAGE = 6.2
"""Inches: the width of a figure across a page of a report."""
SMALL, TEXT = 7.0, 8.0
"""Points: ticks, legends and numbers in cells; titles of axes and labels. None is smaller."""

Form = Literal["pdf", "svg", "pgf", "png"]
FORMS: tuple[Form, ...] = get_args(Form)

PNG_DPI = 300

Draw = Callable[[], "Figure"]
"""Makes the figure; it is called with our style in force."""

_STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],  # the first comes along
    "font.size": TEXT,
    "axes.labelsize": TEXT,
    "axes.titlesize": TEXT,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "text.color": LIGHT.ink,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "text.usetex": False,
    "axes.labelcolor": LIGHT.ink,
    "axes.edgecolor": LIGHT.muted,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": False,
    "xtick.color": LIGHT.ink,
    "ytick.color": LIGHT.ink,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "grid.color": LIGHT.ink,
    "grid.alpha": 0.12,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.2,
    "legend.borderaxespad": 0.2,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.02,
    "figure.constrained_layout.w_pad": 0.02,
    "pdf.fonttype": 42,  # whole outlines: many journals refuse Type 3
    "svg.hashsalt": "e-fold",  # the same figure gives the same file
    "pgf.rcfonts": False,  # type is the document's
    "pgf.texsystem": "pdflatex",
}
_IN_STYLE = Lock()
_TEX = {sign: "\\" + sign for sign in "#$%&_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"\ensuremath{\pm}",
    "·": r"\textperiodcentered{}",
}


def saved(draw: Draw, form: Form, *, title: str) -> bytes:
    """The figure as a file.

    A PGF picture is written without a TeX installation: its text is measured in our font, placed
    by its anchor, and set in the document's font when that is typeset.

    Args:
        draw: see `Draw`.
        form: of the file.
        title: what it shows, kept in the file.
    Returns: the same bytes for the same figure. PDF embeds its fonts, SVG holds outlines.
    """
    with _styled({"svg.fonttype": "path"}):
        figure = draw()
        if form == "pgf":
            return _pgf(figure, title).encode()
        file = io.BytesIO()
        made_by = "Software" if form == "png" else "Creator"
        facts: dict[str, Any] = {"Title": title, made_by: f"e-fold {__version__}"}
        date = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(form, {})
        figure.savefig(file, format=form, dpi=PNG_DPI, metadata=facts | date)
    return file.getvalue()


def inline(draw: Draw, *, alt: str) -> Markup:
    """The figure as an `<svg>` element for a page, with text that can be selected.

    Args:
        draw: see `Draw`.
        alt: one sentence for those who do not see it; escaped here.
    """
    from markupsafe import Markup

    file = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with _styled({"svg.fonttype": "none"}):
        draw().savefig(file, format="svg", metadata=nothing, transparent=True)
    svg = file.getvalue()
    start = svg.index("<svg")
    head, body = svg[start:].split(">", 1)
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    used = set(re.findall(r"#([\w-]+)", body))
    body = re.sub(  # several figures in a page would share the names that nothing refers to
        r' id="([\w-]+)"', lambda found: found[0] if found[1] in used else "", body
    )
    return Markup(f'{head} role="img"><title>') + alt + Markup(f"</title>{body.strip()}")


@contextmanager
def _styled(more: dict[str, Any]) -> Iterator[None]:
    """Our style, for one figure at a time; whatever held before holds afterwards."""
    import matplotlib

    style: Any = _STYLE | more
    with _IN_STYLE, matplotlib.rc_context(style):
        yield


def _pgf(figure: Figure, title: str) -> str:
    from matplotlib.backend_bases import RendererBase
    from matplotlib.backends.backend_pgf import RendererPgf

    class WithoutTex(RendererPgf):
        """Measures text by itself, where matplotlib would start a TeX."""

        def get_text_width_height_descent(
            self, s: str, prop: FontProperties, ismath: bool | Literal["TeX"]
        ) -> tuple[float, float, float]:
            return RendererBase.get_text_width_height_descent(self, s, prop, ismath)

        def draw_text(self, gc: Any, x: Any, y: Any, s: str, *more: Any, **named: Any) -> None:  # noqa: ANN401
            super().draw_text(gc, x, y, _as_tex(s), *more, **named)

    width, height = figure.get_size_inches()
    file = io.StringIO()
    said = " ".join(title.split())
    file.write(
        f"% {said}\n% e-fold {__version__}; \\usepackage{{pgf}}, then \\input this file\n"
        "\\begingroup%\n\\makeatletter%\n\\begin{pgfpicture}%\n"
        f"\\pgfpathrectangle{{\\pgfpointorigin}}{{\\pgfqpoint{{{width:f}in}}{{{height:f}in}}}}%\n"
        "\\pgfusepath{use as bounding box, clip}%\n"
    )
    figure.draw(WithoutTex(figure, file))
    file.write("\\end{pgfpicture}%\n\\makeatother%\n\\endgroup%\n")
    return file.getvalue()


def _as_tex(text: str) -> str:
    return "".join(_TEX.get(sign, sign) for sign in text)
