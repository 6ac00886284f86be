"""A run that was computed elsewhere, from its file into the list."""

from __future__ import annotations

import streamlit as st
from streamlit.typing import UploadedFile

from ecv_core.limits import MAX_RUN_BYTES
from ecv_core.rights import Action
from ecv_core.runs.run_file import read_run
from pages.components.shared.acting import acting, why_not
from pages.components.shared.state import escaped, run_list, sentences
from pages.components.shared.words import run_title

_DONE = "imported-file"
"""In the session: (id of the uploaded file, run id, whether it was new)."""


def import_run() -> None:
    """A popover that takes the file, and says what became of it; for those who may import."""
    if why_not(Action.IMPORT):
        return
    with st.popover("Import a run", icon=":material/upload_file:"):
        file = st.file_uploader(
            "Run as JSON",
            type=["json"],
            key="import-file",
            max_upload_size=MAX_RUN_BYTES // 1_000_000,
            help="On the page of a run, under Export, 'Run as JSON' gives it; so does the command "
            "line's `run --json`. Results only: it holds no user and no item.",
        )
        if file is None:
            st.caption("A finished run from another e-fold. It is checked before it is kept.")
            return
        with sentences():
            run_id, new = _kept(file)
            if new:
                st.success("Imported, and marked as such.", icon=":material/check_circle:")
            else:
                st.info("This run is here already.", icon=":material/info:")
            st.page_link(
                "run.py",
                label="Open it",
                icon=":material/open_in_full:",
                query_params={"run": run_id},
            )


def _kept(file: UploadedFile) -> tuple[str, bool]:
    """The run's id here, and whether it was new when this file came."""
    done = st.session_state.get(_DONE)
    if done and done[0] == file.file_id and any(r.run_id == done[1] for r in run_list().rows()):
        return str(done[1]), bool(done[2])
    found = read_run(file.getvalue(), file.name)
    run_id, new = acting().import_run(
        found.run,
        sha256=found.sha256,
        file_name=file.name,
        made_with=found.made_with,
    )
    if new:
        st.toast(f"Imported {escaped(run_title(found.run))}.", icon=":material/upload_file:")
    st.session_state[_DONE] = (file.file_id, run_id, new)
    if new:
        st.rerun()  # the table is drawn with it
    return run_id, new
