"""All runs in one table: find some, open one, or do something with several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from math import nan
from types import MappingProxyType
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st
from streamlit.typing import UploadedFile

from ecv_core.access.rights import Action
from ecv_core.energy.parts import left_out_words, with_own_joules
from ecv_core.evaluation import metric_of
from ecv_core.figures.spent import spent_figure, spent_frame
from ecv_core.figures.words import (
    algorithm_title,
    counted,
    dataset_title,
    in_order,
    metric_label,
    rule_words,
    run_name,
    run_title,
    watt_hours,
)
from ecv_core.models import computed_here
from ecv_core.records.run import RunState
from ecv_core.records.spec import RunSpec
from ecv_core.selection.contenders import contender_name, contender_title
from ecv_core.stopping import interval_after_stop
from ecv_core.stopping.interval import uncertainty_of
from ecv_core.store.imports import read_run
from ecv_core.store.listing import ListedRun
from ecv_core.store.plans import SELECTION, STUDY, stored_plans
from ecv_core.untrusted.limits import MAX_RUN_BYTES
from pages.runs.actions import actions, undo
from pages.shared.address.link import label_from_link
from pages.shared.address.navigation import go
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.plot import plot
from pages.shared.live.acting import acting, starter, why_not
from pages.shared.live.events import ALL
from pages.shared.live.runs import damaged_folds
from pages.shared.live.state import escaped, run_list, sentences, store
from pages.shared.live.watch import follow, watch
from pages.shared.widgets.glossary import glossary_link

if TYPE_CHECKING:
    from streamlit.elements.lib.column_types import ButtonColumnResult, ColumnConfig


# A run that was computed elsewhere, from its file into the list.


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
                "run/run.py",
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
    run_id, new = acting().import_run(found)
    if new:
        st.toast(f"Imported {escaped(run_title(found.run))}.", icon=":material/upload_file:")
    st.session_state[_DONE] = (file.file_id, run_id, new)
    if new:
        st.rerun()  # the table is drawn with it
    return run_id, new


PICKED, OPENED = "runs-picked", "runs-opened"
_HEIGHT = 520
_WRITTEN = ("name", "parameters", "beside", "part of", "tags", "note", "from", "by")
"""Columns that are shown once one of their cells holds something."""


def history() -> None:
    """Everything below the title."""
    rows = run_list().rows()
    _damaged(run_list().damaged)
    damaged_folds(rows)
    if not rows:
        with st.container(horizontal=True, vertical_alignment="center"):
            import_run()
        undo()
        st.markdown(
            f"No runs yet. Every {glossary_link('run')} you start is kept here, finished or not."
        )
        st.page_link("run/run.py", label="Start the first one", icon=":material/play_circle:")
        return
    groups = plan_names()
    shown = _filtered(rows, groups)
    _open_clicked()
    key = table_key(shown)
    picked = _picked(shown, key)
    with st.container(horizontal=True, vertical_alignment="center", key="runs-actions"):
        actions(picked, rows)
        import_run()
    undo()
    if shown:
        frame = runs_frame(shown, groups)
        _picture(shown, frame, picked)
        _table(shown, frame, key, picked, of=len(rows))
    else:
        st.info("No run matches; clear the filter to see them all.", icon=":material/search_off:")
    _follow()


def _damaged(found: Mapping[str, str]) -> None:
    """What cannot be read is shown all the same, to be deleted."""
    if not found:
        return
    with st.container(border=True, key="runs-damaged"):
        st.warning("  \n".join(escaped(said) for said in found.values()), icon=":material/error:")
        mine = [run_id for run_id in found if not acting().refusal(Action.DELETE, run_id)]
        if mine and st.button(
            f"Delete {counted(len(mine), 'damaged run')}", icon=":material/delete:"
        ):
            with sentences():
                for run_id in mine:
                    acting().delete(run_id)
                st.rerun()


def runs_frame(
    rows: Sequence[ListedRun], groups: Mapping[str, str] = MappingProxyType({})
) -> pd.DataFrame:
    """One row per run, in the given order, as the page shows and sorts it.

    Args:
        rows: the runs.
        groups: id of a selection or a study -> what it is called.
    """
    titles = {one: dataset_title(one) for one in {row.spec.dataset for row in rows}}
    people = {one: starter(one) for one in {row.started_by for row in rows}}
    return pd.DataFrame(
        {
            "open": [":material/open_in_full:"] * len(rows),
            "name": [row.label.name for row in rows],
            "dataset": [titles[row.spec.dataset] for row in rows],
            "algorithm": [algorithm_title(row.spec.algorithm) for row in rows],
            "parameters": [_parameters(row.spec) for row in rows],
            "state": [row.state.value for row in rows],
            "score": [nan if row.mean is None else row.mean for row in rows],
            "half": [_half(row.spec, row.scores, row.stopped_at) for row in rows],
            "metric": [metric_label(row.spec) for row in rows],
            "rule": [rule_words(row.spec) for row in rows],
            "folds": [len(row.scores) for row in rows],
            "stop": pd.array([_stop(row) for row in rows], dtype="Int64"),
            "k": [row.spec.k for row in rows],
            "seed": [row.spec.seed for row in rows],
            "time": [sum(row.fold_seconds) if row.fold_seconds else nan for row in rows],
            "processor": pd.Series([row.processor_seconds for row in rows], dtype=float),
            "energy": [nan if row.joules is None else row.joules / 3.6 for row in rows],
            "beside": ["other work" if row.other_work else "" for row in rows],
            "when": pd.to_datetime([row.created_at for row in rows], utc=True),
            "part of": [groups.get(row.group, "") for row in rows],
            "tags": [list(row.label.tags) for row in rows],
            "note": [row.label.note for row in rows],
            "from": [_from(row) for row in rows],
            "by": [people[row.started_by] for row in rows],
            "id": [row.run_id for row in rows],
        }
    )


def matching(rows: Sequence[ListedRun], text: str) -> list[ListedRun]:
    """The runs of which the table, or the ids of their dataset and algorithm, hold every word."""
    if not rows:
        return []
    told = runs_frame(rows).astype(str).agg(" ".join, axis=1).str.lower()
    words = text.lower().split()
    return [
        row
        for row, said in zip(rows, told, strict=True)
        if all(word in f"{said} {run_name(row).lower()}" for word in words)
    ]


def table_key(rows: Sequence[ListedRun]) -> str:
    """Of the table: another for other rows, since Streamlit knows picked rows by their place."""
    ids = " ".join(row.run_id for row in rows)
    return f"runs-{sha256(ids.encode()).hexdigest()[:12]}"


@lru_cache(maxsize=8192)
def _parameters(spec: RunSpec) -> str:
    """Those that are not at their defaults."""
    if not computed_here(spec):
        return ", ".join(f"{name} {value}" for name, value in spec.params)
    return contender_title(contender_name(spec)).partition(", ")[2]


@lru_cache(maxsize=8192)
def _half(spec: RunSpec, scores: tuple[float, ...], stopped_at: int | None) -> float:
    """Half the interval that stands beside the score; NaN where there is none."""
    used = scores[:stopped_at]
    early = stopped_at is not None and stopped_at < spec.max_folds
    find = interval_after_stop(spec, used) if early else None
    interval = find or (uncertainty_of(used, spec.confidence) if used else None)
    return nan if interval is None else interval.width / 2


def plan_names() -> dict[str, str]:
    """Id of each selection and study -> what it is called among runs."""
    return {
        plan.plan_id: f"{kind} of {plan.created_at:%Y-%m-%d %H:%M}"
        for kind in (SELECTION, STUDY)
        for plan in stored_plans(store(), kind)
    }


def _from(row: ListedRun) -> str:
    """Where its folds were computed, if not by the dashboard or a command of it."""
    kinds = [("tracked", row.spec.tracked), ("imported", row.imported)]
    return ", ".join(word for word, is_one in kinds if is_one)


def _stop(row: ListedRun) -> int | None:
    """The fold after which the rule stopped it early."""
    early = row.stopped_at is not None and row.stopped_at < len(row.spec.fold_order)
    return row.stopped_at if early else None


def _filtered(rows: Sequence[ListedRun], groups: Mapping[str, str]) -> list[ListedRun]:
    """The runs that match what is picked above the table."""
    tags = sorted({tag for row in rows for tag in row.label.tags})
    plans = {row.group: groups[row.group] for row in rows if row.group in groups}
    place = st.container(horizontal=True)
    text = place.text_input(
        "Find",
        key="find",
        bind="query-params",
        placeholder="dataset, algorithm, name, note or id",
        icon=":material/search:",
        width=300,
    )
    states = place.multiselect(
        "State",
        list(RunState),
        format_func=lambda one: one.value,
        key="state",
        bind="query-params",
        width=220,
    )
    titles = {one: dataset_title(one) for one in in_order(row.spec.dataset for row in rows)}
    label_from_link("of_dataset", titles)
    datasets = place.multiselect(
        "Dataset",
        list(titles),
        format_func=titles.__getitem__,
        key="of_dataset",
        bind="query-params",
        width=220,
    )
    parts = tagged = []
    if plans:
        parts = place.multiselect(
            "Part of", list(plans), format_func=plans.__getitem__, key="part", width=260
        )
    if tags:
        tagged = place.multiselect("Tag", tags, key="tag", bind="query-params", width=160)
    return [
        row
        for row in (matching(rows, text) if text else rows)
        if (not states or row.state in states)
        and (not datasets or row.spec.dataset in datasets)
        and (not parts or row.group in parts)
        and set(tagged) <= set(row.label.tags)
    ]


def _picked(shown: Sequence[ListedRun], key: str) -> list[ListedRun]:
    """The picked runs among those shown; a pick outlasts another filter and new runs."""
    state = st.session_state.get(key)
    if state is not None:
        places = state["selection"]["rows"]
        st.session_state[PICKED] = [shown[at].run_id for at in places if at < len(shown)]
    picked = set(st.session_state.get(PICKED, ()))
    return [row for row in shown if row.run_id in picked]


def _picture(shown: Sequence[ListedRun], frame: pd.DataFrame, picked: Sequence[ListedRun]) -> None:
    """Score against energy; nothing below two runs with both."""
    marked = {row.run_id for row in picked}
    points = spent_frame(
        pd.DataFrame(
            {
                "name": frame["algorithm"] + " on " + frame["dataset"] + ", " + frame["rule"],
                "of": frame["dataset"] + ", " + frame["metric"],
                "score": frame["score"],
                "higher": [metric_of(row.spec).higher_is_better for row in shown],
                "mwh": frame["energy"],
                "picked": frame["id"].isin(marked),
            }
        )
    )
    if len(points) < 2:
        return
    with st.container(height=270, border=False):  # room for it, before it is drawn
        plot(
            lambda dark: spent_figure(points, dark=dark),
            version=points.to_csv(),
            key="runs-picture",
            alt=f"Score of {len(points)} runs, in % of the best on its dataset, by their energy.",
            name="runs",
        )


def _table(
    shown: Sequence[ListedRun],
    frame: pd.DataFrame,
    key: str,
    picked: Sequence[ListedRun],
    *,
    of: int,
) -> None:
    marked = {row.run_id for row in picked}
    st.session_state[OPENED + "-rows"] = [row.run_id for row in shown]
    column = st.column_config
    columns: dict[str, ColumnConfig | ButtonColumnResult] = {
        "open": column.ButtonColumn(
            "", help="Open the run.", type="tertiary", key=OPENED, width=44, pinned=True
        ),
        "name": column.TextColumn(help="Your own name for it."),
        "score": column.NumberColumn(
            format="%.4f", help="Mean of the folds up to the stop, or of all so far."
        ),
        "parameters": column.TextColumn(help="Those that are not at their defaults."),
        "half": column.NumberColumn(
            "±",
            format="%.4f",
            help="Half the interval of the score, allowing for the stop; empty for one fold.",
        ),
        "rule": column.TextColumn(help="What stops the run."),
        "folds": column.NumberColumn(
            help="Folds that have run, those after the stop included.", width=56
        ),
        "stop": column.NumberColumn(
            help="The fold after which the rule stopped; empty where it did not.", width=56
        ),
        "k": column.NumberColumn(help="Folds that the data is split into.", width=44),
        "seed": column.NumberColumn(format="%d", width=56),
        "time": column.NumberColumn("time (s)", format="%.1f", help="Of all folds that have run."),
        "part of": column.TextColumn(help="The selection or the study that it was computed for."),
        "processor": column.NumberColumn(
            "processor (s)",
            format="%.1f",
            help="Processor time of all folds that have run, of all cores: other work on the "
            "machine hardly changes it. Empty where it was not written.",
        ),
        "energy": column.NumberColumn(
            "energy (mWh)",
            format="%.2g",
            help="Of all folds that have run; empty where there was no meter. Mostly an estimate: "
            "open a run to see what it is made up of.",
        ),
        "beside": column.TextColumn(
            help="Other programs used the machine meanwhile, so its energy is in no sum: the page "
            "of the run says how much."
        ),
        "when": column.DatetimeColumn(
            "started", format="YYYY-MM-DD HH:mm", timezone=st.context.timezone
        ),
        "tags": column.ListColumn(),
        "from": column.TextColumn(
            help="Imported runs were computed elsewhere, tracked ones by code outside e-fold."
        ),
    }
    written = [name for name in _WRITTEN if any(len(value) for value in frame[name])]
    st.dataframe(
        frame,
        column_order=[str(name) for name in frame if name not in _WRITTEN or name in written],
        hide_index=True,
        height="content" if len(shown) <= 13 else _HEIGHT,
        column_config=columns,
        key=key,
        on_select="rerun",
        selection_mode="multi-row",
        selection_default={
            "selection": {"rows": [at for at, row in enumerate(shown) if row.run_id in marked]}
        },
        placeholder="",
        alt=f"{counted(len(shown), 'run')}, newest first",
    )
    every = counted(of, "run")
    st.caption(
        f"{every if len(shown) == of else f'{len(shown):,} of {every}'}, newest first. A click on "
        f"a column's head sorts; the arrow at the left of a row opens the {glossary_link('run')}."
    )
    _energy(picked or shown, picked=bool(picked))


def _energy(rows: Sequence[ListedRun], *, picked: bool) -> None:
    """What the shown runs, or those picked among them, used together, and what it is made up of."""
    every = [row for row in rows if row.joules is not None]
    metered = with_own_joules(every)
    if not metered:
        if note := left_out_words(every):
            st.caption(note)
        return
    of = f"{'picked' if picked else 'shown'} {'run' if len(metered) == 1 else 'runs'}"
    st.markdown(
        f"**{watt_hours(sum(row.joules or 0.0 for row in metered))}** for all folds of "
        f"{len(metered):,} {of}."
    )
    energy_bar((spent for row in metered for spent in row.spent), left_out_words(every))


def _open_clicked() -> None:
    """Open the run whose button was pressed, by the rows as they were when it was pressed."""
    click = st.session_state.get(OPENED)
    listed = st.session_state.get(OPENED + "-rows", [])
    if click is not None and click["row"] < len(listed):
        go("run/run.py", {"run": listed[click["row"]]})


def _follow() -> None:
    """Draw the page anew when an active run goes on; nothing is asked while none is active."""
    if before := watch().now().stages:
        follow(_look_again, before, key="history", of=[ALL])


def _look_again(before: tuple[object, ...]) -> None:
    if watch().now().stages != before:
        st.rerun()
