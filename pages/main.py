"""The script of every page: page config and navigation, nothing else."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from pages.shared.address.link import drop_infinite_numbers
from pages.shared.address.navigation import account_page, look
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
    """The page that is asked for."""
    st.set_page_config(page_icon=str(_PICTURES / "icon.svg"), layout="wide")
    st.logo(str(_PICTURES / "logo.svg"), size="large")
    look()
    drop_infinite_numbers()
    if not admit():
        st.navigation(_menu(), position="hidden")
        return
    page = st.navigation(_menu(), position="top")
    draw_running_bar(page)
    show_phones(is_learn_page=page.url_path == "learn")
    with _drawing():
        page.run()


@contextmanager
def _drawing() -> Iterator[None]:
    """Marks the page as being drawn: its parts ask for nothing meanwhile, see watch.js."""
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
