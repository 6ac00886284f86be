"""Tables of runs that MLflow and Optuna write -> the columns that other tables of scores have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecv_core.analysis.score_columns import is_fold_name, metric_of_fold, roles_of
from ecv_core.analysis.score_rows import left_out_part
from ecv_core.analysis.score_searches import names_by_parameters
from ecv_core.analysis.score_tables import texts_of
from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_METRIC = "metrics."
_PARAMETER = "params."
_RUN_NAME = "tags.mlflow.runName"
"""The column in which MLflow keeps how a run is called."""
_TRIAL = {"number", "value", "state"}
"""Columns that Optuna writes of every trial."""
_ATTRIBUTE = "user_attrs_"


def with_plain_columns(table: pa.Table, file: str) -> tuple[pa.Table, list[str]]:
    """The same scores in columns that are named as in other tables, and what is left out.

    Args:
        table: of scores; any but an export of MLflow or Optuna stays as it is.
        file: how a sentence names it.
    Returns: the table, and parts of the sentence about what is left out.
    Raises: InputError for an export that has no folds.
    """
    names = table.column_names
    if any(name.startswith(_METRIC) for name in names):
        return _of_mlflow(table)
    if _TRIAL.issubset(names):
        return _of_optuna(table, file)
    return table, []


def _of_mlflow(table: pa.Table) -> tuple[pa.Table, list[str]]:
    """A run's metrics and parameters without the prefixes of `mlflow.search_runs`."""
    short = {}
    for name in table.column_names:
        for prefix in (_METRIC, _PARAMETER):
            if name.startswith(prefix):
                short[name] = name.removeprefix(prefix)
    if "contender" not in roles_of(list(short.values())) and _RUN_NAME in table.column_names:
        short[_RUN_NAME] = "contender"
    others = [name for name in table.column_names if name not in short]
    runs = table.select(list(short)).rename_columns(list(short.values()))
    return runs, left_out_part(others, "what MLflow notes of every run")


def _of_optuna(table: pa.Table, file: str) -> tuple[pa.Table, list[str]]:
    """A row per trial, named by its parameters, with the folds that its attributes hold."""
    import pyarrow as pa

    folds = [name for name in table.column_names if _is_fold(name)]
    if not folds:
        raise InputError(
            f"{file} has one value per trial of Optuna, and no folds; store the score of each "
            'fold in its trial, such as trial.set_user_attr("fold_0", score), and export the '
            "trials again"
        )
    finished = [state.endswith("COMPLETE") for state in texts_of(table, "state")]
    trials = table.filter(pa.array(finished))
    unfinished = finished.count(False)
    left_out = []
    if unfinished:
        left_out.append(f"{unfinished} trials that are not complete")
    others = []
    for name in table.column_names:
        if name not in folds and not name.startswith("params_"):
            others.append(name)
    left_out += left_out_part(others, "what Optuna notes of every trial")
    contenders = pa.array(names_by_parameters(trials, "params_"))
    columns = {"contender": contenders}
    for name in folds:
        columns[name.removeprefix(_ATTRIBUTE)] = trials[name]
    return pa.table(columns), left_out


def _is_fold(name: str) -> bool:
    """Whether a column is an attribute of a trial that is called as a fold."""
    attribute = name.removeprefix(_ATTRIBUTE)
    if attribute == name:
        return False
    return is_fold_name(attribute) or bool(metric_of_fold(attribute))
