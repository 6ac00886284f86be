"""All runs: filter, one row each, with what can be done with it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from ecv_core.energy.savings import energy_facts
from ecv_core.records import Run, RunState
from ecv_core.runs.run_file import MAX_BYTES, read_run
from ecv_core.store import import_run as keep_run
from ecv_core.store import origins
from pages.components.shared.glossary import glossary_link
from pages.components.shared.link import copy_link
from pages.components.shared.navigation import COMPARE, show_view
from pages.components.shared.runs import COMPARED, confirm_delete, follow
from pages.components.shared.state import escaped, manager, sentences, store
from pages.components.shared.words import (
    ago,
    metric_label,
    rule_words,
    run_title,
    state_badge,
    watt_hours,
)

ROWS = 20


def history() -> None:
    """Everything below the title."""
    with st.container(horizontal=True, vertical_alignment="center"):
        import_run()
        copy_link()
    runs = store().runs()
    if not runs:
        st.markdown(
            f"No runs yet. Every {glossary_link('run')} you start is kept here, finished or not."
        )
        st.page_link("pages/run.py", label="Start the first one", icon=":material/play_circle:")
        return
    history_list(filtered(runs))
    follow(store().runs)


def filtered(runs: list[Run]) -> list[Run]:
    """The runs that match what is picked above the list."""
    left, middle, right = st.columns([1.5, 1, 1])
    text = left.text_input(
        "Find",
        key="find",
        bind="query-params",
        placeholder="dataset, algorithm or id",
        icon=":material/search:",
    )
    states = middle.multiselect(
        "State",
        list(RunState),
        format_func=lambda state: state.value,
        key="state",
        bind="query-params",
    )
    datasets = right.multiselect(
        "Dataset",
        sorted({r.spec.dataset for r in runs}),
        key="of_dataset",
        bind="query-params",
    )
    words = text.lower().split()
    return [
        run
        for run in runs
        if (not states or run.state in states)
        and (not datasets or run.spec.dataset in datasets)
        and all(word in f"{run_title(run)} {run.run_id}".lower() for word in words)
    ]


def history_list(runs: list[Run]) -> None:
    """One row per run, newest first, a page of them at a time."""
    if not runs:
        st.info("No run matches; clear the filter to see them all.", icon=":material/search_off:")
        return
    shown = int(st.session_state.get("rows", ROWS))
    _compare_button(runs[:shown])
    elsewhere = origins(store())
    for run in runs[:shown]:
        with st.container(border=True):
            _row(run, imported=run.run_id in elsewhere)
    if len(runs) > shown and st.button(f"Show more ({len(runs) - shown} left)", key="more"):
        st.session_state["rows"] = shown + ROWS
        st.rerun()


def _row(run: Run, *, imported: bool) -> None:
    name, facts, actions = st.columns([2.2, 3.6, 1.7], vertical_alignment="center")
    with name, st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        st.checkbox(f"Compare {run_title(run)}", key=_pick_key(run), label_visibility="collapsed")
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.markdown(f"**{run_title(run)}**", width="content")
            state_badge(run.state)
            if imported:
                st.badge("imported", icon=":material/upload_file:", color="violet")
    facts.markdown(_facts(run))
    with (
        actions,
        st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"),
    ):
        _actions(run)


def _facts(run: Run) -> str:
    if run.stopped_early:
        folds = f"stop **{run.stopped_at}** of {run.k}"
    else:
        folds = f"**{len(run.folds)}** of {run.k} folds"
    words = [rule_words(run.spec), folds]
    if at := run.at_stop:
        words += [f"{metric_label(run.spec)} **{at.mean:.4f}**", _energy(run)]
    return " · ".join([*words, ago(run.created_at)])


def _energy(run: Run) -> str:
    """'40 mWh, saved **60 mWh** (60 %)', or what checking the stop has cost."""
    facts = energy_facts(run.folds, run.k, run.stopped_at)
    if facts.source == "none":
        return "energy not measured"
    words = watt_hours(facts.joules)
    if facts.saved_joules and facts.saved_percent is not None:
        saving = f"**{watt_hours(facts.saved_joules)}** ({facts.saved_percent:.0f} %)"
        words += f", {saving} given up to check" if run.checked else f", saved {saving}"
    return words


def _pick_key(run: Run) -> str:
    return f"pick-{run.run_id}"


def _compare_button(runs: Sequence[Run]) -> None:
    """Opens what is ticked side by side; in sight however far the list is scrolled."""
    ticked = [run.run_id for run in runs if st.session_state.get(_pick_key(run))]
    if len(ticked) < 2:
        st.caption(f"Tick two or more {glossary_link('run', 'runs')} to compare them.")
        return
    with st.bottom:
        st.button(
            f"Compare {len(ticked)} runs",
            key="compare-ticked",
            icon=":material/balance:",
            type="primary",
            on_click=_compare,
            args=(ticked,),
        )


def _compare(run_ids: Sequence[str]) -> None:
    show_view(COMPARE)
    st.query_params[COMPARED] = ",".join(run_ids)


def _actions(run: Run) -> None:
    st.page_link(
        "pages/run.py",
        label="Open",
        icon=":material/open_in_full:",
        query_params={"run": run.run_id},
    )
    if run.resumable and st.button(
        "Resume", key=f"resume-{run.run_id}", icon=":material/resume:", type="tertiary"
    ):
        with sentences():
            manager().resume(run.run_id)
            st.switch_page("pages/run.py", query_params={"run": run.run_id})
    if not run.state.active and st.button(
        "Delete", key=f"delete-{run.run_id}", icon=":material/delete:", type="tertiary"
    ):
        confirm_delete(run)


_DONE = "imported-file"
"""In the session: (id of the uploaded file, run id, whether it was new)."""


def import_run() -> None:
    """A popover that takes the file, and says what became of it."""
    with st.popover("Import a run", icon=":material/upload_file:"):
        file = st.file_uploader(
            "Run as JSON",
            type=["json"],
            key="import-file",
            max_upload_size=MAX_BYTES // 1_000_000,
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
                "pages/run.py",
                label="Open it",
                icon=":material/open_in_full:",
                query_params={"run": run_id},
            )


def _kept(file: UploadedFile) -> tuple[str, bool]:
    """The run's id here, and whether it was new when this file came."""
    done = st.session_state.get(_DONE)
    if done and done[0] == file.file_id and any(r.run_id == done[1] for r in store().runs()):
        return str(done[1]), bool(done[2])
    found = read_run(file.getvalue(), file.name)
    run_id, new = keep_run(
        store(),
        found.run,
        sha256=found.sha256,
        file_name=file.name,
        made_with=found.made_with,
    )
    if new:
        st.toast(f"Imported {escaped(run_title(found.run))}.", icon=":material/upload_file:")
    st.session_state[_DONE] = (file.file_id, run_id, new)
    return run_id, new
