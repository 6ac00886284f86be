"""Interactions -> the columns nearest to each column, and the models that recommend by them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy  # its parts load when they are used

from ecv_core.models.base import Settings, Sharing
from ecv_core.models.device import BinaryMatrix
from ecv_core.records.arrays import Float32s, Indices
from ecv_core.records.interactions import History
from ecv_core.records.run import Progress, no_progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from torch import Tensor

    from ecv_core.models.base import Fitted

# Interactions -> how many users each pair of items shares, by the cheaper of two products.


DENSE_CELLS = 25_000_000
"""A dense items x items matrix may have this many cells: 100 MB as float32."""

DENSE_GAIN = 300
"""Multiplications that a dense product does in the time of one in a sparse product.

Measured on 2 cores: 1e11 against 4e8 a second.
"""

BLOCK_ITEMS = 1024
"""Rows of the dense product computed at once."""


def dense_is_cheaper(train: csr_array) -> bool:
    """Whether the dense product of `train` with itself fits in memory and is the faster one."""
    users, items = train.shape
    if items * items > DENSE_CELLS or users * items > 4 * DENSE_CELLS:
        return False
    return users * items * items < DENSE_GAIN * sparse_multiplications(train)


def sparse_multiplications(train: csr_array) -> float:
    """Multiplications in the sparse product of `train` with itself."""
    return float(np.square(np.diff(train.indptr), dtype=np.float64).sum())


def dense_cooccurrences(train: csr_array) -> Tensor:
    """Users that each pair of items shares; an item with itself: its users.

    Args:
        train: Shape (users, items), each stored entry 1.0; of other entries the products are summed
            instead.

    Returns:
        Float32, shape (items, items), symmetric; counts are exact below 2^24 users.
    """
    import torch

    item_count = train.shape[1]
    matrix = torch.from_numpy(train.toarray())
    counts = torch.empty((item_count, item_count))
    # The product is symmetric, so the upper triangle is enough.
    for start in range(0, item_count, BLOCK_ITEMS):
        end = min(start + BLOCK_ITEMS, item_count)
        counts[start:end, start:] = matrix[:, start:end].T @ matrix[:, start:]
        counts[end:, start:end] = counts[start:end, end:].T
    return counts


def sparse_cooccurrences(train: csr_array) -> csr_array:
    """As `dense_cooccurrences`, holding only the pairs that share a user; indices are not sorted.

    Args:
        train: Likewise; of other entries than 1.0 the products are summed.
    """
    return scipy.sparse.csr_array(train.T.tocsr() @ train)


# Interactions -> the columns nearest to each column.


MAX_SCIPY_PAIRS = 20_000_000
"""Pairs that scipy's product may look at: bounds its memory to about 1 GB. With more the compiled
one is used, which is faster by more than it takes to load."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SimilarityTerms:
    """The terms of a formula for the similarity of two columns of a matrix.

    similarity(j, i) = product(j, i) / (divisor(j) divisor_as_neighbour(i) + shrink) for j != i,
    where product is the inner product of two columns of `entries`. Pairs with 0 are left out.
    """

    entries: csr_array
    """Shape (rows, columns), nothing below 0."""
    divisors: Float32s
    """Of each column as the one that has neighbours; shape (columns,), above 0."""
    divisors_as_neighbour: Float32s
    """Of each column as a neighbour of another; shape (columns,), above 0."""
    shrink: float = 0.0
    """Pulls pairs that share little towards 0; not negative."""


def cosine(train: csr_array, *, shrink: float) -> SimilarityTerms:
    """The cosine: the rows that both columns have / (sqrt of both columns' entries + shrink).

    Args:
        train: Shape (rows, columns), each stored entry 1.0.
        shrink: As of `SimilarityTerms`.
    """
    counts = np.bincount(train.indices, minlength=train.shape[1]).astype(np.float32)
    norms: Float32s = np.sqrt(np.maximum(counts, 1))
    return SimilarityTerms(
        entries=train, divisors=norms, divisors_as_neighbour=norms, shrink=shrink
    )


class NeighbourModel(ABC):
    """A recommender by the nearest columns of each column of some matrix."""

    def __init__(self, params: Settings) -> None:
        """Hold what is needed to fit; `params` has the number of `neighbours`."""
        self.params = params

    @abstractmethod
    def similarity_terms(self, train: csr_array) -> SimilarityTerms:
        """What says how similar columns are, from the training part of a fold."""

    def voting(self, train: csr_array, similarities: csr_array) -> Voting:
        """The fitted model, by the neighbours' similarities: as from `Similarities.nearest`."""
        dense = train.shape[1] <= DENSE_ITEMS
        return Voting(train, similarities.T.tocsr(), dense=dense)

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        progress("fit", 0, 2)
        neighbours = self.params["neighbours"]
        similarities = Similarities(self.similarity_terms(train), neighbours, progress)
        nearest = similarities.nearest(neighbours)
        progress("fit", 1, 2)
        self._voting = self.voting(train, nearest)
        progress("fit", 2, 2)

    def score(self, users: Indices) -> Float32s | Tensor:
        return self._voting.score(users)

    @property
    def product(self) -> tuple[csr_array, csr_array] | None:
        """As of `evaluation.Scorer`."""
        return self._voting.product


def dense_similarities(terms: SimilarityTerms) -> Tensor:
    """The similarities of all pairs of columns, 0 on the diagonal; shape (columns, columns)."""
    import torch

    similarities = dense_cooccurrences(terms.entries)
    similarities.fill_diagonal_(0)
    divisors = torch.from_numpy(terms.divisors)
    divisors_as_neighbour = torch.from_numpy(terms.divisors_as_neighbour)
    # A block of rows has a few MB, so that all passes over it stay in cache.
    rows_at_once = max(1, 2_000_000 // len(divisors))
    for start in range(0, len(divisors), rows_at_once):
        block = slice(start, start + rows_at_once)
        similarities[block].div_(divisors[block, None] * divisors_as_neighbour + terms.shrink)
    return similarities


def sparse_similarities(terms: SimilarityTerms) -> csr_array:
    """The similarities of columns that share a row, in the order of scipy's product."""
    similarities = sparse_cooccurrences(terms.entries)
    column_count = similarities.shape[0]
    rows = np.repeat(np.arange(column_count, dtype=np.int32), np.diff(similarities.indptr))
    columns = similarities.indices
    divisors_of_entries = terms.divisors[rows] * terms.divisors_as_neighbour[columns]
    similarities.data /= divisors_of_entries + np.float32(terms.shrink)
    similarities.data[rows == columns] = 0
    return similarities


def keep_nearest(similarities: csr_array, neighbours: int) -> csr_array:
    """The `neighbours` largest similarities of each row, of equal ones those stored first."""
    is_kept = similarities.data > 0
    for row in np.flatnonzero(np.diff(similarities.indptr) > neighbours):
        entries = slice(similarities.indptr[row], similarities.indptr[row + 1])
        values = similarities.data[entries]
        kth_largest = np.partition(values, -neighbours)[-neighbours]
        room_for_ties = neighbours - np.count_nonzero(values > kth_largest)
        ties = np.flatnonzero(values == kth_largest)
        # This is a view, so what is set in it is set in `is_kept`.
        is_kept_in_row = is_kept[entries]
        is_kept_in_row &= values >= kth_largest
        is_kept_in_row[ties[room_for_ties:]] = False
    kept_before_entry = np.concatenate(([0], np.cumsum(is_kept)))
    # All indices get one type, because scipy converts a whole matrix for every product of two
    # types.
    starts = kept_before_entry[similarities.indptr].astype(np.int32)
    columns = similarities.indices[is_kept].astype(np.int32)
    kept_entries = (similarities.data[is_kept], columns, starts)
    return scipy.sparse.csr_array(kept_entries, shape=similarities.shape)


def compiled_nearest(terms: SimilarityTerms, neighbours: int, progress: Progress) -> csr_array:
    """As `keep_nearest`, while memory is that of the neighbours, whatever the number of pairs."""
    from ecv_core.models.neighbourhood_kernel import nearest

    by_row = with_int32_indices(terms.entries)
    by_column = with_int32_indices(by_row.T.tocsr())
    blocks = []
    for first, end in pairwise(_bounds_of_blocks(by_row, by_column)):
        # This reports nothing new, but lets the search be cancelled here.
        progress("fit", 0, 2)
        starts, columns, values = nearest(
            by_row.indptr,
            by_row.indices,
            by_row.data,
            by_column.indptr,
            by_column.indices,
            by_column.data,
            terms.divisors,
            terms.divisors_as_neighbour,
            np.float32(terms.shrink),
            neighbours,
            first,
            end,
        )
        shape = (end - first, by_row.shape[1])
        blocks.append(scipy.sparse.csr_array((values, columns, starts), shape=shape))
    return scipy.sparse.csr_array(scipy.sparse.vstack(blocks, format="csr"))


def _bounds_of_blocks(by_row: csr_array, by_column: csr_array) -> list[int]:
    """Where blocks of columns begin and end, each of about MAX_SCIPY_PAIRS pairs of entries.

    Between blocks the search for neighbours can be cancelled.

    Args:
        by_row: The matrix, of shape (rows, columns).
        by_column: Its transpose.

    Returns:
        Ascending: 0, 40, 100 for two blocks of 100 columns, the second of which begins at column
        40.
    """
    # The search pairs each entry of a column with every entry of its row.
    entries_of_row = np.diff(by_row.indptr)
    pairs_of_entry = entries_of_row[by_column.indices]
    # The entries stand column by column, and `indptr` says where each column begins. So column c
    # and all before it have the pairs of the entries before `indptr[c + 1]`.
    pairs_before_entry = np.concatenate(([0], np.cumsum(pairs_of_entry)))
    pairs_up_to_column = pairs_before_entry[by_column.indptr[1:]]
    # A block begins at each column with which the count passes a multiple of MAX_SCIPY_PAIRS.
    block_of_column = pairs_up_to_column // MAX_SCIPY_PAIRS
    first_columns = np.flatnonzero(np.diff(block_of_column)) + 1
    return [0, *first_columns.tolist(), len(block_of_column)]


# Items that vote for other items, with weights -> scores of all items for blocks of users.


DENSE_ITEMS = 5_000
"""Up to this many items the item x item weights are held dense: at most 100 MB."""
ITEMS_PER_BLOCK = 512
"""Items whose votes are summed at once, so that they stay in cache while in use."""


class Voting:
    """Scores are voters @ votes: of each user, the sum of the votes of its voters, weighted."""

    def __init__(self, voters: csr_array, votes: csr_array, *, dense: bool = False) -> None:
        """Hold both in the form that is summed fastest.

        Args:
            voters: Who votes for each user, its items or other users; shape (users, voters).
            votes: What each voter gives each item; shape (voters, items).
            dense: Hold `votes` dense too, where each stored entry of `voters` is 1.0.
        """
        self._voters = with_int32_indices(voters)
        self._votes = with_int32_indices(votes)
        self._dense_votes: list[Tensor] = []
        """Blocks of votes, each for some of the items, held dense; empty where they are not."""
        if dense:
            import torch

            all_votes = votes.toarray()
            for start in range(0, votes.shape[1], ITEMS_PER_BLOCK):
                block = np.ascontiguousarray(all_votes[:, start : start + ITEMS_PER_BLOCK])
                self._dense_votes.append(torch.from_numpy(block))

    @property
    def product(self) -> tuple[csr_array, csr_array] | None:
        """As of `evaluation.Scorer`; None where dense sums are quicker."""
        if self._dense_votes:
            return None
        return self._voters, self._votes

    def score(self, users: Indices) -> Tensor:
        """As `Recommender.score`."""
        import torch

        voters = self._voters[users]
        if not self._dense_votes:
            return torch.from_numpy((voters @ self._votes).toarray())
        # There are dense votes only where every voter has the weight 1, which is all that a binary
        # matrix can hold.
        binary_voters = BinaryMatrix.from_csr(voters, torch.device("cpu"))
        return torch.cat([binary_voters.times(block) for block in self._dense_votes], dim=1)


def with_int32_indices(matrix: csr_array) -> csr_array:
    """The same with int32 indices, which torch takes as they are."""
    starts = matrix.indptr.astype(np.int32)
    entries = (matrix.data, matrix.indices.astype(np.int32), starts)
    return scipy.sparse.csr_array(entries, shape=matrix.shape)


# One computation of the similarities, for any number of neighbours of each.


class Similarities:
    """The similarities of a training matrix's columns; `nearest` picks the neighbours of each."""

    def __init__(
        self, terms: SimilarityTerms, max_neighbours: int, progress: Progress = no_progress
    ) -> None:
        """Compute them, for up to so many of each, by the cheaper of two products."""
        self._dense: Tensor | None = None
        """All similarities, of shape (columns, columns), with 0 on the diagonal; None where most
        pairs share nothing."""
        entries = terms.entries
        # Any number of neighbours can be picked from the dense matrix. The two sparse ways keep the
        # nearest at once, the compiled one where scipy's would take too much memory.
        if dense_is_cheaper(entries):
            self._dense = dense_similarities(terms)
        elif sparse_multiplications(entries) <= MAX_SCIPY_PAIRS:
            self._sparse = keep_nearest(sparse_similarities(terms), max_neighbours)
        else:
            # The search reserves memory for this many neighbours of each column.
            neighbours = min(max_neighbours, entries.shape[1])
            self._sparse = compiled_nearest(terms, neighbours, progress)

    def nearest(self, neighbours: int) -> csr_array:
        """The similarities of each column to those nearest to it.

        Args:
            neighbours: How many of each column, from 1 to `max_neighbours`; all where that is more.

        Returns:
            Float32, shape (columns, columns); row j holds the neighbours of column j, fewer where
            it shares something with few.
        """
        import torch

        if self._dense is None:
            return keep_nearest(self._sparse, neighbours)
        column_count = len(self._dense)
        entries_per_row = min(neighbours, column_count)
        similarities, columns = torch.topk(self._dense, entries_per_row, sorted=False)
        values = similarities.numpy().ravel()
        indices = columns.numpy().ravel().astype(np.int32)
        row_starts = np.arange(column_count + 1, dtype=np.int32) * entries_per_row
        nearest = scipy.sparse.csr_array(
            (values, indices, row_starts), shape=(column_count, column_count)
        )
        nearest.eliminate_zeros()  # columns that share nothing are no neighbours
        return nearest


def _fit_shared(
    models: Sequence[NeighbourModel],
    train: csr_array,
    *,
    seed: int,
    progress: Progress,
    history: History | None,
) -> Iterator[tuple[int, Fitted]]:
    """A `base.SharedFit` of models that differ in their number of neighbours alone."""
    # The models differ only in `neighbours`, so the first one's matrix and votes serve all of them.
    # No random number is drawn, and no history is looked at: `seed` and `history` are not used.
    progress("fit", 0, 2)
    counts = [int(model.params["neighbours"]) for model in models]
    similarities = Similarities(models[0].similarity_terms(train), max(counts), progress)
    progress("fit", 1, 2)

    def fitted_models() -> Iterator[tuple[int, Fitted]]:
        for model_index, count in enumerate(counts):
            yield model_index, models[0].voting(train, similarities.nearest(count))

    return fitted_models()


SHARED_NEIGHBOURS = Sharing(parameters=frozenset({"neighbours"}), fit=_fit_shared)
"""How an algorithm shares one computation among numbers of neighbours."""
