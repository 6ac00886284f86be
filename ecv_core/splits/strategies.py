"""What a split strategy is to this project, whether a dataset can serve one, and plain k folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.arrays import Codes, Counts, Indices
from ecv_core.records.errors import FoldsError, InputError
from ecv_core.records.interactions import Folds, Interactions, Need, Part, Table
from ecv_core.records.parameters import Parameter, Params, ParamValue, resolve
from ecv_core.records.plugins import check_id
from ecv_core.records.tasks import Task

Times = NDArray[np.int64]
Parts = NDArray[np.int8]
"""The Part of each interaction in one fold; shape (interactions,)."""
Assignment = NDArray[np.int16]
"""The fold that holds out each interaction, as `Folds.assignment`; shape (interactions,)."""
Draw = Callable[[int], Parts]
"""The number of a fold -> its parts, as `Folds.draw`."""
Settings = Mapping[str, ParamValue]
"""Every parameter of a strategy by name, checked and with defaults filled in."""
SplitFunction = Callable[[Interactions, int, int, Settings], Any]
"""(interactions, k, seed, settings) -> what `Folds` are made of: an Assignment or a Draw.
Raises: FoldsError if the data cannot be split so."""

# k folds that hold out every interaction once: dealt user by user, or all together.


IMPORTED = "imported"
"""The strategy of folds that were read from a file."""
MAX_K = int(np.iinfo(np.int16).max)
"""Folds are numbered in 16 bits."""


def user_k_fold(interactions: Interactions, k: int, seed: int, _: Settings) -> Assignment:
    """Each user's interactions, shuffled and dealt evenly over the k folds.

    A user's fold sizes differ by at most one, and which folds get the extra one is random. A user
    with fewer than k interactions has each put into an independent random fold.

    Returns:
        Shape (interactions,), in 0 .. k-1.

    Raises:
        FoldsError: If k does not fit or a fold stays empty.
    Source: papers/e-fold-cross-validation, protocol: "each user is equally represented".
    """
    check_k(interactions, k)
    rng = np.random.default_rng(seed)
    count = len(interactions)
    by_user = order_by_user(interactions, None, rng)
    users = interactions.users[by_user]
    user_counts = np.bincount(users, minlength=interactions.n_users)
    first_of_user = np.cumsum(user_counts) - user_counts
    rank_in_user = np.arange(count) - first_of_user[users]

    # A user with enough interactions has them dealt, one fold after the other. Each has an order of
    # the folds of its own, so that no fold is favoured with the extras.
    has_enough = user_counts >= k
    folds = np.arange(k, dtype=np.int16)
    # Shape (users with enough, k): the order of each; `row_of_user` says in which row it is.
    fold_orders = rng.permuted(np.tile(folds, (int(has_enough.sum()), 1)), axis=1)
    row_of_user = np.cumsum(has_enough) - 1
    is_dealt = has_enough[users]
    rows = row_of_user[users[is_dealt]]

    assignment = np.empty(count, dtype=np.int16)
    assignment[by_user[is_dealt]] = fold_orders[rows, rank_in_user[is_dealt] % k]
    random_count = count - int(is_dealt.sum())
    assignment[by_user[~is_dealt]] = rng.integers(k, size=random_count, dtype=np.int16)
    empty_folds = np.flatnonzero(np.bincount(assignment, minlength=k) == 0)
    if len(empty_folds):
        raise FoldsError(
            f"{len(empty_folds)} of {k} folds stayed empty, "
            "because too few users have that many interactions; choose a smaller k than "
            f"{k}, or the split 'record-k-fold', which fills every fold"
        )
    return assignment


def order_by_user(
    interactions: Interactions, keys: Times | Counts | None, rng: np.random.Generator
) -> Indices:
    """The order that sorts by user, then by key, and at random within equal keys.

    Args:
        interactions: Which are sorted.
        keys: The keys of the interactions; shape (interactions,). Without them, all of a user are
            equal.
        rng: Draws the order of the equal ones.

    Returns:
        Indices, shape (interactions,).
    """
    count = len(interactions)
    if keys is None:
        ranks = interactions.users.astype(np.int64)
    else:
        ranks = _ranks_by_user(interactions.users, keys)
    random_ranks = np.empty(count, dtype=np.int64)
    random_ranks[rng.permutation(count)] = np.arange(count)
    # Both ranks become one number. Numbers that all differ sort many times faster than shuffled
    # users that must stay in order, and any way of sorting gives the same order. The arrays are
    # changed in place to save memory.
    ranks *= count
    ranks += random_ranks
    return np.argsort(ranks)


def _ranks_by_user(users: Codes, keys: Times | Counts) -> NDArray[np.int64]:
    """The rank of each interaction by its user, then its key; equal ones share a rank."""
    lowest_key = int(keys.min())
    numbers_per_user = int(keys.max()) - lowest_key + 1
    if numbers_per_user * (int(users.max()) + 1) >= 2**62:
        # The numbers below would be too large. Ranks of keys are small, and have the same order.
        _, key_ranks = np.unique(keys, return_inverse=True)
        return _ranks_by_user(users, key_ranks)
    # Each user has a range of numbers, and the key gives the place in it. So the order of these
    # numbers is that by user, then by key. They are changed in place to save memory.
    numbers = users.astype(np.int64) * numbers_per_user
    numbers += keys
    numbers -= lowest_key
    _replace_by_ranks(numbers)
    return numbers


def _replace_by_ranks(numbers: NDArray[np.int64]) -> None:
    """Put its rank, from 0 on, in the place of each number; equal numbers share a rank.

    `np.unique` gives the same ranks as its inverse, but takes twice as much memory.
    """
    order = np.argsort(numbers)
    ascending = numbers[order]
    ranks = np.zeros_like(numbers)
    # The rank grows by one wherever a number differs from the one before it.
    np.cumsum(ascending[1:] != ascending[:-1], out=ranks[1:])
    numbers[order] = ranks


def record_k_fold(interactions: Interactions, k: int, seed: int, _: Settings) -> Assignment:
    """All interactions, shuffled and dealt evenly; which folds get one more is random.

    Returns:
        Shape (interactions,), in 0 .. k-1.

    Raises:
        FoldsError: If k does not fit.
    """
    check_k(interactions, k)
    return deal_evenly(len(interactions), k, np.random.default_rng(seed))


def deal_evenly(count: int, k: int, rng: np.random.Generator) -> Assignment:
    """A fold at random for each of `count`; how many a fold has differs by at most one."""
    fold_order = rng.permutation(k).astype(np.int16)
    # The folds take their turns in this order, again and again.
    folds = np.resize(fold_order, count)
    rng.shuffle(folds)
    return folds


def stratified_k_fold(table: Interactions, k: int, seed: int, _: Settings) -> Assignment:
    """Samples dealt over the folds so that each has about the same share of every class.

    Returns:
        Shape (samples,), the folds of scikit-learn's StratifiedKFold(k, shuffle=True).

    Raises:
        FoldsError: If the classes are not known, or no class has a sample for every fold.
    """
    from sklearn.model_selection import StratifiedKFold

    if not isinstance(table, Table) or table.classes is None:
        raise FoldsError(
            f"{table.dataset} has no classes to deal evenly; use the split 'sample-k-fold'"
        )
    class_sizes = np.bincount(table.targets.astype(np.int64))
    largest = int(class_sizes.max())
    if not 2 <= k <= largest:
        raise FoldsError(
            f"cannot make {k} folds of {table.dataset}, whose largest class has {largest} samples; "
            f"choose k from 2 to {largest}"
        )
    splitter = StratifiedKFold(k, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # A class with fewer samples than folds is no error: some folds have no sample of it.
        warnings.simplefilter("ignore", UserWarning)
        return _assignment(splitter.split(table.features, table.targets), len(table))


def sample_k_fold(table: Interactions, k: int, seed: int, _: Settings) -> Assignment:
    """Samples, shuffled and dealt evenly: the folds of scikit-learn's KFold(k, shuffle=True).

    Returns:
        Shape (samples,). Raises: FoldsError if k does not fit.
    """
    from sklearn.model_selection import KFold

    check_k(table, k)
    splitter = KFold(k, shuffle=True, random_state=seed)
    no_features = np.empty((len(table), 0))
    return _assignment(splitter.split(no_features), len(table))


def _assignment(folds: Iterable[tuple[Indices, Indices]], count: int) -> Assignment:
    """The fold of each of `count` samples, from scikit-learn's pairs of (training, test)."""
    assignment = np.empty(count, np.int16)
    for fold, (_, held_out) in enumerate(folds):
        assignment[held_out] = fold
    return assignment


def check_k(interactions: Interactions, k: int) -> None:
    """Refuse a number of folds that these interactions cannot fill.

    Raises:
        FoldsError: For k below 2, above the number of interactions, or above MAX_K.
    """
    check_count(interactions)
    most = min(len(interactions), MAX_K)
    if not 2 <= k <= most:
        raise FoldsError(f"k must be from 2 to {most:,} for {interactions.dataset}, but is {k:,}")


def check_count(interactions: Interactions) -> None:
    """Refuse interactions of which no folds can be made at all. Raises: FoldsError."""
    if len(interactions) < 2:
        raise FoldsError(
            f"{interactions.dataset} has {len(interactions)} interactions, too few to make folds; "
            "choose a dataset with at least 2"
        )


class Past(StrEnum):
    """For whom training promises to lie before what is held out."""

    NOBODY = "nobody"
    USER = "user"
    """Within each user's own history; others' later interactions are learnt from."""
    EVERYBODY = "everybody"


@dataclass(frozen=True)
class Strategy:
    """A way to split: of the project, as users know it, or of one's own.

        def by_last_digit(data, k, seed, settings):
            return data.items % k  # the fold, 0 .. k-1, that holds each interaction out

        ecv.evaluate("ml-100k", "ease", split=ecv.Strategy("last-digit", by_last_digit))

    Raises:
        InputError: For what is none.

    >>> import ecv_core as ecv
    >>> def by_item(data, k, seed, settings):
    ...     return data.items % k
    >>> ecv.Strategy("by-item", by_item, in_order=True).id
    'by-item'
    """

    id: str
    make: SplitFunction
    _: KW_ONLY
    title: str = ""
    """By default made of the id."""
    help: str = ""
    source: str = ""
    ecv: str = ""
    """How e-fold cross-validation applies, or why it does not."""
    parameters: tuple[Parameter, ...] = ()
    needs: Need = Need.NOTHING
    least_k: int = 1
    most_k: int = MAX_K
    default_k: int = 10
    fold_word: str = "fold"
    """What one of the k is: 'fold', 'repetition', 'window' or 'step back'."""
    past: Past = Past.NOBODY
    in_order: bool = False
    """True where the folds are steps in time, so that another order of them means nothing."""
    of_k_parts: bool = False
    """True where each fold tests on one of k equal parts of the data and trains on the others."""
    tasks: tuple[Task, ...] = Task.TOP_N.tasks_on_same_data
    """What it makes folds for."""
    code: str = ""
    """Of one's own: names what `make` does; a run is never continued by other code."""

    def __post_init__(self) -> None:
        check_id(self.id, "a split")
        if not callable(self.make):
            raise InputError(
                f"the split '{self.id}' is made by a function of (interactions, k, seed, "
                f"settings), but is given {self.make!r:.80}"
            )
        if not self.title:
            object.__setattr__(self, "title", self.id.replace("-", " ").capitalize())

    @property
    def exchangeable(self) -> bool:
        """True where folds could have come in any other order, so that some stand for all.

        What stops early, and what looks at orders of the folds, rests on it.
        """
        return not self.in_order

    @property
    def single(self) -> bool:
        """True where it makes exactly one split, so that there is nothing to stop early."""
        return self.most_k == 1

    def folds(self, interactions: Interactions, k: int, seed: int, settings: Settings) -> Folds:
        """The interactions split so, by checked settings. Raises: FoldsError as `make`."""
        if self.code:  # the function is not the project's own
            result = _make_and_check(self, interactions, k, seed, settings)
        else:
            result = self.make(interactions, k, seed, settings)
        params = tuple(sorted(settings.items()))
        if isinstance(result, np.ndarray):
            return Folds(strategy=self.id, k=k, seed=seed, params=params, assignment=result)
        return Folds(strategy=self.id, k=k, seed=seed, params=params, draw=result)

    def resolve(self, values: Settings) -> Params:
        """Every parameter with its value, by default where none is given; of one's own its code.

        Raises:
            InputError: For an unknown name, a bad value, or code that is not what it was.
        """
        owner = f"the split {self.id}"
        if not self.code:  # the split is one of the project's, and not a user's own function
            return resolve(self.parameters, values, of=owner)
        settings = dict(resolve(self.parameters, _without_code(values), of=owner))
        # The settings of a run that was made before have the code of its split, which must be the
        # same today. The settings of a new run have no code yet, and get today's.
        if values.get(_CODE, self.code) != self.code:
            raise InputError(
                f"the code of the split '{self.id}' is not what it was when the run was made; "
                "begin a new run"
            )
        settings[_CODE] = self.code
        return tuple(sorted(settings.items()))

    def check_k(self, k: int) -> None:
        """Refuse a number of folds that this strategy never makes. Raises: FoldsError."""
        if self.single and k != 1:
            raise FoldsError(
                f"the split '{self.id}' makes one split, so k must be 1, but is {k}; "
                "use 'temporal-windows' for several test periods"
            )
        if k < self.least_k:
            message = f"k must be at least {self.least_k}, but is {k}"
            if self.least_k == 2:
                message += ": one fold has nothing to train on"
            raise FoldsError(message)
        if k > self.most_k:
            raise FoldsError(f"k must be at most {self.most_k:,}, but is {k:,}")


# Splits of one's own: whatever a stranger's function gives is checked.


_CODE = "code"
"""The setting of a run that names the code of its split."""


def _without_code(settings: Settings) -> dict[str, ParamValue]:
    """The settings that the function of a split of one's own is given."""
    return {name: value for name, value in settings.items() if name != _CODE}


def _make_and_check(
    strategy: Strategy, interactions: Interactions, k: int, seed: int, settings: Settings
) -> Assignment | Draw:
    """What the function of a split of one's own makes, every value checked. Raises: FoldsError."""
    name = f"the split '{strategy.id}'"
    count = len(interactions)
    result = _call_or_refuse(name, strategy.make, interactions, k, seed, _without_code(settings))
    if callable(result):

        def draw(index: int) -> Parts:
            parts = _call_or_refuse(name, result, index)
            return _checked_numbers(name, parts, count, 0, len(Part) - 1).astype(np.int8)

        draw(0)  # A wrong function is refused here, before anything runs.
        return draw
    # -1 is the fold of an interaction that no fold holds out.
    assignment = _checked_numbers(name, result, count, -1, k - 1).astype(np.int16)
    held_out_counts = np.bincount(assignment[assignment >= 0], minlength=k)
    empty_folds = np.flatnonzero(held_out_counts == 0)
    if len(empty_folds):
        raise FoldsError(
            f"{name} holds nothing out in fold {empty_folds[0]} of {k}; use a smaller k"
        )
    return assignment


def _call_or_refuse(name: str, function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
    """What a stranger's function gives. Raises: FoldsError for whatever it raises."""
    try:
        return function(*arguments)
    except Exception as error:
        raise FoldsError(f"{name} failed with {type(error).__name__}: {error}") from error


def _checked_numbers(
    name: str, result: object, count: int, low: int, high: int
) -> NDArray[np.signedinteger]:
    """What a split made, as a whole number for each interaction. Raises: FoldsError if it is none.

    Args:
        name: What to call the split in an error.
        result: What its function gave.
        count: How many numbers there must be.
        low: The least that a number can be.
        high: The most.
    """
    numbers = np.asarray(result)
    if numbers.dtype.kind not in "iu" or numbers.shape != (count,):
        shown = f"{result!r:.60}"
        if numbers.ndim:
            shown = f"{numbers.dtype} of shape {numbers.shape}"
        raise FoldsError(
            f"{name} gave {shown}; give the fold (0 to k - 1, or -1 for none) that holds out each "
            f"of the {count:,} interactions, or a function of the fold that gives the Part of each"
        )
    outside = numbers[(numbers < low) | (numbers > high)]
    if len(outside):
        raise FoldsError(f"{name} gave {outside[0]}, where numbers go from {low} to {high}")
    return numbers
