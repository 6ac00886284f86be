"""A Plotly figure on a page, drawn in place: no flicker when a fold arrives, zoom kept.

`st.plotly_chart` makes a new node for every change of its data (Streamlit issue 8782), so this is
a small component that calls `Plotly.react` with the plotly.js of the installed plotly package.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import streamlit as st

from ecv_core.figures.palette import Step, steps_json
from ecv_core.untrusted.texts import disarm_chart_text
from pages.shared.base.component import component
from pages.shared.base.rows import row_container
from pages.shared.live.server import PLOTLY
from pages.shared.widgets.tables import draw_chart_table, file_name

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go
    from matplotlib.figure import Figure
    from streamlit.delta_generator import DeltaGenerator

    from ecv_core.figures.report.saving import Form

_LOADER = "load_plotly.js"

_figure = component(
    __file__,
    "ecv_figure",
    html='<div class="ecv-chart"><div class="ecv-figure"></div>'
    '<div class="ecv-save"><button type="button" aria-label="Save this chart as PNG">PNG</button>'
    '<button type="button" aria-label="Save this chart as SVG">SVG</button></div></div>',
    css="plot.css",
    js=[_LOADER, "../live/shared.js", "plot.js"],
)


class MakeFigure(Protocol):
    """Makes a figure for a light or a dark page."""

    def __call__(self, *, dark: bool) -> go.Figure | Sequence[go.Figure]:
        """Of data that do not change meanwhile."""


def plot(
    make: MakeFigure,
    *,
    cache_key: Hashable,
    key: str,
    alt: str,
    name: str,
    slider_name: str = "",
    steps: Callable[[], Sequence[Step]] | None = None,
    table: Callable[[], pd.DataFrame] | None = None,
    address_of_point: Mapping[str, str] | None = None,
    least_width: int = 0,
    least_phone_width: int = 0,
) -> None:
    """Draw a figure, with buttons that save it as PNG or SVG.

    Args:
        make: Gives the figure for a light or a dark page; a pure function of data.
            Where `steps` name one of several figures, it gives all of them.
        cache_key: Stands for that data: the figure is made anew only when this changes.
        key: The same key is the same figure on the page, however its data changes.
        alt: One sentence with what the figure shows.
        slider_name: Name of the `watch_slider` that moves the figure in the browser.
        steps: What each step of the slider changes; a pure function of the same data.
        name: The name of the files it is saved in, such as 'item-knn on ml-100k', and the title of
            a saved picture, to which the slider's step is added.
        table: Gives the numbers behind the figure; they are made, and shown below it with their
            CSV, only when asked for.
        address_of_point: A cell or point -> the address that a click on it opens. It is named by
            its place on both axes, as 'ease|ml-100k'; by the axis of its panel and the place on
            that, as 'y2|0'; by its text or by its name.
        least_width: In pixels; where there is less room the figure scrolls sideways.
        least_phone_width: The same on a phone; by default less only by shorter names of rows.
    """
    # The entries are all of the component's data that depends on the figure; `draw_figure` adds
    # what stays the same.
    entries = figure_entries(
        make, cache_key=cache_key, key=key, alt=alt, slider_name=slider_name, steps=steps
    )
    place: AbstractContextManager[object] = nullcontext()
    if least_width:
        place = _scrolling_container(key, least_width, least_phone_width)
    with place:
        draw_figure(entries, key=key, name=name, table=table, address_of_point=address_of_point)


def figure_entries(
    make: MakeFigure,
    *,
    cache_key: Hashable,
    key: str,
    alt: str,
    slider_name: str = "",
    steps: Callable[[], Sequence[Step]] | None = None,
) -> dict[str, Any]:
    """What changes of a figure as its data does, for plot.js; the arguments are those of `plot`.

    Returns:
        The figure as JSON for a light and a dark page as 'light' and 'dark'; 'alt'; 'height' in
        pixels; and where a slider moves it, 'slider' and 'steps'.
    """
    # Streamlit gives a copy of what it keeps, so that more can be added.
    entries = _figure_as_json(key, cache_key, make, steps)
    entries["alt"] = alt
    if steps is not None:
        entries["slider"] = slider_name
    return entries


def draw_figure(
    entries: Mapping[str, Any],
    *,
    key: str,
    name: str,
    page_version: str = "",
    caption: str = "",
    table: Callable[[], pd.DataFrame] | None = None,
    draw_open_table: Callable[[Callable[[], None]], None] | None = None,
    address_of_point: Mapping[str, str] | None = None,
) -> None:
    """Draw a figure, which all who watch may be shown alike; see `shared_entries`.

    Args:
        entries: As of `figure_entries`.
        key: As of `plot`; so are `name`, `table` and `address_of_point`.
        page_version: When this changes, the page is scrolled to its top.
        caption: What a saved picture says about itself, such as 'item-knn on ml-100k, alpha 1e-4';
            by default its name.
        draw_open_table: Draws the part of the page with the open table, by the function that it
            is given; by default the table is drawn once.
    """
    # A click on a point of the figure opens its address.
    addresses = {}
    for point, address in (address_of_point or {}).items():
        # The texts in the figure are disarmed in the same way.
        addresses[disarm_chart_text(point)] = address
    data = {
        "plotly": PLOTLY,
        "top": page_version,  # when this changes, the page is scrolled to its top
        "name": file_name(name),
        "caption": disarm_chart_text(caption or name),  # the title of a saved picture
        "opens": addresses,
    }
    _figure(key=key, data={**data, **entries}, height=entries["height"])
    # If the figure follows a run, `draw_open_table` draws the rows of the table again after each
    # fold of the run.
    if table is not None:
        draw_chart_table(
            table, key=key, name=name, alt=entries["alt"], draw_open_table=draw_open_table
        )


_NARROWER_NAMES_ON_PHONE = 120
"""Pixels by which names of rows in several lines, as a phone has them, are narrower."""


def _scrolling_container(key: str, least_width: int, least_phone_width: int) -> DeltaGenerator:
    """Where a figure is drawn that scrolls sideways on a narrow page, rather than shrinks.

    Args:
        key: The key of the figure.
        least_width: Its width in pixels.
        least_phone_width: The same on a phone; 0 for less only by shorter names of rows.
    """
    box = f".st-key-{key}-figure"
    # Names of rows take less room on a phone, where they stand in several lines.
    phone_width = least_phone_width or least_width - _NARROWER_NAMES_ON_PHONE
    st.html(
        f"<style>{box} .ecv-chart {{ overflow-x: auto; }} "
        f"{box} .ecv-figure {{ min-width: {least_width}px; }} "
        f"@media (max-width: 640px) {{ {box} .ecv-figure {{ min-width: {phone_width}px; }} "
        f"{box}::before {{ content: 'Scroll sideways to see all columns.'; font-size: 0.875rem; }} "
        "}</style>"
    )
    return st.container(key=f"{key}-figure")


@st.cache_data(
    show_spinner=False,
    max_entries=64,
    hash_funcs={tuple: repr},  # a cache key holds plain data, whose text says all of it
)
def _figure_as_json(
    key: str,
    cache_key: Hashable,
    _make: MakeFigure,
    _steps: Callable[[], Sequence[Step]] | None,
) -> dict[str, Any]:
    """What `figure_entries` has of the figure itself; Streamlit keeps it by key and cache key."""
    # Streamlit keeps what this gives by those arguments alone that begin with no underscore.
    light = _make(dark=False)
    if isinstance(light, Sequence):  # one of them is shown at a time, and all have the same height
        height = light[0].layout.height
    else:
        height = light.layout.height
    entries = {"light": _json(light), "dark": _json(_make(dark=True)), "height": int(height)}
    if _steps is not None:
        entries["steps"] = steps_json(_steps())
    return entries


def _json(figures: go.Figure | Sequence[go.Figure]) -> str:
    if isinstance(figures, Sequence):
        variants = ",".join(map(_json, figures))
        return f"[{variants}]"
    return str(figures.to_json())


def preload_plots() -> None:
    """Load plotly.js before the first figure needs it; a component itself is loaded too late."""
    st.html(_head_start(), unsafe_allow_javascript=True)


@cache
def _head_start() -> str:
    loader = Path(__file__).with_name(_LOADER).read_text(encoding="utf-8")
    # An error is ignored here: the first figure loads plotly.js again, and says what is wrong.
    return f"<script>{{ {loader} loaded({json.dumps(PLOTLY)}).catch(() => {{}}); }}</script>"


_TYPES: dict[Form, str] = {"pdf": "application/pdf", "svg": "image/svg+xml", "pgf": "text/x-tex"}


def print_figures(pictures: Mapping[str, Callable[[], Figure]], *, key: str, title: str) -> None:
    """A row of buttons for each picture; a file is made when its button is pressed.

    Args:
        pictures: Name -> what draws it, as in `ecv_core.figures.report`; pure functions of data.
        key: Unique on the page.
        title: What they show, such as 'item-knn on ml-100k, alpha 1e-4'; kept in each file.
    """
    st.caption(
        "As wide as a column (3.3 inches), type of at least 7 points, readable in grey. "
        r"PGF is for LaTeX: `\input` it."
    )
    for name, draw in pictures.items():
        with row_container():
            st.markdown(name, width="stretch")
            for form, mime in _TYPES.items():
                st.download_button(
                    form.upper(),
                    partial(_file, draw, form, f"{name}: {title}"),
                    file_name=f"{file_name(f'{title} {name}')}.{form}",
                    mime=mime,
                    key=f"print-{key}-{name}-{form}",
                    on_click="ignore",
                    help=f"{name} as {form.upper()}",
                )


def _file(draw: Callable[[], Figure], form: Form, title: str) -> bytes:
    from ecv_core.figures.report.saving import figure_bytes

    return figure_bytes(draw, form, title=title)
