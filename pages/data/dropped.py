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
from ecv_core.dataset.losses import loss_sentence
from ecv_core.dataset.own import About
from ecv_core.dataset.own.recognise import (
    Recognised,
    Row,
    first_rows_sentences,
    recognise,
    recognise_with_layout,
    rows_not_above_zero,
    with_unit,
)
from ecv_core.dataset.plain import PlainFile
from ecv_core.figures.words import counted
from ecv_core.records.errors import EcvError
from ecv_core.records.parameters import percent_text
from ecv_core.untrusted.limits import MEGABYTE
from pages.shared.base.glossary import explained, glossary_link
from pages.shared.live.person import dataset_actions
from pages.shared.live.state import errors_as_sentences, escaped, sentence
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
    "user_id": "Who it was: a person, a customer, a session.",
    "item_id": "What it was: a film, a product, an article.",
    "rating": "How much the user liked the item. Algorithms that predict ratings need it; those "
    "that rank items count every row as positive feedback, whatever its rating.",
    "timestamp": "When it was. Splits by time need it.",
    "basket": "What was bought together, such as the number of an order. Algorithms for baskets "
    "need it.",
    "cluster": "Which users belong together and may have similar scores, such as a household, a "
    "class or a company. Then clusters, not users, tell how certain a score is.",
    "target": "What to predict for each row of a table: a class, or a number. Models then learn "
    "from every other column, and there is no user and no item.",
}
_NEEDED_ROLES = ("user_id", "item_id")
_USUAL_ROLES = (*_NEEDED_ROLES, "rating", "timestamp")
"""Roles that are chosen in the first row."""
_UNIT_HELP = (
    "Dates may be followed by a time, as in 2025-03-01 12:30, and may name the month, as in 1 Mar "
    "2025. Without a time zone they are read as UTC."
)


def correct_layout(token: str, plain: PlainFile) -> Layout | None:
    """The layout as it is corrected on the page; None while it lacks a user or an item.

    Args:
        token: Names the dropped file.
        plain: The file.

    Raises:
        DatasetError: If it is no table.
    """
    # The form of the file decides which columns there are, columns decide which roles are possible,
    # and roles decide which rows may be left out. So they are corrected in this order.
    recognised = _recognise(token, plain)
    # This layout was kept when the page was last drawn, in this visit or an earlier one.
    kept_layout = own.kept_layout(token)
    # The widgets begin with what was chosen in them then, else with what was recognised.
    layout = _correct_form(token, recognised.layout, kept_layout or recognised.layout)
    # Another form than the recognised one gives other columns and rows.
    if layout != recognised.layout:
        recognised = _recognise_again(token, plain, layout)
    layout = _correct_roles(token, recognised, kept_layout)
    # Whether bots are left out is kept as it is: a button further down corrects it.
    if kept_layout is not None:
        layout = replace(layout, without_bots=kept_layout.without_bots)
    layout = _offer_to_leave_out_rows(token, replace(recognised, layout=layout), kept_layout)
    own.keep_layout(token, layout)
    _show_preview(replace(recognised, layout=layout))
    for role in layout.missing:
        st.warning(
            f"Say which column is the {LABELS[role].lower()}.", icon=":material/arrow_upward:"
        )
    if layout.missing:
        return None
    return layout


@st.cache_data(show_spinner=False, max_entries=32)
def _recognise(token: str, _plain: PlainFile) -> Recognised:
    return recognise(_plain)


@st.cache_data(show_spinner=False, max_entries=64, hash_funcs={Layout: repr})
def _recognise_again(token: str, _plain: PlainFile, layout: Layout) -> Recognised:
    return recognise_with_layout(_plain, layout)


def _correct_form(token: str, recognised: Layout, last_picked: Layout) -> Layout:
    """Widgets of encoding, separator, header and quotation marks; of text alone.

    Args:
        token: Names the dropped file.
        recognised: How the file seems to be written.
        last_picked: What the widgets begin with, as it was corrected last.

    Returns:
        The recognised layout, so corrected.
    """
    if recognised.form is Form.PARQUET:
        return recognised
    words = f"Read as {recognised.form.value}, {ENCODINGS[last_picked.encoding]}"
    if recognised.form is Form.DELIMITED:
        words += f", separated by {SEPARATORS[last_picked.separator]}"
        if last_picked.header:
            words += ", the first line names the columns"
        else:
            words += ", no line with names"
    with st.expander(words, icon=":material/tune:", key="own-form"):
        row_of_widgets = st.container(horizontal=True, vertical_alignment="bottom")
        encoding = _pick(
            row_of_widgets,
            "Encoding",
            ENCODINGS,
            last_picked.encoding,
            key=f"encoding-{token}",
            width=230,
            help="Change this if names with accents look odd below.",
        )
        layout = replace(recognised, encoding=encoding)
        if layout.form is Form.DELIMITED:
            layout = _pick_delimited_form(row_of_widgets, token, layout, last_picked)
    return layout


def _pick_delimited_form(
    row_of_widgets: DeltaGenerator, token: str, layout: Layout, last_picked: Layout
) -> Layout:
    """Widgets of what only delimited text has.

    Args:
        row_of_widgets: Where they are.
        token: Names the dropped file.
        layout: How the file is written, as far as it is corrected.
        last_picked: What the widgets begin with, as it was corrected last.
    """
    separator = _pick(
        row_of_widgets,
        "Separator",
        SEPARATORS,
        last_picked.separator,
        key=f"separator-{token}",
        width=170,
    )
    first_line_has_names = row_of_widgets.toggle(
        "The first line names the columns", value=last_picked.header, key=f"header-{token}"
    )
    allows_quotes = row_of_widgets.toggle(
        "Fields may stand in quotation marks",
        value=last_picked.quotes,
        key=f"quotes-{token}",
        help='Switch this off if a quotation mark (") is a character like any other.',
    )
    return replace(layout, separator=separator, header=first_line_has_names, quotes=allows_quotes)


def _correct_roles(token: str, recognised: Recognised, kept_layout: Layout | None) -> Layout:
    """A column to choose for every role, and how times are written.

    Args:
        token: Names the dropped file.
        recognised: Its layout and first rows.
        kept_layout: The layout as it was corrected last, which may have had other columns.

    Returns:
        The layout with the roles that are chosen.
    """
    layout = recognised.layout
    if kept_layout is not None and kept_layout.names == layout.names:
        layout = replace(layout, roles=kept_layout.roles, unit=kept_layout.unit)
    # The key names the columns, so that other columns get other widgets.
    columns_key = f"{token}-{hash(layout.names)}"
    st.markdown(
        "**Which column is what?** This was guessed from names, values and order; correct what is "
        "wrong. If each row is a sample to classify or to predict, choose its **target**."
    )
    row_of_usual_roles = st.container(horizontal=True, key="roles")
    row_of_rare_roles = st.container(horizontal=True, key="rare-roles")
    columns: dict[int | None, str] = {None: "none", **dict(enumerate(layout.names))}
    column_of_role: dict[str, int | None] = {}
    for role in ROLES:
        label = LABELS[role]
        if role in _NEEDED_ROLES and layout.column("target") is None:
            label += " (needed)"
        row = row_of_rare_roles
        if role in _USUAL_ROLES:
            row = row_of_usual_roles
        column_of_role[role] = _pick(
            row,
            label,
            columns,
            layout.column(role),
            key=f"{role}-{columns_key}",
            width=168,
            help=explained(_HELP[role]),
        )
    corrected = layout.with_roles(column_of_role)
    column_of_times = corrected.column("timestamp")
    if column_of_times is not None:
        if column_of_times != layout.column("timestamp"):
            # Another column was picked, whose times may be in another unit.
            corrected = with_unit(corrected, recognised.rows)
        unit = _pick(
            row_of_usual_roles,
            "Times are",
            UNIT_TEXTS,
            corrected.unit,
            key=f"unit-{columns_key}-{column_of_times}",
            help=explained(_UNIT_HELP),
            width=270,
        )
        corrected = replace(corrected, unit=unit)
    return corrected


def _offer_to_leave_out_rows(
    token: str, recognised: Recognised, kept_layout: Layout | None
) -> Layout:
    """A switch for each column of ratings or quantities that is 0 or less in some rows.

    Args:
        token: Names the dropped file.
        recognised: Its layout, as far as it is corrected, and its first rows.
        kept_layout: The layout as it was corrected last.

    Returns:
        The layout, with the last column whose switch is on.
    """
    layout = recognised.layout
    # Rows with a target are samples, and none is left out for its numbers.
    if layout.column("target") is not None:
        return layout
    # A layout can name one such column; where several switches are on, the last one counts.
    for column, count in rows_not_above_zero(recognised).items():
        name = layout.names[column]
        leave_out = st.toggle(
            f"Leave out the rows with a {escaped(name)} of 0 or less",
            value=kept_layout is not None and kept_layout.above_zero == column,
            key=f"above-zero-{token}-{column}",
            help=f"{count} of the first {len(recognised.rows)} rows have one, as returned goods "
            "do. Algorithms that rank items count every row as positive feedback.",
        )
        if leave_out:
            layout = replace(layout, above_zero=column)
    return layout


def _pick(
    row: DeltaGenerator,
    label: str,
    options: Mapping[_Option, str],
    first: _Option,
    *,
    key: str,
    width: int,
    help: str | None = None,
) -> _Option:
    """A box with the options, which are shown by their texts; `first` until another is picked."""
    return row.selectbox(
        label,
        list(options),
        index=list(options).index(first),
        format_func=options.__getitem__,
        key=key,
        width=width,
        help=help,
    )


def _show_preview(recognised: Recognised) -> None:
    shown = min(PREVIEW, len(recognised.rows))
    st.dataframe(
        _preview_frame(recognised.layout, recognised.rows),
        hide_index=True,
        placeholder="",
        height="content",
        key="own-preview",
        alt=f"The first {shown} rows of the file",
    )
    sentences = [f"The first {counted(shown, 'row')}, as read.", *first_rows_sentences(recognised)]
    st.caption(escaped(" ".join(sentences)))


def _preview_frame(layout: Layout, rows: Sequence[Row]) -> pd.DataFrame:
    """The first rows of the file, with columns that have a role first; heads name the roles."""
    roles = {column: LABELS[role] for role, column in layout.roles}
    heads = []
    for column, head in enumerate(layout.names):
        if column in roles:
            head = f"{head} → {roles[column]}"
        # Columns of a file may share a name, but those of the table need different ones.
        while head in heads:
            head += " "
        heads.append(head)
    # Only the beginning of a field is shown, because long texts would make the column too wide.
    texts = [[field[:80] for field in row] for row in rows[:PREVIEW]]
    columns_with_role_first = sorted(range(len(heads)), key=lambda column: column not in roles)
    return pd.DataFrame(texts, columns=heads).iloc[:, columns_with_role_first]


# What of it can be used, what pruning leaves, and keeping it.


MOST_BYTES_UNASKED = 20 * MEGABYTE
"""Files up to this size are read without being asked for."""
_READING = "reading-own"
"""In the session: the large file that is to be read, and how."""
_SECONDS_BETWEEN_REPORTS = 0.1


def show_outcome(token: str, plain: PlainFile, layout: Layout) -> None:
    """Counts, reasons, and the form that keeps it.

    Args:
        token: Names the dropped file.
        plain: The file.
        layout: How it is read; with a user and an item, or a target.
    """
    about = own.built_dataset(own.folder_of(token), layout)
    if about is None:
        about = _read_once_asked(token, plain, layout)
    if about is None:
        return
    st.header("What can be used", anchor=False)
    if about.task is None:
        _show_interactions(token, about, layout)
        _show_pruned(about)
    else:
        _show_samples(about)
    _offer_to_keep(token, about)


def _read_once_asked(token: str, plain: PlainFile, layout: Layout) -> About | None:
    """Read a small file at once, and a large one at the press of a button.

    Returns:
        None while the button is not pressed, and where the file cannot be used; the page says why.
    """
    progress = st.empty()
    was_pressed = st.session_state.get(_READING) == (token, layout)
    if plain.size > MOST_BYTES_UNASKED and not was_pressed:
        progress.button(
            f"Read the file ({plain.size / MEGABYTE:,.0f} MB)",
            type="primary",
            icon=":material/play_arrow:",
            key="read-own",
            on_click=_ask_to_read,
            args=(token, layout),
        )
        return None
    return _read_file(progress, token, plain, layout)


def _ask_to_read(token: str, layout: Layout) -> None:
    st.session_state[_READING] = (token, layout)


def _read_file(
    progress: DeltaGenerator, token: str, plain: PlainFile, layout: Layout
) -> About | None:
    """Read the whole file, with a bar and a way to stop it; None where it cannot be used.

    Args:
        progress: Where the bar is, and then what is wrong with the file.
        token: Names the dropped file.
        plain: The file.
        layout: How it is read.
    """
    with progress.container():
        bar = st.progress(0.0, text="Reading the rows ...")
        if plain.size > MOST_BYTES_UNASKED:
            # A press interrupts the reading when the bar is drawn next.
            st.button("Cancel", icon=":material/cancel:", key="cancel-own", on_click=_stop)
    reported_at = 0.0

    def report(step: str, done: int, total: int) -> None:
        nonlocal reported_at
        if step == "write":  # the last step reports no progress within it
            bar.progress(1.0, text="Preparing the dataset ...")
        elif time.monotonic() - reported_at >= _SECONDS_BETWEEN_REPORTS:
            reported_at = time.monotonic()
            share = done / total
            bar.progress(share, text=f"Reading the rows ... {100 * share:.0f} %")

    try:
        about = dataset_actions().build_dataset(plain, layout, token, report)
    except EcvError as error:
        progress.error(sentence(error), icon=":material/error:")
        return None
    progress.empty()
    return about


def _show_interactions(token: str, about: About, layout: Layout) -> None:
    """How many rows are interactions, and why others are not."""
    unused = about.rows - about.kept
    words = "Every row can be used."
    if unused:
        words = f"{counted(unused, 'row')} cannot be used:"
    st.markdown(
        f"**{about.kept:,}** of **{about.rows:,}** rows: {counted(about.raw_users, 'user')} and "
        f"{counted(about.raw_items, 'item')}. {words}"
    )
    _show_remarks(about)
    loss_words = loss_sentence(about.unused, about.rows)  # an empty text where few rows are lost
    if loss_words:
        st.warning(f"{escaped(loss_words)}.", icon=":material/warning:")
    # Users with very many rows may be programs. The button leaves them out, or takes them back.
    if about.busiest_words:
        st.warning(f"{about.busiest_words}.", icon=":material/smart_toy:")
        _offer_people_only(token, layout, without_bots=True)
    elif layout.without_bots:
        _offer_people_only(token, layout, without_bots=False)
    if unused:
        reasons = pd.DataFrame(about.unused.items(), columns=["why", "rows"])
        # `about.examples` has an example of a row for each reason.
        reasons["the first"] = reasons["why"].map(about.examples).fillna("")
        table(
            reasons[["rows", "why", "the first"]],
            {"rows": number(None)},
            key="own-unused",
            alt="Rows that cannot be used, by reason",
        )


def _show_remarks(about: About) -> None:
    """What was made of values that do not fit the others of their column."""
    for column, remark in about.remarks.items():
        st.caption(f"**{escaped(column)}** {escaped(remark)}.")


def _show_pruned(about: About) -> None:
    """What pruning leaves of the interactions; and a way out where it leaves nothing."""
    st.markdown(
        f"After {glossary_link('k-core', '5-core pruning')}, which leaves users and items with at "
        "least five interactions, as most papers have it:"
    )
    density_text = "-"
    if about.interactions:
        density_text = density(about)
    numbers = {
        "Users": f"{about.users:,}",
        "Items": f"{about.items:,}",
        "Interactions": f"{about.interactions:,}",
        "Density": density_text,
    }
    row = st.container(horizontal=True)
    for label, value in numbers.items():
        row.metric(label, value, width=140)
    if not about.interactions:
        st.warning(
            f"Nothing survives pruning, so nothing can be ranked{_pruning_advice(about)}",
            icon=":material/warning:",
        )


def _offer_people_only(token: str, layout: Layout, *, without_bots: bool) -> None:
    """A button that leaves out users who are hardly people, or takes them back."""
    label = "Use every user"
    if without_bots:
        label = "Leave out such users"
    st.button(
        label,
        key="people-only",
        on_click=own.keep_layout,
        args=(token, replace(layout, without_bots=without_bots)),
    )


def _pruning_advice(about: About) -> str:
    """What can be done where no interaction survives pruning: the end of a sentence."""
    if "rating" in about.columns:
        return "; only ratings can be predicted on it."
    if loss_sentence(about.unused, about.rows):
        return ": see above what would be lost."
    return ": use a denser or larger file, or choose a target if each row is a sample."


def _stop() -> None:
    st.session_state.pop(_READING, None)


def _show_samples(about: About) -> None:
    """How many rows are samples, what is predicted of them, and why other rows are none."""
    # `raw_users` counts the samples of a table, and `raw_items` its features.
    kind = "a number"
    task = "predict numbers"
    if about.classes:
        kind = f"one of {about.classes} classes"
        task = "classify"
    target = escaped(about.columns["target"])
    target_words = f"**{target}** is {kind}: algorithms that {task} will run on it."
    st.markdown(
        f"**{about.raw_users:,}** of **{about.rows:,}** rows are samples with "
        f"**{about.raw_items:,}** features. {target_words}"
    )
    for column, reason in about.left_out.items():
        st.caption(f"**{escaped(column)}** is no feature: {reason}.")
    _show_remarks(about)
    for why, count in about.unused.items():
        st.caption(f"{counted(count, 'row')} cannot be used: {escaped(why)}.")


def density(about: About) -> str:
    """Share of the user x item matrix that is filled after pruning."""
    return percent_text(about.density, ".2f").replace(" ", "\u00a0")


def _offer_to_keep(token: str, about: About) -> None:
    """The form that keeps the file; a button that loses many rows is no primary one."""
    st.header("Keep it as a dataset", anchor=False)
    with st.form("keep-own", border=False):
        row = st.container(horizontal=True, vertical_alignment="bottom")
        text = row.text_input(
            "Name",
            value=own.suggested_name(about.source),
            key=f"own-name-{token}",
            max_chars=63,
            width=320,
            help=explained("Letters, digits, _ and -. The command line uses this name too."),
        )
        if loss_sentence(about.unused, about.rows):
            label = f"Keep only the {counted(about.kept, 'row')}"
            pressed = row.form_submit_button(label, icon=":material/save:")
        else:
            pressed = row.form_submit_button("Keep it", type="primary", icon=":material/save:")
    if pressed:
        name = text.strip()
        with errors_as_sentences():
            dataset_actions().keep(token, name)
            del st.query_params["file"]
            st.query_params["kept"] = name
            st.rerun()
