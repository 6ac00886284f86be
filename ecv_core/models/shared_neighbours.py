"""One computation of how near columns are, for any number of neighbours of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models.cooccurrence import DENSE_CELLS, dense_counts, dense_is_cheaper
from ecv_core.models.neighbourhood import (
    Closeness,
    NearPart,
    NeighbourModel,
    csr_of,
    near_blocks,
    sparse_parts,
    stacked,
)
from ecv_core.models.parameters import Sharing
from ecv_core.models.voting import WIDTH, sum_votes
from ecv_core.records import History, Progress

if TYPE_CHECKING:
    import torch

    from ecv_core.models.base import Fitted

NARROW_USERS = 96
"""Users that are scored at once with few neighbours: their columns of items stay in cache."""


class Nearness:
    """How near columns of a training matrix are to each other; `keep` picks the nearest of each."""

    def __init__(self, closeness: Closeness, most: int) -> None:
        """Work it out, by the way that `neighbourhood.nearest` takes; for up to `most` of each."""
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
        """What `neighbourhood.nearest` gives for this number, in the same order."""
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
