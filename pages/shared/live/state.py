"""What all sessions share: one store, one run manager; errors as sentences; choices that stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Final, Literal, TypedDict, TypeVar

import streamlit as st

from ecv_core.access.settings import settings
from ecv_core.jobs.manager import RunManager
from ecv_core.records.errors import EcvError
from ecv_core.store.engine import database_url
from ecv_core.store.listing import RunList
from ecv_core.store.results import Results
from ecv_core.store.store import Store, open_store
from ecv_core.untrusted.texts import blank_hidden_characters

_Made = TypeVar("_Made")
_LINK_STARTS = re.compile(r"(?i)https?\\:(?=//)|www(?=\.)|[\w.+-](?=@[-\w]+\.)")
"""What Markdown makes a link of, escaped or not, unless an invisible sign comes between."""


class _Kept(TypedDict):
    bind: Literal["query-params"]
    persist_state: Literal["session"]


KEPT_IN_ADDRESS: Final[_Kept] = {"bind": "query-params", "persist_state": "session"}
"""For a widget whose value belongs into the address and stays while one visits other pages."""


def made_once(make: Callable[[str], _Made]) -> Callable[[], _Made]:
    """What is made for a database by whoever asks first, and kept for it.

    A page asks for it twenty times; each time Streamlit's cache would take as long as a query.

    Args:
        make: Makes it; is given the address of the database, by which Streamlit keeps it.
    """
    kept = lru_cache(maxsize=1)(st.cache_resource(show_spinner=False)(make))

    @wraps(make)
    def get() -> _Made:
        return kept(database_url())

    return get


@made_once
def store(url: str) -> Store:
    """The database of runs. Raises: StoreError if it cannot be used."""
    return open_store(url)


@made_once
def run_list(url: str) -> RunList:
    """The list of all runs, which remembers the folds that it has read.

    Raises:
        StoreError: If the database cannot be used.
    """
    return RunList(store())


@made_once
def manager(url: str) -> RunManager:
    """The process's one run manager, its worker warm or warming up.

    Raises:
        StoreError: If the database cannot be used.
    """
    started = RunManager(store(), seconds=settings().seconds_per_run)
    started.warm_up()
    return started


def base_path() -> str:
    """What the path of every address of this dashboard begins with: '/ecv', or nothing."""
    path = str(st.get_option("server.baseUrlPath")).strip("/")
    if not path:
        return ""
    return f"/{path}"


def results() -> Results:
    """Every fold score there is: of the database, and of recorded runs.

    Raises:
        StoreError: If the database cannot be used.
    """
    return Results(store())


def show_trouble() -> None:
    """A warning that says why no run can go on, while that is so."""
    trouble = manager().trouble
    if trouble:
        st.warning(escaped(trouble), icon=":material/warning:")


@contextmanager
def errors_as_sentences() -> Iterator[None]:
    """Show an error that was raised on purpose as its one sentence, never as a traceback."""
    try:
        yield
    except EcvError as error:
        show_error(error)


def show_error(error: EcvError) -> None:
    """The error as its one sentence."""
    st.error(sentence(error), icon=":material/error:")


def sentence(error: Exception) -> str:
    """The error's text with a capital first letter and a full stop, safe to show as Markdown."""
    text = str(error).strip()
    text = text[:1].upper() + text[1:]
    if not text.endswith((".", "!", "?")):
        text += "."
    return escaped(text)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, and makes no link of: neither address is clicked on.

    A sign that nobody sees, or that turns the order of what follows, becomes a blank.
    """
    text = blank_hidden_characters(text)
    for sign in "\\`*_$[]<~#:":  # the backslash comes first, as the other escapes add backslashes
        text = text.replace(sign, f"\\{sign}")
    return _LINK_STARTS.sub("\\g<0>\u2060", text)
