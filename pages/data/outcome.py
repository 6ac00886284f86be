"""What of a dropped file can be used, what pruning leaves of it, and keeping it under a name."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from ecv_core.dataset import own
from ecv_core.dataset.own import About, folder_of, worked_out
from ecv_core.dataset.own.layout import Layout
from ecv_core.dataset.own.plain import Plain
from ecv_core.dataset.own.reading import loss
from ecv_core.figures.words import counted
from ecv_core.records.errors import EcvError
from ecv_core.untrusted.limits import MEGABYTE
from pages.shared.live.acting import handling
from pages.shared.live.state import escaped, sentence
from pages.shared.widgets.glossary import explained, glossary_link
from pages.shared.widgets.tables import number, table

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

AT_ONCE = 20 * MEGABYTE
"""Files up to this size are read without being asked for."""
_READING = "reading-own"
_STEPS = {"read": "Reading the rows", "write": "Pruning"}


def outcome(token: str, plain: Plain, layout: Layout) -> None:
    """Counts, reasons, and the form that keeps it.

    Args:
        token: of the dropped file.
        plain: the file.
        layout: how it is read; with a user and an item.
    """
    about = worked_out(folder_of(token), layout)
    place = st.empty()
    if about is None and plain.size > AT_ONCE and st.session_state.get(_READING) != (token, layout):
        place.button(
            f"Read the file ({plain.size / MEGABYTE:,.0f} MB)",
            type="primary",
            icon=":material/play_arrow:",
            key="read-own",
            on_click=_begin,
            args=(token, layout),
        )
        return
    if about is None:
        about = _read(place, token, plain, layout)
    if about is None:
        return
    if about.task is None:
        _counts(about, token)
    else:
        _samples(about)
    _keep(token, about)


def _begin(token: str, layout: Layout) -> None:
    st.session_state[_READING] = (token, layout)


def _read(place: DeltaGenerator, token: str, plain: Plain, layout: Layout) -> About | None:
    """Read the whole file, with a bar and a way to stop it; None where it cannot be used."""
    with place.container():
        bar = st.progress(0.0, text="Reading the rows ...")
        if plain.size > AT_ONCE:
            # A press ends this run of the page at the bar's next step.
            st.button("Cancel", icon=":material/cancel:", key="cancel-own", on_click=_stop)
    shown = 0.0

    def report(doing: str, done: int, total: int) -> None:
        nonlocal shown
        if time.monotonic() - shown < 0.1 and doing == "read":
            return
        shown = time.monotonic()
        share = done / total if doing == "read" and total else 1.0
        bar.progress(share, text=f"{_STEPS.get(doing, 'Reading the rows')} ... {share:.0%}")

    try:
        about = handling().work_out(plain, layout, token, report)
    except EcvError as error:
        place.empty()
        st.error(sentence(error), icon=":material/error:")
        return None
    place.empty()
    return about


def _stop() -> None:
    st.session_state.pop(_READING, None)


def _counts(about: About, token: str) -> None:
    unused = about.rows - about.kept
    st.header("What can be used", anchor=False)
    st.markdown(
        f"**{about.kept:,}** of **{about.rows:,}** rows: {counted(about.raw_users, 'user')} and "
        f"{counted(about.raw_items, 'item')}."
        + (f" {counted(unused, 'row')} cannot be used:" if unused else " Every row can be used.")
    )
    if why := loss(about.unused, about.rows):
        st.warning(f"{escaped(why)}.", icon=":material/warning:")
    if unused:
        table(
            pd.DataFrame({"rows": about.unused.values(), "why": about.unused.keys()}),
            {"rows": number(None)},
            key="own-unused",
            alt="Rows that cannot be used, by reason",
        )
        _examples(own.examples_of(token))
    st.markdown(
        f"After {glossary_link('k-core', '5-core pruning')}, which leaves users and items with at "
        "least five interactions, as most papers have it:"
    )
    row = st.container(horizontal=True)
    for label, value in (
        ("Users", f"{about.users:,}"),
        ("Items", f"{about.items:,}"),
        ("Interactions", f"{about.interactions:,}"),
        ("Density", density(about) if about.interactions else "-"),
    ):
        row.metric(label, value, width=140)
    if not about.interactions:
        st.warning(
            "Nothing survives pruning, so nothing can be ranked"
            + (
                "; only ratings can be predicted on it."
                if "rating" in about.columns
                else ": see above what would be lost."
                if loss(about.unused, about.rows)
                else ": use a denser or larger file."
            ),
            icon=":material/warning:",
        )


def _samples(about: About) -> None:
    st.header("What can be used", anchor=False)
    target = escaped(about.columns["target"])
    what = f"one of {about.classes} classes" if about.classes else "a number"
    st.markdown(
        f"**{about.raw_users:,}** of **{about.rows:,}** rows are samples with "
        f"**{about.raw_items:,}** features. **{target}** is {what}: algorithms that "
        f"{'classify' if about.classes else 'predict numbers'} will run on it."
    )
    for why, count in about.unused.items():
        st.caption(f"{counted(count, 'row')} cannot be used: {escaped(why)}.")


def _examples(examples: Mapping[str, Sequence[tuple[int, str]]]) -> None:
    """The first rows of each reason, for their owner to find them in the file."""
    rows = [(number, text, why) for why, some in examples.items() for number, text in some]
    if not rows:
        return
    with st.expander("Show some of them", icon=":material/search:", key="own-examples"):
        table(
            pd.DataFrame(rows, columns=["row", "what it says", "why"]),
            key="own-example-rows",
            alt="The first rows that cannot be used, of each reason",
        )
        st.caption(
            "The first of each reason. A line that names the columns is row 1; blank lines do not "
            "count."
        )


def density(about: About) -> str:
    """Share of the user x item matrix that is filled after pruning."""
    return f"{100 * about.density:.2f}\u00a0%"


def _keep(token: str, about: About) -> None:
    st.header("Keep it as a dataset", anchor=False)
    with st.form("keep-own", border=False, enter_to_submit=True):
        row = st.container(horizontal=True, vertical_alignment="bottom")
        name = row.text_input(
            "Name",
            value=own.suggested_name(about.source),
            key=f"own-name-{token}",
            max_chars=63,
            width=320,
            help=explained("Letters, digits, _ and -. The command line calls it the same."),
        )
        lossy = bool(loss(about.unused, about.rows))
        pressed = row.form_submit_button(
            f"Keep only the {counted(about.kept, 'row')}" if lossy else "Keep it",
            type="secondary" if lossy else "primary",
            icon=":material/save:",
        )
    if not pressed:
        return
    try:
        handling().keep(token, name.strip())
    except EcvError as error:
        st.error(sentence(error), icon=":material/error:")
        return
    del st.query_params["file"]
    st.query_params["kept"] = name.strip()
    st.rerun()
