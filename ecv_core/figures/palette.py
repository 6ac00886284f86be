"""What figures share: colours and layouts for light and dark pages, scales, steps of a slider."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ecv_core.untrusted.texts import disarm_chart_texts, disarm_figure

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


Looks = dict[str, Any]
"""Of a trace, an axis or a layout: what Plotly calls each of its attributes -> its value."""

Span = tuple[float, float]
"""The two ends of an axis, the lower one first."""


@dataclass(frozen=True, kw_only=True)
class Palette:
    """Okabe and Ito's colours (2008), brightened on dark ground; all are CSS colours."""

    ink: str
    ground: str
    muted: str
    grid: str
    mean: str
    band: str
    faint_band: str
    width: str
    stop: str
    saved: str
    series: tuple[str, ...]
    """For several systems in one figure; dark or light enough for their names in them."""
    cells: tuple[str, ...]
    """Of a table, from the weakest to the strongest. Ink is easy to read on each of them, and on
    those of `moved`: a step of a slider need not change it."""
    moved: tuple[str, ...]
    """Lost, kept, gained."""

    def series_colour(self, number: int) -> str:
        """The colour of a system in a figure of several, which may be more than there are."""
        return self.series[number % len(self.series)]

    def series_line(self, number: int) -> Looks:
        """Its line, told apart by its dashes too where colours are not seen."""
        dash = _DASHES[number % len(_DASHES)]
        return {"color": self.series_colour(number), "dash": dash, "width": 3}


_DASHES = ("solid", "dash", "dot", "dashdot")

LIGHT = Palette(
    ink="#1D2730",
    ground="#FBFBF9",
    muted="#4E5A64",
    grid="rgba(29, 39, 48, 0.10)",
    mean="#0072B2",
    band="rgba(0, 114, 178, 0.20)",
    faint_band="rgba(0, 114, 178, 0.10)",
    width="#00795A",
    stop="#C2361B",
    saved="rgba(29, 39, 48, 0.06)",
    series=("#0072B2", "#C2361B", "#00795A", "#A8497F", "#8A5C00", "#1D2730"),
    cells=("#F1F5F7", "#3E9BD3"),
    moved=("#F4B183", "#F1F5F7", "#7FBCE6"),
)
DARK = Palette(
    ink="#E6EAED",
    ground="#12181F",
    muted="#B4BEC7",
    grid="rgba(230, 234, 237, 0.13)",
    mean="#56B4E9",
    band="rgba(86, 180, 233, 0.26)",
    faint_band="rgba(86, 180, 233, 0.13)",
    width="#3BC79C",
    stop="#FF8A6B",
    saved="rgba(230, 234, 237, 0.08)",
    series=("#56B4E9", "#FF8A6B", "#3BC79C", "#E59BC6", "#E6B23C", "#E6EAED"),
    cells=("#1C2833", "#1B6699"),
    moved=("#8A4A20", "#1C2833", "#1B6699"),
)
PARTS = ("#0072B2", "#56B4E9", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#E69F00")
"""Blue, sky, green, pink, yellow, red, orange as published: bars alike on light and dark pages."""

PRINTED_CELLS = ("#F1F5F7", "#00507E")
"""Of a table in print, from the weakest to the strongest; in grey they are far apart too."""


def palette(dark: bool) -> Palette:
    """The colours for this ground."""
    if dark:
        return DARK
    return LIGHT


def css_variables() -> str:
    """The colours that the pages' own components draw with, as a rule of CSS: '--ecv-mean'."""
    rules = []
    for name in ("mean", "stop", "width", "ground"):
        light = getattr(LIGHT, name)
        dark = getattr(DARK, name)
        rules.append(f"--ecv-{name}: light-dark({light}, {dark});")
    return f":root {{ {' '.join(rules)} }}"


def base_layout(colours: Palette, height: int) -> Looks:
    """Layout of every figure: large type for the last row, no own background, no animation."""
    return {
        "template": None,
        "height": height,
        "margin": {"l": 12, "r": 12, "t": 56, "b": 12},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {
            "family": "Source Sans, Segoe UI, system-ui, sans-serif",
            "size": 16,
            "color": colours.ink,
        },
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"size": 15, "color": colours.ink},
        },
        "hovermode": "x unified",
        "dragmode": False,
    }


def lay_out(figure: go.Figure, layout: Mapping[str, Any], **more: object) -> go.Figure:
    """Give a figure its layout, `more` over it, beside the shapes and notes that it has.

    Every figure comes through here when its traces are in it: its texts are disarmed.
    All of it at once and without Plotly's template: `update_layout` takes twenty times as long.
    """
    # Plotly's own template would make each page larger. It is replaced by the empty one, 'none',
    # which is taken out too.
    figure.layout = figure.layout.to_plotly_json() | layout | more | {"template": "none"}
    figure.layout.template = None
    # Names may come from other people, and must not become links or images.
    disarm_figure(figure)
    return figure


def plain_axis(
    title: str, *, size: int | None = None, standoff: int | None = None, **more: object
) -> Looks:
    """An axis without a line at zero; `more` as Plotly's layout.xaxis takes it.

    Args:
        title: May be empty.
        size: The size of the title's type, if not that of the figure, in pixels.
        standoff: From the axis to its title, in pixels; by default Plotly's.
    """
    words: Looks = {"text": title}
    if size is not None:
        words["font"] = {"size": size}
    if standoff is not None:
        words["standoff"] = standoff
    return {"title": words, "zeroline": False, "automargin": True} | more


def note(text: str, size: int, colour: str, **more: object) -> Looks:
    """Words on a figure, without an arrow; `more` as `add_annotation` takes it."""
    font = {"size": size, "color": colour}
    return {"text": text, "showarrow": False, "font": font} | more


def part_styles(colours: Palette) -> dict[str, tuple[str, str]]:
    """Part of a split, in the order of legends -> colour and marker, as Plotly names it."""
    blue, red, green, violet, _, ink = colours.series
    return {
        "training": (blue, "circle"),
        "fold-in": (green, "square"),
        "validation": (violet, "triangle-up"),
        "test": (red, "diamond"),
        "unused": (colours.muted, "circle-open"),
        "unknown": (ink, "x"),
    }


TEXT = 19
"""Pixels of the type of axes and legends in a lecture."""
LABEL = 21
"""Pixels of words beside marks."""
BIG = 26
"""Pixels of the one number to remember."""
FIGURE_1_SCALE = 1.2
"""What makes figure 1, which the working pages show too, as legible as the rest of a lecture."""


def lecture_layout(colours: Palette, height: int) -> Looks:
    """`base_layout` with larger type and no hover box over several traces."""
    layout = base_layout(colours, height)
    layout["font"]["size"] = TEXT
    layout["legend"]["font"]["size"] = TEXT
    layout["hovermode"] = "closest"
    return layout


def axis(title: str, colours: Palette, **more: object) -> Looks:
    """An axis in the type of a lecture; `more` as Plotly's layout.xaxis takes it."""
    looks = {"gridcolor": colours.grid, "linecolor": colours.muted, "fixedrange": True}
    return plain_axis(title, size=TEXT, standoff=10, **looks) | more


def fold_axis(title: str, k: int, colours: Palette) -> Looks:
    """An axis over the folds 1 .. k."""
    return axis(title, colours, **fold_ticks(k))


def fold_ticks(k: int, most_with_tick_each: int = 20) -> Looks:
    """Where such an axis begins and ends, and its ticks: one per fold up to so many folds."""
    ticks = {
        "range": [0.5, k + 0.5],
        "tickmode": "linear",
        "tick0": 1,
        "dtick": 1,
        "showgrid": False,
        "showline": True,
    }
    if k > most_with_tick_each:
        ticks["tickmode"] = "auto"
    return ticks


# How a figure changes along a slider.


@dataclass(frozen=True, kw_only=True)
class Step:
    """What a figure shows at one step of a slider."""

    alt: str
    """That in a sentence, for those who do not see it."""
    changes: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """Trace number -> what of that trace to replace (x, y, text ...); of all steps, or of none."""
    figure: int = 0
    """Which of several figures to show."""
    largest_x: float | None = None
    """Up to where each of its traces is shown; None for the whole figure, as at all steps then."""
    note: str = ""
    """What a saved picture says about this step beside its name, such as 'alpha 1e-4'."""


def steps_json(steps: Sequence[Step]) -> str:
    """As the figure component reads them: for each field, its values at all steps."""
    values = {
        "patches": disarm_chart_texts([step.changes for step in steps if step.changes]),
        "variants": [step.figure for step in steps],
        "ends": [step.largest_x for step in steps if step.largest_x is not None],
        "alts": [step.alt for step in steps],
        "notes": [step.note for step in steps],
    }
    return json.dumps(values, separators=(",", ":"))


def changed_by(step: Step, figure: go.Figure) -> go.Figure:
    """The figure as it is at this step, changed in place."""
    for trace, change in step.changes.items():
        figure.data[trace].update(change)
    return figure


# What colours of cells span: the same on a page and in print.


@dataclass(frozen=True, kw_only=True)
class CellScale:
    """How the cells of a table are coloured: the stronger or darker, the worse."""

    best: float
    """The value with the faintest colour; it may be above `worst`."""
    worst: float
    """The value with the strongest colour."""
    best_words: str
    worst_words: str
    digits: int = 0
    """Of the numbers in the cells, after the point."""


def difference_scale(cells: pd.DataFrame) -> CellScale:
    """Of figure 2; one wild cell does not flatten all others.

    Args:
        cells: With the column difference_percent, of all alphas that are to be comparable.
    """
    worst = float(cells["difference_percent"].quantile(0.99))
    return CellScale(
        best=0.0, worst=worst, best_words="0 %", worst_words=f"{worst:.2g} % or more", digits=2
    )


def stop_scale(k: int) -> CellScale:
    """Of figure 3: the mean stop, at least 2 of k folds."""
    return CellScale(
        best=2.5, worst=float(k), best_words="few folds", worst_words=f"all {k} folds", digits=1
    )


def rank_scale(algorithms: int) -> CellScale:
    """Of the ranks in figure 4."""
    last_rank = max(algorithms, 2)
    return CellScale(
        best=1.0,
        worst=float(last_rank),
        best_words="rank 1, 100 % kept",
        worst_words=f"rank {last_rank}, 0 % kept",
        digits=1,
    )


KEPT_SCALE = CellScale(best=100.0, worst=0.0, best_words="100 % kept", worst_words="0 % kept")
"""Of the shares in figure 4: orders that keep the ranks."""
