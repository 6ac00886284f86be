"""Interactions -> the columns nearest to each column, as a sparse matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from ecv_core.errors import InputError
from ecv_core.models.cooccurrence import dense_counts, dense_is_cheaper

if TYPE_CHECKING:
    import torch


PAIRS = 20_000_000
"""Pairs that a sparse product may look at in one go: bounds its memory to about 1 GB."""


def check_neighbours(asked: int, there: int, what: str, default: int) -> None:
    """Refuse a number of neighbours that cannot be meant.

    A default may be more than a small dataset has: then all count.

    Raises: InputError if more are asked for than there are, and than the default.
    """
    if asked > max(there, default):
        raise InputError(
            f"{asked:,} neighbours are asked for, but there are only {there:,} {what}; "
            f"set neighbours to at most {there:,}"
        )


def cosine_neighbours(train: csr_array, *, neighbours: int, shrink: float) -> csr_array:
    """The `neighbours` columns most similar to each column, and how similar they are.

    sim(j, i) = shared(j, i) / (sqrt(count(j) count(i)) + shrink) for j != i, where count is a
    column's number of entries and shared the number of rows that have both. Pairs that share
    nothing are left out, so that a row of the result may be short or empty.

    Args:
        train: shape (rows, columns), each stored entry 1.0.
        neighbours: how many to keep for each column, at least 1.
        shrink: pulls pairs with few entries towards 0; not negative.
    Returns: float32, shape (columns, columns); row i holds the neighbours of column i.
    """
    norms = cosine_norms(train)
    return nearest(train, norms, norms, neighbours=neighbours, shrink=shrink)


def cosine_norms(train: csr_array) -> NDArray[np.float32]:
    """Square root of each column's number of entries, at least 1; shape (columns,)."""
    counts = np.bincount(train.indices, minlength=train.shape[1]).astype(np.float32)
    norms: NDArray[np.float32] = np.sqrt(np.maximum(counts, 1))
    return norms


def nearest(
    entries: csr_array,
    own: NDArray[np.float32],
    others: NDArray[np.float32],
    *,
    neighbours: int,
    shrink: float = 0.0,
) -> csr_array:
    """The `neighbours` columns nearest to each column, and how near they are.

    near(j, i) = shared(j, i) / (own(j) others(i) + shrink) for j != i, where shared is the product
    of two columns of `entries`. Pairs that share nothing are left out.

    Args:
        entries: shape (rows, columns), nothing below 0.
        own: what a column divides by as the one that has neighbours; shape (columns,), above 0.
        others: what it divides by as a neighbour; shape (columns,), above 0.
        neighbours: how many to keep for each column, at least 1.
        shrink: pulls pairs that share little towards 0; not negative.
    Returns: float32, shape (columns, columns); row j holds the neighbours of column j.
    """
    if dense_is_cheaper(entries):
        return _from_dense(dense_counts(entries), own, others, neighbours, shrink)
    return _from_sparse(entries, own, others, neighbours, shrink)


def _from_dense(
    shared: torch.Tensor,
    own: NDArray[np.float32],
    others: NDArray[np.float32],
    neighbours: int,
    shrink: float,
) -> csr_array:
    import torch

    columns = len(own)
    kept = min(neighbours, columns)
    values = torch.empty((columns, kept))
    indices = torch.empty((columns, kept), dtype=torch.int64)
    for rows, part in near_blocks(shared, own, others, shrink):
        torch.topk(part, kept, sorted=False, out=(values[rows], indices[rows]))
    return csr_of(values, indices)


def near_blocks(
    shared: torch.Tensor,
    own: NDArray[np.float32],
    others: NDArray[np.float32],
    shrink: float,
) -> Iterator[tuple[slice, torch.Tensor]]:
    """How near columns are, a block of rows after the other, in place of what they share."""
    import torch

    columns = len(own)
    mine, theirs = torch.from_numpy(own), torch.from_numpy(others)
    block = max(1, 2_000_000 // columns)  # a few MB, so that all passes over them stay in cache
    for start in range(0, columns, block):
        rows = slice(start, min(start + block, columns))
        part = shared[rows]
        part.diagonal(offset=start).zero_()
        part.div_(mine[rows, None] * theirs + shrink)
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


def _from_sparse(
    entries: csr_array,
    own: NDArray[np.float32],
    others: NDArray[np.float32],
    neighbours: int,
    shrink: float,
) -> csr_array:
    parts = [one.keep(neighbours) for one in sparse_parts(entries, own, others, shrink)]
    return stacked(parts)


def stacked(parts: Sequence[csr_array]) -> csr_array:
    """Parts of a matrix below each other."""
    return parts[0] if len(parts) == 1 else csr_array(vstack(parts, format="csr"))


def sparse_parts(
    entries: csr_array, own: NDArray[np.float32], others: NDArray[np.float32], shrink: float
) -> Iterator[NearPart]:
    """How near consecutive columns are to all, only pairs that share something; one at a time."""
    transposed = entries.T.tocsr()
    for part in _parts(transposed, np.diff(entries.indptr)):
        shared = csr_array(transposed[part] @ entries)
        rows = np.repeat(np.arange(shared.shape[0], dtype=np.int32), np.diff(shared.indptr))
        values = shared.data / (own[part][rows] * others[shared.indices] + np.float32(shrink))
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
