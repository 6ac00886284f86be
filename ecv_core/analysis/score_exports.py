"""Tables of runs that MLflow and Optuna write -> the columns that other tables of scores have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecv_core.analysis.score_columns import is_fold_name, metric_of_fold, roles_of
from ecv_core.analysis.score_rows import TablePart, left_out_words
from ecv_core.analysis.score_searches import names_by_parameters
from ecv_core.analysis.score_tables import texts_of
from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_MLFLOW_METRIC = "metrics."
_MLFLOW_PARAMETER = "params."
_MLFLOW_RUN_NAME = "tags.mlflow.runName"
"""The column in which MLflow keeps how a run is called."""
_OPTUNA_COLUMNS = ({"number", "value", "state"}, {"number", "values_0", "state"})
"""Columns that Optuna writes of every trial, of a study with one objective or with several."""
_OPTUNA_ATTRIBUTE = "user_attrs_"
"""Columns of what a user keeps with a trial begin with this."""


def normalise_export(table: pa.Table, file: str) -> TablePart:
    """The same scores in columns that are named as in other tables.

    Args:
        table: The table of scores; any but an export of MLflow or Optuna stays as it is.
        file: How a sentence names it.

    Raises:
        InputError: For an export that has no folds.
    """
    names = table.column_names
    if any(name.startswith(_MLFLOW_METRIC) for name in names):
        return _runs_of_mlflow(table)
    if any(columns.issubset(names) for columns in _OPTUNA_COLUMNS):
        return _trials_of_optuna(table, file)
    return TablePart(table, [])


def _runs_of_mlflow(table: pa.Table) -> TablePart:
    """A run's metrics and parameters without the prefixes of `mlflow.search_runs`."""
    plain_names = {}
    for name in table.column_names:
        for prefix in (_MLFLOW_METRIC, _MLFLOW_PARAMETER):
            if name.startswith(prefix):
                plain_names[name] = name.removeprefix(prefix)
    has_contenders = "contender" in roles_of(list(plain_names.values()))
    if not has_contenders and _MLFLOW_RUN_NAME in table.column_names:
        plain_names[_MLFLOW_RUN_NAME] = "contender"
    others = [name for name in table.column_names if name not in plain_names]
    runs = table.select(list(plain_names)).rename_columns(list(plain_names.values()))
    return TablePart(runs, left_out_words(others, "what MLflow notes of every run"))


def _trials_of_optuna(table: pa.Table, file: str) -> TablePart:
    """A row per trial, named by its parameters, with the folds that its attributes hold."""
    import pyarrow as pa

    folds = [name for name in table.column_names if _is_fold(name)]
    if not folds:
        raise InputError(
            f"{file} has the values of trials of Optuna, and no folds; store the score of each "
            'fold in its trial, such as trial.set_user_attr("fold_0", score), and export the '
            "trials again"
        )
    finished = [state.endswith("COMPLETE") for state in texts_of(table, "state")]
    trials = table.filter(pa.array(finished))
    left_out = []
    if len(trials) < len(table):
        left_out.append(f"{len(table) - len(trials)} trials that are not complete")
    others = []
    for name in table.column_names:
        if name not in folds and not name.startswith("params_"):
            others.append(name)
    left_out += left_out_words(others, "what Optuna notes of every trial")
    columns = {"contender": pa.array(names_by_parameters(trials, "params_"))}
    for name in folds:
        columns[name.removeprefix(_OPTUNA_ATTRIBUTE)] = trials[name]
    return TablePart(pa.table(columns), left_out)


def _is_fold(name: str) -> bool:
    """Whether a column is an attribute of a trial that is called as a fold."""
    if not name.startswith(_OPTUNA_ATTRIBUTE):
        return False
    attribute = name.removeprefix(_OPTUNA_ATTRIBUTE)
    return is_fold_name(attribute) or bool(metric_of_fold(attribute))
