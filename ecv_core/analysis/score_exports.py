"""Tables of runs that trackers and Optuna write -> the columns that other tables of scores have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ecv_core.analysis.score_columns import (
    MLFLOW_METRIC,
    is_fold_name,
    is_optuna,
    metric_of_fold,
    names_row_numbers,
    names_states,
    partition_names,
    roles_of,
    words_of,
)
from ecv_core.analysis.score_rows import TablePart, left_out_words
from ecv_core.analysis.score_searches import names_by_parameters
from ecv_core.analysis.score_tables import texts_of
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import listed

if TYPE_CHECKING:
    import pyarrow as pa

_MLFLOW_PARAMETER = "params."
_MLFLOW_RUN_NAME = "tags.mlflow.runName"
"""The column in which MLflow keeps how a run is called."""
_NOTES_OF_WANDB = {
    *("Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "Group"),
    *("Job Type", "ID", "Hostname", "Description", "Updated", "End Time"),
}
_NOTES_OF_MLFLOW = {
    *("Start Time", "Duration", "Run ID", "Name", "Source Type", "Source Name", "User"),
    *("Status", "Run", "Created", "Dataset", "Models", "Version"),
}
_NOTES_OF_TRACKERS = {"W&B": _NOTES_OF_WANDB, "MLflow": _NOTES_OF_MLFLOW}
"""Columns that the page of a tracker exports of every run, beside its parameters and metrics."""
_SIGNS_OF_TRACKERS = {"W&B": {"Name", "State"}, "MLflow": {"Name", "Run ID", "Status"}}
"""Those of them by which the export of a tracker is recognised."""
_OPTUNA_ATTRIBUTE = "user_attrs_"
"""Columns of what a user keeps with a trial begin with this."""
_FINISHED = frozenset(
    words_of(
        "finished complete completed success successful succeeded ok done terminated passed stopped"
    )
)
"""Words for runs that have their score: one that is 'stopped' may have stopped early by a rule."""
_UNFINISHED = frozenset(
    words_of(
        "failed fail failure error errored crashed killed running scheduled waiting pruned queued "
        "pending aborted canceled cancelled preempted preempting paused"
    )
)


def normalise_export(table: pa.Table, file: str) -> TablePart:
    """The same scores in columns that are named as in other tables, of runs that have finished.

    Args:
        table: The table of scores; any but an export of a tracker or of Optuna keeps its columns.
        file: How a sentence names it.

    Raises:
        InputError: For an export that has no folds, or no run that has finished.
    """
    finished = _finished_runs(table, file)
    export = _with_usual_columns(finished.table, file)
    return TablePart(export.table, finished.left_out + export.left_out)


def _with_usual_columns(table: pa.Table, file: str) -> TablePart:
    """The scores of an export in columns that are named as in other tables."""
    names = table.column_names
    if any(name.startswith(MLFLOW_METRIC) for name in names):
        return _runs_of_mlflow(table)
    if is_optuna(names):
        return _trials_of_optuna(table, file)
    # What is exported from a tracker's web page has no prefixes, but columns that only it writes.
    for tracker, signs in _SIGNS_OF_TRACKERS.items():
        if signs.issubset(names):
            return _runs_of_web_page(table, tracker)
    return TablePart(table, left_out=[])


def _finished_runs(table: pa.Table, file: str) -> TablePart:
    """The rows of runs that have finished, where a column says it of each row.

    A run that failed or was killed may have written a score before, of a part of its work.

    Raises:
        InputError: Where none has finished.
    """
    import pyarrow as pa

    column = _column_with_unfinished_runs(table)
    if column is None:  # nothing is left out
        return TablePart(table, left_out=[])
    states = texts_of(table, column)
    unfinished_states = list(filter(_is_unfinished, states))
    shown = listed(sorted(set(unfinished_states)))
    if len(unfinished_states) == len(states):
        raise InputError(
            f"{file} has no run that has finished: its column '{column}' has {shown}; give "
            "finished runs, or leave that column out"
        )
    is_finished = pa.array([not _is_unfinished(state) for state in states])
    left_out = f"1 row whose run has not finished ({shown})"
    if len(unfinished_states) > 1:
        left_out = f"{len(unfinished_states)} rows whose runs have not finished ({shown})"
    return TablePart(table.filter(is_finished), [left_out])


def _column_with_unfinished_runs(table: pa.Table) -> str | None:
    """The column that says which runs have not finished; None if there is none, or all have."""
    for name in filter(names_states, table.column_names):
        states = texts_of(table, name)
        words = set(map(_state_word, states))
        # Any other word, such as 'Ohio', shows that the column is not of the states of runs. A
        # column in which all runs have finished leaves none of them out, and is of no interest.
        if words <= _FINISHED | _UNFINISHED and not words <= _FINISHED:
            return name
    return None


def _is_unfinished(state: str) -> bool:
    return _state_word(state) in _UNFINISHED


def _state_word(state: str) -> str:
    """The last word of a state, as Optuna may write 'TrialState.COMPLETE'."""
    return state.lower().rpartition(".")[2]


def _runs_of_mlflow(table: pa.Table) -> TablePart:
    """A run's metrics and parameters without the prefixes of `mlflow.search_runs`."""
    plain_names = {}
    for name in table.column_names:
        for prefix in (MLFLOW_METRIC, _MLFLOW_PARAMETER):
            if name.startswith(prefix):
                plain_names[name] = name.removeprefix(prefix)
    has_contenders = "contender" in roles_of(list(plain_names.values()))
    if not has_contenders and _MLFLOW_RUN_NAME in table.column_names:
        plain_names[_MLFLOW_RUN_NAME] = "contender"
    others = [name for name in table.column_names if name not in plain_names]
    runs = table.select(list(plain_names)).rename_columns(list(plain_names.values()))
    return TablePart(runs, _notes_words(others, "MLflow notes of every run"))


def _runs_of_web_page(table: pa.Table, tracker: str) -> TablePart:
    """The columns that a tracker's web page does not add to every export by itself.

    Its column 'User' has who started a run, and none of the users who are scored.
    """
    notes = [name for name in table.column_names if name in _NOTES_OF_TRACKERS[tracker]]
    runs = table.drop_columns(notes)
    if "contender" not in roles_of(runs.column_names):
        # No column of the user's names the contenders, so the tracker's name of a run does.
        notes.remove("Name")
        runs = runs.append_column("contender", table["Name"])
    return TablePart(runs, _notes_words(notes, f"{tracker} notes of every run"))


def _trials_of_optuna(table: pa.Table, file: str) -> TablePart:
    """A row per trial, named by its parameters, with the folds that its attributes hold."""
    import pyarrow as pa

    folds = [name for name in table.column_names if _is_fold(name)]
    if not folds:
        raise InputError(
            f"{file} has the values of trials of Optuna, and no column for a fold; store the score "
            'of each fold in its trial, such as trial.set_user_attr("fold_0", score), and export '
            "the trials again"
        )
    others = []
    for name in table.column_names:
        if name not in folds and not name.startswith("params_"):
            others.append(name)
    columns = {"contender": pa.array(names_by_parameters(table, "params_"))}
    for name in folds:
        columns[name.removeprefix(_OPTUNA_ATTRIBUTE)] = table[name]
    return TablePart(pa.table(columns), _notes_words(others, "Optuna notes of every trial"))


def _notes_words(names: Sequence[str], reason: str) -> list[str]:
    """A part of the sentence about what is left out; numbers of rows lose nothing."""
    _, notes = partition_names(names, names_row_numbers)
    return left_out_words(notes, f"what {reason}")


def _is_fold(name: str) -> bool:
    """Whether a column is an attribute of a trial that is called as a fold."""
    if not name.startswith(_OPTUNA_ATTRIBUTE):
        return False
    attribute = name.removeprefix(_OPTUNA_ATTRIBUTE)
    return is_fold_name(attribute) or bool(metric_of_fold(attribute))
