"""Fold scores from any program: a file -> contenders, with the direction of their scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import ecv_core.untrusted.bounded as bounded
import ecv_core.untrusted.limits as limits
from ecv_core.analysis.orders.subsets import MAX_K
from ecv_core.analysis.score_cells import ParsedScores, parse_score_texts
from ecv_core.analysis.score_columns import USER, is_summary, roles_of, summarises
from ecv_core.analysis.score_exports import normalise_export
from ecv_core.analysis.score_rows import (
    MetricClue,
    ScoreRows,
    check_samples,
    dataset_of,
    left_out_words,
    named_means_at_end,
    rows_of_long,
)
from ecv_core.analysis.score_searches import check_not_only_means, is_search, rows_of_search
from ecv_core.analysis.score_tables import LONGEST_NAME, RowLabels, table_of
from ecv_core.analysis.score_wide import rows_of_wide
from ecv_core.evaluation.directions import NamedMetric, metric_named, same_metric
from ecv_core.records.arrays import Floats, Indices, Mask
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import listed
from ecv_core.records.run import Scores

if TYPE_CHECKING:
    import pyarrow as pa


_GREATEST_SCORE = 1e150
"""Squares of numbers above 1e154 are infinite. Programs write these where a fold has failed."""
_ROUNDING_OF_MEAN = 1e-4
"""In a file a mean may have as few as four digits."""
_PERCENT_IN_NAME = re.compile(r"[^\d\s]\s*%")
"""The unit in the name of a contender, as in 'knn (%)'; 'dropout 10 %' is a setting."""


@dataclass(frozen=True, kw_only=True)
class Direction:
    """Whether higher or lower scores are better, and how that is known."""

    higher_is_better: bool
    why: str
    """As a part of a sentence: "by the column 'rmse'"."""
    is_known: bool = True
    """Whether something says it; else it is the usual one that is taken."""
    has_worst_score: bool = True
    """Whether the scores can be only so bad, as far as is known."""

    @property
    def words(self) -> str:
        """'higher is better' or 'lower is better'."""
        return "higher is better" if self.higher_is_better else "lower is better"

    @property
    def may_be_of_shares(self) -> bool:
        """Whether scores may be shares, so that the same in per cent would be much better or worse.

        Errors such as RMSE have any size.
        """
        return self.higher_is_better or self.has_worst_score

    def sentence(self, otherwise: str) -> str:
        """What was taken, why, and the way out.

        Args:
            otherwise: How to say otherwise, such as 'the switch'.
        """
        return f"{self.words.capitalize()}, {self.why}; if this is wrong, use {otherwise}."

    def as_asked(self, higher_is_better: bool) -> Direction:
        """What the user says, whatever the file says; a contradiction is told."""
        why = "as was asked"
        if higher_is_better == self.higher_is_better:
            return replace(self, why=why)
        if self.is_known:
            why = f"as you set, although {self.words} {self.why}"
        return Direction(
            higher_is_better=higher_is_better,
            why=why,
            has_worst_score=self.has_worst_score and higher_is_better,
        )


@dataclass(frozen=True, kw_only=True)
class ScoreFile:
    """What a file of scores holds: contenders with all folds and the same users."""

    contenders: tuple[Scores, ...]
    """In the order in which they first appear, with the direction of their scores."""
    folds: tuple[str, ...]
    """Names of the folds: fold i of a contender is the i-th of them."""
    metric: str
    """What is scored, as the user or else the file calls it; empty where nobody says it."""
    own_metric: str = ""
    """The same as the file calls it."""
    dataset: str = ""
    """What the scores are of, where a column says it."""
    direction: Direction
    left_out: str
    """What of the file was not used or is no plain number, in sentences; empty for nothing."""

    def directed(self, higher_is_better: bool | None) -> ScoreFile:
        """The same with the direction that the user asks for; None for the file's own."""
        if higher_is_better is None:
            return self
        return replace(
            self,
            direction=self.direction.as_asked(higher_is_better),
            contenders=tuple(
                replace(contender, higher_is_better=higher_is_better)
                for contender in self.contenders
            ),
        )


def read_contenders(path: Path, metric: str | None = None) -> ScoreFile:
    """The contenders of a scores file, each with all folds and the same users.

    Args:
        path: CSV, CSV.gz, JSON or Parquet, in one of these forms.
            One row per contender, fold and perhaps user, with the columns of COLUMNS and USER,
            named in any case; 'contender' may be called 'system', 'model' or 'algorithm', and
            'score' as a metric. A column 'metric' may name the metric of each row.
            One column per contender and one row per fold, or the other way round.
            What scikit-learn's searches keep in `cv_results_`: a row per candidate.
            Runs of `mlflow.search_runs`, and trials of Optuna with a fold in each attribute.
            Scores may be in per cent, and have a spread behind them ('0.81 ± 0.02').
        metric: Which one is meant where the file has several; else what its scores are called.

    Returns:
        What the file holds. Rows and columns that are summaries of folds, times, numbers of rows or
        other metrics are left out, and said.

    Raises:
        SeveralMetrics for several metrics of which none was chosen.
        InputError: For a file that cannot be read, a column or value that is missing, a score that
            is no finite number, a row that is there twice, or contenders of which one lacks a fold
            or a user that another has.
    """
    return bounded.read(_read_contenders, path, metric)


def with_varying_scores(scores: ScoreFile, file: str) -> ScoreFile:
    """The contenders whose every order of folds can be looked at.

    Those whose scores never differ are left out, and said.

    Args:
        scores: The scores of the file.
        file: How a sentence names it.

    Raises:
        InputError: Where there are fewer than two folds or more than MAX_K, or where no contender's
            scores differ.
    """
    k = len(scores.folds)
    if k < 2:
        raise InputError(f"{file} has 1 fold; between 2 and {MAX_K} folds can be explored")
    if k > MAX_K:
        raise InputError(
            f"{file} has {k} folds; between 2 and {MAX_K} folds can be explored, so take the "
            f"first {MAX_K}"
        )
    constant = []
    varying = []
    for contender in scores.contenders:
        if np.all(contender.folds == contender.folds[0]):
            constant.append(contender.name)
        else:
            varying.append(contender)
    if not varying:
        first = scores.contenders[0]
        raise InputError(
            f"all scores of '{first.name}' in {file} are {first.folds[0]:g}; folds that never "
            "differ cannot show when to stop, so give scores that do"
        )
    if not constant:
        return scores
    sentence = f"Left out: {listed(constant)} (scores that never differ)."
    return replace(
        scores, contenders=tuple(varying), left_out=f"{scores.left_out} {sentence}".strip()
    )


def _read_contenders(path: Path, metric: str | None) -> ScoreFile:
    file = f"the file {path.name}"
    file_table = table_of(path, file)
    export_part = normalise_export(file_table.table, file)
    parsed = parse_score_texts(export_part.table, is_delimited=file_table.is_delimited)
    dataset = dataset_of(parsed.table, file)
    check_samples(parsed.table, file)
    rows = _score_rows(parsed.table, file, metric)
    contenders = _contenders(rows.labels, rows.scores, file)
    users = rows.labels.get(USER)
    folds_part = _without_summaries(contenders, rows.labels["fold"].names, users)
    kept = folds_part.contenders
    left_out = [*export_part.left_out, *rows.left_out, *folds_part.left_out]
    notes = [*rows.notes, *folds_part.notes]
    _check_same_unit(kept, parsed.percent_example, file)
    stem = path.name.partition(".")[0]
    clues = [*rows.clues, MetricClue(f"the file's name '{stem}'", stem, sure=False)]
    if metric is not None and not same_metric(metric, rows.metric):
        source = f"the metric '{metric}' that you chose"
        if metric_named(rows.metric) is not None:
            source += f", where the file has '{rows.metric}'"
        clues.insert(0, MetricClue(source, metric))
    direction = _direction(clues, [contender.folds for contender in kept])
    if direction.may_be_of_shares:
        _check_no_percentages_in(kept, folds_part.folds, file)
    return ScoreFile(
        contenders=tuple(
            replace(contender, higher_is_better=direction.higher_is_better) for contender in kept
        ),
        folds=tuple(folds_part.folds),
        metric=metric or rows.metric,
        own_metric=rows.metric,
        dataset=dataset,
        direction=direction,
        left_out=_sentences_of_left_out(left_out, parsed, notes),
    )


def _sentences_of_left_out(
    left_out: Sequence[str], parsed: ParsedScores, notes: Sequence[str]
) -> str:
    """See `ScoreFile.left_out`.

    Args:
        left_out: Columns, rows and contenders, as parts of a sentence.
        parsed: What stood beside the scores.
        notes: What else is to be told, in sentences.
    """
    parts = list(left_out)
    if parsed.spread_example:
        parts.append(f"spreads, as in '{parsed.spread_example}'")
    sentences = list(notes)
    if parsed.percent_example:
        sentences.append(f"Percentages are read as hundredths, as in '{parsed.percent_example}'.")
    if parts:
        sentences.append(f"Left out: {'; '.join(parts)}.")
    return " ".join(sentences)


def _score_rows(table: pa.Table, file: str, metric: str | None) -> ScoreRows:
    """The rows of a table in any of its forms. Raises: InputError."""
    if is_search(table.column_names):
        return rows_of_search(table, file, metric)
    check_not_only_means(table.column_names, file)
    roles = roles_of(table.column_names)
    if {"contender", "fold"} <= roles.keys() or USER in roles:
        return rows_of_long(table, roles, file, metric)
    return rows_of_wide(table, roles, file, metric)


def _direction(clues: Sequence[MetricClue], scores: Sequence[Floats]) -> Direction:
    """The direction of the first name that is a metric's; one that contradicts it is told.

    Args:
        clues: The surest first.
        scores: The scores of each contender; shape (folds,).
    """
    every_score = np.concatenate(scores)
    named_metrics = _metrics_of(clues)
    if not named_metrics:
        return Direction(
            higher_is_better=True,
            why="because nothing in the file names a known metric",
            is_known=False,
            has_worst_score=bool((every_score >= 0).all()),
        )
    # The first clue is the surest one, and decides.
    clue, metric = named_metrics[0]
    side = "above"
    if metric.sign > 0:
        side = "below"
    has_wrong_sign = every_score * metric.sign < 0
    if has_wrong_sign.any() and (every_score[~has_wrong_sign] == 0).all():
        # Such are errors that scikit-learn has negated, and shares of a search for a minimum.
        return Direction(
            higher_is_better=not metric.higher_is_better,
            why=f"because scores of {clue.source} {side} zero were turned round",
            has_worst_score=metric.has_worst_score,
        )
    why = f"by {clue.source}"
    if has_wrong_sign.any():
        why += f", although some scores are {side} zero, which no {metric.words} is"
    for other, other_metric in named_metrics[1:]:
        if other.sure and other_metric.higher_is_better != metric.higher_is_better:
            why += f", although {other.source} suggests the opposite"
            break  # A sentence needs no second contradiction.
    return Direction(
        higher_is_better=metric.higher_is_better, why=why, has_worst_score=metric.has_worst_score
    )


def _metrics_of(clues: Sequence[MetricClue]) -> list[tuple[MetricClue, NamedMetric]]:
    """The metric that each clue names; without those that name none."""
    named_metrics = []
    for clue in clues:
        metric = metric_named(clue.name, is_metric=clue.sure)
        if metric is not None:
            named_metrics.append((clue, metric))
    return named_metrics


def _without_summary_contenders(contenders: Sequence[Scores]) -> tuple[list[Scores], list[str]]:
    """Without what is the mean, the spread, ... of the other contenders.

    Returns:
        The contenders, and the names of the summaries.
    """
    # A name such as 'Mean' may be that of a summary or of a contender, so its scores are compared
    # with those of all contenders whose names are not of summaries.
    scores_of_others = np.array(
        [contender.folds for contender in contenders if not is_summary(contender.name)]
    )
    kept = []
    summaries = []
    for contender in contenders:
        if summarises(contender.name, contender.folds, scores_of_others):
            summaries.append(contender.name)
        else:
            kept.append(contender)
    return kept, summaries


class _WithoutSummaries(NamedTuple):
    """Contenders and folds, without what summarises others."""

    contenders: list[Scores]
    folds: Sequence[str]
    """The names of the folds."""
    left_out: list[str]
    """What is not used, as parts of a sentence."""
    notes: list[str]
    """What may be wrong, in sentences."""


def _without_summaries(
    contenders: Sequence[Scores], folds: Sequence[str], users: RowLabels | None
) -> _WithoutSummaries:
    """The contenders, folds and users that are no means or spreads of the others.

    Args:
        contenders: All that the file has.
        folds: The names of their folds.
        users: Of the rows of the file; None where it has no users.
    """
    kept, summaries = _without_summary_contenders(contenders)
    left_out = left_out_words(summaries, "summaries of the others")
    if users is not None:
        kept, summary_users = _without_summary_users(kept, users.names)
        left_out += left_out_words(summary_users, "no users, but means over them")
        return _WithoutSummaries(kept, folds, left_out, [])
    means = named_means_at_end(np.column_stack([contender.folds for contender in kept]), folds)
    if not means.fold_count:
        return _WithoutSummaries(kept, folds, left_out, means.notes)
    count = len(folds) - means.fold_count
    left_out += left_out_words(folds[count:], "summaries of the other folds")
    shortened = []
    for contender in kept:
        shortened.append(replace(contender, folds=contender.folds[:count]))
    return _WithoutSummaries(shortened, folds[:count], left_out, means.notes)


def _without_summary_users(
    contenders: Sequence[Scores], names: Sequence[str]
) -> tuple[list[Scores], list[str]]:
    """Without what is the mean of all users of each fold, such as 'all' of trec_eval.

    Args:
        contenders: With the scores of users.
        names: Of the users.

    Returns:
        The contenders, and the names of what are no users.
    """
    # Axes: contender, fold, user.
    scores = np.stack([contender.users for contender in contenders if contender.users is not None])
    # To look at each of many names takes long. A score that is the mean of all others in a fold is
    # also the mean of all, which few scores are.
    is_near_mean = np.isclose(scores[0, 0], contenders[0].folds[0], rtol=0, atol=_ROUNDING_OF_MEAN)
    near_mean = np.flatnonzero(is_near_mean).tolist()
    summaries = [index for index in near_mean if _is_mean_of_users(names, scores, index)]
    if not summaries or len(summaries) == len(names):
        return list(contenders), []
    users = np.delete(scores, summaries, axis=2)
    kept = []
    for contender, user_scores in zip(contenders, users, strict=True):
        kept.append(replace(contender, users=user_scores, folds=np.nanmean(user_scores, axis=1)))
    return kept, [names[index] for index in summaries]


def _is_mean_of_users(names: Sequence[str], scores: Floats, index: int) -> bool:
    """Whether what is called after a summary has in every fold the mean of the other users.

    Args:
        names: Of the users.
        scores: Shape (contenders, folds, users); NaN for a user with nothing held out.
        index: Of the user in question.
    """
    if not is_summary(names[index]):  # a user may be called Max, so the numbers decide
        return False
    others = np.delete(scores, index, axis=2)
    user_counts = np.count_nonzero(~np.isnan(others), axis=2)
    means = np.nansum(others, axis=2) / np.maximum(user_counts, 1)
    is_mean = np.allclose(scores[:, :, index], means, rtol=0, atol=_ROUNDING_OF_MEAN)
    return is_mean and bool(user_counts.all())


def _check_no_percentages_in(contenders: Sequence[Scores], folds: Sequence[str], file: str) -> None:
    """Refuse a contender, or a fold of all contenders, that may be in per cent. Raises: InputError.

    Args:
        contenders: Those whose scores are compared.
        folds: The names of their folds.
        file: How a sentence names it.
    """
    scores = np.array([contender.folds for contender in contenders])
    names = [f"'{contender.name}'" for contender in contenders]
    check_no_percentages(names, scores, f"in {file} ")
    if len(contenders) > 1:  # a single score of a fold may be low by chance
        check_no_percentages([f"fold {fold}" for fold in folds], scores.T, f"in {file} ")


def check_no_percentages(
    names: Sequence[str], scores: Sequence[Floats] | Floats, where: str = ""
) -> None:
    """Refuse shares beside percentages, which would be better or worse by their unit alone.

    Args:
        names: Of what is compared, for a sentence.
        scores: The scores of each; shape (any,).
        where: What the sentence begins with.

    Raises:
        InputError.
    """
    for name, others in zip(names[1:], scores[1:], strict=True):
        if _may_be_percentages(scores[0], others):
            raise InputError(
                f"{where}the mean of {names[0]} is {scores[0].mean():.4g} and that of {name} "
                f"{others.mean():.4g}, so one of them may be in per cent; give all in the same unit"
            )


def _may_be_percentages(scores: Floats, others: Floats) -> bool:
    """Whether one of the two are shares, and the other about as large times a hundred."""
    if scores.max() > others.max():
        return _may_be_percentages(others, scores)
    are_shares = scores.min() >= 0 and scores.max() <= 1
    are_greater = others.min() > 1 and others.max() <= 100
    if not are_shares or not are_greater or not scores.any():
        return False
    return bool(50 <= others.mean() / scores.mean() <= 200)


def _check_same_unit(contenders: Sequence[Scores], percent_example: str, file: str) -> None:
    """Refuse scores of which some may be in per cent, and others are not.

    Args:
        contenders: Those whose scores are compared.
        percent_example: A cell in per cent, which was divided by 100; empty for none.
        file: How a sentence names it.
    """
    percent_signs = [
        contender.name for contender in contenders if _PERCENT_IN_NAME.search(contender.name)
    ]
    if percent_example:
        percent_signs.insert(0, percent_example)
    if not percent_signs:
        return
    sizes = np.abs([contender.folds for contender in contenders])
    for greatest in (sizes.max(axis=0), sizes.max(axis=1)):
        are_shares = greatest <= 1
        if are_shares.any() and not are_shares.all():
            raise InputError(
                f"of the scores in {file} some are shares and others, up to {sizes.max():g}, may "
                f"be in per cent, as '{percent_signs[0]}' is; write all in the same way"
            )


def _contenders(labels: dict[str, RowLabels], row_scores: Floats, file: str) -> list[Scores]:
    """Arrange the scores of rows by contender and fold, and by user where there are users.

    Args:
        labels: What each row is of: 'contender', 'fold' and perhaps USER.
        row_scores: Shape (rows,).
        file: How errors call the file.

    Raises:
        InputError: Where a score is missing, comes twice, or is no finite number.
    """
    names, contender_codes = labels["contender"]
    folds, fold_codes = labels["fold"]
    # Without users each score is that of one nameless user.
    nobody = RowLabels([""], np.zeros(len(row_scores), dtype=np.int32))
    users, user_codes = labels.get(USER, nobody)
    shape = (len(names), len(folds), len(users))
    _check_size(shape, file)
    _check_names(names, file)
    _check_finite(labels, row_scores, file)
    # `scores` has the shape (contenders, folds, users). A cell is the place of a row's score in it.
    cells = (contender_codes, fold_codes, user_codes)
    scores = np.full(shape, np.nan)
    scores[cells] = row_scores
    is_filled = ~np.isnan(scores)
    if np.count_nonzero(is_filled) < len(row_scores):  # some rows have the same cell
        raise _cell_twice(np.ravel_multi_index(cells, shape), labels, file)
    _check_complete(is_filled, names, folds, users, file)
    contenders = []
    for name, user_scores in zip(names, scores, strict=True):
        contender = Scores(name=name, folds=np.nanmean(user_scores, axis=1))
        if USER in labels:
            contender = replace(contender, users=user_scores)
        contenders.append(contender)
    return contenders


def _check_names(names: Sequence[str], file: str) -> None:
    """Refuse names that are the same, or are once they are cut to LONGEST_NAME characters."""
    for name, count in Counter(names).items():
        if count > 1 and len(name) < LONGEST_NAME:
            raise InputError(f"{file} has two contenders called '{name}'; keep one, or rename one")
        if count > 1:
            raise InputError(
                f"{file} has two contenders whose names begin with '{name}'; only {LONGEST_NAME} "
                "characters of a name are kept, so let them differ there"
            )


def _check_finite(labels: Mapping[str, RowLabels], row_scores: Floats, file: str) -> None:
    """Refuse a score that is no number or too large a one. Args: as of `_contenders`."""
    is_usable = np.abs(row_scores) <= _GREATEST_SCORE  # false of NaN, too
    if is_usable.all():
        return
    row = int(np.argmin(is_usable))
    why = "not a finite number"
    if np.isfinite(row_scores[row]):
        why = "too large a number for a score"
    of_user = ""
    way_out = "this contender, or this fold of every contender"
    if USER in labels:
        of_user = f" of user {_label(labels, USER, row)}"
        way_out = "the users that have nothing held out, in every contender"
    raise InputError(
        f"in {file}, fold {_label(labels, 'fold', row)} of '{_label(labels, 'contender', row)}' "
        f"has the score {row_scores[row]}{of_user}, which is {why}; leave out {way_out}"
    )


def _cell_twice(cells: Indices, labels: Mapping[str, RowLabels], file: str) -> InputError:
    """The refusal of two rows with the same contender, fold and user.

    Args:
        cells: One number for these three, of each row; shape (rows,). Some have the same.
        labels, file: as of `_contenders`.
    """
    filled_cells, row_counts = np.unique(cells, return_counts=True)
    first_repeated_cell = filled_cells[row_counts > 1][0]
    row = int(np.argmax(cells == first_repeated_cell))
    way_out = f"; keep one, give each repetition folds of its own, or add column '{USER}'"
    if USER in labels:
        way_out = f", user {_label(labels, USER, row)}; keep one"
    return InputError(
        f"{file} has more than one row for contender '{_label(labels, 'contender', row)}', "
        f"fold {_label(labels, 'fold', row)}{way_out}"
    )


def _label(labels: Mapping[str, RowLabels], role: str, row: int) -> str:
    """What a row has in a column of labels."""
    names, codes = labels[role]
    return names[codes[row]]


def _check_size(shape: tuple[int, int, int], file: str) -> None:
    contenders, folds, users = shape
    if (
        contenders > limits.MAX_SYSTEMS
        or folds > limits.MAX_SCORE_FOLDS
        or contenders * folds * users > limits.MAX_SCORES
    ):
        raise InputError(
            f"{file} has too many contenders ({contenders:,}), folds ({folds:,}) and users "
            f"({users:,}) to analyse together (at most {limits.MAX_SYSTEMS} contenders, "
            f"{limits.MAX_SCORE_FOLDS} folds, and {limits.MAX_SCORES:,} scores); leave some out"
        )


def _check_complete(
    has_score: Mask, names: list[str], folds: list[str], users: list[str], file: str
) -> None:
    """Refuse a contender without a fold or a user that another has.

    Args:
        has_score: Whether there is a score; shape (contenders, folds, users).
        names: The names of the contenders; folds and users likewise.
        file: How errors call the file.
    """
    has_no_score = ~has_score.any(axis=2)
    if has_no_score.any():
        contender, fold = np.argwhere(has_no_score)[0]
        raise InputError(
            f"{file} has no row for fold {folds[fold]} of '{names[contender]}'; every contender "
            "needs every fold"
        )
    differs_from_first = has_score != has_score[0]
    if differs_from_first.any():
        contender, fold, user = np.argwhere(differs_from_first)[0]
        name_lacking = names[contender]
        name_with = names[0]
        if has_score[contender, fold, user]:
            name_lacking = names[0]
            name_with = names[contender]
        raise InputError(
            f"in {file}, fold {folds[fold]} of '{name_lacking}' has no score for user "
            f"{users[user]}, but the same fold of '{name_with}' has one; contenders must be scored "
            "on the same users"
        )
