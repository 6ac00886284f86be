"""A dropped file: how it is read, what of it can be used, and keeping it under a name."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import pandas as pd
import streamlit as st

from ecv_core.dataset import own
from ecv_core.dataset.layout import ENCODINGS, ROLES, SEPARATORS, UNIT_TEXTS, Form, Layout
from ecv_core.dataset.own import About
from ecv_core.dataset.own.recognise import (
    Recognised,
    Row,
    first_look,
    look_again,
    recognise,
    with_unit,
)
from ecv_core.dataset.plain import Plain
from ecv_core.dataset.reading import loss
from ecv_core.figures.words import counted
from ecv_core.records.errors import EcvError
from ecv_core.untrusted.limits import MEGABYTE
from pages.shared.live.acting import handling
from pages.shared.live.state import escaped, sentence, sentences
from pages.shared.widgets.glossary import explained, glossary_link
from pages.shared.widgets.tables import number, table

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

# How it is read: what was recognised, its first rows, and what its owner corrects.


_Option = TypeVar("_Option")
PREVIEW = 5
LABELS = {
    "user_id": "User",
    "item_id": "Item",
    "rating": "Rating",
    "timestamp": "Time",
    "basket": "Basket",
    "cluster": "Cluster",
    "target": "Target",
}
_HELP = {
    "user_id": "Who: a person, a customer, a session.",
    "item_id": "What: a film, a product, an article.",
    "rating": "How much it was liked. Algorithms that rank items take every row as liked, whatever "
    "its rating; those that predict ratings need it.",
    "timestamp": "When. Splits by time need it.",
    "basket": "What was bought together, such as the number of an order. Algorithms for baskets "
    "need it.",
    "cluster": "Which users belong together and may score alike, such as a household, a class or a "
    "company: then clusters, not users, tell how certain a score is.",
    "target": "Of a table, what to predict of a row: a class, or a number. Then every other "
    "column is learnt from, and there is no user and no item.",
}
_UNIT_HELP = (
    "Dates may have a time after them, as in 2025-03-01 12:30, and names of months, as in 1 Mar "
    "2025; without a zone they are taken for UTC."
)


def columns(token: str, plain: Plain) -> Layout | None:
    """The layout as it is asked for; None while it lacks a user or an item.

    Raises: DatasetError for what is no table.
    """
    found = _recognised(token, plain)
    earlier = own.asked_layout(token)
    corrected = _how_it_is_read(token, found.layout, earlier or found.layout)
    if corrected != found.layout:
        found = _again(token, plain, corrected)
    layout = _roles(token, found, earlier)
    own.ask_layout(token, layout)
    _preview(replace(found, layout=layout))
    for role in layout.missing:
        st.warning(
            f"Say which column is the {LABELS[role].lower()}.", icon=":material/arrow_upward:"
        )
    return None if layout.missing else layout


@st.cache_data(show_spinner=False, max_entries=32)
def _recognised(token: str, _plain: Plain) -> Recognised:
    return recognise(_plain)


@st.cache_data(show_spinner=False, max_entries=64, hash_funcs={Layout: repr})
def _again(token: str, _plain: Plain, layout: Layout) -> Recognised:
    return look_again(_plain, layout)


def _how_it_is_read(token: str, found: Layout, now: Layout) -> Layout:
    """Widgets of encoding, separator, header and quotation marks; of text alone.

    Args:
        token: of the dropped file.
        found: as it was recognised.
        now: as it was asked for last.
    Returns: what was found, so corrected.
    """
    if found.form is Form.PARQUET:
        return found
    delimited = found.form is Form.DELIMITED
    said = [found.form.value, ENCODINGS[now.encoding]]
    if delimited:
        said += [
            f"separated by {SEPARATORS[now.separator]}",
            "the first line names the columns" if now.header else "no line with names",
        ]
    with st.expander(f"Read as {', '.join(said)}", icon=":material/tune:", key="own-form"):
        row = st.container(horizontal=True, vertical_alignment="bottom")
        encoding = _one_of(
            row,
            "Encoding",
            ENCODINGS,
            now.encoding,
            key=f"encoding-{token}",
            width=230,
            help="Wrong where names with accents look odd below.",
        )
        if not delimited:
            return replace(found, encoding=encoding)
        separator = _one_of(
            row, "Separator", SEPARATORS, now.separator, key=f"separator-{token}", width=170
        )
        header = row.toggle(
            "The first line names the columns", value=now.header, key=f"header-{token}"
        )
        quotes = row.toggle(
            "Fields may stand in quotation marks",
            value=now.quotes,
            key=f"quotes-{token}",
            help='Off where a quotation mark (") is a sign like any other.',
        )
        return replace(found, encoding=encoding, separator=separator, header=header, quotes=quotes)


def _roles(token: str, found: Recognised, earlier: Layout | None) -> Layout:
    """A column to choose for every role, and how times are written."""
    layout = found.layout
    if earlier is not None and earlier.names == layout.names:
        layout = replace(layout, roles=earlier.roles, unit=earlier.unit)
    of = f"{token}-{hash(layout.names)}"  # other columns, other choices
    st.markdown(
        "**Which column is what?** As names, values and order tell it; correct it where it is "
        "wrong. Where each row is a sample to classify or to predict, choose its **target**."
    )
    usual, rare = (st.container(horizontal=True, key=key) for key in ("roles", "rare-roles"))
    options: dict[int | None, str] = {None: "none", **dict(enumerate(layout.names))}
    needed = ROLES[:2] if layout.column("target") is None else ()
    chosen: dict[str, int | None] = {}
    for role in ROLES:
        chosen[role] = _one_of(
            usual if role in ROLES[:4] else rare,
            LABELS[role] + " (needed)" * (role in needed),
            options,
            layout.column(role),
            key=f"{role}-{of}",
            width=168,
            help=explained(_HELP[role]),
        )
    before, layout = layout, layout.with_roles(chosen)
    when = layout.column("timestamp")
    if when is None:
        return layout
    if when != before.column("timestamp"):
        layout = with_unit(layout, found.rows)
    unit = _one_of(
        usual,
        "Times are",
        UNIT_TEXTS,
        layout.unit,
        key=f"unit-{of}-{when}",
        help=explained(_UNIT_HELP),
        width=270,
    )
    return replace(layout, unit=unit)


def _one_of(
    row: DeltaGenerator,
    label: str,
    options: Mapping[_Option, str],
    now: _Option,
    *,
    key: str,
    width: int,
    help: str | None = None,
) -> _Option:
    """One of the options, which are shown by their texts; `now` until another is picked."""
    every = list(options)
    return row.selectbox(
        label,
        every,
        index=every.index(now),
        format_func=options.__getitem__,
        key=key,
        width=width,
        help=help,
    )


def _preview(found: Recognised) -> None:
    shown = min(PREVIEW, len(found.rows))
    st.dataframe(
        _frame(found.layout, found.rows),
        hide_index=True,
        placeholder="",
        height="content",
        key="own-preview",
        alt=f"The first {shown} rows of the file",
    )
    said = [f"The first {shown} rows, as they are read.", *first_look(found)]
    st.caption(escaped(" ".join(said)))


def _frame(layout: Layout, rows: Sequence[Row]) -> pd.DataFrame:
    of = {at: LABELS[role] for role, at in layout.roles}
    heads = [f"{name} → {of[at]}" if at in of else name for at, name in enumerate(layout.names)]
    table = pd.DataFrame([[field[:80] for field in row] for row in rows[:PREVIEW]])
    table.columns = pd.Index(_distinct(heads))
    first = sorted(range(len(heads)), key=lambda at: (at not in of, at))
    return table.iloc[:, first]


def _distinct(heads: list[str]) -> list[str]:
    """Two columns of a file may have the same name, two of a table may not."""
    found: list[str] = []
    for head in heads:
        again = head
        while again in found:
            again += " "
        found.append(again)
    return found


# What of it can be used, what pruning leaves, and keeping it.


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
    about = own.worked_out(own.folder_of(token), layout)
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
        _counts(about)
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
        bar.progress(share, text=f"{_STEPS.get(doing, 'Reading the rows')} ... {100 * share:.0f} %")

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


def _counts(about: About) -> None:
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
            pd.DataFrame(
                {"rows": count, "why": why, "the first": about.examples.get(why, "")}
                for why, count in about.unused.items()
            ),
            {"rows": number(None)},
            key="own-unused",
            alt="Rows that cannot be used, by reason",
        )
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
                else ": use a denser or larger file, or choose a target if each row is a sample."
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
    with sentences():
        handling().keep(token, name.strip())
        del st.query_params["file"]
        st.query_params["kept"] = name.strip()
        st.rerun()
