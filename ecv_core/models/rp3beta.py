"""RP3beta: a random walk of three steps over users and items, with popular items held back."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ecv_core.models import training_parameters as common
from ecv_core.models.base import Algorithm, with_source
from ecv_core.models.neighbourhood import SHARED_NEIGHBOURS, Closeness, NeighbourModel
from ecv_core.records.parameters import Parameter

DEFAULT_NEIGHBOURS = 200


class RP3Beta(NeighbourModel):
    """The chance to walk from a user to an item, to another user, to a new item.

    Every step's chance, one over the number of ways there are, is raised to `alpha`, and the
    item reached is divided by its number of users to the `beta`. All three steps from a user are
    the sum, over the user's items i, of the weight from i to j: the sum over the users u of both of
    (1 / items(u))^alpha, times (1 / users(i))^alpha / users(j)^beta. The first step is the same for
    all items of a user, and so left out. Of the weights to an item only the largest are kept.
    """

    default_neighbours = DEFAULT_NEIGHBOURS

    def closeness(self, train: csr_array) -> Closeness:
        alpha, beta = np.float32(self.params["alpha"]), np.float32(self.params["beta"])
        sizes = np.diff(train.indptr)
        # Half of a step over a user goes into each of the two items, so that their product has it.
        half = np.maximum(sizes, 1).astype(np.float32) ** (-alpha / 2)
        steps = csr_array((np.repeat(half, sizes), train.indices, train.indptr), shape=train.shape)
        users = np.bincount(train.indices, minlength=train.shape[1]).astype(np.float32)
        users = np.maximum(users, 1)
        return Closeness(entries=steps, own=users**beta, others=users**alpha)


RP3BETA = Algorithm(
    id="rp3beta",
    title="RP3beta",
    summary=(
        "Walks from a user over an item and another user to a new item, and holds popular items "
        "back. A second or two of fitting; the graph model that studies of reproducibility found "
        "hard to beat."
    ),
    paper="Paudel, Christoffel, Newell, Bernstein (2017): Updatable, accurate, diverse, scalable",
    parameters=with_source(
        common.SEARCH,
        Parameter(
            "neighbours",
            DEFAULT_NEIGHBOURS,
            "Items from which each item can be reached: those with the largest weights.",
            low=1,
            high=100_000,
        ),
        Parameter(
            "alpha",
            0.5,
            "Power of each step's chance: less evens out how much busy nodes spread.",
            low=0,
            high=2,
        ),
        Parameter(
            "beta",
            0.4,
            "Power of an item's number of users that divides its score; 0 holds none back.",
            low=0,
            high=2,
        ),
    ),
    build=RP3Beta,
    sharing=SHARED_NEIGHBOURS,
    random=False,
    paper_default={"alpha": 1.0},  # the paper tunes beta for each dataset, and so has none
)
