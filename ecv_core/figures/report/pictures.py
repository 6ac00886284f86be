"""Figures for print: figure 1, the trade-off, the stops, tables of cells; as files, or in a page.

They say in grey what they say in colour: lines differ in dash and mark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from threading import Lock  # noqa: TID251  the style is the whole process's while a figure is drawn
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecv_core._version import __version__
from ecv_core.analysis.tradeoff.frames import AVERAGE, FIXED, PAPER, RULE, SYSTEM
from ecv_core.figures.efold import HEADROOM, band_rows, plot_range, stop_words, whole_words
from ecv_core.figures.palette import KEPT_SCALE, LIGHT, CellScale, rank_scale
from ecv_core.figures.tradeoff import FINE, highest_difference, legend
from ecv_core.figures.words import alpha_text
from ecv_core.stopping import BASELINE, PAPERS_RULE

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
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


# The figures.


_PERCENT = "{x:g} %"


def efold_picture(
    frame: pd.DataFrame,
    *,
    k: int,
    metric: str,
    stopped_at: int | None,
    confidence: float = 0.95,
    width: float = COLUMN,
    height: float = 2.5,
) -> Figure:
    """Figure 1: mean, interval, its width, the stop.

    Args:
        frame: from `figures.efold.efold_frame`, at least one row.
        k: folds of a whole cross-validation; fixes the x axis.
        metric: the score's name as shown.
        stopped_at: folds used (e); None while the run has not stopped.
        confidence: of the interval, for the legend.
        width: in inches.
        height: in inches.
    """
    figure = _figure(width, height)
    axes = figure.subplots()
    low, top = plot_range(frame)
    axes.set(xlim=(0.5, k + 0.5), ylim=(low, top), xlabel="folds seen (n)", ylabel=metric)
    right = axes.twinx()
    used, checked = frame[frame["used"]], frame[~frame["used"]]
    rest = frame[frame["n"] >= (stopped_at or 0)] if len(checked) else checked
    for rows, alpha, label in ((used, 0.22, f"{100 * confidence:g} % interval"), (rest, 0.1, None)):
        band = band_rows(rows)
        if len(band):
            axes.fill_between(
                band["n"],
                band["low"],
                band["high"],
                color=LIGHT.mean,
                alpha=alpha,
                lw=0,
                label=label,
            )
    faint: dict[str, Any] = {"color": LIGHT.muted, "alpha": 0.7, "markersize": 3.2, "lw": 0}
    axes.plot(used["n"], used["score"], marker="o", label="score of one fold", **faint)
    if len(checked):
        axes.plot(
            checked["n"],
            checked["score"],
            marker="o",
            mfc="none",
            label="fold run to check",
            **faint,
        )
        axes.plot(rest["n"], rest["mean"], color=LIGHT.mean, lw=1, ls=":")
        right.plot(rest["n"], rest["width"], **_width_line(0.4))
    axes.plot(
        used["n"],
        used["mean"],
        color=LIGHT.mean,
        lw=1.6,
        marker="D",
        markersize=3.4,
        label="mean so far",
    )
    widths = right.plot(used["n"], used["width"], label="interval width", **_width_line(1.0))
    if stopped_at is not None and stopped_at < k:
        _mark_stop(axes, k, stopped_at, bool(len(checked)))
        if len(frame) == k:
            mean = float(frame["mean"].iloc[-1])
            axes.axhline(mean, color=LIGHT.ink, lw=0.7, label=whole_words(mean, k))
    axes.set_xticks(range(max(1, k // 20), k + 1, max(1, -(-k // 20))))
    axes.grid(axis="y")
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    right.set(ylim=(0, top - low), ylabel="interval width")
    _turned(axes.yaxis.label, right.yaxis.label)
    for side, colour in ((axes, LIGHT.mean), (right, LIGHT.width)):
        side.yaxis.label.set_color(colour)
        side.tick_params(axis="y", colors=colour)
        side.locator_params(axis="y", nbins=6)
    handles, _ = axes.get_legend_handles_labels()
    columns = 2 if width < 5 else 3
    figure.legend(handles=[*handles, *widths], loc="outside upper left", ncols=columns)
    return figure


def stops_picture(frame: pd.DataFrame, *, alpha: float) -> Figure:
    """How many orders of the folds stop after each fold.

    Args:
        frame: from `tradeoff.stops_frame`.
        alpha: one of the frame's.
    """
    rows = frame[frame["alpha"] == alpha]
    n, percent = rows["n"].to_numpy(), rows["percent"].to_numpy(dtype=np.float64)
    figure = _figure(COLUMN, 2.0)
    axes = figure.subplots()
    axes.bar(n, percent, width=0.82, color=LIGHT.mean)
    for fold, share in zip(n.tolist(), percent.tolist(), strict=True):
        if share >= 1:
            axes.text(
                fold,
                share + 2.5,
                f"{share:.0f}",
                ha="center",
                va="bottom",
                size=SMALL,
                bbox={"fc": "white", "lw": 0, "pad": 0.6},
            )
    mean = float(percent @ n) / 100
    axes.axvline(mean, ymax=0.88, color=LIGHT.stop, lw=1.2, ls="--", zorder=0.9)
    axes.text(mean, 111, f"mean {mean:.1f}", ha="center", va="top", color=LIGHT.stop)
    axes.set(xlim=(0.4, n.max() + 0.6), ylim=(0, 112), xlabel="stops after fold")
    axes.set_ylabel("share of all orders")
    axes.set_xticks(n[:: 1 + len(n) // 20])
    axes.set_yticks([0, 25, 50, 75, 100])
    axes.yaxis.set_major_formatter(_PERCENT)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    _turned(axes.yaxis.label)
    return figure


def curves_picture(frame: pd.DataFrame, across: str, value: str, of: str) -> Figure:
    """A curve for each of several, by line and colour; of one with a single point, none.

    Args:
        frame: a row per point, ordered along its curve.
        across: column of the horizontal axis; in powers of two where it is no rank.
        value: column of the vertical one.
        of: column that names the curve.
    """
    figure = _figure(COLUMN, 2.9)
    axes = figure.subplots()
    curves = [rows for _, rows in frame.groupby(of, sort=False) if len(rows) > 1]
    for at, rows in enumerate(curves):
        x, y = _xy(rows, [across, value])
        colour, dash = LIGHT.series[at % len(LIGHT.series)], ("-", "--", ":", "-.")[at % 4]
        axes.plot(x, y, color=colour, ls=dash, lw=1.2, label=str(rows[of].iloc[0]))
    if across != "rank":
        axes.set_xscale("log", base=2)
        least, most = frame[across].min(), frame[across].max()
        ticks = [2**power for power in range(12) if least <= 2**power <= most]
        axes.set_xticks(ticks, labels=[str(tick) for tick in ticks])
    axes.set_xlabel(across)
    axes.set_ylabel(value)
    axes.grid(axis="y")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, fontsize=SMALL, frameon=False)
    _turned(axes.yaxis.label)
    return figure


def tradeoff_picture(frame: pd.DataFrame, *, alpha: float, cost: str = "energy") -> Figure:
    """What is spent against the difference to the k-fold mean, for every alpha.

    Args:
        frame: from `tradeoff.tradeoff_frame`.
        alpha: the setting to mark, one of the frame's.
        cost: what is counted: 'energy', or 'folds' where there is no energy.
    """
    figure = _figure(COLUMN, 2.9)
    axes, top = figure.subplots(), highest_difference(frame)
    at = ["energy_percent", "difference_percent"]
    systems = frame[frame["kind"] == SYSTEM]
    several = systems["system"].nunique() > 1
    if several:
        for place, (_, rows) in enumerate(systems.groupby("system", sort=False)):
            label = "each run" if place == 0 else None
            axes.plot(*_xy(rows, at), color=LIGHT.mean, lw=0.4, alpha=0.4, label=label)
    fixed = frame[frame["kind"] == FIXED]
    if len(fixed):
        axes.plot(
            *_xy(fixed, at),
            color=LIGHT.muted,
            lw=0.9,
            ls=":",
            marker="s",
            markersize=2.6,
            label=legend(BASELINE),
        )
        for e, x, y in zip(fixed["setting"], *_xy(fixed, at), strict=True):
            if y < top and x <= 100:
                axes.annotate(
                    f"{e:.0f}",
                    (x, y),
                    (1.5, 2),
                    textcoords="offset points",
                    ha="left",
                    va="bottom",
                    size=SMALL,
                    color=LIGHT.muted,
                )
    others = frame[frame["kind"] == RULE]
    for (name, rows), mark in zip(others.groupby("system", sort=False), cycle("dP^Xp")):
        look: dict[str, Any] = {"color": LIGHT.width, "lw": 1.5, "ls": "--"}
        if len(rows) <= FINE:
            look = {
                "color": LIGHT.ink,
                "lw": 0.7,
                "ls": "-.",
                "marker": mark,
                "markersize": 2.6,
            }
        axes.plot(*_xy(rows, at), label=legend(str(name)), **look)
    average = frame[frame["kind"] == AVERAGE]
    name = legend(PAPERS_RULE) + (" (average)" if several else "")
    axes.plot(*_xy(average, at), color=LIGHT.mean, lw=2, label=name)
    here = average[average["setting"] == alpha]
    axes.plot(
        *_xy(here, at),
        color=LIGHT.stop,
        marker="o",
        markersize=5.5,
        mec=LIGHT.ink,
        lw=0,
        label=f"alpha {alpha_text(alpha)}",
    )
    axes.plot(
        *_xy(frame[frame["kind"] == PAPER], at),
        color="white",
        marker="*",
        markersize=8,
        mec=LIGHT.ink,
        lw=0,
        label="average of Baumgart et al. (2024)",
    )
    axes.set(xlim=(0, 104), ylim=(0, top), xlabel=f"{cost} used, of all folds")
    axes.set_ylabel("difference to k-fold mean")
    axes.set_xticks(range(0, 101, 20))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_PERCENT)
    axes.grid()
    axes.set_axisbelow(True)
    _turned(axes.yaxis.label)
    figure.legend(loc="outside upper left", ncols=1)
    return figure


def intervals_picture(rows: pd.DataFrame, label: str) -> Figure:
    """A mark with its interval per row, the first on top; an open end reaches the frame.

    Args:
        rows: name, mean, low and high; NaN for none, infinite for an open end.
    """
    figure = _figure(COLUMN, 0.6 + 0.22 * len(rows))
    axes, places = figure.subplots(), np.arange(len(rows))
    middle, *ends = (rows[name].to_numpy(dtype=np.float64) for name in ("mean", "low", "high"))
    finite = np.concatenate([middle, *ends])[np.isfinite([middle, *ends]).ravel()]
    span = finite.min(), finite.max()
    room = 0.05 * (span[1] - span[0] or 1.0)
    axes.set(xlim=(span[0] - room, span[1] + room), ylim=(len(rows) - 0.5, -0.5), xlabel=label)
    low, high = (np.clip(end, *axes.get_xlim()) for end in ends)
    axes.hlines(places, low, high, color=LIGHT.mean, lw=1.2)
    axes.plot(middle, places, marker="D", markersize=3.4, color=LIGHT.mean, lw=0)
    axes.set_yticks(places, rows["name"].tolist())
    axes.grid(axis="x")
    return figure


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def _turned(*labels: Any) -> None:  # noqa: ANN401  matplotlib's Text
    """Text that every backend places by its middle, whatever font it is set in."""
    for label in labels:
        label.set(rotation_mode="anchor")


def _xy(rows: pd.DataFrame, columns: list[str]) -> tuple[Any, Any]:
    return rows[columns[0]].to_numpy(dtype=float), rows[columns[1]].to_numpy(dtype=float)


def _width_line(alpha: float) -> dict[str, Any]:
    return {
        "color": LIGHT.width,
        "alpha": alpha,
        "lw": 1.3,
        "ls": (0, (4, 2)),
        "marker": "s",
        "markersize": 2.8,
    }


def _mark_stop(axes: Axes, k: int, stopped_at: int, checked: bool) -> None:
    stop, rest = stop_words(k, stopped_at, checked)
    axes.axvspan(stopped_at, k + 0.5, color=LIGHT.ink, alpha=0.06, lw=0)
    low, end = axes.get_ylim()
    marks = end - (end - low) * HEADROOM / (1 + HEADROOM)
    axes.plot([stopped_at] * 2, [low, marks], color=LIGHT.stop, lw=1.2, ls="--")
    place = min(max((stopped_at - 0.5) / k, 0.37), 0.63)  # a column's width has room for it there
    axes.text(
        place,
        (marks + end) / 2,
        f"{stop}, {rest}",
        transform=axes.get_yaxis_transform(),
        ha="center",
        va="center",
        size=SMALL,
        color=LIGHT.stop,
    )


Table = NDArray[np.float64]


def cells_picture(cells: pd.DataFrame, value: str, *, scale: CellScale) -> Figure:
    """Figures 2 and 3: one number per dataset and algorithm, the darker the worse.

    Args:
        cells: one row per cell with the columns dataset, algorithm and `value`.
        value: the column to show.
        scale: of the shades, with the digits of the numbers.
    """
    datasets, algorithms = list(cells["dataset"].unique()), list(cells["algorithm"].unique())
    values = _table(cells, value, algorithms, datasets)
    words = _words(values, f".{scale.digits}f")
    return _cells(datasets, algorithms, words, _shares(values, scale), scale)


def ranks_picture(ranks: pd.DataFrame, stability: pd.DataFrame) -> Figure:
    """Figure 4: the mean rank by the scores at the stops and, in brackets, the rank by k folds.

    Below: in how many orders of the folds all ranks, and the winner, are those of k folds.

    Args:
        ranks: of one alpha: dataset, algorithm, rank_k_fold and rank_e_fold.
        stability: of that alpha: dataset, same_order_percent and same_winner_percent.
    """
    datasets, algorithms = list(ranks["dataset"].unique()), list(ranks["algorithm"].unique())

    stopped = _table(ranks, "rank_e_fold", algorithms, datasets)
    whole = _table(ranks, "rank_k_fold", algorithms, datasets)
    words = [
        [f"{e:.1f} ({k:g})" if e == e else "-" for e, k in zip(under_e, under_k, strict=True)]
        for under_e, under_k in zip(stopped.tolist(), whole.tolist(), strict=True)
    ]
    scale = rank_scale(len(algorithms))
    kept = stability.set_index("dataset").reindex(datasets)[
        ["same_order_percent", "same_winner_percent"]
    ]
    shares = kept.to_numpy(dtype=np.float64).T
    words += [[f"{one} %" if one != "-" else one for one in row] for row in _words(shares, ".0f")]
    shades = np.vstack([_shares(stopped, scale), _shares(shares, KEPT_SCALE)])
    names = [*algorithms, "same order", "same winner"]
    return _cells(datasets, names, words, shades, scale, apart=2)


_ROW, _HEAD, _FOOT, _GAP = 0.19, 0.62, 0.3, 0.35
"""Inches: of a row, of the names above and the legend below; and rows between two tables."""
_LIGHTEST, _DARKEST = np.array([241, 245, 247]) / 255, np.array([0, 80, 126]) / 255


def _shade(share: float) -> tuple[tuple[float, ...], str]:
    """A cell's colour and that of its words, from 0, the lightest, to 1."""
    share = min(max(share, 0.0), 1.0)
    colour = _LIGHTEST + share * (_DARKEST - _LIGHTEST)
    return tuple(colour.tolist()), "#FFFFFF" if share > 0.55 else LIGHT.ink


def _table(frame: pd.DataFrame, value: str, rows: list[str], columns: list[str]) -> Table:
    wide = frame.pivot(index="algorithm", columns="dataset", values=value)
    return wide.reindex(index=rows, columns=columns).to_numpy(dtype=np.float64)


def _words(values: Table, form: str) -> list[list[str]]:
    return [[format(one, form) if one == one else "-" for one in row] for row in values.tolist()]


def _shares(values: Table, scale: CellScale) -> Table:
    """How bad each value is, from 0 to 1."""
    shares: Table = (values - scale.best) / ((scale.worst - scale.best) or 1.0)
    return shares


def _cells(
    columns: list[str],
    rows: list[str],
    words: list[list[str]],
    shades: Table,
    scale: CellScale,
    apart: int = 0,
) -> Figure:
    """Words in shaded cells, names above and at the left; the last `apart` rows stand apart."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    places = [row + (_GAP if row >= len(rows) - apart else 0.0) for row in range(len(rows))]
    end = places[-1] + 1
    figure = Figure(figsize=(COLUMN, _HEAD + _ROW * end + _FOOT))
    axes = figure.subplots()
    for row, place in enumerate(places):
        for column in range(len(columns)):
            known = words[row][column] != "-"
            fill, ink = _shade(float(shades[row, column])) if known else ("none", LIGHT.muted)
            axes.add_patch(Rectangle((column + 0.02, place + 0.04), 0.96, 0.92, fc=fill, lw=0))
            axes.text(
                column + 0.5,
                place + 0.5,
                words[row][column],
                ha="center",
                va="center",
                size=SMALL,
                color=ink,
            )
    axes.set(xlim=(0, len(columns)), ylim=(end, 0))
    axes.xaxis.tick_top()
    axes.set_xticks([column + 0.5 for column in range(len(columns))], columns)
    axes.set_yticks([place + 0.5 for place in places], rows)
    axes.tick_params(length=0, pad=2)
    for label in axes.get_xticklabels():
        label.set(rotation=35, ha="left", va="bottom", rotation_mode="anchor")
    for spine in axes.spines.values():
        spine.set_visible(False)
    handles = [
        Rectangle((0, 0), 1, 1, fc=_shade(share)[0], ec=LIGHT.muted, lw=0.4) for share in (0, 1)
    ]
    labels = [f"better: {scale.best_words}", f"worse: {scale.worst_words}"]
    figure.legend(handles, labels, loc="outside lower right", ncols=2, handlelength=1)
    return figure
