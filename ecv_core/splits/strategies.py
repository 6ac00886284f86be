"""What a split strategy is to this project, whether a dataset can serve one, and plain k folds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ecv_core.records.errors import FoldsError
from ecv_core.records.interactions import LACKS, Folds, Interactions, Need
from ecv_core.records.parameters import Parameter, Params, ParamValue, resolve

# k folds that hold out every interaction once: dealt user by user, or all together.


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
    return filled(assignment, k)


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
        raise FoldsError(
            f"cannot make {k} folds of {interactions.dataset}; choose k from 2 to {most}"
        )


def filled(assignment: NDArray[np.int16], k: int) -> NDArray[np.int16]:
    """The assignment, if every fold holds something out. Raises: FoldsError for an empty one."""
    empty = np.flatnonzero(np.bincount(assignment, minlength=k) == 0)
    if len(empty):
        raise FoldsError(
            f"{len(empty)} of {k} folds stayed empty (fold {empty[0]} is the first), because "
            "too few users have that many interactions; choose a smaller k than "
            f"{k}, or the split 'record-k-fold', which fills every fold"
        )
    return assignment


Settings = Mapping[str, ParamValue]
"""Every parameter of a strategy by name, checked and with defaults filled in."""

Assignment = NDArray[np.int16]
"""As of `Folds.assignment`."""
Draw = Callable[[int], NDArray[np.int8]]
"""As of `Folds.draw`."""
Make = Callable[[Interactions, int, int, Settings], Assignment | Draw]
"""(interactions, k, seed, settings) -> what `Folds` are made of. Raises: FoldsError if the data
cannot be split so."""


class Past(StrEnum):
    """For whom training promises to lie before what is held out."""

    NOBODY = "nobody"
    USER = "user"
    """Within each user's own history; others' later interactions are learnt from."""
    EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """A way to split, as users know it."""

    id: str
    title: str
    help: str
    source: str
    ecv: str
    """How e-fold cross-validation applies, or why it does not."""
    make: Make
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
        made = self.make(interactions, k, seed, settings)
        return Folds(
            strategy=self.id,
            k=k,
            seed=seed,
            params=tuple(sorted(settings.items())),
            assignment=made if isinstance(made, np.ndarray) else None,
            draw=None if isinstance(made, np.ndarray) else made,
        )

    def resolve(self, given: Mapping[str, ParamValue]) -> Params:
        """Every parameter with its value. Raises: InputError for an unknown name or bad value."""
        return resolve(self.parameters, given, of=f"the split {self.id}")

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


def check_need(strategy: Strategy, interactions: Interactions, known: Iterable[Strategy]) -> None:
    """Refuse a dataset without what the strategy needs, naming strategies that would work.

    Args:
        strategy: what is asked for.
        interactions: the dataset.
        known: the strategies that may be proposed instead.
    Raises: FoldsError.
    """
    if strategy.needs.met(interactions):
        return
    instead = [other.id for other in known if other.needs.met(interactions)]
    raise FoldsError(
        f"{interactions.dataset} has {LACKS[strategy.needs]}, which the split '{strategy.id}' "
        f"needs; it can be split by {', '.join(instead)}"
    )
