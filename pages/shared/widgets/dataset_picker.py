"""Pick a dataset, see its size, and fetch it when it is not on disk: only when asked."""

from __future__ import annotations

import time

import streamlit as st

import ecv_core.dataset as datasets
from ecv_core.dataset import DatasetEntry
from ecv_core.figures.words import dataset_title, titles_of
from ecv_core.jobs.rights.actor import Action
from ecv_core.records.errors import EcvError
from ecv_core.records.spec import Task
from pages.shared.address.link import label_from_link
from pages.shared.live.acting import handling, why_not
from pages.shared.live.state import KEPT, escaped, sentence, sentences
from pages.shared.widgets.glossary import explained

DEFAULT = "synthetic"


def dataset_picker(task: Task = Task.TOP_N) -> tuple[DatasetEntry, bool]:
    """The picked dataset, and whether it is ready to be used; with its size for this task."""
    entries = datasets.catalogue()
    # What one added comes before what one has not asked for.
    names = sorted(entries, key=lambda name: (name != DEFAULT, entries[name].about is None))
    titles = titles_of(names, dataset_title)
    label_from_link("dataset", titles)
    picked = st.selectbox(
        "Dataset",
        names,
        index=names.index(DEFAULT),
        format_func=titles.__getitem__,
        key="dataset",
        **KEPT,
        help=explained(
            "Sizes are those after preparation: every rating counts as positive feedback, and "
            "users and items with fewer than five interactions are pruned (5-core). Where ratings "
            "are predicted, all of them are kept as they are.",
            "dataset",
            "k-core",
        ),
    )
    entry = entries[picked or DEFAULT]
    ready = datasets.available(entry)
    with st.container(horizontal=True, vertical_alignment="center"):
        _size(entry, ready, task)
        if not why_not(Action.UPLOAD):
            st.page_link("data/data.py", label="Add your data", icon=":material/upload_file:")
    if not ready:
        _offer_download(entry)
    _misnamed()
    try:
        datasets.check_own(entry)
    except EcvError as error:
        st.error(sentence(error), icon=":material/error:")
        return entry, False
    return entry, datasets.available(entry)


def not_ready(entry: DatasetEntry) -> str:
    """What to do first where the picked dataset cannot be used."""
    if entry.url is None or datasets.available(entry):
        return "The dataset cannot be used as it is: see what it lacks, below its name."
    if why_not(Action.DOWNLOAD):
        return "Pick a dataset that is on this machine."
    return "Download the dataset first."


def _misnamed() -> None:
    """Files that are not offered, and why: whoever put one there looks for it in vain."""
    if names := datasets.misnamed():
        st.caption(
            f"Not offered: {escaped(', '.join(names))}. A dataset's file name has letters, digits, "
            "- and _ only, before its ending; rename it."
        )


def _size(entry: DatasetEntry, ready: bool, task: Task) -> None:
    if entry.generated:
        place = ":green[:material/check_circle:] made here, no download"
    elif ready:
        place = ":green[:material/check_circle:] on disk"
    else:
        place = ":orange[:material/cloud_download:] not on disk"
    counts, word = (entry.users, entry.items, entry.interactions), "interactions"
    if task is Task.RATINGS:
        counts, word = entry.rated or (None, None, None), "ratings"
    users, items, count = counts
    facts = []
    if users and items and count:
        facts += [
            f"**{users:,}** users",
            f"**{items:,}** items",
            f"**{count:,}** {word}",
            f"density **{100 * count / (users * items):.2f}\u00a0%**",
        ]
    st.markdown(" · ".join([*facts, place]))


def _offer_download(entry: DatasetEntry) -> None:
    with st.container(border=True):
        if why := why_not(Action.DOWNLOAD):
            st.markdown(f"It is not on this machine. {why}")
            return
        if entry.url is None:
            st.markdown(escaped(f"To use it, {datasets.how_to_supply(entry)}."))
            return
        st.markdown(f"**Licence.** {escaped(entry.licence)}")
        st.markdown(f"**Please cite.** {escaped(entry.citation)}")
        size = (
            f"about {entry.download_bytes / 1e6:,.0f} MB"
            if entry.download_bytes
            else "size unknown"
        )
        if st.button(f"Download ({size})", icon=":material/download:", key="download"):
            with sentences():
                _download(entry)
                st.rerun()


def _download(entry: DatasetEntry) -> None:
    bar = st.progress(0.0, text="Asking the server ...")
    shown = 0.0

    def report(done: int, total: int) -> None:
        nonlocal shown
        if time.monotonic() - shown < 0.1 and done != total:
            return
        shown = time.monotonic()
        of = f" of {total / 1e6:,.1f}" if total else ""
        bar.progress(done / total if total else 0.0, text=f"{done / 1e6:,.1f}{of} MB")

    handling().download(entry, report)
