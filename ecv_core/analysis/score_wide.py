"""A table with a column per contender and a row per fold, or the other way round -> rows of scores.

Columns may also be metrics of one contender, as scikit-learn's and Surprise's `cross_validate` give
them, or of each contender ('knn rmse', 'knn mae', ...).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ecv_core.analysis.score_columns import (
    is_bookkeeping,
    is_end_of_range,
    is_fold_name,
    is_spread,
    is_summary,
    is_time_of,
    is_time_or_cost,
    is_unnamed,
    metric_of_fold,
    numbers_rows,
    parted,
)
from ecv_core.analysis.score_rows import (
    Clue,
    ScoreRows,
    SeveralMetrics,
    chosen_metric,
    first_of_metric,
    is_of_training,
    left_out_part,
    rows_of_one_metric,
    without_summary_rows,
)
from ecv_core.analysis.score_tables import (
    COLUMNS,
    SHOWN,
    Labels,
    in_blocks,
    is_number,
    is_numeric,
    is_text,
    is_whole,
    labels_of,
    numbers_of,
    repeated,
    texts_of,
)
from ecv_core.evaluation.directions import is_metric_name, metric_named
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import listed

if TYPE_CHECKING:
    import pyarrow as pa


class _Chosen(NamedTuple):
    """The columns or the rows of a table that have scores."""

    names: list[str]
    left_out: list[str]
    """What the others are, as parts of a sentence."""
    clue: Clue | None = None
    """What names the metric of the scores, if anything does."""
    times: Sequence[str] = ()
    """The columns beside these that have times or costs."""


def rows_of_wide(
    table: pa.Table, roles: dict[str, str], file: str, metric: str | None
) -> ScoreRows:
    """The scores of a wide table: contenders across its columns and folds down, or turned round.

    Args:
        table: of scores.
        roles: contender or fold -> the column that labels the rows, where one is named so.
        file: how a sentence names it.
        metric: that was asked for.
    Raises: SeveralMetrics; InputError for a table that cannot serve.
    """
    if all(is_numeric(name) for name in table.column_names):
        raise InputError(f"the first line of {file} must name its columns, but has numbers")
    table, metric_clue, other_metrics = rows_of_one_metric(table, table.column_names, file, metric)
    # One column may label the rows, be it with contenders or with folds; its values say which.
    label = roles.get("contender") or roles.get("fold") or _label_column(table)
    columns = _score_columns(table, label, file)
    if label is not None and _rows_are_contenders(table, roles, label, columns.names):
        rows = _rows_across_folds(table, label, columns.names, file, metric)
    else:
        rows = _rows_across_contenders(table, label, columns, file, metric)
    rows = replace(rows, left_out=[*other_metrics, *columns.left_out, *rows.left_out])
    if metric_clue is None:
        return rows
    return replace(rows, metric=metric_clue.name, clues=[metric_clue])


def _rows_across_folds(
    table: pa.Table, label: str, names: Sequence[str], file: str, metric: str | None
) -> ScoreRows:
    """The scores of a table with a row per contender and a column per fold.

    Args:
        table: of scores.
        label: the column that names the contenders.
        names: of the columns that may have scores.
        file: how a sentence names it.
        metric: that was asked for.
    Raises: SeveralMetrics; InputError for a table that cannot serve.
    """
    folds = _folds_of(names, file, metric)
    table, contenders = _rows_of_contenders(table, label, file, metric)
    left_out = folds.left_out + contenders.left_out
    chosen = _Chosen(folds.names, left_out, folds.clue or contenders.clue)
    return _rows_of_columns(table, label, chosen, file, across="fold")


def _rows_across_contenders(
    table: pa.Table, label: str | None, columns: _Chosen, file: str, metric: str | None
) -> ScoreRows:
    """The scores of a table with a row per fold and a column per contender; as above.

    Args:
        label: the column that labels the folds, if any.
        columns: that may have scores.
    """
    contenders = _contenders_of(columns.names, columns.times, file, metric)
    if label is not None:
        table, summaries = without_summary_rows(table, label, file)
        left_out = left_out_part(summaries, "no folds") + contenders.left_out
        contenders = contenders._replace(left_out=left_out)
    return _rows_of_columns(table, label, contenders, file, across="contender")


def _score_columns(table: pa.Table, label: str | None, file: str) -> _Chosen:
    """The columns beside the labels that may have scores.

    Args:
        table: of scores.
        label: the column that labels its rows, if any.
        file: how a sentence names it.
    Raises: InputError where there is none.
    """
    names = [name for name in table.column_names if name != label]
    scores = []
    times = []
    others = []
    for name in names:
        if _has_times(name, names):
            times.append(name)
        elif is_bookkeeping(name) or is_end_of_range(name) or is_spread(name, names):
            others.append(name)
        else:
            scores.append(name)
    if not scores:
        raise InputError(f"{file} has times or costs and no scores; give a column of scores")
    left_out = left_out_part(times, "times or costs")
    left_out += left_out_part(others, "settings, counts or spreads")
    scores = _without_row_numbers(table, scores) or scores
    return _Chosen(scores, left_out, times=times)


def _has_times(name: str, names: Sequence[str]) -> bool:
    """Whether a column is of times or costs, by its name and those of all columns."""
    others = [other for other in names if other != name]
    return is_time_or_cost(name) or is_time_of(name, others)


def _rows_of_contenders(
    table: pa.Table, label: str, file: str, metric: str | None
) -> tuple[pa.Table, _Chosen]:
    """The rows that are contenders, or the one of the chosen metric; and which these are.

    Args:
        table: with a row per contender, as it seems.
        label: the column that names the rows.
        file: how a sentence names it.
        metric: that was asked for.
    Raises: SeveralMetrics; InputError for rows of times alone.
    """
    import pyarrow as pa

    labels = texts_of(table, label)
    times, names = parted(labels, is_time_or_cost)
    if not names:
        raise InputError(f"{file} has times or costs and no scores; give a row of scores")
    contenders = _contenders_of(names, times, file, metric)
    if len(contenders.names) < len(labels):
        kept = set(contenders.names)
        table = table.filter(pa.array([name in kept for name in labels]))
    left_out = left_out_part(times, "times or costs") + contenders.left_out
    return table, contenders._replace(left_out=left_out)


def _rows_of_columns(
    table: pa.Table, label: str | None, columns: _Chosen, file: str, *, across: str
) -> ScoreRows:
    """A row for each cell of these columns.

    Args:
        table: of scores.
        label: the column that labels its rows; None where they are numbered.
        columns: that have the scores.
        file: how a sentence names it.
        across: what a column is, 'contender' or 'fold'; a row is the other one.
    Raises: InputError for a cell that is no number.
    """
    _check_numbers(table, columns.names, file)
    down = "contender"
    if across == "contender":
        down = "fold"
    scores = [numbers_of(table, name, file) for name in columns.names]
    shown = [name[:SHOWN].strip() for name in columns.names]
    metric = ""
    clues = []
    if columns.clue is not None:
        metric = columns.clue.name
        clues.append(columns.clue)
    return ScoreRows(
        labels={
            across: in_blocks(shown, len(table)),
            down: _labels_of_rows(table, label, down, len(shown), file),
        },
        scores=np.concatenate(scores),
        metric=metric,
        clues=clues,
        left_out=columns.left_out,
    )


def _label_column(table: pa.Table) -> str | None:
    """The first column, where it holds texts that name the rows without saying what they are.

    A column in which a score is misspelt has numbers too, and so is none.
    """
    first = table.column_names[0]
    if len(table.column_names) < 2 or not is_text(table, first):
        return None
    if is_unnamed(first) or numbers_rows(first):
        return first
    if any(is_numeric(text) for text in texts_of(table, first)):
        return None
    return first


def _rows_are_contenders(
    table: pa.Table, roles: dict[str, str], label: str, names: Sequence[str]
) -> bool:
    """Whether a row is a contender and a column a fold, and not the other way round."""
    if roles:
        return "contender" in roles
    columns = [name for name in names if not metric_of_fold(name)]
    all_folds = not columns or _are_folds(columns)
    return all_folds and not _are_folds(texts_of(table, label))


def _are_folds(names: Iterable[str]) -> bool:
    """Whether names are those of folds, and perhaps of summaries of them."""
    folds = [name for name in names if not is_summary(name)]
    return bool(folds) and all(is_fold_name(name) for name in folds)


def _without_row_numbers(table: pa.Table, names: Iterable[str]) -> list[str]:
    return [name for name in names if not (is_whole(table, name) and numbers_rows(name))]


def _labels_of_rows(
    table: pa.Table, label: str | None, role: str, columns: int, file: str
) -> Labels:
    """What the rows are of, once for each of the columns; they are numbered where nothing says."""
    if label is None:
        return repeated([str(row) for row in range(1, len(table) + 1)], columns)
    texts, places = labels_of(table, label, role, file)
    return texts, np.tile(places, columns)


def _check_numbers(table: pa.Table, names: Iterable[str], file: str) -> None:
    """Refuse a column that holds a text. Raises: InputError."""
    for name in names:
        if is_number(table, name):
            continue
        wrong = next((text for text in texts_of(table, name) if not is_numeric(text)), "")
        raise InputError(
            f"'{wrong[:100]}' in the column '{name}' of {file} is not a number; give a column of "
            f"numbers per contender and a row per fold, or the columns {', '.join(COLUMNS)}"
        )


# Which columns have scores.


def _folds_of(names: Sequence[str], file: str, wanted: str | None) -> _Chosen:
    """The columns that are folds, of a table with a row per contender.

    Args:
        names: of the columns that may have scores.
        file: how a sentence names it.
        wanted: the metric, if any; it may be a part of the columns' names, as in 'rmse_fold_1'.
    Raises: SeveralMetrics; InputError for columns that are metrics, for then there are no folds.
    """
    if any(metric_of_fold(name) for name in names):
        return _folds_of_one_metric(names, file, wanted)
    summaries, columns = parted(names, is_summary)
    left_out = left_out_part(summaries, "no folds")
    folds, others = parted(columns, is_fold_name)
    if folds:
        return _Chosen(folds, left_out + left_out_part(others, "no folds by their names"))
    if columns and all(map(is_metric_name, columns)):
        raise InputError(
            f"{file} has one {listed(columns[:10])} per contender, and no folds; give a row per "
            f"contender and fold, with the columns {', '.join(COLUMNS)}"
        )
    # No name tells what the columns are, so each is taken for a fold.
    return _Chosen(columns, left_out)


def _folds_of_one_metric(names: Sequence[str], file: str, wanted: str | None) -> _Chosen:
    """The folds of the chosen metric, where columns are called 'rmse_fold_1'; as `_folds_of`."""
    metrics = {name: metric_of_fold(name) for name in names}
    named_metrics = list(dict.fromkeys(filter(None, metrics.values())))
    chosen = chosen_metric(named_metrics, wanted, file)
    folds, others = parted(names, lambda name: metrics[name] == chosen)
    clue = Clue(f"'{chosen}' in the columns' names", chosen)
    return _Chosen(folds, left_out_part(others, "other metrics, or no folds"), clue)


def _contenders_of(
    names: Sequence[str], times: Sequence[str], file: str, wanted: str | None
) -> _Chosen:
    """The columns or rows that are contenders, or the chosen metric of the only one.

    Args:
        names: of the columns or rows that may have scores.
        times: of those that have times or costs.
        file: how a sentence names it.
        wanted: the metric, if any.
    Raises: SeveralMetrics.
    """
    if all(map(is_metric_name, names)):
        return _metric_of_one_contender(names, times, file, wanted)
    metrics = _words_of_metrics(names)
    counts = Counter(metrics.values())
    every_name = _Chosen(list(names), [])
    if not metrics or len(names) == 1:
        return every_name
    if len(counts) > 1 and min(counts.values()) == 1:
        # A metric of a single contender is a part of its name, such as the loss it minimises.
        return every_name
    chosen = chosen_metric(list(counts), wanted, file)
    columns, others = parted(names, lambda name: metrics[name] == chosen)
    clue = Clue(f"'{chosen}' in the contenders' names", chosen)
    return _Chosen(columns, left_out_part(others, "other metrics"), clue)


def _words_of_metrics(names: Sequence[str]) -> dict[str, str]:
    """A name -> the words in it that name a metric; nothing where one name has no such words."""
    words = {}
    for name in names:
        metric = metric_named(name)
        if metric is None:
            return {}
        words[name] = metric.words
    return words


def _metric_of_one_contender(
    metrics: Sequence[str], times: Sequence[str], file: str, wanted: str | None
) -> _Chosen:
    """One of several metrics of a single contender: the wanted one, or the only one of test data.

    Args:
        metrics: columns or rows that are named after a metric, such as 'train_rmse'.
        times, file, wanted: as of `_contenders_of`.
    Raises: SeveralMetrics where it is not wanted by name, and there are several.
    """
    chosen = first_of_metric(metrics, wanted)
    if chosen is None:
        of_training, of_test = parted(metrics, is_of_training)
        choices = of_test or of_training
        if len(choices) > 1:
            also = ""
            if times:
                also = f", and {listed(times)} are times or costs"
            raise SeveralMetrics(
                f"{file} has no contenders: {listed(choices[:10])} are metrics of one "
                f"contender{also}; to compare contenders give a column for each, and to look at "
                f"one metric say which, such as --metric {choices[0]}",
                choices,
            )
        chosen = choices[0]
    others = [name for name in metrics if name != chosen]
    left_out = left_out_part(others, "other metrics, or scores of training")
    return _Chosen([chosen], left_out, Clue(f"the name '{chosen}'", chosen))
