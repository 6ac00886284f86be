"""What scikit-learn's searches keep in `cv_results_`, as a table -> rows of scores."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ecv_core.analysis.score_rows import (
    MetricClue,
    ScoreRows,
    TablePart,
    chosen_metric,
    left_out_words,
)
from ecv_core.analysis.score_tables import (
    LONGEST_NAME,
    distinct_labels,
    labels_of_cells,
    numbers_of,
    texts_of,
)
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_SCORE = re.compile(r"split(?P<fold>\d+)_test_(?P<metric>.+)")
"""The column of a fold's scores; 'score' is the metric's name where the search has only one."""
Params = dict[str, object]
"""Name of a parameter -> its value."""


def is_search(names: Sequence[str]) -> bool:
    """Whether columns of these names are what a search keeps."""
    return any(_SCORE.fullmatch(name) for name in names)


def check_not_only_means(names: Sequence[str], file: str) -> None:
    """Refuse a search of which the folds' columns are gone, such as a table of means for a paper.

    Args:
        names: The columns of what is not `is_search`.
        file: How a sentence names it.

    Raises:
        InputError.
    """
    # These are the columns of a search's candidates.
    if not any(name == "params" or name.startswith("param_") for name in names):
        return
    for name in names:
        if name.startswith("mean_test_"):
            metric = name.removeprefix("mean_test_")
            raise InputError(
                f"{file} has only means of folds, such as {name}; keep the columns of the folds "
                f"of scikit-learn's cv_results_ too, such as split0_test_{metric}"
            )


def check_not_turned_round(row_names: Sequence[str], file: str) -> None:
    """Refuse a search that has a column per candidate, which would pass for a fold.

    Args:
        row_names: What the rows of a table are called.
        file: How a sentence names it.

    Raises:
        InputError.
    """
    if is_search(row_names):
        raise InputError(
            f"{file} has scikit-learn's cv_results_ turned round; give it with a row per "
            "candidate, as pandas.DataFrame(search.cv_results_) has it"
        )


def rows_of_search(table: pa.Table, file: str, metric: str | None) -> ScoreRows:
    """The scores of a search: it has a row per candidate, and a column per fold and metric.

    Args:
        table: A search's `cv_results_`.
        file: How a sentence names it.
        metric: The metric that was asked for.

    Raises:
        SeveralMetrics.
        InputError: For a score that is no number.
    """
    last_iteration = _without_earlier_iterations(table)
    table = last_iteration.table
    columns_by_metric = _fold_columns_by_metric(table.column_names)
    chosen = chosen_metric(list(columns_by_metric), metric, file)
    column_of_fold = columns_by_metric[chosen]
    # The scores of all candidates in the first fold come first, then those in the second one, and
    # so on. `labels_of_cells` gives the labels of all cells in the same order.
    scores_of_folds = [numbers_of(table, column, file) for column in column_of_fold.values()]
    scores = np.concatenate(scores_of_folds)
    candidates = names_by_parameters(table, "param_")
    fold_labels, candidate_labels = labels_of_cells(
        distinct_labels(list(column_of_fold)), distinct_labels(candidates)
    )
    other_metrics = [name for name in columns_by_metric if name != chosen]
    left_out = last_iteration.left_out + left_out_words(other_metrics, "other metrics")
    left_out.append("scikit-learn's means, ranks, times and scores of training")
    return ScoreRows(
        labels={"contender": candidate_labels, "fold": fold_labels},
        scores=scores,
        metric=f"test_{chosen}",  # The search calls it so, as it keeps scores of training too.
        clues=_clues_of_direction(chosen, scores),
        left_out=left_out,
    )


def _fold_columns_by_metric(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """For each metric the column of each fold: {'auc': {'0': 'split0_test_auc'}}."""
    columns: dict[str, dict[str, str]] = {}
    for name in names:
        match = _SCORE.fullmatch(name)
        if match:
            columns.setdefault(match["metric"], {})[match["fold"]] = name
    return columns


def _clues_of_direction(metric: str, scores: Floats) -> list[MetricClue]:
    """What says whether higher or lower is better, the surest first."""
    metric_clue = MetricClue(f"the metric '{metric}' of the search", metric)
    # In place of a metric, this clue names the direction itself.
    search_clue = MetricClue(
        "scikit-learn, whose searches rank the highest score first", "higher is better"
    )
    # Where no score is above zero, the scores are errors that a scorer has negated. So higher is
    # better, whatever the metric is called.
    if (scores <= 0).all():
        return [search_clue, metric_clue]
    return [metric_clue, search_clue]


def _without_earlier_iterations(table: pa.Table) -> TablePart:
    """The candidates that were scored on the same samples: of a halving search those at its end.

    In each iteration it draws more samples, and their folds are others than those before, so that
    scores of two iterations are no pairs.
    """
    from pyarrow import compute

    if not {"iter", "n_resources"}.issubset(table.column_names):
        return TablePart(table, [])
    # If a parameter is raised instead, such as the number of trees, all have the same samples.
    resources = table["n_resources"].to_pylist()
    for name in table.column_names:
        if name.startswith("param_") and table[name].to_pylist() == resources:
            return TablePart(table, [])
    is_last = compute.equal(table["iter"], compute.max(table["iter"]))
    candidates = table.filter(is_last)
    earlier_count = len(table) - len(candidates)
    if not earlier_count:
        return TablePart(table, [])
    left_out = (
        f"{earlier_count} rows of earlier iterations of the search, whose folds have other samples"
    )
    return TablePart(candidates, [left_out])


def names_by_parameters(table: pa.Table, prefix: str) -> list[str]:
    """Names of candidates, by the parameters that differ: 'C=0.1,kernel=rbf'.

    Args:
        table: With a row per candidate.
        prefix: What the columns of its parameters begin with.
    """
    candidates = _params_of_candidates(table, prefix)
    differing_parameters = _differing_parameters(candidates)
    names = []
    for row, params in enumerate(candidates):
        words = [f"{name}={params[name]}" for name in differing_parameters if name in params]
        name = ",".join(words) or f"candidate {row + 1}"
        # Two candidates may differ only in what is cut off, so each of these names has a number.
        if len(name) > LONGEST_NAME:
            name = f"{row + 1}: {name}"
        names.append(name[:LONGEST_NAME])
    return names


def _differing_parameters(candidates: Sequence[Params]) -> list[str]:
    """The parameters that do not have the same value in all candidates, in their order."""
    values: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    for params in candidates:
        for name, value in params.items():
            values.setdefault(name, set()).add(repr(value))
            counts[name] += 1
    # A parameter that some candidates do not have differs too.
    return [name for name in values if len(values[name]) > 1 or counts[name] < len(candidates)]


def _params_of_candidates(table: pa.Table, prefix: str) -> list[Params]:
    """The parameters of each candidate: of the column 'params', else of those of each parameter."""
    if "params" in table.column_names:
        parsed = [_parsed_params(text) for text in texts_of(table, "params")]
        if all(parsed):  # A text that cannot be parsed would give an empty one.
            return parsed
    candidates: list[Params] = [{} for _ in range(len(table))]
    for column in table.column_names:
        if not column.startswith(prefix):
            continue
        for params, value in zip(candidates, table[column].to_pylist(), strict=True):
            if value is not None:  # a candidate has no value of a parameter that it does not have
                params[column.removeprefix(prefix)] = value
    return candidates


def _parsed_params(text: str) -> Params:
    """The parameters in "{'C': 0.1}"; none where their values are more than numbers and texts."""
    try:
        params = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    if not isinstance(params, dict):
        return {}
    return {str(name): value for name, value in params.items()}
