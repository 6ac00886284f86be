"""One thing at a time: drop a file, or look at the one that was dropped; then what is kept."""

from __future__ import annotations

import streamlit as st

from ecv_core.dataset import own
from ecv_core.dataset.own.plain import Plain, no_report
from ecv_core.jobs.rights.actor import Action
from ecv_core.records.errors import EcvError
from ecv_core.untrusted.limits import max_upload_mb
from pages.data.columns import columns
from pages.data.kept import just_kept, kept_datasets
from pages.data.outcome import outcome
from pages.shared.live.acting import handling, why_not
from pages.shared.live.state import escaped, sentence, sentences

FILE, KEPT = "file", "kept"
"""In the address: the token of a dropped file; the name of the dataset that was just kept."""
_DROPPED = "files-dropped"


def your_data() -> None:
    """The whole page below its head."""
    token = st.query_params.get(FILE)
    if why := why_not(Action.UPLOAD):
        st.info(why, icon=":material/lock:")
        kept_datasets()
        return
    st.markdown(
        "Drop a file of interactions, who had to do with what: see how it is read, correct it, and "
        "keep it as a dataset. Then run any algorithm on it."
    )
    if token:
        _worked_on(token)
    else:
        if name := st.query_params.get(KEPT):
            just_kept(name)
        _drop()
    kept_datasets()


def _drop() -> None:
    count = st.session_state.get(_DROPPED, 0)
    file = st.file_uploader(
        "A file of interactions",
        key=f"own-file-{count}",
        max_upload_size=max_upload_mb(),
    )
    st.caption(
        "CSV, TSV, JSON lines or Parquet, or a ZIP or GZ of one; one row for each interaction, "
        "with a user and an item, and if you have them a rating, a time or a basket (what was "
        f"bought together). Up to {max_upload_mb():,} MB. It stays on the computer that runs this "
        "dashboard."
    )
    if file is None:
        return
    with sentences(), st.spinner("Taking it in ..."):
        token = handling().take_in(lambda path: path.write_bytes(file.getbuffer()), file.name)
        st.session_state[_DROPPED] = count + 1  # the browser's copy is needed no more
        st.query_params.pop(KEPT, None)
        st.query_params[FILE] = token
        st.rerun()


def _worked_on(token: str) -> None:
    try:
        with st.spinner("Looking at the file ..."):
            plain = _plain(token)
            if not plain.path.is_file():  # it was kept or thrown away, in another tab
                plain = own.taken_in(token, no_report)
    except EcvError as error:
        _refused(token, error)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(escaped(plain.name), anchor=False, width="content")
        _another(token)
    try:
        layout = columns(token, plain)
    except EcvError as error:
        st.error(sentence(error), icon=":material/error:")
        return
    if layout is not None:
        outcome(token, plain, layout)


def _refused(token: str, error: EcvError) -> None:
    st.error(sentence(error), icon=":material/error:")
    _another(token)


def _another(token: str) -> None:
    st.button(
        "Another file",
        icon=":material/upload_file:",
        key="another-file",
        help="Throws this one away.",
        on_click=_forget,
        args=(token,),
    )


def _forget(token: str) -> None:
    st.query_params.pop(FILE, None)
    with sentences():
        handling().forget(token)


@st.cache_data(show_spinner=False, max_entries=32)
def _plain(token: str) -> Plain:
    return own.taken_in(token, no_report)
