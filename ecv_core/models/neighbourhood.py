"""Interactions -> the columns nearest to each column, and the models that recommend by them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy  # its parts load when they are used
from numpy.typing import NDArray

from ecv_core.models.base import Indices, Settings, Sharing
from ecv_core.models.device import Rows
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
    return users * items * items < DENSE_GAIN * pairs_of(train)


def pairs_of(train: csr_array) -> float:
    """Multiplications in the sparse product of `train` with itself."""
    return float(np.square(np.diff(train.indptr), dtype=np.float64).sum())


def dense_counts(train: csr_array) -> Tensor:
    """Users that each pair of items shares; an item with itself: its users.

    Args: train: shape (users, items), each stored entry 1.0; of other entries the products are
        summed instead.
    Returns: float32, shape (items, items), symmetric; counts are exact below 2^24 users.
    """
    import torch

    items = train.shape[1]
    matrix = torch.from_numpy(train.toarray())
    counts = torch.empty((items, items))
    for start in range(0, items, BLOCK_ITEMS):  # upper triangle only: the product is symmetric
        end = min(start + BLOCK_ITEMS, items)
        counts[start:end, start:] = matrix[:, start:end].T @ matrix[:, start:]
        counts[end:, start:end] = counts[start:end, end:].T
    return counts


def sparse_counts(train: csr_array) -> csr_array:
    """As `dense_counts`, holding only the pairs that share a user; indices are not sorted.

    Args: train: likewise; of other entries than 1.0 the products are summed.
    """
    return scipy.sparse.csr_array(train.T.tocsr() @ train)


# Interactions -> the columns nearest to each column.


PAIRS = 20_000_000
"""Pairs that scipy's product may look at: bounds its memory to about 1 GB. With more the compiled
one is used, which is faster by more than it takes to load."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Closeness:
    """What says how near the columns of a matrix are to each other.

    near(j, i) = shared(j, i) / (divisor(j) divisor_as_neighbour(i) + shrink) for j != i, where
    shared is the product of two columns of `entries`. Pairs that share nothing are left out.
    """

    entries: csr_array
    """Shape (rows, columns), nothing below 0."""
    divisors: NDArray[np.float32]
    """Of each column as the one that has neighbours; shape (columns,), above 0."""
    divisors_as_neighbour: NDArray[np.float32]
    """Of each column as a neighbour of another; shape (columns,), above 0."""
    shrink: float = 0.0
    """Pulls pairs that share little towards 0; not negative."""


def cosine(train: csr_array, *, shrink: float) -> Closeness:
    """How similar columns are: the rows that both have / (sqrt of both columns' entries + shrink).

    Args:
        train: shape (rows, columns), each stored entry 1.0.
        shrink: as of `Closeness`.
    """
    counts = np.bincount(train.indices, minlength=train.shape[1]).astype(np.float32)
    norms: NDArray[np.float32] = np.sqrt(np.maximum(counts, 1))
    return Closeness(entries=train, divisors=norms, divisors_as_neighbour=norms, shrink=shrink)


class NeighbourModel(ABC):
    """A recommender by the nearest columns of each column of some matrix."""

    def __init__(self, params: Settings) -> None:
        """Hold what is needed to fit; `params` has the number of `neighbours`."""
        self.params = params

    @abstractmethod
    def closeness(self, train: csr_array) -> Closeness:
        """How near columns are, from the training part of a fold."""

    def voting(self, train: csr_array, near: csr_array) -> Voting:
        """The fitted model, by what is near: as from `Nearness.keep`."""
        dense = train.shape[1] <= DENSE_ITEMS
        return Voting(train, scipy.sparse.csr_array(near.T.tocsr()), dense=dense)

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        progress("fit", 0, 2)
        most = self.params["neighbours"]
        near = Nearness(self.closeness(train), most, progress).keep(most)
        progress("fit", 1, 2)
        self._voting = self.voting(train, near)
        progress("fit", 2, 2)

    def score(self, users: Indices) -> NDArray[np.float32] | Tensor:
        return self._voting.score(users)

    @property
    def product(self) -> tuple[csr_array, csr_array] | None:
        """As of `evaluation.Scorer`."""
        return self._voting.product


def _divide_by_norms(shared: Tensor, closeness: Closeness) -> Tensor:
    """How near columns are, in place of what they share; shape (columns, columns)."""
    import torch

    divisors = torch.from_numpy(closeness.divisors)
    divisors_as_neighbour = torch.from_numpy(closeness.divisors_as_neighbour)
    shared.fill_diagonal_(0)
    # A part has a few MB, so that all passes over it stay in cache.
    block = max(1, 2_000_000 // len(divisors))
    parts = zip(torch.split(shared, block), torch.split(divisors, block), strict=True)
    for part, part_divisors in parts:
        part.div_(part_divisors[:, None] * divisors_as_neighbour + closeness.shrink)
    return shared


def sparse_neighbours(values: Tensor, indices: Tensor) -> csr_array:
    """The neighbours of each column as a sparse matrix; both have shape (columns, kept)."""
    columns, kept = values.shape
    flat = values.numpy().ravel()
    nonzero = flat > 0
    sizes = nonzero.reshape(columns, kept).sum(axis=1)
    indptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    columns_kept = indices.numpy().ravel()[nonzero].astype(np.int32)
    return scipy.sparse.csr_array((flat[nonzero], columns_kept, indptr), shape=(columns, columns))


def sparse_nearness(closeness: Closeness) -> csr_array:
    """How near columns are, only pairs that share something, in the order of scipy's product."""
    entries = closeness.entries
    near = sparse_counts(entries)
    rows = np.repeat(np.arange(near.shape[0], dtype=np.int32), np.diff(near.indptr))
    norms = closeness.divisors[rows] * closeness.divisors_as_neighbour[near.indices]
    near.data /= norms + np.float32(closeness.shrink)
    near.data[rows == near.indices] = 0
    return near


def nearest_of(near: csr_array, neighbours: int) -> csr_array:
    """The nearest of each, of equal ones those stored first."""
    # Of a row with too many, what is above the least that is kept stays, and as many of those equal
    # to it as there is room for.
    kept = near.data > 0
    for row in np.flatnonzero(np.diff(near.indptr) > neighbours):
        own = slice(near.indptr[row], near.indptr[row + 1])
        values = near.data[own]
        least = np.partition(values, -neighbours)[-neighbours]
        ties = np.flatnonzero(values == least)
        kept[own] &= values >= least
        kept[own][ties[neighbours - np.count_nonzero(values > least) :]] = False
    ends = np.concatenate(([0], np.cumsum(kept)))
    # One index type everywhere: scipy converts a whole matrix for every product of two types.
    indptr = ends[near.indptr].astype(np.int32)
    indices = near.indices[kept].astype(np.int32)
    return scipy.sparse.csr_array((near.data[kept], indices, indptr), shape=near.shape)


def compiled_nearest(closeness: Closeness, neighbours: int, progress: Progress) -> csr_array:
    """As `nearest_of`, while memory is that of the neighbours, whatever the number of pairs."""
    from ecv_core.models.neighbourhood_kernel import nearest

    by_row = with_narrow_indices(closeness.entries)
    by_column = with_narrow_indices(scipy.sparse.csr_array(by_row.T.tocsr()))
    parts: list[csr_array] = []
    for first, last in pairwise(_bounds_of_blocks(by_row, by_column)):
        progress("fit", 0, 2)  # says nothing new, but lets the search be cancelled here
        ends, indices, values = nearest(
            by_row.indptr,
            by_row.indices,
            by_row.data,
            by_column.indptr,
            by_column.indices,
            by_column.data,
            closeness.divisors,
            closeness.divisors_as_neighbour,
            np.float32(closeness.shrink),
            neighbours,
            first,
            last,
        )
        shape = (last - first, by_row.shape[1])
        parts.append(scipy.sparse.csr_array((values, indices, ends), shape=shape))
    return scipy.sparse.csr_array(scipy.sparse.vstack(parts, format="csr"))


def _bounds_of_blocks(by_row: csr_array, by_column: csr_array) -> list[int]:
    """Where blocks of columns begin and end that look at about PAIRS pairs of entries each.

    Between blocks the search for neighbours can be cancelled.

    Args:
        by_row: the matrix, of shape (rows, columns).
        by_column: its transpose.
    Returns: ascending; the first is 0, the last the number of columns.
    """
    # An entry of a column is paired with every entry of its row.
    pairs_of_entry = np.diff(by_row.indptr)[by_column.indices]
    pairs_before_entry = np.concatenate(([0], np.cumsum(pairs_of_entry)))
    pairs_up_to_column = pairs_before_entry[by_column.indptr[1:]]
    block_of_column = pairs_up_to_column // PAIRS
    begins = np.flatnonzero(np.diff(block_of_column)) + 1
    return [0, *begins.tolist(), len(block_of_column)]


# Items that vote for other items, with weights -> scores of all items for blocks of users.


DENSE_ITEMS = 5_000
"""Up to this many items the item x item weights are held dense: at most 100 MB."""
WIDTH = 512
"""Columns of the weights that are summed at once, so that they stay in cache while in use."""


class Voting:
    """A user's score for an item is the sum, over the user's row, of what each entry gives it."""

    def __init__(self, voters: csr_array, votes: csr_array, *, dense: bool = False) -> None:
        """Hold both in the form that is summed fastest.

        Args:
            voters: shape (users, any).
            votes: shape (any, items).
            dense: hold `votes` dense too, where each stored entry of `voters` is 1.0.
        """
        self._voters = with_narrow_indices(voters)
        self._votes = with_narrow_indices(votes)
        self._parts: list[Tensor] = []
        """The votes, held dense, some columns each; empty where they are not."""
        if dense:
            import torch

            whole = votes.toarray()
            for start in range(0, votes.shape[1], WIDTH):
                part = np.ascontiguousarray(whole[:, start : start + WIDTH])
                self._parts.append(torch.from_numpy(part))

    @property
    def product(self) -> tuple[csr_array, csr_array] | None:
        """As of `evaluation.Scorer`; None where dense sums are quicker."""
        if self._parts:
            return None
        return self._voters, self._votes

    def score(self, users: Indices) -> Tensor:
        """As `Recommender.score`."""
        import torch

        voters = self._voters[users]
        if not self._parts:
            return torch.from_numpy((voters @ self._votes).toarray())
        rows = Rows.of(voters, torch.device("cpu"))
        return torch.cat([rows.sums(part) for part in self._parts], dim=1)


def with_narrow_indices(matrix: csr_array) -> csr_array:
    """The same with int32 indices, which torch takes as they are."""
    starts = matrix.indptr.astype(np.int32)
    entries = (matrix.data, matrix.indices.astype(np.int32), starts)
    return scipy.sparse.csr_array(entries, shape=matrix.shape)


# One computation of how near columns are, for any number of neighbours of each.


class Nearness:
    """How near columns of a training matrix are to each other; `keep` picks the nearest of each."""

    def __init__(self, closeness: Closeness, most: int, progress: Progress = no_progress) -> None:
        """Work it out for up to `most` of each, by the cheaper of a dense and a sparse product."""
        self.dense: Tensor | None = None
        """Shape (columns, columns), 0 on the diagonal; None where most pairs share nothing."""
        entries = closeness.entries
        # Any number of neighbours can be picked from the dense matrix; the two sparse ways keep the
        # `most` nearest at once, the compiled one where scipy's would take too much memory.
        if dense_is_cheaper(entries):
            self.dense = _divide_by_norms(dense_counts(entries), closeness)
        elif pairs_of(entries) <= PAIRS:
            self._near = nearest_of(sparse_nearness(closeness), most)
        else:
            self._near = compiled_nearest(closeness, min(most, entries.shape[1]), progress)

    def keep(self, neighbours: int) -> csr_array:
        """The nearest columns to each column, and how near they are.

        Args:
            neighbours: how many to keep for each column, from 1 to `most`; all where that is more.
        Returns: float32, shape (columns, columns); row j holds the neighbours of column j, fewer
            where it shares something with few.
        """
        import torch

        if self.dense is None:
            return nearest_of(self._near, neighbours)
        nearest = torch.topk(self.dense, min(neighbours, len(self.dense)), sorted=False)
        return sparse_neighbours(nearest.values, nearest.indices)


def _shared(
    models: Sequence[NeighbourModel],
    train: csr_array,
    *,
    seed: int,
    progress: Progress,
    history: History | None,
) -> Iterator[tuple[int, Fitted]]:
    """A `base.SharedFit` of models that differ in their number of neighbours alone."""
    progress("fit", 0, 2)
    counts = [int(model.params["neighbours"]) for model in models]
    nearness = Nearness(models[0].closeness(train), max(counts), progress)
    progress("fit", 1, 2)

    def fits() -> Iterator[tuple[int, Fitted]]:
        for place, count in enumerate(counts):
            yield place, models[0].voting(train, nearness.keep(count))

    return fits()


SHARED_NEIGHBOURS = Sharing(parameters=frozenset({"neighbours"}), fit=_shared)
"""How an algorithm shares one computation among numbers of neighbours."""
