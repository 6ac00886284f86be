"""Item k-nearest-neighbours: a user's items vote for the items most similar to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from scipy.sparse import csr_array

from ecv_core.models.base import PAPER_COUNTS, Algorithm, with_source
from ecv_core.models.neighbourhood import (
    SHARED_NEIGHBOURS,
    Blocks,
    Closeness,
    NearestItems,
    Nearness,
    NearVoting,
    NeighbourModel,
    cosine,
)
from ecv_core.models.voting import DENSE_ITEMS, narrow
from ecv_core.records.parameters import Parameter

if TYPE_CHECKING:
    from ecv_core.models.base import Fitted

DEFAULT_NEIGHBOURS = 100


class ItemKNN(NeighbourModel):
    """Cosine item-item neighbourhoods with the definition of RecBole's ItemKNN.

    Every item keeps its `neighbours` most similar items; a user's score for an item is the sum of
    the similarities of the user's items that are among that item's neighbours.

    LensKit's ItemKNNScorer is not used: it keeps each item's neighbours on the other side of the
    sum, which gives nDCG@10 of 0.25 where this definition gives 0.29 (ml-100k), and it scores one
    user at a time (benchmarks/README.md).
    """

    default_neighbours = DEFAULT_NEIGHBOURS

    def closeness(self, train: csr_array) -> Closeness:
        return cosine(train, shrink=self.params["shrink"])

    def shared_voting(
        self, train: csr_array, nearness: Nearness, most: int
    ) -> Callable[[int], Fitted]:
        if nearness.dense is None or train.shape[1] > DENSE_ITEMS:
            return super().shared_voting(train, nearness, most)
        blocks, nearest = Blocks(narrow(train)), NearestItems(nearness.dense, most)
        return lambda neighbours: NearVoting(blocks, *nearest(neighbours))


ITEM_KNN = Algorithm(
    id="item-knn",
    title="ItemKNN",
    summary=(
        "Recommends items that share many users with those a user already has (cosine similarity). "
        "Fits in seconds or less; a strong and explainable default."
    ),
    paper="Deshpande, Karypis (2004): Item-based top-N recommendation algorithms",
    parameters=with_source(
        "RecBole 1.2.1",
        Parameter(
            "neighbours",
            DEFAULT_NEIGHBOURS,
            "Most similar items that each item keeps.",
            low=1,
            high=100_000,
        ),
        Parameter(
            "shrink",
            0.0,
            "Added to the cosine's denominator: distrusts pairs with few users.",
            low=0,
            high=1e6,
        ),
    ),
    build=ItemKNN,
    sharing=SHARED_NEIGHBOURS,
    random=False,
    spaces={
        "default": {"neighbours": (20, 50, 100, 200, 400)},
        "paper": {"neighbours": PAPER_COUNTS},
    },
    limits=lambda data: {"neighbours": max(data.n_items, DEFAULT_NEIGHBOURS)},
)
