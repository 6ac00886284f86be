"""Pick a dataset, see its size, and fetch it when it is not on disk: only when asked."""

from __future__ import annotations

import time
from typing import NamedTuple

import streamlit as st

from ecv_core import dataset as datasets
from ecv_core.access.roles import Action
from ecv_core.dataset import DatasetEntry
from ecv_core.figures.words import dataset_title, titles_of
from ecv_core.records.parameters import percent_text
from ecv_core.records.tasks import Task
from pages.shared.address.link import translate_address
from pages.shared.base.glossary import explained
from pages.shared.base.rows import row_container
from pages.shared.live.person import dataset_actions, why_not
from pages.shared.live.state import KEPT_IN_ADDRESS, errors_as_sentences, escaped

DEFAULT = "synthetic"
DEFAULT_TABLE = "breast-cancer"
_TASK = "task-of-data"
"""Key of the choice of what is done with the data."""
INTERACTIONS = "Recommend, from interactions"
TABLE = "Classify or predict, from a table"


def picked_dataset() -> DatasetEntry:
    """What is picked, by the widget or by the address, before the widget is drawn."""
    entries = datasets.catalogue()
    picked = st.session_state.get("dataset") or st.query_params.get("dataset")
    for entry in entries.values():
        if picked in (entry.id, entry.title):
            return entry
    return entries[DEFAULT]


def _is_table(entry: DatasetEntry) -> bool:
    """Whether it is a table of samples, and no interactions."""
    # The target of a table decides its one task. Interactions have none: several tasks use them.
    return entry.task is not None


def _usual_dataset(of_table: bool) -> str:
    """The id of the dataset that is picked at first."""
    if of_table:
        return DEFAULT_TABLE
    return DEFAULT


def _pick_task(of_table: bool) -> None:
    """The choice between recommending and a table; another task picks its usual dataset."""

    def pick_usual() -> None:
        wants_table = st.session_state[_TASK] == TABLE
        st.session_state["dataset"] = _usual_dataset(wants_table)

    # The dataset decides the task, whatever was picked here before: a link may have changed it.
    st.session_state[_TASK] = INTERACTIONS
    if of_table:
        st.session_state[_TASK] = TABLE
    st.segmented_control(
        "Task", [INTERACTIONS, TABLE], key=_TASK, required=True, on_change=pick_usual
    )


class PickedDataset(NamedTuple):
    """What `pick_dataset` gives."""

    entry: DatasetEntry
    ready: bool
    """Whether it can be used as it is: it is on disk."""


def pick_dataset(task: Task = Task.TOP_N, *, with_tables: bool = False) -> PickedDataset:
    """The picked dataset, and whether it is ready to be used; with its size for this task.

    Args:
        task: What is to be done with it.
        with_tables: Whether tables of samples can be picked too.
    """
    entries = datasets.catalogue()
    titles = titles_of(entries, dataset_title)
    translate_address("dataset", titles)
    of_table = with_tables and _is_table(picked_dataset())
    if with_tables:
        _pick_task(of_table)
    usual = _usual_dataset(of_table)

    def rank(dataset_id: str) -> tuple[bool, bool]:
        # The usual one is first. Then comes what somebody has added: only that has an `about`.
        return dataset_id != usual, entries[dataset_id].about is None

    # Tables and interactions are never offered together.
    offered_ids = []
    for entry in entries.values():
        if _is_table(entry) is of_table:
            offered_ids.append(entry.id)
    index_at_first: int | None = 0
    if of_table:
        # Streamlit leaves a choice out of the address while it is at its default. A link to a table
        # needs the table's name there, so a choice among tables has no default.
        index_at_first = None
    picked = st.selectbox(
        "Dataset",
        sorted(offered_ids, key=rank),
        index=index_at_first,
        format_func=titles.__getitem__,
        key="dataset",
        **KEPT_IN_ADDRESS,
        help=explained(
            "Sizes are those after preparation: every rating counts as positive feedback, and "
            "users and items with fewer than five interactions are pruned (5-core). Where ratings "
            "are predicted, all of them are kept as they are.",
            "dataset",
            "k-core",
        ),
    )
    entry = entries[picked or usual]
    ready = datasets.available(entry)
    with row_container():
        _show_size(entry, ready, task)
        if not why_not(Action.UPLOAD):
            st.page_link("data/data.py", label="Add your data", icon=":material/upload_file:")
    if not ready:
        _offer_download(entry)
    return PickedDataset(entry, ready)


def not_ready(entry: DatasetEntry) -> str:
    """What to do first where the picked dataset cannot be used."""
    if entry.url is None or datasets.available(entry):
        return "The dataset cannot be used as it is: see what it lacks, below its name."
    if why_not(Action.DOWNLOAD):
        return "Pick a dataset that is on this machine."
    return "Download the dataset first."


def _show_size(entry: DatasetEntry, ready: bool, task: Task) -> None:
    """How large a dataset is for a task, and whether it is on disk, in one line."""
    if entry.generated:
        place = ":green[:material/check_circle:] comes with e-fold, no download"
    elif ready:
        place = ":green[:material/check_circle:] on disk"
    else:
        place = ":orange[:material/cloud_download:] not on disk"
    facts = []
    for words in entry.size_words(task):
        number, noun = words.split()
        facts.append(f"**{number}** {noun}")
    density = entry.density(task)
    if density:
        density_words = percent_text(density, ".2f").replace(" ", "\u00a0")
        facts.append(f"density **{density_words}**")
    st.markdown(" · ".join([*facts, place]), help=escaped(entry.description))


def _offer_download(entry: DatasetEntry) -> None:
    """How a dataset comes here: its licence and a button, or why there is none."""
    with st.container(border=True):
        refusal = why_not(Action.DOWNLOAD)
        if refusal:
            st.markdown(f"It is not on this machine. {refusal}")
            return
        if entry.url is None:
            st.markdown(escaped(f"To use it, {datasets.how_to_supply(entry)}."))
            return
        st.markdown(f"**Licence.** {escaped(entry.licence)}")
        st.markdown(f"**Please cite.** {escaped(entry.citation)}")
        size = "size unknown"
        if entry.download_bytes:
            size = f"about {entry.download_bytes / 1e6:,.0f} MB"
        if st.button(f"Download ({size})", icon=":material/download:", key="download"):
            with errors_as_sentences():
                _download(entry)
                st.rerun()


def _download(entry: DatasetEntry) -> None:
    """Download a dataset, and draw how far it is ten times a second."""
    bar = st.progress(0.0, text="Asking the server ...")
    drawn_at = 0.0

    def report(done_bytes: int, all_bytes: int) -> None:
        nonlocal drawn_at
        # Ten drawings a second are enough, but the last one is not left out.
        if time.monotonic() - drawn_at < 0.1 and done_bytes != all_bytes:
            return
        drawn_at = time.monotonic()
        megabytes = f"{done_bytes / 1e6:,.1f}"
        if all_bytes:  # where the server has told the size
            text = f"{megabytes} of {all_bytes / 1e6:,.1f} MB"
            bar.progress(done_bytes / all_bytes, text=text)
        else:
            bar.progress(0.0, text=f"{megabytes} MB")

    dataset_actions().download(entry, report)  # raises for people who may not download
