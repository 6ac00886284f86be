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
    if "params" not in names:  # This is the column of a search's candidates.
        return
    for name in names:
        if name.startswith("mean_test_"):
            metric = name.removeprefix("mean_test_")
            raise InputError(
                f"{file} has only means of folds, such as {name}; keep the columns of the folds "
                f"of scikit-learn's cv_results_ too, such as split0_test_{metric}"
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
    # For each metric and fold, this has the name of their column.
    fold_columns: dict[str, dict[str, str]] = {}
    for name in table.column_names:
        match = _SCORE.fullmatch(name)
        if match:
            fold_columns.setdefault(match["metric"], {})[match["fold"]] = name
    chosen = chosen_metric(list(fold_columns), metric, file)
    folds = list(fold_columns[chosen])
    scores = [numbers_of(table, column, file) for column in fold_columns[chosen].values()]
    clues = [
        MetricClue(f"the metric '{chosen}' of the search", chosen),
        # In place of a metric it names the direction of its scores.
        MetricClue("scikit-learn, whose searches rank the highest score first", "higher is better"),
    ]
    # The first clue decides the direction. Where no score is above zero, the scores are errors that
    # a scorer has negated: higher is better, whatever the metric is called.
    if all((scores_of_fold <= 0).all() for scores_of_fold in scores):
        clues.reverse()
    others = [name for name in fold_columns if name != chosen]
    left_out = last_iteration.left_out + left_out_words(others, "other metrics")
    left_out.append("scikit-learn's means, ranks, times and scores of training")
    candidates = names_by_parameters(table, "param_")
    by_fold, by_candidate = labels_of_cells(distinct_labels(folds), distinct_labels(candidates))
    return ScoreRows(
        labels={"contender": by_candidate, "fold": by_fold},
        scores=np.concatenate(scores),
        metric=f"test_{chosen}",  # The search calls it so, as it keeps scores of training too.
        clues=clues,
        left_out=left_out,
    )


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
