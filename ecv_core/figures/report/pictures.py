"""Charts of the pages for print: as files, or in a page.

They say in grey what they say in colour: lines differ in dash and mark.
"""

from __future__ import annotations

import html
import io
import math
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock  # noqa: TID251  the style is the whole process's while a figure is drawn
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ecv_core.figures.palette import LIGHT
from ecv_core.figures.report.latex import escaped
from ecv_core.records import __version__

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties


# A matplotlib figure in a paper's size and type -> PDF, SVG, PGF, PNG, or SVG inside a page.


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


def saved(draw: Draw, form: Form, *, title: str) -> bytes:
    """The figure as a file.

    A PGF picture is written without a TeX installation: its text is measured in our font, placed
    by its anchor, and set in the document's font when that is typeset.

    Args: title: what it shows, kept in the file.
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

    Args: alt: one sentence for those who do not see it; escaped here.
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
            super().draw_text(gc, x, y, escaped(s), *more, **named)

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


# A chart of the pages -> the same in print.


_SCALE = 0.38
"""Points of a line or a mark for each pixel on a page."""
_PIXELS = 215
"""Of a chart's height on a page, for each inch in print, where a legend comes on top."""
_DASHES: dict[str, Any] = {
    "solid": "-",
    "dash": "--",
    "dot": ":",
    "dashdot": "-.",
    "longdash": (0, (8, 3)),
    "longdashdot": (0, (8, 3, 2, 3)),
}
_MARKS = {
    "circle": "o",
    "diamond": "D",
    "square": "s",
    "star": "*",
    "x": "X",
    "cross": "P",
    "triangle-up": "^",
    "triangle-right": ">",
    "arrow-right": ">",
    "pentagon": "p",
    "line-ns": "|",
}
_SIDES = {"left": "right", "center": "center", "right": "left", "top": "bottom", "bottom": "top"}
"""Where text stands of its point -> which of its own sides is there."""


Make = Callable[[], "go.Figure"]
"""Makes a chart for a light page."""


def printed(make: Make, *, width: float = COLUMN, height: float | None = None) -> Figure:
    """A chart of lines, marks and bars, or of cells, as it is on a page, in our sizes.

    Args:
        make: the chart.
        width: in inches.
        height: in inches; by default as the chart is high, and the legend.
    """
    from matplotlib.figure import Figure

    chart = make().to_plotly_json()
    traces, layout = chart["data"], chart["layout"]
    cells = [trace for trace in traces if trace["type"] == "heatmap"]
    if cells:
        return _cells(cells)
    figure = Figure(figsize=(width, height or layout["height"] / _PIXELS))
    axes = figure.subplots()
    sides = {"y": axes}
    if "yaxis2" in layout:
        sides["y2"] = axes.twinx()
        axes.set_zorder(sides["y2"].get_zorder() + 1)
        axes.patch.set_visible(False)
    for before, trace in zip([{}, *traces], traces, strict=False):
        if trace.get("visible", True) is True:
            _draw(sides[trace.get("yaxis", "y")], trace, before)
    _dress(axes, "x", layout.get("xaxis", {}))
    for name, side in sides.items():
        _dress(side, "y", layout.get(f"yaxis{name[1:]}", {}))
    for shape in layout.get("shapes", ()):
        _shape(axes, shape)
    for note in layout.get("annotations", ()):
        _note(axes, note, width, layout.get("yaxis", {}).get("domain", (0, 1)))
    shown = [one for side in sides.values() for one in side.get_legend_handles_labels()[0]]
    if shown and layout.get("showlegend", True):
        longest = max(len(str(one.get_label())) for one in shown)
        columns = min(max(int(width / (longest * SMALL * 0.5 / 72 + 0.35)), 1), 3)
        if height is None:
            figure.set_figheight(figure.get_figheight() + 0.14 * -(-len(shown) // columns))
        figure.legend(handles=shown, loc="outside upper left", ncols=columns)
    return figure


def _plain(text: str) -> str:
    """Without Plotly's tags."""
    return html.unescape(re.sub(r"</?(b|span)\b[^>]*>", "", text.replace("<br>", "\n")))


def _numbers(values: Any) -> NDArray[np.float64]:  # noqa: ANN401  a list, or as Plotly packs arrays
    if isinstance(values, dict):
        values = np.frombuffer(b64decode(values["bdata"]), dtype=values["dtype"])
    return np.asarray(values, dtype=np.float64)


def _colour(css: str) -> tuple[float, ...] | str:
    found = re.fullmatch(r"rgba\((.+)\)", css)
    if not found:
        return css
    *parts, alpha = (float(part) for part in found[1].split(","))
    return (*(part / 255 for part in parts), alpha)


def _draw(axes: Axes, trace: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """A trace; `before` is the one that its fill reaches to."""
    x, y = (_numbers(trace[name]) for name in "xy")
    mode, line, mark = (trace.get(name, {}) for name in ("mode", "line", "marker"))
    look: dict[str, Any] = {"alpha": trace.get("opacity"), "zorder": 2 + trace.get("zorder", 0)}
    named = bool(len(x)) and trace.get("showlegend", True) and trace.get("name")
    look["label"] = _plain(trace["name"]) if named else None
    if trace.get("fill") == "tonexty":
        fill = _colour(trace["fillcolor"])
        axes.fill_between(x, y, _numbers(before["y"]), color=fill, lw=0, label=look["label"])
        return
    if trace["type"] == "bar":
        axes.bar(x, y, width=0.82, color=_colour(mark["color"]), **look)
        mode = "text"
    if "error_x" in trace:
        low, high = (_numbers(trace["error_x"][name]) for name in ("arrayminus", "array"))
        axes.hlines(y, x - low, x + high, color=_colour(trace["error_x"]["color"]), lw=1.2)
    if "lines" in mode or "markers" in mode:
        colour = _colour(line.get("color") or mark["color"])
        look |= {"color": colour, "lw": 0, "clip_on": trace.get("cliponaxis", True)}
        if "lines" in mode:
            look["lw"] = line.get("width", 2) * _SCALE
            look["ls"] = _DASHES[line.get("dash", "solid")]
        if "markers" in mode:
            symbol, edge = mark.get("symbol", "circle"), mark.get("line", {})
            look["marker"] = _MARKS[symbol.removesuffix("-open")]
            look["markersize"] = mark.get("size", 6) * _SCALE
            look["mfc"] = "none" if "-open" in symbol else _colour(mark.get("color", colour))
            look["mec"], look["mew"] = _colour(edge.get("color", colour)), edge.get("width", 0) / 2
        axes.plot(x, y, **look)
    if "text" in mode:
        colour = trace.get("textfont", {}).get("color", LIGHT.ink)
        places = trace.get("textposition", "top center")
        places = [places] * len(x) if isinstance(places, str) else places
        for at, up, text, place in zip(x, y, trace["text"], places, strict=True):
            upright, side = f"{place} center".split()[:2]
            axes.annotate(
                _plain(text),
                (at, up),
                (2 * (side == "right") - 2 * (side == "left"), -2 if upright == "bottom" else 2),
                textcoords="offset points",
                ha=_SIDES.get(side, "center"),
                va=_SIDES.get(upright, "bottom" if upright == "outside" else "center"),
                size=SMALL,
                color=colour,
                zorder=12,
                annotation_clip=trace.get("cliponaxis", True),
            )


def _dress(axes: Axes, kind: Literal["x", "y"], looks: Mapping[str, Any]) -> None:
    """Title, range, ticks, grid and colour of an axis."""
    axis: Axis = axes.xaxis if kind == "x" else axes.yaxis
    title = looks.get("title", {})
    axis.set_label_text(_plain(title.get("text", "")))
    axis.label.set(rotation_mode="anchor")  # every backend places it by its middle
    span = looks.get("range")
    if looks.get("type") == "log":
        axes.set(**{f"{kind}scale": "log"})
        span = span and [10.0**end for end in span]
    if span:
        axes.set(**{f"{kind}lim": tuple(span)})
    ends = sorted(axis.get_view_interval())
    values = looks.get("tickvals")
    if looks.get("tickmode") == "linear" and kind == "x":
        values = range(math.ceil(ends[0]), math.floor(ends[1]) + 1)
    if values is not None:
        names = [_plain(str(name)) for name in looks.get("ticktext") or values]
        inside = [
            (value, name)
            for value, name in zip(values, names, strict=True)
            if ends[0] <= value <= ends[1]
        ]
        axis.set_ticks([value for value, _ in inside], [name for _, name in inside])
        axis.set_ticks([], minor=True)
    elif looks.get("type") != "log":
        axes.locator_params(axis=kind, nbins=6)
        ticks = axis.get_major_locator().tick_values(*ends)
        axis.set_ticks([tick for tick in ticks if ends[0] <= tick <= ends[1]])
        if suffix := looks.get("ticksuffix"):
            axis.set_major_formatter("{x:g}" + suffix)
    if colour := title.get("font", {}).get("color"):
        axis.label.set_color(colour)
        axes.tick_params(axis=kind, colors=colour)
    if "gridcolor" in looks and looks.get("showgrid", True):
        axes.grid(axis=kind)
        axes.set_axisbelow(True)
    axis.set_visible(looks.get("visible", True))


def _shape(axes: Axes, shape: Mapping[str, Any]) -> None:
    """A line, or what is shaded across."""
    if shape["type"] == "rect":
        axes.axvspan(shape["x0"], shape["x1"], color=_colour(shape["fillcolor"]), lw=0, zorder=0)
        return
    line, (low, high) = shape["line"], axes.get_ylim()
    axes.plot(
        [shape["x0"], shape["x1"]],
        [low + (high - low) * shape[end] for end in ("y0", "y1")],
        color=_colour(line["color"]),
        lw=line["width"] * _SCALE,
        ls=_DASHES[line.get("dash", "solid")],
    )


def _note(axes: Axes, note: Mapping[str, Any], width: float, domain: tuple[float, float]) -> None:
    """Words; those at a place on the x axis keep within it.

    Args:
        width: of the figure, in inches.
        domain: which part of the chart's height the axes had.
    """
    text, x, side = _plain(note["text"]), note["x"], note.get("xanchor", "center")
    across = "axes fraction"
    if note.get("xref", "x") != "paper":
        half = min(len(text) * SMALL * 0.6 / 72 / (0.68 * width) / 2, 0.5)
        low, high = axes.get_xlim()
        x, side = min(max((x - low) / (high - low), half), 1 - half), "center"
    upwards, y = "data", note["y"]
    if note.get("yref") == "paper":
        upwards, y = "axes fraction", (y - domain[0]) / (domain[1] - domain[0])
    said = axes.annotate(
        text,
        (x, y),
        (0, note.get("yshift", 0) * 0.55),
        xycoords=(across, upwards),
        textcoords="offset points",
        ha=side,
        va={"middle": "center"}.get(note.get("yanchor", "middle"), note.get("yanchor")),
        size=SMALL,
        color=note["font"]["color"],
        annotation_clip=False,
    )
    said.set_in_layout(upwards == "axes fraction")  # among the marks they need no room of their own


_ROW, _FOOT, _GAP = 0.19, 0.35, 0.35
"""Inches: of a row, and of the legend below; and rows between two tables."""
_LIGHTEST, _DARKEST = np.array([241, 245, 247]) / 255, np.array([0, 80, 126]) / 255


def _shade(share: float) -> tuple[tuple[float, ...], str]:
    """A cell's colour and that of its words, from 0, the lightest, to 1."""
    share = min(max(share, 0.0), 1.0)
    colour = _LIGHTEST + share * (_DARKEST - _LIGHTEST)
    return tuple(colour.tolist()), "white" if share > 0.55 else LIGHT.ink


def _cells(tables: Sequence[Mapping[str, Any]]) -> Figure:
    """Heatmaps turned, so that they fit a column: what is across stands at the left, a table below
    the other; the darker the worse, in grey too."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    columns = [str(name) for name in tables[0]["y"]]
    names, places = [], []
    end = 0.0
    for table in tables:
        names += list(table["x"])
        places += [end + _GAP * bool(end) + row for row in range(len(table["x"]))]
        end = places[-1] + 1
    head = 0.1 + max(map(len, columns)) * SMALL * 0.6 / 72
    figure = Figure(figsize=(COLUMN, head + _ROW * end + _FOOT))
    axes = figure.subplots()
    rows = iter(places)
    for table in tables:
        values = np.array(table["z"], dtype=np.float64).T
        shares = (values - table["zmin"]) / ((table["zmax"] - table["zmin"]) or 1.0)
        shares = 1 - shares if table["reversescale"] else shares
        for row, texts in enumerate(np.array(table["text"], dtype=object).T):
            place = next(rows)
            for column, text in enumerate(texts):
                share = float(shares[row, column])
                fill, ink = _shade(share) if share == share else ("none", LIGHT.muted)
                axes.add_patch(Rectangle((column + 0.02, place + 0.04), 0.96, 0.92, fc=fill, lw=0))
                axes.text(
                    column + 0.5,
                    place + 0.5,
                    _plain(text) or "-",
                    ha="center",
                    va="center",
                    size=SMALL,
                    color=ink,
                )
    axes.set(xlim=(0, len(columns)), ylim=(end, 0))
    axes.xaxis.tick_top()
    axes.set_xticks([column + 0.5 for column in range(len(columns))], columns, rotation=90)
    axes.set_yticks([place + 0.5 for place in places], names)
    axes.tick_params(length=0, pad=2)
    for spine in axes.spines.values():
        spine.set_visible(False)
    handles = [
        Rectangle((0, 0), 1, 1, fc=_shade(share)[0], ec=LIGHT.muted, lw=0.4) for share in (0, 1)
    ]
    labels = tables[0]["colorbar"]["ticktext"]
    figure.legend(handles, labels, loc="outside lower right", ncols=2, handlelength=1)
    return figure
