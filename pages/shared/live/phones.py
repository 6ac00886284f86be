"""The lecturer's side of a lecture: a button, the code and the address, how many follow and bet."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from ipaddress import ip_address
from urllib.parse import urlsplit

import streamlit as st

from ecv_core.access.settings import Mode, settings
from ecv_core.records.errors import InputError
from pages.shared.base.component import component, ignore
from pages.shared.base.present import presenting
from pages.shared.live.classroom import PATH, Room, close_room, is_open, new_room, phone_listener
from pages.shared.live.state import base_path

_LECTURE = "lecture"
"""In the session: the lecture that it gives."""
_PROBLEM = "lecture-problem"
"""In the session: why no lecture could begin."""

_panel = component(__file__, "ecv_phones", html="", css="phones.css", js=["phones.js"])


@dataclass(frozen=True)
class Lecture:
    """A room and its address."""

    room: Room
    address: str
    """That phones open."""


def lecture() -> Room | None:
    """The room of this session, while it is open."""
    begun: Lecture | None = st.session_state.get(_LECTURE)
    if begun is None or not is_open(begun.room):
        return None
    return begun.room


def show_phones(*, is_learn_page: bool) -> None:
    """Offer a lecture in a presentation and on Learn, and stay on every page while it goes on.

    Args:
        is_learn_page: Whether the page is Learn, whose chapters are read in a hall as they are.
    """
    if settings().mode is Mode.PUBLIC:
        # There any stranger could begin a lecture, and show others whatever they like.
        return
    room = lecture()
    if room is None and not is_learn_page and not presenting():
        return
    data = {"room": None, "problem": st.session_state.pop(_PROBLEM, "")}
    if room is not None:
        address = st.session_state[_LECTURE].address
        data["room"] = {
            "code": room.code,
            "key": room.key,
            "address": address,
            "qr": _qr_code(address),
        }
    with st.container(key="told-phones"):  # this takes no room, as the panel floats above the page
        pressed = _panel(
            key="phones",
            data=data,
            on_begin_change=ignore,
            on_end_change=ignore,
        )
    if pressed.begin and room is None:
        _begin_lecture()
        st.rerun()
    if pressed.end and room is not None:
        close_room(room)
        st.rerun()


def _qr_code(address: str) -> str:
    """An address as an SVG element, with the white around it that readers ask for."""
    import segno  # only lectures need this package

    code = segno.make(address, micro=False)
    return str(
        code.svg_inline(border=4, light="#fff", omitsize=True, title="QR code of the address")
    )


def _begin_lecture() -> None:
    """Open a room and find its address, or note why there is none."""
    try:
        base = phones_base(str(st.context.url or ""))
        room = new_room()
        st.session_state[_LECTURE] = Lecture(room, f"{base}{PATH}{room.code}")
    except InputError as error:
        st.session_state[_PROBLEM] = str(error)


def phones_base(page_address: str) -> str:
    """What addresses for phones begin with.

    Args:
        page_address: The page address of the lecturer's page. Where it is of this machine alone,
            phones get another.

    Raises:
        InputError: If there is none that phones could reach.
    """
    parts = urlsplit(page_address)
    if is_local(parts.hostname or "localhost"):
        # No phone can open this page's address, so they get a port of their own beside it.
        return phone_listener.address(int(st.get_option("server.port")) + 1)
    return f"{parts.scheme}://{parts.netloc}{base_path()}"


def is_local(host: str) -> bool:
    """Whether a name of a host is this machine's name for itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def ask_phones(number: int, parts: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Have phones bet: call it where the question is drawn, each time it is.

    Args:
        number: The number of the round.
        parts: What is asked, each with its options.
    """
    questions = [{"label": label, "options": list(options)} for label, options in parts]
    _write({"question": {"round": number, "parts": questions}, "outcome": None})


def tell_phones(outcome: Mapping[int, str], words_for_others: str) -> None:
    """Tell phones what became of their bets.

    Args:
        outcome: Number of a phone -> what it is told.
        words_for_others: What those are told that did not bet.
    """
    phones = {str(number): words for number, words in outcome.items()}
    _write({"outcome": {"phones": phones, "others": words_for_others}})


def _write(part: Mapping[str, object]) -> None:
    """Leave it on the page, where phones.js finds it."""
    st.html(f'<span hidden data-ecv-phones="{escape(json.dumps(part))}"></span>')
