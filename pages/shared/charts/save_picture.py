"""A menu that saves a picture: as a web page that needs no server, or as an animated picture."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.widgets.tables import file_name

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from ecv_core.figures.report.moving import MovingChart, MovingForm

_LABEL = "Save the picture"
_TYPES: dict[MovingForm, str] = {"html": "text/html", "webp": "image/webp", "gif": "image/gif"}


def save_picture(
    make: Callable[[], MovingChart],
    *,
    name: str,
    key: str,
    label: str = _LABEL,
    moves: bool = True,
) -> None:
    """A menu with a chart as files; each is made when its button is pressed.

    Args:
        make: Gives the chart; a pure function of data.
        name: The name of the files, such as 'replay of item-knn on ml-100k'.
        key: Unique on the page.
        label: The label of the menu.
        moves: Whether there are animated pictures of it.
    """
    with _menu(label, key):
        page_label = "Web page"
        if moves:
            page_label = "Web page, with play and pause"
        _save_button(page_label, partial(_file, make, "html"), "html", name=name, key=key)
        if not moves:
            return
        dark = st.toggle("Pictures for dark slides", key=f"{key}-dark")
        picture = partial(_file, make, dark=dark)
        _save_button("Animated WebP", partial(picture, "webp"), "webp", name=name, key=key)
        _save_button("Animated GIF", partial(picture, "gif"), "gif", name=name, key=key)


def save_page(make: Callable[[], str], *, name: str, key: str) -> None:
    """A menu with a picture as a web page, which is made when its button is pressed.

    Args:
        make: Gives the page.
        name: The name of the file.
        key: Unique on the page.
    """
    with _menu(_LABEL, key):
        _save_button("Web page", make, "html", name=name, key=key)


def _menu(label: str, key: str) -> DeltaGenerator:
    menu = st.popover(label, icon=":material/download:", type="tertiary", key=f"save-{key}")
    menu.caption("For slides and course pages: these files need neither e-fold nor a network.")
    return menu


def _save_button(
    label: str, make: Callable[[], bytes | str], form: MovingForm, *, name: str, key: str
) -> None:
    st.download_button(
        label,
        make,
        file_name=f"{file_name(name)}.{form}",
        mime=_TYPES[form],
        key=f"{key}-{form}",
        on_click="ignore",
    )


def _file(make: Callable[[], MovingChart], form: MovingForm, *, dark: bool = False) -> bytes:
    from ecv_core.figures.report.moving import moving_file

    return moving_file(make(), form, dark=dark)
