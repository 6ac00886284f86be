"""What a split strategy is to this project, whether a dataset can serve one, and plain k folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import FoldsError, InputError
from ecv_core.records.interactions import Folds, Interactions, Need, Part, Table
from ecv_core.records.parameters import Parameter, Params, ParamValue, resolve
from ecv_core.records.plugins import check_id
from ecv_core.records.tasks import Task

# k folds that hold out every interaction once: dealt user by user, or all together.


IMPORTED = "imported"
"""The strategy of folds that were read from a file."""
MAX_K = int(np.iinfo(np.int16).max)
"""Folds are numbered in 16 bits."""


def by_users(interactions: Interactions, k: int, seed: int, _: object) -> NDArray[np.int16]:
    """Each user's interactions, shuffled and dealt evenly over the k folds.

    A user's fold sizes differ by at most one, and which folds get the extra one is random. A user
    with fewer than k interactions has each put into an independent random fold.

    Returns: shape (interactions,), in 0 .. k-1.
    Raises: FoldsError if k does not fit or a fold stays empty.
    Source: papers/e-fold-cross-validation, protocol: "each user is equally represented".
    """
    check_k(interactions, k)
    rng = np.random.default_rng(seed)
    count = len(interactions)
    shuffled = rng.permutation(count)
    by_user = shuffled[np.argsort(interactions.users[shuffled], kind="stable")]
    users = interactions.users[by_user]
    sizes = np.bincount(users, minlength=interactions.n_users)
    rank = np.arange(count) - (np.cumsum(sizes) - sizes)[users]

    deals = sizes >= k
    # Each such user gets an own order of the folds, so that no fold is favoured with the extras.
    orders = rng.permuted(np.tile(np.arange(k, dtype=np.int16), (int(deals.sum()), 1)), axis=1)
    row = np.cumsum(deals) - 1
    dealt = deals[users]

    assignment = np.empty(count, dtype=np.int16)
    assignment[by_user[dealt]] = orders[row[users[dealt]], rank[dealt] % k]
    assignment[by_user[~dealt]] = rng.integers(k, size=count - int(dealt.sum()), dtype=np.int16)
    empty = np.flatnonzero(np.bincount(assignment, minlength=k) == 0)
    if len(empty):
        raise FoldsError(
            f"{len(empty)} of {k} folds stayed empty (fold {empty[0]} is the first), because "
            "too few users have that many interactions; choose a smaller k than "
            f"{k}, or the split 'record-k-fold', which fills every fold"
        )
    return assignment


def by_records(interactions: Interactions, k: int, seed: int, _: object) -> NDArray[np.int16]:
    """All interactions, shuffled and dealt evenly; which folds get one more is random.

    Returns: shape (interactions,), in 0 .. k-1.
    Raises: FoldsError if k does not fit.
    """
    check_k(interactions, k)
    rng = np.random.default_rng(seed)
    order = rng.permutation(k).astype(np.int16)
    dealt = np.resize(order, len(interactions))
    rng.shuffle(dealt)
    return dealt


def by_classes(table: Interactions, k: int, seed: int, _: object) -> NDArray[np.int16]:
    """Samples dealt over the folds so that each has about the same share of every class.

    Returns: shape (samples,), the folds of scikit-learn's StratifiedKFold(k, shuffle=True).
    Raises: FoldsError if the classes are not known, or no class has a sample for every fold.
    """
    from sklearn.model_selection import StratifiedKFold

    if not isinstance(table, Table) or table.classes is None:
        raise FoldsError(
            f"{table.dataset} has no classes to deal evenly; use the split 'sample-k-fold'"
        )
    if (most := int(np.bincount(table.targets.astype(np.int64)).max())) < k:
        raise FoldsError(
            f"cannot make {k} folds of {table.dataset}, whose largest class has {most} samples; "
            f"choose k from 2 to {most}"
        )
    splitter = StratifiedKFold(k, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a class with fewer samples than folds
        return _numbered(splitter.split(table.features, table.targets), len(table))


def by_samples(table: Interactions, k: int, seed: int, _: object) -> NDArray[np.int16]:
    """Samples, shuffled and dealt evenly: the folds of scikit-learn's KFold(k, shuffle=True).

    Returns: shape (samples,). Raises: FoldsError if k does not fit.
    """
    from sklearn.model_selection import KFold

    check_k(table, k)
    splitter = KFold(k, shuffle=True, random_state=seed)
    return _numbered(splitter.split(np.empty((len(table), 0))), len(table))


def _numbered(
    folds: Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]], count: int
) -> NDArray[np.int16]:
    fold_of = np.empty(count, np.int16)
    for fold, (_, held_out) in enumerate(folds):
        fold_of[held_out] = fold
    return fold_of


def check_k(interactions: Interactions, k: int) -> None:
    """Refuse a number of folds that these interactions cannot fill.

    Raises: FoldsError for k below 2, above the number of interactions, or above MAX_K.
    """
    most = min(len(interactions), MAX_K)
    if most < 2:
        raise FoldsError(
            f"{interactions.dataset} has {len(interactions)} interactions, too few to make folds; "
            "choose a dataset with at least 2"
        )
    if not 2 <= k <= most:
        raise FoldsError(f"k must be from 2 to {most:,} for {interactions.dataset}, but is {k:,}")


Settings = Mapping[str, ParamValue]
"""Every parameter of a strategy by name, checked and with defaults filled in."""

Assignment = NDArray[np.int16]
"""As of `Folds.assignment`."""
Draw = Callable[[int], NDArray[np.int8]]
"""As of `Folds.draw`."""
Make = Callable[[Interactions, int, int, Settings], Any]
"""(interactions, k, seed, settings) -> what `Folds` are made of: an Assignment or a Draw.
Raises: FoldsError if the data cannot be split so."""


class Past(StrEnum):
    """For whom training promises to lie before what is held out."""

    NOBODY = "nobody"
    USER = "user"
    """Within each user's own history; others' later interactions are learnt from."""
    EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to split: of the project, as users know it, or of one's own.

        def by_last_digit(data, k, seed, settings):
            return data.items % k  # the fold, 0 .. k-1, that holds each interaction out

        ecv.evaluate("ml-100k", "ease", split=ecv.Strategy("last-digit", by_last_digit))

    Raises: InputError for what is none.
    """

    id: str
    make: Make
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
    tasks: tuple[Task, ...] = Task.TOP_N.together
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

    def folds(
        self, interactions: Interactions, k: int, seed: int, settings: Mapping[str, ParamValue]
    ) -> Folds:
        """The interactions split so, by checked settings. Raises: FoldsError as `make`."""
        make = partial(_of_ones_own, self) if self.code else self.make
        made = make(interactions, k, seed, settings)
        return Folds(
            strategy=self.id,
            k=k,
            seed=seed,
            params=tuple(sorted(settings.items())),
            assignment=made if isinstance(made, np.ndarray) else None,
            draw=None if isinstance(made, np.ndarray) else made,
        )

    def resolve(self, given: Mapping[str, ParamValue]) -> Params:
        """Every parameter with its value; of one's own its code too.

        Raises: InputError for an unknown name, a bad value, or code that is not what it was.
        """
        named = {name: value for name, value in given.items() if not self.code or name != _CODE}
        found = resolve(self.parameters, named, of=f"the split {self.id}")
        if given.get(_CODE, self.code) != self.code and self.code:
            raise InputError(
                f"the code of the split '{self.id}' is not what it was when the run was made; "
                "begin a new run"
            )
        return tuple(sorted({**dict(found), _CODE: self.code}.items())) if self.code else found

    def check_k(self, k: int) -> None:
        """Refuse a number of folds that this strategy never makes. Raises: FoldsError."""
        if self.single and k != 1:
            raise FoldsError(
                f"the split '{self.id}' makes one split, so k must be 1, but is {k}; "
                "use 'temporal-windows' for several test periods"
            )
        if k < self.least_k:
            why = ": one fold has nothing to train on" if self.least_k == 2 else ""
            raise FoldsError(f"k must be at least {self.least_k}, but is {k}{why}")
        if k > self.most_k:
            raise FoldsError(f"k must be at most {self.most_k:,}, but is {k:,}")


_CODE = "code"


def _of_ones_own(
    strategy: Strategy, interactions: Interactions, k: int, seed: int, settings: Settings
) -> Assignment | Draw:
    """What a split of one's own made, every value checked. Raises: FoldsError."""
    who, rows = f"the split '{strategy.id}'", len(interactions)
    try:
        named = {name: value for name, value in settings.items() if name != _CODE}
        made = strategy.make(interactions, k, seed, named)
        first = made(0) if callable(made) else None
    except Exception as error:
        raise FoldsError(f"{who} failed with {type(error).__name__}: {error}") from error
    if callable(made):
        of_fold = partial(_checked, who, rows=rows, ends=(0, len(Part) - 1))
        of_fold(first)  # before anything runs
        return lambda index: of_fold(made(index)).astype(np.int8)
    assignment = _checked(who, made, rows=rows, ends=(-1, k - 1)).astype(np.int16)
    held = np.bincount(assignment[assignment >= 0], minlength=k)
    if len(empty := np.flatnonzero(held == 0)):
        raise FoldsError(f"{who} holds nothing out in fold {empty[0]} of {k}; use a smaller k")
    return assignment


def _checked(who: str, made: object, *, rows: int, ends: tuple[int, int]) -> NDArray[Any]:
    """Whole numbers from one end to the other, one for each row."""
    found = np.asarray(made)
    if found.dtype.kind not in "iu" or found.shape != (rows,):
        shown = f"{found.dtype} of shape {found.shape}" if found.ndim else f"{made!r:.60}"
        raise FoldsError(
            f"{who} gave {shown}; give the fold (0 to k - 1, or -1 for none) that holds out each "
            f"of the {rows:,} interactions, or a function of the fold that gives the Part of each"
        )
    if rows and not ends[0] <= found.min() <= found.max() <= ends[1]:
        wrong = found.min() if found.min() < ends[0] else found.max()
        raise FoldsError(f"{who} gave {wrong}, where numbers go from {ends[0]} to {ends[1]}")
    return found
