"""One computation of how near columns are, for any number of neighbours of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models.cooccurrence import dense_counts, dense_is_cheaper
from ecv_core.models.neighbourhood import (
    NearPart,
    cosine_norms,
    csr_of,
    near_blocks,
    sparse_parts,
    stacked,
)

if TYPE_CHECKING:
    import torch

NARROW_USERS = 96
"""Users that are scored at once with few neighbours: their columns of items stay in cache."""
WIDTH = 512
"""Columns of the weights that are summed at once with many neighbours, likewise."""


class Nearness:
    """Cosines of all columns of a training matrix; `keep` picks the nearest of each."""

    def __init__(self, train: csr_array, *, shrink: float, most: int) -> None:
        """Work them out, by the way that `neighbourhood.nearest` takes.

        Args:
            train: shape (rows, columns), each stored entry 1.0.
            shrink: as of `neighbourhood.cosine_neighbours`.
            most: no more neighbours will be asked for.
        """
        norms = cosine_norms(train)
        self.dense: torch.Tensor | None = None
        """Shape (columns, columns), 0 on the diagonal; None where most pairs share nothing."""
        self._parts: list[NearPart] = []
        if dense_is_cheaper(train):
            self.dense = dense_counts(train)
            for _ in near_blocks(self.dense, norms, norms, shrink):
                pass
        else:
            self._parts = [_only(one, most) for one in sparse_parts(train, norms, norms, shrink)]

    def keep(self, neighbours: int) -> csr_array:
        """What `neighbourhood.cosine_neighbours` gives for this number, in the same order."""
        import torch

        if self.dense is None:
            return stacked([part.keep(neighbours) for part in self._parts])
        return csr_of(*torch.topk(self.dense, min(neighbours, len(self.dense)), sorted=False))


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


class NearVoting:
    """As `voting.Voting`, from the nearest items: by the cheaper of two sums in the same order.

    A score is the sum, over the user's items in order of their number, of the weights of those
    that are among the nearest of the item scored. With few neighbours it is cheaper to go through
    the neighbours of each item than through the items of each user; what is not in both adds 0.
    """

    def __init__(self, train: csr_array, values: torch.Tensor, places: torch.Tensor) -> None:
        """Hold who has what, and the weights.

        Args:
            train: shape (users, items), each stored entry 1.0, with sorted int32 indices.
            values: how near the nearest of each item are, 0 for none; shape (items, neighbours).
            places: which items they are, likewise.
        """
        import torch

        self._train = train
        self._starts = train.indptr.astype(np.int32)
        items, kept = values.shape
        self._narrow = kept * train.shape[0] <= train.nnz
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

        rows = self._train[users]
        scores = torch.empty(rows.shape)
        if self._narrow:
            self._score_narrow(rows, scores)
            return scores
        indices, indptr = torch.from_numpy(rows.indices), torch.from_numpy(rows.indptr)
        start = 0
        for part in self._parts:
            scores[:, start : start + part.shape[1]] = torch.nn.functional.embedding_bag(
                indices, part, indptr, mode="sum", include_last_offset=True
            )
            start += part.shape[1]
        return scores

    def _score_narrow(self, rows: csr_array, scores: torch.Tensor) -> None:
        import torch

        for start in range(0, len(scores), NARROW_USERS):
            part = slice(start, min(start + NARROW_USERS, len(scores)))
            has = torch.from_numpy(np.ascontiguousarray(rows[part].toarray().T))
            found = torch.nn.functional.embedding_bag(
                self._neighbours,
                has,
                self._bounds,
                mode="sum",
                include_last_offset=True,
                per_sample_weights=self._weights,
            )
            scores[part] = found.T


def _only(part: NearPart, most: int) -> NearPart:
    """Without what is not among the nearest; ties are broken by order, so none is lost."""
    kept = part.keep(most)
    rows = np.repeat(np.arange(kept.shape[0], dtype=np.int32), np.diff(kept.indptr))
    return replace(part, values=kept.data, rows=rows, near=kept)
