"""The page Data: a dropped file, step by step, and the datasets that were added."""

from __future__ import annotations

from collections import Counter
from functools import partial

import streamlit as st

from ecv_core import dataset as datasets
from ecv_core.access.roles import Action
from ecv_core.dataset import own
from ecv_core.dataset.own import About
from ecv_core.dataset.plain import PlainFile
from ecv_core.figures.words import algorithm_title, counted, dataset_title
from ecv_core.records.errors import EcvError
from ecv_core.records.parameters import listed
from ecv_core.records.tasks import Task
from ecv_core.untrusted.limits import max_upload_mb
from pages.data.dropped import LABELS, correct_layout, density, show_outcome
from pages.shared.address.navigation import open_page
from pages.shared.base.component import component
from pages.shared.base.rows import row_container, spread_row
from pages.shared.live.person import dataset_actions, why_not
from pages.shared.live.runs import act_and_rerun
from pages.shared.live.state import errors_as_sentences, escaped, run_list, show_error

_scroll_to_top_once = component(__file__, "ecv_kept_top", html="", js=["top.js"])
FILE = "file"
"""In the address: the token of a dropped file."""
JUST_KEPT = "kept"
"""In the address: the name of the dataset that was just kept."""
_DROPPED = "files-dropped"
"""In the session: how many files it has taken."""


def _example() -> str:
    """A small file of interactions, as one may look."""
    lines = ["user,item,rating,time"]
    for user in range(6):
        for item in range(6):
            rating = 1 + user * item % 5
            lines.append(f"user {user},item {item},{rating},2023-01-{1 + item:02} 16:37")
    return "\n".join(lines) + "\n"


def show_your_data() -> None:
    """The whole page below its head."""
    refusal = why_not(Action.UPLOAD)
    token = st.query_params.get(FILE)
    if refusal:
        st.info(refusal, icon=":material/lock:")
    elif token:
        _show_dropped_file(token)
    else:
        name_of_kept = st.query_params.get(JUST_KEPT)
        if name_of_kept:
            show_just_kept(name_of_kept)
        _take_file()
    list_kept_datasets()


def _show_dropped_file(token: str) -> None:
    """What a dropped file is and how it is read; or why it cannot be."""
    try:
        with st.spinner("Reading the file ..."):
            plain = _unpacked_file(token)
            if not plain.path.is_file():  # the file was kept or thrown away in another tab
                plain = own.taken_in(token)
    except EcvError as error:
        show_error(error)
        _offer_another_file(token)
        return
    with row_container():
        st.header(escaped(plain.name), anchor=False, width="content")
        _offer_another_file(token)
    with errors_as_sentences():
        layout = correct_layout(token, plain)
        if layout is not None:
            show_outcome(token, plain, layout)


def _take_file() -> None:
    st.markdown(
        "Drop a file of interactions (who rated, bought or clicked what), or a table with a column "
        "to predict from the others: see how it is read, correct it, and keep it as a dataset. "
        "Then run any algorithm on it."
    )
    dropped_files = st.session_state.get(_DROPPED, 0)
    file = st.file_uploader(
        "A file of interactions, or a table",
        key=f"own-file-{dropped_files}",
        max_upload_size=max_upload_mb(),
    )
    st.caption(
        "CSV, TSV, JSON lines or Parquet, or a ZIP or GZ of one; one row for each interaction, "
        "with a user and an item, and if you have them a rating, a time, a basket (what was bought "
        "together) or a cluster (users who belong together); or one row for each sample, with the "
        f"target to predict. Up to {max_upload_mb():,} MB. It stays on the computer that runs this "
        "dashboard."
    )
    if file is None:
        st.download_button(
            "An example file",
            _example(),
            file_name="interactions.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
        return
    with errors_as_sentences(), st.spinner("Saving the file ..."):
        token = dataset_actions().take_in(
            lambda path: path.write_bytes(file.getbuffer()), file.name
        )
        # The next drawing of the page has a new widget, so the file that this one holds can go.
        st.session_state[_DROPPED] = dropped_files + 1
        st.query_params.pop(JUST_KEPT, None)
        st.query_params[FILE] = token
        st.rerun()


def _offer_another_file(token: str) -> None:
    st.button(
        "Another file",
        icon=":material/upload_file:",
        key="another-file",
        help="Discards this file.",
        on_click=_forget,
        args=(token,),
    )


def _forget(token: str) -> None:
    st.query_params.pop(FILE, None)
    with errors_as_sentences():
        dataset_actions().forget(token)


@st.cache_data(show_spinner=False, max_entries=32)
def _unpacked_file(token: str) -> PlainFile:
    return own.taken_in(token)


_MOST = 30
"""So many are listed; the command line lists them all."""


def show_just_kept(name: str) -> None:
    """What comes next, right after a dataset was kept: which is best on it."""
    about = own.added().get(name)
    if about is None:
        return
    usable = about.task is not None or about.interactions > 0
    with st.container(border=True):
        _scroll_to_top_once(key="kept-top", data={"kept": name})
        st.success(
            f"**{escaped(name)}** is a dataset now, on every page and on the command line.",
            icon=":material/check_circle:",
        )
        if usable and not why_not(Action.START_MANY):
            _offer_selection(name, about)
        else:
            _offer_run(name, key="run-just-kept")


def _offer_selection(name: str, about: About) -> None:
    # These modules take long to load, so they are loaded only where they are needed.
    from pages.best.choice import USUAL_QUESTION
    from pages.best.start import begin_selection, sensible_contenders
    from pages.run.expectation import show_expected_cost

    named_specs = sensible_contenders(name, about.task or Task.TOP_N, about.items)
    specs = [spec for _, spec in named_specs]
    with st.container(horizontal=True):
        if st.button(
            "Which is best on it?", type="primary", icon=":material/trophy:", key="best-on-it"
        ):
            with errors_as_sentences():
                open_page(
                    "best/best.py", {"selection": begin_selection(named_specs, USUAL_QUESTION)}
                )
        _offer_run(name, key="run-just-kept")
    titles = listed([algorithm_title(spec.algorithm) for spec in specs])
    st.caption(
        f"{titles} are compared on the same {specs[0].k} folds, until using the best one is "
        "expected to lose at most 0.1 % of its score."
    )
    show_expected_cost(specs, as_contenders=True)


def _offer_run(name: str, *, key: str) -> None:
    """A button that opens Run with this dataset picked."""
    if st.button(
        "Run one algorithm",
        icon=":material/play_circle:",
        key=key,
        help="Opens Run with this dataset picked.",
    ):
        # The address names the dataset, so that a reload keeps it.
        open_page("run/run.py", {"dataset": dataset_title(name)})


def list_kept_datasets() -> None:
    """The list, newest first."""
    about_of_name = own.added()
    if not about_of_name:
        return
    st.header("Kept datasets", anchor=False)
    run_count_of_dataset = Counter(run.spec.dataset for run in run_list().rows())
    newest_first = sorted(
        about_of_name, key=lambda name: about_of_name[name].added_at, reverse=True
    )
    for name in newest_first[:_MOST]:
        with st.container(border=True):
            _show_dataset(name, about_of_name[name], run_count_of_dataset[name])
    if len(newest_first) > _MOST:
        st.caption(
            f"And {len(newest_first) - _MOST} more: `python -m ecv_core datasets` lists them."
        )


def _show_dataset(name: str, about: About, runs: int) -> None:
    """One kept dataset.

    Args:
        name: Its id.
        about: What is known of it.
        runs: How many runs have used it.
    """
    with spread_row():
        with st.container(width="content"):
            st.markdown(f"**{escaped(name)}**")
        with st.container(horizontal=True, width="content"):
            _offer_run(name, key=f"run-{name}")
            if dataset_actions().refusal(Action.CHANGE_DATASETS, name) is None:
                _offer_deletion(name, runs)
    facts = datasets.entry(name).size_words()
    if about.interactions:
        facts.append(f"density {density(about)}")
    st.markdown(" · ".join(facts))
    roles = ", ".join(f"{LABELS[role].lower()} {column}" for role, column in about.columns.items())
    roles = roles[0].upper() + roles[1:]
    st.caption(
        f"From {escaped(about.source)} on {about.added_on}: {about.kept:,} of {about.rows:,} rows. "
        f"{escaped(roles)}. SHA-256 {about.sha256[:12]}..."
    )


def _offer_deletion(name: str, runs: int) -> None:
    words = "No run has used it."
    if runs:
        words = (
            f"{counted(runs, 'run')} used it. They stay as they are, and say that their data is "
            "gone; they cannot be resumed."
        )
    with st.popover("Delete", icon=":material/delete:"):
        st.markdown(f"Delete **{escaped(name)}** from this computer?")
        st.caption(words)
        if st.button("Delete it", type="primary", key=f"delete-data-{name}"):
            act_and_rerun(partial(dataset_actions().remove, name))
