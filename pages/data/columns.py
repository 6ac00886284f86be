"""How a dropped file is read: what was recognised, its first rows, and what its owner corrects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from ecv_core.dataset.own import ask_layout, asked_layout
from ecv_core.dataset.own.layout import (
    ENCODINGS,
    ROLES,
    SEPARATORS,
    UNIT_TEXTS,
    Form,
    Layout,
)
from ecv_core.dataset.own.plain import Plain
from ecv_core.dataset.own.reading import first_look
from ecv_core.dataset.own.recognise import Recognised, Row, look_again, recognise, with_unit
from pages.shared.live.state import escaped
from pages.shared.widgets.glossary import explained

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

_Option = TypeVar("_Option")
PREVIEW = 10
LABELS = {
    "user_id": "User",
    "item_id": "Item",
    "rating": "Rating",
    "timestamp": "Time",
    "basket": "Basket",
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
    "target": "Of a table, what is to be told of a row: a class, or a number. Then every other "
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
    earlier = asked_layout(token)
    corrected = _how_it_is_read(token, found.layout, earlier or found.layout)
    if corrected != found.layout:
        found = _again(token, plain, corrected)
    layout = _roles(token, found, earlier)
    ask_layout(token, layout)
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
    row = st.container(horizontal=True)
    options: dict[int | None, str] = {None: "none", **dict(enumerate(layout.names))}
    needed = ROLES[:2] if layout.column("target") is None else ()
    chosen: dict[str, int | None] = {}
    for role in ROLES:
        chosen[role] = _one_of(
            row,
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
        row,
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
    picked: _Option = row.selectbox(
        label,
        every,
        index=every.index(now),
        format_func=options.__getitem__,
        key=key,
        width=width,
        help=help,
    )
    return picked


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
    import pandas as pd

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
