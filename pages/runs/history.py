"""All runs in one table: find some, open one, or do something with several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache, partial
from hashlib import sha256
from types import MappingProxyType
from typing import Literal, NamedTuple

import pandas as pd
import streamlit as st
from streamlit.elements.arrow import DataframeStateInput
from streamlit.elements.lib.column_types import ButtonColumnResult, ColumnConfig
from streamlit.typing import UploadedFile

from ecv_core.access.roles import Action
from ecv_core.energy.parts import excluded_energy_words, runs_without_other_work
from ecv_core.energy.savings import sum_of_ranges
from ecv_core.evaluation import metric_of
from ecv_core.figures.spent import spent_figure, spent_frame, spent_height
from ecv_core.figures.words import (
    algorithm_title,
    counted,
    dataset_title,
    in_catalogue_order,
    metric_label,
    rule_words,
    run_name,
    run_title,
    titles_of,
    watt_hours_range,
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
from pages.runs.actions import all_tags, draw_actions, offer_undo
from pages.runs.report import report_popover
from pages.shared.address.link import translate_address
from pages.shared.address.navigation import open_page
from pages.shared.base.glossary import glossary_link
from pages.shared.base.rows import row_container
from pages.shared.charts.energy_parts import draw_energy_bar
from pages.shared.charts.plot import plot
from pages.shared.live.events import ALL
from pages.shared.live.person import name_of_starter, run_actions, why_not
from pages.shared.live.runs import (
    COMPARED,
    COMPARED_BOX,
    ids_of,
    rerun_on_change,
    show_damaged_folds,
)
from pages.shared.live.state import errors_as_sentences, escaped, run_list, store
from pages.shared.live.watch import watch
from pages.shared.widgets.tables import number, score_format, text

# Importing a run that was computed elsewhere, from its file.


_LAST_IMPORT = "imported-file"
"""In the session: what became of the file that was imported last."""


class _Imported(NamedTuple):
    """What became of an uploaded file."""

    file_id: str
    run_id: str
    is_new: bool


def offer_import() -> None:
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
        with errors_as_sentences():
            imported = _import_once(file)
            if imported.is_new:
                st.success("Imported, and marked as such.", icon=":material/check_circle:")
            else:
                st.info("This run is here already.", icon=":material/info:")
            st.page_link(
                "run/run.py",
                label="Open it",
                icon=":material/open_in_full:",
                query_params={"run": imported.run_id},
            )


def _import_once(file: UploadedFile) -> _Imported:
    """What became of this file: it is imported once, however often the page is drawn."""
    last_import: _Imported | None = st.session_state.get(_LAST_IMPORT)
    ids = ids_of(run_list().rows())
    # The file stays in its field. It is imported again only once its run has been deleted.
    if last_import and last_import.file_id == file.file_id and last_import.run_id in ids:
        return last_import
    document = read_run(file.getvalue(), file.name)
    run_id, is_new = run_actions().import_run(document)
    imported = _Imported(file.file_id, run_id, is_new)
    st.session_state[_LAST_IMPORT] = imported
    if is_new:
        st.toast(f"Imported {escaped(run_title(document.run))}.", icon=":material/upload_file:")
        st.rerun()  # the table of this drawing was read before the import
    return imported


PICKED = "runs-picked"
"""In the session: ids of the picked runs."""
OPENED = "runs-opened"
"""Key of the buttons that open a run."""
_IDS_BY_ROW = "runs-listed"
"""In the session: ids of the runs in the table, by their rows."""
_MOST_ROWS_IN_SIGHT = 13
"""Rows up to which the table is as high as they are."""
_HEIGHT_IF_SCROLLED = 520
"""Pixels of a table with more rows."""
_COLUMNS_OF_TEXT = ("name", "parameters", "beside", "part of", "tags", "note", "from", "by")
"""Columns that are shown once one of their cells holds something."""


def show_history() -> None:
    """Everything below the title."""
    rows = run_list().rows()
    _show_damaged(run_list().damaged)
    show_damaged_folds(rows)
    if not rows:
        with row_container():
            offer_import()
        offer_undo()
        st.markdown(
            f"No runs yet. Every {glossary_link('run')} you start is kept here, finished or not."
        )
        st.page_link("run/run.py", label="Start the first one", icon=":material/play_circle:")
        return
    plan_names = names_of_plans()
    shown = _filtered(rows, plan_names)
    # A click tells the number of a row of the table that was drawn last. It is answered before the
    # table is drawn anew, whose rows may be other runs.
    _open_clicked_run()
    key = table_key(shown)
    picked = _picked_runs(shown, key)
    with row_container(key="runs-actions"):
        draw_actions(picked, rows)
        report_popover(picked, shown)
        offer_import()
    offer_undo()
    if shown:
        frame = runs_frame(shown, plan_names)
        _draw_scores_and_energy(shown, frame, picked)
        _draw_table_of_runs(shown, frame, key, picked)
        _say_how_to_use_table(len(shown), len(rows))
        if picked:
            _show_energy(picked, "picked run")
        else:
            _show_energy(shown, "shown run")
    else:
        st.info("No run matches; clear the filter to see them all.", icon=":material/search_off:")
    _follow_all_runs()


def _show_damaged(sentences_of_runs: Mapping[str, str]) -> None:
    """What cannot be read is shown all the same, to be deleted.

    Args:
        sentences_of_runs: Run id -> why it cannot be read.
    """
    if not sentences_of_runs:
        return
    with st.container(border=True, key="runs-damaged"):
        reasons = map(escaped, sentences_of_runs.values())
        st.warning("  \n".join(reasons), icon=":material/error:")
        person = run_actions()
        deletable_ids = [run for run in sentences_of_runs if not person.refusal(Action.DELETE, run)]
        if deletable_ids and st.button(
            f"Delete {counted(len(deletable_ids), 'damaged run')}", icon=":material/delete:"
        ):
            with errors_as_sentences():
                for run_id in deletable_ids:
                    person.delete(run_id)
                st.rerun()


def runs_frame(
    rows: Sequence[ListedRun], plan_names: Mapping[str, str] = MappingProxyType({})
) -> pd.DataFrame:
    """One row per run, in the given order, as the page shows and sorts it.

    Args:
        rows: The runs.
        plan_names: Id of a selection or a study -> what it is called.
    """
    frame = pd.DataFrame([_cells(row) for row in rows], columns=list(_COLUMNS))
    frame["dataset"] = _names_of_ids(frame["dataset"], dataset_title)
    frame["by"] = _names_of_ids(frame["by"], name_of_starter)
    frame["part of"] = [plan_names.get(row.group, "") for row in rows]
    frame["stop"] = frame["stop"].astype("Int64")
    frame["when"] = pd.to_datetime(frame["when"], utc=True)
    numbers = ["score", "half width", "time", "processor", "energy"]
    frame[numbers] = frame[numbers].astype(float)
    return frame


_COLUMNS = (
    *(
        "open",
        "name",
        "dataset",
        "algorithm",
        "parameters",
        "state",
        "score",
        "half width",
        "metric",
    ),
    *("rule", "folds", "stop", "k", "seed", "time", "processor", "energy", "beside", "when"),
    *("part of", "tags", "note", "from", "by", "id"),
)
"""Of the table, in this order."""


def _names_of_ids(ids: pd.Series[str], name_of: Callable[[str], str]) -> pd.Series[str]:
    """Ids as people read them, each looked up once."""
    return ids.map({each_id: name_of(each_id) for each_id in ids.unique()})


_JOULES_PER_MILLIWATT_HOUR = 3.6


def _cells(row: ListedRun) -> dict[str, object]:
    """The cells of a run, by their columns; datasets and people by their ids."""
    spec = row.spec
    cells: dict[str, object] = {"open": ":material/open_in_full:", "id": row.run_id}
    cells["dataset"] = spec.dataset
    cells["algorithm"] = algorithm_title(spec.algorithm)
    cells["parameters"] = _parameters(spec)
    cells["metric"] = metric_label(spec)
    cells["rule"] = rule_words(spec)
    cells["k"] = spec.k
    cells["seed"] = spec.seed
    cells["state"] = row.state.value
    cells["score"] = row.mean
    cells["half width"] = _half_width(spec, row.scores, row.stopped_at)
    cells["folds"] = len(row.scores)
    if row.stopped_at is not None and row.stopped_at < len(spec.fold_order):
        cells["stop"] = row.stopped_at  # the cell is empty where the run was not stopped early
    if row.fold_seconds:
        cells["time"] = sum(row.fold_seconds)
    cells["processor"] = row.processor_seconds
    if row.joules is not None:
        cells["energy"] = row.joules / _JOULES_PER_MILLIWATT_HOUR
    cells["beside"] = ""
    if row.other_work:
        cells["beside"] = "other work"
    cells["when"] = row.created_at
    cells["name"] = row.label.name
    cells["tags"] = list(row.label.tags)
    cells["note"] = row.label.note
    cells["from"] = _origin(row)
    cells["by"] = row.started_by
    return cells


def matching(rows: Sequence[ListedRun], text: str) -> list[ListedRun]:
    """The runs of which the table, or the ids of their dataset and algorithm, hold every word."""
    if not rows:
        return []
    cells = runs_frame(rows).astype(str).agg(" ".join, axis=1)
    words = text.lower().split()
    matches = []
    for row, row_cells in zip(rows, cells, strict=True):
        row_text = f"{row_cells} {run_name(row)}".lower()
        if all(word in row_text for word in words):
            matches.append(row)
    return matches


def table_key(rows: Sequence[ListedRun]) -> str:
    """Of the table: another for other rows, since Streamlit knows picked rows by their place."""
    ids = " ".join(ids_of(rows))
    return f"runs-{sha256(ids.encode()).hexdigest()[:12]}"


@lru_cache(maxsize=8192)
def _parameters(spec: RunSpec) -> str:
    """Those that are not at their defaults."""
    if not computed_here(spec):
        return ", ".join(f"{name} {value}" for name, value in spec.params)
    # The title is the algorithm, and after a comma its parameters.
    _, _, parameters = contender_title(contender_name(spec)).partition(", ")
    return parameters


@lru_cache(maxsize=8192)
def _half_width(spec: RunSpec, scores: tuple[float, ...], stopped_at: int | None) -> float | None:
    """Half the interval that stands beside the score; None where there is none."""
    used_scores = scores[:stopped_at]  # a run that has not stopped has used all of them
    interval = None
    if stopped_at is not None and stopped_at < spec.max_folds:
        # A rule stops where the folds happen to agree, so its interval has to allow for the stop.
        interval = interval_after_stop(spec, used_scores)
    if interval is None and used_scores:
        interval = uncertainty_of(used_scores, spec.confidence, spec.overlap)
    if interval is None:  # a single fold shows no spread
        return None
    return interval.width / 2


def names_of_plans() -> dict[str, str]:
    """Id of each selection and study -> what it is called among runs."""
    names = {}
    for kind in (SELECTION, STUDY):
        for plan in stored_plans(store(), kind):
            names[plan.plan_id] = f"{kind} of {plan.created_at:%Y-%m-%d %H:%M}"
    return names


def _origin(row: ListedRun) -> str:
    """Where its folds were computed, if not by the dashboard or a command of it."""
    words = []
    if row.spec.tracked:
        words.append("tracked")
    if row.imported:
        words.append("imported")
    return ", ".join(words)


class _Filter(NamedTuple):
    """What is picked above the table; what is empty filters nothing."""

    text: str
    states: Sequence[RunState]
    datasets: Sequence[str]
    plans: Sequence[str]
    tags: Sequence[str]
    since: date
    """Of the first day; of all days where no period is picked."""

    def admits(self, row: ListedRun) -> bool:
        """Whether the run matches all but the text."""
        if row.created_at.date() < self.since:
            return False
        if self.states and row.state not in self.states:
            return False
        if self.datasets and row.spec.dataset not in self.datasets:
            return False
        if self.plans and row.group not in self.plans:
            return False
        return set(self.tags) <= set(row.label.tags)


def _filtered(rows: Sequence[ListedRun], plan_names: Mapping[str, str]) -> list[ListedRun]:
    """The runs that match what is picked above the table."""
    picked = _pick_filter(rows, plan_names)
    if picked.text:
        rows = matching(rows, picked.text)
    return list(filter(picked.admits, rows))


def _pick_filter(rows: Sequence[ListedRun], plan_names: Mapping[str, str]) -> _Filter:
    place = st.container(horizontal=True)
    text = place.text_input(
        "Find",
        key="find",
        bind="query-params",
        placeholder="dataset, algorithm, name, note or id",
        icon=":material/search:",
        width=300,
    )
    states = place.multiselect("State", list(RunState), key="state", bind="query-params", width=220)
    titles = titles_of(in_catalogue_order(row.spec.dataset for row in rows), dataset_title)
    translate_address("of_dataset", titles)
    datasets = place.multiselect(
        "Dataset",
        list(titles),
        format_func=titles.__getitem__,
        key="of_dataset",
        bind="query-params",
        width=220,
    )
    period = place.selectbox(
        "Started", [_AT_ANY_TIME, *_PERIODS], key="started", bind="query-params", width=160
    )
    plans = []
    listed_plans = sorted({row.group for row in rows if row.group in plan_names})
    if listed_plans:
        plans = place.multiselect(
            "Part of", listed_plans, format_func=plan_names.__getitem__, key="part", width=260
        )
    tags = []
    every_tag = all_tags(rows)
    if every_tag:
        tags = place.multiselect("Tag", every_tag, key="tag", bind="query-params", width=160)
    return _Filter(text, states, datasets, plans, tags, since=_first_day(period))


_AT_ANY_TIME = "at any time"
_PERIODS = {"this month": "M", "this quarter": "Q", "this year": "Y"}
"""What can be picked -> the period of pandas."""


def _first_day(period: str) -> date:
    """The day on which a period of `_PERIODS` began, in UTC; the first of all for any time."""
    if period == _AT_ANY_TIME:
        return date.min
    return pd.Period(datetime.now(UTC).date(), _PERIODS[period]).start_time.date()


def _picked_runs(shown: Sequence[ListedRun], key: str) -> list[ListedRun]:
    """The picked runs among those shown.

    Args:
        shown: The runs of the table.
        key: The key of the table.
    """
    picked_before = set(st.session_state.get(PICKED, ()))
    picked = [row for row in shown if row.run_id in picked_before]
    state_of_table = st.session_state.get(key)
    if state_of_table is None:
        return picked
    row_numbers = set(state_of_table["selection"]["rows"])
    picked_now = [row for number, row in enumerate(shown) if number in row_numbers]
    # If somebody has just picked several runs, the view Compare begins with these. If rows are
    # missing only because of a filter, or because runs were deleted, it keeps its runs.
    if len(picked_now) > 1 and picked_now != picked:
        st.session_state[COMPARED_BOX] = ids_of(picked_now)
        # The address would decide, and it has those of an earlier comparison.
        st.query_params.pop(COMPARED, None)
    # The ids are kept, as another filter or a new run makes a table of another key.
    st.session_state[PICKED] = ids_of(picked_now)
    return picked_now


def _draw_scores_and_energy(
    shown: Sequence[ListedRun], frame: pd.DataFrame, picked: Sequence[ListedRun]
) -> None:
    """Score against energy; nothing below two runs with both."""
    runs = pd.DataFrame({"score": frame["score"], "mwh": frame["energy"]})
    runs["name"] = frame["algorithm"] + " on " + frame["dataset"] + ", " + frame["rule"]
    runs["group"] = frame["dataset"] + ", " + frame["metric"]
    runs["higher"] = [metric_of(row.spec).higher_is_better for row in shown]
    runs["picked"] = frame["id"].isin(ids_of(picked))
    points = spent_frame(runs)
    if len(points) < 2:
        return
    height = spent_height(points) + 10
    with st.container(height=height, border=False):  # so high that nothing moves once it is drawn
        plot(
            partial(spent_figure, points),
            cache_key=points.to_csv(),
            key="runs-picture",
            alt=f"Score of {len(points)} runs, in % of the best on its dataset, by their energy.",
            name="runs",
        )


def _draw_table_of_runs(
    shown: Sequence[ListedRun], frame: pd.DataFrame, key: str, picked: Sequence[ListedRun]
) -> None:
    # A press of 'Open' gives only the number of its row, so the session keeps the run of each row.
    st.session_state[_IDS_BY_ROW] = ids_of(shown)
    columns = []
    for name in _COLUMNS:
        # A column of text is shown once one of its cells holds something.
        if name not in _COLUMNS_OF_TEXT or frame[name].str.len().any():
            columns.append(name)
    height: Literal["content"] | int = _HEIGHT_IF_SCROLLED
    if len(shown) <= _MOST_ROWS_IN_SIGHT:
        height = "content"
    picked_ids = set(ids_of(picked))
    picked_rows = [number for number, row in enumerate(shown) if row.run_id in picked_ids]
    selection: DataframeStateInput = {"selection": {"rows": picked_rows}}
    st.dataframe(
        frame,
        column_order=columns,
        hide_index=True,
        height=height,
        column_config=_number_columns(frame) | _other_columns(),
        key=key,
        on_select="rerun",
        selection_mode="multi-row",
        selection_default=selection,
        placeholder="",
        alt=f"{counted(len(shown), 'run')}, newest first",
    )


def _number_columns(frame: pd.DataFrame) -> dict[str, ColumnConfig]:
    columns = {}
    form = score_format(frame["score"])
    columns["score"] = number(None, form, "Mean of the folds up to the stop, or of all so far.")
    columns["half width"] = number(
        "these folds ±",
        score_format(frame["half width"]),
        "Half the interval of these folds, allowing for the stop; empty for one fold. The interval "
        "for new users is on the page of the run and in Compare.",
    )
    columns["folds"] = number(
        None, help="Folds that have run, those after the stop included.", width=56
    )
    columns["stop"] = number(
        None, help="The fold after which the rule stopped; empty where it did not.", width=56
    )
    columns["k"] = number(None, help="Folds that the data is split into.", width=44)
    columns["seed"] = number(None, "%d", width=56)
    columns["time"] = number("time (s)", "%.1f", "Of all folds that have run.")
    columns["processor"] = number(
        "processor (s)",
        "%.1f",
        "Processor time of all folds that have run, of all cores: other work on the machine "
        "hardly changes it. Empty where it was not recorded.",
    )
    columns["energy"] = number(
        "energy (mWh)",
        "%.2g",
        "Of all folds that have run; empty where there was no meter. Mostly the high end of an "
        "estimate: open a run to see its range and what it is made up of.",
    )
    return columns


def _other_columns() -> dict[str, ColumnConfig | ButtonColumnResult]:
    column = st.column_config
    columns: dict[str, ColumnConfig | ButtonColumnResult] = {}
    columns["open"] = column.ButtonColumn(
        "", help="Open the run.", type="tertiary", key=OPENED, width=44, pinned=True
    )
    columns["name"] = text(None, "Your own name for it.")
    columns["parameters"] = text(None, "Those that are not at their defaults.")
    columns["rule"] = text(None, "What stops the run.")
    columns["part of"] = text(None, "The selection or the study that it was computed for.")
    columns["beside"] = text(
        None,
        "Other programs used the machine, so its energy is left out of all sums: the page of the "
        "run says how much.",
    )
    columns["when"] = column.DatetimeColumn(
        "started", format="YYYY-MM-DD HH:mm", timezone=st.context.timezone
    )
    columns["tags"] = column.ListColumn()
    columns["from"] = text(
        None, "Imported runs were computed elsewhere, tracked ones by code outside e-fold."
    )
    return columns


def _say_how_to_use_table(shown: int, every: int) -> None:
    """How many runs the table has, of how many, and how it is used."""
    runs = counted(every, "run")
    if shown < every:
        runs = f"{shown:,} of {runs}"
    st.markdown(
        f"{runs}, newest first. A click on a column's head sorts; the arrow at the left of a row "
        f"opens the {glossary_link('run')}."
    )


def _show_energy(rows: Sequence[ListedRun], kind: str) -> None:
    """What runs used together, and what it is made up of.

    Args:
        rows: The runs.
        kind: What one of them is called: 'picked run'.
    """
    metered = [row for row in rows if row.joules is not None]
    undisturbed = runs_without_other_work(metered)
    words_on_disturbed = excluded_energy_words(metered)
    if not undisturbed:
        if words_on_disturbed:
            st.caption(words_on_disturbed)
        return
    energy = watt_hours_range(*sum_of_ranges(row.joules_range for row in undisturbed))
    st.markdown(f"**{energy}** for all folds of {counted(len(undisturbed), kind)}.")
    draw_energy_bar((fold for row in undisturbed for fold in row.spent), words_on_disturbed)


def _open_clicked_run() -> None:
    """Open the run whose button was pressed, by the rows as they were when it was pressed."""
    click = st.session_state.get(OPENED)
    listed = st.session_state.get(_IDS_BY_ROW, [])
    if click is not None and click["row"] < len(listed):
        open_page("run/run.py", {"run": listed[click["row"]]})


def _follow_all_runs() -> None:
    """Draw the page anew when an active run goes on; nothing is asked while none is active."""

    def stages() -> object:
        return watch().drawn_activity().stages

    rerun_on_change(stages, key="history", topics=[ALL])
