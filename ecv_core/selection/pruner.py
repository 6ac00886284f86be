"""The selection's test as a pruner for Optuna, for objectives that know every user's score.

A trial is compared with the best finished one, on the folds that both have run. The scores are kept
in the trials themselves, as user attributes, so that a study goes on in another process, and in
several at once. Nothing of Optuna is imported here.
"""

from __future__ import annotations

import base64
import hashlib
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ecv_core.records.arrays import Floats, Indices
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.selection.evidence import ANY_NOISE, PairedScores, level_of_looks, spread_of
from ecv_core.untrusted.limits import MAX_RUN_FOLDS

_MOST_USERS = 10_000
"""More users than this are put into so many groups, so that a fold's scores fit where a storage of
Optuna keeps the attributes of a trial: some databases take 64 KiB of text there."""
_MOST_TRIALS = 10**9


class Trial(Protocol):
    """The part of an `optuna.Trial` that is needed to report a fold."""

    @property
    def number(self) -> int:
        """Its number in the study."""

    def report(self, value: float, step: int) -> None:
        """Tell the study an intermediate value."""

    def set_user_attr(self, key: str, value: Any) -> None:  # noqa: ANN401  any JSON
        """Keep a value with the trial."""


class FoldPruner:
    """Prunes a trial as soon as its k-fold mean can no longer be the best.

        pruner = ecv.FoldPruner(k=10, trials=100)
        study = optuna.create_study(direction="maximize", pruner=pruner)
        # and in the objective, after each fold: pruner.report(trial, fold, scores)

    Trials of earlier sessions and of other processes count as well: their scores are in the
    study's storage. Where a trial has fold means alone (`trial.report(mean, fold)`) these are
    compared, which takes more folds.

    Args:
        k: Folds of every trial.
        trials: How many the study is going to have; each is compared with the best once per fold,
            and the error that is allowed is divided over the trials (Bonferroni).
        confidence: The confidence that no trial is pruned whose k-fold mean is better than the
            best's.

    Raises:
        InputError: For values that cannot be.

    >>> import ecv_core as ecv
    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> pruner = ecv.FoldPruner(k=3, trials=2)
    >>> study = optuna.create_study(direction="maximize", pruner=pruner)
    >>> def objective(trial):
    ...     for fold in range(3):
    ...         pruner.report(trial, fold, {user: 1.0 for user in range(20)})
    ...     return 1.0
    >>> study.optimize(objective, n_trials=2)
    >>> study.best_value
    1.0
    """

    def __init__(self, *, k: int, trials: int, confidence: float = 0.95) -> None:
        has_folds = isinstance(k, Integral) and 2 <= k <= MAX_RUN_FOLDS
        has_trials = isinstance(trials, Integral) and 2 <= trials <= _MOST_TRIALS
        if not has_folds or not has_trials or not 0 < confidence < 1:
            raise InputError(
                f"a FoldPruner needs from 2 to {MAX_RUN_FOLDS:,} folds and from 2 to "
                f"{_MOST_TRIALS:,} trials, both whole numbers, and a confidence between 0 and 1, "
                f"but has k = {k}, trials = {trials}, confidence = {confidence}"
            )
        self._k = k
        # Bonferroni: any of the other trials may be given up wrongly, at any of its folds.
        self._error_of_one_look = level_of_looks((1 - confidence) / (trials - 1), k)
        self._column_of_user: dict[Any, int] = {}
        """User -> column, for every user whom this process has reported."""
        self._columns_of_digest: dict[str, Indices] = {}
        """Digest of a fold's users -> their columns, in the order in which scores are kept."""
        self._warned: set[str] = set()

    def report(self, trial: Trial, fold: int, scores: Mapping[Any, float] | ArrayLike) -> None:
        """Keep the scores of a fold, and report their mean to the study as step `fold`.

        Args:
            trial: The trial that has run the fold.
            fold: Its index, 0 .. k-1.
            scores: User -> score, or a score per user, the same users in every trial; NaN for a
                user with nothing held out. The labels of a series of pandas are users.

        Raises:
            InputError: For a fold that cannot be, an infinite score, what is no number, or no score
                at all.
        """
        if not isinstance(fold, Integral) or not 0 <= fold < self._k:
            raise InputError(
                f"there is no fold {fold}; with k = {self._k} they are 0 to {self._k - 1}"
            )
        try:
            users, values = _users_and_values(scores)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the scores of fold {fold} must be numbers, user -> score or one for each user: "
                f"{error}"
            ) from None
        if np.isnan(values).all():
            raise InputError(
                f"fold {fold} of trial {trial.number} has no score of any user or sample"
            )
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            place = infinite[0]
            raise InputError(
                f"the score of user or sample {users[place]} in fold {fold} of trial "
                f"{trial.number} is {values[place]}; give finite numbers, or NaN for none"
            )
        # The mean is of all users, also where groups of them are kept below.
        mean = float(np.nanmean(values))
        if len(users) > _MOST_USERS:
            users, values = _in_groups(users, values)
        fold_scores = _FoldScores(users_digest=_digest(users), values=values, mean=mean)
        self._add_columns(fold_scores.users_digest, users)
        trial.set_user_attr(_attribute(fold), fold_scores.pack())
        trial.report(mean, fold)

    def prune(self, study: Any, trial: Any) -> bool:  # noqa: ANN401  Optuna's, which is not imported
        """Optuna's question: whether this trial can be given up."""
        means_of_trial = _fold_means(trial, self._k)
        if not means_of_trial:
            return False
        best = self._best_with_all_folds(study)
        if best is None:
            return False
        means_of_best = _fold_means(best, self._k)
        folds = sorted(means_of_trial.keys() & means_of_best.keys())
        if not folds:
            return False
        best_means = np.array([means_of_best[fold] for fold in folds])
        trial_means = np.array([means_of_trial[fold] for fold in folds])
        best_user_scores, trial_user_scores = self._user_scores_of_both(best, trial, folds)
        contenders = [
            Scores(name="best", folds=best_means, users=best_user_scores),
            Scores(name="trial", folds=trial_means, users=trial_user_scores),
        ]
        # A set of folds is a number with one bit per fold: here every bit is 1.
        all_folds = (1 << len(folds)) - 1
        best_minus_trial = PairedScores(contenders).between(0, 1, all_folds)
        sign = 1.0
        if study.direction.name == "MINIMIZE":
            sign = -1.0
        # All trials of a study are configurations of one algorithm. A trial is given up only if it
        # stays behind however much the folds that have not run may add.
        spread = spread_of([best_minus_trial], [True], ANY_NOISE, sign)
        least_behind = spread.means - spread.half_widths(self._error_of_one_look, self._k)
        return bool(least_behind[0] > 0)

    def _best_with_all_folds(self, study: Any) -> Any:  # noqa: ANN401  a trial of Optuna's
        """The best finished trial that has the scores of all k folds; None without any."""
        try:
            best = study.best_trial
        except ValueError:  # none has finished yet
            return None
        if self._has_all_folds(best):
            return best
        comparable = []
        for finished in study.get_trials(deepcopy=False):
            if finished.state.name == "COMPLETE" and self._has_all_folds(finished):
                comparable.append(finished)
        comparable.sort(key=attrgetter("value"), reverse=study.direction.name == "MAXIMIZE")
        if not comparable:
            self._warn(
                "no folds",
                f"no finished trial has reported a score of each of the folds 0 to {self._k - 1} "
                "and of no other step, so no trial can be pruned; report each fold by "
                "FoldPruner.report, or trial.report(mean, fold)",
            )
            return None
        self._warn(
            "best without folds",
            f"trial {best.number}, the best so far, has not reported exactly the folds 0 to "
            f"{self._k - 1}, so trials are compared with trial {comparable[0].number}, the best "
            "that has",
        )
        return comparable[0]

    def _has_all_folds(self, trial: Any) -> bool:  # noqa: ANN401  of Optuna's
        """Whether what a finished trial has reported are its k folds.

        Steps of other numbers are epochs, or folds of another k, or are counted from 1.
        """
        finite = _fold_means(trial, self._k)
        return len(finite) == self._k == len(trial.intermediate_values)

    def _user_scores_of_both(
        self,
        best: Any,  # noqa: ANN401  a trial of Optuna's
        trial: Any,  # noqa: ANN401
        folds: Sequence[int],
    ) -> tuple[Floats, Floats] | tuple[None, None]:
        """The scores of the users of both trials; None where they are not there, or of others.

        Returns:
            Of each trial, shape (folds, users); NaN where a user has nothing held out.
        """
        scores_of_folds = self._fold_scores_of_both(best, trial, folds)
        if scores_of_folds is None:
            return None, None
        # A row per fold, a column per user.
        shape = (len(folds), len(self._column_of_user))
        user_scores_of_best = np.full(shape, np.nan)
        user_scores_of_trial = np.full(shape, np.nan)
        for row, (scores_of_best, scores_of_trial) in enumerate(scores_of_folds):
            # Both trials have the same users in a fold, as `_fold_scores_of_both` has checked.
            columns = self._columns_of_digest[scores_of_trial.users_digest]
            user_scores_of_best[row, columns] = scores_of_best.values
            user_scores_of_trial[row, columns] = scores_of_trial.values
        return user_scores_of_best, user_scores_of_trial

    def _fold_scores_of_both(
        self,
        best: Any,  # noqa: ANN401  a trial of Optuna's
        trial: Any,  # noqa: ANN401
        folds: Sequence[int],
    ) -> list[tuple[_FoldScores, _FoldScores]] | None:
        """What both trials have kept of each fold, the best first; every user gets a column.

        None, with a warning, where a fold lacks users' scores, or has other users in one of them.
        """
        scores_of_folds = []
        for fold in folds:
            key = _attribute(fold)
            if key not in best.user_attrs or key not in trial.user_attrs:
                self._warn(
                    "no users",
                    "some trials have reported fold means without the scores of users, so the "
                    "means are compared, which takes more folds; report by FoldPruner.report",
                )
                return None
            scores_of_best = _FoldScores.unpack(best.user_attrs[key])
            scores_of_trial = _FoldScores.unpack(trial.user_attrs[key])
            digest = scores_of_trial.users_digest
            if digest != scores_of_best.users_digest:
                self._warn(
                    "other users",
                    f"fold {fold} of trial {trial.number} has other users, or samples, than "
                    f"that of trial {best.number}, so fold means are compared, which takes more "
                    "folds; score all trials on the same users or samples",
                )
                return None
            if digest not in self._columns_of_digest:
                # Another process has reported both, and only a digest of the users' names is kept:
                # here they are named by it and by their places.
                user_count = len(scores_of_trial.values)
                self._add_columns(digest, [(digest, place) for place in range(user_count)])
            scores_of_folds.append((scores_of_best, scores_of_trial))
        return scores_of_folds

    def _add_columns(self, digest: str, users: Sequence[Any]) -> None:
        """Give each user a column, the same in every fold, in both of this pruner's tables."""
        for user in users:
            self._column_of_user.setdefault(user, len(self._column_of_user))
        columns = [self._column_of_user[user] for user in users]
        self._columns_of_digest[digest] = np.array(columns, np.intp)

    def _warn(self, kind: str, sentence: str) -> None:
        """Warn once of each kind of thing that cannot be had."""
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(sentence, UserWarning, stacklevel=2)


@dataclass(frozen=True, kw_only=True, eq=False)
class _FoldScores:
    """The scores of a fold's users, as a trial keeps them."""

    users_digest: str
    """A digest that tells these users from others, in any process."""
    values: Floats
    """In the order of the users."""
    mean: float
    """Of the fold; scores are kept by their distance from it, in half of the room."""

    def pack(self) -> dict[str, str | float]:
        """As a storage keeps them."""
        # Distances from the mean are small numbers, of which 32 bits keep more digits.
        compressed = zlib.compress((self.values - self.mean).astype("<f4").tobytes())
        return {
            "users": self.users_digest,
            "mean": self.mean,
            "scores": base64.b85encode(compressed).decode(),
        }

    @classmethod
    def unpack(cls, packed: Mapping[str, Any]) -> _FoldScores:
        """What `pack` gave."""
        compressed = base64.b85decode(packed["scores"])
        distances_from_mean = np.frombuffer(zlib.decompress(compressed), "<f4")
        values = packed["mean"] + distances_from_mean.astype(np.float64)
        return cls(users_digest=packed["users"], values=values, mean=packed["mean"])


def _users_and_values(
    scores: Mapping[Any, float] | ArrayLike,
) -> tuple[list[Any], Floats]:
    """The users, in an order that is the same in every trial, and the score of each.

    Raises:
        InputError: For a series of pandas in which a user is twice.
    """
    is_series = getattr(scores, "ndim", 0) == 1 and hasattr(scores, "to_dict")
    if not isinstance(scores, Mapping) and not is_series:
        values = np.asarray(scores, dtype=np.float64).ravel()
        return list(range(len(values))), values
    labelled_scores: Any = scores
    score_of_user = dict(labelled_scores.items())
    if len(score_of_user) < len(labelled_scores):
        raise InputError("a series of scores has a user twice; give every user one score")
    try:
        users = sorted(score_of_user)
    except TypeError:  # names and numbers together
        users = sorted(score_of_user, key=str)
    return users, np.array([score_of_user[user] for user in users], np.float64)


def _digest(users: Sequence[Any]) -> str:
    """What tells users from others by their names."""
    text = "\n".join(str(user) for user in users)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _attribute(fold: int) -> str:
    """Where a trial keeps the scores of a fold."""
    return f"ecv_fold_{fold}"


def _fold_means(trial: Any, k: int) -> dict[int, float]:  # noqa: ANN401
    """Fold -> its mean, of those that a trial has reported."""
    means = {}
    for step, value in trial.intermediate_values.items():
        if 0 <= step < k and np.isfinite(value):
            means[step] = float(value)
    return means


def _in_groups(users: Sequence[Any], values: Floats) -> tuple[list[Any], Floats]:
    """The means of groups of users, drawn by their names, in the place of too many users."""
    # A checksum puts a user into the same group in every fold, every trial and every process.
    checksums = np.array([zlib.crc32(str(user).encode()) for user in users])
    group_of = checksums % _MOST_USERS
    has_score = ~np.isnan(values)
    sizes = np.bincount(group_of[has_score], minlength=_MOST_USERS)
    sums = np.bincount(group_of[has_score], weights=values[has_score], minlength=_MOST_USERS)
    groups = np.flatnonzero(sizes)
    means = sums[groups] / sizes[groups]
    return [f"group {group}" for group in groups], means
