"""What is nearest votes: similar items or users (kNN), or what a short walk reaches (RP3beta)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import scipy  # its parts load when they are used

from ecv_core.models.base import PAPER_COUNTS, SEARCH, Algorithm, with_source
from ecv_core.models.neighbourhood import (
    SHARED_NEIGHBOURS,
    NeighbourModel,
    SimilarityTerms,
    Voting,
    cosine,
)
from ecv_core.records.parameters import Parameter

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DEFAULT_NEIGHBOURS = 100


class ItemKNN(NeighbourModel):
    """Cosine item-item neighbourhoods with the definition of RecBole's ItemKNN.

    Every item keeps its `neighbours` most similar items; a user's score for an item is the sum of
    the similarities of the user's items that are among that item's neighbours.

    LensKit's ItemKNNScorer is not used: it keeps each item's neighbours on the other side of the
    sum, which gives nDCG@10 of 0.25 where this definition gives 0.29 (ml-100k), and it scores one
    user at a time (benchmarks/README.md).
    """

    def similarity_terms(self, train: csr_array) -> SimilarityTerms:
        return cosine(train, shrink=self.params["shrink"])


class UserKNN(NeighbourModel):
    """Cosine user-user neighbourhoods.

    Every user has one set of `neighbours` most similar users; an item's score is the sum of the
    similarities of those who have it. LensKit's UserKNNScorer takes other neighbours for each
    item, the nearest among those who have it, so that rare items are scored by far-off users; that
    ranks worse (benchmarks/README.md), and it scores one user at a time.
    """

    def similarity_terms(self, train: csr_array) -> SimilarityTerms:
        return cosine(train.T.tocsr(), shrink=self.params["shrink"])

    def voting(self, train: csr_array, similarities: csr_array) -> Voting:
        return Voting(similarities, train)


def _parameters(source: str, neighbours_help: str, shrink_help: str) -> tuple[Parameter, ...]:
    """Of both models; the texts say what the two parameters mean for one of them."""
    return with_source(
        source,
        Parameter("neighbours", DEFAULT_NEIGHBOURS, neighbours_help, low=1, high=100_000),
        Parameter("shrink", 0.0, shrink_help, low=0, high=1e6),
    )


_SPACES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "default": {"neighbours": (20, 50, 100, 200, 400)},
    "paper": {"neighbours": PAPER_COUNTS},
}

ITEM_KNN = Algorithm(
    id="item-knn",
    title="ItemKNN",
    summary=(
        "Recommends items that share many users with those a user already has (cosine similarity). "
        "Fits in seconds or less; a strong and explainable default."
    ),
    paper="Deshpande, Karypis (2004): Item-based top-N recommendation algorithms",
    parameters=_parameters(
        "RecBole 1.2.1",
        "How many of the most similar items each item keeps.",
        "Added to the cosine's denominator: distrusts pairs with few users.",
    ),
    build=ItemKNN,
    sharing=SHARED_NEIGHBOURS,
    random=False,
    spaces=_SPACES,
    limits=lambda data: {"neighbours": max(data.n_items, DEFAULT_NEIGHBOURS)},
)

USER_KNN = Algorithm(
    id="user-knn",
    title="UserKNN",
    summary="Recommends what the users most similar to a user have (cosine similarity). "
    "Fits in seconds or less, but the work grows with the square of the number of users.",
    paper="Herlocker, Konstan, Borchers, Riedl (1999): An algorithmic framework for CF",
    parameters=_parameters(
        SEARCH,
        "How many of the most similar users vote for each user.",
        "Added to the cosine's denominator: distrusts users who share few items.",
    ),
    build=UserKNN,
    sharing=SHARED_NEIGHBOURS,
    random=False,
    spaces=_SPACES,
    limits=lambda data: {"neighbours": max(data.n_users, DEFAULT_NEIGHBOURS)},
)


# RP3beta: a random walk of three steps over users and items, with popular items held back.


class RP3Beta(NeighbourModel):
    """The chance to walk from a user to an item, to another user, to a new item.

    Every step's chance, one over the number of ways there are, is raised to `alpha`, and the
    item reached is divided by its number of users to the `beta`. All three steps from a user are
    the sum, over the user's items i, of the weight from i to j, as of `similarity_terms`. The first
    step is the same for all items of a user, and so left out. Of the weights to an item only the
    largest are kept.
    """

    def similarity_terms(self, train: csr_array) -> SimilarityTerms:
        alpha = np.float32(self.params["alpha"])
        beta = np.float32(self.params["beta"])
        items_per_user = np.diff(train.indptr)
        # The weight from item i to item j, with the sum over the users u who have both:
        #     sum(items(u)^-alpha) / (users(i)^alpha * users(j)^beta)
        # The sum is the inner product of the columns i and j: each of the two entries of a user is
        # the square root of items(u)^-alpha, so that they multiply to it.
        root_chances = np.maximum(items_per_user, 1).astype(np.float32) ** (-alpha / 2)
        steps = scipy.sparse.csr_array(
            (np.repeat(root_chances, items_per_user), train.indices, train.indptr),
            shape=train.shape,
        )
        users_per_item = np.bincount(train.indices, minlength=train.shape[1]).astype(np.float32)
        users_per_item = np.maximum(users_per_item, 1)
        divisors_as_start = users_per_item**alpha  # These are of each item as i.
        divisors_as_goal = users_per_item**beta  # These are of each item as j.
        # The goal j is the one that has neighbours: the items i with the largest weights to it.
        return SimilarityTerms(
            entries=steps,
            divisors=divisors_as_goal,
            divisors_as_neighbour=divisors_as_start,
        )


_RP3BETA_PARAMETERS = with_source(
    SEARCH,
    Parameter(
        "neighbours",
        200,
        "How many items lead to each item: those with the largest weights.",
        low=1,
        high=100_000,
    ),
    Parameter(
        "alpha",
        0.5,
        "The chance of each step is raised to this power; less makes chances more alike.",
        low=0,
        high=2,
    ),
    Parameter(
        "beta",
        0.4,
        "An item's score is divided by this power of its number of users; 0 holds no item back.",
        low=0,
        high=2,
    ),
)

RP3BETA = Algorithm(
    id="rp3beta",
    title="RP3beta",
    summary=(
        "Walks from a user over an item and another user to a new item, and holds popular items "
        "back. Fits in a second or two; the graph model that studies of reproducibility found "
        "hard to beat."
    ),
    paper="Paudel, Christoffel, Newell, Bernstein (2017): Updatable, accurate, diverse, scalable",
    parameters=_RP3BETA_PARAMETERS,
    build=RP3Beta,
    sharing=SHARED_NEIGHBOURS,
    random=False,
)
