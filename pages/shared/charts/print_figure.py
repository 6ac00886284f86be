"""Figures for a paper: one small button per picture, with PDF, SVG and PGF behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.widgets.tables import file_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TYPES = {"pdf": "application/pdf", "svg": "image/svg+xml", "pgf": "text/x-tex"}


def print_figures(pictures: Mapping[str, Callable[[], Figure]], *, key: str, title: str) -> None:
    """A button that opens the choice; a file is made when its button is pressed.

    Args:
        pictures: name -> what draws it, as in `ecv_core.figures.report`; pure functions of data.
        key: unique on the page.
        title: what they show, such as 'item-knn on ml-100k, alpha 1e-4'; kept in each file.
    """
    with st.popover("Figures for a paper", icon=":material/article:", key=f"print-{key}"):
        st.caption(
            "As wide as a column (3.3 inches), type of at least 7 points, readable in grey. "
            r"PGF is for LaTeX: `\input` it."
        )
        for name, draw in pictures.items():
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(name, width="stretch")
                for form, mime in _TYPES.items():
                    st.download_button(
                        form.upper(),
                        partial(_made, draw, form, f"{name}: {title}"),
                        file_name=f"{file_name(f'{title} {name}')}.{form}",
                        mime=mime,
                        key=f"print-{key}-{name}-{form}",
                        on_click="ignore",
                        help=f"{name} as {form.upper()}",
                        width="content",
                    )


def _made(draw: Callable[[], Figure], form: str, title: str) -> bytes:
    from ecv_core.figures.report.plotting import FORMS, saved

    return saved(draw, next(one for one in FORMS if one == form), title=title)
