"""Interactions into folds, and a fold into what is learnt from and what is held out."""

from __future__ import annotations

from ecv_core.errors import UnknownName
from ecv_core.records import Folds, Interactions
from ecv_core.splits.files import (
    IMPORTED,
    folds_csv,
    read_folds,
    write_folds,
)
from ecv_core.splits.fold_matrices import matrices
from ecv_core.splits.storage import store_folds, stored_folds_path
from ecv_core.splits.strategies import Strategy, check_folds, check_k, deal_records, deal_users

__all__ = [
    "IMPORTED",
    "SPLITS",
    "Strategy",
    "folds_csv",
    "matrices",
    "read_folds",
    "split",
    "store_folds",
    "stored_folds_path",
    "strategy",
    "write_folds",
]

SPLITS: dict[str, Strategy] = {
    "user-k-fold": Strategy(
        id="user-k-fold",
        title="Per user, evenly",
        help=(
            "Each user's interactions are shuffled and dealt evenly over the folds; a user with "
            "fewer than k has each one put into a random fold."
        ),
        source="e-fold cross-validation for recommender systems, protocol section",
        assign=deal_users,
    ),
    "record-k-fold": Strategy(
        id="record-k-fold",
        title="All interactions, evenly",
        help="All interactions are shuffled and dealt evenly over the folds, whoever's they are.",
        source="plain k-fold cross-validation",
        assign=deal_records,
    ),
}
"""Every way to make folds, by id. Folds read from a file have the strategy 'imported' instead."""


def strategy(split_id: str) -> Strategy:
    """The way to make folds with this id. Raises: UnknownName."""
    if split_id not in SPLITS:
        raise UnknownName("split", split_id, SPLITS)
    return SPLITS[split_id]


def split(interactions: Interactions, split_id: str, k: int, seed: int) -> Folds:
    """Deal the interactions into k folds.

    Args:
        interactions: what is dealt.
        split_id: an id in SPLITS.
        k: number of folds, from 2 to the number of interactions.
        seed: fixes every random choice; same interactions, k and seed, same folds.
    Raises: UnknownName for the id; FoldsError if k does not fit or a fold stays empty.
    """
    assign = strategy(split_id).assign
    check_k(interactions, k)
    folds = Folds(strategy=split_id, k=k, seed=seed, assignment=assign(interactions, k, seed))
    check_folds(folds)
    return folds
