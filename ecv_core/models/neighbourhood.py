"""Interactions -> each column's most similar columns by cosine, as a sparse matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models.cooccurrence import dense_counts, dense_is_cheaper, sparse_counts

if TYPE_CHECKING:
    import torch


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
    counts = np.bincount(train.indices, minlength=train.shape[1]).astype(np.float32)
    if dense_is_cheaper(train):
        return _from_dense(dense_counts(train), counts, neighbours, shrink)
    return _from_sparse(sparse_counts(train), counts, neighbours, shrink)


def _from_dense(
    shared: torch.Tensor, counts: NDArray[np.float32], neighbours: int, shrink: float
) -> csr_array:
    import torch

    columns = len(counts)
    norms = torch.from_numpy(np.sqrt(np.maximum(counts, 1)))
    kept = min(neighbours, columns)
    values = torch.empty((columns, kept))
    indices = torch.empty((columns, kept), dtype=torch.int64)
    block = max(1, 2_000_000 // columns)  # a few MB, so that the passes below stay in cache
    for start in range(0, columns, block):
        rows = slice(start, min(start + block, columns))
        part = shared[rows]
        part.diagonal(offset=start).zero_()
        part.div_(norms[rows, None] * norms + shrink)
        torch.topk(part, kept, sorted=False, out=(values[rows], indices[rows]))
    flat = values.numpy().ravel()
    nonzero = flat > 0
    sizes = nonzero.reshape(columns, kept).sum(axis=1)
    indptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    columns_kept = indices.numpy().ravel()[nonzero].astype(np.int32)
    return csr_array((flat[nonzero], columns_kept, indptr), shape=(columns, columns))


def _from_sparse(
    shared: csr_array, counts: NDArray[np.float32], neighbours: int, shrink: float
) -> csr_array:
    rows = np.repeat(np.arange(len(counts), dtype=np.int32), np.diff(shared.indptr))
    norms = np.sqrt(np.maximum(counts, 1))
    similar = shared.data / (norms[rows] * norms[shared.indices] + np.float32(shrink))
    others = rows != shared.indices
    rows, indices, similar = rows[others], shared.indices[others], similar[others]
    # Similarities are at most 1, so this key orders by row first and by similarity inside a row.
    order = np.argsort(2.0 * rows - similar)
    sizes = np.bincount(rows, minlength=len(counts))
    starts = np.cumsum(sizes) - sizes
    rank = np.arange(len(rows)) - starts[rows]  # rows are in order, before sorting and after
    order = order[rank < neighbours]
    indptr = np.concatenate(([0], np.cumsum(np.minimum(sizes, neighbours)))).astype(np.int32)
    return csr_array((similar[order], indices[order], indptr), shape=shared.shape)
