"""The frame of every page: its head, its look, and how one leads to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ecv_core.access.roles import PersonRole
from ecv_core.access.settings import Mode, settings
from ecv_core.records.errors import EcvError
from pages.shared.address.link import link_button, translate_address
from pages.shared.base.component import component
from pages.shared.base.present import presentation
from pages.shared.base.rows import row_container, spread_row
from pages.shared.live.person import who
from pages.shared.live.state import errors_as_sentences

VIEW = "view"
"""In the address: which view of a page that has several."""
ALL_RUNS = "All runs"
COMPARE = "Compare"
NODES = "Nodes"
FOLD_BY_FOLD = "Fold by fold"
RACE = "Race"
ALGORITHMS = "Datasets and algorithms"
RANKS = "Splits and ranks"
METRICS = "Metrics and parameters"
PAPERS = "Papers"
ESTIMATORS = "Estimators"

_menu = component(__file__, "ecv_menu", html="", js=["menu.js"])
_press = component(__file__, "ecv_press_link", html="", js=["press_link.js"])


def draw_common_parts() -> None:
    """What every page has besides its own; call once per run of the app. Its style is look.css."""
    link_button()
    presentation()
    with st.container(key="menu-mended"):
        _menu(key="menu", data={})


@contextmanager
def page() -> Iterator[None]:
    """What a page file does all its work in: errors raised on purpose become sentences.

    A page that is run on its own draws nothing for those who may not see it.
    """
    may_look = False  # it stays False where an error hides who this is
    with errors_as_sentences():
        may_look = who().role is not PersonRole.NOBODY
    if not may_look:
        st.stop()
    with errors_as_sentences():
        yield


class PageHead(NamedTuple):
    """The head of a page with several views."""

    view: str
    """The chosen one."""
    beside_title: DeltaGenerator
    """Room for more widgets."""


def draw_page_head(titles: Mapping[str, str]) -> PageHead:
    """Draw the title of a page with several views, and the choice among them beside it.

    Args:
        titles: View -> the page's title in it; the first view is the usual one.
    """
    views = list(titles)
    _forget_unknown_view(views)
    with spread_row():
        # The title depends on the view, which is picked below.
        title = st.container(width="content")
        with row_container(width="content"):
            picked = st.segmented_control(
                "View",
                views,
                default=views[0],
                required=True,
                key=VIEW,
                bind="query-params",
                label_visibility="collapsed",
                wrap=True,
            )
            view = picked or views[0]
            beside_title = st.container(width="content")
    title.title(titles[view], anchor=False, width="content")
    return PageHead(view, beside_title)


def _forget_unknown_view(views: Sequence[str]) -> None:
    """Before the choice of a view is drawn, drop what is no view of this page.

    It may come from the address or from the session, under the same key.
    """
    # Links name views as the widget does, so nothing has to be translated. This call only warns of
    # a view in the link that the page does not have.
    label_of_view = {view: view for view in views}
    translate_address(VIEW, label_of_view, warns_of_unknown=True)
    # Every page with views has this key: the session may have a view of the page that was open
    # before, which Streamlit would write into the address of this one.
    if st.session_state.get(VIEW, views[0]) not in views:
        del st.session_state[VIEW]


def show_view(view: str) -> None:
    """Go to another view of this page; call it from a callback."""
    st.session_state[VIEW] = view


def account_page() -> list[st.Page]:
    """Where people see what they may do, where that is not everything."""
    mode = Mode.PRIVATE
    with suppress(EcvError):  # every page shows the error of wrong settings
        mode = settings().mode
    if mode is Mode.PRIVATE:
        return []
    title = "Your account"
    if mode is Mode.PUBLIC:
        title = "For visitors"
    return [st.Page("account/account.py", title=title, icon=":material/account_circle:")]


def open_page(page: str, query_params: Mapping[str, str | Sequence[str]]) -> None:
    """Open another page with these query parameters, as one step that Back goes back.

    `st.switch_page` gives the parameters to the page that is left first, as a step of its own.

    Args:
        page: Its file, as for `st.page_link`.
        query_params: Query parameter -> its value, or its values.
    """
    with st.container(key="go-there", height=1, border=False):
        st.page_link(page, label="Open", query_params=dict(query_params))
    _press(key="go-press", data={"query": urlencode(query_params, doseq=True)})
