"""Rows of scores, each of a contender, a fold and perhaps a user, and how a table has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ecv_core.analysis.score_columns import (
    SCORE,
    USER,
    are_spreads_of,
    chance_of_mean,
    chance_of_mean_and_spread,
    is_bookkeeping,
    is_fold_name,
    is_mean_of,
    is_summary,
    is_time_or_cost,
    names_datasets,
    names_metrics,
    names_row_numbers,
    names_samples,
    partition_names,
    words_of,
)
from ecv_core.analysis.score_tables import (
    COLUMNS,
    RowLabels,
    is_number,
    is_text,
    is_whole,
    labels_of,
    numbers_of,
    texts_of,
)
from ecv_core.evaluation.directions import is_metric_name, same_metric
from ecv_core.records.arrays import Floats
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import listed

if TYPE_CHECKING:
    import pyarrow as pa

_NO_CHANCE = 0.001
"""A last row with the means of those above is no fold if a fold had them by a chance below this."""
_NO_CHANCE_OF_FOLD = 1e-6
"""The same for what has the name of a fold."""
_LITTLE_CHANCE = 0.1
"""If the chance is below this, the row counts as a fold, with a note about it."""
_MOST_NAMED = 10
"""More columns or rows that are left out are counted, not named."""


@dataclass(frozen=True)
class MetricClue:
    """What may name the metric, and so say whether higher or lower is better."""

    source: str
    """As a part of a sentence: "the column 'rmse'"."""
    name: str
    """Of a metric, perhaps."""
    sure: bool = True
    """Whether users are told if it contradicts the clue that decides."""


class TablePart(NamedTuple):
    """What of a table is used."""

    table: pa.Table
    left_out: list[str]
    """What of it is not, as parts of a sentence: 'Mean (no folds)'."""
    notes: Sequence[str] = ()
    """What may be wrong with it, in sentences."""
    metric_clue: MetricClue | None = None
    """What names the metric of its scores; None where nothing in the table does."""


@dataclass(frozen=True, kw_only=True)
class ScoreRows:
    """The scores of a table, whatever its form was."""

    labels: dict[str, RowLabels]
    """Contender, fold and perhaps user of each row."""
    scores: Floats
    """Of each row; NaN where one is missing."""
    metric: str = ""
    """What the table calls its scores; empty where it does not."""
    clues: Sequence[MetricClue] = ()
    """What may name the metric, the surest first."""
    left_out: Sequence[str] = ()
    """What of the table is not in these rows, as in `TablePart`."""
    notes: Sequence[str] = ()
    """What else is to be told, in sentences."""


class SeveralMetrics(InputError):
    """A file has scores of several metrics, and nobody has said which one is meant."""

    def __init__(self, message: str, metrics: Sequence[str]) -> None:
        super().__init__(message)
        self.metrics = tuple(metrics)
        """The metrics that can be chosen."""

    def __reduce__(self) -> tuple[object, ...]:
        # It has another argument than its text, so the default way between processes would fail.
        return SeveralMetrics, (*self.args, self.metrics)


def chosen_metric(metrics: Sequence[str], wanted: str | None, file: str) -> str:
    """The file's name for the metric that was asked for, or else for the only one that it has.

    Args:
        metrics: As the file calls them: 'NDCG@10'.
        wanted: As the user calls it: 'ndcg@10'; None where nobody has said it.
        file: How a sentence names it.

    Raises:
        SeveralMetrics: Where the file has several, and it is not said which of them is meant.
    """
    wanted_metric = first_of_metric(metrics, wanted)
    if wanted_metric is not None:
        return wanted_metric
    # The file may have another name for its only metric than the user, which needs no choice.
    if len(metrics) == 1:
        return metrics[0]
    shown = listed(metrics[:_MOST_NAMED])
    if wanted is not None:
        raise SeveralMetrics(f"{file} has no metric '{wanted}'; choose one of: {shown}", metrics)
    raise SeveralMetrics(
        f"{file} has scores of {len(metrics)} metrics, {shown}; choose one, such as "
        f"--metric {metrics[0]}",
        metrics,
    )


def first_of_metric(names: Iterable[str], wanted: str | None) -> str | None:
    """The first of these names that is of the metric; None where none is, or none is wanted.

    A file may have 'auc' beside 'roc_auc', so the wanted name itself goes before its synonyms.
    """
    if wanted is None:
        return None
    names_of_metric = [name for name in names if same_metric(name, wanted)]
    for name in names_of_metric:
        if words_of(name) == words_of(wanted):
            return name
    return next(iter(names_of_metric), None)


def left_out_words(names: Sequence[str], reason: str) -> list[str]:
    """A part of the sentence about what is left out; none for no names.

    Args:
        names: The names of columns or rows.
        reason: What they are: 'no folds'.
    """
    if not names:
        return []
    shown = listed([name or "one without a name" for name in names])
    if len(names) > _MOST_NAMED:
        shown = f"{len(names)} columns or rows"
    return [f"{shown} ({reason})"]


def dataset_of(table: pa.Table, file: str) -> str:
    """The dataset of all rows, where a column says it; empty where none does.

    Raises:
        InputError: For several, whose folds are no folds of one.
    """
    for column in table.column_names:
        if not names_datasets(column) or not (is_text(table, column) or is_whole(table, column)):
            continue
        datasets = _distinct_texts(table, column)
        if len(datasets) > 1:
            raise InputError(
                f"the column '{column}' of {file} has {len(datasets)} datasets, such as "
                f"{listed(datasets[:2])}, and scores of different datasets are no folds of one; "
                "give the rows of one dataset"
            )
        if datasets:
            return datasets[0]
    return ""


def check_samples(table: pa.Table, file: str) -> None:
    """Refuse rows of training beside rows of the test. Raises: InputError."""
    for column in table.column_names:
        if not is_text(table, column):
            continue
        samples = _distinct_texts(table, column)
        if len(samples) > 1 and all(map(names_samples, samples)):
            raise InputError(
                f"the column '{column}' of {file} has {listed(samples)}, which are samples of one "
                "fold; give only the rows of held-out samples"
            )


def _distinct_texts(table: pa.Table, column: str) -> list[str]:
    """The different values of a column, in their order, without those that are missing."""
    # It is imported here, as most files need none of what it loads.
    from pyarrow import compute

    values = compute.unique(table[column].drop_null()).to_pylist()
    return [str(value) for value in values if value != ""]


def without_summary_rows(table: pa.Table, fold_column: str, file: str) -> TablePart:
    """The rows of folds, without others such as those that summarise them ('Mean').

    What stands in a summary, such as '0.30 ± 0.01', makes texts of a column of numbers; without it
    they are numbers again.

    Args:
        table: The table of scores.
        fold_column: The fold column that labels the folds.
        file: How a sentence names it.

    Raises:
        InputError: Where there are summaries alone.
    """
    import pyarrow as pa
    from pyarrow import compute

    whole_table = TablePart(table, [])
    fold_labels = table[fold_column]
    if is_whole(table, fold_column):  # among numbers of folds -1 may label their mean
        fold_labels = fold_labels.cast(pa.string())
    elif not is_text(table, fold_column):
        return whole_table
    labels = [label for label in compute.unique(fold_labels).to_pylist() if label is not None]
    summaries = _labels_of_no_fold(labels)
    if not summaries:
        return whole_table
    if len(summaries) == len(labels):
        raise InputError(f"{file} has only {listed(summaries)}, and no folds; give a row per fold")
    is_summary_row = compute.is_in(fold_labels, pa.array(summaries))
    fold_rows = table.filter(compute.invert(is_summary_row))
    # A summary such as '0.30 ± 0.01' had made texts of a column of numbers.
    for name in table.column_names:
        if name != fold_column:
            fold_rows = _with_texts_as_numbers(fold_rows, name)
    return TablePart(fold_rows, left_out_words([label.strip() for label in summaries], "no folds"))


def without_nameless_means(
    table: pa.Table, label_column: str | None, columns: Sequence[str], file: str
) -> TablePart:
    """The rows of folds, without a last one that has no label and the means of those above it.

    Below it may be another one with their standard deviations. Of few digits, a fold may have the
    means of others by chance: it stays, and is told.

    Args:
        table: With a row per fold.
        label_column: The column that labels the folds, if any.
        columns: The columns of scores.
        file: How a sentence names it.
    """
    every_row = TablePart(table, [])
    if not all(is_number(table, name) for name in columns):
        return every_row
    scores = np.column_stack([numbers_of(table, name, file) for name in columns])
    nameless_count = _count_nameless(table, label_column)
    if nameless_count > 1 and _ends_in_means_and_spreads(scores, _NO_CHANCE):
        left_out = "the last two rows, the means and spreads of those above"
        return TablePart(table.slice(0, len(table) - 2), [left_out])
    if not nameless_count or not _ends_in_means(scores):
        return every_row
    chance = chance_of_mean(scores[-1], scores[:-1])
    if chance < _NO_CHANCE:
        return TablePart(table.slice(0, len(table) - 1), ["the last row, the means of those above"])
    if chance < _LITTLE_CHANCE:
        note = (
            "The last row counts as a fold, although it has the means of those above; if it is "
            "none, leave it out."
        )
        return TablePart(table, [], [note])
    return every_row


class NamedMeans(NamedTuple):
    """What is at the end of folds that all have names."""

    fold_count: int
    """How many of the last ones are no folds: 1 for means, 2 for means and spreads."""
    notes: list[str]
    """A sentence on a fold that may be none, if there is one."""


def named_means_at_end(scores: Floats, names: Sequence[str]) -> NamedMeans:
    """Whether the last folds are summaries, although they have the names of folds.

    `table.loc[len(table)] = table.mean()` of pandas gives the means the next number as their name.

    Args:
        scores: Shape (folds, contenders).
        names: Of the folds.
    """
    if _ends_in_means_and_spreads(scores, _NO_CHANCE_OF_FOLD):
        return NamedMeans(2, [])
    if not _ends_in_means(scores):
        return NamedMeans(0, [])
    chance = chance_of_mean(scores[-1], scores[:-1])
    if chance < _NO_CHANCE_OF_FOLD:
        return NamedMeans(1, [])
    if chance < _NO_CHANCE:
        note = (
            f"Fold {names[-1]} is counted, although it has the means of all others; if it is none, "
            "leave it out."
        )
        return NamedMeans(0, [note])
    return NamedMeans(0, [])


def _ends_in_means_and_spreads(scores: Floats, no_chance: float) -> bool:
    """Whether the last two rows are means and standard deviations of those above them.

    Args:
        scores: A row per fold.
        no_chance: The chance below which they are no folds.
    """
    if len(scores) < 4:  # of a single row the mean and the spread tell nothing
        return False
    means = scores[-2]
    spreads = scores[-1]
    others = scores[:-2]
    if not _ends_in_means(scores[:-1]) or not are_spreads_of(spreads, others):
        return False
    return chance_of_mean_and_spread(means, others) < no_chance


def _ends_in_means(scores: Floats) -> bool:
    """Whether the last row has the means of at least two above it."""
    return len(scores) > 2 and is_mean_of(scores[-1], scores[:-1])


def _count_nameless(table: pa.Table, label_column: str | None) -> int:
    """How many of the last rows have no label; all, where no column labels them."""
    if label_column is None:
        return len(table)
    count = 0
    for label in texts_of(table, label_column):
        count += 1
        # A label restarts the count, so that only rows after the last label are counted in the end.
        if label.strip() not in ("", "None"):  # `texts_of` gives 'None' for an empty cell
            count = 0
    return count


def _labels_of_no_fold(labels: Sequence[str]) -> list[str]:
    """Those that label no fold, such as 'Mean'."""
    fold_names, others = partition_names(labels, is_fold_name)
    # If some folds are called '1' and '2', neither 'Mittelwert' nor 'p-value' is a fold.
    if len(fold_names) > 1:
        return others
    # The folds have names of their own, so only rows with the usual names of summaries are no
    # folds.
    return [label for label in labels if is_summary(label)]


def _with_texts_as_numbers(table: pa.Table, column: str) -> pa.Table:
    """The same with the texts of one column as numbers, where they are such."""
    import pyarrow as pa

    if not is_text(table, column):
        return table
    try:
        numbers = table[column].cast(pa.float64())
    except pa.ArrowException:  # Some text is no number, so the column stays as it is.
        return table
    return table.set_column(table.column_names.index(column), column, numbers)


# A table with a row per contender and fold, and perhaps user and metric.


def rows_of_long(
    table: pa.Table, roles: dict[str, str], file: str, metric: str | None
) -> ScoreRows:
    """The rows of a table that has one for each score.

    Args:
        table: The table of scores.
        roles: Contender, fold, user and score -> column, of those that there are.
        file: How a sentence names it.
        metric: The metric that was asked for.

    Raises:
        SeveralMetrics.
        InputError: For a column or a label that is missing.
    """
    for role in ("contender", "fold"):
        if role not in roles:
            raise _missing_column(file, role)
    fold_part = without_summary_rows(table, roles["fold"], file)
    metric_part = rows_of_one_metric(
        fold_part.table, _columns_without_role(table, roles), file, metric
    )
    table = metric_part.table
    clues = []
    if metric_part.metric_clue is not None:
        clues.append(metric_part.metric_clue)
        # All rows are of this metric now, so the column of scores need not be named after it.
        metric = None
    other_columns = _columns_without_role(table, roles)
    score = _score_column(table, roles.get(SCORE), other_columns, file, metric)
    clues.append(MetricClue(f"the column '{score}'", score))
    surest_clue = clues[0]
    used = {score}
    labels = {}
    for role, name in roles.items():
        if role != SCORE:
            labels[role] = labels_of(table, name, role, file)
            used.add(name)
    # A column called 'score' is unused too, if the scores are in one that is named after the
    # metric.
    unused_columns = _unused_columns([name for name in table.column_names if name not in used])
    return ScoreRows(
        labels=labels,
        scores=numbers_of(table, score, file),
        metric=surest_clue.name,
        clues=clues,
        left_out=fold_part.left_out + metric_part.left_out + unused_columns,
    )


def _columns_without_role(table: pa.Table, roles: Mapping[str, str]) -> list[str]:
    """The columns of a table that are no contender, fold, user or score."""
    return [name for name in table.column_names if name not in roles.values()]


def rows_of_one_metric(
    table: pa.Table, columns: Sequence[str], file: str, metric: str | None
) -> TablePart:
    """The rows of one metric, where a column names the metric of each.

    Args:
        table: The table of scores.
        columns: Among which that may be.
        file: How a sentence names it.
        metric: The metric that was asked for.

    Returns:
        Without that column; all of the table where there is none.

    Raises:
        SeveralMetrics.
    """
    for column in columns:
        if not is_text(table, column) or not _says_metrics(table, column):
            continue
        # It is imported here, as most files need none of what it loads.
        from pyarrow import compute

        metrics = [str(name) for name in compute.unique(table[column]).to_pylist()]
        chosen = chosen_metric(metrics, metric, file)
        others = [name for name in metrics if name != chosen]
        if others:
            table = table.filter(compute.equal(table[column], chosen))
        clue = MetricClue(f"'{chosen}' in the column '{column}'", chosen)
        left_out = left_out_words(others, "other metrics")
        return TablePart(table.drop_columns([column]), left_out, metric_clue=clue)
    return TablePart(table, [])


def _says_metrics(table: pa.Table, column: str) -> bool:
    """Whether a column of texts says the metric of each row, by its name or its values."""
    if names_metrics(column):
        return True
    # In what pandas and R melt, a variable is a metric or a contender.
    return column.lower() == "variable" and all(map(is_metric_name, _distinct_texts(table, column)))


def _score_column(
    table: pa.Table,
    column_called_score: str | None,
    other_columns: Sequence[str],
    file: str,
    metric: str | None,
) -> str:
    """The column that has the scores: the one that was asked for, 'score', or the only metric.

    Args:
        table: With a row per score.
        column_called_score: The column that is called 'score'; None where there is none.
        other_columns: Those that are neither contender, fold, user nor score.
        file: How a sentence names it.
        metric: The metric that was asked for, if any.

    Raises:
        SeveralMetrics.
        InputError: Where no column has scores.
    """
    candidates = []
    for name in other_columns:
        if not (is_time_or_cost(name) or is_bookkeeping(name)):
            candidates.append(name)
    no_row_numbers = without_row_numbers(table, candidates)
    with_numbers = [name for name in no_row_numbers if is_number(table, name)]
    called_after_metric = first_of_metric(with_numbers, metric)
    if called_after_metric is not None:
        return called_after_metric
    if column_called_score is not None:
        return column_called_score
    return _unnamed_score_column(candidates, with_numbers, file, metric)


def _unnamed_score_column(
    candidates: list[str], with_numbers: list[str], file: str, wanted: str | None
) -> str:
    """The column that has the scores, where neither 'score' nor the metric names it.

    Args:
        candidates: The columns that may have scores.
        with_numbers: Those of them that have numbers.
        file: How a sentence names it.
        wanted: The metric, if any.

    Raises:
        As `_score_column`.
    """
    if wanted is None:
        of_test = [name for name in with_numbers if not is_of_training(name)]
        with_numbers = of_test or with_numbers
    called_after_metrics = list(filter(is_metric_name, with_numbers))
    # A column is taken where there is no choice: it is the only one with numbers, else the only one
    # called after a metric, else the only one at all. The last may hold texts; reading it says so.
    for columns in (with_numbers, called_after_metrics, candidates):
        if len(columns) == 1:
            return columns[0]
    if not with_numbers:
        raise _missing_column(file, SCORE)
    return chosen_metric(called_after_metrics or with_numbers, wanted, file)


def is_of_training(name: str) -> bool:
    """Whether scores under this name are of the samples that a model was fitted on."""
    return "train" in name.lower()


def without_row_numbers(table: pa.Table, names: Iterable[str]) -> list[str]:
    """The columns that do not number the rows, by their names and values."""
    return [name for name in names if not (is_whole(table, name) and names_row_numbers(name))]


def _missing_column(file: str, role: str) -> InputError:
    return InputError(
        f"{file} has no column '{role}'; it needs {', '.join(COLUMNS)}, one row per contender and "
        f"fold, or with a column '{USER}' one per user as well"
    )


def _unused_columns(names: Sequence[str]) -> list[str]:
    """Parts of the sentence about the columns that are left out.

    Those that number the rows lose nothing, and so are not told.
    """
    times, others = partition_names(names, is_time_or_cost)
    others = [name for name in others if not names_row_numbers(name)]
    return left_out_words(times, "times or costs") + left_out_words(others, "other columns")
