"""Lists of models whose scores have a form that makes most of them superfluous."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ecv_core.evaluation.formulas import Lists
from ecv_core.evaluation.protocol import EvaluatedFold
from ecv_core.evaluation.ranking import (
    COMPILED_LENGTH,
    best_items,
    candidate_scores,
    check_finite,
)
from ecv_core.records.arrays import AnyFloats, Codes, Float32s, Floats, Indices, Mask

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ranker = Callable[[Indices], Lists]
"""Users (block,) -> their lists, as of `ranking.best_items`."""

USERS_AT_ONCE = 8192
"""Users who are ranked together where no scores are held."""
FACTOR_CELLS = 200_000_000
"""Users x items from which on multiplying the longest items first saves more than it takes."""
ITEMS_PER_LONGEST = 8
"""Of so many items one, the longest, is multiplied first."""


def ranked_blocks(fold: EvaluatedFold, n: int) -> Iterator[tuple[Indices, Lists]]:
    """All users' lists, block by block, in the quickest way that the model allows.

    Args:
        n: At most the number of items.

    Raises:
        RunError: If a score is not finite.
    """
    ranker = None
    if fold.compiled:
        ranker = shortcut(fold, n)
    if ranker is None:
        yield from blocks_by_every_score(fold, fold.users, n)
        return
    for start in range(0, len(fold.users), USERS_AT_ONCE):
        part = fold.users[start : start + USERS_AT_ONCE]
        yield part, ranker(part)


def blocks_by_every_score(
    fold: EvaluatedFold, users: Indices, n: int
) -> Iterator[tuple[Indices, Lists]]:
    """Lists of these users, by a score for every item."""
    for part, scores in candidate_scores(fold.model.score, fold.seen, users, fold.candidates):
        yield part, best_items(scores, n, compiled=fold.compiled)


def shortcut(fold: EvaluatedFold, n: int) -> Ranker | None:
    """A way to rank without a score for every user and item; None where there is none."""
    # A model with `common` gives an item the same score for every user: shape (items,).
    common = getattr(fold.model, "common", None)
    if common is not None:
        return ranker_by_common_scores(fold, common, n)
    # A model with `product` multiplies two matrices: of users by features, and features by items.
    product = getattr(fold.model, "product", None)
    if product is None or n > COMPILED_LENGTH:
        return None
    user_factors, item_factors = product
    is_sparse = hasattr(user_factors, "indptr")
    if is_sparse:
        return ranker_by_sparse_product(fold, user_factors, item_factors, n)
    # Multiplying the longest items first pays only where there are many users and items.
    if user_factors.shape[0] * item_factors.shape[1] >= FACTOR_CELLS and LongestFirst.serves(
        fold, n
    ):
        return LongestFirst(fold, n)
    return None


def ranker_by_common_scores(fold: EvaluatedFold, common: Float32s, n: int) -> Ranker:
    """By scores that are the same for every user: one ranking, less what each user has.

    Args:
        common: Shape (items,).
    """
    from ecv_core.evaluation.kernels import first_unseen, on_every_core

    check_finite(bool(common.max() < np.inf))
    ranking = np.argsort(-common, kind="stable")
    ranking = ranking[fold.candidates[ranking] & (common[ranking] > -np.inf)]
    starts, columns, _ = _csr_arrays(fold.seen)

    def rank_part(users: Indices) -> Lists:
        return first_unseen(users, ranking, starts, columns, len(common), n)

    return partial(on_every_core, rank_part)


def ranker_by_sparse_product(
    fold: EvaluatedFold, left: csr_array, right: csr_array, n: int
) -> Ranker:
    """By the product of two sparse matrices, of which one user's row is held at a time."""
    from ecv_core.evaluation.kernels import best_of_product, on_every_core

    check_finite(bool(np.isfinite(left.data).all() and np.isfinite(right.data).all()))
    initial_scores = np.where(fold.candidates, 0, -np.inf).astype(np.float32)
    seen_starts, seen_columns, _ = _csr_arrays(fold.seen)
    factors = (*_csr_arrays(left), *_csr_arrays(right))

    def rank_part(users: Indices) -> Lists:
        return best_of_product(users, *factors, seen_starts, seen_columns, initial_scores, n)

    return partial(on_every_core, rank_part)


def _csr_arrays(
    matrix: csr_array,
) -> tuple[Codes, Codes, Float32s]:
    """What it is made of, with the numbers that the kernels take."""
    starts = matrix.indptr.astype(np.int32, copy=False)
    columns = matrix.indices.astype(np.int32, copy=False)
    return starts, columns, matrix.data


class LongestFirst:
    """Ranks by products of factors, of which those of the longest items are worked out first.

    No score is above the length of the user times the length of the item (Cauchy, Schwarz). So a
    list is complete as soon as its last score is above what the longest of the other items could
    reach. Whoever may need one of these is ranked by every score. So is whoever has scores in the
    list that are as near to each other as roundings are, which differ with the shape of a product:
    lists are those of all scores, whatever was worked out first.
    """

    def __init__(self, fold: EvaluatedFold, n: int) -> None:
        """Sort the items by length; the model's product has dense factors."""
        import torch

        users, items = fold.model.product
        lengths = torch.linalg.vector_norm(items.double(), dim=0).numpy()
        lengths[~fold.candidates] = 0
        longest_count = max(n + 1, int(fold.candidates.sum()) // ITEMS_PER_LONGEST)
        by_length = np.argsort(-lengths, kind="stable")  # The longest item comes first.
        self._fold = fold
        self._n = n
        self._longest = np.sort(by_length[:longest_count])
        """The numbers of the longest items, which are multiplied first."""
        self._largest_other_length = lengths[by_length[longest_count:]].max(initial=0.0)
        """The length of the longest item that is not multiplied first."""
        self._unit_rounding = items.shape[0] * float(np.finfo(np.float32).eps)
        """How much a score may be off by rounding alone, where both lengths are 1."""
        self._item_lengths = lengths[self._longest]
        self._user_lengths = torch.linalg.vector_norm(users, dim=1).double().numpy()
        self._users = users
        self._items = items[:, torch.from_numpy(self._longest)].contiguous()
        self._seen = fold.seen[:, self._longest]

    @staticmethod
    def serves(fold: EvaluatedFold, n: int) -> bool:
        """Whether there are items to leave out, and no score can be infinite."""
        users, items = fold.model.product
        largest_possible_score = users.abs().max() * items.abs().max() * items.shape[0]
        return bool(fold.candidates.sum() > n and np.isfinite(float(largest_possible_score)))

    def __call__(self, users: Indices) -> Lists:
        """Lists of these users; shape (users, n)."""
        # A score is at most the length of the user's factors times that of the item's, so that only
        # the longest items are scored, and where a shorter one could still be in the list, all.
        lists: Lists = np.empty((len(users), self._n), np.int64)
        is_complete = np.empty(len(users), np.bool_)
        candidates = self._fold.candidates[self._longest]
        done = 0
        for part, scores in candidate_scores(self._score, self._seen, users, candidates):
            rows = slice(done, done + len(part))
            best = best_items(scores, self._n + 1, compiled=self._fold.compiled)
            best_scores = np.take_along_axis(np.asarray(scores), best, axis=1)
            best_scores[best < 0] = -np.inf  # A place is empty where a user has too few candidates.
            lists[rows] = self._longest[best[:, : self._n]]
            item_lengths = self._item_lengths[best]
            # The last column stands for every item that is not in the list. None of these is longer
            # than the longest item of all.
            item_lengths[:, -1] = self._item_lengths.max()
            user_lengths = self._user_lengths[part]
            is_complete[rows] = self._are_complete(best_scores, item_lengths, user_lengths)
            done += len(part)
        self._rank_by_every_score(lists, users, np.flatnonzero(~is_complete))
        return lists

    def _rank_by_every_score(self, lists: Lists, users: Indices, incomplete: Indices) -> None:
        """Replace the lists in which one of the shorter items may be missing.

        Args:
            lists: Changed in place; shape (users, n).
            users: Whose they are.
            incomplete: Which rows of both.
        """
        done = 0
        for part, part_lists in blocks_by_every_score(self._fold, users[incomplete], self._n):
            lists[incomplete[done : done + len(part)]] = part_lists
            done += len(part)

    def _score(self, users: Indices) -> Float32s:
        """Scores of the longest items; shape (users, longest items)."""
        return (self._users[users] @ self._items).numpy()

    def _are_complete(
        self,
        best_scores: AnyFloats,
        item_lengths: Floats,
        user_lengths: Floats,
    ) -> Mask:
        """Whose list is that of all scores.

        Args:
            best_scores: The n + 1 best scores, best first; shape (users, n + 1).
            item_lengths: The item lengths of their items, for the last the longest of all; same
                shape.
            user_lengths: Shape (users,).
        """
        # A score may be rounded by this much at most.
        rounding = self._unit_rounding * user_lengths[:, None] * item_lengths
        # If candidates are too few, -inf is subtracted from -inf.
        with np.errstate(invalid="ignore"):
            gaps = best_scores[:, :-1] - best_scores[:, 1:]
        has_clear_order = (gaps > rounding[:, :-1] + rounding[:, 1:]).all(axis=1)
        # No score of a shorter item is above the product of the lengths (Cauchy, Schwarz). It and
        # the list's last score are rounded, each by at most as much as the longest item's score.
        largest_rounding = rounding[:, -1]
        highest_of_others = user_lengths * self._largest_other_length + 2 * largest_rounding
        return has_clear_order & (best_scores[:, self._n - 1] > highest_of_others)
