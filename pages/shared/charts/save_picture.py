"""A menu that saves a chart in steps: as a web page that plays, or as an animated picture."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.widgets.tables import file_name

if TYPE_CHECKING:
    from ecv_core.figures.report.moving import MovingChart, MovingForm

_TYPES: dict[MovingForm, str] = {"html": "text/html", "webp": "image/webp", "gif": "image/gif"}


def save_picture(
    make: Callable[[], MovingChart], *, name: str, key: str, label: str = "Save the picture"
) -> None:
    """A menu with the chart as files; each is made when its button is pressed.

    Args:
        make: Gives the chart; a pure function of data.
        name: Of the files, such as 'replay of item-knn on ml-100k'.
        key: Unique on the page.
        label: Of the menu.
    """
    with st.popover(label, icon=":material/download:", type="tertiary", key=f"save-{key}"):
        st.caption("For slides and course pages: these files need neither e-fold nor a network.")
        dark = st.toggle("Pictures for dark slides", key=f"{key}-dark")
        _save_button(make, "Web page, with play and pause", "html", name=name, key=key)
        _save_button(make, "Animated WebP", "webp", name=name, key=key, dark=dark)
        _save_button(make, "Animated GIF", "gif", name=name, key=key, dark=dark)


def _save_button(
    make: Callable[[], MovingChart],
    label: str,
    form: MovingForm,
    *,
    name: str,
    key: str,
    dark: bool = False,
) -> None:
    st.download_button(
        label,
        partial(_file, make, form, dark=dark),
        file_name=f"{file_name(name)}.{form}",
        mime=_TYPES[form],
        key=f"{key}-{form}",
        on_click="ignore",
    )


def _file(make: Callable[[], MovingChart], form: MovingForm, *, dark: bool) -> bytes:
    from ecv_core.figures.report.moving import moving_file

    return moving_file(make(), form, dark=dark)
