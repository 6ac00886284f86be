"""Item k-nearest-neighbours: a user's items vote for the items most similar to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models.neighbourhood import check_neighbours, cosine_neighbours
from ecv_core.models.parameters import PAPER_COUNTS, Algorithm, Parameter
from ecv_core.models.shared_neighbours import (
    Blocks,
    NearestItems,
    Nearness,
    NearVoting,
    share_counts,
)
from ecv_core.models.voting import DENSE_ITEMS, Voting, narrow
from ecv_core.records import ParamValue, Progress, no_progress

if TYPE_CHECKING:
    import torch

    from ecv_core.models.base import Fitted

DEFAULT_NEIGHBOURS = 100


class ItemKNN:
    """Cosine item-item neighbourhoods with the definition of RecBole's ItemKNN.

    Every item keeps its `neighbours` most similar items; a user's score for an item is the sum of
    the similarities of the user's items that are among that item's neighbours.

    LensKit's ItemKNNScorer is not used: it keeps each item's neighbours on the other side of the
    sum, which gives nDCG@10 of 0.25 where this definition gives 0.29 (ml-100k), and it scores one
    user at a time (benchmarks/README.md).
    """

    def __init__(self, *, neighbours: int, shrink: float) -> None:
        self._neighbours = neighbours
        self._shrink = shrink

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        progress("fit", 0, 2)
        check_neighbours(self._neighbours, train.shape[1], "items", DEFAULT_NEIGHBOURS)
        votes = cosine_neighbours(train, neighbours=self._neighbours, shrink=self._shrink)
        progress("fit", 1, 2)
        self._voting = Voting(train, votes)
        progress("fit", 2, 2)

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        return self._voting.score(users)


def _near(train: csr_array, params: Mapping[str, ParamValue], most: int) -> Nearness:
    check_neighbours(most, train.shape[1], "items", DEFAULT_NEIGHBOURS)
    return Nearness.cosine(train, shrink=float(params["shrink"]), most=most)


def _voting(train: csr_array, near: Nearness, most: int) -> Callable[[int], Fitted]:
    if near.dense is None or train.shape[1] > DENSE_ITEMS:
        return lambda count: Voting(train, near.keep(count))
    blocks, nearest = Blocks(narrow(train)), NearestItems(near.dense, most)
    return lambda count: NearVoting(blocks, *nearest(count))


def build(params: Mapping[str, ParamValue]) -> ItemKNN:
    """An unfitted model with these parameters."""
    return ItemKNN(neighbours=int(params["neighbours"]), shrink=float(params["shrink"]))


ITEM_KNN = Algorithm(
    id="item-knn",
    title="ItemKNN",
    summary=(
        "Recommends items that share many users with those a user already has (cosine similarity). "
        "Fits in seconds or less; a strong and explainable default."
    ),
    paper="Deshpande, Karypis (2004): Item-based top-N recommendation algorithms",
    parameters=(
        Parameter(
            name="neighbours",
            default=DEFAULT_NEIGHBOURS,
            low=1,
            high=100_000,
            help="Most similar items that each item keeps.",
            source="RecBole 1.2.1",
        ),
        Parameter(
            name="shrink",
            default=0.0,
            low=0,
            high=1e6,
            help="Added to the cosine's denominator: distrusts pairs with few users.",
            source="RecBole 1.2.1",
        ),
    ),
    build=build,
    sharing=share_counts(_near, _voting),
    random=False,
    spaces={
        "default": {"neighbours": (20, 50, 100, 200, 400)},
        "paper": {"neighbours": PAPER_COUNTS},
    },
    limits=lambda data: {"neighbours": max(data.n_items, DEFAULT_NEIGHBOURS)},
)
