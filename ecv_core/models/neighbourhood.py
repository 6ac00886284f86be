"""Interactions -> the columns nearest to each column, and the models that recommend by them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from ecv_core.models.base import Sharing
from ecv_core.records.errors import InputError
from ecv_core.records.interactions import History
from ecv_core.records.run import Progress, no_progress

if TYPE_CHECKING:
    import torch

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
    sparse_cost = float(np.square(np.diff(train.indptr), dtype=np.float64).sum())
    return users * items * items < DENSE_GAIN * sparse_cost


def dense_counts(train: csr_array) -> torch.Tensor:
    """Users that each pair of items shares; an item with itself: its users.

    Args:
        train: shape (users, items), each stored entry 1.0; of other entries the products are
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
    """As `dense_counts`, holding only the pairs that share a user; indices are not sorted."""
    return csr_array(train.T.tocsr() @ train)


# Interactions -> the columns nearest to each column.


PAIRS = 20_000_000
"""Pairs that a sparse product may look at in one go: bounds its memory to about 1 GB."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Closeness:
    """What says how near the columns of a matrix are to each other.

    near(j, i) = shared(j, i) / (own(j) others(i) + shrink) for j != i, where shared is the product
    of two columns of `entries`. Pairs that share nothing are left out.
    """

    entries: csr_array
    """Shape (rows, columns), nothing below 0."""
    own: NDArray[np.float32]
    """What a column divides by as the one that has neighbours; shape (columns,), above 0."""
    others: NDArray[np.float32]
    """What it divides by as a neighbour; shape (columns,), above 0."""
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
    return Closeness(entries=train, own=norms, others=norms, shrink=shrink)


class NeighbourModel(ABC):
    """A recommender by the nearest columns of each column of some matrix."""

    who = "items"
    """What the columns are, for messages."""
    default_neighbours: int

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Hold what is needed to fit; `params` has the number of `neighbours`."""
        self.params = params

    @abstractmethod
    def closeness(self, train: csr_array) -> Closeness:
        """How near columns are, from the training part of a fold."""

    def voting(self, train: csr_array, near: csr_array) -> Fitted:
        """The fitted model, by what is near: as from `Nearness.keep`."""
        return Voting(train, near)

    def shared_voting(
        self, train: csr_array, nearness: Nearness, most: int
    ) -> Callable[[int], Fitted]:
        """The fitted model for each number of neighbours up to `most`."""
        return lambda neighbours: self.voting(train, nearness.keep(neighbours))

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        progress("fit", 0, 2)
        most = self.params["neighbours"]
        near = Nearness(self.checked(train, most), most).keep(most)
        progress("fit", 1, 2)
        self._voting = self.voting(train, near)
        progress("fit", 2, 2)

    def score(self, users: NDArray[np.intp]) -> NDArray[np.float32] | torch.Tensor:
        return self._voting.score(users)

    def checked(self, train: csr_array, neighbours: int) -> Closeness:
        """The closeness, once the number of neighbours is one that can be meant.

        The default may be more than a small dataset has: then all count.

        Raises: InputError if more are asked for than there are, and than the default.
        """
        closeness = self.closeness(train)
        there = closeness.entries.shape[1]
        if neighbours > max(there, self.default_neighbours):
            raise InputError(
                f"{neighbours:,} neighbours are asked for, but there are only {there:,} "
                f"{self.who}; set neighbours to at most {there:,}"
            )
        return closeness


def near_blocks(shared: torch.Tensor, closeness: Closeness) -> Iterator[tuple[slice, torch.Tensor]]:
    """How near columns are, a block of rows after the other, in place of what they share."""
    import torch

    columns = len(closeness.own)
    mine, theirs = torch.from_numpy(closeness.own), torch.from_numpy(closeness.others)
    block = max(1, 2_000_000 // columns)  # a few MB, so that all passes over them stay in cache
    for start in range(0, columns, block):
        rows = slice(start, min(start + block, columns))
        part = shared[rows]
        part.diagonal(offset=start).zero_()
        part.div_(mine[rows, None] * theirs + closeness.shrink)
        yield rows, part


def csr_of(values: torch.Tensor, indices: torch.Tensor) -> csr_array:
    """The neighbours of each column as a sparse matrix; both have shape (columns, kept)."""
    columns, kept = values.shape
    flat = values.numpy().ravel()
    nonzero = flat > 0
    sizes = nonzero.reshape(columns, kept).sum(axis=1)
    indptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    columns_kept = indices.numpy().ravel()[nonzero].astype(np.int32)
    return csr_array((flat[nonzero], columns_kept, indptr), shape=(columns, columns))


def stacked(parts: Sequence[csr_array]) -> csr_array:
    """Parts of a matrix below each other."""
    return parts[0] if len(parts) == 1 else csr_array(vstack(parts, format="csr"))


def sparse_parts(closeness: Closeness) -> Iterator[NearPart]:
    """How near consecutive columns are to all, only pairs that share something; one at a time."""
    entries, shrink = closeness.entries, np.float32(closeness.shrink)
    transposed = entries.T.tocsr()
    for part in _parts(transposed, np.diff(entries.indptr)):
        shared = csr_array(transposed[part] @ entries)
        rows = np.repeat(np.arange(shared.shape[0], dtype=np.int32), np.diff(shared.indptr))
        norms = closeness.own[part][rows] * closeness.others[shared.indices]
        values = shared.data / (norms + shrink)
        values[rows + part.start == shared.indices] = 0
        yield NearPart(values=values, rows=rows, near=shared)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NearPart:
    """How near some columns are to all others."""

    values: NDArray[np.float32]
    """Of each stored pair; shape (pairs,)."""
    rows: NDArray[np.int32]
    """Which column it is of, likewise."""
    near: csr_array
    """Whose `indices` and `indptr` say to which."""

    def keep(self, neighbours: int) -> csr_array:
        """The nearest of each, of equal ones those stored first."""
        kept = _largest(self.values, self.rows, self.near.indptr, neighbours) & (self.values > 0)
        ends = np.concatenate(([0], np.cumsum(kept)))
        # One index type everywhere: scipy converts a whole matrix for every product of two types.
        indptr = ends[self.near.indptr].astype(np.int32)
        indices = self.near.indices[kept].astype(np.int32)
        return csr_array((self.values[kept], indices, indptr), shape=self.near.shape)


def _parts(transposed: csr_array, row_sizes: NDArray[np.int32]) -> list[slice]:
    """Consecutive columns of the training matrix that share at most PAIRS pairs, or one column."""
    pairs = np.add.reduceat(
        np.append(row_sizes[transposed.indices], 0).astype(np.int64), transposed.indptr[:-1]
    )
    pairs[np.diff(transposed.indptr) == 0] = 0
    block = np.cumsum(pairs) // PAIRS
    starts = np.flatnonzero(np.diff(block, prepend=-1)).tolist()
    return [slice(*bounds) for bounds in pairwise([*starts, len(pairs)])]


def _largest(
    values: NDArray[np.floating], rows: NDArray[np.int32], indptr: NDArray[np.int32], k: int
) -> NDArray[np.bool_]:
    """Marks the k largest values of each row, of equal ones those stored first.

    A plain sort of one key is several times faster than sorting with positions or row by row; it
    tells each row's k-th value, and only the values equal to that one have to be counted.
    """
    # With values in [0, 1] this key orders by row first and falls with the value inside a row.
    keys = 2.0 * rows - values / max(1.0, float(values.max(initial=0)))
    long = np.flatnonzero(np.diff(indptr) > k)
    limits = np.full(len(indptr) - 1, np.inf)
    limits[long] = np.sort(keys)[indptr[long] + k - 1]
    limit = limits[rows]
    kept = keys < limit
    tied = np.flatnonzero(keys == limit)
    places = k - np.bincount(rows[kept], minlength=len(limits))
    tied_rows = rows[tied]
    before = np.arange(len(tied)) - np.searchsorted(tied_rows, tied_rows)
    kept[tied[before < places[tied_rows]]] = True
    return kept


# Items that vote for other items, with weights -> scores of all items for blocks of users.


DENSE_ITEMS = 5_000
"""Up to this many items the item x item weights are held dense: at most 100 MB."""
WIDTH = 512
"""Columns of the weights that are summed at once, so that they stay in cache while in use."""


class Voting:
    """A user's score for an item is the sum of the weights of the user's items in its row."""

    def __init__(self, train: csr_array, votes: csr_array) -> None:
        """Hold who has what, and the weights in the form that is summed fastest.

        Args:
            train: shape (users, items), each stored entry 1.0.
            votes: shape (items, items); row j holds the items that vote for item j.
        """
        self._train = narrow(train)
        self._parts: list[torch.Tensor] = []
        self._weights: csr_array | None = None
        if train.shape[1] <= DENSE_ITEMS:
            self._parts = _dense_parts(votes)
        else:
            self._weights = votes.T.tocsr()

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        """As `Recommender.score`."""
        import torch

        rows = self._train[users]
        if self._weights is not None:
            return torch.from_numpy((rows @ self._weights).toarray())
        return sum_votes(rows, self._parts)


def sum_votes(rows: csr_array, parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """Scores of users, dense.

    Args:
        rows: what the users have, with int32 indices; shape (block, items).
        parts: the weights, as blocks of columns; each shape (items, columns).
    Returns: shape (block, items).
    """
    import torch

    scores = torch.empty(rows.shape)
    indices, indptr = torch.from_numpy(rows.indices), torch.from_numpy(rows.indptr)
    start = 0
    for part in parts:
        scores[:, start : start + part.shape[1]] = torch.nn.functional.embedding_bag(
            indices, part, indptr, mode="sum", include_last_offset=True
        )
        start += part.shape[1]
    return scores


def narrow(matrix: csr_array) -> csr_array:
    """The same with int32 indices, which torch takes as they are."""
    return csr_array(
        (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)),
        shape=matrix.shape,
    )


def _dense_parts(votes: csr_array) -> list[torch.Tensor]:
    """The weights as dense blocks of columns."""
    import torch

    return [
        torch.from_numpy(np.ascontiguousarray(votes[start : start + WIDTH].toarray().T))
        for start in range(0, votes.shape[0], WIDTH)
    ]


# One computation of how near columns are, for any number of neighbours of each.


NARROW_USERS = 96
"""Users that are scored at once with few neighbours: their columns of items stay in cache."""


class Nearness:
    """How near columns of a training matrix are to each other; `keep` picks the nearest of each."""

    def __init__(self, closeness: Closeness, most: int) -> None:
        """Work it out for up to `most` of each, by the cheaper of a dense and a sparse product."""
        self.dense: torch.Tensor | None = None
        """Shape (columns, columns), 0 on the diagonal; None where most pairs share nothing."""
        self._parts: list[NearPart] = []
        if dense_is_cheaper(closeness.entries):
            self.dense = dense_counts(closeness.entries)
            for _ in near_blocks(self.dense, closeness):
                pass
        else:
            self._parts = [_only(part, most) for part in sparse_parts(closeness)]

    def keep(self, neighbours: int) -> csr_array:
        """The nearest columns to each column, and how near they are.

        Args:
            neighbours: how many to keep for each column, from 1 to `most`.
        Returns: float32, shape (columns, columns); row j holds the neighbours of column j, fewer
            where it shares something with few.
        """
        import torch

        if self.dense is None:
            return stacked([part.keep(neighbours) for part in self._parts])
        return csr_of(*torch.topk(self.dense, min(neighbours, len(self.dense)), sorted=False))


class SharedNeighbours:
    """A `base.SharedFit` of models that differ in their number of neighbours alone."""

    def __init__(self, models: Sequence[NeighbourModel]) -> None:
        self._first = models[0]
        self._counts = [int(model.params["neighbours"]) for model in models]

    def begin(
        self, train: csr_array, *, seed: int, progress: Progress, history: History | None
    ) -> None:
        progress("fit", 0, 2)
        most = max(self._counts)
        nearness = Nearness(self._first.checked(train, most), most)
        self._fitted = self._first.shared_voting(train, nearness, most)
        progress("fit", 1, 2)

    def fits(self) -> Iterator[tuple[int, Fitted]]:
        for place, count in enumerate(self._counts):
            yield place, self._fitted(count)


SHARED_NEIGHBOURS = Sharing(parameters=frozenset({"neighbours"}), build=SharedNeighbours)
"""How an algorithm shares one computation among numbers of neighbours."""


class NearestItems:
    """The nearest columns of each from a dense `Nearness`, sorted once for all numbers of them."""

    def __init__(self, near: torch.Tensor, most: int) -> None:
        import torch

        self._near = near
        # One more than is asked for, to see whether the last is as near as the first left out.
        self._values, self._places = torch.topk(near, min(most + 1, len(near)))

    def __call__(self, neighbours: int) -> tuple[torch.Tensor, torch.Tensor]:
        """How near and which, the same set as of `torch.topk`; both shape (columns, neighbours).

        Of columns that are equally near, only torch knows which it takes; it is asked where the
        last one taken is tied with the first left out.
        """
        import torch

        kept = min(neighbours, len(self._near))
        values, places = self._values[:, :kept].clone(), self._places[:, :kept].clone()
        if kept < self._values.shape[1]:
            last = values[:, -1]
            tied = torch.nonzero((last == self._values[:, kept]) & (last > 0))[:, 0]
            if len(tied):
                values[tied], places[tied] = torch.topk(self._near[tied], kept, sorted=False)
        return values, places


class Blocks:
    """Blocks of users of a training matrix, kept for as long as the same ones are asked for."""

    def __init__(self, train: csr_array) -> None:
        """Hold who has what.

        Args:
            train: shape (users, items), each stored entry 1.0, with sorted int32 indices.
        """
        self.train = train
        self._rows: dict[bytes, csr_array] = {}
        self._columns: dict[bytes, list[torch.Tensor]] = {}
        self._keeps = train.shape[0] * train.shape[1] <= DENSE_CELLS

    def rows(self, users: NDArray[np.intp]) -> csr_array:
        """The users' rows; shape (block, items)."""
        block = users.tobytes()
        if block not in self._rows:
            self._rows[block] = self.train[users]
        return self._rows[block]

    def columns(self, users: NDArray[np.intp]) -> Iterator[torch.Tensor]:
        """Their transposed rows, dense, at most NARROW_USERS at once; shape (items, users)."""
        import torch

        block = users.tobytes()
        if block in self._columns:
            yield from self._columns[block]
            return
        made = []
        rows = self.rows(users)
        for start in range(0, len(users), NARROW_USERS):
            part = rows[start : start + NARROW_USERS].toarray()
            columns = torch.from_numpy(np.ascontiguousarray(part.T))
            yield columns
            if self._keeps:
                made.append(columns)
        if self._keeps:
            self._columns[block] = made


class NearVoting:
    """As `voting.Voting`, from the nearest items: by the cheaper of two sums in the same order.

    A score is the sum, over the user's items in order of their number, of the weights of those
    that are among the nearest of the item scored. With few neighbours it is cheaper to go through
    the neighbours of each item than through the items of each user; what is not in both adds 0.
    """

    def __init__(self, blocks: Blocks, values: torch.Tensor, places: torch.Tensor) -> None:
        """Hold who has what, and the weights.

        Args:
            blocks: of the training matrix; shared by all numbers of neighbours.
            values: how near the nearest of each item are, 0 for none; shape (items, neighbours).
            places: which items they are, likewise.
        """
        import torch

        self._blocks = blocks
        items, kept = values.shape
        self._narrow = kept * blocks.train.shape[0] <= blocks.train.nnz
        if self._narrow:
            order = places.argsort(dim=1)
            self._weights = values.gather(1, order).view(-1)
            self._neighbours = places.gather(1, order).to(torch.int32).view(-1)
            self._bounds = torch.arange(0, items * kept + 1, kept, dtype=torch.int32)
        else:
            self._parts = []
            for start in range(0, items, WIDTH):
                rows = slice(start, min(start + WIDTH, items))
                part = torch.zeros((items, rows.stop - start))
                part.scatter_(0, places[rows].T, values[rows].T)
                self._parts.append(part)

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        """As `Recommender.score`."""
        import torch

        if not self._narrow:
            return sum_votes(self._blocks.rows(users), self._parts)
        scores = torch.empty((len(users), self._blocks.train.shape[1]))
        start = 0
        for has in self._blocks.columns(users):
            found = torch.nn.functional.embedding_bag(
                self._neighbours,
                has,
                self._bounds,
                mode="sum",
                include_last_offset=True,
                per_sample_weights=self._weights,
            )
            scores[start : start + has.shape[1]] = found.T
            start += has.shape[1]
        return scores


def _only(part: NearPart, most: int) -> NearPart:
    """Without what is not among the nearest; ties are broken by order, so none is lost."""
    kept = part.keep(most)
    rows = np.repeat(np.arange(kept.shape[0], dtype=np.int32), np.diff(kept.indptr))
    return replace(part, values=kept.data, rows=rows, near=kept)
