"""A fitted model and held-out interactions -> every metric per user and on average."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, runtime_checkable
from typing import Protocol as Interface

import numpy as np
from numpy.typing import NDArray

from ecv_core.evaluation.formulas import Lists, Popularity, errors_by_user, linearized_by_user
from ecv_core.evaluation.full import full_ranking, metrics_of_lists
from ecv_core.evaluation.metrics import METRICS as METRICS
from ecv_core.evaluation.metrics import Kind as Kind
from ecv_core.evaluation.metrics import Metric as Metric
from ecv_core.evaluation.metrics import check_computed_here as check_computed_here
from ecv_core.evaluation.metrics import check_gains as check_gains
from ecv_core.evaluation.metrics import check_metric as check_metric
from ecv_core.evaluation.metrics import column_title as column_title
from ecv_core.evaluation.metrics import id_and_length as id_and_length
from ecv_core.evaluation.metrics import is_computed_by_default
from ecv_core.evaluation.metrics import metric as metric
from ecv_core.evaluation.metrics import metric_described_by as metric_described_by
from ecv_core.evaluation.metrics import metric_of as metric_of
from ecv_core.evaluation.metrics import register_metric as register_metric
from ecv_core.evaluation.pairs import PAIR_METRICS, ScoredPairs
from ecv_core.evaluation.protocol import SAMPLED_WARNING as SAMPLED_WARNING
from ecv_core.evaluation.protocol import EvaluatedFold
from ecv_core.evaluation.protocol import Protocol as Protocol
from ecv_core.evaluation.ranking import hits_of as hits_of
from ecv_core.evaluation.ranking import load_compiled as load_compiled
from ecv_core.evaluation.sampled import sampled_ranking
from ecv_core.records.arrays import AnyFloats, Codes, Float32s, Floats, Indices
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.interactions import Table
from ecv_core.records.run import Progress, UserScores, no_progress
from ecv_core.records.tasks import Task

if TYPE_CHECKING:
    import torch
    from scipy.sparse import csr_array

FULL = Protocol()
OF_LISTS = frozenset({Kind.HITS, Kind.GAINS, Kind.NOVELTY, Kind.POPULARITY, Kind.LISTS})
"""Metrics that follow from users' lists alone."""
GROUPED_AUC = "grouped-auc"


@runtime_checkable
class Scorer(Interface):
    """The part of a recommender that evaluation needs.

    A model may have one of two attributes besides, so that a large catalogue is ranked without
    a score for every user and item. `common`: the scores of all items, float32, shape (items,),
    where they are the same for every user. `product`: two float32 matrices, of shapes (users, any)
    and (any, items), whose product has the scores: both sparse, summed in the order of the rows, or
    tensors on the processor.
    """

    def score(self, users: Indices) -> Float32s | torch.Tensor:
        """Scores of all items for a block of users, as in `models.base.Recommender`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Scores of the users who have something held out, per user and on average.

    `users` has shape (evaluated users,), row numbers of the training matrix. `values` has shape
    (evaluated users, len(metrics)); `metrics` names its columns, 'ndcg@10', 'auc'. `means` has the
    mean of every column, and besides the metrics of all lists together, 'coverage@10'.
    """

    users: Codes
    metrics: tuple[str, ...]
    values: Floats
    means: Mapping[str, float]

    def of(self, metric: str) -> Floats:
        """One metric's values; shape (evaluated users,)."""
        return self.values[:, self.metrics.index(metric)]

    def user_scores(self, n: int, clusters: Codes | None = None) -> UserScores:
        """What a run keeps of each user: every metric at its n, and those without a cut-off.

        Args:
            n: The list length of the run.
            clusters: The clusters of every user of the dataset, where they are named.
        """
        metrics = []
        for name in self.metrics:
            cutoff = name.partition("@")[2]
            if cutoff in ("", str(n)):
                metrics.append(name)
        if clusters is not None:
            clusters = clusters[self.users]
        return UserScores(
            users=self.users,
            metrics=tuple(metrics),
            values=np.stack([self.of(name) for name in metrics], axis=1).astype(np.float32),
            clusters=clusters,
        )


def evaluate(
    model: Scorer,
    seen: csr_array,
    held_out: csr_array,
    cutoffs: Sequence[int],
    progress: Progress = no_progress,
    *,
    train: csr_array | None = None,
    ratings: csr_array | None = None,
    protocol: Protocol = FULL,
    metrics: Sequence[str] | None = None,
    extra_metrics: Sequence[str] = (),
    log_odds: bool = False,
) -> Evaluation:
    """Rank what each user with something held out has not seen, by one protocol.

    Args:
        model: Fitted on the training part.
        seen: Shape (users, items), what users have before the test: never a candidate.
        held_out: Shape (users, items), nonzero where the user has the item held out.
        cutoffs: List lengths at which every metric is computed, in any order. A list has no more
            places than there are items; metrics are as of a longer one that is not filled.
        progress: Called with ("evaluate", users done, users).
        train: What popularity is counted in, where that is not `seen`.
        ratings: The ratings of what is held out, stored where `held_out` is; metrics with gains
            need them.
        protocol: Candidates, and negatives if sampled.
        metrics: Which to compute; by default all that apply and that cost little beside ranking:
            under full ranking, all but AUC.
        extra_metrics: Those to compute in any case.
        log_odds: The model's scores are log-odds of an interaction.

    Raises:
        InputError: For bad cut-offs, nothing held out, too many negatives, or a metric that does
            not apply.
        RunError: For scores that are NaN or +inf, or that make a log loss infinite.
        Cancelled: From `progress`.
    """
    fold = _fold_to_evaluate(
        model,
        seen,
        held_out,
        cutoffs,
        train=train,
        ratings=ratings,
        protocol=protocol,
        metrics=_metrics_to_compute(
            metrics, extra_metrics, sampled=protocol.sampled, log_odds=log_odds
        ),
        progress=progress,
    )
    if protocol.sampled:
        columns = sampled_ranking(fold)
    else:
        columns = full_ranking(fold)
    # Ranking has left the scored pairs of all users in the fold.
    for name in fold.of_kind(Kind.PAIRS):
        columns[name] = PAIR_METRICS[name](ScoredPairs.joined(fold.pairs), protocol.seed)
    # So far grouped AUC is the plain AUC of each user. It is weighted by how much each has held
    # out.
    if GROUPED_AUC in columns:
        columns[GROUPED_AUC] = _grouped_auc(columns[GROUPED_AUC], fold)
    for name in [*fold.of_kind(Kind.PAIRS), *fold.of_kind(Kind.PROBABILITIES)]:
        _check_finite(METRICS[name], columns[name])
    return _evaluation(fold, columns)


def _metrics_to_compute(
    metrics: Sequence[str] | None, extra_metrics: Sequence[str], *, sampled: bool, log_odds: bool
) -> tuple[str, ...]:
    """Ids of metrics, in the registry's order; arguments as of `evaluate`."""
    wanted = [*(metrics or ()), *extra_metrics]
    for name in wanted:
        check_metric(name, sampled=sampled, log_odds=log_odds)
    if metrics is None:
        for name, candidate in METRICS.items():
            if is_computed_by_default(candidate, sampled=sampled, log_odds=log_odds):
                wanted.append(name)
    return tuple(name for name in METRICS if name in wanted)


def _grouped_auc(auc_of_user: Floats, fold: EvaluatedFold) -> Floats:
    """What each user adds to the mean AUC in which a user counts once for each held-out item.

    Args:
        auc_of_user: NaN for a user without an AUC, who does not count; shape (users,).
        fold: Its users have them.

    Returns:
        Shape (users,); its mean is the weighted one.

    Raises:
        InputError: Where no user has an AUC.
    """
    # A user counts once for each held-out item. A user without an AUC does not count.
    held_out_items = np.diff(fold.held_out.indptr)[fold.users]
    weights = np.where(np.isnan(auc_of_user), 0, held_out_items)
    if not weights.any():
        raise InputError("no user has a candidate besides what is held out, so there is no AUC")
    weighted_auc = np.nan_to_num(auc_of_user) * weights
    mean = float(weighted_auc.sum() / weights.sum())
    return linearized_by_user(weighted_auc, weights, mean=mean)


def _check_finite(metric: Metric, values: Floats) -> None:
    """Refuse a loss of probabilities that is infinite. Raises: RunError."""
    if not np.isfinite(values).all():
        raise RunError(
            f"the {metric.title.lower()} is infinite, for the model says of a held-out item that "
            "it cannot be (log-odds -inf); give finite log-odds, or choose another metric"
        )


def evaluate_lists(
    lists: Lists,
    seen: csr_array,
    held_out: csr_array,
    cutoffs: Sequence[int],
    *,
    train: csr_array,
    ratings: csr_array | None = None,
    protocol: Protocol = FULL,
    extra_metrics: Sequence[str] = (),
) -> Evaluation:
    """The metrics of lists that some other program has made, as `evaluate` has them.

    Args:
        lists: Item codes, best first, candidates of the user and none twice, -1 where a list is
            shorter; shape (users, at least the longest cut-off).
        seen, held_out, cutoffs, train, ratings: as of `evaluate`.
        protocol: Candidates; that of full ranking.
        extra_metrics: Metrics that are not computed by default.

    Raises:
        InputError: For bad cut-offs, or nothing held out.
    """
    metrics = []
    for name, entry in METRICS.items():
        is_default = entry.usual and not entry.is_custom
        if entry.kind in OF_LISTS and (name in extra_metrics or is_default):
            metrics.append(name)
    fold = _fold_to_evaluate(
        None,
        seen,
        held_out,
        cutoffs,
        train=train,
        ratings=ratings,
        protocol=protocol,
        metrics=tuple(metrics),
    )
    columns = metrics_of_lists(fold, lists[fold.users].astype(np.int32))
    return _evaluation(fold, columns)


def _fold_to_evaluate(
    model: Scorer | None,
    seen: csr_array,
    held_out: csr_array,
    cutoffs: Sequence[int],
    *,
    train: csr_array | None,
    ratings: csr_array | None,
    protocol: Protocol,
    metrics: tuple[str, ...],
    progress: Progress = no_progress,
) -> EvaluatedFold:
    """A fold with all that its evaluation needs; arguments as of `evaluate`.

    Raises:
        InputError: For bad cut-offs, or nothing held out.
        DatasetError: For a metric whose gains are ratings where there are none.
    """
    for name in metrics:
        check_gains(METRICS[name], "what is held out", has_ratings=ratings is not None)
    users = np.flatnonzero(np.diff(held_out.indptr))
    if not len(users):
        raise InputError("no interaction is held out, so there is nothing to evaluate: use k folds")
    if train is None:
        train = seen
    popularity = Popularity.of(train)

    def report(users_done: int) -> None:
        progress("evaluate", users_done, len(users))

    report(0)
    # Without a model the lists are given, and no compiled code is needed to make any.
    compiled = model is not None and load_compiled(seen.shape[0] * seen.shape[1])
    return EvaluatedFold(
        model=model,
        seen=seen,
        held_out=held_out,
        users=users,
        cutoffs=_ascending_cutoffs(cutoffs),
        candidates=protocol.candidates_by(popularity.counts),
        popularity=popularity,
        protocol=protocol,
        metrics=metrics,
        report=report,
        compiled=compiled,
        ratings=ratings,
    )


def evaluate_ratings(
    predicted: Floats,
    ratings: AnyFloats,
    users: NDArray[np.integer],
    scale: tuple[float, float],
    own_metric: Metric | None = None,
) -> Evaluation:
    """RMSE and MAE of predicted ratings, over all ratings of a fold and as each user adds to them.

    Args:
        predicted: By the model, of any size: clipped to the scale; shape (ratings,).
        ratings: The held-out ones; shape (ratings,).
        users: Whose they are; shape (ratings,).
        scale: The lowest and the highest rating that can be given.
        own_metric: A metric of one's own besides.

    Returns:
        `values` are as `formulas.errors_by_user` says; their means are the metrics.

    Raises:
        RunError: For a prediction that is not finite.
    """
    not_finite = np.count_nonzero(~np.isfinite(predicted))
    if not_finite:
        raise RunError(
            f"{not_finite:,} of {len(predicted):,} predicted ratings are not "
            "finite numbers, so the model has not learnt; choose a lower learning rate or more "
            "regularization"
        )
    predicted = np.clip(predicted, *scale)
    own_errors = {}
    own_means = {}
    if own_metric is not None and own_metric.compute is not None:
        values = own_metric.of_ratings(predicted, ratings)
        if values.ndim:  # The metric has an error of each rating.
            own_errors[own_metric.id] = values
        else:  # The metric has one number for the fold.
            own_means[own_metric.id] = float(values)
    errors = errors_by_user(predicted, ratings, users, own_errors)
    return Evaluation(
        users=errors.users,
        metrics=tuple(errors.values),
        values=np.stack(list(errors.values.values()), axis=1),
        means=errors.means | own_means,
    )


_SCORERS = {
    "accuracy": "accuracy",
    "balanced-accuracy": "balanced_accuracy",
    "f1-macro": "f1_macro",
    "roc-auc": "roc_auc",
    "cross-entropy": "neg_log_loss",
    "r2": "r2",
    "mean-absolute-error": "neg_mean_absolute_error",
    "root-mean-squared-error": "neg_root_mean_squared_error",
}
"""scikit-learn's names of the metrics of samples."""


def fit_samples(estimator: Any, table: Table, rows: Indices) -> None:  # noqa: ANN401
    """Fit an estimator of scikit-learn on some samples. Raises: RunError for its errors."""
    if table.classes is not None and len(np.unique(table.targets[rows])) < 2:
        raise RunError(
            f"a fold of {table.dataset} learns from samples of one class alone; choose the split "
            "stratified-k-fold, or fewer folds"
        )
    with _explain_scorer_errors("cannot be fitted"):
        estimator.fit(table.features[rows], table.targets[rows])


def evaluate_samples(
    estimator: Any,  # noqa: ANN401
    table: Table,
    rows: Indices,
    metric: Metric,
) -> Evaluation:
    """scikit-learn's scores of held-out samples, and what each sample tells of one of them.

    Args:
        estimator: Fitted on other samples.
        table: All samples.
        rows: Which are held out; ascending.
        metric: The metric that decides; the others of its task are added where they are defined.

    Returns:
        `users` are samples, or blocks of them where a class is rare (`scoring`).

    Raises:
        RunError: Where the metric is not defined on these samples.
    """
    from ecv_core.evaluation.scoring import Scoring

    scoring = Scoring(estimator, _scorer_names(metric.task, table), metric.id)
    scoring.units = rows
    means: dict[str, float] = {}
    for name, scorer in scoring.scorer.items():
        try:
            means[name] = _score_of_samples(METRICS[name], scorer, estimator, table, rows)
        except RunError:
            # Another metric than the one that decides is left out where it is not defined.
            if name == metric.id:
                raise
    # The scorer of the metric that decides has also kept what each sample tells of it.
    samples = scoring.samples
    if samples is None:
        raise RunError(f"the samples of {table.dataset} tell nothing of its {metric.title}")
    values = samples.values
    if not metric.higher_is_better:
        values = -values  # For scikit-learn, a higher value of a scorer is better.
    return Evaluation(
        users=samples.units.astype(np.int32),
        metrics=(metric.id,),
        values=values[:, None],
        means=means,
    )


def _scorer_names(task: Task, table: Table) -> dict[str, str]:
    """The metrics of a task -> scikit-learn's names of their scorers for this table."""
    scorer_names = {name: _SCORERS[name] for name in sorted(task.metrics)}
    more_than_two_classes = table.classes is not None and len(table.classes) > 2
    if more_than_two_classes and "roc-auc" in scorer_names:
        scorer_names["roc-auc"] = "roc_auc_ovr"
    return scorer_names


def _score_of_samples(
    metric: Metric,
    scorer: Any,  # noqa: ANN401
    estimator: Any,  # noqa: ANN401
    table: Table,
    rows: Indices,
) -> float:
    """A metric of held-out samples. Raises: RunError where it is not defined on them."""
    with _explain_scorer_errors(f"has no {metric.title} on these samples"):
        score = float(scorer(estimator, table.features[rows], table.targets[rows]))
    if not np.isfinite(score):
        raise RunError(
            f"{metric.title} is not defined on a fold of {table.dataset}: it may hold out "
            "no sample of some class; choose fewer folds, or another metric"
        )
    if not metric.higher_is_better:
        return -score  # For scikit-learn, a higher value of a scorer is better.
    return score


@contextmanager
def _explain_scorer_errors(what: str) -> Iterator[None]:
    """Without warnings, and errors of scikit-learn as one sentence. Raises: RunError."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    except AttributeError as error:
        raise RunError(
            f"the estimator {what}: it predicts no probabilities, which more than two classes "
            "need; choose another metric, or another algorithm"
        ) from error
    except ValueError as error:
        reason = " ".join(str(error).split())[:200]
        raise RunError(f"the estimator {what}: {reason}") from error


def clipped_rmse(predicted: AnyFloats, ratings: AnyFloats, scale: tuple[float, float]) -> float:
    """RMSE of predictions clipped to the scale; NaN where one is NaN."""
    return float(np.sqrt(np.mean((np.clip(predicted, *scale) - ratings) ** 2)))


def _evaluation(fold: EvaluatedFold, values: Mapping[str, Floats]) -> Evaluation:
    """A table of users and metrics, and the mean of each metric.

    Args:
        fold: The fold that was evaluated.
        values: Metric id -> shape (users, cut-offs); (users,) for a metric without cut-offs, and
            (cut-offs,) for one that has no value per user.
    """
    with_cutoff = [name for name in fold.metrics if METRICS[name].has_cutoff]
    columns: dict[str, Floats] = {}
    means_without_users: dict[str, float] = {}
    for place, n in enumerate(fold.cutoffs):
        for name in with_cutoff:
            if METRICS[name].per_user:
                columns[f"{name}@{n}"] = values[name][:, place]
            else:  # The metric is of all lists together.
                means_without_users[f"{name}@{n}"] = float(values[name][place])
    for name in fold.metrics:
        if name not in with_cutoff:
            columns[name] = values[name]
    table = _table_of_columns(list(columns.values()), len(fold.users))
    means = dict(zip(columns, table.mean(axis=0).tolist(), strict=True))
    return Evaluation(
        users=fold.users.astype(np.int32),
        metrics=tuple(columns),
        values=table,
        means=means | means_without_users,
    )


def _table_of_columns(columns: Sequence[Floats], rows: int) -> Floats:
    """A table of these columns, each of shape (rows,).

    It is filled some rows at a time, which stay in the processor's cache until all columns are in.
    """
    table = np.empty((rows, len(columns)))
    for start in range(0, rows, 1024):
        for place, column in enumerate(columns):
            table[start : start + 1024, place] = column[start : start + 1024]
    return table


def _ascending_cutoffs(cutoffs: Sequence[int]) -> tuple[int, ...]:
    """Each list length once, ascending. Raises: InputError for none, and for what is no length."""
    if not cutoffs:
        raise InputError("no cut-off is given: name at least one list length, such as 10")
    for n in cutoffs:
        if n != int(n) or n < 1:
            raise InputError(f"a cut-off must be a whole number from 1 on, but is {n}")
    return tuple(sorted({int(n) for n in cutoffs}))
