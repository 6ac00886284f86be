"""A layout for the last row of a lecture hall: larger type than on the working pages."""

from __future__ import annotations

from typing import Any

from ecv_core.figures.palette import Palette, base_layout

TEXT, LABEL, BIG = 19, 21, 26
"""Type sizes in pixels: axes and legends, words beside marks, the one number to remember."""
FIGURE_1_SCALE = 1.2
"""What makes figure 1, which the working pages show too, as legible as the rest of a lecture."""


def lecture_layout(colours: Palette, height: int) -> dict[str, Any]:
    """`base_layout` with larger type and no hover box over several traces."""
    layout = base_layout(colours, height)
    layout["font"] = layout["font"] | {"size": TEXT}
    layout["legend"] = layout["legend"] | {"font": {"size": TEXT, "color": colours.ink}}
    return layout | {"hovermode": "closest"}


def axis(title: str, colours: Palette, **more: object) -> dict[str, Any]:
    """An axis with a title; `more` as Plotly's layout.xaxis takes it."""
    return {
        "title": {"text": title, "font": {"size": TEXT}, "standoff": 10},
        "zeroline": False,
        "automargin": True,
        "gridcolor": colours.grid,
        "linecolor": colours.muted,
        "fixedrange": True,
    } | more


def fold_axis(title: str, k: int, colours: Palette) -> dict[str, Any]:
    """An axis over the folds 1 .. k."""
    return axis(
        title,
        colours,
        range=[0.5, k + 0.5],
        tickmode="linear" if k <= 20 else "auto",
        tick0=1,
        dtick=1,
        showgrid=False,
        showline=True,
    )


def bar_label(bar: str, words: str, colours: Palette, size: int = LABEL) -> dict[str, Any]:
    """An annotation above a horizontal bar: beside it, narrow screens have no room for words."""
    return {
        "x": 0,
        "y": bar,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 12,
        "text": words,
        "align": "left",
        "showarrow": False,
        "font": {"size": size, "color": colours.ink},
    }
