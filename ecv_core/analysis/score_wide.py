"""A table with a column per contender and a row per fold, or the other way round -> rows of scores.

Columns may also be metrics of one contender, as scikit-learn's and Surprise's `cross_validate` give
them, or of each contender ('knn rmse', 'knn mae', ...).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ecv_core.analysis.score_columns import (
    is_bookkeeping,
    is_end_of_range,
    is_fold_name,
    is_mean_of_folds,
    is_spread,
    is_summary,
    is_time_or_cost,
    is_time_or_cost_among,
    is_training_beside_test,
    metric_of_fold,
    names_epochs,
    names_row_numbers,
    names_samples,
    partition_names,
)
from ecv_core.analysis.score_rows import (
    MetricClue,
    ScoreRows,
    SeveralMetrics,
    chosen_metric,
    first_of_metric,
    is_of_training,
    left_out_words,
    rows_of_one_metric,
    without_nameless_means,
    without_row_numbers,
    without_summary_rows,
)
from ecv_core.analysis.score_searches import check_not_turned_round
from ecv_core.analysis.score_tables import (
    COLUMNS,
    LONGEST_NAME,
    distinct_labels,
    is_number,
    is_numeric,
    is_text,
    is_whole,
    labels_of,
    labels_of_cells,
    numbers_of,
    texts_of,
)
from ecv_core.evaluation.directions import is_metric_name, is_norm, metric_named
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import listed

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_NAMED = 10
"""More columns are not named in a sentence."""
_LEAST_COUNT = 10
"""Beside fractions up to 1, whole numbers that go up to this at least are counts, and no scores."""


class _ScoreNames(NamedTuple):
    """Which columns, or which rows, of a table have scores."""

    names: list[str]
    left_out: list[str]
    """What the others are, as parts of a sentence."""
    metric_clue: MetricClue | None = None
    """What names the metric of the scores, if anything does."""
    times: Sequence[str] = ()
    """The columns beside these that have times or costs."""


def rows_of_wide(
    table: pa.Table, roles: dict[str, str], file: str, metric: str | None
) -> ScoreRows:
    """The scores of a wide table: contenders across its columns and folds down, or turned round.

    Args:
        table: The table of scores.
        roles: Contender or fold -> the column that labels the rows, where one is named so.
        file: How a sentence names it.
        metric: The metric that was asked for.

    Raises:
        SeveralMetrics.
        InputError: For a table that cannot serve.
    """
    if all(is_numeric(name) for name in table.column_names):
        raise InputError(f"the first line of {file} must name its columns, but has numbers")
    metric_part = rows_of_one_metric(table, table.column_names, file, metric)
    table = metric_part.table
    # One column may label the rows, with the names of contenders or of folds.
    label_column = roles.get("contender") or roles.get("fold") or _row_label_column(table, file)
    if label_column is not None:
        check_not_turned_round(texts_of(table, label_column), file)
    score_columns = _score_columns(table, label_column, file)
    # A column called 'contender' or 'fold' says that the rows are no rounds of boosting.
    if not roles:
        score_columns.left_out.extend(_row_number_words(table, label_column))
        _check_not_means_of_folds(score_columns.names, table.column_names, file)
        _check_not_epochs(table, file)
    if label_column is not None and _has_row_per_contender(
        table, roles, label_column, score_columns.names
    ):
        rows = _scores_of_contender_rows(table, label_column, score_columns.names, file, metric)
    else:
        rows = _scores_of_fold_rows(table, label_column, score_columns, file, metric)
    rows = replace(rows, left_out=[*metric_part.left_out, *score_columns.left_out, *rows.left_out])
    return _with_metric_of_clue(rows, metric_part.metric_clue)


def _with_metric_of_clue(rows: ScoreRows, clue: MetricClue | None) -> ScoreRows:
    """The same rows, whose metric is the one that the clue names; unchanged without a clue."""
    if clue is None:
        return rows
    return replace(rows, metric=clue.name, clues=[clue])


def _scores_of_contender_rows(
    table: pa.Table, label_column: str, score_columns: Sequence[str], file: str, metric: str | None
) -> ScoreRows:
    """The scores of a table with a row per contender and a column per fold.

    Args:
        table: The table of scores.
        label_column: The column that names the contender of each row.
        score_columns: The names of the columns that may have scores.
        file: How a sentence names it.
        metric: The metric that was asked for.

    Raises:
        SeveralMetrics.
        InputError: For a table that cannot serve.
    """
    import pyarrow as pa

    folds = _fold_columns(score_columns, file, metric)
    row_names = texts_of(table, label_column)
    times, not_times = partition_names(row_names, is_time_or_cost)
    if not not_times:
        raise InputError(f"{file} has times or costs and no scores; give a row of scores")
    contenders = _contender_names(not_times, times, file, metric)
    if len(contenders.names) < len(row_names):
        # Rows of times are dropped, and where metrics of one contender are rows, the other metrics.
        kept = set(contenders.names)
        table = table.filter(pa.array([name in kept for name in row_names]))
    left_out = folds.left_out + left_out_words(times, "times or costs") + contenders.left_out
    columns = _ScoreNames(folds.names, left_out, folds.metric_clue or contenders.metric_clue)
    rows = _scores_of_cells(
        table, label_column, columns, file, column_role="fold", row_role="contender"
    )
    if columns.metric_clue is not None or any(map(is_fold_name, columns.names)):
        return rows
    note = (
        f"Each of {listed(columns.names[:_MOST_NAMED])} is taken for a fold, although no column is "
        "called after one."
    )
    return replace(rows, notes=[note])


def _scores_of_fold_rows(
    table: pa.Table,
    label_column: str | None,
    score_columns: _ScoreNames,
    file: str,
    metric: str | None,
) -> ScoreRows:
    """The scores of a table with a row per fold and a column per contender.

    Args:
        table: The table of scores.
        label_column: The column that names the fold of each row; None where there is none.
        score_columns: The columns that may have scores.
        file: How a sentence names it.
        metric: The metric that was asked for.

    Raises:
        SeveralMetrics.
        InputError: For a table that cannot serve.
    """
    contenders = _contender_names(score_columns.names, score_columns.times, file, metric)
    left_out = contenders.left_out
    # A summary of the folds, such as a last row 'Mean', is no fold. It may be called so, or have
    # no name and be known by its values.
    if label_column is not None:
        without_summaries = without_summary_rows(table, label_column, file)
        table = without_summaries.table
        left_out = without_summaries.left_out + left_out
    fold_rows = without_nameless_means(table, label_column, contenders.names, file)
    contenders = contenders._replace(left_out=fold_rows.left_out + left_out)
    rows = _scores_of_cells(
        fold_rows.table, label_column, contenders, file, column_role="contender", row_role="fold"
    )
    return replace(rows, notes=fold_rows.notes)


def _score_columns(table: pa.Table, label_column: str | None, file: str) -> _ScoreNames:
    """The columns that may have scores: 'knn' and 'svd' of 'fold', 'knn', 'svd', 'seed', 'time'.

    Args:
        table: The table of scores.
        label_column: The column that labels its rows, 'fold' above; None where there is none.
        file: How a sentence names it.

    Raises:
        InputError: Where there is none.
    """
    names = [name for name in table.column_names if name != label_column]
    score_names = []
    time_names = []
    other_names = []
    for name in names:
        if is_time_or_cost_among(name, names):
            time_names.append(name)
        elif is_bookkeeping(name) or is_end_of_range(name) or is_spread(name, names):
            other_names.append(name)
        else:
            score_names.append(name)
    if not score_names:
        raise InputError(f"{file} has times or costs and no scores; give a column of scores")
    # The values of a column tell counts from scores, where its name does not.
    count_names, score_names = _part_counts(table, score_names, file)
    left_out = left_out_words(time_names, "times or costs")
    left_out += left_out_words(count_names, "whole numbers beside shares")
    left_out += left_out_words(other_names, "settings, counts or spreads")
    # Whole numbers under a name such as 'n' number the rows. Where no other column is left, they
    # are the scores of a contender of that name.
    score_names = without_row_numbers(table, score_names) or score_names
    return _ScoreNames(score_names, left_out, times=time_names)


def _part_counts(table: pa.Table, names: Sequence[str], file: str) -> tuple[list[str], list[str]]:
    """The columns of whole numbers from 10 on where all other numbers are fractions up to 1.

    Such are 'ratings' and 'year' beside columns of nDCG, which no contender of that name has.

    Returns:
        These, and the others; none and all where that is not so.
    """
    whole, others = partition_names(names, lambda name: is_whole(table, name))
    scores = _numbers_of_all(table, others, file)
    if not (scores % 1 != 0).any() or not (np.abs(scores) <= 1).all():
        return [], list(names)
    # Row numbers stay: they are left out elsewhere, and that is not told.
    return partition_names(
        names,
        lambda name: (
            name in whole
            and not names_row_numbers(name)
            and np.abs(numbers_of(table, name, file)).max() >= _LEAST_COUNT
        ),
    )


def _numbers_of_all(table: pa.Table, names: Sequence[str], file: str) -> Floats:
    """All finite numbers in the columns of numbers among these, one column after the other."""
    columns = [numbers_of(table, name, file) for name in names if is_number(table, name)]
    numbers = np.concatenate([np.zeros(0), *columns])
    return numbers[np.isfinite(numbers)]


def _row_number_words(table: pa.Table, label_column: str | None) -> list[str]:
    """What is said of a column of numbers that is taken to number the rows."""
    if label_column is None or not is_whole(table, label_column):
        return []
    return [f"{label_column} (numbers of the rows)"]


def _check_not_epochs(table: pa.Table, file: str) -> None:
    """Refuse a learning curve, whose rows are the epochs of a training. Raises: InputError."""
    for name in table.column_names:
        if not names_epochs(name) or not is_whole(table, name):
            continue
        if _counts_up(numbers_of(table, name, file)):
            raise InputError(
                f"the column '{name}' of {file} numbers its rows, so that they are epochs or "
                "rounds of a training and no folds; give the score of each fold instead"
            )


def _check_not_means_of_folds(scores: Sequence[str], names: Sequence[str], file: str) -> None:
    """Refuse a table whose rows are settings or rounds, with means over folds of each.

    Such are what `cv` of XGBoost, LightGBM and CatBoost gives, and the results of R's caret.

    Args:
        scores: The names of the columns that may have scores.
        names: The names of all columns.
        file: How a sentence names it.

    Raises:
        InputError.
    """
    if all(is_mean_of_folds(name, names) for name in scores):
        raise InputError(
            f"{file} has means over folds, such as {scores[0]}, in its rows, as of settings or "
            "rounds of boosting; give the score of each fold instead, with a column per contender "
            "and a row per fold, and call the column that numbers the folds 'fold'"
        )


def _scores_of_cells(
    table: pa.Table,
    label_column: str | None,
    score_columns: _ScoreNames,
    file: str,
    *,
    column_role: str,
    row_role: str,
) -> ScoreRows:
    """A row for each cell of these columns, one column after the other.

    Args:
        table: The table of scores.
        label_column: The column that labels its rows; None where they are numbered.
        score_columns: The columns that have the scores.
        file: How a sentence names it.
        column_role: What a column is, 'contender' or 'fold'.
        row_role: What a row is, the other one.

    Raises:
        InputError: For a cell that is no number.
    """
    _check_numbers(table, score_columns.names, file)
    # The scores of the whole first column come first, then those of the second one, and so on.
    # `labels_of_cells` gives the labels of all cells in the same order.
    scores = [numbers_of(table, name, file) for name in score_columns.names]
    # Names of columns are cut to the same length as `labels_of` cuts the labels of rows. So a name
    # stays the same if the table is transposed.
    cut_names = [name[:LONGEST_NAME].strip() for name in score_columns.names]
    if label_column is None:
        row_labels = distinct_labels([str(row + 1) for row in range(len(table))])
    else:
        row_labels = labels_of(table, label_column, row_role, file)
    by_column, by_row = labels_of_cells(distinct_labels(cut_names), row_labels)
    rows = ScoreRows(
        labels={column_role: by_column, row_role: by_row},
        scores=np.concatenate(scores),
        left_out=score_columns.left_out,
    )
    return _with_metric_of_clue(rows, score_columns.metric_clue)


def _row_label_column(table: pa.Table, file: str) -> str | None:
    """The first column, if it labels the rows: with numbers, with years, or with names.

    None where the first column has scores, or what is left out as a setting or a row number is.
    """
    if len(table.column_names) < 2:
        return None
    first = table.column_names[0]
    if not is_text(table, first):
        # Settings, such as 'seed', and row numbers by their names are left out elsewhere.
        is_left_out = is_bookkeeping(first) or names_row_numbers(first)
        if not is_left_out and _is_row_numbers(table, first, file):
            return first
        return None
    # A column of texts with a number among them is one of scores with a spelling mistake, unless
    # its name says that it numbers the rows.
    has_number = any(is_numeric(text) for text in texts_of(table, first))
    if has_number and not names_row_numbers(first):
        return None
    return first


def _is_row_numbers(table: pa.Table, column: str, file: str) -> bool:
    """Whether a column has rising whole numbers, such as years, and no other one has such."""
    if not is_whole(table, column):
        return False
    others = [name for name in table.column_names if name != column]
    scores = _numbers_of_all(table, others, file)
    if not len(scores) or any(is_whole(table, name) for name in others):
        return False
    numbers = numbers_of(table, column, file)
    if _counts_up(numbers):
        return True
    # Other numbers may be scores of a contender that are whole by chance, unless they are of
    # another size than those of all others.
    return bool((np.diff(numbers) > 0).all() and numbers[0] > 2 * np.abs(scores).max())


def _counts_up(numbers: Floats) -> bool:
    """Whether there are several numbers, and they are 0, 1, 2, ... or 1, 2, 3, ..."""
    return len(numbers) > 1 and numbers[0] in (0, 1) and bool((np.diff(numbers) == 1).all())


def _has_row_per_contender(
    table: pa.Table, roles: dict[str, str], label_column: str, score_columns: Sequence[str]
) -> bool:
    """Whether a table has a row per contender and a column per fold, not the other way round."""
    if roles:
        # The column of labels is called 'contender' or 'fold', after what a row is.
        return "contender" in roles
    # 'rmse_fold_1' names a fold, and its metric. Every other column must be called after a fold.
    without_metric = [name for name in score_columns if not metric_of_fold(name)]
    columns_are_folds = not without_metric or _are_folds(without_metric)
    rows_are_folds = _are_folds(texts_of(table, label_column))
    return columns_are_folds and not rows_are_folds


def _are_folds(names: Iterable[str]) -> bool:
    """Whether names are those of folds, and perhaps of summaries of them."""
    no_summaries = [name for name in names if not is_summary(name)]
    return bool(no_summaries) and all(map(is_fold_name, no_summaries))


def _check_numbers(table: pa.Table, names: Iterable[str], file: str) -> None:
    """Refuse a column that holds a text. Raises: InputError."""
    for name in names:
        if is_number(table, name):
            continue
        texts = texts_of(table, name)
        # If every text looks like a number, such as '1.2.3', the first one is shown.
        no_number = next((text for text in texts if not is_numeric(text)), texts[0])
        raise InputError(
            f"'{no_number[:100]}' in the column '{name}' of {file} is not a number; give a column "
            f"of numbers per contender and a row per fold, or the columns {', '.join(COLUMNS)}"
        )


# Which columns have scores.


def _fold_columns(names: Sequence[str], file: str, wanted: str | None) -> _ScoreNames:
    """The columns that are folds, of a table with a row per contender.

    Args:
        names: The names of the columns that may have scores.
        file: How a sentence names it.
        wanted: The metric, if any; it may be a part of the columns' names, as in 'rmse_fold_1'.

    Raises:
        SeveralMetrics.
        InputError: For columns that are metrics, for then there are no folds.
    """
    if any(metric_of_fold(name) for name in names):
        return _fold_columns_of_one_metric(names, file, wanted)
    summaries, columns = partition_names(names, is_summary)
    left_out = left_out_words(summaries, "no folds")
    folds, others = partition_names(columns, is_fold_name)
    if folds:
        left_out += left_out_words(others, "no folds by their names")
        return _ScoreNames(folds, left_out)
    if columns and all(map(is_metric_name, columns)):
        raise InputError(
            f"{file} has one {listed(columns[:10])} per contender, and no folds; give a row per "
            f"contender and fold, with the columns {', '.join(COLUMNS)}"
        )
    if not columns:
        raise InputError(f"{file} has only {listed(names)}, and no folds; give a column per fold")
    # No name says what the columns are, so each of them is taken for a fold.
    return _ScoreNames(columns, left_out)


def _fold_columns_of_one_metric(names: Sequence[str], file: str, wanted: str | None) -> _ScoreNames:
    """As `_fold_columns`, of the chosen metric, where columns are called 'rmse_fold_1'."""
    metric_of_column = {}  # Only columns that name a metric are in it.
    for name in names:
        metric = metric_of_fold(name)
        if metric:
            metric_of_column[name] = metric
    metrics = list(dict.fromkeys(metric_of_column.values()))
    of_training, of_test = partition_names(metrics, is_of_training)
    if wanted is None:
        metrics = of_test or of_training
    chosen = chosen_metric(metrics, wanted, file)
    folds, others = partition_names(names, lambda name: metric_of_column.get(name) == chosen)
    clue = MetricClue(f"'{chosen}' in the columns' names", chosen)
    return _ScoreNames(folds, left_out_words(others, "other metrics, or no folds"), clue)


def _contender_names(
    names: Sequence[str], times: Sequence[str], file: str, wanted: str | None
) -> _ScoreNames:
    """The columns or rows that are contenders, or the chosen metric of the only one.

    Args:
        names: The names of the columns or rows that may have scores.
        times: The times of those that have times or costs.
        file: How a sentence names it.
        wanted: The metric, if any.

    Raises:
        SeveralMetrics.
    """
    of_training, of_test = partition_names(names, lambda name: is_training_beside_test(name, names))
    contenders = _contenders_of_test(of_test, times, file, wanted)
    left_out = left_out_words(of_training, "scores of training")
    return contenders._replace(left_out=left_out + contenders.left_out)


def _contenders_of_test(
    names: Sequence[str], times: Sequence[str], file: str, wanted: str | None
) -> _ScoreNames:
    """As `_contender_names`, without scores of training that have those of the test beside them."""
    if _are_of_nobody(names):
        return _metric_of_only_contender(names, times, file, wanted)
    every_name = _ScoreNames(list(names), [])
    # For each name, these are the words in it that name a metric: 'rmse' of 'knn rmse'.
    metric_words = {}
    for name in names:
        metric = metric_named(name)
        if metric is None:
            return every_name
        metric_words[name] = metric.words
    # These are the numbers of contenders that have each metric.
    contender_counts = Counter(metric_words.values())
    if len(contender_counts) > 1:
        if _are_of_one_contender(metric_words):
            return _metric_of_only_contender(names, times, file, wanted)
        if min(contender_counts.values()) == 1:
            # A metric of one contender alone is a part of its name, such as the loss it minimises.
            _check_no_opposites(metric_words, file)
            return every_name
    chosen = chosen_metric(list(contender_counts), wanted, file)
    contenders, others = partition_names(names, lambda name: metric_words[name] == chosen)
    clue = MetricClue(f"'{chosen}' in the contenders' names", chosen)
    return _ScoreNames(contenders, left_out_words(others, "other metrics"), clue)


def _are_of_nobody(names: Sequence[str]) -> bool:
    """Whether names are all of metrics, or all of samples such as 'test', and so of one contender.

    Beside others 'l1' and 'l2' are metrics too, but alone they may be contenders.
    """
    if all(map(names_samples, names)):
        return True
    not_norms = [name for name in names if not is_norm(name)]
    return bool(not_norms) and all(map(is_metric_name, not_norms))


def _check_no_opposites(metric_words: Mapping[str, str], file: str) -> None:
    """Refuse 'knn ndcg' beside 'svd rmse', of which one is the better the lower it is.

    Args:
        metric_words: As of `_are_of_one_contender`.
        file: How a sentence names it.

    Raises:
        InputError.
    """
    directions = set()
    for name, words in metric_words.items():
        metric = metric_named(name)
        if metric is not None and name.lower().endswith(words):
            directions.add(metric.higher_is_better)
    if len(directions) > 1:
        raise InputError(
            f"by their names {listed(list(metric_words)[:10])} in {file} are of different metrics, "
            "of which one is better if higher and another if lower; give one metric for all"
        )


def _are_of_one_contender(metric_words: Mapping[str, str]) -> bool:
    """Whether names differ in their metric alone, as 'svd rmse' and 'svd mae' do.

    Args:
        metric_words: Name -> the words in it that name a metric, without signs.
    """
    names_without_metric = set()
    for name, words in metric_words.items():
        metric_pattern = r"\W*".join(words.split())
        names_without_metric.add(re.sub(metric_pattern, "", name, flags=re.IGNORECASE))
    return len(names_without_metric) == 1


def _metric_of_only_contender(
    metrics: Sequence[str], times: Sequence[str], file: str, wanted: str | None
) -> _ScoreNames:
    """One of several metrics of a single contender: the wanted one, or the only one of test data.

    Args:
        metrics: Columns or rows that are named after a metric, such as 'train_rmse'.
        times, file, wanted: as of `_contender_names`.

    Raises:
        SeveralMetrics where it is not wanted by name, and there are several.
    """
    chosen = first_of_metric(metrics, wanted)
    if chosen is None:  # no metric is wanted by name, or none of these has that name
        of_training, of_test = partition_names(metrics, is_of_training)
        choices = of_test or of_training
        if len(choices) > 1:
            times_beside = ""
            if times:
                times_beside = f", and {listed(times)} are times or costs"
            raise SeveralMetrics(
                f"{file} has no contenders: {listed(choices[:10])} are metrics of one "
                f"contender{times_beside}; to compare contenders give a column for each, and to "
                f"look at one metric say which, such as --metric {choices[0]}",
                choices,
            )
        chosen = choices[0]
    others = [name for name in metrics if name != chosen]
    left_out = left_out_words(others, "other metrics, or scores of training")
    # The column or row of the only contender, such as 'test_rmse', has the name of a metric, which
    # says whether higher is better.
    clue = MetricClue(f"the name '{chosen}'", chosen)
    return _ScoreNames([chosen], left_out, clue)
