"""What the name of a column or a row of a table of scores says that it is."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from ecv_core.evaluation.directions import is_metric_name, metric_named
from ecv_core.records.arrays import Floats

USER = "user"
"""The column that a file need not have: without it a score is the mean of a fold."""
SCORE = "score"
"""The one that has them, where it is called so."""
_ROLES = {
    "contender": {"contender", "system", "model", "algorithm", "recommender", "method"},
    "fold": {
        *("fold", "foldid", "foldnumber", "foldindex", "foldidx", "foldno", "foldnr", "foldnum"),
        *("kfold", "cvfold", "testfold", "outerfold", "partition", "resample"),
    },
    USER: {"user", "userid"},
    SCORE: {"score"},
}
"""What a column is, and its names, without capitals and signs."""
_EPOCHS = {"epoch", "epochs", "iter", "iters", "iterations", "round", "rounds"}
_METRIC_COLUMNS = {"metric", "metricname", "measure", "metricid"}
_DATASET_COLUMNS = {"dataset", "datasets", "datasetname", "datasetid", "data", "dataid"} | {
    *("task", "taskid", "taskname", "keydataset", "corpus", "problem"),
}
_ROW_NUMBERS = {"", "index", "folds", "split", "n", "i", "row", "#", "nr"}
"""Of a column that numbers the rows."""
_PANDAS_INDEX = re.compile(r"|unnamed: ?\d+|index|level_0|__index_level_0__", re.IGNORECASE)
"""Under these names pandas writes and reads the index of a table."""

MLFLOW_METRIC = "metrics."
"""What the columns of metrics begin with in a table of `mlflow.search_runs`."""
_OPTUNA_COLUMNS = ({"number", "value", "state"}, {"number", "values_0", "state"})
"""Columns that Optuna writes of every trial, of a study with one objective or with several."""


def words_of(text: str) -> list[str]:
    """Small words of a name, of one in capitals too: 'FitTime (s)' as fit, time, s."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return re.findall(r"[a-z0-9ø]+", apart.lower())


_TIMES = frozenset(
    words_of(
        "time times seconds second secs sec duration durations elapsed runtime walltime latency "
        "minutes"
    )
)
_COSTS = frozenset(words_of("joules joule wh kwh energy co2 co2e gco2e emissions watts"))
_TIME_FILLERS = frozenset(
    words_of(
        "fit score test train training predict prediction inference eval evaluate evaluation wall "
        "cpu gpu process mean std avg total sum in s ms min h us ns milliseconds hours per fold n "
        "g kg"
    )
)
"""Beside words of times these make no contender's name of a column: 'fit time (s)'."""
_BOOKKEEPING = frozenset(
    words_of(
        "seed seeds random state epoch epochs step steps iteration iterations iter timestamp users "
        "items samples support batch params parameters memory ram mb gb mib gib trial version k "
        "repeat repeats repetition cutoff"
    )
)
_BOOKKEEPING_FILLERS = frozenset(
    words_of("n num number of nr id global train test size peak max used count")
)
"""Beside words of settings and counts these make no contender's name of a column."""
_UNITS_OF_TIME = frozenset({"s", "ms"})
"""They make a column of times of 'fit (s)', but not of one that is called 'S' alone."""
_COUNTS = frozenset(words_of("n num number size count"))
"""Beside fillers, and not alone, they make a count of a name: 'n_test', 'train_size'."""
_SPREADS = frozenset(
    words_of(
        "std stdv sd stdev stddev sem stderr se var variance deviation range iqr diff difference"
    )
)
_ENDS_OF_INTERVALS = frozenset(words_of("lower upper lwr upr lb ub ci"))
_TRAINING = frozenset(words_of("train training trainset"))
_HELD_OUT = frozenset(words_of("test testing testset val valid validation eval dev holdout oof"))
_SAMPLES_OF_BOOSTING = frozenset(words_of("train training valid test"))
"""What `cv` of programs for boosting calls the samples that a column is of."""
_CENTRES = frozenset(
    words_of(
        "mean avg average median total sum min max minimum maximum overall all count rank ø best "
        "worst"
    )
)
_SUMMARY_FILLERS = frozenset(
    words_of("dev standard error err score scores test of the fold folds cv and ci")
)
"""Beside words of summaries these make no fold's name of a row: 'mean of all folds'."""
_FOLD_NAME = re.compile(r"(?!-)(fold|split|cv|run|repeat|rep)?[ _.#-]*\d+", re.IGNORECASE)

_MOST_SAMPLES = 10_000
"""Scores of folds with more samples than this are not told from any other numbers."""
_SHARES_TRIED = 20
"""More different scores of a column need not be tried."""
_ROWS_FOR_DIGITS = 20
"""The scores of this many rows show how many digits all of them have."""
_LEAST_CHANCE = 1e-6
"""A chance below this need not be known more exactly."""
_FEW_BY_CHANCE = 0.05
"""With fewer counts that fit by chance than this, one that fits is that of the samples."""

_A_FOLD = r"(?:fold|split|cv|run|repeat|rep)[ _.#-]*\d+"
_METRIC_AND_FOLD = re.compile(rf"(?P<metric>.+?)[ _./:-]+{_A_FOLD}", re.IGNORECASE)
_FOLD_AND_METRIC = re.compile(rf"{_A_FOLD}[ _./:-]+(?P<metric>.+)", re.IGNORECASE)


def roles_of(names: Sequence[str]) -> dict[str, str]:
    """Contender, fold, user and score -> the one column whose name says so, whatever its case."""
    roles = {}
    for role, words in _ROLES.items():
        columns = [name for name in names if _plain(name) in words]
        if len(columns) == 1:
            roles[role] = columns[0]
    return roles


def is_optuna(names: Sequence[str]) -> bool:
    """Whether columns of these names are of trials of Optuna."""
    return any(columns.issubset(names) for columns in _OPTUNA_COLUMNS)


def is_export_of_runs(names: Sequence[str]) -> bool:
    """Whether columns of these names are of runs of MLflow or trials of Optuna."""
    return is_optuna(names) or any(name.startswith(MLFLOW_METRIC) for name in names)


def names_metrics(name: str) -> bool:
    """Whether a column of texts under this name says the metric of each row."""
    return _plain(name) in _METRIC_COLUMNS


def names_datasets(name: str) -> bool:
    """Whether a column under this name says which dataset each row is of."""
    return _plain(name) in _DATASET_COLUMNS


def names_samples(name: str) -> bool:
    """Whether this is what samples are called, and no contender: 'train', 'validation_0'."""
    words = words_of(name)
    is_of_samples = not (_TRAINING | _HELD_OUT).isdisjoint(words)
    others = [word for word in words if word not in _TRAINING | _HELD_OUT]
    return is_of_samples and all(map(str.isdecimal, others))


def is_training_beside_test(name: str, names: Iterable[str]) -> bool:
    """Whether a column is of a contender's training: 'knn_train', beside 'knn_test' or 'knn'.

    'train_rmse' is none: it has no contender in its name, and may be asked for as a metric.
    """
    words = words_of(name)
    if _TRAINING.isdisjoint(words) or is_metric_name(name):
        return False
    measured = [word for word in words if word not in _TRAINING]
    for other in names:
        words_of_other = [word for word in words_of(other) if word not in _HELD_OUT]
        if words_of_other == measured:
            return True
    return False


def names_states(name: str) -> bool:
    """Whether a column of texts under this name may say which runs have finished."""
    return name.lower() in ("state", "status")


def partition_names(
    names: Iterable[str], holds: Callable[[str], bool]
) -> tuple[list[str], list[str]]:
    """The names of which something holds, and the others, both in their order."""
    holding = []
    others = []
    for name in names:
        if holds(name):
            holding.append(name)
        else:
            others.append(name)
    return holding, others


def names_row_numbers(name: str) -> bool:
    """Whether a column of whole numbers under this name numbers the rows."""
    return name.lower() in _ROW_NUMBERS or _PANDAS_INDEX.fullmatch(name) is not None


def is_time_or_cost(name: str) -> bool:
    """Whether a column is of seconds or of energy, such as 'fit_time', and so of no scores."""
    words = words_of(name)
    measured = _TIMES | _COSTS
    if len(words) > 1:  # 's' in 'fit (s)' is a unit; alone it may be a contender's name
        measured |= _UNITS_OF_TIME
    return _consists_of(words, measured, _TIME_FILLERS)


def _consists_of(words: Sequence[str], decisive: frozenset[str], fillers: frozenset[str]) -> bool:
    """Whether a name has a decisive word, and beside such none but fillers."""
    return not decisive.isdisjoint(words) and (decisive | fillers).issuperset(words)


def is_time_or_cost_among(name: str, names: Iterable[str]) -> bool:
    """Whether a column is of times or costs, perhaps of a contender: 'svd_time', beside 'svd'.

    The time has to be at the end, for there are contenders such as 'time-svd'.

    Args:
        name: The name of the column.
        names: The names of all columns.
    """
    if is_time_or_cost(name):
        return True
    measured = _TIMES | _COSTS
    words_of_contender = words_of(name)
    words_of_time = []
    may_be_of_time = measured | _TIME_FILLERS
    while words_of_contender and words_of_contender[-1] in may_be_of_time:
        words_of_time.append(words_of_contender.pop())
    if not words_of_contender or measured.isdisjoint(words_of_time):
        return False
    # The words before the time are a contender's name or its beginning, as 'svd' is of the column
    # 'svd 50 factors'.
    count = len(words_of_contender)
    names_beside = [other for other in names if other != name]
    return any(words_of(other)[:count] == words_of_contender for other in names_beside)


def is_bookkeeping(name: str) -> bool:
    """Whether a column is of settings or counts, such as 'seed', 'n_users' and 'Step'."""
    words = words_of(name)
    if len(words) > 1 and _consists_of(words, _COUNTS, _BOOKKEEPING_FILLERS):
        return True
    return _consists_of(words, _BOOKKEEPING, _BOOKKEEPING_FILLERS)


def names_epochs(name: str) -> bool:
    """Whether a column under this name may number the epochs or rounds of a training."""
    return _plain(name) in _EPOCHS


def is_spread(name: str, names: Collection[str]) -> bool:
    """Whether a column is the spread or an end of the interval of another one, or of a metric.

    Such are 'valid l2-stdv' beside 'valid l2-mean', 'knn_std' and 'knn_upper' beside 'knn', and
    'test-rmse-std'. R's caret writes 'RMSESD' beside 'RMSE'.

    Args:
        name: The name of the column.
        names: The names of all columns.
    """
    if name.endswith("SD") and name.removesuffix("SD") in names:
        return True
    if not _words_of_spread(name):  # Most columns are none, and there may be many.
        return False
    if metric_named(name) is not None:  # An example is 'test-rmse-std'.
        return True
    return any(_is_spread_of(name, other) for other in names)


def _is_spread_of(name: str, other: str) -> bool:
    """Whether a column is the spread of another, by their names: 'std_knn', of 'mean_knn'."""
    measured = _words_of_spread(name)
    words = words_of(other)
    return bool(measured) and name != other and measured in (words, words[:-1], words[1:])


def _words_of_spread(name: str) -> list[str]:
    """What a spread is of: knn, 50 of 'knn-50 std. dev.', 'std_knn_50'; nothing of no spread."""
    words = words_of(name)
    if words[:1] and words[0] in _SPREADS:
        return words[1:]
    words_of_end = []
    while words and words[-1] in _SPREADS | _ENDS_OF_INTERVALS | _SUMMARY_FILLERS:
        words_of_end.append(words.pop())
    if (_SPREADS | _ENDS_OF_INTERVALS).isdisjoint(words_of_end):
        return []
    return words


def is_mean_of_folds(name: str, names: Collection[str]) -> bool:
    """Whether a column is a mean over folds, where no column names these.

    Such are 'test-rmse-mean' of programs for boosting, and metrics with a spread beside them.
    """
    words = words_of(name)
    is_of_samples = not _SAMPLES_OF_BOOSTING.isdisjoint(words)
    if is_of_samples and words[-1] == "mean":
        return True
    if f"{name}SD" in names:
        return True
    if not is_of_samples and metric_named(name) is None:
        return False
    return any(_is_spread_of(other, name) for other in names)


def is_end_of_range(name: str) -> bool:
    """Whether a column is one of those that W&B writes beside each: 'val_loss__MIN'."""
    return name.endswith(("__MIN", "__MAX"))


def is_summary(label: str) -> bool:
    """Whether a row or a column is a summary of folds, and so no fold: 'Mean', 'Std. dev.'."""
    if re.fullmatch(r"\d+(\.\d+)? ?%", label.strip()):
        return True  # It is a quantile, as pandas' `describe` writes it.
    return _consists_of(words_of(label), _SPREADS | _CENTRES, _SUMMARY_FILLERS)


def is_fold_name(name: str) -> bool:
    """Whether a column is of a fold by its name: 'Fold 1', 'split0', '3'."""
    return _FOLD_NAME.fullmatch(name.strip()) is not None


def metric_of_fold(name: str) -> str:
    """The metric in a column that is of a fold and a metric: 'rmse_fold_1'; empty for others."""
    for pattern in (_METRIC_AND_FOLD, _FOLD_AND_METRIC):
        match = pattern.fullmatch(name.strip())
        if match is not None and metric_named(match["metric"]) is not None:
            return match["metric"]
    return ""


def summarises(name: str, scores: Floats, others: Floats) -> bool:
    """Whether something that is called a summary is one of the contenders beside it.

    A predictor may be called Mean, so the numbers decide; a spread is never a contender.

    Args:
        name: The name of what may be a contender.
        scores: Its fold scores; shape (folds,).
        others: Those of the contenders that are not called a summary; shape (contenders, folds).
    """
    if not is_summary(name) or not len(others):
        return False
    if _SPREADS.intersection(words_of(name)):  # no contender is called after a spread
        return True
    # A predictor may be called Mean, so the numbers decide.
    rounding = _rounding(scores)
    for statistic in (np.mean, np.median, np.sum, np.min, np.max):
        if np.all(np.abs(statistic(others, axis=0) - scores) <= rounding):
            return True
    return False


def is_mean_of(scores: Floats, others: Floats) -> bool:
    """Whether each score is the mean of a column beside it, to the digits that it has.

    Args:
        scores: Shape (columns,).
        others: Shape (rows, columns).
    """
    return bool(np.all(np.abs(others.mean(axis=0) - scores) < _rounding_of_all(scores, others)))


def are_spreads_of(scores: Floats, others: Floats) -> bool:
    """Whether each score is the standard deviation of a column beside it; as `is_mean_of`."""
    for ddof in (0, 1):
        spreads = others.std(axis=0, ddof=ddof)
        if np.all(np.abs(spreads - scores) < _rounding_of_all(scores, others)):
            return True
    return False


def chance_of_mean(scores: Floats, others: Floats) -> float:
    """About how likely it is that a fold's scores are the means of others by chance.

    A score that could as well be any other between the least and the greatest of the others is
    their mean in one of so many cases. Columns that are equal count once. A chance below 0.000001
    may be given as a greater one below that.

    Args:
        scores, others: as of `is_mean_of`.
    """
    step_by_digits = 2 * _rounding_of_all(scores, others)
    # A mean often has more digits than the scores of which it is the mean. Scores of a fold have
    # more only if the further digits of all other rows happen to be zeros.
    further_digits = max(_decimals(scores) - _decimals(others[:_ROWS_FOR_DIGITS].ravel()), 0)
    chance_of_zeros = 10.0 ** -(further_digits * min(len(others), _ROWS_FOR_DIGITS))
    # Each different column once: first its score, then those of the other rows.
    different_columns = np.unique(np.vstack([scores, others]), axis=1).T
    chance = 1.0
    for column in different_columns:
        others_of_column = column[1:]
        # Scores that are shares of few samples have fewer values than their digits allow.
        chance_by_digits = chance_of_zeros * _chance_of_value(others_of_column, step_by_digits)
        chance *= max(chance_by_digits, _chance_of_share(column[0], others_of_column))
        if chance < _LEAST_CHANCE:  # further columns take long, and can only lower it
            break
    return chance


def chance_of_mean_and_spread(scores: Floats, others: Floats) -> float:
    """As `chance_of_mean`, where the row below them has the standard deviations of the others."""
    step_by_digits = 2 * _rounding_of_all(scores, others)
    chances_of_spreads = [_chance_of_value(column, step_by_digits) for column in others.T]
    return chance_of_mean(scores, others) * math.prod(chances_of_spreads)


def _chance_of_value(others: Floats, step: float) -> float:
    """The chance of one of the values in the range of the others, which are a step apart."""
    return step / max(float(np.ptp(others)), step)


def _chance_of_share(score: float, others: Floats) -> float:
    """The chance of a mean where scores are shares of few samples, such as 28 of 30; else 0.

    Args:
        score: That of one fold.
        others: Those of the other folds; shape (folds,).
    """
    count_of_others = _count_of_samples(others)
    count = _count_of_samples(np.append(others, score))
    if count == 0 or count_of_others == 0:  # The scores are no shares of few samples.
        return 0
    # A mean of shares looks like a share of more samples than each of them. The score of a fold
    # looks like that too if every other score happens to be a share of fewer samples, as 15 of 30
    # is the same as 1 of 2.
    different_shares = np.unique(others[others % 1 != 0])
    chance_of_fewer = (count_of_others / count) ** len(different_shares)
    return chance_of_fewer * _chance_of_value(others, 1 / count)


def _count_of_samples(scores: Floats) -> int:
    """The least number of samples of which these are shares; 0 where any numbers could be so."""
    rounding = _rounding(scores)
    shares = np.unique(scores[scores % 1 != 0])[:_SHARES_TRIED]
    counts = np.arange(1, _MOST_SAMPLES + 1)
    # A share times the count of its samples is a whole number. Rows are counts that are tried, and
    # columns are shares. The product multiplies the rounding of a share by the count as well.
    products = np.outer(counts, shares)
    is_whole = np.abs(products - np.round(products)) <= counts[:, None] * rounding
    # Numbers with these digits that are no shares at all may fit a count by chance, the more easily
    # the larger the count is. The sum over the counts up to each is the expected number of such
    # fits. A count that fits is believed only where that number is small.
    chance_of_fit = np.minimum(2 * rounding * counts, 1) ** len(shares)
    fits_by_chance = np.cumsum(chance_of_fit)
    fitting_counts = counts[is_whole.all(axis=1) & (fits_by_chance < _FEW_BY_CHANCE)]
    if not len(fitting_counts):
        return 0
    return int(fitting_counts[0])


def _rounding_of_all(scores: Floats, others: Floats) -> float:
    """How far a mean as it is written may be from that of scores as they are written.

    A little less than half of a last digit of both, for seldom all are rounded the same way.
    """
    first_others = others[:_ROWS_FOR_DIGITS].ravel()
    return 0.999 * (_rounding(scores) + _rounding(first_others))


def _rounding(scores: Floats) -> float:
    """How far a number may be from the score that is written for it: half of a last digit."""
    return float(0.5 * 10.0 ** -_decimals(scores) + 1e-12)


def _decimals(scores: Floats) -> int:
    """How many digits a score has after the point, at most; not more than 12."""
    longest = 0
    for score in scores.tolist():
        _, _, fraction = f"{score:.12f}".rstrip("0").partition(".")
        longest = max(longest, len(fraction))
    return longest


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
