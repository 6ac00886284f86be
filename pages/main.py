"""The script of every page: page config and navigation, nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from pages.shared.address.link import drop_infinite_numbers
from pages.shared.address.navigation import account_page, draw_common_parts
from pages.shared.live.person import admit
from pages.shared.live.phones import show_phones
from pages.shared.live.running import draw_running_bar

_PICTURES = Path(__file__).parent / "shared"


_SECTIONS = {
    "": [
        ("home", "Home", "home"),
        ("learn", "Learn", "school"),
        ("data", "Data", "upload_file"),
    ],
    "Evaluate": [
        ("run", "Run", "play_circle"),
        ("best", "Which is best?", "trophy"),
        ("folds", "How many folds?", "tune"),
    ],
    "Results": [
        ("runs", "Runs", "balance"),
        ("replay", "Replay", "replay"),
    ],
    "Studies": [
        ("studies", "Studies", "grid_on"),
        ("splits", "Splits", "splitscreen"),
        ("baselines", "Baselines", "flag"),
    ],
}
"""Heading in the menu -> its pages: folder and address, title, icon."""


def main() -> None:
    """Draw the page that is asked for, with what every page has around it."""
    st.set_page_config(page_icon=str(_PICTURES / "icon.svg"), layout="wide")
    st.logo(str(_PICTURES / "logo.svg"), size="large")
    draw_common_parts()
    drop_infinite_numbers()  # widgets take numbers from the address, and fail on infinite ones
    if not admit():
        # The menu may still be there from before a sign-in ended; this hides it.
        st.navigation(_menu(), position="hidden")
        return
    page = st.navigation(_menu(), position="top")
    draw_running_bar(page)
    # This panel lets the phones of a lecture's audience join. Learn always offers it, other pages
    # while one presents or a lecture goes on.
    show_phones(is_learn_page=page.url_path == "learn")
    with _marked_as_being_drawn():
        page.run()


@contextmanager
def _marked_as_being_drawn() -> Iterator[None]:
    """Inside, the page has a mark, and while watch.js sees it, parts ask for no new drawing."""
    with st.container(key="drawing"):
        mark = st.empty()
    mark.html("<span data-ecv-drawing></span>")
    try:
        yield
    finally:
        mark.empty()


def _menu() -> dict[str, list[st.Page]]:
    menu: dict[str, list[st.Page]] = {}
    for heading, pages in _SECTIONS.items():
        menu[heading] = []
        for name, title, icon in pages:
            page = st.Page(
                f"{name}/{name}.py",
                title=title,
                icon=f":material/{icon}:",
                default=name == "home",
            )
            menu[heading].append(page)
    menu["Account"] = account_page()
    return menu


if __name__ == "__main__":  # not in the workers that Dask starts while a page is drawn
    main()
