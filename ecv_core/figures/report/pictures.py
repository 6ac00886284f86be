"""A chart of the pages -> the same in print, in a paper's size and type.

Charts say in grey what they say in colour: lines differ in dash and mark.
"""

from __future__ import annotations

import html
import math
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ecv_core.figures.palette import LIGHT, PRINTED_CELLS, Span
from ecv_core.figures.report.saving import COLUMN, SMALL
from ecv_core.records.arrays import Floats

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure

_SCALE = 0.38
"""Points of a line or a mark for each pixel on a page."""
_SHIFT_SCALE = 0.55
"""Points by which words are shifted for each pixel on a page."""
PIXELS_PER_INCH = 215
"""Of a chart's height on a page, for each inch in print, where a legend comes on top."""
_DASHES: dict[str, Any] = {
    "solid": "-",
    "dash": "--",
    "dot": ":",
    "dashdot": "-.",
}
_ROUND_STEPS = (1, 2, 2.5, 5, 10)
"""Between ticks, times a power of ten."""
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
_SIDES = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}
"""Where text stands of its point -> which of its own sides is there; elsewhere its centre is."""


Make = Callable[[], "go.Figure"]
"""Makes a chart for a light page."""

_Part = Mapping[str, Any]
"""A part of a chart as Plotly has it in JSON: its layout, a trace, an axis, a shape or a note."""
_Colour = tuple[float, ...] | str
"""As matplotlib takes it: red, green, blue and maybe alpha, from 0 to 1; or as CSS has it."""


def printed_figure(make: Make, *, width: float = COLUMN, height: float | None = None) -> Figure:
    """A chart of lines, marks and bars, or of cells, as it is on a page, in our sizes.

    Args:
        make: The chart.
        width: In inches.
        height: In inches; by default as the chart is high, and the legend.
    """
    from matplotlib.figure import Figure

    chart = make().to_plotly_json()
    layout = chart["layout"]
    heatmaps = [trace for trace in chart["data"] if trace["type"] == "heatmap"]
    if heatmaps:
        # Heat maps have a size of their own, which follows from the number of their cells.
        return _printed_cells(heatmaps)
    figure = Figure(figsize=(width, height or layout["height"] / PIXELS_PER_INCH))
    sides = _add_sides(figure, layout)
    axes = sides["y"]
    _draw_traces(sides, chart["data"])
    _set_axis(axes.xaxis, layout.get("xaxis", {}))
    for name, side in sides.items():
        name_in_layout = name.replace("y", "yaxis")  # 'yaxis' of 'y', and 'yaxis2' of 'y2'
        _set_axis(side.yaxis, layout.get(name_in_layout, {}))
    for shape in layout.get("shapes", ()):
        _draw_shape(axes, shape)
    domain = layout.get("yaxis", {}).get("domain", (0, 1))
    for note in layout.get("annotations", ()):
        _draw_note(axes, note, width, domain)
    if layout.get("showlegend", True):
        rows = _add_legend(figure, sides.values(), width)
        if height is None:
            # A figure without a requested height grows by 0.14 inches for each row of its legend.
            figure.set_figheight(figure.get_figheight() + 0.14 * rows)
    return figure


def _draw_traces(sides: Mapping[str, Axes], traces: Sequence[_Part]) -> None:
    """Draw what a page shows at first, each trace knowing the one before: it may fill up to it."""
    previous: _Part = {}
    for trace in traces:
        if trace.get("visible", True) is True:
            _draw_trace(sides[trace.get("yaxis", "y")], trace, previous)
        previous = trace


def _add_sides(figure: Figure, layout: _Part) -> dict[str, Axes]:
    """The axes of a figure, by the name of their upward axis: 'y', and 'y2' if there are two."""
    axes = figure.subplots()
    sides = {"y": axes}
    if "yaxis2" in layout:
        sides["y2"] = axes.twinx()
        # The axes with the scale at the left are drawn in front.
        axes.set_zorder(sides["y2"].get_zorder() + 1)
        axes.patch.set_visible(False)
    return sides


def _add_legend(figure: Figure, sides: Iterable[Axes], width: float) -> int:
    """A legend above the axes, in as many columns as the width has room for; how many rows it has.

    Args:
        figure: Which the legend is added to.
        sides: Axes whose traces it names.
        width: The width of the figure, in inches.
    """
    handles = []
    for side in sides:
        handles_of_side, _names = side.get_legend_handles_labels()
        handles += handles_of_side
    if not handles:
        return 0
    longest = max(len(str(handle.get_label())) for handle in handles)
    # A letter is about half as wide as its size, in points of 1/72 inch.
    inches_of_name = longest * SMALL * 0.5 / 72
    inches_of_line = 0.35  # A piece of the line stands before its name.
    columns = min(max(int(width / (inches_of_line + inches_of_name)), 1), 3)
    figure.legend(handles=handles, loc="outside upper left", ncols=columns)
    return math.ceil(len(handles) / columns)


# What Plotly writes -> what matplotlib takes.


def _plain(text: str) -> str:
    """Without Plotly's tags."""
    lines = text.replace("<br>", "\n")
    return html.unescape(re.sub(r"</?(b|span)\b[^>]*>", "", lines))


def _numbers(values: Any) -> Floats:  # noqa: ANN401  a list, or as Plotly packs arrays
    if isinstance(values, dict):
        values = np.frombuffer(b64decode(values["bdata"]), dtype=values["dtype"])
    return np.asarray(values, dtype=np.float64)


def _colour(css: str) -> _Colour:
    match = re.fullmatch(r"rgba\((.+)\)", css)
    if match is None:
        return css
    red, green, blue, alpha = [float(part) for part in match[1].split(",")]
    return red / 255, green / 255, blue / 255, alpha


def _text_inches(characters: int) -> float:
    """How wide text in our small type is: a character is on average 0.6 times as wide as high."""
    return characters * SMALL * 0.6 / 72


# Lines, marks, bars and text.


def _draw_trace(axes: Axes, trace: _Part, previous: _Part) -> None:
    """A trace; `previous` is the one that its fill reaches to."""
    x = _numbers(trace["x"])
    y = _numbers(trace["y"])
    name = None
    if len(x) and trace.get("showlegend", True) and trace.get("name"):
        name = _plain(trace["name"])
    # Plotly's "tonexty" fills the area between this trace and the previous one.
    if trace.get("fill") == "tonexty":
        fill = _colour(trace["fillcolor"])
        axes.fill_between(x, y, _numbers(previous["y"]), color=fill, lw=0, label=name)
        return
    look = {"alpha": trace.get("opacity"), "zorder": 2 + trace.get("zorder", 0), "label": name}
    if trace["type"] == "bar":
        axes.bar(x, y, width=0.82, color=_colour(trace["marker"]["color"]), **look)
        _draw_texts(axes, trace, x, y)
        return
    if "error_x" in trace:
        error = trace["error_x"]
        low = x - _numbers(error["arrayminus"])
        high = x + _numbers(error["array"])
        axes.hlines(y, low, high, color=_colour(error["color"]), lw=1.2)
    mode = trace["mode"]
    if "lines" in mode or "markers" in mode:
        axes.plot(x, y, **look | _line_look(trace) | _marker_look(trace))
    if "text" in mode:
        _draw_texts(axes, trace, x, y)


def _main_colour(trace: _Part) -> str:
    """The colour of its line, or of its marks where the line has none of its own."""
    return trace.get("line", {}).get("color") or trace["marker"]["color"]


def _line_look(trace: _Part) -> dict[str, Any]:
    """How the line of a trace looks; one without width where it has marks alone."""
    line = trace.get("line", {})
    colour = _colour(_main_colour(trace))
    look = {"color": colour, "lw": 0, "clip_on": trace.get("cliponaxis", True)}
    if "lines" in trace["mode"]:
        look["lw"] = line.get("width", 2) * _SCALE
        look["ls"] = _DASHES[line.get("dash", "solid")]
    return look


def _marker_look(trace: _Part) -> dict[str, Any]:
    """How the marks of a trace look; empty where it has none."""
    if "markers" not in trace["mode"]:
        return {}
    marker = trace.get("marker", {})
    edge = marker.get("line", {})
    symbol = marker.get("symbol", "circle")
    colour = _main_colour(trace)
    fill = _colour(marker.get("color", colour))
    edge_colour = _colour(edge.get("color", colour))
    if symbol.endswith("-open"):
        edge_colour = fill
        fill = "none"
    return {
        "marker": _MARKS[symbol.removesuffix("-open")],
        "markersize": marker.get("size", 6) * _SCALE,
        "markerfacecolor": fill,
        "markeredgecolor": edge_colour,
        # Half the width on a page is thin enough, and still prints.
        "markeredgewidth": edge.get("width", 0) / 2,
    }


def _draw_texts(axes: Axes, trace: _Part, x: Floats, y: Floats) -> None:
    """The texts of a trace, each beside its point or on its bar."""
    from matplotlib import rcParams

    colour = trace.get("textfont", {}).get("color", rcParams["text.color"])
    positions = trace.get("textposition", "top center")
    if isinstance(positions, str):
        positions = [positions] * len(x)
    for x_of_text, y_of_text, text, position in zip(x, y, trace["text"], positions, strict=True):
        # A position is 'top right', or 'top' for above the middle; 'outside' means above a bar.
        vertical, _, side = position.replace("outside", "top").partition(" ")
        points_upward = 2
        if vertical == "bottom":
            points_upward = -2
        points_sideways = {"left": -2, "right": 2}.get(side, 0)
        axes.annotate(
            _plain(text),
            (x_of_text, y_of_text),
            (points_sideways, points_upward),
            textcoords="offset points",
            ha=_SIDES.get(side, "center"),
            va=_SIDES.get(vertical, "center"),
            size=SMALL,
            color=colour,
            zorder=12,
            annotation_clip=trace.get("cliponaxis", True),
        )


# Axes, shapes and notes.


def _set_axis(axis: XAxis | YAxis, looks: _Part) -> None:
    """Title, range, ticks, grid and colour of an axis, as the chart's layout has them."""
    title = looks.get("title", {})
    axis.set_label_text(_plain(title.get("text", "")))
    axis.label.set(rotation_mode="anchor")  # Every backend places the label by its middle then.
    _set_range(axis, looks)
    _set_ticks(axis, looks)
    colour = title.get("font", {}).get("color")
    if colour:
        axis.label.set_color(colour)
        axis.set_tick_params(colors=colour)
    if "gridcolor" in looks and looks.get("showgrid", True):
        axis.grid()
        axis.axes.set_axisbelow(True)
    axis.set_visible(looks.get("visible", True))


def _set_range(axis: XAxis | YAxis, looks: _Part) -> None:
    name = axis.axis_name  # 'x' or 'y', with which matplotlib's 'xscale' and 'ylim' begin
    ends = looks.get("range")
    if looks.get("type") == "log":
        axis.axes.set(**{f"{name}scale": "log"})
        if ends:  # the ends of Plotly's logarithmic axis are exponents of ten
            ends = [10.0**end for end in ends]
    if ends:
        axis.axes.set(**{f"{name}lim": tuple(ends)})


def _set_ticks(axis: XAxis | YAxis, looks: _Part) -> None:
    """Those that the layout names, or a few round numbers; none outside of the axis."""
    from matplotlib.ticker import MaxNLocator

    low, high = sorted(axis.get_view_interval())
    values = looks.get("tickvals")
    if looks.get("tickmode") == "linear":
        values = range(math.ceil(low), math.floor(high) + 1)
    if values is not None:
        _set_named_ticks(axis, values, looks.get("ticktext") or values)
        return
    if looks.get("type") == "log":
        axis.set_major_formatter("{x:g}")
        return
    ticks = MaxNLocator(nbins=6, steps=_ROUND_STEPS).tick_values(low, high)
    axis.set_ticks([tick for tick in ticks if low <= tick <= high])
    suffix = looks.get("ticksuffix")
    if suffix:
        axis.set_major_formatter("{x:g}" + suffix)


def _set_named_ticks(axis: XAxis | YAxis, values: Sequence[float], names: Sequence[object]) -> None:
    low, high = sorted(axis.get_view_interval())
    shown = {}
    for value, name in zip(values, names, strict=True):
        if low <= value <= high:
            shown[value] = _plain(str(name))
    axis.set_ticks(list(shown), list(shown.values()))
    axis.set_ticks([], minor=True)


def _draw_shape(axes: Axes, shape: _Part) -> None:
    """An upright line over a part of the height, or what is shaded behind the marks."""
    if shape["type"] == "rect":
        axes.axvspan(shape["x0"], shape["x1"], color=_colour(shape["fillcolor"]), lw=0, zorder=0)
        return
    line = shape["line"]
    look = {
        "color": _colour(line["color"]),
        "lw": line["width"] * _SCALE,
        "ls": _DASHES[line.get("dash", "solid")],
    }
    if shape.get("yref") == "y":  # A shape with a height on this axis is a horizontal line.
        axes.axhline(shape["y0"], shape["x0"], shape["x1"], **look)
    else:
        axes.axvline(shape["x0"], shape["y0"], shape["y1"], **look)


def _draw_note(axes: Axes, note: _Part, width: float, domain: Span) -> None:
    """Words; those at a place on the x axis keep within it.

    Args:
        axes: The axes that the words are on.
        note: As Plotly's layout has it.
        width: The width of the figure, in inches.
        domain: Which part of the chart's height the axes had.
    """
    text = _plain(note["text"])
    share_across = note["x"]
    side = note.get("xanchor", "center")
    if note.get("xref", "x") != "paper":
        share_across = _middle_within_axis(axes, note["x"], text, width)
        side = "center"
    y = note["y"]
    unit_of_y = "data"
    if note.get("yref") == "paper":
        # Plotly counts from the bottom of the figure, matplotlib from that of the axes.
        bottom, top = domain
        y = (y - bottom) / (top - bottom)
        unit_of_y = "axes fraction"
    annotation = axes.annotate(
        text,
        (share_across, y),
        (0, note.get("yshift", 0) * _SHIFT_SCALE),
        xycoords=("axes fraction", unit_of_y),
        textcoords="offset points",
        ha=side,
        va=note.get("yanchor", "middle").replace("middle", "center"),
        size=SMALL,
        color=note["font"]["color"],
        annotation_clip=False,
    )
    is_among_marks = unit_of_y == "data"
    # A note among the marks needs no room of its own.
    annotation.set_in_layout(not is_among_marks)


def _middle_within_axis(axes: Axes, x: float, text: str, figure_width: float) -> float:
    """Where the middle of words stands, as a share of the x axis, so that none is beyond its ends.

    Args:
        axes: Whose x axis it is.
        x: The place that the words are about.
        text: The words.
        figure_width: In inches.
    """
    low, high = axes.get_xlim()
    axis_inches = 0.68 * figure_width  # By estimate, labels and margins take the other third.
    half_of_words = min(_text_inches(len(text)) / axis_inches / 2, 0.5)
    share_across = (x - low) / (high - low)
    # The words are centred at least half their length from both ends of the axis.
    return min(max(share_across, half_of_words), 1 - half_of_words)


# Heatmaps, as tables of shaded cells.


_ROW_INCHES = 0.19
"""Inches of a row."""
_LEGEND_INCHES = 0.35
"""Inches of the legend below."""
_GAP_IN_ROWS = 0.35
"""Rows between two tables."""


def _printed_cells(heatmaps: Sequence[_Part]) -> Figure:
    """Heatmaps turned, so that they fit a column.

    What is across stands at the left, a table below the other; the darker the worse, in grey too.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    # In print, rows and columns of the page's heat map change places.
    columns = [str(name) for name in heatmaps[0]["y"]]
    longest = max(len(name) for name in columns)
    rows = sum(len(heatmap["x"]) for heatmap in heatmaps) + _GAP_IN_ROWS * (len(heatmaps) - 1)
    # Names of columns stand upright above the cells, with 0.1 inch of space.
    figure = Figure(
        figsize=(COLUMN, 0.1 + _text_inches(longest) + _ROW_INCHES * rows + _LEGEND_INCHES)
    )
    axes = figure.subplots()
    names: dict[float, str] = {}
    top = 0.0
    for heatmap in heatmaps:
        for row, name in enumerate(heatmap["x"]):
            names[top + row + 0.5] = name
        _draw_table(axes, heatmap, top)
        top += len(heatmap["x"]) + _GAP_IN_ROWS
    axes.set(xlim=(0, len(columns)), ylim=(rows, 0))
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=90)
    axes.set_yticks(list(names), list(names.values()))
    axes.tick_params(length=0, pad=2)
    axes.spines[:].set_visible(False)
    handles = []
    for share in (0, 1):  # The legend has the colours of the best and of the worst score.
        fill = _cell_look(share).fill
        handles.append(Rectangle((0, 0), 1, 1, fc=fill, ec=LIGHT.muted, lw=0.4))
    labels = heatmaps[0]["colorbar"]["ticktext"]
    figure.legend(handles, labels, loc="outside lower right", ncols=2, handlelength=1)
    return figure


def _draw_table(axes: Axes, heatmap: _Part, top: float) -> None:
    """The cells of one heatmap, turned, from this height down."""
    from matplotlib.patches import Rectangle

    low = heatmap["zmin"]
    span = heatmap["zmax"] - low
    if span == 0:  # all cells have one value
        span = 1.0
    shares = (np.array(heatmap["z"], dtype=np.float64) - low) / span
    if heatmap["reversescale"]:
        shares = 1 - shares
    # The rows of the picture are the columns of the heatmap.
    for (row, column), share in np.ndenumerate(shares.T):
        look = _cell_look(share)
        # A cell is as large as 1 by 1, less a narrow gap around it.
        corner = (column + 0.02, top + row + 0.04)
        axes.add_patch(Rectangle(corner, 0.96, 0.92, fc=look.fill, lw=0))
        number = axes.text(
            column + 0.5,
            top + row + 0.5,
            _plain(heatmap["text"][column][row]) or "-",
            ha="center",
            va="center",
            size=SMALL,
            color=look.ink,
        )
        number.set_in_layout(False)  # a number inside its cell needs no room of its own


class _CellLook(NamedTuple):
    """Colours of a cell and of its words, as matplotlib takes them."""

    fill: _Colour
    ink: str


def _cell_look(share: float) -> _CellLook:
    """How a cell looks.

    Args:
        share: From 0, the lightest, to 1; NaN where there is no cell.
    """
    from matplotlib.colors import to_rgb

    if math.isnan(share):
        return _CellLook("none", LIGHT.muted)
    share = min(max(share, 0.0), 1.0)
    lightest, darkest = (np.array(to_rgb(colour)) for colour in PRINTED_CELLS)
    fill = tuple(lightest + share * (darkest - lightest))
    if share > 0.55:
        return _CellLook(fill, "white")
    return _CellLook(fill, LIGHT.ink)
